"""The examples for Python, on a dozen photos."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest

import wording
from conftest import HANG_S, PROGRAM, ROOT, clean_environment, finish, read_json
from launchers import free_ports, open_mpi

pytest.importorskip("torchvision", reason="torchvision is not installed (python3-torchvision)")


def make_photos(folder):
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    subprocess.run([PROGRAM, "prepare", "--synthetic", "16", folder / "photos", "--quiet"], check=True, timeout=HANG_S)


@pytest.fixture
def run(tmp_path):
    make_photos(tmp_path)

    def call(name, *words, **variables):
        done = subprocess.run([sys.executable, ROOT / "examples" / name, *words], cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S,
                              env=clean_environment(RUE_PROGRAM=PROGRAM, PYTHONPATH=ROOT / "python", OMP_NUM_THREADS=1, **variables))
        assert done.returncode == 0, done.stderr
        return done.stdout
    return call


def test_a_training_script_tunes_and_then_trains(run):
    out = run("train.py", "photos", "2", "3trials")
    assert "batch_size 16" in out and "epoch 1: loss" in out, "also if three trials decide nothing"
    assert len((ROOT / "examples/train.py").read_text().splitlines()) <= 50


# Runs a script, and writes the labels of each batch into a file for each loader and rank. Dies before batch DIES.
RECORDING = """if True:
    import os, runpy, signal, sys
    import rue_tuner as rue

    class Recording(rue.Loader):
        def __iter__(self):
            for count, (images, labels) in enumerate(super().__iter__()):
                if count == int(os.environ.get("DIES", -1)):
                    os.kill(os.getpid(), signal.SIGKILL)
                with open(f"{os.environ['LABELS']}_{os.path.basename(self.path)}_{self.rank}", "a") as file:
                    print(*labels.tolist(), file=file)
                yield images, labels

    rue.Loader = Recording
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_a_training_script_with_rues_loader_continues_on_one_rank_and_on_two(tmp_path):
    """It is killed in the first of its two epochs, after a step that is not in its checkpoint."""
    make_photos(tmp_path)
    for count, photo in enumerate(sorted((tmp_path / "photos").rglob("*.jpg"))[:10]):
        folder = tmp_path / ("train" if count < 8 else "val") / photo.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(photo, folder)
    (tmp_path / "record.py").write_text(RECORDING)

    def start(name, batch, **variables):
        words = [sys.executable, tmp_path / "record.py", ROOT / "examples/train_loader.py", "train", "val", "--every", "2",
                 "--epochs", "2", "--batch-size", str(batch), "--checkpoint", f"{name}.pt"]
        env = clean_environment(RUE_LOADER=os.environ["RUE_LOADER"], PYTHONPATH=ROOT / "python", LABELS=tmp_path / name, OMP_NUM_THREADS=1,
                                **variables)
        return subprocess.Popen(words, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def labels(name, rank=0):
        return [list(map(int, line.split())) for line in (tmp_path / f"{name}_train_{rank}").read_text().splitlines()]

    assert finish(start("killed", 2, DIES=3))[0] == -signal.SIGKILL and len(labels("killed")) == 3
    for name in ("one", "two"):
        shutil.copy(tmp_path / "killed.pt", tmp_path / f"{name}.pt")
    one = start("one", 2)
    torchrun = dict(WORLD_SIZE=2, LOCAL_WORLD_SIZE=2, MASTER_ADDR="127.0.0.1", MASTER_PORT=free_ports(1)[0])
    two = [start("two", 1, RANK=rank, LOCAL_RANK=rank, **torchrun) for rank in range(2)]
    for process in (one, *two):
        code, out, error = finish(process)
        assert code == 0, error
        assert process is two[1] or "epoch 1: accuracy" in out and wording.WAITED_FOR_DATA in out

    import rue_tuner as rue
    loader = rue.Loader(tmp_path / "train", transform="train", batch_size=2)
    whole = [labels.tolist() for _ in range(2) for _, labels in loader]
    assert labels("one") == whole[2:] and len(whole) == 8
    assert [first + second for first, second in zip(labels("two"), labels("two", 1))] == whole[2:]
    assert len((ROOT / "examples/train_loader.py").read_text().splitlines()) <= 80


def test_a_notebook_shows_a_table(run):
    out = run("notebook.py", PHOTOS="photos", BUDGET="10trials")
    assert "worst_model" in out and "source" in out and "1 batches" in out  # pandas may leave out columns between


@pytest.fixture
def run_on_two_ranks(tmp_path):
    """A script of examples/cluster, where `rue`, `python3` and `mpirun` are those of the tests."""
    make_photos(tmp_path)
    (tmp_path / "bin").mkdir()

    def call(launcher, *words, **programs):
        for name, path in dict(rue=PROGRAM, python3=sys.executable, **programs).items():
            (tmp_path / "bin" / name).symlink_to(path)
        env = clean_environment(**launcher.env, RUE_OUT=tmp_path / "tuned", RUE_BUDGET="6trials", MASTER_PORT=free_ports(1)[0], OMP_NUM_THREADS=1,
                                PYTHONPATH=ROOT / "python", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        done = subprocess.run(words, cwd=ROOT / "examples/cluster", env=env, capture_output=True, text=True, timeout=HANG_S)
        return done.returncode, done.stdout + done.stderr
    return call


def check_training(out, study):
    assert "epoch 0: loss" in out and "on 2 ranks" in out, out
    assert read_json(study / "recommendation.json")["recommendations"][0]["ranks"] == 2
    with sqlite3.connect(study / "study.db") as db:
        ranks = [json.loads(row[0]) for row in db.execute("SELECT ranks FROM trial WHERE status = 'ok'")]
    assert ranks and all([rank["rank"] for rank in trial] == [0, 1] for trial in ranks)


def test_a_slurm_job_tunes_and_then_trains(slurm, run_on_two_ranks, tmp_path):
    log = tmp_path / "job.log"
    code, out = run_on_two_ranks(slurm, "sbatch", "--wait", "--ntasks-per-node=1", "--cpus-per-task=1", f"--output={log}",
                                 "tune_then_train.sbatch", tmp_path / "photos")
    assert code == 0, out + (log.read_text() if log.exists() else "")
    check_training(log.read_text(), tmp_path / "tuned")


def test_mpirun_tunes_and_then_trains(run_on_two_ranks, tmp_path):
    launcher = open_mpi()
    code, out = run_on_two_ranks(launcher, "./tune_then_train.sh", tmp_path / "photos", "2", "--oversubscribe", mpirun=launcher.words(2)[0])
    assert code == 0, out
    check_training(out, tmp_path / "tuned")
