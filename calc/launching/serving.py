"""The command that serves what a scenario of inference is about: the choices that its report made, flag by flag."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from calc.catalog import Catalog
from calc.catalog.launchers import Launcher
from calc.catalog.records import Accelerator, Engine, Mixture, NumberFormat
from calc.derivation import INFO, Warn
from calc.launching.command import Said, flags_of
from calc.launching.drafts import LLAMA, MLX, drafts, named
from calc.launching.layouts import degrees, of_experts, over_ranks
from calc.launching.stores import stored
from calc.launching.tensorrt_llm import options
from calc.launching.unsaid import SHARE_OF_ALL, TRITON, unsaid
from calc.memory.runtime import visible_bytes
from calc.performance.fabric import joined
from calc.scenario.fields import PUBLISHED
from calc.service.checkpoints import AS_LOADED, AS_PUBLISHED, SIXTEEN_BIT, origin, published_in

ALL_LAYERS = "999"  # more than any model has: llama.cpp counts the head too
PLAIN_CACHE = ("bf16", "fp16")
HEAD = "$HEAD"  # the first machine, as a cluster names it
PORT, RAY_PORT = 20000, 6379
LARGEST_PASS = 2048  # tokens: llama.cpp's passes are cut to its batch, which has to be said to be larger
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # the largest ranks of adapters that vLLM can be told
FOLDER = "/models"
ADAPTER = f"{FOLDER}/adapter"
NAMED = {
    "vllm": "--lora-modules as NAME=FOLDER",
    "sglang": "--lora-paths as NAME=FOLDER",
}  # adapters, and where they are


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
    filled = {**report["scenario"], **named(report["scenario"].get("speculation"), facts)}
    launcher = facts.launcher(filled["engine"])
    device, count = first_device(filled, facts), filled["accelerators"]
    inside = count
    if device is not None and count > 1 and not isinstance(filled["accelerator"], list):
        inside = min(joined(device, ranks=count).inside, count)
    machines = -(-count // inside)
    model, loading, warnings = weights_of(filled, facts, launcher)
    asked = dict(choices(scenario, {**report, "scenario": filled}, facts, launcher))
    asked |= {"loading": loading} if loading else {}
    if machines > 1:
        asked |= {"machines": machines, "rank": "$RANK", "head": HEAD, "address": f"{HEAD}:{PORT}", "ray": "ray"}
    # As asked: what is filled in is the first of an era that goes on.
    version = facts.engine(launcher.id).carried_by(str(scenario.get("engine_version") or "")) or ""
    files: list[tuple[str, str]] = []
    if launcher.id == "tensorrt-llm":
        files.append(("options.yaml", options(filled, facts)))
        asked["options"] = "options.yaml"
        warnings += [keys_needed()] if machines > 1 else []
    if launcher.id == "transformers":
        files.append(("generate.py", generating(asked, filled)))
    said, left = flags_of(launcher, asked, version)
    warnings += [*left, *unsaid(scenario, launcher.id)]
    if filled.get("backend") == "aiter":  # no flag turns it on
        warnings.append(Warn("environment-needed", "start it with VLLM_ROCM_USE_AITER=1 in its environment", "backend"))
    if "adapters_served" in filled:
        warnings.append(adapters_needed(launcher.id))
    if launcher.id == LLAMA and (backend := filled.get("backend")):
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


def choices(
    scenario: Mapping[str, object], report: Mapping[str, Any], facts: Catalog, launcher: Launcher
) -> Iterator[tuple[str, object]]:
    """Iterate over what a report chose or assumed, by the name that flags have for it."""
    filled = report["scenario"]
    engine = facts.engine(filled["engine"]).of_version(str(scenario.get("engine_version") or "") or None)
    yield from (*degrees(filled["parallelism"], launcher), *of_experts(filled))
    yield "context_tokens", filled.get("longest_tokens") or filled["context_tokens"] + filled["cached_tokens"]
    yield from device_share(filled, report, facts, engine)
    for name, field in (("slots", "sequence_slots"), ("batched_tokens", "batched_tokens")):
        if field in scenario and scenario[field] is not None:
            yield name, over_ranks(filled[field], filled)
    if limit := report["memory"].get("sequence_limit"):
        yield "slots", over_ranks(limit, filled)
    both = [filled[name] for name in ("kv_cache", "kv_cache_v")]
    if both[0] not in PLAIN_CACHE:
        yield "cache", both[0]
    if both[1] not in PLAIN_CACHE and (engine.id == "llama.cpp" or both[0] != both[1]):
        yield "cache_v", both[1]
    if filled.get("shared_prefix_tokens") or filled.get("prefix_hit_rate"):
        yield "prefixes", True
    yield from beside(filled)
    yield from stored(filled, engine.id)
    if scenario.get("attention") == TRITON:
        yield "attention", TRITON
    if engine.id == "llama.cpp":
        if filled["attention"] == "flash" or not engine.lacks("attends_in_tiles"):
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
        yield "adapters", f"{ADAPTER}.gguf" if filled["engine"] == LLAMA else ADAPTER
        yield "adapter_count", served_beside["count"]
        yield "adapter_rank", largest_rank(served_beside["rank"], filled["engine"])
        yield "adapted", " ".join(served_beside["targets"])
    if drafted := filled.get("speculation"):
        yield from drafts(drafted, filled["engine"])


def adapters_needed(engine: str) -> Warn:
    """Return that the reader has to bring the adapters, and how requests find them."""
    named = f"name each after {NAMED[engine]}, or load it while the server runs" if engine in NAMED else ""
    put = f"put the adapter at {ADAPTER}" if engine in (LLAMA, MLX) else "each request names its adapter by its folder"
    return Warn("adapters-needed", named or put, "adapters_served", INFO)


def largest_rank(rank: int, engine: str) -> int:
    """Return the largest rank of adapters that an engine is told: vLLM knows some, and takes smaller ones, too."""
    return next((known for known in RANKS if known >= rank), rank) if engine == "vllm" else rank


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
    if scenario.get("batched_tokens") and filled["batched_tokens"] > LARGEST_PASS:
        yield "batch", filled["batched_tokens"]
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


def keys_needed() -> Warn:
    """Return that machines whose ranks MPI starts have to know each other."""
    message = (
        "MPI starts the ranks of other machines over SSH: put a key that all of them know into ~/.ssh, on Kubernetes "
        "into a secret named ssh (id_ed25519 and authorized_keys), and by hand name them in HOSTS with the ranks of "
        "each, first:8,second:8"
    )
    return Warn("keys-needed", message, "parallelism", INFO)


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
    name, dtype="auto", device_map="auto", attn_implementation="{attention}"{keys}
)
inputs = tokenizer(sys.stdin.read(), return_tensors="pt").to(model.device)
print(tokenizer.decode(model.generate(**inputs, max_new_tokens={filled["output_tokens"]})[0]))
"""
