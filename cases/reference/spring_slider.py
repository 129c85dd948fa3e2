"""Spring-slider with rate-and-state friction: growth rates about steady sliding, and the motion as an ordinary
differential equation.

A block of the mass m, pressed by N, is pulled at V through a spring k. With s₀ the stretch of the spring
in steady sliding and ψ = ln(V₀θ/D_c),

    m ü = k(Vt + s₀ − u) − N μ(u̇, ψ),      ψ̇ = (V₀/D_c) e^(−ψ) − u̇/D_c  (ageing)  or  −(u̇/D_c)(ψ + ln u̇/V₀)  (slip)

about u̇ = V, ψ = −ln V/V₀ small motions e^{λt} obey, with the slopes A = ∂μ/∂ln v and B = ∂μ/∂ψ there,

    m λ² + k + (N/V) A λ − (N/D_c) B λ/(λ + V/D_c) = 0

for both laws. The critical stiffness is k_c = N(B − A)/D_c (1 + m V²/(N A D_c)).

Source: Ruina, J. Geophys. Res. 88 (1983) 10359–10370; Rice & Ruina, J. Appl. Mech. 50 (1983) 343–349.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from arlequin.models.types import Array


@dataclass(frozen=True)
class SpringSlider:
    """mass, kg; force N, N; stiffness k, N/m; velocity V, m/s; μ₀, a, b, D_c (m), V₀ (m/s) of the law; by_slip: the
    slip law, else the ageing law."""

    mass: float
    force: float
    stiffness: float
    velocity: float
    coefficient: float
    direct: float
    evolution: float
    distance: float
    reference: float
    by_slip: bool = False

    def friction(self, v: float, psi: float) -> float:
        """μ(v, ψ)."""
        exponent = (self.coefficient + self.evolution * psi) / self.direct
        return float(self.direct * np.arcsinh(0.5 * v / self.reference * np.exp(exponent)))

    @property
    def steady(self) -> tuple[float, float]:
        """μ and ψ of steady sliding."""
        psi = -float(np.log(self.velocity / self.reference))
        return self.friction(self.velocity, psi), psi

    @property
    def slopes(self) -> tuple[float, float]:
        """A = ∂μ/∂ln v and B = ∂μ/∂ψ in steady sliding: a and b except for the regularisation."""
        x = np.sinh(self.steady[0] / self.direct)
        share = x / np.sqrt(1.0 + x * x)
        return float(self.direct * share), float(self.evolution * share)

    @property
    def critical_stiffness(self) -> float:
        """k_c, N/m."""
        a, b = self.slopes
        inertia = self.mass * self.velocity**2 / (self.force * a * self.distance)
        return self.force * (b - a) / self.distance * (1.0 + inertia)

    @property
    def matrix(self) -> Array:
        """Matrix (3, 3) of small motions of (u − Vt, u̇ − V, ψ − ψ₀)."""
        (a, b), v = self.slopes, self.velocity
        rate = v / self.distance
        return np.array(
            [
                [0.0, 1.0, 0.0],
                [-self.stiffness / self.mass, -self.force * a / (self.mass * v), -self.force * b / self.mass],
                [0.0, -1.0 / self.distance, -rate],
            ]
        )

    @property
    def growth(self) -> complex:
        """λ, 1/s, of the fastest growing or slowest decaying motion, Im λ ≥ 0."""
        values = np.linalg.eigvals(self.matrix)
        return complex(max(values, key=lambda eigenvalue: (eigenvalue.real, eigenvalue.imag)))

    @property
    def eigenvectors(self) -> tuple[Array, Array]:
        """Right and left eigenvector (3,) of λ, with l·r = 1."""
        values, right_vectors = np.linalg.eig(self.matrix)
        k = int(np.argmin(np.abs(values - self.growth)))
        left_vectors = np.linalg.inv(right_vectors)
        return right_vectors[:, k], left_vectors[k]

    def motion(self, start: Array, times: Array) -> Array:
        """(u − Vt, u̇, ψ) (t, 3) at the times from a start (3,), by an implicit method of high order."""
        mu, _ = self.steady

        def slope(_: float, x: Array) -> list[float]:
            w, v, psi = x
            force = -self.stiffness * w + self.force * (mu - self.friction(v, psi))
            if self.by_slip:
                rate = -v / self.distance * (psi + np.log(max(v, 1e-300) / self.reference))
            else:
                rate = self.reference / self.distance * np.exp(-psi) - v / self.distance
            return [v - self.velocity, force / self.mass, rate]

        scale = np.array([self.distance, self.velocity, 1.0])
        solution = solve_ivp(
            slope, (0.0, times[-1]), start, method="Radau", t_eval=times, rtol=1e-10, atol=1e-12 * scale
        )
        return np.asarray(solution.y.T)
