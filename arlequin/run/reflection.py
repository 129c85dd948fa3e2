"""Reflection at junctions: share of the energy of a gluing zone in waves that the coarse mesh cannot resolve."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from arlequin.junctions.junction import Junction
from arlequin.junctions.zone_sample import ZoneSample
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.types import Array
from arlequin.step.batch import StepBatch
from arlequin.system.assembly import Assembly
from arlequin.system.dofs import DofLayout

SHARE = 0.05  # largest share without a warning: that of waves of 2.8 coarse cells
ENERGY = 1e-3  # largest energy of such waves without a warning, relative to the largest energy of the system
_LEAST, _SAMPLES = 20, 100  # least number of steps between samples, largest number of samples of a run


@dataclass(frozen=True, eq=False)
class _SampledZone:
    """A zone sampled at points p: coarse, fine (p i, d): velocities of both parts by the coordinates of the system;
    fine_mass, coarse_mass (p i): half the masses of the fine and of the coarse part, kg; components (p i, i): 1 at the
    rows of each component."""

    junction: Junction
    coarse: csr_array
    fine: csr_array
    fine_mass: Array
    coarse_mass: Array
    components: Array

    @classmethod
    def of(cls, junction: Junction, layout: DofLayout) -> Self:
        sample, count = ZoneSample.of(junction), junction.coarse.components
        half, share = np.repeat(0.5 * sample.masses, count), np.repeat(sample.share, count)
        return cls(
            junction,
            layout.widened(sample.coarse, junction.coarse),
            layout.widened(sample.fine, junction.fine),
            share * half,
            (1.0 - share) * half,
            np.tile(np.eye(count), (sample.masses.size, 1)),
        )

    def energies(self, v: Array) -> tuple[Array, Array]:
        """R and E (b,), J, of `Reflection` at velocities (b, d)."""
        of_coarse, of_fine = (np.ascontiguousarray((rows @ v.T).T) for rows in (self.coarse, self.fine))
        mass = (self.fine_mass + self.coarse_mass).sum() / self.components.shape[1]
        momenta = (self.fine_mass * of_fine + self.coarse_mass * of_coarse) @ self.components
        total = of_fine**2 @ self.fine_mass + of_coarse**2 @ self.coarse_mass - (momenta**2).sum(axis=1) / mass
        return (of_fine - of_coarse) ** 2 @ self.fine_mass, total


class Reflection:
    """Energy share of unresolved waves in the gluing zone of each junction without absorbing term during a run.

    The constraint makes v_c the projection of v_f on the coarse functions: the difference is the unresolved part. At
    the steps n = k, 2k, … and the last one, with s the coordinate of the zone, v̄ the mean velocity in it,

        R_n = ∫ ½ρ s |v_f − v_c|² dx,    E_n = ∫ ½ρ (s |v_f − v̄|² + (1 − s) |v_c − v̄|²) dx   over the gluing zone,
        share = Σ R_n / Σ E_n.

    The projection of a wave of length Λ on linear functions of cells H has the relative squared residual
    ε = 1 − 3 sinc⁴(πH/Λ)/(2 + cos 2πH/Λ), sinc x = sin x/x, and the share is ε/(2 − ε): 3e-4 at 8 H, 0.007 at 4 H, 0.03
    at 3 H, 0.09 at 2.5 H, 0.3 at 2 H, 0.9 at 1.5 H, 1 at H. Rigid and linear motions have R = 0. Shares above `SHARE`
    are reported if the maximum of 2 R_n, the kinetic and strain energy of these waves, exceeds `ENERGY` of the largest
    energy of the system: not in quasi-static motion, nor where the parts are at rest in the zone. The integrals are
    sums over sample points. Not for runs on several ranks and with levels, nor where the coarse part has no dofs in the
    zone (`Assembly.mediated`).
    """

    def __init__(self, assembly: Assembly, steps: int) -> None:
        self.every = max(_LEAST, -(-steps // _SAMPLES))
        self._steps = steps
        junctions = () if isinstance(assembly.mass, DistributedMatrix) else assembly.system.junctions
        self._zones = {
            junction.name: _SampledZone.of(junction, assembly.layout)
            for junction in junctions
            if isinstance(junction, Junction) and not junction.absorbing and junction.name not in assembly.mediated
        }
        self._sums: dict[str, tuple[Array, Array, Array]] = {}

    def __bool__(self) -> bool:
        return bool(self._zones)

    def add(self, batch: StepBatch) -> None:
        """Add the sampled steps of a batch; the last step, if the batch has velocities of this one only."""
        n = batch.n if batch.momenta is None else batch.n[-1:]
        sampled = np.flatnonzero((n % self.every == 0) | (n == self._steps))
        if not sampled.size:
            return
        v = batch.v[sampled if batch.momenta is None else slice(None)]
        for name, zone in self._zones.items():
            residual, total = (energies.reshape(v.shape[:-1]) for energies in zone.energies(v.reshape(-1, v.shape[-1])))
            zero = np.zeros(residual.shape[1:])
            first, second, largest = self._sums.get(name, (zero, zero, zero))
            self._sums[name] = (
                first + residual.sum(axis=0),
                second + total.sum(axis=0),
                np.maximum(largest, residual.max(axis=0)),
            )

    def shares(self, largest: Any) -> dict[str, float]:
        """Shares above the limits, by name of the junction; largest: largest energy (…) of the system, J."""
        shares = {}
        for name, (residual, total, peak) in self._sums.items():
            significant = (2.0 * peak > ENERGY * largest) & (residual > SHARE * total)
            if significant.any():
                shares[name] = float((residual / np.where(total > 0.0, total, 1.0))[significant].max())
        return shares

    def line(self, name: str, share: float) -> str:
        """Warning of a junction's reflected share, with a remedy."""
        junction = self._zones[name].junction
        return (
            f"junction '{name}': {100 * share:.2g} % of the energy in its zone was in waves too short for the cells of "
            f"'{junction.coarse.name}' ({junction.coarse_size:.3g} m), which it reflects: Junction(…, absorbing=True) "
            "absorbs them, smaller cells carry them"
        )

    def state_dict(self) -> dict[str, Any]:
        """The sums so far."""
        return dict(self._sums)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from `state_dict()`."""
        self._sums = dict(state)
