"""Memory under engines by hand: shares of a device, pools, rules of sizes, workspaces, and what counts as large."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from calc.architecture.stages import Stage
from calc.catalog import catalog
from calc.catalog.records import version_numbers
from calc.derivation import Step
from calc.memory.budget import Layout
from calc.memory.device_sizes import by_size, size_of
from calc.memory.engines.sglang import prompt_graphs_kept, seeing_share, static_fraction
from calc.memory.engines.vllm import Start, counted_amounts, profile_amounts
from calc.memory.engines.vllm_experts import MARLIN, TRITON, Tile, padded_bytes, stage_workspace
from calc.memory.engines.vllm_graphs import captured
from calc.memory.engines.vllm_links import driver_amount, links_amounts
from calc.memory.pool import outside_share, with_pool
from calc.memory.runtime import (
    ALLOCATED,
    DEVICE,
    RESERVED,
    Amount,
    Runtime,
    constant,
    held_amounts,
    make_case,
    total,
    visible_bytes,
)
from calc.scenario.model import known_architecture
from tests.performance.test_speed import demand

MIB, GIB = 2**20, 2**30


ALONE = Layout()


def engine(**values: float) -> Any:
    """Return an engine with these coefficients."""
    return SimpleNamespace(
        values=values,
        source="engine",
        coefficient=lambda name: SimpleNamespace(source=f"source of {name}"),
        whole=lambda name: round(values[name]),
        lacks=lambda _: False,
    )


class Silent:
    """A demand that asks for nothing more than its model."""

    architecture = SimpleNamespace(tower=None, attention=None)

    def __getattr__(self, name: str) -> None:
        return None


def held_bytes(cache: int = 200, state: int = 30) -> Any:
    """Return what the mathematics needs."""
    return SimpleNamespace(
        weights=100, kv_cache=cache, recurrent_state=state, draft_weights=7, draft_cache=8, adapters=9
    )


def case(visible: int | None = None, *, fraction: float | None = None, layout: Layout = ALONE, **values: Any) -> Any:
    """Return a case on a device of so many bytes, whose engine has these coefficients."""
    chunk = values.pop("batched", None)
    budget = held_bytes()
    return SimpleNamespace(
        visible=visible,
        fraction=fraction,
        layout=layout,
        budget=budget,
        engine=engine(**values),
        batched_tokens=chunk,
        accelerator=visible and SimpleNamespace(id="card", capacity_bytes=visible),
        demand=Silent(),
    )


RULE = {
    "large_device": 60 * GIB,
    "huge_device": 160 * GIB,
    "batched_tokens": 2048,
    "batched_tokens_large": 8192,
    "batched_tokens_huge": 16384,
    "graph_sequences": 24,
    "graph_sequences_large": 256,
    "graph_sequences_ranks": 24,
    "graph_sequences_ranks_large": 512,
    "kept_replica": 3 * MIB,
    "kept_replica_many": 4.5 * MIB,
    "kept": 512 * MIB,
    "kept_token": 1.5 * MIB,
    "kept_sequence": 2.0 * MIB,
    "kept_large": 10 * GIB,
}


@pytest.mark.parametrize(
    ("visible", "batched", "layout", "kept"),
    [
        (24 * GIB, None, Layout(), (512 + 3072 + 48 + 128) * MIB),
        (24 * GIB, 4096, Layout(), (512 + 6144 + 48 + 128) * MIB),
        (24 * GIB, None, Layout(tensor=2, pipeline=4, data=3), (512 + 3072 + 48 + 1024) * MIB),
        (80 * GIB, None, Layout(), (512 + 12288 + 512 + 128) * MIB),
        (80 * GIB, None, Layout(tensor=2), (512 + 12288 + 512 + 256) * MIB),
        (80 * GIB, None, Layout(tensor=4), (512 + 12288 + 1024 + 512) * MIB),
        (60 * GIB, 2048, Layout(), 10 * GIB),
        (179 * GIB, None, Layout(), (512 + 24576 + 512 + 128) * MIB),
        (179 * GIB, 2048, Layout(), 10 * GIB),
        (3 * GIB, None, Layout(), 3 * GIB),
    ],
)
def test_sglang_s_rule_of_its_share(visible: int, batched: int | None, layout: Layout, kept: int) -> None:
    """512 MiB, 1.5 a token of a chunk, 2 a sequence of a graph, twice as many from four ranks, 128 a rank."""
    found = static_fraction(case(visible, layout=layout, batched=batched, **RULE))
    assert found == round((visible - kept) / visible, 3)


@pytest.mark.parametrize(
    ("version", "visible", "layout", "share"),
    [
        ("0.3.0", 80 * GIB, Layout(), 0.88),
        ("0.4.3", 24 * GIB, Layout(tensor=4), 0.85),  # measurements R1225 and R1226, whose logs say so
        ("0.4.6", 80 * GIB, Layout(tensor=8), 0.81),
        ("0.4.3", 140 * GIB, Layout(tensor=8), 0.81),
        ("0.4.5", 140 * GIB, Layout(tensor=8), 0.81),  # measurements C1I16 and C1I17 say so of 0.4.5
        ("0.4.5.post3", 140 * GIB, Layout(tensor=8), 127 / 140),
        ("0.4.6", 140 * GIB, Layout(tensor=8), 127 / 140),
    ],
)
def test_sglang_s_share_before_it_had_a_rule(version: str, visible: int, layout: Layout, share: float) -> None:
    """By the ranks in use, and of devices above 80 GiB all but 13 of them since 0.4.5.post3."""
    early: Any = case(visible, layout=layout, **RULE)
    since = catalog().engine("sglang").since
    early.engine.lacks = lambda change: version_numbers(version) < version_numbers(since[change])
    assert static_fraction(early) == pytest.approx(share)


def test_a_share_that_is_given() -> None:
    """It is taken as it is; without a device there is none."""
    assert static_fraction(case(24 * GIB, fraction=0.7, **RULE)) == 0.7
    assert static_fraction(case(None, **RULE)) == 0.0


@pytest.mark.parametrize(
    ("tower", "share"),
    [(None, 1.0), ((24, 1024), 0.95), ((27, 1152), 0.95 * 0.957617), ((12, 768), 0.9975), ((45, 3200), 0.76)],
)
def test_sglang_leaves_room_for_what_sees(tower: tuple[int, int] | None, share: float) -> None:
    """A twentieth for CLIP's large tower; a tenth more each time that another is as large again, to a fifth."""
    architecture: Any = SimpleNamespace(tower=tower, attention=None)
    assert seeing_share(architecture, engine()) == pytest.approx(share, rel=1e-5)
    plain: Any = RULE
    seeing = case(24 * GIB, **plain)
    seeing.demand = SimpleNamespace(architecture=architecture)
    assert static_fraction(seeing) == pytest.approx(static_fraction(case(24 * GIB, **plain)) * share, rel=1e-5)


