"""GGUF files: read back by the `gguf` library, and run by llama.cpp against the model itself."""

from __future__ import annotations

from math import exp
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from program_files import EVERY

import handcraft
from handcraft.compiler.recompile import recompile
from handcraft.compiler.stock.stock import stock
from handcraft.errors import HandcraftError
from handcraft.exporting.gguf import NOBODY, gguf_arrays, gguf_bytes, gguf_metadata
from handcraft.exporting.gpt2 import added_values
from handcraft.exporting.tokenizer import START

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from gguf import GGUFReader
    from xllamacpp import Server

    from handcraft.compiler.stock.stock import LayerNorm, StockModel
    from handcraft.runtime.model import Model

PATHS = {path.stem: path for path in EVERY}
MOST_TEXTS = 12

gguf = pytest.importorskip("gguf")


class Answer(NamedTuple):
    """What llama.cpp says after a text: the shares of the next tokens by id, or an error."""

    shares: dict[int, float]
    error: str


@pytest.fixture(scope="module")
def llama() -> ModuleType:
    """Return llama.cpp."""
    module: ModuleType = pytest.importorskip("xllamacpp")
    return module


@pytest.mark.parametrize("form", ["epsilon", "pair"])
@pytest.mark.parametrize("name", ["aab", "balanced", "count_so_far"])
def test_what_is_read_back_are_the_arrays_that_were_written(
    name: str, form: LayerNorm, tmp_path: Path
) -> None:
    made = stock_of(name, form)
    read = {tensor.name: tensor.data for tensor in reader(made, tmp_path).tensors}
    arrays = gguf_arrays(made)
    assert read.keys() == arrays.keys()
    for key, array in arrays.items():
        assert read[key].dtype == np.float32
        np.testing.assert_array_equal(read[key], array, strict=True)


@pytest.mark.parametrize("name", ["aab", "balanced", "heading"])
def test_what_is_read_back_are_the_metadata_that_were_written(name: str, tmp_path: Path) -> None:
    made = stock_of(name)
    read = reader(made, tmp_path)
    for key, value in gguf_metadata(made).items():
        contents = read.get_field(key).contents()
        assert (tuple(contents) if isinstance(value, tuple) else contents) == value, key


def test_the_tables_of_a_file_are_as_long_as_its_vocabulary(tmp_path: Path) -> None:
    read = reader(stock_of("count_so_far"), tmp_path)
    names = read.get_field("tokenizer.ggml.tokens").contents()
    rows = {tensor.name: len(tensor.data) for tensor in read.tensors}
    assert names == [*"abcehlo", START, *(f"= {n}".replace(" ", "▁") for n in range(9)), NOBODY]
    assert rows["token_embd.weight"] == rows["output.weight"] == len(names)


def test_the_same_model_gives_the_same_bytes() -> None:
    assert gguf_bytes(stock_of("aab")) == gguf_bytes(stock_of("aab"))


@pytest.mark.parametrize("form", ["epsilon", "pair"])
@pytest.mark.parametrize(
    "name", ["aab", "recall", "balanced", "unigram", "bigram", "palindrome_after_question"]
)
def test_llama_cpp_says_next_what_the_model_says(
    name: str, form: LayerNorm, llama: ModuleType, tmp_path: Path
) -> None:
    made = stock_of(name, form)
    server = served(made, llama, tmp_path)
    for text in texts(made.model):
        shares = made.model.probabilities(text)
        ids = {made.model.vocabulary.id(token): shares[token] for token in shares}
        said = asked(server, made, text).shares
        assert {id_: said.get(id_, 0.0) for id_ in ids} == pytest.approx(ids, abs=0.15), text


@pytest.mark.parametrize("form", ["epsilon", "pair"])
@pytest.mark.parametrize(
    "name", ["count_so_far", "cumulative_sum", "frac_prevs", "heading", "running_mean", "shift"]
)
def test_llama_cpp_names_the_value_that_the_model_says(
    name: str, form: LayerNorm, llama: ModuleType, tmp_path: Path
) -> None:
    made = stock_of(name, form)
    server = served(made, llama, tmp_path)
    first = len(made.model.vocabulary) + made.model.config.start
    for text in texts(made.model):
        value = made.model.run(text)[-1]
        wanted = first + added_values(made.model).index(value)
        assert asked(server, made, text).shares == pytest.approx({wanted: 1.0}), text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("aab", "abc"),
        ("aab", "a b"),
        ("balanced", "^()"),
        ("count_so_far", "= 1"),
        ("heading", " left up"),
        ("heading", "left"),
        ("heading", " left  left"),
        ("cumulative_sum", " 1 22"),
    ],
)
def test_llama_cpp_refuses_what_is_not_in_the_vocabulary(
    name: str, text: str, llama: ModuleType, tmp_path: Path
) -> None:
    made = stock_of(name)
    server = served(made, llama, tmp_path)
    known = texts(made.model)[0]
    assert asked(server, made, known).shares, "a server that has never answered does not end"
    assert asked(server, made, text).error


