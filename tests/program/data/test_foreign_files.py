"""Nothing that rue did not make is removed or changed: every command, ended normally, refused and killed, in folders full of
other people's files with names like rue's own. A trace of the system's calls shows that nothing else is opened for writing."""
import fnmatch
import os
import pathlib
import random
import re
import shutil
import stat
import subprocess
import time

import pytest

import wording
from conftest import HANG_S, PROGRAM, clean_environment, expect_failure, wait_until

LONG = os.environ.get("RUE_LONG_TESTS") == "1"
SEED = int(os.environ.get("RUE_SEED", "16"))

# Names that look like rue's own, also those of older versions; none is exactly that of a file that rue writes.
NAMES = ["sample.tensor", "sample.tensor-backup", "sample.tensor-1", "sample.tensor.part-abcdef", ".sample.tensor.12.part",
         ".recommendation.json.4711.part", ".thesis.2024.part", "x.part-abcdef", "new.tensor.part-abcdef", ".rue-abcdef",
         ".rue-XXXXXX", ".rue", ".rue-index-0123456789abcdef.part", ".rue-index-0123456789abcdef", "study.db.old", "study.db-backup",
         "study.db-wal.old", "recommendation.json.old", "recommendation.json~", "trials.csv.old", "trials.csv.part", "scale.csv.old",
         "samples.csv.old", "mark", "journal", "data", "data.notes", "index"]

SHORT = ["--model", "none", "--batch-size", "4", "--num-workers", "0,1", "--images", "8", "--budget", "20s", "--quiet"]
STUDY = ["study.db", "study.db-*", "recommendation.json", "report.html", "trials.csv"]

# What each command is run with, and which files it may make.
CASES = {
    "tune": (["tune", "photos", "--out", "out", *SHORT], ["out/" + name for name in STUDY]),
    "compare": (["compare", "photos", "photos.tensor", "--out", "out", *SHORT], ["out/" + name for name in STUDY]),
    "scale": (["scale", "photos", "--out", "out", "--batch-size", "4,8", "--num-workers", "0,1", "--images", "8", "--quiet"],
              ["out/" + name for name in [*STUDY, "scale.csv", "samples.csv"]]),
    "prepare": (["prepare", "photos", "new.tensor", "--quiet"], ["new.tensor"]),
    "synthetic": (["prepare", "--synthetic", "20", "new", "--quiet"], ["new", "new/*"]),
    "inspect": (["inspect", "shards/train-000000.tar"], ["shards/.rue-index-*"]),
    "analyze": (["analyze", "times.csv", "--quiet"], []),
    "check": (["check", "study", "--budget", "2s", "--quiet"], []),
    "headroom": (["headroom", "photos", "--budget", "1s", "--quiet"], []),
    "table_study": (["analyze", "times.csv", "--study", "out", "--quiet"], ["out/" + name for name in STUDY]),
    "show": (["show", "study"], []),
    "report": (["report", "study", "--out", "page"], ["page", "page/*"]),
    "why": (["why", "study", "--num-workers", "0"], []),
    "diff": (["diff", "study", "study", "--html", "diff.html"], ["diff.html"]),
    "list": (["list", "."], []),
    "models": (["models"], []),
    "augment": (["augment", "--count", "3", "--output", "sets.csv", "--format", "csv"], ["sets.csv"]),
    "calibrate": (["calibrate", "resnet18", "--device", "h100", "--batch-size", "1", "--batches", "1", "--out", "device.json"],
                  ["device.json"]),
    "runner": (["runner"], []),
}
# The file in whose place something else lies, and the exit code with which the command says so.
IN_THE_WAY = {"tune": ("out/trials.csv", 6), "compare": ("out/recommendation.json", 6), "scale": ("out/scale.csv", 6),
              "prepare": ("new.tensor", 2), "synthetic": ("new", 2), "augment": ("sets.csv", 6), "diff": ("diff.html", 6),
              "calibrate": ("device.json", 6)}
DRY = ["tune", "compare", "scale"]


def plant(folder, precious):
    """A file, a folder, a link or a hard link of each of the names; what links lead to lies elsewhere."""
    for i, name in enumerate(NAMES):
        path = folder / name
        if i % 4 == 0 or i % 4 == 1 and name.startswith(".rue-index"):
            path.write_text(f"precious {name}")
        elif i % 4 == 1:
            path.mkdir()
            (path / "mark").write_text("precious")
            (path / "data").write_text("precious")
        elif i % 4 == 2:
            path.symlink_to(precious / "folder" if i % 8 == 2 else precious / "file")
        else:
            os.link(precious / "file", path)


