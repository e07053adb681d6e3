"""What is risky about a question, left open by it, or to be known of its answer, as warnings."""

from collections.abc import Mapping
from math import inf, sqrt

from calc.architecture.config import Config
from calc.architecture.families import left_out
from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.derivation import INFO, Warn
from calc.memory.budget import Demand, Layout
from calc.memory.correction import UNCORRECTED
from calc.performance.power import power_warnings
from calc.planning.fit import MOST_SEQUENCES
from calc.question import Asked, Question
from calc.scenario.doubts import name_doubts
from calc.scenario.reader import Reader
from calc.units import show_gib

Report = dict[str, object]


def doubts(reader: Reader, devices: int) -> list[Warn]:
    """Return what a scenario leaves open and an answer has to choose."""
    found = name_doubts(reader, catalog(), devices)
    model = reader.given.get("model")
    if isinstance(model, Mapping) and (keys := left_out(Config(model["config"], "model.config"))):
        message = f"the config leaves out {', '.join(keys)}: the defaults of its family are taken"
        found.append(Warn("config-incomplete", message, "model.config", INFO))
    return found


def length_doubts(asked: Asked, tokens: int) -> list[Warn]:
    """Return whether a text is longer than the model is made for, or than its config says it is."""
    made, own = asked.context_limit, asked.own_tokens
    if made and tokens > made:
        message = f"{tokens:,} tokens are more than the {made:,} that the model is made for"
        return [Warn("context-beyond-trained", message, "context_tokens")]
    if made and own and tokens > own:
        message = (
            f"{tokens:,} tokens are more than the {own:,} positions of its config: it reads up to {made:,} only where "
            "rope_scaling (YaRN) is set, which engines do not do by themselves"
        )
        return [Warn("positions-to-scale", message, "context_tokens")]
    return []


def warnings(demand: Demand, layout: Layout, accelerator: Accelerator | None) -> list[Warn]:
    """Return what cannot work natively or is risky about a scenario."""
    found = []
    if accelerator is not None:
        native = demand.weights.native
        if native and native not in accelerator.facts:
            message = (
                f"{accelerator.name} does not compute in {demand.weights.name}: it is converted to another format first"
            )
            found.append(Warn("format-not-native", message, "weights"))
        if accelerator.shares_host_memory and "memory_usable" in accelerator.facts:
            sizes = (round(accelerator.quantity("memory") or 0), accelerator.capacity_bytes)
            message = f"of the {show_gib(sizes[0])} that {accelerator.name} shares with its system programs get "
            message += f"{show_gib(sizes[1])}; memory_limit says otherwise"
            if (free := accelerator.quantity("memory_free") or inf) < accelerator.capacity_bytes:
                message += (
                    f"; as little as {show_gib(round(free))} of it may be free after start, so that a server's share "
                    f"beyond {free / accelerator.capacity_bytes:.2f} may be refused"
                )
            found.append(Warn("memory-shared", message, "accelerator", INFO, sizes_bytes=sizes))
        elif accelerator.shares_host_memory:
            message = f"{accelerator.name} shares its memory with the system, which leaves only part of it to a model"
            found.append(Warn("memory-shared", message, "accelerator"))
        elif accelerator.memory_fact.basis == "advertised":
            message = f"no driver report of {accelerator.name} is known: the advertised size stands in for it"
            found.append(Warn("capacity-advertised", message, "accelerator", INFO))
    if demand.sequences < layout.data:
        message = f"{demand.sequences} sequences leave some of the {layout.data} data-parallel ranks idle"
        found.append(Warn("ranks-idle", message, "parallelism.data", INFO))
    if layout.tensor > 1 and accelerator is not None:
        from calc.performance.fabric import tensor_warnings

        found += tensor_warnings(accelerator, layout.tensor)
    return found + power_warnings(accelerator)


