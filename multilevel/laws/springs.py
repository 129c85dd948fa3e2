"""Laws of springs: the force f as a function of the elongation e of a row of the system, of either sign.

A spring with a law (`Spring(…, law=…)`) is a point of the contact problem: a row e = B u of the contact's basis whose
regular law is bilateral, with the traction −f. It is condensed and integrated as the layers of contact are, so that the
schemes, compiled loops, ensembles and gradients that take layers take springs. The mean force over a step from e₀ to
e₁ is that of the straight path between them,

    f̄ = 1/Δe ∫ f de,    f̄ Δe = ψ(e₁) − ψ(e₀) + D,    D ≥ 0

so that the energy of a step is exact for θ = 1/2: ψ is the stored energy, in the column `asperity`, and D the loss, in
`asperity_damping`. With θ > 1/2 the weight of f(e₁) is 2θ − 1, and the difference of the works is in `scheme`.

* Elastic laws: f = ψ′(e). The mean of a piecewise linear force and of a polynomial is in closed form; both are discrete
  gradients of ψ (Gonzalez, J. Nonlinear Sci. 6 (1996) 449–467).
* A Jenkins element (K, F) is rate-independent: on a monotone path its force grows with K up to ±F and stays there, so
  that the path integral is in closed form as well, with ψ = s²/(2K), s its force, and D = F |Δe_slip|.
* Bouc and Wen's law f = α k e + (1 − α) k z, dz = (1 − |z|ⁿ (γ + β sgn(z de))) de, by the midpoint rule,

      z̄ = (z₀ + z₁)/2,   Δz = (1 − |z̄|ⁿ (γ + β sgn(z̄ Δe))) Δe,   f̄ = α k ē + (1 − α) k z̄

  With z̄ Δz = Δ(z²/2) this gives ψ = α k e²/2 + (1 − α) k z²/2 and

      D = (1 − α) k z̄ (Δe − Δz) = (1 − α) k |z̄|ⁿ⁺¹ |Δe| (β + γ sgn(z̄ Δe)) ≥ 0   for all motions if and only if β ≥ |γ|

  so that D is not negative for steps of any size. Δz is the root of a monotone scalar equation. Order 2 in the step.

Source: Wen, J. Eng. Mech. Div. 102 (1976) 249–263; Iwan, J. Appl. Mech. 33 (1966) 893–900; Erlicher & Point, C. R.
Mécanique 332 (2004) 51–57 (admissible parameters).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from arlequin.models.checks import check_fields, finite, finite_array, non_negative, positive
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array

_ROUND_OFF = 1e-9  # of a force, by which it may be beyond its limit


class SpringBranch(ABC):
    """One of the branches of a spring that act in parallel, as a `RegularLaw` of the elongation (the gap of its row).

    kinks (n,): elongations at which the stiffness jumps, m; variable: whether the force has a memory.
    """

    kinks: tuple[float, ...] = ()
    variable = False

    @property
    def damped(self) -> bool:
        """Whether the branch dissipates energy."""
        return self.variable

    @abstractmethod
    def coefficients(self) -> Array:
        """Constants of the law for its kernel."""

    @abstractmethod
    def kernel(self) -> Any:
        """Compiled mean tractions over a step, see `arlequin.multilevel.laws.signature`."""

    def path_kernel(self) -> Any:
        """The same kernel in complex numbers, of many steps at once, of a branch with memory; see `BilateralLaw`."""
        raise NotImplementedError

    @abstractmethod
    def force(self, elongation: Array) -> Array:
        """Force f (k,), N, at the elongations (k,), m; of a branch with memory the first one, from rest."""

    @abstractmethod
    def energy(self, gap: Array) -> Array:
        """Stored energy ψ (k,), J, at the elongations (k,), m; of a branch with memory that of the elongation alone."""

    @abstractmethod
    def stiffness_bound(self) -> float:
        """Largest df/de, N/m: limits explicit steps."""

    def at_rest(self) -> float:
        """Stiffness df/de at e = 0, N/m: the mean of both sides at a kink."""
        short = 1e-6 * min((abs(kink) for kink in self.kinks if kink != 0.0), default=1.0)
        low, high = self.force(np.array([-short, short]))
        return float((high - low) / (2.0 * short))

    def stored(self, history: Array) -> Any:
        """Energy stored in the internal variables (…,), J, of histories (…, h)."""
        return np.zeros(history.shape[:-1])

    def internal_force(self, history: Array) -> Any:
        """Part of the force (…,), N, by the internal variables of histories (…, h)."""
        return np.zeros(history.shape[:-1])

    def stored_slope(self, history: Array) -> Any:
        """Derivative (…,) of the stored energy by the internal variables of histories (…, h)."""
        return np.zeros(history.shape[:-1])

    def internal_variable(self, force: Array) -> Any:
        """Internal variables (…,) that give these forces (…,), N; UserError where they are beyond the law's limit."""
        return np.zeros(np.shape(force))

    def pressure(self, gap: Array) -> Array:
        """The traction −f at the elongations (k,); of a branch with memory that of its start, unloaded there."""
        return -self.force(gap)

    def damping_pressure(self, gap: Array, rate: Array) -> Array:
        """0: no force depends on the rate."""
        return np.zeros(np.broadcast(gap, rate).shape)


