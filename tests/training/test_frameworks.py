"""Frameworks fill in what a scenario leaves open, and nothing else."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from calc import ScenarioError, estimate, plan, read_line
from calc.catalog import catalog
from calc.performance.exchanges import exchanges
from calc.performance.operations import Collective
from calc.training.fields import FIELDS
from calc.training.reading import read_training

FRAMEWORKS = catalog().ids("frameworks")
LLAMA = {"workload": "training", "model": "llama-3.1-8b", "accelerators": 8, "gradient_accumulation": 4}
RUNS = [
    {"method": method, "sharding": sharding}
    for method in ("full", "lora", "qlora")
    for sharding in ("none", "zero-1", "zero-3", "fsdp")
]


def report(**changed: object) -> Any:
    """Return the report of a changed scenario."""
    return estimate({**LLAMA, **changed})


def losses_of_libraries() -> dict[str, str]:
    """Return the options that the page lists for each way to compute the loss."""
    text = Path("docs/training/activations.md").read_text(encoding="utf-8").partition("### What libraries call it")[2]
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    return {row[1].strip(" `"): row[3] for row in rows}


def test_the_page_says_which_option_each_loss_is() -> None:
    """Each way to compute the loss has a row, and a framework whose newest version presets one is named in that row."""
    listed = losses_of_libraries()
    with pytest.raises(ScenarioError) as caught:
        report(cross_entropy="?")
    assert all(name in str(caught.value) for name in listed) and len(listed) == 6
    for framework in map(catalog().framework, FRAMEWORKS):
        newest = (preset for preset in framework.presets if preset.is_done_by(""))
        preset = next((preset.value for preset in newest if preset.field == "cross_entropy"), None)
        if preset is not None:
            assert framework.name in listed[str(preset)]
    assert "chunked_nll" in listed["fused"] and "chunked_nll" not in listed["chunked"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_frameworks_on_megatron_core_capture_a_step(framework: str) -> None:
    """They take either extent and are faster for it; others refuse both, and so does a run that names none."""
    facts, layout = catalog(), {"tensor": 2, "data": 4}
    asked = {**LLAMA, "framework": framework, "parallelism": layout, "sequence_tokens": 512, "accelerator": "b200"}
    if facts.framework(framework).megatron_core:
        ways: tuple[dict[str, object], ...] = ({}, {"graphs": False}, {"graphs": "layers"}, {"graphs": True})
        left, plain, layers, whole = (report(**asked | way)["speed"]["step_s"]["typical"] for way in ways)
        assert left == plain > layers == whole  # there are no experts
    else:
        assert report(**asked | {"graphs": False})["speed"] == report(**asked)["speed"]
        for way in ({"graphs": "layers"}, {"graphs": True}, {"graphs": True, "framework": None}):
            with pytest.raises(ScenarioError, match=r"captures a step of training: .*NeMo") as caught:
                report(**asked | way)
            assert caught.value.field == "graphs"


def test_graphs_are_a_flag_or_layers() -> None:
    """Any other word is refused."""
    with pytest.raises(ScenarioError, match="must be true or false"):
        report(framework="nemo", graphs="some")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_presets_are_fields_of_a_scenario_and_go_together(framework: str) -> None:
    """Each preset names a field of training, and no way to train is refused because of them."""
    for preset in catalog().framework(framework).presets:
        assert preset.field.partition(".")[0] in FIELDS
        assert all(field.partition(".")[0] in FIELDS for field in preset.when)
    for run in RUNS:
        assert report(framework=framework, **run)["memory"]["device_bytes"] > 0
    layout = {"tensor": 2, "pipeline": 2, "data": 2}
    assert report(framework=framework, parallelism=layout)["memory"]["device_bytes"] > 0


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("run", RUNS, ids=str)
def test_a_report_asked_again_is_the_same(framework: str, run: dict[str, object]) -> None:
    """What a framework fills in stands in the report's scenario, which says the whole run."""
    found = report(framework=framework, **run)
    again: Any = estimate(found["scenario"])
    assert again["memory"] == found["memory"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_no_preset_refuses_what_a_run_says(framework: str) -> None:
    """A habit of a framework gives way where a run does otherwise; errors are of what the run itself says."""
    for said in (
        {"parallelism": {"tensor": 2, "data": 4}, "sequence_parallel": False},
        {"parallelism": {"pipeline": 2, "data": 4}, "sharding": "zero-1", "gradient_dtype": "bf16"},
        {"method": "lora", "sharding": "zero-3", "base_weights": "nf4"},
        {"method": "lora", "checkpointing": "none"},
        {"precision": "fp32"},
        {"sharding": "zero-2", "precision": "fp16-mixed"},
        {"optimizer_in_backward": True, "gradient_accumulation": 1, "precision": "bf16"},
        {"compile": True, "cross_entropy": "full", "attention": "eager"},
    ):
        assert report(framework=framework, **said)["memory"]["device_bytes"] > 0, said


def test_a_field_that_is_given_stands_above_the_framework() -> None:
    """LitGPT reduces gradients after the last micro-batch; a run that says otherwise is taken at its word."""
    usual = report(framework="litgpt", sharding="zero-3")
    assert usual["scenario"]["gradient_reduction"] == "last"
    assert "gradient_reduction" in usual["defaults"]
    stated = report(framework="litgpt", sharding="zero-3", gradient_reduction="each")
    assert stated["scenario"]["gradient_reduction"] == "each"
    assert stated["memory"]["device_bytes"] < usual["memory"]["device_bytes"]


def test_presets_hold_where_they_say() -> None:
    """LitGPT's AdamW is paged under a quantized base alone; torchtitan divides the stream with tensor ranks."""
    assert report(framework="litgpt", method="qlora")["scenario"]["optimizer"] == "paged-adamw"
    assert report(framework="litgpt", method="lora")["scenario"]["optimizer"] == "adamw-foreach"
    assert report(framework="torchtitan")["scenario"]["sequence_parallel"] is False
    tensor = report(framework="torchtitan", parallelism={"tensor": 8})
    assert tensor["scenario"]["sequence_parallel"] is True


def test_a_framework_does_what_the_one_does_that_it_is_built_on() -> None:
    """TRL is the Trainer with habits of its own: gradients wait for the last micro-batch, weights are FP32."""
    scenario = report(framework="trl", sharding="fsdp")["scenario"]
    assert catalog().framework("trl").follows == "transformers"
    assert (scenario["gradient_reduction"], scenario["precision"]) == ("last", "bf16-autocast")
    assert report(framework="trl", method="qlora")["scenario"]["adapter_dtype"] == "bf16"
    assert report(framework="transformers", method="qlora")["scenario"]["adapter_dtype"] == "fp32"


@pytest.mark.parametrize(
    ("framework", "method", "device", "precision"),
    [
        ("transformers", "qlora", "a100-sxm-80gb", "bf16-autocast"),
        ("transformers", "qlora", "t4-16gb", "fp16-autocast"),
        ("trl", "full", "v100-sxm-32gb", "fp16-autocast"),
        ("trl", "qlora", "v100-sxm-32gb", "fp16-mixed"),
        ("transformers", "lora", "t4-16gb", "fp16-mixed"),
    ],
)
def test_autocast_is_in_the_type_that_a_device_computes_in(
    framework: str, method: str, device: str, precision: str
) -> None:
    """A T4 and a V100 do not compute in BF16: what a framework keeps in FP32 is cast to FP16 there."""
    scenario = report(framework=framework, method=method, accelerator=device)["scenario"]
    assert scenario["precision"] == precision


@pytest.mark.parametrize("framework", ["transformers", "trl", "axolotl", "llama-factory", "ms-swift"])
@pytest.mark.parametrize("sharding", ["zero-1", "zero-2", "zero-3"])
def test_deepspeed_keeps_masters_under_every_trainer(framework: str, sharding: str) -> None:
    """Full training by any of its stages has FP32 masters beside 16-bit weights, whatever the trainer loads."""
    assert report(framework=framework, sharding=sharding)["scenario"]["precision"] == "bf16-mixed"


def test_zero_1_under_transformers_is_deepspeed() -> None:
    """Masters stand beside 16-bit weights and gradients: 16 bytes a parameter, 12 of them shared by eight ranks."""
    found = report(framework="transformers", sharding="zero-1")
    assert found["scenario"]["precision"] == "bf16-mixed"
    assert found["scenario"]["gradient_dtype"] == "bf16"


def test_nemo_shares_states_where_there_are_ranks_to_share_them() -> None:
    """Its distributed optimizer trains Llama 3.1 8B on eight H100s, where a copy of all states on each has no place."""
    fits = report(framework="nemo", accelerator="h100-sxm-80gb")
    assert fits["scenario"]["sharding"] == "zero-1"
    assert report(framework="nemo", accelerators=1)["scenario"]["sharding"] == "none"
    assert report(framework="nemo", parallelism={"tensor": 8})["scenario"]["sharding"] == "none"
    assert report(framework="nemo", method="lora")["scenario"]["sharding"] == "none"


def test_fsdp_and_zero_3_are_two_programs_under_transformers() -> None:
    """FSDP under Accelerate adds up whole gradients until the last micro-batch; DeepSpeed shares each, with masters."""
    fsdp, zero = (report(framework="transformers", sharding=name) for name in ("fsdp", "zero-3"))
    assert (fsdp["scenario"]["gradient_reduction"], fsdp["scenario"]["precision"]) == ("last", "bf16")
    assert (zero["scenario"]["gradient_reduction"], zero["scenario"]["precision"]) == ("each", "bf16-mixed")
    assert fsdp["scenario"]["sharding"] == zero["scenario"]["sharding"] == "zero-3"
    one, other = (report(framework="torchtitan", sharding=name)["memory"] for name in ("fsdp", "zero-3"))
    assert one == other


@pytest.mark.parametrize("framework", ["torchtitan", "torchtune", "litgpt", "fsdp-qlora"])
def test_what_shards_by_fsdp_alone_has_no_zero_1(framework: str) -> None:
    """It divides gradients with the states at least (zero-2); on one device nothing is divided."""
    method = {"method": "qlora"} if framework == "fsdp-qlora" else {}
    runs = {name: report(framework=framework, sharding=name, **method)["runs"] for name in ("zero-1", "zero-2", "fsdp")}
    assert runs == {"zero-1": False, "zero-2": None, "fsdp": None}
    assert report(framework=framework, sharding="zero-1", accelerators=1, **method)["runs"] is None


def test_names_as_people_write_them() -> None:
    """Names, aliases and ids lead to the same framework; unknown ones are named with the nearest."""
    assert report(framework="Hugging Face Transformers")["scenario"]["framework"] == "transformers"
    assert report(framework="Megatron-LM")["scenario"]["framework"] == "megatron-lm"
    with pytest.raises(ScenarioError, match="torchtune") as caught:
        report(framework="torchtun")
    assert caught.value.field == "framework"
    with pytest.raises(ScenarioError, match="must be the name"):
        report(framework=3)


def test_stages_by_cost_give_the_first_ones_more() -> None:
    """Nanotron: of eight stages of Llama 2 7B, whose output matrix is 0.65 of a layer, the first has five layers."""
    even, cost = (
        report(model="llama-2-7b", parallelism={"pipeline": 8}, gradient_accumulation=8, stage_split=split)["memory"]
        for split in ("even", "cost")
    )
    weights = [next(part["bytes"] for part in found["parts"] if part["id"] == "weights") for found in (even, cost)]
    assert weights[1] - weights[0] == 2 * 202_383_360  # one layer more
    assert report(framework="nanotron", parallelism={"pipeline": 8})["scenario"]["stage_split"] == "cost"


def test_compiled_code_keeps_no_cast_inputs_of_adapters() -> None:
    """Under autocast each FP32 adapter casts its input; kernels that fuse the cast keep the input alone."""
    run = {"method": "lora", "micro_batch": 2, "sequence_tokens": 4096, "accelerators": 1, "compile": True}
    narrow, mixed = (
        report(**run, precision=precision, adapter_dtype=width)["memory"]["allocated_bytes"]
        for precision, width in (("bf16-mixed", "bf16"), ("bf16-mixed", "fp32"))
    )
    assert mixed - narrow < 0.5e9  # adapters' own states


@pytest.mark.parametrize(
    ("framework", "fused"), [("transformers", True), ("ms-swift", True), ("trl", False), ("axolotl", False)]
)
def test_a_loss_that_liger_fuses_comes_with_its_other_kernels(framework: str, fused: bool) -> None:
    """Trainer's use_liger_kernel takes them all; TRL's loss in pieces is no kernel, and Axolotl has a key for each."""
    assert report(framework=framework, cross_entropy="fused")["scenario"]["compile"] is fused
    assert report(framework=framework, cross_entropy="full")["scenario"]["compile"] is False


def test_litgpt_as_measured() -> None:
    """LoRA of Llama 2 13B by LitGPT takes 33.13 GiB on each of four devices, with nothing said but the framework."""
    found = report(
        model="llama-2-13b",
        framework="litgpt",
        method="lora",
        lora={"rank": 8, "targets": ["q_proj", "v_proj"]},
        sharding="fsdp",
        accelerators=4,
        sequence_tokens=1304,
        checkpointing="full",
        gradient_accumulation=32,
    )
    assert found["memory"]["allocated_bytes"] == pytest.approx(33.13 * 2**30, rel=0.05)


@pytest.mark.parametrize("tensor", [2, 8])
def test_gathered_inputs_by_hand(tensor: int) -> None:
    """Two gathered inputs a layer: 2 · layers · tokens · hidden · 2 B · (1 − 1/t) more than divided ones."""
    run = {
        "parallelism": {"tensor": tensor},
        "sequence_parallel": True,
        "precision": "bf16",
        "gradient_accumulation": 1,
    }
    asked = {**LLAMA, **run, "accelerators": tensor, "micro_batch": 2, "sequence_tokens": 4096}
    usual, kept = (estimate({**asked, "gathered_inputs_kept": kept}) for kept in (False, True))
    more = 2 * 32 * 2 * 4096 * 4096 * 2 * (tensor - 1) // tensor
    usual_bytes, kept_bytes = (found["memory"]["allocated_bytes"] for found in (usual, kept))  # type: ignore[index]
    assert kept_bytes - usual_bytes == more


def test_weights_gathered_outside_zero_init_stay() -> None:
    """Each matrix of the layers in 2 bytes by the end of the forward pass; one layer's where layers are recomputed."""
    run = {"sharding": "zero-3", "precision": "bf16-mixed", "sequence_tokens": 4096}
    usual, kept = (report(**run, gathered_weights_kept=kept)["memory"]["allocated_bytes"] for kept in (False, True))
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336
    assert kept - usual == 32 * layer * 2
    run["checkpointing"] = "full"
    usual, kept = (report(**run, gathered_weights_kept=kept)["memory"]["allocated_bytes"] for kept in (False, True))
    assert 0 <= kept - usual <= layer * 2


def test_transformer_engine_keeps_inputs_in_8_bits() -> None:
    """Normed inputs of attention and MLP halve, and what is inside of the MLP; attention's output is kept in both."""
    asked = {**LLAMA, "precision": "fp8-mixed", "compile": True, "micro_batch": 1, "sequence_tokens": 4096}
    wide, narrow = (estimate({**asked, "narrow_inputs_kept": kept}) for kept in (False, True))
    hidden, inner, tokens = 4096, 14336, 4096
    less = 32 * tokens * (2 * hidden + inner - hidden)
    wide_bytes, narrow_bytes = (activations(found) for found in (wide, narrow))
    assert wide_bytes - narrow_bytes == less


def test_ranks_keep_their_part_of_gathered_inputs_in_8_bits() -> None:
    """Of both normed inputs two ranks keep half each, as of all else: a rank keeps half of what one device does."""
    asked = {**LLAMA, "precision": "fp8-mixed", "compile": True, "micro_batch": 1, "sequence_tokens": 4096}
    asked |= {"narrow_inputs_kept": True, "cross_entropy": "fused"}
    whole, halved = (
        kept_by_a_layer(estimate({**asked, **more}))
        for more in ({}, {"parallelism": {"tensor": 2, "data": 4}, "sequence_parallel": True})
    )
    assert whole == 2 * halved


def kept_by_a_layer(found: Mapping[str, Any]) -> int:
    """Return the bytes of the inputs of matrices that a layer keeps in 8 bits."""
    part = next(part for part in found["memory"]["parts"] if part["id"] == "activations")
    return int(next(step["value"] for step in part["steps"] if step["name"].endswith("inputs of matrices in FP8")))


@pytest.mark.parametrize(("model", "attention"), [("gemma-3-12b", "eager"), ("gemma-2-9b", "flash")])
def test_what_a_framework_does_may_depend_on_the_family(model: str, attention: str) -> None:
    """Unsloth has whole scores of Gemma 3: 28,000 tokens that flash attention would hold are too many for an H100."""
    run = {"model": model, "framework": "unsloth", "method": "lora", "sequence_tokens": 28_000}
    asked = {**run, "workload": "training", "accelerator": "h100-sxm-80gb"}
    found: Any = estimate(asked)
    assert found["scenario"]["attention"] == attention
    assert found["memory"]["fits"] is (attention == "flash")
    stated: Any = estimate({**asked, "attention": "flash"})
    assert stated["memory"]["fits"]


def test_experts_that_weigh_inside_keep_no_outputs() -> None:
    """Eight experts' outputs of each token, in two bytes, in each of 48 layers."""
    asked = {"workload": "training", "model": "qwen3-30b-a3b", "micro_batch": 1, "sequence_tokens": 4096}
    outside, inside = (activations(estimate({**asked, "experts_weighted_inside": kept})) for kept in (False, True))
    assert outside - inside == 48 * 8 * 4096 * 2048 * 2


def activations(found: Mapping[str, Any]) -> int:
    """Return the bytes of a report's activations."""
    return next(part["bytes"] for part in found["memory"]["parts"] if part["id"] == "activations")


def test_deepspeed_keeps_both_kinds_of_gradients_under_a_pipeline() -> None:
    """Its BF16 optimizer has 4 bytes of sums and 2 of gradients for each parameter of a stage, on every rank."""
    run = {"parallelism": {"pipeline": 4, "data": 2}, "sharding": "zero-1", "precision": "bf16-mixed"}
    sums, both = (report(**run, narrow_gradients_kept=kept) for kept in (False, True))
    one, other = (
        next(part["bytes"] for part in found["memory"]["parts"] if part["id"] == "gradients") for found in (sums, both)
    )
    assert other - one == pytest.approx(one / 2, rel=0.02)
    assert report(**run, framework="deepspeed")["scenario"]["narrow_gradients_kept"] is True
    assert report(sharding="zero-1", framework="deepspeed")["scenario"]["narrow_gradients_kept"] is False


def test_adapters_in_fp32_without_autocast_keep_wide_inputs() -> None:
    """PEFT casts inputs to the adapter's type; autocast casts them back, and without it they stay in 4 bytes."""
    run = {"method": "lora", "micro_batch": 2, "sequence_tokens": 4096, "accelerators": 1}
    narrow, wide, mixed = (
        report(**run, **way)["memory"]["allocated_bytes"]
        for way in ({"precision": "bf16"}, {"precision": "bf16", "adapter_dtype": "fp32"}, {"precision": "bf16-mixed"})
    )
    assert narrow < mixed < wide


def test_fsdp_without_mixed_precision_of_its_own() -> None:
    """Autocast alone keeps the stream, and so every checkpoint, in FP32, and gathers 4 bytes a parameter."""
    run = {"sharding": "zero-3", "precision": "bf16-autocast", "checkpointing": "full", "sequence_tokens": 8192}
    usual, wide = (report(**run, **way)["memory"] for way in ({}, {"gather_dtype": "fp32"}))
    checkpoints = 32 * 8192 * 4096 * 2
    assert wide["allocated_bytes"] - usual["allocated_bytes"] > checkpoints


def test_a_loss_on_16_bit_logits() -> None:
    """Without the copies in FP32 the loss takes half and less: 8 bytes a logit in place of 14."""
    run = {"method": "lora", "precision": "bf16", "checkpointing": "full", "sequence_tokens": 8192, "accelerators": 1}
    logits = 8192 * 128256
    full, narrow = (report(**run, cross_entropy=way)["memory"]["allocated_bytes"] for way in ("full", "full-16-bit"))
    assert full - narrow == pytest.approx(6 * logits, rel=0.01)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"method": "qlora", "sharding": "zero-3", "frozen_gradients": True}, "frozen_gradients"),
        ({"gather_dtype": "fp32"}, "gather_dtype"),
        ({"gathered_inputs_kept": True}, "gathered_inputs_kept"),
        ({"gathered_weights_kept": True}, "gathered_weights_kept"),
        ({"narrow_inputs_kept": True}, "narrow_inputs_kept"),
        ({"precision": "bf16", "narrow_gradients_kept": True}, "narrow_gradients_kept"),
        ({"adapter_dtype": "fp32"}, "adapter_dtype"),
    ],
    ids=str,
)
def test_what_excludes_each_other_is_refused(changed: dict[str, object], field: str) -> None:
    """A quantized base has no gradients, and what is gathered, kept or cast needs something that does it."""
    with pytest.raises(ScenarioError) as caught:
        report(**changed)
    assert caught.value.field == field


