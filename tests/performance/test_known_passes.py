"""Parts of passes worked by hand: what an optimizer moves, adapters, casts, experts, crossings and factors."""

from types import SimpleNamespace
from typing import Any

import pytest

from calc.catalog import catalog
from calc.catalog.records import StoredWeights
from calc.errors import ScenarioError
from calc.memory.budget import Layout
from calc.memory.placement import Placement
from calc.performance.between_products import BIASES
from calc.performance.device_laws import LATENT_DECODE, LATENT_PREFILL
from calc.performance.expert_ranks import ExpertRanks
from calc.performance.fabric import Joined, networks, port_rate
from calc.performance.forward import PIPELINE, TENSOR, experts_of
from calc.performance.host_part import crossings
from calc.performance.kernels import Kernels
from calc.performance.operations import Attention, Counted, Experts, Pointwise, Product
from calc.performance.passes import Passes
from calc.performance.rank_layers import blocks_of
from calc.performance.rank_matrices import ExpertMatrices
from calc.performance.rank_model import rank_model
from calc.performance.totals import total_flops
from calc.performance.training_clock import (
    ATTENTION,
    BACKWARD,
    MOVED,
    PRODUCTS,
    TURNED,
    TURNED_BACK,
    Clock,
    Launches,
    Timed,
    grouped,
)
from calc.performance.training_pace import Pace
from calc.performance.training_passes import adapters, casts, computed, step_passes
from calc.performance.training_step import micro_batch, prepare, step_time
from calc.performance.training_update import optimizer_bytes
from calc.question import read_asked
from calc.scenario.model import known_architecture
from calc.scenario.reader import Reader
from calc.validation.bases import basis_of
from tests.plans import plan_of

FACTS = catalog()
LLAMA = 8_030_261_248  # parameters of Llama 3.1 8B


@pytest.mark.parametrize(
    ("precision", "read", "written"), [("fp32", 4 * 4, 3 * 4), ("bf16-mixed", 2 * 4 + 4, 2 * 4 + 4 + 2)]
)
def test_what_adam_moves(precision: str, read: int, written: int) -> None:
    """In FP32 it reads weight, gradient, two moments, and writes all but the gradient; a master adds its copy."""
    plan = plan_of(precision=precision, optimizer="adamw")
    gradient = 0 if precision == "fp32" else plan.method.gradient_bytes
    assert optimizer_bytes(plan, plan.stages[0]) == (read + written + gradient) * LLAMA


def test_what_adam_moves_operation_by_operation() -> None:
    """By the operations of AdamW in torch.optim: decay 2, first moment 3, second 2 and 3, root 2, 2 and 2, update 4."""
    plan = plan_of(precision="fp32", optimizer="adamw-foreach")
    assert optimizer_bytes(plan, plan.stages[0]) == (2 + 3 + 2 + 3 + 2 + 2 + 2 + 4) * 4 * LLAMA


def test_stages_stand_as_far_apart_as_they_have_ranks() -> None:
    """Two stages of eight tensor ranks each lie in two machines: what a stage sends goes over the network."""
    told: dict[str, Joined] = {}
    device = FACTS.accelerator("h100-sxm-80gb")
    kernels: Any = SimpleNamespace(accelerator=device, group=told.__setitem__, known={})
    clock = Clock(plan_of(parallelism={"tensor": 8, "pipeline": 2}, gradient_accumulation=4), kernels, None)
    for group, ranks in ((TENSOR, 8), (PIPELINE, 2)):
        one: Any = SimpleNamespace(group=group, ranks=ranks)
        clock.join(one)
    assert (told[TENSOR].inside, told[PIPELINE].inside) == (8, 1)
    assert told[TENSOR].network is None and told[PIPELINE].network is not None


@pytest.mark.parametrize(
    ("precision", "dtype", "kernel"),
    [("bf16", "fp32", "fp32"), ("bf16", "bf16", "bf16"), ("bf16-mixed", "fp32", "bf16")],
)
def test_adapters_multiply_in_their_own_type(precision: str, dtype: str, kernel: str) -> None:
    """In FP32 beside a base in 16 bit, unless autocast turns them into it too."""
    plan = plan_of(method="lora", precision=precision, adapter_dtype=dtype)
    found = [one for one, _ in adapters(plan, plan.stages[0]) if isinstance(one, Product)]
    each = 4 if kernel == "fp32" else 2
    assert {one.kernel for one in found} == {kernel}
    assert all(one.weight_bytes == each * one.n * one.k for one in found)


