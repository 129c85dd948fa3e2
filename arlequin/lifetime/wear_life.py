"""Wear life of supports: worn depth over months, with the gap that the wear opens, and the time to a limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import xarray

from arlequin.lifetime.scars import Scar, each_support, scars_of
from arlequin.lifetime.work_rates import WorkRates
from arlequin.models.checks import integer, non_negative, positive, within
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.laws.wear import WearState
from arlequin.results.conventions import described, of_evaluation
from arlequin.run.wear_cycles import CycleJump, step_cycles
from arlequin.schemes import State

INSTANTS = 201  # of the depths over the duration
TOLERANCE = 1e-2  # of the jumps, by default
_LEAST = 10  # windows
_BETWEEN = 100  # volumes between those of two computed windows
_LEAST_POWER = 1e-9  # of the largest work rate: below it nothing wears


@checked_call
def wear_life(
    work_rate: float | Mapping[str, float] | xarray.DataTree | Callable[..., Any],
    *,
    coefficient: float | Mapping[str, float],
    duration: float,
    area: float | Mapping[str, float] | None = None,
    volume: Callable[[float], float] | Mapping[str, Callable[[float], float]] | None = None,
    limit: float | None = None,
    wall: float | None = None,
    share: float | None = None,
    supports: Sequence[str] | None = None,
    start: float = 0.0,
    windows: int = 1000,
    jumps: CycleJump | int | None = None,
) -> xarray.Dataset:
    """Worn depth of supports over a service life, by Archard's law from work rates, and the time to a limit.

        V̇ = k P(h),   h from V:   P, W: mean of Σ F_n ‖v_t‖, spells without contact included;   k, m³/J

    work_rate: P, a number or {support: W}; the result of a run, of whose interfaces the mean from `start`, s, on is
    taken; or a function of the worn depth, m, that gives one of them or an `aq.Study`, which is run: the feedback of
    the wear. With several `supports`, named as in the result, it is called with {support: m}; it adds the depths to the
    gaps, and means of several seeds are its matter.
    coefficient: k, m³/J. area, m²: the worn depth is V/area; or volume: the worn volume, m³, as an increasing function
    of the depth, as lambda h: 4 / 3 * length * (2 * radius) ** 0.5 * h**1.5 of a flat on a tube. Both one for all or
    by support. duration: of the service, s. limit: depth, m; or share of the thickness wall, m.
    windows, jumps: the duration is divided into windows of constant work rates, few of which are computed; the others
    are jumped over as by `simulate_cycles` (default: `CycleJump(1e-2)`), which chooses the depths of the runs. The time
    then follows from t = ∫ dV/(k P), with P interpolated between them.

    Variables: `depth`, m, and `volume`, m³ (support, time); `work_rate`, W (support, run), and `run_depth`, m, of the
    computed windows, which start at `run_time`, s; `wall_share` (support, time), if wall is given; `time_to_limit`
    (support), s, inf if not within the duration. Attributes: number of `runs`, `jump_error` as of `CycleJump`.

    Source: J. F. Archard, Journal of Applied Physics 24 (1953) 981–988; work rates: F. Axisa, J. Antunes & B. Villard,
    Journal of Fluids and Structures 4 (1990).

    >>> import arlequin as aq
    >>> month = 30.4375 * 86400.0  # s
    >>> data = {"coefficient": 2e-14, "area": 5e-6, "duration": 18 * month, "limit": 2e-4}  # m³/J, m², s, m
    >>> found = aq.wear_life(lambda h: 2e-3 * np.exp(-h / 3e-4), **data)  # W, falling as the gap opens
    >>> depth, time = float(found["depth"][0, -1]), float(found["time_to_limit"][0])
    >>> rate = 2e-14 * 2e-3 / 5e-6  # m/s
    >>> bool(abs(depth / (3e-4 * np.log1p(rate * 18 * month / 3e-4)) - 1) < 0.005)  # closed form
    True
    >>> bool(abs(time / (3e-4 / rate * np.expm1(2e-4 / 3e-4)) - 1) < 0.005), found.attrs["runs"] < 12
    (True, True)
    """
    rates = WorkRates.of(work_rate, supports, non_negative("start", start))
    names = rates.supports
    span = positive("duration", duration)
    factors = [positive("coefficient", each) for each in each_support("coefficient", coefficient, names)]
    scars = scars_of(area, volume, names)
    allowed, thickness = _limit(limit, wall, share)
    count = integer("windows", windows, _LEAST)
    jump = CycleJump(fixed=jumps) if isinstance(jumps, int) else jumps or CycleJump(TOLERANCE)
    run = _Windows(rates, np.array(factors), scars, span / count)
    if rates.constant:
        run.commit(run.tried(1))
    else:
        step_cycles(run, 0, 1, count, jump)
    numbers = {"runs": run.computed, "jump_error": float(run.attributes.get("jump_error", 0.0))}
    return _dataset(run.history(), scars, span, names, allowed, thickness, numbers)


def _limit(limit: Any, wall: Any, share: Any) -> tuple[float | None, float | None]:
    """The depth that is allowed, and the thickness of the wall, m."""
    thickness = None if wall is None else positive("wall", wall)
    if share is None:
        return (None if limit is None else positive("limit", limit)), thickness
    if limit is not None:
        raise UserError("limit: give limit, m, or share of the wall, one of them")
    if thickness is None:
        raise UserError("wall: must be given, m, of which share is the limit")
    return within("share", share, 0.0, 1.0, open_low=True) * thickness, thickness


@dataclass(frozen=True)
class _History:
    """Computed windows of increasing wear: starts (r,), s, worn volumes (r, s), m³, depths (r, s), m, and work rates
    (r, s), W; and the wear coefficients (s,), m³/J."""

    start: Array
    volume: Array
    depth: Array
    work_rate: Array
    factors: Array

    def curve(self, support: int, duration: float) -> tuple[Array, Array]:
        """Instants (n,), s, and worn volumes (n,), m³, of a support, from t = ∫ dV/(k P(V)).

        P is interpolated between the volumes of the computed windows, monotonically: the time has no error of the
        jumps but that of these volumes along the path of all supports. Beyond the last one P is constant.
        """
        from scipy.integrate import cumulative_trapezoid
        from scipy.interpolate import PchipInterpolator

        nodes, first = np.unique(self.volume[:, support], return_index=True)
        powers = self.work_rate[first, support]
        least = _LEAST_POWER * float(powers.max())
        if not least > 0.0:
            return np.array([0.0, duration]), np.zeros(2)
        volume, power = nodes, powers
        if nodes.size > 1:
            share = np.arange(_BETWEEN) / _BETWEEN
            volume = np.append((nodes[:-1, None] + np.diff(nodes)[:, None] * share).ravel(), nodes[-1])
            power = np.asarray(PchipInterpolator(nodes, powers)(volume))
        rate = self.factors[support] * np.maximum(power, least)
        time = cumulative_trapezoid(1.0 / rate, volume, initial=0.0)
        return np.append(time, time[-1] + duration), np.append(volume, volume[-1] + rate[-1] * duration)


@dataclass
class _Windows:
    """Windows of equal work rates, which `step_cycles` computes or skips; worn volumes (s,), m³, are its depths."""

    rates: WorkRates
    factors: Array  # k, m³/J
    scars: list[Scar]
    window: float  # s
    extra: Any = None
    attributes: dict[str, str | int | float] = field(default_factory=dict)
    computed: int = 0  # windows, those of jumps that were refused included
    _nodes: list[tuple[int, Array, Array, Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        none = np.zeros(0)
        self.assembly = SimpleNamespace(contact_count=self.factors.size)
        worn = WearState(np.zeros(self.factors.size), np.zeros(self.factors.size))
        self.state = State(0, none, none, none, none, 0.0, 0.0, 0.0, none, worn=worn)

    def tried(self, n: int) -> list[tuple[State, Any]]:
        """The state after window n, whose work rates are those at the depths before it."""
        assert self.state.worn is not None and n == self.state.n + 1
        before = self.state.worn.depth
        depths = np.array([scar.depth(float(worn)) for scar, worn in zip(self.scars, before, strict=True)])
        powers = self.rates(depths)
        self.computed += 1
        worn = self.factors * powers * self.window
        return [(replace(self.state, n=n, worn=self.state.worn.after(worn)), (before, depths, powers))]

    def commit(self, batches: list[tuple[State, Any]]) -> None:
        """Accept a window."""
        ((self.state, computed),) = batches
        self._nodes.append((self.state.n, *computed))

    def mark(self, extra: Any = None) -> None:
        """End of a window; extra: of the jumps."""
        self.extra = extra

    def history(self) -> _History:
        """The computed windows."""
        number, volumes, depths, powers = (np.array(each) for each in zip(*self._nodes, strict=True))
        return _History(self.window * (number - 1.0), volumes, depths, powers, self.factors)


def _dataset(
    history: _History,
    scars: list[Scar],
    duration: float,
    names: tuple[str, ...],
    limit: float | None,
    wall: float | None,
    numbers: Mapping[str, Any],
) -> xarray.Dataset:
    time = np.linspace(0.0, duration, INSTANTS)
    curves = [history.curve(n, duration) for n in range(len(names))]
    volume = np.array([np.interp(time, *curve) for curve in curves])
    depth = np.array([[scar.depth(v) for v in row] for scar, row in zip(scars, volume.tolist(), strict=True)])
    over = ("support", "time")
    fields: dict[str, Any] = {
        "depth": (over, depth, described("m", "worn depth")),
        "volume": (over, volume, described("m^3", "worn volume")),
        "work_rate": (("support", "run"), history.work_rate.T, described("W", "mean work rate")),
        "run_depth": (("support", "run"), history.depth.T, described("m", "worn depth of the run")),
    }
    attributes: dict[str, Any] = {"kind": "wear_life", **numbers}
    if wall is not None:
        fields["wall_share"] = (over, depth / wall, described("1", "worn share of the wall"))
        attributes["wall"] = wall
    if limit is not None:
        times = [
            _first_time(*curve, scar.worn_volume(limit), duration) for curve, scar in zip(curves, scars, strict=True)
        ]
        fields["time_to_limit"] = ("support", times, described("s", "time to the limit"))
        attributes["limit"] = limit
    coords = {
        "time": ("time", time, described("s", "time in service")),
        "support": list(names),
        "run_time": ("run", history.start, described("s", "start of the window, as jumped to")),
    }
    return xarray.Dataset(fields, coords, {**attributes, **of_evaluation("wear_life")})


def _first_time(time: Array, volumes: Array, volume: float, duration: float) -> float:
    """When a worn volume is reached, s; inf if not within the duration."""
    if volume > volumes[-1]:
        return float("inf")
    at = float(np.interp(volume, volumes, time))
    return at if at <= duration else float("inf")
