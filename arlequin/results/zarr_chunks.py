"""The file of a chunk, checked before it is unpacked: what its head says that it has must be what the chunk has.

Blosc begins with a head of 16 bytes, of which bytes 4 to 8 are the number of bytes unpacked; a frame of Zstandard with
its magic number, a descriptor and the content size (RFC 8878, 3.1.1). Texts begin with their number.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from arlequin.results.bounds import FREE_CHUNK, RATIO

_MAGIC = b"\x28\xb5\x2f\xfd"
_HEAD = 32  # bytes read
_TEXT = 16  # bytes assumed for a text


def check_chunk(file: Path, size: int, chunk: tuple[int, ...], metadata: dict[str, Any]) -> None:
    """ValueError where a file of this size (bytes) cannot be that of a chunk; metadata: of its array."""
    import numpy as np

    kind, names = metadata["data_type"], [codec["name"] for codec in metadata["codecs"]]
    number = math.prod(chunk)
    text = kind == "string"
    chunk_bytes = number * (_TEXT if text else np.dtype(kind).itemsize)
    max_bytes = FREE_CHUNK + RATIO * size
    if chunk_bytes > max_bytes or size > FREE_CHUNK + (RATIO * number if text else 2 * chunk_bytes):
        raise ValueError(f"its {size} bytes cannot be those of {number} values")
    with file.open("rb") as data:
        head = data.read(_HEAD)
    unpacked = size
    if "blosc" in names:
        unpacked = int.from_bytes(head[4:8], "little")
    elif "zstd" in names:
        unpacked = _zstd_size(head)
    if unpacked > (max_bytes if text else chunk_bytes + _HEAD):
        raise ValueError(f"it is said to have {unpacked} bytes, of {number} values")
    if text and _texts_in(file, names) != number:
        raise ValueError(f"it has not as many texts as the chunk, {number}")


def _zstd_size(head: bytes) -> int:
    """The content size that a frame declares."""
    flags = head[4] if len(head) > 4 else 0
    kind, single = flags >> 6, flags >> 5 & 1
    length = (single, 2, 4, 8)[kind]
    start = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    if head[:4] != _MAGIC or not length or len(head) < start + length:
        raise ValueError("it does not say how many bytes it has")
    return int.from_bytes(head[start : start + length], "little") + 256 * (length == 2)


def _texts_in(file: Path, names: list[str]) -> int:
    """The number of texts of a chunk; its size has been checked."""
    import numcodecs

    data = file.read_bytes()
    if names[-1] == "crc32c":
        data = data[:-4]
    for name, codec in (("zstd", numcodecs.Zstd), ("blosc", numcodecs.Blosc)):
        if name in names:
            data = bytes(codec().decode(data))
    return int.from_bytes(data[:4], "little")
