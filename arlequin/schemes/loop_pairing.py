"""Contact pairing in compiled loops: fixed normals, corners of rotating plane rigid bodies on flat obstacles, whose
rows depend on (x, y, θ), or a new pairing in each configuration."""

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
    KEEP_PARTNERS,
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
    """Responses of a step: y (d, m) and φ (m, m) to C y = c; y (d, q) and the decrease of φ (m, q) by unit impulses on
    the contact's basis; Delassus operator W (q, q)."""

    velocity_by_constraint: Array
    multiplier_by_constraint: Array
    velocity_by_impulse: Array
    multiplier_by_impulse: Array
    delassus: Array

    @classmethod
    def of(cls, condensed: Condensed, assembly: Assembly, scale: float = 1.0) -> Self:
        """From a factor of the step's matrix or of the mass; scale: the factor μ of contact impulses."""
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
    """The contact rows of all interfaces, as tables of points and corners on flat obstacles."""
    empty, no_pairs = np.zeros(0, dtype=np.int64), np.zeros((0, 2))
    tables = [(empty, empty, no_pairs, no_pairs, np.zeros(0), empty)]
    for i, (a, b) in enumerate(pairwise(contact.span)):
        directions, arms, sagitta, angle_row = np.zeros((b - a, 2)), np.zeros((b - a, 2)), 0.0, a
        columns, width = np.arange(a, b), 1
        if not contact.steady[i]:  # an interface
            directions, arms = corner_rows(contact.interfaces[i], contact.reference[i])
            sagitta, angle_row = contact.sides[i][0].sagitta(np.array([0.0, 0.0, 1.0])), a + 2
            columns, width = np.full(len(directions), a), 3
        points = np.diff(contact.start)[i]
        of_points = np.full(points, sagitta), np.full(points, angle_row)
        tables.append((columns, np.full(columns.size, width), directions, arms, *of_points))
    return CornerRows(*(np.concatenate(column) for column in zip(*tables, strict=True)))


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
    """Contact kinematics with one configuration per step: gap (b, k), basis_displacement (b, q), tangents
    (k, a − 1, a) of all steps or (b, k, a − 1, a), and the rows of H: starts (b, r + 1), columns and values (b, e)."""

    starts: NDArray[np.uint32]
    columns: NDArray[np.uint32]
    values: Array

    @classmethod
    def of(cls, reference: ContactKinematics, steps: ConfigurationSteps, tangents: Array) -> Self:
        """reference: the kinematics of one configuration; tangents: of each step, or (b, 0) if they do not change."""
        field_values: Any = {field.name: getattr(reference, field.name) for field in fields(ContactKinematics)}
        field_values |= {"gap": steps.gap, "basis_displacement": steps.contact_displacement}
        if tangents.size:
            field_values["tangents"] = tangents.reshape(len(tangents), *reference.tangents.shape)
        return cls(**field_values, starts=steps.starts, columns=steps.columns, values=steps.values)

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
    """Contact with fixed normals and partners."""

    def __init__(self, assembly: Assembly, kinematics: ContactKinematics) -> None:
        self._laws, self._kinematics = assembly.laws, kinematics

    def allocate(self, count: int) -> None:
        """No configurations are stored: the rows are fixed."""

    def arguments(self, steps: ConfigurationSteps | None) -> None:
        """No arguments: the loop reads fixed rows from the system."""

    def kinematics(self, steps: ConfigurationSteps | None) -> ContactKinematics:
        """The kinematics common to all steps."""
        return self._kinematics

    def needs_rerun(self) -> bool:
        """False: a fixed pairing does not interrupt the loop."""
        return False

    def end_impulses(self, steps: ConfigurationSteps | None, status: NDArray[np.int8], step: float) -> None:
        """No impulses: fixed normals need no velocity projection."""

    def sticking(self, status: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Mask of sticking points without slip: not those with a compliance or springs of friction."""
        laws, kinematics = self._laws, self._kinematics
        rough = np.diff(np.append(kinematics.first, kinematics.rows)) > 1
        return (status == STICK) & rough & ~laws.elastic_stick & (laws.tangential_compliance == 0.0)


class MovingPairing:
    """Contact rows that depend on the configuration: each step iterates between the impulses and the midpoint
    configuration on which they act (`arlequin.solvers.contact_step`).

    Subclasses define the rows of a step and the arguments of the loop.
    """

    _rows: ContactRows
    _arrays: Any

    def __init__(self, assembly: Assembly, reference: ContactKinematics) -> None:
        """reference: the kinematics of one configuration."""
        self._contact, self._reference = assembly.contact, reference

    def allocate(self, count: int) -> ConfigurationSteps:
        """Arrays of zeros for the configurations of `count` steps."""
        points, size = self._contact.count, self._contact.laws.row_count
        (q, d), rows = self._contact.basis.shape, self._rows
        types: Any = {"persistent": bool, "starts": np.uint32, "columns": np.uint32}
        entries, tangents = rows.values.size, rows.tangents.size
        return zeros_of(
            ConfigurationSteps, count, rows.starts.size, entries, entries, points, tangents, q, points, size, d,
            tangents, size, q, 3, types=types,
        )  # fmt: skip

    def arguments(self, steps: ConfigurationSteps | None) -> Any:
        """Arguments of the loop: the moving contact, and the arrays for the configurations of the steps."""
        assert steps is not None
        return self._arrays, tuple(steps)

    def _named(
        self, rows: tuple[ContactRows, ContactRows], corners: CornerRows | None, call: PairingCall | None,
        delassus: Array, velocity_by_impulse: Array | None, mass: CondensedPasses | None,
    ) -> MovingContact:  # fmt: skip
        """rows: in the step and at its end; corners or call: source of the rows; the others: response of the mass."""
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

    def needs_rerun(self) -> bool:
        """Whether the loop is to be called again, after the arrays of the rows were enlarged; raises the error of the
        pairing, if any."""
        return False

    def kinematics(self, steps: ConfigurationSteps | None) -> ContactKinematics:
        """The kinematics of the steps, with one configuration each."""
        assert steps is not None
        return SteppedKinematics.of(self._reference, steps, steps.tangents)

    def end_impulses(self, steps: ConfigurationSteps | None, status: NDArray[np.int8], step: float) -> EndImpulses:
        """Impulses and works of the velocity projections at the ends of the steps."""
        assert steps is not None
        kinematics = SteppedKinematics.of(self._reference, steps, steps.end_tangents)
        works = Work(np.zeros((len(status), len(KINDS))))
        for kind, values in zip(("impact", "friction", "external_work"), steps.work.T, strict=True):
            works[kind] = values
        added = ContactImpulses.of(kinematics, steps.impulse, status, np.zeros_like(steps.impulse), step)
        return EndImpulses(replace(added, spread=steps.on_basis), works.values)

    def sticking(self, status: NDArray[np.int8]) -> NDArray[np.bool_]:
        """All False: any mean tangential motion of a step counts as slip."""
        return np.zeros(status.shape, dtype=bool)


class RotatingPairing(MovingPairing):
    """Pairing of plane rigid bodies that rotate on flat obstacles."""

    def __init__(self, assembly: Assembly, reference: ContactKinematics) -> None:
        super().__init__(assembly, reference)
        contact, corners = assembly.contact, rows_of_corners(assembly.contact)
        active = assembly.free & ~assembly.massless & (assembly.mass.diagonal() > 0.0)
        self._rows, end_rows = (_rows_of(corners, contact.count) for _ in range(2))
        response = ImpulseResponse.of(Condensed(assembly, assembly.mass, active), assembly)
        arrays = response.delassus, response.velocity_by_impulse
        self._arrays = as_arrays(self._named((self._rows, end_rows), corners, None, *arrays, None))


def _rows_of(corners: CornerRows, points: int) -> ContactRows:
    """Arrays for the rows of corners, with their columns."""
    starts = np.concatenate([[0], np.cumsum(corners.width)]).astype(np.uint32)
    within = np.arange(starts[-1]) - np.repeat(starts[:-1], corners.width)
    columns = (np.repeat(corners.columns, corners.width) + within).astype(np.uint32)
    return ContactRows(starts, columns, np.zeros(columns.size), np.zeros(points), np.zeros(0))


class SurfacePairing(MovingPairing):
    """Pairing of surfaces in each configuration, by a Python callback of the loop."""

    def __init__(self, assembly: Assembly, reference: ContactKinematics, mass: FactoredMass | None = None) -> None:
        """mass: factor for the velocity projection; None for schemes without."""
        from arlequin.schemes._callback_kernels import CALLBACK

        super().__init__(assembly, reference)
        self._mass, self._passes = mass, None if mass is None else passes_by_rows(mass.passes)
        self._place, self._last = np.zeros(assembly.contact.basis.shape[0]), reference
        self._failure: BaseException | None = None
        self._enlarged = False
        weak_self = weakref.ref(self)  # avoids a reference cycle with the callback

        def pair(mode: int) -> int:
            pairing = weak_self()
            return 1 if pairing is None else pairing._pair(mode)

        self._call = CALLBACK(pair)
        local = reference.local
        assert local is not None
        self._allocate_rows(2 * local.nnz + local.shape[1])

    def _allocate_rows(self, entries: int) -> None:
        """Allocates rows with `entries` entries, in the step and at its end."""
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

    def _pair(self, mode: int) -> int:
        """Writes the rows at the displacement `_place` to the arrays; returns 1 on failure."""
        try:
            displacement = self._place.copy()
            kinematics = self._contact.kinematics(displacement, self._last if mode == KEEP_PARTNERS else None)
            assert kinematics.local is not None
            if kinematics.local.nnz > self._rows.values.size:
                self._allocate_rows(2 * kinematics.local.nnz)
                self._enlarged = True
                return 1
            out = self._end_rows if mode == AT_END else self._rows
            if mode != AT_END:
                self._last = kinematics
            out.starts[:] = kinematics.local.indptr
            out.columns[: kinematics.local.nnz], out.values[: kinematics.local.nnz] = (
                kinematics.local.indices,
                kinematics.local.data,
            )
            out.gap[:], out.tangents[:] = kinematics.gap, kinematics.tangents.ravel()
        except BaseException as raised:  # must not propagate into compiled code: `needs_rerun` raises it
            self._failure = raised
            return 1
        return 0

    def needs_rerun(self) -> bool:
        raised, self._failure = self._failure, None
        if raised is not None:
            raise raised
        enlarged, self._enlarged = self._enlarged, False
        return enlarged