def test_adapters_of_experts_see_the_tokens_sent_to_them() -> None:
    """Two of eight experts for each token: twice the rows."""
    plan = plan_of(model="mixtral-8x7b", method="lora", lora={"rank": 8, "targets": "all-linear"})
    rows = {
        one.m for one, _ in adapters(plan, plan.stages[0]) if isinstance(one, Product) and ".experts" in f".{one.name}"
    }
    assert rows == {2.0 * plan.batch.rows}


def test_casts_of_a_layer() -> None:
    """Inputs of attention, of its output and of the MLP are 4,096 wide, that of down 14,336; four bytes for each."""
    plan = plan_of(precision="fp8-mixed")
    found = casts(plan, computed(plan, plan.stages[0]), backward=False)
    (item,) = found
    assert item.operation.bytes == 32 * 1024 * plan.micro_batch * 4 * (3 * 4096 + 14336)


def test_only_megatron_joins_query_key_and_value() -> None:
    """Its matrices for them are one, and so are gate and up; PyTorch's own layers have a matrix for each."""
    names = []
    for layout in ({"tensor": 2}, {"data": 2}):
        plan = plan_of(parallelism=layout)
        names.append({one.name for one, _ in computed(plan, plan.stages[0]) if isinstance(one, Product)})
    apart = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj"}
    assert {"self_attn.q_proj+k_proj+v_proj", "mlp.gate_proj+up_proj"} <= names[0] and not apart & names[0]
    assert apart <= names[1]


def test_matrices_of_a_sequence_follow_each_other() -> None:
    """YOLOS' boxes come from 384 through 384 and 384 to 4 numbers, one matrix after the other and not side by side."""
    plan = plan_of(model="yolos-small", parallelism={"tensor": 2})  # Megatron joins what it can
    found = [one for one, _ in computed(plan, plan.stages[0]) if isinstance(one, Product) and "bbox" in one.name]
    assert {one.name: one.n for one in found} == {
        "bbox_predictor.0": 384,
        "bbox_predictor.1": 384,
        "bbox_predictor.2": 4,
    }


def test_what_experts_read_and_write() -> None:
    """Each row's input for gate and up, their outputs, down's input and output, in two bytes."""
    group = ExpertMatrices("experts", 8, 8, 2, 14336, 4096, 3, "bf16", 8 * 3 * 14336 * 4096 * 2.0)
    model: Any = SimpleNamespace(
        layout=SimpleNamespace(expert=1, tensor=1), expert_ranks=ExpertRanks(), element_bytes=2
    )
    found = experts_of(group, model, 100.0)
    assert found.io_bytes == 200 * (2 * 4096 + 4 * 14336) * 2
    assert found.touched == pytest.approx(8 * 200 / 206)  # even loads would miss none


@pytest.mark.parametrize(("model", "most"), [("llama-3.1-8b", 2), ("whisper-small", 3), ("mamba-2.8b", 1)])
def test_blocks_that_add_to_the_stream(model: str, most: int) -> None:
    """Attention and MLP; a decoder's attention over its encoder; a mixer alone."""
    assert max(blocks_of(kind) for kind in known_architecture(FACTS, model).kinds) == most


@pytest.mark.parametrize(
    ("model", "placement", "times"),
    [
        ("llama-3.1-8b", Placement(22), 1),
        ("llama-3.1-8b", Placement(32), 0),
        ("mixtral-8x7b", Placement(host_experts=10), 20),
        ("mixtral-8x7b", Placement(22, host_experts=15), 11),
    ],
)
def test_crossings_to_the_host(model: str, placement: Placement, times: int) -> None:
    """Once after the layers of the host, and there and back around each layer whose experts it keeps."""
    demand = read_asked(Reader({"model": model})).demand
    assert crossings(demand, placement) == times


