"""What stands around the guide: the workflows that test and publish it, and the licences of what it passes on."""

import re
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


def test_licences_of_what_is_passed_on() -> None:
    """Each licence text is named by the page on licences, and each part that is bundled stands in one."""
    folder = ROOT / "docs/assets/licences"
    page = (ROOT / "docs/about/licences.md").read_text(encoding="utf-8")
    assert {path.name for path in folder.glob("*")} == set(re.findall(r"\.\./assets/licences/([\w.-]+)", page))
    vega = (folder / "vega.txt").read_text(encoding="utf-8")
    for part in ("vega-parser", "vega-view", "vega-interpreter", "vega-dataflow", "d3-scale", "d3-shape", "internmap"):
        assert f"{part} " in vega
