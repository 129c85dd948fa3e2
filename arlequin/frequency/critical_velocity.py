"""Stability of a system in a flow: complex eigenvalues over its velocity, divergence and flutter."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.optimize
import scipy.sparse as sp

from arlequin.frequency.complex_factor import Factors
from arlequin.frequency.eigenvalue_paths import ModesAt, matched, uncertain_halves, with_slopes
from arlequin.frequency.linearised import ContactState, Linearised, linearised
from arlequin.frequency.quadratic_pencil import Complex, QuadraticPencil, grows
from arlequin.models import checks
from arlequin.models.errors import ModelWarning, UserError, warn_user
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.system.assembly import assemble
from arlequin.system.flow import FlowTerms
from arlequin.system.system import System

if TYPE_CHECKING:
    import xarray

_STATIC = 1e-6  # |Im λ| relative to the scale, below which growth is divergence
_LOSS = 0.5  # most that structural damping moves an eigenvalue, relative to |λ|: η/2 of a mode
_LOWEST = 1e-12  # velocity relative to the highest one, that is 0 to the tolerance
_MOST = 100  # velocities between two given ones where no number of growing modes changes, at most


class Onset(NamedTuple):
    """A velocity, m/s, at which the number of growing modes changes: kind "divergence", "flutter" or "restabilised",
    frequency, Hz, and number of the mode."""

    velocity: float
    kind: str
    frequency: float
    mode: int


@dataclass(frozen=True, eq=False)
class _Scan:
    """Eigenvalues λ of a system over the velocity of its flows: C = C₀ + U C₁, K = K₀ + U² K₂.

    terms: C₁ and K₂; shift, 1/s: see `QuadraticPencil.scale`, near the lowest frequency in still fluid.
    """

    linear: Linearised
    terms: FlowTerms
    shift: float
    count: int

    def at(self, velocity: float) -> ModesAt:
        """The lowest modes, twice as many as `count` where there are, and all growing ones that are found; of
        structural damping, those with Im λ > 0 which are nearest to the ones without."""
        values, rates = self._eigenvalues(velocity, False)
        if any(self.linear.loss_factors.values()):
            damped, damped_rates = self._eigenvalues(velocity, True)
            oscillating, moving = np.flatnonzero(values.imag > 0.0), np.flatnonzero(damped.imag > 0.0)
            distance = np.abs(values[oscillating][:, None] - damped[moving])
            row, column = scipy.optimize.linear_sum_assignment(distance)
            near = distance[row, column] <= _LOSS * np.abs(values[oscillating[row]])
            at, of = oscillating[row[near]], moving[column[near]]
            values[at], rates[at] = damped[of], damped_rates[of]
        first, other = _paired(values)
        order = np.argsort(np.abs(values[first]), kind="stable")
        if order.size < self.count:
            raise UserError.parameter("count", self.count, f"must be at most {order.size} for this system")
        # a growing mode far from the origin is among those shown, too
        growing = order[self.count :][grows(values[first[order[self.count :]]], self.shift)]
        shown = np.concatenate([order[: max(self.count - growing.size, 0)], growing])[: self.count]
        others = np.concatenate([order[: 2 * self.count], growing])
        chosen = np.concatenate([shown, np.setdiff1d(others, shown)])
        first, other = first[chosen], other[chosen]
        pairs, slopes = (np.where(other < 0, f[first].conj(), f[other]) for f in (values, rates))
        return ModesAt(
            velocity,
            np.stack([values[first], pairs], axis=1),
            np.stack([rates[first], slopes], axis=1),
            np.arange(chosen.size) < self.count,
            self.shift,
        )

    def _eigenvalues(self, velocity: float, structural: bool) -> tuple[Complex, Complex]:
        """λ (m,), twice as many as `count` at least where there are, and dλ/dU; structural: with + iH."""
        linear = self.linear.in_flow(self.terms.at(velocity))
        pencil, transposed = (QuadraticPencil(Factors(each), structural) for each in (linear, linear.transposed))
        values, vectors = pencil.near(self.shift, 2 * self.count)
        left = transposed.near(self.shift, 2 * self.count)
        change = self._changes[0], 2.0 * velocity * self._changes[1]
        return with_slopes(values, vectors, left, pencil.matrices, change, self.shift)

    @cached_property
    def _changes(self) -> tuple[sp.csr_array, sp.csr_array]:
        """C₁ and K₂ of the free coordinates."""
        free = self.linear.free
        damping, stiffness = (sp.csr_array(m[free][:, free]) for m in (self.terms.damping, self.terms.stiffness))
        return damping, stiffness

    def between(self, given: list[ModesAt], tolerance: float) -> list[ModesAt]:
        """The modes at the given velocities and at those between them at which `critical_velocity` halves intervals."""
        points = list(given)
        unclear: tuple[float, float] | None = None
        for ends in pairwise(given):
            intervals, halvings = deque([ends]), 0
            while intervals:
                low, high = intervals.popleft()
                if high.velocity - low.velocity <= tolerance * max(high.velocity, _LOWEST * given[-1].velocity):
                    continue
                changes = low.growing != high.growing
                if halvings >= _MOST and not changes:
                    unclear = unclear or (low.velocity, high.velocity)
                    continue
                halvings += not changes
                middle = self.at(0.5 * (low.velocity + high.velocity))
                points.append(middle)
                halves = (low, middle), (middle, high)
                uncertain = uncertain_halves(low, middle, high)
                intervals.extend(
                    half
                    for half, open_ in zip(halves, uncertain, strict=True)
                    if open_ or half[0].growing != half[1].growing
                )
        if unclear is not None:
            warn_user(
                f"critical_velocity: between {unclear[0]:.6g} and {unclear[1]:.6g} m/s a mode that hardly decays may "
                "begin and cease to grow: give more velocities there",
                ModelWarning,
            )
        return sorted(points, key=lambda point: point.velocity)


def _paired(values: Complex) -> tuple[Indices, Indices]:
    """Numbers of one eigenvalue for each mode, the complex ones, and of the real ones, by size, the larger of each two;
    and of the other one, −1 for the conjugate, and the same for a real one that is left over."""
    oscillating, real = np.flatnonzero(values.imag != 0.0), np.flatnonzero(values.imag == 0.0)
    # of a mode at rest ±a, and of an overdamped one: neighbours in size
    by_size = real[np.argsort(np.abs(values[real]), kind="stable")]
    pairs = np.stack([by_size[0::2], np.append(by_size, by_size[-1:])[1 : by_size.size + 1 : 2]])
    pairs = np.take_along_axis(pairs, np.argsort(-values[pairs].real, axis=0, kind="stable"), axis=0)
    return np.concatenate([oscillating, pairs[0]]), np.concatenate([np.full(oscillating.size, -1), pairs[1]])


@checked_call
def critical_velocity(
    system: System,
    velocities: Any,
    *,
    flow: str | None = None,
    count: int = 4,
    tolerance: float = 1e-6,
    contact: ContactState = "open",
    structural: float | Mapping[str, float] = 0.0,
) -> xarray.Dataset:
    """Eigenvalues of a system over the velocity of a flow, and the velocities at which it becomes unstable.

    velocities (n,), m/s, increasing: where the eigenvalues λ of `complex_modes` are given. flow: name of the flow whose
    velocity varies; by default all flows have it. count: number of modes. contact, and structural, the loss factors of
    H: as of `frequency_response`; by default no contact acts. Structural damping acts on modes that oscillate, + iH for
    Im λ > 0, and leaves a divergence where it is.

    Onsets are found between these velocities, too: intervals are halved while a mode may begin or cease to grow in one,
    by the cubics of its eigenvalue through λ and its exact derivative dλ/dU, of C = C₀ + U C₁ and K = K₀ + U² K₂,
    at both ends, with the error that the cubic over two such intervals has between them, and down to `tolerance` times
    the velocity; an onset is where the number of growing modes then changes. So onsets that cancel each other within
    an interval are found. Not assured are those closer to each other than the tolerance; those of modes that are not
    among the `count` lowest at any of these velocities; those of an interval in which λ(U) is so far from a polynomial
    that neither its values nor its slopes at the ends and in the middle tell; of two modes that meet, growth below
    1e-6 |λ|. An interval is halved at most 100 times in search of such pairs, with a warning where that is too few.

    The dataset has over (velocity, mode) `growth_rate` Re λ, 1/s, `angular_frequency` Im λ, 1/s, `frequency` Im λ/2π,
    Hz, and `damping_ratio` −Re λ/|λ|, each mode followed continuously (an Argand diagram is `angular_frequency` against
    `growth_rate`), and over `onset` the velocities `onset_velocity`, m/s, their `onset_kind`, "divergence" (λ = 0),
    "flutter" (a pair λ = ±iω) or "restabilised", and `onset_frequency`, Hz. The attribute critical_velocity is the
    first onset of divergence or flutter, nan without one; `aq.plots.argand` draws it.

    Modes grow where Re λ > 1e-9 (|λ| + ω₁) and |λ| > 1e-6 ω₁, ω₁ near the lowest frequency in still fluid.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> rubber, circle = aq.LinearElastic(young=1e6, poisson=0.3, density=1000.0), aq.Section.circle(0.01)
    >>> pipe = aq.Beam("pipe", aq.mesh.interval(0.0, 1.0, cells=8), rubber, circle, dimension=2, shear=False,
    ...                imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}, added_mass=circle.area * 1000.0 / 4.0)
    >>> water = aq.flow.PipeFlow("water", pipe, 1.0, fluid_mass=pipe.added_mass)
    >>> unit = np.sqrt(1e6 * circle.inertia_z / pipe.added_mass)  # √(EI/M)/L, m/s; M/(M + m) = 0.2
    >>> scan = aq.critical_velocity(aq.System([pipe], flows=[water]), unit * np.linspace(0.0, 7.0, 15))
    >>> scan["onset_kind"].values.tolist(), round(float(scan.attrs["critical_velocity"] / unit), 2)  # 5.6 in the source
    (['flutter'], 5.59)

    Source: Gregory & Païdoussis, Proc. R. Soc. A 293 (1966) 512–527; Païdoussis, Fluid–Structure Interactions, vol. 1,
    2014, §3.5.
    """
    checks.instance("system", system, System, "must be a System")
    speeds = checks.finite_array("velocities", velocities)
    if speeds.ndim != 1 or speeds.size < 2 or (np.diff(speeds) <= 0.0).any() or speeds[0] < 0.0:
        raise UserError.parameter("velocities", velocities, "must be at least two, not below 0 and increasing, m/s")
    checks.positive_integer("count", count)
    checks.within("tolerance", tolerance, 1e-12, 0.1)
    scan = _scan_of(system, flow, count, contact, structural)
    given = [scan.at(float(speed)) for speed in speeds]
    points = scan.between(given, tolerance)
    rows = _followed(points)
    onsets = _onsets(scan, points, rows)
    chosen = set(speeds.tolist())
    at_given = np.array([row for point, row in zip(points, rows, strict=True) if point.velocity in chosen])
    return _dataset(speeds, at_given, onsets)


def _scan_of(
    system: System, flow: str | None, count: int, contact: ContactState, structural: float | Mapping[str, float]
) -> _Scan:
    if not system.flows:
        raise UserError("critical_velocity: the system has no flow: System(…, flows=[…])")
    names = [item.name for item in system.flows]
    if flow is not None:
        checks.one_of("flow", flow, names)
    varied = [item.at(1.0) for item in system.flows if flow in (None, item.name)]
    fixed = [item for item in system.flows if flow not in (None, item.name)]
    linear = linearised(replace(system, flows=fixed), contact, structural)
    unit = assemble(replace(system, flows=varied)).flow
    assert unit is not None
    return _Scan(linear, unit, QuadraticPencil(Factors(linear)).scale, count)


def _followed(points: list[ModesAt]) -> Complex:
    """Eigenvalues (k, mode) of the modes that are shown at each velocity, in the order of those at the first."""
    order = np.flatnonzero(points[0].shown)
    rows = [points[0].values[order]]
    for before, after in pairwise(points):
        following = np.flatnonzero(after.shown)
        order = following[matched(before, after, order, following)[1]]
        rows.append(after.values[order])
    return np.array(rows)


def _kind(scan: _Scan, value: complex) -> tuple[str, float]:
    """Divergence or flutter of a growing eigenvalue, and its frequency, Hz."""
    if abs(value.imag) <= _STATIC * scan.shift:
        return "divergence", 0.0
    return "flutter", float(value.imag / (2.0 * np.pi))


def _onsets(scan: _Scan, points: list[ModesAt], rows: Complex) -> list[Onset]:
    """The first velocity, if a mode grows there, and the middles of neighbours with another number of growing modes."""
    found: list[Onset] = []
    if points[0].growing:
        mode = int(np.argmax(rows[0].real))
        found.append(Onset(points[0].velocity, *_kind(scan, rows[0, mode]), mode))
    for (before, after), (here, there) in zip(pairwise(points), pairwise(rows), strict=True):
        if before.growing == after.growing:
            continue
        appears = after.growing > before.growing
        # the mode that has just begun to grow, or is about to cease, grows least
        side = there if appears else here
        mode = int(np.argmin(np.where(grows(side, scan.shift), side.real, np.inf)))
        kind, frequency = _kind(scan, side[mode])
        middle = 0.5 * (before.velocity + after.velocity)
        found.append(Onset(middle, kind if appears else "restabilised", frequency, mode))
    return found


def _dataset(speeds: Array, table: Complex, onsets: list[Onset]) -> xarray.Dataset:
    import xarray

    size = np.abs(table)
    ratio = np.divide(-table.real, size, out=np.zeros_like(size), where=size > 0.0)
    over = ("velocity", "mode")
    fields = {
        "growth_rate": (over, table.real, "1/s", "growth rate Re λ"),
        "angular_frequency": (over, table.imag, "rad/s", "angular frequency Im λ"),
        "frequency": (over, table.imag / (2.0 * np.pi), "Hz", "frequency"),
        "damping_ratio": (over, ratio, "1", "damping ratio"),
        "onset_velocity": (("onset",), np.array([o.velocity for o in onsets]), "m/s", "velocity of the onset"),
        "onset_frequency": (("onset",), np.array([o.frequency for o in onsets]), "Hz", "frequency at the onset"),
        "onset_mode": (("onset",), np.array([o.mode for o in onsets], dtype=np.int64), "1", "mode"),
    }
    variables: dict[str, Any] = {
        name: (dims, values, {"units": units, "long_name": text})
        for name, (dims, values, units, text) in fields.items()
    }
    variables["onset_kind"] = (("onset",), np.array([o.kind for o in onsets], dtype="U16"), {"long_name": "kind"})
    unstable = [o.velocity for o in onsets if o.kind != "restabilised"]
    return xarray.Dataset(
        variables,
        coords={
            "velocity": ("velocity", speeds, {"units": "m/s", "long_name": "velocity of the flow"}),
            "mode": ("mode", np.arange(table.shape[1]), {"long_name": "mode"}),
        },
        attrs={"critical_velocity": unstable[0] if unstable else float("nan")},
    )
