"""llama.cpp's compute buffer: what builds of it reserve, and how a server's slots and several devices change it.

The sizes were printed by llama.cpp b11739 itself, asked for a context on models of these shapes whose layers all stood
on one device (an RPC device of another process), with an FP16 cache.
"""

from types import SimpleNamespace
from typing import Any

import pytest

from calc import estimate
from calc.catalog import catalog
from calc.memory.budget import Layout
from calc.memory.compute_buffer import attention_elements
from calc.memory.stored_weights import whole_model
from calc.scenario.model import known_architecture

MIB = 2**20
RESERVED = [  # model, tokens of a sequence, micro-batch, slots, MiB
    ("llama-3.1-8b", 4096, 512, 1, 120.01),
    ("llama-3.1-8b", 32768, 512, 1, 148.01),
    ("llama-3.1-8b", 4096, 2048, 1, 480.05),
    ("llama-3.1-8b", 4096, 512, 4, 120.01),
    ("llama-3.3-70b", 4096, 512, 1, 236.01),
    ("qwen3-8b", 4096, 512, 1, 108.01),
    ("qwen2.5-7b", 4096, 512, 1, 143.01),
    ("gemma-3-4b", 8192, 512, 1, 89.52),
    ("gemma-4-31b", 8192, 512, 1, 177.52),
    ("gemma-4-e2b", 8192, 512, 1, 128.02),
    ("qwen3-30b-a3b", 4096, 512, 1, 88.01),
    ("qwen3-30b-a3b", 4096, 2048, 1, 352.05),
    ("qwen3-235b-a22b", 4096, 512, 1, 172.01),
    ("mixtral-8x7b", 4096, 512, 1, 204.01),
    ("gpt-oss-20b", 4096, 512, 1, 94.77),
    ("qwen3.5-27b", 4096, 512, 1, 146.02),
    ("qwen3.5-27b", 32768, 512, 1, 174.02),
    ("qwen3.5-4b", 262144, 512, 1, 330.02),
    ("qwen3.5-35b-a3b", 4096, 512, 1, 76.02),
    ("qwen3.5-35b-a3b", 4096, 2048, 1, 304.08),
    ("deepseek-v3", 4096, 512, 1, 396.01),
    ("deepseek-v3", 16384, 512, 1, 408.01),
]
EAGER = [("llama-3.1-8b", 308.01), ("qwen3-8b", 308.01), ("qwen3-30b-a3b", 298.01), ("qwen3.5-35b-a3b", 178.02)]
ALL_LOGITS = [("llama-3.1-8b", 286.52), ("llama-3.3-70b", 318.52), ("qwen3-8b", 332.77)]


def parts(**scenario: object) -> dict[str, int]:
    """Return the bytes of each part under llama.cpp."""
    found: Any = estimate({"engine": "llama.cpp", "weights": "q4_0", **scenario})
    return {part["id"]: part["bytes"] for part in found["memory"]["parts"]}


def buffer(**scenario: object) -> float:
    """Return the compute buffer in MiB."""
    found = parts(**scenario)
    return (found.get("activations", 0) + found.get("logits", 0)) / MIB


@pytest.mark.parametrize(("model", "tokens", "micro_batch", "slots", "reserved"), RESERVED)
def test_a_buffer_is_what_a_build_reserves(
    model: str, tokens: int, micro_batch: int, slots: int, reserved: float
) -> None:
    """Each is met within a tenth of a percent: dense and gated models, mixtures, windows, states, latent attention."""
    asked = {"model": model, "context_tokens": tokens, "batched_tokens": micro_batch, "sequences": slots}
    assert buffer(**asked, sequence_slots=slots) == pytest.approx(reserved, rel=1e-3)


@pytest.mark.parametrize(("model", "reserved"), EAGER)
def test_a_buffer_holds_the_scores_where_they_are_stored(model: str, reserved: float) -> None:
    """At 4,096 tokens without attention in tiles, as b11739 reserves it."""
    found = buffer(model=model, context_tokens=4096, attention="eager", sequence_slots=1)
    assert found == pytest.approx(reserved, rel=1e-3)


@pytest.mark.parametrize(("model", "reserved"), ALL_LOGITS)
def test_logits_of_every_position_are_reserved_if_asked_for(model: str, reserved: float) -> None:
    """At 4,096 tokens with outputs for the whole micro-batch, as tools that read all of them have it."""
    found = buffer(model=model, context_tokens=4096, prompt_logits="all", sequence_slots=1)
    assert found == pytest.approx(reserved, rel=1e-3)


