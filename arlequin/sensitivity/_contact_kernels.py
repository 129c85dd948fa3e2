"""Numba kernel of the linearised equations of contact: of all points and steps, at their statuses."""

import numpy as np
from numba import boolean, float64, int8, int64, types

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.solvers._kernels import SLIP, STICK

# by what a residual or a spring is derived: P, u₁, v₁, u₀, v₀, s₀, each of three rows
IMPULSE, U1, V1, U0, V0, SPRING = range(6)
GAP = 1  # level of a multiplier

_point = float64[::1]
_flag = boolean[::1]
_each = float64[:, ::1]
_flags = boolean[:, ::1]
_rows = float64[:, :, ::1]
_blocks = float64[:, :, :, :, ::1]


@njit(
    types.void(
        *[float64] * 3, _each, _each, *[_point] * 7, int64[::1], _flag, _flag, *[_rows] * 6, _flags, int8[:, ::1],
        _flags, _flags, _flags, _flags, _rows, _each, _blocks, _blocks, float64[:, :, :, ::1], _rows,
    ),
    cache=True, nogil=True,
)  # fmt: skip
def contact_blocks(
    step, weight, reflected, by_start, by_end, compliance, area, tangential_compliance, restitution,
    tangential_stiffness, gain, wear, level, elastic, rough, friction, impulse, slip, spring, path, moved, active,
    status, on_mean, parting, limited, beyond, reached, radius, residual_by, spring_by, worn_by, residual_by_wear,
):  # fmt: skip
    """Derivatives of the equations of `arlequin.sensitivity.contact_equations`, of b steps and k points.

    Λ = P_n − hA p(g₀, g₁) has ∂Λ/∂g₀ = −hA ∂₀p, ∂Λ/∂g₁ = −hA ∂₁p; by_start, by_end (b, k): ∂₀p, ∂₁p, Pa/m. A direction
    w/‖w‖ has the derivative (1 − w wᵀ/‖w‖²)/‖w‖, a spring that is put back to the disk of radius R from s, R/‖s‖ times
    the same of s. reflected: share of a parting rate to which a point is reflected; friction (3, b, k): μ, dμ/dv̄, s/m,
    and dμ/dp̄, 1/Pa; slip (b, k, 2): w; path (b, k, 2): slip of the step, m; moved (b, k, 2): Δu_t = Δt v̄, m; reached
    (b, k, 2), radius (b, k): s, R.

    residual_by, spring_by (b, k, 6, 3, 3): of the residuals and the springs s₁ by P, u₁, v₁, u₀, v₀, s₀; worn_by
    (b, k, 2, 3): of the wear by P and the path; residual_by_wear (b, k, 2): of the normal residual by depth and
    opening. All are zero before. Other arguments: see `PointData`, `PointMotion`, `Statuses`.
    """
    lever = weight * step
    for i in range(impulse.shape[0]):
        for k in range(impulse.shape[1]):
            pull, n = step * area[k], impulse[i, k, 0]
            of_multiplier = compliance[k] / pull if active[i, k] else 1.0
            by_g0, by_g1 = -of_multiplier * pull * by_start[i, k], -of_multiplier * pull * by_end[i, k]
            by, sprung = residual_by[i, k], spring_by[i, k]
            by[IMPULSE, 0, 0], by[U0, 0, 0], by[U1, 0, 0] = of_multiplier, by_g0, by_g1
            residual_by_wear[i, k, 0], residual_by_wear[i, k, 1] = by_g0 + by_g1, -by_g0
            if active[i, k] and level[k] == GAP:
                by[U1, 0, 0] += 1.0
                residual_by_wear[i, k, 0] += 1.0
            elif active[i, k]:
                kept = reflected if parting[i, k] else restitution[k]
                by[V1, 0, 0], by[V0, 0, 0] = 1.0, kept
                residual_by_wear[i, k, 1] += (1.0 + kept) / step
            if not rough[k]:
                by[IMPULSE, 1, 1] = by[IMPULSE, 2, 2] = 1.0
                continue
            mu, by_rate, by_pressure = friction[0, i, k], friction[1, i, k], friction[2, i, k]
            size = np.sqrt(slip[i, k, 0] ** 2 + slip[i, k, 1] ** 2)
            slides = status[i, k] == SLIP and mu > 0.0 and size > 0.0
            give = gain[k] / (lever * tangential_stiffness[k]) if elastic[k] else tangential_compliance[k]
            for a in range(2):
                for b in range(2):
                    one = 1.0 if a == b else 0.0
                    by_slip = 0.0
                    if status[i, k] == STICK:
                        by_slip = one
                        by[IMPULSE, 1 + a, 1 + b] = one * give / pull
                    else:
                        by[IMPULSE, 1 + a, 1 + b] = one
                        if slides:
                            by_slip = mu * n / size * (one - slip[i, k, a] * slip[i, k, b] / size**2)
                    if elastic[k]:
                        by[U1, 1 + a, 1 + b], by[U0, 1 + a, 1 + b] = by_slip / lever, -by_slip / lever
                        by[SPRING, 1 + a, 1 + b] = -by_slip * give
                    else:
                        by[V1, 1 + a, 1 + b] = by_slip
                        by[V0, 1 + a, 1 + b] = by_slip if on_mean[i, k] else 0.0
                if slides:
                    by[IMPULSE, 1 + a, 0] = (mu + n * by_pressure / pull) * slip[i, k, a] / size
            length = np.sqrt(moved[i, k, 0] ** 2 + moved[i, k, 1] ** 2)
            if slides and by_rate != 0.0 and length > 0.0:
                for a in range(2):
                    for b in range(2):
                        steeper = n * by_rate / step * slip[i, k, a] / size * moved[i, k, b] / length
                        by[U1, 1 + a, 1 + b] += steeper
                        by[U0, 1 + a, 1 + b] -= steeper
            if elastic[k] and n > 0.0:
                length = np.sqrt(reached[i, k, 0] ** 2 + reached[i, k, 1] ** 2)
                start = np.sqrt(spring[i, k, 1] ** 2 + spring[i, k, 2] ** 2)
                less = max(1.0 - gain[k], 0.0) if beyond[i, k] else 0.0
                returns = limited[i, k] and length > 0.0  # without traction there is no direction to return in
                for a in range(2):
                    for b in range(2):
                        turns = 1.0 if a == b else 0.0
                        if returns:
                            turns -= reached[i, k, a] * reached[i, k, b] / length**2
                            turns *= radius[i, k] / length
                        sprung[IMPULSE, 1 + a, 1 + b] = turns * gain[k] / pull
                        sprung[SPRING, 1 + a, 1 + b] = turns * (1.0 - gain[k])
                        if returns and less > 0.0 and start > 0.0:
                            sprung[SPRING, 1 + a, 1 + b] += (
                                reached[i, k, a] / length * less * spring[i, k, 1 + b] / start
                            )
                    if returns:
                        sprung[IMPULSE, 1 + a, 0] = reached[i, k, a] / length * (1.0 - less) * mu / pull
            way = np.sqrt(path[i, k, 0] ** 2 + path[i, k, 1] ** 2)
            if wear[k] > 0.0 and n > 0.0 and way > 0.0:
                worn_by[i, k, 0, 0] = wear[k] * way / step
                for a in range(2):
                    worn_by[i, k, 1, 1 + a] = wear[k] * n / step * path[i, k, a] / way
