"""Highest frequencies that meshes and reduced parts resolve."""

import math
from typing import NamedTuple

import numpy as np
from skfem import Mesh

from arlequin.frequency.linearised import Linearised
from arlequin.models.beams.beam import Beam
from arlequin.models.errors import ModelWarning, UserError, warn_user
from arlequin.models.fem.continuum import Continuum
from arlequin.models.part import Assembled, MeshedPart
from arlequin.models.reduction.modal import Modal, ModalAssembled
from arlequin.models.types import Array

_CELLS = 6.0  # cells of order 1 on a wave: its frequency is right to about 5 %
_BEAM_CELLS = 4.0  # the same for beams in bending, right to 1 %
_LEAST = 2.0  # on a shorter wave no mesh has a wave at all
_MARGIN = 1.5  # of the highest mode of a reduced part above the frequencies that it is accurate for


class Resolution(NamedTuple):
    """Frequencies, Hz, up to which a part is accurate, and above which it has no such waves; its name, and why."""

    accurate: float
    highest: float
    part: str
    reason: str


def resolutions(linear: Linearised) -> list[Resolution]:
    """Of all parts with a mesh or modes.

    Solids and bars: shear waves (bars: waves along it) of length c/f on the longest edge of size h and order p, 6/p
    cells to a wave; beams: bending waves of length 2π (EI/ρA)^¼/√(2πf), 4 cells, or waves along it, 6 cells. Reduced
    parts: their highest mode without static shapes, 1.5 f. Waves of bending of thin solids are shorter than shear
    waves: their limit is lower.
    """
    assembly, out = linear.assembly, []
    for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True):
        model = part.model if isinstance(part, MeshedPart) else None
        if isinstance(part, Modal):
            out.extend(_of_modes(part, assembled))
        elif isinstance(model, Beam):
            out.append(_of_beam(model))
        elif isinstance(model, Continuum):
            out.append(_of_continuum(model))
    return out


def check_resolution(linear: Linearised, frequencies: Array) -> None:
    """UserError for frequencies at which no wave fits on the mesh, a warning where it is coarse."""
    top = float(frequencies.max())
    for each in resolutions(linear):
        if top > each.highest:
            rule = f"must be at most {each.highest:.4g} Hz, which {each.reason} in '{each.part}'"
            raise UserError(f"frequencies up to {top:.6g} Hz: {rule}")
        if top > each.accurate:
            warn_user(
                f"frequencies up to {top:.3g} Hz: part '{each.part}' is accurate up to {each.accurate:.3g} Hz, above "
                "which a wave has too few cells or modes",
                ModelWarning,
            )


def longest_edge(mesh: Mesh) -> float:
    """Longest edge of the cells of a mesh, m."""
    corners = mesh.p[:, : mesh.nvertices]
    ends = {1: mesh.t[:2], 2: mesh.facets}[mesh.dim()] if mesh.dim() < 3 else mesh.edges
    return float(np.linalg.norm(corners[:, ends[1]] - corners[:, ends[0]], axis=0).max())


def _of_continuum(part: Continuum) -> Resolution:
    """Of a solid or a bar."""
    lam, mu = part.lame
    modulus = lam + 2.0 * mu if part.mesh.dim() == 1 else mu
    spacing = longest_edge(part.mesh) / part.finite_element.order
    highest = math.sqrt(modulus / part.material.density) / (_LEAST * spacing)
    return Resolution(highest * _LEAST / _CELLS, highest, part.name, "has two nodes to a wave")


def _of_beam(part: Beam) -> Resolution:
    """Of a beam in bending, or along it where these waves are shorter."""
    size = float(np.abs(np.diff(part.mesh.p[0][part.mesh.t], axis=0)).max())
    rigidity, line_mass = part.rigidities, part.inertias
    bending = float(np.min(rigidity[[2] if part.dimension == 2 else [4, 5]]))
    of_one_cell = math.sqrt(bending / float(line_mass[part.dimension - 1])) * 2.0 * math.pi / size**2
    along = math.sqrt(float(rigidity[0] / line_mass[0])) / size
    accurate = min(of_one_cell / _BEAM_CELLS**2, along / _CELLS)
    return Resolution(accurate, min(of_one_cell / _LEAST**2, along / _LEAST), part.name, "has two cells to a wave")


def _of_modes(part: Modal, assembled: Assembled) -> list[Resolution]:
    """Of a part reduced to its modes."""
    if not isinstance(assembled, ModalAssembled):
        return []
    kept = np.sort(np.sqrt(np.maximum(assembled.squares, 0.0)))[: part.modes] / (2.0 * math.pi)
    if not kept.size or not kept[-1] > 0.0:
        return []
    highest = float(kept[-1])
    return [Resolution(highest / _MARGIN, highest, part.name, "is the highest of its modes")]
