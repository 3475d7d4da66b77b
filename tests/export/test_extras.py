"""What is told where a library of the extra is missing."""

from __future__ import annotations

import sys

import pytest

from handcraft.errors import HandcraftError
from handcraft.extras import extra


def test_a_library_that_is_there_is_returned() -> None:
    assert extra("json").dumps([1]) == "[1]"


def test_a_missing_library_is_told_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(HandcraftError) as caught:
        extra("onnx")
    assert str(caught.value) == (
        "missing-extra: `onnx` cannot be imported; it comes with the extra `export`\n"
        "help: pip install 'handcraft[export]'"
    )
