"""LMDB as a format: what rue writes is read by python-lmdb, what that writes is read by rue, and damage is told."""
import json
import struct

import pytest

from conftest import expect_failure

lmdb = pytest.importorskip("lmdb", reason="skipped: python-lmdb is not here")


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def made(rue, *words):
    done = rue("prepare", *words, "--quiet")
    assert done.returncode == 0, done.stderr


def put(path, pairs, **how):
    """What python-lmdb writes of (key, value)."""
    env = lmdb.open(str(path), map_size=1 << 28, **how)
    with env.begin(write=True) as transaction:
        for key, value in pairs:
            transaction.put(key.encode() if isinstance(key, str) else key, value)
    env.close()


def records_of(path):
    """By the words of lmdb_record.h: [(name, label, mode, dtype, shape, payload)], class names, statistics."""
    env = lmdb.open(str(path), readonly=True, lock=False, subdir=path.is_dir())
    with env.begin() as transaction:
        index = transaction.get(b"rue")
        count, class_count = struct.unpack_from("<II", index, 16)
        records = []
        for i in range(count):
            value = transaction.get(b"%08d" % i)
            magic, version, crc, label, name_bytes, at, mode, dtype, *shape = struct.unpack_from("<8sIIiIIIIIII", value)
            assert (magic, version) == (b"RUERECRD", 1) and at % 16 == 0
            records.append((value[48:48 + name_bytes].decode(), label, mode, dtype, tuple(shape), value[at:]))
        classes = [name.decode() for name in index[24 + 8 * count:].split(b"\0")[:class_count]]
        facts = env.stat(), env.info()
    env.close()
    return records, classes, facts


@pytest.mark.quick
@pytest.mark.parametrize("name", ["set.lmdb", "set.mdb"])
def test_photos_go_there_and_back_unchanged(rue, photos, name):
    made(rue, photos, name)
    made(rue, name, "back", "--format", "folder")
    assert files_of(rue.folder / "back") == files_of(photos)
    assert (rue.folder / name).is_dir() == name.endswith(".lmdb")
    assert sorted(path.name for path in (rue.folder / "set.lmdb").glob("*")) in ([], ["data.mdb"])


def test_photographs_go_there_and_back_unchanged(rue, shared_photos):
    made(rue, shared_photos, "set.lmdb")
    made(rue, "set.lmdb", "back", "--format", "folder")
    assert files_of(rue.folder / "back") == files_of(shared_photos)


def test_python_lmdb_reads_what_is_written(rue, photos):
    made(rue, photos, "set.lmdb")
    records, classes, (stat, info) = records_of(rue.folder / "set.lmdb")
    told = files_of(photos)
    assert {name: payload for name, *_, payload in records} == told and len(records) == len(told)
    assert all(classes[label] == name.split("/")[0] and mode == 0 for name, label, mode, *_ in records)
    assert stat["entries"] == len(told) + 1
    size = (rue.folder / "set.lmdb/data.mdb").stat()
    assert size.st_size == (info["last_pgno"] + 1) * stat["psize"] and size.st_blocks * 512 <= size.st_size + 8192


@pytest.mark.parametrize("dtype, code, width", [("uint8", 1, 1), ("float32", 0, 4)])
def test_tensors_are_those_of_the_tensor_format(rue, photos, dtype, code, width):
    made(rue, photos, "set.lmdb", "--mode", "preprocessed", "--dtype", dtype, "--images", "7")
    made(rue, photos, "set.tensor", "--dtype", dtype, "--images", "7")
    records, _, _ = records_of(rue.folder / "set.lmdb")
    bytes_each, stride = 3 * 224 * 224 * width, (3 * 224 * 224 * width + 4095) // 4096 * 4096
    file = (rue.folder / "set.tensor").read_bytes()
    for i, (_, _, mode, told, shape, payload) in enumerate(records):
        assert (mode, told, shape) == (1, code, (3, 224, 224))
        assert payload == file[4096 + i * stride:][:bytes_each]
    made(rue, "set.lmdb", "again.tensor")
    assert (rue.folder / "again.tensor").read_bytes() == file


