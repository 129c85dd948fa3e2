"""Hertzian contact cases: formulations by name, contact pressures, checks and figures."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.reference.cattaneo import PartialSlip
from arlequin.cases.reference.hertz import LineContact, PressureFit, SphereContact, fit_pressure
from arlequin.cases.shared.impact import worst_balance
from arlequin.models.part import Surface
from arlequin.models.types import Array
from arlequin.multilevel.pairing.collocation import at_gauss_points
from arlequin.plots import style
from arlequin.results.scalar import Scalar

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Formulation = Literal["lagrangian", "augmented", "stabilised", "penalty", "perturbed-lagrangian"]
Multiplier = Literal["default", "nodes", "gauss", "P0", "P1", "P2"]

STIFF = 1e3  # default penalty over E*/b: at p0 = E* b/2R a penetration of 1/1000 of b²/2R
HALF_SPACE = 0.03  # largest b/R at which half-space theory holds within the tolerance
TOLERANCE = 0.005


def penalised(formulation: Formulation) -> bool:
    """Whether the formulation allows penetration."""
    return formulation in ("penalty", "perturbed-lagrangian")


def laws_of(formulation: Formulation, penalty: float | None, theory: LineContact | SphereContact) -> dict[str, Any]:
    """Normal law and contact solver: arguments `normal` of an interface and `contact` of a system.

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
    """Multiplier of the interface; None: default."""
    return None if name == "default" else name


@dataclass(frozen=True)
class PressedContact:
    """Contact state after the last step: distances from the axis (k,), m, pressures (k,), Pa, force, N."""

    distance: Array
    pressure: Array
    force: float

    @classmethod
    def of(cls, result: xarray.DataTree, share: float = 1.0, gauss: Surface | None = None) -> "PressedContact":
        """Contact state of a result.

        share: fraction of the contact in the model (1/2 for a line contact cut at its plane of symmetry).
        gauss: slave surface of a Gauss-point formulation. Its point forces are not unique, but the nodal forces are:
        pressures are nodal forces over nodal areas.
        """
        group = result["interface/contact"].dataset
        force = float(group["force"].values[-1, 1]) / share
        positions, pressure = group["point_position"].values, group["pressure"].values[-1]
        if gauss is not None:
            points = at_gauss_points(gauss)
            shares = points.weights * (pressure * points.areas)[:, None]
            positions = gauss.positions
            pressure = np.bincount(points.nodes.ravel(), shares.ravel(), len(positions)) / gauss.areas
        distance = np.linalg.norm(np.delete(positions, 1, axis=1), axis=1)
        order = np.argsort(distance)
        return cls(distance[order], pressure[order], force)

    @property
    def fit(self) -> PressureFit:
        """Half-width and peak pressure by the fit of p²."""
        return fit_pressure(self.distance, self.pressure)

    def worst(self, exact: LineContact | SphereContact) -> float:
        """Largest pressure error within 0.9 b, over p0; detects oscillating multipliers."""
        inside = self.distance <= 0.9 * exact.half_width
        error = self.pressure[inside] - exact.pressure(self.distance[inside])
        return float(np.abs(error).max() / exact.peak)


def tolerance(exact: LineContact | SphereContact, radius: float) -> float:
    """Relative tolerance: 0.5 % up to b/R = 0.03, then growing as (b/R)², the error of half-space theory."""
    return TOLERANCE * max(1.0, (exact.half_width / radius / HALF_SPACE) ** 2)


def hertz_checks(pressed: PressedContact, exact: LineContact | SphereContact, radius: float) -> list[Check]:
    """Checks of peak pressure and half-width against the theory at the computed force."""
    fit, limit = pressed.fit, tolerance(exact, radius)
    return [
        Check("largest pressure p0", fit.peak, exact.peak, limit, "Pa"),
        Check("half-width of the contact", fit.half_width, exact.half_width, limit, "m"),
    ]


def pressed_scalars(pressed: PressedContact) -> dict[str, Scalar]:
    """Scalars of the complete contact, also if the model has a part of it; peak and half-width by the fit of p²."""
    fit = pressed.fit
    return {
        "peak_force": Scalar(pressed.force, "N", "contact force"),
        "final_force": Scalar(pressed.force, "N", "contact force"),
        "peak_pressure": Scalar(fit.peak, "Pa", "largest contact pressure"),
        "contact_radius": Scalar(fit.half_width, "m", "half-width of the contact"),
    }


