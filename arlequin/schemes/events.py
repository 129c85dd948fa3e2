"""Event-driven integration: the θ-scheme with θ = 1/2 between located events, for small linear systems."""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from arlequin.energy import Work
from arlequin.models.errors import UserError
from arlequin.models.linalg.matrix import binade
from arlequin.models.linalg.rows import row_products
from arlequin.models.types import Array
from arlequin.multilevel.laws.base import SetValuedLaw
from arlequin.multilevel.laws.friction_laws import StaticDynamic
from arlequin.multilevel.solvers.solver_lists import newton_solver, robust_solver
from arlequin.schemes.compiled_loop import MAX_FULL
from arlequin.schemes.compiled_system import first_of, system_arguments, zeros_of
from arlequin.schemes.loop_data import LocatedSteps
from arlequin.step.batch import StepBatch
from arlequin.step.impulses import ContactImpulses
from arlequin.step.scheme import Stepper, evaluate_fewer_on_error
from arlequin.step.state import State
from arlequin.system.assembly import Assembly

_RIGID = 1e-13  # squared frequency of a rigid mode, relative to the largest, at most
_DIAGONAL = 1e-12  # off-diagonal modal damping, relative, below which it is diagonal
_INSIDE = 2.0**-20  # distance from the ends of a step, relative, at which one-sided limits of loads are evaluated
_JUMP = 1e-4  # change of a load over that distance, relative to its largest value, above which it is a jump


