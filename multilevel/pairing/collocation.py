"""Collocated pairings: contact at the nodes or quadrature points of a slave surface, and between pairs of points."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, hstack

from arlequin.models.checks import finite_array, non_negative, one_of, positive
from arlequin.models.errors import UserError
from arlequin.models.fem.surface import facet_indices, facet_measure
from arlequin.models.part import Surface
from arlequin.models.types import Array, Indices
from arlequin.multilevel.obstacles.base import CorneredObstacle, FacingObstacle, Obstacle, PatchedObstacle
from arlequin.multilevel.pairing.kinematics import Kinematics, Pairing, Partners
from arlequin.multilevel.pairing.stacked import stacked
from arlequin.multilevel.search.corners import LOOSE, NormalCones, sharp_edges
from arlequin.multilevel.search.facets import FacetMesh, frames, in_space
from arlequin.multilevel.search.patches import SmoothPatches
from arlequin.multilevel.search.search import ANY, DEPTH, OVERHANG, FacetTree, Limits


@dataclass(frozen=True, eq=False)
class PointPairing:
    """Contact between pairs of points along a fixed normal n out of the master: g = n·(x_s − x_m), slips across n.

    The forces on both points are opposite, which conserves linear momentum. As n is fixed they form a couple unless
    the points lie on a line along it: for small displacements, as Code_Aster's element between two nodes.
    normal (a,); partners (k,): master node of each slave node; areas (k,), m², of the slave.
    """

    normal: Array
    partners: Indices
    areas: Array

    @classmethod
    def of(cls, slave: Surface, master: Surface, direction: Any) -> "PointPairing":
        """direction (a,), from slave to master: n = −direction. The master is one node, or matches node by node."""
        axes = slave.positions.shape[1]
        along = finite_array("direction", np.atleast_1d(direction), (axes,))
        if not along.any():
            raise UserError.parameter("direction", along.tolist(), "must not be zero")
        distances = np.linalg.norm(slave.positions[:, None] - master.positions[None], axis=2)
        partners = distances.argmin(axis=1)
        if len(master.nodes) > 1 and (
            len(slave.nodes) != len(master.nodes) or np.unique(partners).size != partners.size
        ):
            raise UserError(
                f"{len(slave.nodes)} points of '{slave.name}' and {len(master.nodes)} of '{master.name}': the master "
                "must be one point, or match the slave point by point"
            )
        return cls(-along / np.linalg.norm(along), partners.astype(np.int64), slave.areas)

    @property
    def fixed(self) -> bool:
        return True

    def at(self, slave: Array, master: Array) -> Kinematics:
        """slave, master (n, a), m."""
        count, axes = slave.shape
        normals = np.repeat(self.normal[None], count, axis=0)
        frame = frames(normals)
        point = np.arange(count)
        sides = []
        for nodes, size in ((point, count), (self.partners, len(master))):
            columns = np.repeat(nodes[:, None] * axes + np.arange(axes), axes, axis=0)
            entries = (frame.ravel(), (np.repeat(np.arange(count * axes), axes), columns.ravel()))
            sides.append(csr_array(entries, shape=(count * axes, axes * size)))
        rows = csr_array(hstack([sides[0], -sides[1]]))
        gap = (slave - master[self.partners]) @ self.normal
        return Kinematics(rows, gap, normals, np.ascontiguousarray(frame[:, 1:]), slave)


@dataclass(frozen=True, eq=False)
class SlavePoints:
    """Contact points k of a slave surface at Σ_m weights_km x_nodes(k,m).

    nodes (k, m): numbered within the surface; weights (k, m) = φ_m.

    areas (k,), m², in the reference configuration: they sum to the area of the surface.
    """

    nodes: Indices
    weights: Array
    areas: Array

    def positions(self, surface: Array) -> Array:
        """Positions (k, a) at the positions (n, a) of the surface's nodes."""
        return np.einsum("km,kma->ka", self.weights, surface[self.nodes])


