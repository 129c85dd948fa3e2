"""Timoshenko's simply supported beam under a harmonic force at a point, in closed form and by its modes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arlequin.models.beams.section import Section
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.types import Array

_WAVES = 60  # half waves of the summed modes; the first neglected one has 1/60⁴ of the motion of the first mode


@dataclass(frozen=True)
class SupportedBeam:
    """Uniform simply supported beam between x = 0 and x = length (m), without damping.

    With w = W sin kx and ψ = Ψ cos kx, k = nπ/L, every n ≥ 1 has two modes, of the pencil (K, M)

        K = ½L [[κGA k², −κGA k], [−κGA k, κGA + EI k²]],    M = ½L diag(ρA, ρI)

    (V = κGA (w′ − ψ), bending moment EI ψ′). Source: Timoshenko, Philosophical Magazine 41, 1921.
    """

    length: float
    material: LinearElastic
    section: Section

    def deflection(self, x: Array | float, at: float, force: float) -> Array:
        """Static deflection at x under a force (N) at the point `at`, m.

        For x ≤ a, with b = L − a: F b x (L² − b² − x²)/(6 EI L) + F b x/(κGA L); else x and a from the other end.
        """
        bending, shear = self._rigidities
        x = np.asarray(x, dtype=float)
        distance = np.where(x <= at, x, self.length - x)
        load_distance = np.where(x <= at, self.length - at, at)
        bending_part = (
            load_distance * distance * (self.length**2 - load_distance**2 - distance**2) / (6 * bending * self.length)
        )
        return force * (bending_part + load_distance * distance / (shear * self.length))

    def frequencies(self, count: int) -> Array:
        """The lowest natural frequencies of bending, Hz."""
        return np.sort(self._modes[0].ravel())[:count] / (2 * np.pi)

    def motion(self, t: Array, x: Array | float, at: float, force: float, omega: float, *, rest: bool) -> Array:
        """Deflection (t, x), m, under F sin ωt (N; ω in rad/s below all modes) at the point `at`.

        rest: from rest at t = 0, including free oscillations; else the harmonic motion only. With the frequencies Ω and
        displacements w_i of the modes, and the modal forces over modal masses f_i = F w_i(a):

            w(x, t) = w_static sin ωt + Σ_i w_i(x) [f_i ω²/(Ω²(Ω² − ω²)) sin ωt − f_i ω/(Ω(Ω² − ω²)) sin Ωt].
        """
        t, x = np.atleast_1d(t).astype(float), np.atleast_1d(x).astype(float)
        frequencies, shapes = (values.ravel() for values in self._modes)
        waves = np.repeat(np.arange(1, _WAVES + 1) * np.pi / self.length, 2)
        modal_force = force * shapes * np.sin(waves * at)
        shape_values = shapes[:, None] * np.sin(np.multiply.outer(waves, x))
        gain = modal_force / (frequencies**2 - omega**2)
        deflection = np.multiply.outer(
            np.sin(omega * t), self.deflection(x, at, force) + (gain * (omega / frequencies) ** 2) @ shape_values
        )
        if rest:
            deflection -= np.sin(np.multiply.outer(t, frequencies)) * (gain * omega / frequencies) @ shape_values
        return np.asarray(deflection)

    @property
    def _rigidities(self) -> tuple[float, float]:
        """EI, N·m², and κGA, N."""
        s = self.section
        return self.material.young * s.inertia_z, s.shear_y * self.material.shear * s.area

    @cached_property
    def _modes(self) -> tuple[Array, Array]:
        """Angular frequencies (n, 2), rad/s, and amplitudes W (n, 2) of the M-orthonormal modes, kg^−½."""
        (bending, shear), s, half = self._rigidities, self.section, 0.5 * self.length
        k = np.arange(1, _WAVES + 1) * np.pi / self.length
        roots = np.sqrt(half * self.material.density * np.array([s.area, s.inertia_z]))
        stiffness = half * np.array([[shear * k**2, -shear * k], [-shear * k, shear + bending * k**2]])
        scaled = np.moveaxis(stiffness / np.multiply.outer(roots, roots)[:, :, None], 2, 0)
        squares, vectors = np.linalg.eigh(scaled)
        return np.sqrt(squares), vectors[:, 0] / roots[0]
