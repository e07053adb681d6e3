"""Networks of convolutions and of windows: parameters as others count them, operations, and what is alive."""

import pytest

from calc import ScenarioError, estimate
from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import Architecture
from calc.architecture.parameters import parameters_by_block, parameters_total
from calc.architecture.stages import Stage
from calc.memory.activations import stage_width
from calc.performance.token_flops import forward_flops
from tests.known import load

KNOWN = load("image_networks.json")


def network(name: str) -> Architecture:
    """Return the network that timm's config has under a name, with the classes of ImageNet."""
    return read_config(Config({"architecture": name, "num_classes": 1000}))


@pytest.mark.parametrize(("name", "counts"), KNOWN["shapes"].items(), ids=KNOWN["shapes"])
def test_timm_counts_the_same(name: str, counts: list[int]) -> None:
    """Of each shape that is read by timm's name the parameters are timm's, and what its batch norms saw."""
    blocks = parameters_by_block(network(name))
    seen = blocks.pop("statistics", 0)
    assert [sum(blocks.values()), seen] == counts


@pytest.mark.parametrize(("name", "billions"), KNOWN["operations"].items(), ids=KNOWN["operations"])
def test_torchvision_counts_the_same_operations(name: str, billions: float) -> None:
    """Products and sums of an image are those that torchvision states, which counts classes once for an image.

    What squeezes, classifies or gives a bias for a distance is met once, by means or tables, and is left out here: 2 %.
    """
    found = network(name)
    products, head, attention = forward_flops(found, found.context_tokens or 0)
    assert (products - head + attention) * (found.context_tokens or 0) / 2e9 == pytest.approx(billions, rel=0.021)


def test_a_convolution_is_met_at_every_place() -> None:
    """ResNet 50's first window lies at 112 × 112 places, 256 for each of 7 × 7, and multiplies 147 numbers by 64."""
    weight = network("resnet50").kinds[0].tensors[0]
    assert weight.shape == (64, 3, 7, 7)
    assert weight.places * 49 == 112 * 112
    assert weight.reads == 3 * 2 * 2


def test_the_widest_moment_is_in_front() -> None:
    """Where ResNet 50 adds 256 channels to as many at 56 × 56 places, three times these are alive: 64 for a token.

    They are the layer's input, what the convolution gave, and what its norm makes of that.
    """
    found = network("resnet50")
    assert stage_width(stage=Stage(found, 0, found.layer_count), tensor_parallel=1).elements == 64 * 3 * 256


def test_half_of_the_classes_are_half_of_the_classifier() -> None:
    """Only what stands behind the last grid knows the classes."""
    ten, none = (read_config(Config({"architecture": "resnet18", "num_classes": classes})) for classes in (10, 0))
    assert parameters_total(ten) - parameters_total(none) == 10 * 512 + 10


def test_an_image_is_seen_whole() -> None:
    """A network of convolutions reads all places of an image and writes none; its training is refused."""
    report = estimate({"model": "timm/resnet50.a1_in1k"})
    assert report["scenario"]["prompt_tokens"], report["scenario"]["output_tokens"] == (49, 0)
    with pytest.raises(ScenarioError, match="grids"):
        estimate({"workload": "training", "model": "resnet-50"})


def test_a_larger_image_takes_more() -> None:
    """Twice the side is four times the places, and four times what is alive."""
    parts = [
        {
            part["id"]: part["bytes"]
            for part in estimate({"model": "resnet-50", "context_tokens": count})["memory"]["parts"]
        }
        for count in (49, 196)
    ]
    assert parts[1]["activations"] == 4 * parts[0]["activations"]
    assert parts[0]["weights"] == parts[1]["weights"] == 2 * 25_610_152


def test_what_timm_calls_otherwise_is_refused() -> None:
    """A shape that is not known is refused by its name."""
    with pytest.raises(ScenarioError, match="nfnet_l0"):
        network("nfnet_l0")


def test_a_name_of_timms_is_taken_as_its_own_shape() -> None:
    """ResNet 18 is read with the entry of ResNet 50, and is not said to be a copy of it."""
    report = estimate({"model": "timm/resnet18.a1_in1k"})
    assert report["model"]["name"] == "resnet18"
    assert [warning["message"] for warning in report["warnings"]] == [
        "timm/resnet18.a1_in1k is taken as a copy of timm's resnet18, in the format that the scenario says"
    ]
    again = estimate(report["scenario"])
    assert again["model"] == report["model"]
