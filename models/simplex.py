"""A rigid body as equal point masses: the simplex with its mass, centre and moments."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from models.errors import UserError
from models.types import Array

_FLAT = 1e-12  # moment ∫ρx² along an axis, relative to the largest, below which a body is flat

# vertices s (n + 1, n) with Σ s_k = 0 and Σ_k s_ki s_kj = (n + 1) δ_ij
_VERTICES = {
    2: np.sqrt(2.0) * np.stack([np.cos(2 * np.pi * np.arange(3) / 3), np.sin(2 * np.pi * np.arange(3) / 3)], axis=1),
    3: np.array([(1.0, 1.0, 1.0), (1.0, -1.0, -1.0), (-1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)]),
}


@dataclass(frozen=True, eq=False)
class Simplex:
    """n + 1 equal point masses that move as a rigid body of n dimensions does, at p_k = c + Σ_i s_ki w_i.

    mass m (kg), centre c (n,), arms w_i = √(e_i/m) a_i (i, n), m, of the body's Euler tensor ∫ρ (x−c)(x−c)ᵀ =
    Σ e_i a_i a_iᵀ: the masses m/(n + 1) have the same mass, centre and Euler tensor. For displacements u (d,),
    d = n (n + 1), the arms are w_i(u) = w_i + δ_i, δ_i = Σ_k s_ki u_k/(n + 1), and the body is rigid where

        c_ij(u) = (w_i(u)·w_j(u) − w_i·w_j)/n_ij = 0,  i ≤ j,    n_ii = 2 |w_i|,  n_ij = √(|w_i|² + |w_j|²)

    (m): its stretches and shears, quadratic in u. The scales make the gradients orthonormal, but for a factor, at rest.
    Source: P. Betsch and P. Steinmann, Int. J. Numer. Methods Eng. 51 (2001) 445–473 (constraints of the directors);
    E. J. Routh, Dynamics of a System of Rigid Bodies (1905), §34 (equimomental masses).
    """

    mass: float
    centre: Array
    arms: Array

    @classmethod
    def of(cls, name: str, positions: Array, inertia: csr_array) -> "Simplex":
        """Of nodes at `positions` (n, axis) with the mass matrix (n, n): it moves them with SᵀMS = m/(n + 1)."""
        shares = np.asarray(inertia.sum(axis=0)).ravel()
        mass = float(shares.sum())
        centre = shares @ positions / mass
        arms = positions - centre
        moments, axes = np.linalg.eigh(arms.T @ (inertia @ arms))
        if not moments[0] > _FLAT * moments[-1]:
            raise UserError(f"{name}: a rigid part must not be flat (its mass lies in a plane or on a line)")
        return cls(mass, centre, np.sqrt(moments / mass)[:, None] * axes.T)

    @property
    def vertices(self) -> Array:
        """s (n + 1, n)."""
        return _VERTICES[self.centre.size]

    @cached_property
    def points(self) -> Array:
        """Initial positions p_k (n + 1, n), m."""
        return np.asarray(self.centre + self.vertices @ self.arms)

    def shares(self, positions: Array) -> Array:
        """How places (p, n) of the body move with the masses (p, n + 1): their barycentric coordinates."""
        along = (positions - self.centre) @ (self.arms / (self.arms**2).sum(axis=1)[:, None]).T
        return np.asarray((1.0 + along @ self.vertices.T) / len(self.vertices))

    def strains(self, u: Array) -> Array:
        """c (n(n+1)/2,), m, at the displacements u (d,) of the masses."""
        change = self._change(u)
        i, j = self._pairs
        products = (self.arms[i] * change[j] + change[i] * self.arms[j] + change[i] * change[j]).sum(axis=1)
        return np.asarray(products / self._scale)

    def gradient(self, u: Array) -> Array:
        """∂c/∂u (n(n+1)/2, d) at u: linear in u."""
        now, s = self.arms + self._change(u), self.vertices
        i, j = self._pairs
        rows = s.T[i][:, :, None] * now[j][:, None] + s.T[j][:, :, None] * now[i][:, None]
        return np.asarray(rows.reshape(len(i), -1) / (len(s) * self._scale[:, None]))

    def placed(self, u: Array) -> Array:
        """The rigid motion (d,) of the masses that comes nearest to u (Kabsch's)."""
        at = self.points + u.reshape(self.points.shape)
        centre = at.mean(axis=0)
        left, _, right = np.linalg.svd((at - centre).T @ (self.points - self.centre))
        sign = np.ones(centre.size)
        sign[-1] = np.sign(np.linalg.det(left @ right))
        turn = (left * sign) @ right
        return np.asarray(centre + (self.points - self.centre) @ turn.T - self.points).ravel()

    def _change(self, u: Array) -> Array:
        """δ (i, n)."""
        return np.asarray(self.vertices.T @ u.reshape(self.points.shape) / len(self.vertices))

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        return np.triu_indices(self.centre.size)

    @cached_property
    def _scale(self) -> Array:
        squares = (self.arms**2).sum(axis=1)
        i, j = self._pairs
        return np.where(i == j, 2.0 * np.sqrt(squares[i]), np.sqrt(squares[i] + squares[j]))