def test_builds_before_june_2026_reserve_logits_of_a_micro_batch() -> None:
    """Llama 3 8B on an M1: (128256 + 4096) × 512 × 4 bytes are 258.5 MiB; 65B of 32,000 words had a wider MLP."""
    assert buffer(model="llama-3-8b", context_tokens=512, engine_version="b4000") == 258.5  # scores are smaller
    assert buffer(model="llama-65b", context_tokens=512, engine_version="b2000", attention="flash") == 119


def test_a_server_has_four_slots_that_share_a_context() -> None:
    """A window of 128 with a micro-batch of 2,048 takes 2,304 cells for one sequence and 2,560 for four."""
    asked = {"model": "gpt-oss-20b", "context_tokens": 131072, "batched_tokens": 2048}
    assert parts(**asked, engine_version="b6100")["kv_cache"] == (3072 + 54) * MIB
    assert parts(**asked)["kv_cache"] == (3072 + 60) * MIB


def test_each_slot_has_a_recurrent_state() -> None:
    """Qwen3.5 27B keeps 149.6 MiB of states of a sequence in 48 layers: four times that by default."""
    states = [
        parts(model="qwen3.5-27b", context_tokens=4096, **more)["recurrent_state"] / MIB
        for more in ({"sequence_slots": 1}, {}, {"sequence_slots": 8})
    ]
    assert states == [pytest.approx(times * 9.352 * 48 / 3, rel=1e-3) for times in (1, 4, 8)]


def test_stated_slots_have_cells_of_their_own() -> None:
    """With --parallel 8 the cache of eight sequences is there for one; without, that of one is shared."""
    asked = {"model": "llama-3.1-8b", "context_tokens": 4096}
    assert parts(**asked, sequence_slots=8)["kv_cache"] == 8 * parts(**asked)["kv_cache"]


def test_a_quantized_cache_is_unpacked_for_a_prompt() -> None:
    """Qwen3.5 4B at 262,144 tokens: a layer's keys and values in FP16 are 1,024 MiB; 1.30 GiB were measured on CUDA."""
    asked = {"model": "qwen3.5-4b", "context_tokens": 262144, "sequence_slots": 1, "accelerator": "rtx-3090"}
    plain, packed = buffer(**asked), buffer(**asked, kv_cache="q8_0")
    assert plain == pytest.approx(0.31 * 1024, rel=0.05)
    assert packed == pytest.approx(1330, rel=0.02)
    assert buffer(**{**asked, "accelerator": "m4-max-64gb"}, kv_cache="q8_0") == plain


def test_several_devices_keep_four_copies_of_the_inputs() -> None:
    """The mask grows by 8 bytes a token of context and of the micro-batch on each of two devices, and by 2 on one."""
    asked = {"model": "llama-3.1-8b", "sequence_slots": 1}
    for pipeline, each in ((1, 2), (2, 8)):
        short, long = (
            buffer(**asked, context_tokens=tokens, parallelism={"pipeline": pipeline}) for tokens in (8192, 32768)
        )
        assert (long - short) * MIB == each * 512 * (32768 - 8192)


def test_devices_are_no_pipeline_where_the_host_holds_a_part() -> None:
    """With experts on the host the inputs are there once: the buffer is that of one device."""
    asked = {"model": "qwen3-30b-a3b", "context_tokens": 8192, "sequence_slots": 1, "experts_on_host": "all"}
    assert buffer(**asked, parallelism={"pipeline": 2}) == buffer(**asked)


def test_tables_that_rows_are_looked_up_in_stay_on_the_host() -> None:
    """Gemma 4 E2B in Q4_0: 1.3 GiB on the card, 1.8 of tables for each layer and 0.3 of the tied one on the host."""
    report: Any = estimate({"model": "gemma-4-e2b", "engine": "llama.cpp", "weights": "q4_0", "context_tokens": 4096})
    memory = report["memory"]
    weights = next(part["bytes"] for part in memory["parts"] if part["id"] == "weights")
    assert weights == pytest.approx(1.3 * 2**30, rel=0.03)
    assert memory["host_bytes"] == pytest.approx(2.1 * 2**30, rel=0.03)


