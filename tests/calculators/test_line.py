"""A question in one line is answered by the calculators and by the planner, with what was understood of it."""

import csv
import json
import re
from html import unescape
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import pytest

from calc import estimate, plan, read_line
from calc.calculators import answer
from calc.calculators.html import in_words
from calc.calculators.line import answer_line
from calc.calculators.line_cases import CALCULATOR_OF, worked
from calc.calculators.line_chips import CHOICES, render
from calc.calculators.line_facts import sold
from calc.calculators.line_field import render_line
from calc.calculators.line_link import form_values
from calc.calculators.page import CALCULATORS
from calc.catalog import catalog
from calc.planning.cost import rents
from calc.units import show_count, show_dollars, show_gib, show_number

ROWS = list(csv.DictReader((Path(__file__).parents[1] / "data" / "lines.csv").read_text(encoding="utf-8").splitlines()))
TWO_3090 = "Can I run Llama 3.3 70B on my two 3090?"


def asked(line: str) -> Any:
    """Return the page's answer to a line."""
    return json.loads(answer(json.dumps({"line": line})))


def plain(html: str) -> str:
    """Return the text of HTML."""
    return unescape(re.sub(r"<[^>]+>", " ", in_words(html)))


def test_the_number_shown_is_that_of_the_calculation() -> None:
    """A model that does not fit as published is answered in the first format that does, and both are said."""
    found = asked(TWO_3090)
    scenario = {"model": "llama-3.3-70b", "accelerator": "rtx-3090", "accelerators": 2, "context_tokens": 8192}
    fitting: Any = estimate({**scenario, "weights": "q4_k_m", "engine": "usual"})["memory"]
    published: Any = estimate({**scenario, "engine": "usual"})["memory"]
    assert fitting["fits"] and f"It likely fits, with {show_gib(fitting['headroom_bytes'])} to spare" in found["status"]
    assert f"As published, {show_gib(-published['headroom_bytes'])} are missing" in plain(found["html"])


def test_what_fits_is_said_with_its_speed() -> None:
    """Who asks whether a model runs reads how fast it writes, with the range, and is led to the form of speeds."""
    found = asked(TWO_3090)
    scenario = {"model": "llama-3.3-70b", "accelerator": "rtx-3090", "accelerators": 2, "weights": "q4_k_m"}
    report: Any = estimate({**scenario, "context_tokens": 8192, "engine": "usual"})
    token_s = report["speed"]["time_per_output_token_s"]
    low, typical, high = (show_number(1 / token_s[end]) for end in ("high", "typical", "low"))
    assert f"Its answer is written at {typical} tokens/s ({low} to {high})." in found["status"]
    assert f"written at {typical} tokens/s" in plain(found["html"]) and "calculators/speed/?" in found["html"]
    assert "Each answer is written at" in asked("qwen3 32b awq on an h100 for 4 users")["status"]
    for line in ("llama 3.3 70b bf16 on a 4090", "bge-small under vllm on an H100", "qlora 8b on a 4090"):
        assert "written at" not in asked(line)["status"]


FIRST_TABLE = {  # what was answered wrongly once, as people type it, and how the answer begins
    "gpt-oss-120b on one H100": "It likely fits:",
    "Qwen/Qwen3-32B-FP8 on a 5090": "It does not fit",
    "mlx-community/Qwen3-32B-4bit on an m4 max 64gb": "It fits",
    "DeepSeek-V3 on 8 H200": "It fits:",
    "Kimi K2.5 8x h200": "It fits:",
    "Llama 3.3 70B Q6_K on an M4 Max 64 GB": "It does not fit",
    "TensorRT-LLM llama 3.1 8b on an M4 Max": "It does not run",
    "llama 3.1 8b llama.cpp on a TPU v5e": "It does not run",
    "llama 3.1 8b AWQ llama.cpp 4090": "It does not run",
    "llama 3.1 8b AWQ vllm GTX 1080 Ti": "It does not run",
    "llama 3.1 8b fp8 vllm V100": "It does not run",
    "bge-small under vllm on an H100": "It fits, with 7",
    "nvidia/Gemma-4-31B-IT-NVFP4 on a 4090": "It does not fit",
    "70B on 2x 3090": "It likely fits",
}


@pytest.mark.parametrize("line", FIRST_TABLE)
def test_what_was_answered_wrongly_once(line: str) -> None:
    """The first page says of each what is true: a repository with a format of its own is answered in that."""
    assert asked(line)["status"].startswith(FIRST_TABLE[line])


def test_what_a_card_does_not_hold_stays_on_the_host() -> None:
    """Where a line says what memory the host has, experts stay there, as `estimate` says they must."""
    found = asked("qwen3-coder 30b a3b q4 on a 12gb 3060 and 64gb ram")
    scenario = {"model": "qwen3-30b-a3b", "accelerator": "rtx-3060-12gb", "weights": "q4_k_m", "engine": "usual"}
    report: Any = estimate({**scenario, "context_tokens": 8192})
    change = next(fix["change"] for fix in report["repairs"] if "experts_on_host" in fix["change"])
    assert not report["memory"]["fits"]
    assert f"The experts of {change['experts_on_host']} layers stay in the host's memory." in found["status"]
    assert found["status"].startswith("It fits")


def test_a_host_that_is_too_small_is_said() -> None:
    """Nothing is advised to be left in a memory of which the line says that it does not hold it."""
    found = asked("kimi k2 q4 on one 4090 and 512gb ram")["status"]
    run = {"model": "kimi-k2", "accelerator": "rtx-4090", "weights": "q4_k_m", "engine": "llama.cpp"}
    report: Any = estimate({**run, "context_tokens": 8192, "experts_on_host": 61})
    assert report["memory"]["host_bytes"] > 512 * 2**30
    assert found.startswith("It does not fit into the host's memory")
    assert f"In the host's memory {show_gib(report['memory']['host_bytes'])} would stay" in found


