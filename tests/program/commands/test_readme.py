"""Every example that people are shown is run: the README, CONTRIBUTING, docs/, and the help of every command."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from conftest import HANG_S, PROGRAM, ROOT, clean_environment, find_release

# Lines that are covered elsewhere: what installs packages, builds, or runs the tests themselves.
# The Python examples are in tests/python/test_examples.py. What docs/store.md asks of SQLite is in ../study/test_store_page.py. The script for Ray is in tests/python/test_ray.py.
ELSEWHERE = re.compile(r"apt-get install |examples/quickstart\.sh( |$)|(tests|packaging)/(\w+/)?\w+\.(sh|py)( |$)|docker |\.ci/|cmake |source tuner/|pip install |python3 -m rue_tuner |/usr/bin/python3 -m pytest |python3 (examples/|ray_train)|sqlite3 |"
                       r"mkdir mix |rue tune (mix/|'\{coco)|rue (tune|scale) .* --launch ")  # test_queue.py, test_launch.py and test_rank_scaling.py have them
RUNS = re.compile(r"(taskset -c \S+ rue|rue|(echo '[^']*'|cat \S+) \| rue) ")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OWN_STUDY = "rue tune photos/ --mode raw --batch-size 4 --num-workers 0,1"
BUDGET = "120trials"  # of trials, as a busy machine has room for fewer of them in a time
SETTINGS = dict(RUE_BUDGET=BUDGET, RUE_SAMPLE=8)
TORCH_SETTINGS = dict(RUE_BUDGET=BUDGET, RUE_MODE="raw", RUE_MODEL="resnet18", RUE_BATCH_SIZE="4,6", RUE_NUM_WORKERS="0")


PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]


def blocks(language):
    return [(name, body) for name in PAGES
            for kind, body in BLOCK.findall((ROOT / name).read_text()) if kind == language]


def shell_lines():
    """Every line of the documents' shell blocks, its comment taken off."""
    lines = [(name, re.sub(r"\s+# .*", "", line).strip()) for name, body in blocks("sh")
             for line in body.replace("\\\n", " ").splitlines()]
    return [(name, line) for name, line in lines if line]


def help_lines():
    """The examples of the help texts; the program may not be built yet when this is asked."""
    if not PROGRAM:
        return []
    run = lambda *words: subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=HANG_S,
                                        env=clean_environment(COLUMNS=1000)).stdout
    commands = re.findall(r"^  (\w+)  ", run("--help"), re.MULTILINE)
    return [(command, line.strip()) for command in commands
            for line in run(command, "--help").split("\nOptions:")[0].splitlines() if line.startswith("  ")]


