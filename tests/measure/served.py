"""Answers of vLLM on one device, beside what calc says of them.

    python -m tests.measure.served predict h100-sxm-80gb > predicted.jsonl    # needs calc alone
    python -m tests.measure.served measure > measured.jsonl    # needs vllm; a number behind it: begin with that case

Weights are random and of the shape that the catalogue's config says, and prompts are random token ids, no two alike:
nothing is downloaded, and no prefix is found in the cache. Engines are started as `vllm serve` starts them, with fewer
sizes of captured graphs, among them each that is asked for. One JSON line a point, with every case's points in a row;
past `SECONDS_IN_ALL` no further case is begun. Without FlashInfer set VLLM_USE_FLASHINFER_SAMPLER=0.
"""

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

SECONDS = float(os.environ.get("SECONDS_IN_ALL", "400"))
NEW_TOKENS, TIMES = 128, 2
GRAPHS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
# sequences and tokens of their prompts; the last of a closed loop
POINTS = [(1, 512), (8, 512), (32, 512), (128, 512), (1, 8192), (8, 8192)]
LOOP = {"concurrency": 64, "prompt_tokens": 1024, "requests": 192}

CASES: list[dict[str, Any]] = [
    {"model": "qwen3-0.6b"},
    {"model": "llama-3.1-8b"},
    {"model": "qwen3-30b-a3b"},
    {"model": "gpt-oss-20b"},
    {"model": "llama-3.1-8b", "weights": "fp8"},
    {"model": "deepseek-v2-lite", "config": {"topk_group": 1}},
    {"model": "granite-4.0-h-tiny"},
    {"model": "qwen3-next-80b-a3b", "config": {"num_hidden_layers": 16}},
    {"model": "qwen3-8b", "weights": "awq"},
]
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}


def config_of(case: dict[str, Any]) -> dict[str, Any]:
    """Return the config of a case's model, of its text where it has more."""
    from calc.catalog import catalog

    config = dict(catalog().model(case["model"]).config)
    return {**config, **case.get("config", {})}


def scenarios(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the points of a case in the contract's fields."""
    base = {"workload": "inference", "engine": "vllm", "output_tokens": NEW_TOKENS}
    base["model"] = {"config": config_of(case)} if "config" in case else case["model"]
    if "weights" in case:
        base["weights"] = {"awq": "AWQ"}.get(case["weights"], case["weights"])
    for sequences, prompt in POINTS:
        yield {**base, "sequences": sequences, "prompt_tokens": prompt}
    yield {**base, "concurrency": LOOP["concurrency"], "prompt_tokens": LOOP["prompt_tokens"]}


def predict(accelerator: str) -> None:
    """Print what calc says of every point."""
    from calc import estimate

    for case in CASES:
        for scenario in scenarios(case):
            line: dict[str, Any] = {"case": case, **{k: v for k, v in scenario.items() if k != "model"}}
            try:
                line["speed"] = estimate({**scenario, "accelerator": accelerator})["speed"]
            except Exception as error:
                line["error"] = f"{type(error).__name__}: {error}"[:300]
            print(json.dumps(line), flush=True)


def prompts(count: int, tokens: int, vocabulary: int) -> list[dict[str, list[int]]]:
    """Return prompts of random token ids."""
    return [{"prompt_token_ids": [random.randrange(10, vocabulary) for _ in range(tokens)]} for _ in range(count)]


def started(case: dict[str, Any], folder: str) -> Any:
    """Return vLLM's engine with a case's model."""
    from vllm import LLM

    config = config_of(case)
    if case.get("weights") == "awq":
        config["quantization_config"] = AWQ
    with open(f"{folder}/config.json", "w") as file:
        json.dump(config, file)
    ways: dict[str, Any] = {"quantization": "fp8"} if case.get("weights") == "fp8" else {}
    return LLM(
        folder, load_format="dummy", skip_tokenizer_init=True, max_model_len=9216, max_num_seqs=256,
        compilation_config={"cudagraph_capture_sizes": GRAPHS}, **ways,
    )  # fmt: skip


def measure(begin: int) -> None:
    """Run every case from one on and print what was seen of each point."""
    begun = time.perf_counter()
    for case in CASES[begin:]:
        if time.perf_counter() - begun > SECONDS:
            break
        try:
            with tempfile.TemporaryDirectory() as folder:
                run(case, folder)
        except Exception as error:
            say(case, error=f"{type(error).__name__}: {error}"[:500])


def run(case: dict[str, Any], folder: str) -> None:
    """Start an engine, time every point of a case, and stop it."""
    start = time.perf_counter()
    engine = started(case, folder)
    say(case, start_s=time.perf_counter() - start)
    vocabulary = config_of(case)["vocab_size"]
    for count in (1, 64):
        seconds(engine, prompts(count, 512, vocabulary), 8)
    for count, tokens in POINTS:
        first, whole = (
            min(seconds(engine, prompts(count, tokens, vocabulary), new) for _ in range(TIMES))
            for new in (1, NEW_TOKENS)
        )
        each = (whole - first) / (NEW_TOKENS - 1)
        say(case, sequences=count, prompt_tokens=tokens, first_s=first, per_token_s=each, whole_s=whole)
    loop(case, engine, prompts(LOOP["requests"], LOOP["prompt_tokens"], vocabulary))
    engine.llm_engine.engine_core.shutdown()


def ways(new: int) -> Any:
    """Return how answers are sampled: by chance, as random weights would repeat one token, and its experts, for ever.

    The rows of 2026-11-26 were taken without chance.
    """
    from vllm import SamplingParams

    return SamplingParams(temperature=1.0, max_tokens=new, ignore_eos=True, detokenize=False)


def seconds(engine: Any, asked: list[dict[str, list[int]]], new: int) -> float:
    """Return the seconds until all prompts that come at once have a number of new tokens."""
    at = time.perf_counter()
    engine.generate(asked, ways(new), use_tqdm=False)
    return time.perf_counter() - at


def loop(case: dict[str, Any], engine: Any, waiting: list[dict[str, list[int]]]) -> None:
    """Time requests of which a fixed number is there at a time, by holding further ones back."""
    asked, done, begun = 0, 0, time.perf_counter()
    core = engine.llm_engine
    while done < LOOP["requests"]:
        while waiting and asked - done < LOOP["concurrency"]:
            core.add_request(str(asked), waiting.pop(), ways(NEW_TOKENS))
            asked += 1
        done += sum(output.finished for output in core.step())
    took = time.perf_counter() - begun
    say(case, **LOOP, took_s=took, output_tokens_per_s=LOOP["requests"] * NEW_TOKENS / took)


def say(case: dict[str, Any], **seen: Any) -> None:
    """Print one line."""
    print(json.dumps({"case": case, **seen}), flush=True)


if __name__ == "__main__":
    predict(sys.argv[2]) if sys.argv[1] == "predict" else measure(int((sys.argv[2:] or ["0"])[0]))
