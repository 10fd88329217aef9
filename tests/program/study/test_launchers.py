"""What starts the ranks of a job, as it is: who a rank is by its environment, and that ranks end with their launcher."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from conftest import HANG_S, ROOT, clean_environment, wait_until, wait_until_ended

RANKS = 4


@pytest.fixture
def start(launcher, tmp_path):
    """Every rank runs this line of the shell."""
    started = []

    def start(line):
        script = tmp_path / "rank.sh"
        script.write_text(line)  # in a file, as torchrun changes "$" in the words of its command
        env = clean_environment(**launcher.env, RUE_TUNER="127.0.0.1:1/token")
        started.append(subprocess.Popen([*launcher.words(RANKS), "sh", script], env=env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]
    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_rank_knows_itself_by_its_environment(launcher, start):
    node = "$" + launcher.node if launcher.node else "-"
    # A moment for MPICH: it gets SIGPIPE when it passes the end of its input to a rank that has ended.
    process = start(f"sleep 0.5\necho ${launcher.rank} ${launcher.world} ${launcher.local_rank} {node} $RUE_TUNER")
    out, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, err
    on_node, nodes = (RANKS // 2, ["n1", "n2"]) if launcher.node else (RANKS, ["-"])
    assert sorted(line.split() for line in out.splitlines()) == [
        [str(rank), str(RANKS), str(rank % on_node), nodes[rank // on_node], "127.0.0.1:1/token"] for rank in range(RANKS)]


def test_ranks_end_with_their_launcher(start, tmp_path):
    pids = tmp_path / "pids"
    pids.touch()
    # First a second for torchrun: a signal that comes while it starts ranks does not reach them.
    process = start(f"sleep 1\necho $$ >>{pids}\nexec sleep 600")
    wait_until(lambda: len(pids.read_text().splitlines()) == RANKS, process)
    process.terminate()
    assert wait_until_ended(list(map(int, pids.read_text().split())))
    process.communicate(timeout=HANG_S)  # with any exit code: that of MPICH is 0 now and then


KILLED = """
import json, os, pathlib, signal, subprocess, sys, launchers
with launchers.slurm_cluster() as slurm:
    job = subprocess.Popen([*slurm.words(2), "sh", "-c", "echo $$; exec sleep 600"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           env=dict(os.environ, **slurm.env), process_group=0)
    ranks = [int(job.stdout.readline()) for _ in range(2)]
    folder = pathlib.Path(slurm.env["SLURM_CONF"]).parent
    daemons = [int((folder / file).read_text()) for file in ("munge.pid", "slurmctld.pid", "n1.pid", "n2.pid")]
    print(json.dumps([job.pid, str(folder), ranks + daemons]), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_of_slurm_outlives_killed_tests(slurm):
    done = subprocess.run([sys.executable, "-c", KILLED], env=clean_environment(PYTHONPATH=ROOT / "tests/fixtures"), capture_output=True,
                          text=True, timeout=HANG_S)
    assert done.returncode == -signal.SIGKILL, done.stderr
    job, folder, pids = json.loads(done.stdout)
    os.killpg(job, signal.SIGKILL)  # srun itself, which waits for its cluster
    assert wait_until_ended(pids)
    wait = time.monotonic() + HANG_S
    while pathlib.Path(folder).exists() and time.monotonic() < wait:
        time.sleep(0.01)
    assert not pathlib.Path(folder).exists()