@pytest.mark.parametrize(
    ("more", "attention", "mebibytes"),
    [
        ({"engine_version": "b4000"}, "eager", 2144.0),
        ({"engine_version": "b6326"}, "eager", 2144.0),
        ({"engine_version": "b6327"}, "flash", 258.5),
        ({"engine_version": "b4000", "attention": "flash"}, "flash", 258.5),
        ({"engine_version": "b4000", "kv_cache": "q8_0"}, "flash", 258.5),
    ],
)
def test_older_builds_store_scores_unless_they_are_told(more: dict[str, Any], attention: str, mebibytes: float) -> None:
    """Before b6327 Llama 3.1 8B had scores of 32 heads for 512 tokens by 32,768 cells in FP32, 2,048 MiB of a buffer of
    2,144 as its logs had it; -fa, and values in fewer bits, which need it, left the logits of a micro-batch."""
    asked: Any = {"model": "llama-3.1-8b", "weights": "q4_k_m", "engine": "llama.cpp", "accelerator": "rtx-3090"}
    report: Any = estimate({**asked, "context_tokens": 32_768, **more})
    parts = {part["id"]: part["bytes"] for part in report["memory"]["parts"]}
    assert report["scenario"]["attention"] == attention
    assert (parts.get("activations", 0) + parts.get("logits", 0)) / 2**20 == mebibytes


@pytest.mark.parametrize(
    ("model", "tensor", "elements"),
    [
        ("llama-3.1-8b", 1, 2 * 4096),  # keys and values of 2,048 stand in place of the input
        ("llama-3.1-8b", 2, 2 * 2048),
        ("llama-2-7b", 1, 2 * 4096 + 2 * 4096),  # of 8,192 they do not
        ("llama-2-7b", 2, 2 * 2048),
        ("deepseek-v3", 1, 128 * (2 * 576 + 192)),
    ],
)
def test_attention_in_tiles(model: str, tensor: int, elements: int) -> None:
    """Queries and output, and keys and values that are more than the stream; latent vectors of each head."""
    architecture = known_architecture(catalog(), model)
    case: Any = SimpleNamespace(stage=whole_model(architecture), layout=Layout(tensor=tensor))
    kind = architecture.kinds[0]
    assert kind.attention is not None
    assert attention_elements(kind, kind.attention, case) == elements


def test_a_micro_batch_is_bounded_by_the_cells_of_all_slots() -> None:
    """Its tokens are those of any sequences: five slots of 4,096 cells hold 8,192, as four that share theirs do."""
    asked = {"model": "nemotron-h-4b-base-8k", "engine": "llama.cpp", "context_tokens": 4096, "batched_tokens": 8192}
    for sequences in (1, 2, 4, 5, 8):
        report: Any = estimate({**asked, "sequences": sequences})
        (held,) = (part for part in report["memory"]["parts"] if part["id"] == "activations")
        wide = "4,096" if sequences == 1 else "8,192"
        assert held["steps"][-1]["substituted"].startswith(f"{wide} × ")


UNDIVIDED = {
    "model": "qwen3-30b-a3b",
    "engine": "llama.cpp",
    "engine_version": "b6055",
    "backend": "vulkan",
    "accelerator": "Ryzen AI Max+ 395",
    "weights": "q8_0",
    "context_tokens": 70_000,
    "attention": "eager",
}


def test_vulkan_gives_no_more_than_four_gibibytes_in_one_piece() -> None:
    """llama.cpp's issue 15009: 4,757,131,264 bytes were refused where 96 GB stood free; a later build divides them."""
    report: Any = estimate(UNDIVIDED)
    memory = report["memory"]
    buffer = next(part["bytes"] for part in memory["parts"] if part["label"].startswith("Compute buffer"))
    assert buffer == pytest.approx(4_757_131_264, rel=1e-3)
    assert memory["fits"] is False and memory["chance"] == 0 and memory["headroom_bytes"] > 50 * 2**30
    assert "piece-too-large" in {warning["code"] for warning in report["warnings"]}
    assert [next(iter(repair["change"])) for repair in report["repairs"]] == ["context_tokens"]
    for change in ({"engine_version": "b6700"}, {"backend": "rocm"}, {"attention": "flash"}, {"batched_tokens": 256}):
        changed: Any = estimate({**UNDIVIDED, **change}, repairs=False)["memory"]
        assert changed["fits"] is True
