"""Reading a question of the planner: every field checked, and what is not answered refused by its name."""

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import NamedTuple

from calc.catalog import Catalog
from calc.catalog.schema import SEGMENTS, VENDORS
from calc.errors import ScenarioError, nearest
from calc.planner.account import FIELDS as ACCOUNT
from calc.planner.account import Account, read_account
from calc.planner.need import FIELDS as NEED
from calc.planner.need import Need, read_need
from calc.scenario import DEFAULTS, ENGINES, FIELDS, USUAL, known_architecture, whole
from calc.training.fields import FIELDS as TRAINING_FIELDS

WANTS = ("models", "hardware", "layout", "limit")
RANKS = ("cost", "speed", "latency", "energy", "devices", "margin", "size")
USUAL_RANK = {"models": "size", "hardware": "cost", "layout": "speed", "limit": "size"}
OF = ("context_tokens", "sequences", "users", "model", "sequence_tokens")
OWN = ("want", "have", "model", "models", "weights", "engine", "need", "limits", "account", "of", "rank_by", "count")
HAVE = ("accelerator", "accelerators", "memory_limit", "display")
LIMITS = ("price", "price_per_month", "power_w", "devices", "vendors", "segments", "rent", "buy")
KINDS = ("text", "encoder")
ANY = "any"
COUNT, MOST_COUNT = 10, 1000  # options
MOST_DEVICES = 64
MOST_AMOUNT = 1e12


class Limits(NamedTuple):
    """What an option may not go beyond; None where nothing is said."""

    price: float | None  # of all devices
    price_per_month: float | None  # of their rent
    power_w: float | None
    devices: int | None  # of a kind, those of all replicas together
    vendors: tuple[str, ...]
    segments: tuple[str, ...]
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


def read_question(question: Mapping[str, object], facts: Catalog) -> Question:
    """Return a question, checked; raises ScenarioError for what is wrong with it or not answered."""
    if not isinstance(question, Mapping):
        raise ScenarioError("", "a question is an object of fields; needed is at least want")
    given = {name: value for name, value in question.items() if value is not None}
    allowed = dict.fromkeys((*OWN, *(TRAINING_FIELDS if given.get("workload") == "training" else FIELDS)))
    check_names(given, "", tuple(name for name in allowed if name not in HAVE))
    want = one_of(given.get("want"), "want", WANTS)
    of = read_of(given, want)
    have = read_have(given, want)
    need = read_need(table(given, "need", NEED), amount)
    fields = read_fields(given, need, facts)
    return Question(
        want=want,
        have=have,
        models=read_models(given, facts, one=want in ("hardware", "layout") or (want == "limit" and of != "model")),
        weights=read_weights(given, facts, ladder=want == "models" or of == "model"),
        engines=read_engines(given, facts),
        fields=fields,
        need=need,
        account=read_account(table(given, "account", ACCOUNT), facts, amount),
        limits=read_limits(table(given, "limits", LIMITS)),
        of=of,
        rank_by=one_of(given.get("rank_by", USUAL_RANK[want]), "rank_by", RANKS),
        shown=whole(given.get("count", 1 if want == "limit" else COUNT), "count", 1, MOST_COUNT),
    )


def read_of(given: Mapping[str, object], want: str) -> str:
    """Return what the most of is asked for; empty where nothing is."""
    if want == "limit" and "of" not in given:
        raise ScenarioError("of", f"is needed: the most of what? One of {', '.join(OF)}")
    if want != "limit" and "of" in given:
        raise ScenarioError("of", 'does not apply: only want "limit" asks for the most of something')
    of = one_of(given["of"], "of", OF) if want == "limit" else ""
    if (given.get("workload") == "training") != (of == "sequence_tokens"):
        raise ScenarioError("workload", 'training is answered for want "limit" of sequence_tokens, and for it alone')
    return of


def read_have(given: Mapping[str, object], want: str) -> dict[str, object]:
    """Return what there is; nothing where it is looked for."""
    have = table(given, "have", HAVE)
    if want == "hardware" and have:
        raise ScenarioError("have", 'does not apply: want "hardware" looks for it')
    if want != "hardware" and "accelerator" not in have:
        raise ScenarioError("have.accelerator", f"is needed: {want} on what?")
    if "accelerator" in have and not isinstance(have["accelerator"], str):
        raise ScenarioError("have.accelerator", "must be one id or name; unequal devices are not searched")
    return have


def read_fields(given: Mapping[str, object], need: Need, facts: Catalog) -> dict[str, object]:
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
        if given["want"] == "limit" and given["of"] != "model":
            raise ScenarioError(asked, "does not apply: the most of something is asked of one server")
        fields["concurrency"] = 1  # until it is known what a replica is given
    elif need.waiting is not None:
        fields["sequences"] = need.waiting
    return fields


def own_price(question: Question, field: str) -> float | None:
    """Return a price that the reader gives for every scenario, None where the catalogue's is taken."""
    value = question.fields.get(field)
    return float(value) if isinstance(value, int | float) else None


