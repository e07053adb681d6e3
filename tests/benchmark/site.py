"""What the benchmark's server has: the built site, and beside it the usual recipe on the same page."""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from calc.catalog.carried import carried
from calc.catalog.checking.checked import checked_tables
from macros.runtime import BEST, CATALOG

ROOT = Path(__file__).parent.parent.parent
CACHE = ROOT / ".cache" / "benchmark"
PAGE = "calculators/will-it-fit/"
BENCH = "calculators/"  # the recipe's pages stand beside the real one, so that its relative addresses hold
SCRIPT = '<script src="../../assets/calculator/calculator.mjs" type="module" fetchpriority="low"></script>'
PACKED = (".gzip", ".brotli", ".woff2", ".png")


class Site:
    """The files of one run, compressed once and kept by their content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: dict[tuple[str, str], tuple[bytes, str] | None] = {}

    def find(self, path: str, encoding: str) -> tuple[bytes, str] | None:
        """Return what to send for an address and its encoding, or None where there is nothing."""
        key = (path, encoding)
        if key not in self._kept:
            self._kept[key] = self._read(path, encoding)
        return self._kept[key]

    def prepare(self) -> None:
        """Read and compress every file, so that no visit waits for it."""
        for file in self.folder.rglob("*"):
            if file.is_file():
                for encoding in ("br", "gzip"):
                    self.find("/" + file.relative_to(self.folder).as_posix(), encoding)

    def _read(self, path: str, encoding: str) -> tuple[bytes, str] | None:
        file = self.folder / path.lstrip("/")
        file = file / "index.html" if file.is_dir() else file
        if not file.is_file() or self.folder not in file.resolve().parents:
            return None
        if not encoding or file.suffix in PACKED:
            return file.read_bytes(), ""
        return compressed(file, encoding), encoding


def compressed(file: Path, encoding: str) -> bytes:
    """Return a file's bytes, compressed as well as gzip or brotli can; the work is kept in .cache."""
    kept = CACHE / hashlib.sha256(file.read_bytes()).hexdigest()
    packed = kept.with_name(kept.name + {"br": ".brotli", "gzip": ".gzip"}[encoding])
    if not packed.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, kept)
        subprocess.run(["node", ROOT / "macros/runtime/runtime.mjs", "compress", str(BEST), kept], check=True)
        kept.unlink()
    return packed.read_bytes()


def add_recipe(folder: Path) -> None:
    """Add the usual recipe's pages, its scripts, Pyodide as npm has it, and the wheel of `calc` to a built site."""
    place = folder / BENCH
    wheel = make_wheel(place)
    html = (folder / PAGE / "index.html").read_text(encoding="utf-8")
    if SCRIPT not in html:
        raise RuntimeError("the page does not load its calculator as the benchmark expects")
    for name, query in (("usual", f"?wheel={wheel.name}"), ("floor", "")):
        page = place / name / "index.html"
        page.parent.mkdir()
        page.write_text(
            html.replace(SCRIPT, f'<script src="../recipe.mjs{query}" type="module"></script>'), encoding="utf-8"
        )
    for name in ("recipe.mjs", "recipe_worker.mjs"):
        shutil.copyfile(Path(__file__).with_name(name), place / name)
    shutil.copytree(ROOT / "node_modules/pyodide", place / "pyodide")


def make_wheel(folder: Path) -> Path:
    """Build the wheel of `calc`, with the catalogue packed: neither TOML nor measurements are charged."""
    code = "import sys, flit_core.buildapi as b; b.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(folder)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as built:
        members = {name: built.read(name) for name in built.namelist() if "/measurements/" not in name}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(CATALOG, carried(checked_tables()))
    return wheel
