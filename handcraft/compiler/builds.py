"""What makes s-ops, as the modules see it that make their parts: `sops.Sops`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from handcraft.compiler.forms import Form
    from handcraft.compiler.neurons import Layer
    from handcraft.compiler.onehot import OneHot


class Builds(Protocol):
    """Makes s-ops, each once."""

    def number(self, node: int) -> Form:
        """Return an s-op as a number."""

    def onehot(self, node: int) -> OneHot:
        """Return an s-op, or the positions (a node below 0), as a one-hot."""

    def function(self, node: int, results: Sequence[Fraction]) -> Form:
        """Return a function of a number, by its result for each value of its domain."""

    def truth(self, node: int) -> Form:
        """Return a condition as 0 or 1."""

    def range(self, node: int, form: Form) -> tuple[Fraction, Fraction]:
        """Return bounds on a number's form."""

    def write(self, node: int, layer: Layer, labels: Sequence[str]) -> tuple[Form, ...]:
        """Let neurons write a variable for an s-op; return its outputs as forms."""

    def is_free(self, node: int) -> bool:
        """Return whether an s-op is a function of one one-hot variable."""
