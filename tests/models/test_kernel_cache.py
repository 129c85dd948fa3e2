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
from arlequin.models.phases import listening

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
    for age in range(6):
        key = tmp_path / f"key{age}"
        key.mkdir()
        (key / "kernel.nbi").write_bytes(b"")
        os.utime(key, (now - age * IN_USE * 0.6,) * 2)
    remove_oldest(tmp_path, kept=1)
    assert sorted(key.name for key in tmp_path.iterdir()) == ["key0", "key1"]  # key1: of today
    remove_oldest(tmp_path, kept=3)
    assert len(list(tmp_path.iterdir())) == 2


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
        assert out.stdout == "0 True\n" and out.stderr == ""


def test_compilation_is_a_phase_of_the_progress():
    said = []
    kernel = numba.njit(lambda x: x + 1.0)
    kernel.py_func.__module__ = "arlequin.somewhere"
    with listening(said.append):
        assert kernel(1.0) == 2.0
        assert kernel(2.0) == 3.0
    assert said == [COMPILING, ""]
