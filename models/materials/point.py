"""Protocols of materials at the point: stress laws with internal variables.

`PointMaterial` is the extension point: a law evaluated at all quadrature points at once, in NumPy or in a user's
compiled function, for small or finite strains. `CompiledLaw` is the protocol of the laws of the package, which are
compiled into the loops over the cells (`_point_kernels`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.types import Array


@dataclass(frozen=True, eq=False)
class PointResponse:
    """State of p points at the end of a step.

    stress (p, 3, 3): first Piola–Kirchhoff stress P (small strains: σ), Pa; memory (p, m): internal variables;
    stored, dissipated (p,): stored energy and that dissipated in the step, per reference volume, J/m³; tangent
    (p, 3, 3, 3, 3): ∂P_ij/∂H_kl, Pa, where requested.
    """

    stress: Array
    memory: Array
    stored: Array
    dissipated: Array
    tangent: Array | None = None


@runtime_checkable
class PointMaterial(Protocol):
    """A stress law P(H, internal variables) of the displacement gradient H = ∂u/∂X.

    kinematics: ("small",) where P = σ depends on ½(H + Hᵀ), or ("finite",) where the law is objective; variables:
    names of the m internal variables of a point, all 0 at the start; recorded: units and long name of those of which
    a result has the cell means; dissipates: whether the law dissipates energy.
    """

    @property
    def density(self) -> float:
        """ρ of the reference configuration, kg/m³."""
        ...

    @property
    def linear(self) -> LinearElastic:
        """Elasticity of fast small strains: stiffest response, for stable steps, wave speeds and the pattern of K."""
        ...

    @property
    def kinematics(self) -> tuple[Literal["small", "finite"], ...]: ...

    @property
    def variables(self) -> tuple[str, ...]: ...

    @property
    def recorded(self) -> Mapping[str, tuple[str, str]]: ...

    @property
    def dissipates(self) -> bool: ...

    def respond(self, gradient: Array, memory: Array, step: float, tangent: bool) -> PointResponse:
        """State at H = gradient (p, 3, 3), reached in a step Δt (s) from the internal variables memory (p, m).

        A step of 0 is an instant: rate-independent flow may take place, relaxation does not. At the displacement and
        internal variables of a state it must return the stress of that state. The arguments must not be changed: a
        step that is repeated evaluates the law again with the same memory.
        """
        ...


@runtime_checkable
class CompiledLaw(Protocol):
    """A law of `_point_kernels`, selected by its number.

    kind: its number in finite strains; coefficients: parameters of the kernels; unyielding: the
    coefficients of the same law without plastic flow; dissipates: whether it has plastic flow; heats: whether it
    has a temperature.
    """

    @property
    def density(self) -> float: ...

    @property
    def linear(self) -> LinearElastic: ...

    @property
    def kinematics(self) -> tuple[Literal["small", "finite"], ...]: ...

    @property
    def kind(self) -> int: ...

    @property
    def coefficients(self) -> Array: ...

    @property
    def unyielding(self) -> Array: ...

    @property
    def dissipates(self) -> bool: ...

    @property
    def heats(self) -> bool: ...
