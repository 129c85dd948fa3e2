"""Mean forces of the bulk over a step, for systems with nonlinear parts, and the matrices of their linearisation."""

import numpy as np
import scipy.sparse as sp

from arlequin.models.part import Nonlinear, PathDependent
from arlequin.models.types import Array
from arlequin.solvers.tangents import Tangents
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import Memory


class Bulk:
    """The forces of the θ-scheme over a step from u₀, where the points have a memory, to u₁ = u₀ + Δt y.

    Nonlinear parts give their mean force, whose work is the change of their energy at θ = 1/2, but for what flows;
    linear parts and springs (1 − θ) f(u₀) + θ f(u₁).
    """

    def __init__(self, assembly: Assembly, theta: float, step: float) -> None:
        self._assembly, self._theta, self._step = assembly, theta, step
        parts = zip(assembly.parts, assembly.start[:-1], assembly.start[1:], strict=True)
        pieces = [(part, slice(int(a), int(b))) for part, a, b in parts]
        self._turning = [(part, at) for part, at in pieces if isinstance(part, Nonlinear)]
        self._flowing = [(i, part, at) for i, (part, at) in enumerate(pieces) if isinstance(part, PathDependent)]
        self._linear = [(part, at) for part, at in pieces if not isinstance(part, Nonlinear | PathDependent)]
        self._viscous = [(part, at) for part, at in self._turning if part.viscous]
        rest = assembly.mass
        if assembly.viscous is not None:
            rest = rest + theta * step * assembly.viscous
        self._tangents = Tangents(assembly, sp.csr_array(rest), theta * step**2)
        # forces change by so much where displacements change in their last digit
        self._rounding = abs(assembly.stiffness)

    def internal(self, u0: Array, u1: Array, memory: Memory) -> Array:
        """Mean internal force (d,), N; nan on parts of which a cell is inside out at u₁ and has no answer."""
        theta, forces = self._theta, np.empty_like(u0)
        between = (1.0 - theta) * u0 + theta * u1
        for part, at in self._turning:
            forces[at] = part.mean_internal(u0[at], u1[at], theta)
        for i, own, at in self._flowing:
            force, inverted = own.mean_internal(u0[at], u1[at], memory[i], self._step, theta)
            forces[at] = force if inverted < 0 else np.nan
        for other, at in self._linear:
            forces[at] = other.internal(between[at])[0]
        links = self._assembly.links
        return forces + links.internal(between)[0] if links.any else forces

    def inside_out(self, u0: Array, u1: Array, memory: Memory) -> tuple[int, int] | None:
        """The number of a part and its cell that has no answer at u₁; None where all have."""
        for i, own, at in self._flowing:
            _, cell = own.mean_internal(u0[at], u1[at], memory[i], self._step, self._theta)
            if cell >= 0:
                return i, cell
        return None

    def viscous(self, u0: Array, u1: Array) -> Array | None:
        """Mean force (d,), N, of the damping that is not linear in the velocity; None where there is none."""
        if not self._viscous:
            return None
        forces = np.zeros_like(u0)
        for part, at in self._viscous:
            forces[at] = part.mean_viscous(u0[at], u1[at], self._step)
        return forces

    def matrix(self, u0: Array, u1: Array, memory: Memory) -> sp.csr_array:
        """M + θΔt D + θΔt² ∂f/∂u₁ (d, d), symmetric: an approximation, off by half the rotation in the step."""
        step, theta = self._step, self._theta

        def tangent(i: int, at: slice) -> sp.csr_array:
            part = self._assembly.parts[i]
            if isinstance(part, PathDependent):
                return part.mean_tangent(u0[at], u1[at], memory[i], step, theta)
            assert isinstance(part, Nonlinear)
            return part.mean_tangent(u0[at], u1[at], step, symmetric=True, theta=theta)

        return self._tangents.matrix(tangent)

    def rounding(self, u: Array) -> Array:
        """|K| |u| (d,), N: times the machine's precision, what the round-off of u does to the forces."""
        return np.asarray(self._rounding @ np.abs(u))
