"""Natural modes of a linearised system, and bases of modes with the static shapes of loads."""

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError

from arlequin.frequency.complex_factor import Factors
from arlequin.models.errors import UserError
from arlequin.models.linalg.lowest import lowest_modes
from arlequin.models.types import Array

DENSE = 300  # free coordinates up to which all modes are computed
_UNSTABLE = 1e-6  # negative eigenvalue, relative to the mean ratio of stiffness and mass, above round-off
_RANK = 1e-10  # share of a static shape, beyond the modes, below which it is left out
UNSTABLE = "the system is unstable at rest, so it has no steady oscillation: a beam buckles, or a load follows"


def shift_of(factors: Factors) -> float:
    """A small shift, 1/s², far below the elastic eigenvalues, with which K + shift M is regular."""
    linear = factors.linear
    mass = linear.mass.diagonal()[linear.free]
    inert = mass > 0.0
    if not inert.any():
        raise UserError("frequency domain: no coordinate of the system has mass and is free to move")
    ratio = linear.stiffness.diagonal()[linear.free][inert] / mass[inert]
    return 1e-6 * float(ratio.mean()) or 1.0


def natural_modes(factors: Factors, count: int) -> tuple[Array, Array]:
    """ω (m,), rad/s, and shapes (d, m), φᵀMφ = 1, of the lowest modes of K and M without damping, supports at rest.

    UserError where a mode is unstable.
    """
    linear, shift = factors.linear, shift_of(factors)
    moving = int((linear.assembly.free & ~linear.assembly.massless).sum()) - linear.constraints.shape[0]
    if moving < 1:
        raise UserError("frequency domain: constraints leave no motion free")
    count = min(count, moving)
    if linear.free.size <= DENSE or count > moving - 3:
        values, shapes = _all_modes(factors, shift)
    else:
        try:
            values, shapes = _lanczos(factors, count, shift)
        except ArpackError:
            raise UserError("frequency domain: the natural modes did not converge; take method='direct'") from None
    if values[0] < -_UNSTABLE * 1e6 * shift:
        raise UserError(UNSTABLE)
    return np.sqrt(np.maximum(values[:count], 0.0)), shapes[:, :count]


def _lanczos(factors: Factors, count: int, shift: float) -> tuple[Array, Array]:
    """The lowest eigenvalues, 1/s², and shapes; shifted near the lowest by a first search."""
    linear = factors.linear

    def search(shift: float, count: int, tolerance: float) -> tuple[Array, Array]:
        factor = factors.shifted(shift)
        return lowest_modes(
            linear.stiffness, linear.mass, count, lambda b: factor.solve(b[:, None])[0][:, 0],
            unit=shift_of(factors), shift=shift, tolerance=tolerance,
        )  # fmt: skip

    estimate, _ = search(shift, 1, 1e-2)
    return search(max(float(np.abs(estimate).max()), 1e-3 * shift), count, 0.0)


def _all_modes(factors: Factors, shift: float) -> tuple[Array, Array]:
    """All eigenvalues of a small system, those of M y = μ (K + shift M) y on a basis of C y = 0."""
    linear = factors.linear
    rows = linear.constraints[:, linear.free].toarray()
    basis = np.zeros(
        (linear.dof_count, linear.free.size - np.linalg.matrix_rank(rows) if rows.size else linear.free.size)
    )
    basis[linear.free] = scipy.linalg.null_space(rows) if rows.size else np.eye(linear.free.size)
    mass, stiffness = (basis.T @ (each @ basis) for each in (linear.mass, linear.stiffness))
    try:
        inverse, shapes = scipy.linalg.eigh(mass, stiffness + shift * mass)
    except np.linalg.LinAlgError:
        raise UserError(UNSTABLE) from None
    rank = int(np.linalg.matrix_rank(mass, hermitian=True))
    inverse, shapes = inverse[::-1][:rank], shapes[:, ::-1][:, :rank]
    return 1.0 / inverse - shift, basis @ (shapes / np.sqrt(inverse))


def modes_up_to(factors: Factors, highest: float) -> tuple[Array, Array]:
    """The modes up to an angular frequency, rad/s."""
    count = 8
    while True:
        omega, shapes = natural_modes(factors, count)
        if omega[-1] > highest or omega.size < count:
            chosen = omega <= highest
            return omega[chosen], shapes[:, chosen]
        count *= 2


def with_static_shapes(factors: Factors, shapes: Array, forces: Array) -> tuple[Array, Array]:
    """A basis (d, r) with BᵀMB = 1, BᵀKB = diag(ω²), of the modes (d, m) and the static shapes of forces (d, k), and ω.

    The shapes (K + sM)⁻¹ f, s small, less the modes: in statics the response is exact (residual flexibility), at
    frequencies above that of the modes up to the terms (ω/ω_m)⁴. Source: Dickens, Nakagawa & Wittbrodt, Computers &
    Structures 62, 1997.
    """
    linear = factors.linear
    if not forces.shape[1]:
        static = np.zeros((linear.dof_count, 0))
    else:
        sides = np.concatenate([forces.real, forces.imag], axis=1) if np.iscomplexobj(forces) else forces
        sides = sides[:, np.abs(sides).max(axis=0) > 0.0]
        static = factors.shifted(shift_of(factors)).solve(sides)[0].real if sides.shape[1] else sides
    basis = shapes
    for _ in range(2):  # twice for orthogonality to round-off
        energy = np.sqrt(np.einsum("dk,dk->k", static, linear.mass @ static))
        static = static[:, energy > 0.0] / energy[energy > 0.0]
        static = static - shapes @ (shapes.T @ (linear.mass @ static))
    if static.shape[1]:
        gram = static.T @ (linear.mass @ static)
        values, vectors = np.linalg.eigh(gram)
        chosen = values > _RANK * max(float(values[-1]), 1.0)
        basis = np.hstack([shapes, static @ (vectors[:, chosen] / np.sqrt(values[chosen]))])
    stiffness = basis.T @ (linear.stiffness @ basis)
    mass = basis.T @ (linear.mass @ basis)
    values, vectors = scipy.linalg.eigh(0.5 * (stiffness + stiffness.T), 0.5 * (mass + mass.T))
    return basis @ vectors, np.sqrt(np.maximum(values, 0.0))
