"""The package as source: old versions of Python, type hints, docstrings."""
import ast
import contextlib
import functools
import inspect
import subprocess
import textwrap
import types

import pytest

from conftest import HANG_S, PROGRAM, ROOT

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner  # noqa: E402
from pipelines import Squares  # noqa: E402
from rue_tuner import Loader, Result, hf, lightning, timm  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

SOURCES = sorted((ROOT / "python/rue_tuner").rglob("*.py"))
PUBLIC = [rue_tuner.tune, rue_tuner.load, rue_tuner.headroom, rue_tuner.watch, Loader.from_recommendation, Loader.load_state_dict, Result.save, Result.check,
          hf.tune, lightning.tune, timm.tune]
OF_DATALOADER = [rue_tuner.tune, rue_tuner.load, rue_tuner.headroom, rue_tuner.watch, Result, Result.log, Result.save, Result.apply, Result.check]
OF_LOADER = [Loader, Loader.from_recommendation, Loader.state_dict, Loader.with_, Result.loader]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_syntax_is_that_of_python_3_9(path):
    ast.parse(path.read_text(), feature_version=(3, 9))


def name_of(thing):
    return f"{thing.__module__}.{thing.__qualname__}"


@pytest.mark.parametrize("function", PUBLIC, ids=name_of)
def test_public_functions_have_type_hints_and_name_their_errors(function):
    signature = inspect.signature(function)
    hints = [signature.return_annotation, *(p.annotation for name, p in signature.parameters.items() if name != "self")]
    assert inspect.Parameter.empty not in hints and "Raises" in function.__doc__


def test_members_of_a_result_have_type_hints_and_descriptions():
    members = vars(rue_tuner.Result(dict(format="rue.recommendation/1", recommendations=[dict(
        config=None, mean_regret_ratio=None, max_regret_ratio=None, worst_model=None, models=[], configs=[])])))
    public = {name for name in members if name[0] != "_"}
    described = {name for name in rue_tuner.Result.__annotations__ if name[0] != "_"}
    assert public == described and all(name in rue_tuner.Result.__doc__ for name in public)
    assert (ROOT / "python/rue_tuner/py.typed").exists()


def examples(thing):
    return textwrap.dedent(inspect.cleandoc(thing.__doc__).split("Examples:\n")[1])


def quick(function, **fixed):
    """The function with a small budget, whatever the example gives."""
    return functools.partial(lambda *args, **more: function(*args, **{**more, **fixed, "quiet": True}))


@pytest.mark.parametrize("thing", OF_DATALOADER + OF_LOADER, ids=name_of)
def test_the_example_of_a_docstring_runs(thing, rue_for_python, capsys):
    if thing is Result.log:
        pytest.importorskip("tensorboard", reason="tensorboard is not installed (tests/install.sh)")
    subprocess.run([PROGRAM, "prepare", "--synthetic", "64", "photos", "--quiet"], check=True, timeout=HANG_S)
    seen, tune = [], quick(rue_tuner.tune, budget="6trials", strict=False)
    if thing in OF_LOADER:
        words = ["--mode", "raw", "--model", "none", "--batch-size", "4", "--num-workers", "0,1", "--strategy", "grid", "--quiet"]
        subprocess.run([PROGRAM, "tune", "photos", *words], check=True, timeout=HANG_S)
        loader, result = rue_tuner.Loader("photos", batch_size=4), None
    else:
        loader = DataLoader(Squares(16), batch_size=8)
        result = tune(loader, ["resnet18@h100"], out="rue-out/photos", space={"num_workers": [0, 1]})
        result.check = quick(result.check, budget="10s")
    rue = types.SimpleNamespace(**{name: getattr(rue_tuner, name) for name in rue_tuner.__all__})
    rue.tune, rue.headroom = tune, quick(rue_tuner.headroom, budget="4s")
    unclear = [rue_tuner.UndecidedError] if thing is Result.check else []  # beside other programs
    with contextlib.suppress(*unclear):
        exec(examples(thing), dict(rue=rue, torch=torch, DataLoader=DataLoader, loader=loader, dataset=Squares(16), result=result, step=seen.append))


def test_every_example_is_run_here():
    """Those of frameworks are the calls of tests/python/test_peers.py and test_loader_frameworks.py."""
    with_examples = [thing for kind in (Loader, Result) for thing in (kind, *vars(kind).values()) if "Examples:\n" in (getattr(thing, "__doc__", None) or "")]
    with_examples = {name_of(getattr(thing, "__func__", thing)) for thing in with_examples}
    functions = {name_of(getattr(rue_tuner, name)) for name in ("tune", "load", "headroom", "watch")}
    assert with_examples | functions == set(map(name_of, OF_DATALOADER + OF_LOADER))
