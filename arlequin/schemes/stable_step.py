"""The largest stable step of central differences."""

import math

import numpy as np

from arlequin.models.fem.dispersion import CorrectedAssembled
from arlequin.models.linalg.largest import largest_ratio
from arlequin.models.part import Deforming, FullMass
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly


def stable_step(assembly: Assembly, u: Array | None = None) -> float:
    """Bound of the stable step, s, of the cells as they are at u (d,), or at rest.

    It is the positive root of ω² Δt² + 2 δ Δt = 4 (2/ω without damping): ω² ≤ max over parts ω_p² + bounds of the
    springs and of the contact laws; δ the largest eigenvalue of M⁻¹D, D of the parts and dashpots, whose force lags by
    half a step. Absorbing junctions do not change it.
    """
    square = max(_frequencies(assembly, u)) ** 2
    diagonal = _least_mass(assembly)
    with np.errstate(divide="ignore"):
        inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=~assembly.ghost)
    square += assembly.links.frequency_bound(diagonal) ** 2
    if assembly.laws.has_regular:
        square += assembly.contact.frequency_bound(inverse) ** 2
    decay = 0.0 if assembly.damping is None else largest_ratio(assembly.damping, inverse)
    root = decay + np.sqrt(decay**2 + 4.0 * square)
    return 4.0 / root if root > 0.0 else np.inf


def limit_of_steps(assembly: Assembly, step: float, limit: float) -> float:
    """The step that is its own limit, s, from the limit l at a larger step Δt.

    The mass of dispersion-corrected parts grows with the step, M₀ + Δt²K/12: where such a part has the largest
    frequency, l² = 4/ω₀² + Δt²/3, and 6/ω₀² = (3l² − Δt²)/2.
    """
    largest = assembly.parts[int(np.argmax(_frequencies(assembly, None)))]
    square = 1.5 * limit**2 - 0.5 * step**2
    return math.sqrt(square) if isinstance(largest, CorrectedAssembled) and square > 0.0 else limit


def _frequencies(assembly: Assembly, u: Array | None) -> list[float]:
    pieces = assembly.split(np.zeros(assembly.dof_count) if u is None else u)
    return [
        part.frequency(piece) if isinstance(part, Deforming) else part.highest_frequency()
        for part, piece in zip(assembly.parts, pieces, strict=True)
    ]


def _least_mass(assembly: Assembly) -> Array:
    """The masses of the dofs (d,), kg, or a diagonal below the mass of parts where it is not diagonal."""
    parts = (part.least_mass if isinstance(part, FullMass) else part.mass.diagonal() for part in assembly.parts)
    return np.concatenate(list(parts))
