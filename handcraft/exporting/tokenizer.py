"""The tokenizer files of a stock Hugging Face checkpoint, from a vocabulary.

They are written as data, without the library that reads them: its own calls cannot say that
a token named `$` or a space stands at the beginning of every text.

Names. A token's name is its text. The start token is `<start token>` and a value of an `output`
program is written as the language writes it, with `= ` in front: `= 3`, `= 1/3`, `= true`,
`= "high"`. These have a space in them and more than one character, so they are nobody else's name,
and since texts are cut at white space or into characters, no text is read as one of them.

Reading a text gives the ids that `Model.encode` gives, and an unknown token is an error: the
model has no token for what is unknown. A text that begins with `bos` gets no second one, so
what `add_special_tokens=False` reads never begins with one. Special tokens are read in a text
as other tokens are (`split_special_tokens`). `tokenizers` alone does not know that setting: there
`bos` and `eos` in a text are found before other words, a `bos` written in front is doubled, and
`<start token>` is read as the token of that name.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, assert_never

from handcraft.errors import HandcraftError

if TYPE_CHECKING:
    from handcraft.runtime.description import Value
    from handcraft.runtime.vocabulary import Token, Vocabulary

Node: TypeAlias = "dict[str, Node] | list[Node] | str | int | bool | None"

START = "<start token>"
"""The name of the hidden start token."""

VALUE = "= "
"""What the names of values begin with."""

UNKNOWN = "<not in the vocabulary>"
"""The token for unknown text, which no vocabulary has: looking for it fails, as it should."""

SPACE = r"\s\x1c-\x1f"
"""White space as Python sees it, inside a character class of a regular expression."""

LONGEST_PIECE = 2**31 - 1


def tokenizer_files(
    vocabulary: Vocabulary, *, start: bool, values: tuple[Value, ...] = (), context: int
) -> dict[str, str]:
    """Return the texts of `tokenizer.json` and `tokenizer_config.json`, by file name.

    Args:
        vocabulary: the tokens of the model.
        start: a hidden start token stands in front of every text.
        values: what an `output` program says, appended to the vocabulary.
        context: how many tokens the program sees, `bos` included and the start token not.

    Raises:
        HandcraftError: `bad-vocabulary` where a token cannot be written in UTF-8.
    """
    names = vocabulary_names(vocabulary, start=start, values=values)
    _check_names(names)
    ids = {name: number for number, name in enumerate(names)}
    special = _special_tokens(vocabulary, start)
    tokenizer: Node = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added_token(vocabulary, name, ids[name]) for name in special],
        "normalizer": None,
        "pre_tokenizer": _pre_tokenizer(vocabulary),
        "post_processor": _post_processor(_in_front(vocabulary, start), ids),
        "decoder": {"type": "Fuse"} if vocabulary.kind == "characters" else None,
        "model": _model(vocabulary, ids),
    }
    config = _tokenizer_config(vocabulary, start, context)
    return {"tokenizer.json": _written(tokenizer), "tokenizer_config.json": _written(config)}


def vocabulary_names(
    vocabulary: Vocabulary, *, start: bool, values: tuple[Value, ...] = ()
) -> tuple[str, ...]:
    """Return the name of every id in order: tokens, start token, values; no two are the same."""
    tokens = map(str, vocabulary.tokens)
    return (*tokens, *((START,) if start else ()), *map(_value_name, values))


def special_ids(vocabulary: Vocabulary, *, start: bool) -> dict[str, int | None]:
    """Return the ids of the special tokens for a model's config, None for those there are not.

    What pads texts is `eos` or nothing there: generation without an attention mask would take the
    token that a text begins with for padding, and hide it.
    """
    ids = {name: number for number, name in enumerate(vocabulary_names(vocabulary, start=start))}
    roles = _roles(vocabulary, start)
    return {
        "bos_token_id": ids.get(roles["bos_token"]),
        "eos_token_id": ids.get(roles["eos_token"]),
        "pad_token_id": ids.get(roles["eos_token"]),
    }


def _value_name(value: Value) -> str:
    match value:
        case bool():
            return f"{VALUE}{str(value).lower()}"
        case int() | Fraction():
            return f"{VALUE}{value}"
        case str():
            return f"{VALUE}{json.dumps(value, ensure_ascii=False)}"
        case _:
            assert_never(value)


def _check_names(names: tuple[str, ...]) -> None:
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise HandcraftError(
                "bad-vocabulary",
                f"a tokenizer file cannot hold {name!a}: half a surrogate pair is no character",
                help="use another token in its place",
            ) from error


def _in_front(vocabulary: Vocabulary, start: bool) -> tuple[str, ...]:
    bos = () if vocabulary.bos is None else (str(vocabulary.bos),)
    return (START, *bos) if start else bos


def _special_tokens(vocabulary: Vocabulary, start: bool) -> tuple[str, ...]:
    eos = () if vocabulary.eos is None else (str(vocabulary.eos),)
    return (*_in_front(vocabulary, start), *eos)


def _added_token(vocabulary: Vocabulary, name: str, number: int) -> Node:
    return {
        "id": number,
        "content": name,
        "single_word": vocabulary.kind != "characters",
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }


def _pre_tokenizer(vocabulary: Vocabulary) -> Node:
    if vocabulary.kind == "characters":
        pieces = _cut(r"[\s\S]", "Isolated")
    else:
        pieces = _cut(f"[{SPACE}]+", "Removed")
    if vocabulary.bos is None:
        return pieces
    first = _cut(_bos_in_front(vocabulary, vocabulary.bos), "Removed")
    return {"type": "Sequence", "pretokenizers": [first, pieces]}


def _cut(pattern: str, behavior: str) -> Node:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": behavior,
        "invert": False,
    }


def _bos_in_front(vocabulary: Vocabulary, bos: Token) -> str:
    """Return the pattern of a `bos` that a text begins with."""
    text = re.escape(str(bos))
    match vocabulary.kind:
        case "characters":
            return rf"\A{text}"
        case "integers":
            return rf"\A[{SPACE}]*{text}(?![^{SPACE}])"
        case "words":
            names = map(str, vocabulary.tokens)
            rests = [n.removeprefix(str(bos)) for n in names if n.startswith(str(bos)) and n != bos]
            is_longest = f"(?!{'|'.join(map(re.escape, rests))})" if rests else ""
            return rf"\A[{SPACE}]*{text}{is_longest}"
        case _:
            assert_never(vocabulary.kind)


def _post_processor(in_front: tuple[str, ...], ids: dict[str, int]) -> Node:
    """Return what puts tokens in front of a text; of a pair the second text gets none."""
    before: list[Node] = [{"SpecialToken": {"id": name, "type_id": 0}} for name in in_front]
    first: Node = {"Sequence": {"id": "A", "type_id": 0}}
    second: Node = {"Sequence": {"id": "B", "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [*before, first],
        "pair": [*before, first, second],
        "special_tokens": {
            name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in in_front
        },
    }


def _model(vocabulary: Vocabulary, ids: dict[str, int]) -> Node:
    vocab: dict[str, Node] = dict(ids)
    if vocabulary.kind != "words":
        return {"type": "WordLevel", "vocab": vocab, "unk_token": UNKNOWN}
    return {
        "type": "WordPiece",
        "unk_token": UNKNOWN,
        "continuing_subword_prefix": "",
        "max_input_chars_per_word": LONGEST_PIECE,
        "vocab": vocab,
    }


def _tokenizer_config(vocabulary: Vocabulary, start: bool, context: int) -> Node:
    """Return the config: the first token in front is its `bos_token`.

    Without `eos` texts are padded with that one; a program that has neither pads none, since
    a token that pads is left out where text is written.
    """
    config: dict[str, Node] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": context + start,
        "model_input_names": ["input_ids", "attention_mask"],
        "padding_side": "left",
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,
    }
    roles = _roles(vocabulary, start)
    return {**config, **{role: name for role, name in roles.items() if name}}


def _roles(vocabulary: Vocabulary, start: bool) -> dict[str, str]:
    """Return which token begins, ends and pads a text, empty where none does."""
    bos = next(iter(_in_front(vocabulary, start)), "")
    eos = "" if vocabulary.eos is None else str(vocabulary.eos)
    return {"bos_token": bos, "eos_token": eos, "pad_token": eos or bos}


def _written(node: Node) -> str:
    return json.dumps(node, ensure_ascii=False, indent=2) + "\n"
