#!/usr/bin/python3
"""How late the sleeping model comes back, against its absolute deadlines: microseconds, at several lengths of sleep.

Goal: at most 100 us at the 99th percentile on an idle core.
"""
import json, os, subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SLEEPS_NS = {'sleep:200us/batch': 200_000, 'sleep:2ms/batch': 2_000_000, 'sleep:20ms/batch': 20_000_000, 'sleep:200ms/batch': 200_000_000}


def main():
    runner = subprocess.Popen([os.path.join(ROOT, 'build/release/rue'), 'runner'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True)
    print('%-20s %8s %8s %8s %8s %8s' % ('model', 'batches', 'median', 'p90', 'p99', 'max'))
    for model, sleep_ns in SLEEPS_NS.items():
        request = dict(op='trial', id=1, measure='compute', model=model, config=dict(batch_size=1, num_workers=0),
                       batches=max(20, min(1000, 4_000_000_000 // sleep_ns)))
        runner.stdin.write(json.dumps(request) + '\n')
        runner.stdin.flush()
        late = sorted((ns - sleep_ns) / 1e3 for ns in json.loads(runner.stdout.readline())['batch_compute_ns'])
        at = [late[int(q * (len(late) - 1))] for q in (.5, .9, .99, 1)]
        print('%-20s %8d %8.0f %8.0f %8.0f %8.0f' % (model, len(late), *at))


if __name__ == '__main__':
    main()
