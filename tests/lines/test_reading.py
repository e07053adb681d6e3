"""Lines as people write them are read as they mean them, and what is not understood is said."""

import csv
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calc import ScenarioError, estimate, plan, read_line
from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.catalog.choices import VENDORS
from calc.catalog.model_names import words_of
from calc.catalog.records import Mixture
from calc.lines.settling import settled
from calc.scenario.model import known_architecture
from calc.units import GIB, read_count

ROWS = list(csv.DictReader((Path(__file__).parents[1] / "data" / "lines.csv").read_text(encoding="utf-8").splitlines()))
NOTHING = "nothing"  # a line that is no question that is answered
# Lines that are not read as they are meant, not yet: who mends one takes it out, and no change adds one unnoticed.
MISREAD = frozenset(
    {
        "fine tune mistral 7b with lora on colab T4",
        "3060 are 8 or 12gb, enough for llama 13b?",
        "rental cost llama 70b for 10 users per month",
        "96 DGX-A100 (8X40G) training 130B on 400B tokens how long",
        "llama 70b across 3 gpus 24+24+12",
        "orange pi 5 16gb llama 3.2 3b",
        "gemma3n e4b phone 8gb",
        "embed 100M chunks w/ qwen3-embedding-0.6b, how many l4 to finish in a week",
        "we have 2 x DGX A100 640GB, deepseek-r1 fp8 possible?",
        "dense 32b vs 30b a3b on a 3090",
        "will 2x rx 7900 xtx run llama 3.3 70b q5_k_m or do i need 3",
        "how many epochs of 10k samples can i do in a day on a 3090 with lora 8b",
        "how does a 395+ with 128gb compare to a 5090 for gpt-oss-120b",
        "free colab can i finetune gemma 3 4b",
        "ryzen ai max 395 128gb with 96gb for vram, minimax m2 iq3 xxs ok?",
        "train nanogpt 124M on my 3060",
        "llama3 gradient 1048k 8b vram at 256k ctx",
        "how much system ram for deepseek v4 flash q4 with experts offloaded",
        "power bill per month for a 5090 running qwen3 32b 8h a day",
        "mxfp4 gpt oss 120 on 128gb strix halo speed",
        "3090 at 220W vs stock, tok/s qwen3 32b q4",
        "we need 2000 tokens/s aggregate on llama 3.1 8b, how many l40s?",
        "how many tokens is one 4k image in qwen3 vl and does 8b fit in 12gb",
    }
)
# What is asked of `estimate` or of `plan` for a line: all of it, with what the line does not say.
ASKED = json.loads((Path(__file__).parents[1] / "data" / "line_readings.json").read_text(encoding="utf-8"))


@cache
def read(line: str) -> Any:
    """Return a line's reading, which no test changes."""
    return read_line(line)


def meant(row: dict[str, str]) -> dict[str, str]:
    """Return the fields that a line means; 1500EUR is in dollars, at the catalogue's rate."""
    fields = dict(pair.split("=", 1) for pair in row["fields"].split())
    paid = ((name, re.fullmatch(r"(\d+)([A-Z]{3})", value)) for name, value in fields.items())
    return fields | {name: str(round(float(m[1]) * rate_of(m[2]), 2)) for name, m in paid if m}


def rate_of(currency: str) -> float:
    """Return the newest rate of a currency, in dollars."""
    return catalog().prices("currencies", currency)[0].price


def understood(reading: Any) -> dict[str, Any]:
    """Return the fields that were read, by the names that the rows have."""
    found = {chip["field"]: chip["value"] for chip in reading["chips"]}
    if reading["question"] and "of" in reading["question"]:
        found["of"] = reading["question"]["of"]
    if reading["asks"] in ("models", "hardware") and "sequences" in found:
        found["users"] = found.pop("sequences")
    return found


def parameters(model: str) -> float:
    """Return the parameters of a model."""
    return parameters_total(known_architecture(catalog(), model))


def bits(weights: str) -> float:
    """Return the bits of a number format's elements."""
    record = catalog().weights_format(weights)
    return catalog().number_format(record.base).bits if isinstance(record, Mixture) else record.bits