@pytest.fixture(scope="session")
def planted(photos, tmp_path_factory):
    """Everything that the commands read, among other people's files."""
    folder = tmp_path_factory.mktemp("foreign") / "here"
    precious = folder / "precious"
    (precious / "folder").mkdir(parents=True)
    (precious / "file").write_text("precious")
    (precious / "folder/file").write_text("precious")
    shutil.copytree(photos, folder / "photos")
    run = lambda *words: subprocess.run([PROGRAM, *words], cwd=folder, check=True, timeout=HANG_S, env=clean_environment(),
                                        capture_output=True)
    run("prepare", "photos", "photos.tensor", "--quiet")
    run("prepare", "photos", "shards", "--format", "webdataset", "--quiet")
    run("tune", "photos", "--mode", "raw", "--out", "study", *SHORT)
    (folder / "times.csv").write_text("mode,model,batch_size,num_workers,time_s\nraw,a,4,0,2\nraw,a,4,1,1\n")
    (folder / "out").mkdir()
    for where in (folder, folder / "out", folder / "study", folder / "shards", folder / "photos"):
        plant(where, precious)
    return folder


@pytest.fixture
def here(planted, tmp_path):
    """A copy of it: with its times, links and hard links as they are."""
    subprocess.run(["cp", "-a", planted, tmp_path], check=True)
    copy = tmp_path / "here"
    for path in copy.rglob("*"):
        if path.is_symlink():
            target = copy / path.readlink().relative_to(planted)
            path.unlink()
            path.symlink_to(target)
    time.sleep(0.02)  # what is changed from now on has another time
    return copy


def look(root):
    """{path: what it is, and what is in it}; of folders not the time, which changes when something is made in them."""
    found = {}
    for path in sorted(root.rglob("*")):
        about = path.lstat()
        kind = stat.S_IFMT(about.st_mode)
        facts = (about.st_mode, about.st_uid, about.st_ino, about.st_nlink if kind != stat.S_IFDIR else 0)
        if kind == stat.S_IFREG:
            facts += (about.st_size, about.st_mtime_ns, path.read_bytes())
            if path.name != "study.db-wal":  # which SQLite, run by root, gives to its owner again when it is read
                facts += (about.st_ctime_ns,)
        if kind == stat.S_IFLNK:
            facts += (os.readlink(path), about.st_mtime_ns)
        found[str(path.relative_to(root))] = facts
    return found


def expect_untouched(before, root, allowed=()):
    after = look(root)
    changed = [path for path in before if after.get(path) != before[path]]
    assert not changed, changed
    made = [path for path in after if path not in before and not any(fnmatch.fnmatch(path, name) for name in allowed)]
    assert not made, made


def run(program, here, *words, **more):
    return subprocess.run([program, *words], cwd=here, text=True, errors="replace", env=clean_environment(), capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=HANG_S, **more)


def test_every_command_has_a_case(rue):
    commands = re.findall(r"^  ([a-z]+) ", rue("--help").stdout, re.MULTILINE)
    assert len(commands) > 10 and set(commands) == {words[0] for words, _ in CASES.values()}


@pytest.mark.parametrize("name", CASES)
def test_a_command_keeps_files_of_others(program, here, name):
    words, makes = CASES[name]
    before = look(here)
    for _ in range(2):  # the second time there are files of its own
        done = run(program, here, *words)
        assert done.returncode in ((0, 2) if name in ("prepare", "synthetic") else (0, 5)), done.stderr
        expect_untouched(before, here, makes)


@pytest.mark.parametrize("name", IN_THE_WAY)
def test_foreign_files_with_the_names_of_rue_s_files_are_refused(program, here, name):
    """Before anything is measured, and whatever it is."""
    words, _ = CASES[name]
    path, code = IN_THE_WAY[name]
    for make in (lambda p: p.write_text("precious"), lambda p: p.write_text(""), lambda p: p.symlink_to(here / "precious/file"),
                 lambda p: os.link(here / "precious/file", p), lambda p: p.mkdir(), lambda p: p.symlink_to("nowhere")):
        make(here / path)
        before = look(here)
        line = expect_failure(run(program, here, *words), code, path)
        assert "exists" in line or wording.HAS_THIS_NAME in line, line
        expect_untouched(before, here)
        (here / path).rmdir() if (here / path).is_dir() and not (here / path).is_symlink() else (here / path).unlink()
    subprocess.run(["touch", here / "precious/file"], check=True)


