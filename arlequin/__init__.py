"""Multiscale contact dynamics by the Arlequin method.

Models of different resolution coupled by the Arlequin method, contact laws between deformable bodies and rigid
obstacles, implicit and explicit time schemes, and an energy balance at every step:

    import arlequin as aq

    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=100), steel)
    wall = aq.RigidPlane(point=0.101, normal=-1.0)
    contact = aq.Interface("end", bar.boundary("right"), wall, aq.Unilateral())
    system = aq.System([bar], interfaces=[contact], velocity=10.0)
    result = aq.simulate(system, aq.Theta(0.5), duration=2e-4, step=2e-7)
    result["energy"].plot(hue="kind")

Public names are listed in `__init__.pyi` and imported on first use, so that `import arlequin` is fast.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0"
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import \w+ as (\w+)$", _STUB, re.MULTILINE)}
_MODULES = ("mesh", "plots", "rough")

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from arlequin.models.signatures import meant

        # without the object Python adds no second suggestion
        text = f"module 'arlequin' has no attribute '{name}'{meant(name, _HOMES)}"
        raise AttributeError(text, name=name, obj=None)
    home = _HOMES[name]
    value = import_module(f"{home}.{name}") if name in _MODULES else getattr(import_module(home), name)
    # later uses find it at once
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
