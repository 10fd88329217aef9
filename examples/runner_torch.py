#!/usr/bin/python3
"""A runner for rue that measures PyTorch's DataLoader instead of rue's own loader.

    rue tune DATA --runner "examples/runner_torch.py"

It reads one JSON object per line from stdin and writes one reply per line to stdout, until its input ends. stderr is for
messages. To measure your own loader, copy this file and change the data sets (`PhotoFolder`, `TensorFile`) and
`make_loader`. The time of its result is measured from the creation of its iterator until iterator and workers are gone.
With CUDA, pin_memory is a knob, and each batch is copied to the GPU: during the sleep of the simulated model from
page-locked memory, before it from other memory. Without CUDA, PyTorch ignores pin_memory, so it is not a knob.
It needs torch, NumPy and, for photos, Pillow. It uses torchvision's transforms if they are installed.
"""
import contextlib, copy, hashlib, json, math, multiprocessing, os
import platform, resource, shutil, signal, struct, sys, time, traceback
import numpy as np, torch
from torch.utils.data import DataLoader, Dataset
try:
    from torchvision import transforms as T, __version__ as torchvision_version
except ImportError: torchvision_version = None

RESIZE, CROP, MEAN, STD = 256, 224, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
now = time.monotonic_ns

class Refused(Exception):
    """A reply without measurements: a status and a reason."""
    def __init__(self, reason, status="failed"):
        super().__init__(reason)
        self.status = status

def failure(error):
    """One line. The exception of a worker includes its traceback, whose last line is the message."""
    if isinstance(error, KeyError): return f"missing key {error}"
    line = (str(error).strip().splitlines() or [type(error).__name__])[-1].split("Refused: ", 1)[-1]
    return line[:500].encode("utf-8", "replace").decode()  # file names may not be UTF-8

# -- The data sets: items by index, their names, bytes per item in a batch, the files, and a digest of their identity.
def normalize(levels):
    """ToTensor and Normalize without torchvision: 8-bit levels in CHW order to float32."""
    mean, std = (np.array(v, np.float32).reshape(3, 1, 1) for v in (MEAN, STD))
    return torch.from_numpy((levels.astype(np.float32) / 255 - mean) / std)

def as_tensor(levels, batch_dtype):
    """8-bit levels as a tensor of a batch: normalised float32, or uint8, which the GPU normalises."""
    return torch.from_numpy(np.array(levels, order="C")) if batch_dtype == "uint8" else normalize(levels)

def transform_plain(image, batch_dtype="float32"):
    """Resize(256), CenterCrop(224) and ToTensor, Normalize, or PILToTensor, with Pillow and NumPy only."""
    short = min(image.size)
    wide, high = (int(RESIZE * v / short) for v in image.size)
    left, top = round((wide - CROP) / 2), round((high - CROP) / 2)
    image = image.resize((wide, high), 2).crop((left, top, left + CROP, top + CROP))  # 2: bilinear
    return as_tensor(np.asarray(image).transpose(2, 0, 1), batch_dtype)

def transform_for(batch_dtype):
    if not torchvision_version: return lambda image: transform_plain(image, batch_dtype)
    last = [T.PILToTensor()] if batch_dtype == "uint8" else [T.ToTensor(), T.Normalize(MEAN, STD)]
    return T.Compose([T.Resize(RESIZE), T.CenterCrop(CROP), *last])

class PhotoFolder(Dataset):
    """One sub-folder per class, in the order of torchvision's ImageFolder."""
    def __init__(self, variant, batch_dtype="float32"):
        from PIL import Image
        self.read, self.transform, root, self.samples = Image.open, transform_for(batch_dtype), variant["path"], []
        self.item_bytes = 3 * CROP * CROP * np.dtype(batch_dtype).itemsize
        for label, name in enumerate(sorted(entry.name for entry in os.scandir(root) if entry.is_dir())):
            for folder, _, names in sorted(os.walk(os.path.join(root, name), followlinks=True)):
                self.samples += [(f"{folder}/{n}", label) for n in sorted(names) if n.lower().endswith(SUFFIXES)]
        if not self.samples: raise Refused(f"{root}: no images in sub-folders; put the images of each class into a sub-folder")
        self.files = [(path, os.stat(path).st_size) for path, _ in self.samples]
        identity = sorted((os.path.relpath(path, root), size) for path, size in self.files)
        self.digest = hashlib.blake2b(repr(identity).encode(), digest_size=8).hexdigest()
    def __len__(self): return len(self.samples)
    def name(self, index): return self.samples[index][0]
    def __getitem__(self, index):
        path, label = self.samples[index]
        with open(path, "rb") as file: return self.transform(self.read(file).convert("RGB")), label

