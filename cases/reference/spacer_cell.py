"""Semi-analytical model of springs and dimples on a tube: rigid pads, asperity layer, shell theory of the tube.

The contact line of each pad is divided into slices of length l; a slice k of the pad i, compressed by δ_k, carries
f_k = l F'(δ_k) (`LineLayer`). With the approaches a_i of the grid nodes from first contact, stiffness K_i of each
support, tilt stiffness T_i = K_i h²/12 of the springs distributed over a back of height h, and the compliance G of the
tube,

    δ_k = a_i − Σf/K_i − z_k Σ(z f)/T_i − Σ_l G_kl f_l        Σ over the slices of the pad i

is solved for δ by Newton's method. The ends of the tube are supported laterally by the `holding` of the shell, and
while the contacts stick by the springs of the lateral pads (`stuck`).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arlequin.cases.reference.line_layer import LineLayer
from arlequin.cases.reference.shell_tube import ShellTube
from arlequin.models.types import Array

_PASSES = 60


@dataclass(frozen=True)
class CellByHand:
    """Supports i: heights above the lower end (i,), m, angles (i,), rad, stiffnesses along and across the normal (i,),
    N/m, approaches (i,), m; size of a pad (width, height, thickness), m; coefficient of friction; slices of a pad."""

    shell: ShellTube
    layer: LineLayer
    heights: Array
    angles: Array
    stiffness: Array
    shear: Array
    approaches: Array
    size: tuple[float, float, float]
    friction: float
    slices: int = 24

    @cached_property
    def stuck(self) -> "CellByHand":
        """The cell with sticking contacts: a lateral motion of the tube shears half of the pads.

        A pad of thickness t also rolls on the contact line, with the stiffness K_i b²/12 of its back of width b.
        """
        width, _, thickness = self.size
        roll = self.stiffness * width**2 / 12.0
        lateral = 0.5 * (1.0 / (1.0 / self.shear + thickness**2 / roll)).sum()
        return replace(self, shell=replace(self.shell, holding=self.shell.holding + float(lateral)))

    @property
    def height(self) -> float:
        """Height of the pads, m."""
        return self.size[1]

    @cached_property
    def _lines(self) -> tuple[NDArray[np.int64], Array, Array]:
        """Pad (k,) of each slice, its height in the pad (k,), m, and the compliance of the tube (k, k), m/N."""
        height_in_pad = self.height * ((np.arange(self.slices) + 0.5) / self.slices - 0.5)
        pad = np.repeat(np.arange(self.heights.size), self.slices)
        z = np.tile(height_in_pad, self.heights.size)
        # a uniform pressure over ± √(3/5) b has the second moment of the parabola over ± b
        half_width = float(self.layer.half_width((self.stiffness * self.approaches).mean() / self.height))
        extent = self.height / self.slices, 2.0 * np.sqrt(0.6) * half_width / self.shell.radius
        return pad, z, self.shell.compliance(self.heights[pad] + z, self.angles[pad], extent)

    @cached_property
    def crush(self) -> Array:
        """δ (i, slices), m."""
        pad, z, tube = self._lines
        same_pad = (pad[:, None] == pad[None]).astype(float)
        tilt = (self.stiffness * self.height**2 / 12.0)[pad]
        compliance = tube + same_pad * (1.0 / self.stiffness[pad] + np.outer(z, z) / tilt)
        length = self.height / self.slices
        crush = np.full(pad.size, self.layer.crush(1.0))
        for _ in range(_PASSES):
            residual = crush + compliance @ (length * self.layer.load(crush)) - self.approaches[pad]
            slope = np.eye(pad.size) + compliance * (length * self.layer.tangent(crush))
            change = np.linalg.solve(slope, residual)
            crush = np.where(change < crush, crush - change, 0.1 * crush)
            if np.abs(change).max() <= 1e-12 * np.abs(self.approaches).max():
                break
        return np.asarray(crush.reshape(self.heights.size, self.slices))

    @cached_property
    def forces(self) -> Array:
        """Normal force of each support (i,), N."""
        return np.asarray(self.height / self.slices * self.layer.load(self.crush).sum(axis=1))

    @cached_property
    def turning(self) -> tuple[Array, Array]:
        """Stiffness (i,), N·m/rad, against a tilt of a pad, of its contact and of its back."""
        contact = self.height**3 / 12.0 * self.layer.tangent(self.crush).mean(axis=1)
        return contact, self.stiffness * self.height**2 / 12.0

    @cached_property
    def axial(self) -> Array:
        """Stiffness (i,), N/m, of each support against an axial motion of the tube: its spring, and the tilt of the
        pad by the moment of the force at its face about its back."""
        return np.asarray(1.0 / (1.0 / self.shear + self.size[2] ** 2 / sum(self.turning)))

    def drag(self, displacement: Array) -> Array:
        """Axial friction force (t,), N, after an axial displacement w of the tube (t,), m: Σ min(k_i w, μ N_i)."""
        forces = np.minimum(np.outer(displacement, self.axial), self.friction * self.forces)
        return np.asarray(forces.sum(axis=1))

    @property
    def offset(self) -> Array:
        """Shift of the centre of pressure along each pad by friction (i,), m, against the tube's motion.

        The moment μ N t is shared between the contact and the springs of the back.
        """
        contact, back_stiffness = self.turning
        return np.asarray(self.friction * self.size[2] * contact / (contact + back_stiffness))
