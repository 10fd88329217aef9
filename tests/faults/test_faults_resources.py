"""Faults of resources, through the whole program: disks, descriptors, threads, memory, standard streams. Nothing may hang,
crash or leave half a file; what can still be measured is."""
import csv
import itertools
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import wording
from conftest import HANG_S, Rue, clean_environment, expect_failure, finish, make_table, read_json, wait_until

QUICK = ["--batch-size", "4", "--num-workers", "0,1", "--model", "none", "--images", "8", "--budget", "5m",
         "--quiet"]
RAW = [*QUICK, "--mode", "raw"]
TABLE = make_table(["ape", "bee"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + 100 * w * (m == "bee"))
KEPT = {"recommendation.json", "report.html", "study.db", "trials.csv"}  # all that a study leaves behind


def csv_rows(folder):
    with open(folder / "trials.csv", newline="") as file:
        return list(csv.DictReader(file))


def recommended(folder, mode="raw"):
    (found,) = [r for r in read_json(folder / "recommendation.json")["recommendations"] if r["variant"]["mode"] == mode]
    return found["config"]


def reused(folder):
    return read_json(folder / "recommendation.json")["provenance"]["reused_trials"]


def limited(kind, value):
    """For preexec_fn: what the program and its children may have at most."""
    return lambda: resource.setrlimit(kind, (value, value))


def expect_clear_end(done, *codes):
    """It worked, or one line says what did not: the dynamic loader's where the program did not even start."""
    assert done.returncode in (0, 127, *codes), (done.returncode, done.stderr)
    if done.returncode == 127:
        assert wording.ERROR_WHILE_LOADING_SHARED in done.stderr
    elif done.returncode:
        expect_failure(done, done.returncode)


@pytest.fixture
def fast(release, tmp_path):
    """The release build, in a folder of its own."""
    return Rue(release, tmp_path)


# ---- disks ----

@pytest.fixture
def disk(tmp_path):
    """Mounts a file system in memory with these options at a folder, `disk(size="64k")`; only root may."""
    folder = tmp_path / "disk"

    def mount(**options):
        folder.mkdir(exist_ok=True)
        words = ",".join(f"{key}={value}" for key, value in options.items())
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", words, "none", folder], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"skipped: no file system can be mounted here: {done.stderr.strip()}")
        return folder

    if os.geteuid() != 0:
        pytest.skip("skipped: mounting takes root")
    yield mount
    while subprocess.run(["umount", "-l", folder], capture_output=True).returncode == 0:
        pass


def test_a_disk_that_is_full_while_storing(rue, photos, disk):
    """What was stored is kept: with space the study goes on where it was."""
    folder = disk(size="128k")
    words = ["tune", photos, *RAW, "--out", folder / "out", "--num-workers", "0..9"]
    expect_failure(rue(*words), 6, folder / "out/study.db", "full", "free some space", "all stored trials are kept")
    assert not [path for path in (folder / "out").iterdir() if "part" in path.name]
    subprocess.run(["mount", "-o", "remount,size=8m", folder], check=True)
    done = rue(*words)
    assert done.returncode == 0, done.stderr
    assert reused(folder / "out") >= 1 and recommended(folder / "out")
    assert {path.name for path in (folder / "out").iterdir()} == KEPT


@pytest.mark.parametrize("size", ["4k", "16k", "32k", "48k", "64k", "96k", "112k"])
def test_a_disk_too_small_for_a_study(fast, photos, disk, size):
    folder = disk(size=size)
    done = fast("tune", photos, *QUICK, "--out", folder / "out")
    assert done.returncode in (0, 6), done.stderr
    if done.returncode:
        expect_failure(done, 6, folder / "out", "free some space")
    assert not [path for path in folder.rglob(".rue-*")] and not (folder / "out/sample.tensor").exists()
    subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)
    assert fast("tune", photos, *QUICK, "--out", folder / "out").returncode == 0


@pytest.mark.parametrize("inodes", range(2, 8))
def test_a_disk_without_room_for_names(fast, photos, disk, inodes):
    folder = disk(size="64m", nr_inodes=inodes)
    done = fast("tune", photos, *QUICK, "--out", folder / "out")
    assert done.returncode in (0, 6), done.stderr
    if done.returncode:
        expect_failure(done, 6, folder / "out")
    assert not [path for path in folder.rglob(".rue-*")]


def test_a_disk_that_is_full_while_preparing(rue, photos, disk):
    folder = disk(size="64k")
    done = rue("prepare", photos, folder / "x.tensor", "--quiet")
    expect_failure(done, 6, folder / "x.tensor", "needs", "KB left")
    done = rue("prepare", "--synthetic", "48", folder / "x", "--quiet")
    expect_failure(done, 6, folder / "x", "No space left", "free some space")
    assert list(folder.iterdir()) == []


