"""Registry of the cases: built-in cases by name, user cases by the path of a Python file.

The list of cases is read from the sources (first lines of docstrings): no case is imported.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
import traceback
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from arlequin.cases.case import files as case_files
from arlequin.models.errors import UserError
from arlequin.models.host.modules import find_beside

NAMES = (
    "two_bars",
    "bar_comparison",
    "bar_wall",
    "thrown_bar",
    "bouncing_bar",
    "asperity_press",
    "multiscale_bar",
    "wave_junction",
    "reflection_spectrum",
    "junction_cantilever",
    "cantilever_overlap",
    "high_frequency",
    "beam_solid",
    "beam_to_solid",
    "glued_ring",
    "hertz",
    "hertz_sphere",
    "cattaneo_mindlin",
    "patch_test",
    "press_fit",
    "friction_pad",
    "wear_pin",
    "fretting_pad",
    "grid_cell",
    "ironing",
    "rolling_patch",
    "sdnd100",
    "sdnd104",
    "sdnd106",
    "rate_state_block",
    "stick_slip_belt",
    "backlash_rig",
    "nonlinear_mode",
    "cylinder_impact",
    "sphere_impact",
    "oblique_impact",
    "glued_impact_3d",
    "nested_cylinders",
    "spinning_block",
    "sdnv105",
    "rod_drop",
    "taylor_bar",
    "ring_impact",
    "necking_bar",
    "cook_plastic",
    "rough_press",
    "rough_impact",
    "fuel_rod",
    "rod_resonance",
    "rod_identification",
    "rod_in_grid",
    "wear_confidence",
    "imported_rod",
)


@dataclass(frozen=True)
class Case:
    """A case: name (absolute path of a user's file) and module."""

    name: str
    module: ModuleType

    @property
    def parameters(self) -> type:
        return self.module.Parameters

    @property
    def line(self) -> str:
        """First line of the module's docstring."""
        return (self.module.__doc__ or "").strip().split("\n")[0]

    @property
    def short(self) -> str:
        """Name without folder and ending, used for result files."""
        return Path(self.name).stem if is_file_name(self.name) else self.name

    def blame(self, error: Exception) -> UserError | None:
        """Error line `file, line n: …` for an exception raised in a user's file; None for others."""
        last_frame = traceback.extract_tb(error.__traceback__)[-1]
        if not is_file_name(self.name) or last_frame.filename != self.name:
            return None
        return UserError(f"{self.name}, line {last_frame.lineno}: {type(error).__name__}: {error}")

    def has(self, function: str) -> bool:
        return callable(getattr(self.module, function, None))

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the module; exceptions raised in a user's file become a UserError with its line."""
        try:
            return self.function(name)(*arguments)
        except UserError:
            raise
        except Exception as error:
            user_error = self.blame(error)
            if user_error is None:
                raise
            raise user_error from error

    def function(self, name: str) -> Any:
        """A function of the module, such as `build` or `check`; UserError if there is none."""
        if not self.has(name):
            raise UserError(f"{self.name}: the case has no function `{name}`")
        return getattr(self.module, name)


def names() -> tuple[str, ...]:
    """Names of the built-in cases."""
    return NAMES


def lines() -> dict[str, str]:
    """First docstring line of each built-in case, by name."""
    return {name: _line(name) for name in NAMES}


_NO_PARAMETERS = "not a case: it has no dataclass `Parameters`"


def is_file_name(name: str) -> bool:
    """Whether a text is the path of a Python file rather than the name of a case."""
    return name.endswith(".py") or os.sep in name


def load(name: str) -> Case:
    """Load a case given by the user: a built-in name, or the path of a Python file, which is executed."""
    if is_file_name(name):
        path = Path(name).absolute()
        text = case_files.read(Path(name))
        if not _may_bind(text, "Parameters"):  # a script: it is not executed
            raise UserError(f"{name}: {_NO_PARAMETERS}; run a script by `python {name}`")
        case = _checked(Case(str(path), _run_file(path, text, name)), name)
        case_files.remember(case.name, text)
        return case
    if name not in NAMES:
        from arlequin.models.signatures import meant

        suggestion = meant(name, NAMES)
        first_names = f"there are {', '.join(NAMES[:4])} and {len(NAMES) - 4} more, which `arlequin cases` lists"
        hint = "`arlequin cases` lists them" if suggestion else first_names
        raise UserError(f"{name}: no such case{suggestion}; {hint}, or give a Python file")
    return _built_in(name)


def named_by_a_result(name: str) -> Case:
    """Load the case named in a result: a built-in case, or an unchanged file that this user has run; else UserError."""
    if name in NAMES:
        return _built_in(name)
    if not is_file_name(name):
        raise UserError(f"its case {name!r} is unknown in this version")
    return _checked(Case(name, _run_file(Path(name), case_files.known(name), name)), name)


def _built_in(name: str) -> Case:
    return _checked(Case(name, importlib.import_module(f"arlequin.cases.{name}")), name)


def _checked(case: Case, named_as: str) -> Case:
    """The case; UserError if its module lacks `Parameters` or `build`."""
    if not is_dataclass(getattr(case.module, "Parameters", None)):
        raise UserError(f"{named_as}: {_NO_PARAMETERS}")
    if not (case.has("build") or case.has("run")):
        raise UserError(f"{named_as}: not a case: it has no function `build`")
    return case


def _may_bind(text: bytes, name: str) -> bool:
    """Whether the source of a module binds a name: by a class, an assignment or an import; True if it has an error."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # executing it raises the error
        return True
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return True
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.alias) and name in (node.name, node.asname):
            return True
        if isinstance(node, ast.alias) and node.name == "*":
            return True
    return False


def _line(name: str) -> str:
    spec = importlib.util.find_spec(f"arlequin.cases.{name}")
    if spec is None or spec.origin is None:
        return "(not installed)"
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return text.split("\n")[0]


def _run_file(path: Path, text: bytes, named_as: str) -> ModuleType:
    """Execute a user's file under a private module name, so that it cannot shadow modules of this package."""
    private = f"_arlequin_case_{path.stem}"
    spec = importlib.util.spec_from_file_location(private, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[private] = module  # dataclasses evaluate annotations in this module
    find_beside(str(path.parent))
    try:
        exec(
            compile(text, path, "exec"), module.__dict__
        )  # compiled from the bytes that were hashed, not from cached bytecode
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        del sys.modules[private]
        raise UserError(f"{named_as}, line {_line_number(error, path)}: {type(error).__name__}: {error}") from error
    return module


def _line_number(error: BaseException, path: Path) -> int | str:
    """Line of a user's file at which an error was raised."""
    if isinstance(error, SyntaxError):
        return error.lineno or "?"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return lines[-1] if lines and lines[-1] is not None else "?"
