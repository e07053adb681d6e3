"""The passes of a model under an engine on a device: prompts, decoding steps, and steps that mix both."""

from collections.abc import Mapping
from typing import NamedTuple

from calc.catalog.records import Accelerator
from calc.memory.budget import Demand, Layout
from calc.performance.fabric import joined
from calc.performance.forward import CONTEXT, EXPERT, PIPELINE, TENSOR, Segment, forward, whole_rank
from calc.performance.kernels import Kernels, device_class, kernels
from calc.performance.rank_model import RankModel
from calc.performance.schedules import PassTime, Schedule, copies_of_cache, pass_time, schedule_of


class Passes(NamedTuple):
    """What decides how long any pass of a demand takes."""

    demand: Demand
    layout: Layout
    model: RankModel
    kernels: Kernels
    schedule: Schedule

    def time(self, *segments: Segment) -> PassTime:
        """Return the seconds of a pass over segments through all stages of the layout."""
        operations = forward(self.model, *segments)
        sequences = sum(segment.sequences for segment in segments)
        decoding = sum(segment.sequences for segment in segments if segment.queries == 1 and not segment.encoding)
        if decoding and self.schedule.cache_passes:
            operations += copies_of_cache(operations, self.schedule)
        return pass_time(
            operations, kernels=self.kernels, schedule=self.schedule, sequences=sequences, decoding=decoding
        )

    def prompt(self, *, sequences: float, tokens: int, before: int) -> Segment:
        """Return `tokens` of each prompt, after those that are cached. An encoder reads a prompt at once."""
        if self.demand.architecture.has_encoder:
            return Segment(sequences, 1, 0, 1.0, encoding=tokens)
        return Segment(sequences, tokens, before, float(tokens) if self.demand.all_logits else 1.0)

    def step(self, *, sequences: float, context: int) -> Segment:
        """Return the next token of each sequence, after `context` of prompt and output."""
        if self.demand.architecture.has_encoder:
            prompt = self.demand.prompt_tokens
            return Segment(sequences, 1, max(context - prompt, 0), 1.0, encoded=prompt)
        return Segment(sequences, 1, context, 1.0)

    def mixed_step_s(self, *, prompt_tokens: int, before: int, sequences: float, context: int) -> float:
        """Return the seconds of a step that takes `prompt_tokens` of a prompt along with decoding sequences."""
        segments = [self.step(sequences=sequences, context=context)] if sequences else []
        if prompt_tokens:
            segments.append(self.prompt(sequences=1, tokens=prompt_tokens, before=before))
        return self.time(*segments).total


def passes_of(
    *,
    demand: Demand,
    layout: Layout,
    accelerator: Accelerator,
    engine: str,
    era: str,
    values: Mapping[str, float],
    attention: str,
) -> Passes | None:
    """Return a demand's passes under an engine's coefficients, None where a device's rates are not known."""
    found = kernels(accelerator, engine=engine, fuses_casts=bool(values["fuses_casts"]))
    if found is None:
        return None
    if layout.tensor > 1 or layout.pipeline > 1:
        found.group(TENSOR, joined(accelerator, ranks=layout.tensor))
        found.group(PIPELINE, joined(accelerator, ranks=2, stride=layout.tensor))
        found.group(CONTEXT, joined(accelerator, ranks=layout.context, stride=layout.tensor))
        found.group(EXPERT, joined(accelerator, ranks=layout.expert))
    schedule = schedule_of(
        values,
        era=era,
        weights=demand.weights,
        accelerator=accelerator,
        market=device_class(accelerator),
        attention=attention,
    )
    model = whole_rank(demand, layout, fuses=bool(values["fuses"]))
    return Passes(demand, layout, model, found, schedule)
