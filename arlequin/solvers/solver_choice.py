"""Choice of the solver of the linear system of a step, a factor or conjugate gradients, by predicted memory and
time."""

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.checks import one_of
from arlequin.models.errors import FAILURE, UserError
from arlequin.models.limits import LIFT, disabled, memory
from arlequin.models.linalg.matrix import only_diagonal
from arlequin.models.linalg.nested_dissection import predicted_factor
from arlequin.models.parallel.matrix import DistributedMatrix, spread
from arlequin.models.parallel.multigrid import available
from arlequin.models.parallel.ranks import hosts
from arlequin.models.part import Nonlinear, PathDependent
from arlequin.models.types import Array
from arlequin.solvers.condensed import Condensed, ConstrainedSystem
from arlequin.solvers.iterative import IterativeSystem
from arlequin.solvers.saddle_system import MIN_CONSTRAINTS, SaddleSystem
from arlequin.system.assembly import Assembly

SolverName = Literal["auto", "direct", "iterative", "petsc", "petsc-iterative"]
SOLVERS: tuple[SolverName, ...] = ("auto", "direct", "iterative", "petsc", "petsc-iterative")

FactoredSystem = Condensed | SaddleSystem

SMALL = 20_000  # unknowns up to which "auto" takes a factor without a prediction
_SHARE = 0.85  # of the machine's memory that a run may take
_MUMPS = 1.5  # memory of a factor of MUMPS on some ranks together, in units of CHOLMOD's
# of one core: seconds per multiplication of a factorisation, per unknown ordered, per entry of L in a solution, per
# entry of A and per unknown in an iteration
_MULTIPLICATION, _ORDERED, _SOLVED, _PRODUCT, _VECTOR = 3e-11, 2e-5, 1e-9, 7e-10, 1e-8
# of a factor of parts with their constraints, in units of one without: entries, multiplications, time of a solution by
# entry; its memory with that of its fronts (glued cubes of 11,000 to 235,000 dofs)
_JOINED_ENTRIES, _JOINED_MULTIPLICATIONS, _JOINED_SOLVED, _FRONTS = 1.6, 2.5, 0.75, 1.25
# iterations with multigrid, the time of one over that of one without, and that of its set-up; bytes an entry of A
_MULTIGRID, _CYCLE, _CYCLES, _LEVELS = 50, 8.0, 40, 60.0


@dataclass(frozen=True)
class SolverCost:
    """Predicted memory (bytes) of a solver at its peak, besides the matrices of the parts; set-up and step (s)."""

    memory: float
    setup: float
    step: float

    @property
    def text(self) -> str:
        """The cost in words."""
        return f"{_gigabytes(self.memory)}, {self.setup:.2g} s of set-up and {self.step:.2g} s a step"

    def of(self, solutions: int) -> float:
        """Time of the set-up and of `solutions` solutions, s."""
        return self.setup + solutions * self.step


def direct_cost(assembly: Assembly, matrix: sp.csr_array, joined: bool = False) -> SolverCost:
    """Cost of a bordered factor (`arlequin.models.linalg.bordered`) of the parts, each a box of nodes.

    Each row of the border fills the columns of the separators above it, about three times the largest. joined: the
    constraints are not in the border but factored with the parts (`SaddleSystem`).
    """
    entries = multiplications = separator = 0.0
    for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True):
        size = assembled.mass.shape[0]
        if size != part.dof_count:  # reduced: full matrices
            entries, multiplications = entries + size**2 / 2, multiplications + size**3 / 3
            continue
        predicted = predicted_factor(_box(part.positions), part.components)
        entries, multiplications = entries + predicted.entries, multiplications + predicted.multiplications
        separator = max(separator, predicted.separator)
    rows = assembly.contact.basis.shape[0] + (0 if joined else assembly.constraints.shape[0])
    if joined:
        entries, multiplications = _JOINED_ENTRIES * entries, _JOINED_MULTIPLICATIONS * multiplications
    border = 3.0 * rows * separator + rows**2 / 2
    multiplications += rows * (1.5 * separator) ** 2 + rows**2 * 1.5 * separator + rows**3 / 3
    factor_entries = 1.15 * (entries + border)
    return SolverCost(
        8.0 * factor_entries * (_FRONTS if joined else 1.0) + 24.0 * rows**2 + 36.0 * matrix.nnz,
        multiplications * _MULTIPLICATION + matrix.shape[0] * _ORDERED,
        factor_entries * _SOLVED * (_JOINED_SOLVED if joined else 1.0),
    )


