"""Small systems in one compiled loop, against the bare recurrence of the same system in Python."""

import time
from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.linalg
from timing import BAR_STEEL as STEEL
from timing import Report, steps_of_studies

import arlequin as aq
from arlequin.cases import sdnv105
from arlequin.system.assembly import assemble


def slider() -> tuple[aq.System, float]:
    """A mass on a spring, on a rough floor: one contact point with friction."""
    one = aq.PointMasses("slider", (0.0, 0.0), 1.0)
    spring = aq.Spring("spring", one.boundary("all"), stiffness=(1e4, 0.0))
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("floor", one.boundary("all"), floor, aq.Unilateral(), friction=aq.Coulomb(0.1))
    system = aq.System([one], springs=[spring], interfaces=[contact], gravity=(0.0, -10.0), displacement=(8.5e-4, 0.0))
    return system, 1e-4


def bar(cells: int) -> tuple[aq.System, float]:
    """An elastic bar that hits a wall."""
    made = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=cells), STEEL)
    wall = aq.RigidPlane(point=0.1, normal=-1.0)
    contact = aq.Interface("end", made.boundary("right"), wall, aq.Unilateral())
    return aq.System([made], interfaces=[contact], velocity=10.0), 0.1 / cells / 5064.0


def rod(modes: int) -> tuple[aq.System, float]:
    """A beam on a stop, by its modes."""
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    beam = aq.Beam(
        "rod", aq.mesh.interval(0.0, 1.0, cells=40), steel, aq.Section.circle(0.01), dimension=2,
        imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}},
    )  # fmt: skip
    part = aq.Modal(beam, modes)
    stop = aq.RigidPlane(point=(1.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("stop", part.boundary("right"), stop, aq.Unilateral())
    return aq.System([part], interfaces=[contact], gravity=(0.0, -10.0)), 1e-4


def rocking(events: Literal["step", "locate"]) -> aq.Study:
    """The rigid rocking block of SDNV105, one step after the other or with its impacts located."""
    study = sdnv105.build(sdnv105.Parameters(events=events))
    return replace(study, fields_every=1000)


def bare(system: aq.System, step: float, count: int = 2000) -> float:
    """Seconds a step of the recurrence alone, by NumPy and a dense Cholesky factor: M Δv = Δt (f − K (u + ½ Δt v)).

    Without contact, energies and record: less than any step has to do.
    """
    assembly = assemble(system)
    free = np.flatnonzero(assembly.free)
    mass, stiffness = (matrix.toarray()[np.ix_(free, free)] for matrix in (assembly.mass, assembly.stiffness))
    factor = scipy.linalg.cho_factor(mass + 0.25 * step**2 * stiffness)
    load, u, v = assembly.load(0.0)[free], np.zeros(free.size), np.ones(free.size)
    begin = time.perf_counter()
    for _ in range(count):
        change = scipy.linalg.cho_solve(factor, step * (load - stiffness @ (u + 0.5 * step * v)), check_finite=False)
        u += step * (v + 0.5 * change)
        v += change
    return (time.perf_counter() - begin) / count


def small_systems(steps: int = 20_000) -> Report:
    """Microseconds a step, record and audit included; the rocking block has no recurrence that is as short."""
    made = {"slider": slider(), "bar, 30 cells": bar(30), "bar, 150 cells": bar(150), "rod, 10 modes": rod(10)}
    studies = {
        name: aq.Study(system, aq.Theta(0.5), steps * step, step, fields_every=1000)
        for name, (system, step) in made.items()
    }
    studies |= {"rocking block, stepped": rocking("step"), "rocking block, located": rocking("locate")}
    steps_of_studies({name: replaced(study) for name, study in studies.items()}, 1)  # compiles
    times = steps_of_studies(studies)
    found: Report = {}
    for name, (system, step) in made.items():
        alone = min(bare(system, step) for _ in range(3))
        found[name] = {
            "dofs": assemble(system).dof_count,
            "step (µs)": 1e6 * times[name],
            "bare recurrence in Python (µs)": 1e6 * alone,
            "step / bare recurrence": times[name] / alone,
        }
    for name in studies.keys() - made.keys():
        found[name] = {"dofs": 3, "step (µs)": 1e6 * times[name]}
    return found


def replaced(study: aq.Study) -> aq.Study:
    """A few steps of it."""
    return aq.Study(study.system, study.scheme, 200 * study.step, study.step, fields_every=1000)
