"""Steps and answers of plain Hugging Face loops on one device, beside what calc says of them.

    python -m tests.measure.one_device predict cases h200-sxm-141gb > predicted.jsonl    # needs calc alone
    python tests/measure/one_device.py measure cases > measured.jsonl    # needs torch, transformers and peft
    python tests/measure/one_device.py try more    # small shapes on the processor

The lists are `cases`, `more` and `growing`, the last under an allocator whose segments grow.

Every case is a scenario in the contract's fields, so that the same words are predicted and run. Weights are random and
of the shape that a config.json says: nothing is downloaded. Cases that teach most stand first, since the time of a
device is bounded: past `SECONDS` no further one is begun. One JSON line a case, also where one fails. bitsandbytes and
liger-kernel are used where they are installed.
"""

import gc
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

SECONDS = float(os.environ.get("SECONDS_IN_ALL", "400"))
WARM, TIMED, FEWER = 2, 5, 3  # steps before the clock, under it, and under it where one takes longer than half a second
NEW_TOKENS = 64
LENGTHS = (16, 3, 11, 7, 14, 5, 9, 2, 13, 15, 4, 10, 12, 6, 8, 16)  # sixteenths, of batches that differ

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 128256,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
}
QWEN = {
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "vocab_size": 151936,
    "head_dim": 128,
    "tie_word_embeddings": True,
    "max_position_embeddings": 40960,
    "num_key_value_heads": 8,
}


def decoder(base: dict[str, Any], hidden: int, layers: int, heads: int, inner: int, **more: Any) -> dict[str, Any]:
    """Return a config of that shape."""
    sizes = {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
    }
    return {**base, **sizes, **more}


MODELS: dict[str, dict[str, Any]] = {
    "Llama 3.2 1B": decoder(LLAMA, 2048, 16, 32, 8192, num_key_value_heads=8, head_dim=64, tie_word_embeddings=True),
    "Llama 3.2 3B": decoder(LLAMA, 3072, 28, 24, 8192, num_key_value_heads=8, head_dim=128, tie_word_embeddings=True),
    "Llama 3.1 8B": decoder(LLAMA, 4096, 32, 32, 14336, num_key_value_heads=8, tie_word_embeddings=False),
    "Qwen3 1.7B": decoder(QWEN, 2048, 28, 16, 6144),
    "Qwen3 4B": decoder(QWEN, 2560, 36, 32, 9728),
    "mixture of 4B": {
        **decoder(QWEN, 2048, 12, 32, 6144, num_key_value_heads=4),
        "model_type": "qwen3_moe",
        "architectures": ["Qwen3MoeForCausalLM"],
        "num_experts": 64,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 768,
        "decoder_sparse_step": 1,
        "norm_topk_prob": True,
        "tie_word_embeddings": False,
    },
    "Llama of 1B, as many keys as queries": decoder(
        LLAMA, 2048, 16, 32, 8192, num_key_value_heads=32, head_dim=64, tie_word_embeddings=True
    ),
    "GPT-2": {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": 50257,
        "n_embd": 768,
        "n_layer": 12,
        "n_head": 12,
        "n_positions": 1024,
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
    },
    "ModernBERT base": {
        "model_type": "modernbert",
        "architectures": ["ModernBertForMaskedLM"],
        "vocab_size": 50368,
        "hidden_size": 768,
        "intermediate_size": 1152,
        "num_hidden_layers": 22,
        "num_attention_heads": 12,
        "max_position_embeddings": 8192,
        "global_attn_every_n_layers": 3,
        "local_attention": 128,
        "pad_token_id": 0,
        "tie_word_embeddings": True,
    },
    "BERT large": {
        "model_type": "bert",
        "architectures": ["BertForSequenceClassification"],
        "vocab_size": 30522,
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
    },
    "ViT large": {
        "model_type": "vit",
        "architectures": ["ViTForImageClassification"],
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "image_size": 224,
        "patch_size": 16,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    },
}
CLASSES = {
    "GPT2LMHeadModel": "AutoModelForCausalLM",
    "LlamaForCausalLM": "AutoModelForCausalLM",
    "Qwen3ForCausalLM": "AutoModelForCausalLM",
    "Qwen3MoeForCausalLM": "AutoModelForCausalLM",
    "ModernBertForMaskedLM": "AutoModelForMaskedLM",
    "BertForSequenceClassification": "AutoModelForSequenceClassification",
    "ViTForImageClassification": "AutoModelForImageClassification",
}


