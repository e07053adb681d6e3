"""Entries of the catalogue as they are written, the names that lead to them, and the files that they stand in."""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

Entry = dict[str, object]
Tables = dict[str, dict[str, Entry]]
DATA = Path(__file__).parent / "data"
BETWEEN_WORDS = re.compile(r"[^a-z0-9.+/]+")
DROPPED_WORDS = re.compile(r"\b(nvidia|geforce|tesla|amd|instinct|radeon|intel|apple|google|gpus?|tm|with)\b")


@lru_cache(maxsize=8192)  # names of the catalogue are folded again for each name that is looked up
def fold(name: str) -> str:
    """Return a market name without what people write differently: case, spaces, punctuation, the maker's name.

    >>> fold("NVIDIA GeForce RTX 4090") == fold("rtx-4090") == "rtx4090"
    True
    """
    folded = BETWEEN_WORDS.sub(" ", name.casefold().replace("(tm)", ""))
    return DROPPED_WORDS.sub(" ", folded).replace(" ", "") or folded.replace(" ", "")


def sold_with(entry_id: str, entry: Mapping[str, object]) -> dict[str, float]:
    """Return the ids of an accelerator as it is sold with other memory than its entry has, each with its GiB.

    >>> sold_with("m6-32gb", {"other_memory": [[24, 16]]})
    {'m6-24gb': 24.0}
    """
    pairs: list[tuple[float, float]] = entry.get("other_memory", [])  # type: ignore[assignment]
    return {re.sub(r"\d+gb$", f"{size:g}gb", entry_id): float(size) for size, _ in pairs}


def compared(name: str) -> str:
    """Return a name as it is compared: a tag of Ollama's library as it is written, any other folded.

    A tag leads to what Ollama has there: mistral:7b is the third version, where Mistral 7B is the first.

    >>> compared("Mistral:7B"), compared("Mistral 7B")
    ('mistral:7b', 'mistral7b')
    """
    return name.casefold() if ":" in name else fold(name)


def file_of(kind: str, entry_id: str, root: Path = DATA) -> str:
    """Return the file, as problems name it, in which an entry stands; looked for when there is a problem to name."""
    for path in sorted(root.glob(f"{kind}/*.toml")):
        if f'["{entry_id}"]' in (content := path.read_text(encoding="utf-8")) or f"[{entry_id}]" in content:
            return path.relative_to(root).as_posix()
    return kind


def lookup_names(entry_id: str, entry: Mapping[str, object]) -> list[str]:
    """Return every name under which an entry is found: id, name, aliases and repositories."""
    names = [entry_id, entry.get("name", entry_id)] if "title" not in entry else [entry_id]
    for field in ("aliases", "repositories", "finetunes", "variants"):
        listed = entry.get(field, [])
        names += list(listed) if isinstance(listed, list | dict) else []
    return [name for name in names if isinstance(name, str)]


def said_otherwise(variant: Entry) -> Entry:
    """Return what a variant's config says otherwise than its model's, without where that was read and when."""
    return {name: value for name, value in variant.items() if name not in ("source", "checked")}


def maker_of(entry: Mapping[str, object]) -> str:
    """Return the first word of an entry's maker, which is the same for all its teams."""
    return str(entry.get("organization")).partition(" ")[0]
