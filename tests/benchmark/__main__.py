"""The benchmark: `python3 guide.py bench [--rounds N] [--keys N]`; it writes docs/assets/benchmark.json."""

import argparse
import json
import os
import platform
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.benchmark import boot, building, desk, question, reading
from tests.benchmark.report import boot_table, goal_table, machine_table
from tests.benchmark.server import serving
from tests.benchmark.site import ROOT, Site, add_recipe

RESULT = ROOT / "docs/assets/benchmark.json"


def machine(browser: str) -> dict[str, Any]:
    """Return what the figures depend on."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "Processor": f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores",
        "Load when it began": f"{os.getloadavg()[0]:.1f}",
        "System": f"{platform.system()} {platform.machine()}",
        "Browser": f"{browser}, headless",
        "Pyodide": json.loads((ROOT / "node_modules/pyodide/package.json").read_text(encoding="utf-8"))["version"],
        "Playwright": version("playwright"),
        "Date": datetime.now(UTC).date().isoformat(),
    }


def measure(rounds: int, keys: int) -> dict[str, Any]:
    """Build the site, serve it, and take every figure in one run."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = Site(Path(folder))
        with serving(site.find) as server:
            base = f"http://127.0.0.1:{server.server_port}/"
            boot.build_site(Path(folder), base)
            add_recipe(Path(folder))
            site.prepare()
            return {
                "machine": machine(boot.browser_version(playwright)),
                "boot": boot.boots(playwright, server, base, rounds),
                "question_ms": question.questions(playwright, server, base, rounds),
                "next_page_ms": boot.next_pages(playwright, server, base, rounds),
                "keystrokes": boot.keystrokes(playwright, server, base, keys),
                "reading": reading.measure(playwright),
            }


def main() -> None:
    """Measure, write the result and print its tables."""
    parser = argparse.ArgumentParser(prog="guide.py bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of all set-ups (default 5)")
    parser.add_argument("--keys", type=int, default=100, help="keystrokes (default 100)")
    parser.add_argument("--output", type=Path, default=RESULT, help="where the result goes")
    parser.add_argument("--building", action="store_true", help="take the build alone, and keep the other figures")
    options = parser.parse_args()
    figures = json.loads(RESULT.read_text(encoding="utf-8")) if options.building else {}
    tables = figures.pop("tables", {})
    figures["building"] = building.measure()
    if not options.building:
        figures |= {"desk": desk.measure(), **measure(options.rounds, options.keys)}
        tables = {
            "boot": boot_table(figures),
            "goals": goal_table(figures),
            "desk": desk.table(figures["desk"]),
            "reading": reading.table(figures["reading"]),
            "machine": machine_table(figures),
        }
    tables["building"] = building.table(figures["building"])
    options.output.write_text(
        json.dumps({"tables": tables, **figures}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    for table in tables.values():
        print(
            "", table["caption"], " | ".join(table["headings"]), *(" | ".join(row) for row in table["rows"]), sep="\n"
        )


if __name__ == "__main__":
    main()
