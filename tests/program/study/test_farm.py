"""Ranks that make trials each by itself (--farm): played on virtual clocks, scripted, and with rue's own loader."""
import html
import json
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

import wording
from conftest import ROOT, Script, cluster, expect_failure, finish, flat, has_answer, make_table, read_json, wait_until, wait_until_ended

CELLS = [16, 64, 256], [1, 2, 4, 8]
TABLE = make_table(["ape", "bee"], *CELLS, lambda model, batch, workers: 40_000 // workers + 3_000_000 // batch + (9_000 if model == "bee" else 0))
FARM = ["--farm", "--budget", "60s", "--out", "out"]


def played(tmp_path, ranks, **play):
    return cluster(tmp_path, ranks=ranks, per_node=1, play={"ns_per_image": TABLE["ape"], **play})


def scripted(tmp_path, ranks, **own):
    """Words for ranks that each play a script; `own`: what differs on a rank."""
    lines = ["#!/bin/sh"]
    for rank in range(ranks):
        folder = tmp_path / f"rank{rank}"
        folder.mkdir()
        more = {"start_ns": 20_000_000, "load_ns": 2_000_000, "computes": True, **own.get(f"r{rank}", {})}
        lines.append(f'[ "$SLURM_PROCID" = {rank} ] && exec {Script(folder, more.pop("table", TABLE), **more).command}')
    path = tmp_path / "runner.sh"
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)
    return ["--runner", shlex.quote(str(path)), "--launch", cluster(tmp_path, ranks=ranks, per_node=1)]


def select(rue, sql, *values):
    db = sqlite3.connect(rue.folder / "out/study.db")
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.close()


def node_of(ranks):
    return json.loads(ranks)[0]["node"] if ranks else None


def rows(rue):
    """(measure, node, start, end), in the order of the store"""
    return [(measure, node_of(ranks), start, start + cost) for measure, ranks, start, cost
            in select(rue, "SELECT measure, ranks, started_ns, cost_ns FROM trial WHERE status = 'ok' ORDER BY id")]


def cells(rue, status="ok"):
    """The trials with that status: id, node, and what was measured."""
    found = select(rue, "SELECT id, ranks, measure, model, config, requested_images, requested_batches FROM trial WHERE status = ? ORDER BY id", status)
    return [dict(id=row[0], node=node_of(row[1]), cell=row[2:]) for row in found]


def failures(rue):
    return [(node_of(ranks), reason) for ranks, reason in select(rue, "SELECT ranks, reason FROM trial WHERE status <> 'ok'")]


def recommended(rue):
    return read_json(rue.folder / "out/recommendation.json")["recommendations"][0]


@pytest.mark.quick
def test_nodes_make_trials_at_the_same_time(rue, tmp_path):
    words = scripted(tmp_path, 4)
    done = rue("tune", *words, *FARM)
    assert done.returncode == 0, done.stderr
    assert wording.IMAGES_ON_ONE_OF_NODES.format("1,000", 4) in flat(done.stdout + done.stderr) and wording.WAS_DROPPED not in done.stderr
    first, part = rows(rue), recommended(rue)
    assert {node for _, node, _, _ in first} == {"n0", "n1", "n2", "n3"}
    for node in ("n0", "n1", "n2", "n3"):
        own = [row for row in first if row[1] == node]
        assert all(before[3] <= after[2] for before, after in zip(own, own[1:])), "a node has one trial at a time"
    farm = [row for row in first if row[2] >= max(min(r[2] for r in first if r[1] == n) for n in ("n0", "n1", "n2", "n3"))]
    elapsed = max(row[3] for row in farm) - min(row[2] for row in farm)
    assert sum(row[3] - row[2] for row in farm) > 2 * elapsed
    assert part["job_images"] == 1000 and "ranks" not in part and part["certificate"]
    for log in tmp_path.glob("rank*/requests.log"):
        log.unlink()
    again = rue("tune", *words, *FARM, "--fresh")
    assert again.returncode == 0 and rows(rue) == first, "virtual clocks are deterministic"


