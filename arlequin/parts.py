"""The parts of a system assembled: with the weights of their junctions, and what these pull."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.glue import Glue, JunctionOperator
from arlequin.system import System
from models.modal import Modal
from models.part import Assembled, Surface, Weighting


def assembled_parts(system: System, operators: Sequence[JunctionOperator]) -> tuple[Assembled, ...]:
    """All parts; the operators are those of the system's junctions, which reduced parts have shapes for."""
    weights: dict[str, Weighting] = {}
    for junction in system.junctions:
        for name, own in junction.weighting().items():
            weights[name] = own if name not in weights else weights[name] * own
    massless, pulls = _contact_nodes(system), _pulls(system.junctions, operators)
    return tuple(
        part.assemble(weights.get(part.name), pulls=pulls.get(part.name, ()))
        if isinstance(part, Modal)
        else part.assemble(weights.get(part.name), massless=massless.get(part.name))
        for part in system.parts
    )


def _contact_nodes(system: System) -> dict[str, NDArray[np.int64]]:
    """Nodes of each part that lie on a contact surface (redistributed mass takes their mass away)."""
    nodes: dict[str, list[Any]] = {}
    for interface in system.interfaces:
        surfaces = [interface.slave] + ([interface.master] if isinstance(interface.master, Surface) else [])
        for surface in surfaces:
            nodes.setdefault(surface.part.name, []).append(surface.nodes)
    return {name: np.unique(np.concatenate(lists)) for name, lists in nodes.items()}


def _pulls(junctions: Sequence[Glue], operators: Sequence[JunctionOperator]) -> dict[str, list[sp.csr_array]]:
    """What junctions pull at, by the name of the part: (m, nodal) each."""
    pulls: dict[str, list[sp.csr_array]] = {}
    for junction, operator in zip(junctions, operators, strict=True):
        for part, own in ((junction.coarse, operator.coarse), (junction.fine, operator.fine)):
            pulls.setdefault(part.name, []).append(own)
    return pulls
