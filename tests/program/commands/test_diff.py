"""rue diff: what changed from one study to another, and what the answer of the first one costs in the second."""
import json
import re
import statistics

import pytest

import wording
from conftest import expect_failure, make_table, unwrap

MODELS = ["ape", "bee", "cow"]
TIMES = make_table(MODELS, [16, 32, 64], [0, 1, 2], lambda m, b, w: 1000 + 10 * abs(b - 32) + 300 * abs(w - 2) + 100 * MODELS.index(m))
JOB = ["--strategy", "grid", "--budget", "5m", "--images", "128", "--quiet"]
NOISY = dict(repeats=[1, 1.01, 0.99])


def changed(cell, factor, model=None):
    """The times, with those of a cell so many times longer."""
    return {m: {c: t * factor if c == cell and model in (None, m) else t for c, t in cells.items()} for m, cells in TIMES.items()}


@pytest.fixture
def study(rue, script, tmp_path):
    def tune(name, table, *words, **more):
        folder = tmp_path / f"{name}.d"
        folder.mkdir()
        one = script(table, images=1000, **more)
        one.path, one.log_path = folder / "script.json", folder / "requests.log"
        one.write(log=str(one.log_path))
        done = rue("tune", "--runner", one.command, "--out", name, *JOB, *words)
        assert done.returncode in (0, 5), done.stderr
        return name
    return tune


