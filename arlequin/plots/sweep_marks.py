"""Markers for points of a sweep without a value, one per reason, outside the data area."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from arlequin.plots.sweep_points import FAILED, MISSING, WITHOUT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 5
_LETTERS = 90  # of a legend's line, 6 of them for each sign
COLOUR = "#B00020"
GREY = "#777777"
SIGNS: dict[str, dict[str, Any]] = {
    FAILED: {"marker": "x", "color": COLOUR, "markersize": 6, "markeredgewidth": 1.6},
    MISSING: {"marker": "o", "color": GREY, "markersize": 5, "markerfacecolor": "none", "markeredgewidth": 1.2},
    WITHOUT: {"marker": "_", "color": GREY, "markersize": 7, "markeredgewidth": 1.4},
}


def mark(axes: Axes, x: ArrayLike, y: ArrayLike, states: ArrayLike, **options: Any) -> None:
    """The sign of its state at each place (k,); nothing where the state is ""."""
    x, y, states_at = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float), np.asarray(states))
    for state, sign in SIGNS.items():
        here = states_at == state
        if here.any():
            axes.plot(x[here], y[here], **{"linestyle": "none", "gid": state, "zorder": 4, **sign, **options})


def handles(states: Iterable[str]) -> list[Any]:
    """Entries of a legend for the states that occur."""
    from matplotlib.lines import Line2D

    there = set(states)
    return [Line2D([], [], linestyle="none", label=state, **SIGNS[state]) for state in SIGNS if state in there]


def above(axes: Axes, x: ArrayLike, states: ArrayLike) -> None:
    """Signs above the upper edge of a panel, outside of it, a row for each state."""
    state_array = np.asarray(states)
    for row, state in enumerate(state for state in SIGNS if (state_array == state).any()):
        in_row = np.where(state_array == state, state, "")
        mark(axes, x, 1.03 + 0.06 * row, in_row, transform=axes.get_xaxis_transform(), clip_on=False)


def legend(figure: Figure, entries: Sequence[Any]) -> None:
    """A legend above the panels, in as many columns as there is room for."""
    if entries:
        longest = max(len(entry.get_label()) for entry in entries)
        columns = min(_COLUMNS, max(1, _LETTERS // (longest + 6)), len(entries))
        figure.legend(handles=list(entries), loc="outside upper center", ncols=columns)
