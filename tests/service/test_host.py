"""The host of a scenario: what is read, what is refused, and what it makes of memory and speed."""

from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.planning.chance import SURE
from calc.service.host import named_processor, usual_processor
from calc.units import GIB

MIXTURE: dict[str, Any] = {
    "model": "qwen3-30b-a3b",
    "weights": "q4_k_m",
    "engine": "llama.cpp",
    "accelerator": "rtx-3060-12gb",
    "prompt_tokens": 512,
    "output_tokens": 256,
}
ALONE: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "weights": "q4_k_m",
    "engine": "llama.cpp",
    "gpu_layers": 0,
    "prompt_tokens": 512,
    "output_tokens": 128,
}


def report(asked: dict[str, Any], **more: object) -> Any:
    """Return the report on a scenario with some fields changed."""
    return estimate({**asked, **more})


def typical(found: Any, name: str) -> float:
    """Return a figure of a report's speed."""
    value: float = found["speed"][name]["typical"]
    return value


def part(found: Any, name: str) -> int:
    """Return the bytes of a part of the fullest device's memory."""
    return sum(item["bytes"] for item in found["memory"]["parts"] if item["id"] == name)


REFUSED = [
    ({"experts_on_host": 4, "model": "llama-3.1-8b"}, "experts_on_host", "no experts"),
    ({"experts_on_host": -1}, "experts_on_host", "from 0 to 10,000"),
    ({"experts_on_host": "most"}, "experts_on_host", '"all"'),
    ({"experts_on_host": 4, "engine": "vllm", "weights": "bf16"}, "experts_on_host", "llama.cpp alone"),
    ({"experts_on_host": 4, "gpu_layers": 0}, "experts_on_host", "gpu_layers 0"),
    ({"experts_on_host": 4, "parallelism": {"tensor": 2}}, "experts_on_host", "parallelism.tensor"),
    ({"gpu_layers": 4, "parallelism": {"data": 2}}, "gpu_layers", "parallelism.data"),
    ({"gpu_layers": 1, "parallelism": {"pipeline": 2}}, "gpu_layers", "parallelism.pipeline"),
    ({"gpu_layers": 0, "accelerators": 2}, "accelerators", "gpu_layers 0"),
    ({"gpu_layers": 4, "host": {"processor": "ryzen 9 9950z"}}, "host.processor", "9950"),
    ({"gpu_layers": 4, "host": {"threads": 8}}, "host.threads", "processor, cores, bandwidth, memory"),
    ({"gpu_layers": 4, "host": {"bandwidth": "80 GB"}}, "host.bandwidth", "80 GB/s"),
    ({"gpu_layers": 4, "host": {"memory": 0}}, "host.memory", "whole number"),
    ({"gpu_layers": 4, "host": {"pinned": "yes"}}, "host.pinned", "true or false"),
    ({"gpu_layers": 4, "host": "big"}, "host", "an object"),
    ({"engine": "vllm", "weights": "bf16", "host": {"memory": "64 GiB"}}, "host", "llama.cpp alone"),
    ({"pcie": "7.0 x16"}, "pcie", "4.0 x8"),
]


@pytest.mark.parametrize(("fields", "field", "says"), REFUSED, ids=[str(case[0]) for case in REFUSED])
def test_what_does_not_go_together_is_refused(fields: dict[str, object], field: str, says: str) -> None:
    """Each wrong field is named, and the message says with what it does not go or what it may be."""
    with pytest.raises(ScenarioError) as error:
        report(MIXTURE, **fields)
    assert error.value.field == field and says in error.value.message


def test_pcie_needs_a_card() -> None:
    """Without an accelerator there is nothing to plug in."""
    with pytest.raises(ScenarioError, match="needs an accelerator"):
        estimate({"model": "llama-3.1-8b", "pcie": "4.0 x8"})


def test_experts_leave_the_device_by_layer() -> None:
    """Each layer of Qwen3 30B A3B leaves its experts alone: what the device loses the host has, and all else stays."""
    none, one, two, every = (report(MIXTURE, experts_on_host=count) for count in (0, 1, 2, "all"))
    weights = [part(found, "weights") for found in (none, one, two, every)]
    hosts = [found["memory"]["host_bytes"] for found in (none, one, two, every)]
    assert len({mine + other for mine, other in zip(weights, hosts, strict=True)}) == 1
    assert weights[0] - weights[1] == weights[1] - weights[2] > 0
    assert weights[3] < 0.1 * weights[0]
    assert len({part(found, "kv_cache") for found in (none, one, two, every)}) == 1


