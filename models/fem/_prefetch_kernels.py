"""Reading ahead in compiled functions.

The processor reads ahead by itself within a page of 4 kB. Kernels that read several kB of an array at a time and
compute for some microseconds in between would wait at each page for its first lines.
"""

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

LINE = 8  # float64 in a line of the cache, on most processors


def _prefetch(array: Any, place: int) -> None:
    """Begins to read the line of the cache with the entry of an array, in the order of its memory, and does not wait.

    A place beyond the array does nothing.
    """


def _typed_prefetch(_: Any, array: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        line = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        builder.call(function, [line, number(0), number(2), number(1)])  # to read, into the L2 cache, data
        return context.get_dummy_value()

    return types.none(array, types.intp), generate


prefetch: Any = _prefetch if config.DISABLE_JIT else intrinsic(_typed_prefetch)  # type: ignore[attr-defined]
