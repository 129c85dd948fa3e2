"""Gradients of random systems against the trend of runs."""

from functools import partial

import numpy as np
import pytest

import arlequin as aq

PERIODS = 3
SEEDS = (5, 10, 28, 35, 38)  # with springs of friction on layers
AROUND = 1e-2 * np.linspace(-1.0, 1.0, 9)  # relative changes of a parameter


def masses(seed, steps, load, speed, gap, friction, law):
    """1 to 6 masses, held and coupled by springs with dashpots, above or on a plane that they strike or rub on; each is
    driven at its own phase."""
    rng = np.random.default_rng(seed)
    count, frequency = rng.integers(1, 7), rng.uniform(4.0, 8.0)
    places = np.column_stack([np.arange(count), rng.uniform(0.0, 0.02, count)])
    names = {f"at {i}": i for i in range(count)}
    ways, phases = rng.normal(size=(count, 2)), rng.uniform(0.0, 2.0 * np.pi, count)
    pressed = rng.random() < 0.5
    weight = rng.uniform(6.0, 14.0, count) if pressed else rng.uniform(1.0, 4.0, count)

    def force(i):
        amplitude = 4.0 * load * ways[i] * [1.0, 0.3 if pressed else 1.0]
        return lambda t: amplitude * np.cos(frequency * t + phases[i]) - np.array([0.0, weight[i]])

    forces = {name: force(i) for i, name in enumerate(names)}
    body = aq.PointMasses("body", places, rng.uniform(0.5, 2.0, count), names=names, forces=forces)
    held = {"stiffness": tuple(rng.uniform(5.0, 40.0, 2)), "damping": (0.3, 0.3)}
    springs = [aq.Spring(f"held {i}", body.boundary(f"at {i}"), **held) for i in range(count)]
    arm = {"stiffness": tuple(rng.uniform(5.0, 60.0, 2)), "damping": (0.1, 0.1)}
    springs += [
        aq.Spring(f"arm {i}", body.boundary(f"at {i}"), body.boundary(f"at {i + 1}"), **arm) for i in range(count - 1)
    ]
    start = speed * rng.normal(size=(count, 2))
    if pressed:
        start[:, 1] = 0.0
    plane = aq.RigidPlane(point=(0.0, -gap if not pressed else 0.0), normal=(0.0, 1.0))
    kind = rng.integers(4)  # strikes, layer, and both with friction
    layer, sprung = kind % 2 == 1, rng.random() < 0.5
    stiffness = float(rng.uniform(300.0, 1500.0))
    normal = aq.Penalty(1e3 * law) if layer else aq.Unilateral(restitution=0.6 * law)
    rubs = None
    if kind > 1 or pressed:
        rubs = aq.Coulomb(friction, stiffness=stiffness) if sprung else aq.Coulomb(friction)
    rub = aq.Interface("rub", body.boundary("all"), plane, normal, friction=rubs)
    system = aq.System([body], interfaces=[rub], springs=springs, velocity={"body": start})
    duration = PERIODS * 2.0 * np.pi / frequency
    return aq.Study(system, aq.Theta(0.5), duration=duration, step=duration / steps)


AT = {"load": 1.0, "speed": 0.5, "gap": 0.01, "friction": 0.3, "law": 1.0}


def trends(study, responses, name, around):
    """Slopes (2, responses) of the cubics and of the lines through runs over ± 1 %."""
    values = []
    for change in around:
        own = study(**{**AT, name: AT[name] * (1.0 + change)})
        run = aq.simulate(own.system, own.scheme, duration=own.duration, step=own.step, progress=False)
        values.append([response(run) for response in responses])
    return np.array([np.polyfit(around, values, order)[order - 1] for order in (3, 1)]) / AT[name]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("seed", "steps", "response", "name"),
    [
        (5, 2400, aq.Response("energy/friction", "final"), "load"),  # springs yield in the step of a first touch
        (10, 9600, aq.Response("part/body/displacement", "final", node=0, component="x"), "law"),  # to falling pressure
    ],
)
def test_springs_of_friction_on_layers(seed, steps, response, name):
    """Masses on layers of 1 kN/m, whose springs of friction yield and stick again many times."""
    study = partial(masses, seed, steps)
    others = {other: value for other, value in AT.items() if other != name}
    found = aq.gradient(partial(study, **others), {"it": response}, {name: AT[name]}, progress=False)["gradient"].item()
    assert found == pytest.approx(trends(study, [response], name, AROUND)[0, 0], rel=0.025)


RESPONSES = {
    "energy": aq.Response("energy/kinetic", "mean"),
    "loss": aq.Response("energy/friction", "final"),
    "way": aq.Response("part/body/displacement", "final", node=0, component="x"),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_are_the_trend_of_runs(seed):
    """At 3,200 steps a period: within 5 % of the cubic or of the line through 15 runs, or 1 % of the largest slope of
    the response."""
    study = partial(masses, seed, 9600)
    found = aq.gradient(study, RESPONSES, AT, method="tangent", progress=False)["gradient"].values
    around = 1e-2 * np.linspace(-1.0, 1.0, 15)
    slopes = [trends(study, list(RESPONSES.values()), name, around) for name in AT]
    slopes = np.moveaxis(slopes, 0, 2)  # kind, response, parameter
    largest = np.abs(slopes).max(axis=(0, 2))[:, None]
    off = np.abs(found - slopes)
    assert ((off <= 0.05 * np.abs(slopes)) | (off <= 0.01 * largest)).any(axis=0).all()
