"""Forces of a flow on parts: matrices of damping and stiffness that are in general not symmetric."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, cast, runtime_checkable

from scipy.sparse import csr_array

from arlequin.models import checks
from arlequin.models.errors import UserError, short_repr
from arlequin.models.part import Part, Weighting


@dataclass(frozen=True, eq=False)
class FlowMatrices:
    """Forces f = −C v − K u of a flow on the nodal displacements u and velocities v of parts, one after the other.

    damping C (n, n), N·s/m, and stiffness K (n, n), N/m, in general not symmetric.
    """

    damping: csr_array
    stiffness: csr_array


@runtime_checkable
class FlowForce(Protocol):
    """A flow that acts on parts, of a velocity U in m/s."""

    @property
    def name(self) -> str: ...

    @property
    def velocity(self) -> float:
        """U, m/s."""
        ...

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts on which it acts."""
        ...

    def at(self, velocity: float) -> Self:
        """The same flow at another velocity, m/s."""
        ...

    def matrices(self, weights: Mapping[str, Weighting]) -> FlowMatrices:
        """The matrices, C proportional to U and K to U²; weights: of the parts that share their energy with others in a
        junction, by name."""
        ...


class Flow:
    """Base class of the flows here: dataclasses with the field `velocity`, which act on their `part`."""

    part: Any
    __repr__ = short_repr

    @property
    def parts(self) -> tuple[Part, ...]:
        """The part on which it acts."""
        return (self.part,)

    def at(self, velocity: float) -> Self:
        """The same flow at another velocity, m/s."""
        return cast(Self, replace(cast(Any, self), velocity=velocity))


def check_velocity(name: str, velocity: Any) -> float:
    """The velocity of a flow, m/s, not below 0."""
    value = checks.finite("velocity", velocity)
    if value < 0.0:
        raise UserError.parameter(
            "velocity", velocity, f"must not be below 0: flow '{name}' runs the other way with another direction"
        )
    return value
