"""Run in a tool's own environment: reads cases from standard input, writes the tool's answers, each in bytes.

An answer is a number, or a text that says why there is none. Adapters give `answer(case)` and the packages' names.
"""

import contextlib
import io
import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

FEW = 100  # characters of an error


class NoAnswerError(Exception):
    """The tool does not answer a question of this kind."""


def serve(package: str, answer: Callable[[dict[str, Any]], float]) -> None:
    """Answer all cases on standard input."""
    cases = json.load(sys.stdin)
    found: dict[str, float | str] = {}
    for case in cases:
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                found[case["id"]] = float(answer(case))
        except NoAnswerError as none:
            found[case["id"]] = str(none)
        except (Exception, SystemExit) as error:
            found[case["id"]] = f"{type(error).__name__}: {error}"[:FEW]
    print()
    print(json.dumps({"version": version(package), "answers": found}))
