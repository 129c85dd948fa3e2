"""`periodic`: periodic motions and their branches."""

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import xarray

from arlequin.models.checks import finite, instance, positive, positive_integer
from arlequin.models.errors import ModelWarning, UserError, UserTypeError
from arlequin.models.reduction.modal import Modal
from arlequin.models.signatures import checked_call, takes
from arlequin.models.types import Array
from arlequin.orbits.continuation import Branch, BranchPoint, follow
from arlequin.orbits.dataset import branch_dataset
from arlequin.orbits.family import Family, Setting, linear_mode
from arlequin.orbits.period_map import PeriodMap
from arlequin.orbits.shooting import first_mode, first_point, tangent
from arlequin.results.conventions import of_run
from arlequin.run.progress import Progress, reporting
from arlequin.run.run import compile_seconds
from arlequin.schemes.central import CentralDifference
from arlequin.schemes.de_vogelaere import DeVogelaere
from arlequin.schemes.one_step import OneStep
from arlequin.schemes.runge_kutta import RungeKutta
from arlequin.schemes.symplectic_euler import SymplecticEuler
from arlequin.schemes.theta import Theta
from arlequin.step.scheme import Scheme
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.densities import check_masses
from arlequin.system.flow import refuse_flows
from arlequin.system.system import System

_EXPLICIT = CentralDifference, SymplecticEuler, DeVogelaere, RungeKutta
_MAX_MAPS = 8  # cached maps for different parameters
_SCHEMES = (
    'must be Theta(θ), Theta(0.5, events="locate"), Midpoint, Newmark, HHT, GeneralisedAlpha, not iterative, or '
    "CentralDifference, SymplecticEuler, DeVogelaere, RungeKutta"
)


@checked_call
def periodic(
    system: System | Callable[[float], System],
    scheme: Scheme,
    *,
    period: float | None = None,
    frequency: tuple[float, float] | None = None,
    amplitude: tuple[float, float] | None = None,
    parameter: tuple[float, float] | None = None,
    energy: tuple[float, float] | None = None,
    mode: int = 1,
    periods: int = 1,
    steps: int = 400,
    points: int = 50,
    most: int = 5000,
    start: xarray.Dataset | None = None,
    progress: Progress | bool | None = None,
) -> xarray.Dataset:
    """Periodic motions of a system by shooting, with their stability: one, or a branch over a parameter.

    period: of the loads, gravity and imposed motions of the system, s. On its own it selects the motion of this period.
    With frequency=(from, to), Hz, the loads are stretched in time to each frequency f, F(t f T); with
    amplitude=(from, to) their deviation from the mean over the period is scaled by this factor; with
    parameter=(from, to) `system` is a function of the parameter that returns the `System`. energy=(from, to), J, in
    place of `period`: the nonlinear mode number `mode` of a system without losses and time-dependent loads, from the
    linear mode on, over its energy.

    periods: number of load periods in one period of the motion (subharmonics). steps: per period of the loads; the
    scheme is `Theta`, `Midpoint`, `Theta(0.5, events="locate")`, one of the generalised-α family, or an explicit one;
    nonlinear modes take `Theta(0.5)`.
    points: minimum number of motions over the range, more where the branch turns; most: their maximum number. start: a
    Dataset of this function for one point (`branch.isel(point=3)`), the initial guess of Newton's method instead of
    rest. Not for finite strains, plasticity, wear, friction with evolving internal variables, and more than 300 free
    coordinates. The Jacobian is exact for implicit schemes of small linear systems on fixed normals with friction that
    is constant or depends on the slip rate; otherwise it is computed by differences, some 4 runs of a period for each
    free coordinate and iteration.

    The motions x = Φ(x), Φ the map of N steps (`arlequin.orbits.period_map`), are continued by pseudo-arclength, past
    folds, to the ends of the range. The Dataset has over `point`: `frequency`, `period`, the parameter, `energy`;
    Floquet multipliers and `stable`; `bifurcation`: "fold", "flip", "branch", "Neimark-Sacker", "grazing" (a gap or
    layer is just closed), of modes "stability", else empty; `amplitude_<part>`, half the range of each displacement;
    `displacement`, `velocity` of the coordinates and `gap` over `phase`; `initial_displacement`, `initial_velocity`.
    It can be saved with `to_netcdf`, and is plotted by `plots.frequency_response`, `plots.backbone` and
    `plots.periodic_orbits`.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 1.0, forces={"all": lambda t: np.cos(2.0 * np.pi * t)})  # m, kg, N
    >>> spring = aq.Spring("spring", mass.boundary("all"), stiffness=1.0, damping=0.2)  # N/m, N·s/m
    >>> system = aq.System([mass], springs=[spring])
    >>> branch = aq.periodic(system, aq.Theta(0.5), period=1.0, frequency=(0.1, 0.2))  # Hz
    >>> largest = float(branch["amplitude_mass"].max())  # F/(c √(k/m − c²/4m²)) by the amplitude at resonance, m
    >>> bool(abs(largest * 0.2 * np.sqrt(0.99) - 1.0) < 1e-3), bool(branch["stable"].all())
    (True, True)
    """
    compiled = compile_seconds()
    family, guess, attributes = _family(
        system, scheme, (period, frequency, amplitude, parameter, energy), (mode, periods, steps), start
    )
    points, most = positive_integer("points", points), positive_integer("most", most)
    single = family.low == family.high
    with reporting(progress, "periodic") as report, np.errstate(over="ignore", invalid="ignore"):

        def tell(share: float) -> None:
            if report is not None:
                report(min(int(1000.0 * share), 1000), 1000)

        if family.mode is not None:
            period_map = family.setting(1.0).map
            omega, _ = linear_mode(period_map, mode)
            first = first_mode(family, 2.0 * np.pi / omega, family.low)
            forward = np.zeros_like(first.z)
            forward[: period_map.size] = (period_map.mass @ family.mode) * first.scale[: period_map.size]
        else:
            first = first_point(family, family.low, guess)
            forward = np.zeros_like(first.z)
            forward[-1] = np.sign(family.high - family.low) or 1.0
        if single:
            branch = Branch([BranchPoint(first, tangent(family, first, first.scale, forward), "")])
        else:
            branch = follow(family, first, forward, points, most, tell)
        tell(1.0)
    if branch.reason:
        last = branch.motions[-1].point.parameter
        line = f"periodic: the branch ends at {family.long_name} = {last:g} {family.unit}: {branch.reason}"
        if len(branch.motions) == 1:
            raise UserError(line, 1)
        # periodic ← checked_call ← the user
        warnings.warn(line, ModelWarning, stacklevel=3)
    attributes |= of_run() | {"compile_time": compile_seconds() - compiled, "complete": int(not branch.reason)}
    return branch_dataset(family, branch, attributes)