def sides_of(row: dict[str, str]) -> list[dict[str, str]]:
    """Return what each side of a line that compares means, which has "|" between their values, and "-" for none."""
    kinds = row["asks"].split("|")
    found = []
    for place, asks in enumerate(kinds):
        pairs = [pair.partition("=")[::2] for pair in row["fields"].split()]
        own = [(name, value.split("|")[place] if "|" in value else value) for name, value in pairs]
        fields = " ".join(f"{name}={value}" for name, value in own if value != "-")
        found.append({**row, "asks": asks, "fields": fields})
    return found


def wrong(row: dict[str, str]) -> list[str]:
    """Return how a reading differs from what a row means, side by side."""
    reading, wanted = read(row["line"]), sides_of(row)
    sides = reading["sides"] or [reading]
    if len(sides) != len(wanted):
        return [f"{len(sides)} sides for {len(wanted)}"]
    return [problem for one, side in zip(wanted, sides, strict=True) for problem in misread(one, side)]


def misread(row: dict[str, str], reading: Any) -> list[str]:
    """Return how a reading differs from what a row means; a size alone means any model of it."""
    wanted, found = meant(row), understood(reading)
    asks = NOTHING if reading["missing"] else reading["asks"]
    problems = [] if asks == row["asks"] else [f"asks {asks}"]
    if "memory" in wanted:
        device = found.pop("accelerator", None)
        gib = (catalog().accelerator(device).quantity("memory") or 0) / GIB if device else 0
        problems += [] if abs(gib / float(wanted.pop("memory")) - 1) < 0.05 else [f"memory {gib}"]
    if "family" in wanted:
        family, models = wanted.pop("family"), found.pop("models", [])
        problems += [] if models and all(name.startswith(family) for name in models) else [f"models {models}"]
    if "task" in wanted:  # of models that are made for it, or that see
        task, models = wanted.pop("task"), found.pop("models", [])
        shapes = {name: known_architecture(catalog(), name) for name in models}
        suits = {"sees": lambda shape: shape.tower, "experts": lambda shape: shape.experts}.get(task)
        fit = (suits(shapes[name]) if suits else catalog().model(name).made_for == task for name in models)
        problems += [] if models and all(fit) else [f"models {models}"]
    if "bits" in wanted:
        chosen = found.pop("weights", [])
        listed = chosen if isinstance(chosen, list) else [chosen]
        problems += [] if listed else ["weights"]
        problems += [name for name in listed if bits(name) > float(wanted["bits"])]
        wanted.pop("bits")
    if wanted.get("model", "")[:1].isdigit():
        size, model = wanted.pop("model"), found.pop("model", None)
        named = model and size in words_of(str(model))  # Llama 3.2 1B has 1.24 billion
        near = model and abs(parameters(str(model)) / (read_count(size, binary=False) or 1) - 1) < 0.15
        problems += [] if named or near else ["model"]
    for name in wanted.keys() | found.keys():
        one, other = wanted.get(name), found.get(name)
        if one != str(other) and (one is None or other is None or not one.isdigit() or float(one) != float(other)):
            problems.append(f"{name}: {other} for {one}")
    return problems


@pytest.fixture(scope="module")
def errors() -> dict[str, list[str]]:
    """What is wrong about each line's reading."""
    return {row["line"]: wrong(row) for row in ROWS}


def test_there_are_two_hundred_lines() -> None:
    """Each is there once, and those that were written down after the reader was are marked."""
    assert len({row["line"] for row in ROWS}) == len(ROWS) >= 200
    assert sum(row["written"] == "held out" for row in ROWS) >= 40


def test_nearly_all_lines_are_right(errors: dict[str, list[str]]) -> None:
    """They are read as they are meant, but for some that are known: the kind of question, and each field."""
    missed = {line: problems for line, problems in errors.items() if problems}
    assert errors.keys() >= MISREAD
    assert missed.keys() <= MISREAD, {line: missed[line] for line in missed.keys() - MISREAD}


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked["line"][:40])
def test_all_that_is_asked_of_a_line(asked: dict[str, Any]) -> None:
    """A line becomes this scenario or this question of the catalogue, and nothing of it is left over."""
    reading = read(asked["line"])
    said = {name: reading[name] for name in ("scenario", "question") if reading[name] is not None}
    assert {"line": asked["line"], **said} == asked
    assert reading["missing"] == reading["unread"] == reading["sides"] == []


