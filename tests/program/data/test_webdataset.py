"""The webdataset format: tar shards that Python's tarfile and bsdtar read and write, too."""
import gzip
import io
import json
import shutil
import sqlite3
import struct
import subprocess
import tarfile

import pytest
import wording
from conftest import expect_failure, finish, unwrap, wait_until


def pictures(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.jpg")}


def add(archive, name, data, **more):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    for key, value in more.items():
        setattr(member, key, value)
    archive.addfile(member, io.BytesIO(data))


def make_tar(path, members, mode="w", kind=tarfile.GNU_FORMAT):
    with tarfile.open(path, mode, format=kind) as archive:
        for name, data in members:
            add(archive, name, data)
    return path


@pytest.fixture
def jpeg(photos):
    return sorted(photos.rglob("*.jpg"))[0].read_bytes()


@pytest.fixture
def prepare(rue):
    def call(source, target, *more):
        return rue("prepare", source, target, *more, "--quiet")
    return call


def inspect(rue, path, *more):
    done = rue("inspect", path, "--json", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.quick
def test_photos_from_shards_are_unchanged(prepare, rue, photos, tmp_path):
    shards, back = tmp_path / "shards", tmp_path / "back"
    done = prepare(photos, shards, "--format", "webdataset", "--shard-size", "1M", "--split", "val")
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in shards.glob("val-*"))
    assert len(names) > 3 and names == [f"val-{i:06d}.tar" for i in range(len(names))]
    assert inspect(rue, shards)["classes"] == inspect(rue, photos)["classes"]
    assert prepare(shards, back, "--format", "folder").returncode == 0
    assert pictures(back) == pictures(photos)


def test_photographs_are_converted_and_back_byte_for_byte(prepare, shared_photos, tmp_path):
    content = lambda folder: {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert prepare(shared_photos, tmp_path / "set", "--format", "webdataset", "--shard-size", "2M").returncode == 0
    assert prepare(tmp_path / "set", tmp_path / "back", "--format", "folder").returncode == 0
    assert content(tmp_path / "back") == content(shared_photos)


def test_other_readers_read_rue_s_shards(prepare, photos, tmp_path):
    shards, out = tmp_path / "shards", tmp_path / "out"
    assert prepare(photos, shards, "--format", "webdataset", "--shard-size", "2M").returncode == 0
    expected, found = pictures(photos), {}
    out.mkdir()
    classes = (shards / "classes.txt").read_text().split("\n")
    for shard in sorted(shards.glob("*.tar")):
        with tarfile.open(shard) as archive:
            for member in archive:
                assert member.mtime == member.uid == member.gid == 0
                if member.name.endswith(".jpg"):
                    found[member.name] = archive.extractfile(member).read()
                    label = archive.extractfile(member.name.replace(".jpg", ".cls")).read()
                    assert classes[int(label)] == member.name.split("/")[0]
        if shutil.which("bsdtar"):
            subprocess.run(["bsdtar", "-xf", shard, "-C", out], check=True)
    assert found == expected
    if shutil.which("bsdtar"):
        assert pictures(out) == expected
    else:
        pytest.skip("skipped: no bsdtar, and Python's tarfile agrees")


@pytest.mark.parametrize("suffix, options", [("tar", []), ("tar.gz", ["-z"]), ("tar.bz2", ["-j"]), ("tar.xz", ["-J"]),
                                             ("tar.zst", ["--zstd"]), ("tar.lz4", ["--lz4"])])
@pytest.mark.parametrize("kind", ["ustar", "gnutar", "pax"])
def test_rue_reads_files_of_bsdtar(prepare, photos, tmp_path, suffix, options, kind):
    if not shutil.which("bsdtar"):
        pytest.skip("skipped: no bsdtar")
    names = sorted(path.relative_to(photos).as_posix() for path in photos.rglob("*.jpg"))
    shard, back = tmp_path / f"all.{suffix}", tmp_path / "back"
    subprocess.run(["bsdtar", "-cf", shard, f"--format={kind}", *options, "-C", photos, *names], check=True)
    assert prepare(shard, back, "--format", "folder").returncode == 0
    assert pictures(back) == pictures(photos)


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_rue_reads_files_of_tarfile(prepare, photos, tmp_path, kind):
    expected = {"/".join(["d" * 60, name]): data for name, data in pictures(photos).items()}
    if kind != tarfile.USTAR_FORMAT:
        expected = {"/".join(["ä" * 50, "y" * 200, name]): data for name, data in expected.items()}
    shard, back = make_tar(tmp_path / "x.tar", expected.items(), kind=kind), tmp_path / "back"
    assert prepare(shard, back, "--format", "folder").returncode == 0
    assert pictures(back) == expected


def test_names_that_ustar_cannot_hold_are_written_for_tarfile(prepare, photos, tmp_path):
    deep, shards = tmp_path / "deep", tmp_path / "shards"
    target = deep / ("c" * 150) / ("d" * 150) / ("e" * 120 + ".jpg")
    target.parent.mkdir(parents=True)
    shutil.copy(next(photos.rglob("*.jpg")), target)
    assert prepare(deep, shards, "--format", "webdataset").returncode == 0
    with tarfile.open(shards / "train-000000.tar") as archive:
        assert target.relative_to(deep).as_posix() in archive.getnames()


def test_tensors_are_npy_files_that_numpy_opens(prepare, rue, photos, tmp_path):
    numpy = pytest.importorskip("numpy", reason="skipped: no NumPy")
    for dtype in ("uint8", "float32"):
        shards, tensors = tmp_path / f"shards-{dtype}", tmp_path / f"{dtype}.tensor"
        assert prepare(photos, tensors, "--dtype", dtype).returncode == 0
        assert prepare(photos, shards, "--format", "webdataset", "--mode", "preprocessed", "--dtype", dtype).returncode == 0
        with tarfile.open(shards / "train-000000.tar") as archive:
            files = [archive.extractfile(name).read() for name in archive.getnames() if name.endswith(".npy")]
        arrays = [numpy.load(io.BytesIO(file)) for file in files]
        assert len(arrays) == 48 and all(a.shape == (3, 224, 224) and a.dtype == dtype for a in arrays)
        stride = (arrays[0].nbytes + 4095) // 4096 * 4096
        records = numpy.memmap(tensors, "u1", "r", 4096, (48, stride))[:, :arrays[0].nbytes]
        assert all(a.tobytes() == r.tobytes() for a, r in zip(arrays, records))
        found, back = inspect(rue, shards), tmp_path / f"back-{dtype}.tensor"
        assert (found["mode"], found["dtype"], found["items"]) == ("preprocessed", dtype, 48)
        assert prepare(shards, back).returncode == 0
        assert back.read_bytes() == tensors.read_bytes()


def test_patterns_name_shards_in_their_order(prepare, rue, photos, tmp_path):
    shards = tmp_path / "shards"
    assert prepare(photos, shards, "--format", "webdataset", "--shard-size", "1M").returncode == 0
    count = len(list(shards.glob("*.tar")))
    whole = inspect(rue, shards)
    pattern = f"{shards}/train-{{000000..{count - 1:06d}}}.tar"
    assert inspect(rue, pattern)["digest"] == whole["digest"]
    assert inspect(rue, f"{shards}/train-00000{{0,1}}.tar")["items"] < whole["items"]
    done = rue("inspect", f"{shards}/train-{{000000..{count:06d}}}.tar")
    expect_failure(done, 3, f"train-{count:06d}.tar")
    expect_failure(rue("inspect", f"{shards}/train-{{000000..}}.tar"), 2, "pattern")


def test_a_pattern_can_be_tuned_for(rue, prepare, photos, tmp_path):
    shards = tmp_path / "shards"
    assert prepare(photos, shards, "--format", "webdataset", "--shard-size", "1M").returncode == 0
    done = rue("tune", "shards/train-{000000..000002}.tar", "--budget", "30trials", "--batch-size", "4,8",
               "--num-workers", "0,2", "--model", "none", "--mode", "raw", "--out", tmp_path / "study", cwd=tmp_path)
    assert done.returncode in (0, 5), done.stderr


def test_a_folder_of_photos_may_contain_archives(rue, own_photos, jpeg):
    make_tar(own_photos / "a.tar", [("a.jpg", jpeg)])
    assert inspect(rue, own_photos)["format"] == "folder"
    for path in own_photos.rglob("*.jpg"):
        path.rename(own_photos / path.name)
    for path in own_photos.glob("*/"):
        path.rmdir()
    assert inspect(rue, own_photos)["format"] == "folder"


# ---- bad input ----

def refused(rue, path, *words):
    return expect_failure(rue("inspect", path), 3, path.name, *words)


def raw_header(name=b"a.jpg", size=b"00000000003\0", kind=b"0", magic=b"ustar\x0000"):
    block = bytearray(512)
    block[:len(name)] = name
    block[100:108], block[108:116], block[116:124] = b"0000644\0", b"0000000\0", b"0000000\0"
    block[124:136], block[136:148], block[148:156] = size, b"00000000000\0", b" " * 8
    block[156:157], block[257:265] = kind, magic
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def pax(key, value, kind=b"x"):
    length = next(n for n in range(99) if len(b"%d %s=%s\n" % (n, key, value)) == n)
    return [raw_header(b"x", size=b"%011o\0" % length, kind=kind), b"%d %s=%s\n" % (length, key, value)]


def damaged(path, *blocks, end=True):
    path.write_bytes(b"".join(block + b"\0" * (-len(block) % 512) for block in blocks) + b"\0" * 1024 * end)
    return path


@pytest.mark.parametrize("blocks, words", [
    ([raw_header(), b"abc", raw_header(b"b.jpg")[:-1] + b"x", b"abc"], ["damaged", "byte 1024"]),
    ([raw_header(), b"abc", raw_header(b"b.jpg", size=b"\xff" * 12)], ["negative", "byte 1024"]),
    ([raw_header(), b"abc", raw_header(b"b.jpg", size=b"-0000000001\0")], ["negative", "byte 1024"]),
    ([raw_header(), b"abc", raw_header(b"b.jpg", size=b"77777777777\0")], ["truncated", "byte 1024"]),
    ([raw_header(), b"abc", raw_header(b"b.jpg", size=b"\x80" + b"\x7f" * 11)], ["size", "byte 1024"]),
    ([raw_header(size=b"\x80" + b"\0" * 7 + b"\xff" * 4)], ["truncated", "byte 0"]),
    ([*pax(b"size", b"99999999999"), raw_header(), b"abc"], ["truncated", "byte 0"]),
    ([*pax(b"size", b"99999999999999999999"), raw_header(), b"abc"], ["size", "byte 0"]),
    ([*pax(b"size", b"-1"), raw_header(), b"abc"], ["negative", "byte 0"]),
    ([*pax(b"GNU.sparse.major", b"1"), raw_header(), b"abc"], ["damaged", "byte 0"]),
    ([raw_header(b"x", size=b"77777777\0   ", kind=b"x"), b"abc"], ["byte 0"]),
    ([raw_header(b"L", size=b"00000000003\0", kind=b"L"), b"ab\0"], ["damaged", "byte 0"]),
    ([raw_header(), b"abc", raw_header(b"a.JPG"), b"abc"], ["same extension as another", "byte 1024"]),
    ([raw_header(), b"abc", raw_header(b"a.cls"), b"cat"], ["not a label", "byte 1024"]),
    ([raw_header(b"a.cls"), b"  7", raw_header(b"a.jpg"), b"abc", raw_header(b"b.jpg"), b"abc"], ["has no label", "byte 2048"]),
    ([raw_header(b"a.txt"), b"abc"], ["no sample with an image"]),
    ([raw_header(b"a.npy"), b"abc"], ["not an npy", "byte 0"]),
])
def test_bad_archives_are_refused_with_file_and_byte(rue, tmp_path, blocks, words):
    refused(rue, damaged(tmp_path / "bad.tar", *blocks), *words)


def test_cut_archives_are_refused(rue, tmp_path, jpeg):
    whole = make_tar(tmp_path / "a.tar", [("a.jpg", jpeg), ("b.jpg", jpeg)]).read_bytes()
    second = 512 + (len(jpeg) + 511) // 512 * 512
    bad = tmp_path / "bad.tar"
    for length, words in ((second - 5, ["truncated", "byte 0"]), (second + 100, ["truncated", f"byte {second}"]),
                          (second + 600, ["truncated", f"byte {second}"])):
        bad.write_bytes(whole[:length])
        refused(rue, bad, *words)
    bad.write_bytes(b"")
    refused(rue, bad, "holds no sample in its 1 shards")
    bad.write_bytes(whole[:2 * second])  # tarfile and bsdtar take it; a third sample may be missing
    refused(rue, bad, f"byte {2 * second}", "without a block of zeros")


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
def test_damaged_and_cut_compressed_shards_are_refused(rue, tmp_path, jpeg, suffix):
    whole = make_tar(tmp_path / f"a.tar.{suffix}", [("a.jpg", jpeg), ("b.jpg", jpeg)], f"w:{suffix}").read_bytes()
    bad = tmp_path / f"bad.tar.{suffix}"
    half = len(whole) // 2
    for data in (whole[:-3], whole[:half], whole[:half] + b"\xaa\x55" * 40 + whole[half + 80:]):
        bad.write_bytes(data)
        refused(rue, bad, "byte")


@pytest.mark.quick
def test_compressed_shards_can_be_converted_and_not_be_tuned_for(rue, prepare, photos, tmp_path):
    shards, packed = tmp_path / "shards", tmp_path / "packed"
    assert prepare(photos, shards, "--format", "webdataset", "--shard-size", "1M").returncode == 0
    packed.mkdir()
    for file in shards.iterdir():
        if file.suffix == ".tar":
            (packed / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 1))
        else:
            shutil.copy(file, packed)
    for source, to in ((shards, "plain.tensor"), (packed, "packed.tensor")):
        assert prepare(source, tmp_path / to, "--dtype", "uint8").returncode == 0
    assert (tmp_path / "plain.tensor").read_bytes() == (tmp_path / "packed.tensor").read_bytes()
    assert inspect(rue, packed)["items"] == inspect(rue, shards)["items"]
    assert prepare(packed, tmp_path / "few", "--format", "folder", "--images", "3").returncode == 0
    assert len(pictures(tmp_path / "few")) == 3
    for words in (["tune", packed], ["tune", shards, packed]):
        expect_failure(rue(*words, "--out", "out"), 3, "train-000000.tar.gz is compressed", "rue prepare")


@pytest.mark.parametrize("name", ["../a.jpg", "x/../../b.jpg", "/etc/a.jpg"])
def test_names_that_lead_out_of_a_folder_are_not_written(prepare, tmp_path, jpeg, name):
    make_tar(tmp_path / "a.tar", [(name, jpeg)])
    for form in ("folder", "webdataset"):
        expect_failure(prepare(tmp_path / "a.tar", tmp_path / "out", "--format", form), 3, "cannot name a file")
    assert not (tmp_path / "out").exists()


def test_links_and_devices_are_skipped_and_counted(rue, tmp_path, jpeg):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        add(archive, "a.jpg", jpeg)
        add(archive, "a.cls", b"1")
        for name, kind in (("l.jpg", tarfile.SYMTYPE), ("h.jpg", tarfile.LNKTYPE), ("d.jpg", tarfile.CHRTYPE),
                           ("f.jpg", tarfile.FIFOTYPE), ("folder.jpg", tarfile.DIRTYPE)):
            add(archive, name, b"", type=kind, linkname="/etc/passwd")
        add(archive, "s.jpg", b"", type=tarfile.SYMTYPE, linkname="a.jpg")
        add(archive, "s.cls", b"3")
        add(archive, "only.txt", b"3")
    found = inspect(rue, path)
    assert (found["items"], found["skipped"]) == (1, 7)
    assert "l.jpg" in rue("inspect", path).stdout


def test_samples_without_images_are_skipped_and_counted(rue, tmp_path, jpeg):
    path = make_tar(tmp_path / "a.tar", [("a.jpg", jpeg), ("a.cls", b"1"), ("b.txt", b"x"), ("b.cls", b"2"), ("c.json", b"{}")])
    found = inspect(rue, path)
    assert (found["items"], found["skipped"]) == (1, 2)


def test_labels_are_read_from_cls_or_the_named_extension(rue, prepare, tmp_path, jpeg):
    path = make_tar(tmp_path / "a.tar", [("x/1.jpg", jpeg), ("x/1.cls", b"2"), ("x/1.kind", b"4\n"), ("x/1.json", b"{}"),
                                         ("x/2.jpeg", jpeg), ("x/2.cls", b"1"), ("x/2.kind", b" 5 ")])
    (tmp_path / "classes.txt").write_text("".join(f"name {i}\n" for i in range(6)))
    expected = {None: {"name 2": 1, "name 1": 1}, "kind": {"name 4": 1, "name 5": 1}}
    for key, classes in expected.items():
        out = tmp_path / f"out-{key}"
        assert prepare(path, out, "--format", "folder", *(["--label-key", key] if key else [])).returncode == 0
        assert {c["name"]: c["items"] for c in inspect(rue, out)["classes"]} == classes
        assert sorted(found.name for found in out.rglob("*.j*")) == ["1.jpg", "2.jpeg"]


def test_keys_that_would_be_one_sample_stay_two(prepare, rue, photos, tmp_path):
    folder, shards = tmp_path / "photos", tmp_path / "shards"
    folder.mkdir()
    names = ["a.1.jpg", "a_1.jpg", "b.jpeg", "b.jpg", "b.JPG", ".hidden.jpg"]
    for name, photo in zip(names, sorted(photos.rglob("*.jpg"))):
        shutil.copy(photo, folder / name)
    assert prepare(folder, shards, "--format", "webdataset").returncode == 0
    assert inspect(rue, shards)["items"] == 5  # hidden ones are no part of the folder
    with tarfile.open(shards / "train-000000.tar") as archive:
        stems = [name.rsplit(".", 1)[0] for name in archive.getnames()]
    assert all(a != b for a, b in zip(stems, stems[1:])) and not any("." in stem for stem in stems)


def test_names_that_differ_in_a_dot_stay_apart_in_any_format(prepare, tmp_path, jpeg):
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in ("a.1.jpg", "aB.jpg", "a_1.jpg", "a%2E1.jpg"):
        (folder / name).write_bytes(jpeg)
    assert prepare(folder, tmp_path / "shards", "--format", "webdataset").returncode == 0
    done = prepare(tmp_path / "shards", tmp_path / "back", "--format", "folder")
    assert done.returncode == 0, done.stderr
    assert sorted(pictures(tmp_path / "back")) == ["a%252E1.jpg", "a%2E1.jpg", "aB.jpg", "a_1.jpg"]


# ---- the index ----

def test_the_index_is_saved_and_made_again_if_stale_or_damaged(rue, tmp_path, jpeg):
    folder = tmp_path / "shards"
    folder.mkdir()
    make_tar(folder / "a.tar", [("1.jpg", jpeg), ("2.jpg", jpeg)])
    assert inspect(rue, folder)["items"] == 2
    index, = folder.glob(".rue-index-*")
    kept = index.read_bytes()
    assert inspect(rue, folder)["items"] == 2 and index.read_bytes() == kept
    for damage in (kept[:100], kept[:-1], kept[:650] + b"\xff" + kept[651:], kept + b"x"):
        index.write_bytes(damage)
        assert inspect(rue, folder)["items"] == 2
        assert index.read_bytes() == kept
    for foreign in (b"", b"what somebody else keeps under this name"):
        index.write_bytes(foreign)
        assert inspect(rue, folder)["items"] == 2
        assert index.read_bytes() == foreign
    index.unlink()
    make_tar(folder / "a.tar", [("1.jpg", jpeg), ("2.jpg", jpeg), ("3.jpg", jpeg)])
    assert inspect(rue, folder)["items"] == 3
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == [index.name]


def test_shards_are_read_without_an_index_if_none_can_be_written(unprivileged_rue, jpeg):
    folder = unprivileged_rue.folder / "shards"
    folder.mkdir()
    make_tar(folder / "a.tar", [("1.jpg", jpeg)])
    folder.chmod(0o555)
    (folder / "a.tar").chmod(0o444)
    done = unprivileged_rue("inspect", folder, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["items"] == 1, done.stderr
    assert not list(folder.glob(".rue*"))


def trials(store):
    if not store.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
            return connection.execute("select count(*) from trial").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@pytest.mark.parametrize("what", ["deleted", "replaced", "changed"])
def test_a_shard_that_is_lost_while_trials_run_is_reported(rue, prepare, photos, tmp_path, what):
    shards, out = tmp_path / "shards", tmp_path / "study"
    assert prepare(photos, shards, "--format", "webdataset", "--shard-size", "1M").returncode == 0
    process = rue.start("tune", shards, "--budget", "60s", "--mode", "raw", "--batch-size", "4", "--num-workers", "1,2",
                        "--images", "2000", "--model", "resnet18", "--strategy", "grid", "--out", out)
    wait_until(lambda: trials(out / "study.db"), process)
    shard = sorted(shards.glob("train*"))[1]
    if what == "deleted":
        shard.unlink()
    elif what == "replaced":
        other = tmp_path / "other"
        shutil.copy(shard, other)
        other.replace(shard)
    else:
        with open(shard, "r+b") as file:
            file.truncate(shard.stat().st_size - 600)
    code, reported, why = finish(process)
    assert code not in (0, 1) and wording.AT_BYTE.format(shard.name) in reported + why


def test_a_label_that_no_sample_has_is_not_zero(rue, tmp_path, jpeg):
    path = make_tar(tmp_path / "a.tar", [("a.jpg", jpeg), ("a.cls", b"3"), ("b.jpg", jpeg), ("b.cls", b"4")])
    done = rue("inspect", path, "--label-key", "clas")
    assert done.returncode == 3 and wording.NO_LABEL_CLAS in done.stderr


# ---- labels ----

@pytest.fixture
def read_labels(rue, prepare, tmp_path):
    """The labels of what `prepare` makes of a path, and the note of `inspect`."""
    def call(path, *more):
        store = tmp_path / f"labels-{len(list(tmp_path.iterdir()))}.zarr"
        done = prepare(path, store, *more)
        assert done.returncode == 0, done.stderr
        stored = store / "labels/0"
        labels = [label for label, in struct.iter_unpack("<i", stored.read_bytes())] if stored.exists() else None
        return labels, inspect(rue, path, *more).get("note", "")
    return call


def pairs(jpeg, extension, values=(3, 1, 2)):
    return [member for i, value in enumerate(values) for member in ((f"{i}.jpg", jpeg), (f"{i}.{extension}", b"%d" % value))]


@pytest.mark.parametrize("extension", ["cls", "CLS", "class", "label", "target"])
def test_labels_have_one_of_the_usual_extensions(read_labels, tmp_path, jpeg, extension):
    assert read_labels(make_tar(tmp_path / "a.tar", pairs(jpeg, extension))) == ([3, 1, 2], "")


def test_cls_counts_where_there_are_other_numbers(read_labels, tmp_path, jpeg):
    members = [("0.class", b"9"), ("0.cls", b"3"), ("0.jpg", jpeg), ("0.target", b"8")]
    assert read_labels(make_tar(tmp_path / "a.tar", members)) == ([3], "")


@pytest.mark.parametrize("members", [[("0.txt", b"5")], [("0.json", b'{"label": 5}')], [("0.class", b"cat")], [("0.index", b"5")],
                                     [("0.class", b"5"), ("0.target", b"6")], [("0.label", b"5" * 65)], []])
def test_labels_that_are_not_found_are_reported(read_labels, rue, tmp_path, jpeg, members):
    path = make_tar(tmp_path / "a.tar", [("0.jpg", jpeg), *members])
    labels, note = read_labels(path)
    found = ", ".join(["jpg", *(name[2:] for name, _ in members)])
    assert labels is None and note == f"no labels found: the extensions are {found}; name that of the labels with label_key"
    assert note in unwrap(rue("inspect", path).stdout) and note in rue("prepare", path, "other.tensor").stderr
    if members and members[0][1] == b"5":
        assert read_labels(path, "--label-key", members[0][0][2:]) == ([5], "")


APART = {
    "images_first": [["0.jpg", "1.jpg", "0.cls", "1.cls"]],
    "labels_first": [["0.cls", "1.cls", "0.jpg", "1.jpg"]],
    "one_pair": [["0.jpg", "0.cls", "1.jpg", "2.jpg", "2.cls", "1.cls"]],
    "folders": [["images/0.jpg", "labels/0.cls"]],
    "shards": [["0.jpg", "1.jpg"], ["0.cls", "1.cls"]],
    "class": [["0.jpg", "1.jpg", "0.class", "1.class"]],
}


@pytest.mark.parametrize("name", APART)
def test_images_and_labels_that_lie_apart_are_refused(rue, tmp_path, jpeg, name):
    folder = tmp_path / "set"
    folder.mkdir()
    for i, members in enumerate(APART[name]):
        make_tar(folder / f"{i}.tar", [(member, jpeg if member.endswith("jpg") else b"3") for member in members])
    refused(rue, folder, "0.tar: the sample at byte", "has no label, and", "has a label but no image", "sort the members by name")


# ---- folders of shards ----

@pytest.mark.parametrize("empty", [b"", bytes(1024), bytes(10240), gzip.compress(b""), gzip.compress(bytes(10240))],
                         ids=["nothing", "two blocks", "a record", "compressed nothing", "compressed record"])
@pytest.mark.parametrize("name", ["0", "2"])
def test_empty_shards_are_skipped_and_reported(read_labels, rue, tmp_path, jpeg, empty, name):
    folder = tmp_path / "set"
    folder.mkdir()
    bad = folder / f"{name}.tar{'.gz' * (empty[:1] != b'')}"
    bad.write_bytes(empty)
    refused(rue, folder, "holds no sample in its 1 shards")
    make_tar(folder / "1.tar", pairs(jpeg, "cls"))
    labels, note = read_labels(folder)
    assert labels == [3, 1, 2] and note.startswith(f"files skipped: 1, such as {bad}, an empty shard")


def test_folders_beside_shards_are_passed_over(rue, tmp_path, jpeg):
    folder = tmp_path / "set"
    (folder / "_tmp").mkdir(parents=True)
    (folder / "_tmp/0.feather").write_text("x")
    (folder / "old.tar").mkdir()
    make_tar(folder / "00000.tar", pairs(jpeg, "cls"))
    found = inspect(rue, folder)
    assert (found["format"], found["items"], found.get("note")) == ("webdataset", 3, None)
    (folder / "cat").mkdir()
    (folder / "cat/1.jpg").write_bytes(jpeg)
    assert inspect(rue, folder)["format"] == "folder"


def test_shards_of_several_splits_are_reported(rue, tmp_path, jpeg):
    folder = tmp_path / "set"
    folder.mkdir()
    for name in ("train-000", "train-001", "val-000"):
        make_tar(folder / f"{name}.tar", pairs(jpeg, "cls"))
    for _ in range(2):  # the second time from the saved index
        found = inspect(rue, folder)
        assert found["items"] == 9 and wording.THE_SHARDS_HAVE_NAMES.format(2) in found["note"]
    assert "note" not in inspect(rue, f"{folder}/train-{{000..001}}.tar")


def test_messages_name_the_extensions_that_were_found(rue, tmp_path, jpeg):
    refused(rue, make_tar(tmp_path / "a.tar", [("1.input.bin", jpeg), ("1.output.cls", b"2")]),
            "no sample with an image (.jpg, .png, .webp, .gif, .bmp, .npy)", "the extensions are input.bin, output.cls")
    refused(rue, make_tar(tmp_path / "b.tar", [(f"n0.{i}.bin", jpeg) for i in range(60)]), "0.bin, 1.bin", ", ...")
    path = make_tar(tmp_path / "c.tar", [("1.jpg", jpeg), ("1.cls", b"1"), ("2.tif", jpeg), ("2.cls", b"2")])
    assert wording.THE_SAMPLE_AT_BYTE.format(2) in (note := inspect(rue, path)["note"]) and wording.WITHOUT_AN_IMAGE_IT_HAS in note
