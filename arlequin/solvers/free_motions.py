"""Unconstrained rigid motions, described in words: parts, axes and directions."""

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
from arlequin.models.reduction.superelement import Superelement
from arlequin.models.reduction.superelement_description import RIGID
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly

_TOLERANCE = 1e-6  # relative size of a motion that counts as zero; 1 − cosine at which directions count as equal
_FREE = 1e-9  # relative singular value of the restraints, below which a motion is free
MAX_MOTIONS = 2000  # rigid motions of all parts together
_STRAINED = 1e-12  # strain energy of a rigid motion, relative to that of its dofs alone
_AXES = "xyz"


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """Parts that move together, and their free rigid motions in words."""

    parts: tuple[str, ...]
    motions: tuple[str, ...]

    def __str__(self) -> str:
        names = [f"'{name}'" for name in self.parts[:4]]
        names += [f"{len(self.parts) - 4} more"] * (len(self.parts) > 4)
        who = f"part {names[0]}" if len(names) == 1 else f"parts {_listed(names)} together"
        return f"{who} in {' and in '.join(self.motions)}"


def free_motions(assembly: Assembly, max_motions: int = MAX_MOTIONS) -> list[FreeMotion]:
    """Rigid motions of the parts, u = R a, that strain no part and no spring and satisfy all constraints and supports:
    K_links R a = 0, C R a = 0, (R a)_imposed = 0. Contact is left out.

    Motions of a part are t + w × (x − c), of translations t and rotations w about its middle c; of parts without cells
    those of their nodes. max_motions: rigid motions of all parts together, above which none is computed.
    """
    if isinstance(assembly.mass, DistributedMatrix):
        return []
    pieces = [
        part_motions(part, assembled) for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True)
    ]
    bounds = np.cumsum([0, *(piece.shape[1] for piece, _ in pieces)])
    count = int(bounds[-1])
    if not 0 < count <= max_motions:
        return []
    motions = sp.csr_array(sp.block_diag([sp.csr_array(piece) for piece, _ in pieces], format="csr"))
    rows = [assembly.constraints]
    if assembly.links.any:
        rows.append(assembly.links.rows[assembly.links.stiffness > 0.0])
    restraints = [
        np.zeros((count, count)),
        motions[assembly.imposed_dofs].toarray(),
        *(_products(each, motions) for each in rows),
    ]
    restraints.append(scipy.linalg.block_diag(*(strain_rows for _, strain_rows in pieces)))
    _, values, vectors = np.linalg.svd(scipy.linalg.qr(np.vstack(restraints), mode="r", check_finite=False)[0][:count])
    null = vectors[values <= _FREE * max(values.max(), 1e-300)].T
    return _described(assembly, null, bounds.tolist()) if null.shape[1] else []


def part_motions(part: Part, assembled: Any) -> tuple[Array, Array]:
    """R (d, c): translations and rotations of a part in its coordinates, or those of its nodes; and rows (r, c) of
    a = 0 for motions that strain it, or that its coordinates do not represent."""
    count = assembled.mass.shape[0]
    if isinstance(part, Superelement):
        motions = part.coordinates_of(rigid_motions(part))
        strained = [name for name, energy in part.rigid_energies.items() if energy > RIGID]
        at_rest = [name for name in part.motion_names if name not in part.rigid_motions]
        fixed = [part.motion_names.index(name) for name in (*strained, *at_rest)]
        return motions, np.eye(motions.shape[1])[fixed]
    if not isinstance(part, MeshedPart):
        node_motions = np.eye(count) if count <= MAX_MOTIONS else np.zeros((count, 0))
        return node_motions, np.zeros((0, node_motions.shape[1]))
    motions = rigid_motions(part.model)
    if isinstance(part.model, Continuum) and part.model.axisymmetric:
        motions = motions[:, 1:2]  # along the axis
    stiffness = assembled.nodal.stiffness if isinstance(assembled, ModalAssembled) else assembled.stiffness
    if stiffness.shape[0] != len(motions):  # a rigid part, in rigid-body coordinates
        return np.zeros((count, 0)), np.zeros((0, 0))
    size = float((stiffness.diagonal() @ motions**2).max(initial=0.0))
    energy = np.einsum("dc,dc->c", motions, stiffness @ motions)
    restraints = [np.eye(motions.shape[1])[np.abs(energy) > _STRAINED * size]]  # a beam in tension does not turn freely
    if isinstance(assembled, ModalAssembled):
        fields = [assembled.coordinates(field, np.full(len(assembled.supports), np.nan)) for field in motions.T]
        reduced = np.stack(fields, axis=1)
        residual = np.linalg.qr(assembled.shapes @ reduced - motions, mode="r") / np.sqrt(len(motions))
        restraints.append(np.where(np.abs(residual) > _TOLERANCE, residual, 0.0))
        motions = reduced
    return motions, np.vstack(restraints)


def _products(rows: sp.csr_array, motions: sp.csr_array) -> Array:
    """Rows (r, d) · R (r, c), each divided by the sum of the absolute values of its terms."""
    sizes = np.asarray((abs(rows) @ abs(motions)).sum(axis=1)).ravel()
    return np.asarray((rows @ motions).toarray() / np.where(sizes > 0.0, sizes, 1.0)[:, None])


