"""The variables that the embeddings write: the token and the position, as one-hots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.compiler.forms import direction
from handcraft.compiler.onehot import OneHot

if TYPE_CHECKING:
    from handcraft.compiler.draft import Draft
    from handcraft.language.typed import Header
    from handcraft.language.values import Value


class Embeddings:
    """Token and position of one program, each declared where it is first asked for."""

    def __init__(self, header: Header, draft: Draft) -> None:
        self.header = header
        self.draft = draft
        self._positions: OneHot | None = None

    def tokens(self, values: tuple[Value, ...]) -> OneHot:
        """Return the token as a one-hot of these values."""
        vocabulary = self.header.vocabulary.tokens
        name = self.token_variable()
        by_token = {token: direction(name, i) for i, token in enumerate(vocabulary)}
        forms = tuple(by_token[v] for v in values)  # type: ignore[index]
        return OneHot(values, forms, True)

    def token_variable(self) -> str:
        """Return the variable that `wte` writes: a direction for each token."""
        if "tokens" not in self.draft.embeddings:
            vocabulary = self.header.vocabulary.tokens
            rows = [[int(i == j) for j in range(len(vocabulary))] for i in range(len(vocabulary))]
            labels = [str(token) for token in vocabulary]
            self.draft.embed("tokens", labels, "token", rows, "the token here")
        return "tokens"

    def positions(self) -> OneHot:
        """Return the position as a one-hot."""
        if self._positions is None:
            n = self.header.context
            rows = [[int(i == j) for j in range(n)] for i in range(n)]
            labels = [str(i) for i in range(n)]
            name = self.draft.embed("indices", labels, "position", rows, "the position here")
            forms = tuple(direction(name, i) for i in range(n))
            self._positions = OneHot(tuple(range(n)), forms, True)
        return self._positions