class TensorFile(Dataset):
    """rue's packed tensor file: a header, fixed-size records from byte `data`, then labels, checksums, classes."""
    def __init__(self, variant, batch_dtype="float32"):
        self.path, self.map, self.batch_dtype = variant["path"], None, batch_dtype
        with open(self.path, "rb") as file:
            header, size = file.read(4096).ljust(4096, b"\0"), os.fstat(file.fileno()).st_size
            fields = struct.unpack_from("<8s2IQ4I6Q", header)
            magic, version, dtype, self.count, *shape, _, self.stride, self.data, labels, _, _, file_bytes = fields
            if magic != b"RUETENSR" or version != 2: raise Refused(f"{self.path}: not a rue tensor file of version 2")
            if size != file_bytes: raise Refused(f"{self.path}: has {size} bytes, but its header says {file_bytes}")
            file.seek(labels)
            self.labels = np.frombuffer(file.read(4 * self.count), "<i4").tolist()
        self.dtype, self.shape = np.dtype(("<f4", "u1")[dtype]), tuple(shape)
        self.bytes, self.item_bytes = (math.prod(shape) * np.dtype(d).itemsize for d in (self.dtype, batch_dtype))
        if batch_dtype == "uint8" and self.dtype != np.uint8:
            raise Refused(f"{self.path}: float32 cannot be made uint8: prepare it again, or leave out --batch-dtype uint8")
        sound = 0 < self.bytes <= self.stride and 0 < self.count == len(self.labels) and shape[0] == 3
        if not sound or self.data + self.count * self.stride > size: raise Refused(f"{self.path}: damaged header")
        if variant.get("dtype") not in (None, "", self.dtype.name): raise Refused(f"{self.path}: its dtype is {self.dtype.name}")
        self.files, self.digest = [(self.path, size)], hashlib.blake2b(header, digest_size=8).hexdigest()
    def __len__(self): return self.count
    def name(self, index): return f"{self.path}: item {index}"
    def __getitem__(self, index):
        if self.map is None: self.map = np.memmap(self.path, np.uint8, "r")  # in each worker by itself
        start = self.data + index * self.stride
        values = self.map[start:start + self.bytes].view(self.dtype).reshape(self.shape)
        image = torch.from_numpy(np.array(values)) if self.dtype != np.uint8 else as_tensor(values, self.batch_dtype)
        return image, self.labels[index]

class Checked(Dataset):
    """The items of `data`. A damaged item is an error that names it; or the next item replaces it, and it is counted."""
    def __init__(self, data, replace):
        self.data, self.replace = data, replace
        self.bad = multiprocessing.get_context("fork").Value("q", 0)
    def __getitem__(self, index):
        for i in (k % len(self.data) for k in range(index, index + len(self.data))):
            try: return self.data[i]
            except Exception as error:
                if not self.replace: raise Refused(f"{self.data.name(i)}: {failure(error)}")
                with self.bad.get_lock(): self.bad.value += i == index  # the next item may be damaged, too
        raise Refused("no item can be read")

def indices(count, images, workload):
    """`images` indices of this rank, over as many epochs as needed, with a new permutation for each."""
    rank, ranks, everything = workload.get("rank", 0), workload.get("world_size", 1), range(count)
    if not 0 <= rank < min(ranks, count): raise Refused(f"no images for rank {rank} of {ranks}")
    generator, epoch = torch.Generator(), workload.get("epoch", 0)
    while images:
        generator.manual_seed((workload.get("seed", 1) + epoch) % 2**64)
        if workload.get("shuffle", True): everything = torch.randperm(count, generator=generator).tolist()
        share = everything[rank::ranks][:images]
        yield from share
        images, epoch = images - len(share), epoch + 1