def test_two_kinds_of_cards_are_named_and_linked() -> None:
    """The answer names both, and so does the form that it leads to."""
    found = asked("4090 + 3090 llama 70b q4")
    assert "on 1 × GeForce RTX 4090 and 1 × GeForce RTX 3090 under llama.cpp" in found["status"]
    assert "other_accelerator=rtx-3090" in unescape(found["html"])
    for line in (
        "what can i run on 4090 + 3090",
        "4090 + 3090 llama 70b q4 max context",
        "4090 + 3090 speed 8b nvlink",
    ):
        assert "1 × GeForce RTX 4090 and 1 × GeForce RTX 3090" in asked(line)["status"]


def test_electricity_is_no_rent() -> None:
    """Who asks what electricity costs is told that: the energy of a million tokens at the newest tariff."""
    line = "electricity cost of llama 70b on 2x3090"
    said = asked(line)["status"]
    case = worked(read_line(line))
    cost = case.report["cost"]["electricity"]
    energy = case.report["cost"]["energy_kwh_per_million_output_tokens"]["typical"]
    assert cost["per_million_output_tokens"]["typical"] == pytest.approx(energy * cost["price"]["each"])
    assert said.startswith(f"{show_dollars(energy * cost['price']['each'])} of electricity a million output tokens")
    assert "rented" not in said and "2 × GeForce RTX 3090 draw 700 W" in said
    assert f"{show_number(energy)} kWh" in said and asked("kwh per token llama 70b 2x3090")["status"] == said


def test_what_a_power_supply_leaves() -> None:
    """Two cards of 350 W leave 150 of 850, and are too much for 650."""
    assert "leaves 150 W for all else" in asked("does a 850w psu suffice for 2x3090")["status"]
    assert "A power supply of 650 W is too small." in asked("650 W power supply for 2x 3090")["status"]


def test_when_buying_costs_less_than_renting() -> None:
    """It is what the form of costs says, to which the answer leads; nothing where no price to buy is known."""
    said = asked("rent or buy a 4090")
    values = {"accelerator": "rtx-4090", "accelerators": "1"}
    form = CALCULATORS["cost"].status(CALCULATORS["cost"].report(values))
    assert "Buying is cheaper after" in form and form in said["status"]
    assert "calculators/cost/?accelerator=rtx-4090" in said["html"]
    assert "is cheaper" not in asked("rent or buy h100")["status"] + asked("4090 price")["status"]


def test_how_many_gigabytes_is_a_size() -> None:
    """What a model takes is said before what holds it, however it is asked."""
    for line in ("how many gb is llama 3.1 70b in q4_k_m", "size of llama 3.1 70b q4_k_m", "how big is llama 3.1 70b"):
        assert asked(line)["status"].startswith("Llama 3.1 70B with 8,192 tokens takes")


def test_a_processor_alone_answers() -> None:
    """Without a GPU the weights stand in the memory of the host that the line names."""
    found = asked("ryzen 9 9950x cpu only 96gb ddr5 llama 3.1 8b q4")
    report: Any = estimate({"model": "llama-3.1-8b", "weights": "q4_k_m", "engine": "llama.cpp", "gpu_layers": 0,
                            "context_tokens": 8192, "host": {"processor": "ryzen-9-9950x"}})  # fmt: skip
    assert (
        f"takes {show_gib(report['memory']['host_bytes'])} of 94.00 GiB that the system leaves of 96.00 GiB on a host "
        "with Ryzen 9 9950X" in found["status"]
    )


def test_a_format_that_misses_less_is_taken_where_none_fits() -> None:
    """A 70B that no format of two cards' users makes fit is asked in four bits, and not as published."""
    found = asked("llama 3.3 70b on 2x3090 64k context")
    assert "(Q4_K_M)" in found["status"] and "It does not fit" in found["status"]
    assert "Q4_K_M is the smallest that many take" in found["status"]


def test_a_size_is_not_that_of_a_device_that_nobody_knows() -> None:
    """A memory behind a part of a device's name is that device's, and no other of that size is answered for."""
    assert "On which GPU?" in asked("jetson xavier 64gb llama 8b int4")["status"]


def test_a_board_that_nobody_knows_is_no_card_of_its_memory() -> None:
    """A size behind a name that the catalogue lacks is that of the named thing; a Raspberry Pi is a host alone."""
    assert "On which GPU?" in asked("Radxa Rock 5 8GB llama 3.2 1b")["status"]
    assert (
        "of 8.00 GiB on a host with Raspberry Pi 5 (BCM2712) alone"
        in asked("Raspberry Pi 5 8GB llama 3.2 1b")["status"]
    )
    assert "RTX 3090" in asked("gemma 3 27b qat 24gb card 32k context")["status"]  # where the word is of the model


def test_a_mac_without_a_chip_is_asked_for_it() -> None:
    """What stands in a Mac is chosen from the catalogue's chips, and the words of the choice are read."""
    found = asked("macbook air llama 3.1 8b")
    assert "Which chip has the Mac" in found["status"] and '<option value="M5 32GB">' in found["html"]
    assert "on one M5 32GB" in asked("macbook air llama 3.1 8b M5 32GB")["status"]


def test_a_name_of_many_models_is_asked_which() -> None:
    """Mistral is a name of many: they are offered in its place, and nobody says that it is unknown."""
    found = asked("finetune mistral on colab t4")
    assert "Of “mistral” the guide has" in found["status"]
    assert f'data-start="{len("finetune ")}" data-end="{len("finetune mistral")}"' in found["html"]
    assert '<option value="Mistral Small 3.2 24B">' in found["html"]


def test_a_model_that_nobody_knows_is_none_of_its_size() -> None:
    """A size behind a name that the catalogue lacks is no other model of that size; what draws is of no kind here."""
    assert "Which model?" in asked("foobar 70b on 2x3090")["status"]
    for line in ("flux 12b on a 4090", "wan 2.2 14b 4090", "vram for sdxl", "stable diffusion on a 3060"):
        assert "makes images or video by diffusion" in asked(line)["status"]


