"""The model card of an exported folder: the program, what was proved, how to use it."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from handcraft.exporting.gguf import SWITCHES
from handcraft.exporting.tokenizer import vocabulary_names
from handcraft.language.program import parse_again

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.compiler.stock.stock import StockModel
    from handcraft.runtime.certificate import Certificate
    from handcraft.runtime.model import Model
    from handcraft.runtime.vocabulary import Vocabulary

CARD_FILE = "README.md"

FRONT = """\
---
library_name: transformers
pipeline_tag: text-generation
tags: [handcraft, interpretability, gpt2]
---
"""

PREDICTS = """\
```python
from transformers import pipeline

generate = pipeline("text-generation", {folder})
print(generate({prompt!r}, do_sample=False, max_new_tokens={n})[0]["generated_text"])
```
"""

SLIDES = """\
GPT-2 ends after {n_positions} positions. What follows a longer text is decided by its last \
{context} tokens (proved), so a window over them goes on as long as you like:

```python
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained({folder})
tokenizer = AutoTokenizer.from_pretrained({folder})
ids = tokenizer({prompt!r}, return_tensors="pt").input_ids
front, room = ids[:, :{front}], {room}
for _ in range(10):
    window = torch.cat([front, ids[:, {front}:][:, -room:]], dim=1)
    ids = torch.cat([ids, model(window).logits[:, -1:].argmax(-1)], dim=1)
{end}print(tokenizer.decode(ids[0], skip_special_tokens=True))
```
"""

END = """\
    if ids[0, -1] == tokenizer.eos_token_id:
        break
"""

ENDS = """\
GPT-2 ends after {n_positions} positions, and it is not proved that the end of a longer text \
decides what follows: for longer texts compile the program with a larger context.
"""

VALUES = """\
The program says a value at each position. Values are tokens of the exported vocabulary, behind \
those of the program; the largest logit is the value, and every other token is far below.

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained({folder})
tokenizer = AutoTokenizer.from_pretrained({folder})
logits = model(**tokenizer({prompt!r}, return_tensors="pt")).logits[0, {front}:]
print(tokenizer.convert_ids_to_tokens(logits.argmax(-1)))
```
"""

LENS = """\
`hooks.json` says where TransformerLens has each head, group of neurons and variable of the program:

```python
import json
from pathlib import Path

from handcraft.exporting.lens import bridge

lens = bridge({folder})  # a TransformerBridge
logits, cache = lens.run_with_cache({prompt!r})
hooks = json.loads(Path({folder}, "hooks.json").read_text())
for head in hooks["heads"]:
    print(head["text"], cache[head["pattern"]][0, head["head"]], sep="\\n")
```
"""

LLAMA = """\
`model.gguf` runs in llama.cpp. The proof is about float32, and llama.cpp keeps keys and values in \
half precision unless it is told not to:

```sh
llama-cli -m model.gguf {switches} --temp 0 -p {prompt}
```
"""

BACK = """\
`handcraft.load` reads this folder too (with `handcraft[export]`): `model.trace(text)` then shows \
every activation, and `handcraft explain` says what each head, neuron and direction is for. The \
names are in `handcraft.json`.
"""

FORM = """\
A stock GPT-2: n_layer {n_layer}, n_head {n_head}, d_head {d_head}, d_model {d_model}, d_mlp \
{d_mlp}, {activation}. Every layer norm does nothing: {norm}. One direction is never written, and \
readers cancel the mean by it.{start}
"""

NORMS = {
    "epsilon": "epsilon is 2**40 and the gain 2**20, so that a variance is lost beside it",
    "pair": "two constant directions, plus and minus {pair:g}, pin the variance",
}

FOLDER = '"."'
"""The folder of the card itself, for whoever runs its lines there."""


def gpt2_card(made: StockModel, *, is_lens: bool = False) -> str:
    """Return the card of a stock GPT-2, with what TransformerLens makes of it if asked for."""
    model = made.model
    return FRONT + "\n".join(
        (
            _heading(model),
            *_program(model),
            "## Use\n",
            *_use(model),
            *((LENS.format(folder=FOLDER, prompt=_prompt(model)),) if is_lens else ()),
            BACK,
            "## What was proved\n",
            *_proved(model.certificate),
            "## Form\n",
            _form(made),
            *_vocabulary(model),
        )
    )


def gguf_card(made: StockModel) -> str:
    """Return the card of a GGUF file."""
    model = made.model
    return "\n".join(
        (
            _heading(model),
            *_program(model),
            "## Use\n",
            LLAMA.format(prompt=quote(_prompt(model)), switches=SWITCHES),
            "## What was proved\n",
            *_proved(model.certificate),
            "## Form\n",
            _form(made),
            *_vocabulary(model),
        )
    )


def native_card(model: Model, to: str) -> str:
    """Return the card of a model that is exported as it is."""
    return "\n".join(
        (
            _heading(model),
            f"The weights of the compiled program as {to}; `handcraft.json` says what they mean.\n",
            *_program(model),
            "## What was proved\n",
            *_proved(model.certificate),
            *_vocabulary(model),
            *_unsaid(model),
        )
    )


def _heading(model: Model) -> str:
    name = model.description.provenance.get("program", "a program")
    maker = model.description.provenance.get("compiler", "handcraft")
    return f"# {name}\n\nThese weights were not trained: {maker} compiled them from a program.\n"


def _program(model: Model) -> Iterator[str]:
    """Yield the texts of the program, and what was given in place of its statements."""
    recipe = model.description.recipe
    if recipe is None:
        return
    for text in recipe.texts:
        if len(recipe.texts) > 1:
            yield f"`{text.name}`:\n"
        fence = "```"
        while fence in text.text:
            fence += "`"
        yield f"{fence}\n{text.text.rstrip()}\n{fence}\n"
    given = {
        name: getattr(recipe.origin, name) for name in ("vocab", "context", "attention", "output")
    }
    told = [f"{name} {_code(str(value))}" for name, value in given.items() if value is not None]
    if told:
        yield f"Compiled with {', '.join(told)}.\n"


