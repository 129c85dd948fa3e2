"""Conjugate gradients with algebraic multigrid for distributed matrices. The only module that imports `petsc4py`.

Sources: Vaněk, Mandel & Brezina, Computing 56 (1996) 179–196 (smoothed aggregation); Balay et al., PETSc/TAO users
manual (ANL-21/39), PCGAMG; Nepomnyaschikh, Soviet J. Numer. Anal. Math. Modelling 6 (1991) 151–168 (fictitious space).
"""

import importlib.util
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.linalg.projected_cg import ProjectedConjugateGradients
from arlequin.models.linalg.rigid_modes import rigid_modes
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.parallel.memory import give_back
from arlequin.models.parallel.ranks import MpiRanks, Ranks
from arlequin.models.types import Array, Indices

# of the diagonal of A: stiffness of the ties of coupled dofs to the field z in the preconditioner; the number of
# iterations varies by a fifth between 0.03 and 1
_TIE = 0.3
_OPTIONS: dict[str, Any] = {
    "pc_type": "gamg",
    "pc_gamg_type": "agg",
    "pc_gamg_agg_nsmooths": 1,
    "pc_gamg_square_graph": 1,
    "pc_gamg_threshold": 0.0,
    "pc_gamg_esteig_ksp_type": "cg",
    "mg_levels_ksp_type": "chebyshev",
    "mg_levels_ksp_max_it": 2,
    "mg_levels_pc_type": "jacobi",
}

# smoothers: a Gauss-Seidel sweep on each rank, forward before and backward after the coarse correction: the cycle is
# symmetric, and as good as with two Jacobi-preconditioned Chebyshev steps, in a third of the time
_SWEEP: dict[str, Any] = {"ksp_type": "richardson", "ksp_max_it": 1, "pc_type": "sor"}
_FORWARD_SWEEP, _BACKWARD_SWEEP = ({**_SWEEP, f"pc_sor_local_{way}": None} for way in ("forward", "backward"))
_NUMBERS = count()  # of the preconditioners of this process, created in the same order on all ranks


@dataclass(frozen=True)
class NodePlaces:
    """Places of unknowns: slot (u,), node × components + component; positions (n, axis) of the nodes, m."""

    slot: Indices
    positions: Array
    components: int

    def rigid_motions(self) -> Array:
        """Rigid motions (n × components, k) of all nodes about their centre: translations, and rotations over the
        length of the model. Components beyond the axes only translate.

        >>> NodePlaces(np.arange(4), np.array([[0.0, 0.0], [2.0, 0.0]]), 2).rigid_motions().tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, -0.5], [1.0, 0.0, 0.0], [0.0, 1.0, 0.5]]
        """
        n, k = len(self.positions), self.components
        x = np.zeros((n, k))
        axes = min(k, self.positions.shape[1])
        x[:, :axes] = self.positions[:, :axes] - self.positions[:, :axes].mean(axis=0)
        x /= max(float(np.ptp(x, axis=0).max(initial=0.0)), np.finfo(float).tiny)
        rotations = rigid_modes(x[:, :axes], axes)[axes:].reshape(-1, n, axes)
        out = np.zeros((n, k, k + len(rotations)))
        out[:, np.arange(k), np.arange(k)] = 1.0
        out[:, :axes, k:] = rotations.transpose(1, 2, 0)
        return out.reshape(n * k, -1) + 0.0  # no negative zeros


def available() -> bool:
    """Whether petsc4py is installed."""
    return importlib.util.find_spec("petsc4py") is not None


@cache
def petsc() -> Any:
    """The module petsc4py.PETSc; UserError where it cannot be used."""
    try:
        import petsc4py

        petsc4py.init([])
        from petsc4py import PETSc
    except ImportError as error:
        message = f'PETSc cannot be used ({error}): pip install "arlequin[petsc]", see Install in the documentation'
        raise UserError(message, code=FAILURE) from error
    if np.dtype(PETSc.ScalarType) != np.float64:
        raise UserError(f"PETSc has scalars of type {PETSc.ScalarType.__name__}, real ones are needed", code=FAILURE)
    return PETSc


