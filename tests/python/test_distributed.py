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
    import torch
    import torch.distributed as dist
    from torch.utils.data import DataLoader
    from torch.utils.data.distributed import DistributedSampler
    import rue_tuner as rue
    from pipelines import Failing, Squares

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    second_trial, third_trial = 5, 9  # calls of the step: a trial has 4 batches

    def broken():
        raise OSError("no list of workers")
        yield

    def add_up(group):  # as training does with gradients
        total = dist.all_reduce(torch.ones(1), group=group, async_op=True)
        while not total.is_completed():
            time.sleep(0.001)

    def study(case):
        calls, group = [], dist.new_group(backend="gloo")
        def step(batch):
            calls.append(batch)
            if len(calls) == second_trial and rank == 1 and case == "raises":
                raise RuntimeError("the step is wrong")
            if case == "raises":
                add_up(group)
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
        wrong = {"refused": "none", "breaks": broken()}.get(case) if rank == 1 else None
        space = {"num_workers": wrong or [0, 1]}
        try:
            return rue.tune(loader, models, space=space, strategy="grid", budget="4trials", quiet=True, trial_timeout="1s")
        finally:
            if case == "raises" and rank == 1:
                add_up(group)  # the others wait for it

    for case in ("works", "fails", "refused", "breaks", "differs", "raises", "hangs", "interrupted", "killed"):
        try:
            result = study(case)
            best = min(row["end_to_end_ns"] for row in result.best["best_by_model"])
            answer = dict(config=result.config, images=result.best["data_images"], ms=best / 1e6, interrupted=result.interrupted)
        except (Exception, KeyboardInterrupt) as error:
            answer = dict(error=f"{type(error).__name__}: {error}")
        with open("/proc/self/task/%d/children" % os.getpid()) as children:
            print(json.dumps(dict(case=case, children=children.read(), **answer)) + "\\n", end="", flush=True)
"""


def run_ranks(script, folder, program):
    """The answers of the ranks, {case: [answer of each]}, and what each wrote to stderr."""
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    (folder / "script.py").write_text(textwrap.dedent(script))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    path = os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests/python")])
    ranks = [subprocess.Popen([sys.executable, "script.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
                              env=clean_environment(RUE_PROGRAM=str(program), PYTHONPATH=path, RANK=str(rank), WORLD_SIZE=str(RANKS),
                                                    MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TMPDIR=str(folder)))
             for rank in range(RANKS)]
    outputs = [process.communicate(timeout=4 * HANG_S) for process in ranks]
    found = {}
    for out, _ in outputs:
        for line in out.splitlines():
            answer = json.loads(line)
            found.setdefault(answer["case"], []).append(answer)
    return found, [errors for _, errors in outputs]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    found, errors = run_ranks(SCRIPT, folder, PROGRAM)
    assert [len(of_case) for of_case in found.values()] == [RANKS] * 8 + [RANKS - 1], errors
    assert [path.name for path in folder.iterdir()] == ["script.py"], "no folder of a study is left"
    return found


def test_the_slowest_rank_counts_and_all_get_the_result(answers):
    first, *others = answers["works"]
    assert others == [first] * 2 and first["images"] == 32, "its share of 96"
    assert first["ms"] >= 4 * 20, "rank 1 takes 20 ms for each of 4 batches"


def test_an_error_of_one_rank_ends_all(answers):
    assert all(wording.ON_RANK.format(1) in answer["error"] and wording.ITEM_IS_DAMAGED.format(48) in answer["error"]
               for answer in answers["fails"])


@pytest.mark.parametrize("case, kind", [("refused", "ValueError: "), ("breaks", "OSError: ")])
def test_what_one_rank_refuses_ends_all(answers, case, kind):
    first, own, last = (answer["error"] for answer in answers[case])
    assert own.startswith(kind)
    assert first == last == own.replace(kind, "TuneError: " + wording.ON_RANK.format(1) + ": ")


def test_a_rank_that_raises_is_named_also_if_others_wait_for_it(answers):
    assert "add_up" in answers["raises"][0]["error"], "it waited"
    for rank, answer in enumerate(answers["raises"]):
        assert wording.ON_RANK.format(1) + ": the step mine failed" in answer["error"] and "the step is wrong" in answer["error"]
        assert ('raise RuntimeError("the step is wrong")' in answer["error"]) == (rank == 1), "its traceback"


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


# Runs rue. Once it is interrupted, there is a file; and it ends only once rank 1 has waited in case "all".
SLOW_RUE = """#!{python}
import pathlib, signal, subprocess, sys, time
rue = subprocess.Popen(["{program}", *sys.argv[1:]], close_fds=False)
def interrupt(number, frame):
    pathlib.Path("interrupted").touch()
    rue.send_signal(number)
signal.signal(signal.SIGINT, interrupt)
code = rue.wait()
while pathlib.Path("hold").exists():
    time.sleep(0.01)
