"""`random_response`: spectral densities and root mean squares of the response to stationary random loads."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray
from numpy.typing import ArrayLike
from scipy.integrate import quad_vec

from arlequin.frequency.complex_factor import Factors
from arlequin.frequency.linearised import ContactState, linearised
from arlequin.frequency.outputs import Output, OutputRows
from arlequin.frequency.random_loads import RandomLoad, RandomTerm
from arlequin.frequency.resolution import check_resolution
from arlequin.frequency.response import check_method, checked_frequencies, named_outputs, output_rows
from arlequin.frequency.stability import stable_transfer
from arlequin.frequency.transfer import BEYOND, Transfer, chosen_modes
from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.results.conventions import described, of_run
from arlequin.results.random_process import davenport_factor, density_unit
from arlequin.run.progress import Progress, reporting
from arlequin.system.system import System

_INTERVALS = 20_000  # of the integrals of the moments, at most
_SAMPLES = 15  # of Gauss in each piece, for the sizes of the moments
_HELD = 1e-10  # of the static displacements: a response that is round-off of an output at rest
_SHIFT = 1e-9  # of these where nothing holds the system, relative to the mean ratio of stiffness and mass


@checked_call
def random_response(
    system: System,
    psd: Any,
    of: Any,
    frequencies: ArrayLike,
    *,
    contact: ContactState = "stuck",
    structural: float | Mapping[str, float] = 0.0,
    method: Literal["direct", "modal"] = "modal",
    modes: int | None = None,
    modal_damping: float | Sequence[float] | None = None,
    duration: float | None = None,
    tolerance: float = 1e-8,
    progress: Progress | bool | None = None,
) -> xarray.Dataset:
    """One-sided spectral densities of outputs under stationary random loads, of the system linearised at its start:

        S_yy(f) = h(f)ᵀ S_FF(f) h̄(f),   h(f) = A⁻ᵀ r,   σ² = ∫ S_yy df,

    A = K + iH + iωD − ω²M with the constraints, D and K with the forces of flows, r the row of the output: one solution
    of the transposed equations for each output, whatever the number of loads. psd: the loads, of `aq.frequency`, one or
    several that are independent of each other: `Spectrum`, `CrossSpectrum`, `RainOnTheRoof`, `CorrelatedForce`,
    `TurbulentFlow`. of, contact, structural, modal_damping: as of `frequency_response`. frequencies: Hz, increasing;
    S_yy is given at these, and σ is integrated from the first to the last, adaptively between the natural frequencies
    (in a flow those of `complex_modes`) to the relative `tolerance`, not from these values; of an output at rest, below
    1e-10 of what its row gives of the static displacements, it is round-off.

    method: "modal" takes the modes up to three times the highest frequency, or `modes` of them, and the static shapes
    of loads and outputs; "direct" factors the equations at each frequency, those of the integration included.

    Returns a Dataset: over `frequency` the density of each output; `rms_<output>`; `zero_crossings_<output>`, of upward
    crossings of the mean a second, √(m₂/m₀), m_k = ∫ f^k S df; `peaks_<output>`, √(m₄/m₂); with `duration`, s, also
    `peak_factor_<output>`, the mean of the largest value in this time over σ, of a Gaussian process (Davenport).

    >>> import numpy as np
    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> spring = aq.Spring("spring", mass.boundary("all"), stiffness=800.0, damping=4.0)  # N/m, N·s/m
    >>> system, at = aq.System([mass], springs=[spring]), mass.boundary("all")
    >>> white = aq.frequency.Spectrum(aq.frequency.Force(at, 1.0), lambda f: 0.5)  # N²/Hz
    >>> of = aq.frequency.Displacement(at, "x")
    >>> response = aq.random_response(system, white, of, np.linspace(0.0, 2000.0, 5), progress=False)
    >>> exact = 0.5 / (4.0 * 4.0 * 800.0)  # S₀/(4 c k), m², over all frequencies
    >>> bool(abs(float(response["rms_response"]) ** 2 / exact - 1.0) < 1e-6)
    True

    Source: Newland, Random Vibrations, Spectral & Wavelet Analysis, 2005; Davenport, Proc. ICE 28, 1964.
    """
    hertz = checked_frequencies("frequencies", frequencies)
    if hertz.size < 2:
        raise UserError.parameter("frequencies", frequencies, "must be at least two, from the lowest to the highest")
    check_method(method, modes, modal_damping)
    checks.positive("tolerance", tolerance)
    if duration is not None:
        checks.positive("duration", duration)
    sources, outputs = checked_random_loads(psd), named_outputs(of)
    linear = linearised(system, contact, structural)
    check_resolution(linear, hertz)
    factors, rows = Factors(linear), output_rows(linear, outputs)
    terms = [term for source in sources for term in source.terms(linear)]
    loads, highest = [term.loads for term in terms], float(hertz[-1])
    transfer, natural = stable_transfer(factors, rows, loads, highest, method, modes, modal_damping)
    if natural is None:
        natural = chosen_modes(factors, highest / BEYOND, None)[0] / (2.0 * np.pi)
    spectra = spectra_of(transfer, terms)
    values = np.empty((hertz.size, len(outputs)))
    with reporting(progress, "random response") as report:
        for k, frequency in enumerate(hertz.tolist()):
            values[k] = spectra(frequency)
            if report is not None:
                report(k + 1, hertz.size)
        special = np.concatenate([natural, *(term.kinks for term in terms)])
        moments = spectral_moments(
            spectra, densities_at_rest(factors, rows, terms), (float(hertz[0]), highest), special, tolerance
        )
    return response_dataset(hertz, outputs, values, moments, duration, {"method": method, "contact": contact})


def spectra_of(transfer: Transfer, terms: Sequence[RandomTerm]) -> Callable[[Any], Array]:
    """The densities (o,) of the outputs at a frequency, Hz; of a `ModalTransfer` also (f, o) at frequencies (f,)."""

    def spectra(frequency: Any) -> Array:
        each = zip(terms, transfer.at(frequency), strict=True)
        return np.sum([term.response(functions, frequency) for term, functions in each], axis=0)

    return spectra


def densities_at_rest(factors: Factors, rows: OutputRows, terms: Sequence[RandomTerm]) -> Callable[[float], Array]:
    """Densities (o,) at a frequency, Hz, below which those of outputs at rest are round-off: those of the responses

        1e-10 (|r| |u| + (|m| + |f|) |F|)

    with the largest entries |·| of the rows of the outputs, of each load and of its static displacements u. Of
    distributed loads, whose columns F are not stored, |F| is that of Fᵀz, of random signs z, and u that of |F| z.
    """
    linear = factors.linear
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (linear.dof_count, 1))
    factor = factors.still.shifted(_SHIFT * factors.mean_ratio)
    sizes = []
    for loads in (term.loads for term in terms):
        forces = np.abs(loads.across(signs)).ravel()
        if loads.forces is None:
            static = factor.solve(signs)[0] * forces
        else:
            static = factor.solve(loads.forces, loads.prescribed)[0]
        sizes.append((forces, np.abs(static).max(axis=0)))
    passed = sum(np.abs(each.toarray()).max(axis=1, initial=0.0) for each in (rows.multiplier, rows.load))

    def densities(frequency: float) -> Array:
        motion = np.abs(rows.at(frequency)).max(axis=1)
        each = [np.outer(motion, static) + np.outer(passed, forces) for forces, static in sizes]
        return np.sum([t.response(_HELD * size, frequency) for t, size in zip(terms, each, strict=True)], axis=0)

    return densities


def spectral_moments(
    spectra: Callable[[float], Array],
    at_rest: Callable[[float], Array],
    ends: tuple[float, float],
    special: Array,
    tolerance: float,
) -> Array:
    """m_k = ∫ f^k S(f) df (3, o) of k = 0, 2, 4, each to the relative tolerance, by adaptive Gauss–Kronrod rules; where
    m₀ is below that of the densities `at_rest`, round-off, by Gauss rules alone.

    special (k,): frequencies, Hz, of peaks and kinks, which are ends of pieces [a, b]: f = a + (b − a) x² (3 − 2x),
    0 ≤ x ≤ 1, flattens peaks there.
    """
    inside = np.unique(special[(special > ends[0]) & (special < ends[1])])
    edges = np.concatenate([[ends[0]], inside, [ends[1]]])
    count = edges.size - 1

    def integrand(x: float, spectra: Callable[[float], Array] = spectra) -> Array:
        """f^k S(f) df/dx, (3 o,), at the place x, of piece ⌊x⌋."""
        piece = min(int(x), count - 1)
        share, size = x - piece, edges[piece + 1] - edges[piece]
        frequency = edges[piece] + size * share * share * (3.0 - 2.0 * share)
        powers = frequency ** np.array([0.0, 2.0, 4.0])
        return np.multiply.outer(powers, spectra(float(frequency))).ravel() * (6.0 * share * (1.0 - share) * size)

    nodes, weights = np.polynomial.legendre.leggauss(_SAMPLES)
    places = [piece + 0.5 * (1.0 + node) for piece in range(count) for node in nodes.tolist()]
    estimate, least = (
        np.tile(0.5 * weights, count) @ np.array([integrand(place, each) for place in places])
        for each in (spectra, at_rest)
    )
    moving = np.tile(estimate[: estimate.size // 3] > least[: least.size // 3], 3)
    if not moving.any():
        return estimate.reshape(3, -1)
    scale = np.where(moving & (estimate > 0.0), estimate, 1.0)
    total, _, info = quad_vec(
        lambda x: np.where(moving, integrand(x) / scale, 0.0), 0.0, float(count), epsabs=0.0, epsrel=tolerance,
        norm="max", limit=_INTERVALS, points=np.arange(1.0, count), full_output=True,
    )  # fmt: skip
    if not info.success:
        raise UserError(
            f"tolerance = {tolerance:g}: the variance does not converge to it: a resonance with hardly any damping"
        )
    return np.where(moving, total * scale, estimate).reshape(3, -1)


def checked_random_loads(psd: Any) -> list[RandomLoad]:
    """The random loads, checked."""
    each = list(psd) if isinstance(psd, list | tuple) else [psd]
    if not each:
        raise UserError.parameter("psd", psd, "must hold at least one random load")
    for item in each:
        if isinstance(item, type) or not isinstance(item, RandomLoad):
            rule = (
                "must be of aq.frequency: Spectrum, CrossSpectrum, RainOnTheRoof, CorrelatedForce, TurbulentFlow, "
                "or a list of them"
            )
            raise UserTypeError.parameter("psd", item, rule)
    return each


def response_dataset(
    hertz: Array,
    outputs: Mapping[str, Output],
    values: Array,
    moments: Array,
    duration: float | None,
    more: dict[str, Any],
) -> xarray.Dataset:
    """Densities over frequency, and the numbers of each output."""
    fields: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    for i, (name, output) in enumerate(outputs.items()):
        fields[name] = ("frequency", values[:, i], described(density_unit(output.unit), f"PSD of {output.label}"))
        m0, m2, m4 = moments[:, i].tolist()
        crossings, peaks = (math.sqrt(a / b) if b > 0.0 else math.nan for a, b in ((m2, m0), (m4, m2)))
        numbers[f"rms_{name}"] = ((), math.sqrt(max(m0, 0.0)), described(output.unit, f"rms of {output.label}"))
        numbers[f"zero_crossings_{name}"] = ((), crossings, described("Hz", "upward zero crossings a second"))
        numbers[f"peaks_{name}"] = ((), peaks, described("Hz", "peaks a second"))
        if duration is not None:
            factor = davenport_factor(crossings * duration)
            numbers[f"peak_factor_{name}"] = ((), factor, described("1", f"largest value in {duration:g} s over rms"))
    coords = {"frequency": ("frequency", hertz, described("Hz", "frequency"))}
    return xarray.Dataset(fields | numbers, coords, attrs=of_run() | {"title": "random response"} | more)
