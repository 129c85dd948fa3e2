"""Cache of compiled kernels in the user's folder, keyed by the text of all kernels.

numba keeps compiled functions beside each source file, for that file in that place only: another checkout or an
installed copy compiles all of them again, and an edit of a kernel goes unnoticed by those of other files that call it.
Kernel files therefore take `njit` from here. With `cache=True` their functions are kept in

    <user's cache>/arlequin/kernels/<key>/<module>

where the user's cache is `~/.cache` (`$XDG_CACHE_HOME`) on Linux, `~/Library/Caches` on macOS, `%LOCALAPPDATA%` on
Windows, and `$NUMBA_CACHE_DIR` where that is set. The processor is part of numba's own index below it. Where the
folder cannot be written, and with `NUMBA_CACHE_LOCATOR_CLASSES`, numba chooses the place.

Files of the cache are unpickled, which can execute anything. A folder that another user could have written to, or that
is in one, is therefore not used: a line on stderr says so, and kernels are kept in a temporary folder until the process
ends. For the same reason numba's settings are taken from the environment only, not from a `.numba_config.yaml` in the
working folder, which could lead to a cache beside it.

What must be compiled is compiled once on a machine. Meanwhile progress bars show the phase `COMPILING`; without one, in
pipes and log files as well, a line on stderr says so. `compile_ahead` lets another process compile what a run will need
later.
"""

import atexit
import functools
import hashlib
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba import njit as njit
from numba.core import caching, config, event
from numba.misc.appdirs import AppDirs

from arlequin.models.host.folders import make_private, open_to_others
from arlequin.models.host.processes import child_environment, python_command
from arlequin.models.phases import WORKER, is_listening, phase

KEPT = 8  # keys in the user's cache, 60 MB each
IN_USE = 86400.0  # s since its last use: a key that other processes may be using is never removed
KEY = re.compile(r"[0-9a-f]{20}")  # name of a key: nothing else in the folder is removed

COMPILING = "compiling kernels, once on this machine"
_RANK = "OMPI_COMM_WORLD_RANK"  # of a process of mpiexec

PACKAGE = Path(__file__).parents[1]


def _only_the_environment() -> None:
    """Settings of numba from environment variables, and no longer from a file in the folder of the day.

    The compiler reads that file anew whenever it is called.
    """
    if hasattr(config, "_config_fname"):
        config._config_fname = ""
        config.reload_config()


_only_the_environment()


