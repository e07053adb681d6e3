"""The command that serves what a scenario of inference is about: the choices that its report made, flag by flag."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from calc.catalog import Catalog
from calc.catalog.launchers import Launcher
from calc.catalog.records import Accelerator, Engine, Mixture, NumberFormat
from calc.derivation import INFO, Warn
from calc.launching.command import Said, flags_of
from calc.launching.drafts import drafts
from calc.launching.unsaid import SHARE_OF_ALL, unsaid
from calc.memory.cache_store import HOST
from calc.memory.runtime import visible_bytes
from calc.performance.expert_ranks import MANY
from calc.performance.fabric import joined
from calc.scenario.fields import PUBLISHED, SHARING_ENGINES
from calc.scenario.model import known_architecture
from calc.service.checkpoints import AS_LOADED, AS_PUBLISHED, SIXTEEN_BIT, origin, published_in
from calc.units import GB, GIB, MIB

ALL_LAYERS = "999"  # more than any model has: llama.cpp counts the head too
PLAIN_CACHE = ("bf16", "fp16")
HEAD = "$HEAD"  # the first machine, as a cluster names it
PORT, RAY_PORT = 20000, 6379
APART = "attention_apart"  # the choice that ranks attend to sequences of their own
EXCHANGES = {"vllm": "deepep_low_latency", "sglang": "deepep"}  # of tokens with their experts, where it has to be said
FOLDER = "/models"


class Served(NamedTuple):
    """What is started: the model, the words before the flags, the flags, files beside them, and what to know."""

    launcher: Launcher
    model: str
    said: tuple[Said, ...]
    files: tuple[tuple[str, str], ...]  # name and text
    machines: int
    devices: int  # of each machine
    warnings: tuple[Warn, ...]

    @property
    def words(self) -> list[str]:
        """The program with the model."""
        return [*self.launcher.program, *([self.launcher.model_flag] if self.launcher.model_flag else []), self.model]


def served(scenario: Mapping[str, object], report: Mapping[str, Any], facts: Catalog) -> Served:
    """Return what is started for a scenario of inference with an engine, as its report filled it in."""
    filled = report["scenario"]
    launcher = facts.launcher(filled["engine"])
    device, count = first_device(filled, facts), filled["accelerators"]
    inside = count
    if device is not None and count > 1 and not isinstance(filled["accelerator"], list):
        inside = min(joined(device, ranks=count).inside, count)
    machines = -(-count // inside)
    model, loading, warnings = weights_of(filled, facts, launcher)
    asked = dict(choices(scenario, report, facts, launcher)) | ({"loading": loading} if loading else {})
    if machines > 1:
        asked |= {"machines": machines, "rank": "$RANK", "head": HEAD, "address": f"{HEAD}:{PORT}", "ray": "ray"}
    version = str(scenario.get("engine_version") or "")  # what is filled in is the first of an era that goes on
    files: list[tuple[str, str]] = []
    if launcher.id == "tensorrt-llm":
        files.append(("options.yaml", trtllm_options(filled, facts)))
        asked["options"] = "options.yaml"
    if launcher.id == "transformers":
        files.append(("generate.py", generating(asked, filled)))
    said, left = flags_of(launcher, asked, version)
    warnings += [*left, *unsaid(scenario, launcher.id)]
    if filled.get("backend") == "aiter":  # no flag turns it on
        warnings.append(Warn("environment-needed", "start it with VLLM_ROCM_USE_AITER=1 in its environment", "backend"))
    if launcher.id == "llama.cpp" and (backend := filled.get("backend")):
        warnings.append(Warn("build-needed", f"take a build of llama.cpp for {backend}", "backend", INFO))
    return Served(
        launcher=launcher,
        model=model,
        said=tuple(said),
        files=tuple(files),
        machines=machines,
        devices=inside,
        warnings=tuple(warnings),
    )


def first_device(filled: Mapping[str, Any], facts: Catalog) -> Accelerator | None:
    """Return the kind of the devices, of unlike ones the first; None where a processor works alone."""
    named = filled.get("accelerator")
    if isinstance(named, list):
        named = named[0]["id"]
    return facts.accelerator(named) if named else None


def trtllm_options(filled: Mapping[str, Any], facts: Catalog) -> str:
    """Return what TensorRT-LLM has no flag for. By itself it records graphs of few sizes, and runs others without.

    What stands here of the cache replaces all that flags say of it: its share stands here too, then.
    """
    engine = facts.engine(filled["engine"])
    kept = ["  dtype: fp8\n"] if filled["kv_cache"] == "fp8" else []
    if room := in_memory(filled):
        kept.append(f"  host_cache_size: {room // filled['accelerators']}\n")
    if kept:
        kept.append(
            f"  free_gpu_memory_fraction: {filled.get('memory_fraction') or engine.values['memory_fraction']:g}\n"
        )
    cache = "kv_cache_config:\n" + "".join(kept) if kept else ""
    most = filled.get("graphs", filled.get("sequence_slots") or engine.whole("captured_sequences"))
    sizes = f"\n  enable_padding: true\n  max_batch_size: {most}\n" if most else " null\n"
    apart = "enable_attention_dp: true\n" if attends_apart(filled["parallelism"]) else ""
    placed = ""
    if balances(filled) and isinstance(filled["model"], str):
        slots = known_architecture(facts, facts.model(filled["model"]).id).experts
        placed = f"moe_config:\n  load_balancer:\n    num_slots: {slots}\n    layer_updates_per_iter: 1\n"
    return f"{cache}cuda_graph_config:{sizes}{apart}{placed}"


def attends_apart(layout: Mapping[str, int]) -> bool:
    """Return whether data ranks attend to sequences of their own and divide the experts among all."""
    return layout["data"] > 1 and layout["expert"] > layout["tensor"]


def of_experts(filled: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Iterate over what ranks of experts do: whether tokens are sent to them, and whether they are balanced."""
    layout = filled["parallelism"]
    if layout["expert"] > MANY and attends_apart(layout):
        yield "exchange", EXCHANGES.get(filled["engine"], True)
    if balances(filled):
        yield "balanced", True


