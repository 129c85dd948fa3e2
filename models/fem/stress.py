"""Cauchy stress of solids of finite rotations at the quadrature points.

Cauchy stress of points that have a memory, from that of the state itself: C_p⁻¹ or ε_p at u, not before the step.

    large strains  σ = τ_dev(F, C_p⁻¹)/J + K ln J̄/J̄ 1,   small  σ = 2μ (dev sym ∇u − ε_p) + K ē 1

J̄ and ē are means over the cell, or those of the point. Nothing flows: what the last step did is in the memory.

Stresses at the quadrature points.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.fem.cells import CellArrays
from arlequin.models.materials.hyperelastic import NeoHooke
from arlequin.models.materials.plastic import J2, MEMORY
from arlequin.models.types import Array, Indices

if TYPE_CHECKING:
    from arlequin.models.fem.solid import Solid


def displacements(u: Any, count: int) -> Array:
    """The displacements (d,) of a part, m; UserError where they are not `count` numbers."""
    try:
        given = np.asarray(u, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        raise UserError.parameter("u", u, "must be displacements, m") from None
    if given.size != count:
        raise UserError.parameter("u", u, f"must be {count} displacements, m, as many as the part has")
    return given


def displacement_gradient(cells: CellArrays, u: Array, components: int) -> Array:
    """Displacement gradient H (c, q, component, axis) = ∂u_component/∂x_axis."""
    local = u.reshape(-1, components)[cells.nodes]
    # relative to the first node: a large translation leaves no round-off
    local = local - local[:, :1]
    return np.einsum("cqan,cni->cqia", cells.gradients, local, optimize=True)


def von_mises(stress: Array, names: tuple[str, ...]) -> Array:
    """√(3/2 s:s) in Pa from stress (..., component) with named components such as ("xx", "yy", "xy")."""
    total = np.zeros(stress.shape[:-1])
    normal = [stress[..., k] for k, name in enumerate(names) if name[0] == name[1]]
    normal += [np.zeros(stress.shape[:-1])] * (3 - len(normal))
    for k in range(3):
        total += 0.5 * (normal[k] - normal[(k + 1) % 3]) ** 2
    for k, name in enumerate(names):
        if name[0] != name[1]:
            total += 3 * stress[..., k] ** 2
    return np.sqrt(total)


SIX = ("xx", "yy", "zz", "yz", "xz", "xy")
Cells = tuple[Indices, Array, Array, Array]  # nodes, gradients, hoop (of no size but around an axis), measure


def finite_stress(cells: Cells, law: NeoHooke | J2, mean: bool, u: Array, memory: Array) -> tuple[Array, int]:
    """σ (c, q, 6), Pa, and a cell that is inside out (−1: none), of which σ is no answer."""
    from arlequin.models.fem import _stress_kernels

    out = np.zeros((*memory.shape[:2], len(SIX)))
    bad = _stress_kernels.finite_stress(*cells, law.kind, law.unyielding, mean, u, memory, out)
    return out, int(bad)


def small_stress(cells: Cells, law: NeoHooke | J2, mean: bool, u: Array, memory: Array) -> Array:
    """σ (c, q, 6), Pa, of small strains."""
    from arlequin.models.fem import _stress_kernels

    out = np.zeros((*memory.shape[:2], len(SIX)))
    _stress_kernels.small_stress(*cells, law.unyielding, mean, u, memory, out)
    return out


def invariants(stress: Array) -> tuple[Array, Array]:
    """Von Mises' stress √(3/2 s:s) and the pressure −tr σ/3, Pa, of σ (…, 6)."""
    return von_mises(stress, SIX), -stress[..., :3].mean(axis=-1)


