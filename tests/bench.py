"""The benchmark of `make bench`: what a step costs, as ratios that hold from machine to machine.

Writes runs/bench.json and prints it. Elasticity on Q4 grids: plane problem, held at its left edge.
"""

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import arlequin as aq
from arlequin import Study
from cases import multiscale_bar
from models.factor import CholeskyFactor, blas_name, factorise

OUT = Path(__file__).resolve().parent.parent / "runs" / "bench.json"
POISSON = 0.3


def q4_stiffness() -> np.ndarray:
    """Plane-strain stiffness (8, 8) of the unit square, unit Young's modulus, 2 × 2 Gauss points."""
    nodes = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=float)
    lame = POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
    shear = 0.5 / (1 + POISSON)
    D = np.diag([2 * shear, 2 * shear, shear])
    D[:2, :2] += lame
    K = np.zeros((8, 8))
    for x in 0.5 + np.array([-0.5, 0.5]) / np.sqrt(3):
        for y in 0.5 + np.array([-0.5, 0.5]) / np.sqrt(3):
            dx = np.where(nodes[:, 0] == 1, 1, -1) * np.where(nodes[:, 1] == 1, y, 1 - y)
            dy = np.where(nodes[:, 1] == 1, 1, -1) * np.where(nodes[:, 0] == 1, x, 1 - x)
            B = np.zeros((3, 8))
            B[0, 0::2] = B[2, 1::2] = dx
            B[1, 1::2] = B[2, 0::2] = dy
            K += B.T @ D @ B / 4
    return K


def elasticity(n: int) -> sp.csr_array:
    """Stiffness of n × n Q4 cells, node-major, the left edge held: d = 2 n (n + 1)."""
    node = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)  # [column, row]
    cells = np.stack([node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]], axis=-1).reshape(-1, 4)
    dofs = (2 * cells[:, :, None] + np.arange(2)).reshape(-1, 8)
    rows, columns = np.repeat(dofs, 8, axis=1).ravel(), np.tile(dofs, 8).ravel()
    K = sp.csr_array((np.tile(q4_stiffness().ravel(), len(cells)), (rows, columns)))
    return K[2 * (n + 1) :, 2 * (n + 1) :]


def best(action: Callable[[], object], seconds: float = 1.0) -> float:
    """The shortest time of the runs that fit in `seconds` (at least 3)."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def stream() -> float:
    """Bytes a second read by a dot product of two long vectors: what limits a back-substitution."""
    a, b = np.ones(32_000_000), np.ones(32_000_000)
    return (a.nbytes + b.nbytes) / best(lambda: a @ b)


def factor_and_solve(n: int, bandwidth: float) -> dict[str, float]:
    """Times of the factor of an n × n grid, as multiples of K x and of reading L twice."""
    K = elasticity(n)
    b = np.random.default_rng(0).normal(size=K.shape[0])
    many = np.random.default_rng(0).normal(size=(K.shape[0], 32))
    first = best(lambda: factorise(K), 0.0)
    factor = factorise(K)
    assert isinstance(factor, CholeskyFactor)
    again = best(lambda: factor.refactorise(K), 0.0)
    product, solve = best(lambda: K @ b), best(lambda: factor.solve(b))
    block = best(lambda: factor.solve(many)) / many.shape[1]
    return {
        "dofs": K.shape[0],
        "entries of L": factor.nnz,
        "solve (s)": solve,
        "solve / K x": solve / product,
        "solve / reading L twice": solve * bandwidth / (2 * 8 * factor.nnz),
        "solve, one of 32 / solve": block / solve,
        "factorise / solve": first / solve,
        "refactorise / factorise": again / first,
        "relative residual": float(np.linalg.norm(K @ factor.solve(b) - b) / np.linalg.norm(b)),
    }


def steps_of_studies(studies: dict[str, Study], rounds: int = 3) -> dict[str, float]:
    """Shortest wall time (s) of a step of each study, record and audit included, taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in studies}
    for _ in range(rounds):
        for name, study in studies.items():
            times[name].append(float(study.run().attrs["wall_time_per_step"]))
    return {name: min(values) for name, values in times.items()}


def glued_bar() -> dict[str, float]:
    """A step of the glued model of `multiscale_bar` against the all-fine one."""
    parameters = multiscale_bar.Parameters()
    models = ("arlequin", "fine")
    times = steps_of_studies({m: multiscale_bar.build(replace(parameters, model=m)) for m in models})
    return {**{f"{m} (s)": times[m] for m in models}, "arlequin / fine": times["arlequin"] / times["fine"]}