def balances(filled: Mapping[str, Any]) -> bool:
    """Return whether experts are placed by what they have to do: as was said, or on a large scale."""
    many = filled["parallelism"]["expert"] > MANY and filled["engine"] in SHARING_ENGINES
    return bool(filled.get("balance_experts", many))


def degrees(layout: Mapping[str, int], launcher: Launcher) -> Iterator[tuple[str, object]]:
    """Iterate over the degrees of a layout above one. Some engines count ranks that attend apart as tensor ranks."""
    flags = {flag.of for flag in launcher.flags}
    together = attends_apart(layout) and APART in (*flags, *launcher.otherwise)
    counted = {**layout, "tensor": layout["tensor"] * (layout["data"] if together else 1)}
    for name in ("tensor", "pipeline", "data", "context", "expert"):
        if counted[name] > 1 and not (together and name == "data" and name not in flags):
            yield name, counted[name]
    if together:
        yield APART, True


def choices(
    scenario: Mapping[str, object], report: Mapping[str, Any], facts: Catalog, launcher: Launcher
) -> Iterator[tuple[str, object]]:
    """Iterate over what a report chose or assumed, by the name that flags have for it."""
    filled = report["scenario"]
    engine = facts.engine(filled["engine"]).of_version(str(scenario.get("engine_version") or "") or None)
    yield from (*degrees(filled["parallelism"], launcher), *of_experts(filled))
    yield "context_tokens", filled["context_tokens"] + filled["cached_tokens"]
    yield from device_share(filled, report, facts, engine)
    for name, field in (("slots", "sequence_slots"), ("batched_tokens", "batched_tokens")):
        if field in scenario and scenario[field] is not None:
            yield name, filled[field]
    if limit := report["memory"].get("sequence_limit"):
        yield "slots", limit
    both = [filled[name] for name in ("kv_cache", "kv_cache_v")]
    if both[0] not in PLAIN_CACHE:
        yield "cache", both[0]
    if both[1] not in PLAIN_CACHE and (engine.id == "llama.cpp" or both[0] != both[1]):
        yield "cache_v", both[1]
    if filled.get("shared_prefix_tokens") or filled.get("prefix_hit_rate"):
        yield "prefixes", True
    yield from beside(filled)
    yield from stored(filled, engine.id)
    if engine.id == "llama.cpp":
        if filled["attention"] == "flash" or not engine.stores_scores:
            yield "flash", "on" if filled["attention"] == "flash" else "off"
        yield from llama_choices(scenario, report)


def device_share(
    filled: Mapping[str, Any], report: Mapping[str, Any], facts: Catalog, engine: Engine
) -> Iterator[tuple[str, object]]:
    """Iterate over the share of the device that is taken: of all of it, where a limit or a screen leaves less."""
    share = filled.get("memory_fraction") or engine.values.get("memory_fraction")
    device, left = first_device(filled, facts), report["memory"].get("capacity_bytes")
    if share and device is not None and left and engine.id in SHARE_OF_ALL:
        whole = visible_bytes(device, engine)
        share = int(10_000 * share * left / whole) / 10_000 if left < whole else share
    if share:
        yield "memory_fraction", f"{share:g}"


