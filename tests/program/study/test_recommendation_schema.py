"""Every recommendation.json that the program writes is what reports/recommendation.schema.json says."""

import copy
import json
import os
import pathlib
import subprocess

import jsonschema
import pytest

import wording
from conftest import make_table, stop

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = pathlib.Path(os.environ.get("RUE_PROGRAM", ROOT / "build/asan/rue"))
WRITER = PROGRAM.resolve().parent / "tests/test_report_json"
NAMES = {"answers", "interval", "plain", "comparison", "sample", "gaps", "nothing", "odd", "torch", "numbers", "empty", "busy", "basis", "baselines"}


def refuse_constant(word):
    raise ValueError(f"{word} is no JSON")


@pytest.fixture(scope="module")
def validator():
    schema = json.loads((ROOT / "reports/recommendation.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """Name -> document, as the unit test of the report renders them."""
    if not WRITER.exists():
        pytest.skip(f"skipped: {WRITER} is not built, set RUE_PROGRAM")
    folder = tmp_path_factory.mktemp("recommendations")
    subprocess.run([WRITER], env={**os.environ, "RUE_TEST_OUT": str(folder)}, check=True, timeout=120)
    return {path.stem: json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse_constant)
            for path in folder.glob("*.json")}


def test_all_documents_are_written(documents):
    assert documents.keys() == NAMES


@pytest.mark.quick
@pytest.mark.parametrize("name", sorted(NAMES))
def test_the_document_is_valid(validator, documents, name):
    errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(documents[name])]
    assert not errors


def expect_refused(validator, document):
    assert not validator.is_valid(document)


def test_the_schema_refuses_unknown_keys(validator, documents):
    for path in ([], ["provenance"], ["recommendations", 0], ["recommendations", 0, "config"],
                 ["recommendations", 0, "configs", 0, "coverage"], ["comparisons", 0]):
        document = copy.deepcopy(documents["plain"])
        part = document
        for step in path:
            part = part[step]
        part["surprise"] = []  # a knob that a runner declares is a word, a number or a flag
        expect_refused(validator, document)


def test_the_schema_refuses_a_document_with_any_key_missing(validator, documents):
    for key in documents["plain"]:
        document = copy.deepcopy(documents["plain"])
        del document[key]
        expect_refused(validator, document)
    for key in documents["plain"]["recommendations"][0]:
        document = copy.deepcopy(documents["plain"])
        del document["recommendations"][0][key]
        expect_refused(validator, document)


def test_torch_arguments_are_written_only_for_torch(validator, documents):
    document = copy.deepcopy(documents["torch"])
    document["recommendations"][0]["measured_with"] = "rue"
    expect_refused(validator, document)
    document = copy.deepcopy(documents["torch"])
    del document["recommendations"][0]["torch"]
    expect_refused(validator, document)


def test_torch_arguments_without_workers_have_no_worker_settings(validator, documents):
    arguments = documents["odd"]["recommendations"][0]["torch"]
    assert arguments == {"batch_size": 64, "num_workers": 0}
    document = copy.deepcopy(documents["odd"])
    document["recommendations"][0]["torch"]["prefetch_factor"] = 2
    expect_refused(validator, document)


def test_an_empty_ranking_needs_a_reason(validator, documents):
    document = copy.deepcopy(documents["nothing"])
    del document["recommendations"][0]["reason"]
    expect_refused(validator, document)


def test_the_schema_names_every_knob(validator, documents):
    """A knob that is added to the program has to be added to the schema: they are strict."""
    knobs = validator.schema["$defs"]["config"]["properties"].keys()
    assert documents["plain"]["recommendations"][0]["config"].keys() == knobs


# ---- what the whole program writes ----

TABLE = make_table(["ape", "bee"], [16, 32], [0, 2], lambda model, batch, workers: 1000 + batch + workers)
JOINT = dict(measure="joint")


def tuned(rue, *words, code=0):
    """The document of a run of the program, the one on standard output; the file has to be the same."""
    done = rue("tune", *words, "--json", "--quiet", "--out", "out")
    assert done.returncode == code, done.stderr
    assert done.stdout == (rue.folder / "out/recommendation.json").read_text()
    return json.loads(done.stdout, parse_constant=refuse_constant)


def expect_valid(validator, document):
    errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]
    assert not errors


@pytest.mark.quick
def test_a_run_on_photos_is_valid(validator, rue, photos):
    """Raw and preprocessed, with all the default models."""
    document = tuned(rue, photos, "--batch-size", "4,8", "--num-workers", "0,1", "--images", "16", "--sample", "16",
                     "--budget", "5m")
    expect_valid(validator, document)
    assert [r["variant"]["mode"] for r in document["recommendations"]] == ["raw", "preprocessed"]
    assert len(document["comparisons"]) == 1 and len(document["recommendations"][0]["models"]) == 4
    assert not document["partial"] and all(r["config"] and r["verified"] == "full" for r in document["recommendations"])


@pytest.mark.parametrize("words, changes, code", [
    ([], {}, 0), (["--repeats", "3", "--top-n", "1"], {}, 0), (["--drop-last"], {}, 0),
    (["--budget", "3s"], dict(images=10**6), 0),
    ([], dict(infeasible_above=16), 0),
    ([], dict(hello=dict(loader="torch")), 0),
    ([], dict(hello=dict(machine=None, clock="real")), 0),
    ([], dict(opened=dict(digest=None, bytes=None, cache="as-is")), 0),
    ([], dict(faults=[dict(when=dict(JOINT, model="bee", cell="32/2"), do="exit", code=3)]), 0),
    ([], dict(faults=[dict(when=JOINT, do="answer", answer=dict(status="infeasible", reason="no \u2603 room"))]), 4),
    ([], dict(faults=[dict(when=JOINT, do="answer", answer=dict(status="failed"))]), 4),
], ids=["plain", "repeats", "drop_last", "truncated", "infeasible", "torch", "unknown_machine", "unknown_data", "failed",
        "nothing", "all_failed"])
def test_a_run_of_a_scripted_runner_is_valid(validator, rue, script, words, changes, code):
    document = tuned(rue, "--runner", script(TABLE, **changes).command, *words, code=code)
    expect_valid(validator, document)
    (only,) = document["recommendations"]
    assert (only["config"] is None) == (code != 0) == ("reason" in only)
    assert ("torch" in only) == ("loader" in changes.get("hello", {}))


def test_an_interrupted_run_is_valid(validator, rue, script):
    one = script(TABLE, delay_s=0.05)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out")
    one.wait_for(4, process)
    code, out, err = stop(process)
    assert code == 130, err
    document = json.loads((rue.folder / "out/recommendation.json").read_text(), parse_constant=refuse_constant)
    expect_valid(validator, document)
    assert document["partial"] and document["partial_reason"].startswith("interrupted after")


def test_a_run_that_ends_before_anything_is_ranked_is_valid(validator, rue, script):
    """The probes promise that it fits; the first trial takes all of the budget."""
    slow = make_table(["ape", "bee"], [16], [1], lambda model, batch, workers: 10**9)
    one = script(slow, faults=[dict(when=dict(measure="compute"), do="answer", answer=dict(compute_ns=32))])
    document = tuned(rue, "--runner", one.command, "--budget", "2m", code=5)
    expect_valid(validator, document)
    assert document["partial"] and wording.NOT_MEASURED in document["recommendations"][0]["reason"]
