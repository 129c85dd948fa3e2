"""A step of blocks of any size against one back-substitution of its matrix, on one thread."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from timing import BAR_STEEL as STEEL
from timing import Report, best, one_core, stream

import arlequin as aq
from arlequin import Study
from arlequin.models.linalg.factor import factorise
from arlequin.step.scheme import Scheme

CELLS = {(50, 10): 1000, (100, 20): 600, (200, 40): 200, (400, 80): 50}  # and steps


def study(cells: tuple[int, int], scheme: Scheme, friction: bool, steps: int, moving: bool = False) -> Study:
    """A block of 0.1 × 0.02 m hits a wall at 10 m/s; step: five times that in which a wave crosses a cell.

    moving: the wall is a plate of two columns of such cells, with which the surface is paired in each step.
    """
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=cells), STEEL, plane="strain")
    rubs = {"friction": aq.Coulomb(0.3)} if friction else {}
    wall: Any = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    parts = [block]
    if moving:
        mesh = aq.mesh.rectangle((0.1, 0.104), (-0.02, 0.04), cells=(2, 2 * cells[1] + 1))
        parts.append(aq.Solid("plate", mesh, STEEL, plane="strain"))
        wall = parts[1].boundary("left")
    contact = aq.Interface("contact", block.boundary("right"), wall, aq.Unilateral(), **rubs)
    velocity = {"block": (10.0, 1.0 if friction else 0.0)}
    system = aq.System(parts, interfaces=[contact], velocity=velocity)
    step = 1e-4 / cells[0]
    return aq.Study(system, scheme, steps * step, step, fields_every=50)


def step_time(own: Study, rounds: int = 5) -> float:
    """Processor time of a step, s: of a run beyond a run of two steps."""
    times: list[list[float]] = [[], []]
    count = round(own.duration / own.step)
    for _ in range(rounds):
        for i, each in enumerate((replace(own, duration=2.0 * own.step), own)):
            start = time.process_time()
            each.run(progress=False)
            times[i].append(time.process_time() - start)
    return (min(times[1]) - min(times[0])) / (count - 2)


def sizes() -> Report:
    """θ-scheme and Newmark, with friction and without, and with friction on a plate that deforms: step,
    back-substitution of the block's matrix."""
    report: Report = {}
    with one_core():
        for cells, steps in CELLS.items():
            for scheme in (aq.Theta(0.5), aq.Newmark()):
                for friction, moving in ((False, False), (True, False), (True, True)):
                    own = study(cells, scheme, friction, steps, moving)
                    part = own.system.parts[0].assemble()
                    factor = factorise(part.mass + 0.25 * own.step**2 * part.stiffness)
                    b = np.random.default_rng(0).normal(size=factor.shape[0])
                    solve = best(lambda factor=factor, b=b: factor.solve(b), 0.2)
                    step = step_time(own)
                    solve = min(solve, best(lambda factor=factor, b=b: factor.solve(b), 0.2))
                    words = f"{b.size} dofs, {type(scheme).__name__}{', friction' * friction}{', plate' * moving}"
                    report[words] = {"solve (s)": solve, "step (s)": step, "step / solve": step / solve}
    return report


def thrown_mass(scheme: Scheme, steps: int) -> Study:
    """A mass in the plane that hits a rough wall: the smallest system."""
    mass = aq.PointMasses("mass", [(0.0, 0.0)], 1.0)
    wall = aq.RigidPlane(point=(0.05, 0.0), normal=(-1.0, 0.0))
    contact = aq.Interface("contact", mass.boundary("all"), wall, aq.Unilateral(), friction=aq.Coulomb(0.3))
    system = aq.System([mass], interfaces=[contact], velocity=(10.0, 1.0))
    return aq.Study(system, scheme, steps * 1e-5, 1e-5, fields_every=50)


def loop_time(own: Study, rounds: int = 3) -> float:
    """Wall time of a step, s, without the set-up, which takes many times as long in large systems."""
    return min(float(own.run(progress=False).attrs["wall_time_per_step"]) for _ in range(rounds))


def every_size() -> Report:
    """Steps with friction against size, from 2 to a million degrees of freedom: θ-scheme and, with a lumped mass,
    central differences, on one thread; beside them the back-substitution of the block's matrix, and the times in which
    a core reads the factor twice, and the fields of an explicit step (u and v read and written, M⁻¹ read) once."""
    report: dict[str, Any] = {}
    with one_core():
        speed = stream()
        report["memory"] = {"bandwidth (B/s)": speed}
        schemes: tuple[Scheme, Scheme] = aq.Theta(0.5), aq.CentralDifference()
        for scheme, name in zip(schemes, ("theta step (s)", "explicit step (s)"), strict=True):
            report.setdefault("2 dofs", {"dofs": 2})[name] = loop_time(thrown_mass(scheme, 5000))
        for cells in ((5, 1), (10, 2), (20, 4), *CELLS, (800, 160), (1600, 320)):
            count = 2000 if cells[0] < 50 else CELLS.get(cells, 20)
            implicit = study(cells, schemes[0], True, count)
            part = implicit.system.parts[0].assemble()
            factor = factorise(part.mass + 0.25 * implicit.step**2 * part.stiffness)
            b = np.random.default_rng(0).normal(size=factor.shape[0])
            figures = {"dofs": b.size, "back-substitution (s)": best(lambda f=factor, b=b: f.solve(b), 0.2)}
            figures["two reads of the factor (s)"] = 2.0 * 8.0 * factor.nnz / speed
            figures["fields of an explicit step (s)"] = 5.0 * 8.0 * b.size / speed
            del factor
            rounds = 3 if b.size < 100_000 else 1
            figures["theta step (s)"] = loop_time(implicit, rounds)
            figures["explicit step (s)"] = loop_time(explicit(implicit, max(count, 100)), rounds)
            report[f"{b.size} dofs"] = figures
    return report


def explicit(own: Study, steps: int) -> Study:
    """The same block with a lumped mass, in steps of central differences a tenth as long, which is half of the largest
    stable step."""
    (part,), (contact,) = own.system.parts, own.system.interfaces
    block = replace(part, mass="lumped")
    contact = replace(contact, slave=block.boundary("right"))
    system = replace(own.system, parts=[block], interfaces=[contact])
    shorter = {"duration": 0.1 * own.step * steps, "step": 0.1 * own.step}
    return replace(own, system=system, scheme=aq.CentralDifference(), **shorter)
