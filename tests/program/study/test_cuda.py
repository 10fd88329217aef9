"""Models that compute on a GPU, on machines that have none: with a module that computes by sleeping, and what is said
where something is missing. tests/gpu/run.sh is for machines with a GPU."""
import csv
import itertools
import json
import os
import pathlib
import shlex
import shutil
import sqlite3
import subprocess

import pytest

import wording
from conftest import HANG_S, PROGRAM, ROOT, clean_environment, expect_failure, read_json

FAKE = PROGRAM and PROGRAM.parent / "tests" / "fake_cuda_module.so"
SMALL = ["--batch-size", "4,8", "--num-workers", "0,1", "--budget", "5m", "--mode", "raw", "--out", "out"]


@pytest.fixture
def fake():
    if not FAKE or not FAKE.exists():
        pytest.skip("skipped: no tests were built beside the program")
    return dict(RUE_CUDA_MODULE=FAKE)


@pytest.fixture
def module(release):
    """The real one."""
    path = release.parent / "rue_cuda.so"
    if not path.exists():
        pytest.skip("skipped: no rue_cuda.so beside the release build: there is no nvcc")
    if pathlib.Path("/dev/nvidiactl").exists():
        pytest.skip("skipped: there is a GPU here")
    return path


def compute(program, env, model="resnet18@cuda", batch_size=2):
    """What the runner answers to a trial of the model alone."""
    ask = dict(op="trial", id=1, measure="compute", model=model, batches=1, images=0, job_images=0,
               variant=dict(path="/nowhere", mode="raw", format="folder"), config=dict(batch_size=batch_size, num_workers=0))
    done = subprocess.run([program, "runner"], input=json.dumps(ask) + "\n", capture_output=True, text=True, timeout=HANG_S,
                          env=clean_environment(**env))
    assert "Sanitizer" not in done.stderr, done.stderr
    return json.loads(done.stdout)


