"""rue tune --strategy: the limits that end a search, and what becomes of bad ones, whatever the strategy."""
import re

import pytest

import wording
from conftest import expect_failure, has_answer, make_table, read_plan, read_json


def plain_ns(model, batch, workers):
    return 1000 + 100 * abs(workers - 2) * (1 + (model == "bee")) + 3 * abs(batch - 32)


TABLE = make_table(["ape", "bee", "cow"], [16, 32, 64], [0, 2, 4], plain_ns)


def tune(rue, script, *words, **more):
    return rue("tune", "--runner", script.command, "--out", "out", *words, **more)


def cell(config):
    return f"{config['batch_size']}/{config['num_workers']}"


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
    "epsilon_grid": (["tune", ".", "--strategy", "grid", "--epsilon", "1%"], ["--epsilon", "--strategy grid", "remove one"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_limits_are_reported_in_one_line(rue, name):
    words, said = WRONG[name]
    expect_failure(rue(*words), 2, *said)
    assert list(rue.folder.iterdir()) == [], "nothing was written"


def ranked(rue):
    return [cell(row["config"]) for row in recommendation(rue)["configs"] if row["mean_regret_ratio"] is not None]


def test_a_grid_beyond_a_budget_of_trials_measures_whole_configurations(rue, script):
    one = script(TABLE)
    done = tune(rue, one, "--strategy", "grid", "--budget", "20trials")
    assert done.returncode == 0 and "budget 20 trials" in done.stderr and wording.AS_MANY_CONFIGURATIONS_AS_THE_BUDGET in " ".join(done.stderr.split())
    text = " ".join(done.stdout.split())
    assert wording.THE_BUDGET_WAS_SPENT_AFTER_OF_TRIALS.format(18, 27) in text and "among 6 of 9 configurations" in text
    assert len(one.joint()) == 18 and sorted(ranked(rue)) == sorted({c for m, c in one.joint()})


def test_skipped_configurations_are_measured_in_the_next_run(rue, script):
    """What is stored takes nothing of the budget."""
    one = script(TABLE)
    for configs in (6, 9):
        assert tune(rue, one, "--strategy", "grid", "--budget", "20trials").returncode == 0
        assert len(ranked(rue)) == configs and len(one.joint()) == 3 * configs
    assert tune(rue, one, "--strategy", "grid", "--budget", "20trials").returncode == 0
    assert len(one.joint()) == 27, "there is nothing more to measure"


@pytest.mark.quick
def test_stored_trials_are_ranked_in_any_order(rue, script):
    """The last configuration that the order of the larger grid comes to was measured before."""
    one = script(TABLE)
    assert tune(rue, one, "--strategy", "grid", "--budget", "1h").returncode == 0
    last = [c for m, c in one.joint()][-1].split("/")
    one = script(TABLE)
    assert tune(rue, one, "--strategy", "grid", "--fresh", "--batch-size", last[0], "--num-workers", last[1]).returncode == 0
    assert tune(rue, one, "--strategy", "grid", "--budget", "6trials").returncode == 0
    assert len(ranked(rue)) == 3 and "/".join(last) in ranked(rue)


def test_a_budget_of_too_few_trials_names_a_sufficient_number(rue, script):
    one = script(TABLE)
    expect_failure(tune(rue, one, "--strategy", "grid", "--budget", "2trials"), 2, "the budget of 2 trials is too small", "--budget 6trials")
    assert one.joint() == [] and tune(rue, one, "--strategy", "grid", "--budget", "6trials").returncode == 0
    assert len(ranked(rue)) == 2


def test_one_configuration_fits_beside_the_references(rue, script):
    table = make_table([f"model{i}" for i in range(48)], [16, 32], [1, 2], lambda m, b, w: 1000)
    assert tune(rue, script(table), "--strategy", "grid", "--budget", "50trials", "--dry-run").returncode == 0


# ---- what auto chooses ----

def chosen(rue):
    return read_json(rue.folder / "out/recommendation.json")["provenance"]["strategy"]


def test_everything_is_measured_if_there_is_time(rue, script):
    one = script(TABLE)
    done = tune(rue, one)
    assert done.returncode == 0 and len(one.joint()) == 27 and wording.GRID_WHICH_MEASURES_ALL in " ".join(done.stderr.split())
    assert chosen(rue)["name"] == "grid" and chosen(rue)["chosen_by"] == "auto" and wording.HALF_OF_THE_BUDGET.format(2) in chosen(rue)["why"]


def test_times_are_predicted_if_there_is_not_enough_time(rue, script):
    done = tune(rue, script(TABLE, images=10**7, load_ns=2000), "--budget", "60s")
    assert done.returncode == 0 and wording.PREDICTS_THE_REST_MEASURING in " ".join(done.stderr.split())
    assert chosen(rue)["name"] == "duel" and recommendation(rue)["config"]


def test_a_small_grid_measures_as_many_configurations_as_fit(rue, script):
    one, words = script(TABLE), ["--batch-size", "16,32", "--num-workers", "0,2", "--images", "1000000", "--budget"]
    expected_ns = float(re.match(r"([\d.]+) s expected", read_plan(tune(rue, one, *words, "10h", "--dry-run"))["cost"]).group(1)) * 1e9
    assert tune(rue, one, *words, f"{expected_ns / 1.3e6:.0f}ms").returncode == 0
    assert chosen(rue)["name"] == "grid" and wording.LESS_THAN_TWICE_THE_BUDGET in chosen(rue)["why"]
    assert 1 < len(ranked(rue)) < 4
    assert tune(rue, one, *words, f"{expected_ns / 2.5e6:.0f}ms", "--fresh").returncode == 0
    assert chosen(rue)["name"] == "duel"


def test_trials_decide_where_they_are_the_limit(rue, script):
    assert tune(rue, script(TABLE), "--budget", "27trials").returncode == 0
    assert chosen(rue)["name"] == "grid" and "takes 27 trials" in chosen(rue)["why"]
    assert has_answer(tune(rue, script(TABLE), "--budget", "26trials", "--fresh"))
    assert chosen(rue)["name"] == "duel"


def test_a_budget_without_room_for_references_does_not_allow_the_whole_grid(rue, script):
    table = make_table(["ape", "bee", "cow", "doe"], [8, 16, 32, 64, 128], [0, 1, 2, 3, 4], plain_ns)
    words = ["--dry-run", "--budget"]
    strategy = read_plan(tune(rue, script(table, load_ns=1000), *words, "100trials"))["strategy"]
    assert strategy.startswith("duel, ") and "100 trials" in strategy and wording.DOES_NOT_LEAVE_ROOM in strategy
    plan = read_plan(tune(rue, script(table, load_ns=1000), *words, "130trials"))
    assert plan["strategy"].startswith("grid, ") and "suffices" in plan["strategy"] and plan["trials"].startswith("100: ")


def test_goals_that_cannot_be_predicted_are_measured(rue, script):
    one = script(TABLE, images=10**7, load_ns=2000)
    assert tune(rue, one, "--budget", "60s", "--goal", "throughput").returncode == 0
    assert chosen(rue) == {"name": "grid", "chosen_by": "auto", "why": "only the time of the job can be predicted"}


UNSET = dict(RUE_REPEATS=None)


@pytest.mark.parametrize("words, repeats", [
    (["--budget", "1h"], 3), (["--budget", "110trials"], 3), (["--budget", "60trials"], 1), (["--budget", "80trials"], 2),
    (["--budget", "1h", "--repeats", "1"], 1), (["--budget", "1h", "--strategy", "grid"], 1), (["--budget", "1h", "--repeats", "2"], 2),
])
def test_a_chosen_grid_is_repeated_if_the_budget_has_room(rue, script, words, repeats):
    one = script(TABLE, repeats=[1, 1.02, 0.98])
    plan = read_plan(tune(rue, one, *words, "--dry-run", env=UNSET))
    assert plan["strategy"].startswith("grid") and f" {repeats} repeat" in plan["trials"]
    assert tune(rue, one, *words, env=UNSET).returncode == 0
    document, found = read_json(rue.folder / "out/recommendation.json"), recommendation(rue)
    assert len(one.joint()) == 27 * repeats and not document["partial"] and document["provenance"]["repeats_planned"] == repeats
    assert {row["repeats"] for row in found["configs"]} == {repeats}
    assert bool(found["interval"]) == bool(found["certificate"]) == (repeats > 1)
    assert tune(rue, one, *words, env=UNSET).returncode == 0 and len(one.joint()) == 27 * repeats, "there is nothing more to measure"


def test_a_continued_grid_keeps_its_repeats(rue, script):
    one = script(TABLE, repeats=[1, 1.02, 0.98])
    assert tune(rue, one, "--budget", "1h", env=UNSET).returncode == 0
    assert tune(rue, one, "--budget", "60trials", env=UNSET).returncode == 0
    assert len(one.joint()) == 81 and {row["repeats"] for row in recommendation(rue)["configs"]} == {3} and recommendation(rue)["interval"]


def test_a_repeat_that_takes_longer_than_expected_is_not_begun(rue, script):
    """Whole jobs take five times as long as the probes say."""
    one, words = script(TABLE, images=10**6, repeats=[5]), ["--budget"]
    expected_s = float(re.match(r"([\d.]+) s expected", read_plan(tune(rue, one, *words, "10h", "--dry-run"))["cost"]).group(1))
    budget = f"{round(8000 * expected_s)}ms"
    assert read_plan(tune(rue, one, *words, budget, "--dry-run", env=UNSET))["trials"].endswith("3 repeats")
    assert tune(rue, one, *words, budget, env=UNSET).returncode == 0
    assert len(one.joint()) == 27 and not read_json(rue.folder / "out/recommendation.json")["partial"]


@pytest.mark.quick
def test_the_plan_shows_the_chosen_strategy(rue, script):
    assert read_plan(tune(rue, script(TABLE), "--dry-run"))["strategy"].startswith("grid, which measures all: measuring all configurations")
    assert read_plan(tune(rue, script(TABLE), "--dry-run", "--strategy", "duel"))["strategy"] == "duel, which measures some configurations and predicts the rest"


def test_the_plan_of_a_duel_shows_its_space_and_when_it_ends(rue, script):
    words = ["--dry-run", "--strategy", "duel", "--epsilon", "1%", "--confidence", "90%"]
    text = " ".join(tune(rue, script(TABLE), *words).stdout.split())
    assert wording.WHEN_NO_CONFIGURATION_CAN.format(1, 90) in text
    assert "ends" not in read_plan(tune(rue, script(TABLE), "--dry-run", "--strategy", "grid"))


def test_a_study_continues_with_the_same_strategy(rue, script):
    one = script(TABLE)
    assert tune(rue, one).returncode == 0
    requests = len(one.requests())
    assert tune(rue, one).returncode == 0 and len(one.requests()) == requests and chosen(rue)["name"] == "grid"


# ---- searches ----

def test_a_budget_is_respected_and_gives_a_recommendation(rue, script):
    one = script(TABLE, images=10**6)
    done = tune(rue, one, "--strategy", "duel", "--budget", "20s")
    assert done.returncode == 0, done.stderr
    report = read_json(rue.folder / "out/recommendation.json")
    assert recommendation(rue)["config"] and not report["partial"], report["partial_reason"]
    trials = one.requests()
    images = sum(r["images"] for r in trials if r["measure"] == "joint")
    assert len(one.joint()) >= 3 and images < 27 * 10**6 and all(r["images"] <= 10**6 for r in trials), "less than all of it"


@pytest.mark.parametrize("strategy", ["grid", "duel"])
@pytest.mark.parametrize("fault", ["zero", "negative", "no_fields"])
def test_inconsistent_replies_end_the_study_with_a_reason(rue, script, strategy, fault):
    one = script(TABLE, faults=[dict(when=dict(measure="joint"), do=fault)])
    done = tune(rue, one, "--strategy", strategy, "--quiet")
    expect_failure(done, 4)
    assert len(one.requests()) < 60


@pytest.mark.parametrize("strategy", ["auto", "grid", "duel"])
def test_a_model_that_never_runs_prevents_a_recommendation(rue, script, strategy):
    one = script(TABLE, faults=[dict(when=dict(model="bee", measure="joint"), do="answer", answer=dict(status="infeasible", reason="no room"))])
    expect_failure(tune(rue, one, "--strategy", strategy, "--quiet"), 4, "no configuration could be measured on every model")
    assert recommendation(rue)["config"] is None


@pytest.mark.parametrize("strategy", ["auto", "grid", "duel"])
def test_one_point_is_an_answer(rue, script, strategy):
    done = tune(rue, script(TABLE), "--strategy", strategy, "--batch-size", "32", "--num-workers", "2", "--quiet")
    assert done.returncode == 0 and cell(recommendation(rue)["config"]) == "32/2", done.stderr


@pytest.mark.parametrize("strategy", ["auto", "grid", "duel"])
def test_equal_configurations_all_are_right_answers(rue, script, strategy):
    one = script(make_table(["ape", "bee"], [16, 32], [1, 2], lambda m, b, w: 1000))
    done = tune(rue, one, "--strategy", strategy, "--quiet", "--budget", "60trials")
    assert done.returncode == 0 and recommendation(rue)["config"], done.stderr


@pytest.mark.parametrize("strategy", ["auto", "grid", "duel"])
def test_a_budget_below_one_trial_is_reported(rue, script, strategy):
    one = script(make_table(["ape", "bee"], [16, 32, 64], [1, 2], lambda m, b, w: 10**9))
    done = tune(rue, one, "--strategy", strategy, "--quiet", "--budget", "1us")
    assert done.returncode in (2, 5) and "budget" in done.stderr.splitlines()[-1]