@pytest.mark.parametrize("name", DRY)
def test_a_dry_run_changes_no_file(program, here, name):
    words, _ = CASES[name]
    for state in ("new", "finished", "killed"):
        if state == "finished":
            assert run(program, here, *words).returncode == 0
        if state == "killed":
            process = subprocess.Popen([program, *words, "--seed", "2"], cwd=here, env=clean_environment(),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            log = here / "out/study.db-wal"
            wait_until(lambda: log.exists() and log.stat().st_size > 0, process)
            process.kill()
            process.wait()
        before = look(here)
        times = {path: path.stat().st_mtime_ns for path in here.rglob("*") if path.is_dir()}
        done = run(program, here, *words, "--dry-run")
        assert done.returncode == 0, done.stderr
        expect_untouched(before, here)
        assert times == {path: path.stat().st_mtime_ns for path in times}


@pytest.mark.parametrize("name", IN_THE_WAY)
def test_a_killed_command_keeps_files_of_others(release, here, name):
    """And what it leaves itself is removed by the next one."""
    draw = random.Random(f"{SEED} {name}")
    words, makes = CASES[name]
    before = look(here)
    started = time.monotonic()
    assert run(release, here, *words).returncode == 0
    took = time.monotonic() - started
    for _ in range(20 if LONG else 4):
        for path in [path for path in makes if path in ("new.tensor", "new", "device.json", "out/study.db")]:
            subprocess.run(f"rm -rf '{here / path}' '{here / path}'-???", shell=True, check=True)
        process = subprocess.Popen([release, *words], cwd=here, env=clean_environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, took))
        process.kill()
        process.wait()
        expect_untouched(before, here, [*makes, "*.rue-??????", "*.rue-??????/*"])
    assert run(release, here, *words).returncode in (0, 2)
    left = [path for path in here.rglob(".rue-??????") if str(path.relative_to(here)) not in before]
    assert all((path / "mark").stat().st_size == 0 if (path / "mark").exists() else not list(path.iterdir()) for path in left), left
    expect_untouched(before, here, [*makes, *[str(path.relative_to(here)) + "*" for path in left]])


@pytest.mark.parametrize("name, first", [("study.db-journal", True), ("study.db-journal", False), ("study.db-wal", True)])
def test_files_that_sqlite_would_replace_are_refused(program, here, name, first):
    words, makes = CASES["tune"]
    if not first:
        assert run(program, here, *words).returncode == 0
    (here / "out" / name).write_text("precious")
    before = look(here)
    expect_failure(run(program, here, *words), 6, name)
    expect_untouched(before, here)


def test_a_store_with_another_name_is_not_written(program, here):
    words, makes = CASES["tune"]
    assert run(program, here, *words).returncode == 0
    os.link(here / "out/study.db", here / "kept.db")
    before = look(here)
    expect_failure(run(program, here, *words, "--seed", "2"), 6, "study.db has other hard links")
    expect_untouched(before, here)


def test_a_table_is_not_replaced_by_its_report(program, here):
    (here / "own").mkdir()
    shutil.copy(here / "study/trials.csv", here / "own/trials.csv")
    before = look(here)
    expect_failure(run(program, here, "tune", "--table", "own/trials.csv", "--out", "own"), 6, "own/trials.csv is the input table")
    expect_untouched(before, here)


# ---- system calls ----

CALLS = "open,openat,openat2,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat," \
        "truncate,ftruncate,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,utimensat,mknod,mknodat,setxattr,fsetxattr"
WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")


def written_paths(log, here):
    """Every path that a call of the trace would change, below `here` or not."""
    for line in log.read_text(errors="replace").splitlines():
        found = re.match(r"\d+ +([a-z]\w*)\((.*?)(?:\) += |<unfinished)", line)
        unknown = not found or found[1].startswith("syscall_")  # one that this strace has no name for
        if unknown or found[1].startswith("open") and not WRITES.search(found[2]):
            continue
        call, words = found.groups()
        base = re.match(r"(?:AT_FDCWD|\d+)<([^>]*)>", words)
        named = re.findall(r'"((?:[^"\\]|\\.)*)"', words)
        for path in named[1:] if call.startswith("symlink") else named or [base[1]]:
            yield call, os.path.normpath(os.path.join(base[1] if base else here, path))


@pytest.mark.parametrize("name, dry", [*((name, False) for name in CASES), *((name, True) for name in DRY)])
def test_no_other_file_is_opened_for_writing(release, here, tmp_path, name, dry):
    words, makes = CASES[name]
    if not shutil.which("strace"):
        pytest.skip("skipped: no strace")
    log = tmp_path / "calls"
    done = run("strace", here, "-f", "-y", "-qq", "-e", "trace=" + CALLS, "-e", "signal=none", "-o", log, release, *words,
               *["--dry-run"] * dry)
    if "PTRACE" in done.stderr or "ptrace" in done.stderr:
        pytest.skip("skipped: calls cannot be traced here")
    assert done.returncode in (0, 5), done.stderr
    before = look(here)
    foreign = {str(path) for path in here.rglob("*")} & set(before)
    others = []
    calls = list(written_paths(log, here))
    for call, path in calls:
        own = os.path.relpath(path, here)
        if path.startswith(("/proc/", "/dev/null", "/dev/tty", "/sys/")) or own == "out" and call.startswith("mkdir"):
            continue
        mine = re.search(r"(^|/)\.rue-[A-Za-z0-9]{6}(/|$)", own) and own.split("/.rue-")[0] not in foreign
        if dry or not (mine or any(fnmatch.fnmatch(own, made) for made in makes)):
            others.append((call, own))
    assert not others, others
    assert dry or not makes or calls, "the trace is empty"