def test_the_factor_of_a_pass() -> None:
    """Steps have that of decoding, prompts that of prefill, and a pass of both lies between by its shares."""
    passes: Any = SimpleNamespace(
        is_step=lambda segment: segment == "step",
        correction=SimpleNamespace(decode=2.0, prefill=3.0),
        computed=lambda *_: SimpleNamespace(total=1.0),
    )
    whole: Any = SimpleNamespace(total=4.0)
    told = [Passes.factor(passes, whole, segments) for segments in (("step",), ("prompt",), ("step", "prompt"))]  # type: ignore[arg-type]
    assert told == [2.0, 3.0, 2.75]


def test_attention_backward_has_its_own_share() -> None:
    """A factor of 0.5 makes the way back twice as fast as the share says."""
    plan = plan_of()
    values = dict(FACTS.training_step.values)
    pace = Pace(plan, FACTS.accelerator("h100-sxm-80gb"), values)
    assert pace.shares[BACKWARD] == pytest.approx(pace.shares[ATTENTION] / pace.of("attention_backward"))


@pytest.mark.parametrize(
    ("device", "kept"),
    [("h100-sxm-80gb", 1.0), ("h100-hbm2e-96gb", (500 / 700) ** 0.5), ("gh200-96gb", 1.0)],
)
def test_a_device_with_less_power_lowers_its_clock(device: str, kept: float) -> None:
    """An H100 with 500 W has five sevenths of the power for its rate. A GH200's 900 W are its processor's, too."""
    values = {**FACTS.training_step.values, "power_exponent": 0.5}
    whole, limited = (Pace(plan_of(), FACTS.accelerator(name), values) for name in ("h100-sxm-80gb", device))
    assert limited.shares[PRODUCTS] / whole.shares[PRODUCTS] == pytest.approx(kept)
    assert limited.shares[ATTENTION] / whole.shares[ATTENTION] == pytest.approx(kept)


def test_a_device_with_power_to_spare_keeps_its_clock() -> None:
    """An H20 has 400 W for 148 TFLOP/s, an H100 700 for 989: nearly four times as much, so that products reach 0.95."""
    h20 = FACTS.accelerator("h20-96gb")
    pace = Pace(plan_of(), h20, {**FACTS.training_step.values, "power_exponent": 0.5, "product_most": 0.95})
    assert pace.shares[PRODUCTS] * Kernels(h20).most_rate == pytest.approx(0.95 * 148e12)


def test_a_program_that_xla_compiles_keeps_what_others_do() -> None:
    """Sharded by PyTorch an H100's products share the device with copies into and out of what is gathered."""
    values = {**FACTS.training_step.values, "product_share": 0.9, "product_share_fsdp@Hopper": 0.6}
    shares = [
        Pace(plan_of(**sharded, accelerators=8, sharding="fsdp"), FACTS.accelerator("h100-sxm-80gb"), values)
        for sharded in ({"compile": True}, {"compile": "xla"}, {"framework": "maxtext"})
    ]
    assert [pace.shares[PRODUCTS] for pace in shares] == [0.6, 0.9, 0.9]


def test_gathers_of_fsdp_are_slower_than_alone() -> None:
    """Half as fast they take twice as long behind computation; gradients of plain replicas are reduced as fast."""
    behind = {}
    for sharding in ("none", "fsdp"):
        prepared = prepare(plan_of(accelerators=8, sharding=sharding), FACTS.accelerator("h100-sxm-80gb"))
        assert prepared is not None
        for share in (1.0, 0.5):
            values = {**FACTS.training_step.values, "link_share_fsdp": share}
            slowest = step_time(prepared, values).slowest
            behind[sharding, share] = slowest.behind + slowest.last
    assert behind["fsdp", 0.5] == pytest.approx(2 * behind["fsdp", 1.0])
    assert behind["none", 0.5] == behind["none", 1.0] > 0


