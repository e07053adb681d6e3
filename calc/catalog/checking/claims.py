"""Checking claims and terms."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from calc.catalog.checking.check import Check, Rules, check_reference, with_fields
from calc.catalog.claims import CLAIM_UNITS, PLACEHOLDER, TERM_GROUPS, TOPICS, VERDICTS
from calc.catalog.entries import Entry, Tables

PAGES = Path(__file__).parents[3] / "docs"  # beside the package where it is built, and nowhere else
# How a computed value is compared with the one that is claimed.
RELATIONS = ("is", "at least", "at most", "more than", "less than")
FUNCTIONS = ("ceil", "max", "min", "sqrt")
CLAIM_RULES: Rules = {
    "topic": (str,),
    "claim": (str,),
    "verdict": (str,),
    "right": (str,),
    "sources": (list,),
    "checked": (str,),
    "checks?": (list,),
    "values?": (dict,),
    "note?": (str,),
}
CLAIM_CHECK_RULES: Rules = {
    "what": (str,),
    "values": (dict,),
    "formula?": (str,),
    "claimed": (int, float),
    "unit?": (str,),
    "relation?": (str,),
    "tolerance?": (int, float),
}
# What a value of a check may be: the fields of each kind, the first of which tells the kind.
VALUE_RULES: dict[str, Rules] = {
    "report": {"report": (str,), "scenario": (dict,)},
    "accelerator": {"accelerator": (str,), "fact": (str,)},
    "link": {"link": (str,), "fact": (str,)},
    "machine": {"machine": (str,), "fact": (str,)},
    "model": {"model": (str,), "fact": (str,)},
    "run": {"run": (str,), "fact": (str,)},
    "number_format": {"number_format": (str,), "model?": (str,)},
    "count": {"count": (str,), "where": (dict,)},
    "largest": {"largest": (str,), "where": (dict,)},
    "smallest": {"smallest": (str,), "where": (dict,)},
    "quoted": {"quoted": (int, float), "unit?": (str,), "source": (str,)},
    "number": {"number": (int, float)},
}
REFERENCES = {"accelerator": "accelerators", "link": "links", "machine": "machines", "model": "models", "run": "runs"}
TERM_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "group": (str,),
    "definition": (str,),
    "page?": (str,),
    "source?": (str,),
    "quiet?": (bool,),
    "checked": (str,),
}


@with_fields(CLAIM_RULES)
def check_claim(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one claim; that its checks bear its verdict out is seen when they are run."""
    check.choice(f"{where}.topic", entry["topic"], TOPICS)
    check.choice(f"{where}.verdict", entry["verdict"], VERDICTS)
    sources: list[object] = entry["sources"]  # type: ignore[assignment]
    checks: list[Entry] = entry.get("checks", [])  # type: ignore[assignment]
    for source in sources:
        check_reference(check, f"{where}.sources", source, tables)
    if entry["verdict"] != "not verifiable" and not sources and not checks:
        check.problem(f"{where}.sources", "needs a source or a check: without either, the claim is not verifiable")
    values: Mapping[str, Entry] = entry.get("values", {})  # type: ignore[assignment]
    for name, value in values.items():
        check_value(check, f"{where}.values.{name}", value, tables)
    names = {"result", *values}
    for place, item in enumerate(checks):
        if check.fields(f"{where}.checks[{place}]", item, CLAIM_CHECK_RULES):
            check_one(check, f"{where}.checks[{place}]", item, tables)
            names |= set(item["values"])  # type: ignore[call-overload]
    for name, unit in PLACEHOLDER.findall(str(entry["right"])):
        check.choice(f"{where}.right", name, sorted(names))
        check.choice(f"{where}.right", unit, CLAIM_UNITS)


def check_one(check: Check, where: str, item: Entry, tables: Tables) -> None:
    """Check one check of a claim: its comparison, its values, and that its formula uses them."""
    check.choice(f"{where}.relation", item.get("relation", "is"), RELATIONS)
    check.choice(f"{where}.unit", item.get("unit", ""), CLAIM_UNITS)
    values: Mapping[str, Entry] = item["values"]  # type: ignore[assignment]
    for name, value in values.items():
        check_value(check, f"{where}.values.{name}", value, tables)
    formula = str(item.get("formula", next(iter(values), "")))
    try:
        used = set(names_in(formula))
    except ValueError as error:
        check.problem(f"{where}.formula", str(error))
        return
    if used != set(values):
        problem = f"uses {', '.join(sorted(used)) or 'no value'}, and there are {', '.join(values) or 'none'}"
        check.problem(f"{where}.formula", problem)


def check_value(check: Check, where: str, value: Entry, tables: Tables) -> None:
    """Check one value of a check: its kind's fields, and what it refers to."""
    kind = next((kind for kind in VALUE_RULES if isinstance(value, dict) and kind in value), None)
    if kind is None:
        check.problem(where, f"must say where it is from, by one of {', '.join(VALUE_RULES)}")
    elif check.fields(where, value, VALUE_RULES[kind]):
        if kind in REFERENCES:
            check.choice(f"{where}.{kind}", value[kind], tables[REFERENCES[kind]])
        if kind == "quoted":
            check_reference(check, f"{where}.source", value["source"], tables)
            check.choice(f"{where}.unit", value.get("unit", ""), CLAIM_UNITS)


def names_in(formula: str) -> Iterator[str]:
    """Return the names of values in a formula of numbers, names, + - * / ** and a few functions.

    Raises ValueError for anything else.
    """
    import ast

    operators = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
    try:
        tree = ast.parse(formula, mode="eval")
    except SyntaxError:
        raise ValueError(f"{formula!r} is not a formula") from None
    functions = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if node in functions:
            if not isinstance(node, ast.Name) or node.id not in FUNCTIONS:
                raise ValueError(f"{formula!r} calls something else than {', '.join(FUNCTIONS)}")
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.BinOp) and not isinstance(node.op, operators):
            raise ValueError(f"{formula!r} has an operator other than + - * / **")
        elif not isinstance(node, (ast.Expression, ast.BinOp, ast.Call, ast.Constant, ast.expr_context, *operators)):
            raise ValueError(f"{formula!r} has something else than numbers, names, + - * / ** and functions")


@with_fields(TERM_RULES)
def check_term(check: Check, where: str, entry: Entry, _: Tables) -> None:
    """Check one term of the glossary."""
    check.choice(f"{where}.group", entry["group"], TERM_GROUPS)
    if (
        entry.get("page")
        and (PAGES / "reference/glossary.md").is_file()  # or these are the pages of something else
        and not (PAGES / str(entry["page"]).partition("#")[0]).is_file()
    ):
        check.problem(f"{where}.page", f"{entry['page']!r:.60} is no page under docs/")
