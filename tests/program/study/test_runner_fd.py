"""--runner-fd: the program that starts rue makes the trials itself, and speaks the protocol over a socket pair."""
import contextlib
import json
import socket
import sqlite3
import subprocess
import threading

import pytest

from conftest import expect_failure, finish, make_table, read_json, stop
from scripted_runner import Player, wrong_config

TABLE = make_table(["ape", "mine"], [16, 32, 64], [1, 2, 4], lambda model, batch, workers: 1000 + 3200 // batch + 400 // workers)
WORDS = ["--quiet", "--out", "out", "--budget", "10h", "--strategy", "grid", "--baseline", "none"]
CELLS = 2 * 3 * 3  # of the table


def cells(trials):
    return {(trial["model"], trial["config"]["batch_size"], trial["config"]["num_workers"]) for trial in trials}


class Rank(threading.Thread):
    """Answers at one socket. `fault(request, answer, socket)`."""

    def __init__(self, player, fault):
        super().__init__()
        self.player, self.fault, self.requests = player, fault, []
        self.ours, self.theirs = socket.socketpair()

    def run(self):
        with contextlib.suppress(OSError), self.ours, self.ours.makefile("rw") as lines:
            for line in lines:
                request = json.loads(line)
                self.requests.append(request)
                answer = self.player.hello() if request["op"] == "hello" else self.player.opened()
                if request["op"] == "trial":
                    answer = self.answer_trial(request)
                    if request.get("wait"):
                        print(json.dumps(dict(id=request["id"], status="ready")), file=lines, flush=True)
                        if json.loads(next(lines))["op"] != "start":
                            answer = dict(id=request["id"], status="failed", reason="skipped")
                    answer = self.fault(request, answer, self.ours) if self.fault else answer
                if answer:
                    print(json.dumps(answer), file=lines, flush=True)

    def answer_trial(self, request):
        if "profile" in request:
            self.player.script["ns_per_image"][request["model"]] = TABLE["ape"]
        return self.player.result(request, f"{request['config']['batch_size']}/{request['config']['num_workers']}")


class Served:
    """`rue WORDS --runner-fd LIST`, with trials that threads of this process answer, one for each of `ranks`."""

    def __init__(self, rue, ranks, words, **more):
        self.ranks, self.requests = ranks, ranks[0].requests
        fds = [rank.theirs.fileno() for rank in ranks]
        self.process = rue.start(*words, "--runner-fd", ",".join(map(str, fds)), pass_fds=fds, **more)
        for rank in ranks:
            rank.theirs.close()
            rank.start()

    def trials(self):
        return [request for request in self.requests if request["op"] == "trial"]

    def finish(self):
        done = subprocess.CompletedProcess(self.process.args, *finish(self.process))
        self.join()
        return done

    def join(self):
        for rank in self.ranks:
            rank.join()


@pytest.fixture
def serve(rue, tmp_path):
    def start(*words, fault=None, command=("tune", *WORDS), **script):
        player = Player(dict(log=str(tmp_path / "unused"), ns_per_image=dict(TABLE), measures=["joint"], **script))
        return Served(rue, [Rank(player, fault)], [*command, *words])
    return start


@pytest.fixture
def serve_ranks(rue, tmp_path):
    """Three ranks; `fault` and `script` are those of rank 1, and `others` is the fault of the other two."""
    def start(*words, fault=None, others=None, **script):
        def rank(fault, **script):
            return Rank(Player(dict(log=str(tmp_path / "unused"), ns_per_image=dict(TABLE), measures=["joint"], **script)), fault)
        return Served(rue, [rank(others), rank(fault, **script), rank(others)], ["tune", *WORDS, *words])
    return start


def statuses(rue):
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db")) as db:
        return db.execute("SELECT status, reason FROM trial ORDER BY id").fetchall()


def test_a_whole_study(rue, serve, script):
    one = serve()
    done = one.finish()
    assert done.returncode == 0, done.stderr
    assert [request["op"] for request in one.requests[:2]] == ["hello", "open"] and len(cells(one.trials())) == CELLS
    (best,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    assert (best["config"]["batch_size"], best["config"]["num_workers"]) == (64, 4)
    assert done.stdout.startswith("Use batch_size 64, num_workers 4: 0.0 % mean regret"), "the only data need no name"
    assert rue("tune", *WORDS, "--out", "other", "--runner", script(TABLE).command).returncode == 0
    (other,) = read_json(rue.folder / "other/recommendation.json")["recommendations"]
    assert other["config"] == best["config"] and other["mean_regret_ratio"] == best["mean_regret_ratio"]


def test_its_trials_are_found_again(rue, serve):
    assert serve().finish().returncode == 0
    again = serve()
    assert again.finish().returncode == 0
    assert again.trials() == []


def test_a_check_begins_each_part_with_hello(rue, serve):
    variants = [dict(path="", mode="raw", format=name) for name in ("one", "two")]
    assert serve(hello=dict(variants=variants)).finish().returncode == 0
    check = serve(command=["check", "out", "--json"], hello=dict(variants=variants))
    done = check.finish()
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["checks"]) == 2
    assert [request["op"] for request in check.requests].count("hello") == 2


def fail_at(count, what):
    """The fault `what` from trial number `count`."""
    seen = []

    def fault(request, answer, ours):
        seen.append(request)
        return what(answer, ours) if len(seen) >= count else answer
    return fault


def close(answer, ours):
    ours.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("what, words, status, reason", [
    (close, [], "failed", "the runner ended during the trial"),
    (lambda answer, ours: None, ["--trial-timeout", "250ms"], "timeout", "the runner gave no answer within 500 ms"),
    (lambda answer, ours: "no object", [], "failed", "the runner sent"),
])
def test_a_program_that_fails_ends_the_study_with_its_results(rue, serve, what, words, status, reason):
    one = serve(*words, fault=fail_at(CELLS - 1, what))
    line = expect_failure(one.finish(), 1, "the program that serves the trials " + reason[len("the runner "):],
                          ", so no more trials are possible")
    assert "killed" not in line and len(one.trials()) == CELLS - 1
    *earlier, (last, why) = statuses(rue)
    assert {word for word, _ in earlier} == {"ok"} and len(earlier) == CELLS - 2
    assert last == status and why.startswith(reason) and "killed" not in why
    (best,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    assert best["config"]["num_workers"] == 4


def test_a_wrong_answer_is_a_failed_trial_and_the_study_goes_on(rue, serve):
    one = serve(fault=lambda request, answer, ours: wrong_config(None, answer) if request["id"] == 3 else answer)
    assert one.finish().returncode == 0
    assert [word for word, _ in statuses(rue)].count("failed") == 1 and len(cells(one.trials())) == CELLS


def test_one_that_says_spent_cannot_go_on(serve):
    expect_failure(serve(fault=fail_at(CELLS - 1, lambda answer, ours: dict(answer, spent=True))).finish(), 1,
                   "the program that serves the trials cannot make another trial, so no more trials are possible")


def interrupt(rue, start):
    """Interrupts a study whose last trial but one gets no answer."""
    reached = threading.Event()

    def hang(answer, ours):
        reached.set()
    served = start(fault=fail_at(CELLS - 1, hang))
    assert reached.wait(60)
    code, _, _ = stop(served.process)
    served.join()
    assert code == 130
    assert [word for word, _ in statuses(rue)] == ["ok"] * (CELLS - 2)


def test_an_interrupt_ends_it_with_the_results_so_far(rue, serve):
    interrupt(rue, serve)
    assert read_json(rue.folder / "out/recommendation.json")["recommendations"]


def test_one_that_cannot_work_says_why(serve):
    assert expect_failure(serve(hello=dict(reason="the data set has no samples")).finish(), 1) == \
        "rue tune: the data set has no samples"
    expect_failure(serve(hello="nonsense").finish(), 1, "the program that serves the trials did not answer 'hello' correctly: it sent")


@pytest.mark.parametrize("fd", [3, 700, "no", 1])
def test_what_is_not_a_socket_is_refused(rue, fd):
    expect_failure(rue("tune", "--runner-fd", fd), 2, "--runner-fd")


@pytest.mark.parametrize("list, says", [("{0},{0}", "--runner-fd: {0} is given twice"), ("{0},", "--runner-fd:  is not"), ("{0},4x", "4x is not")])
def test_lists_of_sockets_that_are_refused(rue, list, says):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        done = rue("tune", "--runner-fd", list.format(theirs.fileno()), pass_fds=[theirs.fileno()])
        expect_failure(done, 2, says.format(theirs.fileno()))


def test_what_is_another_kind_of_file_is_refused(rue):
    for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        ours, theirs = socket.socketpair(type=kind)
        with ours, theirs:
            done = rue("tune", "--runner-fd", theirs.fileno(), pass_fds=[theirs.fileno()])
            expect_failure(done, 2, f"--runner-fd: {theirs.fileno()} is not an open stream socket")
    with open("/dev/null") as file:
        done = rue("tune", "--runner-fd", f"{file.fileno()},{file.fileno()}", pass_fds=[file.fileno()])
        expect_failure(done, 2, f"--runner-fd: {file.fileno()} is not an open stream socket")
        done = rue("scale", ".", "--runner-fd", file.fileno(), pass_fds=[file.fileno()])
        expect_failure(done, 2, f"--runner-fd: {file.fileno()} is not an open stream socket")


@pytest.mark.parametrize("words, says", [
    (["--runner", "true"], "--runner and --runner-fd"),
    (["--gpus", "0,1"], "--gpus cannot be used with --runner-fd"),
    (["--table", "times.csv"], "--runner-fd cannot be used with --table"),
])
def test_conflicts(serve, words, says):
    expect_failure(serve(*words).finish(), 2, says)


def test_a_runner_of_the_environment_is_overridden(rue, tmp_path):
    player = Player(dict(log=str(tmp_path / "unused"), ns_per_image=dict(TABLE)))
    assert Served(rue, [Rank(player, None)], ["tune", *WORDS], env=dict(RUE_RUNNER="false")).finish().returncode == 0


# ---- several sockets ----

def test_ranks_make_each_trial_together_and_the_slowest_counts(rue, serve, serve_ranks):
    alone = serve("--max-memory", "1G", "--out", "alone")
    assert alone.finish().returncode == 0
    resources = dict(anon_peak_bytes=1000, read_bytes=20, cpu_ratio=0.5, file_peak_bytes=7)

    def load(request, answer, ours):
        return dict(answer, end_to_end_ns=2 * answer["end_to_end_ns"], **resources)
    three = serve_ranks("--max-memory", "1G", fault=load, others=lambda request, answer, ours: dict(answer, **resources))
    done = three.finish()
    assert done.returncode == 0, done.stderr
    plain = [dict(request, wait=True) if request["op"] == "trial" else request for request in alone.requests]
    assert [rank.requests for rank in three.ranks] == [plain] * 3, "each gets the requests that one alone gets"
    (best,), (one,) = (read_json(rue.folder / f"{out}/recommendation.json")["recommendations"] for out in ("out", "alone"))
    assert best["config"] == one["config"] and "rank" not in done.stdout, "it is a study of one loader"
    assert best["best_by_model"][0]["end_to_end_ns"] == 2 * one["best_by_model"][0]["end_to_end_ns"]
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db")) as db:
        found = db.execute("SELECT DISTINCT anon_peak_bytes, read_bytes, cpu_ratio, file_peak_bytes, ranks FROM trial").fetchall()
    assert found == [(3000, 60, 1.5, 7, None)]


def test_the_rank_that_fails_a_trial_is_named(rue, serve_ranks):
    three = serve_ranks(fault=lambda request, answer, ours: wrong_config(None, answer) if request["id"] == 3 else answer)
    assert three.finish().returncode == 0
    ((status, reason),) = [row for row in statuses(rue) if row[0] != "ok"]
    assert status == "failed" and reason.startswith("on rank 1: ") and len(cells(three.trials())) == CELLS


@pytest.mark.parametrize("what, reason", [(close, "ended during the trial"), (lambda answer, ours: None, "gave no answer within 500 ms")])
def test_a_rank_that_is_lost_ends_the_study_with_its_results(rue, serve_ranks, what, reason):
    three = serve_ranks("--trial-timeout", "250ms", fault=fail_at(CELLS - 1, what))
    expect_failure(three.finish(), 1, f"on rank 1: the program that serves the trials {reason}, so no more trials are possible")
    *earlier, (_, why) = statuses(rue)
    assert len(earlier) == CELLS - 2 and why == f"on rank 1: the runner {reason}"
    assert read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["config"]["num_workers"] == 4


def test_a_rank_that_others_wait_for_is_the_one_that_failed(rue, serve_ranks):
    """Rank 0 fails because rank 1 ended."""
    gone = threading.Event()

    def leave(answer, ours):
        close(answer, ours)
        gone.set()

    def fail(request, answer, ours):
        assert gone.wait(60)
        return dict(id=request["id"], status="failed", reason="rank 1 is gone")
    three = serve_ranks(fault=fail_at(1, leave), others=fail)
    expect_failure(three.finish(), 1, "on rank 1: the program that serves the trials ended during the trial")
    assert statuses(rue) == [("failed", "on rank 1: the runner ended during the trial")]


def test_ranks_that_cannot_work_are_named(serve_ranks):
    assert expect_failure(serve_ranks(hello=dict(reason="the data set has no samples")).finish(), 1) == \
        "rue tune: on rank 1: the data set has no samples"
    expect_failure(serve_ranks(opened=dict(status="failed", reason="no such folder")).finish(), 3, "on rank 1: ", "no such folder")
    expect_failure(serve_ranks(hello=dict(runner="scripted 2.0")).finish(), 1, "the runner on rank 1 answers 'hello' differently",
                   "the same runner is needed everywhere")


def test_an_interrupt_ends_several_ranks(rue, serve_ranks):
    interrupt(rue, serve_ranks)


# ---- models of the runner and of the catalogue in one study ----

def test_models_of_both_kinds(rue, serve):
    one = serve("--model", "mine,resnet50@h100,resnet18", "--device", "l4", hello=dict(models=["mine"]))
    done = one.finish()
    assert done.returncode == 0, done.stderr
    models = ["mine", "resnet50@h100", "resnet18@l4"]
    assert read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["models"] == models
    assert {request["model"]: "profile" in request for request in one.trials() if "model" in request} == \
        dict(zip(models, [False, True, True]))
    check = serve(command=["check", "out", "--json"], hello=dict(models=["mine"]))
    done = check.finish()
    assert done.returncode == 0, done.stderr
    assert {request["model"] for request in check.trials() if request["measure"] == "joint"} == set(models)


@pytest.mark.parametrize("words, says", [
    (["--model", "mine,yak"], "the runner scripted 1.0 does not know the model 'yak'; in rue's catalogue: unknown model 'yak'; known:"),
    (["--model", "minne"], "the runner scripted 1.0 does not know the model 'minne': did you mean 'mine'?"),
    (["--model", "mine,resnet5"], "in rue's catalogue: unknown model 'resnet5': did you mean 'resnet50'?"),
    (["--model", "mine", "--device", "h100"], "--device: all models are those of the runner scripted 1.0; remove the option"),
    (["--device", "h100"], "--device: all models are those of the runner scripted 1.0; remove the option"),
])
def test_models_that_nobody_knows(serve, words, says):
    expect_failure(serve(*words).finish(), 2, says)


# ---- PyTorch's arguments ----

def test_persistent_workers_are_named_only_where_they_were_measured(rue, serve):
    knob = dict(name="persistent", kind="flag", pytorch="persistent_workers", needs_workers=True)
    assert serve(hello=dict(loader="torch")).finish().returncode == 0
    (best,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    assert "persistent_workers" not in best["torch"]
    done = serve("--out", "other", "--knob", "persistent=true", hello=dict(loader="torch", knobs=[knob])).finish()
    assert done.returncode == 0, done.stderr
    (best,) = read_json(rue.folder / "other/recommendation.json")["recommendations"]
    assert best["torch"]["persistent_workers"] is True
