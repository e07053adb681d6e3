"""What torch keeps of a layer for the backward pass, against calc's tape: python -m tests.measure.training_activations.

Needs torch and transformers (and peft for the adapters), which the project does not depend on: install them in an
environment of their own. It builds models of two and of three layers on the CPU, runs a forward pass under a dispatch
mode that knows every storage, and takes the difference of what is alive. Written with torch 2.13, transformers 5.23
and peft 0.21. The CPU's attention kernel keeps no random state, and a CPU LayerNorm keeps its statistics in the input's
type: those few bytes are allowed to differ.
"""

import sys
import weakref
from typing import Any

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.memory.training.recording import record_layer
from calc.memory.training.run import Adapters, Batch, Choices, Numerics

SEQUENCES, TOKENS = 2, 48
DENSE = {
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 97,
    "max_position_embeddings": 128,
}
HEADS = {**{k: v for k, v in DENSE.items() if k != "num_key_value_heads"}, "hidden_dropout_prob": 0.0}
HEADS |= {"dropout": 0.0, "attention_dropout": 0.0, "attention_probs_dropout_prob": 0.0}
GPT = {
    "resid_pdrop": 0.0,
    "embd_pdrop": 0.0,
    "attn_pdrop": 0.0,
    "n_embd": 64,
    "n_head": 4,
    "n_inner": 256,
    "n_positions": 128,
    "vocab_size": 97,
}
EXPERTS = {"num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 96}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "Llama": ("llama", DENSE),
    "Llama with biases": ("llama", {**DENSE, "attention_bias": True}),
    "Qwen 2": ("qwen2", DENSE),
    "Qwen 3": ("qwen3", {**DENSE, "head_dim": 16}),
    "Gemma 2": ("gemma2", {**DENSE, "head_dim": 16}),
    "Phi 3": ("phi3", {**DENSE, "pad_token_id": 0}),
    "OLMo 2": ("olmo2", DENSE),
    "GPT-2": ("gpt2", GPT),
    "GPT-NeoX": ("gpt_neox", {**HEADS, "intermediate_size": 256}),
    "OPT": ("opt", {**HEADS, "ffn_dim": 256, "word_embed_proj_dim": 64}),
    "Falcon": ("falcon", {**HEADS, "alibi": False, "bias": False}),
    "Mixtral": ("mixtral", {**DENSE, **EXPERTS}),
    "Qwen 3 MoE": ("qwen3_moe", {**DENSE, **EXPERTS, "head_dim": 16, "decoder_sparse_step": 1}),
    "BERT": ("bert", HEADS),
}


class Alive(TorchDispatchMode):
    """Counts the bytes of all storages made while it is on and not freed yet."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.sizes: dict[int, int] = {}
        self.model = {tensor.untyped_storage()._cdata for tensor in (*model.parameters(), *model.buffers())}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and note the storages it makes."""
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                storage = leaf.untyped_storage()
                key = storage._cdata
                if key not in self.sizes and key not in self.model:
                    self.sizes[key] = storage.nbytes()
                    weakref.finalize(storage, self.sizes.pop, key, None)
        return result

    @property
    def bytes(self) -> int:
        """Bytes alive."""
        return sum(self.sizes.values())


def build(family: str, values: dict[str, Any], layers: int, attention: str) -> Any:
    """Return a model with that many layers and random weights, in training mode."""
    name = "n_layer" if family == "gpt2" else "num_hidden_layers"
    config = transformers.AutoConfig.for_model(family, **values, **{name: layers})
    config._attn_implementation = attention
    config.use_cache = False
    kind = transformers.AutoModelForMaskedLM if family == "bert" else transformers.AutoModelForCausalLM
    torch.manual_seed(0)
    return kind.from_config(config).train()


def kept(model: Any, autocast: bool) -> int:
    """Return the bytes alive after a forward pass."""
    ids = torch.randint(0, 97, (SEQUENCES, TOKENS))
    with Alive(model) as alive:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            output = model(input_ids=ids)
        total = alive.bytes
    del output
    return total


def measured(family: str, values: dict[str, Any], attention: str, autocast: bool, adapters: Adapters | None) -> int:
    """Return what one more layer keeps."""
    totals = []
    for layers in (3, 4):
        model = build(family, values, layers, attention)
        if not autocast:
            model = model.to(torch.bfloat16)
        if adapters is not None:
            import peft

            options = peft.LoraConfig(r=adapters.rank, target_modules=list(adapters.targets), lora_dropout=0.0)
            model = peft.get_peft_model(model, options, autocast_adapter_dtype=False).train()
        totals.append(kept(model, autocast))
    return totals[1] - totals[0]


def predicted(family: str, values: dict[str, Any], attention: str, autocast: bool, adapters: Adapters | None) -> int:
    """Return what calc's tape keeps of a layer."""
    name = "n_layer" if family == "gpt2" else "num_hidden_layers"
    architecture = read_config(Config({"model_type": family, **values, name: 3}))
    numerics = Numerics(2, 4, 4, 4, True, 4) if autocast else Numerics(2, 2, 2, 2, False, 2)
    tape = record_layer(
        layer=architecture.kinds[-1],
        hidden=architecture.hidden_size,
        numerics=numerics,
        batch=Batch(SEQUENCES, TOKENS, TOKENS),
        choices=Choices(attention == "sdpa", mask=False, compiled=False),
        adapters=adapters,
    )
    return tape.saved_bytes


def main() -> None:
    """Print every case: measured, predicted, and by how much they differ."""
    wanted = sys.argv[1:]
    some = Adapters(4, ("q_proj", "v_proj"))
    every = Adapters(4, ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"))
    print(f"{'layer':20} {'case':22} {'torch':>10} {'calc':>10} {'difference':>11}")
    for title, (family, values) in CASES.items():
        if wanted and family not in wanted:
            continue
        ways: list[tuple[str, str, bool, Adapters | None]] = [
            ("bf16", "sdpa", False, None),
            ("bf16, eager", "eager", False, None),
            ("autocast", "sdpa", True, None),
        ]
        if family in ("llama", "qwen2", "qwen3"):
            ways += [("LoRA on q and v", "sdpa", False, some), ("LoRA on all", "sdpa", False, every)]
        for case, attention, autocast, adapters in ways:
            try:
                there = measured(family, values, attention, autocast, adapters)
            except Exception as error:  # a family that this version builds differently
                print(f"{title:20} {case:22} {type(error).__name__}: {error}"[:120])
                continue
            here = predicted(family, values, attention, autocast, adapters)
            print(f"{title:20} {case:22} {there:10,} {here:10,} {here - there:+11,} ({here / there - 1:+.2%})")


if __name__ == "__main__":
    main()
