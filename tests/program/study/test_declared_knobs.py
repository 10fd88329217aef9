"""What only the runner knows: knobs, declared in its hello, asked for by --knob, searched, stored, ranked and shown; remarks on its data."""
import csv
import json
import sqlite3

import jsonschema
import pytest

import wording
from conftest import ROOT, edit_store, expect_failure, flat, has_answer, make_table, read_json, read_plan

TABLE = make_table(["ape", "bee"], [16, 32, 64], [1, 2, 4], lambda model, batch, workers: 1000 + 3200 // batch + 400 // workers)
CONTEXT = dict(name="multiprocessing_context", kind="category", values=["fork", "spawn", "forkserver"], default="fork",
               needs_workers=True, pytorch="multiprocessing_context", help="how workers are started")
CHUNK = dict(name="chunk_mib", kind="number", values=[4, 0.5, 1], default=1)
DEPTH = dict(name="queue_depth", kind="count", min=1, max=64, default=8)
SYNC = dict(name="sync", kind="flag")
KNOBS = [CONTEXT, CHUNK, DEPTH, SYNC]
FACTORS = dict(multiprocessing_context=dict(fork=1, spawn=0.8, forkserver=1.1), chunk_mib={"0.5": 1.2, "1.0": 1, "4.0": 0.9},
               queue_depth={"8": 1, "16": 0.95}, sync={"False": 1, "True": 1.3})


@pytest.fixture
def runner(script):
    return lambda knobs=KNOBS, **more: script(TABLE, hello=dict(knobs=knobs, loader="torch"), knob_factors=FACTORS, **more).command


@pytest.mark.parametrize("strategy", ["grid", "duel"])
def test_the_best_value_is_found_and_reported_everywhere(rue, runner, strategy):
    words = ["--knob", "multiprocessing_context=fork,spawn", "--knob", "chunk_mib=0.5,4", "--strategy", strategy]
    done = rue("tune", "--runner", runner(), "--quiet", "--out", "out", "--budget", "10h", *words)
    assert has_answer(done), done.stderr
    assert "multiprocessing_context" in done.stdout and "spawn" in done.stdout
    report = read_json(rue.folder / "out/recommendation.json")
    (best,) = report["recommendations"]
    assert (best["config"]["multiprocessing_context"], best["config"]["chunk_mib"]) == ("spawn", 4)
    assert best["config"]["queue_depth"] == 8 and best["config"]["sync"] is False
    assert ("torch" in best) == report["decided"], "arguments are those of a decided answer"
    assert not report["decided"] or best["torch"]["multiprocessing_context"] == "spawn" and "chunk_mib" not in best["torch"]
    assert [knob["name"] for knob in report["knobs"] if not knob.get("absent")] == [knob["name"] for knob in KNOBS]
    rows = list(csv.DictReader((rue.folder / "out/trials.csv").open()))
    assert {row["multiprocessing_context"] for row in rows} == {"fork", "spawn"}
    assert {row["chunk_mib"] for row in rows} <= {"0.5", "4"}
    shown = json.loads(rue("show", "out", "--json").stdout)
    assert shown["recommendations"][0]["config"] == best["config"]


def test_trials_with_declared_knobs_are_stored_reused_and_ranked_separately(rue, runner, script):
    words = ["tune", "--runner", runner(), "--quiet", "--out", "out", "--budget", "10h", "--strategy", "grid",
             "--knob", "sync=false,true;queue_depth=8,16", "--batch-size", "16,32"]
    assert rue(*words).returncode == 0
    first = read_json(rue.folder / "out/recommendation.json")
    assert rue(*words).returncode == 0
    again = read_json(rue.folder / "out/recommendation.json")
    assert again["provenance"]["reused_trials"] > 0
    assert again["recommendations"][0]["config"] == first["recommendations"][0]["config"]
    with sqlite3.connect(rue.folder / "out/study.db") as store:
        store.execute("DELETE FROM trial WHERE id = (SELECT max(id) FROM trial)")
        texts = {config for (config,) in store.execute("SELECT config FROM trial")}
    assert any('"sync":true' in text and '"queue_depth":16' in text for text in texts)
    (found,) = json.loads(rue("show", "out", "--json").stdout)["recommendations"]
    assert found["config"]["queue_depth"] == 16 and found["config"]["sync"] is False


def test_knobs_that_the_loader_lacks_are_shown_nowhere(rue, runner):
    """Its space names none of rue's own but the two."""
    words = ["tune", "--runner", runner(), "--out", "out", "--budget", "10h"]
    own = {"batch_size", "num_workers", *(knob["name"] for knob in KNOBS)}
    plan = read_plan(rue(*words, "--dry-run"))
    assert {name.replace("-", "_") for name in plan} >= own - {"multiprocessing_context"}, plan  # too long for its column
    assert not {"parallelism", "pin-memory", "read"} & set(plan)
    assert rue(*words).returncode == 0
    written = read_json(rue.folder / "out/recommendation.json")
    jsonschema.validate(written, read_json(ROOT / "reports/recommendation.schema.json"))
    edit_store(rue.folder / "out/study.db", "DELETE FROM trial WHERE id = (SELECT max(id) FROM trial)")  # it is ranked again
    for document in (written, json.loads(rue("show", "out", "--json").stdout)):
        (part,) = document["recommendations"]
        assert set(part["config"]) == own and all(set(row["config"]) == own for row in part["configs"])
        assert {knob["name"] for knob in document["knobs"] if knob.get("absent")} >= {"parallelism", "max_queue_size"}
    done = rue("check", "out", "--runner", runner(), "--json")
    assert set(json.loads(done.stdout)["checks"][0]["config"]) == own, done.stderr


def test_only_defaults_are_tried_without_the_option(rue, runner):
    done = rue("tune", "--runner", runner(), "--quiet", "--out", "out", "--budget", "10h")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((rue.folder / "out/trials.csv").open()))
    assert {(row["multiprocessing_context"], row["chunk_mib"], row["queue_depth"], row["sync"]) for row in rows} == \
        {("fork", "1", "8", "false")}


