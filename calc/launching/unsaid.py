"""What no flag says of a scenario: what the computer is, what requests ask for, and what an engine has no choice of."""

from collections.abc import Iterator, Mapping

from calc.derivation import INFO, Warn

SHARE_OF_ALL = ("vllm", "sglang")  # engines whose share is of the whole device, and so can leave a part of it alone
CHOOSES_ATTENTION = ("llama.cpp", "transformers")
TRITON = "triton"  # whose kernels are asked for by a flag
OF_COMPUTER = {  # fields, and what stands in place of a flag
    "pcie": "no flag says how a card is connected: that is its slot's",
    "power_limit": "no flag of an engine limits what a card draws: its driver's tool does (nvidia-smi -pl, amd-smi)",
    "display": "no flag says that a screen is on the device: what that takes is in use before the engine starts",
    "memory_limit": "no flag keeps the engine below a number of bytes: what else is on the device has to leave so much",
}
OF_REQUESTS = "no flag asks for the logits of whole prompts: each request does, as by prompt_logprobs"
NO_CHOICE = "no flag says whether attention keeps its scores: the engine takes a kernel of its own that keeps none"


def unsaid(scenario: Mapping[str, object], engine: str) -> Iterator[Warn]:
    """Iterate over what a scenario says, and no flag of any engine or of this one."""
    listed = scenario.get("accelerator")
    places = [scenario, *(listed if isinstance(listed, list) else ())]  # of which each device may say so
    for field, message in OF_COMPUTER.items():
        said = engine in SHARE_OF_ALL and field in ("display", "memory_limit")  # by a smaller share
        if not said and any(place.get(field) for place in places):
            yield Warn("no-flag", message, field, INFO)
    if scenario.get("prompt_logits") == "all":
        yield Warn("no-flag", OF_REQUESTS, "prompt_logits", INFO)
    if engine not in CHOOSES_ATTENTION and scenario.get("attention", TRITON) != TRITON:
        yield Warn("no-flag", NO_CHOICE, "attention", INFO)