@pytest.mark.parametrize("devices", ["4090 vs 5090", "4090 or 5090", "5090 vs 4090"])
def test_two_devices_become_two_scenarios(devices: str) -> None:
    """What stands beside a comparison is of both of its sides."""
    same = {"model": "llama-3.1-8b", "weights": "q4_k_m", "engine": "usual", "context_tokens": 32768}
    sides = [side["scenario"] for side in read(f"{devices} llama 8b q4 32k")["sides"]]
    asked = [f"rtx-{word}" for word in devices.split() if word.isdecimal()]
    assert sides == [{**same, "accelerator": name} for name in asked]


def test_two_kinds_of_cards_stand_together() -> None:
    """Cards that are added to others are one computer's, under llama.cpp; servers and chips of computers are not."""
    two = [{"id": "rtx-3090", "count": 2}, {"id": "rtx-3060-12gb", "count": 1}]
    reading = read("2x 3090 and a 3060 12gb llama 70b q4")
    assert reading["scenario"]["accelerator"] == two and reading["scenario"]["engine"] == "llama.cpp"
    assert estimate(reading["scenario"])["memory"]["fits"]  # type: ignore[index]
    for line in ("what can i run on 2x3090 + 3060 12gb", "2x 3090 with one 3060 12gb max context llama 70b q4"):
        assert read(line)["question"]["have"]["accelerator"] == two and plan(read(line)["question"])["options"]
    for line in ("h100 and a100 llama 70b fp8", "m4 max 64gb and 3090 llama 70b", "qlora 8b on 3090 + 4090"):
        assert isinstance(read(line)["scenario"]["accelerator"], str) and read(line)["unread"]
    slots = read("qwen3 32b q4 on a 3090 and a 3060 12gb at pcie 3.0 x8")["scenario"]
    assert [device["pcie"] for device in slots["accelerator"]] == ["3x8"] * 2 and estimate(slots)
    assert read("adding a 3060 to my 3090 for 32b q6")["scenario"]["accelerator"][1]["id"] == "rtx-3090"
    assert len(read("difference between 3090 and 4090 for 32b")["sides"]) == 2


@pytest.mark.parametrize(("watts", "limits"), [(300, [300, 300]), (400, [None, 400]), (500, [500, 500])])
def test_a_limit_of_power_is_that_of_both_kinds_of_cards(watts: int, limits: list[int | None]) -> None:
    """One of 350 W is not limited by 400, which one of 450 is; what is above both is refused, and not passed over."""
    held = read(f"3090 + 4090 limited to {watts} w llama 70b q4 tokens/s")["scenario"]
    assert [device.get("power_limit") for device in held["accelerator"]] == limits
    if watts <= 450:
        assert estimate(held)


def test_where_a_limit_of_power_tells() -> None:
    """It slows a run of training, and leaves memory alone: who asks what fits has the word left over."""
    assert read("train 8b qlora on 4090 at 300w how long")["scenario"]["power_limit"] == 300
    wide = read("train 8b qlora on 2x 4090 at pcie 4.0 x8 how long")["scenario"]
    assert estimate(wide)["scenario"]["pcie"] == "4.0 x8"
    assert read("max context qwen3 14b on 3090 at 300w")["unread"]


def test_watts_alone_limit_a_card_that_draws_as_many() -> None:
    """More are those of a supply or of a computer, which nothing is calculated from; a slash is no unit."""
    assert read("3090 250w qwen3 32b q4 tokens/s")["scenario"]["power_limit"] == 250
    for line in ("4090 1000 w llama 8b speed", "llama 8b on m4 max 64gb 60w tok/s"):
        reading = read(line)
        assert "power_limit" not in reading["scenario"] and reading["unread"]
    assert "power_limit" not in read("2x 3090 w/ nvlink llama 70b awq tok/s")["scenario"]


