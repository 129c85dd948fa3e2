"""A step of the generalised-α family: of a linear bulk at once, of a nonlinear one by Newton's iterations.

Steps of the generalised-α family.

The generalised-α family: Newmark, HHT-α, modified mean acceleration, generalised-α.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from arlequin.energy import BulkWork, Forces, WorkPaths
from arlequin.linalg.line_search import Watch, search
from arlequin.models.checks import positive, within
from arlequin.models.errors import UserError
from arlequin.models.linalg.matrix import symmetric_part
from arlequin.models.part import Constrained, Nonlinear, PathDependent
from arlequin.models.types import Array
from arlequin.schemes.cut_back import CutBackStepper
from arlequin.solvers.condensed import CheckpointedColumns, Condensed, Predictor
from arlequin.solvers.contact_step import ContactStep, Motion, solve_contact_step
from arlequin.solvers.initial_state import start_accelerations
from arlequin.solvers.linear_step import Solved
from arlequin.solvers.tangents import Tangents
from arlequin.solvers.velocity_projection import VelocityProjection
from arlequin.step.acceptance import Failed, accept, accept_cells, accept_shape
from arlequin.step.batch import StepBatch, merge_time_steps
from arlequin.step.imposed import reaction
from arlequin.step.scheme import Stepper
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import Memory
from arlequin.system.lengths import displacement_per_unit
from arlequin.system.locate import locate_maximum

_PASSES = 40  # linearisations of a step at most
_EXACT, _ENOUGH = 1e-14, 1e-11  # momentum missing, of the largest impulse: done; done where it falls no further
_STUCK = 2  # passes that do not halve it: it falls no further


class Family(Protocol):
    """The constants of a scheme."""

    @property
    def alpha_m(self) -> float: ...

    @property
    def alpha_f(self) -> float: ...

    @property
    def beta(self) -> float: ...

    @property
    def gamma(self) -> float: ...


@dataclass(frozen=True)
class Push:
    """What drives a step: impulse (d,), N·s, all but that of the bulk at its end; shift (d,): u₁ − u₀ − Δt y, m.

    rest (m,): what C y has to be, given (p,): what y is on the imposed dofs, m/s; t (s): the end.
    """

    impulse: Array
    shift: Array
    rest: Array
    given: Array | None
    t: float


class AlphaBulk:
    """The matrix and the contact of a step, A = (1 − α_m) M + (1 − α_f)(γΔt D + βΔt² K), for any K."""

    def __init__(self, assembly: Assembly, step: float, scheme: Family) -> None:
        self.assembly, self.step = assembly, step
        self.mix = scheme.beta / scheme.gamma
        self.scale = 1.0 - scheme.alpha_m
        self.gap_per_velocity = (1.0 - scheme.alpha_f) * scheme.beta * step  # of the bulk forces at the end
        self._theta = min(scheme.gamma, 1.0)
        rest = self.scale * assembly.mass
        if assembly.viscous is not None:
            rest = rest + (1.0 - scheme.alpha_f) * scheme.gamma * step * assembly.viscous
        self.rest = sp.csr_array(rest)

    def solve_contact_step(
        self, state: State, condensed: Condensed, rows: tuple[Array, Array], guess: Array
    ) -> ContactStep:
        """The contact problem; rows: what y and the shift are on the rows of the contact's basis (q,)."""
        basis, step, mix = self.assembly.contact.basis, self.step, self.mix
        place, speed, (y, shift) = basis @ state.u, basis @ state.v, rows
        earlier = (1.0 / mix - 1.0) * speed
        return solve_contact_step(
            self.assembly.contact,
            condensed.compliance,
            Motion(place, speed, place + shift + step * y, y / mix - earlier, earlier + shift / (mix * step)),
            gap_per_velocity=mix * step,
            step=step,
            theta=self._theta,
            history=state.history,
            worn=state.worn,
            guess=guess,
            lasts=state.lasts,
            scale=self.scale,
        )


