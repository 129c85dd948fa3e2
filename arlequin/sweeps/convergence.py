"""Convergence of a study with its mesh or its time step: observed order, extrapolation, grid convergence index."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.checks import finite, finite_array, positive, positive_integer
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call, meant
from arlequin.models.types import Array
from arlequin.results.conventions import described, of_evaluation
from arlequin.results.scalar import Scalar
from arlequin.results.time_mean import time_mean
from arlequin.run.simulate import Study
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

SAFETY, SAFETY_OF_TWO = 1.25, 3.0  # Roache's factors of three and more grids, and of two
_CALLED = "h"  # the name of sizes without one


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
    functions of `sweep` and `cases.study` do) or a number; or these values themselves, one of each size.
    of: a function of what the study gives, whose value is a number or a `Scalar`; the path of a variable, whose mean
    over the time is taken; a name of the mapping; None where the study gives numbers.
    over: sizes h, coarse to fine, which decrease; or whole numbers n of cells or steps, which increase, with
    h = n^(−1/dimension): `dimension` is the number of axes where all cells of a mesh are counted. {name: sizes} calls
    the study with this name.
    order: the order of the theory, needed with two sizes and compared with otherwise.
    exact: the exact value, for the errors and their orders (code verification).

    With the finest three of the grids (1 the finest), r₂₁ = h₂/h₁, ε₂₁ = φ₂ − φ₁ and s = sign(ε₃₂/ε₂₁):

        p ln r₂₁ = ln|ε₃₂/ε₂₁| + ln((r₂₁^p − s)/(r₃₂^p − s)),    φ_ext = (r₂₁^p φ₁ − φ₂)/(r₂₁^p − 1),
        GCI = F_s |ε₂₁/φ₁|/(r₂₁^p − 1),    F_s = 1.25, of two grids with the given order 3.

    Variables over `grid`, coarse to fine: `value`; `observed_order` of a grid and the two before it; with `exact` also
    `error` and `error_order`, ln(e₂/e₁)/ln r₂₁. Of the finest grids: `order`, `extrapolated`, `relative_change`
    |ε₂₁/φ₁|, `extrapolated_error` |(φ_ext − φ₁)/φ_ext|, `gci`, `uncertainty` = GCI |φ₁|, and `asymptotic_ratio`
    GCI₃₂/(r₂₁^p GCI₂₁), which is |φ₁/φ₂| for the p of the same three grids and tells little: with four and more grids
    compare `observed_order`. There `fitted_order`, `fitted_value` and `fitted_deviation` are the least squares of
    φ₀ + α h^p over all grids, with equal weights or weights 1/h, whichever deviates less; the expansions with fixed
    exponents that Eça & Hoekstra take for implausible orders are not used.

    The attribute `state` is "monotonic"; "oscillatory", ε₃₂/ε₂₁ < 0, where p and φ_ext are formal and half of the range
    of the values says more; "divergent", where no p > 0.01 fits, and what follows is nan; "equal", where the last
    two values are; "two grids". `print(found.attrs["summary"])` shows it all, `plots.convergence(found)` draws it.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.0, density=7800.0)
    >>> def hanging(cells):  # under its own weight: the tip moves by ρ g L²/(2 E), Pa
    ...     bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=cells), steel, imposed={"left": {"x": 0.0}})
    ...     return aq.Study(aq.System([bar], gravity=lambda t: 9.81 * t), aq.Static(), 1.0, 1.0)
    >>> def energy(result):  # (ρ g)² A L³/(6 E), J
    ...     return aq.Scalar(result["energy"].sel(kind="strain")[-1], "J", "strain energy")
    >>> found = aq.convergence(hanging, energy, {"cells": [4, 8, 16]}, exact=(7800.0 * 9.81) ** 2 / 6.0 / 2e11)
    >>> round(float(found["order"]), 6), found["error_order"].values.round(6).tolist()[1:]
    (2.0, [2.0, 2.0])
    >>> print(found.attrs["summary"])  # doctest: +ELLIPSIS
    strain energy, 3 grids, cells = 4 to 16: monotonic
    ...

    Sources: Celik, Ghia, Roache, Freitas, Coleman & Raad, J. Fluids Eng. 130 (2008) 078001; Roache, J. Fluids Eng. 116
    (1994) 405–413; Eça & Hoekstra, J. Comput. Phys. 262 (2014) 104–130; ASME V&V 20-2009.
    """
    name, given = _named(over)
    sizes = _sizes(name, given, positive_integer("dimension", dimension))
    theory = None if order is None else positive("order", order)
    if sizes.size == 2 and theory is None:
        raise UserError("order: must be given with two sizes, as 2 of linear elements; three sizes give it")
    reference = None if exact is None else finite("exact", exact)
    scalars = [
        _number(of, one, f"{name} = {size:g}") for one, size in zip(_all(study, over, name, given), given, strict=True)
    ]
    values = np.array([scalar.value for scalar in scalars])
    return _dataset(name, np.asarray(given), sizes, values, scalars[-1], theory, reference)