def equilibrium_checks(result: xarray.DataTree, force: float, load: float | None) -> list[Check]:
    """Checks of contact force = load, energy balance and complementarity."""
    checks = [] if load is None else [Check("contact force against the load", force, load, 1e-9, "N")]
    residual = float(result.attrs["contact_residual_worst"])
    return [
        *checks,
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-10, "1", "absolute"),
        Check("complementarity, worst step", residual, 0.0, 1e-10, "1", "at most"),
    ]


def pressure_figure(pressed: PressedContact, exact: LineContact | SphereContact) -> "Figure":
    """Pressure over distance, and p² over squared distance (Hertz: a straight line) with the fit."""
    fit, b, p0 = pressed.fit, exact.half_width, exact.peak
    in_range = pressed.distance <= 1.25 * b
    x, p = pressed.distance[in_range] / b, pressed.pressure[in_range] / p0
    grid = np.linspace(0.0, 1.25, 1001)
    squares = np.array([0.0, (fit.half_width / b) ** 2])
    with style.panels(2, 5.2) as (figure, axes):
        axes[0].plot(grid, exact.pressure(grid * b) / p0, color=style.REFERENCE, label="Hertz")
        axes[0].plot(x, p, "o", color=style.COLOURS[0], markersize=3.5, label="computed")
        axes[0].set_xlabel("Distance from the centre / Hertzian half-width")
        axes[0].set_ylabel("Pressure / Hertzian peak")
        axes[0].legend()
        axes[1].plot(grid**2, (exact.pressure(grid * b) / p0) ** 2, color=style.REFERENCE, label="Hertz")
        axes[1].plot(x**2, p**2, "o", color=style.COLOURS[0], markersize=3.5, label="computed")
        line = (fit.peak / p0) ** 2 * np.array([1.0, 0.0])
        axes[1].plot(squares, line, "--", color=style.COLOURS[1], label=_fit_label(fit.half_width / b, fit.peak / p0))
        axes[1].set_xlabel("(Distance / half-width)²")
        axes[1].set_ylabel("(Pressure / peak)²")
        axes[1].legend()
    return figure


def _fit_label(width: float, peak: float) -> str:
    return f"fit: half-width {100 * (width - 1):+.2f} %, p₀ {100 * (peak - 1):+.2f} % against Hertz"


def traction_figure(sheared: Any, exact: PartialSlip) -> "Figure":
    """Traction and μ times the pressure along the contact, over μ p0 (`cattaneo_mindlin.ShearedContact`)."""
    b, unit = exact.contact.half_width, exact.friction * exact.contact.peak
    grid = np.linspace(-1.25, 1.25, 2001)
    in_range = np.abs(sheared.x) <= 1.25 * b
    with style.panels(1, 3.6) as (figure, (axes,)):
        limit = exact.friction * exact.contact.pressure(grid * b)
        axes.plot(grid, limit / unit, "--", color=style.REFERENCE, label="μ × Hertzian pressure")
        axes.plot(grid, exact.traction(grid * b) / unit, color=style.REFERENCE, label="Cattaneo and Mindlin")
        x = sheared.x[in_range] / b
        computed = exact.friction * sheared.pressure[in_range] / unit
        axes.plot(x, computed, "x", color=style.COLOURS[1], markersize=4, label="μ × computed pressure")
        axes.plot(
            x, sheared.traction[in_range] / unit, "o", color=style.COLOURS[0], markersize=3.5, label="computed traction"
        )
        for side in (-1.0, 1.0):
            axes.axvline(side * exact.stick_half_width / b, color=style.REFERENCE, linewidth=0.8, linestyle=":")
        axes.text(0.0, 0.04, "sticks", ha="center")
        for side in (-1.0, 1.0):
            axes.text(side * 0.5 * (1 + exact.stick_half_width / b), 0.04, "slips", ha="center")
        axes.set_xlabel("x / Hertzian half-width")
        axes.set_ylabel("Traction / (μ p₀)")
        figure.legend(loc="outside upper center", ncols=2)
    return figure
