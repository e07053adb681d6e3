"""Fitting the laws of kernels to measured tables: `python -m calc.validation.kernel_fits FOLDER`.

FOLDER holds the tables that `kernel_tables` reads, and in `aiter` those of `library_tables`; without these, their laws
stay. Every fifth shape is left out of the fits; the errors that are written are of these. The laws go to
`calc/catalog/data/kernels.toml`, and a sample of what was left out to `calc/catalog/data/measurements/kernels.csv`,
which tests and pages judge the laws by. Needs SciPy.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from math import exp, isfinite, log
from pathlib import Path
from random import Random
from statistics import median

from calc.catalog import catalog
from calc.catalog.checking.kernel_tables import KERNEL_VALUES
from calc.catalog.entries import DATA
from calc.catalog.records import KernelFamily, KernelLaw
from calc.performance.device_rates import matrix_rate
from calc.performance.fabric import joined
from calc.performance.kernels import Kernels
from calc.performance.operations import Attention, Experts
from calc.validation import library_tables
from calc.validation.fitted_kernels import CHECKED, FITS, LIBRARY_TABLES, SERVED, Fit, doubtful
from calc.validation.kernel_samples import kernel_of, write_sample
from calc.validation.kernel_tables import READERS, repeated_bytes
from calc.validation.measured_kernels import DEVICES, Measured

MOST_ROWS = 2000  # of a device in a fit
LEAST_ROWS = 200
LEAST_LEFT_OUT = 25
CACHE_BYTES = 126 * 2**20  # of a last level that no data sheet gives: the B200's
# Where a number starts, and the bounds that it is looked for in; seconds and counts are looked for by their logarithm.
NUMBERS = {
    "start_s": (5e-6, 1e-7, 4e-4),
    "depth_s": (2e-10, 5e-12, 2e-8),
    "tile_s": (1e-9, 1e-11, 5e-8),
    "row_s": (1e-9, 1e-12, 1e-7),
    "key_s": (1e-9, 1e-11, 3e-7),
    "turn_s": (2e-6, 2e-8, 5e-5),
    "step_s": (2e-8, 1e-11, 1e-6),
    "chunk_s": (5e-6, 1e-8, 2e-4),
    "hop_s": (1e-6, 1e-8, 2e-5),
    "link_share": (0.7, 0.02, 1.1),
    "pair_share": (0.7, 0.02, 1.1),
    "ramp": (0.5, 0.01, 5.0),
    "memory_share": (0.8, 0.2, 1.0),
    "matrix_share": (0.6, 0.02, 1.0),
    "sharpness": (2.0, 1.0, 9.0),
    "quantize_bytes": (5.0, 0.4, 40.0),
    "setup_keys": (200.0, 5.0, 3000.0),
    "setup_width": (30.0, 1.0, 400.0),
    "last_wave": (0.5, 0.01, 5.0),
    "idle_rows": (10.0, 0.1, 300.0),
}
BY_LOGARITHM = frozenset(NUMBERS) - {"memory_share", "matrix_share", "link_share", "pair_share"}
CROWDED = 0.65  # of the share of two cards, where more share a PCIe switch: as on the RTX PRO 6000
LEAST = {"message": (10, 2), "recurrence": (300, 10)}  # a kind with few rows needs fewer, and fewer of them left out
LOSS_SCALE = 0.08  # error from which on a row weighs less


def cold(row: Measured, device: Kernels) -> bool:
    """Return whether a row says what an engine sees, whose weights and caches are not in the L2 cache.

    Repeated kernels find what fits there, and of experts drawn anew some of more. What is bound by arithmetic, or small
    enough not to matter, is kept.
    """
    done = row.operations[-1]
    if row.kind in ("prefill", "message"):
        return True
    cache = device.accelerator.quantity("l2_cache") or CACHE_BYTES
    moved, caches = done.bytes, 4 if isinstance(done, Experts) else 2
    if repeated_bytes(row) > caches * cache or moved < cache / (64 if isinstance(done, Attention) else 8):
        return True
    rate = matrix_rate(device.accelerator, "bf16")
    small = cache < 60 * 2**20 and row.kind == "product"  # no effect is seen: batches of operands are rotated
    return small or done.flops / rate > 2 * moved / device.bandwidth


def law_of(fit: Fit, family: KernelFamily, values: dict[str, float], error: float = 0.0, rows: int = 0) -> KernelLaw:
    """Return the record of a law with these numbers."""
    tag = "".join(f"-{engine}" for engine in fit.engines)
    kind = fit.kind.capitalize().replace("-", " ")
    name = f"{kind}, {fit.kernel}, {family.name}" + "".join(f", {engine}" for engine in fit.engines)
    return KernelLaw(
        f"{family.id}-{fit.kind}-{fit.kernel}{tag}",
        name,
        family.id,
        fit.kind,
        kernels=served(fit, family),
        engines=fit.engines,
        rate=fit.rate,
        values=values,
        error=error,
        rows=rows,
        reason="",
        source=fit.source,
        checked=CHECKED[fit.source],
    )


def served(fit: Fit, family: KernelFamily) -> tuple[str, ...]:
    """Return the kernels that a law serves; of messages, over the way that the family's devices have."""
    kernels = SERVED.get(fit.kernel, (fit.kernel,))
    if fit.kind != "message":
        return kernels
    way = joined(catalog().accelerator(family.measured[0]), ranks=2).kind
    return tuple(f"{kernel}/{way}" for kernel in kernels)


def errors(devices: dict[str, Kernels], rows: Sequence[Measured]) -> list[float]:
    """Return log(computed / measured) of each row."""
    return [
        log(sum(devices[row.device].seconds(operation) for operation in row.operations) / row.seconds) for row in rows
    ]


