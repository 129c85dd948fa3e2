"""Mediators of a junction: spaces of the multipliers φ* in c(φ*, v_coarse − v_fine) = 0."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array, kron
from skfem import CellBasis, Mesh, MeshHex1, MeshLine1, MeshQuad1

from arlequin.junctions.base import warn
from arlequin.junctions.coupling import Coupling, Shapes
from arlequin.junctions.zone_coordinate import SAME, ZoneCoordinate
from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.fem.elements import scalar_basis
from arlequin.models.part import MeshedPart
from arlequin.models.types import Array, Indices
from arlequin.overlap.intersect import Overlap

# share of ∫ψ² inside the overlap below which a function is merged with its neighbour
# (first order: a cell of which the overlap holds 27 % of the width)
NEGLIGIBLE = 1e-2
# the same where functions are split at edges of the zone: more and larger cut cells
NEGLIGIBLE_SPLIT = 1e-1
# pieces per chunk of shape functions; for cells with more than 27 functions, values per chunk
CHUNK = 50_000
VALUES = 20_000_000


@dataclass(frozen=True, eq=False)
class GluingZone:
    """The gluing zone S_g of a junction.

    coarse, fine: the parts; coordinate: s, from 0 to 1 over the zone; pieces: of the overlap, with dx = 0 outside S_g;
    coupling: the form, with its length; name: of the junction, for messages.
    """

    name: str
    coarse: MeshedPart
    fine: MeshedPart
    coordinate: ZoneCoordinate
    pieces: Overlap
    coupling: Coupling

    @cached_property
    def group(self) -> Indices:
        """Group (p,) of each piece: pieces of one region of s, in which its gradient is constant, are one group."""
        return np.unique(self.pieces.region, return_inverse=True)[1]

    @cached_property
    def groups(self) -> int:
        """Number of groups."""
        return int(np.unique(self.pieces.region).size)


@dataclass(frozen=True, eq=False)
class MultiplierSpace:
    """Scalar functions ψ_m = Σ_n selection[m, n] φ_n on the gluing zone, used for each component of the multipliers.

    shapes: function of a slice of the pieces that returns the φ_n there; selection (m, n); positions (m, axis): a point
    for each ψ_m, m.
    """

    shapes: Callable[[slice], Shapes]
    selection: csr_array
    positions: Array


@runtime_checkable
class Mediator(Protocol):
    """A space of multipliers. Subclasses inherit the defaults of all but `space`."""

    @property
    def mesh(self) -> Mesh | None:
        """A mesh whose cells bound the pieces of the overlap, beside those of the parts; by default None."""
        return None

    def degrees(self, coarse: MeshedPart, fine: MeshedPart) -> tuple[int, int]:
        """Degree of the functions in all coordinates and in each; by default those of the coarse part.

        The quadrature is exact for products of the functions with each other and with those of the parts.
        """
        return basis_degrees(coarse.basis)

    def check(self, name: str, coarse: MeshedPart, fine: MeshedPart, coupling: Coupling) -> None:
        """Raise `UserError` or warn where the mediator does not suit the parts or the form of junction `name`."""
        return

    def on(self, low: Array, high: Array, extents: Array) -> "Mediator":
        """The mediator of a box low … high (axis,) around the zone in which coarse cells have these extents (axis,), m.

        By default the mediator itself: `Grid` makes its mesh here.
        """
        return self

    def space(self, zone: GluingZone) -> MultiplierSpace:
        """The multipliers on the gluing zone."""
        ...


@dataclass(frozen=True)
class CoarseTrace(Mediator):
    """Trace of the coarse part's functions on the gluing zone (`mediator="coarse"`, the default).

    With a form of order 0 functions of order 2 and more are of first order in the cells at the ends of the zone
    (`first_order_outside`). 1/α is unbounded there, and the largest eigenvalues of the dual operator are means of 1/α
    over the functions at the ends: those of first order spread over the whole cell, those of second order over half
    of it. The limit of an L² multiplier, σ∇α, is as smooth as the strain; with H¹ it has layers of width ℓ at the ends,
    and first order there would reduce the order of the displacement.
    """

    def space(self, zone: GluingZone) -> MultiplierSpace:
        basis, mesh, reduction = zone.coarse.basis, zone.coarse.mesh, None
        if zone.coupling.order == 0 and basis.Nbfun > mesh.t.shape[0]:
            s = zone.coordinate.on_coarse(mesh.p[:, mesh.t.T], np.arange(mesh.nelements))
            reduction = first_order_outside(basis, (s.min(axis=1) > SAME) & (s.max(axis=1) < 1 - SAME))
        return trace(zone, basis, zone.pieces.coarse_cells, reduction)


@dataclass(frozen=True)
class FineTrace(Mediator):
    """Trace of the fine part's functions on the gluing zone (`mediator="fine"`)."""

    def degrees(self, coarse: MeshedPart, fine: MeshedPart) -> tuple[int, int]:
        return basis_degrees(fine.basis)

    def check(self, name: str, coarse: MeshedPart, fine: MeshedPart, coupling: Coupling) -> None:
        """Warn of a form of order 0."""
        if coupling.order == 0:
            warn(
                f"junction '{name}': fine mediator with L2: badly conditioned multipliers, a locked coarse part; "
                "take 'coarse'"
            )

    def space(self, zone: GluingZone) -> MultiplierSpace:
        return trace(zone, zone.fine.basis, zone.pieces.fine_cells)


