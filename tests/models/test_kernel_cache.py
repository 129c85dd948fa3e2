"""The cache of compiled kernels: what compiles again, and what does not."""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numba
import pytest

from arlequin.models import kernel_cache
from arlequin.models.kernel_cache import COMPILING, IN_USE, UniquelyNamedFiles, kernels_key, remove_oldest
from arlequin.models.phases import WORKER, listening

PACKAGE = Path(kernel_cache.__file__).parents[1]
KERNELS = "models/linalg/_row_kernels.py"

# calls a kernel of one signature: how often it came from the cache, was compiled, and where it is kept
CALL = """
import numpy as np
from arlequin.models.linalg import _row_kernels as kernels
kernels.row_products(np.ones((2, 3)), np.ones((3, 1)))
stats = kernels.row_products.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), stats.cache_path)
"""


@pytest.fixture
def copy(tmp_path):
    """Makes a copy of the package in a folder of its own, as an installed one: without links."""

    def make(name):
        copied = tmp_path / name / "arlequin"
        shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
        return copied

    return make


def edit(package, file, text="\n# edited\n"):
    with (package / file).open("a", encoding="utf-8") as opened:
        opened.write(text)


def run(package, **environment):
    """(hits, compilations, folder) of one kernel in a process of its own."""
    given = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    given |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    words = [sys.executable, "-c", CALL]
    out = subprocess.run(words, env=given, cwd=package.parent, check=True, capture_output=True, text=True).stdout
    hits, misses, folder = out.split(maxsplit=2)
    return int(hits), int(misses), Path(folder.strip())


def test_kernels_compile_once_for_all_copies_of_one_text(copy, tmp_path):
    cache = (
        {"XDG_CACHE_HOME": str(tmp_path / "cache")} if sys.platform == "linux" else {"NUMBA_CACHE_DIR": str(tmp_path)}
    )
    first = copy("first")
    hits, compiled, folder = run(first, **cache)
    assert (hits, compiled) == (0, 1) and tmp_path in folder.parents and first not in folder.parents
    assert not list(first.rglob("*.nbi"))
    second = copy("second")
    os.utime(second / KERNELS, (0, 0))
    assert run(second, **cache) == (1, 0, folder)
    # another file's kernels, which these might call
    edit(second, "models/linalg/_batched_kernels.py")
    hits, compiled, other = run(second, **cache)
    assert (hits, compiled) == (0, 1) and other.parent.parent == folder.parent.parent and other.parent != folder.parent
    assert run(first, **cache) == (1, 0, folder)


def test_the_folder_that_the_user_sets_is_taken(copy, tmp_path):
    _, compiled, folder = run(copy("first"), NUMBA_CACHE_DIR=str(tmp_path / "own"))
    assert compiled == 1 and tmp_path / "own" / "arlequin" in folder.parents


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        (KERNELS, True),
        ("multilevel/laws/_signature.py", True),
        ("models/materials/plastic.py", True),  # its constants are compiled in
        ("models/fem/solid.py", False),
        ("models/linalg/__init__.py", False),
    ],
)
def test_key_changes_with_the_text_of_kernels_and_what_they_import(copy, file, changed):
    package = copy("copy")
    assert kernels_key(package) == kernels_key(PACKAGE)
    edit(package, file)
    assert (kernels_key(package) != kernels_key(PACKAGE)) == changed


def test_key_changes_with_the_name_of_a_file(copy):
    package = copy("copy")
    (package / KERNELS).rename(package / "models/linalg/_line_kernels.py")
    assert kernels_key(package) != kernels_key(PACKAGE)


def test_a_package_without_files_has_no_key(tmp_path):
    """As one that is imported from an archive: numba then chooses the place."""
    assert kernels_key(tmp_path) is None


def test_kernels_used_longest_ago_are_removed_but_none_in_use(tmp_path):
    now = time.time()
    keys = [f"{age:020x}" for age in range(6)]
    others = ["notes", f"{7:021x}", f"{8:019x}", f"{0xABC:020X}", f"{9:020x}.old"]  # of the user
    for age, name in enumerate([*keys, *others]):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel.nbi").write_bytes(b"")
        os.utime(tmp_path / name, (now - age * IN_USE * 0.6,) * 2)
    (tmp_path / f"{6:020x}").symlink_to(tmp_path / "notes")
    remove_oldest(tmp_path, kept=1)
    left = [*keys[:2], f"{6:020x}", *others]  # the second: of today
    assert sorted(key.name for key in tmp_path.iterdir()) == sorted(left)
    remove_oldest(tmp_path, kept=3)
    assert sorted(key.name for key in tmp_path.iterdir()) == sorted(left)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="rights of POSIX")
