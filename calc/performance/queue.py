"""Requests in a server, event by event: waiting for room, prompts in chunks beside decoding, answers token by token.

A run of continuous batching (Orca, 2022) with prompts in chunks (Sarathi-Serve, 2024), first come first served.
Between two events, an arrival, a prompt read or an answer done, all steps are alike and are taken at once.
"""

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from math import ceil, inf
from operator import itemgetter

from calc.performance.arrivals import Request
from calc.performance.load import LEAST_ROOM
from calc.performance.server import Begun, Run, Served, Server
from calc.performance.step_times import StepTimes, steps_until

UNBOUNDED = 2**60  # tokens of a cache that never fills


class Reading:
    """A prompt that is being read; after a request lost its cache, its answer so far is part of it.

    Of its tokens some are found in the cache.
    """

    __slots__ = ("done", "index", "left", "tokens")

    def __init__(self, index: int, tokens: int, found: int = 0) -> None:
        self.index, self.tokens = index, tokens
        self.left, self.done = tokens - found, found


class Queue:
    """A server at work on requests in the order in which they come."""

    __slots__ = (
        *("asked", "server", "times", "clock", "steps", "coming", "first_place", "sent", "next_s", "free_s", "over"),
        *("waiting", "reading", "writing", "gate", "held", "promised", "context", "written", "first", "last", "late"),
        *("running_s", "answered", "answered_tokens", "preempted", "came"),
    )

    def __init__(self, asked: Sequence[Request], begun: Sequence[Begun], server: Server, times: StepTimes) -> None:
        self.asked = [*(answer.request for answer in begun), *asked]
        self.server, self.times = server, times
        self.clock = 0.0
        self.steps = 0  # of decoding, so far
        self.coming = self.first_place = len(begun)  # the next request
        # Requests of which it is known when they come: of clients, as many as there are, until one is answered.
        self.sent = min(self.coming + (server.clients or len(asked)), len(self.asked))
        self.next_s = asked[0].at_s if asked else inf  # when it comes to be served
        self.free_s = 0.0  # when the front end takes another
        self.over = False
        self.waiting: deque[Reading] = deque()
        self.reading: deque[Reading] = deque()
        self.writing: list[tuple[int, int]] = []  # the step with which an answer ends, and whose it is; a heap
        self.gate = 0  # the step that may carry prompts next, where they wait for those of other ranks
        self.held = 0  # tokens in the cache, those of prompts that are being read among them
        self.promised = 0  # tokens that answers will still take of it, of prompts that are being read, too
        self.context = 0  # tokens of the sequences that are being decoded
        self.written = [0] * len(self.asked)
        self.first = [0.0] * len(self.asked)
        self.last = [0.0] * len(self.asked)
        self.late = [0.0] * len(self.asked)  # by which its tokens come after the first stage is done with its prompt
        self.running_s = 0.0
        self.answered = self.answered_tokens = self.preempted = 0
        self.came = (0.0, 0.0, 0, 0)  # clock, running_s, answered and answered_tokens when the last request came
        for index, answer in enumerate(begun):
            self.written[index] = answer.written_tokens - 1
            self.held += server.own_tokens(answer.request.prompt_tokens) + self.written[index]
            self.promised += answer.request.output_tokens - self.written[index]
            self.begin(Reading(index, answer.request.prompt_tokens + self.written[index]), 0.0)

    def run(self) -> Run:
        """Return what becomes of all requests."""
        self.work()
        seconds, running_s, answered, tokens = self.came
        return Run(
            served=[self.served(place) for place in range(self.first_place, len(self.asked))],
            seconds=seconds,
            running_s=running_s,
            answered=answered,
            written_tokens=tokens,
            writing_s=self.running_s,
            preempted=self.preempted,
        )

    def work(self) -> None:
        """Serve until all is done, or it is over."""
        while not self.over:
            if self.waiting or self.next_s <= self.clock:
                self.admit()
            if self.reading and self.at_gate():
                self.read()
                if len(self.reading) >= self.server.held_prompts:  # so many are left that all ranks have some more
                    self.gate = self.steps
            elif self.writing:
                self.write()
            elif self.next_s < inf:
                self.clock = self.next_s
            else:
                break

    def served(self, place: int) -> Served:
        """Return when a request, which is answered, came and had its first token and its last."""
        request, extra = self.asked[place], self.server.request_s
        return Served(request.at_s, self.first[place] + extra, self.last[place] + extra, request.output_tokens)

    def admit(self) -> None:
        """Let requests in that have come, as long as there are slots and room for their prompts."""
        asked, waiting, server = self.asked, self.waiting, self.server
        while self.next_s <= self.clock:
            tokens = asked[self.coming].prompt_tokens
            waiting.append(Reading(self.coming, tokens, server.prefix.found(tokens)))
            self.coming += 1
            self.free_s = self.next_s + server.between_s
            self.next_s = max(asked[self.coming].at_s, self.free_s) if self.coming < self.sent else inf
            if self.coming == len(asked):
                self.came = self.clock, self.running_s, self.answered, self.answered_tokens
        active = len(self.reading) + len(self.writing)
        while waiting and active < server.slots:
            own, index = server.own_tokens(waiting[0].tokens), waiting[0].index
            left = asked[index].output_tokens - self.written[index]
            needed = own + server.reserves * self.promised + left if server.reserves else own
            if active and self.held + needed > server.room_tokens:
                break
            taken = waiting.popleft()
            self.held += own
            self.promised += left
            self.reading.append(taken)
            active += 1

    def at_gate(self) -> bool:
        """Return whether the next step may carry prompts, which wait for other ranks' beside something to decode."""
        if self.times.gap is None or not self.writing:
            return True
        gap = self.times.gap(len(self.writing))
        self.gate += gap * max(ceil((self.steps - self.gate) / gap), 0)
        return self.gate == self.steps

    def read(self) -> None:
        """Take a step that reads prompts, first come first, as far as its tokens reach."""
        server, count = self.server, len(self.writing)
        if server.mixes and self.held + count > server.room_tokens:
            self.make_room(count)
            count = len(self.writing)
        left = inf if server.batched_tokens is None else float(server.batched_tokens)
        if server.mixes:
            left = max(left - count, LEAST_ROOM)
        if self.reading[0].left > left:
            self.read_on(self.reading[0], int(left))
            return
        tokens, longest, pairs = 0, 0, 0.0
        done: list[Reading] = []
        for prompt in self.reading:
            chunk = prompt.left if prompt.left < left else int(left)
            tokens += chunk
            longest = max(longest, chunk)
            pairs += chunk * (prompt.done + chunk / 2.0)
            prompt.done += chunk
            prompt.left -= chunk
            left -= chunk
            if not prompt.left:
                done.append(prompt)
            if left < 1:
                break
        seconds = self.times.prompts(count, tokens, pairs / tokens) * server.prompt_factor
        # Of parts that follow each other through stages, those without a prompt wait behind one that has it.
        parts = min(self.times.stages, count) if server.mixes and count else 1
        part_s = seconds * max(longest / tokens, 1.0 / parts)
        late = (self.times.stages - parts) * part_s  # until the last stage has read what is read by then
        self.beside(1, seconds if parts == 1 else parts * part_s)
        for prompt in done:
            self.reading.popleft()
            self.late[prompt.index] = late
            self.begin(prompt, self.clock + late)

    def read_on(self, prompt: Reading, chunk: int) -> None:
        """Take the steps that one prompt fills alone, until it is nearly read or an answer ends: they differ evenly."""
        server, count = self.server, len(self.writing)
        steps = (prompt.left - 1) // chunk
        if server.mixes and count:
            steps = min(steps, self.writing[0][0] - self.steps, max((server.room_tokens - self.held) // count, 1))
        before = prompt.done + steps * chunk / 2.0
        prompt.done += steps * chunk
        prompt.left -= steps * chunk
        parts = min(self.times.stages, count) if server.mixes and count else 1
        self.beside(steps, steps * parts * self.times.prompts(count, chunk, before) * server.prompt_factor)

    def beside(self, steps: int, prompts_s: float) -> None:
        """Take steps that read prompts for so long: answers go on beside them, or wait."""
        count = len(self.writing)
        if self.server.mixes and count:
            first, growth = self.pace(count)
            self.decode(steps, steps * (first + growth * (steps - 1) / 2.0) + prompts_s)
        else:
            self.clock += prompts_s
            self.running_s += count * prompts_s

    def begin(self, prompt: Reading, now: float) -> None:
        """Write the first token after a prompt, or the next one of an answer that lost its cache."""
        index = prompt.index
        if not self.written[index]:
            self.first[index] = now
        self.written[index] += 1
        self.held += 1
        self.promised -= 1
        left = self.asked[index].output_tokens - self.written[index]
        if left > 0:
            heappush(self.writing, (self.steps + left, index))
            self.context += prompt.tokens + 1
        else:
            self.finish(index, now)

    def finish(self, index: int, now: float) -> None:
        """End an answer, whose cache is free again."""
        self.last[index] = now
        self.held -= self.server.own_tokens(self.asked[index].prompt_tokens) + self.asked[index].output_tokens
        self.answered += 1
        self.answered_tokens += self.asked[index].output_tokens
        if self.sent < len(self.asked):
            self.send(now + self.server.request_s)

    def send(self, at_s: float) -> None:
        """Let the next request of a client come, whose last one was answered."""
        self.asked[self.sent] = self.asked[self.sent]._replace(at_s=at_s)
        if self.coming == self.sent:
            self.next_s = max(at_s, self.free_s)
        self.sent += 1

    def write(self) -> None:
        """Take the steps of decoding until something happens.

        Who loses its cache waits: the next step of the others takes of its room.
        """
        server = self.server
        if self.held + len(self.writing) > server.room_tokens:
            self.make_room(len(self.writing))
        count, room = len(self.writing), server.room_tokens - self.held
        steps = self.writing[0][0] - self.steps
        if steps * count > room and count > 1:
            steps = room // count
        first, growth = self.pace(count)
        seconds = steps * (first + growth * (steps - 1) / 2.0)
        if self.reading:
            steps = min(steps, self.gate - self.steps)
            seconds = steps * (first + growth * (steps - 1) / 2.0)
        if self.clock + seconds > self.next_s and not self.waiting and count + len(self.reading) < server.slots:
            steps = min(steps, steps_until(self.next_s - self.clock, first, growth) + server.ahead)
            seconds = steps * (first + growth * (steps - 1) / 2.0)
        self.decode(steps, seconds)

    def pace(self, count: int) -> tuple[float, float]:
        """Return the seconds of the next step of decoding, and by how much each further one is longer."""
        fixed, slope = self.times.decode(count)
        factor = self.server.step_factor
        return (fixed + slope * self.context / count) * factor, slope * factor

    def decode(self, steps: int, seconds: float) -> None:
        """Give each running answer so many tokens more, which the front end passes on before it takes another request.

        Those of one sequence that it is late with it sends together: the answers themselves do not wait.
        """
        asked, writing, clock = self.asked, self.writing, self.clock
        count = len(writing)
        tokens = steps * count
        self.free_s = free_s = (clock if clock > self.free_s else self.free_s) + tokens * self.server.stream_s
        if self.coming < self.sent:
            at_s = asked[self.coming].at_s
            self.next_s = at_s if at_s > free_s else free_s
        self.clock = clock = clock + seconds
        self.running_s += count * seconds
        self.steps = done = self.steps + steps
        self.held += tokens
        self.promised -= tokens
        self.context += tokens
        while writing and writing[0][0] <= done:
            index = heappop(writing)[1]
            self.context -= asked[index].prompt_tokens + asked[index].output_tokens
            self.finish(index, clock + self.late[index])

    def make_room(self, needed: int) -> None:
        """Take the cache from those that came last until the others have room; they are read again from the start."""
        kept = sorted(self.writing, key=itemgetter(1))
        while self.held + needed > self.server.room_tokens and len(kept) > 1:
            end, index = kept.pop()
            self.written[index] = self.asked[index].output_tokens - (end - self.steps)
            tokens = self.asked[index].prompt_tokens + self.written[index]
            self.held -= self.server.own_tokens(tokens)
            self.promised -= end - self.steps
            self.context -= tokens
            needed -= 1
            self.waiting.appendleft(Reading(index, tokens, self.server.prefix.found(self.asked[index].prompt_tokens)))
            self.preempted += 1
        self.writing = sorted(kept)


def run_queue(asked: Sequence[Request], *, server: Server, times: StepTimes, begun: Sequence[Begun] = ()) -> Run:
    """Return when each of the requests has its tokens, at a server that has some answers half written."""
    return Queue(asked, begun, server, times).run()
