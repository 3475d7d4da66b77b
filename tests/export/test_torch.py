"""`state_dict` files in PyTorch: a nanoGPT says what the model says, and arrays come back equal."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from functools import lru_cache
from io import BytesIO
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from program_files import EVERY, GALLERY

import handcraft
from handcraft.compiler.recompile import recompile
from handcraft.compiler.stock import stock as stock_form
from handcraft.compiler.stock.stock import StockModel, stock
from handcraft.errors import HandcraftError, ProgramError
from handcraft.exporting.torch import nanogpt, nanogpt_files, torch_files
from handcraft.language.values import Undefined
from handcraft.runtime.generation import never_produced
from handcraft.runtime.model import Model
from handcraft.runtime.sampling import forbid, near_best
from handcraft.runtime.transformer import forward
from handcraft.trials import every_case, random_cases, tokens_tried

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from handcraft.compiler.pipeline import Compiled
    from handcraft.runtime.weights import Array

torch = pytest.importorskip("torch")

PROGRAMS = ("aab", "balanced", "bigram", "echo", "recall", "add_digits_mod10", "copy_after_bar")
"""Tied and causal: with a start token, with `bos`, with `eos`, with `allow`, with many neurons."""

SHORT = 4
RANDOM = 60
"""How long the inputs are that are all tried, and how many others."""


class Made(NamedTuple):
    """A program with its model, and the same as a nanoGPT."""

    program: handcraft.Program
    compiled: Compiled
    stock: StockModel
    files: Mapping[str, bytes]


@lru_cache
def made(name: str) -> Made:
    program = handcraft.parse(next(path for path in EVERY if path.stem == name))
    compiled = recompile(handcraft.compile(program))
    stock_model = nanogpt(compiled)
    return Made(program, compiled, stock_model, nanogpt_files(stock_model))


@pytest.mark.parametrize("attention", ["fused", "written out"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_nanogpt_says_what_the_model_says(name: str, attention: str) -> None:
    it = made(name)
    network, args = loaded(it.files)
    own, there = it.compiled.model, it.stock.model
    exact = there.parameters.astype("float64")
    assert own.certificate is not None
    assert there.certificate is not None
    verdict = there.certificate.verdict("float32")
    assert verdict is not None
    assert verdict.proved
    compared = 0
    for texts in of_equal_length(it.program):
        ids = np.stack([there.encode(list(text)) for text in texts])
        said = logits(network, args, ids, is_fused=attention == "fused")
        means = meant(it.program, texts)
        first = int(own.config.start)
        off = np.abs(said - forward(exact, ids).logits)[:, first:]
        assert off[means].max(initial=0.0) <= verdict.error
        best = near_best(said, verdict.margin)[:, first:, : own.config.n_vocab]
        ours = forbid(forward(own.parameters, ids).logits, never_produced(own.vocabulary))
        expected = near_best(ours, own.description.margin)[:, first:]
        assert np.array_equal(best[means], expected[means])
        compared += int(means.sum())
    assert compared > 100


def test_a_nanogpt_writes_on() -> None:
    compiled = recompile(handcraft.compile(GALLERY / "aab.rasp", context=16))
    stock_model = nanogpt(compiled)
    network, args = loaded(nanogpt_files(stock_model))
    ids = stock_model.model.encode("a")
    for _ in range(10):
        following = logits(network, args, ids[None])[0, -1].argmax()
        ids = np.append(ids, following)
    assert stock_model.model.decode(ids) == "a" + "baabaabaab"


def test_logits_that_have_an_unembedding_here_are_tied_in_a_nanogpt() -> None:
    it = made("unigram")
    network, args = loaded(it.files)
    own, certificate = it.compiled.model, it.stock.model.certificate
    assert not own.config.tied
    assert certificate is not None
    verdict = certificate.verdict("float32")
    assert verdict is not None
    for text in ("a", "abb", "cacbb"):
        said = logits(network, args, it.stock.model.encode(text)[None])[0, int(own.config.start) :]
        expected = own.logits(text)
        assert np.abs(said[:, : own.config.n_out] - expected).max() <= 2 * verdict.error
        best = near_best(said, verdict.margin)
        assert not best[:, own.config.n_out :].any()
        ours = near_best(expected, own.description.margin)
        assert np.array_equal(best[:, : own.config.n_out], ours)


def test_the_names_are_those_of_nanogpt_and_the_unembedding_is_tied() -> None:
    state = read(made("aab").files["nanogpt.pt"])
    parts = ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")
    layer = [f"transformer.h.0.{part}.{kind}" for part in parts for kind in ("weight", "bias")]
    ends = ["transformer.wte.weight", "transformer.wpe.weight", "lm_head.weight"]
    assert set(state) == {*ends, *layer, "transformer.ln_f.weight", "transformer.ln_f.bias"}
    assert state["lm_head.weight"].data_ptr() == state["transformer.wte.weight"].data_ptr()
    assert state["transformer.h.0.mlp.c_fc.weight"].shape == (64, 16)
    assert all(tensor.is_contiguous() for tensor in state.values())


def test_the_configuration_is_what_the_class_is_made_with() -> None:
    assert json.loads(made("aab").files["model_args.json"]) == {
        "bias": True,
        "block_size": 5,
        "dropout": 0.0,
        "n_embd": 16,
        "n_head": 1,
        "n_layer": 1,
        "vocab_size": 2,
    }


def test_the_stream_is_as_wide_as_the_neurons_ask_for() -> None:
    compiled = recompile(handcraft.compile(parity(40), dtype="float64"))
    needed = stock(compiled, layer_norm="pair").shape
    usual = stock(compiled, layer_norm="pair", mlp_width="usual")
    assert needed.d_mlp > 4 * needed.d_model
    assert usual.shape.d_mlp == 4 * usual.shape.d_model
    assert usual.shape.d_mlp - 4 * usual.shape.d_head < needed.d_mlp <= usual.shape.d_mlp
    for text in ("a", "b", "ab" * 20, "aab" * 13, "a" * 40):
        assert usual.model.run(text) == compiled.model.run(text)


def test_an_unknown_width_is_refused() -> None:
    with pytest.raises(HandcraftError, match="needed or usual, not `wide`") as caught:
        stock(made("aab").compiled, mlp_width="wide")  # type: ignore[arg-type]
    assert caught.value.code == "bad-option"


def test_an_unembedding_of_its_own_is_refused_at_the_result() -> None:
    program = 'vocab "ab"; context 3;\noutput count(past);'
    with pytest.raises(HandcraftError) as caught:
        nanogpt(recompile(handcraft.compile(program)))
    assert str(caught.value) == (
        "<text>:2:1: not-nanogpt: nanoGPT ties its unembedding to `wte`, and this program needs"
        " one of its own\n"
        "2 | output count(past);\n"
        "    ^^^^^^^^^^^^^^^^^^^\n"
        "help: export it to gpt2, whose unembedding need not be tied"
    )


def test_a_stock_model_with_an_unembedding_of_its_own_is_refused() -> None:
    compiled = recompile(handcraft.compile(GALLERY / "count_so_far.rasp"))
    untied = stock(compiled, layer_norm="pair", activation="gelu", mlp_width="usual")
    with pytest.raises(HandcraftError, match="ties its unembedding") as caught:
        nanogpt_files(untied)
    assert caught.value.code == "not-nanogpt"


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_another_format_than_nanogpts_is_refused(dtype: str) -> None:
    compiled = recompile(handcraft.compile(GALLERY / "aab.rasp", dtype=dtype))
    with pytest.raises(HandcraftError, match=f"float32, and this model is {dtype}") as caught:
        nanogpt(compiled)
    assert caught.value.code == "not-nanogpt"


def test_a_bidirectional_program_is_refused() -> None:
    program = 'vocab "ab"; context 3; attention bidirectional; predict tokens;'
    with pytest.raises(HandcraftError, match="its attention is bidirectional") as caught:
        nanogpt(recompile(handcraft.compile(program)))
    assert caught.value.code == "not-stock"


def test_what_cannot_be_proved_in_float32_is_refused_at_its_place() -> None:
    compiled = recompile(handcraft.compile(parity(34)))
    with pytest.raises(ProgramError, match="not proved in float32: this ") as caught:
        nanogpt(compiled)
    assert caught.value.code == "format"
    assert caught.value.span is not None
    assert str(caught.value.help).startswith("use a smaller context, or export it to gpt2")


def test_what_cannot_be_proved_is_made_if_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stock_form, "PAIRS", stock_form.PAIRS[:1])
    monkeypatch.setattr(stock_form, "SHARPNESS", stock_form.SHARPNESS[:1])
    compiled = recompile(handcraft.compile(parity(34)))
    certificate = nanogpt(compiled, allow_unproved=True).model.certificate
    assert certificate is not None
    assert "float32" not in certificate.proved


def test_a_stock_model_of_another_form_is_refused() -> None:
    compiled = made("aab").compiled
    others = (
        (stock(compiled, activation="gelu", mlp_width="usual"), "epsilon 1e-05"),
        (stock(compiled, layer_norm="pair", mlp_width="usual"), "gelu, not gelu_new"),
        (stock(compiled, layer_norm="pair", activation="gelu"), "64 neurons, not 1"),
    )
    for other, what in others:
        with pytest.raises(HandcraftError, match=what) as caught:
            nanogpt_files(other)
        assert caught.value.code == "not-nanogpt"


@pytest.mark.parametrize("name", ["aab", "count_so_far", "reverse", "translate"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_arrays_of_any_model_come_back_equal(name: str, dtype: str) -> None:
    model = handcraft.compile(GALLERY / f"{name}.rasp", dtype=dtype)
    state = read(torch_files(model)["state_dict.pt"])
    assert list(state) == list(model.weights)
    for array_name, array in model.weights.items():
        assert state[array_name].numpy().dtype == array.dtype
        assert np.array_equal(state[array_name].numpy(), array)


def test_the_same_model_gives_the_same_bytes() -> None:
    it = made("aab")
    assert nanogpt_files(it.stock) == it.files
    assert nanogpt_files(nanogpt(it.compiled)) == it.files
    own = it.compiled.model
    assert torch_files(own) == torch_files(handcraft.compile(it.program))
    changed = dict(own.weights) | {"wpe.weight": own.weights["wpe.weight"] + 1}
    other = Model(replace(own.parameters, arrays=changed), own.vocabulary, own.description)
    assert torch_files(own) != torch_files(other)


def test_a_missing_library_is_told_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    it = made("aab")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(HandcraftError, match="`torch` cannot be imported") as caught:
        torch_files(it.compiled.model)
    assert caught.value.code == "missing-extra"
    with pytest.raises(HandcraftError, match="`torch` cannot be imported"):
        nanogpt_files(it.stock)


def parity(context: int) -> str:
    """Return a program of many neurons: two for each number that it tells apart."""
    number = 'selector_width(select(tokens, "a", ==))'
    return f'vocab "ab"; context {context}; predict "b" if {number} % 2 == 1 else "a";'


def of_equal_length(program: handcraft.Program) -> Iterator[list[tuple[str | int, ...]]]:
    """Yield every short input, and random ones, in batches of one length."""
    found: dict[int, set[tuple[str | int, ...]]] = {}
    longest = min(SHORT, program.context - 1)
    for case in chain(
        every_case(program, tokens_tried(program), longest),
        random_cases(program, RANDOM, Random(0)),
    ):
        found.setdefault(len(case.tokens), set()).add(case.tokens)
    for texts in found.values():
        yield sorted(texts, key=repr)


def meant(
    program: handcraft.Program, texts: list[tuple[str | int, ...]]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return at which positions of which texts the program has a meaning, in scope."""
    found = [program.meaning(text) for text in texts]
    return np.array(
        [[it.in_scope and not isinstance(a, Undefined) for a in it.answers] for it in found]
    )


