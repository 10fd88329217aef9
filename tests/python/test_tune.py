"""rue_tuner.tune and Result.check with the real program: in this process, isolated, with faults."""
import gc
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import pipelines  # noqa: E402
import rue_tuner as rue  # noqa: E402
import wording
from conftest import HANG_S, PROGRAM, ROOT, clean_environment  # noqa: E402
from pipelines import IMAGES, Failing, Hanging, Squares, Stream  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

SMALL = dict(budget="60trials", quiet=True)
SPACE = dict(num_workers=[0, 1])


pytestmark = pytest.mark.usefixtures("rue_for_python")


def run_script(text, *words, **more):
    """Runs Python code in a process of its own, which can import the package and pipelines."""
    environment = clean_environment(RUE_PROGRAM=str(PROGRAM), PYTHONPATH=os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests/python")]))
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(text), *words], env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


def test_a_loader_is_tuned_with_steps_and_models_of_the_catalogue():
    seen = []
    collate = lambda items: torch.stack([image for image, _ in items])
    result = rue.tune(DataLoader(Squares(), batch_size=8, collate_fn=collate), space=SPACE,
                      models={"mine": lambda batch: seen.append(len(batch)), "resnet18@h100": None}, **SMALL)
    assert seen and result.best["models"] == ["mine", "resnet18@h100"]
    assert result.dataloader_kwargs == dict(batch_size=8, num_workers=result.config["num_workers"],
                                            **({} if not result.config["num_workers"] else
                                               dict(prefetch_factor=2, persistent_workers=False, multiprocessing_context="fork")))
    DataLoader(Squares(), **result.dataloader_kwargs)
    assert 0 <= result.mean_regret <= result.worst_regret and result.worst_model in ("mine", "resnet18@h100")
    assert len(result.rows) == 2 and result.rows[0]["mean_regret"] <= result.rows[1]["mean_regret"]
    assert "batch_size=8" in repr(result) and "<table>" in result._repr_html_() and wording.USE_BATCH_SIZE_2.format(8) in result.report
    assert "rue-tuner-" not in result.report, "a folder that is removed"
    assert wording.MODELS_OF_THE_CATALOGUE in result.report


def test_only_the_knobs_of_the_loader_are_shown(capsys):
    result = rue.tune(DataLoader(Squares(), batch_size=8), ["resnet18@h100"], space=SPACE, **{**SMALL, "quiet": False})
    plan = capsys.readouterr().err
    for names in (set(result.config), *map(set, result.rows), set(re.findall(r"^  ([a-z-]+) ", plan, re.M))):
        names = {name.replace("-", "_") for name in names}
        assert {"batch_size", "num_workers", "prefetch_factor"} <= names
        assert not {"parallelism", "read", "max_queue_size", "batch_strategy"} & names and ("pin_memory" in names) == torch.cuda.is_available()


def test_the_commands_of_the_report_run_as_they_are_shown(tmp_path):
    result = rue.tune(DataLoader(Squares(), batch_size=8), ["resnet18@h100"], space=SPACE, out=tmp_path / "study", **SMALL)
    command = re.search(r"More: (.*? show .*? --details);", " ".join(result.report.split()))[1]
    assert subprocess.run(command, shell=True, capture_output=True).returncode == 0, command


def test_a_step_is_not_reported_as_simulated():
    result = rue.tune(DataLoader(Squares(), batch_size=8), {"mine": pipelines.step}, space=SPACE, **SMALL)
    assert "simulated" not in result.report and "slept" not in result.report


def test_a_result_is_saved_and_loaded(tmp_path):
    result = rue.tune(DataLoader(Squares(), batch_size=8), ["resnet18@h100"], space=SPACE, **SMALL)
    result.save(tmp_path / "best.json")
    again = rue.load(tmp_path / "best.json")
    assert again.document == result.document and again.dataloader_kwargs == result.dataloader_kwargs
    with pytest.raises(ValueError, match="not a recommendation"):
        rue.Result({})


def test_a_result_is_checked():
    loader = DataLoader(Squares(delay_s=0.001), batch_size=8)
    result = rue.tune(loader, ["resnet18@h100"], space=SPACE, **SMALL)
    try:
        assert "hold" in result.check(loader, budget="20s", quiet=True)
    except rue.TuneError as error:  # on a busy machine
        assert "hold" in str(error) or "check" in str(error)


