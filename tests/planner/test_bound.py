"""What a scenario needs at least: of Llama 3.1 8B on two cards, worked by hand."""

import random
from math import inf

import pytest

from calc.catalog import catalog
from calc.planner.bound import Bound, Bounds, alike, longest_of, needed, shared_with_host
from calc.planner.candidate import Candidate
from calc.planner.devices import Devices
from calc.planner.question import read_question
from calc.planner.search import Search
from calc.planning.bounds import Least
from calc.scenario.model import known_architecture

CARD = catalog().accelerator("rtx-3090")
PAIR = Devices(CARD, 2, None, None)
SCENARIO: dict[str, object] = {"model": "llama-3.1-8b", "weights": "bf16", "engine": "vllm", "accelerator": CARD.id}
TABLE = 128_256 * 4096  # the input table, which no step reads and no device has to hold
WEIGHTS = 8_030_261_248
SEED = 20261127


def candidate(**changed: object) -> Candidate:
    """Return a way to serve on two cards."""
    return Candidate("a", PAIR, ({**SCENARIO, "accelerators": 2} | changed,), 0)


def test_devices_alone_do_not_change_what_is_asked() -> None:
    """Two scenarios are alike whatever they run on, and not where the context is another."""
    assert alike(SCENARIO) == alike({**SCENARIO, "accelerator": "h100-sxm-80gb", "accelerators": 8})
    assert alike(SCENARIO) != alike({**SCENARIO, "context_tokens": 4096})


def test_weights_are_held_and_read() -> None:
    """Two bytes of each but the input table's, over both cards; names say the same as all fields."""
    bounds, found = Bounds(catalog()), candidate()
    read, quick = bounds.of(found, found.scenario), bounds.quick(found, found.scenario)
    assert read.least == quick.least
    assert read.least.held == read.least.read == bounds.least_held(found.scenario)
    assert read.least.read == 2 * (WEIGHTS - TABLE)
    assert read.step_s == quick.step_s == read.least.read / (2 * 936e9)
    assert (read.stages, quick.stages, quick.sequences, read.sequences) == (1, 1, 1, 1)


def test_engines_that_split_layers_pass_one_device_after_the_other() -> None:
    """llama.cpp gives each of two cards half of the layers: a token takes as long as on one, unless it is said how."""
    bounds = Bounds(catalog())
    staged = candidate(engine="llama.cpp", weights="f16")
    assert bounds.of(staged, staged.scenario).stages == bounds.quick(staged, staged.scenario).stages == 2
    said = candidate(engine="llama.cpp", weights="f16", parallelism={"tensor": 2})
    assert bounds.stages(said, said.scenario, "llama.cpp") == 1
    unlike = staged._replace(devices=PAIR._replace(unlike=(CARD, CARD)))
    assert bounds.stages(unlike, staged.scenario, "llama.cpp") == 1


def test_what_is_not_a_name_is_read() -> None:
    """A part in the host's memory, a draft, or FP32, which some engines halve, is no matter of names."""
    bounds = Bounds(catalog())
    assert bounds.least_held({**SCENARIO, "gpu_layers": 3}) == bounds.least_held({**SCENARIO, "weights": "fp32"}) == 0
    assert (
        bounds.named({**SCENARIO, "model": {"config": {}}}) is None and bounds.named({"model": "llama-3.1-8b"}) is None
    )
    assert (
        shared_with_host({"gpu_layers": 3})
        and not shared_with_host({"gpu_layers": 0})
        and not shared_with_host(SCENARIO)
    )


def test_a_prompt_is_what_no_cache_has() -> None:
    """Of 1,000 tokens 400 are shared; the answer's first token comes with the prompt, so 99 more pass."""
    asked = {**SCENARIO, "prompt_tokens": 1000, "output_tokens": 100}
    bound = needed({**asked, "shared_prefix_tokens": 400})
    assert (bound.prompt, bound.multiplied_tokens) == (600, 699)
    assert needed(asked).multiplied_tokens == 1099
    assert needed({**asked, "output_tokens": 1}).multiplied_tokens == 1001


