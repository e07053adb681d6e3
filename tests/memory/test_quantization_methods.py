"""What each quantiser's config says, read by hand: its number format, its groups, and the modules that it names."""

import re
from typing import Any

import pytest

from calc import ScenarioError
from calc.catalog import catalog
from calc.catalog.records import NumberFormat, Rule
from calc.memory.module_rules import LEFT_OUT, condensed, merged, of_modules, rule_of
from calc.memory.published_formats import quantization_of, stated_type
from calc.memory.quantization_methods import Stated, in_groups, listed, read_method, whole_number

FORMATS = {found.id: found for found in catalog().number_formats()}
NF4, AWQ, INT4, BF16 = (FORMATS[name] for name in ("nf4", "awq", "int4-group", "bf16"))
FIELD = "model.config.quantization_config"


def read(**quantization: object) -> Stated:
    """Return what a method says; number formats are found by their exact names."""
    config = {"expert_dtype": quantization.pop("expert_dtype", None)}
    return read_method(quantization, config, FORMATS.__getitem__)


ALONE: list[tuple[dict[str, object], str]] = [
    ({"quant_method": "fp8"}, "fp8"),
    ({"quant_method": "FP8", "weight_block_size": [128, 128]}, "fp8-block"),
    ({"quant_method": "fp8", "quant_algo": "NVFP4"}, "fp8"),
    ({"quant_method": "gptq"}, "gptq-int4"),
    ({"quant_method": "auto-round", "bits": 8, "group_size": 128}, "gptq-int8"),
    ({"quant_method": "autoround", "bits": 4}, "gptq-int4"),
    ({"quant_method": "awq"}, "awq"),
    ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
    ({"quant_method": "bitsandbytes", "_load_in_8bit": True}, "int8"),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
    ({"quant_method": "bitsandbytes", "bnb_4bit_use_double_quant": True}, "nf4-dq"),
    ({"quant_method": "mxfp4"}, "mxfp4"),
    ({"quant_method": "fbgemm_fp8"}, "fp8-channel"),
    ({"quant_method": "bitnet"}, "bitnet"),
    *[
        ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": kind}}}, name)
        for kind, name in (
            ("fp4", "mxfp4-linear"),
            ("fp8_e4m3", "fp8"),
            ("int4", "int4-group"),
            ("uint4", "awq"),
            ("int8", "int8-channel"),
        )
    ],
    *[
        ({"quant_method": "modelopt", "quant_algo": algorithm}, name)
        for algorithm, name in (
            ("FP8", "fp8"),
            ("FP8_PER_CHANNEL_PER_TOKEN", "fp8-channel"),
            ("FP8_PB_WO", "fp8-block"),
            ("MXFP8", "mxfp8"),
            ("W4A8_MXFP4_FP8", "mxfp4-linear"),
            ("NVFP4_AWQ", "nvfp4"),
            ("W4A16_NVFP4", "nvfp4-a16"),
            ("INT4_AWQ", "int4-group"),
            ("W8A8_SQ_PER_CHANNEL", "int8"),
        )
    ],
    ({"bits": 4}, "mlx-4bit"),
    ({"bits": 6, "group_size": 64}, "mlx-6bit"),
    ({"bits": 4, "mode": "mxfp4"}, "mlx-mxfp4"),
    ({"bits": 4, "mode": "nvfp4"}, "nvfp4"),
]


@pytest.mark.parametrize(("quantization", "name"), ALONE, ids=str)
def test_a_method_of_one_format(quantization: dict[str, object], name: str) -> None:
    """All matrices of the layers are in it; what stays at 16 bit stands in the lists that each method has."""
    assert read(**quantization) == Stated(FORMATS[name])
    assert Stated(FORMATS[name])[1:] == ((), False, (), LEFT_OUT)


@pytest.mark.parametrize(
    ("base", "size", "change"),
    [
        (AWQ, 128, {}),
        (AWQ, 64, {"name": "AWQ, groups of 64", "group": 64}),
        (AWQ, -1, {"group": 0, "group_bits": 0, "row_bits": 20}),
        (AWQ, 0, {"group": 0, "group_bits": 0, "row_bits": 20}),
        (INT4, 32, {"name": "INT4, groups of 32", "group": 32}),
        (INT4, 1, {"name": "INT4, groups of 1", "group": 1}),
        (FORMATS["fp8-channel"], 0, {}),
        (FORMATS["fp8-channel"], -1, {}),
    ],
)
def test_groups_of_another_size(base: NumberFormat, size: int, change: dict[str, Any]) -> None:
    """Its name says it; one group for a row has the row's scale and zero point, and what has these keeps them."""
    assert in_groups(base, size) == base._replace(**change)


