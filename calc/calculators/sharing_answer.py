"""The text of what models take of one device together, what is left, and from which context on it breaks."""

from calc.calculators.html import table, text
from calc.calculators.inputs import Report
from calc.calculators.memory_bar import bars_html
from calc.calculators.rendering import answer_html, facts_html, spoken
from calc.calculators.sharing_report import ONE_PROCESS
from calc.calculators.sizes import size_gib
from calc.catalog import catalog
from calc.units import show_count


def verdict(report: Report) -> tuple[bool, str, str]:
    """Return whether the models fit together, and the answer in a headline and a sentence."""
    name = catalog().accelerator(report["scenario"]["accelerator"]).name
    together = listed([tenant["name"] for tenant in report["tenants"]])
    spare, had = size_gib(abs(report["left_bytes"])), size_gib(report["available_bytes"])
    if not report["fits"]:
        return (
            False,
            f"They do not fit together, {spare} are missing:",
            f"{together} need more than the {had} that " + (f"one {name} has for them."),
        )
    rest = f"{together} leave that much of the {had} that one {name} has for them."
    growing = [tenant for tenant in report["tenants"] if tenant["cache_tokens"]]
    if growing:
        first = growing[0]
        rest += (
            f" {first['name']} can have {show_count(first['cache_tokens'])} tokens in its cache, in all its sequences."
        )
    if report["missing_at_defaults_bytes"] > 0 and any(tenant["claimed"] for tenant in report["tenants"]):
        return True, f"They fit with {spare} to spare, but not with the engine's default share:", rest
    return True, f"They fit, with {spare} to spare:", rest


def listed(names: list[str]) -> str:
    """Return names in a sentence.

    >>> listed(["A", "B", "C"])
    'A, B and C'
    """
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def parts_table(report: Report) -> str:
    """Return what each model needs, by part."""
    rows = [
        ("Weights", "weights"),
        ("Cache", "cache"),
        ("Working memory", "working"),
        ("Context of its process", "context"),
        ("Needed", "needed"),
    ]
    heads = ("Part", *(text(tenant["name"]) for tenant in report["tenants"]))
    body = [[label, *(size_gib(tenant[key]) for tenant in report["tenants"])] for label, key in rows]
    return table(heads, body, caption="What each model needs of the device", class_="calc-parts")


def limits_table(report: Report) -> str:
    """Return from where on it breaks: for each model that keeps a cache, when the others stay as they are."""
    rows = []
    for tenant in report["tenants"]:
        if tenant["cache_tokens"] is None:
            rows.append([text(tenant["name"]), "keeps none", "–", "–"])
            continue
        rows.append(
            [
                text(tenant["name"]),
                show_count(tenant["cache_tokens"]),
                show_count(tenant["longest_context"]),
                show_count(tenant["most_sequences"]),
            ]
        )
    heads = ("Model", "Tokens of cache", "Longest context", "Most sequences")
    return table(heads, rows, caption="The most that fits, when the other models stay as they are", class_="calc-parts")


def notes(report: Report) -> str:
    """Return what engines take beside what they need."""
    items = []
    for tenant in report["tenants"]:
        if tenant["claimed"]:
            items.append(share_note(tenant))
        if tenant["kept"]:
            items.append(
                f"{text(tenant['name'])}: the allocator of its process may keep up to "
                f"<strong>{size_gib(tenant['kept'])}</strong> more where it has the device alone. "
                "It gives them back to its own process only."
            )
    left = size_gib(max(report["left_bytes"], 0))
    return facts_html([f"Left: <strong>{left}</strong>", *items])


def share_note(tenant: Report) -> str:
    """Return what an engine that takes a share has to be told."""
    usual = tenant["default_fraction"]
    own = f"its default share of {usual:g}" if usual else "the share that it chooses itself"
    taken = f"{text(tenant['engine'])} with {own} takes <strong>{size_gib(tenant['claimed'])}</strong>, needed or not"
    if not tenant["fraction"]:
        return f"{taken}."
    return f"{taken}. Beside the others its share may be <strong>{tenant['fraction']:.2f}</strong> at most."


def assumptions(report: Report) -> list[str]:
    """Return what the answer takes for granted."""
    one = report["scenario"]["processes"] == ONE_PROCESS
    return [
        "All models stay on the device all the time, and all are at their peak at the same moment.",
        "All models run in one process, which has one context." if one else "Each model runs in a process of its own.",
        "A sequence reaches its full length. A classifier or encoder passes over its text once and keeps no cache.",
        "Attention is computed in tiles and keeps no score matrix.",
        "Engines with their own settings but for the share of the device, which is set so that all fit.",
        "How fast they are while they compute at the same time is not in the answer.",
    ]


def render(report: Report) -> str:
    """Return the answer's HTML."""
    facts = parts_table(report) + notes(report) + limits_table(report)
    line = verdict(report)
    return answer_html(line, report, bars=bars_html(report), facts=facts, assumptions=assumptions(report))


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    needed = sum(tenant["needed"] for tenant in report["tenants"])
    tokens = next((tenant["cache_tokens"] for tenant in report["tenants"] if tenant["cache_tokens"]), 0)
    word = "fit" if report["fits"] else "do not fit"
    return size_gib(needed), word, show_count(tokens)


status = spoken(verdict)
