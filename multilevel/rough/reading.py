"""Topographies from files: arrays, tables of x, y, z, matrices of heights, and formats of instruments; profiles."""

import re
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
from arlequin.multilevel.rough.profile import Profile
from arlequin.multilevel.rough.topography import Topography

UNITS = {"m": 1.0, "mm": 1e-3, "µm": 1e-6, "um": 1e-6, "nm": 1e-9, "Å": 1e-10, "A": 1e-10, "pm": 1e-12}
TEXT = (".csv", ".txt", ".dat", ".asc")
OFF_GRID = 0.05  # largest distance of a point from the regular grid, in pixels
ROUND_OFF = 1e-6  # difference of equal values, relative to the side
BLANK = 1e30  # heights from which on points count as not measured (1.70141e38)
COMMENTS = ("#", "%", "//", "!")
_NUMBER = r"[-+]?\d+(?:[.,]\d*)?(?:[eE][-+]?\d+)?"
_LENGTH = re.compile(rf"[^:]*:\s*({_NUMBER})\s*(\S+)\s*$")  # of a header: «Width: 12.0 µm»
_UNIT = re.compile(r"[^:]*:\s*(\S+)\s*$")  # «Value units: m»
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
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
      commas too), tabs or blanks between (decimal commas with blanks, too); lines before the first number and lines
      that start with #, %, // or ! are skipped. A text of Gwyddion has its size and unit in its header, and is
      read by it, with x along its lines. Two columns are a profile, which `read_profile` reads.
    * `.sur` (Digital Surf) and all other formats of the library SurfaceTopography (MIT licence), which contain units
      and sizes: `pip install "arlequin[rough]"`; for files without them, give `unit` and `size`.

    unit: m, mm, µm (um), nm, Å (A) or pm; a pair where x, y and z differ, as ("mm", "µm"). size: (Lx, Ly) in m.
    periodic: whether the map is (files do not state it). fill: whether small holes are filled (`Topography.filled`).
    """
    file = _file(path)
    suffix = file.suffix.lower()
    if suffix == ".npy":
        array = _array(file)
        if getattr(array, "ndim", 0) == 2 and array.dtype.kind in "iuf" and array.size:
            _refuse_profile(file, array)
        heights, lengths, remark = _matrix(array, unit, size)
    elif suffix == ".xyz":
        heights, lengths, remark = _table(file, _numbers(file, _text(file)), unit, size)
    elif suffix in TEXT:
        heights, lengths, remark = _plain(file, unit, size)
    else:
        heights, lengths, remark = _instrument(file, unit, size)
    topography = Topography.filled(heights, lengths, periodic) if fill else Topography(heights, lengths, periodic)
    return replace(topography, corrections=(f"read: {file.name}, {remark}", *topography.corrections))


@checked_call
def _file(path: str | Path) -> Path:
    """The path of an existing file."""
    file = Path(checks.path("path", path))
    if not file.is_file():
        raise UserError.parameter("path", str(path), "no such file")
    return file


def read_profile(
    path: str | Path, *, unit: str | Sequence[str] | None = None, length: float | None = None, periodic: bool = False
) -> Profile:
    """Read the profile in a text file (or `.npy`): two columns or two lines, abscissa and height, or the heights alone.

    unit: of both, or a pair (abscissa, height), as in `read`; length, m: of heights alone. Abscissae that are not
    equally spaced are interpolated linearly at as many equally spaced points.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "trace.txt")
    ...     _ = file.write_text("x [mm]  z [um]\\n0.0  1.0\\n0.1  3.0\\n0.2  2.0\\n0.3  0.0\\n")
    ...     profile = read_profile(file, unit=("mm", "um"))
    >>> profile.heights.round(12).tolist(), round(profile.length, 12)
    ([1e-06, 3e-06, 2e-06, 0.0], 0.0004)
    """
    file = _file(path)
    numbers = np.atleast_2d(_array(file) if file.suffix.lower() == ".npy" else _numbers(file, _text(file)))
    if numbers.ndim > 2 or numbers.dtype.kind not in "iuf" or min(numbers.shape) > 2:
        sizes = " × ".join(map(str, numbers.shape))
        rule = f"holds {sizes} numbers: a profile has two columns, abscissa and height; read() reads maps"
        raise UserError.parameter("path", str(path), rule)
    numbers = numbers if numbers.shape[0] <= 2 and numbers.shape[1] > 2 else numbers.T
    lateral, height = _factors(unit)
    remark = f"read: {file.name}, {'profile' if isinstance(unit, str) else 'x, z'} in {unit}"
    if len(numbers) == 1:
        if length is None:
            raise UserError.parameter("length", length, "the file has heights alone: must be the length in m")
        return Profile(numbers[0] * height, length, periodic, corrections=(remark,))
    if length is not None:
        raise UserError.parameter("length", length, "a profile of two columns carries its own")
    return Profile.through(numbers[0] * lateral, numbers[1] * height, periodic, corrections=(remark,))


def _text(file: Path) -> str:
    """The text of a file in UTF-8 or Latin-1; UserError for UTF-16 and binary files."""
    content = file.read_bytes()
    name = f"path = {str(file)!r}"
    start = content[:4096]
    nulls = [start[k::2].count(0) > 0.4 * len(start[k::2]) for k in (0, 1)] if len(start) > 3 else [False, False]
    if start[:2] in (b"\xff\xfe", b"\xfe\xff") or nulls[0] != nulls[1]:
        cure = f"save it as UTF-8, or `iconv -f UTF-16 -t UTF-8 {file.name} > {file.stem}-utf8{file.suffix}`"
        raise UserError(f"{name}: is text in UTF-16: {cure}")
    if b"\0" in content or sum(byte < 32 and byte not in b"\t\n\r\f\v\x1a" for byte in start) > 0.02 * len(start):
        raise UserError(
            f"{name}: is binary, no text: export it as text (a matrix, or x, y, z) or as .sur, or make "
            "Topography(heights, size) of what numpy.fromfile reads"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _plain(file: Path, unit: Any, size: Any) -> tuple[Any, Any, str]:
    """Heights, m, size and a remark, of a text: a table of points, or a matrix with or without a header."""
    text = _text(file)
    numbers = _numbers(file, text)
    header = _header(file, text)
    if header is not None:
        return _exported(numbers, header, unit, size)
    if size is None and numbers.shape[1] == 3:
        return _table(file, numbers, unit, size)
    if size is None and numbers.shape[0] == 3 and numbers.shape[1] > 3 and _gridded(file, numbers.T):
        return _table(file, np.ascontiguousarray(numbers.T), unit, size)
    _refuse_profile(file, numbers)
    return _matrix(numbers, unit, size)


def _refuse_profile(file: Path, numbers: Array) -> None:
    """UserError for two columns, or for two lines of which the first increases or decreases."""
    lines, columns = numbers.shape
    steps = np.diff(numbers[0])
    ordered = bool((steps > 0.0).all() or (steps < 0.0).all())
    if (columns == 2 and lines > 2) or (lines == 2 and columns > 2 and ordered):
        raise UserError(
            f"path = {str(file)!r}: abscissae and heights are a profile, no map: read it by "
            "rough.read_profile(path, unit=…), whose moments stand for an isotropic surface"
        )


def _gridded(file: Path, numbers: Array) -> bool:
    """Whether points x, y, z (p, 3) lie on a regular grid."""
    try:
        _table(file, numbers, "m", None)
    except UserError:
        return False
    return True


def _header(file: Path, text: str) -> tuple[tuple[float, float], str] | None:
    """Width and height, m, and the unit of the values from a header of Gwyddion, in any of its languages: a line of
    the channel, two lengths and the unit of the values; None without such a header.

        # Channel: Topography
        # Width: 12.0 µm
        # Height: 3.0 µm
        # Value units: m
    """
    lines = [line.strip() for line in text.splitlines()[:20] if line.strip()]
    head = [line.lstrip("#%!/ ").strip() for line in lines if line.startswith(COMMENTS)]
    lengths_at = {k: match for k, match in enumerate(map(_LENGTH.match, head)) if match}
    if len(lengths_at) != 2 or max(lengths_at) != min(lengths_at) + 1:
        return None
    lengths = [(float(match[1].replace(",", ".")), match[2]) for match in lengths_at.values()]
    value_unit = next((match[1] for match in map(_UNIT.match, head[max(lengths_at) + 1 :]) if match), None)
    if value_unit is None:
        return None
    sides = []
    for size, unit in lengths:
        if _spelled(unit) not in UNITS or not size > 0.0:
            raise UserError(f"path = {str(file)!r}: its header gives a side of {size:g} {unit}, no length")
        sides.append(size * UNITS[_spelled(unit)])
    if _spelled(value_unit) not in UNITS:
        raise UserError(
            f"path = {str(file)!r}: its header says that the values are in {value_unit}: they are no heights"
        )
    return (sides[0], sides[1]), _spelled(value_unit)


def _spelled(unit: str) -> str:
    return unit.replace("μ", "µ")


def _exported(numbers: Array, header: tuple[tuple[float, float], str], unit: Any, size: Any) -> tuple[Any, Any, str]:
    """Heights, m, size and a remark, of a matrix with a header: scan lines along x, one below the other."""
    sides, header_unit = header
    if unit is not None and _factors(unit)[1] != UNITS[header_unit]:
        raise UserError.parameter("unit", unit, f"the file says {header_unit}: leave it out")
    if size is not None and not np.allclose(checks.finite_array("size", size, (2,)), sides, rtol=1e-2, atol=0.0):
        header_size = " × ".join(f"{side:g}" for side in sides)
        raise UserError.parameter("size", size, f"the file says {header_size} m: leave it out")
    return np.ascontiguousarray(numbers.T) * UNITS[header_unit], sides, f"units of its header, {header_unit}"


def _factors(unit: str | Sequence[str] | None) -> tuple[float, float]:
    """m per unit, of x and y and of z."""
    if unit is None:
        raise UserError.parameter("unit", unit, "the file has none: must be one of " + ", ".join(UNITS))
    rule = "must be one unit, or two: of x and y, and of z"
    pair = (unit, unit) if isinstance(unit, str) else checks.items("unit", unit, str, rule)
    if len(pair) != 2:
        raise UserError.parameter("unit", unit, rule)
    lateral, height = (UNITS[checks.one_of("unit", _spelled(name), UNITS)] for name in pair)
    return lateral, height


def _array(file: Path) -> Any:
    try:
        return np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise UserError(f"path = {str(file)!r}: not an array of numbers as NumPy saves it: {error}") from None


def _numbers(file: Path, text: str) -> Array:
    """The numbers of a text (line, column), NaN where a cell holds none."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(COMMENTS)]
    if not lines:
        raise UserError(f"path = {str(file)!r}: holds no numbers")
    delimiter = next((each for each in (";", "\t", ",") if 2 * sum(each in line for line in lines) >= len(lines)), None)
    if delimiter == "," and 2 * sum(map(_decimal_commas, lines)) > len(lines):
        delimiter, lines = None, [line.replace(",", ".") for line in lines]
    if delimiter in (";", "\t"):
        lines = [line.replace(",", ".") for line in lines]
    # a heading holds no number, or not as many cells as most lines
    count = Counter(len(line.split(delimiter)) for line in lines).most_common(1)[0][0]
    first = 0
    while first < len(lines) and not _holds_numbers(lines[first].split(delimiter), count):
        first += 1
    if first == len(lines):
        raise UserError(f"path = {str(file)!r}: holds no numbers")
    try:
        return _measured(np.loadtxt(lines[first:], delimiter=delimiter, ndmin=2))
    except ValueError:  # empty cells or words: slower, with NaN in their place
        pass
    try:
        numbers = np.genfromtxt(lines[first:], delimiter=delimiter, dtype=float)
    except ValueError:
        raise UserError(f"path = {str(file)!r}: its lines have different numbers of columns") from None
    numbers = np.atleast_2d(numbers)
    trailing_delimiter = delimiter is not None and all(line.rstrip(" ").endswith(delimiter) for line in lines[first:])
    return _measured(numbers[:, :-1] if trailing_delimiter else numbers)


