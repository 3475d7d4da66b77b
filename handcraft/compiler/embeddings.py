"""The variables that the embeddings write: the token and the position, as one-hots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.compiler.forms import Form, combine, direction
from handcraft.compiler.onehot import OneHot
from handcraft.language.sequences import TARGET

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from handcraft.compiler.draft import Draft
    from handcraft.language.typed import Header, SourceHeader
    from handcraft.language.values import Value


class Embeddings:
    """Token and position of one sequence, each declared where it is first asked for."""

    def __init__(self, header: Header | SourceHeader, draft: Draft) -> None:
        self.header = header
        self.draft = draft
        self._tokens: str | None = None
        self._positions: OneHot | None = None
        self._one: Form | None = None
        self._sums: dict[str, Form] = {}

    def tokens(self, values: tuple[Value, ...]) -> OneHot:
        """Return the token as a one-hot of these values."""
        name = self.token_variable()
        vocabulary = self.header.vocabulary.tokens
        by_token = {token: direction(name, i) for i, token in enumerate(vocabulary)}
        forms = tuple(by_token[v] for v in values)  # type: ignore[index]
        return OneHot(values, forms, True)

    def token_variable(self) -> str:
        """Return the variable that `wte` writes: a direction for each token."""
        if self._tokens is None:
            labels = [str(token) for token in self.header.vocabulary.tokens]
            self._tokens = self._identity(self._named("tokens"), labels, "token", "the token here")
        return self._tokens

    def positions(self) -> OneHot:
        """Return the position as a one-hot."""
        if self._positions is None:
            n = self.header.context
            labels = [str(i) for i in range(n)]
            name = self._identity(self._named("indices"), labels, "position", "the position here")
            forms = tuple(direction(name, i) for i in range(n))
            self._positions = OneHot(tuple(range(n)), forms, True)
        return self._positions

    def ones(self, read: Set[str]) -> Form:
        """Return a form that is 1 everywhere.

        It sums the directions of the token or the position if that is among the variables read
        anyway, and is a direction of its own otherwise.
        """
        for name, total in self._sums.items():
            if name in read:
                return total
        if self._one is None:
            rows = [[1]] * self.header.context
            name = self.draft.embed("one", ("one",), "position", rows, "1 everywhere")
            self._one = direction(name, 0)
        return self._one

    def _named(self, name: str) -> str:
        """Return the language's name for an s-op of this sequence."""
        return name if self.draft.sequence == TARGET else f"{self.draft.sequence}.{name}"

    def _identity(self, name: str, labels: Sequence[str], by: str, meaning: str) -> str:
        """Declare a one-hot that an embedding writes, and return its name."""
        unique = self.draft.embed_onehot(name, labels, by, meaning)
        self._sums[unique] = combine((1, direction(unique, i)) for i in range(len(labels)))
        return unique
