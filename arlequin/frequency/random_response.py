"""`random_response`: spectral densities and root mean squares of the response to stationary random loads."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.linalg
import xarray
from numpy.typing import ArrayLike
from scipy.integrate import quad_vec

from arlequin.frequency.complex_factor import Factors
from arlequin.frequency.linearised import ContactState, Linearised, linearised
from arlequin.frequency.modes import modes_up_to, natural_modes, with_static_shapes
from arlequin.frequency.outputs import OutputRows
from arlequin.frequency.resolution import check_resolution
from arlequin.frequency.response import METHODS, checked_frequencies, named_outputs, output_rows
from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.results.conventions import described, of_run
from arlequin.results.random_process import davenport_factor, density_unit
from arlequin.run.progress import Progress, reporting
from arlequin.system.system import System

_BEYOND = 3.0  # modes up to this multiple of the highest frequency
_EVALUATIONS = 20_000  # of the integrals of the moments, at most


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
    modal_damping: float | None = None,
    duration: float | None = None,
    tolerance: float = 1e-8,
    progress: Progress | bool | None = None,
) -> xarray.Dataset:
    """One-sided spectral densities of outputs under stationary random loads, of the system linearised at its start:

        S_yy(f) = h(f)ᵀ S_FF(f) h̄(f),   h(f) = A⁻ᵀ r,   σ² = ∫ S_yy df,

    A = K + iH + iωD − ω²M with the constraints, r the row of the output: one solution of the adjoint equations for each
    output, whatever the number of loads. psd: the loads, of `aq.frequency`, one or several that are independent of each
    other: `Spectrum`, `CrossSpectrum`, `RainOnTheRoof`, `TurbulentFlow`. of, contact, structural, modal_damping: as of
    `frequency_response`. frequencies: Hz, increasing; S_yy is given at these, and σ is integrated from the first to the
    last, adaptively between the natural frequencies to the relative `tolerance`, not from these values.

    method: "modal" takes the modes up to three times the highest frequency, or `modes` of them, and the static shapes
    of the outputs; "direct" factors the equations at each frequency, those of the integration included.

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
    checks.one_of("method", method, METHODS)
    checks.positive("tolerance", tolerance)
    if duration is not None:
        checks.positive("duration", duration)
    if method == "direct" and (modes is not None or modal_damping is not None):
        raise UserError("modes and modal_damping: need method='modal'")
    sources, outputs = _sources(psd), named_outputs(of)
    linear = linearised(system, contact, structural)
    check_resolution(linear, hertz)
    factors, rows = Factors(linear), output_rows(linear, outputs)
    densities = [source.admittance(linear) for source in sources]
    omega, shapes = (
        natural_modes(factors, checks.positive_integer("modes", modes))
        if modes is not None
        else modes_up_to(factors, 2.0 * np.pi * _BEYOND * float(hertz[-1]))
    )
    adjoint: Any = (
        _ModalAdjoint.of(factors, rows, shapes, modal_damping) if method == "modal" else _DirectAdjoint(factors, rows)
    )

    def spectra(frequency: float) -> Array:
        z, p = adjoint.solve(frequency)
        return np.sum([density(z, p, frequency) for density in densities], axis=0)

    values = np.empty((hertz.size, len(rows)))
    with reporting(progress, "random response") as report:
        for k, frequency in enumerate(hertz.tolist()):
            values[k] = spectra(frequency)
            if report is not None:
                report(k + 1, hertz.size)
        moments = spectral_moments(spectra, (float(hertz[0]), float(hertz[-1])), omega / (2 * np.pi), tolerance)
    return _dataset(hertz, outputs, values, moments, duration, {"method": method, "contact": contact})


def spectral_moments(
    spectra: Callable[[float], Array], ends: tuple[float, float], resonances: Array, tolerance: float
) -> Array:
    """m_k = ∫ f^k S(f) df (3, o) of k = 0, 2, 4, by Gauss–Kronrod pieces between resonances, Hz."""
    inside = np.unique(resonances[(resonances > ends[0]) & (resonances < ends[1])])

    def integrand(frequency: float) -> Array:
        return np.multiply.outer(frequency ** np.array([0.0, 2.0, 4.0]), spectra(frequency)).ravel()

    edges = [ends[0], *inside.tolist(), ends[1]]
    total, scale = 0.0, np.zeros(1)
    for a, b in zip(edges[:-1], edges[1:], strict=True):
        piece = _integral(integrand, a, b, tolerance, scale)
        total, scale = total + piece, np.maximum(scale, np.abs(piece))
    return np.asarray(total).reshape(3, -1)


