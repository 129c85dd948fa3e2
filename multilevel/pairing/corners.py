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

# distance to a node of the slave, relative to the extent of the surface, below which the node is the contact point
# instead of the corner, and its gap counts as zero
AT_NODE = 1e-12


@dataclass(frozen=True, eq=False)
class CornerPairing:
    """Contact of the master's corners c with the facets of the slave, with exchanged roles.

    With n_s the outward normal of the slave at the foot of the corner, the normal out of the master is n = −n_s, the
    gap g = n_s·(x_c − x_s), and the rows are those of a slave point with the opposite frame, e → −e, so that they are
    rates of slave − master as all others.

    corners: nodes of a master surface with their cones, or positions (k, a) and cones (k, 7) of a fixed obstacle.
    contact_nodes (n,): nodes of the slave that are contact points; a corner at one of them is left out. reach, m; areas
    (k,), m².
    """

    mesh: FacetMesh
    contact_nodes: NDArray[np.bool_]
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
        projections = tree.closest(in_space(positions), self.reach, 0.0, DEPTH, cones)
        facet, at = projections.facet, np.maximum(projections.facet, 0)
        corners = self.mesh.facets[at]
        distances = np.linalg.norm(slave[corners] - positions[:, None], axis=2)
        at_node = ((distances <= AT_NODE * self.mesh.extent) & self.contact_nodes[corners]).any(axis=1)
        facet = np.where(at_node, -1, facet)
        gap = np.where(facet < 0, np.inf, projections.gap)
        normals = np.where(facet[:, None] < 0, 0.0, -projections.normal[:, : self.mesh.axes])
        return self._kinematics(tree, positions, gap, normals, Partners(facet, projections.reference), len(master))

    def with_partners(self, reference: Kinematics, slave: Array, master: Array) -> Kinematics:
        """Kinematics with fixed partners."""
        from arlequin.multilevel.search._kernels import positions_on_facets

        assert reference.partners is not None
        positions, partners = self._corners(master)[0], reference.partners
        tree, feet = FacetTree.build(self.mesh, slave), np.zeros((len(positions), 3))
        positions_on_facets(self.mesh.kind, self.mesh.facets, tree.positions, partners.facet, partners.reference, feet)
        offsets = feet[:, : self.mesh.axes] - positions
        gap = np.where(reference.paired, np.vecdot(reference.normals, offsets), np.inf)
        return self._kinematics(tree, positions, gap, reference.normals, partners, len(master))

    def _corners(self, master: Array) -> tuple[Array, Array]:
        """Positions (k, a) and cones (k, 7)."""
        corners = self.corners
        return (
            (np.ascontiguousarray(master[corners.nodes]), corners.at(master))
            if isinstance(corners, NormalCones)
            else corners
        )

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
    slave: Surface, master: object, contact_nodes: NDArray[np.bool_], reach: float, free: bool
) -> CornerPairing | None:
    """The pairing of the sharp corners of a master surface or obstacle; None without corners or facets of the slave.

    contact_nodes (n,): see `CornerPairing`; reach, in sizes of the largest facet; free: with the ends of the master.
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
    return CornerPairing(mesh, contact_nodes, reach * float(mesh.size.max()), areas, corners) if count else None
