"""Which BLAS a loaded library really calls."""

import ctypes
import os
import re
from pathlib import Path
from typing import Any


class _Symbol(ctypes.Structure):
    """`Dl_info` of dladdr: the file and the symbol an address lies in."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def blas_called_by(library: str) -> str:
    """The BLAS that the loaded shared library at this path calls, with its version where it tells.

    A process may hold several (NumPy and SciPy wheels bring their own), so the dynamic linker is asked which
    file `dgemm_` comes from; where it cannot say, the files mapped into the process are looked through.
    """
    name = _name_of_symbol(library)
    if name is None:
        name = _name_of_maps(Path("/proc/self/maps"))
    return name or "unknown BLAS"


def name_of(path: str) -> str:
    """The name of the BLAS in a file, from its resolved path.

    >>> name_of("/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3")
    'OpenBLAS'
    >>> name_of("/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0")
    'reference BLAS (slow)'
    """
    text = path.lower()
    for mark, name in (
        ("openblas", "OpenBLAS"),
        ("mkl", "MKL"),
        ("accelerate", "Accelerate"),
        ("veclib", "Accelerate"),
        ("blis", "BLIS"),
        ("flexiblas", "FlexiBLAS"),
        ("atlas", "ATLAS"),
    ):
        if mark in text:
            return name
    if re.search(r"lib(ref)?c?blas", text):
        return "reference BLAS (slow)"
    return f"BLAS in {path}"


def _name_of_symbol(library: str) -> str | None:
    """Ask the dynamic linker which file `dgemm_` comes from for this library."""
    try:
        handle = ctypes.CDLL(library)
        address = ctypes.cast(handle.dgemm_, ctypes.c_void_p)
        info = _Symbol()
        if not ctypes.CDLL(None).dladdr(address, ctypes.byref(info)) or not info.file:
            return None
    except (OSError, AttributeError, TypeError):
        return None  # not on this system, or BLAS linked statically under other names
    name = name_of(os.path.realpath(os.fsdecode(info.file)))
    return f"OpenBLAS {_openblas_version(handle)}".rstrip() if name == "OpenBLAS" else name


def _openblas_version(handle: Any) -> str:
    """The version in "OpenBLAS 0.3.21 NO_AFFINITY USE64BITINT …", or nothing."""
    try:
        ask = handle.openblas_get_config
    except AttributeError:
        return ""
    ask.restype = ctypes.c_char_p
    found = re.search(rb"\d+(\.\d+)+", ask() or b"")
    return found.group().decode() if found else ""


def _name_of_maps(maps: Path) -> str | None:
    """The first BLAS among the files mapped into the process, apart from those bundled with wheels."""
    try:
        lines = maps.read_text().splitlines()
    except OSError:
        return None
    files = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    libraries = sorted(f for f in files if re.search(r"blas|mkl|blis|atlas", f) and ".libs/" not in f)
    names = [name_of(os.path.realpath(f)) for f in libraries]
    fast = [name for name in names if "reference" not in name]
    return next(iter(fast + names), None)
