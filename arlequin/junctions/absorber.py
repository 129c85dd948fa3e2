"""The absorbing term of a junction: damps waves that the coarse mesh cannot resolve."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, eye_array, kron

from arlequin.junctions.coupling import Shapes, scatter
from arlequin.models.checks import positive
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array


@dataclass(frozen=True)
class AbsorbingRows:
    """Rows J of the absorbing term, √(N·s/m), with the loss |J_c v_c + J_f v_f|², W: coarse (r, d_coarse), fine
    (r, d_fine)."""

    coarse: csr_array
    fine: csr_array


@checked_call
@dataclass(frozen=True)
class Absorber:
    """Damping of the velocity difference of the two models in the gluing zone:

        ∫ η(s) (v_f − v_c)·(v_f* − v_c*) dx,    η = strength · (ρc/H) (1 − s)^(W/8H),

    ρc the impedance of the coarse part's material, H its cells, W the width of the zone, s from 0 at the fine part's
    inner end to 1. Waves that the coarse mesh resolves are equal in both models and are hardly damped; shorter ones are
    absorbed, since the coarse model does not follow them. η is largest where the waves enter, and falls the more slowly
    the wider the zone is, so that the term itself does not reflect them.

    The default strength minimises the reflection of waves of 0.7 to 1.7 H in zones of 4 H and 8 H; waves of 10 H lose
    2e-4 to 5e-4 of their energy.
    """

    strength: float = 0.4

    def __post_init__(self) -> None:
        positive("strength", self.strength)

    def density(self, s: Array, impedance: float, width: float, size: float) -> Array:
        """η at the zone's coordinate s, N·s/m⁴: impedance ρc in Pa·s/m, width W and coarse cells H in m."""
        return self.strength * impedance / size * np.clip(1.0 - s, 0.0, 1.0) ** (width / (8.0 * size))


def absorbing_rows(coarse: Shapes, fine: Shapes, loss: Array, components: int) -> AbsorbingRows:
    """Rows √(η dx) (φ_f − φ_c) at the quadrature points; loss (p, q) is η dx, N·s/m."""
    root = np.sqrt(np.maximum(loss, 0.0))
    return AbsorbingRows(_rows(coarse, -root, components), _rows(fine, root, components))


def _rows(shapes: Shapes, factor: Array, components: int) -> csr_array:
    """Values of the functions at the points times the factor (p, q), as rows (p q components, d)."""
    count, points = factor.shape
    row = np.arange(count * points).reshape(count, points)
    scalar = scatter(row, shapes.nodes[:, :, None], shapes.values * factor, (row.size, shapes.size))
    return csr_array(kron(scalar, eye_array(components), format="csr"))
