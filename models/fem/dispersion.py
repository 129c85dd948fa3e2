r"""Linear elements whose leading dispersion error cancels, in space and with that of the time scheme.

A plane wave of wave vector k on cells of edges h_i has on the mesh the symbols K(k) and M(k). With Γ = (λ+μ) kkᵀ +
μ|k|² 1 they are K = Γ + K₄ + O(k⁶) and M = 1 + M₂ + O(k⁴) (per ρ), and a wave of polarisation v and Γv = ω²v travels at
its speed to fourth order if vᵀ(K₄ − ω²M₂)v = 0. Bars, triangles and tetrahedra take the mean of the consistent and the
lumped mass: M₂ = −Σ h²k²/12 cancels K₄ of a bar, and of scalar waves on equilateral triangles (elastic waves on
triangles stay of second order). On rectangles and boxes of any aspect ratio P and S waves of all directions need two
more terms, with

    g = (λ + μ) / (6 (λ + 3μ)):

* a coupling of the components by the mass, M_ij = −g k_i k_j (h_i² + h_j²)/2 for i ≠ j, and
* another stiffness of the hourglass modes ξ_iξ_j of the cells, with the coefficients of
  Q = 4μ(λ + 2μ) / (3(λ + 3μ)),   μ̃ = 2μ/3,   λ̃ = Q − 2μ̃.

In the modes that are linear in ξ_e the displacement gradient is ξ_e H, H = Σ_j g_ej ⊗ a_j (a_j = ∇ξ_j, n ∥ ∂x/∂ξ_e
normal to them, V the volume), and their energy ½ V/3 [λ (tr H)² + μ (H:H + H:Hᵀ)] becomes

    ½ V [λ̃ (tr H)² + μ̃ (H_p:H_p + H_p:H_pᵀ) + Q |nᵀH|²],   H_p = (1 − nnᵀ) H.

In the plane this is ½ V Q Σ |g|²|a|². As λ → ∞, Q → 4μ/3: these modes do not lock. Derivation: match the coefficients
of K_xx ~ (λ+2μ) k_x² (1 − A Σ h_j²k_j²) + μ Σ k_j² (1 − B h_x²k_x² − D h_l²k_l²) and K_xy ~ (λ+μ) k_x k_y (1 −
(h_x²k_x² + h_y²k_y²)/6 − F h_z²k_z²); the solution is unique: A = 1/12 + g, B = 1/12 − g, D = 1/12, F = 1/6 + g/2.

A cross term of the scalar mass, which is of sixth order, makes the largest error over all directions least.

Time: a scheme with the frequency Ω² = ω²(1 + e ω²Δt²) + O(Δt⁴) instead of ω² is corrected by the mass

    M = M₀ − e Δt² K,

as K v = Ω² M v is then M₀ ω² v = K v to fourth order, for P and S waves and cells of any shape (Δt²/6 for the
trapezoidal rule, −Δt²/12 for central differences). M stays positive: e Δt² is limited in each cell so that the largest
eigenvalue of e Δt² M₀⁻¹K is 0.9.

Sources: Goudreau & Taylor, Comput. Methods Appl. Mech. Eng. 2 (1972) 69–97; Marfurt, Geophysics 49 (1984) 533–549;
Krenk, Comput. Methods Appl. Mech. Eng. 191 (2001) 975–987; Guddati & Yue, Comput. Methods Appl. Mech. Eng. 193 (2004)
275–287 (scalar waves).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import bsr_array, coo_array, csr_array

from arlequin.models.fem.cells import CellArrays
from arlequin.models.fem.continuum_model import ContinuumModel
from arlequin.models.fem.elastic import ElasticAssembled, part_damping
from arlequin.models.fem.frequency import element_stiffness, largest_eigenvalue
from arlequin.models.types import Array, Indices

CROSS = (
    -5.0 / 432.0
)  # of h_i²h_j²k_i²k_j² in the scalar mass, in addition to the mean's (equal errors of P and S at 45°)
LARGEST_SHIFT = 0.9  # largest eigenvalue of e Δt² M₀⁻¹K in a cell
_LARGEST_CHANGE = 0.9  # largest share of the mass or the stiffness of a mode of a cell that is removed
_STRAIGHT = 0.2  # least share of v_i,i v_j,j in the coupling of the components by the mass
_SHEAR = 0.8  # share of the mass of shear strains that the coupling may remove before `_STRAIGHT` is raised
_CHUNK = 4_000_000  # entries of the element matrices in memory at once
_EQUAL = 1e-9  # relative difference of cells that count as equal


@dataclass(frozen=True, eq=False)
class CellFrames:
    """Quadrilaterals or hexahedra by their mapping at the centre.

    gradients (c, axis, n) b at the centre, 1/m; edges (c, axis) h_i, m; frame (c, axis, i): the orthogonal axes nearest
    to the edges (polar decomposition); a (c, i, axis) ∇ξ_i, 1/m; normals (c, i, axis) ∂x/∂ξ_i of unit length; modes
    (c, p, n) γ of ξ_iξ_j for the pairs i < j: amplitude γ·u, 0 for linear fields; shapes (m, n): all products of ξ at
    the nodes.
    """

    gradients: Array
    edges: Array
    frame: Array
    a: Array
    normals: Array
    modes: Array
    shapes: Array

    @classmethod
    def of(cls, corners: Array, reference: Array) -> "CellFrames":
        """corners (c, n, axis), m; reference (n, axis): ξ = ±1 of the nodes."""
        count, axes = reference.shape
        corners = corners - corners.mean(axis=1, keepdims=True)
        jacobian = np.einsum("cnj,ni->cji", corners, reference) / count
        inverse = np.linalg.inv(jacobian)  # (c, i, axis)
        b = np.einsum("cij,ni->cjn", inverse, reference) / count
        pairs = [reference[:, list(pair)].prod(axis=1) for pair in combinations(range(axes), 2)]
        shapes = np.array(pairs if axes == 2 else [*pairs, reference.prod(axis=1)])
        U, _, Vh = np.linalg.svd(jacobian)
        lengths = np.linalg.norm(jacobian, axis=1)
        moments = np.einsum("pn,cnj->cpj", shapes[: len(pairs)], corners)
        modes = (shapes[: len(pairs)] - np.einsum("cpj,cjn->cpn", moments, b)) / count
        return cls(
            gradients=b,
            edges=2.0 * lengths,
            frame=U @ Vh,
            a=inverse,
            normals=np.swapaxes(jacobian / lengths[:, None, :], 1, 2),
            modes=modes,
            shapes=shapes,
        )

    @property
    def axes(self) -> int:
        """2 or 3."""
        return self.edges.shape[1]

    def hourglass_stiffness(self, lam: float, mu: float) -> Array:
        """Change of the energy of the amplitudes per volume (c, p, axis, p, axis), Pa/m²."""
        axes, pairs = self.axes, list(combinations(range(self.axes), 2))
        q, mu_reduced = 4.0 * mu * (lam + 2.0 * mu) / (3.0 * (lam + 3.0 * mu)), 2.0 * mu / 3.0
        out = np.zeros((len(self.edges), len(pairs), axes, len(pairs), axes))
        eye = np.eye(axes)
        for e in range(axes):
            n = self.normals[:, e]
            nn = np.einsum("ci,ck->cik", n, n)
            other_axes = [j for j in range(axes) if j != e]
            for j in other_axes:
                for m in other_axes:
                    a, b = self.a[:, j], self.a[:, m]
                    dot = np.einsum("ci,ci->c", a, b)[:, None, None]
                    ab, ba = np.einsum("ci,ck->cik", a, b), np.einsum("ci,ck->cik", b, a)
                    corrected = (q - 2.0 * mu_reduced) * ab + mu_reduced * ((eye - nn) * dot + ba) + q * nn * dot
                    exact = (lam * ab + mu * (eye * dot + ba)) / 3.0
                    rows = pairs.index((min(e, j), max(e, j))), pairs.index((min(e, m), max(e, m)))
                    out[:, rows[0], :, rows[1], :] += corrected - exact
        return out

    def exact_hourglass(self, cells: CellArrays, weight: Array, lam: float, mu: float) -> Array:
        """Least energy of the amplitudes under any mean gradient (c, m, axis, m, axis), N/m, by the quadrature."""
        h = np.einsum("cqjn,an->cqaj", cells.gradients, self.shapes)
        total = weight.sum(axis=1)
        mean = np.einsum("cq,cqaj->caj", weight, h) / total[:, None, None]
        h = h - mean[:, None]
        t = np.einsum("cq,cqaj,cqbl->cajbl", weight, h, h, optimize=True)
        trace = np.einsum("cajbj->cab", t)
        eye = np.eye(self.axes)
        return lam * t + mu * np.swapaxes(t, 2, 4) + mu * np.einsum("cab,ik->caibk", trace, eye)

    def mass_change(self, g: float) -> Array:
        """Difference of a cell's mass from the mean of consistent and lumped, per its mass (c, n·axis, n·axis).

        The coupling is −g H_ij [s v_i,i v_j,j + (1 − s) v_i,j v_j,i], H_ij = (h_i² + h_j²)/2, on the axes of `frame`.
        Waves in the interior are the same for every s. The mean mass adds (h_i² + h_j²)/12 to the inertia of a
        rotation, per mass (half of that of the lumped mass), the second term 2 (1 − s) g H_ij and the first one
        nothing, but it makes the mass of dilatations small: s, at least 0.2 and larger in long cells, makes the bounds
        of the largest frequency sharp.
        """
        axes, nodes = self.axes, self.modes.shape[2]
        squares = self.edges**2
        pairs = 0.5 * (squares[:, :, None] + squares[:, None, :]) * (1.0 - np.eye(axes))
        relative = 6.0 * pairs / (self.edges[:, :, None] * self.edges[:, None, :])
        normal, shear = np.linalg.eigvalsh(relative)[:, -1], relative.max(axis=(1, 2))
        share = np.clip(1.0 - _SHEAR / np.maximum(g * shear, 1e-300), _STRAIGHT, shear / (normal + shear))
        b = np.einsum("cji,cjn->cin", self.frame, self.gradients)  # ∂/∂x'_i on the axes of the frame
        local = np.zeros((len(b), nodes, axes, nodes, axes))
        for i, j in combinations(range(axes), 2):
            size = g * pairs[:, i, j]
            straight = np.einsum("c,cn,cm->cnm", -size * share, b[:, i], b[:, j])
            transposed = np.einsum("c,cn,cm->cnm", -size * (1.0 - share), b[:, j], b[:, i])
            local[:, :, i, :, j] += straight + transposed
            local[:, :, j, :, i] += np.swapaxes(straight + transposed, 1, 2)
        change = np.einsum("cpi,cnimk,cqk->cnpmq", self.frame, local, self.frame, optimize=True)
        scalar = 16.0 * CROSS * np.einsum("cpn,cpm->cnm", self.modes, self.modes)
        change += np.einsum("cnm,ik->cnimk", scalar, np.eye(axes))
        return change.reshape(len(b), nodes * axes, nodes * axes)


def coupling_factor(lam: float, mu: float) -> float:
    """g = (λ + μ) / (6 (λ + 3μ))."""
    return (lam + mu) / (6.0 * (lam + 3.0 * mu))


@dataclass(frozen=True, eq=False)
class Hourglass:
    """Change of the stiffness in the hourglass modes: the energy ½ Σ_c gᵀ S_c g of the amplitudes g_p = Σ_n γ_pn u_n.

    nodes (c, n); modes (c, p, n) γ; blocks (c, p·axis, p·axis) S_c, N/m; node_count: nodes of the part.
    """

    nodes: Indices
    modes: Array
    blocks: Array
    node_count: int

    @property
    def axes(self) -> int:
        """Components of a node."""
        return self.blocks.shape[1] // self.modes.shape[1]

    def internal(self, u: Array) -> tuple[Array, float]:
        """Forces (d,), N, and energy, J, at u (d,); exactly 0 in a translation."""
        count, size = self.blocks.shape[:2]
        relative = (u.reshape(-1, self.axes) - u[: self.axes]).ravel()
        amplitudes = (self._rows @ relative).reshape(count, size, 1)
        stress = self.blocks @ amplitudes
        return self._rows_transposed @ stress.ravel(), 0.5 * float(np.vdot(stress, amplitudes))

    def strain_form(self) -> tuple[csr_array, Array]:
        """Amplitudes (s, d) on which the blocks S_c = Q Λ Qᵀ act one by one, QᵀΓ, and Λ (s,), N/m."""
        values, vectors = np.linalg.eigh(self.blocks)
        count = np.arange(len(values))
        eigenvectors = bsr_array((np.ascontiguousarray(np.swapaxes(vectors, 1, 2)), count, np.arange(len(values) + 1)))
        return csr_array(eigenvectors @ self._rows), values.ravel()

    @cached_property
    def _rows(self) -> csr_array:
        """Γ (c·p·axis, d): the amplitudes Γu."""
        axes, shape = self.axes, (*self.modes.shape[:2], self.axes, self.modes.shape[2])
        rows = np.arange(np.prod(shape[:3])).reshape(shape[:3])[..., None]
        columns = self.nodes[:, None, None, :] * axes + np.arange(axes)[None, None, :, None]
        values, rows, columns = (np.broadcast_to(x, shape).ravel() for x in (self.modes[:, :, None, :], rows, columns))
        return csr_array(coo_array((values, (rows, columns)), shape=(np.prod(shape[:3]), self.node_count * axes)))

    @cached_property
    def _rows_transposed(self) -> csr_array:
        return csr_array(self._rows.T)

    def matrix(self) -> csr_array:
        """(d, d), N/m."""
        size = self.node_count * self.axes
        total, dofs = csr_array((size, size)), _dofs(self.nodes, self.axes)
        for subset in _chunks(np.arange(len(dofs)), dofs.shape[1] ** 2):
            total = total + _assembled(dofs[subset], _spread(self.modes[subset], self.blocks[subset]), size)
        return csr_array(total)


@dataclass(frozen=True, eq=False)
class Correction:
    """Element matrices of a part with reduced dispersion, node-major: d = n·axes + axis.

    stiffness_weight, inertial_weight (c, q): α dx and β dx of the junctions' weights; density, kg/m³; frames: of
    quadrilaterals and hexahedra. stiffness_share, mass_share (c,): factors of the changes of a cell, 1 except in some
    distorted cells and where a weight varies much in a cell, so that no mode loses more than 90 % of its stiffness or
    mass. shift (c,): e Δt², limited, s².
    """

    cells: CellArrays
    components: int
    lame: tuple[float, float]
    density: float
    stiffness_weight: Array
    inertial_weight: Array
    frames: CellFrames | None
    stiffness_share: Array
    mass_share: Array
    shift: Array

    @classmethod
    def of(cls, part: ContinuumModel, weights: tuple[Array, Array], time_error: float) -> "Correction":
        """weights: α dx and β dx (c, q); time_error: e Δt², s²."""
        cells, axes = part.cells, part.components
        frames = None
        if axes > 1 and cells.nodes.shape[1] == 2**axes:
            reference = 2.0 * np.asarray(part.finite_element.scalar.doflocs) - 1.0
            frames = CellFrames.of(part.positions[cells.nodes], reference)
        ones, zeros = np.ones(cells.count), np.zeros(cells.count)
        correction = cls(cells, axes, part.lame, part.material.density, *weights, frames, ones, ones, zeros)
        if frames is not None:
            stiffness_share = correction._share(part.positions, correction._stiffness_change_over_exact, weights[0])
            mass_share = correction._share(part.positions, correction._mass_change_over_mean, weights[1])
            correction = replace(correction, stiffness_share=stiffness_share, mass_share=mass_share)
        if time_error > 0.0:
            squares = correction._of_distinct(part.positions, weights[1], correction._squares)
            limit = np.divide(LARGEST_SHIFT, squares, out=np.full(cells.count, np.inf), where=squares > 0.0)
            correction = replace(correction, shift=np.minimum(time_error, limit))
        elif time_error < 0.0:
            correction = replace(correction, shift=np.full(cells.count, time_error))
        return correction

    @property
    def mass_weight(self) -> Array:
        """ρβ dx (c, q), kg."""
        return self.density * self.inertial_weight

    @property
    def cell_size(self) -> int:
        """Entries of the arrays of a cell."""
        size = self.components * self.cells.nodes.shape[1]
        return size * size + self.cells.gradients[0].size

    def _of_distinct(self, positions: Array, weight: Array, values: Callable[[Indices], Array]) -> Array:
        """Values (c,) of the cells, computed once for cells of the same shape and weight; 0 where the weight is 0."""
        active = np.flatnonzero(weight.any(axis=1))
        if not active.size:
            return np.zeros(self.cells.count)
        corners = positions[self.cells.nodes[active]]
        corners = (corners - corners.mean(axis=1, keepdims=True)).reshape(active.size, -1)
        keys = [corners / np.abs(corners).max(), weight[active] / weight[active].sum(axis=1, keepdims=True)]
        _, first, place = np.unique(np.round(np.hstack(keys) / _EQUAL), axis=0, return_index=True, return_inverse=True)
        distinct = np.concatenate([values(subset) for subset in _chunks(active[first], self.cell_size)])
        out = np.zeros(self.cells.count)
        out[active] = distinct[place.ravel()]
        return out

    def _share(self, positions: Array, change: Callable[[Indices], Array], weight: Array) -> Array:
        """Factors (c,) of a relative change, such that it removes at most `_LARGEST_CHANGE` of a mode."""

        def least(subset: Indices) -> Array:
            return np.asarray(np.linalg.eigvalsh(change(subset))[:, 0])

        lowest = self._of_distinct(positions, weight, least)
        return np.minimum(1.0, _LARGEST_CHANGE / np.maximum(-lowest, 1e-300))

    def _stiffness_change_over_exact(self, subset: Indices) -> Array:
        """Change of S over the exact hourglass stiffness; axisymmetric: with λ of plane stress (free hoop strain)."""
        assert self.frames is not None
        lam, mu = self.lame
        lam_exact = lam if self.cells.hoop is None else 2.0 * lam * mu / (lam + 2.0 * mu)
        frames, weight = _frames_of(self.frames, subset), self.stiffness_weight[subset]
        exact = frames.exact_hourglass(self.cells.take(subset), weight, lam_exact, mu)
        size, pairs = exact.shape[1] * exact.shape[2], frames.modes.shape[1]
        change = np.zeros_like(exact)
        volume = weight.sum(axis=1)[:, None, None, None, None]
        change[:, :pairs, :, :pairs, :] = volume * frames.hourglass_stiffness(lam, mu)
        return _relative(change.reshape(-1, size, size), exact.reshape(-1, size, size))

    def _mass_change_over_mean(self, subset: Indices) -> Array:
        change = self.mass_change(subset)
        assert change is not None
        return _relative(change, self._mean_mass(subset))

    def _squares(self, subset: Indices) -> Array:
        """Largest eigenvalue (c,), 1/s², of the stiffness under the weight of the mass over the mass."""
        relative = _relative(self.stiffness(subset, self.inertial_weight), self.mass(subset))
        return np.asarray(np.linalg.eigvalsh(relative)[:, -1])

    def hourglass(self, node_count: int) -> Hourglass | None:
        """Change of the stiffness of the part under its weights; None for cells without hourglass modes."""
        if self.frames is None:
            return None
        active = np.flatnonzero(self.stiffness_weight.any(axis=1))
        blocks = self._hourglass_blocks(active, self.stiffness_weight)
        return Hourglass(self.cells.nodes[active], self.frames.modes[active], blocks, node_count)

    def _hourglass_blocks(self, subset: Indices, weight: Array) -> Array:
        """S (c, k, k) of a subset of cells, N/m."""
        assert self.frames is not None
        change = _frames_of(self.frames, subset).hourglass_stiffness(*self.lame)
        size = change.shape[1] * change.shape[2]
        volume = self.stiffness_share[subset] * weight[subset].sum(axis=1)
        return np.asarray(volume[:, None, None] * change.reshape(-1, size, size))

    def stiffness(self, subset: Indices, weight: Array) -> Array:
        """K_c (c, d, d) of a subset of cells under a weight (c, q)."""
        axes, nodes = self.components, self.cells.nodes.shape[1]
        size = axes * nodes
        plain = element_stiffness(self.cells, subset, weight, axes, *self.lame)
        out = plain.reshape(-1, axes, nodes, axes, nodes).transpose(0, 2, 1, 4, 3).reshape(-1, size, size)
        if self.frames is not None:
            out = out + _spread(self.frames.modes[subset], self._hourglass_blocks(subset, weight))
        return np.ascontiguousarray(out)

    def mass_change(self, subset: Indices) -> Array | None:
        """Difference of M_c from the mean of consistent and lumped mass (c, d, d), kg; None for zero."""
        out = None
        if self.frames is not None:
            total = self.mass_share[subset] * self.mass_weight[subset].sum(axis=1)
            out = total[:, None, None] * _frames_of(self.frames, subset).mass_change(coupling_factor(*self.lame))
        if self.shift.any():
            time_shift = self.shift[subset][:, None, None] * self.stiffness(subset, self.inertial_weight)
            out = -time_shift if out is None else out - time_shift
        return out

    def mass(self, subset: Indices) -> Array:
        """M_c (c, d, d), kg."""
        change, mean = self.mass_change(subset), self._mean_mass(subset)
        return mean if change is None else mean + change

    def _mean_mass(self, subset: Indices) -> Array:
        """Mean of consistent and lumped mass (c, d, d), kg."""
        weight, values = self.mass_weight[subset], self.cells.values
        products = (values[:, :, None] * values[:, None, :]).reshape(values.shape[0], -1)
        scalar = 0.5 * (weight @ products).reshape(len(subset), values.shape[1], values.shape[1])
        nodes = np.arange(values.shape[1])
        scalar[:, nodes, nodes] += 0.5 * self.lumped(subset)
        size = scalar.shape[1] * self.components
        return np.einsum("cnm,ik->cnimk", scalar, np.eye(self.components)).reshape(-1, size, size)

    def lumped(self, subset: Indices) -> Array:
        """Lumped masses (c, n), kg: the row sums, which preserve the first moments of the weighted mass."""
        return np.asarray(self.mass_weight[subset] @ self.cells.values)

    def mass_matrix_change(self, size: int) -> csr_array:
        """`mass_change` of all cells (d, d), kg."""
        total = csr_array((size, size))
        for subset in _chunks(np.flatnonzero(self.mass_weight.any(axis=1)), self.cell_size):
            change = self.mass_change(subset)
            if change is not None:
                total = total + _assembled(_dofs(self.cells.nodes[subset], self.components), change, size)
        return csr_array(0.5 * (total + total.T))

    def highest_frequency(self) -> float:
        """Bound of the largest angular frequency, rad/s: the largest of (K_c, M_c); inf where an M_c is not positive.

        Source: Hughes, The Finite Element Method, 1987, §9.1 (Irons' bound).
        """
        largest = 0.0
        active = np.flatnonzero(self.stiffness_weight.max(axis=1) > 0.0)
        for subset in _chunks(active, self.cell_size):
            try:
                relative = _relative(self.stiffness(subset, self.stiffness_weight), self.mass(subset))
            except np.linalg.LinAlgError:
                return math.inf
            largest = largest_eigenvalue(relative, largest)
        return math.sqrt(largest)

    def least_mass(self, node_count: int) -> Array:
        """A diagonal lower bound (d,) of M, kg: each cell's lumped masses times M_c's least eigenvalue over them."""
        out = np.zeros(node_count)
        active = np.flatnonzero(self.mass_weight.any(axis=1))
        for subset in _chunks(active, self.cell_size):
            lumped = self.lumped(subset)
            root = 1.0 / np.sqrt(np.repeat(np.maximum(lumped, 1e-300), self.components, axis=1))
            least = np.linalg.eigvalsh(self.mass(subset) * root[:, :, None] * root[:, None, :])[:, 0]
            share = np.maximum(least, 0.0)[:, None] * lumped
            out += np.bincount(self.cells.nodes[subset].ravel(), weights=share.ravel(), minlength=node_count)
        return np.repeat(out, self.components)


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedAssembled(ElasticAssembled):
    """A linear elastic part of reduced dispersion: its mass couples nodes and components."""

    correction: Correction
    hourglass: Hourglass | None

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,) in N and stored energy in J."""
        force, energy = super().internal(u)
        if self.hourglass is None:
            return force, energy
        hourglass_force, hourglass_energy = self.hourglass.internal(np.ascontiguousarray(u, dtype=float))
        return force + hourglass_force, energy + hourglass_energy

    def strains_beyond_cells(self) -> tuple[csr_array, Array] | None:
        return None if self.hourglass is None else self.hourglass.strain_form()

    def internal_each(self, u: Array, force: Array) -> Array:
        """Internal forces of each u (n, d), written to force (n, d), N; stored energies (n,), J."""
        energies = super().internal_each(u, force)
        if self.hourglass is not None:
            for i, displacement in enumerate(u):
                hourglass_force, hourglass_energy = self.hourglass.internal(displacement)
                force[i] += hourglass_force
                energies[i] += hourglass_energy
        return energies

    def highest_frequency(self) -> float:
        """Bound of the largest angular frequency, rad/s."""
        return self.correction.highest_frequency()

    @cached_property
    def least_mass(self) -> Array:
        """A diagonal lower bound (d,) of the mass, kg."""
        return self.correction.least_mass(self.stiffness.shape[0] // self.components)


def correct(assembled: ElasticAssembled, part: ContinuumModel, correction: Correction) -> CorrectedAssembled:
    """The part with the mass and hourglass stiffness of a correction; assembled has the mean of both masses."""
    hourglass = correction.hourglass(part.node_count)
    fields: dict[str, Any] = {name: getattr(assembled, name) for name in ElasticAssembled.__dataclass_fields__}
    size = part.dof_count
    fields["mass"] = csr_array(assembled.mass + correction.mass_matrix_change(size))
    if hourglass is not None:
        fields["stiffness"] = csr_array(assembled.stiffness + hourglass.matrix())
    fields["damping"] = part_damping(part, fields["mass"], fields["stiffness"], assembled.mass_weight)
    return CorrectedAssembled(**fields, correction=correction, hourglass=hourglass)


def _frames_of(frames: CellFrames, subset: Indices) -> CellFrames:
    names = ("gradients", "edges", "frame", "a", "normals", "modes")
    return replace(frames, **{name: getattr(frames, name)[subset] for name in names})


def _chunks(subset: Indices, size: int) -> Iterator[Indices]:
    """The cells in chunks whose arrays have at most `_CHUNK` entries."""
    step = max(1, _CHUNK // size)
    for start in range(0, subset.size, step):
        yield subset[start : start + step]


def _spread(modes: Array, blocks: Array) -> Array:
    """γᵀ S γ (c, n·axis, n·axis) of modes γ (c, p, n) and blocks S (c, p·axis, p·axis)."""
    count, pairs, nodes = modes.shape
    axes = blocks.shape[1] // pairs
    pair_blocks = blocks.reshape(count, pairs, axes, pairs, axes)
    spread = np.einsum("cpn,cpiqk,cqm->cnimk", modes, pair_blocks, modes, optimize=True)
    return np.ascontiguousarray(spread.reshape(count, nodes * axes, nodes * axes))


def _dofs(nodes: Indices, axes: int) -> Indices:
    """Numbers (c, n·axis) of the dofs of nodes (c, n)."""
    return (nodes[:, :, None] * axes + np.arange(axes)).reshape(len(nodes), -1)


def _assembled(dofs: Indices, matrices: Array, size: int) -> csr_array:
    """Sum (size, size) of the element matrices (c, d, d) on their dofs (c, d)."""
    rows, columns = (np.broadcast_to(part, matrices.shape).ravel() for part in (dofs[:, :, None], dofs[:, None, :]))
    return csr_array(coo_array((matrices.ravel(), (rows, columns)), shape=(size, size)))


def _relative(matrices: Array, positive: Array) -> Array:
    """L⁻¹ A L⁻ᵀ (c, d, d), B = L Lᵀ."""
    unit = np.trace(positive, axis1=1, axis2=2)[:, None, None] / positive.shape[1]
    inverse = np.linalg.inv(np.linalg.cholesky(positive + 1e-12 * unit * np.eye(positive.shape[1])))
    return inverse @ matrices @ np.swapaxes(inverse, 1, 2)