def pins(config):
    """Whether batches are in page-locked memory, which needs CUDA."""
    return torch.cuda.is_available() and config["pin_memory"]

def make_loader(data, order, config):
    """The measured loader: batches of the items with the indices of `order`."""
    workers = config["num_workers"]
    options = dict(prefetch_factor=config["prefetch_factor"], multiprocessing_context="fork") if workers else {}
    return DataLoader(data, batch_size=config["batch_size"], sampler=order, num_workers=workers, pin_memory=pins(config), **options)

class Consumer:
    """A simulated model: sleeps as long as its profile says for each batch; without a profile it needs no time."""
    def __init__(self, profile):
        profile, self.overshoot_ns = profile or {}, 0
        fixed, each = profile.get("per_batch_ns", 0), profile.get("per_image_ns", 0)
        self.points = sorted(zip(profile.get("batch_size", (0, 1)), profile.get("batch_ns", (fixed, fixed + each))))
        if len(self.points) == 1: self.points.insert(0, (0, 0))
    def cost_ns(self, images):
        """Linear between the two points around `images`. Outside, on the line through the nearest two points, but not
        less than at the last point."""
        right = next((i for i, (x, _) in enumerate(self.points) if i and images <= x), len(self.points) - 1)
        (x0, y0), (x1, y1) = self.points[right - 1:right + 1]
        return max(y1 if images > x1 else 0, int(y0 + (y1 - y0) * (images - x0) / (x1 - x0)))
    def consume(self, images, batch=None):
        """Sleeps for the batch, and copies it to the GPU if there is one."""
        first, copies = now(), batch is not None and torch.cuda.is_available()
        copy = batch.to("cuda", non_blocking=True) if copies else None  # without pinned memory this waits for the copy
        start, cost = now(), self.cost_ns(images)
        while (left := start + cost - now()) > 0: time.sleep(left / 1e9)
        self.overshoot_ns -= left if cost else 0
        if copies: torch.cuda.synchronize()
        del copy
        return now() - first

# -- Figures of the kernel: the machine, and this process with its workers.
def text(path):
    try:
        with open(path) as file: return file.read()
    except OSError: return ""
def number(path, key):
    """The number after `key` in a file of the kernel; 0 if it is absent."""
    return int((text(path).partition(f"{key}:")[2].split() or [0])[0])

def cgroup(controller, files_v2, files_v1):
    """The words of files of this process's control group, version 2 or 1. A container sees its group at the root."""
    for group in text("/proc/self/cgroup").split():
        _, names, path = group.split(":", 2)
        if names and controller not in names.split(","): continue
        for root in [f"/sys/fs/cgroup/{controller if names else ''}{p}" for p in (path, "")]:
            found = " ".join(text(f"{root}/{file}") for file in (files_v1 if names else files_v2)).split()
            if found: return found
    return []

def machine():
    cpus, memory = len(os.sched_getaffinity(0)), number("/proc/meminfo", "MemTotal") * 1024
    quota = cgroup("cpu", ["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"])
    if len(quota) == 2 and quota[0] not in ("max", "-1"): cpus = min(cpus, math.ceil(int(quota[0]) / int(quota[1])))
    memory = min([memory] + [int(w) for w in cgroup("memory", ["memory.max"], ["memory.limit_in_bytes"]) if w != "max"])
    cpu = text("/proc/cpuinfo").partition("model name\t: ")[2].partition("\n")[0] or platform.machine()
    return dict(cpu=cpu, usable_cpus=cpus, memory_bytes=memory, kernel=f"{platform.system()} {platform.release()}",
                python=platform.python_version(), torch=torch.__version__, torchvision=torchvision_version)

def memory_bytes(kind):
    """Memory of `kind`, Anon or File, of this process and its workers. Pages shared by forked processes count once (Pss)
    if the kernel reports it. Batches in flight are in /dev/shm and do not count."""
    roots = [f"/proc/{pid}" for pid in [os.getpid()] + [child.pid for child in multiprocessing.active_children()]]
    return 1024 * sum(number(f"{r}/smaps_rollup", f"Pss_{kind}") or number(f"{r}/status", f"Rss{kind}") for r in roots)

