"""Values and element-wise functions: exact, total, and the same for every stage.

A value is an `int`, a `Fraction` (never integral), a `str` or a `bool`. A function that has no
value for its arguments returns an `Undefined` that says why; an `Undefined` argument is passed
on. Interpreter, domains and compiled tables all compute with the functions of this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, TypeAlias

from handcraft.language.elementary import cosine, exponential, logarithm, power, root, sine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Value: TypeAlias = int | Fraction | str | bool
Numeric: TypeAlias = int | Fraction

LARGEST_BITS = 4096
"""A number whose numerator or denominator needs more bits has no place in a program."""

LONGEST_TEXT = 4096
"""A string made by `+` has at most this many characters."""

LONGEST_SHOWN = 60
"""Characters of a value that a message shows."""


@dataclass(frozen=True, slots=True)
class Undefined:
    """Why there is no value: a kebab-case code and a sentence."""

    code: str
    message: str


Outcome: TypeAlias = Value | Undefined


def kind(value: Value) -> str:
    """Return `"number"`, `"string"` or `"boolean"`."""
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


def order(value: Value) -> tuple[int, int | Fraction | str]:
    """Return a key that sorts values of all kinds and tells `True` from `1`."""
    if isinstance(value, bool):
        return (1, int(value))
    return (2, value) if isinstance(value, str) else (0, value)


def normal(number: Numeric) -> Numeric:
    """Return an integral fraction as an `int`."""
    if isinstance(number, int):
        return number
    return number.numerator if number.denominator == 1 else number


def truth(value: Value) -> bool:
    """Return whether a boolean or number counts as true."""
    return bool(value)


def show(value: Value) -> str:
    """Return the value as the language writes it."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return '"' + escaped.replace("\t", "\\t").replace("\r", "\\r") + '"'
    return str(value)


