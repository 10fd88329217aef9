"""pin_memory where a runner's models take longer for batches that do not lie in page-locked memory: copies are part of it.
Real copies, on a GPU of the tests: test_cuda.py."""
import json
import math

import jsonschema
import pytest

import wording
from conftest import ROOT, expect_failure, make_table, rankings, read_json

BATCHES, WORKERS, PAGEABLE_NS = [16, 32, 64, 128], [1, 2, 4, 8], 400000


def time_ns(model, batch, _):
    """Loading takes no time, as the trials without a model say."""
    return 1000000 + 9000000 // batch + (model == "bee") * 300000


def machine(script, pins=(True, False), **more):
    space = dict(batch_size=BATCHES, num_workers=WORKERS, **(dict(pin_memory=list(pins)) if pins else {}))
    return script(make_table(["ape", "bee"], BATCHES, WORKERS, time_ns), space=space, pageable_ns=PAGEABLE_NS, **more)


def recommendation(path):
    document = read_json(path)
    jsonschema.validate(document, json.loads((ROOT / "reports/recommendation.schema.json").read_text()))
    return document["recommendations"][0]


def worst_miss(found):
    """By how much the time of any configuration, measured or predicted, misses the truth, in logarithms."""
    worst = 0
    for row in found["configs"]:
        knobs = row["config"]
        for model, ns in row["end_to_end_ns"].items():
            each = time_ns(model, knobs["batch_size"], knobs["num_workers"]) + (not knobs.get("pin_memory", True)) * PAGEABLE_NS
            worst = max(worst, abs(math.log(ns / each / found["job_images"])))
    return worst


@pytest.mark.parametrize("measures", [["joint", "load", "compute"], ["joint"]])
def test_auto_predicts_that_pinning_is_better(rue, script, measures):
    one = machine(script, measures=measures)
    done = rue("tune", "--runner", one.command, "--out", "out", "--budget", "40trials")
    assert done.returncode == 0 and wording.STRATEGY_DUEL in " ".join(done.stderr.split()), done.stderr
    found = recommendation(rue.folder / "out/recommendation.json")
    assert found["config"]["pin_memory"] is True and len(found["configs"]) == 2 * len(BATCHES) * len(WORKERS)
    computed = {(trial["model"], trial["pin_memory"]) for trial in one.requests() if trial["measure"] == "compute"}
    assert len(measures) == 1 or computed == {(model, pinned) for model in ("ape", "bee") for pinned in (True, False)}
    of_all = {row["config"]["pin_memory"]: row for row in found["configs"]
              if row["config"] == dict(found["config"], pin_memory=row["config"]["pin_memory"])}
    for model in ("ape", "bee"):
        assert of_all[False]["end_to_end_ns"][model] > 1.05 * of_all[True]["end_to_end_ns"][model]
    assert all("pageable" in model for model in found["forecast"]["models"])


def test_estimates_of_both_values_are_a_prior(rue, script):
    one = machine(script)
    words = ["tune", "--runner", one.command, "--budget", "120trials", "--strategy", "duel"]
    assert rue(*words, "--out", "first").returncode == 0
    done = rue(*words, "--out", "second", "--prior", "first/recommendation.json")
    assert done.returncode == 0 and wording.WITH_ITS_ESTIMATES_OF_THE_LOADER.format(2, 2) in " ".join(done.stderr.split()), done.stderr
    assert recommendation(rue.folder / "second/recommendation.json")["config"]["pin_memory"] is True


def test_a_forecast_that_cannot_be_read_is_replaced_by_the_times(rue, script):
    one = machine(script)
    assert rue("tune", "--runner", one.command, "--budget", "40trials", "--strategy", "duel", "--out", "out").returncode == 0
    document = read_json(rue.folder / "out/recommendation.json")
    document["recommendations"][0]["forecast"]["models"][1]["pageable"]["cpu_ratio"] = "many"
    (rue.folder / "edited.json").write_text(json.dumps(document))
    done = rue("tune", "--runner", one.command, "--prior", "edited.json", "--out", "other")
    assert done.returncode == 0 and "2 of 2 models" in done.stderr, done.stderr
    assert recommendation(rue.folder / "other/recommendation.json")["config"]["pin_memory"] is True


def test_torch_gets_pin_memory_if_its_runner_has_it(rue, script):
    for pins, value in (((True,), True), ((), None), ((True, False), True)):
        one = machine(script, pins, hello=dict(loader="torch"))
        done = rue("tune", "--runner", one.command, "--out", "out", "--fresh", "--strategy", "grid", "--budget", "5m")
        assert done.returncode == 0, done.stderr
        found = recommendation(rue.folder / "out/recommendation.json")
        assert found["torch"].get("pin_memory") is value is found["config"].get("pin_memory")
        assert worst_miss(found) < 1e-3


def test_a_runner_without_pin_memory_never_receives_it(rue, script):
    done = rue("tune", "--runner", machine(script, ()).command, "--pin-memory", "true,false", "--out", "out")
    expect_failure(done, 2, "--pin-memory: the runner scripted 1.0 cannot vary it")


def test_a_table_may_have_pin_memory(rue):
    rows = [f"{b},{w},{p},{(time_ns('ape', b, w) + (p == 'False') * PAGEABLE_NS) / 1e6}" for b in BATCHES for w in WORKERS
            for p in ("True", "False")]
    (rue.folder / "times.csv").write_text("\n".join(["batch_size,num_workers,pin_memory,time_s", *rows]) + "\n")
    (found,) = rankings(json.loads(rue("analyze", "times.csv", "--json").stdout)).values()
    values = [row["config"]["pin_memory"] for row in found["configs"]]
    assert len(values) == 32 and values[0] is True and values[-1] is False
    done = rue("tune", "--table", "times.csv", "--strategy", "duel", "--budget", "25trials", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert recommendation(rue.folder / "out/recommendation.json")["config"]["pin_memory"] is True
    (rue.folder / "times.csv").write_text("batch_size,num_workers,pin_memory,time_s\n32,2,yes,5\n")
    expect_failure(rue("analyze", "times.csv"), 3, "'yes'", "is neither false nor true")
