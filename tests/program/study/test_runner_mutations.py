"""Runners that lie: their replies are mutated at random, and the study ends in order with a store of what can be true.

RUE_LONG_TESTS=1 tries hundreds of studies; a failure names what repeats it (RUE_SEED)."""
import contextlib
import json
import os
import random
import re
import shlex
import sqlite3
import sys

import pytest

import wording
from conftest import ROOT, error_line, expect_failure, make_table, read_json

LONG = bool(os.environ.get("RUE_LONG_TESTS"))
SEED = int(os.environ.get("RUE_SEED", random.randrange(1 << 30)))
STUDIES = 400 if LONG else 20
TABLE = make_table(["ape", "bee"], [16, 64], [0, 2, 4], lambda m, b, w: 20000 + 70 * abs(b - 40) + 900 * abs(w - len(m)))
STRATEGIES = ["auto", "grid", "duel"]
FIELD_MAX = 2**58


def read_rows(folder):
    with contextlib.closing(sqlite3.connect(folder / "study.db", timeout=30)) as db:
        db.row_factory = sqlite3.Row
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return [dict(row) for row in db.execute("SELECT * FROM trial ORDER BY id")]


def expect_plausible(row):
    """Bounds worked out here once more, as a trial that is honest keeps them."""
    names = ("images", "batches", "end_to_end_ns", "first_batch_ns", "load_wait_ns", "compute_ns", "shutdown_ns", "bad_images")
    for name in names:
        assert row[name] is None or 0 <= row[name] <= FIELD_MAX, (name, row)
    batch, compute = json.loads(row["config"])["batch_size"], row["measure"] == "compute"
    asked = row["requested_batches"] * batch if compute else -(-row["requested_images"] // batch) * batch
    assert (row["images"] or 0) <= asked and (row["batches"] or 0) <= asked, row
    assert len(row["reason"]) < 512 and len(row["machine"]) == 16
    times = {name: json.loads(row[name] or "[]") for name in ("batch_ready_ns", "batch_compute_ns")}
    assert all(len(one) in (0, row["batches"]) for one in times.values()), row
    assert times["batch_ready_ns"] == sorted(times["batch_ready_ns"])
    if row["status"] == "ok":
        assert row["images"] > 0 and (row["compute_ns"] is not None if compute else row["end_to_end_ns"] > 0), row
    if row["end_to_end_ns"] is not None:
        most = 1.01 * row["end_to_end_ns"] + 1000
        assert sum(row[name] or 0 for name in ("load_wait_ns", "compute_ns", "shutdown_ns")) <= most, row
        assert (row["first_batch_ns"] or 0) <= most and (times["batch_ready_ns"] or [0])[-1] <= most, row


def expect_order(rue, done, folder):
    """The study ended with a documented exit code and one sentence, and its store can be shown."""
    assert done.returncode in range(7), done.stderr
    assert not re.search("Sanitizer|runtime error", done.stderr + done.stdout), done.stderr
    if done.returncode not in (0, 5):
        error_line(done)
    if not (folder / "study.db").exists():
        return []
    rows = read_rows(folder)
    for row in rows:
        expect_plausible(row)
    assert len({(row["runner"], row["machine"], row["data_digest"]) for row in rows}) <= 1, "one identity"
    assert (folder / "study.db").stat().st_size < 4 << 20
    for words in (["--details"], ["--trial", str(rows[-1]["id"])] if rows else []):
        shown = rue("show", folder, *words)
        assert shown.returncode in ((0, 4, 5) if rows else range(7)) and "Sanitizer" not in shown.stderr, shown.stderr
    if (folder / "recommendation.json").exists():
        read_json(folder / "recommendation.json")
    return rows


def mutated_command(script, seed, rate, *only):
    return shlex.join([sys.executable, "-S", str(ROOT / "tests/fixtures/mutating_runner.py"), str(script.path), str(seed), str(rate), *only])


def test_mutated_replies_end_in_order(rue, script):
    ends, rows = {}, 0
    for number in range(STUDIES):
        seed = SEED + number
        dice, folder = random.Random(seed), rue.folder / f"out{number}"
        one = script(TABLE, images=dice.choice([100, 1000, 20000]))
        one.log_path.unlink(missing_ok=True)
        op = dice.choice([[], ["hello"], ["open"], ["trial"], ["trial"], ["trial"]])
        command = mutated_command(one, seed, dice.choice([0.02, 0.1, 0.3, 0.6]), *op)
        done = rue("tune", "--runner", command, "--quiet", "--out", folder, "--trial-timeout", "300ms", "--budget", "10s",
                   "--strategy", dice.choice(STRATEGIES), "--repeats", dice.choice("13"), "--seed", seed)
        try:
            rows += len(expect_order(rue, done, folder))
        except Exception as failure:
            raise AssertionError(f"RUE_SEED={seed} repeats it; {command}; exit code {done.returncode}\n{done.stderr}") from failure
        ends[done.returncode] = ends.get(done.returncode, 0) + 1
    print(f"{STUDIES} studies from seed {SEED}: exit codes {ends}, {rows} rows")
    assert rows > STUDIES and ends.get(0, 0) > 0, "most get somewhere"


# ---- whose fault it is ----

@pytest.mark.parametrize("answer, code", [(dict(data_fault=True), 3), ({}, 4)])
def test_the_runner_says_that_the_data_are_at_fault(rue, script, answer, code):
    faults = [dict(when={}, do="answer", answer=dict(status="failed", reason="an image is damaged", **answer))]
    line = expect_failure(rue("tune", "--runner", script(TABLE, faults=faults).command, "--quiet", "--out", "out"), code, "an image is damaged")
    assert (wording.BAD_IMAGES_REPLACE in line) == (code == 3)


# ---- the lies that the rules name ----

LIES = {
    "late_batch": (dict(first_batch_ns=10**12), "first_batch_ns (1000000000000) is more than end_to_end_ns ("),
    "long_wait": (dict(load_wait_ns=10**13), "load_wait_ns + compute_ns + shutdown_ns ("),
    "images": (dict(images=2**58), "images (288230376151711744) is more than the images requested ("),
    "batches": (dict(batches=0), "images (1000) is more than batches x batch_size (0)"),
}


@pytest.mark.parametrize("name", LIES)
def test_an_inconsistent_reply_is_a_failed_trial_that_names_the_rule(rue, script, name):
    answer, rule = LIES[name]
    one = script(TABLE, faults=[dict(when=dict(measure="joint", model="bee", cell="16/2"), do="answer", answer=answer)])
    done = rue("tune", "--runner", one.command, "--strategy", "grid", "--quiet", "--out", "out")
    assert done.returncode == 0, done.stderr
    bad = [row for row in read_rows(rue.folder / "out") if row["status"] != "ok"]
    assert [row["status"] for row in bad] == ["failed"] and bad[0]["reason"].startswith(f"the runner's answer to 'trial' is wrong: {rule}")
    assert bad[0]["images"] is None and bad[0]["first_batch_ns"] is None, "nothing else of it is stored"


def test_unrequested_times_of_batches_are_not_stored(rue, script):
    many = dict(batch_ready_ns=list(range(10_000)), batch_compute_ns=[0] * 10_000)
    one = script(TABLE, faults=[dict(when=dict(detail=False, measure=measure), do="answer", answer=many) for measure in ("joint", "load")])
    done = rue("tune", "--runner", one.command, "--strategy", "duel", "--quiet", "--out", "out", "--budget", "10s")
    assert done.returncode == 0, done.stderr
    rows = [row for row in read_rows(rue.folder / "out") if row["measure"] != "compute"]
    assert {row["status"] for row in rows} == {"ok"} and (rue.folder / "out/study.db").stat().st_size < 1 << 20
    assert {row["batch_compute_ns"] for row in rows} == {None}


def test_more_times_than_batches_fail(rue, script):
    """They were asked for, but there are not as many batches."""
    answer = dict(batch_ready_ns=list(range(300_000)))
    one = script(TABLE, faults=[dict(when=dict(detail=True, cell="16/2", model="bee"), do="answer", answer=answer)])
    assert rue("tune", "--runner", one.command, "--strategy", "grid", "--quiet", "--out", "out").returncode == 0
    bad = [row["reason"] for row in read_rows(rue.folder / "out") if row["status"] != "ok"]
    assert bad == ["the runner's answer to 'trial' is wrong: batch_ready_ns has 300000 values, but batches is 63"]


# ---- a runner that comes back as another one ----

CHANGES = {
    "loader": (dict(loader="other loader 2.0"), '"loader" was absent and is "other loader 2.0"'),
    "runner": (dict(runner="other 2.0"), '"runner" was "scripted 1.0" and is "other 2.0"'),
    "machine": (dict(machine=dict(cpu="none", usable_cpus=96)), '"machine" was {"cpu":"none","usable_cpus":4} and is {"cpu":"none","usable_cpus":96}'),
    "clock": (dict(clock="real"), '"clock" was "virtual" and is "real"'),
    "measures": (dict(measures=["joint"]), '"measures" was'),
    "models": (dict(models=["ape", "bee", "cow"]), '"models" was'),
    "space": (dict(space=dict(batch_size=[16], num_workers=[0])), '"space" was'),
    "images": (dict(images=77), '"images" was 1000 and is 77'),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_runner_that_changed_after_a_restart_ends_the_study(rue, script, name):
    """Trials before that are kept under the first one's name, and a second run with the first one continues them."""
    hello, says = CHANGES[name]
    one = script(TABLE, faults=[dict(when=dict(id=9), do="exit", code=3)])
    other = rue.folder / "other.json"
    other.write_text(json.dumps({**one.script, "faults": [], "hello": hello}))
    wrapper = rue.folder / "second.sh"
    wrapper.write_text(f"[ -e started ] && cp {other} {one.path}\ntouch started\nexec {one.command}\n")
    words = ("tune", "--runner", f"sh {wrapper}", "--strategy", "grid", "--quiet", "--out", "out")
    expect_failure(rue(*words), 1, "the restarted runner answers 'hello' differently", says, "run the same command again")
    found, rows = read_json(rue.folder / "out/recommendation.json"), read_rows(rue.folder / "out")
    assert found["partial"] and "scripted 1.0" in json.dumps(found["provenance"]) and "other" not in json.dumps(found["provenance"])
    assert len(rows) == 9 and len({(row["runner"], row["machine"]) for row in rows}) == 1
    assert len(one.requests("hello")) == 2, "another one is not tried again"
    one.write(faults=[], hello={})
    (rue.folder / "started").unlink()
    assert rue(*words).returncode == 0
    assert read_json(rue.folder / "out/recommendation.json")["provenance"]["reused_trials"] > 0


@pytest.mark.parametrize("now", [dict(bytes=5), dict(dtype="uint8"), dict(cache="as-is")])
def test_data_that_are_opened_differently_end_the_study(rue, script, now):
    (key, value), = now.items()
    one = script(TABLE, faults=[dict(when=dict(id=9), do="exit", code=3)])
    other = rue.folder / "other.json"
    other.write_text(json.dumps({**one.script, "faults": [], "opened": now}))
    wrapper = rue.folder / "second.sh"
    wrapper.write_text(f"[ -e started ] && cp {other} {one.path}\ntouch started\nexec {one.command}\n")
    done = rue("tune", "--runner", f"sh {wrapper}", "--strategy", "grid", "--quiet", "--out", "out")
    expect_failure(done, 3, "the data changed during the study", f'"{key}" was', f"and is {json.dumps(value)}")
    assert len(read_rows(rue.folder / "out")) == 9


def test_a_runner_that_cannot_work_gives_its_reason(rue, script):
    one = script(TABLE, hello='{"status":"failed","reason":"no licence"}')
    expect_failure(rue("tune", "--runner", one.command, "--out", "out"), 1, "cannot work: no licence")