def test_the_answer_is_that_of_one_node(rue, tmp_path):
    found = []
    for words in (scripted(tmp_path, 3) + FARM, ["--runner", Script(tmp_path, TABLE, start_ns=20_000_000, load_ns=2_000_000, computes=True).command,
                                                "--strategy", "duel", "--budget", "60s", "--out", "out"]):
        done = rue("tune", *words, "--fresh")
        assert done.returncode == 0, done.stderr
        found.append(recommended(rue)["config"])
    assert found[0] == found[1]


@pytest.mark.parametrize("own, what", [
    (dict(slower_from=[1, 1.25]), r"the time of its reference trials is 1\.[12]\d times theirs"),
    (dict(slower_from=[12, 1.5]), r"the time of its reference trials is 1\.[345]\d times theirs"),
    (dict(noise=0.6), r"(?:its reference trials vary by \d\d+ %, theirs by 0\.0 %|the time of its reference trials is [\d.]+ times theirs)"),
])
def test_a_node_that_differs_is_dropped_and_named(rue, tmp_path, own, what):
    done = rue("tune", *scripted(tmp_path, 4, r2=own), *FARM)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"rank (\d) \(n\d\) differs from the other nodes: [^;]*?" + what + "; it was dropped", flat(done.stderr)) == ["2"], done.stderr
    joint = [node for measure, node, _, _ in rows(rue) if measure == "joint"]
    assert recommended(rue)["config"] and len(joint) > 4 and joint[-1] != "n2"
    if own == dict(slower_from=[1, 1.25]):
        assert "n2" not in joint


def is_discarded(row, dropped):
    return row["node"] == dropped["node"] and dropped["discarded_from"] <= row["id"] < dropped["discarded_until"]


def test_trials_of_a_dropped_node_do_not_count(rue, tmp_path):
    words = scripted(tmp_path, 4, r2=dict(slower_from=[8, 1.5]))
    done = rue("tune", *words, *FARM)
    assert done.returncode == 0, done.stderr
    (dropped,) = read_json(rue.folder / "out/recommendation.json")["dropped_nodes"]
    assert (dropped["rank"], dropped["node"]) == (2, "n2") and dropped["text"] in flat(done.stderr), done.stderr
    page = (rue.folder / "out/report.html").read_text()
    for text in done.stdout, rue("show", "out").stdout, html.unescape(re.sub("<[^>]*>", "", page)):
        assert f"Note: {dropped['text']}." in flat(text)
    found = cells(rue)
    discarded = [row for row in found if is_discarded(row, dropped)]
    asked = {row["cell"] for row in discarded if row["cell"][0] != "joint"}
    assert len(asked) > 2 and asked <= {row["cell"] for row in found if row["node"] != "n2"}, "probes are repeated on other nodes"
    assert rue("tune", *words, *FARM, "--budget", "120s").returncode == 0
    again = read_json(rue.folder / "out/recommendation.json")
    assert again["dropped_nodes"][0] == dropped
    assert again["provenance"]["reused_trials"] <= len(found) - len(discarded)
    db = sqlite3.connect(rue.folder / "out/study.db")
    db.execute("DELETE FROM trial WHERE id = (SELECT max(id) FROM trial)")
    db.commit()
    db.close()
    shown = json.loads(rue("show", "out", "--json").stdout)["recommendations"][0]
    joint = [row for row in cells(rue) if row["cell"][0] == "joint"]
    unused = [row for row in joint if any(is_discarded(row, dropped) for dropped in again["dropped_nodes"])]
    assert unused and shown["evidence"]["trials_ok"] == len(joint) - len(unused), "ranked again"


