"""By the poles of a system: whether it has a steady state, and integrals over frequency on panels that shrink towards
them."""

from collections.abc import Callable

import numpy as np
from numpy.polynomial.legendre import leggauss

from arlequin.frequency.quadratic_pencil import Complex
from arlequin.models.errors import UserError
from arlequin.models.types import Array

_POINTS = 6  # of a panel
_RULE = leggauss(_POINTS)
_NARROW = 1e-13  # of the range of frequencies: panels are not divided further
_REFINED = 8  # divisions of the panels in two, at most
_CHUNK = 2_000_000  # entries of matrices that are factored at once
_FREE = 1e-7  # |λ|, relative to 2π times the highest frequency, below which a motion is free: √ε of a double pole
_GROWTH = 1e-9  # Re λ of an unstable system, relative to |λ| and to 2π times the highest frequency
_UNDAMPED = 1e-9  # damping ratio of a resonance that counts as none


def without_steady_state(found: Complex, ends: tuple[float, float]) -> str:
    """Why a system with these poles has no stationary response in a range of frequencies, Hz; empty where it has."""
    size, unit = np.abs(found), 2.0 * np.pi * ends[1]
    free = size <= _FREE * unit
    if (found.real > _GROWTH * np.maximum(size, unit))[~free].any():
        return "no steady state: it is unstable"
    if free.any() and ends[0] <= 0.0:
        return "a motion that nothing holds: start the frequencies above 0 Hz, or hold it by a spring"
    hertz = found.imag / (2.0 * np.pi)
    undamped = ~free & (np.abs(found.real) <= _UNDAMPED * size) & (hertz >= ends[0]) & (hertz <= ends[1])
    if undamped.any():
        return f"an undamped resonance at {float(hertz[undamped].min()):.4g} Hz: give it damping"
    return ""


def panels(found: Complex, edges: Array, splits: int) -> tuple[Array, Array]:
    """Frequencies (f,), Hz, and weights (f,) of ∫ df from the first to the last edge, at the poles (n,), 1/s.

    Gauss–Legendre rules of 6 points on panels that are as far from each pole as they are wide: their relative error is
    some (2 + √3)⁻¹² = 1e-7, and (4 + √15)⁻¹² = 2e-11 after a split; splits: of each panel in 2^n.
    """
    centres = np.concatenate([found.imag, -found.imag]) / (2.0 * np.pi)
    widths = np.abs(np.tile(found.real, 2)) / (2.0 * np.pi)
    ends, least = np.unique(edges), _NARROW * float(edges[-1] - edges[0])
    low, high = ends[:-1], ends[1:]
    done = []
    while low.size:
        middle, width = 0.5 * (low + high), high - low
        distance = np.hypot(middle[:, None] - centres, widths).min(axis=1) if centres.size else width
        fine = (width <= distance) | (width <= least)
        done.append(np.stack([low[fine], high[fine]]))
        low, middle, high = low[~fine], middle[~fine], high[~fine]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    low, high = np.concatenate(done, axis=1)
    for _ in range(splits):
        middle = 0.5 * (low + high)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    t, w = _RULE
    half = 0.5 * (high - low)[:, None]
    return (low[:, None] + half * (1.0 + t)).ravel(), (half * w).ravel()


def moments(
    spectra: Callable[[Array], Array], found: Complex, edges: Array, orders: tuple[int, ...], size: int, splits: int
) -> Array:
    """∫ f^k S(f) df (k, o) of the orders k and densities S (f, o), on the panels between the poles.

    size: entries of the matrices of a frequency, by which the frequencies are divided into pieces.
    """
    frequencies, weights = panels(found, edges, splits)
    step = max(_CHUNK // size, 1)
    total = 0.0
    for a in range(0, frequencies.size, step):
        at = frequencies[a : a + step]
        powers = weights[a : a + step] * at ** np.array(orders, dtype=float)[:, None]
        total = total + powers @ spectra(at)
    return np.asarray(total)


def refined(integrals: Callable[[int], Array], splits: int, tolerance: float) -> tuple[int, Array]:
    """The number of divisions of the panels from which the integrals do not change by more than the relative tolerance,
    and the integrals; UserError where there is none."""
    before = integrals(splits)
    for each in range(splits, splits + _REFINED):
        after = integrals(each + 1)
        if (np.abs(after - before) <= tolerance * after).all():
            return each, after
        before = after
    raise UserError(
        f"tolerance = {tolerance:g}: the variance does not converge to it: a density that is not smooth, give it as a "
        "table, or a resonance with hardly any damping"
    )
