"""Superelements from files: Nastran OP4 and DMIG, Abaqus, ANSYS, Matrix Market, NumPy and SciPy archives."""

import json
import math
import os
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from arlequin.models import checks
from arlequin.models.errors import FAILURE, UserError, UserTypeError
from arlequin.models.reduction.dmig import Label, read_bulk_data
from arlequin.models.reduction.superelement import Superelement
from arlequin.models.reduction.superelement_coordinates import component_names
from arlequin.models.reduction.superelement_writing import BULK_ENDINGS, KINDS, NUMBERS, optional, sibling
from arlequin.models.signatures import checked_call, meant
from arlequin.models.types import Array

NAMES = {
    "stiffness": ("KAAX", "KAA", "KGG", "K2GG", "K2PP", "KXX", "K", "STIFFNESS"),
    "mass": ("MAAX", "MAA", "MGG", "M2GG", "M2PP", "MXX", "M", "MASS"),
    "damping": ("BAAX", "BAA", "BGG", "B2GG", "B2PP", "BXX", "B", "D", "DAMPING"),
}
UNITS = ("m", "mm")
_COMPONENTS = {number: name for name, number in NUMBERS.items()}
_FIXED = 1e36  # diagonal that Abaqus writes for a supported degree of freedom


@dataclass(frozen=True, eq=False)
class FileMatrices:
    """Matrices of a file by their names, labels (d,) of their coordinates, positions by node, and other fields."""

    matrices: dict[str, Any]
    labels: dict[str, list[Label]] | None = None
    points: dict[int, Array] | None = None
    fields: Mapping[str, Any] | None = None


@checked_call
def read_superelement(
    path: Any,
    name: str | None = None,
    *,
    matrices: Mapping[str, str] | None = None,
    positions: Any = None,
    components: Any = None,
    interface: Mapping[str, Any] | None = None,
    recovery: Any = None,
    units: str = "m",
    **options: Any,
) -> Superelement:
    """A `Superelement` from the files of another code.

    path: a file, or a mapping from "stiffness", "mass" and "damping" to files of one matrix each.

    - Nastran `.op4` (text, binary, sparse), by the package pyyeti; `.pch`, `.bdf` with DMIG, GRID and SPOINT cards;
    - Abaqus `.mtx` of *MATRIX GENERATE: MATRIX INPUT (node, dof, node, dof, value) and COORDINATE (row, column, value);
    - ANSYS `.full`, by the package ansys-mapdl-reader;
    - Matrix Market `.mtx`, and `blade.mtx` for blade_stiffness.mtx, blade_mass.mtx, blade_damping.mtx;
    - NumPy `.npz` with arrays `stiffness`, `mass` and `damping`, as `Superelement.write` writes it, and SciPy's
      `save_npz` of one matrix.

    matrices: names in the file, as {"mass": "MGG"}; by default KAAX, KAA, KGG, …, MAAX, … and BAAX, …. Files with node
    numbers (DMIG, Abaqus, ANSYS) give the components of each node; nodes are in increasing order. positions: (n, axis),
    or a mapping from node numbers of the file to points; DMIG files may hold them (GRID cards, global coordinates).
    interface: as for `Superelement`; with node numbers of the file where it has some. Scalar points, and nodes of
    negative number, are generalised coordinates. units: "m", or "mm" for mm, t, N (MPa), which are converted. options:
    the others of `Superelement`, as `grounded=True`.

    UserError in one line for damaged and incomplete files, unknown names and packages that are not installed.

    >>> import tempfile
    >>> import numpy as np
    >>> import arlequin as aq
    >>> k = 1e6 * np.array([[1.0, -1.0], [-1.0, 1.0]])  # N/m
    >>> rod = aq.Superelement("rod", mass=np.diag([2.0, 3.0]), stiffness=k, positions=[[0.0], [0.5]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = rod.write(f"{folder}/rod.mtx")  # two files of Matrix Market
    ...     again = aq.read_superelement(f"{folder}/rod.mtx", positions=[[0.0], [0.5]], interface={"tip": 1})
    >>> again
    Superelement('rod', 2 nodes, 2 coordinates, 5 kg)
    """
    checks.one_of("units", units, UNITS)
    content, label, stem = _content(path, matrices)
    fields = dict(content.fields or {})
    numbers = None
    found = {kind: matrix for kind, matrix in content.matrices.items() if kind in KINDS}
    if content.labels is not None:
        found, numbers, names = _by_node(label, found, content.labels)
        fields["components"] = names
        given = positions if positions is not None else content.points
        fields["positions"] = _positions(label, given, numbers)
    if positions is not None and numbers is None:
        fields["positions"] = positions
    if components is not None:
        if numbers is not None:
            raise UserError(f"components: {label} has the components of its nodes: leave them out")
        fields["components"] = components
    if interface is not None:
        fields["interface"] = interface if numbers is None else _renumbered(label, interface, numbers)
    if recovery is not None:
        fields["recovery"] = recovery
    if "positions" not in fields:
        raise UserError(f"positions: {label} has no positions: give those of its nodes, (n, axis) in m")
    fields |= options
    if units == "mm":
        _convert(found, fields)
    return Superelement(
        name or str(fields.pop("name", stem)), **found, **{k: v for k, v in fields.items() if k != "name"}
    )


