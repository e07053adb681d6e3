"""A training step: operations against published formulas, the pipeline's bubble by hand, and what never gets faster."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from calc.architecture.stages import stages
from calc.catalog import catalog
from calc.performance.operations import Experts, Product
from calc.performance.token_flops import token_flops
from calc.performance.totals import total_flops
from calc.performance.training_passes import StepPasses, step_passes
from calc.performance.training_step import prepare, step_time
from calc.training.reading import read_training

SMALL: dict[str, Any] = {
    "workload": "training",
    "model": "llama-3.2-1b",
    "accelerator": "a100-sxm-80gb",
    "micro_batch": 2,
    "sequence_tokens": 2048,
}
GPT = {
    "config": {
        "model_type": "gpt2",
        "n_embd": 12288,
        "n_layer": 96,
        "n_head": 96,
        "vocab_size": 51200,
        "n_positions": 2048,
    }
}
FIGURES = (
    "tokens_per_s_per_device",
    "step_s",
    "model_flops_utilization",
    "tflops_per_device",
    "hardware_tflops_per_device",
    "duration_s",
)


def products(passes: StepPasses) -> tuple[float, float]:
    """Return the operations of matrix products forward and backward."""
    return total_flops(passes.forward, Product, Experts), total_flops(passes.backward, Product, Experts)


def speed(**changes: Any) -> Any:
    """Return the speed of a scenario."""
    return estimate({**SMALL, **changes})["speed"]


def typical(**changes: Any) -> float:
    """Return the seconds of a scenario's step."""
    return float(speed(**changes)["step_s"]["typical"])


def test_operations_of_gpt_3_are_those_of_megatron() -> None:
    """Megatron-LM (arXiv:2104.04473, section 5.1): 96 B s L h² (1 + s / 6h + V / 16Lh), recomputation counted.

    Of all pairs, that is: as its program counts today, the mask leaves s + 1 of 2 s.
    """
    plan = read_training({**SMALL, "model": GPT, "checkpointing": "full"}, catalog()).plan
    hidden, layers, tokens, vocab = 12288, 96, 2048, 51200
    published = 96 * layers * hidden**2 * (1 + (tokens + 1) / 2 / (6 * hidden) + vocab / (16 * layers * hidden))
    assert token_flops(plan).hardware == pytest.approx(published, rel=1e-12)


def test_utilization_of_mpt_7b_is_that_of_its_source() -> None:
    """llm-foundry: 4,641 tokens a second on an A100 are 64.23 % of its rate, 200 TFLOPS, with all pairs counted."""
    config = {
        "model_type": "mpt",
        "d_model": 4096,
        "n_heads": 32,
        "n_layers": 32,
        "vocab_size": 50368,
        "max_seq_len": 2048,
    }
    plan = read_training({**SMALL, "model": {"config": config}}, catalog()).plan
    flops = token_flops(plan)
    assert 4641 * (flops.of_matrices + flops.of_attention * 4096 / 2049) == pytest.approx(0.6423 * 312e12, rel=0.005)


@pytest.mark.parametrize("changes", [{}, {"attention": "flash-3"}, {"checkpointing": "full"}, {"method": "lora"}])
@pytest.mark.parametrize("accelerator", ["h200-sxm-141gb", "b200-sxm-180gb", "h20-96gb"])
def test_no_length_uses_more_than_a_device_has(accelerator: str, changes: dict[str, Any]) -> None:
    """Attention is most of the work at a million tokens, and half of its pairs are masked: they are no use of a GPU."""
    long = {"model": "llama-3.2-1b", "accelerator": accelerator, "sequence_tokens": 1_048_576, **changes}
    used = speed(**long)["model_flops_utilization"]
    assert 0.1 < used["typical"] < used["high"] < 1


def test_every_figure_has_a_range_around_it() -> None:
    """Low, typical and high of the contract's figures, and a run lasts as its tokens take."""
    found = speed(training_tokens=10**9)
    for name in FIGURES:
        assert found[name]["low"] < found[name]["typical"] < found[name]["high"]
    assert found["duration_s"]["typical"] == pytest.approx(1e9 / found["tokens_per_s_per_device"]["typical"])
    assert found["step_s"]["typical"] * found["tokens_per_s_per_device"]["typical"] == pytest.approx(2 * 2048)
    assert sum(found["step_shares"].values()) == pytest.approx(1)
    assert found["bound_by"] == max(found["step_shares"], key=found["step_shares"].__getitem__)


def test_stages_alike_wait_for_their_share() -> None:
    """1F1B (arXiv:2104.04473): of m micro-batches through p stages (p - 1) / (m + p - 1) of the time is waiting."""
    scenario = {**SMALL, "model": GPT, "parallelism": {"tensor": 8, "pipeline": 8}, "gradient_accumulation": 24}
    asked = read_training(scenario, catalog())
    assert asked.accelerator is not None
    prepared = prepare(asked.plan, asked.accelerator)
    assert prepared is not None
    found = step_time(prepared, catalog().training_step.values)
    bubble = found.bubble_s / found.pipeline_s
    assert bubble == pytest.approx(7 / 31, rel=0.03)  # the last stage has the output matrix as well


