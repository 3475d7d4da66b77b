"""The model card: its lines print what the program says, and its marks are those of Markdown."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import handcraft
from handcraft.exporting.export import export

pytest.importorskip("transformers")
pytest.importorskip("onnx")

TEXTS = {
    'vocab ["up", "down"]; context 4; predict {"up": "down", "down": "up"}[tokens];': (
        *("up down up down", "up down up down up down up down up down up"),
    ),
    "vocab -2..2; context 4; predict -tokens;": ("-2 2 -2 2", "-2 2 -2 2 -2 2 -2 2 -2 2 -2"),
    'vocab "abc"; context 6; eos "."; predict next("abc|ab");': ("abc", "abc"),
}


@pytest.mark.parametrize("program", TEXTS)
def test_the_lines_of_a_card_print_texts_that_end_where_they_should(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(handcraft.compile(program), tmp_path / "it", to="gpt2")
    monkeypatch.chdir(tmp_path / "it")
    card = Path("README.md").read_text(encoding="utf-8")
    pieces = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    assert tuple(map(printed, pieces)) == TEXTS[program]


def printed(code: str) -> str:
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(compile(code, "<card>", "exec"), {})
    return told.getvalue().removesuffix("\n")


def test_a_card_shows_marks_of_code_as_they_are(tmp_path: Path) -> None:
    model = handcraft.compile('vocab "\'`^"; context 3; bos "^"; predict "\'";')
    for to in ("gguf", "onnx"):
        export(model, tmp_path / to, to=to)
    gguf, onnx = ((tmp_path / to / "README.md").read_text() for to in ("gguf", "onnx"))
    assert """ --temp 0 -p ''"'"''""" in gguf
    assert """`"'"`, `` '`' ``, `'^'`.""" in gguf
    assert "`'^'` is never produced: leave logit 2 out of the largest." in onnx
