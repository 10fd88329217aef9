"""Faults of data, through the whole program. The tables say what is done to the data and what must come of it."""
import contextlib
import csv
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess

import pytest

import wording
from conftest import HANG_S, NOBODY, clean_environment, expect_failure, finish, flat, make_table, read_json, wait_until

QUICK = ["--batch-size", "4", "--num-workers", "0,1", "--model", "none", "--budget", "5m", "--mode", "raw", "--quiet",
         "--out", "out"]
RECORDS, STRIDE, HEADER = 3, 151552, 96  # a small tensor file of uint8
VALUES = 3 * 224 * 224


class Hand:
    """`rue runner`, asked by hand: what happens between two requests is exactly what the test does."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "runner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=clean_environment())

    def ask(self, **request):
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line)

    def open(self, path, cache="warm", **more):
        return self.ask(op="open", variant=make_variant(path), workload=dict(cache=cache, **more))

    def trial(self, path, workers=0, images=20, **more):
        config = dict(batch_size=4, num_workers=workers, prefetch_factor=2, parallelism="batch")
        workload = dict(shuffle=False, cache="as-is", **more)
        return self.ask(op="trial", id=1, measure="load", variant=make_variant(path), config=config, images=images,
                        job_images=images, workload=workload)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=HANG_S) == 0 and self.process.stderr.read() == ""


def make_variant(path):
    kind = path.suffix[1:] or "folder"
    return dict(path=str(path), mode="preprocessed" if kind == "tensor" else "raw", format=kind)


@pytest.fixture
def hand(program):
    runner = Hand(program)
    yield runner
    runner.close()


def csv_rows(folder):
    with open(folder / "trials.csv", newline="") as file:
        return list(csv.DictReader(file))


# ---- a tensor file ----

@pytest.fixture(scope="module")
def whole_tensor(program, photos, tmp_path_factory):
    """The bytes of a tensor file of three records; a class name ends it."""
    path = tmp_path_factory.mktemp("tensor") / "x.tensor"
    subprocess.run([program, "prepare", photos, path, "--images", str(RECORDS), "--dtype", "uint8", "--quiet"], check=True)
    return path.read_bytes()


@pytest.fixture
def tensor(whole_tensor, tmp_path):
    path = tmp_path / "x.tensor"
    path.write_bytes(whole_tensor)
    return path


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


LABELS = 4096 + RECORDS * STRIDE
CRCS, NAMES = LABELS + 4 * RECORDS, LABELS + 8 * RECORDS
CUTS = {
    "empty": 0, "in_the_magic": 5, "in_the_header": 60, "before_the_headers_end": 95, "after_the_header": 96,
    "before_the_records": 4096, "in_record_0": 4096 + 1000, "after_record_0": 4096 + STRIDE,
    "in_record_1": 4096 + STRIDE + VALUES // 2, "in_the_padding": 4096 + 2 * STRIDE - 1,
    "in_record_2": 4096 + 2 * STRIDE + 1,
    "before_the_labels": LABELS, "in_the_labels": LABELS + 5, "before_the_checksums": CRCS, "in_the_checksums": CRCS + 7,
    "before_the_names": NAMES, "in_the_names": NAMES + 3, "in_the_last_byte": -1,
}


@pytest.mark.parametrize("where", CUTS)
def test_a_tensor_file_that_was_cut_is_refused(rue, tensor, whole_tensor, where):
    """With the place, once the header can be read."""
    cut = whole_tensor[:CUTS[where]]
    tensor.write_bytes(cut)
    word = "has an unknown format" if len(cut) < 8 else "header" if len(cut) < HEADER else f"it ends at byte {len(cut)}"
    expect_failure(rue("inspect", tensor), 3, tensor, word)


def test_a_cut_at_each_percent_and_each_byte_of_the_header_is_refused(hand, tensor, whole_tensor):
    size = len(whole_tensor)
    for cut in sorted({*range(HEADER + 1), *(size * percent // 100 for percent in range(100)), size - 1}, reverse=True):
        os.truncate(tensor, cut)
        said = hand.open(tensor)
        assert said["status"] == "failed" and str(tensor) in said["reason"], (cut, said)
        assert cut < HEADER or f"byte {cut}" in said["reason"], (cut, said)


def test_each_damaged_byte_of_the_header_is_found(hand, tensor, whole_tensor):
    for at in range(HEADER):
        tensor.write_bytes(whole_tensor[:at] + bytes([whole_tensor[at] ^ 0x10]) + whole_tensor[at + 1:])
        said = hand.open(tensor)
        assert said["status"] == "failed" and str(tensor) in said["reason"], (at, said)


# Field of the header: offset, layout, impossible value, what is said. The header's checksum is right.
FIELDS = {
    "magic": (0, "8s", b"RUETENSX", "does not have a tensor header"), "version": (8, "I", 3, "another version"),
    "version_1": (8, "I", 1, "made by an older rue; make it again"),
    "dtype": (12, "I", 9, "dtype is unknown"), "dtype_other": (12, "I", 0, "record size"),
    "count_0": (16, "Q", 0, "number of records"), "count_high": (16, "Q", 1 << 63, "number of records"),
    "count_all": (16, "Q", 2**64 - 1, "number of records"), "count_more": (16, "Q", RECORDS + 1, "sections"),
    "count_overflow": (16, "Q", (1 << 64) // STRIDE + 1, "impossible|does not fit"), "channels": (24, "I", 0, "shape"),
    "channels_all": (24, "I", 2**32 - 1, "shape"), "height": (28, "I", 2240, "record size"),
    "width_all": (32, "I", 2**32 - 1, "shape"), "classes": (36, "I", 2**32 - 1, "classes"),
    "stride": (40, "Q", 4096, "record size"), "stride_high": (40, "Q", 1 << 63, "record size"),
    "data": (48, "Q", 0, "sections"), "labels": (56, "Q", 2**64 - 4, "sections"), "checksums": (64, "Q", 0, "sections"),
    "names": (72, "Q", 1 << 62, "sections"), "end": (80, "Q", 2**63, "sections"), "checksum": (88, "I", 1, "index"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_an_impossible_header_field_is_reported(hand, tensor, whole_tensor, name):
    at, layout, value, words = FIELDS[name]
    header = bytearray(whole_tensor[:HEADER])
    struct.pack_into("<" + layout, header, at, value)
    struct.pack_into("<I", header, 92, crc32c(header[:92]))
    tensor.write_bytes(header + whole_tensor[HEADER:])
    said = hand.open(tensor)
    assert said["status"] == "failed" and str(tensor) in said["reason"]
    assert any(word in said["reason"] for word in words.split("|")), said


def test_the_checksum_of_these_tests_is_that_of_the_format(whole_tensor):
    assert struct.unpack_from("<II", whole_tensor, 88) == (crc32c(whole_tensor[LABELS:]), crc32c(whole_tensor[:92]))


@pytest.mark.parametrize("record", range(RECORDS))
def test_a_wrong_checksum_names_the_record(rue, tensor, whole_tensor, record):
    begin = 4096 + record * STRIDE
    for at in (begin, begin + VALUES - 1):
        tensor.write_bytes(whole_tensor[:at] + bytes([whole_tensor[at] ^ 1]) + whole_tensor[at + 1:])
        done = rue("tune", tensor, "--batch-size", "1", "--num-workers", "0", "--model", "none", "--quiet", "--out", "out")
        expect_failure(done, 3, f"{tensor} record {record} at byte {begin}", "CRC-32C", "make")


def test_each_damaged_byte_of_labels_checksums_and_class_names_is_found(hand, tensor, whole_tensor):
    """Also where what stands there then would be possible: another label, another name."""
    for at in range(LABELS, len(whole_tensor)):
        tensor.write_bytes(whole_tensor[:at] + bytes([whole_tensor[at] ^ 1]) + whole_tensor[at + 1:])
        said = hand.open(tensor)
        assert said["status"] == "failed" and wording.ITS_INDEX.format(tensor) in said["reason"] and wording.RUE_PREPARE in said["reason"], at


def test_bytes_after_the_end_are_refused(rue, tensor, whole_tensor):
    tensor.write_bytes(whole_tensor + b"x")
    expect_failure(rue("inspect", tensor), 3, tensor, f"byte {len(whole_tensor) + 1}", str(len(whole_tensor)))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_tensor_file_that_shrinks_while_it_is_open_is_a_failed_trial(hand, tensor, whole_tensor, workers):
    """Records are read, not mapped: there is no SIGBUS."""
    was = tensor.stat()
    assert hand.open(tensor)["status"] == "ok" and hand.trial(tensor, workers, RECORDS)["status"] == "ok"
    os.truncate(tensor, 4096 + STRIDE + 100)
    said = hand.trial(tensor, workers, RECORDS)
    assert said["status"] == "failed" and wording.IT_CHANGED_SINCE in said["reason"] and wording.AT_BYTE.format(tensor) in said["reason"]
    tensor.write_bytes(whole_tensor)
    os.utime(tensor, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert hand.trial(tensor, workers, RECORDS)["status"] == "ok", "the runner is as good as before"


def replaced(path):
    other = path.with_name("other")
    shutil.copy2(path, other)
    other.replace(path)


LOST = {"deleted": (pathlib.Path.unlink, "was deleted"), "moved": (lambda path: path.rename(f"{path}.old"), "was deleted"),
        "replaced": (replaced, "was deleted or replaced"), "changed": (lambda path: os.utime(path, (1, 1)), "changed")}


@pytest.mark.parametrize("name", LOST)
@pytest.mark.parametrize("kind", ["tensor", "lmdb"])
def test_a_file_of_data_that_is_lost_between_trials_is_a_failed_trial(hand, rue, photos, tmp_path, kind, name):
    """It stays open, or was read: without being looked for it would not be missed."""
    change, words = LOST[name]
    path = tmp_path / f"data.{kind}"
    done = rue("prepare", photos, path, "--images", "3", "--format", kind, "--quiet",
               *(["--mode", "raw"] if kind == "lmdb" else []))
    assert done.returncode == 0, done.stderr
    assert hand.open(path)["status"] == "ok" and hand.trial(path, images=3)["status"] == "ok"
    file = path / "data.mdb" if kind == "lmdb" else path
    change(file)
    said = hand.trial(path, images=3)
    assert said["status"] == "failed" and str(file) in said["reason"] and words in said["reason"], said


# ---- a writer that is killed ----

@pytest.fixture(scope="module")
def many_photos(photos, tmp_path_factory):
    """Enough of them that a writer can be met at work."""
    folder = tmp_path_factory.mktemp("many") / "photos"
    folder.mkdir()
    for i, file in enumerate(sorted(photos.rglob("*.jpg")) * 30):
        (folder / f"{i:05}.jpg").symlink_to(file)
    return folder


@pytest.mark.parametrize("what", ["tensor", "synthetic"])
def test_files_of_a_killed_writer_are_removed_by_the_next_one(rue, photos, many_photos, what):
    long = [many_photos, "x"] if what == "tensor" else ["--synthetic", "100000", "x"]
    short = [photos, "x", "--images", "3"] if what == "tensor" else ["--synthetic", "3", "x"]
    process = rue.start("prepare", *long, "--quiet")
    wait_until(lambda: list(rue.folder.glob(".rue-??????/data")), process)
    process.kill()
    assert finish(process)[0] == -signal.SIGKILL
    assert [path.name[:5] for path in rue.folder.iterdir()] == [".rue-"], "nothing has the final name"
    done = rue("prepare", *short, "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in rue.folder.iterdir()] == ["x"]


def test_files_of_a_killed_tuner_are_removed_by_the_next_one(rue, photos, many_photos):
    words = ["tune", many_photos, "--model", "none", "--quiet", "--out", "out"]
    process = rue.start(*words)
    wait_until(lambda: list(rue.folder.glob("out/.rue-??????/sample.tensor")), process)
    process.kill()
    finish(process)
    done = rue("tune", photos, *QUICK)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (rue.folder / "out").iterdir()) == ["recommendation.json", "report.html", "study.db", "trials.csv"]


@pytest.mark.parametrize("what", ["folder", "fifo", "device"])
def test_only_files_are_replaced(rue, photos, what):
    path = rue.folder / "x"
    if what == "folder":
        path.mkdir()
    elif what == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")
    before = path.lstat()
    expect_failure(rue("prepare", photos, "x", "--force", "--quiet"), 2, "--force replaces only files, and x is not one", "remove it first")
    assert path.lstat().st_ino == before.st_ino and [p.name for p in rue.folder.iterdir()] == ["x"]


# ---- data that change between opening and the trial ----

def become(path, make):
    path.unlink()
    make(path)


def add_image(victim):
    shutil.copy(victim, victim.with_name("new.jpg"))


# What happens to one of 20 open images, and what the reason of the trial says beside its name; None: it goes on.
CHANGES = {
    "added": (add_image, None),
    "touched": (lambda p: os.utime(p, (0, 0)), None),
    "deleted": (pathlib.Path.unlink, "No such file"),
    "smaller": (lambda p: os.truncate(p, 1000), "changed since"),
    "empty": (lambda p: os.truncate(p, 0), "changed since"),
    "larger": (lambda p: p.write_bytes(p.read_bytes() + b"x"), "changed since"),
    "fifo": (lambda p: become(p, os.mkfifo), "changed since"),
    "folder": (lambda p: become(p, pathlib.Path.mkdir), "changed since"),
    "device": (lambda p: become(p, lambda q: q.symlink_to("/dev/zero")), "changed since"),
    "loop": (lambda p: become(p, lambda q: q.symlink_to(q.name)), "Too many levels of symbolic links"),
    "dangling": (lambda p: become(p, lambda q: q.symlink_to("nowhere")), "No such file"),
    "socket": (lambda p: become(p, make_socket), "No such device|changed since"),
    "other_content": (lambda p: p.write_bytes(b"x" * p.stat().st_size), "not a JPEG"),
    "folder_gone": (lambda p: shutil.rmtree(p.parent.parent), "No such file"),
    "class_gone": (lambda p: shutil.rmtree(p.parent), "No such file"),
    "class_moved": (lambda p: p.parent.rename(p.parent.with_name("moved")), "No such file"),
}


def make_socket(path):
    """Its name may be longer than a socket's may."""
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as one:
        here = os.open(path.parent, os.O_RDONLY)
        try:
            one.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", CHANGES)
