"""Files and folders that are written: never through a link, never into a pipe, and whole or not at all.

A file is written under a new name beside its path and renamed. What another name of the earlier file leads to (a link,
a hard link) stays as it is.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from arlequin.models.errors import UserError

MARK = ".arlequin-"  # drafts are named so, with 12 hexadecimal digits
_THREADS = 16  # that flush files
_LONGEST = 16  # letters of an ending that a draft keeps


def draft_of(path: Path, ending: str = "") -> Path:
    """A new name beside a path."""
    return path.with_name(f"{MARK}{secrets.token_hex(6)}{ending}")


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Context that gives the path of an empty file, of the same ending, which takes the place of `path` at its end.

    After an exception it is removed, and `path` is as it was. UserError where `path` is a link, or is no file. It has
    the rights of the earlier file.
    """
    target = Path(path)
    earlier = refuse_odd(target, stat.S_ISREG, "a file")
    if earlier is not None and not os.access(target, os.W_OK):  # a rename would not ask
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    draft = draft_of(target, target.suffix if len(target.suffix) <= _LONGEST else "")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    os.close(os.open(draft, flags, 0o666))
    try:
        if earlier is not None:
            draft.chmod(stat.S_IMODE(earlier.st_mode))
        yield draft
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> Path:
    """Write a text, with `?` for lone surrogates, and make its folder."""
    return write_bytes(path, text.encode("utf-8", "replace"))


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write a file and make its folder."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as draft:
        draft.write_bytes(content)
    return target


def make_folder(path: str | Path) -> Path:
    """Make a folder, and those above it; UserError where there is a link, or no folder."""
    folder = Path(path)
    refuse_odd(folder, stat.S_ISDIR, "a folder")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def refuse_link(path: str | Path, label: str = "") -> None:
    """UserError where a path is a link."""
    if Path(path).is_symlink():
        raise UserError(f"{label or path}: is a link, through which nothing is written: give the path it leads to")


def refuse_odd(path: Path, is_kind: Callable[[int], bool], kind: str) -> os.stat_result | None:
    """UserError where a path is a link, or is not of a kind; else its status. is_kind: test of a mode."""
    refuse_link(path)
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    if not is_kind(status.st_mode):
        raise UserError(f"{path}: exists and is not {kind}: choose another path")
    return status


def sync(path: Path) -> None:
    """Flush a file to the disk (fsync), or the names in a folder, where the system has that."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except PermissionError:  # of folders: Windows
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_many(paths: Iterable[Path]) -> None:
    """Flush files or folders; those that are gone count as flushed.

    In threads: a journal commits simultaneous requests together; 60 files took 1/4 to 1/40 of the time.
    """

    def sync_path(path: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            sync(path)

    with ThreadPoolExecutor(_THREADS) as threads:
        list(threads.map(sync_path, paths))


def sync_all(folder: Path) -> None:
    """Flush all that is in a folder: files, then the folders that hold them."""
    folders = [(Path(place), names) for place, _, names in os.walk(folder)]
    sync_many(place / name for place, names in folders for name in names)
    sync_many(place for place, _ in folders)


def write_synced(path: Path, data: bytes) -> None:
    """Replace a file, also in a power failure: it has the earlier data or these."""
    with replacing(path) as draft, draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    sync(path.parent)
