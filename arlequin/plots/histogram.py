"""Histograms of the contact force of an interface: peaks of impacts, and all values in contact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arlequin.models.checks import positive_integer
from arlequin.models.errors import UserError
from arlequin.plots import histories, style
from arlequin.results.members import one_member
from arlequin.results.reading import of_result
from arlequin.results.signals import contact_ratio, impact_peaks

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


@of_result
def force_histogram(
    result: xarray.DataTree,
    interface: str | None = None,
    *,
    component: int | None = None,
    threshold: float = 0.0,
    bins: int = 40,
    member: int | None = None,
) -> Figure:
    """Above, the peak force of each impact; below, the duration of each force level in contact, s.

    interface: its name, the only one by default; component: None takes the length of the force vector;
    threshold: the force above which there is contact, N; bins: of equal width, the same in both panels; member: of an
    ensemble, from 0.
    """
    from matplotlib.ticker import MaxNLocator

    result = one_member(result, member, "a histogram")
    time, force = histories.force(result, interface, component)
    peaks = impact_peaks(time, force, threshold)
    if not peaks.force.size:
        raise UserError(f"the force is never above {threshold:g} N: there is no contact to show")
    touching = force[1:] > threshold
    values, spans = force[1:][touching], np.diff(time)[touching]
    factor, unit = style.prefix(values, histories.force_unit(result, interface))
    clock, second = style.prefix(spans.sum(), "s")
    ends = min(0.0, float(values.min())), float(values.max())
    borders = (factor * np.linspace(*ends, positive_integer("bins", bins) + 1)).tolist()
    with style.panels(2, 4.6, sharex=True) as (figure, (above, below)):
        above.hist(factor * peaks.force, borders, color=style.COLOURS[1])
        plural = "" if peaks.force.size == 1 else "s"
        above.set_title(f"{peaks.force.size} spell{plural} of contact", loc="left")
        above.set_ylabel("Spells of contact")
        above.yaxis.set_major_locator(MaxNLocator(integer=True))
        below.hist(factor * values, borders, weights=clock * spans, color=style.COLOURS[0])
        share = 100 * contact_ratio(time, force, threshold)
        below.set_title(f"in contact {share:.3g} % of the time", loc="left")
        below.set_ylabel(style.label("Time at the force", second))
        below.set_xlabel(style.label("Contact force", unit))
    return figure
