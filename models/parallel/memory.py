"""Release of freed memory to the system between the phases of a set-up."""

import ctypes
import gc
import sys


def give_back() -> None:
    """Return freed memory to the system (glibc only) before a phase that allocates in another library."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
