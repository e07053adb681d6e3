"""What stands behind a model that reads or sees, by the data that a finetune's name says it was trained on.

Data have so many classes: the counts are those that the data sets' own pages give. A name that says a use and no data
("sentiment", "ner") says no count, and nothing is taken.
"""

import re
from collections.abc import Mapping

from calc.catalog.entries import Entry

READS = (
    *("bert", "roberta", "xlm-roberta", "distilbert", "deberta", "deberta-v2", "electra", "albert", "mpnet"),
    *("camembert", "modernbert", "big_bird", "convbert", "new"),
)
SEES = (
    *("vit", "deit", "beit", "dinov2", "dinov2_with_registers", "swin", "swinv2", "resnet", "regnet"),
    *("convnext", "convnextv2", "efficientnet", "mobilenet_v1", "mobilenet_v2"),
)
ASKED, TEXTS, TOKENS = "ForQuestionAnswering", "ForSequenceClassification", "ForTokenClassification"
IMAGES, VIDEOS, MASKS = "ForImageClassification", "ForVideoClassification", "ForSemanticSegmentation"
# Words of data, the end of the class in transformers that is trained on them, and how many classes they have.
DATA = (
    (r"squad-?(v?[12](\.[01])?)?", READS, ASKED, 2),
    (r"[mxsa]?nli|vitaminc", READS, TEXTS, 3),  # follows, contradicts, or neither
    (r"sst-?2|cola|mrpc|qqp|qnli|rte|imdb|paws|rotten-tomatoes|yelp-polarity|irony|offensive", READS, TEXTS, 2),
    (r"cardiffnlp/.*sentiment(-latest|-multilingual)?", READS, TEXTS, 3),  # of TweetEval (arXiv:2010.12421)
    (r"cardiffnlp/emotion", READS, TEXTS, 4),
    (r"cardiffnlp/.*emoji", READS, TEXTS, 20),
    (r"ag-?news", READS, TEXTS, 4),
    (r"go-?emotions?", READS, TEXTS, 28),
    (r"conll-?(20)?03", READS, TOKENS, 9),
    (r"ontonotes-?5?", READS, TOKENS, 37),
    (r"imagenet-?1k|in1k", SEES, IMAGES, 1000),
    (r"food-?101", SEES, IMAGES, 101),
    (r"cifar-?100", SEES, IMAGES, 100),
    (r"cifar-?10", SEES, IMAGES, 10),
    (r"ade(-?20k)?", ("segformer",), MASKS, 150),
    (r"cityscapes", ("segformer",), MASKS, 19),
    (r"clothes", ("segformer",), MASKS, 18),
    (r"kinetics(-?400)?", ("videomae",), VIDEOS, 400),
    (r"ssv2", ("videomae",), VIDEOS, 174),
)
# What makes vectors of texts ends at the model's own layers, whatever it was trained on; what ranks says how well two
# texts go together.
VECTORS = re.compile(
    r"^sentence-transformers.*/|(?<![a-z0-9])(mean|cls|cos|dot|mnrl?|sbert|simcse|embed(ding)?s?)(?![a-z0-9])"
)
TRAINED = re.compile("For(PreTraining|MaskedLM)")
RANKS = re.compile(r"^cross-encoder/|cross-?encoder|rerank")


def head_behind(owner: str, beside: str, config: Mapping[str, object]) -> Entry:
    """Return what a finetune's config says otherwise than its model's by the words beside that one's name, if anything.

    What was trained by itself loses what that took: codes of sounds, a decoder of pieces, what tells words.

    >>> head_behind("someone", "squad2", {"model_type": "roberta"})
    {'architectures': ['ForQuestionAnswering'], 'num_labels': 2}
    >>> head_behind("someone", "french", {"model_type": "wav2vec2", "architectures": ["Wav2Vec2ForPreTraining"]})
    {'architectures': ['Model']}
    """
    kind, words = config.get("model_type"), f"{owner}/{beside.replace('_', '-')}"
    for data, kinds, end, classes in DATA if not VECTORS.search(words) else ():
        if kind in kinds and re.search(rf"(?<![a-z0-9])({data})(?![a-z0-9])", words):
            return {"architectures": [end], "num_labels": classes}
    if kind in READS and RANKS.search(words):
        return {"architectures": [TEXTS], "num_labels": 1}
    return {"architectures": ["Model"]} if TRAINED.search(str(config.get("architectures"))) else {}
