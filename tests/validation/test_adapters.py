"""Rows become the scenarios that their sources ran: every reading decision in a few rows by hand."""

from typing import Any

import pytest

from calc import estimate
from calc.validation import community_speed, inference_speed, request_lengths, serving_runs
from calc.validation.engine_starts import start_of
from calc.validation.inference_fitting import item_of
from calc.validation.launch_flags import WAITING, launched
from calc.validation.models import entries, named
from calc.validation.scores import SkipError, read_rows


def test_a_server_in_one_pool() -> None:
    """Degrees, format and requests are the row's: attention replicated eight times, experts divided by as many."""
    row = {
        **read_rows("serving_runs.csv")[0],
        "mode": "agg",
        "model": "deepseek-ai/DeepSeek-R1",
        "precision": "fp4",
        "gpu": "b200_sxm",
        "tp": "8",
        "pp": "1",
        "attention_dp": "8",
        "moe_ep": "8",
        "concurrency": "64",
    }
    scenario = serving_runs.scenario_of(row)
    assert scenario["parallelism"] == {"tensor": 1, "pipeline": 1, "data": 8, "expert": 8}
    assert scenario["weights"] == "nvfp4"
    assert (scenario["arrivals"]["requests"], scenario["arrivals"]["concurrency"]) == (640, 64)
    with pytest.raises(SkipError, match="not all degrees"):
        serving_runs.scenario_of({**row, "tp": "72"})
    with pytest.raises(SkipError, match="devices of their own"):
        serving_runs.scenario_of({**row, "mode": "disagg"})


@pytest.mark.parametrize(
    ("name", "stated", "notes", "version"),
    [
        ("vllm", "not stated", "measured 2025-05-01; before", "0.8.4"),
        ("vllm", "not stated", "measured 2025-04-14", "0.8"),
        ("vllm", "0.10.2", "measured 2026-06-01", "0.10.2"),
        ("vllm", "not stated", "measured 2026", None),  # one of two eras
        ("sglang", "not stated", "measured 2025-08-06", "0.4.6"),
    ],
)
def test_a_row_without_a_version_ran_what_there_was(name: str, stated: str, notes: str, version: str | None) -> None:
    """A day leads to the versions that work alike and that began by then; a year does not."""
    row = next(row for row in read_rows("inference_speed.csv") if row["id"] == "Sv0014")
    row["arch_key"] = "llama-3.1-8b"  # which all of them know
    scenario = inference_speed.scenario_of({**row, "engine": name, "engine_version": stated, "notes": notes})
    assert scenario.get("engine_version") == version


@pytest.mark.parametrize(
    ("notes", "shared"),
    [("prompts begin with the same 512 tokens", 512), ("it ran twice: the cache keeps 224 tokens", 224), ("", None)],
)
def test_prompts_that_a_cache_keeps_are_not_read_anew(notes: str, shared: int | None) -> None:
    """Beginnings that prompts share, and whole prompts that came before to the same server, are in notes alone."""
    row = next(row for row in read_rows("inference_speed.csv") if row["id"] == "B7S019")
    assert inference_speed.scenario_of({**row, "notes": notes}).get("shared_prefix_tokens") == shared


def test_a_build_of_which_the_day_is_known_computed_attention_in_tiles() -> None:
    """Those who measure llama.cpp ask for flash attention, which older builds did not do by themselves."""
    row = next(row for row in read_rows("community_speed.csv") if row["id"] == "Ce0082")
    scenario = community_speed.scenario_of(row)
    assert (scenario["engine_version"], scenario["attention"]) == ("b6280", "flash")


def test_how_a_server_was_started_is_in_its_scenario() -> None:
    """InferenceMAX draws lengths from 0.8 to 1 of those it names, and TensorRT-LLM kept an FP8 cache there."""
    rows = {row["id"]: row for row in read_rows("serving_runs.csv")}
    scenario = serving_runs.scenario_of(rows["V2591"])
    assert scenario["prompt_tokens"] == scenario["output_tokens"] == round(0.9 * 1024)
    assert (scenario["kv_cache"], scenario["batched_tokens"]) == ("fp8", 16384)


def test_what_no_scenario_asks_for_is_left_out() -> None:
    """Drafts leave out both figures of a row, prompts that wait to be joined the first token; the others stay."""
    rows = {row["id"]: row for row in read_rows("serving_runs.csv")}
    assert set(serving_runs.left_out(rows["V1694"])) == {"ttft_ms", "tpot_ms"}  # 1.2.0rc6.post3
    assert set(serving_runs.left_out(rows["V2409"])) == {"ttft_ms"}
    assert serving_runs.left_out(rows["V2591"]) == {}
    assert [score.what for score in serving_runs.scores_of(rows["V2409"])] == ["time_per_output_token_s"]


