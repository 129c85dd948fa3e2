"""Rigid solids in 2D and 3D: equimomental point masses under quadratic constraints (director formulation)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, kron

from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.fem.mass import CORRECTED
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import Rayleigh, check_density
from arlequin.models.nodal import DelegatingPart, LinearCoordinates
from arlequin.models.part import Assembled, Imposed, Weighting
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices

_FLAT = 1e-12  # moment ∫ρx² along an axis, relative to the largest, below which a body is flat

# vertices s (n + 1, n) with Σ s_k = 0 and Σ_k s_ki s_kj = (n + 1) δ_ij
_VERTICES = {
    2: np.sqrt(2.0) * np.stack([np.cos(2 * np.pi * np.arange(3) / 3), np.sin(2 * np.pi * np.arange(3) / 3)], axis=1),
    3: np.array([(1.0, 1.0, 1.0), (1.0, -1.0, -1.0), (-1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)]),
}


@dataclass(frozen=True, eq=False)
class Simplex:
    """n + 1 equal point masses that represent a rigid body in n dimensions, at p_k = c + Σ_i s_ki w_i.

    mass m (kg), centre c (n,), arms w_i = √(e_i/m) a_i (i, n), m, of the body's Euler tensor ∫ρ (x−c)(x−c)ᵀ =
    Σ e_i a_i a_iᵀ: the masses m/(n + 1) have the same mass, centre and Euler tensor. For displacements u (d,),
    d = n (n + 1), the arms are w_i(u) = w_i + δ_i, δ_i = Σ_k s_ki u_k/(n + 1), and the body is rigid where

        c_ij(u) = (w_i(u)·w_j(u) − w_i·w_j)/n_ij = 0,  i ≤ j,    n_ii = 2 |w_i|,  n_ij = √(|w_i|² + |w_j|²)

    (m): its stretches and shears, quadratic in u. The scales make the gradients at rest orthonormal up to a factor.
    Source: P. Betsch and P. Steinmann, Int. J. Numer. Methods Eng. 51 (2001) 445–473 (constraints of the directors);
    E. J. Routh, Dynamics of a System of Rigid Bodies (1905), §34 (equimomental masses).
    """

    mass: float
    centre: Array
    arms: Array

    @classmethod
    def of(cls, name: str, positions: Array, inertia: csr_array) -> "Simplex":
        """The simplex of nodes at `positions` (n, axis) with the mass matrix (n, n): SᵀMS = m/(n + 1)."""
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
        """Barycentric coordinates (p, n + 1) of points (p, n) of the body, by which displacements are interpolated."""
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
        arms, s = self.arms + self._change(u), self.vertices
        i, j = self._pairs
        rows = s.T[i][:, :, None] * arms[j][:, None] + s.T[j][:, :, None] * arms[i][:, None]
        return np.asarray(rows.reshape(len(i), -1) / (len(s) * self._scale[:, None]))

    def placed(self, u: Array) -> Array:
        """The rigid motion (d,) of the masses nearest to u (Kabsch's algorithm)."""
        at = self.points + u.reshape(self.points.shape)
        centre = at.mean(axis=0)
        left, _, right = np.linalg.svd((at - centre).T @ (self.points - self.centre))
        sign = np.ones(centre.size)
        sign[-1] = np.sign(np.linalg.det(left @ right))
        rotation = (left * sign) @ right
        return np.asarray(centre + (self.points - self.centre) @ rotation.T - self.points).ravel()

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


@dataclass(frozen=True, eq=False, repr=False)
class RigidPartAssembled(LinearCoordinates):
    """M, loads and constraints in the displacements (d,) of the masses of `simplex`, d = n (n + 1).

    The nodes move linearly with the masses, M = m/(n + 1) is constant, and no internal force acts but that of the
    constraints c(u) = 0. nodal: the part's finite elements; drag (1/s): a of the damping a M.
    """

    nodal: Assembled
    simplex: Simplex
    positions: Array
    drag: float

    @property
    def points(self) -> Array:
        """Initial positions (n + 1, n) of the masses, m."""
        return self.simplex.points

    @cached_property
    def mass(self) -> csr_array:
        """m/(n + 1) on the diagonal (d, d), kg."""
        count = self.points.size
        return csr_array(diags_array(np.full(count, self.simplex.mass / len(self.points))))

    @cached_property
    def stiffness(self) -> csr_array:
        """Zeros (d, d)."""
        return csr_array((self.points.size,) * 2)

    @cached_property
    def damping(self) -> csr_array | None:
        """a M; None without damping."""
        return csr_array(self.drag * self.mass) if self.drag else None

    @property
    def imposed(self) -> tuple[Imposed, ...]:
        """No imposed motions."""
        return ()

    @cached_property
    def shapes(self) -> csr_array:
        """S (nodal, d)."""
        shares = csr_array(self.simplex.shares(self.positions))
        return csr_array(kron(shares, eye_array(self.points.shape[1]), format="csr"))

    @property
    def inertia(self) -> csr_array:
        """Mass matrix (nodal, nodal) of the finite elements, kg."""
        return self.nodal.mass

    def coordinates(self, field: Array, imposed: Array) -> Array:
        """(n + 1)/m SᵀM u: the projection of the nodal field on linear fields; made rigid at the start of a run."""
        return np.asarray(self.shapes.T @ (self.nodal.mass @ field) / self.mass.diagonal())

    def strains(self, u: Array) -> Array:
        """c(u) (r,), m."""
        return self.simplex.strains(u)

    def strain_gradient(self, u: Array) -> Array:
        """∂c/∂u (r, d)."""
        return self.simplex.gradient(u)

    def placed(self, u: Array) -> Array:
        """The rigid motion nearest to u (d,)."""
        return self.simplex.placed(u)

    def load(self, t: float) -> Array:
        """Sᵀ f (d,) at the time t, N: dead loads."""
        return np.asarray(self.shapes.T @ self.nodal.load(t))

    @property
    def steady(self) -> bool:
        """Whether the external force is the same at all times."""
        return self.nodal.steady

    def strain_form(self) -> None:
        """None: the constraints are not linear in u."""

    def highest_frequency(self) -> float:
        """0 rad/s."""
        return 0.0

    def internal(self, u: Array) -> tuple[Array, float]:
        """Zero force and energy."""
        return np.zeros_like(u), 0.0

    def tangent(self, u: Array) -> csr_array:
        """Zeros."""
        return self.stiffness

    def least_volume(self, u: Array) -> tuple[float, int]:
        """(1, −1): the volume is constant, and there are no cells."""
        return 1.0, -1

    @property
    def viscous(self) -> bool:
        """False: no viscosity."""
        return False

    def mean_internal(self, u0: Array, u1: Array, theta: float = 0.5) -> Array:
        """Zeros (d,)."""
        return np.zeros_like(u0)

    def mean_viscous(self, u0: Array, u1: Array, step: float) -> Array:
        """Zeros (d,)."""
        return np.zeros_like(u0)

    def mean_tangent(
        self, u0: Array, u1: Array, step: float | None = None, symmetric: bool = False, theta: float = 0.5
    ) -> csr_array:
        """Zeros."""
        return self.stiffness


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class Rigid(DelegatingPart):
    """A solid treated as rigid, with rotations of any size, in 2D or 3D, under the part's name.

    Mass, body force, tractions (dead loads) and mass-proportional damping are those of the solid. Its surfaces can be
    used in interfaces, springs, relations and records. It takes no imposed motions: support it by relations or springs.
    All nodes have mass ("redistributed" counts as "consistent"). Initial fields are projected on rigid motions. `Theta`
    and `Midpoint` step it, other schemes raise UserError; with θ = ½ energy, momentum and angular momentum are
    conserved. The velocities are rigid in the mean of a step only, so that after an impact the force on a pivot
    alternates by a few per cent.

    Source: P. Betsch and P. Steinmann, Int. J. Numer. Methods Eng. 51 (2001) 445–473.

    >>> from arlequin.models.materials.elastic import LinearElastic; from arlequin.models.mesh import box
    >>> cube = Solid("cube", box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(1, 1, 1)), LinearElastic(1.0, density=2.0))
    >>> print(round(Rigid(cube).mass, 9), Rigid(cube).centre.round(9).tolist())
    2.0 [0.5, 0.5, 0.5]
    """

    part: Solid

    def __post_init__(self) -> None:
        if not isinstance(self.part, Solid):
            raise UserTypeError.parameter("part", self.part, "must be a Solid")
        check_density(self.name, self.part.material, "in a rigid part")
        if self.part.axisymmetric:
            raise UserError(f"{self.name}: a rigid part must be plane or 3D, not axisymmetric")
        if self.part.mass == CORRECTED:
            rule = "is for the waves of a part that deforms: take another mass in a rigid part"
            raise UserError.parameter("mass", self.part.mass, rule)
        if self.part.motions:
            raise UserError(f"{self.name}: a rigid part takes no imposed motions: support it by relations or springs")

    def __repr__(self) -> str:
        return f"Rigid({self.part!r})"

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return self._unweighted.simplex.mass

    @property
    def centre(self) -> Array:
        """Initial centre of mass (axis,), m."""
        return self._unweighted.simplex.centre

    def assemble(self, weighting: Weighting | None = None, massless: Indices | None = None) -> RigidPartAssembled:
        """The assembled body, with the weighted mass and loads under weights."""
        return self._unweighted if weighting is None else self._assembled(weighting)

    @cached_property
    def _unweighted(self) -> RigidPartAssembled:
        return self._assembled(None)

    def _assembled(self, weighting: Weighting | None) -> RigidPartAssembled:
        nodal, axes = self.part.assemble(weighting), self.components
        simplex = Simplex.of(self.name, self.positions, csr_array(nodal.mass[::axes, ::axes]))
        drag = self.part.damping.mass if isinstance(self.part.damping, Rayleigh) else 0.0
        return RigidPartAssembled(nodal, simplex, self.positions, drag)

    def stress(self, u: Array) -> Array:
        """Raises UserError: the stress of a rigid body is not determined."""
        raise UserError(f"{self.name}: the stress in a rigid part is not determined")
