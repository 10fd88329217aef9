"""Processes that die, hang, multiply or get in each other's way: the study goes on or ends in order, and nothing is left.

RUE_LONG_TESTS=1 runs the long forms: 100 kills, 1,000 runners with grandchildren, 10,000 trials."""
import contextlib
import errno
import fcntl
import itertools
import json
import os
import pathlib
import pty
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

import wording
from conftest import (HANG_S, clean_environment, expect_failure, finish, is_running, make_table, read_json, stop,
                      wait_until, wait_until_ended)
from test_resume import count_stored

LONG = bool(os.environ.get("RUE_LONG_TESTS"))
MODELS, BATCHES, WORKERS = ["ape", "bee", "cow"], [16, 32, 64], [0, 2, 4]
TABLE = make_table(MODELS, BATCHES, WORKERS, lambda m, b, w: 1000 + 7 * abs(b - 40) + 90 * abs(w - MODELS.index(m)))
CELLS = sorted(itertools.product(MODELS, TABLE["ape"]))
PROBES = 5  # trials before the first joint one of TABLE
SIGNALS = ["SEGV", "BUS", "ABRT", "KILL"]


def tune(rue, script, *words, **more):
    return rue("tune", "--runner", script.command, "--quiet", "--out", "out", *words, **more)


def start(rue, script, *words, **more):
    return rue.start("tune", "--runner", script.command, "--quiet", "--out", "out", *words, **more)


def rows(rue):
    """The rows of the store, which is whole."""
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db", timeout=30)) as db:
        db.row_factory = sqlite3.Row
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return [dict(row) for row in db.execute("SELECT * FROM trial ORDER BY id")]


def bad(rue):
    return [row for row in rows(rue) if row["status"] != "ok"]


