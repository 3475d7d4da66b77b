"""Helpers for tests of compiled models: accuracy on a text, random inputs, words and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from handcraft.errors import InputError
from handcraft.language.program import parse
from handcraft.patterns.automaton import distances
from handcraft.patterns.build import automaton_of

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    message = 'handcraft.testing needs Hypothesis: pip install "handcraft[test]"'
    raise ModuleNotFoundError(message, name=error.name) from None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from handcraft.language.program import Program
    from handcraft.patterns.automaton import Automaton
    from handcraft.runtime.model import Model
    from handcraft.runtime.vocabulary import Text, Token

T = TypeVar("T")

ATTENTIONS = ("causal", "bidirectional")
CONTEXTS = (2, 6)
"""The smallest and the largest context of a random program, unless one is given."""

DEEPEST = 3
"""Constructs that stand inside one another in a random expression."""

MOST_DEFINITIONS = 3
"""Names that a random program gives to values before it comes to its result."""


class Accuracy(NamedTuple):
    """How many predictions were right, and how many there were."""

    hits: int
    total: int

    def __str__(self) -> str:
        return f"{self.hits}/{self.total}"


def accuracy(model: Model, text: Text, prefixes: Iterable[int] | None = None) -> Accuracy:
    """Count the tokens of a text that the model predicts from what stands before them.

    Args:
        model: a model that predicts tokens.
        text: a text; a declared `bos` is not counted among its tokens.
        prefixes: how many tokens each prediction sees; from 2 to all but two without it.

    Raises:
        InputError: `bad-prefix` where no token follows such a prefix.
    """
    tokens = model.vocabulary.split(text)
    if model.vocabulary.bos is not None:
        tokens = tokens[1:]
    lengths = range(2, len(tokens) - 1) if prefixes is None else tuple(prefixes)
    for length in lengths:
        if not 0 <= length < len(tokens):
            raise InputError("bad-prefix", f"no token follows a prefix of {length} tokens")
    hits = sum(model.predict(tokens[:length]) == tokens[length] for length in lengths)
    return Accuracy(hits, len(lengths))


def inputs(
    program: Program, *, min_size: int = 1, max_size: int | None = None
) -> SearchStrategy[tuple[Token, ...]]:
    """Return a strategy for the texts that a program can read, as tuples of tokens.

    A declared `bos` is left out: every call puts it in front. In a program with a source these are
    the texts that stand beside it; `sources` are what it reads.

    Args:
        program: the program.
        min_size: tokens of the shortest text.
        max_size: tokens of the longest text; as many as the context holds without it.
    """
    vocabulary = program.typed.vocabulary
    tokens = [token for token in vocabulary.tokens if token != vocabulary.bos]
    if max_size is None:
        max_size = program.context - (vocabulary.bos is not None)
    return st.lists(st.sampled_from(tokens), min_size=min_size, max_size=max_size).map(tuple)


def words(
    pattern: str, *, vocab: str | Sequence[Token] | range | None = None, longest: int = 20
) -> SearchStrategy[tuple[Token, ...]]:
    """Return a strategy for the words of a pattern, as tuples of tokens.

    Args:
        pattern: the pattern.
        vocab: the tokens; the symbols of the pattern without it.
        longest: tokens of the longest word; as many as the shortest one has, if that is longer.

    Raises:
        ProgramError: for a mistake in the pattern.
    """
    known = None
    if vocab is not None:
        known = parse("output 0;", vocab=vocab, context=2).typed.vocabulary
    return _words(automaton_of(pattern, known), longest)


@st.composite
def _words(draw: DrawFn, automaton: Automaton, longest: int) -> tuple[Token, ...]:
    away = distances(automaton)
    state = automaton.start
    text: list[Token] = []
    room = max(longest, away[state])
    while True:
        rows = zip(automaton.symbols, automaton.transitions[state], strict=True)
        steps = [(symbol, target) for symbol, target in rows if away.get(target, room) < room]
        ends = state in automaton.accepting
        if ends and (not steps or draw(st.booleans())):
            return tuple(text)
        symbol, state = draw(st.sampled_from(steps))
        text.append(symbol)
        room -= 1


def sources(
    program: Program, *, min_size: int = 0, max_size: int | None = None
) -> SearchStrategy[tuple[Token, ...]]:
    """Return a strategy for the sources that a program can read, as tuples of tokens.

    Args:
        program: the program.
        min_size: tokens of the shortest source.
        max_size: tokens of the longest source; as many as its context holds without it.

    Raises:
        InputError: `no-source` where the program has none.
    """
    source = program.typed.header.source
    if source is None:
        raise InputError("no-source", "the program has no `source`", help="use `inputs`")
    longest = source.context if max_size is None else max_size
    tokens = st.sampled_from(source.vocabulary.tokens)
    return st.lists(tokens, min_size=min_size, max_size=longest).map(tuple)


def programs(*, context: int | None = None, attention: str | None = None) -> SearchStrategy[str]:
    """Return a strategy for the texts of well-typed programs.

    They have numbers, tokens and booleans, selectors and whatever makes one of another, and every
    kind of result. `handcraft.parse` takes them all, unless a decision in them is made on more
    values than the language allows (`domain-too-large`) or no value is left at all (`no-meaning`).
    A program need not have a meaning on every input.

    Args:
        context: the context of all of them; from 2 to 6 without it.
        attention: `"causal"` or `"bidirectional"` for all of them; either without it.
    """
    contexts = st.integers(*CONTEXTS) if context is None else st.just(context)
    attentions = st.sampled_from(ATTENTIONS) if attention is None else st.just(attention)
    return _programs(contexts, attentions)


@st.composite
def _programs(draw: DrawFn, contexts: SearchStrategy[int], attentions: SearchStrategy[str]) -> str:
    words = draw(st.sampled_from(_VOCABULARIES))
    lines = [*words.header, f"context {draw(contexts)};", f"attention {draw(attentions)};"]
    writer = _Writer(draw, words)
    lines += [writer.definition() for _ in range(draw(st.integers(0, MOST_DEFINITIONS)))]
    if draw(st.integers(0, 9)) == 9:
        lines.append(f"assume {writer.boolean(1)};")
    return "\n".join((*lines, writer.result())) + "\n"


class _Words(NamedTuple):
    """A vocabulary as a program writes it.

    Attributes:
        header: the statements that declare it.
        tokens: the tokens that can be predicted, as expressions.
        bos: the start token, as an expression.
        numeric: the tokens are numbers.
    """

    header: tuple[str, ...]
    tokens: tuple[str, ...]
    bos: str | None
    numeric: bool


_VOCABULARIES = (
    _Words(('vocab "ab";',), ('"a"', '"b"'), None, False),
    _Words(('vocab "abc";',), ('"a"', '"b"', '"c"'), None, False),
    _Words(("vocab 0..2;",), ("0", "1", "2"), None, True),
    _Words(('vocab ["up", "down"];',), ('"up"', '"down"'), None, False),
    _Words(('vocab "ab";', 'bos "^";'), ('"a"', '"b"'), '"^"', False),
    _Words(('vocab "ab";', 'bos "^";', 'eos ".";'), ('"a"', '"b"', '"."'), '"^"', False),
)


class _Writer:
    """Writes random expressions, each of one kind and of bounded depth.

    Of the ways to write one, the simplest stands first: failures shrink to it.
    """

    def __init__(self, draw: DrawFn, words: _Words) -> None:
        self.draw = draw
        self.words = words
        self.names: dict[str, tuple[str, ...]] = {}

    def definition(self) -> str:
        """Return a statement that names a value; later expressions use the name."""
        kinds: dict[str, Callable[[int], str]] = {
            "number": self.number,
            "token": self.token,
            "boolean": self.boolean,
            "selector": self.selector,
        }
        kind = self._pick(tuple(kinds))
        expression = kinds[kind](2)
        known = self.names.get(kind, ())
        name = f"{kind}_{len(known) + 1}"
        self.names[kind] = (*known, name)
        return f"{name} = {expression};"

    def result(self) -> str:
        """Return the statements that say the program's result."""
        return self._one_of(self._output, self._predict, self._allow, self._logits)

    # Kinds of expressions --------------------------------------------------------------------

    def number(self, depth: int = DEEPEST) -> str:
        """Return a numeric expression."""
        if depth == 0:
            simple = ["indices", self._digit(), f"indicator(tokens == {self._token_constant()})"]
            simple += ["tokens"] if self.words.numeric else [self._table(self._digit, "tokens")]
            return self._pick((*simple, *self.names.get("number", ())))
        less = depth - 1
        return self._one_of(
            lambda: self.number(0),
            lambda: f"({self.number(less)} {self._pick('+-')} {self.number(less)})",
            lambda: f"{self._pick(('(2 * ', '(-1/2 * ', '-('))}{self.number(less)})",
            lambda: f"({self.number(less)} {self._pick(('/', '//', '%'))} {self._pick('23')})",
            lambda: f"{self._pick(('abs', 'floor', 'sign'))}({self.number(less)})",
            lambda: f"{self._pick(('max', 'min'))}({self.number(less)}, {self.number(0)})",
            lambda: f"indicator({self.boolean(less)})",
            lambda: self._choice(self.number, less),
            lambda: self._table(self._digit, self.token(less)),
            lambda: f"[{self._digit()}, {self._digit()}][indices % 2]",
            lambda: f"selector_width({self.selector(less)})",
            lambda: f"sum({self.selector(less)}, {self.number(less)})",
            lambda: f"aggregate({self.selector(less)}, {self.number(less)})",
            lambda: self._gathered(self.selector(less), self.number, less),
            lambda: f"{self._pick(('max', 'min'))}({self.selector(less)}, {self.number(0)}, 0)",
        )

    def token(self, depth: int = DEEPEST) -> str:
        """Return an expression whose value is a token at every position."""
        if depth == 0:
            return self._pick(("tokens", self._token_constant(), *self.names.get("token", ())))
        less = depth - 1
        return self._one_of(
            lambda: self.token(0),
            lambda: self._choice(self.token, less),
            lambda: self._table(self._token_constant, self.token(less)),
            lambda: f"[{self._token_constant()}, {self.token(less)}][indices % 2]",
            lambda: f"aggregate({self._one_key(less)}, {self.token(less)}, {self.token(0)})",
        )

    def boolean(self, depth: int = DEEPEST) -> str:
        """Return an expression that is true or false."""
        if depth == 0:
            equal = f"(tokens == {self._token_constant()})"
            later = f"(indices > {self._digit()})"
            return self._pick((equal, later, *self.names.get("boolean", ())))
        less = depth - 1
        listed = ", ".join(self.words.tokens[1:])
        return self._one_of(
            lambda: self.boolean(0),
            lambda: f"({self.number(less)} {self._comparison()} {self.number(less)})",
            lambda: f"({self.token(less)} {self._pick(('==', '!='))} {self.token(0)})",
            lambda: f"({self.boolean(less)} {self._pick(('and', 'or'))} {self.boolean(less)})",
            lambda: f"(not {self.boolean(less)})",
            lambda: f"({self.token(less)} in [{listed}])",
            lambda: f"(0 <= {self.number(less)} < {self._digit()})",
            lambda: self._choice(self.boolean, less),
            lambda: f"has_focus({self.selector(less)})",
            lambda: self._gathered(self._one_key(less), self.boolean, less),
        )

    def selector(self, depth: int = DEEPEST) -> str:
        """Return a selector."""
        if depth == 0:
            return self._pick(("full_s", "past", "before", *self.names.get("selector", ())))
        less = depth - 1
        return self._one_of(
            lambda: self.selector(0),
            lambda: self._select(self.number, less, self._comparison()),
            lambda: self._select(self.token, less, self._pick(("==", "!="))),
            lambda: self._select(self.boolean, less, "=="),
            lambda: f"({self.selector(less)} and {self.selector(less)})",
            lambda: f"({self.selector(less)} or {self.selector(less)})",
            lambda: f"(not {self.selector(less)})",
            lambda: self._one_key(less),
        )

    def _one_key(self, depth: int) -> str:
        """Return a selector that takes at most one key."""
        return self._one_of(
            lambda: f"select(indices, indices - {self._pick('12')}, ==)",
            lambda: f"{self._pick(('latest', 'first'))}({self.selector(depth)})",
            lambda: f"best({self.selector(depth)}, {self.number(0)})",
        )

    # Results ---------------------------------------------------------------------------------

    def _output(self) -> str:
        value = self._one_of(self.number, self.token, self.boolean, self._number_or_another)
        return f"output {value};"

    def _number_or_another(self) -> str:
        default = self._one_of(lambda: '"none"', lambda: self.token(1), lambda: self.boolean(1))
        return f"aggregate({self.selector(2)}, {self.number(1)}, {default})"

    def _predict(self) -> str:
        value = self.token()
        return f"predict {value if self.words.bos is None else self._onto_tokens(value)};"

    def _onto_tokens(self, value: str) -> str:
        """Return a table that leads from every token, `bos` included, to one that can follow."""
        return self._table(self._token_constant, value)

    def _allow(self) -> str:
        first, *others = self.words.tokens
        lines = [f"allow {token} if {self.boolean(2)};" for token in others]
        return "\n".join((f"allow {first} if True;", *lines))

    def _logits(self) -> str:
        rows = ", ".join(f"{token}: {self.number(2)}" for token in self.words.tokens)
        return f"logits {{{rows}}};"

    # Parts -----------------------------------------------------------------------------------

    def _choice(self, kind: Callable[[int], str], depth: int) -> str:
        return f"({kind(depth)} if {self.boolean(depth)} else {kind(0)})"

    def _gathered(self, selector: str, kind: Callable[[int], str], depth: int) -> str:
        return f"aggregate({selector}, {kind(depth)}, {kind(0)})"

    def _select(self, kind: Callable[[int], str], depth: int, comparison: str) -> str:
        return f"select({kind(depth)}, {kind(0)}, {comparison})"

    def _table(self, value: Callable[[], str], key: str) -> str:
        keys = self.words.tokens if self.words.bos is None else (self.words.bos, *self.words.tokens)
        return "{" + ", ".join(f"{k}: {value()}" for k in keys) + f"}}[{key}]"

    def _token_constant(self) -> str:
        return self._pick(self.words.tokens)

    def _digit(self) -> str:
        return self._pick("0123")

    def _comparison(self) -> str:
        return self._pick(("==", "<", "<=", ">", ">=", "!="))

    def _one_of(self, *ways: Callable[[], str]) -> str:
        return self._pick(ways)()

    def _pick(self, options: Sequence[T]) -> T:
        # By number: Hypothesis hashes what it samples from, and functions have no lasting hash.
        return options[self.draw(st.sampled_from(range(len(options))))]
