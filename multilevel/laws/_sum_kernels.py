"""Numba kernel of the sum of the regular laws of a contact point."""

from arlequin.models.kernel_cache import called_njit


@called_njit()
def sum_laws(first, last, kernels, kind, coefficients, history, gap, step, theta, trial):
    """Sums over the laws `first` … `last` of their mean tractions over a step to a gap: stored, its slope, dissipated,
    its slope (see `arlequin.multilevel.laws.signature`)."""
    stored, stored_slope, dissipated, dissipated_slope = 0.0, 0.0, 0.0, 0.0
    for row in range(first, last):
        tractions = kernels[kind[row]](coefficients[row], history[row], gap, step, theta, trial[row])
        stored += tractions[0]
        stored_slope += tractions[1]
        dissipated += tractions[2]
        dissipated_slope += tractions[3]
    return stored, stored_slope, dissipated, dissipated_slope
