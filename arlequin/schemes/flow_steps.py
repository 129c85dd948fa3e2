"""Steps of a system in a flow, whose forces have matrices that are not symmetric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from arlequin.energy import Work
from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.types import Array, Indices
from arlequin.schemes.central import CentralDifference
from arlequin.schemes.one_step import OneStep
from arlequin.solvers.condensed import Checkpointable
from arlequin.step.acceptance import Failed
from arlequin.step.batch import StepBatch
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.scheme import Scheme, Stepper
from arlequin.step.state import State
from arlequin.system.assembly import Assembly

_MAX_PASSES = 40
_TOLERANCE, _STAGNATION_TOLERANCE = 1e-13, 1e-9  # relative residual of the force; the second where it stagnates
_ROUNDING = 1e-14  # of the multipliers' block beside the largest entry, for dependent constraints


class PushedStepper(Protocol):
    """A stepper that takes a constant force in a step; its work is in the column `junction`."""

    step: float

    def start(self, u: Array, v: Array) -> State: ...

    def advance(self, state: State, count: int = 1, push: Array | None = None) -> tuple[State, StepBatch]: ...


@dataclass(frozen=True, eq=False)
class _Response:
    """Changes of the force g of a step, N, by a residual r: of the linear bulk without contact.

    The scheme moves by A δy = c δg with δv₁ = a δy and δu₁ = Δt δy, so that r + δg + ½ (a C + Δt K) δy = 0 gives

        (A + c F) δy = −c r,    δg = −r − F δy,    F = ½ (a C + Δt K),

    one sparse factor of a matrix that is not symmetric.
    """

    factor: Any
    flow: sp.csr_array
    free: Indices
    by_force: float

    @classmethod
    def of(cls, assembly: Assembly, row: StepCoefficients) -> _Response:
        """The response of a scheme with these coefficients."""
        assert assembly.flow is not None
        free, step = np.flatnonzero(assembly.free), row.step
        if row.staggered:  # half of the impulse acts at either end of the step
            matrix, by_force, by_velocity = assembly.mass, 0.5 * step, 2.0
        else:
            matrix, by_velocity = row.matrix(assembly), 1.0 / row.weight
            by_force = row.impulse * step
        flow = 0.5 * (by_velocity * assembly.flow.damping + step * assembly.flow.stiffness)
        inner = sp.csr_array(sp.csr_array(matrix + by_force * flow)[free][:, free])
        count = assembly.constraints.shape[0]
        if count:
            scale = float(abs(inner).max())
            rows = scale * assembly.constraints[:, free]
            inner = sp.block_array([[inner, rows.T], [rows, -_ROUNDING * scale * sp.eye_array(count)]])
        return cls(splu(sp.csc_matrix(inner)), sp.csr_array(flow), free, by_force)

    def change(self, residual: Array) -> Array:
        """δg (d,) of the residual r (d,)."""
        moved = np.zeros_like(residual)
        right = np.zeros(self.factor.shape[0])
        right[: self.free.size] = -self.by_force * residual[self.free]
        moved[self.free] = self.factor.solve(right)[: self.free.size]
        return np.asarray(-residual - self.flow @ moved)


class FlowStepper(Stepper):
    """Steps with the mean force g of the flows, in any scheme that takes a constant force in a step:

        g = −C_f p/Δt − K_f (u₀ + u₁)/2,    p = Δt (v₀ + v₁)/2

    the path on which the forces of a step work. g is found by iteration: of a linear bulk without contact the second
    pass is exact, for contact and nonlinear parts the residual falls by a factor of the order of Δt. Its work g·p is in
    the column `flow`, so that the balance closes to round-off whatever the iteration has left.
    """

    def __init__(self, stepper: PushedStepper, assembly: Assembly, coefficients: StepCoefficients) -> None:
        self.step, self._stepper, self._assembly = stepper.step, stepper, assembly
        self._response = _Response.of(assembly, coefficients)
        self.conserves = bool(getattr(stepper, "conserves", False))
        assert assembly.flow is not None
        self._flow = assembly.flow
        self._sizes = abs(self._flow.damping), abs(self._flow.stiffness)

    def start(self, u: Array, v: Array) -> State:
        """The state at t = 0."""
        return self._stepper.start(u, v)

    def state_dict(self) -> Any:
        """The state of the stepper of the scheme; None for those without."""
        return self._stepper.state_dict() if isinstance(self._stepper, Checkpointable) else None

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        if isinstance(self._stepper, Checkpointable):
            self._stepper.load_state_dict(state)

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One step."""
        force, before = self._flow.force(state.u, state.v), np.inf
        for _ in range(_MAX_PASSES):
            end, batch = self._stepper.advance(state, 1, force)
            assert batch.path is not None
            path = batch.path[0]
            mean_velocity, mean = path / self.step, 0.5 * (state.u + end.u)
            residual = force - self._flow.force(mean, mean_velocity)
            by_velocity, by_displacement = self._sizes
            speed, size = (0.5 * (np.abs(a) + np.abs(b)) for a, b in ((state.v, end.v), (state.u, end.u)))
            scale = float((by_velocity @ speed + by_displacement @ size).max(initial=0.0))
            error = float(np.abs(residual).max(initial=0.0))
            if error <= _TOLERANCE * scale or (error <= _STAGNATION_TOLERANCE * scale and error > 0.5 * before):
                break
            force, before = force + self._response.change(residual), error
        else:
            raise Failed(f"the force of the flow does not converge at t = {(state.n + 1) * self.step:.6g} s")
        work = Work(batch.works.copy())
        done = float(force @ path)
        work["junction"] -= done
        work["flow"] = done
        return end, replace(batch, works=work.values)


def with_flows(prepare: Callable[[], Stepper], scheme: Scheme, assembly: Assembly) -> Stepper:
    """The stepper that `prepare` gives, in the flows of a system; UserError where the scheme takes none."""
    if assembly.flow is None:
        return prepare()
    name, takes = assembly.system.flows[0].name, "Theta, Newmark, HHT, GeneralisedAlpha, Midpoint, CentralDifference"
    if isinstance(assembly.mass, DistributedMatrix):
        raise UserError(f"flow '{name}': runs on several ranks take no flows")
    if not isinstance(scheme, OneStep | CentralDifference):
        raise UserError(f"flow '{name}': {type(scheme).__name__} takes no flows: take {takes}")
    if getattr(scheme, "events", "step") != "step":
        raise UserError(f"flow '{name}': a run with located events takes no flows: take {takes}")
    if assembly.massless.any():
        raise UserError(f"flow '{name}': a system with nodes without mass takes no flows: mass=\"consistent\"")
    stepper = prepare()
    step = stepper.step
    row = scheme.coefficients(step) if isinstance(scheme, OneStep) else StepCoefficients.of_central_differences(step)
    return FlowStepper(stepper, assembly, row)  # type: ignore[arg-type]


@dataclass(frozen=True)
class InFlow:
    """A scheme for the members of an ensemble in flows, each by its own stepper."""

    scheme: Scheme

    @property
    def order(self) -> int:
        """That of the scheme."""
        return self.scheme.order

    @property
    def static(self) -> bool:
        """That of the scheme."""
        return self.scheme.static

    def prepare(self, assembly: Assembly, step: float) -> Stepper:
        """The stepper of a member."""
        return with_flows(lambda: self.scheme.prepare(assembly, step), self.scheme, assembly)
