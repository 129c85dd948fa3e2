"""Wear from a result: work rates over any interval of time, worn volume and depth by Archard's law.

The work rate of an interface is P = Σ_k F_n ‖v_t‖, W, without the coefficient of friction; its friction power, what
friction takes, is μ times it wherever a point slips; the elastic slides of friction with springs count in the work rate
alone. Archard's law with the wear coefficient k, m³/J (= 1/Pa), is

    V = k ∫ P dt (worn volume, m³),     h = k ∫ p_n ‖v_t‖ dt (worn depth at a point, m).

Where the interface itself wears (`Interface(wear=Archard(k))`) the result has both, and the gap follows: see
`arlequin.multilevel.laws.wear`. With a number K without unit and the hardness H, Pa, k = K/H (K/(3H) where K counts
hemispherical asperities).

Source: J. F. Archard, Contact and rubbing of flat surfaces, Journal of Applied Physics 24 (1953) 981–988.
"""

from typing import Literal, get_args

import numpy as np
import xarray

from arlequin.models.checks import finite, non_negative, one_of
from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.results.members import chosen, one_member
from arlequin.results.reading import of_result

Power = Literal["wear", "friction"]

MONTH = 365.25 / 12.0 * 86400.0  # s, of the time in service
_NODES = 4  # of the polynomial through the cumulative work between events
_ROUND = 1e-9  # of a step: an instant at its end


@of_result
def mean_power(
    result: xarray.DataTree,
    interface: str,
    start: float,
    end: float,
    power: Power = "wear",
    *,
    member: int | None = None,
) -> float:
    """Mean of the work rate ("wear") or of the friction power ("friction") of an interface over [start, end] s, W.

    member: of an ensemble, from 0.
    """
    result = one_member(result, member, "the mean power")
    times = result.dataset["time"].values
    slack = _ROUND * (times[-1] - times[0])
    for name, instant in (("start", start), ("end", end)):
        if not -slack <= finite(name, instant) <= times[-1] + slack:
            raise UserError.parameter(name, instant, f"must lie in the run, 0 to {times[-1]:g} s")
    if not start < end:
        raise UserError.parameter("end", end, f"must be after the start, {start:g} s")
    total = _work(result, interface, power)
    events = result.dataset["event_time"].values if "event_time" in result.dataset else None
    first, last = (_at(times, total, events, instant) for instant in (start, end))
    return (last - first) / (end - start)


@of_result
def worn_volume(
    result: xarray.DataTree, interface: str, coefficient: float, *, member: int | None = None
) -> xarray.DataArray:
    """Worn volume V(t) of an interface, m³, at every step; `coefficient`: Archard's, m³/J; `member`: of an ensemble.

    >>> import arlequin as aq
    >>> pin = aq.PointMasses("pin", (0.0, 0.0), 2.0, imposed_velocity={"all": {"x": 0.5}})  # kg, m/s
    >>> floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    >>> rub = aq.Interface("rub", pin.boundary("all"), floor, aq.Unilateral(), friction=aq.Coulomb(0.3))
    >>> system = aq.System([pin], interfaces=[rub], gravity=(0.0, -10.0))
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1.0, step=0.01)
    >>> volume = aq.results.worn_volume(result, "rub", coefficient=1e-13)
    >>> f"{float(volume[-1]):.4g} {volume.attrs['units']}"  # k F s = k · 20 N · 0.5 m
    '1e-12 m^3'
    """
    result = one_member(result, member, "the worn volume")
    volume = non_negative("coefficient", coefficient) * _work(result, interface, "wear")
    plane = _group(result, interface)["area"].attrs.get("units") == "m^2/m"  # for each metre of thickness
    attributes = {"units": "m^3/m" if plane else "m^3", "long_name": "worn volume"}
    return xarray.DataArray(volume, {"time": result.dataset["time"].values}, "time", "worn_volume", attributes)


@of_result
def worn_depth(
    result: xarray.DataTree, interface: str, coefficient: float, *, member: int | None = None
) -> xarray.DataArray:
    """Worn depth h (frame, point) of the contact points of an interface, m; `coefficient`: Archard's, m³/J.

    member: of an ensemble, from 0; None gives all, h (member, frame, point).
    """
    result = chosen(result, member)
    depth = non_negative("coefficient", coefficient) * _group(result, interface)["wear_work"]
    return depth.rename("worn_depth").assign_attrs(units="m", long_name="worn depth")


def _group(result: xarray.DataTree, interface: str) -> xarray.Dataset:
    """The group of an interface with friction."""
    known = tuple(result["interface"].children) if "interface" in result.children else ()
    one_of("interface", interface, known)
    group: xarray.Dataset = result[f"interface/{interface}"].dataset
    if "wear_power" not in group:
        raise UserError(f"interface '{interface}' has no friction: there is no slip to take wear from")
    return group


def _work(result: xarray.DataTree, interface: str, power: Power) -> Array:
    """Work since the start at every step (t,), J."""
    mean = _group(result, interface)[f"{one_of('power', power, get_args(Power))}_power"].values
    if "cycles_stepped" in result.attrs:
        raise UserError("cycles are skipped in this result: take worn_volume and worn_depth of its record, or step all")
    return np.concatenate([[0.0], np.cumsum(mean[1:] * np.diff(result.dataset["time"].values))])


def _at(times: Array, total: Array, events: Array | None, instant: float) -> float:
    """The cumulative work `total` (t,) at an instant.

    Without located events the power is constant in a step. With them the work is smooth between two events: a cubic
    through the next steps that lie between the same two, taken up to the event where one cuts the step.
    """
    n = int(np.clip(np.searchsorted(times, instant, side="left") - 1, 0, len(times) - 2))
    share = (instant - times[n]) / (times[n + 1] - times[n])
    if abs(share - round(share)) <= _ROUND:
        return float(total[n + round(share)])
    linear = float(total[n] + share * (total[n + 1] - total[n]))
    if events is None:
        return linear
    cut = np.flatnonzero(np.isfinite(events)) - 1  # steps in which something happens
    before, after = cut[cut < n], cut[cut > n]
    low, high = (before[-1] + 1 if before.size else 0), (after[0] if after.size else len(times) - 1)
    if n in cut:
        low, high = (low, n) if instant <= events[n + 1] else (n + 1, high)
    first = int(np.clip(n - 1, low, max(low, high - _NODES + 1)))
    nodes = slice(first, min(first + _NODES, high + 1))
    x, y = times[nodes], total[nodes]
    if x.size < 2:
        return linear
    value = sum(y[i] * np.prod((instant - np.delete(x, i)) / (x[i] - np.delete(x, i))) for i in range(x.size))
    return float(np.clip(value, total[n], total[n + 1]))