def test_more_layers_than_there_are_are_all() -> None:
    """People write --n-cpu-moe 99."""
    assert report(MIXTURE, experts_on_host=99)["memory"] == report(MIXTURE, experts_on_host="all")["memory"]


def test_a_copied_matrix_is_that_of_all_experts_of_a_layer() -> None:
    """128 matrices of 768 × 2,048 in Q6_K, 210 bytes for 256 weights, stand on the device while a prompt passes."""
    found = report(MIXTURE, experts_on_host="all")
    assert part(found, "copied_matrix") == 128 * 768 * 2048 // 256 * 210
    assert part(report(MIXTURE), "copied_matrix") == 0


def test_slow_lanes_cost_the_prompt() -> None:
    """Experts of a prompt's pass go over PCIe: with an eighth of its rate it is read slower, and written alike."""
    wide, narrow = (report(MIXTURE, experts_on_host="all", pcie=way) for way in ("4.0 x16", "3.0 x4"))
    assert typical(wide, "prefill_tokens_per_s") > 3 * typical(narrow, "prefill_tokens_per_s")
    assert typical(wide, "decode_tokens_per_s") == pytest.approx(typical(narrow, "decode_tokens_per_s"), rel=0.05)
    assert narrow["speed"]["prefill_bound_by"] == "links"


def test_pinned_memory_is_copied_as_fast_as_the_link_is() -> None:
    """What four times fewer lanes cost a prompt is 1.7 times less from pinned memory; decoding copies no weights.

    Of a memory that is fast enough for three passes of what is copied by way of a buffer.
    """
    lanes = {
        (pinned, way): report(
            MIXTURE, experts_on_host="all", pcie=way, host={"pinned": pinned, "bandwidth": "200 GB/s"}
        )
        for pinned in (False, True)
        for way in ("4.0 x16", "4.0 x4")
    }
    mapped, pinned = (
        typical(lanes[way, "4.0 x4"], "time_to_first_token_s") - typical(lanes[way, "4.0 x16"], "time_to_first_token_s")
        for way in (False, True)
    )
    assert mapped / pinned == pytest.approx(catalog().engine("llama.cpp").values["copy_factor"])
    written = {typical(lanes[pinned, "4.0 x16"], "decode_tokens_per_s") for pinned in (False, True)}
    assert len(written) == 1


def test_a_slot_gives_a_card_no_more_than_it_has() -> None:
    """An RTX 3060 has PCIe 4.0 x16; a slot of 5.0 changes nothing."""
    own, faster = (report(MIXTURE, experts_on_host=10, **more) for more in ({}, {"pcie": "5.0 x16"}))
    assert own["speed"] == faster["speed"]


def test_a_prompt_below_32_tokens_stays_with_the_processor() -> None:
    """llama.cpp copies what the host keeps for passes of 32 tokens and more: PCIe matters from there on."""
    asked = {**MIXTURE, "experts_on_host": "all"}
    for tokens, copied in ((31, False), (32, True)):
        slow, fast = (report(asked, prompt_tokens=tokens, pcie=way) for way in ("3.0 x4", "4.0 x16"))
        assert (typical(slow, "time_to_first_token_s") > 1.5 * typical(fast, "time_to_first_token_s")) == copied


def test_the_processor_alone_needs_no_accelerator() -> None:
    """Llama 3.1 8B in Q4_K_M: its parts are in the host's memory, and nothing is on a device."""
    found = report(ALONE, host={"processor": "i7-8700", "memory": "16 GiB"})
    memory = found["memory"]
    assert memory["device_bytes"] == memory["host_bytes"] == sum(item["bytes"] for item in memory["parts"])
    assert memory["fits"] and memory["capacity_bytes"] == (16 - 2) * GIB  # less what the system keeps
    assert part(found, "runtime_context") == 0 and found["speed"]["bound_by"] == "host"
    assert found["cost"] is None and found["scenario"]["host"] == {"processor": "core-i7-8700", "memory": 16 * GIB}


