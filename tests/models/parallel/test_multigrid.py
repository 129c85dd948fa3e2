"""Conjugate gradients with multigrid against factors of the saddle-point matrix, on one rank and on two.

As a program, under mpiexec, this file prints what `solved` finds.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import DistributedMatrix, spread
from arlequin.models.parallel.multigrid import MultigridConjugateGradients, NodePlaces
from arlequin.models.parallel.ranks import ranks
from arlequin.solvers.unknowns import node_places
from arlequin.system.assembly import Assembly, assemble

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
SIZES = (3, 5, 7)  # coarse cells over the width: 2,000 to 14,000 unknowns

needs_petsc = pytest.mark.skipif(importlib.util.find_spec("petsc4py") is None, reason="petsc4py is not installed")
needs_ranks = pytest.mark.skipif(
    shutil.which("mpiexec") is None or importlib.util.find_spec("mpi4py") is None, reason="no mpiexec, or no mpi4py"
)


def blocks(n: int, held: bool = False) -> Assembly:
    """A coarse block glued to one with cells half as large over a layer of two coarse cells; the coarse one may be held
    at its end, along its axis."""
    h = 1.0 / n
    imposed = {"imposed": {"top": {"z": lambda t: 0.0}}} if held else {}
    coarse = aq.Solid("coarse", aq.mesh.box((0, 1), (0, 1), (1 - 2 * h, 2 - h), cells=(n, n, n + 1)), STEEL, **imposed)
    fine = aq.Solid("fine", aq.mesh.box((0, 1), (0, 1), (0, 1), cells=(2 * n, 2 * n, 2 * n)), STEEL)
    return assemble(aq.System([coarse, fine], [aq.Junction(coarse, fine)]))


def equations(assembly: Assembly, n: int, courant: float) -> tuple[Any, Any, Any, NodePlaces]:
    """A = M + Δt² K / 4 and C on the free dofs, a load on one corner, and where the dofs are."""
    step = courant * 0.5 / n / 5000.0
    at = np.flatnonzero(assembly.free)
    matrix = spread(assembly.mass + 0.25 * step**2 * assembly.stiffness)
    A, C = matrix[at][:, at], sp.csr_array(assembly.constraints[:, at])
    load = np.sqrt(A.diagonal())
    load[-100:] *= 10.0
    return A, C, load, node_places(assembly, at)


def exact(A: Any, C: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Of the factored saddle-point matrix in units in which A has the diagonal 1, refined once."""
    unit = sp.diags_array(1.0 / np.sqrt(A.diagonal()))
    rows = sp.csr_array(C @ unit)
    size = sp.diags_array(1.0 / np.sqrt((rows * rows).sum(axis=1)))
    rows = size @ rows
    whole = sp.csc_array(sp.block_array([[unit @ A @ unit, -rows.T], [rows, None]]))
    factor = scipy.sparse.linalg.splu(whole)
    right = np.concatenate([unit @ b, size @ c])
    found = factor.solve(right)
    found += factor.solve(right - whole @ found)
    return unit @ found[: b.size], size @ found[b.size :]


def solved(n: int, courant: float, held: bool) -> dict[str, float]:
    """Errors of y, of the multipliers and of C y = c as shares of the largest, and iterations."""
    A, C, b, nodes = equations(blocks(n, held), n, courant)
    c = 1e-3 * (abs(C) @ (b / A.diagonal())) * np.cos(np.arange(C.shape[0]))
    y, multipliers = exact(A.collected(), C, b, c)
    found = MultigridConjugateGradients(A, C, nodes, 1e-15).solve(b, c)
    return {
        "y": float(np.abs(found.y - y).max() / np.abs(y).max()),
        "multipliers": float(np.abs(found.multipliers - multipliers).max() / np.abs(multipliers).max()),
        "constraints": float((np.abs(C @ found.y - c) / (abs(C) @ np.abs(found.y))).max()),
        "iterations": found.iterations,
        "same": len(set(A.ranks.gathered(found.y.tobytes()))),
    }


def iterations(n: int, courant: float) -> int:
    A, C, b, nodes = equations(blocks(n), n, courant)
    return MultigridConjugateGradients(A, C, nodes, 1e-15).solve(b).iterations


def accurate(found: dict[str, float]) -> None:
    assert found["y"] < 1e-12
    assert found["multipliers"] < 1e-9
    assert found["constraints"] < 1e-14


@pytest.mark.sampled(1)
@needs_petsc
@pytest.mark.parametrize(("courant", "held"), [(20.0, False), (20.0, True), (200.0, True)])
def test_factored(courant: float, held: bool) -> None:
    accurate(solved(SIZES[0], courant, held))


@pytest.mark.slow
@needs_petsc
@pytest.mark.parametrize("courant", [20.0, 200.0])
def test_iterations_do_not_grow(courant: float) -> None:
    counts = [iterations(n, courant) for n in SIZES]
    assert max(counts) <= 1.3 * min(counts) and max(counts) < 60, counts


@needs_petsc
@pytest.mark.slow
@needs_ranks
def test_two_ranks() -> None:
    settings = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = ["mpiexec", "-n", "2", sys.executable, __file__]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **settings})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    accurate(found["solved"])
    assert found["solved"]["same"] == 1
    assert max(found["iterations"]) <= 1.3 * min(found["iterations"]), found


@needs_petsc
def test_without_constraints() -> None:
    """Two parts that nothing joins."""
    A, C, b, nodes = equations(blocks(3), 3, 20.0)
    found = MultigridConjugateGradients(A, C[:0], nodes, 1e-15).solve(b)
    assert np.abs(found.y - scipy.sparse.linalg.spsolve(sp.csc_array(A.local), b)).max() < 1e-12 * np.abs(found.y).max()
    assert found.multipliers.size == 0


@needs_petsc
def test_indefinite() -> None:
    A, C, b, nodes = equations(blocks(3), 3, 20.0)
    shift = sp.diags_array(0.99 * A.diagonal())
    with pytest.raises(UserError, match="not positive definite"):
        MultigridConjugateGradients(DistributedMatrix(A.local - shift, A.ranks), C, nodes, 1e-15).solve(b)


def test_rigid_motions() -> None:
    """Their strains vanish: distances between nodes do not change to first order."""
    x = np.random.default_rng(0).standard_normal((6, 3))
    motions = NodePlaces(np.arange(18), x, 3).rigid_motions().reshape(6, 3, 6)
    for motion in np.moveaxis(motions, -1, 0):
        change = np.einsum("abi,abi->ab", motion[:, None] - motion, x[:, None] - x)
        assert np.abs(change).max() < 1e-14
    assert np.linalg.matrix_rank(motions.reshape(18, 6)) == 6


if __name__ == "__main__":
    out = {"solved": solved(4, 20.0, True), "iterations": [iterations(n, 20.0) for n in SIZES[:2]]}
    if ranks().root:
        print(json.dumps(out))
