"""Checks that memory or disk can hold a result, before the run."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable
from pathlib import Path

from arlequin.models.errors import UserError
from arlequin.models.limits import LIFT, disabled, memory

LEAST = 1e8  # bytes of a result that is always accepted: some file systems report no free space


def check_memory(shapes: Iterable[tuple[int, ...]]) -> None:
    """Raise `UserError` for a result larger than the memory, which arrays occupy only as they are filled."""
    _check(_size(shapes), memory(), "", "the machine has {} of memory: record it to a path (--out PATH), or ")


def check_disk(shapes: Iterable[tuple[int, ...]], folder: Path, label: str) -> None:
    """Raise `UserError` for a result larger than the free disk space; compression of motions is negligible."""
    _check(_size(shapes), shutil.disk_usage(folder).free, f"{label}: ", "the disk has {} left: ")


def _check(size: float, room: float, who: str, has: str) -> None:
    if size > max(room, LEAST) and not disabled():
        why = f"{who}the result takes {_gigabytes(size)}, {has.format(_gigabytes(room))}"
        raise UserError(f"{why}keep fewer fields (fields_every), or take fewer steps ({LIFT})", code=1)


def _size(shapes: Iterable[tuple[int, ...]]) -> float:
    """Bytes of all rows."""
    return 8.0 * sum(math.prod(shape) for shape in shapes)


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.3g} GB"
