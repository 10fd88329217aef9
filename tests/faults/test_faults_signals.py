"""Every command ends soon after a signal, whatever it is doing: with the exit code of the signal and a line that says so, and
neither a process nor a temporary file is left.

RUE_LONG_TESTS=1 makes the inputs large: 200,000 rows, 64 MB of JSON."""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time
import uuid

import pytest

from conftest import HANG_S, Rue, clean_environment, make_table, wait_until

LONG = bool(os.environ.get("RUE_LONG_TESTS"))
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
MODELS, BATCHES, WORKERS = ["ape", "bee", "cow"], [16, 32, 64], [0, 2, 4]
TABLE = make_table(MODELS, BATCHES, WORKERS, lambda m, b, w: 1000 + 7 * abs(b - 40) + 90 * abs(w - MODELS.index(m)))
TEMPORARY = re.compile(r"^(.*/)?\.rue-[A-Za-z0-9]{6}\b|-wal$|-shm$|-journal$|^out/sample\.tensor")
STUDY = ["--images", "8", "--model", "none", "--batch-size", "1,2", "--num-workers", "0,1", "--budget", "1h", "--out", "out"]
ENDLESS = ["--model", "sleep:30s/batch"]


class Case:
    """A command line that takes long; `ready`: whether it is where the signal is to come."""

    def __init__(self, words, env=None, ready=None, unread=False, dies=False):
        self.words, self.env, self.ready, self.unread, self.dies = words, env or {}, ready, unread, dies


class World:
    """What cases are made from: the program in an empty folder, and inputs beside it."""

    def __init__(self, rue, release_rue, photos, preload, script, inputs):
        self.rue, self.release, self.photos, self.preload, self.script = rue, release_rue, photos, preload, script
        self.folder, self.inputs = rue.folder, inputs

    def slow_read(self, name):
        return self.preload(PRELOAD_SLOW_READ=name)

    def slow_walk(self):
        return self.preload(PRELOAD_SLOW_STAT=1)

    def appears(self, pattern):
        return lambda process: any(self.folder.glob(pattern))


# ---- inputs ----

def write_table(path, models, batches, workers, repeats):
    with open(path, "w", encoding="utf-8") as file:
        file.write("model,batch_size,num_workers,time_s\n")
        for m in range(models):
            for b in range(batches):
                for w in range(workers):
                    for r in range(repeats):
                        file.write(f"m{m},{16 + 8 * b},{w},{10 + abs(b - m / 2) + abs(w - 5) + r / 100}\n")


@pytest.fixture(scope="session")
def inputs(release, photos, tmp_path_factory):
    """Tables, studies, data and JSON files; not to be changed."""
    folder = tmp_path_factory.mktemp("inputs")
    rue = Rue(release, folder)
    write_table(folder / "small.csv", 3, 3, 3, 2)
    write_table(folder / "large.csv", 50, 25, 40 if LONG else 4, 4)
    (folder / "large.json").write_text("[" + "[1,2],\n" * (8_000_000 if LONG else 1_000_000) + "1]")
    (folder / "photo.jpg").write_bytes(b"")
    (folder / "list.csv").write_text("path\n" + f"{folder / 'photo.jpg'}\n" * 100_000)
    for level in range(28):
        (folder / f"farm/{level}").mkdir(parents=True)
        (folder / f"farm/{level}/1.jpg").symlink_to(folder / "photo.jpg")
        for name in "ab":
            (folder / f"farm/{level}/{name}").symlink_to(f"../{level + 1}")
    for words in (["tune", "--table", "small.csv", "--strategy", "grid", "--budget", "200%", "--out", "study", "--quiet"], ["prepare", photos, "photos.tensor", "--dtype", "uint8"],
                  ["tune", photos, *STUDY[:-1], "tuned", "--mode", "raw"]):
        done = rue(*words)
        assert done.returncode == 0, done.stderr
    return folder


def still_runner(world, answers):
    """A runner that gives so many answers, then none; and whether it has come to that."""
    hello = dict(protocol="rue.runner/1", runner="still 1", measures=["joint"], models=["ape"], images=10, machine={},
                 variants=[dict(path="", mode="raw", format="scripted")], space=dict(batch_size=[1, 2], num_workers=[0]))
    replies = [hello, dict(status="ok", images=10, bytes=1, digest="d", cache="warm")][:answers]
    code = "import time\n" + "".join(f"input()\nprint({json.dumps(reply)!r}, flush=True)\n" for reply in replies)
    (world.folder / "still.py").write_text(code + "input()\nopen('asked', 'w')\ntime.sleep(1000)\n")
    return ["--runner", shlex.join([sys.executable, "-S", "still.py"])], world.appears("asked")


