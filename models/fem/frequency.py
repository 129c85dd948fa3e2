"""Bound of the largest frequency of a part from the frequencies of its cells."""

import math
from collections.abc import Callable

import numpy as np

from arlequin.models.fem.cells import CellArrays, mean_gradients
from arlequin.models.fem.stiffness import elastic_blocks
from arlequin.models.types import Array

# entries of the element matrices in memory at once
_CHUNK = 4_000_000


def highest_frequency(
    cells: CellArrays,
    weight: Array,
    masses: Callable[[np.ndarray], Array],
    components: int,
    moduli: tuple[float, float, float],
) -> float:
    """ω ≥ every angular frequency of the part, rad/s: ω² is the largest eigenvalue of any (K_c, M_c).

    Rigorous (Rayleigh quotient: Σ uᵀK_c u ≤ max_c λ_c Σ uᵀM_c u). weight (c, q) is the stiffness weight ×
    measure, masses(cells) the element masses: lumped (c, n) or consistent (c, n, n); moduli: λ and μ at the points and
    the bulk modulus of the mean dilatation, Pa. Cells without stiffness are skipped.
    Source: Hughes, The Finite Element Method, 1987, §9.1 (Irons' bound).
    """
    size = components * cells.nodes.shape[1]
    step = max(1, _CHUNK // (size * size + cells.gradients[0].size))
    largest = 0.0
    active = np.flatnonzero(weight.max(axis=1) > 0)
    for start in range(0, active.size, step):
        subset = active[start : start + step]
        stiffness = element_stiffness(cells, subset, weight, components, *moduli[:2])
        if moduli[2]:
            volume = weight[subset].sum(axis=1)
            mean = mean_gradients(cells.take(subset), components).reshape(len(subset), -1)
            stiffness += (moduli[2] * volume)[:, None, None] * mean[:, :, None] * mean[:, None, :]
        scaled = _scaled(stiffness, masses(subset), components)
        if scaled is None:
            return math.inf
        largest = largest_eigenvalue(scaled, largest)
    return math.sqrt(largest)


def element_stiffness(
    cells: CellArrays, subset: np.ndarray, weight: Array, components: int, lam: float, mu: float
) -> Array:
    """Element stiffnesses (c, d, d) of a subset of cells, component-major inside: d = component·n + node."""
    gradients = cells.gradients[subset]
    derivatives = [np.ascontiguousarray(gradients[:, :, axis, :]) for axis in range(gradients.shape[2])]
    if cells.hoop is not None:
        derivatives.append(cells.hoop[subset])
    weights = weight[subset][:, :, None]

    def block(i: int, j: int) -> Array:
        return np.swapaxes(derivatives[i] * weights, 1, 2) @ derivatives[j]

    n = gradients.shape[3]
    matrices = np.empty((len(subset), components * n, components * n))
    for i, j, values in elastic_blocks(block, components, lam, mu, cells.hoop is not None):
        matrices[:, i * n : (i + 1) * n, j * n : (j + 1) * n] = values
        if i != j:
            matrices[:, j * n : (j + 1) * n, i * n : (i + 1) * n] = np.swapaxes(values, 1, 2)
    return matrices


def _scaled(stiffness: Array, masses: Array, components: int) -> Array | None:
    """M_c^{-1/2} K_c M_c^{-1/2} (by the Cholesky factor of a consistent M_c); None where a mass vanishes."""
    if masses.ndim == 2:
        if (masses <= 0).any():
            return None
        root = np.tile(1 / np.sqrt(masses), (1, components))
        return stiffness * root[:, :, None] * root[:, None, :]
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(masses))
    except np.linalg.LinAlgError:
        return None
    n = masses.shape[1]
    cells = stiffness.shape[0]
    blocks = stiffness.reshape(cells, components, n, components, n)
    blocks = np.einsum("cab,cibjd,ced->ciaje", inverse, blocks, inverse, optimize=True)
    return blocks.reshape(cells, components * n, components * n)


def largest_eigenvalue(matrices: Array, known: float) -> float:
    """The larger of `known` and the largest eigenvalue of the matrices (c, d, d).

    The Frobenius norm bounds the eigenvalue: cells below the largest value so far are not decomposed. Equal cells of
    structured meshes are decomposed once: they are identified by two projections, to 1e-9, by which the result is
    increased.
    """
    norms = np.linalg.norm(matrices, axis=(1, 2))
    candidates = np.flatnonzero(norms > known)
    if candidates.size == 0:
        return known
    probe = np.cos(1.0 + np.arange(matrices.shape[1]))
    images = matrices[candidates] @ probe
    unit = norms[candidates].max() * 1e-10
    keys = np.stack([norms[candidates], images @ probe, np.linalg.norm(images, axis=1)], axis=1)
    _, first = np.unique(np.round(keys / unit), axis=0, return_index=True)
    candidates = candidates[first]
    candidates = candidates[np.argsort(-norms[candidates])]
    for start in range(0, candidates.size, 64):
        part = candidates[start : start + 64]
        if norms[part[0]] <= known:
            break
        known = max(known, float(np.linalg.eigvalsh(matrices[part])[:, -1].max()) * (1 + 1e-9))
    return known
