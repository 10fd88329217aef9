"""rue tune beside another program that takes CPUs: its trials are corrected, count less, and are reported."""
import contextlib
import json
import sqlite3

import jsonschema
import pytest

import wording
from conftest import ROOT, read_json, true_regrets

NEIGHBOUR = f"/usr/bin/python3 {ROOT}/tests/bench/neighbour.py --mode raw --seed 2"


def tune(rue, options, *words, code=0):
    regrets, whole_s = true_regrets(NEIGHBOUR)
    done = rue("tune", "--runner", f"{NEIGHBOUR} {options}", "--strategy", "duel", "--out", "out", "--budget", f"{round(150 * whole_s)}ms", *words,
               env=dict(RUE_ACCEPT_BUSY="false", RUE_REPEATS=None))
    assert done.returncode == code, done.stderr
    document = read_json(rue.folder / "out/recommendation.json")
    jsonschema.validate(document, json.loads((ROOT / "reports/recommendation.schema.json").read_text()))
    (answer,) = document["recommendations"]
    excess = regrets[answer["config"]["batch_size"], answer["config"]["num_workers"]] - min(regrets.values())
    return document, answer, excess, " ".join(done.stdout.split())


def test_a_neighbour_in_bursts_leaves_the_answer_and_its_bound(rue):
    document, answer, excess, said = tune(rue, "--neighbour 0.25")
    contention = document["contention"]
    assert 0.05 < contention["contended_ratio"] <= contention["affected_ratio"] < 0.5 and contention["has_clean_pair"]
    assert 0.5 < contention["other_cpus"] <= 1 and contention["cpus"] == 2
    assert not document["low_confidence"]
    assert said.startswith("Use") and excess <= answer["certificate"]["bound_ratio"]
    assert wording.OTHER_PROGRAMS_USED_OF_CPUS.format(f"{contention['other_cpus']:.2g}", 2) in said
    assert wording.OTHER_PROGRAMS_USED_OF_CPUS.format(f"{contention['other_cpus']:.2g}", 2) in " ".join(rue("show", "out").stdout.split())
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db")) as db:
        used, idle = db.execute("SELECT avg(cpu_ratio), avg(cpu_idle_ratio) FROM ok_trial WHERE measure = 'load'").fetchone()
    assert 0.5 < used <= 2 and 0 <= idle < 1


def test_a_machine_alone_is_not_contended(rue):
    document, answer, excess, said = tune(rue, "")
    assert document["contention"] is None and wording.OTHER_PROGRAMS_USED not in said
    assert excess <= answer["certificate"]["bound_ratio"]


def test_a_neighbour_all_the_time_makes_the_answer_not_reliable(rue):
    document, answer, _, said = tune(rue, "--neighbour 0.95", code=5)
    assert said.startswith(wording.NOT_RELIABLE_OTHER_PROGRAMS) and document["low_confidence"]
    assert document["decided"] is answer["decided"] is False and answer["why_not"] in said
    assert all(row["gain"] is None for row in answer["baselines"]["rows"])
    assert answer["config"] and answer["certificate"] is None and answer["interval"] is None
    assert wording.NOT_RELIABLE_OTHER_PROGRAMS in " ".join(rue("show", "out").stdout.split())
    why = json.loads(rue("why", "out", "--num-workers", "1", "--json").stdout)["variants"][0]
    assert why["time_ratio"] is why["confidence"] is why["loading_speedup_ratio"] is None and not why["changes"]
    assert wording.NOT_RELIABLE_OTHER_PROGRAMS in " ".join(why["sentences"])
    assert wording.EVERY_MODEL_IS_WITHIN not in rue("show", "out", "--details").stdout
    assert [study["state"] for study in json.loads(rue("list", ".", "--json").stdout)] == ["not reliable"]
    document, answer, _, accepted = tune(rue, "--neighbour 0.95", "--accept-busy")
    assert document["decided"] and document["low_confidence"] and answer["why_not"] is None and answer["certificate"] is None
    assert accepted.startswith(wording.NOT_RELIABLE_OTHER_PROGRAMS)


FEW = ["--batch-size", "64", "--num-workers", "4,8"]


@pytest.mark.parametrize("words", [["--strategy", "auto"], ["--strategy", "grid", "--repeats", "1"]])
def test_a_grid_beside_a_neighbour_is_not_reliable_either(rue, words):
    document, answer, _, said = tune(rue, "--neighbour 0.95", *words, *FEW, code=5)
    assert document["provenance"]["strategy"]["name"] == "grid" and document["low_confidence"] and not document["decided"]
    assert said.startswith(wording.NOT_RELIABLE_OTHER_PROGRAMS) and answer["certificate"] is None and answer["interval"] is None
    document, *_ = tune(rue, "--neighbour 0.95", *words, *FEW, "--accept-busy")
    assert document["decided"] and document["low_confidence"]


def test_a_grid_is_not_corrected_for_a_neighbour_in_bursts(rue):
    document, _, _, said = tune(rue, "--neighbour 0.15", "--strategy", "grid", "--budget", "10h")
    contention = document["contention"]
    assert 0 < contention["contended_ratio"] <= contention["affected_ratio"] < 0.5 and contention["has_clean_pair"]
    assert said.startswith("Use") and wording.TRIALS_ARE_NOT_CORRECTED in said


@pytest.mark.parametrize("clock", ["--no-cpu", "--no-idle"])
def test_without_cpu_times_there_is_an_answer_and_a_bound(rue, clock):
    document, answer, excess, _ = tune(rue, f"--neighbour 0.25 {clock}")
    assert document["contention"] is None or document["contention"]["contended_ratio"] == 0
    assert excess <= answer["certificate"]["bound_ratio"]
