"""rue scale: curves over batch sizes and workers, with what the processes used meanwhile."""
import csv
import json
import os
import shutil
import signal
import sqlite3
import subprocess

import pytest
import wording
from conftest import Rue, copy_photos, expect_failure, finish, read_plan, wait_until

QUICK = ["--batch-size", "4,8", "--num-workers", "0..2", "--images", "40", "--quiet",
         "--period", "5ms"]
CELLS = [("4", "2"), ("8", "2"), ("8", "0"), ("8", "1"), ("8", "2")]
COLUMNS = ["format", "variant", "data", "model", "curve", "batch_size", "num_workers", "images_per_s"]
SAMPLES = ["trial", "time_s", "processes", "threads", "cpu_percent", "rss_mb", "read_mb", "write_mb", "gpu_percent", "gpu_memory_mb"]


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def points(folder):
    return table(folder / "scale.csv")


def cells(rows):
    return [(row["batch_size"], row["num_workers"]) for row in rows]


@pytest.fixture
def both(rue, own_photos, tmp_path):
    assert rue("prepare", own_photos, "x.tensor", "--dtype", "uint8", "--quiet").returncode == 0
    return [own_photos, tmp_path / "x.tensor"]


@pytest.fixture(scope="module")
def measured(program, photos, tmp_path_factory):
    """A study of photos and a tensor file of them, and what it printed; `again` continues it, without a trial."""
    rue = Rue(program, tmp_path_factory.mktemp("measured"))
    copy_photos(photos, rue.folder / "photos")
    assert rue("prepare", "photos", "x.tensor", "--dtype", "uint8", "--quiet").returncode == 0
    rue.again = lambda *words, **more: rue("scale", "photos", "x.tensor", *QUICK, *words, **more)
    rue.done = rue.again()
    assert rue.done.returncode == 0, rue.done.stderr
    return rue


# ---- what it leaves ----

@pytest.mark.quick
def test_every_point_of_every_curve_has_its_row(measured):
    rows = points(measured.folder / "rue-out/photos-scale")
    assert list(rows[0])[:8] == COLUMNS and cells(rows) == 2 * CELLS
    assert [row["curve"] for row in rows] == 2 * (2 * ["batch_size"] + 3 * ["num_workers"])
    assert [row["format"] for row in rows] == ["folder"] * 5 + ["tensor"] * 5
    assert [row["variant"] for row in rows] == ["raw"] * 5 + ["preprocessed uint8"] * 5
    assert {os.path.basename(row["data"]) for row in rows} == {"photos", "x.tensor"}
    for row in rows:
        assert (row["status"], row["images"], row["model"], row["cache"]) == ("ok", "40", "none", "warm")
        assert float(row["images_per_s"]) == pytest.approx(40 / float(row["elapsed_s"]))
        assert float(row["rss_mb_peak"]) >= float(row["rss_mb_mean"]) > 0 and float(row["cpu_percent_mean"]) >= 0
        assert row["gpu_percent_mean"] == row["gpu_memory_mb_peak"] == "" or shutil.which("nvidia-smi")
    assert sum(int(row["fastest"]) for row in rows) == 4 and sum(int(row["saturates"]) for row in rows) == 4


def test_samples_are_of_the_trials(rue, own_photos, tmp_path):
    done = rue("scale", own_photos, *QUICK, "--model", "sleep:20ms/image", "--out", "out")
    assert done.returncode == 0, done.stderr
    samples, rows = table(tmp_path / "out/samples.csv"), points(tmp_path / "out")
    assert list(samples[0]) == SAMPLES
    times = [float(sample["time_s"]) for sample in samples]
    assert times == sorted(times)
    for row in rows:
        own = [sample for sample in samples if sample["trial"] == row["trial"]]
        assert own, "a trial takes 800 ms, and there is a look every 5 ms"
        assert float(own[-1]["time_s"]) - float(own[0]["time_s"]) <= float(row["elapsed_s"])
        assert 0 < max(float(sample["rss_mb"]) for sample in own) <= float(row["rss_mb_peak"]) + 0.001


def test_a_trial_shorter_than_the_period_uses_its_own_figures(rue, both, tmp_path):
    done = rue("scale", both[1], *QUICK, "--period", "1h", "--out", "out")
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "out/study.db") as store:
        told = {(batch, workers): (anon + file, ratio, read) for batch, workers, anon, file, ratio, read in store.execute(
            "select batch_size, num_workers, anon_peak_bytes, file_peak_bytes, cpu_ratio, read_bytes from ok_trial")}
    rows = points(tmp_path / "out")
    assert cells(rows) == CELLS
    for row in rows:
        memory, ratio, read = told[int(row["batch_size"]), int(row["num_workers"])]
        assert float(row["rss_mb_peak"]) >= float(row["rss_mb_mean"]) >= memory / 1e6 - 0.001
        assert float(row["cpu_percent_peak"]) >= float(row["cpu_percent_mean"]) == pytest.approx(100 * ratio, rel=1e-6)
        assert float(row["read_mb"]) == pytest.approx(read / 1e6) and row["cache_missed"] == "0"