def cauchy_stress(part: "Solid", u: Array, memory: Array | None = None) -> Array:
    """σ (c, q, component) in Pa, on the axes of space, at the displacement u (d,).

    St. Venant–Kirchhoff: σ = F S Fᵀ/det F. Neo-Hookean: σ = μ J^(−5/3) dev b + K ln J̄/J̄ 1, J̄ the mean of J over the
    cell, or J. F (3 × 3) has F_zz = 1 in plane strain, 1 + u_r/r around the axis, and in plane stress √(1 + 2E_zz) with
    E_zz = −ν/(1 − ν) (E_xx + E_yy), which is S_zz = 0. J2, which needs the memory (c, q, 9) of its points at u: see
    `point_stress`. Raises where a cell is flat or turned inside out.
    """
    u = np.ascontiguousarray(u, dtype=float)
    if isinstance(part.material, J2):
        return _metal(part, part.material, u, memory)
    cells, size = part.cells, part.components
    H = np.zeros((*cells.dx.shape, 3, 3))
    H[..., :size, :size] = displacement_gradient(cells, u, size)
    if cells.hoop is not None:
        H[..., 2, 2] = np.einsum("cqn,cn->cq", cells.hoop, u.reshape(-1, size)[cells.nodes, 0])
    if isinstance(part.material, NeoHooke):
        return _chosen(part, _neo_hooke(part, part.material, H))
    # from H, not FᵀF − 1, which would leave round-off of 1 where the strain is small
    E = 0.5 * (H + np.swapaxes(H, -1, -2) + np.swapaxes(H, -1, -2) @ H)
    if part.plane == "stress":
        nu = part.material.linear.poisson
        E[..., 2, 2] = -nu / (1 - nu) * (E[..., 0, 0] + E[..., 1, 1])
        H[..., 2, 2] = np.sqrt(np.maximum(1 + 2 * E[..., 2, 2], 0)) - 1
    F = H + np.eye(3)
    volume = _volume(part, F)
    lam, mu = part.material.linear.lame()
    S = 2 * mu * E + lam * np.trace(E, axis1=-2, axis2=-1)[..., None, None] * np.eye(3)
    return _chosen(part, F @ S @ np.swapaxes(F, -1, -2) / volume[..., None, None])


def _metal(part: "Solid", law: J2, u: Array, memory: Array | None) -> Array:
    """σ (c, q, component) of points with this memory."""
    if memory is None:
        raise UserError(
            f"{part.name}: the stress of J2 depends on what its points went through, not on the displacement alone: "
            "give their memory at u, which `Record(point_memory=True)` keeps"
        )
    cells, memory = part.cells, np.ascontiguousarray(memory, dtype=float)
    shape = (*cells.dx.shape, MEMORY)
    if memory.shape != shape or u.shape != (part.dof_count,):
        given = f"displacement of shape {u.shape} and memory of shape {memory.shape}"
        raise UserError(f"{part.name}: {given}, expected ({part.dof_count},) and {shape}")
    hoop = np.empty((0, 0, 0)) if cells.hoop is None else cells.hoop
    arrays = cells.nodes, cells.gradients, hoop, np.ascontiguousarray(cells.dx)
    if part.kinematics == "small":
        sigma = small_stress(arrays, law, part.mean_dilatation, u, memory)
    else:
        sigma, bad = finite_stress(arrays, law, part.mean_dilatation, u, memory)
        if bad >= 0:
            raise _inside_out(part, bad)
    alike = str.maketrans("rzt", "xyz") if part.axisymmetric else {}
    return sigma[..., [SIX.index(name.translate(alike)) for name in part.stress_components]]


def _neo_hooke(part: "Solid", law: NeoHooke, H: Array) -> Array:
    """σ (c, q, 3, 3) at ∂u/∂X."""
    J = _volume(part, H + np.eye(3))
    mean = (J * part.cells.dx).sum(axis=1, keepdims=True) / part.cells.dx.sum(axis=1, keepdims=True)
    swollen = np.broadcast_to(mean, J.shape) if part.mean_dilatation else J
    excess = H + np.swapaxes(H, -1, -2) + H @ np.swapaxes(H, -1, -2)  # b − 1
    excess = excess - np.trace(excess, axis1=-2, axis2=-1)[..., None, None] / 3 * np.eye(3)
    pressure = law.bulk * np.log(swollen) / swollen
    return (law.shear * J ** (-5 / 3))[..., None, None] * excess + pressure[..., None, None] * np.eye(3)


def _volume(part: "Solid", F: Array) -> Array:
    """det F (c, q), found positive."""
    volume = np.linalg.det(F)
    if not (volume > 0).all():
        cell = int(np.argmin(volume.min(axis=1)))
        raise _inside_out(part, cell)
    return np.asarray(volume)


def _inside_out(part: "Solid", cell: int) -> UserError:
    line = f"{part.name}: cell {cell} is flat or turned inside out: the strains are too large for this material"
    return UserError(line, code=FAILURE)


def _chosen(part: "Solid", sigma: Array) -> Array:
    """The components of the part, of σ (c, q, 3, 3)."""
    letters = "rzt" if part.axisymmetric else "xyz"
    places = [(letters.index(name[0]), letters.index(name[1])) for name in part.stress_components]
    return np.stack([sigma[..., i, j] for i, j in places], axis=-1)
