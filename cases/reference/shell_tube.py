"""Radial compliance of a tube by first-order shell theory (Sanders, with transverse shear) as a double series.

Both ends slide on smooth planes z = const (no axial motion, no slope), so that the exact motions are cosines in z and
in the angle θ:

    w = W cos αz cos nθ,  v = V cos αz sin nθ,  u = U sin αz cos nθ,  β_x = X sin αz cos nθ,  β_θ = Y cos αz sin nθ

from z = 0 at the lower end, α = mπ/L, w outward. With the strains
    ε_x = u,x    ε_θ = (v,θ + w)/R    γ = v,x + u,θ/R    κ_x = β_x,x    κ_θ = β_θ,θ/R
    2κ_xθ = β_x,θ/R + β_θ,x + ½ (v,x − u,θ/R)/R    γ_xz = w,x + β_x    γ_θz = (w,θ − v)/R + β_θ
the energy per area is ½ C (ε_x² + ε_θ² + 2ν ε_x ε_θ + ½(1−ν) γ²), the same with D of the curvatures, and
½ (5/6) G t (γ_xz² + γ_θz²); C = E t/(1−ν²), D = C t²/12.

Source: J. L. Sanders, An improved first-approximation theory for thin shells, NASA TR R-24, 1959; the shear as in
E. Reissner, J. Appl. Mech. 12 (1945) A69–A77.
"""

from dataclasses import dataclass

import numpy as np

from arlequin.models.types import Array


@dataclass(frozen=True)
class ShellTube:
    """Mean radius, thickness and length in m, Young's modulus in Pa; holding: total lateral stiffness of both ends,
    N/m; waves: numbers of terms along z and around."""

    radius: float
    thickness: float
    length: float
    young: float
    poisson: float
    holding: float
    waves: tuple[int, int] = (240, 240)

    def compliance(self, heights: Array, angles: Array, extent: tuple[float, float]) -> Array:
        """Inward displacement (k, k), m/N, of patches under an inward force on each, uniform over the patch.

        heights (k,), m, above the lower end, and angles (k,), rad, of their middles; extent: of each in z, m, and θ.
        The displacements are means over the patches.
        """
        m, n = (np.arange(float(count)) for count in self.waves)
        response = self._response(m, n) * np.sinc(m * extent[0] / (2 * self.length))[:, None] ** 2
        response *= np.sinc(n * extent[1] / (2 * np.pi))[None] ** 2
        axial = np.cos(np.pi / self.length * np.outer(m, heights))
        angle_differences = angles[:, None] - angles[None]
        cosines, inverse = np.unique(np.round(np.cos(angle_differences), 12), return_inverse=True)
        circumferential = np.cos(np.outer(n, np.arccos(cosines)))
        compliances = np.einsum("mi,mj,mt->tij", axial, axial, response @ circumferential, optimize=True)
        return np.take_along_axis(compliances, inverse.reshape(angle_differences.shape)[None], axis=0)[0]

    def _response(self, m: Array, n: Array) -> Array:
        """W (m, n) of the waves under a radial unit force at z = 0, θ = 0, m/N."""
        alpha, waves = np.meshgrid(np.pi * m / self.length, n, indexing="ij")
        r, t, nu = self.radius, self.thickness, self.poisson
        zero, unit = np.zeros_like(alpha), np.ones_like(alpha)
        # rows of strains over (U, V, W, X, Y)
        strains = {
            "ex": (alpha, zero, zero, zero, zero),
            "et": (zero, waves / r, unit / r, zero, zero),
            "g": (-waves / r, -alpha, zero, zero, zero),
            "kx": (zero, zero, zero, alpha, zero),
            "kt": (zero, zero, zero, zero, waves / r),
            "kxt": (0.5 * waves / r**2, -0.5 * alpha / r, zero, -waves / r, -alpha),
            "sx": (zero, zero, -alpha, unit, zero),
            "st": (zero, -unit / r, -waves / r, zero, unit),
        }
        row = {name: np.stack(values, axis=-1) for name, values in strains.items()}

        def product(a: str, b: str) -> Array:
            return np.asarray(row[a][..., :, None] * row[b][..., None, :])

        def plane(x: str, y: str, shear: str) -> Array:
            mixed = product(x, y)
            coupled = nu * (mixed + np.swapaxes(mixed, -1, -2))
            return product(x, x) + product(y, y) + coupled + 0.5 * (1 - nu) * product(shear, shear)

        membrane = self.young * t / (1 - nu**2)
        shear = 5 / 6 * self.young / (2 * (1 + nu)) * t
        matrix = membrane * (plane("ex", "et", "g") + t**2 / 12 * plane("kx", "kt", "kxt"))
        matrix += shear * (product("sx", "sx") + product("st", "st"))
        # amplitudes with sin 0 vanish: unit diagonal
        vanishing = np.stack([m[:, None] + 0 * n == 0, 0 * m[:, None] + n == 0] * 2, axis=-1)[..., [0, 1, 0, 1]]
        components = [0, 1, 3, 4]
        matrix[..., components, components] += np.where(vanishing, membrane, 0.0)
        # mean squares of the waves times the area of the shell: ½ for each cosine that is not constant
        area = 2 * np.pi * r * self.length * np.where(m > 0, 0.5, 1.0)[:, None] * np.where(n > 0, 0.5, 1.0)[None]
        # V = −W is the rigid lateral motion w = cos θ, resisted by the holding only
        matrix[0, 1, 2, 2] += self.holding / area[0, 1]
        load = np.zeros((*alpha.shape, 5, 1))
        load[..., 2, 0] = 1.0 / area
        return np.asarray(np.linalg.solve(matrix, load)[..., 2, 0])
