"""`rank_correlations`: which uncertain inputs matter, from the samples that are there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray
from numpy.typing import ArrayLike

from arlequin.models.checks import finite_array, mapping, within
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.results.conventions import described, of_evaluation

_RESAMPLED = 999
_SINGULAR = 1e12  # condition of the correlations of the inputs
_MIN_SPARE = 3  # samples beyond the number of inputs


@checked_call
def rank_correlations(
    inputs: Mapping[str, ArrayLike] | xarray.Dataset,
    output: ArrayLike | xarray.DataArray,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> xarray.Dataset:
    """Partial rank correlations of an output with its inputs, of samples of a Monte Carlo study: no further runs.

    With the correlations R_xx of the ranks of the inputs, and r_xy of theirs with those of the output,

        β = R_xx⁻¹ r_xy,   R² = r_xyᵀ β             regression of the ranks; R²: share of the variance that it explains
        ρ_i = β_i/√(β_i² + (1 − R²) (R_xx⁻¹)_ii)    partial: as if all other inputs were constant

    which tell monotonic dependence; where R² is small, `aq.sobol_indices` with runs of its own are to be taken.

    inputs: samples by name, (n,) each, or a Dataset with `input_NAME`, as of `aq.estimate` and
    `aq.wear_life_distribution`; those of one value are left out. output (n,): may be infinite, as a time to a limit
    that is not reached. confidence, seed: of the bootstrap intervals.

    Variables over `input`, by falling size of ρ: `partial`, its `interval` (bound, input) and `regression`; attribute
    `r_squared`.

    Source: R. L. Iman & W. J. Conover, Technometrics 21 (1979) 499–509; A. Saltelli et al., Sensitivity Analysis, 2000,
    ch. 6.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> x, y, z = np.random.default_rng(0).random((3, 200))
    >>> found = aq.rank_correlations({"x": x, "y": y, "z": z}, np.exp(3.0 * x) * (1.0 - 0.3 * y))
    >>> found["input"].values.tolist(), [round(float(value), 1) for value in found["partial"]]
    (['x', 'y', 'z'], [1.0, -0.9, -0.1])
    """
    confidence = within("confidence", confidence, 0.0, 1.0, open_low=True, open_high=True)
    samples = _samples(inputs)
    values = np.asarray(output.values if isinstance(output, xarray.DataArray) else output, dtype=float)
    if values.ndim != 1 or np.isnan(values).any():
        raise UserError.parameter("output", output, "must be the numbers (n,) of the samples, without nan")
    for name, column in samples.items():
        if column.shape != values.shape:
            raise UserError(f"inputs[{name!r}]: has {column.size} samples, output {values.size}")
    varied = {name: column for name, column in samples.items() if np.ptp(column) > 0.0}
    if len(values) < len(varied) + _MIN_SPARE:
        raise UserError(f"output: has {values.size} samples, {len(varied)} inputs need {len(varied) + _MIN_SPARE}")
    if not varied or not values.max() > values.min():
        raise UserError("output: " + ("has one value" if varied else "no input varies"))
    table = np.column_stack([*varied.values(), values])
    partial, regression, squared = (each[0] for each in _coefficients(table[None]))
    if not np.isfinite(partial).all():
        raise UserError("inputs: the ranks of one are a sum of those of others, as of the same input twice")
    random = np.random.default_rng(seed)
    resampled = table[random.integers(0, len(table), (_RESAMPLED, len(table)))]
    tail = 0.5 * (1.0 - confidence)
    interval = np.nanquantile(_coefficients(resampled)[0], [tail, 1.0 - tail], axis=0)
    order = np.argsort(-np.abs(partial), kind="stable")
    fields = {
        "partial": ("input", partial[order], described("1", "partial rank correlation")),
        "interval": (
            ("bound", "input"),
            interval[:, order],
            described("1", "confidence interval of the partial rank correlation"),
        ),
        "regression": ("input", regression[order], described("1", "standardised rank regression coefficient")),
    }
    coords = {"input": [list(varied)[n] for n in order], "bound": ["lower", "upper"]}
    facts = {"r_squared": float(squared), "samples": len(table), "confidence": confidence}
    return xarray.Dataset(fields, coords, {**facts, **of_evaluation("rank_correlations")})


def _samples(inputs: Any) -> dict[str, Array]:
    found: Mapping[str, Any]
    if isinstance(inputs, xarray.Dataset):
        columns = {str(name): np.ravel(column.values) for name, column in inputs.data_vars.items()}
        found = {name.removeprefix("input_"): each for name, each in columns.items() if name.startswith("input_")}
        if not found:
            raise UserError("inputs: the Dataset has no variables `input_NAME`")
    else:
        found = mapping("inputs", inputs, "must map names to samples")
    return {name: finite_array(f"inputs[{name!r}]", column, (None,)) for name, column in found.items()}


def _coefficients(tables: Array) -> tuple[Array, Array, Array]:
    """Partial correlations (b, d), regression coefficients (b, d) and R² (b,) of the ranks of tables (b, n, d + 1).

    Of resampled tables with a column of one value, or columns that depend on each other, they are nan.
    """
    from scipy.stats import rankdata

    ranks = rankdata(tables, axis=1)
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    sizes = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, sizes, out=np.full_like(centred, np.nan), where=sizes > 0.0)
    correlations = np.swapaxes(unit, 1, 2) @ unit
    inputs, outputs = correlations[:, :-1, :-1], correlations[:, :-1, -1]
    regular = np.isfinite(correlations).all(axis=(1, 2))
    regular[regular] = np.linalg.cond(inputs[regular]) < _SINGULAR
    inverse = np.full_like(inputs, np.nan)
    inverse[regular] = np.linalg.inv(inputs[regular])
    regression = (outputs[:, None] @ inverse)[:, 0]
    squared = np.minimum(np.vecdot(outputs, regression), 1.0)
    left = (1.0 - squared)[:, None] * np.diagonal(inverse, axis1=1, axis2=2)
    size = np.sqrt(regression**2 + left)
    partial = np.divide(regression, size, out=np.where(np.isnan(size), np.nan, 0.0), where=size > 0.0)
    return partial, regression, squared
