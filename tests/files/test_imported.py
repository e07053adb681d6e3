"""Models that readers bring: files become the model of a scenario, with the keys it needs and the bytes it has."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import ScenarioError
from calc.architecture.config import Config
from calc.architecture.families import left_out, read_config
from calc.catalog import catalog
from calc.files.config_json import needed
from calc.files.head import FIRST_BYTES
from calc.files.imported import BroughtFile, ImportedModel, NeedMoreOfFiles, read_model_files
from calc.files.tensors import place_of
from tests.files.build import LLAMA, gguf, llama_tensors, safetensors, tokenizer

LLAMA_CONFIG: dict[str, object] = {
    "model_type": "llama",
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
}
ROTARY = {"rope_scaling": {"rope_type": "llama3"}}  # as a file with rope_freqs.weight has it
WHOLE = [("model.embed_tokens.weight", (128256, 4096), "BF16"), ("model.norm.weight", (4096,), "BF16")]


def pack(value: object) -> tuple[bytes, int]:
    """Return a JSON file and its size."""
    content = json.dumps(value).encode()
    return content, len(content)


def data_of(header: bytes, size: int) -> bytes:
    """Return a header with the first of the data behind it, which are zero."""
    return header + bytes(max(min(FIRST_BYTES, size) - len(header), 0))


def bring(**files: tuple[bytes, int]) -> ImportedModel:
    """Return the model of files, each given as its header and the size of the whole; `__` stands for a hyphen."""
    reads = [0] * len(files)
    while True:
        brought = [
            BroughtFile(
                name.replace("__", "-").replace("_json", ".json").replace("_safetensors", ".safetensors"),
                size,
                data_of(header, size)[:read],
            )
            for (name, (header, size)), read in zip(files.items(), reads, strict=True)
        ]
        try:
            return read_model_files(brought)
        except NeedMoreOfFiles as more:
            for before, (_, size), now in zip(reads, files.values(), more.wanted_bytes, strict=True):
                assert before <= now <= size
            assert reads != more.wanted_bytes
            reads = more.wanted_bytes


def refusal(**files: tuple[bytes, int]) -> str:
    """Return what is said of files that cannot be used."""
    with pytest.raises(ScenarioError) as error:
        bring(**files)
    assert error.value.field == "file"
    return error.value.message


def shards(count: int) -> list[tuple[bytes, int]]:
    """Return Llama 3.1 8B in BF16 in `count` safetensors files, under the names of transformers."""
    tensors: list[tuple[str, tuple[int, ...], str]] = [*WHOLE, ("lm_head.weight", (128256, 4096), "BF16")]
    for i in range(32):
        layer = f"model.layers.{i}."
        tensors += [(f"{layer}self_attn.{x}_proj.weight", (4096, 4096), "BF16") for x in "qo"]
        tensors += [(f"{layer}self_attn.{x}_proj.weight", (1024, 4096), "BF16") for x in "kv"]
        tensors += [(f"{layer}mlp.{x}_proj.weight", (14336, 4096), "BF16") for x in ("gate", "up")]
        tensors += [(f"{layer}mlp.down_proj.weight", (4096, 14336), "BF16")]
        tensors += [(f"{layer}{x}_layernorm.weight", (4096,), "BF16") for x in ("input", "post_attention")]
    return [safetensors(tensors[i::count], format="pt") for i in range(count)]


def test_a_gguf_file_says_all() -> None:
    """The config follows from its metadata, the bytes from its tensors."""
    model, sentence = bring(x_gguf=gguf({**LLAMA, **tokenizer(1000)}, llama_tensors()))
    assert model["config"] == LLAMA_CONFIG | ROTARY
    assert model["name"] == "Meta Llama 3.1 8B Instruct"
    table = 128256 * 4096 * 34 // 32
    layers = 32 * ((2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336) * 34 // 32 + 2 * 4096 * 4)
    assert model["stored_bytes"] == {"embeddings": table + 64 * 4, "layers": layers, "head": table + 4096 * 4}
    assert sentence == (
        "Read x_gguf: llama, 8,030,261,248 parameters. Its tensors have 8.533 GB (Q8_0 8.532 GB, F32 1.065 MB)."
    )


def test_a_tied_model_has_no_output_matrix() -> None:
    """A GGUF file without output.weight uses its embedding again; one with biases has them."""
    tensors = [tensor for tensor in llama_tensors() if tensor[0] != "output.weight"]
    config = bring(x=gguf(LLAMA, tensors)).model["config"]
    assert config == LLAMA_CONFIG | ROTARY | {"tie_word_embeddings": True}
    biases = [(f"blk.{i}.attn_{x}.bias", (size,), "F32") for i in range(32) for x, size in (("q", 4096), ("k", 1024))]
    config = bring(x=gguf(LLAMA, [*llama_tensors(), *biases])).model["config"]
    assert config == LLAMA_CONFIG | ROTARY | {"attention_bias": True}


def test_parts_of_a_gguf_are_added_up() -> None:
    """Only the first part has the metadata; the order in which parts are brought does not matter."""
    tensors = llama_tensors()
    first = gguf({**LLAMA, "split.no": 0, "split.count": 2}, tensors[:100])
    second = gguf({"split.no": 1, "split.count": 2}, tensors[100:])
    whole = bring(x=gguf(LLAMA, tensors)).model
    assert bring(b=second, a=first).model == whole == bring(a=first, b=second).model
    assert refusal(a=first) == "a is part 1 of 2: bring all parts together; missing are 2"
    assert "several models" in refusal(a=first, b=first)
    assert "several models" in refusal(a=gguf(LLAMA, tensors), b=gguf(LLAMA, tensors))


def test_what_is_no_model_is_refused_by_name() -> None:
    """An architecture that is not known, a projector, an adapter, a file without architecture."""
    known = refusal(x=gguf({**LLAMA, "general.architecture": "llama9"}, llama_tensors()))
    assert known.startswith(
        "x holds a model of the architecture 'llama9', which is not modelled; did you mean \"llama\""
    )
    assert "sees or hears" in refusal(x=gguf({"general.architecture": "clip"}))
    assert "adapter" in refusal(x=gguf({"general.architecture": "llama", "general.type": "adapter"}))
    assert "does not say which architecture" in refusal(x=gguf({}))
    assert "layers differ" in refusal(x=gguf({**LLAMA, "llama.feed_forward_length": [1] + [2] * 31}, llama_tensors()))
    assert "block_count" not in refusal(x=gguf({"general.architecture": "llama"}))
    assert "hidden_size" in refusal(x=gguf({"general.architecture": "llama", "llama.block_count": 2}))


def test_metadata_that_describe_another_model_are_refused() -> None:
    """Parameters of the config and elements of the tensors must agree: nothing is estimated as what it is not."""
    message = refusal(x=gguf({**LLAMA, "llama.feed_forward_length": 8192}, llama_tensors()))
    assert message.startswith("x is not modelled: its tensors have 8,030,261,312 elements, and its metadata describe")


def test_a_gguf_of_an_unknown_architecture_with_its_config() -> None:
    """A config.json beside the file is taken in place of the metadata."""
    file = gguf({**LLAMA, "general.architecture": "llama9"}, llama_tensors())
    model, _ = bring(x=file, config_json=pack(LLAMA_CONFIG))
    assert model["config"] == LLAMA_CONFIG and "stored_bytes" in model


@pytest.mark.parametrize("count", [1, 4])
def test_safetensors_with_their_config(count: int) -> None:
    """All shards together have 2 bytes for each parameter."""
    parts = {f"model__{i + 1:05}__of__{count:05}_safetensors": part for i, part in enumerate(shards(count))}
    model, sentence = bring(config_json=pack(LLAMA_CONFIG), **parts)
    assert model["config"] == LLAMA_CONFIG
    assert sum(model["stored_bytes"].values()) == 2 * 8_030_261_248  # type: ignore[attr-defined]
    assert "BF16 16.06 GB" in sentence


def test_what_is_missing_is_asked_for() -> None:
    """Shards that are not there, and the config that safetensors do not hold."""
    parts = [
        BroughtFile(f"model-0000{i}-of-00003.safetensors", size, data_of(header, size))
        for i, (header, size) in numbered(3)
    ]
    config, size = pack(LLAMA_CONFIG)
    with pytest.raises(ScenarioError, match=r"Parts are missing: bring all parts together; missing are 2"):
        read_model_files([parts[0], parts[2], BroughtFile("config.json", size, config)])
    with pytest.raises(ScenarioError, match=r"is part 2 of 3: .* missing are 1, 3"):
        read_model_files([parts[1]])
    with pytest.raises(ScenarioError, match=r"holds 291 tensors of 16.06 GB.* bring the model's config.json together"):
        read_model_files([BroughtFile("model.safetensors", size, data_of(header, size)) for header, size in shards(1)])
    with pytest.raises(ScenarioError, match="several models"):
        read_model_files([BroughtFile("config.json", size, config)] * 2)


def numbered(count: int) -> list[tuple[int, tuple[bytes, int]]]:
    """Return shards with their numbers."""
    return list(enumerate(shards(count), 1))


def test_an_index_stands_in_for_the_files() -> None:
    """Its total is divided as the parameters are; alone it asks for the config."""
    index = pack({"metadata": {"total_size": 16_060_522_496}, "weight_map": {"a": "m-00001-of-00002.safetensors"}})
    model, _ = bring(config_json=pack(LLAMA_CONFIG), index_json=index)
    table = 2 * 128256 * 4096
    assert model["stored_bytes"] == {
        "embeddings": table,
        "layers": 16_060_522_496 - 2 * table - 8192,
        "head": table + 8192,
    }
    assert "lists 1 tensors of 16.06 GB in 1 files: bring the model's config.json" in refusal(index_json=index)
    small = pack({"metadata": {"total_size": 1000}, "weight_map": {}})
    assert "they are of two models" in refusal(config_json=pack(LLAMA_CONFIG), index_json=small)


def test_a_config_needs_few_of_its_keys() -> None:
    """What the architecture does not depend on is left out, in objects within it too."""
    extra = {f"key_{i}": {"nested": [i] * 10} for i in range(900)}
    assert bring(config_json=pack({**LLAMA_CONFIG, **extra})).model == {"name": "llama", "config": LLAMA_CONFIG}
    stated = {"torch_dtype": "float16", "quantization_config": {"quant_method": "awq", "group_size": 64}}
    found = bring(config_json=pack({**LLAMA_CONFIG, **stated, **extra}))
    assert found.model == {"name": "llama", "config": {**LLAMA_CONFIG, **stated}}
    assert "in AWQ, groups of 64." in found.sentence


@pytest.mark.parametrize("model_id", [model.id for model in catalog().models()])
def test_the_needed_keys_are_the_same_model(model_id: str) -> None:
    """What is kept of a config is read as the whole is, and no key can be left out of it."""
    config = catalog().model(model_id).config
    kept = needed(config)
    assert read_config(Config(kept)) == read_config(Config(config))
    assert left_out(Config(kept)) == left_out(Config(config))
    assert len(kept) <= 24 and set(kept) <= set(config)


def test_the_language_model_of_a_multimodal_config() -> None:
    """Where the whole is not modelled, the language model inside it is, and that is said."""
    config = {"model_type": "seesall", "text_config": LLAMA_CONFIG, "vision_config": {"hidden_size": 5}}
    model, sentence = bring(config_json=pack(config))
    assert model["config"] == LLAMA_CONFIG
    assert sentence.endswith("the language model is modelled alone.")
    thinker = {"model_type": "omni", "thinker_config": config}
    assert bring(config_json=pack(thinker)).model["config"] == LLAMA_CONFIG
    refused = refusal(config_json=pack({"model_type": "seesall", "text_config": {"model_type": "unheard"}}))
    assert "the family 'seesall' is not modelled" in refused


def test_a_limit_that_is_none_is_left_out() -> None:
    """Configs of Nemotron H and Mamba 2 write `"time_step_limit": [0.0, Infinity]`, which JSON has no word for."""
    written = json.dumps(LLAMA_CONFIG | {"time_step_limit": [0.0, float("inf")]}).encode()
    assert b"Infinity" in written
    assert bring(config_json=(written, len(written))).model["config"] == LLAMA_CONFIG


WRONG: dict[str, tuple[bytes, str]] = {
    "": (b"", "is empty"),
    "text": (b"Hello, this is no file", "is neither a config.json nor a GGUF or safetensors file"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(50), "is neither"),
    "zip": (b"PK\x03\x04" + bytes(50), "runs code when it is opened"),
    "pickle": (b"\x80\x02}q\x00" + bytes(50), "runs code when it is opened"),
    "list": (b"[1, 2]", "is neither"),
    "cut": (b'{"model_type": "llama", ', "is not valid JSON: Expecting property name"),
    "empty object": (b"{}", "model_type is missing"),
    "NaN": (b'{"model_type": NaN}', "NaN is no number"),
    "twice": (b'{"model_type": "llama", "model_type": "gpt2"}', "stands twice"),
    "spaces": (b" " * 10**6, "is not valid JSON"),
    "latin": ('{"a": "é"}'.encode("latin-1"), "is not UTF-8"),
    "unknown family": (b'{"model_type": "unheard-of"}', "the family 'unheard-of' is not modelled"),
    "huge": (b'{"model_type": "llama", "hidden_size": 1e300}', "hidden_size must be a whole number"),
    "deep": (b'{"a":' * 50_000, "deeper than 16 levels"),
    "lone surrogate": (b'{"model_type": "\\ud800"}', "is not modelled"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_used_says_why(case: str) -> None:
    """Every message begins with the name of its file."""
    content, message = WRONG[case]
    told = refusal(config_json=(content, len(content)))
    assert told.startswith("config.json ") and message in told
    json.dumps(told).encode()


def test_files_that_are_too_large_are_not_read() -> None:
    """A JSON file of gigabytes is refused by its size alone."""
    assert "more than any config.json" in refusal(config_json=(b"{" + b" " * 70_000, 10**9))
    with pytest.raises(ScenarioError, match="Bring at most 1,000 files"):
        read_model_files([BroughtFile("x", 1, b"")] * 1001)
    assert refusal() == "Bring at least one file"


def test_names_are_told_apart_by_place() -> None:
    """Layers by their number, towers by their name, and what predicts further tokens is left out."""
    places = {
        "token_embd.weight": "embeddings",
        "transformer.wte.weight": "embeddings",
        "transformer.h.3.ln_1.weight": "layers",
        "gpt_neox.layers.5.attention.dense.weight": "layers",
        "model.language_model.layers.7.mlp.down_proj.weight": "layers",
        "backbone.layers.0.mixer.norm.weight": "layers",
        "model.layers.8.embed_tokens.weight": "unused",
        "mtp.layers.0.mlp.down_proj.weight": "unused",
        "decoder.block.11.layer.0.SelfAttention.q.weight": "layers",
        "vision_tower.vision_model.encoder.layers.9.mlp.fc1.weight": "embeddings",
        "visual.blocks.3.norm1.weight": "embeddings",
        "model.visual.merger.norm.weight": "embeddings",
        "v.blk.2.ln1.weight": "embeddings",
        "model.norm.weight": "head",
        "transformer.ln_f.weight": "head",
        "output.weight": "head",
        "output_norm.weight": "head",
        "lm_head.weight": "head",
        "embed_out.weight": "head",
    }
    assert {name: place_of(name, 8) for name in places} == places


HEADER, SIZE = gguf({**LLAMA, **tokenizer(5), "llama.block_count": 1}, llama_tensors(layers=1))
SAFE, SAFE_SIZE = safetensors([("model.embed_tokens.weight", (8, 4), "F16"), ("lm_head.weight", (8, 4), "F16")])


def never_breaks(files: Sequence[BroughtFile]) -> None:
    """Assert that files give a model, a request for more, or a message."""
    try:
        model: Any = read_model_files(files)
        json.dumps(model.model, allow_nan=False)
    except NeedMoreOfFiles as more:
        for file, wanted in zip(files, more.wanted_bytes, strict=True):
            assert wanted <= max(file.size_bytes, len(file.data))
    except ScenarioError as error:
        assert error.field == "file" and error.message
        assert len(error.message) < 2000


@given(
    st.binary(max_size=300), st.sampled_from([b"", b"GGUF\x03\0\0\0", b"GGUF\x02\0\0\0", b"{", b"\x40\0\0\0\0\0\0\0{"])
)
def test_random_bytes(data: bytes, prefix: bytes) -> None:
    """Whatever the bytes are, the answer is a message."""
    content = prefix + data
    for name in ("x", "x.gguf", "x.safetensors"):
        never_breaks([BroughtFile(name, len(content), content)])
        never_breaks([BroughtFile(name, 2**50, content)])


def test_a_flipped_byte_anywhere() -> None:
    """Every byte of a header in turn becomes 0, 255, and its opposite."""
    for header, size, beside in ((HEADER, SIZE, []), (SAFE, SAFE_SIZE, [BroughtFile("config.json", *packed())])):
        for position in range(len(header)):
            for value in (0, 255, header[position] ^ 255, header[position] ^ 1):
                damaged = header[:position] + bytes([value]) + header[position + 1 :]
                never_breaks([BroughtFile("x", size, data_of(damaged, size)), *beside])


def packed() -> tuple[int, bytes]:
    """Return a config as a file has it: size and bytes."""
    content, size = pack(LLAMA_CONFIG)
    return size, content


@settings(max_examples=200)
@given(st.data())
def test_several_damages(data: st.DataObject) -> None:
    """Bytes changed, cut out and repeated."""
    header, size = data.draw(st.sampled_from([(HEADER, SIZE), (SAFE, SAFE_SIZE), pack(LLAMA_CONFIG)]))
    damaged = bytearray(header)
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(damaged) - 1))
        length = data.draw(st.integers(0, 9))
        damaged[position : position + length] = data.draw(st.binary(max_size=12))
        if not damaged:
            return
    never_breaks(
        [BroughtFile("x", data.draw(st.sampled_from([size, len(damaged), 2**40])), data_of(bytes(damaged), 2**17))]
    )


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(st.sampled_from(sorted(LLAMA_CONFIG)), values)
def test_a_config_with_any_value(key: str, value: object) -> None:
    """Any JSON value under any key."""
    content = json.dumps(LLAMA_CONFIG | {key: value}).encode()
    never_breaks([BroughtFile("config.json", len(content), content)])