def test_data_that_change_during_a_study_are_named(hand, own_photos, name, workers):
    """The first of the data's own order; nothing hangs."""
    change, words = CHANGES[name]
    victim = sorted(own_photos.rglob("*.jpg"))[0]
    assert hand.open(own_photos)["status"] == "ok"
    change(victim)
    said = hand.trial(own_photos, workers)
    if words is None:
        assert said["status"] == "ok" and said["images"] == 20
        return
    assert said["status"] == "failed" and str(victim) in said["reason"], said
    assert any(word in said["reason"] for word in words.split("|")), said
    if "gone" in name or "moved" in name:
        return
    said = hand.trial(own_photos, workers, bad_images="replace")
    assert said["status"] == "ok" and said["bad_images"] == 1 and str(victim) in said["reason"]


def test_an_image_without_rights_during_a_study_is_named(unprivileged_rue, own_photos):
    target = unprivileged_rue.folder / "photos"
    shutil.copytree(own_photos, target)
    for path in [target, *target.rglob("*")]:
        path.chmod(0o755)
    victim = sorted(target.rglob("*.jpg"))[0]
    asked = [dict(op="open", variant=make_variant(target), workload=dict(cache="as-is")),
             dict(op="trial", id=1, measure="load", variant=make_variant(target), images=20, job_images=20,
                  config=dict(batch_size=4, num_workers=1, prefetch_factor=2, parallelism="batch"),
                  workload=dict(shuffle=False))]
    victim.chmod(0)
    script = unprivileged_rue.folder / "requests"
    script.write_text("\n".join(map(json.dumps, asked)) + "\n")
    script.chmod(0o644)
    with open(script) as stdin:
        as_nobody = dict(user=NOBODY, group=NOBODY, extra_groups=[]) if os.geteuid() == 0 else {}
        done = subprocess.run([unprivileged_rue.folder / "rue", "runner"], stdin=stdin, capture_output=True, text=True,
                              timeout=HANG_S, env=clean_environment(), **as_nobody)
    opened, said = map(json.loads, done.stdout.splitlines())
    assert opened["status"] == "ok" and str(victim) in opened["note"] and said["status"] == "failed"
    assert str(victim) in said["reason"] and wording.PERMISSION_DENIED in said["reason"]