def test_a_disk_that_fills_up_while_preparing(rue, photos, disk):
    """There is room for the records, but not for what lies around them. What was there stays; with space it goes."""
    folder, words = disk(size=f"{4 * 148 + 8}k"), ["--images", "4", "--dtype", "uint8", "--force", "--quiet"]
    (folder / "x.tensor").write_text("precious")
    done = rue("prepare", photos, folder / "x.tensor", *words)
    expect_failure(done, 6, folder / "x.tensor", "No space left on device", "free some space")
    assert (folder / "x.tensor").read_text() == "precious" and len(list(folder.iterdir())) == 1
    subprocess.run(["mount", "-o", "remount,size=1m", folder], check=True)
    assert rue("prepare", photos, folder / "x.tensor", *words).returncode == 0
    assert (folder / "x.tensor").stat().st_size > 4 * 151552


SINKS = ["folder", "lmdb", "tfrecord", "webdataset"]


@pytest.mark.parametrize("format", SINKS)
def test_a_disk_that_fills_up_names_itself_in_every_format(fast, photos, disk, format):
    """There is room for the images, but not for what lies around them."""
    few = fast.folder / "few"
    for file in sorted(photos.rglob("*.jpg"))[:5]:
        (few / file.parent.name).mkdir(parents=True, exist_ok=True)
        (few / file.parent.name / file.name).symlink_to(file)
    pages = -(-sum(file.stat().st_size for file in few.rglob("*.jpg")) // 4096)
    folder, words = disk(size=f"{4 * pages + 4}k"), ["--format", format, "--quiet"]
    expect_failure(fast("prepare", few, folder / "x", *words), 6, folder / "x", "No space left on device", "free some space")
    assert list(folder.iterdir()) == []
    subprocess.run(["mount", "-o", "remount,size=8m", folder], check=True)
    assert fast("prepare", few, folder / "x", *words).returncode == 0


@pytest.mark.parametrize("format", SINKS)
def test_a_file_size_limit_is_named_in_every_format(fast, photos, format):
    done = fast("prepare", photos, "x", "--format", format, "--quiet", preexec_fn=limited(resource.RLIMIT_FSIZE, 20000))
    assert ".rue-" not in expect_failure(done, 6, "cannot write x", "File too large", "ulimit -f")
    assert list(fast.folder.iterdir()) == []


def test_a_read_only_disk(rue, photos, disk):
    folder = disk(size="64m")
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    for words in (["tune", photos, *RAW, "--out", folder / "out"], ["prepare", photos, folder / "x.tensor"],
                  ["prepare", "--synthetic", "3", folder / "x"]):
        expect_failure(rue(*words), 6, folder, "Read-only file system", "another folder")


# Where the limit on a file's size ends a run: bytes; the code that must come.
FILE_SIZES = {0: 6, 512: 6, 4096: 6, 16384: 6, 40000: None, 70000: None, 1 << 30: 0}


@pytest.mark.parametrize("bytes_max", FILE_SIZES)
def test_a_file_size_limit_ends_a_study_in_order(rue, photos, bytes_max):
    """Not by SIGXFSZ. Without the limit the study goes on."""
    done = rue("tune", photos, *RAW, "--out", "out", preexec_fn=limited(resource.RLIMIT_FSIZE, bytes_max))
    assert done.returncode in ((0, 6) if FILE_SIZES[bytes_max] is None else (FILE_SIZES[bytes_max],)), done.stderr
    if done.returncode:
        expect_failure(done, 6, "out/")
    done = rue("tune", photos, *RAW, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (rue.folder / "out").iterdir()} == KEPT


@pytest.mark.parametrize("bytes_max", [0, 4096, 100000, 500000])
def test_a_file_size_limit_leaves_no_incomplete_file(rue, photos, bytes_max):
    limit = limited(resource.RLIMIT_FSIZE, bytes_max)
    done = rue("prepare", photos, "x.tensor", "--quiet", preexec_fn=limit)
    expect_failure(done, 6, "x.tensor", "File too large", "ulimit -f")
    if bytes_max < 50000:  # less than a photo has
        done = rue("prepare", "--synthetic", "30", "x", "--quiet", preexec_fn=limit)
        expect_failure(done, 6, "cannot ", " x", "File too large", "ulimit -f")
    assert list(rue.folder.iterdir()) == []


def test_a_file_size_limit_ends_the_comparison_in_order(rue, photos):
    done = rue("tune", photos, *QUICK, "--out", "out", preexec_fn=limited(resource.RLIMIT_FSIZE, 1 << 20))
    expect_failure(done, 6, "/sample.tensor", "File too large", "ulimit -f")
    assert not (rue.folder / "out").exists(), "nothing new is left behind"


@pytest.mark.parametrize("where", ["file", "file/below", "/dev/null", "/dev/full", "/dev/null/below"])
def test_an_output_path_that_is_not_a_folder_is_refused(rue, photos, where):
    (rue.folder / "file").write_text("precious")
    expect_failure(rue("tune", photos, *RAW, "--out", where), 6, where.split("/b")[0], "Not a directory")
    assert (rue.folder / "file").read_text() == "precious" and len(list(rue.folder.iterdir())) == 1


def test_an_output_folder_that_is_removed_during_the_study(rue, script):
    one = script(TABLE, delay_s=0.05)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out")
    one.wait_for(2, process)
    shutil.rmtree(rue.folder / "out")
    code, out, err = finish(process)
    assert code == 6 and "Sanitizer" not in err and len(err.splitlines()) == 1, err
    assert "out/" in err and not (rue.folder / "out").exists()


# ---- descriptors ----

@pytest.mark.parametrize("command", ["tune", "prepare", "synthetic", "inspect"])
def test_any_limit_of_descriptors_ends_in_order(fast, photos, command):
    """From none at all on: it works or says so in one line, and once it works it works with more."""
    words = {"tune": ["tune", photos, *QUICK, "--out", "out", "--fresh"],
             "prepare": ["prepare", photos, "x", "--force", "--quiet"],
             "synthetic": ["prepare", "--synthetic", "8", "y", "--quiet"], "inspect": ["inspect", photos]}[command]
    codes = []
    for most in [*range(3, 21), 32, 64]:
        done = fast(*words, preexec_fn=limited(resource.RLIMIT_NOFILE, most))
        expect_clear_end(done, 1, 3, 4, 6)
        if done.returncode not in (0, 127):
            assert wording.TOO_MANY_OPEN_FILES in done.stderr or wording.TOO_MANY_OPEN_FILES in done.stdout, (most, done.stderr)
        assert not [path for path in fast.folder.rglob(".rue-*")]
        shutil.rmtree(fast.folder / "y", ignore_errors=True)
        codes.append(done.returncode)
    assert codes[-1] == 0 and codes == sorted(codes, key=lambda code: code == 0), codes


def test_64_descriptors_are_enough_for_8_workers(rue, photos):
    words = ["tune", photos, *QUICK, "--num-workers", "8", "--out", "out"]
    done = rue(*words, preexec_fn=limited(resource.RLIMIT_NOFILE, 64))
    assert done.returncode == 0, done.stderr
    assert {row["status"] for row in csv_rows(rue.folder / "out")} == {"ok"}


# ---- threads ----

@pytest.fixture
def lonely_rue(release):
    """The program as run by a user whom nobody else is, so that all processes of that user are its own; without the
    sanitizer, which starts a thread at the end."""
    if os.geteuid() != 0:
        pytest.skip("skipped: another user's number of processes can only be limited by root")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rue-test-"))
    shutil.copy(release, folder / "rue")
    run, user = Rue(folder / "rue", folder), 100000 + os.getpid()
    os.chown(folder, user, user)
    call = lambda *words, most, **more: run(*words, user=user, group=user, extra_groups=[],
                                            preexec_fn=limited(resource.RLIMIT_NPROC, most), **more)
    call.folder = folder
    yield call
    shutil.rmtree(folder)


def copy_photos(photos, folder):
    shutil.copytree(photos, folder)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)


