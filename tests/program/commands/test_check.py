"""rue check: a handful of trials tell whether a recommendation still holds."""
import json
import re
import shutil
import signal
from xml.etree import ElementTree

import pytest

import wording
from conftest import ROOT, expect_failure, finish, make_table, read_json, wait_until

BATCHES, WORKERS, MODELS = [16, 32, 64, 128], [1, 2, 4, 8], ["ape", "bee", "cow"]


def time_ns(model, batch, workers):
    return 1000000 + abs(workers - 4) * 200000 + abs(batch - 32) * 4000 + MODELS.index(model) * 700000


@pytest.fixture
def runner(script):
    return script(make_table(MODELS, BATCHES, WORKERS, time_ns))


def tune(rue, runner, *words):
    done = rue("tune", "--runner", runner.command, "--out", "out", "--budget", "9999s", *words)
    assert done.returncode == 0, done.stderr


def check(rue, runner, *words):
    return rue("check", "out/recommendation.json", "--runner", runner.command, *words)


def files(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.name not in ("requests.log", "script.json")}


@pytest.mark.parametrize("strategy", ["grid", "duel"])
def test_a_recommendation_holds_on_the_same_machine_and_no_file_is_written(rue, runner, strategy):
    tune(rue, runner, "--strategy", strategy)
    before, since = files(rue.folder), len(runner.requests())
    done = check(rue, runner)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert wording.STILL_HOLDS_HERE_BATCH_SIZE_NUM_WORKERS_IS_WITHIN.format(32, 4) in done.stdout
    assert re.search(r"of the best of \d+ configurations\.", " ".join(done.stdout.split()))
    assert files(rue.folder) == before
    asked = runner.requests()[since:]
    assert {request["measure"] for request in asked} == {"joint"} and 2 <= len(asked) <= 64


@pytest.mark.parametrize("strategy", ["grid", "duel"])
def test_whole_jobs_run_on_every_model_if_the_budget_is_enough(rue, runner, strategy):
    tune(rue, runner, "--strategy", strategy)
    for budget, words in (("60s", "Whole jobs were measured on every model."), ("5s", "Only a few trials fitted the budget")):
        since = len(runner.requests())
        assert words in " ".join(check(rue, runner, "--budget", budget).stdout.split())
        asked = [(request["model"], request["images"]) for request in runner.requests()[since:]]
        whole = {model for model, images in asked if images == 1000 and asked.count((model, images)) >= 2}
        assert (whole == set(MODELS)) == (budget == "60s"), asked
        found = json.loads(check(rue, runner, "--budget", budget, "--json").stdout)["checks"][0]
        assert found["whole_jobs"] == (budget == "60s")


def test_whole_jobs_run_on_more_models_than_short_trials_would(rue, script):
    models = [f"model{m:02}" for m in range(13)]
    runner = script(make_table(models, [32, 64], [1, 4], lambda m, b, w: 1000000 + abs(w - 4) * 200000 + b * 1000))
    tune(rue, runner)
    since = len(runner.requests())
    found = json.loads(check(rue, runner, "--budget", "300s", "--json").stdout)["checks"][0]
    assert found["whole_jobs"]
    assert {request["model"] for request in runner.requests()[since:]} == set(models)


def test_the_sentence_about_one_configuration_is_singular(rue, runner):
    tune(rue, runner, "--batch-size", "32", "--num-workers", "4")
    done = check(rue, runner)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert wording.STILL_HOLDS_HERE_BATCH_SIZE_NUM_WORKERS_RUNS.format(32, 4) in " ".join(done.stdout.split())


@pytest.mark.quick
def test_a_recommendation_does_not_hold_if_another_configuration_is_faster(rue, runner):
    tune(rue, runner)
    runner.write(ns_per_image=make_table(MODELS, BATCHES, WORKERS, lambda m, b, w: time_ns(m, b, 4) + w * 500000))
    done = check(rue, runner)
    expect_failure(done, 5, "not hold here", "--prior out/recommendation.json")
    assert wording.DOES_NOT_HOLD_HERE in done.stdout or wording.MAY_NOT_HOLD_HERE in done.stdout