def test_sglang_once_left_a_tenth_for_whatever_sees() -> None:
    """Until 0.4.6, of a share that is given too; of what reads alone nothing."""
    early: Any = case(24 * GIB, fraction=0.8, **RULE)
    early.engine.lacks = lambda change: change == "looks_at_towers"
    assert static_fraction(early) == 0.8
    early.demand = SimpleNamespace(architecture=SimpleNamespace(tower=(12, 768), attention=None))
    assert static_fraction(early) == pytest.approx(0.72)


@pytest.mark.parametrize(
    ("changed", "chunk", "kept"),
    [
        ({}, 8192, 58 * 8 * MIB),
        ({}, 2048, 42 * 8 * MIB),
        ({"latent": True}, 8192, 0),
        ({"vendor": "AMD"}, 8192, 0),
        ({"tower": (24, 1024)}, 8192, 0),
        ({"adapters": 1}, 8192, 0),
        ({"layout": Layout(pipeline=2)}, 8192, 0),
        ({"layout": Layout(data=8, expert=8)}, 8192, 0),
        ({"layout": Layout(tensor=8)}, 8192, 58 * 8 * MIB),
    ],
)
def test_sglang_leaves_room_for_graphs_of_prompts(changed: dict[str, Any], chunk: int, kept: float) -> None:
    """8 MiB for each length that is captured on NVIDIA, of text alone, where attention is not latent."""
    values: Any = {"prompt_graphs": 1, "kept_prompt_graph": 8 * MIB}
    found = case(24 * GIB, layout=changed.get("layout", ALONE), **values)
    found.engine.graphs = True
    found.accelerator.vendor = changed.get("vendor", "NVIDIA")
    found.budget.adapters = changed.get("adapters", 0)
    latent = SimpleNamespace(latent=changed.get("latent", False))
    found.demand = SimpleNamespace(architecture=SimpleNamespace(attention=latent, tower=changed.get("tower")))
    assert prompt_graphs_kept(found, chunk) == kept


@pytest.mark.parametrize(
    ("version", "context", "tokens"),
    [("0.6.3", 16_384, 16_384), ("0.6.3", 32_768, 32_768), ("0.6.3", 32_769, 8192), ("0.10", 16_384, 8192)],
)
def test_prompts_were_read_whole(version: str, context: int, tokens: int) -> None:
    """Before V1 the profiled step of vLLM held a text of up to 32,768 tokens, and pieces of longer ones."""
    asked = {"model": "llama-3.1-8b", "engine": "vllm", "engine_version": version, "sequence_slots": 1}
    report: Any = estimate({**asked, "accelerator": "h100-sxm-80gb", "context_tokens": context})
    parts = {part["id"]: part["bytes"] for part in report["memory"]["parts"]}
    tensors = tokens * (51_200 + 4096) * 2  # the widest moment of a token, and its hidden state
    unused = 1 if version_numbers(version) >= (0, 6, 4) else 1.2
    assert parts["activations"] == pytest.approx(unused * tensors, abs=1)


@pytest.mark.parametrize(("tokens", "measured"), [(20_000, 2.07), (29_000, 2.99)])
def test_what_the_loop_over_layers_holds(tokens: int, measured: float) -> None:
    """VLLM 0.6.4 logged the peaks of Llama 3.1 8B for prompts of two lengths (#10517)."""
    asked = {"model": "llama-3.1-8b", "engine": "vllm", "engine_version": "0.6.4", "context_tokens": tokens}
    report: Any = estimate({**asked, "accelerator": "rtx-3090", "batched_tokens": tokens})
    parts = {part["id"]: part["bytes"] for part in report["memory"]["parts"]}
    assert (parts["activations"] + parts.get("logits", 0)) / GIB == pytest.approx(measured, rel=0.01)


SIGHTED: dict[str, Any] = {"model": "qwen3.8-27b", "weights": "fp8-block", "context_tokens": 32_768}


