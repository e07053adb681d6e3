"""Repairs: each makes the run fit by what `estimate` says, they are ranked by price, and none is offered in vain."""

from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.planning.chance import SURE
from calc.planning.fit import most_that_fit
from calc.training import repairs as search
from calc.training.changes import AWAY, PRICES, SEQUENCE_STEP
from calc.training.repairs import changed, repairs, room, together

ONE: dict[str, Any] = {
    "workload": "training",
    "model": "llama-3.1-8b",
    "method": "full",
    "checkpointing": "full",
    "accelerator": "h100-sxm-80gb",
}
TOO_LARGE: dict[str, dict[str, Any]] = {
    "full on one": ONE,
    "full in bf16": ONE | {"precision": "bf16", "accelerator": "rtx-4090"},
    "no checkpoints": ONE | {"accelerators": 8, "sharding": "zero-3", "checkpointing": "none", "sequence_tokens": 8192},
    "a copy each": ONE | {"accelerators": 8, "sequence_tokens": 8192},
    "a large micro-batch": ONE | {"method": "lora", "micro_batch": 12, "accelerator": "rtx-4090"},
    "eager": ONE | {"method": "lora", "attention": "eager", "checkpointing": "none", "sequence_tokens": 8192},
    "70B on two cards": ONE
    | {
        "model": "llama-3.3-70b",
        "method": "qlora",
        "accelerator": "rtx-3090",
        "accelerators": 2,
        "sharding": "zero-3",
    },
    "three dimensions": ONE
    | {
        "model": "llama-3.1-405b",
        "parallelism": {"tensor": 8, "pipeline": 16, "data": 8},
        "sharding": "zero-1",
        "checkpointing": "none",
        "sequence_tokens": 8192,
    },
}


