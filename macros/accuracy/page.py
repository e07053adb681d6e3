"""The accuracy page's tables, numbers and figures, each made of this build's scores."""

from collections import Counter

from calc.calculators.html import element, table, text
from calc.catalog import catalog
from calc.plots import draw
from calc.units import GIB, show_count
from calc.validation.ranges import Coverage, first_sight, left_out
from calc.validation.recorded import scored
from calc.validation.scores import (
    NOT_KNOWN,
    Line,
    Score,
    by,
    line,
    lines_by_reason,
    overall,
    read_rows,
    reason_of,
    reasons,
    within,
)
from macros.filtered import boxed
from macros.markdown import block, inline, unsearched
from macros.plots import plot_html

__all__ = [
    "accuracy",
    "accuracy_figure",
    "accuracy_figures",
    "accuracy_left_out",
    "accuracy_reasons",
    "accuracy_table",
    "accuracy_worst",
]

FIGURES = {
    "activation_peak": "Activations at their peak (vLLM's log)",
    "allocated_bytes": "Allocated by PyTorch",
    "compute_buffer": "Compute buffers (llama.cpp's log)",
    "compute_buffer_max_per_gpu": "Largest compute buffer",
    "cuda_graph": "CUDA graphs (vLLM's log)",
    "decode_tokens_per_s": "Decode, tokens a second",
    "device_bytes": "Whole device",
    "kv_buffer": "KV buffers (llama.cpp's log)",
    "kv_pool_bytes": "Room for the cache",
    "kv_pool_tokens": "Tokens that the cache holds",
    "non_torch": "Outside of PyTorch (vLLM's log)",
    "output_tokens_per_s": "Output of whole runs, tokens a second",
    "prefill_tokens_per_s": "Prefill, tokens a second",
    "reserved_bytes": "Reserved by PyTorch",
    "time_per_output_token_s": "Time of a token",
    "time_to_first_token_p50_s": "Median time to the first token",
    "time_to_first_token_s": "Time to the first token",
    "tokens_per_s_per_device": "Training, tokens a second and device",
    "weights_on_gpu": "Weights as loaded",
}
METHODS = {"pretrain-full": "Full", "full": "Full", "lora": "LoRA", "qlora": "QLoRA"}
FORKS = {
    "ik_llama.cpp": "llama.cpp",
    "llama.cpp (ollama)": "llama.cpp",
    "hf-transformers": "transformers",
    "autogptq/hf": "transformers",
    "trtllm": "tensorrt-llm",
}
LARGE = 0.1  # from this error on a row has a reason beside the data
FAR = 0.25  # the wider of two errors that figures count
ALIKE = 2  # rows that one table of the worst shows for one reason


def percent(value: float, sign: bool = False) -> str:
    """Return a share in percent: to a tenth, from a half on to one.

    >>> percent(-0.0312, sign=True), percent(0.62), percent(-0.0001, sign=True)
    ('−3.1\\xa0%', '62\\xa0%', '0.0\\xa0%')
    """
    shown = f"{100 * value:{'+' if sign else ''}{'.0f' if abs(value) >= 0.5 else '.1f'}}"
    if not float(shown):
        shown = shown.lstrip("+-")
    return f"{shown}\N{NO-BREAK SPACE}%".replace("-", "−")


def whole_percent(value: float) -> str:
    """Return a share in whole percent."""
    return f"{100 * value:.0f}\N{NO-BREAK SPACE}%"


def covered_cell(item: Line) -> str:
    """Return how many measurements lie in their range, a dash where reports give no range."""
    return "–" if item.covered is None else whole_percent(item.covered)


def cells(name: str, item: Line) -> list[str]:
    """Return a line as a table's row; `name` is HTML."""
    errors = [percent(item.middle), percent(item.p80), percent(item.bias, sign=True)]
    return [name, show_count(item.rows), *errors, covered_cell(item)]


HEADINGS = ("Rows", "Median error", "80 % are within", "Bias", "In the range")


