"""The θ-scheme in velocity form."""

from dataclasses import dataclass

import numpy as np

from arlequin.assembly import Assembly
from arlequin.condensed import Condensed
from arlequin.energy import Forces, works
from arlequin.schemes.scheme import State, StepReport, accept, reaction
from models.checks import within
from multilevel.law import Array
from multilevel.solver import ContactSolution, solve_normal


@dataclass(frozen=True)
class Theta:
    """θ-scheme, 1/2 ≤ θ ≤ 1, contact impulses on the velocity at the end of the step:

        u₁ = u₀ + Δt v_θ,   v_θ = θ v₁ + (1 − θ) v₀
        M (v₁ − v₀) + Δt [D v_θ + f_int(u_θ)] = Δt f_θ + Cᵀφ + BᵀP,   C v₁ = 0

    Order 2 at θ = 1/2, where linear bulk conserves energy exactly, else 1. A point counts as closed when
    g(u₀ + ½ Δt v₀) ≤ 0.

    Source: Jean, Comput. Methods Appl. Mech. Eng. 177 (1999) 235–257.
    """

    theta: float = 0.5

    def __post_init__(self) -> None:
        within("theta", self.theta, 0.5, 1.0)

    @property
    def order(self) -> int:
        return 2 if self.theta == 0.5 else 1

    @property
    def static(self) -> bool:
        return False

    def prepare(self, assembly: Assembly, step: float) -> "ThetaStepper":
        return ThetaStepper(assembly, step, self.theta)


@dataclass(frozen=True)
class _Carried:
    """M v and the load at the end of the step, both (d,)."""

    momentum: Array
    load: Array


class ThetaStepper:
    """The θ-scheme with the unknown y = v_θ, for which only f_int(u₀) and M v₀ enter the right-hand side:

    (M + θΔt D + θ²Δt² K) y = M v₀ − θΔt f_int(u₀) + θΔt f_θ + θ (Cᵀφ + BᵀP).
    """

    def __init__(self, assembly: Assembly, step: float, theta: float) -> None:
        self.step = step
        self._assembly = assembly
        self._theta = theta
        matrix = assembly.mass + (theta * step) ** 2 * assembly.stiffness
        if assembly.damping is not None:
            matrix = matrix + theta * step * assembly.damping
        self._condensed = Condensed(assembly, matrix)

    def start(self, u: Array, v: Array) -> State:
        assembly = self._assembly
        internal, strain = assembly.internal(u)
        gaps = assembly.gaps(u)
        return State(
            n=0,
            u=u,
            v=v,
            history=assembly.laws.start_history(gaps),
            internal=internal,
            kinetic=assembly.kinetic(v),
            strain=strain,
            asperity=assembly.laws.energy(gaps),
            impulse=np.zeros(assembly.contact_count),
            own=_Carried(assembly.mass @ v, assembly.load(0.0)),
        )

    def advance(self, state: State) -> tuple[State, StepReport]:
        assembly, theta, step = self._assembly, self._theta, self.step
        t1 = (state.n + 1) * step
        load = assembly.load(t1)
        external = (1.0 - theta) * state.own.load + theta * load

        free = self._condensed.free(
            state.own.momentum + theta * step * (external - state.internal),
            (1.0 - theta) * (assembly.constraints @ state.v),
            self._given(state, t1),
        )
        gaps, rate = assembly.gaps(state.u), assembly.contact_rows @ state.v
        contact = solve_normal(
            assembly.laws,
            self._condensed.delassus,
            lever=theta * step,
            gap_free=gaps + step * free.contact,
            rate_free=(1.0 - 1.0 / theta) * rate + free.contact / theta,
            closed=gaps + 0.5 * step * rate <= 0.0,
            history=state.history,
            step=step,
            theta=theta,
            impulse_factor=step,
            guess=state.impulse,
        )
        y, multipliers = self._condensed.react(free, theta * contact.impulse)
        multipliers = multipliers / theta
        u = state.u + step * y
        v = state.v + (y - state.v) / theta
        accept(contact, u, t1)
        return self._finish(state, y, (u, v), (external, load), contact, multipliers)

    def _finish(
        self,
        state: State,
        y: Array,
        motion: tuple[Array, Array],
        loads: tuple[Array, Array],
        contact: ContactSolution,
        multipliers: Array,
    ) -> tuple[State, StepReport]:
        """The new state (u, v in `motion`), its energies and the works of the step; loads: its mean and its end."""
        (u, v), (external, load) = motion, loads
        assembly, theta, step = self._assembly, self._theta, self.step
        internal, strain = assembly.internal(u)
        asperity = assembly.laws.energy(assembly.gaps(u))
        momentum = assembly.mass @ v
        kinetic = 0.5 * float(v @ momentum)

        damping = assembly.damping @ y if assembly.damping is not None else np.zeros_like(u)
        mean_internal = (1.0 - theta) * state.internal + theta * internal
        rate_of_momentum = (momentum - state.own.momentum) / step
        balance = rate_of_momentum + mean_internal + damping - external
        path = 0.5 * step * (state.v + v)
        work = works(
            assembly,
            step=step,
            du=step * y,
            path=path,
            impulse_path=path,
            stored_path=path,
            forces=Forces(
                mean_internal,
                damping,
                external,
                reaction(assembly, balance, (multipliers / step, contact.impulse / step)),
            ),
            contact=contact,
            multipliers=multipliers,
            damping_work=step * float(y @ damping),
            stored_before=state.stored,
            stored_after=(strain, asperity),
        )
        work["kinetic"] = kinetic
        end = State(
            n=state.n + 1,
            u=u,
            v=v,
            history=contact.history,
            internal=internal,
            kinetic=kinetic,
            strain=strain,
            asperity=asperity,
            impulse=contact.impulse,
            own=_Carried(momentum, load),
        )
        return end, StepReport(contact.iterations, contact.residual, contact.impulse, multipliers, work)

    def _given(self, state: State, t: float) -> Array | None:
        """Values of y (p,) on the imposed dofs."""
        assembly = self._assembly
        if not assembly.imposed_dofs.size:
            return None
        dofs = assembly.imposed_dofs
        values = assembly.imposed(t)
        from_displacement = (values - state.u[dofs]) / self.step
        from_velocity = self._theta * values + (1.0 - self._theta) * state.v[dofs]
        return np.where(assembly.imposes_displacement, from_displacement, from_velocity)
