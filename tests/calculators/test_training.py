"""The training calculators: what a form's fields become, how errors find their field, what the answer shows."""

import json
import re
from html import unescape

import pytest

from calc.calculators import CALCULATORS
from calc.calculators.training_answer import taken_by
from calc.training.changes import Change
from tests.calculators.asking import ask


@pytest.mark.parametrize(
    ("name", "fields", "field"),
    [
        ("fine-tune", {"rank": "9000"}, "rank"),
        ("fine-tune", {"rank": "0"}, "rank"),
        ("fine-tune", {"optimizer": "adam"}, "optimizer"),
        ("fine-tune", {"offload": "parameters"}, "offload"),
        ("fine-tune", {"optimizer": "muon", "sharding": "zero-3"}, "optimizer"),
        ("fine-tune", {"base_weights": "q4_k_m"}, "base_weights"),
        ("pre-training", {"tensor": "3"}, "tensor"),
        ("pre-training", {"pipeline": "33"}, "pipeline"),
        ("pre-training", {"expert": "2"}, "expert"),
        ("pre-training", {"sequence_parallel": "yes"}, "sequence_parallel"),
    ],
)
def test_what_cannot_be_comes_back_by_field(name: str, fields: dict[str, str], field: str) -> None:
    """An error stands at the input that causes it."""
    found = ask(name, **fields)
    assert not found["ok"]
    assert [error["field"] for error in found["errors"]] == [field]


def test_full_training_has_no_rank_and_no_base() -> None:
    """The two inputs do nothing then, instead of being refused."""
    plain = CALCULATORS["fine-tune"].report({"method": "full"})
    assert CALCULATORS["fine-tune"].report({"method": "full", "rank": "64", "base_weights": "nf4"}) == plain
    assert "lora" not in plain["scenario"]


def test_where_it_does_not_fit_repairs_are_shown() -> None:
    """The 70B on two 24 GB cards: what would make it fit, with effect and price."""
    cards = {"model": "llama-3.3-70b", "accelerator": "rtx-3090", "accelerators": "2", "sharding": "zero-3"}
    found = ask("fine-tune", **cards)
    html = found["html"]
    assert " Offload the parameters, and " in found["status"]
    assert "Each of these alone makes it fit, cheapest first" in html
    assert "Offload the parameters" in html and "of host memory" in html
    assert "Largest micro-batch" not in html


@pytest.mark.parametrize(
    ("name", "fields", "least"),
    [
        ("fine-tune", {"method": "full", "accelerator": "rtx-4090"}, 3),
        ("fine-tune", {"model": "llama-3.3-70b", "accelerator": "rtx-4090"}, 1),
        ("fine-tune", {"method": "lora", "sequence_tokens": "16384"}, 1),
        ("pre-training", {"sharding": "none"}, 2),
        ("pre-training", {"model": "llama-3.1-70b"}, 1),
    ],
)
def test_what_a_press_takes_makes_it_fit(name: str, fields: dict[str, str], least: int) -> None:
    """The fields of each change that is offered, put into the form beside the others, make the run fit."""
    offered = re.findall(r'data-change="([^"]+)"', ask(name, **fields)["html"])
    assert len(offered) >= least
    for change in offered:
        report = CALCULATORS[name].report({**fields, **json.loads(unescape(change))})
        assert report["memory"]["fits"], change


def test_a_change_that_the_form_does_not_ask_stays_words() -> None:
    """The form of fine-tuning asks neither for tensor ranks nor for an optimizer within the backward pass."""
    known = {field.name for field in CALCULATORS["fine-tune"].inputs}
    wider = {"tensor": 2, "pipeline": 1, "data": 1, "context": 1, "expert": 1}

    def taken(**fields: object) -> dict[str, str] | None:
        return taken_by(Change("id", "what", "price", 0, fields=fields), known)

    assert taken(parallelism=wider, accelerators=2) is None
    assert taken(parallelism={**wider, "tensor": 1, "data": 2}, accelerators=2) == {"accelerators": "2"}
    assert taken(optimizer_in_backward=True) is None
    assert taken(offload=["optimizer", "parameters"]) is None
    assert taken(method="qlora", base_weights=None) == {"method": "qlora", "base_weights": ""}


def test_where_it_fits_the_room_is_shown() -> None:
    """Largest micro-batch and longest sequence; no repairs where it surely fits, and what makes it sure where not."""
    tight, sure = (ask("fine-tune", accelerator=device)["html"] for device in ("rtx-4090", "h100-sxm-80gb"))
    assert all("Largest micro-batch" in html and "Longest sequence" in html for html in (tight, sure))
    assert "calc-repairs" not in sure and "Each of these alone makes it sure, cheapest first:" in tight


@pytest.mark.parametrize(
    ("fields", "state", "why"),
    [
        ({}, "yes", ""),
        ({"model": "gemma-3-4b"}, "tight", "That it fits is not certain: not all of its memory is counted."),
        ({"model": "t5-3b"}, "tight", "That it starts is not certain: nothing like it was measured."),
    ],
    ids=str,
)
def test_a_tick_that_is_withheld_says_why(fields: dict[str, str], state: str, why: str) -> None:
    """Where memory is not wholly counted, and where nobody measured the like, however much room is left."""
    found = ask("fine-tune", **{"model": "llama-3.1-8b", "method": "lora", "accelerator": "h200-sxm-141gb", **fields})
    assert f'data-fits="{state}"' in found["html"]
    assert why in found["status"] and bool(why) is ("not certain" in found["status"])


def test_pre_training_is_offered_no_adapters() -> None:
    """A model that is not trained yet has nothing to adapt."""
    html = ask("pre-training", sharding="none")["html"]
    assert "Shard with" in html
    assert "LoRA" not in html


def test_every_phase_has_a_bar_and_one_is_the_peak() -> None:
    """The phases stand in the order of a step."""
    html = ask("fine-tune")["html"]
    names = [html.index(f"{name} ") for name in ("Forward", "Loss", "Backward", "Optimizer")]
    assert names
    assert html.count('class="part-peak"') == 1
    assert html.count('class="part-phase"') == 3
    assert "The peak: the loss runs backward" in html


def test_a_model_of_one_s_own_is_trained() -> None:
    """A config in the form does what a name does."""
    config = {
        "model_type": "llama",
        "hidden_size": 512,
        "intermediate_size": 1024,
        "num_hidden_layers": 4,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "vocab_size": 32000,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": False,
    }
    for name in ("fine-tune", "pre-training"):
        found = ask(name, model=json.dumps({"name": "own", "config": config}))
        assert found["ok"], found
        assert "It fits" in found["status"]


@pytest.mark.parametrize("model", ["mamba-2.8b", "falcon-mamba-7b", "mixtral-8x7b", "gpt2", "qwen3-next-80b-a3b"])
@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
def test_every_kind_of_layer_is_answered(model: str, method: str) -> None:
    """The scenario that a report filled in is read again by the repairs, whatever the matrices are called."""
    assert ask("fine-tune", model=model, method=method)["ok"]
