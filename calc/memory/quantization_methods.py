"""What quantisers say of a model's weights: for each method, which number format, in which groups, of which modules.

Read are the methods of transformers' quantisers and those of ModelOpt and MLX. Sources: transformers, src/transformers/
utils/quantization_config.py; compressed-tensors, quant_args.py and quant_config.py; ModelOpt, hf_quant_config.json.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from calc.catalog.records import NumberFormat
from calc.errors import ScenarioError
from calc.memory.module_rules import FIELD, LEFT_OUT

Values = Mapping[str, object]
Find = Callable[[str], NumberFormat]
MOST_PATTERNS, LONGEST_PATTERN = 100_000, 400
MOST_SIDE = 65_536  # of a group or a block
# ModelOpt's names of number formats.
MODELOPT = {
    "FP8": "fp8",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8-channel",
    "FP8_PB_WO": "fp8-block",
    "MXFP8": "mxfp8",
    "MXFP4": "mxfp4-linear",
    "W4A8_MXFP4_FP8": "mxfp4-linear",
    "NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "W4A16_NVFP4": "nvfp4-a16",
    "W4A8_NVFP4_FP8": "nvfp4",
    "W4A16_AWQ": "int4-group",
    "W4A8_AWQ": "int4-group",
    "INT4_AWQ": "int4-group",
    "W8A8_SQ_PER_CHANNEL": "int8",
}


class Stated(NamedTuple):
    """What a method says: its number format, whether the output matrix is in it, and what is in another one."""

    base: NumberFormat
    others: tuple[tuple[str, NumberFormat], ...] = ()  # modules, each with its number format
    head: bool = False  # the output matrix is a matrix as any other unless it is left out
    only: tuple[str, ...] = ()  # modules that alone are in the base; empty for all matrices
    left_out: tuple[str, ...] = LEFT_OUT  # the lists of those that stay at 16 bit


def listed(quantization: Values, name: str) -> tuple[str, ...]:
    """Return a list of modules; raises ScenarioError unless it is one."""
    value = quantization.get(name)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > MOST_PATTERNS:
        raise ScenarioError(f"{FIELD}.{name}", f"must be a list of modules, not {value!r:.60}")
    if not all(isinstance(item, str) and len(item) <= LONGEST_PATTERN for item in value):
        raise ScenarioError(f"{FIELD}.{name}", f"must be a list of names of at most {LONGEST_PATTERN} characters")
    return tuple(value)


def whole_number(quantization: Values, name: str, default: int, least: int, most: int) -> int:
    """Return a whole number in its range."""
    value = quantization.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ScenarioError(f"{FIELD}.{name}", f"must be a whole number from {least} to {most:,}, not {value!r:.60}")
    return value


def read_method(quantization: Values, config: Values, find: Find) -> Stated:
    """Return what a method says; raises ScenarioError for one that is not known."""
    method = str(quantization.get("quant_method") or "").lower().replace("_", "-")
    if "quant_algo" in quantization and method != "fp8":
        return modelopt(quantization, find)
    if not method and "bits" in quantization:
        return mlx(quantization, find)
    if method not in METHODS:
        known = ", ".join(METHODS)
        message = f"{method or 'without a method'!r:.60} is not modelled; modelled are {known}. Choose `weights`"
        raise ScenarioError(f"{FIELD}.quant_method", message)
    text = config.get("text_config")
    tables = isinstance(text, Mapping) and bool(text.get("engram_layer_ids"))
    beside = {"expert_dtype": config.get("expert_dtype"), "word_group_tables": tables}
    return METHODS[method]({**beside, **quantization}, find)


def in_groups(number_format: NumberFormat, size: int) -> NumberFormat:
    """Return a number format with another size of its groups; -1 or 0 is one group for each row."""
    size = max(size, 0)
    if size == number_format.group:
        return number_format
    if not size:
        return number_format._replace(group=0, group_bits=0, row_bits=number_format.group_bits)
    return number_format._replace(name=f"{number_format.name.partition(',')[0]}, groups of {size}", group=size)


def in_blocks(number_format: NumberFormat, sides: object) -> NumberFormat:
    """Return a number format in blocks of so many rows and columns."""
    stated = list(sides) if isinstance(sides, list | tuple) else []
    if len(stated) != 2 or not all(isinstance(side, int) and 1 <= side <= MOST_SIDE for side in stated):
        raise ScenarioError(f"{FIELD}.weight_block_size", f"must be two whole numbers, not {sides!r:.60}")
    rows, columns = stated
    if (rows, columns) == (number_format.group_rows, number_format.group):
        return number_format
    name = f"{number_format.name.partition(',')[0]}, blocks of {rows} × {columns}"
    return number_format._replace(name=name, group=columns, group_rows=rows)


def fp8(quantization: Values, find: Find) -> Stated:
    """Return FP8 of transformers and DeepSeek: in blocks where a size is stated; experts may be in 4 bits.

    DeepSeek's tables of word groups have a scale for each 32 numbers of a row.
    """
    sides = quantization.get("weight_block_size")
    base = in_blocks(find("fp8-block"), sides) if sides else find("fp8")
    tables = ((r"re:\.engram\.embed(\.|$)", find("mxfp8")),) if quantization.get("word_group_tables") else ()
    experts = MODELOPT.get(str(quantization.get("moe_quant_algo")))
    if experts is None and "fp4" in str(quantization.get("expert_dtype") or quantization.get("store_dtype")):
        experts = "mxfp4-linear"
    if experts is None:
        return Stated(base, tables)
    # What ModelOpt leaves out of its own number format is in FP8 here.
    others = (*tables, (r"re:\.experts(\.|$)", find(experts)))
    return Stated(base, others, left_out=("modules_to_not_convert",))


def gptq(quantization: Values, find: Find) -> Stated:
    """Return GPTQ, also as AutoRound packs it; `dynamic` leaves out modules or gives them other bits."""
    bits = whole_number(quantization, "bits", 4, 2, most=8)
    found = find("gptq-int8" if bits == 8 else "gptq-int4")
    base = in_groups(found, whole_number(quantization, "group_size", 128, -1, most=MOST_SIDE))
    if bits not in (4, 8):
        base = base._replace(id=f"gptq-int{bits}", name=f"GPTQ, {bits} bit", bits=bits, group_bits=16 + bits)
    dynamic = quantization.get("dynamic") or {}
    if not isinstance(dynamic, Mapping):
        raise ScenarioError(f"{FIELD}.dynamic", f"must be an object, not {dynamic!r:.60}")
    others = []
    for name, change in dynamic.items():
        wide = isinstance(change, Mapping) and change.get("bits") == 8
        other = find("bf16") if str(name).startswith("-:") else find("gptq-int8") if wide else base
        others.append(("re:" + re.sub(r"^[-+]:", "", str(name)), other))
    return Stated(base, tuple(others))


def awq(quantization: Values, find: Find) -> Stated:
    """Return AWQ."""
    return Stated(in_groups(find("awq"), whole_number(quantization, "group_size", 128, -1, most=MOST_SIDE)))


def bitsandbytes(quantization: Values, find: Find) -> Stated:
    """Return LLM.int8() or NF4, with or without scales that are quantised too."""
    if quantization.get("load_in_8bit") or quantization.get("_load_in_8bit"):
        return Stated(find("int8"))
    return Stated(find("nf4-dq" if quantization.get("bnb_4bit_use_double_quant") else "nf4"))


def compressed(quantization: Values, find: Find) -> Stated:
    """Return compressed-tensors: one number format for each group of modules."""
    groups = quantization.get("config_groups")
    if not isinstance(groups, Mapping) or not groups:
        raise ScenarioError(f"{FIELD}.config_groups", "is missing: it says the number format")
    found = []
    for name, group in groups.items():
        arguments = group.get("weights") if isinstance(group, Mapping) else None
        if isinstance(arguments, Mapping):
            targets = listed(group, "targets") or ("Linear",)
            packed = str(group.get("format") or quantization.get("format") or "")
            found.append((targets, by_arguments(arguments, packed, f"{FIELD}.config_groups.{name}", find)))
    if not found:
        return Stated(find("bf16"))
    for targets, number_format in found:
        if "Linear" in targets:
            rest = [(target, other) for these, other in found if "Linear" not in these for target in these]
            return Stated(number_format, tuple(rest), head=True)
    rest = [(target, other) for these, other in found[1:] for target in these]
    return Stated(found[0][1], tuple(rest), only=found[0][0])


def by_arguments(arguments: Values, packed: str, field: str, find: Find) -> NumberFormat:
    """Return the number format that bits, type, strategy and group describe."""
    bits = whole_number(arguments, "num_bits", 8, 2, most=16)
    size = whole_number(arguments, "group_size", 0, -1, most=65_536)
    strategy = str(arguments.get("strategy") or ("group" if size > 0 else "tensor"))
    if arguments.get("type") == "float" and bits == 4:
        return find("mxfp4-linear" if "mxfp4" in packed else "nvfp4")
    if arguments.get("type") == "float" and bits == 8:
        if "mxfp8" in packed:
            return find("mxfp8")
        return find({"channel": "fp8-channel", "block": "fp8-block"}.get(strategy, "fp8"))
    if arguments.get("type", "int") != "int" or bits not in (4, 8):
        message = f"{bits} bits of the type {arguments.get('type')!r:.40} are not modelled. Choose `weights`"
        raise ScenarioError(f"{field}.weights", message)
    base = find("int8-channel" if bits == 8 else "int4-group")
    if strategy == "channel" or size <= 0:
        return in_groups(base, -1)
    zero = 0 if arguments.get("symmetric", True) else bits
    return base._replace(name=f"INT{bits}, groups of {size}", group=size, group_bits=16 + zero, row_bits=0)


def mxfp4(_: Values, find: Find) -> Stated:
    """Return MXFP4 of transformers: in a mixture the experts."""
    return Stated(find("mxfp4"))


def fbgemm(_: Values, find: Find) -> Stated:
    """Return FBGEMM's FP8, with a scale for each row."""
    return Stated(find("fp8-channel"))


