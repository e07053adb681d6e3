"""Checking the laws of kernels and the families of devices that they are for."""

from calc.catalog.checking.check import Check, Rules, with_fields
from calc.catalog.entries import Entry, Tables

# A family of devices that kernels run alike on, and the laws of kernels that were fitted on measured ones.
KERNEL_FAMILY_RULES: Rules = {
    "name": (str,),
    "covers": (list,),
    "measured": (list,),
    "like?": (str,),
    "matrix_factor?": (int, float),
    "memory_factor?": (int, float),
    "operations_per_byte?": (int, float),
    "vector_per_byte?": (int, float),
    "least_rows?": (int, float),
    "powered?": (str,),
    "lanes?": (int, float),
    "reason": (str,),
    "source": (str,),
    "checked": (str,),
}
FAMILY_BOUNDS = {
    **dict.fromkeys(("matrix_factor", "memory_factor"), (0.1, 3)),
    **dict.fromkeys(("operations_per_byte", "vector_per_byte", "least_rows", "lanes"), (1, 1024)),
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
    "experts": (
        "start_s",
        "depth_s",
        "memory_share",
        "matrix_share",
        "sharpness",
        "quantize_bytes?",
        "idle_rows",
        "row_s",
    ),
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


@with_fields(KERNEL_FAMILY_RULES)
def check_family(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one family of devices: those measured are known, and the families it is like come to an end."""
    measured = entry["measured"]
    assert isinstance(measured, list)
    for device in measured:
        check.choice(f"{where}.measured", device, tables["accelerators"])
    if "powered" in entry:
        check.choice(f"{where}.powered", entry["powered"], tables["accelerators"])
    for field, (low, high) in FAMILY_BOUNDS.items():
        check.number(f"{where}.{field}", entry.get(field, low), low, high)
    families, passed = tables["kernel_families"], [entry]
    while like := str(passed[-1].get("like", "")):
        if like not in families:
            check.choice(f"{where}.like", like, families)
            return
        if families[like] in passed:
            check.problem(f"{where}.like", f"{like!r} leads back to where it came from")
            return
        passed.append(families[like])


@with_fields(KERNEL_LAW_RULES)
def check_law(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one law: it has the numbers of its kind and no others, each within its bounds."""
    check.choice(f"{where}.family", entry["family"], tables["kernel_families"])
    check.choice(f"{where}.kind", entry["kind"], KERNEL_VALUES)
    check.choice(f"{where}.rate", entry["rate"], KERNEL_RATES)
    engines, values = entry.get("engines", []), entry["values"]
    assert isinstance(engines, list) and isinstance(values, dict)
    for engine in engines:
        check.choice(f"{where}.engines", engine, tables["engines"])
    if "rows" in entry:
        check.number(f"{where}.rows", entry["rows"], 1, 10**5)
    if bool(entry.get("rows")) != ("error" in entry):
        check.problem(f"{where}.error", "belongs to a law that was fitted to rows, and to no other")
    if "error" in entry:
        check.number(f"{where}.error", entry["error"], 0.0001, 1)
    if not entry.get("rows") and not entry.get("reason"):
        check.problem(f"{where}.reason", "is missing: a law that was not fitted says why its numbers are taken")
    rules = KERNEL_VALUES.get(str(entry["kind"]), ())
    for name in values:
        if name not in {rule.removesuffix("?") for rule in rules}:
            check.problem(f"{where}.values.{name}", f"is no number of a law of kind {entry['kind']!r}")
    for name in rules:
        check_value(check, f"{where}.values", name, values)


def check_value(check: Check, where: str, rule: str, values: Entry) -> None:
    """Check that a number is there, where it must be, and within its bounds."""
    name = rule.removesuffix("?")
    dimension, low, high = KERNEL_BOUNDS[name]
    value = values.get(name)
    if value is None:
        if not rule.endswith("?"):
            check.problem(f"{where}.{name}", f"is missing ({dimension})")
    elif not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        check.problem(f"{where}.{name}", f"must be from {low:g} to {high:g} ({dimension}), not {value!r}")