def test_a_factory_is_tuned_with_a_knob_of_its_own():
    result = rue.tune(pipelines.make_loader, {"mine": pipelines.step}, strategy="grid",
                      space=dict(batch_size=[16], num_workers=[0], decoder=["pil", "cv2"]), budget="4trials", quiet=True)
    assert result.dataloader_kwargs["decoder"] == "cv2", result.rows
    assert pipelines.make_loader(**result.dataloader_kwargs).batch_size == 16


def test_an_isolated_study_is_of_another_process():
    result = rue.tune(pipelines.make_loader, {"mine": pipelines.step}, isolate=True,
                      space=dict(batch_size=[16], num_workers=[0, 1], decoder=["cv2"]), **SMALL)
    assert result.dataloader_kwargs["decoder"] == "cv2" and result.best["models"] == ["mine"]


@pytest.mark.parametrize("loader, more, reason", [
    (lambda: DataLoader(Squares()), {}, "imports the loader in another process"),
    (lambda: pipelines.make_loader, dict(count=lambda batch: 8), "imports the count in another process"),
    (lambda: pipelines.make_loader, dict(space=dict(decoder=[None])), "passes the values of decoder as texts"),
])
def test_what_cannot_be_imported_cannot_be_isolated(loader, more, reason):
    with pytest.raises(TypeError, match="isolate=True " + reason):
        rue.tune(loader(), isolate=True, **more, **SMALL)


def test_a_script_without_a_guard_runs_once(tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent("""
        import rue_tuner as rue
        from pipelines import *
        def make(batch_size, num_workers):
            return make_loader(batch_size, num_workers)
        small = dict(budget="6trials", strategy="grid", quiet=True)
        for arguments in (dict(isolate=True), dict(space=dict(batch_size=[8], num_workers=[0, 1], multiprocessing_context=["spawn"]))):
            try:
                loader = make if "isolate" in arguments else DataLoader(Squares(), batch_size=8)
                print("result", rue.tune(loader, ["none"], **{"space": dict(batch_size=[8], num_workers=[0]), **arguments}, **small).config["num_workers"])
            except rue.TuneError as error:
                print("refused", "under `if __name__" in str(error))
    """))
    path = os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests/python")])
    done = subprocess.run([sys.executable, "script.py"], env=clean_environment(RUE_PROGRAM=str(PROGRAM), PYTHONPATH=path), capture_output=True,
                          text=True, timeout=HANG_S)
    assert done.stdout.count("result 0") == 2 and wording.REFUSED_FALSE not in done.stdout, (done.stdout, done.stderr)


def test_the_callers_values_are_returned(tmp_path):
    make = lambda batch_size, num_workers, size=None, convert=None: pipelines.make_loader(batch_size, num_workers)
    result = rue.tune(make, ["resnet18@h100"], space=dict(batch_size=[8], num_workers=[0], size=[(3, 4)], convert=[len]), **SMALL)
    assert result.dataloader_kwargs["size"] == result.config["size"] == (3, 4) and result.dataloader_kwargs["convert"] is len
    result.save(tmp_path / "best.json")
    assert rue.load(tmp_path / "best.json").dataloader_kwargs["size"] == "(3_4)"


def test_only_regrets_are_shown_in_percent():
    make = lambda batch_size, num_workers, scale=0.5: pipelines.make_loader(batch_size, num_workers)
    result = rue.tune(make, ["resnet18@h100"], space=dict(batch_size=[8], num_workers=[0], scale=[0.5]), **SMALL)
    assert "<td>0.5</td>" in result._repr_html_() and "<td>0.0 %</td>" in result._repr_html_()


def test_a_study_is_continued(tmp_path):
    loader = DataLoader(Squares(), batch_size=8)
    for _ in range(2):
        result = rue.tune(loader, ["resnet18@h100"], space=SPACE, out="study", **SMALL)
    assert (tmp_path / "study/study.db").exists()


def test_a_job_of_epochs_varies_persistent_workers():
    result = rue.tune(DataLoader(Squares(), batch_size=8), ["resnet18@h100"], space=dict(num_workers=[1]), epochs=3, **SMALL)
    assert {row["persistent_workers"] for row in result.rows} == {False, True}
    assert result.best["job_images"] == 3 * IMAGES


