"""Settings of the whole test suite: property tests draw the same examples in every run."""

import hypothesis

collect_ignore = ["bench"]  # its files import one another, as those of a script's folder

hypothesis.settings.register_profile("deterministic", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("deterministic")