class LocatedThetaStepper(Stepper):
    """Impact, release, stick, slip and reversal located inside the step.

    In the modes of the system without contact, q̈ + D q̇ + Ω q = f(t) + Hᵀλ, a closed contact constrains its normal row
    of H, a sticking one its tangent too, and a slipping one has the friction μλ_n against its motion. Between two
    events the motion is smooth and is integrated by three θ = 1/2 steps of lengths γ, 1 − 2γ, γ, γ = 1/(2 − 2^⅓), of
    the remaining time: order 4, without dissipation. Where a contact mode ends within the step (a gap closes, λ_n < 0,
    |λ_t| > μλ_n, a slip reverses) the instant is located by bisection to the last digit, velocities jump at impacts,
    the accelerations under Coulomb's law determine the new modes, and the rest of the step follows. Loads are cubic in
    the step, and may jump at its ends.

    With StaticDynamic friction a point at rest sticks up to μ_s λ_n, and slips under μ_d λ_n, also in impacts: the
    friction drops when slip begins, and a slip that comes to rest sticks if |λ_t| ≤ μ_s λ_n.

    Where no force keeps a slipping point from its obstacle (H_nn − μ s H_nt ≤ 0 under a load that presses it on, as in
    Painlevé's rod) the velocities jump without approach, as in the limit of the impact law for a vanishing approach
    velocity: the point sticks or reverses. Where solutions with and without contact force exist, the latter is taken.

    Source: Acary & Brogliato, Numerical Methods for Nonsmooth Dynamical Systems, Springer (2008), ch. 8; Yoshida,
    Phys. Lett. A 150 (1990) 262–268.
    """

    locates_events = True

    def __init__(self, assembly: Assembly, step: float) -> None:
        self._check(assembly)
        self.step = step
        self._assembly = assembly
        self._free = np.flatnonzero(assembly.free)
        mass, stiffness = (m[self._free][:, self._free].toarray() for m in (assembly.mass, assembly.stiffness))
        # modes of unit mass: the same bits in all units of mass that differ by powers of two
        self._unit = binade(float(mass.diagonal()[:1].sum()))
        mass, stiffness = mass / self._unit, stiffness / self._unit
        constraints = assembly.constraints[:, self._free].toarray()
        basis = scipy.linalg.null_space(constraints) if constraints.size else np.eye(self._free.size)
        squares, shapes = scipy.linalg.eigh(basis.T @ stiffness @ basis, basis.T @ mass @ basis)
        self._squares = np.where(np.abs(squares) < _RIGID * np.abs(squares).max(initial=0.0), 0.0, squares)
        self._shapes = np.ascontiguousarray(basis @ shapes)
        self._inverse = np.ascontiguousarray(self._shapes.T @ mass)
        damping = np.zeros((squares.size, squares.size))
        if assembly.viscous is not None:
            viscous = assembly.viscous[self._free][:, self._free].toarray() / self._unit
            damping = self._shapes.T @ viscous @ self._shapes
        off = np.abs(damping - np.diag(damping.diagonal())).max(initial=0.0)
        diagonal = off <= _DIAGONAL * np.abs(damping).max(initial=0.0)
        self._damping = (
            damping.diagonal()[None].copy() if diagonal else np.ascontiguousarray(0.5 * (damping + damping.T))
        )
        contact = assembly.contact
        self._kinematics = contact.kinematics(np.zeros(contact.basis.shape[0]))
        self._rows, self._row_angles, self._arms = self._row_operators()
        self._solver = newton_solver

    def _check(self, assembly: Assembly) -> None:
        """UserError where events cannot be located."""
        check_laws(assembly)
        _small(assembly)

    def _row_operators(self) -> tuple[Array, Array, Array]:
        """Rows B (r, d), and angles T and arms of the rotating rows, as `_event_kernels._evaluate_rows` reads them."""
        rows = np.ascontiguousarray(self._assembly.contact.basis[:, self._free] @ self._shapes)
        return rows, np.zeros((0, rows.shape[1])), np.zeros((0, 2))

    def start(self, u: Array, v: Array) -> State:
        """The state at t = 0, with modal displacement and velocity and modes of the contact (see `LocatedState`)."""
        assembly = self._assembly
        q, p = (self._inverse @ field[self._free] for field in (u, v))
        laws = assembly.laws
        anchor = np.zeros(laws.row_count)
        anchor[self._kinematics.first] = -self._kinematics.gap
        modes = np.zeros(laws.count, dtype=np.int64), np.ones(laws.count), anchor, np.zeros(1)
        return State(
            n=0,
            u=u,
            v=v,
            history=assembly.contact_start(u).history,
            internal=np.zeros_like(u),
            kinetic=0.5 * self._unit * float(p @ p),
            strain=0.5 * self._unit * float(self._squares @ q**2),
            asperity=0.0,
            impulse=np.zeros(laws.row_count),
            scheme_state=(q, p, modes),
        )

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """Up to `count` steps."""
        from arlequin.schemes._event_kernels import MAX_EVENTS, located_steps

        laws, step = self._assembly.laws, self.step
        count, step_loads = evaluate_fewer_on_error(lambda limit: self._loads(state.n, limit), count)
        forces = row_products(step_loads[..., self._free].reshape(4 * count, -1) / self._unit, self._shapes)
        loads = np.ascontiguousarray(forces.reshape(count, 4, -1))
        q, p = (x.copy() for x in state.scheme_state[:2])
        modes = tuple(x.copy() for x in state.scheme_state[2])
        d, r, k, types = q.size, laws.row_count, laws.count, {"status": np.int8, "events": np.int64}
        steps = zeros_of(LocatedSteps, count, d, d, 5, r, r, k, k, k, k, (), (), (), types=types)
        system, kernels, modal = self._system
        taken = located_steps(
            count, step, system, kernels, self._solver(), modal,
            (self._rows, self._row_angles, self._arms, np.ascontiguousarray(laws.static_friction)), loads,
            state.n == 0, (q, p, *modes), tuple(steps),
        )  # fmt: skip
        if self._solver is newton_solver and np.isinf(steps.residual).any():
            self._solver = robust_solver
            return self.advance(state, count)
        if not taken and np.isinf(steps.residual[0]):
            raise UserError(
                f"the contact problem of the step that ends at t = {(state.n + 1) * self.step:.6g} s was not solved: "
                'try a smaller step, or Theta without events="locate"',
                code=1,
            )
        if not taken:
            raise UserError(
                f"more than {MAX_EVENTS} events in the step that ends at t = {(state.n + 1) * self.step:.6g} s: "
                'try a smaller step, or Theta without events="locate"',
                code=1,
            )
        steps = first_of(steps, taken)
        batch, scheme_state = self._audited(state, steps), (steps.u[-1], steps.v[-1], modes)
        return batch.end_state(
            history=state.history, internal=state.internal, impulse=state.impulse, scheme_state=scheme_state
        ), batch

    def _loads(self, n: int, count: int) -> Array:
        """Forces (count, 4, d), N, at 0, 1/3, 2/3 and 1 of each step from step n on.

        Where a load jumps at an end of a step, its one-sided limit is taken: the value 2⁻²⁰ Δt inside the step, if it
        differs by more than a smooth load does.
        """
        assembly, step = self._assembly, self.step
        times = step / 3.0 * np.arange(3 * n, 3 * (n + count) + 1, dtype=float)
        loads = assembly.loads(times)
        out = np.stack([loads[i : 3 * count + i : 3] for i in range(4)], axis=1)
        if not all(part.steady for part in assembly.parts) or callable(assembly.system.gravity):
            inside = assembly.loads(np.stack([times[:-1:3] + _INSIDE * step, times[3::3] - _INSIDE * step]).T.ravel())
            largest = np.abs(out).max(axis=1)
            for side, at in ((0, 0), (1, 3)):
                limit = inside[side::2]
                out[:, at] = np.where(np.abs(limit - out[:, at]) > _JUMP * largest, limit, out[:, at])
        return out

    @cached_property
    def _system(self) -> tuple[Any, Any, Any]:
        """The system, the kernels of its laws and its modes, as the loop reads them; built on first use."""
        from arlequin.schemes._event_kernels import inverse_stages

        modal = self._squares, self._damping
        stages = inverse_stages(*modal, self.step)
        return *system_arguments(self._assembly), (*modal, *stages)

    def _audited(self, state: State, steps: LocatedSteps) -> StepBatch:
        """The batch of the steps."""
        assembly, kinematics = self._assembly, self._kinematics
        q, p, events = steps.u, steps.v, steps.events
        works, impulse, moment, wear = (
            self._unit * modal for modal in (steps.works, steps.impulse, steps.moment, steps.wear)
        )
        u, v = np.zeros((2, len(q), assembly.dof_count))
        u[:, self._free], v[:, self._free] = row_products(q, self._shapes.T), row_products(p, self._shapes.T)
        strain = 0.5 * self._unit * np.vecdot(q**2, self._squares)
        work = Work(np.zeros((len(q), Work().values.size)))
        work["kinetic"], work["strain"] = 0.5 * self._unit * np.vecdot(p, p), strain
        work["external_work"], work["impact"] = works[:, 0], works[:, 3]
        # negative values by the quadrature count as `scheme`
        work["damping"], work["friction"] = np.maximum(works[:, 1:3], 0.0).T
        below = np.minimum(works[:, 1:3], 0.0).sum(axis=1)
        work["scheme"] = works[:, 4] + below - np.diff(strain, prepend=state.strain)
        normal = impulse[:, kinematics.first]
        tangential = np.zeros((*normal.shape, kinematics.normals.shape[1]))
        if kinematics.frictional:
            rough = np.flatnonzero(np.diff(np.append(kinematics.first, kinematics.rows)) > 1)
            tangential[:, rough] = impulse[:, kinematics.first[rough] + 1, None] * kinematics.tangents[rough, 0]
        n: NDArray[np.int64] = state.n + 1 + np.arange(len(q))
        return StepBatch(
            n=n,
            u=u,
            v=v,
            works=work.values,
            multipliers=np.zeros((len(q), assembly.constraints.shape[0])),
            gaps=steps.gaps,
            contact=ContactImpulses(
                normal,
                tangential,
                self._spread(impulse, moment),
                steps.slip,
                wear,
                assembly.laws.friction * wear,
                steps.status,
            ),
            iterations=1 + events,
            residual=steps.residual,
            newton=np.ones_like(events),
            event=np.where(events > 0, self.step * (n - 1 + steps.last), np.nan),
        )

    def _spread(self, impulse: Array, moment: Array) -> Array:
        """Impulses (b, q) on the rows of the contact's basis, here equal to those (b, r) on the rows of H."""
        return impulse


