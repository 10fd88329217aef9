"""The package as people install it: a wheel, repaired by auditwheel, in an environment without anything else; and an sdist."""
import importlib.util
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
    """The path of a repaired wheel, made from an sdist."""
    run("git", "clone", "-q", ROOT, folder / "clone")
    path = f"{tools}:{os.environ['PATH']}"
    run(tools / "python", "-m", "build", "-n", "-o", folder / "dist", folder / "clone", PATH=path, **QUICKLY)
    (sdist,), (wheel,) = (list((folder / "dist").glob(name)) for name in ("*.tar.gz", "*.whl"))
    with tarfile.open(sdist) as archive:
        assert any(name.endswith("/python/rue_tuner/tuning.py") for name in archive.getnames())
    run(tools / "auditwheel", "repair", "-w", folder / "repaired", wheel, PATH=path)
    (repaired,) = (folder / "repaired").glob("*-py3-none-manylinux*.whl")  # for every Python, free-threaded or not
    return repaired


def check_contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("dist-info/METADATA"))).decode()
    assert wording.LICENSE_EXPRESSION_GPL_3 in metadata
    assert any("libgsl" in name for name in names) and any(name.endswith("GPL-3.0-or-later.txt") for name in names)
    assert "rue_tuner/_rue_loader.so" in names


def needed(path):
    """(names of the libraries that a file needs, the folders where it looks for them)"""
    text = run("readelf", "-d", path)
    return set(re.findall(r"NEEDED.*\[(.*)\]", text)), re.findall(r"(?:RPATH|RUNPATH).*\[(.*)\]", text)


def check_shared_object(packages):
    """It needs libraries of the wheel and of every system; no GSL, and no libjpeg that others could meet."""
    own = packages / "rue_tuner/_rue_loader.so"
    symbols = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", own).splitlines()}
    exports = (ROOT / "python/native/exports.map").read_text()
    assert symbols == set(re.findall(r"(\w+);", exports)), symbols
    assert "rue_tuner.libs" in needed(own)[1][0]
    todo, closure = [own], set()
    while todo:
        for name in needed(todo.pop())[0] - closure:
            closure.add(name)
            todo += (packages / "rue_tuner.libs").glob(name)
    assert not [name for name in closure if re.match("lib(gsl|jpeg|turbojpeg|sqlite3|lmdb)", name)], closure
    assert "libjansson" in " ".join(closure) and wording.NOT_FOUND not in run("ldd", own)


def check_program(environment, folder, study):
    rue = environment / "bin/rue"
    libraries = run("ldd", next(environment.rglob("rue_tuner/bin/rue")))
    assert wording.NOT_FOUND not in libraries and "rue_tuner.libs/libgsl" in libraries
    assert run(rue, "--version").startswith("rue ")
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


def test_a_repaired_wheel_works_in_an_empty_environment(tools, tmp_path):
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
