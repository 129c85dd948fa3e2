"""Gradients of averages of quantities of runs with many impacts over a range of parameters."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from arlequin.models.checks import integer, mapping, non_negative_integer, positive
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call, meant
from arlequin.results.conventions import of_evaluation
from arlequin.run.simulate import Study
from arlequin.sensitivity.gradient import Quantity, number, parameters_of, quantities_of
from arlequin.sweeps.sweep import sweep


@checked_call
def smoothed_gradient(
    study: Callable[..., Study],
    of: Quantity | str | Mapping[str, Quantity | str],
    wrt: Mapping[str, float] | Sequence[str],
    *,
    spread: Mapping[str, float],
    samples: int = 64,
    seed: int = 0,
    at: Mapping[str, float] | None = None,
    workers: int | None = 0,
    store: str | Path | None = None,
    progress: Any = None,
) -> xarray.Dataset:
    """Derivatives of means over normally distributed parameters, with their standard errors, by an ensemble of runs.

    A result J that jumps with its parameters (impacts come and go) has no useful derivative; its mean over p ~ N(m,
    S²), S = diag(spread), has one:

        ∂/∂m E[J(p)] = S⁻² E[(p − m) (J(p) − E J)],

    computed by linear regression of J on p over scrambled Sobol' points (Stein's identity: the regression on normal
    parameters has these coefficients whatever J is). study, of, wrt, at: as of `gradient`; spread: standard deviation
    of each parameter of wrt; samples: a power of 2; workers, store, progress: of `sweep`.

    Variables: value, the mean, value_error (quantity); gradient, gradient_error (quantity, parameter); share
    (quantity): of the variance of J that the linear dependence explains.

    >>> import arlequin as aq
    >>> def thrown(speed):
    ...     ball = aq.PointMasses("ball", 0.0, 1.0)  # m, kg
    ...     system = aq.System([ball], velocity=speed)
    ...     return aq.Study(system, aq.Theta(0.5), duration=1.0, step=0.5)
    >>> def energy(result):
    ...     return result["energy"].sel(kind="kinetic")[-1]
    >>> slopes = aq.smoothed_gradient(thrown, energy, {"speed": 3.0}, spread={"speed": 0.1})  # d/dm ½ E v² = m
    >>> slopes["gradient"].values.round(2).tolist()
    [[3.0]]

    Source: Stein, Annals of Statistics 9 (1981) 1135–1151.
    """
    from scipy.stats import norm, qmc

    quantities = quantities_of(of)
    point, names = parameters_of(study, wrt, {} if at is None else at)
    mapping("spread", spread, "must map each parameter of wrt to its standard deviation")
    unknown = [name for name in spread if name not in names]
    if unknown:
        raise UserError(f"spread: {unknown[0]!r} is no parameter of wrt{meant(unknown[0], names)}")
    missing = [name for name in names if name not in spread]
    if missing:
        raise UserError(f"spread: lacks {', '.join(missing)}")
    width = np.array([positive(f"spread: {name}", spread[name]) for name in names])
    integer("samples", samples, 4)
    if samples & (samples - 1):
        raise UserError.parameter("samples", samples, "must be a power of 2")
    non_negative_integer("seed", seed)
    if samples < 2 * (len(names) + 1):
        raise UserError.parameter(
            "samples", samples, f"must be at least {2 * (len(names) + 1)} for {len(names)} parameters"
        )
    uniform = qmc.Sobol(len(names), seed=seed).random(samples)
    normal = norm.ppf(np.clip(uniform, 1e-12, 1.0 - 1e-12))
    centre = np.array([point[name] for name in names])
    points = [dict(zip(names, row, strict=True)) for row in (centre + normal * width).tolist()]
    fixed = {name: value for name, value in point.items() if name not in names}
    function = functools.partial(_values, study=study, quantities=quantities, fixed=fixed)
    runs = sweep(function, points, workers=workers, store=store, progress=progress)
    values, slopes, errors, value_errors, shares = [], [], [], [], []
    for key in quantities:
        results = runs[key].values
        if not np.isfinite(results).all():
            first = str(runs["message"].values[~np.isfinite(results)][0])
            raise UserError(f"of: {key} failed at {np.count_nonzero(~np.isfinite(results))} samples: {first}", 1)
        columns = np.column_stack([np.ones(samples), normal])
        solution, *_ = np.linalg.lstsq(columns, results, rcond=None)
        residuals = results - columns @ solution
        variance = float(residuals @ residuals) / (samples - columns.shape[1])
        standard_errors = np.sqrt(variance * np.diag(np.linalg.inv(columns.T @ columns)))
        total = float(((results - results.mean()) ** 2).sum())
        values.append(solution[0])
        value_errors.append(standard_errors[0])
        slopes.append(solution[1:] / width)
        errors.append(standard_errors[1:] / width)
        shares.append(1.0 - float(residuals @ residuals) / total if total > 0.0 else 1.0)
    dims = "quantity", "parameter"
    return xarray.Dataset(
        {
            "value": ("quantity", values),
            "value_error": ("quantity", value_errors),
            "gradient": (dims, slopes),
            "gradient_error": (dims, errors),
            "share": ("quantity", shares, {"long_name": "share of the variance that is linear in the parameters"}),
            "parameter_value": ("parameter", centre),
            "spread": ("parameter", width),
        },
        coords={"quantity": list(quantities), "parameter": names},
        attrs=of_evaluation("smoothed_gradient"),
    )


def _values(
    *, study: Callable[..., Study], quantities: Mapping[str, Quantity], fixed: Mapping[str, float], **point: float
) -> dict[str, float]:
    """The quantities of the study at a point."""
    result = study(**fixed, **point).run(progress=False)
    return {name: number(name, quantity, result) for name, quantity in quantities.items()}
