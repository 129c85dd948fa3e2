"""Packages whose public names are listed in their stub `__init__.pyi` and imported on first use."""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)


def attach(package: str, file: str, namespace: dict[str, Any]) -> tuple[Callable[[str], Any], Mapping[str, str]]:
    """The `__getattr__` of a package and the module of each of its public names.

    package, file: `__name__` and `__file__` of the package; namespace: its `globals()`, in which names are cached on
    first use. A line `from module import name as name` of the stub gives an attribute of that module, or the module
    `module.name` itself.
    """
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    modules = {name: module for module, name in _IMPORT.findall(stub)}

    def load(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        if name not in modules:
            from arlequin.models.signatures import meant

            # without the object Python adds no second suggestion
            text = f"module '{package}' has no attribute '{name}'{meant(name, modules)}"
            raise AttributeError(text, name=name, obj=None)
        module = modules[name]
        # a package has its modules as attributes only once they are imported
        attribute = None if module == package else getattr(import_module(module), name, None)
        namespace[name] = import_module(f"{module}.{name}") if attribute is None else attribute
        return namespace[name]

    return load, modules
