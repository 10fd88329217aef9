"""rue compare: variants side by side, and what making one of them takes and brings."""
import json
import os
import re
import signal
import sqlite3

import pytest

import wording
from conftest import expect_failure, has_answer, read_json, unwrap, wait_until

WORDS = ["--model", "none,sleep:1ms/image", "--batch-size", "4,8", "--num-workers", "0,1", "--strategy", "grid", "--sample", "8"]


@pytest.fixture
def variants(rue, own_photos):
    assert rue("prepare", own_photos, "u8.tensor", "--dtype", "uint8", "--quiet").returncode == 0
    assert rue("prepare", own_photos, "copy", "--format", "folder", "--quiet").returncode == 0
    return [own_photos, "u8.tensor", "copy"]


def test_variants_are_shown_side_by_side(rue, variants, own_photos):
    done = rue("compare", *variants, *WORDS, "--out", "out", "--json")
    assert done.returncode in (0, 5), done.stderr
    report = json.loads(done.stdout)
    raw, packed, copy = report["variants"]
    assert [side["variant"] for side in report["variants"]] == [f"raw folder {own_photos.name}", "preprocessed tensor uint8", "raw folder copy"]
    assert packed["storage_bytes"] == (rue.folder / "u8.tensor").stat().st_size
    assert report["job_images"] == 20 and {side["cache"] for side in report["variants"]} <= {"warm", "as-is"}
    assert raw["storage_bytes"] == copy["storage_bytes"] == sum(path.stat().st_size for path in own_photos.rglob("*.jpg"))
    for side in report["variants"]:
        assert side["anon_peak_bytes"] > 0 and side["cpu_ns_per_image"] >= 0 and side["common_mean_regret_ratio"] >= 0
    assert raw["build_ns"] == 0 and packed["build_ns"] > 0 and copy["build_ns"] > 0 and raw["speedup_ratio"] == 1
    assert not (set(os.listdir(rue.folder / "out")) - {"recommendation.json", "report.html", "trials.csv", "study.db", "lock"}), "samples are removed"
    assert [part["variant"] for part in report["comparisons"]] == ["preprocessed tensor uint8", "raw folder copy"]
    none, slow = report["comparisons"][0]["models"]
    assert (none["model"], slow["model"], none["confidence"]) == ("none", "sleep:1ms/image", None), "everything was measured once"
    assert none["break_even_epochs"] == pytest.approx(packed["build_ns"] / (none["before_ns"] - none["after_ns"]), rel=1e-6)
    assert report["answer"].startswith(("Use ", "Best so far: "))
    saved = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    assert sum(bool(one["build_s_per_image"]) for one in saved) == 2, "rue show says the same later"


def test_repeats_give_an_interval_of_the_payback(rue, variants):
    done = rue("compare", *variants[:2], *WORDS, "--model", "none", "--repeats", "3", "--out", "out", "--json")
    assert has_answer(done), done.stderr
    packed = json.loads(done.stdout)["comparisons"][0]["models"][0]
    if packed["confidence"] is None:
        assert wording.NOT_RELIABLE_OTHER_PROGRAMS in rue("show", "out").stdout
        return
    assert packed["confidence"] == 0.95
    assert 0 < packed["low_epochs"] < packed["break_even_epochs"] and (packed["high_epochs"] or 1e9) > packed["break_even_epochs"]
    saved = read_json(rue.folder / "out/recommendation.json")["comparisons"][0]
    assert saved["saved_interval"]["low_ns_per_image"] < saved["saved_ns_per_image"] < saved["saved_interval"]["high_ns_per_image"]


