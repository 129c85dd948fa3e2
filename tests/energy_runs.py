"""Does contact make energy? Sliders whose normals turn and whose partners change while they are in contact.

    python tests/energy_runs.py              names of the cases
    python tests/energy_runs.py NAME …       runs them (a pattern like 'bent*' takes several): one row each

A slider (0.5 × 0.5, E = 1, ρ = 1, ν = 0.3) is pressed on an elastic base (3 × 0.6) or on a rigid obstacle and slides
over it at 0.02, without friction unless a case says so. Nothing but its load gives it energy: with the conserving
schemes kinetic + strain − external work must not grow.
"""

import fnmatch
import sys
import time as clock
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray
from scipy.optimize import brentq

import arlequin as aq

SPEED = 0.02  # m/s, of the slider
SIDE = 0.5  # m, of the slider
SOFT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
WAVE = float(np.sqrt((SOFT.lame()[0] + 2.0 * SOFT.lame()[1]) / 1.0))  # m/s, of pressure
GROWING = ("impact", "friction", "wear", "asperity_damping", "damping", "plastic", "absorbed")  # columns

# ---------------------------------------------------------------------------------------------------------- measures


@dataclass(frozen=True)
class Measures:
    """What a run did; energies relative to the largest one, |any column| or |kinetic + stored|, of the run.

    gain: largest rise of H = kinetic + strain + asperity − external work above its start, growth: the same over the
    energy at the start; rise: largest rise of H above any earlier instant; made: largest rise of H + `scheme` above the
    start, which a scheme that damps does not hide; loss: fall of H at the end; fall: largest fall of each column of
    GROWING in a step; scheme: largest |.| of that column; depth: −(least gap), m; reclosed: times that a contact point
    closed again, chatter: of these after one open step; variation: total variation of the contact force over its
    largest norm; active: closed points, mean; seconds: of a step.
    """

    steps: int
    gain: float
    growth: float
    rise: float
    made: float
    loss: float
    fall: Mapping[str, float]
    scheme: float
    balance: float
    depth: float
    reclosed: int
    chatter: int
    variation: float
    active: float
    seconds: float

    HEAD = (
        f"{'steps':>6}{'gain':>10}{'growth':>10}{'rise':>10}{'made':>10}{'loss':>10}{'impact':>10}{'friction':>10}{'others':>10}{'scheme':>9}"
        f"{'balance':>9}{'depth':>9}{'reclosed':>9}{'chatter':>8}{'force TV':>9}{'active':>7}{'ms/step':>9}"
    )

    def row(self) -> str:
        others = max((v for k, v in self.fall.items() if k not in ("impact", "friction")), default=0.0)
        falls = (self.fall.get("impact", 0.0), self.fall.get("friction", 0.0), others)
        return (
            f"{self.steps:>6}{self.gain:>10.2e}{self.growth:>10.2e}{self.rise:>10.2e}{self.made:>10.2e}{self.loss:>10.2e}"
            + "".join(f"{fall:>10.1e}" for fall in falls)
            + f"{self.scheme:>9.1e}{self.balance:>9.1e}{self.depth:>9.2g}{self.reclosed:>9}{self.chatter:>8}"
            f"{self.variation:>9.3g}{self.active:>7.3g}{1e3 * self.seconds:>9.3g}"
        )


def measure(result: xarray.DataTree) -> Measures:
    """Measures of a result whose fields are kept at every step."""
    energy = result["energy"]
    kinds = list(energy["kind"].values)
    table = {kind: energy.sel(kind=kind).values for kind in kinds}
    stored = sum(table[kind] for kind in ("kinetic", "strain", "asperity") if kind in table)
    largest = max(float(np.abs(energy.values).max()), float(np.abs(stored).max()), np.finfo(float).tiny)
    rest = (stored - table["external_work"]) / largest
    touches = [group.dataset for path, group in result.subtree_with_keys if path.startswith("interface/")]
    closed = [touch["pressure"].values[1:] > 0.0 for touch in touches]
    forces = np.concatenate([touch["force"].values[1:] for touch in touches], axis=1)
    return Measures(
        steps=len(rest) - 1,
        gain=float((rest - rest[0]).max()),
        growth=float((rest - rest[0]).max() * largest / max(abs(float(stored[0])), np.finfo(float).tiny)),
        rise=float((rest - np.minimum.accumulate(rest)).max()),
        made=float((rest - rest[0] + (table["scheme"] - table["scheme"][0]) / largest).max()),
        loss=float(rest[0] - rest[-1]),
        fall={kind: max(0.0, float(-np.diff(table[kind]).min() / largest)) for kind in GROWING if kind in table},
        scheme=float(np.abs(table["scheme"]).max() / largest),
        balance=float(np.abs(result["balance"]).max()),
        depth=-min(float(touch["gap_min"].min()) for touch in touches),
        reclosed=sum(int((own[1:] & ~own[:-1] & np.logical_or.accumulate(own)[:-1]).sum()) for own in closed),
        chatter=sum(int((own[2:] & ~own[1:-1] & own[:-2]).sum()) for own in closed),
        variation=total_variation(forces),
        active=float(np.mean(sum(own.sum(axis=1) for own in closed))),
        seconds=float(result.attrs["wall_time_per_step"]),
    )


