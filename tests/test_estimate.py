"""The contract: what a scenario may say, what a report holds, and that a wrong scenario is refused by field."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calc
from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.scenario.fields import FIELDS
from macros.runtime import UNSHIPPED

GOOD = {"model": "llama-3.1-8b", "weights": "bf16", "context_tokens": 8192, "accelerator": "RTX 4090"}
ROOT = Path(calc.__file__).parent
WRONG: list[tuple[Any, str, str]] = [
    ({"model": None}, "model", "is missing"),
    ({"model": 5}, "model", "must be a catalogue id"),
    ({"model": "llama-3.1-8c"}, "model", 'did you mean "llama-3.1-8b"'),
    ({"model": {"config": {}}}, "model.config.model_type", "is missing"),
    ({"model": {"config": {"model_type": "unheard-of"}}}, "model.config.model_type", "is not modelled"),
    ({"model": {"config": 5}}, "model.config", "must be an object"),
    ({"modell": "x"}, "modell", 'did you mean "model"'),
    ({"weights": "bf61"}, "weights", "did you mean"),
    ({"weights": 16}, "weights", "must be a number format"),
    ({"weights": {"bits_per_weight": 0}}, "weights.bits_per_weight", "from 0.5 to 64"),
    ({"weights": {"bits_per_weight": True}}, "weights.bits_per_weight", "from 0.5 to 64"),
    ({"weights": {"format": "bf16", "group_size": 64}}, "weights.group_size", "has no groups"),
    ({"weights": {"format": "awq", "group_size": 1}}, "weights.group_size", "from 8"),
    ({"kv_cache": "awq"}, "kv_cache", "caches in awq are not modelled"),
    ({"kv_cache": 8}, "kv_cache", "must be a number format"),
    ({"kv_cache_v": "fp9"}, "kv_cache_v", "did you mean"),
    ({"accelerator": "RTX 4091"}, "accelerator", "did you mean"),
    ({"accelerator": 4090}, "accelerator", "must be a catalogue id"),
    ({"accelerators": 0}, "accelerators", "from 1"),
    ({"accelerators": 2, "parallelism": {"tensor": 4}}, "accelerators", "= 4"),
    ({"parallelism": 2}, "parallelism", "must be an object"),
    ({"parallelism": {"tensr": 2}}, "parallelism.tensr", 'did you mean "tensor"'),
    ({"parallelism": {"tensor": 3}}, "parallelism.tensor", "1, 2, 4, 8, 16, 32 do"),
    ({"parallelism": {"pipeline": 33}}, "parallelism.pipeline", "32 layers"),
    ({"parallelism": {"expert": 2}}, "parallelism.expert", "no experts"),
    ({"accelerators": 37}, "accelerators", "cannot be divided evenly over 37"),
    ({"sequences": 0}, "sequences", "from 1"),
    ({"sequences": "many"}, "sequences", "whole number"),
    ({"sequences": 1.5}, "sequences", "whole number"),
    ({"sequences": "max", "accelerator": None}, "sequences", "needs an accelerator"),
    ({"prompt_tokens": 100, "output_tokens": 100}, "context_tokens", "100 + 100 are not 8,192"),
    ({"prompt_tokens": 9000}, "prompt_tokens", "to 8,192"),
    ({"context_tokens": -1}, "context_tokens", "from 1"),
    ({"cached_tokens": -1}, "cached_tokens", "from 0"),
    ({"batched_tokens": 0}, "batched_tokens", "from 1"),
    ({"prompt_logits": "some"}, "prompt_logits", "last or all"),
    ({"workload": "tuning"}, "workload", "inference"),
    ({"workload": "serving"}, "workload", "must be inference or training"),
    ({"engine": "olama"}, "engine", "must be one of none, vllm"),
    ({"engine": "KTransformers"}, "engine", "llama.cpp with experts_on_host"),
    ({"memory_fraction": 0.9}, "memory_fraction", "takes no share"),
    ({"engine": "llama.cpp", "memory_fraction": 0.9}, "memory_fraction", "takes no share"),
    ({"engine": "vllm", "memory_fraction": 1.5}, "memory_fraction", "at most 1"),
    ({"engine": "vllm", "gpu_layers": 4}, "gpu_layers", "llama.cpp alone"),
    ({"engine": "llama.cpp", "gpu_layers": 99}, "gpu_layers", "from 0 to 32"),
    ({"attention": "flsh"}, "attention", "must be flash or eager"),
    ({"engine": "vllm", "attention": "sdpa"}, "attention", "must be flash, triton or eager"),
    ({"memory_fraction": 0.9}, "memory_fraction", "does not apply"),
]


@pytest.mark.parametrize(("change", "field", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_scenario_is_refused_by_field(change: dict[str, Any], field: str, message: str) -> None:
    """The error names the field by its path and says what is allowed."""
    with pytest.raises(ScenarioError) as caught:
        estimate(GOOD | change)
    assert caught.value.field == field
    assert message in caught.value.message


@pytest.mark.parametrize("scenario", [None, 5, "llama", [], ["model"]])
def test_a_scenario_that_is_no_object_is_refused(scenario: Any) -> None:
    """A scenario is an object."""
    with pytest.raises(ScenarioError):
        estimate(scenario)


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats()
    | st.text(max_size=12)
    | st.lists(st.integers(), max_size=2)
    | st.dictionaries(st.sampled_from(["tensor", "format", "config", "x"]), st.integers(-3, 9), max_size=2)
)


@given(changes=st.dictionaries(st.sampled_from([*FIELDS, "x"]), VALUES, max_size=4))
def test_any_scenario_gives_a_report_or_a_scenario_error(changes: dict[str, Any]) -> None:
    """Whatever is put in, nothing but a report that is JSON or a ScenarioError comes out."""
    try:
        report = estimate(GOOD | changes)
    except ScenarioError as error:
        assert error.message
        return
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_the_report_says_what_was_filled_in() -> None:
    """Defaults are named, and a scenario made of the report's own fields gives the same answer."""
    report = estimate({"model": "llama-3.1-8b"})
    assert "weights" in report["defaults"] and "model" not in report["defaults"]  # type: ignore[operator]
    again = estimate(report["scenario"])  # type: ignore[arg-type]
    assert again["memory"] == report["memory"]
    assert again["scenario"] == report["scenario"]


