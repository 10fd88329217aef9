"""Every recommendation.json that the program writes is what reports/recommendation.schema.json says."""

import copy
import json
import os
import pathlib
import subprocess

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("RUE_PROGRAM", ROOT / "build/asan/rue"))
WRITER = PROGRAM.resolve().parent / "tests/test_report_json"
NAMES = {"plain", "comparison", "sample", "gaps", "nothing", "odd", "torch", "numbers", "empty"}


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


@pytest.mark.parametrize("name", sorted(NAMES))
def test_the_document_is_valid(validator, documents, name):
    errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(documents[name])]
    assert not errors


def expect_refused(validator, document):
    assert not validator.is_valid(document)


def test_the_schema_refuses_keys_that_it_does_not_name(validator, documents):
    for path in ([], ["provenance"], ["recommendations", 0], ["recommendations", 0, "config"],
                 ["recommendations", 0, "configs", 0, "coverage"], ["comparisons", 0]):
        document = copy.deepcopy(documents["plain"])
        part = document
        for step in path:
            part = part[step]
        part["surprise"] = 1
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


def test_torch_arguments_come_with_torch_alone(validator, documents):
    document = copy.deepcopy(documents["torch"])
    document["recommendations"][0]["measured_with"] = "rue"
    expect_refused(validator, document)
    document = copy.deepcopy(documents["torch"])
    del document["recommendations"][0]["torch"]
    expect_refused(validator, document)


def test_torch_arguments_without_workers_hold_nothing_about_workers(validator, documents):
    arguments = documents["odd"]["recommendations"][0]["torch"]
    assert arguments == {"batch_size": 64, "num_workers": 0}
    for key, value in (("prefetch_factor", 2), ("persistent_workers", False)):
        document = copy.deepcopy(documents["odd"])
        document["recommendations"][0]["torch"][key] = value
        expect_refused(validator, document)


def test_nothing_ranked_needs_a_reason(validator, documents):
    document = copy.deepcopy(documents["nothing"])
    del document["recommendations"][0]["reason"]
    expect_refused(validator, document)


def test_the_schema_names_every_knob(validator, documents):
    """A knob that is added to the program has to be added to the schema: they are strict."""
    knobs = validator.schema["$defs"]["config"]["properties"].keys()
    assert documents["plain"]["recommendations"][0]["config"].keys() == knobs
