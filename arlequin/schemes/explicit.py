"""Explicit schemes of small systems under regular laws: symplectic Euler (order 1) and De Vogelaere's scheme (order 4),
with the system as arrays, stability limits and the audit."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.energy import Work
from arlequin.linalg.products import applied
from arlequin.models.errors import UserError
from arlequin.models.linalg.constraints import independent
from arlequin.models.linalg.rows import row_products
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.solvers.elastic_stick import FrictionLoss
from arlequin.schemes.compiled_loop import MAX_FULL, is_small
from arlequin.schemes.compiled_system import first_of, system_arguments
from arlequin.schemes.loop_data import ExplicitSteps, InverseMass
from arlequin.step.batch import StepBatch
from arlequin.step.impulses import ContactImpulses
from arlequin.step.scheme import Stepper, evaluate_fewer_on_error, unworn_only
from arlequin.step.state import State
from arlequin.system.assembly import Assembly


class ExplicitSystem:
    """A small system with its inverse mass matrix, as the explicit loops read it."""

    def __init__(self, assembly: Assembly, step: float) -> None:
        unworn_only(assembly, "a scheme of compiled explicit steps")
        _check(assembly)
        self.assembly, self.step = assembly, step
        contact = assembly.contact
        self.kinematics = contact.kinematics(np.zeros(contact.basis.shape[0]))
        mass, c = assembly.mass, assembly.constraints
        diagonal, moving = mass.diagonal(), np.flatnonzero(~assembly.ghost)
        off = abs(mass - sp.diags_array(diagonal)).max() if diagonal.size else 0.0
        # 0 on ghost dofs, which do not move
        inverse_diagonal = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=~assembly.ghost)
        self._inverse = np.diag(inverse_diagonal)
        if off != 0.0:
            self._inverse[np.ix_(moving, moving)] = np.linalg.inv(mass[moving][:, moving].toarray())
        response = self._inverse @ c.T.toarray()
        self._independent = independent(c @ response)
        self._rows, self._response = sp.csr_array(c[self._independent]), response[:, self._independent]
        if self._independent.size:
            self._schur = np.linalg.inv(self._rows @ self._response)
            self._inverse = self._inverse - self._response @ self._schur @ self._response.T
        lumped = off == 0.0 and not self._independent.size
        self._inverse_mass = InverseMass(
            inverse_diagonal, np.zeros((0, 0)) if lumped else np.ascontiguousarray(self._inverse)
        )

    @cached_property
    def arguments(self) -> tuple[Any, Any, Any]:
        """The system, the kernels of its laws and its inverse mass; built on first use, since kernels are loaded."""
        return *system_arguments(self.assembly), tuple(self._inverse_mass)

    @property
    def damped(self) -> bool:
        """Whether forces depend on velocities."""
        laws = self.assembly.laws
        return self.assembly.viscous is not None or laws.damped or bool(laws.tangential_damping.any())

    def spectrum(self) -> tuple[float, float]:
        """Bounds of the eigenvalues of M⁻¹K, 1/s², and M⁻¹D, 1/s, with all points in contact and stuck."""
        assembly, laws = self.assembly, self.assembly.laws
        stiffness, damping = assembly.stiffness.toarray(), np.zeros((assembly.dof_count,) * 2)
        if assembly.viscous is not None:
            damping += assembly.viscous.toarray()
        springs, dashpots = np.zeros(laws.row_count), np.zeros(laws.row_count)
        springs[laws.first[:-1]] = laws.stiffness_bound()
        springs[laws.elastic_stick_rows] = (laws.area * laws.tangential_stiffness)[laws.elastic_stick_points]
        dashpots[laws.elastic_stick_rows] = (laws.area * laws.tangential_damping)[laws.elastic_stick_points]
        edge, rate = np.array([-1e-300]), np.array([-1.0])
        for k, point_laws in enumerate(laws.regular):
            dashpots[laws.first[k]] = laws.area[k] * sum(law.damping_pressure(edge, rate)[0] for law in point_laws)
        rows = assembly.contact.basis.toarray()
        stiffness += rows.T @ (springs[:, None] * rows)
        damping += rows.T @ (dashpots[:, None] * rows)
        return self._largest(stiffness), self._largest(damping)

    def _largest(self, matrix: Array) -> float:
        """Largest eigenvalue of M⁻¹A under the constraints, A ≥ 0 (d, d)."""
        values, vectors = np.linalg.eigh(self._inverse)
        root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
        return float(np.linalg.eigvalsh(root @ matrix @ root)[-1]) if matrix.any() else 0.0

    def multipliers(self, push: Array) -> Array:
        """Impulses (b, m) of the constraints from the impulses (b, d) of all other forces, N·s."""
        out = np.zeros((len(push), self.assembly.constraints.shape[0]))
        if self._independent.size:
            out[:, self._independent] = -row_products(row_products(push, self._response), self._schur)
        return out


class ExplicitStepper(Stepper):
    """Base class of explicit steppers: steps in blocks, and their energy balance.

    In a step M (v₁ − v₀) is the impulse J of all forces by the weights of the method, so that the kinetic energy
    changes by ½ (v₀ + v₁)·J. The works of the forces are integrated by the same weights, the friction loss is that of
    the slip; the remainder is `scheme`.
    """

    refusal = "the motion is no longer finite: try a smaller step"  # error and remedy of a failed step

    def __init__(self, system: ExplicitSystem) -> None:
        self.step, self._system = system.step, system

    def begin(self, u: Array, v: Array, traction: Array) -> Any:
        """Initial state variables of the method; traction (r,): of friction's springs, Pa."""
        raise NotImplementedError

    def take(self, state: State, count: int) -> tuple[int, ExplicitSteps, Any]:
        """Up to `count` steps: number of accepted steps, the steps, and the state variables of the method after
        them."""
        raise NotImplementedError

    def start(self, u: Array, v: Array) -> State:
        """The state at t = 0; springs of friction are unloaded, or loaded as in the result the system starts from."""
        assembly = self._system.assembly
        contact_start = assembly.contact_start(u)
        bulk = assembly.respond(u, assembly.start_memory(), 0.0)
        scheme_state = self.begin(u, v, contact_start.springs)
        return State.first(
            assembly, u, v, bulk, contact_start.gaps, kinetic=assembly.kinetic(v), scheme_state=scheme_state
        )

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """Up to `count` steps."""
        system = self._system
        assembly, kinematics, laws = system.assembly, system.kinematics, system.assembly.laws
        _, (taken, steps, scheme_state) = evaluate_fewer_on_error(partial(self.take, state), count)
        if not taken:
            raise UserError(f"at t = {(state.n + 1) * self.step:.6g} s {self.refusal}", code=1)
        steps = first_of(steps, taken)
        all_u, all_v = np.concatenate([state.u[None], steps.u]), np.concatenate([state.v[None], steps.v])
        assert assembly.strains is not None
        strains = assembly.strains.at(all_u)
        gaps = kinematics.gaps(applied(kinematics.basis, all_u))
        strain = assembly.strains.energy(strains)
        asperity = laws.stored_energy(gaps, np.concatenate([state.scheme_state.traction[None], steps.traction]))
        kinetic = 0.5 * np.vecdot(all_v, applied(assembly.mass, all_v))
        multipliers = system.multipliers(steps.push)
        mean = 0.5 * (all_v[:-1] + all_v[1:])
        work = Work(np.zeros((taken, Work().values.size)))
        work["kinetic"], work["strain"], work["asperity"] = kinetic[1:], strain[1:], asperity[1:]
        work["friction"] = steps.friction_loss.sum(axis=1)
        kinds = ("external_work", "damping", "asperity_damping")
        for kind, values in zip(kinds, steps.works.T, strict=True):
            work[kind] = values
        if multipliers.size:
            work["junction"] = np.vecdot(multipliers, applied(assembly.constraints, mean))
        bulk_balance = (
            np.diff(strain + asperity) + steps.works[:, 1:].sum(axis=1) + work["friction"] - steps.works[:, 0]
        )
        work["scheme"] = -np.vecdot(mean, steps.push) - bulk_balance
        path = np.diff(all_u, axis=0)
        batch = StepBatch(
            n=state.n + 1 + np.arange(taken),
            u=steps.u,
            v=steps.v,
            works=work.values,
            multipliers=multipliers,
            gaps=gaps[1:],
            contact=ContactImpulses.of(
                kinematics,
                steps.impulse,
                steps.status,
                kinematics.rates(path),
                self.step,
                loss=FrictionLoss(laws, steps.friction_loss),
            ),
            iterations=steps.tries,
            residual=np.zeros(taken),
            newton=np.zeros(taken, dtype=np.int64),
            spring_traction=laws.along_tangents(steps.traction, kinematics.tangents)
            if laws.has_elastic_stick
            else None,
        )
        history = laws.start_history(gaps[-1])
        laws.store_spring_traction(history, steps.traction[-1], kinematics.tangents)
        internal = assembly.strains.forces(strains[-1:])[0]
        return batch.end_state(
            history=history, internal=internal, impulse=steps.impulse[-1], scheme_state=scheme_state
        ), batch


