"""Natural modes of a linearised system, and bases of modes with the static shapes of loads or outputs."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError

from arlequin.frequency.complex_factor import UNSTABLE, Factors
from arlequin.models.errors import UserError
from arlequin.models.linalg.lowest import all_modes, at_two_shifts, lowest_modes
from arlequin.models.types import Array

DENSE = 300  # free coordinates up to which all modes are computed
_FIRST = 1e-6  # first shift, relative to the mean ratio of stiffness and mass
_STATIC_SHIFT = 1e-4  # of static shapes of floating systems, relative to the lowest elastic ω²
_NOISE = 100.0 * np.finfo(float).eps  # of φᵀKφ, relative to |φ|ᵀ|K||φ|: below it a frequency is 0
_REST = 1e-7  # static response of a force beyond the modes, relative to that of the modes, that is round-off
_CARRIED = 1e-10  # the same, relative to that of springs of the mean stiffness, of a force that constraints carry
_RANK = 1e-10  # square of the share of a static shape, beyond the others, below which it is left out


def natural_modes(factors: Factors, count: int) -> tuple[Array, Array]:
    """ω (m,), rad/s, and shapes (d, m), φᵀMφ = 1, of the lowest modes of K and M without damping, supports at rest.

    As many as there are, where these are fewer. Rigid motions have ω = 0. The system is stable
    (`Factors.check_definite`), so that the eigenvalues nearest to a negative shift are the lowest.
    """
    linear = factors.linear
    moving = int((linear.assembly.free & ~linear.assembly.massless).sum())
    if not moving:
        raise UserError("frequency domain: no coordinate of the system has mass and is free to move")
    largest = moving - linear.constraints.shape[0] - 2  # of Lanczos' method
    if linear.free.size <= DENSE or count > largest:
        values, shapes = _all_modes(factors)
    else:
        try:
            values, shapes = _lanczos(factors, count)
        except ArpackError:
            raise UserError("frequency domain: the natural modes did not converge; take method='direct'") from None
    values, shapes = values[:count], shapes[:, :count]
    noise = _NOISE * np.einsum("dm,dm->m", np.abs(shapes), abs(linear.stiffness) @ np.abs(shapes))
    return np.sqrt(np.where(values > noise, values, 0.0)), shapes


def _lanczos(factors: Factors, count: int) -> tuple[Array, Array]:
    """The lowest eigenvalues, 1/s², and shapes."""
    linear, unit = factors.linear, _FIRST * factors.mean_ratio

    def search(shift: float, tolerance: float) -> tuple[Array, Array]:
        factor = factors.shifted(shift)
        return lowest_modes(
            linear.stiffness, linear.mass, count, lambda b: factor.solve(b[:, None])[0][:, 0],
            unit=unit, shift=shift, tolerance=tolerance,
        )  # fmt: skip

    return at_two_shifts(search, unit)


def _all_modes(factors: Factors) -> tuple[Array, Array]:
    """All eigenvalues of a small system, and shapes, on a basis of C y = 0."""
    linear = factors.linear
    rows = factors.rows[:, linear.free].toarray()
    inside = scipy.linalg.null_space(rows) if rows.size else np.eye(linear.free.size)
    if not inside.shape[1]:
        raise UserError("frequency domain: constraints leave no motion free")
    basis = np.zeros((linear.dof_count, inside.shape[1]))
    basis[linear.free] = inside
    mass, stiffness = (basis.T @ (each @ basis) for each in (linear.mass, linear.stiffness))
    try:
        values, shapes = all_modes(stiffness, mass, _FIRST * factors.mean_ratio)
    except np.linalg.LinAlgError:
        raise UserError(UNSTABLE) from None
    return values, basis @ shapes


def modes_up_to(factors: Factors, highest: float) -> tuple[Array, Array]:
    """The modes up to an angular frequency, rad/s."""
    count = 8
    while True:
        omega, shapes = natural_modes(factors, count)
        if omega.size < count or omega[-1] > highest:
            chosen = omega <= highest
            return omega[chosen], shapes[:, chosen]
        count *= 2


@dataclass(frozen=True, eq=False)
class ModalBasis:
    """A basis B (d, r) with BᵀKB = diag(k), BᵀMB = diag(m): modes with m = 1, then static shapes with k = 1."""

    shapes: Array
    stiffness: Array
    mass: Array
    modes: int


def with_static_shapes(
    factors: Factors, omega: Array, shapes: Array, forces: Array, outputs: Array | None = None
) -> ModalBasis:
    """The modes ω (m,) and (d, m) of the system without flows, with static shapes of forces (d, k) and outputs (d, o).

    The shapes K⁻¹ (f − M Σ φ φᵀf), less the modes: in statics the response is exact (residual flexibility), at a
    frequency ω the error of u is of the order (ω/ω_m)². That of an output rᵀu, z = A⁻ᵀr,

        rᵀ(u − B q) = (z − B p)ᵀ A (u − B q)   for any p,

    is the product of both errors, (ω/ω_m)⁴, where the shapes of r are in the basis, too. Of a floating system K + sM, s
    far below the elastic ω². In a flow the shapes are those of K + K_f, of outputs those of its transpose.

    Source: Dickens, Nakagawa & Wittbrodt, Computers & Structures 62, 1997; Ciarlet, The Finite Element Method for
    Elliptic Problems, 1978, §3.2 (the product).
    """
    first = forces.shape[1]
    forces = forces if outputs is None else np.hstack([forces, outputs])
    linear, in_flow = factors.linear.still, factors.linear.flow is not None
    shares = shapes.T @ forces
    # of modes that a flow couples to others the static response, too, is beyond them
    remaining = forces if in_flow else forces - linear.mass @ (shapes @ shares)
    elastic = omega > 0.0
    shift = _STATIC_SHIFT * (float(omega[elastic][0]) ** 2 if elastic.any() else _FIRST * factors.mean_ratio)
    factor = factors.shifted(0.0 if elastic.all() else shift)
    if in_flow:
        static = np.hstack([factor.solve(remaining[:, :first])[0], factor.adjoint(remaining[:, first:])[0]])
    else:
        static = factor.solve(remaining)[0]
    static = static - shapes @ (shapes.T @ (linear.mass @ static))
    norm = np.sqrt(np.maximum(np.einsum("dk,dk->k", static, linear.stiffness @ static), 0.0))
    of_modes = np.linalg.norm(shares[elastic] / omega[elastic, None], axis=0)
    of_springs = np.linalg.norm(forces[linear.free], axis=0) / np.sqrt(factors.scale)
    chosen = norm > np.maximum(_REST * of_modes, _CARRIED * of_springs)
    static = static[:, chosen] / norm[chosen]
    static = static - shapes @ (shapes.T @ (linear.mass @ static))  # again, to round-off
    if not static.shape[1]:
        return ModalBasis(shapes, omega**2, np.ones(omega.size), omega.size)
    values, vectors = np.linalg.eigh(_symmetric(static, linear.stiffness))
    chosen = values > _RANK
    static = static @ (vectors[:, chosen] / np.sqrt(values[chosen]))
    mass, turn = np.linalg.eigh(_symmetric(static, linear.mass))
    return ModalBasis(
        np.hstack([shapes, static @ turn]),
        np.concatenate([omega**2, np.ones(mass.size)]),
        np.concatenate([np.ones(omega.size), np.maximum(mass, 0.0)]),
        omega.size,
    )


def _symmetric(shapes: Array, matrix: sp.csr_array) -> Array:
    """Sᵀ A S, its symmetric part."""
    product = shapes.T @ (matrix @ shapes)
    return 0.5 * (product + product.T)