def test_a_pasted_config_gives_the_catalogue_s_answer() -> None:
    """A config.json in place of a name leads to the same memory."""
    from calc.catalog import catalog

    config = dict(catalog().model("llama-3.1-8b").config)
    named, pasted = estimate(GOOD), estimate(GOOD | {"model": {"config": config}})
    assert named["memory"] == pasted["memory"]


def test_weights_of_llama_3_1_8b_by_hand() -> None:
    """8,030,261,248 parameters of two bytes; 8,192 tokens of 128 KiB."""
    memory: Any = estimate(GOOD)["memory"]
    assert [part["bytes"] for part in memory["parts"][:2]] == [2 * 8_030_261_248, 8192 * 131_072]


def test_bits_per_weight_count_for_every_parameter() -> None:
    """4.5 bits a weight of 8,030,261,248 parameters."""
    memory: Any = estimate(GOOD | {"weights": {"bits_per_weight": 4.5}})["memory"]
    assert memory["parts"][0]["bytes"] == pytest.approx(8_030_261_248 * 4.5 / 8, abs=300)


def test_smaller_groups_cost_more() -> None:
    """AWQ in groups of 64 stores twice the scales of groups of 128."""
    usual: Any = estimate(GOOD | {"weights": "awq"})["memory"]
    finer: Any = estimate(GOOD | {"weights": {"format": "awq", "group_size": 64}})["memory"]
    quantized = 2 * 32 * 4096 * 4096 + 2 * 32 * 1024 * 4096 + 3 * 32 * 4096 * 14336
    assert finer["parts"][0]["bytes"] - usual["parts"][0]["bytes"] == quantized // 128 * 20 // 8


