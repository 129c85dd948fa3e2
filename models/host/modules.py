"""Import of modules beside a user's file: by the user's code only, after all other finders, and not by libraries.

The imports of a file are searched beside that file first, then in the folders of the user's other files.

A folder in `sys.path` would serve libraries, too: pandas, which tries `import pyarrow`, would execute a file of that
name beside a study.
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
    """Finder of modules in folders, last in the order of finders; imports by libraries are ignored."""

    def __init__(self) -> None:
        self.folders: list[str] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module of that name; None for imports by a library and submodules of packages."""
        file = _importing_file()
        if path is not None or file is None or is_of_library(file):
            return None
        beside = os.path.dirname(file)
        return PathFinder.find_spec(name, sorted(self.folders, key=lambda folder: folder != beside), target)


_user_modules = UserModules()


def find_beside(folder: str) -> None:
    """Let the user's code import modules of a folder from now on."""
    if _user_modules not in sys.meta_path:
        sys.meta_path.append(_user_modules)
    if folder not in _user_modules.folders:
        _user_modules.folders.append(folder)


def folders_of_user() -> list[str]:
    """The folders of the user's code, added by `find_beside`."""
    return list(_user_modules.folders)


def is_of_library(file: str) -> bool:
    """Whether a file is of the standard library, an installed one or this package."""
    return file.startswith(("<frozen", *_LIBRARIES)) or not set(_INSTALLED).isdisjoint(Path(file).parts)


def _importing_file() -> str | None:
    """The file of the code that imports, two calls below."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not (file.startswith("<frozen importlib") or os.path.dirname(file) == _IMPORTLIB):
            return file
        frame = frame.f_back  # type: ignore[assignment]
    return None
