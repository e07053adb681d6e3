"""Outputs that people published are read as they stand, and what is none of them is refused."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.measured_output.names import described_model, device_fields, file_type, model_fields
from calc.measured_output.reader import KINDS, read_output
from calc.measured_run.terms import TERMS

FOLDER = Path(__file__).parent.parent / "data" / "measured_outputs"
INDEX: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "index.toml").read_text(encoding="utf-8"))


def pasted(name: str) -> str:
    """Return a published output."""
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_every_output_is_indexed() -> None:
    """Each kind of output has published examples, and each example says where it was published."""
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(INDEX)
    assert all(entry["source"].startswith("https://") for entry in INDEX.values())
    kinds = {read_output(pasted(name), catalog()).what for name in INDEX}
    assert kinds == {kind.WHAT for kind in KINDS}


@pytest.mark.parametrize("name", INDEX)
def test_a_published_output(name: str) -> None:
    """All that an output says of the run and of what was measured is read, and nothing that it does not say."""
    found, entry = read_output(pasted(name), catalog()), INDEX[name]
    assert found.fields == entry["fields"]
    assert found.terms == pytest.approx(entry["terms"], rel=1e-3)
    assert set(found.terms) <= set(TERMS)
    assert entry.get("notes", "") in " ".join(found.notes)


def test_several_outputs_add_up() -> None:
    """A benchmark with the driver's table beside it has the speeds of the one and the memory of the other."""
    found = read_output(pasted("nvidia-smi-rtx-3090") + pasted("llama-server-slot"), catalog())
    assert {"device_bytes", "prefill_tokens_per_s", "decode_tokens_per_s"} == set(found.terms)
    assert found.fields["accelerator"] == "rtx-3090" and found.fields["engine"] == "llama.cpp"


def test_an_array_of_llama_bench() -> None:
    """`-o json` says the same as the table; a test of prompt and answer together is left out."""
    common = {"model_type": "llama 8B Q4_K - Medium", "model_size": 4912898304, "model_n_params": 8030261312}
    common |= {"n_gpu_layers": 20, "flash_attn": True, "type_k": "q8_0", "gpu_info": "NVIDIA GeForce RTX 3090"}
    tests = [(512, 0, 0, 4000.0), (0, 128, 0, 130.0), (512, 128, 0, 700.0), (0, 128, 4096, 110.0)]
    entries = [common | {"n_prompt": p, "n_gen": n, "n_depth": d, "avg_ts": rate} for p, n, d, rate in tests]
    found = read_output(json.dumps(entries), catalog())
    assert found.terms == {"prefill_tokens_per_s": 4000.0, "decode_tokens_per_s": 130.0, "file_bytes": 4912898304.0}
    expected = {"model": "llama-3.1-8b", "weights": "q4_k_m", "accelerator": "rtx-3090", "gpu_layers": 20}
    assert found.fields.items() >= (expected | {"kv_cache": "q8_0", "attention": "flash"}).items()


def test_the_fullest_of_busy_devices_counts() -> None:
    """Idle devices are left out, and the program that holds the memory says which engine it is."""
    lines = "NVIDIA L4, 100 MiB, 23034 MiB\nNVIDIA L4, 20000 MiB, 23034 MiB\nNVIDIA L4, 21000 MiB, 23034 MiB\n"
    process = "|    1   N/A  N/A           4321      C   VLLM::EngineCore                      20990MiB |\n"
    found = read_output(lines + process, catalog())
    assert found.fields == {"accelerator": "l4-24gb", "accelerators": 2, "engine": "vllm"}
    assert found.terms == {"device_bytes": 21000 * 2**20}
    assert "1 of 3 devices" in found.notes[0]


def test_settings_of_vllm_are_read_however_they_are_written() -> None:
    """As flags, as arguments of Python, and as the log repeats them."""
    took = "Model loading took 10.0 GiB\n"
    for text in (
        "vllm serve Qwen/Qwen3-8B-AWQ --tensor-parallel-size 2 --max-num-seqs 16 --gpu-memory-utilization 0.85\n",
        "engine (v0.10.2) with config: model='Qwen/Qwen3-8B-AWQ', tensor_parallel_size=2, max_num_seqs=16, "
        "gpu_memory_utilization=0.85\n",
        "{'model': 'Qwen/Qwen3-8B-AWQ', 'tensor_parallel_size': 2, 'max_num_seqs': 16, 'gpu_memory_utilization': 0.85}",
    ):
        fields = read_output(took + text, catalog()).fields
        asked = {"model": "qwen3-8b", "weights": "awq", "accelerators": 2, "division": "tensor"}
        assert fields.items() >= (asked | {"sequence_slots": 16, "memory_fraction": 0.85}).items(), text


def test_a_variant_is_read_as_itself() -> None:
    """A finetune for longer texts that a server was given is asked as that, and not as its model."""
    assert model_fields("/models/Yi-9B-200K-AWQ", catalog())[0] == {"model": "01-ai/Yi-9B-200K", "weights": "awq"}


def test_what_the_catalogue_does_not_have_is_said() -> None:
    """A model or a device without an entry is left to the reader, by name."""
    assert "no model by the name of Unheard-Of-7B" in model_fields("/data/Unheard-Of-7B/", catalog())[1][0]
    assert "no device by the name of Voodoo 5" in device_fields(["Voodoo 5"], catalog())[1][0]
    assert described_model("unheard", 7e9, catalog())[0] == {}
    assert described_model("llama", 7.77e11, catalog())[0] == {}


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Q4_K - Medium", "q4_k_m"),
        ("llama 8B Q5_K - Small", "q5_k_s"),
        ("IQ4_XS - 4.25 bpw", "iq4_xs"),
        ("gpt-oss 20B MXFP4 MoE", "mxfp4_moe"),
        ("llama 7B F16", "f16"),
        ("qwen2 7B Q8_0", "q8_0"),
        ("llama 7B mostly", None),
    ],
)
def test_file_types_of_llama_cpp(words: str, name: str | None) -> None:
    """llama.cpp's words for a file's type lead to the mixture."""
    assert file_type(words, catalog()) == name


def test_other_text_is_refused() -> None:
    """The error names every kind of output that is read; a text of megabytes is refused unread."""
    with pytest.raises(ScenarioError) as error:
        read_output("Epoch 3: loss 1.87, 412 samples/s", catalog())
    assert all(kind.WHAT in error.value.message for kind in KINDS)
    with pytest.raises(ScenarioError, match="paste the last part"):
        read_output("x" * 2_000_001, catalog())


@given(text=st.sampled_from(sorted(INDEX)), cut=st.integers(0, 3000), end=st.integers(0, 3000))
def test_a_text_cut_anywhere_breaks_nothing(text: str, cut: int, end: int) -> None:
    """Any part of an output is read as far as it goes, or refused."""
    part = pasted(text)[cut : cut + end]
    try:
        found = read_output(part, catalog())
    except ScenarioError:
        return
    assert all(value > 0 for value in found.terms.values())


def test_a_test_longer_than_is_gone_through_goes_on() -> None:
    """Of more than ten thousand requests so many at a time are kept in the server; all at once they are refused."""
    plain = pasted("sglang-bench-gpt-oss").replace(
        "requests:                     20 ", "requests:                     20000 "
    )
    found = read_output(plain, catalog())
    assert "requests" not in found.fields and found.fields["concurrency"] == 4
    at_once = pasted("vllm-bench-8b").replace(
        "Successful requests:                     1000", "Successful requests: 20000"
    )
    with pytest.raises(ScenarioError, match="10,000 requests at once"):
        read_output(at_once, catalog())
