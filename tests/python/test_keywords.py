"""Options of `rue tune` from Python: which are arguments of tune(), and how what rue says names them."""
import re
import subprocess

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402
import wording  # noqa: E402
from conftest import ROOT  # noqa: E402
from pipelines import Squares  # noqa: E402
from rue_tuner import keywords, knobs  # noqa: E402
from rue_tuner.keywords import for_python  # noqa: E402
from rue_tuner.program import find_program  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

pytestmark = pytest.mark.usefixtures("rue_for_python")
SMALL = dict(models=["resnet18@h100"], space=dict(num_workers=[0]), budget="4trials", quiet=True)

# What the loader, rue_tuner or the other arguments of tune() decide
NOT_OF_TUNE = {
    "runner", "runner-fd", "launch", "launch-timeout", "listen", "farm", "gpus", "rank", "world-size", "share", "mode", "sample", "table", "map",
    "dry-run", "json", "help", "no-shuffle", "drop-last", "decode", "orientation", "batch-dtype", "bad-images", "max-pixels", "missing-chunks",
    "transform", "augment", "image-size", "resize", "crop-pct", "interpolation", "channels", "layout", "mean", "std", "image-key", "label-key",
    "subset"}


def test_every_option_is_an_argument_or_left_to_the_loader():
    help = subprocess.run([find_program(), "help", "tune"], capture_output=True, text=True, check=True).stdout
    options = dict(re.findall(r"^  --([a-z-]+)( [A-Z]+)?", help, re.M))
    flags, valued = ({name for name, value in options.items() if bool(value) == has} for has in (False, True))
    dashed = {name: name.replace("_", "-") for name in keywords.FLAGS + keywords.WITH_VALUE}
    assert {dashed[name] for name in keywords.FLAGS} <= flags and {dashed[name] for name in keywords.WITH_VALUE} <= valued
    known = {*dashed.values(), *keywords.PARAMETERS, *keywords.OTHER_NAMES, *(name.replace("_", "-") for name in knobs.WITH_OPTION)}
    assert known | NOT_OF_TUNE == set(options) and not known & NOT_OF_TUNE
    page = (ROOT / "docs/python.md").read_text().split("## Options of rue tune")[1].split("\n## ")[0]
    assert {name for name in re.findall(r"`(\w+)`", page.split("|---|---|")[1])} == dashed.keys()


@pytest.mark.parametrize("name, said", [
    ("batch_size", 'space={"batch_size": [...]}'), ("persistent_workers", "in space"), ("strtegy", "did you mean strategy?"),
    ("budgt", "did you mean budget?"), ("frobnicate", "no argument frobnicate: docs/python.md"), ("transform", "no argument transform"),
    ("dry_run", "no argument dry_run")])
def test_an_unknown_argument_is_a_type_error(name, said):
    with pytest.raises(TypeError, match=re.escape(said)):
        rue.tune(DataLoader(Squares(), batch_size=8), **SMALL, **{name: "1"})


@pytest.mark.parametrize("text, said", [
    ("(--repeats 3 shows it)", "(repeats=3 shows it)"), ("(--repeats\n  3 shows it)", "(repeats=3 shows it)"),
    ("give at least --budget 40s, or lower --images.", 'give at least budget="40s", or lower images=.'),
    ("--epsilon: '1' is not a percentage", "epsilon: '1' is not a percentage"), ("(--fresh starts over)", "(fresh=True starts over)"),
    ("with --batch-size, or raise --max-memory", 'with space={"batch_size": [...]}, or raise max_memory='),
    ("try --batch-size 32,64 or --model a", 'try space={"batch_size": [32, 64]} or models= a'), ("a container gets more by --shm-size", None),
    ("give --cache warm", 'give cache="warm"'), ("More: rue show st --details; all\nconfigurations: --json.", None),
    ("to list them: rue show st --repeats 3", None), ("or with --accept-busy if", "or with accept_busy=True if")])
def test_an_option_in_a_text_is_an_argument(text, said):
    assert for_python(text, True) == (said or text)


@pytest.mark.parametrize("arguments, said", [(dict(repeats="x"), "repeats: 'x' is not"), (dict(goal="speed"), "goal: 'speed' is not"),
                                             (dict(max_first_batch="1us"), "raise max_first_batch=")])
def test_an_error_names_the_argument(arguments, said, capfd):
    with pytest.raises(rue.TuneError) as caught:
        rue.tune(DataLoader(Squares(), batch_size=8), **{**SMALL, **arguments})
    assert said in str(caught.value) and not re.search("--[a-z]", str(caught.value) + capfd.readouterr().err)


@pytest.mark.parametrize("most, searched", [(1, {0, 1}), ("0", {0})])
def test_max_workers_limits_what_is_searched(most, searched):
    loader = DataLoader(Squares(16), batch_size=8, num_workers=2)
    result = rue.tune(loader, ["resnet18@h100"], strategy="grid", max_workers=most, quiet=True)
    assert {row["num_workers"] for row in result.rows} == searched


def test_the_report_names_the_argument():
    result = rue.tune(DataLoader(Squares(), batch_size=8), **{**SMALL, "strategy": "grid", "space": dict(num_workers=[0, 1])})
    said = " ".join(result.report.split())
    assert wording.REPEATS_SHOW_IT in said or wording.NOT_RELIABLE_OTHER_PROGRAMS in said  # beside other programs
    assert "--repeats" not in said


@pytest.mark.parametrize("name, value", [("num_workers", 257), ("batch_size", 65537), ("prefetch_factor", 65), ("batch_size", 0)])
def test_values_that_rue_does_not_have_are_refused_before_the_study(name, value):
    with pytest.raises(ValueError, match=f"{name} cannot be {value}: give whole numbers from"):
        rue.tune(DataLoader(Squares(), batch_size=8), **{**SMALL, "space": {name: [value]}})


@pytest.mark.parametrize("name, said", [
    ("loader", '`if __name__ == "__main__":`, which an import skips'), ("both", "which an import skips"), ("Made.inner", "no inner"),
    ("make_loder", "did you mean make_loader?"), ("other", "has no other: define it at the top")])
def test_a_target_that_an_import_does_not_find(rue, monkeypatch, name, said):
    """The runner says why, whoever started it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    (rue.folder / "training.py").write_text("def make_loader(batch_size, num_workers):\n    pass\n\n\nclass Made:\n    pass\n\n\n"
                                            "if __name__ == '__main__':\n    loader = 3\n    for both in ():\n        pass\n")
    done = rue("tune", "--runner", f"/usr/bin/python3 -m rue_tuner.runner training:{name}", "--num-workers", "0", "--quiet")
    line = done.stderr.splitlines()[-1]
    assert done.returncode and said in line and f"training:{name}" in line, done.stderr
