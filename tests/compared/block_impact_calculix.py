"""The impact of `block_impact_data.py` with CalculiX, whose program the first argument names: implicit, node-to-surface
contact with a penalty.

CalculiX has contact of solids only: one layer of C3D8 that does not move along z. Its results are texts: the velocity
of the centre of mass is that of the nodes of one edge, weighted by their lengths, since with ν = 0 the block moves like
a bar.
"""

import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import block_impact_data as impact
import numpy as np

SIZE = impact.LENGTH / impact.CELLS[0]
STEPS = round(impact.END / impact.STEP)
PENALTY = impact.YOUNG / SIZE  # Pa/m
ALPHA = -0.05  # default; with 0 and a stiffer penalty the iterations diverge after 34 steps
# the block moves on a wall of one cell, which is higher than it
INPUT = """
*MATERIAL, NAME=STEEL
*ELASTIC
{young}, 0.
*DENSITY
{density}
*SOLID SECTION, ELSET=BLOCK, MATERIAL=STEEL
*SOLID SECTION, ELSET=WALL, MATERIAL=STEEL
*BOUNDARY
BLOCKNODES, 3, 3
WALLNODES, 1, 3
*SURFACE, NAME=SLAVE, TYPE=NODE
FRONT
*SURFACE, NAME=MASTER
WALL, S6
*SURFACE INTERACTION, NAME=CONTACT
*SURFACE BEHAVIOR, PRESSURE-OVERCLOSURE=LINEAR
{penalty}, {least}
*CONTACT PAIR, INTERACTION=CONTACT, TYPE=NODE TO SURFACE
SLAVE, MASTER
*INITIAL CONDITIONS, TYPE=VELOCITY
BLOCKNODES, 1, {velocity}
*STEP, INC=100000
*DYNAMIC, DIRECT, ALPHA={alpha}
{step}, {end}
*NODE PRINT, NSET=EDGE
V
*EL PRINT, ELSET=BLOCK, TOTALS=ONLY
ELSE, ELKE
*END STEP
"""


def box(x: np.ndarray, y: np.ndarray, first: tuple[int, int], names: tuple[str, str]) -> tuple[list[str], np.ndarray]:
    """Lines of nodes and C3D8 cells of a layer 0 ≤ z ≤ SIZE, counted from `first`, and the numbers (x, y, z) of the
    nodes; names: of the sets of nodes and cells."""
    z = np.array([0.0, SIZE])
    number = first[0] + np.arange(x.size * y.size * 2).reshape(x.size, y.size, 2)
    points = np.stack(np.meshgrid(x, y, z, indexing="ij"), axis=-1).reshape(-1, 3)
    lower = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    corners = [corner[..., k] for k in (0, 1) for corner in lower]
    cells = np.stack(corners, axis=-1).reshape(-1, 8)
    lines = [f"*NODE, NSET={names[0]}"]
    lines += [
        f"{n}, {a!r}, {b!r}, {c!r}" for n, (a, b, c) in zip(number.ravel().tolist(), points.tolist(), strict=True)
    ]
    lines.append(f"*ELEMENT, TYPE=C3D8, ELSET={names[1]}")
    lines += [f"{n}, " + ", ".join(map(str, cell)) for n, cell in enumerate(cells.tolist(), first[1])]
    return lines, number


def written(steps: int) -> tuple[str, int]:
    """The input of a run, and the number of nodes of its printed edge."""
    nx, ny = impact.CELLS
    block, numbers = box(
        np.linspace(0.0, impact.LENGTH, nx + 1),
        np.linspace(0.0, impact.HEIGHT, ny + 1),
        (1, 1),
        ("BLOCKNODES", "BLOCK"),
    )
    wall, _ = box(
        np.array([impact.LENGTH, impact.LENGTH + SIZE]), np.array([-SIZE, impact.HEIGHT + SIZE]),
        (numbers.size + 1, nx * ny + 1), ("WALLNODES", "WALL"),
    )  # fmt: skip
    sets = ["*NSET, NSET=EDGE", *map(str, numbers[:, 0, 0].tolist())]
    sets += ["*NSET, NSET=FRONT", *map(str, numbers[-1].ravel().tolist())]
    text = INPUT.format(
        young=impact.YOUNG, density=impact.DENSITY, penalty=PENALTY, least=1e-6 * impact.YOUNG,
        velocity=impact.VELOCITY, step=impact.STEP, alpha=ALPHA,
        end=f"{steps * impact.STEP:.9g}",  # of longer words CalculiX reads the first 20 characters
    )  # fmt: skip
    return "\n".join([*block, *wall, *sets]) + text, nx + 1


def run(program: str, steps: int) -> tuple[float, np.ndarray, float]:
    """Processor time (s), velocities (steps + 1,) of the centre of mass, m/s, and energy at the end, J per metre."""
    text, count = written(steps)
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "block.inp").write_text(text)
        done = subprocess.run([program, "-i", "block"], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit((done.stdout.strip().splitlines() or ["ccx failed"])[-1])
        printed = (Path(folder) / "block.dat").read_text()
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    blocks = re.findall(r"velocities.*?\n\s*\n((?:[ \t]*\d+[^\n]*\n)+)", printed)
    nodal = np.array([[float(line.split()[1]) for line in block.splitlines()] for block in blocks])
    assert nodal.shape == (steps, count), f"{nodal.shape} velocities were printed"
    weights = np.full(count, 1.0 / (count - 1))
    weights[[0, -1]] *= 0.5
    energies = [
        float(re.findall(rf"total {name} energy[^\n]*\n\s*\n\s*([-+.\dE]+)", printed)[-1])
        for name in ("internal", "kinetic")
    ]
    seconds = end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime
    return seconds, np.concatenate([[impact.VELOCITY], nodal @ weights]), sum(energies) / SIZE


program = sys.argv[1]
first = run(program, 1)[0] + process_time()
whole, velocity, energy = run(program, STEPS)
release = subprocess.run([program, "-v"], capture_output=True, text=True).stdout
impact.report(
    "CalculiX",
    (re.findall(r"[Vv]ersion ([\d.]+)", release) or ["?"])[0],
    f"implicit, HHT with α = {ALPHA}, C3D8, node-to-surface contact by a penalty of E over the cell size",
    start_up=first,
    stepping=whole - first,
    velocity=velocity,
    energy=energy,
)