def test_a_gate_for_ci(rue, runner):
    tune(rue, runner)
    done = check(rue, runner, "--junit", "check.xml")
    assert done.returncode == 0, done.stderr
    suite = ElementTree.parse(rue.folder / "check.xml").getroot().find("testsuite")
    assert suite.attrib == dict(name="out/recommendation.json", tests="1", failures="0", skipped="0", errors="0")
    assert wording.STILL_HOLDS_HERE in suite.find("testcase/system-out").text
    runner.write(ns_per_image=make_table(MODELS, BATCHES, WORKERS, lambda m, b, w: time_ns(m, b, w) - (b == 16) * 200000))
    done = check(rue, runner, "--max-regret", "30%")
    assert done.returncode == 0, done.stderr
    done = check(rue, runner, "--max-regret", "3%", "--junit", "check.xml")
    expect_failure(done, 5, "not hold here")
    suite = ElementTree.parse(rue.folder / "check.xml").getroot().find("testsuite")
    assert suite.attrib["failures"] == "1" and "not hold here" in suite.find("testcase/failure").attrib["message"]


def test_a_file_that_is_not_of_junit_is_not_replaced(rue, runner):
    tune(rue, runner)
    (rue.folder / "mine.xml").write_text("<mine/>")
    expect_failure(check(rue, runner, "--junit", "mine.xml"), 6, "mine.xml")
    assert (rue.folder / "mine.xml").read_text() == "<mine/>"


def test_the_example_for_ci_runs_commands_that_exist(rue):
    text = (ROOT / "examples/ci/rue-check.yml").read_text()
    commands = re.findall(r"rue (\w+) .*", text)
    assert {"check", "headroom"} <= set(commands)
    for name in ("check", "headroom"):
        options = set(re.findall(rf"rue {name} .*", text)[-1].split()) & set(re.findall(r"--[a-z-]+", text))
        assert all(option in rue(name, "--help").stdout for option in options), name


