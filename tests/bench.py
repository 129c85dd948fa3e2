"""The benchmark of `make bench`: what a step costs, as ratios that hold from machine to machine.

Writes runs/bench.json and prints it. Elasticity on Q4 grids: plane problem, held at its left edge.
"""

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree
from xarray import DataTree

import arlequin as aq
from arlequin import Study
from cases import multiscale_bar
from models.factor import CholeskyFactor, blas_name, factorise
from multilevel.facets import FacetMesh
from multilevel.search import FacetTree, Matches

OUT = Path(__file__).resolve().parent.parent / "runs" / "bench.json"
POISSON = 0.3
STEEL = aq.LinearElastic(young=2e11, density=7800.0)
WIDTH = 0.01  # of the rounded bar, m


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


@dataclass(frozen=True)
class RoundedBar:
    """A steel bar that hits a rough wall with its rounded end at 1 m/s, fine cells everywhere or at that end only.

    10 mm wide (3D: square), radius of the end 0.5 m, asperities of 20 µm and 1e13 Pa/m: the contact widens and the
    force rises over 25 µs, a wave of 0.12 m in the bar. axes: 2 or 3; across: fine cells over the width; ratio: of
    coarse to fine cells. The fine part has two coarse cells' lengths of gluing zone and `free` of free zone, the zone
    of interest: 6 % of the bar in `ROUNDED_BARS`.
    """

    axes: int
    across: int
    ratio: int
    free: int
    length: float = 0.2

    @property
    def size(self) -> float:
        """Fine cells, m."""
        return WIDTH / self.across

    @property
    def interest(self) -> float:
        """Where the zone of interest begins, m."""
        return self.length - self.free * self.ratio * self.size

    def part(self, name: str, start: float, end: float, size: float) -> aq.Solid:
        """The bar from `start` to `end` (m), rounded towards the wall in the second half of the zone of interest."""
        ranges = [(start, end), *[(0.0, WIDTH)] * (self.axes - 1)]
        cells = tuple(round((b - a) / size) for a, b in ranges)
        mesh = aq.mesh.box(*ranges, cells=cells) if self.axes == 3 else aq.mesh.rectangle(*ranges, cells=cells)
        share = np.maximum((2 * mesh.p[0] - self.interest - self.length) / (self.length - self.interest), 0.0)
        places = mesh.p.copy()
        places[0] -= share * ((mesh.p[1:] - WIDTH / 2) ** 2).sum(axis=0) / (2 * 0.5)
        plane = None if self.axes == 3 else "strain"
        return aq.Solid(name, replace(mesh, doflocs=places), STEEL, plane=plane)

    def study(self, model: str, duration: float = 1e-4) -> Study:
        """`model`: "glued" or "fine" (everywhere), with the same scheme and step; some 50 frames."""
        coarse_size = self.ratio * self.size
        junctions = []
        if model == "glued":
            coarse = self.part("coarse", 0.0, self.interest, coarse_size)
            parts = [coarse, self.part("fine", self.interest - 2 * coarse_size, self.length, self.size)]
            junctions = [aq.Junction(*parts)]
        else:
            parts = [self.part("fine", 0.0, self.length, self.size)]
        none, height = [0.0] * (self.axes - 1), 2e-5
        wall = aq.RigidPlane(point=(self.length + height, *none), normal=(-1.0, *none))
        laws = [aq.Asperities(stiffness=1e13, height=height), aq.Unilateral()]
        contact = aq.Interface("contact", parts[-1].boundary("right"), wall, laws)
        system = aq.System(parts, junctions, [contact], velocity=(1.0, *none))
        step = self.size / 5e3
        return aq.Study(system, aq.Theta(0.5), duration, step, fields_every=max(1, round(duration / step / 50)))

    def errors(self, glued: tuple[Study, DataTree], fine: tuple[Study, DataTree]) -> dict[str, float]:
        """Distance (L2 over time and the zone of interest) of the glued from the all-fine model, relative.

        Both have the same cells there: nothing is interpolated. The force is the contact's.
        """
        parts = [study.system.parts[-1] for study, _ in (glued, fine)]
        centres = [part.quadrature_points().mean(axis=2).T for part in parts]
        own = np.flatnonzero(centres[0][:, 0] > self.interest)
        away, same = cKDTree(centres[1]).query(centres[0][own])
        assert away.max() < 1e-6 * self.size
        fields: dict[str, list[np.ndarray]] = {"stress": [], "velocity": [], "contact force": []}
        for part, cells, (_, result) in zip(parts, (own, same), (glued, fine), strict=True):
            motion = result["part/fine"]
            fields["stress"].append(np.array([part.stress(u.ravel())[cells] for u in motion["displacement"].values]))
            fields["velocity"].append(motion["velocity"].values[:, part.mesh.t[:, cells]])
            fields["contact force"].append(result["interface/contact/force"].values[1:])
        return {name: float(np.linalg.norm(a - b) / np.linalg.norm(b)) for name, (a, b) in fields.items()}