def cut(value: Value) -> str:
    """Return the value as the language writes it, cut where it is long."""
    text = show(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def plain(value: Value) -> str:
    """Return the value as text without quotes: what `str(...)` gives in a program."""
    return str(value)


def apply(function: str, arguments: Sequence[Outcome]) -> Outcome:
    """Apply the element-wise function of that name; undefined arguments are passed on."""
    for argument in arguments:
        if isinstance(argument, Undefined):
            return argument
    return FUNCTIONS[function](*arguments)


def _number(value: Value) -> Numeric:
    if isinstance(value, bool):
        return int(value)
    assert not isinstance(value, str)
    return value


def _bounded(number: Numeric) -> Outcome:
    number = normal(number)
    bits = max(number.numerator.bit_length(), number.denominator.bit_length())
    if bits > LARGEST_BITS:
        return _too_many_bits()
    return number


def _too_many_bits() -> Undefined:
    return Undefined("number-too-large", f"the result needs more than {LARGEST_BITS} bits")


def _add(a: Value, b: Value) -> Outcome:
    if isinstance(a, str) and isinstance(b, str):
        if len(a) + len(b) > LONGEST_TEXT:
            message = f"the result has more than {LONGEST_TEXT} characters"
            return Undefined("text-too-long", message)
        return a + b
    return _bounded(_number(a) + _number(b))


def _subtract(a: Value, b: Value) -> Outcome:
    return _bounded(_number(a) - _number(b))


def _multiply(a: Value, b: Value) -> Outcome:
    return _bounded(_number(a) * _number(b))


def _divide(a: Value, b: Value) -> Outcome:
    if b == 0:
        return Undefined("division-by-zero", f"`{cut(a)} / 0` divides by zero")
    return _bounded(Fraction(_number(a)) / _number(b))


def _floor_divide(a: Value, b: Value) -> Outcome:
    if b == 0:
        return Undefined("division-by-zero", f"`{cut(a)} // 0` divides by zero")
    return _bounded(_number(a) // _number(b))


def _modulo(a: Value, b: Value) -> Outcome:
    if b == 0:
        return Undefined("division-by-zero", f"`{cut(a)} % 0` divides by zero")
    return _bounded(_number(a) % _number(b))


def _raise(a: Value, b: Value) -> Outcome:
    base, exponent = _number(a), _number(b)
    if base == 0 and exponent < 0:
        return Undefined("division-by-zero", f"`0 ^ {cut(b)}` divides by zero")
    if isinstance(exponent, int):
        size = max(base.numerator.bit_length(), base.denominator.bit_length())
        if (size - 1) * abs(exponent) > LARGEST_BITS:
            return _too_many_bits()
        return _bounded(Fraction(base) ** exponent)
    if base < 0:
        return Undefined("no-real-value", f"`{cut(a)} ^ {cut(b)}` is not a real number")
    return _real(power(Fraction(base), exponent), f"{cut(a)} ^ {cut(b)}")


def _real(number: Fraction | None, text: str) -> Outcome:
    if number is None:
        return Undefined("number-too-large", f"`{text}` passes the range of float64")
    return normal(number)


def _root(a: Value) -> Outcome:
    number = Fraction(_number(a))
    if number < 0:
        return Undefined("no-real-value", f"`sqrt({cut(a)})` is not a real number")
    return normal(root(number))


def _logarithm(a: Value) -> Outcome:
    number = Fraction(_number(a))
    if number <= 0:
        return Undefined("no-real-value", f"`log({cut(a)})` is not a real number")
    return normal(logarithm(number))


def _integer(a: Value) -> Outcome:
    if not isinstance(a, str):
        return int(_number(a))
    text = a.strip()
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 1000:
        return Undefined("not-a-number", f"{cut(a)} is not a whole number")
    return int(text)


def _decimal(a: Value) -> Outcome:
    if not isinstance(a, str):
        return _number(a)
    whole, _, part = a.strip().lstrip("+-").partition(".")
    digits = whole + part
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 1000:
        return Undefined("not-a-number", f"{cut(a)} is not a number")
    number = Fraction(int(digits), 10 ** len(part))
    return normal(-number if a.strip().startswith("-") else number)


def _boolean(a: Value) -> Outcome:
    if not isinstance(a, str):
        return truth(a)
    if a in ("True", "T", "1"):
        return True
    if a in ("False", "F", "0"):
        return False
    return Undefined("not-a-boolean", f"{cut(a)} is not a boolean")


def _sign(a: Value) -> Outcome:
    number = _number(a)
    return (number > 0) - (number < 0)


def _magnitude(a: Value) -> Numeric:
    number = _number(a)
    return number if number >= 0 else -number


def _least(*values: Value) -> Numeric:
    return normal(min(Fraction(_number(value)) for value in values))


def _largest(*values: Value) -> Numeric:
    return normal(max(Fraction(_number(value)) for value in values))


def compare(op: str, a: Value, b: Value) -> bool:
    """Return `a op b`; values of different kinds are unequal, and have no order."""
    return COMPARISONS[op](a, b)


COMPARISONS: dict[str, Callable[[Value, Value], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,  # type: ignore[operator]
    "<=": lambda a, b: a <= b,  # type: ignore[operator]
    ">": lambda a, b: a > b,  # type: ignore[operator]
    ">=": lambda a, b: a >= b,  # type: ignore[operator]
}

FUNCTIONS: dict[str, Callable[..., Outcome]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "//": _floor_divide,
    "%": _modulo,
    "^": _raise,
    **COMPARISONS,
    "negate": lambda a: normal(-_number(a)),
    "not": lambda a: not truth(a),
    "truth": truth,
    "abs": _magnitude,
    "min": _least,
    "max": _largest,
    "round": lambda a: round(_number(a)),
    "floor": lambda a: floor(_number(a)),
    "ceil": lambda a: ceil(_number(a)),
    "indicator": lambda a: int(truth(a)),
    "sign": _sign,
    "sqrt": _root,
    "exp": lambda a: _real(exponential(Fraction(_number(a))), f"exp({cut(a)})"),
    "log": _logarithm,
    "sin": lambda a: normal(sine(Fraction(_number(a)))),
    "cos": lambda a: normal(cosine(Fraction(_number(a)))),
    "int": _integer,
    "float": _decimal,
    "bool": _boolean,
    "str": lambda a: plain(a),
}