# ---- cases ----

def still(world, answers, *words):
    runner, ready = still_runner(world, answers)
    return Case([*words, *runner], ready=ready)


def hang_in_trial(world):
    one = world.script(TABLE, faults=[dict(when=dict(measure="joint"), do="hang")])
    return Case(["tune", "--runner", one.command, "--out", "out"], ready=lambda process: one.joint())


def think(world):
    """No trial takes time, so it thinks where none is asked for during half a second."""
    models = [f"m{i}" for i in range(50 if LONG else 20)]
    table = make_table(models, range(8, 168, 8), range(20), lambda m, b, w: 1000 + 7 * abs(b - 60) + 9 * abs(w - 8))
    one = world.script(table, measures=["joint"], images=10000)
    seen = [0, time.monotonic()]

    def ready(process):
        size = one.log_path.stat().st_size if one.log_path.exists() else 0
        if size != seen[0] or len(one.joint()) < len(models):
            seen[:] = size, time.monotonic()
        return time.monotonic() - seen[1] > 0.5

    words = ["tune", "--runner", one.command, "--strategy", "duel", "--budget", "50000h", "--out", "out"]
    return Case(words, ready=ready)


def unread_report(world):
    one = world.script(TABLE)
    return Case(["tune", "--runner", one.command, "--out", "out", "--json"], unread=True, ready=world.appears("out/trials.csv"))


def own_study(world, *words, slow=None):
    return Case([*words, *STUDY], slow)


CASES = {
    "tune": {
        "prior": lambda w: Case(["tune", w.photos, "--prior", w.inputs / "large.json"]),
        "slow_prior": lambda w: Case(["tune", w.photos, "--prior", w.inputs / "large.json"], w.slow_read("large.json")),
        "table": lambda w: Case(["tune", "--table", w.inputs / "large.csv"], w.slow_read("large.csv")),
        "hello": lambda w: still(w, 0, "tune", "--out", "out"),
        "open": lambda w: still(w, 1, "tune", "--out", "out"),
        "first_trial": lambda w: still(w, 2, "tune", "--out", "out"),
        "trial": hang_in_trial,
        "walk": lambda w: own_study(w, "tune", w.photos, slow=w.slow_walk()),
        "sample": lambda w: own_study(w, "tune", w.photos, slow=w.slow_read(".jpg")),
        "own_trial": lambda w: Case(["tune", w.photos, *STUDY, *ENDLESS, "--mode", "raw"]),
        "think_duel": lambda w: think(w),
        "unread": unread_report,
    },
    "compare": {
        "walk": lambda w: own_study(w, "compare", w.photos, w.inputs / "photos.tensor", slow=w.slow_walk()),
        "own_trial": lambda w: Case(["compare", w.photos, w.inputs / "photos.tensor", *STUDY, *ENDLESS]),
    },
    "scale": {
        "walk": lambda w: own_study(w, "scale", w.photos, slow=w.slow_walk()),
        "own_trial": lambda w: Case(["scale", w.photos, *STUDY, *ENDLESS]),
    },
    "prepare": {
        "walk": lambda w: Case(["prepare", w.photos, "x"], w.slow_walk()),
        "read": lambda w: Case(["prepare", w.photos, "x"], w.slow_read(".jpg"), ready=w.appears(".rue-??????/data")),
        "copy": lambda w: Case(["prepare", w.photos, "x", "--format", "folder"], w.slow_read(".jpg"),
                               ready=w.appears(".rue-??????/data/*/*.jpg")),
        "synthetic": lambda w: Case(["prepare", "--synthetic", "100000", "x"], ready=w.appears(".rue-??????/data/*/*.jpg")),
    },
    "inspect": {
        "walk": lambda w: Case(["inspect", w.photos], w.slow_walk()),
        "links": lambda w: Case(["inspect", w.inputs / "farm/0"], w.slow_walk()),
        "list": lambda w: Case(["inspect", w.inputs / "list.csv"], w.slow_read("list.csv")),
    },
    "analyze": {
        "pipe": lambda w: Case(["analyze", "-"]),
        "unread": lambda w: Case(["analyze", w.inputs / "large.csv", "--json"], unread=True),
    },
    "check": {
        "json": lambda w: Case(["check", w.inputs / "large.json"]),
        "slow_json": lambda w: Case(["check", w.inputs / "large.json"], w.slow_read("large.json")),
        "hello": lambda w: still(w, 0, "check", w.inputs / "tuned"),
        "walk": lambda w: Case(["check", w.inputs / "tuned"], w.slow_walk()),
    },
    "headroom": {
        "walk": lambda w: Case(["headroom", w.photos], w.slow_walk()),
        "measure": lambda w: Case(["headroom", w.photos, "--model", "sleep:50ms/image"]),
    },
    "show": {
        "read": lambda w: Case(["show", w.inputs / "study"], w.slow_read("study.db")),
        "unread": lambda w: Case(["show", w.inputs / "study", "--json"], unread=True),
    },
    "report": {
        "read": lambda w: Case(["report", w.inputs / "study", "--out", "page"], w.slow_read("study.db")),
    },
    "why": {
        "read": lambda w: Case(["why", w.inputs / "study"], w.slow_read("study.db")),
    },
    "diff": {
        "read": lambda w: Case(["diff", w.inputs / "study", w.inputs / "study"], w.slow_read("study.db")),
    },
    "list": {
        "read": lambda w: Case(["list", w.inputs], w.slow_read("study.db")),
    },
    "models": {
        "device": lambda w: Case(["models", "--device", w.inputs / "large.json"], w.slow_read("large.json")),
        "unread": lambda w: Case(["models", "--json"], unread=True),
    },
    "augment": {
        "endless": lambda w: Case(["augment"], unread=True),
    },
    "calibrate": {
        "measure": lambda w: Case(["calibrate", "resnet50", "--device", "host:1", "--batch-size", "64,128", "--batches", "50",
                                   "--out", "h.json"]),
    },
    "runner": {
        "input": lambda w: Case(["runner"], dies=True),
    },
}


