"""Plots: what is drawn is what `calc` answers, in words too, and every specification can be drawn."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest
import vl_convert
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import estimate
from calc.calculators import CALCULATORS
from calc.calculators.html import in_words
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.memory.runtime import NOT_USED
from calc.plots import PLOTS, Plot, answer, draw, draw_beside, in_unit, size_fields
from calc.units import GIB, show_gib, show_number, show_seconds

TRAINED = {"model": "llama-3.2-1b", "devices": (1, 2, 8), "accelerator": "rtx-4090", "sequence_tokens": 512}
EXAMPLES: dict[str, dict[str, Any]] = {
    "bandwidth-and-capacity": {"segments": ("consumer",), "names": ("rtx-4090",)},
    "bits-over-size": {"models": ("llama-3.1-8b", "llama-3.2-1b"), "formats": ("awq", "q4_k_m")},
    "break-even": {"shares": (100, 10)},
    "cache-by-model": {"models": (("llama-3.1-8b", "GQA"), ("mamba-2.8b", "state space"))},
    "cache-over-context": {"model": "gemma-2-9b", "context_tokens": 8192},
    "checkpointing": {"model": "llama-3.2-1b", "accelerator": "rtx-4090", "sequence_tokens": 512},
    "format-ladder": {"model": "llama-3.3-70b", "accelerator": "rtx-3090", "accelerators": 2},
    "latency-over-load": {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "vllm"},
    "links": {"links": ("pcie-5-x16", "nvlink-4", "infiniband-ndr")},
    "loss-frontier": {"law": "besiroglu-2024", "flops": 5.76e23},
    "memory-bars": {
        "models": ("llama-3.1-8b",),
        "formats": ("bf16", "awq"),
        "accelerator": "rtx-4090",
        "engine": "vllm",
    },
    "memory-over-context": {"model": "llama-3.1-8b", "context_tokens": 8192, "accelerator": "rtx-4090"},
    "memory-sensitivity": {
        "model": "llama-3.1-8b",
        "weights": "bf16",
        "context_tokens": 8192,
        "accelerator": "rtx-4090",
    },
    "pass-timeline": {"model": "llama-3.3-70b", "accelerator": "h100-sxm-80gb", "engine": "vllm", "accelerators": 4},
    "predicted-and-measured": {"groups": {"vLLM": [(1.0, 1.05), (10.0, 13.0)]}, "unit": "GiB", "title": "Memory"},
    "rate-ratio": {"devices": ("h100-sxm-80gb", "v100-sxm-32gb")},
    "roofline": {"model": "llama-3.1-8b", "accelerator": "rtx-4090", "engine": "vllm"},
    "sequences-over-context": {
        "model": "llama-3.1-8b",
        "context_tokens": 8192,
        "accelerator": "rtx-4090",
        "engine": "vllm",
    },
    "speed-over-batch": {"model": "llama-3.1-8b", "accelerator": "rtx-4090", "engine": "vllm", "sequences": 4},
    "speed-sensitivity": {
        "model": "llama-3.1-8b",
        "weights": "q4_k_m",
        "sequences": 2,
        "accelerator": "rtx-4090",
        "engine": "llama.cpp",
    },
    "step-timeline": {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "accelerators": 8, "sharding": "fsdp"},
    "zero-stages": TRAINED,
}


PARALLEL = {"none": {"tensor": 2}, "llama.cpp": {"pipeline": 2}, "vllm": {"tensor": 2}}


def test_every_plot_has_an_example() -> None:
    """A new plot is drawn by these tests."""
    assert set(EXAMPLES) == set(PLOTS)
    assert all(name in PLOTS and len(list(PLOTS)) == len(PLOTS) for name in PLOTS)


@pytest.fixture(scope="module", params=sorted(EXAMPLES))
def plot(request: pytest.FixtureRequest) -> Plot:
    """Each plot's example."""
    return in_unit(draw(request.param, **EXAMPLES[request.param]), "")


