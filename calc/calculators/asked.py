"""Of what an answer is, in words: model, format, lengths, program and devices."""

from calc.calculators import hosting
from calc.calculators.inputs import Report
from calc.catalog import catalog
from calc.units import show_count

METHODS = {"full": "full training", "lora": "LoRA", "qlora": "QLoRA"}


def asked_words(report: Report) -> str:
    """Return what a report answers, in a line: model, format, lengths, program, devices; empty for no scenario."""
    scenario = report["scenario"]
    if "workload" not in scenario:
        return ""
    said = [report["model"]["name"], *(trained if scenario["workload"] == "training" else served)(scenario)]
    if hosting.alone(report):
        said.append(hosting.processor_name(report))
    elif scenario.get("accelerator"):
        said.append(device_words(scenario))
    return " · ".join(said)


def device_words(scenario: Report) -> str:
    """Return the devices of a scenario in words, however many kinds or pools there are."""
    facts, listed = catalog(), scenario["accelerator"]
    if isinstance(listed, list):
        return " and ".join(f"{item['count']} × {facts.accelerator(item['id']).name}" for item in listed)
    name = facts.accelerator(listed).name
    if pools := scenario.get("disaggregation"):
        read, write = (show_count(pools[pool]["accelerators"]) for pool in ("prefill", "decode"))
        return f"{read} × {name} that read and {write} × that write"
    count = scenario["accelerators"]
    return f"{count} × {name}" if count > 1 else name


def served(scenario: Report) -> list[str]:
    """Return what is asked of inference, in words: format, lengths, engine."""
    tokens, sequences = scenario["context_tokens"], scenario.get("sequences", 1)
    times = f"{show_count(sequences)} × " if sequences not in (1, "max") else ""
    engine = scenario["engine"]
    if engine == "none" and tokens == 1:  # of the weights alone
        return [format_words(scenario["weights"])]
    program = "no engine" if engine == "none" else catalog().engine(engine).name
    return [format_words(scenario["weights"]), f"{times}{show_count(tokens)} tokens", program]


def trained(scenario: Report) -> list[str]:
    """Return what is asked of training, in words: method, precision, batch."""
    return [METHODS[scenario["method"]], scenario["precision"], batch_words(scenario)]


def batch_words(scenario: Report) -> str:
    """Return what each rank of a training run reads at once, in words."""
    return f"{show_count(scenario['micro_batch'])} × {show_count(scenario['sequence_tokens'])} tokens"


def run_words(report: Report) -> str:
    """Return which training run a report is of, as the subject of a sentence."""
    return f"{METHODS[report['scenario']['method']]} of {report['model']['name']}"


def format_words(weights: object) -> str:
    """Return a scenario's number format of weights in words."""
    if weights == "published":
        return "as published"
    if weights == "stored":
        return "as in the file"
    if not isinstance(weights, dict):
        return catalog().weights_format(str(weights)).name
    if "bits_per_weight" in weights:
        return f"{weights['bits_per_weight']:g} bits a weight"
    name = catalog().weights_format(str(weights["format"])).name
    if "group_size" in weights:
        return f"{name} in groups of {weights['group_size']}"
    if "importance_matrix" in weights:
        return f"{name} {'with' if weights['importance_matrix'] else 'without'} an importance matrix"
    return name


def in_format(weights: object) -> str:
    """Return a scenario's number format of weights as it stands in a sentence: in Q4_K_M, as published."""
    words = format_words(weights)
    return words if words.startswith("as ") else f"in {words}"
