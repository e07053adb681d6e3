"""What an answer says of its measurements: how many there are like it, and a wider range where there are none."""

from typing import Any

import pytest

from calc import estimate
from calc.catalog import catalog
from calc.planning.measured import (
    SPEED,
    Measured,
    device_of,
    format_of,
    is_as_old,
    kind_of,
    measured,
    pool_share,
    range_factor,
)
from calc.question import read_question
from calc.scenario.model import read_model


def report(**fields: object) -> Any:
    """Return the report on Llama 3.1 8B under vLLM on an H100, but for the fields given."""
    asked: dict[str, object] = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "h100-sxm-80gb"}
    return estimate({**asked, **fields})


def test_what_was_measured_is_counted() -> None:
    """llama.cpp's k-quants of dense models on an RTX 4090's class have rows, and the answer says how many."""
    found = report(engine="llama.cpp", accelerator="rtx-4090", weights="q4_k_m")["measured"]
    known = measured(catalog(), SPEED, "llama.cpp_ada-lovelace-consumer_gguf_dense")
    assert found["speed"] == {"rows": known.rows, "sources": known.sources} and known.rows > 50
    assert (found["rows"], found["sources"]) == (known.rows, known.sources)


def test_what_was_not_measured_says_so_and_is_wider() -> None:
    """The same model in a format that nobody measured there has no rows and a wider range."""
    known = report(engine="llama.cpp", accelerator="rtx-4090", weights="q4_k_m")
    unknown = report(engine="llama.cpp", accelerator="mi355x", weights="q4_k_m")
    assert unknown["measured"]["rows"] == 0

    def spread(found: Any) -> float:
        decode = found["speed"]["decode_tokens_per_s"]
        return float(decode["high"] / decode["low"])

    assert spread(unknown) > spread(known)


def test_an_older_version_is_not_measured_by_newer_ones() -> None:
    """Rows of Llama in BF16 on Hopper begin with some version of vLLM: before it there are none, and from it on all."""
    since = report()["measured"]["since"]
    older, newer = (report(engine_version=version)["measured"] for version in ("0.1.0", since))
    assert older["speed"] == older["memory"] == {"rows": 0, "sources": 0} and not older["started"]
    assert newer == report()["measured"] and newer["started"]


def test_a_family_is_measured_from_a_version_on_too() -> None:
    """Others of its kind were measured in a version in which nobody had measured the family."""
    older, newer = (report(model="gemma-3-27b", engine_version=version)["measured"] for version in ("0.8.0", "0.29"))
    assert report(engine_version="0.8.0")["measured"]["started"]
    assert newer["started"] and not older["started"]


@pytest.mark.parametrize(
    ("since", "version", "measured"),
    [("0.9.1", "0.9", True), ("0.9.1", "0.9.0", False), ("0.9.1", "0.10", True), ("b5000", "b4999", False)],
)
def test_a_version_is_as_old_as_far_as_it_is_named(since: str, version: str, *, measured: bool) -> None:
    """Who names 0.9 may have 0.9.1; of what no row states nothing is known."""
    assert is_as_old(since, version) is measured and not is_as_old("", version)


def test_what_an_engine_leaves_for_a_cache_is_surer_where_somebody_was_surprised() -> None:
    """No pool of TensorRT-LLM was predicted before it was known: it may be off as those of kinds that are new."""
    facts = catalog()
    plain = read_model("llama-3.1-8b", facts)[2]
    assert pool_share(facts, "tensorrt-llm", plain) > 3 * pool_share(facts, "vllm", plain)


def test_memory_is_counted_without_a_device() -> None:
    """A scenario without an accelerator has no speed; what stands behind its memory is of all devices."""
    found = estimate({"model": "qwen2.5-7b", "engine": "transformers"})["measured"]
    assert isinstance(found, dict)
    assert found["rows"] == found["memory"]["rows"] > 0
    assert "speed" not in found


def test_shapes_alone_are_not_measured() -> None:
    """Without an engine nothing is."""
    assert estimate({"model": "llama-3.1-8b"})["measured"] == {"rows": 0, "sources": 0}


def test_training_counts_its_own_rows() -> None:
    """Full training in BF16 on A100s has many runs behind it; of an Arc Pro B60 there is none."""
    run = {"workload": "training", "model": "llama-2-7b", "method": "full", "parallelism": {"data": 8}}
    known, unknown = (
        estimate({**run, "accelerator": name})["measured"] for name in ("a100-sxm-80gb", "arc-pro-b60-24gb")
    )
    assert isinstance(known, dict) and isinstance(unknown, dict)
    assert known["rows"] > 100 and known["sources"] >= 5
    assert unknown["rows"] == 0


@pytest.mark.parametrize(
    ("model", "device", "measured"),
    [
        ("qwen3-8b", "rtx-4090", True),
        ("qwen3-8b", "mi300x-192gb", True),
        ("qwen3-8b", "m4-max-128gb", False),  # another allocator
        ("flan-t5-large", "rtx-4090", False),  # an encoder before the decoder: no rows of such
    ],
)
def test_training_counts_memory_of_all_devices(model: str, device: str, *, measured: bool) -> None:
    """Rows of memory are of no device: PyTorch's allocator gives it out alike on any GPU, and no other is measured."""
    found: Any = estimate({"workload": "training", "model": model, "method": "lora", "accelerator": device})["measured"]
    assert (found["memory"]["rows"] > 100) is measured
    assert measured or found["memory"]["rows"] == 0


@pytest.mark.parametrize("sources", [0, 3])
def test_an_engine_without_a_range_of_its_own_has_that_of_all(sources: int) -> None:
    """An engine that no source stands behind takes the pooled factor."""
    own = range_factor(catalog(), SPEED, engine="exllama", phase="decode", sources=sources)
    assert own == range_factor(catalog(), SPEED, engine="", phase="decode", sources=sources)


def test_classes() -> None:
    """Names of classes: generation and market, how matrices are multiplied, what kind of model."""
    facts = catalog()
    assert device_of(facts.accelerator("rtx-4090")) == "ada-lovelace-consumer"
    assert device_of(facts.accelerator("l40s-48gb")) != device_of(facts.accelerator("rtx-4090"))
    assert format_of(facts.weights_format("awq")) == format_of(facts.weights_format("gptq-int4"))
    assert format_of(facts.weights_format("q4_k_m")) == "gguf"
    published = read_question({"model": "meta-llama/Llama-3.1-405B-Instruct-FP8", "weights": "published"})
    assert format_of(published.demand.weights) == "fp8"
    assert measured(facts, SPEED, "no_such_bucket") == Measured(0, 0)
    kinds = {
        "llama-3.1-8b": "dense",
        "mixtral-8x7b": "mixture",
        "flan-t5-large": "encoder-decoder",
        "deepseek-v3": "latent-mixture",
        "bge-m3": "encoder",
    }
    for model, kind in kinds.items():
        assert kind_of(read_model(model, facts)[2]) == kind
