"""The equations of contact of a step at given statuses, point by point, and their derivatives.

With the normal impulse P_n and the tangential one P_t of a point on its area A, the means over a step of length h,
the gaps g and rates at both ends (0, 1), the regular laws p and the multiplier Λ = P_n − hA p(g₀, g₁):

    multiplier acts     s + c Λ/(hA) = 0,   s = g₁ or s = ġ₁ + ⟨ġ₀⟩₊ − e ⟨−ġ₀⟩₊           else   Λ = 0
    stick               w + c_t P_t/(hA) = 0                        slip   P_t + μ P_n w/‖w‖ = 0,   open   P_t = 0

with w the slip rate at the end, at some reversals v_t⁰ + v_t¹, or P_t = 0 (`arlequin.multilevel.solvers.closing`), or
with elastic stick w = Δu_t/(λh) − c_t s₀ (`arlequin.multilevel.solvers.elastic_stick`), and μ constant or that of the
slip rate and the pressure of the step (`arlequin.sensitivity.sliding_friction`). The point leaves its spring with the
traction s₁, and wears by k P_n ‖slip‖/(hA). On a line (two dimensions) w/‖w‖ is the sign of the slip.

All is written for complex numbers, so that derivatives by a complex step, f'(x) = Im f(x + iε)/ε, are exact; regular
laws, whose kernels take real numbers, by differences of order 4 over a small part of their own length.
Source: Squire & Trapp, SIAM Review 40 (1998) 110–112.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.contact import OPEN, SLIP, STICK
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.sensitivity.differences import difference
from arlequin.sensitivity.models_at import StudyModel
from arlequin.sensitivity.sliding_friction import SlidingFriction, law_constants
from arlequin.step.coefficients import StepCoefficients

EPS = 1e-200  # imaginary step: nothing is subtracted
_SHORT = 1e-3  # of the length p/|p'|: step of the differences of a regular law
_LAST_DIGITS = 1e-5  # of displacements: 1e-12 of them is less than 1e-7 of this
_WITHIN = 0.1  # of the distance from a kink of a law: most of that step
_SHORTEST = 1e-4  # of that step: its least, with round-off of 1e-9
_ROUND_OFF = 1e-9  # of the terms of a loss, below which it is round-off
_FITS = 1e-6  # of an impulse or a rate, by which one equation of friction must be nearer than another
_TRIED = 1e-7  # of the coefficients: step of a first estimate of p'


class PointMotion(NamedTuple):
    """Of k points in b steps: impulses P, N·s, rows of displacements and velocities at both ends, spring tractions at
    the start, Pa, all (b, k, 3) with the normal first and 0 where a point has fewer rows; worn depth and its opening
    (b, k), m, as of `WearState`."""

    impulse: Any
    u1: Any
    v1: Any
    u0: Any
    v0: Any
    spring: Any
    depth: Any
    opening: Any


class Statuses(NamedTuple):
    """Of k points in b steps (b, k): whether the multiplier acts; OPEN, SLIP or STICK; whether ġ₀ > 0; whether a spring
    is put back to the friction disk, and whether it starts beyond it; whether friction loses energy; whether it closes
    the mean slip rate. Points that friction releases at a reversal are SLIP for the step and OPEN here. direction
    (b, k, 2): unit vectors in which points slip whatever their slip rates are, nan where they follow these; None where
    all do. swung (b, k): whether a spring that is put back pulls backwards by the phase of the step; None where none
    does."""

    active: NDArray[np.bool_]
    status: NDArray[np.int8]
    parting: NDArray[np.bool_]
    limited: NDArray[np.bool_]
    beyond: NDArray[np.bool_]
    rubs: NDArray[np.bool_]
    on_mean: NDArray[np.bool_]
    direction: Array | None = None
    swung: NDArray[np.bool_] | None = None


class PointValues(NamedTuple):
    """Residuals (b, k, 3), spring tractions at the end (b, k, 3), Pa, and what is worn off in the step (b, k), m."""

    residual: Any
    spring: Any
    worn: Any


class PointBlocks(NamedTuple):
    """Derivatives in b steps and k points: residual, spring (b, k, 6, 3, 3): of the residuals and the springs at the
    end by P, u₁, v₁, u₀, v₀, s₀; worn (b, k, 2, 3): of what is worn off by P and the path of the step; by_wear
    (b, k, 2): of the normal residual by depth and opening."""

    residual: Array
    spring: Array
    worn: Array
    by_wear: Array


class PointData(NamedTuple):
    """Constants of k points (k,): gap at u = 0, m, area, m², and those of the laws, see `PointLaws`; wear: worn depth
    by work, m/J; sliding (k, m): constants of the laws of friction that depend on the state; coefficients (l, m) of the
    regular laws; top (k, n): gaps, m, at which these begin to act, nan where a point has fewer. Of derivatives:
    complex, with the derivative as imaginary part."""

    gap: Any
    area: Any
    compliance: Any
    restitution: Any
    friction: Any
    tangential_compliance: Any
    tangential_stiffness: Any
    tangential_damping: Any
    wear: Any
    sliding: Any
    coefficients: Any
    top: Any

    @classmethod
    def of(cls, model: StudyModel) -> "PointData":
        """Of a model."""
        contact = model.assembly.contact
        laws = contact.laws
        # rigid: no derivative
        stiffness = np.where(laws.elastic_stick, laws.tangential_stiffness, 1.0)
        wear = np.zeros(laws.count) if contact.wear_rate is None else contact.wear_rate
        top = np.full((laws.count, max((len(point) for point in laws.regular), default=0)), np.nan)
        for k, point in enumerate(laws.regular):
            top[k, : len(point)] = [_top_of(law) for law in point]  # type: ignore[arg-type]
        return cls(
            model.gap, laws.area, laws.compliance, laws.restitution, laws.friction, laws.tangential_compliance,
            stiffness, laws.tangential_damping, wear, law_constants(laws), laws.coefficients, top,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ContactEquations:
    """The equations of the contact points of a model.

    data: the constants of the points; touching: largest gap that counts as closed, m; form: coefficients of the scheme.
    """

    laws: PointLaws
    data: PointData
    touching: float
    form: StepCoefficients

    @classmethod
    def of(cls, model: StudyModel, form: StepCoefficients) -> "ContactEquations":
        """Of a model."""
        contact = model.assembly.contact
        return cls(contact.laws, PointData.of(model), contact.scale.touching, form)

    @property
    def step(self) -> float:
        """Δt, s; 1 in statics."""
        return self.form.step

    @property
    def weight(self) -> float:
        """λ."""
        return self.form.weight

    @property
    def _duration(self) -> float:
        """Duration of a step, s: infinite in statics, which have no rates."""
        return np.inf if self.form.static else self.form.step

    def _path(self, motion: PointMotion) -> Any:
        """Path of the rows in a step (b, k, 3), m."""
        return motion.u1 - motion.u0 if self.form.static else 0.5 * self.step * (motion.v0 + motion.v1)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Rows (k, 3) of each point, −1 where it has fewer."""
        first = self.laws.first
        at = first[:-1, None] + np.arange(3)
        return np.where(at < first[1:, None], at, -1)

    def spread(self, rows: Array) -> Array:
        """Values (b, r) of rows as (b, k, 3)."""
        at = self.rows
        if not rows.shape[1]:
            return np.zeros((len(rows), *at.shape))
        return np.where(at >= 0, rows[:, np.maximum(at, 0)], 0.0)

    def springs(self, motion: PointMotion, first: Array) -> Array:
        """Spring tractions (b + 1, k, 3), Pa, at the ends of the steps, from those at the start (k, 3)."""
        from arlequin.multilevel.solvers._spring_kernels import stretch_springs_each

        out = np.zeros((len(motion.depth) + 1, *first.shape))
        if self.laws.has_elastic_stick:
            out[0] = first
            impulse, starts = np.ascontiguousarray(motion.impulse), 3 * np.arange(len(first) + 1)
            wide, tractions = (own.reshape(len(own), -1) for own in (impulse, out))
            data = self.data
            stretch_springs_each(starts, data.area, data.friction, self.gains, wide, self.step, tractions, 1)
        return out

    def statuses(self, motion: PointMotion, status: NDArray[np.int8], delassus: Array) -> Statuses:
        """Statuses of solved steps; delassus (r,): its diagonal. A multiplier acts where it exceeds its slack in the
        natural map."""
        laws, first, lever = self.laws, self.laws.first[:-1], self.weight * self.step
        parting = self.ends(motion)[2] > 0.0
        multiplier, slack = self._normal(motion, parting)
        give = self.data.compliance / (self.step * self.data.area)
        scale = delassus[first] * np.where(laws.level == 1, lever, 1.0) + give
        closed = self.middle_gap(motion) <= self.touching
        if self.form.staggered:  # they look at velocities between their own: what acts has been allowed
            closed = multiplier > _ROUND_OFF * np.abs(motion.impulse[..., 0])
        allowed = (laws.level == 1) | ((laws.level == 2) & closed)
        active = allowed & (multiplier * np.where(scale > 0.0, scale, 1.0) > slack) & (multiplier > 0.0)
        status, on_mean = self._friction_closing(motion, status)
        return Statuses(active, status, parting, *self._spring_statuses(motion), on_mean)

    def _spring_statuses(self, motion: PointMotion) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """`limited`, `beyond` and `rubs` of `Statuses`."""
        reached, edge, start = self._reached(motion)
        beyond = start > edge
        limited = _length(reached) > self._radius(edge, start, beyond)
        lost, size = self._rubbed(motion, limited, beyond, motion.impulse[..., 0] > 0.0)
        return limited, beyond, lost > _ROUND_OFF * size

    def with_motion(self, motion: PointMotion, now: Statuses) -> Statuses:
        """Statuses that are given, with what follows from the motion: the sign of the rates at the start, and whether
        friction loses energy."""
        _, _, rate0, _ = self.ends(motion)
        lost, size = self._rubbed(motion, now.limited, now.beyond, self._held(motion, now))
        return now._replace(parting=rate0 > 0.0, rubs=lost > _ROUND_OFF * size)

    def without_phase(self, motion: PointMotion, now: Statuses) -> Statuses:
        """Statuses whose springs of friction on layers stick from the first touch on where they stick in the next step,
        or are limited there and stick in the one after, and slip to the last one where they slipped in the step before:
        contact lasts a part of these steps, and friction is small by their phase alone. Where the pressure falls to
        less than a half in a step, the mean traction at its limit leaves a spring stretched backwards: it pulls so in
        the next step, while the point slips on, but grows with the pressure as if it did not."""
        springs, pressed = self.laws.elastic_stick & (self.laws.level == 0), motion.impulse[..., 0] > 0.0
        sticks, status, limited = now.status == STICK, now.status.copy(), now.limited.copy()
        free = sticks & ~limited
        later = sticks[2:].copy()
        later[:-1] &= free[3:]
        first = springs & pressed[1:-1] & ~pressed[:-2] & (free[2:] | later)
        status[1:-1][first], limited[1:-1][first], limited[2:][first] = STICK, False, False
        last = springs & pressed[1:-1] & ~pressed[2:] & (now.status[1:-1] == STICK) & (now.status[:-2] == SLIP)
        status[1:-1][last], limited[1:-1][last] = SLIP, True
        swung, slides = np.zeros(status.shape, dtype=bool), springs & (status == SLIP)
        swung[1:] = slides[1:] & slides[:-1] & _turns(motion.impulse[..., 1:]) & ~_turns(motion.v1[..., 1:])
        return now._replace(status=status, limited=limited, swung=swung)

    def _held(self, motion: PointMotion, now: Statuses) -> NDArray[np.bool_]:
        """Points (b, k) whose springs of friction act: those under pressure, or that are given as closed."""
        return np.asarray(motion.impulse[..., 0].real > 0.0 if now.direction is None else now.status != OPEN)

    def slip_directions(self, motion: PointMotion, now: Statuses) -> Array:
        """Unit vectors (b, k, 2) of the slip rates of sliding points without springs, nan of others."""
        along, _ = self._slip_rates(motion, now.on_mean)
        slides = (now.status == SLIP) & ~self.laws.elastic_stick & (_length(along) > 0.0)
        return np.where(slides[..., None], _quotient(1.0, _length(along))[..., None] * along, np.nan)

    def _friction_closing(
        self, motion: PointMotion, status: NDArray[np.int8]
    ) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """Statuses (b, k), OPEN where friction has released a point, and the points where it closes the mean slip rate:
        those whose impulses satisfy that equation and not that of the end."""
        laws, pull, end = self.laws, motion.impulse[..., 1:], motion.v1[..., 1:]
        if self.form.static or self.form.staggered or not laws.frictional:
            return status, np.zeros(status.shape, dtype=bool)
        mean, size = motion.v0[..., 1:] + end, _length(pull)
        give = (self.data.tangential_compliance / (self.step * self.data.area))[:, None] * pull
        moves = _length(end + give) > _ROUND_OFF * (_length(motion.v0[..., 1:]) + np.abs(motion.v1).max(initial=0.0))
        sticks = (status == STICK) & moves & (_length(mean + give) < _FITS * _length(end + give))
        ahead, at_end = (_quotient(1.0, _length(own))[..., None] * own for own in (mean, end))
        slips = (status == SLIP) & ((pull * (ahead - at_end)).sum(axis=-1) < -_FITS * size)
        released = (status == SLIP) & (size <= _ROUND_OFF * motion.impulse[..., 0])
        rigid = ~laws.elastic_stick
        return np.where(released & rigid, np.int8(OPEN), status), (sticks | slips) & rigid & ~released

    def evaluate(self, motion: PointMotion, now: Statuses) -> PointValues:
        """The equations at the statuses."""
        laws, data = self.laws, self.data
        impulse = motion.impulse
        normal = impulse[..., 0]
        multiplier, slack = self._normal(motion, now.parting)
        kind = np.result_type(*motion, *data)
        residual = np.zeros(impulse.shape, dtype=kind)
        residual[..., 0] = np.where(now.active, slack, multiplier)
        spring, worn = np.zeros(impulse.shape, dtype=kind), np.zeros(normal.shape, dtype=kind)
        if laws.frictional:
            along, compliance = self._slip_rates(motion, now.on_mean)
            stick = self._with_give(along, compliance, motion)
            # w + c P/(hA), along which the impulse points where there is a compliance, has the direction of w
            friction = self._friction(motion, now)
            unit = _quotient(1.0, _length(along))[..., None] * along
            if now.direction is not None:
                unit = np.where(np.isnan(now.direction), unit, now.direction)
            slip = impulse[..., 1:] + (friction * normal)[..., None] * unit
            slides = ((now.status == SLIP) & (friction.real > 0.0))[..., None]
            tangential = np.where((now.status == STICK)[..., None], stick, np.where(slides, slip, impulse[..., 1:]))
            residual[..., 1:] = np.where(self.rows[:, 1:] >= 0, tangential, impulse[..., 1:])
            if laws.has_elastic_stick:
                spring[..., 1:] = self._springs(motion, now.limited, now.beyond, self._held(motion, now))
            if data.wear.any():
                worn[:] = self._worn(motion)
        return PointValues(residual, spring, worn)

    def unsolved(self, motion: PointMotion, now: Statuses, delassus: Array) -> float:
        """The largest residual relative to the terms of its equation: impulses, rates or gaps; delassus (r,): its
        diagonal."""
        residual = self.evaluate(motion, now).residual
        if not residual.size:
            return 0.0
        answers = np.abs(motion.impulse).max() * np.abs(delassus).max(initial=0.0)  # velocities by the impulses
        ways = np.abs(motion.u1 - motion.u0).max() + _LAST_DIGITS * np.abs(motion.u1).max() + self.touching
        ways += self.weight * self.step * answers
        rates = np.abs(motion.v1).max() + np.abs(motion.v0).max() + answers
        rates = max(rates, ways / (self.weight * self.step)) if self.laws.has_elastic_stick else rates
        kinds = np.zeros(residual.shape, dtype=int)
        kinds[..., 0] = np.where(now.active, np.where(self.laws.level == 1, 2, 1), 0)
        kinds[..., 1:] = np.where(now.status == STICK, 1, 0)[..., None]
        sizes = np.array([np.abs(motion.impulse).max(), rates, ways])
        return float((np.abs(residual) / (sizes[kinds] + 1e-300)).max())

    def blocks(self, motion: PointMotion, now: Statuses) -> "PointBlocks":
        """Derivatives of the equations by the motion."""
        from arlequin.sensitivity._contact_kernels import V0, V1, contact_blocks

        laws, data, (b, k) = self.laws, self.data, motion.depth.shape
        out = PointBlocks(*map(np.zeros, ((b, k, 6, 3, 3), (b, k, 6, 3, 3), (b, k, 2, 3), (b, k, 2))))
        by_start, by_end = self._slopes(motion)
        slip, _ = self._slip_rates(motion, now.on_mean)
        fixed = np.zeros(slip.shape, dtype=bool) if now.direction is None else ~np.isnan(now.direction)
        slip = slip if now.direction is None else np.where(fixed, now.direction, slip)
        reached, edge, start = self._reached(motion)
        if now.swung is not None:
            slip, reached = (np.where(now.swung[..., None], -own, own) for own in (slip, reached))
        path = self._path(motion)[..., 1:]
        friction = np.stack([np.broadcast_to(own, (b, k)) for own in self._friction_with_slopes(motion, now)])
        constants = (
            data.compliance, data.area, data.tangential_compliance, data.restitution, data.tangential_stiffness,
            self.gains, data.wear, laws.level, laws.elastic_stick, np.diff(laws.first) > 1,
        )  # fmt: skip
        points = (
            friction, motion.impulse, slip, motion.spring, path, (motion.u1 - motion.u0)[..., 1:], now.active,
            now.status, now.on_mean, now.parting, now.limited, now.beyond, reached,
            self._radius(edge, start, now.beyond),
        )  # fmt: skip
        given: Any = map(np.ascontiguousarray, (by_start, by_end, *constants, *points))
        arguments: Any = self.step, self.weight, self._reflected, *given, *out
        contact_blocks(*arguments)
        if fixed.any():  # a direction that does not turn with the slip rate
            turned = np.zeros((b, k, 3), dtype=bool)
            turned[..., 1:] = fixed
            for of in (V1, V0):
                out.residual[:, :, of][turned] = 0.0
        return out

    def _slopes(self, motion: PointMotion) -> tuple[Array, Array]:
        """Derivatives of the mean tractions of the regular laws by the gaps at both ends (b, k), Pa/m."""
        if not self.laws.has_regular:
            none = np.zeros(motion.depth.shape)
            return none, none
        g0, g1, *_ = self.ends(motion)
        _, slopes = self._law_values(g0, g1)
        return np.imag(self._parts(g0 + 1j * EPS, g1 + 0j).sum(axis=0)) / EPS, slopes.sum(axis=0)

    def along(self, motion: PointMotion, data: PointData, rows: PointMotion | None, now: Statuses) -> PointValues:
        """Derivatives where the constants change by `data`, and the motion by `rows`."""
        own, motion = self.changed(motion, data, rows)
        return _imaginary(own.evaluate(motion, now))

    def works(self, motion: PointMotion, now: Statuses) -> dict[str, Any]:
        """Of each point and step (b, k): length of the slip, m; normal force times slip rate, W
        (`wear_power`); losses by friction and by impact, J. By the formulas of `arlequin.energy` and
        `arlequin.multilevel.solvers.elastic_stick`."""
        laws, step, normal = self.laws, self.step, motion.impulse[..., 0]
        path, multiplier = self._path(motion), self.normal_parts(motion)[:, 2]
        opening = (path[..., 0] + motion.opening) / step
        kept = np.where(opening.real < 0.0, opening, 0.0)
        kept = np.where(laws.level == 1, ((motion.u1 - motion.u0)[..., 0] + motion.opening) / step, kept)
        slip = np.where(normal.real > 0.0, _length(path[..., 1:]), 0.0)
        return {
            "slip": slip,
            "wear_power": normal * slip / step**2,
            "friction": np.where(
                now.rubs, self._rubbed(motion, now.limited, now.beyond, self._held(motion, now))[0], 0.0
            ),
            "impact": -multiplier * kept,
        }

    def works_along(
        self, motion: PointMotion, data: PointData, rows: PointMotion | None, now: Statuses
    ) -> dict[str, Array]:
        """Derivatives of the works where the constants change by `data`, and the motion by `rows`."""
        own, motion = self.changed(motion, data, rows)
        return {name: np.imag(values) / EPS for name, values in own.works(motion, now).items()}

    def changed(
        self, motion: PointMotion, data: PointData, rows: PointMotion | None
    ) -> "tuple[ContactEquations, PointMotion]":
        """The equations and the motion with these changes as imaginary parts, times `EPS`."""
        near = PointData(*(own + 1j * EPS * more for own, more in zip(self.data, data, strict=True)))
        if rows is not None:
            motion = PointMotion(*(own + 1j * EPS * more for own, more in zip(motion, rows, strict=True)))
        return replace(self, data=near), motion

    def margins(self, motion: PointMotion, now: Statuses) -> Any:
        """What is left until a status changes (n, b, k), 0 at the change: of the multiplier, its impulse or its slack;
        the gap at which a point counts as closed, and those at which its layers are entered; of sticking friction the
        rest of the cone, of slip the slip rate; nan where there is no such status."""
        laws, data = self.laws, self.data
        multiplier, slack = self._normal(motion, now.parting)
        _, g1, *_ = self.ends(motion)
        middle = self.middle_gap(motion) - self.touching
        allowed = (laws.level == 1) | ((laws.level == 2) & (middle.real <= 0.0))
        first = np.where(now.active, multiplier, np.where(allowed, slack, np.nan))
        out = [first, np.where(laws.level == 2, middle, np.nan), *(g1 - top for top in data.top.T)]
        if laws.frictional:
            friction, rest = self._friction(motion, now), self.rest_of_cone(motion, now)
            creep = _length(self.sliding(motion, now))
            out.append(np.where((now.status == STICK) & (friction.real > 0.0), rest, np.nan))
            out.append(np.where((now.status == SLIP) & (friction.real > 0.0), creep, np.nan))
        return np.stack(out)

    def rest_of_cone(self, motion: PointMotion, now: Statuses) -> Any:
        """μ P_n − ‖P_t‖ (b, k), N·s."""
        return self._friction(motion, now) * motion.impulse[..., 0] - _length(motion.impulse[..., 1:])

    def sliding(self, motion: PointMotion, now: Statuses) -> Any:
        """w + c_t P_t/(hA) (b, k, 2), m/s: the rate at which points slip, with elastic stick behind their springs."""
        return self._with_give(*self._slip_rates(motion, now.on_mean), motion)

    def margins_along(self, motion: PointMotion, data: PointData, moved: PointMotion, now: Statuses) -> tuple[Any, Any]:
        """The margins, and their derivatives where the constants change by `data` and the motion by `moved`."""
        own, motion = self.changed(motion, data, moved)
        found = own.margins(motion, now)
        return found.real, np.imag(found) / EPS

    def normal_parts(self, motion: PointMotion) -> Any:
        """Normal impulses (b, 3, k), N·s, of the laws: stored, dissipated, multiplier."""
        g0, g1, *_ = self.ends(motion)
        stored, dissipated = self.step * self.data.area * self._parts(g0, g1)
        return np.stack([stored, dissipated, motion.impulse[..., 0] - stored - dissipated], axis=1)

    def _normal(self, motion: PointMotion, parting: NDArray[np.bool_]) -> tuple[Any, Any]:
        """Multiplier (b, k), N·s, and what is 0 where it acts: the gap or the closing rate at the end, with what its
        compliance adds; parting (b, k): whether ġ₀ > 0."""
        multiplier, (_, g1, rate0, rate1) = self.normal_parts(motion)[:, 2], self.ends(motion)
        slack = np.where(self.laws.level == 1, g1, rate1 + self._closing(rate0, parting))
        return multiplier, slack + self.data.compliance * multiplier / (self.step * self.data.area)

    def normal_parts_along(self, motion: PointMotion, data: PointData, moved: PointMotion) -> Array:
        """Their derivatives where the constants change by `data` and the motion by `moved`."""
        own, motion = self.changed(motion, data, moved)
        return np.imag(own.normal_parts(motion)) / EPS

    def ends(self, motion: PointMotion) -> tuple[Any, Any, Any, Any]:
        """Gaps and rates of the normal rows at both ends (b, k)."""
        g1 = self.data.gap + motion.depth + motion.u1[..., 0]
        g0 = self.data.gap + motion.depth - motion.opening + motion.u0[..., 0]
        drift = motion.opening / self.step
        return g0, g1, motion.v0[..., 0] + drift, motion.v1[..., 0] + drift

    def middle_gap(self, motion: PointMotion) -> Any:
        """Gap (b, k), m, at the predicted middle of the step, by which points count as closed."""
        gap, _, rate, _ = self.ends(motion)
        return gap + 0.5 * self.step * rate

    def _closing(self, rate: Any, parting: NDArray[np.bool_]) -> Any:
        """What is added to the rate at the end: ⟨ġ₀⟩₊ − e ⟨−ġ₀⟩₊, without the first in central differences."""
        return np.where(parting, self._reflected * rate, self.data.restitution * rate)

    @property
    def _reflected(self) -> float:
        """Share of a parting rate ⟨ġ₀⟩₊ to which a point is reflected."""
        return 0.0 if self.form.staggered else 1.0

    def _parts(self, g0: Any, g1: Any) -> Any:
        """Stored and dissipated mean tractions of the regular laws (2, b, k), Pa."""
        if not self.laws.has_regular:
            return np.zeros((2, *np.shape(g0)), dtype=np.result_type(g0, g1))
        start, end = np.real(g0), np.real(g1)
        tractions, slopes = self._law_values(start, end)
        change = np.imag(self.data.coefficients)
        if not (np.iscomplexobj(g0) or np.iscomplexobj(g1) or change.any()):
            return tractions
        out = tractions + 1j * slopes * np.imag(g1)
        if np.imag(g0).any():
            # by a shift of both gaps, along which the direction of motion, and so the damping, does not change
            far, guess = self._to_top(start, end), slopes
            if self.form.staggered:  # the law is that of the gap at the start, whose slope is not known
                guess = np.divide(tractions, far, out=np.zeros_like(tractions), where=far > 0.0)
            short = _short(tractions, guess, far)
            short = np.where(np.isfinite(short), np.maximum(short, 1e-15 * np.abs(start)), 0.0)
            by_both = difference(lambda by: self._law_values(start + by, end + by)[0], short)
            out = out + 1j * (by_both - slopes) * np.imag(g0)
        if change.any():
            change = change / EPS
            tried = _TRIED / np.max(np.abs(change) / np.maximum(np.abs(np.real(self.data.coefficients)), 1e-300))
            full = np.full_like(start, tried)
            ends = [self._law_values(start, end, change, sign * full)[0] for sign in (1.0, -1.0)]
            moves = np.nanmax(np.abs(np.imag(self.data.top)) / EPS, axis=1, initial=0.0)
            far = np.full_like(start, np.inf)
            far = np.divide(self._to_top(start, end), moves, out=far, where=moves > 0.0)
            short = _short(tractions, (ends[0] - ends[1]) / (2.0 * tried), far)
            short = np.where(np.isfinite(short), short, 0.0)
            by_constants = difference(lambda by: self._law_values(start, end, change, by)[0], short)
            out = out + 1j * EPS * by_constants
        return out

    def _to_top(self, start: Array, end: Array) -> Array:
        """Distance (b, k), m, of the gaps from those at which laws begin to act, where their derivatives have kinks."""
        out = np.full(start.shape, np.inf)
        for top in np.real(self.data.top).T:
            for gap in (start, end):
                out = np.fmin(out, np.abs(gap - top))
        return out

    def _law_values(
        self, start: Array, end: Array, change: Array | None = None, amount: Array | None = None
    ) -> tuple[Array, Array]:
        """Stored and dissipated mean tractions (2, b, k), Pa, and their derivatives by the gap at the end; with amount
        (b, k) times `change` added to the coefficients."""
        from arlequin.sensitivity._law_kernels import mean_tractions

        laws, out = self.laws, np.empty((2, 2, *start.shape))
        constants = np.ascontiguousarray(self.data.coefficients.real)
        kernels, kind = laws.kernels
        mean_tractions(
            laws.rows, kernels, kind, constants, np.ascontiguousarray(start), np.ascontiguousarray(end),
            np.zeros_like(constants) if change is None else change,
            np.zeros(start.shape) if amount is None else np.ascontiguousarray(amount),
            self._duration, self.form.theta, out,
        )  # fmt: skip
        return out[0], out[1]

    def _friction(self, motion: PointMotion, now: Statuses) -> Any:
        """Coefficients of friction, (k,), or (b, k) where some depend on the slip rate or the pressure of the step."""
        return self._sliding(motion, now).values() if self.laws.state_dependent else self.data.friction

    def _friction_with_slopes(self, motion: PointMotion, now: Statuses) -> tuple[Array, Array, Array]:
        """The coefficients, and their derivatives by the slip rate, s/m, and the pressure, 1/Pa."""
        if not self.laws.state_dependent:
            none = np.zeros(self.laws.count)
            return self.data.friction, none, none
        own = self._sliding(motion, now)
        return own.values(), *own.slopes()

    def _sliding(self, motion: PointMotion, now: Statuses) -> SlidingFriction:
        """The friction of points whose coefficients depend on the step."""
        rate = _length((motion.u1 - motion.u0)[..., 1:]) / self._duration  # 0 in statics
        pressure = motion.impulse[..., 0] / (self.step * self.data.area)
        pressure = np.where(pressure.real > 0.0, pressure, 0.0)
        stuck = now.status == STICK
        return SlidingFriction(self.laws, self.data.friction, self.data.sliding, rate, pressure, stuck)

    @property
    def gains(self) -> Any:
        """κ (k,), see `arlequin.multilevel.solvers.elastic_stick`; 0 without elastic stick."""
        if not self.laws.has_elastic_stick:
            return np.zeros(self.laws.count)
        data = self.data
        found = data.tangential_stiffness / (
            self.form.theta * data.tangential_stiffness + data.tangential_damping / self._duration
        )
        return np.where(self.laws.elastic_stick, found, 0.0)

    def _slip_rates(self, motion: PointMotion, on_mean: NDArray[np.bool_]) -> tuple[Any, Any]:
        """Slip rates (b, k, 2) without the impulse's own share, m/s, and the compliance of friction (k,)."""
        laws, data, lever = self.laws, self.data, self.weight * self.step
        closed = motion.v1[..., 1:] + np.where(on_mean[..., None], motion.v0[..., 1:], 0.0)
        if not laws.has_elastic_stick:
            return closed, data.tangential_compliance
        elastic = self.gains / (lever * data.tangential_stiffness)
        compliance = np.where(laws.elastic_stick, elastic, data.tangential_compliance)
        slid = (motion.u1 - motion.u0)[..., 1:] / lever - compliance[:, None] * motion.spring[..., 1:]
        return np.where(laws.elastic_stick[:, None], slid, closed), compliance

    def _with_give(self, along: Any, compliance: Any, motion: PointMotion) -> Any:
        """Slip rates (b, k, 2) with the impulse's own share, m/s."""
        return along + (compliance / (self.step * self.data.area))[:, None] * motion.impulse[..., 1:]

    def stuck(self, motion: PointMotion, now: Statuses) -> tuple[Any, Any]:
        """Spring tractions (b, k, 2), Pa, at the ends of steps in which points stick, and the limit μ p̄ (b, k)."""
        stretched = self.data.tangential_stiffness[:, None] * (motion.u1 - motion.u0)[..., 1:]
        pressure = motion.impulse[..., 0] / (self.step * self.data.area)
        return motion.spring[..., 1:] - stretched, self._friction(motion, now) * pressure

    def _reached(self, motion: PointMotion) -> tuple[Any, Any, Any]:
        """Spring tractions (b, k, 2) before they are put back, the radius μ p̄ of the disk, and ‖s₀‖ (b, k), Pa."""
        own, pull = self.gains, self.step * self.data.area
        before = motion.spring[..., 1:]
        reached = before + own[:, None] * (motion.impulse[..., 1:] / pull[:, None] - before)
        return reached, self.data.friction * motion.impulse[..., 0] / pull, _length(before)

    def _radius(self, edge: Any, start: Any, beyond: NDArray[np.bool_]) -> Any:
        """Radius (b, k) to which springs are put back, Pa."""
        own = self.gains
        less = np.where(own.real < 1.0, 1.0 - own, 0.0)
        return edge + less * np.where(beyond, start - edge, 0.0)

    def _rubbed(self, motion: PointMotion, limited: Any, beyond: Any, held: Any) -> tuple[Any, Any]:
        """Energy that friction loses (b, k), J, of either sign by round-off, and the size of its terms."""
        laws, data, step = self.laws, self.data, self.step
        path = self._path(motion)[..., 1:]
        terms = [-(motion.impulse[..., 1:] * path).sum(axis=-1) / step]
        if laws.has_elastic_stick:
            reached, *_ = self._reached(motion)
            before, after = motion.spring[..., 1:], self._springs(motion, limited, beyond, held)
            flexibility = data.area / data.tangential_stiffness
            sprung = [
                -(motion.impulse[..., 1:] * (motion.u1 - motion.u0)[..., 1:]).sum(axis=-1) / step,
                -0.5 * flexibility * (after**2).sum(axis=-1),
                0.5 * flexibility * (before**2).sum(axis=-1),
                -(self.form.theta - 0.5) * flexibility * ((reached - before) ** 2).sum(axis=-1),
            ]
            none = np.zeros_like(terms[0])
            terms = [
                np.where(laws.elastic_stick, own, of)
                for own, of in zip(sprung, [*terms, none, none, none], strict=True)
            ]
        return sum(terms), sum(np.abs(own) for own in terms)

    def _springs(self, motion: PointMotion, limited: Any, beyond: Any, held: Any) -> Any:
        """Spring tractions at the end (b, k, 2); see `end_spring_traction`."""
        reached, edge, start = self._reached(motion)
        scale = np.where(limited, _quotient(self._radius(edge, start, beyond), _length(reached)), 1.0)
        return np.where((self.laws.elastic_stick & held)[..., None], reached * scale[..., None], 0.0)

    def _worn(self, motion: PointMotion) -> Any:
        """What is worn off (b, k), m: k/A times the normal force times the slip."""
        slid = self._path(motion)[..., 1:]
        normal = motion.impulse[..., 0]
        pressed = np.where(normal.real > 0.0, normal, 0.0)
        return self.data.wear * pressed * _length(slid) / self.step


