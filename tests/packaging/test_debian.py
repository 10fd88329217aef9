"""The packages of Debian, unpacked: their files alone are enough for the program, for Python and for C."""
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT, clean_environment

RELEASE = ROOT / "build/release"
NAMES = {"rue", "librue-dev", "python3-rue-tuner"}


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], env=clean_environment(**more), capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def make_packages(folder):
    """{name: path}, from the release build."""
    if not (RELEASE / "_rue_loader.so").exists():
        pytest.skip("skipped: build/release is not built (cmake --build --preset release)")
    run("cpack", "-G", "DEB", "-B", folder, "--config", RELEASE / "CPackConfig.cmake")
    return {path.name.partition("_")[0]: path for path in folder.glob("*.deb")}


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return make_packages(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def unpacked(packages, tmp_path_factory):
    """The folder usr of all three."""
    root = tmp_path_factory.mktemp("root")
    for path in packages.values():
        run("dpkg-deb", "-x", path, root)
    return root / "usr"


def field(package, name):
    return run("dpkg-deb", "-f", package, name).strip()


def test_each_package_names_what_it_needs(packages):
    assert packages.keys() == NAMES
    version = run(RELEASE / "rue", "--version").split()[1]
    assert {field(path, "Version") for path in packages.values()} == {version}
    depends = {name: field(path, "Depends") for name, path in packages.items()}
    assert "libgsl" in depends["rue"] and "libjpeg-dev" in depends["librue-dev"]
    assert f"rue (= {version})" in depends["python3-rue-tuner"] and "libgsl" not in depends["python3-rue-tuner"]
    summaries = {field(path, "Description").splitlines()[0] for path in packages.values()}
    assert len(summaries) == len(NAMES)


def test_lintian_finds_no_error(packages):
    if not shutil.which("lintian"):
        pytest.skip("skipped: lintian is not installed (tests/install.sh bare)")
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", *packages.values()], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_no_file_is_in_two_packages(packages):
    files = [line.split()[5] for path in packages.values() for line in run("dpkg-deb", "-c", path).splitlines()
             if not line.startswith("d")]
    assert len(files) > 60 and len(set(files)) == len(files)


def test_the_program_tunes_and_python_loads(unpacked, tmp_path):
    rue, python = unpacked / "bin/rue", {"PYTHONPATH": unpacked / "lib/python3/dist-packages", "PATH": f"{unpacked}/bin:/usr/bin:/bin"}
    run(rue, "prepare", "--synthetic", "8", tmp_path / "photos", "--quiet")
    run(rue, "tune", tmp_path / "photos", "--mode", "raw", "--model", "none", "--batch-size", "4", "--num-workers", "0,1", "--strategy", "grid",
        "--budget", "5m", "--quiet", "--out", tmp_path / "out")
    best = json.loads((tmp_path / "out/recommendation.json").read_text())["recommendations"][0]["config"]
    code = """if True:
        import importlib.metadata, sys, rue_tuner as rue
        assert rue.__version__ == importlib.metadata.version("rue-tuner")
        loader = rue.Loader.from_recommendation(sys.argv[2], data=sys.argv[1], output="numpy")
        print(rue.__file__, len(loader), loader.batch_size)"""
    file, batches, size = run(sys.executable, "-c", code, tmp_path / "photos", tmp_path / "out", **python).split()
    assert pathlib.Path(file).is_relative_to(unpacked)
    assert (int(batches), int(size)) == (2, best["batch_size"])
    assert run(sys.executable, "-m", "rue_tuner", "--version", **python) == run(rue, "--version")
