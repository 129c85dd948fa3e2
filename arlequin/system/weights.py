"""Weights of the parts of a system, from all its junctions."""

from collections.abc import Sequence

import numpy as np

from arlequin.junctions.base import JunctionProtocol
from arlequin.junctions.junction import Junction
from arlequin.junctions.partition import weightings
from arlequin.models.errors import UserError
from arlequin.models.part import MeshedPart, Weighting

# a junction shares a cell where its weight is below one by more than this
SHARED = 1e-9


def weights_of(junctions: Sequence[JunctionProtocol]) -> dict[str, Weighting]:
    """Weights of the parts in junctions, by name: a partition of unity.

    Those of `Junction`s come from one partition of all their parts (`junctions.partition`). Junctions of another kind,
    as of beams and solids, define separate weights: their zones must have no cell in common with others.
    """
    weights = weightings([each for each in junctions if isinstance(each, Junction)])
    for junction in junctions:
        if isinstance(junction, Junction):
            continue
        for part in (junction.coarse, junction.fine):
            weighting = junction.weighting().get(part.name)
            if weighting is None:
                continue
            if part.name in weights:
                _check_apart(part, junction.name, weighting, weights[part.name])
                weighting = weights[part.name] * weighting
            weights[part.name] = weighting
    return weights


def _check_apart(part: MeshedPart, name: str, weighting: Weighting, others: Weighting) -> None:
    both = (weighting.stiffness.min(axis=1) < 1 - SHARED) & (others.stiffness.min(axis=1) < 1 - SHARED)
    if both.any():
        place = ", ".join(f"{x:.6g}" for x in part.quadrature_points()[:, np.argmax(both)].mean(axis=1))
        raise UserError(
            f"junction '{name}': its zone and that of another junction share the cell of '{part.name}' at ({place}), "
            "where the weights of all models would not sum to one: keep the zones apart"
        )
