"""Measures how long a reader waits who opens the first page with an empty profile and asks its first example."""

from playwright.sync_api import Playwright

from tests.benchmark.boot import OPEN_LINE, OURS, arrive, profile
from tests.benchmark.server import Server

ASKED = "Can I run Llama 3.3 70B on my two 3090?"
LIMIT_MS = 2000


def questions(playwright: Playwright, server: Server, base: str, rounds: int) -> list[float]:
    """Return the waits from the question to its answer on screen, each in a profile of its own."""
    server.encoding, server.line = OURS.encoding, OPEN_LINE
    found = []
    for _ in range(rounds):
        with profile(playwright) as context:
            found.append(float(arrive(context, base).evaluate("line => probes.ask(line)", ASKED)))
    return found