@pytest.mark.parametrize(("method", "name"), [("awq", "awq"), ("gptq", "gptq-int4")])
def test_groups_that_a_method_states(method: str, name: str) -> None:
    """Both state a size of 128 where they state none, and -1 for a row."""
    assert read(quant_method=method, group_size=32).base == in_groups(FORMATS[name], 32)
    assert read(quant_method=method, group_size=-1).base == in_groups(FORMATS[name], -1)
    assert read(quant_method=method, group_size=65_536).base.group == 65_536
    for size in (-2, 65_537, 64.0, True, "64"):
        with pytest.raises(ScenarioError, match=r"group_size: must be a whole number from -1 to 65,536, not"):
            read(quant_method=method, group_size=size)


@pytest.mark.parametrize("bits", [2, 3, 5, 6, 7])
def test_gptq_with_other_bits(bits: int) -> None:
    """A group has a scale of 16 bit and a zero point of as many bits as a weight."""
    found = read(quant_method="gptq", bits=bits).base
    assert (found.id, found.name) == (f"gptq-int{bits}", f"GPTQ, {bits} bit")
    assert (found.bits, found.group_bits, found.group) == (bits, 16 + bits, 128)


def test_gptq_module_by_module() -> None:
    """`dynamic` (GPTQModel): `-:` leaves modules at 16 bit, others have eight bits where it says so."""
    dynamic = {r"-:.*lm_head": {}, r"+:.*\.down_proj": {"bits": 8}, r".*\.up_proj": {"bits": 4}, ".*q_proj": None}
    found = read(quant_method="gptq", dynamic=dynamic)
    assert found == Stated(
        FORMATS["gptq-int4"],
        (
            ("re:.*lm_head", BF16),
            (r"re:.*\.down_proj", FORMATS["gptq-int8"]),
            (r"re:.*\.up_proj", FORMATS["gptq-int4"]),
            ("re:.*q_proj", FORMATS["gptq-int4"]),
        ),
    )
    with pytest.raises(ScenarioError, match=rf"^{FIELD}.dynamic: must be an object, not \['x'\]"):
        read(quant_method="gptq", dynamic=["x"])


@pytest.mark.parametrize(
    ("more", "experts"),
    [
        ({"moe_quant_algo": "NVFP4"}, "nvfp4"),
        ({"expert_dtype": "fp4"}, "mxfp4-linear"),
        ({"expert_dtype": "fp4", "moe_quant_algo": "NVFP4"}, "nvfp4"),
    ],
)
def test_experts_in_four_bits(more: dict[str, object], experts: str) -> None:
    """FP8 with experts of their own: what ModelOpt leaves out of theirs is in FP8, so that list is not read."""
    found = read(quant_method="fp8", **more)
    others = ((r"re:\.experts(\.|$)", FORMATS[experts]),)
    assert found == Stated(FORMATS["fp8"], others, left_out=("modules_to_not_convert",))
    assert read(quant_method="fp8", expert_dtype="fp8") == Stated(FORMATS["fp8"])


def compressed(**groups: object) -> Stated:
    """Return what compressed-tensors says of some groups."""
    return read(quant_method="compressed-tensors", config_groups=groups)


ARGUMENTS: list[tuple[dict[str, object], NumberFormat]] = [
    ({"type": "float", "num_bits": 8, "strategy": "tensor"}, FORMATS["fp8"]),
    ({"type": "float", "num_bits": 8, "strategy": "channel"}, FORMATS["fp8-channel"]),
    ({"type": "float", "num_bits": 8, "strategy": "block"}, FORMATS["fp8-block"]),
    ({"type": "float"}, FORMATS["fp8"]),
    ({"type": "float", "group_size": 64}, FORMATS["fp8"]),
    ({"type": "float", "num_bits": 4, "group_size": 16}, FORMATS["nvfp4"]),
    ({"type": "int", "num_bits": 8, "strategy": "channel"}, FORMATS["int8-channel"]),
    ({"num_bits": 8}, FORMATS["int8-channel"]),
    ({"num_bits": 4, "strategy": "channel", "group_size": 64}, in_groups(INT4, -1)),
    ({"num_bits": 4}, in_groups(INT4, -1)),
    (
        {"num_bits": 4, "group_size": 64},
        INT4._replace(name="INT4, groups of 64", group=64, group_bits=16, row_bits=0),
    ),
    (
        {"num_bits": 4, "group_size": 64, "symmetric": False},
        INT4._replace(name="INT4, groups of 64", group=64, group_bits=20, row_bits=0),
    ),
    (
        {"num_bits": 8, "group_size": 32, "strategy": "group", "symmetric": False},
        FORMATS["int8-channel"]._replace(name="INT8, groups of 32", group=32, group_bits=24, row_bits=0),
    ),
]