def test_a_drawing_has_the_words_of_its_data(plot: Plot) -> None:
    """Every label stands in the drawing as text, and its colours are those of the page's scheme."""
    svg = vl_convert.vegalite_to_svg(plot.whole())
    words = re.findall(r"<text[^>]*>([^<]+)</text>", svg)
    labels = [str(row["label"]) for rows in plot.data.values() for row in rows if "label" in row]
    assert set(labels) <= {word.replace("&amp;", "&") for word in words}
    assert sum(any(letter.isdigit() for letter in word) for word in words) >= 3, words
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', svg))
    assert {colour for colour in colours if not colour.startswith("var(")} <= {"none", "transparent", "currentColor"}


def test_a_plot_is_told_by_more_than_its_colours(plot: Plot) -> None:
    """Where colours tell series apart, dashes or shapes do too, or each bar has its name."""
    layers: Any = plot.specification["layer"]
    for layer in layers:
        encoding = layer["encoding"]
        if "color" in encoding and layer["mark"]["type"] == "point":
            assert "shape" in encoding
        if "color" in encoding and layer["mark"]["type"] in ("line", "bar", "rule"):
            shaped = any("shape" in other["encoding"] for other in layers)
            named = any({"bar", "name"} & set(row) for rows in plot.data.values() for row in rows)
            assert "strokeDash" in encoding or shaped or named


def test_a_plot_has_a_text_and_a_table(plot: Plot) -> None:
    """Who sees no drawing reads what it says, with numbers; each row of the table has a cell under each heading."""
    assert plot.caption and re.search(r"\d", plot.summary)
    assert plot.rows and {len(row) for row in plot.rows} == {len(plot.headings)}


def test_fields_that_are_drawn_are_in_the_data(plot: Plot) -> None:
    """No mark asks for a field that its data set lacks, which Vega would draw as nothing."""
    for layer in plot.specification["layer"]:  # type: ignore[attr-defined]
        fields = set(re.findall(r'"field": "(\w+)"', json.dumps(layer["encoding"])))
        for row in plot.data[layer["data"]["name"]]:
            assert fields <= set(row), layer["data"]["name"]


@settings(max_examples=25)
@given(
    tokens=st.integers(1, 400_000),
    sequences=st.integers(1, 64),
    model=st.sampled_from(["llama-3.1-8b", "gemma-3-27b", "deepseek-v3", "mamba-2.8b", "qwen3-30b-a3b"]),
    engine=st.sampled_from(["none", "vllm", "llama.cpp"]),
)
def test_the_point_of_a_scenario_is_its_report(tokens: int, sequences: int, model: str, engine: str) -> None:
    """The ring in memory against context is what the report needs: its parts, less what is not in use."""
    asked = {"model": model, "engine": engine, "accelerator": "h100-sxm-80gb"}
    scenario = {**asked, "context_tokens": tokens, "sequences": sequences}
    memory: Any = estimate(scenario)["memory"]
    needed = sum(part["bytes"] for part in memory["parts"] if part["id"] not in NOT_USED)
    plot = draw("memory-over-context", **scenario)
    assert in_words(str(plot.data["own"][0]["label"])).endswith(f": {show_gib(needed)}")
    limit = float(str(plot.data["limit"][0]["gib"]))
    assert (needed <= limit * GIB) == memory["fits"]


@pytest.mark.parametrize("engine", ["none", "vllm"])
def test_the_longest_context_fits_and_one_token_more_does_not(engine: str) -> None:
    """What the text says of the limit is what reports say at it."""
    asked = {"model": "llama-3.1-8b", "accelerator": "rtx-4090", "engine": engine}
    summary = draw("memory-over-context", **asked, context_tokens=8192).summary
    match = re.search(r"4 sequences: fits up to ([\d,]+) tokens", summary)
    assert match
    longest = int(match[1].replace(",", ""))

    def fits(tokens: int) -> bool:
        memory: Any = estimate({**asked, "context_tokens": tokens, "sequences": 4})["memory"]
        return bool(memory["fits"])

    assert fits(longest) and not fits(longest + 1)


