"""Several GPUs at once, each with a runner and a loader of its own (--gpus): simulated ones, which need no GPU."""
import contextlib
import csv
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest

import wording
from conftest import (HANG_S, SCRIPTED_RUNNER, clean_environment, expect_failure, make_table, read_json, state, stop,
                      wait_until, wait_until_ended)

SMALL = ["--model", "resnet18", "--device", "h100", "--batch-size", "4,8", "--num-workers", "0,1", "--mode", "raw",
         "--strategy", "grid", "--budget", "5m", "--out", "out", "--quiet"]


class Runner:
    """`rue runner`, talked to by hand."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "runner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=clean_environment())

    def tell(self, **object):
        self.process.stdin.write(json.dumps(object) + "\n")
        self.process.stdin.flush()

    def ask(self, **object):
        self.tell(**object)
        return json.loads(self.process.stdout.readline())


@pytest.fixture
def runner(program):
    with contextlib.ExitStack() as stack:
        def start():
            made = Runner(program)
            stack.callback(made.process.wait, HANG_S)
            stack.callback(made.process.stdin.close)
            return made
        yield start


def trial(folder, world_size=2, **more):
    ask = dict(op="trial", id=7, measure="joint", model="resnet18@h100", images=24, job_images=24,
               variant=dict(path=str(folder), mode="raw", format="folder"), config=dict(batch_size=4, num_workers=1),
               workload=dict(world_size=world_size))
    return {**ask, **more}


def trials(rue):
    with open(rue.folder / "out/trials.csv", newline="") as file:
        return list(csv.DictReader(file))


# ---- the runner's side ----

def test_a_waiting_trial_begins_at_start(runner, photos):
    one = runner()
    for measure in ["joint", "load", "compute"]:
        ask = trial(photos, 1, wait=True, measure=measure, batches=2)
        assert one.ask(**ask) == dict(id=7, status="ready")
        assert one.ask(op="start")["status"] == "ok"
        assert one.ask(**ask) == dict(id=7, status="ready")
        assert one.ask(op="skip")["reason"] == 'the line after "ready" is not {"op":"start"}'
    assert one.ask(**trial(photos, 1, wait="yes"))["status"] == "failed"


# ---- runners that are scripted: which GPU each sees, and what becomes of one that fails ----

def by_gpu(script, tmp_path, **ends):
    """A runner that plays one script, and notes its GPU; on the GPUs named in `ends`, what is said there,
    where RUNNER is the command that plays."""
    table = make_table(["ape"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + w)
    (tmp_path / "fine").mkdir()
    command = script(table, clock="real", hello=dict(clock="real", images=1000), delay_s=0.01).command
    lines = ["#!/bin/sh", f'echo "$CUDA_VISIBLE_DEVICES" >> {tmp_path}/gpus']
    lines += [f'[ "$CUDA_VISIBLE_DEVICES" = {gpu} ] && {end.replace("RUNNER", command)}' for gpu, end in ends.items()]
    path = tmp_path / "runner.sh"
    path.write_text("\n".join([*lines, f"exec {command}"]) + "\n")
    path.chmod(0o755)
    return ["--runner", shlex.quote(str(path)), "--budget", "5m", "--strategy", "grid", "--out", "out", "--quiet"]


def test_each_runner_sees_its_own_gpu(rue, script, tmp_path):
    done = rue("tune", "--gpus", "1,GPU-5ab,3", *by_gpu(script, tmp_path), env=dict(CUDA_VISIBLE_DEVICES="a,b,c,d"))
    assert done.returncode == 0, done.stderr
    assert sorted((tmp_path / "gpus").read_text().split()) == ["GPU-5ab", "b", "d"]
    assert wording.ON_EACH_OF_GPUS.format(3) in " ".join(done.stdout.split())


def test_a_runner_that_dies_fails_the_trial_of_all_and_is_restarted(rue, script, tmp_path):
    answer_one = 'read line; echo "$line" | RUNNER; '
    once = f'[ ! -e {tmp_path}/died ] && {{ {answer_one * 2} read trial; : > {tmp_path}/died; kill -SEGV $$; }}'
    done = rue("tune", "--gpus", "0,1", *by_gpu(script, tmp_path, **{"1": once}))
    assert done.returncode == 0, done.stderr
    rows = trials(rue)
    failed = [row for row in rows if row["status"] != "ok"]
    assert len(failed) == 1 and wording.ON_GPU_THE_RUNNER.format(1) in failed[0]["reason"], failed
    assert [row["status"] for row in rows].count("ok") > 3 and done.returncode == 0, done.stderr
    assert sorted((tmp_path / "gpus").read_text().split()) == ["0", "1", "1"]


def test_a_runner_that_changed_after_a_restart_ends_the_study(rue, script, tmp_path):
    answer_one, another = 'read line; echo "$line" | RUNNER; ', f"sed -i 's/scripted 1.0/other 2.0/' {tmp_path}/copy.py"
    shutil.copy(SCRIPTED_RUNNER, tmp_path / "copy.py")
    once = f'if [ -e {tmp_path}/died ]; then {another}; exec {sys.executable} -S {tmp_path}/copy.py {tmp_path}/script.json; ' \
           f'else {answer_one * 2} read trial; : > {tmp_path}/died; kill -SEGV $$; fi'
    done = rue("tune", "--gpus", "0,1", *by_gpu(script, tmp_path, **{"1": once}))
    expect_failure(done, 1, "the restarted runner answers 'hello' differently", '"runner" was "scripted 1.0" and is "other 2.0"')
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db")) as db:
        rows = db.execute("SELECT status, reason FROM trial ORDER BY id").fetchall()
    assert [status for status, _ in rows] == ["failed"] and wording.WAS_KILLED_BY_SIGSEGV in rows[0][1], rows


def test_runners_that_differ_are_refused(rue, script, tmp_path):
    shutil.copy(SCRIPTED_RUNNER, tmp_path / "copy.py")
    other = f"sed -i 's/scripted 1.0/other 2.0/' {tmp_path}/copy.py; exec {sys.executable} -S {tmp_path}/copy.py {tmp_path}/script.json"
    done = rue("tune", "--gpus", "0,1", *by_gpu(script, tmp_path, **{"1": f"{{ {other}; }}"}))
    expect_failure(done, 1, "the runner on GPU 1 answers 'hello' differently from the runner on GPU 0", '"runner" was "scripted 1.0" and is "other 2.0"')


def test_the_list_of_gpus_is_part_of_the_machine(rue, script, tmp_path):
    """Where they are not alike: each runner sees one, all of them are what counts."""
    table = make_table(["ape"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + w)
    command = script(table, hello=dict(images=1000, machine=dict(visible_gpus="0", usable_cpus=8))).command
    for gpus in ("0,1", "0,2", "0,1"):
        done = rue("tune", "--gpus", gpus, "--runner", command, "--strategy", "grid", "--out", "out", "--quiet")
        assert done.returncode == 0, done.stderr
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db")) as db:
        counts = db.execute("SELECT count(*) FROM trial GROUP BY machine").fetchall()
    assert len(counts) == 2 and counts[0] == counts[1], "the third run measured nothing"


def test_no_runner_stays_alive(rue, script, tmp_path):
    words = by_gpu(script, tmp_path)
    process = rue.start("tune", "--gpus", "0..3", *words)
    log = tmp_path / "requests.log"
    wait_until(lambda: log.exists() and log.read_text().count('"trial"') >= 4, process)
    pids = {json.loads(line)["pid"] for line in log.read_text().split("\n")[:-1]}
    assert len(pids) == 4
    assert stop(process, signal.SIGTERM)[0] == 143
    assert wait_until_ended(pids)


# ---- the whole program ----

@pytest.mark.quick
def test_a_study_on_two_gpus(rue, photos):
    words = ["tune", photos, "--gpus", "0,1", *SMALL]
    done = rue(*words)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert wording.JOB_OF_IMAGES_ON_EACH.format(24, 2) in said and wording.ON_EACH_OF_GPUS_FOR_RAW.format(2) in said, said
    part = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    assert (part["gpus"], part["job_images"], part["workload"]["world_size"]) == (2, 24, 2)
    whole = [row for row in trials(rue) if (row["measure"], row["images"]) == ("joint", "24")]
    assert {int(row["data_bytes"]) for row in whole} == {sum(path.stat().st_size for path in photos.rglob("*.jpg"))}, "each its half"
    rows = len(trials(rue))
    assert rue(*words).returncode == 0 and len(trials(rue)) == rows, "nothing is measured again"
    shown = rue("show", "out")
    assert wording.ON_EACH_OF_GPUS.format(2) in " ".join(shown.stdout.split()), shown.stdout
    alone = rue("tune", photos, *SMALL)
    assert alone.returncode == 0 and len(trials(rue)) > 0
    part = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    assert part["gpus"] is None and part["job_images"] == 48, "another study of the same store"


def test_a_dry_run_shows_the_job_of_all_gpus(rue, photos):
    done = rue("tune", photos, "--gpus", "0..4", "--dry-run", *SMALL)
    assert done.returncode == 0, done.stderr
    values = dict(re.findall(r"^  ([a-z-]+) +(\S+) ", done.stdout.split("Plan:")[0], re.MULTILINE))
    assert (values["gpus"], values["images"]) == ("0..4", "48"), values


def test_a_killed_study_shows_the_number_of_gpus(rue, script, tmp_path):
    words = by_gpu(script, tmp_path)
    process = rue.start("tune", "--gpus", "0,1", *words, "--repeats", "20")
    log = tmp_path / "requests.log"
    wait_until(lambda: log.exists() and log.read_text().count('"trial"') >= 16, process)
    process.kill()
    process.communicate()
    assert wording.ON_EACH_OF_GPUS.format(2) in " ".join(rue("show", "out").stdout.split())


def test_control_z_stops_all_runners(rue, script, tmp_path):
    process = rue.start("tune", "--gpus", "0,1", *by_gpu(script, tmp_path), process_group=0)
    log = tmp_path / "requests.log"
    wait_until(lambda: log.exists() and log.read_text().count('"trial"') >= 4, process)
    pids = {json.loads(line)["pid"] for line in log.read_text().split("\n")[:-1]}
    os.killpg(process.pid, signal.SIGTSTP)
    wait_until(lambda: all(state(pid) == "T" for pid in pids), process)
    asked = log.read_text().count('"trial"')
    os.killpg(process.pid, signal.SIGCONT)
    assert process.communicate(timeout=HANG_S) and process.returncode == 0
    assert log.read_text().count('"trial"') > asked and wait_until_ended(pids)


def test_memory_is_shared_by_all_that_load(rue, photos):
    """What fitted into more memory is not taken for what fits now."""
    words = ["tune", photos, "--gpus", "0,1", *SMALL, "--max-memory"]
    assert rue(*words, "1G").returncode == 0
    assert "infeasible" not in {row["status"] for row in trials(rue)}
    rue(*words, "20M")
    assert "infeasible" in {row["status"] for row in trials(rue)}


def test_a_plan_shows_the_number_of_gpus(rue, photos):
    """--images is for all of them, the job is that of each."""
    said = rue("tune", photos, "--gpus", "0,1", *SMALL, "--dry-run").stdout
    assert wording.IMAGES_ON_EACH_OF_GPUS.format(24, 2) in said
    assert re.search(r"^  images +48 ", said, re.M), said


def test_a_check_loads_for_the_same_number_of_gpus(rue, photos):
    assert rue("tune", photos, "--gpus", "0,1", *SMALL).returncode == 0
    done = rue("check", "out", "--budget", "20s", "--json")
    assert done.returncode in (0, 5), done.stderr
    check = json.loads(done.stdout)["checks"][0]
    assert not any(wording.ANOTHER_MACHINE in difference for difference in check["differences"]), check
    assert {trial["images"] for trial in check["trials"]} <= {24, 16, 8}, check


@pytest.mark.parametrize("words, env, said", [
    (["--gpus", "0,0"], {}, ["--gpus", "twice"]),
    (["--gpus", ","], {}, ["--gpus", "0,1 or 0..7"]),
    (["--gpus", "1-2"], {}, ["'1-2' is not a GPU"]),
    (["--gpus", "3..1"], {}, ["'3..1' is not a GPU"]),
    (["--gpus", "0..64"], {}, ["more than 64"]),
    (["--gpus", "0,2"], dict(CUDA_VISIBLE_DEVICES="4,5"), ["GPU 2 is hidden", "CUDA_VISIBLE_DEVICES is 4,5"]),
    (["--gpus", "0"], dict(CUDA_VISIBLE_DEVICES=""), ["GPU 0 is hidden", "CUDA_VISIBLE_DEVICES is empty; ", "unset that variable"]),
    (["--gpus", "0"], dict(CUDA_VISIBLE_DEVICES="-1"), ["GPU 0 is hidden", "is -1"]),
    (["--gpus", "0,1"], dict(CUDA_VISIBLE_DEVICES="3,-1,5"), ["GPU 1 is hidden"]),
    (["--gpus", "0,1", "--table", "times.csv"], {}, ["--table times.csv"]),
])
def test_wrong_lists(rue, photos, words, env, said):
    data = [] if "--table" in words else [photos]
    expect_failure(rue("tune", *data, "--quiet", *words, env=env), 2, *said)


def test_an_invalid_runner_is_refused(rue, photos):
    expect_failure(rue("tune", photos, "--gpus", "0,1", "--runner", "false", "--out", "out", "--quiet"), 1, "did not answer 'hello' correctly")
