"""The cantilever of two overlapping meshes: drift of energy, beside the published ones of Schwarz couplings."""

from typing import Any

import numpy as np
from page import Section

from arlequin.cases import cantilever_overlap as case
from arlequin.cases.reference import schwarz_cantilever as published
from arlequin.cases.shared.waves import drift

SCHEMES: dict[str, Any] = {"I": "implicit", "E": "explicit"}
TEXT = """The beam of `cantilever_overlap`, released from a parabola, over {milliseconds:g} ms with steps of 1 µs:
{ratios} mesh ratios, each with overlaps of 50.8, 25.4 and 12.7 mm; implicit (I) or explicit (E) steps of the clamped
and of the free part. Arlequin: largest change of the energy over all of these runs, all ratios and overlaps.
Published drifts at 1 ms: Norma, impedance overlap Schwarz with variational transfer; its note says that {failed} of
its 108 runs of 10 ms end by inverted elements, after exponential growth of their energy."""


def largest_drift(pair: str, overlap: float, ratio: float, steps: int, duration: float) -> float:
    """Largest relative change of the energy of one run."""
    parameters = case.Parameters(
        overlap=overlap, ratio=ratio, clamped=SCHEMES[pair[0]], free=SCHEMES[pair[1]], steps=steps, duration=duration
    )
    return drift(case.build(parameters).run())


def section(duration: float = 1e-2, ratios: tuple[float, ...] = published.RATIOS) -> Section:
    """Equal steps with each pair; 4 and 10 steps of the free part with two ratios and one overlap."""
    rows = []
    for pair in published.PAIRS:
        drifts = [
            largest_drift(pair, overlap, ratio, 1, duration) for overlap in published.OVERLAPS for ratio in ratios
        ]
        values = 100 * np.array([list(published.drifts(overlap, pair).values()) for overlap in published.OVERLAPS])
        rows.append((pair, "1", f"{max(drifts):.1e}", f"{values.min():+.1f} … {values.max():+.1f} %"))
    for steps in (4, 10):
        for pair in published.PAIRS:
            drifts = [
                largest_drift(pair, published.OVERLAPS[1], ratio, steps, duration) for ratio in (ratios[0], ratios[-1])
            ]
            rows.append((pair, f"{steps}", f"{max(drifts):.1e}", ""))
    headings = ("schemes", "steps of the free part", "Arlequin, change of energy", "published, 1 ms")
    text = TEXT.format(milliseconds=1e3 * duration, ratios=len(ratios), failed=published.FAILED_AT_10_MS)
    return Section("Cantilever of two overlapping meshes", text, headings, rows)