def varied(motion: PointMotion) -> Iterator[tuple[str, Any, PointMotion]]:
    """The motion with an imaginary part in one of its inputs after the other, with the name and the place of these."""
    for name, given in motion._asdict().items():
        for at in [(..., a) for a in range(3)] if given.ndim == 3 else [(...,)]:
            moved = given.astype(complex)
            moved[at] += 1j * EPS
            yield name, at, motion._replace(**{name: moved})


def _imaginary(values: PointValues) -> PointValues:
    return PointValues(*(np.imag(field) / EPS for field in values))


def _short(values: Array, slopes: Array, most: Array) -> Array:
    """Steps (b, k) for differences of values (2, b, k), whose slopes are guesses: a small part of the least f/|f'| of
    both and of their sum, and of `most` (b, k), how far they are smooth, but not so small that nothing but round-off
    is left; infinite where none changes."""
    each, by = (np.abs(np.concatenate([own, own.sum(axis=0)[None]])) for own in (values, slopes))
    known = (each > 0.0) & (by > 0.0)
    short = _SHORT * np.divide(each, by, out=np.full_like(each, np.inf), where=known).min(axis=0)
    return np.maximum(np.minimum(short, _WITHIN * most), _SHORTEST * short)


@lru_cache(maxsize=4096)
def _top_of(law: Any) -> float:
    """The largest gap, m, at which a regular law acts; by bisection."""
    low, high = -1.0, 1.0
    while high - low > 1e-15:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if law.pressure(np.array([middle]))[0] > 0.0 else (low, middle)
    return high


def _quotient(a: Any, b: Any) -> Any:
    """a/b where b is positive, else 0."""
    positive = b.real > 0.0
    return np.where(positive, a / np.where(positive, b, 1.0), 0.0)


def _turns(vectors: Any) -> Any:
    """Whether vectors (b, k, 2) point backwards from those of the step before, (b − 1, k)."""
    return (vectors[1:] * vectors[:-1]).sum(axis=-1) < 0.0


def _length(vectors: Any) -> Any:
    """Lengths (…,) of vectors (…, 2): of complex ones, the root of the sum of squares."""
    squares = (vectors**2).sum(axis=-1)
    positive = squares.real > 0.0
    return np.where(positive, np.sqrt(np.where(positive, squares, 1.0)), 0.0)