class MultigridConjugateGradients(ProjectedConjugateGradients):
    """A y = b + Cᵀφ, C y = c by projected conjugate gradients with a cycle of multigrid V in each iteration.

    In place of the residual over the diagonal, D⁻¹r, the direction is

        g = Π V Πᵀ r,    Π = 1 − D⁻¹Cᵀ (C D⁻¹ Cᵀ)⁻¹ C,

    so iterates satisfy C y = c as they do without V, and there are no inner iterations for the multipliers. On C y = 0
    the condition number is at most (fictitious space)

        κ(Π V Πᵀ A) ≤ λmax(V A) / λmin(V A_E) · max ‖Π y‖²_A / ‖y‖²_{A_E},

    for any A_E that differs little from A on C y = 0. With A_E = A a motion of one part along the glued zone against
    the other costs little, and Π y, which changes within a cell where the zone ends, much: iterations grow with the
    Courant number. V is therefore a cycle for A_E with the parts tied in the zone (`Multigrid`).
    """

    def __init__(
        self, A: DistributedMatrix, rows: sp.csr_array, nodes: NodePlaces, tolerance: float = 1e-13, most: int = 1000
    ) -> None:
        """A (d, d) distributed over ranks; rows: C (m, d); nodes: places of the unknowns; see
        `ProjectedConjugateGradients`."""
        super().__init__(A, rows, tolerance, most)
        self._cycle = Multigrid(A, self._projection.rows, nodes)

    def _direction(self, residual: Array, scaled: Array) -> Array:
        return self._projection.tangential(self._cycle(residual))


class Multigrid:
    """A cycle V of smoothed aggregation for A with coupled parts tied: the block of y in the inverse of

        [A 0; 0 0] + Bᵀ ρ B,    B (y, z) = y_i − Σ_k w_ik z_k,    w_ik = |C_ki| / Σ_k |C_ki|,    ρ_i = 0.3 A_ii,

    i over the coupled dofs. z (m,) is a field with a value for each multiplier, to which the coupled dofs of both parts
    are tied. Where C y = 0 the parts differ only by fields that the mediator does not resolve, whose stiffness in A is
    about ρ: A_E ≤ c A there. Aggregates consist of nodes, and near-null vectors are the rigid motions of the model,
    which the ties leave free except for a fraction of a cell at the ends of the zone.

    Slots: components of each node, then those of the nodes of z. Slots without an unknown, such as imposed dofs, have a
    diagonal entry only. A node belongs to the lowest rank with entries in its rows.
    """

    def __init__(self, A: DistributedMatrix, rows: sp.csr_array, nodes: NodePlaces) -> None:
        """A (u, u), rows C (m, u) and nodes, both the same on every rank."""
        diagonal = A.diagonal()
        motions = nodes.rigid_motions()
        ties = _Ties.of(rows, diagonal, nodes, motions)
        self._owners = owners = _Owners(A, ties, nodes)
        local = owners.rows(A, ties, float(diagonal.mean()))
        motions = np.linalg.qr(np.concatenate([motions, ties.motions]))[0]
        PETSc, comm = petsc(), _communicator(A.ranks)
        sizes = (local.shape[0], owners.size)
        self._matrix = PETSc.Mat().createAIJ(
            (sizes, sizes),
            bsize=nodes.components,
            csr=(local.indptr.astype(PETSc.IntType), local.indices.astype(PETSc.IntType), local.data),
            comm=comm,
        )
        del local
        self._matrix.setOption(PETSc.Mat.Option.SPD, True)
        self._right, self._solution = self._matrix.createVecs()
        vectors = []
        for motion in motions.T:
            vectors.append(self._right.duplicate())
            vectors[-1].setArray(motion[owners.slots])
        near_null = PETSc.NullSpace().create(vectors=vectors, comm=comm)
        self._matrix.setNearNullSpace(near_null)
        del motions
        self._cycle = PETSc.PC().create(comm)
        prefix = f"arlequin_{next(_NUMBERS)}_"
        self._cycle.setOptionsPrefix(prefix)
        self._cycle.setOperators(self._matrix)
        try:
            _set_options(self._cycle, _OPTIONS)
            self._cycle.setUp()
            for level in range(1, self._cycle.getMGLevels()):
                pre_smoother, post_smoother = self._cycle.getMGSmootherDown(level), self._cycle.getMGSmootherUp(level)
                matrix = pre_smoother.getOperators()[0]
                _without_zeros(matrix)
                post_smoother.setOperators(matrix)
                post_smoother.setInitialGuessNonzero(True)
                _set_options(pre_smoother, _FORWARD_SWEEP)
                _set_options(post_smoother, _BACKWARD_SWEEP)
        except PETSc.Error as error:
            raise UserError(f"PETSc: no multigrid for the matrix of a step ({error})", code=FAILURE) from error
        near_null.destroy()
        for vector in vectors:
            vector.destroy()
        give_back()

    def __call__(self, r: Array) -> Array:
        """V r (u,) of r (u,)."""
        self._right.setArray(self._owners.placed(r))
        self._cycle.apply(self._right, self._solution)
        return self._owners.whole(self._solution.getArray())

    def __del__(self) -> None:
        for name in ("_cycle", "_matrix", "_right", "_solution"):
            if (petsc_object := getattr(self, name, None)) is not None:
                petsc_object.destroy()


