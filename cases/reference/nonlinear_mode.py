"""Nonlinear mode of masses with a symmetric restoring force: shooting over half a period with DOP853."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import eigh
from scipy.optimize import root

Array = NDArray[np.float64]


def stop_force(x: float, alpha: float, eta: float) -> float:
    """F of F (1 − (x − F/α)²) = η x, the root next to 0 on the side of x: of the cubic F³/α² − 2x F²/α + (x² − 1) F
    + η x = 0, N."""
    if x == 0.0:
        return 0.0
    size = abs(x)
    roots = np.roots([1.0 / alpha**2, -2.0 * size / alpha, size**2 - 1.0, eta * size])
    real = roots[np.abs(roots.imag) < 1e-9].real
    return float(np.sign(x) * real[real > 0.0].min())


def stop_energy(x: float, alpha: float, eta: float) -> float:
    """∫₀ˣ F dx, by Gauss's rule on 200 pieces, N."""
    nodes, weights = np.polynomial.legendre.leggauss(5)
    edges = np.linspace(0.0, abs(x), 201)
    half = 0.5 * np.diff(edges)[:, None]
    points = edges[:-1, None] + half * (1.0 + nodes)
    values = np.array([stop_force(float(x_node), alpha, eta) for x_node in points.ravel()]).reshape(points.shape)
    return float((half * weights * values).sum())


@dataclass(frozen=True)
class Mode:
    """Frequency, Hz, of a motion from rest at `start` (n,), m; largest modulus of its multipliers without the two of
    1."""

    frequency: float
    start: Array
    largest: float


def nonlinear_mode(
    mass: Array, stiffness: Array, force: Callable[[Array], Array], stored: Callable[[Array], float], energy: float,
    number: int,
) -> Mode:  # fmt: skip
    """Periodic motion of energy E, J, that continues linear mode `number`, from rest to rest in half a period.

    The other half follows by symmetry of the restoring force. force (n,) → (n,), N; stored: its energy, J.
    """
    n = len(mass)

    def rhs(_: float, y: Array) -> Array:
        return np.concatenate([y[n:], -np.linalg.solve(mass, stiffness @ y[:n] + force(y[:n]))])

    def flow(start: Array, time: float) -> Array:
        options = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-12}
        return np.asarray(solve_ivp(rhs, (0.0, time), start, **options).y[:, -1])

    def residual(z: Array) -> Array:
        u = z[:n]
        end = flow(np.concatenate([u, np.zeros(n)]), 0.5 * z[n])
        return np.append(end[n:], 0.5 * u @ stiffness @ u + stored(u) - energy)

    squares, shapes = eigh(stiffness, mass)
    guess = np.sqrt(2.0 * energy / squares[number - 1]) * shapes[:, number - 1]
    guess *= np.sign(guess[np.abs(guess).argmax()])
    solution = root(residual, np.append(guess, 2.0 * np.pi / np.sqrt(squares[number - 1])), tol=1e-11).x
    start, size = np.concatenate([solution[:n], np.zeros(n)]), 1e-5
    columns = [
        (flow(start + e, solution[n]) - flow(start - e, solution[n])) / (2.0 * size) for e in size * np.eye(2 * n)
    ]
    values = np.linalg.eigvals(np.array(columns).T)
    nontrivial = values[np.argsort(np.abs(values - 1.0))[2:]]
    return Mode(float(1.0 / solution[n]), solution[:n], float(np.abs(nontrivial).max()))
