"""The command line as a process of its own: what only shows there."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = (sys.executable, "-m", "handcraft")


def finished(
    *arguments: str | bytes, stdout: int = subprocess.PIPE, encoding: str = "utf-8"
) -> subprocess.CompletedProcess[bytes]:
    """Run the command to its end."""
    return subprocess.run(
        (*COMMAND, *arguments),
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
        env=os.environ | {"PYTHONIOENCODING": encoding},
    )


def test_a_process_completes_a_text() -> None:
    done = finished("complete", "aab", "aab")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"aab :: aabaabaaba\n", b"")


def test_a_mistake_is_one_message_and_no_traceback() -> None:
    done = finished("complete", "aab", b"a\xff")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"<input>:1:2: unknown-token: `\\udcff` at position 1")
    assert b"Traceback" not in done.stderr


def test_a_terminal_that_lacks_a_character_gets_its_escape(tmp_path: Path) -> None:
    program = tmp_path / "p.rasp"
    program.write_text('vocab "→"; context 3; output tokens;', encoding="utf-8")
    done = finished("run", str(program), "→→", encoding="latin-1")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\\u2192 \\u2192\n", b"")


def test_a_page_is_coloured_on_a_terminal_and_says_the_same() -> None:
    plain = finished("explain", "aab", "--text", "ab").stdout
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "40"}
    environment.pop("NO_COLOR", None)
    screen, terminal = pty.openpty()
    try:
        subprocess.run(
            (*COMMAND, "explain", "aab", "--text", "ab"),
            stdout=terminal,
            check=True,
            env=environment,
        )
        shown = os.read(screen, 1 << 16)
    finally:
        os.close(terminal)
        os.close(screen)
    assert b"\x1b[" in shown
    assert re.sub(rb"\x1b\[[0-9;]*m", b"", shown).replace(b"\r\n", b"\n") == plain


def test_a_reader_that_goes_away_ends_the_process_quietly() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = finished("compile", "sort", "--emit", "weights", stdout=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("emit", ["typed", "weights"])
def test_a_full_disk_is_told(emit: str) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        done = finished("compile", "sort", "--emit", emit, stdout=full)
    finally:
        os.close(full)
    assert done.returncode == 1
    assert done.stderr == b"cannot-write: the output cannot be written: no space left on device\n"


def test_an_interrupt_ends_the_process_without_a_traceback(tmp_path: Path) -> None:
    program = tmp_path / "p.rasp"
    program.write_text('vocab "ab"; context 4; output length;', encoding="utf-8")
    endless = (*COMMAND, "check", str(program), "--random", "1000000000")
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)  # a script may ignore it
    try:
        process = subprocess.Popen(endless, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, kept)
    try:
        assert process.stderr is not None
        warning = [process.stderr.readline() for _ in range(4)]
        process.send_signal(signal.SIGINT)
        assert b"warning: causal-length" in warning[0]
        assert process.wait(timeout=30) == 1
        assert process.stderr.read() == b"\nAborted!\n"
    finally:
        process.kill()
        process.communicate()


STOPPED = """
import signal, sys, zipfile
number = int(sys.argv.pop())
signal.signal(number, signal.SIG_DFL)
zipfile.ZipFile.writestr = lambda *_: signal.raise_signal(number)
from handcraft.cli import main
main()
"""
"""Runs the command, which gets a signal while it writes; it might have inherited to ignore it."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_told_to_end_leaves_no_half_written_file(
    number: int, tmp_path: Path
) -> None:
    run = (sys.executable, "-c", STOPPED, "compile", "aab", "-o", tmp_path / "aab.npz", str(number))
    done = subprocess.run(run, stderr=subprocess.PIPE, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (128 + number, b"")
    assert not [*tmp_path.iterdir()]
