"""The rules of llama.cpp's mixtures: which part of a model gets which number format.

Source: llama.cpp, src/llama-quant.cpp (llama_tensor_get_type_impl). Number formats and mixtures are named by their ids
in the catalogue.
"""

from typing import NamedTuple

LOWEST = ("iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m")  # mixtures with rules of their own
IQ2_LARGE = ("iq2_s", "iq2_m")
EMBEDDINGS = {
    **dict.fromkeys(("iq1_s", "iq1_m", "iq2_xxs", "iq2_xs"), "q2_k"),
    **dict.fromkeys(("iq2_s", "iq2_m", "iq3_xxs"), "iq3_s"),
    **dict.fromkeys(("q2_0", "tq1_0", "tq2_0"), "q4_k"),
    "mxfp4_moe": "q8_0",
}
HALVES = ("q4_k_m", "q5_k_m")  # half of the layers have values and MLP down in Q6_K
# Values: of the first layers in Q5_K; with four and more queries to a KV head; in all other models.
FIRST_VALUES = {"q3_k_m": 2, "q4_k_s": 4}
SHARED_VALUES = {
    **dict.fromkeys(("q2_k", "q2_k_s", "iq3_xxs", "iq3_xs", "iq3_s"), "q4_k"),
    **dict.fromkeys(("iq4_nl", "iq4_xs"), "q5_k"),
}
VALUES = {"q2_k": "q3_k", "iq3_m": "q4_k", "q3_k_m": "q4_k", "q3_k_l": "q5_k"}
# MLP down: of the first eighth of the layers, also only with or only without an importance matrix; of the others.
EARLY_DOWNS = {"q2_k_s": "q4_k", "iq3_m": "q4_k", "q4_k_s": "q5_k"}
EARLY_DOWNS_WITH = {"q4_0": "q4_1", "q5_0": "q5_1"}
EARLY_DOWNS_WITHOUT = {"iq3_xxs": "q4_k", "iq4_nl": "q5_k", "iq4_xs": "q5_k"}
DOWNS = {"q2_k": "q3_k", "q3_k_m": "q4_k", "q3_k_l": "q5_k"}
# Falcon: of the first sixteenth, of half of the rest, of the others.
FALCON_DOWNS = {
    "q3_k_m": ("q5_k", "q4_k", "q3_k"),
    "q3_k_l": ("q4_k", "q4_k", "q4_k"),
    "q4_k_m": ("q6_k", "q5_k", "q4_k"),
}
# Attention output: mixtures that raise it in models of eight experts, and what it is in models without.
EIGHT_EXPERTS = {"q2_k", "q3_k_s", "q3_k_m", "q4_k_s", "q4_k_m"}
EIGHT_EXPERTS |= {"iq3_xxs", "iq3_xs", "iq3_s", "iq3_m", "iq4_nl", "iq4_xs"}
ATTENTION_OUTPUT = {"q2_k": "q3_k", "iq3_xxs": "iq3_s", "q3_k_m": "q4_k", "q3_k_l": "q5_k", "iq3_m": "q4_k"}
# MLP down of routed experts in Unsloth's dynamic mixtures, which have gate and up in the base.
RAISED = {"q4_k": "q5_k", "q5_k": "q6_k", "q6_k": "q8_0"}


class Setting(NamedTuple):
    """What the rules ask about a model as a whole, and the mixture it is stored in."""

    mixture: str
    base: str
    dynamic: bool  # whether Unsloth's quantiser made it: of a mixture of experts it keeps all but these in 8 bit
    importance_matrix: bool
    layers: int
    values: int  # layers that have attention values
    experts: int  # of a layer; 1 without
    queries_per_kv: int
    falcon: bool
    seventy: bool  # a model of 80 layers with shared KV heads, whose small value matrices get more bits


def more_bits(index: int, count: int) -> bool:
    """Whether a layer is of the half that gets more bits: the first eighth, the last one, every third between."""
    return index < count // 8 or index >= 7 * count // 8 or (index - count // 8) % 3 == 2


def output_format(asked: Setting, *, fits: bool) -> str:
    """Return the format of the output matrix, or of the embedding that serves as one; `fits`: in blocks of the base."""
    if asked.mixture == "mxfp4_moe" or asked.falcon or not fits or asked.base == "q8_0":
        return "q8_0"
    return "q5_k" if asked.mixture in LOWEST or asked.mixture == "iq3_xxs" else "q6_k"