@pytest.mark.parametrize(("arguments", "expected"), ARGUMENTS, ids=str)
def test_arguments_of_compressed_tensors(arguments: dict[str, object], expected: NumberFormat) -> None:
    """Bits, type, strategy and group are a number format; the output matrix is one of the matrices."""
    found = compressed(group_0={"targets": ["Linear"], "weights": arguments})
    assert found == Stated(expected, head=True)
    assert compressed(group_0={"weights": arguments}) == found


@pytest.mark.parametrize(
    ("packed", "arguments", "name"),
    [
        ("mxfp4-pack-quantized", {"type": "float", "num_bits": 4}, "mxfp4-linear"),
        ("nvfp4-pack-quantized", {"type": "float", "num_bits": 4}, "nvfp4"),
        ("mxfp8-quantized", {"type": "float", "num_bits": 8, "strategy": "channel"}, "mxfp8"),
    ],
)
def test_the_way_of_packing_says_more(packed: str, arguments: dict[str, object], name: str) -> None:
    """Of a group or of all."""
    own = compressed(group_0={"targets": ["Linear"], "weights": arguments, "format": packed})
    of_all = read(quant_method="compressed-tensors", config_groups={"a": {"weights": arguments}}, format=packed)
    assert own == of_all == Stated(FORMATS[name], head=True)


def test_groups_of_compressed_tensors() -> None:
    """Those of all linear layers are the base; without such ones the first group is, for its own modules alone."""
    eight, four = {"type": "float", "num_bits": 8}, {"type": "float", "num_bits": 4}
    experts = {"targets": ["re:.*experts.*", "re:.*shared.*"], "weights": four}
    every = {"targets": ["Linear"], "weights": eight}
    found = compressed(group_0=experts, group_1=every)
    others = (("re:.*experts.*", FORMATS["nvfp4"]), ("re:.*shared.*", FORMATS["nvfp4"]))
    assert found == Stated(FORMATS["fp8"], others, head=True)
    down = {"targets": ["re:.*down_proj"], "weights": eight}
    alone = compressed(group_0=experts, group_1=down)
    assert alone == Stated(
        FORMATS["nvfp4"], (("re:.*down_proj", FORMATS["fp8"]),), only=("re:.*experts.*", "re:.*shared.*")
    )
    assert compressed(group_0={"targets": ["Linear"], "weights": None}, group_1="x") == Stated(BF16)


@pytest.mark.parametrize(
    ("quantization", "field", "message"),
    [
        ({"config_groups": None}, "config_groups", "is missing: it says the number format"),
        ({"config_groups": {}}, "config_groups", "is missing: it says the number format"),
        ({"config_groups": {"a": {"weights": {"num_bits": 3}}}}, "config_groups.a.weights", "3 bits of the type None"),
        ({"config_groups": {"a": {"weights": {"type": "x"}}}}, "config_groups.a.weights", "8 bits of the type 'x'"),
        ({"config_groups": {"a": {"weights": {"num_bits": 17}}}}, "num_bits", "must be a whole number from 2 to 16"),
        ({"config_groups": {"a": {"weights": {"num_bits": 1}}}}, "num_bits", "must be a whole number from 2 to 16"),
        ({"config_groups": {"a": {"weights": {}, "targets": 3}}}, "targets", "must be a list of modules, not 3"),
    ],
)
def test_compressed_tensors_that_cannot_be_read(quantization: dict[str, object], field: str, message: str) -> None:
    """Each by its field."""
    with pytest.raises(ScenarioError) as error:
        read(quant_method="compressed-tensors", **quantization)
    assert error.value.field == f"{FIELD}.{field}"
    assert message in error.value.message


