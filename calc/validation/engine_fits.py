"""Coefficients of engines' speeds, from rows into the catalogue: python -m calc.validation.engine_fits [ENGINE ...].

Each is estimated from all rows of its engine, as `left_out` does it, and written into the engine's file.
"""

import argparse
import re

from calc.catalog import catalog
from calc.catalog.entries import DATA
from calc.validation.engine_starts import start_of
from calc.validation.fitting import fit
from calc.validation.left_out import STIFF, inference_items
from calc.validation.processors import spread

DIGITS = 3


def estimated(engine: str) -> dict[str, float]:
    """Return an engine's coefficients of speed as its rows have them."""
    items, start = inference_items((engine,)).get(engine, []), start_of(engine)
    found = fit(items, catalog().engine(engine).values, start, hold=STIFF).values
    return {name: found[name] for name in start}


def written(text: str, engine: str, values: dict[str, float]) -> str:
    """Return an engine's file with other values.

    >>> written('[vllm.coefficients.step_s]\\nvalue = 0.001\\nreason = "Host."', "vllm", {"step_s": 0.00123456})
    '[vllm.coefficients.step_s]\\nvalue = 0.00123\\nreason = "Host."'
    """
    for name, value in values.items():
        table, entry = (rf'(?:{re.escape(key)}|"{re.escape(key)}")' for key in (engine, name))
        head = rf"(\[{table}\.coefficients\.{entry}\]\nvalue = )\S+"
        text, count = re.subn(head, rf"\g<1>{value:.{DIGITS}g}", text)
        if count != 1:
            raise ValueError(f"{engine} has no coefficient {name} in its file")
    return text


def main() -> None:
    """Estimate and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", help="all without")
    asked = parser.parse_args().engines
    engines = asked or [entry.id for entry in catalog().engines() if start_of(entry.id)]
    for engine, values in zip(engines, spread(estimated, engines), strict=True):
        path = DATA / "engines" / f"{engine.replace('.', '-')}.toml"
        path.write_text(written(path.read_text(encoding="utf-8"), engine, values), encoding="utf-8")
        print(engine, ", ".join(f"{name} {value:.{DIGITS}g}" for name, value in values.items()))


if __name__ == "__main__":
    main()
