"""How many processes (ranks) `mpiexec` or `srun` started, by their environment; loads nothing."""

import os

# number and index of a rank as Open MPI, MPICH and Intel MPI, MVAPICH, and Slurm with PMIx tell them to it
_WORDS = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "PMIX_RANK"),
)


def announced() -> int:
    """Number of ranks; 1 where there is no such word.

    >>> announced()
    1
    """
    return _found()[0]


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
