"""Python child processes, which do not import modules from the working folder.

`python -c` and `python -m` put the working folder before the standard library, so that a file `json.py`
in a folder of downloaded results would be executed. A child is therefore started with

    python -P -c CODE PATHS

and an environment whose PYTHONPATH has no relative entries and no working folder. `PATHS` is the import path of this
process without these entries, and the folders of the modules that this process has imported from elsewhere, so that the
function of a sweep is found in the same place. The user's code may import further modules from such a folder, see
`arlequin.models.host.modules`. The working folder is one of them only if this process has imported a module of the user
from it: then that module, and imports of the user's code that no other folder serves, are taken from there.
"""

import json
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from arlequin.models.host.modules import folders_of_user, is_of_library

BEGIN = """import json, sys
from importlib.machinery import PathFinder
path, known, last = json.loads(sys.argv.pop(1))
class Known:
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, [known[name]], target) if name in known else None
sys.path[:] = path
sys.meta_path.insert(0, Known)
from arlequin.models.host.modules import find_beside
for folder in last:
    find_beside(folder)
"""


def python_command(code: str, *words: str) -> list[str]:
    """The command of a Python process that imports as this one does, but nothing from the working folder.

    code: its statements, with `words` in sys.argv[1:].
    """
    flags = [f"-W{option}" for option in sys.warnoptions]
    flags += ["-E"] * sys.flags.ignore_environment + ["-s"] * sys.flags.no_user_site
    return [sys.executable, *flags, "-P", "-c", BEGIN + code, json.dumps(import_path()), *words]


def child_environment(**changed: str) -> dict[str, str]:
    """The environment of a child process; changed: additional variables."""
    variables = {**os.environ, **changed}
    if "PYTHONPATH" in variables:
        entries = variables["PYTHONPATH"].split(os.pathsep)
        variables["PYTHONPATH"] = os.pathsep.join(entry for entry in entries if not _of_working_folder(entry))
        if not variables["PYTHONPATH"]:  # an empty entry would be the working folder
            del variables["PYTHONPATH"]
    return variables


def import_path() -> tuple[list[str], dict[str, str], list[str]]:
    """The import path of a child, the folder of each module of this process that is not on it, and these folders.

    Modules with names of the standard library, which must not be replaced, are left out.
    """
    entries = [entry for entry in sys.path if isinstance(entry, str) and not _of_working_folder(entry)]
    places = {os.path.realpath(entry) for entry in entries}
    known = {"arlequin": str(Path(__file__).absolute().parents[3])}  # this copy, wherever others are installed
    last = dict.fromkeys(folders_of_user())
    for name, module in list(sys.modules.items()):
        if "." in name or name in known or name in sys.stdlib_module_names:
            continue
        folder = _folder_of(module)
        if folder is None or is_of_library(os.path.join(folder, "")):
            continue
        if os.path.realpath(folder) not in places:
            last[folder] = None
            if name != "__main__":
                known[name] = folder
    return entries, known, list(last)


def end_with_parent(descriptor: int) -> None:
    """Exit as soon as a pipe closes whose write end the parent holds, that is when the parent has ended."""

    def watch() -> None:
        while os.read(descriptor, 1):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _of_working_folder(entry: str) -> bool:
    """Whether an entry of an import path is the working folder, or is relative to it."""
    try:
        return not os.path.isabs(entry) or os.path.realpath(entry) == os.path.realpath(os.getcwd())
    except OSError:  # the working folder no longer exists
        return not os.path.isabs(entry)


def _folder_of(module: object) -> str | None:
    """The folder in which a module or package is found by its name; None where it has no file."""
    attributes: Mapping[str, Any] = getattr(module, "__dict__", {})
    file, spec, packages = attributes.get("__file__"), attributes.get("__spec__"), attributes.get("__path__")
    if not isinstance(file, str):  # a package may have folders alone
        first = next(iter(packages), None) if isinstance(packages, Iterable) else None
        file = os.path.join(first, "__init__.py") if isinstance(first, str) else None
    if not file:
        return None
    depth = 1 if packages is not None else 0
    if attributes.get("__name__") == "__main__":  # of a script, or of `python -m package.module`
        depth = getattr(spec, "name", "").count(".")
    return str(Path(file).absolute().parents[depth])
