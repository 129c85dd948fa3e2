"""Explicit steps: kernels of the internal force against a product with the stiffness, and whole runs."""

from dataclasses import replace
from typing import Any

import numpy as np
from timing import STEEL, Report, in_turns, one_core

import arlequin as aq

SIDE = 400  # cells of the plane grids


def bent(mesh: Any) -> Any:
    """The same cells, no two of them alike."""
    x, y, *z = mesh.p
    moved = [x + 0.05 * np.sin(3 * x) * np.cos(2 * y), y + 0.04 * np.sin(2 * x + y)]
    return replace(mesh, doflocs=np.array([*moved, *(own + 0.03 * np.sin(2 * x * y + own) for own in z)]))


def solids(n: int = SIDE) -> dict[str, aq.Solid]:
    """Plane quadrilaterals and hexahedra, congruent or not, triangles, tetrahedra; lumped masses."""
    square, cube = ((0.0, 1.0), (0.0, 1.0)), ((0.0, 1.0),) * 3
    grid = aq.mesh.rectangle(*square, cells=(n, n))
    meshes = {
        f"Q4 {n} × {n}, congruent": grid,
        f"Q4 {n} × {n}, no two alike": bent(grid),
        f"T3 {n} × {n} × 2": aq.mesh.rectangle(*square, cells=(n, n), kind="tri"),
        f"hexahedra {n // 10}³": aq.mesh.box(*cube, cells=(n // 10,) * 3),
        f"hexahedra {n // 10}³, no two alike": bent(aq.mesh.box(*cube, cells=(n // 10,) * 3)),
        f"tetrahedra {n // 10}³ × 6": aq.mesh.box(*cube, cells=(n // 10,) * 3, kind="tet"),
    }
    return {
        name: aq.Solid("solid", mesh, STEEL, plane="strain" if mesh.dim() == 2 else None, mass="lumped")
        for name, mesh in meshes.items()
    }


def explicit(n: int = SIDE, steps: int = 200, seconds: float = 1.5) -> Report:
    """Degrees of freedom a second of the internal force alone, and of runs of `simulate`, on all cores and on one.

    The runs have their audit of energies at each step, in memory, with two frames. CSR: K u by SciPy, one thread.
    seconds: given to each force and product.
    """
    found: Report = {}
    for name, solid in solids(n).items():
        part = solid.assemble()
        u = 1e-6 * np.random.default_rng(0).normal(size=solid.dof_count)
        stiffness = part.stiffness

        def alone(part: Any = part, u: np.ndarray = u) -> None:
            with one_core():
                part.internal(u)

        actions = {
            "CSR": lambda K=stiffness, u=u: K @ u,
            "force": lambda part=part, u=u: part.internal(u),
            "force, one core": alone,
        }
        times = in_turns(actions, seconds)
        speeds = np.random.default_rng(1).normal(size=(solid.node_count, solid.components))
        system = aq.System([solid], velocity=lambda x, speeds=speeds: speeds)
        size = 1.0 / n if solid.components == 2 else 10.0 / n
        step = 0.3 * size / solid.wave_speed
        taken = steps if solid.components == 2 else steps // 4
        study = aq.Study(system, aq.CentralDifference(), taken * step, step, fields_every=10**9)
        runs: dict[str, list[float]] = {"all": [], "one": []}
        for _ in range(3):
            runs["all"].append(float(study.run().attrs["wall_time_per_step"]))
            with one_core():
                runs["one"].append(float(study.run().attrs["wall_time_per_step"]))
        whole, one = min(runs["all"]), min(runs["one"])
        found[name] = {
            "dofs": solid.dof_count,
            "CSR product (s)": times["CSR"],
            "force (s)": times["force"],
            "force / CSR": times["force"] / times["CSR"],
            "force, one core / CSR": times["force, one core"] / times["CSR"],
            "force, dofs / s": solid.dof_count / times["force"],
            "step of simulate (s)": whole,
            "step / CSR": whole / times["CSR"],
            "simulate, dofs / s": solid.dof_count / whole,
            "simulate on one core, dofs / s": solid.dof_count / one,
        }
    return found


def glued_cubes(n: int, depth: int, joined: bool, absorbs: bool = True) -> aq.System:
    """A cube of n³ hexahedra and one of (2n)³, thrown, which overlap by `depth` coarse cells; glued or not, and whether
    the junction absorbs."""
    size, side = 1.0 / n, (0.0, 1.0)
    along = (1.0 - depth * size, 2.0 - depth * size)
    parts = [
        aq.Solid("coarse", aq.mesh.box(side, side, side, cells=(n,) * 3), STEEL, mass="lumped"),
        aq.Solid("fine", aq.mesh.box(along, side, side, cells=(2 * n,) * 3), STEEL, mass="lumped"),
    ]
    return aq.System(parts, [aq.Junction(*parts, absorbing=absorbs)] if joined else [], velocity=(1.0, 0.5, 0.2))


def explicit_glued(n: int = 26, depth: int = 8, steps: int = 100) -> Report:
    """Runs of two cubes, glued with and without an absorber and each alone, 505,680 degrees of freedom and 19,683
    multipliers, on all cores."""
    models, figures = {"absorbing": (True, True), "glued": (True, False), "free": (False, False)}, {}
    for name, (joined, absorbs) in models.items():
        system = glued_cubes(n, depth, joined, absorbs)
        step = 0.125 / n / system.parts[0].wave_speed
        runs = [
            aq.simulate(system, aq.CentralDifference(), duration=steps * step, step=step, fields_every=10**9).attrs
            for _ in range(2)
        ]
        figures[name] = {key: min(float(run[key]) for run in runs) for key in ("setup_time", "wall_time_per_step")}
    absorbing, glued, free = (figures[name] for name in models)
    return {
        f"hexahedra {n}³ and {2 * n}³": {
            "dofs": sum(part.dof_count for part in system.parts),
            "multipliers": 3 * (n + 1) ** 2 * (depth + 1),
            "set-up, absorbing (s)": absorbing["setup_time"],
            "set-up, glued (s)": glued["setup_time"],
            "set-up, free (s)": free["setup_time"],
            "step, absorbing (s)": absorbing["wall_time_per_step"],
            "step, glued (s)": glued["wall_time_per_step"],
            "step, free (s)": free["wall_time_per_step"],
            "absorbing / glued": absorbing["wall_time_per_step"] / glued["wall_time_per_step"],
            "glued / free": glued["wall_time_per_step"] / free["wall_time_per_step"],
        }
    }
