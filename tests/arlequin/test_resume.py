"""Runs that were stopped go on from their checkpoint to the same bits: every scheme, what it keeps, what is refused."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.results.checkpoint import Checkpoint
from arlequin.run.resume import digest
from arlequin.schemes.cut_back import CutBackStepper

UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
RUBBER = aq.NeoHooke(1.0, 0.3, 1.0)
METAL = aq.J2(1.0, 0.3, 1.0, yield_stress=5e-4, hardening=aq.LinearHardening(0.1))
ROUGH, SPRUNG = aq.Coulomb(0.2), aq.Coulomb(0.2, stiffness=20.0)
SOFT = aq.Asperities(20.0, 1, 0.02)


def strip(law, material=UNIT, cells=(80, 2), friction=ROUGH, wear=None, kinematics="small", **options):
    """A strip that falls on a plane a little inclined: points come near contact one after the other."""
    shape = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.02), cells=cells)
    part = aq.Solid("strip", shape, material, plane="strain", kinematics=kinematics, **options)
    plane = aq.RigidPlane(point=(0.0, -1e-4), normal=(0.03, 1.0))
    touch = aq.Interface("plane", part.boundary("bottom"), plane, law, friction=friction, wear=wear)
    return aq.System([part], interfaces=[touch], velocity=(0.05, -0.2), gravity=(0.0, -0.1))


def pressed(law, material=UNIT, kinematics="small", wear=None):
    """The same with its top moved, without inertia."""
    shape = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.02), cells=(80, 2))
    part = aq.Solid(
        "strip", shape, material, plane="strain", kinematics=kinematics,
        imposed={"top": {"x": lambda t: 2e-3 * t, "y": lambda t: -5e-3 * t}},
    )  # fmt: skip
    plane = aq.RigidPlane(point=(0.0, -1e-4), normal=(0.005, 1.0))
    touch = aq.Interface("plane", part.boundary("bottom"), plane, law, friction=ROUGH, wear=wear)
    return aq.System([part], interfaces=[touch])


def blocks(**options):
    """Two blocks whose meshes do not match slide over each other."""
    low = aq.Solid("low", aq.mesh.rectangle((0.0, 1.0), (0.0, 0.2), cells=(12, 1)), UNIT, plane="strain", **options)
    high = aq.Solid(
        "high", aq.mesh.rectangle((0.1, 0.9), (0.205, 0.4), cells=(15, 1)), UNIT, plane="strain", **options
    )  # fmt: skip
    touch = aq.Interface("between", high.boundary("bottom"), low.boundary("top"), aq.Unilateral(), friction=ROUGH)
    return aq.System(
        [low, high], interfaces=[touch], velocity=lambda x: np.where(x[:, 1:] > 0.2, 1.0, 0.0) * [0.3, -0.2]
    )


def glued(mass="consistent", absorbing=None):
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.7, cells=14), UNIT, mass=mass)
    fine = aq.Bar("fine", aq.mesh.interval(0.4, 1.0, cells=60), UNIT, mass=mass)
    touch = aq.Interface("wall", fine.boundary("right"), aq.RigidPlane(1.01, -1.0), aq.Asperities(30.0, 2.0, 0.02))
    junction = aq.Junction(coarse, fine, absorbing=absorbing)
    return aq.System([coarse, fine], [junction], interfaces=[touch], velocity=0.1)


def thrown():
    """A rigid box and a solid one that glide and tip over."""
    boxes, touches = [], []
    floor = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
    for kind, x in ((aq.Rigid, 0.0), (aq.Modal, 2.0)):
        solid = aq.Solid(f"box {x:g}", aq.mesh.box((x, x + 1), (0.0, 1.0), (0.001, 0.5), cells=(2, 2, 1)), UNIT)
        boxes.append(kind(solid) if kind is aq.Rigid else kind(solid, 8))
        under = boxes[-1].boundary("back")
        touches.append(aq.Interface(f"floor {x:g}", under, floor, aq.Unilateral(), friction=ROUGH))
    return aq.System(boxes, interfaces=touches, gravity=(0.0, 0.0, -0.1), velocity=(0.1, 0.05, -0.05))


def redistributed():
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=40), UNIT, mass="redistributed")
    wall = aq.RigidPlane(1.01, -1.0)
    touch = aq.Interface("wall", bar.boundary("right"), wall, aq.Unilateral(level="gap"))
    return aq.System([bar], interfaces=[touch], velocity=0.1)


WEAR = aq.Archard(1e-2)
GAP = aq.Unilateral(level="gap")
FINITE = {"material": RUBBER, "kinematics": "finite", "cells": (80, 1)}
FEW = {**FINITE, "cells": (40, 1)}
PLASTIC = {"material": METAL, "kinematics": "finite", "cells": (80, 1)}
CASES = {
    "theta": (lambda: strip(aq.Unilateral()), aq.Theta(0.5), 2e-4),
    "theta, springs": (lambda: strip(SOFT, friction=SPRUNG), aq.Theta(0.6), 2e-4),
    "theta, wear": (lambda: strip(aq.Unilateral(), wear=WEAR), aq.Theta(1.0), 2e-4),
    "theta, neo-Hooke": (lambda: strip(aq.Unilateral(), **FEW), aq.Theta(0.5), 2e-4),
    "theta, metal": (lambda: strip(aq.Unilateral(), **PLASTIC), aq.Theta(0.5), 2e-4),
    "theta, blocks": (blocks, aq.Theta(0.5), 2e-3),
    "theta, rigid and modal": (thrown, aq.Theta(0.5), 5e-3),
    "midpoint": (redistributed, aq.Midpoint(), 1e-2),
    "midpoint, finite": (lambda: strip(SOFT, **FINITE), aq.Midpoint(), 2e-4),
    "newmark": (lambda: strip(aq.Unilateral()), aq.Newmark(), 2e-4),
    "hht, wear": (lambda: strip(SOFT, wear=WEAR), aq.HHT(-0.1), 2e-4),
    "alpha": (lambda: strip(SOFT, friction=SPRUNG), aq.GeneralisedAlpha.with_radius(0.8), 2e-4),
    "alpha, metal": (
        lambda: strip(aq.Unilateral(), **{**PLASTIC, "cells": (40, 1)}),
        aq.GeneralisedAlpha.with_radius(0.8),
        2e-4,
    ),
    "central": (lambda: strip(aq.Unilateral(), mass="lumped"), aq.CentralDifference(), 2e-4),
    "central, wear": (lambda: strip(SOFT, mass="lumped", wear=WEAR), aq.CentralDifference(), 2e-4),
    "central, metal": (lambda: strip(aq.Unilateral(), mass="lumped", **PLASTIC), aq.CentralDifference(), 4e-3),
    "central, absorbing": (lambda: glued("lumped", aq.Absorber()), aq.CentralDifference(), 5e-3),
    "multirate, absorbing": (
        lambda: glued("lumped", aq.Absorber()),
        aq.Multirate(4, fine=aq.CentralDifference()),
        2e-2,
    ),
    "multirate": (glued, aq.Multirate(3), 2e-2),
    "multirate, explicit": (lambda: glued("lumped"), aq.Multirate(4, fine=aq.CentralDifference()), 2e-2),
    "static": (lambda: pressed(GAP), aq.Static(), 2e-2),
    "static, wear": (lambda: pressed(GAP, wear=WEAR), aq.Static(), 2e-2),
    "static, neo-Hooke": (lambda: pressed(GAP, RUBBER, "finite"), aq.Static(), 2e-2),
}

# what each stepper keeps, once; test_resume_laws.py has all laws
QUICK = ("theta, springs", "theta, blocks", "theta, rigid and modal", "midpoint", "hht, wear", "alpha, metal")
QUICK += ("central, wear", "central, absorbing", "multirate, explicit", "multirate, absorbing", "static, neo-Hooke")
CASES |= {
    "static, metal": (lambda: pressed(GAP, METAL, "finite"), aq.Static(), 2e-2),
    "static, cut back": (lambda: pressed(GAP, METAL, "finite"), aq.Static(), 0.1),
}
EVERY = [pytest.param(*case, id=n, marks=() if n in QUICK else pytest.mark.slow) for n, case in CASES.items()]


@pytest.mark.slow
@pytest.mark.parametrize("system, scheme, step", EVERY)
def test_equal_bits(system, scheme, step, goes_on):
    def simulate(record, progress):
        return aq.simulate(system(), scheme, duration=30 * step, step=step, record=record, progress=progress)

    whole = goes_on(simulate, (12, 24), size=2)
    forces = [np.abs(group["force"].values).max() for group in whole["interface"].children.values()]
    assert max(forces) > 0.0


@pytest.mark.slow
def test_steps_in_parts_go_on(goes_on):
    """Five radians a step: they are done in 2, 4, … parts, which share the factor of Newton's iterations."""

    def spinning(record, progress):
        shape = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.8), cells=(3, 2))
        part = aq.Solid("block", shape, aq.NeoHooke(2.0, 0.3, 1.5), plane="strain", kinematics="finite")
        system = aq.System(
            [part], displacement=lambda x: 0.3 * x * [0.5, 1.0],
            velocity=lambda x: 2.0 * np.stack([-x[:, 1], x[:, 0]], axis=1),
        )  # fmt: skip
        return aq.simulate(system, aq.Midpoint(), duration=75.0, step=2.5, record=record, progress=progress)

    sizes, usual = set(), CutBackStepper._with
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CutBackStepper, "_with", lambda self, count: sizes.add(count) or usual(self, count))
        goes_on(spinning, (12, 24), size=1)
    assert len(sizes) > 1


