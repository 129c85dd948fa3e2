"""The map of a period: where a state of the free coordinates is after N steps of the scheme, and its Jacobian.

The state is x = (q, q̇), u = u_g + Z q with the given motions u_g and a basis Z (d, n) of the displacements that obey
the constraints; with elastic stick also the tractions of friction's springs. The steps are those of the transient, so
that a fixed point x = Φ(x) is a periodic motion of `simulate` with the same step to round-off. The loads of a period
are stretched over the actual one, f(t T₀/T), so that one system serves all frequencies.

On fixed normals a θ-step (`arlequin.schemes.theta`) with A = Zᵀ(M + θΔt D + θ²Δt² K)Z and the rows B of the contact is

    A y = Zᵀ[M v₀ + θΔt (f_θ − K u₀) + θ Bᵀ P],   u₁ = u₀ + Δt y,   v₁ = v₀ + (y − v₀)/θ

and its Jacobian follows from what the loop recorded: with the increments δ of gaps and rates, h the step, A_k the area,

    regular laws                 δP_n = h A_k (∂p/∂g₁ δg₁ + ∂p/∂g₀ δg₀)
    multiplier on the velocity   δv₁ + H(v₀) δv₀ + c δΛ/(h A_k) = 0        on the gap   δg₁ + c δΛ/(h A_k) = 0
    stick                        δv₁ₜ + c_t δPₜ/(h A_k) = 0
    slip                         δPₜ = Pₜ/P_n δP_n − μ P_n/‖w‖ (1 − e eᵀ) δw

∂Φ/∂x, the product of these Jacobians, is the monodromy matrix at a fixed point. With located events, whose instants
move with the state, and with elastic stick, it is found from central differences of Φ.

Source: Leine & Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems, Springer (2004).
"""

from collections import OrderedDict
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.types import Array
from arlequin.multilevel.solvers.contact import OPEN
from arlequin.schemes.compiled_loop import SmallStepper, is_small
from arlequin.schemes.loop_data import LoopSteps
from arlequin.schemes.theta import Theta
from arlequin.step.state import State
from arlequin.system.assembly import Assembly

MOST = 300  # free coordinates: their Jacobians are dense
_DIFFERENCE = 1e-6  # of central differences, relative to the size of the state or the parameter
_KEPT = 6  # steppers for different steps
_SAMPLES = np.linspace(0.0, 1.0, 23)[:-1]  # of a period, where its loads are compared


@dataclass(frozen=True)
class Orbit:
    """The motion over one period: x at the end; u, v (N + 1, d) and gaps (N + 1, k) at the instants; raw steps of the
    θ-loop, None with located events."""

    start: Array
    end: Array
    period: float
    u: Array
    v: Array
    gaps: Array
    steps: LoopSteps | None


