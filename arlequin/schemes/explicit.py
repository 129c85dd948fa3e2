"""Explicit steps of small systems under regular laws: the system as arrays, the springs of friction, and the audit."""

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
from arlequin.models.types import Array
from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.laws.springs import Elastic
from arlequin.multilevel.solvers.elastic_stick import FrictionLoss
from arlequin.schemes.compiled_loop import MAX_FULL, is_small
from arlequin.schemes.compiled_system import CompiledSystem, first_of, loop_arguments
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
        """The system, the kernels of its laws and its inverse mass; built on first use, since kernels are loaded. The
        kind of a layer is −1: its pressure depends on the rate at an instant, which the kernel of a step does not
        take."""
        system = CompiledSystem.of(self.assembly)
        layers = [isinstance(law, Asperities) for point in self.assembly.laws.regular for law in point]
        laws = system.laws._replace(kind=np.where(np.array(layers, dtype=bool), -1, system.laws.kind))
        return *loop_arguments(system._replace(laws=laws)), tuple(self._inverse_mass)

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
    assembly.contact.refuse_memory("which explicit schemes do not step: take Theta or Newmark()")
    if any(not isinstance(law, Asperities | Elastic) for point_laws in laws.regular for law in point_laws):
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


@dataclass(frozen=True)
class SpringState:
    """Springs of friction: tractions (r,), Pa; radius (k,) of their disks, Pa."""

    traction: Array
    radius: Array

    @classmethod
    def of(cls, system: ExplicitSystem, traction: Array) -> "SpringState":
        """Springs with tractions (r,), Pa, at the friction limit."""
        return cls(traction, system.assembly.laws.slip_size(traction))
