"""Which texts a model can go on with: the automaton of its pattern, kept beside the weights.

numpy is not imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from handcraft.errors import HandcraftError, InputError, Source, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.runtime.vocabulary import Token, Vocabulary

Rows: TypeAlias = tuple[tuple[int | None, ...], ...]

LONGEST_SHOWN = 60
"""Characters of a text that an error shows."""


@dataclass(frozen=True, slots=True)
class Guide:
    """The states from which some word can still be reached.

    Attributes:
        symbols: the tokens that texts consist of, without start and end tokens.
        rows: `[state][symbol]`, the next state, or None where no word begins so; state 0 is that
            of the empty text.
        words: the states whose texts are words.
    """

    symbols: tuple[Token, ...]
    rows: Rows
    words: tuple[int, ...]

    def __post_init__(self) -> None:
        states = range(len(self.rows))
        if not states or any(len(row) != len(self.symbols) for row in self.rows):
            raise HandcraftError("bad-guide", "the automaton has no row of symbols for each state")
        named = (target for row in (*self.rows, self.words) for target in row)
        if not all(target is None or target in states for target in named):
            raise HandcraftError("bad-guide", "the automaton leads to a state that is not there")

    def check_symbols(self, vocabulary: Vocabulary) -> None:
        """Raise `bad-guide` unless the symbols are the vocabulary's tokens without its markers."""
        markers = (vocabulary.bos, vocabulary.eos)
        if self.symbols != tuple(t for t in vocabulary.tokens if t not in markers):
            raise HandcraftError("bad-guide", "the automaton is not about the model's tokens")

    def check_alive(self, tokens: Sequence[Token], vocabulary: Vocabulary) -> int:
        """Return the state after a text, or refuse one that no word begins with.

        Args:
            tokens: the text, a declared `bos` in front.
            vocabulary: the tokens of the model.

        Raises:
            InputError: `dead-text`, with the position of the first token after which no word can
                be reached, counted from 1.
        """
        text = tokens[int(vocabulary.bos is not None) :]
        places = {symbol: place for place, symbol in enumerate(self.symbols)}
        state = 0
        for number, token in enumerate(text):
            place = places.get(token)
            target = None if place is None else self.rows[state][place]
            if target is None:
                raise self._dead(text, number, state, vocabulary)
            state = target
        return state

    def check(self, tokens: Sequence[Token], vocabulary: Vocabulary) -> None:
        """Refuse a text after which no token may come.

        Args:
            tokens: the text, a declared `bos` in front.
            vocabulary: the tokens of the model.

        Raises:
            InputError: `dead-text`; `finished-text` for a word that no longer one begins with,
                where there is no `eos` to say so.
        """
        state = self.check_alive(tokens, vocabulary)
        if vocabulary.eos is None and not self.following(state):
            shown = _shown(tokens[int(vocabulary.bos is not None) :], vocabulary)
            message = f"text {shown} is finished: no longer word begins with it"
            help_ = "declare an `eos`, which then follows every word"
            raise InputError("finished-text", message, help=help_)

    def following(self, state: int) -> tuple[Token, ...]:
        """Return the symbols that keep a text the beginning of a word, in their order."""
        pairs = zip(self.symbols, self.rows[state], strict=True)
        return tuple(symbol for symbol, target in pairs if target is not None)

    def _dead(
        self, text: Sequence[Token], number: int, state: int, vocabulary: Vocabulary
    ) -> InputError:
        message = f"text {_shown(text, vocabulary)} cannot be continued: position {number + 1}"
        before = _shown(text[:number], vocabulary)
        following = " or ".join(f"`{token}`" for token in self.following(state)) or "only the end"
        where = f"after {before}" if number else "first"
        source = Source(vocabulary.join(text), "<input>")
        start = len(vocabulary.join([*text[:number], ""])) if number else 0
        span = Span(source, start, start + len(str(text[number])))
        return InputError("dead-text", message, span, help=f"{where} comes {following}")


def _shown(text: Sequence[Token], vocabulary: Vocabulary) -> str:
    joined = vocabulary.join(text)
    short = joined if len(joined) <= LONGEST_SHOWN else f"{joined[: LONGEST_SHOWN - 3]}..."
    return f'"{short}"'