# ---- odd things in the folder when it is opened ----

# What lies in a class folder beside three images, and how many of it `inspect` counts as left out.
ODD = {
    "fifo": (lambda c: os.mkfifo(c / "odd.jpg"), "neither a file nor a folder"),
    "socket": (lambda c: make_socket(c / "odd.jpg"), "neither a file nor a folder"),
    "device": (lambda c: (c / "odd.jpg").symlink_to("/dev/zero"), "neither a file nor a folder"),
    "dangling": (lambda c: (c / "odd.jpg").symlink_to("nowhere"), "a broken link"),
    "to_itself": (lambda c: (c / "odd.jpg").symlink_to("odd.jpg"), "a broken link"),
    "class_to_nowhere": (lambda c: (c / "odd").symlink_to("/no/such/class"), "a broken link"),
}


def make_class(folder, photos, count=3):
    path = folder / "set" / "cats"
    path.mkdir(parents=True)
    for file in sorted(photos.rglob("*.jpg"))[:count]:
        shutil.copy(file, path)
    return path


@pytest.mark.parametrize("name", ODD)
def test_other_kinds_of_files_are_skipped_and_reported(rue, photos, name):
    make, words = ODD[name]
    make(make_class(rue.folder, photos))
    done = rue("inspect", "set")
    assert done.returncode == 0 and wording.FILES_SKIPPED_SUCH_AS_SET.format(1) in flat(done.stdout) and words in done.stdout
    about = json.loads(rue("inspect", "set", "--json").stdout)
    assert (about["items"], about["skipped"]) == (3, 1)
    done = rue("prepare", "set", "x.tensor", "--dtype", "uint8")
    assert done.returncode == 0 and wording.FILES_SKIPPED_SUCH_AS_SET.format(1) in done.stderr
    done = rue("tune", "set", *QUICK, "--batch-size", "1")
    assert done.returncode == 0 and "odd" in done.stderr