def bitnet(_: Values, find: Find) -> Stated:
    """Return BitNet's three values in 2 bits, with a scale for each matrix."""
    return Stated(find("bitnet"))


def quark(quantization: Values, find: Find) -> Stated:
    """Return AMD Quark's format of all layers."""
    whole = quantization.get("global_quant_config")
    arguments = whole.get("weight") if isinstance(whole, Mapping) else None
    kind = arguments.get("dtype") if isinstance(arguments, Mapping) else None
    names = {"fp4": "mxfp4-linear", "fp8_e4m3": "fp8", "int4": "int4-group", "uint4": "awq", "int8": "int8-channel"}
    if kind not in names:
        raise ScenarioError(f"{FIELD}.global_quant_config", f"{kind!r:.40} is not modelled. Choose `weights`")
    return Stated(find(names[str(kind)]))


def modelopt(quantization: Values, find: Find) -> Stated:
    """Return ModelOpt's number format, or the one of each module where it mixes them."""
    algorithm = str(quantization.get("quant_algo"))
    modules = quantization.get("quantized_layers")
    if algorithm == "MIXED_PRECISION" and isinstance(modules, Mapping):
        others = []
        for module, said in modules.items():
            name = said.get("quant_algo") if isinstance(said, Mapping) else None
            if name not in MODELOPT:
                raise ScenarioError(f"{FIELD}.quantized_layers", f"{name!r:.40} is not modelled. Choose `weights`")
            others.append((str(module), find(MODELOPT[str(name)])))
        most = min((number_format for _, number_format in others), key=lambda item: item.bits, default=find("bf16"))
        return Stated(most, tuple(others), only=tuple(module for module, item in others if item == most))
    if algorithm not in MODELOPT:
        known = ", ".join(MODELOPT)
        raise ScenarioError(f"{FIELD}.quant_algo", f"{algorithm!r:.40} is not modelled; modelled are {known}")
    base = find(MODELOPT[algorithm])
    return Stated(in_groups(base, whole_number(quantization, "group_size", base.group, -1, most=65_536)))


def mlx(quantization: Values, find: Find) -> Stated:
    """Return MLX's affine groups, embedding and output matrix among them, or its MXFP4."""
    if quantization.get("mode") in ("mxfp4", "nvfp4"):
        return Stated(find("mlx-mxfp4" if quantization["mode"] == "mxfp4" else "nvfp4"))
    bits = whole_number(quantization, "bits", 4, 2, most=8)
    size = whole_number(quantization, "group_size", 64, 16, most=1024)
    others = [
        (str(name), in_groups(find(f"mlx-{item.get('bits', bits)}bit"), size))
        for name, item in quantization.items()
        if isinstance(item, Mapping) and item.get("bits") in (2, 3, 4, 5, 6, 8)
    ]
    return Stated(in_groups(find(f"mlx-{bits}bit"), size), tuple(others))


METHODS: dict[str, Callable[[Values, Find], Stated]] = {
    "fp8": fp8,
    "gptq": gptq,
    "auto-round": gptq,
    "autoround": gptq,
    "awq": awq,
    "bitsandbytes": bitsandbytes,
    "compressed-tensors": compressed,
    "mxfp4": mxfp4,
    "fbgemm-fp8": fbgemm,
    "bitnet": bitnet,
    "quark": quark,
}
