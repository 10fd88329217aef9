"""The package as source: old versions of Python, type hints, docstrings."""
import ast
import inspect

import pytest

from conftest import ROOT

pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner  # noqa: E402
from rue_tuner import hf, lightning, timm  # noqa: E402

SOURCES = sorted((ROOT / "python/rue_tuner").rglob("*.py"))
PUBLIC = [rue_tuner.Loader.from_recommendation, rue_tuner.Loader.load_state_dict, rue_tuner.tune, rue_tuner.load, rue_tuner.Result.save, rue_tuner.Result.check, hf.tune, lightning.tune, timm.tune]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_syntax_is_that_of_python_3_9(path):
    ast.parse(path.read_text(), feature_version=(3, 9))


@pytest.mark.parametrize("function", PUBLIC, ids=lambda function: f"{function.__module__}.{function.__qualname__}")
def test_public_functions_have_type_hints_and_name_their_errors(function):
    signature = inspect.signature(function)
    hints = [signature.return_annotation, *(p.annotation for name, p in signature.parameters.items() if name != "self")]
    assert inspect.Parameter.empty not in hints and "Raises" in function.__doc__


def test_members_of_a_result_have_type_hints_and_descriptions():
    members = vars(rue_tuner.Result(dict(format="rue.recommendation/1", recommendations=[dict(
        config=None, mean_regret_ratio=None, max_regret_ratio=None, worst_model=None, models=[], configs=[])])))
    public = {name for name in members if name[0] != "_"} - {"document", "best"}
    described = {name for name in rue_tuner.Result.__annotations__ if name[0] != "_"}
    assert public == described and all(name in rue_tuner.Result.__doc__ for name in [*public, "dataloader_kwargs"])
    assert (ROOT / "python/rue_tuner/py.typed").exists()
