"""rue tune --launch with the launchers themselves: Slurm, Open MPI, MPICH and torchrun."""
import fcntl
import json
import os
import pathlib
import pty
import re
import shlex
import signal
import subprocess
import sys
import termios
import time

import pytest

import wording
from conftest import HANG_S, ROOT, Script, clean_environment, make_table, read_json
from launchers import mpich, open_mpi
from test_launch import GRID, rows

TABLE = make_table(["ape"], [16, 64], [1, 4], lambda model, batch, workers: 4_000_000 // workers - 1000 * batch)


@pytest.fixture
def tune(rue, launcher):
    """Tunes on 2 ranks of the launcher."""
    def call(*words, **more):
        done = rue("tune", *words, "--launch", launcher.command(2), *GRID, env=launcher.env, **more)
        assert done.returncode == 0, done.stderr
        return read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    return call


def rank_one(launcher, tmp_path, command, instead):
    """A runner: `instead` on rank 1, `command` on the others."""
    path = tmp_path / "runner.sh"
    path.write_text(f'#!/bin/sh\n[ "${launcher.rank}" = 1 ] && exec {instead}\nexec {command}\n')
    path.chmod(0o755)
    return path


def other_script(tmp_path, table, **more):
    """A script beside that of the fixture."""
    folder = tmp_path / "other"
    folder.mkdir()
    return Script(folder, table, **more)


# ---- what is measured ----

def test_two_ranks_give_the_answer_of_two_gpus(rue, launcher, tune, script):
    runner = script(TABLE, hello=dict(machine=dict(cpu="none"))).command  # with CPUs, the baselines differ: two nodes have more
    assert rue("tune", "--runner", runner, "--gpus", "0,1", *GRID).returncode == 0
    gpus = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    ranks = tune("--runner", runner, "--fresh")
    assert (gpus.pop("gpus"), ranks.pop("gpus"), ranks.pop("ranks")) == (2, None, 2)
    assert gpus == ranks


def test_two_ranks_load_photos(rue, launcher, tune, photos):
    tune(photos, "--mode", "raw", "--model", "resnet18", "--device", "h100", "--batch-size", "4", "--num-workers", "0,1")
    nodes = ["n1", "n2"] if launcher.node else [os.uname().nodename] * 2
    measured = rows(rue)
    for status, reason, end_ns, ranks in measured:
        ranks = json.loads(ranks)
        assert status == "ok" and [(rank["rank"], rank["node"], rank["images"]) for rank in ranks] == [(0, nodes[0], 24), (1, nodes[1], 24)], reason
        assert max(rank["end_to_end_ns"] for rank in ranks) == end_ns
    assert measured


def test_a_slow_rank_sets_the_time_and_is_named(rue, launcher, tune, script, tmp_path):
    slow = other_script(tmp_path, {"ape": {cell: 2 * ns for cell, ns in TABLE["ape"].items()}})
    part = tune("--runner", rank_one(launcher, tmp_path, script(TABLE).command, slow.command))
    assert (part["slow_rank"]["rank"], round(part["slow_rank"]["slower_ratio"], 3)) == (1, 2.0)
    measured = [(end_ns, [rank["end_to_end_ns"] for rank in json.loads(ranks)]) for _, _, end_ns, ranks in rows(rue) if end_ns]
    assert any(times == [end_ns // 2, end_ns] for end_ns, times in measured)


def test_ranks_use_the_loader_of_pytorch(rue, photos):
    pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
    launcher = mpich()
    runner = shlex.join([sys.executable, "-m", "rue_tuner.runner"])
    done = rue("tune", photos, "--mode", "raw", "--model", "resnet18", "--device", "h100", "--batch-size", "4", "--num-workers", "0", *GRID,
               "--runner", runner, "--launch", launcher.command(2), env=dict(launcher.env, PYTHONPATH=ROOT / "python"))
    assert done.returncode == 0, done.stderr
    assert [[rank["images"] for rank in json.loads(row[3])] for row in rows(rue) if row[0] == "ok"] == [[24, 24]] * len(rows(rue)) != []


def test_mpirun_may_pass_variables_of_its_user(rue, script):
    launcher = open_mpi()
    words = shlex.join([*launcher.words(2), "-x", "HOME"])
    done = rue("tune", "--runner", script(TABLE).command, *GRID, "--launch", words, env=launcher.env)
    assert done.returncode == 0 and rows(rue), done.stderr


# ---- faults ----

MARK = "MARK_OF_TEST"


def marked(mark):
    """All processes that have this mark in their environment: the program and what it started, whoever is its parent now."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}={mark}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def wait_until_none(mark, begin=None):
    """Returns the seconds since `begin`."""
    begin = begin or time.monotonic()
    while marked(mark):
        assert time.monotonic() < begin + 30, [pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in marked(mark)]
        time.sleep(0.01)
    return time.monotonic() - begin


def environment_of(pid):
    return dict(entry.split("=", 1) for entry in pathlib.Path(f"/proc/{pid}/environ").read_text(errors="replace").split("\0") if "=" in entry)


def agent_of(launcher, rank, mark):
    """The oldest process of rue in a rank."""
    words = lambda pid: pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:3]
    return min(pid for pid in marked(mark) if environment_of(pid).get(launcher.rank) == str(rank) and words(pid) == [b"runner", b"--connect"])


class Study:
    """On 2 ranks of a launcher, each trial takes half a second or so; every runner has a child."""

    def __init__(self, rue, launcher, script, tmp_path, start, *words):
        self.launcher, self.mark, self.rue = launcher, str(tmp_path), rue
        self.script = script(TABLE, clock="real", delay_s=0.3, hello=dict(clock="real", images=1000))
        runner = tmp_path / "runner.sh"
        runner.write_text(f"#!/bin/sh\nsleep 600 &\nexec {self.script.command}\n")
        runner.chmod(0o755)
        self.process = start("tune", "--runner", runner, *GRID, *words, "--launch", launcher.command(2), env={**launcher.env, MARK: self.mark})

    def wait_for_trial(self, number=2):
        self.script.wait_for(2 * number, self.process)

    def agent(self, rank):
        return agent_of(self.launcher, rank, self.mark)

    def finish(self):
        """Rows that failed; others were measured."""
        out, err = self.process.communicate(timeout=HANG_S)
        assert self.process.returncode in (0, 5), err  # 5: decided or not
        failed = [row for row in rows(self.rue) if row[0] != "ok"]
        assert len(rows(self.rue)) > len(failed)
        wait_until_none(self.mark)
        return failed


@pytest.fixture
def study(rue, launcher, script, tmp_path):
    made = []

    def open_study(*words, start=rue.start):
        made.append(Study(rue, launcher, script, tmp_path, start, *words))
        return made[-1]
    yield open_study
    for one in made:
        one.process.kill()
        one.process.wait()


def test_a_killed_rank_is_named_and_started_again(study, launcher):
    one = study("--quiet")
    one.wait_for_trial()
    begin, count = time.monotonic(), len(one.script.joint())
    os.kill(one.agent(1), signal.SIGKILL)
    one.script.wait_for(count + 2, one.process)
    print(f"{launcher.name}: the next trial began {time.monotonic() - begin:.2f} s after SIGKILL to a rank")
    node = "n2" if launcher.node else os.uname().nodename
    assert [row[:2] for row in one.finish()] == [
        ("failed", f"on rank 1 ({node}): the runner lost its connection: its process or its node ended during the trial")]


@pytest.mark.parametrize("launcher", ["mpich"], indirect=True)  # how they start does not matter here
def test_a_stopped_rank_is_a_timeout(study, launcher):
    one = study("--quiet", "--trial-timeout", "2s")
    one.wait_for_trial()
    agent = one.agent(1)
    os.kill(agent, signal.SIGSTOP)
    try:
        one.script.wait_for(6, one.process)
    finally:
        try:
            os.kill(agent, signal.SIGCONT)
        except ProcessLookupError:
            pass
    (status, reason, *_), = one.finish()
    assert status == "timeout" and re.match(r"on rank 1 \(\w+\): the runner gave no answer within", reason), reason


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_killed_launcher_does_not_end_the_study(study, launcher):
    """Some ranks live on, others are started again."""
    one = study("--quiet")
    one.wait_for_trial()
    keeper, = children(one.process.pid)
    for pid in children(keeper):
        os.kill(pid, signal.SIGKILL)
    failed = one.finish()
    print(f"{launcher.name}: {len(failed)} trials failed after SIGKILL to the launcher")
    assert all(wording.LOST_ITS_CONNECTION in row[1] or "killed by SIGKILL" in row[1] for row in failed), failed


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_ranks_end_with_the_tuner(study, number):
    one = study("--quiet")
    one.wait_for_trial()
    assert len(marked(one.mark)) >= 7  # the tuner, 2 agents, 2 runners and their children
    begin = time.monotonic()
    one.process.send_signal(number)
    print(f"{one.launcher.name}: all ended {wait_until_none(one.mark, begin):.2f} s after {number.name}")
    one.process.communicate(timeout=HANG_S)


def test_ctrl_c_ends_all_ranks(study, rue):
    master, slave = pty.openpty()

    def start(*words, env):
        """With a terminal, whose keys send signals."""
        return subprocess.Popen([rue.program, *words], cwd=rue.folder, env=clean_environment(**env), stdin=slave, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    one = study(start=start)
    one.wait_for_trial()
    begin = time.monotonic()
    os.write(master, b"\x03")
    print(f"{one.launcher.name}: all ended {wait_until_none(one.mark, begin):.2f} s after Ctrl-C")
    one.process.communicate(timeout=HANG_S)
    assert one.process.returncode == 130
    os.close(master)
    os.close(slave)
