"""Python functions that compiled loops call by their address."""

import ctypes
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


def address_of(callback: Any) -> int:
    """The address of a `CALLBACK`, valid during the lifetime of the object."""
    return int(ctypes.cast(callback, ctypes.c_void_p).value or 0)


def _call(address: int, argument: int) -> int:
    """Calls the `CALLBACK` at an address. It acquires the interpreter's lock if the loop has released it; it must not
    raise."""
    return int(CALLBACK(address)(argument))


def _typed_call(_: Any, address: Any, argument: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(64)
        pointer = builder.inttoptr(arguments[0], ir.FunctionType(number, [number]).as_pointer())
        return builder.call(pointer, [arguments[1]])

    return types.int64(types.int64, types.int64), generate


call_address: Any = _call if config.DISABLE_JIT else intrinsic(_typed_call)  # type: ignore[attr-defined]