def exchanged(**changed: object) -> dict[str, float]:
    """Return the bytes that ranks exchange for each micro-batch of a changed scenario, by what they are."""
    asked = {**LLAMA, "sharding": "zero-3", "precision": "bf16-autocast", **changed}
    plan = read_training(asked, catalog()).plan
    sent: dict[str, float] = {}
    for one, times in exchanges(plan, plan.stages[0]).of_micro_batch:
        assert isinstance(one, Collective)
        sent[one.name] = sent.get(one.name, 0.0) + times * one.bytes
    return sent


def test_gradients_and_parameters_are_sent_in_the_types_of_the_framework() -> None:
    """FSDP with one type for all sends 2 bytes a gradient where torchtitan sends 4, and 4 a parameter without any."""
    usual, narrow, wide = (exchanged(**way) for way in ({}, {"reduce_dtype": "bf16"}, {"gather_dtype": "fp32"}))
    gradients, parameters = "Reduce-scatter of gradients", "All-gather of parameters"
    assert narrow[gradients] == usual[gradients] / 2
    assert wide[parameters] == usual[parameters] * 2
    assert exchanged(framework="llm-foundry")[gradients] == narrow[gradients]
    assert exchanged(framework="torchtitan")[gradients] == usual[gradients]


def test_fp32_adapters_take_the_time_of_fp32_products() -> None:
    """Adapters of rank 64 on every matrix are a few hundredths of the work in BF16, and more than a tenth in FP32."""
    run = {
        "method": "lora",
        "precision": "bf16",
        "accelerators": 1,
        "accelerator": "h100-sxm-80gb",
        "lora": {"rank": 64},
    }
    narrow, wide = (
        report(**run, adapter_dtype=width, sequence_tokens=4096)["speed"]["step_s"]["typical"]
        for width in ("bf16", "fp32")
    )
    assert 1.1 < wide / narrow < 3