@pytest.mark.parametrize("most, feasible", [(3, "0"), (4, "01"), (6, "0123"), (7, "01234"), (40, "012348")])
def test_refused_threads_make_infeasible_rows(lonely_rue, photos, most, feasible):
    """The tuner, its runner and the keeper between them are three; what more workers there may be is measured, and so is the comparison."""
    copy_photos(photos, lonely_rue.folder / "photos")
    # More batches than are in flight, so that no thread ends early.
    words = [*QUICK, "--num-workers", "0,1,2,3,4,8", "--images", "96"]
    done = lonely_rue("tune", "photos", *words, "--out", "out", most=most)
    assert done.returncode == 0, done.stderr
    rows = [row for row in csv_rows(lonely_rue.folder / "out") if row["measure"] == "joint"]
    assert {row["mode"] for row in rows} == {"raw", "preprocessed"}
    for row in rows:
        assert row["status"] == ("ok" if row["num_workers"] in feasible else "infeasible"), row
        if row["status"] == "infeasible":
            words = f"could start only {most - 3} of {row['num_workers']} worker threads: Resource temporarily unavailable"
            assert words in row["reason"]
    assert str(recommended(lonely_rue.folder / "out")["num_workers"]) in feasible


def test_a_runner_without_permission_to_start_is_reported(lonely_rue, photos):
    copy_photos(photos, lonely_rue.folder / "photos")
    for most in (1, 2):
        done = lonely_rue("tune", "photos", *QUICK, "--out", "out", most=most)
        expect_failure(done, 1, "cannot start", "Resource temporarily unavailable")


