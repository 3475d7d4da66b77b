"""A model in the program's own words: its residual stream, its components, and what it did.

All of it stands in the model file; the program's text is not needed. Nothing is printed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from handcraft.runtime.lines import by_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from handcraft.runtime.description import Operation, ResidualVariable
    from handcraft.runtime.lines import SourceLine
    from handcraft.runtime.model import Model
    from handcraft.runtime.trace import Trace
    from handcraft.runtime.vocabulary import Text
    from handcraft.runtime.weights import Array

MOST_LABELS = 24
"""Labels that are listed of one variable."""

SMALLEST_SHOWN = 0.005
"""Shares of attention below this are shown as `.`."""


def explain(model: Model) -> str:
    """Return the residual map and one line for each component."""
    return _text([*_headline(model), "", *_residual(model), "", *_operations(model)])


def explain_lines(model: Model) -> str:
    """Return for each line of the program what does its work, or what became of it."""
    rows = [_line(line) for line in by_line(model.description)]
    width = max((len(name) for name, _ in rows), default=0)
    return _text([f"{name.ljust(width)}  {'; '.join(work)}" for name, work in rows])


def explain_run(model: Model, text: Text) -> str:
    """Return what the model does with one text: each head's pattern, and the answers.

    Raises:
        InputError: `too-long`, `unknown-token`, `empty-text`.
    """
    trace = model.trace(text)
    labels = _labels(model, text)
    lines: list[str] = []
    for layer in range(model.config.n_layer):
        lines.extend(_patterns(model, trace, layer, labels))
    return _text([*lines, *_answers(model, text)])


def shown(answer: object) -> str:
    """Return an answer as people read it: `1/3`, `True`, plain text, `a|b` for several tokens.

    A text that could not be told apart from nothing, or from two answers, stands in quotes.
    """
    if isinstance(answer, tuple):
        return "|".join(map(shown, answer))
    text = str(answer)
    if isinstance(answer, str) and (not text or any(map(str.isspace, text))):
        return f'"{text}"'.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return text


def counted(number: int, noun: str) -> str:
    """Return `1 head`, `2 heads`, `no heads`."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}".rstrip() + "\n" for line in lines)


def _headline(model: Model) -> Iterator[str]:
    config, description = model.config, model.description
    name = description.provenance.get("program", "model")
    window = "window-safe" if description.window_safe else "not window-safe"
    yield f"{name}: {description.kind}, {config.attention}, context {config.context}, {window}"
    tokens = [shown(token) for token in model.vocabulary.tokens]
    yield f"tokens: {_listed(tokens)}"
    if config.start:
        yield "start token: in front of every text, seen by the heads only"


def _listed(labels: Sequence[str]) -> str:
    more = f" ... ({len(labels)})" if len(labels) > MOST_LABELS else ""
    return " ".join(labels[:MOST_LABELS]) + more


def _residual(model: Model) -> Iterator[str]:
    yield f"residual stream: {counted(model.config.d_model, 'direction')}"
    shared = _shared(model.description.residual)
    rows = [_variable(model, variable, shared) for variable in model.description.residual]
    yield from _columns(rows)


def _shared(residual: Sequence[ResidualVariable]) -> frozenset[str]:
    """Return the names of the variables that have directions which others have too."""
    shared: set[str] = set()
    widest: ResidualVariable | None = None
    for variable in sorted(residual, key=lambda v: v.first_direction):
        if widest is not None and variable.first_direction <= widest.last_direction:
            shared.update((widest.name, variable.name))
        if widest is None or variable.last_direction > widest.last_direction:
            widest = variable
    return frozenset(shared)


def _variable(model: Model, variable: ResidualVariable, shared: frozenset[str]) -> tuple[str, ...]:
    place = _range(variable.first_direction, variable.last_direction)
    labels = f"[{_listed(list(map(shown, variable.labels)))}]"
    meaning = variable.meaning
    if variable.name in shared and variable.layers is not None:
        first, last = (_layer_name(model, layer) for layer in variable.layers)
        when = f"in {first} only" if first == last else f"from {first} to {last}"
        meaning = f"{meaning}; has these directions {when}"
    return place, variable.name, labels, meaning


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}..{last}"


def _layer_name(model: Model, layer: int) -> str:
    if layer == -1:
        return "the embedding"
    return "the unembedding" if layer == model.config.n_layer else f"layer {layer}"


def _operations(model: Model) -> Iterator[str]:
    for layer in range(-1, model.config.n_layer + 1):
        known = [o for o in model.description.operations if o.layer == layer]
        yield _layer_line(model, layer)
        yield from _columns([_operation(operation) for operation in known])


