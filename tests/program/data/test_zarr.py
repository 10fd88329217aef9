"""Zarr stores: what python-zarr writes rue reads, and the other way round; chunks that are missing, cut or changed."""
import csv
import itertools
import json
import os
import signal
import subprocess

import numpy as np
import pytest

import wording
from conftest import ROOT, expect_failure, read_json

numcodecs = pytest.importorskip("numcodecs")
zarr = pytest.importorskip("zarr")
if not zarr.__version__.startswith("2."):
    pytest.skip("these tests need zarr 2, as in Debian", allow_module_level=True)

ZARR_3 = ROOT / "build/tools/bin/python"
SHAPE = 3, 20, 24
QUICK = ["--batch-size", "4", "--num-workers", "0,2", "--model", "none", "--budget", "5m", "--quiet", "--out", "out"]


def arrays(count=23, shape=SHAPE, dtype="f4"):
    values = np.random.default_rng(5).integers(0, 256, (count, *shape))
    return (values / 8 if np.dtype(dtype).kind == "f" else values).astype(dtype)


def values_of(path, count, shape, dtype):
    """The items of a tensor file."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    stride = -(-size // 4096) * 4096
    records = np.memmap(path, "u1", "r", 4096)[:count * stride].reshape(count, stride)
    labels = np.memmap(path, "<i4", "r", 4096 + count * stride, (count,))
    return np.ascontiguousarray(records[:, :size]).view(dtype).reshape(count, *shape), labels


def read_back(rue, store, count, shape, dtype, *options):
    (rue.folder / "back.tensor").unlink(missing_ok=True)
    done = rue("prepare", store, "back.tensor", "--quiet", *options)
    assert done.returncode == 0, done.stderr
    return values_of(rue.folder / "back.tensor", count, shape, dtype)


def make_store(rue, name="store.zarr", chunks=(5, *SHAPE), compressor=None, count=23, **options):
    group = zarr.open_group(str(rue.folder / name), "w")
    group.create_dataset("images", data=arrays(count), chunks=chunks, compressor=compressor, **options)
    group.create_dataset("labels", data=np.arange(count) % 4, chunks=(7,))
    group.attrs["classes"] = ["cat", "dog", "eel", "fox"]
    return rue.folder / name


COMPRESSORS = {"none": None, "gzip": numcodecs.GZip(1), "zlib": numcodecs.Zlib(1), "zstd": numcodecs.Zstd(1),
               "blosc lz4": numcodecs.Blosc("lz4"), "blosc zstd bits": numcodecs.Blosc("zstd", 1, numcodecs.Blosc.BITSHUFFLE)}


@pytest.mark.parametrize("codec", COMPRESSORS)
@pytest.mark.parametrize("chunks", [(5, *SHAPE), (1, *SHAPE), (4, 2, 7, 24), (30, 3, 20, 5), (5, 3, 7, 24)], ids=str)
def test_what_zarr_2_writes_is_read(rue, codec, chunks):
    make_store(rue, chunks=chunks, compressor=COMPRESSORS[codec])
    items, labels = read_back(rue, "store.zarr", 23, SHAPE, "<f4")
    assert (items == arrays()).all() and (labels == np.arange(23) % 4).all()


@pytest.mark.parametrize("dtype", ["f4", "f2", "u1"])
@pytest.mark.parametrize("shape", [(7,), (5, 7), (2, 5, 7)], ids=str)
def test_types_and_ranks(rue, dtype, shape):
    values = arrays(9, shape, dtype)
    zarr.open_group(str(rue.folder / "s"), "w").create_dataset("data", data=values, chunks=(4, *shape), dimension_separator="/")
    items, _ = read_back(rue, "s", 9, shape, "<" + dtype)
    assert (items == values).all()
    assert f"zarr, {np.dtype(dtype)}" in rue("inspect", "s").stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd", "blosc"])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_zarr_2_reads_what_prepare_writes(rue, photos, codec, dtype):
    assert rue("prepare", photos, "p.tensor", "--dtype", dtype, "--quiet").returncode == 0
    done = rue("prepare", photos, "p.zarr", "--dtype", dtype, "--codec", codec, "--chunks", "4,2,100,224")
    assert done.returncode == 0, done.stderr
    group = zarr.open_group(str(rue.folder / "p.zarr"), "r")
    count = len(group["labels"])
    expected, labels = values_of(rue.folder / "p.tensor", count, (3, 224, 224), np.dtype(dtype).newbyteorder("<"))
    assert (group["images"][:] == expected).all() and (group["labels"][:] == labels).all()
    assert group["images"].chunks == (4, 2, 100, 224)
    assert group.attrs["classes"] == [line["name"] for line in json.loads(rue("inspect", photos, "--json").stdout)["classes"]]
    items, _ = read_back(rue, "p.zarr", count, (3, 224, 224), np.dtype(dtype))
    assert (items == expected).all()


def test_with_zarr_3(rue, photos):
    if not (ZARR_3.parents[1] / "complete").exists():
        pytest.skip("skipped: zarr 3 is not installed (tests/install.sh)")
    script = """if True:
        import json, sys, numpy as np, zarr
        from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec
        values, chunks = np.load('values.npy'), (4, 3, 20, 24)
        kinds = dict(default={}, none=dict(compressors=None), gzip=dict(compressors=GzipCodec()), blosc=dict(compressors=BloscCodec()),
                     crc=dict(compressors=[ZstdCodec(), Crc32cCodec()]), shards=dict(shards=(8, 3, 20, 24)),
                     plain=dict(shards=(12, 3, 20, 24), compressors=None), cut=dict(shards=(8, 4, 20, 24)), v2=dict(zarr_format=2))
        for name, options in kinds.items():
            group = zarr.open_group(store='s3-' + name, mode='w', zarr_format=options.pop('zarr_format', 3))
            group.create_array('images', data=values, **{'chunks': (4, 2, 20, 24) if name == 'cut' else chunks, **options})
            group.create_array('labels', data=np.arange(len(values)) % 4)
            group.attrs['classes'] = list('abcd')
        for name in sys.argv[1:]:
            group = zarr.open_group(name, mode='r')
            np.save(name + '.npy', group['images'][:])
            assert list(group['labels'][:]) == list(np.load('labels.npy')) and group.attrs['classes']
        print(*kinds)"""
    made = [f"p{version}-{codec}" for version, codec in itertools.product("23", ["none", "gzip", "zstd", "blosc"])]
    assert rue("prepare", photos, "p.tensor", "--quiet").returncode == 0
    for name in made:
        done = rue("prepare", photos, name, "--format", "zarr", "--quiet", "--chunks", "3", "--codec", name[3:], "--zarr-version", name[1])
        assert done.returncode == 0, done.stderr
    count = json.loads(rue("inspect", "p.tensor", "--json").stdout)["items"]
    expected, labels = values_of(rue.folder / "p.tensor", count, (3, 224, 224), "<f4")
    np.save(rue.folder / "values.npy", arrays())
    np.save(rue.folder / "labels.npy", labels)
    done = subprocess.run([ZARR_3, "-c", script, *made], cwd=rue.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in made:
        assert (np.load(rue.folder / f"{name}.npy") == expected).all(), name
    for name in done.stdout.split():
        items, labels = read_back(rue, "s3-" + name, 23, SHAPE, "<f4")
        assert (items == arrays()).all() and (labels == np.arange(23) % 4).all(), name


def test_stores_are_tuned_and_compared(rue, photos):
    for codec in "none", "zstd":
        assert rue("prepare", photos, f"{codec}.zarr", "--codec", codec, "--chunks", "4", "--quiet").returncode == 0
    done = rue("tune", "zstd.zarr", *QUICK)
    assert done.returncode == 0, done.stderr
    done = rue("compare", photos, "none.zarr", "zstd.zarr", *QUICK[:-1], "compared")
    assert done.returncode == 0, done.stderr
    assert wording.ZARR_FLOAT32_4X3X224X224_NONE in done.stdout and wording.ZARR_FLOAT32_4X3X224X224_ZSTD in done.stdout
    assert wording.ZARR_FLOAT32_4X3X224X224_ZSTD in " ".join(rue("show", "compared").stdout.split())
    assert "4x3x224x224 zstd" in rue("inspect", "zstd.zarr").stdout
    variants = [found["variant"]["format"] for found in read_json(rue.folder / "compared/recommendation.json")["recommendations"]]
    assert variants.count("zarr") == 2
    done = rue("check", "compared", "--budget", "20s")
    assert all(wording.PREPROCESSED_ZARR_FLOAT32_4X3X224X224.format(codec) in done.stdout for codec in ("none", "zstd")), done.stderr


def test_a_climate_store_is_tuned(rue):
    values = np.random.default_rng(1).standard_normal((6, 37, 181, 360), np.float32)
    zarr.save_array(str(rue.folder / "era.zarr"), values, chunks=(2, 37, 100, 360))
    items, _ = read_back(rue, "era.zarr", 6, values.shape[1:], "<f4")
    assert (items == values).all()
    done = rue("tune", "era.zarr", "--batch-size", "2", "--num-workers", "0,2", "--model", "none", "--budget", "5m", "--quiet", "--out", "out")
    assert done.returncode == 0, done.stderr


def test_other_names_are_given(rue):
    group = zarr.open_group(str(rue.folder / "s"), "w")
    group.create_dataset("fields/t2m", data=arrays(), chunks=(5, *SHAPE))
    group.create_dataset("months", data=np.arange(23, dtype="u1"))
    expect_failure(rue("inspect", "s"), 3, "s has no items in an array images, data or x: its arrays are months; name one with image_key")
    expect_failure(rue("inspect", "s", "--image-key", "t2m"), 3, "s has no array 't2m'")
    items, labels = read_back(rue, "s", 23, SHAPE, "<f4", "--image-key", "fields/t2m", "--label-key", "months")
    assert (items == arrays()).all() and (labels == np.arange(23)).all()
    items, labels = read_back(rue, "s/fields/t2m", 23, SHAPE, "<f4")
    assert (items == arrays()).all() and (labels == -1).all(), "none"
    expect_failure(rue("inspect", "s", "--image-key", "../s/fields/t2m"), 3, "no array")


def test_a_missing_chunk_is_the_fill_value(rue):
    make_store(rue, compressor=numcodecs.Zstd(1), fill_value=7)
    os.remove(rue.folder / "store.zarr/images/1.0.0.0")
    words = "1 of 5, such as images/1.0.0.0: their items have the fill value 7"
    done = rue("inspect", "store.zarr")
    assert done.returncode == 0 and wording.CHUNKS_MISSING.format(words) in " ".join(done.stdout.split()), done.stdout
    assert json.loads(rue("inspect", "store.zarr", "--json").stdout)["skipped"] == 1
    for command in ["prepare", "store.zarr", "s.tensor"], ["tune", "store.zarr", *QUICK], ["compare", "store.zarr", "s.tensor", *QUICK[:-1], "o"]:
        done = rue(*command)
        assert done.returncode == 0 and done.stderr.count(f"chunks missing: {words}\n") == 1, done.stderr
    items, _ = values_of(rue.folder / "s.tensor", 23, SHAPE, "<f4")
    assert (items[5:10] == 7).all() and (items[10:] == arrays()[10:]).all()
    for name in os.listdir(rue.folder / "store.zarr/images"):
        if name != ".zarray":
            os.remove(rue.folder / "store.zarr/images" / name)
    expect_failure(rue("inspect", "store.zarr"), 3, "has no chunks")


def make_shards(rue):
    """Three shards of two chunks, for five chunks: chunk 1 of the first shard is missing, and the whole second shard."""
    store = rue.folder / "s"
    store.mkdir()
    shard = dict(name="sharding_indexed", configuration=dict(chunk_shape=[2, 1, 4, 4], codecs=["bytes"], index_codecs=["bytes"]))
    metadata = dict(zarr_format=3, node_type="array", shape=[10, 1, 4, 4], data_type="uint8", fill_value=9, codecs=[shard],
                    chunk_grid=dict(name="regular", configuration=dict(chunk_shape=[4, 1, 4, 4])), chunk_key_encoding=dict(name="v2"))
    (store / "zarr.json").write_text(json.dumps(metadata))
    for name, value in ("0.0.0.0", 1), ("2.0.0.0", 2):
        (store / name).write_bytes(bytes([value]) * 32 + np.array([0, 32, 2**64 - 1, 2**64 - 1], "<u8").tobytes())
    return store


def test_missing_chunks_within_shards_are_counted(rue):
    store = make_shards(rue)
    words = "3 of 5, such as chunk 1 of 0.0.0.0: their items have the fill value 9"
    assert wording.CHUNKS_MISSING.format(words) in " ".join(rue("inspect", "s").stdout.split())
    items, _ = read_back(rue, "s", 10, (1, 4, 4), "u1")
    assert [int(item.max()) for item in items] == [1] * 2 + [9] * 6 + [2] * 2
    (store / "0.0.0.0").write_bytes(bytes(5))  # its index cannot be read: that fails only when its items are read
    assert wording.CHUNKS_MISSING_OF_SUCH.format(2, 5, "1.0.0.0") in " ".join(rue("inspect", "s").stdout.split())
    for name in "0.0.0.0", "2.0.0.0":
        (store / name).write_bytes(b"\xff" * 32)
    expect_failure(rue("inspect", "s"), 3, "s has no chunks: all of them are missing")


def test_missing_chunks_are_errors_on_request(rue):
    store, strict = make_store(rue), ["--missing-chunks", "error"]
    done = rue("tune", store, *QUICK, *strict)
    assert done.returncode == 0, done.stderr
    assert rue("prepare", store, "s.tensor").returncode == 0
    whole = (store / "images/1.0.0.0").read_bytes()
    os.remove(store / "images/1.0.0.0")
    words = f"{store}: chunks missing: 1 of 5, such as images/1.0.0.0; write them again"
    for command in ["tune", store], ["compare", store, "s.tensor"], ["scale", store]:
        expect_failure(rue(*command, *QUICK[:-1], "other", *strict), 3, words)
    expect_failure(rue("check", "out"), 3, words)
    (store / "images/1.0.0.0").write_bytes(whole)
    os.remove(store / "labels/3")
    expect_failure(rue("tune", store, *QUICK[:-1], "third", *strict), 3, "chunks missing: 1 of 4, such as labels/3;")
    make_shards(rue)
    expect_failure(rue("tune", "s", *QUICK[:-1], "fourth", *strict), 3, "chunks missing: 3 of 5, such as chunk 1 of 0.0.0.0;")


def test_the_cache_of_chunks_counts_as_memory(rue):
    values = arrays(40, (3, 64, 64))
    for name, compressor in ("packed", numcodecs.Zstd(1)), ("plain", None):
        zarr.save_array(str(rue.folder / name), values, chunks=(8, 3, 64, 64), compressor=compressor)
    words = ["--batch-size", "1,16", "--num-workers", "0", "--model", "none", "--budget", "5m", "--quiet", "--out"]
    why = "the batches in flight need 786 KB, the cache of chunks 2.0 MB, and the limit is 2.1 MB"
    for name, feasible in ("plain", ["1", "16"]), ("packed", ["1"]):
        done = rue("tune", name, *words, f"o-{name}", "--max-memory", "2M")  # a batch of 16 has 0.8 MB, all decoded chunks have 2 MB
        assert done.returncode == 0, done.stderr
        with open(rue.folder / f"o-{name}/trials.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert sorted({row["batch_size"] for row in rows if row["status"] == "ok"}, key=int) == feasible
        assert {row["reason"] for row in rows if row["status"] == "infeasible"} == ({why} if name == "packed" else set())
    assert "measured" not in rue("tune", "packed", *words, "o-packed", "--max-memory", "2M").stderr, "trials are reused"
    expect_failure(rue("tune", "packed", *words, "o2", "--max-memory", "1M"), 4, "the cache of chunks 2.0 MB")


def test_many_small_chunks_are_announced(rue):
    zarr.save_array(str(rue.folder / "s"), np.zeros((1001, 1, 10, 10), "u1"), chunks=(1001, 1, 10, 10))
    with rue.start("prepare", "s", "d.zarr", "--chunks", "1,1,1,1") as run:
        first = run.stderr.readline()
        run.send_signal(signal.SIGINT)
        rest = run.stderr.read()
    assert first.startswith("d.zarr: writing 100,100 files, a chunk of 1 B in each;") and "larger --chunks" in first
    assert run.returncode == 130 and wording.NOTHING_WAS_WRITTEN in rest and os.listdir(rue.folder) == ["s"]
    done = rue("prepare", "s", "e.zarr", "--chunks", "100")
    assert done.returncode == 0 and "files" not in done.stderr


def change(store, **members):
    path = store / "images/.zarray"
    metadata = json.loads(path.read_text())
    metadata.update(members)
    path.write_text(json.dumps(metadata))


REFUSED = {
    "big-endian": (dict(dtype=">f4"), "is big-endian (>f4): save it little-endian"),
    "a type": (dict(dtype="<f8"), "images has float64 values: save them as float32, float16 or uint8"),
    "a structure": (dict(dtype=[["a", "<f4"]]), "type '', which is not supported"),
    "a codec": (dict(compressor=dict(id="lzma")), "has the codec 'lzma', and gzip, zstd and blosc are supported"),
    "a filter": (dict(filters=[dict(id="delta")]), "has the filter 'delta'"),
    "Fortran order": (dict(order="F"), "is in Fortran order: save it in C order"),
    "ranks that differ": (dict(chunks=[5, 3]), "has a shape of 4 axes, but a shape of chunks of 2 axes"),
    "five axes": (dict(shape=[23, 3, 2, 10, 24], chunks=[1] * 5), "a shape of 5 axes, and 2 to 4 axes that are longer than 1 are supported"),
    "an axis of length 1 in chunks of 2": (dict(shape=[23, 1, 3, 20, 24], chunks=[5, 2, 3, 20, 24]), "shape of chunks that is longer than an axis of length 1"),
    "17 axes": (dict(shape=[23] + [1] * 16, chunks=[1] * 17), "a shape of 17 axes"),
    "no items": (dict(shape=[0, 3, 20, 24]), "an axis that is not from 1 to 2^40 long"),
    "a negative chunk": (dict(chunks=[-1, 3, 20, 24]), "an axis that is not from 1 to 2^40 long"),
    "10^9 chunks": (dict(shape=[10**9, 3, 20, 24], chunks=[1, 3, 20, 24]), "1e+09 files of chunks, and the limit is 4194304"),
    "a huge chunk": (dict(chunks=[10**9, 3, 20, 24]), "chunks of more than 2 GiB"),
    "chunks whose product is 2^128": (dict(chunks=[2**32] * 4), "chunks of more than 2 GiB"),
    "labels for other items": (dict(shape=[24, 3, 20, 24]), "the array labels does not have a value for each item: there are 24 items"),
    "another version": (dict(zarr_format=4), "version 2 or 3 of the Zarr format"),
    "a long separator": (dict(dimension_separator=".."), "does not separate the numbers of chunks by . or /"),
    "a separator that is a number": (dict(dimension_separator=1), "does not separate the numbers of chunks by . or /"),
    "a fill value": (dict(fill_value=[1]), "a fill value that is not a number"),
    "a negative fill value": (dict(dtype="|u1", fill_value=-5), "a fill value that does not fit in the type of its values"),
    "a fill value of 256": (dict(dtype="|u1", fill_value=256), "does not fit in the type"),
    "a broken fill value": (dict(dtype="|u1", fill_value=0.5), "does not fit in the type"),
    "a huge fill value": (dict(dtype="|u1", fill_value=1e300), "does not fit in the type"),
    "a huge float": (dict(fill_value=-1e300), "does not fit in the type"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_metadata_are_refused_by_name(rue, case):
    members, why = REFUSED[case]
    change(make_store(rue), **members)
    expect_failure(rue("inspect", "store.zarr"), 3, "store.zarr", why)


@pytest.mark.parametrize("dtype, value", [("|u1", 255), ("|u1", 3.0), ("|i1", -128), ("<i8", -2**63), ("<u8", 2**63 - 1), ("<u8", 1.8e19)])
def test_fill_values_at_the_limits(rue, dtype, value):
    change(make_store(rue), dtype=dtype, fill_value=value)
    done = rue("inspect", "store.zarr")
    assert done.returncode == 0 if dtype == "|u1" else wording.VALUES_SAVE_THEM_AS_FLOAT32 in done.stderr, done.stderr


@pytest.mark.parametrize("place", ["images/.zarray", ".zattrs", "zarr.json"])
def test_a_key_that_is_there_twice_is_refused(rue, place):
    store = make_store(rue)
    (store / place).write_text('{"zarr_format": 2, "zarr_format": 2}')
    expect_failure(rue("inspect", "store.zarr"), 3, "store.zarr", "twice")


@pytest.mark.parametrize("shape, shards, chunks", [
    ([4, 3, 8, 8], [2**32] * 4, [1] * 4), ([2**35, 1024, 1024, 1024], [2**20, 1024, 1024, 1024], [1, 1024, 1024, 1024])], ids=str)
def test_shards_whose_sizes_wrap_are_refused(rue, shape, shards, chunks):
    shard = dict(name="sharding_indexed", configuration=dict(chunk_shape=chunks, codecs=["bytes"], index_codecs=["bytes"]))
    metadata = dict(zarr_format=3, node_type="array", shape=shape, data_type="uint8", fill_value=0, codecs=[shard],
                    chunk_grid=dict(name="regular", configuration=dict(chunk_shape=shards)), chunk_key_encoding=dict(name="v2"))
    store = rue.folder / "s"
    store.mkdir()
    (store / "zarr.json").write_text(json.dumps(metadata))
    (store / "0.0.0.0").write_bytes(bytes(64))
    expect_failure(rue("prepare", "s", "s.tensor"), 3, "s has more than 2^56 values, items of more than 2^30, or shards of more than 2^20 chunks")


def test_damaged_json_is_refused(rue):
    store = make_store(rue)
    (store / "images/.zarray").write_text('{"zarr_format": 2,')
    expect_failure(rue("inspect", "store.zarr"), 3, "store.zarr/images/.zarray is not valid JSON, in line 1; write it again")


@pytest.mark.parametrize("codec", COMPRESSORS)
def test_chunks_of_another_size_are_refused(rue, codec):
    store = make_store(rue, compressor=COMPRESSORS[codec])
    chunk = store / "images/2.0.0.0"
    content = chunk.read_bytes()
    for name, damaged in dict(cut=content[:-9], empty=b"", flipped=content[:len(content) // 2] + b"\xff\x00\xff" * 9).items():
        chunk.write_bytes(damaged)
        expect_failure(rue("prepare", "store.zarr", "x.tensor"), 3, "store.zarr/images/2.0.0.0")
    bigger = zarr.open(str(rue.folder / "bigger"), "w", shape=(6, *SHAPE), chunks=(6, *SHAPE), dtype="f4",
                       compressor=COMPRESSORS[codec])
    bigger[:] = arrays(6)
    chunk.write_bytes((rue.folder / "bigger/0.0.0.0").read_bytes())
    expect_failure(rue("prepare", "store.zarr", "x.tensor"), 3, "2.0.0.0", "the bytes that its shape needs")


@pytest.mark.parametrize("separator, place", [
    (".", "images/1.0.0.0"), (".", "images"), (".", "images/.zarray"), (".", ".zattrs"), ("/", "images/1"), ("/", "images/2/0"),
    ("/", "images/3/0/0/0")])
def test_nothing_is_read_outside_the_store(rue, separator, place):
    inside, outside = make_store(rue, dimension_separator=separator) / place, rue.folder / "outside"
    inside.rename(outside)
    inside.symlink_to(outside)
    for command in ["inspect", "store.zarr"], ["prepare", "store.zarr", "x.tensor"]:
        expect_failure(rue(*command), 3, f"store.zarr/{place} is a symbolic link, which is not followed: copy what it points to")
    assert not (rue.folder / "x.tensor").exists()


def test_chunks_of_prepare_are_checked(rue, photos):
    for chunks, why in ("4,3", "is not the shape of a chunk"), ("0,3,224,224", "is not the shape"), ("4,3,300,224", "are larger than the items"), \
            ("4,3,224,224,1", "is not the shape"), ("many", "is not the shape"), ("-1", "is not the shape"), ("4,-3,224,224", "is not the shape"), ("999999999", "more than 1 GiB"):
        expect_failure(rue("prepare", photos, "x.zarr", "--chunks", chunks), 2, why)
    assert rue("prepare", "--synthetic", "40", "more").returncode == 0
    expect_failure(rue("prepare", "more", "x.zarr", "--chunks", "1,1,1,1"), 2, "6021120 files, and the limit is 4194304: make larger chunks")
    expect_failure(rue("prepare", photos, "x.tensor", "--codec", "zstd"), 2, "--codec has no effect on the format tensor")
    assert not (rue.folder / "x.zarr").exists()
