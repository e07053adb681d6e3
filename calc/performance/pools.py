r"""Prefill and decoding on devices of their own: two pools, and the cache that one sends to the other.

A request waits for a place among the prompts, is read, its cache is sent, and it decodes where no prompt ever joins a
step. In the steady state both pools carry the same requests a second (DistServe, arXiv:2401.09670; Splitwise,
arXiv:2311.18677), and Little's law says where the requests are.
"""

import math
from typing import NamedTuple

from calc.performance.halving import halved
from calc.performance.load import Load
from calc.performance.pass_times import PassTime
from calc.performance.passes import Passes
from calc.performance.speed import prefill
from calc.performance.steady_state import BUSIEST, CLOSE, TOGETHER


class Pools(NamedTuple):
    """Two pools of one engine."""

    reading: Passes  # of a rank of the prefill pool
    writing: Passes
    readers: int  # data-parallel ranks that read prompts
    in_step: int  # of them in one server: they exchange what experts read, and none begins a pass alone
    writers: int
    transfer_s: float  # of a prompt's cache
    overlaps: float  # share of what prompts gain that follow each other through pipeline stages

    def read_s(self, load: Load, prompts: float) -> tuple[PassTime, float]:
        """Return a pass over prompts on one rank, and the seconds until so many are read."""
        found = prefill(
            self.reading,
            sequences=max(round(prompts), 1),
            cached_tokens=load.cached_tokens,
            batched_tokens=load.batched_tokens,
            overlaps=self.overlaps,
        )
        return found.time, found.seconds

    def read_most_per_s(self, load: Load) -> float:
        """Return the requests a second that the prefill pool reads when prompts always wait, as full passes."""
        together = max((load.batched_tokens or load.prompt_tokens) // load.prompt_tokens, 1)
        return self.readers * together / self.read_s(load, together)[1]

    def waits_s(self, load: Load, rate: float, most: float, reading_s: float) -> float:
        """Return the seconds that a prompt waits before it is read, where so many requests come in a second.

        As at a counter with even service (Pollaczek and Khinchine); and where ranks go in step, for the end of the pass
        that others are in: half of one, as often as any of them reads.
        """
        busy = min(rate / most, BUSIEST)
        queue_s = busy / (2.0 * (1.0 - busy)) * reading_s
        if self.in_step == 1:
            return queue_s
        passes = max(load.prompt_tokens / (load.batched_tokens or load.prompt_tokens), 1.0)
        others_read = 1.0 - math.exp(-rate * self.in_step / self.readers * reading_s)
        return queue_s + others_read * reading_s / passes / 2.0

    def step(self, load: Load, decoding: float) -> PassTime:
        """Return the mean step of so many sequences on each rank that writes."""
        context = load.cached_tokens + load.prompt_tokens + load.output_tokens // 2
        return self.writing.time(self.writing.step(sequences=decoding, context=context))

    def written_per_s(self, load: Load, decoding: float) -> float:
        """Return the requests a second that end where so many are written on each rank."""
        token_s = self.step(load, decoding).total / self.writing.expected
        return self.writers * decoding / (max(load.output_tokens - 1, 1) * token_s)


class Flow(NamedTuple):
    """The steady state of both pools."""

    running: float  # sequences on each rank that writes
    requests_per_s: float
    read_most_per_s: float
    write_most_per_s: float  # with all slots full
    reading_s: float  # of a prompt
    queueing_s: float  # before it
    burst_s: float  # of that, in the first of some rounds of requests, which comes at once
    first_s: float
    token_s: float
    prompting: PassTime
    decoding: PassTime

    @property
    def balance(self) -> float:
        """Times as many devices as it has that the prefill pool needs beside the decoding pool at its most."""
        return self.write_most_per_s / self.read_most_per_s


def flow(pools: Pools, load: Load, concurrency: int) -> Flow:
    """Return how so many requests go through both pools.

    Where the prefill pool is at its end, all that do not decode wait before it.
    """
    prompting, reading_s = pools.read_s(load, 1)
    most = pools.read_most_per_s(load)

    def waits(rate: float) -> float:
        return pools.waits_s(load, rate, most, reading_s)

    def held(decoding: float) -> float:
        rate = pools.written_per_s(load, decoding)
        if rate > most:
            return float("inf")
        first = waits(rate) + reading_s + pools.transfer_s
        return pools.writers * decoding + rate * first

    running = min(load.slots, concurrency / pools.writers)
    if held(running) > concurrency:
        _, running = halved(lambda decoding: held(decoding) > concurrency, running, close=CLOSE)
    running = max(running, CLOSE)
    decoding = pools.step(load, running)
    rate = min(pools.written_per_s(load, running), most)
    token_s = decoding.total / pools.writing.expected
    inside = pools.writers * running + rate * (waits(rate) + reading_s + pools.transfer_s)
    queueing = waits(rate) + max(concurrency - inside, 0.0) / rate
    burst = concurrency / most / (2.0 * TOGETHER)
    first = load.request_s + queueing + burst + reading_s + pools.transfer_s + decoding.total / 2.0
    return Flow(
        running=running,
        requests_per_s=rate,
        read_most_per_s=most,
        write_most_per_s=pools.written_per_s(load, load.slots),
        reading_s=reading_s,
        queueing_s=queueing + burst,
        burst_s=burst,
        first_s=first,
        token_s=token_s,
        prompting=prompting,
        decoding=decoding,
    )