def fitted(fit: Fit, family: KernelFamily, rows: Sequence[Measured]) -> KernelLaw | None:
    """Return the law that fits rows of a family's devices, devices weighing alike; None where there are too few."""
    from scipy.optimize import least_squares

    devices = {name: Kernels(catalog().accelerator(name)) for name in family.measured}
    mine = [row for row in rows if row.device in devices and cold(row, devices[row.device]) and not doubtful(row)]
    random = Random(11)
    used: list[Measured] = []
    for name in devices:
        known = [row for row in mine if row.device == name and not row.left_out]
        used += random.sample(known, min(len(known), MOST_ROWS))
    kept = [row for row in mine if row.left_out]
    least_rows, least_left_out = LEAST.get(fit.kind, (LEAST_ROWS, LEAST_LEFT_OUT))
    if len(used) < least_rows or len(kept) < least_left_out:
        return None
    names = [rule.removesuffix("?") for rule in KERNEL_VALUES[fit.kind]]
    casts = {"quantize_bytes", "row_s"} if fit.kind == "product" else {"quantize_bytes"}
    names = [name for name in names if name != "split_depth" and (name not in casts or fit.quantizes)]
    fixed = {"split_depth": fit.split_depth} if fit.kind == "product" else {}
    numbers = NUMBERS | {name: (start, low, high) for name, start, low, high in fit.bounds}
    ends = [[log(end) if name in BY_LOGARITHM else end for end in numbers[name]] for name in names]

    def residuals(point: Iterable[float]) -> list[float]:
        values = {name: exp(x) if name in BY_LOGARITHM else float(x) for name, x in zip(names, point, strict=True)}
        for device in devices.values():
            device.take(law_of(fit, family, values | fixed))
        return errors(devices, used)

    found = least_squares(
        residuals,
        [start for start, _, _ in ends],
        bounds=([low for _, low, _ in ends], [high for *_, high in ends]),
        loss="soft_l1",
        f_scale=LOSS_SCALE,
        x_scale="jac",
        diff_step=1e-4,
        max_nfev=60,
    )
    residuals(found.x)
    values = {name: exp(x) if name in BY_LOGARITHM else float(x) for name, x in zip(names, found.x, strict=True)}
    if fit.kind == "message" and all(row.shape[0] == 2 for row in used):
        values["link_share"] = CROWDED * values["pair_share"]
    off = errors(devices, random.sample(kept, min(len(kept), 2 * MOST_ROWS)))
    law = law_of(
        fit, family, {name: float(f"{value:.3g}") for name, value in values.items()} | fixed, 0.0, rows=len(mine)
    )
    return law._replace(error=round(median(map(abs, off)), 3))


def matches(fit: Fit, row: Measured) -> bool:
    """Return whether a row is one of those that a law is fitted on."""
    known = row.kind == fit.kind and kernel_of(row.operations[-1]) in SERVED.get(fit.kernel, (fit.kernel,))
    return known and row.engine in fit.row_engines and row.kernel.startswith(fit.names)


def entry(law: KernelLaw) -> str:
    """Return a law as it stands in the catalogue."""
    values = ", ".join(f"{name} = {value:g}" for name, value in law.values.items())
    lines = [f'["{law.id}"]', f'name = "{law.name}"', f'family = "{law.family}"', f'kind = "{law.kind}"']
    lines.append(f"kernels = {json.dumps(list(law.kernels))}")
    if law.engines:
        lines.append(f"engines = {json.dumps(list(law.engines))}")
    lines += [f'rate = "{law.rate}"', f"values = {{ {values} }}", f"error = {law.error:g}", f"rows = {law.rows}"]
    return "\n".join([*lines, f'source = "{law.source}"', f"checked = {law.checked}"]) + "\n"


def main(folder: Path, kinds: Sequence[str]) -> None:
    """Fit all laws, or those of some kinds, and write them and the sample."""
    path = DATA / "kernels.toml"
    kept = "" if (folder / library_tables.FOLDER).is_dir() else LIBRARY_TABLES
    laws = {
        law.id: law
        for law in catalog().kernel_laws()
        if law.rows and (law.source == kept or (kinds and law.kind not in kinds))
    }
    names = (*DEVICES.values(), *library_tables.DEVICES.values())
    devices = {name: Kernels(catalog().accelerator(name)) for name in names}
    for kind in kinds or READERS:
        others = library_tables.products(folder) if kind == "product" else ()
        rows = [row for row in (*READERS[kind](folder), *others) if isfinite(row.seconds) and row.seconds > 0]
        for fit in (fit for fit in FITS if fit.kind == kind):
            mine = [row for row in rows if matches(fit, row)]
            for family in catalog().kernel_families():
                law = fitted(fit, family, mine) if family.measured else None
                if law is not None:
                    laws[law.id] = law
                    print(f"{law.id:48} {law.error:6.1%} {law.rows:7,}", law.values, flush=True)
        judged = [row for row in rows if row.left_out and cold(row, devices[row.device]) and not doubtful(row)]
        write_sample(kind, [row for row in judged if any(matches(fit, row) for fit in FITS)])
    head, mark, by_hand = path.read_text(encoding="utf-8").partition("# Not fitted:")
    comment = head.partition("\n[")[0]
    fitted_part = "\n".join(entry(laws[name]) for name in sorted(laws, key=order))
    path.write_text(f"{comment}\n{fitted_part}\n{mark}{by_hand}", encoding="utf-8")


def order(name: str) -> tuple[int, str]:
    """Return where a law stands in the file: kinds in the order of their readers."""
    kind = next(kind for kind in sorted(READERS, key=len, reverse=True) if f"-{kind}-" in name)
    return list(READERS).index(kind), name


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
