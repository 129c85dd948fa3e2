"""Topographies from files: arrays, tables of x, y, z, matrices of heights, and formats of instruments."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.rough.topography import Topography

UNITS = {"m": 1.0, "mm": 1e-3, "µm": 1e-6, "um": 1e-6, "nm": 1e-9, "Å": 1e-10, "A": 1e-10, "pm": 1e-12}
TEXT = (".csv", ".txt", ".dat", ".asc")
OFF_GRID = 0.05  # of a pixel, how far a point may lie off the regular grid
ROUND_OFF = 1e-6  # of the side: values that differ by less are one
_SCATTERED = "the points do not lie on a regular grid: interpolate them on one first"


@checked_call
def read(
    path: str | Path,
    *,
    unit: str | Sequence[str] | None = None,
    size: Sequence[float] | None = None,
    periodic: bool = False,
    fill: bool = False,
) -> Topography:
    """Read the topography in a file; the suffix of its name selects the format.

    * `.npy`: heights[i, j] = h(i Δx, j Δy), with `unit` (of the heights) and `size`.
    * `.csv`, `.txt`, `.dat`, `.asc`: a matrix of heights with `unit` and `size`, its lines along x (as `numpy.savetxt`
      writes heights[i, j]; scan lines at constant y are to be transposed); or, of three columns and without `size`,
      a table of x, y, z on a regular grid in any order, as `.xyz`, with `unit`. Commas, semicolons (then with decimal
      commas too), tabs or blanks between; lines before the first number and lines that start with # are skipped.
    * `.sur` (Digital Surf) and all other formats of the library SurfaceTopography (MIT licence), which carry units
      and sizes themselves: `pip install "arlequin[rough]"`; where one carries none, `unit` and `size` give them.

    unit: m, mm, µm (um), nm, Å (A) or pm; a pair where x, y and z differ, as ("mm", "µm"). size: (Lx, Ly) in m.
    periodic: whether the map is (files do not state it). fill: whether small holes are filled (`Topography.filled`).
    """
    file = Path(path)
    if not file.is_file():
        raise UserError.parameter("path", str(path), "no such file")
    ending = file.suffix.lower()
    if ending == ".npy":
        heights, lengths, told = _matrix(_array(file), unit, size)
    elif ending == ".xyz":
        heights, lengths, told = _table(file, _numbers(file), unit, size)
    elif ending in TEXT:
        numbers = _numbers(file)
        table = numbers.shape[1] == 3 and size is None
        heights, lengths, told = _table(file, numbers, unit, size) if table else _matrix(numbers, unit, size)
    else:
        heights, lengths, told = _instrument(file, unit, size)
    made = Topography.filled(heights, lengths, periodic) if fill else Topography(heights, lengths, periodic)
    return replace(made, corrections=(f"read: {file.name}, {told}", *made.corrections))


def _factors(unit: str | Sequence[str] | None) -> tuple[float, float]:
    """m per unit, of x and y and of z."""
    if unit is None:
        raise UserError.parameter("unit", unit, "the file has none: must be one of " + ", ".join(UNITS))
    pair = (unit, unit) if isinstance(unit, str) else tuple(unit)
    if len(pair) != 2:
        raise UserError.parameter("unit", unit, "must be one unit, or two: of x and y, and of z")
    lateral, height = (UNITS[checks.one_of("unit", each.replace("μ", "µ"), UNITS)] for each in pair)
    return lateral, height


def _array(file: Path) -> Any:
    try:
        return np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise UserError(f"path = {str(file)!r}: not an array of numbers as NumPy saves it: {error}") from None


def _numbers(file: Path) -> Array:
    """The numbers of a text file (line, column), NaN where a cell holds none."""
    lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise UserError(f"path = {str(file)!r}: holds no numbers")
    mark = next((each for each in (";", "\t", ",") if 2 * sum(each in line for line in lines) >= len(lines)), None)
    if mark in (";", "\t"):
        lines = [line.replace(",", ".") for line in lines]
    # a heading holds no number, or not as many cells as most lines
    count = Counter(len(line.split(mark)) for line in lines).most_common(1)[0][0]
    first = 0
    while first < len(lines) and not _holds_numbers(lines[first].split(mark), count):
        first += 1
    if first == len(lines):
        raise UserError(f"path = {str(file)!r}: holds no numbers")
    try:
        return np.loadtxt(lines[first:], delimiter=mark, ndmin=2)
    except ValueError:  # empty cells or words: slower, with NaN in their place
        pass
    try:
        numbers = np.genfromtxt(lines[first:], delimiter=mark, dtype=float)
    except ValueError:
        raise UserError(f"path = {str(file)!r}: its lines have different numbers of columns") from None
    numbers = np.atleast_2d(numbers)
    ends = mark is not None and all(line.rstrip(" ").endswith(mark) for line in lines[first:])
    return numbers[:, :-1] if ends else numbers


def _holds_numbers(cells: Sequence[str], count: int) -> bool:
    def number(cell: str) -> bool:
        try:
            float(cell)
        except ValueError:
            return False
        return True

    return len(cells) == count and any(map(number, cells))


def _matrix(values: Any, unit: Any, size: Any) -> tuple[Any, Any, str]:
    """Heights, m, size and a remark, of a plain array."""
    _, height = _factors(unit)
    if size is None:
        raise UserError.parameter("size", size, "the file has none: must be (Lx, Ly) in m")
    return np.asarray(values) * height if np.asarray(values).dtype.kind in "iuf" else values, size, f"heights in {unit}"


def _table(file: Path, numbers: Array, unit: Any, size: Any) -> tuple[Any, Any, str]:
    """Heights, m, size and a remark, of points x, y, z; NaN where the grid has no point."""
    if size is not None:
        raise UserError.parameter("size", size, "a table of x, y, z carries its own")
    if numbers.shape[1] != 3 or not np.isfinite(numbers[:, :2]).all():
        raise UserError(f"path = {str(file)!r}: must have three columns x, y, z on every line")
    lateral, height = _factors(unit)
    (i, n, dx), (j, m, dy) = (_places(file, numbers[:, axis]) for axis in (0, 1))
    if n * m > 4 * len(numbers):
        raise UserError(f"path = {str(file)!r}: {_SCATTERED}")
    if len(np.unique(i * m + j)) < len(numbers):
        raise UserError(f"path = {str(file)!r}: some points have the same x and y")
    heights = np.full((n, m), np.nan)
    heights[i, j] = numbers[:, 2] * height
    return heights, (n * dx * lateral, m * dy * lateral), f"x, y, z in {unit}"


def _places(file: Path, values: Array) -> tuple[NDArray[np.int64], int, float]:
    """Index of the grid line of each value, number of grid lines, and their distance."""
    span = float(np.ptp(values))
    if span == 0.0:
        return np.zeros(len(values), int), 1, 1.0
    gaps = np.diff(np.unique(values))
    gaps = gaps[gaps > ROUND_OFF * span]
    # all lines are there; or some are missing, and the usual gap tells how many
    for count in (len(gaps), round(span / float(np.median(gaps)))):
        exact = (values - values.min()) * (count / span)
        number = np.rint(exact).astype(int)
        if abs(exact - number).max() < OFF_GRID:
            return number, count + 1, span / count
    raise UserError(f"path = {str(file)!r}: {_SCATTERED}")


def _instrument(file: Path, unit: Any, size: Any) -> tuple[Any, Any, str]:
    """Heights, m, size and a remark, of the file of an instrument."""
    try:
        library = import_module("SurfaceTopography")
    except ImportError:
        text = 'this format needs the library SurfaceTopography: pip install "arlequin[rough]"'
        raise UserError.parameter("path", str(file), text) from None
    given: dict[str, Any] = {}
    lateral = 1.0
    if unit is not None:
        lateral, height = _factors(unit)
        if lateral != height:
            raise UserError.parameter("unit", unit, "must be one unit for this format")
        given["unit"] = unit if isinstance(unit, str) else unit[0]
    if size is not None:
        given["physical_sizes"] = tuple(checks.finite_array("size", size, (2,)) / lateral)
    try:
        map_ = library.read_topography(str(file), **given)
        own = map_.unit
        if own is not None:
            map_ = map_.to_unit("m")
        heights, lengths = map_.heights(), map_.physical_sizes
    except Exception as error:  # any error of the library
        raise UserError(f"path = {str(file)!r}: SurfaceTopography cannot read it: {error!r}") from None
    if own is None:
        raise UserError.parameter("unit", unit, "the file has none: must be one of " + ", ".join(UNITS))
    return heights, lengths, f"units of the file, {own}"
