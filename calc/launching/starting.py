"""The answer of `calc.launch`: commands, files and manifests for a scenario, with the reason of every flag."""

from collections.abc import Mapping
from typing import Any

from calc.catalog import catalog
from calc.derivation import WRONG, Warn
from calc.errors import ScenarioError
from calc.estimate import estimate
from calc.launching.cluster import by_machine, everywhere, kubernetes, slurm
from calc.launching.command import Said, command_text
from calc.launching.serving import first_device, served
from calc.launching.trained import Trained
from calc.launching.training import trained
from calc.scenario.reader import whole

Answer = dict[str, object]
MOST_REPLICAS = 10_000


def starting(scenario: Mapping[str, object], replicas: object) -> Answer:
    """Return how what a scenario is about is started; its fields are documented on the page "Launch"."""
    copies, facts = whole(replicas, "replicas", 1, MOST_REPLICAS), catalog()
    report: Any = estimate(scenario)
    if scenario.get("workload") == "training":
        return training_start(trained(report, facts), does_not_run(report))
    if report["scenario"]["engine"] == "none":
        raise ScenarioError("engine", "is needed: a command starts one of them, and none is asked for")
    found = served(scenario, report, facts)
    warnings = [*does_not_run(report), *found.warnings]
    device = first_device(report["scenario"], facts)
    several = found.machines > 1
    return {
        "engine": found.launcher.id,
        "engine_version": scenario.get("engine_version"),  # what is filled in is where an era begins
        "machines": found.machines,
        "commands": [{"where": where, "text": text} for where, text in by_machine(found)],
        "flags": flags(found.said),
        "files": [{"name": name, "text": text} for name, text in found.files],
        "slurm": slurm(found) if several else None,
        "kubernetes": kubernetes(found, vendor=device.vendor, replicas=copies) if device is not None else None,
        "warnings": [warning.as_dict() for warning in warnings],
    }


def training_start(found: Trained, wrong: list[Warn]) -> Answer:
    """Return how a run is started: one command, and a batch script where there are several machines."""
    text = command_text(found.words, found.said)
    where = "" if found.machines == 1 else found.each
    batch = [
        "#!/bin/bash",
        f"#SBATCH --nodes={found.machines}",
        "#SBATCH --ntasks-per-node=1",
        f"#SBATCH --gpus-per-node={found.devices}",
        'export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
        everywhere(f"{text} \\\n  {found.slurm}" if found.slurm else text),
    ]
    return {
        "engine": found.framework,
        "engine_version": None,
        "machines": found.machines,
        "commands": [{"where": where, "text": text}],
        "flags": flags(found.said),
        "files": [{"name": name, "text": text} for name, text in found.files],
        "slurm": "\n".join(batch) + "\n" if found.machines > 1 else None,
        "kubernetes": None,
        "warnings": [warning.as_dict() for warning in (*wrong, *found.warnings)],
    }


def flags(said: tuple[Said, ...]) -> list[Answer]:
    """Return each flag with its value, its reason and its source."""
    return [one._asdict() for one in said]


def does_not_run(report: Mapping[str, Any]) -> list[Warn]:
    """Return that what would be started does not run, or does not fit."""
    found = []
    if report["runs"] is False:
        said = "; ".join(item["message"] for item in report["runs_because"])
        found.append(Warn("does-not-run", said, "engine", WRONG))
    if report["memory"].get("fits") is False:
        found.append(Warn("does-not-fit", "it does not fit: see the repairs of the report", "accelerator", WRONG))
    return found