def memory(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the memory of a report."""
    found = estimate(scenario)["memory"]
    assert isinstance(found, dict)
    return found


def ids(scenario: dict[str, Any], **options: bool) -> list[str]:
    """Return the kinds of repairs offered, in their order."""
    return [repair.change.id for repair in repairs(scenario, **options)]


@pytest.mark.parametrize("name", TOO_LARGE)
def test_each_repair_makes_it_fit(name: str) -> None:
    """What `estimate` says of the changed scenario is what the repair says, and it fits: surely where that is said."""
    scenario = TOO_LARGE[name]
    before = memory(scenario)
    assert not before["fits"]
    found = repairs(scenario)
    assert found
    for repair in found:
        after = memory(changed(scenario, repair.change.fields))
        assert after["fits"] and (after["chance"] >= SURE) is repair.sure, repair.change.what
        assert after["device_bytes"] == repair.device_bytes
        assert after["host_bytes"] == repair.host_bytes
        assert before["device_bytes"] - after["device_bytes"] == repair.saved_bytes > 0


@pytest.mark.parametrize("name", TOO_LARGE)
def test_the_cheapest_comes_first(name: str) -> None:
    """What is tight comes last; levels never fall in either, each has a name, and a kind is offered once."""
    found = repairs(TOO_LARGE[name])
    levels = [(not repair.sure, repair.change.level) for repair in found]
    assert levels == sorted(levels)
    assert all(PRICES[level] for _, level in levels)
    assert len({repair.change.id for repair in found}) == len(found)
    assert all(repair.change.price.endswith(".") for repair in found)


def test_of_a_kind_the_mildest_is_offered() -> None:
    """The largest smaller micro-batch, the first further stage of sharding, the fewest doublings of devices."""
    scenario = TOO_LARGE["a large micro-batch"]
    smaller = next(repair for repair in repairs(scenario) if repair.change.id == "micro-batch")
    micro, count = smaller.change.fields["micro_batch"], smaller.change.fields["gradient_accumulation"]
    assert isinstance(micro, int) and isinstance(count, int) and micro * count == 12
    larger = [divisor for divisor in (6, 4, 3, 2) if divisor > micro]
    sizes = (memory(scenario | {"micro_batch": m, "gradient_accumulation": 12 // m}) for m in larger)
    assert all(size["chance"] < SURE for size in sizes)
    stage = next(repair for repair in repairs(TOO_LARGE["a copy each"]) if repair.change.id == "sharding")
    assert stage.change.fields == {"sharding": "zero-2"}
    assert memory(TOO_LARGE["a copy each"] | {"sharding": "zero-1"})["chance"] < SURE


def test_the_longest_shorter_sequence_is_offered() -> None:
    """A step longer does not surely fit."""
    scenario = TOO_LARGE["no checkpoints"]
    shorter = next(repair for repair in repairs(scenario) if repair.change.id == "sequence")
    tokens = shorter.change.fields["sequence_tokens"]
    assert isinstance(tokens, int)
    assert memory(scenario | {"sequence_tokens": tokens + SEQUENCE_STEP})["chance"] < SURE


@pytest.mark.parametrize("packed", [8192, 8000, 512])
def test_packs_that_are_longer_than_a_shorter_sequence_are_cut_with_it(packed: int) -> None:
    """One then fills all that is left; shorter ones stay."""
    scenario = TOO_LARGE["no checkpoints"] | {"packed_tokens": packed}
    shorter = next(repair for repair in repairs(scenario) if repair.change.id == "sequence")
    after = changed(scenario, shorter.change.fields)
    assert 512 < after["sequence_tokens"] < 8000  # type: ignore[operator]
    assert after["packed_tokens"] == (512 if packed == 512 else after["sequence_tokens"])
    assert memory(after)["fits"]


def test_nothing_is_offered_that_does_not_apply() -> None:
    """No sharding on one device, no adapters before there is a model, no checkpointing twice, nothing where it fits."""
    assert "sharding" not in ids(ONE)
    assert {"lora", "qlora"} <= set(ids(ONE))
    assert not {"lora", "qlora", "bf16"} & set(ids(ONE, fine_tuning=False))
    for name, scenario in TOO_LARGE.items():
        found = ids(scenario)
        if scenario["checkpointing"] == "full":
            assert not {"checkpointing", "selective"} & set(found), name
        if scenario.get("attention") != "eager":
            assert "flash" not in found
        if scenario["method"] == "qlora":
            assert not {"lora", "qlora", "in-backward"} & set(found)
    assert ids(ONE | {"method": "qlora"}) == []


def test_nothing_waits_in_a_memory_that_the_device_shares() -> None:
    """Beside an M3 Ultra stands no other memory, so what waits there would take as much."""
    names = ("m3-ultra-96gb", "rtx-pro-6000-blackwell")
    shared, apart = (ids(ONE | {"sequence_tokens": 512, "accelerator": name}) for name in names)
    assert shared and not any(name in AWAY for name in shared) and any(name in AWAY for name in apart)


def test_a_pipeline_is_not_sharded_further() -> None:
    """Gradients of all micro-batches add up there: stages beyond ZeRO-1 are not offered, nor the step in backward."""
    found = ids(TOO_LARGE["three dimensions"])
    assert "checkpointing" in found
    assert not {"sharding", "in-backward", "qlora"} & set(found)


def test_the_70b_on_two_cards_waits_in_host_memory() -> None:
    """With FSDP and QLoRA two 24 GB cards hold it once its parameters are offloaded."""
    assert "offload-parameters" in ids(TOO_LARGE["70B on two cards"])


def test_where_no_change_is_enough_several_are() -> None:
    """They fit together, the savings add up, and without any one of them it does not fit."""
    scenario = ONE | {
        "model": "llama-3.3-70b",
        "method": "lora",
        "accelerator": "rtx-3090",
        "accelerators": 2,
        "sharding": "zero-3",
        "checkpointing": "none",
    }
    found = together(scenario)
    assert len(found) > 1
    fields: dict[str, object] = {}
    for repair in found:
        fields |= repair.change.fields
    after = memory(changed(scenario, fields))
    assert after["fits"] and after["device_bytes"] == found[-1].device_bytes
    assert sum(repair.saved_bytes for repair in found) == memory(scenario)["device_bytes"] - after["device_bytes"]
    for left_out in found:
        fewer: dict[str, object] = {}
        for repair in found:
            fewer |= {} if repair is left_out else repair.change.fields
        assert not memory(changed(scenario, fewer))["fits"], left_out.change.what


@pytest.mark.parametrize("method", ["lora", "qlora"])
def test_the_room_is_exact(method: str) -> None:
    """One micro-batch more, and a longer sequence, do not surely fit."""
    scenario = ONE | {"method": method, "accelerator": "l40s-48gb"}
    found = room(scenario)
    assert memory(scenario | {"micro_batch": found.micro_batch})["chance"] >= SURE
    assert memory(scenario | {"micro_batch": found.micro_batch + 1})["chance"] < SURE
    assert memory(scenario | {"sequence_tokens": found.sequence_tokens})["chance"] >= SURE
    assert memory(scenario | {"sequence_tokens": found.sequence_tokens + SEQUENCE_STEP})["chance"] < SURE


def test_a_context_that_is_no_multiple_of_a_step_is_reached() -> None:
    """A thousand positions are seven steps and a part; a reader beyond them is answered further."""
    own = {"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100, "n_positions": 1000}
    scenario = ONE | {"model": {"name": "own", "config": own}, "sequence_tokens": 512}
    assert room(scenario)[1:] == (1000, True)
    beyond = room(scenario | {"sequence_tokens": 2000})
    assert beyond.sequence_tokens > 2000 and not beyond.whole_context


def test_a_sequence_ends_where_the_model_s_context_does() -> None:
    """GPT-2 has 1,024 positions, whatever the device would hold."""
    found = room(ONE | {"model": "gpt2", "sequence_tokens": 512})
    assert found.sequence_tokens == 1024 and found.whole_context


@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize("capacity", [0, 1, 7, 1000, 12_345, 10**9])
def test_the_search_finds_the_last_that_fits(power: int, capacity: int) -> None:
    """Of straight and bent sizes alike, in few tries."""
    tries = []

    def size(count: int) -> int:
        tries.append(count)
        return 5 + count**power

    found = most_that_fit(size, capacity, 1, 4096)
    assert found == max((count for count in range(1, 4097) if 5 + count**power <= capacity), default=0)
    assert len(tries) < 40


def test_an_accelerator_is_needed() -> None:
    """Without one there is nothing to fit."""
    with pytest.raises(ScenarioError, match="accelerator"):
        repairs({"workload": "training", "model": "gpt2"})


def test_a_report_lists_them() -> None:
    """A run that does not fit has its repairs in its report, each leaving what it says; what surely fits has none."""
    case = {"workload": "training", "model": "llama-3.1-8b", "method": "full", "accelerator": "h100-sxm-80gb"}
    report: Any = estimate(case)
    assert report["memory"]["fits"] is False and report["repairs"]
    counts = [(not repair["sure"], repair["change"].get("accelerators") or 0) for repair in report["repairs"]]
    assert counts == sorted(counts)
    for repair in report["repairs"]:
        changed = {name: value for name, value in {**case, **repair["change"]}.items() if value is not None}
        after: Any = estimate(changed)
        assert after["memory"]["headroom_bytes"] == repair["headroom_bytes"]
        assert not (repair["sure"] and after["repairs"])


@pytest.mark.parametrize("framework", ["torchtune", "torchtitan"])
def test_no_repair_is_offered_that_a_framework_refuses(framework: str) -> None:
    """Where ZeRO-1 would be enough, frameworks that have FSDP alone are not told to take it, as DeepSpeed is."""
    case = {"workload": "training", "model": "qwen3-1.7b", "accelerator": "rtx-4090", "accelerators": 4}
    case |= {"sharding": "none", "sequence_tokens": 1024, "method": "full", "precision": "bf16"}
    ways = {}
    for name in ("deepspeed", framework):
        report: Any = estimate({**case, "framework": name})
        ways[name] = [repair["change"].get("sharding") for repair in report["repairs"]]
        assert report["runs"] is not False and any(ways[name])
    assert "zero-1" in ways["deepspeed"] and "zero-1" not in ways[framework]


def test_fewer_devices_come_first() -> None:
    """LoRA of a 70B surely fits on two tensor-parallel H200s, and on two with FSDP: the fewest stand first."""
    scenario = ONE | {"model": "llama-3.3-70b", "method": "lora", "accelerator": "h200-sxm-141gb", "micro_batch": 2}
    report: Any = estimate(scenario)
    more = [repair for repair in report["repairs"] if repair["cost"] == PRICES[-1] and repair["sure"]]
    counts = [repair["change"]["accelerators"] for repair in more]
    assert counts == sorted(counts) and counts[0] == report["memory"]["devices_needed"] == 2


def test_a_layout_of_more_devices_than_are_tried_is_answered() -> None:
    """A sequence over 3,000 context ranks of two is on more than are ever looked for: it is divided otherwise."""
    scenario = ONE | {"model": "llama-3.1-8b", "parallelism": {"tensor": 2, "context": 3000}, "sharding": "zero-3"}
    report: Any = estimate(scenario | {"sequence_tokens": 3000})
    assert report["memory"]["fits"] and report["memory"]["devices_needed"] < 100


def test_a_number_is_found_in_few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 70 numbers of devices and five of micro-batches four each are tried, as needs are lines in their parts."""
    scenario = ONE | {"model": "llama-3.1-70b", "method": "qlora", "accelerator": "h200-sxm-141gb"}
    scenario |= {"sharding": "zero-3", "micro_batch": 32, "sequence_tokens": 1024, "optimizer": "sgd"}
    kinds, real = list[str](), search.tried

    def tried(given: Any, fields: Any, *more: Any) -> Any:
        kinds.append("devices" if "accelerators" in fields else next(iter(fields)))
        return real(given, fields, *more)

    monkeypatch.setattr(search, "tried", tried)
    assert {"devices", "micro-batch"} <= set(ids(scenario | {"precision": "bf16-autocast"}))
    assert kinds.count("devices") <= 5 and kinds.count("micro_batch") <= 4 and len(kinds) <= 16


def test_devices_come_in_numbers_that_machines_have() -> None:
    """Full training of a 70B needs 19 H100s: three machines of eight are offered, not four."""
    scenario = ONE | {"model": "llama-3.3-70b", "accelerators": 8, "sharding": "zero-3"}
    wider = next(repair for repair in repairs(scenario) if repair.change.id == "devices")
    assert wider.change.fields["accelerators"] == 24


@pytest.mark.parametrize("stage", ["none", "zero-3"])
@pytest.mark.parametrize(
    ("model", "method"), [("llama-3.1-8b", "full"), ("llama-3.3-70b", "qlora"), ("gemma-2-9b", "lora")]
)
@pytest.mark.parametrize("device", ["rtx-3060", "a100-sxm-40gb"])
@pytest.mark.parametrize("more", [{}, {"sequence_tokens": 65536, "checkpointing": "full"}, {"precision": "bf16"}])
def test_changes_that_cannot_help_are_the_only_ones_left_out(
    monkeypatch: pytest.MonkeyPatch, stage: str, model: str, method: str, device: str, more: dict[str, object]
) -> None:
    """Where what stays is too much, or what comes and goes, the other is not changed, and would not have helped."""
    asked = {"workload": "training", "model": model, "method": method, "accelerator": device, "sharding": stage}
    asked |= {"accelerators": 4, "micro_batch": 8, "sequence_tokens": 4096, **more}
    found = repairs(asked)
    monkeypatch.setattr(search, "beside_the_point", lambda *_: frozenset())
    assert repairs(asked) == found
    report: Any = estimate(asked)
    assert report["repairs"] == search.listed_repairs(asked, *search.start(asked, catalog()))


@pytest.mark.parametrize(
    ("more", "change"),
    [
        ({}, {"method": "qlora"}),
        ({"sharding": "zero-3", "offload": ["optimizer"]}, {"offload": ["optimizer", "parameters"]}),
    ],
)
def test_weights_that_are_too_much_are_made_fewer_or_moved(more: dict[str, object], change: dict[str, object]) -> None:
    """A 70B in 16 bit has 141 GB: on a card of 80 a smaller optimizer is no help, fewer bits or the host are."""
    case = {"workload": "training", "model": "llama-3.1-70b", "accelerator": "h100-sxm-80gb", "checkpointing": "full"}
    report: Any = estimate({**case, **more, "sequence_tokens": 512})
    assert any(change.items() <= one["change"].items() for one in report["repairs"])
    assert all(one["change"].get("optimizer") is None for one in report["repairs"])


def test_packed_weights_are_not_divided_over_tensor_ranks() -> None:
    """QLoRA of a 70B on one card of 48 GB is offered FSDP over more of them, as nobody divides NF4 matrices."""
    run = {"workload": "training", "model": "llama-3.3-70b", "accelerator": "rtx-a6000", "sequence_tokens": 2048}
    found = repairs({**run, "method": "qlora", "checkpointing": "full"})
    assert {"devices", "fused-loss"} <= {repair.change.id for repair in found}
    assert "tensor" not in {repair.change.id for repair in found}
    lora = repairs({**run, "method": "lora", "checkpointing": "full"})
    assert "tensor" in {repair.change.id for repair in lora}
