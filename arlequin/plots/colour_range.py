"""Range of a scale of colours: singular values are off the scale, and are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices
from arlequin.plots import style

Limits = tuple[float, float] | Literal["all"]

_CENTRAL = 0.01, 0.99  # quantiles between which values are typical
_BEYOND = 1.0  # times the distance of these quantiles, beyond which values need the support of their neighbours
_LITTLE = 1.0  # of the range: how far values reach beyond it that are shown all the same
_ROUND_OFF = 1e-9  # of the range


class Values(NamedTuple):
    """A field of a part: values (f, n) of cells (c, corner), n = c, or of the nodes of these cells, n > largest."""

    values: Array
    cells: Indices
    on_cells: bool


class ColourRange(NamedTuple):
    """Ends of the scale, and the least and the largest value that is drawn."""

    low: float
    high: float
    least: float
    most: float

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    def shown_in(self, unit: str) -> tuple[float, str, ColourRange]:
        """Factor and unit with a prefix for what is on the scale, and the range in it."""
        factor, shown = style.prefix(np.clip([self.least, self.most], self.low, self.high), unit)
        return factor, shown, ColourRange(*(factor * value for value in self))

    @property
    def extend(self) -> Literal["neither", "min", "max", "both"]:
        """The arrows of the bar of colours: the ends beyond which there are values."""
        near = _ROUND_OFF * (self.high - self.low)
        under, over = self.least < self.low - near, self.most > self.high + near
        return "both" if under and over else "min" if under else "max" if over else "neither"

    def label(self, name: str, unit: str) -> str:
        """Label of the bar: name and unit, and the extremes that are off the scale."""
        told = {
            "neither": "",
            "min": f", smallest {self.least:.4g}",
            "max": f", largest {self.most:.4g}",
            "both": f", from {self.least:.4g} to {self.most:.4g}",
        }
        return style.label(name, unit) + told[self.extend]


def colour_range(fields: Sequence[Values], limits: Limits | None = None) -> ColourRange:
    """Range of the colours of fields.

    limits: both ends; "all": all values. None leaves out singular values: those farther than
    the distance of the 1st and 99th percentile beyond them that the medians over the cells around, or over the nodes of
    the cells around, do not come near to. A peak over several cells is in the range, a corner cell of a clamped edge is
    not. Where all values would not widen the range to more than twice, they are in it.
    """
    if isinstance(limits, str) and limits != "all":
        raise UserError.parameter("limits", limits, 'must be a lower and an upper number, "all" or None')
    finite = [each for each in (field.values[np.isfinite(field.values)] for field in fields) if each.size]
    every = np.concatenate([np.zeros(0), *finite])
    if not every.size:
        low, high = style.range_of(every, None if isinstance(limits, str) else limits)
        return ColourRange(low, high, low, high)
    least, most = float(every.min()), float(every.max())
    if limits is not None and not isinstance(limits, str):
        return ColourRange(*style.range_of(every, limits), least, most)
    chosen = np.array([least, most]) if limits == "all" else _supported(fields, every)
    if not np.ptp(chosen) > _ROUND_OFF * (most - least):  # a single cell moves
        chosen = np.array([least, most])
    return ColourRange(*style.range_of(chosen), *(style.range_of(chosen) if least == most else (least, most)))


def _supported(fields: Sequence[Values], every: Array) -> Array:
    """Least and largest value that is typical or supported by its neighbours."""
    first, last = np.quantile(every, _CENTRAL)
    low, high = first - _BEYOND * (last - first), last + _BEYOND * (last - first)
    typical = every[(every >= low) & (every <= high)]
    bounds = [typical.min(), typical.max()] if typical.size else [first, last]
    for field in fields:
        for sign, bound in ((1.0, high), (-1.0, -low)):
            frames, places = np.nonzero(sign * field.values > bound)
            if frames.size:
                bounds.extend(sign * _lower_medians(field, sign * field.values, frames, places))
    low, high = float(min(bounds)), float(max(bounds))
    near = _LITTLE * (high - low)
    least, most = float(every.min()), float(every.max())
    return np.array([least if low - least <= near else low, most if most - high <= near else high])


def _lower_medians(field: Values, values: Array, frames: Indices, places: Indices) -> Array:
    """Lower medians (k,) of values (f, n) over the neighbours of `places` (k,), themselves included, at `frames`."""
    count = len(field.cells)
    shape = count, int(field.cells.max(initial=-1)) + 1
    entries = np.ones(field.cells.size, dtype=np.float32)
    joins = csr_array((entries, (np.repeat(np.arange(count), field.cells.shape[1]), field.cells.ravel())), shape=shape)
    inside = np.ones(places.size, dtype=bool) if field.on_cells else places < shape[1]
    rows, values_at = places[inside], np.full(places.size, -np.inf)
    near: Any = joins[rows] @ joins.T if field.on_cells else joins.T.tocsr()[rows] @ joins
    near = csr_array(near)
    row = np.repeat(np.arange(rows.size), np.diff(near.indptr))
    around = values[frames[inside][row], near.indices]
    row, around = row[np.isfinite(around)], around[np.isfinite(around)]
    around = around[np.lexsort((around, row))]
    sizes = np.bincount(row, minlength=rows.size)
    middle = np.concatenate([[0], np.cumsum(sizes)[:-1]]) + np.maximum(sizes - 1, 0) // 2
    medians = np.full(rows.size, -np.inf)
    medians[sizes > 0] = around[middle[sizes > 0]]
    values_at[inside] = medians
    return values_at[np.isfinite(values_at)]
