"""Places of element blocks in the rows of a sparse matrix."""

from numba import types

from arlequin.models.kernel_cache import njit


@njit(
    types.void(
        types.Array(types.int64, 2, "C", readonly=True), types.int64, types.Array(types.int32, 1, "C", readonly=True),
        types.Array(types.int32, 1, "C", readonly=True), types.Array(types.int32, 3, "C"),
    ),
    cache=True,
)  # fmt: skip
def block_slots(nodes, components, starts, columns, slots):
    """Fill slots (c, a, b): where in the rows of node a of a CSR matrix of node blocks those of node b begin.

    The columns of a row ascend: they are found by bisection.
    """
    for c in range(nodes.shape[0]):
        for a in range(nodes.shape[1]):
            first = starts[components * nodes[c, a]]
            last = starts[components * nodes[c, a] + 1]
            for b in range(nodes.shape[1]):
                column = components * nodes[c, b]
                low, high = first, last
                while low < high:
                    middle = (low + high) // 2
                    if columns[middle] < column:
                        low = middle + 1
                    else:
                        high = middle
                slots[c, a, b] = low - first
