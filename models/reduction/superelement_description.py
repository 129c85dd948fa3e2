"""What a superelement is, as a text: counts, mass, centre of mass, rigid motions, boundaries, natural frequencies."""

import math
from typing import Any

import numpy as np

from arlequin.models.linalg.rigid_modes import ROTATION_PLANES, rigid_modes
from arlequin.models.reduction.semidefinite import DENSE

RIGID = 1e-6  # strain energy of a rigid motion, relative to ½ Σ K_ii r_i², above which it is not rigid


def describe_superelement(part: Any) -> str:
    """Counts, mass, centre of mass, rigid motions, boundaries and the lowest natural frequencies, as a text."""
    names = list(dict.fromkeys(name for entry in part.retained for name in entry))
    nodes = part.stiffness.shape[0] - part.generalised.size
    lines = [
        f"superelement '{part.name}': {_count(part.node_count, 'node')}, {nodes} coordinates of nodes "
        f"({', '.join(names)}), {part.generalised.size} generalised"
    ]
    masses = [mass for mass in part.masses if not math.isnan(mass)]
    unequal = masses and np.ptp(masses) > 1e-6 * max(masses)
    mass = " / ".join(f"{mass:.6g}" for mass in masses) if unequal else f"{part.total_mass:.6g}"
    extent = float(np.ptp(part.positions, axis=0).max())
    centre = ", ".join("?" if math.isnan(x) else f"{x:.6g}" for x in _centre(part))
    lines.append(f"mass {mass} kg, centre of mass ({centre}) m, extent {extent:.6g} m")
    free = [name for name, energy in part.rigid_energies.items() if energy <= RIGID]
    lines.append(f"rigid motions: {', '.join(free) or 'none'}")
    if len(free) < len(part.rigid_energies):
        strained = [f"{name} ({energy:.2g})" for name, energy in part.rigid_energies.items() if energy > RIGID]
        lines.append(f"strained by rigid motions (relative energy): {', '.join(strained)}")
    boundaries = (f"{name} ({_count(each.nodes.size, 'node')})" for name, each in part.boundaries.items())
    lines.append(f"boundaries: {', '.join(boundaries)}")
    if part.stiffness.shape[0] <= DENSE and part.assemble().least_share > 0.0:
        values = np.sqrt(np.maximum(part.assemble().eigenvalues[:12], 0.0)) / (2 * np.pi)
        values[values < 1e-6 * part.assemble().highest_frequency() / (2 * np.pi)] = 0.0
        lines.append(f"natural frequencies: {', '.join(f'{value:.4g}' for value in values)} Hz")
    return "\n".join(lines)


def _centre(part: Any) -> list[float]:
    """Centre of mass (axis,), m; nan where the rotations that show it are not free.

    Of a unit translation along i and the rotation from i towards j about the centroid, tᵀM r = −m (c_j − x̄_j).
    """
    axes = part.positions.shape[1]
    mean = part.positions.mean(axis=0)
    offset = part.positions - mean
    if axes == 1:
        # without rotations: by the static shares of the nodes
        shares = part.mass @ part.translations[:, 0]
        return [float(mean[0] + part.coordinates_of(offset)[:, 0] @ shares / part.total_mass)]
    turned = part.coordinates_of(rigid_modes(offset, part.components)[axes:].T)
    out = np.full(axes, math.nan)
    for (i, j), motion in zip(ROTATION_PLANES[axes], turned.T, strict=True):
        for along, other, sign in ((i, j, -1.0), (j, i, 1.0)):
            mass = part.masses[along]
            if not math.isnan(mass) and math.isnan(out[other]):
                product = float(part.translations[:, along] @ (part.mass @ motion))
                out[other] = mean[other] + sign * product / mass
    return out.tolist()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
