"""`rue runner --connect` with a tuner that is played by the test, and sends what no tuner sends."""
import contextlib
import json
import pathlib
import signal
import socket

import pytest

import wording
from conftest import HANG_S, wait_until, wait_until_ended

START = dict(op="start")
BAD_LINES = [b"", b"\0", b"x", b"\xff\xfe", b"[]", b"null", b"3", b'"hello"', b'{"op":3}', b'{"op":null}', b'{"op":["hello"]}', b"[" * 5000,
             b'{"op":"start"}', b'{"op":"start","at_ns":"soon"}', b'{"op":"start","at_ns":1e300}', b'{"op":"start","at_ns":-9223372036854775808}',
             b'{"op":"start","at_ns":9223372036854775807}', b'{"op":"start","at_ns":99999999999999999999}', b'{"op":"trial"}', b'{"op":"open","variant":7}',
             b'{"op":"skip"}', b'{"op":"join"}', b'{"op":"hello","protocol":"rue.runner/2"}', b"x" * 2_000_000]


class Tuner:
    """The end of the connection that the agent has made."""

    def __init__(self, rue, script, **more):
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(HANG_S)
            address = f"127.0.0.1:{server.getsockname()[1]}/{'0' * 32}"
            self.script = script
            self.process = rue.start("runner", "--connect", "--runner", script.command,
                                     env={"RUE_TUNER": address, "SLURM_PROCID": "1", "SLURM_NTASKS": "2", **more})
            self.socket, _ = server.accept()
        self.socket.settimeout(HANG_S)
        self.lines = self.socket.makefile("rb")
        self.joined = json.loads(self.lines.readline())

    def send(self, line):
        self.socket.sendall(line + b"\n")

    def ask(self, **request):
        self.send(json.dumps(request).encode())
        return json.loads(self.lines.readline())

    def welcome(self):
        self.send(b'{"status":"ok"}')

    def start_runner(self):
        self.welcome()
        assert self.ask(op="hello", protocol="rue.runner/1")["runner"] == "scripted 1.0"

    def close(self):
        with contextlib.suppress(OSError):  # the agent may have ended it
            self.socket.shutdown(socket.SHUT_RDWR)
        self.lines.close()
        self.socket.close()
        _, err = self.process.communicate(timeout=HANG_S)
        assert "Sanitizer" not in err and wording.RUNTIME_ERROR not in err, err
        assert wait_until_ended(self.script.pids())
        return self.process.returncode, err


@pytest.fixture
def tuner(rue, script):
    made = []

    def start(**more):
        made.append(Tuner(rue, script({"ape": {"16/1": 1000}}), **more))
        return made[-1]
    yield start
    for one in made:
        one.process.kill()
        one.process.communicate()


def test_a_rank_says_who_it_is(tuner):
    one = tuner(SLURM_LOCALID="1", SLURMD_NODENAME="n7")
    assert one.joined == dict(op="join", protocol="rue.rank/1", token="0" * 32, rank=1, world_size=2, local_rank=1, node="n7", variable="SLURM_PROCID")
    one.start_runner()
    assert one.close() == (0, "")


@pytest.mark.parametrize("names", [("RANK", "WORLD_SIZE", "LOCAL_RANK"), ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
                                   ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
                                   ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"),
                                   ("FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID")])
def test_a_launcher_within_slurm_comes_first(tuner, names):
    """Some of them copy the node's name of the first node to all."""
    one = tuner(SLURMD_NODENAME="n7", **dict(zip(names, ("3", "4", "2"))))
    assert {key: one.joined[key] for key in ("rank", "world_size", "local_rank", "node")} == dict(
        rank=3, world_size=4, local_rank=2, node=socket.gethostname())
    one.start_runner()
    assert one.close() == (0, "")


OF_MPI = dict(OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="2")
OF_POD = dict(RANK="0", WORLD_SIZE="3")


@pytest.mark.parametrize("more, variable, rank, world_size", [
    (OF_POD, "SLURM_PROCID", 1, 2),  # of srun
    (dict(OF_POD, **OF_MPI), "OMPI_COMM_WORLD_RANK", 1, 2),
    (dict(OF_POD, PMI_RANK="3", PMI_SIZE="4"), "PMI_RANK", 3, 4),
    (dict(OF_POD, LOCAL_RANK="0", **OF_MPI), "RANK", 0, 3),  # torchrun, started by mpirun
    (dict(OF_POD, LOCAL_RANK="", **OF_MPI), "OMPI_COMM_WORLD_RANK", 1, 2),
    (dict(OF_POD, SLURM_PROCID=""), "RANK", 0, 3),
    (dict(OF_POD, SLURM_NTASKS=""), "RANK", 0, 3),
    (dict(OMPI_COMM_WORLD_RANK="1"), "SLURM_PROCID", 1, 2),  # without a number of ranks
    (dict(RANK="5", LOCAL_RANK="0"), "SLURM_PROCID", 1, 2),
    (dict(SLURM_STEP_NUM_TASKS="4", SLURM_NTASKS="9"), "SLURM_PROCID", 1, 4),
    (dict(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="1"), "SLURM_PROCID", 1, 2),  # one alone
    (dict(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="1", SLURM_PROCID=""), "RANK", 0, 1),
])
def test_variables_of_a_pod_do_not_hide_the_launchers(tuner, more, variable, rank, world_size):
    one = tuner(**more)
    assert {key: one.joined[key] for key in ("rank", "world_size", "variable")} == dict(rank=rank, world_size=world_size, variable=variable)
    one.start_runner()
    assert one.close() == (0, "")