def tipped_bar(axes: int, size: float, ratio: int) -> dict[str, Study]:
    """A steel bar on a wall, fine cells everywhere or in the last tenth, glued to coarse ones."""
    steel = aq.LinearElastic(young=2e11, density=7800.0)
    height = 5e-3

    def solid(name: str, low: float, high: float, h: float) -> aq.Solid:
        ranges = [(low, high), *[(0.0, height)] * (axes - 1)]
        cells = tuple(round((b - a) / h) for a, b in ranges)
        mesh = aq.mesh.box(*ranges, cells=cells) if axes == 3 else aq.mesh.rectangle(*ranges, cells=cells)
        return aq.Solid(name, mesh, steel, plane=None if axes == 3 else "strain")

    none = [0.0] * (axes - 1)
    wall = aq.RigidPlane(point=(0.1, *none), normal=(-1.0, *none))
    coarse, tip, whole = (
        solid("coarse", 0.0, 0.095, size * ratio),
        solid("fine", 0.09, 0.1, size),
        solid("whole", 0.0, 0.1, size),
    )
    studies = {}
    for model, parts, junctions in (("glued", [coarse, tip], [aq.Junction(coarse, tip)]), ("fine", [whole], [])):
        contact = aq.Interface("contact", parts[-1].boundary("right"), wall, aq.Unilateral())
        system = aq.System(parts, junctions, [contact], velocity=(10.0, *none))
        studies[model] = aq.Study(system, aq.Theta(0.5), 40 * size / 5e3, size / 5e3, fields_every=10**6)
    return studies


def glued_solids() -> dict[str, dict[str, float]]:
    """A step of a bar with a fine tip glued to coarse cells, against the bar all fine; in the plane and in 3D."""
    found = {}
    for name, studies in (("2D", tipped_bar(2, 1.25e-4, 8)), ("3D", tipped_bar(3, 5e-4, 5))):
        times = steps_of_studies(studies, rounds=2)
        found[name] = {**{f"{m} (s)": t for m, t in times.items()}, "fine / glued": times["fine"] / times["glued"]}
    return found


def coupled_step() -> dict[str, float]:
    """A step of two glued plane solids against the steps of the two alone."""
    steel = aq.LinearElastic(young=2e11, density=7800.0)
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0.0, 0.06), (0.0, 0.02), cells=(60, 20)), steel, plane="strain")
    fine = aq.Solid("fine", aq.mesh.rectangle((0.055, 0.1), (0.0, 0.02), cells=(180, 80)), steel, plane="strain")
    step, none = 1e-7, {"fields_every": 10**6}
    speed = (1.0, 0.0)
    glued = aq.System([coarse, fine], [aq.Junction(coarse, fine)], velocity=speed)
    studies = {
        "coarse": aq.Study(aq.System([coarse], velocity=speed), aq.Theta(0.5), 1e-5, step, **none),
        "fine": aq.Study(aq.System([fine], velocity=speed), aq.Theta(0.5), 1e-5, step, **none),
        "glued": aq.Study(glued, aq.Theta(0.5), 1e-5, step, **none),
    }
    times = steps_of_studies(studies)
    return {f"{name} (s)": t for name, t in times.items()} | {
        "glued / (coarse + fine)": times["glued"] / (times["coarse"] + times["fine"])
    }


def block_impact() -> dict[str, float]:
    """A step of a 200 × 40 Q4 block on a wall, 41 contact points, against one back-substitution of its factor."""
    steel = aq.LinearElastic(young=2e11, density=7800.0)
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(200, 40)), steel, plane="strain")
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    contact = aq.Interface("contact", block.boundary("right"), wall, aq.Unilateral())
    system = aq.System([block], interfaces=[contact], velocity=(10.0, 0.0))
    step = 5e-7
    part = block.assemble()
    factor = factorise(part.mass + 0.25 * step**2 * part.stiffness)
    b = np.random.default_rng(0).normal(size=block.dof_count)
    solve = best(lambda: factor.solve(b))
    times = steps_of_studies({"step": aq.Study(system, aq.Theta(0.5), 1e-4, step, fields_every=50)})
    return {"step (s)": times["step"], "solve (s)": solve, "step / solve": times["step"] / solve}


def main() -> None:
    bandwidth = stream()
    report = {
        "machine": {
            "cores": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
        "blas": blas_name(),
        "bandwidth (GB/s)": bandwidth / 1e9,
        "factor, Q4": {f"{n} × {n}": factor_and_solve(n, bandwidth) for n in (50, 100, 200)},
        "glued bar": glued_bar(),
        "glued solids": glued_solids(),
        "coupled step": coupled_step(),
        "block impact, 200 × 40 Q4": block_impact(),
    }
    text = json.dumps(report, indent=2, ensure_ascii=False)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
