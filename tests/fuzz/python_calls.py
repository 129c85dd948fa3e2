"""Calls of the public functions with one or two of their arguments drawn from what does not belong there.

What is made is put to its use: parts, laws and junctions go into a system, and a system is stepped.
"""

import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import skfem

import arlequin as aq

STEPS = {"duration": 3e-7, "step": 1e-7}


def steel() -> Any:
    return aq.LinearElastic(young=2e11, poisson=0.3, density=7800)


def square(low: float = 0.0) -> Any:
    return aq.mesh.rectangle((low, low + 0.1), (0.0, 0.05), cells=(4, 2))


def solid(name: str = "solid", low: float = 0.0, **more: Any) -> Any:
    return aq.Solid(name, square(low), steel(), plane="strain", **more)


def bar(name: str = "bar") -> Any:
    return aq.Bar(name, aq.mesh.interval(0.0, 0.1, cells=4), steel())


def section() -> Any:
    return aq.Section(1e-4, 1e-9, 1e-9, 2e-9)


def beam() -> Any:
    return aq.Beam("beam", aq.mesh.interval(0.0, 1.0, cells=4), steel(), section())


def contact(part: Any, **more: Any) -> Any:
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    given = {"name": "contact", "slave": part.boundary("right"), "master": wall, "normal": aq.Unilateral(), **more}
    return aq.Interface(**given)


def stepped(parts: list[Any], scheme: Any = None, **more: Any) -> Any:
    return aq.simulate(aq.System(parts, **more), scheme or aq.Theta(0.5), **STEPS)


def touching(**more: Any) -> Any:
    part = solid()
    return stepped([part], interfaces=[contact(part, **more)], velocity=(10.0, 1.0))


def glued(**more: Any) -> Any:
    parts = [solid("coarse"), solid("fine", 0.05)]
    return stepped(parts, junctions=[aq.Junction(*parts, **more)])


def with_mesh(mesh: Any) -> Any:
    if isinstance(mesh, skfem.MeshLine):
        return stepped([aq.Bar("part", mesh, steel())])
    return stepped([aq.Solid("part", mesh, steel(), plane="strain" if mesh.dim() == 2 else None)])


def with_part(part: Any) -> Any:
    return stepped([part], aq.Theta(1.0))


def with_material(material: Any) -> Any:
    small = isinstance(material, aq.LinearElastic)
    return stepped([aq.Solid("s", square(), material, plane="strain", kinematics="small" if small else "finite")])


def hardened(hardening: Any) -> Any:
    return with_material(aq.J2(2e11, 0.3, 7800.0, 3e8, hardening))


def beam_with(**more: Any) -> Any:
    return stepped([aq.Beam("beam", aq.mesh.interval(0.0, 1.0, cells=4), steel(), section(), **more)])


def obstacle(master: Any) -> Any:
    return touching(master=master)


def law(normal: Any) -> Any:
    return touching(normal=normal)


def scheme(own: Any) -> Any:
    mass = "lumped" if isinstance(own, aq.CentralDifference) else "consistent"
    small = isinstance(own, aq.SymplecticEuler | aq.DeVogelaere | aq.RungeKutta)
    parts = [aq.PointMasses("mass", (0.0, 0.0), 1.0)] if small else [solid(mass=mass)]
    return stepped(parts, own)


def springs() -> dict[str, Any]:
    part = solid()
    return {"name": "s", "first": part.boundary("right"), "stiffness": 1e6, "damping": 1.0, "direction": (1.0, 0.0)}


Make = Callable[[], dict[str, Any]]
Use = Callable[[Any], Any]

