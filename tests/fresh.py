"""What the tests of a mutant have beside those of the code: no answer of another test is kept, and all runs are alike.

mutmut tries each mutant in a copy of a process that has run every test. What that process keeps of functions that ran
there would hide the mutant, and a test that meets kept answers would not be known to reach what they were made by.
"""

import sys

import pytest
from hypothesis import settings

KEEP = "calc.catalog"  # no part of it depends on what is mutated, and reading it takes a second


def pytest_configure() -> None:
    """Try the same few examples of each property for each mutant."""
    settings.register_profile("mutants", settings(), max_examples=20, derandomize=True, database=None)
    settings.load_profile("mutants")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget what functions of `calc` keep."""
    for name, module in list(sys.modules.items()):
        if name.startswith("calc.") and not name.startswith(KEEP):
            for kept in vars(module).values():
                if callable(getattr(kept, "cache_clear", None)):
                    kept.cache_clear()
