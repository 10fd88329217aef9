"""What was measured is never measured again: interrupted, killed and repeated studies.

RUE_LONG_TESTS=1 kills more often, and resumes larger stores."""
import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

import wording
from conftest import expect_failure, finish, make_table, read_json, stop, wait_until, wait_until_ended

LONG = bool(os.environ.get("RUE_LONG_TESTS"))
SEED = int(os.environ.get("RUE_SEED", random.randrange(1 << 30)))
MODELS, BATCHES, WORKERS = ["ape", "bee", "cow"], [16, 32, 64], [0, 2, 4]
TABLE = make_table(MODELS, BATCHES, WORKERS, lambda m, b, w: 1000 + 7 * abs(b - 40) + 90 * abs(w - MODELS.index(m)))
CELLS = sorted(itertools.product(MODELS, TABLE["ape"]))


def tune(rue, script, *words, out="out"):
    return rue("tune", "--runner", script.command, "--quiet", "--out", out, *words)


def start(rue, script, *words):
    return rue.start("tune", "--runner", script.command, "--quiet", "--out", "out", *words)


def stored(rue, file="out/study.db"):
    """The rows of the store, {id: row}."""
    with contextlib.closing(sqlite3.connect(rue.folder / file, timeout=30)) as db:
        db.row_factory = sqlite3.Row
        return {row["id"]: dict(row) for row in db.execute("SELECT * FROM trial")}


def count_stored(rue):
    try:
        with contextlib.closing(sqlite3.connect(f"file:{rue.folder}/out/study.db?mode=ro", uri=True)) as db:
            return db.execute("SELECT count(*) FROM trial").fetchone()[0]
    except sqlite3.Error:  # it is being created
        return 0


def runs(rue):
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db", timeout=30)) as db:
        return db.execute("SELECT count(*) FROM run").fetchone()[0]


def cell_name(row):
    config = json.loads(row["config"])
    return row["model"], f"{config['batch_size']}/{config['num_workers']}"


def joint(rows):
    return sorted(cell_name(row) for row in rows.values() if row["measure"] == "joint")


def found(rue, out="out"):
    return read_json(rue.folder / out / "recommendation.json")


@pytest.fixture
def uninterrupted(rue, script):
    """What a study that nothing disturbs finds; its requests are forgotten."""
    one = script(TABLE)
    assert tune(rue, one, out="reference").returncode == 0
    one.log_path.unlink()
    return found(rue, "reference")["recommendations"]


@pytest.mark.quick
@pytest.mark.parametrize("seed", range(4))
def test_kill_9_loses_no_stored_row(rue, script, uninterrupted, seed):
    """Killed three times anywhere, a moment into a trial or right behind it."""
    dice = random.Random(seed)
    one = script(TABLE, delay_s=0.008)
    known, kills, done = {}, 0, []
    for point in sorted(dice.sample(range(1, 27), 3)):
        process = start(rue, one)
        wait_until(lambda: len(set(one.joint())) >= point, process)
        time.sleep(dice.uniform(0, 0.016))
        process.kill()
        finish(process)
        kills += 1
        rows = stored(rue)
        assert known.items() <= rows.items(), "what was there stays as it was"
        known = rows
        done.append((len(one.joint()), joint(rows)))
    assert tune(rue, one).returncode == 0
    rows = stored(rue)
    assert known.items() <= rows.items()
    assert joint(rows) == CELLS, "every cell has one row"
    asked = one.joint()
    assert set(asked) == set(CELLS) and len(asked) <= len(CELLS) + kills, "only what was under way was lost"
    for asked_before, cells in done:
        assert not set(asked[asked_before:]) & set(cells), "what was stored is not asked for again"
    assert found(rue)["recommendations"] == uninterrupted
    assert not found(rue)["partial"] and wait_until_ended(one.pids())


