"""The n-th system call or allocation fails: never a crash, never a hang, nothing half written, nothing lost.

RUE_LONG_TESTS=1 tries every n; without it, calls that are many are sampled by a seed that a failure names (RUE_SEED)."""
import collections
import concurrent.futures
import contextlib
import csv
import errno
import json
import os
import pathlib
import random
import shutil
import sqlite3
import struct
import subprocess
import tempfile

import jsonschema
import pytest

from conftest import HANG_S, ROOT, clean_environment, read_json

FAULTS = ROOT / "tests/faults"
LONG = bool(os.environ.get("RUE_LONG_TESTS"))
SEED = int(os.environ.get("RUE_SEED", random.randrange(1 << 30)))
SHORT = 0  # fewer bytes than were asked for
ALONE, AND_LATER = "", "+"
# Number of faults per call in the short form: for calls that decide what is on the disk, and for the others.
SAMPLE_DISK, SAMPLE = 16, 8

# What fails how. Calls in the first table decide what is on the disk.
DISK = {"write": [errno.ENOSPC, errno.EIO, errno.EINTR, SHORT], "sync": [errno.EIO], "rename": [errno.EIO, errno.ENOSPC],
        "open": [errno.EMFILE, errno.EACCES], "resize": [errno.ENOSPC], "mkdir": [errno.ENOSPC], "unlink": [errno.EIO]}
MANY = {"read": [errno.EIO, errno.EINTR, SHORT], "stat": [errno.EIO], "folder": [errno.EIO], "seek": [errno.EIO],
        "lock": [errno.EAGAIN, errno.ENOLCK], "thread": [errno.EAGAIN], "fork": [errno.EAGAIN], "exec": [errno.EAGAIN],
        "pipe": [errno.EMFILE], "poll": [errno.EINTR, errno.ENOMEM], "map": [errno.ENOMEM], "random": [errno.EINTR],
        "memory": [errno.ENOMEM]}
CALLS = {**DISK, **MANY}
LATER = {"write": [errno.ENOSPC, errno.EIO], "open": [errno.EMFILE], "memory": [errno.ENOMEM], "thread": [errno.EAGAIN]}

Fault = collections.namedtuple("Fault", "role call n how later", defaults=[ALONE])
Outcome = collections.namedtuple("Outcome", "code out err seen failed argument")


