"""Ranks that lie: each answers for itself, and what they say together must be possible, too. RUE_SEED repeats them; RUE_LONG_TESTS=1 tries
hundreds."""
import json
import os
import random

import pytest

import wording
from conftest import cluster, expect_failure, make_table
from test_runner_mutations import expect_order, read_rows

LONG = bool(os.environ.get("RUE_LONG_TESTS"))
SEED = int(os.environ.get("RUE_SEED", random.randrange(1 << 30)))
STUDIES = 200 if LONG else 8
TABLE = make_table(["ape"], [16, 64], [1, 4], lambda model, batch, workers: 4_000_000 // workers - 1000 * batch)
GRID = ["--strategy", "grid", "--budget", "100h", "--out", "out", "--quiet"]
FIGURES = {"start_late_ns", "stolen_ratio", "throttled_ratio"}  # beside the fields of an answer
FIELDS = ["read_bytes", "anon_peak_bytes", "file_peak_bytes", "data_bytes", "bad_images", "cost_ns", "cpu_ratio", "warmup_ns", "h2d_ns", "device_ns",
          "end_to_end_ns", "first_batch_ns", "load_wait_ns", "shutdown_ns", "compute_ns", "cache_missed", "refused", "images", "batches", "start_late_ns",
          "stolen_ratio", "throttled_ratio", "queue_waits", "rank", "node", "status", "id", "reason", "<b>\x1b[31m", "ended"]
VALUES = [0, 1, 2**31, 2**53, 2**57, 2**57, 2**58, 2**58, 2**58 + 1, 2**63 - 1, -1, -2**63, 0.5, 1e18, 1e300, -0.0, None, True, "", "ok", "x" * 600, [], {}]


def played(tmp_path, ranks, per_node, **play):
    return cluster(tmp_path, ranks=ranks, per_node=per_node, play={"ns_per_image": TABLE["ape"], "images": 2000, **play})


def test_lies_of_ranks_end_in_order(rue, tmp_path):
    ends = {}
    for number in range(STUDIES):
        dice, folder = random.Random(f"{SEED} {number}"), rue.folder / f"out{number}"
        farm, ranks = dice.random() < 0.3, dice.choice([2, 3, 5, 40])
        alike = {dice.choice(FIELDS): dice.choice(VALUES) for _ in range(dice.choice([1, 1, 2, 4]))}
        report = {str(rank): alike if dice.random() < 0.7 else {dice.choice(FIELDS): dice.choice(VALUES)} for rank in range(ranks)
                  if dice.random() < dice.choice([0.1, 1])}
        words = ["--farm", "--budget", "40trials"] if farm else ["--strategy", dice.choice(["grid", "duel"]), "--budget", "30trials"]
        words += ["--trial-timeout", "2s"]  # an answer with the id of another trial is none
        done = None
        try:
            done = rue("tune", *words, "--quiet", "--out", folder, "--launch", played(tmp_path, ranks, 1 if farm else 2, report=report))
            for row in expect_order(rue, done, folder):
                for rank in json.loads(row["ranks"] or "[]"):
                    assert set(rank) - set(row) - FIGURES <= {"rank", "node"}, rank
        except Exception as failure:
            raise AssertionError(f"RUE_SEED={SEED}, number {number}: {words}, {ranks} ranks, {report}\n{done and done.stderr}") from failure
        ends[done.returncode] = ends.get(done.returncode, 0) + 1
    print(f"{STUDIES} studies from seed {SEED}: exit codes {ends}")


@pytest.mark.parametrize("ranks, value", [(2, 2**58), (4, 2**57), (70, 2**58)])
def test_a_sum_that_no_row_can_hold_is_a_failed_trial(rue, tmp_path, ranks, value):
    for field in ("read_bytes", "anon_peak_bytes", "data_bytes"):
        report = {str(rank): {field: value} for rank in range(ranks)}
        done = rue("tune", *GRID, "--fresh", "--launch", played(tmp_path, ranks, 2, report=report))
        expect_failure(done, 4, f"the sum of {field} of all loaders is more than 2^58, which cannot be true")
        assert {row["status"] for row in read_rows(rue.folder / "out")} == {"failed"}
        assert wording.CANNOT_READ not in rue("show", "out").stderr


@pytest.mark.parametrize("farm", [False, True])
def test_costs_beyond_the_clock_of_a_study_fail(rue, tmp_path, farm):
    report = {str(rank): dict(cost_ns=2**58) for rank in range(2)}
    words = ["--farm", "--budget", "60trials", "--out", "out", "--quiet"] if farm else GRID
    done = rue("tune", *words, "--launch", played(tmp_path, 2, 1, report=report))
    rows = expect_order(rue, done, rue.folder / "out")
    assert {row["status"] for row in rows} == {"ok", "failed"} and max(row["started_ns"] for row in rows) <= 2**58
    assert all(wording.THE_RUN_WOULD_TAKE.format(9) in row["reason"] for row in rows if row["status"] == "failed")


def test_only_known_figures_of_a_rank_are_stored(rue, tmp_path):
    many = {f"k{i}": 1.5 for i in range(20_000)}
    report = {"0": many, "1": dict(many, read_bytes=5, stolen_ratio=1e308, throttled_ratio=0.25, rank=99, node=5)}
    assert rue("tune", *GRID, "--launch", played(tmp_path, 2, 2, report=report)).returncode == 0
    first, second = json.loads(read_rows(rue.folder / "out")[0]["ranks"])
    assert set(first) == {"rank", "node", "images", "batches", "end_to_end_ns", "first_batch_ns", "cost_ns", "start_late_ns"}
    assert set(second) - set(first) == {"read_bytes", "throttled_ratio"} and (second["rank"], second["node"]) == (1, "n0")
