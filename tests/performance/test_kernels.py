"""Laws of kernels: what they must hold whatever the numbers in the catalogue are, and which device takes which law."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import estimate
from calc.catalog import catalog
from calc.performance.device_laws import CARRIED, GENERATION, MEASURED
from calc.performance.device_rates import device_class, family_of
from calc.performance.engine_passes import kernel_classes
from calc.performance.fabric import copied_share, joined
from calc.performance.kernel_laws import ProductLaw, blend, product_s
from calc.performance.kernels import Kernels, kernels
from calc.performance.operations import (
    Attention,
    Collective,
    Experts,
    HostCopy,
    Operation,
    Pointwise,
    Product,
    Recurrence,
)
from calc.performance.own_kernels import OwnKernels, own_kernels
from calc.performance.transfers import transfer
from calc.validation.bases import basis_of

MATRIX = 4096 * 4096


def of(name: str, engine: str = "") -> Kernels:
    """Return the kernels of a device that has them."""
    found = kernels(catalog().accelerator(name), engine=engine)
    assert found is not None
    return found


def product(m: float, kernel: str = "bf16", each: float = 2.0) -> Product:
    """Return a product with a square matrix of 4,096."""
    return Product("square", m, 4096, 4096, kernel, each * MATRIX, 4.0 * m * 4096)


def attention(sequences: float, queries: float, keys: float, window: int | None = None) -> Attention:
    """Return attention of 32 heads of 128 on 8 KV heads."""
    seen = min(keys + queries, window) if window else keys + queries
    return Attention(
        "attention", sequences, queries, keys, 32, 8, 128, 128, True, window, False, "bf16", sequences * seen * 4096.0
    )


EACH: tuple[Operation, ...] = (
    product(16),
    product(16, "fp32", 4.0),
    Experts("experts", 64, 60, 128, 8, 768, 2048, 3, "bf16", 60 * 3 * 768 * 2048 * 2.0, 1e6),
    attention(1, 4096, 0),
    attention(64, 1, 4096),
    Recurrence("state", "delta", 100, 1, 1e9, 1e7),
    Pointwise("norm", 1e7, 3),
    Collective("reduce", "all-reduce", 1e6, 2, "tensor"),
    HostCopy("weights", 1e9),
)


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9), st.floats(1.0, 20.0))
def test_overlap_lies_between_the_longer_and_both(first: float, second: float, sharpness: float) -> None:
    """Two things that overlap in part take no less than the longer of them, and no more than one after the other."""
    both = blend(first, second, sharpness)
    assert max(first, second) <= both * (1 + 1e-12)
    assert both <= (first + second) * (1 + 1e-12)


def test_a_product_worked_by_hand() -> None:
    """2 s to start, 4 and 3 s that overlap to 5, and with 12 s of a tile's way to 13, 6 s to quantize: 21 s."""
    law = ProductLaw(2.0, 4.0, 0.0, 100.0, 1.0, 2.0, 2.0, 1.0)
    assert product_s(law, m=2.0, k=3.0, flops=6.0, moved_bytes=4.0) == pytest.approx(21.0)


def test_a_tile_alone_and_a_split_dimension() -> None:
    """Half a tile of rows walks four steps in 2 s; along a dimension that is split the walk ends where parts begin."""
    alone = ProductLaw(0.0, 0.0, 1.0, 100.0, 1.0, 1.0, 2.0, 0.0)
    assert product_s(alone, m=128.0, k=4.0, flops=0.0, moved_bytes=0.0) == 2.0
    split = ProductLaw(0.0, 1.0, 0.0, 3.0, 1.0, 1.0, 2.0, 0.0)
    assert product_s(split, m=1.0, k=4.0, flops=0.0, moved_bytes=0.0) == 3.0


