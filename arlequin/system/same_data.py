"""Whether two objects hold the same data, functions of a script included."""

import functools
import types
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

_PLAIN = (int, float, complex, str, bytes, bool, type(None), type, range, np.generic)
_SHARED = (types.ModuleType, types.BuiltinFunctionType, np.ufunc)


def same_data(one: Any, other: Any) -> bool:
    """Whether two objects are of one type and hold the same: numbers, arrays, containers, dataclasses by their fields
    (what they keep beside these follows from them), and functions of the same code over the same closure.

    Functions that are written in a function, as loads of a study, are new objects on each call of it, and do the same
    where all that they refer to is the same; globals of a module are not compared. What cannot be compared counts as
    different.
    """
    return _same(one, other, {})


# pairs that are compared, by their ids, with themselves: kept, so that no other object gets these ids
Met = dict[tuple[int, int], tuple[Any, Any]]


def _same(one: Any, other: Any, met: Met) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, _PLAIN):
        return bool(one == other)
    if (id(one), id(other)) in met:  # on the way already: decided by all else
        return True
    met[id(one), id(other)] = one, other
    if isinstance(one, _SHARED):
        return False
    if isinstance(one, np.ndarray):
        if one.dtype == object:
            return one.shape == other.shape and _all(one.ravel().tolist(), other.ravel().tolist(), met)
        return one.dtype == other.dtype and np.array_equal(one, other)
    if sp.issparse(one):
        same = one.format == other.format == "csr" and one.shape == other.shape
        arrays = [[own.indptr, own.indices, own.data] for own in (one, other)] if same else [[0], [1]]
        return _all(arrays[0], arrays[1], met)
    if isinstance(one, dict | types.MappingProxyType):
        return list(one) == list(other) and _all(list(one.values()), list(other.values()), met)
    if isinstance(one, tuple | list):
        return _all(one, other, met)
    mine, others = _pieces(one), _pieces(other)
    return mine is not None and others is not None and _all(mine, others, met)


def _all(some: Any, others: Any, met: Met) -> bool:
    return len(some) == len(others) and all(_same(a, b, met) for a, b in zip(some, others, strict=True))


def _pieces(item: Any) -> list[Any] | None:
    """What decides what an object does; None where it is not known."""
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
        return [getattr(item, own.name, None) for own in fields(item) if own.init]
    return None