def test_an_engine_without_graphs() -> None:
    """Nothing is held for graphs, the pool has their memory, and the host launches what they would have replayed."""
    asked = {**SIGHTED, "engine": "vllm", "accelerator": "rtx-pro-6000-blackwell"}
    whole, plain = (estimate(asked | more) for more in ({}, {"graphs": False}))
    graphs = [{p["id"]: p["bytes"] for p in report["memory"]["parts"]}["cuda_graphs"] for report in (whole, plain)]  # type: ignore[index]
    assert graphs[0] > 0 == graphs[1]
    assert plain["memory"]["kv_pool_bytes"] - whole["memory"]["kv_pool_bytes"] == graphs[0]  # type: ignore[index]
    small = {"model": "qwen3-0.6b", "engine": "vllm", "accelerator": "h100-sxm-80gb"}
    rates = [estimate(small | more)["speed"]["decode_tokens_per_s"]["typical"] for more in ({}, {"graphs": False})]  # type: ignore[index]
    assert rates[0] > 1.4 * rates[1]


@pytest.mark.parametrize(("version", "era"), [("0.11.0", ""), ("0.6.4", "@V0")])
def test_without_graphs_nothing_is_compiled(version: str, era: str) -> None:
    """vLLM's --enforce-eager turns off both: PyTorch launches each kernel from Python, as V0 always did."""
    engine = catalog().engine("vllm").of_version(version)
    plain = engine._replace(graphs=0).valued(engine.values)
    assert plain.values["launch_s"] == engine.coefficients[f"launch_s_uncompiled{era}"].value
    assert plain.values["launch_s"] >= engine.values["launch_s"]


def test_graphs_of_small_steps_alone() -> None:
    """Steps of more sequences than graphs were recorded for are launched by the host; fewer graphs hold less memory.

    What is compiled stays so: without any graphs each kernel is launched from Python, and takes longer.
    """
    small = {"model": "qwen3-0.6b", "engine": "vllm", "accelerator": "h100-sxm-80gb"}
    rates = {
        (way, sequences): estimate(small | {"graphs": way, "sequences": sequences})["speed"]["decode_tokens_per_s"][
            "typical"
        ]  # type: ignore[index]
        for way in (True, 8, False)
        for sequences in (8, 9)
    }
    assert rates[True, 8] == rates[8, 8] and rates[True, 9] > 1.1 * rates[8, 9] > 1.5 * rates[False, 9]
    held = [estimate(SIGHTED | {"engine": "vllm", "accelerator": "h100-sxm-80gb", "graphs": way}) for way in (True, 8)]
    parts = [{part["id"]: part["bytes"] for part in report["memory"]["parts"]} for report in held]  # type: ignore[index]
    assert 0 < parts[1]["cuda_graphs"] < parts[0]["cuda_graphs"]


def test_a_model_without_what_sees() -> None:
    """The tower of Qwen3.8 27B is 0.86 GiB, which the cache gets."""
    whole, alone = (estimate(SIGHTED | more)["memory"]["parts"][0]["bytes"] for more in ({}, {"text_only": True}))  # type: ignore[index]
    assert (whole - alone) / 2**30 == pytest.approx(0.86, abs=0.01)


def test_experts_of_images_are_quantised() -> None:
    """ERNIE 4.5 VL has 6.7 billion parameters in them: in 8 bit it is 31.2 GB (cyankiwi's copy), and in AWQ an RTX 4090
    holds it. No text token passes them."""
    asked: dict[str, Any] = {"model": "ernie-4.5-vl-28b-a3b", "engine": "vllm", "accelerator": "rtx-4090"}
    eight, four = (estimate(asked | {"weights": weights}) for weights in ("int8", "awq"))
    assert eight["memory"]["parts"][0]["bytes"] == pytest.approx(31.2e9, rel=0.03)  # type: ignore[index]
    assert four["memory"]["fits"] is True  # type: ignore[index]
    counts: Any = four["model"]
    assert counts["blocks"]["vision_expert"] == 27 * 64 * 3 * 2560 * 512
    assert counts["parameters_active"] == pytest.approx(4.1e9, rel=0.05)


@pytest.mark.parametrize(
    ("scenario", "field"),
    [
        ({"graphs": False}, "graphs"),
        ({"graphs": False, "engine": "llama.cpp"}, "graphs"),
        ({"graphs": 8, "engine": "llama.cpp"}, "graphs"),
        ({"graphs": 0.5, "engine": "vllm"}, "graphs"),
        ({"graphs": 0, "engine": "vllm"}, "graphs"),
        ({"text_only": True}, "text_only"),
        ({"text_only": "yes"}, "text_only"),
        ({"balance_experts": True}, "balance_experts"),
        ({"balance_experts": True, "engine": "vllm"}, "balance_experts"),
        ({"balance_experts": "yes", "engine": "vllm"}, "balance_experts"),
        ({"longest_tokens": 131_072}, "longest_tokens"),
        ({"longest_tokens": 131_072, "engine": "sglang"}, "longest_tokens"),
        ({"longest_tokens": 2303, "prompt_tokens": 2048, "output_tokens": 256, "engine": "vllm"}, "longest_tokens"),
    ],
)
def test_where_neither_applies(scenario: dict[str, object], field: str) -> None:
    """An engine that records none, and a model that sees nothing, are said."""
    with pytest.raises(ScenarioError) as caught:
        estimate({"model": "llama-3.1-8b", **scenario})
    assert caught.value.field == field


GRAPHS: list[tuple[str, str, int, float]] = [  # model, version, sequences that may run, GiB that the log names
    ("qwen2.5-7b", "0.10.0", 256, 0.51),
    ("llama-3.1-8b", "0.10.1", 256, 0.52),
    ("llama-3.1-8b", "0.15.0", 256, 0.55),
    ("qwen3-8b", "0.13.0", 256, 0.54),
    ("gemma-3-27b", "0.10.2", 1024, 1.02),
]


