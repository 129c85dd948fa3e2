"""Files of superelements: NumPy archives, Nastran OP4 and DMIG, Matrix Market."""

import importlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from arlequin.models import checks
from arlequin.models.errors import FAILURE, UserError
from arlequin.models.types import Array

KINDS = ("stiffness", "mass", "damping")
NASTRAN = {"stiffness": "KAAX", "mass": "MAAX", "damping": "BAAX"}
BULK_ENDINGS = (".pch", ".bdf", ".dat", ".nas", ".dmig")
NUMBERS = {"x": 1, "y": 2, "z": 3, "rx": 4, "ry": 5, "rz": 6}  # of the components of a grid point
_FIELD = 16  # letters of a large field of bulk data


def optional(module: str, path: Any, package: str) -> Any:
    """A module of an optional package; UserError with what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        cause = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"
        raise UserError(f"{path}: needs the package {package}{cause}: pip install {package}", code=FAILURE) from None


def write_superelement(part: Any, path: Any) -> Path:
    """Write the matrices of a superelement; see `Superelement.write`."""
    target = Path(checks.path("path", path))
    ending = target.suffix.lower()
    matrices = {kind: getattr(part, kind) for kind in KINDS if getattr(part, kind) is not None}
    if ending == ".npz":
        target.write_bytes(_archive(part, matrices))
    elif ending == ".op4":
        op4 = optional("pyyeti.nastran.op4", path, "pyyeti")
        names = [NASTRAN[kind].lower() for kind in matrices]
        full = [matrix.toarray() for matrix in matrices.values()]
        op4.write(str(target), names, full, binary=True, sparse="dense", forms=[6] * len(full))
    elif ending in BULK_ENDINGS:
        target.write_text(_bulk_data(part, matrices), encoding="ascii")
    elif ending == ".mtx":
        for kind, matrix in matrices.items():
            text = io.BytesIO()
            # lower triangle by columns, 17 digits
            scipy.io.mmwrite(
                text, sp.coo_array(matrix), comment=_comment(part, kind), precision=17, symmetry="symmetric"
            )
            sibling(target, kind).write_bytes(text.getvalue())
    else:
        raise UserError.parameter("path", str(path), f"must end in .npz, .op4, .mtx or {', '.join(BULK_ENDINGS)}")
    return target


def sibling(path: Path, kind: str) -> Path:
    """The file of one matrix beside a path: `blade_mass.mtx` of `blade.mtx`."""
    return path.with_name(f"{path.stem}_{kind}{path.suffix}")


def _comment(part: Any, kind: str) -> str:
    names = " ".join(f"{node}:{','.join(entry)}" for node, entry in enumerate(part.retained))
    return f"{kind} of superelement {part.name}; nodes and components: {names[:900]}"


def _archive(part: Any, matrices: dict[str, Any]) -> bytes:
    """A NumPy archive with everything but loads and motions."""
    arrays: dict[str, Array] = {kind: matrix.toarray() for kind, matrix in matrices.items()}
    arrays["positions"] = part.positions
    meta: dict[str, Any] = {
        "name": part.name,
        "grounded": bool(part.grounded),
        "components": [list(entry) for entry in part.retained],
        "interface": [],
        "recovery": [],
    }
    for name in part.interface:
        surface = part.boundary(name)
        number = len(meta["interface"])
        meta["interface"].append(name)
        for key in ("nodes", "areas", "normals", "facets"):
            arrays[f"interface_{number}_{key}"] = getattr(surface, key)
    for field in part.recovered_fields:
        number = len(meta["recovery"])
        meta["recovery"].append([field.name, field.units])
        arrays[f"recovery_{number}"] = field.matrix
        if field.positions is not None:
            arrays[f"recovery_{number}_positions"] = field.positions
    content = io.BytesIO()
    np.savez_compressed(content, superelement=np.array(json.dumps(meta)), **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def large_field(value: float) -> str:
    """A number in 16 letters of Nastran's double precision, with as many digits as fit: 11 or 12.

    >>> large_field(-1234567.890123456), large_field(0.5)
    ('-1.2345678901D+6', '5.00000000000D-1')
    """
    for digits in range(_FIELD, 0, -1):
        mantissa, exponent = f"{value:.{digits}E}".split("E")
        text = f"{mantissa}D{exponent[0]}{exponent[1:].lstrip('0') or '0'}"
        if len(text) <= _FIELD:
            return text
    raise AssertionError(value)


def _bulk_data(part: Any, matrices: dict[str, Any]) -> str:
    """GRID, SPOINT and DMIG cards: grid points 1, 2, …, then scalar points for the generalised coordinates."""
    lines = [f"$ superelement {part.name[:40]}: nodes, modes, matrices"]
    points = np.pad(part.positions, ((0, 0), (0, 3 - part.positions.shape[1])))
    for number, point in enumerate(points.tolist(), 1):
        x, y, z = (large_field(value).replace("D", "E") for value in point)
        lines += [f"GRID*   {number:>16d}{'':16}{x:>16}{y:>16}", f"*       {z:>16}"]
    labels = [(node + 1, NUMBERS[name]) for node, entry in enumerate(part.retained) for name in entry]
    scalars = [part.node_count + 1 + i for i in range(part.generalised.size)]
    lines += [f"SPOINT  {number:>8d}" for number in scalars]
    labels += [(number, 0) for number in scalars]
    for kind, matrix in matrices.items():
        name = NASTRAN[kind]
        lines.append(f"DMIG    {name:<8}{0:>8d}{6:>8d}{2:>8d}{0:>8d}")
        lower = sp.csc_array(sp.tril(matrix))
        for column, (point_id, component) in enumerate(labels):
            entries = slice(lower.indptr[column], lower.indptr[column + 1])
            rows = lower.indices[entries].tolist()
            if not rows:
                continue
            lines.append(f"DMIG*   {name:<16}{point_id:>16d}{component:>16d}")
            for row, value in sorted(zip(rows, lower.data[entries].tolist(), strict=True)):
                lines.append(f"*       {labels[row][0]:>16d}{labels[row][1]:>16d}{large_field(value):>16}")
    return "\n".join(lines) + "\n"
