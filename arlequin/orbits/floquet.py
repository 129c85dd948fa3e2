"""Stability of periodic motions by Floquet multipliers, and the functions whose zeros are bifurcations."""

from typing import NamedTuple

import numpy as np

from arlequin.models.types import Array
from arlequin.orbits.family import Family
from arlequin.orbits.shooting import Point

_OUTSIDE = 1e-6  # tolerance of the unit circle for systems with losses
_ROUND_OFF = 1e-4  # for conservative systems: the error of their double multiplier 1 is the root of that of the matrix
_COMPLEX = 1e-9


class Marks(NamedTuple):
    """Test functions of a motion; a change of sign between two motions is a bifurcation.

    fold: slope of the parameter along the branch; flip: det(M + 1); branch: det of the equations with the tangent;
    torus: largest complex multiplier minus 1; stability: of conservative systems; gaps (k,): smallest gap of each
    point minus the height of its layers, m, 0 where it grazes.
    """

    fold: float
    flip: float
    branch: float
    torus: float
    stability: float
    gaps: Array


def multipliers(monodromy: Array) -> Array:
    """Eigenvalues of the monodromy matrix (s,), the largest first."""
    values = np.linalg.eigvals(monodromy)
    return np.asarray(values[np.argsort(-np.abs(values), kind="stable")])


def is_stable(values: Array, autonomous: bool) -> bool:
    """Whether all multipliers lie within the unit circle; for conservative motions, all except the two at 1."""
    if not autonomous:
        return bool(np.abs(values).max(initial=0.0) <= 1.0 + _OUTSIDE)
    others = values[np.argsort(np.abs(values - 1.0))[2:]]
    return bool(np.abs(others).max(initial=0.0) <= 1.0 + _ROUND_OFF)


def marks(family: Family, point: Point, direction: Array, heights: Array) -> Marks:
    """Test functions of a motion; direction: tangent in the scales of the point."""
    values, scale = multipliers(point.monodromy), point.scale
    period_map = family.setting(point.parameter).map
    curved = values[np.abs(values.imag) > _COMPLEX]
    autonomous = family.autonomous
    bordered = 0.0
    if not autonomous:
        bordered = _root(np.vstack([point.jacobian / scale[:-1, None] * scale, direction]))
    return Marks(
        fold=float(direction[-1]),
        flip=_root(point.monodromy + np.eye(len(point.monodromy))),
        branch=bordered,
        torus=0.0 if autonomous or not curved.size else float(np.abs(curved).max() - 1.0),
        stability=(1.0 if is_stable(values, True) else -1.0) if autonomous else 0.0,
        gaps=period_map.smallest_gaps(point.orbit) - heights,
    )


def _root(matrix: Array) -> float:
    """Sign of the determinant times |det|^(1/n)."""
    sign, log = np.linalg.slogdet(matrix)
    return float(sign * np.exp(log / len(matrix))) if np.isfinite(log) else 0.0


def crossings(before: Marks, after: Marks) -> list[str]:
    """Names of the bifurcations between two motions; "grazing k" for contact point k."""
    bifurcations = []
    folds = before.fold * after.fold < 0.0
    for name in ("fold", "flip", "branch", "torus", "stability"):
        a, b = getattr(before, name), getattr(after, name)
        if a * b < 0.0 and not (name == "branch" and folds):
            bifurcations.append(name)
    grazes = np.flatnonzero(before.gaps * after.gaps < 0.0)
    return bifurcations + [f"grazing {k}" for k in grazes]


def value_of(name: str, tests: Marks) -> float:
    """Value of the test function of a bifurcation."""
    kind, _, number = name.partition(" ")
    return float(tests.gaps[int(number)] if kind == "grazing" else getattr(tests, kind))
