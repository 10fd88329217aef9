"""Ctrl-C before there is a result is a KeyboardInterrupt, which `except Exception` does not catch; and what a call without a result says."""
import os
import re
import signal
import time

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import pipelines  # noqa: E402
import rue_tuner as rue  # noqa: E402
import wording  # noqa: E402
from conftest import ROOT  # noqa: E402
from pipelines import IMAGES, Squares  # noqa: E402
from rue_tuner.keywords import for_python  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

ONE = dict(space=dict(num_workers=[0]), quiet=True)
ENDLESS = dict(ONE, budget="10m", repeats=1000, strategy="grid")
pytestmark = pytest.mark.usefixtures("rue_for_python")


def press_ctrl_c(*_):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)


class Interrupted(Squares):
    """As with workers that Ctrl-C ends, too: PyTorch raises a RuntimeError while the KeyboardInterrupt is on its way."""

    def __getitem__(self, index):
        try:
            press_ctrl_c()
        except KeyboardInterrupt:
            raise RuntimeError("DataLoader worker (pid 3) exited unexpectedly") from None


def test_ctrl_c_while_the_first_batches_are_loaded():
    with pytest.raises(KeyboardInterrupt):
        rue.tune(DataLoader(Interrupted(), batch_size=8), ["resnet18@h100"], **ENDLESS)


def test_ctrl_c_in_the_first_trial():
    with pytest.raises(KeyboardInterrupt):
        rue.tune(DataLoader(Squares(), batch_size=8), {"mine": press_ctrl_c}, **ENDLESS)


@pytest.mark.parametrize("out", [None, "study"])
def test_ctrl_c_after_trials_that_recommend_nothing(out):
    """One of the two models was measured, so there are reports, without a recommendation."""
    ran = []

    def step_beside(name, other):
        def step(batch):
            ran.append(name)
            if ran.count(other) > IMAGES // 8:  # more than a trial, so that its whole job was measured
                press_ctrl_c()
        return step
    models = {"a": step_beside("a", "b"), "b": step_beside("b", "a")}
    with pytest.raises(KeyboardInterrupt):
        rue.tune(DataLoader(Squares(), batch_size=8), models, out=out, **ENDLESS)
    assert out is None or rue.load(out).config is None


def test_ctrl_c_of_an_isolated_study():
    space = dict(batch_size=[16], num_workers=[0], decoder=["cv2"])
    with pytest.raises(KeyboardInterrupt):
        rue.tune(pipelines.make_loader, {"mine": pipelines.interrupt_the_caller}, isolate=True, **{**ENDLESS, "space": space})


def test_ctrl_c_of_a_check():
    loader = DataLoader(Squares(), batch_size=8)
    result = rue.tune(loader, {"mine": pipelines.step}, budget="6trials", **ONE)
    with pytest.raises(KeyboardInterrupt):
        result.check(loader, models={"mine": press_ctrl_c}, quiet=True, space=dict(num_workers=[0]))


def test_an_earlier_result_in_the_folder_is_not_that_of_a_call_that_has_none():
    """rue keeps an earlier result, which is of another loader here."""
    rue.tune(DataLoader(Squares(), batch_size=8), ["resnet18@h100"], out="study", budget="6trials", **ONE)
    other = DataLoader(Squares(64), batch_size=16)
    with pytest.raises(KeyboardInterrupt):
        rue.tune(other, {"mine": press_ctrl_c}, out="study", **ENDLESS)
    assert rue.load("study").config["batch_size"] == 8


@pytest.mark.parametrize("out", [None, "study"])
def test_a_call_without_a_result_says_how_to_continue(out, capfd):
    def wrong(batch):
        raise ValueError("the step is wrong")
    with pytest.raises(rue.TuneError) as caught:
        rue.tune(DataLoader(Squares(), batch_size=8), {"mine": wrong}, out=out, budget="1m", strategy="grid",
                 space=dict(batch_size=[4, 8, 12, 16, 24, 32], num_workers=[0]))  # five failures are the end
    for text in (str(caught.value), capfd.readouterr().err):
        assert wording.CALL_IT_AGAIN in text and (wording.CALL_IT_AGAIN_TO_CONTINUE in text) == bool(out), text


def sentences():
    """The texts of the program that speak of its next run, each as one line."""
    for path in sorted((ROOT / "tuner").rglob("*.c")):
        for text in re.findall(r'"(?:[^"\\]|\\.|"\s*")*"', path.read_text()):
            text = re.sub(r'"\s*"', "", text)
            if re.search(r"run the same|the same options|and run again", text):
                yield text


@pytest.mark.parametrize("keeps", [True, False])
def test_every_text_that_speaks_of_the_same_command_speaks_of_a_call(keeps):
    assert for_python("(--fresh starts over)", keeps) == "(fresh=True starts over)"
    found = list(sentences())
    assert len(found) >= 8, found
    for text in found:
        said = for_python(text, keeps)
        assert not re.search(r"run the same|run again|the same options|--budget", said) and (keeps or "kept" not in said), said
