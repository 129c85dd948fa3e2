"""Modules beside a user's own file: found by the code of the user, after all others, and not by libraries.

What a file imports is sought beside that file first, then in the folders of the user's other files.

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
        file = _file_that_asks()
        if path is not None or file is None or is_of_library(file):
            return None
        own = os.path.dirname(file)
        return PathFinder.find_spec(name, sorted(self.folders, key=lambda folder: folder != own), target)


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


def _file_that_asks() -> str | None:
    """The file of the code that imports, two calls below."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not (file.startswith("<frozen importlib") or os.path.dirname(file) == _IMPORTLIB):
            return file
        frame = frame.f_back  # type: ignore[assignment]
    return None
