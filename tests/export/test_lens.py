"""Models in TransformerLens against the model itself, and what the hook names lead to there."""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from program_files import GALLERY

import handcraft
from handcraft.compiler.recompile import recompile
from handcraft.compiler.stock.stock import stock
from handcraft.errors import FileError, HandcraftError
from handcraft.exporting import lens
from handcraft.exporting.folder import write_folder
from handcraft.exporting.gpt2 import added_values, generation_config, gpt2_arrays, gpt2_config
from handcraft.exporting.hooks import hook_names, hooks_json
from handcraft.exporting.safetensors import safetensors_bytes
from handcraft.exporting.tokenizer import tokenizer_files
from handcraft.runtime.manifest import Manifest, write_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from torch import Tensor
    from transformer_lens.model_bridge import TransformerBridge

    from handcraft.compiler.stock.stock import LayerNorm, StockModel
    from handcraft.exporting.hooks import HeadHooks, HookNames
    from handcraft.runtime.model import Model
    from handcraft.runtime.weights import Array

torch = pytest.importorskip("torch")

TEXTS = {
    "aab": ("aab", "bbaba", "a"),
    "induction": ("hello", "abcabcab", "o"),
    "recall": ("a1b2?a", "b", "a1a3?b2a"),
    "count_so_far": ("abcabc", "lolll"),
    "unigram": ("abb", "cacbb"),
    "balanced": ("", "()((", "(())"),
    "patterns/flip_flop": ("_1__0_1", "0"),
    "patterns/clock": ("", "2", "17:"),
    "patterns/multiples_of_three": ("110", "0"),
}
"""Programs of the gallery that differ in kind, each with texts."""

TWO_LINES = """
vocab "ab";
context 6;
first = aggregate(select(indices, 0, ==), tokens, "b");
before = aggregate(select(indices, indices - 1, ==), tokens, "_");
output before if tokens == "a" else first;
"""


@pytest.fixture(autouse=True, scope="module")
def offline() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        pytest.importorskip("transformer_lens")
        yield


class Made(NamedTuple):
    """A stock model, and the same in TransformerLens."""

    stock: StockModel
    bridge: TransformerBridge
    names: HookNames

    @property
    def model(self) -> Model:
        return self.stock.model

    def ids(self, text: str) -> Tensor:
        return torch.tensor(self.model.encode(text)[None])

    def logits(
        self, text: str, hooks: list[tuple[str, Callable[..., Tensor]]] | None = None
    ) -> Array:
        """Return the model's own logits, `[n_seq, n_out]`."""
        with torch.no_grad():
            found = self.bridge.run_with_hooks(self.ids(text), fwd_hooks=hooks or [])
        first = self.model.config.n_vocab if added_values(self.model) else 0
        own: Array = found[0].numpy()[:, first : first + self.model.config.n_out]
        return own

    def cached(self, text: str) -> Mapping[str, Array]:
        with torch.no_grad():
            _, found = self.bridge.run_with_cache(self.ids(text))
        return {name: value[0].numpy() for name, value in found.items()}

    def head(self, line: int) -> HeadHooks:
        (found,) = [head for head in self.names.heads if line in head.lines]
        return found


@cache
def stock_of(name: str, layer_norm: LayerNorm = "epsilon") -> StockModel:
    model = handcraft.compile(handcraft.parse(GALLERY / f"{name}.rasp"))
    return stock(recompile(model), layer_norm=layer_norm)


@cache
def bridged(name: str, layer_norm: LayerNorm = "epsilon") -> Made:
    made = stock_of(name, layer_norm)
    return Made(made, lens.bridge(made), hook_names(made))


@cache
def natively(name: str) -> Made:
    made = stock_of(name)
    return Made(made, lens.native(made), hook_names(made))


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("way", [bridged, natively])
def test_patterns_and_logits_are_those_of_the_model(way: Callable[[str], Made], name: str) -> None:
    assert_alike(way(name), TEXTS[name])


@pytest.mark.parametrize("name", ["induction", "balanced"])
def test_the_pair_form_gives_the_same_too(name: str) -> None:
    assert_alike(bridged(name, "pair"), TEXTS[name])


@pytest.mark.parametrize("way", [lens.bridge, lens.native])
def test_a_model_that_is_not_stock_yet_is_made_so(
    way: Callable[..., TransformerBridge],
) -> None:
    model = handcraft.compile(TWO_LINES).astype("float64")
    made = stock(recompile(model), activation="relu")
    ready = Made(made, way(model, activation="relu"), hook_names(model))
    assert ready.bridge.cfg.dtype == torch.float64
    assert ready.bridge.cfg.act_fn == "relu"
    assert_alike(ready, ("abba", "b"))


