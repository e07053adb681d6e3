"""What a report says of an engine: sequences, totals, ranges and host memory, worked out by hand."""

from types import SimpleNamespace
from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.derivation import Step
from calc.memory.runtime import ALLOCATED, DEVICE, RESERVED, Amount
from calc.planning.fit import MOST_SEQUENCES
from calc.planning.served import bounded
from calc.planning.serving_report import amount_steps, pool_tokens, total_range

LLAMA: dict[str, Any] = {"model": "llama-3-8b", "weights": "fp16", "context_tokens": 512}
TABLE = 128256 * 4096 * 2  # bytes of its token table, and of its output matrix
LAYER = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096)  # of one of its 32 layers
TOKEN = 2 * 1024 * 2  # of the cache of a token in a layer
MISSED = int(1000 * catalog().entries("ranges")["memory_total"]["inside"])  # of as many bytes, at first sight


def memory(**scenario: object) -> dict[str, Any]:
    """Return the memory of a report."""
    found: Any = estimate(scenario)["memory"]
    return found


def amount(name: str, size: int, scope: str = ALLOCATED) -> Amount:
    """Return one use of memory."""
    return Amount(name, f"{name.capitalize()} of a device", size, scope)


def served(*amounts: Amount, values: dict[str, float], pool: int | None = None) -> Any:
    """Return what an engine with these coefficients holds."""
    found = SimpleNamespace(
        amounts=amounts,
        pool=pool,
        scoped=lambda *scopes: sum(item.bytes for item in amounts if item.scope in scopes),
    )
    return SimpleNamespace(runtime=found, serving=SimpleNamespace(engine=SimpleNamespace(values=values)))


def test_llama_cpp_leaves_the_token_table_to_the_host() -> None:
    """With all layers on the device the host has the table of 128,256 × 4,096 in 16 bit."""
    assert memory(**LLAMA, engine="llama.cpp")["host_bytes"] == TABLE


def test_llama_cpp_leaves_the_first_layers_to_the_host_with_their_cache() -> None:
    """With 12 of 32 layers on the device the host has the table, 20 layers, and 512 cells of cache for each."""
    found = memory(**LLAMA, engine="llama.cpp", accelerator="rtx-4090", gpu_layers=12)
    assert found["host_bytes"] == TABLE + 20 * (LAYER + 512 * TOKEN)


def test_two_devices_share_the_layers_that_the_host_does_not_have() -> None:
    """Twelve layers as two stages of six hold no less together."""
    asked = {**LLAMA, "engine": "llama.cpp", "accelerator": "rtx-4090", "gpu_layers": 12}
    found = memory(**asked, parallelism={"pipeline": 2})
    assert found["host_bytes"] == TABLE + 20 * (LAYER + 512 * TOKEN)


def test_states_of_layers_in_host_memory_are_there_too() -> None:
    """Of Mamba 2 the host has states of 48 of 64 layers, and no cache."""
    asked = {"model": "codestral-mamba-7b", "weights": "fp16", "engine": "llama.cpp", "accelerator": "rtx-4090"}
    whole, part = (memory(**asked, **more) for more in ({}, {"gpu_layers": 16}))

    def held(found: dict[str, Any]) -> int:
        return sum(part["bytes"] for part in found["parts"] if part["id"] in ("weights", "kv_cache", "recurrent_state"))

    assert part["host_bytes"] - whole["host_bytes"] == held(whole) - held(part)
    states = [next(p["bytes"] for p in found["parts"] if p["id"] == "recurrent_state") for found in (whole, part)]
    assert states[1] == states[0] // 4 > 0


@pytest.mark.parametrize("engine", ["vllm", "transformers"])
def test_other_engines_leave_nothing_to_the_host(engine: str) -> None:
    """Their reports have no such field."""
    assert "host_bytes" not in memory(**LLAMA, engine=engine)


@pytest.mark.parametrize(
    ("engine", "model", "phase"), [("vllm", "llama-3-8b", "head"), ("llama.cpp", "llama-65b", "layer")]
)
def test_the_phase_with_most(engine: str, model: str, phase: str) -> None:
    """vLLM profiles its sampler's logits, which are wider than a layer; of llama.cpp's buffer an MLP of 22,016 is."""
    assert memory(model=model, engine=engine, context_tokens=512)["phase"] == phase


def test_totals_are_of_what_each_counter_sees() -> None:
    """PyTorch's allocator sees its tensors, then its blocks, and the driver the context on top."""
    found = memory(**LLAMA, engine="transformers", accelerator="h100-sxm-80gb")
    sizes = {part["id"]: part["bytes"] for part in found["parts"]}
    assert found["reserved_bytes"] - found["allocated_bytes"] == sizes["allocator_reserve"] > 0
    assert found["device_bytes"] - found["reserved_bytes"] == sizes["runtime_context"] > 0
    assert found["sequences"] == 1


