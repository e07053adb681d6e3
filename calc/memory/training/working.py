"""The working of a training peak: for each part the formulas with the numbers of the fullest device put in."""

from calc.architecture.layers import Layer
from calc.catalog import Catalog
from calc.derivation import Part, Step
from calc.memory.training.elements import Held
from calc.memory.training.moments import STEP_COUNTER_BYTES, Timeline, kept_of, local_outputs
from calc.memory.training.plan import FULL, GRADIENTS, OPTIMIZER, PARAMETERS, Plan
from calc.memory.training.reserve import Totals, finds_its_blocks, slack_name
from calc.memory.training.states import FACTORED
from calc.units import show_count

LABELS = {
    "weights": "Weights",
    "master_weights": "FP32 master weights",
    "adapters": "Adapters",
    "gradients": "Gradients",
    "optimizer_states": "Optimizer states",
    "activations": "Activations",
    "logits": "Logits",
    "communication_buffers": "Communication buffers",
    "optimizer_workspace": "Optimizer workspace",
    "allocator_reserve": "Allocator reserve",
    "runtime_context": "Device context",
}


def parts_of(*, plan: Plan, timeline: Timeline, sizes: Totals, facts: Catalog) -> list[Part]:
    """Return the parts at the peak, each with its working; their bytes add up to what the device shows."""
    alive = dict(timeline.peak.parts)
    reserve = sizes.reserved.typical - timeline.peak.total
    context = sizes.device.typical - sizes.reserved.typical
    held = timeline.inventory.total
    steps = {
        "weights": weight_steps(plan, held, alive["weights"]),
        "master_weights": element_steps(
            plan, held.updated, 4, OPTIMIZER, size=alive["master_weights"], source="megatron-optimizer"
        ),
        "adapters": adapter_steps(plan, held, alive["adapters"]),
        "gradients": gradient_steps(plan, timeline, held, alive["gradients"]),
        "optimizer_states": state_steps(plan, held, alive["optimizer_states"]),
        "activations": activation_steps(plan, timeline, alive["activations"]),
        "logits": logit_steps(plan, alive["logits"]),
        "communication_buffers": buffer_steps(plan, alive["communication_buffers"]),
        "optimizer_workspace": workspace_steps(plan, held, alive["optimizer_workspace"]),
        "allocator_reserve": reserve_steps(plan, timeline, reserve, facts),
        "runtime_context": context_steps(plan, context, facts),
    }
    alive |= {"allocator_reserve": reserve, "runtime_context": context}
    return [Part(name, LABELS[name], size, tuple(steps[name])) for name, size in alive.items()]


def sum_step(parts: list[Part], timeline: Timeline) -> Step:
    """Return the step that adds the parts up."""
    counted = [part for part in parts if part.bytes]
    formula = " + ".join(rf"M_{{\text{{{part.label.lower()}}}}}" for part in counted)
    numbers = " + ".join(show_count(part.bytes) for part in counted)
    name = f"Memory of the fullest device when {timeline.peak.reason}"
    return Step(name, formula, numbers, sum(part.bytes for part in parts), unit="B", source="torch-autograd")


def shared(plan: Plan, what: int) -> tuple[str, str]:
    """Return the divisor of a sharded quantity for a formula and for its numbers; empty where nothing is divided."""
    degree = plan.degree(what)
    return (r" / d", f" / {degree}") if degree > 1 else ("", "")


def element_steps(plan: Plan, elements: int, width: int, what: int, size: int, source: str) -> list[Step]:
    """Return the step of a quantity that each element costs the same."""
    if not size:
        return []
    symbol, number = shared(plan, what)
    return [
        Step(
            "Elements times bytes",
            rf"N \cdot b{symbol}",
            f"{show_count(elements)} × {width}{number}",
            size,
            unit="B",
            source=source,
        )
    ]


def weight_steps(plan: Plan, held: Held, size: int) -> list[Step]:
    """Return the weights: elements in the scheme's type, or the base as its number format stores it."""
    if not size:
        return []
    if plan.adapters is None:
        source = "zero" if plan.stage_of_zero else "torch-amp"
        elements = held.base_bytes // plan.scheme.weight
        return element_steps(plan, elements, plan.scheme.weight, PARAMETERS, size=size, source=source)
    symbol, number = shared(plan, PARAMETERS)
    base = plan.method.base
    numbers = f"{show_count(held.base_bytes)}{number}"
    name = f"Frozen base of {show_count(held.elements)} elements in {base.name}, scales included"
    return [Step(name, rf"B_{{\text{{base}}}}{symbol}", numbers, size, unit="B", source=base.source)]