def step(model: str, batch: int, tokens: int, precision: str = "bf16", **ways: Any) -> dict[str, Any]:
    """Return a case of training. With a framework Trainer runs it, else a loop as tutorials write it."""
    fields = {"micro_batch": batch, "sequence_tokens": tokens, "precision": precision, "optimizer": "adamw"}
    return {"workload": "training", "model": model, "method": "full", "checkpointing": "none", **fields, **ways}


def adapted(model: str, batch: int, tokens: int, **ways: Any) -> dict[str, Any]:
    """Return a case of LoRA on all matrices, as PEFT lays it: adapters in FP32 beside a base of 16 bit."""
    lora = {"lora": {"rank": 16, "targets": "all-linear"}, "adapter_dtype": "fp32", "checkpointing": "full"}
    return {**step(model, batch, tokens), "method": "lora", **lora, **ways}


def answer(model: str, sequences: int, prompt: int, **ways: Any) -> dict[str, Any]:
    """Return a case of inference."""
    fields = {"sequences": sequences, "prompt_tokens": prompt, "output_tokens": NEW_TOKENS}
    return {"workload": "inference", "model": model, "engine": "transformers", "weights": "bf16", **fields, **ways}


ONE, THREE, EIGHT, MIXTURE = "Llama 3.2 1B", "Llama 3.2 3B", "Llama 3.1 8B", "mixture of 4B"
CASES: list[dict[str, Any]] = [
    step(ONE, 4, 2048, profile=True),
    step(ONE, 4, 2048, "bf16-autocast", profile=True),
    adapted(EIGHT, 2, 2048, profile=True),
    answer(EIGHT, 1, 512),
    answer(EIGHT, 8, 512),
    answer(EIGHT, 1, 4096),
    answer(EIGHT, 32, 512),
    answer(EIGHT, 8, 4096),
    adapted(EIGHT, 2, 2048, framework="transformers", precision="bf16-autocast"),
    adapted(EIGHT, 1, 1024, checkpointing="none"),
    adapted(EIGHT, 4, 2048, adapter_dtype="bf16"),
    adapted(EIGHT, 1, 8192),
    adapted(EIGHT, 2, 2048, lora={"rank": 16, "targets": ["q_proj", "v_proj"]}),
    adapted(EIGHT, 2, 2048, method="qlora", base_weights="nf4-dq", adapter_dtype="bf16", profile=True),
    adapted(EIGHT, 4, 512, method="qlora", base_weights="nf4-dq", optimizer="paged-adamw-8bit"),
    step(ONE, 4, 2048, framework="transformers", precision="bf16-autocast"),
    step(ONE, 4, 2048, framework="transformers"),
    step(MIXTURE, 2, 2048, profile=True),
    step(MIXTURE, 2, 2048, checkpointing="full"),
    step(ONE, 4, 2048, padding_mask=True, profile=True),
    step(ONE, 2, 2048, attention="eager"),
    step(ONE, 1, 2048),
    step(ONE, 1, 512),
    step(ONE, 16, 512),
    step(ONE, 1, 8192),
    step(ONE, 4, 2048, checkpointing="full"),
    step(ONE, 16, 2048, checkpointing="full"),
    step(ONE, 4, 2048, cross_entropy="fused"),
    step(ONE, 4, 2048, optimizer="adamw-foreach"),
    step(ONE, 4, 2048, optimizer="adamw-for-loop"),
    step(ONE, 4, 2048, optimizer="adamw-8bit"),
    step("Qwen3 1.7B", 2, 4096),
    step("Qwen3 1.7B", 2, 4096, "bf16-autocast", checkpointing="full"),
    step("Qwen3 4B", 2, 2048, checkpointing="full"),
    step(THREE, 1, 4096),
    step(THREE, 2, 4096, checkpointing="full"),
    step("BERT large", 32, 512, "bf16-autocast"),
    step("BERT large", 32, 128, "bf16-autocast"),
    step("BERT large", 16, 512, "fp32"),
    step("ModernBERT base", 32, 512, "bf16-autocast"),
    step("ModernBERT base", 4, 8192, "bf16-autocast"),
    step("ViT large", 64, 197, "bf16-autocast"),
    step("ViT large", 64, 197),
    answer(ONE, 1, 512),
    answer(ONE, 32, 512),
    answer(ONE, 8, 4096),
    answer("Qwen3 4B", 1, 512),
    answer("Qwen3 4B", 8, 4096),
    answer(MIXTURE, 1, 512),
    answer(MIXTURE, 32, 512),
    answer(MIXTURE, 8, 4096),
    step(ONE, 4, 2048, compile=True),
    step(ONE, 2, 2048, "fp32"),
    step(ONE, 4, 4096, "bf16-autocast", checkpointing="full", framework="transformers"),
    adapted(EIGHT, 8, 2048, framework="transformers"),
    adapted("Qwen3 4B", 4, 2048),
    adapted(THREE, 4, 2048, method="qlora", base_weights="nf4-dq", adapter_dtype="bf16", checkpointing="none"),
    step(THREE, 4, 2048, "bf16-autocast", checkpointing="full"),
    step(ONE, 1, 16384, checkpointing="full"),
]