def check_step(step: float, limit: float, scheme: str) -> None:
    """Raises UserError for a step not below the stability limit."""
    if step >= limit:
        raise UserError.parameter("step", step, f"must be below the limit of {scheme}, {limit:.6g} s")


def _check(assembly: Assembly) -> None:
    """Raises UserError for systems that these schemes do not support."""
    laws = assembly.laws
    if (laws.level > 0).any():
        raise UserError(
            "explicit schemes need regular laws in contact (ImpactElement, Penalty, Asperities): Theta takes others"
        )
    if any(not isinstance(law, Asperities) for point_laws in laws.regular for law in point_laws):
        raise UserError("explicit schemes take ImpactElement, Penalty and Asperities in contact")
    if laws.state_dependent:
        raise UserError("explicit schemes take Coulomb's friction with a constant coefficient: Theta takes others")
    if (laws.friction[~laws.elastic_stick] > 0.0).any():
        raise UserError("explicit schemes need friction with a stiffness: Coulomb(…, stiffness=…)")
    if assembly.imposed_dofs.size:
        raise UserError(
            "explicit schemes take no imposed motion: take the frame of the support (gravity as a function)"
        )
    if not is_small(assembly) or assembly.dof_count > MAX_FULL or assembly.contact.wear_rate is not None:
        raise UserError(
            f"explicit schemes are for masses, bars, beams and springs with at most {MAX_FULL} degrees of freedom and "
            "flat obstacles or pairs of points: take CentralDifference otherwise"
        )
    if assembly.massless.any():
        raise UserError('explicit schemes need mass on every degree of freedom: take mass="lumped" or "consistent"')