@pytest.mark.parametrize("loader, reason", [
    (lambda: DataLoader(Failing(), batch_size=8), "item 48 is damaged"),
    (lambda: DataLoader(Stream(splits=False), batch_size=8), "does not split its items among workers"),
    (lambda: DataLoader([], batch_size=8), "delivered no batch"),
    (lambda: DataLoader([3, None], batch_size=2), "the loader cannot be tuned, because it fails: "),
])
def test_a_broken_pipeline_is_an_error_and_no_recommendation(loader, reason):
    with pytest.raises(rue.TuneError, match=reason) as caught:
        rue.tune(loader(), ["resnet18@h100"], **SMALL)
    assert "Failing" not in str(loader) and ("pipelines.py" in str(caught.value)) == ("damaged" in reason), "with the traceback"


@pytest.mark.parametrize("budget", ["8trials", "12trials", "40trials"])
@pytest.mark.parametrize("more", [{}, {"resnet18@h100": None}])
def test_a_step_that_always_fails_is_an_error_and_no_recommendation(budget, more):
    def failing(batch):
        raise ArithmeticError("the step is wrong")
    with pytest.raises(rue.TuneError, match="ArithmeticError: the step is wrong") as caught:
        rue.tune(DataLoader(Squares(), batch_size=8), {"mine": failing, **more}, space=dict(batch_size=[4, 8, 16], num_workers=[0, 1, 2]), budget=budget, strategy="duel", quiet=True)
    assert "in failing" in str(caught.value), "with the traceback"


@pytest.mark.parametrize("arguments, error, reason", [
    (dict(models=["resnet81"]), rue.TuneError, "resnet81"),
    (dict(budget="soon"), rue.TuneError, "soon"),
    (dict(strategy="guess"), rue.TuneError, "guess"),
    (dict(images=0), ValueError, "images must be a whole number, at least 1"),
    (dict(epochs=1.5), ValueError, "epochs must be a whole number"),
    (dict(models=print), TypeError, "steps are given as a dict"),
    (dict(models=[print]), TypeError, "steps are given as a dict"),
    (dict(models={"a,b": print}), TypeError, "'a,b' is not a name"),
    (dict(models={"mine": 3}), TypeError, "mine must be a function of a batch"),
])
def test_arguments_that_make_no_sense_are_named(arguments, error, reason):
    with pytest.raises(error, match=reason):
        rue.tune(DataLoader(Squares(), batch_size=8), **{**SMALL, **arguments})


@pytest.mark.parametrize("out", [None, "study"])
def test_a_check_names_the_study_and_what_it_found(out):
    """Unclear is not the same as "does not hold"."""
    loader, more = DataLoader(Squares(), batch_size=8), dict(space=SPACE, quiet=True)
    result = rue.tune(loader, {"mine": lambda batch: time.sleep(.001)}, out=out, budget="12trials", strategy="grid", **more)
    shown = "study" if out else "the recommendation"
    with pytest.raises(rue.UndecidedError, match=f"^it is unclear whether {shown} holds here: |^{shown} may not hold here: "):
        result.check(loader, models={"mine": lambda batch: time.sleep(.05)}, budget="2s", **more)  # other times than those of the study

    def fails(batch):
        raise ValueError("no such layer")
    with pytest.raises(rue.TuneError) as caught:
        result.check(loader, models={"mine": fails}, budget="20s", **more)
    advice = f', with prior="{out}" to start from it' if out else ""
    assert str(caught.value).startswith(f"{shown} does not hold here: tune again{advice}\n") and type(caught.value) is rue.TuneError


def test_calls_within_a_trial_or_a_worker_are_refused():
    refused = []

    def call():
        with pytest.raises(rue.TuneError, match="within a trial of another tune"):
            rue.tune(DataLoader(Squares(), batch_size=8), **SMALL)
        refused.append(threading.current_thread())

    def step(batch):
        call()
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        assert refused[-1] is thread
    rue.tune(DataLoader(Squares(), batch_size=8), {"mine": step}, space=SPACE, **SMALL)

    class Nested(Squares):
        def __getitem__(self, index):
            return rue.tune(DataLoader(Squares(), batch_size=8), **SMALL)
    with pytest.raises(Exception, match="tune\\(\\) was called in a worker"):
        next(iter(DataLoader(Nested(), num_workers=1)))


