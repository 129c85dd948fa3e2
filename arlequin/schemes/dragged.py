"""Central differences under a viscous force that is constant in each step."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import splu

from arlequin.energy import Work, viscous_loss
from arlequin.models.types import Array
from arlequin.schemes.central_steps import CentralStepper
from arlequin.step.batch import StepBatch
from arlequin.step.state import State
from arlequin.system.assembly import Assembly

_MAX_PASSES = 30
_MAX_COLUMNS = 64  # right-hand sides solved for together
_TOLERANCE, _STAGNATION_TOLERANCE = 1e-14, 1e-12  # relative residual of the force; the second where it stagnates


class DraggedStepper:
    """Steps of central differences with the constant force g = −D p/Δt, p = Δt (v_n + v_{n+1})/2 the path of the step.

    Half of its impulse acts at t_n and half at t_{n+1}, as that of any constant force (`CentralStepper.advance`), so
    that it works on p and takes the energy Δt v̄·D v̄ ≥ 0, v̄ = p/Δt. The sum of kinetic and strain energy is positive
    up to the limit of the step without D. Linear bulk moves by

        p = p₀ + Δt R g,   R = κ − ¼ Δt M⁻¹(Δt K + D_v) κ,   κ = ½ Δt M⁻¹,

    with D_v the damping of the parts, so that (1 + D R) g = −D p₀/Δt on the dofs z of D. Contact and motions imposed
    there change p₀; then the step is iterated until g = −D p/Δt. Where M is not diagonal (mass="dispersion")
    R (z, z) is full.
    """

    def __init__(self, stepper: CentralStepper, assembly: Assembly, damping: sp.csr_array) -> None:
        """assembly: that of the stepper, without constraints; damping D (d, d)."""
        self.step, self._stepper, self._assembly = stepper.step, stepper, assembly
        self._dofs = at = np.unique(damping.indices)
        self._damping = sp.csr_array(damping[at][:, at])
        self._size = abs(self._damping)
        self._resisting = self.step * assembly.stiffness
        if assembly.damping is not None:
            self._resisting = self._resisting + assembly.damping
        self._rows = sp.csr_array(assembly.stiffness[at])
        self._diagonal: Array | None = None
        self._solve: Callable[[Array], Array]
        if stepper.lumped:
            mass = assembly.mass.diagonal()
            self._diagonal = 0.5 * self.step * np.divide(1.0, mass, out=np.zeros_like(mass), where=assembly.free)
            kick = self._diagonal[at]
            resisting = sp.csr_array(sp.csr_array(self._resisting)[at][:, at])
            response = sp.diags_array(kick) - 0.5 * sp.diags_array(kick) @ resisting @ sp.diags_array(kick)
            self._solve = splu(sp.csc_array(sp.eye_array(at.size) + self._damping @ response)).solve
        else:
            factor = lu_factor(np.eye(at.size) + self._damping @ self._full_response())
            self._solve = lambda right: np.asarray(lu_solve(factor, right, check_finite=False))

    def _full_response(self) -> Array:
        """R (z, z)."""
        at = self._dofs
        response = np.zeros((at.size, at.size))
        for first in range(0, at.size, _MAX_COLUMNS):
            chosen = slice(first, first + _MAX_COLUMNS)
            columns = np.zeros((self._assembly.dof_count, at[chosen].size))
            columns[at[chosen], np.arange(at[chosen].size)] = 1.0
            kick = self._kick(columns)
            response[:, chosen] = (kick - 0.5 * self._kick(self._resisting @ kick))[at]
        return response

    def _kick(self, force: Array) -> Array:
        """κ f (d,) or (d, r) of forces."""
        if self._diagonal is None:
            return 0.5 * self.step * self._stepper.spread(force)
        return (self._diagonal if force.ndim == 1 else self._diagonal[:, None]) * force

    def start(self, u: Array, v: Array) -> State:
        """The state at t = 0."""
        return self._stepper.start(u, v)

    def drive(self, state: State) -> tuple[Array, Array]:
        """Force, N, and momentum, N·s, (d,) of the linear bulk at a state."""
        return self._stepper.drive(state)

    def advance(self, state: State, push: Array) -> tuple[State, StepBatch]:
        """One step under an additional constant force `push` (d,), N, whose work is `junction`."""
        at, step = self._dofs, self.step
        drag, before = self._predicted(state, push), np.inf
        for _ in range(_MAX_PASSES):
            force = push.copy()
            force[at] += drag
            end, batch = self._stepper.advance(state, push=force)
            assert batch.path is not None
            mean = batch.path[0, at] / step
            residual = drag + self._damping @ mean
            scale = float((self._size @ (0.5 * (abs(state.v[at]) + abs(end.v[at])))).max(initial=0.0))
            error = float(np.abs(residual).max(initial=0.0))
            if error <= _TOLERANCE * scale or (error <= _STAGNATION_TOLERANCE * scale and error > 0.5 * before):
                break
            drag, before = drag - self._solve(residual), error
        work = Work(batch.works.copy())
        work["junction"] -= step * float(drag @ mean)
        work["absorbed"] = float(viscous_loss(step, mean, self._damping @ mean))
        return end, replace(batch, works=work.values)

    def _predicted(self, state: State, push: Array) -> Array:
        """Predicted force g (z,), N: of linear bulk without contact."""
        assembly, at, step, scheme_state = self._assembly, self._dofs, self.step, state.scheme_state
        kick = self._kick(push)
        half = scheme_state.half + kick + step * scheme_state.a
        external, u = assembly.load((state.n + 1) * step), state.u + step * half
        viscous = None if assembly.damping is None else assembly.damping @ half
        if self._diagonal is not None:
            force = external[at] - self._rows @ u
            if viscous is not None:
                force -= viscous[at]
            end = half[at] + kick[at] + self._diagonal[at] * force
        else:
            force = external - assembly.stiffness @ u
            if viscous is not None:
                force -= viscous
            end = (half + kick + self._kick(force))[at]
        return -self._solve(self._damping @ (0.5 * (state.v[at] + end)))

    def paths(self, push: Callable[[int], Array], momentum: Array, count: int) -> Iterator[Array]:
        """Paths (d, r) of each of `count` steps under forces push(j) (d, r), constant in the step j, from momenta
        (d, r), linear bulk alone."""
        assembly, at, step, kappa = self._assembly, self._dofs, self.step, self._kick
        u, v, internal = np.zeros_like(momentum), 2.0 / step * kappa(momentum), np.zeros_like(momentum)
        for j in range(count):
            half = v + kappa(push(j) - internal)
            u += step * half
            internal = assembly.stiffness @ u
            if assembly.damping is not None:
                internal += assembly.damping @ half
            following = half + kappa(push(j) - internal)
            drag = np.zeros_like(internal)
            drag[at] = -self._solve(self._damping @ (0.5 * (v[at] + following[at])))
            drag = kappa(drag)
            u += step * drag
            resisted = self._resisting @ drag
            internal += resisted
            following += 2.0 * drag - kappa(resisted)
            yield 0.5 * step * (v + following)
            v = following
