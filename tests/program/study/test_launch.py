"""Ranks that a launcher starts (--launch): by a launcher of the tests, which also plays 64 ranks on a virtual clock."""
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import sqlite3
import sys
import time

import pytest

import wording
from conftest import SCRIPTED_RUNNER, Script, clean_environment, cluster, expect_failure, finish, flat, make_table, read_json, stop, wait_until, wait_until_ended
from terminal import run_on_terminal

TABLE = make_table(["ape"], [16, 64], [1, 4], lambda model, batch, workers: 4_000_000 // workers - 1000 * batch)
GRID = ["--strategy", "grid", "--budget", "100h", "--out", "out"]


def played(tmp_path, ranks=64, per_node=4, **play):
    return cluster(tmp_path, ranks=ranks, per_node=per_node, play={"ns_per_image": TABLE["ape"], **play})


def rows(rue):
    db = sqlite3.connect(rue.folder / "out/study.db")
    try:
        return db.execute("SELECT status, reason, end_to_end_ns, ranks FROM trial ORDER BY id").fetchall()
    finally:
        db.close()


def by_rank(script, tmp_path, **ends):
    """A runner that plays one script; `ends`: what is done in its place on a rank, where RUNNER is that runner."""
    command = script(TABLE, clock="real", hello=dict(clock="real", images=1000), delay_s=0.01).command
    path = tmp_path / "runner.sh"
    lines = [f'[ "$SLURM_PROCID" = {rank[1:]} ] && {end.replace("RUNNER", command)}' for rank, end in ends.items()]
    path.write_text("\n".join(["#!/bin/sh", *lines, f"exec {command}"]) + "\n")
    path.chmod(0o755)
    return ["--runner", shlex.quote(str(path)), *GRID, "--quiet"]


# ---- a study ----

@pytest.mark.quick
def test_two_ranks_give_the_answer_of_two_gpus(rue, script, tmp_path):
    command = script(TABLE, hello=dict(images=1000)).command
    found = []
    for words in (["--gpus", "0,1"], ["--launch", cluster(tmp_path, ranks=2)]):
        done = rue("tune", "--runner", command, *words, *GRID, "--fresh")
        assert done.returncode == 0, done.stderr
        found.append(read_json(rue.folder / "out/recommendation.json")["recommendations"][0])
    gpus, ranks = found
    assert gpus["config"] == ranks["config"] and gpus["job_images"] == ranks["job_images"]
    assert (gpus["gpus"], ranks["gpus"], ranks["ranks"]) == (2, None, 2) and "ranks" not in gpus
    assert wording.ON_EACH_OF_RANKS.format(2) in flat(done.stdout)


def test_each_rank_has_its_share_and_its_figures(rue, photos, tmp_path):
    done = rue("tune", photos, "--model", "resnet18", "--device", "h100", "--batch-size", "4,8", "--num-workers", "0,1", "--mode", "raw",
               *GRID, "--launch", cluster(tmp_path, ranks=3, per_node=2))
    assert done.returncode == 0, done.stderr
    measured = [row for row in rows(rue) if row[0] == "ok"]
    assert len(measured) >= 4  # a busy machine may start a rank too late: then the trial is repeated
    for status, _, end_ns, ranks in measured:
        ranks = json.loads(ranks)
        assert [rank["rank"] for rank in ranks] == [0, 1, 2] and [rank["node"] for rank in ranks] == ["n0", "n0", "n1"]
        assert [rank["images"] for rank in ranks] == [16, 16, 16] and max(rank["end_to_end_ns"] for rank in ranks) == end_ns
        assert all(rank["start_late_ns"] >= 0 for rank in ranks)
    part = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    assert (part["workload"]["world_size"], part["ranks"], part["job_images"]) == (3, 3, 16)


@pytest.mark.parametrize("others, said", [("damaged.jpg", "damaged.jpg; on rank 2 (n1): "), ("copy.jpg", "damaged.jpg; on rank 2 (n1): copy.jpg"),
                                          ("", "damaged.jpg")])
def test_what_another_node_says_of_the_data_is_reported_once(rue, tmp_path, others, said):
    """Only the first rank of a node looks at the data."""
    runners = []
    for rank, note in enumerate(["damaged.jpg", "not asked", others, "not asked"]):
        (tmp_path / str(rank)).mkdir()
        runners.append(Script(tmp_path / str(rank), TABLE, hello=dict(images=1000), opened=dict(note=note)).command)
    path = tmp_path / "runner.sh"
    path.write_text("#!/bin/sh\n" + "\n".join(f'[ "$SLURM_PROCID" = {i} ] && exec {words}' for i, words in enumerate(runners)) + "\n")
    path.chmod(0o755)
    done = rue("tune", "--runner", shlex.quote(str(path)), "--launch", cluster(tmp_path, ranks=4, per_node=2), *GRID)
    assert done.returncode == 0, done.stderr
    text = flat(done.stderr)
    assert (wording.NOT_ASKED not in text) and (said in text) == (others != "damaged.jpg") and text.count("damaged.jpg") == 1


@pytest.mark.parametrize("bound, per_node, warned", [("1", 1, True), ("1", 4, False), ("2", 1, False)])
def test_ranks_that_are_bound_to_one_core_are_reported(rue, script, tmp_path, bound, per_node, warned):
    """As Open MPI binds two ranks; four ranks of a node with four CPUs have one each."""
    hello = dict(images=1000, machine=dict(cpu="none", usable_cpus=int(bound), affinity_cpus=int(bound), online_cpus=4))
    launcher = cluster(tmp_path, ranks=4, per_node=per_node)
    done = rue("tune", "--runner", script(TABLE, hello=hello).command, "--launch", launcher, *GRID)
    assert done.returncode == 0, done.stderr
    said = "each rank may use only 1 of 4 CPUs"
    assert (said in flat(done.stderr)) == (said in flat(done.stdout)) == warned
    assert not warned or ("--cpus-per-task" in done.stderr and wording.BIND_TO_NONE in flat(done.stderr))


def test_the_slowest_rank_counts_and_is_named(rue, tmp_path):
    done = rue("tune", *GRID, "--launch", played(tmp_path, slow={"37": 2.0}, clock_ahead_ns={"3": 10**15, "5": -10**9}))
    assert done.returncode == 0, done.stderr
    part = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    slow = part["slow_rank"]
    assert (slow["rank"], slow["node"], round(slow["slower_ratio"], 3)) == (37, "n9", 2.0)
    assert wording.RANK_N9_SETS_THE_TIME.format(37, "2.00") in flat(done.stdout)
    for status, _, end_ns, ranks in rows(rue):
        times = [rank["end_to_end_ns"] for rank in json.loads(ranks)]
        assert status == "ok" and len(times) == 64 and times[37] == end_ns == 2 * times[0]
    assert "Rank 37" in flat(rue("show", "out").stdout)


@pytest.mark.parametrize("report, cause", [
    (dict(stolen_ratio=0.4), "40 % of the CPU time of its machine was stolen by the hypervisor"),
    (dict(throttled_ratio=0.25), "a CPU quota stopped it for 25 % of the time"),
    (dict(read_bytes=900, data_bytes=1000), "it read 90 % of its data from storage, the others 0 %"),
    ({}, "its loader is slower, and its machine reports no cause"),
])
def test_a_slow_rank_has_its_cause(rue, tmp_path, report, cause):
    done = rue("tune", *GRID, "--launch", played(tmp_path, 4, 2, slow={"1": 1.5}, report={"1": report} if report else {}))
    assert done.returncode == 0, done.stderr
    assert wording.RANK_N0_SETS_THE_TIME.format(1, "1.50", cause) in flat(done.stdout)


def test_equal_ranks_are_not_named(rue, tmp_path):
    done = rue("tune", *GRID, "--launch", played(tmp_path, 8, slow={"2": 1.05}))
    assert done.returncode == 0 and wording.SETS_THE_TIME not in flat(done.stdout), done.stderr
    assert "slow_rank" not in read_json(rue.folder / "out/recommendation.json")["recommendations"][0]


def test_a_study_is_continued_and_checked(rue, tmp_path):
    words = ["--launch", played(tmp_path, 4)]
    assert rue("tune", *GRID, *words).returncode == 0
    measured = rows(rue)
    assert rue("tune", *GRID, *words).returncode == 0 and rows(rue) == measured, "the second run measures nothing"
    check = rue("check", "out/recommendation.json", "--launch", cluster(tmp_path, ranks=3, play={"ns_per_image": TABLE["ape"]}))
    expect_failure(check, 2, "--launch started 3 ranks, but the recommendation is for 4")


# ---- faults: each is a row or one line, which names the rank ----

def test_a_runner_that_dies_is_started_again_on_its_rank(rue, script, tmp_path):
    answer_one = 'read line; echo "$line" | RUNNER; '
    once = f'[ ! -e {tmp_path}/died ] && {{ {answer_one * 2} read trial; : > {tmp_path}/died; kill -SEGV $$; }}'
    done = rue("tune", *by_rank(script, tmp_path, r1=once), "--launch", cluster(tmp_path, ranks=2))
    assert done.returncode == 0, done.stderr
    failed = [row for row in rows(rue) if row[0] != "ok"]
    assert len(failed) == 1 and failed[0][1] == "on rank 1 (n0): the runner was killed by SIGSEGV during the trial", failed
    assert len(rows(rue)) > 3


def test_a_lost_connection_starts_all_ranks_again(rue, tmp_path):
    done = rue("tune", *GRID, "--launch", played(tmp_path, 4, 2, drop={"2": [3]}))
    assert done.returncode == 0, done.stderr
    failed = [row for row in rows(rue) if row[0] != "ok"]
    assert {row[1] for row in failed} == {"on rank 2 (n1): the runner lost its connection: its process or its node ended during the trial"}, failed
    assert len(rows(rue)) > len(failed)


def test_a_rank_that_hangs_is_a_timeout(rue, tmp_path):
    done = rue("tune", *GRID, "--launch", played(tmp_path, 4, 2, hang={"3": 2}), "--trial-timeout", "1s")
    assert done.returncode == 0, done.stderr
    failed = [row for row in rows(rue) if row[0] != "ok"]
    assert {row[0] for row in failed} == {"timeout"} and wording.ON_RANK_N1_THE_RUNNER.format(3) in failed[0][1], failed


def test_a_rank_that_hangs_before_the_start_is_named(rue, tmp_path):
    done = rue("tune", *GRID, "--launch", played(tmp_path, 4, 2, wrong={"3": dict(clock=[None] * 7 + [False])}), "--trial-timeout", "1s")
    assert done.returncode == 0, done.stderr
    failed = [row for row in rows(rue) if row[0] != "ok"]
    assert failed and all(row[0] == "timeout" and row[1].startswith("on rank 3 (n1): the runner gave no answer within ") for row in failed), failed
    assert all([rank.get("status") for rank in json.loads(row[3])] == ["failed", "failed", "failed", "timeout"] for row in failed), "the others end at once"


def failures(rue):
    return [row[:2] for row in rows(rue) if row[0] != "ok"]


@pytest.mark.parametrize("rank, late", [(0, (1, 2, 3)), (1, (3,))])
def test_a_rank_that_ends_after_its_answer_is_named(rue, tmp_path, rank, late):
    """Its launcher ends the others because of it. The trial is repeated. The ranks of the script act in their order."""
    script = played(tmp_path, 4, 2, leave={rank: [3]}, drop={other: [3] for other in late}, drop_after_s=0.2, once=str(tmp_path / "once"))
    done = rue("tune", *GRID, "--launch", script)
    assert done.returncode == 0, done.stderr
    assert failures(rue) == [("failed", f"on rank {rank} (n{rank // 2}): it lost its connection: its process or its node ended")]


def test_a_rank_that_ends_between_trials_costs_none(rue, tmp_path):
    done = rue("tune", *GRID, "--launch", played(tmp_path, 4, 2, leave={"2": [3]}, once=str(tmp_path / "once")))
    assert done.returncode == 0 and failures(rue) == [], done.stderr
    assert (tmp_path / "launches").read_text() == "xx"


def test_the_failure_of_a_runner_before_another_rank_is_lost_counts(rue, tmp_path):
    killed = '{"ended": "was killed by SIGKILL", "out_of_memory": true}'
    script = played(tmp_path, 4, 2, wrong={"0": dict(start=[None, killed, None, None, None])}, drop={"2": [2]}, drop_after_s=0.3)
    done = rue("tune", *GRID, "--launch", script)
    assert done.returncode == 0, done.stderr
    assert failures(rue)[0] == ("infeasible", "on rank 0 (n0): the runner was killed by SIGKILL during the trial: the system was out of memory")


def test_a_runner_that_never_stops_to_write_is_started_again_on_its_rank(rue, script, tmp_path):
    answer_one = 'read line; echo "$line" | RUNNER; '
    once = f'[ ! -e {tmp_path}/wrote ] && {{ {answer_one * 2} read trial; : > {tmp_path}/wrote; exec yes; }}'
    launches = f"sh -c 'echo x >> {tmp_path}/launches; exec \"$@\"' sh"
    done = rue("tune", *by_rank(script, tmp_path, r1=once), "--launch", f"{launches} {cluster(tmp_path, ranks=2)}")
    assert done.returncode == 0, done.stderr
    assert len(failures(rue)) == 1 and (tmp_path / "launches").read_text() == "x\n"


def test_a_rank_without_memory_is_infeasible(rue, tmp_path):
    killed = '{"ended": "was killed by SIGKILL", "out_of_memory": true}'
    done = rue("tune", *GRID, "--launch", played(tmp_path, 4, 2, wrong={"2": dict(start=[None, killed, None, None, None])}))
    assert done.returncode == 0, done.stderr
    failed = [row[:2] for row in rows(rue) if row[0] != "ok"]
    assert failed[:1] == [("infeasible", "on rank 2 (n1): the runner was killed by SIGKILL during the trial: the system was out of memory")]


def test_an_answer_larger_than_the_buffers_of_its_connection(rue, tmp_path):
    """The ranks that this process plays answer one after the other, so the tuner must read while it waits for the rest."""
    report = {"0": dict(filler="x" * 14_000_000, rank=7, node=9)}
    done = rue("tune", *GRID, "--launch", played(tmp_path, 3, report=report), "--batch-size", "16", "--num-workers", "1")
    assert done.returncode == 0 and {row[0] for row in rows(rue)} == {"ok"}, done.stderr
    assert all([(rank["rank"], rank["node"]) for rank in json.loads(row[3])] == [(0, "n0"), (1, "n0"), (2, "n0")] for row in rows(rue))


def test_a_clock_that_jumps_fails_the_trial(rue, tmp_path):
    done = rue("tune", *GRID, "--launch", played(tmp_path, 4, 2, jump={"1": [2, 10**12]}))
    assert done.returncode == 0, done.stderr
    failed = [row for row in rows(rue) if row[0] != "ok"]
    assert len(failed) == 1 and re.match(r"on rank 1 \(n0\): it started 16 m 40 s later than the others: its machine paused", failed[0][1]), failed


def test_data_are_proven_warm_on_each_node(rue, tmp_path):
    """One of 16 nodes reads from storage: that is little of all bytes, and all of its own."""
    cold = {str(rank): dict(read_bytes=9 * 10**8, data_bytes=10**9) for rank in (12, 13)}
    warm = {str(rank): dict(read_bytes=0, data_bytes=10**9) for rank in range(32)}
    done = rue("tune", *GRID, "--launch", played(tmp_path, 32, 2, cache="warm", report={**warm, **cold}))
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(rue.folder / "out/study.db") as db:
        found = db.execute("SELECT cache_missed, reason FROM trial").fetchall()
    assert found and all(missed == 1 and reason.startswith("on n6: ") for missed, reason in found), found


def test_late_ranks_are_awaited(rue, script, tmp_path):
    done = rue("tune", *by_rank(script, tmp_path), "--launch", cluster(tmp_path, ranks=3, shift_s={"1": 0.5}))
    assert done.returncode == 0 and rows(rue), done.stderr


@pytest.mark.parametrize("more, words", [
    (dict(leave_out=[1, 3, 4, 5]), ["when only 2 of 6 ranks had connected; missing: rank 1, 3 to 5"]),
    (dict(leave_out=[1, 2, 3, 4, 5], environment={"0": dict(RANK="0", WORLD_SIZE="3", SLURM_PROCID="")}),
     ["missing: rank 1 to 2; rank 0 takes its numbers from RANK and the variables beside it: unset those that are not the launcher's own"]),
    (dict(environment={"4": dict(RUE_TUNER="127.0.0.1:1/0")}), ["missing: rank 4"]),
])
def test_missing_ranks_are_named(rue, script, tmp_path, more, words):
    done = rue("tune", *by_rank(script, tmp_path), "--launch", cluster(tmp_path, ranks=6, **more), "--launch-timeout", "3s")
    assert done.returncode == 1, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("rue tune: the launcher '") and all(word in last for word in words), last


@pytest.mark.parametrize("environment, words", [
    ({"4": dict(SLURM_PROCID="2")}, ["gave two ranks the number 2: SLURM_PROCID on n0 and SLURM_PROCID on n0"]),
    ({"4": dict(SLURM_NTASKS="9")}, ["SLURM_PROCID on n0) a world size of", "one of"]),
    ({str(rank): dict(RANK="0", WORLD_SIZE="3", SLURM_PROCID="") for rank in range(6)}, ["gave two ranks the number 0: RANK on", "unset variables that"]),
    ({"1": dict(RANK="0", WORLD_SIZE="6", LOCAL_RANK="0")}, ["two ranks the number 0: ", "RANK on", "SLURM_PROCID on n0"]),
    ({"1": dict(PMI_RANK="3", PMI_SIZE="6")}, ["two ranks the number 3: ", "PMI_RANK on", "SLURM_PROCID on n0"]),
    ({str(rank): dict(RANK="0", WORLD_SIZE="1", SLURM_PROCID="") for rank in range(6)}, ["gave two ranks the number 0: RANK on"]),
    ({str(rank): dict(SLURM_PROCID="") for rank in range(6)}, ["gave two ranks no number: on", "set RANK, WORLD_SIZE and LOCAL_RANK"]),
    ({"4": dict(SLURM_PROCID="x")}, ["started a rank on n0 without a number: SLURM_PROCID=x: expected a number from 0 to 5"]),
    ({"4": dict(SLURM_PROCID="\x1b[2J")}, ["started a rank on n0 without a number: SLURM_PROCID=?[2J: expected"]),
    ({str(rank): dict(SLURM_NTASKS="") for rank in range(6)}, ["without a number: SLURM_PROCID is set, but SLURM_NTASKS is not: set RANK"]),
    ({str(rank): dict(SLURM_PROCID="", PMIX_RANK=str(rank)) for rank in range(6)}, ["without a number: PMIX_RANK is set, but no variable with the"]),
])
def test_numbers_that_contradict_each_other_end_the_start(rue, script, tmp_path, environment, words):
    """At once: the launcher would run for hours, and the time to connect is as long."""
    words_of_launcher = f"sh -c '\"$@\"; sleep 36000' sh {cluster(tmp_path, ranks=6, environment=environment)}"
    done = rue("tune", *by_rank(script, tmp_path), "--launch", words_of_launcher, "--launch-timeout", "10h")
    assert done.returncode == 1, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("rue tune: the launcher '") and all(word in last for word in words), last


OUTER = [dict(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0"), dict(RANK="2", WORLD_SIZE="3", LOCAL_RANK="2"), dict(RANK="x", LOCAL_RANK="9"),
         dict(OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="1"), dict(PMI_RANK="3", PMI_SIZE="4", MPI_LOCALRANKID="3"),
         dict(MV2_COMM_WORLD_RANK="0", MV2_COMM_WORLD_SIZE="2"), dict(FLUX_TASK_RANK="7", FLUX_JOB_SIZE="8"), dict(PMIX_RANK="0")]


@pytest.mark.parametrize("outer", OUTER, ids=" ".join)
def test_the_number_of_the_tuner_itself_is_not_its_ranks(rue, script, tmp_path, outer):
    """rue runs in a pod or under a launcher that has numbered it."""
    done = rue("tune", *by_rank(script, tmp_path), "--launch", cluster(tmp_path, ranks=2), env=outer)
    assert done.returncode == 0 and wording.ON_EACH_OF_RANKS.format(2) in flat(done.stdout), done.stderr


@pytest.mark.parametrize("pod", [dict(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0"), dict(PMI_RANK="0", PMI_SIZE="1"), dict(PMIX_RANK="0")], ids=" ".join)
def test_a_number_among_one_does_not_hide_the_launchers(rue, script, tmp_path, pod):
    launcher = cluster(tmp_path, ranks=2, environment={"0": pod, "1": pod})
    done = rue("tune", *by_rank(script, tmp_path), "--launch", launcher)
    assert done.returncode == 0 and wording.ON_EACH_OF_RANKS.format(2) in flat(done.stdout), done.stderr


def test_a_launch_of_one_rank(rue, script, tmp_path):
    done = rue("tune", *by_rank(script, tmp_path), "--launch", "env", env=dict(RANK="2", WORLD_SIZE="3"))
    assert done.returncode == 0 and wording.ON_EACH_OF_RANK.format(1) in flat(done.stdout), done.stderr


def test_the_wait_for_ranks_is_shown(rue, script, tmp_path):
    words = ["tune", *by_rank(script, tmp_path)[:-1], "--launch", cluster(tmp_path, ranks=3, leave_out=[1]), "--launch-timeout", "2s"]
    code, _, shown, _ = run_on_terminal([str(rue.program), *words], 100, clean_environment(TERM="xterm"), rue.folder)
    assert code == 1 and b"waiting for ranks: 2 of 3 have connected" in shown, shown


@pytest.mark.parametrize("launch, words", [
    ("false", ["ended with exit code 1 before any rank connected to 127.0.0.1:"]),
    ("no-such-launcher -n 2", ["ended with exit code 127 before any rank connected to 127.0.0.1:"]),
    ("A=1 false", ["ended with exit code 1 before any rank connected to 127.0.0.1:"]),
    ("sleep 1000;", ["still ran after 1 s (--launch-timeout) before any rank connected to 127.0.0.1:"]),
    ("kill -KILL $$;", ["was killed by SIGKILL before any rank connected to 127.0.0.1:"]),
])
def test_a_launcher_that_starts_no_rank(rue, script, tmp_path, launch, words):
    begin = time.monotonic()
    done = rue("tune", *by_rank(script, tmp_path), "--launch", launch, "--launch-timeout", "1s")
    assert done.returncode == 1 and all(word in done.stderr for word in words), done.stderr
    assert wording.LISTEN_ADDRESS in done.stderr and time.monotonic() < begin + 60


def test_other_data_on_a_node_are_refused(rue, tmp_path):
    done = rue("tune", *GRID, "--launch", played(tmp_path, 4, 2, digest={"0": "d", "1": "d", "2": "e", "3": "e"}))
    expect_failure(done, 3, "on rank 2 (n1): the data differ from those on rank 0 (n0): 100000 images (digest e) instead of 100000 (digest d)")


def test_a_node_without_the_data_is_named(rue, photos, tmp_path):
    other = tmp_path / "runner.sh"
    other.write_text(f'#!/bin/sh\n[ "$SLURM_PROCID" = 0 ] && exec {rue.program} runner\nsed -u "s#{photos}#/nowhere#" | {rue.program} runner\n')
    other.chmod(0o755)
    done = rue("tune", photos, "--mode", "raw", "--model", "resnet18", "--runner", other, *GRID, "--launch", cluster(tmp_path, ranks=2))
    assert done.returncode == 3 and wording.ON_RANK_N0_THE_RUNNER_CANNOT.format(1) in done.stderr, done.stderr


def test_connections_without_the_token_are_refused(rue, tmp_path):
    """Garbage, a wrong token, too long a line, silence, many at once: the study starts all the same."""
    intruder = tmp_path / "intruder.py"
    intruder.write_text(f"""
import os, socket, sys
place, _, token = os.environ["RUE_TUNER"].partition("/")
host, _, port = place.rpartition(":")
kept = []
def send(data):
    kept.append(socket.create_connection((host, int(port))))
    kept[-1].sendall(data)
send(b"GET / HTTP/1.1\\r\\n\\r\\n")
send(b'{{"op":"join","protocol":"rue.rank/1","token":"' + b"0" * 32 + b'","rank":0,"world_size":1,"local_rank":0,"node":"n"}}\\n')
send(b'{{"op":"join","protocol":"rue.rank/1","token":"' + token[:31].encode() + b'","rank":0,"world_size":1,"local_rank":0,"node":"n"}}\\n')
send(b'{{"op":"join","protocol":"rue.rank/1","token":"' + token.encode() + b'","rank":0,"world_size":1,"local_rank":0,"node":"\\x1b[2J"}}\\n')
send(b'{{"op":"join","protocol":"rue.rank/1","token":"' + token.encode() + b'","rank":5,"world_size":5,"local_rank":0,"node":"n"}}\\n')
send(b"x" * 5000)
for i in range(100):
    send(b"")
os.execv(sys.argv[1], sys.argv[1:])
""")
    done = rue("tune", *GRID, "--launch", f"{sys.executable} {intruder} {played(tmp_path, 4)}")
    assert done.returncode == 0 and {row[0] for row in rows(rue)} == {"ok"}, done.stderr


WRONG = ["", "x", "[]", "null", '{"clock_ns":-1}', '{"clock_ns":1e300}', '{"clock_ns":99999999999999999999}', '{"ended":7}', '{"ended":"\x1b[2J"}',
         '{"ended":"' + "x" * 3000, '{"id":1,"status":"ready"}', '{"id":null,"status":"ready"}', '{"id":-1,"status":"ok"}', "[" * 5000, "\xff\xfe\0", "x" * 100000]


@pytest.mark.parametrize("line", WRONG[:3] + WRONG[8:10])
@pytest.mark.parametrize("op", ["hello", "open"])
def test_a_rank_that_cannot_be_understood_is_named(rue, tmp_path, op, line):
    done = rue("tune", *GRID, "--launch", played(tmp_path, 4, 2, wrong={"2": {op: [line]}}))
    assert done.returncode == 1 and wording.ON_RANK_N1.format(2) in done.stderr.strip().splitlines()[-1], done.stderr
    assert "\x1b" not in done.stdout + done.stderr and "Sanitizer" not in done.stderr


@pytest.mark.parametrize("op", ["trial", "clock", "start"])
def test_answers_that_no_rank_gives(rue, tmp_path, op):
    """Of every trial but the first ones, one is wrong."""
    lines = [None] * 12 + [line for wrong in WRONG for line in (wrong, None)]
    done = rue("tune", *GRID, "--launch", played(tmp_path, 4, 2, wrong={"2": {op: lines}}), "--repeats", "16", "--trial-timeout", "1s")
    assert done.returncode == 0 and "\x1b" not in done.stdout + done.stderr and "Sanitizer" not in done.stderr, done.stderr
    failed = [row[1] for row in rows(rue) if row[0] != "ok"]
    assert failed and all(reason.startswith("on rank 2 (n1): ") and "\x1b" not in reason for reason in failed), failed


def listening_address(process, tmp_path):
    path = tmp_path / "address"
    wait_until(lambda: path.exists() and path.read_text().strip(), process)
    return path.read_text().strip()


def test_the_port_is_closed_once_all_ranks_are_there(rue, script, tmp_path):
    words = by_rank(script, tmp_path)
    note = f"sh -c 'echo $RUE_TUNER > {tmp_path}/address; exec \"$@\"' sh"
    process = rue.start("tune", *words, "--repeats", "50", "--launch", f"{note} {cluster(tmp_path, ranks=2)}")
    place = listening_address(process, tmp_path)
    assert place.startswith("127.0.0.1:") and re.fullmatch(r"[0-9a-f]{32}", place.split("/")[1])
    wait_until(lambda: (rue.folder / "out/study.db").exists(), process)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(place.split("/")[0].rpartition(":")[2])))
    stop(process, signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_all_ranks_end_with_the_tuner(rue, script, tmp_path, number):
    process = rue.start("tune", *by_rank(script, tmp_path), "--repeats", "50", "--launch", cluster(tmp_path, ranks=3))
    log = tmp_path / "requests.log"
    wait_until(lambda: log.exists() and log.read_text().count('"trial"') >= 6, process)
    pids = {json.loads(line)["pid"] for line in log.read_text().split("\n")[:-1]}
    assert len(pids) == 3
    process.send_signal(number)
    process.communicate()
    assert wait_until_ended(pids)


def test_a_launcher_that_ignores_signals_does_not_delay_the_end(rue, tmp_path):
    stubborn = f"sh -c 'trap \"\" TERM INT HUP; \"$@\" & : > {tmp_path}/began; while :; do sleep 1; done' sh {played(tmp_path, 2)}"
    process = rue.start("tune", *GRID, "--quiet", "--launch", stubborn)
    wait_until(lambda: (tmp_path / "began").exists(), process)
    process.send_signal(signal.SIGTERM)
    assert finish(process)[0] == 143


def test_options_that_contradict_each_other(rue, tmp_path):
    for words, said in ((["--gpus", "0,1"], "--gpus cannot be used with --launch"), (["--world-size", "4"], "--world-size 4 cannot be used with --launch"),
                        (["--listen", "a b"], "--listen a b: "),
                        (["--listen", "127.0.0.1:x"], "--listen 127.0.0.1:x: expected HOST or HOST:PORT"),
                        (["--listen", "127.0.0.1:65536"], "--listen 127.0.0.1:65536: expected HOST or HOST:PORT")):
        expect_failure(rue("tune", tmp_path, "--launch", "true", *words), 2, said)


@pytest.mark.parametrize("place", ["0.0.0.0", "0", "0.0", "0x0", "00.0.0.0:7000", "::", "[::]", "[::]:7000", "::0", "0::0.0.0.0", "::ffff:0.0.0.0",
                                   "[::ffff:0.0.0.0]", "[::ffff:0:0]:7000", "[0:0:0:0:0:ffff:0:0]", "255.255.255.255", "224.0.0.1", "[::ffff:224.0.0.1]", "ff02::1"])
def test_rue_listens_on_one_address(rue, tmp_path, place):
    expect_failure(rue("tune", tmp_path, "--launch", "true", "--listen", place), 2, f"--listen {place}: ranks cannot connect to it; give one address")


@pytest.mark.parametrize("environment, said", [
    (dict(RANK="3", WORLD_SIZE="2"), "RANK=3: expected a number from 0 to 1"), (dict(RANK="0", WORLD_SIZE="0"), "WORLD_SIZE=0: expected a number from 1 to 1024"),
    (dict(RANK="0", WORLD_SIZE="-1"), "WORLD_SIZE=-1: expected a number from 1 to"), (dict(RANK="0", WORLD_SIZE="1025"), "WORLD_SIZE=1025: expected a number from 1 to"),
    (dict(RANK="0", WORLD_SIZE="4294967297"), "WORLD_SIZE=4294967297: expected"), (dict(RANK="0", WORLD_SIZE="2x"), "WORLD_SIZE=2x: expected a number from 1 to"),
    (dict(RANK="-1", WORLD_SIZE="2"), "RANK=-1: expected a number from 0 to 1"), (dict(RANK="9" * 30, WORLD_SIZE="2"), "expected a number from 0 to 1"),
    (dict(RANK="0", WORLD_SIZE="1", LOCAL_RANK="1"), "LOCAL_RANK=1: expected a number from 0 to 0"), (dict(PMI_RANK="0", PMI_SIZE="0"), "PMI_SIZE=0: expected a number from 1 to"),
    (dict(SLURM_PROCID="1", SLURM_NTASKS="1"), "SLURM_PROCID=1: expected a number from 0 to 0"),
])
def test_a_rank_that_cannot_be(rue, environment, said):
    expect_failure(rue("runner", "--connect", env=dict(RUE_TUNER="127.0.0.1:1/ab", **environment)), 2, said)


def test_an_agent_needs_a_tuner(rue):
    expect_failure(rue("runner", "--connect"), 2, "--connect: the variable RUE_TUNER is not set")
    expect_failure(rue("runner", "--connect", env=dict(RUE_TUNER="x")), 2, "the variable RUE_TUNER is not HOST:PORT/TOKEN")
    expect_failure(rue("runner", "--connect", env=dict(RUE_TUNER="127.0.0.1:1/ab")), 1, "cannot connect to the tuner at 127.0.0.1:1: Connection refused")
    expect_failure(rue("runner", "--connect", env=dict(RUE_TUNER="127.0.0.1:1/ab", PMIX_RANK="3")), 2, "PMIX_RANK is set, but no variable with the number of")
