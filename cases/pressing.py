"""What cases of pressed bodies share: formulations by name, pressures over the distance, their checks."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.scalar import Scalar
from cases.comparison import Check
from cases.impact import worst_balance
from cases.reference.hertz import LineContact, PressureFit, SphereContact, fit_pressure
from models.part import Surface
from models.types import Array
from multilevel.slave_points import at_gauss_points

Formulation = Literal["lagrangian", "augmented", "stabilised", "penalty", "perturbed-lagrangian"]
Multiplier = Literal["default", "nodes", "gauss", "P0", "P1", "P2"]

STIFF = 1e3  # default penalty in units of E*/b, whose pressure p0 = E* b/2R would press in by b²/2R: a thousandth of it
HALF_SPACE = 0.03  # largest b/R for which half-space theory holds within the tolerance
TOLERANCE = 0.005


def penalised(formulation: Formulation) -> bool:
    """Whether the surfaces may penetrate."""
    return formulation in ("penalty", "perturbed-lagrangian")


def laws_of(formulation: Formulation, penalty: float | None, theory: LineContact | SphereContact) -> dict[str, Any]:
    """The normal law and how it is solved: arguments `normal` of an interface, `contact` of a system.

    penalty (Pa/m): by default 1000 E*/b.
    """
    stiffness = STIFF * theory.modulus / theory.half_width if penalty is None else penalty
    laws: dict[Formulation, Any] = {
        "penalty": aq.Penalty(stiffness),
        "perturbed-lagrangian": aq.PerturbedLagrangian(stiffness),
    }
    methods: dict[Formulation, aq.ContactMethod] = {
        "augmented": aq.ContactMethod("augmented"),
        "stabilised": aq.ContactMethod(stabilised=True),
    }
    return {
        "normal": laws.get(formulation, aq.Unilateral(level="gap")),
        "contact": methods.get(formulation, aq.ContactMethod()),
    }


def multiplier_of(name: Multiplier) -> Any:
    """The interface's multiplier, None where it chooses."""
    return None if name == "default" else name


@dataclass(frozen=True)
class Pressed:
    """The contact after the last step: distances (k,), m, of its points from the axis, pressures (k,), Pa, force, N."""

    distance: Array
    pressure: Array
    force: float

    @classmethod
    def of(cls, result: xarray.DataTree, share: float = 1.0, gauss: Surface | None = None) -> "Pressed":
        """share: of the contact force that the model carries (1/2 of a line contact cut at its plane of symmetry).

        gauss: the slave surface where the points are its Gauss points. Their forces are not unique, those that they
        make at the nodes are: pressures are these, over the areas of the nodes.
        """
        group = result["interface/contact"].dataset
        force = float(group["force"].values[-1, 1]) / share
        places, pressure = group["point_position"].values, group["pressure"].values[-1]
        if gauss is not None:
            points = at_gauss_points(gauss)
            shares = points.weights * (pressure * points.areas)[:, None]
            places = gauss.positions
            pressure = np.bincount(points.nodes.ravel(), shares.ravel(), len(places)) / gauss.areas
        distance = np.linalg.norm(np.delete(places, 1, axis=1), axis=1)
        order = np.argsort(distance)
        return cls(distance[order], pressure[order], force)

    @property
    def fit(self) -> PressureFit:
        """Half-width and peak by the fit of p²."""
        return fit_pressure(self.distance, self.pressure)

    def worst(self, exact: LineContact | SphereContact) -> float:
        """Largest error of the pressures within 0.9 b, over p0: shows multipliers that oscillate."""
        inside = self.distance <= 0.9 * exact.half_width
        error = self.pressure[inside] - exact.pressure(self.distance[inside])
        return float(np.abs(error).max() / exact.peak)


def tolerance(exact: LineContact | SphereContact, radius: float) -> float:
    """0.5 % up to b/R = 0.03; half-space theory itself is wrong by terms of order (b/R)²."""
    return TOLERANCE * max(1.0, (exact.half_width / radius / HALF_SPACE) ** 2)


def hertz_checks(pressed: Pressed, exact: LineContact | SphereContact, radius: float) -> list[Check]:
    """Peak and half-width against the theory at the force that was found."""
    fit, limit = pressed.fit, tolerance(exact, radius)
    return [
        Check("largest pressure p0", fit.peak, exact.peak, limit, "Pa"),
        Check("half-width of the contact", fit.half_width, exact.half_width, limit, "m"),
    ]


def pressed_scalars(pressed: Pressed) -> dict[str, Scalar]:
    """Of the whole contact, where a half or a quarter is computed; peak and half-width by the fit of p²."""
    fit = pressed.fit
    return {
        "peak_force": Scalar(pressed.force, "N", "contact force"),
        "final_force": Scalar(pressed.force, "N", "contact force"),
        "peak_pressure": Scalar(fit.peak, "Pa", "largest contact pressure"),
        "contact_radius": Scalar(fit.half_width, "m", "half-width of the contact"),
    }


def equilibrium_checks(result: xarray.DataTree, force: float, load: float | None) -> list[Check]:
    """The force is the load, the energies add up, every step has its certificate."""
    checks = [] if load is None else [Check("contact force against the load", force, load, 1e-9, "N")]
    residual = float(result.attrs["contact_residual_worst"])
    return [
        *checks,
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-10, "1", "absolute"),
        Check("complementarity, worst step", residual, 0.0, 1e-10, "1", "at most"),
    ]