def test_what_stands_beside_names_is_no_name() -> None:
    """A number is no family, a purpose no model: who asks what codes best is told that size is no answer to that."""
    assert asked("qwen3 coder 480b on 4 mac studios")["status"] == "Which chip has the Mac, and how much memory?"
    assert asked("rag chatbot 20 employees which gpu")["status"] == "Which model?"
    assert "Which GPU has the laptop" in asked("gaming laptop which model can i run")["status"]
    assert "good at coding the guide does not know" in asked("best model for coding on 24gb vram")["status"]


def test_a_tuning_by_answers_is_answered_as_a_plain_run() -> None:
    """What GRPO holds beside the model that is tuned is not counted, which the answer says; of SFT there is nothing."""
    assert "what GRPO takes beside it" in asked("grpo qwen2.5 7b on a single a100 80gb")["status"]
    assert "a plain run" not in asked("sft qwen2.5 7b on a single a100 80gb")["status"]


def test_the_most_of_a_training_run_may_be_its_batch() -> None:
    """A batch of so many fits, and of one more it does not."""
    assert (
        "The largest batch: 3 sequences of 2,048 tokens"
        in asked("batch size for qlora llama 3.1 8b on a 3090")["status"]
    )
    run = {"workload": "training", "model": "llama-3.1-8b", "method": "qlora", "accelerator": "rtx-3090",
           "checkpointing": "full", "sequence_tokens": 2048}  # fmt: skip
    fits = [cast(Any, estimate({**run, "micro_batch": batch}))["memory"]["fits"] for batch in (3, 4)]
    assert fits == [True, False]


def test_the_best_card_is_no_computer_and_the_fastest_of_a_model() -> None:
    """Who asks for cards is offered no Mac; the best for a model writes faster than the cheapest."""
    limits = read_line("best gpu under $3000")["question"]["limits"]
    assert "soc" not in limits["segments"] and "segments" not in read_line("$3000 build for llms")["question"]["limits"]
    assert read_line("best gpu for 70b under $5000")["question"]["rank_by"] == "speed"
    assert "rank_by" not in read_line("gpu for 70b under $5000")["question"]


def test_a_server_s_old_card_runs_what_people_run_there() -> None:
    """vLLM runs no AWQ on a P40, V100 or MI50: a 70B that fits nowhere is missing what llama.cpp's format does."""
    for line in ("p40 llama 70b", "v100 llama 70b", "mi50 32gb x4 qwen3 235b"):
        found = asked(line)["status"]
        assert "(Q4_K_M)" in found and "under llama.cpp" in found


def test_a_host_beside_cards_for_servers() -> None:
    """vLLM keeps nothing on the host: where its devices hold a model they are answered, and else llama.cpp."""
    assert "under vLLM" in asked("8xh200 2tb ram deepseek v3")["status"]
    found = asked("deepseek v3 on one h100 with 1tb ram")["status"]
    assert "under llama.cpp" in found and "stay in the host's memory" in found


def test_every_part_has_its_words() -> None:
    """Each part of a line is shown, in a line of each set of fields, also a device without an entry of its own."""
    of_each_shape = {" ".join(pair.partition("=")[0] for pair in row["fields"].split()): row for row in ROWS}
    for row in of_each_shape.values():
        reading: Any = read_line(row["line"])
        html = render(reading, {})
        assert html.count("data-said") == len(reading["chips"])


def test_the_size_of_a_cache_needs_no_device() -> None:
    """Qwen3 32B keeps 2 × 64 layers × 8 heads × 128 in a byte each: 16 GiB for 131,072 tokens."""
    assert "The cache takes 16.00 GiB" in asked("kv cache for qwen3 32b at 128k fp8")["status"]


def test_a_family_without_a_size_is_told_what_there_is() -> None:
    """Of a word that names several models the line says which: it is no word that nobody knows."""
    said = answer_line("qwen on a 4090")["status"]
    assert "Of “qwen” the guide has Qwen3.8" in said and "nothing by the name" not in said
    assert "nothing by the name of “foobar”" in answer_line("run foobar on a 3060")["status"]


def test_a_framework_does_what_it_does_in_a_form_too() -> None:
    """Unsloth fuses the loss and keeps AdamW in 8 bit: the form asks for nothing else where nothing is chosen."""
    line = "unsloth qlora 14b on t4"
    report: Any = estimate(read_line(line)["scenario"])
    assert report["scenario"]["cross_entropy"] == "fused" and report["scenario"]["optimizer"] == "adamw-8bit"
    assert f"takes {show_gib(report['memory']['device_bytes'])}" in asked(line)["status"]


def test_a_processor_alone_takes_four_bits() -> None:
    """A host's memory is not known where a line does not say it: what is loaded there is what many load."""
    said = asked("how much ram for llama 70b cpu only")["status"]
    assert "(Q4_K_M)" in said and "Q4_K_M is what llama.cpp fetches then" in said


def test_a_model_is_not_trained_beyond_its_context() -> None:
    """GPT-2 has 1,024 places: an example has no 2,048 tokens."""
    assert "1 × 1,024 tokens" in answer_line("train gpt2 from scratch on 4090")["status"]


def test_a_model_is_not_asked_beyond_its_context() -> None:
    """Without lengths the usual 8,192 tokens are taken, and of Llama 2 the 4,096 that it goes."""
    assert "with 4,096 tokens" in asked("llama 2 13b q4 on 3090")["status"]


@pytest.mark.parametrize(
    "line",
    [
        TWO_3090,
        "qlora 13b 4090",
        "deepseek v3 8 h200 tokens/s",
        "How many H100 do I need for Llama 3.1 405B FP8?",
        "how long to pretrain a 7b on 1T tokens with 64 H100",
        "llama 3.1 8b 100 users 2k prompt 500 output on l40s vllm ttft",
        "unsloth qlora llama 3.1 8b on t4 rank 64",
        "llama 3.1 8b on l40s 2 requests/s latency",
        "throughput of llama 3.1 8b on l4 vllm",
    ],
)
def test_the_link_leads_to_the_same_answer(line: str) -> None:
    """The calculator, filled in by the link, says what the page says."""
    found = asked(line)
    link = urlsplit(unescape(re.search(r'href="(calculators/[^"]+)"', found["html"])[1]))  # type: ignore[index]
    name = link.path.split("/")[1]
    assert name == CALCULATOR_OF[str(read_line(line)["asks"])]
    other = json.loads(answer(json.dumps({"calculator": name, "fields": dict(parse_qsl(link.query))})))
    assert other["ok"] and other["status"] in found["status"]