@dataclass(frozen=True)
class _Ties:
    """B (t, slots + slots of z) and ρ (t,); for the nodes of z: an unknown that each is tied to (nodes,), and the rigid
    motions (slots of z, k)."""

    rows: sp.csr_array
    stiffness: Array
    tied_to: Indices
    motions: Array

    @classmethod
    def of(cls, rows: sp.csr_array, diagonal: Array, nodes: NodePlaces, motions: Array) -> "_Ties":
        """The ties for C (m, u), the diagonal of A (u,) and the rigid motions of the slots of nodes; rows of C that
        couple different components are left out."""
        k, first = nodes.components, nodes.components * len(nodes.positions)
        C = sp.coo_array(rows)
        component = nodes.slot[C.col] % k
        lowest, highest = np.full(rows.shape[0], k), np.full(rows.shape[0], -1)
        np.minimum.at(lowest, C.row, component)
        np.maximum.at(highest, C.row, component)
        uncoupled = np.flatnonzero(lowest == highest)
        z_component = lowest[uncoupled]
        node = np.zeros(uncoupled.size, dtype=np.int64)  # a new node where components do not ascend
        node[1:] = np.cumsum(z_component[1:] <= z_component[:-1])
        count = int(node[-1]) + 1 if node.size else 0
        weight = sp.csr_array(abs(rows[uncoupled]))
        tied_to = np.zeros(count, dtype=np.int64)
        tied_to[node[::-1]] = weight.indices[weight.indptr[:-1]][::-1]
        sums = np.asarray(weight.sum(axis=0)).ravel()
        glued = np.flatnonzero(sums)
        stiffness = _TIE * diagonal[glued]
        mean = sp.csr_array(weight[:, glued].T / sums[glued][:, None])
        dof_columns = sp.csr_array(
            (np.ones(glued.size), nodes.slot[glued], np.arange(glued.size + 1)), shape=(glued.size, first)
        )
        across = mean.tocoo()
        z_columns = sp.csr_array(
            sp.coo_array(
                (-across.data, (across.row, (node * k + z_component)[across.col])), shape=(glued.size, count * k)
            )
        )
        z_stiffness = sp.csr_array(-z_columns.T @ sp.diags_array(stiffness))
        stiffness_of_z = np.asarray(z_stiffness.sum(axis=1)).ravel()
        field = z_stiffness @ motions[nodes.slot[glued]]  # the mean of the dofs that are tied to z
        field[stiffness_of_z > 0.0] /= stiffness_of_z[stiffness_of_z > 0.0][:, None]
        return cls(sp.csr_array(sp.hstack([dof_columns, z_columns], format="csr")), stiffness, tied_to, field)


