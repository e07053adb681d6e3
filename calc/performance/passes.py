"""The passes of a model under an engine on a device: prompts, decoding steps, and steps that mix both."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from calc.memory.budget import Demand, Layout
from calc.memory.correction import UNCORRECTED, Correction
from calc.memory.device_sizes import attention_ranks
from calc.memory.drafts import Draft
from calc.performance.copies import with_copies
from calc.performance.forward import Segment, forward
from calc.performance.host_part import HostPart, only
from calc.performance.kernels import Kernels
from calc.performance.masks import awaited_cells
from calc.performance.operations import Counted, HostCopy, Pass
from calc.performance.pass_times import PassTime, pass_time
from calc.performance.pipeline import busiest_s
from calc.performance.processor import processor_parts
from calc.performance.rank_model import RankModel
from calc.performance.schedules import Schedule

STREAM_BYTES = 4  # of an element of the hidden states as llama.cpp hands them on
TOLD_BESIDE = 1500.0  # tokens of a text, as long as which telling a rank of all else of its sequence takes
COPIED_TOKENS = 32  # of a pass from which on the device multiplies with what stands in the host's memory

if TYPE_CHECKING:
    from calc.performance.served_adapters import Served


class Passes(NamedTuple):
    """What decides how long any pass of a demand takes."""

    demand: Demand
    layout: Layout
    model: RankModel  # what of it stands on devices
    kernels: Kernels | None  # None where the host's processor works alone
    schedule: Schedule
    host: HostPart | None = None
    name: str = ""  # of the device, where several are not alike
    behind: "tuple[Passes, ...]" = ()  # the further devices then, each with its layers
    adapters: "Served | None" = None  # that are served beside the model
    draft: Draft | None = None
    drafter: "Passes | None" = None  # of what drafts; None where nothing does, or the text itself is looked up
    correction: Correction = UNCORRECTED

    @property
    def expected(self) -> float:
        """Tokens that a step writes of each sequence, as a mean."""
        return self.draft.expected if self.draft else 1.0

    @property
    def queries(self) -> int:
        """New tokens of a sequence in a step: the next one, and those that are drafted."""
        return 1 + self.draft.tokens if self.draft else 1

    def with_busy(self, replicas: int) -> "Passes":
        """Return the passes where so few replicas that share experts have a request."""
        return self._replace(model=self.model._replace(expert_ranks=self.model.expert_ranks._replace(busy=replicas)))

    def with_reading(self, replicas: int) -> "Passes":
        """Return the passes over prompts that so few replicas which share experts have, where the others have none."""
        ranks = self.model.expert_ranks._replace(reading=replicas)
        return self._replace(model=self.model._replace(expert_ranks=ranks))

    def is_step(self, segment: Segment) -> bool:
        """Return whether a segment is decoding."""
        return segment.queries == self.queries and not segment.encoding

    def time(self, *segments: Segment, kinds: tuple[type, ...] = ()) -> PassTime:
        """Return the seconds of a pass over segments through all stages of the layout, with what is drafted for it.

        Of some kinds of operations alone, nothing is drafted, nor corrected by what a reader has measured.
        """
        found = self.computed(segments, kinds)
        if self.correction is UNCORRECTED or kinds:
            return found
        factor = self.factor(found, segments)
        return found._replace(correction=factor, stages_s=tuple(factor * seconds for seconds in found.stages_s))

    def factor(self, found: PassTime, segments: tuple[Segment, ...]) -> float:
        """Return the factor of a pass: that of steps, of prompts, or of both by their shares of its seconds."""
        steps = tuple(segment for segment in segments if self.is_step(segment))
        if len(steps) in (0, len(segments)):
            return self.correction.decode if steps else self.correction.prefill
        share = min(self.computed(steps, ()).total / found.total, 1.0)
        return share * self.correction.decode + (1.0 - share) * self.correction.prefill

    def computed(self, segments: tuple[Segment, ...], kinds: tuple[type, ...]) -> PassTime:
        """Return the seconds of a pass as they are computed."""
        if self.behind:
            return self.joined_time(segments, kinds)
        if self.host is not None:
            return self.placed_time(self.host, segments, kinds)
        found = self.device_time(only(self.operations(segments), kinds), segments)
        if self.drafter is None or kinds:
            return found
        return found._replace(drafts=tuple(self.drafted(segments)))

    @property
    def records_prompts(self) -> bool:
        """Whether prompts are replayed as pieces of a graph: where an engine has such, of a model of text alone.

        None where adapters are served, or where ranks have whole layers or requests of their own.
        """
        layout, architecture = self.layout, self.demand.architecture
        if not self.schedule.prompt_graphs or self.adapters is not None:
            return False
        alike = layout.pipeline == layout.context == 1 and attention_ranks(layout) == layout.tensor
        return alike and architecture.alone is architecture

    def operations(self, segments: tuple[Segment, ...]) -> Pass:
        """Return the operations of a pass on devices, those of adapters too."""
        found = forward(self.model, *segments)
        if self.adapters is None:
            return found
        tokens = sum(segment.sequences * segment.queries for segment in segments) / self.layout.context
        sequences = sum(segment.sequences for segment in segments)
        return found + self.adapters.products(tokens=tokens, sequences=sequences)

    def joined_time(self, segments: tuple[Segment, ...], kinds: tuple[type, ...]) -> PassTime:
        """Return the seconds of a pass through devices that are not alike, one behind the other."""
        found = [each.computed(segments, kinds) for each in (self._replace(behind=()), *self.behind)]
        return PassTime(
            parts=tuple(part for time in found for part in time.parts),
            device_s=sum(time.device_s for time in found),
            host_s=sum(time.host_s for time in found),
            between_s=found[0].between_s,
            processor_s=sum(time.processor_s for time in found),
            stages_s=tuple(time.total - time.between_s for time in found),
        )

    def slowest(self, time: PassTime) -> str:
        """Return the device that takes the most of a pass's time, of those that are not alike."""
        names = (self.name, *(each.name for each in self.behind))
        return max(zip(time.stages_s or (time.total,), names, strict=True))[1]

    def busiest_s(self, time: PassTime) -> float:
        """Return the seconds of a pass on the stage of a pipeline that takes the most of it."""
        return busiest_s(time, layers=self.demand.architecture.layer_count, stages=self.layout.pipeline)

    def device_time(self, operations: Pass, segments: tuple[Segment, ...], *, captured: bool = True) -> PassTime:
        """Return the seconds of operations that devices work on."""
        assert self.kernels is not None
        sequences, decoding, joins, prompts = 0.0, 0.0, False, False
        for segment in segments:
            sequences += segment.sequences
            joins = joins or segment.keys > 0  # new entries to a cache that there is
            if self.is_step(segment):
                decoding += segment.sequences
            else:
                prompts = True
        operations = with_copies(operations, self.schedule, joins=joins, prompts=prompts, decodes=decoding > 0.0)
        found = pass_time(
            operations,
            kernels=self.kernels,
            schedule=self.schedule,
            sequences=sequences,
            decoding=decoding if captured else 0.0,
            queries=self.queries,
            in_pieces=decoding == 0.0 and self.records_prompts,
        )
        if prepared := self.prepared_s(self.schedule, segments):
            found = found._replace(between_s=found.between_s + prepared)
        if self.layout.pipeline == 1:
            return found
        names = self.model.output_names
        return found._replace(outputs_s=sum(part.total for part in found.parts if part.operation.name in names))

    def prepared_s(self, schedule: Schedule, segments: tuple[Segment, ...]) -> float:
        """Return the seconds in which devices wait for what a schedule's host prepares of each of a pass's segments.

        It fills masks, or tells ranks of the sequences with all their tokens.
        """
        seconds = 0.0
        if schedule.mask_s:
            assert self.kernels is not None
            waits = schedule.host_waits or (self.kernels.own.experts_sort_s > 0.0 and bool(self.model.experts))
            cells = (awaited_cells(self.model, one, is_waiting=waits or self.is_step(one)) for one in segments)
            seconds += schedule.mask_s * sum(cells)
        if schedule.told_s:
            tokens = (one.sequences * (one.keys + one.queries + TOLD_BESIDE) for one in segments)
            seconds += schedule.told_s * sum(tokens)
        return seconds

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

    def placed_time(self, host: HostPart, segments: tuple[Segment, ...], kinds: tuple[type, ...]) -> PassTime:
        """Return the seconds of a pass where a part of the model stands in the host's memory.

        The processor works on that part for a few tokens. For many, its weights and caches are copied to the device,
        which is faster at arithmetic. Source: llama.cpp, ggml-cuda.cu (ggml_backend_cuda_device_offload_op).
        """
        away = only(host.operations(segments), kinds)
        sequences = sum(segment.sequences for segment in segments)
        if self.kernels is None:
            parts = processor_parts(away, host.law)
            between = self.schedule.step_s + sequences * self.schedule.sequence_s
            return PassTime(parts, 0.0, 0.0, between, processor_s=sum(part.total for part in parts))
        operations = only(forward(self.model, *segments), kinds)
        tokens = sum(segment.sequences * max(segment.queries, segment.encoding) for segment in segments)
        if tokens >= COPIED_TOKENS:
            everything = (*operations, *away, Counted(host.copied(away), 1))
            return self.device_time(everything, segments, captured=False)
        row = tokens * self.demand.architecture.hidden_size * STREAM_BYTES
        crossing = Counted(HostCopy("Hidden states to the host and back", row), host.crossings)
        captured = host.crossings <= self.schedule.of("captured_crossings")
        found = self.device_time((*operations, crossing), segments, captured=captured)
        parts = processor_parts(away, host.law)
        return found._replace(parts=found.parts + parts, processor_s=sum(part.total for part in parts))

    def prompt(self, *, sequences: float, tokens: int, before: int, pieces: int = 1) -> Segment:
        """Return `tokens` of each prompt, after those that are cached. An encoder reads a prompt at once.

        Of a prompt that is read in `pieces`, the last one alone has logits.
        """
        if self.demand.architecture.has_encoder:
            return Segment(sequences, 1, 0, 1.0, encoding=tokens)
        every = self.demand.all_logits or bool(self.schedule.values.get("keeps_prompt"))
        return Segment(sequences, tokens, before, float(tokens) if every else 1.0 / pieces)

    def step(self, *, sequences: float, context: int) -> Segment:
        """Return the next token of each sequence, after `context` of prompt and output."""
        if self.demand.architecture.has_encoder:
            prompt = self.demand.prompt_tokens
            return Segment(sequences, 1, max(context - prompt, 0), 1.0, encoded=prompt)
        return Segment(sequences, self.queries, context, float(self.queries))