def test_frozen_matrices_have_no_gradients() -> None:
    """Under LoRA a backward pass does as much as a forward pass, and not twice as much; adapters add little."""
    plans = [
        read_training(
            {**SMALL, "method": method, **({"lora": {"rank": 8}} if method == "lora" else {})}, catalog()
        ).plan
        for method in ("full", "lora")
    ]
    forward, backward = zip(
        *(products(step_passes(plan, stages(plan.architecture, 1)[0])) for plan in plans), strict=True
    )
    assert backward[0] == pytest.approx(2 * forward[0])
    assert backward[1] == pytest.approx(forward[0], rel=0.05)
    assert [token_flops(plan).passes for plan in plans] == [3, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"checkpointing": "full"},
        {"gradient_accumulation": 2},
        {"attention": "eager"},
        {"accelerator": "v100-sxm-32gb"},
        {"parallelism": {"data": 16}, "network_gbit_per_s": 10},
        {"parallelism": {"data": 8}, "accelerator": "a100-pcie-80gb", "sharding": "zero-3"},
        {"sequence_tokens": 4096},
    ],
)
def test_more_to_do_takes_longer(changes: dict[str, Any]) -> None:
    """A step is not faster when it computes twice, waits for a slow network or link, or has more to do."""
    assert typical(**changes) > typical()


@settings(max_examples=40, deadline=None)
@given(
    micro=st.integers(1, 16),
    tokens=st.sampled_from((128, 1024, 4096)),
    data=st.sampled_from((1, 2, 8, 64)),
    sharding=st.sampled_from(("none", "zero-1", "zero-2", "zero-3")),
    checkpointing=st.sampled_from(("none", "selective", "full")),
)
def test_no_device_does_more_than_its_rate(
    micro: int, tokens: int, data: int, sharding: str, checkpointing: str
) -> None:
    """Operations that are really done stay below the data sheet's rate, and larger micro-batches are no slower."""
    layout = {"parallelism": {"data": data}, "sharding": sharding, "checkpointing": checkpointing}
    one = speed(micro_batch=micro, sequence_tokens=tokens, **layout)
    two = speed(micro_batch=2 * micro, sequence_tokens=tokens, **layout)
    assert 0 < one["hardware_tflops_per_device"]["typical"] < 312
    ratio = two["tokens_per_s_per_device"]["typical"] / one["tokens_per_s_per_device"]["typical"]
    assert 0.999 < ratio < 2.01


def test_offload_takes_its_time() -> None:
    """An optimizer in host memory takes longer than one on the device, which is a small part of a step."""
    sharded = {"parallelism": {"data": 8}, "sharding": "zero-2"}
    on_host = speed(**sharded, offload=["optimizer"])
    assert on_host["step_shares"]["optimizer"] > 2 * speed(**sharded)["step_shares"]["optimizer"]


def test_activations_are_copied_beside_computing() -> None:
    """Copies that take less than computing cost nothing; where they take more, a step is as long as they are."""
    asked = {"sequence_tokens": 4096, "checkpointing": "full", "offload": ["activations"]}
    held = speed(**{**asked, "offload": []})["step_s"]["typical"]
    assert speed(**asked)["step_s"]["typical"] == pytest.approx(held, rel=1e-3)
    kept = {**asked, "checkpointing": "none"}
    assert speed(**kept)["step_s"]["typical"] > 1.5 * speed(**{**kept, "offload": []})["step_s"]["typical"]


def test_no_device_no_speed() -> None:
    """Without an accelerator, or with one whose rates are not known, there is memory alone."""
    report = estimate({name: value for name, value in SMALL.items() if name != "accelerator"})
    assert report["speed"] is None
    assert report["cost"] is None


@pytest.mark.parametrize("value", ["fast", -1, True, 0])
def test_a_network_that_cannot_be_is_refused(value: object) -> None:
    """The message says what would work."""
    with pytest.raises(ScenarioError, match="Gb/s"):
        speed(network_gbit_per_s=value)


def test_a_run_costs_what_its_devices_cost() -> None:
    """Rent and energy are those of all devices for as long as the run lasts."""
    report: Any = estimate({**SMALL, "accelerators": 4, "training_tokens": 10**9, "price_per_hour": 2})
    hours = report["speed"]["duration_s"]["typical"] / 3600
    assert report["cost"]["rent"]["per_hour"] == 8
    assert report["cost"]["rent"]["per_run"]["typical"] == pytest.approx(8 * hours)
    assert report["cost"]["energy_kwh"]["per_run"]["typical"] == pytest.approx(4 * 0.4 * hours)
    assert report["cost"]["rent"]["per_million_tokens"]["typical"] == pytest.approx(8 * hours / 1000)


@pytest.mark.parametrize(
    "changes",
    [
        {"network_gbit_per_s": 25},
        {"parallelism": {"tensor": 4, "data": 4}, "sharding": "zero-1"},
        {"accelerators": 2, "micro_batch": 1},
        {"precision": "fp32"},
    ],
)
def test_what_a_device_was_asked_before_changes_no_time(changes: dict[str, Any]) -> None:
    """Its kernels are remembered, and which ranks stand apart, and over what network, is said anew by each run."""
    sixteen = {"accelerators": 16, "sharding": "zero-3"}
    wanted = {**sixteen, **changes}
    catalog().derived.pop("kernels of training", None)
    alone = typical(**wanted)
    catalog().derived.pop("kernels of training", None)
    assert typical(**sixteen) != alone
    assert typical(**wanted) == alone


def test_fewer_lanes_slow_what_cards_without_a_link_send_each_other() -> None:
    """Half the lanes, longer steps; the card's own slot is what is taken, and a lone card sends nothing."""
    asked = SMALL | {"accelerator": "rtx-3090", "sharding": "zero-3", "method": "lora", "micro_batch": 1}

    def rate(cards: int, **slot: str) -> float:
        found: Any = estimate(asked | {"accelerators": cards} | slot, repairs=False)
        assert found["scenario"].get("pcie") == slot.get("pcie")
        return float(found["speed"]["tokens_per_s_per_device"]["typical"])

    assert rate(2) == rate(2, pcie="4.0 x16") > rate(2, pcie="4.0 x8") > rate(2, pcie="3.0 x8")
    assert rate(1) == rate(1, pcie="3.0 x8")
