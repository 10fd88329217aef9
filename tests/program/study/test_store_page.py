"""docs/store.md: its queries run on stores that rue made, it names every column, and the views agree with trials.csv."""
import collections
import contextlib
import csv
import json
import re
import shutil
import sqlite3
import statistics
import subprocess

import pytest

from conftest import HANG_S, ROOT, Rue, read_json

PAGE = (ROOT / "docs/store.md").read_text()
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
KNOBS = ["batch_size", "num_workers", "prefetch_factor", "parallelism"]


def make_study(program, folder, *words):
    """The folder of a study of 24 photos, with whole jobs and probes (grid) or truncated trials as well (duel)."""
    rue = Rue(program, folder)
    assert rue("prepare", "--synthetic", 24, "photos", "--quiet").returncode == 0
    done = rue("tune", "photos", "--model", "resnet18,vit_b_16", "--batch-size", "4,8", "--num-workers", "0..2", "--quiet", *words)
    assert done.returncode in (0, 5), done.stderr
    return folder / "rue-out/photos"


@pytest.fixture(scope="module")
def grid(program, tmp_path_factory):
    return make_study(program, tmp_path_factory.mktemp("grid"), "--mode", "raw", "--strategy", "grid", "--repeats", 2, "--budget", "2m")


@pytest.fixture(scope="module")
def duel(program, tmp_path_factory):
    return make_study(program, tmp_path_factory.mktemp("duel"), "--strategy", "duel", "--budget", "40trials")


def select(store, sql):
    with contextlib.closing(sqlite3.connect(store)) as db:
        db.row_factory = sqlite3.Row
        return db.execute(sql).fetchall()


def job_s(row):
    """What the page says: a whole job's time, or that of a truncated trial with the rest at its mean rate; None: not known."""
    value = {name: float(row[name]) if row[name] else None for name in
             ("end_to_end_ns", "first_batch_ns", "shutdown_ns", "compute_ns", "images", "batches", "requested_images", "job_images")}
    if value["requested_images"] >= value["job_images"]:
        return value["end_to_end_ns"] / 1e9
    if value["batches"] < 2 or value["first_batch_ns"] is None or value["shutdown_ns"] is None:
        return None
    even = value["end_to_end_ns"] - value["first_batch_ns"] - value["shutdown_ns"] - (value["compute_ns"] or 0) // value["batches"]
    image = even / (value["images"] - value["images"] / value["batches"])
    return (value["end_to_end_ns"] + (value["job_images"] - value["images"]) * image) / 1e9