class SpringLaw(ABC):
    """Law of a spring, as `Spring(…, law=law)`: the sum of branches in parallel.

    >>> import arlequin as aq
    >>> [law.force(0.002) for law in (aq.springs.Cubic(1e3, cubic=1e9), aq.springs.Backlash(1e3, gap=0.0005))]
    [10.0, 1.5]
    """

    @property
    @abstractmethod
    def branches(self) -> tuple[SpringBranch, ...]:
        """The branches, whose forces add up."""

    @property
    def hysteretic(self) -> bool:
        """Whether the force depends on the path."""
        return any(branch.variable for branch in self.branches)

    def force(self, elongation: Any) -> Any:
        """Force f, N, at elongations, m, reached from the unloaded spring on a straight path."""
        e = np.asarray(elongation, dtype=float)
        total = sum(branch.force(e.ravel()) for branch in self.branches)
        return np.asarray(total).reshape(e.shape) if e.ndim else float(np.ravel(total)[0])

    def energy(self, elongation: Any) -> Any:
        """Stored energy ψ, J, of an elastic law at elongations, m; UserError for a law with memory."""
        if self.hysteretic:
            raise UserError(f"{type(self).__name__}: its energy depends on the path, not on the elongation alone")
        e = np.asarray(elongation, dtype=float)
        total = sum(branch.energy(e.ravel()) for branch in self.branches)
        return np.asarray(total).reshape(e.shape) if e.ndim else float(np.ravel(total)[0])


@dataclass(frozen=True)
class Elastic(SpringBranch, SpringLaw):
    """An elastic law: one branch without memory."""

    @property
    def branches(self) -> tuple[SpringBranch, ...]:
        return (self,)

    def force(self, elongation: Any) -> Any:
        e = np.asarray(elongation, dtype=float)
        values = self._force(e.ravel()).reshape(e.shape)
        return values if e.ndim else float(values)

    def energy(self, gap: Any) -> Any:
        e = np.asarray(gap, dtype=float)
        values = self._energy(e.ravel()).reshape(e.shape)
        return values if e.ndim else float(values)

    @abstractmethod
    def _force(self, e: Array) -> Array:
        """f (k,) at e (k,)."""

    @abstractmethod
    def _energy(self, e: Array) -> Array:
        """ψ (k,) at e (k,)."""


