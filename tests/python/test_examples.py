"""The examples for Python, on a dozen photos."""
import os
import subprocess
import sys

import pytest

from conftest import HANG_S, PROGRAM, ROOT, clean_environment

pytest.importorskip("torchvision", reason="torchvision is not installed (python3-torchvision)")


@pytest.fixture
def run(tmp_path):
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    subprocess.run([PROGRAM, "prepare", "--synthetic", "16", tmp_path / "photos", "--quiet"], check=True, timeout=HANG_S)

    def call(name, *words, **variables):
        done = subprocess.run([sys.executable, ROOT / "examples" / name, *words], cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S,
                              env=clean_environment(RUE_PROGRAM=str(PROGRAM), PYTHONPATH=str(ROOT / "python"), **variables))
        assert done.returncode == 0, done.stderr
        return done.stdout
    return call


def test_a_training_script_tunes_and_then_trains(run):
    out = run("train.py", "photos", "2", "10trials")
    assert "Use batch_size 16" in out and "epoch 1: loss" in out
    assert len((ROOT / "examples/train.py").read_text().splitlines()) <= 50


def test_a_notebook_shows_a_table(run):
    out = run("notebook.py", PHOTOS="photos", BUDGET="10trials")
    assert "persistent_workers" in out and "source" in out and "1 batches" in out  # pandas may leave out columns between
