"""Surfaces of an Abaqus model: faces of elements, nodes, and unions, intersections and differences of surfaces.

A surface of nodes is a node set.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from arlequin.models.mesh.abaqus.pieces import Piece, Pieces, names_of_nothing
from arlequin.models.mesh.abaqus.scope import Surface
from arlequin.models.mesh.foreign import ForeignMesh, pad, shape
from arlequin.models.types import Indices


@dataclass(eq=False)
class SurfacesOf:
    """The surfaces of a mesh: corners (f, 4) of sides, or nodes, by the names in the mesh of all."""

    mesh: ForeignMesh
    pieces: Pieces
    sides: dict[str, Indices] = field(default_factory=dict)
    nodes: dict[str, Indices] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._element_sets = {name.upper(): members for name, members in self.mesh.element_sets.items()}
        self._node_sets = {name.upper(): members for name, members in self.mesh.node_sets.items()}
        # of each piece, its surfaces by their names in upper case
        self._known: dict[tuple[str, str], Indices] = {}
        for piece in self.pieces.every:
            for name, surface in piece.scope.surfaces.items():
                members = self._members(piece, name, surface)
                self._known[piece.name.upper(), name.upper()] = members
                known = self.sides if members.ndim == 2 else self.nodes
                known[self.pieces.name_of("SURFACE", piece, name)] = members
                if not members.size:
                    self._leave_out(f"empty surfaces ({name!r})")

    def _leave_out(self, what: str, count: int = 1) -> None:
        self.left_out[what] = self.left_out.get(what, 0) + count

    def _members(self, piece: Piece, name: str, surface: Surface) -> Indices:
        """Corners (f, 4) of the sides of a surface, or its nodes (n,)."""
        if surface.kind in ("ELEMENT", "NODE"):
            what = "ELSET" if surface.kind == "ELEMENT" else "NSET"
            of_face: dict[str, list[Indices]] = {}
            for row in surface.rows:
                members = self._named(piece, what, row[0])
                if members is None:
                    self._leave_out(names_of_nothing(row[0], f"surface {name!r}"))
                else:
                    of_face.setdefault(row[1].upper() if len(row) > 1 else "", []).append(members)
            if surface.kind == "NODE":
                every = [members for rows in of_face.values() for members in rows]
                return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *every]))
            faces = [self._faces(np.concatenate(rows), face, name) for face, rows in of_face.items()]
            return np.vstack([np.zeros((0, 4), dtype=np.int64), *faces])
        others = []
        for word in [word for row in surface.rows for word in row if word]:
            other = self._surface(piece, word)
            if other is None:
                self._leave_out(names_of_nothing(word, f"surface {name!r}"))
            else:
                others.append(other)
        return _combined(surface.kind, others)

    def _named(self, piece: Piece, what: str, word: str) -> Indices | None:
        """Points or cells of a number or set: of the piece, of an instance ("instance.name"), or of the assembly."""
        members = piece.members(what, word)
        instance, _, other = word.partition(".")
        if members is None and other and instance.upper() in self.pieces.by_name:
            members = self.pieces.by_name[instance.upper()].members(what, other)
        if members is None:  # a set that the assembly made of an instance's
            members = (self._element_sets if what == "ELSET" else self._node_sets).get(word.upper())
        return members

    def _surface(self, piece: Piece, word: str) -> Indices | None:
        """A surface that is defined before: of the piece, or of an instance."""
        instance, _, other = word.upper().partition(".")
        return self._known.get((piece.name.upper(), word.upper()), self._known.get((instance, other)))

    def _faces(self, cells: Indices, face: str, name: str) -> Indices:
        """Corners (f, 4) of a face of cells: S1 …, SPOS or SNEG of shells, and their edges E1 …; "": the free sides."""
        solid = self.mesh.dimension == 3
        if face in ("", "SPOS", "SNEG"):
            faces = [self.mesh.outer_sides(cells)] if face == "" else []
            # shells on a solid are faces themselves
            for block, start in zip(self.mesh.blocks, self.mesh.starts, strict=False):
                here = cells[(cells >= start) & (cells < start + len(block.nodes))] - start
                if block.dimension == 2 and (solid or face):
                    faces.append(pad(block.nodes[here][:, : shape(block.kind).corners]))
            sides = np.vstack([np.zeros((0, 4), dtype=np.int64), *faces])
            lost = 0 if face == "" else len(cells) - len(sides)
        else:
            number = int(face[1:]) if face[:1] in "SE" and face[1:].isdigit() else 0
            sides = self.mesh.sides(cells, np.full(len(cells), number - 1))
            lost = len(cells) - len(sides)
        if lost:
            self._leave_out(f"faces {face} of the surface {name!r} that the elements do not have", lost)
        return sides


def _combined(how: str, surfaces: list[Indices]) -> Indices:
    """The union, or the intersection or difference of two, of surfaces, all of sides (f, 4) or all of nodes (n,)."""
    if not surfaces:
        return np.zeros((0, 4), dtype=np.int64)
    if len({surface.ndim for surface in surfaces}) > 1:
        raise ValueError(f"*SURFACE, COMBINE={how} of faces and nodes")
    if how != "UNION" and len(surfaces) != 2:
        raise ValueError(f"*SURFACE, COMBINE={how} of {len(surfaces)} surfaces, not 2")
    every = np.concatenate(surfaces)
    # sides are the same where their corners are, in any order
    keys = np.sort(every, axis=1) if every.ndim == 2 else every[:, None]
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    number = number.ravel()
    if how != "UNION":
        of_second = np.isin(np.arange(len(first)), number[len(surfaces[0]) :])
        in_first = np.isin(np.arange(len(first)), number[: len(surfaces[0])])
        first = first[in_first & (of_second if how == "INTERSECTION" else ~of_second)]
    return np.asarray(every[np.sort(first)])


def merged(
    sets: Mapping[str, Indices], surfaces: Mapping[str, Indices], left_out: dict[str, int]
) -> dict[str, Indices]:
    """Node sets with the surfaces of nodes; one that has the name of another set, of other members, is left out."""
    out = dict(sets)
    for name, members in surfaces.items():
        if name in out and not np.array_equal(out[name], members):
            left_out[f"surfaces of nodes with the name of another node set ({name!r})"] = 1
        else:
            out[name] = members
    return out
