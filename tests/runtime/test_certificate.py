"""What a certificate says, and what it cannot be."""

from __future__ import annotations

import pytest

from handcraft.errors import HandcraftError
from handcraft.runtime.certificate import Certificate, HeadBound, Threshold, Verdict

YES = Verdict("float64", True, 0.5, 8.0)
NO = Verdict("float16", False, 9.0, 8.0, "`width` can be off by 9")


def test_a_certificate_tells_its_verdicts() -> None:
    certificate = Certificate((YES, NO))
    assert certificate.formats == ("float64", "float16")
    assert certificate.proved == ("float64",)
    assert certificate.verdict("float16") == NO
    assert certificate.verdict("float32") is None
    assert certificate.text == "proved in float64; not in float16"
    assert Certificate((YES,)).text == "proved in float64"
    assert Certificate((NO,)).text == "not proved in any format"


@pytest.mark.parametrize("number", [-1.0, float("inf"), float("nan")])
def test_bounds_are_numbers_from_zero_on(number: float) -> None:
    with pytest.raises(HandcraftError, match="no bounds"):
        Verdict("float32", True, number, 1.0)
    with pytest.raises(HandcraftError, match="no bounds"):
        HeadBound("a", 0, 0, 1.0, (number,))
    with pytest.raises(HandcraftError, match="no bounds"):
        Threshold("a", 0, 0, (1.0, number))


def test_a_certificate_does_not_contradict_itself() -> None:
    with pytest.raises(HandcraftError, match="`float32` is proved, and is not"):
        Verdict("float32", True, 0.0, 1.0, "why not")
    with pytest.raises(HandcraftError, match="two verdicts on one format"):
        Certificate((YES, YES))
    with pytest.raises(HandcraftError, match="2 numbers do not fit 1 formats"):
        Certificate((YES,), (HeadBound("a", 0, 0, 1.0, (0.0, 0.0)),))