def test_a_baseline_may_name_declared_knobs(rue, runner):
    expect_failure(rue("tune", "--runner", runner(), "--out", "no", "--baseline", "sync=maybe"), 2,
                   "sync must be false or true, not 'maybe'")
    done = rue("tune", "--runner", runner(), "--quiet", "--out", "out", "--budget", "10h", "--knob",
               "multiprocessing_context=fork,spawn", "--baseline", "batch_size=16,num_workers=2,multiprocessing_context=fork")
    assert done.returncode == 0, done.stderr
    assert "multiprocessing_context" in done.stdout


@pytest.mark.parametrize("words, says", [
    (["--knob", "multiprocessing_contxt=fork"], "--knob: the runner scripted 1.0 does not declare the knob multiprocessing_contxt: did you mean"),
    (["--knob", "multiprocessing_context=frk"], "--knob: 'frk' is not a value of multiprocessing_context; known: fork, spawn or forkserver: did you mean"),
    (["--knob", "chunk_mib=2"], "known: 0.5, 1 or 4"),
    (["--knob", "queue_depth=0..4"], "whole numbers from 1 to 64"),
    (["--knob", "sync"], "'sync' is not NAME=LIST"),
    (["--knob", "sync=true", "--knob", "sync=false"], "given twice"),
])
def test_values_that_were_not_declared_are_refused(rue, runner, words, says):
    expect_failure(rue("tune", "--runner", runner(), "--out", "out", *words), 2, says)
    assert not (rue.folder / "out").exists()


@pytest.mark.parametrize("knob, says", [
    (dict(name="batch_size", kind="count"), "batch_size is declared twice, or is one of rue's own"),
    (dict(name="batch_size", absent=True), 'batch_size: "absent" is true, but every loader has it'),
    (dict(name="num_workers", absent=True), 'num_workers: "absent" is true, but every loader has it'),
    (dict(name="a b", kind="flag"), "'a b' is not a name"),
    (dict(name="x", kind="list"), 'a knob needs "name", and "kind"'),
    (dict(kind="flag"), 'a knob needs "name", and "kind"'),
    (dict(name="x", kind="category"), '"values" must be'),
    (dict(name="x", kind="category", values=["a", "a"]), "the value a is listed twice"),
    (dict(name="x", kind="category", values=["a", 1]), '"values" must be'),
    (dict(name="x", kind="number", values=["a"]), '"values" must be'),
    (dict(name="x", kind="category", values=["a"], default="b"), '"default" is not one of its values'),
    (dict(name="x", kind="count", min=5, max=2), '"values" must be'),
    (dict(name="x", kind="category", values=["w" * 60]), '"values" must be 1 to 32 words of at most 47 bytes'),
    (dict(name="x", kind="category", values=["a;b"]), "the value 'a;b' is empty, or has a comma, semicolon, quote or backslash"),
])
def test_an_invalid_declaration_is_refused(rue, runner, knob, says):
    expect_failure(rue("tune", "--runner", runner([knob]), "--out", "out"), 1, "hello.knobs: ", says)


@pytest.mark.parametrize("note", ["It ends with a full stop.", "A short one. " * 46 + "The last one"], ids=["short", "long"])
def test_a_note_on_the_data_is_shown_and_kept(rue, script, note):
    done = rue("tune", "--runner", script(TABLE, opened=dict(note=note)).command, "--quiet", "--out", "out")
    assert done.returncode == 0 and wording.THE_RUNNERS_DATA.format(note) in flat(done.stderr), done.stderr
    sentence = f"Note: {note.rstrip('.')}. "
    assert sentence in flat(done.stdout) and sentence in flat(rue("show", "out").stdout)
    assert read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["note"] == note
    assert note[-12:] in (rue.folder / "out/report.html").read_text()
