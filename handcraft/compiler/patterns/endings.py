"""The last symbols, or the position, or both decide: a head for each symbol back, and a table."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from handcraft.language.domain_rules import LARGEST_JOINT_TABLE
from handcraft.language.recognition import ends

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from handcraft.compiler.patterns.writing import Writer
    from handcraft.patterns.classes import Case, Position, Suffix, SuffixAtPosition
    from handcraft.patterns.machine import Answer


def by_position(writer: Writer, kind: Position, back: int = 0) -> int:
    """Return the codes of answers that the number of symbols decides.

    Args:
        writer: writes the steps.
        kind: the answers.
        back: of how many symbols less the answer is.
    """
    found = {}
    for index in range(writer.builder.header.context):
        symbols = max(0, index + 1 - writer.front - back)
        answer = kind.answers[folded(symbols, kind.preperiod, kind.period)]
        if answer is not None:
            found[index] = writer.code(answer)
    return writer.lookup(writer.indices(), found)


def by_suffix(writer: Writer, kind: Suffix, back: int = 0) -> int:
    """Return the codes of answers that the last symbols decide.

    Args:
        writer: writes the steps.
        kind: the cases.
        back: of how many symbols less the answer is.
    """
    if kind.length == 0:
        return writer.constant(writer.code(kind.cases[0].answer))
    if ends(writer.machine, kind.length) <= LARGEST_JOINT_TABLE:
        return writer.lookup(_ending(writer, kind.length, back), dict(_table(writer, kind)))
    return _by_halves(writer, kind, back)


def by_suffix_at_position(writer: Writer, kind: SuffixAtPosition, back: int = 0) -> int:
    """Return the codes of answers that the last symbols and their number decide together."""
    sizes = [
        folded(max(0, index + 1 - writer.front - back), kind.preperiod, kind.period)
        for index in range(writer.builder.header.context)
    ]
    names = {size: f"{size}:" for size in sizes}
    place = writer.lookup(
        writer.indices(), {index: names[size] for index, size in enumerate(sizes)}
    )
    results = {}
    for size in sorted(set(sizes)):
        for text in _texts(writer, kind.length):
            letters = [each for each in text if each is not None]
            if len(letters) == min(size, kind.length):
                answer = _answer(kind.cases[size], letters)
                if answer is not None:
                    results[names[size] + _written(writer, text)] = writer.code(answer)
    ending = [] if kind.length == 0 else [_ending(writer, kind.length, back)]
    return writer.lookup(writer.join([place, *ending]), results)


def folded(number: int, preperiod: int, period: int) -> int:
    """Return the number that stands for one in a sequence that is periodic at last."""
    return number if number < preperiod else preperiod + (number - preperiod) % period


def _ending(writer: Writer, length: int, back: int) -> int:
    """Return the codes of the last letters, the oldest first."""
    here = writer.letter_here()
    offsets = range(back + length - 1, back - 1, -1)
    return writer.join([writer.earlier(here, offset, writer.nothing) for offset in offsets])


def _by_halves(writer: Writer, kind: Suffix, back: int) -> int:
    """Return the codes by the older half of the last letters, then by the newer one."""
    near = kind.length // 2
    far = kind.length - near
    parts = []
    for length, behind in ((far, back + near), (near, back)):
        texts = [_written(writer, text) for text in _texts(writer, length)]
        ending = _ending(writer, length, behind)
        parts.append(writer.variable(writer.lookup(ending, {text: text for text in texts})))
    older, newer = parts
    width = far * len(writer.nothing)
    results: dict[str, dict[str, str]] = {}
    for text, code in _table(writer, kind):
        results.setdefault(text[:width], {})[text[width:]] = code
    options = [writer.lookup(newer, codes) for codes in results.values()]
    return writer.pick(older, tuple(results), options)


def _table(writer: Writer, kind: Suffix) -> Iterator[tuple[str, str]]:
    by_letters = {(case.letters, case.is_whole): case.answer for case in kind.cases}
    for text in _texts(writer, kind.length):
        letters = tuple(each for each in text if each is not None)
        answer = by_letters.get((letters, True)) if None in text else None
        ends_ = (by_letters.get((letters[start:], False)) for start in range(len(letters) + 1))
        answer = next((each for each in (answer, *ends_) if each is not None), None)
        if answer is not None:
            yield _written(writer, text), writer.code(answer)


def _texts(writer: Writer, length: int) -> Iterator[Sequence[int | None]]:
    """Yield every text of so many letters, shorter ones with nothing in front."""
    for size in range(length + 1):
        for letters in product(range(writer.machine.letter_count), repeat=size):
            yield (*(None,) * (length - size), *letters)


def _written(writer: Writer, text: Sequence[int | None]) -> str:
    return "".join(writer.nothing if each is None else writer.letter(each) for each in text)


def _answer(cases: Sequence[Case], letters: Sequence[int]) -> Answer | None:
    """Return the answer after the last letters of a text."""
    for case in cases:
        own = len(case.letters)
        if own <= len(letters) and tuple(letters[len(letters) - own :]) == case.letters:
            return case.answer
    return None
