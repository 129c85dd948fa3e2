"""The equations of contact of a step at given statuses, point by point, and their derivatives.

With the normal impulse P_n and the tangential one P_t of a point on its area A, the means over a step of length h,
the gaps g and rates at both ends (0, 1), the regular laws p and the multiplier Λ = P_n − hA p(g₀, g₁):

    multiplier acts     s + c Λ/(hA) = 0,   s = g₁ or s = ġ₁ + ⟨ġ₀⟩₊ − e ⟨−ġ₀⟩₊           else   Λ = 0
    stick               w + c_t P_t/(hA) = 0                        slip   P_t + μ P_n w/‖w‖ = 0,   open   P_t = 0

with w the slip rate at the end, at some reversals v_t⁰ + v_t¹, or P_t = 0 (`arlequin.multilevel.solvers.closing`), or
with elastic stick w = Δu_t/(λh) − c_t s₀ (`arlequin.multilevel.solvers.elastic_stick`), and μ constant or that of the
slip rate and the pressure of the step (`arlequin.sensitivity.sliding_friction`). The traction of its spring at the end
is s₁, the worn depth k P_n ‖slip‖/(hA). On a line (two dimensions) w/‖w‖ is the sign of the slip.

All is written for complex numbers, so that derivatives by a complex step, f'(x) = Im f(x + iε)/ε, are exact; regular
laws, whose kernels take real numbers, by differences of order 4 over a small part of their own length.
Source: Squire & Trapp, SIAM Review 40 (1998) 110–112.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.multilevel.laws.base import BilateralLaw
from arlequin.multilevel.solvers.contact import OPEN, SLIP, STICK
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.sensitivity.differences import difference
from arlequin.sensitivity.models_at import StudyModel
from arlequin.sensitivity.sliding_friction import SlidingFriction, law_constants
from arlequin.step.coefficients import StepCoefficients

EPS = 1e-200  # imaginary step, without subtractive cancellation
_SHORT = 1e-3  # of the length p/|p'|: step of the differences of a regular law
_LAST_DIGITS = 1e-5  # of displacements, whose round-off of 1e-12 is then below 1e-7
_WITHIN = 0.1  # of the distance from a kink of a law: largest such step
_SHORTEST = 1e-4  # of `_SHORT`: smallest such step, with round-off of 1e-9
_ROUND_OFF = 1e-9  # of the terms of a loss, below which it is round-off
_FITS = 1e-6  # of an impulse or a rate: by which the residual of one equation of friction must be below another's
_FIRST_STEP = 1e-7  # of the coefficients: step of a first estimate of p'
_LONGEST = 1e4  # of this step: largest step of the differences
_SAME = 1e-14  # change of a traction by the first step, relative to it, that is round-off


class PointMotion(NamedTuple):
    """Motion of k points in b steps: impulses P, N·s, rows of displacements and velocities at both ends, spring
    tractions at the start, Pa, all (b, k, 3) with the normal first and 0 where a point has fewer rows; worn depth and
    its opening (b, k), m, as of `WearState`; internal variables of springs at the start (b, k, n), 0 where a point has
    fewer."""

    impulse: Any
    u1: Any
    v1: Any
    u0: Any
    v0: Any
    spring: Any
    depth: Any
    opening: Any
    memory: Any


class Statuses(NamedTuple):
    """Statuses of k points in b steps (b, k): whether the multiplier acts; OPEN, SLIP or STICK; whether ġ₀ > 0; whether
    a spring is returned to the friction disk, and whether it starts outside; whether friction dissipates energy;
    whether friction acts on the mean slip rate. Points released at a reversal are SLIP for the step and OPEN here.
    direction (b, k, 2): prescribed unit vectors of slip, nan where slip follows its rate; None where none is
    prescribed. pulls_back (b, k): whether a returned spring pulls backwards because of the phase of the step; None
    where none does."""

    active: NDArray[np.bool_]
    status: NDArray[np.int8]
    parting: NDArray[np.bool_]
    limited: NDArray[np.bool_]
    outside: NDArray[np.bool_]
    dissipates: NDArray[np.bool_]
    on_mean: NDArray[np.bool_]
    direction: Array | None = None
    pulls_back: NDArray[np.bool_] | None = None


class PointValues(NamedTuple):
    """Residuals (b, k, 3), spring tractions at the end (b, k, 3), Pa, depth worn off in the step (b, k), m, and
    internal variables of springs at the end (b, k, n)."""

    residual: Any
    spring: Any
    worn: Any
    memory: Any


class PointBlocks(NamedTuple):
    """Derivatives in b steps and k points: residual, spring (b, k, 6, 3, 3): of the residuals and the springs at the
    end by P, u₁, v₁, u₀, v₀, s₀; worn (b, k, 2, 3): of the depth worn off by P and the path of the step; by_wear
    (b, k, 2): of the normal residual by depth and opening; memory (4, b, k, n): of the normal residual by the internal
    variables of springs at the start, and of those at the end by g₀, g₁ and themselves."""

    residual: Array
    spring: Array
    worn: Array
    by_wear: Array
    memory: Array


class PointData(NamedTuple):
    """Constants of k points (k,): gap at u = 0, m, area, m², and those of the laws, see `PointLaws`; wear: worn depth
    by work, m/J; sliding (k, m): constants of the laws of friction that depend on the state; coefficients (l, m) of the
    regular laws; top (k, n): gaps, m, at which these begin to act, or the kinks of a law of springs, nan where a point
    has fewer. Of derivatives: complex, with the derivative as imaginary part."""

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
        """The constants of a model."""
        contact = model.assembly.contact
        laws = contact.laws
        # 1 at rigid points, where nothing depends on it
        stiffness = np.where(laws.elastic_stick, laws.tangential_stiffness, 1.0)
        wear = np.zeros(laws.count) if contact.wear_rate is None else contact.wear_rate
        by_law = {law: _kinks_of(law) for law in set(chain(*laws.regular))}
        kinks = [[gap for law in point for gap in by_law[law]] for point in laws.regular]
        top = np.full((laws.count, max(map(len, kinks), default=0)), np.nan)
        for row, gaps in zip(top, kinks, strict=True):
            row[: len(gaps)] = gaps
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
        """The equations of a model; UserError where an interference is closed."""
        contact = model.assembly.contact
        if form.static and contact.interference is not None:
            name = contact.interference.ramps[0][0]
            raise UserError(
                f"interface '{name}': runs that close an interference have no derivatives here: compare two of them"
            )
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

    def spread_memory(self, variables: Array) -> Array:
        """Internal variables (b, m) of springs as (b, k, n)."""
        laws = self.laws
        out = np.zeros((len(variables), laws.count, laws.memories), dtype=variables.dtype)
        out[:, laws.memory_points, laws.memory_slots] = variables
        return out

    def gather_memory(self, values: Any) -> Any:
        """Values (…, k, n) of the internal variables as (…, m)."""
        return values[..., self.laws.memory_points, self.laws.memory_slots]

    def memories(self, motion: PointMotion, start: Array) -> Array:
        """Internal variables (b + 1, m) of springs at the ends of the steps, from those at the start (m,)."""
        laws, (g0, g1, *_) = self.laws, self.ends(motion)
        if not laws.memory:
            return np.zeros((len(g1) + 1, 0))
        history = laws.start_history(g0[0])
        history[laws.memory_rows, 1] = start
        histories = laws.histories(history, g1, self._duration, self.form.theta)
        assert histories is not None
        return np.concatenate([start[None], histories[:, laws.memory_rows, 1]])

    def springs(self, motion: PointMotion, start: Array) -> Array:
        """Spring tractions (b + 1, k, 3), Pa, at the ends of the steps, from those at the start (k, 3)."""
        from arlequin.multilevel.solvers._spring_kernels import stretch_springs_each

        out = np.zeros((len(motion.depth) + 1, *start.shape))
        if self.laws.has_elastic_stick:
            out[0] = start
            impulse, starts = np.ascontiguousarray(motion.impulse), 3 * np.arange(len(start) + 1)
            impulses, tractions = (array.reshape(len(array), -1) for array in (impulse, out))
            data = self.data
            stretch_springs_each(starts, data.area, data.friction, self.gains, impulses, self.step, tractions, 1)
        return out

    def statuses(self, motion: PointMotion, status: NDArray[np.int8], delassus: Array) -> Statuses:
        """Statuses of solved steps; delassus (r,): its diagonal. A multiplier acts where it exceeds its slack in the
        natural map."""
        laws, first, gap_per_velocity = self.laws, self.laws.first[:-1], self.weight * self.step
        parting = self.ends(motion)[2] > 0.0
        multiplier, slack = self._normal(motion, parting)
        compliance = self.data.compliance / (self.step * self.data.area)
        scale = delassus[first] * np.where(laws.level == 1, gap_per_velocity, 1.0) + compliance
        closed = self.middle_gap(motion) <= self.touching
        if self.form.staggered:  # their velocities for this test are at other instants: impulses show it
            closed = multiplier > _ROUND_OFF * np.abs(motion.impulse[..., 0])
        allowed = (laws.level == 1) | ((laws.level == 2) & closed)
        active = allowed & (multiplier * np.where(scale > 0.0, scale, 1.0) > slack) & (multiplier > 0.0)
        status, on_mean = self._friction_closing(motion, status)
        return Statuses(active, status, parting, *self._spring_statuses(motion), on_mean)

    def _spring_statuses(self, motion: PointMotion) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """`limited`, `beyond` and `rubs` of `Statuses`."""
        trial, limit, start_size = self._trial_tractions(motion)
        outside = start_size > limit
        limited = _length(trial) > self._return_radius(limit, start_size, outside)
        loss, size = self._friction_loss(motion, limited, outside, motion.impulse[..., 0] > 0.0)
        return limited, outside, loss > _ROUND_OFF * size

    def with_motion(self, motion: PointMotion, statuses: Statuses) -> Statuses:
        """Prescribed statuses, with those that follow from the motion: the sign of the rates at the start, and whether
        friction dissipates energy."""
        _, _, rate0, _ = self.ends(motion)
        loss, size = self._friction_loss(
            motion, statuses.limited, statuses.outside, self._springs_act(motion, statuses)
        )
        return statuses._replace(parting=rate0 > 0.0, dissipates=loss > _ROUND_OFF * size)

    def without_phase(self, motion: PointMotion, statuses: Statuses) -> Statuses:
        """Statuses whose springs of friction on layers stick from the first touch on where they stick in the next step,
        or are limited there and stick in the one after, and slip to the last one where they slipped in the step before:
        contact lasts a part of these steps, and friction is small by their phase alone. Where the pressure falls to
        less than a half in a step, the mean traction at its limit leaves a spring stretched backwards: it pulls so in
        the next step, while the point slips on, but grows with the pressure as if it did not."""
        springs, pressed = self.laws.elastic_stick & (self.laws.level == 0), motion.impulse[..., 0] > 0.0
        sticks, status, limited = statuses.status == STICK, statuses.status.copy(), statuses.limited.copy()
        free = sticks & ~limited
        later = sticks[2:].copy()
        later[:-1] &= free[3:]
        first = springs & pressed[1:-1] & ~pressed[:-2] & (free[2:] | later)
        status[1:-1][first], limited[1:-1][first], limited[2:][first] = STICK, False, False
        last = (
            springs & pressed[1:-1] & ~pressed[2:] & (statuses.status[1:-1] == STICK) & (statuses.status[:-2] == SLIP)
        )
        status[1:-1][last], limited[1:-1][last] = SLIP, True
        pulls_back, slides = np.zeros(status.shape, dtype=bool), springs & (status == SLIP)
        pulls_back[1:] = slides[1:] & slides[:-1] & _turns(motion.impulse[..., 1:]) & ~_turns(motion.v1[..., 1:])
        return statuses._replace(status=status, limited=limited, pulls_back=pulls_back)

    def _springs_act(self, motion: PointMotion, statuses: Statuses) -> NDArray[np.bool_]:
        """Points (b, k) whose springs of friction act: those under pressure, or prescribed as closed."""
        return np.asarray(motion.impulse[..., 0].real > 0.0 if statuses.direction is None else statuses.status != OPEN)

    def slip_directions(self, motion: PointMotion, statuses: Statuses) -> Array:
        """Unit vectors (b, k, 2) of the slip rates of sliding points without springs, nan of others."""
        slip_rate, _ = self._slip_rates(motion, statuses.on_mean)
        slides = (statuses.status == SLIP) & ~self.laws.elastic_stick & (_length(slip_rate) > 0.0)
        return np.where(slides[..., None], _quotient(1.0, _length(slip_rate))[..., None] * slip_rate, np.nan)

    def _friction_closing(
        self, motion: PointMotion, status: NDArray[np.int8]
    ) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """Statuses (b, k), OPEN where friction has released a point, and the points where it closes the mean slip rate:
        those whose impulses satisfy that equation and not that of the end."""
        laws, tangential, end = self.laws, motion.impulse[..., 1:], motion.v1[..., 1:]
        if self.form.static or self.form.staggered or not laws.frictional:
            return status, np.zeros(status.shape, dtype=bool)
        mean, size = motion.v0[..., 1:] + end, _length(tangential)
        compliance_rate = (self.data.tangential_compliance / (self.step * self.data.area))[:, None] * tangential
        moves = _length(end + compliance_rate) > _ROUND_OFF * (
            _length(motion.v0[..., 1:]) + np.abs(motion.v1).max(initial=0.0)
        )
        sticks = (status == STICK) & moves & (_length(mean + compliance_rate) < _FITS * _length(end + compliance_rate))
        mean_direction, end_direction = (_quotient(1.0, _length(rates))[..., None] * rates for rates in (mean, end))
        slips = (status == SLIP) & ((tangential * (mean_direction - end_direction)).sum(axis=-1) < -_FITS * size)
        released = (status == SLIP) & (size <= _ROUND_OFF * motion.impulse[..., 0])
        rigid = ~laws.elastic_stick
        return np.where(released & rigid, np.int8(OPEN), status), (sticks | slips) & rigid & ~released

    def evaluate(self, motion: PointMotion, statuses: Statuses) -> PointValues:
        """The equations at the statuses."""
        laws, data = self.laws, self.data
        impulse = motion.impulse
        normal = impulse[..., 0]
        multiplier, slack = self._normal(motion, statuses.parting)
        dtype = np.result_type(*motion, *data)
        residual = np.zeros(impulse.shape, dtype=dtype)
        residual[..., 0] = np.where(statuses.active, slack, multiplier)
        spring, worn_depth = np.zeros(impulse.shape, dtype=dtype), np.zeros(normal.shape, dtype=dtype)
        if laws.frictional:
            slip_rate, compliance = self._slip_rates(motion, statuses.on_mean)
            stick = self._with_compliance(slip_rate, compliance, motion)
            # w + c P/(hA), along which the impulse points where there is a compliance, has the direction of w
            mu = self._friction(motion, statuses)
            slip_direction = _quotient(1.0, _length(slip_rate))[..., None] * slip_rate
            if statuses.direction is not None:
                slip_direction = np.where(np.isnan(statuses.direction), slip_direction, statuses.direction)
            slip = impulse[..., 1:] + (mu * normal)[..., None] * slip_direction
            slides = ((statuses.status == SLIP) & (mu.real > 0.0))[..., None]
            tangential = np.where(
                (statuses.status == STICK)[..., None], stick, np.where(slides, slip, impulse[..., 1:])
            )
            residual[..., 1:] = np.where(self.rows[:, 1:] >= 0, tangential, impulse[..., 1:])
            if laws.has_elastic_stick:
                spring[..., 1:] = self._end_tractions(
                    motion, statuses.limited, statuses.outside, self._springs_act(motion, statuses)
                )
            if data.wear.any():
                worn_depth[:] = self._worn(motion)
        return PointValues(residual, spring, worn_depth, self._memory_after(motion))

    def unsolved(self, motion: PointMotion, statuses: Statuses, delassus: Array) -> float:
        """The largest residual relative to the terms of its equation: impulses, rates or gaps; delassus (r,): its
        diagonal."""
        residual = self.evaluate(motion, statuses).residual
        if not residual.size:
            return 0.0
        impulse_velocity = np.abs(motion.impulse).max() * np.abs(delassus).max(initial=0.0)
        displacement = np.abs(motion.u1 - motion.u0).max() + _LAST_DIGITS * np.abs(motion.u1).max() + self.touching
        displacement += self.weight * self.step * impulse_velocity
        rate = np.abs(motion.v1).max() + np.abs(motion.v0).max() + impulse_velocity
        rate = max(rate, displacement / (self.weight * self.step)) if self.laws.has_elastic_stick else rate
        kinds = np.zeros(residual.shape, dtype=int)
        kinds[..., 0] = np.where(statuses.active, np.where(self.laws.level == 1, 2, 1), 0)
        kinds[..., 1:] = np.where(statuses.status == STICK, 1, 0)[..., None]
        scales = np.array([np.abs(motion.impulse).max(), rate, displacement])
        return float((np.abs(residual) / (scales[kinds] + 1e-300)).max())

    def blocks(self, motion: PointMotion, statuses: Statuses) -> "PointBlocks":
        """Derivatives of the equations by the motion."""
        from arlequin.sensitivity._contact_kernels import V0, V1, contact_blocks

        laws, data, (b, k) = self.laws, self.data, motion.depth.shape
        shapes = (b, k, 6, 3, 3), (b, k, 6, 3, 3), (b, k, 2, 3), (b, k, 2), (4, *motion.memory.shape)
        out = PointBlocks(*map(np.zeros, shapes))
        by_start, by_end = self._slopes(motion)
        slip, _ = self._slip_rates(motion, statuses.on_mean)
        fixed = np.zeros(slip.shape, dtype=bool) if statuses.direction is None else ~np.isnan(statuses.direction)
        slip = slip if statuses.direction is None else np.where(fixed, statuses.direction, slip)
        trial, limit, start_size = self._trial_tractions(motion)
        if statuses.pulls_back is not None:
            slip, trial = (np.where(statuses.pulls_back[..., None], -field, field) for field in (slip, trial))
        path = self._path(motion)[..., 1:]
        friction = np.stack([np.broadcast_to(field, (b, k)) for field in self._friction_with_slopes(motion, statuses)])
        constants = (
            data.compliance, data.area, data.tangential_compliance, data.restitution, data.tangential_stiffness,
            self.gains, data.wear, laws.level, laws.elastic_stick, np.diff(laws.first) > 1,
        )  # fmt: skip
        points = (
            friction, motion.impulse, slip, motion.spring, path, (motion.u1 - motion.u0)[..., 1:], statuses.active,
            statuses.status, statuses.on_mean, statuses.parting, statuses.limited, statuses.outside, trial,
            self._return_radius(limit, start_size, statuses.outside),
        )  # fmt: skip
        arrays: Any = map(np.ascontiguousarray, (by_start, by_end, *constants, *points))
        arguments: Any = self.step, self.weight, self._reflected, *arrays, *out[:4]
        contact_blocks(*arguments)
        if laws.memory:
            self._add_memory_blocks(motion, statuses, out.memory)
        if fixed.any():  # prescribed directions do not depend on the slip rate
            independent = np.zeros((b, k, 3), dtype=bool)
            independent[..., 1:] = fixed
            for velocity in (V1, V0):
                out.residual[:, :, velocity][independent] = 0.0
        return out

    def _slopes(self, motion: PointMotion) -> tuple[Array, Array]:
        """Derivatives of the mean tractions of the regular laws by the gaps at both ends (b, k), Pa/m."""
        if not self.laws.has_regular:
            zeros = np.zeros(motion.depth.shape)
            return zeros, zeros
        g0, g1, *_ = self.ends(motion)
        by_each = [
            np.imag(self._parts(start, end, motion.memory).sum(axis=0)) / EPS
            for start, end in ((g0 + 1j * EPS, g1 + 0j), (g0 + 0j, g1 + 1j * EPS))
        ]
        return by_each[0], by_each[1]

    def _add_memory_blocks(self, motion: PointMotion, statuses: Statuses, out: Array) -> None:
        """Write the derivatives `PointBlocks.memory`."""
        g0, g1, *_ = self.ends(motion)
        for i, (start, end) in enumerate(((g0 + 1j * EPS, g1 + 0j), (g0 + 0j, g1 + 1j * EPS)), 1):
            out[i] = np.imag(self._of_memory(start, end, motion.memory)[1]) / EPS
        factor = np.where(statuses.active, self.data.compliance / (self.step * self.data.area), 1.0)
        for n in range(self.laws.memories):
            memory = motion.memory.astype(complex)
            memory[..., n] += 1j * EPS
            parts, after = self._of_memory(g0, g1, memory)
            out[0, ..., n] = -factor * self.step * self.data.area * np.imag(parts.sum(axis=0)) / EPS
            out[3, ..., n] = np.imag(after[..., n]) / EPS

    def _memory_after(self, motion: PointMotion) -> Any:
        """Internal variables of springs at the end (b, k, n)."""
        if not self.laws.memory:
            return motion.memory
        g0, g1, *_ = self.ends(motion)
        return self._of_memory(g0, g1, motion.memory)[1]

    def _of_memory(self, g0: Any, g1: Any, memory: Any) -> tuple[Any, Any]:
        """Stored and dissipated mean tractions (2, b, k), Pa, of the laws with internal variables, and these variables
        at the end (b, k, n)."""
        laws, points = self.laws, self.laws.memory_points
        start, end, before = (np.ascontiguousarray(field, dtype=complex) for field in (
            g0[:, points], g1[:, points], self.gather_memory(memory)
        ))  # fmt: skip
        out = np.zeros((3, *start.shape), dtype=complex)
        for law, rows, _ in laws.memory:
            at, values = np.searchsorted(laws.memory_rows, rows), np.zeros((3, len(start), rows.size), dtype=complex)
            constants = np.ascontiguousarray(self.data.coefficients[rows], dtype=complex)
            law.path_kernel()(
                constants, *(np.ascontiguousarray(field[:, at]) for field in (start, end, before)), self.form.theta,
                values,
            )  # fmt: skip
            out[:, :, at] = values
        complex_numbers = [np.iscomplexobj(field) for field in (g0, g1, memory, self.data.coefficients)]
        out = out if any(complex_numbers) else out.real
        tractions = np.zeros((2, *np.shape(g1)), dtype=out.dtype)
        at_points: Any = (..., points)
        np.add.at(tractions, at_points, out[:2])
        return tractions, self.spread_memory(out[2])

    def along(
        self, motion: PointMotion, data_change: PointData, motion_change: PointMotion | None, statuses: Statuses
    ) -> PointValues:
        """Derivatives where the constants change by data_change, and the motion by motion_change."""
        perturbed, motion = self.changed(motion, data_change, motion_change)
        return _imaginary(perturbed.evaluate(motion, statuses))

    def works(self, motion: PointMotion, statuses: Statuses) -> dict[str, Any]:
        """Works of each point and step (b, k): length of the slip, m; normal force times slip rate, W
        (`wear_power`); losses by friction and by impact, J. By the formulas of `arlequin.energy` and
        `arlequin.multilevel.solvers.elastic_stick`."""
        laws, step, normal = self.laws, self.step, motion.impulse[..., 0]
        path, multiplier = self._path(motion), self.normal_parts(motion)[:, 2]
        opening_rate = (path[..., 0] + motion.opening) / step
        normal_rate = np.where(opening_rate.real < 0.0, opening_rate, 0.0)
        normal_rate = np.where(laws.level == 1, ((motion.u1 - motion.u0)[..., 0] + motion.opening) / step, normal_rate)
        slip = np.where(normal.real > 0.0, _length(path[..., 1:]), 0.0)
        return {
            "slip": slip,
            "wear_power": normal * slip / step**2,
            "friction": np.where(
                statuses.dissipates,
                self._friction_loss(motion, statuses.limited, statuses.outside, self._springs_act(motion, statuses))[0],
                0.0,
            ),
            "impact": -multiplier * normal_rate,
        }

    def works_along(
        self, motion: PointMotion, data_change: PointData, motion_change: PointMotion | None, statuses: Statuses
    ) -> dict[str, Array]:
        """Derivatives of the works where the constants change by data_change, and the motion by motion_change."""
        perturbed, motion = self.changed(motion, data_change, motion_change)
        return {name: np.imag(values) / EPS for name, values in perturbed.works(motion, statuses).items()}

    def changed(
        self, motion: PointMotion, data_change: PointData, motion_change: PointMotion | None
    ) -> "tuple[ContactEquations, PointMotion]":
        """The equations and the motion with these changes as imaginary parts, times `EPS`."""
        perturbed = PointData(
            *(value + 1j * EPS * change for value, change in zip(self.data, data_change, strict=True))
        )
        if motion_change is not None:
            motion = PointMotion(
                *(value + 1j * EPS * change for value, change in zip(motion, motion_change, strict=True))
            )
        return replace(self, data=perturbed), motion

    def margins(self, motion: PointMotion, statuses: Statuses) -> Any:
        """Margins to the next change of status (n, b, k), 0 at the change: the impulse of the multiplier or its slack;
        the distance from the gap at which a point counts as closed, and from those at which its layers begin; in stick
        the margin to the cone, in slip the slip rate; nan where there is no such status."""
        laws, data = self.laws, self.data
        multiplier, slack = self._normal(motion, statuses.parting)
        _, g1, *_ = self.ends(motion)
        middle = self.middle_gap(motion) - self.touching
        allowed = (laws.level == 1) | ((laws.level == 2) & (middle.real <= 0.0))
        multiplier_margin = np.where(statuses.active, multiplier, np.where(allowed, slack, np.nan))
        out = [multiplier_margin, np.where(laws.level == 2, middle, np.nan), *(g1 - top for top in data.top.T)]
        if laws.frictional:
            friction, rest = self._friction(motion, statuses), self.cone_margin(motion, statuses)
            creep = _length(self.sliding(motion, statuses))
            out.append(np.where((statuses.status == STICK) & (friction.real > 0.0), rest, np.nan))
            out.append(np.where((statuses.status == SLIP) & (friction.real > 0.0), creep, np.nan))
        return np.stack(out)

    def cone_margin(self, motion: PointMotion, statuses: Statuses) -> Any:
        """μ P_n − ‖P_t‖ (b, k), N·s."""
        return self._friction(motion, statuses) * motion.impulse[..., 0] - _length(motion.impulse[..., 1:])

    def sliding(self, motion: PointMotion, statuses: Statuses) -> Any:
        """w + c_t P_t/(hA) (b, k, 2), m/s: the rate at which points slip, with elastic stick behind their springs."""
        return self._with_compliance(*self._slip_rates(motion, statuses.on_mean), motion)

    def margins_along(
        self, motion: PointMotion, data_change: PointData, motion_change: PointMotion, statuses: Statuses
    ) -> tuple[Any, Any]:
        """The margins, and their derivatives where the constants change by data_change, the motion by motion_change."""
        perturbed, motion = self.changed(motion, data_change, motion_change)
        margins = perturbed.margins(motion, statuses)
        return margins.real, np.imag(margins) / EPS

    def normal_parts(self, motion: PointMotion) -> Any:
        """Normal impulses (b, 3, k), N·s, of the laws: stored, dissipated, multiplier."""
        g0, g1, *_ = self.ends(motion)
        stored, dissipated = self.step * self.data.area * self._parts(g0, g1, motion.memory)
        return np.stack([stored, dissipated, motion.impulse[..., 0] - stored - dissipated], axis=1)

    def _normal(self, motion: PointMotion, parting: NDArray[np.bool_]) -> tuple[Any, Any]:
        """Multiplier (b, k), N·s, and its slack, 0 where it acts: the gap or the closing rate at the end, and the
        deflection of its compliance; parting (b, k): whether ġ₀ > 0."""
        multiplier, (_, g1, rate0, rate1) = self.normal_parts(motion)[:, 2], self.ends(motion)
        slack = np.where(self.laws.level == 1, g1, rate1 + self._closing(rate0, parting))
        return multiplier, slack + self.data.compliance * multiplier / (self.step * self.data.area)

    def normal_parts_along(self, motion: PointMotion, data_change: PointData, motion_change: PointMotion) -> Array:
        """Derivatives of the parts where the constants change by data_change, and the motion by motion_change."""
        perturbed, motion = self.changed(motion, data_change, motion_change)
        return np.imag(perturbed.normal_parts(motion)) / EPS

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
        """Term of the rate at the start, ⟨ġ₀⟩₊ − e ⟨−ġ₀⟩₊, without the first part in central differences."""
        return np.where(parting, self._reflected * rate, self.data.restitution * rate)

    @property
    def _reflected(self) -> float:
        """Share of a parting rate ⟨ġ₀⟩₊ to which a point is reflected."""
        return 0.0 if self.form.staggered else 1.0

    def _parts(self, g0: Any, g1: Any, memory: Any) -> Any:
        """Stored and dissipated mean tractions of the regular laws (2, b, k), Pa."""
        if not self.laws.memory:
            return self._parts_without_memory(g0, g1)
        return self._parts_without_memory(g0, g1) + self._of_memory(g0, g1, memory)[0]

    def _parts_without_memory(self, g0: Any, g1: Any) -> Any:
        """Those of the laws that have no internal variable."""
        if not self._plain.has_regular:
            return np.zeros((2, *np.shape(g0)), dtype=np.result_type(g0, g1))
        start, end = np.real(g0), np.real(g1)
        tractions, slopes = self._law_values(start, end)
        change = np.imag(self._plain_coefficients)
        if not (np.iscomplexobj(g0) or np.iscomplexobj(g1) or change.any()):
            return tractions
        out = tractions + 1j * slopes * np.imag(g1)
        if np.imag(g0).any():
            # by a shift of both gaps, along which the direction of motion, and so the damping, does not change
            kink_distance, guess = self._to_top(start, end), slopes
            if self.form.staggered:  # the traction is that of the gap at the start, whose slope is not known
                guess = np.divide(tractions, kink_distance, out=np.zeros_like(tractions), where=kink_distance > 0.0)
            short_step = _short(tractions, guess, kink_distance)
            short_step = np.where(np.isfinite(short_step), np.maximum(short_step, 1e-15 * np.abs(start)), 0.0)
            by_both = difference(lambda by: self._law_values(start + by, end + by)[0], short_step)
            if self.form.staggered and self.laws.bilateral.any():
                instant = self._law_values(start, start, theta=1.0)[1]
                by_both = np.where(self.laws.bilateral, instant, by_both)
            out = out + 1j * (by_both - slopes) * np.imag(g0)
        if change.any():
            change = change / EPS
            sizes = np.abs(np.real(self._plain_coefficients))
            shares = np.divide(np.abs(change), sizes, out=np.zeros_like(change), where=sizes > 0.0)
            first = _FIRST_STEP / (shares.max() or 1.0)
            steps = np.full_like(start, first)
            ends = [self._law_values(start, end, change, sign * steps)[0] for sign in (1.0, -1.0)]
            top_speed = np.nanmax(np.abs(np.imag(self.data.top)) / EPS, axis=1, initial=0.0)
            kink_distance = np.full_like(start, np.inf)
            kink_distance = np.divide(self._to_top(start, end), top_speed, out=kink_distance, where=top_speed > 0.0)
            growth = ends[0] - ends[1]
            growth = np.where(np.abs(growth) > _SAME * np.abs(tractions), growth, 0.0)
            short_step = _short(tractions, growth / (2.0 * first), kink_distance)
            short_step = np.where(np.isfinite(short_step), np.minimum(short_step, _LONGEST * first), 0.0)
            by_constants = difference(lambda by: self._law_values(start, end, change, by)[0], short_step)
            out = out + 1j * EPS * by_constants
        return out

    @property
    def _plain(self) -> PointLaws:
        """The laws without an internal variable."""
        return self.laws.without_memory if self.laws.memory else self.laws

    @cached_property
    def _plain_coefficients(self) -> Any:
        """Their coefficients (l, m)."""
        return np.delete(self.data.coefficients, self.laws.memory_rows, axis=0)

    def _to_top(self, start: Array, end: Array) -> Array:
        """Distance (b, k), m, of the gaps from those at which laws begin to act, where their derivatives have kinks."""
        out = np.full(start.shape, np.inf)
        for top in np.real(self.data.top).T:
            for gap in (start, end):
                out = np.fmin(out, np.abs(gap - top))
        return out

    def _law_values(
        self,
        start: Array,
        end: Array,
        change: Array | None = None,
        amount: Array | None = None,
        theta: float | None = None,
    ) -> tuple[Array, Array]:
        """Stored and dissipated mean tractions (2, b, k), Pa, and their derivatives by the gap at the end; with amount
        (b, k) times `change` added to the coefficients; theta: of another scheme."""
        from arlequin.sensitivity._law_kernels import mean_tractions

        laws, out = self._plain, np.empty((2, 2, *start.shape))
        constants = np.ascontiguousarray(self._plain_coefficients.real)
        kernels, kind = laws.kernels
        mean_tractions(
            laws.rows, kernels, kind, constants, np.ascontiguousarray(start), np.ascontiguousarray(end),
            np.zeros_like(constants) if change is None else change,
            np.zeros(start.shape) if amount is None else np.ascontiguousarray(amount),
            self._duration, self.form.theta if theta is None else theta, out,
        )  # fmt: skip
        return out[0], out[1]

    def _friction(self, motion: PointMotion, statuses: Statuses) -> Any:
        """Coefficients of friction, (k,), or (b, k) where some depend on the slip rate or the pressure of the step."""
        return self._sliding(motion, statuses).values() if self.laws.state_dependent else self.data.friction

    def _friction_with_slopes(self, motion: PointMotion, statuses: Statuses) -> tuple[Array, Array, Array]:
        """The coefficients, and their derivatives by the slip rate, s/m, and the pressure, 1/Pa."""
        if not self.laws.state_dependent:
            zeros = np.zeros(self.laws.count)
            return self.data.friction, zeros, zeros
        friction = self._sliding(motion, statuses)
        return friction.values(), *friction.slopes()

    def _sliding(self, motion: PointMotion, statuses: Statuses) -> SlidingFriction:
        """Friction of the points whose coefficients depend on the step."""
        rate = _length((motion.u1 - motion.u0)[..., 1:]) / self._duration  # 0 in statics
        pressure = motion.impulse[..., 0] / (self.step * self.data.area)
        pressure = np.where(pressure.real > 0.0, pressure, 0.0)
        stuck = statuses.status == STICK
        return SlidingFriction(self.laws, self.data.friction, self.data.sliding, rate, pressure, stuck)

    @property
    def gains(self) -> Any:
        """κ (k,), see `arlequin.multilevel.solvers.elastic_stick`; 0 without elastic stick."""
        if not self.laws.has_elastic_stick:
            return np.zeros(self.laws.count)
        data = self.data
        gain = data.tangential_stiffness / (
            self.form.theta * data.tangential_stiffness + data.tangential_damping / self._duration
        )
        return np.where(self.laws.elastic_stick, gain, 0.0)

    def _slip_rates(self, motion: PointMotion, on_mean: NDArray[np.bool_]) -> tuple[Any, Any]:
        """Slip rates w (b, k, 2), m/s, and the compliance of friction c_t (k,)."""
        laws, data, gap_per_velocity = self.laws, self.data, self.weight * self.step
        end_rate = motion.v1[..., 1:] + np.where(on_mean[..., None], motion.v0[..., 1:], 0.0)
        if not laws.has_elastic_stick:
            return end_rate, data.tangential_compliance
        elastic_compliance = self.gains / (gap_per_velocity * data.tangential_stiffness)
        compliance = np.where(laws.elastic_stick, elastic_compliance, data.tangential_compliance)
        elastic = (motion.u1 - motion.u0)[..., 1:] / gap_per_velocity - compliance[:, None] * motion.spring[..., 1:]
        return np.where(laws.elastic_stick[:, None], elastic, end_rate), compliance

    def _with_compliance(self, slip_rate: Any, compliance: Any, motion: PointMotion) -> Any:
        """w + c_t P_t/(hA) (b, k, 2), m/s."""
        return slip_rate + (compliance / (self.step * self.data.area))[:, None] * motion.impulse[..., 1:]

    def stuck(self, motion: PointMotion, statuses: Statuses) -> tuple[Any, Any]:
        """Spring tractions (b, k, 2), Pa, at the ends of steps in which points stick, and the limit μ p̄ (b, k)."""
        stretched = self.data.tangential_stiffness[:, None] * (motion.u1 - motion.u0)[..., 1:]
        pressure = motion.impulse[..., 0] / (self.step * self.data.area)
        return motion.spring[..., 1:] - stretched, self._friction(motion, statuses) * pressure

    def _trial_tractions(self, motion: PointMotion) -> tuple[Any, Any, Any]:
        """Trial tractions (b, k, 2) of the springs, the radius μ p̄ of the friction disk, and ‖s₀‖ (b, k), Pa."""
        gain, step_area = self.gains, self.step * self.data.area
        start = motion.spring[..., 1:]
        trial = start + gain[:, None] * (motion.impulse[..., 1:] / step_area[:, None] - start)
        return trial, self.data.friction * motion.impulse[..., 0] / step_area, _length(start)

    def _return_radius(self, limit: Any, start_size: Any, outside: NDArray[np.bool_]) -> Any:
        """Radius (b, k) to which springs are returned, Pa."""
        gain = self.gains
        share = np.where(gain.real < 1.0, 1.0 - gain, 0.0)
        return limit + share * np.where(outside, start_size - limit, 0.0)

    def _friction_loss(self, motion: PointMotion, limited: Any, outside: Any, acting: Any) -> tuple[Any, Any]:
        """Energy dissipated by friction (b, k), J, of either sign by round-off, and the size of its terms."""
        laws, data, step = self.laws, self.data, self.step
        path = self._path(motion)[..., 1:]
        terms = [-(motion.impulse[..., 1:] * path).sum(axis=-1) / step]
        if laws.has_elastic_stick:
            trial, *_ = self._trial_tractions(motion)
            start, end = motion.spring[..., 1:], self._end_tractions(motion, limited, outside, acting)
            flexibility = data.area / data.tangential_stiffness
            spring_terms = [
                -(motion.impulse[..., 1:] * (motion.u1 - motion.u0)[..., 1:]).sum(axis=-1) / step,
                -0.5 * flexibility * (end**2).sum(axis=-1),
                0.5 * flexibility * (start**2).sum(axis=-1),
                -(self.form.theta - 0.5) * flexibility * ((trial - start) ** 2).sum(axis=-1),
            ]
            zeros = np.zeros_like(terms[0])
            terms = [
                np.where(laws.elastic_stick, term, rigid)
                for term, rigid in zip(spring_terms, [*terms, zeros, zeros, zeros], strict=True)
            ]
        return sum(terms), sum(np.abs(term) for term in terms)

    def _end_tractions(self, motion: PointMotion, limited: Any, outside: Any, acting: Any) -> Any:
        """Spring tractions at the end (b, k, 2); see `end_spring_traction`."""
        trial, limit, start_size = self._trial_tractions(motion)
        scale = np.where(limited, _quotient(self._return_radius(limit, start_size, outside), _length(trial)), 1.0)
        return np.where((self.laws.elastic_stick & acting)[..., None], trial * scale[..., None], 0.0)

    def _worn(self, motion: PointMotion) -> Any:
        """Depth worn off (b, k), m: k/A times the normal force times the slip."""
        slip = self._path(motion)[..., 1:]
        normal = motion.impulse[..., 0]
        pressed = np.where(normal.real > 0.0, normal, 0.0)
        return self.data.wear * pressed * _length(slip) / self.step


def varied(motion: PointMotion) -> Iterator[tuple[str, Any, PointMotion]]:
    """The motion with an imaginary part in each of its inputs in turn, with the name and the index of the input."""
    for name, field in motion._asdict().items():
        for at in [(..., a) for a in range(field.shape[2])] if field.ndim == 3 else [(...,)]:
            perturbed = field.astype(complex)
            perturbed[at] += 1j * EPS
            yield name, at, motion._replace(**{name: perturbed})


def _imaginary(values: PointValues) -> PointValues:
    return PointValues(*(np.imag(field) / EPS for field in values))


def _short(values: Array, slopes: Array, smooth_length: Array) -> Array:
    """Steps (b, k) for differences of values (2, b, k), whose slopes are estimates: a small part of the least f/|f'| of
    both and of their sum, and of the distance smooth_length (b, k) to the next kink, but above round-off; infinite
    where no value changes."""
    size, slope = (np.abs(np.concatenate([array, array.sum(axis=0)[None]])) for array in (values, slopes))
    known = (size > 0.0) & (slope > 0.0)
    short_step = _SHORT * np.divide(size, slope, out=np.full_like(size, np.inf), where=known).min(axis=0)
    return np.maximum(np.minimum(short_step, _WITHIN * smooth_length), _SHORTEST * short_step)


def _kinks_of(law: Any) -> tuple[float, ...]:
    """Gaps, m, at which the slope of a regular law jumps."""
    return law.kinks if isinstance(law, BilateralLaw) else (_top_of(law),)


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
    """Whether vectors (b, k, 2) point against those of the step before, (b − 1, k)."""
    return (vectors[1:] * vectors[:-1]).sum(axis=-1) < 0.0


def _length(vectors: Any) -> Any:
    """Lengths (…,) of vectors (…, 2): of complex ones, the root of the sum of squares."""
    squares = (vectors**2).sum(axis=-1)
    positive = squares.real > 0.0
    return np.where(positive, np.sqrt(np.where(positive, squares, 1.0)), 0.0)
