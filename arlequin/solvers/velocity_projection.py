"""Projection of the end velocities on persistent contact."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.contact import STICK
from arlequin.solvers.condensed import ConstrainedSystem, RigidCondensed
from arlequin.solvers.contact_step import ContactStep, VelocityCorrection
from arlequin.solvers.solver_choice import mass_system
from arlequin.system.assembly import Assembly

_ROUND_OFF = 1e-14  # rate, relative to its terms, that is round-off


class VelocityProjection:
    """Removes the rates H v₁ that persistency leaves (see `arlequin.multilevel.solvers.closing`), by impulses at the
    end of the step, which change velocities alone:

        v ← v − M⁻¹(HᵀQ + Cᵀφ),   C v unchanged,   Q = α D H v,   D = diag(W)⁻¹, W the Delassus operator of the step

    on the rows H at the end of the step of persistent points: the normal ones, then the slip of sticking points. Where
    the normals rotate uniformly, H v₁ = 0 already. α minimises the kinetic energy, which decreases by
    ½ (Q·Hv)²/(Q·H M⁻¹HᵀQ); it is the first step of conjugate gradients to the M-orthogonal projection on H v = 0, and
    where rates alternate from step to step one suffices. Total normal impulses remain ≥ 0. The energy lost is of second
    order in the rates, while motion by these rates under the contact pressure would lose, or gain, energy of first
    order. The resultant of Q and its moment are zero.

    Source: Laursen & Love, IJNME 53 (2002) 245–274 (velocity update).
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        mass = assembly.mass.diagonal()
        self._active = assembly.free & ~assembly.massless & (mass > 0.0)
        massless = (assembly.free & ~self._active).astype(float)
        self._inert = abs(assembly.contact.basis) @ massless  # > 0: rows of the basis with massless dofs

    @cached_property
    def _condensed(self) -> ConstrainedSystem:
        """M under the constraints, factored when contact first persists on rotating normals."""
        return mass_system(self._assembly, self._active, contact=False)

    def of(self, contact_step: ContactStep, u: Array, v: Array) -> VelocityCorrection | None:
        """The correction at the end u, v (d,) of a step; None without persistent contact."""
        contact, persistent = contact_step.solution, contact_step.persistent
        if not persistent.any():
            return None
        kinematics = self._assembly.contact.kinematics(self._assembly.contact.basis_product(u))
        sizes = np.diff(np.append(kinematics.first, kinematics.rows))
        normal = np.zeros(kinematics.rows, dtype=bool)
        normal[kinematics.first] = True
        tangential = ~normal
        normal &= ~self._assembly.laws.gap_rows
        acts = persistent & normal & np.repeat(contact.multiplier > 0.0, sizes)
        sticks = persistent & tangential & np.repeat(contact.status == STICK, sizes)
        reaction = np.zeros(self._assembly.imposed_dofs.size)
        out = VelocityCorrection(kinematics, np.zeros_like(v), np.zeros(kinematics.rows), reaction)
        for chosen, kind, bound in (
            (acts, "impact", kinematics.normal(contact.multiplier)),
            (sticks, "friction", None),
        ):
            rows = np.flatnonzero(chosen)
            if rows.size:
                self._step(out, rows, (u, v), contact_step.delassus_diagonal[rows], kind, bound)
        return out if out.impulse.any() else None

    def _step(
        self,
        out: VelocityCorrection,
        rows: NDArray[np.int64],
        motion: tuple[Array, Array],
        weights: Array,
        kind: str,
        bound: Array | None,
    ) -> None:
        """Add the correction by the rows (p,), with impulses Q ≥ −bound (r,); motion: u and v (d,) before the
        projection; weights (p,): 1/D."""
        kinematics, (u, v), mass = out.kinematics, motion, self._assembly.mass
        v = v + out.dv
        rates, local = kinematics.basis_product(v), kinematics.local
        sizes, inert = (
            (np.abs(rates), self._inert) if local is None else (abs(local) @ np.abs(rates), abs(local) @ self._inert)
        )
        inert = inert[rows] > 0.0  # an impulse there would move nodes without mass
        rates = np.where(inert, 0.0, kinematics.apply_local(rates)[rows])
        if (np.abs(rates) <= _ROUND_OFF * sizes[rows]).all():
            return
        row_impulse = np.divide(rates, weights, out=np.zeros_like(rates), where=weights > 0.0)
        impulse = np.zeros(kinematics.rows)
        impulse[rows] = row_impulse
        force = kinematics.generalised_force(impulse)
        response, constraints, rigid = self._response(force, u)
        momentum, imposed_dofs = mass @ response, self._assembly.imposed_dofs
        # the rigidity constraints work on the residual of G v by rotation; reactions of imposed dofs are external
        gain, curvature = float(row_impulse @ rates + rigid @ v), float(response @ momentum)
        if not (gain > 0.0 and curvature > 0.0):
            return
        share = gain / curvature
        if bound is not None:
            leaving = row_impulse > 0.0
            share = min(share, float(np.min(bound[rows][leaving] / row_impulse[leaving], initial=np.inf)))
        out.dv[:] -= share * response
        out.impulse[rows] -= share * row_impulse
        out.work[kind] += share * (gain - 0.5 * share * curvature)
        reaction = (momentum - force - constraints - rigid)[imposed_dofs]
        out.reaction[:] -= share * reaction
        out.work["external_work"] -= share * float(reaction @ v[imposed_dofs])

    def _response(self, force: Array, u: Array) -> tuple[Array, Array, Array]:
        """M⁻¹(f + Cᵀφ + Gᵀλ), Cᵀφ and Gᵀλ (d,) of f (d,), under the constraints and those of rigid parts."""
        assembly = self._assembly
        no_rates = np.zeros(assembly.constraints.shape[0])
        rest = np.zeros(assembly.imposed_dofs.size) if assembly.imposed_dofs.size else None
        gradient = assembly.rigidity.gradient(u)
        response = RigidCondensed(self._condensed, gradient).predict(force, no_rates, np.zeros(gradient.shape[0]), rest)
        return response.y, assembly.constraints.T @ response.multipliers, gradient.T @ response.rigid
