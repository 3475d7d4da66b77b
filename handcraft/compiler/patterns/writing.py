"""Writes the steps that a construction consists of, as nodes of a typed program."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from handcraft.language.recognition import value_of
from handcraft.language.sequences import TARGET
from handcraft.language.typed import (
    Aggregate,
    AllOf,
    Apply,
    Compare,
    Indices,
    Latest,
    Pick,
    Tokens,
    Total,
    Width,
)
from handcraft.language.values import Value
from handcraft.patterns.machine import Inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from handcraft.errors import Span
    from handcraft.language.builder import Builder
    from handcraft.patterns.machine import Answer, Machine

MOST_NUMBERS = 64
"""Answers that are told as numbers; more are told apart by a direction each."""

Key = TypeVar("Key", bound=Value)
Result = TypeVar("Result", bound=Value)


class Writer:
    """Writes one construction of one machine.

    Answers are told by their codes, texts of which no two are alike. So are letters; those have
    the same width, and `nothing` stands for none.

    Attributes:
        builder: makes the nodes.
        machine: what the construction is to know.
        front: positions before the first symbol: one where there is a start token.
        room: the most symbols that a text has.
        nothing: the code of no letter.
        span: the place of what is written.
    """

    def __init__(self, builder: Builder, machine: Machine, span: Span) -> None:
        self.builder = builder
        self.machine = machine
        self.front = int(builder.header.vocabulary.bos is not None)
        self.room = builder.header.context - self.front
        self.span = span
        self._words = builder.words
        self._width = len(str(machine.letter_count - 1))
        self.nothing = "-" * self._width
        self._codes: dict[Answer, str] = {}

    # Codes -----------------------------------------------------------------------------------

    def letter(self, letter: int) -> str:
        """Return the code of a letter."""
        return str(letter).zfill(self._width)

    def code(self, answer: Answer) -> str:
        """Return the code of an answer."""
        if answer not in self._codes:
            shown = answer.answer if isinstance(answer, Inside) else answer
            text = str(value_of(shown, self.builder.header.vocabulary))
            while text in self._codes.values():
                text += "'"
            self._codes[answer] = text
        return self._codes[answer]

    def coded(self) -> tuple[Answer, ...]:
        """Return the answers that have codes."""
        return tuple(self._codes)

    def answers(self, coded: int) -> int:
        """Return the answers that codes stand for, as values of the language.

        A count decides by steps between codes, which are sharper than a line through numbers; so
        are many codes themselves.
        """
        vocabulary = self.builder.header.vocabulary
        known = {code: answer for answer, code in self._codes.items()}
        values = [
            (code, value_of(answer, vocabulary))
            for code, answer in known.items()
            if not isinstance(answer, Inside)
        ]
        if self._is_counted(coded) or len(values) > MOST_NUMBERS:
            self.variable(coded)
        return self.lookup(coded, dict(values))

    def _is_counted(self, node: int) -> bool:
        table = self.builder.nodes[node].table
        leaves = () if table is None else table.leaves
        return any(isinstance(self.builder.nodes[leaf].op, Width | Total) for leaf in leaves)

    @contextmanager
    def step(self, told: str) -> Iterator[None]:
        """Tell of all that is made meanwhile what it is, after the words of the construction."""
        before = self.builder.words
        self.builder.words = f"{self._words}; {told}"
        try:
            yield
        finally:
            self.builder.words = before

    # Steps -----------------------------------------------------------------------------------

    def constant(self, value: Value) -> int:
        """Return the same value everywhere."""
        return self.builder.constant(value, self.span)

    def indices(self) -> int:
        """Return the position."""
        return self.builder.add(Indices(TARGET), self.span)

    def letters(self, results: Mapping[int, Result], otherwise: Value) -> int:
        """Return a function of the letter here; `otherwise` for those left out and for none."""
        vocabulary = self.builder.header.vocabulary
        of_token: dict[Value, Value] = {
            symbol: results.get(letter, otherwise)
            for symbol, letter in zip(self.machine.symbols, self.machine.letters, strict=True)
        }
        tokens = self.builder.add(Tokens(TARGET), self.span)
        every = {token: of_token.get(token, otherwise) for token in vocabulary.tokens}
        return self.lookup(tokens, every)

    def letter_here(self) -> int:
        """Return the code of the letter here."""
        letters = range(self.machine.letter_count)
        return self.letters({each: self.letter(each) for each in letters}, self.nothing)

    def lookup(self, key: int, results: Mapping[Key, Result]) -> int:
        """Return a function of a node, by its results; other values do not occur."""
        options = [self.constant(value) for value in results.values()]
        return self.pick(key, tuple(results), options)

    def pick(self, key: int, values: Sequence[Value], options: Sequence[int]) -> int:
        """Return the option that stands beside the key's value."""
        return self.builder.add(Pick(key, tuple(values), tuple(options)), self.span)

    def variable(self, node: int) -> int:
        """Return a node as a variable of its own: tables that read it read no further."""
        self.builder.keep(node)
        return node

    def join(self, parts: Sequence[int]) -> int:
        """Return texts one after the other."""
        joined = parts[0]
        for part in parts[1:]:
            joined = self.apply("+", joined, part)
        return joined

    def apply(self, function: str, *arguments: int) -> int:
        """Return an element-wise function."""
        return self.builder.add(Apply(function, arguments), self.span)

    # Looking back ----------------------------------------------------------------------------

    def compare(self, op: str, key: int, query: int) -> int:
        """Return the selector of the keys here or before of which a comparison holds."""
        return self.seen(self.builder.add(Compare(op, key, query), self.span))

    def seen(self, selector: int) -> int:
        """Return a selector without the positions after the query."""
        if self.builder.header.attention == "causal":
            return selector
        indices = self.indices()
        past = self.builder.add(Compare("<=", indices, indices), self.span)
        return self.builder.add(AllOf(selector, past), self.span)

    def both(self, left: int, right: int) -> int:
        """Return the entries in both selectors."""
        return self.builder.add(AllOf(left, right), self.span)

    def latest(self, selector: int) -> int:
        """Return the last of the selected keys."""
        return self.builder.add(Latest(selector), self.span)

    def gathered(self, selector: int, value: int, default: Value | None) -> int:
        """Return the mean of the selected values, or the one that all have."""
        kept = None if default is None else self.constant(default)
        return self.builder.add(Aggregate(selector, value, kept), self.span)

    def width(self, selector: int) -> int:
        """Return how many keys are selected."""
        return self.builder.add(Width(selector), self.span)

    def total(self, selector: int, value: int) -> int:
        """Return the sum of the selected values."""
        return self.builder.add(Total(selector, value), self.span)

    def earlier(self, value: int, distance: int, default: Value) -> int:
        """Return the value so many positions before; `default` before the first."""
        if distance == 0:
            return value
        place = self.apply("-", self.indices(), self.constant(distance))
        at = self.builder.add(Compare("==", self.indices(), place), self.span)
        with self.step("the token before" if distance == 1 else f"{distance} tokens before"):
            return self.gathered(at, value, default)
