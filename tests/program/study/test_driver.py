"""The study driver, through the program and a scripted runner whose times are known to the last nanosecond."""
import contextlib
import csv
import itertools
import re
import signal
import sqlite3
import time

import pytest

import wording
from conftest import HANG_S, expect_failure, finish, has_answer, make_table, read_json, stop, wait_until, wait_until_ended

MODELS, BATCHES, WORKERS = ["ape", "bee", "cow"], [16, 32, 64], [0, 2, 4]
IMAGES = 1000


def plain_ns(model, batch, workers):
    """Every model likes other workers; nobody likes batches that are not 32."""
    return 1000 + 100 * abs(workers - 2 * MODELS.index(model)) * (1 + MODELS.index(model)) + 3 * abs(batch - 32)


TABLE = make_table(MODELS, BATCHES, WORKERS, plain_ns)
GRID = ["--strategy", "grid"]


def tune(rue, script, *words, **more):
    return rue("tune", "--runner", script.command, "--quiet", "--out", "out", "--baseline", "none", *words, **more)


def recommendation(rue):
    (only,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    return only


def cell(config):
    return config and f"{config['batch_size']}/{config['num_workers']}"


def csv_rows(rue):
    with open(rue.folder / "out/trials.csv", newline="") as file:
        return list(csv.DictReader(file))


def store_rows(rue):
    """The trials of the store in the CSV's words: the knobs are in the configuration there."""
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db")) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute("SELECT * FROM trial ORDER BY id")]


def regrets(table, left_out=()):
    """{cell: mean regret} in grid order, from the definition: best(m) over the cells that model m has run."""
    cells = [c for c in next(iter(table.values()))]
    best = {m: min(t for c, t in times.items() if (m, c) not in left_out) for m, times in table.items()}
    ranked = [c for c in cells if not any((m, c) in left_out for m in table)]
    return {c: sum((table[m][c] - best[m]) / best[m] for m in table) / len(table) for c in ranked}


def known_best(table, left_out=()):
    found = regrets(table, left_out)
    return min(found, key=found.get)  # the first of equal ones, in grid order


# ---- the recommendation ----

TIED = make_table(MODELS, BATCHES, WORKERS, lambda m, b, w: 1000 + (b == 16) * 500)
FLAT = make_table(MODELS, BATCHES, WORKERS, lambda m, b, w: 777)
ONE_MODEL = {"ape": make_table(["ape"], BATCHES, WORKERS, lambda m, b, w: 5000 - b * 10 + w)["ape"]}
ONE_CELL = make_table(["ape", "bee"], [8], [1], lambda m, b, w: 12345)
COMPROMISE = {"ape": {"16/1": 100, "32/1": 110, "64/1": 300}, "bee": {"16/1": 300, "32/1": 110, "64/1": 100}}
LOPSIDED = {m: {"16/1": 100, "32/1": 101} for m in ("ape", "bee", "cow")} | {"dog": {"16/1": 200, "32/1": 100}}
TABLES = dict(plain=TABLE, tied=TIED, flat=FLAT, one_model=ONE_MODEL, one_cell=ONE_CELL, compromise=COMPROMISE, lopsided=LOPSIDED)


def test_variants_without_a_path_count_their_own_trials(rue, script):
    variants = [dict(path="", mode="raw", format=name) for name in ("zip", "tar")]
    assert tune(rue, script(TABLE, hello=dict(variants=variants)), *GRID, "--budget", "1h").returncode == 0
    found = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    assert [part["evidence"]["trials_ok"] for part in found] == [27, 27]


@pytest.mark.quick
@pytest.mark.parametrize("name", TABLES)
def test_the_recommendation_is_the_known_best(rue, script, name):
    table = TABLES[name]
    done = tune(rue, script(table))
    assert done.returncode == 0, done.stderr
    found, expected = recommendation(rue), regrets(table)
    assert cell(found["config"]) == known_best(table)
    assert found["verified"] == "full" and found["job_images"] == IMAGES
    for row in found["configs"]:
        assert row["mean_regret_ratio"] == pytest.approx(expected[cell(row["config"])], abs=1e-8)
        assert row["end_to_end_ns"] == {m: table[m][cell(row["config"])] * IMAGES for m in table}
    best = known_best(table).replace("/", ", num_workers ")
    assert wording.USE_BATCH_SIZE_3.format(best) in re.sub(r"\s+", " ", done.stdout)


@pytest.mark.quick
def test_every_cell_is_measured_once(rue, script):
    one = script(TABLE)
    assert tune(rue, one).returncode == 0
    assert sorted(one.joint()) == sorted(itertools.product(MODELS, TABLE["ape"]))
    rows = csv_rows(rue)
    assert len({row["id"] for row in rows}) == len(rows) == len(store_rows(rue)) == len(one.requests())


def test_a_runner_of_only_joint_trials_is_enough(rue, script):
    one = script(TABLE, measures=["joint"])
    assert tune(rue, one).returncode == 0
    assert cell(recommendation(rue)["config"]) == known_best(TABLE)
    rows = csv_rows(rue)
    assert len({row["id"] for row in rows}) == len(rows) == len(one.requests()), "no row is listed twice"
    assert read_json(rue.folder / "out/recommendation.json")["provenance"]["reused_trials"] == 0


def test_repeats_count_by_their_median(rue, script):
    """Every cell takes 1, 5 and 1.1 times as long in turn."""
    one = script(TABLE, repeats=[1, 5, 1.1])
    assert has_answer(tune(rue, one, "--repeats", "3"))
    found = recommendation(rue)
    assert cell(found["config"]) == known_best(TABLE) and found["evidence"]["repeats"] == 3
    assert found["evidence"]["trials_ok"] == 3 * len(MODELS) * len(BATCHES) * len(WORKERS) == len(one.joint())
    for row in found["configs"]:
        assert row["repeats"] == 3
        assert row["end_to_end_ns"] == {m: round(TABLE[m][cell(row["config"])] * IMAGES * 1.1) for m in MODELS}


def test_goals_independent_of_the_job_s_length_use_short_trials(rue, script):
    """Where whole jobs do not fit. Batches arrive evenly here, so it is exact."""
    one = script(TABLE, images=10**7)
    done = tune(rue, one, *GRID, "--goal", "throughput", "--budget", "30s")
    assert done.returncode == 0, done.stderr
    for row in recommendation(rue)["configs"]:
        for model, ns in row["steady_ns_per_image"].items():
            assert ns == pytest.approx(TABLE[model][cell(row["config"])], rel=1e-3)
    assert all(r["images"] < 10**5 for r in one.requests() if r["measure"] == "joint")
    assert tune(rue, one, *GRID, "--goal", "throughput", "--budget", "1h", "--images", "5000", "--fresh").returncode == 0
    assert {r["images"] for r in one.requests()[-20:] if r["measure"] == "joint"} == {5000}


def test_the_job_and_the_order_are_as_requested(rue, script):
    one = script(TABLE)
    assert tune(rue, one, "--images", "640", "--seed", "9", "--no-shuffle", "--drop-last").returncode == 0
    joint = [r for r in one.requests() if r["measure"] == "joint"]
    assert {r["images"] for r in joint} == {640}
    assert {(r["workload"]["seed"], r["workload"]["shuffle"], r["workload"]["drop_last"]) for r in joint} == {(9, False, True)}
    assert recommendation(rue)["job_images"] == 640


def test_only_values_of_the_command_line_are_tried(rue, script):
    one = script(make_table(MODELS, BATCHES, [0, 1, 2, 3, 4], plain_ns))
    assert tune(rue, one, "--model", "cow,ape", "--batch-size", "64", "--num-workers", "2..4").returncode == 0
    assert set(one.joint()) == set(itertools.product(["cow", "ape"], ["64/2", "64/3", "64/4"]))
    assert recommendation(rue)["models"] == ["cow", "ape"]


# ---- faults ----

# A fault of one joint trial: what does it, which status and reason its row has, and whether the runner must be a new one.
FAULTS = {
    "segmentation": (dict(do="signal", signal="SIGSEGV"), "failed", r"was killed by SIGSEGV", True),
    "killed": (dict(do="signal", signal="SIGKILL"), "failed", r"was killed by SIGKILL", True),
    "abort": (dict(do="signal", signal="SIGABRT"), "failed", r"was killed by SIGABRT", True),
    "exit": (dict(do="exit", code=3), "failed", r"ended with exit code 3", True),
    "quiet_exit": (dict(do="exit", code=0), "failed", r"ended during the trial", True),
    "half_line": (dict(do="half_line"), "failed", r"ended during the trial", True),
    "hang": (dict(do="hang"), "timeout", r"no answer within \d", True),
    "garbage": (dict(do="garbage"), "failed", r"not a JSON object .*this is no JSON", True),
    "list": (dict(do="garbage", line="[1, 2]"), "failed", r"not a JSON object", True),
    "double_key": (dict(do="garbage", line='{"id":1,"id":2}'), "failed", r"not a JSON object .*duplicate", True),
    "not_utf8": (dict(do="garbage", line='{"id":"\\ud800"}'), "failed", r"not a JSON object", True),
    "huge_line": (dict(do="huge_line"), "failed", r"a line of more than 16777216 bytes", True),
    "other_id": (dict(do="other_id"), "failed", r"trial.id is not", True),
    "no_id": (dict(do="no_id"), "failed", r"trial.id is not", True),
    "wrong_config": (dict(do="wrong_config"), "failed", r'config is .*"num_workers":3.* instead of .*"num_workers":2', False),
    "no_config": (dict(do="no_config"), "failed", r"config is missing", False),
    "no_fields": (dict(do="no_fields"), "failed", r"the runner's answer to 'trial' is wrong: images is missing or 0", False),
    "zero": (dict(do="zero"), "failed", r"end_to_end_ns is missing or 0", False),
    "negative": (dict(do="negative"), "failed", r'end_to_end_ns is not a whole number from 0', False),
    "text": (dict(do="answer", answer=dict(end_to_end_ns="soon")), "failed", r'end_to_end_ns is not a whole number from 0', False),
    "negative_ratio": (dict(do="answer", answer=dict(cpu_ratio=-1.0)), "failed", r'cpu_ratio is not a number from 0', False),
    "absurd_ratio": (dict(do="answer", answer=dict(cpu_ratio=1e300)), "failed", r'cpu_ratio is not a number from 0', False),
    "status": (dict(do="answer", answer=dict(status="great")), "failed", r'status is not one of ok, infeasible, failed, timeout', False),
    "says_failed": (dict(do="answer", answer=dict(status="failed", reason="disk\non fire")), "failed", r"disk[\n?]on fire", False),
    "spent": (dict(do="answer", answer=dict(status="failed", reason="the GPU is lost", spent=True)), "failed", r"the GPU is lost", True),
    "says_timeout": (dict(do="answer", answer=dict(status="timeout", reason="too slow")), "timeout", r"too slow", False),
    "says_infeasible": (dict(do="answer", answer=dict(status="infeasible", reason="no room")), "infeasible", r"no room", False),
}
BAD = ("bee", "32/2")  # the best cell of all is the one that goes wrong


@pytest.mark.quick
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_a_row_and_the_run_continues(rue, script, name):
    fault, status, reason, restarted = FAULTS[name]
    one = script(TABLE, faults=[dict(when=dict(measure="joint", model=BAD[0], cell=BAD[1]), **fault)])
    done = tune(rue, one, *(["--trial-timeout", "1s"] if name == "hang" else []))
    assert done.returncode == 0, done.stderr
    for rows in (csv_rows(rue), store_rows(rue)):
        bad = [row for row in rows if row["status"] != "ok"]
        assert len(bad) == 1 and bad[0]["status"] == status and bad[0]["model"] == BAD[0], bad
        assert re.search(reason, bad[0]["reason"], re.DOTALL), bad[0]["reason"]
    assert sorted(one.joint()) == sorted(itertools.product(MODELS, TABLE["ape"])), "every cell was asked for, once"
    assert len(one.requests("hello")) == len(one.requests("open")) == (2 if restarted else 1)
    found, best = recommendation(rue), known_best(TABLE, [BAD])
    assert cell(found["config"]) == best != BAD[1]
    (row,) = [row for row in found["configs"] if cell(row["config"]) == BAD[1]]
    what = "infeasible" if status == "infeasible" else "failed"
    assert not row["ranked"] and row["mean_regret_ratio"] is None
    assert row["coverage"] == {"ok": 2, "infeasible": int(what == "infeasible"), "failed": int(what == "failed"), "of": 3}
    assert [(miss["model"], miss["status"]) for miss in row["misses"]] == [(BAD[0], what)]
    assert re.search(reason, row["misses"][0]["reason"], re.DOTALL)
    text = re.sub(r"\s+", " ", done.stdout)
    assert wording.NOT_RANKED_OF_CONFIGURATIONS.format(1, 9) in text
    assert wording.FOR_BEE.format(32, 2, "is infeasible" if what == "infeasible" else "failed") in text
    assert wait_until_ended(one.pids())


@pytest.mark.parametrize("name", ["twice", "null_id", "slow"])
def test_unusual_but_valid_answers_count(rue, script, name):
    one = script(TABLE, faults=[dict(when=dict(measure="joint", model=BAD[0], cell=BAD[1]), do=name, seconds=0.4)])
    assert tune(rue, one).returncode == 0
    assert all(row["status"] == "ok" for row in csv_rows(rue))
    assert cell(recommendation(rue)["config"]) == known_best(TABLE) and len(one.requests("hello")) == 1


def test_a_stored_answer_is_reused(rue, script):
    """SQLite keeps no -0.0: the row is the one that was stored all the same."""
    one = script(TABLE, faults=[dict(when=dict(measure="joint"), do="answer", answer=dict(cpu_ratio=-0.0))])
    assert tune(rue, one).returncode == 0
    asked = len(one.joint())
    assert tune(rue, one).returncode == 0 and len(one.joint()) == asked


def test_a_store_removed_during_the_run_is_reported(rue, script):
    one = script(TABLE, delay_s=0.05)
    process = rue.start("tune", "--runner", one.command, "--out", "out", "--quiet")
    one.wait_for(3, process)
    for path in (rue.folder / "out").glob("study.db*"):
        path.unlink()
    code, _, err = finish(process)
    assert code == 6 and wording.STUDY_DB_WAS_REMOVED in err


@pytest.mark.parametrize("before", ["eval", "! true ||", "LC_ALL=C"])
def test_a_runner_is_any_shell_command(rue, script, before):
    assert rue("tune", "--runner", f"{before} {script(TABLE).command}", "--out", "out", "--quiet").returncode == 0


def test_several_faults_in_one_run(rue, script):
    whens = [("ape", "16/0"), ("bee", "16/2"), ("cow", "16/4"), ("ape", "64/0")]
    whats = [dict(do="signal", signal="SIGBUS"), dict(do="exit", code=9), dict(do="garbage"), dict(do="zero")]
    one = script(TABLE, faults=[dict(when=dict(measure="joint", model=m, cell=c), **what) for (m, c), what in zip(whens, whats)])
    assert tune(rue, one).returncode == 0
    found = recommendation(rue)
    assert found["evidence"]["trials_failed"] == 4 and found["evidence"]["trials_ok"] == 23
    assert {cell(row["config"]) for row in found["configs"] if not row["ranked"]} == {c for m, c in whens}
    assert cell(found["config"]) == known_best(TABLE, whens)


def test_a_failed_repeat_is_not_repeated(rue, script):
    """One trial of a cell fails: the cell is not asked for again, and its other repeats stay."""
    one = script(TABLE, faults=[dict(when=dict(measure="joint", model="cow", cell="64/0"), do="zero")])
    assert tune(rue, one, "--repeats", "3").returncode == 0
    assert one.joint().count(("cow", "64/0")) == 1 and one.joint().count(("cow", "64/2")) == 3


# ---- runners that die at the wrong time, and what they leave behind ----

def test_no_grandchild_stays_alive(rue, script):
    """A runner with a child that ignores SIGTERM and holds its pipes: it answers, it crashes, the program ends it."""
    crash = dict(do="signal", signal="SIGKILL")
    one = script(TABLE, faults=[dict(when=dict(measure="joint", model="ape", cell="16/0"), do="grandchild"),
                                dict(when=dict(measure="joint", model="bee", cell="32/2"), do="grandchild", then=crash)])
    done = tune(rue, one)
    assert done.returncode == 0, done.stderr
    (bad,) = [row for row in csv_rows(rue) if row["status"] != "ok"]
    assert wording.WAS_KILLED_BY_SIGKILL in bad["reason"], "seen at once, though the pipe is still open"
    assert len(one.requests("grandchild")) == 2 and len(one.pids()) == 4
    assert wait_until_ended(one.pids())


@pytest.mark.parametrize("measures", [["joint", "load", "compute"], ["joint"]])
def test_one_probe_that_fails_does_not_end_the_study(rue, script, measures):
    for first in (1, 2, 4, 5):
        one = script(TABLE, measures=measures, faults=[dict(when=dict(id=first), do="signal", signal="SIGSEGV")])
        assert tune(rue, one, "--fresh").returncode == 0
        assert recommendation(rue)["config"]
        assert sum("SIGSEGV" in row["reason"] for row in csv_rows(rue)) == 1


def test_a_probe_that_does_not_fit_makes_the_grid_smaller(rue, script):
    """The probe with all workers is infeasible; what fewer workers can do is still found."""
    too_much = dict(status="infeasible", reason="too much for 4 workers")
    one = script(TABLE, faults=[dict(when=dict(cell=f"{b}/4"), do="answer", answer=too_much) for b in BATCHES])
    assert tune(rue, one).returncode == 0
    left_out = [(m, f"{b}/4") for m in MODELS for b in BATCHES]
    assert cell(recommendation(rue)["config"]) == known_best(TABLE, left_out)


def test_all_trials_fail(rue, script):
    one = script(TABLE, faults=[dict(when=dict(measure="joint"), do="exit", code=7)])
    done = tune(rue, one)
    line = expect_failure(done, 4, "stopped after 5 identical failures", "exit code 7", "run the same command")
    assert len(one.joint()) == 5, "not one trial more than that"
    found = recommendation(rue)
    assert found["config"] is None and wording.EXIT_CODE.format(7) in found["reason"]
    assert len([row for row in csv_rows(rue) if row["status"] == "failed"]) == 5
    assert done.stderr.count("exit code 7") == 1 and line


@pytest.mark.parametrize("fault", [dict(do="garbage"), dict(do="other_id"), dict(do="zero")])
def test_any_five_equal_failures_end_the_run(rue, script, fault):
    one = script(TABLE, faults=[dict(when=dict(measure="joint"), **fault)])
    expect_failure(tune(rue, one), 4, "stopped after 5 identical failures")


def test_all_trials_fail_from_the_first(rue, script):
    one = script(TABLE, faults=[dict(when={}, do="exit", code=7)])
    expect_failure(tune(rue, one), 4, "exit code 7", "run the same command")


def test_all_trials_hang(rue, script):
    one = script(TABLE, faults=[dict(when=dict(measure="joint"), do="hang")])
    expect_failure(tune(rue, one, "--trial-timeout", "100ms"), 4, "no answer within 200 ms")
    assert wait_until_ended(one.pids())


@pytest.mark.parametrize("measures", [["joint", "load", "compute"], ["joint"]])
def test_infeasible_everywhere(rue, script, measures):
    one = script(TABLE, infeasible_above=4, measures=measures)
    expect_failure(tune(rue, one), 4, "infeasible", "do not fit in memory", "--batch-size", "--max-memory")


def test_jointly_infeasible_everywhere(rue, script):
    none = dict(status="infeasible", reason="the model does not fit")
    one = script(TABLE, faults=[dict(when=dict(measure="joint"), do="answer", answer=none)])
    done = tune(rue, one)
    expect_failure(done, 4, "no configuration could be measured on every model")
    shown = re.sub(r"\s+", " ", done.stdout)
    assert wording.ARE_INFEASIBLE.format(27) in shown and wording.THE_MODEL_DOES_NOT in shown
    assert len(one.joint()) == 27, "what is infeasible is an answer, not an accident"
    found = recommendation(rue)
    assert found["config"] is None and found["evidence"]["trials_infeasible"] == 27


def test_infeasible_above_a_batch_size(rue, script):
    assert tune(rue, script(TABLE, infeasible_above=16)).returncode == 0
    found = recommendation(rue)
    assert found["config"]["batch_size"] == 16 and found["evidence"]["trials_infeasible"] == 18
    assert [best["config"] is None for best in found["best_by_batch_size"]] == [False, True, True]


# ---- budgets ----

@pytest.mark.quick
def test_the_budget_holds_on_the_runner_s_clock(rue, script):
    one = script(TABLE, images=10**6)
    assert tune(rue, one, *GRID, "--budget", "10s").returncode == 0
    spent = sum(int(row["cost_ns"]) for row in csv_rows(rue))
    assert spent <= 10e9 and recommendation(rue)["config"]
    assert len(one.joint()) > 3, "it is used"


def test_trials_longer_than_expected_end_with_the_budget(rue, script):
    """The probes say 1 µs an image, the trials take a hundred times as long: what was measured is reported."""
    table = make_table(MODELS, BATCHES, WORKERS, lambda m, b, w: 100 * plain_ns(m, b, w))
    probe = dict(do="answer", answer=dict(compute_ns=32))
    one = script(table, images=10**5, load_ns=1000, faults=[dict(when=dict(measure="compute"), **probe)])
    done = tune(rue, one, "--budget", "100s")
    costs = [int(row["cost_ns"]) for row in csv_rows(rue)]
    assert 50e9 < sum(costs) < 100e9, "no configuration begins that would not fit"
    report = read_json(rue.folder / "out/recommendation.json")
    assert report["partial"] is True
    assert wording.THE_BUDGET_WAS_SPENT_AFTER in report["partial_reason"]
    assert done.stdout.count("Partial results") == 1
    assert done.returncode == 0 and recommendation(rue)["config"], done.stderr


def test_a_budget_spent_before_anything_is_ranked_is_inconclusive(rue, script):
    table = make_table(MODELS, [16], [1], lambda m, b, w: 10**9)
    cheap = dict(do="answer", answer=dict(compute_ns=32))
    one = script(table, faults=[dict(when=dict(measure="compute"), **cheap)])
    done = tune(rue, one, "--budget", "216s")
    expect_failure(done, 5, "nothing to recommend", "so far", "--budget")
    assert len(one.joint()) == 1 and recommendation(rue)["config"] is None


def test_a_budget_that_is_too_small_names_the_smallest_sufficient_one(rue, script):
    for images in (1000, 10**6):
        one = script(TABLE, images=images)
        line = expect_failure(tune(rue, one, *GRID, "--budget", "1ms", "--fresh"), 2, "the budget of 1 ms is too small", "--images")
        (enough,) = re.findall(r"give at least --budget (\d+m?s)", line)
        assert tune(rue, one, *GRID, "--budget", enough, "--fresh").returncode == 0, enough
        assert recommendation(rue)["evidence"]["trials_ok"] >= 6, "one alone compares with nothing"
        assert tune(rue, one, *GRID, "--budget", enough).returncode == 0, "and when it goes on"


def test_a_sufficient_budget_shows_the_number_of_configurations(rue, script):
    """A grid of one needs no second one to be compared with."""
    words = [*GRID, "--budget", "1ms", "--images", "1000000"]
    expect_failure(tune(rue, script(TABLE), *words), 2, " for a comparison, or lower --images")
    line = expect_failure(tune(rue, script(TABLE), *words, "--batch-size", "16", "--num-workers", "2"), 2, "--images")
    assert wording.S_OR_LOWER_IMAGES in line


def test_a_budget_for_one_configuration_is_inconclusive(rue, script):
    one = script(TABLE)
    expect_failure(tune(rue, one, *GRID, "--budget", "6ms"), 5, "one of 9 configurations", "raise --budget")
    assert recommendation(rue)["config"] and recommendation(rue)["evidence"]["trials_ok"] == 3


def test_a_grid_too_large_for_the_budget_measures_whole_configurations(rue, script):
    batches, workers = [8, 16, 32, 64, 128], [0, 1, 2, 3, 4, 6, 8]
    table = make_table(MODELS, batches, workers, plain_ns)
    one = script(table, images=3000)
    done = rue("tune", "--runner", one.command, "--out", "out", *GRID, "--budget", "100ms")
    assert done.returncode == 0 and wording.AS_MANY_CONFIGURATIONS_AS_THE_BUDGET in " ".join(done.stderr.split())
    assert all(r["images"] == 3000 for r in one.requests() if r["measure"] == "joint"), "whole jobs"
    found = recommendation(rue)
    asked = {c for m, c in one.joint()}
    assert 1 < len(asked) < len(batches) * len(workers)
    missing = set(itertools.product(MODELS, asked)) - set(one.joint())  # the budget may end it a trial or two early
    assert len(missing) < 4
    assert cell(found["config"]) == known_best({m: {c: table[m][c] for c in table[m] if c in asked} for m in MODELS}, missing)


def test_a_dry_run_probes_without_joint_trials(rue, script):
    one = script(TABLE)
    done = tune(rue, one, "--dry-run")
    assert done.returncode == 0 and done.stderr == ""
    assert one.joint() == [] and len(one.requests()) == 5
    assert "trials            27: 9 configurations x 3 models x 1 variant x 1 repeat" in done.stdout
    assert "batch-size        16, 32, 64" in done.stdout and "budget 2 m 00 s" in done.stdout
    assert not (rue.folder / "out").exists(), "nothing new is left behind"
    assert wording.REFERENCES_EVERY_TRIALS_ONE.format(5, 192, 16, 4) in done.stdout
    assert tune(rue, one).returncode == 0 and len(one.joint()) == 27
    requests = len(one.requests())
    assert tune(rue, one, "--dry-run").returncode == 0 and len(one.requests()) == requests, "the probes are not repeated"


# ---- greetings ----

@pytest.mark.parametrize("hello, words", [
    ("Welcome!", ["not a JSON object", "Welcome!"]),
    ('{"protocol":"rue.runner/9","runner":"new 1"}', ["hello.protocol is not", "rue.runner/9"]),
    (dict(runner=""), ["hello.runner is not a name"]),
    (dict(runner=5), ["hello.runner is not a text"]),
    (dict(measures=["load"]), ['does not contain "joint"']),
    (dict(models="ape"), ["models"]),
    (dict(models=["ape", 7]), ["models"]),
    (dict(models=["m" * 200]), ["models"]),
    (dict(space=dict(batch_size=[])), ["batch_size", "is not a list with values"]),
    (dict(space=dict(batch_size=[0])), ["batch_size", "has a value that is not"]),
    (dict(space=dict(num_workers=["many"])), ["num_workers", "has a value that is not"]),
    (dict(images=-1), ["images"]),
])
def test_an_invalid_hello_is_an_error(rue, script, hello, words):
    one = script(TABLE, hello=hello)
    expect_failure(tune(rue, one), 1, "did not answer 'hello' correctly", "Run it by hand", *words)
    assert not (rue.folder / "out").exists(), "nothing was written"
    assert wait_until_ended(one.pids())


@pytest.mark.parametrize("command, word", [
    ("true", "ended"), ("true; exit 5", "exit code 5"), ("sh -c 'exit 6'", "exit code 6"), ("kill -SEGV $$; true", "SIGSEGV"),
    ("sh -c 'kill -BUS $$'; exit $?", "SIGBUS"), ("/no/such/runner", "The shell found no such program"), ("cat", "hello.runner"),
])
def test_a_command_that_is_not_a_runner_is_an_error(rue, command, word):
    done = rue("tune", "--runner", command, "--quiet")
    expect_failure(done, 1, word, "did not answer 'hello' correctly")


@pytest.mark.parametrize("opened, words, code", [
    (dict(status="failed", reason="/data/x is locked"), ["/data/x is locked"], 3),
    (dict(status="failed"), ['it sent no "reason"'], 3),
    (dict(images=0), ["open.images is not a whole number from 1"], 1),
    (dict(images="many"), ["open.images is not a whole number"], 1),
    ("oops", ["not a JSON object", "oops"], 1),
])
def test_data_that_the_runner_refuses(rue, script, opened, words, code):
    expect_failure(tune(rue, script(TABLE, opened=opened)), code, *words)


def test_knobs_and_models_that_the_runner_lacks_are_refused(rue, script):
    one = script(TABLE)
    expect_failure(tune(rue, one, "--prefetch-factor", "4"), 2, "--prefetch-factor: the runner scripted 1.0 cannot vary it",
                   "remove the option")
    expect_failure(tune(rue, one, "--model", "yak"), 2, "does not know the model 'yak'")


def test_a_runner_that_cannot_be_restarted_ends_the_study_with_a_report(rue, script):
    """It crashes once, and then does not greet any more."""
    one = script(TABLE)
    wrapper = rue.folder / "once.sh"
    wrapper.write_text(f"[ -e started ] && exit 9\ntouch started\nexec {one.command}\n")
    one.write(faults=[dict(when=dict(id=20), do="exit", code=3)])
    done = rue("tune", "--runner", f"sh {wrapper}", "--quiet", "--out", "out")
    expect_failure(done, 1, "did not answer 'hello' correctly", "exit code 9")
    report = read_json(rue.folder / "out/recommendation.json")
    assert report["partial"] and wording.STOPPED_AFTER in report["partial_reason"]
    assert len(csv_rows(rue)) == 20


def test_data_removed_during_the_run_end_the_study_with_a_report(rue, script):
    one = script(TABLE, faults=[dict(when=dict(id=20), do="exit", code=3)])
    wrapper = rue.folder / "second.sh"
    gone = '"opened": {"status": "failed", "reason": "it is gone"}'
    wrapper.write_text(f"[ -e started ] && sed -i 's/\"faults\"/{gone}, &/' {one.path}\ntouch started\nexec {one.command}\n")
    expect_failure(rue("tune", "--runner", f"sh {wrapper}", "--quiet", "--out", "out"), 3, "it is gone")
    assert read_json(rue.folder / "out/recommendation.json")["partial"] and len(csv_rows(rue)) == 20


# ---- signals ----

def expect_interrupted_report(rue, one, out):
    report = read_json(rue.folder / "out/recommendation.json")
    assert report["partial"] is True and wording.INTERRUPTED_AFTER in report["partial_reason"]
    assert out.count("Partial results: interrupted after") == 1
    rows = csv_rows(rue)
    assert 0 < len(rows) <= len(one.requests()) < 32 and len(store_rows(rue)) == len(rows)
    assert wait_until_ended(one.pids()), "the runner is gone"


@pytest.mark.quick
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_a_signal_ends_the_run_with_a_report(rue, script, number, code):
    one = script(TABLE, delay_s=0.03)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out")
    one.wait_for(14, process)
    code_found, out, err = stop(process, number)
    assert code_found == code, err
    assert "Sanitizer" not in err and err.splitlines()[-1].startswith("rue tune: interrupted")
    expect_interrupted_report(rue, one, out)


def test_a_signal_ends_a_trial_that_hangs(rue, script):
    one = script(TABLE, faults=[dict(when=dict(measure="joint", cell="32/2"), do="hang")])
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out")
    wait_until(lambda: any(c == "32/2" for m, c in one.joint()), process)
    code, out, err = stop(process)
    assert code == 130, err
    expect_interrupted_report(rue, one, out)


@pytest.mark.parametrize("number", [17, 20, 26])
def test_ctrl_c_between_two_trials_is_reported(release_rue, script, preload, number):
    """As a row reaches the disk: no trial is in flight then."""
    done = release_rue("tune", "--runner", script(TABLE).command, "--out", "out", env=preload(PRELOAD_CTRL_C=number))
    assert done.returncode == 130 and done.stderr.splitlines()[-1] == "rue tune: interrupted", done.stderr
    report = read_json(release_rue.folder / "out/recommendation.json")
    assert report["partial"] and report["partial_reason"].startswith("interrupted after ")


def test_a_second_ctrl_c_quits_at_once(rue, script):
    """The runner hangs and ignores SIGTERM, so the orderly end takes a moment; the second signal does not wait for it."""
    one = script(TABLE, faults=[dict(when=dict(measure="joint", cell="32/2"), do="hang")])
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out")
    wait_until(lambda: any(c == "32/2" for m, c in one.joint()), process)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    code, out, err = finish(process)
    assert code == 130 and out == "" and "Sanitizer" not in err
    assert not (rue.folder / "out/recommendation.json").exists(), "it did not stay to write"
    assert wait_until_ended(one.pids())
    assert tune(rue, script(TABLE)).returncode == 0, "what was measured is still there, and the folder is free"


@pytest.mark.parametrize("stage", ["hello", "load"])
def test_ctrl_c_before_the_first_trial(rue, script, stage):
    one = script(TABLE, faults=[dict(when=dict(measure=stage), do="hang")])
    started = rue.folder / "started"
    command = f"touch {started}; sleep 1000" if stage == "hello" else one.command
    process = rue.start("tune", "--runner", command, "--quiet", "--out", "out")
    wait_until(lambda: started.exists() or [r for r in one.requests() if r["measure"] == stage], process)
    code, out, err = stop(process)
    assert code == 130 and "interrupted" in err.splitlines()[-1]
    assert wait_until_ended(one.pids())


def test_a_runner_dies_with_its_tuner(rue, script):
    one = script(TABLE, faults=[dict(when=dict(measure="joint"), do="hang")])
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out")
    one.wait_for(1, process)
    process.kill()
    finish(process)
    assert wait_until_ended(one.pids())


def test_a_reader_that_closes_the_pipe_does_not_crash_rue(rue, script):
    """rue tune ... | head -n 0: the files are written, and it ends as a filter does."""
    one = script(TABLE)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out")
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=HANG_S) == 141 and err == ""
    assert recommendation(rue)["config"]
