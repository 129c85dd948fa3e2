"""What runs are used for, each with its oracle: `outcome` is "" where it holds, else the sentence that refuses it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import xarray
from combinations.systems import FEATURES, PERIOD, SCHEMES, SOLIDS, Loads

import arlequin as aq

STEPS = 100  # of the period; statics take a tenth
# relative change of a motion by a new start: of schemes whose averages or past accelerations begin anew, or whose
# sub-steps do so, within their tolerance; the rest by round-off
ANEW = {"HHT": 1e-3, "GeneralisedAlpha": 1e-3, "DeVogelaere": 1e-6, "RungeKutta": 1e-6}
# on normals that turn: of layers, whose gap follows the normals of the steps and begins anew at that of the positions;
# of central differences, whose forces at the start are on the normals there, in place of those of half a step before
TURNING = ("curved partner", "rigid body that turns")
# whose start is forgotten by a factor of 0.88 in a period: the mean of an internal variable
SLOW = ("spring with a memory",)
MEMORY = aq.Record(point_memory=True)
NONLINEAR = ("finite strain", "plasticity")  # parts, which are linearised at the start
BAND = [0.1, 2.5]  # Hz, of analyses in the frequency domain
METHODS: dict[Any, dict[str, int]] = {"direct": {}, "modal": {"modes": 50}}  # all modes
LUMPED = ("CentralDifference", "SymplecticEuler", "DeVogelaere", "RungeKutta")


def options(scheme: str, start: float = 0.0) -> dict[str, Any]:
    """Of the systems, so that the scheme takes them where it can; start: time, s, of the loads at the start."""
    return {
        "loads": Loads(grow=scheme == "Static", start=start),
        "mass": "lumped" if scheme in LUMPED else "consistent",
    }


def system(feature: str, scheme: str, size: float = 0.0) -> aq.System:
    """size: of its start, m/s, or in statics of gravity at 1 s, m/s²."""
    made = aq.System(**FEATURES[feature](**options(scheme)))
    if not size:
        return made
    vector = np.array([size, *(0.0,) * (made.parts[0].positions.shape[1] - 1)])
    return replace(made, gravity=lambda t: t * vector) if scheme == "Static" else replace(made, velocity=vector)


def ran(own: aq.System, scheme: str, periods: int = 1, finer: float = 1.0) -> xarray.DataTree:
    return aq.simulate(own, SCHEMES[scheme], duration=periods * PERIOD, step=step_of(scheme) / finer)


def step_of(scheme: str) -> float:
    return PERIOD / (STEPS // 10 if scheme == "Static" else STEPS)


def motion(result: xarray.DataTree, suffix: str = "") -> np.ndarray:
    """Displacements of the last part, of its name with the suffix, over the instants."""
    name = [name for name in result["part"].children if name.endswith(suffix)][-1]
    return result[f"part/{name}"]["displacement"].values


def near(found: Any, wanted: Any, share: float) -> None:
    """Of the size of what is wanted."""
    size = np.abs(wanted).max()
    assert size > 0.0 and np.abs(np.asarray(found) - wanted).max() <= share * size


def run(feature: str, scheme: str) -> None:
    """Energies balance, and the motion is that of a quarter of the step, by `Theta` where it is dynamic."""
    result = ran(system(feature, scheme), scheme)
    assert np.abs(result["balance"].values).max() < 1e-12
    other = scheme if scheme == "Static" else "Theta"
    fine = motion(ran(system(feature, scheme), other, finer=4))[::4]
    near(motion(result), fine, 0.05)


def ensemble(feature: str, scheme: str) -> None:
    """Each member moves as it does alone."""
    members = [system(feature, scheme, size) for size in (0.05, -0.02)]
    together = aq.simulate_ensemble(members, SCHEMES[scheme], duration=PERIOD, step=step_of(scheme))
    for i, member in enumerate(members):
        near(motion(together.isel(member=i)), motion(ran(member, scheme)), 1e-13)


def study(feature: str, scheme: str) -> Callable[..., aq.Study]:
    make: Any = FEATURES[feature]
    usual = make.__defaults__[0]

    def made(factor: float = 1.0) -> aq.Study:
        own = aq.System(**make(stiffness=factor * usual, **options(scheme)))
        return aq.Study(own, SCHEMES[scheme], duration=0.5 * PERIOD, step=PERIOD / STEPS)

    return made


def last(result: xarray.DataTree) -> float:
    return float(motion(result)[-1].sum())


def gradient(feature: str, scheme: str) -> None:
    """Differences of runs, at their statuses of contact."""
    made, width = study(feature, scheme), 1e-4
    found = aq.gradient(made, {"last": last}, {"factor": 1.0}, events=False)["gradient"].item()
    ends = [last(made(1.0 + sign * width).run()) for sign in (1.0, -1.0)]
    near(found, (ends[0] - ends[1]) / (2.0 * width), 1e-6)


def adjoint(feature: str, scheme: str) -> None:
    """The tangent, which goes the other way through the steps."""
    made = study(feature, scheme)
    of = {"strain": aq.Response("energy/strain", "mean")}
    found, wanted = (
        aq.gradient(made, of, {"factor": 1.0}, method=method)["gradient"].item() for method in ("adjoint", "tangent")
    )
    near(found, wanted, 1e-12)


def periodic(feature: str, scheme: str) -> None:
    """The transient, when the start is forgotten."""
    finer = 1.0 if feature == "junction, layer" else 0.5  # explicit schemes need its step to be stable
    steps = round(finer * STEPS)
    found = aq.periodic(system(feature, scheme), SCHEMES[scheme], period=PERIOD, steps=steps)
    assert found["stable"].item()
    periods = 150 if feature in SLOW else 30
    result = ran(system(feature, scheme), scheme, periods=periods, finer=finer)
    u = np.concatenate([group["displacement"].values[-steps - 1 :] for group in result["part"].children.values()], 1)
    near(np.ptp(u, axis=0).ravel() / 2.0, amplitudes(found), 1e-6)


def amplitudes(found: xarray.Dataset) -> np.ndarray:
    return np.concatenate(
        [values.values[0] for name, values in found.data_vars.items() if str(name).startswith("amplitude_")]
    ).ravel()


def levels(feature: str, scheme: str) -> None:
    """A switch to a model that is the same changes nothing; little where averages of a scheme, or its forces on normals
    that turn, begin anew."""
    two = [SOLIDS[feature](suffix=suffix, **options(scheme)) for suffix in ("-1", "-2")]
    flows = [flow for own in two for flow in own.pop("flows", [])]
    body = aq.Levels("body", [aq.levels.Level(**own) for own in two], aq.levels.SwitchTimes({0.5 * PERIOD: 1}))
    result = ran(aq.System([], levels=[body], flows=flows), scheme)
    assert np.abs(result["balance"].values).max() < 1e-12
    alone = ran(aq.System(**SOLIDS[feature](**options(scheme))), scheme)
    anew = scheme in ("HHT", "GeneralisedAlpha") or (scheme, feature) == ("CentralDifference", "rigid body that turns")
    near(motion(result, "-2")[-1], motion(alone)[-1], 1e-3 if anew else 1e-9)


def handover(feature: str, scheme: str) -> None:
    """A run cut in two is the run; nearly where variables of a scheme or layers on normals that turn begin anew."""
    made, half = [aq.System(**FEATURES[feature](**options(scheme, start))) for start in (0.0, 0.5 * PERIOD)]
    run = {"duration": 0.5 * PERIOD, "step": step_of(scheme), "record": aq.Record(point_memory=True)}
    first = aq.simulate(made, SCHEMES[scheme], **run)
    second = aq.simulate(replace(half, from_result=first), SCHEMES[scheme], **run)
    assert np.abs(second["balance"].values).max() < 1e-12
    anew = ANEW.get(scheme, 1e-4 if (scheme, feature) == ("CentralDifference", "flow") else 0.0)
    turning = (1e-4 if scheme == "CentralDifference" else 1e-7) if feature in TURNING else 1e-9
    whole = ran(system(feature, scheme), scheme)
    near(motion(second)[-1], motion(whole)[-1], max(turning, anew))


def white(feature: str, own: aq.System, density: float) -> tuple[Any, Any]:
    """White forces on the first end of the first spring, the same along each axis, and its displacement along an axis
    that contact does not hold: with friction across the floor."""
    at = own.springs[0].first
    axes = at.positions.shape[1]
    force = aq.frequency.Force(at, (1.0,) * axes)
    of = aq.frequency.Displacement(at, "y" if "friction" in feature or feature == "wear" else "x")
    return aq.frequency.Spectrum(force, (BAND, [density, density])), of


def frequency_response(feature: str) -> None:
    """By all modes as by a factor at each frequency."""
    own = aq.System(**FEATURES[feature]())
    load, of = white(feature, own, 1.0)
    direct, modal = (
        aq.frequency_response(own, load.load, of, [0.3, 1.0, 2.4], method=method, **modes)["response"].values
        for method, modes in METHODS.items()
    )
    near(modal, direct, 1e-9)


def random_response(feature: str) -> None:
    """Densities are those of the frequency response, and variances those of both methods."""
    own = aq.System(**FEATURES[feature]())
    load, of = white(feature, own, 2.0)
    functions = aq.frequency_response(own, load.load, of, BAND)["response"].values
    direct, modal = (
        aq.random_response(own, load, of, BAND, method=method, **modes) for method, modes in METHODS.items()
    )
    near(direct["response"].values, 2.0 * np.abs(functions) ** 2, 1e-12)
    near(modal["rms_response"].values, direct["rms_response"].values, 1e-7)


def statistical_linearisation(feature: str) -> None:
    """Under small loads the random response about the equilibrium of the steady ones."""
    own = aq.System(**FEATURES[feature](loads=Loads(steady=True)))

    def rms(analysis: Any) -> Any:
        return analysis(own, *white(feature, own, 1e-12), BAND, modes=50)["rms_response"].values

    found = None if feature in NONLINEAR else rms(aq.statistical_linearisation)
    if feature not in SLOW:  # memories have forgotten the steady loads
        grown = aq.System(**FEATURES[feature](loads=Loads(grow=True)))
        settled = aq.simulate(grown, aq.Static(), duration=PERIOD, step=0.1 * PERIOD, record=MEMORY)
        own = replace(own, from_result=settled)
    near(rms(aq.statistical_linearisation) if found is None else found, rms(aq.random_response), 1e-5)


ANALYSES: dict[str, Callable[[str], None]] = {
    "frequency_response": frequency_response, "random_response": random_response,
    "statistical_linearisation": statistical_linearisation,
}  # fmt: skip


def frequency_domain(feature: str, analysis: str) -> None:
    ANALYSES[analysis](feature)


USES: dict[str, Callable[[str, str], None]] = {
    "run": run, "ensemble": ensemble, "gradient": gradient, "adjoint": adjoint, "periodic motion": periodic,
    "levels": levels, "handover": handover, "frequency domain": frequency_domain,
}  # fmt: skip
# by which scheme, or which analysis
WAYS: dict[str, list[str]] = {use: list(ANALYSES if use == "frequency domain" else SCHEMES) for use in USES}


def outcome(use: str, feature: str, way: str) -> str:
    try:
        USES[use](feature, way)
    except aq.UserError as error:
        return str(error)
    return ""
