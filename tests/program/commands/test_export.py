"""rue show --as: what people paste, run by what it is for."""
import re
import subprocess

import pytest

import wording
from conftest import HANG_S, ROOT, expect_failure, make_table

SPACE = dict(batch_size=[16, 64], num_workers=[1, 4], prefetch_factor=[2], pin_memory=[True])
TABLE = make_table(["ape"], [16, 64], [1, 4], lambda model, batch, workers: 4000 + 1600 // batch + 4000 // workers)
CONTEXT = dict(name="multiprocessing_context", kind="category", values=["fork", "spawn"], default="fork", needs_workers=True,
               pytorch="multiprocessing_context")
PERSISTENT = dict(name="persistent_workers", kind="flag", needs_workers=True, pytorch="persistent_workers")
EXPECTED = dict(batch_size=64, num_workers=4, prefetch_factor=2, pin_memory=True, persistent_workers=False, multiprocessing_context="fork")
TORCH = ["torch", "lightning", "trainer", "accelerate", "hydra", "timm"]


@pytest.fixture
def study(rue, script):
    """Makes a study of a torch loader, and returns a function that exports it."""
    def make(*words, **hello):
        hello = {"loader": "torch", "knobs": [CONTEXT, PERSISTENT], **hello}
        runner = script(TABLE, SPACE, hello=hello, knob_factors={"multiprocessing_context": {"fork": 1, "spawn": 0.5}})
        done = rue("tune", "--runner", runner.command, "--strategy", "grid", "--budget", "10h", "--out", "out", *words)
        assert done.returncode == 0, done.stderr
        return lambda form: rue("show", "out", "--as", form)
    return make


def paste(done, **names):
    assert done.returncode == 0 and not done.stderr, done.stderr
    exec(done.stdout, names)
    return names


def keep(dataset, **words):
    return words


def test_torch_and_what_wraps_it(study):
    export = study()
    assert paste(export("torch"), DataLoader=keep, dataset=0)["loader"] == EXPECTED
    names = paste(export("lightning"), DataLoader=keep)
    assert names["train_dataloader"](type("Module", (), {"train_dataset": 0})) == EXPECTED
    names = paste(export("accelerate"), DataLoader=keep, dataset=0, accelerator=type("Accelerator", (), {"prepare": staticmethod(lambda it: it)}))
    assert names["loader"] == EXPECTED


def test_arguments_of_a_trainer(study):
    words = paste(study()("trainer"), TrainingArguments=dict)["arguments"]
    assert words == {"output_dir": "out", "per_device_train_batch_size": 64, "dataloader_num_workers": 4, "dataloader_prefetch_factor": 2,
                     "dataloader_pin_memory": True, "dataloader_persistent_workers": False}


def test_hydra_reads_it(study):
    lines = dict(line.split(": ") for line in study()("hydra").stdout.splitlines())
    assert lines["_target_"] == "torch.utils.data.DataLoader" and lines["batch_size"] == "64" and lines["pin_memory"] == "true"
    assert lines["multiprocessing_context"] == '"fork"'


def test_a_shell_reads_the_environment(study):
    done = study()("env")
    said = subprocess.run(["sh", "-c", done.stdout + 'echo "$BATCH_SIZE $NUM_WORKERS $PERSISTENT_WORKERS $MULTIPROCESSING_CONTEXT"'],
                          capture_output=True, text=True, timeout=HANG_S)
    assert said.stdout == "64 4 false fork\n" and done.returncode == 0


def test_timm_gets_options_and_refuses_what_it_cannot_express(study):
    done = study("--knob", "persistent_workers=true")("timm")
    assert done.stdout.split() == ["--batch-size", "64", "--workers", "4", "--pin-mem"]


@pytest.mark.parametrize("form", ["timm", "trainer"])
def test_a_knob_that_cannot_be_expressed_is_named(study, form):
    done = study("--knob", "multiprocessing_context=spawn", "--knob", "persistent_workers=true")(form)
    expect_failure(done, 2, wording.CANNOT_EXPRESS, "multiprocessing_context=spawn")
    assert done.stdout == ""


def test_a_knob_that_only_the_runner_knows(rue, script):
    shout = dict(name="shout", kind="category", values=["$(id)", "b"], default="b")
    runner = script(TABLE, SPACE, hello=dict(loader="torch", knobs=[shout]), knob_factors={"shout": {"$(id)": 0.5, "b": 1}})
    done = rue("tune", "--runner", runner.command, "--strategy", "grid", "--budget", "10h", "--out", "out", "--knob", "shout=$(id),b")
    assert done.returncode == 0, done.stderr
    expect_failure(rue("show", "out", "--as", "torch"), 2, wording.CANNOT_EXPRESS, "shout=$(id)")
    said = subprocess.run(["sh", "-c", rue("show", "out", "--as", "env").stdout + 'echo "$SHOUT"'], capture_output=True, text=True, timeout=HANG_S)
    assert said.stdout == "$(id)\n", "a shell does not run the value"


@pytest.mark.parametrize("option", ["--json", "--trials", "--details"])
def test_it_prints_nothing_else(study, rue, option):
    study()
    expect_failure(rue("show", "out", "--as", "torch", option), 2, "--as")


def test_without_workers_arguments_that_need_them_are_left_out(study):
    export = study("--num-workers", "1")
    assert "prefetch_factor=2" in export("torch").stdout


def test_c_compiles(rue, photos, tmp_path):
    done = rue("tune", photos, "--mode", "raw", "--model", "sleep:1ms/image", "--batch-size", "8", "--num-workers", "1", "--budget", "60s", "--out", "out")
    assert done.returncode == 0, done.stderr
    code = rue("show", "out", "--as", "c").stdout
    assert re.search(r"\.batch_size = 8,.*\.num_workers = 1,.*\.parallelism = RUE_PARALLEL_BATCH,", code, re.DOTALL)
    path = tmp_path / "it.c"
    path.write_text(f"#include <rue/rue.h>\nvoid use(const struct rue_source *source, struct rue_loader **out);\n"
                    f"void use(const struct rue_source *source, struct rue_loader **out)\n{{\n{code}"
                    "    (void)!rue_loader_open(source, &options, out, 0);\n}\n")
    done = subprocess.run(["cc", "-std=gnu17", "-fsyntax-only", "-Wall", "-Werror", f"-I{ROOT}/engine/include", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for form in TORCH:
        expect_failure(rue("show", "out", "--as", form), 2, wording.AS_IS_FOR_STUDIES, "PyTorch's DataLoader")


def test_an_undecided_study_and_another_loader(study, rue, script):
    expect_failure(study()("c"), 2, wording.AS_IS_FOR_STUDIES, "rue's own loader")
    noisy = script(TABLE, hello=dict(loader="torch"), repeats=[1, 3])
    done = rue("tune", "--runner", noisy.command, "--strategy", "grid", "--repeats", "2", "--budget", "10h", "--out", "noisy")
    assert done.returncode == 5, done.stdout
    done = rue("show", "noisy", "--as", "torch")
    expect_failure(done, 5, wording.NOT_DECIDED_BECAUSE)
    assert done.stdout == ""
