"""Zensical, the theme's successor, renders the guide from the same files."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from calc.calculators import render_calculator
from macros.security import policy

ROOT = Path(__file__).parent.parent.parent
PAGES = ("calculators/will-it-fit", "memory/inference")


@pytest.fixture(scope="module")
def successor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pages as `guide.py zensical` builds them all; here links to the others lead nowhere."""
    tmp_path = tmp_path_factory.mktemp("successor")
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
    subprocess.run([sys.executable, "-m", "macros.security", "site"], cwd=tmp_path, check=True)
    return tmp_path / "site"


def test_the_successor_renders_the_same_answer(successor: Path) -> None:
    """The calculator's verdict and a formula come out."""
    verdict, formula = ((successor / page / "index.html").read_text(encoding="utf-8") for page in PAGES)
    (wanted,) = re.findall(r'<p class="calc-verdict".*?</p>', render_calculator("will-it-fit"), re.DOTALL)
    assert wanted in verdict
    assert "<msub>" in formula


def test_the_successor_s_pages_carry_the_policy(successor: Path) -> None:
    """Each page has the policy of the published site, one for all, which names the scripts that are written into it."""
    pages = [page.read_text(encoding="utf-8") for page in successor.rglob("*.html") if page.name != "404.html"]
    assert len(pages) == len(PAGES)
    (said,) = {policy(html) for html in pages}
    assert "'sha256-" in said
    assert all(f'<meta http-equiv="Content-Security-Policy" content="{said}">' in html for html in pages)
