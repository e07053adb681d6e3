"""Operations of layers one by one, in the ways that training computes them: what each reads, gives and keeps.

The lists were written down when whole steps agreed with torch (`test_training_exact.py`): they hold what those sums are
made of. A line that changes is a change of what a layer keeps, and wants a reason. `python -m
tests.memory.test_layer_tapes` writes them again.
"""

from pathlib import Path
from types import SimpleNamespace

import pytest

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.catalog import catalog
from calc.memory.training.recorder import Recorder
from calc.memory.training.recording import record_layer
from calc.memory.training.run import Adapters, Batch, Choices, Numerics
from calc.memory.training.tape import Op, Tape

FILE = Path(__file__).parent.parent / "data" / "layer_tapes.txt"
BF16, CAST = Numerics(2, 2, 2, 2, False, 2), Numerics(2, 4, 4, 4, True, 4)
FLASH, EAGER = Choices(flash=True, mask=False, compiled=False), Choices(flash=False, mask=False, compiled=False)
SMALL = Batch(2, 10, 10)
LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
LORA = Adapters(4, LINEAR)
# The name of each list: a model of the catalogue, which of its kinds of layers, and how it is computed.
CASES: dict[str, tuple[str, int, Numerics, Batch, Choices, Adapters | None]] = {
    "llama": ("llama-3.2-1b", 0, BF16, SMALL, FLASH, None),
    "llama, written out under autocast": ("llama-3.2-1b", 0, CAST, SMALL, EAGER, None),
    "llama, with a mask": ("llama-3.2-1b", 0, BF16, SMALL, FLASH._replace(mask=True), None),
    "llama, compiled under autocast": ("llama-3.2-1b", 0, CAST, SMALL, FLASH._replace(compiled=True), None),
    "llama, with tensor and context ranks": (
        *("llama-3.2-1b", 0, BF16),
        *(Batch(1, 5, 10, 2, sequence_parallel=True), FLASH._replace(gathered=True), None),
    ),
    "llama, with adapters": (
        *("llama-3.2-1b", 0, BF16, SMALL, FLASH),
        LORA._replace(saved=("input_layernorm",), dropout=True),
    ),
    "llama, with DoRA on four bits": (
        *("llama-3.2-1b", 0, Numerics(2, 2, 2, 2, False, 4), SMALL),
        *(FLASH._replace(unpacks=True, inputs_kept=True), LORA._replace(targets=("q_proj", "up_proj"), dora=True)),
    ),
    "llama, with adapters in one flat parameter": (
        *("llama-3.2-1b", 0, CAST, SMALL, FLASH._replace(all_gradients=True), LORA),
    ),
    "gpt-2": ("gpt2", 0, BF16, SMALL, FLASH, None),
    "gpt-2, written out under autocast": ("gpt2", 0, CAST, SMALL, EAGER, None),
    "gpt-2, with adapters": ("gpt2", 0, BF16, SMALL, FLASH, LORA._replace(dropout=True)),
    "phi-3, whose matrices are fused": ("phi-3-mini-4k", 0, CAST, SMALL, FLASH, None),
    "gemma 2, written out": ("gemma-2-2b", 0, BF16, SMALL, EAGER, None),
    "qwen 3, with norms over heads": ("qwen3-0.6b", 0, BF16, SMALL, FLASH, None),
    "olmo 2, with norms after its blocks": ("olmo-2-7b", 0, BF16, SMALL, FLASH, None),
    "command r, side by side": ("command-r-35b", 0, BF16, SMALL, FLASH, None),
    "deepseek v3": ("deepseek-v3", 1, BF16, Batch(1, 8, 8, 2, expert=2), FLASH, None),
    "deepseek v2 lite, under autocast": ("deepseek-v2-lite", 0, CAST, SMALL, EAGER, None),
    "mixtral": ("mixtral-8x7b", 0, BF16, SMALL, FLASH, None),
    "qwen 3 next, linear": ("qwen3-next-80b-a3b", 0, BF16, SMALL, FLASH, None),
    "qwen 3 next, gated": ("qwen3-next-80b-a3b", 1, BF16, SMALL, FLASH, None),
    "bart, over its encoder": ("bart-large-mnli", 1, BF16, SMALL, FLASH, None),
    "mamba 2": ("codestral-mamba-7b", 0, BF16, SMALL, FLASH, None),
    "falcon h1, with both mixers": ("falcon-h1-0.5b", 0, BF16, SMALL, FLASH, None),
    "clip": ("clip-vit-large-patch14", 0, CAST, SMALL, EAGER, None),
    "nemotron": ("nemotron-4-340b", 0, BF16, SMALL, FLASH, None),
    "opt": ("opt-1.3b", 0, CAST, SMALL, EAGER, None),
    "bert": ("bert-base", 0, BF16, SMALL, EAGER, None),
}


def recorded(case: str) -> Tape:
    """Return the tape of a case."""
    model, kind, numerics, batch, choices, adapters = CASES[case]
    architecture = read_config(Config(catalog().model(model).config))
    layer, hidden = architecture.kinds[kind], architecture.hidden_size
    return record_layer(layer=layer, hidden=hidden, numerics=numerics, batch=batch, choices=choices, adapters=adapters)


def written(tape: Tape) -> list[str]:
    """Return a tape's operations and its values, a line each."""
    labels = [
        f"{name}: {size} {tape.labels.get(name, '-')}{' (outlives)' if name in tape.outliving else ''}"
        for name, size in tape.sizes.items()
    ]
    return [*(line(op) for op in tape.ops), *labels]


def line(op: Op) -> str:
    """Return an operation in words."""
    found = f"{op.kind} {', '.join(op.inputs)} -> {op.output}"
    found += f", keeps {', '.join(op.saves)}" if op.saves else ""
    found += f", gradient {op.weight_grad_bytes}" if op.weight_grad_bytes else ""
    return found + (f", work {op.work_bytes}" if op.work_bytes else "")


def known() -> dict[str, list[str]]:
    """Return the lists of the file by name."""
    parts = FILE.read_text(encoding="utf-8").strip().split("\n\n")
    return {name: lines for name, *lines in (part.splitlines() for part in parts)}


KNOWN = known()


@pytest.mark.parametrize(
    ("name", "trained"), [("input_layernorm", True), ("self_attn.v_norm", True), ("self_attn.v_proj", False)]
)
def test_what_is_saved_beside_adapters_is_trained(name: str, trained: bool) -> None:
    """A module is meant by the last part of its name, wherever it stands in the layer; others keep no gradients."""
    chosen = LORA._replace(saved=("input_layernorm", "v_norm"))
    assert Recorder.trained(SimpleNamespace(adapters=chosen, choices=FLASH), name) is trained  # type: ignore[arg-type]


def test_every_list_has_a_case() -> None:
    """None is forgotten."""
    assert list(KNOWN) == list(CASES)


@pytest.mark.parametrize("case", CASES)
def test_a_layer_is_these_operations(case: str) -> None:
    """In their order, with their bytes, and under the names that a reader sees."""
    assert written(recorded(case)) == KNOWN[case]


if __name__ == "__main__":
    lists = ("\n".join([case, *written(recorded(case))]) for case in CASES)
    FILE.write_text("\n\n".join(lists) + "\n", encoding="utf-8")