def _content(path: Any, names: Mapping[str, str] | None) -> tuple[FileMatrices, str, str]:
    """The matrices of one file or of several, the files in words, and the name of the first without its ending."""
    if names is not None:
        checks.mapping("matrices", names, 'must map "stiffness", "mass" or "damping" to names of the file')
        for kind in names:
            checks.one_of("matrices", kind, KINDS)
    if not isinstance(path, Mapping):
        one = Path(checks.path("path", path))
        siblings = {kind: sibling(one, kind) for kind in KINDS if sibling(one, kind).exists()}
        if one.exists() or not siblings:
            return _one_file(one, names), str(one), one.stem
        path, stem = siblings, one.stem
    else:
        for kind in path:
            checks.one_of("path", kind, KINDS)
        stem = Path(checks.path("path", next(iter(path.values()), ""))).stem
    loaded = {kind: _single(Path(checks.path(kind, each)), kind, names) for kind, each in path.items()}
    _require(str(path), loaded)
    labelled = {kind: content.labels for kind, content in loaded.items() if content.labels is not None}
    if labelled and len(labelled) < len(loaded):
        raise UserError("path: some of the files have node numbers, others not: take one format")
    labels = {kind: each[kind] for kind, each in labelled.items()} or None
    points = next((content.points for content in loaded.values() if content.points), None)
    matrices = {kind: content.matrices[kind] for kind, content in loaded.items()}
    return FileMatrices(matrices, labels, points), " and ".join(str(each) for each in path.values()), stem


def _single(path: Path, kind: str, names: Mapping[str, str] | None) -> FileMatrices:
    """One matrix of a file, as `kind`."""
    content = _load(path, {kind: names[kind]} if names and kind in names else None)
    if kind in content.matrices:
        return content
    if len(content.matrices) != 1:
        raise UserError(f"{path}: has no {kind} (matrices: {', '.join(content.matrices) or 'none'}): matrices={{…}}")
    (other,) = content.matrices
    labels = None if content.labels is None else {kind: content.labels[other]}
    return FileMatrices({kind: content.matrices[other]}, labels, content.points, content.fields)


def _one_file(path: Path, names: Mapping[str, str] | None) -> FileMatrices:
    content = _load(path, names)
    _require(str(path), content.matrices)
    return content


def _require(label: str, matrices: Mapping[str, Any]) -> None:
    missing = [kind for kind in ("stiffness", "mass") if kind not in matrices]
    if missing:
        known = ", ".join(matrices) or "none"
        raise UserError(
            f"{label}: has no {' and no '.join(missing)} (matrices: {known}): name them, matrices={{…}}, or give a "
            "file for each, {'stiffness': …, 'mass': …}"
        )


