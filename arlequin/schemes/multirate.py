"""Multirate time integration: fine parts at Δt/m, coarse parts at Δt, coupled without loss of energy."""

from dataclasses import dataclass, field

from arlequin.models.checks import positive_integer
from arlequin.models.errors import UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.schemes.central import CentralDifference
from arlequin.schemes.multirate_loop import MultirateLoopStepper
from arlequin.schemes.multirate_steps import MultirateStepper, fine_parts, sides_of
from arlequin.schemes.theta import Theta
from arlequin.step.scheme import linear_only, unworn_only
from arlequin.system.assembly import Assembly
from arlequin.system.system import System


@checked_call
@dataclass(frozen=True)
class Multirate:
    """Coarse parts take the step Δt, fine parts `ratio` steps Δt/m, each with `Theta(0.5)` or `CentralDifference()`.

    Over a large step the multipliers φ of the junctions are constant forces, and the paths on which they work agree:

        C_c p_c + C_f Σ_j p_f,j = 0,    p = Δt (v_n + v_{n+1})/2 of each step.

    The junctions' work φ·(C_c p_c + C_f Σ p_f) is then zero, and energy (the discrete one of central difference) is
    conserved exactly for every ratio and pair of schemes. A part is fine if it is so in a junction, or
    if springs, relations or contact connect it to fine parts alone. Order 1 in the multipliers, 2 else.

    Absorbing junctions, D_a = JᵀJ, act on the mean velocities of the steps, v̄_c = p_c/Δt and v̄_f,j = m p_f,j/Δt. In the
    large step the coarse velocity in the zone varies linearly about v̄_c, with τ_j = (j − ½)/m − ½ and the slope σ that
    makes the loss least:

        r_j = J_f v̄_f,j + J_c (v̄_c + τ_j σ),   Σ_j τ_j J_cᵀ r_j = 0.

    (Under a constant v̄_c the change of the velocity in a large step would count as a difference of the two models, and
    resolved waves would be damped.) The forces −J_fᵀ r_j in the small step j and −(1/m) Σ_j J_cᵀ r_j in the large one
    do the work

        −(Δt/m) Σ_j v̄_f,j·J_fᵀ r_j − Δt v̄_c·(1/m) Σ_j J_cᵀ r_j = −(Δt/m) Σ_j |r_j|² ≤ 0,

    exactly the loss. The blocks D_ff and D_cc are damping of each side's own steps, implicit in both schemes; with
    central differences they do not change the stable step. D_cf couples the sides by the forces −D_fc (v̄_c + τ_j σ) and
    −D_cf (1/m) Σ_j v̄_f,j, constant in each step and solved together with φ.

    Source of the idea: Combescure & Gravouil, Comput. Methods Appl. Mech. Eng. 191 (2002) 1129–1157; its variational
    form with constant multipliers: Brun, Gravouil, Combescure & Limam, CMAME 282 (2015) 1–26.
    """

    ratio: int
    coarse: Theta | CentralDifference = field(default_factory=Theta)
    fine: Theta | CentralDifference = field(default_factory=Theta)

    def __post_init__(self) -> None:
        positive_integer("ratio", self.ratio)
        for name in ("coarse", "fine"):
            scheme = getattr(self, name)
            if not isinstance(scheme, Theta | CentralDifference) or scheme not in (Theta(0.5), CentralDifference()):
                raise UserTypeError.parameter(name, scheme, "must be Theta(0.5) or CentralDifference()")

    order = 2
    static = False

    def time_errors(self, system: System, step: float) -> dict[str, float]:
        """e Δt², s², of each part, by the scheme and the step of its side."""
        coarse = self.coarse.frequency_error * step**2
        fine = self.fine.frequency_error * (step / self.ratio) ** 2
        return {
            name: fine if is_fine else coarse for name, is_fine in zip(system.names, fine_parts(system), strict=True)
        }

    def part_steps(self, system: System, step: float) -> dict[str, float]:
        """Time step of each part, s."""
        fine = fine_parts(system)
        return {name: step / self.ratio if is_fine else step for name, is_fine in zip(system.names, fine, strict=True)}

    def prepare(self, assembly: Assembly, step: float) -> "MultirateStepper":
        linear_only(assembly, "Multirate")
        unworn_only(assembly, "Multirate")
        sides = sides_of(assembly, self.coarse, self.fine, step, self.ratio)
        kind = MultirateLoopStepper if MultirateLoopStepper.takes(assembly, sides) else MultirateStepper
        return kind(assembly, step, sides)
