"""What a second worker does for a sweep."""

import time

import numpy as np

from arlequin import cases


def sweep(points: int = 200, cells: int = 400) -> dict[str, float]:
    """The impact of two bars at `points` speeds by one worker and by two: start of the workers included."""
    over = {"velocity": np.linspace(1.0, 10.0, points)}
    seconds = {}
    for workers in (1, 2):
        begin = time.perf_counter()
        found = cases.sweep("two_bars", over, workers=workers, elements=cells)
        seconds[workers] = time.perf_counter() - begin
        assert (found["message"] == "").all()
    return {
        "points": points,
        "one worker (s)": seconds[1],
        "two workers (s)": seconds[2],
        "a point (s)": float(found["seconds"].mean()),
        "one worker / two workers": seconds[1] / seconds[2],
    }
