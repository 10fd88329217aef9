"""rue scale: curves over batch sizes and workers, with what the processes used meanwhile."""
import csv
import json
import os
import shutil
import signal
import sqlite3
import subprocess

import pytest
from conftest import expect_failure, finish, wait_until

QUICK = ["--batch-size", "4,8", "--num-workers", "0..2", "--fixed-batch", "8", "--fixed-workers", "1", "--images", "40", "--quiet",
         "--period", "5ms"]
CELLS = [("4", "1"), ("8", "0"), ("8", "1"), ("8", "2")]
COLUMNS = ["format", "variant", "dataset", "batch_size", "num_workers", "total_samples", "elapsed_time", "samples_per_sec",
           "batches_per_sec"]
MONITORED = ["time_s", "processes", "threads", "cpu_s", "cpu_percent", "rss_mb", "pss_mb", "read_mb", "write_mb", "gpu_percent",
             "gpu_memory_mb", "trial"]


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def summary(folder):
    return table(folder / "summary.csv")


def cells(rows):
    return [(row["batch_size"], row["num_workers"]) for row in rows]


@pytest.fixture
def both(rue, own_photos, tmp_path):
    assert rue("prepare", own_photos, "x.tensor", "--dtype", "uint8", "--quiet").returncode == 0
    return [own_photos, tmp_path / "x.tensor"]


# ---- what it leaves ----

@pytest.mark.quick
def test_every_configuration_of_every_data_has_its_row(rue, both, tmp_path):
    done = rue("scale", *both, *QUICK)
    assert done.returncode == 0, done.stderr
    rows = summary(tmp_path / "rue-out/photos-scale")
    assert list(rows[0])[:9] == COLUMNS and cells(rows) == 2 * CELLS
    assert [row["format"] for row in rows] == ["folder"] * 4 + ["tensor"] * 4
    assert [row["variant"] for row in rows] == ["raw"] * 4 + ["preprocessed uint8"] * 4
    assert {row["dataset"] for row in rows} == {"photos", "x.tensor"}
    for row in rows:
        assert (row["status"], row["total_samples"], row["model"], row["cache"]) == ("ok", "40", "none", "warm")
        elapsed = float(row["elapsed_time"])
        assert float(row["samples_per_sec"]) == pytest.approx(40 / elapsed)
        assert float(row["batches_per_sec"]) == pytest.approx(40 / int(row["batch_size"]) / elapsed)
        assert float(row["rss_mb_peak"]) >= float(row["rss_mb_mean"]) > 0 and float(row["cpu_percent_mean"]) >= 0
        assert row["gpu_percent_mean"] == row["gpu_memory_mb_peak"] == "" or shutil.which("nvidia-smi")
        assert row["timestamp"].endswith("Z")


def test_every_row_has_the_samples_that_it_sums_up(rue, both, tmp_path):
    assert rue("scale", *both, *QUICK, "--out", "out").returncode == 0
    files = sorted(file.name for file in (tmp_path / "out/monitor").iterdir())
    assert len(files) == 8 and "folder-raw-photos-none-b8-w2.csv" in files
    assert "tensor-preprocessed-uint8-x.tensor-none-b4-w1.csv" in files
    for row in summary(tmp_path / "out"):
        name = f"{row['format']}-{row['variant'].replace(' ', '-')}-{row['dataset']}-none-b{row['batch_size']}-w{row['num_workers']}"
        samples = table(tmp_path / f"out/monitor/{name}.csv")
        assert list(samples[0]) == MONITORED and len(samples) >= 2
        times = [float(sample["time_s"]) for sample in samples]
        assert times == sorted(times) and times[-1] >= float(row["elapsed_time"]) - 0.001
        assert 0 < max(float(sample["rss_mb"]) for sample in samples) <= float(row["rss_mb_peak"]) + 0.001
        for counter in ("cpu_s", "read_mb", "write_mb"):
            values = [float(sample[counter]) for sample in samples]
            assert values == sorted(values)
        assert len({sample["trial"] for sample in samples}) == 1