def test_sums_of_tensor_ranks_in_pieces() -> None:
    """They hide more behind products: as said, and under NeMo, whose recipes set it, and not under Megatron-LM."""
    values = {**FACTS.training_step.values, "tensor_hidden": 0.25, "tensor_hidden_in_pieces": 0.75}
    asked = ({}, {"tensor_overlap": True}, {"framework": "nemo"}, {"framework": "megatron-lm"})
    plans = [plan_of(parallelism={"tensor": 8}, **changes) for changes in asked]
    found = [Pace(plan, FACTS.accelerator("h100-sxm-80gb"), values).tensor_hidden for plan in plans]
    assert found == [0.25, 0.75, 0.75, 0.25]


def test_what_is_packed_is_not_padded() -> None:
    """Whatever a framework does where nothing is said of packing; a scenario that says both is refused."""
    apart, packed = (plan_of(framework="llama-factory", **more) for more in ({}, {"packed_tokens": 512}))
    assert apart.varied_lengths and not packed.varied_lengths
    for field in ("varied_lengths", "padding_mask"):
        with pytest.raises(ScenarioError, match=rf"packed_tokens: does not go together with {field}"):
            plan_of(packed_tokens=512, **{field: True})
        assert plan_of(packed_tokens=512, **{field: False}) == plan_of(packed_tokens=512)


@pytest.mark.parametrize(
    ("asked", "turned"),
    [
        ({"framework": "nemo", "packed_tokens": 512}, 8),
        ({"framework": "nemo", "packed_tokens": 512, "model": "nemotron-3-nano-4b"}, 0),
        ({"framework": "megatron-lm", "packed_tokens": 512}, 0),
        ({"framework": "nemo"}, 0),
    ],
)
def test_packed_sequences_are_turned_one_after_the_other(asked: dict[str, Any], turned: int) -> None:
    """Queries and keys of two times four in each layer, under NeMo, of a model that has positions."""
    plan = plan_of(micro_batch=2, sequence_tokens=2048, **asked)
    clock, stage = Clock(plan, Kernels(FACTS.accelerator("h100-sxm-80gb")), None), plan.stages[0]
    passes = step_passes(plan, stage)
    layers = stage.last - stage.first
    ahead, back = (clock.timed(grouped(found)).launches.looped for found in (passes.forward, passes.backward))
    assert (ahead, back) == (2 * TURNED * turned * layers, 2 * TURNED_BACK * turned * layers)


def test_packed_sequences_do_not_look_at_each_other() -> None:
    """Four of 512 tokens have about a fourth of the pairs of one of 2,048, and no product less."""
    whole, packed = (
        step_passes(plan, plan.stages[0]).forward
        for plan in (plan_of(sequence_tokens=2048), plan_of(sequence_tokens=2048, packed_tokens=512))
    )
    pairs = [sum(item[0].pairs for item in found if isinstance(item[0], Attention)) for found in (whole, packed)]
    assert pairs[1] == pytest.approx(pairs[0] / 4, rel=0.01)
    assert total_flops(whole, Product) == total_flops(packed, Product)
    with pytest.raises(ScenarioError, match=r"packed_tokens: does not apply: what an encoder reads"):
        plan_of(model="whisper-tiny.en", sequence_tokens=448, packed_tokens=64)
    with pytest.raises(ScenarioError, match=r"packed_tokens: are at most the 2,048"):
        plan_of(sequence_tokens=2048, packed_tokens=4096)


def test_one_adapter_for_what_is_one_matrix() -> None:
    """Under Megatron Core queries, keys and values have one, as wide as all three, and gate and up another."""
    names = ("q_proj.lora_A", "q_proj.lora_B", "o_proj.lora_A", "o_proj.lora_B")
    names += ("gate_proj.lora_A", "gate_proj.lora_B", "down_proj.lora_A", "down_proj.lora_B")
    plan = plan_of(model="llama-3.1-8b", method="lora", framework="nemo")
    products = [item.operation for item in adapters(plan, plan.stages[0])]
    found = {one.name.split(".", 1)[1].removesuffix(".weight"): one.n for one in products if isinstance(one, Product)}
    assert tuple(found) == names
    assert (found["q_proj.lora_B"], found["gate_proj.lora_B"]) == (4096 + 2 * 1024, 2 * 14336)
    apart = plan_of(model="llama-3.1-8b", method="lora", framework="trl")
    assert len(adapters(apart, apart.stages[0])) == 14


