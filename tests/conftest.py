"""Settings of the whole test suite: property tests draw the same examples in every run."""

import hypothesis

hypothesis.settings.register_profile("deterministic", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("deterministic")