def beside(filled: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Iterate over what stands beside the model, adapters and what drafts, and over what is left out."""
    if filled.get("graphs") is False:
        yield "no_graphs", True
    elif graphs := filled.get("graphs"):
        yield "largest_graph", graphs
    if filled.get("text_only"):
        yield "text_only", True
    if filled.get("videos") is False:
        yield "no_videos", '{"video": 0}'
    if served_beside := filled.get("adapters_served"):
        yield "adapters", True
        yield "adapter_count", served_beside["count"]
        yield "adapter_rank", served_beside["rank"]
    if drafted := filled.get("speculation"):
        yield from drafts(drafted, filled["engine"])


def stored(filled: Mapping[str, Any], engine: str) -> Iterator[tuple[str, object]]:
    """Iterate over the room for caches outside of the devices, as the engine counts it.

    vLLM takes GiB of a replica, SGLang whole GB of a device, and llama.cpp MiB.
    """
    if room := in_memory(filled):
        sizes = {"vllm": f"{room / filled['parallelism']['data'] / GIB:g}", "llama.cpp": room // MIB}
        yield "stored_cache", sizes.get(engine, max(int(room / filled["accelerators"] / GB), 1))
    elif "cache_offload" in filled:
        yield "caches_on_disk", True


def in_memory(filled: Mapping[str, Any]) -> int | None:
    """Return the bytes of the host's memory in which caches are kept; None where it keeps none."""
    store = filled.get("cache_offload")
    return int(store["bytes"]) if store and store["to"] == HOST else None


def llama_choices(scenario: Mapping[str, object], report: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Iterate over what llama.cpp alone is told: its slots share the cells of one cache."""
    filled = report["scenario"]
    slots = filled.get("sequence_slots") or report["memory"]["sequences"]
    yield "gpu_layers", scenario["gpu_layers"] if scenario.get("gpu_layers") is not None else ALL_LAYERS
    yield "sequences", slots
    yield "cells", (filled["context_tokens"] + filled["cached_tokens"]) * slots
    if filled["parallelism"]["tensor"] > 1:
        yield "split", "tensor"  # by rows it is no longer
    elif filled["parallelism"]["pipeline"] > 1:
        yield "split", "layer"
    if scenario.get("experts_on_host"):
        yield "experts_on_host", ALL_LAYERS if scenario["experts_on_host"] == "all" else scenario["experts_on_host"]
    if filled.get("host", {}).get("pinned"):
        yield "unmapped", True
    if isinstance(split := scenario.get("tensor_split"), list | tuple):
        yield "tensor_split", ",".join(map(str, split))


def weights_of(filled: Mapping[str, Any], facts: Catalog, launcher: Launcher) -> tuple[str, str | None, list[Warn]]:
    """Return where the weights are, the format that the engine converts them to as it loads, and what to know.

    A repository of the catalogue that holds the model in its format comes first; then one that the engine converts;
    else a folder of the reader's own stands in for it.
    """
    name, weights = filled["model"], filled["weights"]
    if not isinstance(name, str):
        folder = f"{FOLDER}/model"
        return folder, None, [own_weights(folder, "the model of the config", weights)]
    model = facts.model(name)
    found = origin(name=name, weights=weights, engine=launcher.id, facts=facts)
    if found.repository or found.way == AS_PUBLISHED:
        place = found.repository or f"{FOLDER}/{model.id}"
        return place, weights if found.way == AS_LOADED else None, []
    if launcher.id == "llama.cpp":
        named = next(iter(published_in(model, facts)), "bf16") if weights == PUBLISHED else weights
        form = facts.weights_format(named) if isinstance(named, str) and named not in SIXTEEN_BIT else None
        shown = form.name.replace(" ", "_") if isinstance(form, Mixture | NumberFormat) else "BF16"
        file = f"{FOLDER}/{model.id}-{shown}.gguf"
        return file, None, [own_weights(file, model.name, shown)]
    folder = f"{FOLDER}/{model.id}-{weights if isinstance(weights, str) else 'quantized'}"
    return folder, None, [own_weights(folder, model.name, weights)]


def own_weights(place: str, model: str, weights: object) -> Warn:
    """Return that the reader has to bring the weights."""
    message = f"put {model} in {weights} at {place}, or the name of a repository that holds it in its place"
    return Warn("weights-needed", message, "weights", INFO)


def generating(asked: Mapping[str, object], filled: Mapping[str, Any]) -> str:
    """Return a program that loads a model with transformers, as the scenario has it, and writes."""
    form, imports, keys = asked.get("loading"), "AutoModelForCausalLM, AutoTokenizer", ""
    if form in ("nf4", "nf4-dq"):
        imports += ", BitsAndBytesConfig"
        double = f"True, bnb_4bit_use_double_quant={form == 'nf4-dq'}"
        keys = f', quantization_config=BitsAndBytesConfig(load_in_4bit={double}, bnb_4bit_quant_type="nf4")'
    elif form == "int8":
        imports += ", BitsAndBytesConfig"
        keys = ", quantization_config=BitsAndBytesConfig(load_in_8bit=True)"
    attention = "eager" if filled["attention"] == "eager" else "sdpa"
    return f"""import sys

from transformers import {imports}

name = sys.argv[1]
tokenizer = AutoTokenizer.from_pretrained(name)
model = AutoModelForCausalLM.from_pretrained(
    name, torch_dtype="auto", device_map="auto", attn_implementation="{attention}"{keys}
)
inputs = tokenizer(sys.stdin.read(), return_tensors="pt").to(model.device)
print(tokenizer.decode(model.generate(**inputs, max_new_tokens={filled["output_tokens"]})[0]))
"""