def test_the_cache_of_two_models_by_hand() -> None:
    """Llama 3.1 8B keeps 128 KiB a token; a state space keeps the same whatever the length."""
    plot = in_unit(draw("cache-by-model", **EXAMPLES["cache-by-model"]), "")
    assert "Llama 3.1 8B, GQA: 64.00 MiB to 16.00 GiB" in plot.summary
    assert "Mamba 2.8B, state space: 22.50 MiB to 22.50 MiB" in plot.summary
    assert [in_words(cell) for cell in plot.rows[0]] == ["512", "64.00 MiB", "22.50 MiB"]


def test_speeds_are_those_of_reports() -> None:
    """Each point of speed against batch is the report's figure with its range."""
    asked = {"model": "llama-3.1-8b", "accelerator": "rtx-4090", "engine": "vllm"}
    plot = draw("speed-over-batch", **asked)
    for row in plot.data["points"]:
        speed: Any = estimate({**asked, "sequences": row["sequences"]})["speed"]
        rate = speed["decode_tokens_per_s"]
        share = row["sequences"] if row["series"] == "Each sequence" else 1
        for key in ("low", "typical", "high"):
            assert row[key] == pytest.approx(rate[key] / float(str(share)))
    most: Any = estimate(asked)["memory"]
    assert f"{most['max_sequences']} fit" in plot.summary.lower()


@pytest.mark.parametrize("preset", CALCULATORS["speed"].presets, ids=lambda preset: preset.name)
def test_no_pass_is_above_the_roof(preset: Any) -> None:
    """A device does no more operations than it can, nor reads more bytes; larger batches do more for each byte."""
    plot = draw_beside("roofline", "speed", preset.values)
    points = [(float(str(row["intensity"])), float(str(row["tflops"]))) for row in plot.data["roof"]]
    (start, low), (ridge, high), _ = points
    assert low / start == pytest.approx(high / ridge)
    for row in plot.data["passes"]:
        roof = min(float(str(row["intensity"])) * high / ridge, high)
        assert 0 < float(str(row["tflops"])) <= roof
    decoding = [float(str(row["intensity"])) for row in plot.data["passes"] if row["series"] == "Decoding"]
    assert decoding == sorted(decoding)


def test_the_ridge_of_a_card_by_hand() -> None:
    """An H100 does 989.5 dense BF16 TFLOPS and reads 3.35 TB/s: 295 operations for a byte (NVIDIA's data sheet)."""
    plot = draw("roofline", model="llama-3.1-8b", accelerator="h100-sxm-80gb", engine="vllm")
    assert plot.data["ridge"][0]["label"] == "295 operations for a byte"


def test_bars_add_up_to_their_reports() -> None:
    """The parts of a bar follow each other without gaps, to what the report needs."""
    asked = {"model": "llama-3.1-8b", "weights": "awq", "accelerator": "rtx-4090", "engine": "vllm"}
    memory: Any = estimate(asked)["memory"]
    needed = sum(part["bytes"] for part in memory["parts"] if part["id"] not in NOT_USED)
    plot = draw("memory-bars", **EXAMPLES["memory-bars"])
    parts = [row for row in plot.data["parts"] if row["bar"] == "Llama 3.1 8B, AWQ"]
    assert parts[0]["from"] == 0 and parts[-1]["to"] == pytest.approx(needed / GIB)
    assert all(one["to"] == other["from"] for one, other in pairwise(parts))
    assert in_words(plot.rows[1][-1]) == show_gib(needed)


def test_more_devices_and_higher_stages_never_take_more() -> None:
    """ZeRO divides more at each stage; two runs of its reports by hand."""
    plot = draw("zero-stages", **TRAINED)
    columns = list(zip(*plot.rows, strict=True))[1:]
    sizes = [[float(in_words(cell).removesuffix(" GiB")) for cell in column] for column in columns]
    for lower, higher in pairwise(sizes):
        assert all(more <= less for less, more in zip(lower[1:], higher[1:], strict=True))
    assert all(column[1] >= column[2] for column in sizes[1:])
    given = {"workload": "training", "model": "llama-3.2-1b", "sequence_tokens": 512}
    memory: Any = estimate({**given, "sharding": "zero-2", "accelerators": 8})["memory"]
    assert in_words(plot.rows[2][3]) == show_gib(memory["device_bytes"])


