"""The spectrum of counted cycles beside an S–N curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.fatigue.mean_stress import MeanStress
from arlequin.fatigue.miner import corrected_ranges, counted, unit_stress
from arlequin.fatigue.sn_curve import SNCurve
from arlequin.models.checks import instance, positive
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DECADE = 10.0


@checked_call
def load_spectrum(
    cycles: Any,
    curve: SNCurve | None = None,
    correction: MeanStress | None = None,
    *,
    repetitions: float = 1.0,
    stress_per_unit: float | None = None,
) -> Figure:
    """Stress ranges over the number of cycles that reach them, and the S–N curve, on log–log axes.

    cycles: the table of `aq.fatigue.rainflow` of one point, or a signal. correction: of the mean stress, to the ratio
    of the curve. repetitions: of the record, as life over duration. stress_per_unit as of `aq.fatigue.damage`.
    """
    table = counted(cycles)
    if table["count"].ndim > 1:
        dims = ", ".join(map(str, table["count"].dims[:-1]))
        raise UserError(f"cycles: must be of one point: choose one of {dims} by isel")
    factor = unit_stress(table["range"].attrs.get("units"), stress_per_unit)
    count = positive("repetitions", repetitions) * table["count"].values
    ranges = factor * table["range"].values
    label = "Stress range"
    if curve is not None:
        instance("curve", curve, SNCurve, "must be an aq.fatigue.SNCurve")
        ranges = corrected_ranges(ranges, factor * table["mean"].values, curve, correction)
        label = "Stress range" if correction is None else f"Stress range at R = {curve.ratio:g}"
    elif correction is not None:
        raise UserError("curve: must be given with a correction, which leads to its stress ratio")
    acting = (count > 0.0) & (ranges > 0.0)
    if not acting.any():
        raise UserError("cycles: there are none to draw")
    order = np.argsort(-ranges[acting])
    stresses, above = ranges[acting][order], np.cumsum(count[acting][order])
    power, unit = style.prefix(stresses, "Pa")
    with style.panels(1, 3.6) as (figure, (axes,)):
        axes.step(above, power * stresses, where="pre", color=style.COLOURS[0], label="cycles that reach the range")
        if curve is not None:
            fewest = min(float(np.asarray(curve.cycles)[0]), float(above[0])) / _DECADE
            most = max(float(np.asarray(curve.cycles)[-1]), float(above[-1])) * _DECADE
            lives = np.geomspace(max(fewest, 1.0), most, 400)
            axes.plot(lives, power * curve.stress(lives), color=style.COLOURS[1], label="S–N curve")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("Number of cycles")
        axes.set_ylabel(style.label(label, unit))
        axes.legend()
    return figure
