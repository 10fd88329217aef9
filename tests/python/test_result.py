"""rue_tuner.load with damaged files: ValueError, or a result whose members all work."""
import contextlib
import copy
import json
import subprocess
import sys

import pytest

import rue_tuner
from conftest import make_table
from rue_tuner import document as documents

TABLE = make_table(["ape", "bee"], [16, 64], [1, 4], lambda model, batch, workers: 4_000_000 // workers - 1000 * batch)
VALUES = [None, True, 5, -1, 0.5, 10**400, float("nan"), float("inf"), "x", "", "\ud800", [], {}, [5], [None], {"a": 1}, {"a": {}}]


@pytest.fixture
def good(rue, script):
    done = rue("tune", "--runner", script(TABLE, hello=dict(images=1000)).command, "--strategy", "grid", "--budget", "100h", "--out", "out", "--quiet")
    assert done.returncode == 0, done.stderr
    return json.loads((rue.folder / "out/recommendation.json").read_text())


def places(value, path=()):
    """The paths of all values that the package can meet."""
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


def used(document):
    """What the package reads of it, and of several configurations two."""
    part = {name: value for name, value in document["recommendations"][0].items() if name in (*documents.RECOMMENDATION[1], "against")}
    part["configs"] = [{name: row.get(name) for name in documents.ROW[1]} for row in part["configs"][:2]]
    return dict(format=document["format"], recommendations=[part])


def use(result, tmp_path):
    """Every member that reads the document."""
    result.sentence(), repr(result), result._repr_html_(), result.rows, list(result.table)
    with contextlib.suppress(ValueError, rue_tuner.UndecidedError):
        dict(result.dataloader_kwargs)
    result.save(tmp_path / "again.json")
    assert rue_tuner.load(tmp_path / "again.json").rows == result.rows or "NaN" in (tmp_path / "again.json").read_text()


def outcome_of(text, tmp_path):
    path = tmp_path / "recommendation.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    try:
        result = rue_tuner.load(tmp_path)
    except ValueError as error:
        assert str(path) in str(error) and "\n" not in str(error)
        return "refused"
    use(result, tmp_path)
    return "read"


def test_a_value_of_another_kind_is_refused_or_does_no_harm(good, tmp_path):
    counts = dict(refused=0, read=0)
    good = used(good)
    for path in [path for path in places(good) if path]:
        for value in [*VALUES, KeyError]:
            damaged = copy.deepcopy(good)
            parent = damaged
            for key in path[:-1]:
                parent = parent[key]
            if value is KeyError:
                del parent[path[-1]]
            else:
                parent[path[-1]] = value
            counts[outcome_of(json.dumps(damaged), tmp_path)] += 1
    assert counts["refused"] > 400 and counts["read"] > 100, counts


def test_two_wrong_values_are_no_better_than_one(good, tmp_path):
    for name, value in (("config", None), ("config", {}), ("certificate", None), ("models", []), ("configs", []), ("torch", {"batch_size": 8})):
        for other in ("mean_regret_ratio", "max_regret_ratio", "worst_model", "configs", "certificate"):
            damaged = copy.deepcopy(good)
            damaged["recommendations"][0].update({name: value, other: None})
            outcome_of(json.dumps(damaged), tmp_path)


@pytest.mark.parametrize("text", [
    b"", b"\0", b"\xff\xfe{}", b"\xef\xbb\xbf{}", "[]", "null", "5", '"x"', "{}", "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000, "{'a': 1}",
    '{"format":"rue.recommendation/1"}', '{"format":"rue.recommendation/2","recommendations":[{}]}', '{"format":"rue.recommendation/1","recommendations":[]}',
    '{"format":"rue.recommendation/1","recommendations":{"0":{}}}', '{"format":["rue.recommendation/1"],"recommendations":[{}]}'])
def test_what_is_not_a_recommendation_is_refused(tmp_path, text):
    assert outcome_of(text, tmp_path) == "refused"


def test_a_part_that_is_not_used_may_be_unknown_but_not_deep(good, tmp_path):
    good["later"] = {"x": [1, {}]}
    assert outcome_of(json.dumps(good), tmp_path) == "read"
    good["later"] = json.loads("[" * 900 + "]" * 900)
    assert outcome_of(json.dumps(good), tmp_path) == "refused", "it could not be saved"


def test_configurations_with_other_knobs_and_names(good, tmp_path):
    rows = good["recommendations"][0]["configs"]
    rows[0]["config"] = {"my_regret": "a<b", "mean_regret": "x"}
    assert outcome_of(json.dumps(good), tmp_path) == "read"
    assert "a&lt;b" in rue_tuner.load(tmp_path)._repr_html_()


def test_it_is_loaded_without_pytorch(good, tmp_path):
    (tmp_path / "best.json").write_text(json.dumps(good))
    code = f"import sys; sys.modules['torch'] = None; import rue_tuner; print(rue_tuner.load({str(tmp_path / 'best.json')!r}).config['batch_size'])"
    environment = dict(PYTHONPATH=str(documents.pathlib.Path(documents.__file__).parents[1]))
    assert subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True).stdout.strip() in ("16", "64")
