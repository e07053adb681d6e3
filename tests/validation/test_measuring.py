"""What the scripts that measure on a device ask is what the contract takes."""

import pytest

from calc import estimate
from tests.measure import one_device, served


@pytest.mark.parametrize("case", served.CASES, ids=str)
def test_every_point_of_a_served_case_is_predicted(case: dict[str, object]) -> None:
    for scenario in served.scenarios(case):
        assert estimate({**scenario, "accelerator": "h200-sxm-141gb"})["speed"]["output_tokens_per_s"]["typical"] > 0


def test_every_case_of_a_plain_loop_is_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    one_device.predict([case for cases in one_device.LISTS.values() for case in cases], ["h200-sxm-141gb"])
    assert "error" not in capsys.readouterr().out
