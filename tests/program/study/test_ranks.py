"""One rank of many (--rank, --world-size), and how ranks share items (--share)."""
import csv
import json
import subprocess
import tarfile

import pytest

import wording
from conftest import expect_failure, read_json

SMALL = ["--model", "resnet18", "--device", "h100", "--batch-size", "4", "--num-workers", "0,1", "--mode", "raw",
         "--strategy", "grid", "--budget", "5m", "--out", "out", "--quiet"]


@pytest.fixture(scope="module")
def shards(program, photos, tmp_path_factory):
    """The 48 photos in shards of unequal size."""
    folder = tmp_path_factory.mktemp("ranks") / "shards"
    subprocess.run([program, "prepare", photos, folder, "--format", "webdataset", "--shard-size", "600K", "--quiet"], check=True)
    return folder


def shard_items(shards):
    return [sum(name.endswith((".jpg", ".jpeg")) for name in tarfile.open(path).getnames()) for path in sorted(shards.glob("*.tar"))]


def tune(rue, data, *words):
    """The only part of the recommendation, and the trials of whole jobs."""
    done = rue("tune", data, *SMALL, *words)
    assert done.returncode == 0, done.stderr
    part = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    with open(rue.folder / "out/trials.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["measure"], row["images"]) == ("joint", str(part["job_images"]))]
    return done, part, rows


@pytest.mark.quick
@pytest.mark.parametrize("share", ["strided", "contiguous"])
def test_the_job_of_a_rank_is_its_share_of_an_epoch(rue, photos, share):
    sizes = sorted(path.stat().st_size for path in photos.rglob("*.jpg"))
    loaded = 0
    for rank, images in enumerate([10, 10, 10, 9, 9]):
        done, part, rows = tune(rue, photos, "--rank", rank, "--world-size", 5, "--share", share)
        assert (part["job_images"], part["gpus"]) == (images, None)
        assert wording.JOB_OF_IMAGES_OF_RANK.format(images, rank, 5) in " ".join(done.stdout.split())
        workload = part["workload"]
        assert (workload["rank"], workload["world_size"], workload["remote_ranks"]) == (rank, 5, True)
        assert workload.get("share", "strided") == share
        loaded += int(rows[-1]["data_bytes"])
    assert loaded == sum(sizes), "all ranks load each photo once"


def test_shards_are_loaded_by_one_rank_each(rue, shards):
    counts = shard_items(shards)
    assert len(counts) >= 3 and len(set(counts)) > 1, counts
    for rank in range(2):
        _, part, _ = tune(rue, shards, "--rank", rank, "--world-size", 2, "--share", "shards")
        assert part["job_images"] == sum(counts[rank::2])


def test_gpus_share_shards(rue, shards):
    counts = shard_items(shards)
    _, part, _ = tune(rue, shards, "--gpus", "0,1", "--share", "shards")
    assert part["job_images"] == max(sum(counts[rank::2]) for rank in range(2)), "that of the GPU with the most images"


def test_a_plan_and_a_dry_run_name_the_rank(rue, photos):
    said = rue("tune", photos, *SMALL, "--rank", 3, "--world-size", 5, "--dry-run").stdout
    assert wording.IMAGES_OF_RANK_OF.format(9, 3, 5) in said, said


def test_a_scale_measures_one_rank(rue, photos):
    done = rue("scale", photos, "--rank", 1, "--world-size", 8, "--batch-size", 2, "--num-workers", 0, "--budget", "60s",
               "--out", "scale", "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    assert {row["images"] for row in json.loads(done.stdout)["rows"]} == {6}, done.stdout


def test_a_check_repeats_the_rank_or_checks_another(rue, photos):
    tune(rue, photos, "--rank", 1, "--world-size", 4)
    for words in [[], ["--rank", "3", "--world-size", "4"]]:
        done = rue("check", "out", "--budget", "20s", "--json", *words)
        assert done.returncode in (0, 5), done.stderr
        assert max(trial["images"] for trial in json.loads(done.stdout)["checks"][0]["trials"]) == 12
    expect_failure(rue("check", "out", "--rank", 4, "--world-size", 4), 2, "--rank 4 is out of range")


def test_a_cold_job_has_at_most_the_images_of_the_rank(rue, photos):
    done = rue("tune", photos, *SMALL, "--rank", 1, "--world-size", 4, "--cache", "cold", "--images", 20)
    assert done.returncode in (2, 4), done.stderr
    if done.returncode == 2:
        assert "has 12 images" in done.stderr and wording.IMAGES_OR_LESS.format(12) in done.stderr, done.stderr


@pytest.mark.parametrize("words, said", [
    (["--rank", 3], ["--rank 3 needs the number of ranks", "--world-size"]),
    (["--rank", 8, "--world-size", 8], ["--rank 8 is out of range", "the last rank is 7"]),
    (["--rank", -1, "--world-size", 8], ["--rank", "'-1'"]),
    (["--world-size", 0], ["--world-size", "'0'"]),
    (["--world-size", 2, "--gpus", "0,1"], ["--world-size 2 cannot be used with --gpus"]),
    (["--share", "random"], ["--share", "strided, contiguous, shards"]),
])
def test_impossible_ranks_are_refused(rue, photos, words, said):
    for command in ["tune", "scale"][:1 if "--gpus" in words else 2]:
        expect_failure(rue(command, photos, "--quiet", *words), 2, *said)


def test_ranks_and_tables_do_not_mix(rue):
    expect_failure(rue("tune", "--table", "times.csv", "--world-size", 2), 2, "--world-size", "--table times.csv")


def test_a_rank_with_nothing_is_refused(rue, photos, shards):
    expect_failure(rue("tune", photos, *SMALL, "--rank", 60, "--world-size", 64), 2,
                   "rank 60 of 64 has nothing to load", "has only 48 items")
    expect_failure(rue("tune", shards, *SMALL, "--world-size", 64, "--share", "shards"), 2,
                   "64 ranks cannot share the", "strided")
    expect_failure(rue("tune", photos, *SMALL, "--world-size", 2, "--share", "shards"), 2, "has no shards (its format is folder)")
    expect_failure(rue("tune", shards, *SMALL, "--gpus", "0..63", "--share", "shards"), 2, "64 ranks cannot share the")


# ---- rue inspect --ranks ----

def inspect(rue, data, *words):
    done = rue("inspect", data, "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["ranks"]


@pytest.mark.quick
@pytest.mark.parametrize("share, places", [("strided", [(0, 45), (1, 46), (2, 47), (3, 43), (4, 44)]),
                                           ("contiguous", [(0, 9), (10, 19), (20, 29), (30, 38), (39, 47)])])
def test_inspect_shows_the_shares(rue, photos, share, places):
    found = inspect(rue, photos, "--ranks", 5, "--share", share)
    assert [part["items"] for part in found["shares"]] == [10, 10, 10, 9, 9]
    assert [(part["first"], part["last"]) for part in found["shares"]] == places
    assert sum(part["bytes"] for part in found["shares"]) == sum(path.stat().st_size for path in photos.rglob("*.jpg"))
    assert found["items_imbalance_ratio"] == pytest.approx(10 / 9.6 - 1)
    said = " ".join(rue("inspect", photos, "--ranks", 5, "--share", share).stdout.split())
    assert wording.EACH_OF_THE_ITEMS.format(48, 5, share) in said and "10 items, 4.2 % more" in said, said


def test_inspect_shows_the_shards_of_each_rank(rue, shards):
    counts = shard_items(shards)
    found = inspect(rue, shards, "--ranks", 2, "--share", "shards")
    assert [part["items"] for part in found["shares"]] == [sum(counts[0::2]), sum(counts[1::2])]
    assert [part["shards"] for part in found["shares"]] == [len(counts[0::2]), len(counts[1::2])]
    assert found["shares"][1]["first_shard"] == "train-000001.tar"
    expect_failure(rue("inspect", shards, "--ranks", 64, "--share", "shards"), 2, "64 ranks cannot share the")


def test_inspect_reports_ranks_with_nothing(rue, photos):
    said = " ".join(rue("inspect", photos, "--ranks", 100).stdout.split())
    assert wording.RANKS_HAVE_NOTHING_TO_LOAD.format(52) in said and wording.AND_MORE_RANKS.format(36) in said, said


def write_ranges(rue, *lines, header="rank,first,count"):
    (rue.folder / "ranges.csv").write_text("\n".join([header, *lines]) + "\n")
    return ["--ranks", "ranges.csv"]


def test_ranges_of_a_file_are_checked(rue, photos):
    found = inspect(rue, photos, *write_ranges(rue, "0,0,20", "2,30,18", "0, 20, 10"))
    assert [(part["items"], part["first"], part["last"]) for part in found["shares"]] == [(30, 0, 29), (0, None, None), (18, 30, 47)]
    assert found["share"] == "ranges.csv"


@pytest.mark.parametrize("lines, said", [
    (["0,0,30", "1,20,28"], ["line 3", "items 20 to 29 overlap those of line 2 (rank 0)"]),
    (["1,20,28", "0,0,30"], ["line 2", "items 20 to 29 overlap those of line 3 (rank 0)"]),
    (["0,0,48", "1,5,2"], ["line 3", "items 5 to 6 overlap those of line 2"]),
    (["0,0,20", "1,24,24"], ["line 3", "items 20 to 23 before this range belong to no rank"]),
    (["0,0,20", "1,20,20"], ["line 3", "items 40 to 47 after this range belong to no rank"]),
    (["0,0,20", "1,20,29"], ["line 3", "items 20 to 48 are out of range", "the last item of the data is 47"]),
    (["0,999999999999999999,999999999999999999"], ["line 2", "out of range"]),
    (["0,0,48", "1,48,0"], ["line 3", "a count of at least 1"]),
    (["0,0"], ["line 2", "expected a rank below 65536"]),
    (["-1,0,48"], ["line 2", "expected a rank"]),
    (["65536,0,48"], ["line 2", "expected a rank below 65536"]),
    (["0,0,18446744073709551617"], ["line 2", "expected a rank"]),
    (['0,"0,48'], ["line 2"]),
    ([], ["has no ranges"]),
])
def test_wrong_ranges_are_named_by_their_line(rue, photos, lines, said):
    expect_failure(rue("inspect", photos, *write_ranges(rue, *lines)), 3, "ranges.csv", *said)


def test_wrong_files_of_ranges_are_refused(rue, photos):
    expect_failure(rue("inspect", photos, *write_ranges(rue, "0,0,48", header="rank,start,count")), 3, "ranges.csv, line 1",
                   "expected the header rank,first,count")
    expect_failure(rue("inspect", photos, "--ranks", "missing.csv"), 3, "missing.csv")
    expect_failure(rue("inspect", photos, "--ranks", photos), 3, str(photos))
    for words, said in [(["--ranks", 0], "--ranks 0: expected 1 to 65536 ranks"), (["--ranks", 65537], "1 to 65536"),
                        (["--share", "shards"], "--share needs the number of ranks"),
                        *[(["--ranks", word], f"--ranks {word}: expected 1 to 65536 ranks, or a CSV file") for word in ["-1", "3x", "1.5", "9" * 23]],
                        ([*write_ranges(rue, "0,0,48"), "--share", "contiguous"], "--share cannot be used with --ranks ranges.csv")]:
        expect_failure(rue("inspect", photos, *words), 2, said)


def test_a_file_whose_name_begins_like_a_number_is_read(rue, photos):
    write_ranges(rue, "0,0,48")
    (rue.folder / "ranges.csv").rename(rue.folder / "3x")
    assert [part["items"] for part in inspect(rue, photos, "--ranks", "3x")["shares"]] == [48]


def test_one_item_is_singular(rue, photos):
    said = " ".join(rue("inspect", photos, "--ranks", 65).stdout.split())
    assert wording.THE_LARGEST_SHARE_HAS.format(1) in said and wording.AND_MORE_RANK.format(1) in said, said


def test_a_setting_of_the_world_counts(rue, photos):
    (rue.folder / "rue.json").write_text(json.dumps({"world-size": 4}))
    _, part, _ = tune(rue, photos)
    assert part["job_images"] == 12
    expect_failure(rue("tune", photos, "--rank", 4), 2, "--rank 4 is out of range: with rue.json 4")