def test_the_tables_show_curves_and_where_they_saturate(measured):
    out = measured.done.stdout
    assert out.count(", 2 workers: ") == 2 and out.count(", batch_size 8: ") == 2
    assert out.count("astest") == 4


def test_show_and_list_accept_studies_of_scale(measured):
    assert json.loads(measured("list", "--json").stdout)[0]["state"] in ("complete", "low confidence", "not reliable")  # on a busy machine
    shown = measured("show", "rue-out/photos-scale")
    assert shown.returncode == 0 and "4 configurations" in shown.stdout


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
def test_no_line_of_a_table_is_wider_than_the_window(measured, columns):
    done = measured.again(env=dict(COLUMNS=columns))
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= max(columns, 48)


@pytest.mark.quick
def test_json_has_the_same_figures(measured):
    report = json.loads(measured.again("--json").stdout)
    assert report["format"] == "rue.scale/2" and len(report["rows"]) == 10 and report["partial"] is None
    assert (report["fixed_batch"], report["fixed_workers"]) == (8, 2)
    for one, row in zip(report["rows"], points(measured.folder / "rue-out/photos-scale")):
        assert one["images_per_s"] == pytest.approx(float(row["images_per_s"]), rel=1e-6)
        assert (str(one["batch_size"]), str(one["num_workers"])) == (row["batch_size"], row["num_workers"])
    for first, count in ((0, 2), (2, 3), (5, 2), (7, 3)):
        rows = report["rows"][first:first + count]
        assert [row["fastest"] for row in rows] == [row["images_per_s"] == max(r["images_per_s"] for r in rows) for row in rows]


def test_another_knob_has_one_value(rue, own_photos, tmp_path):
    done = rue("scale", own_photos, *QUICK, "--knob", "batch_strategy=adaptive", "--knob", "max_queue_size=1", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert cells(points(tmp_path / "out")) == CELLS
    with sqlite3.connect(tmp_path / "out/study.db") as db:
        assert set(db.execute("SELECT batch_strategy, max_queue_size FROM ok_trial")) == {("adaptive", 1)}


def test_models_are_those_of_tune(rue, own_photos, tmp_path):
    done = rue("scale", own_photos, *QUICK, "--model", "none,sleep:1ms/image", "--out", "out")
    assert done.returncode == 0, done.stderr
    rows = points(tmp_path / "out")
    assert [row["model"] for row in rows] == ["none"] * 5 + ["sleep:1ms/image"] * 5
    assert all(float(row["images_per_s"]) <= 1000 for row in rows[5:])


def test_cold_trials_are_seen_to_read(rue, own_photos, tmp_path):
    done = rue("scale", own_photos, *QUICK, "--images", "20", "--cache", "cold", "--out", "out")
    if "cannot be read cold" in done.stderr:
        pytest.skip("skipped: nothing can be cold here")
    assert done.returncode == 0, done.stderr
    megabytes = sum(photo.stat().st_size for photo in own_photos.rglob("*.jpg")) / 1e6
    for row in points(tmp_path / "out"):
        assert (row["cache"], row["status"]) == ("cold", "ok") and float(row["read_mb"]) >= megabytes, row


# ---- plans and budgets ----

def test_a_dry_run_shows_the_plan_and_writes_no_file(rue, both, tmp_path):
    done = rue("scale", *both, *QUICK, "--dry-run")
    assert done.returncode == 0 and "8: 4 configurations x 1 model x 2 variants" in done.stdout
    assert read_plan(done)["trials"].startswith("8: 4 configurations") and not (tmp_path / "rue-out").exists()


def test_a_fifo_with_the_name_of_a_report_does_not_block(rue, own_photos, tmp_path):
    folder = tmp_path / "rue-out/photos-scale"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "scale.csv")
    expect_failure(rue("scale", own_photos, *QUICK, "--dry-run"), 6, "scale.csv exists")


def test_the_usual_experiment_is_16_to_256_and_0_to_8(rue, own_photos):
    plan = read_plan(rue("scale", own_photos, "--images", "300", "--dry-run", "--budget", "1h"))
    assert (plan["batch-size"], plan["num-workers"]) == ("16, 32, 64, 128, 256", "0, 1, 2, 3, 4, 5, 6, 7, 8")
    assert plan["trials"].startswith("13: 13 configurations") and plan["job"] == "300 images"


