"""The script that sets everything up: what it decides before it runs anything."""

import importlib.util
import json
import re
import socket
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def guide() -> ModuleType:
    """The script as a module."""
    specification = importlib.util.spec_from_file_location("guide", ROOT / "guide.py")
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_all_is_checked_by_one_command(guide: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Style, types, the page's scripts and the tests, of which the examples in docstrings are some."""
    commands = []
    monkeypatch.setattr(guide, "run", lambda *command: commands.append(" ".join(map(str, command))))
    guide.test("tests/catalog")
    wanted = ("ruff check .", "ruff format --check .", "mypy --strict", "tsc --project tsconfig.json", "tests/catalog")
    assert [end for command, end in zip(commands, wanted, strict=True) if not command.endswith(end)] == []
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert "calc" in options["testpaths"] and "--doctest-modules" in options["addopts"]


def test_every_script_of_the_page_is_checked() -> None:
    """The check of scripts reads each of the page's own, wherever a new one lies; Pyodide's and Vega's are npm's."""
    checked = [ROOT / place for place in json.loads((ROOT / "tsconfig.json").read_text(encoding="utf-8"))["include"]]
    scripts = [path for folder in ("docs", "macros") for path in (ROOT / folder).rglob("*.*js")]
    own = [path for path in scripts if not {"runtime", "vega"} & set(path.parts)]
    assert len(own) > 20
    assert [path for path in own if not any(path.is_relative_to(place) for place in checked)] == []


def test_tests_run_without_a_browser(
    guide: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is none, what needs none runs, and it is said what did not; where there is one, tests are told."""
    asked: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(guide, "run", lambda *command, **told: asked.append((" ".join(map(str, command)), told)))
    monkeypatch.setattr(guide, "browser", lambda: None)
    guide.test()
    assert "pytest -m not browser" in asked[-1][0] and not asked[-1][1]
    assert "the tests that need one did not run" in capsys.readouterr().err
    with monkeypatch.context() as context:
        context.setattr(guide, "run", lambda *command, **_: sys.exit(5) if "pytest" in command else None)
        with pytest.raises(SystemExit):  # pytest fails where it is left no test
            guide.test("tests/browser/test_look.py")
    assert "the tests that need one did not run" in capsys.readouterr().err
    monkeypatch.setattr(guide, "browser", lambda: "/a/chromium")
    guide.test()
    assert "not browser" not in asked[-1][0] and asked[-1][1] == {"GUIDE_BROWSER": "/a/chromium"}
    assert capsys.readouterr().err == ""


def test_what_the_successor_builds_is_given_the_policy(guide: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no hooks: its pages get the policy after the build, in the folder that it wrote."""
    asked: list[str] = []
    monkeypatch.setattr(guide, "run", lambda *command, **_: asked.append(" ".join(map(str, command))))
    guide.zensical()
    built, secured = asked
    assert built.endswith("zensical build --strict") and secured.endswith("-m macros.security site")


def test_what_only_root_can_install_is_said_before() -> None:
    """The README names each package of the system that the script would install."""
    script, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("guide.py", "README.md"))
    asked = re.findall(r'apt_get\(f?"([^"]+)"\)', script)
    assert len(asked) == 2
    for package in asked:
        assert re.sub(r"\{[^}]*\}(\.\{[^}]*\})?", "3", package) in readme.lower(), package


def test_a_taken_port_is_said_before_building(guide: ModuleType) -> None:
    """`guide.py serve` looks first, and names another port."""
    assert guide.dev_address(["--strict", "-a", "0.0.0.0:9"]) == ("0.0.0.0:9", ["--strict"])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SystemExit, match="cannot serve at"):
            guide.check_free(address)
    guide.check_free(address)


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "-k cache",
        "-k calc",
        "-x -k tests -m browser",
        "--ignore tests/catalog",
        "tests",
        "tests/browser",
        "tests/browser/test_unit.py",
        "tests/browser/test_unit.py::test_one_press_says_all_sizes_in_a_unit",
        "tests/catalog tests/browser",
    ],
)
def test_what_opens_pages_gets_a_browser(guide: ModuleType, arguments: str) -> None:
    """All tests, a folder that holds those of pages, and any of these alone, however they are named.

    The word of an option is no folder, also where there is one of that name.
    """
    assert guide.selects_browser_tests(arguments.split())


@pytest.mark.parametrize(
    "arguments",
    [
        "tests/catalog",
        "tests/memory -k cache",
        "-k browser tests/memory",
        "-x tests/test_units.py",
        "tests/test_units.py::test_a",
    ],
)
def test_a_part_without_pages_starts_no_browser(guide: ModuleType, arguments: str) -> None:
    """Nobody waits for a browser, or is asked to install one, for tests that open no page."""
    assert not guide.selects_browser_tests(arguments.split())
