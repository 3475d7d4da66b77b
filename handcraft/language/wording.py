"""The words of syntax errors: names of tokens, forms of statements, habits of other languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

CLOSING: Mapping[str, str] = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
"""The kinds of opening brackets, each with the kind that closes it."""

RESERVED = frozenset(
    {"if", "else", "and", "or", "not", "in", "for", "True", "False", "def", "return"}
)
"""The words that are never names."""

FORMS: Mapping[str, str] = {
    "=": "write `x = e;`",
    "def": "write `def f(x) { return x; }`",
    "for": "write `for x in [1, 2] { y = y + x; }`",
    "return": "write `return x;`",
    "load": 'write `load "file";`',
    "vocab": 'write `vocab "ab";`, `vocab ["hello", "world"];` or `vocab 0..9;`',
    "context": "write `context 5;`",
    "bos": 'write `bos "^";`',
    "eos": 'write `eos ".";`',
    "attention": "write `attention causal;` or `attention bidirectional;`",
    "source": 'write `source ["hello", "world"];`',
    "predict": "write `predict x;`, where x is the next token",
    "allow": "write `allow x if c;`, where x is a token",
    "logits": 'write `logits {"a": x, "b": y};`',
    "output": "write `output x;`",
    "example": 'write `example "a" -> "b";`',
    "assume": "write `assume c;`",
}
"""How a statement is written, by its first word."""

FOREIGN_CHARACTERS: Mapping[str, str] = {
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`",
    "~": "write `not`",
    "?": "write `a if c else b`",
    "\u201c": 'write `"`',
    "\u201d": 'write `"`',
    "\u2018": "write `'`",
    "\u2019": "write `'`",
    "\u2264": "write `<=`",
    "\u2265": "write `>=`",
    "\u2260": "write `!=`",
    "\u2212": "write `-`",
    "\u00d7": "write `*`",
    "\u00f7": "write `/`",
    "\u2192": "write `->`",
}
"""Characters that other languages or word processors use, and what to write instead."""

FOREIGN_OPERATORS: Mapping[str, str] = {
    "===": "write `==`",
    "=>": "at least is written `>=`",
    "=<": "at most is written `<=`",
    "<>": "write `!=`",
    ":=": "write `x = e;`",
    "+=": "write `x = x + e;`",
    "-=": "write `x = x - e;`",
    "*=": "write `x = x * e;`",
    "/=": "write `x = x / e;`",
}
"""Operators of other languages that begin like ours, and what to write instead."""

FOREIGN_WORDS: Mapping[str, str] = {
    "if": "choose between two values: `x = a if c else b;`",
    "else": "choose between two values: `x = a if c else b;`",
    "elif": "choose between values: `x = a if c else b if d else e;`",
    "while": "a loop goes over a list: `for x in range(5) { ... }`",
    "lambda": "define a function with a name: `def f(x) { return x; }`",
    "function": "define a function: `def f(x) { return x; }`",
    "let": "write `x = e;`",
    "var": "write `x = e;`",
    "const": "write `x = e;`",
    "import": 'write `load "file";`',
    "print": "write `output x;`, or `x;` in the interactive shell",
}
"""Words of other languages that begin a statement there, and what to write instead."""

_IN_WORDS: Mapping[str, str] = {
    "NUMBER": "an expression",
    "NAME": "a name",
    "STRING": "a string",
    "SIGN": "an operator",
    "SEMICOLON": "`;`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "_EQUAL": "`=`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "IN": "`in`",
    "_IF": "`if`",
    "_FOR": "`for`",
    "_ARROW": "`->`",
    "_CONTEXT": "`context`",
    "_ELSE": "`else`",
    "OR": "`or`",
    "$END": "the end of the text",
}


def expected_in_words(possible: Set[str]) -> str:
    """Return what the kinds of tokens are for a reader: "`,` or `)`"."""
    hidden = {"NUMBER": {"NAME", "STRING", "SIGN", "LPAR", "LBRACE"}, "SIGN": {"IN", "LPAR"}}
    covered = {kind for cover, kinds in hidden.items() if cover in possible for kind in kinds}
    words = [word for kind, word in _IN_WORDS.items() if kind in possible - covered]
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