def at_nodes(surface: Surface, nodes: Indices | None = None) -> SlavePoints:
    """The nodes of the surface, with the areas ∫ φ_k dΓ; or chosen ones (k,), with the mean, as ∫ φ_k dΓ may be 0."""
    if nodes is not None:
        areas = np.full(nodes.size, float(np.abs(surface.areas).mean()))
        return SlavePoints(nodes[:, None], np.ones((nodes.size, 1)), areas)
    count = len(surface.nodes)
    return SlavePoints(np.arange(count)[:, None], np.ones((count, 1)), surface.areas)


def at_gauss_points(surface: Surface) -> SlavePoints:
    """The quadrature points of the facets (`FiniteElement.facet_basis`), facet by facet, with their measures."""
    part = surface.meshed.model
    facets = facet_indices(part.name, part.mesh, surface.name)
    basis = part.finite_element.facet_basis(part.mesh, facets)  # type: ignore[attr-defined]
    measure = facet_measure(basis, part.depth, part.axisymmetric)  # type: ignore[attr-defined]
    values = np.stack([np.broadcast_to(np.asarray(function[0]), measure.shape) for function in basis.basis])
    # a basis function of the cell → the node of the facet that it belongs to (none: it vanishes on the facet)
    is_node = basis.element_dofs.T[:, :, None] == surface.facets[:, None, :]
    weights = np.einsum("bfq,fbm->fqm", values, is_node.astype(float)).reshape(measure.size, -1)
    nodes = np.repeat(np.searchsorted(surface.nodes, surface.facets), measure.shape[1], axis=0)
    return SlavePoints(nodes, np.ascontiguousarray(weights), measure.ravel())


GRAZING = 0.05  # cosine to the normal of the master below which a direction has no intersection, as in the search
REACH = 2.0  # default largest distance of partners, in sizes of the largest facet


def pair_points(
    slave: Surface,
    master: Obstacle | Surface,
    points: Literal["nodes", "gauss"] = "nodes",
    *,
    nodes: Indices | None = None,
    direction: Any = None,
    reach: float | None = None,
    overhang: float = OVERHANG,
) -> Pairing:
    """Pairing of the nodes or Gauss points of a slave surface with an obstacle or a deformable surface.

    Where the master has sharp edges, the closest face may be on the wrong side: nodes are then paired only with faces
    that can face the slave's facets at the node. nodes (k,): a subset of the slave's, by default all.
    direction (a,), from slave to master: projection along it instead of to the closest point; reach (m): largest
    distance of partners (default: twice the largest facet of the master); overhang, in facet sizes: distance past a
    free end of the master within which points are still paired. These three are for deformable masters; a master of
    points has no normal and needs the direction.
    """
    one_of("points", points, ("nodes", "gauss"))
    axes = slave.positions.shape[1]
    if axes == 1 and points == "gauss":
        raise UserError.parameter("points", points, "must be nodes: the end of a bar is one point")
    contact_points = at_nodes(slave, nodes) if points == "nodes" else at_gauss_points(slave)
    cones = _cones(slave, master, nodes) if points == "nodes" and direction is None else None
    if not isinstance(master, Surface):
        for name, value in (("direction", direction), ("reach", reach)):
            if value is not None:
                raise UserError.parameter(name, value, "is for a deformable master")
        if master.axes != axes:
            raise UserError(f"the obstacle is {master.axes}D, part '{slave.part.name}' {axes}D")
        parts = master.patches() if isinstance(master, PatchedObstacle) else ()
        return stacked([ObstaclePairing(contact_points, patch, cones) for patch in parts or (master,)])
    other = master.positions.shape[1]
    if other != axes:
        raise UserError(f"part '{master.part.name}' is {other}D, part '{slave.part.name}' {axes}D")
    if master.facets.shape[1] == 1 and direction is not None:
        if slave.facets.shape[1] > 1:
            raise UserError(f"'{master.name}' of '{master.part.name}' is a point: make it the slave of '{slave.name}'")
        return PointPairing.of(slave, master, direction)
    if axes == 1:
        return EndPairing(contact_points, master.normals)
    mesh = FacetMesh.of(master)
    max_distance = REACH * float(mesh.size.max()) if reach is None else positive("reach", reach)
    if direction is not None:
        direction = finite_array("direction", direction, (axes,))
        if not direction.any():
            raise UserError.parameter("direction", direction, "must not be zero")
        direction = direction / np.linalg.norm(direction)
        if np.abs(master.normals @ direction).max() <= GRAZING:
            raise UserError.parameter("direction", direction.tolist(), f"is tangential to '{master.name}'")
    overhang = non_negative("overhang", overhang)
    patches = SmoothPatches.of(mesh) if direction is None else None
    if patches is None:
        return SurfacePairing(contact_points, mesh, max_distance, overhang, direction, cones=cones)
    layers = enumerate(patches.meshes)
    return stacked(
        [
            SurfacePairing(contact_points, layer, max_distance, overhang, layer=(patches, i), cones=cones)
            for i, layer in layers
        ]
    )


