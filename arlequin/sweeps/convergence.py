"""Convergence of a study with its mesh or its time step: observed order, extrapolation, grid convergence index."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.checks import finite, finite_array, positive, positive_integer
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.results.conventions import described, of_evaluation
from arlequin.results.scalar import Scalar
from arlequin.sweeps.quantity import completed, quantity_of
from arlequin.sweeps.richardson import (
    Extrapolation,
    LeastSquares,
    extrapolate,
    fit_order,
    observed_order,
    state_of,
)

if TYPE_CHECKING:
    import xarray

SAFETY, SAFETY_TWO_GRIDS = 1.25, 3.0  # Roache's factors of three and more grids, and of two
_DEFAULT_NAME = "h"  # name of the sizes where `over` gives none


@checked_call
def convergence(
    study: Callable[..., Any] | Sequence[Any],
    of: Callable[[Any], Any] | str | None,
    over: Sequence[float] | Mapping[str, Sequence[float]],
    *,
    order: float | None = None,
    exact: float | None = None,
    dimension: int = 1,
) -> xarray.Dataset:
    """Observed order p, extrapolated value and grid convergence index (GCI) of a number, over mesh sizes or time steps.

    study: a function of the size that gives a result, a `Study`, which is run, a mapping of names to numbers (as the
    functions of `sweep` and `cases.study` do) or a number; or the sequence of these, one per size.
    of: a function of the output of the study that gives a number or a `Scalar`; the path of a variable, whose mean
    over the time is taken; a name of the mapping; None where the study gives numbers.
    over: sizes h, coarse to fine, which decrease; or whole numbers n of cells or steps, which increase, with
    h = n^(−1/dimension): `dimension` is the number of axes where all cells of a mesh are counted. {name: sizes} calls
    the study with this name.
    order: the order of the theory, required with two sizes, else shown for comparison.
    exact: the exact value, for the errors and their orders (code verification).

    With the finest three of the grids (1 the finest), r₂₁ = h₂/h₁, ε₂₁ = φ₂ − φ₁ and s = sign(ε₃₂/ε₂₁):

        p ln r₂₁ = ln|ε₃₂/ε₂₁| + ln((r₂₁^p − s)/(r₃₂^p − s)),    φ_ext = (r₂₁^p φ₁ − φ₂)/(r₂₁^p − 1),
        GCI = F_s |ε₂₁/φ₁|/(r₂₁^p − 1),    F_s = 1.25, of two grids with the given order 3.

    Variables over `grid`, coarse to fine: `value`; `observed_order` of a grid and the two before it; with `exact` also
    `error` and `error_order`, ln(e₂/e₁)/ln r₂₁. Of the finest grids: `order`, `extrapolated`, `relative_change`
    |ε₂₁/φ₁|, `extrapolated_error` |(φ_ext − φ₁)/φ_ext|, `gci`, `uncertainty` = GCI |φ₁|, and `asymptotic_ratio`
    GCI₃₂/(r₂₁^p GCI₂₁), which is |φ₁/φ₂| for the p of the same three grids and hence no test of convergence: with four
    or more grids compare `observed_order`. For these `fitted_order`, `fitted_value` and `fitted_deviation` are the
    least squares of φ₀ + α h^p over all grids, with equal weights or weights 1/h, whichever deviation is smaller; the
    expansions with fixed exponents of Eça & Hoekstra for implausible orders are not used.

    The attribute `state` is "monotonic"; "oscillatory", ε₃₂/ε₂₁ < 0, where p and φ_ext are formal and half of the range
    of the values is the better estimate; "divergent", where no p > 0.01 fits, and quantities derived from p are
    nan; "equal", where the last two values are; "two grids". `print(dataset.attrs["summary"])` shows a table,
    `plots.convergence(dataset)` a figure.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.0, density=7800.0)
    >>> def hanging(cells):  # under its own weight: the tip moves by ρ g L²/(2 E), Pa
    ...     bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=cells), steel, imposed={"left": {"x": 0.0}})
    ...     return aq.Study(aq.System([bar], gravity=lambda t: 9.81 * t), aq.Static(), 1.0, 1.0)
    >>> def energy(result):  # (ρ g)² A L³/(6 E), J
    ...     return aq.Scalar(result["energy"].sel(kind="strain")[-1], "J", "strain energy")
    >>> dataset = aq.convergence(hanging, energy, {"cells": [4, 8, 16]}, exact=(7800.0 * 9.81) ** 2 / 6.0 / 2e11)
    >>> round(float(dataset["order"]), 6), dataset["error_order"].values.round(6).tolist()[1:]
    (2.0, [2.0, 2.0])
    >>> print(dataset.attrs["summary"])  # doctest: +ELLIPSIS
    strain energy, 3 grids, cells = 4 to 16: monotonic
    ...

    Sources: Celik, Ghia, Roache, Freitas, Coleman & Raad, J. Fluids Eng. 130 (2008) 078001; Roache, J. Fluids Eng. 116
    (1994) 405–413; Eça & Hoekstra, J. Comput. Phys. 262 (2014) 104–130; ASME V&V 20-2009.
    """
    name, resolutions = _name_and_resolutions(over)
    sizes = _sizes(name, resolutions, positive_integer("dimension", dimension))
    theory = None if order is None else positive("order", order)
    if sizes.size == 2 and theory is None:
        raise UserError("order: must be given with two sizes, as 2 of linear elements; three sizes give it")
    reference = None if exact is None else finite("exact", exact)
    scalars = [
        _scalar_of(of, output, f"{name} = {size:g}")
        for output, size in zip(_outputs(study, over, name, resolutions), resolutions, strict=True)
    ]
    values = np.array([scalar.value for scalar in scalars])
    return _dataset(name, np.asarray(resolutions), sizes, values, scalars[-1], theory, reference)


def _name_and_resolutions(over: Any) -> tuple[str, list[Any]]:
    """Name and values of the sizes or numbers of cells."""
    if isinstance(over, Mapping):
        if len(over) != 1:
            raise UserError.parameter("over", over, 'must have one name, as {"cells": [10, 20, 40]}')
        ((name, over),) = over.items()
    else:
        name = _DEFAULT_NAME
    if isinstance(over, str) or not isinstance(over, Sequence | np.ndarray):
        raise UserTypeError.parameter(
            "over", over, 'must be sizes, coarse to fine, as [0.4, 0.2, 0.1] or {"cells": [10, 20, 40]}'
        )
    return str(name), [size.item() if isinstance(size, np.generic) else size for size in over]


def _sizes(name: str, resolutions: Sequence[Any], dimension: int) -> Array:
    """Representative sizes h of the grids, coarse first."""
    label = "over" if name == _DEFAULT_NAME else f"over: {name}"
    sizes = finite_array(label, resolutions, (None,))
    if sizes.size < 2:
        raise UserError.parameter(label, list(resolutions), "must be at least two sizes; three give the order")
    if not (sizes > 0.0).all():
        raise UserError.parameter(label, list(resolutions), "must be positive")
    steps = np.diff(sizes)
    if (steps < 0.0).all():
        return sizes
    if (steps > 0.0).all() and (sizes == np.round(sizes)).all():
        return sizes ** (-1.0 / dimension)
    rule = "must be sizes that decrease, or whole numbers of cells or steps that increase: coarse to fine, none twice"
    raise UserError.parameter(label, list(resolutions), rule)


def _outputs(study: Any, over: Any, name: str, resolutions: Sequence[Any]) -> list[Any]:
    """Outputs of the study, one per size."""
    if callable(study):
        return [study(**{name: size}) if isinstance(over, Mapping) else study(size) for size in resolutions]
    if isinstance(study, str | Mapping) or not isinstance(study, Sequence | np.ndarray):
        raise UserTypeError.parameter("study", study, "must be a function of the size, or its values, one of each size")
    if len(study) != len(resolutions):
        raise UserError.parameter("study", study, f"must have {len(resolutions)} values, one of each size")
    return list(study)


def _scalar_of(of: Any, output: Any, where: str) -> Scalar:
    """The quantity at one size, with unit and text; UserError unless it is one finite number."""
    if not (of is None or isinstance(of, str) or callable(of)):
        rule = "must be a function that takes a number, a path of a variable, a name, or None"
        raise UserTypeError.parameter("of", of, rule)
    quantity = quantity_of(completed(output), of, "of")
    unit, text = "1", of if isinstance(of, str) else str(getattr(of, "__name__", "value")).strip("<>")
    text = "value" if of is None else text
    if isinstance(quantity, Scalar):
        unit, text, quantity = quantity.unit, quantity.text or text, quantity.value
    elif hasattr(quantity, "attrs"):
        unit, text = str(quantity.attrs.get("units", unit)), str(quantity.attrs.get("long_name", text))
    try:
        array = np.asarray(quantity)
    except ValueError:  # rows of different lengths
        array = np.empty(0)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise UserTypeError.parameter(f"of, at {where}", quantity, "must be one number")
    value = float(array.reshape(()))
    if not math.isfinite(value):
        raise UserError(f"of, at {where}: is {value:g}: must be finite")
    return Scalar(value, unit, text)


def _dataset(
    name: str,
    resolutions: Array,
    sizes: Array,
    values: Array,
    scalar: Scalar,
    theory: float | None,
    exact: float | None,
) -> xarray.Dataset:
    import xarray

    count = sizes.size
    orders = np.full(count, np.nan)
    for n in range(2, count):
        orders[n] = observed_order(sizes[n - 2 : n + 1], values[n - 2 : n + 1])
    if count == 2:
        order, safety, state = float(theory or 0.0), SAFETY_TWO_GRIDS, "two grids"
    else:
        order, safety, state = float(orders[-1]), SAFETY, state_of(values[-3:], float(orders[-1]))
    extrapolation = extrapolate(sizes, values, order, safety)
    ratio = math.nan
    if state == "equal":
        extrapolation = Extrapolation(float(values[-1]), extrapolation.change, 0.0, 0.0, 0.0)
    elif count > 2:
        earlier = extrapolate(sizes[:-1], values[:-1], order, safety)
        if extrapolation.index and math.isfinite(earlier.index) and math.isfinite(extrapolation.index):
            ratio = earlier.index / ((sizes[-2] / sizes[-1]) ** order * extrapolation.index)
    unit, text = scalar.unit, scalar.text
    fields: dict[str, Any] = {
        "value": ("grid", values, described(unit, text)),
        "observed_order": ("grid", orders, described("1", "observed order of a grid and the two coarser ones")),
        "order": ((), order, described("1", "observed order" if count > 2 else "given order")),
        "extrapolated": ((), extrapolation.value, described(unit, f"{text}, extrapolated")),
        "relative_change": ((), extrapolation.change, described("1", "relative change of the finest two grids")),
        "extrapolated_error": (
            (),
            extrapolation.error,
            described("1", "relative error of the finest grid, extrapolated"),
        ),
        "gci": ((), extrapolation.index, described("1", "grid convergence index of the finest grid")),
        "uncertainty": ((), extrapolation.uncertainty, described(unit, "numerical uncertainty of the finest grid")),
        "asymptotic_ratio": ((), ratio, described("1", "ratio of the indices of two grids, 1 in the asymptotic range")),
    }
    fit = fit_order(sizes, values) if count > 3 and state != "equal" else None
    if fit is not None:
        fields["fitted_order"] = ((), fit.order, described("1", "order of least squares over all grids"))
        fields["fitted_value"] = ((), fit.value, described(unit, f"{text}, extrapolated by least squares"))
        fields["fitted_deviation"] = ((), fit.deviation, described(unit, "standard deviation of the least squares"))
    if exact is not None:
        errors = values - exact
        rates = np.full(count, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            rates[1:] = np.diff(np.log(np.abs(errors))) / np.diff(np.log(sizes))
        fields["error"] = ("grid", errors, described(unit, f"{text}, error"))
        fields["error_order"] = ("grid", rates, described("1", "order of the error from the coarser grid to this one"))
        fields["exact"] = ((), exact, described(unit, f"{text}, exact"))
    # no attribute `units`: sizes have those of the study
    coords: dict[str, Any] = {"h": ("grid", sizes, {"long_name": "representative size"})}
    if name != _DEFAULT_NAME:
        coords[name] = ("grid", resolutions, {"long_name": name})
    attributes = {"kind": "convergence", "state": state, "safety": safety} | (
        {} if theory is None else {"theory": theory}
    )
    dataset = xarray.Dataset(fields, coords, attributes | of_evaluation(f"convergence over {name}"))
    return dataset.assign_attrs(summary=_summary(dataset, name, resolutions, scalar, fit))


def _summary(dataset: xarray.Dataset, name: str, resolutions: Array, scalar: Scalar, fit: LeastSquares | None) -> str:
    """Table of the grids, order and uncertainty, as text."""
    state, unit = dataset.attrs["state"], "" if scalar.unit == "1" else f" {scalar.unit}"
    scalars = {key: float(variable) for key, variable in dataset.data_vars.items() if not variable.ndim}
    values = dataset["value"].values
    lines = [f"{scalar.text}, {values.size} grids, {name} = {resolutions[0]:g} to {resolutions[-1]:g}: {state}"]
    has_error = "error" in dataset
    head = f"{name:>12} {'value' + unit:>16} {'order':>8}" + (f" {'error':>12} {'order':>8}" if has_error else "")
    lines.append(head)
    for n, value in enumerate(values):
        row = f"{resolutions[n]:>12g} {value:>16.8g} {_order_text(dataset['observed_order'].values[n]):>8}"
        if has_error:
            row += f" {dataset['error'].values[n]:>12.3e} {_order_text(dataset['error_order'].values[n]):>8}"
        lines.append(row)
    if state == "divergent":
        lines.append("no order above 0.01 fits the finest three grids: nothing is extrapolated")
    elif state == "equal":
        lines.append("the finest two values are equal to round-off")
    else:
        theory = f", theory {dataset.attrs['theory']:g}" if values.size > 2 and "theory" in dataset.attrs else ""
        lines.append(f"order {scalars['order']:.4g}{theory}; extrapolated {scalars['extrapolated']:.8g}{unit}")
        gci = f"GCI {100.0 * scalars['gci']:.3g} % (F_s = {dataset.attrs['safety']:g})"
        lines.append(f"{gci}, ±{scalars['uncertainty']:.3g}{unit} on the finest grid")
    if state == "oscillatory":
        half = 0.5 * float(np.ptp(values[-3:]))
        lines.append(
            f"oscillatory: the order is formal; half of the range of the finest three values is {half:.3g}{unit}"
        )
    if fit is not None:
        text = f"order {fit.order:.4g}, value {fit.value:.8g}{unit}, deviation {fit.deviation:.2g}{unit}"
        lines.append(f"least squares over {values.size} grids: {text}")
    return "\n".join(lines)


def _order_text(order: float) -> str:
    return "" if math.isnan(order) else f"{order:.3f}"
