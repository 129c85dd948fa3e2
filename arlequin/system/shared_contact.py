"""Warnings of contact in gluing zones, where a part has only a share of its mass and stiffness."""

from collections.abc import Mapping, Sequence

import numpy as np

from arlequin.junctions.base import JunctionProtocol
from arlequin.models.errors import ModelWarning, warn_user
from arlequin.models.part import MeshedPart, Surface, Weighting
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.system.system import System, surfaces_of

FREE = 0.999  # weight of a part above which it is not coupled
LEFT = 0.01  # weight of a part below which it is replaced by the other part


def warn_of_shared_contact(system: System, weights: Mapping[str, Weighting]) -> None:
    """A `ModelWarning` for each contact surface in a gluing zone, or on cells replaced by those of another part;
    weights: of the parts with junctions, by name."""
    messages = []
    for item in system.interfaces:
        for surface in surfaces_of(item):
            weighting = weights.get(surface.part.name)
            if weighting is None or not isinstance(surface.part, MeshedPart):
                continue
            others = _partners(system.junctions, surface)
            share = _share_at_nodes(surface, weighting)
            if (share < LEFT).any() and not _touching(system.interfaces, others.values()):
                messages.append(
                    f"interface '{item.name}': at {np.count_nonzero(share < LEFT)} of {share.size} contact nodes of "
                    f"'{surface.part.name}' the part has handed its mass and stiffness over by {_listed(others)}: "
                    f"nothing resists there; put the contact on {' or '.join(map(repr, others.values()))}"
                )
            elif LEFT <= share.max() < FREE:
                messages.append(
                    f"interface '{item.name}': '{surface.name}' of '{surface.part.name}' lies in the gluing zone of "
                    f"{_listed(others)}, where the part has at most {share.max():.3g} of its stiffness: contact forces "
                    "will be too small; end the zone some cells before the contact"
                )
    for line in messages:
        warn_user(line, ModelWarning)


def _partners(junctions: Sequence[JunctionProtocol], surface: Surface) -> dict[str, str]:
    """Junctions of the part → the other part of each."""
    name = surface.part.name
    return {
        each.name: each.fine.name if each.coarse.name == name else each.coarse.name
        for each in junctions
        if name in (each.coarse.name, each.fine.name)
    }


def _listed(others: Mapping[str, str]) -> str:
    return " and ".join(f"junction '{name}'" for name in others)


def _touching(interfaces: Sequence[Interface], parts: object) -> bool:
    """Whether one of the parts is in contact."""
    names = {surface.part.name for item in interfaces for surface in surfaces_of(item)}
    return bool(names & set(parts))  # type: ignore[call-overload]


def _share_at_nodes(surface: Surface, weighting: Weighting) -> Array:
    """Largest mean weight of the stiffness in the cells around each node (k,) of a surface."""
    part = surface.meshed
    cells, place = part.basis.element_dofs, np.full(part.node_count, -1)
    place[surface.nodes] = np.arange(surface.nodes.size)
    share = np.zeros(surface.nodes.size)
    means = weighting.stiffness.mean(axis=1)
    for corner in cells:
        near = np.flatnonzero(place[corner] >= 0)
        np.maximum.at(share, place[corner[near]], means[near])
    return share
