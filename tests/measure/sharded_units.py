"""Host seconds for each message of a sharded unit, in kernels of the same run: python -m tests.measure.sharded_units.

Needs torch, transformers and peft, which the project does not depend on: install them in an environment of their own.
It trains a small Llama of two and of eight layers on the CPU, beside a rank that only exists by name: messages go
nowhere, so that what FSDP adds to a step is its hooks. Seconds are those of the processor, the least of many steps.
Written with torch 2.13, transformers 5.24 and peft 0.21.
"""

import functools
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
import transformers
from peft import LoraConfig, get_peft_model
from peft.utils.other import fsdp_auto_wrap_policy
from torch.distributed import init_process_group
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

FEW, MANY, STEPS = 2, 8, 40
MESSAGES = 3  # of a unit in a step: gathered forward, gathered backward, and its gradients scattered
SIZES = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "vocab_size": 96}


class Kernels(TorchDispatchMode):
    """Counts operations that are no view and make no empty tensor, as a device would launch a kernel for each."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and count it."""
        out = func(*args, **(kwargs or {}))
        known = {tensor.untyped_storage()._cdata for tensor in tree_leaves(args) if isinstance(tensor, torch.Tensor)}
        made = [tensor for tensor in tree_leaves(out) if isinstance(tensor, torch.Tensor)]
        new = any(tensor.untyped_storage()._cdata not in known for tensor in made)
        name = func.overloadpacket.__name__
        self.count += (new or name.endswith("_")) and "empty" not in name and name != "detach"
        return out


def built(layers: int, adapters: bool) -> torch.nn.Module:
    """Return a model, with adapters on all its matrices or trained whole."""
    config = transformers.LlamaConfig(num_hidden_layers=layers, num_key_value_heads=2, **SIZES)
    model: Any = transformers.AutoModelForCausalLM.from_config(config)
    if adapters:
        model = get_peft_model(model, LoraConfig(r=8, target_modules="all-linear"))
    return model.train()


def flat(model: Any, *, adapters: bool, views: bool) -> tuple[Any, int]:
    """Return a model under FSDP 1 with how many units it has; `views` keeps parameters as its user wrote them."""
    layers = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer})
    policy = fsdp_auto_wrap_policy(model) if adapters else layers
    device = torch.device("cpu")
    found = FullyShardedDataParallel(model, auto_wrap_policy=policy, use_orig_params=views, device_id=device)
    return found, sum(isinstance(one, FullyShardedDataParallel) for one in found.modules())


def by_parameter(model: Any) -> tuple[Any, int]:
    """Return a model under FSDP 2 with how many units it has."""
    mesh = init_device_mesh("cpu", (2,))
    layers = [one for one in model.modules() if isinstance(one, LlamaDecoderLayer)]
    for one in (*layers, model):
        fully_shard(one, mesh=mesh)
    return model, len(layers) + 1


def step_of(model: Any) -> tuple[float, int]:
    """Return the seconds of a step of training, and its kernels."""
    tokens = torch.randint(1, 90, (1, 4))

    def step() -> None:
        model(input_ids=tokens, labels=tokens).loss.backward()
        for one in model.parameters():
            one.grad = None

    step()
    with Kernels() as counted:
        step()
    seconds = []
    for _ in range(STEPS):
        begun = time.process_time()
        step()
        seconds.append(time.process_time() - begun)
    return min(seconds), counted.count


def kernels_of_message(adapters: bool, shard: Callable[[Any], tuple[Any, int]]) -> float:
    """Return how many kernels' seconds a message of a unit takes of the host."""
    seconds, kernels, units = [0.0, 0.0], 0, 0
    for layers, sign in ((FEW, -1), (MANY, 1)):
        alone, count = step_of(built(layers, adapters))
        model, many = shard(built(layers, adapters))
        seconds[0] += sign * alone
        seconds[1] += sign * step_of(model)[0]
        kernels, units = kernels + sign * count, units + sign * many
    return (seconds[1] - seconds[0]) / units / MESSAGES / (seconds[0] / kernels)


def main() -> None:
    """Print the figures."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    for views in (False, True):
        for adapters in (True, False):
            shard = functools.partial(flat, adapters=adapters, views=views)
            kind = "matrices of adapters" if adapters else "layers"
            said = "as written" if views else "flat"
            print(f"FSDP 1, {said}, {kind}: {kernels_of_message(adapters, shard):.0f} kernels a message")
    print(f"FSDP 2, layers: {kernels_of_message(False, by_parameter):.0f} kernels a message")


if __name__ == "__main__":
    main()
