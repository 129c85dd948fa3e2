"""Linear elasticity with the mean dilatation of each cell (B̄), free of volumetric locking on linear quadrilaterals and
hexahedra:

    σ = 2μ dev ε + K ē 1,    ē = ∫ tr ε dV / V over the cell,    E = ∫ μ dev ε : dev ε dV + Σ_c ½ K ē² ∫_c dV

under the stiffness weight. The first term is that of points with λ = −2μ/3, the second Bᵀ diag(w) B with one row of B,
ē of u, and one stiffness w = K ∫ dV a cell.

Source: Hughes, Int. J. Numer. Methods Eng. 15 (1980) 1413–1418.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from arlequin.models.fem.cells import CellArrays, mean_gradients
from arlequin.models.fem.continuum_model import SolidModel
from arlequin.models.fem.elastic import ElasticAssembled, assemble_elastic, part_damping
from arlequin.models.part import Weighting
from arlequin.models.types import Array, Indices


@dataclass(frozen=True, eq=False, repr=False)
class MeanDilatationAssembled(ElasticAssembled):
    """A linear elastic part whose pressure is the mean of the cell; lame: (−2μ/3, μ) of its points.

    dilatation (c, d): ē by nodal displacements, of the cells with weight; bulk: K, Pa; volume (c,): their weighted
    measure, m³.
    """

    dilatation: csr_array
    bulk: float
    volume: Array

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,) in N and stored energy in J."""
        force, energy = super().internal(u)
        mean_force, mean_energy = self._mean(np.asarray(u, dtype=float))
        return force + mean_force, energy + mean_energy

    def internal_each(self, u: Array, force: Array) -> Array:
        """Internal forces of each u (n, d), written to force (n, d), N; stored energies (n,), J."""
        energies = super().internal_each(u, force)
        for i, displacement in enumerate(u):
            mean_force, mean_energy = self._mean(displacement)
            force[i] += mean_force
            energies[i] += mean_energy
        return energies

    def strains_beyond_cells(self) -> tuple[csr_array, Array] | None:
        """ē, and K ∫ dV (c,)."""
        return self.dilatation, self.bulk * self.volume

    @property
    def mean_bulk(self) -> float:
        """K, Pa."""
        return self.bulk

    def _mean(self, u: Array) -> tuple[Array, float]:
        """Forces (d,), N, and energy, J, of the pressure; exactly 0 in a translation, except around an axis."""
        axes = self.components
        origin = np.zeros(axes) if self.cells.hoop is not None else u[:axes]
        mean = self.dilatation @ (u.reshape(-1, axes) - origin).ravel()
        pressure = self.bulk * self.volume * mean
        return self._transposed @ pressure, 0.5 * float(pressure @ mean)

    @cached_property
    def _transposed(self) -> csr_array:
        return csr_array(self.dilatation.T)


def assemble_mean_dilatation(
    part: SolidModel, weighting: Weighting, massless: Indices | None
) -> MeanDilatationAssembled:
    """Assemble a linear solid in 3D, plane strain or around an axis, with mean dilatation."""
    lam, mu = part.material.linear.lame()
    bulk = lam + 2.0 * mu / 3.0
    assembled = assemble_elastic(part, weighting, massless, (-2.0 * mu / 3.0, mu))
    active = np.flatnonzero(assembled.stiffness_weight.any(axis=1))
    volume = assembled.stiffness_weight[active].sum(axis=1)
    dilatation = _mean_rows(part.cells.take(active), part.components, part.dof_count)
    fields: dict[str, Any] = {name: getattr(assembled, name) for name in ElasticAssembled.__dataclass_fields__}
    fields["stiffness"] = csr_array(assembled.stiffness + dilatation.T @ diags_array(bulk * volume) @ dilatation)
    fields["damping"] = part_damping(part, fields["mass"], fields["stiffness"], assembled.mass_weight)
    return MeanDilatationAssembled(**fields, dilatation=dilatation, bulk=bulk, volume=volume)


def _mean_rows(cells: CellArrays, components: int, size: int) -> csr_array:
    """ē (c, d) by nodal displacements."""
    values = np.swapaxes(mean_gradients(cells, components), 1, 2)  # (c, n, axis)
    columns = cells.nodes[:, :, None] * components + np.arange(components)
    rows = np.broadcast_to(np.arange(cells.count)[:, None, None], columns.shape)
    return csr_array((values.ravel(), (rows.ravel(), columns.ravel())), shape=(cells.count, size))
