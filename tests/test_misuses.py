"""Misuses that new users commit, as a table of code and the line that it raises; progress bars; views of objects."""

import copy
import functools
import inspect
import io
import multiprocessing
import pickle
import re
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin import plots
from arlequin.models.errors import ModelWarning
from arlequin.models.signatures import checked_call
from arlequin.multilevel.laws.friction import VariableFriction
from arlequin.run import progress

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
LINE = aq.mesh.interval(0.0, 0.1, cells=4)
SQUARE = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(2, 2))
NEXT = aq.mesh.rectangle((0.5, 1.5), (0.0, 1.0), cells=(2, 2))
BAR = aq.Bar("bar", LINE, STEEL)
END = BAR.boundary("right")
LEFT = aq.Solid("left", SQUARE, STEEL, plane="strain")
RIGHT = aq.Solid("right", NEXT, STEEL, plane="strain")
WALL = aq.RigidPlane(point=0.101, normal=-1.0)
FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
CONTACT = aq.Interface("end", END, WALL, aq.Unilateral())
SYSTEM = aq.System([BAR], interfaces=[CONTACT], velocity=10.0)
THETA = aq.Theta(0.5)
NOISE = aq.frequency.Spectrum(aq.frequency.Force(END, 1.0), ([0.0, 100.0], [1.0, 1.0]))
TIP, BAND = aq.frequency.Displacement(END, "x"), [1.0, 100.0]
PIPE = aq.Beam(
    "pipe", aq.mesh.interval(0.0, 1.0, cells=4), aq.LinearElastic(young=1e6, poisson=0.3, density=1000.0),
    aq.Section.circle(0.01), dimension=2, imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}, added_mass=0.02,
)  # fmt: skip


@dataclass(frozen=True)
class Friction(VariableFriction):
    value: Any

    def mu(self, state: Any) -> Any:
        return self.value


@dataclass(frozen=True)
class NoState(VariableFriction):
    def mu(self) -> float:  # type: ignore[override]
        return 0.1


