"""How many processes (ranks) `mpiexec` or `srun` started, by their environment; loads nothing."""

import os

# number and index of a rank as Open MPI, MPICH and Intel MPI, MVAPICH, and Slurm with PMIx tell them to it
_WORDS = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "PMIX_RANK"),
)
_alone: list[bool] = []  # not empty after `leave_others`


def announced() -> int:
    """Number of ranks that run this program together; 1 where there is no such word, or after `leave_others`.

    >>> announced()
    1
    """
    return 1 if _alone else _found()[0]


def started() -> int:
    """Number of processes that were started, also after `leave_others`."""
    return _found()[0]


def leave_others() -> None:
    """From now on this process does what it does alone: it neither waits for the others nor tells them anything."""
    _alone.append(True)


def announced_index() -> int:
    """Number of this rank, from 0.

    >>> announced_index()
    0
    """
    return _found()[1]


def _found() -> tuple[int, int]:
    for count, index in _WORDS:
        given = os.environ.get(count, ""), os.environ.get(index, "")
        if all(word.isdigit() for word in given):
            return max(1, int(given[0])), int(given[1])
    return 1, 0
