"""Limits on declared array sizes from the sizes of their files: a result of some kilobytes may declare any size.

An array of d bytes, of which the files have b bytes, is read where d ≤ FREE + RATIO · b, and a chunk of c bytes where
c ≤ FREE_CHUNK + RATIO · (bytes of its file). The codecs of results pack 241 : 1 at most (LZ4 of zeros in Blosc).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RATIO = 1000
FREE = 2**20  # bytes of an array that is read whatever its files are
FREE_CHUNK = 2**24
FREE_CHUNKS = 1000  # number of chunks of such an array
MAX_DEPTH = 32  # of lists in lists
LONGEST_TEXT = 1000  # characters of a text that are shown
LARGEST_INTEGER = 2**63


def depth(data: Any) -> int:
    """Depth of lists and mappings in each other, up to MAX_DEPTH + 1.

    >>> depth([1, {"a": []}]), depth(1.0)
    (3, 0)
    """
    level, count = [data], 0
    while count <= MAX_DEPTH and (level := [item for item in level if isinstance(item, dict | list)]):
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
        count += 1
    return count


def present_rows(folder: Path, chunk: int) -> int:
    """Rows along the first axis that chunks without a gap cover, from the names in the folder `c` of an array."""
    try:
        names = {
            int(entry.name) for entry in os.scandir(folder / "c") if entry.name.isdecimal() and len(entry.name) < 16
        }
    except OSError:
        return 0
    count = 0
    while count in names:
        count += 1
    return count * chunk


def files_of(folder: Path) -> tuple[int, int]:
    """Number and bytes of the regular files of the chunks of an array."""
    count = total = 0
    for place, _, names in os.walk(folder / "c"):
        count += len(names)
        total += sum(os.lstat(os.path.join(place, name)).st_size for name in names)
    return count, total


def why_not_there(folder: Path, shape: Sequence[int], chunks: Sequence[int], itemsize: int) -> str:
    """Why an array of this shape cannot be that of its files; empty where it can."""
    size, chunk_count = itemsize, 1
    for n, chunk in zip(shape, chunks, strict=True):
        size *= max(n, 1)
        chunk_count *= -(-max(n, 1) // chunk)
    if size <= FREE and chunk_count <= FREE_CHUNKS:
        return ""
    files, total = files_of(folder)
    if size > FREE + RATIO * total or chunk_count > FREE_CHUNKS + RATIO * files:
        shape_text = " × ".join(map(str, shape)) or "1"
        return f"it is said to have {shape_text} values, but there are {files} files of {total} bytes together"
    return ""


def shortened(text: str) -> str:
    """The beginning of a text that is too long to be shown."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}… ({len(text)} characters)"
