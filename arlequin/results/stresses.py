"""Stresses of solids and bars by cell, section forces of beams: recorded at the frames, or computed from a result.

    stress          σ (cell, component), Pa: mean over the cell, on the axes of space
    mises_stress    √(3/2 s:s) (cell), Pa: mean over the cell
    section_force   N, V_y, V_z (cell, end, component), N, and
    section_moment  M_x, M_y, M_z (cell, end, component), N·m, of a beam at the two ends of its cells, local axes

The stress of a part in a gluing zone is that of its own displacement, without the weight α of its energy. It is nan in
cells of negligible weight, which another part has taken over (`arlequin.results.cell_weights`). In finite kinematics it
is Cauchy's. Forces and moments at a section are those on its side of smaller arc length, from the side of
larger arc length: N > 0 is tension, V_y acts along local y, M_z > 0 bends towards +y. They follow
from the displacement: the N of a beam at rest, `Beam(tension=)`, is not among them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from arlequin.models.beams.beam import Beam
from arlequin.models.errors import FAILURE, UserError, UserTypeError
from arlequin.models.fem.continuum import Continuum
from arlequin.models.fem.stress import STRESS_FIELDS, displacements, part_components, von_mises
from arlequin.models.part import Assembled, MeshedPart, Part, PathDependent
from arlequin.models.rigid.solid import Rigid
from arlequin.models.types import Array
from arlequin.results.cell_weights import counting_cells
from arlequin.results.members import one_member
from arlequin.results.reading import of_result
from arlequin.results.variables import Variable, VariableGroup

ENDS = ("first", "second")
FORCES = {2: ("N", "Vy"), 3: ("N", "Vy", "Vz")}
MOMENTS = {2: ("Mz",), 3: ("Mx", "My", "Mz")}


def stressed(part: Part) -> MeshedPart | None:
    """The part, if it has stresses or section forces; None for masses and rigid bodies."""
    if isinstance(part, Rigid) or not isinstance(part, MeshedPart):
        return None
    return part if isinstance(part.model, Beam | Continuum) else None


def variables_of(part: MeshedPart) -> list[Variable]:
    """The variables of the stresses of a part, with units and names."""
    model: Any = part.model
    dims: dict[str, Any] = {"cell": len(part.connectivity)}
    if isinstance(model, Beam):
        size = model.dimension
        dims |= {"end": ENDS, "force_component": FORCES[size], "moment_component": MOMENTS[size]}
        return VariableGroup(f"part/{part.name}", dims).variables(
            ("section_force", "frame cell end force_component", "N", "section force at the ends of the cell"),
            ("section_moment", "frame cell end moment_component", "N m", "section moment at the ends of the cell"),
        )
    dims["stress_component"] = model.stress_components
    name, units, text = STRESS_FIELDS[0]
    return VariableGroup(f"part/{part.name}", dims).variables(
        ("stress", "frame cell stress_component", "Pa", "stress, mean over the cell"),
        (name, "frame cell", units, text),
    )


def values_of(
    part: MeshedPart, u: Array, memory: Array | None = None, hide: NDArray[np.bool_] | None = None
) -> dict[str, Array]:
    """Values of one frame by name, at nodal displacements u (nodal,) and internal variables (c, q, m) of all cells; nan
    in the cells `hide` (c,)."""
    fields = _values_of(part, u, memory)
    if hide is not None:
        for values in fields.values():
            values[hide] = np.nan
    return fields


def _values_of(part: MeshedPart, u: Array, memory: Array | None) -> dict[str, Array]:
    model: Any = part.model
    if isinstance(model, Beam):
        local = model.end_resultants(u)
        return {"section_force": local[..., : model.dimension], "section_moment": local[..., model.dimension :]}
    needed = () if memory is None else (memory,)
    stress = model.stress(u, *needed)
    share = model.cells.dx / model.cells.dx.sum(axis=1, keepdims=True)
    return {
        "stress": np.einsum("cq,cqk->ck", share, stress),
        STRESS_FIELDS[0][0]: (share * von_mises(stress, model.stress_components)).sum(axis=1),
    }


class StressSeries:
    """Stresses of a part at the frames of a run."""

    def __init__(
        self, part: MeshedPart, assembled: Assembled, known: tuple[str, ...], hidden: NDArray[np.bool_] | None
    ) -> None:
        """assembled: of the part; known: names of variables recorded elsewhere; hidden (c,): cells to leave out."""
        self._part, self._hidden = part, hidden
        self._assembled = assembled if isinstance(assembled, PathDependent) else None
        self._group = f"part/{part.name}"
        self._variables = [variable for variable in variables_of(part) if variable.name not in known]

    def variables(self) -> list[Variable]:
        """Recorded variables, with units and names."""
        return self._variables

    def frames(self, u: Array, memory: Array | None) -> dict[tuple[str, str], Array]:
        """Values at nodal displacements u (f, …, nodal), f = 1 with internal variables; nan if a cell is inverted."""
        flat = u.reshape(-1, u.shape[-1])
        frames = [self._frame(frame, memory) for frame in flat]
        return {
            (self._group, v.name): np.stack([frame[v.name] for frame in frames]).reshape(*u.shape[:-1], *v.shape)
            for v in self._variables
        }

    def _frame(self, u: Array, memory: Array | None) -> dict[str, Array]:
        try:
            if self._assembled is not None and memory is not None:
                model: Any = self._part.model
                components = part_components(model, self._assembled.mean_stress(u, memory), -1)
                if self._hidden is not None:
                    components[self._hidden] = np.nan
                return {"stress": components}
            return values_of(self._part, u, hide=self._hidden)
        except UserError as error:
            if error.code != FAILURE:
                raise
            # an inverted cell that weighs nothing: the run goes on
            return {v.name: np.full(v.shape, np.nan) for v in self._variables}


@of_result
def stress(result: xarray.DataTree, part: Part, *, member: int | None = None) -> xarray.Dataset:
    """Stresses of a solid or a bar, or section forces of a beam, at the frames of a result, computed from it.

    part: the part of the system that was run, or one with the same mesh and material. The dataset has `stress` (frame,
    cell, stress_component) and `mises_stress` (frame, cell), Pa, means over the cells; of a beam it has `section_force`
    (frame, cell, end, force_component), N, and `section_moment` (frame, cell, end, moment_component), N·m. Metals need
    a result of `Record(point_memory=True)`. member: of an ensemble, from 0.

    `Record(stress=True)` records the same during the run.
    """
    result = one_member(result, member, "the stress")
    stressed_part = stressed(part)
    if stressed_part is None:
        if not isinstance(getattr(part, "name", None), str):
            raise UserTypeError.parameter("part", part, "must be the part of the system that was run")
        raise UserError(f"{part.name}: {type(part).__name__} has no stresses")
    if f"/part/{part.name}" not in result.groups:
        known = list(result["part"].children) if "part" in result.children else []
        raise UserError(f"part {part.name}: not in the result; there are {', '.join(known) or 'none'}")
    group = result[f"part/{part.name}"].dataset
    if "displacement" not in group:
        raise UserError(f"part {part.name}: its displacement is not recorded")
    memory = group.get("point_memory")
    hide = ~counting_cells(group)
    frames = []
    for n in range(group.sizes["frame"]):
        u = group["displacement"].isel(frame=n).values
        if "rotation" in group:
            u = np.concatenate([u, group["rotation"].isel(frame=n).values], axis=1)
        u = displacements(u, stressed_part.dof_count)
        frames.append(values_of(stressed_part, u, None if memory is None else memory.isel(frame=n).values, hide))
    variables = {}
    coords: dict[str, Any] = {name: group[name] for name in ("frame_time",) if name in group.coords}
    for v in variables_of(stressed_part):
        values = np.stack([frame[v.name] for frame in frames])
        variables[v.name] = (v.dims, values, {"units": v.units, "long_name": v.long_name})
        coords |= {dim: np.asarray(labels, dtype=np.dtypes.StringDType()) for dim, labels in v.coords.items()}
    return xarray.Dataset(variables, coords)