@pytest.mark.parametrize("visible, gpu", [("4,GPU-ab", "GPU-ab"), ("0,1,2", "1"), ("5", "5"), ("", "")])
def test_each_rank_gets_one_of_the_visible_gpus(tuner, visible, gpu):
    one = tuner(SLURM_LOCALID="1", CUDA_VISIBLE_DEVICES=visible)
    one.start_runner()
    pid, = one.script.pids()
    assert f"CUDA_VISIBLE_DEVICES={gpu}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert one.close() == (0, "")


@pytest.mark.parametrize("answer", [b"", b"x", b"[]", b'{"status":3}', b'{"status":"no"}', b'{"status":"refused","reason":7}', b"x" * 5000])
def test_another_welcome_ends_the_agent(tuner, answer):
    one = tuner()
    one.send(answer)
    one.process.wait(timeout=HANG_S)
    code, err = one.close()
    assert code == 1 and wording.REFUSES_RANK_IT_ENDED.format(1) in err, err


def test_a_refusal_is_reported(tuner):
    one = tuner()
    one.send(b'{"status":"refused","reason":"the connection has a wrong token"}')
    one.process.wait(timeout=HANG_S)
    code, err = one.close()
    assert code == 1 and wording.REFUSES_RANK_THE_CONNECTION.format(1) in err, err


@pytest.mark.parametrize("runs", [False, True])
def test_lines_that_no_tuner_sends(tuner, runs):
    """The agent answers afterwards as before. The runner dies of some of them."""
    one = tuner()
    one.welcome()
    if runs:
        one.start_runner()
    for line in BAD_LINES:
        one.send(line)
        one.send(b'{"op":"clock"}')
        assert any(b"clock_ns" in answer for answer in iter(one.lines.readline, b"")), "the agent ended"
    one.send(b'{"op":"end"}')
    one.send(b'{"op":"hello","protocol":"rue.runner/1"}')
    assert any(b"scripted 1.0" in answer for answer in iter(one.lines.readline, b"")), "no other runner is started"
    assert one.close()[0] == 0


@pytest.mark.parametrize("at_ns", [-1, 0, 1, 2**63 - 1, 10**18, 1.5, "x", None])
def test_a_start_beyond_all_bounds_is_at_once(tuner, at_ns):
    one = tuner()
    one.start_runner()
    trial = dict(op="trial", id=1, measure="joint", model="ape", config=dict(batch_size=16, num_workers=1, pin_memory=True), images=32, detail=False,
                 workload={}, limits={})
    one.send(json.dumps(trial).encode())
    one.send(json.dumps(dict(START, at_ns=at_ns)).encode())
    answer = json.loads(one.lines.readline())
    assert answer["status"] == "ok" and answer["images"] == 32
    assert one.close()[0] == 0


STATES = dict(joining=lambda one: None, welcomed=lambda one: one.welcome(), running=lambda one: one.start_runner(),
              half_a_line=lambda one: (one.start_runner(), one.socket.sendall(b'{"op":"trial"')),
              measuring=lambda one: (one.start_runner(), one.send(b'{"op":"trial","id":1,"measure":"joint"}')),
              ended=lambda one: (one.start_runner(), one.ask(op="end")))


@pytest.mark.parametrize("state", STATES)
def test_the_end_of_the_connection_ends_all(tuner, state):
    one = tuner()
    STATES[state](one)
    code, err = one.close()
    assert code == (1 if state == "joining" else 0), err


def test_a_signal_ends_the_runner(tuner):
    one = tuner()
    one.start_runner()
    one.process.send_signal(signal.SIGTERM)
    one.process.wait(timeout=HANG_S)
    assert one.close()[0] == -signal.SIGTERM


def test_a_line_without_end_is_refused(tuner):
    one = tuner()
    one.start_runner()
    with pytest.raises(OSError):
        while True:
            one.socket.sendall(b"x" * (1 << 20))
    one.process.wait(timeout=HANG_S)
    code, err = one.close()
    assert code == 1 and wording.THE_TUNER_SENT_A_LINE in err, err


def test_a_runner_that_ends_is_reported_and_started_again(tuner):
    one = tuner()
    one.start_runner()
    first = one.script.pids()
    end = one.ask(op="end")
    assert end["ended"] in ("ended", "was killed by SIGTERM") and end["out_of_memory"] is False
    assert end["exit_code"] == (0 if end["ended"] == "ended" else -1)
    assert one.ask(op="hello", protocol="rue.runner/1")["runner"] == "scripted 1.0"
    wait_until(lambda: len(one.script.pids()) == 2, one.process)
    assert wait_until_ended(first) and one.close()[0] == 0
