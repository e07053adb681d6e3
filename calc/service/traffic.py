"""Reading how requests come to a server: a scenario's `arrivals`, every field checked, every default filled in."""

from collections.abc import Mapping
from math import inf, isfinite, log

from calc.catalog.records import Engine
from calc.errors import ScenarioError, check_names
from calc.performance.arrivals import P95, Arrivals, Kind, Objective, Spread, Traffic
from calc.scenario.reader import Reader, read_object, whole

FIELDS = ("requests_per_s", "requests", "concurrency", "burstiness", "lengths", "objective")
OBJECTIVES = ("ttft_s", "tpot_s", "request_s")
LENGTHS = ("prompt_tokens", "output_tokens")
MOST_PER_S, MOST_SECONDS, MOST_KINDS, MOST_LENGTH, MOST_REQUESTS = 1e6, 1e6, 100, 10_000_000, 10_000
LEAST_BURSTINESS, MOST_BURSTINESS = 0.01, 1000.0
INSTEAD = (
    "sequences",
    "concurrency",
    "gpu_layers",
    "experts_on_host",
)  # what arrivals stand in place of, or do not work with


def read_traffic(
    reader: Reader, engine: Engine | None, *, prompt_tokens: int, output_tokens: int, writes: bool
) -> Traffic | None:
    """Return how requests come, None where a scenario asks for sequences held at once. Lengths left out are its own."""
    value = reader.given.get("arrivals")
    if value is None:
        return None
    if engine is None:
        raise ScenarioError("arrivals", "does not apply: no engine is asked for that would serve requests")
    if not writes:
        raise ScenarioError("arrivals", "does not apply: the model writes no text")
    for name in INSTEAD:
        if name in reader.given:
            raise ScenarioError("arrivals", f"does not go together with {name}: give one of the two")
    fields = read_object(value, "arrivals", FIELDS)
    said, arrivals = read_pace(fields)
    own = Spread(prompt_tokens), Spread(max(output_tokens, 1))
    kinds = read_lengths(fields.get("lengths"), own)
    promised = read_object(fields.get("objective") or {}, "arrivals.objective", OBJECTIVES)
    limits = [
        number(promised[name], f"arrivals.objective.{name}", most=MOST_SECONDS) if name in promised else None
        for name in OBJECTIVES
    ]
    reader.filled["arrivals"] = {**fields, **said}
    return Traffic(arrivals._replace(kinds=kinds), Objective(*limits))


def read_pace(value: Mapping[str, object]) -> tuple[dict[str, object], Arrivals]:
    """Return when requests come, as it is filled in and as it is meant: at a rate, or so many in all, or both."""
    count = whole(value["requests"], "arrivals.requests", 1, MOST_REQUESTS) if "requests" in value else 0
    said: dict[str, object] = {"requests": count} if count else {}
    if "concurrency" in value:
        kept, arrivals = read_kept(value, count)
        return said | {"concurrency": kept}, arrivals
    if count and "requests_per_s" not in value:
        if "burstiness" in value:
            raise ScenarioError("arrivals.burstiness", "does not go together with requests, which all come at once")
        return said, Arrivals(inf, 1.0, (), count)
    if "requests_per_s" not in value:
        raise ScenarioError(
            "arrivals.requests_per_s",
            "is missing: how many requests come a second, as a mean? Or requests, all at once",
        )
    rate = number(value["requests_per_s"], "arrivals.requests_per_s", most=MOST_PER_S)
    burstiness = number(
        value.get("burstiness", 1.0), "arrivals.burstiness", most=MOST_BURSTINESS, least=LEAST_BURSTINESS
    )
    return said | {"requests_per_s": rate, "burstiness": burstiness}, Arrivals(rate, burstiness, (), count)


def read_kept(value: Mapping[str, object], count: int) -> tuple[int, Arrivals]:
    """Return how many of some requests a client keeps in the server, and how they come."""
    if not count:
        raise ScenarioError(
            "arrivals.concurrency", "does not apply: it needs requests, of which so many are kept in the server"
        )
    for name in ("requests_per_s", "burstiness"):
        if name in value:
            raise ScenarioError(f"arrivals.{name}", "does not go together with concurrency: they come as others end")
    kept = whole(value["concurrency"], "arrivals.concurrency", 1, MOST_REQUESTS)
    return kept, Arrivals(inf, burstiness=1.0, kinds=(), requests=count, at_a_time=kept)


def number(value: object, field: str, *, most: float, least: float = 0.0) -> float:
    """Return a number above `least`, or `least` itself where that is not 0, up to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value > most:
        raise ScenarioError(field, f"must be a number up to {most:,g}, not {value!r:.60}")
    if value < least or not value > 0:
        raise ScenarioError(field, f"must be {f'at least {least:g}' if least else 'above 0'}, not {value!r:.60}")
    return float(value)


def read_lengths(value: object, own: tuple[Spread, Spread]) -> tuple[Kind, ...]:
    """Return the kinds of requests by their lengths: one, or those of a list with their shares."""
    field = "arrivals.lengths"
    if value is None:
        return (Kind(1.0, *own),)
    if isinstance(value, Mapping):
        check_names(value, LENGTHS, f"{field}.")
        return (Kind(1.0, *read_pair(value, field, own)),)
    if not isinstance(value, list) or not 0 < len(value) <= MOST_KINDS:
        forms = "an object with prompt_tokens and output_tokens, or a list of at most 100 such objects with share"
        raise ScenarioError(field, f"must be {forms}, not {value!r:.60}")
    found = []
    for place, item in enumerate(value):
        where = f"{field}.{place}"
        kind = read_object(item, where, (*LENGTHS, "share"))
        share = number(kind.get("share", 1.0), f"{where}.share", most=1e6)
        found.append(Kind(share, *read_pair(kind, where, own)))
    together = sum(kind.share for kind in found)
    return tuple(kind._replace(share=kind.share / together) for kind in found)


def read_pair(value: Mapping[str, object], field: str, own: tuple[Spread, Spread]) -> tuple[Spread, Spread]:
    """Return the spreads of prompts and answers."""
    prompt, output = (
        read_spread(value[name], f"{field}.{name}") if name in value else spread
        for name, spread in zip(LENGTHS, own, strict=True)
    )
    return prompt, output


def read_spread(value: object, field: str) -> Spread:
    """Return one length, the lognormal spread of a median and of what 95 % stay below, or even ones between two."""
    if not isinstance(value, Mapping):
        return Spread(float(whole(value, field, 1, MOST_LENGTH)))
    check_names(value, ("median", "p95", "least", "most"), f"{field}.")
    if set(value) == {"least", "most"}:
        least = whole(value["least"], f"{field}.least", 1, MOST_LENGTH)
        most = whole(value["most"], f"{field}.most", least, MOST_LENGTH)
        return Spread((least + most) / 2, width=float(most - least))
    if set(value) != {"median", "p95"}:
        forms = '{"median": tokens, "p95": tokens} or {"least": tokens, "most": tokens}'
        raise ScenarioError(field, f"must be tokens, {forms}")
    median = whole(value["median"], f"{field}.median", 1, MOST_LENGTH)
    most = whole(value["p95"], f"{field}.p95", median, MOST_LENGTH)
    return Spread(float(median), log(most / median) / P95)