def _family(
    system: Any, scheme: Any, ranges: tuple[Any, ...], numbers: tuple[Any, Any, Any], start: Any
) -> tuple[Family, Array | None, dict[str, Any]]:
    """The requested family of motions, the initial guess of the state, and the attributes of the Dataset."""
    period, *others = ranges
    mode, periods, steps = (
        positive_integer(name, value) for name, value in zip(("mode", "periods", "steps"), numbers, strict=True)
    )
    if not (isinstance(scheme, _EXPLICIT) or (isinstance(scheme, OneStep) and not scheme.solver.endswith("iterative"))):
        kind = UserError if isinstance(scheme, Scheme) else UserTypeError
        raise kind.parameter("scheme", scheme, _SCHEMES)
    names = ("frequency", "amplitude", "parameter", "energy")
    specified = [(name, value) for name, value in zip(names, others, strict=True) if value is not None]
    if len(specified) > 1:
        raise UserError(f"periodic: takes one of {', '.join(names)}, not {' and '.join(name for name, _ in specified)}")
    name, span = specified[0] if specified else ("", (1.0, 1.0))
    low, high = _range(name, span)
    if name == "parameter":
        if not callable(system):
            raise UserTypeError.parameter("system", system, "must be a function of the parameter that gives a System")
        takes("system", system, parameter="the parameter")
    else:
        instance("system", system, System, "must be a System, as System([part])")
    attributes: dict[str, Any] = {"scheme": repr(scheme), "steps": steps, "periods": periods, "parameter": name}

    def map_of(candidate: Any) -> PeriodMap:
        checked = instance("system", candidate, System, "must be a function that gives a System")
        base = None if name == "energy" else positive("period", period)
        return PeriodMap(_assembled(checked), scheme, steps * periods, base, periods)

    if name == "energy":
        if not isinstance(scheme, Theta) or scheme.theta != 0.5:
            raise UserError.parameter("scheme", scheme, "loses energy: nonlinear modes take Theta(0.5)")
        if period is not None:
            raise UserError.parameter("period", period, "is found with energy=(from, to): leave it out")
        return _modes(map_of(system), (low, high), mode), None, attributes
    if period is None:
        raise UserError("periodic: needs the period of the loads, or energy=(from, to) for nonlinear modes")
    duration = positive("period", period) * periods
    maps: OrderedDict[float, PeriodMap] = OrderedDict()
    if name == "parameter":

        def setting(p: float) -> Setting:
            if p not in maps:
                maps[p] = map_of(system(p))
                while len(maps) > _MAX_MAPS:
                    maps.popitem(last=False)
            return Setting(maps[p], duration)

        period_map = setting(low).map
    else:
        period_map = map_of(system)
    if period_map.driven or name in ("frequency", "amplitude"):
        period_map.check_period("period", period)
    if name in ("frequency", "amplitude") and not period_map.driven:
        raise UserError.parameter(name, span, "needs loads that change in time")
    if name == "frequency":
        _check_frequency(period_map, max(low, high))
        family = Family(name, "Hz", name, low, high, lambda p: Setting(period_map, periods / p))
    elif name == "amplitude":
        family = Family(name, "1", "amplitude of the loads", low, high, lambda p: Setting(period_map, duration, p))
    elif name == "parameter":
        family = Family(name, "1", name, low, high, setting)
    else:
        family = Family(
            "frequency", "Hz", "frequency", 1.0 / period, 1.0 / period, lambda p: Setting(period_map, periods / p)
        )
    return family, _start(start, period_map), attributes