def iterative_cost(assembly: Assembly, matrix: sp.csr_array) -> SolverCost:
    """Cost of projected conjugate gradients: 16 √κ iterations, κ = 2.5 max d_i/m_i the condition number of D⁻¹A, with d
    the diagonal of A = M + … and m that of the lumped mass; 50 where multigrid pays; 1.4 times as many with contact."""
    work, nnz = _PRODUCT * matrix.nnz + _VECTOR * matrix.shape[0], matrix.nnz
    rows = assembly.contact.basis.shape[0]
    bytes_needed = 36.0 * nnz + 24.0 * rows**2 + 200.0 * matrix.shape[0]
    contact_factor = 1.4 if assembly.contact_count else 1.0
    if multigrid_pays(assembly, matrix):
        step = _MULTIGRID * _CYCLE * work
        return SolverCost(bytes_needed + _LEVELS * nnz, _CYCLES * _CYCLE * work, contact_factor * step)
    return SolverCost(bytes_needed, 0.0, contact_factor * _iterations(assembly, matrix) * work)


def multigrid_pays(assembly: Assembly, matrix: Any) -> bool:
    """Whether conjugate gradients of a matrix spread over ranks take less time with multigrid, and PETSc is
    available."""
    spread_out = isinstance(matrix, DistributedMatrix)
    return spread_out and available() and _iterations(assembly, matrix) > _MULTIGRID * _CYCLE


def _iterations(assembly: Assembly, matrix: Any) -> float:
    """Iterations of conjugate gradients preconditioned by the diagonal, for one right-hand side."""
    inertia = np.asarray(assembly.mass @ np.ones(matrix.shape[0]))
    moving = assembly.free & (inertia > 0.0)
    ratio = matrix.diagonal()[moving] / inertia[moving]
    return 16.0 * math.sqrt(2.5 * float(ratio.max(initial=1.0)))


def checked_solver(solver: SolverName) -> None:
    """UserError for an unknown solver."""
    one_of("solver", solver, SOLVERS)


def linear_parts_only(assembly: Assembly, solver: SolverName) -> None:
    """UserError for conjugate gradients where Newton's iterations are needed."""
    if solver in ("iterative", "petsc-iterative") and not assembly.linear:
        nonlinear = zip(assembly.system.parts, assembly.parts, strict=True)
        name = next(part.name for part, assembled in nonlinear if isinstance(assembled, Nonlinear | PathDependent))
        raise UserError.parameter("solver", solver, f"part '{name}' is not linear: take 'direct'")


def linear_system(
    assembly: Assembly, matrix: sp.csr_array, solver: SolverName, solutions: int = 100
) -> tuple[ConstrainedSystem, str]:
    """The matrix of a step with the named solver, and a line on the choice, empty if there was none.

    "auto" takes the fastest solver that fits into memory; solutions: number over which the set-up is amortised. The
    factor of a matrix spread over ranks is by MUMPS, as is that of "petsc" on one rank. UserError where no solver, or
    not the named one, fits into memory.
    """
    multigrid = solver == "petsc-iterative"
    if solver in ("petsc", "petsc-iterative"):
        matrix, solver = spread(matrix), "iterative" if multigrid else "direct"
    choice = _choice(assembly, matrix, solver, solutions, _is_joined(assembly, matrix))
    if choice.solver == "iterative":
        if not (multigrid or multigrid_pays(assembly, matrix)):
            return IterativeSystem(assembly, matrix), choice.text
        system = IterativeSystem(assembly, matrix, multigrid=True)
        line = f"multigrid of PETSc: {system.iterations} iterations of conjugate gradients"
        return system, f"{line}; {choice.text}" if choice.text else line
    return factored_step(assembly, matrix), choice.text