def source_names() -> dict[str, str]:
    """Return the sources of measurements as links, by their key."""
    return {
        row["source"]: element("a", text(row["name"]), href=row["url"], rel="noopener")
        for row in read_rows("sources.csv")
    }


def accuracy_table(kind: str) -> str:
    """Return the errors of a kind of figure by source, of all rows, and with each source once."""
    found = scored(kind).scores
    groups, names = by(found, "source"), source_names()
    rows = [
        cells(element("strong", "All rows"), line("", found)),
        cells(element("strong", "All sources, each once"), overall(groups)),
        *(cells(names[name], line(name, group)) for name, group in groups.items()),
    ]
    whole = table(("Source", *HEADINGS), rows, caption=f"{title(kind)}: errors by source")
    return unsearched(boxed(whole))


def title(kind: str) -> str:
    """Return a kind of figure in words."""
    return kind.replace("-", " ").capitalize()


def sentence(reason: str) -> str:
    """Return a reason as it begins a cell."""
    return text(reason[:1].upper() + reason[1:])


def accuracy_figures(kind: str) -> str:
    """Return the errors of a kind of figure by what was measured."""
    rows = [cells(text(FIGURES[name]), line(name, group)) for name, group in by(scored(kind).scores, "what").items()]
    whole = table(("Figure", *HEADINGS), rows, caption=f"{title(kind)}: errors by what was measured")
    return unsearched(whole)


def accuracy_left_out(kind: str) -> str:
    """Return why rows have no prediction, and how many."""
    counts = sorted(scored(kind).left_out.items(), key=lambda item: (-item[1], item[0]))
    rows = [[sentence(reason), show_count(count)] for reason, count in counts]
    return block(table(("Why", "Rows"), rows, caption=f"{title(kind)}: rows without a prediction"))


def accuracy_reasons(kind: str, count: int = 6) -> str:
    """Return the reasons that explain most of the rows that are off by more than a tenth."""
    lines = lines_by_reason(scored(kind).scores, reasons(kind.replace("-", "_")), above=LARGE, count=count)
    rows = [[sentence(item.name), show_count(item.rows), percent(item.middle)] for item in lines]
    caption = f"{title(kind)}: why rows are off by more than {whole_percent(LARGE)}"
    whole = table(("Reason", "Rows", "Median error"), rows, caption=caption)
    return unsearched(whole)


def accuracy_worst(kind: str, count: int = 6) -> str:
    """Return the rows with the largest errors, with the reason; no more than two of a source for the same reason."""
    why, names = reasons(kind.replace("-", "_")), source_names()
    shown: Counter[tuple[str, str]] = Counter()
    rows: list[list[str]] = []
    for score in sorted(scored(kind).scores, key=lambda score: -abs(score.error)):
        reason = reason_of(score, why) or NOT_KNOWN
        shown[score.source, reason] += 1
        if shown[score.source, reason] > ALIKE or len(rows) == count:
            continue
        measured, predicted = shown_value(score, score.measured), shown_value(score, score.predicted)
        row = f"{ran(score)}. {names[score.source]}"
        rows.append([row, measured, predicted, percent(score.error, sign=True), sentence(reason)])
    headings = ("Row and source", "Measured", "Predicted", "Error", "Why")
    caption = f"{title(kind)}: the worst rows, at most {ALIKE} of a source with the same reason"
    return block(table(headings, rows, caption=caption, class_="calc-worded", words=(0, 4)))


def ran(score: Score) -> str:
    """Return what a row ran and measured, in a line."""
    row = score.row
    parts = [row["id"], row.get("arch_key") or row["model"], row.get("quant") or row["method"], row["gpu"]]
    if row["n_gpus"] not in ("", "1") and not row["gpu"].startswith(row["n_gpus"]):
        parts.append(f"{row['n_gpus']} devices")
    batch, length = row.get("batch") or row.get("micro_batch"), row.get("input_len") or row.get("seq_len")
    if batch and length:
        parts.append(f"{batch} × {length} tokens")
    return text(f"{', '.join(filter(None, parts))}: {FIGURES[score.what]}")


