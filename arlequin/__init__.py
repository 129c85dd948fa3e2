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

Public names are imported on first use, so that `import arlequin` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# public names by module; `__all__` and the lazy loader are derived from this table
PUBLIC = {
    "arlequin.junctions.absorber": ("Absorber",),
    "arlequin.junctions.base": ("JunctionWarning",),
    "arlequin.junctions.beam_solid": ("BeamJunction",),
    "arlequin.junctions.conditioning": ("dual_condition",),
    "arlequin.junctions.coupling": ("Coupling", "H1", "L2"),
    "arlequin.junctions.junction": ("Junction",),
    "arlequin.junctions.mediator": ("Mediator",),
    "arlequin.junctions.surface": ("Mortar", "Tie"),
    "arlequin.junctions.weights": ("Constant", "Cubic", "Function", "Linear", "Weight"),
    "arlequin.junctions.zone": ("Box", "Cells", "HalfSpace", "LevelSet", "Strip"),
    "arlequin.results.netcdf": ("export_netcdf",),
    "arlequin.results.paraview": ("export_vtu",),
    "arlequin.results.reading": ("open",),
    "arlequin.results.recorder": ("Record",),
    "arlequin.results.scalar": ("Scalar",),
    "arlequin.results.signals": ("contact_ratio", "impact_peaks", "power_spectrum"),
    "arlequin.results.wear": ("mean_power", "worn_depth", "worn_volume"),
    "arlequin.run.simulate": ("simulate", "simulate_ensemble", "Study"),
    "arlequin.run.wear_cycles": ("CycleJump", "simulate_cycles"),
    "arlequin.schemes": (
        "CentralDifference", "DeVogelaere", "GeneralisedAlpha", "HHT", "Midpoint", "ModifiedMeanAcceleration",
        "Multirate", "Newmark", "RungeKutta", "Static", "SymplecticEuler", "Theta",
    ),
    "arlequin.solvers.natural_frequencies": ("natural_frequencies",),
    "arlequin.sweeps.dataset": ("SweepWarning",),
    "arlequin.sweeps.sweep": ("open_sweep", "sweep"),
    "arlequin.system.system": ("System",),
    "arlequin.models.beams.beam": ("Beam",),
    "arlequin.models.beams.section": ("Section", "SectionPoints"),
    "arlequin.models.errors": ("UserError",),
    "arlequin.models.fem.bar": ("Bar",),
    "arlequin.models.fem.solid": ("Solid",),
    "arlequin.models.loads.turbulence": ("PlateauSpectrum", "SpanForce", "Turbulence"),
    "arlequin.models.lumped.masses": ("PointMasses",),
    "arlequin.models.lumped.relations": ("Relation",),
    "arlequin.models.lumped.springs": ("Spring",),
    "arlequin.models.materials.elastic": ("LinearElastic", "Rayleigh"),
    "arlequin.models.materials.hyperelastic": ("NeoHooke",),
    "arlequin.models.materials.plastic": ("AdiabaticHeat", "J2", "JohnsonCook", "LinearHardening", "Voce"),
    "arlequin.models.reduction.modal": ("Modal",),
    "arlequin.models.rigid.polygon": ("RigidBody",),
    "arlequin.models.rigid.solid": ("Rigid",),
    "arlequin.multilevel.interface": ("Interface",),
    "arlequin.multilevel.laws.asperities": ("Asperities",),
    "arlequin.multilevel.laws.asperity_table": ("AsperityTable",),
    "arlequin.multilevel.laws.friction": ("Coulomb",),
    "arlequin.multilevel.laws.penalty": ("ImpactElement", "Penalty", "PerturbedLagrangian", "VelocityPenalty"),
    "arlequin.multilevel.laws.unilateral": ("Unilateral",),
    "arlequin.multilevel.laws.wear": ("Archard",),
    "arlequin.multilevel.obstacles.base": ("RigidPlane", "RigidPlanes"),
    "arlequin.multilevel.obstacles.meshed": ("RigidPolyline", "RigidSurface"),
    "arlequin.multilevel.obstacles.primitives": ("RigidBox", "RigidCylinder", "RigidSphere"),
    "arlequin.multilevel.pairing.guides": ("Guides",),
    "arlequin.multilevel.solvers.options": ("ContactMethod",),
}  # fmt: skip
__version__ = "0.2.0"
MODULES = {"mesh": "arlequin.models.mesh", "rough": "arlequin.rough"}
_HOME_OF = {name: home for home, names in PUBLIC.items() for name in names}

__all__ = sorted([*_HOME_OF, *MODULES])

