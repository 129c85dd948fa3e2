"""Influence coefficients of a half-space (squares) and a half-plane (strips): surface displacements; G = 1.

Surface displacement (u_n into the body, u_t) by a force (f_n compressive, f_t), r from source to point, s = sgn x:

    space:  u_n = [(1−ν) f_n/r + (1−2ν)/2 f_t·r/r²]/2π,   u_t = [(1−ν) f_t/r + ν (f_t·r) r/r³ − (1−2ν)/2 f_n r/r²]/2π
    plane:  u_n = −(1−ν)/π f_n ln|x| + (1−2ν)/4 s f_t,     u_t = −(1−ν)/π f_t ln|x| − (1−2ν)/4 s f_n

distributed uniformly over the patch, at the centres of patches. Displacements of the half-plane are up to a constant.
Source: K. L. Johnson, Contact Mechanics, 1985, §2.2, 2.3, 3.2, 3.6; integrals over squares by their corners are ours.
"""

import math

import numpy as np

from arlequin.models.types import Array


def strips(centres: Array, width: float, poisson: float, coupled: bool) -> Array:
    """Displacements (k, 2, k, 2) at places x (k,) by forces on strips there; coupled: with the terms in 1 − 2ν."""
    distances = centres[:, None] - centres
    log = sum(sign * s * (np.log(np.abs(s)) - 1.0) for sign, s in _ends(distances, width)) / width
    sign = sum(sign * np.abs(s) for sign, s in _ends(distances, width)) / width
    coefficients = np.zeros((centres.size, 2, centres.size, 2))
    coefficients[:, 0, :, 0] = coefficients[:, 1, :, 1] = -(1 - poisson) / math.pi * log
    if coupled:
        coefficients[:, 0, :, 1] = 0.25 * (1 - 2 * poisson) * sign
        coefficients[:, 1, :, 0] = -coefficients[:, 0, :, 1]
    return coefficients


def squares(centres: Array, width: float, poisson: float, coupled: bool) -> Array:
    """Displacements (k, 3, k, 3) at places (k, 2) by forces on squares there; coupled: with the terms in 1 − 2ν."""
    x, y = (centres[:, None, i] - centres[:, i] for i in (0, 1))
    total = np.zeros((6, len(centres), len(centres)))
    for sign_x, a in _ends(x, width):
        for sign_y, b in _ends(y, width):
            total += sign_x * sign_y * _corner(a, b)
    inverse, xx, yy, xy, to_x, to_y = total / (2 * math.pi * width**2)
    coefficients = np.zeros((len(centres), 3, len(centres), 3))
    coefficients[:, 0, :, 0] = (1 - poisson) * inverse
    coefficients[:, 1, :, 1] = (1 - poisson) * inverse + poisson * xx
    coefficients[:, 2, :, 2] = (1 - poisson) * inverse + poisson * yy
    coefficients[:, 1, :, 2] = coefficients[:, 2, :, 1] = poisson * xy
    if coupled:
        for axis, part in ((1, to_x), (2, to_y)):
            coefficients[:, 0, :, axis] = 0.5 * (1 - 2 * poisson) * part
            coefficients[:, axis, :, 0] = -coefficients[:, 0, :, axis]
    return coefficients


def _ends(distances: Array, width: float) -> list[tuple[float, Array]]:
    return [(1.0, distances + 0.5 * width), (-1.0, distances - 0.5 * width)]


def _corner(x: Array, y: Array) -> Array:
    """Functions whose ∂²/∂x∂y are 1/r, x²/r³, y²/r³, xy/r³, x/r², y/r² up to terms in x or y only (6, …)."""
    r = np.hypot(x, y)
    # log(x + r) and log(y + r) minus log|y| and log|x|, whose products depend on y or x only
    of_x, of_y, log = np.arcsinh(x / np.abs(y)), np.arcsinh(y / np.abs(x)), np.log(r)
    return np.stack(
        [x * of_y + y * of_x, y * of_x, x * of_y, -r, y * log + x * np.arctan(y / x), x * log + y * np.arctan(x / y)]
    )
