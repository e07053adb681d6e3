"""Passes for trying coefficients: operations are timed once, and summed by what coefficients act on alike.

A pass is linear in the factors of its kernels, so a few sums give its seconds under any of them, many times faster than
the list of its operations does.
"""

from calc.memory.budget import Demand, Layout
from calc.performance.copies import with_copies
from calc.performance.forward import Segment, forward
from calc.performance.operations import Attention, Experts, Pointwise, Product
from calc.performance.pass_times import CUTS, UNCHANGED, PassTime
from calc.performance.passes import Passes
from calc.performance.schedules import Factors, Schedule

# By kind and kernel: seconds of reading and of working, launches, those that factors act on, and operations.
Sums = dict[tuple[type, str], list[float]]


class SummedPasses:
    """The passes of a demand on a device, under whatever schedule is tried; none that draft or need a processor."""

    queries, expected, draft = 1, 1.0, None

    @staticmethod
    def serve(passes: Passes) -> bool:
        """Return whether passes are on devices alone that are alike, with nothing beside the model."""
        return passes.kernels is not None and (passes.host, passes.behind, passes.adapters, passes.draft) == (
            None,
            (),
            None,
            None,
        )

    def __init__(self, passes: Passes) -> None:
        self.passes, self.schedule = passes, passes.schedule
        self.demand: Demand = passes.demand
        self.layout: Layout = passes.layout
        assert passes.kernels is not None
        self.kernels = passes.kernels
        self.output_names = passes.model.output_names if passes.layout.pipeline > 1 else set()
        self.known: dict[tuple[object, ...], tuple[Sums, Sums, float, float]] = {}
        self.found: dict[tuple[type, str], Factors] = {}
        self.reading: dict[int, SummedPasses] = {}

    def under(self, schedule: Schedule) -> "SummedPasses":
        """Return the passes under a schedule."""
        self.schedule, self.found = schedule, {}
        return self

    def with_reading(self, replicas: int) -> "SummedPasses":
        """Return the passes over prompts that so few replicas have, under the same schedule."""
        if replicas not in self.reading:
            self.reading[replicas] = SummedPasses(self.passes.with_reading(replicas))
        found = self.reading[replicas]
        return found if found.schedule is self.schedule else found.under(self.schedule)

    def time(self, *segments: Segment) -> PassTime:
        """Return the seconds of a pass as `Passes.time` does, without the list of its parts."""
        schedule = self.schedule
        key = (*segments, schedule.cache_passes)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.summed(segments)
        sums, outputs, sequences, decoding = found
        in_pieces = decoding == 0.0 and self.passes._replace(schedule=schedule).records_prompts
        device, launches = self.under_factors(sums, in_pieces=in_pieces)
        alone = decoding == sequences and decoding <= schedule.captured_sequences
        host = launches * schedule.launch_s
        if alone:
            host = schedule.cut_s * sum(found[4] for group, found in sums.items() if group[0] is Attention)
        host, waiting = schedule.launching(host)
        between = (
            waiting + schedule.step_s + sequences * schedule.sequence_s + self.passes.prepared_s(schedule, segments)
        )
        return PassTime((), device, host, between, outputs_s=self.under_factors(outputs)[0])

    def under_factors(self, sums: Sums, *, in_pieces: bool = False) -> tuple[float, float]:
        """Return the seconds of sums on the device and their launches under the schedule's factors."""
        device = launches = 0.0
        for group, (reading, working, times, each, count) in sums.items():
            factors = self.found.get(group) or self.found.setdefault(group, self.factors(*group))
            device += reading * factors.reading + working * factors.working + count * factors.choice_s
            if not in_pieces:
                launches += times + each * factors.launches
            elif issubclass(group[0], CUTS):
                launches += times + each * factors.launches + count
        return device, launches

    def busiest_s(self, time: PassTime) -> float:
        """Return the seconds of a pass on the stage of a pipeline that takes the most of it."""
        return self.passes.busiest_s(time)

    def factors(self, kind: type, kernel: str) -> Factors:
        """Return how an engine's kernels of a kind compare with the law's."""
        schedule = self.schedule
        if kind is Product:
            return schedule.product(kernel)
        if kind is Experts:
            return schedule.grouped(kernel)
        if kind is Attention:
            return schedule.attention
        if kind is Pointwise:
            return Factors(schedule.pointwise_kernels, schedule.pointwise_kernels, schedule.pointwise_kernels)
        return UNCHANGED

    def summed(self, segments: tuple[Segment, ...]) -> tuple[Sums, Sums, float, float]:
        """Return the sums of a pass, those of its logits in a pipeline, its sequences, and how many of them decode."""
        operations = forward(self.passes.model, *segments)
        sequences = sum(segment.sequences for segment in segments)
        decoding = sum(segment.sequences for segment in segments if self.passes.is_step(segment))
        joins = any(segment.keys for segment in segments)
        prompts = decoding < sequences
        operations = with_copies(operations, self.schedule, joins=joins, prompts=prompts, decodes=decoding > 0.0)
        kernels, sums, outputs = self.kernels, Sums(), Sums()
        rate = kernels.rate("bf16")
        for operation, times in operations:
            kind = type(operation)
            group = kind, getattr(operation, "kernel", "")
            found = sums.setdefault(group, [0.0] * 5)
            found[4] += times
            seconds = times * kernels.seconds(operation)
            moved, flops = operation.bytes / kernels.bandwidth, operation.flops / rate
            working = flops / (flops + moved) if flops else 0.0
            into = [sums, outputs] if operation.name in self.output_names else [sums]
            for each in [chosen.setdefault(group, [0.0] * 5) for chosen in into]:
                each[0] += seconds * (1.0 - working)
                each[1] += seconds * working
            if isinstance(operation, Experts) and self.schedule.loops_experts:
                found[2] += times * operation.touched * 2.0
                found[3] += times * operation.experts * operation.matrices
            elif isinstance(operation, Product):
                found[3] += times
            elif isinstance(operation, Pointwise | Experts | Attention):
                found[3] += times * operation.launches
            else:
                found[2] += times * operation.launches
        return sums, outputs, sequences, decoding

    def prompt(self, *, sequences: float, tokens: int, before: int, pieces: int = 1) -> Segment:
        """Return a piece of each prompt."""
        return self.passes.prompt(sequences=sequences, tokens=tokens, before=before, pieces=pieces)

    def step(self, *, sequences: float, context: int) -> Segment:
        """Return the next token of each sequence."""
        return self.passes.step(sequences=sequences, context=context)
