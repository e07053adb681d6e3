"""What coefficients of engines and trainers may be: the dimension and the plausible range of each."""

from calc.catalog.checking.check import Check
from calc.catalog.entries import Entry
from calc.errors import listed, nearest
from calc.units import UNITS, to_base

Bound = tuple[str, float, float]  # a dimension, empty for a plain number, and a range in base units

FLAG: Bound = ("", 0, 1)
SHARE: Bound = ("", 0.01, 1.2)  # of a rate; above 1 where caches of the device help
FACTOR: Bound = ("", 0.2, 10)
KERNELS: Bound = ("", 0, 50)
TOKENS: Bound = ("", 1, 2**17)
SECONDS: Bound = ("seconds", 0, 2e-2)
MEBIBYTE = 2**20
MEMORY: Bound = ("bytes", MEBIBYTE, 2**35)  # or nothing
ELEMENT: Bound = ("bytes", 1, 64)

# By the beginning of a name; what follows in it says of which kernel, number format, era or class of devices it is.
BOUNDS: dict[str, Bound] = {
    **dict.fromkeys(
        (
            "a100_is_large",
            "expert_workspace",
            "layer_input",
            "fuses",
            "fuses_casts",
            "halves_fp32",
            "cache_as_stated",
            "loops_experts",
            "overlap",
            "overlaps",
        ),
        FLAG,
    ),
    **dict.fromkeys(
        (
            "absorbs_chosen",
            "absorbs_latents",
            "awaits_products",
            "batches_adapters",
            "drafts_apart",
            "gathers_cast",
            "gathers_tokens",
            "held_by_rank",
            "graph_pieces",
            "graphs_in_share",
            "heads_alone",
            "packs_heads",
            "mixes_prompts",
            "repeats_heads",
            "reserves_answers",
            "sends_fp8",
            "sends_once",
            "shares_prefix",
            "unsure_ranks",
            "splits_layers",
            "state_blocks",
            "states_on_host",
            "symmetric_memory",
            "whole_blocks",
            "whole_length",
        ),
        FLAG,
    ),
    **dict.fromkeys(
        ("tensor_hidden", "launch_hidden", "host_waits", "outputs_by_slot", "cache_streams", "keeps_prompt"), FLAG
    ),
    **dict.fromkeys(("product_share", "flash_1_share", "flash_2_share", "flash_3_share", "eager_share"), SHARE),
    "half_rate_share": SHARE,  # of products where matrix units take 16 bit at half their rate
    "unpaged_share": ("", 1, 1.5),  # of a law of prompts whose keys lie in pages
    **dict.fromkeys(("product_most", "ring_share", "gptq_unpack_share", "memory_fraction"), SHARE),
    **dict.fromkeys(("graphs_estimated", "link_share", "state_pool_share", "state_share", "window_share"), SHARE),
    **dict.fromkeys(("attention_backward", "cache_factor", "expert_factor"), FACTOR),
    "attention_factor": ("", 0.2, 50),
    **dict.fromkeys(("expert_launches", "expert_reading_factor", "weights_factor"), FACTOR),
    "matrix_factor": ("", 0.2, 40),  # threads in place of matrix units have an eighth of their rate
    **dict.fromkeys(("attention_launches", "pointwise_kernels", "product_launches"), KERNELS),
    **dict.fromkeys(
        ("batched_tokens", "block_tokens", "graph_sequences", "sequences", "slots", "latent_head"),
        TOKENS,
    ),
    "unused_blocks": ("", 0, 1),
    "whole_prompt": ("", 0, 2**20),
    "context_piece": ("", 0, 2**20),
    **dict.fromkeys(("sum_bytes", "symmetric_bytes"), ("bytes", 0, 2**28)),
    "most_devices": ("count", 1, 4096),
    "power_exponent": ("", 0, 1),
    **dict.fromkeys(("core_kernel_s", "fused_kernel_s", "kernel_s", "launch_s", "loop_kernel_s"), SECONDS),
    **dict.fromkeys(("ahead_s", "experts_sort_s", "fp4_depth_s", "mask_s", "sequence_s", "told_s"), SECONDS),
    **dict.fromkeys(("choice_s", "cut_s", "state_step_s", "step_s", "tensor_s", "vector_start_s"), SECONDS),
    **dict.fromkeys(("communication_buffers", "cuda_graphs", "driver_reserve", "kept"), MEMORY),
    **dict.fromkeys(("processes_held", "runtime_context"), MEMORY),
    "context_thread": ("bytes", 2**9, 2**13),
    "unaligned_operations": ("", 1, 2**16),
    **dict.fromkeys(("hook_kernels", "view_kernels"), ("count", 0, 256)),
    "unpacked_bytes": ("", 0.5, 64),  # of a compute unit in a clock
    "context_threads": ("count", 2**10, 2**20),
    "workspaces": ("bytes", MEBIBYTE, 2**40),
    **dict.fromkeys(("small_device", "middle_device", "large_device", "huge_device"), ("bytes", 2**33, 2**40)),
    **dict.fromkeys(("kept_token", "kept_sequence", "kept_replica", "kept_prompt_graph"), ("bytes", 2**10, 2**26)),
    **dict.fromkeys(("prompt_logit_bytes", "sampler_logit_bytes", "score_bytes"), ELEMENT),
    **dict.fromkeys(
        ("cold_start_s", "cold_trace_s", "cold_compile_s", "cold_cached_s", "cold_warm_s"), ("seconds", 0, 300)
    ),
    "cold_capture_s": ("seconds", 0, 1),
    **dict.fromkeys(("cold_cache_rate", "cold_disk_rate", "cold_network_rate"), ("bytes_per_s", 1e7, 1e12)),
    **dict.fromkeys(("cold_range", "graphs_kept"), ("", 1, 5)),
    **dict.fromkeys(("cuda_graph_layer", "captured_sum"), ("bytes", 0, 2**22)),
    "tower_widths": ("", 3, 64),
    "allocator_slack": ("", 0, 0.5),
    "allocator_pass_slack": ("", 0, 2),
    "cache_passes": ("", 0, 10),
    **dict.fromkeys(("join_cycles", "repeat_cycles", "unpack_cycles"), ("", 0, 100)),
    "state_passes": ("", 0, 64),
    "states_held": ("", 1, 8),
    "indexing_kernels": ("", 0, 50),
    "stream_kernels": ("", 1, 500),
    "steps_ahead": ("count", 0, 4),
    "tail_tokens": ("tokens", 0, 4096),
    "held_steps": ("count", 0, 10_000),
    "state_kernels": ("", 0, 128),
    **dict.fromkeys(("captured_crossings", "captured_sequences"), ("", 0, 2**17)),
    **dict.fromkeys(("expert_tile", "tile_rows"), ("", 0, 256)),
    "vector_bytes": ("bytes", 0, 64),
    "vector_weights": ("", 0, 64),
    "vector_codes": ("", 0, 64),
    "packed_elements": ("", 0, 64),
    "integer_cycle": ("", 0, 8192),
    **dict.fromkeys(("expert_idle_share", "fp4_share", "integer_most", "integer_share"), ("", 0, 1)),
    **dict.fromkeys(("expert_kernels", "expert_passes", "experts_in_turn", "plain_in_turn"), ("", 0, 50)),
    "converted_bytes": ("bytes", 0, 32),
    "unpack_rows": ("", 0, 2**17),
    "request_s": ("seconds", 0, 1),
    "between_s": ("seconds", 0, 1),
    "stream_s": ("seconds", 0, 1),
    "entry_s": ("seconds", 0, 1e-7),
    "held_hidden_states": ("", 0, 16),
    "host_bandwidth": ("bytes_per_s", 1e9, 1e12),
    "chunk_over_ranks": ("", 0, 1),
    "prompt_graphs": ("", 0, 1),
    **dict.fromkeys(("copy_factor", "emulated_factor"), ("", 1, 10)),
    "expert_spread": ("", 0, 5),
    "crossing_s": ("seconds", 0, 1e-3),
    "key_walk_s": ("seconds", 0, 1e-6),
    "key_splits": ("", 1, 64),
    "shared_keys": ("", 0, 2**20),
    "part_s": ("", 0, 1e-7),
    "prompt_share": SHARE,
    "latent_cycles": ("", 0, 16),
    "latent_splits": ("", 1, 64),
    "split_products": ("", 0, 64),
    **dict.fromkeys(("prompt_heads", "step_heads"), ("", 0, 256)),
    "gather_cycles": ("", 0, 1000),
    "processor_read_share": SHARE,
    "processor_rate_share": SHARE,
    "processor_plain_factor": ("", 0.1, 2),
    "processor_unpack": ("operations", 0, 32),
    "processor_pair_s": ("seconds", 0, 1e-7),
    "range_weights": ("", 0, 0.2),
    "range_rest": ("", 0, 1),
    "range_low": ("", 0.3, 1),
    "range_high": ("", 1, 3),
}
MEASURED: dict[str, Bound] = {"B": ("bytes", 0, 2**34), "ratio": ("", 0, 5)}  # by the unit of an entry