def _named(over: Any) -> tuple[str, list[Any]]:
    """Name and list of the sizes."""
    if isinstance(over, Mapping):
        if len(over) != 1:
            raise UserError.parameter("over", over, 'must have one name, as {"cells": [10, 20, 40]}')
        ((name, over),) = over.items()
    else:
        name = _CALLED
    if isinstance(over, str) or not isinstance(over, Sequence | np.ndarray):
        raise UserTypeError.parameter(
            "over", over, 'must be sizes, coarse to fine, as [0.4, 0.2, 0.1] or {"cells": [10, 20, 40]}'
        )
    return str(name), [one.item() if isinstance(one, np.generic) else one for one in over]


def _sizes(name: str, given: Sequence[Any], dimension: int) -> Array:
    """Representative sizes h of the grids, coarse first."""
    label = "over" if name == _CALLED else f"over: {name}"
    sizes = finite_array(label, given, (None,))
    if sizes.size < 2:
        raise UserError.parameter(label, list(given), "must be at least two sizes; three give the order")
    if not (sizes > 0.0).all():
        raise UserError.parameter(label, list(given), "must be positive")
    steps = np.diff(sizes)
    if (steps < 0.0).all():
        return sizes
    if (steps > 0.0).all() and (sizes == np.round(sizes)).all():
        return sizes ** (-1.0 / dimension)
    rule = "must be sizes that decrease, or whole numbers of cells or steps that increase: coarse to fine, none twice"
    raise UserError.parameter(label, list(given), rule)


def _all(study: Any, over: Any, name: str, given: Sequence[Any]) -> list[Any]:
    """What the study gives at each size."""
    if callable(study):
        return [study(**{name: size}) if isinstance(over, Mapping) else study(size) for size in given]
    if isinstance(study, str | Mapping) or not isinstance(study, Sequence | np.ndarray):
        raise UserTypeError.parameter("study", study, "must be a function of the size, or its values, one of each size")
    if len(study) != len(given):
        raise UserError.parameter("study", study, f"must have {len(given)} values, one of each size")
    return list(study)


def _number(of: Any, one: Any, where: str) -> Scalar:
    """The number of one size, with unit and text; UserError where it is none, or not finite."""
    if isinstance(one, Study):
        one = one.run(progress=False)
    found: Any
    if of is None:
        found = one
    elif isinstance(of, str):
        if isinstance(one, Mapping) and not hasattr(one, "data_vars"):
            if of not in one:
                raise UserError(
                    f"of: the study gives no {of!r}{meant(of, list(one))}; there are {', '.join(map(str, one))}"
                )
            found = one[of]
        else:
            found = time_mean(one, of, "of")
    elif callable(of):
        found = of(one)
    else:
        rule = "must be a function that takes a number, a path of a variable, a name, or None"
        raise UserTypeError.parameter("of", of, rule)
    unit, text = "1", of if isinstance(of, str) else str(getattr(of, "__name__", "value")).strip("<>")
    text = "value" if of is None else text
    if isinstance(found, Scalar):
        unit, text, found = found.unit, found.text or text, found.value
    elif hasattr(found, "attrs"):
        unit, text = str(found.attrs.get("units", unit)), str(found.attrs.get("long_name", text))
    try:
        array = np.asarray(found)
    except ValueError:  # rows of different lengths
        array = np.empty(0)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise UserTypeError.parameter(f"of, at {where}", found, "must be one number")
    value = float(array.reshape(()))
    if not math.isfinite(value):
        raise UserError(f"of, at {where}: is {value:g}: must be finite")
    return Scalar(value, unit, text)


