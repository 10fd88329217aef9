"""Clocks that jump, and trials that are suspended on their way: what is stored was measured without a break."""
import os
import pty
import signal
import time

import pytest

from conftest import HANG_S, clean_environment, expect_failure, finish, read_json, state, wait_until, wait_until_ended
from test_faults_process import CELLS, OWN, TABLE, bad, descendants, rows, find_runner, start, tune

THROWN_AWAY = "a trial was suspended: its result is discarded"
BREAK_S = 0.3  # anything would do


def requested_twice(one):
    """The cells that were asked for more than once."""
    joint = one.joint()
    return sorted({cell for cell in joint if joint.count(cell) > 1})


def expect_all_measured_once(rue, one, err):
    """Every cell has one good row, though a trial was thrown away; and that was told once."""
    joint = [row for row in rows(rue) if row["measure"] == "joint"]
    assert len(joint) == len(CELLS) and not bad(rue)
    assert set(one.joint()) == set(CELLS) and requested_twice(one)
    assert err.count(THROWN_AWAY) == 1, err


# ---- the calendar ----

def test_a_clock_that_jumps_has_no_effect(release_rue, script, preload):
    one = script(TABLE)
    assert tune(release_rue, one).returncode == 0
    usual = read_json(release_rue.folder / "out/recommendation.json")["recommendations"]
    done = tune(release_rue, one, "--fresh", env=preload(PRELOAD_CALENDAR="1"))
    assert done.returncode == 0 and not bad(release_rue), done.stderr
    assert read_json(release_rue.folder / "out/recommendation.json")["recommendations"] == usual
    assert max(row["started_ns"] for row in rows(release_rue)) < 10**12


def test_a_clock_that_jumps_does_not_change_times_of_rue_s_own_trials(release_rue, photos, preload):
    done = release_rue("tune", photos, *OWN, "--repeats", "1", env=preload(PRELOAD_CALENDAR="1"))
    assert done.returncode == 0 and not bad(release_rue), done.stderr
    values = [item for row in rows(release_rue) for item in row.items()]
    times = [value for name, value in values if name.endswith("_ns") and isinstance(value, int)]
    assert times and 0 <= min(times) and max(time for time in times) < HANG_S * 10**9
    kinds = [row["recorded"][:4] for row in rows(release_rue)]
    year = time.gmtime().tm_year
    assert {str(year - 1), str(year + 1)} & set(kinds), "the calendar was seen to jump"


# ---- suspended trials ----

def pause(process, pids):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: all(state(pid) == "T" for pid in pids), process)
    time.sleep(BREAK_S)
    for pid in reversed(pids):
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("who", ["tuner", "runner", "both"])
def test_a_suspended_trial_is_repeated(rue, script, who):
    one = script(TABLE, delay_s=0.1)
    process = start(rue, one)
    one.wait_for(4, process)
    pids = dict(tuner=[process.pid], runner=[find_runner(process.pid)], both=[process.pid, find_runner(process.pid)])[who]
    pause(process, pids)
    code, out, err = finish(process)
    assert code == 0, err
    if who == "tuner":  # its trial may have ended just before
        assert len([row for row in rows(rue) if row["measure"] == "joint"]) == len(CELLS) and not bad(rue)
    else:
        expect_all_measured_once(rue, one, err)


def test_a_suspended_trial_of_rue_s_own_runner_is_repeated(rue, photos):
    process = rue.start("tune", photos, "--model", "sleep:400ms/batch", "--batch-size", "8", "--num-workers", "0,1",
                        "--images", "8", "--mode", "raw", "--budget", "1h", "--quiet", "--out", "out")
    for _ in range(2):
        time.sleep(0.2)
        wait_until(lambda: find_runner(process.pid), process)
        pause(process, [find_runner(process.pid)])
    code, out, err = finish(process)
    assert code == 0 and not bad(rue), err
    assert err.count(THROWN_AWAY) <= 1
    assert all(row["end_to_end_ns"] < 10**9 * HANG_S for row in rows(rue) if row["measure"] == "joint")


