"""A mistake in a page or in the catalogue stops the build and says where it is."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SETTINGS = """
site_name: Test
strict: true
plugins:
  - macros: { module_name: macros, on_error_fail: true, on_undefined: strict }
markdown_extensions: [macros.formulas, macros.markdown]
"""
BUILDS = """
import json, sys
from pathlib import Path
from click.testing import CliRunner
from mkdocs.__main__ import cli
for words in json.load(sys.stdin):
    Path("docs/index.md").write_text(words)
    done = CliRunner().invoke(cli, ["build"])
    print(json.dumps([done.exit_code, done.output]))
"""
PAGE = "---\ntitle: A page\n---\n\n# A page\n\nSome words.\n\n"
# Mistakes with what is said of them.
WRONG = {
    '{{ number("weights", model="llama-3.1-8c") }}': 'did you mean "llama-3.1-8b"',
    '{{ number("wheights", model="llama-3.1-8b") }}': "is not a number of a report",
    '{{ fact("rtx-4090", "colour") }}': "has no colour",
    '{{ calculator("will-it-fit", contex="8") }}': "is not an input",
    '{{ calculator("kv-cache") }} {{ calculator("kv-cache") }}': "has a calculator 'kv-cache' already",
    "{{ precision_table(1 / 0) }}": "division by zero",
    "{{ llama_table(wrong=1) }}": "unexpected keyword",
    "{{ no_such_macro() }}": "no_such_macro",
    "{{ undefined_name }}": "undefined_name",
}
FORMULA = r"$\begin{x}$"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A site of one page beside its own copy of calc and macros."""
    return made(tmp_path)


def made(tmp_path: Path) -> Path:
    """Make such a site in a folder and return it."""
    for package in ("calc", "macros"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text(SETTINGS)
    (tmp_path / "docs/index.md").write_text(PAGE)
    return tmp_path


def build(project: Path) -> tuple[int, str]:
    """Return the exit status of `mkdocs build` and everything it printed; `--quiet` would not count warnings."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build"], cwd=project, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_a_sound_page_builds(project: Path) -> None:
    """The site that the other tests break is sound, and its number is the catalogue's."""
    (project / "docs/index.md").write_text(PAGE + '{{ number("weights", model="llama-3.1-8b") }} and $n_{kv}$\n')
    status, said = build(project)
    assert status == 0, said
    html = (project / "site/index.html").read_text()
    assert "14.96 GiB" in html
    assert "<msub><mi>n</mi>" in html


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Status and words of a build with each mistake on its page; one after the other in a process, as serving does."""
    calls, folder = [*WRONG, FORMULA], made(tmp_path_factory.mktemp("mistakes"))
    pages = json.dumps([f"{PAGE}{call}\n" for call in calls])
    command = [sys.executable, "-c", BUILDS]
    done = subprocess.run(command, cwd=folder, input=pages, capture_output=True, text=True, check=False)
    return dict(zip(calls, map(tuple, map(json.loads, done.stdout.splitlines())), strict=True))


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_macro_stops_the_build_with_page_and_line(outcomes: dict[str, tuple[int, str]], call: str) -> None:
    """An unknown id, a wrong argument and an error in a macro are found where they stand: here on line 9."""
    status, said = outcomes[call]
    assert status != 0
    assert WRONG[call] in said
    assert "index.md:9" in said


def test_a_wrong_formula_stops_the_build(outcomes: dict[str, tuple[int, str]]) -> None:
    """A formula outside the subset is named."""
    status, said = outcomes[FORMULA]
    assert status != 0
    assert "begin" in said


@pytest.mark.parametrize(
    ("nav", "message"),
    [("[index.md]", "forgotten.md"), ("[index.md, forgotten.md, absent.md]", "absent.md")],
)
def test_pages_and_nav_name_each_other(project: Path, nav: str, message: str) -> None:
    """A page that nobody finds, because it is missing from nav, stops the build, as a name without a page does."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    validation = settings[settings.index("\nvalidation:") :]
    (project / "mkdocs.yml").write_text(f"{SETTINGS}\nnav: {nav}\n{validation}")
    (project / "docs/forgotten.md").write_text(PAGE)
    status, said = build(project)
    assert status != 0
    assert message in said


def test_a_broken_catalogue_stops_the_build(project: Path) -> None:
    """The build names file, entry and field, and writes no page."""
    path = project / "calc/catalog/data/number_formats.toml"
    path.write_text(path.read_text().replace('scope = "all"', 'scope = "every"', 1))
    status, said = build(project)
    assert status != 0
    assert "number_formats.toml: [fp32].scope" in said
    assert not (project / "site/index.html").exists()


def test_an_edited_entry_reaches_the_page(project: Path) -> None:
    """One entry edited and `mkdocs build`: the page's number follows."""
    (project / "docs/index.md").write_text(PAGE + '{{ fact("rtx-4090", "memory_reported") }}\n')
    path = project / "calc/catalog/data/accelerators/nvidia-ada.toml"
    path.write_text(path.read_text().replace("24564", "24321"))
    status, said = build(project)
    assert status == 0, said
    assert "24,321 MiB" in (project / "site/index.html").read_text()


def test_a_wrong_config_names_file_entry_and_field(project: Path) -> None:
    """No page is blamed for what stands in the catalogue, and no page has to use the model."""
    file = project / "calc/catalog/data/models/llama.toml"
    file.write_text(file.read_text().replace('model_type = "llama"', 'model_type = "lama"', 1))
    status, said = build(project)
    assert status == 1
    assert "models/llama.toml: [" in said
    assert "].config.model_type: the family 'lama' is not modelled" in said
    assert "Traceback" not in said


def test_a_kept_page_is_never_an_old_one(project: Path) -> None:
    """A digit that changes in the catalogue changes the page that shows it, and a broken link is said each time."""
    hooks = "from macros.hooks import on_files, on_nav, on_page_content, on_page_markdown, on_post_page, on_startup\n"
    (project / "hooks.py").write_text(hooks)
    sheets = SETTINGS + "extra_css: [a.css]\nhooks: [hooks.py]\n"
    (project / "mkdocs.yml").write_text(sheets)
    (project / "docs/a.css").touch()
    (project / "docs/index.md").write_text(PAGE + '{{ fact("rtx-4090", "power") }}\n')
    (project / "docs/broken.md").write_text(PAGE + "[Nowhere](nowhere.md)\n")
    entries = project / "calc/catalog/data/accelerators/nvidia-ada.toml"
    before, facts = entries.read_text(encoding="utf-8"), 'power = { value = 450, unit = "W"'
    assert facts in before
    for watts in (450, 450, 451):
        entries.write_text(before.replace(facts, facts.replace("450", str(watts))), encoding="utf-8")
        status, said = build(project)
        assert status != 0 and "nowhere.md" in said and "Aborted with 1 warnings" in said, said
        assert f"{watts} W" in (project / "site/index.html").read_text(encoding="utf-8")
    files = (file for file in (project / ".cache/pages").glob("*.json") if "wrong-models" not in file.name)
    kept = [file.read_text(encoding="utf-8") for file in files]
    assert len(kept) == 2 and not any("nowhere" in page for page in kept)
