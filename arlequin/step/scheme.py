"""Protocols of time schemes and steppers, and checks of supported systems."""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

from arlequin.models.errors import UserError
from arlequin.models.parallel.launch import announced
from arlequin.models.part import Constrained, Nonlinear, PathDependent
from arlequin.models.types import Array
from arlequin.step.batch import StepBatch
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.ensemble import Members
from arlequin.system.internal_forces import Memory
from arlequin.system.system import System

T = TypeVar("T")


class Stepper(Protocol):
    """A scheme prepared for a system, or the members of an ensemble, and a step Δt, s. Base class of steppers.

    least_batch: smallest efficient number of steps per batch, where a batch has the overhead of several steps.
    locates_events: whether batches hold instants of events. fields_at_end: whether batches of several steps hold u and
    v of the last one only (with the momenta of all): they then end at the next recorded frame. linear_solver: solver of
    the linear systems of the steps, with its predicted cost, where it was chosen. restarts: whether it is a
    `Restartable`. conserves: whether the work of the scheme is round-off, as at θ = 1/2 and Newmark (1/4, 1/2) of a
    linear bulk.
    """

    step: float
    least_batch: int = 1
    restarts: bool = False
    locates_events: bool = False
    fields_at_end: bool = False
    linear_solver: str = ""
    conserves: bool = False

    def start(self, u: Array, v: Array) -> State:
        """The state at t = 0 from displacements u (d,), m, and velocities v (d,), m/s; (n, d) of an ensemble."""
        ...

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """Up to `count` steps, at least one: the state at their end, and their batch for the record.

        Raises `Failed` or `UserError` where the first step is not accepted; steps before one that fails are returned.
        """
        ...

    def continued(self, state: State) -> State:
        """The state from which a run continues after a switch of levels: in statics an equilibrium."""
        return state


class Restartable(Stepper, Protocol):
    """A stepper that can also start at t > 0: for levels that are switched during a run."""

    restarts: bool = True

    def start(self, u: Array, v: Array, n: int = 0, memory: Memory | None = None) -> State:
        """The state at t = nΔt; memory: internal variables of path-dependent parts, None for the virgin material."""
        ...


@runtime_checkable
class Scheme(Protocol):
    """A time scheme; `order` is its order of accuracy in Δt for smooth motion.

    A scheme may also have `frequency_error`, the number e of Ω² = ω²(1 + e ω²Δt²) + O(Δt⁴), with Ω² an eigenvalue of
    M⁻¹K and ω the frequency of the numerical motion: parts with mass="dispersion" correct it. Without it e
    is 0. A scheme of several steps has the method `time_errors(system, step)` instead, which gives e Δt² by part.
    """

    @property
    def order(self) -> int: ...

    @property
    def static(self) -> bool: ...

    def prepare(self, assembly: Assembly, step: float) -> Stepper:
        """A stepper for the assembled system and Δt, s. UserError if the scheme does not support the system.

        See docs/how-to/scheme.md.
        """
        ...


@runtime_checkable
class EnsembleScheme(Scheme, Protocol):
    """A time scheme that steps the members of an ensemble together."""

    def prepare_ensemble(self, members: Members, step: float) -> Stepper:
        """A stepper whose states and batches have a member axis."""
        ...


def time_errors(scheme: Scheme, system: System, step: float) -> dict[str, float]:
    """e Δt², s², of each part by its name, for a step Δt, s: see `Scheme`."""
    method = getattr(scheme, "time_errors", None)
    if method is not None:
        return dict(method(system, step))
    return dict.fromkeys(system.names, float(getattr(scheme, "frequency_error", 0.0)) * step**2)


def part_steps(scheme: Scheme, system: System, step: float) -> dict[str, float]:
    """Time step, s, of each part by its name, for a step Δt, s: of schemes whose parts have several (`part_steps`)."""
    method = getattr(scheme, "part_steps", None)
    return dict.fromkeys(system.names, step) if method is None else dict(method(system, step))


def linear_only(assembly: Assembly, scheme: str) -> None:
    """Raises UserError for nonlinear parts, which the scheme does not support."""
    for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True):
        if isinstance(assembled, Nonlinear | PathDependent):
            others = (
                "Theta or Midpoint"
                if isinstance(assembled, Constrained)
                else "Theta, Midpoint or, without inertia, Static"
            )
            what = "has finite rotations" if isinstance(assembled, Nonlinear) else "is of finite strains"
            raise UserError(f"part '{part.name}' {what}, which {scheme} does not step: take {others}")


def unworn_only(assembly: Assembly, scheme: str) -> None:
    """Raises UserError for interfaces with wear, which the scheme does not support."""
    for interface in assembly.contact.interfaces:
        if interface.wear is not None:
            raise UserError(
                f"interface '{interface.name}' wears, which {scheme} does not step: take Theta, Newmark or another of "
                "its family, CentralDifference or Static"
            )


def evaluate_fewer_on_error(evaluate: Callable[[int], T], count: int) -> tuple[int, T]:
    """Number of steps and the values for them of functions of time (loads, imposed motions), evaluate(count).

    After an error in a user's function fewer steps are evaluated, so that the steps before it are still made; not on
    several ranks, where a different number of steps on each rank would follow.
    """
    while True:
        try:
            return count, evaluate(count)
        except Exception:
            if count == 1 or announced() > 1:
                raise
            count //= 2
