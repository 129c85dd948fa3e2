"""The entries of the benchmark: name, and the module and function that give its figures.

A module lies in this folder or beside it; its function takes nothing and returns a dictionary of figures, or of such
dictionaries. Another entry is another line here.
"""

import importlib
from collections.abc import Callable

ENTRIES = {
    "factor": "bench_factor:factors",
    "block": "bench_block:block_impact",
    "condensed": "bench_step:condensed_step",
    "sizes": "bench_sizes:sizes",
    "every-size": "bench_sizes:every_size",
    "glued": "bench_glued:glued",
    "ensemble": "bench_ensemble:ensemble",
    "sweep": "bench_sweep:sweep",
    "explicit": "bench_explicit:explicit",
    "explicit-glued": "bench_explicit:explicit_glued",
    "small": "bench_small:small_systems",
    "search": "bench_search:contact_search",
    "points": "bench_points:contact_points",
    "overlap": "bench_search:overlaps",
    "setup": "bench_setup:setups",
    "memory": "bench_memory:memory",
    "growth": "bench_growth:growth",
    "ranks": "bench_ranks:spread",
}


def function(name: str) -> Callable[[], dict[str, object]]:
    """What runs an entry."""
    module, _, attribute = ENTRIES[name].partition(":")
    found: Callable[[], dict[str, object]] = getattr(importlib.import_module(module), attribute)
    return found
