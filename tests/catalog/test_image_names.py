"""Names of timm and OpenCLIP say the whole shape of a model."""

import pytest

from calc import estimate
from calc.errors import ScenarioError


@pytest.mark.parametrize(
    ("name", "parameters"),
    [  # of their files, in the table of llmfit 1.1.17 or the Models Explorer of March 2025
        ("timm/vit_base_patch16_224.augreg2_in21k_ft_in1k", 86_567_656),
        ("timm/vit_base_patch16_224.mae", 85_798_656),
        ("timm/vit_small_patch14_dinov2.lvd142m", 22_056_192),
        ("timm/vit_base_patch14_dinov2.lvd142m", 86_579_712),
        ("timm/vit_base_patch14_reg4_dinov2.lvd142m", 86_582_016),
        ("timm/vit_large_patch14_dinov2.lvd142m", 304_367_616),
    ],
)
def test_timm_s_names_have_the_parameters_of_their_files(name: str, parameters: int) -> None:
    """Size, pieces, image and training are in the name, and give the count to the last parameter."""
    assert estimate({"model": name})["model"]["parameters_total"] == parameters


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("timm/ViT-B-16-SigLIP2-256", "siglip2-base-patch16-256"),
        ("timm/ViT-SO400M-14-SigLIP-384", "siglip-so400m-patch14-384"),
        ("timm/ViT-B-16-SigLIP-i18n-256", "siglip-base-patch16-256-multilingual"),
        ("laion/CLIP-ViT-B-16-DataComp.XL-s13B-b90K", "clip-vit-base-patch16"),
        ("facebook/metaclip-h14-fullcc2.5b", "clip-vit-h-14-laion2b"),
    ],
)
def test_openclip_s_names_lead_to_a_tower(name: str, model: str) -> None:
    """What they were trained on is not part of the shape."""
    assert estimate({"model": name})["model"]["id"] == model


@pytest.mark.parametrize("name", ["apple/DFN5B-CLIP-ViT-H-14-378", "timm/ViT-gopt-14-SigLIP2-384"])
def test_another_image_is_refused(name: str) -> None:
    """Sizes that no entry has are other models."""
    with pytest.raises(ScenarioError):
        estimate({"model": name})


def test_a_larger_image_makes_more_tokens() -> None:
    """An image of 384 pixels has 576 pieces of 16, and the class."""
    asked = [
        {"model": f"timm/vit_small_patch16_{size}.augreg_in21k_ft_in1k", "context_tokens": 577} for size in (224, 384)
    ]
    beyond = ["context-beyond-trained" in {warning["code"] for warning in estimate(one)["warnings"]} for one in asked]
    assert beyond == [True, False]