def _cones(slave: Surface, master: Obstacle | Surface, nodes: Indices | None) -> NormalCones | None:
    """Normal cones of the slave's nodes; None where the master has no sharp corners, or the slave no facets."""
    if not FacetMesh.suits(slave):
        return None
    if isinstance(master, Surface):
        sharp = FacetMesh.suits(master) and len(sharp_edges(FacetMesh.of(master)).nodes) > 0
    else:
        sharp = isinstance(master, CorneredObstacle) and len(master.corners()[0]) > 0
    if not sharp:
        return None
    chosen = np.arange(len(slave.nodes)) if nodes is None else nodes
    return NormalCones.of(FacetMesh.of(slave), chosen, LOOSE)


@dataclass(frozen=True, eq=False)
class ObstaclePairing:
    """Contact of points with a fixed rigid obstacle: ġ = n·v, slip rates τ·v."""

    points: SlavePoints
    obstacle: Obstacle
    cones: NormalCones | None = None

    @property
    def fixed(self) -> bool:
        return self.obstacle.flat

    @property
    def areas(self) -> Array:
        return self.points.areas

    def at(self, slave: Array, master: Array) -> Kinematics:
        positions = self.points.positions(slave)
        if self.cones is None or not isinstance(self.obstacle, FacingObstacle):
            gap, normals = self.obstacle.closest(positions)
        else:
            gap, normals = self.obstacle.facing(positions, self.cones.at(slave))
        return _kinematics(self.points, len(slave), positions, gap, normals)


@dataclass(frozen=True, eq=False)
class EndPairing:
    """Contact between the ends of two bars; normals (1, 1): outward normal of the master."""

    points: SlavePoints
    normals: Array
    fixed: bool = field(default=True, init=False)

    @property
    def areas(self) -> Array:
        return self.points.areas

    def at(self, slave: Array, master: Array) -> Kinematics:
        n = self.normals
        gap = ((slave - master) * n).sum(axis=1)
        return Kinematics(csr_array(np.hstack([n, -n])), gap, n, np.empty((len(n), 0, 1)), slave)


