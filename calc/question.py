"""What a scenario of inference asks, read and checked: of a model, of devices, and of an engine."""

from typing import TYPE_CHECKING, NamedTuple

from calc.architecture.layers import Architecture
from calc.catalog import catalog
from calc.catalog.records import Accelerator, Engine, NumberFormat
from calc.errors import Scenario, ScenarioError
from calc.memory.budget import OUTPUT_TOKENS, Demand, Layout
from calc.memory.correction import UNCORRECTED, Correction
from calc.memory.kv_cache import with_expanded_caches
from calc.memory.placement import Host, Placement
from calc.memory.runtime import EAGER
from calc.planning.fit import MOST_SEQUENCES
from calc.planning.layout import best_layout, candidates, check_layout
from calc.scenario.device import read_accelerator
from calc.scenario.engine import (
    in_version,
    on_maker,
    read_concurrency,
    read_engine,
    read_longest,
    read_slots,
    read_spread,
    with_backend,
    with_graphs,
)
from calc.scenario.fields import MOST_TOKENS, PUBLISHED
from calc.scenario.formats import as_loaded, read_caches, read_weights
from calc.scenario.layout import read_layout
from calc.scenario.model import read_balance, read_model, read_text_only, read_videos
from calc.scenario.reader import Reader, read_price, read_tokens
from calc.service.asides import (
    read_adapters,
    read_apart,
    read_arrivals,
    read_drafts,
    read_measured,
    read_placed,
    read_prefixes,
    read_starts,
    read_stored_caches,
)

if TYPE_CHECKING:
    from calc.memory.cache_store import CacheStore
    from calc.performance.arrivals import Traffic
    from calc.performance.cold_start import Start
    from calc.planning.serving import Serving
    from calc.planning.serving_pools import PoolLayouts

HALF_BITS = 16


class Asked(NamedTuple):
    """What a scenario asks of devices, whichever they are."""

    model_id: str
    model_name: str
    context_limit: int | None
    own_tokens: int | None  # that engines take as the config stands
    demand: Demand
    output_tokens: int
    cached_tokens: int
    engine: Engine | None
    fraction: float | None
    batched_tokens: int | None
    attention: str
    placement: Placement  # what stays in the host's memory
    concurrency: int | None  # requests in a server at a time
    length_spread: float | None  # deviation of the lengths of their answers over the mean, None for the usual one
    slots: int | None  # sequences that it is set up for
    store: "CacheStore | None"  # room for caches outside of the devices
    traffic: "Traffic | None"  # requests that come on their own
    start: "Start | None" = None  # from where the engine starts
    pools: "PoolLayouts | None" = None  # of prefill and decoding apart
    correction: Correction = UNCORRECTED  # by what a reader has measured

    def serving(self, accelerator: Accelerator | None, host: Host | None = None) -> "Serving | None":
        """Return the engine on a kind of device, None without an engine."""
        if self.engine is None:
            return None
        from calc.planning.serving import Serving  # what engines take is read when a scenario names one

        return Serving(
            engine=self.engine,
            accelerator=accelerator,
            fraction=self.fraction,
            batched_tokens=self.batched_tokens,
            attention=self.attention,
            placement=self.placement,
            host=host,
            concurrency=self.concurrency,
            length_spread=self.length_spread,
            slots=self.slots,
            traffic=self.traffic,
            store=self.store,
            correction=self.correction,
        )


class Question(NamedTuple):
    """A whole scenario of inference, read: the demand with its sequences, on what, in which layout, at which prices."""

    reader: Reader
    asked: Asked
    demand: Demand
    accelerator: Accelerator | None
    layout: Layout
    most: bool  # as many sequences as fit
    prices: dict[str, float | None]
    host: Host | None = None
    devices: tuple[Accelerator, ...] = ()  # where they are not alike
    split: tuple[float, ...] = ()  # the layers' shares on them; none where their memory decides

    def serving(self) -> "Serving | None":
        """Return the engine on the devices asked for, None without an engine."""
        found = self.asked.serving(self.accelerator, self.host)
        if found is not None:
            found.devices, found.split = self.devices, self.split
        return found