@checked_call
@dataclass(frozen=True)
class SymplecticEuler:
    """For small systems under regular laws (masses, modes; shock elements):

        v₁ = v₀ + Δt M⁻¹ F(t₀, u₀, v₀),   u₁ = u₀ + Δt v₁

    Order 1, stable for ω²Δt² + 2δΔt < 4 (δ: the largest eigenvalue of M⁻¹D). Springs of friction follow the path and
    return to their disk at the end of each step.

    Source: Code_Aster R5.06.04 (its scheme EULER on modal coordinates).
    """

    order = 1
    static = False
    frequency_error = -1.0 / 12.0  # the displacements are those of central differences

    def prepare(self, assembly: Assembly, step: float) -> ExplicitStepper:
        system = ExplicitSystem(assembly, step)
        square, decay = system.spectrum()
        root = decay + np.sqrt(decay**2 + 4.0 * square)
        check_step(step, 4.0 / root if root > 0.0 else np.inf, "symplectic Euler")
        return EulerStepper(system)


@dataclass(frozen=True)
class SpringState:
    """Springs of friction: tractions (r,), Pa; radius (k,) of their disks, Pa."""

    traction: Array
    radius: Array

    @classmethod
    def of(cls, system: ExplicitSystem, traction: Array) -> "SpringState":
        """Springs with tractions (r,), Pa, at the friction limit."""
        return cls(traction, system.assembly.laws.slip_size(traction))


class EulerStepper(ExplicitStepper):
    """Steps of `SymplecticEuler`."""

    def begin(self, u: Array, v: Array, traction: Array) -> SpringState:
        return SpringState.of(self._system, traction)

    def take(self, state: State, count: int) -> tuple[int, ExplicitSteps, SpringState]:
        from arlequin.schemes._explicit_kernels import euler_steps

        system = self._system
        steps = ExplicitSteps.allocate(system.assembly, count)
        loads = system.assembly.loads(system.step * np.arange(state.n, state.n + count, dtype=float))
        u, v, traction, radius = (
            np.array(x) for x in (state.u, state.v, state.scheme_state.traction, state.scheme_state.radius)
        )
        taken = euler_steps(
            count, system.step, *system.arguments, loads, (u, v, traction, radius), tuple(steps)
        )  # fmt: skip
        return taken, steps, SpringState(traction, radius)