@pytest.mark.parametrize(("model", "version", "slots", "logged"), GRAPHS)
def test_graphs_of_v1_grow_with_layers_and_sizes(model: str, version: str, slots: int, logged: float) -> None:
    """What start logs of vLLM 0.10 to 0.15 say that graphs took, within a tenth."""
    asked = {"model": model, "engine": "vllm", "engine_version": version, "sequence_slots": slots}
    report: Any = estimate({**asked, "accelerator": "rtx-pro-6000-blackwell"})
    graphs = next(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "cuda_graphs")
    assert graphs / 2**30 == pytest.approx(logged, rel=0.1)


def test_the_first_v1_let_1024_sequences_run_on_small_cards() -> None:
    """vLLM 0.8.0 to 0.8.3 did, whose sampler then took four times as much (pull request 16158)."""
    logits = {}
    for version in ("0.7.3", "0.8.1", "0.8.4"):
        asked = {"model": "qwen2.5-7b", "engine": "vllm", "engine_version": version, "accelerator": "rtx-3090"}
        parts: Any = estimate(asked)["memory"]
        logits[version] = next(part["bytes"] for part in parts["parts"] if part["id"] == "logits")
    assert logits["0.7.3"] == logits["0.8.4"] == pytest.approx(logits["0.8.1"] / 4, rel=1e-6)


def test_graphs_are_captured_in_these_sizes() -> None:
    """1, 2, 4, every 8 up to 248, and every 16 from 256 to 512 (vLLM's `_set_cudagraph_sizes`)."""
    sizes = [1, 2, 4, *range(8, 256, 8), *range(256, 513, 16)]
    for tokens in range(1, 1100):
        assert captured(tokens) == sum(size <= min(tokens, 512) for size in sizes), tokens


def test_experts_are_filled_up_to_tiles() -> None:
    """Of gpt-oss 2,880 becomes 2,944 in tiles of 128 and 3,072 in those of 256; of four ranks 720 becomes 768."""
    architecture = known_architecture(catalog(), "gpt-oss-20b")
    stage = Stage(architecture, 0, architecture.layer_count)
    mxfp4 = catalog().number_format("mxfp4")
    experts = 24 * 32 * 3
    plain, each = 2880 * 2880 * 4.25 / 8, 4.25 / 8  # bytes of one of the three matrices of an expert, of an element
    assert padded_bytes(stage, mxfp4, 1, 1, MARLIN) == pytest.approx(experts * (2944 * 3072 * each - plain), rel=1e-9)
    assert padded_bytes(stage, mxfp4, 4, 4, MARLIN) == padded_bytes(stage, mxfp4, 1, 1, MARLIN) / 4
    whole = experts * (768 * 3072 - 720 * 2880) * each
    assert padded_bytes(stage, mxfp4, 4, 1, MARLIN) == pytest.approx(whole, rel=5e-3)  # blocks of 32
    assert padded_bytes(stage, mxfp4, 1, 1, TRITON) == experts * 2880 * 192 // 2
    assert padded_bytes(stage, mxfp4, 1, 1, Tile(64, 64)) == 0


@pytest.mark.parametrize(
    ("device", "version", "gib"),
    [
        ("h100-sxm-80gb", "0.14.1", 64.38),  # vLLM #33155
        ("h100-sxm-80gb", "0.10.1", 65.97),  # vLLM #23278
        ("a100-sxm-80gb", "0.14.1", 65.97),
        ("b200-sxm-180gb", "0.14.1", 68.64),  # of a file of 60.8, both widths of 3,072
    ],
)
def test_experts_take_what_the_kernel_of_a_device_fills_up(device: str, version: str, gib: float) -> None:
    """gpt-oss 120B takes 64.4 GiB by Triton's kernels, 66.0 by Marlin's, as logs print, and more by TensorRT-LLM's."""
    asked = {"model": "gpt-oss-120b", "weights": "mxfp4", "engine": "vllm", "engine_version": version}
    weights = estimate({**asked, "accelerator": device}, repairs=False)["memory"]["parts"][0]
    assert weights["bytes"] / 2**30 == pytest.approx(gib, rel=1e-3)


