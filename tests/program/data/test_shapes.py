"""Items that are not images of 3 x 224 x 224: climate fields, single channels, half precision."""
import csv
import io
import os
import random
import struct
import tarfile

import numpy as np
import pytest

import wording
from conftest import expect_failure, map_tensor, read_json

SEED = int(os.environ.get("RUE_SEED", "7"))
SHAPE = 37, 181, 360
BYTES = 37 * 181 * 360 * 4
QUICK = ["--batch-size", "4", "--num-workers", "0,1", "--model", "none", "--budget", "5m", "--quiet"]


def shard(path, arrays):
    """A tar file of npy members with labels."""
    with tarfile.open(path, "w") as tar:
        for i, array in enumerate(arrays):
            file = io.BytesIO()
            np.save(file, array)
            for suffix, content in ("npy", file.getvalue()), ("cls", b"%d" % (i % 3)):
                member = tarfile.TarInfo(f"{i:04d}.{suffix}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture
def fields(rue):
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(SHAPE, np.float32) for _ in range(8)]
    shard(rue.folder / "fields.tar", arrays)
    return arrays


def test_a_climate_field_is_prepared_and_tuned(rue, fields):
    assert rue("prepare", "fields.tar", "fields.tensor", "--quiet").returncode == 0
    stored = np.memmap(rue.folder / "fields.tensor", "u1", "r", 4096)[:8 * -(-BYTES // 4096) * 4096].reshape(8, -1)[:, :BYTES]
    assert all((stored[i].view("<f4").reshape(SHAPE) == array).all() for i, array in enumerate(fields))
    for data in "fields.tar", "fields.tensor":
        done = rue("tune", data, *QUICK, "--out", "out-" + data[7:])
        assert done.returncode == 0, done.stderr
        found = read_json(rue.folder / f"out-{data[7:]}/recommendation.json")["recommendations"][0]
        assert found["workload"]["item_values"] == BYTES // 4
        sizes = {point["memory_bytes"] for point in found["pareto_front"]}
        assert sizes and sizes <= {4 * BYTES, 3 * 4 * BYTES}, "a batch held, and two in flight with a worker"
    done = rue("compare", "fields.tar", "fields.tensor", *QUICK, "--out", "compared")
    assert done.returncode == 0, done.stderr
    assert rue("scale", "fields.tensor", "--batch-size", "2,4", "--num-workers", "1", "--model", "none", "--budget", "1m", "--quiet",
               "--out", "scaled").returncode in (0, 5)


def test_a_memory_limit_counts_the_items_as_they_are(rue, fields):
    done = rue("tune", "fields.tar", *QUICK, "--max-memory", str(2 * 4 * BYTES), "--out", "out")
    assert done.returncode == 0, done.stderr
    with open(rue.folder / "out/trials.csv", newline="") as file:
        rows = [(row["num_workers"], row["status"]) for row in csv.DictReader(file) if row["measure"] == "joint"]
    assert dict(rows) == {"0": "ok", "1": "infeasible"}


def test_half_precision_is_widened(rue):
    rng = np.random.default_rng(4)
    arrays = [rng.standard_normal((2, 5, 7)).astype(np.float16) for _ in range(5)]
    shard(rue.folder / "half.tar", arrays)
    assert rue("prepare", "half.tar", "half.tensor", "--quiet").returncode == 0
    assert wording.TENSOR_FLOAT16 in rue("inspect", "half.tensor").stdout
    assert rue("prepare", "half.tensor", "wide.tensor", "--dtype", "float32", "--quiet").returncode == 0
    wide = np.memmap(rue.folder / "wide.tensor", "<f4", "r", 4096)[:5 * 1024].reshape(5, 1024)[:, :70].reshape(5, 2, 5, 7)
    assert (wide == np.stack(arrays).astype(np.float32)).all()
    expect_failure(rue("tune", "half.tensor", *QUICK, "--batch-dtype", "uint8", "--out", "out"), 2, "holds float16 values")


@pytest.mark.parametrize("shape", [(5, 181, 36), (1, 64, 32)])
@pytest.mark.parametrize("dtype", ["<f2", "<f4"])
def test_numpy_maps_a_tensor_file_as_documented(rue, shape, dtype):
    rng = np.random.default_rng(5)
    arrays = [rng.standard_normal(shape).astype(dtype) for _ in range(6)]
    shard(rue.folder / "a.tar", arrays)
    assert rue("prepare", "a.tar", "a.tensor", "--quiet").returncode == 0
    assert (map_tensor(rue.folder / "a.tensor", dtype, shape, 6) == np.stack(arrays)).all()


def test_models_that_compute_need_images(rue):
    shard(rue.folder / "small.tar", [np.zeros((1, 8, 8), np.float32)] * 8)
    done = rue("tune", "small.tar", "--model", "resnet18@host:1", "--batch-size", "2", "--num-workers", "0", "--budget", "30s", "--out", "out")
    expect_failure(done, 2, "small.tar: models that compute need images of 3 x 224 x 224", "use simulated models")


def test_npy_headers_of_other_writers_are_read_as_numpy_reads_them(rue):
    """Random order of keys, quotes, blanks, types and axes: all of one tar, the same array again and again."""
    draw = random.Random(SEED)
    values = np.random.default_rng(6).integers(0, 256, (3, 6, 5), np.uint8)
    types, shapes = ["<u1", "|u1", "u1", "=u1", ">u1", "B", "uint8", "ubyte"], ["(3, 6, 5)", "(3,6,5,)", "(1, 3, 6, 5)", "( 3 ,1, 6,1, 5)"]
    with tarfile.open(rue.folder / "a.tar", "w") as tar:
        for i in range(60):
            quote, blank = draw.choice("'\""), draw.choice(["", " ", "\t", "\n"])
            parts = [("descr", f"{quote}{draw.choice(types)}{quote}"), ("fortran_order", "False"), ("shape", draw.choice(shapes))]
            draw.shuffle(parts)
            text = "{" + ("," + blank).join(f"{quote}{key}{quote}{blank}:{blank}{value}" for key, value in parts)
            text += draw.choice(["}", ", }", blank + "}\n", "}" + " " * draw.randrange(90)])
            data = b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + values.tobytes()
            assert (np.load(io.BytesIO(data)).ravel() == values.ravel()).all(), text
            member = tarfile.TarInfo(f"{i}.npy")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    done = rue("prepare", "a.tar", "a.tensor", "--quiet")
    assert done.returncode == 0, (SEED, done.stderr)
    assert (map_tensor(rue.folder / "a.tensor", "u1", values.shape, 60) == values).all()
