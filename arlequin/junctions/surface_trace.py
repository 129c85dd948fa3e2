"""Displacement of a part on one of its surfaces, as surface junctions need it: facets, interpolation, nodal dofs.

The part is a mesh of finite elements or a `Superelement` that retains the displacements of the surface's nodes.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from skfem import CellBasis, Mesh, MeshLine, MeshQuad, MeshTri

from arlequin.models.errors import UserError
from arlequin.models.fem.elements import facet_order, scalar_basis
from arlequin.models.part import MeshedPart, Surface
from arlequin.models.reduction.superelement import Superelement
from arlequin.models.types import Array, Indices
from arlequin.multilevel.search.facets import KINDS, FacetMesh, in_space
from arlequin.multilevel.search.search import FacetTree
from arlequin.overlap.geometry import candidate_pairs, distance_outside, to_reference

# largest distance of a node from a surface, as a fraction of a cell or facet
ON = 1e-6
# bound of the distance of a second-order cell from the box of its nodes, relative to the largest side of the box
_BULGE = 0.5
_ROUND_OFF = 1e-14  # of a shape function


@dataclass(frozen=True, eq=False)
class SurfaceTrace:
    """Displacement field of a part on a surface, for the junction of this name."""

    surface: Surface
    junction: str

    @property
    def axes(self) -> int:
        """Number of displacements of a node."""
        return int(self.surface.positions.shape[1])

    @cached_property
    def displacements(self) -> csr_array:
        """The displacements (n·axis, nodal) of all nodes of the part, without rotations."""
        part, axes = self.surface.part, self.axes
        columns = (np.arange(part.node_count)[:, None] * part.components + np.arange(axes)).ravel()
        rows = np.arange(columns.size)
        return csr_array((np.ones(columns.size), (rows, columns)), shape=(columns.size, part.dof_count))

    def check_retained(self) -> None:
        """UserError where a superelement does not retain all displacements of a node of the surface."""
        part = self.surface.part
        if not isinstance(part, Superelement):
            return
        dofs = self.surface.nodes[:, None] * part.components + np.arange(self.axes)
        lacking = (part.coordinate_numbers[dofs] < 0).any(axis=1)
        if lacking.any():
            raise UserError(
                f"junction '{self.junction}': superelement '{part.name}' does not retain all displacements of node "
                f"{int(self.surface.nodes[np.argmax(lacking)])}"
            )

    @cached_property
    def corners(self) -> int:
        """Corners of a facet; UserError for nodes without facets."""
        part, nodes = self.surface.part, int(self.surface.facets.shape[1])
        if isinstance(part, MeshedPart):
            return 2 if self.axes == 2 else int(part.mesh.facets.shape[0])
        if nodes == 1:
            raise UserError(
                f"junction '{self.junction}': '{self.surface.name}' of superelement '{part.name}' has nodes, but no "
                'facets: give them, interface={"' + self.surface.name + '": {"facets": …}}, or take Tie, where nodes '
                "coincide"
            )
        if self.axes == 2:
            return 2
        corners = {3: 3, 6: 3}.get(nodes, 4 if math.isqrt(nodes) ** 2 == nodes else 0)
        if not corners:
            raise UserError(
                f"junction '{self.junction}': facets of {nodes} nodes of superelement '{part.name}' have no shape "
                "functions here: triangles of 3 or 6 nodes and quadrilaterals of 4, 9, 16, … have"
            )
        return corners

    @property
    def order(self) -> int:
        """Order of the shape functions, from the nodes of a facet."""
        return facet_order(self.axes, self.corners, self.surface.facets.shape[1])

    def flat_mesh(self, origin: Array, frame: Array) -> Mesh:
        """The facets of a flat surface as a mesh in the coordinates of its frame (axis − 1, axis)."""
        kind = {2: MeshLine, 3: MeshTri, 4: MeshQuad}[self.corners]
        nodes, cells = np.unique(self.surface.facets[:, : self.corners], return_inverse=True)
        p = ((self.surface.part.positions[nodes] - origin) @ frame.T).T
        return kind(np.ascontiguousarray(p), np.ascontiguousarray(cells.reshape(-1, self.corners).T))

    def flat_basis(self, mesh: Mesh) -> CellBasis:
        """The part's shape functions on a mesh of its facets."""
        return scalar_basis(mesh, self.order)

    def nodes_of(self, basis: CellBasis, origin: Array, frame: Array) -> csr_array:
        """The nodes (function, n) of the part whose displacements are the coefficients of `flat_basis`."""
        from scipy.spatial import cKDTree

        local = (self.surface.positions - origin) @ frame.T
        distance, nearest = cKDTree(local).query(basis.doflocs.T)
        if distance.max() > ON * float(np.ptp(local, axis=0).max()):
            raise UserError(
                f"junction '{self.junction}': nodes between the corners of '{self.surface.name}' of "
                f"'{self.surface.part.name}' are not where its shape functions have them"
            )
        entries = np.ones(basis.N), (np.arange(basis.N), self.surface.nodes[nearest])
        return csr_array(entries, shape=(basis.N, self.surface.part.node_count))

    def interpolation(self, points: Array) -> tuple[csr_array, Indices]:
        """Rows (p, n) by which nodal values of the part are interpolated at those points of (k, axis) that lie on the
        surface, and their numbers (p,)."""
        if isinstance(self.surface.part, MeshedPart):
            return self._in_cells(points)
        if self.surface.facets.shape[1] == 1:
            return self._at_nodes(points)
        return self._on_facets(points)

    def _in_cells(self, points: Array) -> tuple[csr_array, Indices]:
        """By the cells of a mesh."""
        part = self.surface.meshed
        cells, X = self._locate(points)
        found = np.flatnonzero(cells >= 0)
        if not found.size:
            return csr_array((0, part.node_count)), found
        basis = part.basis
        values = np.stack([basis.elem.lbasis(X[:, found], a)[0] for a in range(basis.Nbfun)])
        return self._rows(values.T, basis.element_dofs[:, cells[found]].T), found

    def _on_facets(self, points: Array) -> tuple[csr_array, Indices]:
        """By the facets of a superelement."""
        from arlequin.multilevel.pairing._facet_kernels import tabulate

        surface = self.surface
        if (self.axes, surface.facets.shape[1]) not in KINDS:
            raise UserError(
                f"junction '{self.junction}': Tie takes facets of order 1 and 2, those of '{surface.name}' of "
                f"superelement '{surface.part.name}' have {surface.facets.shape[1]} nodes: take Mortar"
            )
        mesh = FacetMesh.of(surface)
        tree = FacetTree.build(mesh, surface.positions)
        projections, _ = tree.nearest(np.ascontiguousarray(in_space(points)), ON * float(mesh.size.max()))
        found = np.flatnonzero(projections.facet >= 0)
        reference = np.ascontiguousarray(projections.reference[found])
        if surface.facets.shape[1] not in (3, 6) or self.axes == 2:
            reference = (
                2.0 * reference - 1.0
            )  # lines and quadrilaterals of the search are [0, 1], of `tabulate` [−1, 1]
        # its kinds begin with that of a point
        values, _ = tabulate(mesh.kind + 1, mesh.facets.shape[1], reference)
        return self._rows(values[:, :, 0], surface.nodes[mesh.facets[projections.facet[found]]]), found

    def _at_nodes(self, points: Array) -> tuple[csr_array, Indices]:
        """By nodes that coincide."""
        from scipy.spatial import cKDTree

        positions = self.surface.positions
        size = float(np.ptp(self.surface.part.positions, axis=0).max()) or 1.0
        distance, nearest = cKDTree(positions).query(points)
        found = np.flatnonzero(distance <= ON * size)
        return self._rows(np.ones((found.size, 1)), self.surface.nodes[nearest[found]][:, None]), found

    def _rows(self, values: Array, nodes: Indices) -> csr_array:
        """Rows (p, n) of values (p, w) at nodes (p, w), without round-off."""
        rows = np.broadcast_to(np.arange(len(values))[:, None], values.shape)
        entries = np.where(np.abs(values) < _ROUND_OFF, 0.0, values)
        shape = (len(values), self.surface.part.node_count)
        matrix = csr_array((entries.ravel(), (rows.ravel(), nodes.ravel())), shape=shape)
        matrix.eliminate_zeros()
        return matrix

    def _locate(self, points: Array) -> tuple[Indices, Array]:
        """Cell (k,), −1 for none, and reference coordinates (axis, k) of points (k, axis) on the surface of a mesh."""
        part, facets = self.surface.meshed, self.surface.facets
        mesh = part.mesh
        # cells with all the corners of a facet of the surface
        on_surface = np.zeros(part.node_count, dtype=bool)
        on_surface[facets] = True
        cells = np.flatnonzero(on_surface[part.basis.element_dofs].sum(axis=0) >= facets.shape[1])
        nodes = mesh.doflocs[:, mesh.dofs.element_dofs[:, cells]]
        low, high = nodes.min(axis=1), nodes.max(axis=1)
        straight = mesh.dofs.element_dofs.shape[0] == mesh.t.shape[0]
        margin = (10.0 * ON if straight else _BULGE) * (high - low).max(axis=0)
        boxes = np.stack([low - margin, high + margin], axis=1)
        near, point = candidate_pairs(boxes, np.ascontiguousarray(points.T[:, None, :]))
        X = to_reference(mesh, cells[near], points[point].T[:, :, None], partial=True)[0][:, :, 0]
        distance = distance_outside(mesh, X)
        on = np.flatnonzero(distance <= ON)
        on = on[np.lexsort((distance[on], point[on]))]
        located, first = np.unique(point[on], return_index=True)
        containing, places = np.full(len(points), -1), np.zeros((mesh.dim(), len(points)))
        containing[located], places[:, located] = cells[near[on[first]]], X[:, on[first]]
        return containing, places
