"""Pressure of single contact nodes over time, what is left of a result when its other fields are dropped."""

from dataclasses import dataclass

import numpy as np
import xarray

from models.types import Array


@dataclass(frozen=True)
class NodePressures:
    """time (f,), s; offset (k,): the nodes' first coordinate, m; pressure (f, k), Pa, means over the steps."""

    time: Array
    offset: Array
    pressure: Array

    @classmethod
    def of(cls, result: xarray.DataTree, interface: str = "contact") -> "NodePressures":
        """From the recorded frames."""
        group = result[f"interface/{interface}"].dataset
        offset = np.asarray(group["point_position"].values[:, 0], dtype=float)
        return cls(group["frame_time"].values.copy(), offset.copy(), group["pressure"].values.copy())

    def chosen(self, shares: tuple[float, ...]) -> "NodePressures":
        """The nodes next to these shares of the largest half-width that was ever pressed."""
        pressed = self.pressure.any(axis=0)
        half = float(np.abs(self.offset[pressed]).max(initial=0.0))
        nodes = [int(np.abs(self.offset - share * half).argmin()) for share in shares]
        return NodePressures(self.time, self.offset[nodes], self.pressure[:, nodes])