def _layer_line(model: Model, layer: int) -> str:
    if layer == -1:
        return "embedding"
    if layer == model.config.n_layer:
        return "unembedding"
    sizes = model.config.layers[layer]
    heads = counted(sizes.n_head, "head")
    width = f" of width {sizes.d_head}" if sizes.n_head else ""
    neurons = counted(sizes.d_mlp, "neuron") if sizes.d_mlp else "no MLP"
    return f"layer {layer}: {heads}{width}, {neurons}"


def _operation(operation: Operation) -> tuple[str, ...]:
    own = () if operation.line is None else (operation.line,)
    lines = sorted((*own, *operation.others))
    line = f"({_line_name(lines)})" if lines else ""
    match operation.kind:
        case "head":
            return f"head {operation.index}", operation.text, line
        case "mlp":
            return _neurons(operation), operation.text, line
        case "embedding" | "unembed":
            return operation.text, line
        case _:
            assert_never(operation.kind)


def _neurons(operation: Operation) -> str:
    if operation.last is None:
        return f"neurons from {operation.index}"
    many = "" if operation.index == operation.last else "s"
    return f"neuron{many} {_range(operation.index, operation.last)}"


def _line_name(lines: Sequence[int]) -> str:
    return f"line{'' if len(lines) == 1 else 's'} {', '.join(map(str, lines))}"


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield rows indented and aligned; the last column but one may be long, so it is not padded."""
    if not rows:
        return
    padded = len(rows[0]) - 2
    widths = [max(len(row[i]) for row in rows) for i in range(padded)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  " + "  ".join([*cells, *row[padded:]])


# Lines ---------------------------------------------------------------------------------------


def _line(line: SourceLine) -> tuple[str, list[str]]:
    """Return `line 6` and what does its work: `head 0.1`, `layer 1 neurons 0..5`, directions."""
    name = "no line" if line.line is None else f"line {line.line}"
    if line.folded is not None:
        return name, [line.folded]
    work = [text for operation in line.operations for text in _component(operation)]
    held = [
        f"{_range(variable.first_direction, variable.last_direction)} {variable.name}"
        for variable in line.variables
    ]
    if held:
        work.append(f"directions {', '.join(held)}")
    return name, work


def _component(operation: Operation) -> tuple[str, ...]:
    """Return a component in a few words; what embeddings write is told as directions."""
    match operation.kind:
        case "head":
            return (f"head {operation.layer}.{operation.index}",)
        case "mlp":
            return (f"layer {operation.layer} {_neurons(operation)}",)
        case "unembed":
            return ("unembedding",)
        case "embedding":
            return ()
        case _:
            assert_never(operation.kind)


# One text ------------------------------------------------------------------------------------


def _labels(model: Model, text: Text) -> list[str]:
    start = ["start"] if model.config.start else []
    return [*start, *(shown(token) for token in model.vocabulary.split(text))]


def _patterns(model: Model, trace: Trace, layer: int, labels: list[str]) -> Iterator[str]:
    attention = trace.layers[layer].attention
    if attention is None:
        return
    known = {
        operation.index: f": {operation.text}"
        for operation in model.description.operations
        if operation.layer == layer and operation.kind == "head"
    }
    for head, pattern in enumerate(attention.pattern):
        yield f"layer {layer}, head {head}{known.get(head, '')}"
        yield from _pattern(pattern, labels)
        yield ""


def _pattern(pattern: Array, labels: list[str]) -> Iterator[str]:
    """Yield the shares `[n_seq, n_seq]`, a row for each query, a column for each key."""
    shares = [[_share(float(share)) for share in row] for row in pattern]
    width = max(4, *map(len, labels))
    yield "  " + " ".join(cell.rjust(width) for cell in ["", *labels])
    for label, row in zip(labels, shares, strict=True):
        yield "  " + " ".join(cell.rjust(width) for cell in [label, *row])


def _share(share: float) -> str:
    if share < SMALLEST_SHOWN:
        return "."
    return "1" if share > 1 - SMALLEST_SHOWN else f"{share:.2f}".lstrip("0")


def _answers(model: Model, text: Text) -> Iterator[str]:
    """Yield the answer at each token; a bidirectional program predicts at the last one only."""
    hidden = int(model.vocabulary.bos is not None)
    tokens = model.vocabulary.split(text)[hidden:]
    answers = model.run_batch([tokens])[0]
    rows = [(shown(token), shown(answer)) for token, answer in zip(tokens, answers, strict=True)]
    if model.config.attention == "bidirectional" and model.description.kind != "output":
        rows = rows[-1:]
    width = max((len(token) for token, _ in rows), default=0)
    yield "answers"
    yield from (f"  {token.rjust(width)}  {answer}" for token, answer in rows)
