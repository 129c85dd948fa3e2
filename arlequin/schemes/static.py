"""Quasi-static load stepping."""

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from arlequin.energy import BulkWork, Forces, WorkPaths
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.laws.wear import WearState
from arlequin.solvers.condensed import DelegatedCheckpoint
from arlequin.solvers.equilibrium import Equilibrium
from arlequin.step.acceptance import accept, accept_cells, accept_shape
from arlequin.step.batch import StepBatch, merge_load_steps
from arlequin.step.imposed import reaction
from arlequin.step.scheme import Stepper
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import Memory

if TYPE_CHECKING:
    from arlequin.schemes.cut_back import CutBackStepper


@checked_call
@dataclass(frozen=True)
class Static:
    """Equilibrium at every step, without inertia and damping; `time` only parametrises loads and imposed motions:

        f_int(u) = f_ext(t) + Cᵀφ + Bᵀr,    C u = 0,    laws on the gap.

    Nonlinear parts are solved by Newton's iterations on their tangent, which must stay positive definite; a load step
    without convergence is halved (see `CutBackStepper`). Yield stresses are rate-independent.
    The run starts from an unloaded equilibrium, or from a former result (`System(from_result=…)`): from the equilibrium
    under the loads at t = 0 that follows its displacements; its velocities are left out. An `interference` of
    interfaces is closed over its ramp, or closed from the start where the result has the interface. Parts may be
    supported by contact, friction or weak springs alone; an unsupported part is reported with its motion. Works follow
    the trapezoidal rule over a step: its error in the work of contact laws, finite rotations and plastic flow is
    `scheme` (order 2 in the step).

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> mesh = aq.mesh.interval(0.0, 100.0, cells=10)
    >>> rod = aq.Bar("rod", mesh, steel, imposed={"left": {"x": 0.0}})
    >>> system = aq.System([rod], gravity=lambda t: 10.0 * t)  # m/s², grows from zero
    >>> result = aq.simulate(system, aq.Static(), duration=1.0, step=0.5)
    >>> result["part/rod"]["displacement"][:, -1, 0].values.round(12).tolist()  # ρ g L²/(2E) at t = 1 s, m
    [0.0, 0.000975, 0.00195]
    """

    order = 2
    static = True

    def prepare(self, assembly: Assembly, step: float) -> "StaticStepper | CutBackStepper":
        from arlequin.schemes.cut_back import CutBackStepper

        if (assembly.laws.level == 2).any() or assembly.laws.viscous:
            raise UserError('statics takes laws on the gap alone: Unilateral(level="gap"), undamped asperities')
        assembly.rigidity.refuse("statics: take Theta(1.0), with damping, until it rests")
        stepper = StaticStepper(assembly, step)
        return stepper if assembly.linear else CutBackStepper(stepper)


@dataclass(frozen=True)
class StaticState:
    """External, reaction and contact forces on the dofs (d,), N; rate of the displacement u̇ (d,), m/s."""

    external: Array
    reaction: Array
    pulled: Array
    rate: Array


