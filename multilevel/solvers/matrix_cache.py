"""Cache of values computed from a matrix, for the lifetime of the matrix."""

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from arlequin.models.types import Array

T = TypeVar("T")


class MatrixCache(Generic[T]):
    """The last value computed for a matrix, freed with it: a single one, as it may take as much memory as the matrix.

    A value must depend only on the matrix and the quantities that `is_valid` compares: results then do not depend on
    the cache.
    """

    def __init__(self) -> None:
        self.value: T | None = None
        self._matrix: Callable[[], Array | None] = lambda: None

    def of(self, matrix: Array, make: Callable[[], T], is_valid: Callable[[T], bool] = lambda _: True) -> T:
        """The cached value, if it is that of this array object and valid; else a new one."""
        if self.value is None or self._matrix() is not matrix or not is_valid(self.value):
            self.forget()
            self.value, self._matrix = make(), weakref.ref(matrix, self.forget)
        return self.value

    def forget(self, _: object = None) -> None:
        """Free the memory."""
        self.value = None
