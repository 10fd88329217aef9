"""rue tune --prior: what an earlier study found out is where a later one starts."""
import csv
import json
import os
import shutil

import jsonschema
import pytest

import wording
from conftest import ROOT, Rue, Script, expect_failure, make_table, read_json

BATCHES, WORKERS, MODELS = [16, 32, 64, 128], [1, 2, 4, 8, 16], ["ape", "bee", "cow", "dog"]


def time_ns(model, batch, workers):
    return 4000000 // min(workers, 6) + workers * 20000 + 9000000 // batch + MODELS.index(model) * 400000


def duel(rue, runner, out, *words):
    done = rue("tune", "--runner", runner.command, "--strategy", "duel", "--out", out, "--budget", "300s", *words)
    assert done.returncode == 0, done.stderr
    return done


def make_runner(folder):
    return Script(folder, make_table(MODELS, BATCHES, WORKERS, time_ns), load_ns=3500000,
                  hello=dict(machine=dict(cpu="one", usable_cpus=64)))


@pytest.fixture
def runner(tmp_path):
    return make_runner(tmp_path)


@pytest.fixture(scope="module")
def measured(program, tmp_path_factory):
    """The folder of a study of this runner, and what the runner was asked for."""
    rue = Rue(program, tmp_path_factory.mktemp("measured"))
    runner = make_runner(rue.folder)
    duel(rue, runner, "out")
    return rue.folder / "out", probes(runner)


@pytest.fixture
def first(rue, measured):
    """Such a study in "out"; its probes."""
    shutil.copytree(measured[0], rue.folder / "out")
    return measured[1]


def probes(runner):
    """How often each measure but joint was asked for; load before the first joint trial, as references come later."""
    asked = [request["measure"] for request in runner.requests()]
    return asked[:asked.index("joint")].count("load"), asked.count("compute")


@pytest.mark.usefixtures("first")
def test_a_study_that_predicts_stores_estimates_for_later_studies(rue):
    document = read_json(rue.folder / "out/recommendation.json")
    jsonschema.validate(document, json.loads((ROOT / "reports/recommendation.schema.json").read_text()))
    found = document["recommendations"][0]
    assert [model["model"] for model in found["forecast"]["models"]] == MODELS
    assert all(model["compute"] and model["profile"] is None for model in found["forecast"]["models"])
    assert len(found["forecast"]["loader"]) == len(found["forecast"]["loader"][0]["log_covariance"])
    assert found["workload"]["transform"] == "eval"


def test_a_study_by_grid_is_a_prior_although_it_has_no_forecast(rue, runner):
    assert rue("tune", "--runner", runner.command, "--strategy", "grid", "--out", "out", "--budget", "9999s").returncode == 0
    assert read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["forecast"] is None
    done = duel(rue, runner, "again", "--prior", "out")
    assert wording.WITH_ITS_ESTIMATES_OF_THE_LOADER.format(4, 4) in done.stderr.replace("\n", " ")


@pytest.mark.usefixtures("first")
def test_a_prior_of_this_machine_is_reported_and_its_answer_is_measured_again(rue, runner):
    done = duel(rue, runner, "again", "--prior", "out/recommendation.json")
    assert wording.A_STUDY_OF_THIS_MACHINE_AND_THESE in done.stderr.replace("\n", " ")
    config = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["config"]
    joint = [r["cell"] for r in runner.requests() if r["measure"] == "joint"]
    assert f"{config['batch_size']}/{config['num_workers']}" in joint, joint


@pytest.mark.usefixtures("first")
def test_batches_of_another_type_are_other_data(rue, runner):
    runner.write(opened=dict(batch_dtype="uint8"))
    done = duel(rue, runner, "again", "--prior", "out", "--batch-dtype", "uint8")
    assert wording.A_STUDY_OF_THIS_MACHINE_WITH_OTHER in done.stderr.replace("\n", " "), done.stderr


def test_a_prior_saves_most_probes_on_a_simulated_machine(rue, simulator):
    def probes(out, noise, *words):
        done = rue("tune", "--runner", f"/usr/bin/python3 {simulator} --seed 3 --noise-seed {noise}", "--strategy", "duel",
                   "--out", out, "--budget", "600s", *words)
        assert done.returncode == 0, done.stderr
        measures = [row["measure"] for row in csv.DictReader((rue.folder / out / "trials.csv").open())]
        return measures[:measures.index("joint")]

    first, again = probes("out", 7), probes("again", 8, "--prior", "out")
    assert again.count("load") <= first.count("load") / 2 and again.count("compute") <= first.count("compute") / 2


