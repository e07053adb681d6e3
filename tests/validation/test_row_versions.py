"""Versions that rows state, and families of their models."""

from calc.validation.row_versions import rows_by_engine, stated_version


def test_versions_are_those_that_rows_state() -> None:
    """A version that was current on a row's day may be any of an era, and does not count."""
    row = {"engine_version": "vLLM 0.8.5, V1"}
    assert stated_version(row, {"engine": "vllm", "engine_version": "0.8.5"}) == "0.8.5"
    assert stated_version({"engine_version": "not stated"}, {"engine": "vllm", "engine_version": "0.8"}) == ""
    assert stated_version(row, {"engine": "vllm"}) == ""


def test_programs_around_an_engine_state_what_they_carry() -> None:
    """Ollama 0.30.0 has llama.cpp's builds from b8333 on."""
    row = {"engine_version": "ollama 0.30.0"}
    assert stated_version(row, {"engine": "llama.cpp", "engine_version": "0.30.0"}) == "b8333"


def test_rows_of_memory_and_of_speed_have_them() -> None:
    """Most rows can be read, and most of those state a version."""
    found = rows_by_engine()
    assert len(found) > 7000 and sum(bool(row.version) for row in found.values()) > len(found) / 2
    assert {row.family for row in found.values()} >= {"llama", "qwen3", "deepseek_v3"}