@pytest.mark.parametrize("measure", ["load", "compute"])
def test_one_node_that_fails_reference_trials_ends_no_checks(rue, tmp_path, measure):
    once = dict(faults=[dict(when=dict(measure=measure, start=1), do="exit", code=3)])
    always = dict(faults=[dict(when=dict(measure=measure), do="answer", answer=dict(status="failed", reason="no such file"))])
    done = rue("tune", *scripted(tmp_path, 5, r0=once, r2=dict(slower_from=[1, 1.25]), r3=always), *FARM)
    assert done.returncode == 0, done.stderr
    dropped = {node["node"]: node["reason"] for node in read_json(rue.folder / "out/recommendation.json")["dropped_nodes"]}
    assert dropped.keys() == {"n2", "n3"} and "differs" in dropped["n2"], dropped
    assert re.fullmatch("failed reference trials: .*no such file", dropped["n3"])


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_node_whose_connection_ends_is_dropped(rue, tmp_path, ranks):
    done = rue("tune", *FARM, "--launch", played(tmp_path, ranks, drop={"1": [5]}))
    assert done.returncode == 0, done.stderr
    assert wording.RANK_N1_ENDED_ITS.format(1) in flat(done.stderr)
    assert recommended(rue)["config"] and rows(rue)[-1][1] != "n1"
    ((node, reason),) = failures(rue)
    assert node == "n1" and reason.startswith("on rank 1 (n1): "), reason


def failing(status="failed", reason="no such device", **when):
    return dict(faults=[dict(when=when, do="answer", answer=dict(status=status, reason=reason))])


@pytest.mark.parametrize("own, drops", [
    (failing(measure="joint", cell="256/1"), True), (failing(measure="compute", cell="16/1"), False), (failing(measure="joint"), True),
])
def test_what_fails_on_one_node_is_tried_on_another(rue, tmp_path, own, drops):
    done = rue("tune", *scripted(tmp_path, 3, r1=own), *FARM)
    assert done.returncode == 0, done.stderr
    assert recommended(rue)["config"]["batch_size"] == 256 and recommended(rue)["config"]["num_workers"] in (1, 2)
    assert (wording.FAILED_TRIALS_ONE_AFTER.format(5) in flat(done.stderr)) == drops
    assert set(failures(rue)) == {("n1", "on rank 1 (n1): no such device")}


def test_what_is_infeasible_on_one_node_is_tried_on_another(rue, tmp_path):
    own = dict(faults=[failing("infeasible", "out of memory", measure="joint", cell=f"256/{workers}")["faults"][0] for workers in CELLS[1]])
    done = rue("tune", *scripted(tmp_path, 4, r1=own), *FARM)
    assert done.returncode == 0 and recommended(rue)["config"]["batch_size"] == 256 and failures(rue), done.stderr
    assert "infeasible" not in flat(done.stdout)


def test_what_fails_on_two_nodes_that_are_dropped_is_not_excluded(rue, tmp_path):
    done = rue("tune", *scripted(tmp_path, 4, r1=failing(measure="joint"), r2=failing(measure="joint")), *FARM)
    assert done.returncode == 0 and flat(done.stderr).count("was dropped") == 2, done.stderr
    assert recommended(rue)["config"]["batch_size"] == 256 and wording.NOT_RANKED not in flat(done.stdout)


def test_a_node_that_fails_before_another_succeeds_is_dropped(rue, tmp_path):
    slow = dict(hello=dict(clock="real"), delay_s=0.05)
    own = dict(hello=dict(clock="real"), faults=[failing(measure=measure)["faults"][0] for measure in ("load", "joint")])
    done = rue("tune", *scripted(tmp_path, 3, r0=slow, r1=own, r2=slow), *FARM, "--budget", "12s")
    assert wording.IDENTICAL_FAILURES not in done.stderr and "rank 1 (n1) failed" in flat(done.stderr), done.stderr
    assert done.returncode == 0 and recommended(rue)["config"], done.stderr


def test_what_fails_on_all_nodes_ends_the_study(rue, tmp_path):
    own = failing(measure="joint")
    expect_failure(rue("tune", *scripted(tmp_path, 2, r0=own, r1=own), *FARM), 4, "identical failures", "no such device")


@pytest.mark.parametrize("trials, what", [(20, "to compare the nodes"), (36, "to compare how fast the nodes compute"), (60, None)])
def test_reference_trials_count_in_a_budget_of_trials(rue, tmp_path, trials, what):
    done = rue("tune", *scripted(tmp_path, 4), "--farm", "--out", "out", "--budget", f"{trials}trials")
    assert has_answer(done) and recommended(rue)["certificate"] and len(rows(rue)) <= trials, done.stderr
    assert (wording.TOO_FEW_TRIALS in done.stderr) == bool(what) and (what or "") in flat(done.stderr)