def test_pools_whose_experts_have_no_ranks_hold_whole_ones() -> None:
    """32 replicas of attention in FP4 with all experts on each would not fit: each holds a 32nd of them."""
    row = {row["id"]: row for row in read_rows("serving_runs.csv")}["V0449"]
    assert (row["decode_dp"], row["decode_ep"]) == ("32", "1")
    layout = {"tensor": 1, "pipeline": 1, "data": 32, "expert": 32}
    assert serving_runs.pooled_scenario_of(row)["disaggregation"]["decode"]["parallelism"] == layout


@pytest.mark.parametrize("entry", serving_runs.settings(), ids=lambda entry: entry["reason"])
def test_settings_are_of_some_rows(entry: dict[str, Any]) -> None:
    """Each entry names columns that there are and values that some row has, and where they are from."""
    assert entry["source"].startswith("https://") and entry["reason"]
    assert any(entry in list(serving_runs.settings_of(row)) for row in read_rows("serving_runs.csv"))


def test_requests_at_a_set_rate_say_nothing_of_the_server() -> None:
    """As many tokens come out as are asked for; attention on data ranks is read from a row's notes."""
    rows = {row["id"]: row for row in read_rows("inference_speed.csv")}
    with pytest.raises(SkipError, match="set rate"):
        inference_speed.scenario_of({**rows["S0956"], "notes": ""})
    assert inference_speed.scenario_of(rows["S0863"])["parallelism"] == {"data": 8, "expert": 8}


def test_every_server_in_one_pool_is_read_or_refused_with_a_reason() -> None:
    """No row of the file breaks the reading, and most in one pool become scenarios."""
    read = 0
    for row in read_rows("serving_runs.csv"):
        try:
            serving_runs.scenario_of(row)
        except SkipError:
            continue
        read += 1
    assert read > 1500


def test_total_tokens_count_prompt_and_answer() -> None:
    """Qwen3's tables divide prompt and answer by the time: 6,144 + 2,048 tokens at 1,426 a second write 356.6."""
    row = next(row for row in read_rows("inference_speed.csv") if row["id"] == "S2440")
    assert inference_speed.measured_of(row) == pytest.approx(1426.46 / 4)


def test_old_transformers_wrote_scores_out() -> None:
    """transformers 4.35 took attention in tiles where a row says FA2, later ones PyTorch's (release notes of 4.36)."""
    rows = {
        row["engine_version"]: row
        for row in read_rows("inference_speed.csv")
        if "transformers 4" in row["engine_version"]
    }
    old, tiled = "torch 2.1.1+cu118, transformers 4.35.2", "torch 2.1.1+cu118, transformers 4.35.2 FA2"
    assert inference_speed.scenario_of(rows[old])["attention"] == "eager"
    without = next(row for row in read_rows("inference_speed.csv") if "no FlashAttention" in row["engine_version"])
    assert inference_speed.scenario_of(without)["attention"] == "sdpa"
    assert "attention" not in inference_speed.scenario_of(rows[tiled])
    newest = next(row for version, row in rows.items() if "4.51" in version)
    assert "attention" not in inference_speed.scenario_of(newest)


def test_rows_of_one_class_of_devices_count_together() -> None:
    """Cards and Macs of one source stand in groups of their own, so that coefficients of each rest on rows of each."""
    rows = {row["id"]: row for row in read_rows("community_speed.csv")}
    groups = [
        item_of(rows[name], community_speed.scenario_of(rows[name]), "output_tokens_per_s", 1.0).group
        for name in ("Cd0081", "Cd0391")
    ]
    assert [group[-1] for group in groups] == ["Apple unified", "AMD consumer"]
    assert groups[0][:-1] == groups[1][:-1]


def test_experts_and_layers_on_the_host() -> None:
    """A row that states experts on the host asks for them alone; one that states layers, for those."""
    rows = {row["id"]: row for row in read_rows("community_speed.csv")}
    experts, layers = (community_speed.scenario_of(rows[name]) for name in ("Od0008", "Od0005"))
    assert experts["experts_on_host"] == 36 and "gpu_layers" not in experts
    assert layers["gpu_layers"] == 42 and layers["host"]["bandwidth"] == "102 GB/s"