@pytest.mark.parametrize(("keys", "published"), [(65_536, 2300.6e-6), (131_072, 4592.2e-6)])
def test_units_walk_over_all_keys_of_a_head(keys: int, published: float) -> None:
    """FlashAttention 2.0.9 on an A100, 16 heads of 128: as PyTorch's page on Flash-Decoding has it, within 1 %.

    So do 108 heads on 108 units; one more waits for them. Where units share keys, memory alone bounds it.
    """
    engine = catalog().engine("transformers").of_version("4.37")
    walking = Kernels(catalog().accelerator("a100-sxm-80gb"), own=own_kernels(engine.values, "sdpa", ("NVIDIA",)))
    shared = Kernels(catalog().accelerator("a100-sxm-80gb"), own=own_kernels(engine.values, "flash", ("NVIDIA",)))
    one = attention(1, 1, keys - 1)._replace(heads=16, kv_heads=2, cache_bytes=keys * 1024.0)
    assert walking.seconds(one) == pytest.approx(published, rel=0.01)
    assert walking.seconds(one._replace(heads=108)) == walking.seconds(one)
    assert walking.seconds(one._replace(heads=109)) == 2 * walking.seconds(one)
    assert shared.seconds(one) < published / 10


def test_a_whole_core_attends_as_its_memory_reads() -> None:
    """TPU recipes of Google have Qwen3 32B on one Ironwood chip write 3,960 tokens a second for 135 sequences at once.

    Which leaves less than 35 ms for 64 layers. Counted as one multiprocessor, a core took 110 ms to attend alone.
    """
    core = Kernels(catalog().accelerator("tpu7x"), engine="vllm")
    keys = 4600
    one = attention(135, 1, keys)._replace(heads=32, kv_heads=4, cache_bytes=135 * keys * 1024.0)
    read = one.cache_bytes / core.bandwidth
    assert read < core.seconds(one) < 0.035 / 64


def test_steps_under_amd_s_back_end_are_for_the_longest_text() -> None:
    """Mistral Medium 3.5 on eight MI300X takes 26.1 ms for a token of 32 requests of 1,024 and 1,024 tokens.

    It is published of a server that was started for 262,144; for what is asked alone all units share a text's keys.
    """
    asked: dict[str, object] = {"model": "mistralai/Mistral-Medium-3.5-128B", "accelerator": "mi300x"}
    asked |= {"engine": "vllm", "engine_version": "0.21", "backend": "aiter", "parallelism": {"tensor": 8}}
    asked |= {"prompt_tokens": 1024, "output_tokens": 1024, "concurrency": 32}
    reports: list[Any] = [estimate({**asked, **said}) for said in ({"longest_tokens": 262_144}, {})]
    own, half = (report["speed"]["time_per_output_token_s"]["typical"] for report in reports)
    assert own == pytest.approx(26.1e-3, rel=0.15) and half < 0.8 * own


@pytest.mark.parametrize(("key_dim", "value_dim"), [(128, 128), (192, 128), (512, 512)])
def test_prompts_under_amd_s_back_end(key_dim: int, value_dim: int) -> None:
    """Of 65,536 tokens on one of eight MI355X plain heads reach 121 TFLOP/s, as published; others the law's rate."""
    values = catalog().engine("vllm").of_version("0.24").values
    own = Kernels(catalog().accelerator("mi355x"), engine="vllm", own=own_kernels(values, "flash", ("CDNA 4", "AMD")))
    asked = attention(1, 65_536, 0)._replace(heads=8, kv_heads=1, key_dim=key_dim, value_dim=value_dim)
    reached, law = (asked.flops / kernels.seconds(asked) for kernels in (own, Kernels(own.accelerator, engine="vllm")))
    assert reached == pytest.approx(121e12 if key_dim == 128 else law, rel=0.1)


@pytest.mark.parametrize(
    ("device", "heads", "kv_heads", "width", "latent", "published"),
    [
        ("h100-sxm-80gb", 32, 8, 256, False, 9.2e-9),  # Llama 3.1 8B, sgl-project/sglang#2394: 0.58 ms for 1,960 tokens
        ("b200-sxm-180gb", 20, 1, 1088, True, 23e-9),  # GLM 4.7 Flash, as three runs of SGLang's cookbook lie apart
    ],
)
def test_a_few_units_share_keys(
    device: str, heads: int, kv_heads: int, width: int, latent: bool, published: float
) -> None:
    """Each token that Triton's kernels look back at takes as long as published within 40 %; other kernels a tenth."""
    values = catalog().engine("sglang").of_version("0.5.9").values
    accelerator = catalog().accelerator(device)
    further = []
    for way in ("triton", "flash"):
        own = Kernels(accelerator, engine="sglang", own=own_kernels(values, way, ("NVIDIA",)))
        near, far = (
            attention(1, 1, keys)._replace(
                heads=heads,
                kv_heads=kv_heads,
                key_dim=width - 128,
                value_dim=128,
                latent=latent,
                cache_bytes=2.0 * keys,
            )
            for keys in (2048, 4096)
        )
        further.append((own.seconds(far) - own.seconds(near)) / 2048)
    assert further[0] == pytest.approx(published, rel=0.4)
    assert further[1] < published / 10