# ---- what happens to them ----

def marked(mark):
    """Processes that have the mark in their environment: those of the command, and what they started."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark.encode() in path.read_bytes():
                found.add(int(path.parent.name))
    return found


def start(program, folder, case, mark):
    """The process, and the end of a pipe that its output goes to where nobody is to read that."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    with open(folder / "stderr", "wb") as err:
        process = subprocess.Popen([program, *map(str, case.words)], cwd=folder, stdin=subprocess.PIPE, stderr=err,
                                   stdout=writer if case.unread else subprocess.DEVNULL,
                                   env=clean_environment(SIGNAL_TEST=mark, **case.env))
    os.close(writer)
    return process, reader


def wait_ready(case, process):
    """Half a second is enough for the program to start where nothing else tells how far it is."""
    if case.ready:
        wait_until(lambda: case.ready(process), process)
    time.sleep(0.5 if case.unread or not case.ready else 0.05)


def end(process, number, mark):
    """The processes that are left."""
    begun = time.monotonic()
    process.send_signal(number)
    process.wait(HANG_S)
    while marked(mark) and time.monotonic() < begun + HANG_S:
        time.sleep(0.01)
    return marked(mark)


@pytest.fixture
def world(rue, release_rue, photos, preload, script, inputs):
    return World(rue, release_rue, photos, preload, script, inputs)


def test_every_command_has_cases(rue):
    told = re.findall(r"^  ([a-z]+) +[A-Z]", rue("--help").stdout.split("Commands:")[1], re.M)
    assert sorted(CASES) == sorted(told)


@pytest.mark.parametrize("number, code", SIGNALS, ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("command, name", [(command, name) for command, cases in CASES.items() for name in cases])
def test_a_signal_ends_the_command(world, command, name, number, code):
    case, mark = CASES[command][name](world), f"mark-{uuid.uuid4()}"
    tester = world.release if "LD_PRELOAD" in case.env else world.rue
    process, reader = start(tester.program, world.folder, case, mark)
    try:
        wait_ready(case, process)
        assert process.poll() is None, "it ended before the signal"
        left = end(process, number, mark)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        os.close(reader)
    err = (world.folder / "stderr").read_text(errors="replace")
    last = err.replace("\r", "\n").splitlines()[-1] if err else ""
    assert process.returncode == (-number if case.dies else code), err
    assert "Sanitizer" not in err, err
    assert case.dies or re.match(rf"rue {command}: (interrupted|terminated)", last), err
    assert not left, "processes are left"
    kept = "are kept in ./.rue-" in err
    files = [str(path.relative_to(world.folder)) for path in world.folder.rglob("*")]
    assert not [path for path in files if TEMPORARY.search(path) and not (kept and path.startswith(".rue-"))], err
