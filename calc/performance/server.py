"""A server: what bounds its work, the answers that it finds half written, and what became of requests."""

from typing import NamedTuple

from calc.memory.prefix import Prefix
from calc.performance.arrivals import Objective, Request


class Server(NamedTuple):
    """What bounds the work of a data-parallel rank."""

    slots: int  # sequences that it works on at a time
    room_tokens: int  # that its cache holds
    batched_tokens: int | None  # of a step; None: whole prompts pass at once
    mixes: bool  # prompts and decoding share a step; else decoding waits while prompts are read
    request_s: float  # of each request, beside the device
    step_factor: float = 1.0  # by which steps take longer than their times say
    prompt_factor: float = 1.0
    prefix: Prefix = Prefix()  # what prompts find in the cache
    reserves: float = 0.0  # share of the others' answers that is in the way of a request, with its own; 0: neither
    between_s: float = 0.0  # from one request to the next, which front end and client take one after the other
    stream_s: float = 0.0  # of the front end for each token that it passes on
    ahead: int = 0  # steps that have been launched behind the one which a request finds under way
    held_prompts: float = 1.0  # that wait where other data ranks have some, too, as a mean
    clients: int = 0  # each of which sends a request as soon as its last one is answered; 0: requests come on their own

    def own_tokens(self, prompt_tokens: int) -> int:
        """Return the tokens of a prompt that are cached for itself alone."""
        return max(prompt_tokens - self.prefix.held_tokens, 0)


class Served(NamedTuple):
    """When a request came, had its first token, and its last."""

    at_s: float
    first_s: float
    last_s: float
    output_tokens: int

    @property
    def wait_s(self) -> float:
        """Seconds to the first token."""
        return self.first_s - self.at_s

    @property
    def whole_s(self) -> float:
        """Seconds to the last token."""
        return self.last_s - self.at_s

    @property
    def token_s(self) -> float | None:
        """Mean seconds between tokens; None of a single one."""
        return (self.last_s - self.first_s) / (self.output_tokens - 1) if self.output_tokens > 1 else None

    def keeps(self, objective: Objective) -> bool:
        """Return whether the request keeps within all that is asked of it."""
        first_s, token_s, whole_s = objective
        return (
            (first_s is None or self.wait_s <= first_s)
            and (token_s is None or self.token_s is None or self.token_s <= token_s)
            and (whole_s is None or self.whole_s <= whole_s)
        )


class Begun(NamedTuple):
    """An answer that a run finds half written."""

    request: Request
    written_tokens: int


class Run(NamedTuple):
    """What became of all requests, and what the server did until the last of them came."""

    served: list[Served]
    seconds: float  # until the last came, or all were done if that was sooner
    running_s: float  # sequences that were decoded, times the seconds
    answered: int  # requests that were done
    written_tokens: int  # of these
    writing_s: float  # sequences that were decoded, times the seconds, until all were done
    preempted: int  # times that a request lost its cache to others
