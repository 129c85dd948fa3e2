"""A system: parts, the junctions that couple them, contact interfaces, and the initial state."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np

from arlequin.junctions.base import JunctionProtocol
from arlequin.models import checks
from arlequin.models.checks import finite_array
from arlequin.models.errors import ModelWarning, UserError, UserTypeError, warn_user
from arlequin.models.flow.force import FlowForce
from arlequin.models.lumped.relations import Relation
from arlequin.models.lumped.springs import Spring
from arlequin.models.part import Part, Surface
from arlequin.models.signatures import checked_call, meant, takes
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.solvers.options import ContactMethod
from arlequin.system.flow import refuse_flows
from arlequin.system.levels import ITEMS, Levels, MovingPatch
from arlequin.system.result_frame import ResultFrame

InitialField = Any  # a vector, a function of positions (n, axis) -> (n, component), or {part name: either}


@checked_call
@dataclass(frozen=True, repr=False)
class System:
    """The mechanical system of a simulation.

    springs connect parts with each other or with the ground, relations are linear in their displacements, flows act on
    beams and tubes (`aq.flow`). gravity
    (axis,), m/s², or a function of t, acts on every mass; in the frame of a support of acceleration a(t) it is g −
    a(t). velocity, displacement: the initial fields (m/s, m), as one vector for all nodes, a function of the positions
    (n, axis) that gives (n, component), or a mapping from part names to either; None is zero. from_result: a result
    from whose last frame (or another: `ResultFrame`) the system starts at t = 0, with the displacements and velocities
    of the parts of the same names, rotations, internal variables, springs of friction and wear, on the same mesh or on
    another one (the attribute `handover` of the new result says what that changes); `velocity` replaces the velocity of
    the result, and parts that are not in the result are named in `velocity` or `displacement`. contact:
    solution method of the contact problem of a step. levels: pieces with several models, of which one is active at a
    time (`Levels`), and moving patches (`MovingPatch`); parts, junctions and so on are then those common to all of
    them.

    >>> import arlequin as aq
    >>> stone = aq.PointMasses("stone", (0.0, 0.0), 2.0)  # m, kg
    >>> system = aq.System([stone], gravity=(0.0, -10.0), velocity=(3.0, 0.0))  # m/s², m/s
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1.0, step=0.1)
    >>> result["part/stone"]["displacement"][-1, 0].values.round(9).tolist()  # v t, −½ g t², m
    [3.0, -5.0]
    """

    parts: Sequence[Part]
    junctions: Sequence[JunctionProtocol] = ()
    interfaces: Sequence[Interface] = ()
    springs: Sequence[Spring] = field(default=(), kw_only=True)
    relations: Sequence[Relation] = field(default=(), kw_only=True)
    flows: Sequence[FlowForce] = field(default=(), kw_only=True)
    gravity: Any = field(default=None, kw_only=True)
    velocity: InitialField = None
    displacement: InitialField = None
    from_result: Any = field(default=None, kw_only=True)
    contact: ContactMethod = field(default_factory=ContactMethod)
    levels: Sequence[Levels | MovingPatch] = field(default=(), kw_only=True)
    names: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        kinds: dict[str, Any] = {
            "interfaces": Interface, "springs": Spring, "relations": Relation, "flows": FlowForce,
        }  # fmt: skip
        for what in ("parts", "junctions", *kinds):
            items = checks.items(what, getattr(self, what), kinds.get(what, object), f"must be a list of {what}")
            required = {"parts": "assemble", "junctions": "operator"}.get(what, "name")
            for item in items:
                if not hasattr(item, required):
                    cure = "; contact goes to interfaces=[…]" if isinstance(item, Interface) else ""
                    raise UserTypeError.parameter(what, item, f"must be a list of {what}{cure}")
            for name, times in Counter(item.name for item in items).items():
                if times > 1:
                    cure = ", as Junction(…, name='left')" if what == "junctions" else ""
                    raise UserError(f"{times} {what} are named '{name}': names must differ{cure}")
        checks.items(
            "levels", self.levels, Levels | MovingPatch, "must be a list of Levels(name, [level, …], indicator)"
        )
        if not self.parts and not self.levels:
            raise UserError("a system needs at least one part")
        checks.instance("contact", self.contact, ContactMethod, "must be a ContactMethod")
        pairs = Counter(frozenset((item.coarse.name, item.fine.name)) for item in self.junctions)
        for pair, times in pairs.items():
            if times > 1:
                raise UserError(
                    f"{times} junctions glue {' and '.join(sorted(pair))}: their weights would not sum to one"
                )
        if self.levels:
            refuse_flows(self.flows, "a system with levels takes no flows")
        known = {id(part) for part in self.parts}
        for what in ("junctions", *kinds):
            for item in getattr(self, what):
                ends = (item.coarse, item.fine) if what == "junctions" else parts_of(item)
                for part in ends:
                    if id(part) not in known:
                        who = f"{what.removesuffix('s')} '{item.name}' refers to part '{part.name}'"
                        raise UserError(f"{who}, which is not among the parts of the system")
        if callable(self.gravity):
            takes("gravity", self.gravity, t="the time, s")
        if self.levels:
            self._check_levels()
            for item in self.interfaces:
                if item.interference is not None:
                    raise UserError(f"interface '{item.name}': a system with levels closes no interference")
        every = [*self.parts, *(part for levels in self.levels for level in levels.samples for part in level.parts)]
        object.__setattr__(self, "names", tuple(part.name for part in every))
        _check_axes(every)
        self.acceleration(0.0)
        for what in ("velocity", "displacement"):
            initial = getattr(self, what)
            if isinstance(initial, Mapping):
                for name in initial:
                    if name not in self.names:
                        hint = meant(name, self.names)
                        raise UserError(
                            f"{what} of {name!r}: no part has this name{hint}; the parts are {', '.join(self.names)}"
                        )
        if self.from_result is not None:
            if not isinstance(self.from_result, ResultFrame):
                object.__setattr__(self, "from_result", ResultFrame.last(self.from_result))
            self._check_from_result(self.from_result)

    def _check_from_result(self, frame: ResultFrame) -> None:
        """Check that every part is in the result, with the same nodes, or has initial fields."""
        if self.levels:
            name = self.levels[0].name
            raise UserError(f"from_result: choose the levels of the system first, as system.at({{'{name}': 0}})")
        displaced = self.displacement
        if displaced is not None and not isinstance(displaced, Mapping):
            raise UserError("give displacement or from_result, one of them")
        starts = {name for field in (displaced, self.velocity) if isinstance(field, Mapping) for name in field}
        for part in self.parts:
            if part.name in frame.parts:
                if part.name in (displaced or {}):
                    raise UserError(f"displacement of '{part.name}': from_result has it: leave it out")
                frame.check(part)
            elif part.name not in starts:
                hint = meant(part.name, frame.parts)
                raise UserError(
                    f"from_result: has no part '{part.name}'{hint}; its parts are {', '.join(frame.parts)}: say how "
                    f"it starts, as displacement={{'{part.name}': 0.0}}"
                )

        lost = [name for name in frame.interfaces if name not in {item.name for item in self.interfaces}]
        for item in self.interfaces:
            if lost and item.name not in frame.interfaces and (item.friction is not None or item.wear is not None):
                warn_user(
                    f"from_result: interface '{item.name}' is not in the result, which has {', '.join(lost)}: it "
                    "starts without friction forces, slip and wear; give it the name that it had",
                    ModelWarning,
                )

    def starts_from_result(self, what: str, part: Part) -> bool:
        """Whether the initial `what` ("velocity" or "displacement") of the part is that of the former result."""
        initial = getattr(self, what)
        is_named = part.name in initial if isinstance(initial, Mapping) else initial is not None
        return self.from_result is not None and part.name in self.from_result.parts and not is_named

    def _check_levels(self) -> None:
        """Check that each level, with the others at their start, makes a valid system with distinct names."""
        for name, times in Counter(levels.name for levels in self.levels).items():
            if times > 1:
                raise UserError(f"{times} levels are named '{name}': names must differ")
        for what in ITEMS:
            sets = [self, *(level for levels in self.levels for level in levels.samples)]
            counted = Counter(item.name for group in sets for item in getattr(group, what))
            for name, times in counted.items():
                if times > 1:
                    raise UserError(
                        f"{times} {what} of the system and its levels are named '{name}': names must differ"
                    )
        every = [level for levels in self.levels for level in levels.samples]
        touching = [item.name for items in (self.interfaces, *(level.interfaces for level in every)) for item in items]
        for levels in self.levels:
            for name in getattr(levels.choose, "interfaces", ()):
                checks.one_of("interface of the indicator", name, tuple(touching))
            for i, level in enumerate(levels.samples, levels.start if isinstance(levels, MovingPatch) else 0):
                names = [part.name for part in self.at({levels.name: i}).parts]
                for name in level.reference:
                    if name not in names:
                        raise UserError.parameter("reference", name, f"must name parts: {', '.join(names)}")

    def at(self, chosen: Mapping[str, int]) -> "System":
        """The system with one fixed level of each `Levels`: chosen by name, the others at their start.

        UserError for an unknown name or number.
        """
        known = {levels.name: levels for levels in self.levels}
        checks.mapping("levels", chosen, "must map names of levels to numbers, as {'span': 1}")
        for name, number in chosen.items():
            checks.one_of("levels", name, tuple(known))
            checks.integer(f"level of '{name}'", number)
        active = [levels.level(chosen.get(name, levels.start)) for name, levels in known.items()]
        items: dict[str, Any] = {
            what: [*getattr(self, what), *(item for level in active for item in getattr(level, what))] for what in ITEMS
        }
        names = {part.name for part in items["parts"]}
        for what in ("velocity", "displacement"):
            initial = getattr(self, what)
            if isinstance(initial, Mapping):
                items[what] = {name: value for name, value in initial.items() if name in names}
        return replace(self, **items, levels=())

    def __repr__(self) -> str:
        named = [f"{what}={[item.name for item in items]}" for what, items in self._members() if items]
        return f"System({', '.join(named)}, {self._dof_count} dofs)"

    def _repr_html_(self) -> str:
        """A table of the members of the system, and a sketch, for notebooks."""
        from arlequin.system.sketch import CONTACT, ZONE, colour_of, sketch

        colours = {"parts": colour_of, "interfaces": lambda _: CONTACT, "junctions": lambda _: ZONE}
        rows = []
        for what, items in self._members():
            for number, item in enumerate(items):
                colour = colours[what](number) if what in colours else "none"
                rows.append(
                    f'<tr><td style="border-left:4px solid {colour}">{what.removesuffix("s")}</td>'
                    f"<td>{escape(item.name)}</td><td>{escape(repr(item))}</td></tr>"
                )
        table = f"<table><caption>System of {self._dof_count:,} dofs</caption>{''.join(rows)}</table>"
        start = self.at({}) if self.levels else self
        return table + sketch(start.parts, start.interfaces, start.junctions)

    def _members(self) -> list[tuple[str, Sequence[Any]]]:
        return [(what, getattr(self, what)) for what in (*ITEMS, "flows", "levels")]

    @property
    def _dof_count(self) -> int:
        return sum(part.dof_count for part in (self.at({}) if self.levels else self).parts)

    def acceleration(self, t: float) -> Array:
        """Gravity (axis,) at the time t, m/s²; zeros without gravity."""
        parts = self.parts or self.levels[0].samples[0].parts
        axes = max(part.positions.shape[1] for part in parts)
        if self.gravity is None:
            return np.zeros(axes)
        gravity = self.gravity(t) if callable(self.gravity) else self.gravity
        return finite_array("gravity", [gravity] if np.ndim(gravity) == 0 and axes == 1 else gravity, (axes,))

    def initial(self, what: str, part: Part) -> Array:
        """The initial `what` ("velocity" or "displacement") at the nodes of the part, (nodal,)."""
        if self.starts_from_result(what, part):
            return np.array(self.from_result.field(what, part))
        initial: Any = getattr(self, what)
        if isinstance(initial, Mapping):
            initial = initial.get(part.name)
        shape = (part.node_count, part.components)
        if initial is None:
            return np.zeros(part.dof_count)
        if isinstance(initial, Callable):  # type: ignore[arg-type]
            takes(what, initial, x="the positions (n, axis)")
            initial = initial(part.positions)
        try:
            values = np.asarray(initial, dtype=float)
            mismatch = values != 0.0 if values.ndim == 0 else values.shape[-1] != part.components
            if part.components > 1 and mismatch:
                raise ValueError  # a number for all components would point along a diagonal
            if values.ndim == 1 and values.size == part.node_count and part.components == 1:
                values = values[:, None]
            values = np.broadcast_to(values, shape)
        except (TypeError, ValueError, OverflowError):
            rule = f"must give {checks.components(part.components)} at each node of part '{part.name}'"
            raise checks.numbers_error(initial).parameter(what, initial, rule) from None
        if not np.isfinite(values).all():
            raise UserError.parameter(what, initial, "must be finite")
        return np.array(values).ravel()


def parts_of(item: Any) -> list[Part]:
    """The parts that an interface, a spring, a relation or a flow acts on."""
    return list(item.parts) if isinstance(item, FlowForce) else [side.part for side in surfaces_of(item)]


def surfaces_of(item: Any) -> list[Surface]:
    """The surfaces that an interface, a spring or a relation connects, without obstacles and the ground."""
    if isinstance(item, Relation):
        return [surface for surface, *_ in item.terms]
    ends = (item.first, item.second) if isinstance(item, Spring) else (item.slave, item.master)
    return [end for end in ends if isinstance(end, Surface)]


def _check_axes(parts: Sequence[Part]) -> None:
    """UserError where some parts lie in a plane and others in space."""
    flat, solid = (next((part for part in parts if part.positions.shape[1] == axes), None) for axes in (2, 3))
    if flat is not None and solid is not None:
        raise UserError(
            f"part '{flat.name}' is 2D and part '{solid.name}' 3D: all parts of a system must have the same dimension; "
            "model all in 3D, or simulate them apart"
        )
