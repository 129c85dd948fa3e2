"""Arrays of compiled functions without reference counts.

numba counts the references to the memory of each array that a function receives: two atomic operations, of some
nanoseconds each, per array and call. In the contact problem of one point they take a third of the time. An array from
`borrow` refers to no counted memory, so that the functions that receive it count nothing.
"""

from typing import Any

from numba import config
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_new_ref
from numba.extending import intrinsic

from arlequin.models.kernel_cache import called_njit


def _borrowed(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The value of an argument of `borrow`, of a numba type `kind`."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value=value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        kinds: Any = kind
        parts = [_borrowed(context, builder, kinds[i], builder.extract_value(value, i)) for i in range(len(kinds))]
        return context.make_tuple(builder, kind, parts)
    if context.enable_nrt:
        context.nrt.incref(builder, kind, value)
    return value


def _borrow(arrays: Any) -> Any:
    """The same array, or tuple of arrays, tuples and numbers, without reference counts.

    It is valid while its memory is: that of a function's arguments until the function returns, that of arrays made in
    the function until the last use of these (see `hold`).
    """
    return arrays


def _typed_borrow(_: Any, arrays: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = _borrowed(context, builder, signature.args[0], arguments[0])
        return impl_ret_new_ref(context, builder, signature.return_type, value)

    return arrays(arrays), generate


borrow: Any = _borrow if config.DISABLE_JIT else intrinsic(_typed_borrow)  # type: ignore[attr-defined]


@called_njit()
def hold(arrays):
    """A use of arrays without effect: numba frees an array of a function after the last use of its name, even where a
    borrowed array refers to it."""
