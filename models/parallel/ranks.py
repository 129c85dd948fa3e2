"""The processes (ranks) of a run under `mpiexec`, and their communication.

Every rank runs the same program and holds the same vectors; sparse matrices are distributed (`.matrix`). Sums are
computed on one rank and broadcast, so that vectors are bitwise equal on all ranks, and branches the same.
"""

import pickle
import platform
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol, TypeVar

import numpy as np

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.parallel.launch import announced
from arlequin.models.parallel.status_exchange import StatusExchange, known, line_of
from arlequin.models.types import Array

T = TypeVar("T")


class Ranks(Protocol):
    """The ranks of a run: `count` of them, this process number `index`; `root`: whether it is the first.

    speaks: whether this rank prints the error that ended the run.
    """

    index: int
    count: int

    @property
    def root(self) -> bool: ...

    @property
    def speaks(self) -> bool: ...

    def summed(self, values: Array) -> Array:
        """The sum over the ranks of arrays of one shape: the same bits on every rank."""

    def lowest(self, values: Any) -> Any:
        """The smallest of the ranks' values, entry by entry."""

    def of_root(self, value: Any) -> Any:
        """The first rank's value, on every rank."""

    def array_of_root(self, values: Array, shape: tuple[int, ...]) -> Array:
        """The first rank's array of a shape, on every rank; the arrays of others are ignored."""

    def gathered(self, value: Any) -> list[Any]:
        """The values of all ranks (count,), on every rank."""

    def gathered_at_root(self, value: Any) -> list[Any]:
        """The values of all ranks (count,) on the first rank, an empty list elsewhere."""

    def exchanged(self, values: list[Any]) -> list[Any]:
        """All-to-all exchange: values (count,) for each rank ↦ those received from each rank."""

    def joined(self, values: Array) -> Array:
        """The ranks' arrays (n,), of any lengths, one after the other, on every rank."""

    def by_root(self, action: Callable[[], T]) -> T:
        """The value of an action that only the first rank executes, on every rank; its exception is raised on all."""

    def goes_on(self, to: str, numbers: Sequence[float] = (), interrupted: bool = False) -> tuple[float, ...]:
        """Synchronise with the other ranks before the stage `to`; the first rank's numbers (four at most).

        interrupted: whether this rank received a stop request: then all stop (KeyboardInterrupt). UserError where a
        rank has failed, or is at another stage.
        """

    def fails(self, error: BaseException, last: Callable[[], object] | None = None) -> None:
        """Report an exception to the other ranks. Returns once all have received it; after a time-out aborts all.

        last: executed by this rank before it aborts.
        """


class OneRank:
    """A run on one process."""

    index, count, root, speaks = 0, 1, True, True

    def summed(self, values: Array) -> Array:
        return values

    def lowest(self, values: Any) -> Any:
        return values

    def of_root(self, value: Any) -> Any:
        return value

    def array_of_root(self, values: Array, shape: tuple[int, ...]) -> Array:
        return values

    def gathered(self, value: Any) -> list[Any]:
        return [value]

    def gathered_at_root(self, value: Any) -> list[Any]:
        return [value]

    def exchanged(self, values: list[Any]) -> list[Any]:
        return values

    def joined(self, values: Array) -> Array:
        return values

    def by_root(self, action: Callable[[], T]) -> T:
        return action()

    def goes_on(self, to: str, numbers: Sequence[float] = (), interrupted: bool = False) -> tuple[float, ...]:
        if interrupted:
            raise KeyboardInterrupt
        return tuple(numbers)

    def fails(self, error: BaseException, last: Callable[[], object] | None = None) -> None:
        pass


class MpiRanks:
    """The ranks of a communicator of mpi4py."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.index, self.count = int(comm.rank), int(comm.size)
        self._status = StatusExchange(comm)

    @property
    def root(self) -> bool:
        return self.index == 0

    @property
    def speaks(self) -> bool:
        return self._status.speaks

    def summed(self, values: Array) -> Array:
        """A reduction to the first rank and a broadcast: a reduction to all may differ in the last bits of a rank."""
        local = np.ascontiguousarray(values)
        total = np.empty_like(local)
        self.comm.Reduce(local, total, root=0)
        self.comm.Bcast(total, root=0)
        return total

    def lowest(self, values: Any) -> Any:
        from mpi4py import MPI

        local = np.ascontiguousarray(values)
        least = np.empty_like(local)
        self.comm.Allreduce(local, least, op=MPI.MIN)
        return least

    def of_root(self, value: Any) -> Any:
        return self.comm.bcast(value, root=0)

    def array_of_root(self, values: Array, shape: tuple[int, ...]) -> Array:
        out = np.ascontiguousarray(values) if self.root else np.empty(shape)
        self.comm.Bcast(out, root=0)
        return out

    def gathered(self, value: Any) -> list[Any]:
        return list(self.comm.allgather(value))

    def gathered_at_root(self, value: Any) -> list[Any]:
        return list(self.comm.gather(value, root=0) or ())

    def exchanged(self, values: list[Any]) -> list[Any]:
        return list(self.comm.alltoall(values))

    def joined(self, values: Array) -> Array:
        local = np.ascontiguousarray(values)
        sizes = self.comm.allgather(local.size)
        out = np.empty(sum(sizes), dtype=local.dtype)
        self.comm.Allgatherv(local, [out, sizes])
        return out

    def by_root(self, action: Callable[[], T]) -> T:
        value: Any = None
        error: Exception | None = None
        if self.root:
            try:
                value = action()
            except Exception as raised:
                error = raised
        self.goes_on("what the first rank does alone")
        sent, value = self.of_root((None if error is None else _sent(error), value))
        if sent is not None:
            raise known(error or sent)
        return value

    def goes_on(self, to: str, numbers: Sequence[float] = (), interrupted: bool = False) -> tuple[float, ...]:
        return self._status.goes_on(to, numbers, interrupted)

    def fails(self, error: BaseException, last: Callable[[], object] | None = None) -> None:
        self._status.fails(error, last)


def _sent(error: Exception) -> Exception:
    """An exception that other processes can unpickle."""
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:  # raised by the exception's own class
        copy = None
    return copy if isinstance(copy, Exception) else UserError(line_of(error), FAILURE)


def hosts(among: Ranks) -> int:
    """Number of machines that the ranks run on."""
    return len(set(among.gathered(platform.node())))


@cache
def ranks() -> Ranks:
    """The ranks of this run: their number (`count`), that of this process (`index`), whether it is the first (`root`).

    Under `mpiexec -n 4 python script.py` all four run the script, and `simulate` returns the same result on each; what
    is to be done once, such as printing, is left to the first. Without `mpiexec` there is one rank; mpi4py is loaded
    only where there are several, and a UserError raised where it is not installed.

    >>> import arlequin as aq
    >>> aq.ranks().count
    1
    >>> if aq.ranks().root:
    ...     print("once")
    once
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


def refuse_ranks(what: str, cure: str = "run it on one process, without mpiexec") -> None:
    """UserError where there are several ranks, for a computation on one process only.

    >>> refuse_ranks("natural_frequencies")
    """
    if announced() > 1:
        raise UserError(f"{what}: is not spread over {announced()} ranks: {cure}")
