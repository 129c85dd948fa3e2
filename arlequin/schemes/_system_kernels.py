"""What compiled loops over small systems share: the system by its names, and products with sparse rows."""

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.schemes.compiled_system import FULL_FROM, CompiledSystem, LawTables, SparseRows, StrainRows


@called_njit()
def named_system(arrays, kernels, solve):
    """The `CompiledSystem` of `arlequin.schemes.compiled_system.system_arguments`, and what solves the contact
    problem of a step."""
    free, imposed, displaced, inertial, mass, viscous, strains, constraints, basis, gap, touching, laws = arrays
    return CompiledSystem(
        free, imposed, displaced, inertial, SparseRows(*mass), SparseRows(*viscous), StrainRows(*strains),
        SparseRows(*constraints), SparseRows(*basis), gap, touching, LawTables(kernels, solve, *laws),
    )  # fmt: skip


@njit(inline="always")
def law_table(laws):
    """The fields of `arlequin.multilevel.solvers.problem.LawTable`."""
    return (
        laws.first, laws.area, laws.level, laws.compliance, laws.friction, laws.tangential_compliance, laws.rows,
        laws.kind, laws.coefficients,
    )  # fmt: skip


@called_njit(fastmath={"contract", "reassoc"})
def full_dot(x, y):
    """x·y, summed in any order."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@njit(inline="always")
def is_full(matrix, columns):
    """Whether a matrix of so many columns has all its entries, in their order, and enough of them."""
    entries = matrix.values.size
    return entries >= FULL_FROM and entries == (matrix.starts.size - 1) * columns


@called_njit()
def add_product(matrix, x, out):
    """out += A x, A sparse by rows."""
    starts, columns, values = matrix
    if is_full(matrix, x.size):
        for i in range(starts.size - 1):
            out[i] += full_dot(values[starts[i] : starts[i + 1]], x)
        return
    for i in range(starts.size - 1):
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            total += values[e] * x[columns[e]]
        out[i] += total


@called_njit()
def add_transposed(matrix, x, out):
    """out += Aᵀ x, A sparse by rows."""
    starts, columns, values = matrix
    if is_full(matrix, out.size):
        for i in range(starts.size - 1):
            amount, row = x[i], values[starts[i] : starts[i + 1]]
            if amount != 0.0:
                for d in range(out.size):
                    out[d] += amount * row[d]
        return
    for i in range(starts.size - 1):
        if x[i] != 0.0:
            for e in range(starts[i], starts[i + 1]):
                out[columns[e]] += values[e] * x[i]


@called_njit()
def internal_forces(strains, u, relative, out):
    """out (d,) = Bᵀ (w B u), N, of displacements u (d,); see `arlequin.system.strains`. relative (d,): work space."""
    starts, columns, values, weights, anchor, own = strains
    for d in range(u.size):
        relative[d] = u[d] - u[anchor[d]] if anchor[d] >= 0 else u[d]
    out[:] = 0.0
    for i in range(starts.size - 1):
        seen = relative if i < own else u
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            total += values[e] * seen[columns[e]]
        total *= weights[i]
        for e in range(starts[i], starts[i + 1]):
            out[columns[e]] += values[e] * total


@called_njit()
def copy_vector(x, out):
    """out (n,) ← x: unlike an assignment to a slice, without code for shapes and memory that do not fit."""
    for i in range(out.size):
        out[i] = x[i]


@called_njit()
def copy_table(x, out):
    """out (n, m) ← x, as `copy_vector`."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[i, j]


@called_njit()
def dot(x, y):
    """x·y."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total