MORE: list[dict[str, Any]] = [
    step(ONE, 4, 2048, varied_lengths=True),
    step(ONE, 4, 2048, varied_lengths=True, checkpointing="full"),
    adapted(EIGHT, 2, 2048, varied_lengths=True),
    step(ONE, 4, 2048, "bf16-autocast", varied_lengths=True, framework="transformers"),
    adapted(EIGHT, 2, 2048, lora={"rank": 16, "targets": "all-linear", "dropout": 0.05}),
    step(EIGHT, 1, 2048, checkpointing="full"),
    step(EIGHT, 2, 4096, checkpointing="full", cross_entropy="fused"),
    step(ONE, 1, 1024, gradient_accumulation=8),
    step("GPT-2", 16, 1024, "bf16-autocast", profile=True),
    step("GPT-2", 16, 1024, "bf16-autocast", compile=True),
    step("BERT large", 32, 128, "bf16-autocast", profile=True),
    step("ModernBERT base", 32, 512, "bf16-autocast", profile=True),
    step("ModernBERT base", 32, 512, "bf16-autocast", attention="eager"),
    step("ModernBERT base", 32, 512),
    step(ONE, 2, 2048, "fp32", padding_mask=True),
    step("Llama of 1B, as many keys as queries", 2, 2048, "fp32", profile=True),
    adapted(MIXTURE, 2, 2048, lora={"rank": 16, "targets": ["q_proj", "k_proj", "v_proj", "o_proj"]}),
    adapted(MIXTURE, 2, 2048, method="qlora", base_weights="nf4-dq", adapter_dtype="bf16",
            lora={"rank": 16, "targets": ["q_proj", "k_proj", "v_proj", "o_proj"]}),
    step(ONE, 4, 2048, checkpointing="full", compile=True),
    step(ONE, 4, 2048, optimizer="adafactor"),
    answer(EIGHT, 1, 512, weights="nf4"),
    answer(EIGHT, 8, 512, weights="nf4"),
    answer(EIGHT, 1, 512, weights="int8"),
    answer(MIXTURE, 8, 512, profile=True),
    answer(EIGHT, 16, 4096),
]  # fmt: skip
GROWING: list[dict[str, Any]] = [  # with PYTORCH_ALLOC_CONF=expandable_segments:True
    step(ONE, 4, 2048, expandable_segments=True),
    step(ONE, 4, 2048, checkpointing="full", expandable_segments=True),
    adapted(EIGHT, 2, 2048, expandable_segments=True),
    adapted(EIGHT, 2, 2048, varied_lengths=True, expandable_segments=True),
]
LISTS = {"cases": CASES, "more": MORE, "growing": GROWING}


def named(case: dict[str, Any]) -> str:
    """Return a case as one line, which says all of it."""
    return json.dumps(case, sort_keys=True)


def predict(cases: list[dict[str, Any]], accelerators: list[str]) -> None:
    """Print what calc says of every case."""
    from calc import estimate

    for case in cases:
        for accelerator in accelerators:
            scenario = {key: value for key, value in case.items() if key != "profile"}
            scenario |= {"model": {"config": config_of(case)}, "accelerator": accelerator}
            if case["workload"] == "training":
                scenario = {"compile": False, "varied_lengths": False, **scenario}
            line: dict[str, Any] = {"case": named(case), "accelerator": accelerator}
            try:
                report = estimate(scenario)
            except Exception as error:
                line["error"] = f"{type(error).__name__}: {error}"[:300]
            else:
                totals = ("allocated_bytes", "reserved_bytes", "device_bytes")
                line |= {name: report["memory"][name] for name in totals}
                line |= {f"{name}_range": report["memory"][f"{name}_range"] for name in totals}
                line["speed"] = report["speed"]
            print(json.dumps(line), flush=True)


