"""Tables of devices that are not alike."""

from macros.split_tables import split_table


def test_each_split_names_the_fullest_and_the_slowest() -> None:
    """Two thirds on the small card do not fit; with a sixth it is fast."""
    html = split_table("qwen3-32b", "q4_k_m", ("rtx-3090", "rtx-3060-12gb"), (), (1, 2), (5, 1))
    assert "by free memory" in html and "1 : 2" in html and "5 : 1" in html
    assert html.count(">yes<") == 2 and "missing" in html and "GeForce RTX 3060 12GB" in html