def total_variation(forces: Any) -> float:
    """Σ ‖ΔF‖ of forces (t, a) over the largest ‖F‖; 0 without contact."""
    largest = float(np.linalg.norm(forces, axis=1).max())
    return float(np.linalg.norm(np.diff(forces, axis=0), axis=1).sum() / largest) if largest > 0.0 else 0.0


def run(study: aq.Study) -> tuple[xarray.DataTree, Measures]:
    """The result of a study, with its fields at every step, and what is measured of it."""
    result = replace(study, fields_every=1).run()
    return result, measure(result)


# ------------------------------------------------------------------------------------------------------------ sliders


def bent(mesh: Any, curvature: float) -> Any:
    """The mesh with its lower face bent by curvature × (distance from its middle)², fading out to its top."""
    p = mesh.p.copy()
    across = np.delete(p, 1, axis=0)
    middle = 0.5 * (across.min(axis=1) + across.max(axis=1))[:, None]
    low, high = p[1].min(), p[1].max()
    p[1] += curvature * ((across - middle) ** 2).sum(axis=0) * (high - p[1]) / (high - low)
    return replace(mesh, doflocs=p)


def pressed(mesh: Any, load: float, **options: Any) -> aq.Solid:
    """The slider under a uniform pressure on its top, Pa."""
    axes = mesh.dim()
    force = (0.0, -load, 0.0)[:axes]
    return aq.Solid("slider", mesh, SOFT, plane="strain" if axes == 2 else None, tractions={"top": force}, **options)


def wavy(length: float = 4.0, height: float = 0.01, wave: float = 0.4, facets: int = 16) -> aq.RigidPolyline:
    """A rigid floor y = height (cos 2πx/wave − 1) of so many straight facets a wave; its solid is below."""
    x = np.linspace(-0.5, length - 0.5, round(length / wave * facets) + 1)[::-1]
    return aq.RigidPolyline(np.stack([x, height * (np.cos(2.0 * np.pi * x / wave) - 1.0)], axis=1))


OBSTACLES: dict[str, Callable[[float], Any]] = {  # over the place x of the slider's middle at the start
    "circle": lambda x: aq.RigidSphere((x, -2.0), 2.0),
    "large circle": lambda x: aq.RigidSphere((x + 0.4, -4.0), 4.0),
    "bowl": lambda x: aq.RigidSphere((x + 0.4, 2.0), 2.0, inside=True),
    "wavy": lambda x: wavy(),
    "short waves": lambda x: wavy(height=0.02, wave=0.2, facets=8),
}


def lowered(mesh: Any, obstacle: Any) -> Any:
    """The mesh moved down until its lower face touches the obstacle."""
    floor = np.unique(mesh.facets[:, mesh.boundaries["bottom"]])

    def gap(height: float) -> float:
        return float(obstacle.closest(np.ascontiguousarray(mesh.p[:, floor].T) + np.array([0.0, height]))[0].min())

    high = brentq(gap, -1.0, 1.0, xtol=1e-15)
    return replace(mesh, doflocs=mesh.p + np.array([[0.0], [high + max(0.0, -gap(high))]]))