def config_of(case: dict[str, Any]) -> dict[str, Any]:
    """Return the config of a case's model."""
    return MODELS[case["model"]]


def built(case: dict[str, Any], device: str) -> Any:
    """Return the case's model with random weights, with its adapters where it has some."""
    import torch
    import transformers

    values = dict(config_of(case))
    config = transformers.AutoConfig.for_model(values.pop("model_type"), **values)
    config._attn_implementation = "eager" if case.get("attention") == "eager" else "sdpa"
    narrow = case["workload"] == "inference" or case["precision"] == "bf16" or case["method"] != "full"
    kind = getattr(transformers, CLASSES[config.architectures[0]])
    with torch.device(device):
        model = kind.from_config(config, dtype=torch.bfloat16 if narrow else torch.float32)
    if case["workload"] == "inference":
        return quantized(model, case["weights"], device).eval()
    config.use_cache = False
    if case["method"] != "full":
        model = with_adapters(model, case, device)
    if case["checkpointing"] == "full":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if case["method"] != "full":
            model.enable_input_require_grads()
    if case.get("cross_entropy") == "fused":
        from liger_kernel.transformers import apply_liger_kernel_to_llama

        off = {"rope": False, "rms_norm": False, "swiglu": False, "cross_entropy": False}
        apply_liger_kernel_to_llama(model=model, fused_linear_cross_entropy=True, **off)
    return model.train()


def quantized(model: Any, weights: str, device: str) -> Any:
    """Return the model with the matrices of its layers stored by bitsandbytes, or as it is."""
    import torch

    if weights == "bf16":
        return model
    import bitsandbytes

    for name, module in list(model.named_modules()):
        if not isinstance(module, torch.nn.Linear) or "lm_head" in name:
            continue
        sizes = (module.in_features, module.out_features)
        if weights == "int8":
            made = bitsandbytes.nn.Linear8bitLt(*sizes, bias=False, has_fp16_weights=False, threshold=6.0)
            made.weight = bitsandbytes.nn.Int8Params(module.weight.data.half().cpu(), requires_grad=False)
        else:
            ways = {"quant_type": "nf4", "compress_statistics": weights == "nf4-dq"}
            made = bitsandbytes.nn.Linear4bit(*sizes, bias=False, compute_dtype=torch.bfloat16, **ways)
            made.weight = bitsandbytes.nn.Params4bit(module.weight.data, requires_grad=False, **ways)
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, made.to(device))
    model.is_loaded_in_4bit = weights != "int8"
    return model


def with_adapters(model: Any, case: dict[str, Any], device: str) -> Any:
    """Return the model with adapters, on a base of 4 bits for QLoRA."""
    import peft

    model = quantized(model, case.get("base_weights", "bf16"), device)
    lora = case["lora"]
    options = peft.LoraConfig(
        r=lora["rank"], target_modules=lora["targets"], lora_dropout=lora.get("dropout", 0.0), task_type="CAUSAL_LM"
    )
    return peft.get_peft_model(model, options, autocast_adapter_dtype=case["adapter_dtype"] == "fp32")


def optimizer_of(case: dict[str, Any], parameters: list[Any]) -> Any:
    """Return the case's optimizer."""
    import torch

    if "8bit" in case["optimizer"]:
        import bitsandbytes

        kind = bitsandbytes.optim.PagedAdamW8bit if "paged" in case["optimizer"] else bitsandbytes.optim.AdamW8bit
        return kind(parameters, lr=1e-5)
    if case["optimizer"] == "adafactor":
        import transformers

        return transformers.optimization.Adafactor(parameters, lr=1e-5, relative_step=False, scale_parameter=False)
    ways = {"adamw": {"fused": True}, "adamw-foreach": {"foreach": True}, "adamw-for-loop": {"foreach": False}}
    return torch.optim.AdamW(parameters, lr=1e-5, **ways[case["optimizer"]])


