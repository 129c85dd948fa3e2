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
from arlequin.models.kernel_cache import COMPILING, IN_USE, KernelCacheFiles, kernels_key, remove_oldest
from arlequin.models.phases import WORKER, listening

PACKAGE = Path(kernel_cache.__file__).parents[1]
KERNELS = "models/linalg/_row_kernels.py"
ROWS = "arlequin.models.linalg._row_kernels"
SMALL = "arlequin.models.fem._small_kernels"  # import constants, and kernels that import kernels

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


@pytest.mark.slow
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
    edit(second, "models/linalg/_batched_kernels.py")  # which these do not import
    assert run(second, **cache) == (1, 0, folder)
    edit(second, KERNELS)
    hits, compiled, other = run(second, **cache)
    assert (hits, compiled) == (0, 1) and other.parent.parent == folder.parent.parent and other.parent != folder.parent
    assert run(first, **cache) == (1, 0, folder)


@pytest.mark.slow
def test_the_folder_that_the_user_sets_is_taken(copy, tmp_path):
    _, compiled, folder = run(copy("first"), NUMBA_CACHE_DIR=str(tmp_path / "own"))
    assert compiled == 1 and tmp_path / "own" / "arlequin" in folder.parents


TRIAL = {
    "constants": "STEP = 1.0",
    "records": "from collections import namedtuple\nPair = namedtuple('Pair', 'first second')\nmake = Pair",
    "_leaf": "from arlequin.trial.constants import STEP\n@njit(cache=True)\ndef leaf(x):\n    return x + STEP",
    "_middle": "from arlequin.trial._leaf import leaf\n@called_njit()\ndef middle(x):\n    return 10.0 * leaf(x)",
    "_top": "from arlequin.trial._middle import middle\n@njit(cache=True)\ndef top(x):\n    return middle(x)",
    "_apart": "@njit(cache=True)\ndef apart(x):\n    return 100.0 * x",
    "_pointed": "@njit(FLOAT(FunctionType(FLOAT(FLOAT)), FLOAT), cache=True)\ndef pointed(f, x):\n    return f(x)",
    "_taken": "@njit(cache=True)\ndef taken(f, x):\n    return f(x)",
    "_closed": """
def closed(f, x):
    @njit(cache=True)
    def closure(x):
        return f(x)
    return closure(x)""",
    "_fields": "@njit(cache=True)\ndef fields(pair):\n    return pair.first",
}
HEAD = """from numba.core.types import FunctionType, float64 as FLOAT
from arlequin.models.kernel_cache import called_njit, njit
"""

# what kernels return, and the names of those that are compiled
CALLS = """
from numba.core import event
compiled = set()
class Listener(event.Listener):
    def on_start(self, event): compiled.add(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass
event.register("numba:compile", Listener())
from arlequin.trial import _apart, _closed, _fields, _leaf, _pointed, _taken, _top, records
leaf = _leaf.leaf
print(_pointed.pointed(leaf, 1.0), _top.top(1.0), _apart.apart(1.0), _taken.taken(leaf, 1.0), end=" ")
print(_closed.closed(leaf, 1.0), _fields.fields(records.make(7.0, 8.0)), *compiled)
"""