def test_a_version_behind_an_engine_is_its_version() -> None:
    """Builds are llama.cpp's, Ollama's versions carry known ones, and a share of the memory is no version."""
    for line, version in (
        ("llama.cpp b4000 llama 8b q4 4090", "b4000"),
        ("ollama 0.5.7 llama 8b 4090", "0.5.7"),
        ("vllm v0.11.2 llama 8b a100", "0.11.2"),
        ("lm studio 0.3.5 llama 8b 4090", None),
        ("vllm 0.9 gpu memory utilization llama 8b a100", None),
    ):
        assert read(line)["scenario"].get("engine_version") == version
    assert read("lm studio 0.3.5 llama 8b 4090")["unread"]


def test_a_version_behind_a_framework_is_its_version() -> None:
    """Of training the number is the framework's, also of what serves too; behind an engine it is not understood."""
    for line, framework, version in (
        ("lora of llama 3 8b with trl 0.9.6 on a 4090", "trl", "0.9.6"),
        ("fine-tune llama 3 8b with transformers v4.44 on a 4090", "transformers", "4.44"),
        ("full fine-tune of mistral 7b in axolotl on 4 a100", "axolotl", None),
    ):
        scenario = read(line)["scenario"]
        assert (scenario["framework"], scenario.get("engine_version")) == (framework, version)
    served = read("lora fine-tune of llama 3 8b vllm 0.9 on a 4090")
    assert "engine_version" not in served["scenario"] and served["unread"]
    assert read("largest model i can qlora with trl 0.9 on a 3090")["question"]["engine_version"] == "0.9"


def test_a_degree_without_a_number_is_of_all_devices() -> None:
    """Tensor parallel over four cards is of degree four; where no number of them is said, it is left over."""
    assert read("llama 70b awq 4x3090 tensor parallel")["scenario"]["parallelism"] == {"tensor": 4}
    assert read("llama 70b awq 4x3090 tensor parallel pp2")["scenario"]["parallelism"] == {"tensor": 2, "pipeline": 2}
    experts = read("deepseek r1 8xh200 tp4 pp2 expert parallel")["scenario"]["parallelism"]
    assert experts == {"tensor": 4, "pipeline": 2, "expert": 4}
    assert read("llama 70b awq h100 tensor parallel")["unread"]
    sides = read("tp4 vs tp2 pp2 on 4x3090 llama 70b awq")["sides"]
    assert [side["scenario"]["parallelism"] for side in sides] == [{"tensor": 4}, {"tensor": 2, "pipeline": 2}]


def test_slots_of_a_server_share_its_context() -> None:
    """What `-c` says is of all slots of llama-server, which `-np` counts; without it one has all of it."""
    command = "llama-server -m qwen3-32b-q4_k_m.gguf -c 32768{} on 2x3090"
    shared, whole = (read(command.format(slots))["scenario"] for slots in (" -np 4", ""))
    assert (shared["context_tokens"], shared["sequences"]) == (8192, 4)
    assert whole["context_tokens"] == 32768 and "sequences" not in whole


def test_flags_of_launchers_count_devices() -> None:
    """They may say a number that the line has already, and no other one."""
    assert read("torchrun --nproc_per_node 8 full finetune llama 8b fsdp h100")["scenario"]["accelerators"] == 8
    assert read("accelerate launch --num_processes 4 lora 8b 4x3090")["unread"] == []
    assert read("accelerate launch --num_processes 2 lora 8b 4x3090")["unread"]


def test_what_is_divided_is_trained_as_a_whole() -> None:
    """Who names ZeRO-3 or FSDP and no adapter means no QLoRA; what a run costs is asked of as many as cost least."""
    assert read("train 8b with fsdp on 8xh100")["scenario"]["method"] == "full"
    assert read("qlora 70b with fsdp on 2x3090")["scenario"]["method"] == "qlora"
    question = read("how much would it cost to pretrain 7b on 1T tokens on h100s")["question"]
    assert question["rank_by"] == "cost" and question["limits"]["accelerators"] == ["h100-sxm-80gb"]


