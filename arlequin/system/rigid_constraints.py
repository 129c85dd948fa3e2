"""Rigidity constraints of the rigid parts of a system."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.errors import UserError
from arlequin.models.part import Assembled, Constrained
from arlequin.models.types import Array

_ROUND_OFF = 4.0 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class RigidConstraints:
    """The constraints c(u) = 0 of the parts (`Constrained`), each with its slice of the d coordinates of the system."""

    parts: tuple[tuple[Constrained, slice], ...]
    size: int

    @classmethod
    def of(cls, parts: Sequence[Assembled], places: Sequence[slice]) -> "RigidConstraints":
        """The constraints of the parts with these coordinates."""
        rigid = [(part, at) for part, at in zip(parts, places, strict=True) if isinstance(part, Constrained)]
        return cls(tuple(rigid), places[-1].stop)

    @property
    def any(self) -> bool:
        """Whether a part is rigid."""
        return bool(self.parts)

    def refuse(self, what: str) -> None:
        """Raise `UserError` for systems with rigid parts, which `what` does not support."""
        if self.parts:
            raise UserError(f"Rigid parts are not for {what}")

    def strains(self, u: Array) -> Array:
        """c(u) (k,), m."""
        return np.concatenate([part.strains(u[at]) for part, at in self.parts]) if self.parts else np.zeros(0)

    def rounding(self, u: Array) -> float:
        """Round-off of the strains at u (d,), m."""
        sizes = [np.abs(part.points).max() + np.abs(u[at]).max() for part, at in self.parts]
        return _ROUND_OFF * max(sizes, default=0.0)

    def gradient(self, u: Array) -> sp.csr_array:
        """∂c/∂u (k, d) at u."""
        if not self.parts:
            return sp.csr_array((0, self.size))
        data = np.concatenate([part.strain_gradient(u[at]).ravel() for part, at in self.parts])
        columns, starts, count = self._pattern
        return sp.csr_array((data, columns, starts), shape=(count, self.size))

    def placed(self, u: Array) -> Array:
        """u (d,) with each part replaced by its nearest rigid motion."""
        out = u.copy()
        for part, at in self.parts:
            out[at] = part.placed(u[at])
        return out

    @cached_property
    def _pattern(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        columns, widths = [], []
        for part, at in self.parts:
            dofs = np.arange(at.start, at.stop)
            count = part.strains(np.zeros(dofs.size)).size
            columns.append(np.tile(dofs, count))
            widths.append(np.full(count, dofs.size))
        starts = np.concatenate([[0], np.cumsum(np.concatenate(widths))])
        return np.concatenate(columns), starts, starts.size - 1