def test_vllm_stores_experts_as_they_are_filled_up() -> None:
    """What the file of gpt-oss has, 192 columns more than 2,880 of each matrix, and the table of positions."""
    asked = {"model": "gpt-oss-20b", "weights": "mxfp4", "accelerator": "h100-sxm-80gb"}
    file, held = (
        estimate({**asked, "engine": engine})["memory"]["parts"][0]["bytes"]
        for engine in ("none", "vllm")  # type: ignore[index,call-overload]
    )
    assert held - file == pytest.approx(24 * 32 * 3 * 2880 * 192 // 2 + 131072 * 64 * 2, rel=1e-9)


def test_tensorrt_llm_takes_its_share_of_what_is_free() -> None:
    """A pool at a half is five ninths of one at nine tenths, which is the engine's own share."""
    asked = {"model": "llama-3.1-8b", "engine": "tensorrt-llm", "accelerator": "h100-sxm-80gb"}
    half, usual, same = (
        estimate({**asked, **share})["memory"]["kv_pool_bytes"]  # type: ignore[index,call-overload]
        for share in ({"memory_fraction": 0.5}, {}, {"memory_fraction": 0.9})
    )
    assert usual == same and half == pytest.approx(usual * 5 / 9, rel=1e-9)


@pytest.mark.parametrize(
    ("cache", "draft", "limit", "fits"), [(100, 0, 75, True), (100, 0, 74, False), (90, 10, 75, True)]
)
def test_room_for_one_of_four_sequences(cache: int, draft: int, limit: int, fits: bool) -> None:
    """What four keep together is 100 bytes: one needs 25 of them, beside 50 that are fixed."""
    asked = SimpleNamespace(sequences=4, budget=SimpleNamespace(recurrent_state=0, draft_cache=draft))
    step: Any = None
    assert Start(4, 50, cache, step, fixed=50, limit=limit).has_room(asked) is fits  # type: ignore[arg-type]
    assert Start(4, 50, cache, step, fixed=50, limit=None).has_room(asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "tensor", "expert", "elements"),
    [
        ("qwen3-30b-a3b", 1, 1, 8 * (2048 + 2048)),
        ("mixtral-8x7b", 1, 1, 2 * (14336 + 28672)),
        ("mixtral-8x7b", 4, 1, 2 * (4096 + 7168)),
        ("mixtral-8x7b", 4, 4, 2 * (14336 + 28672)),
        ("llama-3.1-8b", 1, 1, 0),
        ("nemotron-3-super-120b-a12b", 1, 1, 22 * (2688 + 2688)),  # experts read 1,024 elements, not all 4,096
        ("nemotron-3-super-120b-a12b", 4, 1, 22 * (1024 + 1024)),
    ],
)
def test_the_workspace_of_experts(model: str, tensor: int, expert: int, elements: int) -> None:
    """For each expert of a token a row as wide as what goes into the down product, and one as wide as gate and up."""
    architecture = known_architecture(catalog(), model)
    assert stage_workspace(Stage(architecture, 0, architecture.layer_count), tensor, expert) == elements


VLLM = {"large_device": 70.0 * GIB, "huge_device": 160.0 * GIB, "a100_is_large": 0.0}
FIVE = {f"{size}_device": least * GIB for size, least in (("small", 20), ("middle", 35), ("large", 60), ("huge", 160))}


@pytest.mark.parametrize(
    ("name", "values", "size"),
    [
        ("h100-sxm-80gb", VLLM, "large"),
        ("a100-sxm-80gb", VLLM, ""),
        ("a100-sxm-80gb", VLLM | {"a100_is_large": 1.0}, "large"),
        ("a100-sxm-40gb", VLLM | {"a100_is_large": 1.0}, ""),
        ("rtx-4090", VLLM, ""),
        ("b200-sxm-180gb", VLLM, "huge"),
        ("h200-sxm-141gb", VLLM, "large"),
        ("h100-sxm-80gb", {}, ""),
        ("t4-16gb", FIVE, ""),
        ("rtx-4090", FIVE, "small"),
        ("a100-sxm-40gb", FIVE, "middle"),
        ("a100-sxm-80gb", FIVE, "large"),
        ("mi300x", FIVE, "huge"),
    ],
)
def test_devices_have_sizes(name: str, values: dict[str, float], size: str) -> None:
    """By their memory; an A100 is only large where the engine says so."""
    device = catalog().accelerator(name)
    assert size_of(values, device) == size
    assert size_of({"large_device": float(device.capacity_bytes), "a100_is_large": 1.0}, device) == "large"
    assert size_of(values, None) == ""


def test_a_size_without_a_number_has_that_of_the_next_smaller_one() -> None:
    """A huge device has that of a large one, and one below all sizes the plain number."""
    known = FIVE | {"tokens": 1.0, "tokens_large": 3.0, "tokens_middle": 2.0}
    names = ("b200-sxm-180gb", "h100-sxm-80gb", "l40s-48gb", "rtx-4090", "t4-16gb")
    assert [by_size(known, "tokens", catalog().accelerator(name)) for name in names] == [3.0, 3.0, 2.0, 1.0, 1.0]


def test_links_between_ranks() -> None:
    """One device has the workspaces of its kernels, several buffers of collectives too; copies of the model do not."""
    found = case(None, layout=Layout(data=4), workspaces=70.0, communication_buffers=30.0)
    assert [(amount.id, amount.bytes) for amount in links_amounts(found)] == [("workspaces", 70)]
    for layout in (Layout(tensor=2), Layout(pipeline=2)):
        several = case(None, layout=layout, workspaces=70.0, communication_buffers=30.0)
        assert [(amount.id, amount.bytes) for amount in links_amounts(several)] == [
            ("workspaces", 70),
            ("communication_buffers", 30),
        ]


@pytest.mark.parametrize(
    ("device", "held"), [("gb10", 900), ("jetson-thor-128gb", 900), ("ryzen-ai-max-395-128gb", 70), ("rtx-4090", 70)]
)
def test_what_processes_hold_counts_where_memory_is_shared(device: str, held: int) -> None:
    """On NVIDIA's, of which vLLM reads from the host what is free; of AMD's it asks the driver."""
    found = case(None, workspaces=70.0, processes_held=900.0)
    found.accelerator = catalog().accelerator(device)
    assert total(links_amounts(found)) == held
    del found.engine.values["processes_held"]  # as engines without such a coefficient have it
    assert total(links_amounts(found)) == 70


def mlx_parts(prompt: int, **more: Any) -> dict[str, int]:
    """Return the parts of Qwen3.6 27B under MLX with a prompt of so many tokens."""
    scenario = {
        "workload": "inference",
        "model": "qwen3.6-27b",
        "weights": "mlx-8bit",
        "engine": "mlx",
        "accelerator": "m4-max-128gb",
        "prompt_tokens": prompt,
        "output_tokens": 1,
    }
    report: Any = estimate(scenario | more)
    return {part["id"]: part["bytes"] for part in report["memory"]["parts"]}


