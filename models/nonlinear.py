"""The contracts of parts whose internal force is not K u."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from scipy.sparse import csr_array

from models.part import Assembled
from models.types import Array


@runtime_checkable
class Nonlinear(Assembled, Protocol):
    """A part whose internal force is not K u: `stiffness` is only the tangent at u = 0, and the pattern of all.

    `damping` is what is linear in the velocity; `mean_viscous` the rest of the damping.
    """

    def tangent(self, u: Array) -> csr_array:
        """∂f/∂u (d, d) of `internal` at u, N/m; symmetric."""
        ...

    def least_volume(self, u: Array) -> tuple[float, int]:
        """The smallest ratio of a volume at u (d,) to the one at rest, not positive where a cell is inside out.

        And that cell; −1 where there are no cells.
        """
        ...

    @property
    def viscous(self) -> bool:
        """Whether `mean_viscous` is not zero."""
        ...

    def mean_internal(self, u0: Array, u1: Array, theta: float = 0.5) -> Array:
        """Mean force (d,) of a step, N, with f·(u₁ − u₀) the change of the stored energy; more for θ > ½.

        For small strains and rotations it is (1 − θ) f(u₀) + θ f(u₁).
        """
        ...

    def mean_viscous(self, u0: Array, u1: Array, step: float) -> Array:
        """Mean viscous force (d,) of a step (s), N; it dissipates f·(u₁ − u₀) ≥ 0."""
        ...

    def mean_tangent(
        self, u0: Array, u1: Array, step: float | None = None, symmetric: bool = False, theta: float = 0.5
    ) -> csr_array:
        """∂/∂u₁ (d, d) of `mean_internal`, with a step of it and `mean_viscous`; symmetric: an approximation."""
        ...


@runtime_checkable
class Constrained(Nonlinear, Protocol):
    """A part of point masses whose coordinates, their displacements, keep c(u) = 0: c is quadratic, c(0) = 0."""

    @property
    def points(self) -> Array:
        """Initial positions (k, axis) of the masses, m."""
        ...

    def strains(self, u: Array) -> Array:
        """c(u) (r,), m."""
        ...

    def strain_gradient(self, u: Array) -> Array:
        """∂c/∂u (r, d) at u."""
        ...

    def placed(self, u: Array) -> Array:
        """The coordinates (d,) nearest to u with c = 0."""
        ...


@runtime_checkable
class Deforming(Protocol):
    """A part whose cells change their shape, and with it their frequencies."""

    def frequency(self, u: Array) -> float:
        """Bound of the largest angular frequency of the cells as they are at u (d,), rad/s."""
        ...


@dataclass(frozen=True)
class Response:
    """What a part does at the end of a step: force (d,), N; stored energy, J; what the step dissipated, J; memory.

    inverted: a cell that is inside out, of which the rest is no answer; −1: none.
    """

    force: Array
    stored: float
    dissipated: float
    memory: Array
    inverted: int = -1


@runtime_checkable
class PathDependent(Assembled, Protocol):
    """A part whose stress depends on what its points went through: `memory` (c, q, m), kept by accepted steps only."""

    def fresh(self) -> Array:
        """The memory of virgin matter."""
        ...

    def respond(self, u: Array, memory: Array, step: float) -> Response:
        """The internal force at u (d,), reached in a step (s) from where the points have this memory."""
        ...

    def tangent(self, u: Array, memory: Array, step: float) -> csr_array:
        """∂f/∂u (d, d) of `respond` at u, N/m; symmetric but where heat softens; no cell may be inside out."""
        ...

    def mean_internal(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> tuple[Array, int]:
        """Mean force (d,) of a step (s) from u₀, where the points have this memory, to u₁, N; a cell inside out there.

        The cell is −1 where there is none; where there is one, the force is no answer.
        """
        ...

    def mean_tangent(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> csr_array:
        """∂/∂u₁ (d, d) of `mean_internal`: a symmetric approximation; UserError where a cell is inside out."""
        ...

    @property
    def dissipates(self) -> bool:
        """Whether it takes energy at all."""
        ...

    @property
    def recorded(self) -> tuple[tuple[str, str, str], ...]:
        """Name, units and long name of what is recorded of the state of the points."""
        ...

    def cell_means(self, u: Array, memory: Array) -> tuple[Array, ...]:
        """What is recorded, each (c,): means over the cells at u (d,), where the points have this memory."""
        ...

    def everywhere(self, values: Array) -> Array:
        """Values (c, …) of the cells that have points, on all cells of the part: 0 in the others."""
        ...
