"""The programs of the gallery and of the tests: those that read one text, those with a source."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
GALLERY = TESTS.parent / "programs"

EVERY = sorted([*GALLERY.glob("*.rasp"), *(TESTS / "programs").glob("*.rasp")])
"""Every program file."""

WITH_SOURCE = [p for p in EVERY if "\nsource " in p.read_text(encoding="utf-8")]
"""Those of encoder-decoders, which read a source and write from it."""

FILES = [path for path in EVERY if path not in WITH_SOURCE]
"""Those that read one text."""
