"""How contact points of small systems are paired in the steps of the compiled θ-loop: on fixed normals, or on flat
obstacles on which rigid bodies of the plane rotate, whose rows depend on (x, y, θ)."""

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.pairing.kinematics import Kinematics
from arlequin.multilevel.solvers.contact import STICK
from arlequin.multilevel.solvers.options import proximal_term
from arlequin.schemes.compiled_system import as_arrays, zeros_of
from arlequin.schemes.loop_data import CornerRows, RotatingSteps, Rotation
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.contact_step import SETTLED
from arlequin.system.assembly import Assembly
from arlequin.system.contact import Contact, used_rows
from arlequin.system.contact_kinematics import ContactKinematics


class ImpulseResponse(NamedTuple):
    """What unit impulses do in a step: y (d, m) and φ (m, m) by C y = c; y (d, q) and what is taken off φ (m, q) by
    impulses on the contact's basis; W (q, q)."""

    velocity_by_constraint: Array
    multiplier_by_constraint: Array
    velocity_by_impulse: Array
    multiplier_by_impulse: Array
    delassus: Array

    @classmethod
    def of(cls, condensed: Condensed, assembly: Assembly, scale: float = 1.0) -> Self:
        """By a factor of the step's matrix, or of the mass; scale: μ, which impulses on the contact have."""
        d, m, q = assembly.dof_count, *(rows.shape[0] for rows in (assembly.constraints, assembly.contact.basis))
        rest, none = np.zeros(assembly.imposed_dofs.size), np.zeros(d)
        by_constraint = [condensed.predict(none, c, rest) for c in np.eye(m)]
        by_impulse = [condensed.response(p) for p in scale * np.eye(q)]
        released = [condensed.constraint_response(p) for p in scale * np.eye(q)]
        return cls(
            np.ascontiguousarray(np.array([free.y for free in by_constraint]).reshape(m, d).T),
            np.ascontiguousarray(np.array([free.multipliers for free in by_constraint]).reshape(m, m).T),
            np.ascontiguousarray(np.array(by_impulse).reshape(q, d).T),
            np.ascontiguousarray(np.array(released).reshape(q, m).T),
            np.ascontiguousarray(scale * condensed.compliance.chosen(np.arange(q))) if q else np.zeros((0, 0)),
        )


def rows_of_corners(contact: Contact) -> CornerRows:
    """Rows of interfaces with flat obstacles."""
    none, no_pairs = np.zeros(0, dtype=np.int64), np.zeros((0, 2))
    found = [(none, none, no_pairs, no_pairs, np.zeros(0), none)]
    for i, (a, b) in enumerate(pairwise(contact.span)):
        directions, arms, sagitta, angle_row = np.zeros((b - a, 2)), np.zeros((b - a, 2)), 0.0, a
        columns, width = np.arange(a, b), 1
        if not contact.steady[i]:
            directions, arms = corner_rows(contact.interfaces[i], contact.reference[i])
            sagitta, angle_row = contact.sides[i][0].sagitta(np.array([0.0, 0.0, 1.0])), a + 2
            columns, width = np.full(len(directions), a), 3
        points = np.diff(contact.start)[i]
        of_points = np.full(points, sagitta), np.full(points, angle_row)
        found.append((columns, np.full(columns.size, width), directions, arms, *of_points))
    return CornerRows(*(np.concatenate(own) for own in zip(*found, strict=True)))


