"""A linear elastic part distributed over ranks: each assembles the cells of its piece of the mesh."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.models.errors import UserError
from arlequin.models.fem.continuum import Continuum
from arlequin.models.nodal import ExternalLoads, LoadedCoordinates
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.parallel.partition import cells_of
from arlequin.models.parallel.ranks import Ranks
from arlequin.models.part import Assembled, Imposed, Weighting
from arlequin.models.types import Array, Indices


@dataclass(frozen=True, eq=False, repr=False)
class PieceAssembled(LoadedCoordinates):
    """M, K, D, internal forces of a part as sums over the ranks' pieces; loads and imposed motions of all of the part.

    inner: the assembled piece of this rank; dofs (k,): its dofs among those of the part (size).
    """

    mass: Any
    stiffness: Any
    damping: Any
    imposed: tuple[Imposed, ...]
    loads: ExternalLoads
    inner: Assembled
    dofs: Indices
    size: int
    ranks: Ranks

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,) in N and stored energy in J."""
        force, energy = self.inner.internal(u[self.dofs])
        out = np.zeros(self.size + 1)
        out[self.dofs], out[-1] = force, energy
        total = self.ranks.summed(out)
        return total[:-1], float(total[-1])

    def strain_form(self) -> None:
        """None: the strains are on different ranks."""

    def highest_frequency(self) -> float:
        """Bound of the largest angular frequency, rad/s: that of the largest among the cells."""
        return float(max(self.ranks.gathered(self.inner.highest_frequency())))


def assemble_piece(part: Continuum, weighting: Weighting | None, time_error: float, among: Ranks) -> PieceAssembled:
    """Assemble the cells of this rank under the weights; time_error: as of `Continuum.assemble`."""
    centres = part.mesh.p[:, part.mesh.t].mean(axis=1).T
    cells = cells_of(centres, among.count, among.index)
    piece, dofs = piece_of(part, cells)
    global_weighting = Weighting.uniform(*part.basis.dx.shape) if weighting is None else weighting
    local = Weighting(global_weighting.stiffness[cells], global_weighting.mass[cells], global_weighting.load[cells])
    inner = piece.assemble(local, time_error=time_error)
    size = part.dof_count

    def distributed(matrix: Any) -> DistributedMatrix:
        return DistributedMatrix(_widened(sp.csr_array(matrix), dofs, size), among)

    return PieceAssembled(
        mass=distributed(inner.mass),
        stiffness=distributed(inner.stiffness),
        damping=None if inner.damping is None else distributed(inner.damping),
        imposed=part.motions,
        loads=part.loads(global_weighting),
        inner=inner,
        dofs=dofs,
        size=size,
        ranks=among,
    )


def piece_of(part: Continuum, cells: Indices) -> tuple[Continuum, Indices]:
    """The cells of a piece as a part without loads and motions, and its dofs (k,) among those of the original part."""
    mesh = part.mesh.restrict(cells, skip_boundaries=True, skip_subdomains=True)
    no_loads: dict[str, Any] = {"body_force": None, "tractions": {}, "imposed": {}, "imposed_velocity": {}}
    piece = replace(part, mesh=mesh, **no_loads)
    nodes = np.empty(piece.node_count, dtype=np.int64)
    nodes[piece.basis.element_dofs] = part.basis.element_dofs[:, cells]
    if np.abs(part.positions[nodes] - piece.positions).max() > 1e-9 * np.ptp(part.positions, axis=0).max():
        raise UserError(f"part '{part.name}': its nodes cannot be divided among ranks: run it on one rank")
    return piece, (nodes[:, None] * part.components + np.arange(part.components)).ravel()


def _widened(matrix: sp.csr_array, dofs: Indices, size: int) -> sp.csr_array:
    """A matrix (k, k) on the dofs (k,), embedded in (size, size)."""
    order = np.argsort(dofs, kind="stable")
    if (order[1:] < order[:-1]).any():
        matrix, dofs = sp.csr_array(matrix[order][:, order]), dofs[order]
    counts = np.zeros(size + 1, dtype=np.int64)
    counts[dofs + 1] = np.diff(matrix.indptr)
    return sp.csr_array((matrix.data, dofs[matrix.indices].astype(np.int32), np.cumsum(counts)), shape=(size, size))