@dataclass(frozen=True)
class Interpreted(aq.Asperities):
    def kernel(self) -> Any:
        return lambda *arguments: (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Unprepared:
    stepper: Any
    order: int = 1
    static: bool = False

    def prepare(self, assembly: Any, step: float) -> Any:
        return self.stepper


def run(system: Any = SYSTEM, scheme: Any = THETA, duration: Any = 4e-6, step: Any = 1e-6, **options: Any) -> Any:
    return aq.simulate(system, scheme, duration=duration, step=step, **options)


def solid(**options: Any) -> aq.Solid:
    return aq.Solid("a", SQUARE, STEEL, plane="strain", **options)


def rub(friction: Any) -> Any:
    contact = aq.Interface("i", LEFT.boundary("bottom"), FLOOR, aq.Unilateral(), friction=friction)
    return run(aq.System([LEFT], interfaces=[contact], velocity=(1.0, -1.0)))


def press(law: Any) -> Any:
    contact = aq.Interface("i", END, aq.RigidPlane(point=0.1, normal=-1.0), law)
    return run(aq.System([BAR], interfaces=[contact], velocity=1.0))


def water(velocity: Any = 0.1, part: Any = PIPE) -> Any:
    return aq.flow.PipeFlow("water", part, velocity, fluid_mass=0.02)


def respond(velocity: float, highest: float = 1.0, random: bool = False, **options: Any) -> Any:
    """A response of the pipe in a flow."""
    end, system = PIPE.boundary("right"), aq.System([PIPE], flows=[water(velocity)])
    load, of = aq.frequency.Force(end, (0.0, 1.0)), aq.frequency.Displacement(end, "y")
    if random:
        white = aq.frequency.Spectrum(load, lambda f: 1.0)
        return aq.random_response(system, white, of, [0.0, highest], progress=False, **options)
    return aq.frequency_response(system, load, of, [0.0, highest], progress=False, **options)


def glued(**options: Any) -> Any:
    return run(aq.System([LEFT, RIGHT], [aq.Junction(LEFT, RIGHT, **options)]))


@functools.cache
def result() -> Any:
    """Of a run, when the first test needs it: collection runs nothing."""
    return run()


# code → line; of calls that do not fit a signature and of values of a wrong type, which raise UserTypeError
TYPES = r"""
aq.LinearElastic(youngs=2e11)
    → LinearElastic: no parameter is named 'youngs', did you mean young?; the parameters are young, poisson,
      density
aq.LinearElastic()
    → LinearElastic: young must be given; the parameters are young, poisson, density
aq.J2(young=2e11, poisson=0.3, yield_stress=3e8)
    → J2: density must be given; the parameters are young, poisson, density, yield_stress, hardening
aq.LinearElastic("2e11", 0.3)
    → young = '2e11': must be a number
aq.LinearElastic(2e11, 0.3, 7800, 1.0)
    → LinearElastic: takes at most 3 parameters without names, 4 given; the parameters are young, poisson,
      density
aq.LinearElastic(young=None)
    → young = None: must be a number
aq.Bar("bar", STEEL, LINE)
    → mesh: LinearElastic is not a mesh of lines, triangles, quads, tetrahedra or hexahedra
aq.Bar("bar", "bar.msh", STEEL)
    → mesh: str is not a mesh of lines, triangles, quads, tetrahedra or hexahedra
aq.Bar("bar", LINE, aq.LinearElastic)
    → material = LinearElastic: must be a LinearElastic (LinearElastic is a class: write LinearElastic(…))
water("fast")
    → velocity = 'fast': must be a number
water(part=BAR)
    → flow 'water': part = Bar('bar', 4 cells, 5 nodes): must be a Beam, or a Modal of a Beam
aq.System([PIPE], flows=["water"])
    → flows = 'water': must be a list of flows
aq.Bar("bar", LINE, STEEL, damping=0.1)
    → damping = 0.1: must be a Rayleigh, a ShortWaveDamping or None
aq.System([BAR], from_result="run.zarr")
    → from_result = 'run.zarr': must be a result: that of simulate(…), or open('run.zarr')
aq.ResultFrame(result(), parts=3)
    → parts = 3: must be a list of names of parts
aq.Bar(3, LINE, STEEL)
    → name = 3: must be a text, not empty and without '/'
aq.Beam("b", LINE, STEEL, 0.01)
    → section = 0.01: must be a Section, as Section.circle(radius)
aq.Section.circle(diameter=0.01)
    → Section.circle: no parameter is named 'diameter'; the parameters are radius, poisson
aq.Section.circle("0.01")
    → radius = '0.01': must be a number
aq.mesh.interval(0, 1)
    → interval: cells must be given; the parameters are start, end, cells
aq.mesh.interval(0, 1, cells="ten")
    → cells = 'ten': must be a whole number of at least 1
aq.mesh.read(3)
    → path = 3: must be a path
aq.mesh.read("no.inp", boundaries=3)
    → boundaries = 3: must be a list of names
aq.mesh.describe(3)
    → path = 3: must be a path
aq.mesh.describe("no.inp", mesh=3)
    → mesh = 3: must be the name of a mesh of the file
aq.mesh.parts("no.inp", boundaries=[3])
    → boundaries = 3: must be a list of names
aq.mesh.parts("no.inp", tetrahedra=1)
    → tetrahedra = 1: must be True or False
aq.mesh.points("no.inp", 1e-3)
    → points: takes at most 1 parameters without names, 2 given; name the others: scaled=…, mesh=…
aq.mesh.points("no.inp", scaled="mm")
    → scaled = 'mm': must be a number
aq.solids("no.inp", plane="strain")
    → solids: materials must be given; the parameters are path, materials, scaled, tetrahedra, mesh, options
aq.solids("no.inp", STEEL)
    → materials = LinearElastic(young=200000000000.0, poisson=0.3, density=...: must map element sets to materials
aq.solids("no.inp", {"rod": STEEL}, options=["rod"])
    → options = ['rod']: must map parts to parameters of a Solid
aq.solids("no.inp", {"rod": STEEL}, options={"rod": "strain"})
    → options['rod'] = 'strain': must map parameters of a Solid to their values
solid(imposed={"left": 0.0})
    → a: imposed displacement on 'left' must map components to values
solid(imposed=["left"])
    → a: imposed displacement = ['left']: must map boundaries to motions of their components
solid(imposed={"left": {"x": lambda: 0.0}})
    → a: imposed displacement 'x' on 'left' = <lambda>(): must be a function f(t) of the time, s
solid(imposed={"left": {"x": lambda t: "far"}})
    → a: imposed displacement 'x' on 'left' at t = 0 s = 'far': must be a number
solid(body_force=lambda x: x)
    → a: body_force = <lambda>(x): must be a function f(x, t) of the points (axis, p) and the time, s
solid(body_force=lambda x, t: "g")
    → a: body_force = 'g': must give 2 components, finite numbers
solid(tractions={"top": lambda t: (0, 1)})
    → a: traction on 'top' = <lambda>(t): must be a function f(x, t) of the points (axis, p) and the time, s
aq.PointMasses("m", (0.0,), 1.0, forces={"all": lambda: 1.0})
    → m: force on 'all' = <lambda>(): must be a function f(t) of the time, s
aq.RigidBody("b", [(0, 0), (1, 0), (1, 1)], mass=1.0, force=lambda x, t: x)
    → force on 'b' = <lambda>(x, t): must be a function f(t) of the time, s
aq.RigidPlane(0.1)
    → RigidPlane: normal must be given; the parameters are point, normal
aq.RigidPlane("wall", -1.0)
    → point = ['wall']: must be finite numbers of shape (any)
aq.Interface("end", BAR, WALL, aq.Unilateral())
    → interface 'end': the slave = Bar('bar', 4 cells, 5 nodes) must be a part's boundary: part.boundary("name")
aq.Interface("end", END, WALL, aq.Unilateral)
    → interface 'end': Unilateral is a class, not a law: write Unilateral(…)
aq.Interface("end", END, aq.RigidPlane, aq.Unilateral())
    → interface 'end': the master = RigidPlane must be a rigid obstacle, guides or a part's boundary:
      part.boundary("name")
aq.Interface("end", WALL, END, aq.Unilateral())
    → interface 'end': the slave RigidPlane(point=[0.101], normal=[-1.0]) is an obstacle: obstacles are masters;
      make the part's boundary the slave: Interface(name, part.boundary("name"), obstacle, …)
aq.Interface("end", END, WALL, "hard")
    → interface 'end': 'hard' is not a law of normal contact, as Unilateral()
aq.Interface("end", END, WALL, aq.Unilateral(), friction=0.3)
    → interface 'end': 0.3 is not a law of friction, as Coulomb(0.3)
aq.Interface("end", END, WALL, aq.Unilateral(), wear=1e-12)
    → interface 'end': 1e-12 is not a law of wear, as Archard(1e-12)
aq.Coulomb(frictoin=0.3)
    → Coulomb: no parameter is named 'frictoin'; the parameters are coefficient, compliance, stiffness, damping
rub(NoState())
    → mu() of the law NoState = mu(self): must be a function f(state) of the SlidingState
rub(Friction("much"))
    → mu() of the law Friction = 'much': must return finite coefficients ≥ 0 of shape (3,)
press(Interpreted(1e9))
    → kernel() of the law Interpreted = <lambda>(): must be compiled with @njit(REGULAR), REGULAR from
      arlequin.multilevel.laws.signature
aq.Junction(LEFT)
    → Junction: fine must be given; the parameters are coarse, fine, weights, coupling, mediator, name, zone,
      mass_weights, floor, absorbing
aq.Junction(LEFT, RIGHT, 0.5)
    → weights = 0.5: must be weights, as Linear(), or a function of points (axis, n)
aq.Junction(LEFT, RIGHT, aq.weights.Linear)
    → weights = Linear: must be weights, as Linear(), or a function of points (axis, n) (Linear is a class:
      write Linear(…))
aq.Junction(LEFT, RIGHT, lambda: 0.5)
    → share = <lambda>(): must be a function f(x) of the points (axis, n)
aq.Junction(LEFT, RIGHT, coupling="L2")
    → coupling = 'L2': must be a Coupling, as L2()
aq.Junction(LEFT, RIGHT, zone=0.5)
    → zone = 0.5: must be a Zone, as Strip(0.4, 0.6)
aq.zones.LevelSet(lambda x, y: x, 0.5)
    → level = <lambda>(x, y): must be a function f(x) of the points (axis, n)
glued(zone=aq.zones.LevelSet(lambda x: "far", 0.5))
    → level = 'far': must be one number for each of 9 points
glued(weights=lambda x: "half")
    → share = 'half': must be one number for each of 24 points
aq.System(BAR)
    → parts = Bar('bar', 4 cells, 5 nodes): must be a list of parts
aq.System([aq.Bar])
    → parts = Bar: must be a list of parts (Bar is a class: write Bar(…))
aq.System([BAR], [CONTACT])
    → junctions = Interface(name='end', slave=<boundary 'right' of part 'ba...: must be a list of junctions;
      contact goes to interfaces=[…]
aq.System([BAR], gravity=lambda: 9.81)
    → gravity = <lambda>(): must be a function f(t) of the time, s
aq.System([BAR], velocty=1.0)
    → System: no parameter is named 'velocty', did you mean velocity?; the parameters are parts, junctions,
      interfaces, velocity, displacement, contact, springs, relations, gravity, from_result, levels
run(aq.System([BAR], velocity="fast"))
    → velocity = 'fast': must give 1 component at each node of part 'bar'
run(aq.System([BAR], velocity=lambda: 1.0))
    → velocity = <lambda>(): must be a function f(x) of the positions (n, axis)
run(BAR)
    → system = Bar('bar', 4 cells, 5 nodes): must be a System, as System([part])
run(scheme=aq.Theta)
    → scheme = Theta: must be a scheme, as arlequin.Theta(0.5) (Theta is a class: write Theta(…))
run(scheme="theta")
    → scheme = 'theta': must be a scheme, as arlequin.Theta(0.5)
run(scheme=Unprepared(None))
    → prepare() of the scheme Unprepared returned None, which is no stepper: it must return an object with step,
      start(u, v) and advance(state, count); step, start, advance missing
run(duration="1e-6")
    → duration = '1e-6': must be a number
run(record=3)
    → record = 3: must be a path, a Record or None
run(progress="yes")
    → progress = 'yes': must be True, False, None or a function of the steps done and all steps
aq.simulate(SYSTEM, aq.Theta(0.5))
    → simulate: duration, step must be given; the parameters are system, scheme, duration, step, record,
      fields_every, attributes, progress
aq.simulate(SYSTEM, aq.Theta(0.5), 1e-6, 1e-7)
    → simulate: takes at most 2 parameters without names, 4 given; name the others: duration=…, step=…,
      record=…, fields_every=…, attributes=…, progress=…
aq.simulate(SYSTEM, aq.Theta(0.5), duration=1e-6, dt=1e-7)
    → simulate: no parameter is named 'dt'; the parameters are system, scheme, duration, step, record,
      fields_every, attributes, progress
aq.simulate_ensemble(SYSTEM, aq.Theta(0.5), duration=1e-6, step=1e-7)
    → systems = System(parts=['bar'], interfaces=['end'], 5 dofs): must be a list of at least one System
aq.Theta("half")
    → theta = 'half': must be a number
aq.Record("a.zarr", every=3)
    → Record: no parameter is named 'every'; the parameters are path, fields_every, overwrite, attributes,
      point_memory, stress, resume
aq.results.export_vtu("out.zarr", "folder")
    → result = 'out.zarr': is a path: open it with arlequin.results.open('out.zarr')
aq.results.worn_depth("out.zarr", "end", 1e-12)
    → result = 'out.zarr': is a path: open it with arlequin.results.open('out.zarr')
aq.results.export_netcdf(result())
    → export_netcdf: path must be given; the parameters are result, path, member
aq.results.power_spectrum([0, 1, 2], "values")
    → values = 'values': must be finite numbers of shape (3)
aq.natural_frequencies(BAR)
    → system = Bar('bar', 4 cells, 5 nodes): must be a System
aq.sweep(lambda x: {"y": x}, {"x": [1]}, progress="yes")
    → progress = 'yes': must be True, False, None or a function of the points done, failed and all points
plots.energies("out.zarr")
    → result = 'out.zarr': is a path: open it with arlequin.results.open('out.zarr')
plots.energies(SYSTEM)
    → result = System(parts=['bar'], interfaces=['end'], 5 dofs): must be the result of a run, an xarray.DataTree
plots.energies({"coarse": result(), "fine": result()})
    → result = {'coarse': <DataTree>, 'fine': <DataTree>}: must be the result of one run: choose one of them
plots.energies(result().dataset)
    → result = <DatasetView>: must be the result of a run, an xarray.DataTree
aq.natural_frequencies(result())
    → system = <DataTree>: must be a System
plots.sweep_lines("out.sweep", "y")
    → dataset = 'out.sweep': is a path: open it with arlequin.open_sweep('out.sweep')
aq.NeoHooke(youngs=1e6)
    → NeoHooke: no parameter is named 'youngs', did you mean young?; the parameters are young, poisson, density
aq.rough.self_affine(roughness=1e-6)
    → self_affine: no parameter is named 'roughness'; the parameters are shape, size, hurst, cutoff, rolloff, longest,
      rms_slope, rms_height, amplitudes, seed
aq.statistical_linearisation(SYSTEM, aq.frequency.Force(END, 1.0), TIP, BAND)
    → psd = Force(surface=<boundary 'right' of part 'bar', 1 node>, a...: must be of aq.frequency: Spectrum,
      CrossSpectrum, RainOnTheRoof, CorrelatedForce, TurbulentFlow, or a list of them
aq.sweep(3, {"x": [1]})
    → function = 3: must be a function
aq.sweep(lambda x: {"y": x}, {"x": 1})
    → x = 1: must be a list of values
aq.estimate(lambda x: x, None, {"x": 3.0}, tolerance=0.1)
    → inputs['x'] = 3.0: must be a distribution, as scipy.stats.norm(1.0, 0.1), a pair (low, high) of uniform
      numbers or a range of whole numbers
aq.estimate(lambda x: x, None, {"x": (0.0, 1.0)}, tolerence=0.1)
    → estimate: no parameter is named 'tolerence', did you mean tolerance?; the parameters are study, quantity,
      inputs, tolerance, relative, samples, method, levels, limit, costs, confidence, pilot, replicates, seed, store,
      workers, scheduler, progress, overwrite
aq.probability(SYSTEM, None, {"x": (0.0, 1.0)}, above=1.0)
    → study = System(parts=['bar'], interfaces=['end'], 5 dofs): must be a function of the inputs
aq.sobol_indices(lambda x: x, None, ["x"])
    → inputs = ['x']: must map parameters to distributions, as {'gap': (1e-5, 5e-5)}
plots.distribution("out.sweep")
    → values = 'out.sweep': must be finite numbers of shape (any)
aq.open_sweep(3)
    → path = 3: must be a path
aq.sweep(lambda x: {"y": x}, {"x": [1.0]}, store=("a", "b"))
    → store = ('a', 'b'): must be a path
aq.Scalar("5")
    → value = '5': must be a number
aq.Scalar(1 + 2j)
    → value = (1+2j): must be a number
aq.Scalar(1.0, 5)
    → unit = 5: must be a text
aq.results.stress(result(), 1e150)
    → part = 1e+150: must be the part of the system that was run
aq.view(SYSTEM)
    → result = System(parts=['bar'], interfaces=['end'], 5 dofs): must be the result of a run, an xarray.DataTree
plots.distribution([1.0, 2.0], label=[1, 2])
    → label = [1, 2]: must be a text
plots.level_convergence(result())
    → estimate = <DataTree>: must be the Dataset of estimate with levels
aq.Modal(LEFT, modes="3")
    → modes = '3': must be a whole number of at least 1
aq.Rigid(BAR)
    → part = Bar('bar', 4 cells, 5 nodes): must be a Solid
aq.Spring("s", BAR, stiffness=1.0)
    → first = Bar('bar', 4 cells, 5 nodes): spring 's': must be a part.boundary("name")
aq.PlaneWaves(STEEL)
    → system = LinearElastic(young=200000000000.0, poisson=0.3, density=...: must be a System
aq.zones.Cells([0], inner=3)
    → inner = 3: must be the name of a boundary of the coarse mesh
aq.rough.Profile([0.0, 1.0, 2.0, 3.0], 1.0, corrections=3.0)
    → corrections = 3.0: must be texts
aq.rough.read_profile((1, 2))
    → path = (1, 2): must be a path
plots.profile(result(), field=np.array([1.0]))
    → field = [1.0]: must be a text
plots.contact(result(), np.array([1, 2]))
    → interface = [1, 2]: must be a text
aq.convergence(result(), None, [2.0, 1.0], order=2.0)
    → study = <DataTree>: must be a function of the size, or its values, one of each size
aq.convergence([1.0, 2.0, 3.0], None, 0.1)
    → over = 0.1: must be sizes, coarse to fine, as [0.4, 0.2, 0.1] or {"cells": [10, 20, 40]}
plots.convergence(0.1)
    → errors = None: must map names to errors, {"displacement": values}
plots.convergence([1.0, 0.5], [1.0, 0.25])
    → errors = [1.0, 0.25]: must map names to errors, {"displacement": values}
plots.confidence_ellipse(3, "a", "b")
    → fit = 3: must be the result of aq.fit
aq.results.export_vtu(result(), "out", progress=True)
    → progress = True: must be a function (done, total), or None
"""

HOOKE = aq.LinearElastic(young=2e11, poisson=0.3)  # without a density
SOFT = aq.NeoHooke(young=1e6, poisson=0.3)
HELD = {"left": {"x": 0.0, "y": 0.0}}
LIGHT = aq.Solid("light", SQUARE, HOOKE, plane="strain", imposed=HELD)
LIGHT_CUBE = aq.Solid("cube", aq.mesh.box((0, 1), (0, 1), (0, 1), cells=(1, 1, 1)), HOOKE)
LIGHT_BAR = aq.Bar("thin", LINE, HOOKE, imposed={"left": {"x": 0.0}})
LIGHT_BEAM = aq.Beam("rod", LINE, HOOKE, aq.Section.circle(0.01), imposed={"left": dict.fromkeys(("x", "y", "z"), 0.0)})
LIGHT_RUBBER = aq.Solid("rubber", SQUARE, SOFT, plane="strain", kinematics="finite", imposed=HELD)


def statics(part: Any, gravity: Any) -> Any:
    return run(aq.System([part], gravity=gravity), aq.Static(), 1.0, 1.0)


# of values that are of the right type
VALUES = r"""
aq.LinearElastic(2e11, 0.6)
    → poisson = 0.6: must lie in ]-1, 0.5[
aq.Solid("a", SQUARE, STEEL)
    → plane = None: must be one of strain, stress, axisymmetric
solid(mass="dispersion", order=2)
    → mass = 'dispersion': is for linear elements with straight edges: take order=1 or another mass
solid(mass="dispersion", kinematics="finite")
    → mass = 'dispersion': is for LinearElastic with kinematics="small": take another mass
aq.mesh.rectangle((0, 1), (0, 1), cells=4)
    → cells = 4: must be 2 whole numbers, one per axis
aq.mesh.read("no.msh")
    → no.msh: no such mesh file
aq.mesh.describe("no.inp")
    → no.inp: no such mesh file
aq.mesh.parts("no.inp", scaled=0.0)
    → scaled = 0.0: must be positive
aq.mesh.points("no.inp", scaled=-1e-3)
    → scaled = -0.001: must be positive
aq.solids("no.inp", {})
    → materials = {}: must map element sets to materials, one at least
aq.solids("no.inp", {"rod": STEEL})
    → no.inp: no such mesh file
BAR.boundary("rihgt")
    → bar: no boundary is named 'rihgt', did you mean right? (boundaries: left, right)
solid(body_force=9.81)
    → a: body_force = 9.81: must give 2 components, finite numbers
aq.Interface("end", LEFT.boundary("right"), WALL, aq.Unilateral())
    → interface 'end': the obstacle is 1D, part 'left' 2D
rub(Friction(-0.1))
    → mu() of the law Friction = -0.1: must return finite coefficients ≥ 0 of shape (3,)
aq.Junction(LEFT, RIGHT, mediator="middle")
    → mediator = 'middle': must be one of coarse, fine, grid
aq.System([])
    → a system needs at least one part
aq.System([LEFT, LIGHT_CUBE])
    → part 'left' is 2D and part 'cube' 3D: all parts of a system must have the same dimension; model all in 3D, or
      simulate them apart
aq.System([aq.PointMasses("m", (0.0, 0.0, 0.0), 1.0), LEFT])
    → part 'left' is 2D and part 'm' 3D: all parts of a system must have the same dimension; model all in 3D, or
      simulate them apart
run(aq.System([LIGHT]))
    → part 'light': the density of its material must be given in dynamics, kg/m³
run(aq.System([LEFT, LIGHT_RUBBER]), aq.CentralDifference())
    → part 'rubber': the density of its material must be given in dynamics, kg/m³
aq.simulate_ensemble([aq.System([LIGHT_BAR])], THETA, duration=1e-6, step=1e-6)
    → part 'thin': the density of its material must be given in dynamics, kg/m³
aq.gradient(lambda f: aq.Study(aq.System([LIGHT_BAR]), THETA, 1e-6, 1e-6), lambda r: r["balance"].mean(), {"f": 1.0})
    → part 'thin': the density of its material must be given in dynamics, kg/m³
aq.periodic(aq.System([LIGHT_BAR]), THETA, energy=(1.0, 2.0))
    → part 'thin': the density of its material must be given in dynamics, kg/m³
statics(LIGHT, lambda t: (0.0, -9.81 * t))
    → part 'light': the density of its material must be given where gravity acts, kg/m³
statics(LIGHT, (0.0, -9.81))
    → part 'light': the density of its material must be given where gravity acts, kg/m³
statics(LIGHT_CUBE, lambda t: (0.0, 0.0, -9.81 * t))
    → part 'cube': the density of its material must be given where gravity acts, kg/m³
statics(LIGHT_BAR, lambda t: -9.81 * t)
    → part 'thin': the density of its material must be given where gravity acts, kg/m³
statics(LIGHT_BEAM, lambda t: (0.0, 0.0, -9.81 * t))
    → part 'rod': the density of its material must be given where gravity acts, kg/m³
statics(LIGHT_RUBBER, lambda t: (0.0, -9.81 * t))
    → part 'rubber': the density of its material must be given where gravity acts, kg/m³
statics(aq.Modal(LIGHT), lambda t: (0.0, -9.81 * t))
    → part 'light': the density of its material must be given where gravity acts, kg/m³
aq.natural_frequencies(aq.System([LEFT, LIGHT]))
    → part 'light': the density of its material must be given for natural frequencies, kg/m³
aq.natural_frequencies(aq.System([LIGHT_BEAM]))
    → part 'rod': the density of its material must be given for natural frequencies, kg/m³
aq.Modal(LIGHT).frequencies
    → part 'light': the density of its material must be given for natural frequencies, kg/m³
aq.Modal(LIGHT, frequency=1000.0)
    → part 'light': the density of its material must be given to choose modes by their frequency, kg/m³
aq.PlaneWaves(aq.System([aq.Bar("thin", LINE, HOOKE)]))
    → part 'thin': the density of its material must be given for waves, kg/m³
aq.Rigid(replace(LIGHT, imposed={}))
    → part 'light': the density of its material must be given in a rigid part, kg/m³
aq.simulate(aq.System([LEFT, RIGHT], [aq.Junction(LEFT, RIGHT, zone=aq.zones.Cells([0.5]))]), THETA, 1.0, 1.0)
    → cells of the zone = [0.5]: must be whole numbers, or the name of a set
plots.convergence([1.0, 0.5], {"a": [1.0, 0.0]})
    → errors of a = [1.0, 0.0]: must be positive numbers
plots.energies(result()["part"])
    → result: is the group /part of a result: give the whole of it
aq.System([BAR, BAR])
    → 2 parts are named 'bar': names must differ
aq.System([LEFT, RIGHT], [aq.Junction(LEFT, RIGHT), aq.Junction(LEFT, RIGHT)])
    → 2 junctions are named 'junction': names must differ, as Junction(…, name='left')
aq.System([BAR], velocity={"ber": 1.0})
    → velocity of 'ber': no part has this name, did you mean bar?; the parts are bar
aq.ResultFrame(result(), 9)
    → frame = 9: must be one of the 5 frames of the result
aq.System([LEFT], from_result=result())
    → from_result: has no part 'left'; its parts are bar: say how it starts, as displacement={'left': 0.0}
aq.System([aq.Bar("bar", aq.mesh.interval(0.0, 100.0, cells=4), STEEL)], from_result=result())
    → from_result: part 'bar' extends over 0.1 m there and 100 m here: give the same body, in the same units
aq.System([aq.Bar("bar", aq.mesh.interval(0.0, 0.12, cells=6), STEEL)], from_result=result())
    → from_result: part 'bar' has nodes outside its former mesh (1 of 7, as that at (0.12) m): give the same body
aq.System([aq.Bar("bar", aq.mesh.interval(0.0, 0.06, cells=6), STEEL)], from_result=result())
    → from_result: part 'bar' has cells of its former mesh outside the new one, as that at (0.0875) m: give the
      same body
aq.System([aq.Solid("bar", SQUARE, STEEL, plane="strain")], from_result=result())
    → from_result: part 'bar' has 5 nodes on 1 axes there and 9 nodes on 2 axes here: keep its dimension
aq.System([aq.PointMasses("bar", [(0.0,), (0.1,)], 1.0)], from_result=result())
    → from_result: part 'bar' has 5 nodes on 1 axes there and 2 nodes on 1 axes here, at other places, and no field
      between them: give it the same
aq.System([aq.Beam("bar", LINE, STEEL, aq.Section.circle(0.01), dimension=2)], from_result=result())
    → from_result: part 'bar' has 5 nodes on 1 axes there and 5 nodes on 2 axes here: keep its dimension
aq.ResultFrame(result(), parts=["bar", "ber"])
    → parts = 'ber': must be one of bar
aq.ResultFrame(result(), parts={"fine": "coarse"})
    → parts = 'coarse': must be one of bar
aq.System([BAR], displacement=0.1, from_result=result())
    → give displacement or from_result, one of them
aq.System([BAR], displacement={"bar": 0.1}, from_result=result())
    → displacement of 'bar': from_result has it: leave it out
run(aq.System([aq.Bar("bar", LINE, STEEL, imposed={"left": {"x": 1.0}})], from_result=result()))
    → from_result: part 'bar' is displaced by other values than are imposed on it at t = 0, by up to 1: let the
      imposed motion start from where the result ends
run(aq.System([LEFT], velocity=(10**400, 1.0)))
    → velocity = (10000000000000000000000000000000000000000000000000000000...: must give 2 components at each node of
      part 'left'
run(aq.System([LEFT], velocity=1.0))
    → velocity = 1.0: must give 2 components at each node of part 'left'
run(step=0.0)
    → step = 0.0: must be positive
aq.Theta(0.3)
    → theta = 0.3: must lie in [0.5, 1]
aq.results.open("missing.zarr")
    → missing.zarr: no such result
aq.open_sweep("missing.zarr")
    → missing.zarr: no such sweep
aq.sweep(lambda x: {"y": x}, {"x": [10**30]})
    → x = 1000000000000000000000000000000: must be a whole number of a size of at most 4.61169e+18
aq.Scalar(10**400)
    → value = 100000000000000000000000000000000000000000000000000000000...: must be of a size of at most 1.8e308
plots.tornado({"a": 1.0}, {"a": ("x", 1.0)})
    → intervals['a'] = ('x', 1.0): must be a pair (lower, upper)
plots.contact_map(result())
    → contact_map is for surfaces in space; for models along one axis draw plots.contact
aq.fatigue.Goodman(0.0)
    → ultimate = 0.0: must be positive
aq.fatigue.rainflow([1.0, 2.0])
    → signal: has 2 samples along time: cycles need at least 3
aq.fatigue.spectral_damage([1.0, 1.0], aq.fatigue.SNCurve.eurocode(71e6), frequency=[-1.0, 1.0])
    → frequency: must not be negative: a one-sided density is needed, twice a two-sided one
aq.wear_life(-1.0, coefficient=1e-14, area=1e-6, duration=1.0)
    → work_rate = -1.0: must not be negative, W
aq.wear_life(result(), coefficient=1e-14, area=1e-6, duration=1.0)
    → work_rate: the result has no interface with friction
aq.statistical_linearisation(aq.System([BAR]), NOISE, TIP, BAND)
    → system: has no support with a gap, a layer, friction or a law of its force: take random_response
aq.statistical_linearisation(SYSTEM, NOISE, TIP, BAND)
    → interface 'end': a rigid stop with a gap has no equivalent stiffness: give it one, as Penalty(…) or
      ImpactElement(…)
aq.statistical_linearisation(SYSTEM, NOISE, TIP, [1.0])
    → frequencies = [1.0]: must be at least two, from the lowest to the highest
aq.statistical_linearisation(SYSTEM, NOISE, {"velocity": aq.frequency.Velocity(END, "x")}, BAND)
    → of: no output may be named 'velocity', as 'rms_velocity' is of the supports
aq.statistical_linearisation(SYSTEM, NOISE, TIP, BAND, tolerance=0.0)
    → tolerance = 0.0: must be positive
aq.results.worn_depth(result(), "edn", 1e-12)
    → interface = 'edn': must be one of end
water(-1.0)
    → velocity = -1.0: must not be below 0: flow 'water' runs the other way with another direction
water(float("nan"))
    → velocity = nan: must be finite
aq.System([PIPE], flows=[water(), water()])
    → 2 flows are named 'water': names must differ
aq.System([BAR], flows=[water()])
    → flow 'water' refers to part 'pipe', which is not among the parts of the system
respond(20.0)
    → flow 'water' of 20 m/s: the system is unstable in it, a mode of 3.071 Hz grows by 57.73 1/s, so it has no steady
      oscillation: aq.critical_velocity finds the velocity up to which it has one
respond(20.0, method="modal")
    → flow 'water' of 20 m/s: the system is unstable in it, a mode of 3.071 Hz grows by 57.73 1/s, so it has no steady
      oscillation: aq.critical_velocity finds the velocity up to which it has one
respond(20.0, random=True)
    → flow 'water' of 20 m/s: the system is unstable in it, a mode of 3.071 Hz grows by 57.73 1/s, so it has no steady
      oscillation: aq.critical_velocity finds the velocity up to which it has one
respond(20.0, random=True, method="direct")
    → flow 'water' of 20 m/s: the system is unstable in it, a mode of 3.071 Hz grows by 57.73 1/s, so it has no steady
      oscillation: aq.critical_velocity finds the velocity up to which it has one
respond(0.1, 1e4)
    → frequencies up to 10000 Hz: must be at most 3.853 Hz, which has two cells to a wave in 'pipe'
respond(0.1, 1e4, random=True)
    → frequencies up to 10000 Hz: must be at most 3.853 Hz, which has two cells to a wave in 'pipe'
aq.critical_velocity(aq.System([PIPE]), [0.0, 1.0])
    → critical_velocity: the system has no flow: System(…, flows=[…])
aq.ContactMethod("newtn")
    → method = 'newtn': must be one of newton, augmented, gauss-seidel, projected-gradient
"""


def table(text: str, error: type[Exception]) -> list[Any]:
    """Rows (code, line, error) of lines of code, each followed by an indented arrow and the line that it raises."""
    rows = [row.split("\n    → ") for row in re.split(r"\n(?! )", text.strip())]
    return [pytest.param(code, " ".join(line.split()), error, id=code) for code, line in rows]


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("code", "line", "error"), table(TYPES, TypeError) + table(VALUES, ValueError))
def test_misuse(code: str, line: str, error: type[Exception]) -> None:
    with pytest.raises(aq.UserError) as caught:
        eval(code, {**globals(), "plots": plots})
    assert str(caught.value) == line
    assert isinstance(caught.value, error) and isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TypeError) == (error is TypeError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and str(again) == line


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match=r"^module 'arlequin' has no attribute 'Sytem', did you mean System\?$"):
        _ = aq.Sytem  # type: ignore[attr-defined]
    code = "import arlequin; arlequin.Sytem"
    error = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert error.count("id you mean") == 1


