"""What a report says of a start: its steps, their sum with its range, and their working."""

from calc.architecture.stages import Stage
from calc.derivation import Step
from calc.memory.engines.vllm_graphs import captured
from calc.memory.weights import stage_weights_bytes
from calc.performance.cold_start import Start, beginnings, start_steps
from calc.planning.served import Served
from calc.planning.serving_report import Report


def cold_start(served: Served, start: Start) -> tuple[Report, list[Step]]:
    """Return the seconds from a start until an engine is ready, with the working."""
    engine, demand, layout = served.serving.engine, served.demand, served.layout
    architecture = demand.architecture
    weights = stage_weights_bytes(
        stage=Stage(architecture, 0, architecture.layer_count),
        tensor_parallel=1,
        expert_parallel=1,
        weights=demand.weights,
        group=demand.group,
    )
    known = "cold_start_s" in engine.values
    limit = served.runtime.sequences if known else 0
    found = beginnings(
        engine.values,
        start,
        weights_bytes=weights,
        layers=-(-architecture.layer_count // layout.pipeline),
        graphs=captured(2 * limit) + captured(limit) if known else 0,
    )
    total = sum(part.seconds for part in found)
    factor = engine.values["cold_range"] if known else 1.0
    report: Report = {
        "seconds": {"low": total / factor, "typical": total, "high": total * factor},
        "parts": [{"id": part.id, "label": part.label, "seconds": part.seconds} for part in found],
        "measured": known,
    }
    return report, start_steps(found, engine)
