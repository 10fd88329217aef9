#!/usr/bin/python3
"""How long studies take to resume, and rue list and show to read, over the rows that are stored.

Goal: in proportion to the rows; 200,000 of them in 10 s with every strategy, list and show in 3 s.
"""
import json, os, resource, shlex, sqlite3, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUE = os.path.join(ROOT, 'build/release/rue')
STRATEGIES = ['grid', 'duel', 'auto']
ROWS = [1_000, 10_000, 50_000, 200_000]


def write_script(folder):
    cells = {'%d/%d' % (b, w): 1000 + 3 * abs(b - 64) + 90 * abs(w - 4) for b in (16, 32, 64, 128, 256) for w in range(9)}
    path = os.path.join(folder, 'script.json')
    with open(path, 'w') as file:
        json.dump(dict(log=os.devnull, ns_per_image={'model%d' % m: cells for m in range(8)}, load_ns=100000), file)
    return shlex.join([sys.executable, '-S', os.path.join(ROOT, 'tests/fixtures/scripted_runner.py'), path])


def grow(folder, count):
    """Copies rows, whose checksum is not about their id."""
    db = sqlite3.connect(os.path.join(folder, 'out/study.db'))
    names = ', '.join(row[1] for row in db.execute('PRAGMA table_info(trial)') if row[1] != 'id')
    (rows,) = db.execute('SELECT count(*) FROM trial').fetchone()
    db.execute('CREATE TEMP TABLE first AS SELECT * FROM trial')
    while rows < count:
        db.execute('INSERT INTO trial (%s) SELECT %s FROM first LIMIT %d' % (names, names, count - rows))
        (rows,) = db.execute('SELECT count(*) FROM trial').fetchone()
    db.commit()
    db.close()


def seconds(folder, *words):
    """Of the processors, which other programs disturb less."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([RUE, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    print('%-8s %8s %9s %8s %8s %12s' % ('strategy', 'rows', 'resume s', 'list s', 'show s', 'us a row'))
    for strategy in sys.argv[1:] or STRATEGIES:
        with tempfile.TemporaryDirectory() as folder:
            tune = ['tune', '--runner', write_script(folder), '--quiet', '--out', 'out', '--strategy', strategy]
            tune += [] if strategy == 'auto' else ['--budget', '300trials']
            seconds(folder, *tune)
            for rows in ROWS:
                grow(folder, rows)
                resumed, listed, shown = seconds(folder, *tune), seconds(folder, 'list', 'out'), seconds(folder, 'show', 'out')
                print('%-8s %8d %9.2f %8.2f %8.2f %12.1f' % (strategy, rows, resumed, listed, shown, resumed / rows * 1e6))


if __name__ == '__main__':
    main()
