"""The state of a part at the end of a former result, on the part's own mesh."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.materials.point import CompiledLaw
from arlequin.models.part import Part, PathDependent
from arlequin.models.rigid.polygon import RigidBody
from arlequin.models.rigid.solid import Rigid
from arlequin.models.types import Array
from arlequin.transfer.fields import has_field, model_of
from arlequin.transfer.former_part import same_cells
from arlequin.transfer.mesh_transfer import MeshTransfer
from arlequin.transfer.point_values import transfer_points

_SAME = 1e-9  # distance between equal nodes, relative to the extent of their part
_PLASTIC = ("xx", "yy", "zz", "yz", "xz", "xy")  # of C_p⁻¹ − 1 among the internal variables of metals


@dataclass(frozen=True, eq=False)
class PartHandover:
    """Nodal displacement and velocity of a part from a former result.

    recorded: the values of the frame; whole: whether the part is the same body, else a piece of it. On the same mesh
    the recorded values are taken, on another one those of `MeshTransfer`; rigid bodies take their rigid motion.
    """

    part: Part
    recorded: Mapping[str, Array]
    whole: bool = True

    @classmethod
    def of(cls, part: Part, recorded: Mapping[str, Array], whole: bool = True) -> "PartHandover":
        """The handover; UserError where the part is another body or of another kind, or its state was not recorded."""
        handover = cls(part, recorded, whole)
        for name in ("position", "displacement", "velocity"):
            if name not in recorded:
                raise UserError(f"from_result: part '{part.name}' has no {name} there: take a result of simulate(…)")
        position, here = recorded["position"], part.positions
        if position.shape[1] != here.shape[1]:
            raise UserError(
                f"from_result: part '{part.name}' has {_nodes(position)} there and {_nodes(here)} here: keep its "
                "dimension"
            )
        turns = part.components - min(part.components, here.shape[1])
        if turns != (recorded["rotation"].shape[1] if "rotation" in recorded else 0):
            raise UserError(f"from_result: part '{part.name}' has rotations only here or only there: keep its kind")
        if not (handover.same_mesh or handover._rigid):
            _ = handover.transfer  # errors are raised where the system is made
        return handover

    @cached_property
    def same_mesh(self) -> bool:
        """Whether the nodes and cells are those of the result."""
        position, here = self.recorded["position"], self.part.positions
        if position.shape != here.shape:
            return False
        apart = float(np.abs(position - here).max(initial=0.0))
        if apart > _SAME * float(np.ptp(here, axis=0).max() or np.abs(here).max()):
            return False
        return not has_field(self.part) or same_cells(self.part, self.recorded)

    @property
    def _rigid(self) -> bool:
        return isinstance(self.part, Rigid | RigidBody)

    @cached_property
    def transfer(self) -> MeshTransfer:
        """The transfer to the part's mesh; UserError for parts without a field, and for other bodies."""
        if not has_field(self.part) or "connectivity" not in self.recorded:
            raise UserError(
                f"from_result: part '{self.part.name}' has {_nodes(self.recorded['position'])} there and "
                f"{_nodes(self.part.positions)} here, at other places, and no field between them: give it the same"
            )
        return MeshTransfer.of(self.part, self.recorded, self.whole)

    def field(self, what: str) -> Array:
        """The "displacement" or "velocity" of the nodes (nodal,), m or m/s, with the rotations of beams."""
        recorded = self._recorded(what)
        if self.same_mesh:
            return recorded.copy()
        if self._rigid:
            return _affine(self.recorded["position"], recorded.reshape(-1, self.part.components), self.part.positions)
        return self._displacement if what == "displacement" else self._velocity

    def _recorded(self, what: str) -> Array:
        values, turn = self.recorded[what], "rotation" if what == "displacement" else "angular_velocity"
        if "rotation" in self.recorded:
            values = np.hstack([values, self.recorded[turn]])
        return values.ravel()

    @cached_property
    def _displacement(self) -> Array:
        return self.transfer.displacement(self._recorded("displacement"), self._plastic_strains)

    @cached_property
    def _plastic_strains(self) -> tuple[Array, Array] | None:
        """Plastic strains (c, q, 6) of metals of small strains on both meshes."""
        model: Any = model_of(self.part)
        metal = isinstance(getattr(model, "material", None), CompiledLaw) and model.kinematics == "small"
        if not metal or "point_memory" not in self.recorded:
            return None
        return self.recorded["point_memory"][..., :6], self._memory[..., :6]

    @cached_property
    def _memory(self) -> Array:
        """Internal variables (c, q, m) of all cells on another mesh."""
        transfer: Any = self.transfer
        return transfer_points(transfer.former, transfer.model, transfer.pieces, self.recorded["point_memory"])

    @cached_property
    def _arms(self) -> tuple[Array, Array] | None:
        """Displacements of both meshes where the angular momentum is that of the deformed body, else None."""
        if getattr(model_of(self.part), "kinematics", "small") == "small":
            return None
        return self._recorded("displacement"), self._displacement

    @cached_property
    def _velocity(self) -> Array:
        return self.transfer.velocity(self._recorded("velocity"), self._arms)

    def cost(self) -> dict[str, float]:
        """Kinetic energy before and after, J, and the relative error of the momenta; empty on the same mesh."""
        if self.same_mesh or self._rigid:
            return {}
        masses = self.transfer.inertias
        velocities = self._recorded("velocity"), self._velocity
        before, after = (0.5 * float(v @ (mass @ v)) for v, mass in zip(velocities, masses, strict=True))
        error = self.transfer.momentum_error(velocities, self._arms)
        return {"kinetic_before": before, "kinetic_after": after, "momentum_error": error}

    def memory(self, assembled: PathDependent) -> Array:
        """Internal variables (c, q, m) of the points of the cells of nonzero weight."""
        virgin, name = assembled.fresh(), self.part.name
        if not assembled.dissipates:
            return virgin
        if "point_memory" not in self.recorded:
            raise UserError(
                f"from_result: the internal variables of part '{name}' are not recorded there: run it with "
                "record=Record(point_memory=True)"
            )
        weighs = assembled.everywhere(np.ones(len(virgin))) > 0.0
        values = self.recorded["point_memory"]
        expected = (weighs.size, *virgin.shape[1:])
        if not self.same_mesh:
            expected = (*self.transfer.former.basis.dx.shape, virgin.shape[2])
        if values.shape != expected:
            raise UserError(
                f"from_result: part '{name}' has internal variables of shape {values.shape} there, {expected} here: "
                "give it the same material and junctions"
            )
        if not self.same_mesh:
            values = self._memory.copy()
            finite = getattr(model_of(self.part), "kinematics", "small") == "finite"
            if finite and assembled.memory_names[:6] == _PLASTIC:
                values[..., :6] = _isochoric(values[..., :6])
        return np.ascontiguousarray(values[weighs])


def _isochoric(strains: Array) -> Array:
    """C_p⁻¹ − 1 (…, 6), of means that have a determinant above one, with the determinant one of plastic flow."""
    xx, yy, zz, yz, xz, xy = np.moveaxis(strains, -1, 0)
    determinant = (
        (1 + xx) * ((1 + yy) * (1 + zz) - yz**2) - xy * (xy * (1 + zz) - yz * xz) + xz * (xy * yz - (1 + yy) * xz)
    )
    unit = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    return np.asarray((strains + unit) / np.cbrt(determinant)[..., None] - unit)


def _affine(positions: Array, values: Array, places: Array) -> Array:
    """Values (n c,) at the places (n, a) of the linear field through values (k, c) at positions (k, a)."""
    middle = positions.mean(axis=0)
    basis = np.column_stack([np.ones(len(positions)), positions - middle])
    coefficients = np.linalg.lstsq(basis, values, rcond=None)[0]
    return np.asarray(np.column_stack([np.ones(len(places)), places - middle]) @ coefficients).ravel()


def _nodes(positions: Array) -> str:
    return f"{len(positions)} nodes on {positions.shape[1]} axes"