def differ(rue, *words):
    done = rue("diff", *words, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["format"] == "rue.diff/1"
    return document


def cells(variant, verdict):
    return {(c["model"], f"{c['config']['batch_size']}/{c['config']['num_workers']}") for c in variant["cells"] if c["verdict"] == verdict}


@pytest.mark.quick
def test_only_cells_that_changed_beyond_noise_are_named(rue, study):
    study("a", TIMES, "--repeats", "3", **NOISY)
    study("b", changed("16/0", 1.5, "bee"), "--repeats", "3", **NOISY)
    found = differ(rue, "a", "b")["variants"][0]
    assert cells(found, "slower") == {("bee", "16/0")} and not cells(found, "faster")
    assert (found["slower"], found["faster"], found["noise_unknown"], len(found["cells"])) == (1, 0, 0, 27)
    cell = next(c for c in found["cells"] if c["verdict"] == "slower")
    assert cell["change_ratio"] == pytest.approx(0.5, abs=1e-3) and 0 < cell["change_ratio_low"] < 0.5 < cell["change_ratio_high"]
    back = differ(rue, "b", "a")["variants"][0]
    assert cells(back, "faster") == {("bee", "16/0")} and not cells(back, "slower")
    text = unwrap(rue("diff", "a", "b").stdout)
    assert wording.THE_RECOMMENDATION_STAYS_BATCH.format(32, 2) in text
    assert wording.OF_COMMON_CELLS_A_MODEL.format(27, 1, 0) in text


@pytest.mark.quick
def test_the_cost_of_the_first_answer_in_the_second_study(rue, study):
    table = changed("32/2", 2)
    study("a", TIMES, "--repeats", "3", **NOISY)
    study("b", table, "--repeats", "3", **NOISY)
    found = differ(rue, "a", "b")["variants"][0]
    pair = lambda config: (config["batch_size"], config["num_workers"])
    assert (pair(found["first"]), found["same"]) == ((32, 2), False) and pair(found["second"]) in ((16, 2), (64, 2), (32, 1))
    regret = statistics.mean(table[m]["32/2"] / min(table[m].values()) - 1 for m in MODELS)
    assert found["first_in_second"]["mean_regret_ratio"] == pytest.approx(regret, rel=1e-3)
    ratio = statistics.geometric_mean(table[m]["32/2"] / table[m]["16/2"] for m in MODELS)
    assert found["first_in_second"]["time_ratio"] == pytest.approx(ratio, rel=1e-3)
    text = unwrap(rue("diff", "a", "b").stdout)
    assert wording.THE_RECOMMENDATION_CHANGES_FROM.format(32, 2) in text
    assert wording.IN_B_BATCH_SIZE_NUM_WORKERS_HAS.format(32, 2, 100 * regret) in text and wording.MORE_THAN_NOISE in text


def test_answers_that_are_equal_within_noise_are_called_so(rue, study):
    near = lambda factor: {m: dict(cells, **{"16/2": cells["32/2"] * factor}) for m, cells in TIMES.items()}
    for name, factor in (("a", 1.01), ("b", 0.99), ("c", 0.5)):
        study(name, near(factor), "--repeats", "3", repeats=[1, 1.05, 0.95])
    tie = "In both studies the two are equally good within noise, so neither answer is wrong."
    assert wording.THE_RECOMMENDATION_CHANGES in rue("diff", "a", "b").stdout and tie in unwrap(rue("diff", "a", "b").stdout)
    assert wording.THE_RECOMMENDATION_CHANGES in rue("diff", "a", "c").stdout and tie not in unwrap(rue("diff", "a", "c").stdout)


@pytest.mark.quick
def test_without_repeats_noise_is_unknown_and_a_threshold_counts(rue, study):
    times = {m: dict(t) for m, t in changed("16/0", 1.12).items()}
    times["ape"]["64/0"] *= 1.08
    study("a", TIMES)
    study("b", times)
    document = differ(rue, "a", "b")
    found = document["variants"][0]
    assert document["threshold_ratio"] == 0.1 and found["noise_unknown"] == 27
    assert cells(found, "slower") == {(m, "16/0") for m in MODELS} and all(c["change_ratio_low"] is None for c in found["cells"])
    assert wording.NOISE_IS_UNKNOWN_NOTHING_WAS_MEASURED_TWICE_SO.format(10) in unwrap(rue("diff", "a", "b").stdout)


def test_jobs_of_other_lengths_are_not_compared_by_time(rue, study):
    study("a", TIMES)
    study("b", TIMES, "--images", "256", "--no-shuffle")
    document = differ(rue, "a", "b")
    found = document["variants"][0]
    assert not found["comparable"] and found["cells"] == [] and found["median_ratio"] is None
    assert {d["what"]: (d["first"], d["second"]) for d in document["differences"]} == {
        "images of the job": ("128", "256"), "shuffle": ("true", "false")}
    text = unwrap(rue("diff", "a", "b").stdout)
    assert wording.TIMES_ARE_NOT_COMPARED.format(128, 256) in text


def test_machine_loader_and_data_that_differ_are_listed(rue, study):
    hello = lambda name, cpu: dict(runner=name, machine=dict(cpu=cpu, usable_cpus=4))
    study("a", TIMES, hello=hello("one 1.0", "Old <CPU>"), opened=dict(digest="aa"))
    study("b", TIMES, hello=hello("two 2.0", "New CPU"), opened=dict(digest="bb"))
    listed = {d["what"]: (d["first"], d["second"]) for d in differ(rue, "a", "b")["differences"]}
    assert listed["machine: cpu"] == ("Old <CPU>", "New CPU") and listed["data digest"] == ("aa", "bb") and "loader" in listed
    assert wording.A_CHANGE_OF_TIMES in rue("diff", "a", "b").stdout
    assert "Old &lt;CPU&gt;" in page(rue, "a", "b") and "Old <CPU>" not in page(rue, "a", "b").split("<script")[0]


@pytest.mark.quick
def test_a_study_is_not_different_from_itself(rue, study):
    study("a", TIMES, "--repeats", "3", **NOISY)
    document = differ(rue, "a", "a")
    found = document["variants"][0]
    assert document["differences"] == [] and (found["same"], found["slower"], found["faster"], found["median_ratio"]) == (True, 0, 0, 1)
    assert wording.NOTHING_THAT_THE_STUDIES in unwrap(rue("diff", "a", "a").stdout)


def test_spaces_may_differ(rue, study):
    study("a", TIMES)
    study("b", TIMES, "--batch-size", "16,64", "--num-workers", "1,2", "--model", "ape,cow")
    found = differ(rue, "a", "b")["variants"][0]
    assert (found["models"], found["configs"], len(found["cells"])) == (2, 4, 8)
    assert found["first_in_second"]["mean_regret_ratio"] is None
    assert wording.IN_B_BATCH_SIZE_NUM_WORKERS_IS_NOT.format(32, 2) in unwrap(rue("diff", "a", "b").stdout)


def test_data_of_one_kind_match_by_what_they_are(rue, own_photos):
    words = ["--model", "none", "--batch-size", "4", "--num-workers", "0,1", "--strategy", "grid", "--quiet"]
    stores = {}
    for name, chunks, codec in (("a1", 4, "zstd"), ("a2", 8, "none"), ("b1", 8, "none"), ("b2", 5, "gzip")):
        stores[name] = f"{name}.zarr"
        done = rue("prepare", own_photos, stores[name], "--dtype", "uint8", "--chunks", f"{chunks},3,224,224", "--codec", codec, "--quiet")
        assert done.returncode == 0, done.stderr
    for one in "ab":
        done = rue("tune", own_photos, stores[one + "1"], stores[one + "2"], *words, "--out", one)
        assert done.returncode in (0, 5), done.stderr
    named = lambda layout: f"preprocessed zarr uint8 {layout}"
    for order, only in ((["a", "b"], ["4x3x224x224 zstd", "5x3x224x224 gzip"]), (["b", "a"], ["5x3x224x224 gzip", "4x3x224x224 zstd"])):
        document = differ(rue, *order)
        assert [v["variant"] for v in document["variants"]] == ["raw folder", named("8x3x224x224 none")]
        assert [document["only_first"], document["only_second"]] == [[named(layout)] for layout in only]
        text = unwrap(rue("diff", *order).stdout)
        assert all(f"Only {study} has {named(layout)} data." in text for study, layout in zip(order, only))
        assert not any("layout" in fact["what"] for fact in document["differences"])


@pytest.mark.quick
def test_without_common_cells_it_is_an_error(rue, study):
    study("a", TIMES, "--model", "ape")
    study("b", TIMES, "--model", "bee")
    expect_failure(rue("diff", "a", "b"), 5, "a and b have no cell in common")
    expect_failure(rue("diff", "a", "nowhere"), 3, "nowhere")
    expect_failure(rue("diff", "a"), 2)


# ---- the page ----

def page(rue, *words):
    done = rue("diff", *words, "--html", "diff.html")
    assert done.returncode == 0 and done.stderr == "written: diff.html\n", done.stderr
    return (rue.folder / "diff.html").read_text()


@pytest.mark.quick
def test_the_page_has_a_heat_map_of_the_changes_and_the_numbers(rue, study):
    study("a", TIMES, "--repeats", "3", **NOISY)
    study("b", changed("16/0", 0.5, "bee"), "--repeats", "3", **NOISY)
    text = page(rue, "a", "b")
    assert text.startswith("<!DOCTYPE html>") and wording.CHANGE_OF_THE_TIME in text
    assert len(re.findall(r"<svg ", text)) >= 1 + len(MODELS)  # the mean, and each model
    assert ">-50.0</text>" in text and "-50.0 %" in text
    assert len(re.findall('<circle class="[ik]"', text)) == 8 + 26 and ">0.0</text>" in text, "a dot: no change"
    held = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL).group(1)
    short = lambda document: json.loads(document, parse_float=lambda number: f"{float(number):.6g}")
    assert short(held) == short(rue("diff", "a", "b", "--json").stdout)