def test_control_z_stops_the_runner_too(rue, script):
    one = script(TABLE, delay_s=0.1)
    process = start(rue, one, process_group=0)
    one.wait_for(4, process)
    runner = find_runner(process.pid)
    os.killpg(process.pid, signal.SIGTSTP)
    wait_until(lambda: state(process.pid) == state(runner) == "T", process)
    asked = len(one.joint())
    time.sleep(BREAK_S)
    assert len(one.joint()) == asked and state(runner) == "T"
    os.killpg(process.pid, signal.SIGCONT)
    code, out, err = finish(process)
    assert code == 0, err
    expect_all_measured_once(rue, one, err)
    assert len(one.joint()) == len(CELLS) + 1 and wait_until_ended(one.pids())


def test_control_z_and_fg_in_a_terminal(rue, script):
    one = script(TABLE, delay_s=0.05)
    command = f"{rue.program} tune --runner '{one.command}' --out out --quiet >table; echo stopped; fg; echo code $?"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(rue.folder)
        os.execvpe("bash", ["bash", "--norc", "-m", "-c", command], clean_environment(TERM="xterm"))
    deadline = time.monotonic() + HANG_S
    while len(one.joint()) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.write(terminal, b"\x1a")
    seen = b""
    try:
        while time.monotonic() < deadline and (more := os.read(terminal, 4096)):
            seen += more
    except OSError:  # the terminal's other end is closed
        pass
    os.waitpid(pid, 0)
    os.close(terminal)
    assert b"stopped" in seen and b"code 0" in seen, seen
    expect_all_measured_once(rue, one, seen.decode())


def test_control_z_without_a_shell_is_ignored(rue, script):
    one = script(TABLE, delay_s=0.03)
    process = start(rue, one, start_new_session=True)
    one.wait_for(4, process)
    process.send_signal(signal.SIGTSTP)
    code, out, err = finish(process)
    assert code == 0, err
    expect_all_measured_once(rue, one, err)


def test_a_stopped_tuner_can_be_killed(rue, script):
    one = script(TABLE, delay_s=0.1)
    process = start(rue, one, process_group=0)
    one.wait_for(2, process)
    os.killpg(process.pid, signal.SIGTSTP)
    wait_until(lambda: state(process.pid) == state(find_runner(process.pid)) == "T", process)
    pids = set(descendants(process.pid))
    process.kill()
    finish(process)
    assert len(pids) == 2 and wait_until_ended(pids)


def test_a_trial_during_which_the_machine_slept_is_discarded(release_rue, script, preload):
    asleep = release_rue.folder / "asleep"
    one = script(TABLE, delay_s=0.1)
    process = start(release_rue, one, env=preload(PRELOAD_ASLEEP=asleep))
    one.wait_for(4, process)
    asleep.touch()
    code, out, err = finish(process)
    assert code == 0, err
    expect_all_measured_once(release_rue, one, err)


def test_suspended_time_does_not_count_in_the_budget(rue, script):
    """Longer than the budget; on a runner with a real clock."""
    table = {"ape": {"8/0": 10**6, "8/1": 2 * 10**6}}
    one = script(table, delay_s=0.2, hello=dict(clock="real"), images=8)
    process = start(rue, one, "--budget", "8s", "--repeats", "2", process_group=0)
    one.wait_for(2, process)
    os.killpg(process.pid, signal.SIGTSTP)
    wait_until(lambda: state(process.pid) == "T", process)
    time.sleep(9)
    os.killpg(process.pid, signal.SIGCONT)
    code, out, err = finish(process)
    report = read_json(rue.folder / "out/recommendation.json")
    assert code == 0 and not report["partial"] and not bad(rue), err
    assert max(row["started_ns"] for row in rows(rue)) < 8e9


def test_one_suspended_trial_does_not_count_as_a_failure(rue, script):
    one = script(TABLE, faults=[dict(when=dict(joint=number), do="nap") for number in (7, 12)])
    done = tune(rue, one)
    assert done.returncode == 0
    expect_all_measured_once(rue, one, done.stderr)
    assert len(one.joint()) == len(CELLS) + 2 and len(one.requests("hello")) == 1, "by the same runner"


def test_trials_that_are_always_suspended_end_the_run(rue, script):
    one = script(TABLE, faults=[dict(when=dict(measure="joint"), do="nap")])
    done = tune(rue, one)
    assert done.stderr.count(THROWN_AWAY) == 1
    expect_failure(done, 4, "stopped after 5 identical failures", "suspended and continued 5 times")
    assert len(one.joint()) == 25 and {row["status"] for row in bad(rue)} == {"failed"}
