#!/usr/bin/env python3
"""rue.headroom on loops whose truth is known: whole epochs of the plain loop, against the steps alone. The limit is an error of 3 points.

  tests/bench/headroom.py [BUDGET]
"""
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("RUE_PROGRAM", str(ROOT / "build/release/rue"))
import rue_tuner as rue  # noqa: E402
import torch  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

IMAGES, BATCH, LIMIT, EPOCHS = 640, 16, 0.03, 3


class Slow(Dataset):
    def __init__(self, sleeps_s, adds):
        self.sleeps_s, self.adds = sleeps_s, adds

    def __len__(self):
        return IMAGES

    def __getitem__(self, index):
        time.sleep(self.sleeps_s)
        image = torch.zeros(64)
        for _ in range(self.adds):
            image = image + index
        return image


def sleeping_step(step_s):
    def step(batch):
        time.sleep(step_s)
    return step


def computing_step(batch):
    square = torch.ones(96, 96)
    for _ in range(60):
        square = square @ square / 96


def epoch_s(batches, step):
    begin = time.monotonic()
    for batch in batches:
        step(batch)
    return time.monotonic() - begin


def true_loss(loader, step):
    """Of epochs of the loop and of the steps alone, in turns."""
    memory, losses = next(iter(loader)), []
    for _ in range(EPOCHS):
        alone_s = epoch_s([memory] * (IMAGES // BATCH), step)
        losses.append(1 - alone_s / epoch_s(loader, step))
    return sorted(losses)[EPOCHS // 2]


def main():
    budget, worst = sys.argv[1] if len(sys.argv) > 1 else "30s", 0
    torch.set_num_threads(1)
    loops = {"the step sleeps": (0, 0, 1, sleeping_step(0.1)),
             "the loader sleeps": (0.006, 0, 1, sleeping_step(0.005)),
             "both sleep": (0.006, 0, 1, sleeping_step(0.05)),
             "without workers": (0.003, 0, 0, sleeping_step(0.05)),
             "both compute": (0, 400, 2, computing_step)}
    print(f"{'loop':20}{'measured':>10}{'interval':>20}{'truth':>8}{'error':>8}  limit {100 * LIMIT:.0f} points")
    for name, (sleeps_s, adds, workers, step) in loops.items():
        loader = DataLoader(Slow(sleeps_s, adds), batch_size=BATCH, num_workers=workers)
        found = rue.headroom(loader, step, budget=budget, quiet=True)
        truth = true_loss(loader, step)
        error = abs(found.loss_ratio - truth)
        worst = max(worst, error)
        low, high = found.interval
        print(f"{name:20}{100 * found.loss_ratio:8.1f} %{100 * low:10.1f} to {100 * high:4.1f} %{100 * truth:6.1f} %{100 * error:8.1f}")
    print(f"largest error / limit: {worst / LIMIT:.2f}")


if __name__ == "__main__":
    main()