def _assembled(system: System) -> Assembly:
    check_masses(system, static=False)
    refuse_flows(system.flows, "periodic motions take no flows: take simulate")
    return assemble(system)


def _modes(period_map: PeriodMap, energies: tuple[float, float], number: int) -> Family:
    """The family of a nonlinear mode."""
    low, high = energies
    if not 0.0 < low < high:
        raise UserError.parameter("energy", energies, "must be two energies, J: a small one and a larger one")
    if (
        period_map.driven
        or period_map.damping.any()
        or period_map.assembly.laws.damped
        or period_map.assembly.laws.frictional
    ):
        raise UserError("nonlinear modes are of systems without losses: no damping, friction and damped layers")
    if number > period_map.size:
        raise UserError.parameter("mode", number, f"the system has {period_map.size} modes")
    omega, shape = linear_mode(period_map, number)
    if not omega > 0.0:
        raise UserError.parameter("mode", number, "is a rigid motion")
    return Family("mode", "s", "period", low, high, lambda p: Setting(period_map, p), shape)


def _range(name: str, span: Any) -> tuple[float, float]:
    """Both ends of a range, validated."""
    rule = "must be two different numbers, (from, to)"
    if not isinstance(span, tuple | list) or len(span) != 2:
        raise UserTypeError.parameter(name, span, rule)
    check = finite if name == "parameter" else positive
    low, high = check(name, span[0]), check(name, span[1])
    if name and low == high:
        raise UserError.parameter(name, span, rule)
    return low, high


def _check_frequency(period_map: PeriodMap, frequency: float) -> None:
    """UserError if the frequency exceeds the modes of a reduced model."""
    if not any(isinstance(part, Modal) for part in period_map.assembly.system.parts):
        return
    squares = scipy.linalg.eigh(period_map.stiffness, period_map.mass, eigvals_only=True)
    largest = float(np.sqrt(max(squares[-1], 0.0)) / (2.0 * np.pi))
    if frequency > largest:
        raise UserError.parameter(
            "frequency", frequency, f"is beyond the modes of the reduced model, up to {largest:.6g} Hz: keep more"
        )


def _start(start: Any, period_map: PeriodMap) -> Array | None:
    """The state x (s,) of a point of an earlier branch."""
    if start is None:
        return None
    instance("start", start, xarray.Dataset, "must be a point of a branch, branch.isel(point=3)")
    count = period_map.size
    rule = f"must be one point of a branch of this system and scheme, of {count} free coordinates: branch.isel(point=3)"
    sizes = {f"initial_{name}": (at.stop - at.start,) for name, at in period_map.at.items() if at.stop > at.start}
    if not all(name in start and start[name].shape == size for name, size in sizes.items()):
        raise UserError.parameter("start", start, rule)
    return np.concatenate([start[name].values for name in sizes])
