"""What the fuzzer calls: results and figures, starts from a result, identification, rough surfaces, other laws."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import python_calls as calls
import xarray

import arlequin as aq


@cache
def ran() -> Any:
    """A plate at an obstacle, without and with fields of stress."""
    return calls.touching(friction=aq.Coulomb(0.1))


@cache
def ran_in_space() -> Any:
    block = aq.Solid("block", aq.mesh.box((0.0, 0.1), (0.0, 0.1), (0.0, 0.1), cells=(1, 1, 1)), calls.steel())
    wall = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
    touch = aq.Interface("contact", block.boundary("bottom"), wall, aq.Unilateral())
    return calls.stepped([block], interfaces=[touch], velocity=(0.0, 0.0, -1.0))


@cache
def swept() -> Any:
    over = {"x": [1.0, 2.0, 3.0], "seed": [0, 1]}
    return aq.sweep(lambda x, seed: {"y": x + seed}, over, workers=0, progress=False)


def oscillator(stiffness: float = 4.0, damping: float = 0.1) -> Any:
    mass = aq.PointMasses("mass", 0.0, 1.0)
    spring = aq.Spring("spring", mass.boundary("all"), stiffness=stiffness, damping=damping)
    return aq.Study(aq.System([mass], springs=[spring], velocity=1.0), aq.Theta(0.5), duration=0.4, step=0.1)


def moved(result: Any) -> Any:
    return result["part/mass/displacement"][1:, 0, 0]


@cache
def measured() -> Any:
    return moved(oscillator().run(progress=False)).values


@cache
def fitted() -> Any:
    wrt = {"stiffness": 3.0, "damping": 0.2}
    return aq.fit(oscillator, {"moved": (moved, measured() + np.array([1e-3, -1e-3, 1e-3, -2e-3]))}, wrt)


def kept(own: Any) -> Any:
    return own


def drawn(figure: Any) -> None:
    """A figure, or several, drawn once."""
    from matplotlib import pyplot

    for each in figure.values() if isinstance(figure, dict) else [figure]:
        each.canvas.draw()
    pyplot.close("all")


def exported(export: Callable[..., Any]) -> Callable[..., Any]:
    def into_folder(**given: Any) -> Any:
        shutil.rmtree("fuzzed.out", ignore_errors=True)
        Path("fuzzed.out").unlink(missing_ok=True)
        return export(**given)

    return into_folder


def restarted(frame: Any) -> Any:
    part = calls.solid()
    return calls.stepped([part], interfaces=[calls.contact(part)], from_result=frame)


def rubbing(law: Any) -> Any:
    return calls.touching(friction=law)


def surface() -> Any:
    return aq.rough.self_affine((16, 16), (1e-3, 1e-3), hurst=0.8, cutoff=2e-4, rms_height=1e-6)


def two() -> list[Any]:
    return [calls.solid("coarse"), calls.solid("fine", 0.1)]


def joined(own: Any) -> Any:
    parts = [own.coarse_surface.part, own.fine_surface.part]
    return calls.stepped(parts, junctions=[own])


def surfaces() -> dict[str, Any]:
    coarse, fine = two()
    return {"coarse_surface": coarse.boundary("right"), "fine_surface": fine.boundary("left"), "name": "tie"}


def profile_file(**given: Any) -> Any:
    x = np.linspace(0.0, 1.0, 16)
    Path("fuzzed.txt").write_text("".join(f"{at:g} {np.sin(9 * at):.6g}\n" for at in x))
    return aq.rough.read_profile(**given)


CASES: dict[str, tuple[Callable[..., Any], calls.Make, calls.Use]] = {
    "ResultFrame": (aq.ResultFrame, lambda: {"result": ran(), "frame": -1}, restarted),
    "from_result": (
        aq.System,
        lambda: {"parts": [calls.solid()], "from_result": ran(), "velocity": None, "displacement": None},
        lambda own: aq.simulate(own, aq.Theta(0.5), **calls.STEPS),
    ),
    "absorbing": (
        lambda **own: calls.glued(**own),
        lambda: {"absorbing": True, "zone": aq.zones.Box(width=0.03), "floor": 0.0},
        kept,
    ),
    "fit": (
        aq.fit,
        lambda: {
            "study": oscillator, "data": {"moved": (moved, measured())}, "wrt": {"stiffness": 3.0},
            "at": {"damping": 0.1}, "bounds": {"stiffness": (1.0, 9.0)}, "scales": None, "deviation": None,
            "tolerance": 1e-8, "most": 9, "starts": 2, "units": {"stiffness": "N/m"}, "progress": False,
        },
        kept,
    ),
    "gradient": (
        aq.gradient,
        lambda: {"study": oscillator, "of": aq.Response("part/mass/displacement", component="x"), "wrt": ["stiffness"]},
        kept,
    ),
    "Response": (
        aq.Response,
        lambda: {"path": "part/mass/displacement", "reduce": "mean", "node": 0, "component": "x", "data": None},
        lambda own: aq.gradient(oscillator, own, {"stiffness": 3.0}),
    ),
    "estimate": (
        aq.estimate,
        lambda: {
            "study": lambda x: {"y": x}, "quantity": "y", "inputs": {"x": (0.0, 1.0)}, "samples": 8, "confidence": 0.95,
            "seed": 1, "progress": False, "workers": 0,
        },
        kept,
    ),
    "probability": (
        aq.probability,
        lambda: {
            "study": lambda x: {"y": x}, "quantity": "y", "inputs": {"x": (0.0, 1.0)}, "samples": 20, "above": 0.9,
            "seed": 1, "progress": False, "workers": 0,
        },
        kept,
    ),
    "sobol_indices": (
        aq.sobol_indices,
        lambda: {
            "study": lambda x, z: {"y": x + z}, "quantity": "y", "inputs": {"x": (0.0, 1.0), "z": (0.0, 2.0)},
            "samples": 8, "seed": 1, "progress": False, "workers": 0,
        },
        kept,
    ),
    "sweep": (
        aq.sweep,
        lambda: {
            "function": lambda x: {"y": x}, "over": {"x": [1.0, 2.0]}, "store": None, "workers": 0, "progress": False,
            "units": {"x": "m"},
        },
        kept,
    ),
    "read_profile": (
        profile_file,
        lambda: {"path": "fuzzed.txt", "unit": ("mm", "µm"), "length": None, "periodic": False},
        lambda own: (own.levelled(), own.moments()),
    ),
    "Profile": (
        aq.rough.Profile,
        lambda: {"heights": np.sin(np.arange(16.0)), "length": 1.0, "periodic": True, "corrections": ()},
        lambda own: (repr(own), own.levelled(0), own.moments()),
    ),
    "Profile.through": (
        aq.rough.Profile.through,
        lambda: {"x": np.arange(16.0), "heights": np.sin(np.arange(16.0)), "periodic": False},
        lambda own: own.levelled().moments(),
    ),
    "Profile.levelled": (
        lambda **given: aq.rough.Profile(np.arange(9.0) ** 2, 1.0).levelled(**given),
        lambda: {"order": 1},
        kept,
    ),
    "Topography": (
        aq.rough.Topography,
        lambda: {"heights": surface().heights, "size": (1e-3, 1e-3), "periodic": True},
        lambda own: (aq.rough.moments(own), drawn(aq.plots.topography(own))),
    ),
    "self_affine": (
        aq.rough.self_affine,
        lambda: {
            "shape": (16, 16), "size": (1e-3, 1e-3), "hurst": 0.8, "cutoff": 2e-4, "rms_height": 1e-6, "seed": 1,
            "amplitudes": "fixed",
        },
        aq.rough.moments,
    ),
    "halfspace_curve": (
        aq.rough.halfspace_curve,
        lambda: {"heights": surface().heights, "size": (1e-3, 1e-3), "modulus": 1e9, "pressures": [1e6, 1e7]},
        kept,
    ),
    "fit_table": (
        aq.rough.fit_table,
        lambda: {"gaps": np.linspace(0, 1e-6, 9), "pressures": 1e6 * np.exp(-np.linspace(0, 5, 9))},
        lambda own: rubbing(None) if own is None else repr(own),
    ),
    "GreenwoodWilliamson": (
        aq.rough.GreenwoodWilliamson,
        lambda: {"modulus": 1e11, "radius": 1e-5, "density": 1e10, "height_deviation": 1e-6, "heights": "gaussian"},
        lambda own: own.law() if hasattr(own, "law") else repr(own),
    ),
    "Orthotropic": (
        aq.Orthotropic,
        lambda: {"first": 0.1, "second": 0.2, "direction": (0.0, 1.0), "slip_ratio": None},
        rubbing,
    ),
    "StaticDynamic": (
        aq.StaticDynamic, lambda: {"static": 0.3, "dynamic": 0.2, "slip_distance": None, "velocity": 0.1}, rubbing,
    ),
    "Stribeck": (
        aq.Stribeck, lambda: {"static": 0.3, "dynamic": 0.2, "velocity": 0.1, "exponent": 1.0, "viscous": 0.0}, rubbing,
    ),
    "VelocityFriction": (
        aq.VelocityFriction, lambda: {"velocities": [0.0, 1.0], "coefficients": [0.3, 0.2]}, rubbing,
    ),
    "PressureFriction": (
        aq.PressureFriction, lambda: {"pressures": [1e5, 1e6], "coefficients": [0.3, 0.2]}, rubbing,
    ),
    "RateAndState": (
        aq.RateAndState,
        lambda: {"coefficient": 0.6, "direct": 0.01, "evolution": 0.015, "distance": 1e-5, "velocity": 1e-3},
        rubbing,
    ),
    "RigidPlanes": (
        aq.RigidPlanes,
        lambda: {"points": [(0.2, 0.0)] * 3, "normals": [(-1.0, 0.0), (-1.0, 0.1), (-1.0, 0.2)]},
        calls.obstacle,
    ),
    "Tie": (aq.Tie, surfaces, joined),
    "Mortar": (aq.Mortar, lambda: {**surfaces(), "mediator": "fine"}, joined),
    "Cells": (
        aq.zones.Cells,
        lambda: {"glue": [4, 5], "free": [6, 7], "inner": None},
        lambda own: calls.glued(zone=own),
    ),
    "PlaneWaves": (aq.PlaneWaves, lambda: {"system": aq.System([calls.bar()]), "step": None}, kept),
    "ShortWaveDamping": (aq.ShortWaveDamping, lambda: {"strength": 0.3}, kept),
    "check_law": (aq.check_law, lambda: {"law": aq.Penalty(1e12), "gaps": np.array([-1e-6, 1e-6]), "step": 1e-6}, kept),
    "contact_ratio": (
        aq.results.contact_ratio,
        lambda: {"time": np.linspace(0, 1, 9), "force": np.ones(9)},
        kept,
    ),
    "worn_depth": (
        aq.results.worn_depth,
        lambda: {"result": ran(), "interface": "contact", "coefficient": 1e-12},
        kept,
    ),
    "stress of a result": (aq.results.stress, lambda: {"result": ran(), "part": calls.solid()}, kept),
    "export_vtu": (
        exported(aq.results.export_vtu),
        lambda: {"result": ran(), "folder": "fuzzed.out", "frames": 2, "all_cells": True, "progress": None},
        kept,
    ),
    "export_netcdf": (exported(aq.results.export_netcdf), lambda: {"result": ran(), "path": "fuzzed.out"}, kept),
    "view": (
        aq.view,
        lambda: {
            "result": ran_in_space(), "field": "velocity", "parts": ("block",), "frames": 3, "magnify": 1.0,
            "member": None, "view": "-x",
        },
        repr,
    ),
    "shape": (
        aq.plots.shape,
        lambda: {
            "result": ran_in_space(), "field": "velocity", "frame": -1, "component": 0, "magnify": 1.0,
            "parts": ("block",), "member": None, "limits": None, "view": "top",
        },
        drawn,
    ),
    "contact_map": (
        aq.plots.contact_map,
        lambda: {
            "result": ran_in_space(), "field": "pressure", "interface": "contact", "frame": None, "member": None,
            "zoom": True, "overlay": None, "view": "top",
        },
        drawn,
    ),
    "overview": (aq.plots.overview, lambda: {"result": ran_in_space(), "member": None, "view": (30.0, 40.0)}, drawn),
    "animation": (
        aq.plots.animation,
        lambda: {
            "result": ran(), "path": "fuzzed.gif", "field": "velocity", "component": None, "parts": None,
            "magnify": None, "frames": 2, "rate": 5, "member": None, "view": None,
        },
        kept,
    ),
    "profile": (aq.plots.profile, lambda: {"result": ran(), "field": "velocity", "frames": [0], "component": 0}, drawn),
    "contact": (
        aq.plots.contact,
        lambda: {"result": ran(), "interface": "contact", "force": None, "gap": None, "component": "magnitude"},
        drawn,
    ),
    "energies": (aq.plots.energies, lambda: {"result": ran(), "member": None}, drawn),
    "sweep_lines": (
        aq.plots.sweep_lines,
        lambda: {"dataset": swept(), "name": "y", "x": "x", "hue": None, "over": "seed", "band": "deviation"},
        drawn,
    ),
    "sweep_map": (aq.plots.sweep_map, lambda: {"dataset": swept(), "name": "y", "x": "x", "y": "seed"}, drawn),
    "sweep_scatter": (aq.plots.sweep_scatter, lambda: {"dataset": swept(), "x": "x", "y": "y", "colour": None}, drawn),
    "sweep_effects": (aq.plots.sweep_effects, lambda: {"dataset": swept(), "name": "y"}, drawn),
    "confidence_ellipse": (
        aq.plots.confidence_ellipse,
        lambda: {"fit": fitted(), "x": "stiffness", "y": "damping", "truth": {"stiffness": 4.0, "damping": 0.1}},
        drawn,
    ),
    "distribution": (
        aq.plots.distribution,
        lambda: {"values": np.arange(9.0), "unit": "m", "label": None, "limit": 3.0, "confidence": 0.95},
        drawn,
    ),
    "convergence": (
        aq.plots.convergence,
        lambda: {"sizes": [1.0, 0.5], "errors": {"a": [1.0, 0.25]}, "size": "h", "error": "e"},
        drawn,
    ),
    "tornado": (aq.plots.tornado, lambda: {"shares": {"a": 0.5, "b": 0.1}, "intervals": None, "label": None}, drawn),
}  # fmt: skip


def strange_results() -> list[Any]:
    """Things of the kinds of results that are none."""
    tree = ran().copy()
    bare = xarray.DataTree.from_dict({"/": xarray.Dataset(), "part/solid": xarray.Dataset()})
    return [bare, xarray.DataTree(), xarray.Dataset(), tree["part"], swept(), fitted(), ran_in_space()]
