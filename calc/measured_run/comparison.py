"""What was measured beside what is computed, term by term, and what each term would have to be."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from calc.catalog import catalog
from calc.estimate import estimate
from calc.measured_run.terms import BYTES, TERMS, TOKENS
from calc.units import show_number

Report = dict[str, Any]
Scenario = dict[str, Any]
SPEEDS = (
    "prefill_tokens_per_s",
    "decode_tokens_per_s",
    "output_tokens_per_s",
    "time_to_first_token_s",
    "time_per_output_token_s",
)
PARTS = {
    "weights_bytes": ("weights", "draft_weights"),
    "kv_cache_bytes": ("kv_cache", "recurrent_state"),
    "working_bytes": ("activations", "logits"),
    "graphs_bytes": ("cuda_graphs",),
}
TOTALS = ("allocated_bytes", "reserved_bytes", "device_bytes", "kv_pool_bytes")
EXACT = 0.02  # of what shapes decide: a table kept elsewhere, or what a log rounds


class Figure(NamedTuple):
    """What is computed of a term, with the ends of its range; the same three times where shapes decide it."""

    value: float
    low: float
    high: float


class Compared(NamedTuple):
    """A term as it is computed and as it was measured."""

    id: str
    computed: Figure
    measured: float

    @property
    def ratio(self) -> float:
        """How many times as much was measured."""
        return self.measured / self.computed.value if self.computed.value else 0.0

    @property
    def within(self) -> bool:
        """Whether what was measured lies in the range of what is computed."""
        return self.computed.low <= self.measured <= self.computed.high


class Run(NamedTuple):
    """A run that was measured: its scenario, and whether prompts and answers were measured apart, as llama-bench does.

    Then an answer is written behind a cache of `cached_tokens` alone, and no prompt.
    """

    scenario: Scenario
    apart: bool = False

    def reports(self, correction: Mapping[str, float] | None = None) -> tuple[Report, Report]:
        """Return the report on the run, and that on its answers; both are one where they were measured together."""
        corrected: Scenario = {**self.scenario, **({"correction": dict(correction)} if correction else {})}
        whole: Report = estimate(corrected)
        if not self.apart:
            return whole, whole
        return whole, estimate({**corrected, "prompt_tokens": 1})

    def figures(
        self, correction: Mapping[str, float] | None = None, reports: tuple[Report, Report] | None = None
    ) -> dict[str, Figure]:
        """Return what is computed of each term that the report has; `reports` are those on the run, if they are had."""
        whole, answers = reports or self.reports(correction)
        memory, found = whole["memory"], {}
        for name in SPEEDS:
            speed = (answers if name.startswith(("decode", "time_per")) else whole)["speed"] or {}
            if name in speed:
                figure = speed[name]
                found[name] = Figure(figure["typical"], figure["low"], figure["high"])
        for name, parts in PARTS.items():
            size = sum(part["bytes"] for part in memory["parts"] if part["id"] in parts)
            if size:
                found[name] = Figure(size, size * (1 - EXACT), size * (1 + EXACT))
        for name in TOTALS:
            if memory.get(name):
                found[name] = Figure(memory[name], *memory[f"{name}_range"])
        if memory.get("kv_pool_tokens"):
            each = memory["kv_pool_tokens"] / memory["kv_pool_bytes"]
            low, high = (each * size for size in memory["kv_pool_bytes_range"])
            found["kv_pool_tokens"] = Figure(memory["kv_pool_tokens"], low, high)
        if correction is None:  # none changes the file, and who looks for one asks often
            size = whole_model_bytes(whole["scenario"])
            found["file_bytes"] = Figure(size, size * (1 - EXACT), size * (1 + EXACT))
        return found


def whole_model_bytes(scenario: Scenario) -> int:
    """Return the bytes of a model's weights, as if one device held all of them."""
    asked = {name: scenario[name] for name in ("model", "weights")}
    report: Report = estimate({**asked, "prompt_tokens": 1, "output_tokens": 0})
    return int(next(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "weights"))


def compared(figures: Mapping[str, Figure], measured: Mapping[str, float]) -> list[Compared]:
    """Return each measured term of those that are computed, in the order of `TERMS`."""
    return [Compared(name, figures[name], measured[name]) for name in TERMS if name in measured and name in figures]


def what_it_takes(found: Compared, report: Report, show_bytes: Callable[[float], str]) -> str:
    """Return what would have to be otherwise for a term to be as it was measured, in a sentence without its end."""
    parameters, tokens = report["model"]["parameters_total"], report["scenario"]["context_tokens"]
    factor = show_number(found.ratio)
    if found.id == "file_bytes":
        bits, own = (8 * size / parameters for size in (found.measured, found.computed.value))
        return f"the file would have {bits:.2f} bits per weight, not {own:.2f}: another mixture or number format"
    if found.id == "weights_bytes":
        return f"the device would hold {factor} times the weights: another number format, or another division"
    if found.id == "kv_cache_bytes":
        sequences = report["memory"]["sequences"]
        each = show_bytes(found.measured / tokens / sequences)
        return f"a token would take {each} of cache: another number of tokens, or another format of the cache"
    if found.id in ("kv_pool_bytes", "kv_pool_tokens"):
        beside = device_rest(report)
        missing = found.computed.value - found.measured
        if TERMS[found.id].unit == TOKENS:
            missing *= report["memory"]["kv_pool_bytes"] / report["memory"]["kv_pool_tokens"]
        return (
            f"all beside weights and cache would take {show_bytes(max(beside + missing, 0))}, not {show_bytes(beside)}"
        )
    if TERMS[found.id].unit == BYTES:
        beside = device_rest(report)
        would = max(beside + found.measured - found.computed.value, 0)
        if found.id in ("working_bytes", "graphs_bytes"):
            return f"this would take {factor} times what is computed"
        return f"all beside weights and cache would take {show_bytes(would)}, not {show_bytes(beside)}"
    slower = 1 / found.ratio if found.id.endswith("per_s") else found.ratio
    what = "the prompts" if found.id.startswith(("prefill", "time_to_first")) else "a step"
    if found.id == "output_tokens_per_s":
        what = "prompts and steps"
    return f"{what} would take {show_number(slower)} times as long{bandwidth(found, report, slower)}"


def bandwidth(found: Compared, report: Report, slower: float) -> str:
    """Return at which bandwidth a step reads its weights and caches then, where reading is what bounds it."""
    speed, name = report["speed"], report["scenario"].get("accelerator")
    if (
        not found.id.startswith(("decode", "time_per"))
        or speed.get("bound_by") != "memory"
        or not isinstance(name, str)
    ):
        return ""
    own = catalog().accelerator(name).quantity("bandwidth")
    return f", as if the memory gave {own / slower / 1e9:,.0f} GB/s, not {own / 1e9:,.0f}" if own else ""


def device_rest(report: Report) -> float:
    """Return what an engine takes on a device beside weights and what is kept of sequences."""
    held = ("weights", "kv_cache", "recurrent_state", "draft_weights", "draft_cache", "adapters", "kv_pool_free")
    return float(sum(part["bytes"] for part in report["memory"]["parts"] if part["id"] not in (*held, "outside_share")))