def factored_step(assembly: Assembly, matrix: sp.csr_array) -> FactoredSystem:
    """The matrix of a step factored: with its constraints where these are many, else with a border of them."""
    if _is_joined(assembly, matrix):
        with suppress(UserError):  # a part that constraints alone hold
            return SaddleSystem(assembly, matrix)
    return Condensed(assembly, matrix)


def _is_joined(assembly: Assembly, matrix: Any) -> bool:
    """Whether a step's matrix is factored together with its constraints."""
    many = assembly.constraints.shape[0] >= MIN_CONSTRAINTS and not isinstance(matrix, DistributedMatrix)
    return many and only_diagonal(matrix) is None


def mass_system(assembly: Assembly, active: NDArray[np.bool_], contact: bool = True) -> ConstrainedSystem:
    """The mass on the active dofs (d,), with the solver for few solutions; contact: see `Condensed`."""
    spread_out = isinstance(assembly.mass, DistributedMatrix)  # few iterations, and no factor
    if spread_out or _choice(assembly, assembly.mass, "auto", 1).solver == "iterative":
        return IterativeSystem(assembly, assembly.mass, active, contact)
    return Condensed(assembly, assembly.mass, active, contact=contact)


def factored(assembly: Assembly, matrix: sp.csr_array, contact: bool = True) -> Condensed:
    """The matrix factored, as Newton's iterations and statics need it; UserError where it does not fit into memory."""
    _choice(assembly, matrix, "direct", 1)
    return Condensed(assembly, matrix, contact=contact)


@dataclass(frozen=True)
class _Choice:
    """A solver and the reason of its choice."""

    solver: SolverName
    text: str = ""


def _choice(
    assembly: Assembly, matrix: sp.csr_array, solver: SolverName, solutions: int, joined: bool = False
) -> _Choice:
    """The solver, chosen for "auto"; UserError where it does not fit into memory."""
    if matrix.shape[0] <= SMALL or matrix.nnz == matrix.shape[0]:
        return _Choice("iterative" if solver == "iterative" else "direct")
    costs: dict[SolverName, SolverCost] = {
        "direct": direct_cost(assembly, matrix, joined),
        "iterative": iterative_cost(assembly, matrix),
    }
    limit = math.inf if disabled() else _SHARE * memory()
    if isinstance(matrix, DistributedMatrix):
        limit *= hosts(matrix.ranks)
        costs["direct"] = replace(costs["direct"], memory=_MUMPS * costs["direct"].memory)
    fitting = {name: cost.of(solutions) for name, cost in costs.items() if cost.memory <= limit}
    if solver in fitting or (solver == "auto" and fitting):
        chosen = min(fitting, key=lambda name: fitting[name]) if solver == "auto" else solver
        others = [f"{name} {cost.text}" for name, cost in costs.items() if name != chosen]
        return _Choice(chosen, f"{chosen}: predicted {costs[chosen].text} ({', '.join(others)})")
    needs = " and ".join(f"{_gigabytes(cost.memory)} with '{name}'" for name, cost in costs.items())
    cure = "take solver='iterative' or 'auto', or fewer cells" if fitting else "take fewer cells or contact points"
    raise UserError(
        f"solver = '{solver}': {matrix.shape[0]:,} unknowns need about {needs}, the machine has "
        f"{_gigabytes(memory())}: {cure} ({LIFT})",
        code=FAILURE,
    )


def _box(positions: Array) -> tuple[int, ...]:
    """Nodes along the axes of a box of the extent and number of the points (n, axis)."""
    extent, count = np.ptp(positions, axis=0), len(positions)
    shape = np.ones(extent.size)
    long = extent > 0.0
    while long.any():
        shape[:] = 1.0
        shape[long] = extent[long] * (count / np.prod(extent[long])) ** (1.0 / long.sum())
        if (shape[long] >= 1.0).all():
            break
        long &= shape >= 1.0
    return tuple(max(1, round(n)) for n in shape)


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.3g} GB"