def test_a_folder_with_only_dangling_links_is_reported(rue):
    (rue.folder / "set").mkdir()
    for i in range(3):
        (rue.folder / f"set/{i}.jpg").symlink_to("nowhere")
    expect_failure(rue("tune", "set", *QUICK), 3, "no image", "among 3", "a broken link")


@pytest.mark.parametrize("to", ["..", ".", "../cats", "../../set"])
def test_a_link_to_a_folder_that_is_read_is_skipped(rue, photos, to):
    (make_class(rue.folder, photos) / "loop").symlink_to(to)
    done = rue("inspect", "set", "--json")
    about = json.loads(done.stdout)
    assert (about["items"], about["skipped"], [c["name"] for c in about["classes"]]) == (3, 1, ["cats"])
    words = "files skipped: 1, such as set/cats/loop, a link to a folder that is read already"
    done = rue("prepare", "set", "x.tensor")
    assert done.returncode == 0 and words in " ".join(done.stderr.split())
    done = rue("tune", "set", *QUICK, "--batch-size", "1")
    assert done.returncode == 0 and words.replace("set/", "") not in done.stderr and "loop" in done.stderr


def test_hard_links_are_images_of_their_own(rue, photos):
    cats = make_class(rue.folder, photos)
    for i in range(5):
        os.link(sorted(cats.glob("photo*"))[0], cats / f"again{i}.jpg")
    assert json.loads(rue("inspect", "set", "--json").stdout)["items"] == 8


