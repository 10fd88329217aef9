"""python -m rue_tuner.runner without a target, asked over its pipes as rue asks it."""
import wording
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import time
import types

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (python3-pil)")

from rue_tuner import consumers, serve, stored_data  # noqa: E402

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"
PHOTOS = 22
BATCH_BYTES_8 = 8 * 3 * 224 * 224 * 4


class Runner:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-m", "rue_tuner.runner"], stdin=subprocess.PIPE, text=True, bufsize=1,
                                        stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(PYTHON)})

    def send(self, line):
        self.process.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, request):
        self.send(request)
        return self.receive()

    def trial(self, variant, config, **more):
        request = dict(op="trial", id=7, measure="joint", variant=variant, model="m", config=config,
                       workload=dict(shuffle=True, seed=1), images=PHOTOS, job_images=PHOTOS)
        request.update(more)
        reply = self.ask(request)
        assert reply["id"] == 7
        return reply

    def workers(self):
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                text = entry.read_text()
            except OSError:
                continue
            if int(text.rsplit(")", 1)[1].split()[1]) == self.process.pid:
                found.append(int(entry.parent.name))
        return found

    def wait_for_workers(self, count):
        deadline = time.monotonic() + 30
        while len(self.workers()) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.workers()

    def close(self):
        self.process.stdin.close()
        rc = self.process.wait(timeout=30)
        self.process.stdout.close()
        return rc


@pytest.fixture(scope="module")
def runner():
    one = Runner()
    yield one
    assert one.close() == 0, "end of input ends the runner"


def write_photos(root, count=PHOTOS):
    rng = np.random.default_rng(0)
    for i in range(count):
        folder = root / f"class{i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        noise = rng.integers(0, 256, (20 + i, 30, 3), np.uint8)
        Image.fromarray(noise).resize((280 + i, 300)).save(folder / f"{i:03}.JPEG", quality=80)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    write_photos(root)
    return dict(path=str(root), mode="raw", format="folder", dtype="")


