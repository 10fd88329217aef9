"""--cache: where the bytes of a trial come from is known. Warm trials read nothing from storage, cold ones all of it."""
import csv
import io
import errno
import json
import mmap
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile

import pytest
import wording
from conftest import HANG_S, clean_environment, expect_failure, stop, unwrap, wait_until

GRID = ["--batch-size", "4", "--num-workers", "0..2", "--model", "none", "--strategy", "grid", "--quiet", "--out", "out"]


def evict(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_bytes():
    with open("/proc/self/io") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("read_bytes"))


def list_files(path):
    return [f for f in path.rglob("*") if f.is_file()] if path.is_dir() else [path]


@pytest.fixture
def accounted(own_photos):
    """Where the kernel counts what is read, and the test's folder does not lie in memory."""
    file = list_files(own_photos)[0]
    evict(file)
    before = read_bytes()
    file.read_bytes()
    if read_bytes() == before:
        pytest.skip("skipped: what is read here is not counted, or comes from memory alone")


@pytest.fixture(params=["folder", "tensor"])
def data(request, rue, own_photos, accounted, tmp_path):
    if request.param == "folder":
        return own_photos
    assert rue("prepare", own_photos, "x.tensor", "--quiet").returncode == 0
    return tmp_path / "x.tensor"


def trials(folder):
    with open(folder / "trials.csv", newline="") as file:
        return list(csv.DictReader(file))