def _described(assembly: Assembly, null: Array, bounds: list[int]) -> list[FreeMotion]:
    """The null space (c, k) by groups of parts that move together; bounds: of the columns of each part."""
    parts = assembly.system.parts
    projector = null @ null.T
    blocks = [slice(a, b) for a, b in pairwise(bounds)]
    linked = np.array([[np.abs(projector[a, b]).max(initial=0.0) > _TOLERANCE for b in blocks] for a in blocks])
    _, group = sp.csgraph.connected_components(sp.csr_array(linked), directed=False)
    groups = []
    for number in dict.fromkeys(group.tolist()):
        members = [i for i in np.flatnonzero(group == number).tolist() if linked[i, i]]
        if not members:
            continue
        representative = max(
            members, key=lambda i: np.linalg.matrix_rank(projector[blocks[i], blocks[i]], tol=_TOLERANCE)
        )
        values, vectors = np.linalg.eigh(projector[blocks[representative], blocks[representative]])
        words = _words(parts[representative], vectors[:, values > _TOLERANCE])
        groups.append(FreeMotion(tuple(parts[i].name for i in members), tuple(words)))
    return groups


def _words(part: Part, space: Array) -> list[str]:
    """Motions of a part in words; space (c, k): orthonormal combinations of its rigid motions that are free."""
    axes = part.positions.shape[1]
    if not isinstance(part, MeshedPart | Superelement):
        moves: dict[int, list[str]] = {}
        for dof in sorted({int(np.argmax(np.abs(vector))) for vector in space.T}):
            moves.setdefault(dof // axes, []).append(_AXES[dof % axes])
        return [f"translation along {_listed(names)} of node {node}" for node, names in moves.items()]
    if isinstance(part, MeshedPart) and isinstance(part.model, Continuum) and part.model.axisymmetric:
        return ["translation along z"]
    centre, extent = part.positions.mean(axis=0), float(np.abs(part.positions - part.positions.mean(axis=0)).max())
    # translations alone: combinations without a rotation
    _, values, vectors = np.linalg.svd(space[axes:])
    values = np.pad(values, (0, space.shape[1] - values.size))
    along, turning = space[:axes] @ vectors[values <= _TOLERANCE].T, space @ vectors[values > _TOLERANCE].T
    words = [f"translation along {_listed(_directions(along))}"] if along.shape[1] else []
    if axes == 2 and turning.size:
        turning = np.vstack([turning[:2], np.zeros((3, turning.shape[1]))[:1], np.zeros_like(turning[:2]), turning[2:]])
    return words + _rotations(along, turning, centre, extent or 1.0)


def _rotations(along: Array, turning: Array, centre: Array, extent: float) -> list[str]:
    """Rotations in words: turning (6, k), translations, and rotations times the extent; along (a, l): free
    translations."""
    axes = centre.size
    if turning.shape[1] == 3:
        return ["all rotations"]
    words = []
    for name, vector in _rotation_basis(turning) if turning.size else []:
        w, move = vector[3:] / extent, vector[:3]
        move[:axes] -= along @ (along.T @ move[:axes])
        point = centre + (np.cross(w, move) / (w @ w))[:axes]
        axis = "" if axes == 2 else f" about {name}"
        through = " about" if axes == 2 else " through"
        words.append(f"rotation{axis}{'' if along.shape[1] == axes else f'{through} {_place(point, extent)}'}")
    return words


def _directions(space: Array) -> list[str]:
    """Names of directions that span a space (a, k): coordinate axes in it, then vectors."""
    if not space.shape[1]:
        return []
    basis = scipy.linalg.orth(space)
    inside = [i for i in range(len(basis)) if np.linalg.norm(basis[i]) > 1.0 - _TOLERANCE]
    names = [_AXES[i] for i in inside]
    others = (
        np.delete(np.eye(len(basis)), inside, axis=0) if len(inside) < basis.shape[1] else np.zeros((0, len(basis)))
    )
    if others.size:
        rest = basis - np.eye(len(basis))[:, inside] @ basis[inside]
        names += [_vector(direction) for direction in scipy.linalg.orth(rest, rcond=1e-3).T]
    return names


def _rotation_basis(motions: Array) -> list[tuple[str, Array]]:
    """Rotations (name, combination (6,)) that span those of `motions` (6, k)."""
    rotations = []
    turns = motions[3:]
    for i in range(3):
        shares, *_ = np.linalg.lstsq(turns, np.eye(3)[i], rcond=None)
        if np.linalg.norm(turns @ shares - np.eye(3)[i]) < 1e-3:
            rotations.append((_AXES[i], motions @ shares))
    if len(rotations) == motions.shape[1]:
        return rotations
    return [(_vector(vector[3:]), vector) for vector in motions.T]


def _vector(direction: Array) -> str:
    unit = direction / np.linalg.norm(direction)
    unit = unit * np.sign(unit[np.argmax(np.abs(unit) > 1e-3)])
    return "(" + ", ".join(f"{x:.3g}" for x in np.where(np.abs(unit) < 1e-6, 0.0, unit)) + ")"


def _place(point: Array, extent: float) -> str:
    near = np.where(np.abs(point) < 1e-6 * extent, 0.0, point)
    return "(" + ", ".join(f"{x:.4g}" for x in near) + ") m"


def _listed(words: "list[str] | tuple[str, ...]") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