def shown_value(score: Score, value: float) -> str:
    """Return a measured or predicted figure with its unit."""
    if unit_of(score) == "tokens/s":
        return f"{show_count(round(value))} tok/s" if value >= 100 else f"{value:.1f} tok/s"
    if unit_of(score) == "seconds":
        return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.1f} ms"
    return f"{show_count(round(value))} tokens" if unit_of(score) == "tokens" else f"{value / GIB:.2f} GiB"


def accuracy(kind: str, what: str) -> str:
    """Return one figure in a sentence, each source counting once.

    It is "left-out" (the median error of sources left out) and "left-out-covered" (the share of them that ranges hold;
    "left-out-rows" of their rows; "first-covered" and "first-rows" of what was predicted at first sight); "first" (the
    mean over sources of the median errors at first sight), "first-middle" (which half of these sources stay below) or
    "first-sources" (how many they are); "median", "p80", "bias" and "covered" as computed; "rows" scored, "sources",
    rows "left out", or how many are "within" a tenth.
    """
    found = scored(kind)
    whole = overall(by(found.scores, "source"))

    def first() -> Coverage:
        held = left_out(kind).first
        if held is None:
            raise ValueError(f"no row of {kind} was kept at first sight")
        return held

    shown = {
        "left-out": lambda: percent(left_out(kind).middle),
        "left-out-covered": lambda: whole_percent(left_out(kind).covered.sources),
        "left-out-rows": lambda: whole_percent(left_out(kind).covered.rows),
        "first-covered": lambda: whole_percent(first().sources),
        "first-rows": lambda: whole_percent(first().rows),
        "first": lambda: percent(first_sight(kind).mean),
        "first-middle": lambda: percent(first_sight(kind).middle),
        "first-sources": lambda: show_count(first_sight(kind).sources),
        "median": lambda: percent(whole.middle),
        "p80": lambda: percent(whole.p80),
        "bias": lambda: percent(whole.bias, sign=True),
        "covered": lambda: covered_cell(whole),
        "rows": lambda: show_count(len(found.scores)),
        "sources": lambda: show_count(len(by(found.scores, "source"))),
        "left out": lambda: show_count(found.rows_left_out),
        "within": lambda: percent(within(found.scores, LARGE)),
    }
    if what not in shown:
        raise ValueError(f"{what!r} is not a figure of accuracy; there are {', '.join(shown)}")
    return inline(text(shown[what]()))


def accuracy_figure(kind: str, unit: str) -> str:
    """Return the figure of predicted against measured; `unit` is "GiB", "tokens/s" or "seconds"."""
    scores = [score for score in scored(kind).scores if unit_of(score) == unit]
    if not scores:
        raise ValueError(f"no row of {kind} is in {unit}")
    groups: dict[str, list[tuple[float, float]]] = {}
    for score in scores:
        groups.setdefault(group_of(score), []).append((drawn(score.measured, unit), drawn(score.predicted, unit)))
    return plot_html(draw("predicted-and-measured", groups=groups, unit=unit, title=title(kind)))


def drawn(value: float, unit: str) -> float:
    """Return a figure as it is drawn: a size in GiB, others as they are."""
    return value / GIB if unit == "GiB" else value


def unit_of(score: Score) -> str:
    """Return the unit in which a row's figure is drawn."""
    if "tokens_per_s" in score.what:
        return "tokens/s"
    if score.what == "kv_pool_tokens":
        return "tokens"
    return "seconds" if score.what.endswith("_s") else "GiB"


def group_of(score: Score) -> str:
    """Return what a row's dot is drawn for: its engine, or how it trained."""
    if "method" in score.row:
        return METHODS[score.row["method"]]
    engine = FORKS.get(score.row["engine"], score.row["engine"])
    return catalog().engine(engine).name