class Hand:
    """`rue runner`, asked by hand."""

    def __init__(self, program, data):
        self.process = subprocess.Popen([program, "runner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=clean_environment())
        self.variant = dict(path=str(data), mode="raw" if data.is_dir() else "preprocessed",
                            format="folder" if data.is_dir() else "tensor")

    def ask(self, cache, **request):
        request = dict(request, variant=self.variant, workload=dict(shuffle=True, cache=cache))
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def open(self, cache):
        return self.ask(cache, op="open")

    def trial(self, cache, workers=2, images=20, job_images=20):
        config = dict(batch_size=4, num_workers=workers, prefetch_factor=2, parallelism="batch")
        reply = self.ask(cache, op="trial", id=1, measure="load", config=config, images=images,
                         job_images=job_images)
        assert reply["status"] == "ok", reply
        return reply

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=HANG_S) == 0


@pytest.fixture
def hand(program, data):
    runner = Hand(program, data)
    yield runner
    runner.close()


class Held:
    """Another process's hold on files: what it has mapped and touched is not put out of memory by anybody."""

    def __init__(self, data):
        self.maps = []
        for path in list_files(data):
            with open(path, "rb") as file:
                held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            assert held[::4096] is not None
            self.maps.append(held)

    def release(self):
        for held in self.maps:
            held.close()


# ---- by hand ----

@pytest.mark.quick
@pytest.mark.parametrize("workers", [0, 2])
def test_a_warm_trial_does_not_read_storage_even_after_eviction(hand, data, workers):
    assert hand.open("warm")["cache"] == "warm"
    for _ in range(2):
        for path in list_files(data):
            evict(path)
        reply = hand.trial("warm", workers)
        assert reply["read_bytes"] <= 1 << 18 and reply["cache_missed"] == 0, reply


@pytest.mark.quick
@pytest.mark.parametrize("workers", [0, 2])
def test_a_cold_trial_reads_all_data_each_time(hand, data, workers):
    assert hand.open("cold")["cache"] == "cold"
    for _ in range(3):
        reply = hand.trial("cold", workers)
        assert reply["read_bytes"] >= reply["data_bytes"] > 0 and reply["cache_missed"] == 0, reply
        warm = hand.trial("warm", workers)  # views of a mapped file, which the next cold trial has to let go of
        assert warm["read_bytes"] <= 1 << 18 and warm["data_bytes"] == reply["data_bytes"]


def test_a_short_cold_trial_answers_for_its_own_items(hand):
    hand.open("cold")
    few, all_of_them = hand.trial("cold", images=4), hand.trial("cold", images=20)
    assert few["data_bytes"] < all_of_them["data_bytes"] and few["cache_missed"] == 0


def test_a_trial_is_marked_if_another_process_loads_its_pages(hand, data):
    assert hand.open("cold")["cache"] == "cold"
    held = Held(data)
    reply = hand.trial("cold")
    assert reply["status"] == "ok" and reply["cache_missed"] == 1 and wording.WERE_NOT_COLD in reply["reason"], reply
    held.release()
    assert hand.trial("cold")["cache_missed"] == 0


def test_data_held_in_memory_by_another_process_are_refused(hand, data):
    held = Held(data)
    opened = hand.open("cold")
    assert opened["cache"] == "as-is" and wording.OF_ITS_BYTES_STAY.format(100) in opened["cache_reason"]
    held.release()
    assert hand.open("cold")["cache"] == "cold"


def test_as_is_trials_are_not_judged(hand):
    assert hand.open("as-is")["cache"] == "as-is"
    assert hand.trial("as-is")["cache_missed"] == 0


# ---- rue tune ----

@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_a_study_is_either_warm_or_cold_and_its_rows_prove_it(rue, data, tmp_path, cache):
    assert rue("tune", data, *GRID, "--mode", "all", "--sample", "20", "--cache", cache).returncode == 0
    for row in trials(tmp_path / "out"):
        assert row["status"] == "ok" and row["cache_missed"] == "0", row
        read, loaded = int(row["read_bytes"]), int(row["data_bytes"])
        assert read >= 0.9 * loaded if cache == "cold" else read <= 1 << 18, row
    report = json.loads((tmp_path / "out/recommendation.json").read_text())["recommendations"]
    assert all(part["evidence"]["trials_cache_missed"] == 0 for part in report)
    for words in ([], ["--details"], ["--top-n", "2"]):
        assert unwrap(rue("show", "out", *words).stdout).count("read cold") == (len(report) if cache == "cold" else 0)


def test_warm_and_cold_are_not_mixed_in_a_continued_study(rue, data, tmp_path):
    for count, cache in enumerate(["cold", "warm", "cold"], 1):
        assert rue("tune", data, *GRID, "--mode", "all", "--sample", "20", "--cache", cache).returncode == 0
        with sqlite3.connect(tmp_path / "out/study.db") as db:
            kept = dict(db.execute("SELECT json_extract(workload, '$.cache'), count(DISTINCT config || measure || path) FROM trial GROUP BY 1"))
        if count == 2:
            before = kept
    assert set(kept) == {"cold", "warm"} and kept == before, "the third run found what the first had measured"


def test_trials_that_were_not_cold_are_kept_reported_and_repeated(rue, data, tmp_path):
    study = rue.start("tune", data, "--batch-size", "4", "--num-workers", "0..2", "--strategy", "grid", "--repeats", "99",
                      "--model", "sleep:1ms/image", "--cache", "cold", "--out", "out", "--images", "20", "--mode",
                      "raw" if data.is_dir() else "preprocessed")

    def joint_trials():
        try:
            with sqlite3.connect(f"file:{tmp_path}/out/study.db?mode=ro", uri=True) as db:
                return db.execute("SELECT count(*) FROM trial WHERE measure = 'joint'").fetchone()[0]
        except sqlite3.Error:
            return 0

    wait_until(lambda: joint_trials() >= 2, study)
    held, before = Held(data), joint_trials()
    wait_until(lambda: joint_trials() >= before + 8, study)
    code, out, err = stop(study)
    held.release()
    assert code == 130, err
    missed = [row for row in trials(tmp_path / "out") if row["cache_missed"] == "1"]
    assert missed and all(wording.WERE_NOT_COLD in row["reason"] for row in missed)
    statuses = [row["status"] for row in missed]
    assert statuses.count("failed") >= 2 * statuses.count("ok") >= 2, "three attempts each, the last one counts"
    for words in ([], ["--details"]):
        assert wording.DID_NOT_READ_COLD in " ".join(rue("show", "out", *words).stdout.split())
    assert wording.DID_NOT_READ_COLD in " ".join(out.split())


def test_attempts_are_bounded(rue, script, tmp_path):
    one = script({"m": {"4/1": 1000, "8/1": 1000}}, opened=dict(cache="cold"), measures=["joint"],
                 faults=[dict(when=dict(cell="8/1"), do="answer", answer=dict(cache_missed=1, reason="the data were not cold"))])
    done = rue("tune", "--runner", one.command, "--cache", "cold", "--strategy", "grid", "--out", "out", "--images", "1000")
    assert done.returncode == 0, done.stderr
    rows = [row for row in trials(tmp_path / "out") if row["batch_size"] == "8" and row["requested_images"] == "1000"]
    assert [row["status"] for row in rows] == ["failed", "failed", "ok"]
    assert all(request["workload"]["cache"] == "cold" for request in one.requests())
    asked = len(one.requests())
    assert rue("tune", "--runner", one.command, "--cache", "cold", "--strategy", "grid", "--out", "out", "--images",
               "1000").returncode == 0
    assert len(one.requests()) == asked, "what is stored is not asked for again"


# ---- several loaders ----

def test_several_loaders_are_judged_together_for_a_cold_trial(program, rue, own_photos, accounted, tmp_path):
    assert rue("prepare", own_photos, "shards", "--format", "webdataset", "--quiet").returncode == 0
    words = ["tune", "shards", "--gpus", "0,1", *GRID, "--mode", "raw", "--cache", "cold"]
    assert rue(*words).returncode == 0
    rows = trials(tmp_path / "out")
    assert rows and {(row["status"], row["cache_missed"], row["reason"]) for row in rows} == {("ok", "0", "")}, rows
    expect_failure(rue(*words, "--images", "22"), 2, "has 20 images, too few for a cold job of 22")


# ---- where it cannot be ----

@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_a_cold_job_is_of_one_epoch_at_most(rue, data, tmp_path, words):
    done = rue("tune", data, *GRID, "--mode", "all", "--images", "21", "--cache", "cold", *words)
    expect_failure(done, 2, "has 20 images, too few for a cold job of 21", "--images 20 or less")
    assert rue("tune", data, *GRID, "--images", "21", *words).returncode == 0


def test_a_cold_job_is_not_compared_with_a_smaller_sample(rue, own_photos, accounted, tmp_path):
    words = [word for word in GRID if word != "--quiet"]
    done = rue("tune", own_photos, *words, "--sample", "10", "--cache", "cold")
    assert done.returncode == 0 and wording.A_SAMPLE_OF_IMAGES.format(10, 20) in done.stderr, done
    assert {row["mode"] for row in trials(tmp_path / "out")} == {"raw"}


@pytest.mark.parametrize("images", [40, 400])
def test_a_trial_that_rereads_items_from_memory_is_not_cold(hand, images):
    assert hand.open("cold")["cache"] == "cold"
    reply = hand.trial("cold", images=images, job_images=images)
    assert reply["cache_missed"] == 1 and wording.THE_DATA_WERE_NOT in reply["reason"], reply


@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_a_file_system_without_storage_is_refused_with_the_reason(rue, own_photos, tmp_path, words):
    if not os.path.ismount("/dev/shm") or not os.access("/dev/shm", os.W_OK):
        pytest.skip("skipped: no /dev/shm")
    folder = tempfile.mkdtemp(dir="/dev/shm", prefix="rue-test-")
    try:
        shutil.copytree(own_photos, f"{folder}/photos")
        done = rue("tune", f"{folder}/photos", "--cache", "cold", "--out", "out", "--quiet", *words)
        expect_failure(done, 4, "cannot be read cold", "100 % of its bytes stay in memory", "--cache warm")
        assert not (tmp_path / "out").exists(), "nothing is left behind"
        assert rue("tune", f"{folder}/photos", *GRID, "--mode", "raw").returncode == 0
    finally:
        shutil.rmtree(folder)


def test_a_runner_without_cold_trials_is_refused(rue, script):
    one = script({"m": {"4/1": 1000}}, opened=dict(cache="warm"))
    done = rue("tune", "--runner", one.command, "--cache", "cold", "--out", "out")
    expect_failure(done, 4, "cannot be read cold", "scripted 1.0", "warm")


@pytest.mark.parametrize("at", [5, 12])
def test_a_damaged_record_is_reported_and_the_others_are_warm(rue, own_photos, tmp_path, at):
    assert rue("prepare", own_photos, "x.tensor", "--quiet").returncode == 0
    file = tmp_path / "x.tensor"
    damaged = bytearray(file.read_bytes())
    for record in (at, at + 2):
        damaged[(record + 1) * len(damaged) // 22] ^= 1
    file.write_bytes(damaged)
    words = [word for word in GRID if word != "--quiet"]
    done = rue("tune", file, *words, "--bad-images", "replace")
    assert done.returncode == 0 and wording.OF_IMAGES_ARE_DAMAGED_OR_UNREADABLE_SUCH.format(2, 20) in done.stderr, done.stderr
    assert wording.CRC_32C_IS_WRONG in done.stderr and wording.FREE_MEMORY not in done.stderr
    with sqlite3.connect(tmp_path / "out/study.db") as db:
        states = set(db.execute("SELECT json_extract(workload, '$.cache'), cache_missed FROM trial"))
    row = trials(tmp_path / "out")[0]
    assert row["cache_missed"] == "0"
    assert rue("show", "out", "--trials").returncode == 0
    expect_failure(rue("tune", file, *GRID, "--fresh"), 3, "CRC-32C is wrong")


def test_inspect_shows_the_share_in_memory(rue, data):
    for path in list_files(data):
        path.read_bytes()
    assert json.loads(rue("inspect", data, "--json").stdout)["in_memory_ratio"] == 1
    assert wording.CACHE_OF_THE_DATA.format(100) in rue("inspect", data).stdout
    for path in list_files(data):
        evict(path)
    assert json.loads(rue("inspect", data, "--json").stdout)["in_memory_ratio"] < 0.5


@pytest.mark.parametrize("why", ["EPERM", "ENOSYS", "EACCES"])
def test_a_container_without_io_uring_is_reported(release_rue, own_photos, preload, why):
    """Photographs do not need it; tensor files are read ahead with it."""
    assert release_rue("prepare", own_photos, "x.tensor", "--dtype", "uint8", "--quiet").returncode == 0
    done = release_rue("tune", own_photos, "x.tensor", *GRID, env=preload(PRELOAD_NO_URING=getattr(errno, why)))
    assert done.returncode == 0, done.stderr
    report = json.loads((release_rue.folder / "out/recommendation.json").read_text())
    notes = [part.get("note", "") for part in report["recommendations"]]
    assert notes[0] == "" and wording.IO_URING_IS_NOT in notes[1] and "seccomp" in notes[1]
    assert report["provenance"]["machine"]["io_uring"] is False
    assert wording.NOTE_IO_URING_IS_NOT in unwrap(release_rue("show", "out").stdout)