def test_more_checkpoints_take_less_and_are_slower() -> None:
    """Each kind of checkpointing trades memory for time, as reports say."""
    plot = draw("checkpointing", model="llama-3.2-1b", accelerator="rtx-4090", sequence_tokens=2048, micro_batches=(1,))
    sizes, rates = ([float(str(row[key])) for row in plot.data["points"]] for key in ("gib", "rate"))
    assert sizes == sorted(sizes, reverse=True) and rates == sorted(rates, reverse=True)
    asked = {"workload": "training", "model": "llama-3.2-1b", "accelerator": "rtx-4090", "sequence_tokens": 2048}
    report: Any = estimate({**asked, "checkpointing": "full"})
    assert in_words(plot.rows[2][2]) == show_gib(report["memory"]["device_bytes"])


def test_a_line_of_checkpointing_names_its_end_and_the_first_its_points() -> None:
    """The points of a second line come in the same order: their names would stand on those of the first."""
    plot = draw("checkpointing", model="llama-3.2-1b", accelerator="rtx-4090", sequence_tokens=512)
    names = [str(row["label"]) for row in plot.data["names"]]
    assert names == ["none, 1 sequence", "selective", "full", "none, 2 sequences"]
    assert plot.data["names"][0]["dy"] > 0 > plot.data["names"][3]["dy"]  # type: ignore[operator]


def test_no_model_is_below_the_frontier() -> None:
    """The frontier is the least loss of each budget; Chinchilla's budget by the law refitted by Besiroglu et al."""
    plot = draw("loss-frontier", law="besiroglu-2024", flops=5.76e23)
    best = {row["flops"]: float(str(row["loss"])) for row in plot.data["frontier"]}
    assert all(float(str(row["loss"])) >= best[row["flops"]] - 1e-9 for row in plot.data["sizes"])
    losses = list(best.values())
    assert losses == sorted(losses, reverse=True)
    assert "72.2 billion parameters, 1.33 trillion tokens" in plot.summary
    with pytest.raises(ScenarioError, match="no loss to draw"):
        draw("loss-frontier", law="hoffmann-2022-frontier")


def test_rent_and_purchase_meet_where_the_text_says() -> None:
    """A device of 2,000 dollars that keeps no worth has paid for itself after 2,000 hours at a dollar each."""
    prices = {"price_per_hour": 1, "purchase_price": 2000, "electricity_per_kwh": 0}
    plot = draw("break-even", shares=(100, 10), **prices)
    assert "busy 10 %: after 2,000 hours" in plot.summary
    assert ["2,000", "$2,000", "$2,000", "$2,000"] in plot.rows
    with pytest.raises(ScenarioError, match="no price or no rent"):
        draw("break-even", shares=(50,), accelerator="l4-24gb")


def test_every_accelerator_with_a_bandwidth_is_a_dot() -> None:
    """None is left out, and a name stands at its own dot."""
    plot = draw("bandwidth-and-capacity", names=("rtx-4090",))
    assert len(plot.data["devices"]) == sum(bool(record.quantity("bandwidth")) for record in catalog().accelerators())
    (named,) = plot.data["names"]
    assert (named["gib"], named["rate"], named["turn"]) == (24, 1008, "25.6 ms")


def test_ratios_and_links_by_hand() -> None:
    """A V100 has 125 TFLOPS in FP16 and 15.7 in FP32 (NVIDIA's data sheet); NVLink 4 carries 450 GB/s one way."""
    assert draw("rate-ratio", **EXAMPLES["rate-ratio"]).rows[0] == ["Tesla V100 SXM2 32GB", "2018-03", "7.96", "–", "–"]
    plot = draw("links", **EXAMPLES["links"])
    assert plot.data["links"][0]["label"] == "NVLink 4: 450 GB/s"


