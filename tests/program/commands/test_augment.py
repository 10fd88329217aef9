"""rue augment: formats, shares of ranks, recipes, streams without end, and what is refused."""
import csv
import io
import json
import signal
import subprocess

import pytest
from conftest import HANG_S, clean_environment, expect_failure

pytestmark = pytest.mark.quick

FIELDS = ["item", "area", "ratio", "x", "y", "rotation", "brightness", "contrast", "noise", "scale", "flip"]


def lines(rue, *words):
    done = rue("augment", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_all_formats_hold_the_same_parameters(rue, program, tmp_path):
    np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
    words = ["--count", "5000", "--preset", "aggressive", "--seed", "9"]
    objects = lines(rue, *words)
    table = list(csv.DictReader(io.StringIO(rue("augment", *words, "--format", "csv").stdout)))
    raw = subprocess.run([program, "augment", *words, "--format", "npy"], capture_output=True, check=True, env=clean_environment()).stdout
    array = np.load(io.BytesIO(raw))
    assert len(objects) == len(table) == len(array) == 5000 and list(objects[0]) == list(table[0]) == list(array.dtype.names) == FIELDS
    for name in FIELDS:
        column = array[name].astype(float)
        assert np.allclose([one[name] for one in objects], column, rtol=2e-7, atol=2e-6), name
        assert [float(row[name]) for row in table] == [one[name] for one in objects], name
    assert rue("augment", *words, "--format", "npy", "--output", "p.npy").returncode == 0 and (tmp_path / "p.npy").read_bytes() == raw


@pytest.mark.parametrize("total,world", [(10, 3), (1, 4), (7, 7), (100, 8)])
def test_ranks_share_all_items_and_agree_with_one_rank(rue, total, world):
    whole = lines(rue, "--count", total)
    shares = [lines(rue, "--count", total, "--rank", rank, "--world", world) for rank in range(world)]
    assert [len(share) for share in shares] == [total // world + (rank < total % world) for rank in range(world)]
    assert sorted((one for share in shares for one in share), key=lambda one: one["item"]) == whole
    other = lines(rue, "--count", total, "--rank", 0, "--world", world, "--per-rank")
    assert [one["item"] for one in other] == [one["item"] for one in shares[0]] and other[0]["x"] != shares[0][0]["x"]


def test_any_item_is_found_at_once(rue):
    assert lines(rue, "--first", "7", "--count", "3") == lines(rue, "--count", "10")[7:]
    assert [one["item"] for one in lines(rue, "--first", "1e18", "--count", "3", "--rank", "1", "--world", "2")] == [10 ** 18 + 1]


def test_seed_and_epoch_change_the_parameters(rue):
    found = {str(lines(rue, "--count", "1", *words)) for words in ([], ["--seed", "2"], ["--epoch", "1"], ["--preset", "aggressive"])}
    assert len(found) == 4


def test_a_recipe_of_ones_own(rue, tmp_path):
    (tmp_path / "mine.json").write_text('{"area": [0.25, 0.25], "flip": 1, "noise": {"probability": 1, "range": [0.5, 0.5]}}')
    for one in lines(rue, "--count", "100", "--recipe", "mine.json"):
        assert (one["area"], one["flip"], one["noise"], one["rotation"], one["contrast"]) == (0.25, 1, 0.5, 0, 1)


@pytest.mark.parametrize("text,said", [
    ('{"flip": 1.5}', "--recipe: r.json: flip: the probability 1.5 is not between 0 and 1"),
    ('{"area": [0.9, 0.1]}', "--recipe: r.json: area: the minimum 0.9 is greater than the maximum 0.1"),
    ('{"contrst": 1}', "--recipe: r.json: unknown key 'contrst': did you mean 'contrast'?"),
    ('{"flip": 0.5, "flip": 0.6}', "r.json, line 1 is not JSON: duplicate object key"),
    ("flip: 0.5", "r.json, line 1 is not JSON"), ("[1]", "--recipe: r.json: expected an object"), ("", "r.json, line 1 is not JSON")])
def test_a_wrong_recipe_is_one_clear_line(rue, tmp_path, text, said):
    (tmp_path / "r.json").write_text(text)
    expect_failure(rue("augment", "--recipe", "r.json"), 2, said)


@pytest.mark.parametrize("words,said", [
    (["--preset", "moderat"], "did you mean 'moderate'?"), (["--world-size", "2"], "did you mean '--world'?"), (["--world", "0"], "--world: '0' is not a whole number from 1"),
    (["--rank", "3"], "--rank 3 needs the number of ranks: add --world"),
    (["--rank", "4", "--world", "4"], "--rank 4 is out of range: with --world 4 it is 0 to 3"),
    (["--count", "1e99"], "--count: '1e99' is not"), (["--count", "-1"], "--count: '-1' is not"), (["--count", "1e"], "--count: '1e' is not"),
    (["--format", "npy"], "--format npy needs the number of items: give --count N"),
    (["--output", "x"], "--output needs the number of items"), (["--recipe", "none.json"], "cannot open none.json"),
    (["--recipe", "r.json", "--preset", "mild"], "--preset and --recipe exclude each other"),
    (["--count", "1", "--output", "folder/"], "does not name a file")])
def test_wrong_options_are_one_clear_line(rue, words, said):
    expect_failure(rue("augment", *words), 2, said)


def test_a_file_that_rue_did_not_write_is_kept(rue, tmp_path):
    (tmp_path / "mine").write_text("mine")
    expect_failure(rue("augment", "--count", "1", "--output", "mine"), 6, "rue did not write it")
    assert (tmp_path / "mine").read_text() == "mine"
    assert [rue("augment", "--count", n, "--output", "own.jsonl").returncode for n in (1, 2)] == [0, 0]
    assert len((tmp_path / "own.jsonl").read_text().splitlines()) == 2


def test_a_stream_without_end_ends_with_its_reader_or_with_ctrl_c(program):
    with subprocess.Popen([program, "augment"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment()) as process:
        assert json.loads(process.stdout.readline())["item"] == 0
        process.stdout.close()
        assert (process.wait(HANG_S), process.stderr.read()) == (0, "")
    with subprocess.Popen([program, "augment"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment()) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG_S) == 130 and process.stderr.read() == "rue augment: interrupted\n"


def test_counts_may_have_an_exponent(rue):
    assert len(lines(rue, "--count", "1e2")) == 100
