"""What entries of the catalogue must look like: their fields and types, and what an accelerator's facts may say."""

from collections.abc import Mapping

# Every fact an accelerator may have: dimension ("text" for words), bases allowed, plausible range in base units.
FactRule = tuple[str, tuple[str, ...], float, float]
RATE = ("operations_per_s", ("dense",), 1e11, 1e18)
ACCELERATOR_FACTS: dict[str, FactRule] = {
    "memory": ("bytes", ("advertised",), 2**30, 2**42),
    "memory_reported": ("bytes", ("driver",), 2**30, 2**42),
    "memory_usable": ("bytes", ("program",), 2**29, 2**42),
    "memory_type": ("text", ("",), 0, 0),
    "bandwidth": ("bytes_per_s", ("peak",), 1e10, 1e14),
    "memory_bus": ("bits", ("width",), 16, 65536),
    "memory_rate": ("bits_per_s", ("per-pin",), 1e8, 1e11),
    "fp32": ("operations_per_s", ("vector",), 1e11, 1e16),
    "tf32": RATE,
    "bf16": RATE,
    "fp16": RATE,
    "fp16_accumulate": RATE,
    "fp8": RATE,
    "fp6": RATE,
    "fp4": RATE,
    "int8": RATE,
    "compute_units": ("count", ("enabled",), 1, 100_000),
    "unit_threads": ("count", ("of a unit",), 512, 4096),  # that a unit can have at once
    "clock": ("hertz", ("boost",), 1e8, 1e10),
    "matrix_clock": ("hertz", ("boost",), 1e8, 1e10),
    "operations_per_clock": ("operations", ("16-bit",), 1, 1e7),
    "register_file": ("bytes", ("of a unit",), 2**14, 2**21),
    "shared_memory": ("bytes", ("of a unit",), 2**13, 2**20),
    "l2_cache": ("bytes", ("on-chip",), 2**18, 2**33),
    "last_level_cache": ("bytes", ("on-chip",), 2**20, 2**33),
    "power": ("watts", ("board",), 5, 5000),
    "form": ("text", ("",), 0, 0),
    "link": ("text", ("",), 0, 0),
    "link_bandwidth": ("bytes_per_s", ("both-ways",), 1e9, 1e14),
    "link_domain": ("count", ("joined",), 2, 100_000),
    "pcie": ("text", ("",), 0, 0),
    "peer_to_peer": ("text", ("",), 0, 0),
    "rocm": ("text", ("",), 0, 0),
    "devices_per_package": ("count", ("package",), 2, 64),
}
REQUIRED_FACTS = ("memory", "bandwidth")
# May one device read another's memory without a copy through the host's?
PEER_TO_PEER = ("yes", "bridge only", "no")
ROCM = ("supported", "not supported")  # by AMD's own list
# Where two published facts disagree with each other, the entry says so, by what is compared and why it differs.
CROSS_CHECKS = ("bandwidth", "rate", "sparse")
VENDORS = ("AMD", "Apple", "AWS", "Google", "Huawei", "Intel", "NVIDIA")
SEGMENTS = ("data-center", "workstation", "consumer", "soc", "cloud")
# Structured sparsity doubles a marketing rate. Dense rates stay below these multiples of the full 16-bit tensor rate
# (twice as much for 8 bit, six times for 4 bit on Blackwell Ultra); one above is a sparse number in a dense field.
SPARSE_RATIOS = {"fp8": 3.9, "int8": 3.9, "fp4": 7.9}
FULL_RATES = ("bf16", "fp16", "fp16_accumulate")
# What machines and links have, each with its unit and basis.
MACHINE_FACTS: dict[str, FactRule] = {
    "memory": ("bytes", ("advertised",), 2**30, 2**50),
    "host_memory": ("bytes", ("fitted",), 2**30, 2**50),
    "power": ("watts", ("maximum", "supplies"), 5, 1e6),
    "cpu_lanes": ("count", ("PCIe",), 1, 1024),
}
# What large messages were measured to reach: bytes on the link in a collective, or in a copy one way.
REACHED = ("bus", "one-way")
LINK_FACTS: dict[str, FactRule] = {
    "one_way": ("bytes_per_s", ("one-way",), 1e8, 1e14),
    "both_ways": ("bytes_per_s", ("both-ways",), 1e8, 1e14),
    "pair": ("bytes_per_s", ("one-way",), 1e8, 1e14),  # of two devices alone, where each pair has a wire of its own
    "reached": ("bytes_per_s", REACHED, 1e8, 1e14),
    "reached_by_two": ("bytes_per_s", REACHED, 1e8, 1e14),  # where more devices share what is between them
    "reached_by_host": ("bytes_per_s", REACHED, 1e8, 1e14),  # where devices may not read each other's memory
    "reached_by_host_by_two": ("bytes_per_s", REACHED, 1e8, 1e14),
    "reached_in_switch": ("bytes_per_s", ("bus",), 1e8, 1e14),  # where the switch adds up an all-reduce
    "latency": ("seconds", ("measured", "published"), 1e-8, 1e-2),
}
PROCESSOR_FACTS: dict[str, FactRule] = {
    "memory_channels": ("count", ("64-bit",), 0.25, 64),
    "memory_rate": ("bits_per_s", ("per-pin",), 1e8, 1e11),
    "clock": ("hertz", ("all cores",), 5e8, 1e10),
    "operations_per_clock": ("operations", ("8-bit, of a core",), 4, 4096),
    "power": ("watts", ("package",), 5, 5000),
}
PROCESSOR_KINDS = ("desktop", "laptop", "workstation", "server", "board")
MACHINE_KINDS = ("server", "rack", "workstation", "desktop", "laptop", "cloud")
# How devices reach each other: there is one; through the host, a bridge of two, switches, a link to each other one,
# their neighbours, or the network between machines.
TOPOLOGIES = ("single", "pcie", "bridge", "switched", "mesh", "torus", "network")
LINK_KINDS = ("device", "host", "network")  # between devices, between device and host, between machines
PRICE_OF = ("accelerators", "machines", "models", "electricity")
PRICE_KINDS = (
    "on-demand",
    "interruptible",
    "reserved",
    "median",
    "list",
    "launch",
    "street",
    "used",
    "retail",
    "hosted",
)
# Who rents devices out: clouds that do little else, those that sell everything, places where others offer theirs. A
# rent is that of the first which has the device.
MARKETS = ("specialist", "large cloud", "marketplace")
PRICE_PER = {  # of what, per what: a possible range in any currency that is like a dollar
    ("accelerators", "hour"): (0.005, 50),
    ("machines", "hour"): (0.05, 1_000),
    ("accelerators", "piece"): (20, 100_000),
    ("machines", "piece"): (200, 10_000_000),
    ("electricity", "kWh"): (0.01, 2),
    ("models", "million tokens"): (0.001, 1_000),
}
PRICE_STALE_DAYS = 120
SOURCE_KINDS = (
    "data sheet",
    "white paper",
    "paper",
    "documentation",
    "product page",
    "measurement",
    "code",
    "press",
    "database",
)