def parents():
    """{pid: (parent, state, name)} of every process."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = path.read_text()
            state, parent = text.rsplit(")", 1)[1].split()[:2]
            found[int(path.parent.name)] = (int(parent), state, text[text.index("(") + 1:text.rindex(")")])
    return found


def descendants(pid):
    """{pid: (parent, state, name)} of all that a process has started."""
    every, found = parents(), {}
    while new := {p: facts for p, facts in every.items() if p not in found and facts[0] in (pid, *found)}:
        found.update(new)
    return found


def find_keeper(pid):
    return next((p for p, facts in descendants(pid).items() if facts[2] == "rue-keeper"), None)


def find_runner(pid):
    """The runner of a tuner: the child of its keeper."""
    every = parents()
    keeper = next((p for p, facts in every.items() if facts[0] == pid and facts[2] == "rue-keeper"), None)
    return next((p for p, facts in every.items() if keeper and facts[0] == keeper), None)


# ---- two at once ----

def test_a_second_tuner_names_the_process_that_has_the_folder(rue, script):
    one = script(TABLE, delay_s=0.1)
    process = start(rue, one)
    one.wait_for(1, process)
    (rue.folder / "by/another").mkdir(parents=True)
    (rue.folder / "by/another/path").symlink_to(rue.folder / "out")
    for path in ("out", "by/another/path", rue.folder / "out", "by/../out/."):
        done = rue("tune", "--runner", one.command, "--quiet", "--out", path)
        expect_failure(done, 6, f"another rue uses {path}", f"process {process.pid}", "--out")
    asked = one.joint()
    process.kill()
    finish(process)
    one.write(delay_s=0)
    assert tune(rue, one).returncode == 0, "the folder is free at once when its process was killed"
    assert one.joint()[:len(asked)] == asked and len(bad(rue)) == 0


@pytest.mark.parametrize("why", ["ENOLCK", "EOPNOTSUPP"])
def test_a_file_system_without_locks_is_named(release_rue, script, preload, why):
    done = tune(release_rue, script(TABLE), env=preload(PRELOAD_NO_LOCKS=getattr(errno, why)))
    expect_failure(done, 6, "cannot lock the folder out", os.strerror(getattr(errno, why)), "local disk", "--out")


@pytest.mark.parametrize("why", ["ENOLCK", "ENOSYS", "EOPNOTSUPP", "EINVAL", "EIO", "ENODEV"])
@pytest.mark.parametrize("lacks, words", [("FCNTL", "file locks do not work there"), ("MAPPING", "files cannot be shared memory there")])
def test_a_file_system_that_cannot_hold_a_store_is_named(release_rue, script, preload, why, lacks, words):
    done = tune(release_rue, script(TABLE), env=preload(**{f"PRELOAD_NO_{lacks}": getattr(errno, why)}))
    expect_failure(done, 6, "out/study.db", words, "choose a folder on a local disk with --out")


def test_a_full_disk_is_not_called_a_lack_of_shared_memory(release_rue, script, preload):
    done = tune(release_rue, script(TABLE), env=preload(PRELOAD_NO_MAPPING=errno.ENOSPC))
    expect_failure(done, 6, "the disk is full", "free some space")


def test_two_processes_that_prepare_the_same_file_leave_one_complete_file(rue, photos):
    processes = [rue.start("prepare", photos, "photos.tensor", "--dtype", "uint8", "--quiet") for _ in range(4)]
    codes = sorted((code, err) for code, out, err in map(finish, processes))
    assert codes[0][0] == 0 and all(code in (2, 6) and "exists" in err for code, err in codes[1:]), codes
    assert [path.name for path in rue.folder.iterdir()] == ["photos.tensor"]
    assert rue("inspect", "photos.tensor").returncode == 0


# ---- runners that die ----

OWN = ["--batch-size", "1,2,4,8", "--num-workers", "0..2", "--model", "none", "--images", "8", "--mode", "raw",
       "--repeats", "4", "--budget", "10m", "--quiet", "--out", "out",
       "--cache", "as-is"]  # a runner that begins anew reads its own program, which may have left memory
PLAIN_SIGNALS = dict(ASAN_OPTIONS="handle_segv=0:handle_sigbus=0:handle_abort=0")


def kill_at_random(rue, process, dice, kills, find_runner):
    """Kills the runner of a tuner now and then, at any moment; how often it did, by signal."""
    done = dict.fromkeys(SIGNALS, 0)
    while sum(done.values()) < kills and process.poll() is None:
        before = count_stored(rue)
        wait_for = before + dice.randint(1, 3)
        while process.poll() is None and count_stored(rue) < wait_for:
            time.sleep(0.003)
        time.sleep(dice.uniform(0, 0.05))
        pid, name = find_runner(), dice.choice(SIGNALS)
        with contextlib.suppress(ProcessLookupError):
            if pid and process.poll() is None and is_running(pid):
                os.kill(pid, signal.Signals["SIG" + name])
                done[name] += 1
        zombies = [pid for pid, facts in descendants(process.pid).items() if facts[1] == "Z"]
        if zombies:  # one that ended a moment ago is reaped at once
            wait_until(lambda: not set(zombies) & set(descendants(process.pid)), process)
    return done


def expect_survived(rue, process, done):
    """The rows of the run, and those of them that failed."""
    code, out, err = finish(process)
    assert code == 0 and "Sanitizer" not in err, err
    every = rows(rue)
    run = [row for row in every if row["run_id"] == every[-1]["run_id"]]
    failed = [row for row in run if row["status"] != "ok"]
    for name in SIGNALS:
        assert sum(f"SIG{name}" in row["reason"] for row in failed) <= done[name]
    odd = [(row["status"], row["reason"]) for row in failed
           if row["status"] != "failed" or "was killed by SIG" not in row["reason"]]
    assert not odd, odd
    assert all(row["end_to_end_ns"] or row["compute_ns"] for row in run if row["status"] == "ok")
    assert read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["config"]
    return run, failed


def test_runs_survive_their_own_runner_being_killed_at_random(rue, photos):
    dice, kills, named, runs = random.Random(7), 0, 0, 0
    while kills < (100 if LONG else 12):
        process = rue.start("tune", photos, *OWN, "--seed", runs + 1, env=PLAIN_SIGNALS)
        done = kill_at_random(rue, process, dice, 12, lambda: find_runner(process.pid))
        run, failed = expect_survived(rue, process, done)
        assert all(row["images"] == 8 for row in run if row["status"] == "ok" and row["measure"] == "joint")
        kills, named, runs = kills + sum(done.values()), named + len(failed), runs + 1
        assert named > 0 and not descendants(process.pid)
    print(f"{kills} kills in {runs} runs, {named} rows name a signal")


def test_runs_survive_a_scripted_runner_being_killed_at_random(rue, script):
    dice, kills, named, runs = random.Random(8), 0, 0, 0
    while kills < (100 if LONG else 12):
        one = script(TABLE, delay_s=0.01)
        process = start(rue, one, "--repeats", "4", "--seed", runs + 1)
        done = kill_at_random(rue, process, dice, 12, lambda: find_runner(process.pid))
        run, failed = expect_survived(rue, process, done)
        for row in run:
            if row["status"] == "ok" and row["measure"] == "joint":
                config = json.loads(row["config"])
                cell = f"{config['batch_size']}/{config.get('num_workers', 0)}"
                assert row["end_to_end_ns"] == 1000 * TABLE[row["model"]][cell]
        kills, named, runs = kills + sum(done.values()), named + len(failed), runs + 1
        assert named > 0 and wait_until_ended(one.pids())
    print(f"{kills} kills in {runs} runs, {named} rows name a signal")


@pytest.mark.parametrize("times, code", [(2, 0), (3, 1)])
def test_a_runner_that_dies_at_a_restart_gets_three_attempts(rue, script, times, code):
    one = script(TABLE, faults=[dict(when=dict(id=12), do="signal", signal="SIGSEGV")])
    wrapper = rue.folder / "dies.sh"
    wrapper.write_text(f"n=$(cat starts 2>/dev/null || echo 0); echo $((n + 1)) >starts\n"
                       f"[ $n -ge 1 ] && [ $n -le {times} ] && kill -SEGV $$\nexec {one.command}\n")
    done = rue("tune", "--runner", f"sh {wrapper}", "--quiet", "--out", "out")
    assert done.returncode == code, done.stderr
    assert len(bad(rue)) == 1 and "SIGSEGV" in bad(rue)[0]["reason"]
    if code:
        expect_failure(done, 1, "did not answer 'hello' correctly", "SIGSEGV")
    else:
        assert len(one.joint()) == len(CELLS)


def test_a_runner_that_dies_in_open_is_named_with_its_signal(rue, script):
    one = script(TABLE)
    crash = "import os, sys\ninput()\nprint(open('hello').read(), flush=True)\ninput()\nos.kill(os.getpid(), 11)\n"
    hello = dict(protocol="rue.runner/1", runner="crash 1", measures=["joint"], models=["ape"], images=10, machine={},
                 variants=[dict(path="", mode="raw", format="scripted")], space=dict(batch_size=[1], num_workers=[0]))
    (rue.folder / "hello").write_text(json.dumps(hello))
    (rue.folder / "crash.py").write_text(crash)
    done = rue("tune", "--runner", f"{sys.executable} -S crash.py", "--quiet", "--out", "out")
    expect_failure(done, 1, "did not answer 'open' correctly", "was killed by SIGSEGV")
    assert not one.pids()


def test_configurations_whose_runner_dies_are_not_recommended(rue, script):
    faults = [dict(when=dict(measure="joint", model="bee", cell=f"64/{w}"), do="signal", signal="SIGBUS") for w in WORKERS]
    assert tune(rue, script(TABLE, faults=faults)).returncode == 0
    assert [row["reason"] for row in bad(rue)] == ["the runner was killed by SIGBUS during the trial"] * 3
    (found,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    assert found["config"]["batch_size"] == 32 and found["evidence"]["trials_ok"] == 24


# ---- runners that hang ----

HANGS = {
    "hang": (dict(do="hang"), "timeout", "gave no answer within 1 s"),
    "deaf": (dict(do="deaf"), "failed", "closed its output"),
    "flood": (dict(do="flood"), "timeout", "gave no answer within 1 s"),
    "endless": (dict(do="endless"), "timeout", "gave no answer within 1 s"),
    "drip": (dict(do="drip"), "timeout", "gave no answer within 1 s"),
    "noisy": (dict(do="noisy"), "timeout", "gave no answer within 1 s"),
    "asleep": (dict(do="asleep"), "timeout", "stopped by SIGSTOP, gave no answer within 1 s"),
    "grandchild": (dict(do="grandchild", session=True, then=dict(do="hang")), "timeout", "gave no answer within 1 s"),
    "orphan": (dict(do="grandchild", session=True, then=dict(do="exit", code=3)), "failed", "ended with exit code 3"),
}


@pytest.mark.parametrize("name", HANGS)
def test_a_runner_that_hangs_costs_one_row(rue, script, name):
    fault, status, reason = HANGS[name]
    one = script(TABLE, faults=[dict(when=dict(measure="joint", model="bee", cell="32/2"), **fault)])
    words = [rue.program, "tune", "--runner", one.command, "--quiet", "--out", "out", "--trial-timeout", "500ms"]
    nothing = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    process = subprocess.Popen(words, cwd=rue.folder, env=clean_environment(), **nothing)
    assert process.wait(HANG_S) == 0
    named = [row for row in bad(rue) if row["model"] == "bee" and json.loads(row["config"])["batch_size"] == 32]
    assert [(row["status"], reason in row["reason"]) for row in named if reason in row["reason"]] == [(status, True)], named
    assert wait_until_ended(one.pids())


def test_grandchildren_of_runners_are_ended(rue, script):
    """Every trial leaves a process in a session of its own that ignores SIGTERM; after every second one the runner hangs."""
    models, batches, workers = (10, 10, 10) if LONG else (4, 4, 2)
    table = make_table([f"m{i}" for i in range(models)], range(1, batches + 1), range(workers), lambda m, b, w: 1000 + b + w)
    leave = dict(do="grandchild", session=True)
    one = script(table, faults=[dict(when=dict(measure="joint", odd=True), **leave, then=dict(do="hang")),
                                dict(when=dict(measure="joint"), **leave)])
    process = start(rue, one, "--trial-timeout", "300ms", "--budget", "1h")
    out, err = process.communicate(timeout=10 * HANG_S)
    assert process.returncode == 4 and wording.NO_CONFIGURATION_COULD_BE_MEASURED in err
    left = {entry["pid"] for entry in one.entries() if entry["op"] == "grandchild"}
    trials = models * batches * workers
    assert len(left) > trials * 0.9 and len(one.requests("hello")) >= trials / 2
    assert wait_until_ended(one.pids())
    print(f"{len(left)} grandchildren, {len(one.requests('hello'))} runners, {len(bad(rue))} hung")


# ---- tuners that die ----

def tree(rue, kind, script, photos):
    """A tuner with a runner and grandchildren that stay; (process, their pids)."""
    if kind == "own":
        process = rue.start("tune", photos, "--model", "sleep:30s/batch", "--budget", "1h", "--quiet", "--out", "out",
                            "--mode", "raw", "--num-workers", "2", "--batch-size", "8", "--images", "16")
        wait_until(lambda: find_runner(process.pid) and count_stored(rue) >= 1, process)
        return process, set(descendants(process.pid))
    leave = dict(do="grandchild", session=kind == "session", then=dict(do="hang"))
    one = script(TABLE, faults=[dict(when=dict(measure="joint"), **leave)])
    command = f"cat | {one.command} | cat" if kind == "pipeline" else one.command
    process = rue.start("tune", "--runner", command, "--quiet", "--out", "out")
    wait_until(lambda: any(entry["op"] == "grandchild" for entry in one.entries()), process)
    seen = []  # twice the same: whoever only starts others is gone by then
    wait_until(lambda: seen.append(set(descendants(process.pid)) | one.pids()) or
               (len(seen) > 1 and seen[-1] == seen[-2] and all(map(is_running, seen[-1]))), process)
    return process, seen[-1]


@pytest.mark.parametrize("kind", ["own", "python", "session", "pipeline"])
@pytest.mark.parametrize("name", ["KILL", "QUIT", "TERM", "HUP", "SEGV"])
def test_no_process_outlives_its_tuner(rue, script, photos, kind, name):
    process, pids = tree(rue, kind, script, photos)
    assert len(pids) >= 2 and all(map(is_running, pids))
    begin = time.monotonic()
    process.send_signal(signal.Signals["SIG" + name])
    gone = wait_until_ended(pids)
    print(f"gone after {time.monotonic() - begin:.2f} s")
    finish(process)
    assert gone


def test_no_process_outlives_a_closed_terminal(rue, script):
    one = script(TABLE, faults=[dict(when=dict(measure="joint"), do="grandchild", session=True, then=dict(do="hang"))])
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(rue.folder)
        words = [str(rue.program), "tune", "--runner", one.command, "--out", "out"]
        os.execve(words[0], words, clean_environment(TERM="xterm"))
    deadline = time.monotonic() + HANG_S
    while not any(entry["op"] == "grandchild" for entry in one.entries()) and time.monotonic() < deadline:
        time.sleep(0.01)
    pids = set(descendants(pid)) | one.pids()
    os.close(terminal)
    assert len(pids) >= 3 and wait_until_ended(pids)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 143
    assert read_json(rue.folder / "out/recommendation.json")["partial"]


def test_a_tuner_under_nohup_outlives_its_terminal(rue, script):
    one = script(TABLE, delay_s=0.02)
    process = start(rue, one, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    one.wait_for(3, process)
    code, out, err = stop(process, signal.SIGHUP)
    assert code == 0 and sorted(one.joint()) == CELLS, err


def test_a_killed_keeper_ends_only_its_runner(rue, script):
    one = script(TABLE, delay_s=0.05)
    process = start(rue, one)
    one.wait_for(3, process)
    os.kill(find_keeper(process.pid), signal.SIGKILL)
    code, out, err = finish(process)
    assert code == 0, err
    assert [row["reason"] for row in bad(rue)] == ["the runner was killed by SIGKILL during the trial"]
    assert len(one.joint()) == len(CELLS) and wait_until_ended(one.pids())


# ---- five in a row ----

def failing(reasons):
    """A fault for each of the trials from the first joint one on; None: it succeeds."""
    status = {"infeasible": "infeasible"}
    return [dict(when=dict(joint=1 + i), do="answer", answer=dict(status=status.get(reason, "failed"), reason=reason))
            for i, reason in enumerate(reasons) if reason]


ALIKE = [f"worker (pid {i * 37 + 11}) exited at 0x7f{i}ea{i}" for i in range(5)]
STOPS = {
    "equal": ["the disk is gone"] * 5, "numbers": ALIKE,
    "infeasible_between": ["it broke", "infeasible", "it broke", "infeasible", "infeasible"] + ["it broke"] * 3,
    "exit_codes": [f"ended with exit code {code}" for code in (1, 2, 11, 12, 111)],
    "after_others": ["one", "two", None, "it broke", "it broke", "it broke", "it broke", "it broke"],
}
GOES_ON = {
    "different": ["cat.jpg", "dog.jpg", "eel.jpg", "fox.jpg", "gnu.jpg", "hen.jpg"],
    "success": ["it broke"] * 4 + [None] + ["it broke"] * 4,
    "another": ["it broke"] * 4 + ["it burnt"] + ["it broke"] * 4,
    "infeasible": ["infeasible"] * 9,
}


@pytest.mark.parametrize("name", STOPS)
def test_five_identical_failures_end_the_run(rue, script, name):
    one = script(TABLE, faults=failing(STOPS[name]))
    expect_failure(tune(rue, one), 4, "stopped after 5 identical failures", STOPS[name][-1], "run the same command to continue")
    assert len(one.joint()) == len(STOPS[name])
    one.write(faults=[])
    assert tune(rue, one).returncode == 0, "and that goes on"
    assert {row["status"] for row in rows(rue)[-4:]} == {"ok"}


@pytest.mark.parametrize("name", GOES_ON)
def test_different_failures_do_not_end_the_run(rue, script, name):
    one = script(TABLE, faults=failing(GOES_ON[name]))
    done = tune(rue, one)
    assert "in a row" not in done.stderr and len(one.joint()) == len(CELLS), done.stderr
    assert len(bad(rue)) == sum(reason is not None for reason in GOES_ON[name])


def test_stored_trials_do_not_hide_a_failing_runner(rue, script):
    """Every second cell is stored; the others fail alike now."""
    different = [dict(status="failed", reason=letter) for letter in "abcdefghijklm"]
    one = script(TABLE, faults=[dict(when=dict(id=PROBES + 1 + 2 * i), do="answer", answer=answer)
                                for i, answer in enumerate(different)])
    assert "in a row" not in tune(rue, one).stderr
    assert len(bad(rue)) == 13
    one.write(faults=[dict(when=dict(measure="joint"), do="answer", answer=dict(status="failed", reason="broken for good"))])
    expect_failure(tune(rue, one), 4, "stopped after 5 identical failures")
    assert len(bad(rue)) == 13 + 5


# ---- nothing is left over ----

def facts(pid):
    """What a process holds; anon in KiB."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    fds = len(os.listdir(f"/proc/{pid}/fd"))
    return dict(fds=fds, threads=int(status["Threads"]), anon=int(status["RssAnon"].split()[0]))


