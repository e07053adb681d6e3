# PYTHON_ARGCOMPLETE_OK
"""What can be typed after `calc`: verbs, their arguments, and completion of names where argcomplete is installed."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from calc import ScenarioError
from calc.catalog import catalog
from calc.command import verbs
from calc.planner.question import OF, RANKS, WANTS
from calc.scenario.fields import ENGINES, USUAL

WRONG = 2  # exit status of what was asked wrongly, as argparse has it
Completer = Callable[..., list[str]]


def names(*kinds: str) -> Completer:
    """Return what completes the ids of a catalogue's kinds."""

    def complete(prefix: str, **_: object) -> list[str]:
        return [name for kind in kinds for name in catalog().ids(kind) if name.startswith(prefix)]

    return complete


def completed(action: argparse.Action, completer: Completer) -> None:
    """Give an argument what completes it; argcomplete looks for it by this name."""
    action.completer = completer  # type: ignore[attr-defined]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    whole = argparse.ArgumentParser(prog="calc", description="What AI models need in memory, time and money.")
    whole.add_argument("--version", action="version", version=f"%(prog)s with the facts of {catalog().version}")
    listed = whole.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, said in (
        ("fit", "does a model fit on devices, and how fast is it there"),
        ("explain", "the working of that"),
    ):
        scenario_arguments(listed.add_parser(verb, help=said, description=f"Answer: {said}."))
    plan_arguments(
        listed.add_parser("plan", help="what runs, on what, for how much", description="Search the catalogue.")
    )
    ask = listed.add_parser(
        "ask", help="a question in one line", description="Read a question in one line, and answer it."
    )
    ask.add_argument("line", nargs="+", help='as in: calc ask "llama 3.3 70b q4 on 2x3090, 32k, 5 users"')
    for one in listed.choices.values():
        one.add_argument("--json", action="store_true", help="print everything as JSON")
    return whole


def scenario_arguments(verb: argparse.ArgumentParser) -> None:
    """Add the fields of a scenario that people say most; all others go by --set."""
    model = verb.add_argument("model", nargs="?", help="an id, a name or a repository")
    completed(model, names("models"))
    device = verb.add_argument("accelerator", nargs="?", help="an id or a name; 2x3090 is two")
    completed(device, names("accelerators"))
    weights = verb.add_argument("-w", "--weights", help="number format of the weights")
    completed(weights, names("number_formats", "mixtures"))
    verb.add_argument("-c", "--context-tokens", metavar="TOKENS", help="prompt and answer together: 8192, 32k")
    verb.add_argument("-s", "--sequences", help="sequences at once, or max")
    verb.add_argument("-n", "--accelerators", metavar="COUNT", help="number of devices")
    verb.add_argument(
        "-e", "--engine", default=USUAL, choices=(USUAL, *ENGINES), help="default: the usual one for the device"
    )
    verb.add_argument("--train", choices=("full", "lora", "qlora"), help="train it, by this method")
    verb.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="any field of the scenario; the value may be JSON",
    )
    verb.add_argument("--scenario", metavar="FILE", help="a scenario as JSON, from a file or - for what is piped in")


def plan_arguments(verb: argparse.ArgumentParser) -> None:
    """Add the fields of a question."""
    verb.add_argument("want", choices=WANTS)
    completed(verb.add_argument("-m", "--model", help="which model"), names("models"))
    completed(verb.add_argument("--on", metavar="ACCELERATOR", help="what you have"), names("accelerators"))
    verb.add_argument("-n", "--accelerators", type=int, metavar="COUNT", help="how many of it")
    completed(verb.add_argument("-w", "--weights", help="number format, or any"), names("number_formats", "mixtures"))
    verb.add_argument("-e", "--engine", help="engine, usual or any")
    verb.add_argument("-c", "--context-tokens", metavar="TOKENS")
    verb.add_argument("--users", type=int, help="who wait at the same time")
    verb.add_argument("--tokens-per-s-each", type=float, metavar="RATE")
    verb.add_argument("--price", type=float, help="of all devices to buy, in US dollars")
    verb.add_argument("--price-per-month", type=float, help="of their rent")
    verb.add_argument("--of", choices=OF, help="the most of what, for limit")
    verb.add_argument("--rank-by", choices=RANKS)
    verb.add_argument("--count", type=int, help="options at most")


def scenario_of(given: argparse.Namespace) -> dict[str, Any]:
    """Return the scenario that arguments make. Raises ScenarioError for a file or a field that cannot be read."""
    scenario: dict[str, Any] = read_json(given.scenario) if given.scenario else {}
    listed = ("model", "accelerator", "weights", "context_tokens", "sequences", "accelerators")
    scenario |= {name: value for name in listed if (value := getattr(given, name)) is not None}
    if given.train:
        scenario |= {"workload": "training", "method": given.train}
    elif "workload" not in scenario:
        scenario.setdefault("engine", given.engine if "accelerator" in scenario or given.engine != USUAL else "none")
    for pair in given.set:
        name, sign, value = pair.partition("=")
        if not sign:
            raise ScenarioError(name, "is given as FIELD=VALUE")
        scenario[name] = plain_or_json(value)
    return scenario


def plain_or_json(value: str) -> object:
    """Return a value that is JSON, or else the text itself."""
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value


def read_json(name: str) -> dict[str, Any]:
    """Return a scenario from a file, or from what is piped in."""
    try:
        found = json.loads(sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScenarioError("scenario", f"cannot be read from {name}: {error}") from error
    if not isinstance(found, dict):
        raise ScenarioError("scenario", f"in {name} must be an object of fields")
    return found


def question_of(given: argparse.Namespace) -> dict[str, Any]:
    """Return the planner's question that arguments make."""
    fields = {"want": given.want, "model": given.model, "weights": given.weights, "engine": given.engine}
    fields |= {"context_tokens": given.context_tokens, "of": given.of, "rank_by": given.rank_by, "count": given.count}
    groups = {
        "have": {"accelerator": given.on, "accelerators": given.accelerators},
        "need": {"users": given.users, "tokens_per_s_each": given.tokens_per_s_each},
        "limits": {"price": given.price, "price_per_month": given.price_per_month},
    }
    kept = {name: {key: value for key, value in group.items() if value is not None} for name, group in groups.items()}
    return {name: value for name, value in {**fields, **kept}.items() if value not in (None, {})}


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer a command line; return 0, 1 where something does not fit, or 2 where it was asked wrongly."""
    whole = parser()
    try:
        from argcomplete import autocomplete
    except ImportError:
        pass  # a shell completes nothing then
    else:
        autocomplete(whole)
    given = whole.parse_args(arguments)
    try:
        if given.verb == "ask":
            return verbs.ask(" ".join(given.line), as_json=given.json)
        if given.verb == "plan":
            return verbs.search(question_of(given), as_json=given.json)
        answer = verbs.fit if given.verb == "fit" else verbs.explain
        return answer(scenario_of(given), as_json=given.json)
    except ScenarioError as error:
        for field, message in error.problems:
            print(f"calc: {field}: {message}" if field else f"calc: {message}", file=sys.stderr)
        return WRONG
    except BrokenPipeError:  # whoever read has enough
        sys.stderr.close()
        return 0