def embedding_format(asked: Setting) -> str:
    """Return the format of an embedding that is not the output matrix as well."""
    return EMBEDDINGS.get(asked.mixture, asked.base)


def matrix_format(asked: Setting, role: str, *, layer: int, nth: int, experts: bool) -> str:
    """Return the format of a layer's matrix. `nth` counts those of its role before it, which llama.cpp goes by."""
    if asked.mixture == "mxfp4_moe":
        return "mxfp4" if experts else "q8_0"
    if asked.dynamic and asked.experts > 1:
        return "q8_0" if not experts else RAISED[asked.base] if role == "down" else asked.base
    if asked.mixture in LOWEST:
        return lowest_format(asked, role, nth)
    index = layer if asked.experts > 1 else nth
    if role == "value":
        return value_format(asked, nth)
    if role == "down":
        return down_format(asked, index)
    if role == "attention_output":
        return attention_output_format(asked)
    if role == "key" and asked.experts == 8:
        return "q8_0"
    if role in ("query", "key"):
        return {"iq3_xs": "iq3_xxs", "iq3_xxs": "iq2_s"}.get(asked.mixture, asked.base)
    if role in ("gate", "up") and asked.mixture == "iq3_xs":
        return "iq3_xxs" if asked.layers // 8 <= index < 7 * asked.layers // 8 else asked.base
    return asked.base


def lowest_format(asked: Setting, role: str, nth: int) -> str:
    """Return the format of a matrix in the mixtures of one and two bits with codebooks."""
    large = asked.mixture in IQ2_LARGE
    if role == "value":
        return "q4_k" if asked.queries_per_kv >= 4 or asked.experts >= 4 else "iq3_s" if large else "q2_k"
    if role == "key" and asked.experts == 8:
        return "q4_k"
    if role == "down" and nth < asked.layers // 8:
        return "iq3_s" if large else "q2_k"
    if role == "attention_output" and asked.experts == 8:
        return "q5_k"
    if role == "attention_output" and asked.mixture in ("iq1_s", "iq1_m"):
        return "iq2_xxs"
    return "iq3_s" if role == "attention_output" and large else asked.base


def value_format(asked: Setting, nth: int) -> str:
    """Return the format of the values: small beside the queries where heads are shared, so more bits cost little."""
    mixture, shared = asked.mixture, asked.queries_per_kv >= 4
    if nth < FIRST_VALUES.get(mixture, 0):
        choice = "q5_k"
    elif mixture in HALVES and more_bits(nth, asked.values):
        choice = "q6_k"
    elif mixture == "iq3_xxs" and not shared and not asked.importance_matrix:
        choice = "iq3_s"
    else:
        choice = (SHARED_VALUES if shared else {}).get(mixture) or VALUES.get(mixture, asked.base)
    if asked.seventy and choice in ("q3_k", "q4_k"):
        choice = "q5_k"
    return "q8_0" if asked.experts == 8 else choice


def down_format(asked: Setting, index: int) -> str:
    """Return the format of the MLP's second matrix, the one most sensitive to few bits."""
    mixture, half = asked.mixture, more_bits(index, asked.layers)
    if asked.falcon and mixture in FALCON_DOWNS:
        first, some, rest = FALCON_DOWNS[mixture]
        return first if index < asked.layers // 16 else some if half else rest
    if index < asked.layers // 8:
        early = EARLY_DOWNS | (EARLY_DOWNS_WITH if asked.importance_matrix else EARLY_DOWNS_WITHOUT)
        if mixture in early and not (asked.falcon and mixture == "q4_k_s"):
            return early[mixture]
    if half and (mixture in HALVES or (mixture == "iq3_m" and asked.experts == 8)):
        return "q4_k" if mixture == "iq3_m" else "q6_k"
    if mixture == "q3_k_m" and index < asked.layers // 16:
        return "q5_k"
    if mixture == "iq3_xxs" and not asked.importance_matrix:
        return "q3_k"
    return DOWNS.get(mixture, asked.base)


def attention_output_format(asked: Setting) -> str:
    """Return the format of the attention's output matrix."""
    if asked.falcon:
        return "q4_k" if asked.mixture == "q3_k_l" else asked.base
    if asked.experts == 8:
        return "q5_k" if asked.mixture in EIGHT_EXPERTS else asked.base
    return ATTENTION_OUTPUT.get(asked.mixture, asked.base)
