"""What a training budget buys: by each scaling law the best size and tokens, and the run on real devices."""

from collections.abc import Mapping
from typing import NamedTuple

from calc.catalog import Catalog, catalog
from calc.catalog.records import Accelerator, Fact
from calc.catalog.runs import Law
from calc.derivation import Step, Warn
from calc.errors import ScenarioError, check_names, nearest
from calc.performance.scaling_laws import PF_DAY_FLOPS, budget, loss, optimum, training_flops, wasted_share
from calc.planning.cost import Paid, rent_of
from calc.planning.runs import run_of, utilization_of
from calc.units import HOUR_S, show_power

Report = dict[str, object]
FIELDS = (
    "given",
    "amount",
    "law",
    "accelerator",
    "accelerators",
    "utilization",
    "usage",
    "price_per_hour",
    "parameters",
)
GIVEN = ("zettaflop", "pf-days", "device-hours", "money", "parameters", "run")
LEAST_FLOPS, MOST_FLOPS = 1e15, 1e30
ZETTA, BILLION = 1e21, 1e9
FITTED_FLOPS = 3e21  # the largest budget of Hoffmann et al. 2022, section 3.2


class Budget(NamedTuple):
    """A question about a training budget, read."""

    given: str
    amount: float
    law: Law
    device: Accelerator
    rate: Fact  # dense 16-bit FLOP/s of the device
    devices: int
    utilization: float
    usage: float
    price: Paid | None  # of a device and hour
    own_size: float | None  # billions of parameters

    @property
    def peak(self) -> float:
        """FLOP/s of a device's sheet."""
        return float(self.rate.value)


def scaling_report(scenario: Mapping[str, object]) -> Report:
    """Return what a budget trains best by each law, and how long, how much energy and how much money it takes.

    `given` says what `amount` counts: 10^21 operations ("zettaflop"), "pf-days", "device-hours", US dollars of rent
    ("money"), or billions of "parameters", whose best budget by `law` is looked for; "run" takes `amount` as billions
    of tokens for a model of `parameters` billions. `parameters` also asks what a size of one's own does with a budget.
    Raises ScenarioError for a field that is wrong.
    """
    asked = read_budget(scenario)
    operations = budget_step(asked)
    flops = operations.value
    if not LEAST_FLOPS <= flops <= MOST_FLOPS:
        ends = f"{show_power(LEAST_FLOPS)} to {show_power(MOST_FLOPS)}"
        raise ScenarioError("amount", f"is {show_power(flops)} operations; budgets from {ends} are answered")
    answers = [law_answer(law, flops, asked.own_size) for law in catalog().laws()]
    run = run_of(
        flops=flops,
        peak_flops_per_s=asked.peak,
        utilization=asked.utilization,
        devices=asked.devices,
        power_w=asked.device.quantity("power"),
        usage=asked.usage,
        price_per_hour=None if asked.price is None else asked.price.each,
    )
    steps = [operations, *optimum_steps(asked.law, flops), hours_step(asked, flops, run.device_hours)]
    return {
        "scenario": {
            **scenario,
            "given": asked.given,
            "law": asked.law.id,
            "accelerator": asked.device.id,
            "accelerators": asked.devices,
            "utilization": asked.utilization,
        },
        "model": {"id": None},
        "speed": None,
        "flops": flops,
        "laws": answers,
        "run": run._asdict() | {"device_hours": run.device_hours, "days": run.days},
        "price": None if asked.price is None else asked.price.report(),
        "steps": [step.as_dict() for step in steps],
        "warnings": [warning.as_dict() for warning in doubts(flops, asked.own_size, answers, asked.law)],
    }


