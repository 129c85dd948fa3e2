"""What a one-step scheme carries from step to step, and its start."""

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
    """What a one-step scheme carries along: momentum (d,), N·s, and load (d,), N, at the end of the step;
    constraint_sum (m,): Σ C y of the steps so far, m/s. In an ensemble, axis 0 is the member.

    The momentum is the sum of the impulses, not M v: the round-off E of the factor is the same in every step and would
    lose, or gain, 2 yᵀE y each time. Summed, the error of one solve enters the right-hand side of the next, and E only
    perturbs the mass. So too with the constraints at θ = 1/2 and in the generalised-α family, where
    C y = −constraint_sum takes the place of C v₁ = 0: the work of φ on their round-off does not add up.

    Of the generalised-α family (else of size 0), all (d,), with M a = F + Q: lead: (½ − λ) a, m/s², λ = β/γ; internal,
    damping, external: recursions of the averaged bulk forces, F = external − internal − damping, N; pulled: that of
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
        """Of a scheme without averages."""
        none = np.zeros((*momentum.shape[:-1], 0))
        return cls(momentum, load, constraint_sum, none, none, none, none, none)

    @property
    def bulk(self) -> Array:
        """F (d,), N."""
        return self.external - self.internal - self.damping

    def allocate(self, load: Array, external: Array) -> "OneStepState":
        """Room for what is carried from the next step on, with the load and the average of the external forces there,
        N."""
        fields = {name: np.empty_like(values) for name, values in self.sums().items()}
        return OneStepState(**(fields | {"load": load, "external": external}))

    def sums(self) -> dict[str, Array]:
        """The fields by name."""
        return {one.name: getattr(self, one.name) for one in fields(OneStepState)}


def start_state(
    assembly: Assembly,
    coefficients: StepCoefficients,
    motion: tuple[Array, Array],
    n: int = 0,
    memory: Memory | None = None,
) -> State:
    """The state at t = nΔt of u and v (d,); where the scheme carries averages, with the acceleration of
    M a = F(t) + Cᵀφ + Bᵀr, C a = 0."""
    (u, v), step = motion, coefficients.step
    bulk = assembly.respond(u, assembly.start_memory() if memory is None else memory, 0.0)
    accept_cells(assembly, bulk, n * step)
    external, momentum = assembly.load(n * step), assembly.mass @ v
    own = OneStepState.of_sums(momentum, external, (coefficients.weight - 1.0) * (assembly.constraints @ v))
    kinetic = assembly.kinetic(v)
    if not coefficients.carries:
        return State.first(assembly, u, v, bulk, assembly.contact.gaps(u), kinetic=kinetic, own=own, n=n)
    internal, touch = bulk.force, assembly.contact_start(u)
    kinematics = touch.kinematics
    damping = assembly.viscous @ v if assembly.viscous is not None else np.zeros_like(u)
    contact = kinematics.apply_local_transposed(touch.stored)
    force = external - internal - damping + kinematics.basis.T @ contact
    a, constraint, initial_impulse = start_accelerations(assembly, kinematics, force, motion, step, n)
    pulled = assembly.generalised_force(constraint, contact + initial_impulse)
    at_rest = assembly.massless & assembly.from_former_result
    pulled[at_rest] = (damping + internal - external)[at_rest]  # massless nodes rest under what pressed them there
    averages = (coefficients.shift * a, internal, damping, external, pulled)
    own = OneStepState(momentum, external, own.constraint_sum, *averages)
    return State.first(assembly, u, v, bulk, touch.gaps, kinetic=kinetic, own=own, n=n)


def start_members(members: Members, coefficients: StepCoefficients, u: Array, v: Array) -> State:
    """The state of an ensemble at t = 0 of u and v (n, d)."""

    def start(i: int, own: Assembly) -> Any:
        return named(i, partial(start_state, own, coefficients, (u[i], v[i])))

    return State.of_members([start(i, own) for i, own in enumerate(members.each)])
