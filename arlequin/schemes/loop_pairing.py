"""How contact points are paired in the steps of the compiled loops: on fixed normals, on flat obstacles on which rigid
bodies of the plane rotate, whose rows depend on (x, y, θ), or in each configuration anew."""

import weakref
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from arlequin.energy import KINDS, Work
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.pairing.kinematics import Kinematics
from arlequin.multilevel.solvers.contact import STICK
from arlequin.multilevel.solvers.options import proximal_term
from arlequin.schemes.compiled_system import as_arrays, passes_by_rows, zeros_of
from arlequin.schemes.linear_audit import EndImpulses
from arlequin.schemes.loop_data import (
    AT_END,
    KEPT,
    ConfigurationSteps,
    ContactRows,
    CornerRows,
    MovingContact,
    PairingCall,
)  # fmt: skip
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.contact_step import SETTLED
from arlequin.solvers.passes import CondensedPasses, FactoredMass
from arlequin.step.impulses import ContactImpulses
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
    """The kinematics of some steps, each in a configuration of its own: gap (b, k), basis_displacement (b, q), tangents
    (k, a − 1, a) of all steps or (b, k, a − 1, a), and the rows of H: starts (b, r + 1), columns and values (b, e)."""

    starts: NDArray[np.uint32]
    columns: NDArray[np.uint32]
    values: Array

    @classmethod
    def of(cls, reference: ContactKinematics, steps: ConfigurationSteps, tangents: Array) -> Self:
        """reference: the kinematics in one configuration; tangents: those of the steps, or none, (b, 0)."""
        own: Any = {field.name: getattr(reference, field.name) for field in fields(ContactKinematics)}
        own |= {"gap": steps.gap, "basis_displacement": steps.contact_displacement}
        if tangents.size:
            own["tangents"] = tangents.reshape(len(tangents), *reference.tangents.shape)
        return cls(**own, starts=steps.starts, columns=steps.columns, values=steps.values)

    @property
    def rows(self) -> int:
        return int(self.starts.shape[1] - 1)

    def apply_local(self, values: Array) -> Array:
        """H x (b, r) from values basis · x (b, q)."""
        from arlequin.schemes._configuration_kernels import rows_of_steps

        return np.asarray(rows_of_steps(self.starts, self.columns, self.values, values, self.rows))

    def apply_local_transposed(self, impulse: Array) -> Array:
        """Impulses (b, r) on the rows of H as impulses on the rows of the basis (b, q)."""
        from arlequin.schemes._configuration_kernels import transposed_rows_of_steps

        arrays = self.starts, self.columns, self.values
        return np.asarray(transposed_rows_of_steps(*arrays, impulse, self.basis.shape[0]))


class FixedPairing:
    """Normals and partners that are the same in all steps."""

    def __init__(self, assembly: Assembly, kinematics: ContactKinematics) -> None:
        self._laws, self._kinematics = assembly.laws, kinematics

    def room(self, count: int) -> None:
        """None."""

    def arguments(self, steps: ConfigurationSteps | None) -> None:
        """None."""

    def kinematics(self, steps: ConfigurationSteps | None) -> ContactKinematics:
        """Those of all steps."""
        return self._kinematics

    def starts_again(self) -> bool:
        """Never."""
        return False

    def end_impulses(self, steps: ConfigurationSteps | None, status: NDArray[np.int8], step: float) -> None:
        """None."""

    def sticking(self, status: NDArray[np.int8]) -> NDArray[np.bool_]:
        """All that stick, but where friction has a compliance or springs: there a point slides a little."""
        laws, kinematics = self._laws, self._kinematics
        rough = np.diff(np.append(kinematics.first, kinematics.rows)) > 1
        return (status == STICK) & rough & ~laws.elastic_stick & (laws.tangential_compliance == 0.0)


class MovingPairing:
    """Rows that depend on the configuration: each step alternates between the impulses and the configuration at its
    middle that they lead to, on which they act (`arlequin.solvers.contact_step`).

    Subclasses have the rows in a step and what the loop reads.
    """

    _rows: ContactRows
    _arrays: Any

    def __init__(self, assembly: Assembly, reference: ContactKinematics) -> None:
        """reference: the kinematics in one configuration."""
        self._contact, self._reference = assembly.contact, reference

    def room(self, count: int) -> ConfigurationSteps:
        """Zeros."""
        points, size = self._contact.count, self._contact.laws.row_count
        (q, d), rows = self._contact.basis.shape, self._rows
        types: Any = {"persistent": bool, "starts": np.uint32, "columns": np.uint32}
        entries, tangents = rows.values.size, rows.tangents.size
        return zeros_of(
            ConfigurationSteps, count, rows.starts.size, entries, entries, points, tangents, q, points, size, d,
            tangents, size, q, 3, types=types,
        )  # fmt: skip

    def arguments(self, steps: ConfigurationSteps | None) -> Any:
        """What gives the rows, and what receives the steps' configurations."""
        assert steps is not None
        return self._arrays, tuple(steps)

    def _named(
        self, rows: tuple[ContactRows, ContactRows], corners: CornerRows | None, call: PairingCall | None,
        delassus: Array, velocity_by_impulse: Array | None, mass: CondensedPasses | None,
    ) -> MovingContact:  # fmt: skip
        """rows: in the step and at its end; what gives them, and the response of the mass."""
        contact = self._contact
        return MovingContact(
            corners=corners,
            call=call,
            rows=rows[0],
            end_rows=rows[1],
            settled=SETTLED * contact.sizes,
            points=contact.rotating,
            mass_delassus=delassus,
            velocity_by_impulse=velocity_by_impulse,
            mass=mass,
            proximal=proximal_term(contact.method.method, contact.method.augmentation, True),
            lasting=contact.scale.lasting,
        )

    def starts_again(self) -> bool:
        """Whether the loop may go on where its last call ended, as there is now room for more rows; raises what the
        pairing raised."""
        return False

    def kinematics(self, steps: ConfigurationSteps | None) -> ContactKinematics:
        """Each step has its own."""
        assert steps is not None
        return SteppedKinematics.of(self._reference, steps, steps.tangents)

    def end_impulses(self, steps: ConfigurationSteps | None, status: NDArray[np.int8], step: float) -> EndImpulses:
        """The projections of the velocities."""
        assert steps is not None
        kinematics = SteppedKinematics.of(self._reference, steps, steps.end_tangents)
        works = Work(np.zeros((len(status), len(KINDS))))
        for kind, values in zip(("impact", "friction", "external_work"), steps.work.T, strict=True):
            works[kind] = values
        added = ContactImpulses.of(kinematics, steps.impulse, status, np.zeros_like(steps.impulse), step)
        return EndImpulses(replace(added, spread=steps.on_basis), works.values)

    def sticking(self, status: NDArray[np.int8]) -> NDArray[np.bool_]:
        """None: what moves in the mean of a step is slip."""
        return np.zeros(status.shape, dtype=bool)