def read_question(scenario: Scenario) -> Question:
    """Return a scenario of inference, read and checked."""
    reader = Reader(scenario)
    devices = read_list(reader) if isinstance(reader.given.get("accelerator"), list) else ()
    listed = reader.filled.get("accelerator")
    return read_placement(reader, read_asked(reader), devices, listed)


def read_placement(
    reader: Reader, asked: Asked, devices: tuple[Accelerator, ...] = (), listed: object = None
) -> Question:
    """Return a scenario of which it is read what it asks of devices, and which devices it lists."""
    facts = catalog()
    accelerator = devices[0] if devices else read_accelerator(reader, facts)
    on = devices or ((accelerator,) if accelerator is not None and not asked.placement.alone else ())
    asked = asked._replace(engine=with_backend(reader, on_maker(asked.engine, on), on))
    prices = {field: read_price(reader, field) for field in ("price_per_hour", "electricity_per_kwh")}
    served = asked.concurrency is not None
    most, demand = not served and reader.take("sequences") == "max", asked.demand
    if not most and not served:
        demand = demand._replace(sequences=reader.count("sequences"))
    layout = asked.pools.decode if asked.pools else settle_layout(reader, demand, asked, accelerator)
    host = read_hosted(reader, asked, layout, accelerator)
    split = settle_devices(reader, asked, layout, devices)
    if devices:
        reader.filled["accelerator"] = listed
    return Question(
        reader=reader,
        asked=asked,
        demand=demand,
        accelerator=None if asked.placement.alone else accelerator,
        layout=layout,
        most=most,
        prices=prices,
        host=host,
        devices=() if asked.placement.alone else devices,
        split=split,
    )


def read_list(reader: Reader) -> tuple[Accelerator, ...]:
    """Return the devices that a scenario lists, where they are not alike."""
    from calc.service.devices import read_devices  # few scenarios list them

    return read_devices(reader, catalog())


def settle_devices(reader: Reader, asked: Asked, layout: Layout, devices: tuple[Accelerator, ...]) -> tuple[float, ...]:
    """Return the shares of the layers that devices get by `tensor_split`, checked with what it does not go with."""
    if not devices:
        if "tensor_split" in reader.given:
            message = 'needs a list of devices in accelerator: [{"id": "rtx-3090", "count": 2}]'
            raise ScenarioError("tensor_split", message)
        return ()
    from calc.service.devices import check_devices, read_split

    check_devices(reader, asked.engine, layout)
    return read_split(reader, devices)


def read_hosted(reader: Reader, asked: Asked, layout: Layout, accelerator: Accelerator | None) -> Host | None:
    """Return the host of what stays in its memory, None where nothing does and nobody names one."""
    if not asked.placement.on_host and "host" not in reader.given:
        return None
    from calc.service.host import check_placed, read_host  # few scenarios leave anything to the host

    check_placed(asked.placement, layout)
    return read_host(reader, catalog(), asked.engine, accelerator, placement=asked.placement, demand=asked.demand)


