"""Number of processes (ranks) started by `mpiexec` or `srun`, from the environment; imports no library."""

import os

# variables with the number of ranks and the rank's index: Open MPI; MPICH, Intel MPI; MVAPICH; Slurm with PMIx
_VARIABLES = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "PMIX_RANK"),
)
_detached: list[bool] = []  # not empty after `leave_others`


def announced() -> int:
    """Number of ranks that run this program together; 1 without such a variable, or after `leave_others`.

    >>> announced()
    1
    """
    return 1 if _detached else _size_and_index()[0]


def started() -> int:
    """Number of processes that were started, also after `leave_others`."""
    return _size_and_index()[0]


def leave_others() -> None:
    """Detach this process from the other ranks: from now on it neither waits for them nor reports to them."""
    _detached.append(True)


def announced_index() -> int:
    """Number of this rank, from 0.

    >>> announced_index()
    0
    """
    return _size_and_index()[1]


def _size_and_index() -> tuple[int, int]:
    for count, index in _VARIABLES:
        texts = os.environ.get(count, ""), os.environ.get(index, "")
        if all(word.isdigit() for word in texts):
            return max(1, int(texts[0])), int(texts[1])
    return 1, 0
