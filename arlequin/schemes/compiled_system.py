"""An assembled system as arrays of compiled loops, shared by the θ-scheme, the explicit schemes and the schemes with
located events.

Kernels use named tuples. Python passes plain nested tuples (`as_arrays`), whose types numba determines in some
microseconds, and kernels name them (`arlequin.schemes._system_kernels.named_system`): a call with named tuples costs
four times as much, and one with the list of the laws' kernels within a tuple 0.4 ms. So that list is a separate
argument.
"""

from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.solvers.passes import CondensedPasses
from arlequin.system.assembly import Assembly
from arlequin.system.strains import Strains

Steps = TypeVar("Steps", bound=tuple[Any, ...])

FULL_FROM = 256  # entries from which full matrices have a separate product


class SparseRows(NamedTuple):
    """A sparse matrix by rows: row i has values[e] in the columns[e], starts[i] ≤ e < starts[i + 1].

    Matrices that are more than half full, such as those of modal parts, store all entries in the order of the columns:
    kernels then read the values of a row as a dense vector (`arlequin.schemes._system_kernels.is_full`).

    Indices are unsigned: compiled code tests signed ones for being negative, which takes half the time of a product.
    """

    starts: NDArray[np.uint32]
    columns: NDArray[np.uint32]
    values: Array

    @classmethod
    def of(cls, matrix: sp.sparray) -> Self:
        """From any sparse matrix."""
        rows = sp.csr_array(matrix)
        if rows.nnz >= FULL_FROM and 2 * rows.nnz > rows.shape[0] * rows.shape[1]:
            starts = np.arange(rows.shape[0] + 1, dtype=np.uint32) * np.uint32(rows.shape[1])
            columns = np.tile(np.arange(rows.shape[1], dtype=np.uint32), rows.shape[0])
            return cls(starts, columns, rows.toarray().ravel().astype(float))
        return cls(rows.indptr.astype(np.uint32), rows.indices.astype(np.uint32), rows.data.astype(float))


class StrainRows(NamedTuple):
    """Strains B (u − u_anchor) with their weights w, B by rows; see `arlequin.system.strains.Strains`."""

    starts: NDArray[np.uint32]
    columns: NDArray[np.uint32]
    values: Array
    weights: Array
    anchor: NDArray[np.int64]
    relative_rows: int

    @classmethod
    def of(cls, strains: Strains) -> Self:
        """From the strains of an assembly."""
        return cls(*SparseRows.of(strains.rows), strains.weights, strains.anchor, strains.part_rows)


class LawTables(NamedTuple):
    """The laws of the contact points, named as in `arlequin.multilevel.solvers.law_tables.PointLaws`.

    tangential_compliance (k,), m/(s Pa): of friction in a step of the scheme. kernels: of the regular laws. solve:
    solver of the contact problem of a step (see `arlequin.multilevel.solvers.solver_lists`), or None.
    """

    kernels: Any
    solve: Any
    first: NDArray[np.int64]
    area: Array
    level: NDArray[np.int64]
    compliance: Array
    friction: Array
    tangential_compliance: Array
    tangential_stiffness: Array
    tangential_damping: Array
    rows: NDArray[np.int64]
    kind: NDArray[np.int64]
    coefficients: Array

    @classmethod
    def of(cls, laws: PointLaws, tangential_compliance: Array | None = None) -> Self:
        """tangential_compliance (k,): that of the laws by default."""
        compliance = laws.tangential_compliance if tangential_compliance is None else tangential_compliance
        friction = laws.friction.copy() if laws.state_dependent else laws.friction  # the loops change it
        return cls(
            laws.kernels[0], None, laws.first, laws.area, laws.level, laws.compliance, friction, compliance,
            laws.tangential_stiffness, laws.tangential_damping, laws.rows, laws.kernels[1], laws.coefficients,
        )  # fmt: skip