def drive_runner(program, photos, trials, mark):
    """So many small trials of every kind; what the runner held after `mark` of them, and at the end; its exit code."""
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    process = subprocess.Popen([program, "runner"], text=True, env=clean_environment(), **pipes)
    variant = dict(path=str(photos), mode="raw", format="folder")
    held = []
    for i in range(trials):
        measure, workers = ("joint", "load", "compute", "joint")[i % 4], (0, 1, 3)[i % 3]
        request = dict(op="trial", id=i, measure=measure, variant=variant, model="none", images=1, job_images=1, batches=1,
                       config=dict(batch_size=1, num_workers=workers), limits=dict(time_ns=10**11),
                       workload=dict(shuffle=True, seed=i, epoch=0, drop_last=False, transform="eval", cache="as-is", rank=0,
                                     world_size=1, bad_images="fail"))
        if i % 50 == 49:  # a reply is due to what cannot be done, too
            request["variant"] = dict(variant, path="/no/such/folder")
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["status"] == ("failed" if i % 50 == 49 and measure != "compute" else "ok"), answer
        if i + 1 in (mark, trials):
            held.append(facts(process.pid))
    process.stdin.close()
    return held, process.wait(HANG_S)


def test_memory_of_a_runner_does_not_grow_with_trials(release, photos):
    (before, after), code = drive_runner(release, photos, 10000 if LONG else 2000, 1000)
    print(before, after)
    assert code == 0 and after["fds"] == before["fds"] and after["threads"] == before["threads"] == 1
    assert after["anon"] <= before["anon"] + 1024, "a KiB more or less is the allocator's"


