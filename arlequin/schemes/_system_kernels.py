"""Kernels shared by the compiled loops: the named system, products with sparse rows, internal forces."""

from arlequin.models.fem._quad_kernels import internal_quads
from arlequin.models.fem._tile_kernels import TILE
from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel.solvers._dense_kernels import full_dot
from arlequin.schemes.compiled_system import FULL_FROM, CompiledSystem, LawTables, SparseRows, StrainRows


@called_njit()
def named_system(arrays, kernels, solve):
    """The `CompiledSystem` from `arlequin.schemes.compiled_system.system_arguments` and the solver of the contact
    problem."""
    (
        free, imposed, displaced, inertial, mass, viscous, strains, constraints, basis, gap, touching, wear_rate, laws,
    ) = arrays  # fmt: skip
    return CompiledSystem(
        free, imposed, displaced, inertial, SparseRows(*mass), SparseRows(*viscous), StrainRows(*strains),
        SparseRows(*constraints), SparseRows(*basis), gap, touching, wear_rate, LawTables(kernels, solve, *laws),
    )  # fmt: skip


@njit(inline="always")
def law_table(laws):
    """The fields of `arlequin.multilevel.solvers.problem.LawTable`."""
    return (
        laws.first, laws.area, laws.level, laws.compliance, laws.friction, laws.tangential_compliance, laws.rows,
        laws.kind, laws.coefficients,
    )  # fmt: skip


@njit(inline="always")
def is_full(matrix, columns):
    """Whether a matrix of `columns` columns is stored full and has enough entries for the dense product."""
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
    out[:] = 0.0
    add_internal_forces(strains, u, relative, out)


@called_njit()
def add_internal_forces(strains, u, relative, out):
    """Adds Bᵀ (w B u), N, to out (d,); returns the energy ½ Σ w (B u)², J."""
    starts, columns, values, weights, anchor, relative_rows = strains
    for d in range(u.size):
        relative[d] = u[d] - u[anchor[d]] if anchor[d] >= 0 else u[d]
    energy = 0.0
    for i in range(starts.size - 1):
        displacement = relative if i < relative_rows else u
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            total += values[e] * displacement[columns[e]]
        force = weights[i] * total
        energy += 0.5 * force * total
        for e in range(starts[i], starts[i + 1]):
            out[columns[e]] += values[e] * force
    return energy


@called_njit()
def forces_of_parts(strains, solids, u, relative, out):
    """out (d,): internal forces, N, at displacements u (d,), with those of solids (`arlequin.system.solid_tables`);
    returns the energy, J. relative (d,): work space."""
    quads, tiles = solids
    pieces, lame, runs, nodes, moments = quads
    out[:] = 0.0
    energy = 0.0
    for i in range(len(pieces)):
        first_run, last_run, first_cell, last_cell, first_moment, kinds, first, last, begin, end = pieces[i]
        piece_moments = moments[first_moment : first_moment + 12 * kinds].reshape(12, kinds)
        energy += internal_quads(
            runs[first_run:last_run], nodes[first_cell:last_cell], piece_moments, lame[i, 0], lame[i, 1], first, last,
            u[begin:end], out[begin:end],
        )  # fmt: skip
    energy += forces_of_tiles(tiles, u, out)
    if strains.weights.size:
        energy += add_internal_forces(strains, u, relative, out)
    return energy


@called_njit()
def forces_of_tiles(tables, u, out):
    """Writes the internal forces, N, of triangles, tetrahedra and hexahedra to out (d,); their energy, J."""
    pieces, lame, tiles, nodes, geometry, weight, kernels = tables
    energy = 0.0
    for i in range(len(pieces)):
        (
            kernel, first_tile, last_tile, at_nodes, count, corners, at_geometry, geometry_tiles, geometry_points, rows,
            at_weight, weight_tiles, weight_points, first, last, begin, end,
        ) = pieces[i]  # fmt: skip
        shape = geometry_tiles, geometry_points, rows, TILE
        size = geometry_tiles * geometry_points * rows * TILE
        measure = weight[at_weight : at_weight + weight_tiles * weight_points * TILE]
        energy += kernels[kernel](
            tiles[first_tile:last_tile],
            nodes[at_nodes : at_nodes + count * corners * TILE].reshape(count, corners, TILE),
            geometry[at_geometry : at_geometry + size].reshape(shape),
            measure.reshape(weight_tiles, weight_points, TILE), lame[i, 0], lame[i, 1], first, last, u[begin:end],
            out[begin:end],
        )  # fmt: skip
    return energy


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
