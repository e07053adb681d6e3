"""What the name of an unlisted repository says of the model in it, and of its number format."""

import pytest

from calc import estimate
from calc.catalog import catalog
from calc.errors import ScenarioError


@pytest.mark.parametrize(
    ("name", "model", "weights"),
    [
        ("someone/Qwen3.8-27B-OBLITERATED", "qwen3.8-27b", None),
        ("someone/Huihui-Qwen3.6-27B-abliterated-AWQ", "qwen3.6-27b", "awq"),
        ("someone/Qwen3.6-35B-A3B-abliterated-v3", "qwen3.6-35b-a3b", None),
        ("someone/GLM-5.3-Flash-Uncensored-FP8", "glm-5.3-flash", "fp8"),
        ("google/gemma-4-31B-it-qat-q4_0-unquantized", "gemma-4-31b", None),
        ("google/gemma-4-31B-it-qat-w4a16-ct", "gemma-4-31b", "int4-group"),
        ("someone/gemma-3-27b-it-GPTQ-4b-128g", "gemma-3-27b", "gptq-int4"),
        ("someone/Qwen3-Coder-Next-NVFP4-GB10", "qwen3-next-80b-a3b", "nvfp4"),
        ("someone/whisper-large-v3-turbo-GGUF", "whisper-large-v3-turbo", "q4_k_m"),
        ("someone/whisper-large-v3-turbo", "whisper-large-v3-turbo", None),
        ("someone/Qwen3-32B-NVFP4-W4A4", "qwen3-32b", "nvfp4"),
        ("stepfun-ai/Step-3.5-Flash-FP8", "step-3.5-flash", "fp8-block"),
        ("amd/Qwen3.8-27B-Quark-AWQ-MXFP4", "qwen3.8-27b", "mxfp4"),
        ("Intel/Qwen3.8-Flash-Next-W4A16-AutoRound", "qwen3.8-flash-next", "int4-group"),
        ("Intel/Qwen3-8B-int4-AutoRound", "qwen3-8b", "gptq-int4"),
        ("someone/Qwen3.8-27B-SmoothQuant-W8A8-INT8", "qwen3.8-27b", "int8-channel"),
    ],
)
def test_what_a_name_holds(name: str, model: str, weights: str | None) -> None:
    """Words of conversions and of edits that keep the shape are left off, no more of them than needed."""
    copy = catalog().copied(name)
    assert copy is not None
    assert catalog().model(name).id == copy.id == model
    assert copy.weights == weights


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("RoBERTa large", ""),  # as the id is spelled
        ("roberta-large", ""),
        ("FacebookAI/roberta-large", "FacebookAI/roberta-large"),
        ("BERT base multilingual cased", "google-bert/bert-base-multilingual-cased"),
        ("Qwen/Qwen3-8B-Base", "Qwen/Qwen3-8B-Base"),
    ],
)
def test_an_id_is_the_entry_however_it_is_spelled(name: str, variant: str) -> None:
    """A repository of the same name has other words at its ends, and is meant where it is named whole."""
    assert catalog().variant(name) == variant


@pytest.mark.parametrize(
    "name", ["someone/Qwen3.8-27B-DFlash", "RadixArk/Kimi-K3-DSpark", "someone/Qwen3.8-27B-Eagle3"]
)
def test_drafts_are_no_copies(name: str) -> None:
    """A model that drafts for another one bears its name and has another shape."""
    assert catalog().copied(name) is None


def test_sizes_are_kept() -> None:
    """A size of a tag is no word of a conversion."""
    assert catalog().model("deepseek-r1:70b").id == "llama-3.3-70b"
    assert catalog().copied("someone/Llama-3.3-80B") is None


@pytest.mark.parametrize(
    ("name", "model", "beside"),
    [
        ("someone/xlm-roberta-base-dialect-detection", "xlm-roberta-base", "dialect-detection"),
        ("textattack/roberta-base-CoLA", "roberta-base", "cola"),
        ("someone/quora-deberta-v3-base", "deberta-v3-base", "quora"),
        ("cardiffnlp/twitter-roberta-base-emotion", "roberta-base", "emotion"),
        ("bofenghuang/whisper-large-v3-french", "whisper-large-v3", "french"),
        (
            "someone/Qwen3-14B-Claude-4.5-Opus-High-Reasoning-Distill-GGUF",
            "qwen3-14b",
            "claude-4.5-opus-high-reasoning-distill",
        ),
    ],
)
def test_a_finetune_has_the_name_of_what_it_was_trained_on(name: str, model: str, beside: str) -> None:
    """A known name beside a use leads to that model, and the report says what is taken and what is not counted."""
    copy = catalog().copied(name)
    assert copy is not None
    assert (copy.id, copy.beside) == (model, beside)
    report = estimate({"model": name})
    assert report["model"]["id"] == model
    said = next(warning for warning in report["warnings"] if warning["code"] == "model-trained-on")
    assert beside in said["message"]
    assert said["severity"] == "caution"


