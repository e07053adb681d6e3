"""How fast for a server: requests kept at a number, or that come on their own. Inputs, scenario, and the answer."""

from typing import Any

from calc.calculators.certainty import fitting, starting, unless_sure
from calc.calculators.engines import engine_of, standing
from calc.calculators.inputs import Amount, Report, whole, whole_if
from calc.calculators.rendering import Verdict
from calc.estimate import estimate
from calc.performance.paces import tokens_per_s_each
from calc.performance.schedules import ENTRY
from calc.scenario.reader import MOST_PRICE
from calc.units import show_count, show_number, show_seconds, show_tokens_per_s

TOPIC = "Arrivals"
INPUTS = (
    Amount(
        "concurrency",
        "Requests in the server",
        "Each that is done is followed by another. Empty: the sequences above, all at once.",
        "",
        least=1,
        most=1_000_000,
        topic=TOPIC,
    ),
    Amount(
        "requests_per_s",
        "Requests a second",
        "When they come on their own, in place of so many in the server.",
        "",
        least=0,
        most=MOST_PRICE,
        topic=TOPIC,
    ),
    Amount(
        "burstiness",
        "Evenness",
        "1: each comes when it likes (Poisson). Less: in bursts. More: evenly.",
        "1",
        least=0.01,
        most=1000,
        topic=TOPIC,
    ),
    Amount(
        "longest_share",
        "Long over middle",
        "Nineteen of twenty prompts and answers are at most so many times the middle one. 1: all alike.",
        "1",
        least=1,
        most=100,
        topic=TOPIC,
    ),
    Amount("ttft_s", "First token within", "Seconds that you promise.", "", least=0, most=100_000, topic=TOPIC),
    Amount(
        "tpot_s", "Each next within", "Seconds that you promise, as a mean.", "", least=0, most=100_000, topic=TOPIC
    ),
)
FIELDS = {field.name for field in INPUTS}


def scenario(values: dict[str, object]) -> dict[str, object]:
    """Return the scenario of what a form holds: of sequences at once, unless it says how many requests there are."""
    plain = {name: value for name, value in values.items() if name not in FIELDS}
    if kept := values.get("concurrency"):
        del plain["sequences"]
        plain["concurrency"] = whole_if(kept)
    rate = values.get("requests_per_s")
    if not rate:
        return plain
    plain.pop("sequences", None)
    arrivals: dict[str, object] = {"requests_per_s": rate, "burstiness": values.get("burstiness", 1.0)}
    longest = values.get("longest_share", 1.0)
    assert isinstance(longest, float)
    if longest > 1:
        middles = {name: whole(plain, name) for name in ("prompt_tokens", "output_tokens")}
        arrivals["lengths"] = {
            name: {"median": middle, "p95": round(middle * longest)} for name, middle in middles.items()
        }
    promised = {name: values[name] for name in ("ttft_s", "tpot_s") if values.get(name)}
    if promised:
        arrivals["objective"] = promised
    return {**plain, "arrivals": arrivals}


def serves(report: Report) -> bool:
    """Return whether a report is on a server that always has so many requests."""
    return "concurrency" in report["scenario"]


def steady(report: Report) -> Verdict:
    """Return how fast a server writes that always has so many requests, in a headline and a sentence."""
    speed, count = report["speed"], report["scenario"]["concurrency"]
    rate, each = speed["decode_tokens_per_s"]["typical"], tokens_per_s_each(speed["time_per_output_token_s"])["typical"]
    first, late = (show_seconds(speed[f"time_to_first_token_{share}_s"]["typical"]) for share in ("p50", "p95"))
    requests = "one request" if count == 1 else f"{show_count(count)} requests"
    done = f"{show_number(speed['requests_per_s'])} of them done a second"
    rest = f"with {requests} in the server, {show_tokens_per_s(each)} for each, {done}; half of the first tokens come "
    rest = f"{rest}within {first}, nineteen of twenty within {late}: {standing(report)}.{unless_fewer(report)}"
    return starting(report), f"{show_tokens_per_s(rate)},", rest