def _measured(numbers: Array) -> Array:
    """The numbers, NaN in the place of blank values (`BLANK`)."""
    return np.where(np.abs(numbers) < BLANK, numbers, np.nan)


def _decimal_commas(line: str) -> bool:
    """Whether a line has several numbers with decimal commas, separated by blanks."""
    words = line.split()
    return (
        len(words) > 1
        and all(_DECIMAL_COMMA.fullmatch(word) or word.lstrip("+-").isalnum() for word in words)
        and (any(_DECIMAL_COMMA.fullmatch(word) for word in words))
    )


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
    # all grid lines have points; or some are missing, and the median distance tells how many
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
    options: dict[str, Any] = {}
    lateral = 1.0
    if unit is not None:
        lateral, height = _factors(unit)
        if lateral != height:
            raise UserError.parameter("unit", unit, "must be one unit for this format")
        options["unit"] = unit if isinstance(unit, str) else unit[0]
    if size is not None:
        options["physical_sizes"] = tuple(checks.finite_array("size", size, (2,)) / lateral)
    try:
        map_ = library.read_topography(str(file), **options)
        file_unit = map_.unit
        if file_unit is not None:
            map_ = map_.to_unit("m")
        heights, lengths = map_.heights(), map_.physical_sizes
    except Exception as error:  # any error of the library
        raise UserError(f"path = {str(file)!r}: SurfaceTopography cannot read it: {error!r}") from None
    if file_unit is None:
        raise UserError.parameter("unit", unit, "the file has none: must be one of " + ", ".join(UNITS))
    return heights, lengths, f"units of the file, {file_unit}"