def usage():
    """CPU seconds and bytes read from storage so far, of this process and its finished children."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(t.ru_utime + t.ru_stime for t in times), number("/proc/self/io", "\nread_bytes")

def check_fits(data, config, job_images, limits):
    """Checks the memory of the whole job: its batches in flight and the one that the consumer holds."""
    batch = min(config["batch_size"], job_images)
    slabs = min(config["num_workers"] * config["prefetch_factor"], math.ceil(job_images / batch)) + 1
    need, rooms = slabs * batch * data.item_bytes, {"limits.memory_bytes": limits.get("memory_bytes") or math.inf}
    if config["num_workers"]: rooms["/dev/shm"] = shutil.disk_usage("/dev/shm").free
    for name, room in rooms.items():
        if need > room: raise Refused(f"{slabs} batches of {batch} need {need} bytes, but {name} has {room}", "infeasible")

def time_loader(loader, consumer, copies, batches, limit_ns):
    """Runs both until the workers are joined; the three times of the consumer's thread sum to end_to_end_ns."""
    images, wait_ns, compute_ns, ready = 0, 0, 0, []
    start = done = now()
    iterator = iter(loader)
    while len(ready) < batches and done - start <= limit_ns:
        batch, waiting = next(iterator), done
        got = now()
        ready.append(got - start)
        images += len(batch[0])
        consumer.consume(len(batch[0]), batch[0] if copies else None)
        done = now()
        wait_ns, compute_ns = wait_ns + got - waiting, compute_ns + done - got
    anon, file = memory_bytes("Anon"), memory_bytes("File")
    stopping = now()  # reading the memory is not part of the time
    del iterator, batch
    shutdown_ns = now() - stopping
    return dict(status="ok", images=images, batches=len(ready), end_to_end_ns=wait_ns + compute_ns + shutdown_ns,
                first_batch_ns=ready[0], load_wait_ns=wait_ns, compute_ns=compute_ns, shutdown_ns=shutdown_ns,
                anon_peak_bytes=anon, file_peak_bytes=file, batch_ready_ns=ready)