def test_a_runner_does_not_leak_memory(program, photos):
    """The leak sanitizer looks when it ends."""
    held, code = drive_runner(program, photos, 10000 if LONG else 400, 100)
    assert code == 0 and held[0]["fds"] == held[1]["fds"]


def test_memory_of_a_tuner_grows_only_by_its_rows(release_rue, script):
    trials = 10000 if LONG else 2000
    repeats = trials // 10
    one = script(make_table(["ape"], [1, 2, 3, 4, 5], [0, 1], lambda m, b, w: 1000 + b + w))
    process = start(release_rue, one, "--repeats", repeats, "--budget", "1h", "--images", "5")
    seen = []
    for point in (trials // 4, trials - trials // 10):
        while process.poll() is None and count_stored(release_rue) < point:
            time.sleep(0.01)
        samples = [facts(process.pid) for _ in range(20)]  # a file may be open for a moment
        seen.append((count_stored(release_rue), min(samples, key=lambda sample: sample["fds"]), len(descendants(process.pid))))
    code, out, err = finish(process)
    assert code == 0 and len(rows(release_rue)) >= trials, err
    (early_rows, early, few), (late_rows, late, many) = seen
    print(seen)
    assert late["fds"] == early["fds"] and late["threads"] == early["threads"] == 1 and few == many == 2
    assert (late["anon"] - early["anon"]) * 1024 / (late_rows - early_rows) < 24 * 1024, "a row is kept for the reports"
    left = {path.name for path in (release_rue.folder / "out").iterdir()}
    assert left == {"recommendation.json", "report.html", "study.db", "trials.csv"}


# ---- trials of its own that hang ----

def test_an_own_trial_that_hangs_in_a_read_is_a_timeout(release_rue, photos, preload):
    stuck = release_rue.folder / "stuck"
    process = release_rue.start("tune", photos, *OWN, "--trial-timeout", "1s", env=preload(PRELOAD_STUCK=stuck))
    wait_until(lambda: count_stored(release_rue) >= 6, process)
    stuck.touch()
    code, out, err = finish(process)
    assert code in (0, 5), err  # it may be too short to decide
    assert wording.THE_RUNNER_GAVE_NO_ANSWER.format(2) in [row["reason"] for row in bad(release_rue)]
    assert not stuck.exists()


def test_rue_s_own_runner_reports_a_trial_that_exceeds_its_time(rue, photos):
    done = rue("tune", photos, "--model", "sleep:500ms/batch", "--images", "8", "--batch-size", "1,8", "--num-workers", "0",
               "--mode", "raw", "--trial-timeout", "2s", "--budget", "10m", "--quiet", "--out", "out")
    slow = [row for row in bad(rue) if json.loads(row["config"])["batch_size"] == 1]
    assert {row["status"] for row in slow} == {"timeout"} and wording.TIME_LIMIT_OF_S.format(2) in slow[0]["reason"]
    assert "Sanitizer" not in done.stderr
