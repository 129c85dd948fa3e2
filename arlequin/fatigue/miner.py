"""Palmgren–Miner's sum of the damage of counted cycles, and the life that follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from arlequin.fatigue.cycles import rainflow
from arlequin.fatigue.mean_stress import MeanStress
from arlequin.fatigue.sn_curve import SNCurve
from arlequin.models.checks import instance, positive
from arlequin.models.errors import ModelWarning, UserError, warn_user
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.results.conventions import described

_SHARE = 0.01  # of the damage that may come from beyond the curve without a warning


@checked_call
def damage(
    signal: Any,
    curve: SNCurve,
    correction: MeanStress | None = None,
    *,
    stress_per_unit: float | None = None,
    miner_sum: float = 1.0,
    dim: str | None = None,
    step: float | None = None,
) -> xarray.Dataset:
    """Damage D = Σ n_i/N_i of the cycles of a stress, and the life, for each point of its other dimensions.

    signal: the table of `rainflow`, or what `rainflow` takes (with `dim` and `step`). curve: cycles to failure N_i of
    the range of a cycle, corrected for its mean stress by `correction` to the stress ratio of the curve; None: by the
    range alone. stress_per_unit: Pa of one unit of the signal, needed where its unit is another than Pa: 1/A for a
    normal force, 1/W for a bending moment, with the stress concentration. miner_sum: D at failure.

    Variables: `damage` D of the record; `repetitions` of it up to failure, miner_sum/D; where the duration T of the
    record is known, `life`, s: T miner_sum/D. Both are inf without damage. A warning tells where lives beyond the curve
    make more than 1 % of the damage.

    Source: M. A. Miner, Journal of Applied Mechanics 12 (1945) A159–A164.

    >>> import arlequin as aq
    >>> t = np.linspace(0.0, 10.0, 1001)  # s
    >>> curve = aq.fatigue.SNCurve.basquin(amplitude=100e6, cycles=1e6, slope=5)
    >>> found = aq.fatigue.damage(200e6 * np.cos(2 * np.pi * t), curve, step=0.01)
    >>> f"{float(found['damage']):.4g}", found["life"].attrs["units"]  # 10 cycles of 2⁵ times the damage of 1e-6
    ('0.00032', 's')
    """
    instance("curve", curve, SNCurve, "must be an aq.fatigue.SNCurve")
    at_failure = positive("miner_sum", miner_sum)
    table = counted(signal, dim, step)
    per_unit = unit_stress(table["range"].attrs.get("units"), stress_per_unit)
    count = table["count"].values
    ranges = corrected_ranges(per_unit * table["range"].values, per_unit * table["mean"].values, curve, correction)
    lives = curve.lives(np.where(count > 0.0, ranges, 0.0))
    each = count / lives
    sums = each.sum(axis=-1)
    beyond = curve.extrapolated(lives)
    warn_of_extrapolation(np.sum(each, where=beyond), np.sum(each), curve)
    dims = table["count"].dims[:-1]
    with np.errstate(divide="ignore"):
        repetitions = at_failure / sums
    fields = {
        "damage": (dims, sums, described("1", "damage of the record")),
        "repetitions": (dims, repetitions, described("1", "repetitions of the record up to failure")),
    }
    duration = table.attrs.get("duration")
    if duration is not None:
        fields["life"] = (dims, duration * repetitions, described("s", "fatigue life"))
    coords = {key: value for key, value in table.coords.items() if "cycle" not in value.dims}
    attributes = {"miner_sum": at_failure, **({} if duration is None else {"duration": duration})}
    return xarray.Dataset(fields, coords, attributes)


def counted(signal: Any, dim: str | None = None, step: float | None = None) -> xarray.Dataset:
    """The table of `rainflow` with `cycle` as the last dimension: of a signal, or a table itself, checked."""
    if not isinstance(signal, xarray.Dataset):
        return rainflow(signal, dim=dim, step=step)
    if not {"range", "mean", "count"} <= set(signal.data_vars) or "cycle" not in signal["count"].dims:
        raise UserError("signal: must be a variable or the table of rainflow, with range, mean and count over cycle")
    table = signal.transpose(..., "cycle")
    ranges, means, counts = (np.asarray(table[name].values, dtype=float) for name in ("range", "mean", "count"))
    if not (counts >= 0.0).all():
        raise UserError("count: must not be negative")
    acting = counts > 0.0
    if not (np.isfinite(ranges[acting]).all() and np.isfinite(means[acting]).all()):
        raise UserError("range, mean: must be finite numbers")
    if ranges.min(initial=0.0, where=acting) < 0.0:
        raise UserError.parameter("range", float(ranges.min(where=acting, initial=0.0)), "must not be negative")
    return table


def unit_stress(units: str | None, stress_per_unit: float | None) -> float:
    """Pa of one unit of a signal; UserError where it is neither Pa nor given."""
    if stress_per_unit is not None:
        return positive("stress_per_unit", stress_per_unit)
    if units not in (None, "", "Pa"):
        raise UserError(f"stress_per_unit: must be given, Pa per unit, for a signal in {units}")
    return 1.0


def corrected_ranges(ranges: Array, means: Array, curve: SNCurve, correction: MeanStress | None) -> Array:
    """Ranges at the stress ratio of the curve, Pa, of cycles of these ranges and means, Pa; nan stay nan."""
    if correction is None:
        return ranges
    instance("correction", correction, MeanStress, "must be a correction as aq.fatigue.Goodman(ultimate)")
    reversed_amplitude = correction.reversed_amplitude(0.5 * ranges, means)
    return 2.0 * np.asarray(correction.amplitude_at_ratio(reversed_amplitude, curve.ratio))


def warn_of_extrapolation(beyond: float, total: float, curve: SNCurve) -> None:
    """`ModelWarning` where lives beyond the curve make more than `_SHARE` of the damage."""
    if total > 0.0 and beyond > _SHARE * total:
        assert curve.valid is not None
        fewest, most = curve.valid
        text = (
            f"curve: {100.0 * beyond / total:.3g} % of the damage is of lives beyond its {fewest:g} to {most:g} cycles"
        )
        warn_user(f"{text}: the curve is extrapolated", ModelWarning)