def test_a_trial_shorter_than_the_period_is_known_by_what_it_says_itself(rue, both, tmp_path):
    done = rue("scale", both[1], *QUICK, "--period", "1h", "--out", "out")
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "out/study.db") as store:
        told = {(batch, workers): (anon + file, ratio, read) for batch, workers, anon, file, ratio, read in store.execute(
            "select batch_size, num_workers, anon_peak_bytes, file_peak_bytes, cpu_ratio, read_bytes from ok_trial")}
    rows = summary(tmp_path / "out")
    assert cells(rows) == CELLS
    for row in rows:
        memory, ratio, read = told[int(row["batch_size"]), int(row["num_workers"])]
        assert float(row["rss_mb_peak"]) >= float(row["rss_mb_mean"]) >= memory / 1e6 - 0.001
        assert float(row["cpu_percent_peak"]) >= float(row["cpu_percent_mean"]) == pytest.approx(100 * ratio, rel=1e-6)
        assert float(row["read_mb"]) == pytest.approx(read / 1e6) and row["cache_missed"] == "0"


def test_the_machine_and_the_data_are_described(rue, both, tmp_path):
    assert rue("scale", *both, *QUICK, "--out", "out").returncode == 0
    facts = json.loads((tmp_path / "out/sysinfo.json").read_text())
    assert facts["machine"]["usable_cpus"] >= 1 and facts["machine"]["kernel"].startswith("Linux ")
    assert [data["format"] for data in facts["data"]] == ["folder", "tensor"] and "SQLite" in facts["libraries"]
    told = subprocess.run(["stat", "-f", "-c", "%T", both[0]], capture_output=True, text=True).stdout.strip()
    kind = facts["data"][0]["file_system"]["type"]
    assert kind in told or told in kind or {told, kind} <= {"ext2/ext3", "ext4", "overlayfs", "overlay"}
    assert (facts["job_images"], facts["trial_images"], facts["period_s"]) == (40, 40, 0.005)


def test_the_tables_show_curves_and_the_best_of_each(rue, both):
    out = rue("scale", *both, *QUICK).stdout
    assert out.count("with 1 worker:") == 2 and out.count("with batches of 8:") == 2
    best = out.split("The best configuration of each:")[1]
    assert "folder" in best and "tensor" in best and "preprocessed uint8" in best


def test_a_list_tells_whole_experiments_from_those_that_ended_early(rue, both, tmp_path):
    def state():
        return [study["state"] for study in json.loads(rue("list", "--json").stdout)]

    assert rue("scale", *both, *QUICK).returncode == 0
    assert state() == ["complete"]
    facts = json.loads((tmp_path / "rue-out/photos-scale/sysinfo.json").read_text())
    assert facts["partial"] is None and facts["store_trials"] >= 8
    file = tmp_path / "rue-out/photos-scale/sysinfo.json"
    file.write_text(json.dumps(dict(facts, partial="Interrupted")))
    assert state() == ["partial"]
    file.write_text(json.dumps(dict(facts, store_trials=facts["store_trials"] + 1)))
    assert state() == ["partial"]
    file.unlink()
    os.mkfifo(file)
    assert state() == ["partial"]


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
def test_no_line_of_a_table_is_wider_than_the_window(rue, both, columns):
    done = rue("scale", *both, *QUICK, env=dict(COLUMNS=columns))
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= max(columns, 48)


@pytest.mark.quick
def test_json_says_the_same(rue, both, tmp_path):
    done = rue("scale", *both, *QUICK, "--json", "--out", "out")
    told = json.loads(done.stdout)
    assert told["format"] == "rue.scale/1" and len(told["rows"]) == 8 and told["partial"] is None
    for one, row in zip(told["rows"], summary(tmp_path / "out")):
        assert one["samples_per_sec"] == pytest.approx(float(row["samples_per_sec"]), rel=1e-6)
        assert (one["config"]["batch_size"], one["config"]["num_workers"]) == (int(row["batch_size"]), int(row["num_workers"]))
    for data, best in zip((0, 4), told["best"]):
        rates = [row["samples_per_sec"] for row in told["rows"][data:data + 4]]
        assert rates.index(max(rates)) == best - data