def read_budget(scenario: Mapping[str, object]) -> Budget:
    """Return the question that a scenario asks; raises ScenarioError for a field that is wrong."""
    check_names(scenario, FIELDS)
    facts = catalog()
    given = str(scenario.get("given", "zettaflop"))
    if given not in GIVEN:
        raise ScenarioError("given", f"must be {', '.join(GIVEN)}, not {given!r:.60}{nearest(given, GIVEN)}")
    amount = positive(scenario, "amount")
    if amount is None:
        raise ScenarioError("amount", "is needed: how much of what is given")
    law = law_of(facts, str(scenario.get("law", "besiroglu-2024")))
    device = facts.accelerator(str(scenario.get("accelerator", "h100-sxm-80gb")))
    if device.sixteen_bit is None:
        raise ScenarioError("accelerator", f"no 16-bit rate of {device.name} is known, which a run would be timed by")
    return Budget(
        given=given,
        amount=amount,
        law=law,
        device=device,
        rate=device.sixteen_bit,
        devices=count_of(scenario.get("accelerators", 1024)),
        utilization=positive(scenario, "utilization", most=1.0) or facts.coefficient("training-utilization").value,
        usage=positive(scenario, "usage", least=1.0) or 1.0,
        price=rent_of(facts, device, positive(scenario, "price_per_hour")),
        own_size=positive(scenario, "parameters"),
    )


def positive(scenario: Mapping[str, object], field: str, *, least: float = 0.0, most: float = 1e30) -> float | None:
    """Return a field as a number above 0 and within its range, None where it was left out."""
    value = scenario.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not (value > 0 and least <= value <= most):
        upper = f" and at most {most:g}" if most < 1e30 else ""
        lower = f"at least {least:g}" if least else "above 0"
        raise ScenarioError(field, f"must be a number {lower}{upper}, not {value!r:.60}")
    return float(value)