def test_mlx_holds_what_its_commands_read() -> None:
    """As many layers as a command buffer takes of a short prompt, and never more than was measured."""
    short, long = mlx_parts(16), mlx_parts(2048)
    assert short["workspaces"] == 64 * short["activations"]
    assert long["workspaces"] == 550 * MIB < 64 * long["activations"]


def test_mlx_does_not_load_what_sees() -> None:
    """Nothing of its tower: as much as a server takes that reads alone."""
    assert mlx_parts(16)["weights"] == mlx_parts(16, text_only=True)["weights"]


@pytest.mark.parametrize(("version", "times"), [("0.2.5", 1), ("0.2.6", 1.2), ("0.6.3", 1.2), ("0.6.4", 1)])
def test_unused_blocks_counted_as_used_for_a_time(version: str, times: float) -> None:
    """A fifth more than its tensors from 0.2.6 until 0.6.4, and neither before nor since."""
    found = make_case(
        demand=demand("llama-3-8b", "bf16", tokens=8192),
        layout=ALONE,
        stage=Stage(known_architecture(catalog(), "llama-3-8b"), 0, 32),
        engine=catalog().engine("vllm").of_version("0.4.1"),
        accelerator=catalog().accelerator("rtx-a6000"),
        fraction=None,
        batched_tokens=None,
        attention="flash",
    )
    own = total(profile_amounts(found, 256))
    then = found._replace(engine=found.engine._replace(version=version))
    assert total(counted_amounts(then, 256)) == pytest.approx(times * own, abs=1)


AMOUNTS = (
    Amount("weights", "Weights", 500, ALLOCATED),
    Amount("kv_cache", "KV cache", 200, ALLOCATED),
    Amount("allocator_reserve", "Kept", 70, RESERVED),
    Amount("runtime_context", "Context", 90, DEVICE),
)


def test_who_sees_which_bytes() -> None:
    """In use 700, reserved 770, on the device 860; it fits where the device has as many."""
    found = Runtime(AMOUNTS, 860, 860, 790, None)
    assert found.scoped(ALLOCATED) == 700
    assert found.scoped(ALLOCATED, RESERVED) == 770
    assert found.device == total(AMOUNTS) == 860
    assert [found._replace(capacity=size).fits for size in (859, 860, None)] == [False, True, None]


def test_parts_that_every_engine_holds() -> None:
    """Weights, cache and states as the mathematics has them, or as an engine stores them."""
    sizes = [
        [amount.bytes for amount in held_amounts(case(), **own)] for own in ({}, {"weights": 1, "cache": 2, "state": 3})
    ]
    assert sizes == [[100, 200, 30], [1, 2, 3]]
    assert [(amount.id, amount.label) for amount in held_amounts(case(), weights=0, cache=0, state=0)] == [
        ("weights", "Weights"),
        ("kv_cache", "KV cache"),
        ("recurrent_state", "Recurrent state"),
    ]
    assert [amount.bytes for amount in held_amounts(case(), weights=0, cache=0, state=0)] == [0, 0, 0]


def test_what_drafts_is_held_too() -> None:
    """Its weights and its cache, where a scenario has it."""
    drafting = case()
    drafting.demand.draft = "another model"
    assert [(amount.id, amount.bytes) for amount in held_amounts(drafting)[3:]] == [
        ("draft_weights", 7),
        ("draft_cache", 8),
    ]


def test_adapters_that_are_served_are_held_too() -> None:
    """As one amount, where a scenario has them."""
    adapting = case()
    adapting.demand.adapters = "eight"
    assert held_amounts(adapting)[3:] == [Amount("adapters", "Adapters", 9, ALLOCATED)]


def test_an_amount_that_was_measured() -> None:
    """Rounded to bytes, once or several times, with the source of its coefficient."""
    known = case(buffers=70.4)
    once = constant(known, "communication_buffers", "Buffers", "buffers")
    assert once == Amount(
        "communication_buffers", "Buffers", 70, DEVICE, r"M_{\text{measured}}", "{}", (70.4,), "source of buffers"
    )
    assert once.step() == Step("Buffers", r"M_{\text{measured}}", "70.4", 70, "B", "source of buffers")
    twice = constant(known, "communication_buffers", "Buffers", "buffers", scope=RESERVED, times=2)
    formula = r"n \cdot M_{\text{measured}}"
    assert twice == Amount(
        "communication_buffers", "Buffers", 140, RESERVED, formula, "{} × {}", (2, 70.4), "source of buffers"
    )


def test_an_amount_without_a_formula() -> None:
    """The mathematics has its own steps for it."""
    assert AMOUNTS[0].step() is None


def pooled(pool: int | None, limit: int | None, fixed: int, *, cache: int = 200, state: int = 30) -> Runtime:
    """Return an engine with a pool on a device of 1,000 bytes."""
    found = case(1000)
    found.budget = held_bytes(cache, state)
    amounts = [
        Amount("weights", "Weights", fixed, ALLOCATED),
        Amount("kv_cache", "KV cache", cache, ALLOCATED),
        Amount("recurrent_state", "Recurrent state", state, ALLOCATED),
    ]
    return with_pool(found, amounts, pool=pool, limit=limit, fixed=fixed, formula="f")


