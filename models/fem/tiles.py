"""Linear triangles, tetrahedra and hexahedra in elasticity, computed in tiles of cells.

With the reference coordinates ξ_k of a cell, the displacement gradient at a quadrature point is

    ∂u_i/∂x_j = Σ_k ∂u_i/∂ξ_k ∂ξ_k/∂x_j.

Of triangles and tetrahedra ∂u_i/∂ξ_k is a difference of two nodes. Of hexahedra with 2 × 2 × 2 Gauss points it follows
from seven modes of the trilinear displacement, and ∂x_j/∂ξ_k from the same modes of the positions. Stored are
∂ξ_k/∂x_j, once where all cells are alike and once a cell where it is uniform in each, and the weighted measure of each
point. Of distorted hexahedra the modes of the positions are stored instead, 21 numbers rather than 72, and ∂ξ_k/∂x_j is
computed from them at each point in less time than memory takes.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.fem.cell_forces import CellForces, NodeRange, node_ranges
from arlequin.models.fem.cells import CellArrays
from arlequin.models.linalg.determinants import determinants
from arlequin.models.types import Array, Indices

_EQUAL = 1e-12  # relative difference of equal cells, by the round-off of their nodes' positions
_MIN_TILES = 2  # tiles of equal cells for which the matrix of a cell is stored
_TRILINEAR = 1e-10  # largest entry of ∂ξ/∂x ∂x/∂ξ − 1 for which ∂x/∂ξ counts as that of a trilinear mapping
_OVERLAP = 1.1  # largest number of cells of all pieces together, relative to the number of cells

# reference coordinates of the nodes, in the order of scikit-fem
_SIMPLEX = {n: np.eye(n)[:, 1:] for n in (3, 4)}
_CUBE = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=float)
_LEXICOGRAPHIC = np.array([4, 2, 1])

# Trilinear fields: signs (8, 3) of ξ_k − ½ at the Gauss points in lexicographic order, exponents (7, 3) of the modes,
# and their gradients (points, k, modes), with the absolute values of ξ_k − ½ in the modes. At four of the points each
# entry of the gradient has all its values, once: they yield the modes (modes, four points, k).
_SIGNS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
_EXPONENTS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]])
_MODE_GRADIENTS = np.array(
    [[_EXPONENTS[:, k] * (signs**_EXPONENTS).prod(axis=1) * signs[k] for k in range(3)] for signs in _SIGNS]
)
_FOUR = np.flatnonzero(_SIGNS.prod(axis=1) < 0.0)
_MODES = np.moveaxis(_MODE_GRADIENTS[_FOUR], 2, 0) / (4.0 * _EXPONENTS.sum(axis=1)[:, None, None])


@dataclass(frozen=True, eq=False)
class Tiles(CellForces):
    """Nodes (tiles, n, cells of a tile); ∂ξ_k/∂x_j (tiles, points, axes², cells of a tile), 1/m, or the modes of the
    positions (tiles, 1, 21, cells of a tile), m; weighted measure (tiles, points, cells of a tile), m³, that of the
    reference cell beside modes. Arrays that are equal for all tiles, or all points, have a length of 1 there.

    The last tile is padded with cells of a single repeated node, which have no forces.
    """

    nodes: NDArray[np.uint32]
    geometry: Array
    weight: Array
    lame: tuple[float, float]
    pieces: tuple[NodeRange, ...]

    @classmethod
    def of(cls, cells: CellArrays, weight: Array, lame: tuple[float, float], node_count: int) -> "Tiles":
        """weight (c, q): the weighted measure."""
        from arlequin.models.fem._tile_kernels import TILE

        order = np.argsort(cells.nodes.min(axis=1), kind="stable")  # consecutive cells share nodes
        corners, points = _reference(cells)
        # (c, q, k, j): ξ_k is a linear field, which the shape functions represent exactly
        inverse = np.einsum("cqjn,nk->cqkj", cells.gradients[order][:, points], _corners(cells))
        nodes, weight = cells.nodes[order][:, corners], weight[order][:, points]
        geometry, weight = _geometry(inverse, weight)
        if (np.abs(weight - weight[:1]) <= _EQUAL * np.abs(weight[:1])).all():
            weight = weight.mean(axis=0, keepdims=True)
        pieces = node_ranges(nodes, node_count, partial(_tiles_of, TILE, len(nodes)), _OVERLAP)
        tiles: Any = _tiled(nodes.astype(np.uint32), TILE)  # half the memory traffic, and no check for negative numbers
        filled = tiles.shape[0] * TILE - len(nodes)
        tiles[-1, :, TILE - filled :] = nodes[-1, 0]
        return cls(tiles, _tiled(geometry, TILE), _tiled(weight, TILE), lame, pieces)

    @property
    def kernel(self) -> Any:
        """The compiled function of these cells."""
        from arlequin.models.fem import _tile_kernels

        return {
            (3, 4): _tile_kernels.internal_triangles,
            (4, 9): _tile_kernels.internal_tetrahedra,
            (8, 9): _tile_kernels.internal_hexahedra,
            (8, 21): _tile_kernels.internal_distorted_hexahedra,
        }[self.nodes.shape[1], self.geometry.shape[2]]

    def force(self, piece: NodeRange, u: Array, out: Array) -> float:
        cells = piece.cells, self.nodes, self.geometry, self.weight, *self.lame
        return float(self.kernel(*cells, piece.first, piece.last, u, out))


@dataclass(frozen=True, eq=False)
class HexahedronProduct(CellForces):
    """Forces (μM + aK) u of hexahedra, with consistent mass or none: products of the matrix of a step with a vector.

    Arrays are those of the kernel; arrays that several tiles have in common are stored once. inertial: whether μM is
    included.
    """

    nodes: NDArray[np.uint32]
    lame: tuple[float, float]
    matrices: Array
    equal: Indices
    geometry: Array
    shape: Indices
    weights: Array
    masses: Array
    place: Indices
    pieces: tuple[NodeRange, ...]
    inertial: bool

    @classmethod
    def of(cls, tiles: Tiles, cells: CellArrays, stiffness: float, masses: Array | None) -> "HexahedronProduct":
        """stiffness: a; masses (c, q), kg: μ times those of the points of the cells of the tiles."""
        count, _, tile = tiles.nodes.shape
        geometry = np.broadcast_to(tiles.geometry, (count, *tiles.geometry.shape[1:]))
        weights = np.broadcast_to(tiles.weight, (count, *tiles.weight.shape[1:]))
        point_masses = np.zeros(weights.shape)
        if masses is not None:
            order = np.argsort(cells.nodes.min(axis=1), kind="stable")
            point_masses = _tiled(masses[order][:, _reference(cells)[1]], tile)
            point_masses[-1, :, tile - (count * tile - len(masses)) :] = 0.0  # padding of the last tile
        shapes, shape = _distinct_tiles(geometry)
        # each scaled by its maximum
        scaled = [values / max(float(np.abs(values).max()), np.finfo(float).tiny) for values in (weights, point_masses)]
        measures, place = _distinct_tiles(np.concatenate(scaled, axis=1))
        product = cls(
            nodes=tiles.nodes,
            lame=(stiffness * tiles.lame[0], stiffness * tiles.lame[1]),
            matrices=np.zeros((0, 24, 24)),
            equal=np.full(count, -1),
            geometry=np.ascontiguousarray(geometry[shapes]),
            shape=shape,
            weights=np.ascontiguousarray(weights[measures]),
            masses=np.ascontiguousarray(point_masses[measures]),
            place=place,
            pieces=tiles.pieces,
            inertial=masses is not None,
        )
        return product._with_matrices()

    def _with_matrices(self) -> "HexahedronProduct":
        """The same with stored matrices of cells that are equal within a tile and occur in several tiles."""
        is_uniform = _uniform(self.geometry)[self.shape] & (_uniform(self.weights) & _uniform(self.masses))[self.place]
        equal_tiles = np.flatnonzero(is_uniform)
        pairs = np.column_stack([self.shape[equal_tiles], self.place[equal_tiles]])
        kinds, kind, times = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        repeated = np.flatnonzero(times >= _MIN_TILES)
        number = np.full(len(kinds), -1)
        number[repeated] = np.arange(repeated.size)
        equal = self.equal.copy()
        equal[equal_tiles] = number[kind.ravel()]
        matrices = [self._matrix(*kinds[i]) for i in repeated]
        return replace(self, equal=equal, matrices=np.array(matrices).reshape(-1, 24, 24))

    def _matrix(self, shape: int, place: int) -> Array:
        """μM + aK (24, 24) of a cell, component by component, symmetric."""
        nodes = np.full((1, 8, self.nodes.shape[2]), 8, dtype=self.nodes.dtype)  # other cells have the ninth node only
        nodes[0, :, 0] = np.arange(8)
        single = replace(self, nodes=nodes, shape=np.array([shape]), place=np.array([place]))
        piece, out = NodeRange(0, 8, np.zeros(1, dtype=np.int64)), np.empty((24, 27))
        for row, u in zip(out, np.eye(24, 27), strict=True):
            single.force(piece, u, row)
        by_component = out[:, :24].reshape(8, 3, 8, 3).transpose(1, 0, 3, 2).reshape(24, 24)
        return np.asarray(0.5 * (by_component + by_component.T))

    def force(self, piece: NodeRange, u: Array, out: Array) -> float:
        """Writes the forces on the nodes of a piece to out (d,), N; 0, as no energy is computed."""
        from arlequin.models.fem import _tile_product_kernels as kernels

        distorted = self.geometry.shape[2] == 21
        product = kernels.product_distorted_hexahedra if distorted else kernels.product_hexahedra
        product(
            piece.cells, self.nodes, self.matrices, self.equal, (self.geometry, self.shape),
            (self.weights, self.masses, self.place), *self.lame, piece.first, piece.last, u, out,
        )  # fmt: skip
        return 0.0


def fit_tiles(cells: CellArrays, components: int) -> bool:
    """Whether these are linear triangles of plane problems or tetrahedra, with one quadrature point, or hexahedra."""
    _, points, axes, size = cells.gradients.shape
    if components != axes or axes < 2 or cells.hoop is not None or not cells.count:
        return False
    if size == axes + 1:
        return points == 1
    return axes == 3 and size == 8 and points == 8 and _has_gauss_points(cells.values)


def _has_gauss_points(values: Array) -> bool:
    """Whether the values (q, n) are those of the trilinear functions at the 2 × 2 × 2 Gauss points."""
    sides = np.where(values @ _CUBE > 0.5, 1.0, 0.0)
    points = 0.5 + (sides - 0.5) / np.sqrt(3.0)
    at = points[:, None]
    expected = np.where(_CUBE > 0.5, at, 1.0 - at).prod(axis=2)
    each_once = np.unique(sides, axis=0).shape == (8, 3)
    return each_once and bool(np.abs(values - expected).max() < 1e-12)


def _corners(cells: CellArrays) -> Array:
    """Reference coordinates (n, k) of the nodes."""
    size = cells.nodes.shape[1]
    return _CUBE if size == 8 else _SIMPLEX[size]


def _reference(cells: CellArrays) -> tuple[Indices, Indices]:
    """Order of the nodes (n,) and of the quadrature points (q,) in the kernels: of hexahedra lexicographic."""
    size = cells.nodes.shape[1]
    if size < 8:
        return np.arange(size), np.arange(1)
    return np.argsort(_CUBE @ _LEXICOGRAPHIC), np.argsort((cells.values @ _CUBE > 0.5) @ _LEXICOGRAPHIC)


def _geometry(inverse: Array, weight: Array) -> tuple[Array, Array]:
    """Stored form of ∂ξ_k/∂x_j (c, q, k, j), and the weights (c, q) for it: ∂ξ_k/∂x_j (c, q, k·j), with one point where
    it is uniform in each cell and one cell where all are equal; modes (c, 1, 21) where they represent it.
    """
    size = np.abs(inverse).max(axis=(1, 3), keepdims=True, initial=0.0)
    if (np.abs(inverse - inverse[:, :1]) <= _EQUAL * size).all():
        inverse = inverse.mean(axis=1, keepdims=True)
        if (np.abs(inverse - inverse[:1]) <= _EQUAL * size).all():
            inverse = inverse.mean(axis=0, keepdims=True)
    else:
        modes = np.einsum("mpk,cpjk->cjm", _MODES, np.linalg.inv(inverse[:, _FOUR]), optimize=True)
        jacobian = np.einsum("qkm,cjm->cqjk", _MODE_GRADIENTS, modes, optimize=True)
        if (np.abs(inverse @ jacobian - np.eye(3)) <= _TRILINEAR).all():
            return modes.reshape(-1, 1, 21), weight / np.abs(determinants(jacobian))
    return inverse.reshape(*inverse.shape[:2], -1), weight


def _tiled(values: Array, tile: int) -> Array:
    """Values (c, …) as tiles (tiles, …, tile): the last tile is padded with the last cell."""
    count = len(values)
    at = np.minimum(np.arange(-(-count // tile) * tile), count - 1)
    return np.ascontiguousarray(np.moveaxis(values[at].reshape(-1, tile, *values.shape[1:]), 1, -1))


def _uniform(blocks: Array) -> NDArray[np.bool_]:
    """Which of the blocks (n, …, tile) are equal in all cells of the tile."""
    flat = blocks.reshape(len(blocks), -1, blocks.shape[-1])
    size = np.abs(flat).max(axis=(1, 2), keepdims=True, initial=0.0)
    return np.asarray((np.abs(flat - flat[..., :1]) <= _EQUAL * size).all(axis=(1, 2)))


def _distinct_tiles(values: Any) -> tuple[Indices, Indices]:
    """Representatives (n,) of tiles with distinct values (tiles, …), and the representative of each tile (tiles,)."""
    flat = np.reshape(values, (len(values), -1))
    sums = np.abs(flat).sum(axis=1)
    _, first, group = np.unique(np.round(sums / sums.max(initial=0.0), 6), return_index=True, return_inverse=True)
    is_equal = (np.abs(flat - flat[first[group]]) <= _EQUAL * np.abs(flat).max(axis=1, keepdims=True)).all(axis=1)
    representatives, place = np.unique(np.where(is_equal, first[group], np.arange(len(flat))), return_inverse=True)
    return representatives, place.ravel()


def _tiles_of(tile: int, count: int, cells: Indices) -> tuple[Indices, int]:
    """The tiles of cells (k,), and the number of cells, of `count`, in these tiles."""
    tiles = np.unique(cells // tile)
    return tiles, min(tiles.size * tile, count)