def test_models_are_what_tune_takes(rue, own_photos, tmp_path):
    done = rue("scale", own_photos, *QUICK, "--model", "none,sleep:1ms/image", "--out", "out")
    assert done.returncode == 0, done.stderr
    rows = summary(tmp_path / "out")
    assert [row["model"] for row in rows] == ["none"] * 4 + ["sleep:1ms/image"] * 4
    assert all(float(row["samples_per_sec"]) <= 1000 for row in rows[4:])

def test_cold_trials_are_seen_to_read(rue, own_photos, tmp_path):
    done = rue("scale", own_photos, *QUICK, "--images", "20", "--cache", "cold", "--out", "out")
    if "cannot be read cold" in done.stderr:
        pytest.skip("skipped: nothing can be cold here")
    assert done.returncode == 0, done.stderr
    megabytes = sum(photo.stat().st_size for photo in own_photos.rglob("*.jpg")) / 1e6
    for row in summary(tmp_path / "out"):
        assert (row["cache"], row["status"]) == ("cold", "ok") and float(row["read_mb"]) >= megabytes, row


# ---- plans and budgets ----

def test_a_dry_run_tells_the_plan_and_leaves_nothing(rue, both, tmp_path):
    done = rue("scale", *both, *QUICK, "--dry-run")
    assert done.returncode == 0 and "8 trials of 40 images" in done.stdout and "in about" in done.stdout
    plan = json.loads(rue("scale", *both, *QUICK, "--dry-run", "--json").stdout)
    assert plan["expected_s"] > 0 and all(row["status"] is None for row in plan["rows"]) and not (tmp_path / "rue-out").exists()


def test_nothing_is_waited_for_in_the_place_of_a_report(rue, own_photos, tmp_path):
    folder = tmp_path / "rue-out/photos-scale"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "recommendation.json")
    done = rue("scale", own_photos, *QUICK, "--dry-run")
    assert done.returncode == 0 and "written to rue-out/photos-scale" in " ".join(done.stdout.split()), done.stderr
    os.mkfifo(folder / "sysinfo.json")
    expect_failure(rue("scale", own_photos, *QUICK, "--dry-run"), 6, "sysinfo.json is there already")


def test_the_usual_experiment_is_16_to_256_and_0_to_8(rue, own_photos):
    plan = json.loads(rue("scale", own_photos, "--images", "300", "--dry-run", "--json", "--budget", "1h").stdout)
    workers = {row["config"]["num_workers"] for row in plan["rows"] if row["of_workers"]}
    batches = [row["config"]["batch_size"] for row in plan["rows"] if row["of_batches"]]
    assert batches == [16, 32, 64, 128, 256] and workers == set(range(9)) and plan["trial_images"] == 300
    fixed = {row["config"]["num_workers"] for row in plan["rows"] if row["of_batches"]}
    assert fixed == {min(4, len(os.sched_getaffinity(0)))} or len(fixed) == 1 and fixed <= {1, 2, 3, 4}


def test_usual_batch_sizes_that_are_larger_than_the_job_are_told_of(rue, own_photos):
    assert "3 usual batch sizes are left out: larger than the job of 40 images" in " ".join(
        rue("scale", own_photos, "--images", "40", "--dry-run").stdout.split())
    assert "left out" not in rue("scale", own_photos, *QUICK, "--dry-run").stdout


def test_trials_get_shorter_to_fit_the_budget(rue, script, tmp_path):
    one = script({"m": {f"{b}/{w}": 10_000_000 for b in (4, 8) for w in range(3)}}, images=100000)
    words = ["--runner", one.command, "--batch-size", "4,8", "--num-workers", "0..2", "--fixed-batch", "8", "--fixed-workers",
             "1", "--out", "out", "--quiet"]
    (tmp_path / "d").mkdir()
    shutil.copy(__file__, tmp_path / "d/x.jpg")
    assert rue("scale", "d", *words, "--budget", "100s").returncode == 0
    rows = summary(tmp_path / "out")
    images = {int(row["total_samples"]) for row in rows}
    assert len(images) == 1 and 500 <= images.pop() <= 3000 and all(int(row["total_samples"]) % 8 == 0 for row in rows)
    expect_failure(rue("scale", "d", *words, "--fresh", "--budget", "100ms"), 5, "budget of 100 ms is too small", "--budget")


