"""Cost and energy: rent against hardware of one's own, over its life, for an hour of work, a million tokens, a run."""

from calc.calculators.arriving import FIELDS as ARRIVALS
from calc.calculators.calculator import Calculator, Preset
from calc.calculators.cost_answer import headline, render, row
from calc.calculators.cost_report import account
from calc.calculators.hosting import FIELDS as ON_HOST
from calc.calculators.owning import INPUTS as OWNED
from calc.calculators.rendering import spoken
from calc.calculators.serving_inputs import scenario
from calc.calculators.several import FIELDS as SEVERAL
from calc.calculators.speed import INPUTS as SPEED_INPUTS

DEFAULTS = {"sequences": "8", "weights": "awq", "engine": "vllm", "accelerator": "rtx-5090"}
INPUTS = (
    *(
        field._replace(default=DEFAULTS.get(field.name, field.default))
        for field in SPEED_INPUTS
        if field.name not in ARRIVALS | ON_HOST | SEVERAL
    ),
    *OWNED,
)

PRESETS = (
    Preset("Llama 3.1 8B for 8 readers on an RTX 5090", {}),
    Preset("… busy one hour in ten", {"busy_percent": "10"}),
    Preset("… in a data centre that cools", {"pue": "1.58"}),
    Preset(
        "Llama 3.3 70B for 32 readers on eight H100 of a server at your price",
        {
            "model": "llama-3.3-70b",
            "weights": "bf16",
            "accelerator": "h100-sxm-80gb",
            "accelerators": "8",
            "sequences": "32",
            "purchase_price": "25000",
            "machine_price": "60000",
            "machine_watts": "4600",
            "pue": "1.3",
        },
    ),
    Preset(
        "gpt-oss 120B on a DGX Spark, one reader",
        {
            "model": "gpt-oss-120b",
            "weights": "mxfp4",
            "engine": "llama.cpp",
            "accelerator": "gb10",
            "sequences": "1",
            "machine_watts": "100",
        },
    ),
)


CALCULATOR = Calculator(
    id="cost",
    title="Cost and energy",
    question="What do these GPUs cost, rented or bought, and from when on is buying cheaper?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=scenario,
    render=render,
    status=spoken(headline),
    headings=("An hour rented", "An hour of one's own", "A million tokens of one's own"),
    row=row,
    answer=account,
)