@pytest.mark.parametrize(("precision", "each"), [("bf16-mixed", 2), ("fp8-mixed", 4)])
def test_experts_are_launched_one_by_one(precision: str, each: int) -> None:
    """Sixteen of 128 on each of eight ranks: two products of each, and in FP8 a cast before either."""
    plan = plan_of(model="qwen3-30b-a3b", precision=precision, parallelism={"data": 8, "expert": 8})
    clock = Clock(plan, Kernels(FACTS.accelerator("h100-sxm-80gb")), None)
    one = next(item.operation for item in computed(plan, plan.stages[0]) if isinstance(item.operation, Experts))
    assert clock.timed(grouped((Counted(one, 1),))).launches == Launches(one.launches, looped=16 * each)
    biases = Counted(Pointwise(BIASES, 1e6, 36.0), 2)
    assert clock.timed(grouped((biases,))).launches == Launches(looped=72)


def test_the_share_of_a_micro_batch_that_goes_backward() -> None:
    """One second of three forward leaves two thirds, whatever share of the device's rate is reached."""
    clock: Any = None
    nothing = Launches()
    whole, forward, none = (Timed(clock, (), {MOVED: seconds}, (), nothing, nothing) for seconds in (3.0, 1.0, 0.0))
    of: Any = SimpleNamespace(micro_batch=whole, forward=forward, reduced=none)
    found = micro_batch(of, Pace(plan_of(), FACTS.accelerator("h100-sxm-80gb"), dict(FACTS.training_step.values)), 1)
    assert found.backward_share == pytest.approx(2 / 3)


@pytest.mark.parametrize(("queries", "kind"), [(1.0, LATENT_DECODE), (100.0, LATENT_PREFILL)])
def test_latent_attention_has_laws_of_its_own(queries: float, kind: str) -> None:
    """Of many new tokens, and of one."""
    kernels = Kernels(FACTS.accelerator("h100-sxm-80gb"), "vllm")
    one = Attention("latent", 1.0, queries, 1000.0, 128, 1, 576, 512, True, None, True, "bf16", 1e6)
    basis = basis_of(kernels, one)
    wanted = {LATENT_DECODE: {LATENT_DECODE}, LATENT_PREFILL: {LATENT_PREFILL, "prefill"}}[kind]
    assert basis is not None and basis.law.kind in wanted


def test_a_cache_in_8_bit_is_read_by_its_own_kernel() -> None:
    """Where its law was fitted it is taken, and not that of 16 bit."""
    kernels = Kernels(FACTS.accelerator("h100-sxm-80gb"), "sglang")
    times = {
        kernel: kernels.attention(
            Attention("decode", 64.0, 1.0, 8192.0, 32, 8, 128, 128, True, None, False, kernel, 64 * 8192 * 4096.0)
        )
        for kernel in ("bf16", "fp8")
    }
    assert times["bf16"] != times["fp8"]


def test_an_architecture_has_the_slowest_network_that_is_bought_with_it() -> None:
    """What clouds rent out counts where nothing is sold."""
    slowest: dict[str, float] = {}
    for machine in FACTS.machines():
        if machine.network and machine.kind != "cloud":
            ports = machine.network_count / (1 if machine.topology == "network" else machine.devices)
            family = FACTS.accelerator(machine.accelerator).architecture
            rate = port_rate((FACTS.link(machine.network), ports))
            slowest[family] = min(rate, slowest.get(family, rate))
    assert len(slowest) > 3
    for family, rate in slowest.items():
        assert port_rate(networks()[family]) == pytest.approx(rate)


def test_a_file_s_own_bytes_are_read() -> None:
    """What a file says of its layers and its head is what a pass reads, whatever its formats are; norms stay small."""
    plan, plain = plan_of(), FACTS.number_format("bf16")
    model = rank_model(
        stage=plan.stages[0],
        weights=StoredWeights(10**9, 4 * 10**9, 5 * 10**8),
        group=None,
        keys=plain,
        values=plain,
        element_bytes=2,
        layout=Layout(),
    )
    assert model.weight_bytes == pytest.approx(4.5e9, rel=1e-3)
