"""The processes (ranks) that one run is spread over by `mpiexec`, and what they exchange.

Every rank runs the same program and holds the same vectors; sparse matrices are spread (`.matrix`). Sums are made on
one rank and sent to all, so that all ranks hold the same bits and take the same decisions.
"""

import os
from functools import cache
from typing import Any, Protocol

import numpy as np

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.types import Array

# number of ranks as Open MPI, MPICH and Intel MPI, MVAPICH and Slurm's PMI tell it to their processes
_COUNTS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")


class Ranks(Protocol):
    """The ranks of a run: `count` of them, of which this process is number `index`; `root` is whether it is the first."""

    index: int
    count: int

    @property
    def root(self) -> bool: ...

    def summed(self, values: Array) -> Array:
        """The sum over the ranks of arrays of one shape: the same bits on every rank."""

    def lowest(self, values: Array) -> Array:
        """The smallest of the ranks' values, entry by entry."""

    def of_root(self, value: Any) -> Any:
        """The first rank's value, on every rank."""

    def gathered(self, value: Any) -> list[Any]:
        """The values of all ranks (count,), on every rank."""

    def gathered_at_root(self, value: Any) -> list[Any]:
        """The values of all ranks (count,), on the first rank; elsewhere none."""

    def exchanged(self, values: list[Any]) -> list[Any]:
        """values (count,): what each rank is sent; what each rank sent to this one."""

    def joined(self, values: Array) -> Array:
        """The ranks' arrays (n,), of any lengths, one after the other, on every rank."""


class OneRank:
    """A run on one process."""

    index, count, root = 0, 1, True

    def summed(self, values: Array) -> Array:
        return values

    def lowest(self, values: Array) -> Array:
        return values

    def of_root(self, value: Any) -> Any:
        return value

    def gathered(self, value: Any) -> list[Any]:
        return [value]

    def gathered_at_root(self, value: Any) -> list[Any]:
        return [value]

    def exchanged(self, values: list[Any]) -> list[Any]:
        return values

    def joined(self, values: Array) -> Array:
        return values


class MpiRanks:
    """The ranks of a communicator of mpi4py."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.index, self.count = int(comm.rank), int(comm.size)

    @property
    def root(self) -> bool:
        return self.index == 0

    def summed(self, values: Array) -> Array:
        """A reduction to the first rank and a broadcast: a reduction to all may differ in the last bits of a rank."""
        own = np.ascontiguousarray(values)
        total = np.empty_like(own)
        self.comm.Reduce(own, total, root=0)
        self.comm.Bcast(total, root=0)
        return total

    def lowest(self, values: Array) -> Array:
        from mpi4py import MPI

        own = np.ascontiguousarray(values)
        least = np.empty_like(own)
        self.comm.Allreduce(own, least, op=MPI.MIN)
        return least

    def of_root(self, value: Any) -> Any:
        return self.comm.bcast(value, root=0)

    def gathered(self, value: Any) -> list[Any]:
        return list(self.comm.allgather(value))

    def gathered_at_root(self, value: Any) -> list[Any]:
        return list(self.comm.gather(value, root=0) or ())

    def exchanged(self, values: list[Any]) -> list[Any]:
        return list(self.comm.alltoall(values))

    def joined(self, values: Array) -> Array:
        own = np.ascontiguousarray(values)
        sizes = self.comm.allgather(own.size)
        out = np.empty(sum(sizes), dtype=own.dtype)
        self.comm.Allgatherv(own, [out, sizes])
        return out


def announced() -> int:
    """How many ranks `mpiexec` started, by the environment; 1 where there is no such word.

    >>> announced()
    1
    """
    for name in _COUNTS:
        count = os.environ.get(name, "")
        if count.isdigit():
            return max(1, int(count))
    return 1


@cache
def ranks() -> Ranks:
    """The ranks of this run; mpi4py is loaded only where `mpiexec` started several.

    UserError where it is not installed.
    """
    if announced() == 1:
        return OneRank()
    try:
        from mpi4py import MPI
    except ImportError as error:
        message = (
            f'{announced()} ranks were started, and mpi4py cannot be used ({error}): pip install "arlequin[petsc]"'
        )
        raise UserError(message, code=FAILURE) from error
    return MpiRanks(MPI.COMM_WORLD)
