"""What `vllm bench serve`, its older script and SGLang's `bench_serving` print of a server under load."""

import re

from calc.catalog import Catalog
from calc.errors import ScenarioError
from calc.measured_output.names import model_fields
from calc.measured_run.terms import Reading
from calc.service.traffic import MOST_REQUESTS

WHAT = "a serving benchmark"
TITLE = re.compile(r"=+ Serving Benchmark Result =+")
LINE = re.compile(r"^[>\s]*([A-Z][^:\n]{2,60}):[ \t]+([\w.-]+(?: set)?)[ \t]*$", re.MULTILINE)
MODEL = re.compile(r"--model(?:-path)?[ =]+['\"]?([^\s'\"\\]+)|\bmodel='([^']+)'|_MODEL=([\w./-]+)")
RANKS = re.compile(r"(?:--tensor-parallel-size|--tp-size|--tp|-tp|\bTP)[ =]+(\d+)")
LIMIT = re.compile(r"(?:Maximum|Max) req\w+ concurrency:\s+(\d+)|--max-concurrency[ =]+(\d+)|max_concurrency=(\d+)")
INTERVAL = re.compile(r"request rate:\s+([\d.]+)|--request-rate[ =]+([\d.]+)|request_rate=([\d.]+)")
BACKENDS = {"vllm": "vllm", "openai": "vllm", "sglang": "sglang"}


def read(text: str, catalog: Catalog) -> Reading | None:
    """Return what a serving benchmark says, None where the text is none. Of several the last is taken."""
    places = [found.start() for found in TITLE.finditer(text)]
    if not places:
        return None
    said = {name.strip(): value for name, value in LINE.findall(text[places[-1] :])}
    requests = number(said, "Successful requests")
    if not requests:
        return None
    read_tokens, written = number(said, "Total input tokens"), number(said, "Total generated tokens")
    fields: dict[str, object] = {
        "engine": engine_of(text, said),
        "prompt_tokens": max(round(read_tokens / requests), 1),
        "output_tokens": max(round(written / requests), 1),
    }
    notes = [f"The text has {len(places)} results: the last is taken"] if len(places) > 1 else []
    if name := MODEL.search(text):
        known, unknown = model_fields(name[1] or name[2] or name[3], catalog)
        fields |= known
        notes += unknown
    if ranks := RANKS.search(text):
        fields |= {"accelerators": int(ranks[1]), **({"division": "tensor"} if int(ranks[1]) > 1 else {})}
    terms = {
        "output_tokens_per_s": number(said, "Output token throughput (tok/s)"),
        "time_to_first_token_s": number(said, "Mean TTFT (ms)") / 1000,
        "time_per_output_token_s": (number(said, "Mean TPOT (ms)") or number(said, "Mean ITL (ms)")) / 1000,
    }
    limit, rate = last(LIMIT, text), last(INTERVAL, text)
    if limit:
        fields["concurrency"] = min(int(limit), round(requests))
    elif rate:
        fields["requests_per_s"] = float(rate)
    if requests <= MOST_REQUESTS:
        fields["requests"] = round(requests)
    elif not limit and not rate:
        raise ScenarioError("text", f"has more than {MOST_REQUESTS:,} requests at once, which are not gone through")
    return Reading(WHAT, fields, {name: value for name, value in terms.items() if value}, tuple(notes))


def engine_of(text: str, said: dict[str, str]) -> str:
    """Return the engine that was asked; a server that speaks OpenAI's protocol is taken for vLLM unless it is named."""
    backend = said.get("Backend", "").partition("-")[0]
    if "sglang.bench_serving" in text and not backend:
        backend = "sglang"
    return BACKENDS.get(backend, "vllm")


def number(said: dict[str, str], name: str) -> float:
    """Return a number by the name of its line, 0 where it is not there."""
    try:
        return float(said.get(name, "0"))
    except ValueError:
        return 0.0


def last(pattern: re.Pattern[str], text: str) -> str:
    """Return the last match of a pattern whose groups are ways to write it; empty where there is none."""
    found = pattern.findall(text)
    return next(filter(None, found[-1]), "") if found else ""
