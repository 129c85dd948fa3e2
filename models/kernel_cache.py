"""Cache of compiled kernels in the user's folder, keyed by the text of their file and of all files that it imports.

numba keeps compiled functions beside each source file, for that file in that place only: another checkout or an
installed copy compiles all of them again, and an edit of a kernel goes unnoticed by those of other files that call it.
Kernel files therefore take `njit` from here. With `cache=True` their functions are kept in

    <user's cache>/arlequin/kernels/<key>/<module>

The key is a hash of the module's text and of those that can be compiled into it: the kernel files that it imports,
those that they import, and the modules that one of these files imports constants from; and of the versions of Python,
numba and llvmlite. An edit of a kernel file thus recompiles that file and those that call it, and no others. What
kernels contain of files that they do not import:

- nothing of a kernel that they get as a pointer of a declared type (`types.FunctionType`). A jitted function as an
  argument or in a closure would be contained: numba then compiles the caller anew in each process, and no kernel here
  is called so;
- the order of the fields of the named tuples that are their arguments: numba's index below the key has the names.

The user's cache is `~/.cache` (`$XDG_CACHE_HOME`) on Linux, `~/Library/Caches` on macOS, `%LOCALAPPDATA%` on
Windows, and `$NUMBA_CACHE_DIR` where that is set. The processor is part of numba's own index below it. Where the
folder cannot be written, and with `NUMBA_CACHE_LOCATOR_CLASSES`, numba chooses the place.

Files of the cache are unpickled, which can execute anything. A folder that another user could have written to, or that
is in one, is therefore not used: a line on stderr says so, and kernels are kept in a temporary folder until the process
ends. For the same reason numba's settings are taken from the environment only, not from a `.numba_config.yaml` in the
working folder, which could lead to a cache beside it.

A kernel contains copies of those that it calls, for itself alone (`KernelLibrary`): its bits are the same whether they
were compiled before it, are compiled with it or come from the cache, and whichever of them a process calls first.

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
from llvmlite.binding import Linkage
from numba import njit as njit
from numba.core import caching, codegen, config, event, types
from numba.core.typing import Signature
from numba.misc.appdirs import AppDirs

from arlequin.models.host.folders import make_private, open_to_others
from arlequin.models.host.processes import child_environment, python_command
from arlequin.models.phases import WORKER, is_listening, phase

KEPT = 400  # keys in the user's cache: some 45 of a version, of 0.5 MB on average
IN_USE = 86400.0  # s since its last use: a key that other processes may be using is never removed
KEY = re.compile(r"[0-9a-f]{20}")  # name of a key: nothing else in the folder is removed

COMPILING = "compiling kernels, once on this machine"
_RANK = "OMPI_COMM_WORLD_RANK"  # of a process of mpiexec

PACKAGE = Path(__file__).parents[1]
OF_PACKAGE = "8arlequin"  # in the symbols of its functions: the length of the name, then the name
IMPORT = re.compile(r"^\s*from arlequin\.?([\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


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


def is_kernel_file(file: str) -> bool:
    """Whether a path is one of those whose functions may be compiled into others: `_*.py`."""
    return re.fullmatch(r"_[a-z]\w*\.py", file.rpartition("/")[2]) is not None


def _file_of(module: str, package: Path) -> str | None:
    """Path below the package of a module, "" for the package itself; None where there is none."""
    place = module.replace(".", "/")
    names = (f"{place}.py", f"{place}/__init__.py") if module else ("__init__.py",)
    return next((name for name in names if (package / name).is_file()), None)


@functools.cache
def _text_and_imports(file: str, package: Path) -> tuple[bytes, frozenset[str]]:
    """Text of a file of the package, and the paths of those of the package that it imports, in functions as well."""
    text = (package / file).read_bytes()
    modules = set(re.findall(r"^\s*import arlequin\.([\w.]+)", text.decode(), re.MULTILINE))
    for home, names in IMPORT.findall(text.decode()):
        modules |= {home, *(f"{home}.{name}".lstrip(".") for name in re.findall(r"\w+", names))}
    found = (_file_of(module, package) for module in modules)
    return text, frozenset(name for name in found if name is not None)


def kernel_sources(module: str, package: Path = PACKAGE) -> dict[str, bytes]:
    """Path below the package → text of the files that can be compiled into the kernels of a module `arlequin.*`.

    That are its own, the kernel files that it imports, those that these import, and the other modules that one of them
    imports. The last count for their constants: what they import themselves does not.
    """
    own = _file_of(module.removeprefix("arlequin."), package)
    texts: dict[str, bytes] = {}
    left = [] if own is None else [own]
    while left:
        file = left.pop()
        texts[file], imported = _text_and_imports(file, package)
        if file == own or is_kernel_file(file):
            left += imported - texts.keys()
    return dict(sorted(texts.items()))


def kernels_key(module: str, package: Path = PACKAGE) -> str | None:
    """Hash of a module's name, of the sources of its kernels, of numba's version and of its options; None where there
    are no sources."""
    sources = kernel_sources(module, package)
    options = [getattr(config, name) for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")]
    versions = f"{sys.version_info[:2]} {numba.__version__} {llvmlite.__version__}"
    digest = hashlib.sha256(f"{module} {versions} {options}".encode())
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
def folder_of_key(root: str, module: str) -> Path | None:
    """Folder of a module's kernels below the cache folder `root`; older ones are removed when it is made.

    A temporary one where others could have written to it; None where it cannot be written.
    """
    if root in _replaced:
        other = _replaced[root]
        return None if other is None else folder_of_key(other, module)
    key = kernels_key(module)
    if key is None:
        return None
    folder = Path(root, "kernels", key)
    if not folder.is_absolute():  # a foreign folder could have it
        return _temporary(f"{root} is relative to the working folder", root, module)
    try:
        there = next(place for place in (folder, *folder.parents) if place.exists())
        if why := open_to_others(there, within=False):
            return _temporary(why, root, module)
        make_private(folder)
        if why := open_to_others(folder):
            return _temporary(why, root, module)
        if there != folder:
            remove_oldest(folder.parent)
        os.utime(folder)
    except OSError:  # a disk that cannot be written
        return None
    return folder


_replaced: dict[str, str | None] = {}  # cache folders that nothing is read from, and what is used instead


def _temporary(why: str, root: str, module: str) -> Path | None:
    """Folder of a module's kernels for this process and those that it starts, instead of one below `root`."""
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
    _replaced[root] = other = user_cache() if trusted else None
    return None if other is None else folder_of_key(other, module)