def _small(assembly: Assembly) -> None:
    """UserError where the system is not small and linear."""
    parts = "point masses, bars, beams, springs and modal parts"
    contact = assembly.contact
    fits = assembly.dof_count <= MAX_FULL and contact.laws.row_count <= MAX_FULL and assembly.strains is not None
    if not fits or not contact.fixed:
        raise UserError(
            f'events="locate" is for up to {MAX_FULL} degrees of freedom of {parts}, with obstacles of fixed normals'
        )


def check_laws(assembly: Assembly) -> None:
    """UserError where events cannot be located: unsupported laws, masses, junctions or imposed motions."""
    laws = assembly.laws
    for item in assembly.contact.springs:
        raise UserError(f"spring '{item.spring.name}': events=\"locate\" takes linear springs: Theta(0.5) takes a law")
    for interface in assembly.contact.interfaces:
        for law in interface.laws:
            if isinstance(law, SetValuedLaw) and law.restitution > 0.0:
                raise UserError(
                    f"interface '{interface.name}' has restitution={law.restitution:g}, which events=\"locate\" "
                    "does not take: take Theta(0.5), whose impacts fall on whole steps, or restitution=0"
                )
    if assembly.massless.any():
        raise UserError('events="locate": a part has nodes without mass, which take no impact: mass="consistent"')
    if assembly.system.junctions:
        raise UserError('events="locate": parts glued by a junction are not supported: relations and springs are')
    if (
        (laws.level != 2).any()
        or laws.has_regular
        or laws.compliance.any()
        or laws.tangential_compliance.any()
        or laws.has_elastic_stick
    ):
        raise UserError(
            'events="locate" takes Unilateral(level="velocity"), and Coulomb or StaticDynamic, all of them rigid'
        )
    for friction_law in laws.friction_laws:
        if (
            friction_law is not None
            and friction_law.state_dependent
            and not (isinstance(friction_law, StaticDynamic) and friction_law.sharp)
        ):
            raise UserError(
                f'events="locate": the coefficient of {type(friction_law).__name__} varies with the motion: take '
                "Coulomb, or StaticDynamic(static, dynamic) without slip_distance or velocity"
            )
    if (np.diff(laws.first) > 2).any():
        raise UserError('events="locate": friction in space has no line to slip on: take a plane model')
    instants = np.concatenate([assembly.imposed(t) for t in (0.0, 1.0, np.pi)])
    if instants.any():
        raise UserError(
            'events="locate": imposed motions must be zero; shake the frame instead: gravity as a function of time'
        )
