"""Small faults put into the code, to see which of them a test notices: `guide.py mutate [PART ...] [--sample N]`.

mutmut says which faults there are. The tests run once, to learn which of them reach which line; then each fault is put
into its function in a process of its own, which runs those tests until one notices: those named after the module
first, and then the quickest. (mutmut runs tests by itself too, and asks on each call of a function which fault is on:
that takes hours here.) The accuracy rows are not among the tests: a later fit would absorb what they notice.
"""

import argparse
import difflib
import gc
import inspect
import os
import random
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import coverage
import pytest
from _pytest.runner import runtestprotocol
from mutmut.mutation.file_mutation import mutate_file_contents

from calc.networks import FAMILIES

ROOT = Path(__file__).parent.parent
SEED = 1
PARTS = [Path("calc", part) for part in ("memory", "performance", "planning", "calculators/html.py")]
# Further tests of a part, by the folder of calc that it lies in: those of the rooms that call it.
REACHED_FROM = {
    "calc/memory": ["tests/test_working.py", "tests/planning", "tests/training", "tests/service"],
    "calc/performance": ["tests/test_working.py", "tests/planning", "tests/training/test_step.py", "tests/service"],
    "calc/planning": [
        "tests/test_working.py",
        "tests/performance/test_load.py",
        "tests/performance/test_steady_state.py",
        "tests/performance/test_queue.py",
        "tests/performance/test_pools.py",
        "tests/performance/test_cold_start.py",
        "tests/service",
        "tests/training",
        "tests/calculators/test_cost.py",
        "tests/calculators/test_arriving.py",
        "tests/planner",
    ],
}
# What changes nothing, so that no test can notice it: lists of the same length are zipped strictly or not, and the last
# part of a name is the same however often it is cut.
NOTHING = (
    (re.compile(r",\s*(?:strict=\w+)?\s*\)"), ")"),
    (re.compile(r"rsplit\((\"[^\"]*\"),?\s*\d*\)\[-1\]"), r"rsplit(\1)[-1]"),
)
EXAMPLES = 20  # of each property, the same for each mutant
KEEP = ("calc.catalog", "tests.catalog")  # what it keeps depends on nothing that is mutated, and takes seconds to read
PATIENCE, LEAST_S = 10, 20  # a mutant with which a test takes so many times as long, and so many seconds, has hung


class Mutant(NamedTuple):
    """A fault in a function: the function that is there, and the one with the fault."""

    part: Path  # of calc
    name: str
    function: FunctionType
    faulty: FunctionType
    difference: str
    lines: range  # of the function's body

    def put_in(self) -> None:
        """Put the fault into the function itself, so that all who hold it call it."""
        self.function.__code__ = self.faulty.__code__
        self.function.__defaults__, self.function.__kwdefaults__ = self.faulty.__defaults__, self.faulty.__kwdefaults__


def mutants_of(part: Path) -> Iterator[Mutant]:
    """Iterate over the faults that mutmut makes in a file or folder of `calc`."""
    place = ROOT / part
    for file in [place] if place.suffix else sorted(place.rglob("*.py")):
        yield from mutants_in(file, part)


def mutants_in(file: Path, part: Path) -> Iterator[Mutant]:
    """Iterate over the faults that mutmut makes in a file of a part."""
    name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    module = __import__(name, fromlist=["x"])
    made = mutate_file_contents(str(file), file.read_text(encoding="utf-8"))
    space: dict[str, Any] = {"__name__": name}
    families = dict(FAMILIES)
    exec(compile(made.code, str(file), "exec"), space)
    FAMILIES.update(families)  # what reads a family stays the module's own function, into which faults are put
    source, spans = made.code.splitlines(), made.line_span_by_function_name

    def lines_of(function: str) -> list[str]:
        span = spans[function]
        return source[span.start - 1 : span.end]

    for functions in [value for key, value in space.items() if key.startswith("mutants_x")]:
        for key, faulty in functions.items():
            if key == "_mutmut_orig":
                continue
            mangled = key.rpartition("__mutmut_")[0]
            path = mangled.split("ǁ")[1:] if "ǁ" in mangled else [mangled.removeprefix("x_")]
            function: Any = module
            for within in path:
                function = inspect.getattr_static(function, within)
            difference = difflib.unified_diff(lines_of(f"{mangled}__mutmut_orig"), lines_of(key), lineterm="", n=0)
            shown = [
                line for line in difference if not line.startswith(("---", "+++", "@@")) and "__mutmut_" not in line
            ]
            if isinstance(function, FunctionType) and not changes_nothing("\n".join(shown)):
                body, first = inspect.getsourcelines(function)
                lines = range(first + 1, first + len(body))
                yield Mutant(part, f"{name}.{key}", function, faulty, "\n".join(shown), lines)


def changes_nothing(difference: str) -> bool:
    r"""Return whether two texts of a function do the same by `NOTHING`.

    >>> changes_nothing("-zip(a, b, strict=True)\n+zip(a, b, )"), changes_nothing("-zip(a, b)\n+zip(a, c)")
    (True, False)
    """
    sides = []
    for sign in "-+":
        side = " ".join(line[1:] for line in difference.splitlines() if line.startswith(sign))
        for pattern, plain in NOTHING:
            side = pattern.sub(plain, side)
        sides.append(side)
    return bool(difference) and sides[0] == sides[1]


