"""The engine of a scenario, in the era of its version, and what it is set up for."""

from collections.abc import Sequence

from calc.architecture.layers import Architecture
from calc.catalog import Catalog, catalog
from calc.catalog.records import Accelerator, Engine, Weights
from calc.errors import ScenarioError, listed, nearest
from calc.planning.usual_engine import usual_engine
from calc.scenario.fields import BACKEND_WORDS, ENGINES, HOST_ENGINE, NOT_COMPUTED, OF_HOST, SHARING_ENGINES, USUAL
from calc.scenario.reader import Reader, read_version

MOST_SPREAD = 3  # of lengths, over their mean


def read_engine(
    reader: Reader, catalog: Catalog, weights: Weights, architecture: Architecture
) -> tuple[Engine | None, float | None]:
    """Return the engine, None for none, and the share of the device that it is given."""
    name = reader.take("engine")
    if name == USUAL:
        device = catalog.accelerator(str(reader.given["accelerator"])) if "accelerator" in reader.given else None
        engine = usual_engine(
            facts=catalog, device=device, weights=weights, architecture=architecture, caches=caches_of(reader, catalog)
        )
        name = engine.id if engine else "none"
        if any(field in reader.given for field in OF_HOST):
            name = HOST_ENGINE
        reader.filled["engine"] = name
    if isinstance(name, str) and (known := catalog.lookup("engines", name)):
        name = reader.filled["engine"] = known
    if isinstance(name, str) and (nearest_to := NOT_COMPUTED.get(name.casefold())):
        raise ScenarioError("engine", nearest_to, instead=(HOST_ENGINE,))
    if name not in ENGINES:
        hint = nearest(str(name), ENGINES)
        message = f"must be one of {', '.join(ENGINES)}, not {name!r:.60}{hint}"
        raise ScenarioError("engine", message, instead=ENGINES)
    share = reader.given.get("memory_fraction")
    if share is None:
        return (None if name == "none" else catalog.engine(str(name))), None
    if name not in SHARING_ENGINES:
        raise ScenarioError(
            "memory_fraction", f"does not apply: {name} takes no share of the device; {', '.join(SHARING_ENGINES)} do"
        )
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ScenarioError("memory_fraction", f"must be above 0 and at most 1, not {share!r:.60}")
    reader.filled["memory_fraction"] = share
    return catalog.engine(str(name)), float(share)


def caches_of(reader: Reader, catalog: Catalog) -> tuple[str, ...]:
    """Return the known number formats that a scenario asks to keep caches in."""
    names = (reader.given.get(field) for field in ("kv_cache", "kv_cache_v"))
    known = (catalog.lookup("number_formats", name) for name in names if isinstance(name, str))
    return tuple(name for name in known if name)


def newest(engine: Engine) -> Engine:
    """Return an engine in the newest era that was measured, which most scenarios ask for: it is made once."""
    return catalog().once(f"newest {engine.id}", engine.of_version)


def in_version(reader: Reader, engine: Engine | None) -> Engine | None:
    """Return an engine in the era of the version that the scenario asks for, else in the newest that was measured.

    The first version of that one stands for all of it.
    """
    version = read_version(reader.given.get("engine_version"), '"0.10.2" or "b4000"')
    if engine is None:
        if version is not None:
            raise ScenarioError("engine_version", "does not apply: no engine is asked for")
        return None
    usual = newest(engine)
    first = next((era.first for era in usual.eras if era.id == usual.era), None)
    if version is None:
        reader.defaults.append("engine_version")
    reader.filled["engine_version"] = version or first
    # What is filled in for nothing said means the same when it is asked: the era as it is now.
    return usual if version in (None, first) else engine.of_version(version)


def with_graphs(reader: Reader, engine: Engine | None) -> Engine | None:
    """Return the engine with the graphs that a scenario lets it record: of steps of so many sequences, or none."""
    graphs = reader.given.get("graphs", True)
    if not isinstance(graphs, bool):
        graphs = reader.count("graphs")
    if graphs is True:
        return engine
    if engine is None or engine.id not in SHARING_ENGINES:
        raise ScenarioError("graphs", f"does not apply: of the engines {', '.join(SHARING_ENGINES)} record graphs")
    reader.filled["graphs"] = graphs
    return engine._replace(graphs=int(graphs)).valued(engine.values)


