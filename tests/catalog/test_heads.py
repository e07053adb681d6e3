"""What stands behind an encoder is read from the data that a finetune's name says it was trained on."""

import pytest

from calc import estimate


@pytest.mark.parametrize(
    ("name", "parameters"),
    [  # of the files of models alike, which the Models Explorer of March 2025 counts, positions' numbers left out
        ("someone/deberta-v3-large-mnli-fever", 435_064_835),
        ("someone/rubert-base-cased-nli", 177_855_747),
        ("someone/wav2vec2-xls-r-300m-lithuanian", 315_438_720),  # without letters, whose number no name says
        ("cross-encoder/ms-marco-electra-base-discriminator", 109_483_009),
        ("sentence-transformers/nli-mpnet-base-v2", 109_486_464),
        ("sentence-transformers/stsb-distilbert-base", 66_362_880),
    ],
)
def test_data_have_so_many_classes(name: str, parameters: int) -> None:
    """A finetune has the classes of its data in place of what its base was trained with; vectors have none."""
    report = estimate({"model": name})
    assert report["model"]["parameters_total"] == parameters
    assert "model-trained-on" in {warning["code"] for warning in report["warnings"]}


def test_a_finetune_drops_what_only_training_took() -> None:
    """BERT's own file has what tells words and whether a sentence follows; what was trained on it has not."""
    whole, finetune = (
        estimate({"model": name})["model"]["parameters_total"]
        for name in ("google-bert/bert-base-uncased", "someone/bert-base-uncased-reviews")
    )
    assert (whole, finetune) == (110_106_428, 109_482_240)
