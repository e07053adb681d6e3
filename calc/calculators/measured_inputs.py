"""What was measured: an input for each term, in the unit that programs print, what is pasted, and what is shown."""

from collections.abc import Mapping, Sequence

from calc.calculators.inputs import Amount, Report, Values, amount
from calc.catalog import catalog
from calc.measured_run.comparison import Figure, compared
from calc.measured_run.terms import BYTES, RATE, SECONDS, TERMS, TRAINED, Reading
from calc.units import GIB

MEASURED = "Measured"
LEAST, MOST = 0.0001, 10**15  # a time or a rate of nothing is no measurement
UNITS = {BYTES: "GiB", SECONDS: "seconds"}


def names_of(terms: Sequence[str]) -> dict[str, str]:
    """Return the names of the inputs of terms: sizes are in GiB there.

    What was measured of a training run has names of its own: a reader's values go along from one form to the next.
    """
    begin = "run_" if terms == TRAINED else "measured_"
    return {name: begin + (name.replace("_bytes", "_gib") if TERMS[name].unit == BYTES else name) for name in terms}


def measured_inputs(terms: Sequence[str]) -> tuple[Amount, ...]:
    """Return the inputs of what was measured of terms; empty where nothing was."""
    return tuple(
        Amount(
            name,
            TERMS[term].label,
            f"In {UNITS.get(TERMS[term].unit, TERMS[term].unit)}.",
            "",
            least=LEAST if TERMS[term].unit in (RATE, SECONDS) else 0,
            most=MOST,
            topic=MEASURED,
        )
        for term, name in names_of(terms).items()
    )


def measured_of(values: Mapping[str, object], terms: Sequence[str]) -> dict[str, float]:
    """Return what a form says was measured, in bytes, seconds, tokens and tokens a second."""
    return {
        term: amount(values, name) * (GIB if TERMS[term].unit == BYTES else 1)
        for term, name in names_of(terms).items()
        if name in values
    }


def measured_fields(found: Mapping[str, float], terms: Sequence[str]) -> Values:
    """Return the fields of a form for what a text says was measured; those of which it says nothing are emptied."""
    fields: Values = {}
    for term, name in names_of(terms).items():
        size = found.get(term, 0.0) / (GIB if TERMS[term].unit == BYTES else 1)
        fields[name] = "" if term not in found else f"{size:.6g}" if size < 1e6 else f"{size:.0f}"
    return fields


def read_pasted(text: str) -> tuple[Reading, str]:
    """Return what a pasted text says, and a sentence on it; raises ScenarioError."""
    from calc.measured_output.reader import read_output  # only when something is pasted

    found = read_output(text, catalog())
    notes = "".join(f" {note}." for note in found.notes)
    return found, f"Read {found.what}.{notes}"


def set_beside(report: Report, *, run: object, figures: Mapping[str, Figure], measured: Mapping[str, float]) -> Report:
    """Return the report on a run, with what was measured of it beside its figures."""
    found = {"run": run, "figures": figures, "measured_terms": measured, "compared": compared(figures, measured)}
    return {**report, **found}