def test_bits_are_those_of_the_tables() -> None:
    """Llama 3.1 8B in AWQ has 5.71 bits a weight; the smaller model stands first."""
    plot = draw("bits-over-size", **EXAMPLES["bits-over-size"])
    assert plot.rows[1] == ["Llama 3.1 8B", "8.03 billion", "5.71", "4.89"]


def test_dots_that_lie_on_each_other_are_one() -> None:
    """A cell has one dot with the count of its rows, and no row is lost."""
    pairs = [(1.0, 1.0), (1.0001, 1.0), (100.0, 50.0)]
    plot = draw("predicted-and-measured", groups={"a": pairs}, unit="GiB", title="Memory")
    assert sorted(int(str(row["rows"])) for row in plot.data["dots"]) == [1, 2]
    assert plot.rows == [["a", "3", "67\N{NO-BREAK SPACE}%", "67\N{NO-BREAK SPACE}%"]]


@pytest.mark.parametrize(
    ("name", "asked", "field"),
    [
        ("memory-over-contexts", {}, "plot"),
        ("memory-over-context", {}, "model"),
        ("memory-over-context", {"model": "llama-3.1-8b", "colour": "red"}, "colour"),
        ("speed-over-batch", {"model": "llama-3.1-8b", "accelerator": "rtx-4090"}, "engine"),
        ("roofline", {"model": "llama-3.1-8b", "engine": "vllm"}, "accelerator"),
        ("rate-ratio", {"devices": ("trainium9",)}, "accelerator"),
    ],
)
def test_a_wrong_plot_says_what_is_wrong(name: str, asked: dict[str, Any], field: str) -> None:
    """The field is named as everywhere else."""
    with pytest.raises(ScenarioError) as error:
        draw(name, **asked)
    assert error.value.field == field


def test_the_page_s_answer_is_the_plot() -> None:
    """What the browser gets is the data, the words and the table of the same plot; a wrong form gets a sentence."""
    asked = {"plot": "memory-over-context", "calculator": "will-it-fit", "fields": {"context_tokens": "16384"}}
    reply = json.loads(answer(json.dumps(asked)))
    plot = in_unit(draw_beside("memory-over-context", "will-it-fit", {"context_tokens": "16384"}), "")
    assert reply["ok"] and reply["data"] == json.loads(json.dumps(plot.data))
    assert reply["summary"] == plot.summary and show_number(16.55, 4) in reply["summary"]
    asked["fields"] = {"context_tokens": "none"}
    reply = json.loads(answer(json.dumps(asked)))
    assert not reply["ok"] and "context_tokens" in reply["status"]


def test_the_ladder_says_which_format_fits() -> None:
    """Llama 3.3 70B on two RTX 3090: Q5_K_M is too large and Q4_K_M fits, as its reports say one by one."""
    case: dict[str, object] = {"model": "llama-3.3-70b", "accelerator": "rtx-3090", "accelerators": 2}
    case["context_tokens"] = 8192
    for engine in ("none", "llama.cpp", "vllm"):
        plot = draw("format-ladder", **case, engine=engine, weights="q4_k_m" if engine == "llama.cpp" else "awq")
        for name, said in plot.rows:
            weights = next(one.id for one in catalog().weights_formats() if one.name == name.removesuffix(" (yours)"))
            memory: Any = estimate({**case, "engine": engine, "weights": weights, "parallelism": PARALLEL[engine]})[
                "memory"
            ]
            assert ("fits" in said and "not" not in said) == memory["fits"], name
    summary = in_words(draw("format-ladder", **case, weights="q4_k_m").summary)
    assert "Q4_K_M (yours): 21.28 GiB, fits with 2.72 GiB to spare" in summary