# ---- going on ----

def test_what_was_measured_is_not_measured_again(rue, both, tmp_path):
    assert rue("scale", *both, *QUICK, "--out", "out").returncode == 0
    before = summary(tmp_path / "out")
    assert rue("scale", *both, *QUICK, "--out", "out").returncode == 0
    same = [(row["elapsed_time"], row["rss_mb_peak"]) for row in before]
    assert [(row["elapsed_time"], row["rss_mb_peak"]) for row in summary(tmp_path / "out")] == same
    (tmp_path / "out/monitor/folder-raw-photos-none-b8-w2.csv").unlink()
    assert rue("scale", *both, *QUICK, "--out", "out").returncode == 0
    again = [(row["elapsed_time"], row["rss_mb_peak"]) for row in summary(tmp_path / "out")]
    assert again[:3] + again[4:] == same[:3] + same[4:] and again[3] != same[3], "samples are measured with their trial"
    assert rue("scale", *both, *QUICK, "--out", "out", "--fresh").returncode == 0
    assert all(a != b for a, b in zip(same, [(r["elapsed_time"], r["rss_mb_peak"]) for r in summary(tmp_path / "out")]))
    assert (tmp_path / "out/study.db.old").exists()


def test_copies_of_the_same_data_go_on_each_with_its_own_trials(rue, own_photos, tmp_path):
    shutil.copytree(own_photos, tmp_path / "copy")
    assert rue("scale", own_photos, "copy", *QUICK, "--out", "out").returncode == 0
    before = summary(tmp_path / "out")
    assert rue("scale", own_photos, "copy", *QUICK, "--out", "out").returncode == 0
    assert [row["elapsed_time"] for row in summary(tmp_path / "out")] == [row["elapsed_time"] for row in before]
    assert len({row["elapsed_time"] for row in before}) == 8


