"""Which models a question tries."""

from calc.catalog import catalog
from calc.planner.formats import is_small, stored
from calc.planner.wanted import made_for, recent
from calc.scenario.model import known_architecture


def test_recent_models_are_of_two_years() -> None:
    """None is older than two years before the newest fact, to the month, and none that writes text and is, is left."""
    facts = catalog()
    since = f"{int(facts.version[:4]) - 2}{facts.version[4:7]}"
    found = recent(facts)
    assert found and all(str(facts.entries("models")[name]["released"]) >= since for name in found)
    assert {"qwen3-32b", "gpt-oss-20b"} <= set(found) and not {"llama-3.1-8b", "whisper-large-v3"} & set(found)


def test_what_is_published_in_four_bits_is_not_quantized_again() -> None:
    """For gpt-oss, in MXFP4, and Kimi K2 Thinking, in INT4, servers try no AWQ; for Kimi K2, in FP8, they do."""
    facts = catalog()
    for model, few in (("gpt-oss-120b", True), ("moonshotai/Kimi-K2-Thinking", True), ("kimi-k2", False)):
        assert is_small(model, facts) == few
        tried = [way["weights"] for way in stored(model, ("published", "fp8", "awq"), facts)]
        assert tried == (["published", "fp8"] if few else ["published", "fp8", "awq"])


def test_what_is_made_for_a_task_is_listed() -> None:
    """Embeddings come from models that read alone and from such as write; what sees also answers questions."""
    facts = catalog()
    vectors, seen = made_for("embeddings", facts), made_for("sees", facts)
    assert {"bge-m3", "qwen3-embedding-8b"} <= set(vectors) and "llama-3.1-8b" not in vectors
    assert {known_architecture(facts, name).writes for name in vectors} == {True, False}
    assert "qwen3-vl-8b" in seen and "qwen3-8b" not in seen and not set(seen) & set(vectors)
