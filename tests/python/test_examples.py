"""The examples for Python, on a dozen photos."""
import json
import os
import sqlite3
import subprocess
import sys

import pytest

from conftest import HANG_S, PROGRAM, ROOT, clean_environment, read_json
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
                              env=clean_environment(RUE_PROGRAM=str(PROGRAM), PYTHONPATH=str(ROOT / "python"), **variables))
        assert done.returncode == 0, done.stderr
        return done.stdout
    return call


def test_a_training_script_tunes_and_then_trains(run):
    out = run("train.py", "photos", "2", "3trials")
    assert "Use batch_size 16" in out and "epoch 1: loss" in out
    assert len((ROOT / "examples/train.py").read_text().splitlines()) <= 50


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
