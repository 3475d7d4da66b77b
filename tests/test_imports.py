"""The layout holds: imports point one way, libraries stay where they belong, modules stay short."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[1] / "handcraft"
FILES = sorted(PACKAGE.rglob("*.py"))

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "version", "shipped"}),
    frozenset({"extras"}),
    frozenset({"runtime"}),
    frozenset({"patterns"}),
    frozenset({"language"}),
    frozenset({"compiler"}),
    frozenset({"exporting"}),
    frozenset({"trials"}),
    frozenset({"checking", "explain", "testing"}),
    frozenset({"__init__"}),
    frozenset({"cli"}),
    frozenset({"__main__"}),
)
"""Parts of the package; each imports itself and parts of the layers above it in this list."""

LANGUAGE = (
    *("literals", "wording", "suggestions", "syntax", "stumble", "mistakes", "parse"),
    *("unparse", "dump", "files", "library", "elementary", "values", "domains", "typed"),
    *(
        "domain_rules",
        "sequences",
        "distinct",
        "reach",
        "recognition",
        "cells",
        "totality",
        "merging",
        "builder",
        "places",
        "columns",
        "interpret",
        "compile_time",
        "calls",
        "attributes",
        "patterns",
    ),
    *("operators", "tables", "expressions", "builtins", "header", "results", "window", "vetting"),
    *("elaborate", "typed_text", "origin", "program", "__init__"),
)
"""The modules of the language in reading order; each needs only those before it to run."""

LIBRARIES = {
    "numpy": (
        *("runtime.", "compiler.assemble", "compiler.rounding", "compiler.certificate."),
        *("compiler.stock.", "exporting."),
    ),
    "lark": (
        *("language.parse", "language.mistakes", "language.stumble"),
        *("patterns.parse", "patterns.mistakes"),
    ),
    "click": ("cli.",),
    "rich": ("cli.",),
    "hypothesis": ("testing",),
}
"""What other libraries are imported by: a module, or all of a package (with a dot at its end)."""

LONGEST_MODULE = 400


def name(path: Path) -> str:
    """Return a module's name within the package: `language.parse`."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def part(module: str) -> str:
    return module.partition(".")[0]


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield every module that is imported anywhere in a tree, in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if is_module(inner) else node.module


def is_module(full: str) -> bool:
    path = PACKAGE.parent.joinpath(*full.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def running_part(path: Path) -> ast.Module:
    """Return a module without what is imported for types alone."""
    tree = tree_of(path)
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    return tree


def within(tree: ast.AST) -> Iterator[str]:
    """Yield the package's own modules that are imported, without `handcraft.` in front."""
    for full in imported(tree):
        if full.partition(".")[0] == "handcraft":
            yield full.removeprefix("handcraft").removeprefix(".") or "__init__"


def layer(module: str) -> int:
    return next(number for number, parts in enumerate(LAYERS) if part(module) in parts)


@pytest.mark.parametrize("path", FILES, ids=name)
def test_imports_point_to_the_layers_below(path: Path) -> None:
    module = name(path)
    for other in within(tree_of(path)):
        assert part(other) == part(module) or layer(other) < layer(module), other


@pytest.mark.parametrize("path", FILES, ids=name)
def test_the_language_knows_of_the_runtime_only_its_tokens_and_texts(path: Path) -> None:
    others = set(within(tree_of(path)))
    if part(name(path)) == "language":
        known = {"runtime.vocabulary", "runtime.guide", "runtime.recipe"}
        assert {o for o in others if part(o) == "runtime"} <= known


def test_each_module_of_the_language_needs_only_those_before_it() -> None:
    files = {path.stem: path for path in (PACKAGE / "language").glob("*.py")}
    assert sorted(files) == sorted(LANGUAGE)
    for number, module in enumerate(LANGUAGE):
        needed = {o for o in within(running_part(files[module])) if part(o) == "language"}
        earlier = {f"language.{before}" for before in LANGUAGE[:number]}
        assert needed <= earlier | {"language"}, module


@pytest.mark.parametrize("path", FILES, ids=name)
def test_other_libraries_are_imported_where_they_belong(path: Path) -> None:
    module = name(path)
    libraries = {full.partition(".")[0] for full in imported(tree_of(path))}
    for library in libraries & set(LIBRARIES):
        places = LIBRARIES[library]
        assert any(module == p or (p.endswith(".") and module.startswith(p)) for p in places)


def test_a_wrong_import_would_be_found() -> None:
    tree = ast.parse("def f():\n    from handcraft.compiler import lower\n    import numpy.linalg")
    assert list(within(tree)) == ["compiler.lower"]
    assert "numpy.linalg" in imported(tree)
    assert layer("compiler.lower") > layer("runtime.model")


@pytest.mark.parametrize("path", FILES, ids=name)
def test_no_module_is_longer_than_a_reader_can_hold(path: Path) -> None:
    assert path.read_text(encoding="utf-8").count("\n") <= LONGEST_MODULE
