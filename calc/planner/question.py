"""Reading a question of the planner: every field checked, and what is not answered refused by its name."""

from collections.abc import Mapping
from typing import NamedTuple

from calc.catalog import Catalog
from calc.catalog.choices import SEGMENTS, VENDORS
from calc.catalog.records import Accelerator
from calc.catalog.support import METHODS
from calc.errors import ScenarioError, check_names
from calc.planner.account import FIELDS as ACCOUNT
from calc.planner.account import Account, read_account
from calc.planner.fields import amount, listed, table
from calc.planner.having import HAVE, TRAINING, read_alone, read_have, read_unlike
from calc.planner.need import FIELDS as NEED
from calc.planner.need import NO_NEED, Need, read_need
from calc.planner.wanted import read_engines, read_models, read_weights
from calc.scenario.fields import FIELDS, HOST_ENGINE, OF_HOST
from calc.scenario.reader import one_of, read_flag, whole

WORKLOADS = ("inference", TRAINING)
WANTS = ("models", "hardware", "layout", "limit")
RANKS = ("cost", "speed", "latency", "energy", "devices", "margin", "size")
USUAL_RANK = {"models": "size", "hardware": "cost", "layout": "speed", "limit": "size"}
OF = ("context_tokens", "sequences", "users", "model", "sequence_tokens", "micro_batch", "training_tokens")
OF_A_RUN = ("sequence_tokens", "micro_batch")  # of one model, method by method
OF_TRAINING = ("model", *OF_A_RUN, "training_tokens")
OWN = ("want", "have", "model", "models", "weights", "engine", "need", "limits", "account", "of", "rank_by", "count")
LIMITS = (
    "price",
    "price_per_month",
    "price_per_run",
    "power_w",
    "devices",
    "servers",
    "vendors",
    "segments",
    "accelerators",
    "rent",
    "buy",
)
COUNT, MOST_COUNT = 10, 1000  # options
MOST_DEVICES = 4096


class Limits(NamedTuple):
    """What an option may not go beyond; None where nothing is said."""

    price: float | None  # of all devices
    price_per_month: float | None  # of their rent
    price_per_run: float | None  # of their rent for a training run
    power_w: float | None
    devices: int | None  # of a kind, those of all replicas together
    servers: int | None  # replicas, spare ones included
    vendors: tuple[str, ...]
    segments: tuple[str, ...]
    accelerators: tuple[str, ...]  # that are tried, whether or not one gets them
    rent: bool  # with a known rent alone
    buy: bool  # with a known price alone

    @property
    def buys(self) -> bool:
        """Whether the price of all devices is what they cost, and not their rent."""
        return self.buy or (self.price is not None and not self.rent)


class Question(NamedTuple):
    """A question, read."""

    want: str
    have: dict[str, object]
    unlike: tuple[Accelerator, ...]  # each of the devices that there are, where they are not alike
    alone: Accelerator | None  # the host, where it works without an accelerator
    models: tuple[object, ...]  # ids, or a model that brings its own config
    weights: tuple[object, ...]  # number formats, the first that serves is taken; empty: the engine's usual ones
    engines: tuple[str, ...]
    fields: dict[str, object]  # of every scenario that is tried
    need: Need
    limits: Limits
    account: Account
    of: str
    rank_by: str
    shown: int  # options at most

    @property
    def trains(self) -> bool:
        """Whether it is about training."""
        return self.fields.get("workload") == TRAINING


def names_of(given: Mapping[str, object]) -> tuple[str, ...]:
    """Return the fields that a question may have: its own, and those of the scenario that it asks of."""
    if given.get("workload") != TRAINING:
        return tuple(dict.fromkeys((*OWN, *FIELDS)))
    from calc.training import fields  # most questions ask of no training run

    return tuple(dict.fromkeys((*OWN, *fields.FIELDS)))


