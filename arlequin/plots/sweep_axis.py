"""Axis of a figure of a sweep: linear, logarithmic, or categorical."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arlequin.models.types import Array
from arlequin.plots import style
from arlequin.plots.sweep_points import text

if TYPE_CHECKING:
    import xarray


_RATIO = 4.0  # last to first, from which even ratios mean cells of a map between logarithms
_WIDE = 99.999  # the same, two decades, of a logarithmic axis of lines
_EVENER = 0.5  # how much evener ratios must be than differences
_DECADES = 999.99  # largest to smallest result, from which its axis is logarithmic
_PLAIN = 1e-2, 1e4  # largest numbers that are read as they are
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_TICKS = 8  # values, up to which each has its tick
_LINE = 38  # letters on a line of a label
_NAMES = 40  # places along an axis that are named, the others between them
_ROOM = 40  # letters of all places along x, from which they are turned


@dataclass(frozen=True)
class SweepAxis:
    """What is drawn where along an axis: places (any shape) in the unit that is shown; names of places if texts."""

    title: str
    unit: str
    places: Array
    names: tuple[str, ...] = ()
    logarithmic: bool = False
    whole: bool = False

    @classmethod
    def of(
        cls, values: xarray.DataArray | NDArray[Any], about: Any, name: str, spread: Callable[[Array], bool]
    ) -> SweepAxis:
        """Of values with the attributes `about`; spread: which numbers ask for logarithms."""
        raw = np.asarray(getattr(values, "values", values))
        title, unit = style.capital(str(about.get("long_name") or name)), str(about.get("units", ""))
        # a parameter that is `none` at some points, nan among numbers, has a place for it like texts
        if raw.dtype.kind not in "iuf" or (
            spread in (geometric, geometric_over_decades) and not np.isfinite(raw).all()
        ):
            texts = [text(value) for value in raw.ravel()]
            place_of = {name: place for place, name in enumerate(dict.fromkeys(texts))}
            places = np.array([place_of[t] for t in texts], dtype=float).reshape(raw.shape)
            return cls(title, "", places, tuple(style.shortened(name) for name in place_of))
        numbers = raw.astype(float)
        logarithmic = spread(numbers)
        factor, shown = (1.0, unit) if logarithmic and decades(numbers) else _scaled(numbers, unit)
        return cls(title, shown, factor * numbers, (), logarithmic, raw.dtype.kind in "iu")

    @property
    def label(self) -> str:
        """The title with its unit, in lines that fit beside a panel."""
        return "\n".join(textwrap.wrap(style.label(self.title, self.unit), _LINE))

    def apply_to(self, axis: Any, each: bool = True, labelled: bool = True) -> None:
        """Scale, ticks and label of a matplotlib axis; each: few values have a tick each."""
        from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

        if labelled:
            axis.set_label_text(self.label)
        if self.names:
            named = range(0, len(self.names), -(-len(self.names) // _NAMES))
            axis.set_major_locator(FixedLocator(list(named)))
            axis.set_major_formatter(FixedFormatter([self.names[place] for place in named]))
            getattr(axis.axes, f"set_{axis.axis_name}lim")(-0.5, len(self.names) - 0.5)
            if axis.axis_name == "x" and sum(len(self.names[place]) + 1 for place in named) > _ROOM + 1:
                axis.set_tick_params(rotation=30)
                for tick in axis.get_ticklabels():
                    tick.set_horizontalalignment("right")
            return
        if self.logarithmic:
            getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
        few = np.unique(self.places[np.isfinite(self.places)])
        if self.logarithmic and each and few.size <= _TICKS and few[-1] < 10**_TICKS * few[0]:
            axis.set_major_locator(FixedLocator(few.tolist()))
            axis.set_major_formatter(FixedFormatter([f"{value:.4g}" for value in few]))
            axis.set_minor_locator(NullLocator())
        elif self.whole and not self.logarithmic:
            axis.set_major_locator(MaxNLocator(integer=True))

    def edges(self) -> Array:
        """Borders (k + 1,) of cells around rising places (k,), half-way: between logarithms on a logarithmic axis."""
        at = np.log(self.places) if self.logarithmic else self.places
        if at.size == 1:
            half = 0.5 * (abs(float(at[0])) or 1.0)
            borders = np.array([at[0] - half, at[0] + half])
        else:
            middle = 0.5 * (at[1:] + at[:-1])
            borders = np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])
        return np.asarray(np.exp(borders) if self.logarithmic else borders)


def _scaled(numbers: Array, unit: str) -> tuple[float, str]:
    """Factor and unit with a prefix, or with a power of ten where the unit takes none: «10⁻⁹ m³»."""
    factor, shown = style.prefix(numbers, unit)
    largest = np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0)
    if factor != 1.0 or largest == 0.0 or _PLAIN[0] <= largest < _PLAIN[1]:
        return factor, shown
    power = 3 * int(np.floor(np.log10(largest * 1.001) / 3))
    ten = f"10{str(power).translate(_RAISED)}"
    return float(f"1e{-power}"), ten if unit in ("", "1") else f"{ten} {unit}"


def linear(_: ArrayLike) -> bool:
    """Of histories and the like: never logarithmic."""
    return False


def geometric(values: ArrayLike) -> bool:
    """Whether numbers are spread by their ratios rather than by their differences.

    >>> geometric([10, 20, 50, 100]), geometric([10, 20, 30, 50]), geometric([0, 1, 10])
    (True, False, False)
    """
    x = np.unique(np.asarray(values, dtype=float))
    x = x[np.isfinite(x)]
    if x.size < 3 or x[0] <= 0.0 or x[-1] < _RATIO * x[0]:
        return False
    steps, ratios = np.diff(x), np.diff(np.log(x))
    return bool(ratios.std() / ratios.mean() < _EVENER * steps.std() / steps.mean())


def geometric_over_decades(values: ArrayLike) -> bool:
    """Whether numbers are spread by their ratios and go over two decades or more.

    >>> geometric_over_decades([1, 10, 100]), geometric_over_decades([0.5, 1, 2, 4]), geometric_over_decades([])
    (True, False, False)
    """
    x = np.unique(np.asarray(values, dtype=float))
    return geometric(x) and bool(x[np.isfinite(x)][-1] >= _WIDE * x[0])


def decades(values: ArrayLike) -> bool:
    """Whether positive numbers go over three decades or more.

    >>> decades([1e-9, 1e-3]), decades([1.0, 10.0]), decades([0.0, 1e-9, 1.0])
    (True, False, False)
    """
    x = np.asarray(values, dtype=float).ravel()
    x = x[np.isfinite(x)]
    return bool(x.size and x.min() > 0.0 and x.max() > _DECADES * x.min())
