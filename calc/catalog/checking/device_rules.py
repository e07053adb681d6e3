"""What entries of hardware must look like: their fields and types, and what their facts may say."""

from calc.catalog.checking.check import FactRule, Rules

RATE = ("operations_per_s", ("dense",), 1e11, 1e18)
ACCELERATOR_FACTS: dict[str, FactRule] = {
    "memory": ("bytes", ("advertised",), 2**30, 2**42),
    "memory_reported": ("bytes", ("driver",), 2**30, 2**42),
    "memory_usable": ("bytes", ("program",), 2**29, 2**42),
    "memory_free": ("bytes", ("after start",), 2**29, 2**42),  # the least, where the system takes some of it
    "memory_type": ("text", ("",), 0, 0),
    "bandwidth": ("bytes_per_s", ("peak",), 1e10, 1e14),
    "memory_bus": ("bits", ("width",), 16, 65536),
    "memory_rate": ("bits_per_s", ("per-pin",), 1e8, 1e11),
    "fp32": ("operations_per_s", ("vector",), 1e11, 1e16),
    "tf32": RATE,
    "bf16": RATE,
    "fp16": RATE,
    "fp16_accumulate": RATE,
    "fp8": RATE,
    "fp6": RATE,
    "fp4": RATE,
    "int8": RATE,
    "compute_units": ("count", ("enabled",), 1, 100_000),
    "dies": ("count", ("of a package",), 2, 2),  # that work as one device
    "unit_threads": ("count", ("of a unit",), 512, 4096),  # that a unit can have at once
    "clock": ("hertz", ("boost",), 1e8, 1e10),
    "matrix_clock": ("hertz", ("boost",), 1e8, 1e10),
    "operations_per_clock": ("operations", ("16-bit",), 1, 1e7),
    "register_file": ("bytes", ("of a unit",), 2**14, 2**21),
    "shared_memory": ("bytes", ("of a unit",), 2**13, 2**20),
    "l2_cache": ("bytes", ("on-chip",), 2**18, 2**29),
    "last_level_cache": ("bytes", ("on-chip",), 2**20, 2**29),
    "power": ("watts", ("board", "module"), 5, 5000),
    "form": ("text", ("",), 0, 0),
    "link": ("text", ("",), 0, 0),
    "link_bandwidth": ("bytes_per_s", ("both-ways",), 1e9, 1e14),
    "link_domain": ("count", ("joined",), 2, 100_000),
    "pcie": ("text", ("",), 0, 0),
    "peer_to_peer": ("text", ("",), 0, 0),
    "rocm": ("text", ("",), 0, 0),
    "emulates": ("text", ("",), 0, 0),
    "devices_per_package": ("count", ("package",), 2, 64),
}
REQUIRED_FACTS = ("memory", "bandwidth")
# … and of what is or was sold, by segment: the makers of cards say these of each.
SOLD_FACTS = {
    "consumer": ("form", "power", "memory_bus", "memory_rate", "clock", "fp32", "l2_cache"),
    "workstation": ("form", "power", "memory_bus", "memory_rate"),
    "data-center": ("form",),
    "soc": ("form",),
    "cloud": ("form",),
}
THREADS_TOGETHER = 32  # of a unit: they begin and end in such groups, or in twice as many
JOINS = {"link": "device", "host_link": "host", "network": "network"}  # the kinds of a machine's links
# How texts of facts are made up, so that none of another fact stands in their place.
TEXT_FACTS = {
    "memory_type": r"(G|LP)?DDR\dX?|LPDDR5X|HBM(\de?)?|Hi[BZ][LQ] \d\.\d|unified|DRAM",
    "form": r"(PCIe|SXM\d|OAM|SoC|rack|superchip|module|laptop|cloud|SH5 socket)(, .+)?",
    "link": r"none|.*(Link|ICI|Fabric|GbE|HCCS|Bus|xGMI).*",
    "pcie": r"[3-6]\.0 x(4|8|16)",
}
# Facts that say nothing without another one.
TOGETHER = {
    "memory_bus": "memory_rate",
    "memory_rate": "memory_bus",
    "clock": "compute_units",
    "operations_per_clock": "clock",
    "link_bandwidth": "link",
    "link_domain": "link",
}
TEXT_CHOICES = {
    "peer_to_peer": (
        "yes",
        "bridge only",
        "no",
    ),  # may one device read another's memory without a copy through the host's?
    "rocm": ("supported", "not supported"),  # by AMD's own list
    "emulates": ("bf16",),  # a format that others of its generation's makers have circuits for
}
# Where two published facts disagree with each other, the entry says so, by what is compared and why it differs.
CROSS_CHECKS = ("bandwidth", "rate", "sparse", "lanes")
# Structured sparsity doubles a marketing rate. Dense rates stay below these multiples of the full 16-bit tensor rate
# (twice as much for 8 bit, six times for 4 bit on Blackwell Ultra); one above is a sparse number in a dense field.
SPARSE_RATIOS = {"fp8": 3.9, "int8": 3.9, "fp4": 7.9}
FULL_RATES = ("bf16", "fp16", "fp16_accumulate")
# What machines and links have, each with its unit and basis.
MACHINE_FACTS: dict[str, FactRule] = {
    "memory": ("bytes", ("advertised",), 2**30, 2**43),
    "host_memory": ("bytes", ("fitted",), 2**30, 2**50),
    "power": ("watts", ("maximum", "supplies"), 5, 1e6),
    "cpu_lanes": ("count", ("PCIe",), 1, 1024),
}
# What large messages were measured to reach: bytes on the link in a collective, or in a copy one way.
REACHED = ("bus", "one-way")
LINK_FACTS: dict[str, FactRule] = {
    "one_way": ("bytes_per_s", ("one-way",), 1e8, 1e14),
    "both_ways": ("bytes_per_s", ("both-ways",), 1e8, 1e14),
    "pair": ("bytes_per_s", ("one-way",), 1e8, 1e14),  # of two devices alone, where each pair has a wire of its own
    "reached": ("bytes_per_s", REACHED, 1e8, 1e14),
    "reached_by_two": ("bytes_per_s", REACHED, 1e8, 1e14),  # where more devices share what is between them
    "reached_by_host": ("bytes_per_s", REACHED, 1e8, 1e14),  # where devices may not read each other's memory
    "reached_by_host_by_two": ("bytes_per_s", REACHED, 1e8, 1e14),
    "reached_in_switch": ("bytes_per_s", ("bus",), 1e8, 1e14),  # where the switch adds up an all-reduce
    "latency": ("seconds", ("measured", "published"), 1e-8, 1e-2),
    "step_wait": ("seconds", ("measured",), 1e-7, 1e-3),  # of each step between machines, beyond the protocol's own
}
PROCESSOR_FACTS: dict[str, FactRule] = {
    "memory_channels": ("count", ("64-bit",), 0.25, 64),
    "memory_rate": ("bits_per_s", ("per-pin",), 1e9, 1e10),
    "clock": ("hertz", ("all cores",), 5e8, 6e9),
    "operations_per_clock": ("operations", ("8-bit, of a core",), 4, 4096),
    "memory_most": ("bytes", ("soldered",), 2**30, 2**40),  # of what is sold with memory that nobody changes
    "power": ("watts", ("package",), 5, 5000),
}
PROCESSOR_VENDORS = ("AMD", "Ampere", "Broadcom", "Cix", "Intel")
PROCESSOR_KINDS = ("desktop", "laptop", "workstation", "server", "board")
MACHINE_KINDS = ("server", "rack", "workstation", "desktop", "laptop", "cloud")
MOST_IN_A_BOX = 16  # devices of one machine; what holds more is a rack
# How devices reach each other: there is one; through the host, a bridge of two, switches, a link to each other one,
# their neighbours, or the network between machines.
TOPOLOGIES = ("single", "pcie", "bridge", "switched", "mesh", "torus", "network")
LINK_KINDS = ("device", "host", "network")  # between devices, between device and host, between machines
# How a library sends messages: what it waits for once, and in each step over each kind of way.
PROTOCOL_FACTS: dict[str, FactRule] = dict.fromkeys(
    ("base", "device", "host", "staged", "network"), ("seconds", ("expected",), 0, 0.01)
)
PROTOCOL_ALGORITHMS = ("ring", "tree", "switch")
PROTOCOL_RULES: Rules = {
    "name": (str,),
    "algorithm": (str,),
    "share": (int, float),
    "source": (str,),
    "checked": (str,),
    "note?": (str,),
} | {f"{name}?": (dict,) for name in PROTOCOL_FACTS}
ACCELERATOR_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "vendor": (str,),
    "segment": (str,),
    "architecture": (str,),
    "released": (str,),
    "availability": (str,),
    "source": (str,),
    "checked": (str,),
    "also?": (list,),
    "exceptions?": (list,),
    "other_memory?": (list,),
} | {f"{name}?": (dict,) for name in ACCELERATOR_FACTS}
FACT_RULES: Rules = {
    "value": (int, float, str),
    "unit?": (str,),
    "basis?": (str,),
    "sparse?": (int, float),
    "source?": (str,),
    "checked?": (str,),
    "note?": (str,),
}
ALSO_RULES: Rules = {
    "field": (str,),
    "value": (int, float, str),
    "unit?": (str,),
    "source": (str,),
    "note": (str,),
}
EXCEPTION_RULES: Rules = {"check": (str,), "field": (str,), "reason": (str,)}
LINK_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "kind": (str,),
    "one_way": (dict,),
    "both_ways": (dict,),
    "pair?": (dict,),
    "reached?": (dict,),
    "reached_by_two?": (dict,),
    "reached_by_host?": (dict,),
    "reached_by_host_by_two?": (dict,),
    "reached_in_switch?": (dict,),
    "latency?": (dict,),
    "step_wait?": (dict,),
    "accelerators?": (list,),
    "source": (str,),
    "checked": (str,),
    "note?": (str,),
}
MACHINE_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "maker": (str,),
    "kind": (str,),
    "topology": (str,),
    "accelerator?": (str,),
    "devices?": (int,),
    "memory?": (dict,),
    "link?": (str,),
    "host_link?": (str,),
    "network?": (str,),
    "network_count?": (int,),
    "cpu?": (str,),
    "cpu_lanes?": (dict,),
    "host_memory?": (dict,),
    "power?": (dict,),
    "claim?": (str,),
    "source": (str,),
    "checked": (str,),
    "note?": (str,),
}
PROCESSOR_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "vendor": (str,),
    "kind": (str,),
    "cores": (int,),
    "released": (str,),
    "memory_channels": (dict,),
    "memory_rate": (dict,),
    "clock": (dict,),
    "operations_per_clock": (dict,),
    "memory_most?": (dict,),
    "power?": (dict,),
    "usual?": (bool,),
    "source": (str,),
    "checked": (str,),
}
