"""How long the guide takes to build, beside the same pages as plain Markdown, and how soon a save is in the page."""

import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmark.site import ROOT

LEFT = shutil.ignore_patterns(".git", ".venv", "node_modules", ".cache", "site", "__pycache__", "tests")
OURS = re.compile(
    r"^  - macros:\n(?:      .*\n)+|^hooks:\n(?:  .*\n)+|^  - macros\..*\n|^strict:.*\n|^watch:\n(?:  .*\n)+",
    re.MULTILINE,
)
PAGE, ENTRY = "docs/memory/kv-cache.md", "calc/catalog/data/accelerators/nvidia-ada.toml"
WAIT_S = 300
# As people have it: what was compiled once is kept.
SETTINGS = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def measure(rounds: int = 3) -> dict[str, Any]:
    """Return the seconds of each way to build, and those from a save to the page that shows it."""
    # Of a server that was stopped, a process that builds may still write a file.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        guide, plain = Path(folder, "guide"), Path(folder, "plain")
        shutil.copytree(ROOT, guide, ignore=LEFT)
        (guide / "node_modules").symlink_to(ROOT / "node_modules")
        shutil.copytree(ROOT / ".cache", guide / ".cache", ignore=shutil.ignore_patterns("pages"), symlinks=True)
        shutil.copytree(guide, plain, symlinks=True, ignore=shutil.ignore_patterns(".cache"))
        for page in (plain / "docs").rglob("*.md"):
            page.write_text(re.sub(r"\{\{.*?\}\}", "made", page.read_text("utf-8"), flags=re.DOTALL), "utf-8")
        settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
        (plain / "mkdocs.yml").write_text(OURS.sub("", settings), encoding="utf-8")  # the same theme, nothing of ours
        first = build(guide)
        pairs = [(build(plain), build(guide)) for _ in range(rounds)]
        saves = serve(guide)
    return {
        "plain_s": statistics.median(one for one, _ in pairs),
        "again_s": statistics.median(other for _, other in pairs),
        "first_s": first,
        **saves,
    }


def build(project: Path) -> float:
    """Return the seconds of one `mkdocs build`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet"], cwd=project, env=SETTINGS, check=True)
    return time.perf_counter() - start


def serve(project: Path) -> dict[str, float]:
    """Return the seconds from saving a page, and an entry, to the server that shows it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "mkdocs", "serve", "--quiet", "--dev-addr", address]
    server = subprocess.Popen(command, cwd=project, env=SETTINGS)
    try:
        shown = f"http://{address}/guide/memory/kv-cache/"
        until(lambda: "KV cache" in read(shown))
        found = {"page_s": save(project / PAGE, "\nSaved by the benchmark.\n", shown, "Saved by the benchmark.")}
        devices = f"http://{address}/guide/reference/accelerators/"
        entry = project / ENTRY
        name = re.findall(r'^name = "(.*)"', entry.read_text(encoding="utf-8"), re.MULTILINE)[0]
        text = entry.read_text(encoding="utf-8").replace(f'"{name}"', f'"{name} of the benchmark"', 1)
        until(lambda: "Accelerators" in read(devices))  # it is open when the entry is saved
        start = time.perf_counter()
        entry.write_text(text, encoding="utf-8")
        until(lambda: f"{name} of the benchmark" in read(devices))
        return found | {"entry_s": time.perf_counter() - start}
    finally:
        server.terminate()
        server.wait()


def save(file: Path, more: str, address: str, words: str) -> float:
    """Return the seconds from a longer file to the page that has the words."""
    start = time.perf_counter()
    file.write_text(file.read_text(encoding="utf-8") + more, encoding="utf-8")
    until(lambda: words in read(address))
    return time.perf_counter() - start


def read(address: str) -> str:
    """Return a page, empty while there is none."""
    try:
        with urllib.request.urlopen(address, timeout=WAIT_S) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def until(done: Callable[[], bool]) -> None:
    """Wait until something is so; raises TimeoutError if it never is."""
    end = time.perf_counter() + WAIT_S
    while not done():
        if time.perf_counter() > end:
            raise TimeoutError("the served page did not follow")
        time.sleep(0.1)


def table(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the table of these figures."""
    plain = figures["plain_s"]
    rows = [
        ["The same pages as plain Markdown", f"{plain:.1f} s", "1.0"],
        ["The guide, nothing changed", f"{figures['again_s']:.1f} s", f"{figures['again_s'] / plain:.1f}"],
        ["The guide, everything anew", f"{figures['first_s']:.1f} s", f"{figures['first_s'] / plain:.1f}"],
        ["From saving a page to the open page", f"{figures['page_s']:.1f} s", "–"],
        ["From saving an entry of the catalogue to the open page", f"{figures['entry_s']:.1f} s", "–"],
    ]
    return {"caption": "Building the guide", "headings": ["What", "Time", "Of plain Markdown"], "rows": rows}
