"""How numbers and strings are spelled: read from the text of a literal, and written as one."""

from __future__ import annotations

import re
from fractions import Fraction

LARGEST = 10**1000
"""Numerator and denominator of a number that is written out stay below this."""

_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}
_WRITTEN = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"'}
_SURROGATES = range(0xD800, 0xE000)


class LiteralError(ValueError):
    """A literal that stands for no value; `start` and `end` are places in the literal."""

    def __init__(self, message: str, start: int, end: int, help_: str) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end
        self.help = help_


def read_number(literal: str) -> Fraction:
    """Return the exact value of `3`, `0.25` or `1e3`.

    Raises:
        LiteralError: the number has more than a thousand digits before or after the point.
    """
    _, _, exponent = literal.lower().partition("e")
    small = len(literal) <= 3000 and len(exponent) <= 5 and abs(int(exponent or "0")) <= 2000
    value = Fraction(literal) if small else Fraction(LARGEST)
    if value.numerator >= LARGEST or value.denominator >= LARGEST:
        raise LiteralError(
            "the number is too long",
            0,
            len(literal),
            "numbers have at most 1000 digits before the point, and about as many after it",
        )
    return value


def write_number(value: Fraction) -> str:
    """Return the decimal of a number that has a finite one and is not negative."""
    twos, fives, rest = 0, 0, value.denominator
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    assert rest == 1, f"{value} has no finite decimal"
    assert value >= 0, f"{value} is written with a sign, which is an operator"
    places = max(twos, fives)
    digits = str(value.numerator * (10**places // value.denominator)).rjust(places + 1, "0")
    whole, fraction = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{whole}.{fraction}" if places else whole


def read_text(literal: str) -> str:
    r"""Return the characters of a string with its quotes: `"a\n"`.

    Raises:
        LiteralError: an escape is unknown, or stands for half a character.
    """
    return _ESCAPE.sub(_unescaped, literal[1:-1])


def places_in(literal: str) -> tuple[int, ...]:
    """Return where each character of a string's value stands in the literal, and where it ends."""
    places: list[int] = []
    at = 1
    for match in _ESCAPE.finditer(literal, 1, len(literal) - 1):
        places.extend((*range(at, match.start()), match.start()))
        at = match.end()
    return (*places, *range(at, len(literal)))


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    start, end = match.start() + 1, match.end() + 1
    if len(escape) > 1:
        code = int(escape[1:], 16)
        if code in _SURROGATES:
            help_ = "write the character itself"
            raise LiteralError(f"`\\{escape}` is half a character", start, end, help_)
        return chr(code)
    if escape not in _ESCAPED:
        raise LiteralError(
            f"`\\{escape}` is no escape",
            start,
            end,
            "the escapes are `\\n \\t \\r \\\\ \\\" \\' \\x41 \\u0041`; a backslash is `\\\\`",
        )
    return _ESCAPED[escape]


def write_text(value: str) -> str:
    """Return the string in double quotes, with escapes where they are needed."""
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(character: str) -> str:
    if character in _WRITTEN:
        return _WRITTEN[character]
    if character.isprintable() or ord(character) > 0xFFFF:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"
