"""Answers under an engine: its parts and ranges in *Will it fit?*, and the speeds of *How fast?*."""

import json
from typing import Any

import pytest

from calc.calculators import CALCULATORS, answer
from calc.calculators.html import in_words
from calc.calculators.speed_answer import per_second
from calc.catalog import catalog
from calc.estimate import estimate
from calc.planning.chance import SURE
from calc.units import show_gib, show_seconds

FIT, SPEED = CALCULATORS["will-it-fit"], CALCULATORS["speed"]
ENGINES = [engine.id for engine in catalog().engines()]


def typical(report: Any, name: str) -> float:
    """Return the typical value of a speed."""
    return float(report["speed"][name]["typical"])


@pytest.mark.parametrize(
    ("accelerator", "weights", "engine"),
    [
        ("rtx-4090", "bf16", "llama.cpp"),
        ("rtx-4090", "awq", "vllm"),
        ("m4-max-64gb", "q4_k_m", "llama.cpp"),
        ("h100-sxm-80gb", "bf16", "vllm"),
        ("rtx-a6000", "bf16", "vllm"),
        ("p40-24gb", "bf16", "llama.cpp"),
        ("tpu-v5e", "bf16", "none"),
    ],
)
def test_the_usual_engine_is_the_first_choice(accelerator: str, weights: str, engine: str) -> None:
    """llama.cpp on Macs and consumer cards, vLLM elsewhere, and what runs where the usual one does not."""
    report = FIT.report({"accelerator": accelerator, "weights": weights})
    assert report["scenario"]["engine"] == engine and report["runs"] is (None if engine == "none" else True)


def test_the_mathematics_alone() -> None:
    """Whoever chooses none gets what the mathematics needs: weights, cache and a pass, and one exact total."""
    report = FIT.report({"engine": ""})
    assert report["scenario"]["engine"] == "none"
    usual = in_words(FIT.render(FIT.report({})))
    alone = f"mathematics alone needs: <strong>{show_gib(report['memory']['device_bytes'])}</strong>"
    assert alone in usual and alone not in in_words(FIT.render(report))
    assert report["memory"]["device_bytes_range"] == [report["memory"]["device_bytes"]] * 2
    assert "four of five" not in FIT.render(report)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weights", ["bf16", "q4_k_m", "awq", "fp8"])
def test_every_engine_answers(engine: str, weights: str) -> None:
    """Under each engine, in each kind of format: every formula of the working is drawn, and the engine is named."""
    for calculator, counts in ((FIT, {}), (SPEED, {"output_tokens": "9"})):
        for model in ("llama-3.1-8b", "gpt-oss-20b", "deepseek-v3", "falcon-mamba-7b"):
            changed = {"engine": engine, "weights": weights, "model": model, "accelerator": "mi300x", **counts}
            report = calculator.report(changed)
            assert catalog().engine(engine).name in calculator.render(report)
            assert calculator.status(report)


def test_a_share_set_aside_is_told_with_what_is_free_of_it() -> None:
    """vLLM takes 90 % of an RTX 4090, and what one sequence leaves of its cache is what the verdict says."""
    report = FIT.report({"engine": "vllm"})
    html = in_words(FIT.render(report))
    free = next(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "kv_pool_free")
    assert f"{show_gib(free)} of them cache that these sequences leave free" in html
    assert "Cache that the engine sets aside" in html and "four of five measurements" in html
    assert "part-kv_pool_free" in html


def test_a_share_too_small_is_not_said_to_be_the_device() -> None:
    """Where the share is exceeded and the device would hold it, the sentence speaks of the share."""
    report = FIT.report({"engine": "vllm", "context_tokens": "51200"})
    memory = report["memory"]
    alone = next(part["bytes"] for part in memory["parts"] if part["id"] == "outside_share")
    assert not memory["fits"] and memory["device_bytes"] - alone <= memory["capacity_bytes"]
    assert "that vLLM takes of the device" in FIT.status(report)


def test_the_speeds_shown_are_the_report_s() -> None:
    """Rates and times of the table fit together: a sequence's rate is its time per token turned over."""
    report = SPEED.report({"sequences": "4"})
    html = SPEED.render(report)
    assert per_second(1 / typical(report, "time_per_output_token_s")) in html
    assert show_seconds(typical(report, "time_to_first_token_s")) in html
    whole = 4 * 256 / typical(report, "output_tokens_per_s")
    first, step = typical(report, "time_to_first_token_s"), typical(report, "time_per_output_token_s")
    assert whole == pytest.approx(first + 255 * step)
    assert show_seconds(whole) in html


