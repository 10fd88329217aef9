"""rue show and rue list: what has been measured, without measuring or writing anything."""
import json
import os
import re
import shutil
import signal
import sqlite3

import pytest

import wording
from conftest import edit_store, expect_failure, finish, has_answer, make_table, read_json, stop, wait_until, without_maps

MODELS = ["ape", "bee", "cow"]
TABLE = make_table(MODELS, [16, 32, 64], [0, 2, 4], lambda m, b, w: 1000 + 7 * abs(b - 40) + 90 * abs(w - MODELS.index(m)))


def tune(rue, script, *words, out="out", **more):
    return rue("tune", "--runner", script.command, "--quiet", "--out", out, *words, **more)


def cell(config):
    return config["config"]["batch_size"], config["config"]["num_workers"]


def regrets(configs):
    return {cell(c): (c["mean_regret_ratio"], c["max_regret_ratio"], c["top_n_count"], c["source"]) for c in configs}


def shown(rue, *words):
    done = rue("show", *words, "--json")
    assert done.returncode in (0, 4, 5), done.stderr
    return json.loads(done.stdout)["recommendations"]


def state(folder):
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def check_same(rue, out="out"):
    """show gives what the run gave: configurations, regrets, votes and the recommendation of each variant."""
    report, modes = read_json(rue.folder / out / "recommendation.json")["recommendations"], shown(rue, out)
    assert len(report) == len(modes) > 0
    for mode in modes:
        run = next(r for r in report if r["variant"] == mode["variant"])
        assert regrets(mode["configs"]) == regrets(run["configs"])
        assert all(mode[key] == run[key] for key in ("goal", "objective", "weights", "certificate", "interval"))
        assert mode["job_images"] == run["job_images"]
        assert mode["config"] == run["config"]


@pytest.mark.quick
@pytest.mark.parametrize("words", [["--images", "128"], ["--strategy", "duel", "--budget", "1s", "--images", "100000"],
                                   ["--images", "100", "--drop-last"], ["--images", "128", "--repeats", "3"]],
                         ids=["full", "truncated", "drop_last", "repeats"])
def test_show_prints_the_result_of_the_run(rue, script, words):
    one = script(TABLE, images=100000, repeats=[1, 1.5, 1.1])
    assert tune(rue, one, *words).returncode == 0
    check_same(rue)


def test_the_truncated_run_was_truncated(rue, script):
    one = script(TABLE, images=100000)
    assert tune(rue, one, "--strategy", "duel", "--budget", "1s", "--images", "100000").returncode == 0
    assert "truncated" in {c["verified"] for c in read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["configs"]}


def test_show_prints_the_result_of_interrupted_and_resumed_runs(rue, script):
    one = script(TABLE, delay_s=0.01)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out")
    one.wait_for(22, process)
    stop(process, signal.SIGINT)
    check_same(rue)
    assert wording.PARTIAL_RESULTS_INTERRUPTED_AFTER in rue("show", "out").stdout
    told = json.loads(rue("show", "out", "--json").stdout)
    assert told["partial"] and told["partial_reason"].startswith("interrupted after")
    assert tune(rue, one).returncode == 0
    check_same(rue)
    assert "Partial" not in rue("show", "out").stdout
    told = json.loads(rue("show", "out", "--json").stdout)
    assert told["partial"] is False and told["partial_reason"] is None


def test_trials_that_measure_no_cell_are_called_so(rue, script):
    """Else the sentence about cells that were not measured would contradict their number."""
    one = script(TABLE, delay_s=0.4)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out", "--strategy", "duel")
    wait_until(lambda: len(one.requests()) >= 3, process)
    assert stop(process, signal.SIGINT)[0] == 130 and one.joint() == []
    reason = json.loads(rue("show", "out", "--json").stdout)["partial_reason"]
    assert re.fullmatch(r"interrupted after \d+ trials? of the loader or a model alone", reason), reason


