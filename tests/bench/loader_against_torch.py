#!/usr/bin/python3
"""Images a second of rue's loader beside PyTorch's DataLoader on the same files, against a consumer that takes no time.

  loader_against_torch.py DATA [--images N] [--batch-size B] [--num-workers 0,1,2] [--repeats R] [--rows]

Both sides answer the same requests of the runner protocol, in turn, so that a drift of the machine's speed hits both;
medians and ratios are printed. Of a tensor file PyTorch also reads whole batches at once (torch_batches.py). DATA is a folder of JPEG files or a tensor file; make one of photographs' size with
'rue prepare --synthetic 2000 DATA'. The first batch is timed as well. PyTorch: apt-get install python3-torch
python3-torchvision; without it rue's figures stand alone.
"""
import argparse, json, os, statistics, subprocess, sys

PARALLELISM = ['batch', 'sample']
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Runner:
    def __init__(self, name, command):
        self.name, self.ids = name, 0
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + '\n')
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline() or '{"status":"failed","reason":"it ended"}')
        if reply.get('status', 'ok') != 'ok':
            sys.exit('%s: %s' % (self.name, reply.get('reason')))
        return reply

    def load(self, variant, images, config):
        self.ids += 1
        reply = self.ask(op='trial', id=self.ids, measure='load', variant=variant, config=config, images=images,
                         job_images=images, workload=dict(shuffle=True, seed=1), limits=dict(time_ns=600 * 10**9))
        return dict(images_per_s=1e9 * reply['images'] / reply['end_to_end_ns'],
                    first_batch_ms=reply['first_batch_ns'] / 1e6,
                    cpu_ms_per_image=reply['cpu_ratio'] * reply['end_to_end_ns'] / reply['images'] / 1e6)


def have_torch():
    return subprocess.run(['/usr/bin/python3', '-c', 'import torch'], stderr=subprocess.DEVNULL).returncode == 0


def main():
    os.environ['PYTHONPATH'] = os.path.join(ROOT, 'python')
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('data')
    parser.add_argument('--images', type=int, default=0, help='of a run [all]')
    parser.add_argument('--batch-size', type=int, default=128)
    parser.add_argument('--num-workers', default='0,1,2')
    parser.add_argument('--repeats', type=int, default=5)
    parser.add_argument('--program', default=os.path.join(ROOT, 'build/release/rue'))
    parser.add_argument('--rows', action='store_true', help='lines for run.py: rue at its best beside PyTorch at its best')
    options = parser.parse_args()
    raw = os.path.isdir(options.data)
    variant = dict(path=os.path.abspath(options.data), mode='raw' if raw else 'preprocessed', format='folder' if raw else 'tensor')
    runners = [Runner('rue', [options.program, 'runner'])]
    if have_torch():
        runners.append(Runner('torch', ['/usr/bin/python3', '-m', 'rue_tuner.runner']))
        if not raw: runners.append(Runner('torch batches', [os.path.join(ROOT, 'tests/bench/torch_batches.py')]))
    images = options.images
    for runner in runners:
        note(runner.name, '-', runner.ask(op='hello', protocol='rue.runner/1')['runner'])
        images = images or runner.ask(op='open', variant=variant, workload={})['images']
    note('%s, %d images, batch_size %d, medians of %d' % (options.data, images, options.batch_size, options.repeats))
    sides = [(runner, parallelism) for runner in runners for parallelism in (PARALLELISM if runner.name == 'rue' else ['batch'])]
    medians = {}
    for workers in map(int, options.num_workers.split(',')):
        runs = {side: [] for side in sides}
        for _ in range(options.repeats):
            for runner, parallelism in sides:
                config = dict(batch_size=options.batch_size, num_workers=workers, prefetch_factor=2, parallelism=parallelism)
                runs[runner, parallelism].append(runner.load(variant, images, config))
        for (runner, parallelism), made in runs.items():
            medians[workers, runner.name, parallelism] = {key: statistics.median(run[key] for run in made) for key in made[0]}
    (print_rows if options.rows else print_table)(medians, variant['mode'], options.batch_size)


def note(*words):
    print(*words, file=sys.stderr)


def print_table(medians, mode, batch_size):
    print('%-12s %-14s %12s %16s %18s' % ('num_workers', 'loader', 'images/s', 'first batch ms', 'CPU ms an image'))
    for (workers, name, parallelism), median in medians.items():
        print('%-12d %-14s %12.0f %16.0f %18.2f' % (workers, name + (' ' + parallelism if name == 'rue' else ''), median['images_per_s'],
                                                    median['first_batch_ms'], median['cpu_ms_per_image']))
    for (workers, name, parallelism), median in medians.items():
        peer = medians.get((workers, 'torch', 'batch'))
        if name == 'rue' and peer:
            print('%d workers, rue %s / torch: %.2f x images/s, first batch %.2f x sooner, CPU an image %.2f x' % (
                workers, parallelism, median['images_per_s'] / peer['images_per_s'],
                peer['first_batch_ms'] / median['first_batch_ms'], median['cpu_ms_per_image'] / peer['cpu_ms_per_image']))


def print_rows(medians, mode, batch_size):
    """Each at its best number of workers; the first batch and CPU time where the images come fastest."""
    def best(ours):
        return max((key for key in medians if (key[1] == 'rue') == ours), key=lambda key: medians[key]['images_per_s'], default=None)
    if not best(False):
        return note('PyTorch is not here: no rows')
    own, peer = medians[best(True)], medians[best(False)]
    shared = medians[best(True)[0], 'rue', 'sample']
    rows = [('images at their fastest', 'images/s', own['images_per_s'], peer['images_per_s'], '>= 3'),
            ('the first batch of %d, sample' % batch_size, 'ms', shared['first_batch_ms'], peer['first_batch_ms'], '<= 0.2'),
            ('CPU time an image', 'ms', own['cpu_ms_per_image'], peer['cpu_ms_per_image'], '<= 0.334')]
    for what, unit, value, other, goal in rows[:3 if mode == 'raw' else 1]:
        print('%s, %s\t%s\t%.4g\t%s\t%.4g\t%.3f\t%s' % (mode, what, unit, value, "PyTorch's DataLoader at its best", other, value / other, goal))


if __name__ == '__main__':
    main()