@pytest.mark.parametrize(
    ("device", "heads", "published"),
    [
        ("a100-sxm-80gb", 16, 29.9e-9),  # DeepSeek V3 on eight: 115 ms more in 61 layers after 63,000 tokens
        ("rtx-pro-6000-96gb", 64, 17.9e-9),  # Kimi K2.5 on eight, vllm-project/vllm#33529: 10.9 ms after 10,000
        ("h100-sxm-80gb", 16, 0.5e-9),  # DeepSeek V3 on eight: 2.2 ms in all that such a token takes more
    ],
)
def test_four_units_share_latent_vectors(device: str, heads: int, published: float) -> None:
    """Each latent vector takes as long as published within 15 %, where a library's kernels read it within twice.

    Later versions share a sequence among more units.
    """
    accelerator, further = catalog().accelerator(device), []
    for version in ("0.8.3", "0.24"):
        values = catalog().engine("vllm").of_version(version).values
        own = Kernels(accelerator, engine="vllm", own=own_kernels(values, "flash", kernel_classes(accelerator)))
        near, far = (
            attention(1, 1, keys)._replace(
                heads=heads, kv_heads=1, key_dim=576, value_dim=512, latent=True, cache_bytes=1152.0 * keys
            )
            for keys in (8192, 65536)
        )
        further.append((own.seconds(far) - own.seconds(near)) / 57344)
    walks = published > 1e-9
    assert further[0] == pytest.approx(published, rel=0.15 if walks else 1.0)
    assert further[1] < further[0] / 5 if walks else further[1] == further[0]


def test_messages_between_cards() -> None:
    """Two cards on PCIe send a short all-reduce in 5 to 9 us, four in 10 to 16, eight in 20 to 30; NVLink in less.

    Measured are 6.8, 13.5 and 26.7 us on RTX PRO 6000 by NCCL, and 5 us for eight H100 by vLLM's own kernels.
    """
    for ranks, low, high in ((2, 5e-6, 9e-6), (4, 10e-6, 16e-6), (8, 20e-6, 30e-6)):
        message = Collective("reduce", "all-reduce", 8192.0, ranks, "tensor")
        assert low < of("rtx-pro-6000-server-96gb").seconds(message) < high
        assert of("h100-sxm-80gb", "vllm").seconds(message) < 7e-6
    assert of("h100-sxm-80gb").seconds(Collective("reduce", "all-reduce", 8192.0, 1, "tensor")) == 0.0


def test_messages_of_other_libraries_and_ways() -> None:
    """NVIDIA's library says nothing of AMD's, nor of a way through the host's memory: protocols are asked there."""
    message = Collective("reduce", "all-reduce", 8192.0, 2, "tensor")
    for name in ("mi300x", "rtx-4090"):
        expected = transfer("all-reduce", joined=joined(catalog().accelerator(name), ranks=2), message_bytes=8192.0)
        assert of(name).seconds(message) == expected.seconds
        assert basis_of(of(name), message) is None


@pytest.mark.parametrize("name", [entry.id for entry in catalog().accelerators()])
def test_every_device_finds_a_law_for_every_operation(name: str) -> None:
    """No accelerator of the catalogue with a bandwidth and a rate is left without a time, and none is zero."""
    found = kernels(catalog().accelerator(name))
    if found is None:
        assert not catalog().accelerator(name).sixteen_bit
        return
    for operation in EACH:
        assert 0 < found.seconds(operation) < 10


