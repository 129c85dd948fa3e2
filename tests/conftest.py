"""Settings of the whole test suite: property tests draw the same examples in every run; the state is the suite's."""

import os
import signal
from collections.abc import Iterator

import hypothesis
import pytest

# their files import one another, as those of a script's folder
collect_ignore = ["bench", "fuzz", "ball_runs.py", "energy_runs.py", "random_contact.py"]

# a shell that starts the suite in the background has it ignore Ctrl-C, which tests send themselves
signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("deterministic", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("deterministic")


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Case files that tests run are not added to those of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