class RotatingPairing(MovingPairing):
    """Rigid bodies of the plane that rotate on flat obstacles."""

    def __init__(self, assembly: Assembly, reference: ContactKinematics) -> None:
        super().__init__(assembly, reference)
        contact, corners = assembly.contact, rows_of_corners(assembly.contact)
        active = assembly.free & ~assembly.massless & (assembly.mass.diagonal() > 0.0)
        self._rows, end_rows = (_rows_of(corners, contact.count) for _ in range(2))
        response = ImpulseResponse.of(Condensed(assembly, assembly.mass, active), assembly)
        arrays = response.delassus, response.velocity_by_impulse
        self._arrays = as_arrays(self._named((self._rows, end_rows), corners, None, *arrays, None))


def _rows_of(corners: CornerRows, points: int) -> ContactRows:
    """Room for the rows of corners."""
    starts = np.concatenate([[0], np.cumsum(corners.width)]).astype(np.uint32)
    within = np.arange(starts[-1]) - np.repeat(starts[:-1], corners.width)
    columns = (np.repeat(corners.columns, corners.width) + within).astype(np.uint32)
    return ContactRows(starts, columns, np.zeros(columns.size), np.zeros(points), np.zeros(0))


class SurfacePairing(MovingPairing):
    """Surfaces that are paired in each configuration anew, by functions of Python that the loop calls."""

    def __init__(self, assembly: Assembly, reference: ContactKinematics, mass: FactoredMass | None = None) -> None:
        """mass: for the projection of the velocities; None of schemes without."""
        from arlequin.schemes._callback_kernels import CALLBACK

        super().__init__(assembly, reference)
        self._mass, self._passes = mass, None if mass is None else passes_by_rows(mass.passes)
        self._place, self._last = np.zeros(assembly.contact.basis.shape[0]), reference
        self._failure: BaseException | None = None
        self._enlarged = False
        own = weakref.ref(self)  # else what is called would hold what holds it

        def pair(how: int) -> int:
            pairing = own()
            return 1 if pairing is None else pairing._pair(how)

        self._call = CALLBACK(pair)
        local = reference.local
        assert local is not None
        self._make_room(2 * local.nnz + local.shape[1])

    def _make_room(self, entries: int) -> None:
        """Room for rows with so many entries."""
        from arlequin.schemes._callback_kernels import address_of

        rows, points, size = self._contact.laws.row_count, self._contact.count, self._reference.tangents.size
        self._rows, self._end_rows = (
            ContactRows(
                np.zeros(rows + 1, np.uint32), np.zeros(entries, np.uint32), np.zeros(entries), np.zeros(points),
                np.zeros(size),
            )
            for _ in range(2)
        )  # fmt: skip
        call = PairingCall(address_of(self._call), self._place)
        delassus = np.zeros((0, 0)) if self._mass is None else self._mass.delassus
        self._arrays = as_arrays(self._named((self._rows, self._end_rows), None, call, delassus, None, self._passes))

    def _pair(self, how: int) -> int:
        """Writes the rows at `place` to the arrays; 1 where it could not."""
        try:
            place = self._place.copy()
            found = self._contact.kinematics(place, self._last if how == KEPT else None)
            assert found.local is not None
            if found.local.nnz > self._rows.values.size:
                self._make_room(2 * found.local.nnz)
                self._enlarged = True
                return 1
            out = self._end_rows if how == AT_END else self._rows
            if how != AT_END:
                self._last = found
            out.starts[:] = found.local.indptr
            out.columns[: found.local.nnz], out.values[: found.local.nnz] = found.local.indices, found.local.data
            out.gap[:], out.tangents[:] = found.gap, found.tangents.ravel()
        except BaseException as raised:  # nothing may leave it: `starts_again` raises it
            self._failure = raised
            return 1
        return 0

    def starts_again(self) -> bool:
        raised, self._failure = self._failure, None
        if raised is not None:
            raise raised
        enlarged, self._enlarged = self._enlarged, False
        return enlarged
