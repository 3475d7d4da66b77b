"""What all tests share: reproducible random examples, and golden texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parent / "golden"

# The same examples in every run; `--hypothesis-profile thorough` draws new ones, and many more.
settings.register_profile("reproducible", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("thorough", derandomize=False, deadline=None, max_examples=5000)
settings.load_profile("reproducible")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the texts in tests/golden anew"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with the file of that name in tests/golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path.name} is missing; run pytest --update-golden and read it"
        assert text == path.read_text(encoding="utf-8")

    return compare
