"""What stands around the guide: the workflows that test and publish it, and the licences of what it passes on."""

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_pinned_and_bounded(path: Path) -> None:
    """Actions are pinned by commit with their version beside it, jobs have a time limit, and the default only reads."""
    text = path.read_text(encoding="utf-8")
    for action in re.findall(r"uses: (.*)", text):
        assert re.fullmatch(r"\./\S+|[\w/-]+@[0-9a-f]{40} # v[\d.]+", action), action
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "uses" in job or job["timeout-minutes"] <= 60, name
        assert not job.get("continue-on-error"), name


def test_what_is_published_was_tested() -> None:
    """The job that deploys waits for the tests, and is the only one that may write."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/publish.yml").read_text(encoding="utf-8"))["jobs"]
    assert set(jobs["deploy"]["needs"]) == {"test", "build"}
    writing = [name for name, job in jobs.items() if "write" in job.get("permissions", {}).values()]
    assert writing == ["deploy"]


@pytest.mark.parametrize(("due", "open_issue", "said"), [("", "", None), ("- x", "", "create"), ("- x", "7", "edit 7")])
def test_what_is_due_stands_in_one_issue(tmp_path: Path, due: str, open_issue: str, said: str | None) -> None:
    """Once a month, by hand too: nothing due opens nothing, what is due opens an issue, and the open one is kept."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/stale.yml").read_text(encoding="utf-8"))
    (when,) = workflow[True]["schedule"]  # YAML reads "on" as true
    assert re.fullmatch(r"\d+ \d+ \d+ \* \*", when["cron"]) and "workflow_dispatch" in workflow[True]
    job = workflow["jobs"]["stale"]
    assert job["permissions"]["issues"] == "write"
    listing, step = job["steps"][-2:]
    assert listing["run"].startswith("python3 -m calc.maintenance stale > stale.md")
    (tmp_path / "stale.md").write_text(due, encoding="utf-8")
    gh = tmp_path / "gh"
    gh.write_text(f'#!/bin/sh\n[ "$2" = list ] && echo "{open_issue}" || echo "$@" >> said\n', encoding="utf-8")
    gh.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TITLE": step["env"]["TITLE"]}
    subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=env, check=True)
    done = (tmp_path / "said").read_text(encoding="utf-8") if (tmp_path / "said").exists() else None
    if said is None:
        assert done is None
    else:
        assert done is not None and done.startswith(f"issue {said}") and "--body-file stale.md" in done


def test_licences_of_what_is_passed_on() -> None:
    """Each licence text is named by the page on licences and each part has one, of Vega's each that is bundled."""
    folder = ROOT / "docs/assets/licences"
    page = (ROOT / "docs/about/licences.md").read_text(encoding="utf-8")
    assert {path.name for path in folder.glob("*")} == set(re.findall(r"\.\./assets/licences/([\w.-]+)", page))
    parts = [line.split("|")[1] for line in page.splitlines() if "../assets/licences/" in line]
    for part in ("Pyodide", "CPython", "Vega", "Material for MkDocs", "Icons"):
        assert [named for named in parts if part in named], part
    vega = (folder / "vega.txt").read_text(encoding="utf-8")
    for part in ("vega-parser", "vega-view", "vega-interpreter", "vega-dataflow", "d3-scale", "d3-shape", "internmap"):
        assert f"{part} " in vega
    theme = (folder / "theme-scripts.txt").read_text(encoding="utf-8")
    for part in ("RxJS", "lunr", "clipboard.js", "escape-html", "focus-visible"):
        assert f"\n{part} (" in theme and [named for named in parts if part in named], part


def test_what_holds_each_promise_is_there() -> None:
    """Each test that CONTRIBUTING.md names as a promise's is one, and each promise names one."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## What holds what")[2]
    rows = [line.split("|")[2] for line in section.splitlines() if line.startswith("|")][2:]
    assert rows
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, row
        for path, function in named:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, function