NAMES_OF_FILES = {"newline": b"a\nb.jpg", "quotes": b"a'\"`$(x).jpg", "comma": b"a,b;c.jpg", "not_utf8": b"\xff\xfe.jpg",
                  "escape": b"\x1b[31mred.jpg", "blank": b" .jpg", "long": b"x" * 251 + b".jpg", "percent": b"%s%n%d.jpg"}


@pytest.mark.parametrize("name", NAMES_OF_FILES)
def test_any_name_is_an_image_and_can_be_named(rue, photos, name):
    """Good, then damaged: the error is one printable line, and the table of trials is still a table."""
    cats = make_class(rue.folder, photos)
    odd = os.path.join(os.fsencode(cats), NAMES_OF_FILES[name])
    shutil.copy(os.fsencode(sorted(cats.glob("*.jpg"))[0]), odd)
    assert rue("tune", "set", *QUICK).returncode == 0
    with open(odd, "wb") as file:
        file.write(b"no photo")
    done = rue("tune", "set", *QUICK)
    line = expect_failure(done, 3, "set/cats/", "--bad-images replace")
    assert line.isprintable()
    done = rue("tune", "set", *QUICK, "--bad-images", "replace")
    assert done.returncode == 0 and done.stdout.replace("\n", "").isprintable(), done
    assert any("set/cats/" in row["reason"] for row in csv_rows(rue.folder / "out"))
    assert read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["config"]


