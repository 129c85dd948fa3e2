"""What a run steps: one system, or the members of an ensemble side by side."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from arlequin.assembly import Assembly, assemble
from arlequin.members import Members
from arlequin.schemes import Scheme, State, Theta
from arlequin.schemes.block import Block, Take, taker
from arlequin.schemes.scheme import Stepper
from arlequin.schemes.small_members import SmallMembers, are_small
from arlequin.schemes.theta_members import ThetaMembers
from arlequin.start import start_fields
from arlequin.system import System
from models.errors import UserError
from models.types import Array


class Steps(Protocol):
    """What all steppers have."""

    step: float


@dataclass(frozen=True)
class Moves:
    """A stepper, how the first state is made, what is recorded of it with its energies (…, kind), J, and how the next
    steps are taken: at least so many at once, to be worth it."""

    stepper: Steps
    start: Callable[[], State]
    first: Callable[[State, Array], Block]
    take: Take
    least: int = 1


@dataclass(frozen=True)
class Ensemble:
    """Systems that differ only in what drives them and how they start."""

    systems: tuple[System, ...]


@dataclass(frozen=True, eq=False)
class One:
    """One system."""

    assembly: Assembly
    members: None = None

    @classmethod
    def of(cls, system: System) -> "One":
        """Assembled."""
        return cls(assemble(system))

    def prepare(self, scheme: Scheme, step: float, every: int) -> Moves:
        """Made ready for a scheme, a step (s) and so many steps from frame to frame."""
        assembly = self.assembly
        stepper: Stepper = scheme.prepare(assembly, step)
        return Moves(
            stepper,
            lambda: stepper.start(*start_fields(assembly, step, scheme.static)),
            lambda state, works: Block.of(assembly, state, None, works),
            taker(stepper, assembly, every),
        )


@dataclass(frozen=True, eq=False)
class Many:
    """The members of an ensemble."""

    assembly: Assembly
    members: int
    all: Members

    @classmethod
    def of(cls, ensemble: Ensemble) -> "Many":
        """Assembled."""
        members = Members.of(ensemble.systems)
        return cls(members.assembly, members.count, members)

    def prepare(self, scheme: Scheme, step: float, every: int) -> Moves:
        """Made ready for a scheme, a step (s) and so many steps from frame to frame."""
        if not isinstance(scheme, Theta) or scheme.events != "step":
            raise UserError.parameter(
                "scheme", scheme, 'an ensemble takes Theta with events="step": simulate its members one by one'
            )
        stepper = (SmallMembers if are_small(self.all) else ThetaMembers)(self.all, scheme.theta, step)
        return Moves(stepper, stepper.start, stepper.first, stepper.advance_block, stepper.least)
