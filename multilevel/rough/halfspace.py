"""Reference solution: frictionless contact of an elastic half-space with one period of a given roughness, by Tamaas."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models.checks import finite_array, positive, positive_integer
from arlequin.models.errors import FAILURE, UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array

_SHORTEST = 8  # points per shortest wavelength from which contact areas are resolved
_SHARE = 0.01  # of the mean square gradient, in shorter wavelengths, that is worth a warning
_PERIMETER = (math.pi - 1.0 + math.log(2.0)) / 24.0


@dataclass(frozen=True, eq=False)
class HalfspaceCurve:
    """Solutions at rising load: mean pressures (k,), Pa; mean gaps (k,), m; real over nominal contact areas (k,).

    grid_areas (k,): as counted on the grid; areas: less (π − 1 + ln 2)/24 of the cells' edges between contact and
    not (Yastrebov). elastic_energies (k,): ½ mean(p u), J/m², of nominal area; dU = −p d(gap). residuals (k,): the
    solver's error of complementarity, relative, below the tolerance.
    """

    pressures: Array
    gaps: Array
    areas: Array
    grid_areas: Array
    elastic_energies: Array
    residuals: Array


@checked_call
def halfspace_curve(
    heights: ArrayLike,
    size: tuple[float, float],
    modulus: float,
    *,
    pressures: ArrayLike | None = None,
    gaps: ArrayLike | None = None,
    tolerance: float = 1e-8,
    iterations: int = 10000,
    progress: Callable[[int, int], None] | None = None,
) -> HalfspaceCurve:
    """Contact of the flat face of an elastic half-space with a rigid, periodic roughness, without friction or adhesion.

    heights h (n, m) of the composite roughness, m, summits positive, on the points of one period, the last row and
    column not repeated; size (along the rows' index, along the columns'), m; modulus E*, Pa. Either mean pressures
    (k,), Pa, or mean gaps (k,), m, between 0 and the height of the highest summit over the mean plane; solved and
    returned from the smallest to the largest load, each from the solution before. progress(done, of): after each.

        u ≥ h,  p ≥ 0,  p (u − h) = 0,    û(q) = 2 p̂(q)/(E* |q|) at q ≠ 0,    gap = mean(u − h)

    by the conjugate gradient of Polonsky and Keer with FFT. The gap is that of `ContactTheory`. Warns where the grid
    does not resolve the shortest wavelengths by 8 points.

    Source: Polonsky & Keer, Wear 231 (1999) 206–219; Rey, Anciaux & Molinari, Comput. Mech. 60 (2017) 69–81; Frérot et
    al., J. Open Source Softw. 5 (2020) 2121; Yastrebov, Anciaux & Molinari, Tribol. Int. 114 (2017) 161–171 (area).
    """
    tamaas = _tamaas()
    h = finite_array("heights", heights, (None, None))
    if min(h.shape) < 2 or np.ptp(h) == 0.0:
        raise UserError.parameter("heights", heights, "must be rough, at two or more points along each side")
    length, width = (positive(f"size[{i}]", side) for i, side in enumerate(finite_array("size", size, (2,))))
    positive("modulus", modulus)
    positive("tolerance", tolerance)
    positive_integer("iterations", iterations)
    h = h - h.mean()
    by_gap, targets = _targets(pressures, gaps, float(h.max()))
    slope = _rms_slope(h, (length, width))

    # in units of the first side for lengths along, its part h'rms for heights, E* h'rms for pressures
    height, stress = length * slope, modulus * slope
    surface = np.ascontiguousarray(h / height)
    model = tamaas.Model(tamaas.model_type.basic_2d, [1.0, width / length], list(h.shape))
    model.E, model.nu = 1.0, 0.0
    kind = tamaas.PolonskyKeerRey.gap if by_gap else tamaas.PolonskyKeerRey.pressure
    solver = tamaas.PolonskyKeerRey(model, surface, tolerance, kind, kind)
    solver.max_iter = iterations
    rounding = 8.0 * np.finfo(float).eps * np.abs(surface).max()

    rows = []
    for i, target in enumerate(targets):
        residual = _quietly(tamaas, solver, target / (height if by_gap else stress))
        if not residual <= tolerance:
            name, unit = ("gap", "m") if by_gap else ("pressure", "Pa")
            raise UserError(
                f"contact at the mean {name} of {target:g} {unit} has not converged in {iterations} iterations:"
                f" residual {residual:.1e}, tolerance {tolerance:.1e}; more iterations or smaller steps may help",
                code=FAILURE,
            )
        p, u = np.array(model.traction), np.array(model.displacement)
        energy = 0.5 * stress * height * np.mean(p * (u - u.mean()))
        # the unknown of the solver is exactly 0 at the bound, the other only to the tolerance
        touching = u - surface <= rounding if by_gap else p > 0.0
        counted, corrected = contact_area(touching)
        rows.append((stress * p.mean(), height * np.mean(u - surface), corrected, counted, energy, residual))
        if progress is not None:
            progress(i + 1, targets.size)
    return HalfspaceCurve(*np.array(rows).T)


def contact_area(contact: np.ndarray) -> tuple[float, float]:
    """Area of the points in contact (n, m) over that of the period: counted, and less its excess along the perimeter.

    A point's cell counts whole, so the count errs by a part of the cells that the edge of contact crosses, on average
    (π − 1 + ln 2)/24 of the perimeter (its length along the cells' edges) times the spacing.
    """
    edges = sum(np.count_nonzero(contact != np.roll(contact, 1, axis)) for axis in (0, 1))
    counted = float(contact.mean())
    return counted, counted - _PERIMETER * edges / contact.size


def _targets(pressures: ArrayLike | None, gaps: ArrayLike | None, highest: float) -> tuple[bool, Array]:
    """Whether gaps are prescribed, and the prescribed values from the smallest to the largest load."""
    if (pressures is None) == (gaps is None):
        raise UserError("give the half-space either pressures or gaps")
    if gaps is None:
        p = np.sort(finite_array("pressures", pressures, (None,)))
        if p.size == 0 or p[0] <= 0.0:
            raise UserError.parameter("pressures", pressures, "must be positive")
        return False, p
    g = np.sort(finite_array("gaps", gaps, (None,)))[::-1]
    if g.size == 0 or g[-1] <= 0.0 or g[0] >= highest:
        raise UserError.parameter("gaps", gaps, f"must lie between 0 and the highest summit, {highest:g} m")
    return True, g


def _rms_slope(h: Array, size: tuple[float, float]) -> float:
    """h'rms by the Fourier series, √(Σ |q|² |ĥ|²); warns of unresolved wavelengths."""
    power = np.abs(np.fft.fft2(h)) ** 2 / h.size**2
    spacing = [side / n for side, n in zip(size, h.shape, strict=True)]
    qx, qy = (2.0 * np.pi * np.fft.fftfreq(n, dx)[:, None] for n, dx in zip(h.shape, spacing, strict=True))
    square = (qx**2 + qy.T**2) * power
    cut = 2.0 * np.pi / _SHORTEST * (1.0 + 1e-9)
    fine = (np.abs(qx) * spacing[0] > cut) | (np.abs(qy.T) * spacing[1] > cut)
    share = square[fine].sum() / square.sum()
    if share > _SHARE:
        warnings.warn(
            f"{share:.0%} of the mean square slope is in wavelengths of less than {_SHORTEST} points:"
            " contact areas and gaps are those of the grid; refine it or filter the heights",
            stacklevel=4,
        )
    return math.sqrt(square.sum())


def _quietly(tamaas: Any, solver: Any, target: float) -> float:
    """Residual of the solver at a target; the output of Tamaas is suppressed."""
    level = tamaas.get_log_level()
    tamaas.set_log_level(tamaas.LogLevel.error)
    try:
        return float(solver.solve(target))
    except FloatingPointError:
        raise UserError(
            "the load is carried by a single point of the grid: larger loads, or a sample of more of the longest waves",
            code=FAILURE,
        ) from None
    finally:
        tamaas.set_log_level(level)


def _tamaas() -> Any:
    try:
        import tamaas
    except ImportError:
        raise UserError('the contact of a rough half-space needs Tamaas: pip install "arlequin[rough]"') from None
    return tamaas
