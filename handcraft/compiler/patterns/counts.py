"""The latest resetting symbol decides, or counts of symbols, from the start on or since then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.language.sequences import TARGET
from handcraft.language.typed import Full

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from handcraft.compiler.patterns.writing import Writer
    from handcraft.patterns.classes import Count, Counter, Counting, Reset


def by_reset(writer: Writer, kind: Reset) -> int:
    """Return the codes of answers that the latest resetting symbol decides."""
    value, _ = _latest(writer, kind.resets)
    return writer.lookup(
        value, {str(number): writer.code(answer) for number, answer in enumerate(kind.answers)}
    )


def by_counts(writer: Writer, kind: Counting, *, read: bool) -> int:
    """Return the codes of answers that counts decide, since the latest resetting symbol if any.

    Args:
        writer: writes the steps.
        kind: what is counted.
        read: whether counts are made numbers before anything is decided, which takes a layer and
            tells large ones apart; else they are decided on as a head delivers them.
    """
    since, value = None, None
    if any(value is not None for value in kind.resets):
        value, place = _latest(writer, kind.resets)
        since = writer.compare(">", writer.indices(), place)
    with writer.step("the count"):
        totals = [_total(writer, counter, since) for counter in kind.counters]
    if read:
        none = writer.constant(0)
        totals = [writer.variable(writer.apply("+", total, none)) for total in totals]
    if value is None:
        return _decided(writer, kind.counters, totals, kind.counts)
    values = sorted({count.value for count in kind.counts})
    options = [
        _decided(writer, kind.counters, totals, [c for c in kind.counts if c.value == each])
        for each in values
    ]
    if len(set(options)) == 1:
        return options[0]
    return writer.pick(value, [str(each) for each in values], options)


def _latest(writer: Writer, resets: Sequence[int | None]) -> tuple[int, int]:
    """Return the value that the latest resetting symbol sets, and where that stands, else -1."""
    values = {letter: str(value) for letter, value in enumerate(resets) if value is not None}
    sets = writer.letters(values, writer.nothing)
    setting = writer.compare("!=", sets, writer.constant(writer.nothing))
    latest = writer.latest(setting)
    several = len(set(values.values())) > 1
    with writer.step("the latest resetting token"):
        value = writer.gathered(latest if several else setting, sets, "0")
        return value, writer.gathered(latest, writer.indices(), -1)


def _total(writer: Writer, counter: Counter, since: int | None) -> int:
    """Return the sum of the weights of the symbols so far, or of those after the latest reset."""
    weights = dict(enumerate(counter.weights))
    if set(counter.weights) <= {0, 1}:
        steps = writer.letters({k: bool(v) for k, v in weights.items()}, False)
        counted = writer.compare("==", steps, writer.constant(True))
        return writer.width(counted if since is None else writer.both(since, counted))
    if since is None:
        since = writer.seen(writer.builder.add(Full(TARGET, TARGET), writer.span))
    return writer.total(since, writer.letters(weights, 0))


def _decided(
    writer: Writer, counters: Sequence[Counter], totals: Sequence[int], counts: Sequence[Count]
) -> int:
    """Return the codes of the answers for these totals of the counters."""
    answers = {count.totals: writer.code(count.answer) for count in counts}
    if len(counters) == 1:
        ((counter, total),) = zip(counters, totals, strict=True)
        found = {
            number: answers[stands,]
            for number, stands in _folded(writer, counter)
            if (stands,) in answers
        }
        return writer.lookup(total, found)
    return _by_each(writer, counters, totals, answers)


def _by_each(
    writer: Writer,
    counters: Sequence[Counter],
    totals: Sequence[int],
    answers: Mapping[tuple[int, ...], str],
) -> int:
    """Return the codes by the first counter, then by the second, and so on."""
    if not counters:
        return writer.constant(answers[()])
    first = {stands[0] for stands in answers}
    folded = writer.lookup(
        totals[0], {n: str(stands) for n, stands in _folded(writer, counters[0]) if stands in first}
    )
    writer.variable(folded)
    options = {}
    for each in sorted(first):
        rest = {stands[1:]: code for stands, code in answers.items() if stands[0] == each}
        options[str(each)] = _by_each(writer, counters[1:], totals[1:], rest)
    return writer.pick(folded, tuple(options), tuple(options.values()))


def _folded(writer: Writer, counter: Counter) -> Iterator[tuple[int, int]]:
    """Yield every sum that a counter may have, and the number that stands for it."""
    low = min(0, *counter.weights) * writer.room
    high = max(0, *counter.weights) * writer.room
    for number in range(low, high + 1):
        yield number, counter.folded(number)
