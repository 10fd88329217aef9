"""TFRecord as a format: framed and parsed by an implementation that is not rue's (protobuf, crc32c)."""
import gzip
import io
import json
import struct
import zlib

import pytest

import wording
from conftest import expect_failure
from test_lmdb import list_files, made

pytest.importorskip("google.protobuf", reason="skipped: no protobuf")
crc32c = pytest.importorskip("crc32c", reason="skipped: no crc32c").crc32c

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: E402


def example_class():
    """tf.train.Example, from its published definition."""
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="tensorflow", syntax="proto3")
    kind = descriptor_pb2.FieldDescriptorProto

    def message(name, *fields, within=None):
        made = (within.nested_type if within else file.message_type).add(name=name)
        for number, (field, label, type_, of) in enumerate(fields, 1):
            made.field.add(name=field, number=number, label=label, type=type_, type_name=of)
        return made
    one, many = kind.LABEL_OPTIONAL, kind.LABEL_REPEATED
    message("BytesList", ("value", many, kind.TYPE_BYTES, None))
    message("FloatList", ("value", many, kind.TYPE_FLOAT, None))
    message("Int64List", ("value", many, kind.TYPE_INT64, None))
    message("Feature", *((f"{name}_list", one, kind.TYPE_MESSAGE, f".tensorflow.{of}List")
                         for name, of in (("bytes", "Bytes"), ("float", "Float"), ("int64", "Int64"))))
    features = message("Features", ("feature", many, kind.TYPE_MESSAGE, ".tensorflow.Features.FeatureEntry"))
    message("FeatureEntry", ("key", one, kind.TYPE_STRING, None), ("value", one, kind.TYPE_MESSAGE, ".tensorflow.Feature"),
            within=features).options.map_entry = True
    message("Example", ("features", one, kind.TYPE_MESSAGE, ".tensorflow.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("tensorflow.Example"))


Example = example_class()


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def frame(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def example(**features):
    """An Example's bytes: features of bytes, of numbers, of lists of numbers."""
    made = Example()
    for name, value in features.items():
        feature = made.features.feature[name.replace("__", "/")]
        if isinstance(value, bytes) or value and isinstance(value, list) and isinstance(value[0], bytes):
            feature.bytes_list.value.extend([value] if isinstance(value, bytes) else value)
        elif isinstance(value, float):
            feature.float_list.value.append(value)
        else:
            feature.int64_list.value.extend(value if isinstance(value, list) else [value])
    return made.SerializeToString()


def read_records(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        length, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked(data[at:at + 8])
        body, (crc,) = data[at + 12:at + 12 + length], struct.unpack_from("<I", data, at + 12 + length)
        assert crc == masked(body)
        yield Example.FromString(body).features.feature
        at += 16 + length


def all_records(folder):
    return [record for path in sorted(folder.glob("*.tfrecord*")) for record in read_records(path)]


@pytest.mark.quick
@pytest.mark.parametrize("more", [[], ["--shard-size", "1M", "--split", "val"]])
def test_photos_are_converted_and_back_unchanged(rue, photos, more):
    made(rue, photos, "set", "--format", "tfrecord", *more)
    made(rue, "set", "back", "--format", "folder")
    assert list_files(rue.folder / "back") == list_files(photos)


def test_photographs_are_converted_and_back_unchanged(rue, shared_photos):
    made(rue, shared_photos, "set", "--format", "tfrecord", "--shard-size", "2M")
    made(rue, "set", "back", "--format", "folder")
    assert list_files(rue.folder / "back") == list_files(shared_photos)


def test_other_readers_read_rue_s_file(rue, photos):
    made(rue, photos, "set", "--format", "tfrecord", "--shard-size", "2M")
    names = sorted(path.name for path in (rue.folder / "set").glob("train-*"))
    assert len(names) > 1 and names[1] == "train-000001.tfrecord"
    records = all_records(rue.folder / "set")
    reported = {record["name"].bytes_list.value[0].decode(): record["image"].bytes_list.value[0] for record in records}
    assert reported == list_files(photos)
    classes = (rue.folder / "set/classes.txt").read_text().split("\n")
    assert all(record["name"].bytes_list.value[0].decode().startswith(classes[record["label"].int64_list.value[0]] + "/")
               for record in records)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_tensors_are_npy_files_and_those_of_the_tensor_format(rue, photos, dtype):
    numpy = pytest.importorskip("numpy", reason="skipped: no NumPy")
    made(rue, photos, "set", "--format", "tfrecord", "--mode", "preprocessed", "--dtype", dtype, "--images", "7")
    made(rue, photos, "set.tensor", "--dtype", dtype, "--images", "7")
    file = (rue.folder / "set.tensor").read_bytes()
    for i, record in enumerate(all_records(rue.folder / "set")):
        array = numpy.load(io.BytesIO(record["image"].bytes_list.value[0]))
        stride = (array.nbytes + 4095) // 4096 * 4096
        assert array.shape == (3, 224, 224) and array.dtype == dtype
        assert array.tobytes() == file[4096 + i * stride:][:array.nbytes]
    made(rue, "set", "again.tensor")
    assert (rue.folder / "again.tensor").read_bytes() == file


@pytest.mark.parametrize("compressed", [False, True])
def test_rue_reads_files_of_other_writers(rue, photos, compressed):
    """As the usual scripts for ImageNet name features; others are passed over."""
    images = sorted(list_files(photos).items())
    data = b"".join(frame(example(image__encoded=image, image__class__label=i % 7, image__filename=name.encode(),
                                  image__height=512, image__object__bbox__xmin=0.5, image__format=b"JPEG"))
                    for i, (name, image) in enumerate(images))
    file = rue.folder / "train-00000-of-00001.tfrecord"
    file.write_bytes(gzip.compress(data, 1) if compressed else data)
    shown = json.loads(rue("inspect", file, "--json").stdout)
    assert (shown["format"], shown["items"], shown["mode"]) == ("tfrecord", len(images), "raw")
    made(rue, file, "back", "--format", "folder")
    by_name = {name.split("/")[-1]: image for name, image in images}
    assert {name.split("/")[-1]: image for name, image in list_files(rue.folder / "back").items()} == by_name
    assert {name.split("/")[0] for name in list_files(rue.folder / "back")} == set("0123456"), "labels without names"
    made(rue, file, "back.lmdb")
    done = rue("tune", file, "--mode", "raw", "--model", "none", "--batch-size", "8", "--num-workers", "0,1", "--quiet", "--out",
               "out")
    if compressed:
        expect_failure(done, 3, file, "is compressed", "rue prepare")
    else:
        assert done.returncode == 0, done.stderr


def test_shards_are_detected_by_their_numbers(rue):
    folder = rue.folder / "imagenet"
    folder.mkdir()
    for i in range(4):
        (folder / f"train-{i:05d}-of-00004{'.gz' * (i % 2)}").write_bytes((gzip.compress if i % 2 else bytes)(WHOLE))
    (folder / "train-00000-of-00004.json").write_text("{}")
    for path, items in ((folder, 12), (folder / "train-00001-of-00004.gz", 3),
                        (f"{folder}/train-{{00000,00002}}-of-00004", 6)):
        done = rue("inspect", path, "--json")
        assert (json.loads(done.stdout)["format"], json.loads(done.stdout)["items"]) == ("tfrecord", items), done.stderr


def test_features_can_be_named(rue, photos):
    file = rue.folder / "x.tfrecord"
    image = next(photos.rglob("*.jpg")).read_bytes()
    file.write_bytes(frame(example(image=b"no", picture=image, label=3, fine=5)))
    made(rue, file, "back", "--format", "folder", "--image-key", "picture", "--label-key", "fine")
    assert list_files(rue.folder / "back") == {"5/00000000.jpg": image}
    expect_failure(rue("inspect", file, "--label-key", "lable", "--image-key", "picture"), 3, file, "no label 'lable'")
    expect_failure(rue("prepare", file, "no", "--image-key", "other"), 3, file, "record 0", "image_key", "picture")


def test_a_length_may_look_like_gzip(rue):
    length = 0x088b1f  # a gzip file begins with 1f 8b 08
    image = b"\xff\xd8" + b"x" * (length - 2 - len(example(image=b"x" * length, label=1)) + length)
    data = frame(example(image=image, label=1))
    assert data[:3] == gzip.compress(b"")[:3]
    file = rue.folder / "x.tfrecord"
    file.write_bytes(data)
    made(rue, file, "back", "--format", "folder")
    assert list(list_files(rue.folder / "back").values()) == [image]


def read_labels(rue, path, *more):
    """The labels of what `prepare` makes of a path, and the note of `inspect`."""
    store = f"labels-{len(list(rue.folder.iterdir()))}.zarr"
    made(rue, path, store, *more)
    stored = rue.folder / store / "labels/0"
    labels = [label for label, in struct.iter_unpack("<i", stored.read_bytes())] if stored.exists() else None
    return labels, json.loads(rue("inspect", path, "--json", *more).stdout).get("note", "")


@pytest.fixture
def write(rue, photos):
    """Writes a file of records, each with an image and what is given."""
    image = next(photos.rglob("*.jpg")).read_bytes()

    def call(*records, name="x.tfrecord", pack=bytes):
        file = rue.folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(pack(b"".join(frame(example(**{"image": image, **record})) for record in records)))
        return file
    return call


@pytest.mark.parametrize("name", ["label", "image/class/label", "class", "target", "category"])
def test_labels_have_one_of_the_usual_names(rue, write, name):
    file = write(*({name.replace("/", "__"): label, "height": 9} for label in (3, 1, 2)))
    assert read_labels(rue, file) == ([3, 1, 2], "")


def test_the_surest_name_counts(rue, write):
    assert read_labels(rue, write({"class": 9, "target": 8, "label": 3})) == ([3], "")
    expect_failure(rue("inspect", write({"class": 1}, {"target": 2})), 3, "record 1 has no label")


@pytest.mark.parametrize("features", [{"labels": 5}, {"class": b"rose"}, {"class": 5, "target": 6}, {"class": [5, 6]},
                                      {"target": 0.5}, {"label": []}, {}])
def test_labels_that_are_not_found_are_reported(rue, write, features):
    labels, note = read_labels(rue, write(features))
    assert labels is None and note.startswith("no labels found: the features are ") and note.endswith("with label_key")
    assert all(name in note for name in ("image", *features))


@pytest.mark.parametrize("labels", [[[0, 1, 0], [1, 0, 0]], [[0, 0, 0, 1]]])
def test_one_hot_labels_are_read(rue, write, labels):
    found = [label.index(1) for label in labels], f"the labels are one-hot, of {len(labels[0])} values"
    assert read_labels(rue, write(*({"label": label} for label in labels))) == found
    assert read_labels(rue, write(*({"label": 7, "fine": label} for label in labels)), "--label-key", "fine") == found


@pytest.mark.parametrize("name", ["label", "image__class__label", "class"])
def test_labels_that_are_all_minus_one_are_none(rue, write, name):
    note = "no labels found: all are -1, so 0 is used"
    assert read_labels(rue, write({name: -1}, {name: -1})) == (None, note)
    assert json.loads(rue("inspect", "x.tfrecord", "--json").stdout)["note"] == note, "with the saved index"


@pytest.mark.parametrize("format", ["folder", "tensor", "tfrecord", "lmdb", "webdataset", "zarr"])
def test_one_label_of_minus_one_is_named_with_its_record(rue, write, format):
    file = write({"label": 3}, {"label": -1, "name": b"b.jpg"})
    at = file.stat().st_size // 2
    assert wording.OF_LABELS_ARE_BELOW.format(1, 2, 0) in json.loads(rue("inspect", file, "--json").stdout)["note"]
    line = expect_failure(rue("prepare", file, "out", "--format", format), 3, f"{file} record 1 at byte ", "has the label -1", format,
                          "give it the number of a class, or remove it")
    assert abs(int(line.split("at byte ")[1].split()[0]) - at) < 50


def test_images_of_other_types_among_jpeg_files_are_counted(rue, write):
    file = write({"label": 0}, {"label": 1, "image": b"II*\0..."}, {"label": 1, "image": b"x"})
    note = json.loads(rue("inspect", file, "--json").stdout)["note"]
    assert note.startswith("2 of 3 images are of another type: ") and wording.RECORD_AT_BYTE.format(1) in note and note.endswith(" holds a TIFF file")


def test_two_images_of_one_name_are_named_with_the_destination(rue, write):
    file = write(*({"label": 1, "name": b"same.jpg"} for _ in range(2)))
    expect_failure(rue("prepare", file, "out", "--format", "folder"), 3, "two images have the name out/1/same.jpg: rename")


@pytest.mark.parametrize("name", ["s.tfrecord-%05d-of-%05d", "s-%05d-of-%05d", "s-%05d-of-%05d.tfrecord.gz"])
def test_shards_of_two_runs_and_missing_ones_are_reported(rue, write, name):
    pack = gzip.compress if name.endswith("gz") else bytes
    for i in (0, 1, 3):
        write({"label": i}, name="set/" + name % (i, 4), pack=pack)
    note = json.loads(rue("inspect", "set", "--json").stdout)["note"]
    assert note == f"3 of 4 shards found: {name % (2, 4)} is missing"
    write({"label": 2}, name="set/" + name % (2, 4), pack=pack)
    assert read_labels(rue, "set") == ([0, 1, 2, 3], "")
    write({"label": 7}, name="set/" + name % (0, 1), pack=pack)
    if pack is bytes:
        expect_failure(rue("tune", "set", "--out", "study"), 3, "several sets of shards")
    line = expect_failure(rue("inspect", "set"), 3, "several sets of shards", name % (0, 1), name % (0, 4), "remove the old ones")
    pattern = line.split("a pattern such as ")[1].split(",")[0]
    assert read_labels(rue, pattern) == ([0, 1, 2, 3], "")


@pytest.mark.parametrize("end", ["idx", "tfindex", "index", "json"])
@pytest.mark.parametrize("name", ["a.tfrecord", "a.tfrecords", "a.tfrec", "a.tfrecord-00000-of-00001", "a-00000-of-00001"])
def test_files_beside_shards_are_passed_over(rue, write, name, end):
    write({"label": 3}, name=f"set/{name}")
    (rue.folder / f"set/{name}.{end}").write_text("0 123\n")
    assert read_labels(rue, "set")[0] == [3]


def test_zlib_is_read_as_gzip_is(rue, write):
    records = [{"label": i, "noise": bytes(range(256)) * 2000} for i in range(5)]
    for file in (write(*records, pack=zlib.compress), write(*records, name="x.tfrecord.zlib", pack=lambda data: zlib.compress(data, 0))):
        assert read_labels(rue, file)[0] == list(range(5))
        expect_failure(rue("tune", file, "--out", "out"), 3, "is compressed")


def test_empty_shards_are_skipped_and_reported(rue, write):
    write({"label": 3}, name="set/b.tfrecord")
    for name, data in (("a.tfrecord", b""), ("a.tfrecord.gz", gzip.compress(b"")), ("c.tfrecord", zlib.compress(b""))):
        (rue.folder / "set" / name).write_bytes(data)
        labels, note = read_labels(rue, "set")
        assert labels == [3] and wording.SET_AN_EMPTY_SHARD.format(name) in note
        (rue.folder / "set" / name).unlink()


@pytest.mark.parametrize("name, written", [("/data/cat/%d.jpg", "data/cat"), ("./cat/%d.jpg", "cat"), ("//a/.//%d.jpg", "a"),
                                           ("../%d.jpg", None), ("a/../../%d.jpg", None), ("/etc/.hidden/%d.jpg", None)])
def test_names_are_below_a_folder_and_a_tensor_file_needs_none(rue, write, name, written):
    file = write(*({"image__filename": (name % i).encode(), "label": 0} for i in range(2)))
    assert read_labels(rue, file)[0] == [0, 0]
    if written:
        made(rue, file, "back", "--format", "folder")
        assert sorted(list_files(rue.folder / "back")) == [f"{written}/{i}.jpg" for i in range(2)]
    else:
        expect_failure(rue("prepare", file, "back", "--format", "folder"), 3, "cannot name a file")
        assert not (rue.folder / "back").exists()


def small(i):
    return frame(example(image=b"\xff\xd8 %d" % i * 50, label=i))


def cut_in(data, part):
    return data[:len(data) * part // 10]


WHOLE = b"".join(map(small, range(3)))
SECOND = len(small(0))
def npy(dtype, shape, count):
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\1\0\x76\0" + text + b"x" * count


BAD = {
    "length_crc": (WHOLE[:SECOND + 9] + b"\xee" + WHOLE[SECOND + 10:], f"record 1 at byte {SECOND}", "wrong CRC-32C"),
    "data_crc": (WHOLE[:SECOND + 40] + b"\xee" + WHOLE[SECOND + 41:], f"record 1 at byte {SECOND}", "CRC-32C of its data"),
    "huge": (small(0) + struct.pack("<QI", 1 << 63, masked(struct.pack("<Q", 1 << 63))) + b"x" * 90,
             f"record 1 at byte {SECOND}", "longer than 2 GiB"),
    "long": (small(0) + struct.pack("<QI", 1 << 30, masked(struct.pack("<Q", 1 << 30))) + b"x" * 90,
             f"record 1 at byte {SECOND}", "longer than the rest of the file"),
    "cut": (WHOLE[:-9], "record 2 at byte", "is truncated"),
    "cut_head": (WHOLE + b"123456", "record 3 at byte", "is truncated"),
    "no_example": (small(0) + frame(b"\x0a\x05\x0a"), f"record 1 at byte {SECOND}", "not an Example"),
    "no_image": (small(0) + frame(example(label=1, other=b"x")), "record 1", "has no image", "label", "other"),
    "no_label": (small(0) + frame(example(image=b"x")), "record 1 has no label: its feature 'label' is missing, but other records"),
    "no_first_label": (frame(example(image=b"\xff\xd8")) + small(0), "record 0 has no label: its feature 'label' is missing, or is not"),
    "empty_label": (small(0) + frame(example(image=b"x", label=[])), "record 1 has no label: its feature 'label' is empty"),
    "unclear_label": (frame(example(**{"image": b"\xff\xd8", "class": 1, "target": 2})) +
                      frame(example(**{"image": b"\xff\xd8", "class": 1})), "record 0 has no label: its feature 'class' is one of several"),
    "bad_label": (frame(example(image=b"x", label=-5)), "record 0", "not a whole number of at least -1"),
    "large_label": (small(0) + frame(example(image=b"x", label=1 << 31)), "record 1", "a label that is larger than 2147483647"),
    "huge_label": (frame(example(image=b"x", label=(1 << 63) - 1)), "record 0", "a label that is larger than 2147483647"),
    "tiff": (frame(example(image=b"II*\0....", label=1)) * 2, "record 0 at byte 0 holds a TIFF file, not an image or npy file, and no other"),
    "raw": (frame(example(image=bytes(784), label=1)), "record 0 at byte 0 holds data of an unknown type, not an image or npy file"),
    "no_bytes": (frame(example(image=b"", label=1)), "record 0 at byte 0 holds no data, not an image or npy file"),
    "text_label": (frame(example(image=b"x", label=b"cat")), "record 0", "not a whole number"),
    "two_labels": (frame(example(image=b"x", label=[3, 5])), "record 0", "a label of several values"),
    "multi_hot": (small(0) + frame(example(image=b"x", label=[1, 0, 1])), "record 1", "a label of several values"),
    "no_hot": (frame(example(image=b"x", label=[0, 0, 0])), "record 0", "a label of several values"),
    "more_hot": (frame(example(image=b"x", label=[0, 1])) + frame(example(image=b"x", label=[0, 1, 0])), "record 1",
                 "another number of values"),
    "two_images": (frame(example(image=[b"x", b"y"], label=1)), "record 0", "has several images"),
    "zlib_cut": (cut_in(zlib.compress(WHOLE * 50), 7), "x.tfrecord", "the zlib stream is truncated"),
    "real_label": (small(0) + frame(example(image=b"x", label=4.0)), f"record 1 at byte {SECOND}", "not a whole number"),
    "kinds": (frame(example(image=npy("|u1", "(3, 2, 2)", 12), label=1)) + small(1), "record 1", "the first record"),
    "shapes": (frame(example(image=npy("|u1", "(3, 2, 2)", 12), label=1)) + frame(example(image=npy("|u1", "(3, 4, 1)", 12), label=1)),
               "record 1", "the first one"),
    "shape": (frame(example(image=npy("|u1", "(3, 2, 5)", 12), label=1)), "record 0", "the bytes that its shape needs"),
    "dtype": (frame(example(image=npy("<i2", "(3, 2, 2)", 24), label=1)), "record 0", "not float32"),
    "old_tensor": (frame(example(image=b"x" * 12, label=1, shape=[3, 2, 2], dtype=b"uint8")), "record 0", "an older rue"),
    "text": (b"this is no record at all, whatever its name says", "record 0 at byte 0", "not a TFRecord file"),
    "empty": (b"", "holds no record"),
    "gzip_cut": (cut_in(gzip.compress(WHOLE * 50), 7), "x.tfrecord"),
    "gzip_of_text": (gzip.compress(b"hello, this is some text" * 9), "record 0 at byte 0", "wrong CRC-32C"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_line(rue, name):
    data, *words = BAD[name]
    file = rue.folder / "x.tfrecord"
    file.write_bytes(data)
    for command in (["inspect", file], ["prepare", file, "out", "--format", "folder"], ["tune", file, "--out", "study"]):
        expect_failure(rue(*command), 3, file, *words)
    assert not (rue.folder / "out").exists()