def expected(study):
    """For each scenario the configurations: whether they ran whole jobs, and their times."""
    cells = collections.defaultdict(lambda: collections.defaultdict(list))
    with (study / "trials.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["measure"] == "joint" and row["status"] == "ok" and job_s(row):
                scenario = (row["mode"], row["format"], row["dtype"], row["model"], int(row["job_images"]))
                cells[scenario][tuple(row[knob] for knob in KNOBS)].append(row)
    found = {}
    for scenario, configs in cells.items():
        found[scenario] = {}
        for config, rows in configs.items():
            longest = max(int(row["requested_images"]) for row in rows)
            times = [job_s(row) for row in rows if int(row["requested_images"]) == longest]
            found[scenario][config] = (longest >= scenario[-1], times)
    return found


def compared(configs):
    whole = any(is_full for is_full, _ in configs.values())
    return {config: statistics.median(times) for config, (is_full, times) in configs.items() if is_full == whole}


def check_views(study):
    found, store = expected(study), study / "study.db"
    seen = {}
    for row in select(store, "SELECT * FROM configuration"):
        scenario = tuple(row[name] for name in ("mode", "format", "dtype", "model", "job_images"))
        config = tuple(str(row[knob]) for knob in KNOBS)
        is_full, times = found[scenario][config]
        times_s = compared(found[scenario])
        assert (scenario, config) not in seen
        assert (row["is_full"], row["trials"]) == (is_full, len(times)) and row["images_per_s"] > 0
        assert row["median_job_s"] == pytest.approx(statistics.median(times)) and row["mean_job_s"] == pytest.approx(statistics.mean(times))
        regret = times_s[config] / min(times_s.values()) - 1 if config in times_s else None
        assert row["regret_ratio"] == (None if regret is None else pytest.approx(regret, abs=1e-9))
        assert json.loads(row["config"]).get("num_workers", 0) == row["num_workers"]
        seen[scenario, config] = row["regret_ratio"]
    assert len(seen) == sum(map(len, found.values()))
    best = select(store, "SELECT * FROM best_by_model")
    assert {tuple(row[name] for name in ("mode", "format", "dtype", "model", "job_images")) for row in best} == set(found)
    for row in best:
        times_s = compared(found[tuple(row[name] for name in ("mode", "format", "dtype", "model", "job_images"))])
        order = sorted(times_s.values())
        assert row["median_job_s"] == pytest.approx(order[0]) and row["configurations"] == len(order)
        assert times_s[tuple(str(row[knob]) for knob in KNOBS)] == pytest.approx(order[0])
        assert row["second_regret_ratio"] == (None if len(order) == 1 else pytest.approx(order[1] / order[0] - 1, abs=1e-9))
    return best


@pytest.mark.quick
def test_best_by_model_is_the_fastest_whole_job_as_reported(grid):
    best = check_views(grid)
    assert len(best) == 2 and all(row["is_full"] and row["trials"] >= 2 and row["configurations"] == 6 for row in best)
    document = read_json(grid / "recommendation.json")
    if document["notices"]:
        return  # times are corrected for a machine that changed
    reported = {row["model"]: row for row in document["recommendations"][0]["best_by_model"]}
    for row in best:
        assert reported[row["model"]]["config"]["batch_size"] == row["batch_size"]
        assert reported[row["model"]]["config"]["num_workers"] == row["num_workers"]


def test_truncated_trials_are_extended_and_marked(duel):
    check_views(duel)
    assert {row[0] for row in select(duel / "study.db", "SELECT DISTINCT measure FROM trial")} == {"joint", "load", "compute"}


@pytest.mark.parametrize("study", ["grid", "duel"])
@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_every_query_of_the_page_runs(study, number, request):
    store, sql = request.getfixturevalue(study) / "study.db", QUERIES[number]
    rows = select(store, sql)
    if study == "grid" and not re.search("measure = 'load'|status <> 'ok'|batch_ready_ns", sql):
        assert rows and all(value is not None for value in tuple(rows[0])), sql
    if shutil.which("sqlite3"):
        done = subprocess.run(["sqlite3", "-bail", "-readonly", store, sql], capture_output=True, text=True, timeout=HANG_S)
        assert done.returncode == 0 and not done.stderr, (sql, done.stderr)
        assert len(done.stdout.splitlines()) >= len(rows)


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="skipped: sqlite3 is not installed")
def test_the_first_command_prints_a_row_for_each_model(grid):
    command = re.search(r"```sh\n(sqlite3 .*?)\n```", PAGE).group(1)
    done = subprocess.run(command, shell=True, cwd=grid.parent.parent, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0 and [line.split()[0] for line in done.stdout.splitlines()][0] == "scenario"
    assert "resnet18" in done.stdout and "vit_b_16" in done.stdout


def described():
    """The names in the first column of the table below each heading of a table or view."""
    found = {}
    for heading, text in re.findall(r"^## ([a-z_]+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE):
        cells = re.findall(r"^\| (`.*?`) \| ", text, re.MULTILINE)
        if cells:
            found[heading] = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    return found


def test_the_page_describes_exactly_the_columns(grid):
    store, page = grid / "study.db", described()
    names = [row[0] for row in select(store, "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    assert sorted(page) == sorted(names)
    assert re.findall(r"^\| \[`(\w+)`\]\(#\1\) \|", PAGE, re.MULTILINE) == names, "the overview, in the order of the schema"
    for name in names:
        columns = [row["name"] for row in select(store, f"PRAGMA table_info({name})")]
        assert sorted(page[name]) == sorted(columns), name


def test_the_view_groups_by_the_identity_of_trials(grid):
    (sql,) = select(grid / "study.db", "SELECT sql FROM sqlite_master WHERE name = 'configuration'")
    columns = re.search(r"PARTITION BY ([^)]*)\) AS scenario", sql[0]).group(1).split(", ")
    sentence = re.search(r"Two trials are the same if these columns are\s+equal: (.*?)\.", PAGE, re.DOTALL).group(1)
    assert sorted(re.findall(r"`(\w+)`", sentence)) == sorted([*columns, "config"])