def test_a_runner_with_declared_workers_gets_only_these(rue, script, tmp_path):
    """What nobody typed is no fault of --num-workers."""
    (tmp_path / "d").mkdir()
    shutil.copy(__file__, tmp_path / "d/x.jpg")
    words = ["scale", "d", "--images", "64", "--dry-run", "--runner"]
    one = script({"m": {f"{b}/{w}": 10_000 for b in (4, 8) for w in (1, 2, 4)}}, space={"batch_size": [4, 8], "num_workers": [1, 2, 4]}, images=64)
    assert read_plan(rue(*words, one.command))["num-workers"] == "1, 2, 4"
    one = script({"m": {f"{b}/0": 10_000 for b in (4, 8)}}, space={"batch_size": [4, 8]}, images=64)
    assert read_plan(rue(*words, one.command))["num-workers"] == "0"
    expect_failure(rue(*words, one.command, "--num-workers", "0..2"), 2, "--num-workers", "cannot vary it")


def test_the_job_is_one_epoch_of_at_most_4096_images(rue, script, tmp_path):
    one = script({"m": {f"{b}/{w}": 10_000 for b in (4, 8) for w in range(3)}}, images=100000)
    (tmp_path / "d").mkdir()
    shutil.copy(__file__, tmp_path / "d/x.jpg")
    words = ["scale", "d", "--runner", one.command, "--batch-size", "4,8", "--num-workers", "0..2", "--out", "out", "--quiet"]
    assert rue(*words).returncode == 0
    assert {row["images"] for row in points(tmp_path / "out")} == {"4096"}
    expect_failure(rue(*words, "--fresh", "--budget", "1ms"), 2, "--budget")


def test_a_spent_budget_skips_points(rue, script, tmp_path):
    one = script({"m": {f"{b}/{w}": 1_000_000_000 for b in (4, 8) for w in range(3)}}, images=16)
    (tmp_path / "d").mkdir()
    shutil.copy(__file__, tmp_path / "d/x.jpg")
    words = ["scale", "d", "--runner", one.command, "--batch-size", "4,8", "--num-workers", "0..2", "--out", "out", "--quiet"]
    done = rue(*words, "--budget", "3trials")
    assert done.returncode == 0 and wording.PARTIAL_RESULTS in done.stdout, done.stderr
    assert len({row["trial"] for row in points(tmp_path / "out")}) == 3
    assert rue(*words).returncode == 0
    assert len({row["trial"] for row in points(tmp_path / "out")}) == 4


# ---- going on ----

def test_stored_trials_are_not_repeated(rue, both, tmp_path):
    assert rue("scale", *both, *QUICK, "--out", "out").returncode == 0
    before, samples = points(tmp_path / "out"), (tmp_path / "out/samples.csv").read_text()
    assert rue("scale", *both, *QUICK, "--out", "out").returncode == 0
    assert [row["trial"] for row in points(tmp_path / "out")] == [row["trial"] for row in before]
    assert (tmp_path / "out/samples.csv").read_text() == samples, "there are no others"
    assert rue("scale", *both, *QUICK, "--out", "out", "--fresh").returncode == 0
    assert (tmp_path / "out/study.db.old").exists() and (tmp_path / "out/samples.csv").read_text() != samples


def test_copies_of_the_same_data_go_on_each_with_its_own_trials(rue, own_photos, tmp_path):
    shutil.copytree(own_photos, tmp_path / "copy")
    assert rue("scale", own_photos, "copy", *QUICK, "--out", "out").returncode == 0
    before = points(tmp_path / "out")
    assert rue("scale", own_photos, "copy", *QUICK, "--out", "out").returncode == 0
    assert [row["trial"] for row in points(tmp_path / "out")] == [row["trial"] for row in before]
    assert len({row["trial"] for row in before}) == 8


def test_a_trial_that_is_never_warm_is_marked_and_not_repeated(rue, script, tmp_path, own_photos):
    one = script({"none": {f"{b}/{w}": 1000 for b in (4, 8) for w in range(3)}}, images=40,
                 faults=[dict(when=dict(cell="8/1"), do="answer", answer=dict(cache_missed=1, read_bytes=7_000_000))])
    words = ["scale", own_photos, *QUICK, "--runner", one.command, "--out", "out"]
    done = rue(*words)
    assert done.returncode == 0 and wording.TRIAL_WAS_NOT_WARM.format(1) in done.stdout, done.stderr
    rows = points(tmp_path / "out")
    assert [row["cache_missed"] for row in rows] == ["", "", "", "1", ""] and float(rows[3]["read_mb"]) == 7
    assert rue(*words).returncode == 0
    with sqlite3.connect(tmp_path / "out/study.db") as store:
        assert store.execute("select count(*) from trial where status = 'failed'").fetchone() == (2,), "three attempts, one run"
    assert [row["trial"] for row in points(tmp_path / "out")] == [row["trial"] for row in rows]