class LinearAlpha(CheckpointedColumns):
    """A y = push − (1 − α_f) βΔt [f_int(u₀) + K (u₁ − u₀ − Δt y) + D (1 − 1/λ) v₀] + λ (1 − α_m)(Cᵀφ + BᵀP)."""

    def __init__(self, assembly: Assembly, step: float, scheme: Family) -> None:
        self._bulk = bulk = AlphaBulk(assembly, step, scheme)
        self._condensed = Condensed(
            assembly, sp.csr_array(bulk.rest + bulk.gap_per_velocity * step * assembly.stiffness)
        )

    def solve(self, state: State, push: Push) -> Solved:
        """The step from the state."""
        bulk, condensed = self._bulk, self._condensed
        assembly, mix = bulk.assembly, bulk.mix
        resisting = state.internal + assembly.stiffness @ push.shift
        if assembly.viscous is not None:
            resisting += (1.0 - 1.0 / mix) * (assembly.viscous @ state.v)
        free = condensed.predict(push.impulse - bulk.gap_per_velocity * resisting, push.rest, push.given)
        rows = free.contact, assembly.contact.basis @ push.shift
        meeting = bulk.solve_contact_step(state, condensed, rows, state.impulse)
        y, multipliers = condensed.correct(free, mix * bulk.scale * meeting.impulse)
        return Solved(y, multipliers / (mix * bulk.scale), meeting, 1, np.zeros(0))