# Fields of each kind of entry with the type they must have; a `?` marks those that may be left out.
Rules = Mapping[str, tuple[type, ...]]
MODEL_RULES: Rules = {
    "name": (str,),
    "repositories": (list,),
    "finetunes?": (list,),  # repositories of others that hold the same shape under names of their own
    "aliases": (list,),
    "organization": (str,),
    "licence": (str,),
    "released": (str,),
    "gated": (bool,),
    "context_tokens": (int,),
    "config": (dict,),
    "published?": (dict,),
    "source": (str,),
    "checked": (str,),
    "note?": (str,),
}
# What stands in a config, at any depth: the largest that sizes can be, what torch calls its types, and what is text.
CONFIG_SIZES: Mapping[str, int] = {
    "hidden_size": 2**16,
    "intermediate_size": 2**18,
    "vocab_size": 2**20,
    "num_hidden_layers": 2**10,
    "num_attention_heads": 2**10,
    "max_position_embeddings": 10**8,
}
TORCH_TYPES: Mapping[str, tuple[str, ...]] = dict.fromkeys(("torch_dtype", "dtype"), ("bfloat16", "float16", "float32"))
CONFIG_TEXTS = ("model_type", "hidden_act", "quant_method")
# A repository that stores a model otherwise: its config's `quantization_config`, as it stands there.
PUBLISHED_RULES: Rules = {"quantization_config": (dict,), "source": (str,), "checked": (str,), "note?": (str,)}
SOURCE_RULES: Rules = {
    "title": (str,),
    "publisher": (str,),
    "kind": (str,),
    "url": (str,),
    "dated?": (str,),
    "checked": (str,),
    "note?": (str,),
}
# Which tensors a number format is for: every one; the matrices of the layers, the embedding and the output matrix;
# those of the layers alone; those of the experts where there are any.
SCOPES = ("all", "matrices", "linear", "experts")
FORMAT_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "bits": (int, float),
    "scope": (str,),
    "summary": (str,),
    "source": (str,),
    "checked": (str,),
    "native?": (str,),
    "kernel?": (str,),
    "suffixes?": (list,),
    "cache?": (bool,),
    "flattened?": (bool,),
} | {
    f"{name}?": (int,)
    for name in (
        "group",
        "group_rows",
        "group_bits",
        "outer_group",
        "outer_bits",
        "row_bits",
        "column_bits",
        "tensor_bytes",
    )
}
FORMAT_BOUNDS = {
    "bits": (1, 64),
    "group": (8, 4096),
    "group_rows": (1, 4096),
    "group_bits": (1, 1024),
    "outer_group": (8, 65_536),
    "outer_bits": (1, 1024),
    "row_bits": (1, 64),
    "column_bits": (1, 64),
    "tensor_bytes": (1, 65_536),
}
ENGINE_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "versions": (str,),
    "summary": (str,),
    "usual_on": (list,),
    "formats": (list,),
    "drafters?": (list,),
    "platforms": (str,),
    "source": (str,),
    "checked": (str,),
    "coefficients": (dict,),
    "eras?": (list,),
    "latents?": (str,),
}
ERA_RULES: Rules = {
    "id": (str,),
    "name": (str,),
    "first": (str,),
    "measured": (str,),
    "reason": (str,),
    "source": (str,),
}
ENGINE_COEFFICIENT_RULES: Rules = {
    "value": (int, float),
    "unit?": (str,),
    "versions?": (str,),
    "rows?": (list,),
    "source?": (str,),
    "checked?": (str,),
    "reason": (str,),
}
MIXTURE_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "base": (str,),
    "importance_matrix?": (bool,),
    "perplexity?": (int, float),  # what it adds to that of Llama 3 8B, as llama-quantize prints it
    "summary": (str,),
    "source": (str,),
    "checked": (str,),
}
COEFFICIENT_RULES: Rules = {
    "name": (str,),
    "value": (int, float),
    "unit": (str,),
    "low?": (int, float),
    "high?": (int, float),
    "summary": (str,),
    "rows": (str,),
    "source": (str,),
    "checked": (str,),
}
# Rows and sources of measurements of a bucket, by figure; and within which factors sources lay that were left out.
BUCKET_RULES: Rules = {f"{figure}?": (list,) for figure in ("speed", "memory", "training-speed", "training-memory")}
RANGE_RULES: Rules = {
    "measured": (int, float),
    "not_measured": (int, float),
    "rows": (int,),
    "sources": (int,),
    "checked": (str,),
}
# How a library sends messages: what it waits for once, and in each step over each kind of way.
PROTOCOL_FACTS: dict[str, FactRule] = dict.fromkeys(
    ("base", "device", "host", "staged", "network"), ("seconds", ("expected",), 0, 0.01)
)
PROTOCOL_ALGORITHMS = ("ring", "tree", "switch")
PROTOCOL_RULES: Rules = {
    "name": (str,),
    "algorithm": (str,),
    "share": (int, float),
    "source": (str,),
    "checked": (str,),
    "note?": (str,),
} | {f"{name}?": (dict,) for name in PROTOCOL_FACTS}
COEFFICIENT_UNITS = ("B", "ratio")
# Whether one gets the device today: not yet, new in shops, from clouds alone, or left over and second hand.
AVAILABILITY = ("announced", "sold", "rented", "used")
ACCELERATOR_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "vendor": (str,),
    "segment": (str,),
    "architecture": (str,),
    "released": (str,),
    "availability": (str,),
    "source": (str,),
    "checked": (str,),
    "also?": (list,),
    "exceptions?": (list,),
    "other_memory?": (list,),
} | {f"{name}?": (dict,) for name in ACCELERATOR_FACTS}
FACT_RULES: Rules = {
    "value": (int, float, str),
    "unit?": (str,),
    "basis?": (str,),
    "sparse?": (int, float),
    "source?": (str,),
    "checked?": (str,),
    "note?": (str,),
}
ALSO_RULES: Rules = {
    "field": (str,),
    "value": (int, float, str),
    "unit?": (str,),
    "source": (str,),
    "note": (str,),
}
EXCEPTION_RULES: Rules = {"check": (str,), "field": (str,), "reason": (str,)}
LINK_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "kind": (str,),
    "one_way": (dict,),
    "both_ways": (dict,),
    "pair?": (dict,),
    "reached?": (dict,),
    "reached_by_two?": (dict,),
    "reached_by_host?": (dict,),
    "reached_by_host_by_two?": (dict,),
    "reached_in_switch?": (dict,),
    "latency?": (dict,),
    "accelerators?": (list,),
    "source": (str,),
    "checked": (str,),
    "note?": (str,),
}
MACHINE_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "maker": (str,),
    "kind": (str,),
    "topology": (str,),
    "accelerator?": (str,),
    "devices?": (int,),
    "memory?": (dict,),
    "link?": (str,),
    "host_link?": (str,),
    "network?": (str,),
    "network_count?": (int,),
    "cpu?": (str,),
    "cpu_lanes?": (dict,),
    "host_memory?": (dict,),
    "power?": (dict,),
    "claim?": (str,),
    "source": (str,),
    "checked": (str,),
    "note?": (str,),
}
PROCESSOR_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "vendor": (str,),
    "kind": (str,),
    "cores": (int,),
    "released": (str,),
    "memory_channels": (dict,),
    "memory_rate": (dict,),
    "clock": (dict,),
    "operations_per_clock": (dict,),
    "power?": (dict,),
    "usual?": (bool,),
    "source": (str,),
    "checked": (str,),
}
PRICE_RULES: Rules = {
    "of": (str,),
    "item?": (str,),
    "pieces?": (int,),
    "kind": (str,),
    "price": (int, float),  # of what a model reads, where it is hosted
    "output_price?": (int, float),  # of what it writes
    "cached_price?": (int, float),  # of what it has read before
    "currency": (str,),
    "per": (str,),
    "seller?": (str,),
    "market?": (str,),
    "region?": (str,),
    "source": (str,),
    "checked": (str,),
    "note?": (str,),
}
# A family of devices that kernels run alike on, and the laws of kernels that were fitted on measured ones.
KERNEL_FAMILY_RULES: Rules = {
    "name": (str,),
    "covers": (list,),
    "measured": (list,),
    "like?": (str,),
    "matrix_factor?": (int, float),
    "memory_factor?": (int, float),
    "operations_per_byte?": (int, float),
    "least_rows?": (int, float),
    "reason": (str,),
    "source": (str,),
    "checked": (str,),
}
KERNEL_LAW_RULES: Rules = {
    "name": (str,),
    "family": (str,),
    "kind": (str,),
    "kernels": (list,),
    "engines?": (list,),
    "rate": (str,),
    "values": (dict,),
    "error?": (int, float),
    "rows?": (int,),
    "reason?": (str,),
    "source": (str,),
    "checked": (str,),
}
KERNEL_RATES = ("bf16", "fp8", "fp4", "int8", "fp32", "tf32")
# The numbers of each kind of law: all must be there but those with a question mark.
KERNEL_VALUES: dict[str, tuple[str, ...]] = {
    "product": (
        "start_s",
        "depth_s",
        "tile_s",
        "split_depth",
        "memory_share",
        "matrix_share",
        "sharpness",
        "quantize_bytes?",
        "row_s?",
    ),
    "experts": ("start_s", "memory_share", "matrix_share", "sharpness", "quantize_bytes?", "idle_rows", "row_s"),
    "prefill": ("start_s", "memory_share", "matrix_share", "sharpness", "setup_keys", "setup_width", "last_wave"),
    "decode": ("start_s", "key_s", "memory_share", "matrix_share", "sharpness", "turn_s"),
    "recurrence": ("start_s", "chunk_s", "memory_share", "matrix_share", "sharpness", "step_s"),
    "pointwise": ("start_s", "memory_share"),
    "message": ("start_s", "hop_s", "link_share", "pair_share", "ramp"),
}
KERNEL_VALUES |= {f"latent-{kind}": KERNEL_VALUES[kind] for kind in ("prefill", "decode")}
# Dimension and plausible range of each number.
KERNEL_BOUNDS: dict[str, tuple[str, float, float]] = {
    "start_s": ("seconds", 0, 5e-4),
    "depth_s": ("seconds for each step of the inner dimension", 0, 1e-7),
    "tile_s": ("seconds for each step of the inner dimension", 0, 1e-7),
    "split_depth": ("elements", 1, 1e9),
    "row_s": ("seconds for each row", 0, 1e-6),
    "key_s": ("seconds for each key", 0, 1e-6),
    "turn_s": ("seconds", 0, 1e-3),
    "step_s": ("seconds for each token", 0, 1e-5),
    "chunk_s": ("seconds", 0, 5e-4),
    "hop_s": ("seconds", 0, 1e-4),
    "link_share": ("of what the link carries one way", 0.01, 1.2),
    "pair_share": ("of what the link carries one way", 0.01, 1.2),
    "ramp": ("share", 0, 10),
    # Above 1 where operands were just written, and lie in the cache of the last level.
    "memory_share": ("of the bandwidth", 0.05, 5),
    "matrix_share": ("of the rate", 0.01, 1.1),
    "sharpness": ("power", 1, 20),
    "quantize_bytes": ("bytes for each element", 0, 40),
    "setup_keys": ("keys", 0, 5000),
    "setup_width": ("elements", 0, 1000),
    "last_wave": ("waves", 0, 10),
    "idle_rows": ("rows", 0, 1000),
}
