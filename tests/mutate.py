"""Small faults put into the code, to see which of them a test notices: `python3 guide.py mutate [PATH] [--sample N]`.

mutmut makes the faults in a copy of the project, and runs for each the tests that mirror PATH and reach it.
The accuracy rows are not among them: a later fit would absorb what they notice.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
COPY = ROOT / ".cache/mutation"
SEED = 1
KILLED, TIMED_OUT = (1, 3), (24, 36, 152, -24, -9)  # exit statuses of a run of tests, as mutmut keeps them
SETTINGS = """
[tool.mutmut]
source_paths = ["calc"]
only_mutate = ["{pattern}"]
also_copy = ["calc", "macros", "tests", "docs", "mkdocs.yml"]
pytest_add_cli_args = ["-p", "no:cacheprovider", "--import-mode=importlib", "-m", "not browser and not slow"]
pytest_add_cli_args_test_selection = ["{tests}"]

[tool.pytest.ini_options]
markers = ["browser: needs a browser", "slow: takes more than a few seconds"]
"""
SMALL = shutil.ignore_patterns("__pycache__", "runtime", "vega", "*.woff2")


def tests_of(path: Path) -> Path:
    """Return the file or folder of tests that mirrors a path of `calc`."""
    within = path.relative_to("calc")
    beside = [Path("tests", *within.parts[:-1], f"test_{within.name}")]
    beside += [Path("tests", *within.parts[:depth]) for depth in range(len(within.parts), 0, -1)]
    return next(place for place in beside if (ROOT / place).exists())


def prepare(path: Path, tests: Path) -> None:
    """Copy what the tests need, and say there what is mutated."""
    shutil.rmtree(COPY, ignore_errors=True)
    for folder in ("calc", "macros", "tests", "docs"):
        shutil.copytree(ROOT / folder, COPY / folder, ignore=SMALL)
    shutil.copy(ROOT / "mkdocs.yml", COPY)
    pattern = path.as_posix() + ("" if path.suffix else "/**/*.py")
    (COPY / "pyproject.toml").write_text(SETTINGS.format(pattern=pattern, tests=tests), encoding="utf-8")


def mutmut(*arguments: str) -> str:
    """Run mutmut in the copy, on one core, and return what it printed."""
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(command, cwd=COPY, capture_output=True, encoding="utf-8", errors="replace", check=False)
    return done.stdout + done.stderr


def outcomes() -> dict[str, int | None]:
    """Return the exit status of each mutant's tests, None where none ran."""
    found: dict[str, int | None] = {}
    for meta in sorted((COPY / "mutants").rglob("*.meta")):
        found |= json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
    return found


def main() -> None:
    """Make the mutants, try a sample of them, and name those that no test noticed."""
    parser = argparse.ArgumentParser(prog="guide.py mutate", description=__doc__)
    parser.add_argument("path", nargs="?", type=Path, default=Path("calc/memory"))
    parser.add_argument("--sample", type=int, default=300, help="mutants to try (default 300)")
    parser.add_argument("--tests", type=Path, help="tests to run (default: those that mirror the path)")
    options = parser.parse_args()
    tests = options.tests or tests_of(options.path)
    prepare(options.path, tests)
    made = mutmut("run", "--max-children", "1", "none")  # makes them, and learns which tests reach what
    names = sorted(outcomes())
    if not names:
        sys.exit(made[-2000:])
    chosen = random.Random(SEED).sample(names, min(options.sample, len(names)))
    mutmut("run", "--max-children", "1", *chosen)
    tried = {name: status for name, status in outcomes().items() if name in set(chosen)}
    noticed = [name for name, status in tried.items() if status in KILLED + TIMED_OUT]
    for name in sorted(set(tried) - set(noticed)):
        print(f"\n{name}: survived with status {tried[name]}\n{mutmut('show', name)}")
    print(f"{len(noticed)} of {len(tried)} mutants of {options.path} were noticed by {tests}; {len(names)} can be made")


if __name__ == "__main__":
    main()
