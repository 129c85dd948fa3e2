"""Numba kernels of the gaps of compliant layers whose pairing changes; see `PointLaws.carry_gaps`."""

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel.laws._sum_kernels import sum_laws
from arlequin.multilevel.laws.signature import ACCOUNT

_HALVINGS, _WIDENINGS = 60, 400


@called_njit()
def _stored_change(k, start, end, history, rows, kernels, kind, coefficients, path_history, trial):
    """Stored energy of the laws of point k at the gap `end` minus that at `start`, J/m², by the mean pressure."""
    for row in range(rows[k], rows[k + 1]):
        path_history[row] = history[row]
        path_history[row, 0] = start
        trial[row] = path_history[row]
    pressure = sum_laws(rows[k], rows[k + 1], kernels, kind, coefficients, path_history, end, 1.0, 0.5, trial)[0]
    return -pressure * (end - start)


@called_njit()
def _unloaded_gap(k, gap, history, rows, kernels, kind, coefficients, path_history, trial):
    """A gap beyond which the laws of point k store no energy."""
    width = max(abs(gap), 1e-30)
    last = _stored_change(k, gap, gap + width, history, rows, kernels, kind, coefficients, path_history, trial)
    for _ in range(_WIDENINGS):
        following = _stored_change(
            k, gap, gap + 4.0 * width, history, rows, kernels, kind, coefficients, path_history, trial
        )
        if following == last and last != 0.0:
            break
        if width > 1e150:
            break
        width *= 4.0
        last = following
    return gap + width


@njit(cache=True)  # without a signature: compiled where layers change partners, not with each loop that imports it
def carry_gaps(history, gap, rows, area, kernels, kind, coefficients, excess):
    """Set the gaps in `history` (rows, h) to those of the points (k,) as far as the energy account allows, in place.

    excess (k,): gaps of the layers minus those of the points afterwards, m.
    """
    count = gap.size
    start, change = np.empty(count), np.zeros(count)
    path_history, trial = np.empty_like(history), np.empty_like(history)
    account, required = history[0, ACCOUNT], 0.0
    excess[:] = 0.0
    for k in range(count):
        if rows[k] == rows[k + 1]:
            continue
        a, b = history[rows[k], 0], gap[k]
        if not np.isfinite(a) and np.isfinite(b):
            a = _unloaded_gap(k, b, history, rows, kernels, kind, coefficients, path_history, trial)
        start[k] = a
        end = b
        if not np.isfinite(b) and np.isfinite(a):
            end = _unloaded_gap(k, a, history, rows, kernels, kind, coefficients, path_history, trial)
        if np.isfinite(a):
            change[k] = area[k] * _stored_change(
                k, a, end, history, rows, kernels, kind, coefficients, path_history, trial
            )
        if change[k] <= 0.0:
            account -= change[k]
            for row in range(rows[k], rows[k + 1]):
                history[row, 0] = b
        else:
            required += change[k]
    share = 1.0
    if required > account:
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS if account > 0.0 else 0):
            share, total = 0.5 * (low + high), 0.0
            for k in range(count):
                if change[k] > 0.0:
                    end = start[k] + share * (gap[k] - start[k])
                    total += area[k] * _stored_change(
                        k, start[k], end, history, rows, kernels, kind, coefficients, path_history, trial
                    )
            if total <= account:
                low = share
            else:
                high = share
        share = low
    paid = 0.0
    for k in range(count):
        if change[k] > 0.0:
            end = gap[k] if share == 1.0 else start[k] + share * (gap[k] - start[k])
            paid += area[k] * _stored_change(
                k, start[k], end, history, rows, kernels, kind, coefficients, path_history, trial
            )
            excess[k] = end - gap[k]
            for row in range(rows[k], rows[k + 1]):
                history[row, 0] = end
    history[0, ACCOUNT] = max(account - paid, 0.0)
