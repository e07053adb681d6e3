"""Several models on one device: a published case, what more of something can never do, and where it breaks."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from calc.calculators import CALCULATORS
from calc.catalog import catalog
from calc.planning.sharing import Holding, Sharing, sharing_steps

GIB = 2**30
SHARING = CALCULATORS["sharing"]


def report(**inputs: object) -> dict[str, Any]:
    """Return the report on models that share a device."""
    found: dict[str, Any] = SHARING.report({name: str(value) for name, value in inputs.items()})
    return found


def test_llama_and_bart_share_an_rtx_4090() -> None:
    """Claim A015: 14.96 and 1.52 GiB of weights, contexts of 0.4 to 0.8 each, 36 to 51 thousand tokens of cache.

    With a display and the driver's own part counted it is the lower end; without a display well within.
    """
    found = report(display=0)
    llama, bart = found["tenants"]
    assert found["fits"]
    assert llama["weights"] == pytest.approx(14.96 * GIB, rel=0.001)
    assert bart["weights"] == pytest.approx(1.517 * GIB, rel=0.001)
    assert 0.4 * GIB < llama["context"] < 0.8 * GIB
    assert 36_000 < llama["cache_tokens"] < 51_000
    assert report()["tenants"][0]["cache_tokens"] == pytest.approx(36_000, rel=0.01)
    assert (bart["cache"], bart["cache_tokens"], bart["longest_context"]) == (0, None, None)


def test_the_whole_context_of_llama_is_never_beside_another_model() -> None:
    """Claim A015: 128 thousand tokens are 16 GiB of cache."""
    found = report(model="llama-3.1-8b", context_tokens=131072)
    assert found["tenants"][0]["cache"] == 16 * GIB
    assert not found["fits"] and found["left_bytes"] < 0


def test_an_engine_with_its_default_share_leaves_too_little() -> None:
    """Claim A015: vLLM at 0.9 of the card leaves the classifier too little; with the fitted share both fit."""
    found = report(engine="vllm")
    assert found["fits"] and found["missing_at_defaults_bytes"] > 0
    fraction = found["tenants"][0]["fraction"]
    assert 0.7 < fraction < 0.9
    visible = catalog().accelerator("rtx-4090").capacity_bytes - 0.45 * GIB
    taken = fraction * visible + found["tenants"][1]["needed"]
    assert taken < found["available_bytes"]


@pytest.mark.parametrize("display", [0, 100, 300, 500, 800])
def test_a_share_is_rounded_down(display: int) -> None:
    """With it vLLM leaves the other model its room, and with a hundredth more it does not."""
    found = report(engine="vllm", display=display)
    llama, bart = found["tenants"]
    scenario = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-4090", "context_tokens": 1024}
    takes: list[int] = []
    for share in (llama["fraction"], llama["fraction"] + 0.01):
        memory: Any = estimate({**scenario, "memory_fraction": share}, repairs=False)["memory"]
        takes.append(memory["device_bytes"])
    assert takes[0] <= found["available_bytes"] - bart["needed"] < takes[1]


def test_parts_add_up() -> None:
    """What is needed and what is left are the device's memory less the driver's and the display's."""
    found = report(model_3="bge-m3", model_4="whisper-tiny")
    needed = sum(tenant["needed"] for tenant in found["tenants"])
    assert needed + found["left_bytes"] == found["available_bytes"]
    assert sum(part["bytes"] for part in found["memory"]["parts"]) == found["memory"]["device_bytes"]
    assert len(found["tenants"]) == 4


def test_one_process_has_one_context() -> None:
    """Two processes of the same engine have two contexts, one has one."""
    two, one = report(), report(processes="one")
    assert one["left_bytes"] - two["left_bytes"] == two["tenants"][1]["context"]