class NewtonAlpha:
    """push − (1 − α_m) M y − (1 − α_f) βΔt [f_int(u₁) + D v₁] + λ (1 − α_m)(Cᵀφ + BᵀP) = 0, by Newton's iterations.

    The tangent is that of each pass, on one symbolic analysis; contact and constraints hold after each. Where it is
    not positive definite, that of the start serves. A pass goes halfway where a cell would turn inside out; where whole
    changes lead nowhere (`Watch`), they go on from the smallest one so far, each as far as `search` says.
    """

    def __init__(self, assembly: Assembly, step: float, scheme: Family) -> None:
        if assembly.massless.any():
            raise UserError('mass="redistributed" is for parts of small rotations: take "consistent" or "lumped"')
        self._bulk = bulk = AlphaBulk(assembly, step, scheme)
        self._tangents = Tangents(assembly, bulk.rest, bulk.gap_per_velocity * step)
        rest = np.zeros(assembly.dof_count)
        self._condensed = Condensed(assembly, self._matrix(rest, assembly.fresh()))
        self._rounding, self._lengths = abs(assembly.stiffness), displacement_per_unit(assembly)

    def solve(self, state: State, push: Push) -> Solved:
        """The step from the state."""
        bulk = self._bulk
        assembly, basis = bulk.assembly, bulk.assembly.contact.basis
        y, sound = state.v.copy(), state.v
        if push.given is not None:
            y[assembly.imposed_dofs] = push.given
        shift = basis @ push.shift
        found: Solved | None = None
        lowest, stuck, guess = np.inf, 0, state.impulse
        watch, best, searching = Watch(), y, False
        for passes in range(_PASSES):
            missing, size = self._missing(state, push, y)
            if not np.isfinite(missing).all():
                found, y = None, 0.5 * (sound + y)
                continue
            sound = y
            if found is not None:
                impulse = self._impulse(found)
                left = np.abs(((missing + impulse) / self._lengths)[assembly.free]).max(initial=0.0)
                size = max(size, np.abs(impulse / self._lengths).max(initial=0.0))
                lowest, stuck = (left, 0) if left <= 0.5 * lowest else (lowest, stuck + 1)
                if left <= _EXACT * size or (stuck >= _STUCK and left <= self._enough(state, push, y, size)):
                    return found
            self._linearise(state, push, y)
            free = self._free(push, y, missing)
            meeting = bulk.solve_contact_step(state, self._condensed, (basis @ y + free.contact, shift), guess)
            change, multipliers = self._condensed.correct(free, bulk.mix * bulk.scale * meeting.impulse)
            guess, length = meeting.solution.impulse, float(np.linalg.norm(self._lengths * change))
            found = Solved(y + change, multipliers / (bulk.mix * bulk.scale), meeting, passes + 1, np.zeros(0))
            if not searching and watch.least(length):
                best = y
            elif not searching and watch.lost(length):
                found, y, searching = None, best, True
                continue
            if searching:
                share = search(partial(self._left, state, push, y, change, self._impulse(found)), length)
                found, y = found if share == 1.0 else None, y + share * change
            else:
                y = found.y
        where = locate_maximum(assembly, np.where(assembly.free, missing, 0.0))
        raise Failed(f"the step to t = {push.t:.6g} s did not converge in {_PASSES} passes ({where} misses most)")

    def state_dict(self) -> None:
        """Nothing: every step begins with a tangent of its own."""

    def load_state_dict(self, state: None) -> None:
        """Nothing."""

    def _free(self, push: Push, y: Array, missing: Array) -> Predictor:
        """The change from y without contact, where so much momentum (d,) is missing."""
        given = None if push.given is None else push.given - y[self._bulk.assembly.imposed_dofs]
        return self._condensed.predict(missing, push.rest - self._bulk.assembly.constraints @ y, given)

    def _impulse(self, found: Solved) -> Array:
        """λ (1 − α_m)(Cᵀφ + BᵀP) (d,), N·s."""
        return (
            self._bulk.mix
            * self._bulk.scale
            * self._bulk.assembly.generalised_force(found.multipliers, found.meeting.impulse)
        )

    def _left(self, state: State, push: Push, y: Array, change: Array, impulse: Array, share: float) -> float:
        """The size of what the tangent would still change at a share of a change, under these impulses (d,)."""
        end = y + share * change
        missing = self._missing(state, push, end)[0] + impulse
        if not np.isfinite(missing).all():
            return np.inf
        return float(np.linalg.norm(self._lengths * self._free(push, end, missing).y))

    def _missing(self, state: State, push: Push, y: Array) -> tuple[Array, float]:
        """What of the momentum is missing at y (d,), N·s, nan where a cell is inside out; the largest share in it."""
        bulk, viscous = self._bulk, self._bulk.assembly.viscous
        u = state.u + push.shift + bulk.step * y
        response = bulk.assembly.respond(u, state.memory, bulk.step)
        if max(response.inverted, default=-1) >= 0:
            return np.full_like(y, np.nan), 0.0
        resisting = response.force
        if viscous is not None:
            resisting = resisting + viscous @ (state.v + (y - state.v) / bulk.mix)
        inertia, impulse = bulk.scale * (bulk.assembly.mass @ y), bulk.gap_per_velocity * resisting
        size = max(float(np.abs(share / self._lengths).max()) for share in (push.impulse, inertia, impulse))
        return push.impulse - inertia - impulse, size

    def _enough(self, state: State, push: Push, y: Array, size: float) -> float:
        """What may be missing where it falls no further: the forces feel the round-off of the displacements."""
        u = np.abs(state.u + push.shift + self._bulk.step * y)
        rounding = 4.0 * float(np.finfo(float).eps) * float((self._rounding @ u / self._lengths).max(initial=0.0))
        return _ENOUGH * size + self._bulk.gap_per_velocity * rounding

    def _matrix(self, u: Array, memory: Memory) -> sp.csr_array:
        parts, step = self._bulk.assembly.parts, self._bulk.step

        def tangent(i: int, at: slice) -> sp.csr_array:
            part = parts[i]
            if isinstance(part, PathDependent):
                return symmetric_part(part.tangent(u[at], memory[i], step))
            assert isinstance(part, Nonlinear)
            return part.tangent(u[at])

        return self._tangents.matrix(tangent)

    def _linearise(self, state: State, push: Push, y: Array) -> None:
        """A at the end of the step by y; where that is not positive definite (a guess far off), at its start."""
        for u in (state.u + push.shift + self._bulk.step * y, state.u):
            try:
                matrix = self._matrix(u, state.memory)
                self._condensed = Condensed(self._bulk.assembly, matrix, former=self._condensed)
            except UserError:
                continue
            return
        where = locate_maximum(self._bulk.assembly, np.where(self._bulk.assembly.free, np.abs(y), 0.0))
        raise Failed(
            f"the step to t = {push.t:.6g} s has no positive definite tangent: it buckles ({where} is fastest)"
        )


@dataclass(frozen=True)
class _Carried:
    """What a step hands to the next, all (d,) but rest (m,); forces in N, M a = F + Q.

    lead: (½ − λ) a, m/s², with λ = β/γ. load: the external forces at t_n. internal, damping, external: recursions of
    the averaged bulk forces, F = external − internal − damping; pulled: that of Q = Cᵀφ + Bᵀr. momentum: the sum of the
    impulses, not M v, and rest: Σ C y of the steps so far, m/s, for the reason for which the θ-scheme has them: the
    round-off of a solve, the same in each step, does not add up.
    """

    lead: Array
    load: Array
    internal: Array
    damping: Array
    external: Array
    pulled: Array
    momentum: Array
    rest: Array

    @property
    def bulk(self) -> Array:
        """F (d,), N."""
        return self.external - self.internal - self.damping


