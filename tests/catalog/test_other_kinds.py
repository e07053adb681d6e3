"""A model that is of no kind that the guide has is refused by what it is."""

import pytest

from calc.catalog import catalog
from calc.catalog.other_kinds import other_kind


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("timm/densenet121.ra_in1k", "convolutional network"),
        ("timm/tf_mixnet_l.in1k", "convolutional network"),
        ("timm/tresnet_v2_l.miil_in21k", "convolutional network"),
        ("PaddlePaddle/PP-OCRv6_small_det_safetensors", "convolutional network"),
        ("timm/resmlp_36_224.fb_distilled_in1k", "by MLPs"),
        ("timm/maxvit_base_tf_512.in21k_ft_in1k", "several widths"),
        ("huggingface/time-series-transformer-tourism-monthly", "time series"),
        ("itazap/blt-1b-hf", "bytes"),
        ("moonshotai/Kimi-Audio-7B-Instruct", "speaks"),
        ("laion/clap-htsat-unfused", "several widths"),
        ("naver-clova-ix/donut-proto", "several widths"),
        ("facebook/maskformer-swin-base-ade", "several widths"),
        ("nvidia/parakeet-unified-en-0.6b", "conformer"),
        ("nvidia/canary-1b-v2", "conformer"),
        ("google/timesfm-2.5-200m-pytorch", "time series"),
        ("nielsr/vitpose-original-large", "head of convolutions"),
        ("timm/fastvit_t8.apple_in1k", "several widths"),
        ("microsoft/speecht5_tts", "writes sound"),
        ("edbeeching/decision-transformer-gym-walker2d-expert", "rewards and states"),
        ("Intel/dpt-hybrid-midas", "head of convolutions"),
        ("OpenMOSS-Team/MOSS-TTSD-v1.0", "speaks"),
        ("mistralai/Voxtral-4B-TTS-2603", "speaks"),
        ("fishaudio/s2-pro", "speaks"),
        ("openbmb/VoxCPM2", "speaks"),
        ("stabilityai/stable-audio-open-1.0", "sound from text"),
        ("trl-internal-testing/tiny-Qwen3ForCausalLM", "for tests"),
        ("fxmarty/tiny-random-GemmaForCausalLM", "for tests"),
        ("argmaxinc/whisperkit-coreml", "folder of models"),
        ("urchade/gliner_multi-v2.1", "marks words"),
        ("facebook/sam3.1", "follows what words name"),
        ("GSAI-ML/LLaDA-V", "diffusion"),
        ("nvidia/diar_sortformer_4spk-v1", "conformer"),
        ("Google/diffusiongemma-26B-A4B-it", "text at once"),
        ("MiniMaxAI/MiniMax-H3", "images or video"),
        ("iic/speech_campplus_sv_en_voxceleb_16k", "convolutional network"),
        ("ibm/granite-ttm-1024-96-r2", "time series"),
        ("ibm-granite/granite-speech-5.0-2b", "conformer"),
        ("LiquidAI/LFM2.5-Audio-1.5B", "speaks"),
    ],
)
def test_a_name_says_what_its_model_is(name: str, said: str) -> None:
    """A word of the name tells a kind that is not modelled, and no model of the catalogue has that name."""
    assert said in str(other_kind(name))
    assert catalog().lookup("models", name) is None


@pytest.mark.parametrize(
    "name",
    [
        "amazon/chronos-t5-base",
        "openai/clip-vit-large-patch14",
        "facebook/dinov2-giant",
        "mistralai/Voxtral-Mini-3B-2507",
    ],
)
def test_what_is_modelled_is_of_no_other_kind(name: str) -> None:
    """A name close to one of another kind is not taken for it."""
    assert other_kind(name) is None