@checked_call
@dataclass(frozen=True)
class Table(Elastic):
    """Piecewise linear force through (e_i, f_i), continued with the stiffness of the first and the last piece.

    elongations (n,) in m, growing; forces (n,) in N. A force that falls is taken, too (snap-through): the step must
    then resolve it. Stored energy ψ(e) = ∫ f de from e = 0. Over a step the mean force on the straight path is exact.

    >>> import arlequin as aq
    >>> law = aq.springs.Table([-0.001, 0.0, 0.001, 0.003], [-1.0, 0.0, 1.0, 2.0])  # m, N
    >>> [round(law.force(e), 9) for e in (-0.002, 0.0005, 0.002, 0.005)]
    [-2.0, 0.5, 1.5, 3.0]
    >>> round(law.energy(0.003), 9)  # ½ 1 N · 1 mm + 1.5 N · 2 mm, J
    0.0035
    """

    elongations: Sequence[float]
    forces: Sequence[float]

    def __post_init__(self) -> None:
        e, f = (finite_array(name, getattr(self, name)).ravel() for name in ("elongations", "forces"))
        if e.size != f.size or e.size < 2:
            raise UserError.parameter("forces", f"{f.size} values", f"needs one for each of {e.size} elongations, ≥ 2")
        if not (np.diff(e) > 0.0).all():
            raise UserError("elongations: must grow from each value to the next")
        object.__setattr__(self, "elongations", tuple(e.tolist()))
        object.__setattr__(self, "forces", tuple(f.tolist()))

    @property
    def kinks(self) -> tuple[float, ...]:  # type: ignore[override]
        s = self._slopes
        return tuple(e for e, a, b in zip(self.elongations, s[:-1], s[1:], strict=True) if a != b)

    @cached_property
    def _slopes(self) -> Array:
        """Stiffness (n + 1,) of the pieces, with those outside the table."""
        inner = np.diff(self.forces) / np.diff(self.elongations)
        return np.concatenate([inner[:1], inner, inner[-1:]])

    def coefficients(self) -> Array:
        s = self._slopes
        return np.array([len(self.forces), s[0], s[-1], *self.elongations, *self.forces])

    def kernel(self) -> Any:
        from arlequin.multilevel.laws._spring_law_kernels import table_spring

        return table_spring

    def stiffness_bound(self) -> float:
        return float(max(self._slopes.max(), 0.0))

    def _force(self, e: Array) -> Array:
        knots, f = np.array(self.elongations), np.array(self.forces)
        piece = np.searchsorted(knots, e, side="right")
        at = np.maximum(piece - 1, 0)
        return np.asarray(f[at] + self._slopes[piece] * (e - knots[at]))

    def _energy(self, e: Array) -> Array:
        return self._from_first(e) - self._from_first(np.zeros(1))

    def _from_first(self, e: Array) -> Array:
        """∫ f de from the first knot to e (k,)."""
        knots, f = np.array(self.elongations), np.array(self.forces)
        sums = np.concatenate([[0.0], np.cumsum(0.5 * (f[1:] + f[:-1]) * np.diff(knots))])
        piece = np.searchsorted(knots, e, side="right")
        at = np.maximum(piece - 1, 0)
        beyond = e - knots[at]
        return np.asarray(sums[at] + beyond * (f[at] + 0.5 * self._slopes[piece] * beyond))


@checked_call
def Bilinear(stiffness: float, second: float, elongation: float) -> Table:
    """Elastic spring of two stiffnesses: f = k₁ e up to |e| = e₁ = `elongation`, m, beyond with the slope k₂, N/m.

    >>> import arlequin as aq
    >>> law = aq.springs.Bilinear(1000.0, 200.0, 0.001)  # N/m, N/m, m
    >>> [round(law.force(e), 9) for e in (-0.0005, 0.002)]
    [-0.5, 1.2]
    """
    k1, k2 = non_negative("stiffness", stiffness), non_negative("second", second)
    e = positive("elongation", elongation)
    if k1 == k2 == 0.0:
        raise UserError("stiffness, second: one of them must be positive")
    return Table([-2.0 * e, -e, e, 2.0 * e], [-(k1 + k2) * e, -k1 * e, k1 * e, (k1 + k2) * e])


