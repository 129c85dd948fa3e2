"""Which level of each `Levels` was active when, and the values by which it was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arlequin.models.errors import UserError
from arlequin.plots import style
from arlequin.results.members import one_member
from arlequin.results.reading import of_result

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


@of_result
def levels(result: xarray.DataTree, *, member: int | None = None) -> Figure:
    """For each `Levels` of a run the active level over time, as steps, and below it the values of its indicator.

    Values whose absolute values span more than three decades have a logarithmic axis. An indicator that only repeats
    the level has no panel. member: of an ensemble, from 0.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> coarse, fine = (aq.Bar(name, aq.mesh.interval(0.0, 1.0, n), steel) for name, n in (("coarse", 4), ("fine", 8)))
    >>> switch = aq.levels.SwitchTimes({5e-5: 1})  # s: level
    >>> bar = aq.Levels("bar", [aq.levels.Level([coarse]), aq.levels.Level([fine])], switch)
    >>> result = aq.simulate(aq.System([], levels=[bar]), aq.Theta(0.5), duration=1e-4, step=1e-5)
    >>> figure = aq.plots.levels(result)
    >>> [axes.get_ylabel() for axes in figure.axes], figure.axes[0].lines[0].get_ydata().astype(int).tolist()
    (['Level of bar'], [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """
    result = one_member(result, member, "a figure of levels")
    groups = {name: node.dataset for name, node in result["levels"].children.items()} if "levels" in result else {}
    if not groups:
        raise UserError("the result has no levels: there is nothing to show")
    seconds = result.dataset["time"].values
    clock, second = style.prefix(seconds, "s")
    shown = []
    for name, group in groups.items():
        level, values = group["level"].values, group["indicator"].values
        shown.append((f"Level of {name}", level, True))
        if np.isfinite(values).any() and not np.array_equal(values[1:], level[1:]):
            shown.append((f"Indicator of {name}", values, False))
    heights = tuple(1.0 if is_level else 1.4 for _, _, is_level in shown)
    with style.panels(len(shown), 1.0 + 1.2 * sum(heights), heights, sharex=True) as (figure, axes):
        for panel, (title, values, is_level) in zip(axes, shown, strict=True):
            colour = style.COLOURS[0 if is_level else 1]
            # a level is that of the step that ends, an indicator a value at its begin
            panel.plot(clock * seconds, values, color=colour, drawstyle="steps-pre" if is_level else "default")
            panel.set_ylabel(title)
            panel.margins(x=0.01)
            if is_level:
                numbers = np.arange(int(values.max()) + 1)
                panel.set_yticks(numbers)
                panel.set_ylim(-0.2, max(1, numbers[-1]) + 0.2)
                continue
            sizes = np.abs(values[np.isfinite(values) & (values != 0.0)])
            if sizes.size and sizes.max() > 1e3 * sizes.min():
                if (values[np.isfinite(values)] >= 0.0).all():
                    panel.set_yscale("log")
                else:
                    panel.set_yscale("symlog", linthresh=1e-3 * float(sizes.max()))
        axes[-1].set_xlabel(style.label("Time", second))
    return figure
