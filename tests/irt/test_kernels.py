"""How kernels are compiled."""

import ast
from pathlib import Path

import pytest

from mtlirt.irt import kernels

FOLDER = Path(kernels.__file__).parent


def compiled_functions():
    """The functions of all modules that are decorated with `compiled`."""
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                decorators = {ast.unparse(part) for part in node.decorator_list}
                if decorators & {"compiled", "kernels.compiled"}:
                    yield node


@pytest.mark.parametrize("function", list(compiled_functions()), ids=lambda function: function.name)
def test_kernels_call_no_kernels_so_that_the_cache_does_not_change_how_they_round(function):
    names = {each.name for each in compiled_functions()}
    assert {"masked_curves", "boxed_newton", "tangent_newton", "polynomials", "dealt"} <= names
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    assert not {ast.unparse(call).removeprefix("kernels.") for call in calls} & names
