"""An interface: a slave surface, what it may touch, and the laws between them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.checks import valid_name
from models.errors import UserError
from models.part import Surface
from multilevel.law import Array, NormalLaw, RegularLaw, SetValuedLaw
from multilevel.obstacle import RigidPlane


@dataclass(frozen=True)
class Interface:
    """Contact between a slave surface and a master (a rigid plane, or in 1D the end of another bar).

    normal: one law or several, which add up; at most one of them set-valued (unilateral). Contact points are the
    nodes of the slave surface, with the areas ∫ φ_n dΓ.
    """

    name: str
    slave: Surface
    master: RigidPlane | Surface
    normal: NormalLaw | Sequence[NormalLaw]

    def __post_init__(self) -> None:
        valid_name(self.name, "name of an interface")
        laws = tuple(self.normal) if isinstance(self.normal, Sequence) else (self.normal,)
        for law in laws:
            if not isinstance(law, RegularLaw | SetValuedLaw):
                raise UserError(f"interface '{self.name}': {law!r} is not a law of normal contact")
        if not laws:
            raise UserError(f"interface '{self.name}': needs at least one normal law")
        if sum(isinstance(law, SetValuedLaw) for law in laws) > 1:
            raise UserError(f"interface '{self.name}': at most one unilateral law, as each imposes the multiplier")
        object.__setattr__(self, "normal", laws)
        axes = self.slave.positions.shape[1]
        if isinstance(self.master, RigidPlane):
            if self.master.axes != axes:
                raise UserError(
                    f"interface '{self.name}': the plane has {self.master.axes} coordinates, "
                    f"part '{self.slave.part.name}' has {axes}"
                )
        elif axes != 1 or self.master.part.components != 1:
            raise UserError(f"interface '{self.name}': a deformable master is a bar's end; give a RigidPlane otherwise")
        elif self.master.part is self.slave.part and self.master.name == self.slave.name:
            raise UserError(f"interface '{self.name}': slave and master are the same boundary '{self.slave.name}'")

    @property
    def laws(self) -> tuple[NormalLaw, ...]:
        return tuple(self.normal)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ContactPoints:
    """Kinematics of an interface at its contact points, linear in the displacement: g = gap + Σ jumps."""

    interface: Interface
    gap: Array
    normals: Array
    area: Array
    positions: Array

    @classmethod
    def pair(cls, interface: Interface) -> "ContactPoints":
        """Pairs the slave's nodes with the master in the reference positions."""
        slave, master = interface.slave, interface.master
        positions = slave.part.positions[slave.nodes]
        if isinstance(master, RigidPlane):
            normals = np.repeat(master.normal[None], len(slave.nodes), axis=0)
            gap = master.gap(positions)
        else:
            normals = master.normals
            gap = ((positions - master.part.positions[master.nodes]) * normals).sum(axis=1)
        return cls(interface, gap, normals, slave.areas, positions)