def slider(
    *,
    multiplier: str | None = None,
    curvature: float = 0.4,
    kind: str = "quad",
    size: float = 0.05,
    courant: float = 10.0,
    load: float = 2e-3,
    duration: float = 40.0,
    scheme: Any = None,
    law: Any = None,
    friction: float | None = None,
    master: str = "base",
    slave: str = "slider",
    place: float = 0.3,
    start: str = "sudden",
    stabilised: bool = False,
    wear: Any = None,
    mass: str = "consistent",
    kinematics: str = "small",
) -> aq.Study:
    """The slider of the plane. size: of the base's cells, m; place: of its left end at the start; courant: Δt c_p/size.

    start: "sudden": unstrained, the load not yet felt; "rest": in equilibrium under its load, but that the slider moves
    and the dent under it does not; "gliding": in equilibrium, and the dent moves on with it, so that nothing strikes.
    """
    count = round(0.05 / size)
    mesh = bent(aq.mesh.rectangle((place, place + SIDE), (0.0, SIDE), cells=(11 * count,) * 2, kind=kind), curvature)
    block = pressed(mesh, load, mass=mass, kinematics=kinematics)
    if master == "base":
        low = aq.mesh.rectangle((0.0, 3.0), (-0.6, 0.0), cells=(60 * count, 12 * count), kind=kind)
        fixed = {"bottom": {"x": 0.0, "y": 0.0}}
        base = aq.Solid("base", low, SOFT, plane="strain", imposed=fixed, mass=mass)
        parts = [base, block]
        sides = block.boundary("bottom"), base.boundary("top")
        sides = sides if slave == "slider" else sides[::-1]
    else:
        obstacle = OBSTACLES[master](place + 0.5 * SIDE)
        block = replace(block, mesh=lowered(mesh, obstacle))
        parts = [block]
        sides = block.boundary("bottom"), obstacle
    rubbing = None if friction is None else aq.Coulomb(friction)
    touch = aq.Interface("touch", *sides, law or aq.Unilateral(), rubbing, multiplier=multiplier, wear=wear)
    method = aq.ContactMethod(stabilised=stabilised)
    system = aq.System(parts, interfaces=[touch], velocity={"slider": (SPEED, 0.0)}, contact=method)
    step = courant * size / WAVE
    if start != "sudden":
        system = replace(system, displacement=settled(system))
    if start == "gliding":
        way = 0.5 * size
        there, back = (
            settled(
                slider(
                    curvature=curvature, kind=kind, size=size, load=load, master=master, slave=slave,
                    place=place + shift, multiplier=multiplier, stabilised=stabilised,
                ).system
            )
            for shift in (way, -way)
        )  # fmt: skip
        velocity = {name: SPEED * (there[name] - back[name]) / (2.0 * way) for name in there}
        velocity["slider"] = velocity["slider"] + np.array([SPEED, 0.0])
        system = replace(system, velocity=velocity)
    return aq.Study(system, scheme or aq.Theta(0.5), duration, step)


