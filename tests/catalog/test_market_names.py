"""Market names of accelerators as people write them: what they lead to, and what is said about it."""

from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.catalog import catalog


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("NVIDIA H100 80GB (79.18 GiB)", "h100-sxm-80gb"),
        ("H100 94-96GB HBM2e SXM (low TDP)", "h100-sxm-96gb"),
        ("H100 94GB", "h100-nvl-94gb"),
        ("NVIDIA A100-SXM-80G", "a100-sxm-80gb"),
        ("a100-80-pcie", "a100-pcie-80gb"),
        ("A100 (size not stated)", "a100-sxm-80gb"),
        ("A100 (DGX-A100 40GB, Jan 2021)", "a100-sxm-40gb"),
        ("V100 32GB (DGX-2)", "v100-sxm-32gb"),
        ("M2 Ultra 76‑Core GPU 192GB", "m2-ultra-192gb"),
        ("Apple M1 Max (32-core GPU)", "m1-max-64gb"),
        ("Intel(R) Arc(TM) Pro B60 Graphics", "arc-pro-b60-24gb"),
        ("Radeon 8060S Graphics", "ryzen-ai-max-395-128gb"),
        ("AMD Instinct MI325 OAM", "mi325x"),
        ("GH200 96GB HBM3", "gh200-96gb"),
        ("NVIDIA RTX 3060-12G", "rtx-3060-12gb"),
        ("7900xtx", "rx-7900-xtx"),  # and not 7,900 of something
        ("radeon 9070 xt", "rx-9070-xt"),
        ("RTX PRO 6000 Blackwell Max-Q", "rtx-pro-6000-max-q"),
        ("RTX PRO 6000 Blackwell Workstation", "rtx-pro-6000-blackwell"),
        ("NVIDIA L40S 48GB PCIe", "l40s-48gb"),
        ("MI300X OAM", "mi300x"),
        ("1x NVIDIA GeForce RTX 3070", "rtx-3070"),
        ("Tesla T4 16GB GDDR6", "t4-16gb"),
        ("Framework Desktop 64GB", "ryzen-ai-max-395-64gb"),
        ("GMKtec EVO-X2", "ryzen-ai-max-395-128gb"),
        ("HP ZBook Ultra G1a 128GB", "ryzen-ai-max-395-128gb"),
        ("ASUS Ascent GX10", "gb10"),
        ("Dell Pro Max with GB10", "gb10"),
        ("DGX Station GB300", "gb300-desktop-252gb"),
        ("Apple M5 Max 36GB", "m5-max-36gb"),
    ],
)
def test_a_name_as_people_write_it_leads_to_a_device(name: str, found: str) -> None:
    """Counts, remarks, kinds of memory and watts stand beside a name; forms and sizes are part of it."""
    assert catalog().accelerator(name).id == found


@pytest.mark.parametrize(
    ("name", "entry_id", "gib", "bandwidth"),
    [
        ("M2 Max 32GB", "m2-max-32gb", 64 / 3, 400e9),
        ("MacBook Pro M5 Pro 48GB", "m5-pro-48gb", 36, 307e9),
        ("Mac mini M4 16GB", "m4-16gb", 32 / 3, 120e9),
        ("MacBook Pro M3 Max 36 GB", "m3-max-36gb", 27, 300e9),
        ("MacBook Pro M3 Max 48 GB", "m3-max-48gb", 36, 400e9),
    ],
)
def test_chips_are_sold_with_other_memory(name: str, entry_id: str, gib: float, bandwidth: float) -> None:
    """A Mac is found by its memory, and by the id that the answer names; programs get their share of that memory."""
    for asked in (name, entry_id):
        found = catalog().accelerator(asked)
        assert found.id == entry_id and found.quantity("bandwidth") == bandwidth
        assert found.capacity_bytes / 2**30 == pytest.approx(gib, rel=1e-4)
    report: Any = estimate({"model": "llama-3.1-8b", "accelerator": name, "engine": "usual"})
    assert report["scenario"]["accelerator"] == entry_id


def test_a_size_that_is_not_sold() -> None:
    """A chip is not made up."""
    with pytest.raises(ScenarioError, match="not in the catalogue with that memory"):
        catalog().accelerator("M2 Max 40GB")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("RTX 4090 32GB", "it has GeForce RTX 4090"),
        ("H100 40GB", "it has H100 SXM5 80GB, H100 PCIe 80GB"),
        ("RTX 3090 Laptop", "did you mean"),
        ("Jetson Xavier", "did you mean"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "is not in the catalogue"),
        ("NVIDIA CUDA GPU", "is not in the catalogue"),
        ("()", "is not in the catalogue"),
        ("2x", "is not in the catalogue"),
        ("p6-b300.48xlarge", "is a machine with 8 × B300 SXM 288GB"),
        ("Azure ND_GB300_v6", "is a machine with 4 × GB300 288GB"),
        ("Groq", "is known by its maker's claim alone: decodes models of a trillion"),
    ],
)
def test_another_device_is_not_guessed(name: str, said: str) -> None:
    """A word or a size that no entry has is refused, with what there is."""
    with pytest.raises(ScenarioError) as caught:
        catalog().accelerator(name)
    assert said in caught.value.message


