"""Protocols of the laws of normal contact: regular laws and set-valued laws, which add up."""

from typing import Any, Literal, Protocol, runtime_checkable

from arlequin.models.types import Array


@runtime_checkable
class RegularLaw(Protocol):
    """Pressure as a function of gap and gap rate, p(g, ġ) ≥ 0, with a stored energy (formulas in each law).

    All methods are pure; gaps in m, rates in m/s, pressures in Pa, energies in J/m². Test a law by `check_law`; see
    docs/how-to/law.md.
    """

    @property
    def damped(self) -> bool:
        """Whether some of the pressure dissipates."""

    def coefficients(self) -> Array:
        """Constants of the law for its kernel."""

    def kernel(self) -> Any:
        """Compiled mean tractions over a step and their slopes:

            kernel(coefficients, history, gap, step, theta, trial) → stored, slope, dissipated, slope

        compiled by `@njit(REGULAR)`; the arguments are described in docs/how-to/law.md.
        """

    def pressure(self, gap: Array) -> Array:
        """Stored (reversible) pressure at the gaps (k,)."""

    def damping_pressure(self, gap: Array, rate: Array) -> Array:
        """Dissipative pressure at the gaps and gap rates (k,)."""

    def energy(self, gap: Array) -> Array:
        """Stored energy per area, ∫_g^∞ p dg."""

    def stiffness_bound(self) -> float:
        """Largest −∂p/∂g on g ≥ 0, Pa/m (or everywhere, where it is bounded): limits explicit steps."""


@runtime_checkable
class BilateralLaw(RegularLaw, Protocol):
    """A regular law that acts on both sides of its gap, as those of springs do, of a path of gaps that it may remember.

    Entry 1 of the history of a law with a memory is its internal variable.
    """

    @property
    def kinks(self) -> tuple[float, ...]:
        """Gaps (n,), m, at which the stiffness jumps."""

    @property
    def variable(self) -> bool:
        """Whether the law has an internal variable."""

    def at_rest(self) -> float:
        """Stiffness −dp/dg at g = 0, Pa/m."""

    def path_kernel(self) -> Any:
        """The kernel in complex numbers, of n laws with a memory in b steps, for derivatives by a complex step:

            kernel(constants, start, end, before, theta, out)

        constants (n, c); gaps at both ends and internal variables at the start (b, n); out (3, b, n): stored and
        dissipated mean traction, internal variable at the end.
        """

    def stored(self, history: Array) -> Any:
        """Energy stored in the internal variables (…,), J/m², of histories (…, h)."""

    def stored_slope(self, history: Array) -> Any:
        """Derivative (…,) of this energy by the internal variables."""

    def internal_force(self, history: Array) -> Any:
        """Part of the traction −p (…,), Pa, by the internal variables of histories (…, h)."""

    def internal_variable(self, force: Array) -> Any:
        """Internal variables (…,) with these parts (…,) of the traction; UserError where the law cannot reach them."""


@runtime_checkable
class SetValuedLaw(Protocol):
    """A multiplier λ ≥ 0 complementary to the gap g or to the gap rate ġ.

        level "gap":       0 ≤ λ ⊥ g + c λ ≥ 0
        level "velocity":  g > 0 ⇒ λ = 0;   g ≤ 0 ⇒ 0 ≤ λ ⊥ ġ⁺ + e ⟨ġ⁻⟩₋ + c λ ≥ 0

    c the compliance and, at an impact with the approach ⟨ġ⁻⟩₋ = min(ġ⁻, 0), e the restitution.
    """

    @property
    def level(self) -> Literal["gap", "velocity"]:
        """The quantity that the multiplier is complementary to."""

    @property
    def compliance(self) -> float:
        """Compliance c ≥ 0 of the multiplier, m/Pa at level "gap", m/(s Pa) at level "velocity"."""

    @property
    def restitution(self) -> float:
        """Newton's coefficient of restitution e, 0 ≤ e ≤ 1; 0 at level "gap"."""


NormalLaw = RegularLaw | SetValuedLaw
