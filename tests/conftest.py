"""Settings of all tests."""

import gc

from hypothesis import HealthCheck, settings

# A test says whether an answer is right, not how fast the machine is: on a fresh clone Hypothesis first makes its table
# of characters, which takes a second. Speed is measured by the benchmark.
settings.register_profile("guide", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("guide")

# These run in the environments of the tools that they ask.
collect_ignore_glob = ["comparison/adapters/*"]


def pytest_collection_finish() -> None:
    """Leave out of Python's search for cycles what lives as long as the tests, and search less often.

    Looking through twenty thousand tests and the catalogue again and again took a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000)