def test_repeated_kill_9_at_any_time_keeps_every_row(rue, script):
    """Also while it opens the store, or makes it; one trial at most is lost with each kill."""
    dice = random.Random(SEED)
    one = script(TABLE, delay_s=0.004, load_ns=100000)
    words, known, kills, ended = ["--strategy", "duel", "--budget", "2h"], {}, 0, False
    while kills < (60 if LONG else 6) and not ended:
        process = start(rue, one, *words)
        with contextlib.suppress(subprocess.TimeoutExpired):
            ended = process.wait(dice.choice([dice.uniform(0, 0.1), dice.uniform(0.1, 0.6)])) is not None
        process.kill()
        finish(process)
        kills += not ended
        rows = stored(rue) if count_stored(rue) else {}
        assert known.items() <= rows.items(), f"seed {SEED}: a row is gone or another"
        assert len({(row["run_id"], row["started_ns"], row["measure"]) for row in rows.values()}) == len(rows), "a row twice"
        assert 0 <= len(one.requests()) - len(rows) <= kills, f"seed {SEED}: more is lost than what was under way"
        known = rows
    assert tune(rue, one, *words).returncode == 0
    rows = stored(rue)
    assert known.items() <= rows.items() and len(one.requests()) - len(rows) <= kills
    assert wait_until_ended(one.pids()) and not found(rue)["partial"]


