"""Influence coefficients of a half-space (squares) and a half-plane (strips): surface displacements; G = 1.

The surface's displacement (u_n into the body, u_t) by a force (f_n pressing, f_t), r from source to point, s = sgn x:

    space:  u_n = [(1−ν) f_n/r + (1−2ν)/2 f_t·r/r²]/2π,   u_t = [(1−ν) f_t/r + ν (f_t·r) r/r³ − (1−2ν)/2 f_n r/r²]/2π
    plane:  u_n = −(1−ν)/π f_n ln|x| + (1−2ν)/4 s f_t,     u_t = −(1−ν)/π f_t ln|x| − (1−2ν)/4 s f_n

spread evenly over the patch, at the middles of patches. The half-plane's displacement is up to a constant.
Source: K. L. Johnson, Contact Mechanics, 1985, §2.2, 2.3, 3.2, 3.6; integrals over squares by their corners are ours.
"""

import math

import numpy as np

from arlequin.models.types import Array


def strips(places: Array, width: float, poisson: float, coupled: bool) -> Array:
    """Displacements (k, 2, k, 2) at places x (k,) by forces on strips there; coupled: with the terms in 1 − 2ν."""
    away = places[:, None] - places
    log = sum(sign * s * (np.log(np.abs(s)) - 1.0) for sign, s in _ends(away, width)) / width
    sign = sum(sign * np.abs(s) for sign, s in _ends(away, width)) / width
    found = np.zeros((places.size, 2, places.size, 2))
    found[:, 0, :, 0] = found[:, 1, :, 1] = -(1 - poisson) / math.pi * log
    if coupled:
        found[:, 0, :, 1] = 0.25 * (1 - 2 * poisson) * sign
        found[:, 1, :, 0] = -found[:, 0, :, 1]
    return found


def squares(places: Array, width: float, poisson: float, coupled: bool) -> Array:
    """Displacements (k, 3, k, 3) at places (k, 2) by forces on squares there; coupled: with the terms in 1 − 2ν."""
    x, y = (places[:, None, i] - places[:, i] for i in (0, 1))
    total = np.zeros((6, len(places), len(places)))
    for first, a in _ends(x, width):
        for second, b in _ends(y, width):
            total += first * second * _corner(a, b)
    inverse, along, across, mixed, to_x, to_y = total / (2 * math.pi * width**2)
    found = np.zeros((len(places), 3, len(places), 3))
    found[:, 0, :, 0] = (1 - poisson) * inverse
    found[:, 1, :, 1] = (1 - poisson) * inverse + poisson * along
    found[:, 2, :, 2] = (1 - poisson) * inverse + poisson * across
    found[:, 1, :, 2] = found[:, 2, :, 1] = poisson * mixed
    if coupled:
        for axis, part in ((1, to_x), (2, to_y)):
            found[:, 0, :, axis] = 0.5 * (1 - 2 * poisson) * part
            found[:, axis, :, 0] = -found[:, 0, :, axis]
    return found


def _ends(away: Array, width: float) -> list[tuple[float, Array]]:
    return [(1.0, away + 0.5 * width), (-1.0, away - 0.5 * width)]


def _corner(x: Array, y: Array) -> Array:
    """Functions whose ∂²/∂x∂y are 1/r, x²/r³, y²/r³, xy/r³, x/r², y/r² up to terms of x or y alone (6, …)."""
    r = np.hypot(x, y)
    # log(x + r) and log(y + r) less log|y| and log|x|, whose products are of y and x alone
    of_x, of_y, log = np.arcsinh(x / np.abs(y)), np.arcsinh(y / np.abs(x)), np.log(r)
    return np.stack(
        [x * of_y + y * of_x, y * of_x, x * of_y, -r, y * log + x * np.arctan(y / x), x * log + y * np.arctan(x / y)]
    )