def test_what_says_something_and_has_no_field_is_left_over() -> None:
    """Also a word that says nothing elsewhere: two models are not one; the number of cards is another thing."""
    for line, word in (("two 7b models on one 4090", "two"), ("both llms llama 8b on an h100", "both")):
        assert [part["text"] for part in read(line)["unread"]] == [word]
    assert read("llama 8b on two 4090")["unread"] == []


def test_a_memory_that_no_card_has_is_a_host_s() -> None:
    """Of 256 GB nobody has a card at home: which device it is, is asked; of a card that is said to have it, not."""
    assert read("deepseek v3 on 256gb")["missing"] == ["accelerator"]
    assert read("llama 405b on a 192gb gpu")["scenario"]["accelerator"]
    beside = read("qwen3-next on 24gb + 64gb ddr5")["scenario"]
    assert beside["accelerator"] == "rtx-3090" and beside["host"]["memory"] == 64 * GIB


def test_the_kind_of_a_memory_says_what_reads_it() -> None:
    """A processor of a desktop that has it, where none is named; a rate counts, and DDR4 on a board that takes both."""
    older, newer = (read(f"qwen3 8b cpu only 32gb {kind}")["scenario"]["host"] for kind in ("ddr4", "ddr5"))
    slow, fast = (catalog().processor(host["processor"]) for host in (older, newer))
    assert slow.bits_per_s <= 3.2e9 < fast.bits_per_s and "bandwidth" not in {**older, **newer}
    rated = read("qwen3 8b cpu only 32gb ddr4-3600")["scenario"]["host"]
    assert rated["bandwidth"] == f"{2 * 64 * 3.6 / 8:g} GB/s"
    both = read("qwen3 8b on i7 12700k 32gb ddr4")["scenario"]["host"]
    assert both["processor"] == "core-i7-12700k" and both["bandwidth"] == f"{2 * 64 * 3.2 / 8:g} GB/s"
    assert read("llama 8b 32gb ddr4 3090")["scenario"]["accelerator"] == "rtx-3090"
    assert [part["text"] for part in read("llama 8b ddr5 on a 3090")["unread"]] == ["ddr5"]


def test_a_file_of_gguf_is_llama_cpp_s() -> None:
    """Who says GGUF and no format means llama.cpp, also on a server; beside a format of another engine it is left."""
    assert read("qwen3 32b gguf h100")["scenario"]["engine"] == "llama.cpp"
    assert read("qwen3 32b gguf q4_k_m 4090")["scenario"]["engine"] == "usual"
    assert [part["text"] for part in read("awq or gguf for 4090 qwen 32b")["unread"]] == ["gguf"]


def test_a_size_alone_is_a_model_that_goes_as_far_as_is_asked() -> None:
    """Qwen3 32B is made for 40,960 tokens: who asks for a 32B at 65,536 is not told so; who names it is."""
    model = read("gpu for a 32b at 64k context")["question"]["model"]
    assert (catalog().model(model).context_tokens or 0) >= 65536
    assert read("gpu for a 32b")["question"]["model"] == read("gpu for qwen3 32b at 64k context")["question"]["model"]


def test_people_are_served_as_fast_as_they_read() -> None:
    """Who serves people and says no speed is offered none that is slower than reading; who says one is not."""
    assert read("server for llama 70b, 50 users")["question"]["need"] == {"users": 50, "tokens_per_s_each": 10}
    assert read("server for llama 70b, 50 users, 25 tok/s")["question"]["need"]["tokens_per_s_each"] == 25
    assert "tokens_per_s_each" not in read("server for bge-m3, 50 users")["question"]["need"]
    assert read("on-prem server for llama 70b, 50 users")["question"]["limits"]["buy"] is True


def test_ranks_of_experts_are_no_more_devices() -> None:
    """They are those of the other degrees; what they do not divide is not understood."""
    assert read("deepseek r1 h200 dp8 ep8")["scenario"]["parallelism"] == {"data": 8, "expert": 8}
    assert read("deepseek r1 8xh200 ep8")["scenario"]["parallelism"] == {"tensor": 8, "expert": 8}
    assert read("deepseek r1 8xh200 ep3")["unread"]


