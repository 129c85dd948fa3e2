"""Common style of figures: size, font, colour-blind-safe colours, SI prefixes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arlequin.models.checks import finite_array
from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.results.conventions import typeset_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito, Color Universal Design, 2008; yellow left out (too light on white)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", "-.", ":")
REFERENCE = "#555555"
SCREEN = 100  # dots per inch of figures in notebooks
WIDTH = 6.3  # inches, the text width of an A4 page
_LETTERS = 11  # of a label on an inch
_EDGE = 0.35  # opacity of the edges of cells of 8 points and more
# units whose first symbol takes a prefix: not of a power (1 mm³ is not 1e-3 m³), not kg, not 1/s
_PREFIXED = re.compile(r"(m|s|N|J|W|Pa|Hz|V|A|K|rad)(?![^\W\d_]|[²³⁰¹⁴-⁹⁻^*\d])")
PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T"}

SETTINGS: Any = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "legend.fontsize": 9,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "savefig.dpi": 200,
}


@contextmanager
def panels(
    rows: int = 1,
    height: float = 3.0,
    ratios: tuple[float, ...] | None = None,
    columns: int = 1,
    layout: Any = None,
    settings: Any = None,
    **options: Any,
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A new figure of panels, row by row; a context with the settings of the style, and `settings` beside them."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**SETTINGS, **(settings or {})}):
        figure = Figure(figsize=(WIDTH, height), layout=layout or "constrained")
        figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
        axes = figure.subplots(rows, columns, squeeze=False, gridspec_kw={"height_ratios": ratios}, **options)
        yield figure, list(axes.ravel())


def _png(figure: Figure) -> tuple[bytes, dict[str, int]]:
    """A figure as notebooks show it: PNG, and its width and height on the screen, px."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=2 * SCREEN)
    width, height = (round(float(inches) * SCREEN) for inches in figure.get_size_inches())
    return file.getvalue(), {"width": width, "height": height}


def prefix(values: ArrayLike, unit: str) -> tuple[float, str]:
    """Factor and unit that bring the largest of `values` into [1, 1000).

    >>> prefix([3.95e8, 0.0], "Pa")
    (1e-06, 'MPa')
    >>> prefix([2e-9], "m³")
    (1.0, 'm³')
    """
    numbers = np.abs(np.asarray(values, dtype=float))
    largest = float(numbers[np.isfinite(numbers)].max(initial=0.0))
    if largest == 0.0 or not _PREFIXED.match(unit):
        return 1.0, unit
    # the thousandth part keeps 999.99 from being called 1000 by round-off
    power = 3 * int(np.floor(np.log10(largest * 1.001) / 3))
    power = int(np.clip(power, -12, 12))
    return float(f"1e{-power}"), PREFIXES[power] + unit


def range_of(values: NDArray[np.float64], limits: tuple[float, float] | None = None) -> tuple[float, float]:
    """Range of the colour scale: the limits where they are given; centred on the value of a uniform field, whose
    round-off is not to be shown."""
    if limits is not None:
        ends = finite_array("limits", limits, (2,))
        if not ends[0] < ends[1]:
            raise UserError.parameter("limits", limits, "must be a lower and an upper number")
        return float(ends[0]), float(ends[1])
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    if high - low > 1e-9 * max(abs(low), abs(high)):
        return low, high
    half = 0.01 * abs(high) or 1e-12
    return low - half, high + half


def shortened(text: str, most: int = 60) -> str:
    """A text of at most so many letters: of a longer one its ends.

    >>> shortened("a" * 10 + "b" * 10, 9)
    'aaaa…bbbb'
    """
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def label(text: str, unit: str) -> str:
    """An axis label, «force (kN)»; the unit left out where there is none, long texts shortened."""
    text = shortened(text, 200)
    return text if unit in ("", "1") else f"{text} ({shortened(typeset_unit(unit))})"


def wrapped(text: str, length: float) -> str:
    """An axis label in lines for an axis of that length, inches."""
    return "\n".join(textwrap.wrap(text, max(int(_LETTERS * length), 12)))


def capital(text: str) -> str:
    """First letter in upper case, underscores as spaces."""
    text = text.replace("_", " ")
    return text[:1].upper() + text[1:]


def edges(pieces: Array, span: Array) -> dict[str, Any]:
    """Look of the edges of cells (p, corner, axis) in a picture of the extents span (axis,).

    Fainter the smaller the cells, so that they do not hide the colours; empty for cells of a few pixels.
    """
    sides = np.linalg.norm(pieces[:, 1] - pieces[:, 0], axis=-1)
    size = 0.8 * 72 * WIDTH * float(np.median(sides)) / max(float(span.max()), 1e-300) if sides.size else 0.0
    alpha = _EDGE * float(np.clip((size - 2.0) / 6.0, 0.0, 1.0))
    return {"edgecolors": (0, 0, 0, alpha), "linewidths": 0.25} if alpha > 0.02 else {}
