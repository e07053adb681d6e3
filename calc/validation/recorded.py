"""The scores of this build: computed in a process of their own when rows, `calc` or its catalogue changed, then kept.

A server that rebuilds pages may hold an older `calc`; a process of its own computes with what the files say.
"""

import fcntl
import hashlib
import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from calc.validation import (
    community_speed,
    inference_memory,
    inference_speed,
    serving_runs,
    training_memory,
    training_speed,
)
from calc.validation.deployments import Choice
from calc.validation.scores import Score

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".cache" / "accuracy"
SCORED = {
    "inference-memory": inference_memory.scores,
    "inference-speed": inference_speed.scores,
    "community-speed": community_speed.scores,
    "serving-runs": serving_runs.scores,
    "training-memory": training_memory.scores,
    "training-speed": training_speed.scores,
}
_frozen = [""]  # the state whose scores are taken, whatever the files say by now


class Scored(NamedTuple):
    """The scores of one kind of figure, and how many rows were left out by reason."""

    scores: list[Score]
    left_out: dict[str, int]

    @property
    def rows_left_out(self) -> int:
        """How many rows were left out for any reason."""
        return sum(self.left_out.values())


def scored(kind: str) -> Scored:
    """Return the scores of a kind of figure as of the files on disk."""
    if kind not in SCORED:
        raise ValueError(f"{kind!r} is not measured; there are {', '.join(SCORED)}")
    return read(frozen()).scored[kind]


def chosen() -> list[Choice]:
    """Return what is planned for published deployments, as of the files on disk."""
    return read(frozen()).choices


def freeze() -> None:
    """Return the scores of the files as they are now from here on: to compute them takes a minute."""
    _frozen[0] = digest()


def frozen() -> str:
    """Return the state whose scores are taken."""
    return _frozen[0] or digest()


class Recorded(NamedTuple):
    """What a build keeps: scores by kind of figure, and what is planned for published deployments."""

    scored: dict[str, Scored]
    choices: list[Choice]


@lru_cache(maxsize=1)
def read(key: str) -> Recorded:
    """Return all of a state of the files, computed if no build has done so."""
    path = KEPT / f"{key}.json"
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "computing").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # two processes render pages: one computes, and the other takes it
        if not path.exists():
            part = path.with_suffix(".part")
            part.write_text(computed(), encoding="utf-8")
            for older in sorted(KEPT.glob("*.json"), key=lambda file: file.stat().st_mtime)[:-3]:
                older.unlink(missing_ok=True)
            part.replace(path)
    found = json.loads(path.read_text(encoding="utf-8"))
    kinds = {
        kind: Scored([Score(*score) for score in entry["scores"]], entry["left_out"])
        for kind, entry in found["scored"].items()
    }
    return Recorded(kinds, [Choice(*choice) for choice in found["choices"]])


@lru_cache(maxsize=1)
def digest() -> str:
    """Return what tells a state of the files that decide scores from another, as of the last `cache_clear`."""
    files = [*(ROOT / "calc").rglob("*.py"), *(ROOT / "calc").rglob("*.toml")]
    files += [*(ROOT / "calc").rglob("*.csv"), *Path(__file__).parent.glob("*.py")]
    total = hashlib.sha256(sys.version.encode())
    for path in sorted(files):
        total.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return total.hexdigest()[:16]


def computed() -> str:
    """Return all scores as JSON, computed by a new process; raises RuntimeError with what it said when it failed."""
    done = subprocess.run([sys.executable, "-m", "calc.validation"], cwd=ROOT, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(f"predictions were not compared with measurements:\n{done.stderr.strip()}")
    return done.stdout
