"""Checks that the densities needed by a calculation are given."""

from collections.abc import Iterable

import numpy as np

from arlequin.models.materials.elastic import check_density
from arlequin.models.part import Part
from arlequin.system.system import System


def check_densities(parts: Iterable[Part], where: str) -> None:
    """UserError where the density of a part was not given; where: the calculation, for the message."""
    for part in parts:
        check_density(part.name, getattr(getattr(part, "model", part), "material", None), where)


def check_masses(system: System, static: bool) -> None:
    """UserError for missing densities in dynamics and in statics with gravity."""
    if not static:
        check_densities(system.parts, "in dynamics")
    elif callable(system.gravity) or np.any(system.acceleration(0.0)):
        check_densities(system.parts, "where gravity acts")