def test_who_measured_says_whether_tokens_were_chosen() -> None:
    """Rows of llama-bench ask for sequences; a server's for requests, whose rate has no first token in it.

    A file that llama-bench reads may be Ollama's. What a server prints of prompts is the time from when it began to
    read until the first token.
    """
    rows = {row["id"]: row for row in read_rows("community_speed.csv")}
    bench, file, ollama, prompt = (rows[name] for name in ("Cd0019", "B4L061", "Cd0134", "C1L026"))
    assert [community_speed.is_served(row) for row in (bench, file, ollama, prompt)] == [False, False, True, True]
    scenario = community_speed.scenario_of(ollama)
    assert scenario["concurrency"] == 1 and "sequences" not in scenario
    assert community_speed.compared(ollama) == ("time_per_output_token_s", pytest.approx(1 / 83.96))
    read = 1750 / float(prompt["value"]) + 0.01
    assert community_speed.compared(prompt) == ("time_to_first_token_s", pytest.approx(read))
    assert community_speed.scenario_of(bench)["sequences"] == 1
    assert community_speed.compared(bench)[0] == "decode_tokens_per_s"


def test_prompts_by_micro_batch_and_depth() -> None:
    """What llama-bench's -ub and -d say: tokens that are read at a time, and tokens that are cached before."""
    row = next(row for row in read_rows("community_speed.csv") if row["ubatch"] == "2048" and row["depth"] == "4096")
    scenario = community_speed.scenario_of(row)
    assert (scenario["batched_tokens"], scenario["cached_tokens"], scenario["prompt_tokens"]) == (2048, 4096, 2048)


def test_weights_that_were_repacked_are_no_row() -> None:
    """A token that took less than reading the published weights does was computed with others."""
    row = next(row for row in read_rows("community_speed.csv") if row["id"] == "Cd0528")
    with pytest.raises(SkipError, match="other weights"):
        community_speed.scenario_of(row)


def test_models_that_the_catalogue_lacks_have_a_source() -> None:
    """Each has its config and where its sizes are from; another name leads to the catalogue's."""
    for name, entry in entries().items():
        if name != "names":
            assert str(entry["source"]).startswith("https://")
            assert named(name) == {"config": entry["config"]}
    assert named("tiny-llama") == "tinyllama-1.1b"


def test_a_launch_command_is_read() -> None:
    """Flags that a row's notes quote are fields; SGLang divides slots and chunks among replicas of attention."""
    row = {"notes": "args: sglang --tp-size=8 --dp-size=8 --enable-dp-attention --mem-fraction-static=0.85 "}
    row["notes"] += (
        "--max-running-requests=64 --chunked-prefill-size 8192 --kv-cache-dtype=fp8_e4m3 --disable-cuda-graph"
    )
    assert launched(row, 8) == {
        "memory_fraction": 0.85,
        "sequence_slots": 8,
        "batched_tokens": 1024,
        "parallelism": {"data": 8, "expert": 8},
        "graphs": False,
        "kv_cache": "fp8",
    }
    pairs = launched({"notes": "args: --tensor-parallel-size 2 --data-parallel-size 4"}, 8)
    assert pairs == {"parallelism": {"data": 4, "tensor": 2, "expert": 8}}
    with pytest.raises(SkipError, match="other ranks'"):
        launched({"notes": "args: sglang --dp 8 --enable-dp-attention --enable-prefill-delayer"}, 8)
    served = launched({"notes": "args: trtllm-serve x --ep_size 4"}, 4)
    assert served == {"parallelism": {"tensor": 4, "expert": 4}, "graphs": 32}  # it pads no batch by itself
    with pytest.raises(SkipError, match="drafted"):
        launched({"notes": "args: vllm x --speculative-config={}"}, 1)
    unpacked = {"notes": "args: --linear-backend marlin"}
    assert launched(unpacked | {"metric": "mean_tpot_ms"}, 1) == {}
    with pytest.raises(SkipError, match="unpack"):
        launched(unpacked | {"metric": "mean_ttft_ms"}, 1)
    assert launched({"notes": "args: sglang --attention-backend triton"}, 1) == {"attention": "triton"}
    paged = "args: --attention-backend trtllm_mha"
    assert launched({"notes": paged}, 1) == {}
    with pytest.raises(SkipError, match="beginnings"):
        launched({"notes": f"{paged}, with which beginnings are not shared"}, 1)
    with pytest.raises(SkipError, match="slower than the server"):
        launched({"notes": f"args: vllm x; median gap between tokens 0.00 ms: {WAITING}"}, 1)


