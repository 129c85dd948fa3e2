"""Stationary random loads: one-sided spectral densities of loads, of distributed forces, and of turbulence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.integrate import trapezoid

from arlequin.frequency.excitation import Excitation
from arlequin.frequency.linearised import Linearised
from arlequin.models import checks
from arlequin.models.beams.beam import Beam
from arlequin.models.beams.loads import force_operator
from arlequin.models.errors import ModelWarning, UserError, UserTypeError, short_repr, warn_user
from arlequin.models.loads.turbulence import Turbulence, TurbulentForce
from arlequin.models.nodal import ExternalLoads
from arlequin.models.signatures import checked_call, takes
from arlequin.models.types import Array

_VARIANCE = 0.1  # relative error of a given rms that is no matter of rounding or of the range of frequencies
_DEFINITE = 1e-10


class RandomLoad(Protocol):
    """Loads of a one-sided spectral density S_FF(f) (d, d) on the coordinates, as rows that carry it."""

    def admittance(self, linear: Linearised) -> Callable[[Array, Array, float], Array]:
        """A function of z (d, o), the response of the outputs to unit forces, of those p (p, o) to unit amplitudes of
        the imposed coordinates, and of the frequency, Hz: the densities zᵀ S z̄ (o,)."""


@checked_call
@dataclass(frozen=True, eq=False)
class Spectrum:
    """A load with a one-sided spectral density, `load` of unit amplitude times a random history.

    density S(f): unit²/Hz of the load, a function of frequencies (k,) in Hz, or a table (frequencies, densities),
    linear in between and 0 outside. rms: root mean square that the density is to have, a check: a two-sided density
    given as one-sided has half the variance, one doubled twice has too much.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> force = aq.frequency.Force(mass.boundary("all"), 1.0)
    >>> aq.frequency.Spectrum(force, ([0.0, 50.0], [0.02, 0.02]), rms=1.0).rms  # 0.02 N²/Hz up to 50 Hz
    1.0
    """

    load: Excitation
    density: Any
    rms: float | None = field(default=None, kw_only=True)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if isinstance(self.load, type) or not hasattr(self.load, "amplitudes"):
            raise UserTypeError.parameter("load", self.load, "must be of aq.frequency, as Force(surface, 1.0)")
        table = checked_density("density", self.density)
        if self.rms is not None:
            checks.positive("rms", self.rms)
            if table is None:
                raise UserError("rms: the check of the variance needs the density as a table (frequencies, densities)")
            _check_variance(float(trapezoid(table[1], table[0])), self.rms**2)

    def admittance(self, linear: Linearised) -> Callable[[Array, Array, float], Array]:
        """S(f) |zᵀ F + pᵀ U|²."""
        forces, moved = self.load.amplitudes(linear)

        def densities(z: Array, p: Array, frequency: float) -> Array:
            return density_at(self.density, frequency) * np.abs(forces @ z + moved @ p) ** 2

        return densities


@checked_call
@dataclass(frozen=True, eq=False)
class CrossSpectrum:
    """Several loads with the one-sided cross-spectral densities S_ij(f), E[F_i F̄_j].

    densities: the S_ii(f) of each load, as of `Spectrum`; coherence γ_ij: a matrix (n, n), or a function of f (Hz) that
    returns it, complex with phase, Hermitian and positive semidefinite with γ_ii = 1: S_ij = γ_ij √(S_ii S_jj).

    >>> import numpy as np
    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", (0.0, 0.0), 2.0)  # m, kg
    >>> forces = [aq.frequency.Force(mass.boundary("all"), axis) for axis in ((1.0, 0.0), (0.0, 1.0))]
    >>> aq.frequency.CrossSpectrum(forces, 2 * [lambda f: 1.0 / (1.0 + f)], [[1.0, 0.5j], [-0.5j, 1.0]]).count
    2
    """

    loads: Sequence[Excitation]
    densities: Sequence[Any]
    coherence: Any

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if len(self.loads) != len(self.densities) or not len(self.loads):
            raise UserError(f"densities: {len(self.densities)} are given for {len(self.loads)} loads")
        for i, density in enumerate(self.densities):
            checked_density(f"densities[{i}]", density)
        self._coherence_at(1.0)

    @property
    def count(self) -> int:
        """Number of loads."""
        return len(self.loads)

    def _coherence_at(self, frequency: float) -> Array:
        matrix = np.asarray(self.coherence(frequency) if callable(self.coherence) else self.coherence)
        rule = f"must be Hermitian and positive semidefinite, ({self.count}, {self.count}), with 1 on its diagonal"
        fits = matrix.shape == (self.count,) * 2 and matrix.dtype.kind in "iufc" and bool(np.isfinite(matrix).all())
        if fits:
            fits = bool(np.allclose(matrix, matrix.conj().T, rtol=0.0, atol=_DEFINITE))
            fits = fits and bool(np.allclose(np.diag(matrix), 1.0, rtol=0.0, atol=_DEFINITE))
            fits = fits and float(np.linalg.eigvalsh(matrix).min()) >= -_DEFINITE * self.count
        if not fits:
            raise UserError.parameter(f"coherence at {frequency:g} Hz", self.coherence, rule)
        return matrix

    def admittance(self, linear: Linearised) -> Callable[[Array, Array, float], Array]:
        """Σ_ij y_i S_ij ȳ_j with y_i = zᵀ F_i + pᵀ U_i."""
        each = [load.amplitudes(linear) for load in self.loads]
        forces, moved = (np.stack(columns) for columns in zip(*each, strict=True))

        def densities(z: Array, p: Array, frequency: float) -> Array:
            y = forces @ z + moved @ p
            root = np.sqrt([density_at(density, frequency) for density in self.densities])
            matrix = self._coherence_at(frequency) * np.outer(root, root)
            return np.einsum("io,ij,jo->o", y, matrix, y.conj()).real

        return densities


@checked_call
@dataclass(frozen=True, eq=False)
class RainOnTheRoof:
    """A force per unit length on a beam, white in space: S_qq(s, s′, f) = S(f) δ(s − s′), across the beam.

    density: S(f) in (N/m)²·m/Hz, as of `Spectrum`; direction: "y" or "z" of the local axes of the section.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> section = aq.Section.rectangle(height=0.02, width=0.01, poisson=0.3)  # m
    >>> beam = aq.Beam.between("beam", (0.0, 0.0), (0.5, 0.0), 4, steel, section)
    >>> aq.frequency.RainOnTheRoof(beam, lambda f: 1.0 + 0.0 * f).direction
    'y'
    """

    beam: Any
    density: Any
    direction: str = "y"

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if not isinstance(getattr(self.beam, "model", None), Beam):
            raise UserTypeError.parameter("beam", self.beam, "must be a Beam")
        checks.one_of("direction", self.direction, ("y", "z")[: self.beam.model.dimension - 1])
        checked_density("density", self.density)

    def admittance(self, linear: Linearised) -> Callable[[Array, Array, float], Array]:
        """S(f) ∫ |zᵀ N(s)|² ds, N the shape functions; exact by the quadrature of the cells."""
        system, model = linear.assembly.system, self.beam.model
        if all(self.beam is not part for part in system.parts):
            raise UserError(f"psd: the beam '{self.beam.name}' is not in the system")
        if any(self.beam in (junction.coarse, junction.fine) for junction in system.junctions):
            raise UserError(f"psd: '{self.beam.name}' shares its loads in a junction: take a Turbulence for it")
        points = np.asarray(model.basis.dx)
        axis = model.frame[1 + ("y", "z").index(self.direction), : model.dimension]
        across = sp.kron(sp.eye_array(points.size), axis[:, None], format="csr")
        lines = force_operator(model, np.ones_like(points)) @ across
        at = system.parts.index(self.beam)
        shapes, place = linear.assembly.parts[at].shapes, linear.assembly.places[at]
        on_coordinates = sp.diags_array(1.0 / np.sqrt(points.ravel())) @ (lines.T @ shapes)

        def densities(z: Array, p: Array, frequency: float) -> Array:
            return density_at(self.density, frequency) * (np.abs(on_coordinates @ z[place]) ** 2).sum(axis=0)

        return densities


@checked_call
@dataclass(frozen=True, eq=False)
class TurbulentFlow:
    """The turbulence of the beams and solids of the system (`Beam(…, turbulence=)`, `SpanForce`), as in time.

    S_qq(s, s′, f) = S(f) exp(−|s − s′|/λ) in each of the directions across the axis. Parts with the same `Turbulence` are
    loaded by the same force, those with others independently. Where the parts have several, all of them act.

    >>> import arlequin as aq
    >>> aq.frequency.TurbulentFlow()
    TurbulentFlow()
    """

    def admittance(self, linear: Linearised) -> Callable[[Array, Array, float], Array]:
        """Σ over turbulences and directions of S(f) aᵀ R ā, a the response to forces at the stations."""
        forces = _turbulent_forces(linear)
        if not forces:
            raise UserError("psd: no part of the system has a turbulence: give beams turbulence=Turbulence(…)")
        groups = [(turbulence, _Stations.of(turbulence, each)) for turbulence, each in forces]

        def densities(z: Array, p: Array, frequency: float) -> Array:
            total = np.zeros(z.shape[1])
            for turbulence, stations in groups:
                density = density_at(turbulence.spectrum, frequency) if frequency <= turbulence.highest else 0.0
                if density:
                    total += density * stations.squares(z)
            return total

        return densities


@dataclass(frozen=True, eq=False)
class _Stations:
    """Responses at all stations of a turbulence: numbers (s,), and by direction the parts' operators there."""

    numbers: Array
    spacing: float
    operators: list[list[tuple[slice, Any, Array]]]

    @classmethod
    def of(cls, turbulence: Turbulence, forces: list[tuple[slice, TurbulentForce]]) -> "_Stations":
        numbers = np.unique(np.concatenate([force.numbers for _, force in forces]))
        count = max(len(force.operators) for _, force in forces)
        operators = [
            [
                (place, force.operators[k], np.searchsorted(numbers, force.numbers))
                for place, force in forces
                if k < len(force.operators)
            ]
            for k in range(count)
        ]
        return cls(numbers, turbulence.spacing / turbulence.correlation, operators)

    def squares(self, z: Array) -> Array:
        """aᵀ R ā (o,) with R = exp(−|k − k′| h/λ), by its factor R = L Lᵀ of a sequence that forgets by ρ a step."""
        total = np.zeros(z.shape[1])
        decay = np.exp(-self.spacing * np.diff(self.numbers))
        innovation = np.sqrt(np.concatenate([[1.0], -np.expm1(-2.0 * self.spacing * np.diff(self.numbers))]))
        for parts in self.operators:
            a = np.zeros((self.numbers.size, z.shape[1]), dtype=complex)
            for place, operator, at in parts:
                a[at] += operator.T @ z[place]
            for j in range(len(a) - 2, -1, -1):
                a[j] += decay[j] * a[j + 1]
            total += ((innovation[:, None] * np.abs(a)) ** 2).sum(axis=0)
        return total


