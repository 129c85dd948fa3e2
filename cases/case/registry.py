"""Which cases there are, and how one is found: by name, or as a Python file of the user.

Listing reads the first line of each docstring from the source: no case is imported.
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
    "high_frequency",
    "beam_solid",
    "glued_ring",
    "hertz",
    "hertz_sphere",
    "cattaneo_mindlin",
    "patch_test",
    "friction_pad",
    "wear_pin",
    "fretting_pad",
    "grid_cell",
    "ironing",
    "sdnd100",
    "sdnd104",
    "cylinder_impact",
    "sphere_impact",
    "oblique_impact",
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
)


@dataclass(frozen=True)
class Case:
    """A case: its name (for a user's file, the absolute path), its module and its Parameters."""

    name: str
    module: ModuleType

    @property
    def parameters(self) -> type:
        return self.module.Parameters

    @property
    def line(self) -> str:
        """The first line of the module's docstring."""
        return (self.module.__doc__ or "").strip().split("\n")[0]

    @property
    def short(self) -> str:
        """The name that a file of results is given."""
        return Path(self.name).stem if is_file_name(self.name) else self.name

    def blame(self, error: Exception) -> UserError | None:
        """The line for an error that arose in a user's own file; None where it arose elsewhere."""
        last = traceback.extract_tb(error.__traceback__)[-1]
        if not is_file_name(self.name) or last.filename != self.name:
            return None
        return UserError(f"{self.name}, line {last.lineno}: {type(error).__name__}: {error}")

    def has(self, function: str) -> bool:
        return callable(getattr(self.module, function, None))

    def call(self, name: str, *given: Any) -> Any:
        """What a function of the module gives; UserError with the line for what goes wrong in a user's own file."""
        try:
            return self.function(name)(*given)
        except UserError:
            raise
        except Exception as error:
            blamed = self.blame(error)
            if blamed is None:
                raise
            raise blamed from error

    def function(self, name: str) -> Any:
        """`build`, `reference`, `check`, `figures`, `scalars` or `run` of the module; UserError where it has none."""
        if not self.has(name):
            raise UserError(f"{self.name}: the case has no function `{name}`")
        return getattr(self.module, name)


def names() -> tuple[str, ...]:
    """The names of the cases that come with the project."""
    return NAMES


def lines() -> dict[str, str]:
    """The line of each case."""
    return {name: _line(name) for name in NAMES}


def is_file_name(name: str) -> bool:
    """Whether a case is given as a path and not as a name."""
    return name.endswith(".py") or os.sep in name


def load(name: str) -> Case:
    """The case that the user names, which runs its file: a name, or the path of a Python file."""
    if is_file_name(name):
        place = Path(name).absolute()
        text = case_files.read(Path(name))
        case = _checked(Case(str(place), _run_file(place, text, name)), name)
        case_files.remember(case.name, text)
        return case
    if name not in NAMES:
        from arlequin.cases.case.parameters import meant

        near = meant(name, NAMES)
        listed = "`arlequin cases` lists them" if near else f"there are {', '.join(NAMES)}"
        raise UserError(f"{name}: no such case{near}; {listed}, or give a Python file")
    return _ours(name)


def named_by_a_result(name: str) -> Case:
    """The case that a result names: one of ours, or a file that this user has run here as it is now; else UserError."""
    if name in NAMES:
        return _ours(name)
    if not is_file_name(name):
        raise UserError(f"its case {name!r} is none of this version")
    return _checked(Case(name, _run_file(Path(name), case_files.known(name), name)), name)


def _ours(name: str) -> Case:
    return _checked(Case(name, importlib.import_module(f"arlequin.cases.{name}")), name)


def _checked(case: Case, given: str) -> Case:
    """The case; UserError where its module is none."""
    if not is_dataclass(getattr(case.module, "Parameters", None)):
        raise UserError(f"{given}: not a case: it has no dataclass `Parameters`")
    if not (case.has("build") or case.has("run")):
        raise UserError(f"{given}: not a case: it has no function `build`")
    return case


def _line(name: str) -> str:
    spec = importlib.util.find_spec(f"arlequin.cases.{name}")
    if spec is None or spec.origin is None:
        return "(not installed)"
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return text.split("\n")[0]


def _run_file(path: Path, text: bytes, given: str) -> ModuleType:
    """Run the text of a user's file under a private name: neither it nor a `models.py` beside it hides ours."""
    private = f"_arlequin_case_{path.stem}"
    spec = importlib.util.spec_from_file_location(private, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[private] = module  # dataclasses look up their annotations there
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # last: its helpers are found, and hide nothing
    try:
        exec(compile(text, path, "exec"), module.__dict__)  # of the bytes that were read, and of no file of bytecode
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        del sys.modules[private]
        raise UserError(f"{given}, line {_line_number(error, path)}: {type(error).__name__}: {error}") from error
    return module


def _line_number(error: BaseException, path: Path) -> int | str:
    """Where in a user's file an error arose."""
    if isinstance(error, SyntaxError):
        return error.lineno or "?"
    here = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return here[-1] if here and here[-1] is not None else "?"
