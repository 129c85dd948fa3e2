"""Figures of the paper, in paper/figures: `python paper/figures.py` (`make paper` runs it where one is missing).

drift.png     energy drift of `cantilever_overlap` at 1 ms for several mesh ratios, with the published ones
contact.png   contact pressure and gap of `multiscale_bar`, as in the gallery
event.png     tangents through impacts, of docs/answers/contact-gradients.md
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TARGET = HERE / "figures"
NAMES = ("drift.png", "contact.png", "event.png")
RATIOS = (1.0, 0.7, 0.5, 0.3)
DPI = 160


def drift(target: Path) -> None:
    from arlequin.cases.cantilever_overlap import Parameters, build, drift, drift_figure

    drifts = {}
    for ratio in RATIOS:
        result = build(Parameters(ratio=ratio, duration=1e-3)).run(progress=False)
        drifts[ratio] = drift(result)
    drift_figure(drifts, Parameters().overlap, Parameters().pair).savefig(target, dpi=DPI)


def contact(target: Path) -> None:
    import run_case

    with TemporaryDirectory() as folder:
        run_case.main("multiscale_bar", Path(folder), [])
        shutil.copyfile(Path(folder) / "multiscale_bar-contact.png", target)


def event(target: Path) -> None:
    """Changes the working folder, as the code of a page writes into it: drawn last."""
    import run_page

    with TemporaryDirectory() as folder:
        run_page.main(ROOT / "docs" / "answers" / "contact-gradients.md", Path(folder))
        shutil.copyfile(Path(folder) / "event.png", target)


def main() -> None:
    import os

    import matplotlib

    matplotlib.use("Agg")
    sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]
    TARGET.mkdir(exist_ok=True)
    for name, draw in zip(NAMES, (drift, contact, event), strict=True):
        if not (TARGET / name).exists():
            print(f"paper: drawing {name}", flush=True)
            draw(TARGET / name)
            os.chdir(ROOT)


if __name__ == "__main__":
    main()