def test_a_macbook_has_no_ultra() -> None:
    """Of the chips with that memory one that a laptop has is taken."""
    assert read("glm-4.5-air on 96gb macbook")["scenario"]["accelerator"] == "m2-max-96gb"
    assert "ultra" in read("glm-4.5-air on 96gb mac studio")["scenario"]["accelerator"]


def test_models_of_a_family_are_those_with_the_word_behind_it() -> None:
    """Mistral Small is the last, or what devices hold; a count is no family, and of several words its own counts."""
    small = [read(f"mistral small on {device}")["scenario"]["model"] for device in ("2x h100", "a 4060 laptop")]
    sizes = [parameters(model) for model in small]
    assert all("mistral-small" in model for model in small) and sizes[0] > sizes[1]
    found = read("devstral on a 4090")["choices"]["model"]
    assert found and all("devstral" in model for model in found)
    assert "model" not in read("2x on a 4090")["choices"]
    assert read("nd96 deepseek on 8 h100")["choices"]["model"] == read("deepseek on 8 h100")["choices"]["model"]


def test_a_count_stands_behind_a_name_without_a_number() -> None:
    """DGX Spark x2 are two, and an EVO-X2 is one; so is one of a pair of them."""
    for line in ("minimax m2 on dgx spark x2", "minimax m2 on two of my dgx sparks", "dgx spark pair minimax m2"):
        assert read(line)["scenario"]["accelerators"] == 2
    assert "accelerators" not in read("gpt-oss 20b on evo-x2")["scenario"]


def test_a_run_of_chinchilla_is_timed() -> None:
    """Twenty tokens for each parameter (Hoffmann et al. 2022) are a run, and no memory of a tuning."""
    reading = read("chinchilla optimal 3b on 8 h100")
    assert reading["asks"] == "duration" and reading["scenario"]["method"] == "full"
    size = parameters(reading["scenario"]["model"])
    assert reading["scenario"]["training_tokens"] == pytest.approx(20 * size)


def test_no_line_is_read_wrongly_in_silence(errors: dict[str, list[str]]) -> None:
    """Where a reading is wrong, words are left over and said, or no question is answered."""
    for line, problems in errors.items():
        if problems:
            reading = read(line)
            assert reading["unread"] or reading["missing"], (line, problems)


@pytest.mark.parametrize("row", [row for row in ROWS if row["unread"]], ids=lambda row: row["line"][:40])
def test_what_is_not_understood_is_said(row: dict[str, str]) -> None:
    """Words that mean something, and that no field takes, are named."""
    said = " ".join(part["text"] for part in read(row["line"])["unread"]).casefold()
    assert all(word in said for word in row["unread"].split())


@pytest.mark.parametrize(
    "card",
    ["rx 550", "rx 6400", "rx 6500 xt", "rx 6800m", "rx 7900m", "gtx 960", "gtx 1080m", "arc a310", "vega 11", "k40"],
)
def test_a_card_without_an_entry_is_no_neighbour_s(card: str) -> None:
    """What the catalogue lacks is named as not understood, and never taken for what it has: RX 580 for RX 550."""
    reading = read(f"{card} llama 3 8b")
    assert reading["scenario"] is None and "accelerator" in reading["missing"]
    assert card in " ".join(part["text"] for part in reading["unread"]).casefold()


@pytest.mark.parametrize(("model", "tokens"), [("llama 3.3 70b", 8192), ("whisper large v3", 448), ("bge-small", 512)])
def test_a_length_that_is_not_said_is_one_that_the_model_has(model: str, tokens: int) -> None:
    """It is that of the forms, or where the model ends: Whisper's max_target_positions is 448."""
    assert read(f"{model} on a 3060")["scenario"]["context_tokens"] == tokens


