"""Transfer of the motion where a patch moves: common nodes keep it, others take it from the field that was there."""

import numpy as np
import scipy.sparse as sp

from arlequin.levels.consistency import Consistency, centre, inertia_rows
from arlequin.levels.fields import field_at, joined_to, model_of, on_columns
from arlequin.models.errors import UserError
from arlequin.models.part import Nonlinear, PathDependent
from arlequin.models.types import Array, Indices
from arlequin.system.assembly import Assembly

_SAME = 1e-6  # of the distance of two nodes, within which they are one


class PatchTransfer:
    """From one position of a patch to the next.

    Dofs of parts that both positions share and that are not left out in either keep their motion, as do nodes of the
    patch that have the same place in both. New nodes of the patch take the field of the coarse part at their place,
    nodes of the coarse part that come back that of the patch. Then both fields are projected, M-orthogonally, on the
    constraints of the new junction, and the velocities on the momenta. UserError where the patch leaves the mesh.
    """

    def __init__(self, before: Assembly, after: Assembly, name: str) -> None:
        self._sides = before, after
        self._name = name
        self._operator = self._assembled()
        self._consistency = Consistency(after)

    def _assembled(self) -> sp.csr_array:
        """The field after the move (d,) over that before it, without the projection."""
        before, after = self._sides
        names = before.system.names
        blocks = []
        for index, part in enumerate(after.system.parts):
            at, own = after.places[index], after.parts[index]
            size = at.stop - at.start
            i = names.index(part.name)
            old, place = before.system.parts[i], before.places[i]
            if old is part and not before.ghost[place].any():
                blocks.append(on_columns(sp.eye_array(size), place, before.dof_count))
                continue
            if isinstance(own, PathDependent | Nonlinear) or model_of(part) is not part:
                raise UserError(
                    f"patch '{self._name}': part '{part.name}' is not linear, or reduced: take a solid or bar"
                )
            if part.node_count != old.node_count:
                raise UserError(
                    f"patch '{self._name}': part '{part.name}' has {part.node_count} nodes, before the move "
                    f"{old.node_count}: the mesh must be the same everywhere"
                )
            components = part.components
            held, new = common_places(old.positions, part.positions)
            resting = np.asarray(before.ghost[place].reshape(-1, components).all(axis=1))[held]
            held, new = held[~resting], new[~resting]
            ghost = after.ghost[at].reshape(-1, components).all(axis=1)
            block = on_columns(
                _chosen(new, held, (part.node_count, old.node_count), components),
                place, before.dof_count,
            )  # fmt: skip
            missing = np.asarray(~ghost)
            missing[new] = False
            joined = joined_to(before.system, part.name)
            for j, other in enumerate(before.system.parts):
                if not missing.any() or other.name not in joined:
                    continue
                nodes = np.flatnonzero(missing)
                rows, covered = field_at(other, part.positions[nodes])
                rest = before.ghost[before.places[j]].astype(float)
                covered &= (abs(rows) @ rest).reshape(-1, components).sum(axis=1) < 1e-9
                spread = _chosen(nodes[covered], np.flatnonzero(covered), (part.node_count, nodes.size), components)
                block = block + on_columns(spread @ rows, before.places[j], before.dof_count)
                missing[nodes[covered]] = False
            if missing.any():
                where = ", ".join(f"{x:.4g}" for x in part.positions[np.flatnonzero(missing)[0]])
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
        rows, wanted = inertia_rows(after, origin), inertia_rows(before, origin) @ v
        moved, velocity = self._operator @ u, self._operator @ v
        dofs, displaced = after.imposed_dofs, after.imposes_displacement
        values = after.imposed(t) if dofs.size else np.zeros(0)
        moved[dofs[displaced]], velocity[dofs[~displaced]] = values[displaced], values[~displaced]
        return self._consistency.of(moved), self._consistency.of(velocity, rows, wanted)


def common_places(before: Array, after: Array) -> tuple[Indices, Indices]:
    """Numbers of the points (k, axis) that two sets have in common, in each of them."""
    from scipy.spatial import cKDTree

    apart, nearest = cKDTree(before).query(after)
    spacing = float(np.median(cKDTree(after).query(after, 2)[0][:, 1])) if len(after) > 1 else 0.0
    same = np.flatnonzero(apart <= _SAME * spacing)
    return nearest[same], same


def _chosen(rows: Indices, columns: Indices, shape: tuple[int, int], components: int) -> sp.csr_array:
    """1 at (row, column) for all components of nodes."""
    scalar = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    return sp.csr_array(sp.kron(scalar, sp.eye_array(components), format="csr"))