def test_options_are_those_of_the_planner() -> None:
    """What serves a model is listed as `plan` ranks it, each with a link to its scenario."""
    html = asked("cheapest GPU for qwen2.5 32b with 32k context")["html"]
    found: Any = plan({"want": "hardware", "model": "qwen2.5-32b", "weights": "any", "context_tokens": 32768})
    names = [option["scenario"]["accelerator"] for option in found["options"]]
    assert [name for _, name in re.findall(r'href="calculators/[^"]*[?;&]((?:amp;)?accelerator)=([^&"]+)', html)] == [
        name for name in names if name != "rtx-4090"
    ]


def test_the_most_of_something_is_said_with_its_format() -> None:
    """The longest context is that of the format that was found to fit."""
    html = plain(asked("max context for qwen3 32b q4_k_m on a 3090")["html"])
    found: Any = plan(read_line("max context for qwen3 32b q4_k_m on a 3090")["question"])  # type: ignore[arg-type]
    tokens = estimate(found["options"][0]["scenario"])["scenario"]["context_tokens"]  # type: ignore[index]
    assert f"The longest context: {show_count(tokens)} tokens" in html


def test_what_rents_cost_carries_its_day() -> None:
    """A price is one of the catalogue, with its day."""
    said = asked("cost per million tokens llama 3.3 70b on h100")["status"]
    assert re.search(r"\$\d[\d.,]* a million output tokens .*\d{4}-\d{2}-\d{2}", said)


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["asks"] not in ("models",)][::10], ids=lambda row: row["line"][:40]
)
def test_every_line_is_answered(row: dict[str, str]) -> None:
    """Whatever is typed is answered or refused in words, and never by an exception."""
    found = asked(row["line"])
    assert found["ok"] and found["status"]
    assert "This cannot be answered" not in plain(found["html"]) or "is not modelled" in str(found["status"])


def test_words_of_the_lists_are_understood() -> None:
    """What a list puts into the line is read as the field that the list is of."""
    for field, listed in CHOICES.items():
        training = field in ("sequence_tokens", "method", "sharding", "micro_batch", "rank")
        line = "fine-tune llama 3.1 8b on {}rtx 4090 {}" if training else "llama 3.1 8b on {}rtx 4090 {}"
        for words in listed:
            written = line.format(f"{words} ", "") if field == "accelerators" else line.format("", words)
            reading: Any = read_line(written)
            assert field in [chip["field"] for chip in reading["chips"]], written
            assert not reading["unread"], written


def test_names_of_the_lists_are_understood() -> None:
    """A model or a device that a list offers is found again by the words that are put into the line for it."""
    for line in ("13b lora 4090", "llama 70b on a100"):
        reading: Any = read_line(line)
        for chip in reading["chips"]:
            for other in chip["others"]:
                kind = {"model": "models", "accelerator": "accelerators"}[chip["field"]]
                name = other if kind == "models" else str(catalog().entries(kind)[other]["name"])
                again: Any = read_line(f"{name} 24 users")
                assert other in [found["value"] for found in again["chips"]], name


def test_what_is_typed_is_escaped() -> None:
    """A line is text in the page, whatever is in it."""
    html = answer_line("llama 3.1 8b 4090 <img src=x onerror=alert(1)>")["html"]
    assert "<img" not in html and "onerror" in plain(html)


def test_examples_are_answered_when_the_page_is_built() -> None:
    """Each example is a link that asks it, with the first sentence of its answer."""
    html = render_line([TWO_3090])
    assert "?ask=Can%20I%20run%20Llama%203.3%2070B%20on%20my%20two%203090%3F" in html
    first = asked(TWO_3090)["status"].partition(". ")[0]
    assert first.startswith("It likely fits, with")
    assert f"{first}." in unescape(re.sub("</?span[^>]*>", "", in_words(html)))


def test_no_line_is_refused() -> None:
    """What is no line is an error of the request, as for forms."""
    found = json.loads(answer(json.dumps({"line": "x" * 1000})))
    assert not found["ok"] and "at most 400" in found["status"]


@pytest.mark.parametrize(
    ("line", "currency", "amount"),
    [
        ("which gpu for llama 70b under 2000 €", "EUR", 2000),
        ("gpu for llama 8b under £500", "GBP", 500),
        ("gpu under 500 euro for qwen3 8b", "EUR", 500),
        ("orçamento de R$ 5000, qual placa para modelos de 14b?", "BRL", 5000),
    ],
)
def test_other_money_is_converted_and_said(line: str, currency: str, amount: int) -> None:
    """Prices are in dollars: a limit in euros is converted at the catalogue's rate, which is said with its day."""
    found, rate = asked(line), catalog().prices("currencies", currency)[0]
    said = f"USD: 1 {currency} was {rate.price:g} USD on {rate.checked} (European Central Bank). Prices here are in USD"
    assert f"are taken as {amount * rate.price:,.0f} {said}" in found["status"]
    assert said in plain(found["html"]) and "Not understood" not in plain(found["html"])


def test_money_without_a_rate_is_said() -> None:
    """A sign that two currencies have is left out, by name."""
    found = asked("gpu for llama 8b under ¥5000")
    assert re.search(r"Not understood, and left out:.*¥.*Prices are in dollars here", plain(found["html"]))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("what can i run on a ryzen 9 9950x with 64gb ram", "The largest that runs on Ryzen 9 9950X is"),
        ("max context llama 8b q4 cpu only 32gb ram", "on a processor alone."),
        ("which mac for qwen3 8b q8", "USD to buy"),
    ],
)
def test_what_has_no_card_is_planned(line: str, said: str) -> None:
    """A processor alone is asked what runs and how much of it, with links to its case; of Macs, which is bought."""
    found = asked(line)
    assert said in found["status"] and "calculators/will-it-fit/" in found["html"]