def multiply_rows(file, count):
    """Until there are so many; the checksum of a row is not about its id."""
    with contextlib.closing(sqlite3.connect(file)) as db:
        names = ", ".join(row[1] for row in db.execute("PRAGMA table_info(trial)") if row[1] != "id")
        (rows,) = db.execute("SELECT count(*) FROM trial").fetchone()
        for _ in range(-(-count // rows) - 1):
            db.execute(f"INSERT INTO trial ({names}) SELECT {names} FROM trial WHERE id <= {rows} ORDER BY id")
        db.commit()


@pytest.mark.parametrize("strategy", ["grid", "duel", "auto"] if LONG else ["duel"])
def test_a_store_of_very_many_rows_is_read_in_time(release_rue, script, strategy):
    """Time in proportion to the rows; more than that took many minutes (HANG_S)."""
    one = script(TABLE, load_ns=100000)
    words = ["--strategy", strategy, *([] if strategy == "auto" else ["--budget", "60trials"])]
    assert tune(release_rue, one, *words).returncode == 0
    multiply_rows(release_rue.folder / "out/study.db", 200_000 if LONG else 60_000)
    count, asked = count_stored(release_rue), len(one.requests())
    assert tune(release_rue, one, *words).returncode == 0
    recommended = found(release_rue)["recommendations"][0]
    regrets = {cell: sum(TABLE[model][cell] / min(TABLE[model].values()) - 1 for model in MODELS) / len(MODELS) for cell in TABLE["ape"]}
    best, chosen = min(regrets.values()), f"{recommended['config']['batch_size']}/{recommended['config']['num_workers']}"
    assert regrets[chosen] - best <= recommended["certificate"]["bound_ratio"]
    assert count_stored(release_rue) - count == len(one.requests()) - asked <= 60
    for command in ("list", "show"):
        done = release_rue(command, "out")
        assert done.returncode == 0, done.stderr


@pytest.mark.quick
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_study_continues(rue, script, uninterrupted, number):
    one = script(TABLE, delay_s=0.01)
    process = start(rue, one)
    one.wait_for(12, process)
    stop(process, number)
    partial, before = found(rue), len(one.joint())
    assert partial["partial"] and len(partial["recommendations"][0]["configs"]) == 9
    assert tune(rue, one).returncode == 0
    assert len(one.joint()) <= len(CELLS) + 1 and before < len(one.joint())
    report = found(rue)
    assert report["recommendations"] == uninterrupted and not report["partial"] and report["partial_reason"] is None
    assert report["provenance"]["reused_trials"] >= before - 1


@pytest.mark.quick
def test_a_finished_study_measures_no_trial(rue, script, uninterrupted):
    one = script(TABLE)
    counts = []
    for _ in range(3):
        done = rue("tune", "--runner", one.command, "--out", "out")
        assert done.returncode == 0 and found(rue)["recommendations"] == uninterrupted
        counts.append(len(one.requests()))
    assert counts == counts[:1] * 3 and len(one.joint()) == 27, "no reference either"
    assert wording.CONTINUING_THE_STUDY_IN_OUT.format(counts[0]) in done.stderr
    assert found(rue)["provenance"]["reused_trials"] == 32


def test_other_data_of_the_same_name_have_their_own_study(rue):
    for place in "ab":
        (rue.folder / place).mkdir()
        assert rue("prepare", "--synthetic", "8", f"{place}/photos", "--quiet").returncode == 0
    words = ["--batch-size", "4", "--num-workers", "0", "--model", "none", "--mode", "raw", "--quiet"]
    for place in "abab":
        assert rue("tune", f"{place}/photos", *words).returncode == 0
        for file in (rue.folder / "rue-out").rglob("recommendation.json"):  # the store knows whose it is
            file.unlink()
    for name, place in ("photos", "a"), ("photos-2", "b"):
        rows = stored(rue, f"rue-out/{name}/study.db").values()
        assert {row["path"] for row in rows} == {str(rue.folder / place / "photos")}


def test_a_smaller_space_reports_the_replaced_recommendation(rue, script):
    one = script(TABLE)
    assert tune(rue, one).returncode == 0
    best = found(rue)["recommendations"][0]["config"]
    earlier = f"it recommended {best['batch_size']}/{best['num_workers']} out of 9 configurations"
    (rue.folder / "out/recommendation.json").unlink()  # the store knows it
    done = tune(rue, one, "--batch-size", "16,32")
    assert wording.OUT_RECOMMENDATION_JSON_IS_REPLACED.format(earlier, 6) in done.stderr
    assert wording.IS_REPLACED not in tune(rue, one, "--batch-size", "16,32").stderr
    measured = len(one.requests())
    assert wording.IS_REPLACED not in tune(rue, one).stderr
    assert len(found(rue)["recommendations"][0]["configs"]) == 9 and len(one.requests()) == measured


def test_another_loader_reports_the_replaced_recommendation(rue, script):
    one = script(TABLE)
    assert tune(rue, one).returncode == 0
    one.write(hello=dict(runner="other 2.0"))
    assert wording.FOR_THE_LOADER_SCRIPTED in tune(rue, one).stderr


def test_the_same_budget_is_enough_for_the_same_grid(rue, script):
    """Virtual time: what the store holds costs nothing, so a study that goes on never plans less than it did before."""
    def ranked():
        return sum(row["mean_regret_ratio"] is not None for row in found(rue)["recommendations"][0]["configs"])

    one, words = script(TABLE), ["--images", "128", "--strategy", "grid"]
    assert tune(rue, one, *words, "--budget", "2ms").returncode == 0
    first, requests = ranked(), len(one.requests())
    assert 1 < first < 9
    for _ in range(2):
        assert tune(rue, one, *words, "--budget", "2ms").returncode == 0
        assert ranked() >= first
    assert tune(rue, one, *words, "--budget", "2m").returncode == 0
    assert ranked() == 9
    assert sorted(one.joint()) == CELLS, "in all runs together every cell was measured once"
    assert len(one.requests()) > requests


def test_fresh_starts_over_and_keeps_the_old_store(rue, script):
    one = script(TABLE)
    assert tune(rue, one).returncode == 0
    old = stored(rue)
    for kept in ("out/study.db.old", "out/study.db.old.2"):
        assert tune(rue, one, "--fresh").returncode == 0
        assert {row["recorded"] for row in stored(rue, kept).values()} and len(stored(rue, kept)) == len(old)
    assert stored(rue, "out/study.db.old") == old
    names = {"recommendation.json", "report.html", "study.db", "trials.csv"}
    assert {path.name for path in (rue.folder / "out").iterdir()} == {n + s for n in names for s in ("", ".old", ".old.2")}
    assert len(one.joint()) == 3 * len(CELLS) and joint(stored(rue)) == CELLS
    assert found(rue)["provenance"]["reused_trials"] == 0


def read_state(rue):
    return json.loads(rue("list", "out", "--json").stdout)[0]["state"], rue("show", "out").stdout


@pytest.mark.parametrize("words", [["--fresh"], ["--seed", "2"]])
def test_a_run_that_was_killed_is_not_complete(rue, script, words):
    """Whatever the report of the run before it says, which --fresh puts aside."""
    one = script(TABLE)
    assert tune(rue, one).returncode == 0
    assert read_state(rue)[0] == "complete"
    process = start(rue, one.write(delay_s=0.01), *words)
    one.wait_for(len(CELLS) + 9, process)
    process.kill()
    finish(process)
    state, text = read_state(rue)
    assert state == "partial" and "partial" in text.lower()
    assert wording.ENDED_WITHOUT_A_REPORT in text
    assert tune(rue, one, *[word for word in words if word != "--fresh"]).returncode == 0
    assert read_state(rue)[0] == "complete"
    assert tune(rue, one).returncode == 0 and read_state(rue)[0] == "complete", "a run that found all in the store"


def test_a_run_without_a_recommendation_keeps_the_earlier_reports(rue, script):
    """The runner dies at the first trial of the model that is new, and does not come back."""
    one, wrapper = script(TABLE), rue.folder / "twice.sh"
    wrapper.write_text(f"echo >> starts\n[ $(wc -l < starts) -gt 2 ] && exit 9\nexec {one.command}\n")
    words = ["tune", "--runner", f"sh {wrapper}", "--quiet", "--out", "out", "--model"]
    assert rue(*words, "ape,bee").returncode == 0
    kept = {name: (rue.folder / "out" / name).read_bytes() for name in ("recommendation.json", "trials.csv")}
    one.write(faults=[dict(when=dict(joint=19), do="exit", code=3)])
    failed = rue(*words, "ape,bee,cow")
    expect_failure(failed, 1, "did not answer 'hello' correctly")
    assert wording.STOPPED_AFTER in failed.stdout and "recommendation.json" not in failed.stdout
    assert {name: (rue.folder / "out" / name).read_bytes() for name in kept} == kept
    assert len(stored(rue)) > 18 and wording.USE_BATCH_SIZE in rue("show", "out").stdout, "the result that was kept"


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_a_spent_budget_still_gives_the_answer_of_the_store(rue, script, clock):
    """Opening alone takes longer than the second budget; on a virtual clock it is one new trial."""
    one, words = script(TABLE, load_ns=100000, hello=dict(clock=clock)), ["--strategy", "duel", "--confidence", "90%"]
    assert tune(rue, one, *words, "--budget", "60trials").returncode == 0
    best, measured = found(rue)["recommendations"][0]["config"], len(one.joint())
    for _ in range(2):
        done = tune(rue, one, *words, "--budget", "1us")
        assert done.returncode == 0, done.stdout + done.stderr
        assert found(rue)["recommendations"][0]["config"] == best and len(one.joint()) == measured
        assert wording.EARLIER_RESULT not in done.stderr
    plan = rue("tune", "--runner", one.command, "--out", "out", *words, "--budget", "1us").stderr.replace("\n", " ")
    assert clock == "virtual" or wording.NO_TIME_LEFT_AFTER in " ".join(plan.split())


def test_a_run_that_ends_early_keeps_the_earlier_recommendation(rue, script):
    """Stopped at the probes of a new model; the next whole run replaces the result."""
    one = script(TABLE, load_ns=100000)
    words = ["--strategy", "duel", "--budget", "2h", "--model"]
    assert tune(rue, one, *words, "ape").returncode == 0
    kept = {name: (rue.folder / "out" / name).read_bytes() for name in ("recommendation.json", "trials.csv")}
    best, measured = found(rue)["recommendations"][0]["config"], len(one.requests())
    process = start(rue, one.write(delay_s=0.5), *words, "ape,bee,cow")
    wait_until(lambda: len(one.requests()) > measured, process)
    code, out, err = stop(process)
    assert code == 128 + signal.SIGINT and wording.NO_CONFIGURATION_COULD_BE_RECOMMENDED in out
    label = f"{best['batch_size']}/{best['num_workers']}"
    assert wording.KEPT_THE_EARLIER_RESULT.format(label) in err and wording.RUE_SHOW_OUT in err
    assert {name: (rue.folder / "out" / name).read_bytes() for name in kept} == kept
    state, text = read_state(rue)
    assert state == "complete" and wording.USE_BATCH_SIZE_NUM_WORKERS.format(best["batch_size"], best["num_workers"]) in text
    assert read_json(rue.folder / "out/recommendation.json")["recommendations"] == json.loads(
        rue("show", "out", "--json").stdout)["recommendations"]
    assert tune(rue, one.write(delay_s=0), *words, "ape,bee,cow").returncode == 0
    assert len(found(rue)["recommendations"][0]["models"]) == 3


def test_a_spent_budget_without_an_answer_keeps_the_one_about_another_job(rue, script):
    one = script(TABLE)
    assert tune(rue, one).returncode == 0
    kept, best = (rue.folder / "out/recommendation.json").read_bytes(), found(rue)["recommendations"][0]["config"]
    done = tune(rue, one, "--images", "5000", "--strategy", "grid", "--budget", "1trials")
    expect_failure(done, 5, "nothing to recommend")
    assert wording.KEPT_THE_EARLIER_RESULT.format(f"{best['batch_size']}/{best['num_workers']}") in done.stderr
    assert (rue.folder / "out/recommendation.json").read_bytes() == kept


def test_reports_without_their_store_are_moved_away_too(rue, script):
    one = script(TABLE)
    assert tune(rue, one).returncode == 0
    report = (rue.folder / "out/recommendation.json").read_bytes()
    (rue.folder / "out/study.db").unlink()
    assert tune(rue, one, "--fresh").returncode == 0
    assert (rue.folder / "out/recommendation.json.old").read_bytes() == report


def test_a_second_tuner_is_refused_while_the_first_runs(rue, script):
    one = script(TABLE, delay_s=0.03)
    process = start(rue, one)
    one.wait_for(3, process)
    for words in ([], ["--fresh"], ["--dry-run"]):
        expect_failure(tune(rue, one, *words), 6, "another rue uses out", "--out")
    code, out, err = finish(process)
    assert code == 0, err
    assert sorted(one.joint()) == CELLS and not found(rue)["partial"]
    assert tune(rue, one).returncode == 0, "the folder is free again"


# ---- what is the same measurement, and what is not ----

ANEW = {
    "seed": (["--seed", "2"], {}), "job": (["--images", "640"], {}), "order": (["--no-shuffle"], {}),
    "drop_last": (["--drop-last"], {}), "bad_images": (["--bad-images", "replace"], {}), "cache": (["--cache", "as-is"], {}), "pixels": (["--max-pixels", "1000000"], {}),
    "data": ([], dict(digest="d2")), "version": ([], dict(hello=dict(runner="scripted 1.1"))),
    "machine": ([], dict(hello=dict(machine=dict(cpu="another", usable_cpus=4)))),
}
REUSED = {
    "budget": (["--budget", "5m"], {}), "top_n": (["--top-n", "1"], {}), "memory": (["--max-memory", "64G"], {}),
    "timeout": (["--trial-timeout", "20s"], {}), "clock": ([], dict(delay_s=0.001)),
    "grid": (["--batch-size", "16,64"], {}), "models": (["--model", "cow"], {}),
}


@pytest.mark.parametrize("name", ANEW)
def test_options_that_change_times_cause_new_trials(rue, script, name):
    words, changes = ANEW[name]
    one = script(TABLE)
    assert tune(rue, one).returncode == 0
    before = stored(rue)
    assert tune(rue, one.write(**changes), *words).returncode == 0
    rows = stored(rue)
    assert before.items() < rows.items() and joint(rows) == sorted(CELLS * 2), "in the same store, beside what was there"
    assert found(rue)["provenance"]["reused_trials"] == 0
    assert tune(rue, one, *words).returncode == 0 and len(stored(rue)) == len(rows)


@pytest.mark.parametrize("name", REUSED)
def test_options_that_do_not_change_times_reuse_trials(rue, script, name):
    words, changes = REUSED[name]
    one = script(TABLE)
    assert tune(rue, one).returncode == 0
    assert tune(rue, one.write(**changes), *words).returncode == 0
    assert joint(stored(rue)) == CELLS and found(rue)["recommendations"][0]["config"]


def test_a_larger_grid_and_more_repeats_measure_only_missing_trials(rue, script):
    one = script(TABLE)
    assert tune(rue, one, "--batch-size", "16,32", "--num-workers", "0,2").returncode == 0
    assert len(one.joint()) == 12
    assert tune(rue, one).returncode == 0
    assert sorted(one.joint()) == CELLS
    assert tune(rue, one, "--repeats", "3").returncode == 0
    assert sorted(one.joint()) == sorted(CELLS * 3)
    assert {row["repeats"] for row in found(rue)["recommendations"][0]["configs"]} == {3}


def test_failed_trials_are_tried_again(rue, script):
    one = script(TABLE, faults=[dict(when=dict(measure="joint", model="bee", cell="32/2"), do="zero")])
    assert tune(rue, one).returncode == 0
    assert found(rue)["recommendations"][0]["evidence"]["trials_failed"] == 1
    assert tune(rue, one.write(faults=[])).returncode == 0
    assert one.joint().count(("bee", "32/2")) == 2 and len(one.joint()) == len(CELLS) + 1
    evidence = found(rue)["recommendations"][0]["evidence"]
    assert (evidence["trials_failed"], evidence["trials_ok"]) == (0, 27)


def test_infeasible_trials_are_repeated_only_with_more_memory(rue, script):
    one = script(TABLE, infeasible_above=32)
    assert tune(rue, one, "--max-memory", "1G").returncode == 0
    assert tune(rue, one, "--max-memory", "1G").returncode == 0
    assert sorted(one.joint()) == CELLS
    assert tune(rue, one.write(infeasible_above=64), "--max-memory", "2G").returncode == 0
    assert sorted(one.joint()[len(CELLS):]) == [c for c in CELLS if c[1].startswith("64/")]
    assert found(rue)["recommendations"][0]["evidence"]["trials_ok"] == 27


def test_runners_that_differ_at_the_end_of_a_long_command_are_not_confused(rue, script):
    one = script(TABLE)
    slower = rue.folder / "another_script.json"
    table = {model: {cell: 2 * ns for cell, ns in cells.items()} for model, cells in TABLE.items()}
    slower.write_text(json.dumps(dict(one.script, ns_per_image=table)))
    long = "env " + " ".join(f"A_LONG_VARIABLE_{i}=1" for i in range(8))
    for path, factor in ((one.path, 1), (slower, 2)):
        command = f"{long} {one.command.rsplit(' ', 1)[0]} {path}"
        assert rue("tune", "--runner", command, "--quiet", "--out", "out").returncode == 0
        times = found(rue)["recommendations"][0]["configs"][0]["end_to_end_ns"]
        assert times == {m: factor * 1000 * TABLE[m]["16/0"] for m in MODELS}


# ---- the real runner on photos ----

REAL = ["--batch-size", "4,8", "--num-workers", "0,1", "--model", "none,sleep:1ms/image", "--images", "24", "--budget", "5m",
        "--quiet", "--out", "out"]


def rows_per_cell(rows):
    return sorted((row["measure"], row["mode"], *cell_name(row)) for row in rows.values())


def test_a_killed_study_of_photos_continues(rue, own_photos):
    process = rue.start("tune", own_photos, *REAL)
    wait_until(lambda: count_stored(rue) >= 8, process)
    process.kill()
    finish(process)
    before = stored(rue)
    assert rue("tune", own_photos, *REAL).returncode == 0
    after = stored(rue)
    joint = {key: row for key, row in after.items() if row["measure"] == "joint"}
    report, cells = found(rue), set(rows_per_cell(joint))
    assert before.items() <= after.items() and len(cells) == 16, "eight cells of each variant"
    assert len(cells) == len(joint) or report["notices"], "nothing was measured twice, the converted sample included"
    reused = {key for key, row in before.items() if row["measure"] == "joint"}
    assert report["provenance"]["reused_trials"] >= len(reused) and len(report["recommendations"]) == 2
    assert all(r["config"] for r in report["recommendations"]) and not report["partial"]
    assert sorted(p.name for p in (rue.folder / "out").iterdir()) == ["recommendation.json", "report.html", "study.db", "trials.csv"]


def test_changed_photos_are_measured_again(rue, own_photos):
    words = [own_photos, *REAL, "--mode", "raw", "--model", "none"]
    assert rue("tune", *words).returncode == 0
    before = stored(rue)
    first, second = sorted(own_photos.rglob("*.jpg"))[:2]
    shutil.copy(first, second)  # another photo of another size under the old name
    assert rue("tune", *words).returncode == 0
    rows = stored(rue)
    digests = [row["data_digest"] for row in rows.values()]
    assert len(set(digests)) == 2 and digests.count(digests[-1]) >= len({cell_name(row) for row in before.values()})
    shutil.move(own_photos, rue.folder / "moved")
    assert rue("tune", "moved", *words[1:]).returncode == 0
    assert {row["data_digest"] for row in stored(rue).values()} == set(digests), "the same photos in another place are the same"


def test_trials_above_a_smaller_memory_limit_become_infeasible(rue, own_photos):
    """A slab of 4 images takes 2.4 MB: 8/1 needs three of twice that. Nothing else is asked for again."""
    words = ["tune", own_photos, *REAL, "--mode", "raw", "--model", "none"]
    assert rue(*words, "--max-memory", "1G").returncode == 0
    before = stored(rue)
    assert rue(*words, "--max-memory", "8M").returncode == 0
    after = stored(rue)
    new = [row for id, row in after.items() if id not in before]
    assert [(row["status"], cell_name(row)[1]) for row in new if row["measure"] == "joint"] == [("infeasible", "8/1")]
    report = found(rue)["recommendations"][0]
    assert (report["evidence"]["trials_ok"], report["evidence"]["trials_infeasible"]) == (3, 1)
    assert [report["config"]["batch_size"], report["config"]["num_workers"]] != [8, 1]
    assert rue(*words, "--max-memory", "8M").returncode == 0 and stored(rue) == after, "that is known now"
    expect_failure(rue(*words, "--max-memory", "1M"), 4, "the smallest batch size is infeasible", "--max-memory")
    assert rue(*words, "--max-memory", "1G").returncode == 0
    assert found(rue)["recommendations"][0]["evidence"]["trials_ok"] == 4 and before.items() <= stored(rue).items()


def test_images_that_are_too_large_now_are_refused_now(rue, own_photos):
    words = ["tune", own_photos, *REAL, "--mode", "raw", "--model", "none"]
    assert rue(*words).returncode == 0
    expect_failure(rue(*words, "--max-pixels", "1000"), 3, "pixels", "1,000")


# ---- stores that are none ----

def make_garbage(path):
    path.write_bytes(b"no database at all, but long enough for one " * 100)


def make_foreign(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE trial (song TEXT)")


def make_newer(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize("spoil, fresh", [(make_garbage, True), (make_foreign, True), (make_newer, False)])
def test_a_file_that_is_not_a_store_is_not_changed(rue, script, spoil, fresh):
    one = script(TABLE)
    if spoil is make_newer:
        assert tune(rue, one).returncode == 0
    else:
        (rue.folder / "out").mkdir()
    path = rue.folder / "out/study.db"
    spoil(path)
    before = path.read_bytes()
    expect_failure(tune(rue, one), 6, "out/study.db")
    assert path.read_bytes() == before
    if fresh:
        assert tune(rue, one, "--fresh").returncode == 0
        assert (rue.folder / "out/study.db.old").read_bytes() == before and joint(stored(rue)) == CELLS


# ---- what opening a study writes ----

def test_an_unusable_store_is_reported_before_the_data_are_read(rue, script):
    (rue.folder / "out").mkdir()
    (rue.folder / "out/study.db").write_text("no database, but somebody's")
    one = script(TABLE)
    expect_failure(tune(rue, one), 6, "out/study.db")
    assert {entry["op"] for entry in one.entries()} <= {"start", "hello"}, "nothing was opened"
    assert (rue.folder / "out/study.db").read_text() == "no database, but somebody's"


def test_a_dry_run_keeps_existing_files(rue, script):
    one = script(TABLE)
    (rue.folder / "deep").mkdir()
    for out in ("new", "deep/er/and/deeper/"):
        assert tune(rue, one, "--dry-run", out=out).returncode == 0
    assert not (rue.folder / "new").exists() and list((rue.folder / "deep").iterdir()) == []
    (rue.folder / "deep/er").mkdir()
    (rue.folder / "deep/er/notes").write_text("mine")
    assert tune(rue, one, "--dry-run", out="deep/er").returncode == 0
    assert [path.name for path in (rue.folder / "deep/er").iterdir()] == ["notes"]


@pytest.mark.parametrize("words", [["--dry-run"], ["--dry-run", "--fresh"], ["--dry-run", "--seed", "9"]])
def test_a_dry_run_keeps_a_study(rue, script, words):
    one = script(TABLE)
    assert tune(rue, one).returncode == 0
    before, names = stored(rue), {path.name for path in (rue.folder / "out").iterdir()}
    requests = len(one.requests())
    assert tune(rue, one, *words).returncode == 0
    assert (len(one.requests()) > requests) == ("--seed" in words), "it probes what it does not know"
    assert runs(rue) == 1 and before == stored(rue) and {path.name for path in (rue.folder / "out").iterdir()} == names


def test_a_study_that_cannot_begin_leaves_no_folder(rue, script):
    one = script(TABLE, opened=dict(status="failed", reason="the disk is asleep"))
    done = tune(rue, one)
    assert done.returncode == 3 and wording.THE_DISK_IS_ASLEEP in done.stderr
    assert not (rue.folder / "out").exists()
