"""Loader(device="cuda") on a real GPU: python3 loader_cuda.py RUE [IMAGES]. Prints figures, and ends with 1 where a check failed.

Needs PyTorch with CUDA and torchvision; RUE_LOADER names _rue_loader.so. Says why it is skipped where they are missing."""
import itertools
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
BATCH, SECONDS = 64, 6.0


def require_gpu():
    """torch; ends where it cannot be used."""
    try:
        import torch
    except ImportError as error:
        sys.exit(print(f"skipped: {error}"))
    if not torch.cuda.is_available():
        sys.exit(print(f"skipped: PyTorch {torch.__version__} finds no GPU"))
    return torch


def ulps(torch, left, right):
    """The largest distance of two float32 tensors, in steps between neighbouring numbers."""
    def rank(tensor):
        bits = tensor.cpu().view(torch.int32).to(torch.int64)
        return torch.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    return int((rank(left) - rank(right)).abs().max())


def check_equality(rue, torch, data):
    """float32 as on the CPU, equal or by 1 ulp; the other dtypes are that, rounded."""
    most = 0
    for transform in ("eval", "train"):
        options = dict(batch_size=BATCH, transform=transform, shuffle=True, drop_last=False, seed=3)
        kinds = ("float32", "bfloat16", "float16")
        with rue.Loader(data, **options) as host:
            loaders = [rue.Loader(data, device="cuda", image_dtype=kind, channels_last=kind != "float32", **options) for kind in kinds]
            for (images, labels), *others in zip(host, *loaders):
                exact = others[0][0]
                most = max(most, ulps(torch, exact, images))
                for kind, (other, same_labels) in zip(kinds, others):
                    assert torch.equal(other, exact.to(getattr(torch, kind))), f"{kind} differs from rounded float32"
                    assert torch.equal(same_labels.cpu(), labels) and same_labels.dtype == torch.int64
                    assert kind == "float32" or other.is_contiguous(memory_format=torch.channels_last)
            for loader in loaders:
                loader.close()
    print(f"float32 on the GPU against the CPU: at most {most} ulp apart")
    return most <= 1


def check_streams(rue, torch, data):
    """Each batch is used on another stream, behind work that keeps the GPU busy, and then dropped. Sums are exact in float64."""
    with rue.Loader(data, batch_size=16, shuffle=True, num_workers=4) as host:
        expected = [images.double().sum().item() for _ in range(3) for images, _ in host]
    seen, streams = [], itertools.cycle([torch.cuda.default_stream(), torch.cuda.Stream(), torch.cuda.Stream()])
    with rue.Loader(data, batch_size=16, shuffle=True, num_workers=4, device="cuda") as loader:
        for _ in range(3):
            batches = iter(loader)
            for stream in streams:
                with torch.cuda.stream(stream):
                    images, _ = next(batches, (None, None))
                    if images is None:
                        break
                    torch.cuda._sleep(20_000_000)
                    seen.append(images.double().sum())
                    images.fill_(0)
                    del images
    torch.cuda.synchronize()
    wrong = sum(abs(sum_.item() - wanted) > 1e-6 * max(abs(wanted), 1) for sum_, wanted in zip(seen, expected))
    print(f"other streams: {wrong} of {len(seen)} batches differ")
    return wrong == 0 and len(seen) == len(expected)


def check_memory(rue, torch, data):
    """Memory of the GPU and of the process after 5 and after 25 short epochs, some of them left."""
    def resident():
        return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS"))) * 1024
    figures = []
    with rue.Loader(data, batch_size=16, device="cuda", image_dtype="bfloat16", channels_last=True, transform="train") as loader:
        for epoch in range(25):
            for number, (images, _) in enumerate(loader):
                images.float().mean()
                if epoch % 3 == 1 and number == 2:
                    break
            torch.cuda.synchronize()
            if epoch in (4, 24):
                figures.append((torch.cuda.memory_reserved(), torch.cuda.memory_allocated(), resident()))
    grown = [after - before for before, after in zip(*figures)]
    print("growth over 20 epochs: reserved {:,}, allocated {:,}, resident {:,} bytes".format(*grown))
    return grown[0] <= 0 and grown[1] <= 16 * 3 * 224 * 224 * 2 and grown[2] < 20_000_000


class Training:
    """ResNet-50, bfloat16, channels_last."""

    def __init__(self, torch, torchvision):
        self.torch = torch
        self.model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def step(self, images, labels):
        with self.torch.autocast("cuda", dtype=self.torch.bfloat16):
            loss = self.torch.nn.functional.cross_entropy(self.model(images), labels % 1000)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


def measure(torch, batches, step, seconds=SECONDS):
    """Images/s, after a warm-up of a fifth of the time."""
    images_seen, begin, warm = 0, time.monotonic(), False
    for images, labels in batches:
        step(images, labels)
        images_seen += len(images)
        now = time.monotonic()
        if not warm and now - begin > seconds / 5:
            torch.cuda.synchronize()
            images_seen, begin, warm = 0, time.monotonic(), True
        elif warm and now - begin > seconds:
            break
    torch.cuda.synchronize()
    return images_seen / (time.monotonic() - begin)


def check_rate(rue, torch, data):
    """Training on the loader against the slower one of: the same steps on one resident batch, the loader without steps."""
    import torchvision
    training = Training(torch, torchvision)
    options = dict(batch_size=BATCH, transform="train", device="cuda", image_dtype="bfloat16", channels_last=True)
    with rue.Loader(data, **options) as loader:
        endless = itertools.chain.from_iterable(itertools.repeat(loader))
        resident = next(iter(loader))
        synthetic = measure(torch, itertools.repeat(resident), training.step)
        alone = measure(torch, endless, lambda images, labels: None)
        both = measure(torch, itertools.chain.from_iterable(itertools.repeat(loader)), training.step)
    ratio = both / min(synthetic, alone)
    print(f"ResNet-50, bf16, channels_last, batch {BATCH}: steps alone {synthetic:,.0f}, loader alone {alone:,.0f}, together {both:,.0f} images/s; "
          f"{ratio:.3f} of the slower one")
    return ratio >= 0.95


def main(program, images="1024"):
    torch = require_gpu()
    import rue_tuner as rue
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "photos"
        subprocess.run([program, "prepare", "--synthetic", images, data, "--quiet"], check=True)
        for check in (check_equality, check_streams, check_memory, check_rate):
            try:
                passed = check(rue, torch, data)
            except (AssertionError, ImportError, RuntimeError) as error:
                passed = print(f"{check.__name__}: {type(error).__name__}: {error}")
            print(f"{check.__name__}: {'ok' if passed else 'FAILED'}")
            failed += [] if passed else [check.__name__]
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
