"""Densities that a calculation needs: refused where they were not given."""

from collections.abc import Iterable

import numpy as np

from arlequin.models.materials.elastic import check_density
from arlequin.models.part import Part
from arlequin.system.system import System


def check_densities(parts: Iterable[Part], where: str) -> None:
    """UserError where the density of a part was not given; where: what needs it."""
    for part in parts:
        check_density(part.name, getattr(getattr(part, "model", part), "material", None), where)


def check_masses(system: System, static: bool) -> None:
    """UserError where a run needs a density that was not given: in dynamics, and in statics with gravity."""
    if not static:
        check_densities(system.parts, "in dynamics")
    elif callable(system.gravity) or np.any(system.acceleration(0.0)):
        check_densities(system.parts, "where gravity acts")