# what is called: the function, arguments that are right, and what is done with what it gives
BASES: dict[str, tuple[Callable[..., Any], Make, Use]] = {
    "LinearElastic": (aq.LinearElastic, lambda: {"young": 2e11, "poisson": 0.3, "density": 7800.0}, with_material),
    "NeoHooke": (aq.NeoHooke, lambda: {"young": 2e6, "poisson": 0.3, "density": 1000.0}, with_material),
    "J2": (
        aq.J2,
        lambda: {"young": 2e11, "poisson": 0.3, "density": 7800.0, "yield_stress": 3e8, "hardening": aq.Voce(1e8, 5.0)},
        with_material,
    ),
    "LinearHardening": (aq.LinearHardening, lambda: {"modulus": 1e9}, hardened),
    "JohnsonCook": (
        aq.JohnsonCook,
        lambda: {"modulus": 3e8, "exponent": 0.3, "rate": 0.02, "reference_rate": 1.0},
        hardened,
    ),
    "AdiabaticHeat": (
        aq.AdiabaticHeat,
        lambda: {"melting": 1356.0, "capacity": 383.0},
        lambda heat: hardened(aq.JohnsonCook(3e8, 0.3, heat=heat)),
    ),
    "Rayleigh": (aq.Rayleigh, lambda: {"mass": 1.0, "stiffness": 1e-7}, lambda d: with_part(solid(damping=d))),
    "interval": (aq.mesh.interval, lambda: {"start": 0.0, "end": 1.0, "cells": 4}, with_mesh),
    "rectangle": (
        aq.mesh.rectangle,
        lambda: {"x": (0.0, 1.0), "y": (0.0, 1.0), "cells": (4, 2), "kind": "quad"},
        with_mesh,
    ),
    "box": (
        aq.mesh.box,
        lambda: {"x": (0.0, 1.0), "y": (0.0, 1.0), "z": (0.0, 1.0), "cells": (2, 2, 2), "kind": "hex"},
        with_mesh,
    ),
    "tube": (
        aq.mesh.tube,
        lambda: {"inner": 0.1, "outer": 0.2, "angles": np.linspace(0, 2 * np.pi, 9), "heights": [0.0, 0.1], "cells": 1},
        with_mesh,
    ),
    "read": (aq.mesh.read, lambda: {"path": "missing.msh"}, with_mesh),
    "Solid": (
        aq.Solid,
        lambda: {
            "name": "s", "mesh": square(), "material": steel(), "plane": "strain", "order": 1, "mass": "consistent",
            "damping": aq.Rayleigh(1.0), "body_force": (0.0, -9.81), "tractions": {"right": (1.0, 0.0)},
            "imposed": {"left": {"x": 0.0}}, "imposed_velocity": {}, "thickness": 1.0, "kinematics": "small",
        },
        with_part,
    ),
    "Bar": (
        aq.Bar,
        lambda: {
            "name": "b", "mesh": aq.mesh.interval(0.0, 1.0, cells=4), "material": steel(), "section": 1e-4,
            "mass": "lumped", "imposed": {"left": {"x": lambda t: 0.0}}, "tractions": {"right": 1.0},
        },
        with_part,
    ),
    "Beam": (
        aq.Beam,
        lambda: {
            "name": "b", "mesh": aq.mesh.interval(0.0, 1.0, cells=4), "material": steel(), "section": section(),
            "dimension": 3, "origin": (0.0, 0.0, 0.0), "direction": (1.0, 0.0, 0.0), "up": (0.0, 1.0, 0.0),
            "tension": 1.0, "carried_mass": 1.0, "added_mass": 1.0, "fluid_damping": 1.0,
            "distributed": (0.0, 1.0, 0.0), "end_loads": {}, "points": {}, "imposed": {},
        },
        with_part,
    ),
    "Section": (
        aq.Section,
        lambda: {"area": 1e-4, "inertia_y": 1e-9, "inertia_z": 1e-9, "torsion": 2e-9, "shear_y": 0.8},
        lambda own: with_part(aq.Beam("b", aq.mesh.interval(0.0, 1.0, cells=4), steel(), own)),
    ),
    "SectionPoints": (
        aq.SectionPoints,
        lambda: {"at": [0.5], "offsets": [(0.0, 0.01, 0.0)]},
        lambda own: beam_with(points={"p": own}),
    ),
    "PlateauSpectrum": (
        aq.PlateauSpectrum,
        lambda: {"level": 1e-3, "cutoff": 40.0, "slope": 3.5},
        lambda own: beam_with(turbulence=aq.Turbulence(own, highest=100.0, correlation=0.1, duration=1.0, seed=1)),
    ),
    "Turbulence": (
        aq.Turbulence,
        lambda: {
            "spectrum": aq.PlateauSpectrum(1e-3, 40.0), "highest": 100.0, "correlation": 0.1, "duration": 1.0,
            "seed": 1,
        },
        lambda own: beam_with(turbulence=own),
    ),
    "PointMasses": (
        aq.PointMasses,
        lambda: {"name": "m", "positions": [(0.0, 0.0)], "mass": 1.0, "names": {"a": [0]}, "forces": {"a": (1.0, 0.0)}},
        with_part,
    ),
    "RigidBody": (
        aq.RigidBody,
        lambda: {
            "name": "r", "outline": [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], "density": 1.0, "thickness": 1.0,
            "centre": None, "inertia": None, "force": (0.0, 1.0), "names": {"foot": [0, 1]},
        },
        with_part,
    ),
    "Rigid": (aq.Rigid, lambda: {"part": solid()}, with_part),
    "Modal": (
        aq.Modal,
        lambda: {"part": solid(), "modes": 6, "damping": 0.01, "static": (), "frequency": None},
        with_part,
    ),
    "Spring": (aq.Spring, springs, lambda own: stepped([own.first.part], springs=[own])),
    "Relation": (
        aq.Relation,
        lambda: {"name": "r", "terms": [(solid().boundary("right"), "x", 1.0)]},
        lambda own: stepped([own.terms[0][0].part], relations=[own]),
    ),
    "Unilateral": (aq.Unilateral, lambda: {"level": "gap"}, law),
    "Penalty": (aq.Penalty, lambda: {"stiffness": 1e12}, law),
    "VelocityPenalty": (aq.VelocityPenalty, lambda: {"viscosity": 1e6}, law),
    "PerturbedLagrangian": (aq.PerturbedLagrangian, lambda: {"stiffness": 1e12, "level": "gap"}, law),
    "ImpactElement": (aq.ImpactElement, lambda: {"stiffness": 1e8, "damping": 10.0}, law),
    "Asperities": (
        aq.Asperities,
        lambda: {"stiffness": 1e12, "exponent": 2.0, "height": 1e-5, "damping": 1.0, "damping_exponent": 1.0},
        law,
    ),
    "AsperityTable": (
        aq.AsperityTable,
        lambda: {"gaps": [0.0, 1e-6, 2e-6], "pressures": [1e9, 1e6, 1e3], "loss_factor": 0.1, "frequency": 10.0},
        law,
    ),
    "Coulomb": (
        aq.Coulomb,
        lambda: {"coefficient": 0.3, "compliance": 0.0, "damping": 0.0},
        lambda own: touching(friction=own),
    ),
    "Archard": (aq.Archard, lambda: {"coefficient": 1e-12, "density": 7800.0}, lambda own: touching(wear=own)),
    "ContactMethod": (
        aq.ContactMethod,
        lambda: {"method": "newton", "augmentation": 1.0, "stabilised": False},
        lambda own: stepped([solid()], contact=own),
    ),
    "RigidPlane": (aq.RigidPlane, lambda: {"point": (0.2, 0.0), "normal": (-1.0, 0.0)}, obstacle),
    "RigidSphere": (aq.RigidSphere, lambda: {"centre": (0.5, 0.0), "radius": 0.1, "inside": False}, obstacle),
    "RigidCylinder": (
        aq.RigidCylinder,
        lambda: {"point": (0.5, 0.0), "axis": (0.0, 1.0), "radius": 0.1, "inside": False},
        obstacle,
    ),
    "RigidBox": (aq.RigidBox, lambda: {"low": (0.2, -1.0), "high": (0.3, 1.0), "inside": False}, obstacle),
    "RigidPolyline": (aq.RigidPolyline, lambda: {"points": [(0.2, 1.0), (0.2, -1.0)], "closed": False}, obstacle),
    "Guides": (aq.Guides, lambda: {"centres": [(0.5, 0.0, 0.0)], "clearance": 1e-3, "axis": (1.0, 0.0, 0.0)}, obstacle),
    "Interface": (
        aq.Interface,
        lambda: {
            "name": "contact", "slave": solid().boundary("right"), "master": aq.RigidPlane((0.1, 0.0), (-1.0, 0.0)),
            "normal": [aq.Asperities(1e12), aq.Unilateral()], "friction": aq.Coulomb(0.2), "multiplier": "nodes",
            "sliding": "large", "direction": None, "wear": None,
        },
        lambda own: stepped([own.slave.part], interfaces=[own], velocity=(1.0, 0.0)),
    ),
    "Junction": (
        lambda **own: glued(**own),
        lambda: {
            "weights": aq.weights.Linear(), "coupling": aq.L2(), "mediator": "coarse", "name": "j", "floor": 0.0,
            "mass_weights": None, "absorbing": aq.Absorber(0.4), "zone": aq.zones.Strip(0.05, 0.1),
        },
        lambda own: own,
    ),
    "Junction of parts": (
        aq.Junction,
        lambda: {"coarse": solid("coarse"), "fine": solid("fine", 0.05)},
        lambda own: stepped([own.coarse, own.fine], junctions=[own]),
    ),
    "Constant": (aq.weights.Constant, lambda: {"value": 0.5}, lambda own: glued(weights=own)),
    "Function": (aq.weights.Function, lambda: {"share": lambda x: 0.5 + 0.0 * x[0]}, lambda own: glued(weights=own)),
    "H1": (aq.H1, lambda: {"length": 0.1}, lambda own: glued(coupling=own)),
    "Absorber": (aq.Absorber, lambda: {"strength": 0.4}, lambda own: glued(absorbing=own)),
    "Strip": (aq.zones.Strip, lambda: {"start": 0.05, "end": 0.1, "axis": "x"}, lambda own: glued(zone=own)),
    "HalfSpace": (
        aq.zones.HalfSpace,
        lambda: {"point": (0.05, 0.0), "normal": (1.0, 0.0), "width": 0.05},
        lambda own: glued(zone=own),
    ),
    "Box": (aq.zones.Box, lambda: {"width": 0.02, "low": None, "high": None}, lambda own: glued(zone=own)),
    "LevelSet": (
        aq.zones.LevelSet,
        lambda: {"level": lambda x: x[0] - 0.05, "width": 0.05},
        lambda own: glued(zone=own),
    ),
    "Theta": (aq.Theta, lambda: {"theta": 0.5, "events": "step"}, scheme),
    "Newmark": (aq.Newmark, lambda: {"beta": 0.25, "gamma": 0.5}, scheme),
    "HHT": (aq.HHT, lambda: {"alpha": -0.05}, scheme),
    "Midpoint": (aq.Midpoint, dict, scheme),
    "RungeKutta": (aq.RungeKutta, lambda: {"tolerance": 1e-8}, scheme),
    "Multirate": (aq.Multirate, lambda: {"ratio": 2, "coarse": aq.Theta(), "fine": aq.Theta()}, scheme),
    "System": (
        aq.System,
        lambda: {
            "parts": [solid()], "junctions": (), "interfaces": (), "springs": (), "relations": (),
            "gravity": (0.0, -9.81), "velocity": (1.0, 0.0), "displacement": None, "contact": aq.ContactMethod(),
        },
        lambda own: aq.simulate(own, aq.Theta(0.5), **STEPS),
    ),
    "Record": (
        aq.Record,
        lambda: {"path": None, "fields_every": 1, "point_memory": False, "overwrite": False, "attributes": {"a": 1}},
        lambda own: aq.simulate(aq.System([bar()]), aq.Theta(0.5), record=own, **STEPS),
    ),
    "simulate": (
        aq.simulate,
        lambda: {
            "system": aq.System([bar()]), "scheme": aq.Theta(0.5), "duration": 3e-7, "step": 1e-7, "record": None,
            "fields_every": 1, "attributes": {"a": 1}, "progress": None,
        },
        lambda own: own,
    ),
    "Study": (
        aq.Study,
        lambda: {"system": aq.System([bar()]), "scheme": aq.Theta(0.5), "duration": 3e-7, "step": 1e-7},
        lambda own: own.run(),
    ),
    "simulate_ensemble": (
        aq.simulate_ensemble,
        lambda: {"systems": [aq.System([bar()])], "scheme": aq.Theta(0.5), "duration": 3e-7, "step": 1e-7},
        lambda own: own,
    ),
    "natural_frequencies": (
        aq.natural_frequencies,
        lambda: {"system": aq.System([bar()]), "count": 2},
        lambda own: own,
    ),
    "boundary": (lambda name: solid().boundary(name), lambda: {"name": "right"}, lambda own: own),
    "stress": (lambda u: solid().stress(u), lambda: {"u": np.zeros(30)}, lambda own: own),
    "Scalar": (aq.Scalar, lambda: {"value": 1.0, "unit": "m", "text": "length"}, lambda own: own),
    "power_spectrum": (
        aq.results.power_spectrum,
        lambda: {"time": np.linspace(0, 1, 65), "values": np.ones(65), "segments": 2},
        lambda own: own,
    ),
    "impact_peaks": (
        aq.results.impact_peaks,
        lambda: {"time": np.linspace(0, 1, 65), "force": np.ones(65), "threshold": 0.5},
        lambda own: own,
    ),
    "mean_power": (
        lambda **own: aq.results.mean_power(touching(friction=aq.Coulomb(0.1)), **own),
        lambda: {"interface": "contact", "start": 0.0, "end": 2e-7, "power": "wear"},
        lambda own: own,
    ),
    "open": (aq.results.open, lambda: {"path": "missing.zarr"}, lambda own: own),
}  # fmt: skip