def test_models_that_have_changed_are_each_probed_once(rue, runner, first):
    runner.write(ns_per_image=make_table(MODELS, BATCHES, WORKERS, lambda *cell: 2 * time_ns(*cell)))
    duel(rue, runner, "again", "--prior", "out")
    assert probes(runner)[1] == len(MODELS), (first, probes(runner))


def test_a_prior_of_another_machine_is_only_a_first_guess(rue, runner, first):
    runner.write(hello=dict(machine=dict(cpu="another", usable_cpus=64)))
    done = duel(rue, runner, "again", "--prior", "out")
    assert wording.A_STUDY_OF_ANOTHER.format(0, 4) in done.stderr.replace("\n", " ")
    assert probes(runner)[0] >= first[0] - 1


def edited(rue, edit):
    document = read_json(rue.folder / "out/recommendation.json")
    edit(document["recommendations"][0])
    (rue.folder / "edited.json").write_text(json.dumps(document))
    return "edited.json"



@pytest.mark.parametrize("edit, words", [
    (lambda part: part.update(measured_with="torch"), "is not used: it was measured with torch, not with scripted"),
    (lambda part: part["variant"].update(mode="preprocessed"), "is not used: it has nothing about raw data"),
    (lambda part: part.update(configs=[], config=None, forecast=None, by_job_images=None, baselines=None), "is not used: the recommendation has no times of a job of known length"),
])
@pytest.mark.usefixtures("first")
def test_useless_priors_are_reported(rue, runner, edit, words):
    done = duel(rue, runner, "again", "--prior", edited(rue, edit))
    assert words in done.stderr.replace("\n", " "), done.stderr


def test_the_variant_of_a_prior_with_the_same_data_is_used(rue, runner):
    """The first is of another dtype, and of no use."""
    runner.write(hello=dict(machine=dict(cpu="one", usable_cpus=64),
                            variants=[dict(path="", mode="preprocessed", format="tensor", dtype="uint8")]))
    duel(rue, runner, "out")
    document = read_json(rue.folder / "out/recommendation.json")
    (own,) = document["recommendations"]
    other = dict(own, measured_with="torch", variant=dict(own["variant"], dtype="float32"))
    (rue.folder / "two.json").write_text(json.dumps(dict(document, recommendations=[other, own])))
    done = duel(rue, runner, "again", "--prior", "two.json")
    assert wording.A_STUDY_OF_THIS_MACHINE_AND_THESE in done.stderr.replace("\n", " "), done.stderr


def test_other_models_and_knobs_keep_the_loader_s_estimates(rue, runner):
    duel(rue, runner, "out", "--model", "ape,bee", "--num-workers", "1,4")
    done = duel(rue, runner, "again", "--model", "cow,dog", "--batch-size", "32,64", "--prior", "out")
    assert wording.WITH_ITS_ESTIMATES_OF_THE_LOADER.format(0, 2) in done.stderr.replace("\n", " ")


@pytest.mark.usefixtures("first")
def test_a_strategy_that_does_not_predict_reports_that_it_ignores_the_prior(rue, runner):
    done = rue("tune", "--runner", runner.command, "--strategy", "grid", "--out", "again", "--budget", "9999s", "--prior",
               "out")
    assert done.returncode == 0 and wording.STRATEGY_GRID_DOES_NOT in done.stderr


@pytest.mark.parametrize("text, words", [
    (None, "cannot open"), ("", "is not JSON"), ("{", "is not JSON"), ("[]", "not a recommendation"),
    ('{"format": "rue.plan/1"}', "format is not rue.recommendation/1"),
    ('{"format": "rue.recommendation/1", "provenance": {}, "recommendations": {}}', "is not"),
    ('{"a": 1, "a": 2}', "duplicate")])
def test_a_prior_that_is_not_a_recommendation_ends_the_run_before_any_output(rue, runner, text, words):
    if text is not None:
        (rue.folder / "prior.json").write_text(text)
    expect_failure(rue("tune", "--runner", runner.command, "--strategy", "duel", "--out", "out", "--prior", "prior.json"), 3,
                   "prior.json", words)
    assert not (rue.folder / "out").exists() and not runner.requests()


def test_a_fifo_as_prior_does_not_block(rue, runner):
    os.mkfifo(rue.folder / "prior.json")
    done = rue("tune", "--runner", runner.command, "--strategy", "duel", "--out", "out", "--prior", "prior.json")
    expect_failure(done, 3, "not a regular file")