def test_warnings_name_their_field() -> None:
    """Beyond the trained length, without native hardware, over PCIe: each is said."""
    report: Any = estimate(
        GOOD | {"context_tokens": 200_000, "weights": "mxfp4", "accelerators": 2, "parallelism": {"tensor": 2}}
    )
    assert {(warning["code"], warning["field"]) for warning in report["warnings"]} == {
        ("context-beyond-trained", "context_tokens"),
        ("format-not-native", "weights"),
        ("tensor-over-pcie", "parallelism.tensor"),
    }


def test_calc_imports_the_standard_library_only_and_quickly() -> None:
    """A fresh interpreter imports calc without anything installed, and without the slow corners of the library."""
    code = "import sys, calc; print([m for m in ('dataclasses', 'inspect', 'tomllib', 'hashlib') if m in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT.parent)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "path",
    sorted(path for path in ROOT.rglob("*.py") if not set(UNSHIPPED) & set(path.parts)),
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_only_the_standard_library_is_imported(path: Path) -> None:
    """The page loads `calc` and nothing else."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom | ast.Import):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for name in names:
                assert name.split(".")[0] in {"calc", *sys.stdlib_module_names}


@pytest.mark.parametrize(
    "run", [{"accelerator": "RTX 3060"}, {"accelerator": "RTX 4090", "workload": "training", "precision": "bf16"}]
)
def test_without_repairs_everything_else_is_as_it_was(run: dict[str, Any]) -> None:
    """What would make it fit stands beside the numbers, and none of them has need of it."""
    asked = {"model": "qwen3-8b", **run}
    whole: Any = estimate(asked)
    assert whole["repairs"]
    assert estimate(asked, repairs=False) == {**whole, "repairs": []}


@pytest.mark.parametrize(
    "asked",
    [
        {"model": "llama-3.1-70b", "accelerator": "h100-sxm-80gb", "accelerators": 2, "engine": "vllm"},
        {
            "model": "llama-3.1-70b",
            "accelerator": "rtx-3090",
            "accelerators": 2,
            "engine": "llama.cpp",
            "weights": "q4_k_m",
        },
        {
            "workload": "training",
            "model": "llama-3.1-8b",
            "accelerator": "h100-sxm-80gb",
            "accelerators": 2,
            "method": "lora",
        },
    ],
)
def test_without_the_working_all_numbers_are_the_same(asked: dict[str, object]) -> None:
    """What is left out is how they came about, and on how few devices it would fit."""
    whole: Any = estimate(asked, repairs=False)
    bare: Any = estimate(asked, repairs=False, working=False)
    assert whole["steps"] and not bare["steps"] and not any(part["steps"] for part in bare["memory"]["parts"])
    parts = [{**part, "steps": []} for part in whole["memory"]["parts"]]
    kept = {name: value for name, value in whole["memory"].items() if not name.startswith("devices_needed")}
    assert bare == {**whole, "steps": [], "memory": {**kept, "parts": parts}}


@pytest.mark.parametrize("run", [{"sequences": 16}, {"sequences": "max", "engine": "vllm"}, {"engine": "none"}])
def test_without_speed_everything_else_is_as_it_was(run: dict[str, Any]) -> None:
    """Time, what follows from it and its working are left out; memory is what it was."""
    asked = {**GOOD, "engine": "llama.cpp", **run}
    whole: Any = estimate(asked)
    alone: Any = estimate(asked, speed=False)
    assert alone["speed"] is alone["cost"] is None
    assert (whole["speed"] is None) is (run.get("engine") == "none")
    assert alone["steps"] == whole["steps"][: len(alone["steps"])]
    assert alone["steps"][-1]["name"] == "Memory of the fullest device"
    assert alone["measured"].get("memory") == whole["measured"].get("memory")
    apart = dict.fromkeys(("speed", "cost", "steps", "measured"))
    assert {**alone, **apart} == {**whole, **apart}


def test_the_contract_page_names_every_field() -> None:
    """Every field of a scenario and of a report, and every warning, stands on the page that documents them."""
    page = (ROOT.parent / "docs/about/contract.md").read_text(encoding="utf-8")
    report: Any = estimate(GOOD)
    codes = re.findall(r'Warn\("([a-z-]+)"', (ROOT / "question_warnings.py").read_text(encoding="utf-8"))
    assert codes
    names = [*FIELDS, *report, *report["model"], *report["memory"], *(part["id"] for part in report["memory"]["parts"])]
    assert [name for name in [*names, *codes] if f"`{name}`" not in page and f".{name}`" not in page] == []


@pytest.mark.parametrize(
    ("scenario", "code", "said"),
    [
        ({"accelerator": "A100"}, "accelerator-ambiguous", "A100 SXM4 40GB"),
        ({"accelerator": "V100"}, "accelerator-ambiguous", "V100 SXM2 16GB"),
        ({"accelerator": "RTX 3080"}, "accelerator-ambiguous", "RTX 3080 12GB"),
        ({"model": {"config": {"model_type": "bert"}}}, "config-incomplete", "hidden_size"),
        ({"parallelism": {"data": 4}, "sequences": 2}, "ranks-idle", "2 sequences"),
        ({"accelerator": "GB10"}, "memory-shared", "a server's share beyond 0.83 may be refused"),
    ],
)
def test_what_is_chosen_for_a_reader_is_said(scenario: dict[str, Any], code: str, said: str) -> None:
    """An answer that rests on a choice names it."""
    report: Any = estimate({"model": "llama-3.1-8b", **scenario})
    assert said in next(warning["message"] for warning in report["warnings"] if warning["code"] == code)


def test_a_limit_below_what_is_free_is_no_risk() -> None:
    """Of a DGX Spark's memory 101 GiB are free after start: who takes 64 need not be told."""
    report: Any = estimate({"model": "llama-3.1-8b", "accelerator": "GB10", "memory_limit": "64 GiB"})
    (said,) = (warning["message"] for warning in report["warnings"] if warning["code"] == "memory-shared")
    assert "after start" not in said


