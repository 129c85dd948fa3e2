"""What compiled loops over small systems share: the system by its names, and products with sparse rows."""

from numba import njit

from arlequin.schemes.compiled_system import CompiledSystem, LawTables, SparseRows, StrainRows


@njit(cache=True)
def named_system(arrays, kernels):
    """The `CompiledSystem` of its arrays (`arlequin.schemes.compiled_system.as_arrays`) and of the laws' kernels."""
    (
        free, imposed, imposes_displacement, inertial, mass, viscous, strains, constraints, basis, gap, touching, laws,
    ) = arrays  # fmt: skip
    rows, weights, anchor, own = strains
    (
        first, area, level, compliance, friction, tangential_compliance, stiffness, damping, starts, kind,
        coefficients, _,
    ) = laws  # fmt: skip
    return CompiledSystem(
        free, imposed, imposes_displacement, inertial,
        SparseRows(mass[0], mass[1], mass[2]),
        SparseRows(viscous[0], viscous[1], viscous[2]),
        StrainRows(SparseRows(rows[0], rows[1], rows[2]), weights, anchor, own),
        SparseRows(constraints[0], constraints[1], constraints[2]),
        SparseRows(basis[0], basis[1], basis[2]),
        gap, touching,
        LawTables(
            first, area, level, compliance, friction, tangential_compliance, stiffness, damping, starts, kind,
            coefficients, kernels,
        ),
    )  # fmt: skip


@njit(cache=True)
def add_product(matrix, x, out):
    """out += A x, A sparse by rows."""
    starts, columns, values = matrix
    for i in range(starts.size - 1):
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            total += values[e] * x[columns[e]]
        out[i] += total


@njit(cache=True)
def add_transposed(matrix, x, out):
    """out += Aᵀ x, A sparse by rows."""
    starts, columns, values = matrix
    for i in range(starts.size - 1):
        if x[i] != 0.0:
            for e in range(starts[i], starts[i + 1]):
                out[columns[e]] += values[e] * x[i]


@njit(cache=True)
def internal_forces(strains, u, relative, out):
    """out (d,) = Bᵀ (w B u), N, of displacements u (d,); see `arlequin.system.strains`. relative (d,): work space."""
    starts, columns, values = strains.rows
    weights, anchor, own = strains.weights, strains.anchor, strains.own
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
