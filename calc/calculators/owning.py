"""What a form asks about hardware of one's own: its prices, its life, how busy it is, and its power."""

from calc.calculators.inputs import Amount, Number
from calc.scenario.reader import MOST_PRICE

INPUTS = (
    Amount(
        "purchase_price",
        "Price of a GPU to buy",
        "In US dollars. Empty: the newest in the catalogue, with its day.",
        "",
        least=0,
        most=MOST_PRICE,
        topic="If you buy",
    ),
    Amount(
        "machine_price",
        "Price of the machine around them",
        "In US dollars: case, processor, memory, supply. Empty: nothing.",
        "",
        least=0,
        most=MOST_PRICE * 10,
        topic="If you buy",
    ),
    Number(
        "life_years", "Years of use", "After them it is sold or thrown away.", "4", least=1, most=20, topic="If you buy"
    ),
    Number(
        "resale_percent",
        "Resale",
        "Per cent of the price that come back at the end.",
        "0",
        least=0,
        most=100,
        topic="If you buy",
    ),
    Number(
        "busy_percent",
        "Busy",
        "Per cent of all hours in which it works.",
        "50",
        least=1,
        most=100,
        topic="Use and power",
    ),
    Number(
        "machine_watts",
        "Power of the rest of the machine",
        "Watts of all but the GPUs.",
        "150",
        least=0,
        most=1_000_000,
        topic="Use and power",
    ),
    Number(
        "idle_percent",
        "Idle power",
        "Per cent of the GPUs' power that they draw while they wait.",
        "15",
        least=0,
        most=100,
        topic="Use and power",
    ),
    Amount(
        "pue",
        "PUE",
        "Power of the site for each watt of the machine: 1 where nothing is cooled apart.",
        "1.0",
        least=1,
        most=5,
    ),
    Amount(
        "run_hours",
        "Hours of a run",
        "A job whose cost you want to know, such as a fine-tune.",
        "24",
        least=0,
        most=MOST_PRICE,
    ),
)
FIELDS = {field.name for field in INPUTS}
