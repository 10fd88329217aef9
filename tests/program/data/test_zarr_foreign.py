"""Zarr stores as other programs write them: names, attributes, labels, fill values, codecs and the JSON of Python, in both versions."""
import gzip
import json
import shutil
import zlib

import numpy as np
import pytest

from conftest import expect_failure
from test_zarr import read_back

numcodecs = pytest.importorskip("numcodecs")

VERSIONS = pytest.mark.parametrize("version", [2, 3])
IMAGES = np.random.default_rng(3).integers(0, 255, (6, 3, 4, 5)).astype("u1")
LABELS = [3, 1, 2, 0, 1, 5]


def write_json(path, value):
    """`value` may be a text: members that json.dumps cannot write."""
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8", errors="surrogatepass")


def write_group(folder, version, attributes=None):
    folder.mkdir(parents=True)
    if version == 3:
        write_json(folder / "zarr.json", dict(zarr_format=3, node_type="group", attributes=attributes or {}))
    else:
        write_json(folder / ".zgroup", dict(zarr_format=2))
        write_json(folder / ".zattrs", attributes or {})
    return folder


def write_array(folder, version, values, chunk=None, attributes=None, missing=(), codecs=(), encode=bytes, **members):
    """An array in chunks along the first axis. `missing`: numbers of chunks; `codecs`, `encode`: after the bytes, of version 3."""
    values, chunk = np.asarray(values), chunk or len(values)
    folder.mkdir(parents=True, exist_ok=True)
    shape, chunks = list(values.shape), [chunk, *values.shape[1:]]
    if version == 3:
        metadata = dict(zarr_format=3, node_type="array", shape=shape, data_type=values.dtype.name, fill_value=0, attributes=attributes or {},
                        chunk_grid=dict(name="regular", configuration=dict(chunk_shape=chunks)), chunk_key_encoding=dict(name="default"),
                        codecs=[dict(name="bytes", configuration=dict(endian="big" if values.dtype.str[0] == ">" else "little")), *codecs])
        write_json(folder / "zarr.json", dict(metadata, **members))
    else:
        metadata = dict(zarr_format=2, shape=shape, chunks=chunks, dtype=values.dtype.str, order="C", filters=None, compressor=None, fill_value=0)
        write_json(folder / ".zarray", dict(metadata, **members))
        write_json(folder / ".zattrs", attributes or {})
    for i in range(-(-len(values) // chunk)):
        part = np.zeros(chunks, values.dtype)
        part[:len(values[i * chunk:(i + 1) * chunk])] = values[i * chunk:(i + 1) * chunk]
        name = folder / ("c/" if version == 3 else "") / ("/" if version == 3 else ".").join(map(str, [i] + [0] * (values.ndim - 1)))
        name.parent.mkdir(parents=True, exist_ok=True)
        if i not in missing:
            name.write_bytes(encode(part.tobytes()))


def write_store(folder, version, images=IMAGES, labels=LABELS, group=None, **options):
    write_group(folder, version, group)
    write_array(folder / "images", version, images)
    if labels is not None:
        write_array(folder / "labels", version, labels, **options)
    return folder


def said(rue, store, *options):
    """What inspect and prepare say about the data: the same."""
    shown = json.loads(rue("inspect", store, "--json", *options).stdout).get("note", "")
    done = rue("prepare", store, "said.tensor", "--force", *options)
    assert done.returncode == 0 and shown in done.stderr, (shown, done.stderr)
    return shown


@VERSIONS
@pytest.mark.parametrize("dtype", ["i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", "?"])
def test_labels_of_every_type_are_read_or_refused(rue, version, dtype):
    kind, top = np.dtype(dtype), 1 if dtype == "?" else min(np.iinfo(dtype).max, 2**31 - 1)
    for number, values in enumerate([[0, 1, 1, 0, 1, 0], [0, top, 0, top, 1, 1]]):
        store = write_store(rue.folder / f"s{number}", version, labels=np.array(values, dtype))
        assert list(read_back(rue, store, 6, IMAGES.shape[1:], "u1")[1]) == values and "label" not in said(rue, store)
    bad = [] if dtype == "?" else [np.iinfo(dtype).min, -1] if kind.kind == "i" else [np.iinfo(dtype).max] if kind.itemsize > 2 else []
    for number, value in enumerate(bad):
        store = write_store(rue.folder / f"bad{number}", version, labels=np.array([0, 1, value, 0, 0, 0], dtype))
        expect_failure(rue("prepare", store, "x.tensor"), 3, f"{store}: the label of item 2 is {value}, which is not from 0 to 2^31 - 1", "label_key")
    if kind.itemsize > 1:
        store = write_store(rue.folder / "big", version, labels=np.array([0, 1, 1, 0, 1, 0], kind.newbyteorder(">")))
        expect_failure(rue("prepare", store, "x.tensor"), 3, "big/labels is big-endian")


@VERSIONS
@pytest.mark.parametrize("missing, words", [
    ([1], "chunks of labels missing: 1 of 3, such as labels/{}1: their labels are the fill value 4"),
    ([0, 2], "chunks of labels missing: 2 of 3, such as labels/{}0: their labels are the fill value 4"),
    ([0, 1, 2], "all chunks of labels are missing: all labels are the fill value 4")], ids=str)
def test_missing_chunks_of_labels_are_said(rue, version, missing, words):
    store = write_store(rue.folder / "s", version, chunk=2, missing=missing, fill_value=4)
    assert said(rue, store) == words.format("c/" if version == 3 else "")
    expected = [4 if i // 2 in missing else label for i, label in enumerate(LABELS)]
    assert list(read_back(rue, store, 6, IMAGES.shape[1:], "u1")[1]) == expected


@VERSIONS
def test_a_negative_fill_value_is_no_label(rue, version):
    store = write_store(rue.folder / "s", version, labels=np.array(LABELS, "i1"), chunk=2, missing=[1], fill_value=-1)
    expect_failure(rue("prepare", store, "x.tensor"), 3, "the label of item 2 is -1")


@VERSIONS
def test_labels_that_are_not_found_are_said(rue, version):
    others = dict(none={}, unknown={"class": LABELS, "target": LABELS}, masks=dict(labels=IMAGES[:, 0]), targets=dict(targets=np.ones(6)), rows=dict(y=np.arange(4)))
    words = dict(none="the arrays of the group are images; name one with label_key", unknown="the arrays of the group are class, images, target; name one with label_key",
                 masks="the array labels has several values for each item; name another array with label_key",
                 targets="the array targets has values that are not whole numbers; name another array with label_key",
                 rows="the array y does not have a value for each item; name another array with label_key")
    for case, arrays in others.items():
        store = write_store(rue.folder / case, version, labels=None, group=dict(classes=list("abcdef")))
        for name, values in arrays.items():
            write_array(store / name, version, values)
        assert said(rue, store) == f"no labels found: {words[case]}"
        assert (read_back(rue, store, 6, IMAGES.shape[1:], "u1")[1] == -1).all(), "none"
    assert said(rue, rue.folder / "unknown", "--label-key", "target") == ""
    for case, name, why in ("masks", "labels", "has several values for each item"), ("rows", "y", "does not have a value for each item"):
        expect_failure(rue("inspect", rue.folder / case, "--label-key", name), 3, f"the array '{name}' cannot be labels: it {why}")
    assert said(rue, rue.folder / "none/images") == "no labels found: the data are one array, without a group"
    expect_failure(rue("inspect", rue.folder / "none/images", "--label-key", "y"), 3, "has no array 'y'")
    write_array(write_group(rue.folder / "nested", version) / "fields/t2m", version, IMAGES)
    assert said(rue, "nested", "--image-key", "fields/t2m") == "no labels found: name an array with label_key"


def write_variables(folder, version, **variables):
    """As xarray writes them: a variable is its axes and its values."""
    write_group(folder, version)
    for name, (axes, values) in variables.items():
        more = dict(dimension_names=axes.split()) if version == 3 else dict(attributes=dict(_ARRAY_DIMENSIONS=axes.split()))
        if np.ndim(values) == 0:
            values, more = np.zeros((1,), "f8"), dict(more, shape=[], **(dict() if version == 3 else dict(chunks=[])))
        write_array(folder / name, version, values, **more)
    return folder


@VERSIONS
def test_coordinates_are_neither_items_nor_labels(rue, version):
    field, no_labels = IMAGES[:, 0].astype("f4"), "no labels found: the arrays of the group are"
    cases = {
        "below": dict(data=("time y x", field), time=("time", np.arange(6)), y=("y", np.arange(4.0)), x=("x", np.arange(5.0))),
        "first": dict(data=("y a x", field), y=("y", np.arange(6)), x=("x", np.arange(5))),
        "other types": dict(data=("y a x", field), y=("y", np.arange(6).astype(">i8")), x=("x", np.arange(5.0))),
        "one number": dict(data=("time a b", field), y=("", 0), x=("", 0))}
    for case, variables in cases.items():
        store = write_variables(rue.folder / case, version, **variables)
        items, labels = read_back(rue, store, 6, (1, 4, 5), "<f4")
        assert (items[:, 0] == field).all() and (labels == -1).all() and said(rue, store).startswith(no_labels), case
    assert list(read_back(rue, rue.folder / "first", 6, (1, 4, 5), "<f4", "--label-key", "y")[1]) == list(range(6))
    store = write_variables(rue.folder / "named", version, t2m=("time a x", field), y=("time", np.array(LABELS)), x=("x", np.arange(5.0)))
    expect_failure(rue("inspect", store), 3, "named has no items in an array images, data or x: its arrays are t2m, x, y; name one with image_key")
    items, labels = read_back(rue, store, 6, (1, 4, 5), "<f4", "--image-key", "t2m")
    assert (items[:, 0] == field).all() and list(labels) == LABELS


@VERSIONS
def test_attributes_that_are_not_applied_are_said(rue, version):
    cases = [(dict(scale_factor=0.25, add_offset=200.0, _FillValue=255), "scale_factor, add_offset, _FillValue"), (dict(scale_factor=[0.5]), "scale_factor"),
             (dict(missing_value=2**64 - 1), "missing_value"), (dict(_FillValue="AAAAAACHw8A="), "_FillValue"),
             (dict(scale_factor=1, add_offset=0.0, _FillValue=float("nan"), missing_value="AAAAAAAA+H8=", units="K"), None)]
    for number, (attributes, names) in enumerate(cases):
        write_array(rue.folder / f"s{number}", version, IMAGES, attributes=attributes)
        expected = f"values are read as they are stored: not applied are {names}; " if names else ""
        assert said(rue, f"s{number}") == expected + "no labels found: the data are one array, without a group"
        assert (read_back(rue, f"s{number}", 6, IMAGES.shape[1:], "u1")[0] == IMAGES).all()
    axes = dict(_ARRAY_DIMENSIONS=list("nchw"))
    write_array(rue.folder / "xarray", 2, IMAGES, attributes=axes, fill_value=255)
    assert said(rue, "xarray").startswith("values are read as they are stored: not applied are _FillValue; ")
    write_array(rue.folder / "xarray 0", version, IMAGES, attributes=axes)
    assert said(rue, "xarray 0").startswith("no labels found")


@VERSIONS
def test_attributes_of_labels_are_refused_or_said(rue, version):
    scaled = [(dict(scale_factor=2), "scale_factor"), (dict(add_offset=1, _FillValue=5), "add_offset"), (dict(scale_factor=[0.5], add_offset=-1.5), "scale_factor, add_offset"),
              (dict(add_offset="0.5"), "add_offset"), (dict(add_offset=2**64), "add_offset")]
    for number, (attributes, names) in enumerate(scaled):
        store = write_store(rue.folder / f"s{number}", version, attributes=attributes)
        for options in [], ["--label-key", "labels"]:
            expect_failure(rue("prepare", store, "x.tensor", *options), 3, f"s{number}/labels has the attribute {names}, which labels cannot have: write them without it", "label_key")
        write_array(store / "more", version, LABELS)
        assert list(read_back(rue, store, 6, IMAGES.shape[1:], "u1", "--label-key", "more")[1]) == LABELS
    for number, (attributes, names) in enumerate([(dict(_FillValue=5), "_FillValue"), (dict(missing_value=[3], scale_factor=1, add_offset=0), "missing_value"),
                                                  (dict(_FillValue=-1, missing_value=-1), "_FillValue, missing_value"), (dict(scale_factor=1.0, units="1"), None)]):
        store = write_store(rue.folder / f"t{number}", version, attributes=attributes)
        assert said(rue, store) == (f"the labels have the attribute {names}, which is not applied: all values are class numbers" if names else "")
        assert list(read_back(rue, store, 6, IMAGES.shape[1:], "u1")[1]) == LABELS


@pytest.mark.parametrize("place", ["", "images", "labels"])
def test_unknown_fields_of_version_3_are_refused_unless_they_may_be_ignored(rue, place):
    for number, (value, read) in enumerate([(1, False), (None, False), ({}, False), ([False], False), (dict(must_understand=True), False), (dict(must_understand="false"), False),
                                            (dict(must_understand=False), True), (dict(must_understand=False, name="x"), True)]):
        store = write_store(rue.folder / f"s{number}", 3)
        file = store / place / "zarr.json"
        write_json(file, dict(json.loads(file.read_text()), offset=value))
        for options in [], ["--image-key", "images", "--label-key", "labels"]:
            done = rue("inspect", store, *options)
            if read:
                assert done.returncode == 0, done.stderr
            else:
                expect_failure(done, 3, f"{file} has the field 'offset', which is not supported: write it without this field")
    known = dict(consolidated_metadata=None) if place == "" else dict(storage_transformers=[], dimension_names=[None] * (4 if place == "images" else 1))
    store = write_store(rue.folder / "known", 3)
    write_json(store / place / "zarr.json", dict(json.loads((store / place / "zarr.json").read_text()), **known))
    assert list(read_back(rue, store, 6, IMAGES.shape[1:], "u1")[1]) == LABELS


OTHER_TYPES = {2: [("<U1", {}), ("|S1", {}), ("|O", dict(filters=[dict(id="vlen-utf8")])), ("<M8[s]", {}), ("<c8", {}), ([["a", "<i4"]], {}), ("|V2", {})],
               3: [("string", dict(codecs=[dict(name="vlen-utf8")])), (dict(name="fixed_length_utf32", configuration=dict(length_bytes=4)), {}), ("complex64", {}),
                   (dict(name="null_terminated_bytes", configuration=dict(length_bytes=1)), {}), (dict(name="numpy.datetime64"), {}), ("r16", {})]}


@VERSIONS
def test_labels_that_are_not_numbers_are_not_used(rue, version):
    for number, (dtype, members) in enumerate(OTHER_TYPES[version]):
        fill = dict(fill_value="", **members)
        store = write_store(rue.folder / f"s{number}", version, **{"dtype" if version == 2 else "data_type": dtype}, **fill)
        assert said(rue, store) == "no labels found: the array labels has values that are not whole numbers; name another array with label_key"
        expect_failure(rue("inspect", store, "--label-key", "labels"), 3, "labels has values of the type '", "save numbers")
        write_array(store / "targets", version, LABELS)
        assert said(rue, store) == "" and list(read_back(rue, store, 6, IMAGES.shape[1:], "u1")[1]) == LABELS


@VERSIONS
def test_names_of_chunks_with_the_other_separator_are_found(rue, version):
    for number, (array, missing) in enumerate([("images", []), ("images", [0, 1]), ("labels", [])]):
        folder = write_store(rue.folder / f"s{number}", version) / array
        shutil.rmtree(folder)
        values = IMAGES if array == "images" else np.reshape(LABELS, (6, 1))
        write_array(folder, version, values, chunk=2, missing=missing, **(dict(dimension_separator="/") if version == 2 else
                    dict(chunk_key_encoding=dict(name="default", configuration=dict(separator=".")))))
        first = f"{array}/{'c/' if version == 3 else ''}" + ("/" if version == 3 else ".").join(f"{len(missing)}" + "0" * (values.ndim - 1))
        other = ".", "/"
        expect_failure(rue("inspect", f"s{number}"), 3, f"s{number}/{array} has no chunks such as", f", but {first}: set dimension_separator",
                       f"to '{other[version - 2]}' in its metadata")


@VERSIONS
@pytest.mark.parametrize("dtype", ["float64", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "bool"])
def test_items_of_other_types_are_named(rue, version, dtype):
    store = write_store(rue.folder / "s", version, images=IMAGES.astype(dtype))
    expect_failure(rue("inspect", store), 3, f"s/images has {dtype} values: save them as float32, float16 or uint8, or name another array with image_key")


PYTHON_JSON = ['NaN', '-Infinity', '[NaN,Infinity , {"b": -Infinity}]', '18446744073709551615', '-9223372036854775809', f'{10**400}', '1e999', r'"x\u0000y"',
               r'"caf\udce9"', r'"\ud83d\ud83d\ude00"', '"caf\udce9"', r'{"a\u0000": 1, "a\ud800": NaN}', r'"say \"NaN\": \\u0000, 18446744073709551615\\"']


@VERSIONS
@pytest.mark.parametrize("place", ["", "images", "labels"])
def test_json_of_python_is_read(rue, version, place):
    for number, form in enumerate(PYTHON_JSON):
        store = write_store(rue.folder / f"s{number}", version, group=dict(classes=list("abcdé") + ["f NaN"]))
        path = store / place / ("zarr.json" if version == 3 else ".zattrs")
        metadata = json.loads(path.read_text())
        (metadata["attributes"] if version == 3 else metadata)["more"] = "@"
        write_json(path, json.dumps(metadata).replace('"@"', form))
        items, labels = read_back(rue, store, 6, IMAGES.shape[1:], "u1")
        assert (items == IMAGES).all() and list(labels) == LABELS
        assert [line["name"] for line in json.loads(rue("inspect", store, "--json").stdout)["classes"]] == [*"abcdé", "f NaN"]


FILLS = [("f4", "0x7fc00000", np.nan), ("f4", "0x3F800000", 1), ("f4", "0xc2280000", -42), ("f4", "0x3ff8000000000000", 1.5), ("f2", "0x7e00", np.nan),
         ("f2", "0x3c00", 1), ("f2", "0x8001", -2.0**-24), ("f2", "0xfc00", -np.inf), ("f2", "0x00000000", 0), ("f2", 0.1, 0.1), ("f2", 65504, 65504), ("f2", 3e-8, 2.0**-24),
         ("f4", "Infinity", np.inf), ("f4", "1.5", 1.5), ("u1", "7", 7), ("u1", False, 0), ("f2", 0, 0), ("f4", 10**20, 1e20)]


@VERSIONS
def test_fill_values_in_every_form(rue, version):
    for number, (dtype, fill, value) in enumerate(FILLS):
        write_array(rue.folder / f"s{number}", version, IMAGES.astype(dtype), chunk=3, missing=[1], fill_value=fill)
        items, _ = read_back(rue, f"s{number}", 6, IMAGES.shape[1:], "<" + dtype)
        expected = IMAGES.astype(dtype)
        expected[3:] = value
        assert np.array_equal(items, expected, equal_nan=dtype != "u1"), fill
    for number, (dtype, fill) in enumerate([("f4", "0x7fc"), ("f4", "0xzzzzzzzz"), ("f4", "0X3f800000"), ("f4", "x"), ("f4", ""), ("u1", "0x05"), ("u1", "256"), ("u1", "-1"),
                                            ("u1", 2**64), ("f2", 65520), ("f2", -1e300)]):
        write_array(rue.folder / f"bad{number}", version, IMAGES.astype(dtype), chunk=3, missing=[1], fill_value=fill)
        expect_failure(rue("inspect", f"bad{number}"), 3, "has a fill value that")


@VERSIONS
@pytest.mark.parametrize("dtype, fill", [("i8", -2**63), ("u8", 2**64 - 1), ("u8", 2**31), ("i8", 2**63 - 1)])
def test_fill_values_of_64_bits_are_exact(rue, version, dtype, fill):
    store = write_store(rue.folder / "s", version, labels=np.array(LABELS, dtype), chunk=2, missing=[1], fill_value=fill)
    expect_failure(rue("prepare", store, "x.tensor"), 3, f"the label of item 2 is {fill}, which")


@pytest.mark.parametrize("name", ["blosc", "zstd", "gzip", "zlib"])
def test_codecs_with_the_names_of_numcodecs(rue, name):
    codec = numcodecs.get_codec(dict(id=name))
    write_array(rue.folder / "s", 3, IMAGES.astype("f4"), chunk=4, codecs=[dict(name="numcodecs." + name, configuration=codec.get_config())],
                encode=lambda data: bytes(codec.encode(np.frombuffer(data, "u1"))))
    assert (read_back(rue, "s", 6, IMAGES.shape[1:], "<f4")[0] == IMAGES).all()


@pytest.mark.parametrize("name", ["numcodecs.shuffle", "numcodecs.bitround", "numcodecs.lzma", "numcodecs.", "numcodecs.none", "lz4"])
def test_other_codecs_are_refused_by_name(rue, name):
    write_array(rue.folder / "s", 3, IMAGES, codecs=[dict(name=name)])
    expect_failure(rue("inspect", "s"), 3, f"s has the codec '{name}', and gzip, zstd and blosc are supported")
    write_array(rue.folder / "s", 3, IMAGES, codecs=[dict(name="numcodecs.crc32c", configuration=dict(location="start"))])
    expect_failure(rue("inspect", "s"), 3, "s has the codec 'numcodecs.crc32c'")


ITEMS, HALF = IMAGES.tobytes(), IMAGES.nbytes // 2
MEMBERS = gzip.compress(ITEMS[:HALF]) + gzip.compress(ITEMS[HALF:])
ZSTD, BLOSC = numcodecs.Zstd().encode(ITEMS), bytes(numcodecs.Blosc().encode(ITEMS))


ENDS = [
    ("gzip", MEMBERS, None), ("gzip", b"".join(gzip.compress(ITEMS[i:i + 9]) for i in range(0, len(ITEMS), 9)), None), ("gzip", MEMBERS + bytes(5), None),
    ("gzip", gzip.compress(ITEMS[:HALF]) + bytes(3) + gzip.compress(ITEMS[HALF:]), None), ("gzip", gzip.compress(b"") + MEMBERS + gzip.compress(b""), None),
    ("gzip", MEMBERS + b"j", "has bytes after its end"), ("gzip", MEMBERS + b"junk" * 9, "has bytes after its end"), ("gzip", MEMBERS + b"\0\0j", "has bytes after its end"),
    ("gzip", gzip.compress(ITEMS[:HALF]) + zlib.compress(ITEMS[HALF:]), "has bytes after its end"), ("gzip", MEMBERS + b"\x1f\x8b" + b"x" * 30, "is damaged"),
    ("gzip", MEMBERS[:-3], "is truncated"), ("gzip", MEMBERS[:len(MEMBERS) // 2 + 20], "is truncated"), ("gzip", gzip.compress(ITEMS[:HALF]), "the bytes that its shape needs"),
    ("gzip", MEMBERS + gzip.compress(b"1234"), "the bytes that its shape needs"), ("gzip", gzip.compress(ITEMS + b"1234"), "the bytes that its shape needs"),
    ("zlib", zlib.compress(ITEMS) + b"junk", None), ("zlib", zlib.compress(ITEMS[:HALF]) + zlib.compress(ITEMS[HALF:]), "the bytes that its shape needs"),
    ("zstd", numcodecs.Zstd().encode(ITEMS[:HALF]) + numcodecs.Zstd().encode(ITEMS[HALF:]), None), ("zstd", ZSTD + b"junk", "has bytes after its end"),
    ("zstd", ZSTD[:-4], "is truncated"), ("blosc", BLOSC + b"junk", "has bytes after its end")]


@pytest.mark.parametrize("number", range(len(ENDS)))
def test_the_end_of_a_compressed_chunk(rue, number):
    codec, chunk, why = ENDS[number]
    write_array(rue.folder / "s", 2, IMAGES, compressor=dict(id=codec), encode=lambda data: chunk)
    if why:
        expect_failure(rue("prepare", "s", "x.tensor"), 3, "s/0.0.0.0 ", why)
    else:
        assert (read_back(rue, "s", 6, IMAGES.shape[1:], "u1")[0] == IMAGES).all()


@VERSIONS
@pytest.mark.parametrize("shape, read", [
    ((6, 1, 3, 1, 5), (3, 1, 5)), ((6, 1, 1, 4, 5), (1, 4, 5)), ((6, 3, 4, 5, 1), (3, 4, 5)), ((6, 1, 1, 1, 1), (1, 1, 1)), ((6, 1, 3, 1, 4, 1, 5), (3, 4, 5)),
    ((1, 1, 3, 4, 5), (3, 4, 5)), ((6,) + (1,) * 14 + (3,), (1, 1, 3))], ids=str)
def test_axes_of_length_1_are_left_out(rue, version, shape, read):
    values = np.random.default_rng(2).random(shape, "f4")
    write_array(rue.folder / "s/images", version, values, chunk=min(4, shape[0]))
    write_array(rue.folder / "s/labels", version, np.arange(shape[0]), chunk=2)
    (rue.folder / "s" / ("zarr.json" if version == 3 else ".zgroup")).write_text(json.dumps(dict(zarr_format=version, node_type="group")))
    items, labels = read_back(rue, "s", shape[0], read, "<f4")
    assert (items.reshape(shape) == values).all() and list(labels) == list(range(shape[0]))