@pytest.mark.parametrize(
    ("model", "accelerator", "side"), [("llama-3.1-8b", "rtx-4090", "right"), ("llama-3.3-70b", "rtx-3090", "left")]
)
def test_the_limit_of_a_ladder_has_its_words_beside_it(model: str, accelerator: str, side: str) -> None:
    """They stand above the line, on the side that has room: before it where all bars are shorter."""
    plot = draw("format-ladder", model=model, accelerator=accelerator, context_tokens=8192)
    (limit,) = plot.data["limit"]
    assert limit["align"] == side and str(limit["label"]).startswith("limit: ")
    label = next(
        part for part in plot.specification["layer"] if part["encoding"].get("text") and part["data"]["name"] == "limit"
    )
    assert label["encoding"]["x"]["field"] == "gib"


@pytest.mark.parametrize("sequences", [1, 64])
def test_a_timeline_is_as_long_as_its_pass(sequences: int) -> None:
    """What stands in the lanes is the time of the report's step, and its device work fills all but the host's part."""
    asked = {**EXAMPLES["pass-timeline"], "sequences": sequences}
    plot, speed = draw("pass-timeline", **asked), estimate(asked)["speed"]
    step: Any = speed["time_per_output_token_s"]  # type: ignore[index]
    assert f"Write takes {show_seconds(step['typical'])}" in plot.summary
    rows: Any = [row for row in plot.data["pieces"] if str(row["bar"]).startswith("Write")]
    assert max(row["to"] for row in rows) == pytest.approx(100)
    assert sum(row["to"] - row["from"] for row in rows) == pytest.approx(100)


def test_a_step_s_timeline_ends_with_the_update() -> None:
    """Its length is the report's step, and no piece ends later."""
    asked = EXAMPLES["step-timeline"]
    plot, report = draw("step-timeline", **asked), estimate({**asked, "workload": "training"})
    step: Any = report["speed"]["step_s"]  # type: ignore[index]
    assert f"Step takes {show_seconds(step['typical'])}" in plot.summary
    rows: Any = plot.data["pieces"]
    assert max(row["to"] for row in rows) == pytest.approx(100)


def test_the_knee_of_the_plot_is_the_report_s() -> None:
    """One search gives both, and times grow with the load."""
    asked = EXAMPLES["latency-over-load"]
    plot = draw("latency-over-load", **asked)
    speed: Any = estimate({**asked, "arrivals": {"requests_per_s": 1}})["speed"]
    assert plot.data["knee"][0]["rate"] == pytest.approx(speed["knee_requests_per_s"]["typical"])
    slow: Any = [row["seconds"] for row in plot.data["points"] if row["series"] == "Last token, half"]
    assert slow == sorted(slow)


@pytest.mark.parametrize(
    ("name", "scenario", "figure"),
    [
        ("memory-sensitivity", EXAMPLES["memory-sensitivity"], "device_bytes"),
        (
            "memory-sensitivity",
            {
                "workload": "training",
                "model": "llama-3.2-1b",
                "method": "lora",
                "micro_batch": 2,
                "sequence_tokens": 512,
            }
            | {"accelerator": "rtx-4090"},
            "device_bytes",
        ),
    ],
)
def test_sensitivity_is_what_estimate_says_one_step_away(name: str, scenario: dict[str, Any], figure: str) -> None:
    """Each end is the report of the scenario with that one input changed; the input that changes most comes first."""
    plot = in_unit(draw(name, **scenario), "")
    fields = {"Context": "context_tokens", "Micro-batch": "micro_batch", "Sequence": "sequence_tokens"}
    own: Any = estimate(scenario)
    checked = 0
    for row in plot.rows:
        if row[0] in fields:
            found: Any = estimate({**scenario, fields[row[0]]: int(row[1].replace(",", ""))})
            assert in_words(row[2]) == show_gib(found["memory"][figure])
            assert row[3] == ("yes" if found["memory"]["fits"] else "no")
            checked += 1
    assert checked
    assert f" is {show_gib(own['memory'][figure])} of " in plot.summary
    changes: dict[str, float] = {}
    for bar in plot.data["bars"]:
        change = abs(float(str(bar["to"])) - float(str(bar["from"])))
        changes[str(bar["line"])] = max(change, changes.get(str(bar["line"]), 0))
    assert list(changes.values()) == sorted(changes.values(), reverse=True)


