"""The package as people install it: a wheel for every Linux, in an environment without anything else; and an sdist."""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

import wording
from conftest import ROOT, clean_environment

WAIT_S = 900
TOOLS = ROOT / "build/tools"
PYTHONS = [f"3.{minor}{kind}" for minor in range(9, 15) for kind in ("", "t")]
# Compiling is most of the time of this test, and what is tested here does not depend on the optimiser.
# What every system has. The wheel contains all other libraries.
OF_SYSTEM = re.compile(r"lib(c|m|pthread|dl)\.so\.\d|ld-linux-.*")
QUICKLY = {"CMAKE_ARGS": "-DCMAKE_C_FLAGS_RELEASE='-O0 -DNDEBUG'"}

ANY_PYTHON = """
import sys, rue_tuner as rue
assert not {"torch", "numpy"} & set(sys.modules)
loader = rue.Loader(sys.argv[1], batch_size=4, num_workers=1, output="numpy")
assert len(loader) == 2 and loader.classes and loader.key(0).endswith(".jpg"), (len(loader), loader.classes, loader.key(0))
assert loader.with_(seed=3).state_dict()["seed"] == 3
try:
    print(sum(images.sum() + labels.sum() for images, labels in loader))
except ImportError as error:
    print(error)
"""

# Prints the pixels of three decoders, which are imported in the order of the arguments, each of which brings a libjpeg.
DECODERS = """
import hashlib, importlib, pathlib, sys
folder, *order = sys.argv[1:]
for name in order:
    importlib.import_module(name)
import numpy, PIL.Image, torch, torchvision, rue_tuner
path = sorted(pathlib.Path(folder).rglob("*.jpg"))[0]
def pillow():
    return numpy.asarray(PIL.Image.open(path).convert("RGB"))
def with_torchvision():
    return torchvision.io.decode_jpeg(torchvision.io.read_file(str(path))).numpy()
def rue():
    return next(iter(rue_tuner.Loader(folder, batch_size=4, num_workers=2)))[0].numpy()
for decode in (pillow, rue, with_torchvision, rue, pillow):
    print(decode.__name__, hashlib.sha256(decode().tobytes()).hexdigest())
"""


def run(*words, **more):
    environment = clean_environment(**{"PATH": os.environ["PATH"], **more})
    done = subprocess.run([str(word) for word in words], env=environment, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


@pytest.fixture(scope="module")
def tools():
    """Where the tools are that build and repair wheels."""
    if not (TOOLS / "complete").exists():
        pytest.skip("skipped: the tools that make wheels are not installed (tests/install.sh)")
    return TOOLS / "bin"


def build_wheel(tools, folder):
    """The path of a wheel, made from an sdist."""
    run("git", "clone", "-q", ROOT, folder / "clone")
    run(ROOT / "packaging/wheel.sh", folder / "clone", folder / "dist", PATH=f"{tools}:{os.environ['PATH']}", **QUICKLY)
    # For every Python, free-threaded or not.
    (sdist,), (wheel,) = (list((folder / "dist").glob(name)) for name in ("*.tar.gz", f"*-py3-none-manylinux_2_28_{os.uname().machine}.whl"))
    with tarfile.open(sdist) as archive:
        assert any(name.endswith("/python/rue_tuner/tuning.py") for name in archive.getnames())
    return wheel


def check_contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("dist-info/METADATA"))).decode()
        sbom = json.loads(archive.read(next(name for name in names if name.endswith(".spdx.json"))))
    assert wording.LICENSE_EXPRESSION_GPL_3 in metadata and 'Requires-Dist: torch>=1.13; extra == "torch"' in metadata
    assert any(name.endswith("GPL-3.0-or-later.txt") for name in names) and "rue_tuner/_rue_loader.so" in names
    linked = {part["name"] for part in sbom["packages"][1:]}
    assert linked > {"gsl", "libjpeg-turbo", "libpng1.6", "sqlite3"}
    assert linked == {pathlib.Path(name).stem for name in names if "/licenses/libraries/" in name}
    assert {relation["relationshipType"] for relation in sbom["relationships"]} == {"DESCRIBES", "STATIC_LINK"}


