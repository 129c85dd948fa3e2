"""What is computed from a matrix and kept as long as the matrix lives."""

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from arlequin.models.types import Array

T = TypeVar("T")


class KeptWith(Generic[T]):
    """The last value made for a matrix, freed with it: one at a time, as each may take as much memory as the matrix.

    A value must depend on the matrix, and on what `fits` compares, alone: results then do not depend on whether it was
    kept.
    """

    def __init__(self) -> None:
        self.value: T | None = None
        self._matrix: Callable[[], Array | None] = lambda: None

    def of(self, matrix: Array, make: Callable[[], T], fits: Callable[[T], bool] = lambda _: True) -> T:
        """The value kept, if it is one of this very array and fits; else a new one."""
        if self.value is None or self._matrix() is not matrix or not fits(self.value):
            self.forget()
            self.value, self._matrix = make(), weakref.ref(matrix, self.forget)
        return self.value

    def forget(self, _: object = None) -> None:
        """Free the memory."""
        self.value = None