def answer_warnings(question: Question, demand: Demand, memory: Report, speed: Report | None) -> list[Warn]:
    """Return what is to be known of an answer: limits that it ends at, and what no measurement stands behind."""
    found = limits(question, demand, memory.get("max_sequences")) + draft_warnings(demand, speed)
    if demand.adapters is not None and speed is not None:
        message = "no published run stands behind the time of adapters: it is that of grouped products of their size"
        found.append(Warn("adapters-not-measured", message, "adapters_served", INFO))
    if question.asked.pools is not None and speed is not None:
        message = (
            "first tokens of published servers with pools apart differ from it: see the range, which holds four of five"
        )
        found.append(Warn("first-token-of-pools", message, "disaggregation", INFO))
    if speed is not None and in_step(question.asked):
        message = (
            "answers of one length end together, and the prompts behind them go on coming together: their first token "
            "comes later than here; arrivals with requests and concurrency follows each of them"
        )
        found.append(Warn("answers-in-step", message, "length_spread"))
    found += of_host(question, memory.get("host_bytes")) + of_experts(question, demand)
    return found + of_correction(question.asked, question.accelerator)


def in_step(asked: Asked) -> bool:
    """Return whether several answers that began together end within a step of each other, by even lengths.

    Where decoding waits for prompts, the steady state knows what they wait for each other.
    """
    spread, engine = asked.length_spread, asked.engine
    if spread is None or engine is None or not engine.values.get("mixes_prompts") or (asked.concurrency or 1) == 1:
        return False
    return sqrt(12.0) * spread * asked.output_tokens < 1.0


def of_experts(question: Question, demand: Demand) -> list[Warn]:
    """Return what is taken of many ranks of experts, where nobody says it."""
    layout = question.layout if question.asked.pools is None else question.asked.pools.decode
    if layout is None or layout.expert <= 1 or question.asked.engine is None or demand.balances_experts is not None:
        return []
    from calc.performance.expert_ranks import balances

    if not balances(layout.expert, None):
        return []
    message = (
        f"with {layout.expert} ranks of experts tokens are taken to be sent to their experts, and experts to be "
        "balanced (EPLB), as guides of engines have it on a large scale and no engine does by itself"
    )
    return [Warn("experts-balanced", message, "balance_experts", INFO)]


def limits(question: Question, demand: Demand, room: object) -> list[Warn]:
    """Return at which limit the most sequences ended where it was not memory: the engine's own, or the search's."""
    if not question.most or room == 0:
        return []
    if demand.sequences >= MOST_SEQUENCES - 1:
        message = f"memory does not bound the sequences: the search for the most ended at {demand.sequences:,}"
    elif room is None or (isinstance(room, int) and demand.sequences < room):
        known = "memory does not bound the sequences" if room is None else f"memory has room for {room:,} sequences"
        message = f"{known}, and the engine runs {demand.sequences:,} at once unless sequence_slots says more"
    else:
        return []
    return [Warn("sequences-at-limit", message, "sequences", INFO)]


def draft_warnings(demand: Demand, speed: Report | None) -> list[Warn]:
    """Return whether drafting makes tokens come later."""
    gained = speed.get("speculation") if speed else None
    if not isinstance(gained, dict) or gained["gain"] >= 1:
        return []
    most = gained["helps_up_to_sequences"]
    message = f"drafts cost more than they gain for {demand.sequences:,} sequences at once: they help up to {most:,}"
    return [Warn("speculation-loses", message, "speculation")]


def of_host(question: Question, host_bytes: object) -> list[Warn]:
    """Return what is risky about the host, or was taken of it."""
    if question.host is None:
        return []
    from calc.service.host import host_warnings  # few scenarios leave anything to the host

    return host_warnings(question.reader, question.host, question.asked.placement, host_bytes)


def of_correction(asked: Asked, accelerator: Accelerator | None) -> list[Warn]:
    """Return that the answer is corrected by a reader's own measurement, where it is."""
    if asked.correction == UNCORRECTED or asked.engine is None:
        return []
    from calc.service.correction import correction_warning  # few scenarios ask for it

    return [correction_warning(asked.correction, asked.engine, accelerator)]
