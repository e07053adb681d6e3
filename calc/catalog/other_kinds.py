"""What a model is that the catalogue does not have because it is of no kind that the guide models, told by its name."""

import re

KINDS = (
    (
        "drafts for another model, and is none by itself: ask for that model",
        r"eagle[-_.]?3?|dflash\d*|dspark|draft(er)?|speculator|medusa",
    ),
    ("is an adapter to another model: ask for that model", r"q?lora|adapter"),
    ("is a tiny one of random weights, for tests", r"\w+-internal-testing|tiny-random|tiny-gpt2"),
    ("is a folder of models that were converted for one kind of device: ask for one of them", r"whisperkit"),
    ("marks words by labels that it reads beside them, with layers of its own behind an encoder", r"gliner2?"),
    ("finds and follows what words name in images, with decoders of its own behind a tower", r"sam3(\.1)?|sam2(\.1)?"),
    (
        "is a convolutional network of a shape that is not known",
        r"(se-?)?resn[ex]t\d*|wide_resnet\d*|(tf_)?efficientnet(v2)?(_?\w\d)?|(tf_)?mobilenet(v\d)?|mobileone"
        r"|(dinov3-)?convnext(v2)?|densenet\d*|vgg\d+|inception|regnet[xyz]?|hrnet|repvgg|unet|yolo(v?\d+)?\w?|adetailer|ecapa"
        r"|tdnn|campplus|superpoint|bigvgan|hifigan|vocos|miewid|pp-ocrv\d_\w+"
        r"|[a-z\d]*res2?ne[xs]?t(v2|rs)?\d*\w?|legacy_senet\d*|cs(p|3)\w+|darknet\d*\w?|hgnet(v2)?|(fb|(sem?|sp)?nas|mnas|mix|ghost|repghost|lc|star|faster)net(v?\d|c)?"
        r"|dla\d+\w*|rexnetr?|(eca_|ese_)?vovnet\d+\w|dpn\d+\w?|hardcorenas|xception\d*\w?|rdnet|selecsls\d+\w?|gernet|convmixer|mambaout|poolformer(v2)?|convformer"
        r"|densenetblur\d+\w|tf_mixnet|semnasnet|spnasnet|csatv2|repvit|regnetv",
    ),
    ("mixes the pieces of an image by MLPs, without attention", r"resmlp|g?mixer|gmlp"),
    (
        "has layers of several widths, with convolutions or windows that move between",
        r"fastvit|mobilevit(v2)?|swin(v2|2sr)?|hiera|cvt|focalnet|pvt|levit|glpn|maskformer|mask2former|oneformer|upernet|birefnet|rmbg"
        r"|donut|clap|grounding-dino|maxx?vit(v2)?|coat(net|next)|caformer|nest|twins|gcvit|davit|edgenext|efficient(vit|vim|former(v2)?)|mvitv2|pit|nextvit"
        r"|swiftformer|tiny_vit|crossvit|volo|visformer|shvit|tnt|\w*halo(net|regnetz)\w*|\w*botnet\w*|sequencer2d",
    ),
    (
        "makes images or video by diffusion",
        r"stable-diffusion|sdxl(-vae)?|sd-vae|sd-?[1-3](\.\d)?|flux|dreamshaper|z-image|qwen-image|glm-image|wan-?\d|ltx"
        r"|hunyuan-?video|controlnet|minimax-h3",
    ),
    (
        "writes a whole piece of text at once by diffusion, in place of word after word",
        r"diffusion-?gemma|llada(\d(\.\d)?)?",
    ),
    ("makes sound from text", r"stable-audio(-open)?"),
    ("is served by its maker, who publishes no weights", r"\A(chatgpt|gpt-?[45]|claude|gemini|grok-?[3-9])[\w.-]*"),
    ("is a table of vectors of words, without layers", r"glove|potion|static-(similarity|retrieval)|fasttext|word2vec"),
    (
        "hears by a conformer that shortens sound with convolutions",
        r"parakeet|canary|fastconformer|granite-speech|sortformer|diar",
    ),
    (
        "reads pieces of a time series in place of words",
        r"timesfm|chronos-(bolt|2)|granite-(timeseries-)?ttm|time-series-transformer|informer|autoformer|patchtst|patchtsmixer|moirai|toto",
    ),
    ("has a head of convolutions behind its encoder of images", r"depth-anything|dpt|vitpose"),
    ("finds objects by layers between which it convolves, at several sizes", r"rt-?detr|d-?fine"),
    ("writes sound by a decoder and convolutions of its own", r"speecht5|moshiko|moshika|bark"),
    ("reads bytes and joins them to pieces of its own", r"blt|byt-?latent"),
    ("decides what to do from rewards and states in place of words", r"decision-transformer"),
    (
        "speaks: behind its layers of text it has others that write sound",
        r"(glm|ming-omni|voxtral-\d+b|higgs-audio-v3)-tts|lfm2(\.\d)?-audio|moss-(ttsd?|soundeffect|voicegenerator)|indextts|voxcpm\d*"
        r"|fish-(speech|audio)|s2-pro|kimi-audio|step-audio",
    ),
    ("marks words by recurrence over vectors that others made", r"flair"),
    ("reads tables of numbers in place of words", r"tabpfn"),
    ("is a codec of sound", r"encodec|dac|snac|mimi"),
    ("is made of convolutions and recurrence", r"pyannote|silero|sepformer|wespeaker|metricgan"),
)

# Models of kinds that are modelled, of which no source at hand says the shape.
SHAPELESS = (
    ("which of its layers share a cache and an indexer", r"mistral-large-4(\.0)?"),
    ("how large it is", r"inkling-2"),
    ("the shape of its tower; deepseek-v4-flash reads the same text", r"deepseek-v4-flash-vision"),
    ("how it weighs values by experts", r"k2-horizon-mova"),
)


def shape_unsaid(name: str) -> str | None:
    """Return what no source says of a model that is known by its name, None for one that is not known either.

    >>> shape_unsaid("mistralai/Mistral-Large-4.0-1T05-A52B")
    'which of its layers share a cache and an indexer'
    """
    words = re.sub(r"[\s_]+", "-", name.casefold())
    return next((said for said, named in SHAPELESS if re.search(rf"(?<![a-z0-9])({named})(?![a-z0-9])", words)), None)


def other_kind(name: str) -> str | None:
    """Return what a model is that is of no kind that is modelled, by the words of its name; None where they do not say.

    >>> other_kind("descript/dac_44khz")
    'is a codec of sound'
    >>> other_kind("meta-llama/Llama-9") is None
    True
    """
    owner, _, bare = name.casefold().rpartition("/")
    # All of these owners' are of one kind, and named for their use.
    words = owner if owner in ("pyannote", "flair") or owner.endswith("-internal-testing") else bare
    return next((said for said, kind in KINDS if re.search(rf"(?<![a-z0-9])({kind})(?![a-z])", words)), None)