class _Owners:
    """Slots renumbered so that those of a rank are consecutive, node by node: `slots` of this rank, `size` of all."""

    def __init__(self, A: DistributedMatrix, ties: _Ties, nodes: NodePlaces) -> None:
        self.ranks, k = A.ranks, nodes.components
        index, ranks = A.ranks.index, A.ranks.count
        self._slot = nodes.slot
        owner_of_node: Any = np.full(len(nodes.positions), ranks, dtype=np.int32)
        owner_of_node[nodes.slot[np.diff(A.local.indptr) > 0] // k] = index
        owner = np.minimum(A.ranks.lowest(owner_of_node), ranks - 1)
        owner = np.concatenate([owner, owner[nodes.slot[ties.tied_to] // k]])
        order = np.argsort(owner, kind="stable")
        self._owner = np.repeat(owner, k)
        slots = (order[:, None] * k + np.arange(k)).ravel()
        self.size = slots.size
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=ranks) * k)])
        self._first, self._last = int(self._starts[index]), int(self._starts[index + 1])
        self._number = np.empty(self.size, dtype=np.int64)
        self._number[slots] = np.arange(self.size)
        self.slots = slots[self._first : self._last]
        number = self._number[self._slot]
        self._order = np.argsort(number)  # unknowns by number, hence by rank
        sorted_number = number[self._order]
        a, b = np.searchsorted(sorted_number, (self._first, self._last))
        self._owned, self._places = self._order[a:b], sorted_number[a:b] - self._first

    def rows(self, A: DistributedMatrix, ties: _Ties, spare: float) -> sp.csr_array:
        """The rows of this rank (k, size) of A, summed over the ranks, plus ties; spare: the diagonal entry of slots
        without unknowns."""
        local = A.local.tocoo()
        row, column = self._number[self._slot[local.row]], self._number[self._slot[local.col]].astype(np.int32)
        owner = self._owner[self._slot[local.row]]
        pieces = []
        for rank in range(self.ranks.count):
            to_rank = owner == rank
            pieces.append((row[to_rank] - self._starts[rank], column[to_rank], local.data[to_rank]))
        del local, row, column, owner
        received = self.ranks.exchanged(pieces)
        del pieces
        shape = (self._last - self._first, self.size)
        total = sp.csr_array(shape)
        for rows, columns, values in received:
            total = total + sp.csr_array(sp.coo_array((values, (rows, columns)), shape=shape))
        del received
        if ties.stiffness.size:
            tie_stiffness = sp.csr_array(ties.rows.T)[self.slots] @ sp.diags_array(ties.stiffness) @ ties.rows
            tie_stiffness = tie_stiffness.tocoo()
            entries = (tie_stiffness.data, (tie_stiffness.row, self._number[tie_stiffness.col]))
            total = total + sp.csr_array(sp.coo_array(entries, shape=shape))
        numbers = np.arange(shape[0])
        unused = numbers[np.diff(total.indptr) == 0]
        entries = (np.full(unused.size, spare), (unused, unused + self._first))
        out = sp.csr_array(total + sp.csr_array(sp.coo_array(entries, shape=shape)))
        out.sort_indices()
        return out

    def placed(self, b: Array) -> Array:
        """The entries of this rank (k,), 0 in slots without an unknown, of b (u,)."""
        out = np.zeros(self._last - self._first)
        out[self._places] = b[self._owned]
        return out

    def whole(self, local: Array) -> Array:
        """x (u,) on every rank from the entries of this rank (k,)."""
        joined = self.ranks.joined(local[self._places])
        out = np.empty(self._order.size)
        out[self._order] = joined
        return out


def _set_options(solver: Any, values: dict[str, Any]) -> None:
    """Set options of a preconditioner or a smoother, leaving PETSc's global options as they were."""
    options = petsc().Options(solver.getOptionsPrefix())
    for name, value in values.items():
        options.setValue(name, value)
    solver.setFromOptions()
    for name in values:
        options.delValue(name)


def _without_zeros(matrix: Any) -> None:
    """Set a diagonal in zero rows, from aggregates with fewer dofs than rigid motions: sweeps divide by it."""
    diagonal = matrix.getDiagonal()
    if not diagonal.min()[1] > 0.0:
        values, largest = diagonal.getArray(), diagonal.norm(petsc().NormType.INFINITY)
        values[values <= 0.0] = largest
        matrix.setOption(petsc().Mat.Option.NEW_NONZERO_ALLOCATION_ERR, False)
        matrix.setDiagonal(diagonal)
        matrix.assemble()
    diagonal.destroy()


def _communicator(among: Ranks) -> Any:
    """The communicator of the ranks in PETSc."""
    return among.comm if isinstance(among, MpiRanks) else petsc().COMM_SELF