def test_errors_inside_of_a_call_stay() -> None:
    @checked_call
    def outer(x: float) -> float:
        return len(x)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len") as caught:
        outer(1.0)
    assert not isinstance(caught.value, aq.UserError)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: aq.gradient(swing, "energy/kinetic", {"k": 1.0}, scales=max), "scales = .*max.*: must be a mapping"),
        (lambda: aq.gradient(swing, "energy/kinetic", {"k": 1.0}, at=3), "at = 3: must map names of parameters"),
        (lambda: plots.contact(swing().run(), force=0.5), "force = 0.5: must be curves by label"),
        (lambda: plots.energies(xarray.DataTree()), "result: has no energies to draw"),
    ],
)
def test_what_is_no_mapping_or_result(call: Any, line: str) -> None:
    with pytest.raises(aq.UserError, match=line):
        call()


def swing(k: float = 1.0) -> aq.Study:
    mass = aq.PointMasses("mass", 0.0, 1.0)
    system = aq.System([mass], springs=[aq.Spring("spring", mass.boundary("all"), stiffness=k)], velocity=1.0)
    return aq.Study(system, THETA, duration=1.0, step=0.1)


def test_fractions_and_decimals_are_numbers() -> None:
    assert aq.Absorber(strength=Fraction(1, 4)) == aq.Absorber(strength=Decimal("0.25")) == aq.Absorber(strength=0.25)
    for none in (Fraction(10**400), Decimal("1e400"), Decimal("nan"), Decimal("snan")):
        with pytest.raises(aq.UserError, match=r"^strength = "):
            aq.Absorber(strength=none)  # type: ignore[arg-type]


