"""Cauchy stress of points that have a memory, from that of the state itself: C_p⁻¹ or ε_p at u, not before the step.

    large strains  σ = τ_dev(F, C_p⁻¹)/J + K ln J̄/J̄ 1,   small  σ = 2μ (dev sym ∇u − ε_p) + K ē 1

J̄ and ē are means over the cell, or those of the point. Nothing flows: what the last step did is in the memory.
"""

import numpy as np

from models.hyperelastic import NeoHooke
from models.plastic import J2
from models.stress import von_mises
from models.types import Array, Indices

SIX = ("xx", "yy", "zz", "yz", "xz", "xy")
Cells = tuple[Indices, Array, Array, Array]  # nodes, gradients, hoop (of no size but around an axis), measure


def finite_stress(cells: Cells, law: NeoHooke | J2, mean: bool, u: Array, memory: Array) -> tuple[Array, int]:
    """σ (c, q, 6), Pa, and a cell that is inside out (−1: none), of which σ is no answer."""
    from models import _stress_kernels

    out = np.zeros((*memory.shape[:2], len(SIX)))
    bad = _stress_kernels.finite_stress(*cells, law.kind, law.unyielding, mean, u, memory, out)
    return out, int(bad)


def small_stress(cells: Cells, law: NeoHooke | J2, mean: bool, u: Array, memory: Array) -> Array:
    """σ (c, q, 6), Pa, of small strains."""
    from models import _stress_kernels

    out = np.zeros((*memory.shape[:2], len(SIX)))
    _stress_kernels.small_stress(*cells, law.unyielding, mean, u, memory, out)
    return out


def invariants(stress: Array) -> tuple[Array, Array]:
    """Von Mises' stress √(3/2 s:s) and the pressure −tr σ/3, Pa, of σ (…, 6)."""
    return von_mises(stress, SIX), -stress[..., :3].mean(axis=-1)