@pytest.mark.parametrize(
    ("framework", "method", "runs"),
    [
        ("megatron-lm", "qlora", False),
        ("megatron-lm", "lora", None),  # which what is built on it has
        ("nemo", "lora", None),
        ("torchtitan", "qlora", False),
        ("nanotron", "lora", False),
        ("axolotl", "qlora", None),
    ],
)
def test_frameworks_refuse_methods_that_they_lack(framework: str, method: str, runs: bool | None) -> None:
    """A report says so with a source, and a plan over all methods offers none that does not start."""
    found = report(framework=framework, method=method, accelerator="h100-sxm-80gb", parallelism={"data": 8})
    assert found["runs"] is runs and all(item["source"] for item in found["runs_because"])
    have = {"accelerator": "h100-sxm-80gb", "accelerators": 8}
    asked = {"workload": "training", "want": "models", "models": ["llama-3.1-8b"], "have": have}
    planned: Any = plan({**asked, "framework": framework, "method": method})
    assert bool(planned["options"]) is (runs is not False)


@pytest.mark.parametrize(
    ("line", "method"),
    [("megatron", "full"), ("nemo", "lora"), ("torchtitan", "full"), ("axolotl", "qlora"), ("", "qlora")],
)
def test_a_line_takes_a_method_that_its_framework_has(line: str, method: str) -> None:
    """Where it says none, it is the one that takes least of those that nothing is said against."""
    found: Any = read_line(f"finetune llama 8b {line} on 8x h100")
    assert found["scenario"]["method"] == method