def on_maker(engine: Engine | None, devices: Sequence[Accelerator]) -> Engine | None:
    """Return the engine as it is on devices: in the era that its version was in there, with their usual back end."""
    if engine is None or not devices:
        return engine
    makers = {device.vendor for device in devices}
    if engine.version and any(makers.intersection(era.later) for era in engine.eras):
        engine = engine.of_version(engine.version, devices[0].vendor)
    return in_backend(engine, devices)


def in_backend(engine: Engine, devices: Sequence[Accelerator], name: str = "") -> Engine:
    """Return the engine with the kernels of a back end on devices, or of the usual one, which one device may decide."""
    named = max(engine.named_backend(device.architecture, device.vendor, name) for device in devices)
    return engine if named == engine.backend else engine._replace(backend=named)


def with_backend(reader: Reader, engine: Engine | None, devices: Sequence[Accelerator]) -> Engine | None:
    """Return the engine with the back end that a scenario asks for: whose kernels it takes on all devices."""
    asked = reader.given.get("backend")
    if asked is None:
        return engine
    if engine is None or not engine.backends:
        having = [known.name for known in catalog().engines() if known.backends]
        raise ScenarioError("backend", f"does not apply: of the engines {listed(having)} can take one or another")
    if not devices:
        raise ScenarioError("backend", "does not apply: no accelerator is asked for")
    name = BACKEND_WORDS.get(str(asked).casefold(), str(asked).casefold())
    for device in devices:
        known = engine.backends_on(device.architecture, device.vendor)
        if name not in known:
            can = f"can be {listed(known)}" if known else "cannot be chosen"
            message = f"{can} on {device.name}, not {asked!r:.60}{nearest(name, known)}"
            raise ScenarioError("backend", message, instead=known)
    reader.filled["backend"] = name
    return in_backend(engine, devices, name)


def read_concurrency(reader: Reader, engine: Engine | None) -> int | None:
    """Return the requests that are in a server at a time, None where a scenario asks for sequences held at once."""
    if "concurrency" not in reader.given:
        return None
    if engine is None:
        raise ScenarioError("concurrency", "does not apply: no engine is asked for that would serve requests")
    if "sequences" in reader.given:
        raise ScenarioError("concurrency", "is in place of sequences: give one of the two")
    return reader.count("concurrency")


def read_spread(reader: Reader) -> float | None:
    """Return the deviation of the lengths of answers over their mean, of requests that follow each other."""
    spread = reader.given.get("length_spread")
    if spread is None:
        return None
    if "concurrency" not in reader.given:
        raise ScenarioError("length_spread", "does not apply: it is of the requests that concurrency counts")
    if isinstance(spread, bool) or not isinstance(spread, int | float) or not 0 <= spread <= MOST_SPREAD:
        raise ScenarioError("length_spread", f"must be a number from 0 to {MOST_SPREAD}, not {spread!r:.60}")
    reader.filled["length_spread"] = spread
    return float(spread)


def read_slots(reader: Reader, engine: Engine | None) -> int | None:
    """Return the sequences that an engine is set up for, None for its own number."""
    if "sequence_slots" not in reader.given:
        return None
    if engine is None:
        raise ScenarioError("sequence_slots", "does not apply: no engine is asked for")
    return reader.count("sequence_slots")


def read_longest(reader: Reader, engine: Engine | None, *, asked: int) -> int:
    """Return the tokens of the longest text that a server is started for: what is asked of it where nothing is said.

    0 under engines that choose nothing by it.
    """
    starts = engine is not None and bool(engine.values.get("whole_length"))
    if "longest_tokens" not in reader.given:
        return asked if starts else 0
    if not starts:
        raise ScenarioError("longest_tokens", "does not apply: only vLLM chooses kernels by what it is started for")
    return reader.count("longest_tokens", least=asked)