@pytest.mark.parametrize(
    ("quantization", "field", "message"),
    [
        ({"quant_method": "unheard_of"}, "quant_method", "'unheard-of' is not modelled; modelled are fp8, gptq"),
        ({}, "quant_method", "'without a method' is not modelled"),
        ({"quant_method": "quark"}, "global_quant_config", "None is not modelled. Choose `weights`"),
        ({"quant_algo": "NVFP2"}, "quant_algo", "'NVFP2' is not modelled; modelled are FP8, "),
        ({"quant_algo": "MIXED_PRECISION"}, "quant_algo", "'MIXED_PRECISION' is not modelled"),
        (
            {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"a": {"quant_algo": "NVFP2"}}},
            "quantized_layers",
            "'NVFP2' is not modelled. Choose `weights`",
        ),
        ({"quant_algo": "MIXED_PRECISION", "quantized_layers": {"a": 1}}, "quantized_layers", "None is not"),
        ({"quant_method": "gptq", "bits": 9}, "bits", "must be a whole number from 2 to 8, not 9"),
        ({"quant_method": "gptq", "bits": 1}, "bits", "must be a whole number from 2 to 8, not 1"),
        ({"bits": 4, "group_size": 8}, "group_size", "must be a whole number from 16 to 1,024, not 8"),
        ({"bits": 4, "group_size": 1025}, "group_size", "must be a whole number from 16 to 1,024, not 1025"),
        ({"bits": 9}, "bits", "must be a whole number from 2 to 8, not 9"),
    ],
)
def test_methods_that_cannot_be_read(quantization: dict[str, object], field: str, message: str) -> None:
    """Each is refused by its field, with what is known."""
    with pytest.raises(ScenarioError) as error:
        read(**quantization)
    assert error.value.field == f"{FIELD}.{field}"
    assert error.value.message.startswith(message)


def test_modelopt_mixes_formats() -> None:
    """The one of fewest bits is the base of its own modules; the others have theirs."""
    modules = {"a": {"quant_algo": "FP8"}, "b": {"quant_algo": "NVFP4"}, "c": {"quant_algo": "NVFP4"}}
    found = read(quant_method="modelopt", quant_algo="MIXED_PRECISION", quantized_layers=modules)
    fp8, fp4 = FORMATS["fp8"], FORMATS["nvfp4"]
    assert found == Stated(fp4, (("a", fp8), ("b", fp4), ("c", fp4)), only=("b", "c"))
    assert read(quant_algo="MIXED_PRECISION", quantized_layers={}) == Stated(BF16)
    assert read(quant_algo="NVFP4", group_size=32).base == in_groups(fp4, 32)


def test_mlx_module_by_module() -> None:
    """Modules with bits of their own have these, in the groups of all."""
    found = read(bits=4, group_size=32, **{"model.a": {"bits": 8}, "model.b": {"bits": 7}, "model.c": False})
    eight, four = (in_groups(FORMATS[f"mlx-{bits}bit"], 32) for bits in (8, 4))
    assert found == Stated(four, (("model.a", eight),))


def test_where_a_config_says_it() -> None:
    """Of the whole model first, then of its language part; an empty one says nothing."""
    own, part = {"quant_method": "fp8"}, {"bits": 4}
    assert quantization_of({"quantization_config": own, "text_config": {"quantization_config": part}}) == own
    assert quantization_of({"quantization_config": {}, "quantization": part}) == part
    for name in ("text_config", "llm_config", "language_config", "thinker_config"):
        assert quantization_of({name: {"quantization": part}}) == part
        assert stated_type({name: {"dtype": "torch.float16"}}) == "float16"
    assert quantization_of({"vision_config": {"quantization": part}, "text_config": 3}) == {}
    assert stated_type({"torch_dtype": "bfloat16", "dtype": "float32"}) == "bfloat16"
    assert stated_type({"torch_dtype": None, "dtype": "float32", "text_config": {"dtype": "half"}}) == "float32"
    assert stated_type({"vision_config": {"dtype": "float32"}}) == ""


def test_lists_of_modules() -> None:
    """A list of names of 400 characters at most, or nothing."""
    assert listed({}, "ignore") == listed({"ignore": None}, "ignore") == ()
    assert listed({"ignore": ["a", "b" * 400]}, "ignore") == ("a", "b" * 400)
    for wrong in ("lm_head", 3, ["a"] * 100_001):
        with pytest.raises(ScenarioError, match=rf"^{FIELD}.ignore: must be a list of modules, not"):
            listed({"ignore": wrong}, "ignore")
    for wrong in ([3], ["b" * 401]):
        with pytest.raises(ScenarioError, match=rf"^{FIELD}.ignore: must be a list of names of at most 400 characters"):
            listed({"ignore": wrong}, "ignore")
    assert len(listed({"ignore": ("a",) * 100_000}, "ignore")) == 100_000