def bar(speed=0.1, load=lambda x, t: 0.0 * x):
    """Small and quick."""
    part = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=20), UNIT, tractions={"left": load})
    touch = aq.Interface("wall", part.boundary("right"), aq.RigidPlane(1.01, -1.0), aq.Unilateral())
    return aq.System([part], interfaces=[touch], velocity=speed)


@pytest.fixture
def stopped(tmp_path, blocks_of):
    """Path of a run of the bar that was stopped by Ctrl-C, and of which there is a checkpoint."""

    def stop(done, total):
        if done >= 60:
            raise KeyboardInterrupt

    with blocks_of(5), pytest.raises(KeyboardInterrupt):
        simulate(tmp_path / "a.zarr", progress=stop)
    return tmp_path / "a.zarr"


def simulate(path, step=1e-2, scheme=None, system=None, every=1, progress=None):
    record = None if path is None else aq.Record(path, fields_every=every, resume=True)
    return aq.simulate(
        system or bar(), scheme or aq.Theta(0.5), duration=1.0, step=step, record=record, progress=progress
    )  # fmt: skip


def test_ctrl_c_leaves_a_checkpoint_of_the_last_step(stopped):
    path = stopped
    found = Checkpoint.read(path)
    assert found.state.n == 60 and aq.results.open(path).sizes["time"] == 61
    began = []
    result = simulate(path, progress=lambda done, total: began.append((done, total)))
    assert began[0] == (60, 100) and result.attrs["complete"] == 1 and result.attrs["steps"] == 100


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"step": 5e-3}, r"another step \(0.01 there, 0.005 here\)"),
        ({"scheme": aq.Theta(0.6)}, r"another scheme \(Theta\(theta=0.5\) there, Theta\(theta=0.6\) here\)"),
        ({"every": 2}, r"another fields_every \(1 there, 2 here\)"),
        ({"system": bar(speed=0.1000001)}, "another system: give what it was run with"),
        ({"system": bar(load=lambda x, t: 0.0 * x + 1e-9)}, "another system"),
    ],
)
def test_a_checkpoint_of_another_study_is_refused(changes, says, stopped):
    path = stopped
    with pytest.raises(UserError, match=says):
        simulate(path, **changes)
    assert simulate(path).attrs["complete"] == 1
    with pytest.raises(UserError, match="is complete, and of another study"):
        simulate(path, **changes)