def corner_rows(interface: Interface, kin: Kinematics) -> tuple[Array, Array]:
    """Directions e (r, 2) of the rows of an interface, and the arms of their points from the body's centre (r, 2):
    e·a along the row and e × a across, m."""
    nodal, surface = used_rows(interface, kin).toarray(), interface.slave
    along, up = nodal[:, ::2], nodal[:, 1::2]  # (r, n) of the nodes
    x, y = (surface.positions - surface.part.positions[0]).T
    directions = np.stack([along.sum(axis=1), up.sum(axis=1)], axis=1)
    return directions, np.stack([along @ x + up @ y, up @ x - along @ y], axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class SteppedKinematics(ContactKinematics):
    """The kinematics of some steps, each in a configuration of its own: gap (b, k), place (b, q), and shares (b, r, 3)
    of the rows of the basis in those of H; normals and tangents are the same in all."""

    corners: CornerRows
    shares: Array

    @property
    def rows(self) -> int:
        return int(self.corners.columns.size)

    def apply_local(self, values: Array) -> Array:
        """H x (b, r) from values basis · x (b, q)."""
        from arlequin.schemes._loop_kernels import stepped_rows

        return np.asarray(stepped_rows(self.shares, self.corners.columns, self.corners.width, values))

    def apply_local_transposed(self, impulse: Array) -> Array:
        """Impulses (b, r) on the rows of H as impulses on the rows of the basis (b, q)."""
        from arlequin.schemes._loop_kernels import stepped_rows_transposed

        corners = self.corners
        return np.asarray(
            stepped_rows_transposed(self.shares, corners.columns, corners.width, impulse, self.basis.shape[0])
        )


class FixedPairing:
    """Normals and partners that are the same in all steps."""

    def __init__(self, assembly: Assembly) -> None:
        self._laws = assembly.laws
        self._kinematics = assembly.contact.kinematics(np.zeros(assembly.contact.basis.shape[0]))

    def room(self, count: int) -> None:
        """None."""

    def arguments(self, steps: RotatingSteps | None) -> None:
        """None."""

    def kinematics(self, steps: RotatingSteps | None) -> ContactKinematics:
        """Those of all steps."""
        return self._kinematics

    def sticking(self, status: NDArray[np.int8]) -> NDArray[np.bool_]:
        """All that stick, but where friction has a compliance or springs: there a point slides a little."""
        laws, kinematics = self._laws, self._kinematics
        rough = np.diff(np.append(kinematics.first, kinematics.rows)) > 1
        return (status == STICK) & rough & ~laws.elastic_stick & (laws.tangential_compliance == 0.0)


class RotatingPairing:
    """Rigid bodies of the plane that rotate on flat obstacles: each step alternates between the impulses and the
    configuration at its middle that they lead to, on which they act (`arlequin.solvers.contact_step`)."""

    def __init__(self, assembly: Assembly) -> None:
        contact = assembly.contact
        self._contact = contact
        self._kinematics = contact.kinematics(np.zeros(contact.basis.shape[0]))
        active = assembly.free & ~assembly.massless & (assembly.mass.diagonal() > 0.0)
        self._corners = rows_of_corners(contact)
        self._arrays = as_arrays(
            Rotation(
                corners=self._corners,
                settled=SETTLED * contact.sizes,
                points=contact.rotating,
                velocity_by_impulse=ImpulseResponse.of(
                    Condensed(assembly, assembly.mass, active), assembly
                ).velocity_by_impulse,
                proximal=proximal_term(contact.method.method, contact.method.augmentation, True),
                lasting=contact.scale.lasting,
            )
        )

    def room(self, count: int) -> RotatingSteps:
        """Zeros."""
        points, rows = self._contact.count, self._contact.laws.row_count
        q, d = self._contact.basis.shape
        return zeros_of(
            RotatingSteps, count, (rows, 3), points, q, points, rows, d, rows, q, 3, types={"persistent": bool}
        )

    def arguments(self, steps: RotatingSteps | None) -> Any:
        """The bodies' rows, and what receives the steps' configurations."""
        assert steps is not None
        return self._arrays, tuple(steps)

    def kinematics(self, steps: RotatingSteps | None) -> ContactKinematics:
        """Each step has its own."""
        assert steps is not None
        own: Any = {field.name: getattr(self._kinematics, field.name) for field in fields(ContactKinematics)}
        own |= {"gap": steps.gap, "place": steps.contact_displacement}
        return SteppedKinematics(**own, corners=self._corners, shares=steps.shares)

    def sticking(self, status: NDArray[np.int8]) -> NDArray[np.bool_]:
        """None: the corner on which a body rotates moves in the mean of a step."""
        return np.zeros(status.shape, dtype=bool)
