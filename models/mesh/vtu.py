"""VTK's unstructured grids (.vtu), by meshio; arrays of whole numbers are sets.

An array of the cells of 0 and 1 is the set of its name, one of other whole numbers, of materials say, the sets
"name_value"; of the points only those of 0 and 1.
"""

import contextlib
import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.mesh.foreign import SHAPES, CellBlock, ForeignMesh, damaged, plural, shape_name
from arlequin.models.types import Indices

_MOST_SETS = 1000  # values of an array
_MOST_CELLS = 1000  # cells or points, per byte of the file


def load(path: Path, content: bytes) -> ForeignMesh:
    """The mesh of a .vtu file."""
    if b"UnstructuredGrid" not in content[:10_000]:
        raise UserError(f"{path}: an XML file that is no UnstructuredGrid of VTK", code=1)
    for count in re.findall(rb'NumberOf(?:Points|Cells)="\s*(\d+)', content):
        if int(count) > _MOST_CELLS * len(content):
            raise damaged(path, f"it declares {int(count):,} points or cells in {len(content):,} bytes")
    try:
        with (
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.redirect_stdout(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            from meshio import vtu

            data = vtu.read(str(path))
    except KeyError as error:  # meshio 5.3 has no dimension of wedges of 15 and pyramids of 13 nodes
        if isinstance(error.args[0], str) and shape_name(error.args[0]) in SHAPES:
            raise UserError(f"{path}: {plural(error.args[0])} are not read from files of VTK", code=1) from None
        raise damaged(path, str(error)) from None
    except (Exception, SystemExit) as error:  # of any type on damaged files
        raise damaged(path, " ".join(str(error).split()) or type(error).__name__) from None
    return _mapped(data)


def _mapped(data: Any) -> ForeignMesh:
    blocks, left_out, kept = [], dict[str, int](), []
    start = 1
    for number, block in enumerate(data.cells):
        rows = np.asarray(block.data, dtype=np.int64)
        if shape_name(block.type) in SHAPES and rows.ndim == 2:
            blocks.append(CellBlock(block.type, rows, np.arange(start, start + len(rows))))
            kept.append(number)
        else:
            left_out[f"cells of type {block.type}"] = left_out.get(f"cells of type {block.type}", 0) + len(rows)
        start += len(block.data)
    element_sets: dict[str, Indices] = {}
    for name, arrays in data.cell_data.items():
        values = [np.asarray(arrays[number]) for number in kept]
        if values and all(value.ndim == 1 and value.dtype.kind in "iub" for value in values):
            element_sets |= _sets(name, np.concatenate(values), every=True)
    node_sets: dict[str, Indices] = {}
    for name, array in data.point_data.items():
        if np.asarray(array).ndim == 1 and np.asarray(array).dtype.kind in "iub":
            node_sets |= _sets(name, np.asarray(array), every=False)
    points = np.zeros((len(data.points), 3))
    points[:, : data.points.shape[1]] = data.points
    numbers = np.arange(1, len(points) + 1)
    return ForeignMesh("VTU", points, numbers, tuple(blocks), node_sets, element_sets, left_out=left_out)


def _sets(name: str, values: Indices, every: bool) -> dict[str, Indices]:
    """Sets of an array; every: one for each value where there are others than 0 and 1."""
    distinct = np.unique(values)
    if distinct.size and distinct.min() >= 0 and distinct.max() <= 1 and distinct.size == 2:
        return {name: np.flatnonzero(values)}
    if not every or distinct.size > _MOST_SETS:
        return {}
    return {f"{name}_{value}": np.flatnonzero(values == value) for value in distinct.tolist()}
