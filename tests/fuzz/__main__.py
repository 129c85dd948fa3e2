"""Fuzzed calls of the command line, or of Python: counts, and every one that ends in a traceback, a hang or an infinite
result.

    python tests/fuzz [COUNT] [--python] [--seed N] [--limit SECONDS] [--grace SECONDS] [-v]
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from calls import Caller, Outcome
from draws import commands

BAD = {None: "traceback", -1: "infinite", -2: "many lines", -9: "hang"}


def named(found: Outcome) -> str:
    """What a call came to, in words."""
    if not found.good:
        return BAD[found.code]
    if found.code == 1 and any("interrupted" in line for line in found.says):
        return "interrupted"
    refused = found.code == 2 or (found.kind == "call" and not found.says[-1].endswith(": done"))
    return "refused" if refused else ("done", "failed, one line")[found.code or 0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--python", action="store_true", help="calls of the public functions instead of commands")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3.0, help="seconds until Ctrl-C")
    parser.add_argument("--grace", type=float, default=20.0, help="seconds in which it must be heard")
    parser.add_argument("-v", action="store_true", help="say what every call came to")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    begin = time.monotonic()
    if given.python:
        first = 1_000_000 * given.seed
        calls = (("call", ["python_calls", "trial", str(first + i)]) for i in range(given.count))
    else:
        calls = (("command", words) for words in commands(given.seed, given.count))
    with Caller(given.limit, given.grace) as caller:
        for kind, words in calls:
            found = caller(kind, words)
            counts[named(found)] += 1
            if not found.good:
                print(f"--- {' '.join(words)} [{named(found)}, {found.seconds:.1f} s]", *found.says[-20:], sep="\n")
            elif given.v:
                print(f"{found.seconds:.1f} s", *words, found.says)
            sys.stdout.flush()
    print(f"{sum(counts.values())} calls in {time.monotonic() - begin:.0f} s:", dict(counts))
    return 1 if any(name in counts for name in BAD.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
