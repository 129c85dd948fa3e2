"""Stationary random loads: one-sided spectral densities of loads, of distributed forces, and of turbulence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.polynomial.legendre import leggauss, legvander
from scipy.integrate import trapezoid

from arlequin.frequency.excitation import as_excitation
from arlequin.frequency.linearised import Linearised
from arlequin.frequency.transfer import LoadColumns
from arlequin.models import checks
from arlequin.models.beams.beam import Beam
from arlequin.models.beams.loads import force_operator
from arlequin.models.errors import ModelWarning, UserError, UserTypeError, short_repr, warn_user
from arlequin.models.loads.turbulence import PlateauSpectrum, Turbulence, TurbulentForce
from arlequin.models.nodal import ExternalLoads
from arlequin.models.part import Assembled
from arlequin.models.reduction.modal import Modal
from arlequin.models.signatures import checked_call, takes
from arlequin.models.types import Array

_VARIANCE = 0.1  # relative error of a given rms that is no matter of rounding or of the range of frequencies
_DEFINITE = 1e-10
_DEGREE = 3  # of the shape functions of beams
_POINTS, _MOST_LENGTHS = 24, 500.0  # of Gauss in a cell, and correlation lengths of a cell


@dataclass(frozen=True, eq=False)
class RandomTerm:
    """Unit loads s and their one-sided cross-spectral density at a frequency, Hz: a number times 1, or (s, s).

    kinks (k,): frequencies, Hz, at which the density is not smooth.
    """

    loads: LoadColumns
    density: Callable[[float], Any]
    kinks: Array

    def response(self, transfer: Array, frequency: Any) -> Array:
        """Densities (o,) of outputs of the transfer functions H (o, s) at a frequency, Hz: Σ H_i S_ij H̄_j; of H
        (f, o, s) at frequencies (f,) densities (f, o)."""
        each = [self.density(f) for f in np.ravel(frequency).tolist()]
        density = np.reshape(each, np.shape(frequency) + np.shape(each[0]))
        if np.ndim(each[0]) == 0:
            return np.asarray(density[..., None] * (np.abs(transfer) ** 2).sum(axis=-1))
        return np.asarray(np.einsum("...oi,...ij,...oj->...o", transfer, density, transfer.conj()).real)


@runtime_checkable
class RandomLoad(Protocol):
    """A stationary random load."""

    def terms(self, linear: Linearised) -> list[RandomTerm]:
        """Its unit loads on a linearised system with their densities, independent of each other."""


@checked_call
@dataclass(frozen=True, eq=False)
class Spectrum:
    """A load with a one-sided spectral density: `load`, of unit amplitude, times a random history.

    load: as of `aq.frequency_response`, a list of loads that act together included. density S(f): unit²/Hz of the load,
    a function of frequencies (k,) in Hz, or a table (frequencies, densities), linear in between and 0 outside. rms:
    root mean square that the density of a table is to have, a check: a two-sided density given as one-sided has half
    the variance, one doubled twice has too much.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> force = aq.frequency.Force(mass.boundary("all"), 1.0)
    >>> aq.frequency.Spectrum(force, ([0.0, 50.0], [0.02, 0.02]), rms=1.0).rms  # 0.02 N²/Hz up to 50 Hz
    1.0
    """

    load: Any
    density: Any
    rms: float | None = field(default=None, kw_only=True)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        as_excitation("load", self.load)
        table = checked_density("density", self.density)
        if self.rms is not None:
            checks.positive("rms", self.rms)
            if table is None:
                raise UserError("rms: the check of the variance needs the density as a table (frequencies, densities)")
            _check_variance(float(trapezoid(table[1], table[0])), self.rms**2)

    def terms(self, linear: Linearised) -> list[RandomTerm]:
        """The load with S(f)."""
        forces, moved = as_excitation("load", self.load).amplitudes(linear)
        columns = LoadColumns.of(forces[:, None], moved[:, None])
        return [RandomTerm(columns, lambda f: density_at(self.density, f), _kinks(self.density))]


@checked_call
@dataclass(frozen=True, eq=False)
class CrossSpectrum:
    """Several loads with the one-sided cross-spectral densities S_ij(f), those of E[F_i F̄_j].

    densities: the S_ii(f) of each load, as of `Spectrum`; coherence γ_ij: a matrix (n, n), or a function of f (Hz) that
    returns it, complex with phase, Hermitian and positive semidefinite with γ_ii = 1: S_ij = γ_ij √(S_ii S_jj). (The
    coherence that analysers show is |γ_ij|².)

    >>> import numpy as np
    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", (0.0, 0.0), 2.0)  # m, kg
    >>> forces = [aq.frequency.Force(mass.boundary("all"), axis) for axis in ((1.0, 0.0), (0.0, 1.0))]
    >>> aq.frequency.CrossSpectrum(forces, 2 * [lambda f: 1.0 / (1.0 + f)], [[1.0, 0.5j], [-0.5j, 1.0]]).count
    2
    """

    loads: Sequence[Any]
    densities: Sequence[Any]
    coherence: Any

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if len(self.loads) != len(self.densities) or not len(self.loads):
            raise UserError(f"densities: {len(self.densities)} are given for {len(self.loads)} loads")
        for i, (load, density) in enumerate(zip(self.loads, self.densities, strict=True)):
            as_excitation(f"loads[{i}]", load)
            checked_density(f"densities[{i}]", density)
        if callable(self.coherence):
            takes("coherence", self.coherence, f="the frequency, Hz")
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

    def terms(self, linear: Linearised) -> list[RandomTerm]:
        """The loads with S_ij(f)."""
        each = [as_excitation("loads", load).amplitudes(linear) for load in self.loads]
        forces, moved = (np.stack(columns, axis=1) for columns in zip(*each, strict=True))

        def density(frequency: float) -> Array:
            root = np.sqrt([density_at(density, frequency) for density in self.densities])
            return np.asarray(self._coherence_at(frequency) * np.outer(root, root))

        kinks = np.unique(np.concatenate([_kinks(density) for density in self.densities]))
        return [RandomTerm(LoadColumns.of(forces, moved), density, kinks)]


@dataclass(frozen=True, eq=False)
class _OnBeam:
    """A random force per unit length across a beam."""

    beam: Any
    density: Any
    direction: str = "y"

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if not isinstance(self.beam, Beam | Modal) or not isinstance(self.beam.model, Beam):
            raise UserTypeError.parameter("beam", self.beam, "must be a Beam")
        checks.one_of("direction", self.direction, ("y", "z")[: self.beam.model.dimension - 1])
        checked_density("density", self.density)

    def _lines(self, linear: Linearised) -> tuple[sp.csr_array, slice]:
        """Forces (points, d_part) on the coordinates of the part of unit forces per unit length at the quadrature
        points, and the place of the part."""
        system, model = linear.assembly.system, self.beam.model
        if all(self.beam is not part for part in system.parts):
            raise UserError(f"psd: the beam '{self.beam.name}' is not in the system")
        if any(self.beam in (junction.coarse, junction.fine) for junction in system.junctions):
            raise UserError(f"psd: '{self.beam.name}' shares its loads in a junction: take a Turbulence for it")
        points = np.asarray(model.basis.dx)
        axis = model.frame[1 + ("y", "z").index(self.direction), : model.dimension]
        across = sp.kron(sp.eye_array(points.size), axis[:, None], format="csr")
        at = system.parts.index(self.beam)
        assembled: Assembled = linear.assembly.parts[at]
        lines = sp.csr_array(force_operator(model, np.ones_like(points)) @ across)
        return lines.T @ assembled.shapes, linear.assembly.places[at]

    def _term(self, linear: Linearised, count: int, across: Callable[[Array], Array]) -> list[RandomTerm]:
        columns = LoadColumns.distributed(linear, count, across)
        return [RandomTerm(columns, lambda f: density_at(self.density, f), _kinks(self.density))]


@checked_call
class RainOnTheRoof(_OnBeam):
    """A force per unit length on a beam, white in space: S_qq(s, s′, f) = S(f) δ(s − s′), across the beam.

    density: one-sided S(f) in (N/m)²·m/Hz, as of `Spectrum`; direction: "y" or "z" of the local axes of the section.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> section = aq.Section.rectangle(height=0.02, width=0.01, poisson=0.3)  # m
    >>> beam = aq.Beam.between("beam", (0.0, 0.0), (0.5, 0.0), 4, steel, section)
    >>> aq.frequency.RainOnTheRoof(beam, lambda f: 1.0).direction
    'y'
    """

    def terms(self, linear: Linearised) -> list[RandomTerm]:
        """S(f) ∫ |zᵀ N(s)|² ds, N the shape functions; exact by the quadrature of the cells."""
        lines, place = self._lines(linear)
        lengths = np.asarray(self.beam.model.basis.dx).ravel()
        unit = sp.diags_array(1.0 / np.sqrt(lengths)) @ lines
        return self._term(linear, lengths.size, lambda z: unit @ z[place])


@checked_call
@dataclass(frozen=True, eq=False)
class CorrelatedForce(_OnBeam):
    """A force per unit length on a beam with an exponential correlation: S_qq(s, s′, f) = S(f) exp(−|s − s′|/λ).

    density: one-sided S(f) in (N/m)²/Hz, as of `Spectrum`; correlation λ: correlation length, m; direction: "y" or "z"
    of the local axes of the section. The integrals over the beam are those of the continuous field, to round-off; for
    λ → 0 they are those of `RainOnTheRoof` of the density 2 λ S.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> section = aq.Section.rectangle(height=0.02, width=0.01, poisson=0.3)  # m
    >>> beam = aq.Beam.between("beam", (0.0, 0.0), (0.5, 0.0), 4, steel, section)
    >>> aq.frequency.CorrelatedForce(beam, lambda f: 1.0, correlation=0.1).correlation
    0.1
    """

    correlation: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("correlation", self.correlation)
        longest = float(np.asarray(self.beam.model.basis.dx).sum(axis=1).max())
        if longest > _MOST_LENGTHS * self.correlation:
            rule = f"must be at least {longest / _MOST_LENGTHS:.3g} m, a share of the longest cell (or RainOnTheRoof)"
            raise UserError.parameter("correlation", self.correlation, rule)

    def terms(self, linear: Linearised) -> list[RandomTerm]:
        """S(f) ∬ zᵀN(s) exp(−|s − s′|/λ) N(s′)ᵀz̄ ds ds′."""
        lines, place = self._lines(linear)
        model = self.beam.model
        low = model.basis.doflocs[0][model.nodes[:, 0]]
        lengths = model.elements.lengths
        order = np.argsort(low)
        s = np.asarray(model.basis.global_coordinates())[0]
        # values of the force at the quadrature points of the cells from its moments ∫ L_j q ds
        legendre = legvander(2.0 * (s - low[:, None]) / lengths[:, None] - 1.0, _DEGREE)
        legendre *= (2.0 * np.arange(_DEGREE + 1) + 1.0) / lengths[:, None, None]
        values = sp.block_diag([sp.csr_array(rows) for rows in legendre], format="csr")
        moments = sp.csr_array(values.T @ sp.csr_array(lines))
        field_of = _CellField.of(lengths[order], self.correlation)

        def across(z: Array) -> Array:
            g = (moments @ z[place]).reshape(order.size, _DEGREE + 1, -1)[order]
            return field_of.independent(g)

        return self._term(linear, order.size * (_DEGREE + 2) + 1, across)


@dataclass(frozen=True, eq=False)
class _CellField:
    """The moments μ_j = ∫ L_j q ds, j ≤ 3, over consecutive cells of a field of correlation exp(−|s − s′|/λ) as sums of
    independent unit variables.

    q is a Markov process: given its value q₀ at the start of a cell, (μ, q₁) = (m q₀, e^{−h/λ} q₀) + L ξ, ξ independent
    of what is before. mean (c, 4): m; decay (c,); root (c, 5, 5): L.
    """

    mean: Array
    decay: Array
    root: Array

    @classmethod
    def of(cls, lengths: Array, correlation: float) -> "_CellField":
        mean, decay, root = zip(*(_cell_covariance(h, h / correlation) for h in lengths.tolist()), strict=True)
        return cls(np.stack(mean), np.array(decay), np.stack(root))

    def independent(self, g: Array) -> Array:
        """Coefficients (5 c + 1, k) of the independent variables in Σ g μ, g (c, 4, k)."""
        sums = np.einsum("cj,cjk->ck", self.mean, g)
        after = backward_sums(self.decay[:-1], sums)
        following = np.concatenate([after[1:], np.zeros_like(after[:1])])
        noise = np.einsum("cij,cik->cjk", self.root, np.concatenate([g, following[:, None]], axis=1))
        return np.concatenate([after[:1], noise.reshape(-1, noise.shape[2])])


def _cell_covariance(length: float, ratio: float) -> tuple[Array, float, Array]:
    """m (4,), e^{−r} and a root L (5, 5) of the covariance of (μ, q₁) given q₀; r: cell over correlation length."""
    x, w = leggauss(_POINTS + int(2.0 * ratio))
    x, w = 0.5 * (x + 1.0), 0.5 * w
    polynomials = legvander(2.0 * x - 1.0, _DEGREE)
    mean = length * (polynomials * (w * np.exp(-ratio * x))[:, None]).sum(axis=0)
    inner = x[:, None] * x  # ξ′ = ξ y, below the diagonal, and twice for both sides
    at_inner = legvander(2.0 * inner - 1.0, _DEGREE)
    kernel = np.exp(-ratio * (x[:, None] - inner)) - np.exp(-ratio * (x[:, None] + inner))
    weights = (w * x)[:, None] * w * kernel
    half = np.einsum("xi,xy,xyj->ij", polynomials, weights, at_inner)
    covariance = np.empty((_DEGREE + 2,) * 2)
    covariance[:-1, :-1] = length**2 * (half + half.T)
    to_end = w * (np.exp(-ratio * (1.0 - x)) - np.exp(-ratio * (1.0 + x)))
    covariance[-1, :-1] = covariance[:-1, -1] = length * polynomials.T @ to_end
    covariance[-1, -1] = -np.expm1(-2.0 * ratio)
    scale = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return mean, float(np.exp(-ratio)), scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))


def backward_sums(decay: Array, values: Array) -> Array:
    """a (n, k) of a_j = v_j + decay_j a_{j+1} from the last to the first.

    >>> backward_sums(np.array([0.5, 0.5]), np.array([[1.0], [1.0], [1.0]])).ravel().tolist()
    [1.75, 1.5, 1.0]
    """
    bands = np.ones((2, len(values)))
    bands[0, 0], bands[0, 1:] = 0.0, -decay
    return np.asarray(scipy.linalg.solve_banded((0, 1), bands, values))


@checked_call
@dataclass(frozen=True, eq=False)
class TurbulentFlow:
    """The turbulence of the beams and solids of the system (`Beam(…, turbulence=)`, `SpanForce`), as in time.

    S_qq(s, s′, f) = S(f) exp(−|s − s′|/λ) in each of the directions across the axis, up to the highest frequency of the
    `Turbulence`, at its stations and linear in between, as in time (see there for the difference, at most 1.25 % for
    waves as long as λ or longer; `CorrelatedForce` is without it). Parts with the same `Turbulence` are loaded by the
    same force, those with others independently. Where the parts have several, all of them act.

    >>> import arlequin as aq
    >>> aq.frequency.TurbulentFlow()
    TurbulentFlow()
    """

    __repr__ = short_repr

    def terms(self, linear: Linearised) -> list[RandomTerm]:
        """Of each turbulence, the forces at its stations in each direction."""
        groups = _turbulent_forces(linear)
        if not groups:
            raise UserError("psd: no part of the system has a turbulence: give beams turbulence=Turbulence(…)")
        return [_turbulent_term(linear, turbulence, forces) for turbulence, forces in groups]


def _turbulent_term(
    linear: Linearised, turbulence: Turbulence, forces: list[tuple[slice, TurbulentForce]]
) -> RandomTerm:
    numbers = np.unique(np.concatenate([force.numbers for _, force in forces]))
    directions = max(len(force.operators) for _, force in forces)
    steps = turbulence.spacing / turbulence.correlation * np.diff(numbers)
    decay, innovation = np.exp(-steps), np.sqrt(np.concatenate([[1.0], -np.expm1(-2.0 * steps)]))

    def across(z: Array) -> Array:
        """Lᵀ a of the sums a at the stations of each direction: the correlation R = L Lᵀ is that of a sequence."""
        out = []
        for k in range(directions):
            sums = np.zeros((numbers.size, z.shape[1]), dtype=z.dtype)
            for place, force in forces:
                if k < len(force.operators):
                    sums[np.searchsorted(numbers, force.numbers)] += force.operators[k].T @ z[place]
            out.append(innovation[:, None] * backward_sums(decay, sums))
        return np.concatenate(out)

    def density(frequency: float) -> float:
        return density_at(turbulence.spectrum, frequency) if frequency <= turbulence.highest else 0.0

    columns = LoadColumns.distributed(linear, directions * numbers.size, across)
    return RandomTerm(columns, density, np.array([turbulence.highest, *_kinks(turbulence.spectrum)]))


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
        takes(name, density, f="the frequencies (k,), Hz")
        return None
    rule = "must be a function of f, Hz, or a table (frequencies, densities)"
    if not isinstance(density, Sequence | np.ndarray) or isinstance(density, str) or len(density) != 2:
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
            raise UserError(f"density at {frequency:g} Hz = {value.tolist()}: must be one finite number ≥ 0")
        return float(value[0])
    return float(np.interp(frequency, density[0], density[1], left=0.0, right=0.0))


def _kinks(density: Any) -> Array:
    """Frequencies at which a density is not smooth: those of a table, the end of a plateau."""
    if isinstance(density, PlateauSpectrum):
        return np.array([density.cutoff])
    return np.zeros(0) if callable(density) else np.asarray(density[0], dtype=float)


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
