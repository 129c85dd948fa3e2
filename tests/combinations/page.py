"""The page docs/guide/what-combines.md: what its tables say, and the page of what is found.

`PYTHONPATH=tests python -m combinations.page` writes it anew, from all runs (some minutes).
"""

import re
import warnings
from pathlib import Path

from combinations.systems import FEATURES
from combinations.uses import USES, WAYS, outcome

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "what-combines.md"
HEAD = """# What combines

Each cell is a small study that the tests run: ✓ where its oracle holds, else the number of the sentence that refuses
it. The page is written by `tests/combinations/page.py` and checked by `tests/test_combinations.py`.
"""
TITLES = {
    "run": ("Runs", "The balance of energies closes to 1e-12, and the motion is that of a quarter of the step."),
    "ensemble": ("Ensembles", "Each member moves as it does alone, to 1e-13."),
    "gradient": ("Gradients", "Tangents agree with differences of runs, to 1e-6."),
    "adjoint": ("Gradients by the adjoint", "Adjoints agree with the tangents, to 1e-12."),
    "periodic motion": (
        "Periodic motions",
        "The amplitudes are those of the transient after 30 periods (150 with a memory), to 1e-6.",
    ),
    "levels": (
        "Levels",
        "A switch to an equal model changes nothing, to 1e-9; to 1e-3 where averages of a scheme, or its forces on "
        "normals that turn, begin anew.",
    ),
    "handover": (
        "Starts from a result",
        "A run cut in two is the run, to 1e-9; on normals that turn to 1e-7 (central differences 1e-4), as gaps of "
        "layers begin anew; in a flow by central differences to 1e-4, as the mean velocity of a step does; to 1e-6 "
        "where past accelerations or sub-steps of a scheme do, to 1e-3 where its averages do.",
    ),
    "frequency domain": (
        "Frequency domain",
        "`frequency_response`: all modes give what a factor at each frequency gives, to 1e-9. `random_response`: its "
        "densities are those of the frequency response, to 1e-12, and the rms by modes is that by factors, to 1e-7. "
        "`statistical_linearisation`: the rms under small loads is that of the system linearised at the equilibrium "
        "of the steady loads, to 1e-5. Bodies that touch are closed at the start and stick.",
    ),
}
Outcomes = dict[tuple[str, str, str], str]  # of use, feature and way: "" or why it is refused


def reason(message: str) -> str:
    """A sentence without what names the study's own parts and the scheme, and without its cure."""
    message = re.sub(
        r"^(member 0: )?((scheme|interface|part|spring|flow) (= \w+\(.*?\)|'[\w\[\]-]+'):? )?", "", message
    )
    return message.replace("|", "¦")


def text(found: Outcomes) -> str:
    """The page."""
    reasons: list[str] = []
    lines = [HEAD]
    working = sum(not why for why in found.values())
    lines.append(f"{working} of {len(found)} cells work.\n")
    for use, (title, oracle) in TITLES.items():
        lines += [f"## {title}\n", f"{oracle}\n", f"| | {' | '.join(WAYS[use])} |", "|---" * (len(WAYS[use]) + 1) + "|"]
        for feature in FEATURES:
            cells = []
            for way in WAYS[use]:
                why = found[use, feature, way]
                if why and why not in reasons:
                    reasons.append(why)
                cells.append(str(reasons.index(why) + 1) if why else "✓")
            lines.append(f"| {feature} | {' | '.join(cells)} |")
        lines.append("")
    lines += ["## Why not\n", *(f"{i}. {why}" for i, why in enumerate(reasons, 1))]
    return "\n".join(lines) + "\n"


def read(page: str) -> Outcomes:
    """What the tables of a page say."""
    reasons = dict(re.findall(r"^(\d+)\. (.*)$", page, re.MULTILINE))
    found = {}
    for use, (title, _) in TITLES.items():
        table = page.split(f"## {title}\n")[1].split("\n## ")[0]
        for line in table.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if cells[0] in FEATURES:
                for way, cell in zip(WAYS[use], cells[1:], strict=True):
                    found[use, cells[0], way] = "" if cell == "✓" else reasons[cell]
    return found


def outcomes() -> Outcomes:
    """All cells, run."""
    warnings.simplefilter("ignore")
    return {
        (use, feature, way): reason(outcome(use, feature, way))
        for use in USES
        for feature in FEATURES
        for way in WAYS[use]
    }


if __name__ == "__main__":
    PAGE.write_text(text(outcomes()), encoding="utf-8")