def read(file: bytes) -> dict[str, Any]:
    state: dict[str, Any] = torch.load(BytesIO(file), weights_only=True)
    return state


def loaded(files: Mapping[str, bytes]) -> tuple[Any, dict[str, Any]]:
    """Return a network with the parts of a nanoGPT that has read the files, and its arguments."""
    args = json.loads(files["model_args.json"])
    network = nanogpt_network(args)
    network.load_state_dict(read(files["nanogpt.pt"]), strict=True)
    return network, args


def nanogpt_network(args: Mapping[str, Any]) -> Any:
    """Return what a nanoGPT consists of, untrained: its parameters have the names and shapes."""
    nn, width = torch.nn, args["n_embd"]

    def block() -> Any:
        attn = {"c_attn": nn.Linear(width, 3 * width), "c_proj": nn.Linear(width, width)}
        mlp = {"c_fc": nn.Linear(width, 4 * width), "c_proj": nn.Linear(4 * width, width)}
        parts = {
            "ln_1": nn.LayerNorm(width, eps=1e-5),
            "attn": nn.ModuleDict(attn),
            "ln_2": nn.LayerNorm(width, eps=1e-5),
            "mlp": nn.ModuleDict(mlp),
        }
        return nn.ModuleDict(parts)

    transformer = {
        "wte": nn.Embedding(args["vocab_size"], width),
        "wpe": nn.Embedding(args["block_size"], width),
        "h": nn.ModuleList([block() for _ in range(args["n_layer"])]),
        "ln_f": nn.LayerNorm(width, eps=1e-5),
    }
    head = nn.Linear(width, args["vocab_size"], bias=False)
    head.weight = transformer["wte"].weight
    return nn.ModuleDict({"transformer": nn.ModuleDict(transformer), "lm_head": head}).eval()


def logits(network: Any, args: Mapping[str, Any], ids: Any, *, is_fused: bool = True) -> Array:
    """Return `[batch, n_seq, vocab_size]`, computed as nanoGPT does."""
    parts, functional = network["transformer"], torch.nn.functional
    with torch.inference_mode():
        x = parts["wte"](torch.tensor(ids)) + parts["wpe"](torch.arange(ids.shape[-1]))
        for block in parts["h"]:
            packed = block["attn"]["c_attn"](block["ln_1"](x)).split(x.shape[-1], dim=2)
            q, k, v = (each.unflatten(2, (args["n_head"], -1)).transpose(1, 2) for each in packed)
            if is_fused:
                mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.shape[-1]))
                later = torch.ones(scores.shape[-2:]).tril() == 0
                mixed = scores.masked_fill(later, -math.inf).softmax(dim=-1) @ v
            x = x + block["attn"]["c_proj"](mixed.transpose(1, 2).flatten(2))
            neurons = functional.gelu(block["mlp"]["c_fc"](block["ln_2"](x)))
            x = x + block["mlp"]["c_proj"](neurons)
        found: Array = network["lm_head"](parts["ln_f"](x)).numpy()
    return found