def test_a_uniformly_slower_machine_is_reported(rue, runner):
    tune(rue, runner)
    runner.write(ns_per_image=make_table(MODELS, BATCHES, WORKERS, lambda *cell: time_ns(*cell) * 14 // 10))
    done = check(rue, runner)
    assert wording.TRIALS_TAKE_TIMES_AS_LONG.format("1.40") in done.stdout.replace("\n", " "), done.stdout


def test_a_configuration_that_no_longer_runs_does_not_hold(rue, runner):
    tune(rue, runner)
    runner.write(infeasible_above=16)
    done = check(rue, runner)
    expect_failure(done, 5, "does not hold here")
    assert wording.BATCH_SIZE_NUM_WORKERS_IS_INFEASIBLE_THE_BATCHES.format(32, 4) in " ".join(done.stdout.split())


def answers(cell, **answer):
    """A fault by which joint trials of the cell (None: of any) are answered so."""
    return dict(when=dict(measure="joint", **dict(cell=cell) if cell else {}), do="answer", answer=answer)


def test_a_rivals_failure_is_not_that_of_the_configuration(rue, runner):
    tune(rue, runner)
    made = len(runner.joint())
    own = [answers("32/4", status="failed", reason="own fault") for _ in range(2)]
    for nth, fault in enumerate(own):
        fault["when"]["joint"] = made + 3 + nth
    kept = dict(when=dict(measure="joint", cell="32/4"), do="answer", answer={})
    runner.write(faults=[*own, kept, answers(None, status="failed", reason="a rival's fault")])
    done = check(rue, runner, "--json")
    found = json.loads(done.stdout)["checks"][0]
    assert found["verdict"] == "failed" and found["sentence"].endswith("batch_size 32, num_workers 4 failed: own fault."), found
    assert "a rival's fault" in [trial["reason"] for trial in found["trials"]], found


@pytest.mark.parametrize("strategy", ["grid", "duel"])
def test_configurations_with_a_late_first_batch_are_not_rivals(rue, runner, strategy):
    """The fastest has its first batch too late, as the file says."""
    runner.write(faults=[answers("32/4", first_batch_ns=900_000_000)])
    tune(rue, runner, "--strategy", strategy, "--max-first-batch", "500ms")
    assert read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["config"]["num_workers"] == 4
    since = len(runner.joint())
    done = check(rue, runner)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "32/4" not in [cell for _, cell in runner.joint()[since:]]


def test_a_first_batch_that_is_too_late_here_does_not_hold(rue, runner):
    tune(rue, runner, "--max-first-batch", "500ms")
    runner.write(faults=[answers("32/4", first_batch_ns=550_000_000)])
    assert check(rue, runner).returncode == 0, "as much may be chance"
    runner.write(faults=[answers("32/4", first_batch_ns=900_000_000)])
    done = check(rue, runner)
    expect_failure(done, 5, "does not hold here")
    words = " ".join(done.stdout.split())
    assert wording.BATCH_SIZE_NUM_WORKERS_IS_INFEASIBLE_ITS.format(32, 4, 900, 500) in words


def test_differences_from_the_study_are_reported_first(rue, runner):
    tune(rue, runner)
    runner.write(digest="d2", hello=dict(machine=dict(cpu="another", usable_cpus=4), runner="scripted 2.0"))
    lines = check(rue, runner).stdout.replace("\n", " ")
    for words in ("reports another machine", "the runner is scripted 2.0, was scripted 1.0", "the data are not those of the study"):
        assert f"{words}." in lines.split("model ")[0], lines


def liking_time_ns(likes, model, workers):
    """Each model likes its own number of workers; bee suffers most from another."""
    return 1000000 + abs(WORKERS.index(workers) - WORKERS.index(likes[model])) * (500000 if model == "bee" else 200000)


LIKED = dict(ape=1, bee=8, cow=1)  # the mean likes what two like, bee alone what it likes


@pytest.mark.parametrize("words", [["--weights", "bee=100"], ["--objective", "worst"]], ids=["weights", "worst"])
def test_the_rules_of_the_file_decide_the_check(rue, script, words):
    """What is best by these rules is not by plain mean regret, and the other way round."""
    table = make_table(MODELS, [16, 32], WORKERS, lambda m, b, w: liking_time_ns(LIKED, m, w) + b)
    runner = script(table)
    tune(rue, runner, "--strategy", "grid", *words)
    assert read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["objective"] in words + ["mean"]
    done = check(rue, runner)
    assert done.returncode == 0, (done.stdout, done.stderr)
    report = rue.folder / "out/recommendation.json"
    document = read_json(report)
    document["recommendations"][0].update(objective="mean", weights=dict(ape=100, bee=1, cow=100))
    report.write_text(json.dumps(document))
    done = check(rue, runner, "--json")
    assert done.returncode == 5, (done.stdout, done.stderr)
    (found,) = json.loads(done.stdout)["checks"]
    assert found["best"]["num_workers"] == 1 and found["config"]["num_workers"] > 1


def test_invalid_weights_of_a_file_are_named(rue, runner):
    tune(rue, runner)
    report = rue.folder / "out/recommendation.json"
    whole = report.read_text()
    for change in (dict(weights=dict(ape=0, bee=1, cow=1)), dict(weights=dict(ape=1)), dict(objective="least"), dict(goal=3)):
        document = json.loads(whole)
        document["recommendations"][0].update(change)
        report.write_text(json.dumps(document))
        expect_failure(check(rue, runner), 3, next(iter(change)))


def test_recommendations_for_other_goals_than_the_time_are_not_checked(rue, runner):
    tune(rue, runner, "--goal", "throughput")
    expect_failure(check(rue, runner), 5, "cannot check", "goal is not the time of the job")


def test_json_has_every_trial(rue, runner):
    tune(rue, runner)
    done = check(rue, runner, "--json")
    document = json.loads(done.stdout)
    found = document["checks"][0]
    assert document["format"] == "rue.check/1" and document["holds"] is True and found["verdict"] == "holds"
    assert found["config"] == read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["config"]
    assert all(trial["status"] == "ok" for trial in found["trials"])
    assert all(trial["end_to_end_ns"] > 0 and trial["expected_ns"] > 0 for trial in found["trials"])
    assert abs(found["time_ratio"] - 1) < 0.1


def test_a_part_is_checked_on_its_own_data(rue, runner):
    variants = [dict(path="", mode="preprocessed", format="tensor", dtype=dtype) for dtype in ("float32", "uint8")]
    runner.write(hello=dict(variants=variants))
    tune(rue, runner, "--strategy", "grid")
    since = len(runner.requests())
    done = check(rue, runner)
    assert done.returncode == 0, (done.stdout, done.stderr)
    dtypes = [request["variant"]["dtype"] for request in runner.requests()[since:]]
    assert set(dtypes) == {"float32", "uint8"} and dtypes == sorted(dtypes)


def test_a_runner_of_another_loader_cannot_check(rue, runner, photos):
    tune(rue, runner)
    runner.write(hello=dict(runner="other 1.0"))
    expect_failure(check(rue, runner), 2, "measured with scripted, not with other", "--runner")
    assert rue("check", "out").returncode == 2


def test_a_loader_of_a_python_program_is_checked_there(rue, runner):
    runner.write(hello=dict(variants=[dict(path="", mode="raw", format="loader")]))
    tune(rue, runner)
    expect_failure(rue("check", "out"), 2, "out is about a loader of a Python program", 'rue_tuner.load("out").check(loader)', "--runner")
    assert check(rue, runner).returncode == 0


def test_models_that_the_runner_no_longer_has_are_skipped(rue, runner):
    tune(rue, runner)
    runner.write(hello=dict(models=["bee", "elk"]))
    done = check(rue, runner)
    assert wording.THE_MODEL_APE_IS_UNKNOWN in done.stderr.replace("\n", " ")
    assert wording.OF_THE_MODELS.format(1, 3) in done.stdout.replace("\n", " ")
    runner.write(hello=dict(models=["elk"]))
    expect_failure(check(rue, runner), 2, "does not know any model")


def test_a_recommendation_from_a_table_cannot_be_checked(rue):
    (rue.folder / "t.csv").write_text("mode,model,batch_size,num_workers,time_s\nraw,a,32,2,3\nraw,a,32,4,2\n")
    assert rue("tune", "--table", "t.csv", "--strategy", "grid", "--budget", "200%", "--out", "out", "--quiet").returncode == 0
    expect_failure(rue("check", "out"), 5, "cannot check", "from a CSV table")
    (rue.folder / "u.csv").write_text("mode,model,batch_size,num_workers,time_s\nssd,a,32,2,3\nhdd,a,32,2,2\n")
    assert rue("tune", "--table", "u.csv", "--strategy", "grid", "--budget", "1h", "--out", "two", "--quiet").returncode == 0
    document = json.loads(rue("check", "two", "--json").stdout)
    assert {part["variant"] for part in document["checks"]} == {"ssd", "hdd"}


def test_a_variant_that_cannot_be_checked_uses_no_budget(rue, runner):
    tune(rue, runner, "--strategy", "grid")
    document = read_json(rue.folder / "out/recommendation.json")
    (own,) = document["recommendations"]

    def tried(budget, *parts):
        (rue.folder / "parts.json").write_text(json.dumps(dict(document, recommendations=list(parts))))
        since = len(runner.requests())
        rue("check", "parts.json", "--runner", runner.command, "--budget", budget)
        return len(runner.requests()) - since

    assert tried("2s", own) < tried("10s", own) == tried("10s", own, dict(own, goal="throughput"))
    document = json.loads(rue("check", "parts.json", "--runner", runner.command, "--json").stdout)
    assert document["holds"] and document["unchecked"] == ["raw scripted"] and wording.NOT_CHECKED_ITS_GOAL in document["checks"][1]["sentence"]


def test_a_file_that_is_not_a_recommendation_is_named(rue, photos):
    expect_failure(rue("check", "nowhere.json"), 3, "nowhere.json")
    (rue.folder / "half.json").write_text('{"format": "rue.recommendation/1"')
    expect_failure(rue("check", "half.json"), 3, "half.json", "is not JSON")


def test_a_check_that_is_interrupted_ends_at_once(rue, runner):
    tune(rue, runner)
    since = len(runner.requests())
    runner.write(delay_s=0.5)
    process = rue.start("check", "out", "--runner", runner.command)
    wait_until(lambda: len(runner.requests()) > since, process)
    process.send_signal(signal.SIGINT)
    assert finish(process)[0] == 130


def test_a_folder_of_photos_is_checked_with_rue_s_own_runner(rue, own_photos):
    words = ["--batch-size", "2,4", "--num-workers", "0,1", "--model", "sleep:5ms/image", "--images", "40"]
    assert rue("tune", own_photos, *words, "--budget", "30s", "--out", "out").returncode == 0
    done = rue("check", "out", "--budget", "4s")
    assert done.returncode in (0, 5), done.stderr  # how fast a busy machine is, is nobody's fault
    lines = done.stdout.replace("\n", " ")
    assert wording.RAW_FOLDER in lines and re.search(r"trials +measured / expected time", lines)
    assert wording.ITS_DATA_WERE_A_CONVERTED in lines, "the converted sample is gone"
    moved = rue.folder / "moved"
    shutil.copytree(own_photos, moved)
    next(iter(sorted(moved.rglob("*.jpg")))).unlink()
    assert wording.THE_DATA_ARE_NOT in rue("check", "out", moved, "--budget", "4s").stdout.replace("\n", " ")
    for photo in moved.rglob("*.jpg"):
        photo.write_bytes(photo.read_bytes()[:300])
    expect_failure(rue("check", "out", moved, "--budget", "4s"), 3, "--bad-images replace")
    expect_failure(rue("check", "out", rue.folder / "gone"), 3, "gone")


@pytest.mark.parametrize("more, code", [([], 0), (["--speed", "0.33"], 5)])
def test_checks_on_a_simulated_machine_are_correct(rue, simulator, more, code):
    command = f"/usr/bin/python3 {simulator} --seed 3"
    assert rue("tune", "--runner", command, "--strategy", "duel", "--out", "out", "--budget", "600s").returncode == 0
    done = rue("check", "out", "--runner", " ".join([command, "--noise-seed", "7", *more]))
    assert done.returncode == code, (done.stdout, done.stderr)
