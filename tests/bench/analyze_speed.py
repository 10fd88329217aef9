#!/usr/bin/python3
"""How long rue analyze takes for 100,000 rows, beside Python's csv module that only reads the same file.

Goal: at most a second; tables of many configurations, of many repeats and of many models alike.
"""
import csv, os, random, subprocess, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHAPES = [(2, 12, 45), (1, 20, 5000), (1, 1, 1), (1, 20, 100_000), (1, 1000, 100)]  # modes, models, configurations
ROWS = 100_000


def write(path, modes, models, configs):
    dice = random.Random(1)
    with open(path, 'w') as file:
        print('mode,model,batch_size,num_workers,prefetch_factor,time_s', file=file)
        for i in range(ROWS):
            c = i // models % configs if modes * models * configs <= ROWS else i % configs
            print('mode%d,model%d,%d,%d,%d,%.6f' % (i % modes, i % models, 1 + c % 1000, c // 1000 % 200, 1 + c // 50000 % 64,
                                                    dice.uniform(1, 2)), file=file)


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def read(path):
    with open(path, newline='') as file:
        for row in csv.DictReader(file):
            float(row['time_s'])


def main():
    print('%6s %7s %8s %10s %10s %12s %7s' % ('modes', 'models', 'configs', 'table s', '--json s', 'csv alone s', 'ratio'))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'table.csv')
        for shape in SHAPES:
            write(path, *shape)
            command = [os.path.join(ROOT, 'build/release/rue'), 'analyze', path, '--quiet']
            run = lambda *more: subprocess.run([*command, *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            ours, as_json, theirs = timed(run), timed(lambda: run('--json')), timed(lambda: read(path))
            print('%6d %7d %8d %10.2f %10.2f %12.2f %6.2fx' % (*shape, ours, as_json, theirs, theirs / ours))


if __name__ == '__main__':
    main()
