"""A cylinder hits a rigid block: the contact force of θ-scheme and Newmark, fine at the contact or everywhere.

Plane strain, the thesis's section 5.2.2. The disc is the image of a square: (u, v) ∈ [−1, 1]² goes to
R (u √(1 − v²/2), 1 + v √(1 − u²/2)), so that rows of cells, v constant, follow the contact arc at the bottom (± 45°).
With `arlequin` the lowest rows are a fine part, the rows above a coarse one; both are glued over the rows that they
share, which end at the free surface far from the contact, and the coarse part is absent at the contact.

Forces are compared as means over a window. While the edge of the contact outruns the waves, up to its half-width
R V/c, it sends out a front of that size. Where the coarse cells are larger, forces are compared step by step; a sharper
front crosses the disc as a wave packet that no two meshes disperse alike, and forces are means over the time in which a
wave crosses eight coarse cells (which carry longer waves to 3 % of their speed). Such means say nothing of oscillation
within the window, which is checked step by step only. At 500 m/s the defaults differ from all fine by 0.4 % in these
means, but step by step by 2.5 % (L2) and 2.8 % (peak): the front that returns from the far side is dispersed.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
import xarray
from numpy.typing import NDArray

import arlequin as aq
from cases.choices import MassName, laws_of, scheme_of
from cases.comparison import Check
from cases.impact import energy_checks, momentum_check
from cases.parameters import Quantity
from cases.reference.measures import total_variation
from models.checks import finite, non_negative, positive, positive_integer, within

# the midpoint scheme is for bars: its massless contact points must not act on each other
SolidScheme = Literal[
    "theta", "newmark", "hht", "modified-mean-acceleration", "generalised-alpha", "central-difference"
]  # fmt: skip
CARRIED = 8.0  # coarse cells a wave: the speed of such a wave is off by (2π/8)²/24 < 3 %
AGREEMENT = 0.01  # of the glued with the all-fine force
LARGEST_FREE = 0.8  # of the radius: the glued rows stay below the middle of the disc


@dataclass(frozen=True)
class Parameters:
    """A steel cylinder of radius 20 mm at 10 m/s (the thesis shows 500 m/s, too); it has left the block at 40 µs."""

    arlequin: Annotated[bool, Quantity("", "fine at the contact, coarse elsewhere; false: fine everywhere")] = True
    radius: Annotated[float, Quantity("m", "radius of the cylinder", positive)] = 0.02
    young: Annotated[float, Quantity("Pa", "Young's modulus", positive)] = 2.0e11
    poisson: Annotated[float, Quantity("", "Poisson's ratio", within, 0.0, 0.499)] = 0.3
    density: Annotated[float, Quantity("kg/m3", "density", positive)] = 7800.0
    velocity: Annotated[float, Quantity("m/s", "velocity towards the block", positive)] = 10.0
    tangential: Annotated[float, Quantity("m/s", "velocity along the block", finite)] = 0.0
    gap: Annotated[float, Quantity("m", "distance at the start", non_negative)] = 0.0
    size: Annotated[float, Quantity("m", "fine cells", positive)] = 2.5e-4
    ratio: Annotated[int, Quantity("", "coarse cells in fine ones", positive_integer)] = 4
    free: Annotated[float, Quantity("m", "depth over which the fine part is alone", positive)] = 3e-3
    overlap: Annotated[float, Quantity("m", "height of the gluing zone", positive)] = 1e-3
    absorbing: Annotated[bool, Quantity("", "take away the waves that the coarse cells cannot carry")] = False
    law: Annotated[
        Literal["unilateral", "unilateral-velocity", "penalty", "penalty-velocity", "asperities", "multilevel"],
        Quantity("", "contact law"),
    ] = "unilateral-velocity"
    penalty_stiffness: Annotated[float, Quantity("Pa/m", "stiffness of law=penalty", positive)] = 1e15
    penalty_viscosity: Annotated[float, Quantity("Pa s/m", "viscosity of law=penalty-velocity", positive)] = 4e9
    asperity_stiffness: Annotated[float, Quantity("Pa/m^m", "κ of p = κ⟨a − g⟩^m", positive)] = 1e14
    asperity_exponent: Annotated[float, Quantity("", "m", within, 1.0, 100.0)] = 1.0
    asperity_height: Annotated[float, Quantity("m", "a", non_negative)] = 1e-5
    asperity_damping: Annotated[float, Quantity("Pa s/m^(1+m')", "c of c⟨a − g⟩^m' ⟨−ġ⟩", non_negative)] = 0.0
    asperity_damping_exponent: Annotated[float, Quantity("", "m'", non_negative)] = 0.0
    friction: Annotated[float, Quantity("", "Coulomb's coefficient", non_negative)] = 0.0
    scheme: Annotated[SolidScheme, Quantity("", "time scheme")] = "theta"
    theta: Annotated[float, Quantity("", "θ of the θ-scheme", within, 0.5, 1.0)] = 0.5
    mass: Annotated[MassName, Quantity("", "mass matrix of both parts")] = "consistent"
    courant: Annotated[float, Quantity("", "c Δt/h of the fine cells", positive)] = 1.0
    duration: Annotated[float, Quantity("s", "end of the run", positive)] = 4e-5
    fields_every: Annotated[int, Quantity("", "steps between two recorded fields", positive_integer)] = 20

    def __post_init__(self) -> None:
        if self.law in ("asperities", "multilevel") and self.gap < self.asperity_height:
            raise aq.UserError.parameter(
                "gap",
                self.gap,
                f"must be at least asperity_height = {self.asperity_height:g}, or asperities start crushed",
            )
        if self.free + self.overlap > LARGEST_FREE * self.radius:
            raise aq.UserError.parameter(
                "free",
                self.free,
                f"must be at most 0.8 radius − overlap = {LARGEST_FREE * self.radius - self.overlap:g}",
            )


def wave_speed(parameters: Parameters) -> float:
    """Speed of plane dilatational waves, m/s."""
    p = parameters
    return float(np.sqrt(p.young * (1 - p.poisson) / ((1 + p.poisson) * (1 - 2 * p.poisson)) / p.density))


@dataclass(frozen=True)
class Rows:
    """Fine cells along a side of the square, rows of them below the zone, coarse rows in the zone."""

    side: int
    free: int
    glued: int

    @classmethod
    def of(cls, parameters: Parameters) -> "Rows":
        """All in whole coarse cells."""
        p = parameters
        coarse = p.ratio * p.size
        return cls(
            p.ratio * max(2, round(2 * p.radius / coarse)),
            p.ratio * max(1, round(p.free / coarse)),
            max(1, round(p.overlap / coarse)),
        )


def disc(radius: float, low: int, high: int, side: int, ratio: int = 1) -> Any:
    """The rows low … high (in fine cells, of `side` in all) of the disc, its cells `ratio` fine ones wide.

    The boundary "bottom" of the lowest rows is the contact arc.
    """
    v = (-1.0 + 2.0 * low / side, -1.0 + 2.0 * high / side)
    mesh = aq.mesh.rectangle((-1.0, 1.0), v, cells=(side // ratio, (high - low) // ratio))
    x, y = mesh.p
    return replace(mesh, doflocs=radius * np.stack([x * np.sqrt(1 - y**2 / 2), 1 + y * np.sqrt(1 - x**2 / 2)]))


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    rows = Rows.of(p)
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)

    def solid(name: str, *which: int) -> aq.Solid:
        return aq.Solid(name, disc(p.radius, *which), material, plane="strain", mass=p.mass)

    junctions = []
    if p.arlequin:
        coarse = solid("coarse", rows.free, rows.side, rows.side, p.ratio)
        fine = solid("fine", 0, rows.free + p.ratio * rows.glued, rows.side)
        # cells are numbered row by row or column by column: the zone is told by where its cells were in the square
        square = aq.mesh.rectangle((0, 1), (0, 1), cells=(rows.side // p.ratio, (rows.side - rows.free) // p.ratio))
        height = rows.glued * p.ratio / (rows.side - rows.free)
        glued = np.flatnonzero(square.p[1, square.t].mean(axis=0) < height)
        zone = aq.Cells(glued.tolist(), inner="bottom")
        absorber = aq.Absorber() if p.absorbing else None
        junctions = [aq.Junction(coarse, fine, zone=zone, absorbing=absorber)]
        parts = [coarse, fine]
    else:
        parts = [solid("fine", 0, rows.side, rows.side)]
    block = aq.RigidPlane(point=(0.0, -p.gap), normal=(0.0, 1.0))
    friction = aq.Coulomb(p.friction) if p.friction > 0.0 else None
    contact = aq.Interface("contact", parts[-1].boundary("bottom"), block, laws_of(p), friction=friction)
    system = aq.System(parts, junctions, [contact], velocity=(p.tangential, -p.velocity))
    return aq.Study(system, scheme_of(p.scheme, p.theta), p.duration, step(p), p.fields_every)


def step(parameters: Parameters) -> float:
    """Δt, s."""
    return parameters.courant * parameters.size / wave_speed(parameters)


def window(parameters: Parameters) -> int:
    """Steps over which forces are averaged before they are compared (module docstring)."""
    p = parameters
    coarse = p.ratio * p.size
    front = p.radius * p.velocity / wave_speed(p)
    return 1 if front <= coarse else max(1, round(CARRIED * p.ratio / p.courant))


def force_means(result: xarray.DataTree, steps: int = 1) -> NDArray[np.float64]:
    """Normal contact force (n,), N/m, as means over so many steps each."""
    force = result["interface/contact"].dataset["force"].sel(component="y").values[1:]
    padded = np.pad(force, (0, -force.size % steps))
    return np.asarray(padded.reshape(-1, steps).mean(axis=1))


def roughness(force: NDArray[np.float64]) -> float:
    """Total variation of a force over that of one rise to its peak and one fall: 1 without oscillation."""
    peak = float(force.max(initial=0.0))
    return total_variation(np.append(force, 0.0), 2.0 * peak) if peak > 0.0 else 1.0


def all_fine(parameters: Parameters) -> xarray.DataTree:
    """The all-fine model under the same parameters."""
    return _run(replace(parameters, arlequin=False))


def newmark(parameters: Parameters) -> xarray.DataTree:
    """The usual choice: Newmark's scheme, (1/4, 1/2), contact on the gap."""
    return _run(replace(parameters, scheme="newmark", law="unilateral"))


