"""rue scale --ranks: the rate over the number of ranks, also with 64 ranks that share a storage on a virtual clock."""
import csv
import json
import sqlite3

import pytest

import wording
from conftest import cluster, expect_failure, flat, read_plan

NUMBERS = [1, 2, 4, 8, 16, 32, 64]
IMAGES = 65536


def words(tmp_path, data, ranks, numbers, images=IMAGES, **play):
    """A rank alone loads 100 images/s: trials are so long that a busy machine does not start them too late. The memory of other nodes is not that of this machine."""
    launch = cluster(tmp_path, ranks=ranks, per_node=4, play={"ns_per_image": {"64/4": 10_000_000}, "images": 10 * images, **play})
    return ["scale", data, "--launch", launch, "--ranks", numbers, "--images", images, "--max-memory", "1000G", "--budget", "1000h", "--out", "out"]


def points(folder, curve):
    with open(folder / "scale.csv", newline="") as file:
        return [row for row in csv.DictReader(file) if row["curve"] == curve]


def trials(rue):
    db = sqlite3.connect(rue.folder / "out/study.db")
    try:
        return db.execute("SELECT status, images, ranks FROM trial WHERE measure = 'joint' ORDER BY id").fetchall()
    finally:
        db.close()


@pytest.mark.quick
def test_64_ranks_share_a_storage_that_8_fill(rue, own_photos, tmp_path):
    """The storage gives 800 images/s, so 8 ranks use all of it."""
    asked = words(tmp_path, own_photos, 64, "1,2,4,8,16,32,64", shared_ns=1_250_000)
    done = rue(*asked)
    assert done.returncode == 0, done.stderr
    for curve, shares in (("strong", NUMBERS), ("weak", [1] * 7)):
        rows = points(tmp_path / "out", curve)
        assert [int(row["ranks"]) for row in rows] == NUMBERS
        assert [int(row["images"]) for row in rows] == [IMAGES // share for share in shares]
        assert [float(row["efficiency"]) for row in rows] == pytest.approx([min(1, 8 / ranks) for ranks in NUMBERS], rel=1e-9)
        assert [float(row["images_per_s"]) for row in rows] == pytest.approx([min(ranks, 8) * 100 for ranks in NUMBERS], rel=1e-9)
        assert [row["ranks"] for row in rows if row["saturates"] == "1"] == ["8"]
    said = "up to 8 ranks the rate grows with the number of ranks (efficiency 100 %); 16 ranks give 1.00 times the rate of 8 (efficiency 50 %)"
    assert wording.STRONG_SCALING_IMAGES_SHARED.format("65,536", said) in flat(done.stdout)
    assert wording.WEAK_SCALING_IMAGES_ON_EACH.format("65,536", said) in flat(done.stdout)
    assert flat(rue("show", "out").stdout) == flat(done.stdout)
    page = (tmp_path / "out/report.html").read_text()
    assert wording.IMAGES_PER_SECOND_OF_ALL in page and ">ideal<" in page and wording.WEAK_SCALING in page
    before = trials(rue)
    again = json.loads(rue(*asked, "--json").stdout)
    assert trials(rue) == before, "the second run measures nothing"
    assert [row["ranks"] for row in again["rows"]] == 2 * NUMBERS and [row["curve"] for row in again["rows"]] == ["strong"] * 7 + ["weak"] * 7
    assert again["rows"][-1]["efficiency"] == pytest.approx(1 / 8)


def test_the_first_ranks_make_the_trials(rue, own_photos, tmp_path):
    assert rue(*words(tmp_path, own_photos, 5, "2,4", 4096)).returncode == 0
    ranks = [[rank["rank"] for rank in json.loads(row[2])] for row in trials(rue) if row[1] >= 1024]
    assert sorted(map(len, ranks)) == [1, 2, 2, 4, 4] and all(each == list(range(len(each))) for each in ranks)


def test_a_study_without_the_trial_of_one_rank_shows_the_others(rue, own_photos, tmp_path):
    """As after a run that was killed: nothing can be compared yet."""
    assert rue(*words(tmp_path, own_photos, 4, "2,4")).returncode == 0
    db = sqlite3.connect(tmp_path / "out/study.db")
    db.execute("DELETE FROM trial WHERE json_array_length(ranks) = 1")
    db.commit()
    db.close()
    shown = flat(rue("show", "out").stdout)
    assert wording.PARTIAL_RESULTS in shown and wording.ON_RANKS_IMAGES_EACH.format(4, 16384) in shown and "efficiency" not in shown
    db = sqlite3.connect(tmp_path / "out/study.db")
    db.execute("DELETE FROM trial WHERE json_array_length(ranks) = 2")
    db.commit()
    db.close()
    assert rue(*words(tmp_path, own_photos, 4, "2,4")).returncode == 0
    assert "efficiency 100 %" in flat(rue("show", "out").stdout)


def test_without_a_limit_there_is_no_knee(rue, own_photos, tmp_path):
    done = rue(*words(tmp_path, own_photos, 4, "4,2,4"))
    assert wording.UP_TO_RANKS_THE_RATE_GROWS_WITH_THE_NUMBER.format(4, 100) in flat(done.stdout), done.stderr


def test_a_slow_rank_is_named_and_limits_all(rue, own_photos, tmp_path):
    done = rue(*words(tmp_path, own_photos, 4, "2,4", slow={"3": 2.0}))
    assert done.returncode == 0, done.stderr
    assert wording.UP_TO_RANKS_THE_RATE_GROWS.format(2) in flat(done.stdout) and wording.EFFICIENCY_ONE_OF_THEM.format(50) in flat(done.stdout)
    assert wording.WITH_RANKS_RANK_N0.format(4, 3, "2.00") in flat(done.stdout)
    assert [float(row["efficiency"]) for row in points(tmp_path / "out", "weak")] == pytest.approx([1, 1, 0.5])


def test_parts_that_are_too_short_share_nothing(rue, own_photos, tmp_path):
    done = rue(*words(tmp_path, own_photos, 4, "2,4", start_ns=400_000_000))
    said = "%): the part of each rank is too short for its workers, because weak scaling shows no such fall"
    assert said in flat(done.stdout) and wording.IMAGES_ON_EACH_RANK.format("65,536", 4) in flat(done.stdout), done.stdout


def test_a_rank_that_is_a_little_slower_is_not_the_cause(rue, own_photos, tmp_path):
    done = rue(*words(tmp_path, own_photos, 16, "8,16", shared_ns=1_250_000, slow={"3": 1.15}))
    assert wording.THEY_WAIT_FOR_SOMETHING in flat(done.stdout), done.stdout


def test_a_lost_rank_costs_one_trial(rue, own_photos, tmp_path):
    """In the first trial of all: the loader's probe."""
    done = rue(*words(tmp_path, own_photos, 4, "2,4", drop={"3": [1]}, once=str(tmp_path / "once")))
    assert done.returncode == 0, done.stderr
    assert [row["status"] for row in points(tmp_path / "out", "strong")] == ["ok", "ok", "ok"]


def test_a_number_that_fails_is_a_row(rue, own_photos, tmp_path):
    done = rue(*words(tmp_path, own_photos, 4, "2,4", drop={"3": [1]}))
    assert done.returncode == 0, done.stderr
    rows = points(tmp_path / "out", "strong")
    assert [row["status"] for row in rows] == ["ok", "ok", "failed"] and wording.ON_RANK_N0_THE_RUNNER_LOST.format(3) in rows[2]["reason"]
    assert (rows[2]["efficiency"], rows[1]["saturates"]) == ("", "1")


def test_real_ranks_share_the_images(rue, own_photos, tmp_path):
    done = rue("scale", own_photos, "--launch", cluster(tmp_path, ranks=2), "--ranks", "2", "--batch-size", "4", "--num-workers", "1",
               "--images", "40", "--out", "out")
    assert done.returncode == 0, done.stderr
    strong, weak = (points(tmp_path / "out", curve) for curve in ("strong", "weak"))
    assert [row["images"] for row in strong] == ["40", "20"] and [row["images"] for row in weak] == ["40", "40"]
    for one, two in (strong, weak):
        assert float(two["images_per_s"]) == pytest.approx(2 * int(two["images"]) / float(two["elapsed_s"]))
        assert float(two["efficiency"]) == pytest.approx(float(two["images_per_s"]) / float(one["images_per_s"]) / 2)
    assert wording.IMAGES_SHARED_BY_ALL in flat(done.stdout)


def test_a_cold_job_has_images_for_all_ranks(rue, own_photos, tmp_path):
    done = rue("scale", own_photos, "--launch", cluster(tmp_path, ranks=2), "--ranks", "2", "--cache", "cold", "--images", "40", "--out", "out")
    if "cannot be read cold" in done.stderr:
        pytest.skip("skipped: nothing can be cold here")
    expect_failure(done, 2, "too few for a cold job of 80")


def test_the_plan_names_the_numbers(rue, own_photos, tmp_path):
    plan = read_plan(rue(*words(tmp_path, own_photos, 4, "1,4"), "--dry-run"))
    assert plan["job"] == "65,536 images, on each rank and shared by all: ranks 1, 4" and plan["trials"].startswith("3: 1 configuration")


def test_ranks_that_slow_each_other_down_have_time(rue, own_photos, tmp_path):
    """A rank alone takes 10,000 s of the virtual clock. The time limit of 4 ranks is 4 times that of one."""
    assert rue(*words(tmp_path, own_photos, 4, "4", 10**6)).returncode == 0
    with sqlite3.connect(tmp_path / "out/study.db") as db:
        limits = dict(db.execute("SELECT json_array_length(ranks), max(limit_time_ns) FROM trial WHERE images = ? GROUP BY 1", [10**6]))
    assert limits[1] >= 10_000e9 and limits[4] == pytest.approx(4 * limits[1], rel=0.01)


@pytest.mark.parametrize("more, said", [
    (["--ranks", "1,2"], "--ranks: nothing starts the ranks; add a launcher"),
    (["--launch", "LAUNCH", "--ranks", "1,8"], "--ranks: the launcher started 2 ranks, fewer than 8; start 8 with --launch"),
    (["--launch", "LAUNCH", "--ranks", "1"], "--ranks: give a number above 1"),
    (["--launch", "LAUNCH", "--ranks", "0,2"], "--ranks: '0' is not a list of whole numbers from 1 to 1024"),
    (["--launch", "LAUNCH", "--ranks", "1..9"], "--ranks: 8 numbers above 1 are too many for 1 data set: give at most 7"),
    (["--launch", "LAUNCH", "--ranks", "2", "--images", "1"], "--ranks: 2 ranks cannot share a job of 1 images"),
    (["--launch", "LAUNCH", "--ranks", "2", "--images", "40", "--batch-size", "40", "--drop-last"], "a job of 20 images has no batch of 40"),
    (["--launch", "LAUNCH", "--world-size", "4"], "--world-size 4 cannot be used with --launch"),
])
def test_impossible_numbers_are_refused(rue, own_photos, tmp_path, more, said):
    launch = cluster(tmp_path, ranks=2)
    expect_failure(rue("scale", own_photos, *[launch if word == "LAUNCH" else word for word in more], "--quiet"), 2, said)