@pytest.mark.parametrize(
    ("line", "left"), [("8k and 32k context llama 8b 3060", "8k"), ("lora and qlora 13b 4090", "lora")]
)
def test_of_two_values_one_is_answered_and_the_other_said(line: str, left: str) -> None:
    """A length or a method that is said twice is answered once, and the other is no silent part of the answer."""
    reading: Any = read_line(line)
    assert [part["text"] for part in reading["unread"]] == [left]
    assert f"Not understood, and left out: {left}" in re.sub(r"\s+", " ", plain(asked(line)["html"]))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("4090 vs m3 ultra 512gb for llama 3.3 70b q4", "Only M3 Ultra 512GB fits."),
        ("qwen3 32b q4 vs q8 on 2x3090", "Both fit. Q4_K_M writes"),
        ("how many h100 or h200 for deepseek v3 fp8", " × H100 SXM5 80GB"),
        ("qlora or lora 8b on h100", "trains on"),
        ("cost per million tokens llama 3.1 8b on l40s vs h100", "A token on"),
        (
            "llama 3.3 70b bf16 on 4090 vs 3090",
            "as many of each as do. Both fit. 8 × GeForce RTX 4090",
        ),
        ("deepseek r1 q4 on 4090 vs 3090", "None of them fits"),
        ("deepseek v3.2 h200 vs b200 vs mi355x cost per million tokens", "no rent of 4 × Instinct MI355X. A token on"),
    ],
)
def test_of_two_cases_the_better_is_named(line: str, said: str) -> None:
    """Which fits, and of those that do which writes faster, trains faster or costs less: with a chip for each side."""
    found = asked(line)
    assert said in found["status"], found["status"]
    reading: Any = read_line(line)
    assert found["html"].count("data-said") == len(reading["chips"])
    assert found["html"].count("<mark>") >= 2 and "data-remove" not in found["html"]


def test_a_comparison_says_what_each_case_says() -> None:
    """The sentence beside each side is the one of its line alone, and its link opens that case."""
    html = asked("4090 vs 3090 for qwen3 32b q4")["html"]
    for name in ("4090", "3090"):
        alone = asked(f"{name} for qwen3 32b q4")
        assert alone["status"].split(". ")[0] in plain(html)
        link = re.search(r'href="(calculators/[^"]+)"', alone["html"])
        assert link and link[1] in html


def test_questions_for_the_planner_are_answered_one_after_the_other() -> None:
    """What runs on two devices is two lists, each under its device."""
    html = asked("what runs on a 3090 vs a 4060")["html"]
    assert "<h3>GeForce RTX 3090</h3>" in html and "<h3>GeForce RTX 4060</h3>" in html


def test_devices_without_a_format_are_compared_in_one_that_both_hold() -> None:
    """A 16 GiB card takes fewer bits than one of 24 GiB: both are answered in those, so that the speeds compare."""
    html = asked("4060 ti 16gb vs 3090 for qwen3 14b")["html"]
    row = html.partition("Number format of the weights</th>")[2].partition("</tr>")[0]
    assert row and "<mark>" not in row


def test_where_nothing_fits_the_engine_is_the_one_of_such_devices() -> None:
    """Kimi K2 is published in FP8, which nothing on a Mac runs: llama.cpp's four bits are answered."""
    found = asked("kimi k2 on m3 ultra 512gb")
    assert "(Q4_K_M)" in found["status"] and "under llama.cpp" in found["status"]
    assert "Take the weights in" in found["status"]


def test_samples_and_epochs_are_a_data_set() -> None:
    """50,000 samples of 2,048 tokens, three times over; what a fine-tune is taken to read where nothing is said."""
    reading: Any = read_line("finetune llama 8b on 50k examples 3 epochs a100")
    assert reading["scenario"]["training_tokens"] == 50_000 * 2048 * 3 == reading["taken"]["training_tokens"]
    assert "10.0 million tokens" in asked("how long to fine-tune llama 8b on a 4090")["status"]


def test_devices_that_end_a_run_in_time() -> None:
    """The number of H100 is the fewest of those tried that train a 70B within thirty days, as a plan says."""
    line = "how many H100 to train llama 3.3 70b in 30 days"
    found, reading = asked(line), read_line(line)
    question: Any = reading["question"]
    (option,) = plan(question)["options"]  # type: ignore[attr-defined]
    count = option["scenario"]["accelerators"]
    assert found["status"].startswith(f"Llama 3.3 70B: {show_count(count)} × H100")
    assert option["speed"]["duration_s"]["typical"] <= 30 * 86400
    fewer: Any = plan({**question, "limits": {**question["limits"], "devices": count - 1}})
    assert not fewer["options"]
    size = estimate({"model": "llama-3.3-70b"})["model"]["parameters_total"]  # type: ignore[index]
    assert question["training_tokens"] == 20 * size
    assert "1.41 trillion tokens" in found["status"] and "Within" in found["html"]


def test_a_run_on_devices_that_are_counted_is_timed() -> None:
    """Where the line says how many, the days are not understood, and said to be."""
    found = asked("how long to train llama 3.1 8b on 8 h100 on 1b tokens in 2 days")
    assert "Not understood" in plain(found["html"]) and "2 days" in plain(found["html"])


def test_an_encoder_is_answered_without_a_device() -> None:
    """What has no cache and no capacity that is known takes what it is published in."""
    assert "(BF16)" in asked("bge-large embeddings on cpu")["status"]