def test_a_full_name_leaves_nothing_to_choose() -> None:
    """No warning where memory and form are in the name, or where a device is sold in one of each."""
    for name in ("A100 80GB PCIe", "NVIDIA A100-SXM4-40GB", "RTX 4090", "L4", "RTX 3080 Ti", "RTX 2060", "M1 Pro"):
        report: Any = estimate({"model": "llama-3.1-8b", "accelerator": name})
        assert "accelerator-ambiguous" not in [warning["code"] for warning in report["warnings"]]


@pytest.mark.parametrize(
    ("scenario", "field"),
    [({"weigths": None}, "weigths"), ({"weights": {"format": ["awq"], "group_size": 64}}, "weights.format")],
)
def test_nothing_wrong_is_overlooked(scenario: dict[str, Any], field: str) -> None:
    """A field without a value has a name all the same, and a list is no name."""
    with pytest.raises(ScenarioError) as caught:
        estimate({"model": "llama-3.1-8b", **scenario})
    assert caught.value.field == field


def test_an_unknown_device_names_each_candidate_once() -> None:
    """Id and name of one device are one suggestion."""
    with pytest.raises(ScenarioError) as caught:
        estimate({"model": "llama-3.1-8b", "accelerator": "H1000"})
    named = caught.value.message.split('"')[1::2]
    assert len({catalog().accelerator(name).id for name in named}) == len(named) > 0