@dataclass(frozen=True, eq=False)
class MeshTrace(Mediator):
    """First-order functions of a mesh of the mediator's own (`mediator=mesh`)."""

    own_mesh: Mesh

    @property
    def mesh(self) -> Mesh:
        """The mesh."""
        return self.own_mesh

    @cached_property
    def basis(self) -> CellBasis:
        """Scalar basis of first order."""
        return scalar_basis(self.own_mesh, 1)

    def degrees(self, coarse: MeshedPart, fine: MeshedPart) -> tuple[int, int]:
        return basis_degrees(self.basis)

    def check(self, name: str, coarse: MeshedPart, fine: MeshedPart, coupling: Coupling) -> None:
        """The mesh must have the dimension of the parts."""
        if self.own_mesh.dim() != coarse.mesh.dim():
            raise UserError(f"junction '{name}': the mediator's mesh is of another dimension than the parts")

    def space(self, zone: GluingZone) -> MultiplierSpace:
        return trace(zone, self.basis, zone.pieces.third_cells)


@dataclass(frozen=True)
class Grid(Mediator):
    """First-order functions on a regular grid over the zone, a little wider than the coarse cells (`mediator="grid"`).

    The cells of the grid are about `spacing` coarse cells along each axis, a whole number in the zone. Multipliers on
    the coarse mesh itself couple waves down to two coarse cells, but a coarse part of reduced dispersion propagates
    none below 2.57 cells: above its highest frequency it responds as a mass and reflects them. On the grid these waves
    are not coupled but damped by the absorbing term of the junction.
    """

    spacing: float = 1.2

    def __post_init__(self) -> None:
        checks.within("spacing", self.spacing, 1.0, 4.0)

    def degrees(self, coarse: MeshedPart, fine: MeshedPart) -> tuple[int, int]:
        return coarse.mesh.dim(), 1

    def on(self, low: Array, high: Array, extents: Array) -> Mediator:
        cells = np.maximum(1, np.round((high - low) / (self.spacing * extents))).astype(int)
        lines = [np.linspace(a, b, n + 1) for a, b, n in zip(low, high, cells, strict=True)]
        make = (MeshLine1.init_tensor, MeshQuad1.init_tensor, MeshHex1.init_tensor)[len(lines) - 1]
        return MeshTrace(make(*lines))

    def space(self, zone: GluingZone) -> MultiplierSpace:
        raise NotImplementedError("Grid.on makes the mediator")


_TRACES: dict[str, Mediator] = {"coarse": CoarseTrace(), "fine": FineTrace(), "grid": Grid()}


def mediator_of(mediator: Any) -> Mediator:
    """The mediator for "coarse", "fine", "grid", a mesh or a `Mediator`."""
    if isinstance(mediator, Mesh):
        return MeshTrace(mediator)
    if isinstance(mediator, Mediator) and not isinstance(mediator, type):
        return mediator
    checks.one_of("mediator", mediator, tuple(_TRACES))
    return _TRACES[mediator]