class StaticStepper(DelegatedCheckpoint, Stepper):
    """Load stepping: the equilibrium at each step, and the works between two steps."""

    restarts = True

    def __init__(self, assembly: Assembly, step: float) -> None:
        self.step = self._first_step = step  # with_step() changes the former
        self._assembly = assembly
        self._source = self._equilibrium = Equilibrium(assembly)  # with the last tangent, shared by steps of all sizes

    def start(self, u: Array, v: Array, n: int = 0, memory: Memory | None = None) -> State:
        """The state of load step n; at n = 0 in equilibrium without loads, or, from a former result, with those of
        t = 0."""
        assembly, time = self._assembly, n * self.step
        bulk = assembly.respond(u, assembly.start_memory() if memory is None else memory, 0.0)
        accept_cells(assembly, bulk, time)
        displacement = assembly.contact.basis @ u
        kinematics = assembly.contact.kinematics(displacement, worn=self._worn(None, time, time))
        gaps = kinematics.gaps(displacement)
        stored = kinematics.normal(assembly.laws.area * assembly.laws.pressure(gaps))
        external, zero = assembly.load(time), np.zeros(assembly.constraints.shape[0])
        pushed = zero, kinematics.apply_local_transposed(stored)
        forces = reaction(assembly, lambda: bulk.force - external, pushed)
        scheme_state = StaticState(external, forces, kinematics.generalised_force(stored), np.zeros_like(u))
        first = State.first(assembly, u, 0.0 * u, bulk, gaps, kinetic=0.0, scheme_state=scheme_state, n=n)
        if not n and assembly.system.from_result is not None:
            return self.continued(replace(first, impulse=assembly.contact_start(u).forces))
        if not n:
            self._check_start(bulk.force, scheme_state)
        return replace(first, impulse=stored)

    def _worn(self, worn: WearState | None, t0: float, t1: float) -> WearState | None:
        """The openings of the gaps by wear and by the interference, which is closed from t0 to t1."""
        interference = self._assembly.open_interference
        return worn if interference is None else interference.step(worn, t0, t1, self._first_step)

    def continued(self, state: State) -> State:
        """A state after a switch of levels, or from a former result, in equilibrium under the loads that act there."""
        t = state.n * self.step
        return replace(self._step(state, t, t)[0], n=state.n)

    def _check_start(self, internal: Array, scheme_state: StaticState) -> None:
        """UserError where forces at the start are not in equilibrium."""
        assembly = self._assembly
        residual = (scheme_state.external + scheme_state.pulled - internal)[assembly.free]
        # layers that touch without load have forces by the round-off of their gaps
        tolerance = float((assembly.laws.stiffness_bound() * assembly.contact.scale.touching).max(initial=0.0))
        if (
            np.abs(residual)
            > 1e-10 * np.abs(np.stack([scheme_state.external, internal, scheme_state.pulled])).max() + tolerance
        ).any():
            raise UserError("statics starts from an unloaded equilibrium: let the loads grow from zero at t = 0")

    @property
    def held(self) -> bool:
        """Whether the stiffness alone holds the parts, without contact."""
        return self._equilibrium.held

    def with_step(self, step: float) -> "StaticStepper":
        """A stepper with another step."""
        other = copy.copy(self)
        other.step = step
        return other

    merge_substeps = staticmethod(merge_load_steps)

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One load step."""
        return self._step(state, state.n * self.step, (state.n + 1) * self.step)

    def _step(self, state: State, t0: float, t1: float) -> tuple[State, StepBatch]:
        """The equilibrium under the loads at t1, and the works between t0 and t1."""
        assembly, scheme_state = self._assembly, state.scheme_state
        external = assembly.load(t1)
        start = replace(state, worn=self._worn(state.worn, t0, t1))
        equilibrium = self._equilibrium.find(start, external, t0, t1)
        contact_step, du, constraint = equilibrium.contact, equilibrium.y, equilibrium.multipliers
        kinematics, contact = contact_step.kinematics, contact_step.solution
        u = state.u + du
        accept(contact, u, t1, remedy="more load steps (a smaller step)", assembly=assembly)
        accept_shape(assembly, u, t1)
        bulk = assembly.respond(u, state.memory, 0.0)
        accept_cells(assembly, bulk, t1)
        internal = bulk.force
        forces = reaction(assembly, lambda: internal - external, (constraint, contact_step.impulse))

        # trapezoidal works; the multiplier acts at zero gap, where its exact work is zero: its trapezoidal
        # work counts as `scheme`
        mean_contact = 0.5 * (state.impulse + contact.impulse)
        zero, zero_impulses = np.zeros_like(u), np.zeros_like(contact.stored)
        loss = contact_step.loss(du, 0.5, mean_contact)
        mean = Forces(
            0.5 * (state.internal + internal),
            zero,
            0.5 * (scheme_state.external + external),
            0.5 * (scheme_state.reaction + forces),
        )
        paths = WorkPaths(du, path=du, impulse=zero, stored=du, slip=du)
        rows = paths.on(kinematics)
        work = BulkWork.of(assembly, 1.0, mean, constraint, paths, zero).works(
            step=1.0,
            rates=rows,
            kinematics=kinematics,
            contact=replace(
                contact,
                impulse=mean_contact,
                # springs with a memory dissipate by the path of the step; all other works are those of the mean
                stored=mean_contact[kinematics.first],
                multiplier=zero_impulses,
            ),
            stored_before=state.stored,
            stored_after=(bulk.stored, contact_step.stored(assembly.laws, u)),
            loss=loss,
            plastic=bulk.dissipated,
        )
        # the forces at the start act along the normals at the start
        pulled = kinematics.generalised_force(contact.impulse)
        work["scheme"] -= float(
            (0.5 * (scheme_state.pulled + pulled) - kinematics.generalised_force(mean_contact)) @ du
        )
        work["junction"] = float(constraint @ (assembly.constraints @ du))
        return contact_step.ended(
            assembly,
            state,
            (u, zero),
            bulk,
            work,
            scheme_state=StaticState(external, forces, pulled, du / (t1 - t0) if t1 > t0 else zero),
            multipliers=constraint,
            path=du,
            contact=contact_step.impulses(rows.du, loss),
            newton=equilibrium.newton,
            reaction=forces[assembly.imposed_dofs],
        )
