"""Reading configs: what is wrong or unknown is refused by field, and nothing else comes out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import estimate
from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.networks import FAMILIES
from tests.known import family_configs


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"hidden_size": None}, "hidden_size"),
        ({"hidden_size": "4096"}, "hidden_size"),
        ({"hidden_size": 4097}, "num_attention_heads"),
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({"num_key_value_heads": 7}, "num_key_value_heads"),
        ({"vocab_size": True}, "vocab_size"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings"),
        ({"layer_types": ["full_attention"]}, "layer_types"),
        ({"layer_types": ["mamba"] * 32}, "layer_types"),
        ({"model_type": 5}, "model_type"),
        ({"model_type": None}, "model_type"),
    ],
)
def test_a_wrong_config_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    """What a config leaves out or gets wrong is named by its path."""
    config = dict(catalog().model("llama-3.1-8b").config) | change
    with pytest.raises(ScenarioError) as caught:
        read_config(Config(config))
    assert caught.value.field == f"model.config.{field}"


@pytest.mark.parametrize("config", [None, 5, "llama", []])
def test_a_config_that_is_no_object_is_refused(config: Any) -> None:
    """A config must be an object."""
    with pytest.raises(ScenarioError):
        Config(config)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


BASES = family_configs()


@given(family=st.sampled_from(sorted(FAMILIES)), change=st.data())
def test_a_fuzzed_config_gives_a_report_or_a_scenario_error(family: str, change: st.DataObject) -> None:
    """Whatever a config holds, nothing but a report or a ScenarioError comes out."""
    config = dict(BASES[family]) | {"model_type": family}
    for name in change.draw(st.lists(st.sampled_from(sorted(config)), max_size=3)):
        config[name] = change.draw(JSON)
    try:
        report = estimate({"model": {"config": config}})
    except ScenarioError:
        return
    model: Any = report["model"]
    assert sum(model["blocks"].values()) == model["parameters_total"] >= model["parameters_active"] > 0
    assert json.loads(json.dumps(report, allow_nan=False)) == report


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"num_query_heads": [12, 12]}, "num_query_heads"),
        ({"num_kv_heads": [0] * 16}, "num_kv_heads"),
        ({"ffn_multipliers": 4.0}, "ffn_multipliers"),
        ({"ffn_multipliers": [-1.0] * 16}, "ffn_multipliers"),
        ({"ffn_with_glu": False}, "ffn_with_glu"),
    ],
)
def test_layers_of_openelm_need_a_size_each(change: dict[str, Any], field: str) -> None:
    """Its lists have an entry for each layer, and what no published model has is refused."""
    config = dict(catalog().model("openelm-270m").config) | change
    with pytest.raises(ScenarioError) as caught:
        read_config(Config(config))
    assert caught.value.field == f"model.config.{field}"


def test_an_inner_width_is_not_rounded_far_down() -> None:
    """Of 347 and 280 the nearest multiple of 256 is 256, over a tenth less than the first, which gets one step more."""
    sizes = {"model_type": "openelm", "model_dim": 560, "head_dim": 70, "vocab_size": 1000, "num_transformer_layers": 1}
    for factor, width in ((0.62, 512), (0.5, 256)):
        lists = {"num_query_heads": [8], "num_kv_heads": [2], "ffn_multipliers": [factor]}
        assert read_config(Config(sizes | lists)).kinds[0].mlp_width == width


def test_jais_2_has_biases_unless_it_says_otherwise() -> None:
    """What Jais 2's configs leave out its class has as true, Nemotron's as false; the report names what was taken."""
    known = catalog().model("jais-2-8b").config
    silent = {key: value for key, value in known.items() if key not in ("attention_bias", "mlp_bias")}
    report = estimate({"model": {"config": silent}})
    assert report["model"]["parameters_total"] == estimate({"model": "jais-2-8b"})["model"]["parameters_total"]
    (said,) = (warning["message"] for warning in report["warnings"] if warning["code"] == "config-incomplete")
    assert "attention_bias, mlp_bias" in said
    biases = 32 * (3 * 3328 + 3328 + 26624 + 3328)  # of query, key, value and output, and of the MLP
    other = estimate({"model": {"config": silent | {"model_type": "nemotron"}}})
    assert other["model"]["parameters_total"] == report["model"]["parameters_total"] - biases
    assert "config-incomplete" not in {warning["code"] for warning in other["warnings"]}


def test_a_codec_has_a_depth_for_each_stage() -> None:
    """The first stage shortens nothing: there is one more than numbers by which the others do."""
    config = dict(catalog().model("vibevoice-asr").config)
    wrong = {**config["acoustic_tokenizer_encoder_config"], "depths": [3, 3]}  # type: ignore[dict-item]
    with pytest.raises(ScenarioError, match="one more than the 6 downsampling_ratios"):
        read_config(Config({**config, "acoustic_tokenizer_encoder_config": wrong}))


def test_what_watches_ends_in_what_it_is_for() -> None:
    """VideoMAE alone has its encoder; what was trained by itself has a decoder, and a classifier its classes."""
    config = {"model_type": "videomae", "use_mean_pooling": False}
    counts = {
        name: parameters_total(read_config(Config({**config, "architectures": [name], "num_labels": 400})))
        for name in ("VideoMAEModel", "VideoMAEForPreTraining", "VideoMAEForVideoClassification")
    }
    assert counts["VideoMAEModel"] == 86_227_200  # of transformers 5.24
    assert counts["VideoMAEForPreTraining"] == 94_210_944
    assert counts["VideoMAEForVideoClassification"] == 86_227_200 + 400 * 769
