"""The explicit central-difference scheme, and the choice of its stepper by system."""

from dataclasses import dataclass

from arlequin.models.errors import UserError
from arlequin.models.part import Deforming, Nonlinear, is_viscous
from arlequin.models.signatures import checked_call
from arlequin.schemes.central_bulk import BulkCentralStepper
from arlequin.schemes.central_loop import CentralLoopStepper
from arlequin.schemes.central_steps import CentralStepper
from arlequin.schemes.stable_step import limit_of_steps, stable_step
from arlequin.schemes.sub_steps import SubsteppedStepper
from arlequin.step.scheme import Stepper
from arlequin.system.assembly import Assembly

# Degrees of freedom up to which constrained systems are stepped in the compiled loop on one thread: a step of the bulk
# on all threads has 0.3 ms of Python around its kernels.
_LARGEST_GLUED = 20_000


@checked_call
@dataclass(frozen=True)
class CentralDifference:
    """Central differences of parts with mass="lumped" or "dispersion", and of superelements; contact impulses act on
    the velocities at half steps:

        M (v_{n+½} − v_{n−½}) = Δt [F(u_n, v_{n−½}) − D_a v̄_n] + Cᵀφ + BᵀP,   C v_{n+½} = 0
        u_{n+1} = u_n + Δt v_{n+½},   v̄_n = (v_{n−½} + v_{n+½})/2

    The stored part of regular laws is taken at g(u_n), their loss and the multipliers at v_{n+½}; a point is closed
    when g(u_n + ½ Δt v_n) ≤ 0. The damping of parts and dashpots lags by half a step: with it the order is 1, else 2.
    The damping D_a of absorbing junctions is implicit: the matrix of the step is M + ½ Δt D_a, diagonal outside the
    gluing zones.

    Stability without contact and damping of parts, F = f_ext − K u: let K_n = ½ v_{n−½}·(M v_{n−½} + Δt F_n) be the
    kinetic energy and S the strain energy. The first equation multiplied by v̄_n, on which Cᵀφ does no work, and
    u_{n+1} − u_n = Δt v_{n+½} give for f_ext = 0

        E_{n+1} − E_n = −Δt v̄_n·D_a v̄_n ≤ 0,   E_n = K_n + S(u_n).

    In terms of u_{n−½} = u_n − ½ Δt v_{n−½} the sum is E_n = ½ v_{n−½}·(M − ¼ Δt² K) v_{n−½} + ½ u_{n−½}·K u_{n−½},
    positive for Δt < 2/ω_max: the motion is bounded up to the limit without D_a, and beyond it is not (the mode with
    v_{n+½} = −v_{n−½} has v̄ = 0, so that D_a does not act on it at the limit). The damping of parts lowers the limit.
    Recorded velocities are v̄_n under the forces at t_n, without the multipliers' impulse of the next step.

    Layers on rotating normals: K_n contains their force c_n at the end of a step, while the next step has c'_n, the
    same pressures on its own normals. K_{n+1} − K_n is then the work of (c'_n + c_{n+1})/2 on u_{n+1} − u_n and ½ Δt
    v_{n−½}·(c'_n − c_n), which belongs to `scheme`: of first order in Δt, as c'_n.

    The mass of dispersion-corrected parts and of superelements is factored once; the masses of other parts must be
    lumped. That of dispersion-corrected parts grows with Δt²: for such a part alone the stable step is √6/ω, ω of
    Δt = 0, cΔt < H on bars.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 1.0)  # m, kg
    >>> spring = aq.Spring("spring", mass.boundary("all"), stiffness=1.0)  # N/m: ω = 1 rad/s
    >>> system = aq.System([mass], springs=[spring], velocity=1.0)  # m/s
    >>> result = aq.simulate(system, aq.CentralDifference(), duration=7.0, step=1.0)
    >>> u = result["part/mass"]["displacement"][:, 0, 0].values  # m
    >>> u[[1, 2, 4, 5, 7]].round(9).tolist()  # with ω Δt = 1 a period takes 6 steps, 2π for Δt → 0
    [1.0, 1.0, -1.0, -1.0, 1.0]
    >>> bool(abs(result["balance"]).max() < 1e-12)
    True
    """

    order = 2
    static = False
    frequency_error = -1.0 / 12.0  # sin(ωΔt/2) = ΩΔt/2

    def prepare(self, assembly: Assembly, step: float) -> Stepper:

        for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True):
            if (isinstance(assembled, Nonlinear) and not isinstance(assembled, Deforming)) or is_viscous(assembled):
                raise UserError(
                    f"part '{part.name}': CentralDifference steps neither rigid parts nor viscous ones: take Theta"
                )
        kinds: tuple[type[CentralStepper], ...] = BulkCentralStepper, CentralLoopStepper, CentralStepper
        if assembly.constraints.shape[0] and assembly.dof_count <= _LARGEST_GLUED:
            kinds = CentralLoopStepper, BulkCentralStepper, CentralStepper
        stepper = next(kind for kind in kinds if kind.takes(assembly))(assembly, step)
        if any(isinstance(part, Deforming) for part in assembly.parts):
            return SubsteppedStepper(assembly, stepper)
        limit = stable_step(assembly)
        if step >= limit:
            limit = limit_of_steps(assembly, step, limit)
            raise UserError.parameter("step", step, f"must be below the central-difference limit of {limit:.6g} s")
        return stepper