def check_libraries(path):
    """A file needs only what every system has, and no newer functions of glibc than those of 2.28."""
    names = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", path))
    assert len(names) > 2 and all(OF_SYSTEM.fullmatch(name) for name in names), names
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", run("readelf", "-V", path))}
    assert max(versions) <= (2, 28), versions


def check_shared_object(packages):
    """It exports nothing that other packages could meet, such as a libjpeg, and contains no GSL."""
    own = packages / "rue_tuner/_rue_loader.so"
    check_libraries(own)
    assert b"gsl_" not in own.read_bytes()
    symbols = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", own).splitlines()}
    exports = (ROOT / "python/native/exports.map").read_text()
    assert symbols == set(re.findall(r"(\w+);", exports)), symbols


def check_program(environment, folder, study):
    rue = environment / "bin/rue"
    check_libraries(next(environment.rglob("rue_tuner/bin/rue")))
    assert run(rue, "--version").startswith("rue ")
    assert run(environment / "bin/python", "-m", "rue_tuner", "--version") == run(rue, "--version")
    run(rue, "prepare", "--synthetic", "8", folder, "--quiet")
    subprocess.run([rue, "tune", folder, "--mode", "raw", "--model", "resnet18@h100", "--batch-size", "4", "--num-workers", "0,1", "--budget", "40trials",
                    "--quiet", "--out", study], env=clean_environment(), timeout=WAIT_S)
    code = f"import rue_tuner as rue; print(rue.load({str(study)!r}).config['batch_size'])"
    assert run(environment / "bin/python", "-c", code).strip() == "4"


def pythons():
    """Every Python of this machine that the package is for: on PATH, or of pyenv."""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    for version in PYTHONS:
        found = [*root.glob(f"versions/*/bin/python{version}"), shutil.which(f"python{version}")]
        yield from [path for path in found if path][:1]


def check_pythons(packages, photos):
    for python in [sys.executable, *pythons()]:
        run(python, "-W", "error", "-m", "compileall", "-q", "-f", packages / "rue_tuner")
        output = run(python, "-I", "-W", "error", "-c", f"import sys; sys.path.insert(0, {str(packages)!r})\n{ANY_PYTHON}", photos)
        assert output.strip(), python


def folder_of(module):
    """Where a module of this Python is installed, or None."""
    spec = importlib.util.find_spec(module)
    return pathlib.Path(spec.origin).parent.parent if spec else None


def test_a_wheel_works_in_an_empty_environment(tools, tmp_path):
    wheel = build_wheel(tools, tmp_path)
    check_contents(wheel)
    empty, photos = tmp_path / "empty", tmp_path / "photos"
    run(sys.executable, "-m", "venv", "--without-pip", empty)
    run(tools / "pip", "--python", empty / "bin/python", "install", "-q", "--no-deps", wheel)
    packages = next(empty.rglob("rue_tuner")).parent
    check_shared_object(packages)
    check_program(empty, photos, tmp_path / "study")
    check_pythons(packages, photos)
    without = run(empty / "bin/python", "-c", ANY_PYTHON, photos)
    assert wording.NO_MODULE_NAMED_NUMPY in without and wording.INSTALL_IT_OR_USE in without, without
    numpy, torchvision = folder_of("numpy"), folder_of("torchvision")
    if numpy:
        assert float(run(empty / "bin/python", "-c", ANY_PYTHON, photos, PYTHONPATH=numpy))
    if torchvision and folder_of("PIL"):
        orders = [("rue_tuner.loader", "PIL.Image", "torchvision"), ("PIL.Image", "torchvision", "rue_tuner.loader")]
        first, last = (run(empty / "bin/python", "-c", DECODERS, photos, *order, PYTHONPATH=torchvision) for order in orders)
        assert first == last and len(set(first.splitlines())) == 3, (first, last)
