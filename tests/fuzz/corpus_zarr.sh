# corpus_zarr.sh RUE FOLDER: a chunk of each kind of storage, and metadata of both versions. The first byte is the kind,
# the second one that of metadata: .zarray, zarr.json, .zattrs, labels/.zarray, labels/zarr.json.
python3 - "$2" <<'END'
import gzip, json, pathlib, struct, sys
folder, values = pathlib.Path(sys.argv[1]), struct.pack("<64f", *range(64))
raw_block = (len(values) << 3 | 1).to_bytes(3, "little") + values
zstd = b"\x28\xb5\x2f\xfd\x60" + struct.pack("<H", len(values) - 256 & 0xffff) + raw_block
blosc = struct.pack("<BBBBIII", 2, 1, 2, 4, len(values), len(values), len(values) + 16) + values
shard = zstd + zstd + struct.pack("<4Q", 0, len(zstd), len(zstd), len(zstd))
for kind, chunk in enumerate([values, gzip.compress(values), zstd, blosc, shard]):
    (folder / f"chunk-{kind}").write_bytes(bytes([kind]) + chunk)
v2 = dict(zarr_format=2, shape=[9, 3, 4, 5], chunks=[2, 3, 4, 5], dtype="<f4", order="C", fill_value="NaN", compressor=dict(id="zstd"),
          filters=None, dimension_separator="/")
bytes_codec = dict(name="bytes", configuration=dict(endian="little"))
shards = dict(name="sharding_indexed", configuration=dict(chunk_shape=[2, 3, 4, 5], codecs=[bytes_codec, dict(name="crc32c")],
                                                           index_codecs=[bytes_codec, dict(name="crc32c")], index_location="start"))
v3 = dict(zarr_format=3, node_type="array", shape=[9, 3, 4, 5], data_type="uint8", fill_value=0, attributes={}, codecs=[shards],
          chunk_grid=dict(name="regular", configuration=dict(chunk_shape=[4, 3, 4, 5])),
          chunk_key_encoding=dict(name="default", configuration=dict(separator=".")))
huge = dict(name="regular", configuration=dict(chunk_shape=[2 ** 32] * 4))
tiny = dict(shards, configuration=dict(shards["configuration"], chunk_shape=[1] * 4))
python = dict(history="x\0y\udce9\ud83d", scale_factor=0.5, _FillValue=2 ** 64 - 1, missing_value=float("nan"), _ARRAY_DIMENSIONS=["y"],
              more=[float("-inf"), 10 ** 30])
labels2 = dict(v2, shape=[2], chunks=[1], dtype="|i1", fill_value=-1, compressor=None)
labels3 = dict(v3, shape=[2], data_type="bool", fill_value=True, dimension_names=["y"], attributes=python, codecs=["bytes"],
               chunk_grid=dict(name="regular", configuration=dict(chunk_shape=[2])))
forms = dict(v3, shape=[9, 1, 3, 1, 5], data_type="float16", fill_value="0x7e00", codecs=["bytes", "numcodecs.zstd", "numcodecs.crc32c"],
             chunk_grid=dict(name="regular", configuration=dict(chunk_shape=[9, 1, 3, 1, 5])))
metadata = {"v2": (0, v2), "v2-huge": (0, dict(v2, chunks=[2 ** 32] * 4)), "v3": (1, v3), "v3-huge": (1, dict(v3, chunk_grid=huge, codecs=[tiny])),
            "v3-forms": (1, forms), "v3-python": (1, dict(v3, attributes=python)), "attributes": (2, python), "labels-2": (3, labels2), "labels-3": (4, labels3)}
for name, (kind, value) in metadata.items():
    (folder / name).write_bytes(bytes([5, kind]) + json.dumps(value).encode())
END