def test_a_device_beside_a_processor_that_works_alone_is_said() -> None:
    """An accelerator that is named with gpu_layers 0 is not used."""
    with_card, without = report(ALONE, accelerator="rtx-2080"), report(ALONE, host={"processor": "ryzen-5-5600x"})
    assert "device-not-used" in {item["code"] for item in with_card["warnings"]}
    assert with_card["speed"] == without["speed"]


def test_the_host_s_memory_can_be_too_small() -> None:
    """Qwen3 30B A3B does not fit into 8 GiB of a host, and a warning says what then happens."""
    small, large = (report(MIXTURE, experts_on_host="all", host={"memory": size}) for size in ("8 GiB", "32 GiB"))
    assert not small["memory"]["fits"] and large["memory"]["fits"]
    assert small["memory"]["headroom_bytes"] == large["memory"]["headroom_bytes"] > 0
    warned = [item for item in small["warnings"] if item["code"] == "host-memory-short"]
    assert warned and warned[0]["severity"] == "wrong" and "disk" in warned[0]["message"]
    assert not any(item["code"] == "host-memory-short" for item in large["warnings"])


def test_a_host_s_system_keeps_its_part_of_the_memory() -> None:
    """Gemma 3 12B needs more than is left of 8 GiB; what stays there beside a card stands beside the system, too."""
    asked = {**ALONE, "model": "gemma-3-12b", "prompt_tokens": 1536, "output_tokens": 512}
    left = [report(asked, host={"memory": size})["memory"] for size in ("8 GiB", "10 GiB")]
    assert [memory["fits"] for memory in left] == [False, True]
    assert [memory["capacity_bytes"] for memory in left] == [6 * GIB, 8 * GIB]
    beside = {**ALONE, "accelerator": "rtx-3060-12gb", "gpu_layers": 1}
    staying = report(beside)["memory"]["host_bytes"]
    fits = [report(beside, host={"memory": staying + more})["memory"]["fits"] for more in (GIB, 3 * GIB)]
    assert fits == [False, True]


def test_as_many_sequences_as_the_host_holds() -> None:
    """Without an accelerator `"max"` is bounded by the host's memory."""
    few, many = (report(ALONE, sequences="max", host={"memory": size})["memory"] for size in ("8 GiB", "10 GiB"))
    assert few["fits"] and 1 < few["max_sequences"] < many["max_sequences"]
    with pytest.raises(ScenarioError, match="as many as fit"):
        report(ALONE, sequences="max")


def test_the_usual_host_is_of_the_card_s_time() -> None:
    """DDR4 stands beside an RTX 3060 and DDR5 beside an RTX 5090; a server beside an H100. It is said to be assumed."""
    names = [
        usual_processor(catalog(), catalog().accelerator(name), 0).id for name in ("rtx-3060-12gb", "rtx-5090", "h200")
    ]
    assert names[:2] == ["ryzen-5-5600x", "ryzen-7-7700x"]
    assert catalog().processor(names[2]).kind == "server"
    found = report(MIXTURE, gpu_layers=28)
    assert "host" in found["defaults"] and found["scenario"]["host"] == {"processor": "ryzen-5-5600x"}
    assert "host-assumed" in {item["code"] for item in found["warnings"]}


def test_a_processor_that_is_not_known_has_cores() -> None:
    """Where cores bound it, half as many write more slowly, and as many as the processor has change nothing."""
    scenario = {"model": "qwen3-30b-a3b", "weights": "q4_k_m", "engine": "llama.cpp", "gpu_layers": 0}
    rates = []
    for more in ({}, {"cores": 64}, {"cores": 32}):
        found: Any = estimate({**scenario, "host": {"processor": "epyc-7003", **more}})
        rates.append(found["speed"]["prefill_tokens_per_s"]["typical"])
    assert rates[0] == rates[1] > 1.5 * rates[2]
    with pytest.raises(ScenarioError, match="whole number"):
        estimate({**scenario, "host": {"cores": 0}})


