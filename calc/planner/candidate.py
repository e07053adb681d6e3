"""A way to answer a question: scenarios on so many devices, and what is known of the first of them so far."""

from typing import NamedTuple

from calc.catalog import Catalog
from calc.planner.devices import Devices
from calc.planner.need import Share
from calc.planning.usual_engine import known_on

LAST = 10**9  # in the order of what is tried: what devices hold alone is faster


class Own(NamedTuple):
    """What sequences need at least of devices, beside the time to read the weights."""

    cache_s: float = 0.0  # to read their caches in a step
    prompt_s: float = 0.0  # to multiply prompts, for each token that is written
    steps: float = 1.0  # for each token that is written; the first comes with the prompt
    stages: int = 1  # of devices, which each token passes one after the other: the weights of one are read at a time
    step_s: float = 0.0  # of a token, where the first scenario's is known and no other one counts


class Candidate(NamedTuple):
    """A way to answer: scenarios of which the first that serves is taken, on devices, as often as replicas say."""

    group: str  # of which an answer shows the best alone
    devices: Devices  # of one replica
    scenarios: tuple[dict[str, object], ...]
    order: int
    most_replicas: int = 1  # that there may be, spare ones included
    rate: float | None = None  # tokens a second of a training run, where it was timed
    ideal: float | None = None  # that no way to train exceeds; None: what was timed is the fastest
    tight: bool = False  # a training run that is likely to fit and not certain
    beside: dict[str, object] | None = None  # the scenario that comes last, with a part in the host's memory
    undivided: bool = False  # which part stands there is not known yet
    sure: bool = False  # its first scenario, with what each replica is given, surely fits
    own: Own | None = None  # what its sequences need at least, None: not known
    spare_bytes: int | None = None  # that the first scenario leaves; None: not known
    share: Share | None = None  # what each replica is given, where they share what is asked
    speed: dict[str, float] | None = None  # typical figures of the first scenario, which fits and runs; None: not known

    @property
    def replicas(self) -> int:
        """Those that serve, as far as they are known."""
        return self.share.replicas if self.share else 1

    @property
    def scenario(self) -> dict[str, object]:
        """The scenario that is tried next."""
        return self.scenarios[0]

    @property
    def place(self) -> tuple[int, int]:
        """What no other candidate and scenario has."""
        return self.order, len(self.scenarios)

    def given(self, share: Share) -> "Candidate":
        """Return the candidate with what each replica is given in its first scenario."""
        field = "concurrency" if "concurrency" in self.scenario else "sequences"
        first = {**self.scenario, field: share.requests}
        return self._replace(scenarios=(first, *self.scenarios[1:]), share=share)

    def after(self) -> "Candidate | None":
        """Return the candidate without its first scenario, last with a part in the host's memory; None for none."""
        own = self.own._replace(step_s=0.0) if self.own else None
        left = self._replace(share=None, speed=None, spare_bytes=None, sure=False, own=own)
        if len(self.scenarios) > 1:
            return left._replace(scenarios=self.scenarios[1:])
        if self.beside is None:
            return None
        return left._replace(scenarios=(self.beside,), beside=None, undivided=True, order=self.order + LAST)


def named_engine(candidate: Candidate, facts: Catalog) -> str:
    """Return the engine that is asked for by its name; empty where one that is known to run is taken, or none."""
    name = candidate.scenario.get("engine")
    return str(name) if name in facts.ids("engines") else ""


def doubted(candidate: Candidate, facts: Catalog) -> bool:
    """Return whether nobody says that the engine runs on the device: such options come after all others."""
    engine = named_engine(candidate, facts)
    return bool(engine) and not known_on(facts=facts, engine=engine, place=candidate.devices.place)