def check_names(given: Mapping[str, object], within: str, allowed: Sequence[str]) -> None:
    """Raise ScenarioError for a field that there is not, or that is not answered."""
    for name in given:
        if name not in allowed:
            shown = f"{within}.{name}" if within else str(name)
            hint = nearest(str(name), allowed)
            raise ScenarioError(shown, f"is not a field of a question{hint}; fields are {', '.join(allowed)}")


def table(given: Mapping[str, object], field: str, allowed: Sequence[str]) -> dict[str, object]:
    """Return a field that has fields of its own."""
    value = given.get(field, {})
    if not isinstance(value, Mapping):
        raise ScenarioError(field, f"must be an object with {', '.join(allowed)}, not {value!r:.60}")
    found = {str(name): item for name, item in value.items() if item is not None}
    check_names(found, field, allowed)
    return found


def one_of(value: object, field: str, allowed: Sequence[str]) -> str:
    """Return a field as one of the words allowed."""
    if value not in allowed:
        hint = nearest(str(value), allowed)
        raise ScenarioError(field, f"must be one of {', '.join(allowed)}, not {value!r:.60}{hint}")
    return str(value)


def listed(value: object) -> tuple[object, ...]:
    """Return a list's items, or one thing alone."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def amount(given: Mapping[str, object], within: str, name: str, most: float = MOST_AMOUNT) -> float | None:
    """Return a number above 0, None where it is left out."""
    value = given.get(name)
    if value is None:
        return None
    good = not isinstance(value, bool) and isinstance(value, int | float) and isfinite(value)
    if not good or not isinstance(value, int | float) or not 0 < value <= most:
        raise ScenarioError(f"{within}.{name}", f"must be a number above 0 and at most {most:,g}, not {value!r:.60}")
    return float(value)


def read_limits(given: Mapping[str, object]) -> Limits:
    """Return what an option may not go beyond."""
    for name in ("rent", "buy"):
        if not isinstance(given.get(name, False), bool):
            raise ScenarioError(f"limits.{name}", f"must be true or false, not {given[name]!r:.60}")
    words = {
        name: tuple(one_of(item, f"limits.{name}", known) for item in listed(given[name])) if name in given else ()
        for name, known in (("vendors", VENDORS), ("segments", SEGMENTS))
    }
    return Limits(
        price=amount(given, "limits", "price"),
        price_per_month=amount(given, "limits", "price_per_month"),
        power_w=amount(given, "limits", "power_w"),
        devices=whole(given["devices"], "limits.devices", 1, MOST_DEVICES) if "devices" in given else None,
        vendors=words["vendors"],
        segments=words["segments"],
        rent=given.get("rent") is True,
        buy=given.get("buy") is True,
    )


def read_models(given: Mapping[str, object], facts: Catalog, *, one: bool) -> tuple[object, ...]:
    """Return the models that are tried; `one` where the question is about one."""
    if "model" in given and "models" in given:
        raise ScenarioError("models", "is in place of model: give one of the two")
    if one:
        if "model" not in given:
            raise ScenarioError("model", "is needed: for which model?")
        model = given["model"]
        return (facts.model(model).id if isinstance(model, str) and facts.lookup("models", model) else model,)
    value = given.get("model", given.get("models", ANY))
    if isinstance(value, Mapping) and "config" not in value:
        return chosen_models(value, facts)
    if value == ANY:
        return chosen_models({}, facts)
    return tuple(facts.model(item, "models").id if isinstance(item, str) else item for item in listed(value))


def chosen_models(wanted: Mapping[str, object], facts: Catalog) -> tuple[object, ...]:
    """Return the catalogue's models of a kind and of a number of parameters."""
    from calc.architecture.parameters import parameters_total

    check_names(wanted, "models", ("parameters", "kind"))
    writes = one_of(wanted.get("kind", "text"), "models.kind", KINDS) == "text"
    ends = wanted.get("parameters", [0, inf])
    if not isinstance(ends, list | tuple) or len(ends) != 2 or not all(type(end) in (int, float) for end in ends):
        raise ScenarioError("models.parameters", f"must be the fewest and the most, not {ends!r:.60}")
    found = [(name, known_architecture(facts, name)) for name in facts.ids("models")]
    return tuple(
        name
        for name, architecture in found
        if architecture.writes == writes
        and ("parameters" not in wanted or ends[0] <= parameters_total(architecture) <= ends[1])
    )


def read_weights(given: Mapping[str, object], facts: Catalog, *, ladder: bool) -> tuple[object, ...]:
    """Return the number formats that are tried, as they are written; none where the engine's usual ones are."""
    value = given.get("weights", ANY if ladder else DEFAULTS["weights"])
    if value == ANY:
        return ()
    for item in listed(value):
        if isinstance(item, str) and item != DEFAULTS["weights"]:
            facts.weights_format(item)
    return listed(value)


def read_engines(given: Mapping[str, object], facts: Catalog) -> tuple[str, ...]:
    """Return the engines that are tried; "usual" is the one that most people take on a device."""
    value = given.get("engine", USUAL)
    if value == ANY:
        return tuple(name for name in ENGINES if name != "none")
    return tuple(item if item == USUAL else facts.engine(str(item)).id for item in listed(value))