class AlphaStepper(Stepper):
    """Generalised-α with the unknown y = (1 − λ) v₀ + λ v₁, λ = β/γ, so that u₁ = u₀ + Δt y + Δt² (½ − λ) a₀:

        (1 − α_m) M y = (1 − α_m) p₀ + λΔt (1 − α_m − γ) F₀ + βΔt [(1 − α_f) F(t₁; u₁, v₁) + α_f F(t₀)]
            + λ (1 − α_m) (Cᵀφ + BᵀP)

    with the momentum p₀, the carried bulk forces F₀ and the impulses φ, P = Δt [(1 − γ) Q₀ + γ Q₁]. No acceleration
    enters but by its forces (and a₀ in u₁, unless β = γ/2), and p₁ = p₀ + Δt [(1 − γ) F₀ + γ F₁] + Cᵀφ + BᵀP: what one
    solve lacks the next one gets. C v₁ = 0 makes C y = (1 − λ) C v₀ in the first step, then 0: as C y = −rest.
    """

    def __init__(self, assembly: Assembly, step: float, scheme: Family) -> None:
        self.step = step
        self._assembly = assembly
        self._scheme = scheme
        self._mix = scheme.beta / scheme.gamma
        self._bulk = (LinearAlpha if assembly.linear else NewtonAlpha)(assembly, step, scheme)
        self._moving = assembly.free & ~assembly.massless
        self._projection = VelocityProjection(assembly)

    def with_step(self, step: float) -> "AlphaStepper":
        """The same with another step, for nonlinear parts."""
        return AlphaStepper(self._assembly, step, self._scheme)

    def state_dict(self) -> Any:
        """What the steps' solution made so far."""
        return self._bulk.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        self._bulk.load_state_dict(state)

    def merge_substeps(self, batches: Sequence[StepBatch]) -> StepBatch:
        """Sub-steps as one step: impulses, works and paths of all."""
        return merge_time_steps(batches)

    def start(self, u: Array, v: Array) -> State:
        """The initial acceleration satisfies M a = F(0) + Cᵀφ + Bᵀr, C a = 0."""
        assembly, step, mix = self._assembly, self.step, self._mix
        bulk = assembly.respond(u, assembly.fresh(), 0.0)
        accept_cells(assembly, bulk, 0.0)
        internal = bulk.force
        kinematics = assembly.contact.kinematics(assembly.contact.basis @ u)
        gaps = kinematics.gaps(kinematics.basis_product(u))
        external = assembly.load(0.0)
        damping = assembly.viscous @ v if assembly.viscous is not None else np.zeros_like(u)
        contact = kinematics.apply_local_transposed(
            kinematics.normal(assembly.laws.area * assembly.laws.pressure(gaps))
        )
        force = external - internal - damping + kinematics.basis.T @ contact
        a, constraint, initial_impulse = start_accelerations(assembly, kinematics, force, (u, v), step)
        own = _Carried(
            lead=(0.5 - mix) * a,
            load=external,
            internal=internal,
            damping=damping,
            external=external,
            pulled=assembly.generalised_force(constraint, contact + initial_impulse),
            momentum=assembly.mass @ v,
            rest=(mix - 1.0) * (assembly.constraints @ v),
        )
        return State.first(assembly, u, v, bulk, gaps, kinetic=assembly.kinetic(v), own=own)

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One step."""
        assembly, scheme, step, own = self._assembly, self._scheme, self.step, state.own
        am, af, beta, gamma = scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma
        t1 = (state.n + 1) * step
        load = assembly.load(t1)

        # massless dofs have no forces left over: M a₀ = 0
        force = np.where(self._moving, own.bulk, -own.pulled)
        before = own.load - state.internal
        if assembly.viscous is not None:
            before = before - assembly.viscous @ state.v
        impulse = (1.0 - am) * own.momentum + self._mix * step * (1.0 - am - gamma) * force
        impulse += beta * step * ((1.0 - af) * load + af * before)
        shift = step**2 * own.lead
        solved = self._bulk.solve(state, Push(impulse, shift, -own.rest, self._given(state, t1), t1))
        u = state.u + (step * solved.y + shift)
        accept(solved.meeting.solution, u, t1, assembly=assembly)
        accept_shape(assembly, u, t1)
        return self._finish(state, solved, load)

    def _finish(
        self,
        state: State,
        solved: Solved,
        load: Array,
    ) -> tuple[State, StepBatch]:
        """The new state, the recursions of its forces, and the works of the step."""
        assembly, scheme, step, own = self._assembly, self._scheme, self.step, state.own
        am, af, gamma = scheme.alpha_m, scheme.alpha_f, scheme.gamma
        y, multipliers, meeting = solved.y, solved.multipliers, solved.meeting
        du, dv = step * y + step**2 * own.lead, (y - state.v) / self._mix
        u, v = state.u + du, state.v + dv
        bulk = assembly.respond(u, state.memory, step)
        accept_cells(assembly, bulk, (state.n + 1) * step)
        kinematics, contact = meeting.kinematics, meeting.solution
        momentum = assembly.mass @ v
        viscous = assembly.viscous
        damping_now, damping_end = (w * 0.0 if viscous is None else viscous @ w for w in (state.v, v))

        def share(end: Array, now: Array, before: Array) -> Array:
            return ((1.0 - af) * end + af * now - am * before) / (1.0 - am)

        def mean(before: Array, end: Array) -> Array:
            return (1.0 - gamma) * before + gamma * end

        def end_of(mean: Array, before: Array) -> Array:
            return (mean - (1.0 - gamma) * before) / gamma

        internal_share = share(bulk.force, state.internal, own.internal)
        damping_share = share(damping_end, damping_now, own.damping)
        external_share = share(load, own.load, own.external)
        mean_internal = mean(own.internal, internal_share)
        mean_damping = mean(own.damping, damping_share)
        mean_external = mean(own.external, external_share)
        pulled = assembly.generalised_force(multipliers, meeting.impulse)
        resisting = mean_internal + mean_damping - mean_external
        carried = _Carried(
            lead=end_of((0.5 - self._mix) * dv / step, own.lead),
            load=load,
            internal=internal_share,
            damping=damping_share,
            external=external_share,
            pulled=end_of(pulled / step, own.pulled),
            momentum=np.where(self._moving, own.momentum - step * resisting + pulled, momentum),
            rest=own.rest + assembly.constraints @ y,
        )
        impulses = (multipliers / step, meeting.impulse / step)
        given = reaction(assembly, lambda: (momentum - own.momentum) / step + resisting, impulses)
        forces = Forces(mean_internal, mean_damping, mean_external, given)
        path = 0.5 * step * (state.v + v)
        ways = WorkPaths.mean(du, path)
        loss, rows = meeting.loss(du, min(gamma, 1.0)), ways.on(kinematics)
        work = BulkWork.of(assembly, step, forces, multipliers, ways, du / step).works(
            step=step,
            rates=rows,
            kinematics=kinematics,
            contact=contact,
            stored_before=state.stored,
            stored_after=(bulk.stored, meeting.stored(assembly.laws, u)),
            loss=loss,
            plastic=bulk.dissipated,
            persistent=meeting.persistent,
        )
        found = self._projection.of(meeting, u, v)
        if found is not None:
            change = assembly.mass @ found.dv
            v, momentum = v + found.dv, momentum + change
            carried = replace(carried, momentum=carried.momentum + change)
            work.values += found.work.values
        work["kinetic"] = 0.5 * float(v @ momentum)
        return meeting.ended(
            assembly,
            state,
            (u, v),
            bulk,
            work,
            own=carried,
            multipliers=multipliers,
            path=path,
            contact=meeting.impulses(meeting.slip(rows), loss, found),
            newton=solved.newton,
            projected=found,
        )

    def _given(self, state: State, t: float) -> Array | None:
        """Values of y (p,) on the imposed dofs."""
        assembly, mix, dofs = self._assembly, self._mix, self._assembly.imposed_dofs
        if not dofs.size:
            return None
        values = assembly.imposed(t)
        from_displacement = (values - state.u[dofs]) / self.step - self.step * state.own.lead[dofs]
        from_velocity = mix * values + (1.0 - mix) * state.v[dofs]
        return np.where(assembly.imposes_displacement, from_displacement, from_velocity)


@dataclass(frozen=True)
class GeneralisedAlpha:
    """The family of schemes with acceleration:

        u₁ = u₀ + Δt v₀ + Δt² [(½ − β) a₀ + β a₁],    v₁ = v₀ + Δt [(1 − γ) a₀ + γ a₁]
        M [(1 − α_m) a₁ + α_m a₀] = (1 − α_f) F(t₁) + α_f F(t₀) + Q,    C v₁ = 0

    F the bulk forces, Q the forces of constraints and contact. Nonlinear parts give F(t₁) at u₁, by Newton's
    iterations, in parts of a step where it fails (`CutBackStepper`): nothing then bounds the energy, which finite
    rotations feed (`Theta` keeps it); what the mean force does beyond what is stored and dissipated is `scheme`. The
    unknown of contact is its impulse over the step,
    P = Δt [(1 − γ) r₀ + γ r₁], on which the laws act as in the θ-scheme with θ = γ (a discrete gradient for γ =
    1/2): the pair (β, γ) = (1/4, 1/2) then conserves energy with regular laws too. A point is closed when g(u₀ + ½
    Δt v₀) ≤ 0.

    Unconditionally stable on linear bulk for α_m ≤ α_f ≤ 1/2, γ ≥ 1/2, β ≥ γ/2. Order 2 if γ = 1/2 + α_f − α_m, else 1.
    Source: Newmark 1959; Hilber, Hughes & Taylor, Earthq. Eng. Struct. Dyn. 5 (1977) 283–292; Chung & Hulbert, J.
    Appl. Mech. 60 (1993) 371–375.
    """

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float

    def __post_init__(self) -> None:
        within("alpha_m", self.alpha_m, -1.0, 0.5)
        within("alpha_f", self.alpha_f, 0.0, 0.5)
        within("gamma", self.gamma, 0.5, 1.5)
        positive("beta", self.beta)
        # unconditional stability; for order 2 this is Chung and Hulbert's β ≥ 1/4 + (α_f − α_m)/2
        within("beta", self.beta, 0.5 * self.gamma, 2.0)

    @property
    def order(self) -> int:
        return 2 if abs(self.gamma - 0.5 - self.alpha_f + self.alpha_m) < 1e-12 else 1

    @property
    def static(self) -> bool:
        return False

    def prepare(self, assembly: Assembly, step: float) -> Stepper:
        for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
            if isinstance(own, Nonlinear) and (isinstance(own, Constrained) or own.viscous):
                raise UserError(
                    f"part '{part.name}': GeneralisedAlpha steps neither rigid parts nor viscous ones of finite "
                    "rotations: take Theta"
                )
        stepper = AlphaStepper(assembly, step, self)
        return stepper if assembly.linear else CutBackStepper(stepper)

    @classmethod
    def with_radius(cls, radius: float) -> "GeneralisedAlpha":
        """Chung and Hulbert's choice for the spectral radius at high frequency, 0 ≤ radius ≤ 1 (1: no loss)."""
        within("radius", radius, 0.0, 1.0)
        alpha_m = (2.0 * radius - 1.0) / (radius + 1.0)
        alpha_f = radius / (radius + 1.0)
        gamma = 0.5 - alpha_m + alpha_f
        return cls(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)


