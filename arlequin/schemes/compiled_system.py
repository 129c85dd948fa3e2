"""A small assembled system as the arrays that compiled loops read: the one that the θ-scheme, the explicit schemes and
the schemes with located events share.

Kernels read named tuples. From Python they get them as plain nested tuples (`as_arrays`), whose types numba finds in
some microseconds, and name them inside (`arlequin.schemes._system_kernels.named_system`): a call with named tuples of
as many arrays costs four times as much, and one with the list of the laws' kernels inside of a tuple 0.4 ms. So that
list is an argument of its own.
"""

from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.system.assembly import Assembly
from arlequin.system.strains import Strains

Steps = TypeVar("Steps", bound=tuple[Any, ...])


class SparseRows(NamedTuple):
    """A sparse matrix by rows: row i has values[e] in the columns[e], starts[i] ≤ e < starts[i + 1]."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Array

    @classmethod
    def of(cls, matrix: sp.sparray) -> Self:
        """Of any sparse matrix."""
        rows = sp.csr_array(matrix)
        return cls(rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data.astype(float))


class StrainRows(NamedTuple):
    """Strains B (u − u_anchor) by rows with their weights w; see `arlequin.system.strains.Strains`."""

    rows: SparseRows
    weights: Array
    anchor: NDArray[np.int64]
    own: int

    @classmethod
    def of(cls, strains: Strains | None, count: int) -> Self:
        """Of `count` degrees of freedom; None: no strains in short form."""
        if strains is None:
            return cls(SparseRows.of(sp.csr_array((0, count))), np.zeros(0), np.full(count, -1), 0)
        return cls(SparseRows.of(strains.rows), strains.weights, strains.anchor, strains.own)


class LawTables(NamedTuple):
    """The laws of the contact points; see `arlequin.multilevel.solvers.law_tables.PointLaws`, whose names these are.

    tangential_compliance (k,), m/(s Pa): that of the friction of a scheme's step. kernels: of the regular laws; None
    outside of compiled loops.
    """

    first: NDArray[np.int64]
    area: Array
    level: NDArray[np.int64]
    compliance: Array
    friction: Array
    tangential_compliance: Array
    tangential_stiffness: Array
    tangential_damping: Array
    rows: NDArray[np.int64]
    kind: NDArray[np.int64]
    coefficients: Array
    kernels: Any

    @classmethod
    def of(cls, laws: PointLaws, tangential_compliance: Array | None = None) -> Self:
        """tangential_compliance: by default that of the laws."""
        return cls(
            laws.first, laws.area, laws.level, laws.compliance, laws.friction,
            laws.tangential_compliance if tangential_compliance is None else tangential_compliance,
            laws.tangential_stiffness, laws.tangential_damping, laws.rows, laws.kernels[1], laws.coefficients, None,
        )  # fmt: skip


class CompiledSystem(NamedTuple):
    """Degrees of freedom d, constraints m, contact points k with rows r, rows q of the contact's basis.

    free, imposed: numbers of the degrees of freedom that are solved for and given; imposes_displacement (those given,):
    whether by displacements, else by velocities; inertial (d,): free, and not massless. mass, viscous (d, d), kg and
    kg/s; constraints (m, d); basis (q, d); gap (k,): at u = 0, m; touching: largest gap that counts as none, m.
    """

    free: NDArray[np.int64]
    imposed: NDArray[np.int64]
    imposes_displacement: NDArray[np.bool_]
    inertial: NDArray[np.bool_]
    mass: SparseRows
    viscous: SparseRows
    strains: StrainRows
    constraints: SparseRows
    basis: SparseRows
    gap: Array
    touching: float
    laws: LawTables

    @classmethod
    def of(cls, assembly: Assembly, tangential_compliance: Array | None = None) -> Self:
        """tangential_compliance: see `LawTables`."""
        contact, count = assembly.contact, assembly.dof_count
        viscous = sp.csr_array((0, count)) if assembly.viscous is None else assembly.viscous
        return cls(
            free=np.flatnonzero(assembly.free),
            imposed=assembly.imposed_dofs,
            imposes_displacement=assembly.imposes_displacement,
            inertial=assembly.free & ~assembly.massless,
            mass=SparseRows.of(assembly.mass),
            viscous=SparseRows.of(viscous),
            strains=StrainRows.of(assembly.strains, count),
            constraints=SparseRows.of(assembly.constraints),
            basis=SparseRows.of(contact.basis),
            gap=contact.kinematics(np.zeros(contact.basis.shape[0])).gap,
            touching=contact.scale.touching,
            laws=LawTables.of(assembly.laws, tangential_compliance),
        )


def as_arrays(named: Any) -> Any:
    """Named tuples in each other as plain ones."""
    return tuple(as_arrays(each) for each in named) if isinstance(named, tuple) else named


def first_of(steps: Steps, count: int) -> Steps:
    """The first of some steps: named tuples of fields whose first axis is the step."""
    named: Any = type(steps)
    found: Steps = named._make(field[:count] for field in steps)
    return found