def trial_loader(data, request, config):
    """The measures joint and load."""
    workload, limits, size = request.get("workload", {}), request.get("limits", {}), config["batch_size"]
    if workload.get("decode", "exact") != "exact": raise Refused("PIL can only decode exactly: leave out --decode fast")
    images = request.get("images") or len(data)
    job_images = max(images, request.get("job_images", images))
    if images < job_images: images = min(job_images, max(1, images // size) * size)  # truncated: whole batches
    if workload.get("drop_last"): images -= images % size
    if images < 1: raise Refused(f"drop_last leaves no batch of {size} images of {job_images}", "infeasible")
    check_fits(data, config, job_images, limits)
    checked = Checked(copy.copy(data), workload.get("bad_images") == "replace")  # a copy: its map is closed with the trial
    loader = make_loader(checked, indices(len(data), images, workload), config)
    joint = request["measure"] == "joint"
    consumer = Consumer(request.get("profile") if joint else None)
    cpu_s, read_bytes = usage()
    reply = time_loader(loader, consumer, joint, math.ceil(images / size), limits.get("time_ns") or math.inf)
    cpu_end_s, read_end_bytes = usage()
    reply.update(read_bytes=read_end_bytes - read_bytes, cpu_ratio=(cpu_end_s - cpu_s) * 1e9 / reply["end_to_end_ns"],
                 bad_images=checked.bad.value, sleep_overshoot_ns=consumer.overshoot_ns)
    if reply["images"] < images: reply.update(status="timeout", reason=f"{reply['images']} of {images} images in time")
    if not request.get("detail"): del reply["batch_ready_ns"]
    return reply

def trial_compute(request, config):
    """The model alone. It sleeps, so it needs a batch only to copy it to a GPU."""
    consumer = Consumer(request.get("profile"))
    count, size = max(1, request.get("batches", 3)), config["batch_size"]
    batch = torch.zeros(size, 3, CROP, CROP, pin_memory=pins(config)) if torch.cuda.is_available() else None
    times = [consumer.consume(size, batch) for _ in range(count + 1)]
    return dict(status="ok", batches=count, images=count * size, warmup_ns=times[0],
                batch_compute_ns=times[1:], compute_ns=sum(times[1:]), sleep_overshoot_ns=consumer.overshoot_ns)

class Runner:
    """One method per operation of the protocol; each returns a dict."""
    def __init__(self): self.opened = {}
    def find(self, request):
        variant, dtype = request["variant"], request.get("workload", {}).get("batch_dtype", "float32")
        if dtype not in ("float32", "uint8"): raise Refused(f"batches cannot be of {dtype!r}")
        key, name = json.dumps([variant, dtype], sort_keys=True), f"{variant['mode']} {variant['format']}"
        kinds = {"raw folder": PhotoFolder, "preprocessed tensor": TensorFile}
        if name not in kinds: raise Refused(f"cannot read {name}: give {' or '.join(kinds)}")
        if key not in self.opened: self.opened[key] = kinds[name](variant, dtype)
        return self.opened[key]
    def hello(self, request):
        facts = machine()
        pinning = dict(pin_memory=[True]) if torch.cuda.is_available() else {}
        workers = [w for w in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128) if w <= 2 * facts["usable_cpus"]]
        return dict(protocol="rue.runner/1", runner=f"torch {torch.__version__}", loader="torch", clock="real",
                    measures=["joint", "load", "compute"], machine=facts,
                    space=dict(batch_size=[32, 64, 128, 256, 512], num_workers=workers, prefetch_factor=[2], **pinning))
    def open(self, request):
        self.opened.clear()  # the files may have changed
        data, workload = self.find(request), request.get("workload", {})
        cache = workload.get("cache", "warm")
        total = sum(size for _, size in data.files)
        if total > number("/proc/meminfo", "MemAvailable") * 512: cache = "as-is"
        for path, _ in data.files if cache == "warm" else []:
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 20): pass
        with contextlib.suppress(Exception): copy.copy(data)[0]  # builds before the trials what is built on first use
        return dict(status="ok", images=len(data), bytes=total, digest=data.digest,
                    batch_dtype=workload.get("batch_dtype", "float32"),  # shows that this runner knows the word
                    cache="as-is" if cache == "cold" else cache, cache_reason="the PyTorch runner cannot evict data from memory")
    def trial(self, request):
        defaults, asked = dict(batch_size=1, num_workers=0, prefetch_factor=2, parallelism="batch", pin_memory=True), request["config"]
        config = {knob: asked.get(knob, default) for knob, default in defaults.items()}
        for knob, least in (("batch_size", 1), ("num_workers", 0), ("prefetch_factor", 1)):
            if type(config[knob]) is not int or config[knob] < least: raise Refused(f"{knob} cannot be {config[knob]!r}")
        if type(config["pin_memory"]) is not bool: raise Refused(f"pin_memory cannot be {config['pin_memory']!r}")
        if config["parallelism"] != "batch": raise Refused("PyTorch's workers load whole batches: parallelism must be batch")
        if request["measure"] == "compute": return dict(config=config, **trial_compute(request, config))
        if request["measure"] not in ("joint", "load"): raise Refused(f"unknown measure {request['measure']!r}")
        return dict(config=config, **trial_loader(self.find(request), request, config))
    def answer(self, line):
        request = None
        try:
            request = json.loads(line)
            if not isinstance(request, dict): raise Refused("a request is a JSON object")
            operation = dict(hello=self.hello, open=self.open, trial=self.trial).get(request["op"])
            if not operation: raise Refused(f"unknown op {request['op']!r}")
            reply = operation(request)
        except Exception as error:
            reply = dict(status=getattr(error, "status", "failed"), reason=failure(error))
            traceback.clear_frames(error.__traceback__)  # they keep the iterator of a failed trial, and its workers, alive
        return dict(id=request.get("id") if isinstance(request, dict) else None, **reply)

def stop(signum, frame):
    for child in multiprocessing.active_children(): child.kill()
    os._exit(128 + signum)

def main():
    runner, replies = Runner(), os.fdopen(os.dup(1), "w", buffering=1)  # output of libraries must not mix with replies
    os.dup2(2, 1)
    for signum in (signal.SIGTERM, signal.SIGINT): signal.signal(signum, stop)
    torch.set_num_threads(1)
    for line in sys.stdin:
        if line.strip(): replies.write(json.dumps(runner.answer(line)) + "\n")
if __name__ == "__main__": main()
