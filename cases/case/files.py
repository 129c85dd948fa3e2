"""Case files that this user has run here, by place and text: that a result names a file is no reason to run it.

The list has a line for each, as `sha256sum` writes them: digest, two spaces, the path that was given, made absolute. It
is the file `arlequin/case_files` in the folder of the user's state ($XDG_STATE_HOME, by default ~/.local/state). Place
and text must both be those of the list: a copy elsewhere could import other helpers from beside it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from pathlib import Path

from arlequin.models.errors import UserError

MOST_BYTES = 2**24  # of a case file


def read(path: Path) -> bytes:
    """The text of a Python file, once: what is hashed is what is run."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    if path.suffix != ".py":
        raise UserError(f"{path}: not a Python file (its name must end in .py)")
    with path.open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise UserError(f"{path}: larger than {MOST_BYTES:,} bytes: not a case file")
    return text


def remember(path: str, text: bytes) -> None:
    """Adds a file that the user has named; where nothing can be written its results have general figures later."""
    folder = _folder()
    if folder is None or "\n" in path or _digest(text) in _digests(path):
        return
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        line = os.fsencode(f"{_digest(text)}  {path}\n")
        file = os.open(folder / "case_files", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)  # at once: of two processes each writes its whole line
        finally:
            os.close(file)


def known(path: str) -> bytes:
    """The text of a file that a result names; UserError, before it is opened, where this user has not run it here."""
    digests = _digests(path)
    if not digests:
        raise UserError(f"the case file {path} has not been run here")
    text = read(Path(path))
    if _digest(text) not in digests:
        raise UserError(f"the case file {path} has changed since it was run here")
    return text


def _digests(path: str) -> set[str]:
    """Those of the list for a path; none where others could have written the list."""
    folder, end = _folder(), b"  " + os.fsencode(path)
    found: set[str] = set()
    if folder is None:
        return found
    with contextlib.suppress(OSError):
        file = os.open(folder / "case_files", os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(file, "rb") as lines:
            about = os.fstat(file)
            own = not hasattr(os, "getuid") or about.st_uid == os.getuid()
            if own and stat.S_ISREG(about.st_mode) and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                found = {line[:64].decode("ascii", "replace") for line in lines if line[64:].rstrip(b"\n") == end}
    return found


def _folder() -> Path | None:
    """The folder of the project's state, which must be absolute; None where the user has no home."""
    given = os.environ.get("XDG_STATE_HOME", "")
    with contextlib.suppress(RuntimeError):
        return (Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state") / "arlequin"
    return None


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
