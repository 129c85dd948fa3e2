"""Reading of untrusted files (npz without objects or compression, JSON), and cropping of preallocated results."""

import contextlib
import json
import math
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from arlequin.models.errors import FAILURE, UserError
from arlequin.results.bounds import MAX_DEPTH, depth

_EMPTY = 2**31  # length of a dimension of an array without values, from which it is none that a result has


@contextlib.contextmanager
def file_errors(label: str, action: str = "written") -> Iterator[None]:
    """Context that raises `UserError` for a full disk or a path that cannot be written, or read (`done`)."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{label}: cannot be {action}: {error.strerror or error}", FAILURE) from error


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file by name; ValueError where it was not written by NumPy's `savez`."""
    if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe would not end
        raise ValueError(f"{path.name} is not a file")
    try:
        size = path.stat().st_size
        with zipfile.ZipFile(path) as file:
            items = file.infolist()
            # a few bytes could fill the memory
            if any(item.compress_type != zipfile.ZIP_STORED for item in items):
                raise ValueError("it is compressed")
            if sum(item.file_size for item in items) > size:
                raise ValueError("its arrays are larger than it is")
            for item in items:
                _check_array(file, item)
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (Exception, MemoryError) as error:  # damaged archives fail in many ways
        raise ValueError(f"{path.name}: {error}" if str(error) else f"{path.name}: {type(error).__name__}") from error


def _check_array(file: zipfile.ZipFile, item: zipfile.ZipInfo) -> None:
    """ValueError where an array of an archive declares more than its bytes."""
    from numpy.lib import format as npy

    with file.open(item) as array:
        version = npy.read_magic(array)
        shape, _, dtype = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version](array)
    size = max(dtype.itemsize, 1) * math.prod(shape)
    if dtype.hasobject or size > item.file_size or (not size and max(shape, default=0) >= _EMPTY):
        raise ValueError(f"its array {item.filename} of the shape {shape} is not in its {item.file_size} bytes")


MAX_JSON_BYTES = 2**27


def read_json(path: Path) -> Any:
    """The content of a JSON file; ValueError where it is no regular file, too large, or nested too deeply."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait for a writer
    with os.fdopen(file, "rb") as lines:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_JSON_BYTES:
            raise ValueError(f"{path.name} is not a file of at most {MAX_JSON_BYTES:,} bytes")
        try:
            content = json.loads(lines.read())
        except (ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"{path.name} cannot be read: {type(error).__name__}: {error}") from error
    if depth(content) > MAX_DEPTH:
        raise ValueError(f"{path.name} cannot be read: its lists are in each other more than {MAX_DEPTH} times")
    return content


_BLOCK = 65536  # rows read at a time


def recorded_rows(time: xarray.Variable, frame_time: xarray.Variable | None, chunk: int = 1) -> dict[str, slice]:
    """The rows of `time` and `frame` that were recorded: up to the first nan of `time` and of `frame_time`.

    chunk: rows that are read at once.
    """
    instants = _recorded(time, chunk)
    rows = {"time": slice(instants.size)}
    if frame_time is not None:
        # a run killed between the two writes has a frame whose instant `time` does not cover yet
        covered = 0
        if instants.size:
            last = instants[-1]
            covered = int(np.searchsorted(_recorded(frame_time, chunk), last + 1e-9 * abs(last), side="right"))
        rows["frame"] = slice(covered)
    return rows


def _recorded(times: xarray.Variable, chunk: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The values before the first nan; blocks after it are not read."""
    blocks = []
    step = max(_BLOCK // chunk, 1) * chunk
    for start in range(0, times.shape[0], step):
        block = np.asarray(times[start : start + step].values, dtype=float)
        missing = np.isnan(block)
        blocks.append(block[: missing.argmax()] if missing.any() else block)
        if missing.any():
            break
    return np.concatenate(blocks) if blocks else np.zeros(0)
