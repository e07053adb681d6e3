"""Layers of multi-token prediction, which stand beside a model: engines draft with them, no count of a model has them.

Source: DeepSeek-V3 (arXiv:2412.19437, section 2.2). That DeepSeek, GLM, Qwen 3.5 and Nemotron 3 store them so is
checked against the counts of their files.
"""

from calc.architecture.layers import Architecture, Layer
from calc.architecture.tensors import Tensors, linear, norm


def predictor(architecture: Architecture) -> Tensors:
    """Return the tensors of one layer that predicts a further token.

    It reads the hidden state and the next token's embedding, both normed, through one matrix, and is a layer of the
    model's own behind that, with a norm at its end. Embedding and output matrix are the model's.
    """
    hidden = architecture.hidden_size
    tensors = linear("mtp.eh_proj", "other", hidden, 2 * hidden)
    for name in ("enorm", "hnorm", "norm"):
        tensors += norm(f"mtp.{name}", hidden)
    repeated = architecture.predicting or repeated_kinds(architecture)
    return tensors + tuple(tensor for kind in repeated for tensor in kind.tensors)


def repeated_kinds(architecture: Architecture) -> tuple[Layer, ...]:
    """Return the kinds that a predictor repeats: attention with what follows it, in one kind or in two.

    Of kinds that differ in an indexer it is the one that has it: a predictor has no earlier layer to share with.
    """
    order = [architecture.kinds[index] for index in dict.fromkeys(reversed(architecture.pattern))]
    attending = [kind for kind in order if kind.attention is not None]
    feeding = [kind for kind in order if kind.mlp_width]
    if not attending or not feeding:
        return tuple(order[:1])
    whole = [kind for kind in attending if kind.mlp_width]
    if not whole:
        return attending[0], feeding[0]
    return (max((kind for kind in whole if kind.mlp_width == whole[0].mlp_width), key=elements),)


def elements(kind: Layer) -> int:
    """Return the number of parameters of a kind of layer."""
    return sum(tensor.elements for tensor in kind.tensors)


def parameters_prediction(architecture: Architecture) -> int:
    """Return the number of parameters of all layers of multi-token prediction that a model's config names."""
    count = architecture.prediction_layers
    return count * sum(tensor.elements for tensor in predictor(architecture)) if count else 0