def test_a_cache_is_a_sequence_s() -> None:
    """32 layers × 2 × 1,024 values of 2 bytes for each of 8,192 tokens; a step reads the prompt's 7,680 at least."""
    assert needed({**SCENARIO, "context_tokens": 8192, "output_tokens": 512}).cache == (8192 * 2**17, 7680 * 2**17)


def test_what_cannot_be_read_needs_nothing() -> None:
    """And says nothing of sequences; names say what is given."""
    wrong = needed({**SCENARIO, "context_tokens": -1})
    assert (wrong.asked, wrong.least, wrong.cache, wrong.prompt, wrong.multiplied_tokens) == (
        None,
        Least(0, 0),
        (0, 0),
        0,
        0,
    )
    assert wrong.sequences == inf and Bound(None, Least(1, 1), 0.0, given=3).sequences == 3
    assert longest_of("no such model", catalog()) is None and longest_of("llama-3.1-8b", catalog()) == 131072


def test_a_draft_lets_a_step_write_more() -> None:
    """Three drafted tokens and one: a step that reads the weights once writes four at most."""
    drafted = candidate(speculation={"method": "eagle", "acceptance": 0.7, "tokens": 3})
    bounds = Bounds(catalog())
    bound = bounds.of(drafted, drafted.scenario)
    assert bound.written == 4
    assert bound.step_s == bound.least.read / (2 * 936e9) / 4
    assert bounds.own(drafted).cache_s == bound.cache[1] / (2 * 936e9) / 4


def test_prompts_take_operations() -> None:
    """Of 1,000 tokens each for two sequences twice the multiplied weights, shared over the tokens that are written."""
    bounds = Bounds(catalog())
    found = candidate(prompt_tokens=1000, output_tokens=100, sequences=2)
    own, bound = bounds.own(found), bounds.of(found, found.scenario)
    rate = PAIR.operations_per_s or 0
    assert own.prompt_s == pytest.approx(2 * bound.least.multiplied * 1000 * 2 / rate / 100)
    assert own.steps == pytest.approx(0.99) and own.stages == 1
    assert own.cache_s == pytest.approx(2 * bound.cache[1] / (2 * 936e9))


def test_the_usual_engine_is_found_by_names() -> None:
    """A card takes GGUF under llama.cpp, which gives each device whole layers; sequences are those that are given."""
    bounds = Bounds(catalog())
    usual = candidate(engine="usual", weights="q4_k_m", sequences=4)
    quick, read = bounds.quick(usual, usual.scenario), bounds.of(usual, usual.scenario)
    assert quick.asked is None and read.asked and read.asked.engine and read.asked.engine.id == "llama.cpp"
    assert (
        (quick.stages, quick.sequences, quick.least) == (read.stages, read.sequences, read.least) == (2, 4, quick.least)
    )
    nowhere = candidate(engine="usual", weights="mlx-4bit")
    named = bounds.named(nowhere.scenario)
    assert named and named.families == ("llama",) and bounds.engine(nowhere, nowhere.scenario, named) == ""
    part = {"gpu_layers": 3, "engine": "llama.cpp", "weights": "q4_k_m"}
    for field in (part, {"kv_cache": "fp8"}, {"sequences": "max"}):
        whole = candidate(**field)
        assert bounds.quick(whole, whole.scenario).asked is not None


def test_lengths_are_read_once() -> None:
    """Prompt, answer and what stands before them, or the context; of what a model is made for, by any of its names."""
    bounds = Bounds(catalog())
    assert bounds.tokens({"prompt_tokens": 1000, "output_tokens": 100, "cached_tokens": 50}, 8192) == 1150
    assert bounds.tokens({"prompt_tokens": 1000, "output_tokens": 100}, 8192) == 1100
    assert bounds.tokens({"context_tokens": 4096}, 8192) == 4096
    assert bounds.longest({"model": "llama-3.1-8b"}) == bounds.longest({"model": "meta-llama/Llama-3.1-8B"}) == 131072


