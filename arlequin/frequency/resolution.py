"""Highest frequencies that meshes and reduced parts resolve."""

from typing import NamedTuple

import numpy as np

from arlequin.frequency.linearised import Linearised
from arlequin.models.beams.beam import Beam
from arlequin.models.errors import ModelWarning, UserError, warn_user
from arlequin.models.part import MeshedPart
from arlequin.models.types import Array

_CELLS = 6.0  # cells of order 1 on a wave: its speed is right to about 5 %
_BEAM_CELLS = 4.0  # the same for beams in bending, right to 1 %
_LEAST = 2.0  # on a shorter wave no mesh has a wave at all


class Resolution(NamedTuple):
    """Frequencies, Hz, up to which a part is accurate, and above which it has no such waves; its name, and why."""

    accurate: float
    highest: float
    part: str
    reason: str


def resolutions(linear: Linearised) -> list[Resolution]:
    """Of all parts with a mesh or modes.

    Solids: shear waves of length √(μ/ρ)/f on the largest cell of size h and order p, n = 6/p cells to a wave; beams:
    bending waves of length 2π (EI/ρA)^¼/√(2πf), n = 4 cells. Reduced parts: their highest mode.
    """
    assembly, out = linear.assembly, []
    for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True):
        if assembled.mass.shape[0] != part.dof_count:
            highest = float(assembled.highest_frequency()) / (2 * np.pi)
            out.append(Resolution(highest, highest, part.name, "is the highest frequency of its reduced coordinates"))
        elif isinstance(part, Beam):
            out.append(_of_beam(part))
        elif isinstance(part, MeshedPart) and hasattr(part, "lame"):
            out.append(_of_solid(part))
    return out


def check_resolution(linear: Linearised, frequencies: Array) -> None:
    """UserError for frequencies at which no wave fits on the mesh, a warning where it is coarse."""
    top = float(frequencies.max())
    for each in resolutions(linear):
        if top > each.highest:
            raise UserError.parameter(
                "frequencies",
                f"{top:g} Hz",
                f"must be at most {each.highest:.3g} Hz, which {each.reason} in '{each.part}'",
            )
        if top > each.accurate:
            warn_user(
                f"frequencies up to {top:.3g} Hz: part '{each.part}' is accurate up to {each.accurate:.3g} Hz, above "
                "which a wave has too few cells",
                ModelWarning,
            )


def _of_solid(part: MeshedPart) -> Resolution:
    """Of a solid or a bar."""
    model = part.model
    lam, mu = model.lame
    speed = np.sqrt((mu or lam) / model.material.density)
    corners = model.mesh.p[:, model.mesh.t[: model.mesh.dim() + 1]]
    size = float(np.linalg.norm(corners[:, :, None] - corners[:, None], axis=0).max(axis=(0, 1)).max())
    size /= np.sqrt(model.mesh.dim()) if model.mesh.t.shape[0] >= 2 ** model.mesh.dim() else 1.0
    highest = float(speed / (_LEAST * size) * model.finite_element.order)
    return Resolution(highest * _LEAST / _CELLS, highest, part.name, "has two cells of the least order to a wave")


def _of_beam(part: Beam) -> Resolution:
    """Of a beam in bending."""
    size = float(np.abs(np.diff(part.mesh.p[0][part.mesh.t], axis=0)).max())
    rigidity = float(np.min(part.rigidities[[2] if part.dimension == 2 else [4, 5]]))
    line_mass = float(part.inertias[part.dimension - 1])
    bending = np.sqrt(rigidity / line_mass) * 2 * np.pi / size**2  # f of a wave as long as a cell
    return Resolution(
        float(bending / _BEAM_CELLS**2), float(bending / _LEAST**2), part.name, "has two cells to a bending wave"
    )