def read_asked(reader: Reader) -> Asked:
    """Return what a scenario of inference asks of devices, for one sequence at once."""
    facts = catalog()
    reader.choice("workload", ("inference", "training"))
    model = read_model(reader.take("model"), facts)
    architecture = model.architecture
    reader.filled["model"] = model.written or reader.given["model"]
    weights, group = read_weights(reader, model, facts)
    engine, fraction = read_engine(reader, facts, weights, architecture)
    engine = with_graphs(reader, in_version(reader, engine))
    published = reader.filled["weights"] == PUBLISHED
    weights = as_loaded(weights, engine, facts, published=published)
    architecture = as_cached(read_text_only(reader, architecture), engine)
    keys, values = read_caches(reader, model, engine, architecture, facts=facts)
    usual = OUTPUT_TOKENS if architecture.vocab_size else 0  # an image is seen whole, and nothing follows
    prompt, output = read_tokens(reader, model.context_tokens, usual)
    cached = reader.count("cached_tokens", least=0)
    all_logits = reader.choice("prompt_logits", ("last", "all")) == "all"
    demand = Demand(
        architecture=architecture,
        weights=weights,
        group=group,
        keys=keys,
        values=values,
        sequences=1,
        tokens=cached + prompt + output,
        longest=read_longest(reader, engine, asked=cached + prompt + output),
        prompt_tokens=prompt,
        batched_tokens=reader.count("batched_tokens", most=MOST_SEQUENCES * MOST_TOKENS),  # all prompts at once
        all_logits=all_logits,
        prefix=read_prefixes(reader, engine, prompt_tokens=prompt, all_logits=all_logits),
        draft=read_drafts(reader, engine, architecture=architecture, weights=weights),
        adapters=read_adapters(reader, engine, architecture),
        videos=read_videos(reader, engine, architecture),
        balances_experts=read_balance(reader, engine, architecture),
    )
    traffic = read_arrivals(reader, engine, prompt_tokens=prompt, output_tokens=output, writes=architecture.writes)
    if architecture.writes and not output and "concurrency" in reader.given:
        raise ScenarioError("output_tokens", "must be at least 1 with concurrency: each request is answered")
    return Asked(
        model_id=model.id,
        model_name=model.name,
        context_limit=model.context_tokens,
        own_tokens=model.own_tokens,
        demand=demand,
        output_tokens=output,
        cached_tokens=cached,
        engine=engine,
        fraction=fraction,
        batched_tokens=demand.batched_tokens if "batched_tokens" in reader.given else None,
        attention=reader.choice("attention", attention_ways(engine), usual_attention(engine, values)),
        placement=read_placed(reader, engine, architecture),
        store=read_stored_caches(reader, engine, architecture),
        concurrency=read_concurrency(reader, engine) if traffic is None else MOST_SEQUENCES,
        length_spread=read_spread(reader),
        slots=read_slots(reader, engine),
        traffic=traffic,
        start=read_starts(reader, engine),
        pools=read_apart(reader, engine, architecture),
        correction=read_measured(reader, engine),
    )


def as_cached(architecture: Architecture, engine: Engine | None) -> Architecture:
    """Return a model with the caches that an engine keeps: those of all heads where it cannot attend to latents."""
    if engine is None or not engine.lacks("caches_latents"):
        return architecture
    return with_expanded_caches(architecture, int(engine.values.get("latent_head", 0)))


def attention_ways(engine: Engine | None) -> tuple[str, ...]:
    """Return the ways of attention that an engine has: in tiles, PyTorch's or Triton's kernels, or storing scores."""
    values = engine.values if engine else {}
    return ("flash", *(way for way in ("sdpa", "triton") if f"key_walk_s_{way}" in values), "eager")


def usual_attention(engine: Engine | None, values: NumberFormat) -> str | None:
    """Return how an engine computes attention where nothing is said, None for as all do.

    llama.cpp takes values in fewer than 16 bits in tiles alone, so who keeps them so has asked for these.
    """
    return EAGER if engine is not None and engine.lacks("attends_in_tiles") and values.bits >= HALF_BITS else None


def settle_layout(reader: Reader, demand: Demand, asked: Asked, accelerator: Accelerator | None) -> Layout:
    """Return the layout asked for, checked, or the one that an engine is started with: the widest tensor that fits.

    Where none fits, and without an engine, it is the one with the least memory on the fullest of the devices given.
    """
    layout, devices = read_layout(reader)
    engine = asked.engine
    if layout is None:
        serving = asked.serving(accelerator) if (devices or 1) > 1 else None
        if serving is None or accelerator is None:
            layout = best_layout(demand, devices or 1, engine)
        else:
            layout = serving.started(serving.in_pieces(demand), devices or 1)
        if layout is None:
            near = next(count for count in range(devices or 1, 0, -1) if candidates(demand, count, engine))
            message = f"the model cannot be divided evenly over {devices}; {near} would work"
            raise ScenarioError("accelerators", message)
    check_layout(demand.architecture, layout)
    if "parallelism" not in reader.given:
        reader.defaults.append("parallelism")
    if "accelerators" not in reader.given:
        reader.defaults.append("accelerators")
    reader.filled["accelerators"] = layout.devices
    reader.filled["parallelism"] = layout._asdict()
    return layout
