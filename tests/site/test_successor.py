"""Zensical, the theme's successor, renders the guide from the same files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = ("calculators/will-it-fit", "memory/inference")


@pytest.mark.xfail(
    reason="informational: MkDocs builds the published site, Zensical may change until it does", strict=False
)
def test_zensical_renders_the_same_answer(tmp_path: Path) -> None:
    """The calculator's verdict and a formula come out; if they stop to, this says so without failing the run.

    Two pages are enough here, so links to the others lead nowhere; `guide.py zensical` builds them all.
    """
    for folder in ("calc", "macros", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "runtime"))
    for page in (tmp_path / "docs").rglob("*.md"):
        if page.relative_to(tmp_path / "docs").with_suffix("").as_posix() not in PAGES:
            page.unlink()
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text(settings.replace("strict: true", "strict: false"), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("zensical")), "build"]
    subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)}, check=True, capture_output=True
    )
    verdict, formula = ((tmp_path / "site" / page / "index.html").read_text(encoding="utf-8") for page in PAGES)
    assert "16.15 GiB of 23.99 GiB" in verdict
    assert "<msub>" in formula
