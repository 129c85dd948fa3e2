"""Files of named arrays (npz), read as data of anybody: no objects, nothing packed, nothing that waits."""

import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file by their names; ValueError where it is none that NumPy's `savez` has written."""
    if not stat.S_ISREG(path.stat().st_mode):  # of a pipe, reading would not end
        raise ValueError(f"{path.name} is not a file")
    try:
        with zipfile.ZipFile(path) as file:
            if any(item.compress_type != zipfile.ZIP_STORED for item in file.infolist()):
                raise ValueError("it is packed")  # a few bytes could fill the memory
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (Exception, MemoryError) as error:  # damaged archives fail in many ways
        raise ValueError(f"{path.name}: {error}" if str(error) else f"{path.name}: {type(error).__name__}") from error
