"""rue tune --strategy: the limits that end a search, and what becomes of bad ones, whatever the strategy."""
import pytest

from conftest import expect_failure, make_table, read_json


def plain_ns(model, batch, workers):
    return 1000 + 100 * abs(workers - 2) * (1 + (model == "bee")) + 3 * abs(batch - 32)


TABLE = make_table(["ape", "bee", "cow"], [16, 32, 64], [0, 2, 4], plain_ns)


def tune(rue, script, *words):
    return rue("tune", "--runner", script.command, "--out", "out", *words)


def recommendation(rue):
    (only,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    return only


WRONG = {
    "budget_trials": (["tune", ".", "--budget", "0trials"], ["--budget: '0trials'", "a number of trials such as 500trials"]),
    "budget_number": (["tune", ".", "--budget", "500"], ["--budget: '500'", "500trials"]),
    "epsilon": (["tune", ".", "--epsilon", "0%"], ["--epsilon: '0%' is not a percentage such as 2.5% from 0.01% to 50%"]),
    "epsilon_all": (["tune", ".", "--epsilon", "100%"], ["--epsilon: '100%'", "from 0.01% to 50%"]),
    "epsilon_below": (["tune", ".", "--epsilon", "-1%"], ["--epsilon: '-1%'"]),
    "epsilon_nan": (["tune", ".", "--epsilon", "nan"], ["--epsilon: 'nan'"]),
    "epsilon_huge": (["tune", ".", "--epsilon", "1e9"], ["--epsilon: '1e9'"]),
    "confidence": (["tune", ".", "--confidence", "100%"], ["--confidence: '100%' is not a percentage", "from 50% to 99%"]),
    "confidence_ratio": (["tune", ".", "--confidence", "0.95"], ["--confidence: '0.95' is not a percentage such as"]),
    "epsilon_grid": (["tune", ".", "--strategy", "grid", "--epsilon", "1%"], ["--epsilon", "--strategy grid", "leave one"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_limits_are_told_in_one_line(rue, name):
    words, said = WRONG[name]
    expect_failure(rue(*words), 2, *said)
    assert list(rue.folder.iterdir()) == [], "nothing was written"


def test_a_budget_of_trials_thins_the_grid_and_is_kept(rue, script):
    one = script(TABLE)
    done = tune(rue, one, "--strategy", "grid", "--budget", "20trials")
    assert done.returncode == 0 and "budget 20 trials" in done.stderr and "to fit the budget" in done.stderr
    assert len(one.joint()) == 18 and recommendation(rue)["evidence"]["configs"] == 6


def test_a_budget_of_too_few_trials_says_how_many_are_enough(rue, script):
    one = script(TABLE)
    expect_failure(tune(rue, one, "--strategy", "grid", "--budget", "2trials"), 2, "the budget of 2 trials is too small", "--budget 6trials")
    assert one.joint() == [] and tune(rue, one, "--strategy", "grid", "--budget", "6trials").returncode == 0
    assert recommendation(rue)["evidence"]["configs"] == 2
