"""Runs the code of a page for its figures: `python run_page.py PAGE FOLDER`.

Blocks of ```python run in order in one namespace, blocks of ```console as on the command line; the PNG files that they
write in FOLDER are the figures. FOLDER/page.json lists them and the project files that were used.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# file: (\S+)\n")
LONG = re.compile(r"#.*(minutes|hours)")


def main(page: Path, folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from run_case import digest, files_used

    from arlequin.cases.cli.command import main as arlequin

    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    module = sys.modules["page"] = ModuleType("page")
    matplotlib.rcParams["savefig.dpi"] = 110
    for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python" and not text.startswith(">>>"):
            if saved := FILE.match(text):
                Path(saved.group(1)).write_text(text, encoding="utf-8")
            exec(compile(text, page.name, "exec"), vars(module))
        for line in re.findall(r"^\$ arlequin (.*)", text, re.MULTILINE) if language == "console" else ():
            if not LONG.search(line):
                with contextlib.redirect_stdout(io.StringIO()):
                    arlequin(shlex.split(line, comments=True))
    about = {
        "figures": sorted(p.name for p in Path().glob("*.png")),
        "files": {**files_used(), str(page): digest(page)},
    }
    Path("page.json").write_text(json.dumps(about), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