def basis_degrees(basis: CellBasis) -> tuple[int, int]:
    """Degree of the functions of a basis in all coordinates and in each."""
    degree = int(basis.elem.maxdeg)
    return degree, max(1, degree // basis.mesh.dim())


def chunks(functions: int, pieces: Overlap) -> Iterator[slice]:
    """Slices of the pieces for chunks of shape functions; functions: number per cell."""
    count, points = pieces.dx.shape
    step = CHUNK if functions <= 27 else max(1, min(CHUNK, VALUES // (functions * points)))
    return (slice(start, start + step) for start in range(0, count, step))


def trace(zone: GluingZone, basis: CellBasis, cells: Indices, reduction: csr_array | None = None) -> MultiplierSpace:
    """Trace of a scalar finite-element space on the gluing zone.

    cells (p,): the cell of `basis` that holds each piece. reduction (r, n): the functions as rows over those of `basis`
    (n,), by default the identity; its rows should sum to 1 over r, so that the space holds the constants. In zones
    whose regions differ in ∇s each function is split between them (`GluingZone.group`).

    Functions that vanish on the zone are dropped; one with less than `NEGLIGIBLE` of its ∫ψ² inside the zone (its cells
    are cut) is added to the nearest retained one. Alone it would give a nearly zero row of C, an unbounded multiplier
    and a badly conditioned dual operator; dropped, constants would not be in the space in the cut cells, and the
    constant-strain patch test would fail.
    Source of the aggregation: Badia, Verdugo & Martín, CMAME 336, 2018.
    """
    return trace_on_pieces(basis, cells, zone.pieces, zone.group, zone.groups, reduction)


def trace_on_pieces(
    basis: CellBasis,
    cells: Indices,
    pieces: Overlap,
    group: Indices,
    groups: int,
    reduction: csr_array | None = None,
) -> MultiplierSpace:
    """`trace` on pieces whose groups are given: group (p,), `groups` in all."""
    rows_of = csr_array(eye_array(int(basis.N))) if reduction is None else reduction

    def shapes(chunk: slice) -> Shapes:
        return Shapes.at(basis, cells[chunk], pieces.points[:, chunk]).split_by_group(group[chunk], groups)

    size = int(basis.N)
    inside, full = np.zeros(groups * size), np.zeros(size)
    for chunk in chunks(basis.Nbfun, pieces):
        local = shapes(chunk)
        squares = np.einsum("apq,apq,pq->ap", local.values, local.values, pieces.dx[chunk])
        inside += np.bincount(local.nodes.ravel(), squares.ravel(), local.size)
    for nodes, field in zip(basis.element_dofs, basis.basis, strict=True):
        full += np.bincount(nodes, (field[0] ** 2 * basis.dx).sum(axis=1), size)
    rows = csr_array(kron(eye_array(groups), rows_of))
    share = (rows**2 @ inside) / (rows**2 @ np.tile(full, groups))
    negligible = NEGLIGIBLE if groups == 1 else NEGLIGIBLE_SPLIT
    retained = np.flatnonzero(share > negligible)
    merged = np.flatnonzero((share > 0) & (share <= negligible))
    if retained.size == 0:
        raise UserError("junction: the mediator has no degrees of freedom, the overlap is too thin")
    from scipy.spatial import cKDTree

    # an additional axis separates the groups
    nodes = rows_of.argmax(axis=1)
    positions = np.tile(basis.doflocs.T[nodes], (groups, 1))
    offset = np.repeat(np.arange(groups), nodes.size) * 10 * (1 + np.ptp(positions))
    separated = np.column_stack((positions, offset))
    _, nearest = cKDTree(separated[retained]).query(separated[merged])
    entries = np.concatenate((np.arange(retained.size), nearest)), np.concatenate((retained, merged))
    aggregation = coo_array((np.ones(entries[0].size), entries), shape=(retained.size, share.size))
    return MultiplierSpace(shapes, csr_array(aggregation @ rows), positions[retained])


def first_order_outside(basis: CellBasis, inner: NDArray[np.bool_]) -> csr_array:
    """Functions of a basis, of first order in the cells that are not `inner` (c,), as combinations (r, n) of its own.

    In those cells the functions of nodes between vertices are dropped, and the functions of vertices become
    φ_v + Σ_n N_v(x_n) φ_n over these nodes, with N_v of first order: they sum to one and contain the linear fields.
    """
    first = scalar_basis(basis.mesh, 1)
    corners = first.Nbfun
    dropped = np.zeros(basis.N, dtype=bool)
    dropped[basis.element_dofs[corners:, ~inner]] = True
    at_nodes = np.stack([first.elem.lbasis(basis.elem.doflocs[corners:].T, a)[0] for a in range(corners)])
    vertices, between = basis.element_dofs[:corners, None, ~inner], basis.element_dofs[None, corners:, ~inner]
    pairs = np.stack([np.broadcast_to(dofs, (*at_nodes.shape, dofs.shape[2])).ravel() for dofs in (vertices, between)])
    # a pair of nodes has the same value in every cell that shares it
    pairs, once = np.unique(pairs, axis=1, return_index=True)
    values = np.broadcast_to(at_nodes[:, :, None], (*at_nodes.shape, vertices.shape[2])).ravel()[once]
    rows = eye_array(int(basis.N)) + coo_array((values, pairs), shape=(int(basis.N), int(basis.N)))
    return csr_array(csr_array(rows)[np.flatnonzero(~dropped)])