@pytest.mark.parametrize("open_to_all", ["root", "arlequin", "kernels", "key", "file"])
def test_a_cache_that_others_may_write_to_is_not_read(open_to_all, tmp_path, monkeypatch, capsys):
    """A line says so; this process and those that it starts have a folder of their own instead."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "root"))
    first = kernel_cache.folder_of_key(kernel_cache.user_cache())
    assert first == tmp_path / "root" / "arlequin" / "kernels" / kernels_key()
    assert all(place.stat().st_mode & 0o777 == 0o700 for place in (first, *first.parents[:2]))
    (first / "file").write_bytes(b"")
    places = {place.name: place for place in (*first.parents, first / "file")} | {"key": first}
    odd = places[open_to_all]
    odd.chmod(0o777)
    kernel_cache.folder_of_key.cache_clear()
    own = kernel_cache.folder_of_key(kernel_cache.user_cache())
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and f"not kept, as {odd} may be written by others: set NUMBA_CACHE_DIR to" in err
    assert tmp_path / "root" not in own.parents and own.stat().st_mode & 0o777 == 0o700
    assert kernel_cache.folder_of_key(kernel_cache.user_cache()) == own and not capsys.readouterr().err
    assert os.environ["NUMBA_CACHE_DIR"] in map(str, own.parents)
    odd.chmod(0o700)
    shutil.rmtree(os.environ["NUMBA_CACHE_DIR"])


def test_a_cache_in_the_working_folder_is_not_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "cache")
    own = kernel_cache.folder_of_key(kernel_cache.user_cache())
    assert own.is_absolute() and tmp_path not in own.parents and not list(tmp_path.iterdir())
    assert "as cache/arlequin is relative to the working folder: set NUMBA_CACHE_DIR to" in capsys.readouterr().err
    shutil.rmtree(os.environ["NUMBA_CACHE_DIR"])


def test_a_file_of_settings_in_the_working_folder_is_not_read(tmp_path, monkeypatch):
    """It could name a cache, beside it, of files that execute anything when they are read."""
    from numba.core import config

    before = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES, config.OPT
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: evil\ncache_locator_classes: evil.Locator\nopt: 0\n")
    monkeypatch.chdir(tmp_path)
    config.reload_config()  # as the compiler does
    assert before == (config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES, config.OPT)


def test_two_processes_at_once_never_mix_code_of_different_arguments(tmp_path):
    """Both read the index before either has written it."""
    both = threading.Barrier(2)

    class Together(UniquelyNamedFiles):
        def _load_index(self):
            index = super()._load_index()
            both.wait(10.0)
            return index

    def compile_for(argument):
        Together(str(tmp_path), "kernel", "stamp").save(argument, f"code for {argument}")

    threads = [threading.Thread(target=compile_for, args=(argument,)) for argument in ("float", "int")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    files = UniquelyNamedFiles(str(tmp_path), "kernel", "stamp")
    found = {argument: files.load(argument) for argument in ("float", "int")}
    assert any(found.values())
    assert all(code in (None, f"code for {argument}") for argument, code in found.items())


def test_packages_load_without_the_compiler():
    code = "import sys, arlequin, arlequin.models.part; print('numba' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    words = [sys.executable, "-c", code]
    assert subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout == "False\n"


AHEAD = """
import sys, time
from arlequin.models import kernel_cache
module = "arlequin.multilevel.laws._kernels"
kernel_cache.compile_ahead(module)
assert module not in sys.modules and (module in kernel_cache._ahead) == (sys.argv[1] == "first")
kernel_cache.await_compilation(module)
from arlequin.multilevel.laws import _kernels as kernels
found = [each for each in vars(kernels).values() if getattr(each, "nopython_signatures", None)]
print(sum(sum(each.stats.cache_misses.values()) for each in found), len(found) > 0)
"""


def test_another_process_compiles_ahead(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "NUMBA_CACHE_DIR": str(tmp_path)}
    for which in ("first", "second"):  # the second finds that nothing is left to do
        words = [sys.executable, "-c", AHEAD, which]
        out = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
        said = f"arlequin: {COMPILING}\n" if which == "first" else ""
        assert out.stdout == "0 True\n" and out.stderr == said


FINITE = """
import sys, numpy as np, arlequin as aq
from arlequin.models import kernel_cache
from arlequin.models.fem import _mean_kernels
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(event.data["dispatcher"].py_func.__qualname__)
    def on_end(self, event): pass
event.register("numba:compile", Listener())
rubber = aq.NeoHooke(young=1e6, poisson=0.3, density=1e3)
part = aq.Solid("part", aq.mesh.rectangle((0, 1), (0, 1), cells=(1, 1)), rubber, plane="strain", kinematics="finite")
for module, call in part.kernels(0.5):
    kernel_cache.compile_ahead(module, call)
assert len(kernel_cache._ahead) == 3
own, zero = part.assemble(), np.zeros(8)
own.mean_tangent(zero, zero, own.fresh(), 0.1)
own.respond(zero, own.fresh(), 0.1)
own.mean_internal(zero, zero, own.fresh(), 0.1)
assert not kernel_cache._ahead
print([name for name in compiled if name.startswith(("mean_", "respond_"))], len(compiled) > 0)
"""


@pytest.mark.slow  # compiles for half a minute
def test_kernels_of_finite_strains_are_compiled_ahead(tmp_path):
    """Those of the law and the axes of a part, for the arrays that a run has: nothing is left to this process."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "NUMBA_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-c", FINITE]
    out = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
    assert out.stdout == "[] True\n" and out.stderr == f"arlequin: {COMPILING}\n"


SAY = """
import numba
from arlequin.models import kernel_cache
for _ in range(2):
    kernel = numba.njit(lambda x: x + 1.0)
    kernel.py_func.__module__ = "arlequin.somewhere"
    kernel(1.0)
"""


@pytest.mark.parametrize(
    ("named", "lines"), [({}, 1), ({WORKER: "first"}, 1), ({WORKER: "other"}, 0), ({"OMPI_COMM_WORLD_RANK": "1"}, 0)]
)
def test_a_pipe_is_told_once_of_compilation(named, lines):
    """By the first of several processes alone."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), **named}
    out = subprocess.run([sys.executable, "-c", SAY], env=environment, check=True, capture_output=True, text=True)
    assert out.stderr == lines * f"arlequin: {COMPILING}\n" and out.stdout == ""


def test_compilation_is_a_phase_of_the_progress():
    said = []
    kernel = numba.njit(lambda x: x + 1.0)
    kernel.py_func.__module__ = "arlequin.somewhere"
    with listening(said.append):
        assert kernel(1.0) == 2.0
        assert kernel(2.0) == 3.0
    assert said == [COMPILING, ""]
