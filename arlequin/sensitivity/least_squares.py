"""Least squares within bounds: a trust-region method that ends on the bounds, and the statistics of what it finds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices

Residual = Callable[[Array, bool], Array]
Jacobian = Callable[[Array, Indices], Array]

LEVEL = 0.95  # of the intervals
_FLAT = 1e-8  # of the product of norms: a derivative of the cost that is 0
_ZERO = 1e-11  # of the data: a derivative by a parameter's own size that is round-off
_SINGULAR = 1e-8  # ratio of the singular values of unit columns: derivatives are known to 1e-10


@dataclass(frozen=True, eq=False)
class Minimum:
    """A minimum of ½ ‖r(x)‖²: x (n,), r (N,), J (N, n); at_bound (n,): −1 and 1 where x is held by its lower and upper
    bound, else 0; message of the solver, and whether it converged; numbers of residuals and Jacobians."""

    x: Array
    residual: Array
    jacobian: Array
    at_bound: NDArray[np.int8]
    message: str
    converged: bool
    evaluations: int
    gradients: int

    @property
    def cost(self) -> float:
        """½ ‖r‖²."""
        return 0.5 * float(self.residual @ self.residual)

    @property
    def free(self) -> Indices:
        """Parameters that no bound holds."""
        return np.flatnonzero(self.at_bound == 0)


def minimise(
    residual: Residual, jacobian: Jacobian, start: Array, bounds: tuple[Array, Array], tolerance: float, most: int
) -> Minimum:
    """Minimise ½ ‖r(x)‖² within bounds (low, high), each (n,).

    residual(x, strict): infinite where x is not allowed, or an error if strict; jacobian(x, chosen): the columns of the
    parameters `chosen`. The iterates of the trust-region method are inside of the bounds and end beside those that
    hold. A parameter whose step of Gauss and Newton would cross its bound there is set to it, and rectangular trust
    regions take over, whose iterates reach the bounds: a parameter stays at its bound while the derivative of the cost
    leads outwards (Karush, Kuhn & Tucker).

    Source: Branch, Coleman & Li, SIAM J. Sci. Comput. 21 (1999) 1–23; Voglis & Lagaris, Proc. WSEAS Int. Conf. Applied
    Mathematics, Corfu 2004 (methods "trf" and "dogbox" of SciPy).
    """
    from scipy.optimize import least_squares

    low, high = bounds
    every = np.arange(start.size)

    def solved(method: str, first: Array, most: int) -> Any:
        at_first = residual(first, True)  # refused values of the guess, or of a bound, are an error

        def evaluated(x: Array) -> Array:
            return at_first if np.array_equal(x, first) else residual(x, False)

        return least_squares(
            evaluated, first, lambda x: jacobian(x, every), bounds=bounds, method=method, x_scale="jac",
            ftol=tolerance, xtol=tolerance, gtol=tolerance, max_nfev=max(most, 1),
        )  # fmt: skip

    solution = solved("trf", start, most)
    at_bound, evaluations, gradients = np.zeros(start.size, dtype=np.int8), int(solution.nfev), int(solution.njev)
    ahead = solution.x - np.linalg.lstsq(solution.jac, solution.fun, rcond=_SINGULAR)[0]
    if solution.success and ((ahead <= low) | (ahead >= high)).any():
        first = np.where(ahead <= low, low, np.where(ahead >= high, high, solution.x))
        solution = solved("dogbox", first, most - evaluations)
        at_bound = solution.active_mask.astype(np.int8)
        evaluations, gradients = evaluations + int(solution.nfev), gradients + int(solution.njev)
    return Minimum(
        solution.x, solution.fun, solution.jac, at_bound, str(solution.message), bool(solution.success),
        evaluations, gradients,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Estimates:
    """Statistics of a minimum.

    covariance (n, n), nan where a bound holds; low, high (n,): ends of the intervals of 95 %; noise: σ that is left;
    freedom: N less the number of free parameters, infinite where the deviation is given; ellipse: bound of the
    quadratic form of the free ones; multiple (n,): multiple correlation of each with all other free ones, and step
    (n,): that of Gauss and Newton that is left, 0 at a bound; gain: by which it lowers ‖r‖².
    """

    covariance: Array
    low: Array
    high: Array
    noise: float
    freedom: float
    ellipse: float
    multiple: Array
    step: Array
    gain: float

    @property
    def deviation(self) -> Array:
        """Standard deviations (n,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def offset(self) -> float:
        """Largest step that is left, over the deviation; 0 where nothing is left of the records."""
        known = self.deviation > 0.0
        return float((np.abs(self.step[known]) / self.deviation[known]).max(initial=0.0))

    @property
    def correlation(self) -> Array:
        """Of the free parameters (n, n)."""
        return self.covariance / np.outer(self.deviation, self.deviation)


def estimates(
    minimum: Minimum, names: Sequence[str], bounds: tuple[Array, Array], size: float, given: bool
) -> Estimates:
    """Of a minimum; size: norm of the data, as they are in r; given: whether r is over a known deviation.

    With J of the free parameters C = σ² (JᵀJ)⁻¹: those at a bound are held there. Of a parameter b at its bound the
    interval is one-sided, up to the distance d at which the least cost that the free ones allow rises by t²σ²/2,

        |g| d + ½ d² ‖J_b⊥‖² = ½ t²σ²,    g = J_bᵀr,

    with J_b⊥ the part of its column that those of the free parameters do not span.

    UserError where the records do not determine the free ones. Source: Seber & Wild, Nonlinear Regression, Wiley 1989,
    §5; Bates & Watts, Technometrics 23 (1981) 179–183 (offset).
    """
    from scipy.stats import chi2, f, t

    free, own, count = minimum.free, minimum.residual, minimum.x.size
    left = own.size - free.size
    noise = float(np.sqrt(own @ own / left))
    sigma = 1.0 if given else noise
    freedom = np.inf if given else float(left)
    reach = float(t.ppf(0.5 * (1.0 + LEVEL), freedom))  # in deviations
    covariance, multiple, step = np.full((count, count), np.nan), np.zeros(count), np.zeros(count)
    matrix = minimum.jacobian
    base = np.zeros((own.size, 0))
    gain = 0.0
    if free.size:
        base, values, turned, norms = _decomposed(matrix[:, free], [names[i] for i in free], _ZERO * size)
        root = turned.T / values / norms[:, None]
        covariance[np.ix_(free, free)] = sigma**2 * (root @ root.T)
        inflation = (norms * np.linalg.norm(root, axis=1)) ** 2
        multiple[free] = np.sqrt(np.maximum(1.0 - 1.0 / inflation, 0.0))
        step[free] = -root @ (base.T @ own)
        gain = float(np.sum((base.T @ own) ** 2))
    half = reach * np.sqrt(np.diag(covariance))
    low, high = minimum.x - half, minimum.x + half
    for i in np.flatnonzero(minimum.at_bound):
        column = matrix[:, i]
        slope, rest = abs(column @ own), column - base @ (base.T @ column)
        rise = (reach * sigma) ** 2
        bottom = slope + np.sqrt(slope**2 + (rest @ rest) * rise)
        far = rise / bottom if np.linalg.norm(column) > _ZERO * size else np.inf
        low[i], high[i] = sorted((minimum.x[i], minimum.x[i] - minimum.at_bound[i] * far))
    if not free.size:
        ellipse = 0.0
    else:
        ellipse = float(chi2.ppf(LEVEL, free.size) if given else free.size * f.ppf(LEVEL, free.size, left))
    low, high = np.clip(low, *bounds), np.clip(high, *bounds)
    return Estimates(covariance, low, high, noise, freedom, ellipse, multiple, step, gain)


def few_sign_changes(series: Sequence[Array]) -> tuple[int, int, float]:
    """Changes of sign from value to value along the first axis of residuals, the number of pairs of values, and the
    probability of so few in independent residuals of median 0.

    Each pair then changes its sign with ½, independently of the others: the number is binomial (the runs of signs of
    Wald and Wolfowitz, about the known median 0). Values of 0 are left out.

    >>> import numpy as np
    >>> few_sign_changes([np.array([1.0, 2.0, -1.0, -3.0, -2.0])])
    (1, 4, 0.3125)
    """
    from scipy.stats import binom

    changes = pairs = 0
    for values in series:
        for column in np.atleast_1d(values).reshape(len(np.atleast_1d(values)), -1).T:
            positive = column[column != 0.0] > 0.0
            changes += int(np.count_nonzero(positive[1:] != positive[:-1]))
            pairs += max(positive.size - 1, 0)
    return changes, pairs, float(binom.cdf(changes, pairs, 0.5)) if pairs else 1.0


def _decomposed(matrix: Array, names: Sequence[str], least: float) -> tuple[Array, Array, Array, Array]:
    """Singular values and vectors of the columns over their norms, U, s, Vᵀ, norms; UserError of dependent columns, and
    of norms up to `least`."""
    norms = np.linalg.norm(matrix, axis=0)
    if (norms <= least).any():
        lost = " and ".join(name for name, norm in zip(names, norms, strict=True) if norm <= least)
        raise UserError(f"fit: the records do not depend on {lost}: leave it out of wrt", 1)
    base, values, turned = np.linalg.svd(matrix / norms, full_matrices=False)
    if values[-1] < _SINGULAR * values[0]:
        together = [name for name, share in zip(names, np.abs(turned[-1]), strict=True) if share > 0.1]
        raise UserError(f"fit: the records do not determine {' and '.join(together)} together: fix one of them", 1)
    return base, values, turned, norms
