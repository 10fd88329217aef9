"""rue prepare: from every format that rue reads to those it writes, and conversions that are stopped."""
import os
import signal
import struct
import tarfile

import pytest

import wording
from conftest import expect_failure, wait_until

WORDS = ["--dtype", "uint8", "--num-workers", "1"]


def read_digest(rue, path):
    done = rue("inspect", path, "--json")
    assert done.returncode == 0, done.stderr
    return done.stdout.split('"digest"')[1].split(",")[0]


@pytest.fixture(scope="module")
def many(photos, tmp_path_factory):
    """So many that converting them takes some seconds: links to a few."""
    folder = tmp_path_factory.mktemp("many")
    for i in range(20):
        for file in photos.rglob("*.jpg"):
            target = folder / file.parent.name / f"{i:03}-{file.name}"
            target.parent.mkdir(exist_ok=True)
            target.symlink_to(file)
    return folder


def read_tensor_labels(path):
    """Of the layout in engine/read/tensor_file.h."""
    data = path.read_bytes()
    count, = struct.unpack_from("<Q", data, 16)
    labels_offset, = struct.unpack_from("<Q", data, 56)
    return struct.unpack_from(f"<{count}i", data, labels_offset)


def parts(rue):
    return list(rue.folder.glob(".rue-??????"))


def begin(rue, many, *words, to="x.tensor"):
    """A conversion that has written something."""
    process = rue.start("prepare", many, to, *WORDS, *words, "--quiet")
    wait_until(lambda: [part for part in parts(rue) if (part / "data").exists()] or process.poll() is not None, process)
    assert process.poll() is None, "it was over before the test began"
    return process


@pytest.mark.quick
@pytest.mark.parametrize("format", ["folder", "lmdb", "tensor", "tfrecord", "webdataset"])
def test_a_killed_conversion_starts_from_the_beginning(rue, many, format):
    words = ["--format", format, "--images", "600"]
    process = rue.start("prepare", many, "x", *words, "--quiet")
    wait_until(lambda: [part for part in parts(rue) if (part / "data").exists()] or process.poll() is not None, process)
    process.kill()
    process.wait()
    if not (rue.folder / "x").exists():
        assert len(parts(rue)) == 1
        done = rue("prepare", many, "x", *words)
        assert done.returncode == 0, done.stderr
    assert parts(rue) == [] and len(read_digest(rue, "x")) > 8


def test_an_interruption_leaves_no_files(rue, many):
    process = begin(rue, many)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and wording.INTERRUPTED_NOTHING_WAS_WRITTEN in err
    assert parts(rue) == [] and not (rue.folder / "x.tensor").exists()


@pytest.mark.parametrize("command", [["inspect", "list.csv"], ["prepare", "list.csv", "x.tensor"]])
def test_ctrl_c_ends_the_search_of_the_data(release_rue, preload, photos, command):
    photo = next(photos.rglob("*.jpg"))
    (release_rue.folder / "list.csv").write_text("path\n" + f"{photo}\n" * 3)
    done = release_rue(*command, env=preload(PRELOAD_CTRL_C_READ="list.csv"))
    assert (done.returncode, done.stderr) == (130, f"rue {command[0]}: interrupted\n")
    assert [path.name for path in release_rue.folder.iterdir()] == ["list.csv"]


def test_two_processes_at_the_same_time_keep_their_own_unfinished_files(rue, many):
    process = begin(rue, many)
    done = rue("prepare", many, "x.tensor", *WORDS, "--images", "10")
    assert done.returncode == 0, done.stderr
    process.wait(timeout=120)
    assert process.returncode == 6, "the name was taken meanwhile"
    assert parts(rue) == []


