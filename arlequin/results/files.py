"""Reading of untrusted files (npz without objects or compression, JSON), and cropping of preallocated results."""

import contextlib
import json
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


@contextlib.contextmanager
def file_errors(given: str, done: str = "written") -> Iterator[None]:
    """Context that raises `UserError` for a full disk or a path that cannot be written, or read (`done`)."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{given}: cannot be {done}: {error.strerror or error}", FAILURE) from error


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file by name; ValueError where it was not written by NumPy's `savez`."""
    if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe would not end
        raise ValueError(f"{path.name} is not a file")
    try:
        with zipfile.ZipFile(path) as file:
            if any(item.compress_type != zipfile.ZIP_STORED for item in file.infolist()):
                raise ValueError("it is compressed")  # a few bytes could fill the memory
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (Exception, MemoryError) as error:  # damaged archives fail in many ways
        raise ValueError(f"{path.name}: {error}" if str(error) else f"{path.name}: {type(error).__name__}") from error


MOST_BYTES = 2**27


def read_json(path: Path) -> Any:
    """The content of a JSON file; ValueError where it is no regular file, too large, or too deeply nested."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait for a writer
    with os.fdopen(file, "rb") as lines:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES:
            raise ValueError(f"{path.name} is not a file of at most {MOST_BYTES:,} bytes")
        try:
            return json.loads(lines.read())
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path.name} cannot be read: {type(error).__name__}: {error}") from error


_BLOCK = 65536  # rows read at a time


def kept_rows(time: xarray.Variable, frame_time: xarray.Variable | None) -> dict[str, slice]:
    """The rows of `time` and `frame` that were recorded: up to the first nan of `time` and of `frame_time`."""
    instants = _recorded(time)
    kept = {"time": slice(instants.size)}
    if frame_time is not None:
        # a run killed between the two writes has a frame whose instant `time` does not cover yet
        covered = 0
        if instants.size:
            last = instants[-1]
            covered = int(np.searchsorted(_recorded(frame_time), last + 1e-9 * abs(last), side="right"))
        kept["frame"] = slice(covered)
    return kept


def _recorded(times: xarray.Variable) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The values before the first nan; blocks after it are not read."""
    found = []
    for start in range(0, times.shape[0], _BLOCK):
        block = np.asarray(times[start : start + _BLOCK].values, dtype=float)
        missing = np.isnan(block)
        found.append(block[: missing.argmax()] if missing.any() else block)
        if missing.any():
            break
    return np.concatenate(found) if found else np.zeros(0)
