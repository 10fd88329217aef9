"""Whether a model that sleeps ranks configurations as the same model does on the GPU: both run over a grid, the sleeping
one with the times that the GPU's batches took, and Kendall's tau tells how alike the two orders are.

    rank_agreement.py RUE DATA [MODEL]
"""
import itertools
import json
import math
import statistics
import subprocess
import sys

BATCH_SIZES, WORKERS, REPEATS, IMAGES = [8, 32, 128], [0, 1, 2, 4, 8], 2, 512
ENOUGH = 0.8


class Runner:
    """Asks `rue runner` for trials."""

    def __init__(self, program, data):
        self.data = dict(path=data, mode="raw", format="folder")
        self.process = subprocess.Popen([program, "runner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def trial(self, **more):
        ask = dict(op="trial", id=1, variant=self.data, images=IMAGES, job_images=IMAGES, **more)
        self.process.stdin.write(json.dumps(ask) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer["status"] != "ok":
            raise SystemExit(f"FAILED: {answer['reason']}")
        return answer

    def batch_ns(self, model, batch_size):
        """Of the model alone; its first batches are slower."""
        answer = self.trial(measure="compute", model=model, batches=20, config=dict(batch_size=batch_size, num_workers=0))
        return statistics.median(answer["batch_compute_ns"])

    def job_ns(self, model, batch_size, workers):
        config = dict(batch_size=batch_size, num_workers=workers)
        return statistics.median(self.trial(measure="joint", model=model, config=config)["end_to_end_ns"] for _ in range(REPEATS))


def kendall(first, second):
    """tau-b: ties count for neither side."""
    sign = lambda x: (x > 0) - (x < 0)
    pairs = [(sign(first[i] - first[j]), sign(second[i] - second[j])) for i, j in itertools.combinations(range(len(first)), 2)]
    ranked = [sum(pair[side] != 0 for pair in pairs) for side in (0, 1)]
    return sum(a * b for a, b in pairs) / math.sqrt(ranked[0] * ranked[1])


def twin(batch_size, batch_ns):
    """Of one batch size: so no line has to be put through several."""
    return f"sleep:{round(batch_ns / batch_size)}ns/image"


def main(program, data, model="resnet50@cuda:bf16"):
    runner = Runner(program, data)
    real, slept = [], []
    for batch_size in BATCH_SIZES:
        sleeping = twin(batch_size, runner.batch_ns(model, batch_size))
        for workers in WORKERS:
            real.append(runner.job_ns(model, batch_size, workers))
            slept.append(runner.job_ns(sleeping, batch_size, workers))
            print(f"batch size {batch_size:4}, {workers} workers: {real[-1] / 1e6:9.1f} ms on the GPU, "
                  f"{slept[-1] / 1e6:9.1f} ms asleep ({slept[-1] / real[-1] - 1:+.1%})", flush=True)
    tau = kendall(real, slept)
    print(f"Kendall's tau of {len(real)} configurations: {tau:.3f}")
    return 0 if tau >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