@pytest.mark.slow
def test_an_edit_recompiles_the_kernels_that_contain_the_edited_file_and_no_others(copy, tmp_path):
    package = copy("first")
    (package / "trial").mkdir()

    def write(name, *replaced):
        text = (HEAD if name.startswith("_") else "") + TRIAL[name].replace(*(replaced or ("", "")))
        (package / "trial" / f"{name}.py").write_text(text + "\n", encoding="utf-8")

    def calls():
        """Values, compiled kernels."""
        given = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
        given |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
        words = [sys.executable, "-c", CALLS]
        out = subprocess.run(words, env=given, check=True, capture_output=True, text=True, cwd=package.parent).stdout
        return [float(value) for value in out.split()[:6]], {*out.split()[6:]}

    for name in TRIAL:
        write(name)
    always = {"taken", "closure"}  # each contains a kernel that it does not import
    all_of_them = {"leaf", "middle", "top", "apart", "pointed", "fields", *always}
    assert calls() == ([2.0, 20.0, 100.0, 2.0, 2.0, 7.0], all_of_them)
    write("_apart", "100.0", "200.0")
    assert calls() == ([2.0, 20.0, 200.0, 2.0, 2.0, 7.0], {"apart", *always})
    write("_leaf", "x + STEP", "x + 2.0 * STEP")
    assert calls() == ([3.0, 30.0, 200.0, 3.0, 3.0, 7.0], {"leaf", "middle", "top", *always})
    write("constants", "1.0", "3.0")
    write("records", "first second", "second first")
    assert calls() == ([7.0, 70.0, 200.0, 7.0, 7.0, 8.0], {"leaf", "middle", "top", "fields", *always})
    write("constants")
    write("records", "Pair", "Couple")
    write("_leaf")
    assert calls() == ([2.0, 20.0, 200.0, 2.0, 2.0, 7.0], {"fields", *always})


LARGE = """from arlequin.models.kernel_cache import njit
@njit(cache=True)
def leaf(a, x, y):
    for i in range(len(y)):
        for j in range(i):
            y[i] -= a[i, j] * y[j]
        y[i] /= a[i, i]
    for i in range(len(y) - 1, -1, -1):
        for j in range(i + 1, len(y)):
            y[i] -= a[j, i] * y[j]
        y[i] /= a[i, i]
        x[i] += y[i] * a[i, i]
@njit(cache=True)
def top(a, x, y):
    leaf(a, x, y)
    leaf(a, y, x)
"""

SYMBOLS = """
import numpy as np
from llvmlite.binding import Linkage
from arlequin.trial._pair import top
top(np.eye(8), np.ones(8), np.ones(8))
(compiled,) = top.overloads.values()
functions = compiled.library._get_module_for_linking().functions
own = [each for each in functions if not each.is_declaration and "arlequin" in each.name]
assert own and all(each.linkage == Linkage.linkonce_odr for each in own if "leaf" not in each.name)
print(*sorted(Linkage(each.linkage).name for each in own if "leaf" in each.name))
"""


@pytest.mark.slow
def test_a_kernel_shares_no_copy_of_those_that_it_calls(copy, tmp_path):
    """Of functions of one name and linkage `linkonce_odr` a process takes the first that it loads."""
    package = copy("first")
    (package / "trial").mkdir()
    (package / "trial/_pair.py").write_text(LARGE, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path)}
    for _ in range(2):  # compiled, and from the cache
        words = [sys.executable, "-c", SYMBOLS]
        run = subprocess.run(words, env=environment, capture_output=True, text=True, cwd=package.parent)
        assert run.stdout.split() == ["internal"], run.stderr


STEPS = """
import hashlib, arlequin as aq
steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
strip = aq.Solid("strip", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(20, 4)), steel, plane="strain")
plane = aq.RigidPlane(point=(0.0, -1e-4), normal=(0.02, 1.0))
touch = aq.Interface("touch", strip.boundary("bottom"), plane, aq.Unilateral(), friction=aq.Coulomb(0.2))
system = aq.System([strip], interfaces=[touch], velocity=(1.0, -10.0), gravity=(0.0, -10.0))
found = aq.simulate(system, aq.Theta(0.5), duration=2e-5, step=1e-7, progress=False)
print(hashlib.sha256(found["energy"].values.tobytes()).hexdigest())
"""


@pytest.mark.slow  # compiles the loop
def test_a_run_that_compiles_has_the_bits_of_later_ones(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "NUMBA_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-c", STEPS]
    first, second = (subprocess.run(words, env=environment, check=True, capture_output=True, text=True) for _ in "12")
    assert first.stdout == second.stdout and COMPILING in first.stderr and not second.stderr


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("models/fem/_small_kernels.py", True),
        ("models/fem/_cell_kernels.py", True),
        ("models/materials/_point_kernels.py", True),  # of `_cell_kernels`
        ("models/materials/plastic.py", True),  # its constants are compiled in
        ("models/kernel_cache.py", True),
        ("models/fem/_stress_kernels.py", False),  # imports these
        (KERNELS, False),
        ("models/fem/solid.py", False),
        ("models/fem/__init__.py", False),
    ],
)
def test_key_changes_with_the_text_of_kernels_and_what_they_import(copy, file, changed):
    package = copy("copy")
    edit(package, file)
    assert (kernels_key(SMALL, package) != kernels_key(SMALL)) == changed


