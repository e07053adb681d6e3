"""Parts of a report's memory: some of them together, the rest, and what a token's cache is on average."""

from collections.abc import Collection

from calc.calculators.inputs import Report
from calc.calculators.rendering import part_bytes


def bytes_of(report: Report, part_ids: Collection[str]) -> int:
    """Return the bytes of some parts of a report together; a part that it has not has none."""
    return sum(int(part["bytes"]) for part in report["memory"]["parts"] if part["id"] in part_ids)


def token_bytes(report: Report) -> float:
    """Return the cache of a token, on average over those that the sequences of a report have in it."""
    scenario, sequences = report["scenario"], report["memory"]["sequences"]
    tokens = scenario["context_tokens"] + scenario["cached_tokens"]
    return float(part_bytes(report, "kv_cache") / sequences / tokens)


def left_without(report: Report, part_ids: Collection[str]) -> int:
    """Return the bytes of the fullest device that are left where only the parts named are taken out of it."""
    return int(report["memory"]["capacity_bytes"]) - bytes_of(report, part_ids)


def saved_bytes(before: Report, after: Report) -> int:
    """Return how many bytes less the fullest device has in use than in a report before; more are below zero."""
    return int(before["memory"]["device_bytes"]) - int(after["memory"]["device_bytes"])


def on_all_devices(report: Report, part_id: str) -> int:
    """Return the bytes of a part on all devices, if each had as much of it as the fullest."""
    return int(report["scenario"]["accelerators"]) * part_bytes(report, part_id)


def growth_of_cache(shorter: Report, longer: Report) -> float:
    """Return the bytes that a token adds to a cache, between two reports on one sequence of unlike lengths."""
    tokens = longer["scenario"]["context_tokens"] - shorter["scenario"]["context_tokens"]
    return float((part_bytes(longer, "kv_cache") - part_bytes(shorter, "kv_cache")) / tokens)
