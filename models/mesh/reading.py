"""Mesh files of other programs: `read`, `parts`, `points`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from arlequin.models import checks, limits
from arlequin.models.errors import ModelWarning, UserError, warn_user
from arlequin.models.mesh import abaqus, ansys, gmsh, hdf, nastran, vtu
from arlequin.models.mesh.building import build, kinds, restricted
from arlequin.models.mesh.conversion import converted
from arlequin.models.mesh.foreign import ForeignMesh, damaged, plural, shape_name
from arlequin.models.signatures import checked_call, meant
from arlequin.models.types import Array

FORMATS = (
    "Gmsh .msh, Abaqus .inp, ANSYS .cdb, Nastran .bdf .nas .dat, MED .med, Exodus .e .exo, VTK .vtu"
)  # fmt: skip
_NASTRAN = (".bdf", ".nas", ".dat", ".blk", ".bulk", ".fem")


@checked_call
def read(
    path: str | Path,
    boundaries: Sequence[str] = (),
    cells: Sequence[str] = (),
    *,
    scaled: float = 1.0,
    tetrahedra: bool = False,
    mesh: str | None = None,
) -> Any:
    """The mesh of a file of Gmsh, Abaqus, ANSYS, Nastran, MED (Salome, Code_Aster), Exodus (MOOSE) or VTK (.vtu).

    Named boundaries are the surfaces of the file, its sets of cells of one dimension less, and its node sets as the
    facets on the outside whose nodes are all in the set; sets of cells, subdomains, are its element sets: physical
    groups of Gmsh, families of MED, components (and MAT_n, TYPE_n) of ANSYS, properties (PSOLID_n) and SET_n of
    Nastran, whose faces under pressure are PLOAD4_n and whose supported nodes SPC_n, blocks and side sets of Exodus.
    `points` gives the node sets, `describe` what is in a file before it is read.

    boundaries, cells: names that must exist in the file. scaled: metres of the unit of the file, 1e-3 for millimetres.
    mesh: the one that is read of a MED file with several.
    Collapsed cells are read as what they are. Wedges and pyramids become tetrahedra, neighbours alike, and with
    tetrahedra=True hexahedra too; serendipity cells get nodes in their sides and centre and keep their geometry. The
    cells must then be of one kind (else: `parts`). Second-order files give curved meshes; z is left out of plane
    ones. A `ModelWarning` tells what was converted and what left out, as nodes that no cell uses; with Gmsh these, and
    groups without a name, which go by their number, go without saying.

    Errors: one line for files that are not there, cut off or of no known format, and names that name nothing.

    >>> import meshio, tempfile
    >>> import arlequin as aq
    >>> points, cells = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0]], {"line": [[0, 1]], "triangle": [[0, 1, 2]]}
    >>> tags, names = {"gmsh:physical": [[1], [2]], "gmsh:geometrical": [[1], [2]]}, {"foot": [1, 1], "plate": [2, 2]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     meshio.Mesh(points, cells, cell_data=tags, field_data=names).write(f"{folder}/p.msh", file_format="gmsh22")
    ...     mesh = aq.mesh.read(f"{folder}/p.msh", boundaries=["foot"])
    >>> mesh.nelements, sorted(mesh.boundaries), sorted(mesh.subdomains)
    (1, ['foot'], ['plate'])
    """
    path = Path(checks.path("path", path))
    required = _names("boundaries", boundaries), _names("cells", cells)
    built = build(path, load_converted(path, scaled, tetrahedra, mesh), *required)
    tell(path, built.notes)
    return built.mesh


@checked_call
def parts(
    path: str | Path,
    boundaries: Sequence[str] = (),
    *,
    scaled: float = 1.0,
    tetrahedra: bool = False,
    mesh: str | None = None,
) -> dict[str, Any]:
    """The meshes of a file with cells of several kinds, one of each kind: kind → mesh.

    The kinds are meshio's: "hexahedron", "tetra", …; boundaries must exist in one of the meshes. The parameters are
    those of `read`; `aq.solids` makes parts and ties of a file in one call.

    >>> import tempfile
    >>> import arlequin as aq
    >>> text = "*NODE\\n1,0\\n2,1\\n3,1,1\\n4,0,1\\n5,2\\n"
    >>> text += "*ELEMENT,TYPE=CPS4\\n1,1,2,3,4\\n*ELEMENT,TYPE=CPS3\\n2,2,5,3\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/plate.inp").write_text(text)
    ...     {kind: mesh.nelements for kind, mesh in aq.mesh.parts(f"{folder}/plate.inp").items()}
    {'quad': 1, 'triangle': 1}
    """
    path = Path(checks.path("path", path))
    required = _names("boundaries", boundaries)
    whole = load_converted(path, scaled, tetrahedra, mesh)
    built = {kind: build(path, restricted(whole, cells_of_kind(whole, kind))) for kind in kinds(whole)}
    meshes = {kind: one.mesh for kind, one in built.items()}
    known = {name for one in meshes.values() for name in one.boundaries or {}}
    for name in required:
        if name not in known:
            exist = ", ".join(sorted(known)) or "none"
            raise UserError(f"{path}: no boundary set is named {name!r}{meant(name, known)} ({exist})")
    if len(built) == 1:  # sides of another kind's cells are no mistake
        tell(path, next(iter(built.values())).notes)
    return meshes


@checked_call
def points(path: str | Path, *, scaled: float = 1.0, mesh: str | None = None) -> dict[str, Array]:
    """Positions (k, 3) in m of the nodes of each node set of a file: set → positions, in the order of their numbers.

    Sets of few nodes, on which no facet lies, name points: where a result is read, or a spring is fixed. scaled, mesh:
    see `read`.

    >>> import tempfile
    >>> import arlequin as aq
    >>> text = "*NODE\\n1,0\\n2,50\\n3,0,50\\n*ELEMENT,TYPE=CPS3\\n1,1,2,3\\n*NSET,NSET=tip\\n2\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/plate.inp").write_text(text)
    ...     aq.mesh.points(f"{folder}/plate.inp", scaled=1e-3)["tip"].tolist()
    [[0.05, 0.0, 0.0]]
    """
    path = Path(checks.path("path", path))
    factor = checks.positive("scaled", scaled)
    whole = load(path, mesh)
    return {name: whole.points[members] * factor for name, members in whole.node_sets.items()}


def _names(parameter: str, value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else checks.items(parameter, value, str, "must be a list of names")


def load_converted(path: Path, scaled: float, tetrahedra: bool, name: str | None = None) -> ForeignMesh:
    """The mesh of a file in metres and in cells that this library has; ModelWarning on what changed."""
    factor = checks.positive("scaled", scaled)
    checks.flag("tetrahedra", tetrahedra)
    mesh = load(path, name).check(path)
    notes = left_out(mesh)
    top = sum(len(block.nodes) for block in mesh.blocks if block.dimension == mesh.dimension)
    limits.check_cells("path", path, top, mesh.dimension or 1)
    try:
        mesh, lines = converted(replace(mesh, points=mesh.points * factor), tetrahedra)
    except UserError as error:
        raise UserError(f"{path}: {error}", code=1) from None
    tell(path, lines + notes)
    return mesh


def left_out(mesh: ForeignMesh) -> list[str]:
    """What a file has and its mesh will not have, or not as it was meant, a line each; nothing of Gmsh files."""
    if mesh.format == "Gmsh":
        return []
    notes = [f"{count:,} {what} are left out" for what, count in mesh.left_out.items()]
    named = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *mesh.element_sets.values()]))
    for block, start in zip(mesh.blocks, mesh.starts, strict=False):
        count, words = len(block.nodes), plural(block.kind)
        types = ", ".join(sorted(mesh.structural.get(shape_name(block.kind), ())))
        if count and block.dimension < mesh.dimension - 1:
            notes.append(f"{count:,} {words} are left out")
        elif block.dimension == mesh.dimension - 1:
            in_sets = int(np.isin(np.arange(start, start + count), named).sum())
            if count > in_sets:
                notes.append(f"{count - in_sets:,} {words} in no set are left out")
            if in_sets and types:
                notes.append(
                    f"{in_sets:,} {words} in sets are boundaries only, without the stiffness and mass of {types}"
                )
        elif count and types:
            notes.append(
                f"{words} of {types} are read as cells of a {'plane' if mesh.dimension == 2 else 'straight'} part"
            )
    if len(mesh.orphans):
        notes.append(f"{len(mesh.orphans):,} nodes that no cell uses are left out")
    return notes


def cells_of_kind(mesh: ForeignMesh, kind: str) -> Any:
    """Numbers of the cells of a kind, through all blocks."""
    return np.concatenate(
        [
            np.arange(start, start + len(block.nodes))
            for block, start in zip(mesh.blocks, mesh.starts, strict=False)
            if block.kind == kind
        ]
    )


def tell(path: Path, notes: Sequence[str]) -> None:
    """One ModelWarning of all notes."""
    if notes:
        warn_user(f"{path}: {'; '.join(notes)}", ModelWarning)


def load(path: Path, name: str | None = None) -> ForeignMesh:
    """The mesh of a file of any format, as it is in the file; name: the one of a MED file with several."""
    if name is not None:
        checks.instance("mesh", name, str, "must be the name of a mesh of the file")
    content = _content(path)
    start = content[:2000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(hdf.HDF5) and hdf.is_med(path):
        mesh = hdf.load_med(path, name)
    elif name is not None:
        raise UserError.parameter(
            "mesh", name, f"must be left out: {path} is no MED file, which alone may hold several"
        )
    else:
        reader = _reader(path, content, start)
        if reader is None:
            raise UserError(f"{path}: not a mesh file of a known format ({FORMATS})", code=1)
        mesh = reader()
    if not np.isfinite(mesh.points).all():
        raise damaged(path, "a coordinate is not finite")
    return mesh


def _reader(path: Path, content: bytes, start: bytes) -> Callable[[], ForeignMesh] | None:
    """The reader of a file, by how it begins and by the ending of its name; None where there is none."""
    suffix = path.suffix.lower()
    if start.startswith((b"$MeshFormat", b"$Comments", b"$NOD")) or suffix == ".msh":
        return lambda: gmsh.load(path, content)
    if start.startswith((hdf.HDF5, b"CDF")):
        return lambda: hdf.load_exodus(path, content)
    if suffix in (".e", ".exo", ".ex2", ".exii", ".g"):
        return None
    if start.startswith((b"<?xml", b"<VTKFile")):
        return lambda: vtu.load(path, content)
    if suffix == ".med" or b"\0" in content[:2000]:
        return None
    if suffix == ".cdb" or (suffix in (".inp", ".dat", ".ans", ".txt") and ansys.is_archive(content)):
        return lambda: ansys.load(path, content) if ansys.is_archive(content) else _refuse(path)
    if suffix == ".inp":
        return lambda: abaqus.load(path, content) if b"*" in content else _refuse(path)
    if suffix in _NASTRAN:
        return lambda: nastran.load(path, content)
    return None


def _refuse(path: Path) -> ForeignMesh:
    raise UserError(f"{path}: not a mesh file of the format that its name says ({FORMATS})", code=1)


def _content(path: Path) -> bytes:
    """The bytes of a file that is there and not empty."""
    if not path.exists():
        raise UserError(f"{path}: no such mesh file")
    if not path.is_file():  # reading a pipe or a device might not end
        raise UserError(f"{path}: cannot be read (it is not a file)", code=1)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})", code=1) from None
    if not content.strip():
        raise UserError(f"{path}: the mesh file is empty", code=1)
    return content
