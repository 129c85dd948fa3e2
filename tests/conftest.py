"""Settings of the whole test suite: property tests draw the same examples in every run; the state is the suite's."""

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import hypothesis
import pytest

# their files import one another, as those of a script's folder
collect_ignore = ["bench", "combinations", "compared", "fuzz", "ball_runs.py", "energy_runs.py", "random_contact.py"]

# a shell that starts the suite in the background has it ignore Ctrl-C, which tests send themselves
signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("deterministic", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("deterministic")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`@pytest.mark.sampled(n)`: n parameter sets of a test, evenly spread, are quick; the others are slow.

    Without compiler one set of each test is quick, none of those with `@pytest.mark.kernels(slow=True)`. What is slow
    for this reason has the mark `unsampled`, too.
    """
    interpreted = os.environ.get("NUMBA_DISABLE_JIT") == "1"
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not item.get_closest_marker("slow"):
            families.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for family in families.values():
        sampled, kernels = (family[0].get_closest_marker(name) for name in ("sampled", "kernels"))
        count = sampled.args[0] if sampled else len(family)
        if interpreted:
            count = 0 if kernels and kernels.kwargs.get("slow") else 1
        quick = {(2 * i + 1) * len(family) // (2 * count) for i in range(count)}
        for place, item in enumerate(family):
            if place not in quick:
                item.add_marker(pytest.mark.slow)
                item.add_marker(pytest.mark.unsampled)


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Case files that tests run are not added to those of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def blocks_of() -> Callable[..., AbstractContextManager[None]]:
    """`with blocks_of(*sizes):` runs take so many steps at a time, over and over, instead of what the clock allows."""

    @contextmanager
    def set_sizes(*sizes: int) -> Iterator[None]:
        from arlequin.run import run

        given = itertools.cycle(sizes)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run, "_UPDATE_STEPS", sizes[0])
            patch.setattr(run, "_next_batch_size", lambda *_: next(given))
            yield

    return set_sizes


@pytest.fixture
def side_advances(monkeypatch):
    """A list that grows by an entry with every large step of a side of `Multirate`."""
    from arlequin.schemes.multirate_steps import Side

    counted, right = [], Side.advance

    def advance(self, *arguments):
        counted.append(1)
        return right(self, *arguments)

    monkeypatch.setattr(Side, "advance", advance)
    return counted