def test_a_pool_with_room() -> None:
    """Of 900 bytes 400 are fixed: the pool has 500, of which cache and states use 230."""
    found = pooled(500, 900, 400)
    assert (found.capacity, found.limit, found.needed, found.pool) == (1000, 900, 630, 500)
    assert found.amounts[3:] == (
        Amount(
            id="kv_pool_free",
            label="Cache set aside, not in use",
            bytes=270,
            scope=ALLOCATED,
            formula="f",
            template="max({} − {} − {}, 0)",
            numbers=(900, 400, 230),
            source="engine",
        ),
    )


def test_a_pool_that_is_just_full() -> None:
    """230 of 230: nothing is free, and nothing is missing."""
    found = pooled(230, 630, 400)
    assert [amount.bytes for amount in found.amounts[3:]] == [0]


def test_a_share_that_is_too_small() -> None:
    """A byte less: the device lacks what makes a share of it hold 630, which is 1,002 of 1,000 bytes."""
    found = pooled(229, 629, 400)
    assert [(amount.id, amount.bytes) for amount in found.amounts[3:]] == [("kv_pool_free", 0), ("outside_share", 372)]
    assert found.device == 1002 and found.fits is False
    step = found.amounts[-1].step()
    assert step and step[2:] == ("max(630 / 629 × 1,000 − 630, 0)", 372, "B", "engine")


