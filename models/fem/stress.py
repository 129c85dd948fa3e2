"""Stresses of solids at the quadrature points, Pa.

    St. Venant–Kirchhoff       σ = F S Fᵀ/det F,   S = λ tr(E) 1 + 2μ E
    NeoHooke, J2 (finite)      σ = τ_dev(F, C_p⁻¹)/J + K ln J̄/J̄ 1
    J2 (small strains)         σ = 2μ (dev sym ∇u − ε_p) + K ē 1

J̄ and ē are means over the cell, or those of the point. C_p⁻¹ and ε_p are the internal variables at the displacement u
itself: the evaluation has no plastic flow.
"""

from typing import Any

import numpy as np

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.fem.cells import CellArrays, KernelCells
from arlequin.models.fem.continuum_model import SolidModel
from arlequin.models.linalg.determinants import determinants
from arlequin.models.materials.plastic import MEMORY
from arlequin.models.materials.point import CompiledLaw
from arlequin.models.types import Array


def displacements(u: Any, count: int) -> Array:
    """The displacements (d,) of a part, m; UserError where they are not `count` numbers."""
    try:
        values = np.asarray(u, dtype=float).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        raise UserError.parameter("u", u, "must be displacements, m") from None
    if values.size != count:
        raise UserError.parameter("u", u, f"must be {count} displacements, m, as many as the part has")
    return values


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
STRESS_FIELDS = (
    ("mises_stress", "Pa", "von Mises stress, mean over the cell"),
    ("pressure", "Pa", "pressure, mean over the cell"),
)


def finite_stress(cells: KernelCells, law: CompiledLaw, mean: bool, u: Array, memory: Array) -> tuple[Array, int]:
    """σ (c, q, 6), Pa, and an inverted cell (−1: none), whose σ is not valid."""
    from arlequin.models.fem import _stress_kernels

    out = np.zeros((*memory.shape[:2], len(SIX)))
    kernel = _stress_kernels.finite_stress(law.kind, cells.axes)
    inverted = kernel(tuple(cells), (law.unyielding, mean), u, memory, out)
    return out, int(inverted)


def small_stress(cells: KernelCells, law: CompiledLaw, mean: bool, u: Array, memory: Array) -> Array:
    """σ (c, q, 6), Pa, of small strains."""
    from arlequin.models.fem import _stress_kernels

    out = np.empty((*memory.shape[:2], len(SIX)))
    _stress_kernels.small_stress(tuple(cells), (law.unyielding, mean), u, memory, out)
    return out


def invariants(stress: Array) -> tuple[Array, Array]:
    """Von Mises' stress √(3/2 s:s) and the pressure −tr σ/3, Pa, of σ (…, 6)."""
    return von_mises(stress, SIX), -stress[..., :3].mean(axis=-1)


def cauchy_stress(part: SolidModel, u: Array, memory: Array | None) -> Array:
    """σ (c, q, component) in Pa, on the axes of space, at the displacement u (d,) and internal variables (c, q, 9).

    F (3 × 3) has F_zz = 1 in plane strain, 1 + u_r/r around the axis, and in plane stress √(1 + 2E_zz) with E_zz =
    −ν/(1 − ν) (E_xx + E_yy), which is S_zz = 0. memory: the internal variables, needed where the material has plastic
    flow. UserError where a cell is flat or inverted.
    """
    u = np.ascontiguousarray(u, dtype=float)
    if isinstance(part.material, CompiledLaw):
        return _compiled(part, part.material, u, memory)
    cells, size = part.cells, part.components
    H = np.zeros((*cells.dx.shape, 3, 3))
    H[..., :size, :size] = displacement_gradient(cells, u, size)
    if cells.hoop is not None:
        H[..., 2, 2] = np.einsum("cqn,cn->cq", cells.hoop, u.reshape(-1, size)[cells.nodes, 0])
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
    sigma = F @ S @ np.swapaxes(F, -1, -2) / volume[..., None, None]
    letters = "rzt" if part.axisymmetric else "xyz"
    places = [(letters.index(name[0]), letters.index(name[1])) for name in part.stress_components]
    return np.stack([sigma[..., i, j] for i, j in places], axis=-1)


def part_cells(part: SolidModel) -> KernelCells:
    """All cells of a part, with their measure without weights."""
    cells = part.cells
    hoop = np.empty((0, 0, 0)) if cells.hoop is None else cells.hoop
    return KernelCells(cells.nodes, cells.gradients, hoop, np.ascontiguousarray(cells.dx))


def part_memory(part: SolidModel, memory: Array | None, variables: int, needed: bool) -> Array:
    """The internal variables (c, q, m), checked; 0 where they are not given and not needed."""
    shape = (*part.cells.dx.shape, variables)
    if memory is None:
        if needed:
            law = type(part.material).__name__
            raise UserError(
                f"{part.name}: the stress of {law} depends on internal variables, not on the displacement alone: give "
                "their values (memory) at u, which `Record(point_memory=True)` records"
            )
        return np.zeros(shape)
    memory = np.asarray(memory, dtype=float)
    if memory.shape == (shape[0], 1, shape[2]):  # cells of uniform strain with one point
        memory = np.broadcast_to(memory, shape)
    memory = np.ascontiguousarray(memory)
    if memory.shape != shape:
        raise UserError(f"{part.name}: memory of shape {memory.shape}, expected {shape}")
    return memory


def part_components(part: SolidModel, sigma: Array, inverted: int) -> Array:
    """The components (c, q, component) of the part from σ (c, q, 6); UserError where a cell is inverted (not −1)."""
    if inverted >= 0:
        raise _inside_out(part, inverted)
    names = str.maketrans("rzt", "xyz") if part.axisymmetric else {}
    return sigma[..., [SIX.index(name.translate(names)) for name in part.stress_components]]


def _compiled(part: SolidModel, law: CompiledLaw, u: Array, memory: Array | None) -> Array:
    memory = part_memory(part, memory, MEMORY, law.dissipates)
    if part.kinematics == "small":
        return part_components(part, small_stress(part_cells(part), law, part.mean_dilatation, u, memory), -1)
    return part_components(part, *finite_stress(part_cells(part), law, part.mean_dilatation, u, memory))


def _volume(part: SolidModel, F: Array) -> Array:
    """det F (c, q), checked to be positive."""
    volume = determinants(F)
    if not (volume > 0).all():
        cell = int(np.argmin(volume.min(axis=1)))
        raise _inside_out(part, cell)
    return np.asarray(volume)


def _inside_out(part: SolidModel, cell: int) -> UserError:
    line = f"{part.name}: cell {cell} is flat or turned inside out: the strains are too large for this material"
    return UserError(line, code=FAILURE)
