"""Modules beside a user's own file: found by the code of the user, after all others, and not by libraries.

A folder in `sys.path` serves everybody: pandas, which tries `import pyarrow`, would execute a file of that name that
lies beside a study.
"""

import importlib
import os
import sys
import sysconfig
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

_IMPORTLIB = os.path.dirname(str(importlib.__file__))
_LIBRARIES = tuple(
    os.path.join(place, "")
    for place in (*map(sysconfig.get_path, ("stdlib", "platstdlib")), str(Path(__file__).absolute().parents[2]))
)
_INSTALLED = ("site-packages", "dist-packages")  # folders of libraries, in any environment


class UserModules:
    """Finder of modules in folders, asked after all others; it serves no library."""

    def __init__(self) -> None:
        self.folders: list[str] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module of that name; None where a library asks, or it is of a package."""
        if path is not None or _asked_by_a_library():
            return None
        return PathFinder.find_spec(name, self.folders, target)


_found = UserModules()


def find_beside(folder: str) -> None:
    """Let the user's code import modules of a folder from now on."""
    if _found not in sys.meta_path:
        sys.meta_path.append(_found)
    if folder not in _found.folders:
        _found.folders.append(folder)


def folders_of_user() -> list[str]:
    """The folders given to `find_beside`."""
    return list(_found.folders)


def is_of_library(file: str) -> bool:
    """Whether a file is of the standard library, an installed one or this package."""
    return file.startswith(("<frozen", *_LIBRARIES)) or not set(_INSTALLED).isdisjoint(Path(file).parts)


def _asked_by_a_library() -> bool:
    """Whether the code that imports, two calls below, is of a library."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not (file.startswith("<frozen importlib") or os.path.dirname(file) == _IMPORTLIB):
            return is_of_library(file)
        frame = frame.f_back  # type: ignore[assignment]
    return True