def test_a_study_without_a_ranking_yet_is_not_infeasible(rue, script):
    """The run and show say the same, and end with the same code."""
    one = script(TABLE, delay_s=0.4)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out", "--strategy", "grid")
    one.wait_for(2, process)
    assert stop(process, signal.SIGINT)[0] == 130
    expect_failure(rue("show", "out"), 5, "nothing to recommend", "so far", "interrupted after", "again")
    fault = dict(when=dict(measure="joint"), do="answer", answer=dict(status="failed", reason="broken"))
    broken = script(TABLE, faults=[fault])
    assert tune(rue, broken, "--strategy", "grid", out="broken").returncode == 4
    expect_failure(rue("show", "broken"), 4, "nothing to recommend")


def check_same_words(rue, done, out="out"):
    """show prints what the run printed, and heat maps."""
    assert done.returncode == 0, done.stderr
    more = without_maps(rue("show", out, "--details", env=dict(COLUMNS=100)).stdout)
    page = done.stdout
    assert len(more.splitlines()) > len(page.splitlines()) <= 36 + 8 * (wording.LOW_CONFIDENCE in page) + 2 * (wording.OTHER_PROGRAMS_USED in page), "the run's page is read at a glance; a busy machine adds notes"
    text = rue("show", out, env=dict(COLUMNS=100)).stdout
    assert without_maps(text) == done.stdout != text and len(text) > 500
    return done.stdout


def test_show_prints_the_result_of_a_run_on_photos(rue, photos):
    done = rue("tune", photos, "--batch-size", "8,16", "--num-workers", "0,1", "--model", "none,sleep:1ms/batch", "--quiet",
               "--out", "out", "--budget", "5m", env=dict(COLUMNS=100))
    text = check_same_words(rue, done)
    check_same(rue)
    assert str(photos) in text and wording.A_SAMPLE_CONVERTED_FOR_THIS in text
    assert text.index("raw folder: 2 models") < text.index("preprocessed tensor float32: 2 models")


DUEL = make_table(MODELS, [16, 32, 64, 128], [1, 2, 4, 8], lambda m, b, w: 100000 + 1000 * abs(w - 4) + 20 * abs(b - 64))


@pytest.mark.parametrize("words", [[], ["--objective", "worst"], ["--weights", "ape=3,bee=0.5"],
                                   ["--max-first-batch", "8ms"], ["--top-n", "2"], ["--set-epsilon", "20%", "--confidence", "80%"]],
                         ids=["plain", "worst", "weights", "first_batch", "top_n", "set_epsilon"])
def test_the_bound_of_a_duel_is_shown(rue, script, words):
    one = script(DUEL, load_ns=100000)
    text = check_same_words(rue, rue("tune", "--runner", one.command, "--quiet", "--out", "out", "--budget", "40trials",
                                     "--strategy", "duel", *words, env=dict(COLUMNS=100)))
    check_same(rue)
    run, (mode,) = read_json(rue.folder / "out/recommendation.json")["recommendations"][0], shown(rue, "out")
    assert mode["certificate"]["bound_ratio"] >= 0 and mode["interval"] == run["interval"]
    assert "%" in text and any(row["source"] == "predicted" for row in mode["configs"]), "some were never tried"


