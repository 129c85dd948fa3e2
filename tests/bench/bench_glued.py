"""Steps of glued models against those of the same models all fine, or of their parts alone."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree
from timing import BAR_STEEL as STEEL
from timing import Report, steps_of_studies
from xarray import DataTree

import arlequin as aq
from arlequin import Study
from arlequin.cases import multiscale_bar

WIDTH = 0.01  # of the rounded bar, m


def glued_bar() -> dict[str, float]:
    """A step of the glued model of `multiscale_bar` against the all-fine one."""
    parameters = multiscale_bar.Parameters()
    models = ("arlequin", "fine")
    times = steps_of_studies({m: multiscale_bar.build(replace(parameters, model=m)) for m in models})
    return {**{f"{m} (s)": times[m] for m in models}, "arlequin / fine": times["arlequin"] / times["fine"]}


@dataclass(frozen=True)
class RoundedBar:
    """A steel bar that hits a rough wall with its rounded end at 1 m/s, fine cells everywhere or at that end only.

    10 mm wide (3D: square), radius of the end 0.5 m, asperities of 20 µm and 1e13 Pa/m: the contact widens and the
    force rises over 25 µs, a wave of 0.12 m in the bar. axes: 2 or 3; across: fine cells over the width; ratio: of
    coarse to fine cells. The fine part has two coarse cells' lengths of gluing zone and `free` of free zone, the zone
    of interest: 6 % of the bar in `ROUNDED_BARS`.
    """

    axes: int
    across: int
    ratio: int
    free: int
    length: float = 0.2

    @property
    def size(self) -> float:
        """Fine cells, m."""
        return WIDTH / self.across

    @property
    def interest(self) -> float:
        """Where the zone of interest begins, m."""
        return self.length - self.free * self.ratio * self.size

    def part(self, name: str, start: float, end: float, size: float) -> aq.Solid:
        """The bar from `start` to `end` (m), rounded towards the wall in the second half of the zone of interest."""
        ranges = [(start, end), *[(0.0, WIDTH)] * (self.axes - 1)]
        cells = tuple(round((b - a) / size) for a, b in ranges)
        mesh = aq.mesh.box(*ranges, cells=cells) if self.axes == 3 else aq.mesh.rectangle(*ranges, cells=cells)
        share = np.maximum((2 * mesh.p[0] - self.interest - self.length) / (self.length - self.interest), 0.0)
        places = mesh.p.copy()
        places[0] -= share * ((mesh.p[1:] - WIDTH / 2) ** 2).sum(axis=0) / (2 * 0.5)
        plane = None if self.axes == 3 else "strain"
        return aq.Solid(name, replace(mesh, doflocs=places), STEEL, plane=plane)

    def study(self, model: str, duration: float = 1e-4) -> Study:
        """`model`: "glued" or "fine" (everywhere), with the same scheme and step; some 50 frames."""
        coarse_size = self.ratio * self.size
        junctions = []
        if model == "glued":
            coarse = self.part("coarse", 0.0, self.interest, coarse_size)
            parts = [coarse, self.part("fine", self.interest - 2 * coarse_size, self.length, self.size)]
            junctions = [aq.Junction(*parts)]
        else:
            parts = [self.part("fine", 0.0, self.length, self.size)]
        none, height = [0.0] * (self.axes - 1), 2e-5
        wall = aq.RigidPlane(point=(self.length + height, *none), normal=(-1.0, *none))
        laws = [aq.Asperities(stiffness=1e13, height=height), aq.Unilateral()]
        contact = aq.Interface("contact", parts[-1].boundary("right"), wall, laws)
        system = aq.System(parts, junctions, [contact], velocity=(1.0, *none))
        step = self.size / 5e3
        return aq.Study(system, aq.Theta(0.5), duration, step, fields_every=max(1, round(duration / step / 50)))

    def errors(self, glued: tuple[Study, DataTree], fine: tuple[Study, DataTree]) -> dict[str, float]:
        """Distance (L2 over time and the zone of interest) of the glued from the all-fine model, relative.

        Both have the same cells there: nothing is interpolated. The force is the contact's.
        """
        parts = [study.system.parts[-1] for study, _ in (glued, fine)]
        centres = [part.quadrature_points().mean(axis=2).T for part in parts]
        own = np.flatnonzero(centres[0][:, 0] > self.interest)
        away, same = cKDTree(centres[1]).query(centres[0][own])
        assert away.max() < 1e-6 * self.size
        fields: dict[str, list[np.ndarray]] = {"stress": [], "velocity": [], "contact force": []}
        for part, cells, (_, result) in zip(parts, (own, same), (glued, fine), strict=True):
            motion = result["part/fine"]
            fields["stress"].append(np.array([part.stress(u.ravel())[cells] for u in motion["displacement"].values]))
            fields["velocity"].append(motion["velocity"].values[:, part.mesh.t[:, cells]])
            fields["contact force"].append(result["interface/contact/force"].values[1:])
        return {name: float(np.linalg.norm(a - b) / np.linalg.norm(b)) for name, (a, b) in fields.items()}


ROUNDED_BARS = {"2D": RoundedBar(2, 40, 8, 4), "3D": RoundedBar(3, 12, 4, 2)}


def glued_solids(bars: dict[str, RoundedBar], rounds: int = 2) -> dict[str, dict[str, float]]:
    """What a fine end glued to a coarse bar costs against the bar all fine, and its error in the zone of interest."""
    found = {}
    for name, bar in bars.items():
        studies = {model: bar.study(model) for model in ("glued", "fine")}
        runs: dict[str, list[DataTree]] = {model: [] for model in studies}
        for _ in range(rounds):
            for model, study in studies.items():
                runs[model].append(study.run())
        step, setup = (
            {model: min(float(run.attrs[key]) for run in runs[model]) for model in runs}
            for key in ("wall_time_per_step", "setup_time")
        )
        errors = bar.errors(*((studies[model], runs[model][-1]) for model in ("glued", "fine")))
        found[name] = {
            **{f"dofs, {model}": runs[model][0].attrs["dofs"] for model in runs},
            **{f"{model} (s)": seconds for model, seconds in step.items()},
            "fine / glued": step["fine"] / step["glued"],
            "set-up, fine / glued": setup["fine"] / setup["glued"],
            **{f"error of {what}": error for what, error in errors.items()},
        }
    return found


def coupled_step() -> dict[str, float]:
    """A step of two glued plane solids against the steps of the two alone."""
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0.0, 0.06), (0.0, 0.02), cells=(60, 20)), STEEL, plane="strain")
    fine = aq.Solid("fine", aq.mesh.rectangle((0.055, 0.1), (0.0, 0.02), cells=(180, 80)), STEEL, plane="strain")
    step, none = 1e-7, {"fields_every": 10**6}
    speed = (1.0, 0.0)
    glued = aq.System([coarse, fine], [aq.Junction(coarse, fine)], velocity=speed)
    studies = {
        "coarse": aq.Study(aq.System([coarse], velocity=speed), aq.Theta(0.5), 1e-5, step, **none),
        "fine": aq.Study(aq.System([fine], velocity=speed), aq.Theta(0.5), 1e-5, step, **none),
        "glued": aq.Study(glued, aq.Theta(0.5), 1e-5, step, **none),
    }
    times = steps_of_studies(studies)
    return {f"{name} (s)": t for name, t in times.items()} | {
        "glued / (coarse + fine)": times["glued"] / (times["coarse"] + times["fine"])
    }


def glued() -> Report:
    """`multiscale_bar`, rounded bars in 2D and 3D, and two plane blocks."""
    return {
        "multiscale_bar": glued_bar(),
        **{f"rounded bar, {axes}": figures for axes, figures in glued_solids(ROUNDED_BARS).items()},
        "two blocks": coupled_step(),
    }
