"""The planner's forms: what they ask, and that what they list is what `estimate` answers."""

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from calc import estimate
from calc import plan as plan_answer
from calc.calculators import CALCULATORS, answer, steps
from calc.calculators.html import in_words
from calc.calculators.options import devices, with_sizes
from calc.calculators.planned import rows_of
from calc.calculators.scatter import Point, axis, scatter_html
from calc.catalog import catalog
from calc.planning.chance import SURE
from calc.units import show_gib

PLANS = ("what-runs", "what-hardware", "what-budget", "plan-service", "how-far")


def test_what_likely_does_for_less_stands_beside_what_surely_does() -> None:
    """Both are named with what they cost, and how likely the cheaper one fits; it is a row of the table, too."""
    plan = CALCULATORS["what-hardware"]
    report = plan.report({"model": "llama-3.3-70b", "pay": "buy"})
    first, likely = report["plan"]["options"][0], report["plan"]["likely"]
    assert likely["cost"]["purchase"] < first["cost"]["purchase"]
    assert 0.5 <= likely["chance"] < SURE <= first["chance"]
    assert estimate(likely["scenario"])["memory"]["chance"] == pytest.approx(likely["chance"], abs=1e-4)
    said = plan.status(report)
    assert f"{likely['cost']['purchase']:.0f} USD to buy: it fits with a chance of" in said
    assert f">{devices(likely['scenario'])}</a>" in unescape(plan.render(report))
    by_speed = plan_answer({"want": "hardware", "model": "llama-3.3-70b", "rank_by": "speed"})
    assert by_speed["likely"] is None


@pytest.mark.parametrize("name", PLANS)
def test_a_row_leads_to_its_own_case(name: str) -> None:
    """The first row's link fills a form that answers with the room that the row shows."""
    plan = CALCULATORS[name]
    report = plan.report({})
    option = report["plan"]["options"][0]
    (href,) = re.findall(r'<tbody><tr><th[^>]*><a href="([^"]+)"', plan.render(report))
    address = urlsplit(unescape(href))
    found = CALCULATORS[address.path.strip("/").rpartition("/")[2]].report(dict(parse_qsl(address.query)))
    assert found["scenario"]["model"] == option["scenario"]["model"]
    assert found["scenario"]["accelerator"] == option["scenario"]["accelerator"]
    assert show_gib(option["margin_bytes"]) in plan.render(report)
    if option["load"]:
        comes = found["scenario"]["arrivals"]["requests_per_s"]
        assert comes == pytest.approx(option["load"]["requests_per_s"], rel=1e-4)
        return
    assert found["memory"] == estimate(option["scenario"])["memory"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("what-hardware", "Fewest devices, .* no rent of it is known"),
        ("plan-service", "No rent of it is known"),
        ("plan-fine-tune", "no rent of it is known"),
        ("what-budget", "USD to buy"),
    ],
)
def test_what_nobody_rents_out_or_measured_is_said(name: str, said: str) -> None:
    """Of computers with memory of their own no rent is known, and of some no power: the answer says so, and no dash."""
    plan = CALCULATORS[name]
    asked = {"segment": "soc", "vendor": "Apple", "model": "gpt-oss-20b"}
    report = plan.report({field.name: asked[field.name] for field in plan.inputs if field.name in asked})
    assert re.search(said, plan.status(report)) and " – " not in plan.status(report)
    assert plan.render(report)


def test_the_most_requests_lead_to_how_fast() -> None:
    """As many requests as a server answers in time fill in *How fast?*, whose answer has the option's speed."""
    plan = CALCULATORS["how-far"]
    report = plan.report({"of": "users", "accelerator": "h100-sxm-80gb"})
    (href,) = re.findall(r'<tbody><tr><th[^>]*><a href="([^"]+)"', plan.render(report))
    address = urlsplit(unescape(href))
    assert address.path.endswith("/speed/")
    found = CALCULATORS["speed"].report(dict(parse_qsl(address.query)))
    option = report["plan"]["options"][0]
    assert found["scenario"]["concurrency"] == option["scenario"]["concurrency"]
    assert found["speed"] == option["speed"]


def test_two_rtx_3090_run_a_70b() -> None:
    """Llama 3.3 70B in 4 bit is among what runs on them, as issue trackers have it many times over."""
    plan = CALCULATORS["what-runs"]
    fields = {"accelerator": "rtx-3090", "accelerators": "2", "why_not": "llama-3.3-70b"}
    report = plan.report(fields)
    assert plan.status(report).startswith("Llama 3.3 70B runs on 2 × GeForce RTX 3090 in Q4_K_M:")


