"""Ctrl-C in compiled loops.

Python runs the handler of a signal between two of its own instructions: a compiled loop of a minute would put it off by
a minute. `check_interrupts()`, called by a kernel each time round a loop that may last, runs the handlers that are due
(`PyErr_CheckSignals`) and lets what they raise end the kernel, as in Python. It costs some 50 ns, and serves kernels
that have freed the interpreter's lock as well. In uncompiled kernels it does nothing: Python hears by itself.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload


@intrinsic
def _check_signals(_: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(32)

        def python(name: str, result: Any, given: tuple[Any, ...]) -> Any:
            kind = ir.FunctionType(result, [value.type for value in given])
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), given)

        lock = python("PyGILState_Ensure", number, ())
        raised = python("PyErr_CheckSignals", number, ())
        python("PyGILState_Release", ir.VoidType(), (lock,))
        with builder.if_then(builder.icmp_signed("!=", raised, ir.Constant(number, 0)), likely=False):
            context.call_conv.return_exc(builder)  # the exception is set already
        return context.get_dummy_value()

    return types.none(), codegen


def check_interrupts() -> None:
    """Raises what the handlers of the signals that have come raise."""


@overload(check_interrupts)
def _hear() -> Any:
    return lambda: _check_signals()  # type: ignore[call-arg]
