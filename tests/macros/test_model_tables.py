"""The macros of the pages on models: their sums are those of `calc`, and a wrong call is refused."""

import re
from collections.abc import Iterator
from html import unescape

import pytest

from calc.architecture.parameters import parameters_by_block, parameters_total
from calc.calculators.html import in_words
from calc.catalog import catalog
from calc.scenario.model import known_architecture
from calc.units import show_count
from macros import inline
from macros.cache_tables import cache_table
from macros.expert_tables import expert_layout_table, expert_table, touched_table
from macros.format_tables import (
    bits_table,
    format_table,
    mixture_table,
    mixture_working,
    native_table,
    rounded,
    rounding_table,
)
from macros.links import stand_on
from macros.model_numbers import active, bits, block, changed, config_value, expanded, times, touched
from macros.model_tables import beyond_table, block_table, config_table, model_table, parameter_working


@pytest.fixture(autouse=True)
def page() -> Iterator[None]:
    """A page that macros stand on."""
    stand_on("models/parameters/")
    yield
    inline.restart()


def rows(html: str) -> list[list[str]]:
    """Return the cells of a table as text, without its head."""
    body = html.split("<tbody>")[1].split("</tbody>")[0]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("</tr>") if "<t" in row]
    return [[unescape(re.sub(r"<[^>]+>", "", cell)) for cell in row] for row in cells]


def number(shown: str) -> int:
    """Return a number with separated thousands."""
    return int(shown.replace(",", ""))


@pytest.mark.parametrize("model", ["llama-3.1-8b", "gpt2", "mixtral-8x7b", "deepseek-v3", "gemma-3-4b", "mamba-2.8b"])
def test_the_working_of_parameters_adds_up(model: str) -> None:
    """Each row is elements times how many, each block is the sum of its rows, and the last row is the sum of blocks."""
    architecture = known_architecture(catalog(), model)
    *lines, last = rows(parameter_working(model))
    tensors = [line for line in lines if line[1]]
    sums = [number(line[4]) for line in lines if not line[1]]
    assert all(number(line[2]) * number(line[3]) == number(line[4]) for line in tensors)
    assert sum(number(line[4]) for line in tensors) == sum(sums) == number(last[4]) == parameters_total(architecture)
    assert sums == list(parameters_by_block(architecture).values())


def test_shares_of_blocks_are_whole() -> None:
    """The shares of a model are one hundred percent; a tied output matrix is named, not counted."""
    small, mixture = rows(block_table("llama-3.2-1b", "mixtral-8x7b"))
    assert "tied" in small
    for row in (small, mixture):
        shares = [float(cell.removesuffix(" %")) for cell in row[2:] if re.match(r"\d", cell)]
        assert sum(shares) == pytest.approx(100, abs=0.2)


def test_config_table_shows_what_the_file_says() -> None:
    """A truth value is written as in JSON, and a missing key is an error."""
    table = rows(config_table("llama-3.1-8b", {"hidden_size": "width", "tie_word_embeddings": "tie"}))
    assert [row[2] for row in table] == ["4,096", "false"]
    with pytest.raises(KeyError):
        config_table("llama-3.1-8b", {"n_embd": "width"})


def test_every_model_of_the_catalogue_has_a_row() -> None:
    """The table is whole without scripts, the newest first, and each row leads to a config."""
    html = model_table()
    table = rows(html)
    assert len(table) == len(catalog().ids("models"))
    released = [row[5] for row in table]
    assert released == sorted(released, reverse=True) and released[0] > "2026"
    assert html.count("<gpu-table") == 1
    assert 'type="module" fetchpriority="low" src="../../assets/table/table.mjs"' in html
    total = parameters_total(known_architecture(catalog(), "llama-3.1-8b"))
    assert f'<data value="{total}">' in html


def test_caches_grow_as_their_type_says() -> None:
    """Windows make later tokens cheaper, a state does not grow, and brackets stand beyond the stated context."""
    full, windows, state, short, expanded_row = rows(
        cache_table(
            ("GQA", "llama-3.1-8b"),
            ("windows", "gemma-3-27b"),
            ("state", "mamba-2.8b"),
            ("MQA", "falcon-7b"),
            ("expanded", "deepseek-v3", "expanded"),
        )
    )
    assert full[2] == full[3] == "128.0 KiB"
    assert (windows[2], windows[3]) == ("496.0 KiB", "80.00 KiB")
    assert state[2:6] == ["–"] * 4 and state[6] == "22.50 MiB"
    assert short[5] == "(1.000 GiB)"
    assert expanded_row[2] == "4.766 MiB"