def test_a_study_of_models_that_compute(rue, fake, photos):
    words = ["tune", photos, "--model", "resnet18,vit_b_16", "--device", "cuda:bf16", *SMALL]
    done = rue(*words, env=fake)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert wording.MODEL_TIMES_ARE_THOSE_OF_THIS_MACHINES_GPU in said, said
    assert "RUE_CUDA_MODULE" not in done.stderr, "that is no unknown setting"
    found = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    assert found["models"] == ["resnet18@cuda:bf16", "vit_b_16@cuda:bf16"]
    with open(rue.folder / "out/trials.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    joint = [row for row in rows if row["measure"] == "joint" and row["model"]]
    assert {(row["model"], row["batch_size"], row["num_workers"]) for row in joint} == set(
        itertools.product(found["models"], "48", "01"))
    alone = [(row["model"], row["batch_size"]) for row in rows if row["measure"] == "compute"]
    assert sorted(alone) == sorted(itertools.product(found["models"], "8")), "each was timed once"
    assert all(0 < int(row["h2d_ns"]) < int(row["device_ns"]) < int(row["end_to_end_ns"]) for row in joint)
    assert rue(*words, env=fake).returncode == 0
    assert len((rue.folder / "out/trials.csv").read_text().splitlines()) == len(rows) + 1, "nothing is measured again"


def test_pin_memory_is_searched_on_a_gpu(rue, fake, photos):
    """On a GPU that copies from other memory than page-locked one hold up."""
    done = rue("tune", photos, "--model", "resnet18@cuda", "--pin-memory", "true,false", "--images", "16", "--mode", "raw",
               "--batch-size", "4,8", "--num-workers", "0,1", "--budget", "40trials", "--out", "out",
               env=dict(fake, FAKE_CUDA_PAGEABLE_NS=60_000_000))
    assert done.returncode == 0 and "8 configurations" in " ".join(done.stderr.split()), done.stderr
    found = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    assert found["config"]["pin_memory"] is True and "torch" not in found
    times = [(row["config"]["pin_memory"], row["end_to_end_ns"]["resnet18@cuda"]) for row in found["configs"]]
    assert sorted(pinned for pinned, _ in times) == 4 * [False] + 4 * [True], "without workers, too, batches lie somewhere"
    assert all(time > 16 * 60_000_000 for pinned, time in times if not pinned)
    with sqlite3.connect(rue.folder / "out/study.db") as db:
        rows = db.execute("SELECT pin_memory, count(*) FROM ok_trial WHERE measure = 'joint' GROUP BY 1").fetchall()
    assert rows == [(0, 4), (1, 4)]
    with open(rue.folder / "out/trials.csv", newline="") as file:
        assert {row["pin_memory"] for row in csv.DictReader(file) if row["measure"] == "joint"} == {"true", "false"}


def test_memory_that_cannot_be_locked_is_done_without(rue, fake, photos):
    words = ["tune", photos, "--model", "resnet18@cuda", "--images", "16", "--mode", "raw", "--batch-size", "4", "--num-workers", "0,1",
             "--out", "out"]
    none = dict(fake, FAKE_CUDA_PINS=0)
    done = rue(*words, env=none)
    assert done.returncode == 4 and wording.PAGE_LOCKED_MEMORY_PIN in " ".join(done.stdout.split())
    for values in ("false", "true,false"):
        done = rue(*words, "--pin-memory", values, env=none)
        assert done.returncode == 0, done.stderr
        found = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
        assert found["config"]["pin_memory"] is False
    assert [row["coverage"]["infeasible"] for row in found["configs"] if row["config"]["pin_memory"]] == [1, 1]


def test_pin_memory_is_not_searched_without_a_gpu(rue, fake, photos):
    for values in ("true,false", "false"):
        done = rue("tune", photos, "--model", "resnet18", "--pin-memory", values, "--out", "out")
        expect_failure(done, 2, "--pin-memory: no model computes on a GPU here", "resnet50@cuda, or remove the option")
    expect_failure(rue("tune", photos, "--model", "resnet18@cuda", "--pin-memory", "ture", env=fake), 2, "--pin-memory",
                   "known: false or true")
    assert not (rue.folder / "out").exists()


def test_a_batch_that_does_not_fit_is_infeasible_and_the_study_continues(rue, fake, photos):
    done = rue("tune", photos, "--model", "resnet18@cuda", "--batch-size", "2,32", "--num-workers", "0,1", "--budget", "5m",
               "--mode", "raw", "--out", "out", env=dict(fake, FAKE_CUDA_BYTES=200000000))
    assert done.returncode == 0, done.stderr
    found = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    assert found["config"]["batch_size"] == 2
    rows = (rue.folder / "out/trials.csv").read_text()
    assert wording.A_BATCH_OF_IMAGES.format(32) in rows and ",infeasible," in rows


def test_levels_are_copied_in_a_fourth_of_the_time(rue, fake, photos):
    copied = {}
    for dtype in "float32", "uint8":
        done = rue("tune", photos, "--model", "resnet18@cuda", "--batch-size", "2", "--num-workers", "1", "--budget", "5m", "--mode",
                   "raw", "--batch-dtype", dtype, "--out", dtype, env=fake)
        assert done.returncode == 0, done.stderr
        with open(rue.folder / dtype / "trials.csv", newline="") as file:
            copied[dtype] = {row["measure"]: int(row["h2d_ns"]) for row in csv.DictReader(file) if row["h2d_ns"]}
    assert all(copied["float32"][measure] == 4 * copied["uint8"][measure] > 0 for measure in ("joint", "compute")), copied


@pytest.mark.parametrize("env, words", [
    (dict(FAKE_CUDA_DEVICE="none"), ["resnet18@cuda", "the NVIDIA driver finds no GPU"]),
    (dict(FAKE_CUDA_VERSION="999"), ["has version 999", "build both from the same sources"]),
    (dict(RUE_CUDA_MODULE="/nowhere/rue_cuda.so"), ["cannot open the module", "/nowhere/rue_cuda.so"]),
    (dict(RUE_CUDA_MODULE=""), ["built without CUDA", "simulate a device"]),
], ids=["no GPU", "version", "not there", "none"])
def test_missing_parts_are_one_sentence_before_the_first_trial(rue, fake, photos, env, words):
    done = rue("tune", photos, "--model", "resnet18@cuda", *SMALL, env={**fake, **env})
    expect_failure(done, 4, *words)
    assert not (rue.folder / "out").exists() and "opening" not in done.stderr, "nothing was begun"


def test_an_option_that_the_gpu_lacks_is_named(rue, photos):
    expect_failure(rue("tune", photos, "--model", "resnet18@cuda:fp8"), 2, "'fp8' is not a precision", "resnet18@cuda:bf16")
    expect_failure(rue("tune", photos, "--model", "resnet18@cuda:bf16:pageable"), 2, "'bf16:pageable' is not a precision", "with fp32, fp16 or bf16")
    expect_failure(rue("tune", photos, "--model", "resnet18@cudo"), 2, "unknown device 'cudo'", "cuda")


def test_other_runners_do_not_compute_models(rue, photos):
    hello = dict(protocol="rue.runner/1", runner="other 1", loader="other", measures=["joint"])
    runner = f"read line; echo {shlex.quote(json.dumps(hello))}; cat >/dev/null"
    done = rue("tune", photos, "--runner", runner, "--model", "resnet18@cuda", "--out", "out")
    expect_failure(done, 2, "resnet18@cuda", "the runner other 1 does not compute")


def test_times_are_unknown_before_they_are_measured(rue):
    expect_failure(rue("models", "--device", "cuda:fp16"), 2, "--device cuda:fp16", "unknown before", "rue calibrate resnet18")


def test_times_of_a_gpu_become_a_device_table(rue, fake):
    words = ["calibrate", "resnet18", "--device", "cuda:bf16", "--batch-size", "1,2", "--batches", "2", "--out", "gpu.json"]
    for more, pinned, least_ns in (([], True, 0), (["--pin-memory", "false"], False, 5_000_000)):
        assert rue(*words, *more, env=dict(fake, FAKE_CUDA_PAGEABLE_NS=5_000_000)).returncode == 0
        table = read_json(rue.folder / "gpu.json")
        assert table["title"].endswith(" (bf16)") and wording.THIS_MACHINE not in table["title"] and table["note"] is None
        assert table["precision"] == "bf16" and table["pin_memory"] is pinned
        assert len(table["models"][0]["batch_ns"]) == 2 and min(table["models"][0]["batch_ns"]) > least_ns
    expect_failure(rue("calibrate", "resnet18", "--device", "h100", "--pin-memory", "true"), 2, "--pin-memory", "has no effect on 'h100'")


def test_slower_kernels_are_reported_with_the_times(rue, fake, photos):
    slower = dict(fake, FAKE_CUDA_SLOWER="by kernels that are slower")
    done = rue("calibrate", "resnet18", "--device", "cuda", "--batch-size", "1", "--batches", "1", "--out", "gpu.json", env=slower)
    assert wording.BY_KERNELS_THAT_ARE_SLOWER in done.stdout and read_json(rue.folder / "gpu.json")["note"] == "by kernels that are slower"
    done = rue("tune", photos, "--model", "resnet18@cuda", "--dry-run", env=slower)
    assert done.stderr.count("resnet18@cuda: by kernels that are slower") == 1, done.stderr


def test_the_real_module_without_a_driver(module, release):
    answer = compute(release, {})
    assert answer["status"] == "failed"
    assert answer["reason"].startswith("model 'resnet18@cuda': there is no NVIDIA driver here (libcuda.so.1)"), answer


def test_an_installed_program_finds_the_installed_module(module, release, tmp_path):
    subprocess.run(["cmake", "--install", release.parent, "--prefix", tmp_path], check=True, stdout=subprocess.DEVNULL)
    assert wording.NO_NVIDIA_DRIVER_HERE in compute(tmp_path / "bin/rue", {})["reason"]
    next(tmp_path.rglob("rue_cuda.so")).unlink()
    assert wording.BUILT_WITHOUT_CUDA in compute(tmp_path / "bin/rue", {})["reason"]


def test_the_real_module_with_the_stub_of_the_toolkit(module, release, tmp_path):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    stubs = sorted(pathlib.Path(os.path.realpath(nvcc)).parent.parent.glob("**/stubs/libcuda.so"))
    if not stubs:
        pytest.skip("skipped: the toolkit has no stub")
    (tmp_path / "libcuda.so.1").symlink_to(stubs[0])
    answer = compute(release, dict(LD_LIBRARY_PATH=tmp_path))
    assert answer["status"] == "failed" and wording.IS_THE_STUB_OF_THE_CUDA in answer["reason"], answer


def test_gpu_checks_are_skipped_with_a_reason_without_a_gpu():
    if pathlib.Path("/dev/nvidiactl").exists():
        pytest.skip("skipped: there is a GPU here")
    done = subprocess.run([ROOT / "tests/gpu/run.sh"], capture_output=True, text=True, timeout=HANG_S, env=clean_environment())
    assert done.returncode == 0 and done.stdout.startswith("skipped: "), done.stdout + done.stderr
