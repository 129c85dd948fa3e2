"""What several ranks cost and save: the case glued_impact_3d, without absorber, on 1, 2 and 4 of them.

`mpiexec -n N python tests/bench/bench_ranks.py SOLVER CELLS` prints the figures of one model as JSON. Times are those
of the clock: ranks of one machine share its memory's bandwidth.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from bench_memory import peak
from timing import Report

COUNTS, CELLS, STEPS = (1, 2, 4), 42, 8  # 180,000 degrees of freedom
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def stepped(solver: str, cells: int) -> Report:
    """Times of a run, and memory without what a run of a few cells takes."""
    from arlequin.cases import glued_impact_3d
    from arlequin.models.parallel.ranks import ranks
    from arlequin.schemes.sparse_steps import OneStepStepper
    from arlequin.solvers.initial_state import start_fields
    from arlequin.step.coefficients import StepCoefficients
    from arlequin.system.assembly import assemble

    times: dict[str, float] = {}

    def run(cells: int, count: int) -> int:
        study = glued_impact_3d.build(glued_impact_3d.Parameters(cells=cells))
        step = study.step
        start = time.perf_counter()
        assembly = assemble(study.system)
        times["assembly (s)"] = time.perf_counter() - start
        stepper = OneStepStepper(assembly, StepCoefficients.of_theta(0.5, step), solver=solver)
        times["set-up (s)"] = time.perf_counter() - start
        state = stepper.start(*start_fields(assembly, step))
        each = []
        for _ in range(count):
            start = time.perf_counter()
            state, _ = stepper.advance(state)
            each.append(time.perf_counter() - start)
        times["step (s)"] = float(np.median(each[count // 2 :]))
        return assembly.dof_count

    run(6, 3)  # libraries and kernels
    before = peak()
    dofs = run(cells, STEPS)
    memory = max(ranks().gathered(peak() - before))
    return {
        "dofs": dofs,
        **times,
        "factor (s)": times["set-up (s)"] - times["assembly (s)"],
        "memory a rank (MB)": memory,
    }


def spread(counts: tuple[int, ...] = COUNTS, cells: int = CELLS) -> Report:
    """CHOLMOD on one rank, MUMPS and conjugate gradients on several."""
    kinds = [("direct", 1), *(("petsc", count) for count in counts), *(("iterative", count) for count in counts)]
    report: Report = {}
    for solver, count in kinds:
        command = ["mpiexec", "-n", str(count), sys.executable, str(Path(__file__)), solver, str(cells)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **SETTINGS})
        name = {"direct": "CHOLMOD", "petsc": "MUMPS", "iterative": "conjugate gradients"}[solver]
        report[f"{name}, {count} rank{'s' * (count > 1)}"] = json.loads(done.stdout.strip().splitlines()[-1])
    return report


if __name__ == "__main__":
    found = stepped(sys.argv[1], int(sys.argv[2]))
    from arlequin.models.parallel.ranks import ranks

    if ranks().root:
        print(json.dumps(found))