def _turbulent_forces(linear: Linearised) -> list[tuple[Turbulence, list[tuple[slice, TurbulentForce]]]]:
    """The turbulent forces of the parts, with their places, by turbulence."""
    groups: list[tuple[Turbulence, list[tuple[slice, TurbulentForce]]]] = []
    for assembled, place in zip(linear.assembly.parts, linear.assembly.places, strict=True):
        loads = getattr(assembled, "loads", None)
        for force in loads.varying if isinstance(loads, ExternalLoads) else ():
            if isinstance(force, TurbulentForce):
                same = next((group for turbulence, group in groups if turbulence == force.turbulence), None)
                if same is None:
                    groups.append((force.turbulence, [(place, force)]))
                else:
                    same.append((place, force))
    return groups


def checked_density(name: str, density: Any) -> tuple[Array, Array] | None:
    """A table (frequencies, densities) checked, or None of a function."""
    if callable(density) and not isinstance(density, type):
        takes(name, density, f="the frequency, Hz")
        return None
    rule = "must be a function of f, Hz, or a table (frequencies, densities)"
    if not isinstance(density, Sequence | np.ndarray) or len(density) != 2:
        raise UserTypeError.parameter(name, density, rule)
    hertz = checks.finite_array(f"{name}: frequencies", density[0], (None,))
    values = checks.finite_array(f"{name}: densities", density[1], (hertz.size,))
    if hertz.size < 2 or (np.diff(hertz) <= 0.0).any():
        raise UserError.parameter(f"{name}: frequencies", density[0], "must be at least two that increase, Hz")
    if (hertz < 0.0).any():
        raise UserError(
            f"{name}: has frequencies below 0, so it is two-sided: give the one-sided density 2 S(f) at f ≥ 0"
        )
    if (values < 0.0).any():
        raise UserError.parameter(f"{name}: densities", float(values.min()), "must not be negative")
    return hertz, values


def density_at(density: Any, frequency: float) -> float:
    """S(f), unit²/Hz."""
    if callable(density):
        value = np.asarray(density(np.array([frequency])), dtype=float).ravel()
        if value.size != 1 or not np.isfinite(value[0]) or value[0] < 0.0:
            raise UserError(f"the density at {frequency:g} Hz is {value}: it must be one finite number ≥ 0")
        return float(value[0])
    return float(np.interp(frequency, density[0], density[1], left=0.0, right=0.0))


def _check_variance(variance: float, expected: float) -> None:
    """Warn of a variance that is not that of the given rms; a factor of 2 names the two-sided density."""
    ratio = variance / expected
    if abs(ratio - 1.0) <= _VARIANCE:
        return
    hint = ""
    if abs(ratio - 0.5) <= 0.5 * _VARIANCE:
        hint = ": half as much, as of a two-sided density; the one-sided density is twice it"
    elif abs(ratio - 2.0) <= 2.0 * _VARIANCE:
        hint = ": twice as much, as of a one-sided density that was doubled again"
    warn_user(f"density: its variance is {variance:.4g}, that of the given rms {expected:.4g}{hint}", ModelWarning)
