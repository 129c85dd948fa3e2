"""What a part says that takes the place of finite elements, whose nodes and surfaces it moves in its own way."""

from dataclasses import replace
from typing import Any

from models.part import Surface
from models.types import Array, Indices


class StandIn:
    """Name, nodes, mesh and surfaces of the `part` whose place it takes."""

    part: Any

    @property
    def model(self) -> Any:
        """The finite elements."""
        return self.part

    @property
    def name(self) -> str:
        """The part's name."""
        return self.part.name

    @property
    def components(self) -> int:
        """Displacement components of a node."""
        return self.part.components

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self.part.node_count

    @property
    def dof_count(self) -> int:
        """Number of nodal displacements."""
        return self.part.dof_count

    @property
    def positions(self) -> Array:
        """Initial positions of the nodes (n, axis), m."""
        return self.part.positions

    @property
    def connectivity(self) -> Indices:
        """Nodes at the corners of the cells (c, corner)."""
        return self.part.connectivity

    @property
    def mesh(self) -> Any:
        """The scikit-fem mesh."""
        return self.part.mesh

    @property
    def basis(self) -> Any:
        """The scalar scikit-fem basis."""
        return self.part.basis

    @property
    def wave_speed(self) -> float:
        """Speed of the fastest elastic wave, m/s."""
        return self.part.wave_speed

    def boundary(self, name: str) -> Surface:
        """The named boundary, moved as the part in its place moves it."""
        return replace(self.part.boundary(name), part=self)

    def quadrature_points(self) -> Array:
        """Positions of the quadrature points (axis, c, q), m."""
        return self.part.quadrature_points()

    def stress(self, u: Array) -> Array:
        """Stress (c, q, component) in Pa at the nodal displacement u (nodal,)."""
        return self.part.stress(u)