LINES = [(where, line) for line, where in {line: where for where, line in help_lines() + shell_lines()}.items()]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with what the examples name: photos/, examples/, and the program as `rue` on the path."""
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    folder = tmp_path_factory.mktemp("place")
    (folder / "bin").mkdir()
    (folder / "bin/rue").symlink_to(find_release() or PROGRAM)
    (folder / "bin/python3").symlink_to(sys.executable)
    (folder / "examples").symlink_to(ROOT / "examples")
    rows = [f"{mode},ape,{batch},{workers},{batch + workers}" for mode in ("raw", "preprocessed") for batch in (16, 32)
            for workers in (0, 2)]
    (folder / "times.csv").write_text("\n".join(["mode,model,batch_size,num_workers,time_s", *rows]) + "\n")
    (folder / "latency.csv").write_text("\n".join(["data,model,batch_size,num_workers,latency", *rows]) + "\n")
    (folder / "train.txt").write_text("0\n3\n5\n")
    run_in(folder, "rue prepare --synthetic 12 photos --quiet").check_returncode()
    run_in(folder, OWN_STUDY).check_returncode()
    return folder


def run_in(folder, line):
    env = clean_environment(**(TORCH_SETTINGS if "rue_tuner" in line else SETTINGS), PYTHONPATH=str(ROOT / "python"))
    env["PATH"] = f"{folder / 'bin'}:{env['PATH']}"
    return subprocess.run(["bash", "-euo", "pipefail", "-c", line], cwd=folder, env=env, capture_output=True, text=True,
                          timeout=HANG_S, stdin=subprocess.DEVNULL)


def smaller(line):
    """The same on a dozen photos: large counts and budgets would only take time."""
    line = re.sub(r"--synthetic \d+", "--synthetic 12", line).replace("class:cat,dog", "class:class_0,class_1")
    if line.startswith("rue why"):
        return re.sub(r" --(batch-size|num-workers) \d+", "", line) + " --num-workers 0"
    if line.startswith("rue headroom"):
        line = re.sub(r"--batch-size \d+", "--batch-size 4", line).replace("--max-loss 10%", "--max-loss 100%")
        return f"{line} --budget 1s"
    line = re.sub(r"^rue diff \S+ \S+", "rue diff rue-out/photos rue-out/photos", line)
    line = re.sub(r"--batch-size [\d,]+", "--batch-size 4,8", line)
    line = re.sub(r"--budget \d+%", "--budget 300%", line)
    line = re.sub(r"^taskset -c \S+", f"taskset -c {min(os.sched_getaffinity(0))}", line)
    line = re.sub(r"^rue calibrate ", "rue calibrate --batches 1 ", line)
    return re.sub(r"--budget \w+(?![\w%])", f"--budget {BUDGET}", line)


def has_torch():
    return subprocess.run([sys.executable, "-c", "import torch, torchvision"], capture_output=True).returncode == 0


@pytest.mark.parametrize("where, line", LINES, ids=[f"{where}-{line[:50]}" for where, line in LINES])
def test_an_example_works(place, where, line):
    if ELSEWHERE.match(line):
        return
    assert RUNS.match(line), f"{where}: teach this test how to run '{line}', or name where it is covered"
    if "rue_tuner" in line and not has_torch():
        pytest.skip("skipped: PyTorch is not installed")
    words = [word for word in shlex.split(line)[2:] if not word.startswith("-")] if line.startswith("rue prepare") else []
    target = words[1].rstrip("/") if words else ""  # where it writes: rue prepare SRC DST, --synthetic N DST
    for name in {"photos.tensor", "demo", target} & {path.name for path in place.iterdir()} - {"photos", ""}:
        path = place / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if "photos.tensor" in line and "prepare" not in line:
        run_in(place, "rue prepare photos photos.tensor --quiet").check_returncode()
    if line.startswith(("rue check", "rue why", "rue diff")):  # another example may have had PyTorch measure it
        run_in(place, OWN_STUDY).check_returncode()
        shutil.copy(place / "rue-out/photos/recommendation.json", place)
    # What another example makes; they may run in any order.
    for name, make in {"h100.json": "rue calibrate resnet50 --device h100 --batch-size 4,8 --batches 1 --out h100.json",
                       "box.json": "rue calibrate resnet18 --device host:1 --batch-size 1,8 --batches 1 --out box.json",
                       "photos.zarr": "rue prepare photos photos.zarr --chunks 4,3,224,224 --quiet",
                       "images.lmdb": "rue prepare photos images.lmdb --quiet",
                       "shards/": "rue prepare photos shards --format webdataset --quiet"}.items():
        if name in line and target != name.rstrip("/") and "--out " + name not in line and not (place / name).exists():
            run_in(place, make).check_returncode()
    done = run_in(place, smaller(line))
    # Whether a recommendation still holds depends on what else runs on the machine.
    shaken = line.startswith("rue check") and re.search(r" holds? here", done.stderr)
    in_memory = "--cache cold" in line and "cannot be read cold" in done.stderr  # what lies here
    assert done.returncode == (5 if shaken else 4 if in_memory else 0), done.stderr


def test_the_python_examples_work(place):
    pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
    found = blocks("python")
    assert found
    for where, body in found:
        done = subprocess.run([sys.executable, "-c", body], cwd=place, capture_output=True, text=True, timeout=HANG_S,
                              env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
        assert done.returncode == 0 and "3, 224, 224" in done.stdout, (where, done.stdout, done.stderr)


def test_every_block_has_a_known_language():
    for name in PAGES:
        kinds = {kind for kind, _ in BLOCK.findall((ROOT / name).read_text())}
        assert kinds <= {"sh", "text", "py", "python", "c", "diff", "json", "sql", ""}, name


def test_json_examples_are_json():
    for name, body in blocks("json"):
        json.loads(body)