def test_an_encoder_has_no_pool() -> None:
    """It keeps nothing, so none is made, with a device and without; a model without a device has none to fill."""
    assert pooled(500, 900, 400, cache=0, state=0).pool == 0
    assert len(pooled(500, 900, 400, cache=0, state=0).amounts) == 3
    assert pooled(None, None, 400).pool is None
    assert len(pooled(500, 900, 400, cache=0).amounts) == 4  # states are kept


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_what_lies_outside_of_a_share_makes_it_too_large(limit: int, more: int, held: int) -> None:
    """With it the device holds more than it has, and as much as would make the share large enough."""
    visible, needed = limit * 2, limit + more + 1
    found = outside_share(case(visible), held, needed, limit)
    assert held + found.bytes > visible
    assert held + found.bytes >= min(needed * visible // limit, visible) or held > visible
    assert found.numbers == (needed, limit, visible, held)


def test_a_share_of_nothing() -> None:
    """All that is needed comes on top of the device."""
    assert outside_share(case(1000), 100, 50, 0).bytes == 950
    assert outside_share(case(None), 0, 50, 0).bytes == 50
    assert outside_share(case(1000), 5000, 50, 40).bytes == 0


@pytest.mark.parametrize(("name", "kept"), [("h100-sxm-80gb", 400 * MIB), ("m4-max-64gb", 0)])
def test_what_a_driver_keeps(name: str, kept: int) -> None:
    """Of a card what the engine's coefficient says; of a computer's own memory nothing beyond what it reports."""
    device = catalog().accelerator(name)
    assert visible_bytes(device, engine(driver_reserve=400.0 * MIB)) == device.capacity_bytes - kept
    assert visible_bytes(device, engine(driver_reserve=1e15)) == (0 if kept else device.capacity_bytes)


def test_a_case_is_what_was_asked() -> None:
    """Llama 3.1 8B on one of two tensor ranks: half of the weights but for norms, half of the cache."""
    facts = catalog()
    asked, layout = demand("llama-3.1-8b", sequences=3), Layout(tensor=2)
    stage = Stage(asked.architecture, 0, 32)
    known, device = facts.engine("vllm"), facts.accelerator("rtx-4090")
    found = make_case(
        demand=asked,
        layout=layout,
        stage=stage,
        engine=known,
        accelerator=device,
        fraction=0.5,
        batched_tokens=77,
        attention="eager",
        slots=9,
    )
    assert (found.demand, found.layout, found.stage, found.engine) == (asked, layout, stage, known)
    assert (found.accelerator, found.fraction, found.batched_tokens) == (device, 0.5, 77)
    assert (found.attention, found.slots, found.visible) == ("eager", 9, visible_bytes(device, known))
    assert found.budget.weights == 8_030_261_248 + 65 * 4096
    assert found.cache == found.budget.kv_cache == 3 * 2304 * 65536
    assert found.sequences == 3
    assert found.sequence_bytes(100) == 100 * 65536
    assert found.paged_cache(1000) == 3 * 3000 * 65536


def test_a_case_of_a_translator() -> None:
    """T5 keeps the keys of a prompt beside those of its answer; a prompt is no longer than both together."""
    asked = demand("t5-large", prompt_tokens=100, tokens=150)
    found = make_case(
        demand=asked,
        layout=Layout(),
        stage=Stage(asked.architecture, 0, asked.architecture.layer_count),
        engine=catalog().engine("transformers"),
        accelerator=None,
        fraction=None,
        batched_tokens=None,
        attention="flash",
    )
    each = 24 * 2 * 1024 * 2  # keys and values of a token in all layers, of 16 heads of 64
    assert found.visible is None
    assert found.sequence_bytes(150) == (100 + 50) * each
    assert found.sequence_bytes(150, prompt_tokens=20) == (20 + 130) * each
    assert found.sequence_bytes(60) == (60 + 1) * each  # the decoder has a token of its own at least


@pytest.mark.parametrize(("layout", "linked"), [(ALONE, 300), (Layout(tensor=2), 500), (Layout(pipeline=2), 500)])
def test_a_context_that_talks_to_others_is_larger(layout: Layout, linked: int) -> None:
    """What the driver keeps of a device alone, and of one among tensor ranks or stages where an engine says both."""
    both = {"runtime_context": 300.0, "runtime_context_linked": 500.0}
    assert driver_amount(case(layout=layout, **both)).bytes == linked
    assert driver_amount(case(layout=layout, runtime_context=300.0)).bytes == 300


@pytest.mark.parametrize(
    ("device", "threads", "linked"),
    [("rtx-4090", 128 * 1536, 0.42), ("rtx-3090", 82 * 1536, 0.42), ("h100-sxm-80gb", 132 * 2048, 1.01)],
)
def test_a_context_that_talks_over_pcie_is_smaller(device: str, threads: int, linked: float) -> None:
    """Cards that map no memory of each other's keep 0.42 GiB for it, those with NVLink 1.01, beside their threads."""
    asked = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": device, "parallelism": {"tensor": 2}}
    parts: Any = estimate(asked, repairs=False)["memory"]
    context = next(part["bytes"] for part in parts["parts"] if part["id"] == "runtime_context")
    assert context == pytest.approx(linked * 2**30 + threads * 2048, abs=1)


def graph_bytes(**asked: Any) -> int:
    """Return the bytes of the CUDA graphs that vLLM records for Llama 2 13B in 16 bit, 256 sequences at most."""
    scenario = {"model": "llama-2-13b", "engine": "vllm", "context_tokens": 2048, "sequence_slots": 256, **asked}
    parts: Any = estimate(scenario, repairs=False)["memory"]
    return next(int(part["bytes"]) for part in parts["parts"] if part["id"] == "cuda_graphs")


def test_graphs_before_v1_are_of_whole_steps_and_keep_sums_over_pcie() -> None:
    """35 sizes of 40 layers; over PCIe 2,800 sums of two T4 take 588 MiB more, which newer versions do not show."""
    layer = 0.153 * 2**20
    alone = graph_bytes(accelerator="a100-sxm-80gb", engine_version="0.5.4")
    assert alone == pytest.approx(0.12 * 2**30 + 40 * 35 * layer, rel=1e-6)
    ranks = {"parallelism": {"tensor": 2}}
    assert graph_bytes(accelerator="a100-sxm-80gb", engine_version="0.5.4", **ranks) == alone
    sums = graph_bytes(accelerator="t4", engine_version="0.5.4", **ranks) - alone
    assert sums == pytest.approx(2 * 40 * 35 * 0.21 * 2**20, rel=1e-6)
    newer = {"accelerator": "t4", "engine_version": "0.10.1"}
    assert graph_bytes(**newer, **ranks) == graph_bytes(**newer)


def test_llama_cpp_kept_whole_caches_of_windows_once() -> None:
    """Until May 2025 all 48 layers of Gemma 3 12B kept all tokens: 12 GiB of 32,768, of which 2.47 are left."""
    sizes = {}
    for build in ("b5000", "b6000"):
        asked = {"model": "gemma-3-12b", "weights": "q4_k_m", "engine": "llama.cpp", "context_tokens": 32768}
        memory: Any = estimate({**asked, "engine_version": build}, repairs=False)["memory"]
        sizes[build] = next(part["bytes"] for part in memory["parts"] if part["id"] == "kv_cache")
    assert sizes["b5000"] == 48 * 32768 * 2 * 8 * 256 * 2 and 2 * 2**30 < sizes["b6000"] < 3 * 2**30


@pytest.mark.parametrize(
    ("model", "weights", "tensor", "more"),
    [
        ("llama-3.1-8b", "bf16", 1, 131072 * 128 * 2),
        ("llama-3.1-8b", "bf16", 2, 131072 * 128 * 2),  # each rank has all of the table
        ("qwen3-8b", "bf16", 1, 40960 * 128 * 2),
        ("deepseek-v3", "bf16", 16, 163840 * 64 * 2),
        ("deepseek-v3", "fp8", 8, 163840 * 64 * 2 + 61 * 16 * 256 * 512 * 2),
    ],
)
def test_vllm_makes_a_table_of_positions_and_copies_what_it_absorbs(
    model: str, weights: str, tensor: int, more: int
) -> None:
    """Positions times rotated elements in two bytes; of stored 8 bits the matrices of latent attention in 16 bit."""
    asked = {"model": model, "weights": weights, "parallelism": {"tensor": tensor}}
    bare, served = (estimate({**asked, "engine": engine}, repairs=False) for engine in ("none", "vllm"))
    bare_bytes, served_bytes = (
        next(part["bytes"] for part in found["memory"]["parts"] if part["id"] == "weights")  # type: ignore[index]
        for found in (bare, served)
    )
    assert served_bytes - bare_bytes == more


def test_a_share_of_a_head_is_rotated() -> None:
    """GLM-4 rotates half of each head, Qwen3 Next a quarter of 256, DeepSeek-V3 64 elements, GPT-2 none."""
    asked = {"glm-4-9b": 64, "qwen3-next-80b-a3b": 64, "deepseek-v3": 64, "gpt2": 0, "llama-3.1-8b": 128}
    for model, rotated in asked.items():
        kinds = known_architecture(catalog(), model).kinds
        assert {kind.attention.rotated for kind in kinds if kind.attention is not None} == {rotated}


@pytest.mark.parametrize(
    ("version", "tokens", "step"), [("0.5.2", 65536, 65536), ("0.5.3", 65536, 2048), ("0.5.3", 16384, 16384)]
)
def test_prompts_of_any_length_were_read_whole_once(version: str, tokens: int, step: int) -> None:
    """vLLM reads prompts of more than 32,768 tokens in pieces since 0.5.3 (pull request 6666)."""
    asked = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-a6000", "context_tokens": tokens}
    report: Any = estimate({**asked, "engine_version": version})
    assert report["scenario"]["batched_tokens"] == step
