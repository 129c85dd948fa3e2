"""Studies that `test_killed.py` runs and kills, in a process of its own: `python killed_runs.py STUDY`.

Each line of the input is a run, as JSON: path, and when it is to be killed: after so many `seconds` (stepping: counted
from its first steps on), at its `event` of that number (a file opened, renamed, removed or a folder made), or never. It
is a fork of this process, in which everything is imported, so that a kill meets the run and not the start of Python.
The answer is a line of JSON: whether it was killed, its seconds of set-up and in all, its events.
"""

import importlib
import json
import os
import pkgutil
import select
import signal
import sys
import time
from pathlib import Path

import numpy as np
import zarr.codecs  # noqa: F401

import arlequin
import arlequin as aq
from arlequin import cases
from arlequin.cases.case.execution import execute, prepare
from arlequin.results import recorder as record
from arlequin.run import run
from arlequin.run.multi_run import Axis, Measure, collect_runs

UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
METAL = aq.J2(1.0, 0.3, 1.0, yield_stress=5e-4, hardening=aq.LinearHardening(0.1))
STEEL = aq.LinearElastic(young=2.1e11, poisson=0.3, density=7800.0)
FILES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")


def strip(material=UNIT, cells=(60, 1), wear=None, **options):
    """A strip that falls on a plane a little inclined: points come near contact one after the other."""
    shape = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.02), cells=cells)
    part = aq.Solid("strip", shape, material, plane="strain", **options)
    plane = aq.RigidPlane(point=(0.0, -1e-4), normal=(0.03, 1.0))
    rough = aq.Coulomb(0.2)
    touch = aq.Interface("plane", part.boundary("bottom"), plane, aq.Unilateral(), friction=rough, wear=wear)
    return aq.System([part], interfaces=[touch], velocity=(0.05, -0.2), gravity=(0.0, -0.1))


def rod():
    """Modes of a rod in a turbulent flow, on a stop."""
    flow = aq.Turbulence(aq.PlateauSpectrum(0.2, cutoff=40.0), highest=150.0, correlation=0.2, duration=0.2, seed=1)
    beam = aq.Beam(
        "rod", aq.mesh.interval(0.0, 0.8, cells=6), STEEL, aq.Section.tube(5e-3, 4.4e-3, 0.3), dimension=2,
        imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}, turbulence=flow, fluid_damping=2.0,
    )  # fmt: skip
    part = aq.Modal(beam, 5)
    stop = aq.RigidPlane(point=(0.8, 1e-5), normal=(0.0, -1.0))
    return aq.System([part], interfaces=[aq.Interface("stop", part.boundary("right"), stop, aq.ImpactElement(1e9))])


def worn_pin(record, progress):
    part = aq.PointMasses("pin", (0.0, 0.0), 1.0, imposed={"all": {"x": lambda t: 0.1 * np.sin(2 * np.pi * t)}},
                          forces={"all": lambda t: (0.0, -min(t, 1.0))})  # fmt: skip
    spring = aq.Spring("spring", part.boundary("all"), stiffness=(1.0, 1.0))
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    touch = aq.Interface("floor", part.boundary("all"), floor, aq.Unilateral(level="gap"), friction=aq.Coulomb(0.2),
                         wear=aq.Archard(1e-3))  # fmt: skip
    system = aq.System([part], springs=[spring], interfaces=[touch])
    return aq.simulate_cycles(
        system, aq.Static(), period=1.0, step=0.1, cycles=40, lead=1.0, jumps=1, record=record, progress=progress
    )


def several(record, progress):
    """Three runs that take no time, boiled down."""
    measures = (Measure("", "a", "m", "over time", over="time"), Measure("ends", "b", "1", "at the end"),
                Measure("ends", "c", "m", "spectrum", over="frequency"))  # fmt: skip

    def one(i):
        spectrum = np.cos(i + np.arange(3.0))
        return {
            ("", "a"): np.sin([i + 0.5, i + 1.5]),
            ("ends", "b"): np.nan if i == 1 else 1.0 / (i + 1.0),
            ("ends", "c"): spectrum,
        }

    return collect_runs(
        one,
        measures,
        ("run", ["x", "y", "z"]),
        of=1,
        record=record,
        time=(0.0, 0.1),
        progress=progress,
        axes={"frequency": Axis("Hz", "frequency", (1.0, 2.0, 4.0))},
    )


def of(system, scheme, step, steps, every):
    """How a study is run."""

    def go(record, progress):
        given = aq.Record(record.path, every, overwrite=record.overwrite, resume=record.resume)
        return aq.simulate(system(), scheme, duration=steps * step, step=step, record=given, progress=progress)

    return go


def case(name, **values):
    """How a case is run: it goes on as `arlequin resume` does."""

    def go(record, progress):
        if record.path is not None and Path(record.path).exists() and record.resume:
            return cases.resume(record.path, progress)
        return execute(*prepare(name, values), record, progress)

    return go


STUDIES = {
    "multiscale_bar": case("multiscale_bar", coarse_size=2.5e-3, duration=1.5e-5),
    "friction and wear": of(lambda: strip(wear=aq.Archard(1e-2)), aq.Theta(1.0), 6e-4, 200, 2),
    "modes, compiled": of(rod, aq.Theta(0.5), 1e-4, 15000, 20),
    "metal of finite strain": of(lambda: strip(METAL, (20, 1), kinematics="finite"), aq.Theta(0.5), 8e-4, 30, 1),
    "cycles of wear": worn_pin,
    "several runs": several,
}


def import_all():
    """A fork is not to spend its life on imports; no threads are begun, which would not live on in it."""
    for package in (arlequin,):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "kernels" not in found.name:
                importlib.import_module(found.name)


def short_intervals():
    """A flush and a checkpoint as often as they can be."""
    run.SAVE_SECONDS, run.SAVE_SHARE = 0.02, 0.5
    record.FLUSH_SECONDS, record.FLUSH_SHARE = 0.01, 0.5


def forked(go, path, event, answer):
    """The run; it kills itself at the event of that number."""
    count, begun = 0, False

    def hook(name, details):
        nonlocal count
        if name in FILES and str(details[0]).startswith(str(Path(path).parent)):
            count += 1
            if count == event:
                os.kill(os.getpid(), signal.SIGKILL)

    def progress(done, total):
        nonlocal begun
        if not begun:
            os.write(answer, b"begun\n")
        begun = True

    sys.addaudithook(hook)
    go(aq.Record(path, resume=True), progress)
    os.write(answer, f"{count}\n".encode())


def killed(go, path, seconds=None, stepping=False, event=None):
    """What became of a run."""
    heard, answer = os.pipe()
    begin = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            forked(go, path, event, answer)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    os.close(answer)
    ready = select.select([heard], [], [], None if stepping else seconds)[0]
    setup = time.perf_counter() - begin
    said = os.read(heard, 6) if ready else b""
    if seconds is not None:
        rest = seconds if stepping else seconds - setup
        select.select([heard], [], [], max(0.0, rest))
        os.kill(child, signal.SIGKILL)  # it is not waited for yet, and still has its number
    _, status = os.waitpid(child, 0)
    taken, said = time.perf_counter() - begin, (said + os.read(heard, 20)).decode().split()
    os.close(heard)
    events = [int(word) for word in said if word != "begun"]
    failed = os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0
    return {"killed": not events, "failed": failed, "setup": setup, "seconds": taken, "events": sum(events)}


if __name__ == "__main__":
    short_intervals()
    go = STUDIES[sys.argv[1]]
    import_all()
    for line in sys.stdin:
        print(json.dumps(killed(go, **json.loads(line))), flush=True)
