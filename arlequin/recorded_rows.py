"""How much of a result was recorded: its arrays have their full length from the start, nan where nothing was yet."""

import numpy as np
import xarray

_BLOCK = 65536  # rows that are read at once


def crop(tree: xarray.DataTree) -> xarray.DataTree:
    """Only what was recorded."""
    root = tree.dataset
    kept = kept_rows(root["time"].variable, root["frame_time"].variable if "frame_time" in root.coords else None)
    datasets = {}
    for node in tree.subtree:
        dataset = node.to_dataset(inherit=False)
        datasets[node.path] = dataset.isel({dim: cut for dim, cut in kept.items() if dim in dataset.dims})
    return xarray.DataTree.from_dict(datasets)


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
    """The values before the first nan; what is after it is not read, however long it is."""
    found = []
    for start in range(0, times.shape[0], _BLOCK):
        block = np.asarray(times[start : start + _BLOCK].values, dtype=float)
        missing = np.isnan(block)
        found.append(block[: missing.argmax()] if missing.any() else block)
        if missing.any():
            break
    return np.concatenate(found) if found else np.zeros(0)