sys.exit(code)
"""
INTERRUPTED_SCRIPT = """
    import json, os, pathlib, signal, threading, time
    import torch.distributed as dist
    from torch.utils.data import DataLoader
    import rue_tuner as rue
    from rue_tuner import distributed
    from pipelines import Squares

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    distributed.INTERRUPTED_S = 0.2  # until rank 0 has to be interrupted, too
    pids = [None] * dist.get_world_size()
    dist.all_gather_object(pids, os.getpid())
    interrupted, hold = pathlib.Path("interrupted"), pathlib.Path("hold")

    def interrupt_later():
        while not interrupted.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5 * distributed.INTERRUPTED_S)
        hold.unlink()

    def study(case):
        calls = []
        def step(batch):
            calls.append(batch)
            if len(calls) == (1 if case.endswith("first") else 9) and rank == 1:  # a trial has 4 batches
                if case == "all":
                    hold.touch()
                    threading.Thread(target=interrupt_later).start()
                os.kill(pids[1 if case.startswith("other") else 0], signal.SIGINT)
                time.sleep(1000)
            if rank == 2 and case == "other hangs" and len(calls) == 9:
                time.sleep(1000)  # as in a collective call that rank 1 left
        loader = DataLoader(Squares(32), batch_size=8)
        return rue.tune(loader, {"mine": step}, space={"num_workers": [0, 1]}, strategy="grid", budget="4trials", quiet=True)

    for case in ("alone", "all", "first", "other", "other hangs", "other first"):
        if case.startswith("other"):
            distributed.INTERRUPTED_S = 15
        try:
            answer = dict(interrupted=study(case).interrupted)
        except (Exception, KeyboardInterrupt) as error:
            answer = dict(error=f"{type(error).__name__}: {error}")
        dist.barrier()
        if rank == 0:
            interrupted.unlink(missing_ok=True)
        dist.barrier()
        print(json.dumps(dict(case=case, **answer)) + "\\n", end="", flush=True)
"""


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupted")
    program = folder / "rue"
    program.write_text(SLOW_RUE.format(python=sys.executable, program=PROGRAM))
    program.chmod(0o755)
    found, errors = run_ranks(INTERRUPTED_SCRIPT, folder, program)
    assert [len(of_case) for of_case in found.values()] == [RANKS] * 6, errors
    return found, errors


def test_ctrl_c_on_rank_0_gives_all_ranks_the_result_so_far(interrupted):
    found, errors = interrupted
    assert [answer.get("interrupted") for answer in found["alone"]] == [True] * RANKS
    assert wording.A_RANK_WAS_INTERRUPTED in errors[1] and wording.GAVE_UP not in errors[1]


def test_a_rank_waits_for_the_result_as_long_as_rank_0_writes_it(interrupted):
    assert [answer.get("interrupted") for answer in interrupted[0]["all"]] == [True] * RANKS


def test_ctrl_c_on_rank_0_before_there_is_a_result_is_named(interrupted):
    first, *others = (answer["error"] for answer in interrupted[0]["first"])
    assert first.startswith("KeyboardInterrupt") and all(error.startswith("KeyboardInterrupt: " + wording.A_RANK_WAS_INTERRUPTED) for error in others)


@pytest.mark.parametrize("case", ["other", "other hangs"])
def test_ctrl_c_on_another_rank_gives_all_ranks_the_result_so_far(interrupted, case):
    assert [answer.get("interrupted") for answer in interrupted[0][case]] == [True] * RANKS


def test_ctrl_c_on_another_rank_before_there_is_a_result_is_a_keyboard_interrupt_on_all(interrupted):
    assert all(answer["error"].startswith("KeyboardInterrupt") for answer in interrupted[0]["other first"]), interrupted[0]["other first"]


ONE_THEN_ALL_SCRIPT = """
    import json, os, sqlite3
    import torch.distributed as dist
    from torch.utils.data import DataLoader
    import rue_tuner as rue
    from pipelines import Squares

    def tune(case):
        rue.tune(DataLoader(Squares(32), batch_size=8), {"mine": len}, space={"num_workers": [0]}, strategy="grid", quiet=True, out="kept")
        with sqlite3.connect("kept/study.db") as db:
            print(json.dumps(dict(case=case, trials=db.execute("SELECT COUNT(*) FROM trial").fetchone()[0])) + "\\n", end="", flush=True)

    if os.environ["RANK"] == "0":
        tune("one")
    dist.init_process_group("gloo")
    tune("all")
    tune("again")
"""


ALONE_SCRIPT = """
    import json, os
    import torch.distributed as dist
    from torch.utils.data import DataLoader
    import rue_tuner as rue
    from pipelines import Squares
    from rue_tuner import distributed

    dist.init_process_group("gloo")
    def tune(case):
        try:
            rue.tune(DataLoader(Squares(32), batch_size=8), {"mine": len}, quiet=True)
        except rue.TuneError as error:
            print(json.dumps(dict(case=case, error=str(error))) + "\\n", end="", flush=True)

    os.environ["GLOO_SOCKET_IFNAME"] = "nosuch"
    tune("no interface")
    del os.environ["GLOO_SOCKET_IFNAME"]
    distributed.MEET_S = 2
    if dist.get_rank() == 0:
        tune("alone")
"""


def test_a_rank_that_tunes_alone_and_one_that_reaches_no_other_are_errors(tmp_path):
    found, errors = run_ranks(ALONE_SCRIPT, tmp_path, PROGRAM)
    assert [answer["error"].startswith("rank ") and "nosuch" in answer["error"] for answer in found["no interface"]] == [True] * RANKS, errors
    assert found["alone"][0]["error"].startswith("rank 0 did not meet the other ranks within 2 s: call rue_tuner.tune on every rank"), errors


def test_ranks_do_not_continue_a_study_of_one(tmp_path):
    found, errors = run_ranks(ONE_THEN_ALL_SCRIPT, tmp_path, PROGRAM)
    assert list(found) == ["one", "all", "again"], errors
    one, together, again = (answers[0]["trials"] for answers in found.values())
    assert 0 < one < together == again