def bound_of(name: str) -> Bound | None:
    """Return what a coefficient may be, by the longest beginning of its name; None where nothing is known of it."""
    stem = name.partition("@")[0]
    known = [begin for begin in BOUNDS if stem == begin or stem.startswith(f"{begin}_")]
    return BOUNDS[max(known, key=len)] if known else None


def check_value(check: Check, place: str, name: str, item: Entry) -> None:
    """Check a coefficient's unit and range, and bring it into its base unit; one without a unit is in it."""
    unit, bound, value = str(item.setdefault("unit", "")), bound_of(name), item["value"]
    assert isinstance(value, int | float)
    if unit and unit not in UNITS:
        check.problem(f"{place}.unit", f"{unit!r} is not a unit; known are {listed(UNITS)}")
        return
    if bound is None:
        where = "give it a dimension and a range in calc/catalog/coefficients.py"
        check.problem(place, f"is a coefficient of which nothing is known{nearest(name, BOUNDS)}; {where}")
        return
    dimension, least, most = bound
    if unit and UNITS[unit][0] != dimension:
        check.problem(f"{place}.unit", f"{unit!r} measures {UNITS[unit][0]}, and {name} is {in_words(dimension)}")
        return
    base = item["value"] = to_base(value, unit) if unit else value
    if not least <= base <= most and not (base == 0 and least >= MEBIBYTE):
        check.problem(f"{place}.value", f"{value:g} {unit}".rstrip() + f" is not possible for {name}")


def in_words(dimension: str) -> str:
    """Return what a coefficient of a dimension is."""
    return f"in {dimension}" if dimension else "a plain number"
