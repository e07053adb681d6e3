"""Numbers of planning in prose: what is shown is the formula's value, and what it opens has the numbers put in."""

import pytest

from calc.catalog import catalog
from macros.planning_numbers import (
    PLANS,
    at_once,
    copies,
    flops_share,
    host_memory,
    owned,
    planned,
    served,
    training_total,
)
from macros.processor_tables import (
    coefficient,
    engine_value,
    offload_check_table,
    offload_table,
    processor_number,
    processor_table,
)


def test_a_number_opens_to_its_formula_and_its_inputs() -> None:
    """Two cards of 575 W and 350 W around them, loaded to eight tenths: 1,500 / 0.8."""
    html = planned("supply", boards_w=(2, "rtx-5090"), rest_w=350, loaded_share=0.8)
    assert ">1,875 W</button>" in html
    assert "(1,150 + 350) / 0.8" in html and "<mfrac>" in html
    assert "https://" in html  # where the cards' power is from


def test_a_machine_s_power_and_another_plan_may_be_put_in() -> None:
    """The maximum of a DGX H100 stands in the catalogue; a circuit's power is a plan of its own."""
    assert ">3</button>" in planned("in_rack", rack_w=40000, machine_w="dgx-h100")
    circuits = planned("circuits", watts=2000, circuit_w={"of": "circuit", "volts": 120, "amperes": 15})
    assert ">2</button>" in circuits and "2,000 / 1,440" in circuits


@pytest.mark.parametrize("name", PLANS)
def test_every_formula_is_drawn_and_has_a_place_for_each_number(name: str) -> None:
    """With 2 for everything the template is filled; nothing of it is left open."""
    plan = PLANS[name]
    given = dict.fromkeys(plan.of.__annotations__.keys() - {"return"}, 2.0)
    html = planned(name, **given)
    assert "<math>" in html and "{" not in html and plan.name in html


def test_what_is_not_a_number_of_planning_stops_the_build() -> None:
    """A wrong name, a machine without a known power, a cost without a price."""
    with pytest.raises(ValueError, match="there are requests"):
        planned("nothing")
    with pytest.raises(ValueError, match="no power of 'hgx-h100'"):
        planned("in_rack", rack_w=1, machine_w="hgx-h100")
    with pytest.raises(ValueError, match="not known here"):
        owned("owned", accelerator="l4-24gb")
    with pytest.raises(ValueError, match="not a speed"):
        served("fast", model="llama-3.1-8b", engine="vllm", accelerator="rtx-4090")
    with pytest.raises(ValueError, match="no speed is known"):
        served("each", model="llama-3.1-8b", accelerator="rtx-4090")
    with pytest.raises(ValueError, match=r"llama\.cpp"):
        host_memory(model="llama-3.1-8b", engine="vllm", accelerator="rtx-4090")


def test_people_become_copies_by_little_s_law() -> None:
    """At ten requests a second a scenario's seconds, tenfold, are in progress; copies hold them at their share."""
    asked = {"model": "qwen3-32b", "weights": "awq", "engine": "vllm", "accelerator": "h100-sxm-80gb", "sequences": 32}
    found = at_once(requests_per_s=10, **asked)
    inside = int(found.split("</button>")[0].rsplit(">", 1)[1])
    count = int(copies(requests_per_s=10, full_share=0.7, **asked).split("</button>")[0].rsplit(">", 1)[1])
    assert (count - 1) * 32 * 0.7 <= inside <= count * 32 * 0.7 + 1


def test_costs_speeds_and_memory_in_prose_are_the_calculators() -> None:
    """An RTX 5090 at the catalogue's prices; a speed; what a run takes; what a processor reads."""
    assert ">$" in owned("million", sequences=8) and "calc-step" in owned("hours")
    assert "tokens/s" in served("each", model="llama-3.1-8b", engine="vllm", accelerator="rtx-4090")
    assert "%</button>" in flops_share(model="llama-3.1-8b", engine="vllm", accelerator="h100-sxm-80gb")
    assert "GB</button>" in training_total(model="llama-2-7b", method="qlora", sequence_tokens=512)
    assert "tokens/s</button>" in processor_number("epyc-9554", "llama-2-7b", "q4_k_m")
    share = catalog().engine("llama.cpp").values["processor_read_share"]
    assert f">{share:g}</button>" in engine_value("llama.cpp", "processor_read_share")
    assert ">0.94</button>" in coefficient("link-share-network")


def test_layers_in_the_host_s_memory_make_it_slower() -> None:
    """The table falls from row to row, and says which rows fit; measured rows stand beside computed ones."""
    html = offload_table("llama-3.3-70b", "q4_k_m", "rtx-4090", (80, 44, 1))
    assert ">yes<" in html and ">no<" in html
    assert html.index("80 of 80") < html.index("44 of 80") < html.index("1 of 80")
    assert "16.9" in offload_check_table(
        "rtx-2080", (("qwen3-14b", 32, 16.9),), "llmfit-rtx-2080", {"processor": "core-i9-10900x"}
    )
    assert "EPYC 9554" in processor_table("llama-2-7b", "q4_k_m", ("epyc-9554",), ("rtx-4090",))


def test_experts_in_the_host_s_memory_have_a_table() -> None:
    """Of a mixture the fewest experts away are the fastest that fit; the host that is taken is named."""
    html = offload_table("qwen3-30b-a3b", "q4_k_m", "rtx-3060-12gb", (0, 48), what="experts_on_host")
    assert ">no<" in html and ">yes<" in html and "Ryzen 5 5600X" in html
