"""--weights and --objective: what is best for the models that count most, or for the one that loses most."""
import json

import pytest

import wording
from conftest import expect_failure, make_table, read_json

# Regrets of ape, bee, cow: 16/1 0, .02, .12; 32/1 .06 each; 64/1 .02, 0, .12
TIMES = {("ape", 16): 1000, ("ape", 32): 1060, ("ape", 64): 1020, ("bee", 16): 1020, ("bee", 32): 1060, ("bee", 64): 1000,
         ("cow", 16): 1120, ("cow", 32): 1060, ("cow", 64): 1120, ("cow", 128): 1000, ("ape", 128): 1400, ("bee", 128): 1400}
MODELS = ["ape", "bee", "cow"]
TABLE = make_table(MODELS, [16, 32, 64, 128], [1], lambda model, batch, workers: TIMES[model, batch])
CSV = "mode,model,batch_size,num_workers,time_s\n" + "".join(f"day,{m},{b},1,{t}\n" for (m, b), t in TIMES.items())
CASES = {
    "plain": ([], 16, "mean", None),
    "weights": (["--weights", "bee=3"], 64, "mean", dict(ape=1, bee=3, cow=1)),
    "weights_of_one": (["--weights", "cow=100"], 128, "mean", dict(ape=1, bee=1, cow=100)),
    "worst": (["--objective", "worst"], 32, "worst", None),
    "both": (["--objective", "worst", "--weights", "bee=3"], 32, "worst", dict(ape=1, bee=3, cow=1)),
}
SENTENCES = {
    "plain": "batch_size 16, num_workers 1 for {} data: 4.7 % mean regret over 3 models, worst model 12.0 % (cow)",
    "weights": "batch_size 64, num_workers 1 for {} data: 2.8 % weighted mean regret over 3 models, worst model 12.0 % (cow)",
    "worst": "batch_size 32, num_workers 1 for {} data: worst model 6.0 % regret for ape, 6.0 % mean regret over 3 models",
}


def plain(text):
    return " ".join(text.split())


@pytest.fixture(params=CASES)
def case(request):
    return request.param


def check(told, expected):
    _, batch, objective, weights = expected
    assert told["config"]["batch_size"] == batch
    assert (told["objective"], told["weights"]) == (objective, weights)


@pytest.mark.quick
def test_a_table_is_ranked_by_the_rules(rue, case):
    (rue.folder / "t.csv").write_text(CSV)
    done = rue("analyze", "t.csv", "--json", *CASES[case][0])
    (found,) = json.loads(done.stdout)["recommendations"]
    check(found, CASES[case])
    if case in SENTENCES:
        assert SENTENCES[case].format("day") in plain(rue("analyze", "t.csv", *CASES[case][0]).stdout)


def test_a_run_uses_the_rules_and_show_can_rank_by_others(rue, script, case):
    one = script(TABLE)
    done = rue("tune", "--runner", one.command, "--quiet", "--out", "out", *CASES[case][0])
    assert done.returncode == 0, done.stderr
    check(read_json(rue.folder / "out/recommendation.json")["recommendations"][0], CASES[case])
    trials = len(one.joint())
    for words, batch, objective, weights in CASES.values():
        alike = [] if weights else ["--weights", "ape=1"]
        (found,) = json.loads(rue("show", "out", "--json", "--objective", objective, *words, *alike).stdout)["recommendations"]
        check(found, (words, batch, objective, weights))
    assert rue("tune", "--runner", one.command, "--quiet", "--out", "out").returncode == 0
    assert len(one.joint()) == trials, "the store answers, whatever the rules"


def test_a_weight_of_an_unknown_model_is_a_usage_error(rue, script):
    one = script(TABLE)
    (rue.folder / "t.csv").write_text(CSV)
    for words in (["tune", "--runner", one.command, "--quiet", "--out", "out"], ["analyze", "t.csv"]):
        message = expect_failure(rue(*words, "--weights", "apes=2"), 2)
        assert wording.WEIGHTS_APES_IS_NOT in message
    assert not (rue.folder / "out").exists(), "nothing was written"
    message = expect_failure(rue("analyze", "t.csv", "--objective", "worse"), 2)
    assert wording.DID_YOU_MEAN_WORST in message
