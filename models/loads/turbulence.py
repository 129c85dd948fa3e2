"""The random force of a turbulent flow on a slender body, as a sum of harmonics, on beams and on solids.

The force is defined at equidistant stations along the axis, linear in between; `Stations` evaluates it at points or as
cell means, `SpanForce` applies it to a solid that models a length of the body.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander
from scipy.sparse import csr_array, hstack, kron

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError, short_repr
from arlequin.models.loads.body import LoadRegion
from arlequin.models.loads.harmonics import Harmonics, SharedHarmonics
from arlequin.models.signatures import checked_call, takes
from arlequin.models.types import Array, Indices


@dataclass(frozen=True, eq=False)
class Stations:
    """Stations k·h with increasing numbers k (s,), and the operator (p, s) from values there to values at points."""

    numbers: Indices
    operator: csr_array

    @classmethod
    def at_points(cls, spacing: float, points: Array) -> "Stations":
        """At points (p,), of the spacing h, m: (1 − ξ) f_k + ξ f_{k+1}, ξ = s/h − k.

        >>> stations = Stations.at_points(0.5, np.array([0.1, 0.5]))
        >>> stations.numbers.tolist(), stations.operator.toarray().round(3).tolist()
        ([0, 1, 2], [[0.8, 0.2, 0.0], [0.0, 1.0, 0.0]])
        """
        station = np.floor(points / spacing).astype(np.int64)
        share = points / spacing - station
        values = np.stack([1.0 - share, share], axis=1)
        return cls._of(station[:, None], np.arange(points.size)[:, None], values, points.size)

    @classmethod
    def in_cells(cls, spacing: float, low: Array, high: Array, points: Array, degree: int) -> "Stations":
        """At points (c, q) of cells [low, high] (c,): in each cell the L² projection of f on polynomials of degree n.

        With the Legendre polynomials L_j of a cell of the length ℓ,

            f̂(s) = Σ_{j ≤ n} (2j + 1)/ℓ L_j(s) ∫ f L_j ds,    so that    ∫ p f̂ ds = ∫ p f ds    of any p of degree ≤ n,

        the integrals exact, interval by interval between stations: a quadrature that is exact for p f̂ gives the exact
        work of f, kinks included.
        """
        cells, per_cell = points.shape
        first = np.floor(low / spacing).astype(np.int64)
        count = np.maximum(np.ceil(high / spacing).astype(np.int64) - first, 1)
        cell = np.repeat(np.arange(cells), count)
        station = first[cell] + np.arange(cell.size) - np.repeat(np.cumsum(count) - count, count)
        start = np.maximum(low[cell], station * spacing)
        length = np.maximum(np.minimum(high[cell], (station + 1) * spacing) - start, 0.0)
        roots, weights = leggauss((degree + 3) // 2)
        s = start[:, None] + 0.5 * length[:, None] * (1.0 + roots)
        share = s / spacing - station[:, None]
        size = (high - low)[:, None]
        legendre_inside = legvander(2.0 * (s - low[cell, None]) / size[cell] - 1.0, degree)
        hats = np.stack([1.0 - share, share], axis=2) * (0.5 * length[:, None] * weights)[:, :, None]
        moments = np.swapaxes(legendre_inside, 1, 2) @ hats
        legendre = legvander(2.0 * (points - low[:, None]) / size - 1.0, degree)
        legendre *= (2.0 * np.arange(degree + 1) + 1.0) / size[:, :, None]
        rows = cell[:, None] * per_cell + np.arange(per_cell)
        return cls._of(station[:, None], rows, legendre[cell] @ moments, points.size)

    @classmethod
    def _of(cls, station: Indices, rows: Indices, values: Array, count: int) -> "Stations":
        """Stations from the weights (…, 2) of `station` and of the next one in each row."""
        numbers, columns = np.unique(np.stack([station, station + 1], axis=-1), return_inverse=True)
        columns = np.broadcast_to(columns.reshape(*station.shape, 2), values.reshape(*rows.shape, 2).shape)
        entries = (values.ravel(), (np.repeat(rows.ravel(), 2), columns.ravel()))
        return cls(numbers, csr_array(entries, shape=(count, numbers.size)))


MAX_FREQUENCIES = 1e7
_PER_LENGTH = 16  # stations in a correlation length
_PANEL = 20 * _PER_LENGTH  # stations of a panel, each with separate random numbers


@checked_call
@dataclass(frozen=True)
class PlateauSpectrum:
    """One-sided spectral density S(f): level up to cutoff, level·(f/cutoff)^−slope above.

    level in (N/m)²/Hz, cutoff in Hz. The slope 7/2 is that of the envelope of forces measured on tubes in cross-flow;
    its level and cut-off scale with the flow: level = (½ρU²D)² (D/U) Φ, cutoff = f_R U/D, of the reduced Φ and f_R.
    Source: Axisa, Antunes & Villard, Journal of Fluids and Structures 4, 1990.

    >>> PlateauSpectrum(level=2.0, cutoff=10.0, slope=2.0)(np.array([5.0, 20.0])).tolist()
    [2.0, 0.5]
    """

    level: float
    cutoff: float
    slope: float = 3.5

    def __post_init__(self) -> None:
        for name in ("level", "cutoff", "slope"):
            checks.positive(name, getattr(self, name))

    def __call__(self, frequencies: Array) -> Array:
        """S (k,) at the frequencies (k,), (N/m)²/Hz."""
        return self.level * np.maximum(frequencies / self.cutoff, 1.0) ** -self.slope


@checked_call
@dataclass(frozen=True)
class Turbulence:
    """A Gaussian random force per unit length across a slender body, independent in its two directions.

    spectrum: one-sided density S(f) in (N/m)²/Hz, a `PlateauSpectrum` or any function of frequencies (k,) in Hz;
    highest: Hz, where the series ends; correlation λ, m: forces at s and s′ have the correlation exp(−|s − s′|/λ);
    duration T, s: the force repeats after T, so no shorter than the run; its frequencies are k/T. seed: a whole
    number, or several (one of the study, one of the rod).

        f(s, t) = Σ_k √(S(k/T)/T) [A_k(s) cos 2πkt/T + B_k(s) sin 2πkt/T]

    with A_k, B_k independent normal fields of variance 1 along the arc length s. They are sampled at stations jh,
    h = λ/16 and j any whole number, independent of the mesh: the same seed gives the same force at the same s on a beam
    of any mesh, on parts of it, and on a solid that models a length of it (`SpanForce`).

    At stations they are exact, with ρ = exp(−h/λ): A_{j+1} = ρ A_j + √(1 − ρ²) × a new normal number. Each panel of
    20λ starts anew 20λ before its first station, on the numbers of the panel before it, so that any station is computed
    from at most two panels; panels are continuous within exp(−20) = 2e-9. Between stations A is linear, of the variance
    1 − 2ξ(1 − ξ)(1 − ρ) at the share ξ, in the mean 1 − (1 − ρ)/3, 2.0 % less than 1: the missing variance is in
    waves as short as h. At the wave number κ the spectral density is that of exp(−|s − s′|/λ) times
    1 + (1/λ² − κ²) h²/12 + O(h⁴): 0.03 % above it for long ones, 1.25 % below it for those as short as λ.
    Source: Shinozuka & Jan, Journal of Sound and Vibration 25, 1972 (series); Au-Yang, Flow-Induced Vibration of Power
    and Process Plant Components, 2001, ch. 8 (correlation length).
    """

    spectrum: Callable[[Array], Any]
    highest: float = field(kw_only=True)
    correlation: float = field(kw_only=True)
    duration: float = field(kw_only=True)
    seed: int | Sequence[int] = field(kw_only=True)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if not callable(self.spectrum):
            raise UserTypeError.parameter("spectrum", self.spectrum, "must be a PlateauSpectrum or a function of f")
        takes("spectrum", self.spectrum, f="the frequencies (k,), Hz")
        for name in ("highest", "correlation", "duration"):
            checks.positive(name, getattr(self, name))
        for value in self.seed if isinstance(self.seed, Sequence) and not isinstance(self.seed, str) else [self.seed]:
            checks.non_negative_integer("seed", value)
        if self.highest * self.duration > MAX_FREQUENCIES:
            rule = f"gives {self.highest * self.duration:.3g} frequencies; at most {MAX_FREQUENCIES:g} are summed"
            raise UserError.parameter("highest", self.highest, rule)
        if not self.frequencies.size:
            raise UserError.parameter(
                "highest", self.highest, f"must be at least 1/duration = {1 / self.duration:g} Hz"
            )
        _ = self.rms

    @property
    def frequencies(self) -> Array:
        """Frequencies k/T (k,) of the series, Hz."""
        count = math.floor(self.highest * self.duration * (1 + 1e-12))
        return np.arange(1, 1 + count) / self.duration

    @property
    def rms(self) -> float:
        """Root mean square of the force per unit length in one direction, N/m."""
        return math.sqrt(float(self._densities.sum()) / self.duration)

    @property
    def spacing(self) -> float:
        """Distance h of the stations, m."""
        return self.correlation / _PER_LENGTH

    def harmonics(self, places: Array) -> Array:
        """Coefficients (2k, direction, p), N/m, of the force per unit length at the arc lengths `places` (p,), m."""
        stations = Stations.at_points(self.spacing, places)
        values = self.at_stations(stations.numbers)
        return np.asarray((stations.operator @ values.reshape(-1, values.shape[2]).T).T.reshape(*values.shape[:2], -1))

    def at_stations(self, numbers: Indices) -> Array:
        """Coefficients (2k, direction, s) of both directions at the stations of increasing numbers (s,), N/m."""
        size = np.tile(np.sqrt(self._densities / self.duration), 2)[:, None]
        out = np.empty((size.size, 2, numbers.size))
        panels = numbers // _PANEL
        for panel in np.unique(panels).tolist():
            columns = np.flatnonzero(panels == panel)
            column_of = dict(zip((numbers[columns] - (panel - 1) * _PANEL).tolist(), columns.tolist(), strict=True))
            self._follow(panel, column_of, size, out)
        return out

    def _follow(self, panel: int, column_of: dict[int, int], size: Array, out: Array) -> None:
        """Fill columns of `out`; column_of: station, counted from the start of the previous panel → column."""
        correlation = math.exp(-1.0 / _PER_LENGTH)
        innovation, last = math.sqrt(1.0 - correlation**2), max(column_of)
        field = np.zeros((size.size, 2))
        for first_station, number in ((0, panel - 1), (_PANEL, panel)):
            random = np.random.default_rng(
                np.random.SeedSequence(self.seed, spawn_key=(2 * abs(number) + (number < 0),))
            )
            for station in range(first_station, min(first_station + _PANEL, last + 1)):
                random_numbers = random.standard_normal(field.shape)
                field = correlation * field + innovation * random_numbers if station else random_numbers
                if station in column_of:
                    out[:, :, column_of[station]] = size * field

    @property
    def _densities(self) -> Array:
        """S (k,) at the frequencies, (N/m)²/Hz."""
        frequencies = self.frequencies
        if isinstance(self.spectrum, type) or not callable(self.spectrum):
            raise UserTypeError.parameter("spectrum", self.spectrum, "must be a function of frequencies")
        values = checks.finite_array("spectrum", self.spectrum(frequencies), (frequencies.size,))
        if values.min() < 0.0:
            raise UserError.parameter("spectrum", float(values.min()), "must not be negative")
        return values


Vector = tuple[float, ...] | None


def local_axes(size: int, origin: Vector, direction: Vector, up: Vector) -> Array:
    """Local axes as rows (3, 3) of a beam in `size` dimensions: along it, then y and z of its section.

    The parameters are those of `Beam`.
    """
    if origin is not None:
        checks.finite_array("origin", origin, (size,))
    along = np.zeros(3)
    along[0] = 1.0
    if direction is not None:
        along[:size] = checks.finite_array("direction", direction, (size,))
    if not np.linalg.norm(along) > 0:
        raise UserError.parameter("direction", direction, "must not be zero")
    along /= np.linalg.norm(along)
    if up is not None and size == 3:
        y = checks.finite_array("up", up, (3,))
    elif up is not None:
        raise UserError.parameter("up", up, "is for beams in space")
    else:
        upright = size == 3 and abs(along[2]) > 1 - 1e-6
        y = np.array([0.0, 1.0, 0.0]) if upright else np.cross([0.0, 0.0, 1.0], along)
    y = y - (y @ along) * along
    if not np.linalg.norm(y) > 1e-9:
        raise UserError.parameter("up", up, "must not lie along the beam")
    y /= np.linalg.norm(y)
    return np.stack([along, y, np.cross(along, y)])


@dataclass(frozen=True, eq=False)
class TurbulentForce:
    """The forces (d,) of a turbulence on the coordinates of a part, with what its spectrum needs.

    operators: for each direction across the axis (d, s), the forces of unit values at the stations `numbers` (s,);
    force: their harmonics in time. Values at stations k, k′ of one direction have the one-sided cross-spectral density
    S(f) exp(−|k − k′| h/λ), those of the two directions none.
    """

    turbulence: "Turbulence"
    numbers: Indices
    operators: tuple[Any, ...]
    force: Any

    def __call__(self, t: float) -> Array:
        """Forces (d,) at the time t."""
        return np.asarray(self.force(t))

    def at(self, times: Array) -> Array:
        """Forces (t, d) at the times (t,)."""
        return np.asarray(self.force.at(times))

    def projected(self, shapes: Array) -> "TurbulentForce":
        """Sᵀ f (r,) on the coordinates of shapes S (d, r)."""
        operators = tuple((operator.T @ shapes).T for operator in self.operators)
        return TurbulentForce(self.turbulence, self.numbers, operators, self.force.projected(shapes))


@checked_call
@dataclass(frozen=True)
class SpanForce:
    """A turbulent force per unit length f(s, t) as a body force f/A, uniform over the sections of a solid.

    s is the arc length of a beam of that origin, direction and up (see `Beam`), m; area A of the section, m² (thickness
    included in the plane). Give those of the beam that the solid replaces, and its turbulence: both then carry the
    same force at the same s, and the weights of a junction share it.

    In a cell f is projected on polynomials of s of the degree of its order, over the range of its nodes: the resultant
    and the nodal forces are exact on affine cells extruded along the axis, and of second order elsewhere.
    """

    turbulence: Turbulence
    area: float
    origin: tuple[float, ...] | None = None
    direction: tuple[float, ...] | None = None
    up: tuple[float, ...] | None = None

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if not isinstance(self.turbulence, Turbulence):
            raise UserTypeError.parameter("turbulence", self.turbulence, "must be a Turbulence")
        checks.positive("area", self.area)

    def on(self, region: LoadRegion, positions: Array, degree: int) -> TurbulentForce:
        """On the cells of a solid with nodes at positions (n, axis); degree: of their shape functions."""
        nodes, axes = positions.shape
        frame = local_axes(axes, self.origin, self.direction, self.up)[:, :axes]
        start = np.zeros(axes) if self.origin is None else np.asarray(self.origin, dtype=float)
        corners = ((positions - start) @ frame[0])[region.nodes]
        points = np.tensordot(frame[0], region.points - start[:, None, None], 1)
        low, high = corners.min(axis=1), corners.max(axis=1)
        stations = Stations.in_cells(self.turbulence.spacing, low, high, points, degree)
        shares = csr_array(region.operator(nodes) @ stations.operator / self.area)
        series = self.turbulence.at_stations(stations.numbers)[:, : axes - 1]
        across = [kron(shares, axis[:, None]) for axis in frame[1:axes]]
        harmonics = Harmonics(self.turbulence.duration, series.reshape(len(series), -1))
        force = SharedHarmonics(csr_array(hstack(across)), harmonics)
        operators = tuple(csr_array(operator) for operator in across)
        return TurbulentForce(self.turbulence, stations.numbers, operators, force)