@checked_call
def Backlash(stiffness: float, gap: float, middle: float = 0.0) -> Table:
    """Backlash: no force while |e − e₀| < `gap`, m, and a spring K = `stiffness`, N/m, beyond, in both directions.

        f = K ⟨e − e₀ − gap⟩₊ − K ⟨e₀ − gap − e⟩₊,    e₀ = middle

    gap is half the play. The ends of the play are crossed within steps: the mean force of the step is exact there.

    >>> import arlequin as aq
    >>> law = aq.springs.Backlash(1000.0, gap=0.001)  # N/m, m
    >>> [round(law.force(e), 9) for e in (-0.003, 0.0005, 0.002)]
    [-2.0, 0.0, 1.0]
    """
    k, gap, middle = positive("stiffness", stiffness), positive("gap", gap), finite("middle", middle)
    return Table([middle - 2.0 * gap, middle - gap, middle + gap, middle + 2.0 * gap], [-k * gap, 0.0, 0.0, k * gap])


@checked_call
@dataclass(frozen=True)
class Cubic(Elastic):
    """Polynomial spring f = k e + k₂ e² + k₃ e³: hardening for k₃ > 0, softening for k₃ < 0.

    stiffness k in N/m (negative: a buckled spring with two equilibria), quadratic k₂ in N/m², cubic k₃ in N/m³. travel,
    m: largest |e| for which explicit steps are to be stable; they need it, as the stiffness has no bound.

    >>> import arlequin as aq
    >>> law = aq.springs.Cubic(1000.0, cubic=1e9)  # N/m, N/m³
    >>> law.force(0.001), round(law.energy(0.001), 12)  # N, J
    (2.0, 0.00075)
    """

    stiffness: float
    quadratic: float = 0.0
    cubic: float = 0.0
    travel: float | None = None

    def __post_init__(self) -> None:
        check_fields(self, stiffness=finite, quadratic=finite, cubic=finite)
        if self.stiffness == self.quadratic == self.cubic == 0.0:
            raise UserError("Cubic: needs a stiffness, a quadratic or a cubic coefficient other than 0")
        if self.travel is not None:
            check_fields(self, travel=positive)

    def coefficients(self) -> Array:
        return np.array([self.stiffness, self.quadratic, self.cubic])

    def kernel(self) -> Any:
        from arlequin.multilevel.laws._spring_law_kernels import cubic_spring

        return cubic_spring

    def at_rest(self) -> float:
        return self.stiffness

    def stiffness_bound(self) -> float:
        if self.quadratic == self.cubic == 0.0:
            return max(self.stiffness, 0.0)
        if self.travel is None:
            raise UserError(
                "Cubic: its stiffness has no bound, which explicit steps need: give travel, the largest elongation, m"
            )
        e = np.array([-self.travel, self.travel])
        if self.cubic != 0.0 and abs(self.quadratic) < 3.0 * abs(self.cubic) * self.travel:
            e = np.append(e, -self.quadratic / (3.0 * self.cubic))
        return float(max((self.stiffness + e * (2.0 * self.quadratic + 3.0 * self.cubic * e)).max(), 0.0))

    def _force(self, e: Array) -> Array:
        return e * (self.stiffness + e * (self.quadratic + e * self.cubic))

    def _energy(self, e: Array) -> Array:
        return e * e * (0.5 * self.stiffness + e * (self.quadratic / 3.0 + 0.25 * self.cubic * e))


@dataclass(frozen=True)
class Jenkins(SpringBranch):
    """Jenkins element: a spring K, N/m, in series with a slider of the limit F, N."""

    stiffness: float
    limit: float
    variable = True

    def coefficients(self) -> Array:
        return np.array([self.stiffness, self.limit])

    def at_rest(self) -> float:
        return self.stiffness

    def kernel(self) -> Any:
        from arlequin.multilevel.laws._spring_law_kernels import jenkins

        return jenkins

    def path_kernel(self) -> Any:
        from arlequin.multilevel.laws._spring_law_kernels import jenkins_paths

        return jenkins_paths

    def stiffness_bound(self) -> float:
        return self.stiffness

    def force(self, elongation: Array) -> Array:
        return np.clip(self.stiffness * elongation, -self.limit, self.limit)

    def pressure(self, gap: Array) -> Array:
        return np.zeros(np.shape(gap))

    def energy(self, gap: Array) -> Array:
        return np.zeros(np.shape(gap))

    def stored(self, history: Array) -> Array:
        """ψ = s²/(2K), J, of histories (…, h)."""
        return history[..., 1] ** 2 / (2.0 * self.stiffness)

    def internal_force(self, history: Array) -> Array:
        """The force s of the slider, N."""
        return history[..., 1]

    def stored_slope(self, history: Array) -> Array:
        """s/K, m."""
        return history[..., 1] / self.stiffness

    def internal_variable(self, force: Array) -> Array:
        """s = f."""
        return _within(force, self.limit)