ROUNDED_BARS = {"2D": RoundedBar(2, 40, 8, 4), "3D": RoundedBar(3, 12, 4, 2)}


def glued_solids(bars: dict[str, RoundedBar], rounds: int = 2) -> dict[str, dict[str, float]]:
    """What a fine end glued to a coarse bar costs against the bar all fine, and its error in the zone of interest."""
    found = {}
    for name, bar in bars.items():
        studies = {model: bar.study(model) for model in ("glued", "fine")}
        runs: dict[str, list[DataTree]] = {model: [] for model in studies}
        for _ in range(rounds):
            for model, study in studies.items():
                runs[model].append(study.run())
        step, setup = (
            {model: min(float(run.attrs[key]) for run in runs[model]) for model in runs}
            for key in ("wall_time_per_step", "setup_time")
        )
        errors = bar.errors(*((studies[model], runs[model][-1]) for model in ("glued", "fine")))
        found[name] = {
            **{f"dofs, {model}": runs[model][0].attrs["dofs"] for model in runs},
            **{f"{model} (s)": seconds for model, seconds in step.items()},
            "fine / glued": step["fine"] / step["glued"],
            "set-up, fine / glued": setup["fine"] / setup["glued"],
            **{f"error of {what}": error for what, error in errors.items()},
        }
    return found


def coupled_step() -> dict[str, float]:
    """A step of two glued plane solids against the steps of the two alone."""
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0.0, 0.06), (0.0, 0.02), cells=(60, 20)), STEEL, plane="strain")
    fine = aq.Solid("fine", aq.mesh.rectangle((0.055, 0.1), (0.0, 0.02), cells=(180, 80)), STEEL, plane="strain")
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
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(200, 40)), STEEL, plane="strain")
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


def partners(flat: FacetMesh, nodes: np.ndarray, points: np.ndarray) -> Matches:
    """One search as a pairing does it, tree included."""
    return FacetTree.build(flat, nodes).closest(points, 0.02)


def contact_search() -> dict[str, float]:
    """Seconds to build the tree and find the partners of 10⁴ nodes on 10⁴ facets of a slightly rough square, in 3D."""
    times = {}
    for cell, order, cells in (("hex", 1, 100), ("tet", 1, 71), ("hex", 2, 100), ("tet", 2, 71)):
        mesh = aq.mesh.box((0, 1), (0, 1), (0, 0.1), (cells, cells, 1), cell)
        steel = aq.LinearElastic(young=2e11, poisson=POISSON, density=7800)
        surface = aq.Solid("block", mesh, steel, order=order).boundary("front")
        flat, rng = FacetMesh.of(surface), np.random.default_rng(0)
        rough = surface.positions + 1e-4 * rng.standard_normal(surface.positions.shape)
        x, y = (a.ravel() for a in np.meshgrid(*[np.linspace(0, 1, 100)] * 2))
        points = np.column_stack([x, y, 0.1 + 0 * x])
        search = partial(partners, flat, rough, points)
        times[f"{cell}, order {order}, {len(surface.facets)} facets (s)"] = best(search)
    return times


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
        "glued solids": glued_solids(ROUNDED_BARS),
        "coupled step": coupled_step(),
        "block impact, 200 × 40 Q4": block_impact(),
        "contact search, 10⁴ points": contact_search(),
    }
    text = json.dumps(report, indent=2, ensure_ascii=False)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
