"""What Arlequin and other codes say of the same problems, on one machine, as the page `docs/compared.md`.

    python tests/compared [STUDY …] [--getfem PYTHON] [--akantu PYTHON] [--calculix CCX] [--rounds N] [--page FILE]

Other codes run in interpreters of their own (`python3-getfem` of Debian; `pip install akantu`) or as programs
(`calculix-ccx` of Debian), with one thread; one that is not given is skipped with a line. Values that are published
elsewhere are named so, with their source.
"""

import argparse
import os
import sys
import time
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

STUDIES = ("block_impact", "rocking_block", "oblique_impact", "torsion", "cantilever", "gradients", "slider")
PROGRAMS = {"getfem": "INTERPRETER", "akantu": "INTERPRETER", "calculix": "PROGRAM"}
FRONT = """# Compared with other codes

Each section is printed by a script in `tests/compared`, all in one run on one machine (`python tests/compared --page
docs/compared.md`). Values of other codes are of the same run where the code could be installed, else published ones
with their source.

"""


def load() -> str:
    """The load averages of the last 1, 5 and 15 minutes."""
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def section(name: str, arguments: argparse.Namespace) -> Any:
    """The section of a study."""
    study = import_module(name)
    if name == "block_impact":
        return study.section({code: getattr(arguments, code) for code in PROGRAMS}, arguments.rounds)
    return study.section()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/compared", description="Arlequin and other codes.")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"by default all: {', '.join(STUDIES)}")
    for code, metavar in PROGRAMS.items():
        parser.add_argument(f"--{code}", metavar=metavar, help=f"the {metavar.lower()} of {code}")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of each code, alternating; 3")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page, too")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.studies) - set(STUDIES))
    if unknown:
        parser.error(f"no study is named {unknown[0]!r}; the studies are {', '.join(STUDIES)}")
    begin, sections = load(), []
    for name in arguments.studies or STUDIES:
        start = time.process_time()
        text = section(name, arguments).markdown()
        seconds = time.process_time() - start
        if seconds >= 1.0:
            text += f"\nProcessor time of this section in Arlequin: {seconds:.0f} s.\n"
        sections.append(text)
        print(text, flush=True)
    from page import machine

    from arlequin import __version__

    end = (
        f"Arlequin {__version__}, {datetime.now(UTC):%d %B %Y}; {machine()}; load averages {begin} at the start, "
        f"{load()} at the end.\n"
    )
    print(end)
    if arguments.page is not None:
        arguments.page.write_text(FRONT + "\n".join([*sections, end]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