@dataclass(frozen=True, eq=False)
class SurfacePairing:
    """Contact of points with a deformable surface of facets: closest points, or intersections along a direction (a,).

    With r = x_s − x_m, the frame e of the point (n, then the tangents) and the angular rate W of the master's facet at
    x_m, linear in its nodes' velocities and equal to ω in a rigid motion,

        row_e v = e·([[v]] − W × r),      [[v]] = v_s − v_m(ξ),

    vanishes in every rigid motion of both surfaces. At a closest point r = g n: the first row is ġ = n·[[v]], the
    others τ·([[v]] − g ṅ) with ṅ = W × n, the rate of n carried by the master. At an edge or corner of the surface
    n = ± r/|r|, the gap is the distance to the edge and its rate n·[[v]] all the same. Along a direction the gap is
    n·r, and its row the rate at a fixed point of the master: the full rate where the facet is flat.

    layer: the patches of a surface with concave edges, and the number of the layer that `mesh` is.
    """

    points: SlavePoints
    mesh: FacetMesh
    reach: float
    overhang: float = OVERHANG
    direction: Array | None = None
    layer: tuple[SmoothPatches, int] | None = None
    cones: NormalCones | None = None

    @property
    def fixed(self) -> bool:
        return False

    @property
    def areas(self) -> Array:
        return self.points.areas

    @cached_property
    def _directions(self) -> Array:
        assert self.direction is not None
        return np.ascontiguousarray(np.repeat(in_space(self.direction[None]), len(self.areas), axis=0))

    def at(self, slave: Array, master: Array) -> Kinematics:
        positions = self.points.positions(slave)
        tree = FacetTree.build(self.mesh, master)
        spatial = in_space(positions)
        cones = ANY if self.cones is None else self.cones.at(slave)
        if self.layer is not None:
            patches, number = self.layer

            def trees(mesh: FacetMesh) -> FacetTree:
                return tree if mesh is self.mesh else FacetTree.build(mesh, master)

            projections = patches.closest(number, trees, spatial, Limits(self.reach, self.overhang), cones)
        elif self.direction is None:
            projections = tree.closest(spatial, self.reach, self.overhang, DEPTH, cones)
        else:
            projections = tree.along(spatial, self._directions, self.reach, self.overhang)
        normals = np.ascontiguousarray(projections.normal[:, : self.mesh.axes])
        partners = Partners(projections.facet, projections.reference)
        return _kinematics(self.points, len(slave), positions, projections.gap, normals, tree, partners)

    def with_partners(self, reference: Kinematics, slave: Array, master: Array) -> Kinematics:
        """Kinematics with the partners of `reference`; the gap is n·r, as along a direction."""
        from arlequin.multilevel.search._kernels import positions_on_facets

        assert reference.partners is not None
        positions, partners = self.points.positions(slave), reference.partners
        tree, projections = FacetTree.build(self.mesh, master), np.zeros((len(positions), 3))
        positions_on_facets(
            self.mesh.kind, self.mesh.facets, tree.positions, partners.facet, partners.reference, projections
        )
        offsets = positions - projections[:, : self.mesh.axes]
        gap = np.where(reference.paired, np.einsum("ka,ka->k", reference.normals, offsets), np.inf)
        return _kinematics(self.points, len(slave), positions, gap, reference.normals, tree, partners)


def _kinematics(
    points: SlavePoints,
    slave_nodes: int,
    positions: Array,
    gap: Array,
    normals: Array,
    tree: FacetTree | None = None,
    partners: Partners | None = None,
) -> Kinematics:
    """Rows of the points against the facets of a tree (None: a fixed obstacle)."""
    count, axes = positions.shape
    frame = frames(normals)
    paired = np.isfinite(gap)
    master_nodes, corners = (0, 0) if tree is None else (tree.mesh.node_count, tree.mesh.facets.shape[1])
    width = axes * (points.nodes.shape[1] + corners)
    pointers = np.concatenate([[0], np.cumsum(np.repeat(np.where(paired, width, 0), axes))]).astype(np.int64)
    if tree is None or partners is None:  # e·v of the vectors e of each frame
        nodes = axes * points.nodes[paired, None, :, None] + np.arange(axes)
        data = (points.weights[paired, None, :, None] * frame[paired, :, None, :]).ravel()
        indices = np.broadcast_to(nodes, (len(nodes), axes, *nodes.shape[2:])).ravel()
    else:
        from arlequin.multilevel.search._kernels import fill_rows

        indices, data = np.empty(pointers[-1], np.int64), np.empty(pointers[-1])
        fill_rows(
            (tree.mesh.kind, tree.mesh.facets, tree.positions), in_space(positions),
            (partners.facet, partners.reference), frame, (points.nodes, points.weights), axes * slave_nodes,
            (pointers, indices, data),
        )  # fmt: skip
    shape = (count * axes, axes * (slave_nodes + master_nodes))
    rows = csr_array((data, indices, pointers), shape=shape)
    return Kinematics(rows, gap, normals, np.ascontiguousarray(frame[:, 1:]), positions, partners)