def test_the_working_ends_in_seconds_that_are_not_rounded_away() -> None:
    """A step of milliseconds is shown in seconds to four digits, not as 0."""
    html = SPEED.render(SPEED.report({}))
    assert "<strong>0 s</strong>" not in html
    assert "tokens/s</strong>" in html


def test_what_does_not_fit_has_the_speed_that_it_would_have() -> None:
    """The verdict says what is missing before it says a speed."""
    status = SPEED.status(SPEED.report({"model": "llama-3.3-70b", "weights": "q8_0"}))
    assert status.startswith("It does not fit") and "If they did:" in status


def test_a_device_without_a_known_rate_has_no_speed() -> None:
    """The answer says which rate is missing, and has no table and no working."""
    report = SPEED.report({"accelerator": "m4-max-128gb", "engine": "vllm"})
    assert report["speed"] is None
    html = SPEED.render(report)
    assert "Not known" in html and "calc-parts" not in html and "calc-working" not in html


@pytest.mark.parametrize(
    "typed",
    [
        *(preset.values for preset in FIT.presets),
        {"model": "llama-3.3-70b", "accelerator": "rtx-3060-12gb"},
        {"weights": "nvfp4", "accelerator": "v100-sxm2-16gb", "engine": "vllm"},
    ],
)
def test_what_fits_is_said_without_looking_for_a_speed(typed: dict[str, str]) -> None:
    """A third of an answer's work: nothing above the working would be another with it."""
    report, whole = FIT.report(typed), estimate(FIT.asked(typed))
    assert report["speed"] is None
    above, timed = (FIT.render(one).partition('data-key="working"')[0] for one in (report, whole))
    assert above == timed and "calc-verdict" in above


@pytest.mark.parametrize(
    "typed",
    [
        {"other_accelerator": "rtx-3060-12gb"},
        {"speculation_method": "ngram", "engine": "vllm"},
        {"adapters_count": "8", "engine": "vllm"},
        {"cache_store": "64", "engine": "vllm"},
    ],
)
def test_what_fits_has_a_speed_where_the_answer_speaks_of_time(typed: dict[str, str]) -> None:
    """Of devices that are not alike, drafts, adapters and caches that pause in the host's memory it does."""
    assert FIT.report(typed)["speed"] is not None


def test_an_error_stands_at_the_form_s_own_field() -> None:
    """A form that asks for the prompt has its error there, not at the context."""
    found = json.loads(answer(json.dumps({"calculator": "speed", "fields": {"prompt_tokens": "0"}})))
    assert [error["field"] for error in found["errors"]] == ["prompt_tokens"]


@pytest.mark.parametrize("engine", ["vllm", "transformers"])
def test_a_model_that_keeps_nothing_has_no_tokens_of_cache(engine: str) -> None:
    """A classifier's calculators speak of its pass, and not of a cache or of sequences without end."""
    fields = {"model": "bert-base", "weights": "bf16", "engine": engine}
    fit, speed = FIT.render(FIT.report(fields)), SPEED.render(SPEED.report(fields))
    assert "Tokens that the cache can hold" not in fit
    assert ("Most sequences of this length" in fit) == (engine == "transformers")
    assert "Time of the pass" in speed and "Time per output token" not in speed


@pytest.mark.parametrize(("context", "state"), [("2048", "yes"), ("16384", "tight"), ("32768", "no")])
def test_what_likely_fits_is_tight(context: str, state: str) -> None:
    """70B in four bits on two cards of 24 GB: sure with short texts, likely with 16,384 tokens, as the planner says."""
    typed = {"model": "llama-3.3-70b", "weights": "q4_k_m", "accelerator": "rtx-3090", "accelerators": "2"}
    report = FIT.report({**typed, "context_tokens": context})
    scenario = {**typed, "accelerators": 2, "context_tokens": int(context), "engine": "llama.cpp"}
    memory: Any = estimate(scenario)["memory"]
    assert f'data-fits="{state}"' in FIT.render(report)
    assert (memory["chance"] >= SURE, memory["fits"]) == (state == "yes", state != "no")
    assert ("of such runs need more" in FIT.status(report)) == (state == "tight")


def test_what_nobody_measured_in_a_version_does_not_surely_start() -> None:
    """It has room and no tick, and the answer says why; of the newest version the same starts surely."""
    asked = {"model": "gemma-3-27b", "accelerator": "h100-sxm-80gb", "engine": "vllm", "context_tokens": 8192}
    known, older = (in_words(FIT.render(estimate({**asked, **more}))) for more in ({}, {"engine_version": "0.8.0"}))
    assert "✓ It fits" in known and "measured in this version" not in known
    assert "≈ It fits" in older and "nothing like it was measured in this version or an older one" in older