def test_what_runs_is_said_as_far_as_it_was_looked_for() -> None:
    """More models may run than are shown, a format reads as one speaks, and what nobody waits for is said."""
    plan = CALCULATORS["what-runs"]
    some, every = ({"accelerator": "gtx-1050-ti", "count": count} for count in ("3", "100"))
    assert plan.status(plan.report(some)).startswith("At least 3 models run on 1 × GeForce GTX 1050 Ti, the largest")
    assert re.match(r"\d\d models run on", plan.status(plan.report(every)))
    whole = plan.status(plan.report({"why_not": "llama-3.1-8b"}))
    assert whole.startswith("Llama 3.1 8B runs on 1 × GeForce RTX 4090 as published:")
    slow = plan.status(plan.report({"accelerator": "rtx-3060-12gb", "host_memory": "64", "count": "1"}))
    assert slow.endswith("slower than people read: At least so fast asks for more.")


def test_why_a_model_does_not_run_is_said() -> None:
    """The weights of a 405B alone are more than a 24 GB card has."""
    plan = CALCULATORS["what-runs"]
    report = plan.report({"why_not": "llama-3.1-405b"})
    assert plan.status(report) == (
        "Llama 3.1 405B does not run on 1 × GeForce RTX 4090. What is in the way stands below."
    )
    assert "It does not fit: " in plan.render(report) and "the weights alone need" in plan.render(report)


def test_what_is_lacking_is_read_in_either_unit() -> None:
    """Sizes of a miss are elements with the other unit, also where the same size stands twice."""
    said = with_sizes("needs 2.00 GiB of 2.00 GiB", [2**31, 2**31])
    assert in_words(said, "GB") == "needs 2.15 GB of 2.15 GB" and in_words(said, "GiB") == "needs 2.00 GiB of 2.00 GiB"
    html = CALCULATORS["what-runs"].render(CALCULATORS["what-runs"].report({"why_not": "llama-3.1-405b"}))
    assert re.search(r"the weights alone need <data[^>]* data-or=.[\d.]+ GB.>[\d.]+ GiB</data> of <data", html)


def test_why_a_device_is_not_in_the_list() -> None:
    """Llama 3.3 70B in 4 bit: two RTX 5090 would do; one alone lacks memory, and that is what is in its way."""
    plan = CALCULATORS["what-hardware"]
    report = plan.report({"why_not": "rtx-5090", "weights": "q4_k_m"})
    assert re.search(
        r"GeForce RTX 5090: 2 × GeForce RTX 5090 would do\. rent of a month: ", in_words(plan.render(report))
    )
    alone = plan.report({"why_not": "rtx-5090", "weights": "q4_k_m", "devices": "1"})
    said = r"GeForce RTX 5090: It does not fit: 1\. The nearest is .*RTX 5090.* lacks? "
    assert re.search(said, in_words(plan.render(alone)))


@pytest.mark.parametrize("name", ["plan-service", "plan-fine-tune"])
def test_each_list_says_why_not(name: str) -> None:
    """A small card serves no hundred people a 70B and trains no 32B in full, and the page says why."""
    plan = CALCULATORS[name]
    typed = {"why_not": "rtx-3050-8gb"} | ({"method": "full"} if name == "plan-fine-tune" else {})
    assert re.search(r"GeForce RTX 3050[^:]*: It does not fit: \d", in_words(plan.render(plan.report(typed))))


def test_a_fine_tune_has_a_framework() -> None:
    """TRL's memory is known within a tenth: a 24B is surely tuned with QLoRA on 32 GB, which is not sure of any way."""
    typed = {"model": "mistral-small-24b", "method": "qlora", "devices": "1"}
    plan = CALCULATORS["plan-fine-tune"]
    report: Any = plan.report(typed)
    assert report["question"]["framework"] == "trl"
    asked = {**report["question"], "limits": {"accelerators": ["rtx-5090"], "devices": 1}}
    found: list[Any] = [plan_answer({**asked, "framework": framework}) for framework in ("trl", None)]
    assert [answer["options"][0]["chance"] >= 0.95 for answer in found] == [True, False]


