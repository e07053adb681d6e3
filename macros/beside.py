"""A second process for a build in which everything is new: it renders pages from the last to the first, and keeps them.

Both processes claim each page that they render by a file. Where the build comes to a page that is claimed, all others
are rendered, and it waits for this one; where the second process comes to one, it is done.
"""

import atexit
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mkdocs.structure.files import Files

from calc.validation import recorded
from macros import kept

HELPS = "GUIDE_RENDERS_BESIDE"  # the environment of the second process has it: the scores that pages show
_second: list[subprocess.Popen[bytes]] = []


def helps() -> bool:
    """Return whether this is the second process."""
    return HELPS in os.environ


def begin() -> None:
    """Start the second process, where there is a second processor."""
    end()
    if (os.cpu_count() or 1) > 1:
        environment = os.environ | {HELPS: recorded.frozen()}
        command = [sys.executable, "-m", "macros.beside"]
        quiet = subprocess.DEVNULL  # what is wrong with a page, this process says where it renders it
        _second.append(subprocess.Popen(command, cwd=kept.ROOT, env=environment, stdout=quiet, stderr=quiet))
        atexit.register(end)


def end() -> None:
    """End the second process, and forget what it had claimed."""
    for process in _second:
        process.kill()
        process.wait()
    _second.clear()
    for claim in kept.FOLDER.glob("*.claim"):
        claim.unlink(missing_ok=True)


def awaited(file: Path) -> kept.Kept | None:
    """Return a page that the second process renders, once it has; None where it is for this process to render."""
    while _second and not claimed(file):
        if _second[0].poll() is not None:
            return kept.kept(file)
        time.sleep(0.01)
        if found := kept.kept(file):
            return found
    return None


def claimed(file: Path) -> bool:
    """Claim a page that is kept in a file; return whether nobody else had."""
    kept.FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        file.with_suffix(".claim").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def release(file: Path) -> None:
    """Give a page back that is rendered."""
    file.with_suffix(".claim").unlink(missing_ok=True)


def backwards(files: Any) -> Files:
    """Return files in the other order."""
    return Files(list(files)[::-1])


def main() -> None:
    """Render pages until one is met that the build has claimed."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    recorded.freeze(os.environ[HELPS])
    with tempfile.TemporaryDirectory() as site:
        config = load_config(site_dir=site, strict=False)
        config.plugins.on_startup(command="build", dirty=False)
        build(config)


if __name__ == "__main__":
    main()