def test_the_largest_model_that_trains() -> None:
    """It is that of the planner by each method, as the form of the most has it, which the answer leads to."""
    question = {"want": "limit", "of": "model", "models": "any", "workload": "training", "count": 1}
    have = {"accelerator": "rtx-3090", "accelerators": 2}
    option: Any = plan({**question, "have": have, "method": "qlora", "framework": "trl"})["options"][0]
    found = asked("largest model i can qlora on 2x 3090")
    name = catalog().model(option["scenario"]["model"]).name
    assert found["status"].startswith(f"Largest model to train on 2 × GeForce RTX 3090: {name}.")
    address = "calculators/how-far/?accelerators=2&amp;accelerator=rtx-3090&amp;of=tuned_model&amp;method=qlora"
    assert f'href="{address}"' in found["html"]


def test_the_longest_sequence_that_trains() -> None:
    """It is that of the planner, with the length that surely fits beside it where this one only may."""
    question = {"want": "limit", "of": "sequence_tokens", "workload": "training", "model": "llama-3.1-8b"}
    run = {"method": "qlora", "framework": "unsloth", "checkpointing": "full"}
    option: Any = plan({**question, **run, "have": {"accelerator": "rtx-4090"}})["options"][0]
    found = asked("unsloth llama 3.1 8b max context on a 4090")
    assert f"The longest sequence: {show_count(option['scenario']['sequence_tokens'])} tokens." in found["status"]
    sure = re.findall(r"sequences of ([\d,]+) tokens", option["why"])
    assert sure and f"sequences of {sure[0]} tokens make it sure" in plain(found["html"])


def test_a_load_says_how_many_of_a_card_it_needs() -> None:
    """Requests a second are the planner's need, on the cards that the line names."""
    asks: Any = {"want": "hardware", "model": "bge-large-en", "weights": "any", "context_tokens": 512}
    load = {"need": {"requests_per_s": 1000}, "limits": {"accelerators": ["l4-24gb"]}, "rank_by": "devices"}
    first: Any = plan({**asks, **load})["options"][0]
    assert first["replicas"] > 1
    assert f"{first['replicas']} servers with one L4 each" in asked("1000 req/s bge-large how many l4")["status"]


def test_the_slot_is_that_of_the_line() -> None:
    """Two cards in slots of eight lanes answer slower than in those of sixteen."""
    line = "dual 3090 llama 3.1 8b bf16 vllm tokens per second"
    narrow, wide = (read_line(f"{slot} {line}")["scenario"] for slot in ("pcie 3.0 x8", "pcie 4.0 x16"))
    speeds = [estimate(scenario)["speed"]["time_to_first_token_s"]["typical"] for scenario in (narrow, wide)]
    assert speeds[0] > speeds[1]


def test_a_node_has_as_many_devices_as_its_machines() -> None:
    """H100 SXM are sold eight to a machine; of two nodes there are sixteen; a card alone has no node."""
    said = [f"llama 405b fp8 on {nodes} of h100" for nodes in ("a node", "2 nodes")]
    assert [read_line(line)["scenario"]["accelerators"] for line in said] == [8, 16]
    assert [part["text"] for part in read_line("llama 8b on a node of mi50")["unread"]] == ["node"]


def test_what_serves_says_its_rent_of_an_hour_and_of_a_month() -> None:
    """Who asks for a machine by the month gets both, of all hours of a month: 730."""
    found = re.search(
        r": ([\d.]+) USD an hour, ([\d,]+) USD a month", answer_line("a 70b for 5 people, per month")["status"]
    )
    assert found
    assert float(found[2].replace(",", "")) == pytest.approx(730 * float(found[1]), rel=0.01)


def test_the_cheapest_run_is_a_plan_of_devices() -> None:
    """Where a line names none, its answer has the method, the time and the rent of a run, and not memory alone."""
    status = answer_line("cheapest fine-tune of a 32B")["status"]
    assert re.match(r"Qwen3 32B: \d+ × .+\. Q?LoRA: .+ USD of rent\. That is for 10\.0 million tokens\.", status)


def test_the_largest_that_runs_is_said_with_its_place() -> None:
    """Of a Mac of which only the memory is said the answer names the one that was taken."""
    status = answer_line("largest model on a 64 GB Mac at >= 10 tokens/s")["status"]
    assert re.match(r"The largest that runs on 1 × M\d \w+ 64GB is .+\. It writes [\d.]+ tokens/s\.", status)


def test_a_limit_in_bytes_opens_its_form() -> None:
    """A report has the limit of a device's memory in bytes, and forms ask for it with its unit."""
    form = CALCULATORS["will-it-fit"]
    scenario = {"model": "llama-3.3-70b", "weights": "q8_0", "engine": "llama.cpp", "accelerator": "m4-max-128gb"}
    report: Any = form.report(form_values(form, {**scenario, "memory_limit": 115 * 2**30 + 2**20}))
    assert report["memory"]["limit_bytes"] == pytest.approx(115 * 2**30 + 2**20, abs=1024)


@pytest.mark.parametrize(
    ("line", "published", "fewer"),
    [("how many h100 for deepseek r1", 16, "8 in AWQ"), ("how many 5090s for qwen3 235b", 16, "6 in Q5_K_M")],
)
def test_devices_are_counted_as_they_are_had(line: str, published: int, fewer: str) -> None:
    """Two machines of eight, and not eleven; with fewer of them in a format of fewer bits, where none is named."""
    assert re.match(rf"It takes {published} × .* as published, {fewer}\. ", asked(line)["status"])


def test_a_speed_says_of_what() -> None:
    """Model, format and lengths stand beside the tokens of a second: nobody can tell from these which they are."""
    assert (
        "Qwen3 30B A3B (Q4_K_M) with 2,304 tokens on one Ryzen AI Max+ 395"
        in asked("tokens per second of qwen3 30b a3b on strix halo")["status"]
    )


def test_requests_that_come_are_timed() -> None:
    """Of a device that is named: whether it keeps up, and how long they wait; and not how fast one request is."""
    assert asked("llama 3.1 8b on l40s 2 requests/s latency")["status"].startswith("2.00 requests a second of")
    assert asked("llama 3.1 8b on l40s 50 requests/s latency")["status"].startswith("It does not keep up")