@pytest.mark.parametrize("name", ["h100-sxm-80gb", "rtx-4090", "m4-max-128gb", "mi300x", "gb10"])
def test_more_work_takes_no_less_time(name: str) -> None:
    """Seconds grow with tokens, keys and sequences."""
    device = of(name)
    for smaller, larger in (
        (product(1), product(64)),
        (product(64), product(4096)),
        (attention(1, 512, 0), attention(1, 1024, 0)),
        (attention(1, 512, 0), attention(1, 512, 4096)),
        (attention(4, 1, 1024), attention(8, 1, 1024)),
        (attention(4, 1, 1024), attention(4, 1, 8192)),
        (attention(1, 8192, 0, window=512), attention(1, 8192, 0)),
    ):
        assert device.seconds(smaller) <= device.seconds(larger)


@pytest.mark.parametrize(
    ("operation", "roof"), [(product(16384), "compute"), (product(1), "memory"), (attention(64, 1, 16384), "memory")]
)
def test_no_roof_is_broken(operation: Product | Attention, roof: str) -> None:
    """On measured devices nothing is faster than the data sheet's rate or bandwidth."""
    for family in catalog().kernel_families():
        for name in family.measured:
            device = of(name)
            seconds = device.seconds(operation)
            rate = catalog().accelerator(name).quantity("bf16") or 0.0
            least = operation.flops / rate if roof == "compute" else operation.bytes / device.bandwidth
            assert seconds >= least


def test_a_law_is_of_architecture_and_class() -> None:
    """Cards of one architecture differ by market and memory, and each maker has a family for the rest."""
    facts = catalog()
    assert family_of(facts.accelerator("h100-sxm-80gb")).id == "hopper"
    assert family_of(facts.accelerator("l40s-48gb")).id == "ada"
    assert family_of(facts.accelerator("rtx-4090")).id == "ada-consumer"
    assert family_of(facts.accelerator("l40-48gb")).id == "ada-consumer"  # at half the rate of its die
    assert family_of(facts.accelerator("a10g-24gb")).id == "ampere-consumer"
    assert family_of(facts.accelerator("a10-24gb")).id == "ampere-professional"
    assert family_of(facts.accelerator("gb10")).id == "gb10"
    assert family_of(facts.accelerator("m1-max-64gb")).id == "apple"
    assert device_class(facts.accelerator("l40s-48gb")) == "professional"


def test_what_stands_behind_an_answer_is_said() -> None:
    """Measured on an H100, of its generation on an H20, carried over to GeForce cards and kernels nobody measured."""
    assert [
        found.kind for device in ("h100-sxm-80gb", "h20-96gb", "rtx-4090") if (found := basis_of(of(device), EACH[0]))
    ] == [
        MEASURED,
        GENERATION,
        CARRIED,
    ]
    unpacked = basis_of(of("h100-sxm-80gb"), product(1, "w4a16", 0.5))
    assert unpacked is not None
    assert unpacked.kind == CARRIED


def test_fewer_bytes_of_weights_are_read_faster() -> None:
    """At one token a matrix of 4 bits takes less time than one of 16, and FP8 lies between."""
    device = of("h100-sxm-80gb")
    sixteen, eight, four = (
        device.seconds(Product("head", 1, 16384, 16384, kernel, each * 16384 * 16384, 0.0))
        for kernel, each in (("bf16", 2.0), ("fp8", 1.0), ("w4a16", 0.5))
    )
    assert four < eight < sixteen


def test_few_rows_cost_a_whole_instruction() -> None:
    """An H20 has 37 operations for each byte: 64 rows of an instruction take longer than reading weights of 16 bit.

    One token takes what 64 do but for their own bytes; on an H100, with 295 for each byte, reading bounds it.
    """
    slow, fast = of("h20-96gb"), of("h100-sxm-80gb")
    assert slow.seconds(product(1.0)) > 0.95 * slow.seconds(product(64.0))
    one = product(1.0)
    arithmetic = 2.0 * 64 * one.n * one.k / slow.rate("bf16")
    assert slow.seconds(one) > arithmetic > one.bytes / slow.bandwidth
    assert fast.seconds(one) < 1.5 * one.bytes / fast.bandwidth + 1e-5


