"""How glued cubes in contact grow in 3D: time and memory beside those of the bare factor, over four sizes.

`python tests/bench/bench_growth.py KIND CELLS` prints the figures of one model as JSON, in a process of its own.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from bench_memory import peak
from timing import STEEL, Report, best

import arlequin as aq

SIZES = (10, 16, 26, 40)  # fine cells along an edge: 5,000 to 240,000 degrees of freedom
KINDS = ("bare", "frictionless", "friction", "iterative", "explicit")
SIDE, COURANT = 0.01, 2.0  # m; of the fine cells
STEPS = 12


def cubes(cells: int, friction: float = 0.0, mass: Any = "consistent") -> aq.System:
    """A cube of `cells`³ hexahedra glued to a block of hexahedra twice as large, falling on a plane with its face."""
    far = round(0.8 * cells / 2) * 2 / cells * SIDE  # where the coarse block begins, on a face of its cells
    high = far + 0.5 * cells * 2 * SIDE / cells
    coarse = aq.mesh.box((0.0, SIDE), (0.0, SIDE), (far, high), cells=(cells // 2, cells // 2, cells // 2))
    fine = aq.mesh.box((0.0, SIDE), (0.0, SIDE), (0.0, SIDE), cells=(cells,) * 3)
    parts = aq.Solid("coarse", coarse, STEEL, mass=mass), aq.Solid("fine", fine, STEEL, mass=mass)
    plane = aq.RigidPlane(point=(0.0, 0.0, -1e-9), normal=(0.0, 0.0, 1.0))
    rubs = aq.Coulomb(friction) if friction else None
    contact = aq.Interface("contact", parts[1].boundary("back"), plane, aq.Unilateral(), friction=rubs)
    interfaces = [] if mass == "lumped" else [contact]
    return aq.System([*parts], [aq.Junction(*parts)], interfaces, velocity=(1.0, 0.0, -10.0))


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time, s, and what the action gives."""
    start = time.process_time()
    found = action()
    return time.process_time() - start, found


def bare(cells: int) -> Report:
    """The factor of both parts without junction and contact, and its back-substitution."""
    from arlequin.models.linalg.factor import factorise
    from arlequin.system.assembly import assemble

    assembly = assemble(cubes(cells))
    half = 0.5 * COURANT * SIDE / cells / 5000.0
    matrix = sp.csr_array(assembly.mass + half**2 * assembly.stiffness)
    before = peak()
    made, factor = seconds(lambda: factorise(matrix))
    b = np.ones(assembly.dof_count)
    return {
        "dofs": assembly.dof_count,
        "factor (s)": made,
        "back-substitution (s)": best(lambda: factor.solve(b)),
        "matrices (MB)": before,
        "peak memory (MB)": peak(),
    }


def stepped(cells: int, friction: float, scheme: Any, mass: Any = "consistent") -> Report:
    """Set-up, the first step in contact, and the later ones."""
    from arlequin.solvers.initial_state import start_fields
    from arlequin.system.assembly import assemble

    speed = 6500.0 if mass == "lumped" else 5000.0
    step = (0.5 if mass == "lumped" else COURANT) * SIDE / cells / speed
    taken, assembly = seconds(lambda: assemble(cubes(cells, friction, mass)))
    made, stepper = seconds(lambda: scheme.prepare(assembly, step))
    state = stepper.start(*start_fields(assembly, step))
    times = []
    for _ in range(STEPS):
        own, (state, _) = seconds(lambda now=state: stepper.advance(now))
        times.append(own)
    return {
        "dofs": assembly.dof_count,
        "multipliers": int(assembly.constraints.shape[0]),
        "contact points": assembly.contact_count,
        "assembly (s)": taken,
        "set-up (s)": made,
        "first step (s)": times[0],
        "step (s)": float(np.median(times[STEPS // 2 :])),
        "peak memory (MB)": peak(),
    }


def measured(kind: str, cells: int) -> Report:
    """One model."""
    if kind == "bare":
        return bare(cells)
    if kind == "explicit":
        return stepped(cells, 0.0, aq.CentralDifference(), "lumped")
    scheme = aq.Theta(0.5, solver="iterative" if kind == "iterative" else "direct")
    return stepped(cells, 0.3 if kind == "friction" else 0.0, scheme)


def growth(sizes: tuple[int, ...] = SIZES, kinds: tuple[str, ...] = KINDS) -> Report:
    """All models, with ratios to the bare factor and exponents in the degrees of freedom (last two sizes)."""
    found: dict[str, dict[str, list[float]]] = {}
    for kind in kinds:
        for cells in sizes:
            command = [sys.executable, str(Path(__file__)), kind, str(cells)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            for name, value in json.loads(done.stdout).items():
                found.setdefault(kind, {}).setdefault(name, []).append(value)
    report: Report = {}
    for kind, columns in found.items():
        for n, cells in enumerate(sizes):
            row: dict[str, object] = {name: values[n] for name, values in columns.items()}
            if kind in ("frictionless", "friction") and "bare" in found:
                alone = found["bare"]
                row["set-up / factor"] = columns["set-up (s)"][n] / alone["factor (s)"][n]
                row["step / back-substitution"] = columns["step (s)"][n] / alone["back-substitution (s)"][n]
                row["peak memory / bare"] = columns["peak memory (MB)"][n] / alone["peak memory (MB)"][n]
            report[f"{kind}, {cells}³"] = row
        if len(sizes) > 1:
            ratio = np.log(columns["dofs"][-1] / columns["dofs"][-2])
            exponents = {
                n: float(np.log(v[-1] / v[-2]) / ratio) for n, v in columns.items() if n.endswith(("(s)", "(MB)"))
            }
            report[f"{kind}, exponents"] = exponents
    return report


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