def test_devices_that_do_not_hold_it_alone_are_compared_by_as_many_as_do() -> None:
    """A card against another, for a model that neither holds: as many of each as hold it, in the published format."""
    found = asked("h100 vs h200 for deepseek r1")
    assert "Both fit. " in found["status"]
    assert "16 × H100 SXM5 80GB" in found["html"] and "8 × H200 SXM 141GB" in found["html"]


@pytest.mark.parametrize(
    ("line", "weights"),
    [("ollama qwen3 14b on rx 7900 xtx", "Q4_K_M"), ("lm studio gpt-oss-20b on a 4090", "MXFP4 MoE")],
)
def test_an_engine_that_is_named_fetches_its_format(line: str, weights: str) -> None:
    """llama.cpp's -hf and Ollama's tags take Q4_K_M where nothing is said; what is published in four bits stays so."""
    assert f"({weights})" in asked(line)["status"]


def test_what_stands_at_home_is_bought() -> None:
    """And it is no device of a data centre."""
    reading: Any = read_line("cheapest way to run deepseek r1 at home")
    assert reading["question"]["limits"] == {"buy": True, "segments": ["consumer", "soc", "workstation"]}
    assert re.search(r"RTX PRO 6000 .* USD to buy", asked(reading["line"])["status"])


def test_devices_that_hold_a_run_are_counted_in_machines() -> None:
    """Nineteen hold all of a 70B's states, sharded: three machines of eight."""
    said = asked("full fine tune 70b how many h100")["status"]
    assert said.startswith("It takes 24 × H100 SXM5 80GB. ") and "24-way data parallel" in said


def test_throughput_is_that_of_a_server_that_is_kept_busy() -> None:
    """With as many requests as it takes at once, where the line says nothing of a load; nothing else where it does."""
    reading: Any = read_line("throughput of llama 3.1 8b on l4 vllm")
    count = estimate(reading["scenario"])["memory"]["sequences"]  # type: ignore[index]
    assert count > 1 and f"with {count} requests in the server" in asked(reading["line"])["status"]
    assert "sequences" not in read_line("bge-m3 on l4 throughput")["scenario"]
    assert read_line("throughput of llama 3.1 8b on l4 with 4 users vllm")["scenario"]["sequences"] == 4


def test_the_most_that_a_server_takes_is_of_the_format_that_fits() -> None:
    """As many requests as fit are one at least: eight MI355X hold DeepSeek's FP8, if not with 1,024 requests."""
    said = asked("deepseek v3.2 on 8x mi355x throughput")["status"]
    assert "DeepSeek V3.2 (FP8" in said and "You name no" not in said
    assert "8 × B200 SXM 180GB writes" in asked("deepseek r1 b200 vs mi355x throughput")["status"]


def test_requests_a_second_are_counted() -> None:
    """A line that asks how many has them in the answer's first sentence, as the table below has them."""
    found = asked("how many requests per second can llama 3.1 8b on an h100 handle")
    done = re.search(r"for each, ([\d.]+) of them done a second", found["status"])
    assert done and f"Requests answered {done[1]} /s" in re.sub(r"\s+", " ", plain(found["html"]))


def test_what_serves_is_said_with_its_format_and_speed() -> None:
    """The first row's, beside its price: neither can be told from the sizes of all formats."""
    found = asked("serve llama 3.3 70b to 20 people")
    each = re.search(r"There it runs (?:as published|in \S+), and writes ([\d.]+ tokens/s) for each\.", found["status"])
    assert each and each[1] in plain(found["html"]).partition("Each answer")[2]


def test_requests_that_come_are_said_with_their_lengths() -> None:
    """How many a server answers in a second depends on them."""
    assert "Qwen3 32B (BF16) with 2,304 tokens on" in asked("5 req/s qwen3 32b h100 latency")["status"]
    assert "sequences of 8,192 tokens." in asked("max users llama 3.3 70b 8x h100")["status"]


def test_a_name_that_is_offered_is_not_left_out() -> None:
    """Of a family's name one may choose, and a number is no name that is not known."""
    assert "left out" not in asked("h200 vs b200 for deepseek")["html"]
    assert "the name of" not in asked("macbook air 8gb llama")["status"]


def test_devices_are_not_counted_in_another_format_than_is_said() -> None:
    """llama.cpp takes sixteen devices at most, which hold no 405B in 16 bit: fewer bits have a number of their own."""
    said = asked("how many 5090s for llama 3.1 405b")["status"]
    assert said.startswith("No number of them that was tried holds it as published, 12 in Q6_K. It does not fit")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nvlink 2x3090 llama 70b", "NVLink 3 bridge is bought apart and is not counted: PCIe 4.0 x16 is."),
        ("2x 4090 nvlink llama 70b q4", "GeForce RTX 4090 has no link of its own: PCIe 4.0 x16 is counted."),
        ("8x h100 nvlink llama 405b fp8", "NVLink 4 joins them, and is counted."),
    ],
)
def test_the_link_that_is_counted_is_said(line: str, said: str) -> None:
    """No scenario has a field for it: the answer says what it takes, where a line speaks of one."""
    found = asked(line)
    assert said in found["status"] and said in plain(found["html"]) and "left out" not in found["html"]
    assert said not in asked(line.replace("nvlink", ""))["status"]


def test_what_a_board_is_sold_with_is_taken() -> None:
    """A Raspberry Pi 5 has 16 GiB at most, as nobody can add any; what a line says is what it has."""
    assert "of 16.00 GiB on a host with Raspberry Pi 5" in asked("raspberry pi 5 llama 3.2 3b")["status"]
    assert "of 8.00 GiB on a host with Raspberry Pi 5" in asked("raspberry pi 5 8gb llama 3.2 3b")["status"]
    assert read_line("raspberry pi 5 llama 3.2 3b")["taken"]["host_memory"] == 16  # type: ignore[index]


