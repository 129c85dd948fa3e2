"""Rigid motions that nothing holds, by name: of which parts, along or about what."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from arlequin.models.fem.continuum import Continuum
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.part import MeshedPart, Part
from arlequin.models.reduction.modal import ModalAssembled
from arlequin.models.reduction.rigid_modes import rigid_motions
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly

_SAME = 1e-6  # relative size of a motion that is none; cosine short of 1 at which directions are one
_HELD = 1e-9  # relative size of what supports leave of a motion, below which it is free
MOST = 2000  # rigid motions of all parts
_STRAINED = 1e-12  # strain energy of a rigid motion, relative to that of its dofs alone
_AXES = "xyz"


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """Parts that move together, and the rigid motions that they are free to make, in words."""

    parts: tuple[str, ...]
    motions: tuple[str, ...]

    def __str__(self) -> str:
        names = [f"'{name}'" for name in self.parts[:4]]
        names += [f"{len(self.parts) - 4} more"] * (len(self.parts) > 4)
        who = f"part {names[0]}" if len(names) == 1 else f"parts {_listed(names)} together"
        return f"{who} in {' and in '.join(self.motions)}"


def free_motions(assembly: Assembly, most: int = MOST) -> list[FreeMotion]:
    """Rigid motions of the parts, u = R a, that strain no part and no spring, and that all constraints and supports let
    pass: K_links R a = 0, C R a = 0, (R a)_imposed = 0. Contact is left out.

    Motions of a part are t + w × (x − c), of translations t and rotations w about its middle c; of parts without cells
    those of their nodes. most: rigid motions of all parts beyond which they are not looked for.
    """
    if isinstance(assembly.mass, DistributedMatrix):
        return []
    pieces = [part_motions(part, own) for part, own in zip(assembly.system.parts, assembly.parts, strict=True)]
    bounds = np.cumsum([0, *(piece.shape[1] for piece, _ in pieces)])
    count = int(bounds[-1])
    if not 0 < count <= most:
        return []
    motions = sp.csr_array(sp.block_diag([piece for piece, _ in pieces], format="csr"))
    rows = [assembly.constraints]
    if assembly.links.any:
        rows.append(assembly.links.rows[assembly.links.stiffness > 0.0])
    held = [
        np.zeros((count, count)),
        motions[assembly.imposed_dofs].toarray(),
        *(_products(each, motions) for each in rows),
    ]
    held.append(scipy.linalg.block_diag(*(own for _, own in pieces)))
    _, values, vectors = np.linalg.svd(scipy.linalg.qr(np.vstack(held), mode="r", check_finite=False)[0][:count])
    null = vectors[values <= _HELD * max(values.max(), 1e-300)].T
    return _described(assembly, null, bounds.tolist()) if null.shape[1] else []


def part_motions(part: Part, own: Any) -> tuple[Array, Array]:
    """R (d, c): translations and rotations of a part in its coordinates, or those of its nodes; and rows (r, c) of
    a = 0 for those that strain it, or that its coordinates do not contain."""
    count = own.mass.shape[0]
    if not isinstance(part, MeshedPart):
        own_nodes = np.eye(count) if count <= MOST else np.zeros((count, 0))
        return own_nodes, np.zeros((0, own_nodes.shape[1]))
    motions = rigid_motions(part.model)
    if isinstance(part.model, Continuum) and part.model.axisymmetric:
        motions = motions[:, 1:2]  # along the axis
    stiffness = own.nodal.stiffness if isinstance(own, ModalAssembled) else own.stiffness
    if stiffness.shape[0] != len(motions):  # a rigid part, in coordinates of its own
        return np.zeros((count, 0)), np.zeros((0, 0))
    size = float((stiffness.diagonal() @ motions**2).max(initial=0.0))
    energy = np.einsum("dc,dc->c", motions, stiffness @ motions)
    held = [np.eye(motions.shape[1])[np.abs(energy) > _STRAINED * size]]  # a beam in tension does not turn freely
    if isinstance(own, ModalAssembled):
        fields = [own.coordinates(field, np.full(len(own.supports), np.nan)) for field in motions.T]
        reduced = np.stack(fields, axis=1)
        lacking = np.linalg.qr(own.shapes @ reduced - motions, mode="r") / np.sqrt(len(motions))
        held.append(np.where(np.abs(lacking) > _SAME, lacking, 0.0))
        motions = reduced
    return motions, np.vstack(held)


def _products(rows: sp.csr_array, motions: sp.csr_array) -> Array:
    """Rows (r, d) · R (r, c), each in units of the sum of its terms' sizes."""
    sizes = np.asarray((abs(rows) @ abs(motions)).sum(axis=1)).ravel()
    return np.asarray((rows @ motions).toarray() / np.where(sizes > 0.0, sizes, 1.0)[:, None])