class Injector:
    """Runs the program with a fault in it; `injector(fault, folder, "tune", ...)`."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.tracer, self.memory = folder / "fail_call", folder / "fail_memory.so"
        flags = ["cc", "-O1", "-D_GNU_SOURCE"]
        subprocess.run([*flags, "-o", self.tracer, FAULTS / "fail_call.c"], check=True, capture_output=True)
        subprocess.run([*flags, "-shared", "-fPIC", "-o", self.memory, FAULTS / "fail_memory.c"], check=True,
                       capture_output=True)

    def can_trace(self):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            return self(Fault("--version", "write", 0, 0), pathlib.Path(folder), "--version").seen == 1

    def __call__(self, fault, folder, *words):
        with tempfile.NamedTemporaryFile(dir=self.folder) as report:
            environment, command = clean_environment(), [str(self.program), *map(str, words)]
            if fault.call == "memory":
                report.write(bytes(16))
                report.flush()
                environment.update(LD_PRELOAD=str(self.memory),
                                   FAIL_MEMORY=f"{fault.n}{fault.later} {fault.role} {report.name}")
            else:
                command = [str(self.tracer), fault.call, f"{fault.n}{fault.later}", str(fault.how), fault.role, report.name,
                           *command]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, timeout=HANG_S)
            with open(report.name, "rb") as file:
                text = file.read()
        counts = (*struct.unpack("QQ", text), 0) if fault.call == "memory" else tuple(map(int, text.split())) or (0, 0, 0)
        code = 128 - done.returncode if done.returncode < 0 else done.returncode
        return Outcome(code, done.stdout, done.stderr, *counts)

    def plain(self, folder, *words):
        return subprocess.run([str(self.program), *map(str, words)], cwd=folder, env=clean_environment(), capture_output=True,
                              text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=HANG_S)


@pytest.fixture(scope="module")
def injector(release, tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("skipped: no C compiler to build the fault injector with")
    try:
        one = Injector(release, tmp_path_factory.mktemp("injector"))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"skipped: the fault injector does not build here: {error.stderr.decode()[:200]}")
    if not one.can_trace():
        pytest.skip("skipped: this system does not let one process trace another")
    return one


@pytest.fixture(scope="module")
def tiny_photos(release, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny") / "photos"
    subprocess.run([release, "prepare", "--synthetic", "4", folder, "--quiet"], check=True, timeout=HANG_S)
    return folder


VALIDATOR = jsonschema.Draft202012Validator(json.loads((ROOT / "reports/recommendation.schema.json").read_text()))


def tune_words(photos, workers):
    return ("tune", photos, "--model", "none", "--mode", "raw", "--batch-size", "2", "--num-workers", workers, "--out", "out")


def store_rows(out):
    with contextlib.closing(sqlite3.connect(out / "study.db", timeout=30)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the store is damaged"
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'trial'").fetchall():
            return {}  # it failed before there was anything to store
        return {row[0]: row for row in db.execute("SELECT * FROM trial")}


def check_reports(out):
    """What lies under its final name is whole; the ids of the rows that the reports speak of."""
    document = read_json(out / "recommendation.json")
    assert VALIDATOR.is_valid(document), "the recommendation is not what its schema says"
    with open(out / "trials.csv", newline="") as file:
        text = file.read()
    rows = list(csv.DictReader(text.splitlines()))
    assert text.endswith("\n") and rows and not any(None in row or None in row.values() for row in rows), "cut lines"
    return {int(row["id"]) for row in rows}


def check_line(command, fault, outcome):
    """One line says what failed, unless it was the writing of that line that failed."""
    lines = [line for line in outcome.err.splitlines() if line.startswith(f"rue {command}: ")]
    if fault.call == "write" and (fault.later or outcome.argument == 2) and not lines:
        return
    assert len(lines) == 1 and outcome.err.splitlines()[-1] == lines[0] and len(lines[0]) > 30, "not one line of error"


class TuneCase:
    """A study that holds a configuration already, or nothing, and is to measure one more."""

    def __init__(self, injector, photos, folder, kept):
        self.injector, self.photos, self.template = injector, photos, folder / "template"
        self.template.mkdir()
        if kept:
            assert injector.plain(self.template, *tune_words(photos, "0")).returncode == 0
        self.before = store_rows(self.template / "out") if kept else {}

    def run(self, fault):
        with tempfile.TemporaryDirectory(dir=self.template.parent) as name:
            folder, out = pathlib.Path(name) / "run", pathlib.Path(name) / "run/out"
            shutil.copytree(self.template, folder)
            outcome = self.injector(fault, folder, *tune_words(self.photos, "0,1"))
            try:
                self.check(fault, outcome, out)
                again = self.injector.plain(folder, *tune_words(self.photos, "0,1"))
                assert again.returncode == 0, f"the next run: {again.stderr}"
                assert check_reports(out) <= store_rows(out).keys()
            except (AssertionError, OSError, ValueError, sqlite3.Error) as error:
                return outcome, f"{fault}: exit {outcome.code}: {error!r}\n{outcome.err}"
        return outcome, None

    def check(self, fault, outcome, out):
        assert outcome.code in (0, 1, 3, 4, 6), "the exit code"
        assert outcome.code != 3 or fault.call != "memory", "the data are not at fault"
        if outcome.code:
            check_line("tune", fault, outcome)
        names = set(os.listdir(out)) if out.exists() else set()
        reports = {"recommendation.json", "report.html", "trials.csv"}
        assert names <= reports | {"study.db", "study.db-wal", "study.db-shm"}, f"left behind: {names}"
        shown = check_reports(out) if reports <= names else set()
        rows = store_rows(out) if "study.db" in names else {}
        assert self.before.items() <= rows.items(), "rows were lost or changed"
        assert shown <= rows.keys(), "a report speaks of rows that are not stored"
        if outcome.code == 0:
            assert shown and len(rows) > len(self.before), "not everything that was said to be written is there"


class FileCase:
    """A command that writes one file or folder, or none."""

    def __init__(self, injector, folder, words, made, check):
        self.injector, self.folder, self.words, self.made, self.check_made = injector, folder, words, made, check

    def run(self, fault):
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = pathlib.Path(name)
            outcome = self.injector(fault, folder, *self.words)
            try:
                assert outcome.code in (0, 1, 3, 4, 6), "the exit code"
                if outcome.code:
                    check_line(self.words[0], fault, outcome)
                names = os.listdir(folder)
                if fault.call == "open" and any(name.startswith(".rue-") for name in names):  # no folder could be looked into
                    self.injector.plain(folder, *self.words)
                    names = os.listdir(folder)
                if fault.call != "unlink":
                    assert set(names) <= {self.made}, f"left behind: {names}"
                if outcome.code == 0 or self.made in names:
                    self.check_made(folder, outcome)
            except (AssertionError, OSError, ValueError) as error:
                return outcome, f"{fault}: exit {outcome.code}: {error!r}\n{outcome.err}"
        return outcome, None


def count_calls(case, role):
    return {call: case.run(Fault(role, call, 0, 0))[0].seen for call in CALLS}


def choose(seen, call, role, dice):
    """Faults of the calls that were seen."""
    hows = [(how, ALONE) for how in CALLS[call]] + [(how, AND_LATER) for how in LATER.get(call, [])]
    faults = [Fault(role, call, n, how, later) for how, later in hows for n in range(1, seen + 1)]
    sample = SAMPLE_DISK if call in DISK and role != "runner" else SAMPLE
    return faults if LONG or len(faults) <= sample else dice.sample(faults, sample)


def explore(case, role):
    dice = random.Random(SEED)
    faults = [fault for call, seen in count_calls(case, role).items() for fault in choose(seen, call, role, dice)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # each waits most of its time
        results = list(pool.map(case.run, faults))
    table = collections.Counter((fault.call + fault.later, outcome.code) for fault, (outcome, _) in zip(faults, results))
    print(f"\n{role}: {len(faults)} faults, seed {SEED}; (call, exit code): count")
    print("  " + ", ".join(f"{call} {code}: {count}" for (call, code), count in sorted(table.items())))
    assert sum(outcome.failed > 0 for outcome, _ in results) > len(faults) / 2, "hardly any call was made to fail"
    complaints = [complaint for _, complaint in results if complaint]
    assert not complaints, f"seed {SEED}: {len(complaints)} of {len(faults)}:\n" + "\n".join(complaints[:40])


def test_any_failing_call_of_a_continued_study_loses_no_trial(injector, tiny_photos, tmp_path):
    explore(TuneCase(injector, tiny_photos, tmp_path, kept=True), "tune")


def test_any_failing_call_of_a_new_study_leaves_no_incomplete_file(injector, tiny_photos, tmp_path):
    explore(TuneCase(injector, tiny_photos, tmp_path, kept=False), "tune")


def test_any_failing_call_of_the_runner_is_a_row_or_a_restart(injector, tiny_photos, tmp_path):
    explore(TuneCase(injector, tiny_photos, tmp_path, kept=True), "runner")


def test_any_failing_call_of_prepare_leaves_a_complete_file_or_none(injector, tiny_photos, tmp_path):
    def check(folder, outcome):
        looked = injector.plain(folder, "inspect", "photos.tensor", "--json")
        assert looked.returncode == 0, looked.stderr
        assert json.loads(looked.stdout)["items"] == 4
    words = ("prepare", tiny_photos, "photos.tensor", "--num-workers", "1", "--dtype", "uint8")
    explore(FileCase(injector, tmp_path, words, "photos.tensor", check), "prepare")


def test_any_failing_call_of_synthetic_photos_leaves_all_photos_or_none(injector, tmp_path):
    def check(folder, outcome):
        assert len(list(folder.rglob("*.jpg"))) == 2
        assert injector.plain(folder, "inspect", "photos").returncode == 0
    explore(FileCase(injector, tmp_path, ("prepare", "--synthetic", "2", "photos"), "photos", check), "prepare")


def test_any_failing_call_of_inspect_is_reported(injector, tiny_photos, tmp_path):
    told = lambda text: [line for line in text.splitlines() if not line.startswith("cache ")]  # left out where nobody can tell
    whole = told(injector.plain(tmp_path, "inspect", tiny_photos).stdout)

    def check(folder, outcome):
        assert told(outcome.out) == whole or outcome.argument == 1, outcome.out
    explore(FileCase(injector, tmp_path, ("inspect", tiny_photos), "nothing", check), "inspect")