@checked_call
@dataclass(frozen=True)
class DeVogelaere:
    """For small systems under regular laws; two evaluations of the forces a step (three where velocities enter):

        u_½ = u₀ + ½ Δt v₀ + Δt²/24 (4 a₀ − a_−½)
        u₁ = u₀ + Δt v₀ + Δt²/6 (a₀ + 2 a_½),   v₁ = v₀ + Δt/6 (a₀ + 4 a_½ + a₁)

    Velocities that enter forces are predicted by Adams' formulas of order 3 from the same accelerations. Order 4 in
    smooth motion; where contact opens or friction slips within a step, less. Stable up to a step found from the linear
    system with all points in contact (Δt < 2√2/ω without damping).

    Source: de Vogelaere, J. Res. Nat. Bur. Stand. 54 (1955) 119–125; Code_Aster R5.06.04.
    """

    order = 4
    static = False
    past = 2  # previous accelerations that a step needs

    def prepare(self, assembly: Assembly, step: float) -> ExplicitStepper:
        system = ExplicitSystem(assembly, step)
        check_step(step, stable_step(*system.spectrum()), "De Vogelaere's scheme")
        return VogelaereStepper(system)


def growth(square: float, decay: float) -> float:
    """Spectral radius of a step of ÿ + decay ẏ + square y = 0 with Δt = 1."""
    columns = []
    for u, v, a_minus_half, a_minus_one in np.eye(4):
        a = -square * u - decay * v
        u_half = u + 0.5 * v + (4.0 * a - a_minus_half) / 24.0
        a_half = -square * u_half - decay * (v + (23.0 * a - 16.0 * a_minus_half + 5.0 * a_minus_one) / 24.0)
        end = u + v + (a + 2.0 * a_half) / 6.0
        last = -square * end - decay * (v + (a_minus_half - 2.0 * a + 7.0 * a_half) / 6.0)
        columns.append((end, v + (a + 4.0 * a_half + last) / 6.0, a_half, a))
    return float(np.abs(np.linalg.eigvals(np.transpose(columns))).max())


def stable_step(square: float, decay: float) -> float:
    """The largest stable step, s, for eigenvalues of M⁻¹K up to `square` and of M⁻¹D up to `decay`."""
    if square == 0.0 and decay == 0.0:
        return np.inf
    rate = max(np.sqrt(square), decay)

    def grows(step: float) -> bool:
        pairs = ((square, decay), (square, 0.0), (0.0, decay))
        return any(growth(k * step**2, c * step) > 1.0 + 1e-6 for k, c in pairs)

    low = 0.0
    for high in np.arange(0.05, 4.0, 0.05) / rate:
        if grows(high):
            break
        low = high
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if grows(middle) else (middle, high)
    return float(low)


@dataclass(frozen=True)
class VogelaereState(SpringState):
    """past (2, d): accelerations one step and half a step ago, m/s²; begun: whether they are known."""

    past: Array
    begun: bool


class VogelaereStepper(ExplicitStepper):
    """Steps of `DeVogelaere`."""

    def begin(self, u: Array, v: Array, traction: Array) -> VogelaereState:
        springs = SpringState.of(self._system, traction)
        return VogelaereState(springs.traction, springs.radius, np.zeros((2, u.size)), False)

    def take(self, state: State, count: int) -> tuple[int, ExplicitSteps, VogelaereState]:
        from arlequin.schemes._explicit_kernels import vogelaere_steps

        scheme_state, system = state.scheme_state, self._system
        steps = ExplicitSteps.allocate(system.assembly, count)
        halves = np.arange(2 * state.n, 2 * (state.n + count) + 1, dtype=float)
        loads = system.assembly.loads(0.5 * system.step * halves)
        u, v, traction, radius, past = (
            np.array(x) for x in (state.u, state.v, scheme_state.traction, scheme_state.radius, scheme_state.past)
        )
        taken = vogelaere_steps(
            count, system.step, *system.arguments, loads, (scheme_state.begun, system.damped, past),
            (u, v, traction, radius), tuple(steps),
        )  # fmt: skip
        return taken, steps, VogelaereState(traction, radius, past, True)
