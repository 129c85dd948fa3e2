"""Stability of a system in a flow: Argand diagram, frequencies and damping over the velocity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arlequin.models.errors import UserTypeError
from arlequin.plots import style

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


def argand(scan: xarray.Dataset) -> Figure:
    """Argand diagram of the eigenvalues of `aq.critical_velocity`, and their frequencies and growth over the velocity.

    Left: angular frequency Im λ over growth rate Re λ, each mode a line from the lowest velocity (a point) to the
    highest; right of the dashed line motions grow. Middle and right: frequency and growth rate over the velocity, with
    the onsets of instability.
    """
    import xarray

    if not isinstance(scan, xarray.Dataset) or "growth_rate" not in scan:
        raise UserTypeError.parameter("scan", scan, "must be a dataset of aq.critical_velocity")
    velocity, modes = scan["velocity"].values, scan.sizes["mode"]
    growth, angular, frequency = (scan[n].values for n in ("growth_rate", "angular_frequency", "frequency"))
    with style.panels(1, 3.2, columns=3) as (figure, (plane, frequencies, growths)):
        for mode in range(modes):
            colour = style.COLOURS[mode % len(style.COLOURS)]
            plane.plot(growth[:, mode], angular[:, mode], color=colour, linewidth=1.2, label=f"mode {mode}")
            plane.plot(growth[:1, mode], angular[:1, mode], "o", color=colour, markersize=4.0)
            frequencies.plot(velocity, frequency[:, mode], color=colour, linewidth=1.2)
            growths.plot(velocity, growth[:, mode], color=colour, linewidth=1.2)
        plane.axvline(0.0, color="0.5", linestyle="--", linewidth=0.8)
        growths.axhline(0.0, color="0.5", linestyle="--", linewidth=0.8)
        for onset, kind in zip(scan["onset_velocity"].values, scan["onset_kind"].values, strict=True):
            for axes in (frequencies, growths):
                axes.axvline(onset, color="0.5", linestyle=":" if kind == "restabilised" else "-", linewidth=0.8)
        plane.set(xlabel=style.label("Growth rate", "1/s"), ylabel=style.label("Angular frequency", "rad/s"))
        frequencies.set(xlabel=style.label("Velocity", "m/s"), ylabel=style.label("Frequency", "Hz"))
        growths.set(xlabel=style.label("Velocity", "m/s"), ylabel=style.label("Growth rate", "1/s"))
        critical = float(scan.attrs.get("critical_velocity", np.nan))
        title = "no instability" if np.isnan(critical) else f"unstable from {critical:.4g} m/s"
        plane.set_title(title, loc="left")
        plane.legend(fontsize="small")
    return figure