def test_who_keeps_more_than_a_desktop_holds_has_a_server() -> None:
    """The experts of DeepSeek-V3 in Q4_K_M do not stand in a desktop's memory, those of a 30B mixture do."""
    for model, kind in (("deepseek-v3", "server"), ("qwen3-30b-a3b", "desktop")):
        scenario = {"model": model, "weights": "q4_k_m", "engine": "llama.cpp", "accelerator": "rtx-3090"}
        found: Any = estimate({**scenario, "experts_on_host": "all"})
        assert catalog().processor(found["scenario"]["host"]["processor"]).kind == kind


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz", "core-i7-8700"),
        ("AMD Ryzen 9 5950X 16-Core Processor", "ryzen-9-5950x"),
        ("AMD Ryzen 7 8840U with Radeon 780M Graphics", "ryzen-7-8840u"),
        ("13th Gen Intel(R) Core(TM) i9-13900HK", "core-i9-13900hk"),
        ("Pi 5 - 16GB", "raspberry-pi-5"),
        ("AmpereOne A192-32X (512GB)", "ampereone-a192-32x"),
    ],
)
def test_processors_are_found_as_systems_write_them(name: str, known: str) -> None:
    """Marks, clocks, words and memory around a name are no part of it."""
    assert named_processor(name, catalog()).id == known


def test_more_bandwidth_is_never_slower() -> None:
    """Twice the bandwidth reads a step's weights in half of the time, and no more is gained."""
    slow, fast = (
        typical(report(ALONE, host={"processor": "i7-8700", "bandwidth": f"{rate} GB/s"}), "decode_tokens_per_s")
        for rate in (40, 80)
    )
    assert slow < fast < 2 * slow
    number = typical(report(ALONE, host={"processor": "i7-8700", "bandwidth": 40 * 10**9}), "decode_tokens_per_s")
    assert number == slow


def test_a_mixture_s_repair_keeps_attention_on_the_card() -> None:
    """Qwen3 30B A3B in Q4_K_M on 12 GB: the fewest layers whose experts leave; with one fewer it is tight."""
    repairs = {tuple(item["change"]): item["change"] for item in report(MIXTURE)["repairs"]}
    fewest = repairs["experts_on_host",]["experts_on_host"]
    assert report(MIXTURE, experts_on_host=fewest)["memory"]["chance"] >= SURE
    assert report(MIXTURE, experts_on_host=fewest - 1)["memory"]["chance"] < SURE
    layers = repairs["gpu_layers",]["gpu_layers"]
    speeds = [
        typical(report(MIXTURE, **{name: count}), "decode_tokens_per_s")
        for name, count in (("experts_on_host", fewest), ("gpu_layers", layers))
    ]
    assert speeds[0] > 0.8 * speeds[1]


def test_a_step_is_what_device_processor_and_copies_take() -> None:
    """The working adds up the seconds of operations on the card, of copies, of the processor, and between steps."""
    found = report(MIXTURE, experts_on_host="all")
    steps = {item["name"]: item["value"] for item in found["steps"]}
    device = sum(value for name, value in steps.items() if name.endswith(", decoding step") and "processor" not in name)
    processor = steps["The host's processor, decoding step"]
    assert processor > 0.5 * steps["Seconds of a decoding step"]
    assert steps["Seconds of a decoding step"] >= device + processor
    assert "Copies between host and device, decoding step" in steps


@pytest.mark.parametrize("layers", [0, 1])
def test_a_computer_of_one_memory_has_no_more_with_another_processor(layers: int) -> None:
    """Who names the processor of a Ryzen AI Max says nothing of its memory, which holds what its GPU leaves of it."""
    scenario: dict[str, Any] = {"model": "llama-3.1-70b", "weights": "q8_0", "engine": "llama.cpp"}
    scenario |= {"accelerator": "ryzen-ai-max-395-64gb", "gpu_layers": layers}
    for host in ({}, {"host": {"processor": "ryzen-7-7700x"}}):
        report: Any = estimate({**scenario, **host})
        assert not report["memory"]["fits"]
        assert "host-memory-short" in [warning["code"] for warning in report["warnings"]]
    more: Any = estimate({**scenario, "host": {"memory": "128 GiB"}})
    assert more["memory"]["fits"]
