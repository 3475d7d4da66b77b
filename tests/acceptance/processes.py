"""Comparisons side by side, in two processes."""

from __future__ import annotations

from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, TypeAlias, cast

import comparing
import pytest
from comparing import Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PROCESSES = 2

Futures: TypeAlias = "Mapping[tuple[Path, int], Future[Result]]"


@contextmanager
def started(request: pytest.FixtureRequest, count: int) -> Iterator[Futures]:
    """Start `comparing.compare_at` for the path and length of every test that waits for it.

    Args:
        request: of the fixture that starts them.
        count: random inputs in scope, for each of them.
    """
    assert request.fixturename is not None
    calls = [
        cast("tuple[Path, int]", (item.callspec.params["path"], item.callspec.params["length"]))
        for item in request.session.items
        if isinstance(item, pytest.Function) and request.fixturename in item.fixturenames
    ]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        yield {call: pool.submit(comparing.compare_at, *call, count) for call in calls}
        pool.shutdown(cancel_futures=True)