def _dataset(
    name: str, given: Array, sizes: Array, values: Array, about: Scalar, theory: float | None, exact: float | None
) -> xarray.Dataset:
    import xarray

    count = sizes.size
    orders = np.full(count, np.nan)
    for n in range(2, count):
        orders[n] = observed_order(sizes[n - 2 : n + 1], values[n - 2 : n + 1])
    if count == 2:
        order, safety, state = float(theory or 0.0), SAFETY_OF_TWO, "two grids"
    else:
        order, safety, state = float(orders[-1]), SAFETY, state_of(values[-3:], float(orders[-1]))
    found = extrapolate(sizes, values, order, safety)
    ratio = math.nan
    if state == "equal":
        found = Extrapolation(float(values[-1]), found.change, 0.0, 0.0, 0.0)
    elif count > 2:
        earlier = extrapolate(sizes[:-1], values[:-1], order, safety)
        if found.index and math.isfinite(earlier.index) and math.isfinite(found.index):
            ratio = earlier.index / ((sizes[-2] / sizes[-1]) ** order * found.index)
    unit, text = about.unit, about.text
    one = "1"
    fields: dict[str, Any] = {
        "value": ("grid", values, described(unit, text)),
        "observed_order": ("grid", orders, described(one, "observed order of a grid and the two coarser ones")),
        "order": ((), order, described(one, "observed order" if count > 2 else "given order")),
        "extrapolated": ((), found.value, described(unit, f"{text}, extrapolated")),
        "relative_change": ((), found.change, described(one, "relative change of the finest two grids")),
        "extrapolated_error": ((), found.error, described(one, "relative error of the finest grid, extrapolated")),
        "gci": ((), found.index, described(one, "grid convergence index of the finest grid")),
        "uncertainty": ((), found.uncertainty, described(unit, "numerical uncertainty of the finest grid")),
        "asymptotic_ratio": ((), ratio, described(one, "ratio of the indices of two grids, 1 in the asymptotic range")),
    }
    fit = fit_order(sizes, values) if count > 3 and state != "equal" else None
    if fit is not None:
        fields["fitted_order"] = ((), fit.order, described(one, "order of least squares over all grids"))
        fields["fitted_value"] = ((), fit.value, described(unit, f"{text}, extrapolated by least squares"))
        fields["fitted_deviation"] = ((), fit.deviation, described(unit, "standard deviation of the least squares"))
    if exact is not None:
        errors = values - exact
        rates = np.full(count, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            rates[1:] = np.diff(np.log(np.abs(errors))) / np.diff(np.log(sizes))
        fields["error"] = ("grid", errors, described(unit, f"{text}, error"))
        fields["error_order"] = ("grid", rates, described(one, "order of the error from the coarser grid to this one"))
        fields["exact"] = ((), exact, described(unit, f"{text}, exact"))
    # sizes without units, which are the user's
    coords: dict[str, Any] = {"h": ("grid", sizes, {"long_name": "representative size"})}
    if name != _CALLED:
        coords[name] = ("grid", given, {"long_name": name})
    attributes = {"kind": "convergence", "state": state, "safety": safety} | (
        {} if theory is None else {"theory": theory}
    )
    dataset = xarray.Dataset(fields, coords, attributes | of_evaluation(f"convergence over {name}"))
    return dataset.assign_attrs(summary=_summary(dataset, name, given, about, fit))


def _summary(found: xarray.Dataset, name: str, given: Array, about: Scalar, fit: LeastSquares | None) -> str:
    """A table of the grids and what follows from them, in lines."""
    state, unit = found.attrs["state"], "" if about.unit == "1" else f" {about.unit}"
    number = {key: float(variable) for key, variable in found.data_vars.items() if not variable.ndim}
    values = found["value"].values
    lines = [f"{about.text}, {values.size} grids, {name} = {given[0]:g} to {given[-1]:g}: {state}"]
    has_error = "error" in found
    head = f"{name:>12} {'value' + unit:>16} {'order':>8}" + (f" {'error':>12} {'order':>8}" if has_error else "")
    lines.append(head)
    for n, value in enumerate(values):
        row = f"{given[n]:>12g} {value:>16.8g} {_shown(found['observed_order'].values[n]):>8}"
        if has_error:
            row += f" {found['error'].values[n]:>12.3e} {_shown(found['error_order'].values[n]):>8}"
        lines.append(row)
    if state == "divergent":
        lines.append("no order above 0.01 fits the finest three grids: nothing is extrapolated")
    elif state == "equal":
        lines.append("the finest two values are equal to round-off")
    else:
        theory = f", theory {found.attrs['theory']:g}" if values.size > 2 and "theory" in found.attrs else ""
        lines.append(f"order {number['order']:.4g}{theory}; extrapolated {number['extrapolated']:.8g}{unit}")
        gci = f"GCI {100.0 * number['gci']:.3g} % (F_s = {found.attrs['safety']:g}), ±{number['uncertainty']:.3g}{unit}"
        lines.append(f"{gci} on the finest grid")
    if state == "oscillatory":
        half = 0.5 * float(np.ptp(values[-3:]))
        lines.append(
            f"oscillatory: the order is formal; half of the range of the finest three values is {half:.3g}{unit}"
        )
    if fit is not None:
        text = f"order {fit.order:.4g}, value {fit.value:.8g}{unit}, deviation {fit.deviation:.2g}{unit}"
        lines.append(f"least squares over {values.size} grids: {text}")
    return "\n".join(lines)


def _shown(order: float) -> str:
    return "" if math.isnan(order) else f"{order:.3f}"