def test_what_is_taken_for_a_line_is_said() -> None:
    """The engine and the length that nobody said; and of cards of a size all others, the usual one first."""
    reading: Any = read_line("llama 3.1 8b on a 24gb card")
    assert reading["taken"] == {"engine": "usual", "context_tokens": 8192}
    card = reading["chips"][1]
    assert card["value"] == "rtx-3090" and {"rtx-4090", "p40-24gb"} <= set(card["others"])
    sizes = {catalog().accelerator(name).quantity("memory") for name in (card["value"], *card["others"])}
    assert sizes == {24 * GIB}


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("train llama 3.1 8b how long", ["accelerator"]),
        ("llama 3.1 8b cpu only 64gb ram speed", []),  # the processor is the device
        ("does llama 3.1 8b fit", []),  # hardware is looked for
    ],
)
def test_what_a_line_lacks(line: str, missing: list[str]) -> None:
    """A run needs a device or a processor alone, and what is asked of hardware needs none."""
    assert read_line(line)["missing"] == missing


@pytest.mark.parametrize(("name", "desktop"), [("macbook", False), ("mac", True)])
def test_a_macbook_is_no_desktop(name: str, desktop: bool) -> None:
    """Who asks for a MacBook is offered no chip that stands in a Mac Studio alone; who asks for a Mac is."""
    tried = read_line(f"which {name} for llama 70b")["question"]["limits"]["accelerators"]
    assert any("ultra" in name for name in tried) is desktop and "m5-max-64gb" in tried


def test_what_is_read_is_answered() -> None:
    """Scenarios and questions are ready for the calculation: none of their fields or values is refused."""
    for row in ROWS[::8]:
        reading = read(row["line"])
        if reading["scenario"] and reading["scenario"].get("parallelism") != {"tensor": 3}:  # which divides no heads
            assert estimate(settled(reading["scenario"], reading["asks"]).scenario)["memory"]["parts"]
        elif reading["question"] and reading["question"]["want"] == "limit":
            assert "options" in plan(reading["question"])


def test_places_are_those_of_the_line() -> None:
    """A chip and a word that was left over say where they stand."""
    for row in ROWS:
        reading = read(row["line"])
        for part in [*reading["chips"], *reading["unread"]]:
            assert row["line"][part["start"] : part["end"]] == part["text"]


def test_places_of_sides_are_those_of_the_line() -> None:
    """A side is its line with blanks for what the other one has, so that its parts stand where the line has them."""
    line = "llama 3.3 70b q4 on 3x3090 vs one A6000, 32k"
    sides = read(line)["sides"]
    assert [side["line"].split() for side in sides] == [
        ["llama", "3.3", "70b", "q4", "on", "3x3090", ",", "32k"],
        ["llama", "3.3", "70b", "q4", "on", "one", "A6000,", "32k"],
    ]
    for part in [part for side in sides for part in side["chips"]]:
        assert line[part["start"] : part["end"]] == part["text"]


@pytest.mark.parametrize(
    "line", ["4090 or better for llama 8b", "5090, 4090, 3090, a6000 or l40s for 8b", "what runs on a 3090 or not"]
)
def test_what_is_no_comparison_is_none(line: str) -> None:
    """A word between two cases makes none where nothing stands for the other; more than four are not set beside."""
    assert not read(line)["sides"]


def test_a_comparison_without_a_model_asks_for_it() -> None:
    """What one side lacks is missing, and both sides' devices were understood."""
    reading = read("qlora 4090 vs 3090")
    assert reading["missing"] == ["model"] and not reading["sides"]
    assert {chip["value"] for chip in reading["chips"]} == {"qlora", "rtx-4090", "rtx-3090"}


@example(text="0G")
@given(st.text(max_size=120))
def test_any_text_is_read(text: str) -> None:
    """No line is an error, whatever is in it."""
    assert read(text)["line"] == text


@pytest.mark.parametrize("line", [7, None, "x" * 401])
def test_no_line(line: object) -> None:
    """What is no text, or a book, is refused by name."""
    with pytest.raises(ScenarioError, match="line"):
        read_line(line)