def test_what_devices_draw_is_said() -> None:
    """The boards' power, and what a month, of 365 days in twelve, costs at the catalogue's price of a kWh."""
    tariff = next(price for price in catalog().prices("electricity") if price.per == "kWh")
    watts = 2 * (catalog().accelerator("rtx-3090").quantity("power") or 0)
    said = asked("electricity cost of running 2x3090 24/7")["status"]
    assert f"2 × GeForce RTX 3090 draw {watts:,.0f} W at most" in said
    assert f"{watts * 24 * 365 / 12 / 1000:,.0f} kWh a month, {watts * 730 / 1000 * tariff.each:.3g} USD" in said
    half = asked("power draw of 2x3090, 8 hours a day")["status"]
    assert f"Busy 8 hours a day it is {watts * 8 * 365 / 12 / 1000:,.0f} kWh" in half
    assert "does not know what M4 Max" in asked("power consumption of m4 max")["status"]


def test_a_card_is_looked_for_by_its_memory() -> None:
    """The cheapest has the least price of all with as much memory; the best reads its memory fastest."""
    priced = {device.name: price.each for device, price in sold(memory=24 * 2**30)}
    cheapest, best = (asked(f"{word} gpu with 24gb vram") for word in ("cheapest", "best"))
    assert f"is {min(priced, key=priced.__getitem__)}: " in cheapest["status"] and "left out" not in cheapest["html"]
    fast = max(sold(memory=24 * 2**30), key=lambda card: card[0].quantity("bandwidth") or 0)
    assert f"is {fast[0].name}: " in best["status"] and "The fastest card with 24 GiB or more" in best["status"]


def test_a_card_without_a_price_is_no_cheapest_and_is_named() -> None:
    """Of 48 GiB no price on sale is known: what is called the cheapest is so of those with one, which is said."""
    priced = {device.id for device, _ in sold(memory=48 * 2**30)}
    status = asked("cheapest 48 GB card")["status"]
    left_out = [catalog().accelerator(name) for name in ("l40s-48gb", "w7900-48gb") if name not in priced]
    assert left_out and all(device.name in status for device in left_out) and "knows a price of" in status


def test_a_run_on_what_is_bought_says_its_price() -> None:
    """A sum for a workstation that trains is a limit of its price, and no rent."""
    reading = read_line("$15k budget workstation for lora-ing 70b models")
    assert reading["question"]["limits"]["price"] == 15_000 and reading["asks"] == "deadline"
    assert " USD to buy." in answer_line("$15k budget workstation for lora-ing 70b models")["status"]


def test_the_best_card_for_a_sum_says_in_what_respect() -> None:
    """The one that reads its memory fastest stands before the largest model that the money runs."""
    said = asked("best gpu under $3000")["status"]
    fast = max(sold(price=3000), key=lambda card: card[0].quantity("bandwidth") or 0)
    assert fast[0].name in said.partition("The largest")[0] and "The largest that so much money runs is" in said


def test_what_devices_cost_is_said() -> None:
    """Of each market the middle rent, and the newest price to buy, times the devices, with their days."""
    device = catalog().accelerator("h200-sxm-141gb")
    said = asked("8x h200 price")["status"]
    for price in rents(catalog(), device):
        assert f"{8 * price.each:.1f} USD an hour ({price.market}, {price.checked})" in said
    assert rents(catalog(), device) and "no price of H200 SXM 141GB to buy" in said
    assert "To buy: " in asked("how much is a 4090")["status"]


def test_a_processor_that_is_known_is_not_called_unknown() -> None:
    """Where the model is missing, what was understood of the host stays so."""
    said = asked("ollama llama3 on cpu i7 12700k 32gb")["status"]
    assert "Which model?" in said and "12700k" not in said


@pytest.mark.parametrize("line", ["3090 ti vs 4090 power consumption", "h100 or h200 price"])
def test_devices_are_compared_without_a_model(line: str) -> None:
    """What facts answer stands one after the other, under the name of each device."""
    found = asked(line)
    assert found["ok"] and all(name in found["status"] for name in line.upper().split()[:1])
    assert len(read_line(line)["sides"]) == 2  # type: ignore[arg-type]


def test_what_devices_draw_stands_beside_an_answer_that_is_asked_for_it() -> None:
    """A calculator does not say it; of what is priced by rent the electricity is asked, too."""
    said = asked("llama 70b 4x4090 power draw")["status"]
    assert "It fits" in said and "4 × GeForce RTX 4090 draw 1,800 W at most" in said
    assert "kWh a month" in asked("electricity cost to run llama 70b q4 on 2x3090")["status"]


@pytest.mark.parametrize(
    ("typed", "calculator"),
    [
        ('{"architectures": ["LlamaForCausalLM"], "hidden_size": 4096}', "will-it-fit"),
        ("| 30% 45C P8 25W / 350W | 18732MiB / 24576MiB | 0% |", "your-measurement"),
        ("| llama 8B Q4_K - Medium | 4.58 GiB | CUDA | 99 | pp512 | 4850.23 ± 12.30 |", "your-measurement"),
        ("prompt eval time = 500.0 ms / 100 tokens, eval time = 900.0 ms", "your-measurement"),
    ],
)
def test_what_is_pasted_is_sent_where_it_is_read(typed: str, calculator: str) -> None:
    """A config.json and what a program printed are no questions, and other pages take all of them."""
    answer = answer_line(typed)
    assert f"calculators/{calculator}/" in answer["html"] and answer["status"].startswith("This is ")


def test_a_format_that_no_side_names_is_said_first() -> None:
    """What both hold in fewer bits than is published, is not said to fit without these."""
    status = answer_line("8xh100 vs 4xb200 for deepseek r1")["status"]
    assert status.startswith("Both fit in AWQ. ")
    assert answer_line("8xh100 vs 4xb200 for llama 8b bf16")["status"].startswith("Both fit. ")


def test_what_runs_and_is_slow_has_a_quicker_one_beside_it() -> None:
    """Half of a model in a laptop's memory runs and is of no use: the largest that is quick enough is said."""
    slow, quick = (asked(f"{line} what can I run")["status"] for line in ("4060 laptop 8gb and 32gb ram", "5090"))
    assert "as fast as one reads" in slow and "as fast as one reads" not in quick