@pytest.mark.parametrize(
    ("more", "sequences"),
    [({}, 1), ({"sequences": 7}, 7), ({"sequences": "max"}, None), ({"concurrency": 7}, None)],
)
def test_weights_and_all_caches_are_held(more: dict[str, object], sequences: int | None) -> None:
    """Those of each sequence of Llama 3.1 8B: 128 KiB a token; none of those that wait or are looked for."""
    found = candidate(context_tokens=1024, **more)
    expected = 0 if sequences is None else 2 * (WEIGHTS - TABLE) + sequences * 1024 * 2**17
    assert Bounds(catalog()).held(found) == expected


def test_what_is_asked_is_read_once_for_all_numbers() -> None:
    """Two and four cards are asked the same, each with its own number of devices."""
    bounds, two = Bounds(catalog()), candidate()
    four = two._replace(devices=PAIR.times(2), scenarios=({**two.scenario, "accelerators": 4},))
    counts = [bounds.question(one).layout.devices for one in (two, four)]
    assert counts == [2, 4] and len(bounds.read) == 1


def test_kernels_begin_alike_in_all_formats_of_an_engine_s_own() -> None:
    """llama.cpp's kernels for a few rows begin alike whatever they read: 225 products, 32 times attention, and more."""
    bounds = Bounds(catalog())
    plain, packed = (candidate(engine="llama.cpp", weights=weights) for weights in ("bf16", "q4_k_m"))
    found = bounds.least_begun(plain, plain.scenario, "bf16").starts_s
    assert bounds.least_begun(packed, packed.scenario, "q4_k_m").starts_s == pytest.approx(found)
    assert bounds.begun(packed, packed.scenario) == bounds.begun(plain, plain.scenario) == pytest.approx((found, 0.0))
    assert found > 225 * catalog().engine("llama.cpp").values["vector_start_s"]
    assert bounds.begun(candidate(), {**SCENARIO, "kv_cache": "fp8"}) == (0, 0)


def test_layers_on_more_devices_begin_as_on_one() -> None:
    """llama.cpp's devices each have whole layers: the kernels of a token are as many, one device after the other."""
    bounds, pair = Bounds(catalog()), candidate(engine="llama.cpp", weights="q4_k_m")
    eight = pair._replace(devices=PAIR.times(4), scenarios=({**pair.scenario, "accelerators": 8},))
    found = [bounds.least_begun(one, one.scenario, "q4_k_m").starts_s for one in (pair, eight)]
    alone = Bounds(catalog()).least_begun(eight, eight.scenario, "q4_k_m").starts_s
    laws = [law for kind in bounds.beginnings.kinds.values() for law in kind.laws]
    assert found == pytest.approx([alone, alone]) and len(laws) == 1


def test_no_step_is_sooner_than_its_bound() -> None:
    """Of models, formats, devices and lengths drawn at random none takes less than to read and until kernels begin."""
    draw, facts, timed = random.Random(SEED), catalog(), 0
    search = Search(read_question({"want": "hardware", "model": "gpt2", "rank_by": "latency"}, facts), facts)
    models = [name for name in facts.ids("models") if known_architecture(facts, name).writes]
    kinds = [record for record in facts.accelerators() if record.architecture and record.segment != "cloud"]
    while timed < 80:
        kind, number = draw.choice(kinds), draw.choice([1, 1, 2, 4])
        scenario = {"model": draw.choice(models), "weights": draw.choice(["published", "fp8", "q4_k_m", "awq"])}
        scenario |= {"engine": "usual", "accelerator": kind.id, "accelerators": number}
        scenario |= {"context_tokens": draw.choice([512, 4096]), "sequences": draw.choice([1, 1, 8, 64])}
        asked = Candidate("a", Devices(kind, number, None, None), (scenario,), 0)
        if not isinstance(found := search.timed(asked), Candidate) or not found.speed:
            continue
        timed += 1
        bound = search.at_best(asked._replace(own=search.bounds.own(asked)))
        assert bound <= search.at_best(found), scenario
