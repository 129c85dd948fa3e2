"""Mass matrices: consistent, lumped, and redistributed away from the contact nodes; names of all kinds of mass."""

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array, eye_array, kron

from arlequin.models.errors import UserError
from arlequin.models.fem.cells import CellArrays
from arlequin.models.types import Array, Indices

CORRECTED = "dispersion"
KINDS = ("consistent", "lumped", "redistributed", CORRECTED)

# Number of nodes that receive the mass of a massless node, by dimension. With the nearest two alone, the mass would
# concentrate in one node and oscillate (an impact pressure then varies by 7.1 times its jump, not 2.7).
NEIGHBOURS = (10, 24, 48)

# Share of a cell's lumped mass that is spread by the cell's mean weight (see element_lumped).
_MEAN_SHARE = 0.25


def node_major(scalar: csr_array, components: int) -> csr_array:
    """M_scalar ⊗ I: the same mass for every component, node-major."""
    if components == 1:
        return scalar
    return csr_array(kron(scalar, eye_array(components), format="csr"))


def element_lumped(cells: CellArrays, weight: Array, order: int) -> Array:
    """Lumped element masses (c, n); weight (c, q) is density × mass weight × measure.

    Order 1: row sums ∫ ρφ_n. Above: the diagonal of the consistent mass scaled to the cell's mass, positive where row
    sums are not; of spectral elements it is the Lobatto rule (`arlequin.models.fem.spectral`). Where a junction's
    weight varies in the cell, a quarter of the mass is shared out as if the cell had its mean weight: otherwise the
    light nodes where the weight ends cost 6 % of the stable step of triangles (with it 3 %; with all of the mass, none,
    but six times the reflected energy of a long wave). Above order 2 the scaling by itself shares out 1/(2p) of it,
    which costs 7 % of the stable step of order 3 and 2 % of order 4.
    Source: Hinton, Rock & Zienkiewicz, Earthquake Engineering and Structural Dynamics 4, 1976.
    """
    shapes = cells.values if order == 1 else cells.values**2
    totals = weight.sum(axis=1, keepdims=True)

    def share(measure: Array) -> Array:
        parts = measure @ shapes
        total = parts.sum(axis=1, keepdims=True)
        return np.asarray(totals * np.divide(parts, total, out=np.zeros_like(parts), where=total > 0))

    if order > 2:
        return share(weight)
    return (1.0 - _MEAN_SHARE) * share(weight) + _MEAN_SHARE * share(cells.dx)


def lumped(cells: CellArrays, weight: Array, order: int, node_count: int) -> csr_array:
    """Diagonal scalar mass (n, n)."""
    masses = element_lumped(cells, weight, order)
    diagonal = np.bincount(cells.nodes.ravel(), weights=masses.ravel(), minlength=node_count)
    return csr_array(diags_array(diagonal))


def redistributed(scalar: csr_array, positions: Array, massless: Indices) -> csr_array:
    """M_r = Eᵀ M E (n, n): no mass at the massless nodes; total mass, first moments and inertia are preserved.

    E extends the other nodes' values linearly to the massless ones (E reproduces every linear field), so
    xᵀ M_r x = xᵀ M x for x linear in space. M_r is positive definite on the other nodes where M is. Nodes without mass
    in M, in cells of weight 0 under an overlap, stay without.
    Source of the idea: Khenous, Laborde & Renard, European Journal of Mechanics A 27, 2008.
    """
    heavy = np.flatnonzero(scalar.diagonal() > 0.0)
    within = csr_array((np.ones(heavy.size), (np.arange(heavy.size), heavy)), shape=(heavy.size, scalar.shape[0]))
    extension = linear_extension(positions[heavy], np.flatnonzero(np.isin(heavy, massless))) @ within
    return csr_array(extension.T @ scalar[heavy][:, heavy] @ extension)


def linear_extension(positions: Array, massless: Indices) -> csr_array:
    """E (n, n): identity on the nodes with mass, zero columns at the massless ones.

    Row k of a massless node: the weights of least norm on its nearest nodes with Σ E_kj = 1 and Σ E_kj x_j =
    x_k.
    """
    count, axes = positions.shape
    massless = np.unique(np.asarray(massless, dtype=np.int64))
    massive = np.setdiff1d(np.arange(count), massless)
    rows, columns, values = [massive], [massive], [np.ones(massive.size)]
    pending = massless
    from scipy.spatial import cKDTree

    tree = cKDTree(positions[massive]) if massive.size else None
    neighbours = NEIGHBOURS[axes - 1]
    while pending.size:
        if tree is None or neighbours > 64 * (axes + 1):
            where = ", ".join(f"{x:.6g}" for x in positions[pending[0]])
            raise UserError(f"redistributed mass: no nodes with mass around the massless node at ({where})", code=1)
        size = min(neighbours, massive.size)
        _, near = tree.query(positions[pending], k=size)
        near = massive[near.reshape(pending.size, size)]
        weights, sound = _least_norm(positions[near] - positions[pending][:, None, :])
        rows.append(np.repeat(pending[sound], size))
        columns.append(near[sound].ravel())
        values.append(weights[sound].ravel())
        pending = pending[~sound]
        neighbours = 2 * neighbours if size < massive.size else 10**9
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return csr_array(coo_array(entries, shape=(count, count)))


def _least_norm(offsets: Array) -> tuple[Array, np.ndarray]:
    """Weights (k, j) of least norm with Σ_j w = 1 and Σ_j w x_j = 0, and whether each row is sound (k,).

    offsets (k, j, axis) from the massless node. Not sound: the neighbours do not span space (they lie on a
    line), or the extrapolation is so long that it would amplify (Σ w² large).
    """
    scale = np.abs(offsets).max(axis=(1, 2))
    conditions = np.concatenate([np.ones((*offsets.shape[:2], 1)), offsets / scale[:, None, None]], axis=2)
    target = np.zeros((offsets.shape[0], conditions.shape[2], 1))
    target[:, 0] = 1
    inverse = np.linalg.pinv(np.swapaxes(conditions, 1, 2), rcond=1e-8)
    weights = inverse @ target
    # one step of refinement: the moments are exact to round-off, not to the accuracy of the pseudo-inverse
    weights += inverse @ (target - np.swapaxes(conditions, 1, 2) @ weights)
    residual = np.abs(np.swapaxes(conditions, 1, 2) @ weights - target).max(axis=(1, 2))
    weights = weights[:, :, 0]
    return weights, (residual < 1e-12) & ((weights**2).sum(axis=1) <= 6.0)
