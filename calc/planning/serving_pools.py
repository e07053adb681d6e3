"""The speeds of prefill and decoding on pools of their own, with their working, and what the prefill pool holds."""

from typing import NamedTuple

from calc.catalog.records import Accelerator, Link
from calc.derivation import Step
from calc.memory.budget import Layout
from calc.performance.fabric import NETWORK, reached_share, usual_link, usual_network
from calc.performance.pools import Flow, Pools, flow
from calc.performance.speed import passes_for
from calc.performance.working import pass_steps
from calc.planning.served import Served
from calc.planning.serving import Serving
from calc.planning.serving_load import LITTLE, load_of
from calc.planning.serving_question import prefill_tokens, speed_factors, speed_question
from calc.planning.serving_report import Report
from calc.units import show_count, show_number

SOURCE = "distserve"
# Four of five first tokens of serving_runs.csv in two pools are within it, up or down: how requests began is unsaid.
FIRST_FACTOR = 2.9


class PoolLayouts(NamedTuple):
    """How each pool divides the model; copies of it are further data ranks."""

    prefill: Layout
    decode: Layout
    link: Link | None  # over which a cache goes; None: the network that is usual between machines of the device
    ranks: int = 1  # data-parallel ones of a server that reads prompts

    @property
    def devices(self) -> int:
        """Devices of both."""
        return self.prefill.devices + self.decode.devices


def sending_rate(accelerator: Accelerator, link: Link | None) -> float:
    """Return the bytes a second that a device sends to another pool: over the network of its machine, or a link."""
    if link is not None:
        return link.bytes_per_s_one_way * reached_share(link, NETWORK)
    network, ports = usual_network(accelerator, usual_link(accelerator))
    return network.bytes_per_s_one_way * ports * reached_share(network, NETWORK)


def pooled_speed(
    served: Served, layouts: PoolLayouts, concurrency: int, output_tokens: int, cached_tokens: int
) -> tuple[Report, list[Step]] | None:
    """Return the speeds of both pools with their working, None where a device's rates are not known.

    What was served is the decoding pool. A cache is sent by all tensor ranks at once, each its own part.
    """
    question = speed_question(served, output_tokens, cached_tokens)
    device = served.serving.accelerator
    if question is None or device is None:
        return None
    values = served.serving.engine.values
    writing = passes_for(question, values)
    reading = passes_for(question._replace(layout=layouts.prefill), values)
    if writing is None or reading is None:
        return None
    case = served.serving.fullest(served.demand._replace(sequences=1), layouts.prefill)[0]
    size, rate = case.sequence_bytes(served.demand.prompt_tokens), sending_rate(device, layouts.link)
    pools = Pools(
        reading=reading,
        writing=writing,
        readers=layouts.prefill.data,
        in_step=layouts.ranks,
        writers=layouts.decode.data,
        transfer_s=size / rate,
        overlaps=values["overlaps_prefill"],
    )
    chunk = prefill_tokens(case)
    if chunk is not None and served.serving.batched_tokens is None and values.get("chunk_over_ranks"):
        chunk = max(chunk // layouts.ranks, 1)
    load = load_of(served, question, concurrency, None)._replace(batched_tokens=chunk)
    found = flow(pools, load, concurrency)
    step, first = speed_factors(served)
    running = found.running * pools.writers
    figures = [
        ("prefill_tokens_per_s", found.requests_per_s * load.prompt_tokens, first),
        ("decode_tokens_per_s", running / found.token_s, step),
        ("output_tokens_per_s", found.requests_per_s * load.output_tokens, step),
        ("time_to_first_token_s", found.first_s, max(first, FIRST_FACTOR)),
        ("time_per_output_token_s", found.token_s, step),
    ]
    report: Report = {
        name: {"low": value / factor, "typical": value, "high": value * factor} for name, value, factor in figures
    }
    report["max_sequences"], report["running_sequences"] = served.most, running
    report["requests_per_s"] = found.requests_per_s
    report["bound_by"], report["prefill_bound_by"] = found.decoding.bound_by, found.prompting.bound_by
    report["balanced_batch"] = None
    report["disaggregation"] = {
        "transfer_s": pools.transfer_s,
        "prefill_requests_per_s": found.read_most_per_s,
        "decode_requests_per_s": found.write_most_per_s,
        "balance": found.balance,
    }
    return report, pool_steps(served, found, pools, size=size, rate=rate)


def pool_steps(served: Served, found: Flow, pools: Pools, *, size: int, rate: float) -> list[Step]:
    """Return the working: a step, a pass over prompts, the cache on its way, and what both pools can do."""
    engine = served.serving.engine
    return [
        *pass_steps("step that decodes", found.decoding, engine),
        *pass_steps("prefill", found.prompting, engine),
        Step(
            "Sending the cache of a prompt, each rank its part",
            r"\frac{B_{\text{seq}}}{v}",
            f"{show_count(size)} / {show_number(rate, 5)}",
            pools.transfer_s,
            unit="s",
            source=SOURCE,
        ),
        Step(
            "Prefill devices for each that is there, to keep the decoding pool full",
            r"\frac{X_{\text{decode}}}{X_{\text{prefill}}}",
            f"{show_number(found.write_most_per_s, 5)} / {show_number(found.read_most_per_s, 5)}",
            found.balance,
            unit="",
            source=SOURCE,
        ),
        Step(
            "Decoding, all sequences",
            r"\frac{n}{t_{\text{token}}}",
            f"{show_number(found.running * pools.writers, 5)} / {show_number(found.token_s, 5)}",
            found.running * pools.writers / found.token_s,
            unit="tokens/s",
            source=LITTLE,
        ),
    ]


def prefill_pool(serving: Serving, served: Served, layout: Layout) -> Report:
    """Return the memory of the prefill pool's fullest device, with one prompt of each rank in it."""
    demand = served.demand._replace(sequences=layout.data)
    runtime = serving.fullest(demand, layout)[1]
    return {"device_bytes": runtime.device, "capacity_bytes": runtime.capacity, "fits": runtime.fits}
