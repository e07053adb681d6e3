"""Devices that are not alike, and two pools of them: the inputs of forms, the scenario they make, and answers."""

from calc.calculators.certainty import starting, unless_sure
from calc.calculators.hosting import MOST_WATTS
from calc.calculators.inputs import Amount, Choice, Number, Report, amount, whole, whole_if
from calc.calculators.rendering import Verdict
from calc.calculators.sizes import size_gib
from calc.catalog import catalog
from calc.performance.paces import tokens_per_s_each
from calc.units import show_count, show_number, show_seconds

UNLIKE, POOLS = "A second kind of GPU", "Two pools"
MOST = 64
OF_CARDS = ("pcie", "power_limit")  # what each kind says for itself
UNLIKE_INPUTS = (
    Choice(
        "other_accelerator",
        "Another kind of GPU",
        "Beside those above, under llama.cpp: each has whole layers.",
        "",
        kind="accelerators",
        empty="None",
        topic=UNLIKE,
    ),
    Number("other_accelerators", "Number of these", "Of the other kind.", "1", least=1, most=MOST, topic=UNLIKE),
    Choice(
        "other_pcie", "PCIe of these", "The slot that they stand in.", "", kind="slots", empty="Its own", topic=UNLIKE
    ),
    Amount(
        "other_power_limit",
        "Power limit of these",
        "In watts, where it is set below their own. Empty: their own.",
        "",
        least=1,
        most=MOST_WATTS,
        topic=UNLIKE,
    ),
    Amount(
        "first_share",
        "Share of the layers on the first kind",
        "From 0 to 1, as --tensor-split has it. Empty: by the memory that is free.",
        "",
        least=0,
        most=1,
        topic=UNLIKE,
    ),
)
POOL_INPUTS = (
    Amount(
        "prefill_accelerators",
        "GPUs that read prompts",
        "The GPUs above then write answers alone. It needs a number of requests in the server. Empty: all do both.",
        "",
        least=1,
        most=4096,
        topic=POOLS,
    ),
    Amount(
        "prefill_tensor",
        "GPUs of a copy that reads",
        "The model is divided over them. Empty: over all that read.",
        "",
        least=1,
        most=4096,
        topic=POOLS,
    ),
    Amount(
        "decode_tensor",
        "GPUs of a copy that writes",
        "Empty: over all that write.",
        "",
        least=1,
        most=4096,
        topic=POOLS,
    ),
    Choice(
        "pool_link",
        "Network between the pools",
        "The cache of a prompt goes over it.",
        "",
        kind="networks",
        empty="The usual one",
        topic=POOLS,
    ),
)
FIELDS = {field.name for field in (*UNLIKE_INPUTS, *POOL_INPUTS)}


def scenario(values: dict[str, object]) -> dict[str, object]:
    """Return the scenario of what a form holds: a list of devices, or two pools, where one of these is asked for."""
    found = {name: value for name, value in values.items() if name not in FIELDS}
    if "other_accelerator" in values:
        found |= unlike(values)
        for name in ("accelerators", *OF_CARDS):
            found.pop(name, None)
    if "prefill_accelerators" in values:
        found["disaggregation"] = pools(values)
        found.pop("accelerators", None)
        found.pop("sequences", None)
    return found


def unlike(values: dict[str, object]) -> dict[str, object]:
    """Return the devices of two kinds as a scenario lists them, and what each has of the layers where that is said."""
    counts = [whole(values, name) for name in ("accelerators", "other_accelerators")]
    listed: list[dict[str, object]] = []
    for prefix, count in zip(("", "other_"), counts, strict=True):
        said = {name: values[f"{prefix}{name}"] for name in OF_CARDS if f"{prefix}{name}" in values}
        listed.append({"id": values[f"{prefix}accelerator"], "count": count, **said})
    found: dict[str, object] = {"accelerator": listed}
    if "first_share" in values:
        share = amount(values, "first_share")
        found["tensor_split"] = [share / counts[0]] * counts[0] + [(1 - share) / counts[1]] * counts[1]
    return found


def pools(values: dict[str, object]) -> dict[str, object]:
    """Return the two pools as a scenario has them; a copy is divided over its whole pool unless a form says more."""
    found: dict[str, object] = {}
    for name, field in (("prefill", "prefill_accelerators"), ("decode", "accelerators")):
        count = whole_if(values[field])
        found[name] = {"accelerators": count, "parallelism": {"tensor": whole_if(values.get(f"{name}_tensor", count))}}
    if "pool_link" in values:
        found["link"] = values["pool_link"]
    return found


def lists(report: Report) -> bool:
    """Return whether devices are not alike."""
    return isinstance(report["scenario"].get("accelerator"), list)


def pooled(report: Report) -> bool:
    """Return whether prompts and answers have devices of their own."""
    return "disaggregation" in report["scenario"]


def count(report: Report) -> int:
    """Return how many devices hold the model, of two pools those that write."""
    if pooled(report):
        return int(report["scenario"]["disaggregation"]["decode"]["accelerators"])
    return int(report["scenario"]["accelerators"])


def facts(report: Report) -> list[str]:
    """Return what each device holds where they are not alike, or what two pools can do, as items of a list."""
    found = []
    for device in report["memory"].get("devices", []):
        name = catalog().accelerator(device["accelerator"]).name
        sizes = f"{size_gib(device['device_bytes'])} of {size_gib(device['capacity_bytes'])}"
        found.append(f"{name}: <strong>{show_count(device['layers'])}</strong> layers, {sizes}")
    slowest = (report["speed"] or {}).get("slowest")
    if slowest:
        found.append(f"Most of a token's time goes by on the <strong>{catalog().accelerator(slowest).name}</strong>")
    if pooled(report) and report["speed"]:
        speed, pool = report["speed"]["disaggregation"], report["memory"]["prefill_pool"]
        held = f"{size_gib(pool['device_bytes'])} of {size_gib(pool['capacity_bytes'])}"
        found.append(f"A device that reads holds <strong>{held}</strong>")
        found.append(f"The cache of a prompt is on its way for <strong>{show_seconds(speed['transfer_s'])}</strong>")
        needed = show_number(speed["balance"])
        found.append(f"As many devices that read, times <strong>{needed}</strong>, keep those that write busy")
    return found


def steady(report: Report, where: str) -> Verdict:
    """Return how fast two pools write that always have so many requests, in a headline and a sentence.

    Or that those that read have no room for the model.
    """
    pool = report["memory"]["prefill_pool"]
    if not pool["fits"]:
        held = f"{size_gib(pool['device_bytes'])} of {size_gib(pool['capacity_bytes'])}"
        return False, "It does not fit on the GPUs that read.", f"One of them would hold {held}: {where}."
    speed, requests = report["speed"], report["scenario"]["concurrency"]
    each = f"{show_number(tokens_per_s_each(speed['time_per_output_token_s'])['typical'])} tokens/s"
    first = show_seconds(speed["time_to_first_token_s"]["typical"])
    rest = f"with {show_count(requests)} in both pools, {each} for each, and its first token after {first}: {where}."
    rest += unless_sure(report)
    return starting(report), f"{show_number(speed['decode_tokens_per_s']['typical'])} tokens/s,", rest