def test_random_lengths_of_sglang_lie_evenly() -> None:
    """From one token on, so that their mean is half of the most."""
    rows = [
        row for row in read_rows(inference_speed.FILE) if row["id"].startswith("Sv00") and "wang" in row["source_key"]
    ]
    even = [inference_speed.scenario_of(row) for row in rows if "lengths uniform 1..N" in row["notes"]]
    assert {(80, 16), (500, 100)} <= {
        (asked["arrivals"]["requests"], asked["arrivals"]["concurrency"]) for asked in even
    }
    for asked in even:
        answers = asked["arrivals"]["lengths"]["output_tokens"]
        assert answers == {"least": 1, "most": pytest.approx(2 * asked["output_tokens"], rel=0.01)}


def test_random_lengths_may_begin_above_one_token() -> None:
    """A range ratio of a half: from half of the most on, of which the mean is three quarters."""
    row = next(row for row in read_rows(inference_speed.FILE) if row["id"] == "Sv0121")
    answers = request_lengths.even_about(148.4, ratio=0.5)
    assert answers["most"] == pytest.approx(198, abs=1) and answers["least"] == pytest.approx(99, abs=1)
    assert inference_speed.scenario_of(row)["arrivals"]["lengths"]["output_tokens"] == answers


def test_requests_that_are_alike_stay_in_step() -> None:
    """A hundred of ten at a time, all of 1,024 tokens, are a run: those that came together end together."""
    row = next(row for row in read_rows(inference_speed.FILE) if row["id"] == "Sv0015")
    assert inference_speed.scenario_of(row)["arrivals"] == {"requests": 100, "concurrency": 10}


def test_what_its_code_decides_is_not_estimated() -> None:
    """SGLang's plain products are libraries', as in the laws; its experts are Triton's, but those in 4 bit."""
    estimated = set(start_of("sglang"))
    assert {"matrix_factor", "expert_reading_factor", "expert_reading_factor_fp8-block@CDNA 3"} <= estimated
    assert not {"weights_factor", "weights_factor_quantized", "expert_reading_factor_w4a16"} & estimated
    assert "weights_factor" in start_of("vllm")


def test_requests_of_a_known_number_are_a_burst() -> None:
    """GPUStack's thousand requests of 512 at a time are a run that ends, a hundred of four are, and ShareGPT's."""
    rows = {row["id"]: row for row in read_rows(inference_speed.FILE)}
    burst, few, drained = (inference_speed.scenario_of(rows[name]) for name in ("S0867", "S0923", "S0874"))
    assert (burst["arrivals"], burst["memory_fraction"]) == ({"requests": 1000, "concurrency": 512}, 0.85)
    assert few["arrivals"]["concurrency"] == 4
    kinds = drained["arrivals"]["lengths"]
    assert max(kind["output_tokens"]["most"] for kind in kinds) == pytest.approx(7.0 * 201.6, abs=1)
    long = inference_speed.scenario_of(rows["S0879"])
    assert (long["prompt_tokens"], long["arrivals"]) == (32000, {"requests": 100})  # random, and all alike


@pytest.mark.parametrize("count", [500, 1000])
def test_conversations_have_the_means_that_a_row_states(count: int) -> None:
    """Half of ShareGPT's prompts have less than four tenths of the mean, and the longest more than four times it."""
    kinds = request_lengths.conversations(217.4, 201.6, count)
    for name, mean in (("prompt_tokens", 217.4), ("output_tokens", 201.6)):
        shares = [(kind["share"], kind[name]["least"], kind[name]["most"]) for kind in kinds]
        assert sum(share * (least + most) / 2 for share, least, most in shares) == pytest.approx(mean, rel=0.02)
    assert sum(kind["share"] for kind in kinds if kind["prompt_tokens"]["most"] < 0.4 * 217.4) == pytest.approx(0.5)
    assert max(kind["prompt_tokens"]["most"] for kind in kinds) > 4 * 217.4


def test_few_of_many_conversations_are_longer() -> None:
    """The longest of 500 answers has 844 tokens; three of a thousand are above that, and none has 2,048."""
    few, many = (request_lengths.conversations(206.0, 215.3, count) for count in (500, 1000))
    assert max(kind["output_tokens"]["most"] for kind in few) <= 844
    longer = [kind for kind in many if kind["output_tokens"]["most"] > 844]
    assert sum(kind["share"] for kind in longer) == pytest.approx(0.003)
    assert max(kind["output_tokens"]["most"] for kind in longer) < 2048


def test_published_weights_ran_on_the_h100() -> None:
    """vLLM printed 56.77 GiB of Llama 3.1 405B on each of eight: attention is in 16 bit there."""
    row = next(row for row in read_rows(inference_speed.FILE) if row["id"] == "S0673")
    report: Any = estimate(inference_speed.scenario_of(row))
    weights = next(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "weights")
    assert weights == pytest.approx(56.77 * 2**30, rel=0.002)
