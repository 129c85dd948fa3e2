"""Complex modes of damped, gyroscopic and non-conservative systems."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, LinearOperator, SuperLU, eigs, splu

from arlequin.models.checks import finite, instance, positive_integer
from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.parallel.ranks import refuse_ranks
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.densities import check_densities
from arlequin.system.system import System

Complex = NDArray[np.complex128]
_DENSE = 100  # unknowns up to which all eigenvalues are computed
_MARGIN = 6  # eigenvalues computed beyond those asked for
_REAL = 1e-9  # |Im λ| relative to |λ|, below which an eigenvalue is real


class ComplexModes(NamedTuple):
    """eigenvalues λ (m,), 1/s, of u = Re φ e^{λt}, with |λ| increasing; shapes φ (d, m), of unit largest entry.

    One of each pair of conjugate eigenvalues, that with Im λ > 0; real eigenvalues each.
    """

    eigenvalues: Complex
    shapes: Complex

    @property
    def frequencies(self) -> Array:
        """Im λ/2π (m,), Hz: frequencies of the damped motion."""
        return np.asarray(self.eigenvalues.imag / (2.0 * np.pi))

    @property
    def damping_ratios(self) -> Array:
        """ζ = −Re λ/|λ| (m,): below 0 of unstable modes, ±1 of motions that do not oscillate."""
        size = np.abs(self.eigenvalues)
        return np.divide(-self.eigenvalues.real, size, out=np.zeros_like(size), where=size > 0.0)


@dataclass(frozen=True, eq=False)
class QuadraticPencil:
    """λ²M + λC + K on free unknowns under constraints: Q(λ) x = Bᵀφ, B x = 0.

    mass, damping, stiffness (n, n), which need not be symmetric; constraints B (m, n).
    """

    mass: sp.csr_array
    damping: sp.csr_array
    stiffness: sp.csr_array
    constraints: sp.csr_array

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return int(self.mass.shape[0])

    def with_terms(self, damping: sp.csr_array, stiffness: sp.csr_array) -> "QuadraticPencil":
        """The pencil with C and K (n, n) added."""
        return QuadraticPencil(
            self.mass,
            sp.csr_array(self.damping + damping),
            sp.csr_array(self.stiffness + stiffness),
            self.constraints,
        )

    @cached_property
    def _basis(self) -> Array:
        """Basis (n, r) of B x = 0."""
        if not self.constraints.shape[0]:
            return np.eye(self.size)
        return np.asarray(scipy.linalg.null_space(self.constraints.toarray()))

    def near(self, shift: float, count: int) -> tuple[Complex, Complex]:
        """The eigenvalues (m,) closest to a real shift σ, 1/s, and shapes (n, m); m ≥ count where there are as many.

        With μ = 1/(λ − σ) the linearised pencil of (x, λx) is S z = μ z,

            S = (A − σE)⁻¹ E,   A = (0 1; −K −C),   E = diag(1, M),   (A − σE)⁻¹ (a, b) = (x, a + σx),
            Q(σ) x = −b − (C + σM) a

        so that one real factor of Q(σ) serves; eigenvalues at infinity, of unknowns without mass, are μ = 0.
        Source: Tisseur & Meerbergen, SIAM Rev. 43 (2001) 235–286.
        """
        if self.size <= _DENSE or 2 * (2 * count + _MARGIN) >= 2 * self.size - 2:
            return self._dense(shift)
        try:
            return self._sparse(shift, 2 * count + _MARGIN)
        except ArpackError:
            return self._dense(shift)

    def _dense(self, shift: float) -> tuple[Complex, Complex]:
        basis = self._basis
        mass, damping, stiffness = (basis.T @ (m @ basis) for m in (self.mass, self.damping, self.stiffness))
        shifted = damping + shift * mass
        # each unknown in the unit in which its stiffness is 1: rotations and displacements are of one size
        scale = 1.0 / np.sqrt(np.maximum(np.abs((stiffness + shift * shifted).diagonal()), 1e-300))
        mass, damping, stiffness, shifted = (scale[:, None] * m * scale for m in (mass, damping, stiffness, shifted))
        factor = scipy.linalg.lu_factor(stiffness + shift * shifted)
        left, right = (-scipy.linalg.lu_solve(factor, m) for m in (shifted, mass))
        operator = np.block([[left, right], [np.eye(len(left)) + shift * left, shift * right]])
        inverse, vectors = scipy.linalg.eig(operator)
        return _from_inverse(inverse, (basis * scale) @ vectors[: len(left)], shift)

    def _sparse(self, shift: float, count: int) -> tuple[Complex, Complex]:
        size, solve = self.size, self._solver(shift)
        shifted = sp.csr_array(self.damping + shift * self.mass)

        def apply(vector: Array) -> Array:
            first, second = vector[:size], vector[size:]
            x = solve(-(self.mass @ second) - shifted @ first)
            return np.concatenate([x, first + shift * x])

        start = np.random.default_rng(0).standard_normal(2 * size)
        operator = LinearOperator((2 * size, 2 * size), matvec=apply, dtype=float)
        inverse, vectors = eigs(operator, count, which="LM", v0=apply(apply(start)), tol=1e-13)
        return _from_inverse(inverse, vectors[:size], shift)

    def _solver(self, shift: float) -> Any:
        """x of Q(σ) x = b + Bᵀφ, B x = 0."""
        matrix = self.stiffness + shift * self.damping + shift**2 * self.mass
        count = self.constraints.shape[0]
        if not count:
            factor = _factor(matrix, shift)
            return factor.solve
        scale = abs(matrix).max()
        saddle = sp.block_array([[matrix, scale * self.constraints.T], [scale * self.constraints, None]])
        # dependent rows of constraints have no multiplier of their own
        saddle = saddle - sp.diags_array(np.repeat([0.0, 1e-13 * scale], [self.size, count]))
        factor, size = _factor(saddle, shift), self.size
        return lambda b: factor.solve(np.concatenate([b, np.zeros(count)]))[:size]


def _factor(matrix: Any, shift: float) -> SuperLU:
    try:
        return splu(sp.csc_matrix(matrix))
    except RuntimeError:
        raise UserError.parameter("shift", shift, "is an eigenvalue, 1/s: take another shift") from None


def _from_inverse(inverse: Complex, vectors: Complex, shift: float) -> tuple[Complex, Complex]:
    """λ = σ + 1/μ of finite eigenvalues with Im λ ≥ 0, closest to σ first, and their vectors."""
    finite_ones = np.abs(inverse) > 1e-13 * np.abs(inverse).max(initial=0.0)
    values, vectors = shift + 1.0 / inverse[finite_ones], vectors[:, finite_ones]
    real = np.abs(values.imag) <= _REAL * np.abs(values)
    values = np.where(real, values.real + 0.0j, values)
    chosen = np.flatnonzero(real | (values.imag > 0.0))
    chosen = chosen[np.argsort(np.abs(values[chosen] - shift), kind="stable")]
    return values[chosen], vectors[:, chosen]


def pencil_of(assembly: Assembly, flows: bool = True) -> tuple[QuadraticPencil, NDArray[np.int64]]:
    """The pencil of an assembled system on its free dofs, and their numbers (n,); flows: with the forces of its flows.

    Contact is left out; springs with a law enter by their stiffness and damping only.
    """
    if isinstance(assembly.mass, DistributedMatrix):
        refuse_ranks("complex_modes")
    assembly.rigidity.refuse("complex modes: take the solid itself, of a stiffer material")
    free = np.flatnonzero(assembly.free)
    size = (assembly.dof_count, assembly.dof_count)
    damping = sp.csr_array(size) if assembly.viscous is None else assembly.viscous
    mass, stiffness = assembly.mass, assembly.stiffness
    if flows and assembly.flow is not None:
        damping, stiffness = damping + assembly.flow.damping, stiffness + assembly.flow.stiffness
    m, c, k = (sp.csr_array(sp.csr_array(matrix)[free][:, free]) for matrix in (mass, damping, stiffness))
    return QuadraticPencil(m, c, k, sp.csr_array(assembly.constraints[:, free])), free


def shift_of(assembly: Assembly) -> float:
    """A positive number, 1/s, near the lowest |λ| ≠ 0 without flows, by which eigenvalues are shifted."""
    pencil, _ = pencil_of(assembly, flows=False)
    mass, stiffness = np.abs(pencil.mass.diagonal()), np.abs(pencil.stiffness.diagonal())
    with_mass = mass > 0.0
    if not with_mass.any():
        raise UserError("complex modes: no coordinate of the system has mass and is free to move")
    first = 1e-3 * float(np.sqrt((stiffness[with_mass] / mass[with_mass]).mean())) or 1.0
    lowest = np.abs(pencil.near(first, 1)[0])
    elastic = lowest[lowest > 1e-6 * first]
    # not an eigenvalue itself, also where a motion is overdamped
    return 0.83 * float(elastic.min()) if elastic.size else first


@checked_call
def complex_modes(system: System, count: int = 5, *, shift: float | None = None) -> ComplexModes:
    """The lowest complex modes u = Re φ e^{λt} of a system with damping and flows,

        (λ²M + λ(D + C_f) + K + K_f) φ = Cᵀφ_c,   C φ = 0,   imposed dofs at rest, no contact,

    with Rayleigh damping, dashpots, drag, absorbing junctions, and the matrices C_f, K_f of `System(…, flows=…)`, which
    are not symmetric. count: number of modes, a pair of conjugate eigenvalues as one. shift σ > 0, 1/s: the modes
    closest to it are found; by default near the lowest |λ|. All eigenvalues of small systems are computed, those of
    others by shift-invert Arnoldi iteration on the linearised pencil.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 1.0)  # m, kg
    >>> spring = aq.Spring("spring", mass.boundary("all"), stiffness=100.0, damping=1.0)  # N/m, N·s/m
    >>> modes = aq.complex_modes(aq.System([mass], springs=[spring]), count=1)
    >>> modes.eigenvalues.round(6).tolist(), modes.damping_ratios.round(6).tolist()  # ω √(1 − ζ²), ζ = c/(2 √(k m))
    ([(-0.5+9.987492j)], [0.05])

    Source: Tisseur & Meerbergen, SIAM Rev. 43 (2001) 235–286.
    """
    positive_integer("count", count)
    instance("system", system, System, "must be a System")
    check_densities(system.parts, "for complex modes")
    assembly = assemble(system)
    pencil, free = pencil_of(assembly)
    sigma = shift_of(assembly) if shift is None else finite("shift", shift)
    if sigma <= 0.0:
        raise UserError.parameter("shift", shift, "must be above 0, 1/s")
    values, vectors = pencil.near(sigma, count)
    order = np.argsort(np.abs(values) if shift is None else np.abs(values - sigma), kind="stable")
    if order.size < count:
        raise UserError.parameter("count", count, f"must be at most {order.size} for this system")
    order = order[:count]
    shapes: Complex = np.zeros((assembly.dof_count, count), dtype=np.complex128)
    shapes[free] = vectors[:, order]
    largest = shapes[np.argmax(np.abs(shapes), axis=0), np.arange(count)]
    shapes /= np.where(largest == 0.0, 1.0, largest)
    return ComplexModes(values[order], shapes)