def write_tensors(path, dtype, count=10, after=b""):
    rng = np.random.default_rng(1)
    values = rng.integers(0, 256, (count, 3, 224, 224), np.uint8)
    values = values if dtype == "uint8" else values.astype("<f4")
    record = values[0].nbytes
    stride = -(-record // 4096) * 4096
    labels, crcs = 4096 + count * stride, 4096 + count * stride + 4 * count
    classes = b"cat\0dog\0" + after
    header = struct.pack("<8s2IQ4I6Q", b"RUETENSR", 2, int(dtype == "uint8"), count, 3, 224, 224, 2, stride, 4096, labels,
                         crcs, crcs + 4 * count, crcs + 4 * count + len(classes))
    with open(path, "wb") as file:
        file.write(header.ljust(4096, b"\0"))
        for value in values:
            file.write(value.tobytes().ljust(stride, b"\0"))
        file.write((np.arange(count) % 2).astype("<i4").tobytes() + bytes(4 * count) + classes)
    return values


def config(batch_size, num_workers, prefetch_factor=2):
    return dict(batch_size=batch_size, num_workers=num_workers, prefetch_factor=prefetch_factor, parallelism="batch",
                pin_memory=True)


def assert_sums(reply):
    assert reply["status"] == "ok", reply
    assert reply["load_wait_ns"] + reply["compute_ns"] + reply["shutdown_ns"] == reply["end_to_end_ns"]
    assert 0 < reply["first_batch_ns"] <= reply["load_wait_ns"]
    assert reply["anon_peak_bytes"] > 0 and reply["file_peak_bytes"] > 0 and reply["cpu_ratio"] > 0


def test_hello_lists_measures_and_knobs(runner):
    reply = runner.ask(dict(op="hello", protocol="rue.runner/1", later="ignored"))
    assert reply["protocol"] == "rue.runner/1" and reply["runner"] == f"torch {torch.__version__}"
    assert reply["loader"] == "torch" and reply["clock"] == "real"
    assert reply["measures"] == ["joint", "load", "compute"]
    assert set(reply["space"]) == {"batch_size", "num_workers", "prefetch_factor"}
    assert "models" not in reply and "variants" not in reply
    cpus = reply["machine"]["usable_cpus"]
    assert 1 <= cpus <= len(os.sched_getaffinity(0))
    assert reply["space"]["num_workers"][0] == 0 and reply["space"]["num_workers"][-1] <= 2 * cpus
    assert set(reply["machine"]) == {"cpu", "usable_cpus", "memory_bytes", "kernel", "python", "torch", "torchvision"}


def order(count, images, workload):
    """The indices of all epochs of a job."""
    sampler, out = stored_data.Order(count, images, workload), []
    while len(out) < images:
        out += list(sampler)
    return out


class VirtualGpu:
    """A clock, and copies of 30 ms, which are waited for at once from other memory than page-locked one."""
    def __init__(self): self.now_ns = self.done_ns = 0
    def sleep(self, seconds): self.now_ns += round(max(0, seconds) * 1e9)
    def thread_time_ns(self): return 0
    def synchronize(self): self.sleep((self.done_ns - self.now_ns) / 1e9)

    def batch(self, pinned):
        def to(device, non_blocking):
            assert device == "cuda" and non_blocking
            self.done_ns = self.now_ns + 30_000_000
            if not pinned: self.synchronize()
        return types.SimpleNamespace(to=to)


def test_pin_memory_is_a_knob_only_with_cuda(monkeypatch, photos):
    request = dict(variant=photos, config=config(4, 0))
    loader = lambda pinned: stored_data.StoredData().load_request({**request, "config": dict(config(4, 0), pin_memory=pinned)}, 4).loader[0]
    assert "pin_memory" not in stored_data.StoredData().space, "which PyTorch would ignore"
    assert loader(True).pin_memory is False
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert stored_data.StoredData().space["pin_memory"] == [True]
    for pinned in (True, False):
        assert loader(pinned).pin_memory is pinned


def test_a_copy_overlaps_the_sleep_from_pinned_memory_only(monkeypatch):
    gpu = VirtualGpu()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", gpu.synchronize)
    monkeypatch.setattr(consumers, "now", lambda: gpu.now_ns)
    monkeypatch.setattr(consumers, "time", gpu)
    monkeypatch.setattr(consumers, "to_cuda", lambda batch: batch.to("cuda", non_blocking=True))
    for each_ms, pinned, took_ms in ((40, True, 40), (40, False, 70), (0, True, 30), (0, False, 30)):
        consumer, start = consumers.Sleep(dict(per_batch_ns=each_ms * 1_000_000, per_image_ns=0), copies=True), gpu.now_ns
        consumer.consume(gpu.batch(pinned), 1)
        assert gpu.now_ns - start == took_ms * 1_000_000, "the copy runs beside the sleep, or before it"


def test_open_counts_and_digests(runner, photos, tmp_path):
    reply = runner.ask(dict(op="open", variant=photos, workload={}, images=PHOTOS))
    files = list(pathlib.Path(photos["path"]).rglob("*.JPEG"))
    assert (reply["status"], reply["images"], reply["cache"]) == ("ok", PHOTOS, "warm")
    assert reply["bytes"] == sum(f.stat().st_size for f in files)
    assert reply["digest"] == runner.ask(dict(op="open", variant=photos))["digest"]
    write_photos(tmp_path, PHOTOS - 1)
    other = runner.ask(dict(op="open", variant=dict(photos, path=str(tmp_path))))
    assert other["images"] == PHOTOS - 1 and other["digest"] != reply["digest"]


def test_open_fails_with_a_reason(runner, tmp_path):
    absent = str(tmp_path / "absent")
    reply = runner.ask(dict(op="open", variant=dict(path=absent, mode="raw", format="folder")))
    assert reply["status"] == "failed" and absent in reply["reason"]
    reply = runner.ask(dict(op="open", variant=dict(path=absent, mode="raw", format="csv")))
    assert reply["status"] == "failed" and wording.RAW_CSV in reply["reason"]


@pytest.mark.parametrize("workers", [0, 2])
def test_joint_runs_every_image_and_times_sum(runner, photos, workers):
    profile = dict(per_batch_ns=2_000_000, per_image_ns=1_000_000)
    reply = runner.trial(photos, config(4, workers, 3), profile=profile, detail=True, unknown=1)
    assert_sums(reply)
    assert reply["config"] == config(4, workers, 3)
    assert (reply["images"], reply["batches"], reply["bad_images"]) == (PHOTOS, 6, 0)
    assert reply["compute_ns"] >= 6 * 2_000_000 + PHOTOS * 1_000_000
    assert reply["sleep_overshoot_ns"] > 0
    ready = reply["batch_ready_ns"]
    assert len(ready) == 6 and ready == sorted(ready) and ready[0] == reply["first_batch_ns"]
    assert runner.workers() == [], "the workers have been joined"


def test_more_images_than_the_data_continue_with_the_next_epoch(runner, photos):
    reply = runner.trial(photos, config(8, 2), images=2 * PHOTOS + 1, job_images=2 * PHOTOS + 1)
    assert_sums(reply)
    assert (reply["images"], reply["batches"]) == (45, 7), "each epoch ends with its own partial batch"


def test_truncated_stops_at_a_batch_boundary(runner, photos):
    reply = runner.trial(photos, config(4, 0), images=11)
    assert (reply["images"], reply["batches"]) == (8, 2)
    reply = runner.trial(photos, config(16, 2), images=3)
    assert (reply["images"], reply["batches"]) == (16, 1)


def test_load_consumes_in_no_time(runner, photos):
    reply = runner.trial(photos, config(4, 0), measure="load", profile=dict(per_batch_ns=10**9), model="")
    assert_sums(reply)
    assert reply["images"] == PHOTOS and reply["compute_ns"] < 10**9 and "batch_ready_ns" not in reply


def test_drop_last_skips_the_partial_batch(runner, photos):
    drop = dict(drop_last=True)
    reply = runner.trial(photos, config(8, 2), workload=drop)
    assert (reply["images"], reply["batches"]) == (16, 2)
    reply = runner.trial(photos, config(64, 2), workload=drop)
    assert reply["status"] == "infeasible" and "drop_last" in reply["reason"]


def test_a_rank_loads_its_share(runner, photos):
    share = dict(rank=1, world_size=2, shuffle=False)
    reply = runner.trial(photos, config(4, 0), workload=share, images=11, job_images=11)
    assert (reply["images"], reply["batches"]) == (11, 3)
    assert order(7, 5, share) == [1, 3, 5, 1, 3]
    assert order(7, 5, {**share, "share": "contiguous"}) == [4, 5, 6, 4, 5]
    for workload, said in [(dict(rank=2, world_size=2), "rank 2"), (dict(share="shards"), "'shards'")]:
        reply = runner.trial(photos, config(4, 0), workload=workload)
        assert reply["status"] == "failed" and said in reply["reason"]


def test_the_order_is_a_permutation_of_its_seed_and_epoch():
    ordered = lambda **w: order(50, 100, w)
    once = ordered(seed=3)
    assert sorted(once[:50]) == sorted(once[50:]) == list(range(50)) and once[:50] != once[50:]
    assert once == ordered(seed=3) and once != ordered(seed=4)
    assert ordered(seed=3, epoch=1)[:50] == once[50:]
    assert ordered(shuffle=False)[:50] == list(range(50))


def test_a_compute_trial_needs_at_least_the_profile_s_time(runner, photos):
    profile = dict(batch_size=[8, 16], batch_ns=[4_000_000, 6_000_000])
    reply = runner.trial(photos, config(32, 0), measure="compute", batches=4, profile=profile)
    assert reply["status"] == "ok" and (reply["batches"], reply["images"]) == (4, 128)
    assert len(reply["batch_compute_ns"]) == 4 and sum(reply["batch_compute_ns"]) == reply["compute_ns"]
    assert min(reply["batch_compute_ns"] + [reply["warmup_ns"]]) >= 10_000_000


def test_a_step_alone_gets_a_batch_of_the_data(photos):
    sizes = []
    runner = serve.Runner(stored_data.StoredData(), dict(mine=lambda batch: sizes.append(len(batch[0]))))
    assert runner.answer(json.dumps(dict(op="open", variant=photos)))["status"] == "ok"
    reply = runner.answer(json.dumps(dict(op="trial", measure="compute", model="mine", config=config(4, 2), batches=2)))
    assert reply["status"] == "ok" and sizes == [4] * 3


def test_a_profile_is_interpolated_and_extended():
    cost = consumers.Sleep(dict(batch_size=[32, 8, 16], batch_ns=[9000, 1000, 5000])).cost_ns
    assert [cost(n) for n in (8, 12, 16, 24, 32, 48)] == [1000, 3000, 5000, 7000, 9000, 13000]
    assert cost(4) == 0, "never below 0"
    assert consumers.Sleep(dict(batch_size=[1, 8], batch_ns=[1010, 1000])).cost_ns(9999) == 1000
    assert consumers.Sleep(dict(batch_size=[10], batch_ns=[500])).cost_ns(4) == 200
    assert consumers.Sleep(dict(per_batch_ns=100, per_image_ns=7)).cost_ns(3) == 121
    assert consumers.Sleep(None).cost_ns(64) == 0


@pytest.mark.parametrize("workers", [0, 2])
def test_a_damaged_image_fails_the_trial_or_is_replaced(runner, tmp_path, workers):
    write_photos(tmp_path, 8)
    damaged = tmp_path / "class0" / "004.JPEG"
    damaged.write_bytes(damaged.read_bytes()[:900])
    variant = dict(path=str(tmp_path), mode="raw", format="folder")
    reply = runner.trial(variant, config(4, workers), images=8, job_images=8)
    assert reply["status"] == "failed" and str(damaged) in reply["reason"] and "\n" not in reply["reason"]
    assert runner.workers() == [], "a failed trial leaves no workers"
    reply = runner.trial(variant, config(4, workers), images=8, job_images=8, workload=dict(bad_images="replace"))
    assert_sums(reply)
    assert (reply["images"], reply["bad_images"]) == (8, 1)


def test_the_torch_runner_refuses_fast_decoding(runner, photos):
    reply = runner.trial(photos, config(4, 0), images=4, workload=dict(decode="fast"))
    assert reply["status"] == "failed" and wording.DECODE_FAST in reply["reason"]


@pytest.mark.parametrize("workers", [0, 2])
def test_uint8_batches_need_a_fourth_of_the_memory(runner, photos, workers):
    slabs = 4 if workers else 1
    levels = dict(shuffle=False, batch_dtype="uint8")
    limits = dict(memory_bytes=slabs * BATCH_BYTES_8 // 4)
    assert_sums(runner.trial(photos, config(8, workers, 8), workload=levels, limits=limits))
    assert runner.trial(photos, config(8, workers, 8), limits=limits)["status"] == "infeasible"
    reply = runner.ask(dict(op="open", variant=photos, workload=levels))
    assert reply["status"] == "ok" and reply["batch_dtype"] == "uint8"
    reply = runner.ask(dict(op="open", variant=photos, workload=dict(batch_dtype="float16")))
    assert reply["status"] == "failed" and "'float16'" in reply["reason"]


def test_batches_of_levels_are_those_that_are_normalised(runner, photos, tmp_path):
    one, other = stored_data.PhotoFolder(photos, "uint8")[3][0], stored_data.PhotoFolder(photos)[3][0]
    assert one.dtype == torch.uint8 and one.shape == (3, 224, 224) and torch.allclose(stored_data.normalize(one.numpy()), other, atol=1e-6)
    image = Image.open(stored_data.PhotoFolder(photos).name(3)).convert("RGB")
    assert torch.equal(stored_data.transform_plain(image, "uint8"), one)
    for dtype in "uint8", "float32":
        values, variant = write_tensors(tmp_path / dtype, dtype), dict(path=str(tmp_path / dtype), mode="preprocessed", format="tensor")
        reply = runner.trial(variant, config(4, 2), images=10, job_images=10, workload=dict(batch_dtype="uint8"))
        assert reply["status"] == ("ok" if dtype == "uint8" else "failed"), reply
        assert dtype == "uint8" or wording.LEAVE_OUT_BATCH_DTYPE in reply["reason"]
        assert dtype != "uint8" or np.array_equal(stored_data.TensorFile(variant, "uint8")[3][0].numpy(), values[3])


def test_batches_beyond_the_memory_limit_are_infeasible(runner, photos):
    limits = dict(memory_bytes=4 * BATCH_BYTES_8)  # the job has 3 batches: 3 in flight and one held
    assert runner.trial(photos, config(8, 2, 8), limits=limits)["status"] == "ok"
    reply = runner.trial(photos, config(8, 2, 8), limits=dict(memory_bytes=4 * BATCH_BYTES_8 - 1))
    assert reply["status"] == "infeasible"
    assert str(4 * BATCH_BYTES_8) in reply["reason"] and str(4 * BATCH_BYTES_8 - 1) in reply["reason"]
    reply = runner.trial(photos, config(1 << 16, 200), job_images=1 << 40)
    assert reply["status"] == "infeasible" and "/dev/shm" in reply["reason"]


def test_a_trial_beyond_its_time_limit_times_out(runner, photos):
    reply = runner.trial(photos, config(2, 2), limits=dict(time_ns=20_000_000), profile=dict(per_batch_ns=30_000_000))
    assert reply["status"] == "timeout" and reply["images"] == 2


def test_bad_requests_are_answered_and_the_runner_continues(runner, photos):
    reply = runner.ask("{garbage")
    assert reply["id"] is None and reply["status"] == "failed" and reply["reason"]
    assert runner.ask("[1]")["status"] == "failed"
    assert runner.ask(dict(id=3, op="dance")) == dict(id=3, status="failed", reason="unknown op 'dance'")
    assert runner.ask(dict(id=4)) == dict(id=4, status="failed", reason="missing key 'op'")
    reply = runner.ask(dict(id=5, op="trial", measure="joint", variant=photos))
    assert reply == dict(id=5, status="failed", reason="missing key 'config'")
    for wrong in (dict(batch_size=0), dict(num_workers=-1), dict(batch_size="8"), dict(parallelism="sample")):
        assert runner.trial(photos, dict(config(4, 0), **wrong))["status"] == "failed"
    assert runner.trial(photos, config(4, 0), measure="guess")["status"] == "failed"
    assert runner.trial(photos, config(4, 0))["status"] == "ok"


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_a_tensor_file_is_read(runner, tmp_path, dtype):
    path = tmp_path / "data.ruet"
    values = write_tensors(path, dtype)
    variant = dict(path=str(path), mode="preprocessed", format="tensor", dtype=dtype)
    reply = runner.ask(dict(op="open", variant=variant))
    assert (reply["status"], reply["images"], reply["bytes"]) == ("ok", 10, path.stat().st_size), reply
    for workers in (0, 2):
        reply = runner.trial(variant, config(4, workers), images=10, job_images=10)
        assert_sums(reply)
        assert (reply["images"], reply["batches"]) == (10, 3)
    tensor, label = stored_data.TensorFile(variant)[3]
    mean, std = np.reshape(stored_data.MEAN, (3, 1, 1)), np.reshape(stored_data.STD, (3, 1, 1))
    expected = (values[3] / 255 - mean) / std if dtype == "uint8" else values[3]
    assert label == 1 and tensor.dtype == torch.float32 and np.allclose(tensor.numpy(), expected, atol=1e-5)


def test_what_items_were_made_with_is_reported(runner, tmp_path):
    write_tensors(tmp_path / "a.tensor", "uint8", 2, b"resize 256 layout nchw\0")
    write_tensors(tmp_path / "old.tensor", "uint8", 2)
    write_tensors(tmp_path / "odd.tensor", "uint8", 2, b"resize\n\xff\0")
    for name, text in ("a.tensor", " resize 256 layout nchw"), ("old.tensor", ""), ("odd.tensor", ""):
        reply = runner.ask(dict(op="open", variant=dict(path=str(tmp_path / name), mode="preprocessed", format="tensor", dtype="uint8")))
        assert reply["made_with"] == f"shape 3x224x224{text}"
    _, variant = write_store(tmp_path / "s")
    assert runner.ask(dict(op="open", variant=variant))["made_with"] == "shape 3x20x24"
    (tmp_path / "s/images/.zattrs").write_text('{"made_with": "resize none"}')
    assert runner.ask(dict(op="open", variant=variant))["made_with"] == "shape 3x20x24 resize none"


def test_a_name_that_is_not_utf8_is_printed_cleanly(runner, tmp_path):
    write_photos(tmp_path, 2)
    os.rename(tmp_path / "class0" / "000.JPEG", os.fsencode(tmp_path) + b"/class0/\xff.JPEG")
    (tmp_path / "class1" / "001.JPEG").write_bytes(b"no photo")
    os.rename(tmp_path / "class1" / "001.JPEG", os.fsencode(tmp_path) + b"/class1/\xfe.JPEG")
    variant = dict(path=str(tmp_path), mode="raw", format="folder")
    assert runner.ask(dict(op="open", variant=variant))["images"] == 2
    reply = runner.trial(variant, config(2, 2), images=2, job_images=2)
    assert reply["status"] == "failed" and "class1/?.JPEG" in reply["reason"]


def test_a_cut_tensor_file_is_refused(runner, tmp_path):
    path = tmp_path / "cut.ruet"
    write_tensors(path, "uint8", 2)
    path.write_bytes(path.read_bytes()[:-1])
    variant = dict(path=str(path), mode="preprocessed", format="tensor", dtype="uint8")
    reply = runner.ask(dict(op="open", variant=variant))
    assert reply["status"] == "failed" and str(path) in reply["reason"]
    path.write_bytes(b"something else")
    assert wording.NOT_A_RUE_TENSOR in runner.ask(dict(op="open", variant=variant))["reason"]


def write_store(path, dtype="float32", shape=(3, 20, 24), count=11, chunk=4, name="images", **options):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed (python3-zarr)")
    values = np.random.default_rng(3).integers(0, 256, (count, *shape)).astype(dtype)
    group = zarr.open_group(str(path), mode="w", **({} if zarr.__version__.startswith("2.") else dict(zarr_format=options.pop("version", 2))))
    make = getattr(group, "create_array", None) or group.create_dataset
    make(name, shape=values.shape, dtype=values.dtype, chunks=(chunk, *shape), **options)[:] = values
    make("labels", shape=(count,), dtype="int64", chunks=(count,))[:] = np.arange(count) % 3
    return values, dict(path=str(path), mode="preprocessed", format="zarr", dtype="")


@pytest.mark.parametrize("dtype, shape", [("float32", (3, 20, 24)), ("float16", (5, 7)), ("uint8", (3, 20, 24)), ("uint8", (2, 5, 7))], ids=str)
@pytest.mark.parametrize("version", [2, 3])
def test_zarr_stores_are_read(runner, tmp_path, dtype, shape, version):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed (python3-zarr)")
    if version == 3 and zarr.__version__.startswith("2."):
        pytest.skip("zarr 2 does not write version 3")
    values, variant = write_store(tmp_path / "s", dtype, shape, **(dict(version=3) if version == 3 else {}))
    data, wide = stored_data.ZarrArray(variant), (1,) * (3 - len(shape)) + shape
    for i in (5, 0, 10):
        expected = values[i].reshape(wide).astype(np.float32)
        if dtype == "uint8":
            mean, std = ((stored_data.MEAN, stored_data.STD) if shape[0] == 3 else (np.zeros(2), np.ones(2)))
            expected = (expected / 255 - np.reshape(mean, (-1, 1, 1))) / np.reshape(std, (-1, 1, 1))
        item, label = data[i]
        assert item.dtype == torch.float32 and np.allclose(item.numpy(), expected, atol=1e-6) and label == i % 3
    if dtype == "uint8":
        assert (stored_data.ZarrArray(variant, "uint8")[5][0].numpy() == values[5]).all()
    reply = runner.ask(dict(op="open", variant=variant, workload={}))
    assert (reply["status"], reply["images"], reply["dtype"]) == ("ok", 11, dtype) and "note" not in reply
    assert reply["layout"] == "x".join(map(str, (4, *shape))) and reply["item_values"] == np.prod(shape)
    assert reply["bytes"] == sum(file.stat().st_size for file in (tmp_path / "s/images").rglob("*") if file.is_file())
    for workers in (0, 2):
        reply = runner.trial(variant, config(4, workers), images=11, job_images=11)
        assert_sums(reply)
        assert (reply["images"], reply["batches"]) == (11, 3)


def test_arrays_of_zarr_stores_are_named(runner, tmp_path):
    values, variant = write_store(tmp_path / "s", name="fields/t2m")
    assert wording.HAS_NO_ARRAY_IMAGES in runner.ask(dict(op="open", variant=variant))["reason"]
    assert wording.HAS_NO_ARRAY_T2M in runner.ask(dict(op="open", variant=dict(variant, image_key="t2m")))["reason"]
    data = stored_data.ZarrArray(dict(variant, image_key="fields/t2m"))
    assert (data[3][0].numpy() == values[3]).all() and data[10][1] == 1
    data = stored_data.ZarrArray(dict(variant, path=f"{tmp_path}/s/fields/t2m"))
    assert (data[10][0].numpy() == values[10]).all() and data[10][1] == 0
    assert f"{tmp_path}/t" in runner.ask(dict(op="open", variant=dict(variant, path=f"{tmp_path}/t")))["reason"]
    reply = runner.trial(dict(variant, image_key="fields/t2m"), config(4, 0), workload=dict(batch_dtype="uint8"))
    assert reply["status"] == "failed" and wording.FLOAT32_CANNOT_BE_MADE in reply["reason"]


def test_missing_chunks_of_zarr_stores(runner, tmp_path):
    _, variant = write_store(tmp_path / "s", fill_value=7)
    os.remove(tmp_path / "s/images/1.0.0.0")
    words = "chunks missing: 1 of 3, such as 1.0.0.0"
    assert runner.ask(dict(op="open", variant=variant))["note"].startswith(f"{words}: their items have the fill value 7")
    assert (stored_data.ZarrArray(variant)[4][0] == 7).all()
    (tmp_path / "s/images/2.0.0.0").write_bytes(b"damaged")
    reply = runner.trial(variant, config(4, 2), images=11, job_images=11)
    assert reply["status"] == "failed" and re.search(r"/s: item (8|9|10): ", reply["reason"])
    for request in dict(op="open"), dict(op="trial", id=7, measure="load", config=config(4, 0), images=4):
        reply = runner.ask(dict(request, variant=variant, workload=dict(missing_chunks="error")))
        assert reply["status"] == "failed" and wording.WRITE_THEM_AGAIN.format(words) in reply["reason"]


def test_without_the_package_zarr_the_reason_names_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "zarr", None)
    request = json.dumps(dict(op="open", variant=dict(path=str(tmp_path), mode="preprocessed", format="zarr")))
    reply = serve.Runner(stored_data.StoredData()).answer(request)
    assert reply["status"] == "failed" and wording.INSTALL_THE_PACKAGE_ZARR in reply["reason"] and sys.executable in reply["reason"]


def test_chunks_are_shuffled_and_the_items_within():
    for seed in range(3):
        ordered = list(stored_data.Order(11, 11, dict(seed=seed), 4))
        blocks = [[i for i in ordered if i // 4 == block] for block in dict.fromkeys(i // 4 for i in ordered)]
        assert sorted(ordered) == list(range(11)) and sum(blocks, []) == ordered
    assert any(list(block) != sorted(block) for block in blocks)


RECIPE = "area 0.08 1 ratio 0.75 1.33333 flip 0.5 rotation 1 -30 30 brightness 1 0.6 1.4 contrast 1 0.6 1.4 noise 1 0.1 0.1 scale 1 0.8 1.25"
EVERY_OTHER_PART = ("area 0.08 1 ratio 0.75 1.33333 flip 0.5 vertical_flip 1 randaugment 2 9 trivialaugment 1 three_augment 1 saturation 1 0.6 1.4 hue 1 -0.1 0.1 "
                    "jitter 1 0.4 0.4 0.4 0.1 grayscale 0.5 blur 1 0.1 2 gaussian_blur 1 9 0.1 2 solarize 1 100 200 posterize 1 3 8 equalize 1 autocontrast 1 "
                    "invert 1 sharpness 1 0.5 1.5")


def test_the_transform_for_training_crops_at_random(runner, photos, tmp_path):
    pytest.importorskip("torchvision.transforms", reason="torchvision is not installed")
    for recipe in "area 0.08 1 ratio 0.75 1.33333 flip 0.5", EVERY_OTHER_PART, RECIPE:
        data = stored_data.PhotoFolder(photos, "uint8", recipe)
        assert data[3][0].dtype == torch.uint8 and data[3][0].shape == (3, 224, 224) and not torch.equal(data[3][0], data[3][0])
        workload = dict(transform="train", augment=recipe)
        assert runner.ask(dict(op="open", variant=photos, workload=workload))["transform"] == "train"
        assert runner.trial(photos, config(4, 2), images=8, job_images=8, workload=workload)["status"] == "ok"
    write_tensors(tmp_path / "t", "uint8")
    variant = dict(path=str(tmp_path / "t"), mode="preprocessed", format="tensor")
    assert wording.THE_CROP_OF_PREPROCESSED in runner.ask(dict(op="open", variant=variant, workload=workload))["reason"]


@pytest.mark.parametrize("workload, said", [
    (dict(decode="fast"), "leave out --decode fast"), (dict(share="shards", world_size=2), "ranks cannot share 'shards'"),
    (dict(rank=30, world_size=40), "no images for rank 30 of 40")])
def test_options_that_do_not_suit_the_data_are_refused_when_they_are_opened(runner, photos, workload, said):
    answer = runner.ask(dict(op="open", variant=photos, workload=workload))
    assert answer["status"] == "usage" and said in answer["reason"]
    answer = runner.trial(photos, config(4, 0), images=4, job_images=4, workload=workload)
    assert answer["status"] == "failed" and said in answer["reason"], "a trial has no such status"


def test_without_torchvision_the_photos_are_the_same(photos):
    transforms = pytest.importorskip("torchvision.transforms", reason="torchvision is not installed")
    theirs = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(),
                                 transforms.Normalize(stored_data.MEAN, stored_data.STD)])
    rng = np.random.default_rng(2)
    for shape in ((300, 401), (333, 257), (224, 224), (100, 90), (512, 255)):
        image = Image.fromarray(rng.integers(0, 256, (*shape, 3), np.uint8))
        assert torch.allclose(stored_data.transform_plain(image), theirs(image), atol=1e-6)


def test_a_folder_is_indexed_like_torchvisions(photos):
    datasets = pytest.importorskip("torchvision.datasets", reason="torchvision is not installed")
    assert stored_data.PhotoFolder(photos).samples == datasets.ImageFolder(photos["path"]).samples


def test_a_killed_worker_fails_the_trial_and_the_runner_continues(photos):
    one = Runner()
    one.send(dict(op="trial", id=1, measure="load", variant=photos, config=config(4, 2), images=100_000))
    workers = one.wait_for_workers(2)
    os.kill(workers[0], signal.SIGKILL)
    reply = one.receive()
    assert reply["status"] == "failed" and reply["id"] == 1 and "worker" in reply["reason"]
    assert one.trial(photos, config(4, 2))["status"] == "ok"
    assert one.close() == 0


def test_sigterm_ends_the_runner_and_its_workers(photos):
    one = Runner()
    one.send(dict(op="trial", id=1, measure="load", variant=photos, config=config(4, 2), images=100_000))
    workers = one.wait_for_workers(2)
    assert len(workers) == 2
    one.process.terminate()
    assert one.process.wait(timeout=30) == 128 + signal.SIGTERM
    deadline = time.monotonic() + 10
    alive = lambda: [pid for pid in workers if os.path.exists(f"/proc/{pid}/maps") and open(f"/proc/{pid}/maps").read()]
    while alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert alive() == []
    one.process.stdin.close()
    one.process.stdout.close()
