"""What a mesh file holds, before anything is built of it: `describe`."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arlequin.models import checks
from arlequin.models.mesh.building import kinds, not_flat, unsupported_kinds
from arlequin.models.mesh.conversion import corners_and_middles
from arlequin.models.mesh.foreign import SHAPES, ForeignMesh, plural, shape, shape_name
from arlequin.models.mesh.reading import left_out, load
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices

# the determinant of the unit edges at a corner of the regular cell
_REGULAR = {"triangle": np.sqrt(3) / 2, "quad": 1.0, "tetra": np.sqrt(0.5), "wedge": np.sqrt(3) / 2, "hexahedron": 1.0}
_MOST_LINES = 60  # of sets in the table


@dataclass(frozen=True)
class CellSummary:
    """Cells of a kind: number, smallest scaled Jacobian (1 for regular cells, ≤ 0 for inverted or collapsed ones, nan
    for lines and points) and largest ratio of edges (at least 1)."""

    kind: str
    count: int
    scaled_jacobian: float
    edge_ratio: float


@dataclass(frozen=True)
class MeshDescription:
    """What a mesh file holds; prints as a table.

    box (2, 3): lowest and highest coordinates of the nodes in cells, in the unit of the file; edges: shortest and
    longest edge; node_sets, element_sets, surfaces: name → members; orphan_nodes: nodes in no cell; not_supported: what
    `read` leaves out or refuses, a line each.
    """

    path: str
    format: str
    nodes: int
    cells: tuple[CellSummary, ...]
    box: tuple[tuple[float, float, float], tuple[float, float, float]]
    edges: tuple[float, float]
    node_sets: dict[str, int]
    element_sets: dict[str, int]
    surfaces: dict[str, int]
    orphan_nodes: int
    not_supported: tuple[str, ...]

    def __str__(self) -> str:
        low, high = self.box
        rows = [
            ("file", f"{self.path} ({self.format})"),
            ("nodes", f"{self.nodes:,}, {self.orphan_nodes:,} in no cell"),
        ]
        axes = ", ".join(f"{axis} {a:.6g} … {b:.6g}" for axis, a, b in zip("xyz", low, high, strict=True))
        rows += [("box", axes), ("edges", f"{self.edges[0]:.4g} … {self.edges[1]:.4g}")]
        for cell in self.cells:
            quality = "" if np.isnan(cell.scaled_jacobian) else f", scaled Jacobian ≥ {cell.scaled_jacobian:.3f}"
            quality += f", edges 1 : {cell.edge_ratio:.3g}" if np.isfinite(cell.edge_ratio) else ""
            rows.append(("cells", f"{cell.count:,} {plural(cell.kind)}{quality}"))
        for noun, sets, what in (
            ("surface", self.surfaces, "sides"), ("element set", self.element_sets, "elements"),
            ("node set", self.node_sets, "nodes"),
        ):  # fmt: skip
            rows += [(noun, f"{name}: {count:,} {what}") for name, count in list(sets.items())[:_MOST_LINES]]
            if len(sets) > _MOST_LINES:
                rows.append((noun, f"… {len(sets) - _MOST_LINES:,} more"))
        rows += [("not taken", line) for line in self.not_supported]
        return "\n".join(f"{name:<12} {text}" for name, text in rows)

    __repr__ = __str__


@checked_call
def describe(path: str | Path, *, mesh: str | None = None) -> MeshDescription:
    """What is in a mesh file: format, kinds and quality of the cells, sets, sizes, and what is not supported.

    Files that `read` refuses for their cells are described, too. Lengths are in the unit of the file: a part of 1,000
    times the expected size needs `scaled=1e-3`. The scaled Jacobian is the least determinant of the unit edges at a
    corner, 1 for regular cells (Knupp, Finite Elements in Analysis and Design 39, 2003). mesh: the one of a MED file
    with several.

    >>> import tempfile
    >>> import arlequin as aq
    >>> text = "*NODE\\n1,0\\n2,50\\n3,50,50\\n4,0,50\\n9,7\\n*NSET,NSET=foot\\n1,2\\n"
    >>> text += "*ELEMENT,TYPE=CPS4,ELSET=plate\\n1,1,2,3,4\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/plate.inp").write_text(text)
    ...     found = aq.mesh.describe(f"{folder}/plate.inp")
    >>> print(str(found).split("\\n", 1)[1])
    nodes        5, 1 in no cell
    box          x 0 … 50, y 0 … 50, z 0 … 0
    edges        50 … 50
    cells        1 quads, scaled Jacobian ≥ 1.000, edges 1 : 1
    element set  plate: 1 elements
    node set     foot: 2 nodes
    not taken    1 nodes that no cell uses are left out
    >>> found.element_sets, found.cells[0].count
    ({'plate': 1}, 1)
    """
    path = Path(checks.path("path", path))
    whole = load(path, mesh).check(path)
    used = np.ones(len(whole.points), dtype=bool)
    used[whole.orphans] = False
    points = whole.points[used]
    shortest, longest, cells = np.inf, 0.0, []
    for block in whole.blocks:
        if len(block.nodes):
            lengths = _lengths(whole, block.kind, block.nodes)
            if lengths.size:
                shortest, longest = min(shortest, float(lengths.min())), max(longest, float(lengths.max()))
            quality = _scaled_jacobian(whole.points, block.kind, block.nodes)
            cells.append(CellSummary(block.kind, len(block.nodes), quality, _ratio(lengths)))
    refused = [f"{plural(kind)} are not supported" for kind in unsupported_kinds(whole)]
    several = kinds(whole)
    if len(several) > 1:
        refused.append(f"cells of several kinds ({', '.join(several)}): aq.mesh.parts, or tetrahedra=True where solid")
    if (line := not_flat(points, whole.dimension)) is not None:
        refused.append(f"{line}: shells, membranes and beams in space are not supported")
    low, high = points.min(axis=0), points.max(axis=0)
    return MeshDescription(
        str(path),
        whole.format,
        len(whole.points),
        tuple(cells),
        (_triple(low), _triple(high)),
        (shortest if longest else 0.0, longest),
        {name: len(members) for name, members in whole.node_sets.items()},
        {name: len(members) for name, members in whole.element_sets.items()},
        {name: len(sides) for name, sides in whole.surfaces.items()},
        len(whole.orphans),
        tuple(refused + left_out(whole)),
    )


def _triple(values: Array) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z


def _lengths(mesh: ForeignMesh, kind: str, nodes: Indices) -> Array:
    """Lengths (c, edge) of the straight edges."""
    edges = shape(kind).edges
    if not edges:
        return np.zeros((len(nodes), 0))
    ends = np.array(edges)
    return np.asarray(np.linalg.norm(mesh.points[nodes[:, ends[:, 0]]] - mesh.points[nodes[:, ends[:, 1]]], axis=2))


def _ratio(lengths: Array) -> float:
    if not lengths.size:
        return float("nan")
    shortest = lengths.min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.where(shortest > 0, lengths.max(axis=1) / shortest, np.inf)))


def _scaled_jacobian(points: Array, kind: str, nodes: Indices) -> float:
    """The least, over cells and corners, of the determinant of the unit edges that meet at a corner."""
    name, form = shape_name(kind), shape(kind)
    if name not in _REGULAR:
        return float("nan")
    corners, _ = corners_and_middles(kind, nodes, points)
    products = []
    for corner, others in enumerate(_neighbours(name)):
        edges = corners[:, others] - corners[:, [corner]]
        length = np.linalg.norm(edges, axis=2, keepdims=True)
        edges = edges / np.where(length > 0, length, 1.0)
        products.append(np.linalg.det(edges) if form.dimension == 3 else np.cross(edges[:, 0], edges[:, 1]))
    values = np.stack(products)
    if form.dimension == 2:  # of surfaces in space: by the side to which the normal of the first corner points
        sense = np.sign(np.einsum("kci,ci->kc", values, values[0]))
        values = np.where(sense == 0, 1.0, sense) * np.linalg.norm(values, axis=2)
    elif np.median(values.min(axis=0)) < 0:  # files that count their corners the other way round
        values = -values
    return float(values.min() / _REGULAR[name])


# corners of regular cells, for the order of the edges at a corner
_CORNERS = {
    "triangle": [[0, 0], [1, 0], [0, 1]],
    "quad": [[0, 0], [1, 0], [1, 1], [0, 1]],
    "tetra": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "wedge": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]],
    "hexahedron": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]],
}


def _neighbours(name: str) -> list[list[int]]:
    """The corners joined with each corner by an edge, in such order that regular cells have positive determinants."""
    at, out = np.array(_CORNERS[name]), []
    for corner in range(len(at)):
        others = [a + b - corner for a, b in SHAPES[name].edges if corner in (a, b)]
        out.append(others if np.linalg.det(at[others] - at[corner]) > 0 else others[::-1])
    return out