def _use(model: Model) -> Iterator[str]:
    config, vocabulary = model.config, model.vocabulary
    front = config.start + (vocabulary.bos is not None)
    prompt = _prompt(model)
    room = config.n_ctx - front
    if model.description.kind == "output":
        yield VALUES.format(folder=FOLDER, prompt=prompt, front=front)
        yield ENDS.format(n_positions=config.n_ctx)
        return
    n = max(1, min(10, room - 1))
    prompt = vocabulary.join((prompt, ""))  # the pipeline puts what follows right behind it
    yield PREDICTS.format(folder=FOLDER, prompt=prompt, n=n)
    if model.description.window_safe:
        yield SLIDES.format(
            folder=FOLDER,
            prompt=prompt,
            front=front,
            room=room,
            context=room,
            n_positions=config.n_ctx,
            end="" if vocabulary.eos is None else END,
        )
    else:
        yield ENDS.format(n_positions=config.n_ctx)
    if model.description.guide is not None and vocabulary.eos is None:
        yield (
            "No token is right behind a word with which no longer word begins, and a stock model"
            " goes on all the same: declare an `eos` to let it say so.\n"
        )


def _prompt(model: Model) -> str:
    """Return a text to read: an `output` program's example, else a token that can be continued."""
    vocabulary, guide, recipe = model.vocabulary, model.description.guide, model.description.recipe
    if model.description.kind == "output" and recipe is not None:
        front = vocabulary.bos is not None
        for example in parse_again(recipe.origin).examples:
            if len(example.input) > front:
                return vocabulary.join(example.input[front:])
    markers = (vocabulary.bos, vocabulary.eos)
    known = vocabulary.tokens if guide is None else guide.following(0)
    token = next((t for t in known if t not in markers), vocabulary.tokens[0])
    return vocabulary.join((token,))


def _proved(certificate: Certificate | None) -> Iterator[str]:
    if certificate is None:
        yield "Nothing: these weights are not those that the program compiles to.\n"
        return
    yield (
        "For every input on which the program has a meaning, and sums in any order, the answer is"
        " the program's where it says proved.\n"
    )
    lines = [
        "| format | proved | a logit is off by at most | margin | used up |",
        "| --- | --- | --- | --- | --- |",
    ]
    for v in certificate.verdicts:
        spent = f"{100 * v.spent:.2g} %" if v.proved else v.reason
        error = f"{v.error:.2g}" if v.error < 1e30 else "unknown"
        verdict = "yes" if v.proved else "no"
        lines.append(f"| {v.format} | {verdict} | {error} | {v.margin:.4g} | {spent} |")
    yield "\n".join(lines) + "\n"


def _form(made: StockModel) -> str:
    config, shape = made.model.config, made.shape
    norm = NORMS["epsilon"]
    if shape.pair is not None:
        pair = float(made.model.weights["wpe.weight"][0, shape.pair[0]])
        norm = NORMS["pair"].format(pair=pair)
    start = " Every text begins with a start token." if config.start else ""
    return FORM.format(
        n_layer=config.n_layer,
        n_head=config.n_head,
        d_head=config.d_head,
        d_model=config.d_model,
        d_mlp=config.d_mlp,
        activation=config.activation,
        norm=norm,
        start=start,
    )


def _vocabulary(model: Model) -> Iterator[str]:
    """Yield the names of all ids, and of those of the source."""
    outputs = model.description.outputs
    values = outputs if isinstance(outputs, tuple) else ()
    names = vocabulary_names(model.vocabulary, start=model.config.start, values=values)
    if model.source_vocabulary is not None:
        yield f"Tokens of the source: {_listed(model.source_vocabulary)}.\n"
    yield f"Tokens, from id 0 on: {', '.join(_code(repr(name)) for name in names)}.\n"


def _unsaid(model: Model) -> Iterator[str]:
    """Yield which logit of a native model is about a token that is never produced."""
    vocabulary = model.vocabulary
    if vocabulary.bos is not None and model.description.kind != "output":
        number = vocabulary.id(vocabulary.bos)
        yield (
            f"{_code(repr(vocabulary.bos))} is never produced: leave logit {number} out of the"
            " largest.\n"
        )


def _listed(vocabulary: Vocabulary) -> str:
    return ", ".join(_code(repr(token)) for token in vocabulary.tokens)


def _code(text: str) -> str:
    """Return a text as Markdown shows it as code, marks of code in it included."""
    mark = "`"
    while mark in text:
        mark += "`"
    return f"`{text}`" if mark == "`" else f"{mark} {text} {mark}"
