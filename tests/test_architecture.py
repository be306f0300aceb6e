"""The arrows of the house: which package may import which."""

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "mtlirt"

# package or top-level module -> the mtlirt packages it may know besides itself
MAY_KNOW = {
    "errors": set(),
    "storage": {"errors"},
    "responses": {"errors", "storage"},
    "ingest": {"errors", "storage", "responses"},
    "simulate": {"errors", "storage", "responses", "irt"},
    "irt": set(),
    "cluster": {"errors"},
    "engine": {"errors", "irt", "cluster", "responses", "result", "scores"},
    "result": {"errors", "irt"},
    "scores": {"errors", "irt", "result"},
    "diagnostics": {"errors", "irt", "responses", "cluster", "result", "scores"},
    "snapshots": {"errors", "storage", "result"},
    "report": {"errors", "storage", "irt", "result", "scores", "snapshots"},
    "distill": {
        "errors",
        "storage",
        "irt",
        "responses",
        "cluster",
        "engine",
        "result",
        "scores",
        "snapshots",
    },
    "studies": {
        "errors",
        "storage",
        "responses",
        "cluster",
        "simulate",
        "engine",
        "result",
        "scores",
        "diagnostics",
        "distill",
    },
    "jobs": {
        "errors",
        "storage",
        "responses",
        "cluster",
        "engine",
        "result",
        "diagnostics",
        "distill",
        "snapshots",
    },
}
NUMERICS_ONLY = {"irt": {"numpy", "scipy", "numba"}}
MAY_PRINT = {"cli"}
VAGUE = {"util", "utils", "helper", "helpers", "common", "misc"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Absolute dotted names imported by a module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_arrows(path):
    here = room(path)
    if here not in MAY_KNOW:
        assert here in {"__init__", "cli"}, f"{here} has no row in MAY_KNOW"
        return
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "mtlirt":
            assert rest[0] in MAY_KNOW[here] | {here}, f"{here} may not know {name}"
        elif here in NUMERICS_ONLY:
            allowed = NUMERICS_ONLY[here] | set(sys.stdlib_module_names)
            assert top in allowed, f"{here} may not know {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_command_line_prints(path):
    if room(path) in MAY_PRINT:
        return
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert not [node for node in calls if getattr(node.func, "id", "") == "print"]


def test_no_vague_module_names():
    assert not [path for path in modules() if path.stem in VAGUE]


def test_dask_clients_stay_in_the_cluster_room():
    for path in modules():
        if room(path) != "cluster":
            assert not [name for name in imports(path) if name.startswith("distributed")], path