if TYPE_CHECKING:  # what PUBLIC says, for type checkers; a test compares them
    from arlequin import rough as rough
    from arlequin.junctions.absorber import Absorber as Absorber
    from arlequin.junctions.base import JunctionWarning as JunctionWarning
    from arlequin.junctions.beam_solid import BeamJunction as BeamJunction
    from arlequin.junctions.conditioning import dual_condition as dual_condition
    from arlequin.junctions.coupling import H1 as H1
    from arlequin.junctions.coupling import L2 as L2
    from arlequin.junctions.coupling import Coupling as Coupling
    from arlequin.junctions.junction import Junction as Junction
    from arlequin.junctions.mediator import Mediator as Mediator
    from arlequin.junctions.surface import Mortar as Mortar
    from arlequin.junctions.surface import Tie as Tie
    from arlequin.junctions.weights import Constant as Constant
    from arlequin.junctions.weights import Cubic as Cubic
    from arlequin.junctions.weights import Function as Function
    from arlequin.junctions.weights import Linear as Linear
    from arlequin.junctions.weights import Weight as Weight
    from arlequin.junctions.zone import Box as Box
    from arlequin.junctions.zone import Cells as Cells
    from arlequin.junctions.zone import HalfSpace as HalfSpace
    from arlequin.junctions.zone import LevelSet as LevelSet
    from arlequin.junctions.zone import Strip as Strip
    from arlequin.models import mesh as mesh
    from arlequin.models.beams.beam import Beam as Beam
    from arlequin.models.beams.section import Section as Section
    from arlequin.models.beams.section import SectionPoints as SectionPoints
    from arlequin.models.errors import UserError as UserError
    from arlequin.models.fem.bar import Bar as Bar
    from arlequin.models.fem.solid import Solid as Solid
    from arlequin.models.loads.turbulence import PlateauSpectrum as PlateauSpectrum
    from arlequin.models.loads.turbulence import SpanForce as SpanForce
    from arlequin.models.loads.turbulence import Turbulence as Turbulence
    from arlequin.models.lumped.masses import PointMasses as PointMasses
    from arlequin.models.lumped.relations import Relation as Relation
    from arlequin.models.lumped.springs import Spring as Spring
    from arlequin.models.materials.elastic import LinearElastic as LinearElastic
    from arlequin.models.materials.elastic import Rayleigh as Rayleigh
    from arlequin.models.materials.hyperelastic import NeoHooke as NeoHooke
    from arlequin.models.materials.plastic import J2 as J2
    from arlequin.models.materials.plastic import AdiabaticHeat as AdiabaticHeat
    from arlequin.models.materials.plastic import JohnsonCook as JohnsonCook
    from arlequin.models.materials.plastic import LinearHardening as LinearHardening
    from arlequin.models.materials.plastic import Voce as Voce
    from arlequin.models.reduction.modal import Modal as Modal
    from arlequin.models.rigid.polygon import RigidBody as RigidBody
    from arlequin.models.rigid.solid import Rigid as Rigid
    from arlequin.multilevel.interface import Interface as Interface
    from arlequin.multilevel.laws.asperities import Asperities as Asperities
    from arlequin.multilevel.laws.asperity_table import AsperityTable as AsperityTable
    from arlequin.multilevel.laws.friction import Coulomb as Coulomb
    from arlequin.multilevel.laws.penalty import ImpactElement as ImpactElement
    from arlequin.multilevel.laws.penalty import Penalty as Penalty
    from arlequin.multilevel.laws.penalty import PerturbedLagrangian as PerturbedLagrangian
    from arlequin.multilevel.laws.penalty import VelocityPenalty as VelocityPenalty
    from arlequin.multilevel.laws.unilateral import Unilateral as Unilateral
    from arlequin.multilevel.laws.wear import Archard as Archard
    from arlequin.multilevel.obstacles.base import RigidPlane as RigidPlane
    from arlequin.multilevel.obstacles.base import RigidPlanes as RigidPlanes
    from arlequin.multilevel.obstacles.meshed import RigidPolyline as RigidPolyline
    from arlequin.multilevel.obstacles.meshed import RigidSurface as RigidSurface
    from arlequin.multilevel.obstacles.primitives import RigidBox as RigidBox
    from arlequin.multilevel.obstacles.primitives import RigidCylinder as RigidCylinder
    from arlequin.multilevel.obstacles.primitives import RigidSphere as RigidSphere
    from arlequin.multilevel.pairing.guides import Guides as Guides
    from arlequin.multilevel.solvers.options import ContactMethod as ContactMethod
    from arlequin.results.netcdf import export_netcdf as export_netcdf
    from arlequin.results.paraview import export_vtu as export_vtu
    from arlequin.results.reading import open as open
    from arlequin.results.recorder import Record as Record
    from arlequin.results.scalar import Scalar as Scalar
    from arlequin.results.signals import contact_ratio as contact_ratio
    from arlequin.results.signals import impact_peaks as impact_peaks
    from arlequin.results.signals import power_spectrum as power_spectrum
    from arlequin.results.wear import mean_power as mean_power
    from arlequin.results.wear import worn_depth as worn_depth
    from arlequin.results.wear import worn_volume as worn_volume
    from arlequin.run.simulate import Study as Study
    from arlequin.run.simulate import simulate as simulate
    from arlequin.run.simulate import simulate_ensemble as simulate_ensemble
    from arlequin.run.wear_cycles import CycleJump as CycleJump
    from arlequin.run.wear_cycles import simulate_cycles as simulate_cycles
    from arlequin.schemes import HHT as HHT
    from arlequin.schemes import CentralDifference as CentralDifference
    from arlequin.schemes import DeVogelaere as DeVogelaere
    from arlequin.schemes import GeneralisedAlpha as GeneralisedAlpha
    from arlequin.schemes import Midpoint as Midpoint
    from arlequin.schemes import ModifiedMeanAcceleration as ModifiedMeanAcceleration
    from arlequin.schemes import Multirate as Multirate
    from arlequin.schemes import Newmark as Newmark
    from arlequin.schemes import RungeKutta as RungeKutta
    from arlequin.schemes import Static as Static
    from arlequin.schemes import SymplecticEuler as SymplecticEuler
    from arlequin.schemes import Theta as Theta
    from arlequin.solvers.natural_frequencies import natural_frequencies as natural_frequencies
    from arlequin.sweeps.dataset import SweepWarning as SweepWarning
    from arlequin.sweeps.sweep import open_sweep as open_sweep
    from arlequin.sweeps.sweep import sweep as sweep
    from arlequin.system.system import System as System


def __getattr__(name: str) -> Any:
    if name in MODULES:
        value = import_module(MODULES[name])
    elif name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'arlequin' has no attribute '{name}'")
    # later uses find it at once
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