def _load(path: Path, names: Mapping[str, str] | None) -> FileMatrices:
    """The matrices of a file; UserError in one line where it is missing, damaged, or of an unknown format."""
    if not path.exists():
        raise UserError(f"{path}: no such file")
    if not path.is_file():
        raise UserError(f"{path}: is not a file")
    ending = path.suffix.lower()
    readers: dict[str, Callable[[Path], Any]] = {
        ".npz": _archive,
        ".op4": _op4,
        ".mtx": _mtx,
        ".full": _full,
        **dict.fromkeys(BULK_ENDINGS, _bulk_data),
    }
    if ending == ".sub":
        raise UserError(
            f"{path}: no open package reads ANSYS' superelement files: write the matrices by *DMAT and *EXPORT (Matrix "
            "Market), or read the .full file of the generation pass"
        )
    if ending not in readers:
        raise UserError.parameter("path", str(path), f"must end in {', '.join(readers)}")
    if not path.stat().st_size:
        raise UserError(f"{path}: is empty", code=FAILURE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = readers[ending](path)
    except UserError:
        raise
    except MemoryError:
        raise UserError(f"{path}: its matrices do not fit into memory", code=FAILURE) from None
    except Exception as error:  # of the packages that read foreign files, any
        text = " ".join(str(error).split())[:120] or type(error).__name__
        raise UserError(f"{path}: is damaged or cut short: {text}", code=FAILURE) from None
    assert isinstance(content, FileMatrices)
    return _named(path, content, names)


def _named(path: Path, content: FileMatrices, names: Mapping[str, str] | None) -> FileMatrices:
    """The matrices by kind: those that `names` names, or of the usual names."""
    upper = {name.upper(): name for name in content.matrices}
    chosen: dict[str, str] = {}
    for kind in KINDS:
        if names and kind in names:
            if str(names[kind]).upper() not in upper:
                known = ", ".join(content.matrices) or "none"
                hint = meant(str(names[kind]).upper(), upper)
                raise UserError(f"{path}: no matrix is named {names[kind]!r}{hint} (matrices: {known})")
            chosen[kind] = upper[str(names[kind]).upper()]
        else:
            usual = next((upper[name] for name in NAMES[kind] if name in upper), None)
            if usual is not None:
                chosen[kind] = usual
    if not chosen:
        return content
    labels = None if content.labels is None else {kind: content.labels[name] for kind, name in chosen.items()}
    return FileMatrices(
        {kind: content.matrices[name] for kind, name in chosen.items()}, labels, content.points, content.fields
    )


def _op4(path: Path) -> FileMatrices:
    """Matrices of an OP4 file, of any of its formats."""
    op4 = optional("pyyeti.nastran.op4", path, "pyyeti")
    found = op4.read(str(path), sparse=None)
    if not found:
        raise UserError(f"{path}: holds no matrices", code=FAILURE)
    return FileMatrices(dict(found))


def _bulk_data(path: Path) -> FileMatrices:
    """DMIG matrices of bulk data, with their GRID cards."""
    text = path.read_text(encoding="utf_8", errors="replace")
    if "DMIG" not in text.upper():
        raise UserError(f"{path}: holds no DMIG cards", code=FAILURE)
    _check_cards(path, text)
    found = read_bulk_data(text)
    return FileMatrices(dict(found.matrices), found.labels, found.points or None)


def _check_cards(path: Path, text: str) -> None:
    """UserError where the last continuation of a DMIG column is cut within its fields."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("$")]
    last = lines[-1] if lines else ""
    if last.startswith("*") and len(last.rstrip()) < 8 + 2 * 16 + 1:
        raise UserError(f"{path}: is cut short: its last card is {last.strip()!r}", code=FAILURE)
    if not text.endswith("\n") and not last.upper().startswith("ENDDATA"):
        raise UserError(f"{path}: is cut short: its last line {last.strip()[:40]!r} has no end", code=FAILURE)


def _mtx(path: Path) -> FileMatrices:
    """A matrix of Matrix Market's or Abaqus' format, which share an ending."""
    with path.open("rb") as file:
        head = file.read(14)
        file.seek(-1, os.SEEK_END)
        complete = file.read(1) == b"\n"
    if not complete:
        raise UserError(f"{path}: is cut short: its last line has no end", code=FAILURE)
    if head.lower().startswith(b"%%matrixmarket"):
        return FileMatrices({path.stem: scipy.io.mmread(path)})
    return _abaqus(path)


def _abaqus(path: Path) -> FileMatrices:
    """A matrix of *MATRIX GENERATE: rows (node, dof, node, dof, value) or (row, column, value)."""
    text = path.read_text(encoding="utf_8", errors="replace")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("*")]
    if not lines:
        raise UserError(f"{path}: holds no matrix", code=FAILURE)
    counts = {len(line.replace(",", " ").split()) for line in lines}
    if len(counts) != 1 or not counts <= {3, 5}:
        raise UserError(
            f"{path}: is no matrix of Abaqus: its lines must hold node, dof, node, dof, value, or row, column, value",
            code=FAILURE,
        )
    entries = np.array([[float(word) for word in line.replace(",", " ").split()] for line in lines])
    stem = path.stem.upper()
    name = next((kind for mark, kind in (("STIF", "K"), ("MASS", "M"), ("DMPV", "B")) if mark in stem), "matrix")
    if counts == {3}:
        i, j = entries[:, :2].astype(np.int64).T - 1
        if min(i.min(), j.min()) < 0:
            raise UserError(f"{path}: rows and columns count from 1", code=FAILURE)
        return FileMatrices({name: _symmetric(i, j, entries[:, 2], 1 + int(max(i.max(), j.max())))})
    keys = entries[:, :4].astype(np.int64)
    labels = sorted({*map(tuple, keys[:, :2].tolist()), *map(tuple, keys[:, 2:].tolist())})
    number = {key: k for k, key in enumerate(labels)}
    i = np.array([number[key] for key in map(tuple, keys[:, :2].tolist())])
    j = np.array([number[key] for key in map(tuple, keys[:, 2:].tolist())])
    matrix = _symmetric(i, j, entries[:, 4], len(labels))
    supported = np.abs(matrix.diagonal()) >= _FIXED
    remaining = np.flatnonzero(~supported)
    named = [(node, component) if node > 0 else (node, 0) for node, component in labels]
    return FileMatrices({name: matrix[remaining][:, remaining]}, {name: [named[k] for k in remaining.tolist()]})


def _symmetric(i: Array, j: Array, values: Array, size: int) -> sp.csr_array:
    """The matrix of entries (i, j), of one triangle or of both."""
    matrix = sp.csr_array((values, (i, j)), shape=(size, size))
    lower, upper = sp.tril(matrix, -1), sp.triu(matrix, 1)
    if lower.nnz and upper.nnz:
        return matrix
    return sp.csr_array(matrix + lower.T + upper.T)


def _full(path: Path) -> FileMatrices:
    """K and M of ANSYS' .full file."""
    reader = optional("ansys.mapdl.reader", path, "ansys-mapdl-reader")
    dofs, stiffness, mass = reader.read_binary(str(path)).load_km(as_sparse=True, sort=True)
    labels = [(int(node), int(component) + 1) for node, component in dofs]
    matrices = {"K": stiffness, "M": mass}
    out = {}
    for name, matrix in matrices.items():
        entries = sp.coo_array(matrix)
        out[name] = _symmetric(entries.row, entries.col, entries.data, matrix.shape[0])
    # supported degrees of freedom have no entries
    filled = np.flatnonzero((out["K"].diagonal() != 0.0) | (out["M"].diagonal() != 0.0))
    kept = [labels[k] for k in filled.tolist()]
    return FileMatrices({name: m[filled][:, filled] for name, m in out.items()}, dict.fromkeys(out, kept))


def _archive(path: Path) -> FileMatrices:
    """A NumPy archive of named arrays, or SciPy's of one sparse matrix."""
    if not zipfile.is_zipfile(path):
        raise UserError(f"{path}: is damaged or cut short: no archive of NumPy", code=FAILURE)
    with np.load(path, allow_pickle=False) as data:
        names = set(data.files)
        if {"format", "shape", "data"} <= names:
            return FileMatrices({path.stem: sp.load_npz(path)})
        arrays = {name: data[name] for name in names}
    fields: dict[str, Any] = {}
    meta = json.loads(str(arrays.pop("superelement"))) if "superelement" in arrays else None
    if "positions" in arrays:
        fields["positions"] = arrays.pop("positions")
    if meta is not None:
        fields |= {"name": meta["name"], "grounded": bool(meta["grounded"])}
        fields["components"] = [tuple(entry) for entry in meta["components"]]
        keys = ("nodes", "areas", "normals", "facets")
        fields["interface"] = {
            name: {key: arrays[f"interface_{i}_{key}"] for key in keys} for i, name in enumerate(meta["interface"])
        }
        recovery: dict[str, Any] = {}
        for i, (name, unit) in enumerate(meta["recovery"]):
            places = arrays.get(f"recovery_{i}_positions")
            matrix = arrays[f"recovery_{i}"]
            recovery[name] = matrix if places is None else (matrix, places, unit)
        fields["recovery"] = recovery or None
    matrices = {
        name: array for name, array in arrays.items() if array.ndim == 2 and not name.startswith(("inter", "rec"))
    }
    return FileMatrices(matrices, fields=fields)


def _by_node(
    label: str, matrices: Mapping[str, Any], labels: Mapping[str, Sequence[Label]]
) -> tuple[dict[str, Any], list[int], list[tuple[str, ...]]]:
    """The matrices with coordinates node by node, generalised ones last; the nodes; and their components.

    The coordinates are those of the stiffness; the other matrices may lack some, but have no others.
    """
    every = list(labels["stiffness"])
    known = set(every)
    for kind in matrices:
        other = next((key for key in labels[kind] if key not in known), None)
        if other is not None:
            raise UserError(
                f"{label}: the {kind} has node {other[0]}, component {other[1]}, which the stiffness lacks: the file "
                "is cut short, or the matrices are not of one model"
            )
    wrong = next((key for key in every if key[1] and key[1] not in _COMPONENTS), None)
    if wrong is not None:
        raise UserError(
            f"{label}: node {wrong[0]} has the component {wrong[1]}: known are 1 … 6, and 0 of scalar points"
        )
    nodal = sorted(key for key in every if key[1])
    order = nodal + [key for key in every if not key[1]]
    nodes = sorted({node for node, _ in nodal})
    if not nodes:
        raise UserError(f"{label}: has no coordinates of nodes")
    by_node: dict[int, list[str]] = {node: [] for node in nodes}
    for node, component in nodal:
        by_node[node].append(_COMPONENTS[component])
    names = [tuple(by_node[node]) for node in nodes]
    place = {key: i for i, key in enumerate(order)}
    out = {}
    for kind, matrix in matrices.items():
        entries = sp.coo_array(matrix)
        at = np.array([place[key] for key in labels[kind]], dtype=np.int64)
        out[kind] = sp.csr_array((entries.data, (at[entries.row], at[entries.col])), shape=(len(order),) * 2)
    return out, nodes, names


def _positions(label: str, given: Any, nodes: list[int]) -> Array:
    """Positions (n, axis) of the nodes."""
    if given is None:
        listed = ", ".join(map(str, nodes[:6])) + (", …" if len(nodes) > 6 else "")
        raise UserError(f"positions: {label} has no positions of its nodes {listed}: positions={{node: (x, y, z)}}")
    if isinstance(given, Mapping):
        missing = next((node for node in nodes if node not in given), None)
        if missing is not None:
            raise UserError(f"positions: node {missing} of {label} has none")
        return checks.finite_array("positions", [given[node] for node in nodes], (len(nodes), None))
    return checks.finite_array("positions", given, (len(nodes), None))


def _renumbered(label: str, interface: Mapping[str, Any], nodes: list[int]) -> dict[str, Any]:
    """The boundaries with node numbers of the file replaced by those of the superelement."""
    number = {node: i for i, node in enumerate(nodes)}

    def numbers(name: str, value: Any) -> Array:
        try:
            array = np.atleast_1d(np.asarray(value))
        except (TypeError, ValueError):
            array = np.array(["?"])
        if array.dtype.kind not in "iu":
            raise UserTypeError.parameter(f"interface['{name}']", value, "must be node numbers of the file")
        unknown = next((int(node) for node in array.ravel() if int(node) not in number), None)
        if unknown is not None:
            raise UserError(f"interface['{name}']: {label} has no node {unknown}")
        return np.array([number[int(node)] for node in array.ravel()]).reshape(array.shape)

    out: dict[str, Any] = {}
    for name, given in checks.mapping("interface", interface, "must map names to node numbers").items():
        if isinstance(given, Mapping):
            out[name] = {k: numbers(name, v) if k in ("nodes", "facets") else v for k, v in given.items()}
        else:
            out[name] = numbers(name, given)
    return out


def _convert(matrices: dict[str, Any], fields: dict[str, Any]) -> None:
    """Convert mm, t, N to m, kg, N: energies are in mJ, displacements in mm, rotations in rad.

    K = 10⁻³ Tᵀ K T, T = 10³ for displacements and 1 for rotations; generalised coordinates are scaled by √10⁻³, so that
    modes of unit mass in t stay so in kg. Mass and damping alike.
    """
    positions = checks.finite_array("positions", fields["positions"])
    fields["positions"] = 1e-3 * positions
    probe = component_names(positions, fields.get("components"))
    scale = [math.sqrt(1e-3) * (1.0 if name.startswith("r") else 1e3) for names in probe for name in names]
    size = matrices["stiffness"].shape[0]
    if size < len(scale):
        return  # refused by the constructor
    factors = sp.diags_array(np.concatenate([scale, np.ones(size - len(scale))]))
    for kind, matrix in matrices.items():
        if matrix.shape == (size, size):
            matrices[kind] = sp.csr_array(factors @ sp.csr_array(matrix) @ factors)
