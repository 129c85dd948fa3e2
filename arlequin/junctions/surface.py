"""Junctions of parts that share a surface, without zone and weights: tied nodes and mortar."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, kron
from skfem import Mesh, MeshLine, MeshQuad, MeshTri

from arlequin.junctions.base import JunctionOperator, check_parts, depth, kind, revolves
from arlequin.junctions.coupling import L2, Shapes
from arlequin.junctions.mediator import trace_on_pieces
from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError, short_repr
from arlequin.models.fem.elements import facet_order, scalar_basis
from arlequin.models.part import MeshedPart, Surface, Weighting
from arlequin.models.reduction.superelement import Superelement
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.overlap.geometry import distance_outside, to_reference
from arlequin.overlap.intersect import intersect

# largest distance of a node on a surface, as a fraction of a cell
ON = 1e-6
# nearest cells of the surface that are searched for a node
CANDIDATES = 8


@dataclass(frozen=True, eq=False)
class SurfaceJunction:
    """Base class of junctions on a common surface of two parts."""

    coarse_surface: Surface
    fine_surface: Surface
    name: str = "junction"

    __repr__ = short_repr

    def __post_init__(self) -> None:
        checks.valid_name(self.name)
        for which in ("coarse_surface", "fine_surface"):
            if not isinstance(getattr(self, which), Surface):
                raise UserTypeError.parameter(which, getattr(self, which), 'must be a surface: part.boundary("name")')
        self._check_parts()

    def _check_parts(self) -> None:
        """Check that the parts agree in dimension, kind of problem and depth."""
        check_parts(self.name, self.coarse, self.fine)

    def absorbing_form(self) -> None:
        """None: without a zone there is no absorbing term."""

    @property
    def coarse(self) -> MeshedPart:
        """The part of the first surface."""
        return self.coarse_surface.meshed

    @property
    def fine(self) -> MeshedPart:
        """The part of the second surface."""
        return self.fine_surface.meshed

    def weighting(self) -> dict[str, Weighting]:
        """Empty: the parts do not overlap."""
        return {}

    def _separation_error(self) -> UserError:
        return UserError(
            f"junction '{self.name}': '{self.fine_surface.name}' of '{self.fine.name}' does not lie on "
            f"'{self.coarse_surface.name}' of '{self.coarse.name}'"
        )


@checked_call
@dataclass(frozen=True, eq=False)
class Tie(SurfaceJunction):
    """Nodes of the fine surface tied to the coarse displacement field: v_fine(x_k) = Σ_n φ_n(x_k) v_coarse,n.

    Coincident nodes, or interpolated ones; nodes that do not lie on the coarse surface stay free. Each row is
    scaled by an equal share of the tied area, so that multipliers are tractions, Pa. The patch test fails where the
    nodes do not coincide. The fine surface may be one of a `Superelement`, whose displacements are tied, not its
    rotations.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> held, pull = {"left": {"x": 0.0}}, {"right": lambda x, t: 1e8 * t}  # m, Pa
    >>> first = aq.Bar("first", aq.mesh.interval(0.0, 0.06, cells=6), steel, imposed=held)
    >>> second = aq.Bar("second", aq.mesh.interval(0.06, 0.1, cells=20), steel, tractions=pull)
    >>> system = aq.System([first, second], junctions=[aq.Tie(first.boundary("right"), second.boundary("left"))])
    >>> result = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    >>> round(float(result["part/second"]["displacement"][-1, -1, 0]), 12)  # σL/E of 0.1 m, m
    5e-05
    """

    __repr__ = short_repr

    def _check_parts(self) -> None:
        if not isinstance(self.fine_surface.part, Superelement):
            return super()._check_parts()
        coarse, fine = self.coarse, self.fine_surface.part
        if coarse.name == fine.name:
            raise UserError(f"junction '{self.name}': two parts named '{fine.name}'")
        if coarse.mesh.dim() != fine.positions.shape[1]:
            axes = fine.positions.shape[1]
            raise UserError(
                f"junction '{self.name}': '{coarse.name}' is of dimension {coarse.mesh.dim()}, the nodes of "
                f"superelement '{fine.name}' have {axes} coordinates"
            )
        kind(coarse)
        lacking = [dof for dof in self._tied_dofs(self.fine_surface.nodes) if fine.coordinate_numbers[dof] < 0]
        if lacking:
            node = lacking[0] // fine.components
            raise UserError(
                f"junction '{self.name}': superelement '{fine.name}' does not retain all displacements of node {node}"
            )

    @property
    def fine(self) -> MeshedPart:
        """The part of the second surface; a superelement has nodes only."""
        part: Any = self.fine_surface.part
        return part if isinstance(part, Superelement) else super().fine  # type: ignore[return-value]

    def _tied_dofs(self, nodes: Indices) -> Indices:
        """Displacements (k·axis,) of nodes (k,) of the fine part."""
        part, axes = self.fine_surface.part, self.fine_surface.positions.shape[1]
        return np.asarray((nodes[:, None] * part.components + np.arange(axes)).ravel())

    def operator(self) -> JunctionOperator:
        """C of both parts; the Gram matrix holds the areas of the nodes."""
        part, nodes = self.coarse, self.fine_surface.nodes
        points = self.fine_surface.positions
        cells, X = self._locate(points)
        tied = np.flatnonzero(cells >= 0)
        if tied.size == 0:
            raise self._separation_error()
        basis, n = part.basis, part.components
        values = np.stack([basis.elem.lbasis(X[:, tied], a)[0] for a in range(basis.Nbfun)])
        area = float(self.fine_surface.areas.sum()) / nodes.size
        rows = np.broadcast_to(np.arange(tied.size), values.shape)
        columns = basis.element_dofs[:, cells[tied]]
        entries = area * np.where(np.abs(values) < 1e-14, 0.0, values)
        coarse = csr_array((entries.ravel(), (rows.ravel(), columns.ravel())), shape=(tied.size, part.node_count))
        coarse.eliminate_zeros()
        count = tied.size * n
        columns = np.arange(count), self._tied_dofs(nodes[tied])
        fine = csr_array((np.full(count, -area), columns), shape=(count, self.fine.dof_count))
        gram = csr_array(diags_array(np.full(count, area)))
        return JunctionOperator(csr_array(kron(coarse, eye_array(n), format="csr")), fine, gram, n, points[tied])

    def _locate(self, points: Array) -> tuple[Indices, Array]:
        """Coarse cell (k,), −1 for none, and reference coordinates (axis, k) of points (k, axis) on the surface."""
        from scipy.spatial import cKDTree

        mesh, facets = self.coarse.mesh, self.coarse_surface.facets
        # cells with all the corners of a facet of the surface
        on_surface = np.zeros(self.coarse.node_count, dtype=bool)
        on_surface[facets] = True
        cells = np.flatnonzero(on_surface[self.coarse.basis.element_dofs].sum(axis=0) >= facets.shape[1])
        centres = mesh.p[:, mesh.t[:, cells]].mean(axis=1).T
        count = min(CANDIDATES, cells.size)
        near = cells[np.atleast_2d(cKDTree(centres).query(points, k=count)[1].reshape(len(points), count))]
        smallest, containing = np.full(len(points), np.inf), np.full(len(points), -1)
        places = np.zeros((mesh.dim(), len(points)))
        for candidate in near.T:
            X = to_reference(mesh, candidate, points.T[:, :, None])[0][:, :, 0]
            distance = distance_outside(mesh, X)
            closer = distance < smallest
            smallest[closer], containing[closer], places[:, closer] = distance[closer], candidate[closer], X[:, closer]
        containing[smallest > ON] = -1
        return containing, places


@checked_call
@dataclass(frozen=True, eq=False)
class Mortar(SurfaceJunction):
    """∫_Γ φ*·(v_coarse − v_fine) dΓ = 0 on the common part Γ of two flat surfaces, φ* first order on one of them.

    mediator: whose surface mesh carries the multipliers. Exact on the clipped pieces, so that the patch test holds.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> left, right = (aq.mesh.rectangle(x, (0.0, 0.02), cells=(6, n)) for x, n in (((0.0, 0.06), 2), ((0.06, 0.1), 3)))
    >>> first = aq.Solid("first", left, steel, plane="stress", imposed={"left": {"x": 0.0}, "bottom": {"y": 0.0}})
    >>> second = aq.Solid("second", right, steel, plane="stress", tractions={"right": lambda x, t: (1e8 * t, 0.0)})
    >>> system = aq.System([first, second], [aq.Mortar(first.boundary("right"), second.boundary("left"))])
    >>> result = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    >>> round(float(result["part/second"]["displacement"][-1, :, 0].max()), 12)  # σL/E of 0.1 m, m
    5e-05

    Source: Bernardi, Maday & Patera, 1994; Puso, IJNME 59, 2004.
    """

    mediator: Literal["coarse", "fine"] = "coarse"

    __repr__ = short_repr

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("mediator", self.mediator, ("coarse", "fine"))
        if self.coarse.mesh.dim() == 1:
            raise UserError(f"junction '{self.name}': the end of a bar is a point: use Tie")

    def operator(self) -> JunctionOperator:
        """C of both parts and the Gram matrix of the multipliers."""
        from scipy.spatial import cKDTree

        origin, frame = self._frame()
        meshes = {}
        for side, surface in (("coarse", self.coarse_surface), ("fine", self.fine_surface)):
            meshes[side] = _flat_mesh(surface, origin, frame)
        orders = {side: _order(surface) for side, surface in self._sides()}
        quads = 2 if self.coarse.mesh.dim() == 3 else 1
        degree = (1 + max(orders.values())) * quads + (1 if revolves(self.coarse) else 0)
        pieces = intersect(meshes["coarse"], meshes["fine"], degree)
        if pieces.dx.size == 0:
            raise self._separation_error()
        cells = {"coarse": pieces.coarse_cells, "fine": pieces.fine_cells}
        points = origin[:, None, None] + np.einsum("ji,jpq->ipq", frame, pieces.points)
        dx, n = pieces.dx * depth(self.coarse, points), self.coarse.components
        basis = scalar_basis(meshes[self.mediator], 1)
        group = np.zeros(len(dx), dtype=np.int64)
        space = trace_on_pieces(basis, cells[self.mediator], pieces, group, 1)
        test = Shapes.at(basis, cells[self.mediator], pieces.points)
        select = kron(space.selection, eye_array(n), format="csr")
        blocks = {}
        for side, surface in self._sides():
            trace = scalar_basis(meshes[side], orders[side])
            shapes = Shapes.at(trace, cells[side], pieces.points)
            local = surface.positions - origin
            _, nearest = cKDTree(local @ frame.T).query(trace.doflocs.T)
            entries = np.ones(trace.N), (np.arange(trace.N), surface.nodes[nearest])
            spread = kron(csr_array(entries, shape=(trace.N, surface.part.node_count)), eye_array(n))
            blocks[side] = csr_array(select @ L2().matrix(test, shapes, dx, n, None) @ spread)
        gram = csr_array(select @ L2().matrix(test, test, dx, n, None) @ select.T)
        positions = origin + space.positions @ frame
        return JunctionOperator(blocks["coarse"], csr_array(-blocks["fine"]), gram, n, positions)

    def _sides(self) -> tuple[tuple[str, Surface], ...]:
        return ("coarse", self.coarse_surface), ("fine", self.fine_surface)

    def _frame(self) -> tuple[Array, Array]:
        """A point of the common line or plane and its directions (axis − 1, axis); both surfaces must lie on it."""
        positions = self.coarse_surface.positions
        origin = positions.mean(axis=0)
        frame = np.linalg.svd(positions - origin, full_matrices=True)[2]
        size = float(np.ptp(positions, axis=0).max())
        for _, surface in self._sides():
            off = np.abs((surface.positions - origin) @ frame[-1]).max()
            if off > ON * size:
                raise UserError(
                    f"junction '{self.name}': '{surface.name}' of '{surface.part.name}' is {off:.3g} m off the flat "
                    f"surface '{self.coarse_surface.name}' of '{self.coarse.name}': a mortar needs one plane"
                )
        return origin, frame[:-1]


def _corners(surface: Surface) -> int:
    """Corners of a facet."""
    return 2 if surface.meshed.mesh.dim() == 2 else int(surface.meshed.mesh.facets.shape[0])


def _order(surface: Surface) -> int:
    """Order of the part's shape functions, from the nodes of a facet."""
    return facet_order(surface.meshed.mesh.dim(), _corners(surface), surface.facets.shape[1])


def _flat_mesh(surface: Surface, origin: Array, frame: Array) -> Mesh:
    """The facets of a flat surface as a mesh in the coordinates of its frame."""
    corners = _corners(surface)
    kind = {2: MeshLine, 3: MeshTri, 4: MeshQuad}[corners]
    nodes, cells = np.unique(surface.facets[:, :corners], return_inverse=True)
    p = ((surface.part.positions[nodes] - origin) @ frame.T).T
    return kind(np.ascontiguousarray(p), np.ascontiguousarray(cells.reshape(-1, corners).T))