def test_a_name_of_several_sizes_is_the_largest_that_devices_hold() -> None:
    """Qwen3 Coder has 480 billion parameters or 30; of memory that the line says of the host, all counts."""
    said = ("on a 4060", "on 8x h200", "3090 512gb ram", "3090 64gb ram", "how much vram")
    models = [understood(read(f"qwen3 coder {where}"))["model"] for where in said]
    large, small = "qwen3-coder-480b-a35b", "qwen3-30b-a3b"
    assert models == [small, large, large, small, large]
    chip = next(chip for chip in read("qwen3 coder on a 4060")["chips"] if chip["field"] == "model")
    assert chip["others"] == [large]
    assert understood(read("deepseek r1 on a 3090"))["model"] == "deepseek-r1"  # its distilled ones have other names


def test_all_of_a_context_is_the_models_own() -> None:
    """Full context is what a model is made for; with a number it is that, and without a model it is left over."""
    assert understood(read("gemma 3 27b full context on a 5090"))["context_tokens"] == 131072
    assert understood(read("gemma 3 27b with a full context window of 64k on a 5090"))["context_tokens"] == 65536
    assert [part["text"] for part in read("what can i run with full context on a 5090")["unread"]] == ["full context"]


def test_nodes_are_counted_once() -> None:
    """Devices of all nodes that are said too are no more of each."""
    lines = ("kimi k2 on 2x H200 nodes", "kimi k2 on 2x H200 nodes (16 GPUs)", "kimi k2 on 2 nodes of 8xH200")
    assert [understood(read(line))["accelerators"] for line in lines] == [16, 16, 16]


def test_a_format_is_not_taken_from_a_models_name() -> None:
    """The Q3 before a size is a format only where the line says no other."""
    assert understood(read("q3-235b-a22b nvfp4 on 4x h100"))["weights"] == "nvfp4"
    assert understood(read("llama 3.3 q4-70b on 2x3090"))["weights"] == "q4_k_m"


def test_makers_are_wanted_or_not() -> None:
    """What a line wants nothing of is not offered; a processor's maker is none, nor one of a device that is named."""
    limits = {
        line: read(line)["question"]["limits"]
        for line in (
            "amd gpu for 70b at 15 tok/s",
            "gpu for 70b, anything but nvidia",
            "hardware for 70b, no macs",
            "nvidia or amd cards for 70b",
            "gpu for 70b next to my amd ryzen 9 9950x",
        )
    }
    amd, others, cards, both, beside = ({*limit.get("vendors", ())} for limit in limits.values())
    assert amd == {"AMD"} and both == {"AMD", "NVIDIA"} and beside == set()
    assert others == {*VENDORS} - {"NVIDIA"} and cards == {*VENDORS} - {"Apple"}
    assert "vendors" not in read("nvidia h100 for 70b how many for 20 req/s")["question"]["limits"]
    assert read("70b q4 on a 3090, not amd")["unread"]


def test_how_many_there_may_be_of_what_is_looked_for() -> None:
    """Cards, or servers; of cards that are named it is how many there are. The fastest is not the cheapest."""
    limits = {
        line: read(line)["question"]["limits"] for line in ("single gpu for 70b q4", "70b, 9 users, max 2 servers")
    }
    assert [limit.get("devices") for limit in limits.values()] == [1, None]
    assert [limit.get("servers") for limit in limits.values()] == [None, 2]
    assert read("a second card for 70b q4, which")["question"]["limits"] == {}
    ranks = [read(f"{word} hardware for qwen3 235b")["question"].get("rank_by") for word in ("fastest", "best")]
    assert ranks == ["speed", None]


def test_a_part_of_people_is_there_at_a_time() -> None:
    """Of 800 employees of whom 5 % are active forty are served; without people the share is left over."""
    assert read("800 employees, 5% active at once, gpt-oss-120b")["question"]["need"]["users"] == 40
    assert read("gpt-oss-120b server, 5% active")["unread"]


def test_a_name_of_which_a_word_is_left_out_is_no_other_side() -> None:
    """DGX Spark and Spark are one device."""
    assert len(read("m4 max 128gb vs dgx spark vs strix halo for gpt-oss-120b")["sides"]) == 3
