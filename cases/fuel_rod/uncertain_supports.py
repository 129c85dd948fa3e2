"""The rod in four grids with uncertain supports, and the wear of its contact points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.fuel_rod.four_grids import FourGridRod
from arlequin.models.checks import positive
from arlequin.models.types import Array

_UNIFORM = ("gap", "preload", "friction")


@dataclass(frozen=True)
class UncertainSupports(FourGridRod):
    """Gap, preload and friction are uniform, the offset of the loose grid is normal.

    A rod of radius R is worn flat over the height L of a dimple by the small depth h: V = 4/3 L √(2R) h^(3/2).
    """

    least_gap: Annotated[float, Quantity("m", "smallest gap, uniform up to the largest", positive)] = 1e-5
    largest_gap: Annotated[float, Quantity("m", "largest gap", positive)] = 5e-5
    least_preload: Annotated[float, Quantity("N", "smallest preload, uniform up to the largest", positive)] = 5.0
    largest_preload: Annotated[float, Quantity("N", "largest preload", positive)] = 20.0
    misalignment: Annotated[float, Quantity("m", "standard deviation of the offset of a grid", positive)] = 1e-5
    least_friction: Annotated[float, Quantity("", "smallest friction, uniform up to the largest", positive)] = 0.2
    largest_friction: Annotated[float, Quantity("", "largest friction", positive)] = 0.6
    dimple_length: Annotated[float, Quantity("m", "height of a dimple", positive)] = 3e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in _UNIFORM:
            low, high = self.ends(name)
            if not low < high:
                raise aq.UserError.parameter(f"least_{name}", low, f"must be below the largest, {high:g}")

    def ends(self, name: str) -> tuple[float, float]:
        """Smallest and largest gap, m, preload, N, or friction."""
        return getattr(self, f"least_{name}"), getattr(self, f"largest_{name}")

    def middle(self, name: str) -> float:
        """Mean gap, m, preload, N, or friction."""
        return 0.5 * sum(self.ends(name))

    @property
    def supports(self) -> dict[str, Any]:
        """Distributions of gap, preload, misalignment and friction."""
        from scipy.stats import norm

        uniform = {name: self.ends(name) for name in _UNIFORM}
        offset = norm(0.0, self.misalignment)
        return {
            "gap": uniform["gap"],
            "preload": uniform["preload"],
            "misalignment": offset,
            "friction": uniform["friction"],
        }

    def worn_volume(self, depth: Any) -> Any:
        """Volume, m³, of a flat of a depth, m."""
        return self._scar * depth**1.5

    def worn_depth(self, volume: Any) -> Any:
        """Depth, m, of a flat of a volume, m³."""
        return (volume / self._scar) ** (2.0 / 3.0)

    @property
    def _scar(self) -> float:
        return float(4.0 / 3.0 * self.dimple_length * np.sqrt(2.0 * self.radius))


def point_work_rates(result: xarray.DataTree, interfaces: Sequence[str], start: float) -> Array:
    """Mean work rates (points,), W, of the contact points of interfaces from an instant, s, on."""
    spans = np.diff(np.clip(result.dataset["time"].values, start, None))
    powers = [result[f"interface/{name}"].dataset["point_wear_power"].values[1:] for name in interfaces]
    return np.concatenate([spans @ power for power in powers]) / spans.sum()