def test_lengths_that_nobody_gives_are_no_longer_than_the_model() -> None:
    """GPT-2 has 1,024 places: with nothing said it is asked for those, and with lengths for what is said."""
    asked = {"model": "gpt2", "accelerator": "rtx-4090"}
    report = estimate(asked)
    assert report["scenario"]["prompt_tokens"] == 768 and report["scenario"]["output_tokens"] == 256
    assert "context-beyond-trained" not in {warning["code"] for warning in report["warnings"]}
    assert estimate({**asked, "prompt_tokens": 2048})["scenario"]["context_tokens"] == 2304


STRIX = {
    "model": "llama-2-7b",
    "weights": "q4_0",
    "engine": "llama.cpp",
    "accelerator": "ryzen-ai-max-395-128gb",
    "prompt_tokens": 512,
    "output_tokens": 128,
}


def test_a_back_end_decides_speed_alone() -> None:
    """On a Radeon 8060S Vulkan decodes faster than HIP, which is what nothing said means; both hold the same memory."""
    reports: Any = [estimate({**STRIX, **said}) for said in ({}, {"backend": "HIP"}, {"backend": "Vulkan"})]
    usual, hip, vulkan = reports
    assert [report["scenario"].get("backend") for report in (usual, hip, vulkan)] == [None, "rocm", "vulkan"]
    assert hip["speed"] == usual["speed"]
    assert vulkan["memory"] == usual["memory"]
    rates = [report["speed"]["decode_tokens_per_s"]["typical"] for report in (usual, vulkan)]
    assert rates[0] < rates[1]


@pytest.mark.parametrize("accelerator", ["RX 580", "RX Vega 56", "RX 5700 XT"])
def test_cards_without_rocm_take_the_kernels_of_vulkan(accelerator: str) -> None:
    """What is usual on a generation comes before what is usual of its maker, asked for or not."""
    asked = {**STRIX, "model": "llama-3.2-3b", "accelerator": accelerator}
    usual, hip, vulkan = (estimate({**asked, **said}) for said in ({}, {"backend": "HIP"}, {"backend": "Vulkan"}))
    assert usual["speed"] == vulkan["speed"] != hip["speed"]
    assert usual["memory"] == vulkan["memory"]


MI300X: dict[str, object] = {
    "model": "qwen3-30b-a3b",
    "weights": "fp8-block",
    "engine": "vllm",
    "accelerator": "mi300x",
    "sequences": 16,
    "prompt_tokens": 1024,
    "output_tokens": 256,
}


def decoding(said: dict[str, object]) -> float:
    """Return the tokens a second that vLLM writes on an MI300X."""
    report: Any = estimate({**MI300X, **said})
    rate: float = report["speed"]["decode_tokens_per_s"]["typical"]
    return rate


def test_vllm_takes_kernels_of_triton_on_cdna_unless_it_is_told() -> None:
    """Routed experts in blocks of FP8 are those that AITER has faster kernels for; of others nothing is known."""
    assert decoding({}) == decoding({"backend": "triton"}) < decoding({"backend": "aiter"})
    plain = {"weights": "bf16"}
    assert decoding(plain) == decoding({**plain, "backend": "aiter"})


def test_vllm_on_cdna_4_is_that_of_aiter() -> None:
    """What was measured there is of AITER's kernels: asking for them changes nothing, and for Triton's is refused."""
    newer = {"accelerator": "mi355x"}
    assert decoding(newer) == decoding({**newer, "backend": "aiter"})
    with pytest.raises(ScenarioError, match="can be aiter on Instinct MI355X"):
        decoding({**newer, "backend": "triton"})