def wanted_by(version: str | None, **run: object) -> Any:
    """Return the scenario that a version of a framework makes of a run, whose answer is the same if asked again."""
    found = report(engine_version=version, **run)
    assert found["memory"] == report(**found["scenario"])["memory"]
    return found["scenario"]


@pytest.mark.parametrize(
    ("framework", "method", "field", "of_versions"),
    [
        ("transformers", "full", "attention", {"4.35.2": "eager", "4.36": "flash", None: "flash"}),
        ("transformers", "full", "cross_entropy", {"4.48.3": "full-shifted", "4.49.0": "full", None: "full"}),
        ("transformers", "full", "precision", {"4.57.1": "bf16-autocast", "5": "bf16", "5.15.0": "bf16", None: "bf16"}),
        (
            "transformers",
            "full",
            "optimizer",
            {"4.31": "adamw-for-loop", "4.32": "adamw-foreach", "v4.54.1": "adamw-foreach", "4.55": "adamw"},
        ),
        ("transformers", "lora", "adapter_dtype", {"4.42": "bf16", "4.43": "fp32", None: "fp32"}),
        ("transformers", "qlora", "adapter_dtype", {"4.30": "fp32", None: "fp32"}),
        ("transformers", "qlora", "base_inputs_kept", {"4.42": True, "4.43": False, None: False}),
        ("transformers", "lora", "experts_quantized", {"4.57": True, "5.0": False, None: False}),
        ("trl", "full", "checkpointing", {"0.21": "none", "0.22": "full", None: "full"}),
        (
            "trl",
            "full",
            "cross_entropy",
            {"0.2": "full-shifted", "0.14": "full-shifted", "1.6": "full", "1.7": "fused"},
        ),
        ("trl", "lora", "adapter_dtype", {"0.9.6": "fp32"}),  # of a base in FP32
        ("axolotl", "lora", "attention", {"0.3": "flash", None: "flash"}),
        ("llama-factory", "full", "attention", {"0.1": "eager", "0.3.3": "eager", "0.4": "flash", None: "flash"}),
        ("llama-factory", "lora", "adapter_dtype", {"0.6.3": "fp32", None: "fp32"}),
        ("ms-swift", "full", "cross_entropy", {"2.0": "full", None: "full"}),  # what came with it is not known
        ("unsloth", "qlora", "cross_entropy", {"2024.11.7": "compiled", "2024.12": "fused", None: "fused"}),
        ("torchtune", "full", "cross_entropy", {"0.2.1": "full", "0.6.1": "chunked", "0.7": "fused", None: "fused"}),
    ],
)
def test_a_version_did_what_it_did_then(
    framework: str, method: str, field: str, of_versions: dict[str | None, object]
) -> None:
    """From the version on that first did it, and with what came with the version of what is built on another."""
    for version, value in of_versions.items():
        assert wanted_by(version, framework=framework, method=method)[field] == value, version


