"""Syntax errors by example: what the parser stumbled on becomes what the author did.

Each diagnosis looks at what was read before the mistake (the parser's stack), at what was found
and at what could have stood there. The first diagnosis that recognises its mistake tells it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from handcraft.errors import ProgramError, Source, Span
from handcraft.language.stumble import Stumble, end_of, kind_of, start_of, stumble_of
from handcraft.language.wording import (
    CLOSING,
    FOREIGN_CHARACTERS,
    FOREIGN_OPERATORS,
    FOREIGN_WORDS,
    FORMS,
    RESERVED,
    expected_in_words,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_CALL = re.compile(r"\w+\s*\([^=]*\)")
_PART = re.compile(r"\w+\s*[.\[][^=]*[\w\]]")
_OPERATORS = frozenset({"SIGN", "FACTOR", "POWER", "COMPARE", "AND", "OR", "IN", "NOT"})
_STATEMENT_WORDS = frozenset(
    {
        "_DEF",
        "_FOR",
        "_RETURN",
        "_LOAD",
        "_VOCAB",
        "_SOURCE",
        "_ATTENTION",
        "_ALLOW",
        "_EXAMPLE",
        "WORD",
        "REPL",
        "_CONTEXT",
    }
)
_CLOSERS = frozenset({"RPAR", "RSQB", "COLON", "SEMICOLON"})
_BEGINNINGS = frozenset({"NAME", "NUMBER", "STRING", "TRUTH", "NOT", "LBRACE", *_STATEMENT_WORDS})


def diagnose(error: UnexpectedInput, source: Source) -> ProgramError:
    """Return the `syntax` error that tells where the text stops being a program, and why."""
    match error:
        case UnexpectedCharacters():
            return _unreadable(source, error.pos_in_stream)  # type: ignore[arg-type]  # lark says None
        case UnexpectedToken():
            stumble = stumble_of(error, source)
            found = (diagnosis(stumble) for diagnosis in _DIAGNOSES)
            return next(told for told in found if told is not None)
        case _:
            raise AssertionError(f"no syntax error of this grammar: {error!r}")


# Characters that begin no word ---------------------------------------------------------------


def _unreadable(source: Source, start: int) -> ProgramError:
    text = source.text
    character = text[start]
    if character in "\"'":
        line = text[start:].partition("\n")[0].rstrip()
        span = Span(source, start, start + len(line))
        escaped = line.endswith("\\" + character) or f"\\{character};" in line
        way_out = "; a backslash is written `\\\\`" if escaped else ""
        help_ = f"end it with `{character}` on the line where it begins{way_out}"
        return ProgramError("syntax", "the string is not closed", span, help=help_)
    number = re.compile(r"[0-9.][\w.]*").match(text, start)
    if number:
        span = Span(source, start, number.end())
        message = f"`{span.text}` is neither a number nor a name"
        return ProgramError("syntax", message, span, help="a name begins with a letter or `_`")
    doubled = 2 if character in "&|" and text[start + 1 : start + 2] == character else 1
    span = Span(source, start, start + doubled)
    shown = span.text if character.isprintable() else f"U+{ord(character):04X}"
    help_ = FOREIGN_CHARACTERS.get(character, "remove it, or put it in a string")
    return ProgramError("syntax", f"`{shown}` is not part of the language", span, help=help_)


# The diagnoses, in the order in which they are asked -----------------------------------------


def _wrong_operator(stumble: Stumble) -> ProgramError | None:
    end = stumble.found_at.end
    for operator, help_ in FOREIGN_OPERATORS.items():
        for start in range(end - len(operator), end):
            if start >= 0 and stumble.source.text.startswith(operator, start):
                span = Span(stumble.source, start, start + len(operator))
                message = f"`{operator}` is not part of the language"
                return ProgramError("syntax", message, span, help=help_)
    return None


def _reserved_name(stumble: Stumble) -> ProgramError | None:
    if stumble.found == "=" and stumble.before_text in RESERVED:
        last = stumble.before[-1]
        span = Span(stumble.source, end_of(last) - len(stumble.before_text), end_of(last))
    elif stumble.found in RESERVED and stumble.wants_name:
        span = stumble.found_at
    else:
        return None
    message = f"`{span.text}` is a reserved word"
    return ProgramError("syntax", message, span, help="choose another name")


def _missing_else(stumble: Stumble) -> ProgramError | None:
    if "_ELSE" not in stumble.possible or "SEMICOLON" in stumble.possible:
        return None
    help_ = "write `a if c else b`, with a value for both cases"
    if kind_of(stumble.statement[0]) == "_ALLOW":
        help_ = "a choice of the token stands in brackets: `allow (a if c else b) if d;`"
    return ProgramError("syntax", "`else` is missing", stumble.gap, help=help_)


def _braces_of_a_body(stumble: Stumble) -> ProgramError | None:
    if "LBRACE" not in stumble.possible or stumble.wants_expression:
        return None
    is_loop = any(kind_of(part) == "_FOR" for part in stumble.statement)
    form = FORMS["for" if is_loop else "def"]
    if stumble.found == ":":
        message = "a body stands in braces, not after `:`"
        return ProgramError("syntax", message, stumble.found_at, help=form)
    return ProgramError("syntax", "`{` is missing", stumble.gap, help=form)


def _bracket_mismatch(stumble: Stumble) -> ProgramError | None:
    found, opened = stumble.found, stumble.opened
    if found.type not in CLOSING.values():
        return None
    if opened is None:
        message = f"`{found}` closes nothing"
        return ProgramError("syntax", message, stumble.found_at, help="remove it")
    if CLOSING[opened.type] == found.type or stumble.in_body:
        return None
    message = f"`{opened}` is closed by `{found}`"
    help_ = f"close it with `{_closing(opened)}`"
    return ProgramError("syntax", message, stumble.found_at, help=help_)


def _unclosed(stumble: Stumble) -> ProgramError | None:
    found, opened = stumble.found, stumble.opened
    ends = found.type == "SEMICOLON" or _opens_a_line(stumble)
    if opened is None or not (found.type == "$END" or (ends and not stumble.in_body)):
        return None
    start = opened.start_pos or 0
    span = Span(stumble.source, start, start + 1)
    help_ = f"write `{_closing(opened)}` where it ends"
    return ProgramError("syntax", f"`{opened}` is not closed", span, help=help_)


def _opens_a_line(stumble: Stumble) -> bool:
    is_statement = stumble.found.type in _STATEMENT_WORDS - {"_FOR"} or stumble.is_assigned
    return stumble.on_a_later_line and is_statement


def _closing(opened: Token) -> str:
    return {"(": ")", "[": "]", "{": "}"}[str(opened)]


def _foreign_statement(stumble: Stumble) -> ProgramError | None:
    word = stumble.before_text
    if stumble.found.type in {"_IF", "_ELSE"} and stumble.starts_statement:
        span, word = stumble.found_at, str(stumble.found)
        message = f"`{word}` begins no statement"
    elif word in FOREIGN_WORDS and stumble.after_expression:
        end = end_of(stumble.before[-1])
        span = Span(stumble.source, end - len(word), end)
        message = f"`{word}` is not part of the language"
    else:
        return None
    return ProgramError("syntax", message, span, help=FOREIGN_WORDS[word])


def _single_equals(stumble: Stumble) -> ProgramError | None:
    if stumble.found != "=" or not (stumble.after_expression or stumble.previous == "COMMA"):
        return None
    first = stumble.statement[0]
    match kind_of(first), stumble.source.text[start_of(first) : stumble.end_of_previous]:
        case (("NAME" | "index" | "attribute" | "call"), text) if _PART.fullmatch(text):
            message = "a part of a value cannot be assigned"
            help_ = "values never change: give the new value a name of its own"
        case (("NAME" | "call"), text) if _CALL.fullmatch(text):
            message, help_ = "a call cannot be assigned", FORMS["def"]
        case (("NUMBER" | "STRING"), text) if text == first:
            message, help_ = "only a name can be assigned", FORMS["="]
        case _:
            message, help_ = "`=` stands inside an expression", "write `==` to compare"
    return ProgramError("syntax", message, stumble.found_at, help=help_)


def _double_equals(stumble: Stumble) -> ProgramError | None:
    if stumble.found != "==" or "_EQUAL" not in stumble.possible:
        return None
    message = "`==` compares, but a name is given its value here"
    return ProgramError("syntax", message, stumble.found_at, help="write `=`")


def _out_of_place(stumble: Stumble) -> ProgramError | None:
    help_: str | None
    match str(stumble.found):
        case ":":
            message, help_ = "`:` stands only between key and value of a dict", None
        case "->":
            message, help_ = "`->` stands only in an `example`", FORMS["example"]
        case "..":
            message = "`..` stands only in `vocab` and `source`"
            help_ = "the list from 0 to 9 is `range(0, 10)`"
        case "else":
            message, help_ = "`else` stands here without its `if`", "write `a if c else b`"
        case "," if not stumble.wants_expression and _CLOSERS & stumble.possible:
            message, help_ = "`,` stands where one value is meant", "a list is written `[a, b]`"
        case "{" if "SEMICOLON" in stumble.possible:
            message, help_ = "a body follows only `def` and `for`", FORMS["def"]
        case "not" if stumble.wants_expression:
            message = "`not` binds more loosely than the operator before it"
            help_ = "put it in brackets: `(not ...)`"
        case _:
            return None
    return ProgramError("syntax", message, stumble.found_at, help=help_)


def _missing_semicolon(stumble: Stumble) -> ProgramError | None:
    ends = stumble.found.type in {"$END", "RBRACE"} | _STATEMENT_WORDS
    begins = stumble.found.type in _BEGINNINGS and stumble.on_a_later_line
    if "SEMICOLON" not in stumble.possible or not (ends or stumble.is_assigned or begins):
        return None
    help_ = "every statement ends with `;`"
    return ProgramError("syntax", "`;` is missing", stumble.gap, help=help_)


def _missing_comma(stumble: Stumble) -> ProgramError | None:
    if stumble.found.type not in _BEGINNINGS | {"LSQB", "LPAR"} or stumble.wants_expression:
        return None
    if "COLON" in stumble.possible:
        help_ = "a dict is written `{key: value}`"
        return ProgramError("syntax", "`:` is missing", stumble.gap, help=help_)
    if "COMMA" in stumble.possible and stumble.possible & {"RPAR", "RSQB", "RBRACE"}:
        help_ = "write `,` between two values"
        return ProgramError("syntax", "`,` is missing", stumble.gap, help=help_)
    if not stumble.after_expression:
        return None
    message = f"no operator joins {_shown(stumble.found)} to what stands before it"
    help_ = "write an operator between the two, or `;` where the statement ends"
    return ProgramError("syntax", message, stumble.found_at, help=help_)


def _missing_expression(stumble: Stumble) -> ProgramError | None:
    if not stumble.wants_expression:
        return None
    if stumble.starts_statement:
        if stumble.found == ";":
            message = "`;` ends a statement, and there is none"
            return ProgramError("syntax", message, stumble.found_at, help="remove it")
        message = f"{_shown(stumble.found)} begins no statement"
        return ProgramError("syntax", message, stumble.found_at)
    before = stumble.before_text.strip()
    help_ = FORMS.get(before) if stumble.opened is None else None
    if stumble.previous == "COMPARE" and stumble.found == ")":
        help_ = "an operator that is an argument stands alone: `select(k, q, ==)`"
    elif stumble.found.type == "_IF":
        help_ = "write `a if c else b`"
    if stumble.found.type == "$END" or stumble.on_a_later_line:
        message = f"an expression is missing after `{before}`"
        return ProgramError("syntax", message, stumble.gap, help=help_)
    if stumble.found.type in _OPERATORS:
        message = f"an expression is missing before {_shown(stumble.found)}"
        return ProgramError("syntax", message, stumble.found_at, help=help_)
    message = f"an expression is missing between `{before}` and {_shown(stumble.found)}"
    return ProgramError("syntax", message, stumble.found_at, help=help_)


def _unexpected(stumble: Stumble) -> ProgramError:
    words = expected_in_words(stumble.possible)
    message = f"expected {words}, found {_shown(stumble.found)}"
    first = stumble.statement[0] if stumble.statement else None
    help_ = FORMS.get(str(first).strip()) if isinstance(first, Token) else None
    return ProgramError("syntax", message, stumble.found_at, help=help_)


def _shown(token: Token) -> str:
    return "the end of the text" if token.type == "$END" else f"`{token}`"


_DIAGNOSES: tuple[Callable[[Stumble], ProgramError | None], ...] = (
    _wrong_operator,
    _reserved_name,
    _bracket_mismatch,
    _unclosed,
    _single_equals,
    _double_equals,
    _missing_else,
    _braces_of_a_body,
    _foreign_statement,
    _missing_semicolon,
    _out_of_place,
    _missing_comma,
    _missing_expression,
    _unexpected,
)