@pytest.mark.parametrize("ranks, drop", [(1, {"0": [12]}), (2, {"0": [12], "1": [5]})])
def test_without_a_node_the_study_ends(rue, tmp_path, ranks, drop):
    done = rue("tune", *FARM, "--launch", played(tmp_path, ranks, drop=drop))
    expect_failure(done, 1, "no node is left: rank 0 (n0) ended its connection")


def test_a_node_that_does_not_answer_in_time_tries_again(rue, tmp_path):
    done = rue("tune", *FARM, "--trial-timeout", "1s", "--launch", played(tmp_path, 3, hang={"2": 2}))
    assert done.returncode == 0, done.stderr
    assert failures(rue) == [("n2", "on rank 2 (n2): the runner gave no answer within 2 s and was killed")]
    assert recommended(rue)["config"] and "n2" in {node for _, node, _, _ in rows(rue)[-20:]}


def test_a_study_is_continued(rue, tmp_path):
    words = scripted(tmp_path, 2)
    assert rue("tune", *words, *FARM, "--budget", "8s").returncode == 0
    before = len(rows(rue))
    done = rue("tune", *words, *FARM)
    assert done.returncode == 0 and len(rows(rue)) > before and recommended(rue)["certificate"], done.stderr


def test_a_study_that_has_ended_measures_nothing_more(rue, tmp_path):
    words = [*scripted(tmp_path, 3), *FARM, "--epsilon", "2%"]
    assert rue("tune", *words).returncode == 0
    before = len(rows(rue))
    assert rue("tune", *words).returncode == 0 and len(rows(rue)) == before and recommended(rue)["certificate"]["bound_ratio"] <= 0.02


