"""Cache of compiled kernels in the user's folder, keyed by the sources of their file and of all files that it imports.

numba caches compiled functions beside each source file, for that path only: another checkout or an installed copy
compiles all of them again, and an edit of a kernel does not invalidate kernels of other files that call it.
Kernel files therefore import `njit` from here. With `cache=True` their functions are stored in

    <user's cache>/arlequin/kernels/<key>/<module>

The key is a hash of the module's text and of those that can be compiled into it: the kernel files that it imports,
those that they import, and the modules that one of these files imports constants from; and of the versions of Python,
numba and llvmlite. An edit of a kernel file thus recompiles that file and those that call it, and no others. Of files
that they do not import, kernels depend on

- nothing of a kernel that is passed as a pointer of a declared type (`types.FunctionType`). A jitted function as an
  argument or in a closure would be inlined: numba then compiles the caller anew in each process, and no kernel here
  is called so;
- the order of the fields of the named tuples that are their arguments: numba's index below the key has the names.

The user's cache is `~/.cache` (`$XDG_CACHE_HOME`) on Linux, `~/Library/Caches` on macOS, `%LOCALAPPDATA%` on
Windows, and `$NUMBA_CACHE_DIR` where that is set. The processor is part of numba's own index below it. Where the
folder cannot be written, and with `NUMBA_CACHE_LOCATOR_CLASSES`, numba chooses the place.

Files of the cache are unpickled, which can execute any code. A folder that another user could have written to, or a
folder inside one, is therefore not used: a line on stderr reports it, and kernels are stored in a temporary folder
until the process ends. For the same reason numba's settings are taken from the environment only, not from a
`.numba_config.yaml` in the working folder, which could redirect the cache there.

A kernel contains private copies of those that it calls (`KernelLibrary`): its results are bitwise the same whether they
were compiled before it, are compiled with it or come from the cache, and whichever of them a process calls first.

Kernels are compiled once on a machine. Meanwhile progress bars show the phase `COMPILING`; without one, and in pipes
and log files, a line on stderr reports it. `compile_ahead` compiles kernels that a run will need in another process.
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

MAX_KEYS = 400  # in the user's cache: a version has about 45, of 0.5 MB on average
IN_USE = 86400.0  # s since the last use of a key before which it is not removed: other processes may be using it
KEY = re.compile(r"[0-9a-f]{20}")  # name of a key: only such folders are removed

COMPILING = "compiling kernels, once on this machine"
_RANK = "OMPI_COMM_WORLD_RANK"  # set by mpiexec

PACKAGE = Path(__file__).parents[1]
OF_PACKAGE = "8arlequin"  # in the symbols of its functions: the length of the name, then the name
IMPORT = re.compile(r"^\s*from arlequin\.?([\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


def _only_the_environment() -> None:
    """Take numba's settings from environment variables, not from a file in the working folder, which the compiler reads
    at each call."""
    if hasattr(config, "_config_fname"):
        config._config_fname = ""
        config.reload_config()


_only_the_environment()


def called_njit(**options: Any) -> Any:
    """Decorator of a kernel that only other kernels call: without the wrappers for calls from Python and C, a quarter
    of the compilation time."""
    flags: Any = options | {"cache": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(**flags)


def is_kernel_file(file: str) -> bool:
    """Whether a path is that of a kernel file, whose functions may be compiled into others: `_*.py`."""
    return re.fullmatch(r"_[a-z]\w*\.py", file.rpartition("/")[2]) is not None


def _file_of(module: str, package: Path) -> str | None:
    """Path below the package of a module, "" for the package itself; None where there is none."""
    place = module.replace(".", "/")
    names = (f"{place}.py", f"{place}/__init__.py") if module else ("__init__.py",)
    return next((name for name in names if (package / name).is_file()), None)


@functools.cache
def _text_and_imports(file: str, package: Path) -> tuple[bytes, frozenset[str]]:
    """Text of a file of the package, and the paths of the package's files that it imports, also within functions."""
    text = (package / file).read_bytes()
    modules = set(re.findall(r"^\s*import arlequin\.([\w.]+)", text.decode(), re.MULTILINE))
    for home, names in IMPORT.findall(text.decode()):
        modules |= {home, *(f"{home}.{name}".lstrip(".") for name in re.findall(r"\w+", names))}
    files = (_file_of(module, package) for module in modules)
    return text, frozenset(name for name in files if name is not None)


