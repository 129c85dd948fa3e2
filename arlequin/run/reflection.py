"""Reflection at junctions: the share of the energy of a gluing zone in waves that the coarse mesh cannot carry."""

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

SHARE = 0.05  # from which on it is told: that of waves of 2.8 coarse cells
ENERGY = 1e-3  # of the largest energy of the system, which waves in the zone must have had for it to be told
_LEAST, _SAMPLES = 20, 100  # steps between two samples at least, and samples of a run at most


@dataclass(frozen=True, eq=False)
class _SampledZone:
    """A zone sampled at points p: velocities of both parts there as rows (p i, d) on the coordinates of the system,
    `heavy` and `light` (p i): half the masses that move with the fine and with the coarse part, kg; `components`
    (p i, i): 1 at the rows of each component."""

    junction: Junction
    coarse: csr_array
    fine: csr_array
    heavy: Array
    light: Array
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
        mass = (self.heavy + self.light).sum() / self.components.shape[1]
        momenta = (self.heavy * of_fine + self.light * of_coarse) @ self.components
        whole = of_fine**2 @ self.heavy + of_coarse**2 @ self.light - (momenta**2).sum(axis=1) / mass
        return (of_fine - of_coarse) ** 2 @ self.heavy, whole


class Reflection:
    """What the coarse mesh of each junction that does not absorb could not follow in the steps of a run.

    The constraint makes v_c the projection of v_f on the coarse functions: their difference is what these do not hold.
    At the steps n = k, 2k, … and the last one, with s the coordinate of the zone, v̄ the mean velocity in it,

        R_n = ∫ ½ρ s |v_f − v_c|² dx,    E_n = ∫ ½ρ (s |v_f − v̄|² + (1 − s) |v_c − v̄|²) dx   over the gluing zone,
        share = Σ R_n / Σ E_n.

    Projected on linear functions of cells H, a wave of length Λ leaves ε = 1 − 3 sinc⁴(πH/Λ)/(2 + cos 2πH/Λ) of its
    square, sinc x = sin x/x, and the share is ε/(2 − ε): 3e-4 at 8 H, 0.007 at 4 H, 0.03 at 3 H, 0.09 at 2.5 H, 0.3 at
    2 H, 0.9 at 1.5 H, 1 at H. Rigid and linear motions have R = 0. It is told from `SHARE` on, if 2 R_n, what waves
    with R_n have with their strain energy, was ever more than `ENERGY` of the largest energy of the system: not in
    quasi-static motion, nor where the parts rest at the zone. The integrals are sums over a sample of points. Not for
    runs on several ranks and with levels, nor where nothing is left of the coarse part (`Assembly.mediated`).
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
        """Take the steps of a batch that are sampled; of a batch with the velocities of its last step, this one."""
        n = batch.n if batch.momenta is None else batch.n[-1:]
        chosen = np.flatnonzero((n % self.every == 0) | (n == self._steps))
        if not chosen.size:
            return
        v = batch.v[chosen if batch.momenta is None else slice(None)]
        for name, zone in self._zones.items():
            left, whole = (own.reshape(v.shape[:-1]) for own in zone.energies(v.reshape(-1, v.shape[-1])))
            zero = np.zeros(left.shape[1:])
            first, second, most = self._sums.get(name, (zero, zero, zero))
            self._sums[name] = first + left.sum(axis=0), second + whole.sum(axis=0), np.maximum(most, left.max(axis=0))

    def shares(self, largest: Any) -> dict[str, float]:
        """The shares to be told, by the name of the junction; largest: energy (…) of the system, J."""
        found = {}
        for name, (left, whole, most) in self._sums.items():
            told = (2.0 * most > ENERGY * largest) & (left > SHARE * whole)
            if told.any():
                found[name] = float((left / np.where(whole > 0.0, whole, 1.0))[told].max())
        return found

    def line(self, name: str, share: float) -> str:
        """What a user is told of a junction, and what absorbs these waves."""
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