def Newmark(beta: float = 0.25, gamma: float = 0.5) -> GeneralisedAlpha:
    """Newmark(β, γ): the family without averaging. (1/4, 1/2) is the trapezoidal rule, which conserves energy."""
    return GeneralisedAlpha(0.0, 0.0, beta, gamma)


def HHT(alpha: float = -0.05) -> GeneralisedAlpha:
    """HHT-α, −1/3 ≤ α ≤ 0: forces averaged with −α, γ = 1/2 − α, β = (1 − α)²/4. Order 2."""
    within("alpha", alpha, -1.0 / 3.0, 0.0)
    return GeneralisedAlpha(0.0, -alpha, 0.25 * (1.0 - alpha) ** 2, 0.5 - alpha)


def ModifiedMeanAcceleration(alpha: float = -0.05) -> GeneralisedAlpha:
    """Newmark with γ = 1/2 − α, β = (1 − α)²/4, −1/3 ≤ α ≤ 0: HHT's parameters without its averaging of forces.

    Code_Aster's HHT with MODI_EQUI = NON. Order 1 where α < 0.
    """
    within("alpha", alpha, -1.0 / 3.0, 0.0)
    return GeneralisedAlpha(0.0, 0.0, 0.25 * (1.0 - alpha) ** 2, 0.5 - alpha)