class KernelCacheLocator(caching._CacheLocator):
    """Place of a kernel of this package: by the module's name and the key, not the file's folder or time."""

    def __init__(self, function: Any, file: str, folder: Path) -> None:
        self._py_file = file  # named in numba's warnings
        self._line = function.__code__.co_firstlineno
        self._folder = folder

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "KernelCacheLocator | None":
        """The locator of a function; None where it is not of this package or cannot be kept."""
        module = py_func.__module__
        if not module.startswith("arlequin.") or (folder := folder_of_key(user_cache(), module)) is None:
            return None
        locator = cls(py_func, py_file, folder / module.removeprefix("arlequin."))
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


def fields_of(kind: Any) -> tuple[Any, ...]:
    """Names of the fields of all named tuples in the numba types of arguments: a type, a tuple of some, a signature."""
    if isinstance(kind, tuple):
        return tuple(field for part in kind for field in fields_of(part))
    if isinstance(kind, types.BaseTuple):
        return (*getattr(kind, "fields", ()), *fields_of(tuple(getattr(kind, "types", ()))))
    if isinstance(kind, types.FunctionType):
        return fields_of(kind.signature)
    if isinstance(kind, Signature):
        return fields_of((kind.return_type, *kind.args))
    parts = [getattr(kind, name, None) for name in ("dtype", "item_type", "key_type", "value_type", "type")]
    return fields_of(tuple(part for part in parts if isinstance(part, types.Type) and part is not kind))


class KernelCacheFiles(caching.IndexDataCacheFile):
    """Cache files of a function: no code for other arguments is ever read for those that are asked for.

    numba numbers the files, and two processes that compile one function at once, each for arguments of its own, would
    count alike: the index of one would lead to the code of the other. numba tells named tuples apart by their class and
    the types of its fields: once the fields have another order, the index would lead to the code for the earlier one.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save((key, fields_of(key[0])), data)

    def load(self, key: Any) -> Any:
        return super().load((key, fields_of(key[0])))

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (AttributeError, ImportError):  # a class of its arguments is no more
            return {}

    def _data_name(self, number: int) -> str:
        return str(super()._data_name(number)).removesuffix("nbc") + f"{uuid.uuid4().hex[:12]}.nbc"


caching.CacheImpl._locator_classes.insert(0, KernelCacheLocator)  # type: ignore[arg-type]
caching.IndexDataCacheFile = KernelCacheFiles  # type: ignore[misc]


class KernelLibrary(codegen.JITCodeLibrary):
    """Code of a function, with copies of the kernels of this package that it calls, which it shares with no other.

    numba links them as `linkonce_odr`: of several of one name a process takes the one that it loaded first. They are
    not equal: a copy is optimised again with its caller, and which products and sums the processor does as one (FMA)
    depends on that. A run that compiles would then have other bits than one that reads the cache.
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            copied = not function.is_declaration and function.linkage == Linkage.linkonce_odr
            if copied and OF_PACKAGE in function.name:
                function.linkage = "internal"
        super()._optimize_final_module()


codegen.JITCPUCodegen._library_class = KernelLibrary


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
    folder = None if config.DISABLE_JIT else folder_of_key(user_cache(), module)  # type: ignore[attr-defined]
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