@pytest.mark.parametrize("letters", ["a ", " a", "éa", "a\n", "<>", "🎈0", "\\'", '"%'])
def test_llama_cpp_reads_and_writes_every_character(
    letters: str, llama: ModuleType, tmp_path: Path
) -> None:
    made = echo_of(letters)
    server = served(made, llama, tmp_path)
    for text in (*letters, letters, letters[::-1]):
        request = {"prompt": text, "temperature": 0, "max_tokens": 2}
        answer = server.handle_completions(request)
        assert answer["choices"][0]["text"] == 2 * text[-1]


def test_a_model_of_another_format_is_refused() -> None:
    compiled = recompile(handcraft.compile(PATHS["aab"], dtype="float64"))
    with pytest.raises(HandcraftError, match="computes in float32") as caught:
        gguf_bytes(stock(compiled))
    assert caught.value.code == "bad-option"


def test_neurons_of_another_kind_are_refused() -> None:
    compiled = recompile(handcraft.compile(PATHS["balanced"]))
    with pytest.raises(HandcraftError, match="`gelu_new`, not `relu`"):
        gguf_bytes(stock(compiled, activation="relu"))


def test_two_tokens_in_front_of_a_text_are_refused() -> None:
    program = 'vocab "ab"; context 6; bos "^"; output count(tokens, "a");'
    with pytest.raises(HandcraftError, match="one token in front") as caught:
        gguf_bytes(stock(recompile(handcraft.compile(program))))
    assert caught.value.code == "bad-vocabulary"


@pytest.mark.parametrize("letter", ["▁", "\0", "\ud800"], ids=ascii)
def test_a_token_that_a_file_cannot_hold_is_refused(letter: str) -> None:
    with pytest.raises(HandcraftError, match="cannot hold the name") as caught:
        gguf_bytes(echo_of(f"a{letter}"))
    assert caught.value.code == "bad-vocabulary"


def stock_of(name: str, form: LayerNorm = "epsilon") -> StockModel:
    return stock(recompile(handcraft.compile(handcraft.parse(PATHS[name]))), layer_norm=form)


def echo_of(letters: str) -> StockModel:
    """Return a model that says the last character again and again."""
    program = handcraft.parse("predict tokens;", vocab=letters, context=5, attention="causal")
    return stock(recompile(handcraft.compile(program)))


def written(made: StockModel, folder: Path) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(gguf_bytes(made))
    return path


def reader(made: StockModel, folder: Path) -> GGUFReader:
    return gguf.GGUFReader(written(made, folder))


def served(made: StockModel, llama: ModuleType, folder: Path) -> Server:
    """Return llama.cpp with a file, and attention in float32."""
    options = llama.CommonParams()
    options.model.path = str(written(made, folder))
    options.cache_type_k = options.cache_type_v = llama.ggml_type.GGML_TYPE_F32
    options.flash_attn_type = llama.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    options.n_ctx, options.n_parallel, options.cpuparams.n_threads = 0, 1, 1
    options.warmup, options.verbosity = False, 0
    return llama.Server(options)


def asked(server: Server, made: StockModel, text: str) -> Answer:
    n = len(made.model.vocabulary) + made.model.config.start + len(added_values(made.model)) + 1
    request = {"prompt": text, "temperature": 0, "max_tokens": 1, "logprobs": n}
    answer = server.handle_completions(request)
    if "error" in answer:
        return Answer({}, answer["error"]["message"])
    (first,) = answer["choices"][0]["logprobs"]["content"]
    shares = {entry["id"]: exp(entry["logprob"]) for entry in first["top_logprobs"]}
    return Answer({number: share for number, share in shares.items() if share}, "")


def texts(model: Model) -> list[str]:
    """Return texts of every length that llama.cpp reads: it wants one token to be free."""
    vocabulary, config = model.vocabulary, model.config
    tokens = [t for t in vocabulary.tokens if t not in (vocabulary.bos, vocabulary.eos)]
    longest = config.n_ctx - config.start - (vocabulary.bos is not None) - 1
    in_front = "" if vocabulary.kind == "characters" else " "
    random = Random(longest)
    return [
        "".join(f"{in_front}{random.choice(tokens)}" for _ in range(length))
        for length in [*range(1, longest + 1), *[longest] * MOST_TEXTS]
    ]