@checked_call
@dataclass(frozen=True)
class Iwan(SpringLaw):
    """Iwan's parallel-series model: Jenkins elements (K_i, F_i) in parallel, and an elastic spring beside them.

        f = K_∞ e + Σ s_i,    ṡ_i = K_i ė while |s_i| < F_i,    |s_i| ≤ F_i

    stiffnesses (n,) in N/m, limits (n,) in N, residual K_∞ ≥ 0 in N/m. Each element stores s²/(2K_i) and loses F_i
    times its slip. It is integrated without error on the straight path of a step, so that closed loops between turning
    points follow Masing's rule, f(e) = f_r + 2 f₀((e − e_r)/2) with the first loading f₀.

    >>> import arlequin as aq
    >>> law = aq.springs.Iwan([1000.0, 500.0], [1.0, 2.0])  # N/m, N
    >>> [law.force(e) for e in (0.0005, 0.002, 0.01)]
    [0.75, 2.0, 3.0]
    """

    stiffnesses: Sequence[float]
    limits: Sequence[float]
    residual: float = 0.0

    def __post_init__(self) -> None:
        k, f = (np.atleast_1d(finite_array(name, getattr(self, name))) for name in ("stiffnesses", "limits"))
        for name, values in (("stiffnesses", k), ("limits", f)):
            if values.ndim != 1 or not values.size or not (values > 0.0).all():
                raise UserError.parameter(name, getattr(self, name), "must be positive numbers")
        if k.size != f.size:
            raise UserError.parameter("limits", f"{f.size} values", f"needs one for each of {k.size} stiffnesses")
        check_fields(self, residual=non_negative)
        object.__setattr__(self, "stiffnesses", tuple(k.tolist()))
        object.__setattr__(self, "limits", tuple(f.tolist()))

    @cached_property
    def branches(self) -> tuple[SpringBranch, ...]:
        elements = [Jenkins(k, f) for k, f in zip(self.stiffnesses, self.limits, strict=True)]
        return (*elements, *([Cubic(self.residual)] if self.residual > 0.0 else []))