@pytest.mark.quick
def test_a_folder_of_photos_is_copied_byte_for_byte(rue, own_photos):
    done = rue("prepare", own_photos, "copy/", "--format", "folder")
    assert done.returncode == 0, done.stderr
    content = lambda folder: {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.jpg")}
    assert content(own_photos) == content(rue.folder / "copy") and read_digest(rue, own_photos) == read_digest(rue, "copy")


def test_uint8_becomes_float32_but_not_the_reverse(rue, own_photos):
    assert rue("prepare", own_photos, "u8.tensor", "--dtype", "uint8").returncode == 0
    assert rue("prepare", "u8.tensor", "same.tensor").returncode == 0, "the type of the source, where none is asked for"
    assert (rue.folder / "same.tensor").read_bytes() == (rue.folder / "u8.tensor").read_bytes()
    assert rue("prepare", "u8.tensor", "f32.tensor", "--dtype", "float32").returncode == 0
    assert rue("prepare", own_photos, "direct.tensor").returncode == 0
    assert (rue.folder / "f32.tensor").read_bytes() == (rue.folder / "direct.tensor").read_bytes()
    expect_failure(rue("prepare", "f32.tensor", "x.tensor", "--dtype", "uint8"), 2, "cannot become uint8")
    expect_failure(rue("prepare", "f32.tensor", "x", "--format", "folder"), 2, "f32.tensor holds preprocessed tensors, which cannot become images again")


WRONG = {
    "mode": (["--format", "folder", "--mode", "preprocessed"], ["folder cannot hold preprocessed data"]),
    "raw": (["--mode", "raw"], ["tensor cannot hold raw data"]),
    "split": (["--split", "../train"], ["--split: '../train' is not a name"]),
    "split_empty": (["--split", ""], ["--split"]),
    "shard_size": (["--shard-size", "1M"], ["--shard-size has no effect on the format tensor: remove it"]),
    "shard_size_lmdb": (["--format", "lmdb", "--shard-size", "1M"], ["--shard-size has no effect on the format lmdb"]),
    "split_folder": (["--format", "folder", "--split", "val"], ["--split has no effect on the format folder"]),
    "dtype": (["--format", "folder", "--dtype", "uint8"], ["--dtype has no effect on the format folder"]),
    "dtype_raw": (["--format", "webdataset", "--dtype", "uint8"], ["--dtype applies to preprocessed data: add --mode preprocessed"]),
    "keys": (["--label-key", "x"], ["--label-key: ", "is folder, which has no names for"]),
    "format": (["--format", "tensr"], ["--format: 'tensr'", "tensor"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_impossible_output_is_refused_before_any_file_is_written(rue, own_photos, name):
    words, said = WRONG[name]
    before = sorted(os.listdir(rue.folder))
    expect_failure(rue("prepare", own_photos, "x.tensor", *words), 2, *said)
    assert sorted(os.listdir(rue.folder)) == before


def test_settings_that_do_not_apply_to_a_format_are_ignored(rue, own_photos):
    more = dict(RUE_SHARD_SIZE="1M", RUE_SPLIT="val", RUE_DTYPE="uint8", RUE_LABEL_KEY="x")
    assert rue("prepare", own_photos, "out", "--format", "folder", env=more).returncode == 0
    assert rue("inspect", own_photos, env=more).returncode == 0


def test_options_that_photos_or_an_inspection_have_no_use_for_are_refused(rue, own_photos):
    expect_failure(rue("prepare", "--synthetic", "2", "x", "--format", "lmdb"), 2, "--format has no effect on --synthetic")
    assert not (rue.folder / "x").exists()
    expect_failure(rue("inspect", own_photos, "--image-key", "x"), 2, "--image-key", "is folder, which has")


def test_an_existing_folder_is_never_replaced(rue, own_photos):
    (rue.folder / "taken").mkdir()
    (rue.folder / "taken/precious").write_text("x")
    expect_failure(rue("prepare", own_photos, "taken", "--format", "folder", "--force"), 2, "--force replaces only files", "taken", "remove it first")
    expect_failure(rue("prepare", own_photos, "taken", "--format", "folder"), 2, "taken exists: give another name, or remove it first")
    assert (rue.folder / "taken/precious").read_text() == "x"


def test_a_record_of_the_source_that_is_damaged_is_not_copied(rue, own_photos):
    assert rue("prepare", own_photos, "x.tensor", "--dtype", "uint8").returncode == 0
    with open(rue.folder / "x.tensor", "r+b") as file:
        file.seek(4096 + 151552 + 1000)
        old = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([old[0] ^ 255]))
    for dtype in ("uint8", "float32"):
        expect_failure(rue("prepare", "x.tensor", "y.tensor", "--dtype", dtype), 3, "record 1 at byte", "CRC-32C")
    assert not (rue.folder / "y.tensor").exists()


def write_tar(path, samples):
    import io
    with tarfile.open(path, "w") as tar:
        for name, body in samples:
            member = tarfile.TarInfo(name)
            member.size = len(body)
            tar.addfile(member, io.BytesIO(body))


@pytest.mark.parametrize("first", ["csv", "webdataset", "tfrecord", "lmdb", "zarr", "tensor", "folder"])
def test_labels_that_do_not_exist_are_not_invented(rue, own_photos, first):
    """Neither by the first conversion nor by one of its result: of that, the labels of a tensor file are all -1."""
    for i, file in enumerate(sorted(own_photos.rglob("*.jpg"))[:3]):
        os.rename(file, rue.folder / f"{i}.jpg")
    (rue.folder / "bare.csv").write_text("path,size\n0.jpg,0\n1.jpg,1\n2.jpg,2\n")
    source = "one.csv" if first == "csv" else "one"
    assert rue("prepare", "bare.csv", source, "--format", first).returncode == 0
    assert first != "csv" or (rue.folder / source).read_text() == "path\n0.jpg\n1.jpg\n2.jpg\n"
    done = rue("prepare", source, "two.tensor")
    assert done.returncode == 0, done.stderr
    assert list(read_tensor_labels(rue.folder / "two.tensor")) == [-1] * 3
    assert wording.NO_LABELS_FOUND_ALL in " ".join(rue("inspect", "two.tensor").stdout.split())


def test_labels_without_names_become_folders_in_their_order(rue, own_photos):
    files = sorted(own_photos.rglob("*.jpg"))[:12]
    write_tar(rue.folder / "x.tar", [part for i, file in enumerate(files)
                                     for part in ((f"{i:02}.jpg", file.read_bytes()), (f"{i:02}.cls", b"%d" % i))])
    done = rue("prepare", "x.tar", "out", "--format", "folder")
    assert done.returncode == 0, done.stderr
    assert sorted(str(path.relative_to(rue.folder / "out")) for path in (rue.folder / "out").rglob("*.jpg")) == \
        [f"{i:02}/{i:02}.jpg" for i in range(12)], "ten comes behind nine"
    assert [path.read_bytes() for path in sorted((rue.folder / "out").rglob("*.jpg"))] == [file.read_bytes() for file in files]


def test_folders_in_names_do_not_become_classes(rue, own_photos):
    files = sorted(own_photos.rglob("*.jpg"))[:6]
    write_tar(rue.folder / "x.tar", [(f"{'ab'[i % 2]}/{i}.jpg", file.read_bytes()) for i, file in enumerate(files)])
    done = rue("prepare", "x.tar", "out", "--format", "folder")
    assert done.returncode == 0, done.stderr
    assert len(list((rue.folder / "out/a").iterdir())) == len(list((rue.folder / "out/b").iterdir())) == 3


def test_a_negative_label_does_not_become_a_folder(rue, own_photos):
    (file,) = sorted(own_photos.rglob("*.jpg"))[:1]
    write_tar(rue.folder / "x.tar", [("a.jpg", file.read_bytes()), ("a.cls", b"-3")])
    expect_failure(rue("prepare", "x.tar", "out", "--format", "folder"), 3, "x.tar", "is not a label")
    assert not (rue.folder / "out").exists()


@pytest.mark.parametrize("format", ["tensor", "webdataset"])
def test_names_that_could_not_be_read_back_are_not_written(rue, own_photos, format):
    (file,) = sorted(own_photos.rglob("*.jpg"))[:1]
    (rue.folder / "list.csv").write_text(f"path,label\n{file},0\n{file},-1\n")
    line = expect_failure(rue("prepare", "list.csv", "out", "--format", format), 3, file, "has the label -1", format)
    assert "bad-images" not in line, "the image is good"
    assert [path.name for path in rue.folder.iterdir() if path.name.startswith("out")] == []


def test_bytes_before_and_after_are_those_on_storage(rue, own_photos):
    done = rue("prepare", own_photos, "u8.tensor", "--dtype", "uint8", "--quiet")
    done = rue("prepare", "u8.tensor", "shards", "--format", "webdataset")
    assert done.returncode == 0, done.stderr
    before, after = (rue.folder / "u8.tensor").stat().st_size, sum(path.stat().st_size for path in (rue.folder / "shards").glob("*.tar"))
    shown = [line for line in done.stderr.splitlines() if "became" in line][0]
    assert wording.MB_BECAME_MB.format(before / 1000000.0, after / 1000000.0) in shown, (shown, before, after)


def test_names_that_a_folder_cannot_hold_are_refused(rue, own_photos):
    first = sorted(own_photos.rglob("*.jpg"))[0]
    for label, said in (("n/a", "'n/a' cannot name a folder"), (".x", "'.x' cannot name a folder")):
        (rue.folder / "list.csv").write_text(f"path,label\n{first},{label}\n")
        expect_failure(rue("prepare", "list.csv", "out", "--format", "folder"), 3, said)
    (rue.folder / "list.csv").write_text(f"path\n{first}\n{first}\n")
    expect_failure(rue("prepare", "list.csv", "out", "--format", "folder"), 3, "two images have the name")
    assert not (rue.folder / "out").exists() and not list(rue.folder.glob(".rue-*"))


def test_a_folder_does_not_replace_a_file(rue, own_photos):
    (rue.folder / "out").write_text("precious")
    expect_failure(rue("prepare", own_photos, "out", "--format", "webdataset", "--force"), 2, "out is a file")
    assert (rue.folder / "out").read_text() == "precious" and not list(rue.folder.glob(".rue-*"))
