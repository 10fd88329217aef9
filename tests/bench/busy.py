"""How much other processes disturb a measurement, by the counters of the kernel."""
import os
import pathlib
import time
from typing import NamedTuple

from rue_tuner import machine

TICKS = os.sysconf("SC_CLK_TCK")


class Snapshot(NamedTuple):
    now: float
    busy_s: float      # of all CPUs
    steal_s: float     # that the host gave to other guests
    own_s: float       # CPU seconds of this process and its children that ended
    pressure_s: float  # in which a process waited for a CPU


def snapshot():
    fields = list(map(int, machine.read_text("/proc/stat").split("\n", 1)[0].split()[1:9]))
    user, nice, system, _, _, irq, softirq, steal = fields or [0] * 8
    pressure = pathlib.Path("/proc/pressure/cpu")
    waited_us = int(machine.read_text(pressure).split("\n", 1)[0].rpartition("total=")[2] or 0)
    own_s, _ = machine.usage()
    return Snapshot(time.monotonic(), (user + nice + system + irq + softirq) / TICKS, steal / TICKS, own_s, waited_us / 1e6)


def disturbance(before):
    """Since `before`: shares of all CPUs that other processes (others) and other guests (steal) used, the share of the time in which a
    process waited for a CPU (pressure: also one of ours), and CPUs that we used (own)."""
    after = snapshot()
    elapsed_s = max(after.now - before.now, 1e-9)
    room_s, own_s = elapsed_s * (os.cpu_count() or 1), after.own_s - before.own_s
    others_s = max(after.busy_s - before.busy_s - own_s, 0)
    return {name: round(value, 4) for name, value in dict(
        others=others_s / room_s, steal=(after.steal_s - before.steal_s) / room_s,
        pressure=(after.pressure_s - before.pressure_s) / elapsed_s, own=own_s / elapsed_s).items()}


def is_disturbed(shares, limit):
    """While we work, our own processes wait for each other, so pressure says nothing."""
    return shares["others"] + shares["steal"] > limit


def wait_until_quiet(limit, longest_s):
    """Until nobody else uses more than `limit` of the CPUs, nor waits for one more than that share of half a second. We do nothing
    meanwhile. False: it did not become quiet."""
    end = time.monotonic() + longest_s
    while time.monotonic() < end:
        before = snapshot()
        time.sleep(0.5)
        shares = disturbance(before)
        if not is_disturbed(shares, limit) and shares["pressure"] <= limit:
            return True
    return False