def test_what_is_bought_is_named_with_its_price() -> None:
    """Who buys is told what it costs to buy, and not what an hour of it does."""
    report = CALCULATORS["what-hardware"].report({"pay": "buy"})
    price = report["plan"]["options"][0]["cost"]["purchase"]
    assert f"{price:,.0f} USD to buy." in CALCULATORS["what-hardware"].status(report)
    used = [option["cost"]["prices"]["purchase"]["kind"] == "used" for option in rows_of(report["plan"])]
    assert CALCULATORS["what-hardware"].render(report).count("<small>second hand</small>") == sum(used) > 0


def test_a_service_grows_with_its_people() -> None:
    """Ten times as many people never take fewer devices, and cost no less."""
    plan = CALCULATORS["plan-service"]
    few, many = (plan.report({"users": users})["plan"]["options"][0] for users in ("100", "1000"))
    assert many["cost"]["rent_per_month"] > few["cost"]["rent_per_month"]


def test_the_largest_is_asked_without_a_model() -> None:
    """Of 64 GB of a Mac three quarters are a program's: of models in 4 bit one of 57 billion parameters surely fits."""
    report = CALCULATORS["how-far"].report({"of": "model", "accelerator": "m4-max-64gb", "tokens_per_s_each": "10"})
    assert 50e9 < report["model"]["parameters_total"] < 75e9
    assert 1 / report["plan"]["options"][0]["speed"]["time_per_output_token_s"]["typical"] >= 10


@pytest.mark.parametrize("of", ["tuned_model", "sequence_tokens", "training_tokens"])
def test_how_far_a_card_trains(of: str) -> None:
    """Each row leads to the memory of its run; what serving alone has is not asked, and the tokens are of a week."""
    plan = CALCULATORS["how-far"]
    fields = {"of": of, "model": "llama-3.2-1b", "accelerator": "rtx-3090"}
    report = plan.report({**fields, "weights": "q4_k_m", "tokens_per_s_each": "900"})
    options = report["plan"]["options"]
    hrefs = re.findall(r'<th[^>]*><a href="([^"]+)"', plan.render(report))
    assert len(hrefs) == len(options) == (1 if of == "training_tokens" else 3)
    for href, option in zip(hrefs, options, strict=True):
        address = urlsplit(unescape(href))
        found = CALCULATORS[address.path.strip("/").rpartition("/")[2]].report(dict(parse_qsl(address.query)))
        assert found["memory"]["device_bytes"] == estimate(option["scenario"])["memory"]["device_bytes"]
    if of == "training_tokens":
        rate = options[0]["speed"]["tokens_per_s_per_device"]["typical"]
        assert options[0]["scenario"]["training_tokens"] == pytest.approx(rate * 7 * 86400, rel=1e-6)


def test_what_does_not_train_is_named_by_its_method() -> None:
    """A 70B by QLoRA lacks what its four bits lack: it is not named as it is published."""
    plan = CALCULATORS["how-far"]
    report = plan.report({"of": "sequence_tokens", "model": "llama-3.3-70b", "method": "qlora"})
    assert report["plan"]["options"] == [] and "Llama 3.3 70B (QLoRA) on 1 × GeForce RTX 4090" in plan.render(report)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("how-far", {"model": "llama-3.2-1b", "accelerator": "rtx-3060-12gb"}),
        ("how-far", {"of": "sequence_tokens", "model": "llama-3.2-1b", "accelerator": "rtx-3060-12gb"}),
        ("what-runs", {"accelerator": "m4-max-64gb"}),
        ("what-hardware", {"model": "qwen3-32b", "weights": "fp8", "context_tokens": "32768"}),
        ("plan-fine-tune", {"model": "llama-3.2-1b", "segment": "soc"}),
    ],
)
def test_a_plan_is_as_sure_as_its_first_option(name: str, fields: dict[str, str]) -> None:
    """The verdict is tight where the first option's chance of fitting is, and then says what makes it sure."""
    plan = CALCULATORS[name]
    report = plan.report(fields)
    html, status = plan.render(report), plan.status(report)
    (verdict,) = re.findall(r'class="calc-verdict" data-fits="(\w+)"', html)
    sure = [option["chance"] >= SURE for option in report["plan"]["options"][:1]]
    assert verdict == ("no" if not sure else "yes" if sure[0] else "tight")
    assert ("make it sure" in status) is (verdict == "tight")


