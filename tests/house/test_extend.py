"""The examples of examples/extend/: put into a copy of the tree, registered there, built beside the release build's own
objects, and run."""
import json
import os
import re
import shlex
import shutil
import struct
import subprocess

import pytest

import wording
from conftest import HANG_S, ROOT, Rue, clean_environment, find_release, make_table, read_json

EXTEND = ROOT / "examples/extend"
# Where an example belongs, by the first word of its name.
HOME = dict(source="engine/read", strategy="strategies/search", model="models", report="reports")
FILES = {f"{HOME[path.name.split('_')[0]]}/{path.name}": path for path in sorted(EXTEND.glob("*.[ch]"))}
FOLDERS = ["engine", "models", "strategies", "reports", "tuner"]
TABLE = make_table(["ape", "bee"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + 100 * w * (m == "bee"))


def changes():
    """(file, what is there, what takes its place) of every change in register.diff."""
    for name, body in re.findall(r"^--- (\S+)\n(.*?)(?=^---|\Z)", (EXTEND / "register.diff").read_text(), re.MULTILINE | re.DOTALL):
        pick = lambda sign: "\n".join(line[1:] for line in body.splitlines() if line.startswith(sign))
        yield name, pick("-"), pick("+")


def make_tree(folder):
    """A copy of the sources with the examples in it; returns the files that are new or changed."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name)
    for name, path in FILES.items():
        assert not (folder / name).exists(), name
        shutil.copy(path, folder / name)
    changed = set(FILES)
    for name, old, new in changes():
        text = (folder / name).read_text()
        assert text.count(old) == 1, f"{name} has not one place for: {old}"
        (folder / name).write_text(text.replace(old, new))
        changed.add(name)
    return sorted(changed)


def ninja(build, *words):
    return subprocess.run(["ninja", "-C", build, "-t", *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The tree with the examples, and the program made of it: what did not change is the release build's."""
    build = find_release() and find_release().parent
    if not build or not (build / "build.ninja").exists() or not shutil.which("ninja"):
        pytest.skip("skipped: no release build made with ninja, set RUE_RELEASE")
    folder = tmp_path_factory.mktemp("tree")
    changed = make_tree(folder)
    flags = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if not entry["file"].endswith(".c"):
            continue
        words = entry["command"].split(" -o ")[0].replace(str(ROOT) + "/", str(folder) + "/")
        flags[os.path.dirname(os.path.relpath(entry["file"], ROOT))] = words
    objects = []
    for name in changed:
        if name.endswith(".c"):
            objects.append(folder / f"{name}.o")
            line = f"{flags[os.path.dirname(name)]} -Werror -c {name} -o {objects[-1]}"
            done = subprocess.run(shlex.split(line), cwd=folder, capture_output=True, text=True, timeout=HANG_S)
            assert done.returncode == 0, done.stderr
    link = ninja(build, "commands", "rue").splitlines()[-1]
    assert link.count(" -o rue ") == 1, link
    link = link.replace(" -o rue ", f" {shlex.join(map(str, objects))} -o {shlex.quote(str(folder / 'rue'))} ")
    done = subprocess.run(["bash", "-c", link], cwd=build, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def own(built, tmp_path):
    return Rue(built / "rue", tmp_path)


def save_array(path, count):
    """As numpy.save does it."""
    words = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, 3, 224, 224), }}"
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + words.encode().ljust(117) + b"\n"
    values = b"".join(struct.pack("<f", i) * (3 * 224 * 224) for i in range(count))
    path.write_bytes(header + values)


def test_there_is_an_example_of_each_kind():
    assert {os.path.dirname(name) for name in FILES} == set(HOME.values()) and len(list(changes())) > 7


def test_the_new_source_is_detected_inspected_and_tuned(own):
    save_array(own.folder / "six.npy", 6)
    shown = json.loads(own("inspect", "six.npy", "--json").stdout)
    assert (shown["format"], shown["dtype"], shown["items"], shown["mode"]) == ("npy", "float32", 6, "preprocessed")
    done = own("tune", "six.npy", "--model", "none", "--batch-size", "2,3", "--num-workers", "0,2", "--budget", "5m")
    assert done.returncode == 0 and wording.USE_BATCH_SIZE in done.stdout, done.stderr
    with open(own.folder / "six.npy", "r+b") as file:
        file.truncate(1000)
    done = own("inspect", "six.npy")
    assert done.returncode == 3 and wording.SIX_NPY_HAS_BYTES.format(1000) in done.stderr


def test_the_new_strategy_follows_the_order_of_the_grid(own, script):
    one = script(TABLE)
    assert own("tune", "--runner", one.command, "--out", "out", "--strategy", "inorder").returncode == 0
    assert one.joint() == [(model, cell) for cell in ("16/0", "16/2", "32/0", "32/2") for model in ("ape", "bee")]


def test_the_new_model_has_its_cost_and_is_listed(own, photos):
    assert "constant" in own("models").stdout
    variant = dict(path=str(photos), mode="raw", format="folder")
    ask = dict(op="trial", id=1, measure="joint", variant=variant, model="constant", images=12, job_images=12,
               config=dict(batch_size=4, num_workers=1))
    done = subprocess.run([own.program, "runner"], input=json.dumps(ask) + "\n", capture_output=True, text=True,
                          env=clean_environment(), timeout=HANG_S)
    answer = json.loads(done.stdout)
    assert (answer["status"], answer["batches"]) == ("ok", 3) and answer["compute_ns"] >= 3 * 2000000, "it cannot be less"


def test_the_new_report_is_written_with_the_others(own, script):
    assert own("tune", "--runner", script(TABLE).command, "--out", "out").returncode == 0
    best = read_json(own.folder / "out/recommendation.json")["recommendations"][0]["config"]
    assert (own.folder / "out/best.txt").read_text() == f"raw {best['batch_size']}/{best['num_workers']}\n"
