"""Motion of the tip of a cantilever released from a bent shape: low-pass filtered, against another model's."""

import numpy as np
import xarray
from scipy.signal import butter, sosfiltfilt

from arlequin.models.types import Array

LEAST_FRAMES = 50  # least number of frames of a motion that is filtered


def tip_motion(result: xarray.DataTree, part: str) -> tuple[Array, Array]:
    """Frame times (t,), s, and deflections u_y (t,), m, of the middle of the free end of a part."""
    group = result[f"part/{part}"].dataset
    x = group["position"].values
    end = np.flatnonzero(np.isclose(x[:, 0], x[:, 0].max()))
    node = end[np.argmin(np.linalg.norm(x[end, 1:], axis=1))]
    return group["frame_time"].values, group["displacement"].sel(component="y").values[:, node]


def low_pass(time: Array, values: Array, cut: float) -> Array:
    """Zero-phase Butterworth filter of order 4 at the frequency `cut`, Hz."""
    rate = 1.0 / float(time[1] - time[0])
    sections = butter(4, cut / (0.5 * rate), output="sos")
    return np.asarray(sosfiltfilt(sections, values))


def cut_frequency(young: float, density: float, height: float, length: float) -> float:
    """Five times the first bending frequency of the slender cantilever, Hz: 1.8751² √(EI/ρA)/(2π L²)."""
    first = 1.87510407**2 / (2.0 * np.pi) * height / np.sqrt(12.0) * np.sqrt(young / density) / length**2
    return float(5.0 * first)


def motion_error(motion: tuple[Array, Array], exact: tuple[Array, Array], cut: float) -> float:
    """Largest difference of two motions (times, s; values, m) below the frequency `cut`, Hz, over the largest value."""
    reference = low_pass(*exact, cut)
    return float(np.abs(low_pass(*motion, cut) - reference).max() / np.abs(reference).max())
