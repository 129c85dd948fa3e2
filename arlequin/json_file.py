"""Files of JSON, read as data of anybody."""

import json
import os
import stat
from pathlib import Path
from typing import Any

MOST_BYTES = 2**27


def read_json(path: Path) -> Any:
    """What a file says; ValueError where it is none, too large or too deep."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait for a writer
    with os.fdopen(file, "rb") as lines:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES:
            raise ValueError(f"{path.name} is not a file of at most {MOST_BYTES:,} bytes")
        try:
            return json.loads(lines.read())
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path.name} cannot be read: {type(error).__name__}: {error}") from error
