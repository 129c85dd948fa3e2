"""Checks of contact and friction laws of a user, without a simulation: pressure, energy, kernel and coefficient."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from arlequin.models.checks import finite_array, positive
from arlequin.models.errors import UserError, UserTypeError, shown
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.laws.base import RegularLaw, SetValuedLaw
from arlequin.multilevel.laws.friction import VARIABLES, FrictionLaw, SlidingState

_SHARES = (-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # default gaps over E(0)/p(0)
_WEIGHTS = (0.5, 0.75, 1.0, 0.0)  # θ of the checked steps; 0 is that of explicit schemes
_DIFFERENCE = 1e-6  # of finite differences, relative to the range of the gaps
_MEAN = 1e-6  # relative error of mean pressures over a step
_DERIVATIVE = 1e-3  # relative error of derivatives by finite differences
_FLOOR = 1e-5  # of the largest pressure (or slope): below it differences are round-off, or a kink between two gaps


@checked_call
def check_law(law: Any, gaps: Any = None, *, step: float = 1e-6, states: SlidingState | None = None) -> None:
    """Checks that the methods of a contact or friction law agree with each other; UserError at the first that does not.

    A regular law (`RegularLaw`) on all paths g₀ → g₁ between the gaps, with E the energy, p the pressure:

        p = −dE/dg ≥ 0,   p(∞) = E(∞) = 0,   stiffness_bound() ≥ −dp/dg on g ≥ 0
        kernel, θ ≥ 1/2:  stored = (2 − 2θ) (E(g₀) − E(g₁))/(g₁ − g₀) + (2θ − 1) p(g₁),    θ = 0: p(g₀)
        kernel: slopes ∂stored/∂g₁ and ∂dissipated/∂g₁,   −dissipated · (g₁ − g₀) ≥ 0,   trial[0] = g₁

    the dissipated pressure being 0 at rest, and in short steps that of `damping_pressure`; internal variables are 0 at
    the start. The energy balance of a run cannot replace this: it holds for any pressure that acts equally on both
    sides, and the error of a wrong energy is counted as `scheme`. A friction law (`FrictionLaw`): μ (k,) finite, not
    negative, uniform where the law is not `state_dependent`; `advance` (k, 2) finite. A set-valued law: the ranges of
    its attributes.

    gaps (k,), m: where the law is evaluated, with some at which it acts; default: −1 to 8 times E(0)/p(0), or 1e-6 m
    where p(0) = 0. step, s: of the checked steps. states: of the friction law; default: slip rates 0 to 10 m/s,
    pressures 0 to 1e8 Pa.

    >>> import arlequin as aq
    >>> aq.check_law(aq.Asperities(stiffness=1e12, exponent=2, height=1e-3))
    >>> class Doubled(aq.Asperities):
    ...     def energy(self, gap):
    ...         return 2.0 * super().energy(gap)
    >>> try:
    ...     aq.check_law(Doubled(stiffness=1e12, exponent=2, height=1e-3), gaps=[0.0, 1e-3])
    ... except aq.UserError as error:
    ...     print(error)
    energy() of Doubled: −dE/dg at gap = 0 m: got 2e+06 Pa, expected 1e+06 Pa as by pressure() and kernel()
    """
    step = positive("step", step)
    if isinstance(law, type):
        raise UserTypeError(f"law = {law.__name__}: is a class, not a law: write {law.__name__}(…)")
    if isinstance(law, RegularLaw):
        _RegularCheck(law, _gaps(law, gaps), step).run()
    elif isinstance(law, FrictionLaw):
        _check_friction(law, _states() if states is None else states, step)
    elif isinstance(law, SetValuedLaw):
        _check_set_valued(law)
    else:
        known = ("RegularLaw", RegularLaw), ("FrictionLaw", FrictionLaw), ("SetValuedLaw", SetValuedLaw)
        lacking = [
            f"{name} needs {', '.join(sorted(method for method in _attributes(kind) if not hasattr(law, method)))}"
            for name, kind in known
        ]
        raise UserTypeError(f"law = {shown(law)}: is no law of contact or friction; {'; '.join(lacking)}")


def _attributes(protocol: Any) -> list[str]:
    """Names of the members of a protocol."""
    return [name for name in vars(protocol) if not name.startswith("_")]


def _fault(law: Any, method: str, where: str, got: str, expected: str) -> UserError:
    return UserError(f"{method} of {type(law).__name__}: {where}: got {got}, expected {expected}")


def _column(law: Any, method: str, values: Any, gaps: Array, unit: str) -> Array:
    """Values (k,) of a method at the gaps, finite."""
    array = np.asarray(values, dtype=float)
    if array.shape != gaps.shape:
        raise _fault(law, method, f"at {gaps.size} gaps", f"the shape {array.shape}", f"the shape {gaps.shape}")
    for gap, value in zip(gaps.tolist(), array.tolist(), strict=True):
        if not math.isfinite(value):
            raise _fault(law, method, f"at gap = {gap:.6g} m", f"{value} {unit}", "a finite number")
    return array


def _gaps(law: RegularLaw, gaps: Any) -> Array:
    """The gaps (k,) at which a law is checked, growing."""
    if gaps is not None:
        return np.unique(finite_array("gaps", gaps).ravel())
    zero = np.zeros(1)
    with np.errstate(all="ignore"):
        length = _column(law, "energy()", law.energy(zero), zero, "J/m²")[0]
        pressure = _column(law, "pressure()", law.pressure(zero), zero, "Pa")[0]
    length = length / pressure if pressure > 0.0 and length > 0.0 else 1e-6
    return length * np.array(_SHARES)


@dataclass(frozen=True, eq=False)
class _RegularCheck:
    """The checks of a regular law at gaps (k,), m, with steps of one length, s."""

    law: RegularLaw
    gaps: Array
    step: float

    def run(self) -> None:
        """All checks, ordered so that the first failure names the wrong method."""
        with np.errstate(all="ignore"):
            self._check_values()
            self._check_calls()
            self._check_pressure()
            self._check_means()
            self._check_slopes()
            self._check_dissipation()
            self._check_open()
            self._check_bound()

    def _fault(self, method: str, where: str, got: str, expected: str) -> UserError:
        return _fault(self.law, method, where, got, expected)

    @cached_property
    def _range(self) -> float:
        """Range of the gaps, m."""
        return float(np.ptp(self.gaps)) or float(np.abs(self.gaps).max()) or 1e-6

    @cached_property
    def _pressure(self) -> Array:
        """Pressures (k,), Pa."""
        return _column(self.law, "pressure()", self.law.pressure(self.gaps.copy()), self.gaps, "Pa")

    @cached_property
    def _energy(self) -> Array:
        """Energies (k,), J/m²."""
        return _column(self.law, "energy()", self.law.energy(self.gaps.copy()), self.gaps, "J/m²")

    @cached_property
    def _constants(self) -> Array:
        """The constants of the law for its kernel."""
        constants = np.asarray(self.law.coefficients(), dtype=float)
        if constants.ndim != 1 or not np.isfinite(constants).all():
            raise self._fault("coefficients()", "constants", shown(constants), "a vector (m,) of finite numbers")
        return np.ascontiguousarray(constants)

    @cached_property
    def _paths(self) -> list[tuple[float, float]]:
        """Gaps at the start and the end of the checked steps: rest, short steps and all between two gaps."""
        gaps, short = self.gaps.tolist(), [1e-9 * self._range, 1e-3 * self._range]
        return [(a, b) for a in gaps for b in (a, *(a + way * d for d in short for way in (1.0, -1.0)), *gaps)]

    def _kernel(self, start: float, end: float, theta: float, step: float | None = None, padding: int = 0) -> Array:
        """The tractions and slopes (4,) of the kernel for a step from one gap to another."""
        constants = np.append(self._constants, np.zeros(padding))
        history, trial = np.array([start, 0.0, 0.0, 0.0]), np.array([np.nan, 0.0, 0.0, 0.0])
        kernel, dt = self.law.kernel(), self.step if step is None else step
        tractions = np.asarray(kernel(constants, history, end, dt, theta, trial), dtype=float)
        where = f"from {start:.6g} m to {end:.6g} m with theta = {theta:g}"
        if tractions.shape != (4,):
            outputs = "stored, its slope, dissipated, its slope"
            raise self._fault("kernel()", where, f"{tractions.size} numbers", f"4: {outputs}")
        if trial[0] != end:
            raise self._fault("kernel()", f"trial[0] {where}", f"{trial[0]:.6g}", f"{end:.6g}: write trial[0] = gap")
        if trial[3] != 0.0:
            raise self._fault("kernel()", f"trial[3] {where}", f"{trial[3]:.6g}", "0: it is reserved")
        if history.tolist() != [start, 0.0, 0.0, 0.0]:
            raise self._fault("kernel()", f"history after a step {where}", shown(history), "no change: write to trial")
        if not np.isfinite(tractions).all():
            raise self._fault("kernel()", where, shown(tractions), "finite numbers")
        return tractions

    def _check_values(self) -> None:
        """Pressures and energies are finite, not negative, and act at some gap."""
        for method, values, unit in (("pressure()", self._pressure, "Pa"), ("energy()", self._energy, "J/m²")):
            if (values < 0.0).any():
                k = int(np.argmin(values))
                raise self._fault(method, f"at gap = {self.gaps[k]:.6g} m", f"{values[k]:.6g} {unit}", "at least 0")
        if not self._pressure.any():
            raise self._fault(
                "pressure()", f"at gaps from {self.gaps[0]:.6g} m to {self.gaps[-1]:.6g} m", "0 Pa everywhere",
                "some pressure: give check_law gaps= at which the law acts",
            )  # fmt: skip

    def _check_calls(self) -> None:
        """The kernel accepts every path, and constants padded with zeros."""
        for a, b in self._paths:
            for theta in _WEIGHTS:
                self._kernel(a, b, theta)
        a, b = float(self.gaps[0]), float(self.gaps[-1])
        unpadded, padded = self._kernel(a, b, 0.5), self._kernel(a, b, 0.5, padding=3)
        if not np.array_equal(unpadded, padded):
            raise self._fault("kernel()", "with coefficients padded with zeros", shown(padded), f"{shown(unpadded)}")

    def _check_pressure(self) -> None:
        """−dE/dg, pressure() and the kernel at rest agree; the one that differs from the two others is wrong."""
        h = _DIFFERENCE * self._range
        ends = np.concatenate([self.gaps - h, self.gaps + h])
        below, above = np.split(_column(self.law, "energy()", self.law.energy(ends), ends, "J/m²"), 2)
        for k, gap in enumerate(self.gaps.tolist()):
            by_energy, by_kernel, pressure = (below[k] - above[k]) / (2.0 * h), None, self._pressure[k]
            by_kernel = self._kernel(gap, gap, 1.0)[0]
            noise = np.finfo(float).eps * self._energy.max() / h
            limit = _DERIVATIVE * abs(pressure) + _FLOOR * self._pressure.max() + noise
            where = f"at gap = {gap:.6g} m"
            energy_agrees, kernel_agrees, others_agree = (
                abs(a - b) <= limit for a, b in ((by_energy, pressure), (by_kernel, pressure), (by_kernel, by_energy))
            )
            if not energy_agrees and others_agree:
                raise self._fault(
                    "pressure()", where, f"{pressure:.6g} Pa", f"{by_energy:.6g} Pa as by energy() and kernel()"
                )
            if not energy_agrees and kernel_agrees:
                raise self._fault(
                    "energy()",
                    f"−dE/dg {where}",
                    f"{by_energy:.6g} Pa",
                    f"{pressure:.6g} Pa as by pressure() and kernel()",
                )
            if not kernel_agrees:
                addition = " and energy()" if energy_agrees else f"; −dE/dg by energy() is {by_energy:.6g} Pa"
                raise self._fault(
                    "kernel()", f"stored pressure at rest {where}", f"{by_kernel:.6g} Pa",
                    f"{pressure:.6g} Pa as by pressure(){addition}",
                )  # fmt: skip

    def _check_means(self) -> None:
        """The stored mean pressure of each step."""
        largest = self._pressure.max()
        for a, b in self._paths:
            pair = np.array([a, b])
            (start, end), (energy_start, energy_end) = self.law.pressure(pair).tolist(), self.law.energy(pair).tolist()
            round_off = 8.0 * np.finfo(float).eps * max(abs(energy_start), abs(energy_end))
            if abs(b - a) > 1e-4 * self._range:
                mean, rough = (energy_start - energy_end) / (b - a), _MEAN * max(start, end) + round_off / abs(b - a)
            else:
                mean, rough = 0.5 * (start + end), _DERIVATIVE * max(start, end)
            for theta in _WEIGHTS:
                if theta >= 0.5:
                    expected, source = (2.0 - 2.0 * theta) * mean + (2.0 * theta - 1.0) * end, "by energy()"
                else:
                    expected, source = start, "by pressure() at the start"
                traction = self._kernel(a, b, theta)[0]
                if not abs(traction - expected) <= rough + 1e-9 * largest:
                    source = "by pressure() at the end" if theta == 1.0 else source
                    where = f"stored pressure from gap {a:.6g} m to {b:.6g} m with theta = {theta:g}"
                    raise self._fault("kernel()", where, f"{traction:.6g} Pa", f"{expected:.6g} Pa {source}")

    def _check_slopes(self) -> None:
        """Derivatives by the gap at the end of the step; at a kink, between those of both sides."""
        h = _DIFFERENCE * self._range
        for a, b in self._paths:
            for theta in _WEIGHTS:
                low, middle, high = (self._kernel(a, b + way * h, theta) for way in (-1.0, 0.0, 1.0))
                for i, name in ((0, "stored"), (2, "dissipated")):
                    sides = sorted([(middle[i] - low[i]) / h, (high[i] - middle[i]) / h])
                    size = max(abs(sides[0]), abs(sides[1]))
                    rough = np.finfo(float).eps * 1e3 * max(abs(low[i]), abs(high[i])) / h
                    limit = _DERIVATIVE * size + _FLOOR * self._pressure.max() / self._range + rough
                    slope = middle[i + 1]
                    if not sides[0] - limit <= slope <= sides[1] + limit:
                        where = f"slope of the {name} pressure from gap {a:.6g} m to {b:.6g} m with theta = {theta:g}"
                        expected = (
                            f"{0.5 * (sides[0] + sides[1]):.6g} Pa/m by finite differences of the {name} pressure"
                        )
                        raise self._fault("kernel()", where, f"{slope:.6g} Pa/m", expected)

    def _check_dissipation(self) -> None:
        """Losses are not negative, 0 at rest, and those of `damping_pressure` in short steps; no tension."""
        damped, largest = bool(self.law.damped), float(self._pressure.max())
        for a, b in self._paths:
            for theta in _WEIGHTS:
                stored, _, lossy, _ = self._kernel(a, b, theta).tolist()
                where = f"dissipated pressure from gap {a:.6g} m to {b:.6g} m with theta = {theta:g}"
                if not damped and lossy != 0.0:
                    raise self._fault("kernel()", where, f"{lossy:.6g} Pa", "0 Pa, as damped is False")
                if a == b and lossy != 0.0:
                    raise self._fault("kernel()", where, f"{lossy:.6g} Pa", "0 Pa at rest")
                if -lossy * (b - a) < 0.0:
                    sign = "at least 0 Pa while the gap closes" if b < a else "at most 0 Pa while the gap opens"
                    raise self._fault("kernel()", where, f"{lossy:.6g} Pa", f"{sign} (a loss ≥ 0)")
                if stored + lossy < -1e-9 * largest:
                    where = where.replace("dissipated", "total")
                    raise self._fault("kernel()", where, f"{stored + lossy:.6g} Pa", "at least 0 Pa (no tension)")
        distance = 1e-6 * self._range
        for sign_of_rate in (0.0, -1.0, 1.0):
            rates = np.full_like(self.gaps, sign_of_rate * distance / self.step)
            values = self.law.damping_pressure(self.gaps.copy(), rates)
            by_method = _column(self.law, "damping_pressure()", values, self.gaps, "Pa")
            by_kernel = np.array([self._kernel(g, g + sign_of_rate * distance, 0.5)[2] for g in self.gaps.tolist()])
            for k, gap in enumerate(self.gaps.tolist()):
                where = f"at gap = {gap:.6g} m and the rate {rates[k]:.6g} m/s"
                tolerance = 10.0 * _DERIVATIVE * abs(by_kernel[k]) + _FLOOR * (np.abs(by_kernel).max() + 1e-9 * largest)
                # at the edge of a layer the coefficient jumps
                edge = damped and self._pressure[k] == 0.0
                if not abs(by_method[k] - by_kernel[k]) <= tolerance and not edge:
                    expected = f"{by_kernel[k]:.6g} Pa as by kernel()" if damped else "0 Pa, as damped is False"
                    raise self._fault("damping_pressure()", where, f"{by_method[k]:.6g} Pa", expected)

    def _check_open(self) -> None:
        """At large gaps energy and pressure are zero, and the kernel accepts an approach in one step."""
        infinite_gap = np.array([np.inf])
        for method, values, unit in (
            ("pressure()", self.law.pressure(infinite_gap.copy()), "Pa"),
            ("energy()", self.law.energy(infinite_gap.copy()), "J/m²"),
        ):
            value = float(np.asarray(values, dtype=float).ravel()[0])
            if value != 0.0:
                raise self._fault(method, "at gap = inf (a point without a partner)", f"{value:.6g} {unit}", "0")
        open_gap = float(self.gaps[-1]) + 1e6 * self._range
        for a, b in ((open_gap, open_gap), (open_gap, float(self.gaps[0])), (float(self.gaps[0]), open_gap)):
            for theta in _WEIGHTS:
                stored = self._kernel(a, b, theta)[0]
                if a == b and not abs(stored) <= 1e-6 * self._pressure.max():
                    where = f"stored pressure at rest at gap = {a:.6g} m"
                    raise self._fault("kernel()", where, f"{stored:.6g} Pa", "0 Pa of open contact")

    def _check_bound(self) -> None:
        """The bound of the stiffness, which limits explicit steps."""
        gaps, h = self.gaps[self.gaps >= 0.0], 1e-6 * self._range
        if not gaps.size:
            return
        slopes = (self.law.pressure(gaps) - self.law.pressure(gaps + h)) / h
        bound, k = float(self.law.stiffness_bound()), int(np.argmax(slopes))
        if not bound >= (1.0 - _DERIVATIVE) * slopes[k] - 1e-9 * self._pressure.max() / self._range:
            raise self._fault(
                "stiffness_bound()", "largest −dp/dg on g ≥ 0", f"{bound:.6g} Pa/m",
                f"at least {slopes[k]:.6g} Pa/m, that of pressure() at gap = {gaps[k]:.6g} m",
            )  # fmt: skip


def _states() -> SlidingState:
    """States of sliding for the check of a friction law: rest, and slip rates and pressures of many orders."""
    rates, pressures = np.array([0.0, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 10.0]), np.array([0.0, 1e3, 1e6, 1e8])
    rate, pressure = (each.ravel() for each in np.meshgrid(rates, pressures))
    slip = np.where(pressure > 0.0, rate, 0.0)
    return SlidingState(pressure=pressure, slip_rate=rate, slip=slip, variables=np.zeros((rate.size, VARIABLES)))


def _check_friction(law: FrictionLaw, states: SlidingState, step: float) -> None:
    """μ and the internal variables at the states, and after a step."""
    for name, value, valid, expected in (
        ("compliance", law.compliance, 0.0 <= law.compliance < math.inf, "a finite number ≥ 0"),
        ("stiffness", law.stiffness, law.stiffness > 0.0, "a positive number, or inf for rigid stick"),
        ("damping", law.damping, 0.0 <= law.damping < math.inf, "a finite number ≥ 0"),
    ):
        if not valid:
            raise _fault(law, name, "attribute", shown(value), expected)
    count = states.slip_rate.size
    single = states.of(slice(0, 1))
    for sample in (single, states):
        size, copy = sample.slip_rate.size, sample.of(np.arange(sample.slip_rate.size))
        mu = np.asarray(law.mu(copy), dtype=float)
        if mu.shape != (size,):
            raise _fault(law, "mu()", f"at {size} points", f"the shape {mu.shape}", f"the shape {(size,)}")
        for k, value in enumerate(mu.tolist()):
            if not (math.isfinite(value) and value >= 0.0):
                where = f"at the slip rate {sample.slip_rate[k]:.6g} m/s and the pressure {sample.pressure[k]:.6g} Pa"
                raise _fault(law, "mu()", where, f"{value:.6g}", "a finite number ≥ 0")
        slip = sample.slip_rate * step
        variables = np.asarray(law.advance(copy, slip.copy(), step), dtype=float)
        if variables.shape != (size, VARIABLES):
            expected = f"the shape {(size, VARIABLES)}"
            raise _fault(law, "advance()", f"at {size} points", f"the shape {variables.shape}", expected)
        if not np.isfinite(variables).all():
            k = int(np.argmax(~np.isfinite(variables).all(axis=1)))
            where = f"at the slip rate {sample.slip_rate[k]:.6g} m/s and the pressure {sample.pressure[k]:.6g} Pa"
            raise _fault(law, "advance()", where, shown(variables[k]), "finite numbers")
        if any(not np.array_equal(a, b) for a, b in zip(_fields(copy), _fields(sample), strict=True)):
            raise _fault(law, "mu() or advance()", "the given state", "other values", "no change: methods are pure")
    if not law.state_dependent and np.ptp(mu) > 0.0:
        where = f"at {count} states, as state_dependent is False"
        raise _fault(law, "mu()", where, f"{mu.min():.6g} to {mu.max():.6g}", "one value (or state_dependent = True)")


def _fields(states: SlidingState) -> tuple[Any, ...]:
    return states.pressure, states.slip_rate, states.slip, states.variables, states.stuck


def _check_set_valued(law: SetValuedLaw) -> None:
    """Level, compliance and restitution."""
    for name, valid, expected in (
        ("level", law.level in ("gap", "velocity"), '"gap" or "velocity"'),
        ("compliance", 0.0 <= law.compliance < math.inf, "a finite number ≥ 0"),
        ("restitution", 0.0 <= law.restitution <= 1.0, "a number from 0 to 1"),
        ("restitution", law.level == "velocity" or law.restitution == 0.0, '0 with level "gap"'),
    ):
        if not valid:
            raise _fault(law, name, "attribute", shown(getattr(law, name)), expected)