def test_all_devices_hold_what_their_stages_hold() -> None:
    """Two copies of a model in two stages: twice the sum of the stages, each divided by two tensor ranks."""
    asked = {**LLAMA, "engine": "transformers"}
    one = memory(**asked, parallelism={"pipeline": 2})["sum_over_devices_bytes"]
    assert memory(**asked, parallelism={"pipeline": 2, "data": 2})["sum_over_devices_bytes"] == 2 * one


@pytest.mark.parametrize(
    ("values", "reserved", "ends"),
    [
        ({"range_weights": 0.01, "range_rest": 0.5}, True, [594 + 150, 606 + 600]),
        ({"range_weights": 0.01, "range_rest": 0.5}, False, [594 + 200, 606 + 600]),
        ({"range_weights": 0.01, "range_low": 0.9, "range_high": 1.2}, True, [594 + 270, 606 + 480]),
        ({"range_weights": 0.0}, True, [900, 1000 + MISSED]),
        ({"range_weights": 0.0, "range_low": 1.5, "range_high": 0.5}, False, [1000 - MISSED, 1000 + MISSED]),
    ],
)
def test_the_range_of_a_total(values: dict[str, float], reserved: bool, ends: list[int]) -> None:
    """600 bytes of weights, 300 others, and 100 that the allocator may give back, which the lower end leaves out.

    It is no narrower than what was missed at first sight of 1,000 bytes.
    """
    parts = [amount("weights", 600), amount("activations", 300), amount("allocator_reserve", 100, RESERVED)]
    assert total_range(served(*parts, values=values), 1000, reserved) == ends


def test_the_range_of_a_share_is_what_lies_outside() -> None:
    """Half of 90 bytes either way; where drivers may keep graphs three times, 2 × 40 bytes more in the upper end."""
    parts = [amount("weights", 500), amount("runtime_context", 50, DEVICE), amount("cuda_graphs", 40, DEVICE)]
    for kept, above in ((1.0, 45), (3.0, 125)):
        found = served(*parts, values={"range_weights": 0.5, "graphs_kept": kept}, pool=0)
        found.runtime.fits, found.runtime.used, found.runtime.needed = True, 590, 500
        found.runtime.bytes_of = lambda part: {"cuda_graphs": 40}[part]
        assert total_range(found, 2000, True) == [1955, 2000 + above]


@pytest.mark.parametrize(
    ("held", "formula", "numbers"),
    [
        (130, r"M + M_{\text{difference}}", "100 + 30"),
        (2_000_100, r"M + M_{\text{difference}}", "100 + 2,000,000"),
        (70, r"M - M_{\text{difference}}", "100 − 30"),
    ],
)
def test_an_engine_that_stores_otherwise_says_by_how_much(held: int, formula: str, numbers: str) -> None:
    """A last step leads from what the mathematics needs to what the engine holds."""
    needed = Step("Weights", "M", "50 + 50", 100.4, unit="B", source="transformers")
    first, last = amount_steps(amount("weights", held), [needed])
    assert first == needed
    assert last == Step("Weights of a device as the engine holds it", formula, numbers, held, "B", "transformers")


def test_an_engine_that_stores_as_much_says_nothing_more() -> None:
    """The steps of the mathematics stand alone where their rounded end is the amount; an amount's own comes first."""
    needed = Step("Weights", "M", "50 + 50", 100.4, unit="B", source="transformers")
    assert amount_steps(amount("weights", 100), [needed]) == [needed]
    assert amount_steps(amount("weights", 100), []) == []
    own = amount("logits", 12)._replace(formula="a b", template="{} × {}", numbers=(3, 4), source="vllm")
    assert amount_steps(own, [needed]) == [Step("Logits of a device", "a b", "3 × 4", 12, "B", "vllm")]


@pytest.mark.parametrize(
    ("most", "shown"),
    [(None, None), (0, 0), (5, 5), (MOST_SEQUENCES - 2, MOST_SEQUENCES - 2), (MOST_SEQUENCES - 1, None)],
)
def test_memory_that_bounds_nothing_is_not_said_to(most: int | None, shown: int | None) -> None:
    """The end of the search is no answer."""
    found: Any = SimpleNamespace(most=most)
    assert bounded(found) == shown


