"""JSON that is read strictly: every value knows the path to it, and is of its type or refused.

Members that many models have no use for are left out where they say so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeVar

from handcraft.errors import HandcraftError

if TYPE_CHECKING:
    from collections.abc import Mapping

SPARED: Mapping[str, object] = {
    "recipe": None,
    "source_vocabulary": None,
    "encoder": None,
    "norm_place": "before",
    "n_cross": 0,
    "d_cross": 0,
    "sequence": "tokens",
    "across": False,
}
"""Members that are left out where they say this: all but the first are about a source."""

T = TypeVar("T")


def read_json(text: str) -> Node:
    """Return what a JSON text says.

    Raises:
        HandcraftError: `bad-manifest` where it is broken, or says a name twice.
    """
    try:
        parsed = json.loads(text, object_pairs_hook=_members, parse_constant=_refuse_constant)
    except RecursionError:
        raise HandcraftError("bad-manifest", "its JSON is nested too deeply") from None
    except ValueError as error:
        raise HandcraftError("bad-manifest", f"its JSON is broken ({error})") from None
    return Node(parsed, "")


def spare(value: object) -> object:
    """Return JSON without the members that say nothing more than that there is no source."""
    match value:
        case dict():
            kept = {n: v for n, v in value.items() if n not in SPARED or v != SPARED[n]}
            return {name: spare(inner) for name, inner in kept.items()}
        case list() | tuple():
            return [spare(item) for item in value]
        case _:
            return value


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the JSON and the path to it."""

    value: object
    path: str

    def mapping(self) -> Mapping[str, object]:
        """Return the object that it is."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return self.value

    def named(self) -> dict[str, Node]:
        """Return the members of an object by name."""
        return {
            name: Node(value, f"{self.path}.{name}".strip("."))
            for name, value in self.mapping().items()
        }

    def members(self, names: str, spared: str = "") -> dict[str, Node]:
        """Return the members of an object that has exactly these names, those spared if need be."""
        found = self.named()
        for name in spared.split():
            found.setdefault(name, Node(SPARED[name], f"{self.path}.{name}".strip(".")))
        expected = [*names.split(), *spared.split()]
        for name in expected:
            if name not in found:
                raise HandcraftError(
                    "bad-manifest", f"`{f'{self.path}.{name}'.strip('.')}` is missing in its JSON"
                )
        if len(found) > len(expected):
            extra = min(set(found) - set(expected))
            raise HandcraftError("bad-manifest", f"`{found[extra].path}` is unknown in its JSON")
        return found

    def items(self) -> list[Node]:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            self.refuse("a list")
        return [Node(value, f"{self.path}[{n}]") for n, value in enumerate(self.value)]

    def text(self) -> str:
        """Return the text that it is."""
        if not isinstance(self.value, str):
            self.refuse("text")
        return self.value

    def flag(self) -> bool:
        """Return the truth value that it is."""
        if not isinstance(self.value, bool):
            self.refuse("true or false")
        return self.value

    def integer(self) -> int:
        """Return the whole number that it is."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.refuse("a whole number")
        return self.value

    def number(self) -> float:
        """Return the number that it is, as float64."""
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            self.refuse("a number")
        try:
            return float(self.value)
        except OverflowError:
            self.refuse("a number within float64")

    def one_of(self, names: tuple[T, ...]) -> T:
        """Return which of the names it is."""
        found = next((name for name in names if name == self.value), None)
        if found is None:
            self.refuse(f"one of {', '.join(map(str, names))}")
        return found

    def refuse(self, expected: str) -> NoReturn:
        """Raise `bad-manifest`: something else was expected here."""
        found = repr(self.value)
        short = found if len(found) <= 40 else f"{found[:37]}..."
        raise HandcraftError(
            "bad-manifest", f"`{self.path or 'the whole'}` of its JSON is `{short}`, not {expected}"
        )


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise HandcraftError("bad-manifest", "its JSON has a name twice")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise HandcraftError("bad-manifest", f"its JSON has the number `{name}`")