def test_vllm_on_amd_came_to_v1_with_0_9_2() -> None:
    """Until then V0 ran there, whose host takes part in each step; on NVIDIA's devices V1 ran since 0.8."""
    versions: list[dict[str, object]] = [
        {"weights": "bf16", "engine_version": version} for version in ("0.9.1", "0.9.2")
    ]
    before, after = (decoding(said) for said in versions)
    assert before < after
    before, after = (decoding({**said, "accelerator": "h100-sxm-80gb"}) for said in versions)
    assert before == after


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"backend": "metal"}, "can be rocm, vulkan on Ryzen AI Max+ 395"),
        ({"backend": "vulkan", "accelerator": "m2-ultra-192gb"}, "can be metal on M2 Ultra"),
        ({"backend": "vulkan", "engine": "sglang"}, "of the engines llama.cpp, vLLM"),
        ({"backend": "aiter", "engine": "vllm"}, "cannot be chosen on Ryzen AI Max+ 395"),
        ({"backend": "vulkan", "accelerator": None}, "no accelerator is asked for"),
        ({"backend": 1}, "not 1"),
    ],
)
def test_a_back_end_that_cannot_be_is_refused(said: dict[str, object], message: str) -> None:
    """Each maker's devices have some, and few engines can take one or another."""
    scenario = {name: value for name, value in {**STRIX, **said}.items() if value is not None}
    with pytest.raises(ScenarioError) as caught:
        estimate(scenario)
    assert caught.value.field == "backend"
    assert message in caught.value.message


def test_experts_of_transformers_are_one_product_since_its_fifth_version() -> None:
    """Until then the host launched 128 experts of each layer one by one; a dense model is nearly as fast as before."""
    asked: Any = {"accelerator": "h200-sxm-141gb", "engine": "transformers", "context_tokens": 1024}

    def token_s(model: str, version: str) -> Any:
        speed: Any = estimate({**asked, "model": model, "engine_version": version})["speed"]
        return speed["time_per_output_token_s"]["typical"]

    assert token_s("qwen3-30b-a3b", "4.57") > 4 * token_s("qwen3-30b-a3b", "5.0")
    assert token_s("llama-3.1-8b", "5.0") == pytest.approx(token_s("llama-3.1-8b", "4.57"), rel=0.1)


@pytest.mark.parametrize(
    ("model", "tokens", "code"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", 32768, None),
        ("Qwen/Qwen2.5-7B-Instruct", 100_000, "positions-to-scale"),
        ("Qwen/Qwen2.5-72B-Instruct-AWQ", 100_000, "positions-to-scale"),
        ("Qwen/QwQ-32B", 100_000, "positions-to-scale"),
        ("Qwen/Qwen2.5-7B", 100_000, None),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", 100_000, None),
        ("CohereLabs/c4ai-command-r-v01", 100_000, None),
        ("llama-3.1-8b", 100_000, None),
        ("qwen2.5-7b", 200_000, "context-beyond-trained"),
    ],
)
def test_positions_that_have_to_be_scaled(model: str, tokens: int, code: str | None) -> None:
    """Qwen2.5's config has 32,768 positions and its card 131,072: vLLM does not start with more unless it is told."""
    for engine in ("vllm", "llama.cpp"):
        asked = {"model": model, "engine": engine, "accelerator": "h200-sxm-141gb", "context_tokens": tokens}
        report: Any = estimate({**asked, "weights": "fp8" if engine == "vllm" else "q4_k_m"})
        found = {warning["code"] for warning in report["warnings"]} & {"positions-to-scale", "context-beyond-trained"}
        assert found == ({code} if code else set())
        told = any("only if it is told" in known["message"] for known in report["runs_because"])
        assert told is (engine == "vllm" and code is not None)


def test_the_length_that_an_engine_takes_by_itself_is_the_config_s() -> None:
    """With nothing said vLLM makes room for 32,768 tokens of Qwen2.5 7B, which an RTX 4090 has, and not for 131,072."""
    report: Any = estimate({"model": "qwen2.5-7b", "engine": "vllm", "accelerator": "rtx-4090"})
    assert "own-length-too-long" not in {warning["code"] for warning in report["warnings"]}