def joint_trials(path):
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as store:
            return store.execute("SELECT count(*) FROM trial WHERE measure = 'joint'").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_writes_its_results_and_continues_later(rue, own_photos, tmp_path, number, code):
    words = ["scale", own_photos, *QUICK, "--out", "out", "--model", "sleep:20ms/image"]
    run = rue.start(*words)
    wait_until(lambda: joint_trials(tmp_path / "out/study.db") >= 1, run)
    run.send_signal(number)
    ended, out, err = finish(run)
    assert ended == code and "interrupted" in out, err
    rows = points(tmp_path / "out")
    assert 1 <= len(rows) < 5
    assert rue(*words).returncode == 0
    after = points(tmp_path / "out")
    assert cells(after) == CELLS and {row["trial"] for row in rows} < {row["trial"] for row in after}


# ---- bad input ----

@pytest.mark.parametrize("words, code, said", [
    ([], 2, ["DATA... is missing"]),
    (["nowhere"], 3, ["nowhere", "No such file"]),
    (["photos", "photos"], 2, ["photos is given twice"]),
    (["photos", "photos/"], 2, ["photos/ is given twice"]),
    (["photos", "./photos/../photos"], 2, ["photos is given twice"]),
    (["photos", "--batch-size", "64", "--images", "10", "--drop-last"], 2, ["with drop_last, a job of 10 images has no batch of 64"]),
    (["photos", "--num-workers", "some"], 2, ["--num-workers", "some"]),
    (["photos", "--knob", "max_queue_size=1,2"], 2, ["--knob: only batch_size and num_workers vary along curves", "max_queue_size"]),
    (["photos", "--period", "1us"], 2, ["--period"]),
    (["photos", "--model", "resnet51"], 2, ["resnet51"]),
    (["photos", "--runner", "/bin/false"], 1, ["/bin/false"]),
    (["photos", "--out", "/proc/nowhere"], 6, ["/proc/nowhere", "--out"]),
], ids=lambda value: "-".join(map(str, value)) if isinstance(value, list) else None)
def test_impossible_options_are_refused_in_one_line(rue, own_photos, words, code, said):
    expect_failure(rue("scale", *words, "--quiet"), code, *said)


def test_data_that_cannot_be_read_are_refused_before_anything_is_tried(rue, both, tmp_path):
    (tmp_path / "bad.tensor").write_bytes(b"RUETENSR" + bytes(5000))
    expect_failure(rue("scale", both[0], tmp_path / "bad.tensor", *QUICK, "--out", "out"), 3, "bad.tensor")
    assert not (tmp_path / "out").exists()


def test_a_runner_that_dies_is_a_row_and_the_run_continues(rue, script, tmp_path, own_photos):
    one = script({"m": {f"{b}/{w}": 1000 for b in (4, 8) for w in range(3)}}, images=40,
                 faults=[dict(when=dict(cell="8/1"), do="signal", signal="SIGSEGV")])
    done = rue("scale", own_photos, *QUICK, "--runner", one.command, "--out", "out")
    assert done.returncode == 0, done.stderr
    rows = points(tmp_path / "out")
    assert cells(rows) == CELLS and [row["status"] for row in rows] == ["ok", "ok", "ok", "failed", "ok"]
    assert "SIGSEGV" in rows[3]["reason"] and rows[3]["images_per_s"] == ""
    assert "failed" in done.stdout


@pytest.mark.parametrize("tells, memory", [("0", "10"), ("3", "")])
def test_a_gpu_is_watched_where_its_library_is(release_rue, own_photos, tmp_path, tells, memory):
    if not shutil.which("cc"):
        pytest.skip("skipped: no C compiler")
    (tmp_path / "nvml.c").write_text("""
        int nvmlInit_v2(void) { return 0; }
        int nvmlShutdown(void) { return 0; }
        int nvmlDeviceGetCount_v2(unsigned *n) { return *n = 2, 0; }
        int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { return *d = (void *)(unsigned long)(i + 1), 0; }
        int nvmlDeviceGetName(void *d, char *s, unsigned n) { return s[0] = 'A', s[1] = 0, 0; }
        int nvmlDeviceGetUtilizationRates(void *d, unsigned *u) { return u[0] = d == (void *)1 ? 30 : 70, u[1] = 0, 0; }
        int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m) { return m[0] = 9, m[1] = 4, m[2] = 5000000, TELLS; }
    """.replace("TELLS", tells))
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", tmp_path / "libnvidia-ml.so.1", tmp_path / "nvml.c"], check=True)
    done = release_rue("scale", own_photos, *QUICK, "--model", "sleep:20ms/image", "--out", "out", env=dict(LD_LIBRARY_PATH=tmp_path))
    assert done.returncode == 0, done.stderr
    for row in points(tmp_path / "out"):
        assert (row["gpu_percent_mean"], row["gpu_percent_peak"], row["gpu_memory_mb_peak"]) == ("70", "70", memory)