def bad_meshes() -> dict[str, Any]:
    """Meshes that no part can be made of."""
    points = np.array([[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    cell = np.array([[0], [1], [2], [3]])
    broken = points.copy()
    broken[0, 2] = np.nan
    with np.errstate(all="ignore"):
        makers = {
            "a node that is not there": lambda: skfem.MeshQuad(points, np.array([[0], [1], [2], [9]])),
            "a node of negative number": lambda: skfem.MeshQuad(points, np.array([[0], [1], [2], [-7]])),
            "no cells": lambda: skfem.MeshQuad(points, np.zeros((4, 0), dtype=int)),
            "no nodes": lambda: skfem.MeshQuad(np.zeros((2, 0)), np.zeros((4, 0), dtype=int)),
            "nan": lambda: skfem.MeshQuad(broken, cell),
            "flat": lambda: skfem.MeshQuad(points * [[1.0], [0.0]], cell),
            "one corner twice": lambda: skfem.MeshQuad(points, np.array([[0], [1], [1], [3]])),
            "turned": lambda: skfem.MeshQuad(points, cell[::-1]),
            "crossed": lambda: skfem.MeshQuad(points, np.array([[0], [2], [1], [3]])),
            "huge": lambda: skfem.MeshQuad(1e200 * points, cell),
            "tiny": lambda: skfem.MeshQuad(1e-200 * points, cell),
            "a node too many": lambda: skfem.MeshQuad(np.hstack([points, [[5.0], [5.0]]]), cell),
            "line": lambda: skfem.MeshLine(np.array([0.0, 0.0, 1.0])),
            "no line": lambda: skfem.MeshLine(np.zeros((1, 1)), np.zeros((2, 0), dtype=int)),
            "line of nan": lambda: skfem.MeshLine(np.array([0.0, np.nan, 1.0])),
        }
    return makers


def wrong(draw: random.Random) -> Any:
    """Something that does not belong there."""
    return draw.choice(
        [
            lambda: None, lambda: "x", lambda: "", lambda: np.nan, lambda: np.inf, lambda: -1, lambda: 0, lambda: 2.5,
            lambda: 1e300, lambda: 1e150, lambda: 1e30, lambda: 5e-324, lambda: 10**30, lambda: 1j, lambda: True,
            list, lambda: [1, 2, 3], lambda: [None], lambda: np.array([1.0, 2.0]), lambda: np.zeros((3, 3)),
            lambda: np.array([]), lambda: np.array(["a"]), lambda: np.array(7.0), object, dict,
            lambda: {"left": 1.0}, lambda: {1: 2}, lambda: {"right": {"x": "fast"}}, lambda: (lambda: 0.0),
            lambda: (lambda *x: "a"), lambda: (lambda *x: np.nan), lambda: (lambda *x: [1.0, 2.0, 3.0, 4.0]), set,
            lambda: b"x", solid, square, steel, lambda: aq.Unilateral(), lambda: aq.Theta, lambda: int,
            lambda: range(3), lambda: (0.0, 0.0), lambda: (1.0, np.nan), lambda: ("a", "b"),
            lambda: 10**400, lambda: -(10**400), lambda: [10**400], lambda: (10**400, 1.0), lambda: "12",
            lambda: ["1", "2"],
            lambda: np.float16(3.0), lambda: np.longdouble("1e4000"), lambda: np.complex128(1 + 2j),
            lambda: np.bool_(True),
            lambda: np.datetime64("2024-01-01"), lambda: np.str_("3"), lambda: np.array(3), lambda: np.array([[1.0]]),
            lambda: np.array([1, 10**400], dtype=object), lambda: np.array([1 + 2j]), lambda: np.array([True, False]),
            lambda: np.zeros((0, 3)), lambda: np.array(None), lambda: [[1.0], [1.0, 2.0]], lambda: Fraction(1, 3),
            lambda: Fraction(10**400), lambda: Decimal("1.5"), lambda: [np.inf], lambda: (True, True), lambda: -0.0,
            lambda: np.uint8(200), lambda: 2**63, lambda: bytearray(b"1"), lambda: ..., lambda: NotImplemented,
            lambda: {"x": 10**400}, lambda: {"left": {"x": 10**400}}, lambda: (lambda *x: 10**400),
            lambda: (lambda *x: 1j),
        ]
    )()  # fmt: skip


def trial(seed: str) -> str:
    """One call, said in words; it raises what the call raises."""
    import result_calls

    draw = random.Random(int(seed))
    bases = {**BASES, **result_calls.CASES}
    name = draw.choice([*bases, "bad mesh", "bad mesh"])
    if name == "bad mesh":
        makers = bad_meshes()
        kind = draw.choice(list(makers))
        return described(f"mesh: {kind}", lambda: with_mesh(made(makers[kind])))
    function, given, use = bases[name]
    arguments = given()
    changed = draw.sample(list(arguments), min(len(arguments), draw.choice((1, 1, 2))))
    for argument in changed:
        other = argument in ("result", "from_result", "dataset", "found") and draw.random() < 0.5
        arguments[argument] = draw.choice(result_calls.strange_results()) if other else wrong(draw)
    said = f"{name}({', '.join(f'{argument}={arguments[argument]!r}' for argument in changed)})"
    return described(said[:300], lambda: use(function(**arguments)))


def made(make: Callable[[], Any]) -> Any:
    """A mesh of scikit-fem, which refuses some by itself."""
    try:
        return make()
    except Exception as error:
        raise aq.UserError(f"scikit-fem: {error}") from error


def described(said: str, call: Callable[[], Any]) -> str:
    try:
        call()
    except aq.UserError as error:
        return f"{said}: {error}"
    except Exception as error:
        raise RuntimeError(said) from error
    return f"{said}: done"