@pytest.mark.parametrize("how", [{}, {"subdir": False}, {"writemap": True, "sync": False}])
def test_what_python_lmdb_wrote_is_read(rue, photos, how):
    images = sorted(files_of(photos).items())
    put(rue.folder / "theirs", [(f"{i:08d}", data) for i, (_, data) in enumerate(images)], **how)
    shown = json.loads(rue("inspect", "theirs", "--json").stdout)
    assert (shown["format"], shown["mode"], shown["items"]) == ("lmdb", "raw", len(images))
    made(rue, "theirs", "back", "--format", "folder")
    assert files_of(rue.folder / "back") == {f"{i:08d}.jpg": data for i, (_, data) in enumerate(images)}


def test_pairs_of_images_and_words_are_read_without_labels(rue, photos):
    images = sorted(files_of(photos).items())
    pairs = [(f"image-{i:09d}", data) for i, (_, data) in enumerate(images, 1)]
    pairs += [(f"label-{i:09d}", name.split("/")[0].encode()) for i, (name, _) in enumerate(images, 1)]
    put(rue.folder / "theirs", pairs + [("num-samples", str(len(images)).encode())])
    assert json.loads(rue("inspect", "theirs", "--json").stdout)["skipped"] == len(images) + 1
    made(rue, "theirs", "back", "--format", "folder")
    assert files_of(rue.folder / "back") == {f"image-{i:09d}.jpg": data for i, (_, data) in enumerate(images, 1)}


def test_one_that_was_changed_many_times_is_read(rue, photos):
    """Pages of several ages, some of them free again."""
    images = sorted(files_of(photos).items())
    for turn in range(6):
        put(rue.folder / "theirs", [(f"{i:08d}", images[(i + turn) % 48][1]) for i in range(0, 40, turn % 3 + 1)])
        env = lmdb.open(str(rue.folder / "theirs"), map_size=1 << 28)
        with env.begin(write=True) as transaction:
            transaction.delete(b"%08d" % (turn + 1))
        env.close()
    env = lmdb.open(str(rue.folder / "theirs"), readonly=True)
    with env.begin() as transaction:
        kept = {key.decode() + ".jpg": value for key, value in transaction.cursor()}
    env.close()
    made(rue, "theirs", "back", "--format", "folder")
    assert files_of(rue.folder / "back") == kept


@pytest.mark.parametrize("words", [[], ["--mode", "preprocessed", "--dtype", "uint8"]])
def test_it_can_be_tuned_for(rue, photos, words):
    made(rue, photos, "set.lmdb", *words)
    done = rue("tune", "set.lmdb", "--model", "none", "--batch-size", "8", "--num-workers", "0..2", "--quiet", "--out", "out",
               *(["--mode", "raw"] if not words else []))
    assert done.returncode == 0, done.stderr
    told = json.loads((rue.folder / "out/recommendation.json").read_text())["recommendations"][0]
    assert told["variant"]["format"] == "lmdb" if "variant" in told else told


# ---- damage ----


def test_damage_is_one_line_and_no_signal(rue, photos):
    made(rue, photos, "set.lmdb")
    whole = (rue.folder / "set.lmdb/data.mdb").read_bytes()
    cases = {"cut": whole[:len(whole) // 2], "cut_in_meta": whole[:5000], "empty": b"", "text": b"x" * 9000,
             "root": whole[:-4096 * 3] + b"\xff" * 4096 * 3}
    for name, data in cases.items():
        file = rue.folder / f"{name}.mdb"
        file.write_bytes(data)
        for words in (["inspect", file], ["prepare", file, "out"], ["tune", file, "--out", "study"]):
            line = expect_failure(rue(*words), 3, file)
            assert "signal" not in line and "SIG" not in line
    assert not (rue.folder / "out").exists()


def test_a_wrong_byte_is_found_and_its_key_named(rue, photos):
    made(rue, photos, "set.mdb")
    file = rue.folder / "set.mdb"
    data = bytearray(file.read_bytes())
    where = data.index(sorted(photos.rglob("*.jpg"))[3].read_bytes()[5000:6000])
    data[where] ^= 1
    file.write_bytes(data)
    expect_failure(rue("prepare", file, "back", "--format", "folder"), 3, "key 00000003 at byte", file, "CRC-32C")
    assert not (rue.folder / "back").exists()
