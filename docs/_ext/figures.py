"""Figures of pages: docs/figures/PAGE-NAME.png is the file NAME.png written by the code of a page.

The pages of `PAGES` are run by `run_page.py`; their figures are stored like the outcomes of the gallery. A page whose
code fails gives a warning, as its figures are then missing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from run_case import digest
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HOW_TO = ("sweep", "gradients", "uncertainty", "fatigue", "wear-life")
PAGES = ("tour", *(f"how-to/{name}" for name in HOW_TO), "answers/contact-gradients", "speed")
LIMIT = 300  # s


def kept(folder: Path) -> dict[str, Any]:
    """The stored figures of a page; empty if a file that it used has changed."""
    try:
        about: dict[str, Any] = json.loads((folder / "page.json").read_text(encoding="utf-8"))
        return about if all(digest(Path(file)) == was for file, was in about["files"].items()) else {}
    except (OSError, ValueError, KeyError):
        return {}


def run(page: Path, folder: Path) -> dict[str, Any]:
    """Run a page in an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    own = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    command = [sys.executable, str(HERE / "run_page.py"), str(page), str(folder)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **own}, timeout=LIMIT, check=False
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
        logger.warning("figures: %s failed: %s", page.name, said, type="figures")
    return kept(folder)


def build(app: Sphinx) -> None:
    """Write the figures into docs/figures."""
    source = Path(app.srcdir)
    target = source / "figures"
    target.mkdir(exist_ok=True)
    for name in PAGES:
        page, folder = source / f"{name}.md", source / "build" / "pages" / name
        about = kept(folder) or run(page, folder)
        for figure in about.get("figures", ()):
            shutil.copyfile(folder / figure, target / f"{page.stem}-{figure}")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", build)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
