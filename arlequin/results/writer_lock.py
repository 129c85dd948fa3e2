"""One writer at a time of a result or the store of a sweep: the others are refused, and told who it is.

The lock (flock) is on the file `.writer` in the folder and ends with the process that has it, however that is killed.
On NFS the server keeps it (since Linux 2.6.12), and frees it when a client that is gone does not renew it; on a file
system that has no locks two writers are not told apart.
"""

import os
import socket
from datetime import datetime
from pathlib import Path

from arlequin.models.errors import FAILURE, UserError

NAME = ".writer"
_LONGEST = 200  # of what the file says


def writer_lock(folder: Path, given: str) -> int:
    """Takes the lock of a store; a file descriptor that holds it until it is closed."""
    options = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | options, 0o644)
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = _who(descriptor)
        os.close(descriptor)
        raise UserError(f"{given}: another run is writing it{who}: choose another path", FAILURE) from None
    except (ImportError, OSError):
        pass  # no such locks on this system or file system: go on without
    now = datetime.now().astimezone().isoformat(" ", "seconds")
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}, since {now}".encode(), 0)
    return descriptor


def refuse_while_written(folder: Path, given: str) -> None:
    """UserError where another run is writing a store."""
    os.close(writer_lock(folder, given))


def _who(descriptor: int) -> str:
    """Who has the lock, as its file says."""
    try:
        said = os.pread(descriptor, _LONGEST, 0).decode("utf-8", "replace")
    except OSError:
        said = ""
    return f" ({said})" if said.isprintable() and said else ""
