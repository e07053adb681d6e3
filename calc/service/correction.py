"""Reading what a scenario says that a reader has measured otherwise than it is computed."""

from collections.abc import Mapping

from calc.catalog.records import Accelerator, Engine
from calc.derivation import INFO, Warn
from calc.errors import ScenarioError, nearest
from calc.memory.correction import Correction
from calc.scenario.reader import Reader
from calc.units import show_number

LEAST, MOST = 0.05, 20.0  # beyond it something else was measured
WORDS = {"prefill": "passes over prompts", "decode": "decoding steps", "memory": "what the engine takes for itself"}


def read_correction(reader: Reader, engine: Engine | None) -> Correction:
    """Return the factors that a scenario corrects an engine by on its device; raises ScenarioError by field."""
    value = reader.given["correction"]
    if engine is None:
        raise ScenarioError("correction", "does not apply: without an engine nothing is measured")
    if not isinstance(value, Mapping) or not value:
        raise ScenarioError("correction", f"must be an object with some of {', '.join(WORDS)}, not {value!r:.60}")
    factors = {}
    for name, factor in value.items():
        field = f"correction.{name}"
        if name not in WORDS:
            raise ScenarioError(field, f"is none of {', '.join(WORDS)}{nearest(str(name), WORDS)}")
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not LEAST <= factor <= MOST:
            raise ScenarioError(field, f"must be a factor from {LEAST:g} to {MOST:g}, not {factor!r:.60}")
        factors[name] = float(factor)
    reader.filled["correction"] = factors
    return Correction(**factors)


def correction_warning(correction: Correction, engine: Engine, accelerator: Accelerator | None) -> Warn:
    """Return that an answer is corrected, and by what."""
    changed = [
        f"{WORDS[name]} × {show_number(factor)}" for name, factor in correction._asdict().items() if factor != 1.0
    ]
    where = f" on {accelerator.name}" if accelerator else ""
    message = f"this answer is corrected by your own measurement of {engine.name}{where}: {', '.join(changed)}"
    return Warn("corrected", message, "correction", INFO)