def slider3d(
    *,
    curvature: float = 0.4,
    multiplier: str | None = None,
    kind: str = "hex",
    cells: int = 4,
    courant: float = 10.0,
    load: float = 2e-3,
    duration: float = 40.0,
    scheme: Any = None,
    friction: float | None = None,
    start: str = "sudden",
) -> aq.Study:
    """The slider in space: 0.5³ on a base 1.6 × 0.4 × 0.8, askew to it, with `cells` cells along its edge."""
    ends = (0.15, 0.15 + SIDE)
    high = aq.mesh.box(ends, (0.0, SIDE), ends, cells=(cells,) * 3, kind=kind)
    size = 0.8 / round(0.8 / SIDE * (cells + 1) - 1)
    count = round(0.8 / size)
    low = aq.mesh.box((0.0, 1.6), (-0.4, 0.0), (0.0, 0.8), cells=(2 * count, max(2, count // 2), count), kind=kind)
    base = aq.Solid("base", low, SOFT, imposed={"bottom": {"x": 0.0, "y": 0.0, "z": 0.0}})
    block = pressed(bent(high, curvature), load)
    rubbing = None if friction is None else aq.Coulomb(friction)
    touch = aq.Interface(
        "touch", block.boundary("bottom"), base.boundary("top"), aq.Unilateral(), rubbing, multiplier=multiplier
    )
    system = aq.System([base, block], interfaces=[touch], velocity={"slider": (SPEED, 0.0, 0.1 * SPEED)})
    step = courant * size / WAVE
    if start == "rest":
        system = replace(system, displacement=settled(system))
    return aq.Study(system, scheme or aq.Theta(0.5), duration, step)


def settled(system: aq.System) -> dict[str, Any]:
    """Displacements (n, a) of the parts in equilibrium under the loads, without friction; a weak spring holds the
    slider's top along the horizontal axes meanwhile, and the load grows from zero, as statics asks."""
    (touch,) = system.interfaces
    parts = {part.name: part for part in system.parts}
    block = parts["slider"]
    force = np.array(block.tractions["top"])[:, None]
    parts["slider"] = replace(block, tractions={"top": lambda x, t: force * t * np.ones((1, x.shape[1]))})
    hold = aq.Spring("hold", parts["slider"].boundary("top"), stiffness=(1e-3, 0.0, 1e-3)[: block.components])

    def moved(side: Any) -> Any:
        return parts[side.part.name].boundary(side.name) if hasattr(side, "part") else side

    quiet = replace(
        touch,
        slave=moved(touch.slave),
        master=moved(touch.master),
        normal=aq.Unilateral(level="gap"),
        friction=None,
        wear=None,
    )
    still = replace(system, parts=list(parts.values()), interfaces=[quiet], springs=[hold], velocity=None)
    result = aq.simulate(still, aq.Static(), duration=1.0, step=0.25)
    return {name: result[f"part/{name}"]["displacement"].values[-1] for name in parts}


BENT = {
    "bent": {},
    "bent-nodes": {"multiplier": "nodes"},
    "bent-P0": {"multiplier": "P0"},
    "bent-gauss": {"multiplier": "gauss", "stabilised": True},
    "bent-tri": {"kind": "tri"},
    "bent-fine": {"size": 0.025, "courant": 20.0},
    "bent-hard": {"load": 2e-2, "duration": 80.0},
    "bent-courant-3": {"courant": 3.0},
    "bent-courant-1": {"courant": 1.0},
    "bent-by-base": {"slave": "base"},
    "bent-gap": {"law": aq.Unilateral(level="gap")},
    "bent-rough": {"friction": 0.3},
    "bent-layer": {"law": [aq.Asperities(10.0, 2.0, 0.01), aq.Unilateral()]},
    "bent-worn": {"friction": 0.1, "wear": aq.Archard(0.1)},
    "bent-finite": {"kinematics": "finite"},
    "bent-rest": {"start": "rest"},
    "bent-nodes-rest": {"start": "rest", "multiplier": "nodes"},
    "bent-rest-half": {"start": "rest", "courant": 5.0},
    "bent-rest-quarter": {"start": "rest", "courant": 2.5},
    "glide": {"start": "gliding", "place": 0.8},
    "glide-nodes": {"start": "gliding", "place": 0.8, "multiplier": "nodes"},
    "glide-P0": {"start": "gliding", "place": 0.8, "multiplier": "P0"},
    "glide-by-base": {"start": "gliding", "place": 0.8, "slave": "base"},
    "glide-half": {"start": "gliding", "place": 0.8, "courant": 5.0},
    "glide-quarter": {"start": "gliding", "place": 0.8, "courant": 2.5},
    "glide-fine": {"start": "gliding", "place": 0.8, "size": 0.025, "courant": 20.0},
    "glide-hard": {"start": "gliding", "place": 0.8, "load": 2e-2},
    "glide-flat": {"start": "gliding", "place": 0.8, "curvature": 0.0},
    "glide-flat-nodes": {"start": "gliding", "place": 0.8, "curvature": 0.0, "multiplier": "nodes"},
    "glide-bowl": {"start": "gliding", "master": "bowl"},
    "glide-circle": {"start": "gliding", "master": "circle"},
    "flat": {"curvature": 0.0},
    "flat-nodes": {"curvature": 0.0, "multiplier": "nodes"},
    "flat-courant-3": {"curvature": 0.0, "courant": 3.0},
    "flat-rest": {"curvature": 0.0, "start": "rest"},
    "circle": {"master": "circle", "curvature": 0.0},
    "circle-P1": {"master": "circle", "curvature": 0.0, "multiplier": "P1"},
    "circle-bent": {"master": "large circle"},
    "circle-rough": {"master": "large circle", "friction": 0.2},
    "bowl": {"master": "bowl"},
    "wavy": {"master": "wavy", "curvature": 0.0},
    "wavy-P1": {"master": "wavy", "curvature": 0.0, "multiplier": "P1"},
    "wavy-short": {"master": "short waves"},
    "wavy-rough": {"master": "wavy", "curvature": 0.0, "friction": 0.2},
    "scheme-theta-0.55": {"scheme": aq.Theta(0.55)},
    "scheme-theta-1": {"scheme": aq.Theta(1.0)},
    "scheme-newmark": {"scheme": aq.Newmark()},
    "scheme-newmark-0.6": {"scheme": aq.Newmark(0.3025, 0.6)},
    "scheme-hht": {"scheme": aq.HHT(-0.05)},
    "scheme-alpha": {"scheme": aq.GeneralisedAlpha.with_radius(0.8)},
    "scheme-central": {"scheme": aq.CentralDifference(), "courant": 0.4, "duration": 12.0, "mass": "lumped"},
}  # fmt: skip
SPACE = {
    "space-flat": {"curvature": 0.0},
    "space-bent": {},
    "space-bent-nodes": {"multiplier": "nodes"},
    "space-bent-tet": {"kind": "tet"},
    "space-bent-rest": {"start": "rest"},
    "space-bent-rough": {"friction": 0.3},
}
CASES: dict[str, Callable[[], aq.Study]] = {
    **{name: lambda options=options: slider(**options) for name, options in BENT.items()},
    **{name: lambda options=options: slider3d(**options) for name, options in SPACE.items()},
}


def main(patterns: list[str]) -> None:
    """Runs the cases whose names match and prints a row each."""
    names = [name for name in CASES if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    if not names:
        print("\n".join(CASES))
        return
    print(f"{'case':<20}{Measures.HEAD}")
    for name in names:
        begin = clock.perf_counter()
        try:
            print(f"{name:<20}{run(CASES[name]())[1].row()}", flush=True)
        except aq.UserError as error:
            print(f"{name:<20} refused after {clock.perf_counter() - begin:.3g} s: {error}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
