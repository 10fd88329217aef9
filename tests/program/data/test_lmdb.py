"""LMDB as a format: what rue writes is read by python-lmdb, what that writes is read by rue, and damage is reported."""
import io
import json

import pytest

import wording
from conftest import expect_failure

lmdb = pytest.importorskip("lmdb", reason="skipped: python-lmdb is not here")


def list_files(folder):
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


def read_records(path):
    """{key: value}, statistics."""
    env = lmdb.open(str(path), readonly=True, lock=False, subdir=path.is_dir())
    with env.begin() as transaction:
        records = {key.decode(): value for key, value in transaction.cursor()}
    facts = env.stat(), env.info()
    env.close()
    return records, facts


@pytest.mark.quick
@pytest.mark.parametrize("name", ["set.lmdb", "set.mdb"])
def test_photos_are_converted_and_back_unchanged(rue, photos, name):
    made(rue, photos, name)
    made(rue, name, "back", "--format", "folder")
    assert list_files(rue.folder / "back") == list_files(photos)
    assert (rue.folder / name).is_dir() == name.endswith(".lmdb")
    assert sorted(path.name for path in (rue.folder / "set.lmdb").glob("*")) in ([], ["data.mdb"])


def test_photographs_are_converted_and_back_unchanged(rue, shared_photos):
    made(rue, shared_photos, "set.lmdb")
    made(rue, "set.lmdb", "back", "--format", "folder")
    assert list_files(rue.folder / "back") == list_files(shared_photos)


def test_python_lmdb_reads_rue_s_file(rue, photos):
    made(rue, photos, "set.lmdb")
    records, (stat, info) = read_records(rue.folder / "set.lmdb")
    assert records == list_files(photos)
    size = (rue.folder / "set.lmdb/data.mdb").stat()
    assert size.st_size == (info["last_pgno"] + 1) * stat["psize"] and size.st_blocks * 512 <= size.st_size + 8192


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_tensors_are_npy_files_and_those_of_the_tensor_format(rue, photos, dtype):
    numpy = pytest.importorskip("numpy", reason="skipped: no NumPy")
    made(rue, photos, "set.lmdb", "--mode", "preprocessed", "--dtype", dtype)
    made(rue, photos, "set.tensor", "--dtype", dtype)
    records, _ = read_records(rue.folder / "set.lmdb")
    assert records.pop("__made_with__").startswith(b"resize 256 ")
    arrays = [numpy.load(io.BytesIO(records[key])) for key in sorted(records)]
    assert all(array.shape == (3, 224, 224) and array.dtype == dtype for array in arrays)
    made(rue, "set.lmdb", "again.tensor")
    assert (rue.folder / "again.tensor").read_bytes() == (rue.folder / "set.tensor").read_bytes()
    stride = (arrays[0].nbytes + 4095) // 4096 * 4096
    file = (rue.folder / "set.tensor").read_bytes()
    assert all(array.tobytes() == file[4096 + i * stride:][:array.nbytes] for i, array in enumerate(arrays))


@pytest.mark.parametrize("how", [{}, {"subdir": False}, {"writemap": True, "sync": False}])
def test_rue_reads_a_file_of_python_lmdb(rue, photos, how):
    images = sorted(list_files(photos).items())
    put(rue.folder / "theirs", [(f"{i:08d}", data) for i, (_, data) in enumerate(images)], **how)
    shown = json.loads(rue("inspect", "theirs", "--json").stdout)
    assert (shown["format"], shown["mode"], shown["items"]) == ("lmdb", "raw", len(images))
    made(rue, "theirs", "back", "--format", "folder")
    assert list_files(rue.folder / "back") == {f"{i:08d}.jpg": data for i, (_, data) in enumerate(images)}


def test_pairs_of_images_and_words_are_read_without_labels(rue, photos):
    images = sorted(list_files(photos).items())
    pairs = [(f"image-{i:09d}", data) for i, (_, data) in enumerate(images, 1)]
    pairs += [(f"label-{i:09d}", name.split("/")[0].encode()) for i, (name, _) in enumerate(images, 1)]
    put(rue.folder / "theirs", pairs + [("num-samples", str(len(images)).encode())])
    shown = json.loads(rue("inspect", "theirs", "--json").stdout)
    assert shown["skipped"] == len(images) + 1 and wording.NO_LABELS_FOUND_OF_KEYS.format(0, len(images)) in shown["note"]
    made(rue, "theirs", "back", "--format", "folder")
    assert list_files(rue.folder / "back") == {f"image-{i:09d}.jpg": data for i, (_, data) in enumerate(images, 1)}


@pytest.mark.parametrize("key", ["/%s/%d.jpg", "./%s/%d.jpg", "//./%s//%d.jpg", "%s/%d.jpg", None])
def test_keys_with_a_leading_slash_or_dot_have_classes(rue, photos, key):
    forms = [key] if key else ["/%s/%d.jpg", "%s/%d.jpg", "./%s/%d.jpg"]
    images = [data for _, data in sorted(list_files(photos).items())[:12]]
    put(rue.folder / "theirs", [(forms[i % len(forms)] % ("cat" if i % 2 else "dog", i), data) for i, data in enumerate(images)])
    made(rue, "theirs", "back", "--format", "folder")
    assert list_files(rue.folder / "back") == {f"{'cat' if i % 2 else 'dog'}/{i}.jpg": data for i, data in enumerate(images)}
    shown = json.loads(rue("inspect", "theirs", "--json").stdout)
    assert [entry["name"] for entry in shown["classes"]] == ["cat", "dog"] and "skipped" not in shown.get("note", "")


def test_one_that_was_changed_many_times_is_read(rue, photos):
    """Pages of several ages, some of them free again."""
    images = sorted(list_files(photos).items())
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
    assert list_files(rue.folder / "back") == kept


@pytest.mark.parametrize("words", [[], ["--mode", "preprocessed", "--dtype", "uint8"]])
def test_an_lmdb_can_be_tuned_for(rue, photos, words):
    made(rue, photos, "set.lmdb", *words)
    done = rue("tune", "set.lmdb", "--model", "none", "--batch-size", "8", "--num-workers", "0..2", "--quiet", "--out", "out",
               *(["--mode", "raw"] if not words else []))
    assert done.returncode == 0, done.stderr
    reported = json.loads((rue.folder / "out/recommendation.json").read_text())["recommendations"][0]
    assert reported["variant"]["format"] == "lmdb" if "variant" in reported else reported


# ---- damage ----


def test_damage_is_one_line_and_no_signal(rue, photos):
    made(rue, photos, "set.lmdb")
    whole = (rue.folder / "set.lmdb/data.mdb").read_bytes()
    pages = [whole[at:at + 4096] for at in range(0, len(whole), 4096)]
    cases = {"cut": whole[:len(whole) // 2], "cut_in_meta": whole[:5000],
             "cut_after_meta": whole[:4096], "cut_in_first_page": whole[:200], "empty": b"", "text": b"x" * 9000,
             "keys": b"".join(page[:16] + b"\xff" * 4080 if page[10:12] == b"\2\0" else page for page in pages)}
    for name, data in cases.items():
        file = rue.folder / f"{name}.mdb"
        file.write_bytes(data)
        for words in (["inspect", file], ["prepare", file, "out"], ["tune", file, "--out", "study"]):
            line = expect_failure(rue(*words), 3, file, "is truncated" if name.startswith("cut") else file)
            assert "signal" not in line and "SIG" not in line
    assert not (rue.folder / "out").exists()