def adapter_steps(plan: Plan, held: Held, size: int) -> list[Step]:
    """Return the adapters: two matrices of the rank for each target, and modules copied beside them."""
    if not size or plan.adapters is None:
        return []
    symbol, number = shared(plan, PARAMETERS)
    numbers = f"{show_count(held.added_bytes)}{number}"
    name = f"{show_count(held.trained)} trained elements: adapters of rank {plan.adapters.rank}"
    name += f" and copies of {', '.join(plan.adapters.saved)}" if plan.adapters.saved else ""
    formula = rf"\sum r (m + n) \cdot b{symbol}"
    return [Step(name, formula, numbers, size, unit="B", source="lora")]


def gradient_steps(plan: Plan, timeline: Timeline, held: Held, size: int) -> list[Step]:
    """Return the gradients: all of them where they stay, else those that the backward pass has made by the peak."""
    if not size:
        return []
    symbol, number = shared(plan, GRADIENTS)
    whole = -(-held.gradient_bytes // plan.degree(GRADIENTS))
    steps = [
        Step(
            "Gradients of everything trained",
            rf"N \cdot b_{{\text{{gradient}}}}{symbol}",
            f"{show_count(held.trained)} × {held.gradient_bytes / max(held.trained, 1):g}{number}",
            whole,
            unit="B",
            source="zero" if plan.stage_of_zero >= GRADIENTS else "torch-autograd",
        )
    ]
    if size != whole:
        name = f"Made by then, and whole where they are not reduced yet: {timeline.peak.reason}"
        steps.append(Step(name, r"\sum B_{\text{made}}", show_count(size), size, unit="B", source="torch-autograd"))
    return steps


def state_steps(plan: Plan, held: Held, size: int) -> list[Step]:
    """Return the optimizer's states, and its counters."""
    if not size:
        return []
    optimizer = plan.method.optimizer
    symbol, number = shared(plan, OPTIMIZER)
    counters = STEP_COUNTER_BYTES * held.tensors * optimizer.steps
    if optimizer.kind == FACTORED:
        formula, numbers = rf"\sum (m + n) \cdot b{symbol}", f"{show_count(held.state_bytes)}{number}"
    else:
        each = held.state_bytes / max(held.trained, 1)
        formula = r"N \cdot b_{\text{states}}"
        numbers = f"{show_count(held.trained)} × {each:.6g}"
        if counters:
            formula, numbers = f"{formula} + 4 n", f"{numbers} + 4 × {held.tensors}"
        if number:
            formula, numbers = rf"({formula}){symbol}", f"({numbers}){number}"
    return [Step(f"States of {optimizer.id}", formula, numbers, size, unit="B", source=optimizer.source)]


def activation_steps(plan: Plan, timeline: Timeline, size: int) -> list[Step]:
    """Return what each kind of layer keeps, by what it is, and what is alive of it at the peak.

    Of kinds that keep the same in other sizes the first one is shown in parts.
    """
    steps = []
    total, tapes, rows = 0, plan.tapes, plan.batch.rows
    seen = set[tuple[str, ...]]()
    terms = []
    for (kind, count), unit in zip(timeline.stage.kind_counts(), timeline.layers, strict=True):
        tape = tapes.of(kind)
        groups: dict[str, int] = {}
        for name, bytes_kept in tape.saved.items():
            label = tape.labels.get(name, "other")
            groups[label] = groups.get(label, 0) + bytes_kept
        for label, bytes_kept in groups.items() if tuple(groups) not in seen else ():
            numbers = f"{show_count(rows)} × {bytes_kept / rows:,.6g}"
            steps.append(
                Step(
                    f"A layer keeps: {label}",
                    r"T \cdot b_{\text{token}}",
                    numbers,
                    bytes_kept,
                    unit="B",
                    source="torch-autograd",
                )
            )
        seen.add(tuple(groups))
        listed = " + ".join(show_count(value) for value in groups.values()) or "0"  # of a layer without blocks
        steps.append(Step("A layer keeps", r"\sum B_i", listed, tape.saved_bytes, unit="B", source="torch-autograd"))
        kept, excess = unit.kept, excess_steps(kind, plan)
        if plan.checkpointing == FULL:  # what is more is there of the layer at work alone
            steps += excess
        if kept != tape.saved_bytes:
            name = f"A layer keeps with {plan.checkpointing} checkpointing"
            steps.append(
                Step(name, r"B_{\text{kept}}", show_count(kept), kept, unit="B", source="activation-recomputation")
            )
        if plan.checkpointing != FULL:
            steps += excess
        total += count * kept
        terms.append(f"{count} × {show_count(kept)}")
    peak = timeline.peak
    if peak.kept:
        name = f"All {timeline.stage.last - timeline.stage.first} layers of the stage keep"
        steps.append(
            Step(name, r"\sum L \cdot B_{\text{kept}}", " + ".join(terms), total, unit="B", source="torch-autograd")
        )
    numbers = f"{show_count(peak.kept)} + {show_count(size - peak.kept)}"
    formula = r"B_{\text{waiting}} + B_{\text{at work}}"
    name = f"Layers that wait for their backward, and what is at work: {peak.reason}"
    return [*steps, Step(name, formula, numbers, size, unit="B", source="torch-autograd")]


def excess_steps(kind: Layer, plan: Plan) -> list[Step]:
    """Return by how much adapters make a layer keep more than it keeps where all of it is trained; none where less.

    With full checkpointing a layer keeps its input alone, and more of it is there while it is at work.
    Frozen matrices keep no inputs, but each adapter has an input and a value in between of its own, cast to its type,
    and a policy that keeps every second product finds two more products at each matrix.
    """
    if plan.adapters is None:
        return []
    whole = plan.choices._replace(unpacks=False, inputs_kept=False)
    full = plan._replace(method=plan.method._replace(adapters=None), choices=whole)
    kept, without = (
        tape.saved_bytes if plan.checkpointing == FULL else kept_of(tape, one)
        for one, tape in ((plan, plan.tapes.of(kind)), (full, full.tapes.of(kind)))
    )
    if kept <= without:
        return []
    name, formula = "… more than where all of it is trained", r"B_{\text{adapters}} - B_{\text{full}}"
    return [Step(name, formula, f"{show_count(kept)} − {show_count(without)}", kept - without, unit="B", source="lora")]


def logit_steps(plan: Plan, size: int) -> list[Step]:
    """Return the logits with the bytes that each costs at the peak."""
    if not size:
        return []
    vocab = local_outputs(plan.architecture, plan.layout.tensor)
    elements = plan.batch.rows * vocab
    each, left = divmod(size, elements) if elements else (0, size)  # an encoder has a loss and no vocabulary
    numbers = f"{show_count(plan.batch.rows)} × {show_count(vocab)} × {each}" + (
        f" + {show_count(left)}" if left else ""
    )
    formula = rf"T \cdot V \cdot {each}" + (r" + \text{rest}" if left else "")
    source = "liger" if plan.cross_entropy == "fused" else "torch-autograd"
    return [Step("Logits, their copies and gradients", formula, numbers, size, unit="B", source=source)]


def buffer_steps(plan: Plan, size: int) -> list[Step]:
    """Return the buffers that parallel devices exchange through."""
    if not size:
        return []
    if plan.stage_of_zero >= PARAMETERS:
        name, source = "Gathered units, and the one whose gradients are reduced", "torch-fsdp"
    elif plan.stage_of_zero:
        name, source = "Bucket from which gradients are reduced", "deepspeed-config"
    else:
        name, source = "Buckets of gradients, and what tensor and pipeline ranks exchange", "megatron-lm"
    return [Step(name, r"B_{\text{buffers}}", show_count(size), size, unit="B", source=source)]


def workspace_steps(plan: Plan, held: Held, size: int) -> list[Step]:
    """Return what the optimizer needs beside its states while it works."""
    if not size:
        return []
    each = size / max(held.trained, 1)
    numbers = f"{show_count(held.trained)} × {each:.6g}"
    name = f"Copies that {plan.method.optimizer.id} works with"
    return [Step(name, r"N \cdot b_{\text{copies}}", numbers, size, unit="B", source=plan.method.optimizer.source)]


def reserve_steps(plan: Plan, timeline: Timeline, size: int, facts: Catalog) -> list[Step]:
    """Return the allocator's share: a workspace, and unused blocks of what stays and of what comes and goes."""
    workspace, slack = facts.coefficient("training-workspace"), facts.coefficient(slack_name(plan))
    rounding = facts.coefficient("training-allocator-rounding")
    moving = max(timeline.peak.total - timeline.stays, 0)
    numbers = f"{show_count(workspace.value)} + {rounding.value:g} × {show_count(timeline.stays)}"
    numbers += f" + {slack.value:g} × {show_count(moving)}"
    formula = r"B_{\text{workspace}} + r \cdot M_{\text{stays}} + s \cdot M_{\text{moves}}"
    if not finds_its_blocks(plan):
        formula += r" + B_{\text{rest}}"
        numbers += f" + {show_count(int(min(facts.coefficient('training-allocator-rest').value, moving)))}"
    if plan.varied_lengths and not plan.expandable_segments:
        varied = facts.coefficient("training-allocator-varied")
        formula += r" + v \cdot M_{\text{pass}}"
        numbers += f" + {varied.value:g} × {show_count(timeline.widest_pass)}"
    return [Step("Workspace and unused blocks", formula, numbers, size, unit="B", source=slack.source)]


def context_steps(plan: Plan, size: int, facts: Catalog) -> list[Step]:
    """Return the device context, and the communication library's share."""
    context, library = facts.coefficient("training-device-context"), facts.coefficient("training-collectives")
    formula, numbers = r"B_{\text{context}}", show_count(context.value)
    if plan.layout.devices > 1:
        formula, numbers = formula + r" + B_{\text{library}}", f"{numbers} + {show_count(library.value)}"
    return [Step("Device context", formula, numbers, size, unit="B", source=context.source)]