def read_question(question: Mapping[str, object], facts: Catalog) -> Question:
    """Return a question, checked; raises ScenarioError for what is wrong with it or not answered."""
    if not isinstance(question, Mapping):
        raise ScenarioError("", "a question is an object of fields; needed is at least want")
    given = {name: value for name, value in question.items() if value is not None}
    one_of(given.get("workload", WORKLOADS[0]), "workload", WORKLOADS)
    check_names(given, tuple(name for name in names_of(given) if name not in HAVE), of=" of a question")
    want = one_of(given.get("want"), "want", WANTS)
    of = read_of(given, want)
    have = read_have(given, want)
    unlike = read_unlike(given, have, want, facts)
    alone = read_alone(given, have, want, facts)
    need, limits = read_need(table(given, "need", NEED), amount), read_limits(table(given, "limits", LIMITS), facts)
    check_training(given, need, limits, of)
    check_there(have, unlike, limits, facts)
    fields = read_fields(given, have, need, facts)
    several = asks_of_several(given, want, of)
    return Question(
        want=want,
        have=have,
        unlike=unlike,
        alone=alone,
        models=read_models(given, facts, one=not several),
        weights=read_weights(given, facts, ladder=several),
        engines=(HOST_ENGINE,) if unlike or alone else read_engines(given, facts),
        fields=fields,
        need=need,
        account=read_account(table(given, "account", ACCOUNT), facts, amount),
        limits=limits,
        of=of,
        rank_by=one_of(given.get("rank_by", usual_rank(want, of, several=several)), "rank_by", RANKS),
        shown=whole(given.get("count", 1 if want == "limit" else COUNT), "count", 1, MOST_COUNT),
    )


def asks_of_several(given: Mapping[str, object], want: str, of: str) -> bool:
    """Return whether models are looked for: the largest, what runs on what there is, or on what one could have."""
    open_ = "models" in given and given.get("workload") != TRAINING
    return want == "models" or of == "model" or (want == "hardware" and open_)


def usual_rank(want: str, of: str, *, several: bool) -> str:
    """Return by what options are ranked unless a question says otherwise: devices for many models by what they run."""
    if of == "training_tokens":
        return "speed"
    return USUAL_RANK["models"] if several else USUAL_RANK[want]


def read_of(given: Mapping[str, object], want: str) -> str:
    """Return what the most of is asked for; empty where nothing is."""
    if want == "limit" and "of" not in given:
        raise ScenarioError("of", f"is needed: the most of what? One of {', '.join(OF)}")
    if want != "limit" and "of" in given:
        raise ScenarioError("of", 'does not apply: only want "limit" asks for the most of something')
    of = one_of(given["of"], "of", OF) if want == "limit" else ""
    trains = given.get("workload") == TRAINING
    if of and not trains and of in (*OF_A_RUN, "training_tokens"):
        raise ScenarioError("workload", f'must be "training": the most {of} are asked of a training run')
    if of and trains and of not in OF_TRAINING:
        raise ScenarioError("of", f"must be one of {', '.join(OF_TRAINING)} for training, not {of}")
    return of


def check_training(given: Mapping[str, object], need: Need, limits: Limits, of: str) -> None:
    """Raise ScenarioError for what only serving, or only training, has."""
    trains = given.get("workload") == TRAINING
    if not trains and (need.days is not None or limits.price_per_run is not None):
        field = "need.days" if need.days is not None else "limits.price_per_run"
        raise ScenarioError(field, 'does not apply: only a training run ends; workload is not "training"')
    if not trains:
        return
    for name in ("weights", "engine"):
        if name in given:
            raise ScenarioError(name, "does not apply to training: method and base_weights say what is trained")
    only_serving(given, need, limits)
    one_of(given.get("method", METHODS[0]), "method", METHODS)
    ends = need.days is not None or limits.price_per_run is not None
    if of == "training_tokens" and not ends:
        raise ScenarioError("need.days", "or limits.price_per_run is needed: the most tokens within what?")
    if of != "training_tokens" and ends and "training_tokens" not in given:
        raise ScenarioError(
            "training_tokens", "is needed: how long a run takes, and what it costs, of how many tokens?"
        )
    if "training_tokens" in given:
        whole(given["training_tokens"], "training_tokens", 1, 10**15)


