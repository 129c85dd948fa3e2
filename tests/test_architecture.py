"""The cut of the project, read from the source: who imports what, and when."""

import ast
import importlib
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest

import arlequin
from arlequin.models.kernel_cache import is_kernel_file, kernel_sources

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("models", "multilevel", "arlequin", "cases")  # each may import those before it
LOOSE = {"models": 10, "multilevel": 8, "arlequin": 8, "cases": 45}  # modules beside the packages, at most

# laws and nonsmooth solvers know no meshes: these import numpy, numba, one another and what refuses a parameter
BARE = ("arlequin.multilevel.laws", "arlequin.multilevel.solvers", "arlequin.multilevel._interrupts")
PLAIN = (
    "numpy",
    "numba",
    "llvmlite",
    "arlequin.models.errors",
    "arlequin.models.signatures",
    "arlequin.models.checks",
    "arlequin.models.types",
    "arlequin.models.kernel_cache",
)


def module_of(file):
    """Its name below `arlequin`, which has links to the three other folders."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "arlequin" else ("arlequin", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(name):
    own = (name + ".").split(".")[1]
    return own if own in LAYERS else "arlequin"


FOUND = [file for package in LAYERS for file in sorted((ROOT / package).rglob("*.py"))]
FILES = {module_of(file): file for file in FOUND if not any(place.is_symlink() for place in file.parents)}


@cache
def trees():
    return {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in FILES.items()}


@cache
def imports(name, top_level_only=False):
    """Imports of a file, also in functions and for type checking; `top_level_only`: those made when it is imported."""
    package = name.split(".") if FILES[name].name == "__init__.py" else name.split(".")[:-1]

    def walk(node, on_import):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((alias.name, on_import) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = package[: len(package) - child.level + 1] if child.level else []
                module = ".".join([*base, child.module] if child.module else base)
                yield from ((f"{module}.{alias.name}", on_import) for alias in child.names)
            else:
                for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
                inside = for_types or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from walk(child, on_import and not inside)

    found = walk(trees()[name], True)
    return frozenset(imported for imported, on_import in found if on_import or not top_level_only)


def within(name, package):
    return name == package or name.startswith(package + ".")


def offenders(rule):
    """(file, import) of each import that a rule(file's module, import) refuses."""
    return [(name, imported) for name in FILES for imported in sorted(imports(name)) if rule(name, imported)]


@pytest.mark.slow
def test_imports_go_one_way():
    def upwards(name, imported):
        return within(imported, "arlequin") and LAYERS.index(layer_of(imported)) > LAYERS.index(layer_of(name))

    assert not offenders(upwards)


def test_one_file_imports_sksparse():
    assert {name for name, _ in offenders(lambda _, imported: within(imported, "sksparse"))} == {
        "arlequin.models.linalg.factor"
    }


def test_laws_and_nonsmooth_solvers_import_only_numpy_numba_and_gmres():
    allowed = {*PLAIN, *BARE, *sys.stdlib_module_names}
    bare = [name for name in FILES if any(within(name, package) for package in BARE)]
    assert len(bare) > 10
    found = {(name, i) for name in bare for i in imports(name) if not any(within(i, package) for package in allowed)}
    large = "arlequin.multilevel.solvers.large_contact"
    assert found == {(large, f"scipy.sparse.linalg.{name}") for name in ("gmres", "LinearOperator")}


def test_no_import_circles():
    """Of files, with imports in functions and for type checking."""
    graph = {}
    for name in FILES:
        graph[name] = {i if i in FILES else i.rpartition(".")[0] for i in imports(name)} & FILES.keys() - {name}
    while leaves := [name for name, needed in graph.items() if not needed]:
        for leaf in leaves:
            del graph[leaf]
        for needed in graph.values():
            needed.difference_update(leaves)
    assert not graph  # what is left is in a circle, or needs one that is


def test_few_modules_stand_loose():
    counts = {package: len([*(ROOT / package).glob("*.py")]) for package in LAYERS}
    assert all(counts[package] <= most for package, most in LOOSE.items()), counts


@pytest.mark.slow
def test_plots_and_kernels_load_lazily():
    """matplotlib is loaded by plotting functions, kernels by the functions that run them."""
    for name, file in FILES.items():
        eager = imports(name, top_level_only=True)
        assert not [i for i in eager if within(i, "matplotlib")], name
        if not file.name.startswith("_"):
            assert not [i for i in eager if any(part.endswith("_kernels") for part in i.split("."))], name


def test_numba_kernels_live_in_kernel_files():
    for name, file in FILES.items():
        if not file.name.endswith("_kernels.py"):
            nodes = ast.walk(trees()[name])
            named = {ast.unparse(d) for node in nodes for d in getattr(node, "decorator_list", ())}
            assert not [d for d in named if "njit" in d or "jit(" in d], name


def assigned(name):
    """Names that a file gives a value of its own."""
    targets = [t for node in trees()[name].body if isinstance(node, ast.Assign) for t in node.targets]
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def computed_from(name):
    """Names that those constants of a file are computed from to which it gives values."""
    body = [node for node in trees()[name].body if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
    return {node.id for assigns in body for node in ast.walk(assigns.value) if isinstance(node, ast.Name)}


def test_kernels_are_compiled_once_per_change():
    """Kernel files take `njit` from the cache's module, whose keys have the text of each file that they import from."""
    kernels = [name for name in FILES if name.endswith("_kernels")]
    assert len(kernels) > 20
    for name in kernels:
        sources = {module_of(ROOT / "arlequin" / file) for file in kernel_sources(name)}
        assert name in sources and not {"numba", "numba.njit", "numba.jit"} & imports(name), name
        for source in sources:
            if source != name and not is_kernel_file(FILES[source].name):
                continue
            for imported in imports(source):
                home, _, value = imported.rpartition(".")
                if within(imported, "arlequin"):
                    assert home in sources, (source, imported)
                    constant = value.isupper() and not is_kernel_file(FILES[home].name)
                    assert not constant or value in assigned(home), (source, imported)


def test_constants_of_kernels_are_computed_in_their_file():
    """The keys have the text of a file that a kernel imports constants from, but not of what that imports."""
    kernels = [name for name in FILES if name.endswith("_kernels")]
    homes = {module_of(ROOT / "arlequin" / file) for name in kernels for file in kernel_sources(name)}
    homes = {name for name in homes if not is_kernel_file(FILES[name].name)} - {"arlequin.models.kernel_cache"}
    assert len(homes) > 5
    for name in homes:
        elsewhere = {i.rpartition(".")[2] for i in imports(name, top_level_only=True) if within(i, "arlequin")}
        assert not elsewhere & computed_from(name), name


@pytest.mark.parametrize(
    "package", ["arlequin", "arlequin.fatigue", "arlequin.frequency", "arlequin.levels", "arlequin.results"]
)
def test_type_checkers_see_the_public_names(package):
    """The stub, from which names are imported on first use, exports each of them once, under its own name."""
    module = importlib.import_module(package)
    stub = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    seen = [
        (n.module, alias.name, alias.asname) for n in stub.body if isinstance(n, ast.ImportFrom) for alias in n.names
    ]
    assert sorted(shown for _, _, shown in seen) == module.__all__ and len(seen) == len({*module.__all__}) > 5
    for home, name, shown in seen:
        assert name == shown
        assert getattr(module, name) is getattr(importlib.import_module(home), name)


def test_short_names_of_namespaces_give_a_warning():
    with pytest.warns(FutureWarning, match=r"arlequin.Box is now arlequin.zones.Box"):
        assert arlequin.Box is arlequin.zones.Box
    assert not {"Box", "Linear", "Level", "open", "Function"} & {*dir(arlequin)}
    with pytest.raises(AttributeError, match="did you mean open"):
        _ = arlequin.results.opne


def test_plots_are_found_without_an_import():
    """And load Matplotlib with the first figure."""
    code = "import sys, arlequin as aq; aq.plots.energies; print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip() == "False" and "plots" in dir(arlequin)


def test_a_usage_error_loads_neither_plots_nor_kernels():
    code = "import sys, arlequin, arlequin.cases.cli.command; print(*sys.modules, sep='\\n')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = run.stdout.split()
    assert not [name for name in loaded if name == "matplotlib" or name.endswith("_kernels")]


RUN = """
import sys, arlequin as aq
steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
block = aq.Solid("block", aq.mesh.rectangle((0, 1), (0, 1), cells=(2, 2)), steel, plane="strain")
floor = aq.RigidPlane(point=(0, -1e-5), normal=(0, 1))
contact = aq.Interface("foot", block.boundary("bottom"), floor, aq.Unilateral())
aq.simulate(aq.System([block], interfaces=[contact], velocity=(0.0, -10.0)), aq.Theta(), duration=2e-6, step=1e-6)
print(*sys.modules, sep="\\n")
"""


@pytest.mark.slow
def test_an_impact_loads_none_of_the_packages_that_take_long():
    """scipy.signal, which loads scipy.stats, would be a fifth of the time of a short run in a new process."""
    run = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = run.stdout.split()
    assert "numba" in loaded and "arlequin.schemes.theta" in loaded
    assert not {"scipy.signal", "scipy.stats", "scipy.optimize", "matplotlib", "zarr", "rich"} & {*loaded}


def test_what_is_installed():
    """One name, `arlequin`, with links to the folders beside it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["arlequin"]
    for name in LAYERS:
        if name != "arlequin":
            assert (ROOT / "arlequin" / name).is_symlink() and (ROOT / "arlequin" / name).resolve() == ROOT / name


BUILD = "import sys, hatchling.build as build; print(getattr(build, f'build_{sys.argv[1]}')(sys.argv[2]))"


def built(what, root, folder):
    """A source distribution or a wheel of the files in `root`."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    command = [sys.executable, "-c", BUILD, what, str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment, check=True)
    return folder / run.stdout.split()[-1]


@pytest.mark.slow
def test_an_unpacked_source_distribution_is_a_checkout(tmp_path):
    """Its links are links, it has the files of this one, and its wheel is the same to the byte."""
    pytest.importorskip("hatchling")
    archive = built("sdist", ROOT, tmp_path / "a")
    assert archive.read_bytes() == built("sdist", ROOT, tmp_path / "b").read_bytes()
    with tarfile.open(archive) as members:
        members.extractall(tmp_path, filter="data")
    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT, check=False).stdout.split()
    assert not [name for name in tracked if not os.path.lexists(unpacked / name)]
    for name in LAYERS:
        if name != "arlequin":
            assert (unpacked / "arlequin" / name).is_symlink() and (unpacked / "arlequin" / name).samefile(
                unpacked / name
            )
    wheel = built("wheel", ROOT, tmp_path / "c")
    (unpacked / "arlequin" / "models").unlink()  # as where links cannot be made
    assert wheel.read_bytes() == built("wheel", unpacked, tmp_path / "d").read_bytes()
    with zipfile.ZipFile(wheel) as members:
        packed = {*members.namelist()}
    installed = {
        name if name.startswith("arlequin/") else f"arlequin/{name}"
        for name in tracked
        if name.startswith(tuple(f"{each}/" for each in LAYERS))
    }
    links = {f"arlequin/{name}" for name in LAYERS}
    assert installed - links <= packed


def test_files_of_a_user_hide_nothing(tmp_path):
    """Modules of those names beside a script."""
    for name in LAYERS:
        if name != "arlequin":
            (tmp_path / f"{name}.py").write_text("raise RuntimeError\n", encoding="utf-8")
    code = "import arlequin as aq, arlequin.cases; aq.Solid, aq.Interface; print(len(arlequin.cases.names()))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True)
    assert int(run.stdout) > 30


def test_the_tests_are_no_package():
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_the_version_stands_in_two_places_alike():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert project["version"] == arlequin.__version__ and f"version: {arlequin.__version__}\n" in citation
