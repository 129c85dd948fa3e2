"""What an interface law is: a regular part, a set-valued part, or several of either, added."""

from typing import Any, Literal, Protocol, runtime_checkable

from arlequin.models.types import Array


@runtime_checkable
class RegularLaw(Protocol):
    """Pressure as a function of gap and gap rate, p(g, ġ) ≥ 0, with a stored energy (formulas in each law).

    All methods are pure; gaps in m, rates in m/s, pressures in Pa, energies in J/m².
    """

    @property
    def damped(self) -> bool:
        """Whether some of the pressure dissipates."""

    def coefficients(self) -> Array:
        """Constants of the law, as its kernel reads them."""

    def kernel(self) -> Any:
        """Compiled mean tractions over a step, of the type `arlequin.multilevel.laws._signature.REGULAR_KERNEL`."""

    def pressure(self, gap: Array) -> Array:
        """Stored (reversible) pressure at the gaps (k,)."""

    def damping_pressure(self, gap: Array, rate: Array) -> Array:
        """Dissipative pressure at the gaps and gap rates (k,)."""

    def energy(self, gap: Array) -> Array:
        """Stored energy per area, ∫_g^∞ p dg."""

    def stiffness_bound(self) -> float:
        """Largest −∂p/∂g on g ≥ 0, Pa/m (or everywhere, where it is bounded): limits explicit steps."""


@runtime_checkable
class SetValuedLaw(Protocol):
    """A multiplier λ ≥ 0 complementary to the gap or to the gap rate.

    level "gap":       0 ≤ λ ⊥ g + compliance λ ≥ 0            compliance in m/Pa
    level "velocity":  g ≤ 0 ⇒ 0 ≤ λ ⊥ ġ + compliance λ ≥ 0    compliance in m/(s Pa);   g > 0 ⇒ λ = 0
    """

    @property
    def level(self) -> Literal["gap", "velocity"]: ...

    @property
    def compliance(self) -> float: ...


NormalLaw = RegularLaw | SetValuedLaw