def tests_of(path: Path) -> list[str]:
    """Return the tests of a part of `calc`: the examples in it, what mirrors it, and what else reaches its folder."""
    within = path.relative_to("calc")
    beside = [Path("tests", *within.parts[:-1], f"test_{within.name}")]
    beside += [Path("tests", *within.parts[:depth]) for depth in range(len(within.parts), 0, -1)]
    mirror = next(place for place in beside if (ROOT / place).exists())
    return [path.as_posix(), mirror.as_posix(), *REACHED_FROM.get(Path("calc", *within.parts[:1]).as_posix(), [])]


def forget() -> None:
    """Forget what functions and tests keep: an answer from before would hide a fault, and who reaches what."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("calc.", "tests.")) and not name.startswith(KEEP):
            for kept in vars(module).values():
                if callable(getattr(kept, "cache_clear", None)):
                    kept.cache_clear()


class Trial:
    """What pytest does instead of running the tests: learns what they reach, and tries the mutants."""

    def __init__(self, mutants: list[Mutant]) -> None:
        self.mutants = mutants
        self.unnoticed: list[tuple[Mutant, int]] = []  # with how many tests ran
        self.problem = ""

    def pytest_configure(self) -> None:
        """Try few examples of each property, after the tests' own settings are read."""
        from hypothesis import settings  # pytest has to be the first to import it

        settings.register_profile("mutants", settings(), max_examples=EXAMPLES, derandomize=True, database=None)
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests once, then for each mutant those that reach it."""
        reached, seconds = self.learn(session.items)
        print(
            f"{len(session.items)} tests take {sum(seconds.values()):.0f} s; trying {len(self.mutants)} mutants",
            flush=True,
        )
        gc.freeze()  # copies of this process share what is there
        forget()
        for number, mutant in enumerate(self.mutants if not self.problem else (), 1):
            file = Path(inspect.getfile(mutant.function))
            tests = set().union(*(reached.get((str(file), line), ()) for line in mutant.lines))
            near = tuple(tests_of(mutant.part))

            def order(item: pytest.Item, stem: str = file.stem) -> tuple[bool, float]:
                return item.path.stem.removeprefix("test_") != stem, seconds[item.nodeid]

            chosen = sorted((i for i in session.items if i.nodeid in tests and i.nodeid.startswith(near)), key=order)
            if not notices(mutant, {item: seconds[item.nodeid] for item in chosen}):
                self.unnoticed.append((mutant, len(chosen)))
                print(f"\n{mutant.name}: survived {len(chosen)} tests\n{mutant.difference}", flush=True)
            if not number % 20:
                print(f"{number} tried, {number - len(self.unnoticed)} noticed", flush=True)
        return True

    def learn(self, items: list[pytest.Item]) -> tuple[dict[tuple[str, int], set[str]], dict[str, float]]:
        """Return the tests that reach each line of a file, and the seconds that they take."""
        files = sorted({inspect.getfile(mutant.function) for mutant in self.mutants})
        watch = coverage.Coverage(data_file=None, include=files, config_file=False)
        watch.start()
        seconds = {}
        for item in items:
            watch.switch_context(item.nodeid)
            start = time.perf_counter()
            forget()
            if not passes(item):
                self.problem = f"{item.nodeid} fails without any fault"
            seconds[item.nodeid] = time.perf_counter() - start
        watch.stop()
        reached: dict[tuple[str, int], set[str]] = {}
        data = watch.get_data()
        for file in data.measured_files():
            for line, tests in data.contexts_by_lineno(file).items():
                reached[file, line] = set(tests)
        return reached, seconds


def notices(mutant: Mutant, seconds: Mapping[pytest.Item, float]) -> bool:
    """Return whether a test fails, or hangs, in a copy of this process that has the fault; `seconds` are of each."""
    child = os.fork()
    if not child:
        status = 0
        try:
            mutant.put_in()
            for item, usual in seconds.items():
                signal.alarm(int(LEAST_S + PATIENCE * usual))  # ends the copy
                if not passes(item):
                    status = 1
                    break
        except BaseException:
            status = 1
        os._exit(status)
    return os.waitpid(child, 0)[1] != 0


def passes(item: pytest.Item) -> bool:
    """Run a test and return whether it passes."""
    return not any(report.failed for report in runtestprotocol(item, log=False))


def main() -> None:
    """Make the mutants, try a sample of them, and name those that no test noticed."""
    parser = argparse.ArgumentParser(prog="guide.py mutate", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", type=Path, default=PARTS, help=f"parts of calc ({' '.join(map(str, PARTS))})"
    )
    parser.add_argument("--sample", type=int, default=300, help="mutants to try of each part (default 300)")
    parser.add_argument("--seed", type=int, default=SEED, help="which sample (default 1)")
    parser.add_argument("--only", nargs="+", help="names of mutants to try again")
    options = parser.parse_args()
    chosen, made = [], {}
    for part in options.parts:
        every = [mutant for mutant in mutants_of(part) if not options.only or mutant.name in options.only]
        chosen += random.Random(options.seed).sample(every, min(options.sample, len(every)))
        made[part] = len(every)
    trial = Trial(chosen)
    tests = list(dict.fromkeys(test for part in options.parts for test in tests_of(part)))
    quiet = ["-q", "-s", "-p", "no:cacheprovider", "-m", "not browser and not slow"]
    broken = pytest.main([*quiet, *tests], plugins=[trial])
    if broken or trial.problem:
        sys.exit(f"guide.py mutate: {trial.problem or 'the tests did not run'}")
    for part, count in made.items():
        tried = sum(mutant.part == part for mutant in chosen)
        noticed = tried - sum(mutant.part == part for mutant, _ in trial.unnoticed)
        print(f"{noticed} of {tried} mutants of {part} were noticed, of {count} that can be made")


if __name__ == "__main__":
    main()
