"""The assemblies of an ensemble: common matrices where these are equal, and loads and initial state of each member."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.errors import UserError
from arlequin.models.part import Nonlinear, PathDependent
from arlequin.models.types import Array
from arlequin.multilevel.laws.base import SetValuedLaw
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.system import System

T = TypeVar("T")
_SHARED = ("parts", "junctions", "interfaces", "springs", "relations")


@dataclass(frozen=True, eq=False)
class Members:
    """Assemblies of the members. assembly: of the first one, with the common matrices, constraints and contact; each:
    with the initial state, loads and imposed motions of each member. source (n,): the first member with the same loads
    and motions.

    common: whether all members share one factor and one contact. They do not where parts are nonlinear, pairings move,
    surfaces wear or impacts have restitution: the matrices and the contact are then those of each member.
    """

    assembly: Assembly
    each: tuple[Assembly, ...]
    source: NDArray[np.int64]
    common: bool = True

    @classmethod
    def of(cls, systems: Sequence[System], time_errors: Mapping[str, float] = MappingProxyType({})) -> "Members":
        """The members; `UserError` where their matrices differ. time_errors: see `assemble`."""
        first = named(0, lambda: assemble(systems[0], time_errors))
        if not _is_common(first):
            return cls._of_distinct(systems, first, time_errors)
        _ = first.free, first.massless, first.imposes_displacement, first.rigidity  # cached before the copies
        each, source = [first], [0]
        for i, system in enumerate(systems[1:], 1):
            twin = next((j for j in range(i) if _same_parts(systems[j], system)), None)
            if twin is None:
                assembly = named(i, partial(assemble, system, time_errors))
                if not _is_common(assembly):
                    return cls._of_distinct(systems, first, time_errors)
                _check_alike(i, first, assembly)
                each.append(replace(first, system=system, parts=assembly.parts))
                source.append(i)
            else:
                each.append(_with(each[twin], system))
                source.append(int(source[twin]) if _same(systems[twin].gravity, system.gravity) else i)
            _check_method(i, systems[0], system)
        return cls(first, tuple(each), np.array(source))

    @classmethod
    def _of_distinct(cls, systems: Sequence[System], first: Assembly, time_errors: Mapping[str, float]) -> "Members":
        """The members with separate matrices and contact, which are checked to be equal."""
        each = [first]
        for i, system in enumerate(systems[1:], 1):
            assembly = named(i, partial(assemble, system, time_errors))
            _check_alike(i, first, assembly)
            _check_method(i, systems[0], system)
            each.append(assembly)
        return cls(first, tuple(each), np.arange(len(each)), common=False)

    @classmethod
    def alone(cls, assembly: Assembly) -> "Members":
        """An ensemble of one system, of any kind."""
        return cls(assembly, (assembly,), np.zeros(1, dtype=np.int64))

    @property
    def count(self) -> int:
        """Number of members."""
        return len(self.each)

    def load(self, t: float) -> Array:
        """External forces (n, d) at the time t, N; (1, d) where they are equal for all members."""
        return self._by_source(lambda assembly: assembly.load(t))

    def loads(self, times: Array) -> Array:
        """External forces (t, n, d), or (t, 1, d), at the times (t,), N."""
        return np.ascontiguousarray(np.swapaxes(self._by_source(lambda assembly: assembly.loads(times)), 0, 1))

    def imposed(self, t: float) -> Array:
        """Imposed values (n, p), or (1, p), at the time t: m where a displacement is imposed, m/s where a velocity
        is."""
        return self._by_source(lambda assembly: assembly.imposed(t))

    def of_each(self, fields: Callable[[Assembly], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Fields (d,) of every member, each as one array (n, d); errors name the member."""
        each = [named(i, partial(fields, assembly)) for i, assembly in enumerate(self.each)]
        return tuple(np.array(values) for values in zip(*each, strict=True))

    def _by_source(self, evaluate: Callable[[Assembly], Array]) -> Array:
        first, index = self._sources
        values = np.array([evaluate(self.each[i]) for i in first])
        return values if first.size == 1 else values[index]

    @cached_property
    def _sources(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        first, place = np.unique(self.source, return_inverse=True)
        return first, place


def _is_common(assembly: Assembly) -> bool:
    """Whether nothing but contact with fixed pairings, without wear and restitution, is nonlinear."""
    contact = assembly.contact
    laws = (law for interface in contact.interfaces for law in interface.laws)
    return (
        not any(isinstance(part, Nonlinear | PathDependent) or part.rotating for part in assembly.parts)
        and assembly.flow is None
        and all(contact.steady)
        and all(interface.wear is None for interface in contact.interfaces)
        and not any(isinstance(law, SetValuedLaw) and law.restitution > 0.0 for law in laws)
    )


def _with(assembly: Assembly, system: System) -> Assembly:
    """The assembly with another system of the same parts, cached properties included."""
    out = copy(assembly)
    object.__setattr__(out, "system", system)
    return out


def _same_parts(a: System, b: System) -> bool:
    """Whether parts, junctions, interfaces, springs and relations are the same objects."""
    pairs = [(getattr(a, what), getattr(b, what)) for what in _SHARED]
    return all(len(x) == len(y) and all(s is t for s, t in zip(x, y, strict=True)) for x, y in pairs)


def _same(a: Any, b: Any) -> bool:
    return a is b or (not callable(a) and not callable(b) and np.array_equal(a, b))


def _check_alike(i: int, first: Assembly, assembly: Assembly) -> None:
    """Raise `UserError` where matrices, contact or meshes of two members differ."""
    for what in _SHARED:
        names = ([item.name for item in getattr(member.system, what)] for member in (first, assembly))
        if len({tuple(member_names) for member_names in names}) > 1:
            raise _differs(i, f"list of {what}")
    parts = zip(first.system.parts, assembly.system.parts, strict=True)
    if not all(np.array_equal(a.positions, b.positions) for a, b in parts):
        raise _differs(i, "mesh")
    for what in ("mass", "stiffness", "damping", "absorber", "constraints"):
        if not _equal(getattr(first, what), getattr(assembly, what)):
            raise _differs(i, what)
    if not np.array_equal(first.imposed_dofs, assembly.imposed_dofs) or not np.array_equal(
        first.imposes_displacement, assembly.imposes_displacement
    ):
        raise _differs(i, "imposed dofs")
    contacts = first.contact, assembly.contact
    laws, others = (contact.laws for contact in contacts)
    tables = [item.name for item in fields(laws) if item.name != "regular"]
    alike = all(np.array_equal(getattr(laws, name), getattr(others, name)) for name in tables)
    reference = [[(kin.gap, kin.normals, kin.tangents) for kin in contact.reference] for contact in contacts]
    alike = alike and laws.regular == others.regular and _equal(contacts[0].basis, contacts[1].basis)
    if not alike or not all(
        np.array_equal(x, y) for a, b in zip(*reference, strict=True) for x, y in zip(a, b, strict=True)
    ):
        raise _differs(i, "contact")


def _check_method(i: int, first: System, system: System) -> None:
    if system.contact != first.contact:
        raise _differs(i, "contact method")


def _equal(a: sp.csr_array | None, b: sp.csr_array | None) -> bool:
    """Whether two matrices are bitwise equal."""
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and (a != b).nnz == 0


def _differs(i: int, what: str) -> UserError:
    return UserError(
        f"member {i}: its {what} is not that of member 0: members may differ only in initial fields, loads, gravity "
        "and the values of imposed motions"
    )


def named(i: int, action: Callable[[], T]) -> T:
    """The value of an action; an error names the member."""
    try:
        return action()
    except UserError as error:
        raise UserError(f"member {i}: {error}", error.code) from error
