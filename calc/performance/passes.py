"""The passes of a model under an engine on a device: prompts, decoding steps, and steps that mix both."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from calc.architecture.stages import Stage
from calc.catalog.records import Accelerator
from calc.memory.budget import Demand, Layout
from calc.memory.drafts import Draft
from calc.performance.fabric import joined
from calc.performance.forward import CONTEXT, EXPERT, PIPELINE, TENSOR, Segment, forward, whole_rank
from calc.performance.kernels import Kernels, device_class, kernels
from calc.performance.rank_model import RankModel
from calc.performance.schedules import PassTime, Schedule, copies_of_cache, pass_time, schedule_of

if TYPE_CHECKING:
    from calc.memory.served_adapters import ServedAdapters
    from calc.performance.served_adapters import Served


class Passes(NamedTuple):
    """What decides how long any pass of a demand takes."""

    demand: Demand
    layout: Layout
    model: RankModel
    kernels: Kernels
    schedule: Schedule
    adapters: "Served | None" = None  # that are served beside the model
    draft: Draft | None = None
    drafter: "Passes | None" = None  # of what drafts; None where nothing does, or the text itself is looked up

    @property
    def expected(self) -> float:
        """Tokens that a step writes of each sequence, as a mean."""
        return self.draft.expected if self.draft else 1.0

    @property
    def queries(self) -> int:
        """New tokens of a sequence in a step: the next one, and those that are drafted."""
        return 1 + self.draft.tokens if self.draft else 1

    def is_step(self, segment: Segment) -> bool:
        """Return whether a segment is decoding."""
        return segment.queries == self.queries and segment.outputs == segment.queries and not segment.encoding

    def time(self, *segments: Segment, kinds: tuple[type, ...] = ()) -> PassTime:
        """Return the seconds of a pass over segments through all stages of the layout, with what is drafted for it.

        Of some kinds of operations alone, nothing is drafted.
        """
        operations = forward(self.model, *segments)
        if kinds:
            operations = tuple(item for item in operations if isinstance(item.operation, kinds))
        sequences = sum(segment.sequences for segment in segments)
        if self.adapters is not None and not kinds:
            tokens = sum(segment.sequences * segment.queries for segment in segments) / self.layout.context
            operations += self.adapters.products(tokens=tokens, sequences=sequences)
        decoding = sum(segment.sequences for segment in segments if self.is_step(segment))
        if decoding and (self.schedule.cache_passes or self.schedule.repeats_heads):
            operations += copies_of_cache(operations, self.schedule)
        found = pass_time(
            operations,
            kernels=self.kernels,
            schedule=self.schedule,
            sequences=sequences,
            decoding=decoding,
            queries=self.queries,
        )
        if self.drafter is None or kinds:
            return found
        return found._replace(drafts=tuple(self.drafted(segments)))

    def drafted(self, segments: tuple[Segment, ...]) -> Iterator[tuple[PassTime, float]]:
        """Yield the passes of what drafts: one for each token of the steps, and one over the prompts.

        It reads the tokens that the model has just passed over, rejected ones too: in the pass that drafts the first,
        or in one before it.
        """
        assert self.draft is not None and self.drafter is not None
        passed = [segment for segment in segments if self.is_step(segment)]
        prompts = [segment for segment in segments if not self.is_step(segment)]
        if passed:
            apart = bool(self.schedule.of("drafts_apart"))
            yield self.drafter.time(*(segment._replace(outputs=0.0 if apart else 1.0) for segment in passed)), 1.0
            further = self.draft.tokens if apart else self.draft.tokens - 1
            if further:
                yield self.drafter.time(*(step._replace(queries=1, outputs=1.0) for step in passed)), float(further)
        if prompts:
            yield self.drafter.time(*prompts), 1.0

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
        return Segment(sequences, self.queries, context, float(self.queries))

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
    found = kernels(accelerator, engine=engine)
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
    fuses = bool(values["fuses"])
    passes = Passes(demand, layout, whole_rank(demand, layout, fuses=fuses), found, schedule)
    if demand.adapters is not None:
        passes = passes._replace(adapters=served_on(demand, demand.adapters, layout))
    draft = demand.draft
    if draft is None:
        return passes
    passes = passes._replace(draft=draft)
    if draft.architecture is None or draft.weights is None:
        return passes
    asked = demand._replace(
        architecture=draft.architecture, weights=draft.weights, group=None, draft=None, adapters=None
    )
    alone = layout._replace(pipeline=1, context=1)
    own = schedule._replace(weights=draft.weights, found={})
    if not schedule.of("drafts_apart"):
        own = own._replace(step_s=0.0, sequence_s=0.0)
    return passes._replace(drafter=Passes(asked, alone, whole_rank(asked, alone, fuses=fuses), found, own))


def served_on(demand: Demand, adapters: "ServedAdapters", layout: Layout) -> "Served":
    """Return the adapters of a demand on one rank, as if its pipeline stages were one."""
    from calc.memory.served_adapters import adapted  # few scenarios ask for it
    from calc.performance.served_adapters import Served

    whole = Stage(demand.architecture, 0, demand.architecture.layer_count)
    groups = adapted(whole, adapters.each, tensor_parallel=layout.tensor, expert_parallel=layout.expert)
    return Served(adapters, tuple(groups))