def _integral(integrand: Callable[[float], Array], a: float, b: float, tolerance: float, scale: Array) -> Array:
    """One piece, over x ∈ (0, 1) with f = a + (b − a) x² (3 − 2x), which flattens the peaks at both ends."""

    def mapped(x: float) -> Array:
        return integrand(a + (b - a) * x * x * (3.0 - 2.0 * x)) * (6.0 * x * (1.0 - x) * (b - a))

    size = integrand(0.5 * (a + b)) * (b - a)
    unit = np.where(size > 0.0, size, 1.0)  # each moment counts by its own size
    if scale.size == unit.size:
        unit = np.maximum(unit, scale)
    out, _ = quad_vec(lambda x: mapped(x) / unit, 0.0, 1.0, epsrel=tolerance, norm="max", limit=_EVALUATIONS)
    return np.asarray(out * unit)


@dataclass(frozen=True, eq=False)
class _DirectAdjoint:
    """Responses of the outputs to unit loads by a factor at each frequency."""

    factors: Factors
    rows: Sequence[OutputRows]

    def solve(self, frequency: float) -> tuple[Array, Array]:
        """z (d, o), the responses to unit forces, and p (p, o), those to unit amplitudes of imposed coordinates."""
        linear = self.factors.linear
        motion = np.stack([row.displacement(frequency) for row in self.rows], axis=1)
        multipliers = np.stack([row.multiplier for row in self.rows], axis=1)
        z, mu = self.factors.at(frequency).adjoint(motion, multipliers)
        dynamic = linear.dynamic_stiffness(frequency)
        at = linear.assembly.imposed_dofs
        moved = motion[at] - (dynamic.T @ z + linear.constraints.T @ mu)[at]
        return z + np.stack([row.load for row in self.rows], axis=1), moved


@dataclass(frozen=True, eq=False)
class _ModalAdjoint:
    """The same in a basis B (d, r) of modes and of the static shapes of the outputs."""

    linear: Linearised
    rows: Sequence[OutputRows]
    basis: Array
    omega: Array
    damping: Array
    structural: Array

    @classmethod
    def of(
        cls, factors: Factors, rows: Sequence[OutputRows], shapes: Array, modal_damping: float | None
    ) -> "_ModalAdjoint":
        """The basis for these outputs."""
        linear = factors.linear
        if any(row.multiplier.any() for row in rows):
            raise UserError("of: forces of constraints (contact without a layer, joined supports) need method='direct'")
        motions = [row.motion[k] for row in rows for k in range(3) if row.motion[k].any()]
        forces = np.stack([part for row in motions for part in (row.real, row.imag) if part.any()], axis=1)
        forces = forces.astype(float)
        forces[linear.assembly.imposed_dofs] = 0.0
        basis, omega = with_static_shapes(factors, shapes, forces)
        damping = basis.T @ (linear.damping @ basis)
        if modal_damping is not None:
            damping = damping + np.diag(2.0 * checks.non_negative("modal_damping", modal_damping) * omega)
        return cls(linear, rows, basis, omega, damping, basis.T @ (linear.structural @ basis))

    def solve(self, frequency: float) -> tuple[Array, Array]:
        """As of `_DirectAdjoint`."""
        omega, linear = 2.0 * np.pi * frequency, self.linear
        motion = np.stack([row.displacement(frequency) for row in self.rows], axis=1)
        matrix = np.diag(self.omega**2 - omega**2) + 1j * (self.structural + omega * self.damping)
        try:
            z = self.basis @ scipy.linalg.solve(matrix.T, self.basis.T @ motion)
        except np.linalg.LinAlgError:
            raise UserError(f"at {frequency:g} Hz the system has a resonance without damping") from None
        at = linear.assembly.imposed_dofs
        moved = motion[at] - (linear.dynamic_stiffness(frequency)[:, at].T @ z if at.size else 0.0)
        return z + np.stack([row.load for row in self.rows], axis=1), moved


def _sources(psd: Any) -> list[Any]:
    """The random loads, checked."""
    each = list(psd) if isinstance(psd, list | tuple) else [psd]
    if not each:
        raise UserError.parameter("psd", psd, "must hold at least one random load")
    for item in each:
        if isinstance(item, type) or not hasattr(item, "admittance"):
            rule = "must be of aq.frequency: Spectrum, CrossSpectrum, RainOnTheRoof, TurbulentFlow, or a list of them"
            raise UserTypeError.parameter("psd", item, rule)
    return each


def _dataset(
    hertz: Array,
    outputs: Mapping[str, Any],
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