def test_a_plan_of_what_is_not_wholly_counted_is_tight() -> None:
    """The first option has room for it, and the verdict says why it has no tick."""
    plan = CALCULATORS["plan-fine-tune"]
    report = plan.report({"model": "gemma-3-4b", "method": "qlora"})
    option = report["plan"]["options"][0]
    assert option["chance"] >= SURE and not option["counted"]
    assert 'data-fits="tight"' in plan.render(report)
    assert "That it fits is not certain: not all of its memory is counted." in plan.status(report)


def test_nothing_runs_is_said_once() -> None:
    """No model is so fast on this card: the verdict denies it once."""
    runs = CALCULATORS["what-runs"]
    report = runs.report({"accelerator": "rtx-3060-12gb", "tokens_per_s_each": "5000"})
    assert runs.status(report).startswith("Nothing runs so on 1 × GeForce RTX 3060 12GB.")


def test_points_stand_where_their_figures_are() -> None:
    """On logarithmic axes ten lies half way between one and a hundred; ticks are ones, twos and fives."""
    across = axis([1.0, 100.0], 0, 100)
    assert across.at(10) == 50
    assert axis([1.0, 10.0], 0, 100).ticks() == [1, 2, 5, 10]
    points = [
        Point(cost=1, speed=10, name="A", address="a/", best=True),
        Point(cost=10, speed=100, name="<B>", address="b/", best=True),
        Point(cost=10, speed=10, name="C", address="c/", best=False),
    ]
    html = scatter_html(points, "Cost")
    assert html.count("<circle") == 3 and html.count('class="scatter-best"') == 2
    assert "&lt;B&gt;" in html and "<B>" not in html


@pytest.mark.parametrize("name", [name for name in CALCULATORS if CALCULATORS[name].steps])
def test_steps_come_to_the_same_answer(name: str) -> None:
    """What takes long says how far it is; others are answered in between, and the end is the answer at once."""
    request = json.dumps({"calculator": name, "fields": {}})
    told = [json.loads(reply) for reply in beside(steps(request), steps(request))]
    assert told[-1] == json.loads(answer(request))
    assert all(set(reply) == {"told"} and reply["told"].endswith(" ways looked at.") for reply in told[:-1])


def test_a_line_is_answered_in_steps() -> None:
    """A plan that a line asks for says how far it is, and ends as at once; what no plan is needed for has no steps."""
    for line, planned in (("what runs on 2x3090", True), ("llama 3.1 8b on a 4090", False)):
        request = json.dumps({"line": line})
        told = [json.loads(reply) for reply in steps(request)]
        assert told[-1] == json.loads(answer(request))
        assert (len(told) > 1) is planned
        assert all(set(reply) == {"told"} for reply in told[:-1])


def beside(one: Iterator[str], other: Iterator[str]) -> Iterator[str]:
    """Iterate over the steps of one, with a step of the other after each, which is let go of at the end."""
    for reply in one:
        next(other, None)
        yield reply


def test_what_is_wrong_ends_the_steps() -> None:
    """A refused form has its problem at its field, as at once."""
    request = json.dumps({"calculator": "what-runs", "fields": {"accelerators": "none"}})
    assert [json.loads(reply) for reply in steps(request)] == [json.loads(answer(request))]
    assert json.loads(answer(request))["errors"][0]["field"] == "accelerators"


@pytest.mark.parametrize(
    ("count", "replicas", "words"),
    [
        (1, 1, "1 × L40S 48GB"),
        (8, 1, "8 × L40S 48GB"),
        (1, 2, "2 servers with one L40S 48GB each"),
        (8, 1200, "1,200 servers of 8 × L40S 48GB"),
    ],
)
def test_devices_are_said_as_people_count_them(count: int, replicas: int, words: str) -> None:
    """Several servers of one device each are no "2 servers of 1 ×"."""
    scenario = {"accelerator": "l40s-48gb", "accelerators": count}
    name = catalog().accelerator("l40s-48gb").name
    assert devices(scenario, replicas) == words.replace("L40S 48GB", name)


@pytest.mark.parametrize(
    ("least", "most", "shown"),
    [
        (8, 600, [10, 20, 50, 100, 200, 500]),
        (14, 36, [15, 20, 25, 30, 40]),
        (540, 1150, [500, 600, 700, 800, 900, 1000]),
    ],
)
def test_an_axis_has_numbers_enough(least: float, most: float, shown: list[float]) -> None:
    """Ones, twos and fives; where fewer than three of them lie on it, others between."""
    assert axis([least, most], 0, 100).ticks() == pytest.approx(shown)