def test_a_map_without_changes_is_pale(rue, study):
    study("a", TIMES)
    shown = page(rue, "a", "a")
    assert set(re.findall(r'fill="(#\w{6})"', shown)) == {"#fafafa"} and ">0.0</text>" in shown and ">+0.0</text>" not in shown


def test_the_smallest_change_that_can_be_seen(rue, study):
    study("a", TIMES, "--repeats", "3", **NOISY)
    text = unwrap(rue("diff", "a", "a").stdout)
    factor = float(re.search(r"Changes of less than a factor of (\S+) are within noise", text).group(1))
    assert 1.01 < factor < 1.1 and wording.ARE_PREDICTED not in text
    study("b", {m: {c: t * (1 + 2 * (factor - 1)) for c, t in cells.items()} for m, cells in TIMES.items()}, "--repeats", "3", **NOISY)
    assert differ(rue, "a", "b")["variants"][0]["slower"] == 27


def test_an_option_at_its_default_is_called_so(rue, own_photos):
    words = [own_photos, "--mode", "raw", "--model", "none", "--batch-size", "4", "--num-workers", "0", "--strategy", "grid", "--quiet"]
    assert rue("tune", *words, "--out", "a").returncode in (0, 5) and rue("tune", *words, "--decode", "fast", "--out", "b").returncode in (0, 5)
    assert differ(rue, "a", "b")["differences"] == [dict(what="decode", first="default", second="fast")]


def test_the_page_replaces_only_pages(rue, study):
    study("a", TIMES)
    (rue.folder / "notes.txt").write_text("precious")
    expect_failure(rue("diff", "a", "a", "--html", "notes.txt"), 6, "notes.txt")
    assert (rue.folder / "notes.txt").read_text() == "precious"
    expect_failure(rue("diff", "a", "a", "--html", "nowhere/page.html"), 6, "nowhere/page.html")
    assert rue("diff", "a", "a", "--html", "page.html", "--quiet").stderr == "" and (rue.folder / "page.html").exists()