def test_the_page_has_the_payback_of_converting(rue, variants):
    done = rue("compare", *variants[:2], *WORDS, "--out", "out")
    text = " ".join(done.stdout.split())
    assert done.returncode in (0, 5), done.stderr
    assert " cost " in done.stderr and " cost " not in done.stdout, "the plan was shown first"
    assert wording.EACH_VARIANT_WITH_ITS in text and wording.ONE_CONFIGURATION_FOR_BOTH_VARIANTS in text and wording.HAVE_A_FIXED_CROP in text
    assert wording.USE_PREPROCESSED_TENSOR_UINT8 in text and wording.MAKING_IT_PAYS_BACK in text
    page = (rue.folder / "out/report.html").read_text()
    poster = unwrap(re.sub(r"<[^>]+>", " ", page[page.index('<div class="g poster">'):page.index('<details class="s">')]))
    answer, table = poster.index(wording.USE_PREPROCESSED_TENSOR_UINT8), poster.index(wording.EACH_VARIANT_WITH_ITS)
    assert answer < table < poster.index("time to make") < poster.index(wording.WITH_A_PERFECT_LOADER)
    shown = rue("show", "out")
    assert shown.returncode == 0 and "artial" not in shown.stdout, "it is a study like any other, and whole"
    kept = sorted((path.name, path.stat().st_size) for path in (rue.folder / "out").iterdir())
    assert rue("compare", *variants[:2], *WORDS, "--out", "out", "--dry-run", "--fresh").returncode == 0
    assert sorted((path.name, path.stat().st_size) for path in (rue.folder / "out").iterdir()) == kept, "a study stays as it is"


def test_a_variant_that_cannot_be_converted_is_reported(rue, variants):
    done = rue("compare", "u8.tensor", "copy", *WORDS, "--out", "out")
    assert done.returncode in (0, 5) and wording.COPY_CANNOT_BE_MADE in " ".join(done.stderr.split()), "no image is made of tensors"
    assert wording.MAKING_IT_PAYS not in done.stdout


def test_bad_data_are_reported_before_any_file_is_written(rue, variants):
    expect_failure(rue("compare", "copy", "nothing", *WORDS), 3, "cannot open nothing")
    expect_failure(rue("compare", "copy", "copy", *WORDS), 2, "copy is given twice")
    assert not (rue.folder / "rue-out").exists()


def test_the_plan_and_its_cost_are_printed_before_the_first_trial(rue, variants):
    done = rue("compare", *variants[:2], *WORDS, "--out", "out", "--dry-run")
    text = " ".join(done.stdout.split())
    assert done.returncode == 0 and not (rue.folder / "out").exists(), done.stderr
    assert re.search(r"trials 16: 4 configurations x 2 models x 2 variants x 1 repeat.* cost .* expected, budget 2 m 00 s", text)


def joint_trials(path):
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as store:
            return store.execute("SELECT count(*) FROM trial WHERE measure = 'joint'").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def test_an_interrupted_comparison_keeps_its_study(rue, variants):
    process = rue.start("compare", *variants, *WORDS[2:], "--model", "sleep:100ms/image", "--out", "out")
    wait_until(lambda: joint_trials(rue.folder / "out/study.db") > 1, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in err
    assert read_json(rue.folder / "out/recommendation.json")["partial"] is True
    assert rue("compare", *variants, *WORDS, "--out", "out").returncode in (0, 5), "it goes on"


def test_storage_of_a_list_includes_its_images_and_shards_keep_their_format(rue, own_photos):
    (rue.folder / "list.csv").write_text("path\n" + "".join(f"{path}\n" for path in own_photos.rglob("*.jpg")))
    assert rue("prepare", own_photos, "shards", "--format", "webdataset", "--quiet").returncode == 0
    done = rue("compare", "list.csv", "shards", *WORDS, "--model", "none", "--out", "out", "--json")
    assert done.returncode in (0, 5), done.stderr
    listed, shards = json.loads(done.stdout)["variants"]
    assert listed["storage_bytes"] > sum(path.stat().st_size for path in own_photos.rglob("*.jpg"))
    assert shards["storage_bytes"] >= sum(path.stat().st_size for path in (rue.folder / "shards").glob("*.tar"))
