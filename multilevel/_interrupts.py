"""Ctrl-C in compiled loops.

Python runs signal handlers between two of its instructions, that is, after a compiled loop has returned.
`check_interrupts()`, called in each iteration of a long loop of a kernel, runs the pending handlers
(`PyErr_CheckSignals`); an exception that they raise ends the kernel, as in Python. A call costs some 50 ns and also
works in kernels that have released the interpreter lock. In uncompiled kernels it does nothing.
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

        def call_python(name: str, result: Any, args: tuple[Any, ...]) -> Any:
            kind = ir.FunctionType(result, [value.type for value in args])
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

        lock = call_python("PyGILState_Ensure", number, ())
        raised = call_python("PyErr_CheckSignals", number, ())
        call_python("PyGILState_Release", ir.VoidType(), (lock,))
        with builder.if_then(builder.icmp_signed("!=", raised, ir.Constant(number, 0)), likely=False):
            context.call_conv.return_exc(builder)  # the exception is set already
        return context.get_dummy_value()

    return types.none(), codegen


def check_interrupts() -> None:
    """Run the handlers of pending signals; their exceptions are raised."""


@overload(check_interrupts)
def _check_interrupts_compiled() -> Any:
    return lambda: _check_signals()  # type: ignore[call-arg]
