"""tune() under torch.distributed, in the environment that torchrun gives: all ranks make each trial together, and get the same result."""
import json
import os
import socket
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import wording
from conftest import HANG_S, PROGRAM, ROOT, clean_environment  # noqa: E402

RANKS = 3
# One study after the other, as the start of the ranks takes the most time. Rank 1 has the fault; the last one kills it.
SCRIPT = """
    import json, os, signal, sys, time
    import torch.distributed as dist
    from torch.utils.data import DataLoader
    from torch.utils.data.distributed import DistributedSampler
    import rue_tuner as rue
    from pipelines import Failing, Squares

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    second_trial, third_trial = 5, 9  # calls of the step: a trial has 4 batches

    def study(case):
        calls = []
        def step(batch):
            calls.append(batch)
            time.sleep(0.02 if rank == 1 else 0.005)
            if len(calls) == second_trial and rank == 1 and case == "hangs":
                time.sleep(1000)
            if len(calls) == second_trial and rank == 1 and case == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if len(calls) == third_trial and case == "interrupted":
                os.kill(os.getpid(), signal.SIGINT)
        data = (Failing if case == "fails" and rank == 1 else Squares)()
        loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, seed=1))  # rank 1 has item 48
        models = {"other" if case == "differs" and rank == 1 else "mine": step}
        space = {"num_workers": "none" if case == "refused" and rank == 1 else [0, 1]}
        return rue.tune(loader, models, space=space, strategy="grid", budget="4trials", quiet=True, trial_timeout="1s")

    for case in ("works", "fails", "refused", "differs", "hangs", "interrupted", "killed"):
        try:
            result = study(case)
            best = min(row["end_to_end_ns"] for row in result.best["best_by_model"])
            answer = dict(config=result.config, images=result.best["data_images"], ms=best / 1e6, interrupted=result.interrupted)
        except (Exception, KeyboardInterrupt) as error:
            answer = dict(error=f"{type(error).__name__}: {error}")
        with open("/proc/self/task/%d/children" % os.getpid()) as children:
            print(json.dumps(dict(case=case, children=children.read(), **answer)) + "\\n", end="", flush=True)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """{case: the answers of the ranks}."""
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "script.py").write_text(textwrap.dedent(SCRIPT))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    path = os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests/python")])
    ranks = [subprocess.Popen([sys.executable, "script.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
                              env=clean_environment(RUE_PROGRAM=str(PROGRAM), PYTHONPATH=path, RANK=str(rank), WORLD_SIZE=str(RANKS),
                                                    MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TMPDIR=str(folder)))
             for rank in range(RANKS)]
    outputs = [process.communicate(timeout=4 * HANG_S) for process in ranks]
    found = {}
    for out, _ in outputs:
        for line in out.splitlines():
            answer = json.loads(line)
            found.setdefault(answer["case"], []).append(answer)
    assert [len(of_case) for of_case in found.values()] == [RANKS] * 6 + [RANKS - 1], outputs
    assert [path.name for path in folder.iterdir()] == ["script.py"], "no folder of a study is left"
    return found


def test_the_slowest_rank_counts_and_all_get_the_result(answers):
    first, *others = answers["works"]
    assert others == [first] * 2 and first["images"] == 32, "its share of 96"
    assert first["ms"] >= 4 * 20, "rank 1 takes 20 ms for each of 4 batches"


def test_an_error_of_one_rank_ends_all(answers):
    assert all(wording.ON_RANK.format(1) in answer["error"] and wording.ITEM_IS_DAMAGED.format(48) in answer["error"]
               for answer in answers["fails"])


def test_what_one_rank_refuses_ends_all(answers):
    first, own, last = (answer["error"] for answer in answers["refused"])
    assert own.startswith("ValueError: ")
    assert first == last == own.replace("ValueError: ", "TuneError: " + wording.ON_RANK.format(1) + ": ")


def test_ranks_with_other_models_are_refused(answers):
    assert all(wording.RUNNER_ANSWERS_DIFFERENTLY.format(1) in answer["error"] for answer in answers["differs"])


def test_a_rank_that_hangs_is_named_and_says_where(answers):
    for rank, answer in enumerate(answers["hangs"]):
        assert wording.ON_RANK.format(1) in answer["error"] and wording.NO_MORE_TRIALS in answer["error"]
        assert ("time.sleep(1000)" in answer["error"]) == (rank == 1) and answer["children"] == ""


def test_ctrl_c_gives_all_ranks_the_result_so_far(answers):
    assert all(answer.get("interrupted") and answer["images"] == 32 and answer["children"] == "" for answer in answers["interrupted"])


def test_a_rank_that_is_killed_is_named(answers):
    assert all(wording.ON_RANK.format(1) in answer["error"] and wording.NO_MORE_TRIALS in answer["error"] and answer["children"] == ""
               for answer in answers["killed"])