def test_checked_classes_stay_what_they_are() -> None:
    assert list(inspect.signature(aq.LinearElastic).parameters) == ["young", "poisson", "density"]
    assert list(inspect.signature(aq.simulate).parameters)[:4] == ["system", "scheme", "duration", "step"]
    assert replace(STEEL, poisson=0.2).poisson == 0.2
    for item in (STEEL, aq.Theta(0.5), aq.Coulomb(0.3), aq.zones.Strip(0.4, 0.6)):
        assert pickle.loads(pickle.dumps(item)) == item == copy.deepcopy(item)


def test_warnings_point_at_the_line_of_the_user() -> None:
    with pytest.warns(aq.JunctionWarning) as caught:
        aq.Junction(LEFT, RIGHT, weights=aq.weights.Constant(0.5))
    assert caught[0].filename == __file__
    with pytest.warns(
        ModelWarning, match="step = 1 s: is longer than the duration of 4e-06 s: one step is taken"
    ) as caught:
        aq.simulate(aq.System([BAR]), THETA, duration=4e-6, step=1.0)
    assert __file__ in [warning.filename for warning in caught]


def test_an_interrupted_run_says_how_to_resume(tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "a.zarr"
    with pytest.raises(KeyboardInterrupt) as caught:
        run(record=path, progress=interrupt)
    cure = r"run the same call again with record=Record\('(.*)', resume=True\)"
    found = re.fullmatch(rf"step \d of 4; the partial result is in (.*): {cure}", str(caught.value))
    assert found is not None and found.groups() == (str(path), str(path))
    with pytest.raises(KeyboardInterrupt) as caught:
        run(progress=interrupt)
    assert str(caught.value) == ""


# views


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("item", "view"),
    [
        (BAR, "Bar('bar', 4 cells, 5 nodes)"),
        (END, "<boundary 'right' of part 'bar', 1 node>"),
        (WALL, "RigidPlane(point=[0.101], normal=[-1.0])"),
        (
            CONTACT,
            "Interface(name='end', slave=<boundary 'right' of part 'bar', 1 node>, "
            "master=RigidPlane(point=[0.101], normal=[-1.0]), normal=(Unilateral(),))",
        ),
        (
            aq.Junction(LEFT, RIGHT, coupling=aq.H1(0.1)),
            "Junction(coarse=Solid('left', 4 cells, 9 nodes), fine=Solid('right', 4 cells, 9 nodes), "
            "coupling=H1(length=0.1))",
        ),
        (
            aq.System([LEFT, RIGHT], [aq.Junction(LEFT, RIGHT)]),
            "System(parts=['left', 'right'], junctions=['junction'], 36 dofs)",
        ),
        (SYSTEM, "System(parts=['bar'], interfaces=['end'], 5 dofs)"),
        (
            aq.Study(SYSTEM, aq.Theta(0.6), 1e-4, 1e-7),
            "Study(system=System(parts=['bar'], interfaces=['end'], 5 dofs), scheme=Theta(theta=0.6), duration=0.0001, "
            "step=1e-07)",
        ),
        (aq.RigidPlanes(np.zeros((50, 2)), np.ones((50, 2))), "RigidPlanes(points=<array 50×2>, normals=<array 50×2>)"),
        (aq.zones.Cells(list(range(20)), [20]), "Cells(glue=<20 values>, free=[20])"),
        (
            aq.Spring("s", END, stiffness=1.0),
            "Spring(name='s', first=<boundary 'right' of part 'bar', 1 node>, stiffness=1.0)",
        ),
        (aq.Modal(LEFT, 2), "Modal(Solid('left', 4 cells, 9 nodes), 2)"),
    ],
    ids=lambda item: type(item).__name__,
)  # fmt: skip
def test_views_are_short(item: Any, view: str) -> None:
    assert repr(item) == view


