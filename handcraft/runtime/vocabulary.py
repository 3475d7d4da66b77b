"""Tokens: what a model can read and write, and how text is split into them and joined again.

numpy is not imported here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias, assert_never

from handcraft.errors import HandcraftError, InputError, Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Token: TypeAlias = str | int
Kind: TypeAlias = Literal["characters", "words", "integers"]
Text: TypeAlias = str | Sequence[Token]

INPUT = "<input>"
"""The name of an input text in errors."""

MOST_LISTED = 20
"""Tokens that an error lists; a longer vocabulary is cut."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens of a model, in the order of their ids.

    Attributes:
        kind: how text is split: into code points, at white space, or into integers.
        tokens: no two with the same text form.
        bos: the token that every sequence begins with, if there is one.
        eos: the token that ends generation, if there is one.
    """

    kind: Kind
    tokens: tuple[Token, ...]
    bos: Token | None = None
    eos: Token | None = None
    _by_text: Mapping[str, Token] = field(init=False, repr=False, compare=False)
    _ids: Mapping[Token, int] = field(init=False, repr=False, compare=False)
    _longest: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(self)
        by_text = {str(token): token for token in self.tokens}
        ids = {token: number for number, token in enumerate(self.tokens)}
        object.__setattr__(self, "_by_text", MappingProxyType(by_text))
        object.__setattr__(self, "_ids", MappingProxyType(ids))
        object.__setattr__(self, "_longest", max(map(len, by_text)))

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, item: object) -> bool:
        return self._token(item) is not None

    def split(self, text: Text, name: str = INPUT) -> tuple[Token, ...]:
        """Return the tokens of a text, `bos` in front whether or not the text has it.

        Args:
            text: a string, or the tokens themselves (integers also in their text form).
            name: what errors call the text.

        Raises:
            InputError: `unknown-token`, with the position counted from 0; `bad-text`.
        """
        if isinstance(text, str):
            tokens = tuple(self._split(Source(text, name)))
        else:
            tokens = tuple(self._known(item, place) for place, item in enumerate(_items(text)))
        if self.bos is not None and tokens[:1] != (self.bos,):
            return (self.bos, *tokens)
        return tokens

    def join(self, tokens: Sequence[Token]) -> str:
        """Return the text of tokens: characters side by side, others with one space between."""
        return ("" if self.kind == "characters" else " ").join(map(str, tokens))

    def id(self, token: Token) -> int:
        """Return the number of a token: its row in `wte.weight`."""
        return self._ids[self._known(token, 0)]

    def _token(self, item: object) -> Token | None:
        if isinstance(item, bool):
            return None
        if isinstance(item, str):
            token = self._by_text.get(item)
            return token if isinstance(token, str) or self.kind == "integers" else None
        if isinstance(item, Integral):
            number = int(item)
            return number if number in self._ids else None
        return None

    def _known(self, item: object, place: int) -> Token:
        token = self._token(item)
        if token is None:
            self._unknown(item, place, None)
        return token

    def _split(self, source: Source) -> Iterator[Token]:
        match self.kind:
            case "characters":
                for place, character in enumerate(source.text):
                    if character not in self._by_text:
                        self._unknown(character, place, Span(source, place, place + 1))
                    yield self._by_text[character]
            case "integers":
                for place, piece in enumerate(re.finditer(r"\S+", source.text)):
                    if piece[0] not in self._by_text:
                        self._unknown(piece[0], place, Span(source, *piece.span()))
                    yield self._by_text[piece[0]]
            case "words":
                place = 0
                for piece in re.finditer(r"\S+", source.text):
                    for start, end in self._words(piece[0]):
                        span = Span(source, piece.start() + start, piece.start() + end)
                        if span.text not in self._by_text:
                            self._unknown(span.text, place, span)
                        yield self._by_text[span.text]
                        place += 1
            case _:
                assert_never(self.kind)

    def _words(self, piece: str) -> Iterator[tuple[int, int]]:
        """Yield the bounds of the words in a piece, the longest first; the rest is unknown."""
        start = 0
        while start < len(piece):
            ends = range(min(len(piece), start + self._longest), start, -1)
            end = next((end for end in ends if piece[start:end] in self._by_text), len(piece))
            yield start, end
            start = end

    def _unknown(self, item: object, place: int, span: Span | None) -> NoReturn:
        close = get_close_matches(str(item), self._by_text, n=1)
        listed = " ".join(f"`{token}`" for token in self.tokens[:MOST_LISTED])
        more = " ..." if len(self) > MOST_LISTED else ""
        raise InputError(
            "unknown-token",
            f"`{item}` at position {place} is not in the vocabulary",
            span,
            help=f"write `{close[0]}`" if close else f"the vocabulary is {listed}{more}",
        )


def vocabulary(
    kind: Kind, tokens: Sequence[Token], bos: Token | None = None, eos: Token | None = None
) -> Vocabulary:
    """Return a vocabulary; `bos` and `eos` are added at its end if they are missing."""
    every = list(tokens)
    for marker in (bos, eos):
        if marker is not None and marker not in every:
            every.append(marker)
    return Vocabulary(kind, tuple(every), bos, eos)


def _items(text: object) -> Sequence[object]:
    if isinstance(text, bytes | bytearray | memoryview) or not isinstance(text, Sequence):
        raise InputError(
            "bad-text", f"a text is a string or a list of tokens, found `{type(text).__name__}`"
        )
    return text


def _check(vocabulary: Vocabulary) -> None:
    """Raise `bad-vocabulary` where text and tokens could not be told apart."""
    if not vocabulary.tokens:
        raise HandcraftError("bad-vocabulary", "a vocabulary needs at least one token")
    seen: set[str] = set()
    for token in vocabulary.tokens:
        if isinstance(token, bool) or not isinstance(token, str | int):
            raise HandcraftError("bad-vocabulary", f"a token is text or a number, not `{token}`")
        if str(token) in seen:
            raise HandcraftError("bad-vocabulary", f"the token `{token}` is there twice")
        seen.add(str(token))
        if isinstance(token, str):
            _check_text(vocabulary.kind, token)
        elif vocabulary.kind != "integers":
            raise HandcraftError(
                "bad-vocabulary", f"a vocabulary of {vocabulary.kind} has no number `{token}`"
            )
    for role, marker in (("bos", vocabulary.bos), ("eos", vocabulary.eos)):
        if marker is not None and marker not in vocabulary.tokens:
            raise HandcraftError("bad-vocabulary", f"{role} `{marker}` is not in the vocabulary")
    if vocabulary.bos is not None and vocabulary.bos == vocabulary.eos:
        raise HandcraftError(
            "bad-vocabulary",
            f"`{vocabulary.bos}` cannot both begin and end a text: bos is never produced",
        )


def _check_text(kind: Kind, token: str) -> None:
    if kind == "characters" and len(token) != 1:
        raise HandcraftError(
            "bad-vocabulary",
            f"`{token}` is not one character",
            help="write the vocabulary as a list of words",
        )
    if kind != "characters" and (not token or re.search(r"\s", token)):
        raise HandcraftError(
            "bad-vocabulary",
            f"`{token}` is not one word: words are what stands between white space",
        )
