"""The contact problem of one step: pairing, gaps and rates, impulses."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.energy import Work, WorkPaths
from arlequin.linalg.compliance import ComplianceOperator
from arlequin.models.types import Array
from arlequin.multilevel.laws.wear import WearState
from arlequin.multilevel.solvers.closing import Closing, persistence
from arlequin.multilevel.solvers.contact import STICK, ContactSolution, solve_contact
from arlequin.multilevel.solvers.elastic_stick import ElasticStick, FrictionLoss, gain
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.orthotropic import OrthotropicRows
from arlequin.multilevel.solvers.problem import ACTS, STICKS, FreeMotion
from arlequin.multilevel.solvers.reversal import solve_released
from arlequin.multilevel.solvers.sliding import SlidingStep
from arlequin.step.acceptance import RESIDUAL_LIMIT, warn_of_branches
from arlequin.step.batch import StepBatch
from arlequin.step.impulses import ContactImpulses
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.contact import Contact
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.internal_forces import BulkResponse

PASSES = 25  # pairings of a step at most
STUCK = 4  # pairings without halving of the change, after which partners are taken to oscillate
SETTLED = 1e-14  # change of the positions, relative to `Contact.sizes`, below which the pairing has converged


@dataclass(frozen=True)
class ContactMotion:
    """Motion of the rows of the contact's basis in a step without contact impulses, all (q,).

    displacement (m), velocity (m/s): at the start; end_displacement, end_velocity: at the end; mean_offset: added to
    the end velocity it gives (u₁ − u₀)/(λΔt), which is 0 where contact persists; velocity_before: before the impulses,
    where that is not the one at the start.
    """

    displacement: Array
    velocity: Array
    end_displacement: Array
    end_velocity: Array
    mean_offset: Array
    velocity_before: Array | None = None

    @classmethod
    def of(
        cls, displacement: Array, velocity: Array, y: Array, weight: float, step: float, shift: Array | None = None
    ) -> Self:
        """From the unknown y = (1 − λ) v₀ + λ v₁ (q,), λ the weight, with u₁ = u₀ + s + Δt y, s the shift (q,)."""
        earlier = (1.0 / weight - 1.0) * velocity
        end_velocity = y / weight - earlier
        if shift is None:
            return cls(displacement, velocity, displacement + step * y, end_velocity, earlier)
        offset = earlier + shift / (weight * step)
        return cls(displacement, velocity, displacement + shift + step * y, end_velocity, offset)


@dataclass(frozen=True)
class VelocityCorrection:
    """Change dv (d,), m/s, of the end velocity by impulses Q (r,), N·s, on the kinematics there, and its works, J;
    reaction (p,), N·s: of the imposed motions."""

    kinematics: ContactKinematics
    dv: Array
    impulse: Array
    reaction: Array
    work: Work = field(default_factory=Work)


@dataclass(frozen=True)
class ContactStep:
    """The kinematics on which the impulses of a step act, and the impulses; time (s) turns these into forces.

    springs: elastic stick of friction, if any. persistent (r,): rows of persistent contact on normals that may rotate:
    their forces work on the displacements (docs/theory/contact.md). delassus_diagonal (r,): W_kk of the rows, 0 of
    distant points. gaps_from_history: whether the layers' gaps at the end are those of the solution's history (see
    `PointLaws.carry_gaps`) and not those of the kinematics.
    """

    kinematics: ContactKinematics
    solution: ContactSolution
    time: float
    springs: ElasticStick | None = None
    persistent: NDArray[np.bool_] = field(kw_only=True)
    delassus_diagonal: Array = field(kw_only=True)
    gaps_from_history: bool = field(default=False, kw_only=True)

    @property
    def impulse(self) -> Array:
        """The impulses on the rows of the basis (q,), N·s."""
        return self.kinematics.apply_local_transposed(self.solution.impulse)

    def stored(self, laws: PointLaws, u: Array) -> Any:
        """Energy stored by the laws at the end, at u (d,), that of elastic stick included, J."""
        gaps = self.kinematics.gaps(self.kinematics.basis_product(u))
        gaps = laws.layer_gaps(self.solution.history, gaps) if self.gaps_from_history else gaps
        history = self.solution.history if laws.memory else None
        return laws.stored_energy(gaps, None if self.springs is None else self.springs.after, history)

    def loss(self, du: Array, theta: float, impulse: Array | None = None) -> FrictionLoss | None:
        """Friction loss with elastic stick under the motion du (d,), by the mean impulses (r,) if they differ."""
        if self.springs is None:
            return None
        impulse = self.solution.impulse if impulse is None else impulse
        return self.springs.loss(impulse, self.kinematics.rates(du), self.time, theta)

    def slip(self, rows: WorkPaths) -> Array:
        """The slip (r,), m, from the paths of the rows."""
        return np.where(self.persistent, rows.du, rows.slip)

    @property
    def persistence(self) -> NDArray[np.int8]:
        """Flags (k,) of the contact that may persist in the next step, see docs/theory/contact.md."""
        solution = self.solution
        return persistence(solution.impulse[self.kinematics.first], solution.multiplier, solution.status, STICK)

    def held_rows(self) -> sp.csr_array:
        """Rows (h, q), on the basis, whose velocities do not depend on the impulses at constant statuses: the
        normal ones of multipliers that act, and the tangential ones of points that stick."""
        first, count, flags = self.kinematics.first, self.kinematics.rows, self.persistence
        stick_flag = (
            0 if self.springs is not None else STICKS
        )  # with elastic stick tangential velocities depend on the impulses
        chosen = np.repeat((flags & stick_flag) > 0, np.diff(np.append(first, count)))
        chosen[first] = (flags & ACTS) > 0
        local = self.kinematics.local
        return sp.csr_array((sp.eye_array(count, format="csr") if local is None else local)[np.flatnonzero(chosen)])

    def impulses(
        self, slip: Array, loss: FrictionLoss | None = None, projected: VelocityCorrection | None = None
    ) -> ContactImpulses:
        """Impulses of the contact as recorded; slip (r,): the path of friction, m; projected: impulses at the end."""
        solution = self.solution
        mean_impulses = ContactImpulses.of(
            self.kinematics, solution.impulse, solution.status, slip, self.time, loss=loss
        )
        if projected is None:
            return mean_impulses
        at_end = ContactImpulses.of(projected.kinematics, projected.impulse, solution.status, 0.0 * slip, self.time)
        return mean_impulses.with_end_impulses(at_end)

    def ended(
        self,
        assembly: Assembly,
        state: State,
        motion: tuple[Array, Array],
        bulk: BulkResponse,
        work: Work,
        *,
        scheme_state: Any,
        multipliers: Array,
        path: Array,
        contact: ContactImpulses,
        newton: int = 1,
        projected: VelocityCorrection | None = None,
        reaction: Array | None = None,
    ) -> tuple[State, StepBatch]:
        """The state at the end of the step, and its recorded quantities.

        motion: u (d,), m, and v (d,), m/s, at the end; own: state of the scheme; multipliers (m,): impulses of the
        constraints; path (d,), m: displacement on which the mean forces work; contact: see `impulses`; newton:
        linearisations; reaction (p,): impulses of the imposed motions on their dofs, without those of `projected`.
        """
        if reaction is not None and projected is not None:
            reaction = reaction + projected.reaction
        solution = self.solution
        end = state.following(
            assembly,
            u=motion[0],
            v=motion[1],
            bulk=bulk,
            work=work,
            impulse=solution.impulse if projected is None else solution.impulse + projected.impulse,
            friction_work_per_mu=contact.friction_work_per_mu,
            history=solution.history,
            scheme_state=scheme_state,
            contact_flags=self.persistence,
        )
        batch = StepBatch.single(
            end,
            self.kinematics,
            work,
            contact,
            multipliers=multipliers,
            path=path,
            iterations=solution.iterations,
            residual=solution.residual,
            newton=newton,
            reactions=reaction,
        )
        return end, batch.with_friction(assembly, solution.history)


def solve_contact_step(
    contact: Contact,
    compliance: ComplianceOperator,
    motion: ContactMotion,
    *,
    gap_per_velocity: float,
    step: float,
    theta: float,
    history: Array,
    guess: Array,
    scale: float = 1.0,
    static: bool = False,
    worn: WearState | None = None,
    persistence: NDArray[np.int8] | None = None,
    sticks: NDArray[np.int8] | None = None,
    search_displacement: Array | None = None,
    repeated: bool = False,
) -> ContactStep:
    """Pairing and impulses of one step; scale × compliance: velocity at the end by an impulse.

    A point counts as closed where its gap at the predicted middle of the step, u₀ + ½ Δt v₀, is not positive but for
    round-off. The impulses act on the kinematics at the middle of the step that they lead to (statics: at its end):
    pairing and solution alternate until the positions agree, so that the forces have no moment there. If the closest
    partner oscillates (two are equally close), the points keep their last partners and positions on them, so that the
    forces still have no moment. Fixed pairings need one pass. Forces that are undetermined on a rigid part are those of
    the stabilised form: closest to the guess.

    gap_per_velocity, s: change of the gap at the end of the step by a change of the velocity there, θΔt of the
    θ-scheme; step Δt, s; theta: weight of the end of the step in the mean forces; history of the laws, guess (r,), N·s,
    and persistence (k,), flags of the contact that may persist (docs/theory/contact.md): those of `State`; static: a
    load step; worn: wear of the points; sticks (k,): flags of sticking for the friction laws, of schemes without
    persistent contact; search_displacement (q,), m: end of a load step by the previous pass, for the first pairing;
    repeated: whether the guess is the solution of a previous pass of the same step: points that it releases at a
    reversal (see `arlequin.multilevel.solvers.closing`) stay released while they reverse, as the set of released points
    depends on forces that may not be unique. For an example see docs/how-to/scheme.md.
    """
    laws, time = contact.laws, 1.0 if static else step

    def end_displacement(solution: ContactSolution, kinematics: ContactKinematics) -> Array:
        velocity_change = compliance.move(kinematics.apply_local_transposed(solution.impulse))
        return motion.end_displacement + gap_per_velocity * scale * velocity_change

    if not contact.count:
        kinematics = contact.kinematics(motion.displacement)
        return ContactStep(
            kinematics,
            ContactSolution.none(history),
            time,
            persistent=np.zeros(0, dtype=bool),
            delassus_diagonal=np.zeros(0),
        )
    middle = motion.displacement if static else motion.displacement + 0.5 * step * motion.velocity
    middle = middle if search_displacement is None else search_displacement
    kinematics = contact.kinematics(middle, worn=worn)
    closed = (
        np.zeros(contact.count, dtype=bool)
        if static
        else contact.closed(kinematics.gaps(middle, 0.5), step * motion.velocity, persistence)
    )
    sliding = None
    if laws.state_dependent:
        before = motion.velocity if motion.velocity_before is None else motion.velocity_before
        rates = np.zeros(kinematics.rows) if static else kinematics.relative_velocities(before, step)
        sliding = laws.sliding(history, laws.slip_size(rates), persistence if sticks is None else sticks)
    least_change, stalled, keep_partners = np.inf, 0, False
    iterations, singular, start_history = 0, False, history
    for pairing in range(PASSES):
        layer_gap_excess = None
        if not contact.fixed and laws.has_regular:
            gaps_before = kinematics.gaps(motion.displacement, 1.0)
            if static or motion.velocity_before is not None:
                history = laws.with_gaps(start_history, gaps_before)
            else:
                history, layer_gap_excess = laws.carry_gaps(start_history, gaps_before)
        subset = contact.subset(np.flatnonzero((closed | laws.acts_when_open) & kinematics.paired))
        spring_traction = laws.spring_traction(history, kinematics.tangents) if laws.has_elastic_stick else None
        delassus = kinematics.delassus(compliance, subset.rows)
        delassus = delassus if scale == 1.0 else scale * delassus
        closing = None if static else _closing(contact, kinematics, motion, step, gap_per_velocity, persistence)
        gap_free = kinematics.gaps(motion.end_displacement)
        if layer_gap_excess is not None and closing is not None:
            gap_free = gap_free + layer_gap_excess
            closing.shift[kinematics.first[laws.level == 1]] -= layer_gap_excess[laws.level == 1]
        free = FreeMotion(
            delassus, gap_per_velocity, gap_free[subset.points],
            kinematics.relative_velocities(motion.end_velocity, time)[subset.rows],
            closed[subset.points], np.inf if static else step, theta, time,
        )  # fmt: skip
        slip_free = np.zeros(0)
        if spring_traction is not None or sliding is not None:
            slip_free = kinematics.apply_local(motion.end_displacement - motion.displacement)[subset.rows]
        table = np.zeros((3, subset.rows.size)) if closing is None else closing.table(subset.rows)
        if sliding is not None and not static:
            creeping = np.repeat(subset.laws.creeps, np.diff(subset.laws.first))
            creeping[subset.laws.first[:-1]] = False
            table[[0, 2]] = np.where(creeping, slip_free / gap_per_velocity - free.rate_free, table[[0, 2]])
        solve_subset = partial(
            solve_contact,
            motion=free,
            history=history[subset.histories],
            slip_free=None if spring_traction is None else slip_free,
            spring_traction=None if spring_traction is None else spring_traction[subset.rows],
            closing=table,
        )
        if sliding is None:

            def solved(
                laws: PointLaws,
                solve_subset: Any = solve_subset,
                subset: Any = subset,
                initial: Array = guess[subset.rows],
            ) -> Any:
                solution = solve_subset(laws, guess=initial, method=contact.method)
                if not solution.residual <= RESIDUAL_LIMIT and initial.any():
                    # far from the solution the iterations can cycle: try from zero impulses
                    from_zero = solve_subset(laws, guess=np.zeros(subset.rows.size), method=contact.method)
                    solution = from_zero if from_zero.residual < solution.residual else solution
                if solution.singular and contact.indeterminate(subset.points):
                    solution = solve_subset(
                        laws, guess=solution.impulse, method=replace(contact.method, stabilised=True)
                    )
                return solution

            released = solve_released(solved, subset.laws, guess[subset.rows], free, table) if repeated else None
            partial_solution = (
                solved(subset.laws) if released is None or not released.residual <= RESIDUAL_LIMIT else released
            )
        else:
            scaled = OrthotropicRows.of(subset.laws, kinematics.tangents[subset.points])
            if scaled is not None:
                solve_subset.keywords["motion"], solve_subset.keywords["closing"] = (
                    scaled.motion(free),
                    scaled.rates(table),
                )

            def with_coefficients(
                laws: PointLaws, guess: Array, solve_subset: Any = solve_subset, scaled: OrthotropicRows | None = scaled
            ) -> ContactSolution:
                solve = partial(solve_subset, method=contact.method)
                if scaled is None:
                    return solve(laws, guess=guess)
                return scaled.solve(lambda laws, at: solve(laws, guess=at), laws, guess)

            sliding_step = SlidingStep(subset.laws, sliding.of(subset.points), slip_free)
            partial_solution = sliding_step.solve(
                with_coefficients, free, history[subset.histories], table, guess[subset.rows]
            )
        iterations += partial_solution.iterations
        # a pass whose guess is the solution factors no system: its flag is not significant
        singular = partial_solution.singular if partial_solution.iterations else singular
        ill_conditioned = not partial_solution.residual <= RESIDUAL_LIMIT and undetermined(
            delassus, partial_solution.impulse
        )
        solution = replace(
            subset.expand(partial_solution, laws, history), iterations=iterations, singular=singular or ill_conditioned
        )
        if contact.fixed:
            break
        end = end_displacement(solution, kinematics)
        new_middle = end if static else 0.5 * (motion.displacement + end)
        change = (np.abs(new_middle - middle) / contact.sizes).max(initial=0.0)
        if change <= SETTLED:
            break
        if pairing == PASSES - 1:  # the impulses act on the kinematics of their solution
            break
        least_change, stalled = (change, 0) if change <= 0.5 * least_change else (least_change, stalled + 1)
        keep_partners = keep_partners or stalled == STUCK or pairing == PASSES // 2
        middle, guess, repeated = new_middle, solution.impulse, True
        kinematics = contact.kinematics(middle, kinematics if keep_partners else None, worn)
    persistent = np.zeros(kinematics.rows, dtype=bool) if closing is None else closing.persistent
    delassus_diagonal = np.zeros(kinematics.rows)
    delassus_diagonal[subset.rows] = np.diag(delassus)
    if sliding is not None:
        slip = laws.slip_size(kinematics.apply_local(end_displacement(solution, kinematics) - motion.displacement))
        pressure = np.maximum(solution.impulse[kinematics.first], 0.0) / (time * laws.area)
        rates = slip / time if not static else 0.0 * slip
        sliding = replace(sliding, slip_rate=rates, stuck=solution.status == STICK)
        if not static:
            warn_of_branches(laws, solution.impulse[kinematics.first], delassus_diagonal, gap_per_velocity / step)
        laws.advance_sliding(solution.history, sliding, slip, pressure, step)
    springs = None
    if spring_traction is not None and solution.spring_traction is not None:
        laws.store_spring_traction(solution.history, solution.spring_traction, kinematics.tangents)
        springs = ElasticStick(
            laws, spring_traction, solution.spring_traction, gain(laws, theta, np.inf if static else step)
        )
    return ContactStep(
        kinematics,
        solution,
        time,
        springs,
        persistent=persistent,
        delassus_diagonal=delassus_diagonal,
        gaps_from_history=layer_gap_excess is not None,
    )


def _closing(
    contact: Contact,
    kinematics: ContactKinematics,
    motion: ContactMotion,
    step: float,
    gap_per_velocity: float,
    persistence: NDArray[np.int8] | None,
) -> Closing:
    """The closing conditions of the step."""
    start = kinematics.relative_velocities(
        motion.velocity if motion.velocity_before is None else motion.velocity_before, step
    )
    mean = kinematics.apply_local(motion.mean_offset)
    if kinematics.opening is not None:
        mean = mean + kinematics.normal(kinematics.opening * (1.0 / gap_per_velocity - 1.0 / step))
    gaps, explicit = kinematics.gaps(motion.displacement, 1.0), motion.velocity_before is not None
    return Closing.of(contact.laws, start, mean, gaps, contact.rotating, persistence, explicit)


def undetermined(delassus: Array, impulse: Array) -> bool:
    """Whether round-off of the impulses that act, ε cond(W) of their rows scaled to W_kk = 1, exceeds the limit.

    delassus W (r, r), impulse (r,).
    """
    acting = (impulse != 0.0) & (np.diag(delassus) > 0.0)
    if not acting.any() or not np.isfinite(impulse).all():
        return False
    scale = 1.0 / np.sqrt(np.diag(delassus)[acting])
    eigenvalues = np.linalg.eigvalsh(delassus[np.ix_(acting, acting)] * scale[:, None] * scale)
    return bool(eigenvalues[0] * RESIDUAL_LIMIT <= np.finfo(float).eps * eigenvalues[-1])
