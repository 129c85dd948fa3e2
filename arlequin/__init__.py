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
    from arlequin import rough
    from arlequin.absorber import Absorber
    from arlequin.beam_junction import BeamJunction
    from arlequin.coupling import H1, L2
    from arlequin.cycle_jump import CycleJump
    from arlequin.cycles import simulate_cycles
    from arlequin.dual import dual_condition
    from arlequin.ensemble import simulate_ensemble
    from arlequin.frequencies import natural_frequencies
    from arlequin.glue import JunctionWarning
    from arlequin.junction import Junction
    from arlequin.netcdf import export_netcdf
    from arlequin.paraview import export_vtu
    from arlequin.record import Record
    from arlequin.result import open
    from arlequin.scalar import Scalar
    from arlequin.schemes import (
        HHT,
        CentralDifference,
        DeVogelaere,
        GeneralisedAlpha,
        Midpoint,
        ModifiedMeanAcceleration,
        Multirate,
        Newmark,
        RungeKutta,
        Static,
        SymplecticEuler,
        Theta,
    )
    from arlequin.signals import contact_ratio, impact_peaks, power_spectrum
    from arlequin.simulation import Study, simulate
    from arlequin.sweep_dataset import SweepWarning
    from arlequin.sweeping import open_sweep, sweep
    from arlequin.system import System
    from arlequin.ties import Mortar, Tie
    from arlequin.wear import mean_power, worn_depth, worn_volume
    from arlequin.weights import Constant, Cubic, Function, Linear
    from arlequin.zone import Box, Cells, HalfSpace, LevelSet, Strip
    from models import mesh
    from models.bar import Bar
    from models.beam import Beam
    from models.errors import UserError
    from models.hyperelastic import NeoHooke
    from models.lumped import PointMasses
    from models.material import LinearElastic, Rayleigh
    from models.modal import Modal
    from models.plastic import J2, AdiabaticHeat, JohnsonCook, LinearHardening, Voce
    from models.relation import Relation
    from models.rigid import RigidBody
    from models.rigid_part import Rigid
    from models.section import Section
    from models.section_points import SectionPoints
    from models.solid import Solid
    from models.span_force import SpanForce
    from models.spring import Spring
    from models.turbulence import PlateauSpectrum, Turbulence
    from multilevel.archard import Archard
    from multilevel.asperities import Asperities
    from multilevel.asperity_table import AsperityTable
    from multilevel.friction import Coulomb
    from multilevel.guides import Guides
    from multilevel.interface import Interface
    from multilevel.method import ContactMethod
    from multilevel.obstacle import RigidPlane, RigidPlanes
    from multilevel.penalty import Penalty, PerturbedLagrangian, Shock, VelocityPenalty
    from multilevel.rigid import RigidBox, RigidCylinder, RigidSphere
    from multilevel.rigid_mesh import RigidPolyline, RigidSurface
    from multilevel.unilateral import Unilateral