def test_a_signal_ends_all_nodes(program, tmp_path):
    own = dict(hello=dict(clock="real"), delay_s=0.05)
    process = subprocess.Popen([program, "tune", *scripted(tmp_path, 2, r0=own, r1=own), *FARM], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    log = tmp_path / "rank1/requests.log"
    wait_until(lambda: log.exists() and log.read_text().count('"trial"') > 8, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    pids = {json.loads(line)["pid"] for path in tmp_path.glob("rank*/requests.log") for line in path.read_text().splitlines()}
    assert wait_until_ended(pids)


def test_trials_that_are_always_suspended_fail(rue, tmp_path):
    """As on one machine: each is repeated 4 times, and never recorded with times. SIGCONT alone counts as a break."""
    own = dict(hello=dict(clock="real"), delay_s=0.05)
    process = rue.start("tune", *scripted(tmp_path, 2, r0=own, r1=own), "--farm", "--out", "out", "--budget", "60s",
                        env=dict(ASAN_OPTIONS="detect_leaks=0"))  # the search for leaks would wait for the last SIGCONT
    log = tmp_path / "rank1/requests.log"
    wait_until(lambda: log.exists() and log.read_text().count('"trial"') > 30, process)
    recorded = len(rows(rue))
    while process.poll() is None:
        process.send_signal(signal.SIGCONT)
        time.sleep(0.002)
    code, _, err = finish(process)
    assert code == 4 and wording.IDENTICAL_FAILURES_ON_RANK in flat(err) and err.count("a trial was suspended") == 1, err
    assert {(node, reason.split(": ", 1)[1]) for node, reason in failures(rue)} == {(f"n{i}", "the trial was suspended and continued 5 times") for i in range(2)}
    assert len(rows(rue)) <= recorded + 2, "one trial of each node was in progress"


def test_a_runner_that_starts_again_does_not_stop_the_others(rue, tmp_path):
    own, mark = dict(hello=dict(clock="real"), delay_s=0.02), shlex.quote(str(tmp_path / "started"))
    words = scripted(tmp_path, 2, r0=own, r1=dict(own, faults=[dict(when=dict(id=9), do="exit", code=3)]))
    runner = tmp_path / "runner.sh"
    slow = f'if [ "$SLURM_PROCID" = 1 ]; then [ -e {mark} ] && sleep 2; touch {mark}; fi'
    runner.write_text(runner.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{slow}\n"))
    done = rue("tune", *words, "--farm", "--out", "out", "--budget", "60s")
    assert done.returncode == 0 and recommended(rue)["config"], done.stderr
    ((failed, node),) = [(row["id"], row["node"]) for row in cells(rue, "failed")]
    assert node == "n1"
    after = [row["node"] for row in cells(rue) if row["id"] > failed]
    assert after.index("n1") > 3, "n0 makes trials while n1 starts"


STALLS = ["part", "earlier", "drip", "endless", "silent"]


@pytest.mark.parametrize("how", [*STALLS, "hello", "open", "unread"])
def test_a_lane_that_stalls_does_not_stop_the_others(rue, how):
    launcher = f"{sys.executable} {ROOT / 'tests/fixtures/stalling_ranks.py'} 3 {how}"
    done = rue("tune", "--farm", "--out", "out", "--strategy", "duel", "--epsilon", "0.01%", "--trial-timeout", "1s", "--launch", launcher,
               "--budget", "8s")
    assert done.returncode in (0, 5), done.stderr
    found = [(node_of(ranks), status) for ranks, status in select(rue, "SELECT ranks, status FROM trial ORDER BY id")]
    of_node = [i for i, (node, _) in enumerate(found) if node == "n1"]
    stalls_after = of_node[7 if how in STALLS else 8]  # a runner that starts again has failed before
    others = [node for node, _ in found[stalls_after + 1:]]
    assert (others + ["n1"]).index("n1") > 4, ("trials of n0 and n2 before the next row of n1", found[stalls_after:])


def test_a_signal_ends_a_lane_that_stalls(program, tmp_path):
    launcher = f"{sys.executable} {ROOT / 'tests/fixtures/stalling_ranks.py'} 2 part"
    process = subprocess.Popen([program, "tune", "--farm", "--out", "out", "--budget", "10h", "--epsilon", "0.01%", "--trial-timeout", "10h", "--launch", launcher],
                               cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    store = tmp_path / "out/study.db"

    def count():
        try:
            return len([1 for ranks, in sqlite3.connect(store).execute("SELECT ranks FROM trial") if node_of(ranks) == "n1"])
        except sqlite3.OperationalError:  # it has no table yet
            return 0
    wait_until(lambda: store.exists() and count() >= 8, process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 143, errors


def test_real_loaders(rue, photos, tmp_path):
    done = rue("tune", photos, "--model", "resnet18", "--device", "h100", "--batch-size", "4,8,16", "--num-workers", "0,1,2", "--mode", "raw",
               "--farm", "--budget", "20s", "--out", "out", "--launch", cluster(tmp_path, ranks=2, per_node=1))
    assert has_answer(done), done.stderr
    assert recommended(rue)["config"] and {"n0", "n1"} <= {node for _, node, _, _ in rows(rue)}


# ---- what cannot be ----

@pytest.mark.parametrize("words, parts", [
    (["--farm"], ["--farm", "add --launch"]),
    (["--farm", "--strategy", "grid", "--launch", "x"], ["--farm", "--strategy duel", "grid"]),
    (["--farm", "--goal", "throughput", "--launch", "x"], ["--goal", "grid"]),
])
def test_wrong_options(rue, words, parts):
    expect_failure(rue("tune", *words), 2, *parts)


def test_two_ranks_of_a_node_are_refused(rue, tmp_path):
    words = cluster(tmp_path, ranks=4, per_node=2, play={"ns_per_image": TABLE["ape"]})
    expect_failure(rue("tune", *FARM, "--launch", words), 2, "--farm", "2 ranks", "--ntasks-per-node=1")


def test_other_data_on_a_node_are_refused(rue, tmp_path):
    expect_failure(rue("tune", *FARM, "--launch", played(tmp_path, 2, digest={"1": "other"})), 3, "rank 1 (n1)", "differ")