def _described(assembly: Assembly, null: Array, bounds: list[int]) -> list[FreeMotion]:
    """The null space (c, k) by groups of parts that move together; bounds: of the columns of each part."""
    parts = assembly.system.parts
    projector = null @ null.T
    blocks = [slice(a, b) for a, b in pairwise(bounds)]
    linked = np.array([[np.abs(projector[one, two]).max(initial=0.0) > _SAME for two in blocks] for one in blocks])
    _, group = sp.csgraph.connected_components(sp.csr_array(linked), directed=False)
    found = []
    for number in dict.fromkeys(group.tolist()):
        members = [i for i in np.flatnonzero(group == number).tolist() if linked[i, i]]
        if not members:
            continue
        shown = max(members, key=lambda i: np.linalg.matrix_rank(projector[blocks[i], blocks[i]], tol=_SAME))
        values, vectors = np.linalg.eigh(projector[blocks[shown], blocks[shown]])
        words = _words(parts[shown], vectors[:, values > _SAME])
        found.append(FreeMotion(tuple(parts[i].name for i in members), tuple(words)))
    return found


def _words(part: Part, space: Array) -> list[str]:
    """Motions of a part in words; space (c, k): orthonormal combinations of its rigid motions that are free."""
    axes = part.positions.shape[1]
    if not isinstance(part, MeshedPart):
        moves: dict[int, list[str]] = {}
        for dof in sorted({int(np.argmax(np.abs(vector))) for vector in space.T}):
            moves.setdefault(dof // axes, []).append(_AXES[dof % axes])
        return [f"translation along {_listed(names)} of node {node}" for node, names in moves.items()]
    if isinstance(part.model, Continuum) and part.model.axisymmetric:
        return ["translation along z"]
    centre, extent = part.positions.mean(axis=0), float(np.abs(part.positions - part.positions.mean(axis=0)).max())
    # translations alone: combinations without a rotation
    _, values, vectors = np.linalg.svd(space[axes:])
    values = np.pad(values, (0, space.shape[1] - values.size))
    along, turning = space[:axes] @ vectors[values <= _SAME].T, space @ vectors[values > _SAME].T
    words = [f"translation along {_listed(_directions(along))}"] if along.shape[1] else []
    if axes == 2 and turning.size:
        turning = np.vstack([turning[:2], np.zeros((3, turning.shape[1]))[:1], np.zeros_like(turning[:2]), turning[2:]])
    return words + _rotations(along, turning, centre, extent or 1.0)


def _rotations(along: Array, turning: Array, centre: Array, extent: float) -> list[str]:
    """Rotations in words: turning (6, k), translations and turns by the extent; along (a, l): free translations."""
    axes = centre.size
    if turning.shape[1] == 3:
        return ["all rotations"]
    words = []
    for name, vector in _turning(turning) if turning.size else []:
        w, move = vector[3:] / extent, vector[:3]
        move[:axes] -= along @ (along.T @ move[:axes])
        point = centre + (np.cross(w, move) / (w @ w))[:axes]
        axis = "" if axes == 2 else f" about {name}"
        through = " about" if axes == 2 else " through"
        words.append(f"rotation{axis}{'' if along.shape[1] == axes else f'{through} {_place(point, extent)}'}")
    return words


def _directions(space: Array) -> list[str]:
    """Names of directions that span a space (a, k): axes where they lie in it."""
    if not space.shape[1]:
        return []
    basis = scipy.linalg.orth(space)
    inside = [i for i in range(len(basis)) if np.linalg.norm(basis[i]) > 1.0 - _SAME]
    names = [_AXES[i] for i in inside]
    others = (
        np.delete(np.eye(len(basis)), inside, axis=0) if len(inside) < basis.shape[1] else np.zeros((0, len(basis)))
    )
    if others.size:
        rest = basis - np.eye(len(basis))[:, inside] @ basis[inside]
        names += [_vector(direction) for direction in scipy.linalg.orth(rest, rcond=1e-3).T]
    return names


def _turning(rest: Array) -> list[tuple[str, Array]]:
    """Rotations (name, combination (6,)) that span those of `rest` (6, k)."""
    found = []
    turns = rest[3:]
    for i in range(3):
        shares, *_ = np.linalg.lstsq(turns, np.eye(3)[i], rcond=None)
        if np.linalg.norm(turns @ shares - np.eye(3)[i]) < 1e-3:
            found.append((_AXES[i], rest @ shares))
    if len(found) == rest.shape[1]:
        return found
    return [(_vector(vector[3:]), vector) for vector in rest.T]


def _vector(direction: Array) -> str:
    unit = direction / np.linalg.norm(direction)
    unit = unit * np.sign(unit[np.argmax(np.abs(unit) > 1e-3)])
    return "(" + ", ".join(f"{x:.3g}" for x in np.where(np.abs(unit) < 1e-6, 0.0, unit)) + ")"


def _place(point: Array, extent: float) -> str:
    near = np.where(np.abs(point) < 1e-6 * extent, 0.0, point)
    return "(" + ", ".join(f"{x:.4g}" for x in near) + ") m"


def _listed(words: "list[str] | tuple[str, ...]") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
