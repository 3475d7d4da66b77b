"""How fast texts are written: ours, native and as a stock GPT-2, beside Hugging Face's.

    python tests/benchmarks/generation.py [PROGRAM] [CONTEXT]

All three write the same text with a key/value cache, one after the other in one run; the best of
several tries counts. Needs the extra `export`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

import handcraft

if TYPE_CHECKING:
    from collections.abc import Callable

    from handcraft.runtime.model import Model

GALLERY = Path(__file__).parents[2] / "programs"
TRIES = 5


def main(name: str = "aab", context: str = "256") -> None:
    """Print tokens per second of each, and the ratios."""
    program = handcraft.parse(GALLERY / f"{name}.rasp", context=int(context))
    prompt = program.examples[0].input[:1]
    n = int(context) - len(prompt)
    model = handcraft.compile(program)
    with TemporaryDirectory() as folder:
        target = Path(folder) / name
        handcraft.export(model, target, to="gpt2")
        stock = handcraft.load(target)
        theirs = _hugging_face(target, stock, prompt, n)
    ways = {
        "handcraft, native": lambda: model.complete(list(prompt), n),
        "handcraft, the stock GPT-2": lambda: stock.complete(list(prompt), n),
        "Hugging Face, the same weights": theirs,
    }
    texts = {text() for text in ways.values()}
    assert len(texts) == 1, "they write different texts"
    best = {way: min(_time(write) for _ in range(TRIES)) for way, write in ways.items()}
    slowest = best["Hugging Face, the same weights"]
    print(f"{name}, context {context}, {n} tokens, d_model {stock.config.d_model}")
    for way, seconds in best.items():
        print(f"{way:<32} {n / seconds:8.0f} tokens/s  {slowest / seconds:5.2f} times")


def _hugging_face(
    folder: Path, stock: Model, prompt: tuple[str | int, ...], n: int
) -> Callable[[], str]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    read = tokenizer(stock.vocabulary.join(prompt), return_tensors="pt")

    def write() -> str:
        made = model.generate(**read, do_sample=False, max_new_tokens=n)
        text: str = tokenizer.decode(made[0, read.input_ids.shape[1] :], skip_special_tokens=True)
        return text

    return write


def _time(write: Callable[[], object]) -> float:
    start = perf_counter()
    write()
    return perf_counter() - start


if __name__ == "__main__":
    main(*sys.argv[1:])
