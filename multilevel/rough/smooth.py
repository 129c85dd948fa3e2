"""Periodic part of a map with jumps between opposite edges."""

import numpy as np

from arlequin.models.types import Array


def periodic_part(heights: Array, pixel: tuple[float, float]) -> Array:
    """Heights (n, m) less the smooth map s with the jumps between opposite edges: a periodic map.

    s minimises, with p = heights − s, the sum of ((p − p_neighbour)/Δ)² over the pairs that meet across the edges and
    of ((s − s_neighbour)/Δ)² over the pairs inside. Its Euler equation is a periodic Poisson equation, L s = v, with L
    the five-point Laplacian and v the jumps at the edges over Δ², solved by Fourier transform; s is harmonic off the
    edges and has zero mean, so curvatures inside are unchanged.

    Source: Moisan, J. Math. Imaging Vis. 39 (2011) 161–179, with pixels Δx ≠ Δy.
    """
    jumps = np.zeros_like(heights)
    symbol = np.zeros(heights.shape)
    for axis in (0, 1):
        weight = (min(pixel) / pixel[axis]) ** 2
        across = weight * (np.take(heights, 0, axis) - np.take(heights, -1, axis))
        first = (0, slice(None)) if axis == 0 else (slice(None), 0)
        last = (-1, slice(None)) if axis == 0 else (slice(None), -1)
        jumps[first] -= across
        jumps[last] += across
        angle = 2 * np.pi * np.fft.fftfreq(heights.shape[axis])
        symbol += np.expand_dims(weight * (2 * np.cos(angle) - 2), 1 - axis)
    symbol[0, 0] = 1.0  # v has zero mean
    return heights - np.fft.ifft2(np.fft.fft2(jumps) / symbol).real
