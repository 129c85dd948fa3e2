"""Cauchy stress of the St. Venant–Kirchhoff solid at the quadrature points."""

from typing import TYPE_CHECKING

import numpy as np

from models.errors import FAILURE, UserError
from models.part import Array
from models.stress import displacement_gradient

if TYPE_CHECKING:
    from models.solid import Solid


def cauchy_stress(part: "Solid", u: Array) -> Array:
    """σ = F S Fᵀ/det F (c, q, component) in Pa, on the axes of space, at the displacement u (d,).

    F (3 × 3) has F_zz = 1 in plane strain, 1 + u_r/r around the axis, and in plane stress √(1 + 2E_zz) with
    E_zz = −ν/(1 − ν) (E_xx + E_yy), which is S_zz = 0. Raises where a cell is flat or turned inside out.
    """
    u = np.asarray(u, dtype=float)
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
    volume = np.linalg.det(F)
    if not (volume > 0).all():
        cell = int(np.argmin(volume.min(axis=1)))
        line = f"{part.name}: cell {cell} is flat or turned inside out: the strains are too large for this material"
        raise UserError(line, code=FAILURE)
    lam, mu = part.material.linear.lame()
    S = 2 * mu * E + lam * np.trace(E, axis1=-2, axis2=-1)[..., None, None] * np.eye(3)
    sigma = F @ S @ np.swapaxes(F, -1, -2) / volume[..., None, None]
    letters = "rzt" if part.axisymmetric else "xyz"
    places = [(letters.index(name[0]), letters.index(name[1])) for name in part.stress_components]
    return np.stack([sigma[..., i, j] for i, j in places], axis=-1)
