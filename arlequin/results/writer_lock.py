"""Exclusive lock for writing a result or the store of a sweep.

The lock (flock) is on the file `.writer` in the folder and is released when its process ends, also when killed. On NFS
(since Linux 2.6.12) the server releases the lock of a lost client; on file systems without locks two writers are not
detected.
"""

import os
import socket
from datetime import datetime
from pathlib import Path

from arlequin.models.errors import FAILURE, UserError

NAME = ".writer"
_LONGEST = 200  # bytes read from the file


def writer_lock(folder: Path, given: str) -> int:
    """Acquire the lock of a store; returns a file descriptor, whose closing releases it."""
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
        pass  # no locks on this system
    now = datetime.now().astimezone().isoformat(" ", "seconds")
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}, since {now}".encode(), 0)
    return descriptor


def refuse_while_written(folder: Path, given: str) -> None:
    """Raise `UserError` while another run is writing the store."""
    os.close(writer_lock(folder, given))


def _who(descriptor: int) -> str:
    """The owner of the lock, from the text of its file."""
    try:
        text = os.pread(descriptor, _LONGEST, 0).decode("utf-8", "replace")
    except OSError:
        text = ""
    return f" ({text})" if text.isprintable() and text else ""
