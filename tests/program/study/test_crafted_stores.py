"""Stores with rows that somebody wrote by hand, with checksums that fit: extreme values, values of another kind, and parts that contradict
each other. Each command shows them or refuses the store, in order. RUE_SEED repeats them; RUE_LONG_TESTS=1 tries hundreds."""
import contextlib
import json
import os
import random
import re
import shutil
import sqlite3

import pytest

import wording
from conftest import cluster, edit_store, error_line, expect_failure, finish, make_table, wait_until

LONG = bool(os.environ.get("RUE_LONG_TESTS"))
SEED = int(os.environ.get("RUE_SEED", random.randrange(1 << 30)))
STORES = 1000 if LONG else 30
TABLE = make_table(["ape", "bee"], [16, 64], [0, 2], lambda m, b, w: 20000 + 70 * abs(b - 40) + 900 * abs(w - len(m)))
VALID = [0, 1, 2, 900, 1000, 2**31, 2**53 + 1, 2**58 - 1, 2**58]
ODD = [-1, 2**58 + 4096, 2**63 - 1, -2**63, 0.5, -0.0, 5e-324, 1e18, 1e308, "9e999", None, "''", "'x'", "'\x1b[31m'", "'ok'", "'joint'", "'[]'",
       "'[1]'", "'[1,2,3]'", "'{}'", "'[{\"rank\":9999999999,\"node\":5}]'", "x'00ff'", f"'{'A' * 300}'", f"'{'A' * 5000}'", f"'{'[' * 5000}'",
       "'[{\"rank\":0,\"node\":\"n0\",\"end_to_end_ns\":1e308},{\"rank\":1,\"end_to_end_ns\":5e-324,\"stolen_ratio\":1e308}]'"]
COMMANDS = [["show", "out", "--trial", "TRIAL"], ["show", "out", "--trial", "TRIAL", "--json"], ["show", "out", "--trials"], ["show", "out", "--details"],
            ["show", "out", "--details", "--json"], ["report", "out", "--out", "page"], ["why", "out", "--batch-size", "16", "--num-workers", "0"], ["diff", "out", "whole"],
            ["list", "."], "tune"]


def literal(value):
    return "NULL" if value is None else value if isinstance(value, str) else repr(value)


def draw_change(dice, columns, trials):
    """SQL that changes columns of one row, or of all: most values are possible, so that commands meet them."""
    sets = []
    for name, kind in dice.sample(columns, dice.choice([1, 1, 2, 4, 12])):
        odd = dice.random() < 0.15
        number = kind in ("INTEGER", "REAL")
        value = dice.choice(ODD) if odd else dice.choice(VALID) if number else None
        if number and not odd and kind == "REAL":
            value = float(value)
        if odd or number:
            sets.append(f"{name} = {literal(value)}")
        else:  # the value of another row
            sets.append(f"{name} = (SELECT {name} FROM trial WHERE id = {dice.choice(trials)})")
    where = dice.choice(["", f" WHERE id = {dice.choice(trials)}", " WHERE measure = 'joint'", " WHERE id % 2"])
    return f"UPDATE OR IGNORE trial SET {', '.join(sets)}{where}"


@pytest.fixture
def whole(rue, script):
    """A study of two ranks, with the command that continues it."""
    one = script(TABLE, hello=dict(images=1000), computes=True)
    words = ["tune", "--runner", one.command, "--launch", cluster(rue.folder, ranks=2), "--strategy", "grid", "--quiet", "--budget", "100h", "--out"]
    assert rue(*words, "whole").returncode == 0
    with contextlib.closing(sqlite3.connect(rue.folder / "whole/study.db")) as db:
        columns = [(row[1], row[2].split()[0]) for row in db.execute("PRAGMA table_info(trial)") if row[1] not in ("id", "recorded", "checksum")]
        trials = [row[0] for row in db.execute("SELECT id FROM trial")]
    return words, columns, trials


