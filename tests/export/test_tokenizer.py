"""The tokenizer of a checkpoint reads and writes as the model does, in the libraries themselves."""

from __future__ import annotations

import json
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_files import FILES, GALLERY

import handcraft
from handcraft.errors import HandcraftError, InputError
from handcraft.exporting.tokenizer import tokenizer_files, vocabulary_names
from handcraft.runtime.vocabulary import Kind, Token, Vocabulary, vocabulary

if TYPE_CHECKING:
    from handcraft.runtime.description import Value

pytest.importorskip("transformers")
import tokenizers  # after the line that asks whether they are there
import transformers

CONTEXT = 9
FEW = settings(max_examples=40)
VALUES: tuple[Value, ...] = (0, 1, -2, Fraction(1, 3), True, False, "a", "1", "true", 'say "b"\n')
SPACES = [character for character in map(chr, range(0x3001)) if character.isspace()]

Loaded: TypeAlias = "transformers.PreTrainedTokenizerFast"


class Case(NamedTuple):
    """A vocabulary, whether there is a start token, and what values follow."""

    vocabulary: Vocabulary
    start: bool
    values: tuple[Value, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all ids."""
        return vocabulary_names(self.vocabulary, start=self.start, values=self.values)

    def files(self) -> dict[str, str]:
        return tokenizer_files(
            self.vocabulary, start=self.start, values=self.values, context=CONTEXT
        )

    def ids(self, tokens: tuple[Token, ...]) -> list[int]:
        """Return what the model reads: start token, tokens."""
        start = [len(self.vocabulary)] if self.start else []
        return [*start, *map(self.vocabulary.id, tokens)]

    def ordinary(self, tokens: tuple[Token, ...]) -> str:
        """Return the text of tokens but for the special ones."""
        special = (self.vocabulary.bos, self.vocabulary.eos)
        return self.vocabulary.join([token for token in tokens if token not in special])


def load(case: Case) -> Loaded:
    """Return what `AutoTokenizer` makes of the files beside the config of a GPT-2."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in case.files().items():
            Path(folder, name).write_text(text, encoding="utf-8")
        config = transformers.GPT2Config(
            vocab_size=len(case.names), bos_token_id=None, eos_token_id=None
        )
        config.save_pretrained(folder)
        return transformers.AutoTokenizer.from_pretrained(folder)


def alone(case: Case) -> tokenizers.Tokenizer:
    """Return what `tokenizers` alone makes of `tokenizer.json`."""
    return tokenizers.Tokenizer.from_str(case.files()["tokenizer.json"])


def read_or_refused(loaded: Loaded, text: str) -> list[int]:
    """Return the ids of a text, none where it is refused."""
    try:
        return [*loaded(text)["input_ids"]]
    except Exception as error:
        if "Missing" not in str(error):
            raise
        return []


CHARACTERS = st.sampled_from([*"aabbcd0=<$^:. \n\t\\", "é", "\u0301", "ß", "漢", "🙂", "\u00a0"])
WORDS = st.text("ab<>=:$", min_size=1, max_size=4)
INTEGERS = st.one_of(st.integers(-12, 12), st.sampled_from(["<s>", "x", "$"]))
TOKENS: dict[Kind, st.SearchStrategy[Token]] = {
    "characters": CHARACTERS,
    "words": WORDS,
    "integers": INTEGERS,
}


@st.composite
def cases(draw: st.DrawFn, kinds: tuple[Kind, ...] = ("characters", "words", "integers")) -> Case:
    kind = draw(st.sampled_from(kinds))
    tokens = draw(st.lists(TOKENS[kind], min_size=2, max_size=8, unique_by=str))
    bos, eos = draw(st.sampled_from([(0, 0), (1, 0), (0, 1), (1, 1)]))
    return Case(
        vocabulary(kind, tokens, tokens[0] if bos else None, tokens[1] if eos else None),
        draw(st.booleans()),
        VALUES if draw(st.booleans()) else (),
    )


@st.composite
def texts(draw: st.DrawFn, kind: Kind, known: tuple[Token, ...]) -> str:
    """Draw a text of known tokens, and in some a piece that may be unknown."""
    pieces = list(map(str, draw(st.lists(st.sampled_from(known), max_size=7))))
    if draw(st.integers(0, 3)) == 0:
        pieces.append(str(draw(TOKENS[kind])))
    between = [""] if kind == "characters" else [" ", "  ", "\n", "\u2003", "\x1c"]
    between += [""] if kind == "words" else []
    return "".join(piece + draw(st.sampled_from(between)) for piece in pieces)


@FEW
@given(st.data())
def test_a_text_gives_the_ids_that_the_model_reads_or_is_refused_as_there(
    data: st.DataObject,
) -> None:
    case = data.draw(cases())
    loaded = load(case)
    for _ in range(5):
        text = data.draw(texts(case.vocabulary.kind, case.vocabulary.tokens))
        try:
            tokens = case.vocabulary.split(text)
        except InputError:
            with pytest.raises(Exception, match="Missing"):
                loaded(text)
            continue
        ids = loaded(text)["input_ids"]
        assert ids == case.ids(tokens)
        assert loaded.decode(ids, skip_special_tokens=True) == case.ordinary(tokens)


@FEW
@given(st.data())
def test_the_library_alone_reads_texts_without_special_tokens_the_same_way(
    data: st.DataObject,
) -> None:
    case = data.draw(cases())
    special = [str(m) for m in (case.vocabulary.bos, case.vocabulary.eos) if m is not None]
    known = [t for t in case.vocabulary.tokens if not any(name in str(t) for name in special)]
    tokens = data.draw(st.lists(st.sampled_from(known), max_size=7)) if known else []
    written = case.vocabulary.join(tokens)
    split = case.vocabulary.split(written)
    loaded = alone(case)
    assert loaded.encode(written).ids == case.ids(split)
    assert loaded.decode(case.ids(split)) == case.ordinary(split)


@FEW
@given(st.data())
def test_the_text_of_a_prefix_is_a_prefix_of_the_text(data: st.DataObject) -> None:
    case = data.draw(cases())
    loaded = load(case)
    ids = data.draw(st.lists(st.integers(0, len(case.names) - 1), max_size=8))
    whole = loaded.decode(ids, skip_special_tokens=True)
    for end in range(len(ids)):
        assert whole.startswith(loaded.decode(ids[:end], skip_special_tokens=True))


@FEW
@given(cases())
def test_every_id_has_a_name_of_its_own_and_is_written_as_that(case: Case) -> None:
    loaded = load(case)
    assert len(set(case.names)) == len(case.names) == len(loaded)
    ids = list(range(len(case.names)))
    assert tuple(loaded.convert_ids_to_tokens(ids)) == case.names
    assert tuple(loaded.decode([number]) for number in ids) == case.names
    assert tuple(alone(case).id_to_token(number) for number in ids) == case.names


@FEW
@given(cases())
def test_no_text_is_read_as_a_value_or_as_the_start_token(case: Case) -> None:
    loaded = load(case)
    for number, name in list(enumerate(case.names))[len(case.vocabulary) :]:
        assert number not in read_or_refused(loaded, name)[int(case.start) :]


def test_names_say_what_values_are() -> None:
    names = vocabulary_names(vocabulary("characters", "ab"), start=True, values=VALUES)
    assert names == (
        *("a", "b", "<start token>", "= 0", "= 1", "= -2", "= 1/3", "= true", "= false"),
        *('= "a"', '= "1"', '= "true"', r'= "say \"b\"\n"'),
    )


@pytest.mark.parametrize("kind", ["words", "integers"])
def test_words_are_cut_at_all_white_space_and_nowhere_else(kind: Kind) -> None:
    loaded = load(Case(vocabulary(kind, ["x", "y"]), False, ()))
    assert len(SPACES) > 25
    assert loaded("x".join(SPACES) + "y")["input_ids"] == [0] * (len(SPACES) - 1) + [1]
    for not_quite in ("\u200b", "\ufeff", "\u180e", "\x1b"):
        with pytest.raises(Exception, match="Missing"):
            loaded(f"x{not_quite}y")


def test_the_longest_word_is_read_first_and_the_rest_is_not_tried_again() -> None:
    loaded = load(
        Case(vocabulary("words", ["a", "ab", "abc", "c", "<s>", "<s>c"], "<s>"), False, ())
    )
    assert loaded("abcab a")["input_ids"] == [4, 2, 1, 0]
    assert loaded(" <s>cc")["input_ids"] == [4, 5, 3]
    assert loaded(" <s>ac")["input_ids"] == [4, 0, 3]
    with pytest.raises(Exception, match="Missing"):
        loaded("abb")
    assert loaded("a" * 1000)["input_ids"] == [4] + [0] * 1000


@pytest.mark.parametrize(
    ("start", "bos", "eos", "roles"),
    [
        (False, None, None, (None, None, None)),
        (True, None, None, ("<start token>", None, "<start token>")),
        (False, "^", None, ("^", None, "^")),
        (False, None, "$", (None, "$", "$")),
        (True, None, "$", ("<start token>", "$", "$")),
        (True, "^", "$", ("<start token>", "$", "$")),
    ],
)
def test_special_tokens_have_their_roles(
    start: bool, bos: str | None, eos: str | None, roles: tuple[str | None, ...]
) -> None:
    loaded = load(Case(vocabulary("characters", "ab", bos, eos), start, ()))
    assert (loaded.bos_token, loaded.eos_token, loaded.pad_token) == roles
    assert loaded.unk_token is None
    assert loaded.model_max_length == CONTEXT + start
    assert list(loaded("ab")) == ["input_ids", "attention_mask"]


def test_batches_are_padded_on_the_left() -> None:
    loaded = load(Case(vocabulary("characters", "ab"), True, ()))
    batch = loaded(["a", "ab"], padding=True)
    assert batch["input_ids"] == [[2, 2, 0], [2, 0, 1]]
    assert batch["attention_mask"] == [[0, 1, 1], [1, 1, 1]]


def test_a_program_without_special_tokens_says_that_it_cannot_pad() -> None:
    loaded = load(Case(vocabulary("characters", "ab"), False, ()))
    with pytest.raises(ValueError, match="padding token"):
        loaded(["a", "ab"], padding=True)


def test_a_saved_tokenizer_reads_the_same(tmp_path: Path) -> None:
    case = Case(vocabulary("words", ["a", "ab"], "<s>", "</s>"), True, VALUES)
    load(case).save_pretrained(tmp_path)
    again = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert again("<s> aab</s>")["input_ids"] == load(case)("aab</s>")["input_ids"]
    with pytest.raises(Exception, match="Missing"):
        again("<start token>")


@pytest.mark.parametrize("bos", ["$", " ", ":", "$A", "a:0"])
def test_any_token_can_be_in_front_of_a_text(bos: str) -> None:
    case = Case(vocabulary("characters" if len(bos) == 1 else "words", ["x"], bos), False, ())
    assert load(case)("x")["input_ids"] == [1, 0]
    assert load(case)(f"{bos}x")["input_ids"] == [1, 0]


@FEW
@given(cases())
def test_the_files_are_the_same_each_time(case: Case) -> None:
    assert case.files() == case.files()
    assert set(case.files()) == {"tokenizer.json", "tokenizer_config.json"}
    for text in case.files().values():
        assert isinstance(json.loads(text), dict)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(HandcraftError, match="surrogate") as caught:
        Case(vocabulary("characters", ["a", "\ud800"]), False, ()).files()
    assert caught.value.code == "bad-vocabulary"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_vocabularies_of_the_programs_are_read_and_written_back(path: Path) -> None:
    words = handcraft.parse(path.read_text(encoding="utf-8")).typed.vocabulary
    case = Case(words, True, VALUES)
    loaded = load(case)
    text = words.join(words.tokens)
    assert loaded(text)["input_ids"] == case.ids(words.split(text))
    assert loaded.decode(loaded(text)["input_ids"], skip_special_tokens=True) == case.ordinary(
        words.tokens
    )


def test_a_compiled_model_encodes_and_decodes_the_same() -> None:
    program = (GALLERY / "first_token.rasp").read_text(encoding="utf-8")
    model = handcraft.compile(program)
    case = Case(model.vocabulary, model.config.start, ())
    loaded = load(case)
    for tokens in (model.vocabulary.tokens[:2], model.vocabulary.tokens[-1:]):
        text = model.vocabulary.join(tokens)
        ids = loaded(text)["input_ids"]
        assert ids == model.encode(text).tolist()
        assert loaded.decode(ids, skip_special_tokens=True) == text
        assert loaded.decode(ids[int(case.start) :]) == model.decode(ids)