class PeriodMap:
    """Φ of a system for periods T and amplitudes of the loads: x (s,) → x after `periods` periods of the loads.

    base: the period T₀ of the loads of the system, s, None where they are constant; steps: N in all.
    """

    def __init__(self, assembly: Assembly, scheme: Theta, steps: int, base: float | None, periods: int = 1) -> None:
        _check(assembly, scheme)
        self.assembly, self.steps, self.periods, self._base = assembly, steps, periods, base
        self._scheme = scheme
        free = np.flatnonzero(assembly.free)
        held = assembly.constraints[:, free].toarray()
        inner = scipy.linalg.null_space(held) if held.size else np.eye(free.size)
        self.basis = np.zeros((assembly.dof_count, inner.shape[1]))
        self.basis[free] = inner
        if self.size > MOST:
            raise UserError(
                f"the system has {self.size} free coordinates; at most {MOST} are taken here: reduce its parts, "
                "arlequin.Modal"
            )
        self.located = scheme.events == "locate"
        laws = assembly.laws
        self._springs = laws.elastic_stick_rows
        self.differences = self.located or self._springs.size > 0
        self._touch = assembly.contact.kinematics(np.zeros(assembly.contact.basis.shape[0]))
        self._steppers: OrderedDict[float, Any] = OrderedDict()
        self._drive: dict[tuple[int, int], Array] = {}
        self._mean: Array | None = None

    @property
    def size(self) -> int:
        """Free coordinates n."""
        return int(self.basis.shape[1])

    @property
    def state_size(self) -> int:
        """2n, and the springs of friction."""
        return 2 * self.size + int(self._springs.size)

    @cached_property
    def mass(self) -> Array:
        """Zᵀ M Z (n, n)."""
        return np.asarray(self.basis.T @ (self.assembly.mass @ self.basis))

    @cached_property
    def stiffness(self) -> Array:
        """Zᵀ K Z (n, n)."""
        return np.asarray(self.basis.T @ (self.assembly.stiffness @ self.basis))

    @cached_property
    def damping(self) -> Array:
        """Zᵀ D Z (n, n)."""
        viscous = self.assembly.viscous
        return np.zeros_like(self.mass) if viscous is None else np.asarray(self.basis.T @ (viscous @ self.basis))

    @cached_property
    def driven(self) -> bool:
        """Whether loads or given motions change in time."""
        if self._base is None:
            return False
        times = self._base * _SAMPLES
        loads = self.assembly.loads(times)
        given = np.array([self.assembly.imposed(t) for t in times])
        return bool(np.ptp(loads, axis=0).any() or np.ptp(given, axis=0).any())

    def check_period(self, name: str, given: Any) -> None:
        """UserError where the loads and given motions of a driven system do not have the period."""
        base = self._base
        assert base is not None
        times = base * (_SAMPLES + 0.011)
        for what in (self.assembly.loads, lambda at: np.array([self.assembly.imposed(t) for t in at])):
            one, other = what(times), what(times + base)
            size = np.abs(one).max(initial=0.0)
            if size > 0.0 and np.abs(other - one).max() > 1e-6 * size:
                raise UserError.parameter(name, given, "is not a period of the loads and given motions")

    def run(self, x: Array, period: float, amplitude: float = 1.0) -> Orbit:
        """The motion from x over the period T, s, of the loads `amplitude` times about their mean."""
        stepper, state = self._started(x, period, amplitude)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.located:
                u, v, steps = self._located(stepper, state)
            else:
                steps = stepper.bare_steps(state, self.steps)
                if len(steps.u) < self.steps:
                    raise UserError(f"the step after {len(steps.u)} of {self.steps} of the period failed", FAILURE)
                u, v = np.concatenate([state.u[None], steps.u]), np.concatenate([state.v[None], steps.v])
        if not np.isfinite(u[-1]).all():
            raise UserError("the motion does not stay finite", FAILURE)
        parts = [self._inner @ u[-1], self._inner @ v[-1]]
        if steps is not None:
            parts.append(steps.spring_traction[-1][self._springs])
            self._refuse_impacts(steps)
        gaps = self._touch.gaps(u @ self.assembly.contact.basis.T)
        return Orbit(x, np.concatenate(parts), period, u, v, gaps, steps)

    def jacobian(self, orbit: Orbit, amplitude: float = 1.0) -> Array:
        """∂Φ/∂x (s, s) along an orbit."""
        x = orbit.start
        if self.differences:
            sizes = np.repeat([np.abs(orbit.u).max(), np.abs(orbit.v).max()], self.size)
            if self._springs.size:
                assert orbit.steps is not None
                sizes = np.append(sizes, np.full(self._springs.size, np.abs(orbit.steps.spring_traction).max()))
            sizes = _DIFFERENCE * np.where(sizes > 0.0, sizes, 1.0)
            columns = [
                (self.run(x + e, orbit.period, amplitude).end - self.run(x - e, orbit.period, amplitude).end)
                / (2.0 * size)
                for e, size in zip(np.diag(sizes), sizes, strict=True)
            ]
            return np.array(columns).T
        from arlequin.orbits._monodromy_kernels import monodromy

        laws, steps = self.assembly.laws, orbit.steps
        assert steps is not None
        step, theta = orbit.period / self.steps, self._scheme.theta
        rows = np.ascontiguousarray(self.assembly.contact.basis @ self.basis)
        matrix = self.mass + theta * step * self.damping + (theta * step) ** 2 * self.stiffness
        right = np.concatenate([-theta * step * self.stiffness, self.mass, rows.T], axis=1)
        found = scipy.linalg.solve(matrix, right, assume_a="pos")
        by_state, by_impulse = np.ascontiguousarray(found[:, : 2 * self.size]), found[:, 2 * self.size :]
        table, kernels = laws.table(laws.tangential_compliance)
        return np.asarray(
            monodromy(
                step, theta, by_state, np.ascontiguousarray(by_impulse), rows, table, kernels, orbit.gaps,
                np.ascontiguousarray(orbit.v @ self.assembly.contact.basis.T), steps.impulse, steps.normal,
                steps.status,
            )
        )  # fmt: skip

    def project(self, u: Array, v: Array) -> Array:
        """The state x (s,) of fields u, v (d,), without tractions."""
        return np.concatenate([self._inner @ u, self._inner @ v, np.zeros(self._springs.size)])

    def energy(self, u: Array, v: Array) -> float:
        """Kinetic and stored energy of fields (d,), J."""
        gaps = self._touch.gaps(self.assembly.contact.basis @ u)
        return float(self.assembly.kinetic(v) + self.assembly.internal(u)[1] + self.assembly.laws.energy(gaps))

    def smallest_gaps(self, orbit: Orbit) -> Array:
        """The smallest gap (k,) over the period, m: of the cubic through gaps and rates in each step."""
        step = orbit.period / self.steps
        rate = step * (orbit.v @ self.assembly.contact.basis.T)[:, self._touch.first]
        g0, g1, r0, r1 = orbit.gaps[:-1], orbit.gaps[1:], rate[:-1], rate[1:]
        # g = g₀ + r₀ s + b s² + a s³
        b, a = 3.0 * (g1 - g0) - 2.0 * r0 - r1, r0 + r1 - 2.0 * (g1 - g0)
        with np.errstate(invalid="ignore", divide="ignore"):
            root = np.sqrt(np.maximum(b * b - 3.0 * a * r0, 0.0))
            s = np.clip(np.where(np.abs(b + root) > 0.0, -r0 / (b + root), 0.0), 0.0, 1.0)
        s = np.where(np.isfinite(s), s, 0.0)
        inner = g0 + s * (r0 + s * (b + s * a))
        return np.minimum(orbit.gaps.min(axis=0), inner.min(axis=0))

    @cached_property
    def _inner(self) -> Array:
        """(ZᵀZ)⁻¹Zᵀ (n, d): coordinates of fields."""
        return np.asarray(np.linalg.pinv(self.basis)) if self.assembly.constraints.shape[0] else self.basis.T

    def _started(self, x: Array, period: float, amplitude: float) -> tuple[Any, State]:
        """The stepper, driven by the stretched loads, and the state x at its start."""
        step, n = period / self.steps, self.size
        base = self._steppers.get(step)
        if base is None:
            base = self._scheme.prepare(self.assembly, step)
            self._steppers[step] = base
            while len(self._steppers) > _KEPT:
                self._steppers.popitem(last=False)
        assembly = _stretched(self, period, amplitude)
        if isinstance(base, SmallStepper):
            stepper: Any = base.driven_as(assembly)
        else:
            stepper = base
            stepper._assembly = assembly
        u, v = self.basis @ x[:n], self.basis @ x[n : 2 * n]
        dofs = assembly.imposed_dofs
        if dofs.size:
            now, after, before = (assembly.imposed(t) for t in (0.0, step, period - step))
            moved = assembly.imposes_displacement
            u[dofs] = np.where(moved, now, 0.0)
            v[dofs] = np.where(moved, (after - before) / (2.0 * step), now)
        state = stepper.start(u, v)
        if self._springs.size:
            traction = np.zeros(assembly.laws.row_count)
            traction[self._springs] = x[2 * n :]
            assembly.laws.store_spring_traction(state.history, traction, self._touch.tangents)
        return stepper, state

    def _located(self, stepper: Any, state: State) -> tuple[Array, Array, None]:
        u, v = [state.u[None]], [state.v[None]]
        while state.n < self.steps:
            state, batch = stepper.advance(state, self.steps - state.n)
            u.append(batch.u)
            v.append(batch.v)
        return np.concatenate(u), np.concatenate(v), None

    def _refuse_impacts(self, steps: LoopSteps) -> None:
        """UserError where a multiplier on the velocity acts in a part of the steps alone: its impacts fall on steps."""
        laws = self.assembly.laws
        rigid = (laws.level == 2) & (laws.compliance == 0.0)
        acts = steps.status[:, rigid] != OPEN
        if rigid.any() and (acts.any(axis=0) & ~acts.all(axis=0)).any():
            raise UserError(
                "impacts of a rigid contact fall on whole steps, and the motion jumps with them: take "
                'Theta(0.5, events="locate"), Unilateral(level="gap") or a layer'
            )

    def stretched(self, numbers: Array, substeps: int, amplitude: float) -> Array:
        """Loads (t, d), N, at the instants number/(N substeps) of the period."""
        key = round(float(numbers[0])), numbers.size * substeps
        if key not in self._drive:
            base = 1.0 if self._base is None else self._base
            self._drive[key] = self.assembly.loads(numbers / (self.steps * substeps) * base * self.periods)
        found = self._drive[key]
        return found if amplitude == 1.0 else self.mean_load + amplitude * (found - self.mean_load)

    @property
    def mean_load(self) -> Array:
        """Mean of the loads over the period (d,), N."""
        if self._mean is None:
            base = 1.0 if self._base is None else self._base
            self._mean = self.assembly.loads(base * np.arange(self.steps) / self.steps).mean(axis=0)
        return self._mean

    def given(self, phase: float, amplitude: float) -> Array:
        """Given motions (p,) at a phase of the period in [0, 1]."""
        base = 1.0 if self._base is None else self._base
        values = self.assembly.imposed(phase * base * self.periods)
        if amplitude == 1.0:
            return values
        mean = np.mean([self.assembly.imposed(base * s) for s in np.arange(64) / 64.0], axis=0)
        return np.asarray(mean + amplitude * (values - mean))


def _stretched(own: PeriodMap, period: float, amplitude: float) -> Assembly:
    """A copy of the assembly whose loads and given motions are those of a period map."""
    found, steps = copy(own.assembly), own.steps

    def loads(times: Array) -> Array:
        numbers = times / period * steps
        whole = numbers.size < 2 or numbers[1] - numbers[0] > 0.5
        return own.stretched(np.round(numbers) if whole else np.round(3.0 * numbers), 1 if whole else 3, amplitude)

    vars(found)["loads"] = loads
    vars(found)["load"] = lambda t: loads(np.array([t]))[0]
    vars(found)["imposed"] = lambda t: own.given(t / period, amplitude)
    return found


def _check(assembly: Assembly, scheme: Theta) -> None:
    """UserError where no period map is made of a system."""
    if not is_small(assembly):
        what = "small linear systems: up to 500 coordinates of masses, bars, beams and modal parts, on fixed normals"
        raise UserError(f"periodic motions are for {what}, with constant friction: reduce others, arlequin.Modal")
    if assembly.massless.any():
        raise UserError('periodic motions: a part has nodes without mass: take mass="consistent"')