def called_njit(**options: Any) -> Any:
    """Decorator of a kernel that only other kernels call: without the two entries for calls from outside, which take a
    quarter of its compilation."""
    given: Any = options | {"cache": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(**given)


def kernel_sources(package: Path = PACKAGE) -> dict[str, bytes]:
    """Path below the package → text of its `_*.py` files and of the modules that they import.

    Those count for their constants, which are compiled into the kernels.
    """
    places = [at for at, _, _ in os.walk(package, followlinks=True) if not at.endswith("__pycache__")]
    names = [(at, name) for at in places for name in os.listdir(at) if re.fullmatch(r"_[a-z]\w*\.py", name)]
    files = {os.path.relpath(os.path.join(*name), package) for name in names}
    texts = {file: Path(package, file).read_bytes() for file in files}
    for imported in set(re.findall(rb"^from arlequin\.([\w.]+) import", b"\n".join(texts.values()), re.MULTILINE)):
        file = os.path.join(*imported.decode().split(".")) + ".py"
        if os.path.isfile(os.path.join(package, file)):
            texts[file] = Path(package, file).read_bytes()
    return {file.replace(os.sep, "/"): texts[file] for file in sorted(texts)}


def kernels_key(package: Path = PACKAGE) -> str | None:
    """Hash of the sources of a package's kernels, of numba's version and of its options; None where there are none."""
    sources = kernel_sources(package)
    options = [getattr(config, name) for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")]
    digest = hashlib.sha256(f"{sys.version_info[:2]} {numba.__version__} {llvmlite.__version__} {options}".encode())
    for file, text in sources.items():
        digest.update(f"\n{file} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:20] if sources else None


def remove_oldest(folder: Path, kept: int = KEPT) -> None:
    """Removes the keys in `folder` that were used longest ago, but those of the last day, until `kept` are left."""
    found = [key for key in folder.iterdir() if KEY.fullmatch(key.name) and key.is_dir() and not key.is_symlink()]
    keys = sorted(found, key=lambda key: key.stat().st_mtime, reverse=True)
    for key in keys[kept:]:
        if time.time() - key.stat().st_mtime > IN_USE:
            shutil.rmtree(key, ignore_errors=True)


@functools.cache
def folder_of_key(root: str) -> Path | None:
    """Folder of this package's kernels below the cache folder `root`; older ones are removed when it is made.

    A temporary one where others could have written to it; None where it cannot be written.
    """
    key = kernels_key()
    if key is None:
        return None
    folder = Path(root, "kernels", key)
    if not folder.is_absolute():  # a foreign folder could have it
        return _temporary(f"{root} is relative to the working folder")
    try:
        there = next(place for place in (folder, *folder.parents) if place.exists())
        if why := open_to_others(there, within=False):
            return _temporary(why)
        make_private(folder)
        if why := open_to_others(folder):
            return _temporary(why)
        if there != folder:
            remove_oldest(folder.parent)
        os.utime(folder)
    except OSError:  # a disk that cannot be written
        return None
    return folder


def _temporary(why: str) -> Path | None:
    """Folder of this package's kernels for this process and those that it starts."""
    made, process = tempfile.mkdtemp(prefix="arlequin-"), os.getpid()

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(made, ignore_errors=True)

    atexit.register(remove)
    trusted = not open_to_others(Path(made))
    os.environ["NUMBA_CACHE_DIR"] = made if trusted else ""  # else numba keeps them beside the sources
    if sys.stderr is not None:
        cure = "set NUMBA_CACHE_DIR to a folder that only you may write"
        print(f"arlequin: kernels are compiled anew and not kept, as {why}: {cure}", file=sys.stderr)
    return folder_of_key(user_cache()) if trusted else None


class KernelCacheLocator(caching._CacheLocator):
    """Place of a kernel of this package: by the module's name and the key, not the file's folder or time."""

    def __init__(self, function: Any, file: str, folder: Path) -> None:
        self._py_file = file  # named in numba's warnings
        self._line = function.__code__.co_firstlineno
        self._folder = folder

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "KernelCacheLocator | None":
        """The locator of a function; None where it is not of this package or cannot be kept."""
        if not py_func.__module__.startswith("arlequin.") or (folder := folder_of_key(user_cache())) is None:
            return None
        locator = cls(py_func, py_file, folder / py_func.__module__.removeprefix("arlequin."))
        try:
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.parent.name

    def get_disambiguator(self) -> str:
        return str(self._line)


def user_cache() -> str:
    """Folder of arlequin in the cache of the user, or in that set as NUMBA_CACHE_DIR."""
    given = os.environ.get("NUMBA_CACHE_DIR", "")
    return os.path.join(given, "arlequin") if given else str(AppDirs("arlequin", appauthor=False).user_cache_dir)


class UniquelyNamedFiles(caching.IndexDataCacheFile):
    """Cache files of a function of which no two processes give the same name to code for different arguments.

    numba numbers them, and two processes that compile one function at once, each for arguments of its own, would count
    alike: the index of one would lead to the code of the other.
    """

    def _data_name(self, number: int) -> str:
        return str(super()._data_name(number)).removesuffix("nbc") + f"{uuid.uuid4().hex[:12]}.nbc"


caching.CacheImpl._locator_classes.insert(0, KernelCacheLocator)  # type: ignore[arg-type]
caching.IndexDataCacheFile = UniquelyNamedFiles  # type: ignore[misc]


class _Announced(event.Listener):
    """Shows when kernels of this package are compiled."""

    def __init__(self) -> None:
        self._shown: list[Any] = []

    def on_start(self, event: Any) -> None:
        outermost = not self._shown and event.data["dispatcher"].py_func.__module__.startswith("arlequin.")
        self._shown.append(_compiling() if outermost else nullcontext())
        self._shown[-1].__enter__()

    def on_end(self, event: Any) -> None:
        self._shown.pop().__exit__(None, None, None)


event.register("numba:compile", _Announced())


@functools.cache
def _say() -> None:
    """A line on stderr, once: of the first of several processes alone."""
    first = os.environ.get(WORKER, "first") == "first" and os.environ.get(_RANK, "0") == "0"
    if sys.stderr is not None and first:
        print(f"arlequin: {COMPILING}", file=sys.stderr, flush=True)


@contextmanager
def _compiling() -> Iterator[None]:
    """A context in which kernels are compiled, as a progress bar that is seen or else a line tells."""
    seen = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if not (is_listening() and seen):
        _say()
    with phase(COMPILING):
        yield


AHEAD = """import importlib
from pathlib import Path
from arlequin.models.host.processes import end_with_parent
end_with_parent(0)
module = importlib.import_module(sys.argv[1])
if sys.argv[2]:
    eval(sys.argv[2], vars(module))
Path(sys.argv[3]).touch()
"""
_ahead: dict[str, subprocess.Popen[bytes]] = {}


def compile_ahead(module: str, call: str = "") -> None:
    """Compile kernels that declare their types in another process, while this one assembles.

    call: of a function of the module that compiles them, as "mean_force(2)"; by default its import does. Nothing is
    done where they are compiled already, in processes of a sweep, and where the cache cannot be kept.
    """
    name = f"{module}.{call}" if call else module
    folder = None if config.DISABLE_JIT else folder_of_key(user_cache())  # type: ignore[attr-defined]
    mark = None if folder is None else folder / f"{re.sub(r'[^A-Za-z0-9_.]+', '-', name)}.compiled"
    if (not call and module in sys.modules) or name in _ahead or mark is None or mark.exists() or not sys.executable:
        return
    if WORKER in os.environ or multiprocessing.parent_process() is not None:
        return
    with suppress(OSError):  # then this process compiles them
        _ahead[name] = subprocess.Popen(
            python_command(AHEAD, module, call, str(mark)), env=child_environment(),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def await_compilation(name: str) -> None:
    """Wait for the process that compiles kernels, if there is one; name: the module, whose first statement this is, or
    module.call."""
    process = _ahead.pop(name, None)
    if process is not None and process.poll() is None:
        with _compiling():
            process.wait()
