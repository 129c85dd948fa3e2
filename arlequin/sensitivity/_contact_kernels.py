"""Numba kernel of the linearised equations of contact: of all points and steps, at their statuses."""

import numpy as np
from numba import boolean, float64, int8, int64, types

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.solvers._kernels import SLIP, STICK

# inputs of the derivatives of residuals and springs: P, u₁, v₁, u₀, v₀, s₀, each of three rows
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
    tangential_stiffness, gain, wear, level, elastic, frictional, friction, impulse, slip, spring, path, du_t, active,
    status, on_mean, parting, limited, outside, trial, radius, residual_by, spring_by, worn_by, residual_by_wear,
):  # fmt: skip
    """Derivatives of the equations of `arlequin.sensitivity.contact_equations`, of b steps and k points.

    Λ = P_n − hA p(g₀, g₁) has ∂Λ/∂g₀ = −hA ∂₀p, ∂Λ/∂g₁ = −hA ∂₁p; by_start, by_end (b, k): ∂₀p, ∂₁p, Pa/m. A direction
    w/‖w‖ has the derivative (1 − w wᵀ/‖w‖²)/‖w‖, a spring that is returned to the disk of radius R from s, R/‖s‖ times
    the same of s. reflected: share of a parting rate to which a point is reflected; friction (3, b, k): μ, dμ/dv̄, s/m,
    and dμ/dp̄, 1/Pa; slip (b, k, 2): w; path (b, k, 2): slip of the step, m; du_t (b, k, 2): Δu_t = Δt v̄, m; trial
    (b, k, 2), radius (b, k): s, R.

    residual_by, spring_by (b, k, 6, 3, 3): of the residuals and the springs s₁ by P, u₁, v₁, u₀, v₀, s₀; worn_by
    (b, k, 2, 3): of the wear by P and the path; residual_by_wear (b, k, 2): of the normal residual by depth and
    opening. All are zero before. Other arguments: see `PointData`, `PointMotion`, `Statuses`.
    """
    gap_per_velocity = weight * step
    for i in range(impulse.shape[0]):
        for k in range(impulse.shape[1]):
            step_area, n = step * area[k], impulse[i, k, 0]
            by_multiplier = compliance[k] / step_area if active[i, k] else 1.0
            by_g0, by_g1 = (-by_multiplier * step_area * by_start[i, k], -by_multiplier * step_area * by_end[i, k])
            block, spring_block = residual_by[i, k], spring_by[i, k]
            block[IMPULSE, 0, 0], block[U0, 0, 0], block[U1, 0, 0] = by_multiplier, by_g0, by_g1
            residual_by_wear[i, k, 0], residual_by_wear[i, k, 1] = by_g0 + by_g1, -by_g0
            if active[i, k] and level[k] == GAP:
                block[U1, 0, 0] += 1.0
                residual_by_wear[i, k, 0] += 1.0
            elif active[i, k]:
                rebound = reflected if parting[i, k] else restitution[k]
                block[V1, 0, 0], block[V0, 0, 0] = 1.0, rebound
                residual_by_wear[i, k, 1] += (1.0 + rebound) / step
            if not frictional[k]:
                block[IMPULSE, 1, 1] = block[IMPULSE, 2, 2] = 1.0
                continue
            mu, by_rate, by_pressure = friction[0, i, k], friction[1, i, k], friction[2, i, k]
            size = np.sqrt(slip[i, k, 0] ** 2 + slip[i, k, 1] ** 2)
            slides = status[i, k] == SLIP and mu > 0.0 and size > 0.0
            compliance_t = (
                gain[k] / (gap_per_velocity * tangential_stiffness[k]) if elastic[k] else tangential_compliance[k]
            )
            for a in range(2):
                for b in range(2):
                    identity = 1.0 if a == b else 0.0
                    by_slip = 0.0
                    if status[i, k] == STICK:
                        by_slip = identity
                        block[IMPULSE, 1 + a, 1 + b] = identity * compliance_t / step_area
                    else:
                        block[IMPULSE, 1 + a, 1 + b] = identity
                        if slides:
                            by_slip = mu * n / size * (identity - slip[i, k, a] * slip[i, k, b] / size**2)
                    if elastic[k]:
                        block[U1, 1 + a, 1 + b], block[U0, 1 + a, 1 + b] = (
                            by_slip / gap_per_velocity,
                            -by_slip / gap_per_velocity,
                        )
                        block[SPRING, 1 + a, 1 + b] = -by_slip * compliance_t
                    else:
                        block[V1, 1 + a, 1 + b] = by_slip
                        block[V0, 1 + a, 1 + b] = by_slip if on_mean[i, k] else 0.0
                if slides:
                    block[IMPULSE, 1 + a, 0] = (mu + n * by_pressure / step_area) * slip[i, k, a] / size
            length = np.sqrt(du_t[i, k, 0] ** 2 + du_t[i, k, 1] ** 2)
            if slides and by_rate != 0.0 and length > 0.0:
                for a in range(2):
                    for b in range(2):
                        by_slip_rate = n * by_rate / step * slip[i, k, a] / size * du_t[i, k, b] / length
                        block[U1, 1 + a, 1 + b] += by_slip_rate
                        block[U0, 1 + a, 1 + b] -= by_slip_rate
            if elastic[k] and n > 0.0:
                length = np.sqrt(trial[i, k, 0] ** 2 + trial[i, k, 1] ** 2)
                start = np.sqrt(spring[i, k, 1] ** 2 + spring[i, k, 2] ** 2)
                share = max(1.0 - gain[k], 0.0) if outside[i, k] else 0.0
                returns = limited[i, k] and length > 0.0  # without traction the return has no direction
                for a in range(2):
                    for b in range(2):
                        return_slope = 1.0 if a == b else 0.0
                        if returns:
                            return_slope -= trial[i, k, a] * trial[i, k, b] / length**2
                            return_slope *= radius[i, k] / length
                        spring_block[IMPULSE, 1 + a, 1 + b] = return_slope * gain[k] / step_area
                        spring_block[SPRING, 1 + a, 1 + b] = return_slope * (1.0 - gain[k])
                        if returns and share > 0.0 and start > 0.0:
                            spring_block[SPRING, 1 + a, 1 + b] += (
                                trial[i, k, a] / length * share * spring[i, k, 1 + b] / start
                            )
                    if returns:
                        spring_block[IMPULSE, 1 + a, 0] = trial[i, k, a] / length * (1.0 - share) * mu / step_area
            path_length = np.sqrt(path[i, k, 0] ** 2 + path[i, k, 1] ** 2)
            if wear[k] > 0.0 and n > 0.0 and path_length > 0.0:
                worn_by[i, k, 0, 0] = wear[k] * path_length / step
                for a in range(2):
                    worn_by[i, k, 1, 1 + a] = wear[k] * n / step * path[i, k, a] / path_length