def test_a_hang_ends_with_the_stack(capfd):
    gc.collect()  # loaders of earlier tests: joining their workers during the trial would be the stack
    start = time.monotonic()
    with pytest.raises(rue.TuneError) as caught:
        rue.tune(DataLoader(Hanging(), batch_size=8), ["resnet18@h100"], space=dict(num_workers=[0]), budget="2m", quiet=True,
                 trial_timeout="2s")
    assert "time.sleep(1000)" in str(caught.value) and time.monotonic() - start < HANG_S
    assert wording.GAVE_UP in capfd.readouterr().err
    assert rue.tune(DataLoader(Squares(), batch_size=8), ["resnet18@h100"], space=SPACE, **SMALL).config, "the next study works"


SCRIPT = """
    import os, signal, sys, threading, time
    import rue_tuner as rue
    from pipelines import *
    seen = []
    def step(batch):
        seen.append(1)
        if len(seen) == int(sys.argv[1]): print("ready", flush=True)
        time.sleep(0.01)
    try:
        result = rue.tune(DataLoader(Squares(), batch_size=8), {"mine": step}, budget="10m", repeats=1000, strategy="grid",
                          space=dict(num_workers=[0, 1]), out="study", quiet=True)
        print("result", result.interrupted, result.config["batch_size"])
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize("batches, ends", [(1, "interrupted"), (200, "result True 8")])
def test_ctrl_c_ends_with_the_results_so_far(batches, ends):
    with run_script(SCRIPT, str(batches)) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 0 and out.strip() == ends, (out, err)


def test_ctrl_c_counts_while_an_object_is_deleted():
    code = """
    import os, signal
    import rue_tuner as rue
    from pipelines import *
    class Deleted:
        def __del__(self): os.kill(os.getpid(), signal.SIGINT)
    def step(batch):
        Deleted()
    try:
        rue.tune(DataLoader(Squares(), batch_size=8), {"mine": step}, space=dict(num_workers=[0]), budget="10m", repeats=1000, strategy="grid", quiet=True)
    except KeyboardInterrupt:
        print("interrupted")
    """
    with run_script(code) as process:
        out, err = process.communicate(timeout=HANG_S)
    assert out.strip() == "interrupted", (out, err)


def test_a_killed_program_is_an_error():
    code = """
    import os, signal, subprocess
    import rue_tuner as rue
    from pipelines import *
    def step(batch):
        subprocess.run(["pkill", "-KILL", "-P", str(os.getpid()), "rue"])
    try:
        rue.tune(DataLoader(Squares(), batch_size=8), {"mine": step}, space=dict(num_workers=[0]), budget="1m", quiet=True)
    except rue.TuneError as error:
        print("error:", error)
    """
    with run_script(code) as process:
        out, err = process.communicate(timeout=HANG_S)
    assert out.startswith("error: rue was killed by signal 9") and process.returncode == 0, (out, err)


def test_a_read_only_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(rue.TuneError, match="file"):
        rue.tune(DataLoader(Squares(), batch_size=8), ["resnet18@h100"], out=tmp_path / "file" / "study", **SMALL)


def test_the_package_needs_no_torch_for_results(tmp_path):
    code = "import sys; sys.modules['torch'] = None; import rue_tuner as rue; print(rue.Result, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=clean_environment(PYTHONPATH=str(ROOT / "python")), capture_output=True, text=True)
    assert "Result" in done.stdout and "False" in done.stdout, done.stderr


def test_loaders_on_the_command_line(tmp_path):
    words = [str(PROGRAM), "tune", "--runner", f"{sys.executable} -m rue_tuner.runner {ROOT}/tests/python/pipelines.py:make_loader --knob decoder=cv2,pil",
             "--batch-size", "16", "--num-workers", "0", "--knob", "decoder=cv2,pil", "--model", "resnet18@h100", "--strategy", "grid",
             "--budget", "4trials", "--quiet", "--out", "study"]
    done = subprocess.run(words, env=clean_environment(PYTHONPATH=str(ROOT / "python")), capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode in (0, 5), done.stderr
    best = json.loads(pathlib.Path("study/recommendation.json").read_text())["recommendations"][0]
    assert best["torch"]["decoder"] == "cv2"


def test_a_target_that_does_not_exist_is_named():
    done = subprocess.run([sys.executable, "-m", "rue_tuner.runner", "nonsense"], env=clean_environment(PYTHONPATH=str(ROOT / "python")),
                          capture_output=True, text=True, timeout=HANG_S, stdin=subprocess.DEVNULL)
    assert wording.GIVE_MODULE_NAME in json.loads(done.stdout)["reason"]