def count_of(value: object) -> int:
    """Return the number of devices."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
        raise ScenarioError("accelerators", f"must be a whole number from 1 to 1,000,000, not {value!r:.60}")
    return value


def law_of(facts: Catalog, name: str) -> Law:
    """Return the law of that id."""
    known = {law.id: law for law in facts.laws()}
    if name not in known:
        raise ScenarioError("law", f"{name!r:.60} is not a law{nearest(name, known)}; there are {', '.join(known)}")
    return known[name]


def budget_step(asked: Budget) -> Step:
    """Return the operations of a budget, as the step that finds them."""
    given, amount, price, size = asked.given, asked.amount, asked.price, asked.own_size
    reached = asked.peak * asked.utilization
    if given == "zettaflop":
        found, formula, numbers = amount * ZETTA, r"C \cdot 10^{21}", f"{amount:g} × 10^21"
    elif given == "pf-days":
        found, formula, numbers = amount * PF_DAY_FLOPS, r"d \cdot 8.64 \cdot 10^{19}", f"{amount:g} × 8.64 × 10^19"
    elif given == "device-hours":
        found = amount * HOUR_S * reached
        formula, numbers = r"h \cdot 3600 \cdot P \cdot u", f"{amount:,g} × 3,600 × {reached:.4g}"
    elif given == "money":
        if price is None:
            raise ScenarioError("price_per_hour", "no rent of this device is known: say what an hour of one costs")
        found = amount / price.each * HOUR_S * reached
        formula = r"\frac{m}{p} \cdot 3600 \cdot P \cdot u"
        numbers = f"{amount:,g} / {price.each:g} × 3,600 × {reached:.4g}"
    elif given == "parameters":
        found = budget(law=asked.law, parameters=amount * BILLION)
        formula, numbers = r"N_{\text{best}}(C) = N", f"the best size by {asked.law.name} is {amount:g} × 10^9, for C"
    else:
        if size is None:
            raise ScenarioError("parameters", "is needed for a run: how many billion parameters the model has")
        found = training_flops(parameters=size * BILLION, tokens=amount * BILLION)
        formula, numbers = r"6 N D", f"6 × {size:g} × 10^9 × {amount:g} × 10^9"
    return Step("Operations of the budget", formula, numbers, found, unit="FLOP", source=asked.law.source)


def hours_step(asked: Budget, flops: float, device_hours: float) -> Step:
    """Return the working of the hours of one device that so many operations take."""
    return Step(
        "Device-hours",
        r"\frac{C}{P \cdot u \cdot 3600}",
        f"{flops:.4g} / ({asked.peak:.4g} × {asked.utilization:g} × 3,600)",
        device_hours,
        unit="h",
        source=asked.rate.source,
    )


def law_answer(law: Law, flops: float, own_size: float | None) -> Report:
    """Return a law's best size for a budget, and what a size of one's own does with the same operations."""
    best = optimum(law=law, flops=flops)
    answer: Report = {
        "id": law.id,
        "name": law.name,
        "counted": law.counted,
        "corpus": law.corpus,
        "parameters": best.parameters,
        "tokens": best.tokens,
        "tokens_per_parameter": best.tokens_per_parameter,
        "loss": best.loss,
        "own": None,
    }
    if own_size is not None:
        size = own_size * BILLION
        tokens = flops / training_flops(parameters=size, tokens=1.0)
        answer["own"] = {
            "parameters": size,
            "tokens": tokens,
            "tokens_per_parameter": tokens / size,
            "loss": loss(law=law, parameters=size, tokens=tokens),
            "wasted_share": wasted_share(law=law, parameters=size, tokens=tokens),
        }
    return answer


def optimum_steps(law: Law, flops: float) -> list[Step]:
    """Return the working of the chosen law's best size, its tokens and its loss."""
    best, c = optimum(law=law, flops=flops), law.constants
    if law.form == "sum":
        scale = r"\left( \frac{\alpha A}{\beta B} \right)^{\frac{1}{\alpha+\beta}}"
        formula = scale + r" \left( \frac{C}{6} \right)^{\frac{\beta}{\alpha+\beta}}"
        numbers = (
            f"({c['alpha']:g} × {c['a']:g} / ({c['beta']:g} × {c['b']:g}))^(1 / {c['alpha'] + c['beta']:.4g})"
            f" × ({flops:.4g} / 6)^({c['beta']:g} / {c['alpha'] + c['beta']:.4g})"
        )
    else:
        formula = r"N_0 \left( \frac{C}{C_0} \right)^{p}"
        numbers = f"{c['optimal_n']:g} × ({flops:.4g} / {c['optimal_at']:g})^{c['optimal_power']:g}"
    steps = [
        Step(f"Best size by {law.name}", formula, numbers, best.parameters, unit="parameters", source=law.source),
        Step(
            "Tokens",
            r"\frac{C}{6 N}",
            f"{flops:.4g} / (6 × {best.parameters:.4g})",
            best.tokens,
            unit="tokens",
            source=law.source,
        ),
    ]
    if best.loss is not None and law.form == "sum":
        size = f"{c['a']:g} / {best.parameters:.4g}^{c['alpha']:g}"
        numbers = f"{c['e']:g} + {size} + {c['b']:g} / {best.tokens:.4g}^{c['beta']:g}"
        formula = r"E + \frac{A}{N^{\alpha}} + \frac{B}{D^{\beta}}"
        steps.append(Step("Loss, in nats per token", formula, numbers, best.loss, unit="", source=law.source))
    return steps


def doubts(flops: float, own_size: float | None, answers: list[Report], law: Law) -> list[Warn]:
    """Return what a reader should know before trusting a law that far."""
    found = []
    if flops > 1000 * FITTED_FLOPS:
        message = "the budget is more than a thousand times the largest that the laws were fitted on"
        found.append(Warn("law-extrapolated", message, "amount"))
    own = next((answer["own"] for answer in answers if answer["id"] == law.id), None)
    if own_size is not None and isinstance(own, dict) and own["tokens_per_parameter"] < 1:
        message = f"a model of {own_size:g} billion parameters would see less than one token for each of them"
        found.append(Warn("budget-too-small", message, "parameters"))
    return found


def run_utilization(parameters: float, tokens: float, device_hours: float, device: Accelerator) -> float | None:
    """Return the share of the dense 16-bit peak that a published run reached, None where the peak is not known."""
    if device.sixteen_bit is None:
        return None
    flops = training_flops(parameters=parameters, tokens=tokens)
    return utilization_of(flops=flops, device_hours=device_hours, peak_flops_per_s=float(device.sixteen_bit.value))