@pytest.mark.parametrize("name", ["recall", "induction"])
def test_a_stock_model_is_taken_as_it_is(name: str) -> None:
    made = stock_of(name)
    again = Made(made, lens.bridge(made.model), hook_names(made.model))
    assert_alike(again, TEXTS[name])
    assert again.names == hook_names(made)


@pytest.mark.parametrize("name", ["aab", "induction", "balanced"])
@pytest.mark.parametrize("way", [lens.bridge, lens.native])
def test_an_exported_folder_gives_the_same(
    way: Callable[..., TransformerBridge], name: str, tmp_path: Path
) -> None:
    made = stock_of(name)
    write_folder(tmp_path / "exported", exported(made))
    read = Made(made, way(tmp_path / "exported"), hook_names(made))
    assert_alike(read, TEXTS[name])


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is no folder of an exported model"):
        lens.bridge(tmp_path)


@pytest.mark.parametrize("way", [lens.bridge, lens.native])
def test_a_missing_library_is_named(
    way: Callable[..., TransformerBridge], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformer_lens", None)
    with pytest.raises(HandcraftError, match="`transformer_lens` cannot be imported"):
        way(stock_of("aab"))


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_read_as_the_model_reads_them(name: str) -> None:
    made = bridged(name)
    for text in filter(None, TEXTS[name]):
        assert made.bridge.to_tokens(text).tolist() == made.ids(text).tolist()


def test_texts_of_different_lengths_are_padded_without_effect() -> None:
    made = bridged("recall")
    with torch.no_grad():
        both = made.bridge(["a1b2?a", "b2b"])
    assert np.array_equal(both[0, -1], made.logits("a1b2?a")[-1])
    assert np.array_equal(both[1, -1], made.logits("b2b")[-1])


def test_padding_is_an_error_where_no_token_can_pad() -> None:
    with pytest.raises(IndexError):
        bridged("aab").bridge(["aab", "a"])


@pytest.mark.parametrize("way", [bridged, natively])
@pytest.mark.parametrize("name", ["aab", "recall", "unigram", "balanced"])
def test_generation_is_that_of_the_model(way: Callable[[str], Made], name: str) -> None:
    made, text = way(name), TEXTS[name][1]
    written = made.bridge.generate(text, max_new_tokens=1, do_sample=False, verbose=False)
    assert written == text + made.model.complete(text, 1)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("way", [bridged, natively])
def test_every_hook_name_is_one_of_the_library(way: Callable[[str], Made], name: str) -> None:
    made = way(name)
    cached, config = made.cached(TEXTS[name][1]), made.model.config
    assert made.names.heads
    for head in made.names.heads:
        assert cached[head.pattern].shape[0] == config.n_head > head.head
        assert cached[head.z].shape[1:] == (config.n_head, config.d_head)
    for group in made.names.neurons:
        assert group.last is not None
        assert cached[group.pre].shape[1] == cached[group.post].shape[1] == config.d_mlp
        assert group.first <= group.last < config.d_mlp
    for variable in made.names.residual:
        assert variable.hooks
        assert all(cached[hook].shape[1] == config.d_model for hook in variable.hooks)


def test_a_variable_is_where_its_hooks_say() -> None:
    made = bridged("recall")
    (found,) = [each for each in made.names.residual if each.variable == "previous_token"]
    assert found.hooks == (
        *("blocks.0.hook_resid_mid", "blocks.0.hook_resid_post"),
        *("blocks.1.hook_resid_pre", "blocks.1.hook_resid_mid"),
    )
    cached = made.cached("a1b2?a")
    for hook in found.hooks:
        own = cached[hook][:, found.first : found.last + 1]
        # Behind the start token and the first token, each position holds the one before it.
        assert [found.labels[i] for i in own[2:].argmax(axis=1)] == list("a1b2?")
        assert np.array_equal(np.sort(own[2:], axis=1)[:, -2:], [[0, 1]] * 5)
    assert not cached["blocks.0.hook_resid_pre"][:, found.first : found.last + 1].any()


def test_what_neurons_write_is_there_behind_them() -> None:
    hooks = {each.variable: each.hooks for each in bridged("balanced").names.residual}
    assert hooks["apply"][0] == "blocks.1.hook_resid_post"
    assert hooks["depth"] == ("blocks.0.hook_resid_mid",)


def test_the_names_are_plain_data() -> None:
    names = bridged("balanced").names
    data = hooks_json(names)
    assert json.loads(json.dumps(data)) == data
    assert [*data] == ["heads", "neurons", "residual"]
    assert data["heads"] == [
        {
            "layer": 0,
            "head": 0,
            "pattern": "blocks.0.attn.hook_pattern",
            "z": "blocks.0.attn.hook_z",
            "text": names.heads[0].text,
            "lines": [8],
        }
    ]


def test_without_its_head_aab_predicts_no_b() -> None:
    made = bridged("aab")
    for text in TEXTS["aab"]:
        before, after = made.logits(text), made.logits(text, [zeroed(made.head(3))])
        assert (after.argmax(axis=1) == 0).all()
        said = [token == "b" for token in made.model.run(text)]
        changed = before.argmax(axis=1) != after.argmax(axis=1)
        assert changed.tolist() == said
    assert made.logits("aab").argmax(axis=1).tolist() == [1, 1, 0]


@pytest.mark.parametrize(("line", "token"), [(4, "b"), (5, "a")])
def test_zeroing_a_head_changes_what_depends_on_it_and_nothing_else(line: int, token: str) -> None:
    made_stock = stock(recompile(handcraft.compile(TWO_LINES)))
    made = Made(made_stock, lens.bridge(made_stock), hook_names(made_stock))
    text = "babbab"  # Behind an a, an a is what is said without a head too.
    before, after = made.logits(text), made.logits(text, [zeroed(made.head(line))])
    before, after = before[-len(text) :], after[-len(text) :]
    depends = [each == token for each in text]
    assert (before.argmax(axis=1) != after.argmax(axis=1)).tolist() == depends
    assert abs(before - after)[~np.array(depends)].max() < made.model.description.margin / 1000


@pytest.mark.parametrize(
    ("name", "variable"), [("induction", "aggregate"), ("recall", "tokens"), ("aab", "tokens")]
)
def test_the_logit_of_the_winner_comes_from_the_variable_that_is_read_out(
    name: str, variable: str
) -> None:
    made = bridged(name)
    n_layer = made.model.config.n_layer
    read = [each for each in made.names.residual if each.layers and each.layers[1] == n_layer]
    assert [each.variable for each in read if "(stock)" not in each.variable] == [variable]
    for text in TEXTS[name]:
        final = made.cached(text)[f"blocks.{n_layer - 1}.hook_resid_post"][-1]
        with torch.no_grad():
            head = made.bridge.W_U.numpy()  # [d_model, vocab_size]
            logits = made.bridge(made.ids(text))[0, -1].numpy()
        winner = logits.argmax()
        shares = {
            each.variable: float(
                final[each.first : each.last + 1] @ head[each.first : each.last + 1, winner]
            )
            for each in made.names.residual
        }
        margin = made.model.description.margin
        assert abs(logits[winner] - sum(shares.values())) < margin / 1000
        assert abs(logits[winner] - shares.pop(variable)) < margin / 1000
        assert max(map(abs, shares.values())) < margin / 1000


def test_processing_moves_logits_together_and_no_direction() -> None:
    made = stock_of("recall")
    raw, processed = bridged("recall"), Made(made, lens.bridge(made), hook_names(made))
    processed.bridge.enable_compatibility_mode()
    before, after = raw.cached("a1b2?a"), processed.cached("a1b2?a")
    for hook in {hook for each in raw.names.residual for hook in each.hooks}:
        assert np.allclose(before[hook], after[hook], rtol=0, atol=1e-5)
    moved = raw.logits("a1b2?a") - processed.logits("a1b2?a")
    assert abs(moved).max() > 1
    assert abs(moved - moved.mean(axis=1, keepdims=True)).max() < 1


def assert_alike(made: Made, texts: tuple[str, ...]) -> None:
    verdict = made.model.certificate and made.model.certificate.verdict("float32")
    assert verdict
    for text in texts:
        trace, cached = made.model.trace(text), made.cached(text)
        assert abs(made.logits(text) - trace.logits).max() <= 2 * verdict.error
        for layer in range(made.model.config.n_layer):
            pattern = cached[f"blocks.{layer}.attn.hook_pattern"]
            assert np.allclose(pattern, trace[f"pattern.{layer}"], rtol=0, atol=1e-6)


def zeroed(head: HeadHooks) -> tuple[str, Callable[..., Tensor]]:
    """Return a hook that lets a head say nothing."""

    def zero(z: Tensor, hook: object) -> Tensor:
        z = z.clone()
        z[:, :, head.head] = 0
        return z

    return head.z, zero


def exported(made: StockModel) -> dict[str, bytes]:
    """Return the files of an exported folder."""
    model = made.model
    texts = {
        "config.json": json.dumps(gpt2_config(made)),
        "generation_config.json": json.dumps(generation_config(made)),
        "handcraft.json": write_manifest(
            Manifest(model.config, model.vocabulary, model.description)
        ),
        **tokenizer_files(
            model.vocabulary,
            start=model.config.start,
            values=added_values(model),
            context=model.config.context,
        ),
    }
    arrays = {"model.safetensors": safetensors_bytes(gpt2_arrays(made))}
    return {name: text.encode() for name, text in texts.items()} | arrays
