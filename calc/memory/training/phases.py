"""The phases of a training step: what is alive at the widest moment of each, so that the peak is found, not summed."""

from itertools import accumulate
from math import inf
from operator import add

from calc.architecture.stages import Stage
from calc.memory.training.device import Device
from calc.memory.training.loss import FULL, NARROW, SHIFTED
from calc.memory.training.moments import (
    BACKWARD,
    BUCKET_ELEMENTS,
    FORWARD,
    LABEL_BYTES,
    LOSS,
    LOSS_BYTES,
    STATISTIC_BYTES,
    STEP,
    SUM_BYTES,
    Timeline,
)
from calc.memory.training.plan import (
    OPTIMIZER,
    PARAMETERS,
    Plan,
    held_micro_batches,
)

WAITING = 2  # layers whose activations are on the device while others' are in the host's memory


class Step(Device):
    """Walks through a step on one device of a pipeline stage and notes the widest moments."""

    @property
    def offloads(self) -> bool:
        """Whether what layers keep goes to the host's memory."""
        return "activations" in self.plan.offload

    def walk(self, most_bytes: float = inf) -> Timeline | None:
        """Note the widest moment of each phase and return the timeline.

        None where what stays through the step is more than `most_bytes`, or with it what the forward pass has: what
        follows need not be known then.
        """
        plan, stage = self.plan, self.stage
        if self.staying > most_bytes:
            return None
        held = held_micro_batches(
            position=self.position,
            pipeline=plan.layout.pipeline,
            micro_batches=plan.accumulation,
            virtual_stages=plan.virtual_stages,
        )
        alive = self.kept_bytes(held)
        if plan.checkpointing != "full":
            self.earlier = sum(self.of_each([unit.outliving for unit in self.layers]))
        if self.pattern:
            self.forward_moment(alive)
            if self.moments[-1].total > most_bytes:
                return None
        done = self.head_moments(alive[-1]) if stage.is_last else 0
        done += self.inventory.shared.gradient_bytes  # begun by the last layer that uses it, whole after the first
        done = self.backward_moments(alive, done)
        if stage.is_first and self.inventory.embedding.trained:
            self.embedding_moment(done)
        self.step_moment()
        return Timeline(
            stage,
            self.position,
            self.inventory,
            tuple(self.layers),
            static=self.static,
            host=self.host,
            moments=tuple(self.moments),
            peak=max(self.moments, key=lambda moment: moment.total),
        )

    def kept_bytes(self, held: float) -> list[int]:
        """Return the bytes that the first layers keep on the device, by how many they are.

        All of the `held` micro-batches count, those that wait included; what goes to the host is noted there.
        """
        kept = self.of_each([unit.kept for unit in self.layers])
        tables = self.tables()
        if self.offloads:
            self.host += int(held * max(sum(kept) - sum(kept[-WAITING:]), 0))
            return [tables + min(size, WAITING * max(kept, default=0)) for size in accumulate(kept, initial=0)]
        others = int((held - 1) * sum(kept))
        return [tables + others + size for size in accumulate(kept, initial=0)]

    def forward_moment(self, alive: list[int]) -> None:
        """Note the widest layer of the forward pass, where so many bytes are `alive` before each."""
        ahead = list(map(add, alive[1:], self.of_each([unit.forward for unit in self.layers])))
        widest = ahead.index(max(ahead))
        unit = self.layers[self.pattern[widest]]
        self.note(
            FORWARD,
            f"layer {self.stage.first + widest + 1} runs forward",
            kept=alive[widest + 1],
            activations=unit.forward + self.cast_cache() + self.earlier,
            communication_buffers=self.gathered(unit.held, unit.held) + self.exchanged(),
        )

    def backward_moments(self, alive: list[int], done: int) -> int:
        """Note the widest layer of each kind in the backward pass and return the gradients, in bytes, made after it.

        `done` are those that were made before, and `alive` the bytes kept before each layer.
        """
        stage, pattern, growing = self.stage, self.pattern, self.growing
        widest: dict[int, tuple[int, int, int]] = {}  # of each kind the bytes that differ, the layer, gradients made
        gradients = [group.gradient_bytes for _, group in self.inventory.layers]
        exchanged, root_gradients = self.exchanged(), self.root_gradients
        for i in range(len(pattern) - 1, -1, -1):
            kind = pattern[i]
            made = -(-done // growing) if growing else 0
            if kind not in widest or alive[i] + made > widest[kind][0]:
                widest[kind] = alive[i] + made, i, made
            done += gradients[kind]
        for kind, (_, i, made) in widest.items():
            unit, group = self.layers[kind], self.inventory.layers[kind][1]
            self.note(
                BACKWARD,
                f"layer {stage.first + i + 1} runs backward",
                kept=alive[i],
                activations=unit.backward,
                logits=self.logits.held if stage.is_last else 0,
                gradients=made + unit.gradients + root_gradients,
                communication_buffers=self.gathered(unit.held, unit.held) + self.reducing(group.trained) + exchanged,
            )
        return done

    def head_kept(self) -> int:
        """Return what the final norm and the output matrix keep."""
        plan, batch, numerics = self.plan, self.batch, self.numerics
        hidden = self.stage.architecture.hidden_size
        elements = batch.stream_rows * hidden
        biased = any(t.block == "final_norm" and t.name.endswith(".bias") for t in self.stage.architecture.head)
        frozen = plan.adapters is not None
        read = 0 if frozen and not self.inventory.head.trained else elements * numerics.compute
        if biased:
            return elements * numerics.residual + read + 2 * STATISTIC_BYTES * batch.stream_rows + self.output_copy()
        wide = 4 if numerics.casts else numerics.compute
        normalised = 0 if frozen or plan.choices.compiled else elements * wide
        upcast = elements * (numerics.residual if plan.choices.compiled else 4)
        return upcast + normalised + read + STATISTIC_BYTES * batch.stream_rows + self.output_copy()

    def output_copy(self) -> int:
        """Return the 16-bit copy of the output matrix that the graph holds under autocast."""
        numerics = self.numerics
        frozen = self.plan.adapters is not None
        return 0 if frozen or not numerics.casts else self.inventory.table * numerics.compute

    def cast_cache(self) -> int:
        """Return the 16-bit copies of weights that autocast caches through a forward pass, beside those of the graph.

        A graph that keeps them all has the cache's own. Where what it keeps goes to the host, the cache has them still.
        """
        plan, numerics = self.plan, self.numerics
        if not numerics.casts or plan.adapters is not None:
            return 0
        if plan.checkpointing == "none" and not self.offloads:
            return 0
        trained = sorted(self.of_each([group.trained for _, group in self.inventory.layers]))
        return sum(trained[:-WAITING] if plan.checkpointing == "none" else trained) * numerics.compute

    def head_moments(self, alive: int) -> int:
        """Note the loss's moments and return the gradients, in bytes, that are complete after it."""
        plan, table, head = self.plan, self.inventory.table, self.inventory.head
        size, kept = self.logits, self.head_kept()
        unit = head if head.elements >= table or not self.stage.architecture.output_size else self.inventory.embedding
        last = [self.layers[index].held for index in self.pattern[-1:]]  # fetched as the root's backward begins
        gathered = self.gathered(*([unit] if plan.tables_apart else last)) + self.exchanged()
        stream = self.batch.stream_rows * self.stage.architecture.hidden_size
        numerics = self.numerics
        self.note(
            LOSS,
            "logits are turned into a loss",
            kept=alive,
            activations=kept
            + self.earlier
            + self.cast_cache()
            + LABEL_BYTES * self.batch.rows
            + (4 * stream if numerics.casts else 0),
            logits=size.forward,
            communication_buffers=gathered,
        )
        self.note(
            LOSS,
            "the loss runs backward",
            kept=alive,
            activations=kept,
            logits=size.backward + LOSS_BYTES * (size.backward > 0),
            communication_buffers=gathered,
        )
        whole = table if self.inventory.tied and plan.adapters is None else head.trained
        matrix = min(whole, table)
        whole_loss = plan.cross_entropy in (FULL, NARROW, SHIFTED)
        pieces = 1 if whole_loss else 3  # pieces' gradients are added up in new tensors
        copy = self.output_copy()
        self.note(
            LOSS,
            "the output matrix runs backward",
            kept=alive,
            activations=kept + stream * numerics.compute,
            logits=size.after,
            gradients=pieces * matrix * (numerics.compute if copy else numerics.gradient),
            communication_buffers=gathered + (self.reducing(unit.elements) if pieces == 1 and plan.tables_apart else 0),
        )
        if copy:
            self.note(
                LOSS,
                "the output matrix's gradient is cast",
                kept=alive,
                activations=kept - copy + stream * numerics.compute,
                logits=size.held,
                gradients=matrix * (numerics.compute + numerics.gradient),
            )
        return 0 if self.inventory.tied and plan.adapters is None and not plan.in_backward else head.gradient_bytes

    def embedding_moment(self, done: int) -> None:
        """Note the end of the backward pass: the embedding's gradient, and for a tied one both uses' and their sum."""
        plan, table, numerics = self.plan, self.inventory.table, self.numerics
        group = self.inventory.embedding
        matrix = table * numerics.gradient
        rest = group.gradient_bytes * (group.trained - min(group.trained, table)) // group.trained
        stream = self.batch.stream_rows * self.stage.architecture.hidden_size * numerics.residual
        gradient, activations = matrix, stream
        if self.inventory.tied and plan.adapters is None:
            gradient, activations = (3 * matrix, 0) if matrix > stream else (2 * matrix, stream)
        self.note(
            BACKWARD,
            "the embedding runs backward",
            activations=activations,
            logits=self.logits.held if self.stage.is_last else 0,
            gradients=self.grown(done + rest) + gradient + self.root_gradients,
            communication_buffers=self.gathered() + self.reducing(group.trained),
        )

    def step_moment(self) -> None:
        """Note the optimizer's step: all gradients, and what the optimizer needs beside its states."""
        plan, total, optimizer = self.plan, self.total, self.plan.method.optimizer
        shards = plan.degree(OPTIMIZER)
        if plan.in_backward:
            return
        updated = plan.method.updated_bytes
        work = optimizer.copies * total.trained * updated // shards
        largest = total.trained // shards if plan.flat_partition else total.largest // plan.degree(PARAMETERS)
        work = max(work, optimizer.largest * largest * updated)
        if (
            plan.scheme.master
            and plan.adapters is None
            and plan.method.gradient_bytes < SUM_BYTES
            and "optimizer" not in plan.offload
        ):
            sums = total.trained // shards
            if plan.flat_partition:  # 16-bit gradients are joined, raised to FP32 and let go, before the update
                narrow = sums * plan.method.gradient_bytes
                work = max(narrow, work - narrow)
            work += SUM_BYTES * (min(sums, 2 * BUCKET_ELEMENTS) if plan.stage_of_zero == PARAMETERS else sums)
        if "optimizer" in plan.offload or "parameters" in plan.offload:
            work = 0
        self.note(
            STEP,
            "the optimizer updates the parameters",
            gradients=self.grown(total.gradient_bytes) - self.divided_away,
            optimizer_workspace=work,
        )


def stays_bytes(plan: Plan, stage: Stage) -> int:
    """Return what is on a device of a stage in every phase: weights, states, gradients that add up, fixed buffers."""
    return Device(plan, stage, 0).staying


def timelines(plan: Plan, every: list[Stage], most_bytes: float = inf) -> list[Timeline]:
    """Return the step on a device of each pipeline stage, none where one is soon seen to need more than `most_bytes`.

    A stage with the same layers as an earlier one holds no more micro-batches, so the earlier one's stands for it.
    """
    found: dict[tuple[object, ...], Timeline] = {}
    result = []
    for position, stage in enumerate(every):
        key = stage.is_first, stage.is_last, stage.content
        if key not in found:
            timeline = Step(plan, stage, position).walk(most_bytes)
            if timeline is None:
                return []
            found[key] = timeline
        result.append(found[key])
    return result
