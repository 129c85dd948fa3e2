"""Arlequin: multiscale contact dynamics.

Coarse and fine finite-element models glued by energy-weighted junctions, a multi-level law of contact between them
and obstacles, implicit and explicit schemes, and an audit of the energy at every step:

    import arlequin as aq

    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=100), steel)
    wall = aq.RigidPlane(point=0.101, normal=-1.0)
    system = aq.System([bar], interfaces=[aq.Interface("end", bar.boundary("right"), wall,
    aq.Unilateral())], velocity=10.0)
    result = aq.simulate(system, aq.Theta(0.5), duration=2e-4, step=2e-7)
    result["energy"].plot(hue="kind")

Names load on first use, so that importing this package is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arlequin.coupling import H1, L2
    from arlequin.junction import Junction
    from arlequin.record import Record
    from arlequin.result import open
    from arlequin.schemes import (
        HHT,
        CentralDifference,
        GeneralisedAlpha,
        Midpoint,
        ModifiedMeanAcceleration,
        Newmark,
        Static,
        Theta,
    )
    from arlequin.simulation import Study, simulate
    from arlequin.system import System
    from arlequin.weights import Constant, Cubic, Linear
    from models import mesh
    from models.bar import Bar
    from models.errors import UserError
    from models.material import LinearElastic, Rayleigh
    from models.solid import Solid
    from multilevel.asperities import Asperities
    from multilevel.interface import Interface
    from multilevel.obstacle import RigidPlane
    from multilevel.penalty import Penalty, VelocityPenalty
    from multilevel.unilateral import Unilateral

_HOMES = {
    "arlequin.coupling": ("H1", "L2"),
    "arlequin.junction": ("Junction",),
    "arlequin.record": ("Record",),
    "arlequin.result": ("open",),
    "arlequin.schemes": (
        "HHT", "CentralDifference", "GeneralisedAlpha", "Midpoint", "ModifiedMeanAcceleration", "Newmark", "Static",
        "Theta",
    ),
    "arlequin.simulation": ("Study", "simulate"),
    "arlequin.system": ("System",),
    "arlequin.weights": ("Constant", "Cubic", "Linear"),
    "models.bar": ("Bar",),
    "models.errors": ("UserError",),
    "models.material": ("LinearElastic", "Rayleigh"),
    "models.solid": ("Solid",),
    "multilevel.asperities": ("Asperities",),
    "multilevel.interface": ("Interface",),
    "multilevel.obstacle": ("RigidPlane",),
    "multilevel.penalty": ("Penalty", "VelocityPenalty"),
    "multilevel.unilateral": ("Unilateral",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "H1", "HHT", "L2", "Asperities", "Bar", "CentralDifference", "Constant", "Cubic", "GeneralisedAlpha", "Interface",
    "Junction", "Linear", "LinearElastic", "Midpoint", "ModifiedMeanAcceleration", "Newmark", "Penalty", "Rayleigh",
    "Record", "RigidPlane", "Solid", "Static", "Study", "System", "Theta", "Unilateral", "UserError",
    "VelocityPenalty", "mesh", "open", "simulate",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "mesh":
        value = import_module("models.mesh")
    elif name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'arlequin' has no attribute '{name}'")
    # later uses find it at once
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
