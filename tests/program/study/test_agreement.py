"""rue show --against: how far two studies agree about the order of configurations."""
import json
import math

import pytest

from conftest import expect_failure, make_table

BATCHES, WORKERS = [16, 32], [0, 2]
ORDER = {(16, 0): 0, (16, 2): 1, (32, 0): 2, (32, 2): 3}


def tune(rue, script, out, models, time):
    made = script(make_table(models, BATCHES, WORKERS, time))
    done = rue("tune", "--runner", made.command, "--strategy", "grid", "--quiet", "--out", out)
    assert done.returncode == 0, done.stderr


def test_models_are_compared_with_themselves_on_another_device(rue, script):
    tune(rue, script, "one", ["ape", "bee"], lambda m, b, w: 1000 + 100 * ORDER[b, w])
    tune(rue, script, "two", ["ape@l4+host=20%", "bee@l4", "cow"],
         lambda m, b, w: 9000 - (1000 if m[0] == "b" else -1000) * ORDER[b, w])
    done = rue("show", "one", "--against", "two", "--json")
    assert done.returncode == 0, done.stderr
    rows = [(row["model"], row["other"], row["configs"], row["rank_agreement"]) for row in json.loads(done.stdout)]
    assert rows == [("ape", "ape@l4+host=20%", 4, 1), ("bee", "bee@l4", 4, -1)]
    text = rue("show", "one", "--against", "two").stdout
    assert "Kendall" in text and "-1.000" in text and "ape@l4+host=20%" in text


@pytest.mark.parametrize("other, tau", [([0, 2, 1, 3], 4 / 6), ([0, 1, 1, 3], 5 / math.sqrt(6 * 5)),
                                        ([3, 1, 1, 1], -3 / math.sqrt(6 * 3))])
def test_a_swap_costs_two_pairs_and_a_tie_counts_for_neither(rue, script, other, tau):
    tune(rue, script, "one", ["ape"], lambda m, b, w: 1000 + 100 * ORDER[b, w])
    tune(rue, script, "two", ["ape@l4"], lambda m, b, w: 1000 + 100 * other[ORDER[b, w]])
    (row,) = json.loads(rue("show", "one", "--against", "two", "--json").stdout)
    assert row["rank_agreement"] == pytest.approx(tau, abs=1e-9)


def test_studies_without_a_model_in_common_are_refused(rue, script):
    tune(rue, script, "one", ["ape"], lambda m, b, w: 1000)
    tune(rue, script, "two", ["bee"], lambda m, b, w: 1000)
    expect_failure(rue("show", "one", "--against", "two"), 3, "the studies one and two have no model")
    expect_failure(rue("show", "one", "--against", "nothing"), 3, "nothing")
    # Nothing but ties tells no order.
    assert json.loads(rue("show", "one", "--against", "one", "--json").stdout)[0]["rank_agreement"] is None
