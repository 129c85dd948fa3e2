"""Transfer of the motion when a patch moves: copied at common nodes, interpolated at others."""

import numpy as np
import scipy.sparse as sp

from arlequin.levels.consistency import Consistency, centre, inertia_rows
from arlequin.levels.transfer import joined_to
from arlequin.models.errors import UserError
from arlequin.models.part import Nonlinear, PathDependent
from arlequin.models.types import Array, Indices
from arlequin.system.assembly import Assembly
from arlequin.transfer.fields import field_at, model_of, on_columns

_COINCIDENT = 1e-6  # distance of coincident nodes, relative to the node spacing


class PatchTransfer:
    """Transfer from one position of a patch to the next.

    The motion is copied for dofs of shared parts that are active in both positions and for nodes of the patch at the
    same position in both. New nodes of the patch take the field of the coarse part at their position, reactivated nodes
    of the coarse part that of the patch. Then both fields are projected, M-orthogonally, on the constraints of the new
    junction, and the velocities on the momenta. UserError where the patch leaves the mesh.
    """

    def __init__(self, before: Assembly, after: Assembly, name: str) -> None:
        self._sides = before, after
        self._name = name
        self._operator = self._transfer_operator()
        self._consistency = Consistency(after)

    def _transfer_operator(self) -> sp.csr_array:
        """Matrix from the field before the move to that after it (d, d), without the projection."""
        before, after = self._sides
        names = before.system.names
        blocks = []
        for index, part in enumerate(after.system.parts):
            at, assembled = after.places[index], after.parts[index]
            size = at.stop - at.start
            i = names.index(part.name)
            old, place = before.system.parts[i], before.places[i]
            if old is part and not before.ghost[place].any():
                blocks.append(on_columns(sp.eye_array(size), place, before.dof_count))
                continue
            if isinstance(assembled, PathDependent | Nonlinear) or model_of(part) is not part:
                raise UserError(
                    f"patch '{self._name}': part '{part.name}' is not linear, or reduced: take a solid or bar"
                )
            if part.node_count != old.node_count:
                raise UserError(
                    f"patch '{self._name}': part '{part.name}' has {part.node_count} nodes, before the move "
                    f"{old.node_count}: the mesh must be the same everywhere"
                )
            components = part.components
            old_nodes, new_nodes = common_places(old.positions, part.positions)
            resting = np.asarray(before.ghost[place].reshape(-1, components).all(axis=1))[old_nodes]
            old_nodes, new_nodes = old_nodes[~resting], new_nodes[~resting]
            ghost = after.ghost[at].reshape(-1, components).all(axis=1)
            block = on_columns(
                _selection(new_nodes, old_nodes, (part.node_count, old.node_count), components),
                place, before.dof_count,
            )  # fmt: skip
            uncovered = np.asarray(~ghost)
            uncovered[new_nodes] = False
            joined = joined_to(before.system, part.name)
            for j, other in enumerate(before.system.parts):
                if not uncovered.any() or other.name not in joined:
                    continue
                nodes = np.flatnonzero(uncovered)
                rows, covered = field_at(other, part.positions[nodes])
                inactive = before.ghost[before.places[j]].astype(float)
                covered &= (abs(rows) @ inactive).reshape(-1, components).sum(axis=1) < 1e-9
                spread = _selection(nodes[covered], np.flatnonzero(covered), (part.node_count, nodes.size), components)
                block = block + on_columns(spread @ rows, before.places[j], before.dof_count)
                uncovered[nodes[covered]] = False
            if uncovered.any():
                where = ", ".join(f"{x:.4g}" for x in part.positions[np.flatnonzero(uncovered)[0]])
                raise UserError(
                    f"patch '{self._name}' leaves the mesh that it moves through: nothing carries the motion of part "
                    f"'{part.name}' at ({where}) m"
                )
            blocks.append(block)
        return sp.csr_array(sp.vstack(blocks, format="csr"))

    def move(self, u: Array, v: Array, t: float, upwards: bool) -> tuple[Array, Array]:
        """Displacements and velocities (d,) after the move."""
        before, after = self._sides
        origin = centre(after.system.parts)
        rows, momenta = inertia_rows(after, origin), inertia_rows(before, origin) @ v
        displacement, velocity = self._operator @ u, self._operator @ v
        dofs, displaced = after.imposed_dofs, after.imposes_displacement
        values = after.imposed(t) if dofs.size else np.zeros(0)
        displacement[dofs[displaced]], velocity[dofs[~displaced]] = values[displaced], values[~displaced]
        return self._consistency.project(displacement), self._consistency.project(velocity, rows, momenta)


def common_places(before: Array, after: Array) -> tuple[Indices, Indices]:
    """Indices of the common points of two sets (k, axis), in each of them."""
    from scipy.spatial import cKDTree

    distance, nearest = cKDTree(before).query(after)
    spacing = float(np.median(cKDTree(after).query(after, 2)[0][:, 1])) if len(after) > 1 else 0.0
    same = np.flatnonzero(distance <= _COINCIDENT * spacing)
    return nearest[same], same


def _selection(rows: Indices, columns: Indices, shape: tuple[int, int], components: int) -> sp.csr_array:
    """Selection matrix: 1 at (row, column) of nodes, for all components."""
    scalar = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    return sp.csr_array(sp.kron(scalar, sp.eye_array(components), format="csr"))
