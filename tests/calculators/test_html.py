"""Writing HTML: elements and tables to the letter."""

import pytest

from calc.calculators.html import FEW, SEEN, element, escaped, quoted, searched, table, text


def test_text_is_escaped_everywhere() -> None:
    """Each sign as often as it stands there, ampersands first."""
    assert text("a & b && <c> <d>") == "a &amp; b &amp;&amp; &lt;c&gt; &lt;d&gt;"
    assert quoted('"a" <b>') == "&quot;a&quot; &lt;b&gt;"
    assert text(8192) == "8192"


def test_addresses_are_escaped_by_the_byte() -> None:
    """What RFC 3986 reserves is written as % and two hexadecimal digits of each UTF-8 byte, but for , : and /."""
    assert escaped("aZ0-._~,:/") == "aZ0-._~,:/"
    assert escaped("a b&c=\n") == "a%20b%26c%3D%0A"
    assert escaped("é€") == "%C3%A9%E2%82%AC"


def test_elements_to_the_letter() -> None:
    """Attributes in their order; True has no value, None and False are left out, 0 is a value; an input has no end."""
    assert element("p") == "<p></p>"
    assert element("p", "x", class_="a", data_one_two=0, hidden=True, id=None, open=False) == (
        '<p class="a" data-one-two="0" hidden>x</p>'
    )
    assert element("input", name='a"b') == '<input name="a&quot;b">'


@pytest.mark.parametrize("address", ["../?a=b:c", "#a:b", "page/a:b", "https://a.b/c:d", "?q=x:y#z", "", "a?b/c:d"])
def test_addresses_of_this_site_and_https(address: str) -> None:
    """A colon after the first slash, question mark or number sign begins no scheme."""
    assert element("a", "x", href=address, src=address, action=address).count(f'"{address}"') == 3


@pytest.mark.parametrize("address", ["http://a.b/", "mailto:a@b.c", "a:b?c", "a:b#c", "a:b/c", ":x", "xhttps://a"])
def test_other_schemes_are_refused(address: str) -> None:
    """What stands before the first colon would be a scheme; the message has the beginning of the address."""
    with pytest.raises(ValueError, match=r"^an address must be of this site or begin with https://, not '") as caught:
        element("a", "x", href=address)
    assert repr(address) in str(caught.value)


def test_a_table_to_the_letter() -> None:
    """The first cell of a row heads it; columns after the worded ones are figures; the box has the caption's name."""
    assert table(["A", "B"], [["a", "1"], ["b", "2"]], caption="C & D", class_="mine") == (
        '<div class="calc-scroll" tabindex="0" role="region" aria-label="C &amp; D"><table class="mine">'
        "<caption>C &amp; D</caption>"
        '<thead><tr><th scope="col">A</th><th class="calc-figure" scope="col">B</th></tr></thead>'
        '<tbody><tr><th scope="row">a</th><td class="calc-figure">1</td></tr>'
        '<tr><th scope="row">b</th><td class="calc-figure">2</td></tr></tbody></table></div>'
    )


def test_a_table_without_a_caption() -> None:
    """Its box is called a table; worded columns may be a number of the first ones, or positions."""
    assert table(["A"], []) == (
        '<div class="calc-scroll" tabindex="0" role="region" aria-label="Table"><table class="">'
        '<thead><tr><th scope="col">A</th></tr></thead><tbody></tbody></table></div>'
    )
    row = [["a", "b", "c"]]
    assert table(["A", "B", "C"], row, words=2).count("calc-figure") == 2
    assert '<td>b</td><td class="calc-figure">c</td>' in table(["A", "B", "C"], row, words=2)
    assert '<td class="calc-figure">b</td><td>c</td>' in table(["A", "B", "C"], row, words={0, 2})


def test_a_table_to_search_to_the_letter() -> None:
    """A field with its label, and how many of the rows are left, which those who do not see are told."""
    plain, rows = table(["A"], [["a"]] * (FEW + 1)), FEW + 1
    assert searched(plain, "cards & chips") == (
        '<gpu-table data-things="cards &amp; chips"><div class="filtered-search">'
        '<label>Filter cards &amp; chips <input type="search" autocomplete="off" spellcheck="false"></label>'
        f'<p role="status">{rows} of {rows} cards &amp; chips</p></div>{plain}</gpu-table>'
    )


def test_a_table_of_few_rows_is_sorted_alone() -> None:
    """Where a look finds a row no field asks for it, unless it asks for numbers."""
    plain = table(["A"], [["a"]] * FEW)
    said = f'<p role="status">{FEW} of {FEW} cards</p>'
    assert searched(plain, "cards") == f'<gpu-table data-things="cards">{said}{plain}</gpu-table>'
    assert 'type="search"' in searched(plain, "cards", "<label></label>")


@pytest.mark.parametrize(("rows", "long"), [(SEEN, False), (SEEN + 1, True)])
def test_a_table_that_is_not_seen_whole_says_so(rows: int, long: bool) -> None:
    """Until its last rows are there, its columns have not their widths."""
    found = searched(table(["A"], [["a"]] * rows), "rows")
    assert found.startswith('<gpu-table class="gpu-long" data-things' if long else "<gpu-table data-things")