@checked_call
@dataclass(frozen=True)
class BoucWen(SpringBranch, SpringLaw):
    """Bouc and Wen's hysteretic spring, integrated by the midpoint rule with D ≥ 0 in every step.

        f = α k e + (1 − α) k z,    ż = ė − β |ė| |z|ⁿ⁻¹ z − γ ė |z|ⁿ

    stiffness k in N/m (of small motions), ratio α in [0, 1): the share that stays beyond yielding; beta, gamma in 1/mⁿ,
    exponent n ≥ 1. z saturates at (β + γ)^(−1/n), m. β ≥ |γ|: others give energy in some cycles and are refused.

    >>> import arlequin as aq
    >>> law = aq.springs.BoucWen(1000.0, ratio=0.1, beta=600.0, gamma=400.0)  # N/m, 1/m: yields at 1 mm
    >>> round(law.limit, 9), round(law.force(1.0) - 100.0, 9)  # m, (1 − α) k · 1 mm, N
    (0.001, 0.9)
    """

    stiffness: float
    ratio: float
    beta: float
    gamma: float
    exponent: float = 1.0
    variable = True

    def __post_init__(self) -> None:
        check_fields(self, stiffness=positive, ratio=non_negative, beta=positive, gamma=finite, exponent=positive)
        if self.ratio >= 1.0:
            raise UserError.parameter("ratio", self.ratio, "must be in [0, 1): 1 is a linear spring")
        if self.exponent < 1.0:
            raise UserError.parameter("exponent", self.exponent, "must be at least 1")
        if self.beta < abs(self.gamma):
            raise UserError.parameter(
                "gamma", self.gamma, f"must be in [−beta, beta] = ±{self.beta:g}: others create energy in some cycles"
            )

    @property
    def branches(self) -> tuple[SpringBranch, ...]:
        return (self,)

    @property
    def limit(self) -> float:
        """The value (β + γ)^(−1/n) at which z saturates, m; infinite for γ = −β."""
        total = self.beta + self.gamma
        return float(total ** (-1.0 / self.exponent)) if total > 0.0 else float("inf")

    def at_rest(self) -> float:
        return self.stiffness

    def coefficients(self) -> Array:
        elastic = self.ratio * self.stiffness
        return np.array([elastic, self.stiffness - elastic, self.beta, self.gamma, self.exponent])

    def kernel(self) -> Any:
        from arlequin.multilevel.laws._spring_law_kernels import bouc_wen

        return bouc_wen

    def path_kernel(self) -> Any:
        from arlequin.multilevel.laws._spring_law_kernels import bouc_wen_paths

        return bouc_wen_paths

    def stiffness_bound(self) -> float:
        """Largest df/de: on unloading z returns faster than e where γ < β, at most by 1 + (β − γ)/(β + γ)."""
        total = self.beta + self.gamma
        steeper = max(self.beta - self.gamma, 0.0) / total if total > 0.0 else np.inf
        return float(self.stiffness * (1.0 + (1.0 - self.ratio) * steeper))

    def force(self, elongation: Any) -> Any:
        """Force of the first loading, N: dz/de = 1 − (β + γ) zⁿ from rest, by the same rule in 2000 steps."""
        from arlequin.multilevel.laws._spring_law_kernels import middle_variable

        e = np.asarray(elongation, dtype=float)
        out, (elastic, hysteretic, *constants) = np.empty(e.size), self.coefficients()
        for i, end in enumerate(e.ravel()):
            z, width = 0.0, end / 2000.0
            for _ in range(2000 if end else 0):
                z = 2.0 * middle_variable(z, width, *constants) - z
            out[i] = elastic * end + hysteretic * z
        return out.reshape(e.shape) if e.ndim else float(out[0])

    def pressure(self, gap: Array) -> Array:
        """Traction of the elastic share alone, −α k e, N: z = 0 at the start."""
        return -self.ratio * self.stiffness * gap

    def energy(self, gap: Any) -> Any:
        """Energy of the elastic share alone, α k e²/2, J; that of z is in its history."""
        return 0.5 * self.ratio * self.stiffness * np.asarray(gap, dtype=float) ** 2

    def stored(self, history: Array) -> Array:
        """(1 − α) k z²/2, J, of histories (…, h)."""
        return 0.5 * (1.0 - self.ratio) * self.stiffness * history[..., 1] ** 2

    def internal_force(self, history: Array) -> Array:
        """(1 − α) k z, N, of histories (…, h)."""
        return (1.0 - self.ratio) * self.stiffness * history[..., 1]

    def stored_slope(self, history: Array) -> Array:
        """(1 − α) k z, N."""
        return self.internal_force(history)

    def internal_variable(self, force: Array) -> Array:
        """z = f/((1 − α) k)."""
        hysteretic = (1.0 - self.ratio) * self.stiffness
        return _within(force, hysteretic * self.limit) / hysteretic


def _within(force: Array, limit: float) -> Array:
    """The forces; UserError where one is beyond the limit, N."""
    largest = float(np.abs(force).max(initial=0.0))
    if largest > limit * (1.0 + _ROUND_OFF):
        raise UserError(f"the internal force {largest:g} N of a law with a memory is beyond its limit, {limit:g} N")
    return np.clip(force, -limit, limit)
