"""A model in the program's own words: its residual stream, its components, and what it did.

All of it stands in the model file; the program's text is not needed. Nothing is printed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from handcraft.errors import InputError
from handcraft.runtime.lines import by_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from handcraft.runtime.config import Config
    from handcraft.runtime.description import Operation, ResidualVariable, SequenceName
    from handcraft.runtime.lines import SourceLine
    from handcraft.runtime.model import Model
    from handcraft.runtime.trace import AttentionTrace, Trace
    from handcraft.runtime.vocabulary import Text
    from handcraft.runtime.weights import Array

SOURCE: SequenceName = "source"
TARGET: SequenceName = "tokens"

MOST_LABELS = 24
"""Labels that are listed of one variable."""

SMALLEST_SHOWN = 0.005
"""Shares of attention below this are shown as `.`."""


def explain(model: Model) -> str:
    """Return the residual map and one line for each component."""
    residual, operations = [*_residual(model, TARGET)], [*_operations(model, TARGET)]
    if model.config.encoder is not None:
        residual = [*_residual(model, SOURCE), "", *residual]
        operations = [*_operations(model, SOURCE), *operations]
    return _text([*_headline(model), "", *residual, "", *operations])


def explain_lines(model: Model) -> str:
    """Return for each line of the program what does its work, or what became of it."""
    rows = [_line(line) for line in by_line(model.description)]
    width = max((len(name) for name, _ in rows), default=0)
    return _text([f"{name.ljust(width)}  {'; '.join(work)}" for name, work in rows])


def explain_run(model: Model, text: Text, target: Text | None = None) -> str:
    """Return what the model does with one text: each head's pattern, and the answers.

    Args:
        model: the model.
        text: the text; the source, if the model has one.
        target: what is written already beside a source; what the model writes itself if None.

    Raises:
        InputError: `too-long`, `unknown-token`, `empty-text`; `bad-target` without a source.
    """
    if model.source_vocabulary is None:
        if target is not None:
            raise InputError("bad-target", "only a model that reads a source is given a target")
        labels = _labels(model, text)
        return _text(
            [*_run_lines(model, model.trace(text), labels, labels), *_answers(model, text)]
        )
    if target is None:
        target = "" if model.description.kind == "output" else str(model.complete(text))
    start = ["start"] if model.config.encoder is not None and model.config.encoder.start else []
    read = [*start, *(shown(token) for token in model.source_vocabulary.split(text))]
    lines = _run_lines(model, model.trace(text, target), _labels(model, target), read)
    return _text([*lines, *_answers_across(model, text, target)])


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
    window = ", window-safe" if description.window_safe else ", not window-safe"
    if config.encoder is not None:
        window = ", never slides"
    yield f"{name}: {description.kind}, {config.attention}, context {config.context}{window}"
    tokens = [shown(token) for token in model.vocabulary.tokens]
    yield f"tokens: {_listed(tokens)}"
    if config.start:
        yield "start token: in front of every text, seen by the heads only"
    if config.encoder is not None and model.source_vocabulary is not None:
        read = _listed([shown(token) for token in model.source_vocabulary.tokens])
        yield f"source: context {config.encoder.context}, tokens {read}"
        if config.encoder.start:
            yield "start token: in front of every source, seen by the heads only"


def _listed(labels: Sequence[str]) -> str:
    more = f" ... ({len(labels)})" if len(labels) > MOST_LABELS else ""
    return " ".join(labels[:MOST_LABELS]) + more


def _residual(model: Model, sequence: SequenceName) -> Iterator[str]:
    config = _config(model, sequence)
    yield f"{_of(sequence)}residual stream: {counted(config.d_model, 'direction')}"
    known = [v for v in model.description.residual if v.sequence == sequence]
    shared = _shared(known)
    yield from _columns([_variable(config, variable, shared) for variable in known])


def _config(model: Model, sequence: SequenceName) -> Config:
    encoder = model.config.encoder
    return encoder if sequence == SOURCE and encoder is not None else model.config


def _of(sequence: SequenceName) -> str:
    return "encoder " if sequence == SOURCE else ""


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


def _variable(
    config: Config, variable: ResidualVariable, shared: frozenset[str]
) -> tuple[str, ...]:
    place = _range(variable.first_direction, variable.last_direction)
    labels = f"[{_listed(list(map(shown, variable.labels)))}]"
    meaning = variable.meaning
    if variable.name in shared and variable.layers is not None:
        first, last = (_layer_name(config, variable, layer) for layer in variable.layers)
        when = f"in {first} only" if first == last else f"from {first} to {last}"
        meaning = f"{meaning}; has these directions {when}"
    return place, variable.name, labels, meaning


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}..{last}"


def _layer_name(config: Config, variable: ResidualVariable, layer: int) -> str:
    if layer == -1:
        return "the embedding"
    if layer == config.n_layer:
        return "the cross heads" if variable.sequence == SOURCE else "the unembedding"
    return f"layer {layer}"


def _operations(model: Model, sequence: SequenceName) -> Iterator[str]:
    config = _config(model, sequence)
    for layer in range(-1, config.n_layer + (sequence == TARGET)):
        known = [o for o in model.description.operations if o.layer == layer]
        yield f"{_of(sequence)}{_layer_line(config, layer)}"
        yield from _columns([_operation(o) for o in known if o.sequence == sequence])


def _layer_line(config: Config, layer: int) -> str:
    if layer == -1:
        return "embedding"
    if layer == config.n_layer:
        return "unembedding"
    sizes = config.layers[layer]
    heads = counted(sizes.n_head, "head")
    width = f" of width {sizes.d_head}" if sizes.n_head else ""
    across = f", {counted(sizes.n_cross, 'cross head')} of width {sizes.d_cross}"
    neurons = counted(sizes.d_mlp, "neuron") if sizes.d_mlp else "no MLP"
    return f"layer {layer}: {heads}{width}{across if sizes.n_cross else ''}, {neurons}"


def _operation(operation: Operation) -> tuple[str, ...]:
    own = () if operation.line is None else (operation.line,)
    lines = sorted((*own, *operation.others))
    line = f"({_line_name(lines)})" if lines else ""
    match operation.kind:
        case "head":
            kind = "cross head" if operation.across else "head"
            return f"{kind} {operation.index}", operation.text, line
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
    for sequence in (SOURCE, TARGET):
        held = [
            f"{_range(variable.first_direction, variable.last_direction)} {variable.name}"
            for variable in line.variables
            if variable.sequence == sequence
        ]
        if held:
            work.append(f"{_of(sequence)}directions {', '.join(held)}")
    return name, work


def _component(operation: Operation) -> tuple[str, ...]:
    """Return a component in a few words; what embeddings write is told as directions."""
    match operation.kind:
        case "head":
            kind = "cross head" if operation.across else "head"
            return (f"{_of(operation.sequence)}{kind} {operation.layer}.{operation.index}",)
        case "mlp":
            return (f"{_of(operation.sequence)}layer {operation.layer} {_neurons(operation)}",)
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


def _run_lines(model: Model, trace: Trace, labels: list[str], read: list[str]) -> Iterator[str]:
    """Yield what each head looks at: in the encoder, within the text, and from it at the source."""
    if trace.encoder is not None:
        for number, layer in enumerate(trace.encoder.layers):
            title = f"encoder layer {number}, head"
            known = _texts(model, number, SOURCE, across=False)
            yield from _patterns(layer.attention, title, known, read, read)
    for number, layer in enumerate(trace.layers):
        title = f"layer {number}, head"
        known = _texts(model, number, TARGET, across=False)
        yield from _patterns(layer.attention, title, known, labels, labels)
        title = f"layer {number}, cross head"
        known = _texts(model, number, TARGET, across=True)
        yield from _patterns(layer.cross, title, known, labels, read)


def _texts(model: Model, layer: int, sequence: SequenceName, *, across: bool) -> dict[int, str]:
    """Return what the heads of a layer do, by their numbers."""
    return {
        operation.index: f": {operation.text}"
        for operation in model.description.operations
        if (operation.layer, operation.kind) == (layer, "head")
        and (operation.sequence, operation.across) == (sequence, across)
    }


def _patterns(
    attention: AttentionTrace | None,
    title: str,
    known: Mapping[int, str],
    queries: list[str],
    keys: list[str],
) -> Iterator[str]:
    if attention is None:
        return
    for head, pattern in enumerate(attention.pattern):
        yield f"{title} {head}{known.get(head, '')}"
        yield from _pattern(pattern, queries, keys)
        yield ""


def _pattern(pattern: Array, queries: list[str], keys: list[str]) -> Iterator[str]:
    """Yield the shares `[n_query, n_key]`, a row for each query, a column for each key."""
    shares = [[_share(float(share)) for share in row] for row in pattern]
    width = max(4, *map(len, (*queries, *keys)))
    yield "  " + " ".join(cell.rjust(width) for cell in ["", *keys])
    for label, row in zip(queries, shares, strict=True):
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


def _answers_across(model: Model, text: Text, target: Text) -> Iterator[str]:
    """Yield the answer at each token of a target; what predicts says something at `bos` too."""
    bos = model.vocabulary.bos
    tokens = model.vocabulary.split(target)[1:]
    answers: list[object] = [*model.run_batch([text], [tokens])[0]]
    labels = [shown(token) for token in tokens]
    if model.description.kind != "output" and bos is not None:
        labels = [shown(bos), *labels]
        answers = [model.predict(text, ""), *answers]
    width = max(map(len, labels), default=0)
    yield "answers"
    for label, answer in zip(labels, answers, strict=True):
        yield f"  {label.rjust(width)}  {shown(answer)}"