def test_key_changes_with_the_name_of_a_file(copy):
    package = copy("copy")
    assert kernels_key(ROWS, package) == kernels_key(ROWS)
    (package / KERNELS).rename(package / "models/linalg/_line_kernels.py")
    assert kernels_key(ROWS.replace("_row", "_line"), copy("other")) is None
    assert kernels_key(ROWS.replace("_row", "_line"), package) not in {None, kernels_key(ROWS)}


def test_a_package_without_files_has_no_key(tmp_path):
    """As one that is imported from an archive: numba then chooses the place."""
    assert kernels_key(ROWS, tmp_path) is None


def test_kernels_used_longest_ago_are_removed_but_none_in_use(tmp_path):
    now = time.time()
    keys = [f"{age:020x}" for age in range(6)]
    others = ["notes", f"{7:021x}", f"{8:019x}", f"{0xABC:020X}", f"{9:020x}.old"]  # of the user
    for age, name in enumerate([*keys, *others]):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel.nbi").write_bytes(b"")
        os.utime(tmp_path / name, (now - age * IN_USE * 0.6,) * 2)
    (tmp_path / f"{6:020x}").symlink_to(tmp_path / "notes")
    remove_oldest(tmp_path, count=1)
    left = [*keys[:2], f"{6:020x}", *others]  # the second: of today
    assert sorted(key.name for key in tmp_path.iterdir()) == sorted(left)
    remove_oldest(tmp_path, count=3)
    assert sorted(key.name for key in tmp_path.iterdir()) == sorted(left)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="rights of POSIX")
@pytest.mark.parametrize("open_to_all", ["root", "arlequin", "kernels", "key", "file"])
def test_a_cache_that_others_may_write_to_is_not_read(open_to_all, tmp_path, monkeypatch, capsys):
    """A line says so; this process and those that it starts have a folder of their own instead."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "root"))
    first = kernel_cache.folder_of_key(kernel_cache.user_cache(), ROWS)
    assert first == tmp_path / "root" / "arlequin" / "kernels" / kernels_key(ROWS)
    assert all(place.stat().st_mode & 0o777 == 0o700 for place in (first, *first.parents[:2]))
    (first / "file").write_bytes(b"")
    places = {place.name: place for place in (*first.parents, first / "file")} | {"key": first}
    odd = places[open_to_all]
    odd.chmod(0o777)
    kernel_cache.folder_of_key.cache_clear()
    own = kernel_cache.folder_of_key(kernel_cache.user_cache(), ROWS)
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and f"not kept, as {odd} may be written by others: set NUMBA_CACHE_DIR to" in err
    assert tmp_path / "root" not in own.parents and own.stat().st_mode & 0o777 == 0o700
    again = [kernel_cache.folder_of_key(root, SMALL) for root in (kernel_cache.user_cache(), str(first.parents[1]))]
    assert again == 2 * [own.parent / kernels_key(SMALL)] and not capsys.readouterr().err
    assert os.environ["NUMBA_CACHE_DIR"] in map(str, own.parents)
    odd.chmod(0o700)
    shutil.rmtree(os.environ["NUMBA_CACHE_DIR"])


def test_a_cache_in_the_working_folder_is_not_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "cache")
    own = kernel_cache.folder_of_key(kernel_cache.user_cache(), ROWS)
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

    class Together(KernelCacheFiles):
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
    files = KernelCacheFiles(str(tmp_path), "kernel", "stamp")
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


@pytest.mark.slow
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


@pytest.mark.sampled(1)
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