def test_the_loader_has_the_name_that_the_runner_reports(rue, script):
    """And not the first word of the runner's own name: of our loader the memory is known as well."""
    assert tune(rue, script(TABLE, hello=dict(loader="rue"))).returncode == 0
    (run,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    (mode,) = shown(rue, "out")
    assert mode["measured_with"] == run["measured_with"] == "rue"
    fronts = [[(cell(at), at["memory_bytes"]) for at in part["pareto_front"]] for part in (run, mode)]
    assert fronts[0] == fronts[1] != []


def test_a_bound_on_measured_configurations_is_shown_as_such(rue, script):
    text = check_same_words(rue, tune(rue, script(TABLE, repeats=[1, 1.5, 1.1]), "--strategy", "grid", "--repeats", "3",
                                      env=dict(COLUMNS=100)))
    assert wording.NO_OTHER_MEASURED_CONFIGURATION in " ".join(text.split())


def test_the_store_is_enough_without_reports(rue, script):
    done = rue("tune", "--runner", script(DUEL, load_ns=100000).command, "--quiet", "--out", "out", "--strategy", "duel",
               "--budget", "40trials", env=dict(COLUMNS=100))
    for path in ("recommendation.json", "trials.csv"):
        (rue.folder / "out" / path).unlink()
    check_same_words(rue, done)


@pytest.mark.parametrize("goal", ["throughput", "first-batch"])
def test_the_goal_of_the_study_is_shown(rue, script, goal):
    one = script(TABLE, images=1000)
    done = rue("tune", "--runner", one.command, "--quiet", "--out", "out", "--goal", goal, "--objective", "worst",
               env=dict(COLUMNS=100))
    check_same_words(rue, done)
    (mode,) = shown(rue, "out")
    assert (mode["goal"], mode["objective"]) == (goal, "worst")
    (entry,) = json.loads(rue("list", ".", "--json").stdout)
    (best,) = entry["recommendations"]
    assert (best["goal"], best["objective"], best["weights"]) == (goal, "worst", None)
    assert cell(best) == cell(mode)
    assert f"%, {goal})" in rue("list", ".", env=dict(COLUMNS="")).stdout


def test_other_rules_than_those_of_the_run_give_no_bound(rue, script):
    one = script(DUEL, load_ns=100000)
    assert tune(rue, one, "--strategy", "duel", "--budget", "40trials").returncode == 0
    (mode,) = shown(rue, "out", "--objective", "worst")
    assert mode["objective"] == "worst" and mode["certificate"] is None
    (mode,) = shown(rue, "out", "--weights", "cow=1,ape=1")
    assert mode["certificate"], "they judge alike"
    expect_failure(rue("show", "out", "--weights", "dog=2"), 2, "dog")


def test_the_cause_of_a_busy_machine_is_shown(rue, script):
    """The machine that this runs on may be busy or not: a study is edited to say so."""
    assert tune(rue, script(TABLE)).returncode == 0
    document = json.loads(rue("show", "out", "--json").stdout)
    assert (document["provenance"]["busy_before"], document["provenance"]["busy_after"], document["low_confidence"]) == (None, None, False)
    edit_store(rue.folder / "out/study.db",
               "UPDATE result SET facts = json_set(facts, '$.provenance.busy_after', 'other processes used 1.3 CPUs')")
    text = rue("show", "out").stdout
    assert wording.LOW_CONFIDENCE_BECAUSE_THE_MACHINE.format("1.3") in text
    assert json.loads(rue("show", "out", "--json").stdout)["provenance"]["busy_after"] == "other processes used 1.3 CPUs"
    assert [study["state"] for study in json.loads(rue("list", ".", "--json").stdout)] == ["low confidence"]


@pytest.mark.parametrize("change", [
    "finding SET facts = json_set(facts, '$.configs[3].cells.ape.times_ns[0]', -1)",
    "finding SET facts = json_remove(facts, '$.configs[3].cells.ape')",
    "finding SET facts = json_set(facts, '$.goal', 'luck')", "finding SET facts = json_set(facts, '$.configs[0]', 3)",
    "finding SET facts = '[]'", "finding SET facts = '{'", "finding SET facts = NULL", "result SET facts = '{}'", "result SET rules = '3'",
    "result SET rules = json_set(rules, '$.top_n', 0)", "result SET facts = json_set(facts, '$.knobs', 3)"])
def test_invalid_findings_are_refused(rue, script, change):
    """And what the message advises works. Trials are not measured again for that."""
    one, advice = script(TABLE), "or tune again with --fresh"
    assert tune(rue, one).returncode == 0
    edit_store(rue.folder / "out/study.db", "UPDATE " + change)
    line = expect_failure(rue("show", "out"), 6, "out/study.db: findings", advice)
    (entry,) = json.loads(rue("list", "out", "--json").stdout)
    assert entry["state"] == "unreadable" and entry["reason"] in line
    count = len(one.joint())
    assert tune(rue, one).returncode == 0 and rue("show", "out").returncode == 0 and len(one.joint()) == count
    assert tune(rue, one, "--fresh").returncode == 0 and rue("show", "out").returncode == 0


def test_a_study_without_findings_is_ranked_by_its_trials(rue, script):
    one = script(TABLE)
    assert tune(rue, one).returncode == 0
    before = shown(rue, "out")
    edit_store(rue.folder / "out/study.db", "UPDATE result SET result = NULL; UPDATE finding SET facts = NULL")
    now = shown(rue, "out")
    assert regrets(now[0]["configs"]) == regrets(before[0]["configs"])
    assert now[0]["variant"]["image_key"] is None and now[0]["variant"]["label_key"] is None
    assert wording.THE_LAST_RUN_ENDED in rue("show", "out").stdout
    edit_store(rue.folder / "out/study.db", "DELETE FROM finding; DELETE FROM result")
    expect_failure(rue("show", "out"), 5, "tune again with the same options")
    count = len(one.joint())
    assert tune(rue, one).returncode == 0 and len(one.joint()) == count, "all of it is in the store"
    check_same(rue)
    assert "Partial" not in rue("show", "out").stdout


def test_show_changes_no_file(rue, script):
    assert tune(rue, script(TABLE)).returncode == 0
    before = state(rue.folder / "out")
    for words in ([], ["--json"], ["--trials"]):
        assert rue("show", "out", *words).returncode == 0
        assert rue("show", "out/study.db", *words).returncode == 0
    assert rue("list", ".").returncode == 0
    assert state(rue.folder / "out") == before


def test_a_read_only_folder_is_shown(rue, script, unprivileged_rue):
    assert tune(rue, script(TABLE)).returncode == 0
    shutil.copytree(rue.folder / "out", unprivileged_rue.folder / "out")
    (unprivileged_rue.folder / "out").chmod(0o555)
    done = unprivileged_rue("show", "out")
    assert done.returncode == 0 and wording.USE_BATCH_SIZE in done.stdout and done.stderr == ""
    assert "complete" in unprivileged_rue("list", ".").stdout


def test_a_running_study_is_shown(rue, script):
    one = script(TABLE, delay_s=0.2)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out")
    one.wait_for(8, process)
    done = rue("show", "out")
    assert done.returncode in (0, 5) and wording.A_RUN_IS_IN_PROGRESS in done.stdout
    told = json.loads(rue("show", "out", "--json").stdout)
    assert told["partial"] and told["partial_reason"] == "a run is in progress"
    assert "running" in rue("list", ".").stdout
    assert process.poll() is None
    assert finish(process)[0] == 0, "looking on did not disturb it"
    check_same(rue)


def test_only_the_newest_circumstances_are_shown(rue, script):
    assert tune(rue, script(TABLE), "--images", "128").returncode == 0
    assert tune(rue, script(TABLE), "--images", "256").returncode == 0
    check_same(rue)
    text = rue("show", "out").stdout
    assert wording.JOB_OF_IMAGES.format(256) in text and wording.JOB_OF_IMAGES.format(128) not in text and wording.HAS_TRIALS_OF_ANOTHER.format(27) in text
    changed = script(TABLE, digest="d2")
    assert tune(rue, changed, "--images", "256").returncode == 0
    check_same(rue)
    assert len(shown(rue, "out")) == 1 and wording.HAS_TRIALS_OF_ANOTHER.format(54) in rue("show", "out").stdout


def test_trials_outside_the_last_run_are_counted(rue, script):
    variants = [dict(path="", mode=mode, format="scripted") for mode in ("raw", "preprocessed")]
    one = script(TABLE, hello=dict(variants=variants))
    assert tune(rue, one).returncode == 0
    assert [mode["variant"]["mode"] for mode in shown(rue, "out")] == ["raw", "preprocessed"]
    assert tune(rue, one, "--mode", "raw").returncode == 0
    text = rue("show", "out").stdout
    assert [mode["variant"]["mode"] for mode in shown(rue, "out")] == ["raw"] and wording.HAS_TRIALS_OF_ANOTHER.format(27) in text
    assert tune(rue, one).returncode == 0
    assert [mode["variant"]["mode"] for mode in shown(rue, "out")] == ["raw", "preprocessed"]
    assert wording.TRIALS_OF_ANOTHER_JOB not in rue("show", "out").stdout


def test_models_with_a_weight_may_have_no_trials_yet(rue, script):
    one = script(TABLE, faults=[dict(when=dict(joint=2), do="hang")])
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out", "--weights", "ape=3,bee=2,cow=5")
    one.wait_for(2, process)
    stop(process)
    done = rue("show", "out")
    assert wording.PARTIAL_RESULTS in done.stdout and wording.NONE_OF_THE_MODELS not in done.stderr
    (entry,) = json.loads(rue("list", "out", "--json").stdout)
    assert (entry["state"], entry["trials_ok"]) == ("partial", 1)
    expect_failure(rue("show", "out", "--weights", "dog=2"), 2, "--weights: 'dog' is not one of the models")


@pytest.mark.quick
def test_every_trial_is_listed(rue, script):
    one = script(TABLE, infeasible_above=32)
    tune(rue, one)
    with sqlite3.connect(rue.folder / "out/study.db") as db:
        count, infeasible = db.execute("SELECT count(*), sum(status = 'infeasible') FROM trial").fetchone()
    text = rue("show", "out", "--trials").stdout
    assert text.count("\n") == count + 1 and text.count("do not fit in memory") == infeasible > 0
    assert text == (rue.folder / "out/trials.csv").read_text()
    expect_failure(rue("show", "out", "--trials", "--json"), 2, "--trials")


def test_a_failed_repeat_is_reported_by_the_run_and_by_show(rue, script):
    one = script(TABLE)
    words = ["--images", "128", "--repeats", "2"]
    assert tune(rue, one, *words, out="first").returncode == 0
    best = cell(read_json(rue.folder / "first/recommendation.json")["recommendations"][0])
    asked = [r["id"] for r in one.requests() if r["measure"] == "joint" and r["cell"] == f"{best[0]}/{best[1]}"]
    one.write(faults=[dict(when=dict(id=asked[-1]), do="answer", answer=dict(status="failed", reason="it fell over"))])
    done = tune(rue, one, *words)
    run, mode = read_json(rue.folder / "out/recommendation.json")["recommendations"][0], shown(rue, "out")[0]
    assert cell(run) == best and run["evidence"]["missed_repeats"] == 1 and mode["evidence"]["missed_repeats"] == 1
    for text in (done.stdout, rue("show", "out").stdout):
        assert wording.OF_REPEATS_GAVE_NO_TIME_IT_FELL.format(1, 2) in " ".join(text.split()) 
    check_same(rue)


def test_trials_that_were_deleted_are_missing(rue, script):
    one = script(make_table(["ape"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + w), images=1000)
    assert tune(rue, one).returncode == 0
    with sqlite3.connect(rue.folder / "out/study.db") as db:
        db.execute("DELETE FROM trial WHERE config LIKE '%16%'")
    db.close()
    text = " ".join(rue("show", "out").stdout.split())
    assert "2 configurations" in text and wording.TRIALS_WERE_ADDED_OR_DELETED_SINCE in text
    assert {cell(row)[0] for row in shown(rue, "out")[0]["configs"]} == {32}


def test_replaced_images_are_counted_by_show(rue, script):
    one = script(make_table(["ape"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + w))
    for count, words in ((0, None), (1, "1 image of a trial could not be decoded and was replaced; trials.csv names it."),
                         (3, "3 images of a trial could not be decoded and were replaced; trials.csv names one.")):
        one.write(faults=[dict(when=dict(measure="joint"), do="answer", answer=dict(bad_images=count))])
        assert tune(rue, one, "--fresh").returncode == 0
        assert [mode["evidence"]["bad_images"] for mode in shown(rue, "out")] == [count]
        text = rue("show", "out", env=dict(COLUMNS=200)).stdout
        assert f"\n  {words}\n" in text if words else "replaced" not in text


def test_headings_and_footers_fit_the_window(rue, script):
    for digest in ("d1", "d2"):
        assert tune(rue, script(TABLE, digest=digest)).returncode == 0
    lines = rue("show", "out", env=dict(COLUMNS=50)).stdout.splitlines()
    assert max(map(len, lines)) <= 50


def test_an_interrupted_study_shows_its_answer_so_far(rue, script):
    one = script(TABLE, delay_s=0.01)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out")
    one.wait_for(26, process)
    stop(process, signal.SIGINT)
    text = rue("show", "out").stdout
    assert wording.SO_FAR_USE_BATCH in text and wording.USE_BATCH_SIZE not in text
    assert tune(rue, one).returncode == 0
    assert wording.SO_FAR not in rue("show", "out").stdout


def damage(path):
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 8192)


def test_a_folder_that_is_not_a_study_is_named(rue, script):
    expect_failure(rue("show", "nowhere"), 3, "nowhere", "rue list")
    (rue.folder / "empty").mkdir()
    expect_failure(rue("show", "empty"), 3, "is not a study")
    (rue.folder / "text.db").write_text("hello " * 200)
    expect_failure(rue("show", "text.db"), 6, "text.db")
    for content in ("", "batch_size,num_workers,time_s\n32,1,4\n"):
        (rue.folder / "times.csv").write_text(content)
        expect_failure(rue("show", "times.csv"), 6, "times.csv is not a study; to rank a CSV table: rue analyze times.csv")
    with sqlite3.connect(rue.folder / "other.db") as db:
        db.execute("CREATE TABLE t (a)")
    expect_failure(rue("show", "other.db"), 6, "another program")
    assert tune(rue, script(TABLE)).returncode == 0
    damage(rue.folder / "out/study.db")
    before = (rue.folder / "out/study.db").read_bytes()
    expect_failure(rue("show", "out"), 6, "out/study.db")
    assert (rue.folder / "out/study.db").read_bytes() == before


@pytest.mark.quick
def test_list_names_every_study(rue, script):
    for out in ("rue-out/a", "rue-out/deep/er/b", "rue-out/damaged", "rue-out/too/deep/to/see"):
        assert tune(rue, script(TABLE), out=out).returncode == 0
    damage(rue.folder / "rue-out/damaged/study.db")
    (rue.folder / "rue-out/foreign").mkdir()
    (rue.folder / "rue-out/foreign/study.db").write_text("no store")
    os.symlink("..", rue.folder / "rue-out/loop")
    done = rue("list", "--json")
    assert done.returncode == 0 and done.stderr == ""
    found = {entry["study"]: entry for entry in json.loads(done.stdout)}
    assert list(found) == ["rue-out/a", "rue-out/damaged", "rue-out/deep/er/b", "rue-out/foreign"]
    run = read_json(rue.folder / "rue-out/a/recommendation.json")["recommendations"][0]
    entry = found["rue-out/a"]
    assert cell(entry["recommendations"][0]) == cell(run) and entry["state"] == "complete" and entry["trials_not_ok"] == 0
    assert entry["trials_ok"] == 27 and entry["measured"].endswith("Z")
    for name in ("rue-out/damaged", "rue-out/foreign"):
        assert found[name]["state"] == "unreadable" and "study.db" in found[name]["reason"]
    lines = rue("list").stdout.splitlines()
    assert len([line for line in lines if "unreadable" in line]) == 2 and lines[5] == "" and max(map(len, lines)) <= 100
    assert all(any(f"rue-out/{name}/study.db" in line for line in lines[6:]) for name in ("damaged", "foreign"))
    wide = rue("list", env=dict(COLUMNS="")).stdout
    assert all(found[f"rue-out/{name}"]["reason"] in wide for name in ("damaged", "foreign")), "nothing limits the width"


def test_list_gives_each_mode_a_line_with_its_regret(rue, script):
    variants = [dict(path="", mode=mode, format="scripted") for mode in ("raw", "preprocessed")]
    assert tune(rue, script(TABLE, hello=dict(variants=variants)), out="all/a_study_of_a_name_that_is_long").returncode == 0
    regret = {mode["variant"]["mode"]: f"{100 * mode['mean_regret_ratio']:.1f} %)" for mode in shown(rue, "all/a_study_of_a_name_that_is_long")}
    lines = rue("list", "all", env=dict(COLUMNS="")).stdout.splitlines()
    assert len(lines) == 3 and all(f"({regret[mode]}" in line and mode in line for mode, line in zip(("raw", "preprocessed"), lines[1:]))
    lines = rue("list", "all", env=dict(COLUMNS=70)).stdout.splitlines()
    assert max(map(len, lines)) <= 70 and "\u2026" in lines[1]


def test_a_study_without_joint_trials_is_not_complete(rue, script):
    one = script(TABLE)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "s/probed")
    assert finish(process)[0] == 0
    shutil.copytree(rue.folder / "s/probed", rue.folder / "s/empty")
    for name, condition in (("probed", "measure = 'joint'"), ("empty", "1")):
        with sqlite3.connect(rue.folder / "s" / name / "study.db") as db:
            db.execute(f"DELETE FROM trial WHERE {condition}")
        db.close()
    states = {entry["study"]: (entry["state"], entry["trials_ok"]) for entry in json.loads(rue("list", "s", "--json").stdout)}
    assert states == {"s/probed": ("only probed", 0), "s/empty": ("empty", 0)}
    expect_failure(rue("show", "s/probed"), 5, "no trial to rank")


def test_a_run_without_time_predicts_from_the_probes_of_the_earlier_one(rue, script):
    one = script(TABLE, images=100000)
    assert tune(rue, one, "--images", "128").returncode == 0
    assert has_answer(tune(rue, one, "--images", "50000", "--budget", "1ms"))
    assert wording.IT_WAS_NOT_MEASURED_ON_EVERY_MODEL in " ".join(rue("show", "out").stdout.split())


def test_slashes_are_not_doubled(rue, script):
    assert tune(rue, script(TABLE), out="s/a").returncode == 0
    assert [entry["study"] for entry in json.loads(rue("list", "s//", "--json").stdout)] == ["s/a"]
    assert rue("show", "s/a//").returncode == 0
    (rue.folder / "none").mkdir()
    assert "none/study.db" not in expect_failure(rue("show", "none/"), 3, "is not a study")
    damage(rue.folder / "s/a/study.db")
    expect_failure(rue("show", "s/a/"), 6, "s/a/study.db")


def test_a_folder_that_cannot_be_read_is_named(unprivileged_rue):
    for name in ("locked", "closed"):
        (unprivileged_rue.folder / "s" / name).mkdir(parents=True)
    (unprivileged_rue.folder / "s/locked").chmod(0)
    done = unprivileged_rue("list", "s")
    (unprivileged_rue.folder / "s/locked").chmod(0o700)
    assert done.returncode == 0 and done.stderr == "cannot read the folder s/locked: Permission denied\n"
    (unprivileged_rue.folder / "s/closed/st").mkdir()
    (unprivileged_rue.folder / "s/closed/st").chmod(0o600)
    failed = unprivileged_rue("show", "s/closed/st")
    (unprivileged_rue.folder / "s/closed/st").chmod(0o700)
    line = expect_failure(failed, 6, "s/closed/st/study.db: Permission denied")
    assert wording.IS_NOT_A_STUDY not in line


def test_list_without_studies_names_the_command_to_start(rue):
    done = rue("list")
    assert done.returncode == 0 and wording.RUE_TUNE_FOLDER in done.stdout and wording.UP_TO_FOLDERS_BELOW.format(3) in done.stdout
    assert wording.DEPTH_OF_THREE_FOLDERS in rue("help", "list").stdout
    assert json.loads(rue("list", "--json").stdout) == []
    expect_failure(rue("list", "nowhere"), 3, "nowhere")


def test_more_studies_than_a_table_has_rows_are_listed(rue):
    for number in range(70):
        (rue.folder / f"s/{number:02}").mkdir(parents=True)
        (rue.folder / f"s/{number:02}/study.db").write_text("no store")
    text = rue("list", "s").stdout
    assert text.count("unreadable") == 70 and all(f"s/{number:02}/study.db: " in text for number in range(70))
