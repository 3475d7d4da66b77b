"""What was found, as a table: a line for each program, inputs in scope by length.

In brackets stands how many of the inputs are different: every model is compared on all of these.
`in full` is on how many the largest of the models made every product, those by zero included, at
the length where that was the least.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from comparing import Result


def table(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of the table."""
    ordered = sorted(results, key=lambda result: (result.name, result.length))
    lengths = sorted({result.length for result in ordered})
    yield _line(
        "program", [f"in scope, {n} tokens" for n in lengths], "in full", "differences", "seconds"
    )
    for name, group in groupby(ordered, key=lambda result: result.name):
        by_length = {result.length: result for result in group}
        scopes = [_scope(by_length[n]) if n in by_length else "-" for n in lengths]
        yield _line(name, scopes, *_costs(list(by_length.values())))
    total = [f"{sum(r.in_scope for r in ordered if r.length == n):,}" for n in lengths]
    yield _line("all", total, *_costs(ordered))


def _scope(result: Result) -> str:
    return f"{result.in_scope:,} ({result.distinct:,})"


def _costs(results: Sequence[Result]) -> tuple[str, str, str]:
    in_full = min(min(result.in_full.values()) for result in results)
    differences = sum(sum(result.differences.values()) for result in results)
    return f"{in_full:,}", f"{differences:,}", f"{sum(result.seconds for result in results):.1f}"


def _line(name: str, scopes: Sequence[str], in_full: str, differences: str, seconds: str) -> str:
    columns = "".join(f"{scope:>22}" for scope in scopes)
    return f"{name:<34}{columns}{in_full:>9}{differences:>13}{seconds:>10}"