def test_what_cannot_be_read_or_is_no_checkpoint_is_refused(stopped):
    path = stopped
    whole = (path / "checkpoint.npz").read_bytes()
    with np.load(path / "checkpoint.npz") as file:
        arrays = dict(file)
    told = json.loads(str(arrays["data"]))
    for change in ({**told, "format": 0}, {**told, "run": {"class": "os:system", "fields": {}}}, {}):
        np.savez(path / "checkpoint.npz", **{**arrays, "data": np.array(json.dumps(change))})
        with pytest.raises(UserError, match=r"its checkpoint cannot be read .*: run it anew"):
            simulate(path)
    (path / "checkpoint.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="its checkpoint cannot be read"):
        simulate(path)
    with pytest.raises(UserError, match="resume: needs the path"):
        aq.Record(resume=True)


def test_a_run_stopped_before_its_first_checkpoint_begins_anew(stopped):
    path = stopped
    (path / "checkpoint.npz").unlink()
    with pytest.raises(UserError, match="has no checkpoint of this study"):
        simulate(path, step=5e-3)
    began = []
    assert simulate(path, progress=lambda done, total: began.append(done)).attrs["complete"] == 1
    assert began[0] < 60


def test_rows_of_a_chunk_that_is_not_full_are_those_of_the_checkpoint(stopped):
    path = stopped
    time = aq.results.open(path)["time"].values
    shutil.rmtree(path / "time" / "c")  # as a loss of power may leave it
    simulate(path)
    result = aq.results.open(path)
    assert result.attrs["complete"] == 1 and result["time"].values[: time.size].tobytes() == time.tobytes()


def test_the_digest_of_a_system_does_not_depend_on_its_use():
    one, other = strip(SOFT, **FINITE), strip(SOFT, **FINITE)
    assert digest(one) == digest(other)
    aq.simulate(one, aq.Theta(0.5), duration=1e-4, step=1e-4)
    assert digest(one) == digest(other) != digest(strip(SOFT, friction=SPRUNG, **FINITE))


def test_the_digest_of_a_reduced_part_does_not_depend_on_its_use():
    shape = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.2), cells=(10, 2))
    part = aq.Modal(aq.Solid("strip", shape, UNIT, plane="strain"), 8)
    before = digest(part)
    part.assemble(pulls=[sp.csr_array(([1.0], ([0], [3])), shape=(1, part.dof_count))])
    assert digest(part) == before != digest(replace(part, modes=9))


@pytest.mark.slow
@pytest.mark.parametrize("jumps", [None, 0])
def test_cycles_of_wear_go_on(jumps, goes_on):
    def system():
        part = aq.PointMasses("pin", (0.0, 0.0), 1.0, imposed={"all": {"x": lambda t: 0.1 * np.sin(2 * np.pi * t)}},
                              forces={"all": lambda t: (0.0, -min(t, 1.0))})  # fmt: skip
        spring = aq.Spring("spring", part.boundary("all"), stiffness=(1.0, 1.0))
        floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
        touch = aq.Interface("floor", part.boundary("all"), floor, GAP, friction=ROUGH, wear=aq.Archard(1e-3))
        return aq.System([part], springs=[spring], interfaces=[touch])

    def cycles(record, progress):
        return aq.simulate_cycles(
            system(), aq.Static(), period=1.0, step=0.1, cycles=40, lead=1.0, jumps=jumps, record=record,
            progress=progress,
        )  # fmt: skip

    whole = goes_on(cycles, (7, 150, 300), size=2)
    assert whole.attrs["cycles_stepped"] and whole["interface/floor/worn_volume"].values[-1] > 0.0
