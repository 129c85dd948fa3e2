"""What steppers keep beside the state."""

from typing import Any, Protocol, runtime_checkable

from arlequin.condensed import Condensed


@runtime_checkable
class Keeping(Protocol):
    """A stepper whose steps depend, if only in their last digits, on what earlier ones made: factors, columns."""

    def kept(self) -> Any:
        """What makes it again: dataclasses, tuples, arrays, none of which ever changes."""
        ...

    def keep(self, kept: Any) -> None:
        """Makes again what another stepper of the same system, scheme and step had `kept`; this one took no steps."""
        ...


class KeepsColumns:
    """Keeps the columns made of one condensed matrix, as which of them were made when."""

    _condensed: Condensed

    def kept(self) -> Any:
        """Rows of the contact's basis, as they were asked for."""
        return self._condensed.compliance.kept

    def keep(self, kept: Any) -> None:
        """Makes their columns again."""
        self._condensed.compliance.keep(kept)