def test_a_cast_that_is_fused_leaves_the_plain_law() -> None:
    """TensorRT-LLM's measured FP8 products have casts in kernels of their own; fused, the plain law holds."""
    device, asked = catalog().accelerator("h100-sxm-80gb"), product(16.0, "fp8", 1.0)
    own = OwnKernels(fuses_casts=True)
    apart, fused = Kernels(device, "tensorrt-llm").seconds(asked), Kernels(device, "tensorrt-llm", own).seconds(asked)
    assert fused == Kernels(device).seconds(asked) < apart


def test_packed_weights_are_multiplied_as_integers() -> None:
    """A share of the rate on 8-bit integers, of the instructions of single warps where those of groups are faster."""
    large = Product("mlp", 8192.0, 14336, 4096, "q4-k", 0.5625 * 14336 * 4096, 0.0)
    own = OwnKernels(integer_share=0.3)
    for name, share in (("rtx-a6000", 0.3), ("h100-sxm-80gb", 0.3 * 0.62)):
        device = catalog().accelerator(name)
        rate = share * (device.quantity("int8") or 0.0)
        assert Kernels(device, "", own).seconds(large) == pytest.approx(large.flops / rate, rel=0.1)
    plain, device = large._replace(kernel="bf16"), catalog().accelerator("rtx-a6000")
    assert Kernels(device, "", own).seconds(plain) == Kernels(device).seconds(plain)


def test_own_kernels_for_a_few_rows_start_sooner() -> None:
    """A small matrix takes little more than such a kernel's start, where a library's takes several microseconds."""
    device, own = catalog().accelerator("rtx-3060-12gb"), OwnKernels(vector_start_s=2e-6)
    small = Product("k_proj", 1.0, 128, 1024, "q8-0", 1.0625 * 128 * 1024, 0.0)
    assert 2e-6 < Kernels(device, "", own).seconds(small) < 3e-6 < Kernels(device).seconds(small)


@pytest.mark.parametrize(
    ("name", "reached"),
    [
        ("a100-sxm-40gb", 6 * 108 * 1.41e9),
        ("h100-sxm-80gb", 6 * 132 * 1.98e9),
        ("rtx-4090", 1.008e12),
        ("mi50-32gb", 6 * 60 * 1.746e9),
    ],
)
def test_few_rows_are_read_as_memory_gives_or_units_ask(name: str, reached: float) -> None:
    """With 6 bytes a cycle and unit an A100 and an H100 ask for half of what memory gives, a GeForce for all of it."""
    device = catalog().accelerator(name)
    size = 2.0 * 14336 * 4096
    row = Product("up_proj", 1.0, 14336, 4096, "bf16", size, 0.0)
    taken = size / Kernels(device, "", OwnKernels(vector_start_s=1e-9, vector_bytes=6.0)).seconds(row)
    assert 0.85 * reached < taken < 1.002 * reached


@pytest.mark.parametrize(
    ("kernel", "bytes_each", "codes", "unpacked"),
    [("q4-k", 0.5625, 0.0, True), ("q4-0", 0.5625, 0.0, False), ("q4-0", 0.5625, 9.0, True)],
)
def test_units_take_weights_apart_as_fast_as_they_can(
    kernel: str, bytes_each: float, codes: float, unpacked: bool
) -> None:
    """Nine weights a cycle of each of an M1 Max's 32 cores is half of what memory gives in Q4_K; Q4_0 has no minima."""
    device, count = catalog().accelerator("m1-max-64gb"), 14336.0 * 4096
    row = Product("up_proj", 1.0, 14336, 4096, kernel, bytes_each * count, 0.0)
    seconds = Kernels(device, "", OwnKernels(vector_start_s=1e-9, vector_weights=9.0, vector_codes=codes)).seconds(row)
    limit = count / (9 * 32 * 1.296e9)
    assert (limit < seconds < 1.1 * limit) == unpacked
    assert unpacked or seconds < 0.7 * limit


