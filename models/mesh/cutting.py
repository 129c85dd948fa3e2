"""Meshes that are cut along inner facets, so that both sides of a section have nodes of their own."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices

_PARALLEL = 1e-6  # cosine between a facet's normal and the axis below which the facet lies along the axis


@checked_call
def cut(
    mesh: Any,
    name: str = "cut",
    *,
    plane: tuple[ArrayLike, ArrayLike] | None = None,
    boundary: str | None = None,
    between: tuple[str, str] | None = None,
    within: str | None = None,
) -> Any:
    """The mesh with the nodes of a section doubled; its sides are the boundaries `"{name} first"`, `"{name} second"`.

    The section is one of

    - `plane=(point, normal)`, m: the facets between cells whose centres lie on different sides of the plane. On a mesh
      that has facets on the plane these are they; on others they are the steps next to it. The first side is that
      towards which −n points.
    - `boundary`: a named set of inner facets, from the side at the lower coordinate along its mean normal.
    - `between=(first, second)`: the facets that two sets of cells (`mesh.subdomains`) have in common.

    within: a set of cells to which the section is limited, as one leg of a clip that a plane cuts twice.

    Cells, boundaries and sets of cells stay as they are; a section must end at the outside of the mesh. `Pretension`
    joins its sides again. UserError where nothing is cut, and where the section ends inside the mesh.

    >>> import arlequin as aq
    >>> mesh = aq.mesh.rectangle((0.0, 0.01), (0.0, 0.1), cells=(2, 10))  # m
    >>> both = aq.mesh.cut(mesh, plane=((0.0, 0.05), (0.0, 1.0)))
    >>> both.nelements, both.p.shape[1] - mesh.p.shape[1], sorted(both.boundaries)
    (20, 3, ['bottom', 'cut first', 'cut second', 'left', 'right', 'top'])
    """
    checks.valid_name(name, "name of a section")
    if sum(choice is not None for choice in (plane, boundary, between)) != 1:
        raise UserError(f"cut '{name}': give a plane, a boundary, or between, one of them")
    names = [f"{name} {side}" for side in ("first", "second")]
    for known in names:
        if known in (mesh.boundaries or {}):
            raise UserError.parameter("name", name, f"is taken: the mesh has a boundary '{known}'")
    inner = np.flatnonzero(mesh.f2t[1] >= 0)
    cells = mesh.f2t[:, inner]  # (2, f): those of both sides of a facet
    if plane is not None:
        first, second = _across_plane(mesh, plane)[cells]
        chosen, second_is_other = first != second, ~first
    elif boundary is not None:
        chosen, second_is_other = _of_boundary(mesh, boundary, inner)
    else:
        assert between is not None
        before, after = (_members(mesh, "between", item) for item in between)
        chosen = (before[cells[0]] & after[cells[1]]) | (after[cells[0]] & before[cells[1]])
        second_is_other = before[cells[0]]
    if within is not None:
        chosen &= _members(mesh, "within", within)[cells].all(axis=0)
    if not chosen.any():
        where = "" if within is None else f" within '{within}'"
        what = {"plane": plane, "boundary": boundary, "between": between}
        given = next(f"{key} = {value!r}" for key, value in what.items() if value is not None)
        raise UserError(f"cut '{name}': {given} has no facet between two cells{where}: it does not cut the mesh")
    facets = inner[chosen]
    sides = np.where(second_is_other[chosen], cells[:, chosen], cells[::-1, chosen])
    nodes, copies = _doubled(mesh, name, facets, sides)
    return _rebuilt(mesh, nodes, copies, facets, sides, names)


def _across_plane(mesh: Any, plane: Any) -> Any:
    """Whether the centre of each cell (c,) is beyond the plane, on the side to which its normal points."""
    rule = "must be (point, normal), two points in m with the axes of the mesh"
    if not isinstance(plane, tuple | list) or len(plane) != 2:
        raise UserError.parameter("plane", plane, rule)
    axes = (mesh.dim(),)
    point, normal = (
        checks.finite_array(f"plane: {what}", np.atleast_1d(np.asarray(value, dtype=float)), axes)
        for what, value in zip(("point", "normal"), plane, strict=True)
    )
    if not np.linalg.norm(normal) > 0.0:
        raise UserError.parameter("plane: normal", plane[1], "must not be zero")
    return normal @ (_centres(mesh) - point[:, None]) > 0.0


def _centres(mesh: Any) -> Array:
    return np.asarray(mesh.p[:, mesh.t].mean(axis=1))


def _of_boundary(mesh: Any, boundary: str, inner: Indices) -> tuple[Any, Any]:
    """Which inner facets (f,) a named set has, and whether the second cell of each is beyond it along its normal."""
    known = mesh.boundaries or {}
    checks.one_of("boundary", boundary, sorted(known))
    facets = np.unique(np.asarray(known[boundary], dtype=np.int64))
    outside = int((mesh.f2t[1, facets] < 0).sum())
    if outside:
        raise UserError(
            f"boundary '{boundary}' has {outside} of {facets.size} facets on the outside of the mesh: "
            "a section has cells on both sides"
        )
    normals = _normals(mesh, facets)
    axis = np.linalg.eigh(normals @ normals.T)[1][:, -1]
    axis *= np.sign(axis[np.abs(axis).argmax()])
    if (np.abs(axis @ normals) < _PARALLEL * np.linalg.norm(normals, axis=0)).any():
        raise UserError(f"boundary '{boundary}' has facets along its mean normal: give a section without them")
    beyond = np.diff(np.asarray(_centres(mesh)[:, mesh.f2t[:, inner]]), axis=1)[:, 0]
    side_normals = np.zeros((mesh.dim(), mesh.facets.shape[1]))
    side_normals[:, facets] = normals * np.sign(axis @ normals)
    return np.isin(inner, facets), (beyond * side_normals[:, inner]).sum(axis=0) > 0.0


def _normals(mesh: Any, facets: Indices) -> Array:
    """Normals (axis, f) of the corners of facets, of any sense; their length is a measure of the facet."""
    corners = mesh.p[:, mesh.facets[:, facets]]
    if mesh.dim() == 1:
        return np.ones((1, facets.size))
    first = corners[:, 1] - corners[:, 0]
    if mesh.dim() == 2:
        return np.stack([first[1], -first[0]])
    return np.asarray(np.cross(first, corners[:, 2] - corners[:, 0], axis=0))


def _members(mesh: Any, what: str, name: str) -> Any:
    """Whether each cell (c,) is in the named set."""
    checks.one_of(what, name, sorted(mesh.subdomains or {}))
    out = np.zeros(mesh.nelements, dtype=bool)
    out[np.asarray(mesh.subdomains[name])] = True
    return out


def _doubled(mesh: Any, name: str, facets: Indices, sides: Indices) -> tuple[Indices, Indices]:
    """Nodes of the cells (n, c) with those of the second side renumbered; and the node of which each new one is a copy.

    The cells around a node of the section fall into groups connected by other facets. Groups with cells of the second
    side take the copy; a node whose group has cells of both sides is one where the section ends inside the mesh.
    """
    nodes = np.asarray(mesh.dofs.element_dofs, dtype=np.int64).copy()
    count, (n, cells) = int(nodes.max()) + 1, nodes.shape
    on_section = np.zeros(count, dtype=bool)
    on_section[mesh.dofs.get_facet_dofs(facets).flatten()] = True
    # place: node i of cell c at i * cells + c; connected across all other facets
    others = np.setdiff1d(np.flatnonzero(mesh.f2t[1] >= 0), facets)
    first, second = mesh.f2t[:, others]
    near = on_section[nodes[:, first]].any(axis=0)
    first, second = first[near], second[near]
    i, j, pair = np.nonzero(_common(nodes, first, second) & on_section[nodes[:, first]][:, None])
    ends = i * cells + first[pair], j * cells + second[pair]
    graph = sp.csr_array((np.ones(pair.size), ends), shape=(n * cells, n * cells))
    groups, group = sp.csgraph.connected_components(graph, directed=False)
    group = group.reshape(n, cells)
    touched = np.zeros((2, groups), dtype=bool)
    for side, other, reached in zip(sides, sides[::-1], touched, strict=True):
        reached[group[:, side][_common(nodes, side, other).any(axis=1)]] = True
    both = (touched[0] & touched[1])[group] & on_section[nodes]
    if both.any():
        place = mesh.doflocs[:, nodes[both][0]]
        where = ", ".join(f"{x:.6g}" for x in place)
        raise UserError(
            f"cut '{name}': the section ends inside the mesh, at ({where}) m: give one that reaches its outside all "
            "around"
        )
    moved = touched[1][group] & on_section[nodes]
    copies, number = np.unique(nodes[moved], return_inverse=True)
    nodes[moved] = count + number.ravel()
    return nodes, copies


def _common(nodes: Indices, first: Indices, second: Indices) -> Any:
    """Whether node i of the first cell of each pair is node j of the second one (n, n, pair)."""
    return nodes[:, None, first] == nodes[None, :, second]


def _rebuilt(mesh: Any, nodes: Indices, copies: Indices, facets: Indices, sides: Indices, names: list[str]) -> Any:
    """The mesh of the renumbered cells, with its named facets and sets of cells, and those of the section."""
    points = np.hstack([mesh.doflocs, mesh.doflocs[:, copies]])
    out = replace(
        mesh, doflocs=points, t=np.ascontiguousarray(nodes.astype(np.int32)), _boundaries=None, _subdomains=None
    )
    corners = mesh.t.shape[0]
    origin = np.empty(out.nvertices, dtype=np.int64)
    if nodes.shape[0] > corners:
        origin[out.t] = mesh.t  # scikit-fem has numbered the nodes anew, and keeps their order in the cells
    else:
        origin[:] = np.concatenate([np.arange(mesh.nvertices), copies])
    taken = np.sort(origin[out.facets], axis=0)
    former = np.sort(mesh.facets, axis=0)

    def of_cells(chosen: Indices, cells: Indices) -> Indices:
        candidates = out.t2f[:, cells]
        same = (taken[:, candidates] == former[:, chosen][:, None]).all(axis=0)
        return np.asarray(candidates[same.argmax(axis=0), np.arange(chosen.size)], dtype=np.int32)

    known = {label: np.asarray(items, dtype=np.int64) for label, items in (mesh.boundaries or {}).items()}
    boundaries = {label: of_cells(items, mesh.f2t[0, items]) for label, items in known.items()}
    for label, cells in zip(names, sides, strict=True):
        boundaries[label] = of_cells(facets, cells)
    return replace(out, _boundaries=boundaries, _subdomains=mesh.subdomains)
