"""Eigenvalues between two velocities at which they and their derivatives are known: which belong to one mode, and
whether a mode may begin or cease to grow in between."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.frequency.quadratic_pencil import RIGID, Complex, grows, growth_limit
from arlequin.models.types import Array, Indices

_EQUAL = 1e-7  # difference of eigenvalues, relative to |λ| + scale, below which they are one of several vectors
_SAMPLES = np.linspace(0.0, 1.0, 33)  # of a cubic, in its interval
_NEAR = 0.25  # Δ of two modes relative to its largest, below which a point where they meet is near
_MET = 1e-6  # growth relative to |λ|, below which that of two modes which meet is round-off, the root of that of Δ


@dataclass(frozen=True, eq=False)
class ModesAt:
    """Modes at a velocity, m/s: of each two eigenvalues (n, 2), 1/s, its own and the conjugate or the other real one;
    slopes (n, 2), 1/m: their derivatives by the velocity; shown (n,): the modes that are asked for.

    scale, 1/s: see `grows`.
    """

    velocity: float
    pairs: Complex
    slopes: Complex
    shown: NDArray[np.bool_]
    scale: float

    @property
    def values(self) -> Complex:
        """λ (n,) of the modes."""
        return self.pairs[:, 0]

    @property
    def growing(self) -> int:
        """Number of modes that grow."""
        return int(grows(self.values, self.scale).sum())


def with_slopes(
    values: Complex,
    right: Complex,
    left: tuple[Complex, Complex],
    pencil: tuple[sp.csr_array, sp.csr_array, sp.csr_array],
    change: tuple[sp.csr_array, sp.csr_array],
    scale: float,
) -> tuple[Complex, Complex]:
    """Eigenvalues λ (m,) of Q(λ) = λ²M + λD + K with vectors x (n, m), right, to the product of the errors of both
    vectors, and dλ/dU (m,),

        λ − wᵀQ(λ)x / wᵀ(2λM + D)x,   dλ/dU = −wᵀ(λ dD/dU + dK/dU) x / wᵀ(2λM + D) x,

    w the vector of the transposed matrices. left: their eigenvalues and vectors; pencil: M, D and K; change: dD/dU and
    dK/dU. Of eigenvalues with several vectors λ stays, and the slopes are the eigenvalues of (Wᵀ(2λM + D)X)⁻¹ Wᵀ(…)X;
    slopes are 0 of rigid motions, and where the left vector is not among those given.

    Source: Tisseur & Meerbergen, SIAM Rev. 43 (2001) 235–286, §2; Lancaster, Numer. Math. 6 (1964) 377–387.
    """
    values, slopes = values.copy(), np.zeros(values.size, dtype=complex)
    mass, damping, stiffness = pencil
    inertia, resistance = mass @ right, damping @ right
    size: Any = 2.0 * inertia * values + resistance
    residual = (inertia * values + resistance) * values + stiffness @ right
    moved = change[0] @ (right * values) + change[1] @ right
    remaining = np.abs(values) > RIGID * scale
    while remaining.any():
        value = values[np.argmax(remaining)]
        width = _EQUAL * (abs(value) + scale)
        same = np.flatnonzero(remaining & (np.abs(values - value) <= width))
        remaining[same] = False
        partners = np.flatnonzero(np.abs(left[0] - value) <= 2.0 * width)
        if partners.size != same.size:
            continue
        w = left[1][:, partners].T
        inverse = np.linalg.pinv(w @ size[:, same])
        slopes[same] = np.linalg.eigvals(-inverse @ (w @ moved[:, same]))
        step = -(inverse @ (w @ residual[:, same]))[0, 0]
        if same.size == 1 and abs(step) <= width:
            values[same] += step if value.imag else step.real
    return values, slopes


def matched(before: ModesAt, after: ModesAt, first: Any = slice(None), second: Any = slice(None)) -> Indices:
    """Pairs (2, k) of modes, of those chosen by `first` and `second`, that are one: the sum of distances of eigenvalues
    to the tangents of the other velocity is least.

    Tangents are those of m = (λ₁ + λ₂)/2 and Δ = ((λ₁ − λ₂)/2)² of a mode, λ = m + √Δ, which are smooth where its
    eigenvalues become real.
    """
    step = after.velocity - before.velocity

    def extrapolated(modes: ModesAt, chosen: Any, step: float) -> Complex:
        mean, square = (f[0] + step * f[1] for f in _mean_and_square(modes.pairs[chosen].T, modes.slopes[chosen].T))
        return np.asarray(mean + np.sqrt(square.real + 0.0j))

    there, back = extrapolated(before, first, step), extrapolated(after, second, -step)
    here, next_ones = before.values[first], after.values[second]
    distance = np.abs(there[:, None] - next_ones) + np.abs(here[:, None] - back)
    return np.stack(scipy.optimize.linear_sum_assignment(distance))


class _Pair(NamedTuple):
    """Cubics of pairs of eigenvalues (p,) in one half of an interval, at places (s,) there, and their errors (p,)."""

    mean: Complex  # (s, p)
    square: Complex
    mean_error: Array
    square_error: Complex  # of the real and of the imaginary part

    def real_parts(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Bounds (s, p), from and to, of the larger and of the smaller Re λ = Re m ± Re √Δ."""
        size = [
            np.sqrt(_half_sum(self.square.real + sign * self.square_error.real, imaginary))
            for sign, imaginary in (
                (-1.0, np.maximum(np.abs(self.square.imag) - self.square_error.imag, 0.0)),
                (1.0, np.abs(self.square.imag) + self.square_error.imag),
            )
        ]
        low, high = self.mean.real - self.mean_error, self.mean.real + self.mean_error
        return (low + size[0], high + size[1]), (low - size[1], high - size[0])