def expect_in_order(done, what):
    assert done.returncode in (0, 2, 3, 4, 5, 6), (what, done.returncode, done.stderr)
    assert not re.search("Sanitizer|runtime error", done.stderr), (what, done.stderr)
    assert "\x1b" not in done.stdout + done.stderr, (what, "a control sequence reaches the terminal")
    if done.returncode not in (0, 5):
        error_line(done)


def test_crafted_rows_are_shown_or_refused(rue, whole):
    words, columns, trials = whole
    ends = {}
    for number in range(STORES):
        dice, out = random.Random(f"{SEED} {number}"), rue.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(rue.folder / "whole", out)
        change = ";".join(draw_change(dice, columns, trials) for _ in range(dice.choice([1, 1, 3])))
        edit_store(out / "study.db", change)
        for command in dice.sample(COMMANDS, len(COMMANDS) if LONG else 3):
            trial = str(dice.choice(trials))
            done = rue(*words, "out") if command == "tune" else rue(*(trial if word == "TRIAL" else word for word in command))
            expect_in_order(done, f"RUE_SEED={SEED}, number {number}: {command}: {change}")
            ends[done.returncode] = ends.get(done.returncode, 0) + 1
    print(f"{STORES} stores from seed {SEED}: exit codes {ends}")
    assert ends.get(0, 0) > STORES / 2 and ends.get(6, 0) > 0


PARTS = [dict(load_wait_ns=900), dict(first_batch_ns=900, load_wait_ns=900), dict(compute_ns=2**58), dict(compute_ns=900, h2d_ns=900),
         dict(shutdown_ns=2**58, compute_ns=2**58, load_wait_ns=2**58), dict(images=2**58), dict(first_batch_ns=2**58, load_wait_ns=0)]


def test_parts_that_are_longer_than_the_whole_are_shares_of_it(rue, whole):
    for parts in PARTS:
        edit_store(rue.folder / "whole/study.db", "UPDATE trial SET end_to_end_ns = 1, " + ", ".join(f"{name} = {value}" for name, value in parts.items()))
        done = rue("show", "whole", "--trial", str(whole[2][0]))
        assert done.returncode == 0 and "Sanitizer" not in done.stderr, (parts, done.stderr)
        shares = [float(share) for share in re.findall(r"([\d.]+) %", done.stdout)]
        assert all(0 <= share <= 100 for share in shares) and sum(shares) <= 100.5, (parts, done.stdout)
        assert max(map(len, re.findall("█+|#+", done.stdout)), default=0) <= 20, parts
    for other in (["show", "whole", "--details"], ["report", "whole", "--out", "page"]):
        expect_in_order(rue(*other), other)


def test_a_row_that_becomes_unreadable_ends_a_run_whose_budget_is_spent(rue, script):
    """The store is searched for it, to know whether the question can be skipped."""
    one = script(TABLE)
    words = ["tune", "--runner", one.command, "--strategy", "grid", "--quiet", "--out", "out"]
    assert rue(*words).returncode == 0
    store, last, asked = rue.folder / "out/study.db", "(SELECT max(id) FROM trial)", len(one.joint())
    edit_store(store, f"DELETE FROM trial WHERE measure = 'joint' AND id < {last}")
    one.write(delay_s=1)
    process = rue.start(*words, "--budget", "2trials")
    wait_until(lambda: len(one.joint()) > asked, process)
    edit_store(store, f"UPDATE trial SET read_bytes = 1 << 60 WHERE id = {last}")
    code, _, err = finish(process)
    assert code == 6 and wording.CANNOT_READ_ITS_COLUMN in err, err


def test_limits_that_no_row_can_hold_are_refused(rue, script):
    one = script(TABLE)
    for option, value in (("--max-memory", "300P"), ("--trial-timeout", "90000h"), ("--budget", "90000h")):
        expect_failure(rue("tune", "--runner", one.command, "--out", "out", option, value), 2, option)
    done = rue("tune", "--runner", one.command, "--out", "out", "--quiet", "--max-memory", "256P", "--trial-timeout", "80000h")
    assert done.returncode == 0 and json.loads(rue("show", "out", "--trial", "1", "--json").stdout)["limit_memory_bytes"] == 2**58, done.stderr
