"""The cut of the project, read from the source: who imports what, and when."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("models", "multilevel", "arlequin", "cases")  # each may import those before it
FILES = sorted(f for package in LAYERS for f in (ROOT / package).rglob("*.py"))

# multilevel's laws and nonsmooth solvers know no meshes: these import numpy, numba and one another only
BARE = (
    "laws",
    "law",
    "unilateral",
    "penalty",
    "archard",
    "asperities",
    "multilevel",
    "solver",
    "solvers",
    "_signature",
    "_list_kernels",
    "_problem",
    "point_laws",
    "method",
    "friction",
    "stick",
    "_kernels",
    "_carried_kernels",
    "_interrupts",
)


def module_of(file):
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(file, top_level_only=False):
    """(imported module, is it run when the file is imported) of each import statement of a file."""
    package = module_of(file).split(".")
    if file.name != "__init__.py":
        package = package[:-1]

    def walk(node, on_import):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((alias.name, on_import) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = package[: len(package) - child.level + 1] if child.level else []
                module = ".".join([*base, child.module] if child.module else base)
                yield from ((f"{module}.{alias.name}", on_import) for alias in child.names)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            else:
                inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from walk(child, on_import and not inside)

    found = walk(ast.parse(file.read_text(encoding="utf-8")), True)
    return {name for name, on_import in found if on_import or not top_level_only}


def within(name, package):
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_imports_go_one_way(file):
    own = LAYERS.index(file.relative_to(ROOT).parts[0])
    above = LAYERS[own + 1 :]
    assert not [name for name in imports(file) if any(within(name, package) for package in above)]


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_one_file_imports_sksparse(file):
    if module_of(file) != "models.factor":
        assert not [name for name in imports(file) if within(name, "sksparse")]


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_laws_and_nonsmooth_solvers_import_only_numpy_and_numba(file):
    parts = module_of(file).split(".")
    if parts[0] != "multilevel" or len(parts) < 2 or parts[1] not in BARE:
        return
    allowed = {"numpy", "numba", "llvmlite", *sys.stdlib_module_names, *(f"multilevel.{name}" for name in BARE)}
    allowed |= {"models.errors", "models.checks"}  # how every package refuses a parameter
    assert not [name for name in imports(file) if not any(within(name, package) for package in allowed)]


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_plots_and_kernels_load_lazily(file):
    """matplotlib is loaded by plotting functions, kernels by the functions that run them."""
    eager = imports(file, top_level_only=True)
    assert not [name for name in eager if within(name, "matplotlib")]
    if not file.name.startswith("_"):
        assert not [name for name in eager if any(part.endswith("_kernels") for part in name.split("."))]


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_numba_kernels_live_in_kernel_files(file):
    if not file.name.endswith("_kernels.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        named = {ast.unparse(d) for node in ast.walk(tree) for d in getattr(node, "decorator_list", ())}
        assert not [name for name in named if "njit" in name or "jit(" in name]


def test_a_usage_error_loads_neither_plots_nor_kernels():
    code = "import sys, arlequin, cases.command; print(*sys.modules, sep='\\n')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = run.stdout.split()
    assert not [name for name in loaded if name == "matplotlib" or name.endswith("_kernels")]


def test_what_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert sorted(wheel["packages"]) == sorted(LAYERS)
    contract = project["tool"]["importlinter"]["contracts"][0]
    assert contract["type"] == "layers" and contract["layers"] == list(reversed(LAYERS))


def test_the_tests_are_no_package():
    assert not list((ROOT / "tests").rglob("__init__.py"))
