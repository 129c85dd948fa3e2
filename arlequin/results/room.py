"""Checks that memory or disk can hold a result, before the run."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from arlequin.models.errors import UserError
from arlequin.models.limits import LIFT, disabled, memory

LEAST = 1e8  # bytes of a result that is always accepted: some file systems report no free space


class Sized(Protocol):
    """An array of the result at its full length."""

    @property
    def shape(self) -> tuple[int, ...]: ...


def check_memory(columns: Iterable[Sized]) -> None:
    """Raise `UserError` for a result larger than the memory, which arrays occupy only as they are filled."""
    _check(_size(columns), memory(), "", "the machine has {} of memory: record it to a path (--out PATH), or ")


def check_disk(columns: Iterable[Sized], folder: Path, given: str) -> None:
    """Raise `UserError` for a result larger than the free disk space; compression of motions is negligible."""
    _check(_size(columns), shutil.disk_usage(folder).free, f"{given}: ", "the disk has {} left: ")


def _check(size: float, room: float, who: str, has: str) -> None:
    if size > max(room, LEAST) and not disabled():
        why = f"{who}the result takes {_gigabytes(size)}, {has.format(_gigabytes(room))}"
        raise UserError(f"{why}keep fewer fields (fields_every), or take fewer steps ({LIFT})", code=1)


def _size(columns: Iterable[Sized]) -> float:
    """Bytes of all rows."""
    return 8.0 * sum(math.prod(c.shape) for c in columns)


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.3g} GB"
