"""Studies that `test_rank_*.py` run under mpiexec: `python rank_studies.py NAME [PATH] [words]`."""

import os
import sys
import time

import numpy as np

import arlequin as aq
from arlequin.run import run

STEP = 1e-7  # s


def system(load=None, **options):
    """A strip that slides and bounces on an inclined plane."""
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(20, 4))
    strip = aq.Solid("strip", mesh, steel, plane="strain", **options)
    plane = aq.RigidPlane(point=(0.0, -1e-4), normal=(0.02, 1.0))
    touch = aq.Interface("touch", strip.boundary("bottom"), plane, aq.Unilateral(), friction=aq.Coulomb(0.2))
    gravity = (0.0, -10.0) if load is None else load
    return aq.System([strip], interfaces=[touch], velocity=(1.0, -10.0), gravity=gravity)


def simulate(record, steps=200, load=None, progress=False):
    return aq.simulate(system(load), aq.Theta(0.5), duration=steps * STEP, step=STEP, record=record, progress=progress)


def on_rank(index, action):
    """A load that does something to one rank, half way."""

    def load(t):
        if t > 100 * STEP and aq.ranks().index == index:
            action()
        return 0.0, -10.0

    return load


def slowed(t):
    """A load that takes its time."""
    time.sleep(0.0 if "ARLEQUIN_QUICK" in os.environ else 2e-3)
    return 0.0, -10.0


def fails():
    raise MemoryError("no room for it")


def refuses():
    raise aq.UserError("the load is not defined here")


def leave():
    while True:
        time.sleep(0.1)


def plain(path=None):
    result = simulate(None if path is None else aq.Record(path, fields_every=10))
    print(f"rank {aq.ranks().index} of {aq.ranks().count}", result["part/strip/velocity"].values.tobytes().hex()[-64:])


def long(path):
    """A run that is stopped, or goes on: 1,500 steps."""
    run.SAVE_SECONDS, run.SAVE_SHARE = 0.2, 0.5
    if aq.ranks().root:
        print("pid", os.getpid(), flush=True)
    simulate(aq.Record(path, fields_every=10, resume=True), 1500, slowed, lambda done, _: print(done, flush=True))


def together(path):
    simulate(aq.Record(path), load=lambda t: fails() if t > 100 * STEP else (0.0, -10.0))


def alone(path, index, kind):
    simulate(aq.Record(path), load=on_rank(int(index), {"memory": fails, "refused": refuses}[kind]))


def absent(index):
    """One rank fails while the others are busy for ever."""
    if aq.ranks().index == int(index):
        fails()
    leave()


def caught():
    """A script that goes on after an error of one rank."""
    try:
        simulate(None, load=on_rank(1, refuses))
    except aq.UserError as error:
        print(f"rank {aq.ranks().index}: {error}")
    print(f"rank {aq.ranks().index} goes on:", simulate(None).sizes["time"])


def random():
    seed = aq.ranks().index
    simulate(None, load=lambda t: (0.0, -10.0 - seed))


def ended():
    """One rank ends while the others go on to a run."""
    if aq.ranks().index == 1:
        sys.exit()
    simulate(None)


def exits():
    """One rank ends in the middle of a step, in which the other waits for its share of a sum."""

    def load(t):
        if t > 100 * STEP:
            if aq.ranks().index == 1:
                sys.exit(3)
            aq.ranks().gathered(t)
        return 0.0, -10.0

    simulate(None, load=load)


def cycles():
    pin = aq.PointMasses("pin", (0.0, 0.0), 1.0, forces={"all": lambda t: (0.0, -50.0 * min(t, 1.0))},
                         imposed={"all": {"x": lambda t: 2e-3 * min(t % 1, -t % 1) * (t > 1)}})  # fmt: skip
    floor, layer = aq.RigidPlane(point=(0.0, -1e-6), normal=(0.0, 1.0)), aq.Asperities(1e9, 1, 1e-6)
    rub = aq.Interface("rub", pin.boundary("all"), floor, layer, friction=aq.Coulomb(0.1), wear=aq.Archard(1e-13))
    system = aq.System([pin], [], [rub])
    result = aq.simulate_cycles(system, aq.Static(), lead=1, period=1, step=0.25, cycles=100)
    print(f"rank {aq.ranks().index}", result["interface/rub/worn_volume"].values.tobytes().hex()[-16:])


def refused(name):
    """Something that is not spread."""
    solid = {"redistributed": {"mass": "redistributed"}, "short waves": {"damping": aq.ShortWaveDamping()},
             "finite": {"kinematics": "finite"}}  # fmt: skip
    schemes = {
        "central": aq.CentralDifference(), "midpoint": aq.Midpoint(), "multirate": aq.Multirate(2),
        "runge": aq.RungeKutta(), "events": aq.Theta(0.5, events="locate"),
    }  # fmt: skip
    own = system(**solid.get(name, {}))
    if name == "ensemble":
        aq.simulate_ensemble([own, own], aq.Theta(0.5), duration=STEP, step=STEP)
    if name == "modal":
        own = aq.System([aq.Modal(own.parts[0], 3)])
    aq.simulate(own, schemes.get(name, aq.Theta(0.5)), duration=STEP, step=STEP)


def spread(name):
    scheme = {"newmark": aq.Newmark(), "theta": aq.Theta(1.0), "alpha": aq.HHT(-0.1), "static": aq.Static()}
    own = system() if name != "static" else held()
    result = aq.simulate(own, scheme[name], duration=20 * STEP, step=STEP)
    print(float(np.abs(result["part/strip/displacement"].values).sum()).hex())


def held():
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(20, 4))
    strip = aq.Solid("strip", mesh, steel, plane="strain", imposed={"left": {"x": 0.0, "y": 0.0}})
    return aq.System([strip], gravity=(0.0, -10.0))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
