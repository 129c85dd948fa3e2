"""Free vibrations of an elastic disc in its plane (plane strain), from Bessel functions.

Potentials φ = A J_n(k_l r) cos nθ and ψ = B J_n(k_t r) sin nθ, k = ω/c with c_l² = (λ + 2μ)/ρ, c_t² = μ/ρ, give

    u_r = φ' + n ψ/r,   u_θ = −(n φ/r + ψ')
    σ_rr/2μ = −(λ/2μ) k_l² φ + φ'' + n (ψ'/r − ψ/r²)
    σ_rθ/μ  = −2n (φ'/r − φ/r²) − ψ'' + ψ'/r − n² ψ/r²

and a free rim, σ_rr = σ_rθ = 0 at r = R, has a solution where the determinant of the two rows is zero.
Source: A. E. H. Love, A Treatise on the Mathematical Theory of Elasticity, 1927.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import jv, jvp


def ovalling(radius: float, young: float, poisson: float, density: float) -> float:
    """Lowest frequency of n = 2, Hz, the oval mode.

    >>> round(ovalling(1.0, 2.6, 0.3, 1.0) * 2 * np.pi, 4)  # ω R/c_t, here c_t = 1
    2.3479
    """
    mu = young / (2 * (1 + poisson))
    lam = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    slow, fast = np.sqrt(mu / density), np.sqrt((lam + 2 * mu) / density)

    def rim(rate: float) -> float:
        """Determinant at ω = rate c_t/R, lengths in R."""
        return _determinant(2, rate * slow / fast, rate, lam / mu)

    rates = np.linspace(0.5, 6.0, 200)
    values = np.array([rim(rate) for rate in rates])
    bracket = int(np.flatnonzero(values[:-1] * values[1:] < 0)[0])
    return float(brentq(rim, rates[bracket], rates[bracket + 1], xtol=1e-13) * slow / radius / (2 * np.pi))


def _determinant(n: int, a: float, b: float, ratio: float) -> float:
    """Determinant of (σ_rr/2μ, σ_rθ/μ) for (A, B) at r = 1; a = k_l, b = k_t, ratio = λ/μ."""
    (normal, shear), _ = rim_rows(n, a, b, ratio)
    return float(normal[0] * shear[1] - normal[1] * shear[0])


def rim_rows(n: int, a: float, b: float, ratio: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows (σ_rr/2μ, σ_rθ/μ) and (u_r, u_θ), both (2, 2), for (A, B) at r = 1; arguments as `_determinant`'s."""
    phi, phi_slope, phi_bend = jv(n, a), a * jvp(n, a), a * a * jvp(n, a, 2)
    psi, psi_slope, psi_bend = jv(n, b), b * jvp(n, b), b * b * jvp(n, b, 2)
    stress = [
        [-0.5 * ratio * a * a * phi + phi_bend, n * (psi_slope - psi)],
        [-2 * n * (phi_slope - phi), -psi_bend + psi_slope - n * n * psi],
    ]
    return np.array(stress), np.array([[phi_slope, n * psi], [-n * phi, -psi_slope]])