def test_data_of_the_same_name_have_names_and_samples_of_their_own(rue, own_photos, tmp_path):
    places = ["a/x", "b/x-2", "c/x", "d/x_y", "e/x y"]
    for place in places:
        shutil.copytree(own_photos, tmp_path / place)
    done = rue("scale", *places, "--batch-size", "8", "--num-workers", "1", "--fixed-batch", "8", "--fixed-workers", "1",
               "--images", "8", "--quiet", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert [row["dataset"] for row in summary(tmp_path / "out")] == ["x", "x-2", "x-3", "x_y", "x y-2"]
    assert len(list((tmp_path / "out/monitor").iterdir())) == 5


def test_a_trial_that_is_never_warm_is_marked_and_not_tried_again(rue, script, tmp_path, own_photos):
    one = script({"none": {f"{b}/{w}": 1000 for b in (4, 8) for w in range(3)}}, images=40,
                 faults=[dict(when=dict(cell="8/2"), do="answer", answer=dict(cache_missed=1, read_bytes=7_000_000))])
    words = ["scale", own_photos, *QUICK, "--runner", one.command, "--out", "out"]
    done = rue(*words)
    assert done.returncode == 0 and "1 of 4 trials was not warm" in done.stdout, done.stderr
    rows = summary(tmp_path / "out")
    assert [row["cache_missed"] for row in rows] == ["", "", "", "1"] and float(rows[3]["read_mb"]) == 7
    assert rue(*words).returncode == 0
    with sqlite3.connect(tmp_path / "out/study.db") as store:
        assert store.execute("select count(*) from trial where status = 'failed'").fetchone() == (2,), "three attempts, one run"
    assert [row["timestamp"] for row in summary(tmp_path / "out")] == [row["timestamp"] for row in rows]


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_what_it_has_and_goes_on(rue, own_photos, tmp_path, number, code):
    words = ["scale", own_photos, *QUICK, "--out", "out", "--model", "sleep:20ms/image"]
    run = rue.start(*words)
    wait_until(lambda: len(list((tmp_path / "out/monitor").glob("*.csv"))) >= 1, run)
    run.send_signal(number)
    ended, out, err = finish(run)
    assert ended == code and "Interrupted" in out, err
    rows = summary(tmp_path / "out")
    assert 1 <= len(rows) < 4
    assert rue(*words).returncode == 0
    after = summary(tmp_path / "out")
    assert len(after) == 4 and [row["elapsed_time"] for row in after][:len(rows)] == [row["elapsed_time"] for row in rows]


# ---- bad input ----

@pytest.mark.parametrize("words, code, said", [
    ([], 2, ["DATA... is missing"]),
    (["nowhere"], 3, ["nowhere", "No such file"]),
    (["photos", "photos"], 2, ["photos is given twice"]),
    (["photos", "photos/"], 2, ["photos/ is given twice"]),
    (["photos", "./photos/../photos"], 2, ["photos is given twice"]),
    (["photos", "--batch-size", "64", "--images", "10"], 2, ["--batch-size", "larger than the job"]),
    (["photos", "--fixed-batch", "64", "--images", "10"], 2, ["--fixed-batch", "64"]),
    (["photos", "--num-workers", "some"], 2, ["--num-workers", "some"]),
    (["photos", "--period", "1us"], 2, ["--period"]),
    (["photos", "--model", "resnet51"], 2, ["resnet51"]),
    (["photos", "--runner", "/bin/false"], 1, ["/bin/false"]),
    (["photos", "--out", "/proc/nowhere"], 6, ["/proc/nowhere", "--out"]),
], ids=lambda value: "-".join(map(str, value)) if isinstance(value, list) else None)
def test_what_cannot_be_is_one_line(rue, own_photos, words, code, said):
    expect_failure(rue("scale", *words, "--quiet"), code, *said)


def test_data_that_cannot_be_read_are_refused_before_anything_is_tried(rue, both, tmp_path):
    (tmp_path / "bad.tensor").write_bytes(b"RUETENSR" + bytes(5000))
    expect_failure(rue("scale", both[0], tmp_path / "bad.tensor", *QUICK, "--out", "out"), 3, "bad.tensor")
    assert not (tmp_path / "out").exists()


def test_data_that_fail_in_the_middle_keep_the_others_from_nothing(rue, both, tmp_path):
    photos = sorted(both[0].rglob("*.jpg"))
    run = rue.start("scale", *both, "--batch-size", "1,2", "--num-workers", "0", "--fixed-batch", "1", "--fixed-workers", "0",
                    "--images", "20", "--model", "sleep:10ms/image", "--quiet", "--out", "out")
    wait_until(lambda: list((tmp_path / "out/monitor").glob("folder*.csv")), run)
    for photo in photos:
        photo.write_bytes(photo.read_bytes()[:200])
    code, out, err = finish(run)
    assert code == 3 and "1 of 2 data could not be measured to the end" in err and "photos" in err, err
    rows = summary(tmp_path / "out")
    assert {row["format"] for row in rows if row["status"] == "ok"} == {"folder", "tensor"}
    assert [row["status"] for row in rows if row["format"] == "tensor"] == ["ok", "ok"]


def test_a_runner_that_dies_is_a_row_and_the_run_goes_on(rue, script, tmp_path, own_photos):
    one = script({"m": {f"{b}/{w}": 1000 for b in (4, 8) for w in range(3)}}, images=40,
                 faults=[dict(when=dict(cell="8/2"), do="signal", signal="SIGSEGV")])
    done = rue("scale", own_photos, *QUICK, "--runner", one.command, "--out", "out")
    assert done.returncode == 0, done.stderr
    rows = summary(tmp_path / "out")
    assert cells(rows) == CELLS and [row["status"] for row in rows] == ["ok", "ok", "ok", "failed"]
    assert "SIGSEGV" in rows[3]["reason"] and rows[3]["samples_per_sec"] == ""
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
    done = release_rue("scale", own_photos, *QUICK, "--out", "out", env=dict(LD_LIBRARY_PATH=tmp_path))
    assert done.returncode == 0, done.stderr
    for row in summary(tmp_path / "out"):
        assert (row["gpu_percent_mean"], row["gpu_percent_peak"], row["gpu_memory_mb_mean"]) == ("70", "70", memory)
    assert json.loads((tmp_path / "out/sysinfo.json").read_text())["gpus"] == ["A", "A"]
