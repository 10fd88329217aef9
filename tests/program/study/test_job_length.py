"""rue tune: for which lengths of the job the answer is another one."""
import csv
import importlib.util
import re

import jsonschema
import pytest

import wording
from conftest import ROOT, error_line, expect_failure, make_table, read_json, read_plan


def recommendation(rue, folder="out"):
    document = read_json(rue.folder / folder / "recommendation.json")
    jsonschema.validate(document, read_json(ROOT / "reports/recommendation.schema.json"))
    return document["recommendations"][0]


def intervals(found):
    """[(from, to, batch_size, num_workers)], without a gap."""
    told = [(i["from_images"], i["to_images"], i["config"]["batch_size"], i["config"]["num_workers"])
            for i in found["by_job_images"]]
    assert all(one[1] + 1 == other[0] for one, other in zip(told, told[1:]))
    own = next(i for i in told if i[0] <= found["job_images"] <= i[1])
    assert own[2:] == (found["config"]["batch_size"], found["config"]["num_workers"])
    return told


def per_image(model, batch, workers):
    """Each worker takes 50 ms to start: none is best below 500 images, two below 2,000, then four."""
    return {0: 500000, 2: 300000, 4: 250000}[workers]


@pytest.fixture
def tune(rue, script):
    one = script(make_table(["ape", "bee"], [10], [0, 2, 4], per_image), start_ns=50_000_000, images=1000)
    return lambda *words: rue("tune", "--runner", one.command, "--strategy", "grid", "--budget", "1h", "--details", *words)


def test_lengths_at_which_the_answer_changes_are_reported(rue, tune):
    done = tune("--out", "out")
    assert done.returncode == 0, done.stderr
    told = intervals(recommendation(rue))
    assert [workers for _, _, _, workers in told] == [0, 2, 4]
    assert told[1][0] == pytest.approx(500, rel=0.1) and told[2][0] == pytest.approx(2000, rel=0.1)
    assert told[0][0] == 10 and told[2][1] == 1000 * 1024
    words = " ".join(done.stdout.split())
    below, beyond = re.search(r"10/0 below (\d+) images, 10/2 below ([\d,]+), then 10/4", words).groups()
    assert int(below) == pytest.approx(told[1][0], rel=0.01) and int(beyond.replace(",", "")) == pytest.approx(told[2][0], rel=0.03)


@pytest.mark.parametrize("images, workers", [(200, 0), (450, 0), (600, 2), (1800, 2), (2300, 4), (20000, 4)])
def test_a_study_of_another_length_agrees_with_the_prediction(rue, tune, images, workers):
    assert tune("--images", images, "--out", "out").returncode == 0
    assert recommendation(rue)["config"]["num_workers"] == workers
    assert [told[3] for told in intervals(recommendation(rue))] == [0, 2, 4]


@pytest.mark.parametrize("epochs, workers", [(1, 2), (2, 4), (20, 4)])
def test_a_job_of_several_epochs_is_as_many_times_the_data(rue, tune, epochs, workers):
    assert read_plan(tune("--epochs", epochs, "--dry-run"))["job"] == f"{epochs * 1000:,} images" + f" ({epochs} epochs)" * (epochs > 1)
    assert tune("--epochs", epochs, "--out", "out").returncode == 0
    found = recommendation(rue)
    assert (found["job_images"], found["config"]["num_workers"]) == (epochs * 1000, workers)


def test_epochs_are_those_of_the_first_data(rue, photos):
    """Of rue's own loader, which loads the images again in each epoch. A typed length replaces that of the settings."""
    assert rue("prepare", photos, "few.tensor", "--subset", "0:16").returncode == 0
    (rue.folder / "rue.json").write_text('{"images": 5}')
    words = ["--epochs", "3", "--model", "none", "--batch-size", "8", "--num-workers", "0,1", "--strategy", "grid", "--out", "out"]
    done = rue("compare", photos, "few.tensor", *words)
    assert done.returncode == 0, done.stderr
    parts = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    assert [part["job_images"] for part in parts] == [144, 144]
    with open(rue.folder / "out/trials.csv") as file:
        assert {row["images"] for row in csv.DictReader(file) if row["measure"] == "joint" and row["status"] == "ok"} == {"144"}
    done = rue("tune", photos, "--mode", "raw", "--cache", "cold", *words[:-1], "cold")
    assert done.returncode == 0 or "remove --epochs" in error_line(done), done.stderr


def test_too_many_epochs_are_refused(rue, script):
    done = rue("tune", "--runner", script(make_table(["ape"], [10], [0, 2], per_image), images=2 ** 30).command, "--epochs", "100000")
    expect_failure(done, 2, "--epochs: 100000 epochs of 1073741824 images are too long a job; give fewer")


def test_one_answer_for_all_lengths_gets_no_sentence(rue, tune):
    done = tune("--num-workers", "2", "--out", "out")
    assert done.returncode == 0 and wording.OTHER_JOB_LENGTHS not in done.stdout
    assert [told[3] for told in intervals(recommendation(rue))] == [2]


def test_other_goals_do_not_depend_on_the_length(rue, tune):
    done = tune("--goal", "throughput", "--out", "out")
    assert done.returncode == 0 and wording.OTHER_JOB_LENGTHS not in done.stdout
    assert recommendation(rue)["by_job_images"] is None


def true_excess(simulator, mode, seed, images, batch, workers):
    """Of the configuration's mean regret over the least one, for a job of so many images on the simulated machine."""
    spec = importlib.util.spec_from_file_location("simulator", simulator)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    machine = module.Machine(mode, seed)
    machine.images = images
    cells = range(len(machine.grid))
    times = [[sum(sum(machine.run(m, c, images, 1000 + k)[:2]) for k in range(4)) for c in cells]
             for m in range(len(machine.models))]
    regret = [sum(row[c] / min(row) - 1 for row in times) / len(times) for c in cells]
    return regret[machine.at[batch, workers]] - min(regret)


@pytest.mark.parametrize("strategy", ["duel", "grid"])
def test_simulated_machines_agree(rue, simulator, strategy):
    pytest.importorskip("numpy")
    runner = f"/usr/bin/python3 {simulator} --mode preprocessed --seed 12"
    budget = "1000s" if strategy == "duel" else "100h"
    assert rue("tune", "--runner", runner, "--strategy", strategy, "--budget", budget, "--out", "out").returncode == 0
    found = recommendation(rue)
    told = intervals(found)
    own = next(i for i, t in enumerate(told) if t[0] <= found["job_images"] <= t[1])
    assert own > 0
    for first, last, batch, workers in told[own - 1:own + 1]:
        middle = round((first * last) ** 0.5 / batch) * batch
        excess = true_excess(simulator, "preprocessed", 12, middle, batch, workers)
        assert excess < 0.03, (middle, told)