def test_tables_of_experts() -> None:
    """Stored and active, what a batch reaches, and what devices hold."""
    assert rows(expert_table("mixtral-8x7b"))[0][1:5] == ["46.7 billion", "12.9 billion", "27.6 %", "8 / 2"]
    assert rows(touched_table("mixtral-8x7b", batches=(1, 256)))[0][2:] == ["2.0 (28 %)", "7.9 (99 %)"]
    one, eight = rows(expert_layout_table("mixtral-8x7b", ("one", {}), ("eight", {"tensor": 8}), weights="bf16"))
    assert (one[1], eight[1]) == ("1", "8")
    with pytest.raises(ValueError, match="no experts"):
        touched_table("llama-3.1-8b")


def test_tables_of_formats() -> None:
    """Every format and mixture is listed, and a recipe's rows add up to the whole model."""
    assert len(rows(format_table())) == len(list(catalog().number_formats()))
    assert len(rows(mixture_table("llama-3.1-8b"))) == len(list(catalog().mixtures()))
    assert rows(bits_table("llama-3.1-8b", formats=("bf16", "awq")))[0][2:] == ["16.00", "5.71"]
    assert rows(mixture_working("llama-3.1-8b", "q4_k_m"))[-1][4] == "4.89"
    generations = {row[0]: row for row in rows(native_table())}
    assert generations["Hopper"][-2:] == ["yes", "–"]


def test_one_number_in_many_formats() -> None:
    """A fine group is nearer than a coarse one, and FP32 is as the machine has it."""
    table = rows(rounding_table(123.456789, (127.0, 1000.0)))
    assert table[0][2] == "123.4567871"
    assert table[3][1:3] == ["123 × 127 / 127", "123"]
    errors = [float(row[3]) for row in table[3:]]
    assert errors[0] < errors[1] < errors[3]


def test_one_number_inline() -> None:
    """A cast keeps the leading digits; a quantiser reads back whole steps of its group's scale (1000 / 127)."""
    assert "123.5" in rounded(123.456789, "bf16")
    assert "125.984" in rounded(123.456789, "int8", largest=1000)


def test_models_beyond_language() -> None:
    """An encoder keeps nothing, nor does a classifier; a decoder behind one keeps keys and values of both parts."""
    kinds = (("bert-base", "encoder", 512), ("bart-large-mnli", "classifier", 1024), ("bart-large", "writer", 1024))
    bert, mnli, bart = rows(beyond_table(*kinds))
    assert bert[-1] == mnli[-1] == "–"
    assert (mnli[3], bart[-1]) == ("1.629 GB", "48.00 MiB")


def test_an_encoder_of_fixed_length_leaves_all_tokens_to_the_text() -> None:
    """All of Whisper's 448 tokens are written: 32 layers keep 1,500 frames and the text."""
    (whisper,) = rows(beyond_table(("whisper-large-v3", "encoder of sound", 448)))
    assert whisper[-1] == f"{32 * (1500 + 447) * 2 * 1280 * 2 / 2**20:.1f} MiB"


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        (lambda: active("deepseek-v3"), "37.6 billion"),
        (lambda: active("mixtral-8x7b", show="share"), "27.6 %"),
        (lambda: bits("awq"), "4.156 bits"),
        (lambda: bits("awq", "llama-3.2-1b"), "6.67 bits"),
        (lambda: block("llama-3.1-8b", "mlp", show="share"), "70.2 %"),
        (lambda: changed("llama-3.1-8b", num_key_value_heads=32), "8.84 billion"),
        (lambda: config_value("gemma-3-4b", "vision_config.patch_size"), "14"),
        (lambda: expanded("deepseek-v3"), "4.766 MiB"),
        (lambda: touched("mixtral-8x7b", 2), "3.20"),
        (lambda: touched("mixtral-8x7b", 2, "parameters"), "19.6 billion"),
        (lambda: times("token", {"model": "llama-2-7b"}, {"model": "llama-3.1-8b"}), "4.0 times"),
    ],
)
def test_numbers_in_prose_open_to_their_working(html: object, shown: str) -> None:
    """A number is a button with its working beside it."""
    made = html()  # type: ignore[operator]
    assert f">{shown}</button>" in unescape(in_words(made))
    assert "popover" in made and "calc-step" in made


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: block("llama-3.1-8b", "expert"), "no block expert"),
        (lambda: config_value("llama-3.1-8b", "n_embd"), "has no n_embd"),
        (lambda: expanded("llama-3.1-8b"), "no latent attention"),
        (lambda: touched("llama-3.1-8b", 8), "no experts"),
    ],
)
def test_a_number_that_a_model_does_not_have_is_refused(call: object, message: str) -> None:
    """The build stops with what is missing."""
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_exact_counts_are_shown_in_full() -> None:
    """A reader can compare a count with a file, to the byte."""
    assert show_count(16_060_522_496) in inline.number("weights", show="bytes", model="llama-3.1-8b")
