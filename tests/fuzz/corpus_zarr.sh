# corpus_zarr.sh RUE FOLDER: a chunk of each kind of storage, and metadata of both versions. The first byte is the kind.
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
(folder / "v2").write_bytes(b"\x05" + json.dumps(v2).encode() + b" ")
huge = dict(name="regular", configuration=dict(chunk_shape=[2 ** 32] * 4))
tiny = dict(shards, configuration=dict(shards["configuration"], chunk_shape=[1] * 4))
(folder / "v2-huge").write_bytes(b"\x05" + json.dumps(dict(v2, chunks=[2 ** 32] * 4)).encode() + b" ")
(folder / "v3").write_bytes(b"\x05" + json.dumps(v3).encode() + b"\t")
(folder / "v3-huge").write_bytes(b"\x05" + json.dumps(dict(v3, chunk_grid=huge, codecs=[tiny])).encode() + b"\t")
END
