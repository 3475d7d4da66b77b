"""An s-op as a one-hot: one form for each of its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from handcraft.compiler.forms import combine
from handcraft.language.values import Outcome, Undefined, Value, order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.forms import Form


@dataclass(frozen=True, slots=True)
class OneHot:
    """An s-op as forms, one for each of its values, of which exactly one is 1.

    `exact`: the forms are 0 and 1 to the last bit in any floating-point format.
    """

    values: tuple[Value, ...]
    forms: tuple[Form, ...]
    exact: bool


def merged(values: Sequence[Value], outcomes: Sequence[Outcome], leaf: OneHot) -> OneHot:
    """Return a function of a one-hot: the forms of the leaf's values that give each value."""
    forms = []
    for value in values:
        members = [
            (1, form)
            for outcome, form in zip(outcomes, leaf.forms, strict=True)
            if not isinstance(outcome, Undefined) and order(outcome) == order(value)
        ]
        forms.append(combine(members))
    return OneHot(tuple(values), tuple(forms), leaf.exact)