def test_whole_numbers_of_a_config() -> None:
    """Within both ends, which belong to it; what is not said is the usual."""
    assert [whole_number({"n": value}, "n", 7, 2, most=9) for value in (None, 2, 9)] == [7, 2, 9]
    for value in (1, 10, True, 3.0, "3"):
        with pytest.raises(ScenarioError, match=rf"^{FIELD}.n: must be a whole number from 2 to 9, not"):
            whole_number({"n": value}, "n", 7, 2, most=9)


@pytest.mark.parametrize(
    ("module", "pattern", "layers", "in_layer", "by_number"),
    [
        ("lm_head", r"(^|\.)lm_head(\.|$)", None, False, False),
        ("model.lm_head", r"(^|\.)lm_head(\.|$)", None, False, False),
        ("language_model.model.vision.a", r"(^|\.)vision\.a(\.|$)", None, False, False),
        ("*.self_attn*", r".*\.self_attn.*", None, False, False),
        ("model.layers.7.mlp.gate", r"^mlp\.gate(\.|$)", {7}, True, False),
        ("model.layers.7.mlp*", r"^mlp.*", {7}, True, False),
        ("model.layers.7", "^", {7}, True, False),
        (r"re:layers\.(0|12)\.mlp(\.|$)", r"^mlp(\.|$)", {0, 12}, True, False),
        (r"re:.*experts.*", ".*experts.*", None, False, False),
        (r"re:.*layers\.\d+\.mlp", r".*layers\.\d+\.mlp", None, False, True),
        ("model.layers.1*", r"(^|\.)layers\.1.*", None, False, True),
    ],
)
def test_names_of_modules(module: str, pattern: str, layers: set[int] | None, in_layer: bool, by_number: bool) -> None:
    """A name, a name with `*`, or an expression; the number of a layer is taken out of it."""
    expected = Rule(
        NF4, "", pattern, None if layers is None else frozenset(layers), in_layer=in_layer, by_number=by_number
    )
    assert rule_of(module, NF4) == expected
    assert list(of_modules((module,), NF4)) == [expected]
    assert re.compile(pattern)


def test_an_expression_that_is_none() -> None:
    """It is named."""
    with pytest.raises(ScenarioError, match=rf"^{FIELD}: names modules by 're:\(', which is no regular expression"):
        list(of_modules(("re:(",), NF4))


def test_rules_that_differ_in_their_layers() -> None:
    """They are one, in the place of the first; one of all layers stays apart."""
    one, two = (rule_of(f"model.layers.{layer}.mlp", NF4) for layer in (1, 2))
    other, every = rule_of("model.layers.1.mlp", AWQ), rule_of("mlp", NF4)
    assert merged([one, other, two, every, one]) == (one._replace(layers=frozenset({1, 2})), other, every)


def test_a_config_in_fewer_words() -> None:
    """Layers are put together, experts stand for one another, and what nothing is read from is left out."""
    found = condensed(
        {
            "quant_method": "modelopt",
            "producer": {"name": "modelopt"},
            "activation_scheme": "dynamic",
            "ignore": ["model.layers.10.mlp*", "model.layers.2.mlp*", "lm_head", "re:.*x", 3, "lm_head"],
            "quantized_layers": {
                "model.layers.0.mlp.experts.0.up": {"quant_algo": "NVFP4"},
                "model.layers.0.mlp.experts.1.up": {"quant_algo": "NVFP4"},
                "model.layers.3.mlp.experts.9.up": {"quant_algo": "NVFP4"},
                "model.layers.0.a": {"quant_algo": "FP8"},
                "head": {"quant_algo": "FP8"},
                "other": 3,
            },
            "config_groups": {"group_0": {}},
        }
    )
    assert found == {
        "quant_method": "modelopt",
        "ignore": [r"re:layers\.(2|10)\.mlp.*", "lm_head", "re:.*x"],
        "quantized_layers": {
            r"re:layers\.(0)\.a(\.|$)": {"quant_algo": "FP8"},
            "head": {"quant_algo": "FP8"},
            r"re:layers\.(0|3)\.mlp\.experts\.0\.up(\.|$)": {"quant_algo": "NVFP4"},
        },
    }
    kept = {"quant_method": "compressed-tensors", "config_groups": {"group_0": {}}, "ignore": "lm_head"}
    assert condensed(kept) == kept
