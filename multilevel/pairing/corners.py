"""Sharp corners of a master against the facets of its slave."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from arlequin.models.part import Surface
from arlequin.models.types import Array
from arlequin.multilevel.obstacles.base import CorneredObstacle
from arlequin.multilevel.pairing.kinematics import Kinematics, Partners
from arlequin.multilevel.search.corners import NormalCones
from arlequin.multilevel.search.facets import FacetMesh, frames, in_space
from arlequin.multilevel.search.search import DEPTH, FacetTree

# nearer to a node of the slave than this, relative to the extent of the surface, the corner is left to the node, whose
# gap then counts as zero; a node that stands out by more does not touch
AT_NODE = 1e-12


@dataclass(frozen=True, eq=False)
class CornerPairing:
    """Contact of the master's corners c with the facets of the slave, the roles of both exchanged.

    With n_s the outward normal of the slave at the foot of the corner, the normal out of the master is n = −n_s, the
    gap g = n_s·(x_c − x_s), and the rows are those of a slave point with the opposite frame, e → −e, so that they are
    rates of slave − master as all others.

    corners: nodes of a master surface with their cones, or positions (k, a) and cones (k, 7) of a fixed obstacle.
    held (n,): nodes of the slave that are contact points themselves: a corner at one of them is left to it. reach, m;
    areas (k,), m².
    """

    mesh: FacetMesh
    held: NDArray[np.bool_]
    reach: float
    areas: Array
    corners: NormalCones | tuple[Array, Array]

    @property
    def fixed(self) -> bool:
        return False

    def at(self, slave: Array, master: Array) -> Kinematics:
        """slave, master (n, a), m."""
        positions, cones = self._corners(master)
        tree = FacetTree.build(self.mesh, slave)
        found = tree.closest(in_space(positions), self.reach, 0.0, DEPTH, cones)
        facet, at = found.facet, np.maximum(found.facet, 0)
        corners = self.mesh.facets[at]
        apart = np.linalg.norm(slave[corners] - positions[:, None], axis=2)
        at_node = ((apart <= AT_NODE * self.mesh.extent) & self.held[corners]).any(axis=1)
        facet = np.where(at_node, -1, facet)
        gap = np.where(facet < 0, np.inf, found.gap)
        normals = np.where(facet[:, None] < 0, 0.0, -found.normal[:, : self.mesh.axes])
        return self._kinematics(tree, positions, gap, normals, Partners(facet, found.reference), len(master))

    def with_partners(self, found: Kinematics, slave: Array, master: Array) -> Kinematics:
        """Kinematics with fixed partners."""
        from arlequin.multilevel.search._kernels import positions_on_facets

        assert found.partners is not None
        positions, partners = self._corners(master)[0], found.partners
        tree, feet = FacetTree.build(self.mesh, slave), np.zeros((len(positions), 3))
        positions_on_facets(self.mesh.kind, self.mesh.facets, tree.positions, partners.facet, partners.reference, feet)
        apart = feet[:, : self.mesh.axes] - positions
        gap = np.where(found.paired, np.vecdot(found.normals, apart), np.inf)
        return self._kinematics(tree, positions, gap, found.normals, partners, len(master))

    def _corners(self, master: Array) -> tuple[Array, Array]:
        """Positions (k, a) and cones (k, 7)."""
        own = self.corners
        return (np.ascontiguousarray(master[own.nodes]), own.at(master)) if isinstance(own, NormalCones) else own

    def _kinematics(
        self, tree: FacetTree, positions: Array, gap: Array, normals: Array, partners: Partners, masters: int
    ) -> Kinematics:
        from arlequin.multilevel.search._kernels import fill_rows

        count, axes = positions.shape
        slaves, frame = self.mesh.node_count, frames(normals)
        nodes = np.zeros((count, 0), dtype=np.int64)
        if isinstance(self.corners, NormalCones):
            nodes = (slaves + self.corners.nodes)[:, None]
        width = axes * (nodes.shape[1] + self.mesh.facets.shape[1])
        pointers = np.concatenate([[0], np.cumsum(np.repeat(np.where(partners.facet >= 0, width, 0), axes))])
        pointers = pointers.astype(np.int64)
        indices, data = np.empty(pointers[-1], np.int64), np.empty(pointers[-1])
        fill_rows(
            (self.mesh.kind, self.mesh.facets, tree.positions), in_space(positions),
            (partners.facet, partners.reference), -frame, (nodes, np.ones(nodes.shape)), 0, (pointers, indices, data),
        )  # fmt: skip
        rows = csr_array((data, indices, pointers), shape=(count * axes, axes * (slaves + masters)))
        return Kinematics(rows, gap, normals, np.ascontiguousarray(frame[:, 1:]), positions, partners)


def corner_pairing(
    slave: Surface, master: object, held: NDArray[np.bool_], reach: float, free: bool
) -> CornerPairing | None:
    """Of the sharp corners of a master surface or an obstacle; None where it has none, or the slave has no facets.

    held (n,): see `CornerPairing`; reach, in sizes of the largest facet; free: also the ends of a master surface.
    """
    if not FacetMesh.suits(slave):
        return None
    corners: NormalCones | tuple[Array, Array]
    if isinstance(master, Surface) and FacetMesh.suits(master):
        corners = NormalCones.of(FacetMesh.of(master), free=free)
        count = corners.nodes.size
    elif isinstance(master, CorneredObstacle):
        corners = master.corners()
        count = len(corners[0])
    else:
        return None
    mesh, areas = FacetMesh.of(slave), np.full(count, float(np.abs(slave.areas).mean()))
    return CornerPairing(mesh, held, reach * float(mesh.size.max()), areas, corners) if count else None
