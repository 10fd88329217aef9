"""What benchmarks share that run loaders in turn: sides, each in processes that stand still while the others run, and rows of medians."""
import itertools
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")


def row(what, unit, value, peer, other, goal=""):
    """As bench_row of bench.h."""
    print(f"{what}\t{unit}\t{value:.4g}\t{peer}\t{other:.4g}\t{value / other if other else 0:.3f}\t{goal}", flush=True)


def absent(what, unit, peer, why):
    print(f"{what}\t{unit}\t-\t{peer}: {why}\t-\t-\t", flush=True)


def processes(root):
    """A process and its descendants."""
    found = [root]
    for pid in found:
        try:
            tasks = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
            found += [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def cpu_s(root):
    total = 0
    for pid in processes(root):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / TICK


class Side:
    """A group of processes that delivers batches when it is asked.

    It is stopped after each measurement, with what it loads ahead half done, and continues there."""

    def __init__(self, batch_size, workers, *command):
        self.batch_size, self.cycle, self.cpu_ms, self.errors = batch_size, max(workers, 1), 0.0, tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        process_group=0)

    def ask(self, skip, count):
        os.killpg(self.process.pid, signal.SIGCONT)
        self.process.stdin.write(f"{skip} {count}\n")
        self.process.stdin.flush()

    def seconds(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            raise RuntimeError((self.errors.read().strip().splitlines() or ["it ended"])[-1][:100])
        return float(line)

    def run(self, skip, count):
        self.ask(skip, count)
        seconds = self.seconds()
        os.killpg(self.process.pid, signal.SIGSTOP)
        return seconds

    def warm_up(self):
        """Until what was loaded ahead before the first batch is gone: up to two batches a worker."""
        self.run(2 * self.cycle, 1)

    def images_per_s(self, images):
        """Of whole cycles: the batches of all workers arrive at nearly the same time."""
        count = max(round(images / self.batch_size / self.cycle), 1) * self.cycle
        begin_s = cpu_s(self.process.pid)
        seconds = self.run(1, count)
        self.cpu_ms = 1e3 * (cpu_s(self.process.pid) - begin_s) / (self.batch_size * (1 + count))
        return self.batch_size * count / seconds

    def close(self):
        self.process.stdin.close()
        if self.process.returncode is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def serve(stream):
    """What a side does: for each line "SKIP COUNT" of its input it drops SKIP batches, then prints the seconds that the next COUNT take."""
    for line in sys.stdin:
        skip, count = map(int, line.split())
        for batch in itertools.islice(stream, skip):
            pass
        begin = time.perf_counter()
        for batch in itertools.islice(stream, count):
            pass
        print(time.perf_counter() - begin, flush=True)


def compare(sides, repeats, images):
    """{name: (median images a second, median CPU ms an image)}, in turn, each time from another one on. Closes the sides."""
    runs, cpus, names = {name: [] for name in sides}, {name: [] for name in sides}, list(sides)
    try:
        for side in sides.values():
            side.warm_up()
        for turn in range(repeats):
            for name in names[turn % len(names):] + names[:turn % len(names)]:
                runs[name].append(sides[name].images_per_s(images))
                cpus[name].append(sides[name].cpu_ms)
    finally:
        for side in sides.values():
            side.close()
    return {name: (statistics.median(runs[name]), statistics.median(cpus[name])) for name in sides}


def compare_best(make, candidates, repeats, images):
    """What compare returns for sides with the workers that are fastest in three short runs, these workers, and {name: why it is absent}.

    candidates  {name: numbers of workers to try}
    make        a function of a name and workers that returns the side"""
    best, absences = {}, {}
    for name, counts in candidates.items():
        try:
            rates = compare({workers: make(name, workers) for workers in counts}, 3, images // 2)
            best[name] = max(rates, key=lambda workers: rates[workers][0])
        except RuntimeError as error:
            absences[name] = str(error)
    return compare({name: make(name, workers) for name, workers in best.items()}, repeats, images), best, absences