def uncertain_halves(before: ModesAt, middle: ModesAt, after: ModesAt) -> tuple[bool, bool]:
    """Whether a mode may begin or cease to grow between a velocity and the middle one, and from there to the next.

    In both halves m and Δ of each mode (see `matched`), λ = m ± √Δ, are the cubics of their values and derivatives at
    the ends; so are those of two modes that come near each other, where λ itself is not smooth. Their error is that of
    the cubic over the whole interval in the middle, of which the halves have 1/16 where the fourth derivative varies
    little, and that of its slope. A half is certain if with this error, at 33 places, as many of each two eigenvalues
    grow as at both of its ends.
    """
    first, second = matched(before, middle), matched(middle, after)
    common, i, j = np.intersect1d(first[1], second[0], return_indices=True)
    rows = np.stack([first[0][i], common, second[1][j]])
    points = before, middle, after
    shown = np.any([point.shown[row] for point, row in zip(points, rows, strict=True)], axis=0)
    if any(np.setdiff1d(np.flatnonzero(p.shown), row).size for p, row in zip(points, rows, strict=True)):
        return True, True  # a mode that is not among those computed at the other velocities
    rows = rows[:, shown]
    values, slopes = (
        np.stack([getattr(point, name)[row] for point, row in zip(points, rows, strict=True)])
        for name in ("pairs", "slopes")
    )
    one, other = np.triu_indices(rows.shape[1], 1)
    near = np.abs(values[:, one, 0] - values[:, other, 0]) <= _EQUAL * (np.abs(values[:, one, 0]) + before.scale)
    one, other = one[~near.all(axis=0)], other[~near.all(axis=0)]  # others are one eigenvalue of several vectors
    # eigenvalues (3, p) of the pairs: of each mode, and of each two modes
    values, slopes = (
        np.stack([np.hstack([f[..., 0], f[:, one, 0]]), np.hstack([f[..., 1], f[:, other, 0]])])
        for f in (values, slopes)
    )
    of_mode = np.arange(values.shape[2]) < rows.shape[1]
    width = after.velocity - before.velocity
    mean, square = _mean_and_square(values, slopes)
    mean_error, square_error = (_error(f, slope, width) for f, slope in (mean, square))
    growing = grows(values, before.scale).sum(axis=0)
    out = []
    for left in (0, 1):
        ends = slice(left, left + 2)
        in_half = [_cubic(f[ends], slope[ends], 0.5 * width, _SAMPLES) for f, slope in (mean, square)]
        each = _Pair(in_half[0], in_half[1], mean_error.real, square_error)
        largest = np.abs(values[:, ends]).max(axis=(0, 1))
        limit = growth_limit(largest, before.scale) + np.where(of_mode, 0.0, _MET * largest)
        (low, high), (lowest, highest) = each.real_parts()
        certain = np.choose(
            growing[left],
            [
                (high < limit).all(axis=0),
                (low > limit).all(axis=0) & (highest < limit).all(axis=0),
                (lowest > limit).all(axis=0),
            ],
        ).astype(bool) & (growing[left] == growing[left + 1])
        size = np.abs(each.square)
        bound = np.abs(each.mean) + np.abs(mean_error) + np.sqrt(size + np.abs(square_error))
        at_rest = (bound <= RIGID * before.scale).all(axis=0)
        apart = size.min(axis=0) > _NEAR * size.max(axis=0) + np.abs(square_error)
        out.append(not bool((certain | at_rest | (~of_mode & apart)).all()))
    return out[0], out[1]


def _mean_and_square(values: Any, slopes: Any) -> tuple[tuple[Complex, Complex], tuple[Complex, Complex]]:
    """m = (λ₁ + λ₂)/2 and Δ = ((λ₁ − λ₂)/2)², each with its derivative, of eigenvalues and slopes (2, …)."""
    half, rate = 0.5 * (values[0] - values[1]), 0.5 * (slopes[0] - slopes[1])
    return (0.5 * (values[0] + values[1]), 0.5 * (slopes[0] + slopes[1])), (half * half, 2.0 * half * rate)


def _cubic(ends: Complex, slopes: Complex, width: float, place: Any) -> Complex:
    """Hermite's cubic (s, p) of values and derivatives (2, p) at the ends of an interval, at the shares (s,) of it."""
    t = np.asarray(place)[:, None]
    from_left, from_right = (1.0 + 2.0 * t) * (1.0 - t) ** 2, t**2 * (3.0 - 2.0 * t)
    return np.asarray(
        from_left * ends[0]
        + from_right * ends[1]
        + width * (t * (1.0 - t) ** 2 * slopes[0] - t**2 * (1.0 - t) * slopes[1])
    )


def _error(values: Complex, slopes: Complex, width: float) -> Complex:
    """Errors (p,) of the real and of the imaginary part of the cubic of the first and last of values (3, p): in the
    middle, where (x − a)²(x − b)² is largest, and of the slope there, by which (x − a)²(x − b)²(x − c) is at most w/6
    times it."""
    middle = values[1] - 0.5 * (values[0] + values[2]) - width / 8.0 * (slopes[0] - slopes[2])
    slope = slopes[1] - 1.5 * (values[2] - values[0]) / width + 0.25 * (slopes[0] + slopes[2])
    return np.asarray(_each_size(middle) + width / 6.0 * _each_size(slope))


def _each_size(value: Complex) -> Complex:
    return np.asarray(np.abs(value.real) + 1j * np.abs(value.imag))


def _half_sum(real: Array, imaginary: Array) -> Array:
    """(|z| + Re z)/2 = (Re √z)², increasing in Re z and |Im z|."""
    return np.asarray(np.maximum(0.5 * (np.hypot(real, imaginary) + real), 0.0))
