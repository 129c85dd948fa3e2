"""The generalised-α family: Newmark, HHT-α, modified mean acceleration and generalised-α; parameters and theory."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from arlequin.models.checks import positive, within
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.schemes.one_step import OneStep
from arlequin.solvers.solver_choice import SolverName, checked_solver
from arlequin.step.coefficients import StepCoefficients


@checked_call
@dataclass(frozen=True, repr=False)
class GeneralisedAlpha(OneStep):
    """The family of schemes with acceleration:

        u₁ = u₀ + Δt v₀ + Δt² [(½ − β) a₀ + β a₁],    v₁ = v₀ + Δt [(1 − γ) a₀ + γ a₁]
        M [(1 − α_m) a₁ + α_m a₀] = (1 − α_f) F(t₁) + α_f F(t₀) + Q,    C v₁ = 0

    F the bulk forces, Q the forces of constraints and contact. Nonlinear parts have F(t₁) at u₁, by Newton's
    iterations, with sub-steps where they fail (`CutBackStepper`): their energy is not bounded, finite rotations may
    increase it (`Theta` conserves it); the work of the mean force beyond storage and dissipation is `scheme`. The
    unknown of contact is its impulse over the step, P = Δt [(1 − γ) r₀ + γ r₁], on which the laws act as in the
    θ-scheme with θ = γ (a discrete gradient for γ = 1/2): the pair (β, γ) = (1/4, 1/2) then conserves energy with
    regular laws too. A point is closed when g(u₀ + ½ Δt v₀) ≤ 0.

    solver: of the linear system of a step, see `Theta`.

    Unconditionally stable on linear bulk for α_m ≤ α_f ≤ 1/2, γ ≥ 1/2, β ≥ γ/2. Order 2 if γ = 1/2 + α_f − α_m, else 1.
    Source: Newmark 1959; Hilber, Hughes & Taylor, Earthq. Eng. Struct. Dyn. 5 (1977) 283–292; Chung & Hulbert, J.
    Appl. Mech. 60 (1993) 371–375.
    """

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    solver: SolverName = "auto"

    def __post_init__(self) -> None:
        checked_solver(self.solver)
        within("alpha_m", self.alpha_m, -1.0, 0.5)
        within("alpha_f", self.alpha_f, 0.0, 0.5)
        within("gamma", self.gamma, 0.5, 1.5)
        positive("beta", self.beta)
        # unconditional stability; for order 2 this is Chung and Hulbert's β ≥ 1/4 + (α_f − α_m)/2
        within("beta", self.beta, 0.5 * self.gamma, 2.0)

    def coefficients(self, step: float) -> StepCoefficients:
        """The coefficients for a step Δt, s."""
        return StepCoefficients.of_alpha(self.alpha_m, self.alpha_f, self.beta, self.gamma, step)

    def __repr__(self) -> str:
        """The shortest call that creates the scheme: Newmark(), HHT(alpha=-0.1), …"""
        alpha, radius = round(-self.alpha_f, 12), round(self.alpha_f / (1.0 - self.alpha_f), 12)
        mean, solver = round(0.5 - self.gamma, 12), self.solver
        calls: list[tuple[str, dict[str, float], Callable[..., GeneralisedAlpha]]] = [
            ("Newmark", {}, Newmark),
            ("HHT", {"alpha": alpha}, HHT),
            ("ModifiedMeanAcceleration", {"alpha": mean}, ModifiedMeanAcceleration),
            ("Newmark", {"beta": self.beta, "gamma": self.gamma}, Newmark),
            ("GeneralisedAlpha.with_radius", {"radius": radius}, GeneralisedAlpha.with_radius),
        ]
        name, arguments = (
            "GeneralisedAlpha",
            {key: getattr(self, key) for key in ("alpha_m", "alpha_f", "beta", "gamma")},
        )
        for short, parameters, make in calls:
            with suppress(UserError):  # a parameter out of the range of this scheme
                if make(**parameters, solver=solver) == self:
                    name, arguments = short, parameters
                    break
        shown: dict[str, float | str] = {**arguments, **({} if solver == "auto" else {"solver": solver})}
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in shown.items())})"

    @classmethod
    @checked_call
    def with_radius(cls, radius: float, solver: SolverName = "auto") -> "GeneralisedAlpha":
        """Chung and Hulbert's choice for the spectral radius at high frequency, 0 ≤ radius ≤ 1 (1: no loss)."""
        within("radius", radius, 0.0, 1.0)
        alpha_m = (2.0 * radius - 1.0) / (radius + 1.0)
        alpha_f = radius / (radius + 1.0)
        gamma = 0.5 - alpha_m + alpha_f
        return cls(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma, solver)


@checked_call
def Newmark(beta: float = 0.25, gamma: float = 0.5, solver: SolverName = "auto") -> GeneralisedAlpha:
    """Newmark(β, γ): the family without averaging. (1/4, 1/2) is the trapezoidal rule, which conserves energy.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 1.0)  # m, kg
    >>> spring = aq.Spring("spring", mass.boundary("all"), stiffness=1.0)  # N/m: ω = 1 rad/s
    >>> system = aq.System([mass], springs=[spring], velocity=1.0)  # m/s
    >>> result = aq.simulate(system, aq.Newmark(), duration=10.0, step=0.5)
    >>> energy = result["energy"].sel(kind=["kinetic", "strain"]).sum("kind")  # J
    >>> round(float(energy.min()), 9), round(float(energy.max()), 9)  # ½ m v²
    (0.5, 0.5)
    """
    return GeneralisedAlpha(0.0, 0.0, beta, gamma, solver)


@checked_call
def HHT(alpha: float = -0.05, solver: SolverName = "auto") -> GeneralisedAlpha:
    """HHT-α, −1/3 ≤ α ≤ 0: forces averaged with −α, γ = 1/2 − α, β = (1 − α)²/4. Order 2."""
    within("alpha", alpha, -1.0 / 3.0, 0.0)
    return GeneralisedAlpha(0.0, -alpha, 0.25 * (1.0 - alpha) ** 2, 0.5 - alpha, solver)


@checked_call
def ModifiedMeanAcceleration(alpha: float = -0.05, solver: SolverName = "auto") -> GeneralisedAlpha:
    """Newmark with γ = 1/2 − α, β = (1 − α)²/4, −1/3 ≤ α ≤ 0: HHT's parameters without its averaging of forces.

    Code_Aster's HHT with MODI_EQUI = NON. Order 1 where α < 0.
    """
    within("alpha", alpha, -1.0 / 3.0, 0.0)
    return GeneralisedAlpha(0.0, 0.0, 0.25 * (1.0 - alpha) ** 2, 0.5 - alpha, solver)
