"""What the contact of a system asks of its items."""

from typing import Any, Protocol

from arlequin.models.part import Surface
from arlequin.multilevel.laws.friction import FrictionLaw
from arlequin.multilevel.laws.wear import Archard
from arlequin.multilevel.pairing.kinematics import Pairing


class ContactItem(Protocol):
    """An `Interface`, or a spring with a law (`SpringRows`): contact points with laws."""

    @property
    def name(self) -> str: ...

    @property
    def slave(self) -> Surface: ...

    @property
    def master(self) -> Any: ...

    @property
    def friction(self) -> FrictionLaw | None: ...

    @property
    def wear(self) -> Archard | None: ...

    @property
    def acting(self) -> tuple[Any, ...]:
        """What its forces depend on beside its surfaces."""

    def pairing(self) -> Pairing: ...

    def point_laws(self, count: int) -> list[tuple[Any, ...]]:
        """The normal laws of each of `count` points."""
