"""The assembly of a subset of the parts of a system and of the interfaces between them."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.errors import UserError
from arlequin.system.absorption import Absorption
from arlequin.system.assembly import Assembly
from arlequin.system.contact import Contact
from arlequin.system.dofs import DofLayout
from arlequin.system.springs import SpringSet
from arlequin.system.system import surfaces_of


def connected_dofs(assembly: Assembly, names: set[str]) -> NDArray[np.bool_]:
    """Mask of the interfaces between the named parts (or one of them and an obstacle).

    UserError for relations, and for springs and interfaces between named and other parts.
    """
    if assembly.system.relations:
        raise UserError("Multirate: systems with relations are not supported; take one time step")
    for spring in assembly.system.springs:
        if len({side.part.name in names for side in surfaces_of(spring)}) > 1:
            raise UserError(f"Multirate: spring '{spring.name}' connects a coarse and a fine part")
    chosen = []
    for interface in assembly.contact.items:
        inside = [side.part.name in names for side in surfaces_of(interface)]
        if any(inside) and not all(inside):
            raise UserError(f"Multirate: interface '{interface.name}' connects a coarse and a fine part")
        chosen.append(all(inside))
    return np.array(chosen, dtype=bool)


def restrict_assembly(
    assembly: Assembly, chosen: NDArray[np.bool_], dofs: NDArray[np.bool_], interfaces: NDArray[np.bool_]
) -> Assembly:
    """The assembly of some of the parts, their springs and their interfaces (masks), without junctions.

    The absorbing terms of junctions are restricted to the block of these parts: the loss with the other parts at rest.
    """
    parts = [part for part, yes in zip(assembly.system.parts, chosen, strict=True) if yes]
    assembled = tuple(part for part, yes in zip(assembly.parts, chosen, strict=True) if yes)
    layout = DofLayout.of(parts, assembled)
    items = [item for item, yes in zip(assembly.contact.items, interfaces, strict=True) if yes]
    contact = Contact.of(items, layout, assembly.contact.method)
    names = {part.name for part in parts}
    springs = [
        spring for spring in assembly.system.springs if names.issuperset(side.part.name for side in surfaces_of(spring))
    ]
    blocks: dict[str, Any] = {
        name: None if getattr(assembly, name) is None else sp.csr_array(getattr(assembly, name)[dofs][:, dofs])
        for name in ("mass", "stiffness", "damping", "absorber")
    }
    absorber = blocks.pop("absorber")
    return Assembly(
        system=replace(
            assembly.system,
            parts=parts,
            junctions=(),
            interfaces=contact.interfaces,
            springs=springs,
            velocity=dict.fromkeys(names, 0.0),  # the stepper takes the velocity of the full system
            displacement=None,
        ),
        parts=assembled,
        start=layout.start,
        operators=(),
        absorption=Absorption(absorber) if absorber is not None and absorber.nnz else None,
        absorbing=(),
        constraints=sp.csr_array((0, layout.count)),
        gram=sp.csr_array((0, 0)),
        junction_start=np.zeros(1, dtype=np.int64),
        contact=contact,
        links=SpringSet.of(springs, layout),
        cell_weights={name: weights for name, weights in assembly.cell_weights.items() if name in names},
        **blocks,
    )
