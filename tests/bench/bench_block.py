"""What the impact of a plane block on a wall costs: its steps in back-substitutions, its run in seconds.

A steel block of 0.1 × 0.02 m, ν = 0, 200 × 40 Q4 cells in plane strain, hits a rigid wall at 10 m/s, in 200 steps of
0.5 µs. All times are those of the processor: other work on the machine counts little.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np

import arlequin as aq
from arlequin.models.linalg.factor import Factor, factorise
from arlequin.run.run import Run

STEEL = aq.LinearElastic(young=2e11, poisson=0.0, density=7800.0)
STEP, STEPS = 5e-7, 200
FIELDS = 50  # steps between two frames
FRESH = """
from time import process_time
import arlequin as aq
begin = process_time()
import bench_block
bench_block.study().run(record={record!r})
print(process_time() - begin)
"""


def block() -> aq.Solid:
    """The block."""
    return aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(200, 40)), STEEL, plane="strain")


def study() -> aq.Study:
    """Its impact, set up from nothing."""
    part = block()
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    contact = aq.Interface("contact", part.boundary("right"), wall, aq.Unilateral(level="velocity"))
    system = aq.System([part], interfaces=[contact], velocity=(10.0, 0.0))
    return aq.Study(system, aq.Theta(0.5), STEPS * STEP, STEP, fields_every=FIELDS)


def bare_factor() -> Factor:
    """The factor of its step, M + θ²Δt² K."""
    part = block().assemble()
    return factorise(part.mass + 0.25 * STEP**2 * part.stiffness)


def run_in_parts(factor: Factor, b: np.ndarray, size: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of the set-up and of each `size` steps, record and audit included; those of as many bare solves."""
    begin = process_time()
    own = study()
    record = aq.Record(fields_every=FIELDS)
    run = Run(own.system, own.scheme, step=STEP, steps=STEPS, record=record, attributes={})
    taken, solves = [process_time() - begin], []
    with run.recorded():
        for n in range(size, STEPS + 1, size):
            start = process_time()
            run.to(n)
            middle = process_time()
            for _ in range(size):
                factor.solve(b)
            taken.append(middle - start)
            solves.append(process_time() - middle)
    return np.array(taken), np.array(solves)


def fresh(record: str | None) -> float:
    """Seconds of the whole run in a new process after `import arlequin`, libraries and kernels loaded in it."""
    folder = Path(__file__).resolve().parent
    path = os.pathsep.join([str(folder), str(folder.parent.parent)])
    command = [sys.executable, "-c", FRESH.format(record=record)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    return float(done.stdout)


def block_impact(rounds: int = 5) -> dict[str, float]:
    """The run and bare back-substitutions in turns: of each part of them the shortest of some rounds."""
    factor = bare_factor()
    b = np.random.default_rng(0).normal(size=factor.shape[0])
    study().run()  # loads libraries and kernels
    parts = [run_in_parts(factor, b) for _ in range(rounds)]
    taken, solves = (np.min([part[i] for part in parts], axis=0) for i in (0, 1))
    turns = [run_in_parts(factor, b, 1) for _ in range(rounds)]
    cold = [np.min([turn[i] for turn in turns], axis=0) for i in (0, 1)]
    with tempfile.TemporaryDirectory() as folder:
        new = {
            "memory": min(fresh(None) for _ in range(rounds)),
            "disk": min(fresh(f"{folder}/{i}.zarr") for i in range(rounds)),
        }
    return {
        "solve (s)": solves.sum() / STEPS,
        "step (s)": taken[1:].sum() / STEPS,
        "step / solve": taken[1:].sum() / solves.sum(),
        "step / solve, one by one: neither finds its factor in cache": cold[0][1:].sum() / cold[1].sum(),
        "whole run, libraries loaded (s)": taken.sum(),
        "set-up / whole run": taken[0] / taken.sum(),
        "whole run in a new process (s)": new["memory"],
        "whole run in a new process, on disk (s)": new["disk"],
    }


if __name__ == "__main__":
    print(json.dumps(block_impact(), indent=2))
