"""Damping of the shortest waves of a mesh."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array

from arlequin.models import checks
from arlequin.models.fem.continuum_model import ContinuumModel
from arlequin.models.fem.local_fit import NodeCloud
from arlequin.models.fem.mass import lumped, node_major
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array


@checked_call
@dataclass(frozen=True)
class ShortWaveDamping:
    """Damping of the last octave of a mesh, D = strength · (c/H) Fᵀ M_l F, for fronts that coarse cells disperse.

    F is the difference of the value at each node and the polynomial of degree 5 fitted to the nodes around it
    (`NodeCloud.high_pass`), M_l is the lumped mass, c the speed of the fastest wave, H the spacing of the nodes. On a
    regular line a wave of length Λ decays as exp(−½ strength f² c t/H) with f = (20/924)(2 sin(πH/Λ))⁶: f² = 1.9 at
    2 H, 0.34 at 3 H, 0.03 at 4 H, 2e-5 at 8 H. Rigid motion, uniform strain rates and every motion that is locally a
    polynomial of degree 5 in space are not damped. The loss is in the column `damping`.

    The idea is that of selective filters in aeroacoustics: Bogey & Bailly, J. Comput. Phys. 194, 2004.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> mesh = aq.mesh.interval(0.0, 0.1, cells=20)
    >>> bar = aq.Bar("bar", mesh, steel, damping=aq.ShortWaveDamping())
    >>> result = aq.simulate(aq.System([bar], velocity=1.0), aq.Theta(0.5), duration=1e-5, step=1e-6)
    >>> bool(abs(result["energy"].sel(kind="damping")).max() < 1e-12 * result["energy"].sel(kind="kinetic").max())
    True
    """

    strength: float = 0.3

    def __post_init__(self) -> None:
        checks.positive("strength", self.strength)

    def matrix(self, part: ContinuumModel, mass_weight: Array) -> csr_array:
        """D (d, d), N·s/m, of a part; mass_weight (c, q): mass of the quadrature points, kg."""
        cells, order = part.cells, part.finite_element.order
        live = np.flatnonzero(mass_weight.max(axis=1) > 0.0)
        live_cells = cells.take(live)
        masses = lumped(live_cells, mass_weight[live], order, part.node_count).diagonal()
        numbers = np.flatnonzero(masses > 0.0)
        spacing = np.ptp(part.positions[live_cells.nodes], axis=1).mean(axis=0) / order
        points = part.positions[numbers]
        cloud = NodeCloud(points, numbers, part.node_count, spacing)
        rows = cloud.high_pass(np.arange(numbers.size))
        rate = self.strength * part.wave_speed / float(np.mean(spacing))
        scalar = rows.T @ diags_array(rate * masses[numbers]) @ rows
        return node_major(csr_array(scalar), part.components)
