"""Resisting forces of a step with nonlinear parts, their mean over the step or those at its end, and their tangents."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from arlequin.models.linalg.matrix import symmetric_part
from arlequin.models.part import Nonlinear, PathDependent, is_viscous
from arlequin.models.types import Array
from arlequin.solvers.tangents import Tangents
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import Memory


@dataclass(frozen=True)
class LinearisationPoint:
    """Point of linearisation: u at both ends of the step (d,), the memory of the points."""

    start: Array
    end: Array
    memory: Memory


class MeanForces:
    """The mean forces of the θ-scheme over a step from u₀, with the memory of the points there, to u₁ = u₀ + Δt y.

    Of nonlinear parts the mean force whose work is the change of their energy at θ = 1/2, plastic flow apart; of
    linear parts and springs (1 − θ) f(u₀) + θ f(u₁).
    """

    def __init__(self, assembly: Assembly, coefficients: StepCoefficients) -> None:
        self._assembly, self._theta, self._step = assembly, coefficients.theta, coefficients.step
        pieces = list(zip(assembly.parts, assembly.places, strict=True))
        self._elastic = [(part, at) for part, at in pieces if isinstance(part, Nonlinear)]
        self._path_dependent = [(i, part, at) for i, (part, at) in enumerate(pieces) if isinstance(part, PathDependent)]
        self._linear = [(part, at) for part, at in pieces if not isinstance(part, Nonlinear | PathDependent)]
        self._viscous = [(part, at) for part, at in pieces if is_viscous(part)]
        rest, scale = coefficients.matrix_at_rest(assembly), coefficients.force * coefficients.step
        self._tangents = Tangents(assembly, rest, scale)

    def resisting(self, state: State, u: Array, y: Array) -> Array:
        """Mean internal and damping force (d,), N, of a step to u by y."""
        internal, loss = self.internal(state.u, u, state.memory), self.viscous(state.u, u)
        resisting = internal if loss is None else internal + loss
        return resisting if self._assembly.viscous is None else resisting + self._assembly.viscous @ y

    def internal(self, u0: Array, u1: Array, memory: Memory) -> Array:
        """Mean internal force (d,), N; nan on parts with an inverted cell at u₁."""
        theta, forces = self._theta, np.empty_like(u0)
        between = (1.0 - theta) * u0 + theta * u1
        for part, at in self._elastic:
            forces[at] = part.mean_internal(u0[at], u1[at], theta)
        for i, path_part, at in self._path_dependent:
            force, inverted = path_part.mean_internal(u0[at], u1[at], memory[i], self._step, theta)
            forces[at] = force if inverted < 0 else np.nan
        for linear_part, at in self._linear:
            forces[at] = linear_part.internal(between[at])[0]
        links = self._assembly.links
        return forces + links.internal(between)[0] if links.any else forces

    def viscous(self, u0: Array, u1: Array) -> Array | None:
        """Mean force (d,), N, of the damping that is not linear in the velocity; None without any."""
        if not self._viscous:
            return None
        forces = np.zeros_like(u0)
        for part, at in self._viscous:
            forces[at] = part.mean_viscous(u0[at], u1[at], self._step)
        return forces

    def inverted_cell(self, state: State, u: Array) -> tuple[int, int] | None:
        """The number of a path-dependent part and its inverted cell at u; None without inverted cells."""
        for i, part, at in self._path_dependent:
            _, cell = part.mean_internal(state.u[at], u[at], state.memory[i], self._step, self._theta)
            if cell >= 0:
                return i, cell
        return None

    def tangent(self, point: LinearisationPoint) -> sp.csr_array:
        """M + θΔt D + θΔt² ∂f/∂u₁ (d, d), symmetric: an approximation with an error of half the rotation in the
        step."""
        step, theta, (u0, u1, memory) = self._step, self._theta, (point.start, point.end, point.memory)

        return self._tangents.matrix(
            lambda part, at: part.mean_tangent(u0[at], u1[at], step, symmetric=True, theta=theta),
            lambda part, i, at: part.mean_tangent(u0[at], u1[at], memory[i], step, theta),
        )


class EndForces:
    """The forces at the end of a step, f_int(u₁) + D v₁; in statics f_int(u₁), without rates."""

    def __init__(self, assembly: Assembly, coefficients: StepCoefficients, rest: sp.csr_array | None) -> None:
        """rest (d, d): terms of the matrix besides h Δt K; None is 0."""
        self._assembly, self._weight = assembly, coefficients.weight
        self._step = 0.0 if coefficients.static else coefficients.step
        self._viscous = None if coefficients.static else assembly.viscous
        scale = coefficients.force * coefficients.step
        self._tangents = None if assembly.linear else Tangents(assembly, rest, scale)

    def resisting(self, state: State, u: Array, y: Array) -> Array:
        """The force (d,), N, at the end u of a step by y; nan where a cell is inverted."""
        response = self._assembly.respond(u, state.memory, self._step)
        if max(response.inverted, default=-1) >= 0:
            return np.full_like(u, np.nan)
        if self._viscous is None:
            return response.force
        return response.force + self._viscous @ (state.v + (y - state.v) / self._weight)

    def inverted_cell(self, state: State, u: Array) -> tuple[int, int] | None:
        """The number of a part and its inverted cell at u; None without inverted cells."""
        inverted = self._assembly.respond(u, state.memory, self._step).inverted
        return next(((i, cell) for i, cell in enumerate(inverted) if cell >= 0), None)

    def tangent(self, point: LinearisationPoint) -> sp.csr_array:
        """rest + h Δt ∂f_int/∂u₁ (d, d), of nonlinear systems."""
        assert self._tangents is not None
        u, memory, step = point.end, point.memory, self._step
        return self._tangents.matrix(
            lambda part, at: part.tangent(u[at]),
            lambda part, i, at: symmetric_part(part.tangent(u[at], memory[i], step)),
        )


StepForces = MeanForces | EndForces
