"""Reading from where an engine starts: a scenario's `start`."""

import re

from calc.catalog.records import Engine
from calc.errors import ScenarioError
from calc.performance.cold_start import PAGE_CACHE, PLACES, Start
from calc.scenario.reader import Reader, read_flag, read_object

FIELDS = ("from", "bandwidth", "compiled")
RATE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*([mgt])b/s")
POWERS = {"m": 6, "g": 9, "t": 12}
LEAST, MOST = 1e5, 1e13


def read_start(reader: Reader, engine: Engine | None) -> Start:
    """Return from where the weights come, how fast, and whether what is compiled was kept."""
    if engine is None:
        raise ScenarioError("start", "does not apply: no engine is asked for that would start")
    value = read_object(reader.given["start"], "start", FIELDS)
    place = value.get("from", "disk")
    if place not in PLACES:
        raise ScenarioError("start.from", f"must be {' or '.join(PLACES)}, not {place!r:.60}", instead=PLACES)
    rate = read_rate(value.get("bandwidth"))
    known = "cold_start_s" in engine.values
    if rate is not None and place == PAGE_CACHE and known:
        message = "does not go together with start.from page-cache, whose rate is the engine's own"
        raise ScenarioError("start.bandwidth", message)
    if rate is None and not known:
        message = f"is missing: no start of {engine.name} was measured, and reading alone is computed"
        raise ScenarioError("start.bandwidth", message)
    compiled = read_flag(value.get("compiled", False), "start.compiled")
    shown = value.get("bandwidth")
    reader.filled["start"] = {"from": place, "bandwidth": shown, "compiled": compiled}
    return Start(str(place), rate, compiled)


def read_rate(value: object) -> float | None:
    """Return bytes a second from a text such as "3.5 GB/s", None for nothing."""
    if value is None:
        return None
    found = RATE.fullmatch(value.strip().casefold()) if isinstance(value, str) else None
    rate = float(found[1]) * 10.0 ** POWERS[found[2]] if found else 0.0
    if not LEAST <= rate <= MOST:
        raise ScenarioError("start.bandwidth", f'must be a text such as "3.5 GB/s" or "200 MB/s", not {value!r:.60}')
    return rate
