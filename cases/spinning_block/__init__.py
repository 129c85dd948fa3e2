"""Free rotation of an elastic block about its intermediate axis: drift of energy and momenta over 10⁴ steps.

Without loads, energy, momentum and angular momentum are conserved. Rotation about the axis of the intermediate moment
of inertia is unstable: the block turns over periodically. It is initially unstrained, so that energy and momenta are
those of the rigid block in closed form.

Over 10⁴ steps of 0.1 rad the midpoint scheme conserves energy and angular momentum to 6e-13 and 4e-13. The drift of
Newmark's trapezoidal rule is 0.9 % and 0.5 %; in steps of 0.25 rad its energy grows 900-fold within 138 steps, and the
next step has no solution.

Source of the conserving scheme: Simo & Tarnow, ZAMP 43, 1992; Gonzalez, CMAME 190, 2000.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import comparison
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.impact import worst_balance
from arlequin.cases.shared.vocabulary import Density, FieldsEvery, ThetaValue, Young, scheme_of
from arlequin.models.checks import non_negative, positive, positive_integer, within
from arlequin.models.types import Array

SCHEMES = ("midpoint", "theta", "newmark", "central-difference")


@dataclass(frozen=True)
class Parameters:
    """A block of soft rubber, 0.3 × 0.2 × 0.1 m, at 20 rad/s: 10⁴ steps of 0.1 rad, 160 turns."""

    law: Annotated[Literal["neo-hooke", "svk"], Quantity("", "neo-Hookean or St. Venant–Kirchhoff material")] = (
        "neo-hooke"
    )
    young: Young = 1e6
    poisson: Annotated[float, Quantity("", "Poisson's ratio", within, 0.0, 0.499)] = 0.3
    density: Density = 1000.0
    length: Annotated[float, Quantity("m", "size along x", positive)] = 0.3
    height: Annotated[float, Quantity("m", "size along y, the axis of rotation", positive)] = 0.2
    depth: Annotated[float, Quantity("m", "size along z", positive)] = 0.1
    cells: Annotated[int, Quantity("", "cells over the depth", positive_integer)] = 1
    spin: Annotated[float, Quantity("rad/s", "angular velocity about y", positive)] = 20.0
    tilt: Annotated[
        float, Quantity("", "components of the angular velocity along x and z, relative to that along y", non_negative)
    ] = 0.02
    velocity: Annotated[float, Quantity("m/s", "velocity of the centre along x", non_negative)] = 0.0
    turn: Annotated[float, Quantity("rad", "rotation of the block per step", positive)] = 0.1
    steps: Annotated[int, Quantity("", "number of steps", positive_integer)] = 10_000
    scheme: Annotated[Literal["midpoint", "theta", "newmark", "central-difference"], Quantity("", "time scheme")] = (
        "midpoint"
    )
    theta: ThetaValue = 0.55
    fields_every: FieldsEvery = 20


@dataclass(frozen=True)
class Invariants:
    """Invariants: energy, J; momentum (3,), kg·m/s; angular momentum (3,) about the centre, kg·m²/s."""

    energy: float
    momentum: Array
    moment: Array


def _counts(parameters: Parameters) -> Array:
    """Number of cells along each axis, for nearly cubic cells."""
    p = parameters
    sizes = np.array([p.length, p.height, p.depth])
    return np.maximum(np.round(sizes / p.depth * p.cells), 1).astype(int)


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    x, y, z = [(-0.5 * size, 0.5 * size) for size in (p.length, p.height, p.depth)]
    mesh = aq.mesh.box(x, y, z, cells=tuple(_counts(p).tolist()))
    law: Any = {"neo-hooke": aq.NeoHooke, "svk": aq.LinearElastic}[p.law](p.young, p.poisson, p.density)
    # central differences require lumped masses
    mass = "lumped" if p.scheme == "central-difference" else "consistent"
    block = aq.Solid("block", mesh, law, kinematics="finite", mass=mass)
    velocity = np.array([p.velocity, 0.0, 0.0])

    def start(x: Array) -> Array:
        return np.cross(_spin(p), x) + velocity

    system = aq.System([block], velocity=start)
    step = p.turn / p.spin
    return aq.Study(system, scheme_of(p.scheme, p.theta), p.steps * step, step, p.fields_every)


def _spin(parameters: Parameters) -> Array:
    """ω (3,), rad/s."""
    return parameters.spin * np.array([parameters.tilt, 1.0, parameters.tilt])


def reference(parameters: Parameters) -> Invariants:
    """½ m v² + ½ ω·Jω, m v and Jω of the rigid block, J_x = m (⟨y²⟩ + ⟨z²⟩).

    ⟨x²⟩ = a²/12; masses lumped at the nodes of a grid of spacing h have a²/12 + h²/6, the trapezoidal rule.
    """
    p = parameters
    sizes = np.array([p.length, p.height, p.depth])
    square = sizes**2 / 12
    if p.scheme == "central-difference":
        square = square + (sizes / _counts(p)) ** 2 / 6
    mass, spin = p.density * float(sizes.prod()), _spin(p)
    moment = mass * (square.sum() - square) * spin
    momentum = mass * np.array([p.velocity, 0.0, 0.0])
    return Invariants(0.5 * mass * p.velocity**2 + 0.5 * float(spin @ moment), momentum, moment)


@dataclass(frozen=True)
class InvariantDrift:
    """Energy (t,) and momentum (t, 3) of each step, angular momentum (f, 3) of each frame, as in `Invariants`."""

    energy: Array
    momentum: Array
    moment: Array
    exact: Invariants
    mass: float

    @classmethod
    def of(cls, result: xarray.DataTree, parameters: Parameters) -> "InvariantDrift":
        """Drift from the energies, and from the fields and the mass matrix."""
        part = build(parameters).system.parts[0]
        mass, group = part.assemble().mass, result["part/block"].dataset
        x = part.positions + group["displacement"].values
        v = group["velocity"].values
        p = np.array([(mass @ velocity.ravel()).reshape(-1, 3) for velocity in v])
        centre = np.asarray(mass.sum(axis=1)).reshape(-1, 3)[:, 0]
        arm = x - (centre @ x / centre.sum())[:, None]
        energy = result.dataset["energy"].sel(kind=["kinetic", "strain"]).values.sum(axis=-1)
        moment = np.cross(arm, p).sum(axis=1)
        return cls(energy, group["momentum"].values, moment, reference(parameters), float(centre.sum()))

    @property
    def of_energy(self) -> Array:
        """Change (t,) of the energy, relative."""
        return self.energy / self.exact.energy - 1.0

    @property
    def of_momentum(self) -> float:
        """Largest change of the momentum, relative to √(2 m E)."""
        size = np.sqrt(2.0 * self.mass * self.exact.energy)
        return float(np.linalg.norm(self.momentum - self.exact.momentum, axis=1).max() / size)

    @property
    def of_moment(self) -> Array:
        """Change (f,) of the vector of angular momentum, relative."""
        return np.asarray(np.linalg.norm(self.moment - self.exact.moment, axis=1) / np.linalg.norm(self.exact.moment))


def turned_over(result: xarray.DataTree, parameters: Parameters) -> int:
    """Number of changes of side of the block's axis y with respect to the plane normal to the angular momentum."""
    x = build(parameters).system.parts[0].positions
    end_nodes = [int(np.argmin(np.abs(x - [0.0, side * parameters.height / 2, 0.0]).sum(axis=1))) for side in (1, -1)]
    positions = x + result["part/block"].dataset["displacement"].values
    projection = (positions[:, end_nodes[0]] - positions[:, end_nodes[1]]) @ reference(parameters).moment
    return int(np.count_nonzero(np.diff(np.sign(projection))))


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the conserved quantities of the scheme: midpoint all, central differences the momenta, Newmark
    momentum.

    For θ > ½ the energy must not grow.
    """
    p, drift = parameters, InvariantDrift.of(result, parameters)
    # strains are differences of displacements: their round-off grows with the displacement of the centre
    exact = 1e-11 * (1.0 + p.velocity * p.steps * p.turn / p.spin / p.length)
    checks = [
        Check("momentum, largest change", drift.of_momentum, 0.0, exact, "1", "at most"),
        Check("energy balance, worst step", worst_balance(result), 0.0, exact, "1", "at most"),
    ]
    if p.scheme == "theta" and p.theta > 0.5:
        rise = float(np.diff(drift.energy).max() / drift.exact.energy)
        return [*checks, Check("energy, largest rise in a step", rise, 0.0, 1e-12, "1", "at most")]
    if p.scheme == "newmark":
        return checks
    energy_change = float(np.abs(drift.of_energy).max())
    energy_limit = exact if p.scheme != "central-difference" else 0.02
    return [
        *checks,
        Check("angular momentum, largest change", float(drift.of_moment.max()), 0.0, exact, "1", "at most"),
        Check("energy, largest change", energy_change, 0.0, energy_limit, "1", "at most"),
    ]


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """Other schemes over the same steps."""
    variants: list[Parameters] = [replace(parameters, scheme=name) for name in SCHEMES]  # type: ignore[arg-type]
    return {p.scheme: p for p in variants if p.scheme != parameters.scheme}


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars of the drift of the invariants, exact initially."""
    drift = InvariantDrift.of(result, parameters)
    return {
        "energy_drift": aq.Scalar(np.abs(drift.of_energy).max(), "1", "largest change of the energy"),
        "momentum_drift": aq.Scalar(drift.of_momentum, "1", "largest change of the momentum"),
        "angular_momentum_drift": aq.Scalar(drift.of_moment.max(), "1", "largest change of the angular momentum"),
        "turnovers": aq.Scalar(turned_over(result, parameters), "1", "number of turn-overs"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    """Drifts of this run, and of the other schemes over the same steps."""
    from arlequin import plots
    from arlequin.cases.spinning_block.plots import drifts

    variants = comparisons(result, parameters)
    drifts_by_name = {}
    for name in SCHEMES:
        # a scheme may become unstable: only the steps before divergence
        run = result if parameters.scheme == name else comparison(build, variants, name, partial=True)
        if run is not None:
            drift = InvariantDrift.of(run, variants.get(name, parameters))
            drifts_by_name[name if name != "theta" else f"θ = {parameters.theta:g}"] = (run, drift)
    return {"energies": plots.energies(result), "drifts": drifts(drifts_by_name, parameters.spin)}