class CompiledSystem(NamedTuple):
    """A system with d degrees of freedom, m constraints, k contact points with r rows, q rows of the contact's basis.

    free, imposed: indices of free and imposed degrees of freedom; imposes_displacement (p,): whether displacements,
    else velocities, are imposed; inertial (d,): free, and not massless. mass, viscous (d, d), kg and kg/s; constraints
    (m, d); basis (q, d); gap (k,): at u = 0, m; touching: largest gap of closed contact, m; wear_rate (k,): worn depth
    per work, m/J, or (0,) without wear.
    """

    free: NDArray[np.int64]
    imposed: NDArray[np.int64]
    imposes_displacement: NDArray[np.bool_]
    inertial: NDArray[np.bool_]
    mass: SparseRows
    viscous: SparseRows
    strains: StrainRows
    constraints: SparseRows
    basis: SparseRows
    gap: Array
    touching: float
    wear_rate: Array
    laws: LawTables

    @classmethod
    def of(cls, assembly: Assembly, tangential_compliance: Array | None = None) -> Self:
        """tangential_compliance: see `LawTables`."""
        contact, count = assembly.contact, assembly.dof_count
        viscous = sp.csr_array((0, count)) if assembly.viscous is None else assembly.viscous
        gap = contact.kinematics(np.zeros(contact.basis.shape[0])).gap
        return cls(
            np.flatnonzero(assembly.free), assembly.imposed_dofs, assembly.imposes_displacement,
            assembly.free & ~assembly.massless, SparseRows.of(assembly.mass), SparseRows.of(viscous),
            StrainRows.of(assembly.short_strains), SparseRows.of(assembly.constraints), SparseRows.of(contact.basis),
            gap, contact.scale.touching, np.zeros(0) if contact.wear_rate is None else contact.wear_rate,
            LawTables.of(assembly.laws, tangential_compliance),
        )  # fmt: skip


def system_arguments(assembly: Assembly, tangential_compliance: Array | None = None) -> tuple[Any, Any]:
    """The first arguments of the loops: arrays of the system, and the kernels of its laws."""
    return loop_arguments(CompiledSystem.of(assembly, tangential_compliance))


def loop_arguments(system: CompiledSystem) -> tuple[Any, Any]:
    """A system as the first arguments of the loops."""
    *fields, laws = system
    return as_arrays((*fields, laws[2:])), laws.kernels


def sliding_arguments(laws: PointLaws, history: Array, contact_flags: NDArray[np.int8] | None) -> Any:
    """State-dependent friction laws, as loops read them; None without. history (l, h), contact_flags (k,): at the
    start."""
    if not laws.state_dependent:
        return None
    start = laws.sliding(history, np.ones(laws.count), contact_flags)
    functions, kind, coefficients = laws.friction_kernels
    points = start.slip, start.variables, start.stuck
    return functions, (kind, coefficients), points, laws.creeps, laws.sliding_rows


def passes_by_rows(passes: CondensedPasses) -> CondensedPasses:
    """The passes with sparse matrices as `SparseRows`, as compiled loops read them."""
    return passes._replace(
        to_given=SparseRows.of(passes.to_given), rows_given=SparseRows.of(passes.rows_given),
        penalty=SparseRows.of(passes.penalty),
    )  # fmt: skip


def as_arrays(named: Any) -> Any:
    """Convert nested named tuples to plain tuples."""
    return tuple(as_arrays(field) for field in named) if isinstance(named, tuple) else named


def zeros_of(named: type[Steps], count: int, *shapes: Any, types: dict[str, Any]) -> Steps:
    """A named tuple of zeros for `count` steps, the first axis of each field; shapes: of the other axes, an integer for
    a single one; types: of fields that are not float."""
    fields: Any = named
    sizes = ((count, *shape) if isinstance(shape, tuple) else (count, shape) for shape in shapes)
    named_sizes = zip(fields._fields, sizes, strict=True)
    zeros: Steps = fields(*(np.zeros(size, dtype=types.get(name, float)) for name, size in named_sizes))
    return zeros


def first_of(steps: Steps, count: int) -> Steps:
    """The first `count` steps of a named tuple of fields whose first axis is the step."""
    named: Any = type(steps)
    first: Steps = named(*(field[:count] for field in steps))
    return first