@pytest.mark.parametrize(
    "name",
    [
        "incoai/Qwen3.8-27B-DFlash2",
        "someone/Kimi-K3-REAP80",
        "arianraje/qwen3-4b-mamba3-hybrid-stage2b",
        "someone/gemma-3-4b-vision",
        "someone/roberta-base-large",
        "someone/deberta-v3-base-v4",
        "someone/GLM-5.3-Flash-NVFP4-Spark",
        "Salesforce/blip2-flan-t5-xxl",
        "google/vit-base-patch16-448",
        "Helsinki-NLP/opus-mt-ko-en",  # each pair of languages has words of its own
    ],
)
def test_another_size_part_or_format_is_no_finetune(name: str) -> None:
    """What drafts, prunes, adds layers or parts, or says a version, size or format that is not known, is refused."""
    assert catalog().copied(name) is None
    with pytest.raises(ScenarioError):
        estimate({"model": name})


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Systran/faster-whisper-large-v3", "whisper-large-v3"),
        ("deepdml/faster-whisper-large-v3-turbo-ct2", "whisper-large-v3-turbo"),
    ],
)
def test_weights_for_another_library_are_a_copy(name: str, model: str) -> None:
    """Whisper for CTranslate2 is Whisper."""
    copy = catalog().copied(name)
    assert copy is not None
    assert (copy.id, copy.beside) == (model, "")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("timm/densenet121.ra_in1k", "convolutional"),
        ("timm/hrnet_w18.ms_aug_in1k", "convolutional"),
        ("Ultralytics/YOLO11", "convolutional"),
        ("timm/maxvit_base_tf_512.in21k_ft_in1k", "several widths"),
        ("RadixArk/Kimi-K3-DSpark", "drafts for another model"),
        ("mistralai/Mistral-Large-4.0-1T05-A52B", "no source says which of its layers"),
        ("pyannote/speaker-diarization", "recurrence"),
        ("flair/ner-german-large", "marks words by recurrence"),
        ("ibm-granite/granite-timeseries-ttm-r2", "time series"),
        ("Prior-Labs/TabPFN-v2-reg", "tables of numbers"),
        ("stable-diffusion-v1-5/stable-diffusion-v1-5", "diffusion"),
    ],
)
def test_what_is_of_no_kind_that_is_modelled_is_told_so(name: str, kind: str) -> None:
    """The refusal says what the model is, and names none that is spelled a little alike."""
    with pytest.raises(ScenarioError, match=kind) as refused:
        estimate({"model": name})
    assert "did you mean" not in refused.value.message


@pytest.mark.parametrize("name", ["MIT/ast-unknown", "someone/Llama-9", "someone/statics", "vaexyz"])
def test_other_unknown_names_are_not_told_a_kind(name: str) -> None:
    """No kind is read from part of a word or from an owner's name."""
    with pytest.raises(ScenarioError, match="is not in the catalogue of models"):
        estimate({"model": name})


@pytest.mark.parametrize(
    ("name", "variant", "tokens"),
    [
        ("01-ai/Yi-9B-200K-GGUF", "01-ai/Yi-9B-200K", 262_144),
        ("yi 200k 6b chat", "01-ai/Yi-6B-200K", 200_000),  # by the words of its name
        ("someone/Phi-3-medium-128k-instruct-AWQ", "microsoft/Phi-3-medium-128k-instruct", 131_072),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "Qwen/Qwen3-30B-A3B-Instruct-2507", 262_144),
        ("Qwen3 235B A22B Instruct 2507", "Qwen/Qwen3-235B-A22B-Instruct-2507", 262_144),  # which is an alias, too
        ("someone/Yi-9B-GGUF", "", 4096),
    ],
)
def test_a_copy_has_the_length_of_what_it_copies(name: str, variant: str, tokens: int) -> None:
    """Finetunes for longer texts have lengths of their own, which their copies keep."""
    assert catalog().variant(name) == variant
    within, beyond = (estimate({"model": name, "context_tokens": count})["warnings"] for count in (tokens, tokens + 1))
    assert "context-beyond-trained" not in {warning["code"] for warning in within}
    assert "context-beyond-trained" in {warning["code"] for warning in beyond}
    assert not within or variant in within[0]["message"]


def test_what_was_trained_on_a_variant_has_its_words() -> None:
    """A finetune of mDeBERTa has the tables of its 251,000 words, and not those of DeBERTa."""
    report = estimate({"model": "someone/mdeberta-v3-base-sentiment"})
    assert report["model"]["parameters_total"] == 278_218_752
    assert "microsoft/mdeberta-v3-base" in report["warnings"][0]["message"]


@pytest.mark.parametrize("name", ["someone/Yi-34B-200K-GGUF", "someone/Llama-3-8B-Instruct-500k"])
def test_a_length_that_no_source_has_is_refused(name: str) -> None:
    """A name with a length of its own, which no entry has, is another model's."""
    with pytest.raises(ScenarioError):
        estimate({"model": name})
