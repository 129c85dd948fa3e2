"""Quantities of contact points in solved steps, with derivatives by a complex step: see `contact_equations`.

Each is a function of the equations, the motion and the statuses, and gives values (b, k) of b steps and k points, with
the formulas by which a run records them: `arlequin.energy`, `arlequin.results.history`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from arlequin.models.types import Array
from arlequin.sensitivity.contact_equations import EPS, ContactEquations, PointData, PointMotion, Statuses, varied

PointQuantity = Callable[[ContactEquations, PointMotion, Statuses], Any]


def friction_loss(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Energy that friction dissipates in the step, J."""
    return contact.works(motion, statuses)["friction"]


def friction_power(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Friction loss over the duration of the step, W."""
    return friction_loss(contact, motion, statuses) / contact.step


def impact_loss(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Energy that multipliers dissipate, J."""
    return contact.works(motion, statuses)["impact"]


def layer_loss(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Energy that the damping of regular laws dissipates, J."""
    opened = (motion.u1 - motion.u0)[..., 0] + motion.opening
    return -contact.normal_parts(motion)[:, 1] * opened / contact.step


def removed_energy(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Work of the normal force on the opening by wear, J."""
    return motion.impulse[..., 0] * motion.opening / contact.step


def wear_power(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Normal force times slip rate, W."""
    return contact.works(motion, statuses)["wear_power"]


def wear_work(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Pressure times slip of the step, J/m²."""
    return wear_power(contact, motion, statuses) * contact.step / contact.data.area


def slip(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Length of the slip of the step under pressure, m."""
    return contact.works(motion, statuses)["slip"]


def gap(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Gap at the end, m."""
    return contact.data.gap + motion.depth + motion.u1[..., 0]


def worn_depth(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Worn depth at the end, m."""
    return motion.depth + contact.evaluate(motion, statuses).worn


def worn_volume(contact: ContactEquations, motion: PointMotion, statuses: Statuses) -> Any:
    """Worn depth times the area, m³."""
    return worn_depth(contact, motion, statuses) * contact.data.area


def by_motion(
    quantity: PointQuantity, contact: ContactEquations, motion: PointMotion, statuses: Statuses, factor: Array
) -> PointMotion:
    """factor (b, k) times the derivatives of a quantity by each input, in the shape of the input."""
    out = PointMotion(*(np.zeros(field.shape) for field in motion))
    for name, at, perturbed in varied(motion):
        getattr(out, name)[at] = factor * np.imag(quantity(contact, perturbed, statuses)) / EPS
    return out


def by_constants(
    quantity: PointQuantity, contact: ContactEquations, motion: PointMotion, statuses: Statuses, data_change: PointData,
    motion_change: PointMotion | None,
) -> Array:  # fmt: skip
    """Derivatives (b, k) where the constants change by data_change, and the motion by motion_change."""
    equations, perturbed = contact.changed(motion, data_change, motion_change)
    return np.imag(quantity(equations, perturbed, statuses)) / EPS
