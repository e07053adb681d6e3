"""The factors by which a device under an engine is corrected, so that what is computed is what was measured."""

from collections.abc import Mapping

from calc.measured_run.comparison import Figure, Run
from calc.scenario.fields import SHARING_ENGINES
from calc.service.correction import LEAST, MOST

ROUNDS = 24
CLOSE = 1e-3
MISMATCH = 0.05  # of the weights, from which on something else was measured than is asked about
PREFILL = ("time_to_first_token_s", "prefill_tokens_per_s")
DECODE = ("time_per_output_token_s", "decode_tokens_per_s")
STEP = 1.25  # of the memory's factor, to see how what is computed follows it


def mismatched(figures: Mapping[str, Figure], measured: Mapping[str, float]) -> bool:
    """Return whether the weights measured are not those of the scenario: then no factor says anything of the device."""
    pairs = [
        (figures[name].value, measured[name])
        for name in ("file_bytes", "weights_bytes")
        if name in measured and name in figures
    ]
    return any(abs(found / own - 1) > MISMATCH for own, found in pairs)


def corrections(run: Run, plain: Mapping[str, Figure], measured: Mapping[str, float]) -> dict[str, float]:
    """Return the factors under which what is computed is as measured; empty where nothing is to be corrected.

    Times of prompts and of steps depend on each other in a server, so that both are sought in turns. Where only the
    whole time is known, both take the same factor. `plain` is what is computed without any. A run of requests that come
    on their own takes too long to be sought through; one that ends is sought through by its steady state.
    """
    if mismatched(plain, measured) or "requests_per_s" in run.scenario.get("arrivals", {}):
        return {}
    found = {**memory_factor(run, plain, measured), **speed_factors(*steady(run, plain, measured))}
    kept = {name: round(factor, 4) for name, factor in found.items() if abs(factor - 1) > CLOSE}
    return kept if all(LEAST < factor < MOST for factor in kept.values()) else {}


def steady(run: Run, plain: Mapping[str, Figure], measured: Mapping[str, float]) -> tuple[Run, Mapping[str, float]]:
    """Return a run that ends as a server with as many requests that goes on, and what would be measured of that.

    By how much the two differ is taken from what is computed of both without factors.
    """
    if "arrivals" not in run.scenario:
        return run, measured
    others = {name: value for name, value in run.scenario.items() if name != "arrivals"}
    asked = run.scenario["arrivals"]
    going = Run({**others, "concurrency": asked.get("concurrency", asked["requests"])}, run.apart)
    own = going.figures()
    return going, {
        name: value * own[name].value / plain[name].value
        for name, value in measured.items()
        if name in own and name in plain
    }


def speed_factors(run: Run, measured: Mapping[str, float]) -> dict[str, float]:
    """Return the factors of prompts and of steps."""
    wanted = {
        part: next((name for name in names if name in measured), "")
        for part, names in (("prefill", PREFILL), ("decode", DECODE))
    }
    if not any(wanted.values()) and "output_tokens_per_s" in measured:
        wanted = dict.fromkeys(wanted, "output_tokens_per_s")
    wanted = {part: name for part, name in wanted.items() if name}
    factors = dict.fromkeys(wanted, 1.0)
    for _ in range(ROUNDS if factors else 0):
        figures = run.figures(factors)
        off = {
            part: slower(figures[name].value, measured[name], name) for part, name in wanted.items() if name in figures
        }
        if len(off) < len(wanted):
            return {}  # no speed is known of the device
        factors = {part: min(max(factors[part] * by, LEAST), MOST) for part, by in off.items()}
        if all(abs(by - 1) < CLOSE for by in off.values()):
            break
    return factors


def slower(computed: float, measured: float, name: str) -> float:
    """Return how many times as long what was measured took."""
    return computed / measured if name.endswith("per_s") else measured / computed


def memory_factor(run: Run, plain: Mapping[str, Figure], measured: Mapping[str, float]) -> dict[str, float]:
    """Return the factor of what the engine takes for itself.

    What is computed of a term is linear in it. An engine that fills its share of a device shows it by the cache that is
    left; of its total nothing follows.
    """
    shares = run.scenario.get("engine") in SHARING_ENGINES
    names = ("kv_pool_bytes", "kv_pool_tokens") if shares else ("device_bytes", "reserved_bytes", "allocated_bytes")
    name = next((name for name in names if name in measured and name in plain), "")
    more = run.figures({"memory": STEP}) if name else plain
    if not name or plain[name].value == more[name].value:
        return {}
    slope = (more[name].value - plain[name].value) / (STEP - 1)
    return {"memory": min(max(1 + (measured[name] - plain[name].value) / slope, LEAST), MOST)}