def make_deep(folder, levels, name):
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    return fd


@pytest.mark.parametrize("levels", [1000, 5000])
def test_a_deep_tree_is_read_or_refused(rue, photos, levels):
    """A path may have 4095 bytes; what is longer is refused, with the reason and not only the path."""
    make_class(rue.folder, photos)
    try:
        below = make_deep(rue.folder / "set", levels, "d")
        with open(os.open("deep.jpg", os.O_WRONLY | os.O_CREAT, dir_fd=below), "wb") as file:
            file.write(sorted(photos.rglob("*.jpg"))[0].read_bytes())
        os.close(below)
        if levels == 1000:
            assert json.loads(rue("inspect", "set", "--json").stdout)["items"] == 4
            assert rue("tune", "set", *QUICK).returncode == 0
        else:
            expect_failure(rue("inspect", "set"), 3, "cannot read set/d/d/", "/d: File name too long")
            expect_failure(rue("tune", "set", *QUICK), 3, "/set/d/d/", "/d: File name too long")
    finally:
        subprocess.run(["rm", "-rf", rue.folder / "set"], check=True)


def test_a_hundred_thousand_files_open(rue):
    folder = rue.folder / "set"
    for name in range(100):
        (folder / f"class{name:03}").mkdir(parents=True)
        at = os.open(folder / f"class{name:03}", os.O_RDONLY)
        for i in range(1000):
            os.close(os.open(f"{i}.jpg", os.O_WRONLY | os.O_CREAT, dir_fd=at))
        os.close(at)
    about = json.loads(rue("inspect", "set", "--json").stdout)
    assert about["items"] == 100000 and [c["items"] for c in about["classes"]] == [1000] * 100
    shutil.rmtree(folder)


# ---- data that change between two runs of a study ----

REPLACED = {
    "smaller": lambda files: shutil.copy(files[1], files[0]), "removed": lambda files: files[0].unlink(),
    "added": lambda files: shutil.copy(files[0], files[0].with_name("new.jpg")),
    "renamed": lambda files: files[0].rename(files[0].with_name("new.jpg")),
    "other_class": lambda files: files[0].rename(files[-1].with_name("moved.jpg")),
}


@pytest.mark.parametrize("name", REPLACED)
def test_trials_of_changed_data_are_not_mixed_with_older_trials(rue, own_photos, name):
    """All is measured again; once the data are what they were, the old trials count again."""
    kept = rue.folder / "kept"
    shutil.copytree(own_photos, kept)
    reused = lambda: read_json(rue.folder / "out/recommendation.json")["provenance"]["reused_trials"]
    assert rue("tune", own_photos, *QUICK).returncode == 0 and reused() == 0
    first = {row["id"] for row in csv_rows(rue.folder / "out")}
    REPLACED[name](sorted(own_photos.rglob("*.jpg")))
    assert rue("tune", own_photos, *QUICK).returncode == 0
    assert reused() == 0 and not first & {row["id"] for row in csv_rows(rue.folder / "out")}
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db")) as db:
        assert db.execute("SELECT count(DISTINCT data_digest) FROM trial").fetchone() == (2,)
    shutil.rmtree(own_photos)
    shutil.copytree(kept, own_photos)
    assert rue("tune", own_photos, *QUICK).returncode == 0
    assert reused() > 0 and first == {row["id"] for row in csv_rows(rue.folder / "out")}


@pytest.mark.parametrize("now", [dict(images=999), dict(digest="0123")])
def test_data_that_changed_when_the_runner_starts_again_end_the_study(rue, script, now):
    """The first runner dies; the second one opens something else."""
    table = make_table(["ape", "bee"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + w)
    one = script(table, faults=[dict(when=dict(id=8), do="exit", code=3)])
    changed = json.loads(one.path.read_text())
    other = rue.folder / "other.json"
    other.write_text(json.dumps(dict(changed, faults=[], opened=now)))
    wrapper = rue.folder / "second.sh"
    wrapper.write_text(f"[ -e started ] && cp {other} {one.path}\ntouch started\nexec {one.command}\n")
    done = rue("tune", "--runner", f"sh {wrapper}", "--quiet", "--out", "out")
    expect_failure(done, 3, "the data changed during the study", "run the same command again")
    assert read_json(rue.folder / "out/recommendation.json")["partial"] and len(csv_rows(rue.folder / "out")) == 8
