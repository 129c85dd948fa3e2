"""Parts and ties of a mesh file: a solid for each set of cells that has a material, tied where they share nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from arlequin.junctions.surface import Tie
from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import Material
from arlequin.models.mesh.building import BuiltMesh, build, kinds, restricted
from arlequin.models.mesh.foreign import ForeignMesh
from arlequin.models.mesh.reading import cells_of_kind, load_converted, tell
from arlequin.models.signatures import checked_call, meant
from arlequin.models.types import Indices


@dataclass(frozen=True, eq=False)
class ImportedSolids:
    """Parts of a mesh file, by their names, and the ties between them."""

    parts: dict[str, Solid]
    ties: list[Tie]

    def __getitem__(self, name: str) -> Solid:
        if name not in self.parts:
            raise UserError.parameter("part", name, f"must be one of {', '.join(self.parts)}")
        return self.parts[name]

    def __repr__(self) -> str:
        return f"ImportedSolids({', '.join(self.parts)}; {len(self.ties)} ties)"


@checked_call
def solids(
    path: str | Path,
    materials: Mapping[str, Material],
    *,
    scaled: float = 1.0,
    tetrahedra: bool = False,
    mesh: str | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    **common: Any,
) -> ImportedSolids:
    """Solids of the element sets of a mesh file, one for each set with a material, tied where sets share nodes.

    materials: element set → material, the parts' names; sets must not have a cell in common, and cells in none of them
    are left out with a ModelWarning. A set with cells of several kinds gives a part of each, `set_kind`
    (`rod_tetra`). The facets that two parts share are the boundary `tie_<other part>` of both and joined by a `Tie`;
    node by node, the meshes being one in the file. Other boundaries of a part are those of `aq.mesh.read`, on its own
    outside. scaled, tetrahedra, mesh: as for `read`. options: part → parameters of its `Solid`; common: those of all
    of them (`plane="strain"`, `order=2`).

    >>> import tempfile
    >>> import arlequin as aq
    >>> cells = "*ELEMENT,TYPE=CPS4,ELSET=rod\\n1,1,2,5,4\\n*ELEMENT,TYPE=CPS4,ELSET=cap\\n2,2,3,6,5\\n"
    >>> text = "*NODE\\n1,0\\n2,10\\n3,20\\n4,0,10\\n5,10,10\\n6,20,10\\n*NSET,NSET=foot\\n1,4\\n" + cells
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/rod.inp").write_text(text)
    ...     model = aq.solids(f"{folder}/rod.inp", {"rod": steel, "cap": steel}, scaled=1e-3, plane="strain")
    >>> model, sorted(model["rod"].mesh.boundaries)
    (ImportedSolids(rod, cap; 1 ties), ['foot', 'tie_cap'])
    >>> system = aq.System(list(model.parts.values()), junctions=model.ties)
    """
    path = Path(checks.path("path", path))
    checks.mapping("materials", materials, "must map element sets to materials")
    if not materials:
        raise UserError.parameter("materials", materials, "must map element sets to materials, one at least")
    special = {} if options is None else checks.mapping("options", options, "must map parts to parameters of a Solid")
    for part, parameters in special.items():
        checks.mapping(f"options[{part!r}]", parameters, "must map parameters of a Solid to their values")
    whole = load_converted(path, scaled, tetrahedra, mesh)
    top = np.concatenate([np.full(len(block.nodes), block.dimension == whole.dimension) for block in whole.blocks])
    owner = np.full(top.size, -1, dtype=np.int64)
    names = list(materials)
    for number, name in enumerate(names):
        cells = _cells_of(path, whole, name, top)
        if (owner[cells] >= 0).any():
            other = names[int(owner[cells].max())]
            raise UserError(
                f"{path}: the sets {other!r} and {name!r} have cells in common: give one of them a material"
            )
        owner[cells] = number
    notes = []
    if (top & (owner < 0)).any():
        notes.append(f"{int((top & (owner < 0)).sum()):,} cells in none of the sets {', '.join(names)} are left out")
    built: dict[str, tuple[BuiltMesh, str]] = {}
    for number, name in enumerate(names):
        subdomain = restricted(whole, np.flatnonzero(owner == number))
        several = kinds(subdomain)
        for kind in several:
            cells_alike = restricted(subdomain, cells_of_kind(subdomain, kind))
            part = name if len(several) == 1 else f"{name}_{kind}"
            built[part] = build(path, _without_foreign(cells_alike)), name
    outsides = {part: _outside(one) for part, (one, _) in built.items()}
    shared = {
        (a, b): facets for a, b in combinations(built, 2) if (facets := _shared(outsides[a], outsides[b])) is not None
    }
    for part in special:
        if part not in built:
            raise UserError.parameter("options", part, f"must name parts{meant(part, built)} ({', '.join(built)})")
    parts: dict[str, Solid] = {}
    for part, (one, name) in built.items():
        boundaries = dict(one.mesh.boundaries or {})
        for (a, b), (of_a, of_b) in shared.items():
            if part in (a, b):
                boundaries[f"tie_{b if part == a else a}"] = of_a if part == a else of_b
        plain = replace(one.mesh, _boundaries=boundaries)
        parts[part] = Solid(part, plain, materials[name], **{**common, **special.get(part, {})})
    ties = []
    for a, b in shared:
        coarse, fine = (a, b) if parts[a].finite_element.order <= parts[b].finite_element.order else (b, a)
        surfaces = parts[coarse].boundary(f"tie_{fine}"), parts[fine].boundary(f"tie_{coarse}")
        ties.append(Tie(*surfaces, name=f"{coarse}_{fine}"))
    tell(path, notes)
    return ImportedSolids(parts, ties)


def _cells_of(path: Path, mesh: ForeignMesh, name: str, top: Indices) -> Indices:
    """The cells of a set, of the highest dimension; UserError where there are none."""
    sets = {known: members for known, members in mesh.element_sets.items() if top[members].any()}
    if name not in sets:
        exist = ", ".join(sets) or "none"
        raise UserError(f"{path}: no element set with cells is named {name!r}{meant(name, sets)} (sets: {exist})")
    return np.asarray(sets[name][top[sets[name]]])


def _without_foreign(mesh: ForeignMesh) -> ForeignMesh:
    """The mesh of a part; sides of other parts in its sets are no mistake, and go without saying."""
    used = np.zeros(len(mesh.points) + 1, dtype=bool)
    for block in mesh.blocks:
        if block.dimension == mesh.dimension:
            used[block.nodes] = True
    used[-1] = True  # −1: no corner
    sides = {name: rows[used[rows].all(axis=1)] for name, rows in mesh.surfaces.items()}
    return replace(mesh, surfaces={name: rows for name, rows in sides.items() if len(rows)})


def _outside(built: BuiltMesh) -> tuple[Indices, Indices]:
    """Facets (f,) on the outside of a mesh, and their corners (f, corner)."""
    facets = built.mesh.boundary_facets()
    return facets, built.side_nodes(facets)


def _shared(first: tuple[Indices, Indices], second: tuple[Indices, Indices]) -> tuple[np.ndarray, np.ndarray] | None:
    """Facets (f,) of the outsides of two meshes that lie on each other; None where there are none."""
    nodes = first[1], second[1]
    common = np.intersect1d(*nodes)
    # quadrilaterals may lie on triangles: only their corners are common
    near = [np.asarray(np.isin(rows, common).all(axis=1)) for rows in nodes]
    if nodes[0].shape[1] == nodes[1].shape[1] and near[0].any() and near[1].any():
        rows = [every[some] for every, some in zip(nodes, near, strict=True)]
        _, number = np.unique(np.vstack(rows), axis=0, return_inverse=True)
        ours, theirs = np.split(number.ravel(), [len(rows[0])])
        near[0][near[0]], near[1][near[1]] = np.isin(ours, theirs), np.isin(theirs, ours)
    if not near[0].any() or not near[1].any():
        return None
    return first[0][near[0]].astype(np.int32), second[0][near[1]].astype(np.int32)
