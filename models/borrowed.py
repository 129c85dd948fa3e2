"""Arrays of compiled functions without reference counts.

numba counts the references of each array that a function receives, two atomic operations of some nanoseconds each, for
each variable that stands for it. In steps of microseconds these counts take up to half of the time. The count of an
array from `borrow` has no memory to stand in: nothing is counted in what it is passed on to.
"""

from typing import Any

from numba import njit
from numba.core import cgutils, config, types
from numba.core.imputils import impl_ret_new_ref
from numba.extending import intrinsic


def _borrowed(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The value of an argument of `borrow`, of a numba type `kind`."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value=value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = [builder.extract_value(value, i) for i in range(len(kind))]
        own = [_borrowed(context, builder, each, part) for each, part in zip(kind, parts, strict=True)]
        return context.make_tuple(builder, kind, own)
    if context.enable_nrt:
        context.nrt.incref(builder, kind, value)
    return value


def _borrow(arrays: Any) -> Any:
    """The same array, or tuple of arrays, tuples and numbers, whose references are not counted: valid as long as the
    caller holds the arrays, as those of the arguments of a function are until it returns."""
    return arrays


def _typed_borrow(typing_context: Any, arrays: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = _borrowed(context, builder, signature.args[0], arguments[0])
        return impl_ret_new_ref(context, builder, signature.return_type, value)

    return arrays(arrays), generate


borrow = _borrow if config.DISABLE_JIT else intrinsic(_typed_borrow)


@njit(cache=True)
def hold(arrays):
    """Arrays that were made in a function and borrowed there live until here at least: the function would else drop
    them after their last use by name."""
