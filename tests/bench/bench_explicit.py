"""Explicit steps: kernels of the internal force against a product with the stiffness, and whole runs."""

from dataclasses import replace
from typing import Any

import numpy as np
from timing import STEEL, Report, in_turns, one_core

import arlequin as aq

SIDE = 400  # cells of the plane grids


def bent(mesh: Any) -> Any:
    """The same cells, no two of them alike."""
    x, y = mesh.p
    return replace(mesh, doflocs=np.array([x + 0.05 * np.sin(3 * x) * np.cos(2 * y), y + 0.04 * np.sin(2 * x + y)]))


def solids(n: int = SIDE) -> dict[str, aq.Solid]:
    """Plane quadrilaterals, congruent or not, triangles, hexahedra; lumped masses."""
    square, cube = ((0.0, 1.0), (0.0, 1.0)), ((0.0, 1.0),) * 3
    grid = aq.mesh.rectangle(*square, cells=(n, n))
    meshes = {
        f"Q4 {n} × {n}, congruent": grid,
        f"Q4 {n} × {n}, no two alike": bent(grid),
        f"T3 {n} × {n} × 2": aq.mesh.rectangle(*square, cells=(n, n), kind="tri"),
        f"hexahedra {n // 10}³": aq.mesh.box(*cube, cells=(n // 10,) * 3),
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
