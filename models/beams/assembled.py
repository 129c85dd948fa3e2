"""A beam assembled under given weights."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from arlequin.models.beams.beam_model import BeamModel
from arlequin.models.beams.element import across, element_integrals, relative
from arlequin.models.errors import UserError
from arlequin.models.nodal import ExternalLoads, LoadedCoordinates
from arlequin.models.part import Imposed, Weighting
from arlequin.models.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class BeamAssembled(LoadedCoordinates):
    """M, K, D, internal force, load and imposed motions of a beam.

    strains B (c, q, strain, d) of the elements, rigidity (c, q, strain): weighted rigidities × dx; under tension the
    slopes of the deflections follow the strains, with the tension as rigidity: ½ ∫ N0 v′² is a stored energy.
    fluid, drag: contributions of the fluid to M and D, None without fluid.
    element_stiffness and element_mass (c, d, d) in global axes.
    """

    mass: csr_array
    stiffness: csr_array
    damping: csr_array | None
    fluid: csr_array | None
    drag: csr_array | None
    imposed: tuple[Imposed, ...]
    loads: ExternalLoads
    beam: BeamModel
    strains: Array
    rigidity: Array
    element_stiffness: Array
    element_mass: Array

    @property
    def gravitational_mass(self) -> csr_array:
        """M without the fluid's mass (d, d), kg, on which gravity acts."""
        return self.mass if self.fluid is None else csr_array(self.mass - self.fluid)

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,) in N, N·m and stored energy in J, from the strains: a rigid translation gives 0."""
        beam = self.beam
        u = np.asarray(u, dtype=float)
        if u.shape != (beam.dof_count,):
            raise UserError(f"displacement of shape {u.shape}, expected ({beam.dof_count},)")
        local = relative(u.reshape(-1, beam.components)[beam.nodes], beam.dimension)
        strain = np.einsum("cqsd,cd->cqs", self.strains, local.reshape(len(local), -1))
        resultant = self.rigidity * strain
        forces = np.einsum("cqsd,cqs->cd", self.strains, resultant)
        dofs = beam.nodes[:, :, None] * beam.components + np.arange(beam.components)
        total = np.zeros(beam.dof_count)
        np.add.at(total, dofs.ravel(), forces.ravel())
        return total, 0.5 * float((resultant * strain).sum())

    def strain_form(self) -> tuple[csr_array, Array]:
        """Generalised strains B (s, d) at the quadrature points, and their rigidities × dx (s,)."""
        dofs = self.beam.nodes[:, :, None] * self.beam.components + np.arange(self.beam.components)
        rows = np.arange(self.rigidity.size).reshape(*self.rigidity.shape, 1)
        rows, columns = np.broadcast_arrays(rows, dofs.reshape(len(dofs), 1, 1, -1))
        entries = (self.strains.ravel(), (rows.ravel(), columns.ravel()))
        return csr_array(coo_array(entries, shape=(self.rigidity.size, self.beam.dof_count))), self.rigidity.ravel()

    def highest_frequency(self) -> float:
        """Bound of the largest angular frequency, rad/s: the largest of the elements (Irons' bound).

        Source: Hughes, The Finite Element Method, 1987, §9.1.
        """
        active = np.flatnonzero(self.rigidity.max(axis=(1, 2)) > 0)
        try:
            inverse = np.linalg.inv(np.linalg.cholesky(self.element_mass[active]))
        except np.linalg.LinAlgError:
            return math.inf
        scaled = inverse @ self.element_stiffness[active] @ np.swapaxes(inverse, 1, 2)
        return math.sqrt(float(np.linalg.eigvalsh(scaled).max(initial=0.0)) * (1 + 1e-9))


def assemble_beam(beam: BeamModel, weighting: Weighting) -> BeamAssembled:
    """Assemble a beam under the weights, which multiply EA, κGA, GJ, EI, ρA, ρI and the loads."""
    dx = beam.basis.dx
    strains, rigidities = beam.elements.strains(beam.xi), beam.rigidities
    if beam.tension:
        strains = np.concatenate([strains, beam.elements.slopes(beam.xi)], axis=2)
        rigidities = np.concatenate([rigidities, np.full(beam.dimension - 1, beam.tension)])
    rigidity = (weighting.stiffness * dx)[:, :, None] * rigidities
    stiffness = np.einsum("cqsd,cqs,cqse->cde", strains, rigidity, strains, optimize=True)
    masses = element_integrals(beam, weighting.mass * dx, beam.inertias)
    mass, total = element_sum(beam, masses), element_sum(beam, stiffness)
    if beam.mass == "lumped":
        mass.eliminate_zeros()
    fluid = _across(beam, weighting, beam.added_mass)
    drag = _across(beam, weighting, beam.fluid_damping)
    damping = drag
    if beam.damping is not None and (beam.damping.mass or beam.damping.stiffness):
        rayleigh = csr_array(beam.damping.mass * mass + beam.damping.stiffness * total)
        damping = rayleigh if drag is None else csr_array(rayleigh + drag)
    return BeamAssembled(
        mass=mass,
        stiffness=total,
        damping=damping,
        fluid=fluid,
        drag=drag,
        imposed=beam.motions,
        loads=beam.loads(weighting.load),
        beam=beam,
        strains=strains,
        rigidity=rigidity,
        element_stiffness=stiffness,
        element_mass=masses,
    )


def _across(beam: BeamModel, weighting: Weighting, value: float) -> csr_array | None:
    """Matrix (d, d) of a density that acts across the beam, under the mass weight; None for 0."""
    if not value:
        return None
    matrix = element_sum(beam, element_integrals(beam, weighting.mass * beam.basis.dx, across(beam, value)))
    matrix.eliminate_zeros()
    return matrix


def element_sum(beam: BeamModel, blocks: Array) -> csr_array:
    """Sparse sum (d, d) of the element matrices (c, 2·component, 2·component)."""
    dofs = (beam.nodes[:, :, None] * beam.components + np.arange(beam.components)).reshape(len(beam.nodes), -1)
    rows, columns = np.broadcast_arrays(dofs[:, :, None], dofs[:, None, :])
    size = beam.dof_count
    return csr_array((blocks.ravel(), (rows.ravel(), columns.ravel())), shape=(size, size))
