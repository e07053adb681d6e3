"""Which models a question tries."""

from calc.catalog import catalog
from calc.planner.wanted import recent


def test_recent_models_are_of_two_years() -> None:
    """None is older than two years before the newest fact, to the month, and none that writes text and is, is left."""
    facts = catalog()
    since = f"{int(facts.version[:4]) - 2}{facts.version[4:7]}"
    found = recent(facts)
    assert found and all(str(facts.entries("models")[name]["released"]) >= since for name in found)
    assert {"qwen3-32b", "gpt-oss-20b"} <= set(found) and not {"llama-3.1-8b", "whisper-large-v3"} & set(found)
