"""Evaluation of a point of a sweep: the outcome as numbers and text."""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from arlequin.models.errors import UserError, UserTypeError
from arlequin.results.scalar import Scalar
from arlequin.sweeps.plan import Point

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_MESSAGE_LENGTH = 1000  # characters of a message: datasets store text of fixed length
_EVALUATION_LOCK = threading.Lock()  # Dask workers may have several threads; caches are not thread-safe


@dataclass(frozen=True)
class Series:
    """An array of a point; coords: one-dimensional coordinates by dimension."""

    dims: tuple[str, ...]
    values: NDArray[Any]
    attributes: dict[str, str]
    coords: dict[str, NDArray[Any]]
    coord_attributes: dict[str, dict[str, str]]


@dataclass(frozen=True)
class PointOutcome:
    """Outcome of a point. message: empty, or the error; seconds: wall time."""

    scalars: dict[str, Scalar] = field(default_factory=dict)
    series: dict[str, Series] = field(default_factory=dict)
    message: str = ""
    seconds: float = math.nan


def evaluate(function: Callable[..., Any], point: Point) -> PointOutcome:
    """Call the function at a point; exceptions become the message of the outcome."""
    with _EVALUATION_LOCK:
        begin = time.perf_counter()
        try:
            scalars, series = _scalars_and_series(function(**point))
        except KeyboardInterrupt:  # ends the sweep
            raise
        except BaseException as error:
            return PointOutcome(message=message_of(error), seconds=time.perf_counter() - begin)
        return PointOutcome(scalars, series, "", time.perf_counter() - begin)


def _scalars_and_series(returned: Any) -> tuple[dict[str, Scalar], dict[str, Series]]:
    """Scalars and arrays of the returned mapping."""
    import numpy as np
    import xarray

    if not isinstance(returned, Mapping):
        raise UserTypeError(f"the function gives {type(returned).__name__}, must give a mapping of names to numbers")
    scalars: dict[str, Scalar] = {}
    series: dict[str, Series] = {}
    for name, item in returned.items():
        if not isinstance(name, str) or not name or "/" in name:
            raise UserError.parameter("name", name, "must be a text without '/'")
        if isinstance(item, xarray.DataArray) and item.ndim:
            series[name] = _series(name, item)
        elif isinstance(item, Scalar):
            scalars[name] = Scalar(item.value, str(item.unit), str(item.text))
        else:
            number = np.asarray(item)
            if number.ndim or number.dtype.kind not in "biuf":
                raise UserError.parameter(name, item, "must be a number, a Scalar or an xarray.DataArray")
            scalars[name] = _scalar(item, number)
    return scalars, series


def _scalar(item: Any, number: np.ndarray[Any, Any]) -> Scalar:
    """A number, with the unit of a zero-dimensional DataArray."""
    attributes = getattr(item, "attrs", {})
    return Scalar(float(number), str(attributes.get("units", "1")), str(attributes.get("long_name", "")))


def _series(name: str, array: Any) -> Series:
    if array.dtype.kind not in "biuf":
        raise UserError(f"{name}: must be numbers, not {array.dtype}")
    coords = {str(dim): array.coords[dim] for dim in array.dims if dim in array.coords}
    return Series(
        tuple(str(dim) for dim in array.dims),
        array.values.astype(float),
        _texts(array.attrs),
        {dim: _ticks(coord.values) for dim, coord in coords.items()},
        {dim: _texts(coord.attrs) for dim, coord in coords.items()},
    )


def _ticks(values: NDArray[Any]) -> NDArray[Any]:
    """A coordinate as numbers or as texts, such as the names of components."""
    import numpy as np

    return values if values.dtype.kind in "biufU" else np.array([str(value) for value in values.tolist()])


def _texts(attributes: Mapping[Any, Any]) -> dict[str, str]:
    return {str(name): str(text) for name, text in attributes.items()}


def message_of(error: BaseException) -> str:
    """Type, text and location of an exception in one line; only the text of a UserError."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # its __str__ fails
        text = ""
    if len(text) > MAX_MESSAGE_LENGTH:
        text = f"{text[:MAX_MESSAGE_LENGTH]} …"
    if text and isinstance(error, UserError):
        return text
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{': ' if text else ''}{text}{place}"
