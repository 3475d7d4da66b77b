"""With `--random-inputs N`: every short input, and N random inputs of 9, 20 and 40 tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import comparing
import pytest
from comparing import assert_agrees
from processes import started

import handcraft
from handcraft.checking import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from comparing import Result
    from processes import Futures

LONGEST = 5

every_file = pytest.mark.parametrize("path", comparing.FILES, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def some(request: pytest.FixtureRequest) -> Iterator[Futures]:
    with started(request, int(request.config.getoption("random_inputs"))) as futures:
        yield futures


@pytest.mark.parametrize("length", comparing.LENGTHS)
@every_file
def test_random_inputs(
    path: Path, length: int, some: Futures, in_table: Callable[[Result], Result]
) -> None:
    assert_agrees(in_table(some[path, length].result()))


@every_file
def test_every_short_input_of_three_tokens(path: Path) -> None:
    program = handcraft.parse(path)
    report = check(program, comparing.models(program), longest=LONGEST, random=0)
    assert report.holds, report
    assert report.compared > 0
