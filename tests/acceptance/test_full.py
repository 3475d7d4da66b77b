"""The full run, `pytest -m full`: every program, 10,000 random inputs in scope of each length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import comparing
import pytest
from comparing import assert_agrees
from processes import started

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from comparing import Result
    from processes import Futures

INPUTS = 10_000

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def full_run(request: pytest.FixtureRequest) -> Iterator[Futures]:
    with started(request, INPUTS) as futures:
        yield futures


@pytest.mark.parametrize("length", comparing.LENGTHS)
@pytest.mark.parametrize("path", comparing.FILES, ids=lambda path: path.stem)
def test_random_inputs(
    path: Path, length: int, full_run: Futures, in_table: Callable[[Result], Result]
) -> None:
    assert_agrees(in_table(full_run[path, length].result()))
