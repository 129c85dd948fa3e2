"""A rod that knocks and rubs on a stop: the reference against blind integration, and runs against the reference."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import arlequin as aq
from arlequin.cases.reference.stopped_motion import StoppedMotion, solve
from arlequin.cases.reference.stopped_rod import StoppedRod

ZIRCALOY = aq.LinearElastic(young=9.93e10, poisson=0.37, density=6550.0)
TUBE = aq.Section.tube(4.75e-3, 4.18e-3, 0.37)
ROD = StoppedRod(
    length=0.5, material=ZIRCALOY, section=TUBE, carried=0.55, modes=6, damping=0.02, place=0.2, gap=1e-4, friction=0.2,
    push=(8.0, 3.0), phase=1.2, frequency=22.0, stiffness=2e5, dashpot=5.0,
)  # fmt: skip
STIFF = replace(ROD, stiffness=1e6, dashpot=20.0)
RIGID = replace(ROD, stiffness=math.inf, dashpot=0.0)


def modal_beam(rod: StoppedRod, cells: int) -> aq.Modal:
    """The finite elements of the rod in its bending modes; those of stretching and torsion among them stay at rest."""
    w = 2 * np.pi * rod.frequency
    beam = aq.Beam(
        "rod", aq.mesh.interval(0.0, rod.length, cells=cells), rod.material, rod.section, direction=(0.0, 0.0, 1.0),
        carried_mass=rod.carried, points={"stop": aq.SectionPoints(rod.place)},
        distributed=lambda x, t: (rod.push[0] * np.sin(w * t), rod.push[1] * np.sin(w * t + rod.phase), 0.0),
        imposed={"left": {"x": 0.0, "y": 0.0, "z": 0.0, "rz": 0.0}, "right": {"x": 0.0, "y": 0.0}},
    )  # fmt: skip
    last = replace(rod, modes=rod.modes + 1).pulsations[-2:].mean() / (2 * np.pi)
    return aq.Modal(beam, 40, frequency=last, damping=rod.damping)


def run(rod: StoppedRod, end: float, step: float, cells: int) -> dict[str, float]:
    """Measures of a run of the code."""
    part = modal_beam(rod, cells)
    law = aq.Unilateral(level="velocity") if rod.rigid else aq.ImpactElement(rod.stiffness, rod.dashpot)
    plane = aq.RigidPlane((rod.gap, 0.0, 0.0), (-1.0, 0.0, 0.0))
    stop = aq.Interface("stop", part.boundary("stop"), plane, law, friction=aq.Coulomb(rod.friction))
    system = aq.System([part], interfaces=[stop])
    result = aq.simulate(system, aq.Theta(0.5), duration=end, step=step, fields_every=10**6)
    assert np.abs(result["balance"]).max() < 1e-12
    seen = result["interface/stop"]
    force = -seen["force"].values[1:, 0]
    return {
        "peak": force.max(),
        "impulse": force.sum() * step,
        "square": (force**2).sum() * step,
        "work": seen["wear_power"].values[1:].sum() * step,
        "rubbed": seen["friction_power"].values[1:].sum() * step / rod.friction,
        "touched": np.count_nonzero(force > 0.0) * step,
    }


def measures(motion: StoppedMotion, end: float) -> dict[str, float]:
    """The same of the reference."""
    return {
        "peak": motion.force.max(),
        "impulse": motion.impulse(end),
        "square": np.trapezoid(motion.force**2, motion.times),
        "work": motion.work(end),
        "rubbed": motion.work(end),
        "touched": motion.contact_time(end),
    }


def blind(rod: StoppedRod, end: float, slow: float) -> tuple[float, float, np.ndarray]:
    """∫ F, ∫ F |v| and the place at the end, by an implicit rule of order 5, with T = −μ F v/√(v² + slow²)."""
    n, w, shapes = rod.modes, 2 * np.pi * rod.frequency, rod.shapes
    k = np.arange(1, n + 1) * np.pi / rod.length
    scale = shapes / np.sin(k * rod.place)
    shares = (1 - np.cos(k * rod.length)) / k * scale

    def rates(t: float, z: np.ndarray) -> np.ndarray:
        q, v = z[: 2 * n].reshape(2, n), z[2 * n : 4 * n].reshape(2, n)
        gap, closing, slip = rod.gap - shapes @ q[0], shapes @ v[0], shapes @ v[1]
        force = max(-rod.stiffness * gap + rod.dashpot * closing, 0.0) if gap < 0 else 0.0
        rub = -rod.friction * force * slip / math.hypot(slip, slow)
        push = np.array([rod.push[0] * np.sin(w * t), rod.push[1] * np.sin(w * t + rod.phase)])
        a = -(rod.pulsations**2) * q - 2 * rod.damping * rod.pulsations * v + push[:, None] * shares
        a += np.array([-force, rub])[:, None] * shapes
        return np.concatenate([v.ravel(), a.ravel(), [force, force * abs(slip)]])

    found = solve_ivp(rates, (0.0, end), np.zeros(4 * n + 2), "Radau", rtol=1e-8, atol=1e-11, max_step=5e-5)
    q = found.y[: 2 * n, -1].reshape(2, n)
    return found.y[-2, -1], found.y[-1, -1], q @ shapes


def test_sine_modes_are_those_of_the_finite_elements() -> None:
    errors = []
    for cells in (20, 40):
        near = np.abs(2 * np.pi * modal_beam(ROD, cells).frequencies[:, None] / ROD.pulsations - 1)
        assert (np.count_nonzero(near < 5e-3, axis=0) == 2).all()  # one along x, one along y
        errors.append(near.min(axis=0))
    assert errors[1].max() < 1e-3
    assert (np.abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.25).all()
    thin = replace(ROD, carried=500.0).pulsations  # neither shear nor rotary inertia in the lowest
    bare = np.pi**2 / 0.25 * np.sqrt(9.93e10 * TUBE.inertia_z / (500.0 + 6550 * TUBE.area))
    assert thin[0] == pytest.approx(bare, rel=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize("dashpot", [pytest.param(0.0, marks=pytest.mark.slow), 20.0])
def test_the_reference_against_blind_integration(dashpot: float) -> None:
    """Blows do not know of friction; what rubs differs by the creep that the rule allows instead of stick."""
    rod, end = replace(ROD, modes=3, dashpot=dashpot), 0.06
    motion, errors = solve(rod, end), []
    assert {piece.state for piece in motion.pieces} == {"open", "forward", "backward", "stuck"}
    for slow in (1e-6, 1e-7):
        impulse, work, place = blind(rod, end, slow)
        assert motion.impulse(end) == pytest.approx(impulse, rel=1e-7)
        assert motion.displacement[-1, 0] == pytest.approx(place[0], rel=1e-6)
        errors.append([abs(motion.work(end) / work - 1), abs(motion.displacement[-1, 1] / place[1] - 1)])
    assert max(errors[1]) < 1e-4
    assert (np.array(errors[1]) < 0.2 * np.array(errors[0])).all()


def test_a_stiff_stop_that_takes_all_tends_to_the_rigid_one() -> None:
    """A dashpot of twice the critical one: no restitution."""
    end, errors = 0.1, []
    exact = measures(solve(RIGID, end), end)
    for stiffness in (1e6, 1e8):
        rod = replace(ROD, stiffness=stiffness, dashpot=4 * math.sqrt(stiffness / ROD.mobility))
        found = measures(solve(rod, end), end)
        errors.append([abs(found[key] / exact[key] - 1) for key in ("impulse", "work")])
    assert max(errors[1]) < 3e-3
    assert (np.array(errors[1]) < 0.5 * np.array(errors[0])).all()


def test_the_open_rod_is_a_forced_oscillator() -> None:
    """Without a stop in reach there is one piece."""
    rod, end = replace(ROD, gap=1.0, modes=1, damping=0.0), 0.123
    motion = solve(rod, end)
    assert [piece.state for piece in motion.pieces] == ["open"]
    w, own = 2 * np.pi * rod.frequency, rod.pulsations[0]
    share = 2 * rod.length / np.pi * (rod.shapes[0] / np.sin(np.pi * 0.4)) * rod.shapes[0]
    exact = 8.0 * share / (own**2 - w**2) * (np.sin(w * end) - w / own * np.sin(own * end))
    assert motion.displacement[-1, 0] == pytest.approx(exact, rel=1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rod", [ROD, replace(ROD, dashpot=0.0)], ids=["damped", "elastic"])
def test_runs_agree_with_it(rod: StoppedRod) -> None:
    """Impacts, long contacts, slip both ways and stick, over 0.2 s from rest."""
    found, exact = run(rod, 0.2, 1e-5, 20), measures(solve(rod, 0.2), 0.2)
    for key, tolerance in {"peak": 1e-3, "impulse": 1e-3, "square": 1e-3, "work": 2e-3, "touched": 1e-2}.items():
        assert found[key] == pytest.approx(exact[key], rel=tolerance), key


def test_runs_on_a_rigid_stop_agree_with_it() -> None:
    """The work rate of a step counts all of its normal impulse, also what comes after the slip has ended in it."""
    motion = solve(RIGID, 0.2)
    found, exact = run(RIGID, 0.2, 1e-5, 40), measures(motion, 0.2)
    after = (0.5 * motion.impacts[:, 1] * motion.impacts[:, 3:].sum(axis=1) - motion.impacts[:, 2]).sum()
    assert found["impulse"] == pytest.approx(exact["impulse"], rel=2e-3)
    assert found["rubbed"] == pytest.approx(exact["rubbed"], rel=2e-3)
    assert found["work"] == pytest.approx(exact["work"] + after, rel=3e-3)
    assert found["touched"] == pytest.approx(exact["touched"], rel=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("rod", [ROD, STIFF, replace(STIFF, place=0.25)], ids=["soft", "stiff", "middle"])
def test_runs_converge_to_it(rod: StoppedRod) -> None:
    """Of 40 cells the highest mode is 0.06 % too fast, a fifth of a turn in 0.3 s, and that is seen."""
    found, exact = run(rod, 0.3, 2.5e-6, 160), measures(solve(rod, 0.3), 0.3)
    for key, tolerance in {"peak": 1e-3, "impulse": 5e-4, "square": 1e-3, "work": 1e-3, "touched": 5e-3}.items():
        assert found[key] == pytest.approx(exact[key], rel=tolerance), key


@pytest.mark.parametrize("wrong, text", [
    ({"place": 0.5}, "place = 0.5: must lie in"),
    ({"stiffness": 0.0}, "stiffness = 0.0: must be positive"),
    ({"stiffness": math.inf}, "dashpot = 5.0: must be 0 on a rigid stop"),
    ({"modes": 0}, "modes = 0"),
])  # fmt: skip
def test_messages(wrong: dict[str, float], text: str) -> None:
    with pytest.raises(aq.UserError, match=text):
        replace(ROD, **wrong)