def test_system_in_a_notebook() -> None:
    html = SYSTEM._repr_html_()
    assert "System of 5 dofs" in html and "<td>bar</td>" in html and "&lt;boundary" in html and len(html) < 1000


def test_figure_in_a_notebook() -> None:
    from arlequin.plots.style import panels

    def shown() -> list[int]:
        return sys.modules["matplotlib.pyplot"].get_fignums() if "matplotlib.pyplot" in sys.modules else []

    before = shown()
    with panels() as (figure, axes):
        axes[0].plot([0, 1], [0, 1])
    data, size = figure._repr_png_()  # type: ignore[attr-defined]
    assert data.startswith(b"\x89PNG") and size["width"] == 630
    assert shown() == before, "not a second time by pyplot"


def test_short_views_hide_no_change_from_sweeps() -> None:
    from functools import partial

    from arlequin.sweeps.sweep import function_identity

    def study(x: float, planes: Any) -> dict[str, float]:
        return {"y": x}

    one, other = (aq.RigidPlanes(np.full((50, 2), level), np.ones((50, 2))) for level in (0.0, 1.0))
    assert repr(one) == repr(other)
    assert function_identity(partial(study, planes=one)) != function_identity(partial(study, planes=other))
    assert function_identity(partial(study, planes=one)) == function_identity(partial(study, planes=copy.deepcopy(one)))


# progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """The error stream as a terminal; of a test, not a fixture, as pytest sets the stream of each phase."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return stream


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch, delay: float) -> Iterator[None]:
    """As outside of tests."""
    with monkeypatch.context() as patch:
        patch.delenv("PYTEST_CURRENT_TEST")
        patch.setattr(progress, "DELAY", delay)
        yield


def test_a_bar_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    run(progress=True)
    assert "4/4" in terminal.getvalue()


@pytest.mark.parametrize("asked", [True, None])
def test_no_bar_in_a_pipe(asked: bool | None, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    with watched(monkeypatch, 0.0):
        run(progress=asked)
    assert capfd.readouterr() == ("", "")


def test_a_bar_of_samples_has_the_interval_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)

    def study(x: float) -> aq.Scalar:
        return aq.Scalar(3.0 + x, "mm")

    aq.estimate(study, None, {"x": (0.0, 1e-9)}, tolerance=0.25, workers=0)
    assert "20/20" in terminal.getvalue() and re.search(r"3\S* ± \S+ mm \(± 0.25 asked\)", terminal.getvalue())


def test_no_bar_in_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    run()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(("delay", "asked", "shown"), [(0.0, None, True), (60.0, None, False), (0.0, False, False)])
def test_a_bar_by_itself(delay: float, asked: bool | None, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with watched(monkeypatch, delay):
        one = run(progress=asked)
    assert ("4/4" in terminal.getvalue()) == shown
    xarray.testing.assert_identical(one["part/bar"].dataset, result()["part/bar"].dataset)


def test_no_bar_in_threads_and_below_another(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    from concurrent.futures import ThreadPoolExecutor

    with watched(monkeypatch, 0.0):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(run).result()
        assert terminal.getvalue() == ""
        with progress.ProgressBar("outer"):
            run()
    assert "4/4" not in terminal.getvalue()


def test_no_bar_in_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(multiprocessing, "parent_process", object)
    with watched(monkeypatch, 0.0):
        run()
    assert terminal.getvalue() == ""


def test_a_function_is_called_as_before() -> None:
    calls: list[tuple[int, int]] = []
    run(progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (4, 4)


@pytest.mark.parametrize(("asked", "shown"), [(None, True), (True, True), (False, False)])
def test_bar_of_a_sweep(asked: bool | None, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    found = aq.sweep(lambda x: {"y": 2 * x}, {"x": [1, 2]}, workers=0, progress=asked)
    assert ("2 done, 0 failed" in terminal.getvalue()) == shown and found["y"].values.tolist() == [2, 4]


def test_a_bar_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    with pytest.raises(aq.UserError):
        run(aq.System([BAR], velocity="fast"), progress=True)
    assert progress._TerminalBar.shown == 0


def test_a_line_in_a_notebook(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    """One output, which is replaced."""
    shown: list[dict[str, str]] = []
    handle = types.SimpleNamespace(update=lambda data, raw: shown.append(data))

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Any:
        assert raw and display_id and not shown
        shown.append(data)
        return handle

    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    with watched(monkeypatch, 0.0):
        run()
    assert "4/4" in shown[-1]["text/plain"] and '<progress value="4" max="4">' in shown[-1]["text/html"]
    shown.clear()
    aq.sweep(lambda x: {"y": x}, {"x": [1, 2]}, workers=0)
    assert "2/2" in shown[-1]["text/plain"] and "2 done, 0 failed" in shown[-1]["text/html"]
    assert capfd.readouterr() == ("", "")


def test_the_delay_is_a_second() -> None:
    assert progress.DELAY == 1.0
    begin = time.monotonic()
    with progress.reporting(None, "") as nothing:
        assert nothing is None and time.monotonic() - begin < 1.0
