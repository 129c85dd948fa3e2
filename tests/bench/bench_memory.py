"""Peak memory of a large 3D run in a process of its own.

`python tests/bench/bench_memory.py CELLS` prints its figures as JSON.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from timing import STEEL, Report

CELLS = 40  # along each edge: 206,763 degrees of freedom
STEPS = 10


def run(cells: int) -> Report:
    """A cube of hexahedra hits a wall, θ = 1/2: memory before and after, seconds."""
    import arlequin as aq

    begin, before = time.perf_counter(), peak()
    side = (0.0, 0.1)
    block = aq.Solid("block", aq.mesh.box(side, side, side, cells=(cells,) * 3), STEEL)
    wall = aq.RigidPlane(point=(0.1, 0.0, 0.0), normal=(-1.0, 0.0, 0.0))
    contact = aq.Interface("contact", block.boundary("right"), wall, aq.Unilateral())
    system = aq.System([block], interfaces=[contact], velocity=(10.0, 0.0, 0.0))
    step = 0.1 / cells / 5000.0
    made = time.perf_counter() - begin
    result = aq.simulate(system, aq.Theta(0.5), duration=STEPS * step, step=step, fields_every=STEPS)
    attrs = result.attrs
    return {
        "dofs": attrs["dofs"],
        "contact points": (cells + 1) ** 2,
        "steps": STEPS,
        "peak memory (MB)": peak(),
        "of it Python and packages (MB)": before,
        "mesh and parts (s)": made,
        "set-up (s)": attrs["setup_time"],
        "step (s)": attrs["wall_time_per_step"],
    }


def peak() -> float:
    """Largest resident memory of this process so far, MB (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def memory(cells: int = CELLS) -> Report:
    """The run in a fresh process."""
    command = [sys.executable, str(Path(__file__)), str(cells)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: Report = json.loads(done.stdout)
    return {f"hexahedra {cells}³": found}


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]))))
