"""Tracr's side of the table; runs in an environment of its own, where `tracr-pypi` is.

Reads requests as lines of JSON and answers each with a line: `{"program": ..., "length":
...}` compiles and measures, `{"program": ..., "text": [...]}` says what the program itself gives,
by Tracr's interpreter. With the argument `cold` it compiles the smallest program, runs it once
and ends.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LETTERS = frozenset("abcde")
BRACKETS = frozenset("(){}x")
NUMBERS = frozenset(range(1, 6))


def main() -> None:
    """Answer requests until there are no more."""
    if sys.argv[1:] == ["cold"]:
        model, _ = compiled("shift_by_1", 5)
        print(model.apply(["compiler_bos", *"abcde"]).decoded)
        return
    for line in sys.stdin:
        request = json.loads(line)
        if "text" in request:
            answer: object = said(request["program"], request["text"])
        else:
            answer = measured(request["program"], request["length"])
        print(json.dumps(answer), flush=True)


def said(name: str, text: list[Any]) -> list[Any]:
    """Return what a program says at each position of a text, None where it says nothing."""
    make, _ = programs()[name]
    answers: list[Any] = make(len(text))(text)
    return answers


def measured(name: str, length: int) -> dict[str, object]:
    """Compile a program and return its sizes, and the seconds it took."""
    model, seconds = compiled(name, length)
    arrays = [array for module in model.params.values() for array in module.values()]
    config = model.model_config
    return {
        "layers": config.num_layers,
        "heads": config.num_heads,
        "d_model": len(model.residual_labels),
        "neurons": config.mlp_hidden_size,
        "parameters": sum(int(array.size) for array in arrays),
        "nonzero": sum(int((array != 0).sum()) for array in arrays),
        "seconds": seconds,
    }


def compiled(name: str, length: int) -> tuple[Any, float]:
    """Return a compiled model and the seconds it took, its program already built."""
    make, vocabulary = programs()[name]
    program = make(length)
    compiling = import_module("tracr.compiler.compiling")
    begun = time.perf_counter()
    model = compiling.compile_rasp_to_model(program, set(vocabulary), length)
    return model, time.perf_counter() - begun


def programs() -> dict[str, tuple[Callable[[int], Any], frozenset[str] | frozenset[int]]]:
    """Return the makers of Tracr's library programs, given the length, and their vocabularies."""
    lib = import_module("tracr.compiler.lib")
    tokens = import_module("tracr.rasp.rasp").tokens
    return {
        "length": (lambda _: lib.make_length(), LETTERS),
        "reverse": (lambda _: lib.make_reverse(tokens), LETTERS),
        "hist": (lambda _: lib.make_hist(), LETTERS),
        "sort": (lambda n: lib.make_sort(tokens, tokens, max_seq_len=n, min_key=1), NUMBERS),
        "sort_freq": (lib.make_sort_freq, LETTERS),
        "shuffle_dyck1": (lambda _: lib.make_shuffle_dyck(["()"]), BRACKETS),
        "shuffle_dyck2": (lambda _: lib.make_shuffle_dyck2(), BRACKETS),
        "frac_prevs": (lambda _: lib.make_frac_prevs(tokens == "a"), LETTERS),
        "pair_balance": (lambda _: lib.make_pair_balance(tokens, "(", ")"), BRACKETS),
        "shift_by_1": (lambda _: lib.shift_by(1, tokens), LETTERS),
        "detect_pattern_3": (lambda _: lib.detect_pattern(tokens, "abc"), LETTERS),
    }


if __name__ == "__main__":
    main()