def test_sensitivity_of_speed_is_that_of_what_fits() -> None:
    """Half the sequences are as fast as `estimate` says; a format that does not fit has words and no bar."""
    scenario = EXAMPLES["speed-sensitivity"] | {"model": "qwen3-32b", "weights": "q5_k_m"}
    plot = draw("speed-sensitivity", **scenario)
    fewer: Any = estimate({**scenario, "sequences": 1})
    rate = 1 / fewer["speed"]["time_per_output_token_s"]["typical"]
    assert ["Sequences", "1", f"{show_number(rate)} tokens/s", "yes"] in plot.rows
    assert "Q6_K: does not fit" in plot.summary
    assert not any("Q6_K" in str(bar["shown"]) for bar in plot.data["bars"])


@pytest.mark.parametrize("engine", ["none", "vllm", "llama.cpp"])
def test_the_field_ends_where_estimate_says(engine: str) -> None:
    """One sequence more than the edge does not fit, the edge does; a cache of fewer bits holds no fewer."""
    scenario = {**EXAMPLES["sequences-over-context"], "engine": engine}
    plot = draw("sequences-over-context", **scenario)
    for tokens, most, lower in plot.rows[::3]:
        count = int(most.replace(",", ""))
        found: Any = estimate({**scenario, "context_tokens": int(tokens.replace(",", "")), "sequences": max(count, 1)})
        assert found["memory"]["fits"] == (count > 0) and found["memory"]["max_sequences"] == count
        assert int(lower.replace(",", "")) >= count
    assert plot.data["own"][0]["label"] == "yours"


def test_the_field_of_a_model_that_keeps_nothing_has_no_edge() -> None:
    """Memory bounds no number of texts that an encoder reads one after the other."""
    plot = draw("sequences-over-context", model="bert-base", context_tokens=512, accelerator="rtx-4090", engine="vllm")
    assert {row[1] for row in plot.rows} == {"any number"}


def test_what_changes_a_speed_is_drawn_where_no_step_fits() -> None:
    """70 billion parameters in 4 bits on one RTX 4090: no step fits, which the plot says, without a bar."""
    asked = {"model": "llama-3.3-70b", "accelerator": "rtx-4090", "weights": "awq", "engine": "vllm"}
    plot = draw("speed-sensitivity", **asked)
    assert plot.rows and {row[-1] for row in plot.rows} == {"no"}
    assert plot.data["bars"] == []
    assert "does not fit" in plot.summary


@pytest.mark.parametrize(
    "name", ["memory-bars", "memory-over-context", "format-ladder", "zero-stages", "checkpointing"]
)
def test_a_plot_in_the_other_unit_is_of_the_same_bytes(name: str) -> None:
    """All in GB, an axis says so, its fields are the same bytes, and no word says GiB; other fields stay."""
    drawn = draw(name, **EXAMPLES[name])
    fields, written, other = size_fields(drawn), in_unit(drawn, ""), in_unit(drawn, "GB")
    assert fields
    for key, rows in written.data.items():
        for row, turned in zip(rows, other.data[key], strict=True):
            for field, value in row.items():
                if field in fields:
                    assert turned[field] * 10**9 == pytest.approx(float(str(value)) * GIB)  # type: ignore[operator]
                elif not isinstance(value, str):
                    assert turned[field] == value
    said = json.dumps([other.specification, other.data, other.caption, other.summary])
    assert "GiB" not in said and " GB" in said
    assert "GiB" in json.dumps([written.specification, written.data])


def test_a_plot_without_sizes_is_the_same_in_every_unit() -> None:
    """Rates of memory are decimal in any case."""
    drawn = draw("links", **EXAMPLES["links"])
    assert size_fields(drawn) == set()
    assert in_unit(drawn, "GB") == in_unit(drawn, "") == drawn
