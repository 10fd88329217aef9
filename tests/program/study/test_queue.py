"""The knobs of rue's own loader that have no option of their own, by --knob: max_queue_size, read and batch_strategy."""
import csv
import json
import os
import sqlite3
import subprocess

import jsonschema
import pytest

import wording
from conftest import ROOT, expect_failure, make_table, read_json

WORDS = ["--model", "resnet18", "--strategy", "grid", "--batch-size", "4", "--num-workers", "1,2", "--quiet", "--out", "out", "--mode", "raw"]


def test_they_are_searched_stored_and_reported(rue, photos):
    done = rue("tune", photos, *WORDS, "--knob", "max_queue_size=0,1", "--knob", "read=batch,item")
    assert done.returncode == 0, done.stderr
    document = read_json(rue.folder / "out/recommendation.json")
    jsonschema.validate(document, json.loads((ROOT / "reports/recommendation.schema.json").read_text()))
    space = {(row["config"]["num_workers"], row["config"]["max_queue_size"], row["config"]["read"]) for row in document["recommendations"][0]["configs"]}
    assert space == {(workers, size, read) for workers in (1, 2) for size in (0, 1) for read in ("batch", "item")}
    with open(rue.folder / "out/trials.csv", newline="") as file:
        assert {(row["max_queue_size"], row["read"]) for row in csv.DictReader(file)} >= {("1", "batch"), ("0", "item")}
    with sqlite3.connect(rue.folder / "out/study.db") as db:
        assert {row[0] for row in db.execute("SELECT max_queue_size FROM ok_trial")} == {0, 1}


@pytest.mark.parametrize("words, said", [
    (["--knob", "max_queue_size=-1"], "whole number"),
    (["--knob", "max_queue_size=99999"], "'99999' is not a list of whole numbers from 0 to 16384"),
    (["--knob", "read=both"], "auto, batch or item"),
    (["--knob", "batch_strategy=robin"], "fixed, round-robin, memory or adaptive"),
    (["--knob", "read=batch", "--knob", "read=item"], "given twice")])
def test_wrong_values_are_refused(rue, photos, words, said):
    expect_failure(rue("tune", photos, *WORDS, *words), 2, said)


def test_a_runner_of_another_loader_does_not_have_them(rue, script):
    one = script(make_table(["ape"], [8], [1], lambda *_: 1000), space=dict(batch_size=[8], num_workers=[1]))
    expect_failure(rue("tune", "--runner", one.command, "--out", "out", "--knob", "max_queue_size=1"), 2, "cannot vary it")


def test_batch_strategies_are_compared_with_fixed_batches(rue, photos):
    done = rue("tune", photos, *WORDS[:-4], "--mode", "raw", "--out", "out", "--knob", "batch_strategy=fixed,round-robin,memory,adaptive")
    assert done.returncode == 0, done.stderr
    assert wording.BATCHES_OF_THE_STRATEGY in " ".join(done.stdout.split()), done.stdout
    with sqlite3.connect(rue.folder / "out/study.db") as db:
        rows = db.execute("SELECT batch_images, images, batches FROM trial WHERE batch_images IS NOT NULL").fetchall()
    assert len(rows) >= 8
    for sizes, images, batches in rows:
        sizes = json.loads(sizes)
        assert sum(sizes) == images and len(sizes) == batches and all(1 <= size <= 4 for size in sizes)


def test_compare_says_whether_changing_sizes_are_faster(rue, photos):
    assert rue("prepare", photos, "photos.tensor", "--quiet").returncode == 0
    done = rue("compare", photos, "photos.tensor", "--model", "resnet18", "--batch-size", "4", "--num-workers", "1", "--out", "out", "--budget", "1m",
               "--knob", "batch_strategy=fixed,memory", "--knob", "max_queue_size=1,2")
    assert done.returncode == 0, done.stderr
    assert " ".join(done.stdout.split()).count("Batches of the strategy memory") == 2, done.stdout


def test_the_commands_of_the_page_let_data_sets_take_turns(rue, program):
    """Data sets of unequal size, as a folder of links and as shards in two folders."""
    (rue.folder / "shards").mkdir()
    for name, images in ("coco", "24"), ("places", "9"):
        assert rue("prepare", "--synthetic", images, name, "--quiet").returncode == 0
        assert rue("prepare", name, f"shards/{name}", "--format", "webdataset", "--shard-size", "400K", "--quiet").returncode == 0
        for shard in (rue.folder / "shards" / name).iterdir():
            shard.rename(rue.folder / name / shard.name)
    page = (ROOT / "docs/tuning.md").read_text().split("### Several data sets in turn")[1].split("```sh\n")[1].split("```")[0]
    last = min(len(list((rue.folder / name).glob("*.tar"))) for name in ("coco", "places")) - 1
    commands = page.replace("000009", f"{last:06}")
    settings = dict(RUE_MODEL="resnet18", RUE_STRATEGY="grid", RUE_BATCH_SIZE="4", RUE_NUM_WORKERS="1", RUE_MODE="raw")
    done = subprocess.run(["sh", "-ec", commands], cwd=rue.folder, capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, **settings, PATH=f"{program.parent}:{os.environ['PATH']}"))
    assert done.returncode == 0, done.stderr
    studies = sorted((rue.folder / "rue-out").iterdir())
    assert len(studies) == 2, done.stderr
    for study in studies:
        with sqlite3.connect(study / "study.db") as db:
            assert "round-robin" in {row[0] for row in db.execute("SELECT batch_strategy FROM ok_trial")}
    classes = json.loads(rue("inspect", "mix", "--json").stdout)["classes"]
    assert classes == [dict(name="coco", items=24), dict(name="places", items=9)], "the labels are the data sets"
