"""What a run records of the points of a part that have a memory."""

from collections.abc import Sequence

from arlequin.record import Key, Variable
from models.nonlinear import PathDependent
from models.part import Part
from models.types import Array

PLACES = ("xx", "yy", "zz", "yz", "xz", "xy", "plastic_strain", "heating", "work")
TEXT = "memory of the points: C_p⁻¹ − 1 or plastic strain, equivalent plastic strain, heating (K), work (J/m³)"


class PointHistory:
    """Means over the cells, and where asked and where the points flow their memory, at the instants of the frames."""

    def __init__(self, part: Part, own: PathDependent, whole: bool) -> None:
        self._group = f"part/{part.name}"
        self._own = own
        self._cells = len(part.connectivity)
        self._whole = whole and own.dissipates

    def variables(self) -> Sequence[Variable]:
        """With units and names."""
        cells, dims = (self._cells,), ("frame", "cell")
        means = [Variable(self._group, name, dims, cells, units, text) for name, units, text in self._own.recorded]
        if not self._whole:
            return means
        shape, places = (self._cells, *self._own.fresh().shape[1:]), {"place": PLACES}
        return [
            *means,
            Variable(self._group, "point_memory", (*dims, "point", "place"), shape, "1", TEXT, coords=places),
        ]

    def frame(self, u: Array, memory: Array) -> dict[Key, Array]:
        """The values of one frame, at u (d,), where the points have this memory."""
        means = zip(self._own.recorded, self._own.cell_means(u, memory), strict=True)
        values = {(self._group, name): mean[None] for (name, *_), mean in means}
        if self._whole:
            values[self._group, "point_memory"] = self._own.everywhere(memory)[None]
        return values
