"""The contact problem of many points on a half-space, with friction."""

from time import process_time

import numpy as np
from timing import Report, one_core

from arlequin.multilevel.laws.friction import Coulomb
from arlequin.multilevel.laws.unilateral import Unilateral
from arlequin.multilevel.solvers.contact import ContactSolution, solve_contact
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.problem import FreeMotion

STEP, POISSON, SOFTENING = 1e-6, 0.3, 0.35
SIDES = ((25, 25), (35, 35), (50, 50), (70, 70))


def half_space(points: np.ndarray) -> np.ndarray:
    """W (3k, 3k) of a half-space at the points (k, 2), one cell apart, of unit stiffness: Boussinesq's and Cerruti's
    solutions with the distances √(d² + e²)."""
    k, nu = len(points), POISSON
    x, y = (points[:, None, i] - points[None, :, i] for i in range(2))
    square = x * x + y * y + SOFTENING**2
    r = np.sqrt(square)
    w = np.empty((k, 3, k, 3))
    w[:, 0, :, 0] = (1.0 - nu) / r
    for a, d in ((1, x), (2, y)):
        w[:, a, :, a] = (1.0 - nu) / r + nu * (d * d + SOFTENING**2 / 3.0) / r**3
        w[:, a, :, 0] = -0.5 * (1.0 - 2.0 * nu) * d / square
        w[:, 0, :, a] = -w[:, a, :, 0]
    w[:, 1, :, 2] = w[:, 2, :, 1] = nu * x * y / r**3
    return w.reshape(3 * k, 3 * k)


def solve_step(
    points: np.ndarray, w: np.ndarray, time: float, guess: np.ndarray, closed: bool, mu: float = 0.3
) -> tuple[ContactSolution, FreeMotion]:
    """A ball, or a plane if `closed`, is pressed and pushed: the solution at a time."""
    k = len(points)
    q = (points - points.mean(axis=0)) / points.max()
    rate = np.empty((k, 3))
    rate[:, 0] = -1.0 - 0.2 * np.cos(5.0 * q[:, 0] + time) if closed else -1.0 + 2.0 * (2.2 - time) * (q**2).sum(axis=1)
    rate[:, 1] = 0.25 * (1.0 + time) + 0.05 * q[:, 1]
    rate[:, 2] = 0.1 * np.sin(3.0 * q[:, 0] + time)
    rate[:, 1:] *= 0.6 if closed else 1.0
    laws = PointLaws.gather([(Unilateral("velocity"),)] * k, np.full(k, 1e-6), [Coulomb(mu)] * k, 3)
    motion = FreeMotion(w, 0.5 * STEP, np.zeros(k), rate.ravel(), np.ones(k, dtype=bool), STEP, 0.5, STEP)
    return solve_contact(laws, motion, laws.start_history(np.zeros(k)), guess), motion


def grid(sides: tuple[int, int]) -> np.ndarray:
    """Points of a slightly irregular grid, one cell apart."""
    x, y = np.meshgrid(*[np.arange(float(side)) for side in sides], indexing="ij")
    points = np.column_stack([x.ravel(), y.ravel()])
    return points + 0.2 * np.random.default_rng(0).uniform(-1.0, 1.0, points.shape)


def contact_points() -> Report:
    """CPU seconds of a cold start (W rounded in it) and of the next step from its impulses, μ = 0.3, and the exponents
    of their growth with the number of points."""
    found: Report = {}
    with one_core():
        solve_step(grid(SIDES[0]), half_space(grid(SIDES[0])), 0.0, np.zeros(3 * 625), False)  # loads the kernels
        for name, closed in (("a third closed", False), ("all closed", True)):
            times = []
            for sides in SIDES:
                points = grid(sides)
                w = half_space(points)
                begin = process_time()
                cold, _ = solve_step(points, w, 0.0, np.zeros(len(w)), closed)
                middle = process_time()
                warm, _ = solve_step(points, w, 0.02, cold.impulse, closed)
                times.append((middle - begin, process_time() - middle))
                assert max(cold.residual, warm.residual) <= 1e-10
                found[f"{name}, {len(points)} points"] = dict(zip(("cold (s)", "warm (s)"), times[-1], strict=True))
            counts = np.log([a * b for a, b in SIDES])
            for i, start in enumerate(("cold", "warm")):
                found[f"{name}, {start}: exponent"] = float(np.polyfit(counts, np.log([t[i] for t in times]), 1)[0])
    return found
