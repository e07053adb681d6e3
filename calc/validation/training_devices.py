"""The devices and networks of published training runs, by the words that rows have for them."""

from calc import ScenarioError
from calc.catalog import catalog
from calc.validation.scores import Row, SkipError

ACCELERATORS = (
    ("A100 40GB", "a100-sxm-40gb"),
    ("A100 (DGX-A100 40GB", "a100-sxm-40gb"),
    ("A100", "a100-sxm-80gb"),
    ("H100 64GB", "h100-sxm-64gb"),
    ("H100 96GB", "h100-hbm2e-96gb"),
    ("H100 94-96GB", "h100-hbm2e-96gb"),
    ("H100", "h100-sxm-80gb"),
    ("H200", "h200-sxm-141gb"),
    ("B200", "b200-sxm-180gb"),
    ("B300", "b300-sxm-288gb"),
    ("GB200", "gb200-186gb"),
    ("GB300", "gb300-288gb"),
    ("V100-SXM2 16GB", "v100-sxm-16gb"),
    ("V100 32GB", "v100-sxm-32gb"),
    ("MI300X", "mi300x"),
    ("RTX 4070 Ti SUPER", "rtx-4070-ti-super"),
    ("RTX 4090", "rtx-4090"),
    ("RTX 3090", "rtx-3090"),
    ("RTX 6000 Ada", "rtx-6000-ada"),
    ("A5000", "rtx-a5000"),
    ("A800 80GB", "a800-sxm-80gb"),
    ("RTX A6000", "rtx-a6000"),
)
NETWORKS = (
    ("4x100Gb RoCE", 50.0),
    ("4 Omni-Path links of 100 Gb/s", 50.0),
    ("100 Gb/s IB", 12.5),
    ("4x200Gb RDMA", 100.0),
    ("four ports of 200 Gb/s for eight", 100.0),
    ("network of 200 GB/s a machine", 200.0),
    ("Slingshot of 200 Gb/s a GPU", 200.0),
    ("NDR200 of each GPU", 200.0),
)  # Gb/s of a device, of eight in a machine


def accelerator_of(row: Row) -> str:
    """Return the catalogue's id of the row's device."""
    name = row["gpu"].removeprefix('listed under "Runnable On": ')
    for start, found in ACCELERATORS:
        if name.startswith(start):
            return found
    try:
        return catalog().accelerator(name).id
    except ScenarioError:
        raise SkipError(f"no accelerator {name}") from None


def network_of(row: Row) -> dict[str, float]:
    """Return the rate of the network between machines, in Gb/s of a device, where a row says it."""
    said = row["notes"] + row["missing_inputs"]
    rate = next((rate for word, rate in NETWORKS if word in said), None)
    return {} if rate is None else {"network_gbit_per_s": rate}