def test_prepare_continues_with_fewer_threads_or_none(lonely_rue, photos):
    copy_photos(photos, lonely_rue.folder / "photos")
    for most in (1, 2, 4):
        done = lonely_rue("prepare", "photos", f"{most}.tensor", "--num-workers", "8", "--dtype", "uint8", most=most)
        assert done.returncode == 0, done.stderr
        done = lonely_rue("prepare", "--synthetic", "6", f"{most}.photos", most=most)
        assert done.returncode == 0, done.stderr
    made = {(lonely_rue.folder / f"{most}.tensor").read_bytes() for most in (1, 2, 4)}
    assert len(made) == 1, "the same whatever the number of threads"


# ---- memory ----

HUNGRY = [*QUICK, "--batch-size", "4,16,128", "--num-workers", "0,2", "--images", "128"]


@pytest.mark.parametrize("mebibytes", [1, 6, 9, 12, 14, 16, 20, 32, 48, 96, 256, 1000])
def test_any_limit_of_address_space_ends_in_order(fast, photos, mebibytes):
    """It ends in order, and never with a wrong number: what does not fit is infeasible."""
    limit = limited(resource.RLIMIT_AS, mebibytes << 20)
    done = fast("tune", photos, *HUNGRY, "--out", "out", preexec_fn=limit)
    if mebibytes == 1 and done.returncode in (-signal.SIGKILL, -signal.SIGSEGV):
        return  # the kernel cannot even map the program
    expect_clear_end(done, 1, 3, 4, 6)
    if mebibytes >= 96:
        assert done.returncode == 0, done.stderr
        assert recommended(fast.folder / "out")
        # One that the kernel has taken out of the page cache is measured again.
        rows = [row for row in csv_rows(fast.folder / "out") if row["measure"] == "joint" and row["cache_missed"] != "1"]
        assert {row["status"] for row in rows} <= {"ok", "infeasible"}
        large = [row for row in rows if row["batch_size"] == "128" and row["num_workers"] == "2"]
        assert mebibytes > 96 or all(row["status"] == "infeasible" and wording.BATCH_BUFFERS in row["reason"] for row in large)
    if (fast.folder / "out").exists():
        assert not [path for path in (fast.folder / "out").iterdir() if path.name not in KEPT]
    done = fast("prepare", photos, "x.tensor", "--quiet", preexec_fn=limit)
    expect_clear_end(done, 1, 3, 4, 6)
    assert not list(fast.folder.glob(".rue-*"))


@pytest.fixture
def memory_group():
    """Makes a control group of this much memory; the function to be called in the child is returned."""
    made = []

    def make(limit):
        group = make_group(limit)
        if not group:
            pytest.skip("skipped: no control group for memory can be made here")
        made.append(group)
        return lambda: (group / "cgroup.procs").write_text(str(os.getpid()))

    yield make
    for group in made:
        wait_for_empty(group)
        group.rmdir()


def wait_for_empty(group):
    """The program has ended; its runner, and the kernel's book-keeping, may need a moment more."""
    deadline = time.monotonic() + 30
    while (group / "cgroup.procs").read_text() and time.monotonic() < deadline:
        time.sleep(0.01)


def make_group(limit):
    """Below this process's own group, of version 1 or 2; None where that is refused."""
    own = [line.split(":", 2) for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()]
    for number, controllers, path in own:
        version_1 = "memory" in controllers.split(",")
        if not version_1 and controllers:
            continue
        name = "memory.limit_in_bytes" if version_1 else "memory.max"
        root = pathlib.Path("/sys/fs/cgroup", "memory" if version_1 else "")
        group = root / path.strip("/") / f"rue-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / name).write_text(str(limit))
            return group
        except OSError:
            group.rmdir()
    return None


