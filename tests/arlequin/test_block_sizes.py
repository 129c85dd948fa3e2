"""Small systems: results depend neither on how many steps are taken at once, nor on where a run was stopped."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.schemes import sparse_steps

FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
SLOPE = aq.RigidPlane(point=(0.0, 0.0), normal=(3e-3, 1.0))
STEEL = aq.LinearElastic(young=2.1e11, poisson=0.3, density=7800.0)
LOCATE = aq.Theta(0.5, events="locate")


def sliders(law, friction, count=3, floor=FLOOR):
    """Masses on springs, thrown up and pushed about: they stick, slip and fly."""
    some = aq.PointMasses(
        "m", [(float(i), 0.0) for i in range(count)], np.arange(1.0, count + 1.0),
        forces={"all": lambda t: (9 * np.sin(90 * t), 12 * np.sin(40 * t))},
    )  # fmt: skip
    springs = [aq.Spring("base", some.boundary("all"), stiffness=(900.0, 10.0), damping=(2.0, 0.1))]
    touch = aq.Interface("floor", some.boundary("all"), floor, law, friction=friction)
    gravity = lambda t: (np.cos(30 * t), -10.0)  # noqa: E731
    return aq.System([some], springs=springs, interfaces=[touch], gravity=gravity, velocity=(0.1, 0.2))


def rod(law, modes=None):
    flow = aq.Turbulence(aq.PlateauSpectrum(0.2, cutoff=40.0), highest=150.0, correlation=0.2, duration=0.2, seed=1)
    beam = aq.Beam(
        "rod", aq.mesh.interval(0.0, 0.8, cells=6), STEEL, aq.Section.tube(5e-3, 4.4e-3, 0.3), dimension=2,
        imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}, turbulence=flow, fluid_damping=2.0,
    )  # fmt: skip
    part = aq.Modal(beam, modes) if modes else beam
    stop = aq.RigidPlane(point=(0.8, 1e-5), normal=(0.0, -1.0))
    return aq.System([part], interfaces=[aq.Interface("stop", part.boundary("right"), stop, law)])


def glued():
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.06, cells=9), STEEL)
    fine = aq.Bar("fine", aq.mesh.interval(0.04, 0.1, cells=36), STEEL, damping=aq.Rayleigh(10.0, 1e-9))
    wall = aq.RigidPlane(point=0.10001, normal=-1.0)
    touch = aq.Interface("end", fine.boundary("right"), wall, aq.Unilateral())
    return aq.System([coarse, fine], [aq.Junction(coarse, fine)], interfaces=[touch], velocity=10.0)


def pressed(friction):
    """A damped block that is pushed along a floor, glued to a coarse one."""
    steel, options = STEEL, {"plane": "strain", "damping": aq.Rayleigh(50.0, 1e-8)}
    push = {"top": {"x": lambda t: 4e-3 * np.sin(2e4 * t), "y": lambda t: -2e-6 * np.sin(1e4 * t)}}
    low = aq.Solid("low", aq.mesh.rectangle((0.0, 0.03), (0.0, 0.01), cells=(30, 10)), steel, **options)
    high = aq.Solid("high", aq.mesh.rectangle((0.0, 0.03), (0.005, 0.02), cells=(6, 3)), steel, imposed=push, **options)
    touch = aq.Interface("floor", low.boundary("bottom"), FLOOR, aq.Unilateral("velocity"), friction=friction)
    return aq.System([low, high], [aq.Junction(high, low)], interfaces=[touch], gravity=(0.0, -10.0))


def rocking():
    corners = [(0.0, 0.001), (0.3, 0.002), (0.3, 1.0), (0.0, 1.0)]
    body = aq.RigidBody("box", corners, names={"base": [0, 1]}, density=1000.0)
    touch = aq.Interface("floor", body.boundary("base"), FLOOR, aq.Unilateral(), friction=aq.Coulomb(0.5))
    return aq.System([body], interfaces=[touch], gravity=(0.0, -9.81))


def free_bulk():
    """Two elastic parts, one held and pushed, the other thrown and loaded in time."""
    held = aq.Solid(
        "held", aq.mesh.rectangle((0.0, 0.2), (0.0, 0.1), cells=(40, 30)), STEEL, plane="strain", mass="lumped",
        imposed={"left": {"x": 0.0, "y": 0.0}}, tractions={"right": (2e6, 1e6)},
    )  # fmt: skip
    thrown = aq.Solid(
        "thrown", aq.mesh.rectangle((0.0, 0.2), (0.0, 0.1), cells=(9, 5), kind="tri"), STEEL, plane="stress",
        mass="lumped", tractions={"top": lambda x, t: np.stack([1e7 * np.sin(2e5 * t + x[0]), 0.0 * x[0]])},
    )  # fmt: skip
    return aq.System([held, thrown], gravity=(0.0, -9.81))


ROUGH, SHOCK, SPRUNG = aq.Coulomb(0.1), aq.ImpactElement(900.0, 4.0), aq.Coulomb(0.4, stiffness=1600.0, damping=3.0)
STIFF = aq.Coulomb(0.3, stiffness=1e14, damping=1e7)
RUNS = {
    "theta, rough": (lambda: sliders(aq.Unilateral(), ROUGH), aq.Theta(0.5), 1e-3),
    "theta, sprung": (lambda: sliders(SHOCK, SPRUNG), aq.Theta(0.6), 1e-3),
    "theta, sprung on a slope": (lambda: sliders(SHOCK, SPRUNG, floor=SLOPE), aq.Theta(0.5), 1e-3),
    "theta, glued": (glued, aq.Theta(0.5), 4e-7),
    "theta, modal": (lambda: rod(aq.ImpactElement(1e9), 5), aq.Theta(0.5), 1e-4),
    "theta, beam": (lambda: rod(aq.Unilateral()), aq.Theta(0.5), 1e-4),
    "theta, solids": (lambda: pressed(ROUGH), aq.Theta(0.5), 1e-6),
    "theta, sprung solids": (lambda: pressed(STIFF), aq.Theta(0.7), 1e-6),
    "theta, rigid": (rocking, aq.Theta(1.0), 1e-3),
    "theta, rigid, midpoint": (rocking, aq.Theta(0.5), 1e-3),
    "located": (lambda: sliders(aq.Unilateral(), ROUGH), LOCATE, 1e-3),
    "located, modal": (lambda: rod(aq.Unilateral(), 5), LOCATE, 1e-4),
    "located, rigid": (rocking, LOCATE, 1e-3),
    "central, bulk alone": (free_bulk, aq.CentralDifference(), 3e-7),
    "euler": (lambda: sliders(SHOCK, SPRUNG), aq.SymplecticEuler(), 1e-3),
    "de vogelaere": (lambda: sliders(SHOCK, SPRUNG), aq.DeVogelaere(), 1e-3),
    "adaptive": (lambda: sliders(SHOCK, SPRUNG), aq.RungeKutta(1e-8), 1e-3),
    "adaptive, one mass": (lambda: sliders(SHOCK, SPRUNG, 1), aq.RungeKutta(1e-8), 1e-3),
    "euler, modal": (lambda: rod(aq.ImpactElement(1e9), 5), aq.SymplecticEuler(), 2e-5),
}
# one of each stepper; the others are in the slow set
IN_BLOCKS = ("theta, rough", "theta, glued", "theta, solids", "theta, rigid", "located, modal", "central, bulk alone")
IN_BLOCKS += ("euler", "adaptive, one mass")
STOPPED = (
    "theta, sprung on a slope",
    "theta, modal",
    "theta, sprung solids",
    "located, rigid",
    "de vogelaere",
    "adaptive",
)


def runs(quick):
    return [pytest.param(*run, id=name, marks=() if name in quick else pytest.mark.slow) for name, run in RUNS.items()]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("system, scheme, step", runs(IN_BLOCKS))
def test_equal_bits_whatever_the_size_of_the_blocks(system, scheme, step, blocks_of):
    results = []
    for sizes in ((4096,), (1,), (7, 2, 64, 1)):
        with blocks_of(*sizes):
            results.append(aq.simulate(system(), scheme, duration=200 * step, step=step, fields_every=3))
    touch = results[0]["interface"].children if "interface" in results[0] else {}
    assert not touch or max(float(np.abs(group["force"]).max()) for group in touch.values()) > 0.0
    for node in results[0].subtree:
        for name, values in node.variables.items():
            for other in results[1:]:
                assert values.values.tobytes() == other[node.path].variables[name].values.tobytes(), (node.path, name)


@pytest.mark.slow
@pytest.mark.parametrize("system, scheme, step", runs(STOPPED))
def test_equal_bits_of_a_run_that_was_stopped(system, scheme, step, goes_on):
    def simulate(record, progress):
        return aq.simulate(system(), scheme, duration=80 * step, step=step, record=record, progress=progress)

    goes_on(simulate, (23, 61), size=7)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("system, scheme, step", [RUNS["theta, solids"], RUNS["theta, sprung solids"]])
def test_steps_audited_together_are_those_audited_one_by_one(system, scheme, step, monkeypatch):
    together = aq.simulate(system(), scheme, duration=50 * step, step=step)
    monkeypatch.setattr(sparse_steps, "is_steady", lambda assembly: False)
    alone = aq.simulate(system(), scheme, duration=50 * step, step=step)
    assert np.abs(together["interface/floor/force"]).max() > 0.0
    assert np.abs(together["balance"]).max() < 1e-13
    for node in alone.subtree:
        for name, values in node.data_vars.items():
            if values.dtype.kind == "f" and name not in ("balance", "mismatch"):  # round-off, both
                scale = float(np.abs(values).max())
                assert together[node.path][name].values == pytest.approx(values.values, rel=0.0, abs=1e-9 * scale), name