def kernel_sources(module: str, package: Path = PACKAGE) -> dict[str, bytes]:
    """Path below the package → text of the files that can be compiled into the kernels of a module `arlequin.*`.

    They are its file, the kernel files that it imports, directly or indirectly, and the other modules that one of these
    imports, for their constants: the imports of the latter are left out.
    """
    main = _file_of(module.removeprefix("arlequin."), package)
    texts: dict[str, bytes] = {}
    pending = [] if main is None else [main]
    while pending:
        file = pending.pop()
        texts[file], imported = _text_and_imports(file, package)
        if file == main or is_kernel_file(file):
            pending += imported - texts.keys()
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


def remove_oldest(folder: Path, count: int = MAX_KEYS) -> None:
    """Remove the least recently used keys in `folder`, except those of the last day, until `count` remain."""
    candidates = [key for key in folder.iterdir() if KEY.fullmatch(key.name) and key.is_dir() and not key.is_symlink()]
    keys = sorted(candidates, key=lambda key: key.stat().st_mtime, reverse=True)
    for key in keys[count:]:
        if time.time() - key.stat().st_mtime > IN_USE:
            shutil.rmtree(key, ignore_errors=True)


@functools.cache
def folder_of_key(root: str, module: str) -> Path | None:
    """Folder of a module's kernels below the cache folder `root`; the oldest folders are removed when it is created.

    A temporary one where other users could have written to it; None where it cannot be written.
    """
    if root in _replaced:
        replacement = _replaced[root]
        return None if replacement is None else folder_of_key(replacement, module)
    key = kernels_key(module)
    if key is None:
        return None
    folder = Path(root, "kernels", key)
    if not folder.is_absolute():  # it could be in another user's folder
        return _temporary(f"{root} is relative to the working folder", root, module)
    try:
        existing = next(place for place in (folder, *folder.parents) if place.exists())
        if reason := open_to_others(existing, within=False):
            return _temporary(reason, root, module)
        make_private(folder)
        if reason := open_to_others(folder):
            return _temporary(reason, root, module)
        if existing != folder:
            remove_oldest(folder.parent)
        os.utime(folder)
    except OSError:  # not writable
        return None
    return folder


_replaced: dict[str, str | None] = {}  # untrusted cache folders → their replacements


def _temporary(reason: str, root: str, module: str) -> Path | None:
    """Folder of a module's kernels for this process and those that it starts, instead of one below `root`."""
    path, process = tempfile.mkdtemp(prefix="arlequin-"), os.getpid()

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(path, ignore_errors=True)

    atexit.register(remove)
    trusted = not open_to_others(Path(path))
    os.environ["NUMBA_CACHE_DIR"] = path if trusted else ""  # "": numba stores them beside the sources
    if sys.stderr is not None:
        cure = "set NUMBA_CACHE_DIR to a folder that only you may write"
        print(f"arlequin: kernels are compiled anew and not kept, as {reason}: {cure}", file=sys.stderr)
    _replaced[root] = replacement = user_cache() if trusted else None
    return None if replacement is None else folder_of_key(replacement, module)


class KernelCacheLocator(caching._CacheLocator):
    """Cache folder of a kernel of this package: by the module's name and the key, not the file's folder or time."""

    def __init__(self, function: Any, file: str, folder: Path) -> None:
        self._py_file = file  # named in numba's warnings
        self._line = function.__code__.co_firstlineno
        self._folder = folder

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "KernelCacheLocator | None":
        """The locator of a function; None where it is not of this package or the cache cannot be written."""
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
    root = os.environ.get("NUMBA_CACHE_DIR", "")
    return os.path.join(root, "arlequin") if root else str(AppDirs("arlequin", appauthor=False).user_cache_dir)


