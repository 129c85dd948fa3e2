"""State variables of one-step schemes, and their initial values."""

from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from arlequin.models.types import Array
from arlequin.solvers.initial_state import start_accelerations
from arlequin.step.acceptance import accept_cells
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.ensemble import Members, named
from arlequin.system.internal_forces import Memory


@dataclass(frozen=True)
class OneStepState:
    """State variables of a one-step scheme: momentum (d,), N·s, and load (d,), N, at the end of the step;
    constraint_sum (m,): Σ C y of the steps so far, m/s. In an ensemble, axis 0 is the member.

    The momentum is the sum of the impulses, not M v: the round-off error E of the factor is the same in every step and
    would dissipate, or generate, 2 yᵀE y each time. Summed, the error of each solve is compensated in the next step,
    and E only perturbs the mass. Likewise the constraints at θ = 1/2 and in the generalised-α family: C y =
    −constraint_sum replaces C v₁ = 0, so that the work of φ on their round-off does not accumulate.

    Of the generalised-α family (else of size 0), all (d,), with M a = F + Q: lead: (½ − λ) a, m/s², λ = β/γ; internal,
    damping, external: averaged bulk forces by recursion, F = external − internal − damping, N; pulled: averaged
    Q = Cᵀφ + Bᵀr, N.
    """

    momentum: Array
    load: Array
    constraint_sum: Array
    lead: Array
    internal: Array
    damping: Array
    external: Array
    pulled: Array

    @classmethod
    def of_sums(cls, momentum: Array, load: Array, constraint_sum: Array) -> "OneStepState":
        """The state variables of a scheme without averages."""
        none = np.zeros((*momentum.shape[:-1], 0))
        return cls(momentum, load, constraint_sum, none, none, none, none, none)

    @property
    def bulk(self) -> Array:
        """Averaged bulk forces F (d,), N."""
        return self.external - self.internal - self.damping

    def allocate(self, load: Array, external: Array) -> "OneStepState":
        """Empty arrays for the end of the next step, with the load and the averaged external forces there, N."""
        fields = {name: np.empty_like(values) for name, values in self.sums().items()}
        return OneStepState(**(fields | {"load": load, "external": external}))

    def sums(self) -> dict[str, Array]:
        """The fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(OneStepState)}


def start_state(
    assembly: Assembly,
    coefficients: StepCoefficients,
    motion: tuple[Array, Array],
    n: int = 0,
    memory: Memory | None = None,
) -> State:
    """The initial state at t = nΔt from u and v (d,); schemes with averages start from the acceleration of
    M a = F(t) + Cᵀφ + Bᵀr, C a = 0."""
    (u, v), step = motion, coefficients.step
    bulk = assembly.respond(u, assembly.start_memory() if memory is None else memory, 0.0)
    accept_cells(assembly, bulk, n * step)
    external, momentum = assembly.load(n * step), assembly.mass @ v
    scheme_state = OneStepState.of_sums(momentum, external, (coefficients.weight - 1.0) * (assembly.constraints @ v))
    kinetic = assembly.kinetic(v)
    if not coefficients.carries:
        return State.first(
            assembly, u, v, bulk, assembly.contact.gaps(u), kinetic=kinetic, scheme_state=scheme_state, n=n
        )
    internal, contact_start = bulk.force, assembly.contact_start(u)
    kinematics = contact_start.kinematics
    damping = assembly.viscous @ v if assembly.viscous is not None else np.zeros_like(u)
    contact = kinematics.apply_local_transposed(contact_start.stored)
    force = external - internal - damping + kinematics.basis.T @ contact
    a, constraint, initial_impulse = start_accelerations(assembly, kinematics, force, motion, step, n)
    pulled = assembly.generalised_force(constraint, contact + initial_impulse)
    at_rest = assembly.massless & assembly.from_former_result
    pulled[at_rest] = (damping + internal - external)[at_rest]  # equilibrium of massless nodes
    averages = (coefficients.shift * a, internal, damping, external, pulled)
    scheme_state = OneStepState(momentum, external, scheme_state.constraint_sum, *averages)
    return State.first(assembly, u, v, bulk, contact_start.gaps, kinetic=kinetic, scheme_state=scheme_state, n=n)


def start_members(members: Members, coefficients: StepCoefficients, u: Array, v: Array) -> State:
    """The initial state of an ensemble at t = 0 from u and v (n, d)."""

    def start(i: int, member: Assembly) -> Any:
        return named(i, partial(start_state, member, coefficients, (u[i], v[i])))

    return State.of_members([start(i, member) for i, member in enumerate(members.each)])
