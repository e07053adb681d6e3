"""The form of a calculator as HTML: its inputs with their lists, first those that are asked first, others by topic."""

from collections.abc import Sequence

from calc.calculators.html import element, text
from calc.calculators.inputs import Amount, Choice, Input, Number, Text, Values
from calc.catalog import catalog
from calc.catalog.records import Mixture, WeightsFormat
from calc.scenario.fields import PUBLISHED, USUAL

HARDWARE = ("machines", "links", "networks", "processors", "slots")
LINK_GROUPS = {"device": "Between devices", "host": "PCIe and hosts", "network": "Between machines"}
SEARCHED = ("models", "accelerators")  # kinds whose lists are long, and one file for all forms
BIT_GROUPS = ((16, "16 bit and more"), (8, "8 bit"), (0, "4 bit and less"))  # from so many bits on
LENGTHS = tuple(2**power for power in range(7, 21))
COUNTS = tuple(2**power for power in range(11))
PEOPLE = tuple(step * 10**power for power in range(5) for step in (1, 2, 5))
STOPS = {  # of the slider beside a number, which takes any other too
    "context_tokens": LENGTHS,
    "prompt_tokens": LENGTHS,
    "output_tokens": LENGTHS,
    "sequence_tokens": LENGTHS,
    "sequences": COUNTS,
    "micro_batch": COUNTS,
    "data": COUNTS,
    "users": PEOPLE,
    "accelerators": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64),
}
MOST_NAMED = 8  # inputs of a topic, in its heading


def options_of(field: Choice) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return a choice's options as (group, [(value, label)]); a list without groups has one without a name."""
    if field.kind == "weights":
        listed = [(weights_group(record), record.id, record.name) for record in catalog().weights_formats()]
        listed.insert(0, ("", PUBLISHED, "As the model is published"))
    elif field.kind in HARDWARE:
        listed = hardware_options(field.kind)
    elif field.kind in ("engines", "usual-engines"):
        listed = [("", engine.id, engine.name) for engine in catalog().engines()]
        if field.kind == "usual-engines":
            listed.insert(0, ("", USUAL, "The usual one for the GPU"))
    elif field.kind == "frameworks":
        listed = [("", name, catalog().framework(name).name) for name in catalog().ids("frameworks")]
    elif field.kind:
        listed = [("", record.id, record.name) for record in catalog().number_formats() if record.cache]
    else:
        listed = [("", value, label) for value, label in field.options]
    groups: dict[str, list[tuple[str, str]]] = {}
    for group, value, label in listed:
        groups.setdefault(group, []).append((value, label))
    return list(groups.items())


def hardware_options(kind: str) -> list[tuple[str, str, str]]:
    """Return the machines, links, slots or processors of the catalogue as (group, value, label)."""
    if kind == "machines":
        return [(machine.maker, machine.id, machine.name) for machine in catalog().machines() if machine.devices > 1]
    if kind == "processors":
        known = sorted(catalog().processors(), key=lambda entry: (entry.kind, entry.name))
        return [(entry.kind, entry.id, f"{entry.name} ({entry.bandwidth / 1e9:,.0f} GB/s)") for entry in known]
    if kind == "slots":
        return [("", link.name.removeprefix("PCIe "), link.name) for link in catalog().links() if link.kind == "host"]
    return [
        (LINK_GROUPS[link.kind], link.id, f"{link.name} ({link.one_way.show()} one way)")
        for link in catalog().links()
        if kind == "links" or link.kind == "network"
    ]


def control(field: Input, prefix: str, value: str) -> str:
    """Return a field's form control."""
    described = f"{prefix}-{field.name}-help {prefix}-{field.name}-error"
    identity = f"{prefix}-{field.name}"
    if not isinstance(field, Choice):
        return element(
            "input",
            id=identity,
            name=field.name,
            type="text",
            inputmode=mode_of(field),
            autocomplete="off",
            value=value,
            required=isinstance(field, Number),
            aria_describedby=described,
            data_stops=stops_of(field),
        )
    return element(
        "select",
        options_html(field, value),
        id=identity,
        name=field.name,
        autocomplete="off",
        aria_describedby=described,
        data_list=field.kind if field.kind in SEARCHED else None,
    )


