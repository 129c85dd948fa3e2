"""Contact at the start on another mesh: points under pressure touch, others do not interpenetrate."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.linalg.saddle import SaddlePoint
from arlequin.models.part import Surface
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.contact_start import former_points
from arlequin.system.system import surfaces_of

_MAX_PASSES = 20
_MARGIN = 1e-13  # gap, relative to the extent of the surfaces, that counts as zero
_INERTIA = 1e-8  # of M beside K, by their largest terms: bodies that nothing holds are moved as little as possible


def close_contact(assembly: Assembly, u: Array, allowed: Array) -> Array:
    """u (d,), m, with the contact of a former result closed: the nearest displacement, in strain energy, with

        g = −δ at points that were closed under pressure,   g ≥ −δ at all others,   C u = 0,

    g (k,) the gaps of the unworn surfaces and δ = `allowed` (k,), m, the depths that are admissible (worn off, or of a
    compliance), at closed points without the wear of the last step, which still opens the gap. Of interfaces whose
    points and parts have the mesh of the result only points under pressure are considered whose gaps are round-off of
    its equilibrium, above that of the gaps themselves: an ill-conditioned static solution leaves such gaps, and a run
    would start with these points open.
    """
    system, contact = assembly.system, assembly.contact
    frame = system.from_result
    chosen, pressed = np.zeros((2, contact.count), dtype=bool)
    if frame is None:
        return u
    depth = allowed.copy()
    displacement = contact.basis_product(u)
    gap = contact.kinematics(displacement).gaps(displacement)
    for item, points, last_frame in former_points(contact, frame):
        parts = [side.part for side in surfaces_of(item) if isinstance(side, Surface)]
        level, from_result = (
            contact.laws.level[points],
            [part for part in parts if system.starts_from_result("displacement", part)],
        )
        if from_result and all(frame.handover(part).same_mesh for part in from_result):
            excess = gap[points] + depth[points]
            rounded = (excess > contact.scale.touching) & (excess <= contact.scale.lasting)
            pressed[points] = chosen[points] = (level > 0) & rounded & (last_frame["pressure"] > 0.0)
        elif from_result:
            # laws on the velocity press where the gap opens, too, at the end of a step
            closed = (level == 1) | ((level == 2) & (last_frame["gap"] <= contact.scale.touching))
            chosen[points], pressed[points] = level > 0, closed & (last_frame["pressure"] > 0.0)
            depth[points] -= np.where(pressed[points], last_frame.get("worn_opening", 0.0), 0.0)
    if not chosen.any():
        return u
    active, margin = pressed.copy(), _MARGIN * contact.scale.extent + contact.scale.round_off
    for _ in range(_MAX_PASSES):
        displacement = contact.basis_product(u)
        kinematics = contact.kinematics(displacement)
        gap = kinematics.gaps(displacement) + depth
        considered = chosen & kinematics.paired
        behind = considered & (gap < -margin)
        if not (behind | (considered & active & (np.abs(gap) > margin))).any():
            break
        active |= behind
        u = u + _correction(assembly, u, kinematics, np.where(considered & active, gap, np.nan))
    return u


def _correction(assembly: Assembly, u: Array, kinematics: ContactKinematics, gap: Array) -> Array:
    """The change of u (d,) of least energy that closes these gaps (k,), nan elsewhere."""
    free = np.flatnonzero(assembly.free)
    points: NDArray[np.int64] = np.flatnonzero(np.isfinite(gap))
    normal = kinematics.first[points]
    basis = kinematics.basis
    contact_rows = basis[normal] if kinematics.local is None else kinematics.local[normal] @ basis
    rows = sp.csr_array(
        sp.vstack([assembly.constraints, assembly.rigidity.gradient(u), sp.csr_array(contact_rows)], format="csr")
    )
    stiffness, mass = sp.csr_array(assembly.stiffness), sp.csr_array(assembly.mass)
    largest = float(mass.diagonal().max(initial=0.0)) or 1.0
    scale = float(stiffness.diagonal().max(initial=0.0)) / largest
    metric = sp.csr_array(stiffness + (_INERTIA * scale if scale else 1.0) * mass)
    rhs = np.zeros(rows.shape[0])
    rhs[rhs.size - points.size :] = -gap[points]
    out, saddle_point = np.zeros(u.size), SaddlePoint(sp.csr_array(metric[free][:, free]), sp.csr_array(rows[:, free]))
    out[free] = saddle_point.solve(np.zeros(free.size), rhs)[0]
    return out