_HOMES = {
    "arlequin.absorber": ("Absorber",),
    "arlequin.beam_junction": ("BeamJunction",),
    "arlequin.coupling": ("H1", "L2"),
    "arlequin.cycle_jump": ("CycleJump",),
    "arlequin.cycles": ("simulate_cycles",),
    "arlequin.dual": ("dual_condition",),
    "arlequin.ensemble": ("simulate_ensemble",),
    "arlequin.frequencies": ("natural_frequencies",),
    "arlequin.glue": ("JunctionWarning",),
    "arlequin.junction": ("Junction",),
    "arlequin.netcdf": ("export_netcdf",),
    "arlequin.paraview": ("export_vtu",),
    "arlequin.record": ("Record",),
    "arlequin.result": ("open",),
    "arlequin.scalar": ("Scalar",),
    "arlequin.schemes": (
        "HHT", "CentralDifference", "DeVogelaere", "GeneralisedAlpha", "Midpoint", "ModifiedMeanAcceleration",
        "Multirate", "Newmark", "RungeKutta", "Static", "SymplecticEuler", "Theta",
    ),
    "arlequin.signals": ("contact_ratio", "impact_peaks", "power_spectrum"),
    "arlequin.simulation": ("Study", "simulate"),
    "arlequin.sweep_dataset": ("SweepWarning",),
    "arlequin.sweeping": ("open_sweep", "sweep"),
    "arlequin.system": ("System",),
    "arlequin.ties": ("Mortar", "Tie"),
    "arlequin.wear": ("mean_power", "worn_depth", "worn_volume"),
    "arlequin.weights": ("Constant", "Cubic", "Function", "Linear"),
    "arlequin.zone": ("Box", "Cells", "HalfSpace", "LevelSet", "Strip"),
    "models.bar": ("Bar",),
    "models.beam": ("Beam",),
    "models.errors": ("UserError",),
    "models.hyperelastic": ("NeoHooke",),
    "models.lumped": ("PointMasses",),
    "models.material": ("LinearElastic", "Rayleigh"),
    "models.modal": ("Modal",),
    "models.plastic": ("J2", "AdiabaticHeat", "JohnsonCook", "LinearHardening", "Voce"),
    "models.relation": ("Relation",),
    "models.rigid": ("RigidBody",),
    "models.rigid_part": ("Rigid",),
    "models.section": ("Section",),
    "models.section_points": ("SectionPoints",),
    "models.solid": ("Solid",),
    "models.span_force": ("SpanForce",),
    "models.spring": ("Spring",),
    "models.turbulence": ("PlateauSpectrum", "Turbulence"),
    "multilevel.archard": ("Archard",),
    "multilevel.asperities": ("Asperities",),
    "multilevel.asperity_table": ("AsperityTable",),
    "multilevel.guides": ("Guides",),
    "multilevel.interface": ("Interface",),
    "multilevel.friction": ("Coulomb",),
    "multilevel.method": ("ContactMethod",),
    "multilevel.obstacle": ("RigidPlane", "RigidPlanes"),
    "multilevel.rigid": ("RigidBox", "RigidCylinder", "RigidSphere"),
    "multilevel.rigid_mesh": ("RigidPolyline", "RigidSurface"),
    "multilevel.penalty": ("Penalty", "PerturbedLagrangian", "Shock", "VelocityPenalty"),
    "multilevel.unilateral": ("Unilateral",),
}  # fmt: skip
_MODULES = {"mesh": "models.mesh", "rough": "arlequin.rough"}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "H1", "HHT", "J2", "L2", "Absorber", "AdiabaticHeat", "Archard", "Asperities", "AsperityTable", "Bar", "Beam",
    "BeamJunction", "Box", "Cells", "CentralDifference", "Constant", "ContactMethod", "Coulomb", "Cubic", "CycleJump",
    "DeVogelaere", "Function", "GeneralisedAlpha", "Guides", "HalfSpace", "Interface", "JohnsonCook", "Junction",
    "JunctionWarning", "LevelSet", "Linear", "LinearElastic", "LinearHardening", "Midpoint", "Modal",
    "ModifiedMeanAcceleration", "Mortar", "Multirate", "NeoHooke", "Newmark", "Penalty", "PerturbedLagrangian",
    "PlateauSpectrum", "PointMasses", "Rayleigh", "Record", "Relation", "Rigid", "RigidBody", "RigidBox",
    "RigidCylinder", "RigidPlane", "RigidPlanes", "RigidPolyline", "RigidSphere", "RigidSurface", "RungeKutta",
    "Scalar", "Section", "SectionPoints", "Shock", "Solid", "SpanForce", "Spring", "Static", "Strip", "Study",
    "SweepWarning", "SymplecticEuler", "System", "Theta", "Tie", "Turbulence", "Unilateral", "UserError",
    "VelocityPenalty", "Voce",
    "contact_ratio", "dual_condition", "export_netcdf", "export_vtu", "impact_peaks", "mean_power", "mesh",
    "natural_frequencies", "open", "open_sweep", "power_spectrum", "rough", "simulate", "simulate_cycles",
    "simulate_ensemble", "sweep", "worn_depth", "worn_volume"
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = import_module(_MODULES[name])
    elif name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'arlequin' has no attribute '{name}'")
    # later uses find it at once
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