def only_serving(given: Mapping[str, object], need: Need, limits: Limits) -> None:
    """Raise ScenarioError for what a question about training asks and only serving has."""
    if need._replace(days=None, hours_a_day=24.0) != NO_NEED:
        raise ScenarioError("need", "of training takes days alone: in how many the run has to end")
    if limits.servers is not None:
        raise ScenarioError("limits.servers", "does not apply to training: a run is one")
    if given.get("rank_by") == "latency":
        raise ScenarioError("rank_by", "must not be latency: nobody waits for a token of a training run")


def check_there(have: Mapping[str, object], unlike: tuple[Accelerator, ...], limits: Limits, facts: Catalog) -> None:
    """Raise ScenarioError for a limit beyond which the devices are that there are: nothing could be answered."""
    devices = unlike
    if not unlike and "accelerator" in have:
        devices = (facts.accelerator(str(have["accelerator"]), "have.accelerator"),)
    number = len(unlike) or have.get("accelerators", 1)
    if limits.devices and isinstance(number, int) and number > limits.devices:
        raise ScenarioError("limits.devices", f"must be no fewer than the {number:,} that have says there are")
    for device in devices:
        for field, allowed, own in (
            ("vendors", limits.vendors, device.vendor),
            ("segments", limits.segments, device.segment),
            ("accelerators", limits.accelerators, device.id),
        ):
            if allowed and own not in allowed:
                raise ScenarioError(f"limits.{field}", f"leaves out what there is: {device.name} is {own}")


def read_fields(
    given: Mapping[str, object], have: Mapping[str, object], need: Need, facts: Catalog
) -> dict[str, object]:
    """Return the fields of every scenario that is tried; people who wait together are its sequences."""
    asked = "need.users" if need.users is not None else "need.requests_per_s"
    fields = {name: value for name, value in given.items() if name not in OWN}
    for name in ("kv_cache", "kv_cache_v"):
        if name in fields:
            facts.number_format(str(fields[name]), name)
    taken = next((name for name in ("sequences", "concurrency", "arrivals") if name in fields), None)
    if taken and (need.users is not None or need.mean_rate is not None):
        raise ScenarioError(asked, f"is in place of {taken}: give one of the two")
    if need.mean_rate is not None:
        if placed := next((name for name in OF_HOST if name in fields or name in have), None):
            message = f"does not go together with {placed}: requests are not followed where the processor works"
            raise ScenarioError(f"need.{'users' if need.users else 'requests_per_s'}", message)
        if given["want"] == "limit" and given["of"] != "model":
            raise ScenarioError(asked, "does not apply: the most of something is asked of one server")
    elif need.waiting is not None:
        fields["sequences"] = need.waiting
    return fields


def own_price(question: Question, field: str) -> float | None:
    """Return a price that the reader gives for every scenario, None where the catalogue's is taken."""
    value = question.fields.get(field)
    return float(value) if isinstance(value, int | float) else None


def read_limits(given: Mapping[str, object], facts: Catalog) -> Limits:
    """Return what an option may not go beyond."""
    paid = {name: read_flag(given[name], f"limits.{name}") for name in ("rent", "buy") if name in given}
    if list(paid.values()) == [False, False]:
        raise ScenarioError("limits.buy", "must not be false where limits.rent is: what is neither rented nor bought?")
    words = {
        name: tuple(one_of(item, f"limits.{name}", known) for item in listed(given[name])) if name in given else ()
        for name, known in (("vendors", VENDORS), ("segments", SEGMENTS))
    }
    return Limits(
        price=amount(given, "limits", "price"),
        price_per_month=amount(given, "limits", "price_per_month"),
        price_per_run=amount(given, "limits", "price_per_run"),
        power_w=amount(given, "limits", "power_w"),
        devices=whole(given["devices"], "limits.devices", 1, MOST_DEVICES) if "devices" in given else None,
        servers=whole(given["servers"], "limits.servers", 1, MOST_DEVICES) if "servers" in given else None,
        vendors=words["vendors"],
        segments=words["segments"],
        accelerators=tuple(
            facts.accelerator(str(item), "limits.accelerators").id for item in listed(given.get("accelerators", ()))
        ),
        rent=paid.get("rent") is True or paid.get("buy") is False,
        buy=paid.get("buy") is True or paid.get("rent") is False,
    )
