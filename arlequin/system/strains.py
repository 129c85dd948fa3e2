"""Strains of a system of bars, beams, masses and springs as one sparse operator."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.linalg.products import applied
from arlequin.models.part import Part
from arlequin.models.types import Array
from arlequin.system.springs import SpringSet

_STILL = 1e-12  # strain of a translation, relative to its terms, that counts as zero


@dataclass(frozen=True, eq=False)
class Strains:
    """Strains e = B (u − u_anchor) (s,) and internal forces f = Bᵀ (w e), energy ½ Σ w e².

    rows B (s, d), weights w (s,). anchor (d,): a dof whose displacement is subtracted, as strains do not depend on
    translations (−1: none), so that large ones cause no round-off. part_rows: rows of parts; the rows of springs, of u,
    follow.
    """

    rows: sp.csr_array
    weights: Array
    anchor: NDArray[np.int64]
    part_rows: int

    @classmethod
    def of(cls, forms: Sequence[tuple[sp.csr_array, Array]], parts: Sequence[Part], links: SpringSet) -> "Strains":
        """Strains of the parts with these short forms, and of springs."""
        anchors, first = [], 0
        for (rows, _), part in zip(forms, parts, strict=True):
            count = rows.shape[1]
            component = np.arange(count) % part.components
            anchor = np.full(count, -1)
            for i in range(part.components):
                along = (component == i).astype(float)
                if (abs(rows @ along) <= _STILL * (abs(rows) @ along)).all():
                    anchor[component == i] = first + i
            anchors.append(anchor)
            first += count
        part_strains = sp.csr_array(sp.block_diag([rows for rows, _ in forms], format="csr"))
        return cls(
            rows=sp.csr_array(sp.vstack([part_strains, links.rows], format="csr")),
            weights=np.concatenate([*(weights for _, weights in forms), links.stiffness]),
            anchor=np.concatenate(anchors).astype(np.int64),
            part_rows=part_strains.shape[0],
        )

    def at(self, u: Array) -> Array:
        """Strains (b, s) of displacements u (b, d)."""
        from arlequin.linalg._product_kernels import strains

        rows = self.rows
        return np.asarray(strains(rows.indptr, rows.indices, rows.data, self.anchor, self.part_rows, u))

    def forces(self, strains: Array) -> Array:
        """Internal forces (b, d), N."""
        return applied(self.rows.T, strains * self.weights)

    def energy(self, strains: Array) -> Array:
        """½ Σ w e² (b,), J."""
        return np.asarray(0.5 * np.vecdot(strains**2, self.weights))
