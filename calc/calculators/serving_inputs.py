"""Inputs of what an engine does beside plain serving, which several forms ask for, and the scenario they make."""

from calc.calculators.inputs import Amount, Choice, Input, Number

NESTED = ("speculation", "adapters", "start")  # objects of a scenario, whose fields have inputs named "object_field"
METHODS = (
    ("mtp", "The model's own layers (multi-token prediction)"),
    ("eagle", "A head trained for it (EAGLE-3)"),
    ("draft", "A smaller model"),
    ("ngram", "Looked up in the text (n-grams)"),
)


def cache_formats(topic: str = "", suffix: str = "", of: str = "") -> tuple[Choice, Choice]:
    """Return the inputs of the number formats that a cache is kept in: of both, and of values where they differ.

    `suffix` and `of` are those of one of several models of a form.
    """
    keys = Choice(
        f"kv_cache{suffix}",
        f"{of} model's cache" if of else "Number format of the cache",
        "16 bit unless your engine is told otherwise.",
        "bf16",
        kind="cache",
        topic=topic,
    )
    label = f"{of} model's cached values" if of else "Number format of the values"
    help_ = "Where values are kept in fewer bits than keys (llama.cpp's -ctv)."
    values = Choice(f"kv_cache_v{suffix}", label, help_, "", kind="cache", empty="As the keys", topic=topic)
    return keys, values


def shared_prefix(topic: str) -> Number:
    """Return the input of the tokens that all prompts have in common."""
    return Number(
        "shared_prefix_tokens",
        "Beginning that all prompts share",
        "Tokens of instructions or a document: cached once by engines that share pages.",
        "0",
        least=0,
        most=100_000_000,
        topic=topic,
    )


def hit_rate(topic: str) -> Amount:
    """Return the input of the share of a prompt that is found in the cache."""
    return Amount(
        "prefix_hit_rate",
        "Share of a prompt found in the cache",
        "From 0 to 1, as engines log it. Empty: the beginning that all share.",
        "",
        least=0,
        most=1,
        topic=topic,
    )


def speculation(topic: str) -> tuple[Input, ...]:
    """Return the inputs of what is drafted ahead."""
    return (
        Choice(
            "speculation_method",
            "Drafted by",
            "Several tokens are guessed and checked in one step.",
            "",
            options=METHODS,
            empty="Nothing: a token a step",
            topic=topic,
        ),
        Choice(
            "speculation_model",
            "Smaller model",
            "It drafts where that is chosen; it needs the same vocabulary.",
            "",
            kind="models",
            empty="None",
            topic=topic,
        ),
        Number("speculation_tokens", "Tokens drafted", "For each step.", "3", least=1, most=16, topic=topic),
        Amount(
            "speculation_acceptance",
            "Chance of a drafted token",
            "From 0 to 1, where those before it were accepted. Empty: as measured.",
            "",
            least=0,
            most=1,
            topic=topic,
        ),
    )


def adapters(topic: str) -> tuple[Input, ...]:
    """Return the inputs of adapters that are served."""
    return (
        Number(
            "adapters_count",
            "Adapters on the GPU at once",
            "LoRA adapters that requests choose from (max_loras); more can wait in the host's memory.",
            "0",
            least=0,
            most=10_000,
            topic=topic,
        ),
        Number("adapters_rank", "Rank of adapters", "The largest of them.", "16", least=1, most=4096, topic=topic),
    )


def shown_inputs(topic: str) -> tuple[Choice, Choice]:
    """Return the inputs of what a model that sees is shown."""
    alone = Choice(
        "text_only",
        "What it is shown",
        "Of a model that sees or hears: with text alone the engine does not load what it sees with.",
        "",
        options=(("yes", "Text alone"),),
        empty="All that it takes",
        topic=topic,
    )
    videos = Choice(
        "videos",
        "Videos",
        "vLLM sets memory aside for the longest video that some models take.",
        "",
        options=(("no", "None"),),
        empty="As any other input",
        topic=topic,
    )
    return alone, videos


def start(topic: str) -> tuple[Input, ...]:
    """Return the inputs of an engine's start."""
    places = (("disk", "A disk"), ("network", "A network: fetched first"), ("page-cache", "Memory: kept by the system"))
    return (
        Choice(
            "start_from",
            "Weights are on",
            "How long until the engine answers.",
            "",
            options=places,
            empty="Not asked",
            topic=topic,
        ),
        Amount(
            "start_bandwidth",
            "Bandwidth of that",
            "In GB/s. Empty: as logs of vLLM show.",
            "",
            least=0.001,
            most=1000,
            topic=topic,
        ),
        Choice(
            "start_compiled",
            "Compiled before",
            "What an earlier start compiled is still there.",
            "no",
            options=(("no", "No"), ("yes", "Yes")),
            topic=topic,
        ),
    )


def scenario(values: dict[str, object]) -> dict[str, object]:
    """Return the scenario of what a form holds: inputs of an object together, or none where its first is left empty."""
    found = {name: value for name, value in values.items() if not name.startswith(NESTED)}
    found |= {name: values[name] == "yes" for name in ("text_only", "videos") if name in values}
    for name in NESTED:
        inner = {key.removeprefix(f"{name}_"): value for key, value in values.items() if key.startswith(f"{name}_")}
        if inner.get("method"):
            found[name] = inner if inner["method"] == "draft" else {**inner, "model": None}
        elif inner.get("count"):
            found["adapters_served"] = inner
        elif inner.get("from"):
            rate = inner.get("bandwidth")
            found["start"] = {
                "from": inner["from"],
                "bandwidth": f"{rate:g} GB/s" if isinstance(rate, float) else None,
                "compiled": inner.get("compiled") == "yes",
            }
    return found
