"""Uncertain inputs: independent distributions of the parameters of a study.

A sample is x_i = F_i⁻¹(u_i) with u uniform in ]0, 1[ᵈ, or u_i = Φ(z_i) with z standard normal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arlequin.models.checks import finite, mapping
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.types import Array
from arlequin.sweeps.plan import RESERVED, Point

RARE = 1e-9  # probability beyond the quantiles at which the range of a parameter is checked
_LARGEST = 2**53  # whole number, up to which floats have all of them
_RULE = (
    "must be a distribution, as scipy.stats.norm(1.0, 0.1), a pair (low, high) of uniform numbers or a range of "
    "whole numbers"
)


@dataclass(frozen=True)
class Inputs:
    """Names and frozen distributions of the inputs; fixed: parameters that all points have beside them.

    >>> inputs = Inputs.of({"gap": (1.0, 3.0), "seed": range(10)})
    >>> inputs.points(np.array([[0.5, 0.25]]))
    [{'gap': 2.0, 'seed': 2}]
    """

    names: tuple[str, ...]
    distributions: tuple[Any, ...]
    whole: tuple[bool, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, inputs: Any) -> Inputs:
        """From {name: distribution}; UserError for what is none."""
        distributions = mapping("inputs", inputs, "must map parameters to distributions, as {'gap': (1e-5, 5e-5)}")
        if not distributions:
            raise UserError("inputs: is empty: give at least one parameter and its distribution")
        for name in distributions:
            if not name.isidentifier() or name in RESERVED:
                raise UserError.parameter("inputs", name, "must have names of parameters")
        frozen = [_distribution(f"inputs[{name!r}]", distribution) for name, distribution in distributions.items()]
        return cls(tuple(distributions), tuple(frozen), tuple(map(_is_whole, frozen)))

    def __len__(self) -> int:
        return len(self.names)

    def points(self, u: Array) -> list[Point]:
        """Points of the uniform numbers u (n, d) in ]0, 1[."""
        return self._points(u, 1.0 - u)

    def points_of_normals(self, z: Array) -> list[Point]:
        """Points of the standard normal numbers z (n, d), precise in both tails."""
        from scipy.special import ndtr

        return self._points(ndtr(z), ndtr(-z))

    def _points(self, below: Array, above: Array) -> list[Point]:
        """Points of the probabilities (n, d) below and above them."""
        columns = []
        for name, distribution, whole, low, high in zip(
            self.names, self.distributions, self.whole, below.T, above.T, strict=True
        ):
            values = _quantiles(distribution, low, high)
            if not np.isfinite(values).all():
                raise UserError(f"inputs[{name!r}]: the distribution gives values that are not finite")
            columns.append(np.rint(values).astype(np.int64).tolist() if whole else values.tolist())
        return [{**dict(zip(self.names, row, strict=True)), **self.fixed} for row in zip(*columns, strict=True)]

    def check_ranges(self, study: Any) -> None:
        """Raise `UserError` where a distribution leaves the range of a parameter of the study, if it declares ranges.

        The study says so by its method `check_parameter(name, value)`, which is called at the quantiles RARE and
        1 − RARE.
        """
        check = getattr(study, "check_parameter", None)
        if check is None:
            return
        ends = self.points(np.array([[RARE], [1.0 - RARE]]) * np.ones(len(self)))
        for name in self.names:
            for end in ends:
                try:
                    check(name, end[name])
                except UserError as error:
                    raise UserError(f"inputs[{name!r}]: the distribution leaves the range: {error}") from error


def _distribution(name: str, distribution: Any) -> Any:
    from scipy import stats

    if isinstance(distribution, range):
        if (
            distribution.start + 1 >= distribution.stop
            or distribution.step != 1
            or max(-distribution.start, distribution.stop) > _LARGEST
        ):
            rule = f"must be a range of at least two whole numbers up to {_LARGEST} with the step 1"
            raise UserError.parameter(name, distribution, rule)
        return stats.randint(distribution.start, distribution.stop)
    if isinstance(distribution, np.ndarray) and distribution.ndim == 1:
        distribution = distribution.tolist()
    if isinstance(distribution, Sequence) and not isinstance(distribution, str):
        if len(distribution) != 2:
            raise UserError.parameter(name, distribution, _RULE)
        low, high = (finite(name, end) for end in distribution)
        if not low < high:
            raise UserError.parameter(name, distribution, "must be a pair (low, high) with low < high")
        return stats.uniform(low, high - low)
    if isinstance(distribution, type) or not callable(
        getattr(distribution, "ppf", getattr(distribution, "icdf", None))
    ):
        raise UserTypeError.parameter(name, distribution, _RULE)
    if not (hasattr(distribution, "args") or hasattr(distribution, "icdf") or np.isscalar(_median(name, distribution))):
        raise UserTypeError.parameter(name, distribution, _RULE)
    if not np.isfinite(_median(name, distribution)):
        raise UserError(f"{name}: the parameters of the distribution make none")
    return distribution


def _is_whole(distribution: Any) -> bool:
    """Whether its numbers are whole; of the newer distributions of scipy, the continuous ones have a `pmf` too."""
    if hasattr(distribution, "icdf"):
        return any(base.__name__ == "DiscreteDistribution" for base in type(distribution).__mro__)
    return hasattr(distribution, "pmf")


def _median(name: str, distribution: Any) -> float:
    try:
        middle = np.asarray(_quantiles(distribution, np.array(0.5), np.array(0.5)), dtype=float)
        return float(middle.item())
    except (TypeError, ValueError, OverflowError):
        raise UserTypeError.parameter(name, distribution, _RULE) from None


def _quantiles(distribution: Any, below: Array, above: Array) -> Array:
    """Quantiles of a distribution by the probability below, or by that above where it is the smaller."""
    if hasattr(distribution, "ppf"):
        lower, upper = distribution.ppf, getattr(distribution, "isf", None)
    else:
        lower, upper = distribution.icdf, getattr(distribution, "iccdf", None)
    values = np.asarray(lower(below), dtype=float)
    if upper is None:
        return values
    return np.where(below > 0.5, np.asarray(upper(above), dtype=float), values)


def described(inputs: Mapping[str, Any]) -> dict[str, str]:
    """The distributions as text, for attributes.

    >>> described({"gap": (1.0, 2.0)})
    {'gap': '(1.0, 2.0)'}
    """
    texts = {}
    for name, distribution in inputs.items():
        kind = getattr(distribution, "dist", None)
        if kind is not None:
            words = [f"{value:g}" for value in distribution.args] + [
                f"{key}={value:g}" for key, value in distribution.kwds.items()
            ]
            texts[name] = f"{kind.name}({', '.join(words)})"
        else:
            texts[name] = " ".join(repr(distribution).split())
    return texts
