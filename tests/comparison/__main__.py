"""Ask each tool in an environment of its own, and write what it answered: python -m tests.comparison [--keep FOLDER].

Takes some minutes and a few GB, most of them PyTorch. Needs the package index, and nothing else of the network: models
are described to the tools by their configs. `--keep` reuses environments that are there.
"""

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.parameters import parameters_total
from calc.validation.scores import quantile
from tests.comparison.cases import Case, every_case

HERE = Path(__file__).parent
RESULT = HERE.parents[1] / "docs" / "assets" / "comparison.json"


class Tool(NamedTuple):
    """A public tool: the packages to install, its adapter, and what it says that it counts."""

    name: str
    packages: tuple[str, ...]
    adapter: str
    url: str
    counts: str


TOOLS = (
    Tool(
        "accelerate",
        ("accelerate==1.15.0", "torch==2.15.0", "transformers"),
        "accelerate_tool",
        "https://huggingface.co/docs/accelerate/usage_guides/model_size_estimator",
        "Weights without the output matrix, and training with Adam as four times that; activations are left out.",
    ),
    Tool(
        "hf-vram-calc",
        ("hf-vram-calc==1.0.9",),
        "hf_vram_calc_tool",
        "https://pypi.org/project/hf-vram-calc/",
        "Weights from the model's class, a cache alike in all layers, inference as weights × 1.2, training × 5.2.",
    ),
    Tool(
        "llm-analysis",
        ("llm-analysis==0.2.2",),
        "llm_analysis_tool",
        "https://github.com/cli99/llm-analysis",
        "Weights, cache and activations from formulas of a GPT layer; gradients, states and parallelism in training.",
    ),
    Tool(
        "ridgepoint",
        ("ridgepoint==0.1.2",),
        "ridgepoint_tool",
        "https://pypi.org/project/ridgepoint/",
        "Weights, cache, and what vLLM's share leaves for it on an A100 or H100, calibrated on vLLM.",
    ),
    Tool(
        "hf-mem",
        ("hf-mem==0.5.6",),
        "hf_mem_tool",
        "https://github.com/alvarobartt/hf-mem",
        "Weights as the files have them, which is no estimate and is not asked, and a cache from the config.",
    ),
    Tool(
        "deepspeed",
        ("deepspeed==0.19.8", "torch==2.15.0"),
        "deepspeed_tool",
        "https://deepspeed.readthedocs.io/en/latest/memory.html",
        "Weights, gradients and optimizer states under ZeRO 2 and 3; activations are left out, and it says so.",
    ),
)


def asked(case: Case) -> dict[str, Any]:
    """Return a case as an adapter reads it, with the parameters that some tools want to be told."""
    architecture = read_config(Config(case.config))
    largest = max((sum(tensor.elements for tensor in kind.tensors) for kind in architecture.kinds), default=0)
    return {**case._asdict(), "parameters": parameters_total(architecture), "largest_layer": largest}


def python_of(tool: Tool, folder: Path) -> Path:
    """Return the interpreter of a tool's environment, made if it is not there."""
    place = folder / tool.name
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
        environment = {"DS_BUILD_OPS": "0", "PATH": "/usr/bin:/bin"}
        subprocess.run([python, "-m", "pip", "install", "-q", *tool.packages], check=True, env=environment)
    return python


def answers(tool: Tool, python: Path, cases: Iterable[Case]) -> dict[str, Any]:
    """Return a tool's version and its answers by case."""
    request = json.dumps([asked(case) for case in cases])
    adapter = HERE / "adapters" / f"{tool.adapter}.py"
    ran = subprocess.run([python, adapter], input=request, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"{tool.name}: {ran.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])  # some print as they are imported
    return found


def summary(pairs: list[tuple[float, float]]) -> dict[str, float]:
    """Return the errors of (predicted, measured): how many, median size, 80 % quantile, and bias."""
    errors = [predicted / measured - 1 for predicted, measured in pairs]
    sizes = [abs(error) for error in errors]
    spread = {"p80": quantile(sizes, 0.8), "largest": max(sizes), "bias": median(errors)}
    return {"rows": len(errors), "median": median(sizes), **spread}


def compared(cases: list[Case], found: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's errors by kind of case, beside those of the guide on the same cases."""
    result: dict[str, Any] = {}
    for kind in dict.fromkeys(case.kind for case in cases):
        of_kind = [case for case in cases if case.kind == kind]
        answered = [case for case in of_kind if not isinstance(found[case.id], str)]
        silent: dict[str, int] = {}
        for case in of_kind:
            if isinstance(found[case.id], str):
                silent[found[case.id]] = silent.get(found[case.id], 0) + 1
        result[kind] = {"cases": len(of_kind), "silent": silent}
        if answered:
            result[kind]["tool"] = summary([(found[case.id], case.measured) for case in answered])
            result[kind]["ours"] = summary([(case.ours, case.measured) for case in answered])
    return result


def main() -> None:
    """Ask all tools and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="a folder for the environments, to be used again")
    options = parser.parse_args()
    cases = list(every_case())
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        tools = []
        for tool in TOOLS:
            reply = answers(tool, python_of(tool, folder), cases)
            said = {"name": tool.name, "version": reply["version"], "url": tool.url, "counts": tool.counts}
            tools.append({**said, "kinds": compared(cases, reply["answers"])})
            print(tool.name, reply["version"], json.dumps(tools[-1]["kinds"], indent=1), file=sys.stderr)
    result = {"date": datetime.date.today().isoformat(), "tools": tools}
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