def fields_of(kind: Any) -> tuple[Any, ...]:
    """Names of the fields of all named tuples in numba types: a type, a tuple of types, or a signature."""
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
    """Cache files of a function, named so that code for other argument types is never loaded.

    numba numbers the files, and two processes that compile a function at the same time, for different types, would use
    the same numbers: the index of one would lead to the code of the other. numba identifies named tuples by their class
    and the types of the fields: after a change of their order, the index would lead to outdated code.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save((key, fields_of(key[0])), data)

    def load(self, key: Any) -> Any:
        return super().load((key, fields_of(key[0])))

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (AttributeError, ImportError):  # the class of an argument no longer exists
            return {}

    def _data_name(self, number: int) -> str:
        return str(super()._data_name(number)).removesuffix("nbc") + f"{uuid.uuid4().hex[:12]}.nbc"


caching.CacheImpl._locator_classes.insert(0, KernelCacheLocator)  # type: ignore[arg-type]
caching.IndexDataCacheFile = KernelCacheFiles  # type: ignore[misc]


class KernelLibrary(codegen.JITCodeLibrary):
    """Code of a function, with private copies of the kernels of this package that it calls.

    numba links them as `linkonce_odr`: of several copies of a name a process uses the one loaded first. They are not
    equal: a copy is optimised again with its caller, which decides the products and sums that are fused (FMA). A run
    that compiles would then differ in the last bits from one that reads the cache.
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            copied = not function.is_declaration and function.linkage == Linkage.linkonce_odr
            if copied and OF_PACKAGE in function.name:
                function.linkage = "internal"
        super()._optimize_final_module()


codegen.JITCPUCodegen._library_class = KernelLibrary


class _CompilationEvents(event.Listener):
    """Listener of numba's compilation events: reports the compilation of kernels of this package."""

    def __init__(self) -> None:
        self._contexts: list[Any] = []

    def on_start(self, event: Any) -> None:
        outermost = not self._contexts and event.data["dispatcher"].py_func.__module__.startswith("arlequin.")
        self._contexts.append(_compiling() if outermost else nullcontext())
        self._contexts[-1].__enter__()

    def on_end(self, event: Any) -> None:
        self._contexts.pop().__exit__(None, None, None)


event.register("numba:compile", _CompilationEvents())


@functools.cache
def _announce() -> None:
    """Print a line on stderr, once, by the first of several processes only."""
    first = os.environ.get(WORKER, "first") == "first" and os.environ.get(_RANK, "0") == "0"
    if sys.stderr is not None and first:
        print(f"arlequin: {COMPILING}", file=sys.stderr, flush=True)


@contextmanager
def _compiling() -> Iterator[None]:
    """A context for compilation, reported by a visible progress bar or else by a line."""
    shows_phases = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if not (is_listening() and shows_phases):
        _announce()
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
    """Compile kernels with declared types in another process, while this one assembles.

    call: of a function of the module that compiles them, as "mean_force(2)"; by default the import compiles. No effect
    if they are compiled already, in processes of a sweep, and if the cache cannot be written.
    """
    name = f"{module}.{call}" if call else module
    folder = None if config.DISABLE_JIT else folder_of_key(user_cache(), module)  # type: ignore[attr-defined]
    mark = None if folder is None else folder / f"{re.sub(r'[^A-Za-z0-9_.]+', '-', name)}.compiled"
    if (not call and module in sys.modules) or name in _ahead or mark is None or mark.exists() or not sys.executable:
        return
    if WORKER in os.environ or multiprocessing.parent_process() is not None:
        return
    with suppress(OSError):  # this process will compile them
        _ahead[name] = subprocess.Popen(
            python_command(AHEAD, module, call, str(mark)), env=child_environment(),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def await_compilation(name: str) -> None:
    """Wait for the process that compiles kernels, if there is one; name: the module, which calls this first, or
    module.call."""
    process = _ahead.pop(name, None)
    if process is not None and process.poll() is None:
        with _compiling():
            process.wait()