def test_tokens_of_a_pool() -> None:
    """300 bytes of a cache of 100 for 2 sequences of 50 tokens hold 300 tokens; a model without cache holds none.

    Two that would be 60 bytes larger without what they share are counted as if they shared nothing.
    """

    def found(saved: int) -> Any:
        engine = SimpleNamespace(id="tensorrt-llm", values={"block_tokens": 16.0})
        case = SimpleNamespace(
            stage=SimpleNamespace(kind_counts=lambda: ()),
            budget=SimpleNamespace(recurrent_state=0),
            sequences=2,
            saved_cache=lambda block_tokens: saved * block_tokens // 16,
            engine=engine,
        )
        return SimpleNamespace(case=case, demand=SimpleNamespace(tokens=50), serving=SimpleNamespace(engine=engine))

    assert pool_tokens(found(0), 300, 100) == 300
    assert pool_tokens(found(0), 99, 100) == 99
    assert pool_tokens(found(0), 300, 0) == 0
    assert pool_tokens(found(60), 300, 100) == 300 * 100 // 160


SERVED: dict[str, Any] = {"model": "llama-3.1-8b", "engine": "vllm", "prompt_tokens": 1024, "output_tokens": 128}


def test_sglang_lets_in_fewer_of_deepseek_v4() -> None:
    """256 in all, which data ranks divide, unless it is set up for another number (apply_deepseek_v4_defaults)."""
    asked: dict[str, Any] = {
        "model": "deepseek-v4-flash",
        "engine": "sglang",
        "accelerator": "b200-sxm-180gb",
        "parallelism": {"data": 4, "expert": 4},
        "concurrency": 1024,
    }
    usual: Any = estimate(asked)["memory"]["sequences"]
    more: Any = estimate({**asked, "sequence_slots": 128})["memory"]["sequences"]
    assert (usual, more) == (256, 512)


@pytest.mark.parametrize(("ranks", "slots", "held"), [(1, 8, 8), (2, 8, 16), (1, 64, 40)])
def test_requests_in_a_server_hold_the_slots_that_they_have(ranks: int, slots: int, held: int) -> None:
    """Of 40 requests each replica works on as many as it has slots for, with a device and without."""
    asked = {**SERVED, "concurrency": 40, "sequence_slots": slots, "parallelism": {"data": ranks}}
    assert memory(**asked)["sequences"] == held
    assert memory(**asked, accelerator="h100-sxm-80gb")["sequences"] == held


def test_requests_in_a_server_hold_no_more_than_fits() -> None:
    """On a card of 24 GB a 7B in 16 bit has room for fewer than 1,000 requests; the others wait."""
    found = memory(**SERVED, concurrency=1000, accelerator="rtx-4090")
    assert 0 < found["sequences"] == found["max_sequences"] < 1000
    assert memory(**SERVED, concurrency=1, accelerator="rtx-4090")["sequences"] == 1
    none = memory(**{**SERVED, "model": "llama-3.1-70b"}, concurrency=1000, accelerator="rtx-4090")
    assert (none["sequences"], none["max_sequences"], none["fits"]) == (1, 0, False)


def test_as_many_as_fit_in_all_replicas() -> None:
    """ "max" is what each replica has room or slots for, times the replicas; 1 where not even one fits."""
    asked = {**SERVED, "sequences": "max", "accelerator": "rtx-4090"}
    one, two = (memory(**asked, parallelism={"data": ranks}) for ranks in (1, 2))
    assert one["sequences"] == one["max_sequences"]
    assert two["sequences"] == two["max_sequences"] == 2 * one["sequences"]
    few = memory(**asked, sequence_slots=3, parallelism={"data": 2})
    assert (few["sequences"], few["max_sequences"]) == (6, memory(**asked, sequence_slots=3)["max_sequences"] * 2)
    none = memory(**{**asked, "model": "llama-3.1-70b"})
    assert (none["sequences"], none["max_sequences"]) == (1, 0)


@pytest.mark.parametrize("engine", ["vllm", "none"])
def test_as_many_as_fit_needs_a_device(engine: str) -> None:
    """The field that asks for it is named."""
    with pytest.raises(ScenarioError, match=r'^sequences: "max" needs an accelerator: as many as fit on what'):
        estimate({**SERVED, "engine": engine, "sequences": "max"})


@pytest.mark.parametrize("model", ["gemma-4-e4b", "gpt-oss-20b", "gemma-3-12b", "llama-3-8b"])
def test_sglang_s_pool_has_the_tokens_of_the_sequences_that_fit(model: str) -> None:
    """Windows free no room there, so that as many sequences fit as the pool's tokens make up."""
    asked = {"prompt_tokens": 8192, "output_tokens": 1024, "sequences": 1}
    found = memory(model=model, engine="sglang", accelerator="h200-sxm-141gb", **asked)
    assert found["kv_pool_tokens"] // 9216 == pytest.approx(found["max_sequences"], abs=1)