def test_batches_beyond_the_control_group_s_memory_are_not_tried(fast, photos, memory_group):
    done = fast("tune", photos, *HUNGRY, "--out", "out", preexec_fn=memory_group(64 << 20))
    assert done.returncode == 0, done.stderr
    rows = csv_rows(fast.folder / "out")
    large = [row for row in rows if row["batch_size"] == "128"]
    assert large and all(row["status"] == "infeasible" and wording.THE_LIMIT_IS in row["reason"] for row in large)
    assert recommended(fast.folder / "out")["batch_size"] in (4, 16)


def test_a_runner_killed_by_the_memory_limit_is_infeasible(fast, photos, memory_group):
    """Told that there is plenty, it takes more than there is; the smaller configurations are measured."""
    done = fast("tune", photos, *HUNGRY, "--out", "out", "--max-memory", "64G", "--mode", "raw",
                preexec_fn=memory_group(64 << 20))
    assert done.returncode == 0, done.stderr
    rows = csv_rows(fast.folder / "out")
    large = [row for row in rows if row["batch_size"] == "128"]
    assert large and {row["status"] for row in large} == {"infeasible"}, large
    assert all(wording.KILLED_BY_SIGKILL in row["reason"] and wording.OUT_OF_MEMORY in row["reason"] for row in large)
    assert all(row["status"] == "ok" for row in rows if row["batch_size"] == "4")
    assert recommended(fast.folder / "out")["batch_size"] in (4, 16)


# ---- standard streams ----

def close_streams(*numbers):
    return lambda: [os.close(number) for number in numbers]


STREAMS = [streams for count in (1, 2, 3) for streams in itertools.combinations((0, 1, 2), count)]


@pytest.mark.parametrize("streams", STREAMS, ids=lambda streams: "".join(map(str, streams)))
@pytest.mark.parametrize("command", ["tune", "inspect", "prepare", "help", "version"])
def test_closed_streams(fast, photos, command, streams):
    """What has something to say on a closed standard output fails with 6; no file gets what was said."""
    words = {"tune": ["tune", photos, *RAW, "--out", "out"], "inspect": ["inspect", photos], "help": ["--help"],
             "prepare": ["prepare", photos, "x.tensor", "--images", "3"], "version": ["--version"]}[command]
    done = fast(*words, preexec_fn=close_streams(*streams))
    assert done.returncode == (6 if 1 in streams and command != "prepare" else 0), done.stderr
    if done.returncode and 2 not in streams:
        assert done.stderr.splitlines()[-1].endswith("Bad file descriptor")
    if command == "tune":
        assert recommended(fast.folder / "out") and csv_rows(fast.folder / "out")
        again = fast(*words)
        assert again.returncode == 0 and reused(fast.folder / "out") > 0, "the store is a store"
    if command == "prepare":
        assert fast("inspect", "x.tensor").returncode == 0


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["tune", "--help"],
                                   ["tune", "--runner", "RUNNER", "--dry-run"]])
def test_help_on_a_full_disk_fails(rue, script, words):
    words = [script(TABLE).command if word == "RUNNER" else word for word in words]
    with open("/dev/full", "w") as full:
        done = subprocess.run([rue.program, *words], cwd=rue.folder, stdout=full, stderr=subprocess.PIPE, text=True,
                              env=clean_environment(), timeout=HANG_S)
    assert done.returncode == 6 and wording.CANNOT_WRITE_THE_OUTPUT in done.stderr.splitlines()[-1]


def test_standard_error_on_a_full_disk_has_no_effect(rue, photos):
    with open("/dev/full", "w") as full:
        done = subprocess.run([rue.program, "tune", photos, *RAW, "--out", "out"], cwd=rue.folder, stdout=subprocess.PIPE,
                              stderr=full, text=True, env=clean_environment(), timeout=HANG_S)
    assert done.returncode == 0 and wording.USE_BATCH_SIZE in done.stdout and recommended(rue.folder / "out")


def test_a_reader_that_closes_after_one_line_gets_it(rue, photos):
    done = subprocess.run(["bash", "-c", '"$@" | head -n 1; exit "${PIPESTATUS[0]}"', "-", rue.program, "tune", photos, *RAW,
                           "--out", "out"], cwd=rue.folder, capture_output=True, text=True, env=clean_environment(),
                          timeout=HANG_S, stdin=subprocess.DEVNULL)
    said = "raw" in done.stdout or done.stdout.startswith(("Note: ", wording.NOT_RELIABLE_OTHER_PROGRAMS))  # which comes first on a busy machine
    assert done.returncode in (0, 6) and len(done.stdout.splitlines()) == 1 and said, done.stdout
    assert "Sanitizer" not in done.stderr and recommended(rue.folder / "out")
