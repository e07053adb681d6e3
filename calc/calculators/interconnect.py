"""Interconnect: what devices send each other, over which link, how long it takes, and what of the link is reached."""

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.inputs import Amount, Choice, Number
from calc.calculators.interconnect_answer import render, row, status
from calc.calculators.interconnect_report import answer
from calc.performance.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, SEND
from calc.performance.messages import EXPERTS, GRADIENTS, SHARDED, STAGES, TENSOR

TRAFFIC = (
    (TENSOR, "A forward pass, tensor parallel: reductions of hidden states"),
    (STAGES, "A forward pass, pipeline parallel: hand-over between stages"),
    (EXPERTS, "A forward pass, expert parallel: tokens to experts and back"),
    (GRADIENTS, "A training step, data parallel: gradients"),
    (SHARDED, "A training step, ZeRO-3 or FSDP: gathers and scatters"),
    (ALL_REDUCE, "One message: all-reduce"),
    (ALL_GATHER, "One message: all-gather"),
    (REDUCE_SCATTER, "One message: reduce-scatter"),
    (ALL_TO_ALL, "One message: all-to-all"),
    (SEND, "One message: send"),
)
INPUTS = (
    Choice("traffic", "What is sent", "By a model, or one message of your own.", TENSOR, options=TRAFFIC),
    Choice("accelerator", "GPU", "Its links and its driver decide the way.", "rtx-4090", kind="accelerators"),
    Number("accelerators", "Number of GPUs", "That send each other something.", "2", least=2, most=4096),
    Choice(
        "link",
        "Link between them",
        "A bridge is bought apart; another link answers “what if”.",
        "",
        kind="links",
        empty="As the GPU is sold",
    ),
    Choice(
        "network",
        "Network between machines",
        "Counts where the GPUs do not stand in one machine.",
        "",
        kind="networks",
        empty="As such machines are sold",
    ),
    Choice(
        "machine",
        "Or a machine",
        "Takes the place of GPU, number, link and network.",
        "",
        kind="machines",
        empty="None",
    ),
    Choice("model", "Model", "Its layers and widths are what counts.", "llama-3.1-8b", kind="models"),
    Number(
        "tokens",
        "Tokens",
        "Of a forward pass, all together: a prompt, or one for each reader. In training, of each GPU.",
        "2048",
        least=1,
        most=100_000_000,
    ),
    Choice(
        "element_bytes",
        "Sent in",
        "Hidden states, parameters or gradients.",
        "2",
        options=(("1", "8 bit"), ("2", "16 bit"), ("4", "32 bit")),
    ),
    Amount(
        "message_mb",
        "Size of your own message, MB",
        "For one message; a million bytes each.",
        "64",
        least=0.000001,
        most=1e7,
    ),
)

PRESETS = (
    Preset("Two RTX 4090, a prompt of 2,048 tokens", {}),
    Preset("Two RTX 3090 with a bridge", {"accelerator": "rtx-3090", "link": "nvlink-3-bridge"}),
    Preset("Two RTX 3090 without", {"accelerator": "rtx-3090"}),
    Preset("Two RTX 4090 in stages", {"traffic": STAGES}),
    Preset("Llama 3.3 70B on eight H100, one token", {"machine": "dgx-h100", "model": "llama-3.3-70b", "tokens": "1"}),
    Preset(
        "… FSDP of a step, 8,192 tokens each",
        {"machine": "dgx-h100", "model": "llama-3.3-70b", "tokens": "8192", "traffic": SHARDED},
    ),
    Preset(
        "… over four machines",
        {
            "accelerator": "h100-sxm-80gb",
            "accelerators": "32",
            "model": "llama-3.3-70b",
            "tokens": "8192",
            "traffic": SHARDED,
        },
    ),
    Preset("FSDP of Llama 3.2 1B on two RTX 4090", {"traffic": SHARDED, "tokens": "4096", "model": "llama-3.2-1b"}),
    Preset(
        "DeepSeek V3, experts over 32 H800",
        {
            "traffic": EXPERTS,
            "accelerator": "h800-sxm-80gb",
            "accelerators": "32",
            "model": "deepseek-v3",
            "tokens": "4096",
        },
    ),
    Preset("A gigabyte reduced by eight H200", {"traffic": ALL_REDUCE, "machine": "dgx-h200", "message_mb": "1000"}),
)


CALCULATOR = Calculator(
    id="interconnect",
    title="Interconnect",
    question="How long do these GPUs wait for what they send each other?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=dict,
    render=render,
    status=status,
    headings=("Sending", "Reached by this message, one way", "Beside computing"),
    row=row,
    answer=answer,
)