@pytest.mark.parametrize("workload", ["inference", "training"])
@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("H100 80GB", "accelerator-ambiguous", "H100 PCIe 80GB: H100 SXM5 80GB is taken"),
        ("A100 (size not stated)", "accelerator-ambiguous", "A100 SXM4 40GB"),
        ("M1 Max 24-core GPU 64GB", "accelerator-cores", "has 24 GPU cores; M1 Max 64GB is computed with 32"),
    ],
)
def test_what_a_name_leaves_open_is_said(workload: str, name: str, code: str, said: str) -> None:
    """One device is taken, and the warning says which others the name fits."""
    report: Any = estimate({"workload": workload, "model": "qwen2.5-0.5b", "accelerator": name})
    assert said in next(warning["message"] for warning in report["warnings"] if warning["code"] == code)


def test_a_count_before_the_name_is_the_number_of_devices() -> None:
    """The fields say it where they are given, and a contradiction is a warning."""
    scenario = {"model": "qwen2.5-0.5b", "accelerator": "2x RTX 3090"}
    report: Any = estimate(scenario)
    assert report["scenario"]["accelerators"] == 2
    assert "accelerator-count" not in {warning["code"] for warning in report["warnings"]}
    report = estimate({**scenario, "workload": "training"})
    assert report["scenario"]["parallelism"]["data"] == 2
    report = estimate({**scenario, "accelerators": 1})
    assert report["scenario"]["accelerators"] == 1
    assert "names 2" in next(w["message"] for w in report["warnings"] if w["code"] == "accelerator-count")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("NousResearch/Meta-Llama-3-8B", "llama-3-8b"),
        ("hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4", "llama-3.1-8b"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic", "llama-3.1-8b"),
        ("unsloth/Meta-Llama-3.1-8B-bnb-4bit", "llama-3.1-8b"),
        ("bartowski/Qwen2.5-7B-Instruct-GGUF", "qwen2.5-7b"),
        ("someone/Meta-Llama-3.1-70B-Instruct-quantized.w4a16", "llama-3.1-70b"),
        ("mobiuslabsgmbh/faster-whisper-large-v3-turbo", "whisper-large-v3-turbo"),  # of fewer layers than large-v3
        ("meta-llama/llama-3-2-1b-instruct", "llama-3.2-1b"),
        ("us.meta.llama3-3-70b-instruct-v1:0", "llama-3.3-70b"),
        ("accounts/fireworks/models/llama-v3p1-405b-instruct", "llama-3.1-405b"),
        ("accounts/fireworks/models/qwen2p5-0p5b-instruct", "qwen2.5-0.5b"),
        ("system.ai.deepseek-v4-flash-0731", "deepseek-v4-flash"),
    ],
)
@pytest.mark.parametrize("workload", ["inference", "training"])
def test_a_copy_of_a_repository_is_the_model_of_that_name(workload: str, name: str, found: str) -> None:
    """The owner and words of conversion are left out, and a warning says so."""
    report: Any = estimate({"workload": workload, "model": name})
    assert report["model"]["id"] == found
    assert "model-copied" in {warning["code"] for warning in report["warnings"]}
    listed: Any = estimate({"workload": workload, "model": "meta-llama/Llama-3.1-8B-Instruct"})
    assert "model-copied" not in {warning["code"] for warning in listed["warnings"]}


@pytest.mark.parametrize(
    "name",
    [
        "someone/Llama-9-8B",
        "someone/",
        "someone/-AWQ",
        "/",
        "openbmb/MiniCPM-2B-sft-bf16",  # no MiniCPM5
        "openbmb/MiniCPM-V",  # the first, not the last
        "zai-org/GLM-Air",  # says no version
        "kyutai/helium-1-2b",  # not the preview
        "TencentARC/LLaMA-Pro-8B",  # no Hermes 2 Pro
        "microsoft/Phi-4-mini-flash-reasoning",
        "CohereLabs/command-b-plus-05-2026-bf16",
        "mmaaz60/LLaVA-7B-Lightening-v1-1",  # not what Ollama has as llava:7b
    ],
)
def test_an_unknown_repository_is_refused(name: str) -> None:
    """What is left of the name has to be a known model's, and its words all that the model's own name has."""
    with pytest.raises(ScenarioError):
        catalog().model(name)