@lru_cache(maxsize=3)
def _run(parameters: Parameters) -> xarray.DataTree:
    return build(parameters).run()


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p = parameters
    force = force_means(result, window(p))
    checks = []
    if p.arlequin:
        fine = force_means(all_fine(p), window(p))
        distance = float(np.linalg.norm(force - fine) / np.linalg.norm(fine)) if fine.any() else float("nan")
        span = window(p) * step(p)
        checks += [
            Check("contact force against the all-fine model, L2", distance, 0.0, AGREEMENT, "1", "at most"),
            Check("largest contact force", float(force.max()), float(fine.max()), AGREEMENT, "N/m"),
            Check("contact impulse", float(force.sum() * span), float(fine.sum() * span), AGREEMENT, "N s/m"),
        ]
    if p.law == "unilateral-velocity" and window(p) == 1:
        checks.append(
            Check("total variation / 2 peak, 1 without oscillation", roughness(force), 1.0, 0.1, "1", "at most")
        )
    parts = ("coarse", "fine") if p.arlequin else ("fine",)
    checks.append(momentum_check(result, parts, ("x", "y"), "contact"))
    return checks + energy_checks(result)


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots
    from cases.impact_figures import force_panels

    p = parameters
    own = {"Arlequin": result, "all fine": all_fine(p)} if p.arlequin else {"all fine": result}
    usual = {"Newmark": newmark(p)}
    name = f"θ = {p.theta:g}, {p.law}" if p.scheme == "theta" else f"{p.scheme}, {p.law}"

    def titled(text: str, tree: xarray.DataTree) -> str:
        return f"{text}: total variation / 2 peak = {roughness(force_means(tree)):.3f}"

    panels = {titled(name, result): own, titled("Newmark, contact on the gap", usual["Newmark"]): usual}
    return {
        "energies": plots.energies(result),
        "force": force_panels(panels, component="y"),
        "shape": plots.shape(result, "velocity", frame=result.sizes["frame"] // 3, component=1),
    }
