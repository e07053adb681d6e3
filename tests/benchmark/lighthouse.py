"""What Lighthouse says of pages, on a phone and on a desk: `python -m tests.benchmark.lighthouse --tool PATH [page …]`.

Lighthouse is no part of the guide: `npm install lighthouse` in a folder of your own brings it, and PATH is its
`node_modules/.bin/lighthouse`. Runs of one page differ by ten points: each is asked several times, and the median
counts. The exit status is 1 where one is below 95.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmark.boot import build_site
from tests.benchmark.server import serving
from tests.benchmark.site import Site

PAGES = ("", "calculators/will-it-fit/", "memory/inference/", "reference/accelerators/")
SCREENS: dict[str, list[str]] = {"phone": [], "desk": ["--preset=desktop"]}
KINDS = ("performance", "accessibility", "best-practices", "seo")
LEAST = 95


def scores(tool: str, address: str, screen: str) -> tuple[dict[str, int], list[str]]:
    """Return the score of each kind out of a hundred, and what costs any of them."""
    command = [tool, address, "--output=json", "--quiet", f"--only-categories={','.join(KINDS)}", *SCREENS[screen]]
    flags = "--chrome-flags=--headless=new --no-sandbox --disable-background-networking"
    environment = {"CHROME_PATH": os.environ.get("GUIDE_BROWSER", "/usr/bin/chromium"), **os.environ}
    run = subprocess.run([*command, flags], env=environment, check=True, capture_output=True, text=True)
    found: Any = json.loads(run.stdout)
    kinds = found["categories"]
    audits = {ref["id"] for kind in kinds.values() for ref in kind["auditRefs"] if ref["weight"]}
    costs = [
        f"{name} {audit.get('displayValue', '')}".strip()
        for name, audit in found["audits"].items()
        if name in audits and audit["score"] is not None and audit["score"] < 0.9
    ]
    return {kind: round(100 * kinds[kind]["score"]) for kind in KINDS}, costs


def main() -> int:
    """Build the site, or take one that is built, ask for every page on every screen, and print a line for each."""
    parser = argparse.ArgumentParser(prog="tests.benchmark.lighthouse", description=__doc__)
    parser.add_argument("--tool", default="lighthouse", help="the command of Lighthouse")
    parser.add_argument("--site", type=Path, help="a folder with a built site (default: build it)")
    parser.add_argument("--runs", type=int, default=3, help="times that each is asked (default 3)")
    parser.add_argument("pages", nargs="*", default=PAGES)
    options = parser.parse_args()
    lowest = 100
    with tempfile.TemporaryDirectory() as made:
        folder = options.site or Path(made)
        with serving(Site(folder).find) as server:
            base = f"http://127.0.0.1:{server.server_port}/"
            if not options.site:
                build_site(folder, base)
            for page in options.pages:
                for screen in SCREENS:
                    runs = [scores(options.tool, base + page, screen) for _ in range(options.runs)]
                    found = {kind: round(statistics.median(run[kind] for run, _ in runs)) for kind in KINDS}
                    lowest = min(lowest, *found.values())
                    said = "  ".join(f"{kind} {score}" for kind, score in found.items())
                    costs = sorted({cost for _, run in runs for cost in run})
                    print(f"{page or 'home':32} {screen:6} {said}  {'; '.join(costs)}", flush=True)
    return 0 if lowest >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