def mode_of(field: Number | Amount | Text) -> str:
    """Return which keyboard a phone offers for a field."""
    return "text" if isinstance(field, Text) else "numeric" if isinstance(field, Number) else "decimal"


def stops_of(field: Number | Amount | Text) -> str | None:
    """Return the stops of a field's slider, None for a field that has none."""
    if isinstance(field, Text):
        return None
    return " ".join(str(stop) for stop in STOPS.get(field.name, ()) if field.least <= stop <= field.most) or None


def options_html(field: Choice, value: str) -> str:
    """Return the options of a list; of a long one that which is chosen, and the page fetches the others when asked."""
    options = element("option", text(field.empty), value="", selected=not value) if field.empty else ""
    if field.kind in SEARCHED:
        if not value:
            return options
        return options + element("option", text(label_of(field, value)), value=value, selected=True)
    for group, listed in options_of(field):
        written = "".join(
            element("option", text(label), value=option, selected=option == value) for option, label in listed
        )
        options += element("optgroup", written, label=group) if group else written
    return options


def label_of(field: Choice, value: str) -> str:
    """Return what stands for a value of a long list; a model that a reader brought stands for itself."""
    if value.startswith("{"):
        return value
    return (catalog().model(value) if field.kind == "models" else catalog().accelerator(value)).name


def weights_group(record: WeightsFormat) -> str:
    """Return under which heading readers look for a number format of weights."""
    if isinstance(record, Mixture):
        return "GGUF"
    return next(group for least, group in BIT_GROUPS if record.bits >= least)


def field_html(field: Input, prefix: str, value: str) -> str:
    """Return a field with its label, control, help and a place for its error."""
    identity = f"{prefix}-{field.name}"
    inner = element("label", text(field.label), for_=identity) + control(field, prefix, value)
    inner += element("p", text(field.help), class_="calc-help", id=f"{identity}-help")
    inner += element("p", "", class_="calc-error", id=f"{identity}-error", hidden=True)
    return element("div", inner, class_="calc-field")


def fields_html(fields: Sequence[Input], prefix: str, values: Values) -> str:
    """Return the inputs of a form: those that are asked first, and the others folded by topic, each with its count.

    The count is of the topic's inputs that differ from their defaults.
    """
    first = "".join(field_html(field, prefix, values[field.name]) for field in fields if not field.topic)
    topics = dict.fromkeys(field.topic for field in fields if field.topic)
    folded = "".join(
        topic_html(topic, [field for field in fields if field.topic == topic], prefix, values) for topic in topics
    )
    return first + (element("div", folded, class_="calc-topics") if folded else "")


def within(label: str) -> str:
    """Return a label as it stands within a sentence: abbreviations and names keep their capitals.

    >>> within("Number of GPUs"), within("KV cache"), within("PCIe of the GPU")
    ('number of GPUs', 'KV cache', 'PCIe of the GPU')
    """
    return label if label[1:2].isupper() else label[0].lower() + label[1:]


def topic_html(topic: str, fields: Sequence[Input], prefix: str, values: Values) -> str:
    """Return a topic's inputs, folded; their heading says how many were changed."""
    changed = sum(values[field.name] != field.default for field in fields)
    counted = element("span", f"{changed} changed" if changed else "", class_="calc-changed")
    shown = [within(field.label) for field in fields[:MOST_NAMED]]
    more = len(fields) - len(shown)
    names = text(", ".join(shown) + (f" and {more} more" if more else ""))
    heading = f"{element('strong', text(topic))} {element('span', names, class_='calc-names')} {counted}"
    inner = "".join(field_html(field, prefix, values[field.name]) for field in fields)
    body = element("summary", heading) + element("div", inner, class_="calc-fields")
    return element("details", body, class_="calc-topic")
