"""Whether two objects hold the same data, functions of a script included."""

import functools
import types
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

_PLAIN = (int, float, complex, str, bytes, bool, type(None), type, range, np.generic)
_SHARED = (types.ModuleType, types.BuiltinFunctionType, np.ufunc)


def same_data(a: Any, b: Any) -> bool:
    """Whether two objects are of one type and hold equal data: numbers, arrays, containers, dataclasses by their fields
    (cached values follow from them), and functions of the same code over equal closures.

    Functions defined in a function, as loads of a study, are new objects in each call of it, and equal if all data that
    they refer to are equal; globals of a module are not compared. Objects that cannot be compared count as different.
    """
    return _same(a, b, {})


# pairs of objects under comparison, by their ids; the objects are stored so that their ids are not reused
ComparedPairs = dict[tuple[int, int], tuple[Any, Any]]


def _same(a: Any, b: Any, compared: ComparedPairs) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, _PLAIN):
        return bool(a == b)
    if (id(a), id(b)) in compared:  # a cycle: decided by the other comparisons
        return True
    compared[id(a), id(b)] = a, b
    if isinstance(a, _SHARED):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return a.shape == b.shape and _all(a.ravel().tolist(), b.ravel().tolist(), compared)
        return a.dtype == b.dtype and np.array_equal(a, b)
    if sp.issparse(a):
        same = a.format == b.format == "csr" and a.shape == b.shape
        arrays = [[matrix.indptr, matrix.indices, matrix.data] for matrix in (a, b)] if same else [[0], [1]]
        return _all(arrays[0], arrays[1], compared)
    if isinstance(a, dict | types.MappingProxyType):
        return list(a) == list(b) and _all(list(a.values()), list(b.values()), compared)
    if isinstance(a, tuple | list):
        return _all(a, b, compared)
    first, second = _pieces(a), _pieces(b)
    return first is not None and second is not None and _all(first, second, compared)


def _all(first: Any, second: Any, compared: ComparedPairs) -> bool:
    return len(first) == len(second) and all(_same(a, b, compared) for a, b in zip(first, second, strict=True))


def _pieces(item: Any) -> list[Any] | None:
    """The data that determine the behaviour of an object; None if unknown."""
    if isinstance(item, types.FunctionType):
        try:
            cells = [cell.cell_contents for cell in item.__closure__ or ()]
        except ValueError:  # a cell that has no value yet
            return None
        return [id(item.__code__), id(item.__globals__), item.__defaults__, item.__kwdefaults__, cells]
    if isinstance(item, types.MethodType):
        return [item.__func__, item.__self__]
    if isinstance(item, functools.partial):
        return [item.func, item.args, item.keywords]
    if is_dataclass(item):
        return [getattr(item, field.name, None) for field in fields(item) if field.init]
    return None