def through_server(report: Report) -> str:
    """Return how fast a server writes the one sequence of a report, as a sentence after another.

    Empty where that is as fast: where no host chooses each token while the device waits.
    """
    scenario, engine = report["scenario"], engine_of(report)
    alone = scenario.get("sequences") == 1 and report["memory"]["sequences"] == 1
    if engine is None or ENTRY not in engine.values or not alone:
        return ""
    asked = {name: value for name, value in scenario.items() if name != "sequences"}
    found: Any = estimate(asked | {"concurrency": 1}, repairs=False)
    rate = show_tokens_per_s(tokens_per_s_each(found["speed"]["time_per_output_token_s"])["typical"])
    return f" Through its server, which chooses and sends each token, people see {rate}."


def unless_fewer(report: Report) -> str:
    """Return how many servers have room for fewer requests at once where it is tight, as a sentence after another.

    A server starts with room for one, and the others wait: that they are too many stops nothing.
    """
    memory = report["memory"]
    if memory["sequences"] == 1 or fitting(memory) != "tight":
        return unless_sure(report)
    fewer = show_number(100 * (1 - memory["chance"]), 2)
    return (
        f" That {show_count(memory['sequences'])} run at once is not certain: in {fewer} % of such servers some wait."
    )


def arrives(report: Report) -> bool:
    """Return whether a report is on requests that come on their own."""
    return "arrivals" in report["scenario"]


def keeps_up(report: Report) -> bool:
    """Return whether the server answers what comes."""
    rate: float = report["scenario"]["arrivals"]["requests_per_s"]
    most: float = report["speed"]["most_requests_per_s"]["typical"]
    return rate < most


def headline(report: Report) -> Verdict:
    """Return whether the server keeps up, in a headline and a sentence."""
    speed, rate = report["speed"], report["scenario"]["arrivals"]["requests_per_s"]
    most = f"{show_number(speed['most_requests_per_s']['typical'])} a second"
    if not keeps_up(report):
        rest = f"{show_number(rate)} requests a second come, it answers {most} at most, and the queue never ends"
        return False, "It does not keep up:", f"{rest}: {standing(report)}."
    half, late = (show_seconds(speed[f"time_to_first_token_{share}_s"]["typical"]) for share in ("p50", "p95"))
    kept = ""
    if "within_objective" in speed:
        kept = f" {show_number(100 * speed['within_objective']['typical'])} % keep what you promise."
    rest = f"half of the first tokens come within {half}, nineteen of twenty within {late}: {standing(report)}.{kept}"
    rest += unless_sure(report)
    return starting(report), f"{show_number(rate)} requests a second of {most} at most:", rest


def figures(report: Report) -> list[tuple[str, str, Report]]:
    """Return the rows of the table of speeds: a name, the kind of number, and its range."""
    speed = report["speed"]
    rows = [
        (f"{name}, {words}", "s", speed[f"{figure}_{share}_s"])
        for name, figure in (
            ("Time to the first token", "time_to_first_token"),
            ("Time per output token", "time_per_output_token"),
            ("Time to the last token", "request"),
        )
        for words, share in (("half within", "p50"), ("95 % within", "p95"), ("99 % within", "p99"))
        if f"{figure}_{share}_s" in speed
    ]
    if serves(report):
        rate = speed["requests_per_s"]
        written = [
            ("Tokens read (prefill)", "rate", speed["prefill_tokens_per_s"]),
            ("Tokens written (decode), all requests", "rate", speed["decode_tokens_per_s"]),
        ]
        return [*written, *rows, ("Requests answered", "rate", {"low": rate, "typical": rate, "high": rate})]
    if "within_objective" in speed:
        rows.append(("Share within what is promised", "share", speed["within_objective"]))
        rows.append(("Requests within it (goodput)", "rate", speed["goodput_requests_per_s"]))
    rows.append(("Requests at the knee", "rate", speed["knee_requests_per_s"]))
    rows.append(("Requests at the most", "rate", speed["most_requests_per_s"]))
    rows.append(("Tokens written over the whole time", "rate", speed["output_tokens_per_s"]))
    return rows


def facts(report: Report) -> list[str]:
    """Return what the server holds meanwhile."""
    speed = report["speed"]
    found = [f"Sequences being written, as a mean: <strong>{show_number(speed['running_sequences'])}</strong>"]
    if speed.get("preempted"):
        found.append(
            f"Requests that lost their cache to others and were read again: <strong>{speed['preempted']}</strong>"
        )
    return found


STEADY = ["The server is never short of requests: each that is done is followed by another of the same lengths."]
ARRIVING = [
    "Requests come at random, at each replica in turn; two thousand of them are followed, the same ones each time.",
    "First come, first served. Where the cache is full, the last to come wait and are read again.",
]