@pytest.mark.parametrize("engine", ["transformers", "llama.cpp", "vllm", "sglang"])
def test_what_is_said_to_fit_does_and_one_more_does_not(engine: str) -> None:
    """The longest context and the most sequences are the last that leave nothing missing."""
    asked = {"engine": engine, "weights": "fp16", "accelerator": "rtx-5090"}
    tenant = report(**asked)["tenants"][0]
    for field, most in (("context_tokens", tenant["longest_context"]), ("sequences", tenant["most_sequences"])):
        assert report(**asked, **{field: most})["fits"]
        assert not report(**asked, **{field: most + 64 if field == "context_tokens" else most + 1})["fits"]


@settings(max_examples=25)
@given(st.integers(0, 8192), st.integers(256, 32_768), st.integers(1, 8))
def test_more_of_anything_never_leaves_more(display: int, context: int, sequences: int) -> None:
    """A larger display, a longer context or more sequences never leave more of the card."""
    less = report(display=display, context_tokens=context, sequences=sequences)["left_bytes"]
    assert report(display=display + 64, context_tokens=context, sequences=sequences)["left_bytes"] < less
    assert report(display=display, context_tokens=context + 256, sequences=sequences)["left_bytes"] < less
    assert report(display=display, context_tokens=context, sequences=sequences + 1)["left_bytes"] < less


@pytest.mark.parametrize(
    ("inputs", "field"),
    [
        ({"model_2": "nope"}, "model_2"),
        ({"weights_3": "nope", "model_3": "bge-m3"}, "weights_3"),
        ({"model": "nope"}, "model"),
        ({"engine_2": "nope"}, "engine_2"),
        ({"sequences_2": "0"}, "sequences_2"),
    ],
)
def test_a_mistake_is_said_at_its_own_model(inputs: dict[str, str], field: str) -> None:
    """Inputs of the second model are not mistaken for those of the first."""
    with pytest.raises(ScenarioError) as caught:
        SHARING.report(inputs)
    assert caught.value.field == field


def test_two_of_the_same_have_two_names() -> None:
    """Two copies of a model are told apart."""
    found = report(model_2="llama-3-8b", weights="q4_k_m", weights_2="q4_k_m")
    assert [tenant["name"] for tenant in found["tenants"]] == ["Llama 3 8B", "Llama 3 8B (2)"]


def test_the_working_of_two_that_share_a_context() -> None:
    """24 less the driver's 1 and the display's 2 are 21, for 3 + 2 + 1 + 4 and 5 + 0 + 1 + 4, less a context of 4."""
    holdings = (Holding(3, 2, 1, 4, kept=0, claimed=0), Holding(5, 0, 1, 4, kept=0, claimed=0))
    apart, joined = (Sharing(24, 1, 2, holdings, saved=saved) for saved in (0, 4))
    first, one, two, left = sharing_steps(apart, ("a", "b"))
    assert (first.substituted, first.value, first.unit) == ("24 − 1 − 2", 21, "B")
    assert [(step.name, step.substituted, step.value) for step in (one, two)] == [
        ("Needed by a", "3 + 2 + 1 + 4", 10),
        ("Needed by b", "5 + 0 + 1 + 4", 10),
    ]
    assert (left.substituted, left.value, left.unit) == ("21 − 10 − 10", 1, "B")
    assert left.formula == r"M_{\text{available}} - \sum M_{\text{needed}}"
    left = sharing_steps(joined, ("a", "b"))[-1]
    assert (left.substituted, left.value) == ("21 − 10 − 10 + 4", 5)
    assert left.formula == r"M_{\text{available}} - \sum M_{\text{needed}} + M_{\text{shared contexts}}"


def test_what_default_shares_leave_out() -> None:
    """Engines that claim 15 and need 10 beside one that needs 12: 27 of 24 are 3 too many, and sharing saves some."""
    holdings = (Holding(6, 2, 1, 1, kept=0, claimed=15), Holding(9, 1, 1, 1, kept=0, claimed=0))
    assert Sharing(24, 0, 0, holdings, saved=0).missing_at_defaults() == 3
    assert Sharing(24, 0, 0, holdings, saved=5).missing_at_defaults() == -2
    assert Sharing(24, 0, 0, holdings, saved=0).room(0) == 24 - 12