@pytest.mark.parametrize(
    ("model", "devices", "published_s"), [("qwen3-30b-a3b", 1, 0.0320), ("qwen3-235b-a22b", 4, 0.0681)]
)
def test_marlin_once_launched_a_kernel_for_each_expert(model: str, devices: int, published_s: float) -> None:
    """SGLang 0.4.6 takes 32 and 68 ms for a token of GPTQ mixtures on H20s (Qwen's tables); no number was fitted.

    Since 0.5 one kernel has all experts.
    """
    asked = {"model": model, "weights": "gptq-int4", "engine": "sglang", "accelerator": "h20-96gb"}
    asked |= {"accelerators": devices, "prompt_tokens": 1, "output_tokens": 2048}
    reports: list[Any] = [estimate({**asked, "engine_version": version}) for version in ("0.4.6", "0.5.3")]
    old, new = (report["speed"]["time_per_output_token_s"]["typical"] for report in reports)
    assert old == pytest.approx(published_s, rel=0.35)
    assert new < old / 3


@pytest.mark.parametrize("engine", ["llama.cpp", "mlx"])
def test_states_are_updated_without_matrix_units(engine: str) -> None:
    """An M5 Max has three times the matrix rate of an M4 Max, and updates states as much faster as its memory is."""
    old, new = (catalog().accelerator(name) for name in ("m4-max-64gb", "m5-max-128gb"))
    own = own_kernels(catalog().engine(engine).values, "flash", ("Apple",))
    laws = [Kernels(device, engine, own) for device in (old, new)]
    update = Recurrence("State", "gated delta net", 4096.0, 1.0, flops=1e12, state_bytes=1e6)
    bandwidths = [device.quantity("bandwidth") or 0.0 for device in (old, new)]
    seconds = [law.seconds(update) for law in laws]
    assert seconds[0] / seconds[1] == pytest.approx(bandwidths[1] / bandwidths[0], rel=0.01)
    assert laws[1].rate("bf16") > 3.0 * laws[0].rate("bf16")


def test_a_kernel_over_two_dies_takes_longer_to_start() -> None:
    """An M3 Ultra wrote Qwen3.6 35B-A3B in 8 bits at 73 to 75 tokens a second (raullenchai/Rapid-MLX, issue 472)."""
    asked = {"model": "qwen3.6-35b-a3b", "weights": "mlx-8bit", "engine": "mlx", "accelerator": "m3-ultra-512gb"}
    report: Any = estimate({**asked, "cached_tokens": 30, "prompt_tokens": 1, "output_tokens": 1024})
    assert report["speed"]["decode_tokens_per_s"]["typical"] == pytest.approx(73.8, rel=0.1)
    assert kernel_classes(catalog().accelerator("m3-ultra-512gb"))[0] == "Apple of two dies"
    assert "Apple of two dies" not in kernel_classes(catalog().accelerator("m3-max-64gb"))


def test_fewer_lanes_are_copied_over_as_well_as_sixteen() -> None:
    """Copies reach 27.12 GB/s over sixteen lanes of PCIe 4.0, and half of that over eight."""
    lanes = {name: catalog().link(name) for name in ("pcie-4-x16", "pcie-4-x8")}
    wide, narrow = (link.bytes_per_s_one_way * copied_share(link) for link in lanes.values())
    assert wide == pytest.approx(27.12e9)
    assert narrow == pytest.approx(wide / 2)


@pytest.mark.parametrize(("longest", "parts"), [(0, 0), (2000, 1000 / 256), (131_072, 130_072 / 256), (131_073, None)])
def test_parts_of_keys_that_nothing_has(longest: int, parts: float | None) -> None:
    """Half a nanosecond for each of 256 keys, sequence and KV head, of what a server is started for; or a walk."""
    accelerator = catalog().accelerator("mi300x")
    values = catalog().engine("vllm").of_version("0.24").values
    own = own_kernels(values, "flash", kernel_classes(accelerator), longest=longest)
    asked = attention(32, 1, 999)._replace(heads=32, kv_heads=8, key_dim=128, value_dim=128)
    plain = Kernels(accelerator, "vllm", own._replace(longest=0.0)).seconds(asked)
    further = Kernels(accelerator, "vllm", own).seconds(asked) - plain
    if parts is None:
        assert plain + further == pytest.approx(1000 * 256 * 2.5e-10, rel=0.2)
    else:
        assert further == pytest.approx(32 * 8 * parts * 5e-10, rel=1e-6, abs=1e-12)