def test_what_a_run_says_stands_above_the_version() -> None:
    """Attention in tiles that a script asks for is taken under a version that stored scores by itself."""
    old = wanted_by("4.30", framework="transformers", attention="flash", cross_entropy="fused")
    assert (old["attention"], old["cross_entropy"], old["engine_version"]) == ("flash", "fused", "4.30")


def test_old_versions_take_more() -> None:
    """LoRA of Llama 3.1 8B in FP32 adapters apart, each of the older Transformers keeps more logits or scores."""
    run = {"framework": "transformers", "method": "full", "precision": "bf16", "sequence_tokens": 4096}
    new, shifted, stored = (
        report(**run, engine_version=version)["memory"]["allocated_bytes"] for version in ("5.1", "4.40", "4.30")
    )
    assert new < shifted < stored


@pytest.mark.parametrize("value", ["newest", "", 4, 4.4, ["4.40"], "4." * 40, True])
def test_what_is_no_version_is_refused(value: object) -> None:
    """A version is a text with a number; without a framework there is nothing that it could be of."""
    with pytest.raises(ScenarioError, match=r'must be a version such as "4.45"') as caught:
        report(framework="transformers", engine_version=value)
    assert caught.value.field == "engine_version"


def test_a_version_needs_its_framework() -> None:
    """Named alone it does not apply; left empty it is not named."""
    with pytest.raises(ScenarioError, match="does not apply: no framework is named") as caught:
        report(engine_version="4.40")
    assert caught.value.field == "engine_version"
    assert "engine_version" not in report(engine_version=None)["scenario"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_versions_change_what_the_catalogue_dates(framework: str) -> None:
    """What was first done, or done until, a version is done on one side of it and not on the other."""
    record = catalog().framework(framework)
    for preset in record.presets:
        assert preset.is_done_by("") is not bool(preset.before)
        assert not preset.since or (preset.is_done_by(preset.since) and not preset.is_done_by("0.0.1"))
        assert not preset.before or (not preset.is_done_by(preset.before) and preset.is_done_by("0.0.1"))
    for mine, theirs in record.carries.items():
        assert record.carried_by(mine) == theirs
    assert record.carried_by("") == ""


def test_a_plan_asks_for_the_version() -> None:
    """On a card of 12 GB an older TRL has no room for its logits; that of today never has all of them at once."""
    cards = {"devices": 1, "accelerators": ["rtx-3060-12gb"]}
    question = {"want": "hardware", "workload": "training", "model": "llama-3.2-3b", "method": "qlora", "limits": cards}
    question |= {"framework": "trl", "sequence_tokens": 8192, "checkpointing": "full"}
    assert not plan({**question, "engine_version": "0.9.6"})["options"]
    options = plan({**question, "engine_version": "1.16"})["options"]
    assert options[0]["scenario"]["engine_version"] == "1.16"