def batch_of(case: dict[str, Any], device: str) -> dict[str, Any]:
    """Return random inputs of the case's size."""
    import torch

    config = config_of(case)
    rows, tokens = case["micro_batch"], case["sequence_tokens"]
    if config["model_type"] == "vit":
        side = config["image_size"]
        return {
            "pixel_values": torch.randn(rows, 3, side, side, device=device),
            "labels": torch.randint(0, 2, (rows,), device=device),
        }
    ids = torch.randint(0, config["vocab_size"], (rows, tokens), device=device)
    if "Classification" in config["architectures"][0]:
        return {"input_ids": ids, "labels": torch.randint(0, 2, (rows,), device=device)}
    batch = {"input_ids": ids, "labels": ids.clone()}
    if case.get("padding_mask"):
        mask = torch.ones_like(ids)
        mask[1:, -tokens // 8 :] = 0
        batch |= {"attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}
    return batch


def batches_of(case: dict[str, Any], device: str) -> list[dict[str, Any]]:
    """Return the batches of a run: one, or as many as there are steps, of lengths of their own; the first is whole."""
    whole = batch_of(case, device)
    if not case.get("varied_lengths"):
        return [whole]
    lengths = [case["sequence_tokens"] * share // 16 for share in LENGTHS]
    return [{name: values[:, :length].contiguous() for name, values in whole.items()} for length in lengths]


class Clock:
    """Times steps: how long each takes on the device, and how long the host needs to ask for one."""

    def __init__(self, device: str) -> None:
        self.cuda = device == "cuda"
        self.steps: list[float] = []
        self.host: list[float] = []

    def now(self) -> float:
        """Return the time when the device has nothing left to do."""
        import torch

        if self.cuda:
            torch.cuda.synchronize()
        return time.perf_counter()

    def run(self, work: Any) -> float:
        """Run something once and return its seconds."""
        start = self.now()
        work()
        self.host.append(time.perf_counter() - start)
        self.steps.append(self.now() - start)
        return self.steps[-1]


def plain_loop(case: dict[str, Any], model: Any, clock: Clock, device: str) -> dict[str, Any]:
    """Run steps of a loop as tutorials write it."""
    import torch

    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = optimizer_of(case, parameters)
    batches = itertools.cycle(batches_of(case, device))
    run = torch.compile(model) if case.get("compile") else model
    casting = case["precision"] == "bf16-autocast"

    def one() -> None:
        for _ in range(case.get("gradient_accumulation", 1)):
            with torch.autocast(device, torch.bfloat16, enabled=casting):
                loss = run(**next(batches)).loss
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    slowest = 0.0
    for _ in range(WARM):
        slowest = clock.run(one)
    clock.steps.clear()
    clock.host.clear()
    timed = TIMED if slowest < 0.5 else FEWER
    for _ in range(len(LENGTHS) if case.get("varied_lengths") else timed):
        clock.run(one)
    return profiled(one) if case.get("profile") and device == "cuda" else {}


def profiled(one: Any) -> dict[str, Any]:
    """Return the kernels of one step that take longest, in microseconds, with how often each ran."""
    from torch.profiler import ProfilerActivity, profile

    try:
        with profile(activities=[ProfilerActivity.CUDA]) as record:
            one()
        events = sorted(record.key_averages(), key=lambda event: -event.self_device_time_total)
        kernels = [[event.key[:110], round(event.self_device_time_total), event.count] for event in events[:40]]
        busy = sum(event.self_device_time_total for event in events)
        return {"device_busy_s": busy / 1e6, "kernels": kernels, "launches": sum(event.count for event in events)}
    except Exception as error:
        return {"profile_error": f"{type(error).__name__}: {error}"[:200]}


def trainer_loop(case: dict[str, Any], model: Any, clock: Clock, device: str) -> dict[str, Any]:
    """Run steps of Hugging Face's Trainer with its defaults."""
    import transformers

    batches = itertools.cycle(batches_of(case, "cpu"))
    steps = len(LENGTHS) if case.get("varied_lengths") else WARM + TIMED
    count = case["micro_batch"]
    rows = [{name: values[row] for name, values in batch.items()}
            for batch in itertools.islice(batches, steps) for row in range(count)]  # fmt: skip

    class Timing(transformers.TrainerCallback):  # type: ignore[misc]
        start = 0.0

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self.start = clock.now()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            clock.steps.append(clock.now() - self.start)

    with tempfile.TemporaryDirectory() as folder:
        options = transformers.TrainingArguments(
            output_dir=folder, per_device_train_batch_size=case["micro_batch"], max_steps=steps,
            train_sampling_strategy="sequential",
            bf16=case["precision"] == "bf16-autocast", gradient_checkpointing=case["checkpointing"] == "full",
            gradient_checkpointing_kwargs={"use_reentrant": False}, save_strategy="no", report_to=[],
            disable_tqdm=True, logging_strategy="no", use_cpu=device == "cpu",
        )  # fmt: skip
        trainer = transformers.Trainer(model, options, train_dataset=rows, callbacks=[Timing()])
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train()
    del clock.steps[:WARM]
    return {"optimizer": str(options.optim)}


def answered(case: dict[str, Any], model: Any, clock: Clock, device: str) -> dict[str, Any]:
    """Time the first token and each further one of transformers' generate."""
    import torch

    ids = torch.randint(0, config_of(case)["vocab_size"], (case["sequences"], case["prompt_tokens"]), device=device)
    mask = torch.ones_like(ids)
    model.generation_config.eos_token_id = None

    def ask(tokens: int) -> float:
        ways = {"max_new_tokens": tokens, "min_new_tokens": tokens, "do_sample": False, "pad_token_id": 0}
        return clock.run(lambda: model.generate(ids, attention_mask=mask, **ways))

    with torch.inference_mode():
        ask(2)
        if case.get("profile") and device == "cuda":
            return profiled(lambda: ask(9))
        first = min(ask(1) for _ in range(3))
        whole = min(ask(NEW_TOKENS + 1) for _ in range(2 if first < 1 else 1))
    return {"time_to_first_token_s": first, "time_per_output_token_s": (whole - first) / NEW_TOKENS}


def measured(case: dict[str, Any], device: str) -> dict[str, Any]:
    """Run one case and return what was seen."""
    import torch

    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    clock = Clock(device)
    model = built(case, device)
    found: dict[str, Any] = {"parameters": sum(parameter.numel() for parameter in model.parameters())}
    if device == "cuda":
        found["allocated_for_weights"] = torch.cuda.memory_allocated()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    if case["workload"] == "inference":
        found |= answered(case, model, clock, device)
    else:
        loop = trainer_loop if "framework" in case else plain_loop
        found |= loop(case, model, clock, device)
        found["step_s"] = statistics.median(clock.steps)
        found["steps_s"] = [round(value, 5) for value in clock.steps]
        if clock.host:
            found["host_s"] = statistics.median(clock.host)
    if device == "cuda":
        free, whole = torch.cuda.mem_get_info()
        found |= {
            "allocated_bytes": torch.cuda.max_memory_allocated(),
            "reserved_bytes": torch.cuda.max_memory_reserved(),
            "device_bytes": whole - free,
        }
    return found


def measure(cases: list[dict[str, Any]], device: str) -> None:
    """Run the cases one by one and print a line of each."""
    import torch
    import transformers

    began = time.perf_counter()
    about = {"torch": torch.__version__, "transformers": transformers.__version__, "date": time.strftime("%Y-%m-%d")}
    if device == "cuda":
        asked = "name,driver_version,power.limit,clocks.max.sm,memory.total"
        told = subprocess.run(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"], capture_output=True)
        about["device"] = told.stdout.decode().strip()
    print(json.dumps(about), flush=True)
    for case in cases:
        if time.perf_counter() - began > SECONDS:
            print(json.dumps({"case": named(case), "error": "no time left"}), flush=True)
            continue
        line: dict[str, Any] = {"case": named(case)}
        start = time.perf_counter()
        try:
            line |= measured(case, device)
        except Exception as error:
            line["error"] = f"{type(error).__name__}: {error}"[:400]
        line["took_s"] = round(time.perf_counter() - start, 1)
        gc.collect()
        print(json.dumps(line), flush=True)


def small(case: dict[str, Any]) -> dict[str, Any]:
    """Return a case that a processor runs in a moment, to see that all ways work."""
    sizes = {"micro_batch": 2, "sequence_tokens": 32, "sequences": 2, "prompt_tokens": 8}
    return {key: sizes.get(key, value) for key, value in case.items()}


def main() -> None:
    """Predict, measure, or try: one_device.py VERB LIST [ACCELERATORS]."""
    verb, which, *accelerators = (*sys.argv[1:], "cases")[:2] + tuple(sys.argv[3:])
    cases = LISTS[which]
    if which == "growing":
        os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
    if verb == "predict":
        predict(cases, accelerators)
    elif verb == "try":
        sizes = {"num_attention_heads": 4, "head_dim": 16, "num_key_value_heads": 2, "moe_intermediate_size": 32}
        sizes |= {"n_head": 4, "n_embd": 64, "n_layer": 2, "vocab_size": 512}
        sizes |= {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 3}
        for config in MODELS.values():
            config |= {name: value for name, value in sizes.items() if name in config}
        measure([small(case) for case in cases], "cpu")
    else:
        measure(cases, "cuda")


if __name__ == "__main__":
    main()
