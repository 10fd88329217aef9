"""Facts of the kernel: the machine, and this process with its workers. Linux only; 0 where the kernel does not say."""
import math
import multiprocessing
import os
import platform
import resource
import time

now = time.monotonic_ns


def read_text(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def number_after(path, key):
    """The number after `key:` in a file of the kernel; 0 if it is absent."""
    return int((read_text(path).partition(f"{key}:")[2].split() or [0])[0])


def read_cgroup(controller, files_v2, files_v1):
    """The words of files of this process's control group, version 2 or 1. A container sees its group at the root."""
    for group in read_text("/proc/self/cgroup").split():
        _, names, path = group.split(":", 2)
        if names and controller not in names.split(","):
            continue
        for root in [f"/sys/fs/cgroup/{controller if names else ''}{p}" for p in (path, "")]:
            words = " ".join(read_text(f"{root}/{file}") for file in (files_v1 if names else files_v2)).split()
            if words:
                return words
    return []


def usable_cpus():
    """CPUs that this process may use, by affinity and quota."""
    cpus = len(os.sched_getaffinity(0))
    quota = read_cgroup("cpu", ["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"])
    if len(quota) == 2 and quota[0] not in ("max", "-1"):
        cpus = min(cpus, math.ceil(int(quota[0]) / int(quota[1])))
    return cpus


def machine_facts():
    """The `machine` object of hello: trials are reused only on a machine with the same facts."""
    memory = number_after("/proc/meminfo", "MemTotal") * 1024
    limits = read_cgroup("memory", ["memory.max"], ["memory.limit_in_bytes"])
    memory = min([memory] + [int(limit) for limit in limits if limit != "max"])
    cpu = read_text("/proc/cpuinfo").partition("model name\t: ")[2].partition("\n")[0] or platform.machine()
    return dict(cpu=cpu, usable_cpus=usable_cpus(), memory_bytes=memory,
                kernel=f"{platform.system()} {platform.release()}", python=platform.python_version())


def available_bytes():
    return number_after("/proc/meminfo", "MemAvailable") * 1024


def memory_bytes(kind):
    """Memory of `kind`, Anon or File, of this process and its workers. Pages shared by forked processes count once (Pss)
    if the kernel reports it. Batches in flight are in /dev/shm and do not count."""
    pids = [os.getpid()] + [child.pid for child in multiprocessing.active_children()]
    return 1024 * sum(number_after(f"/proc/{pid}/smaps_rollup", f"Pss_{kind}")
                      or number_after(f"/proc/{pid}/status", f"Rss{kind}") for pid in pids)


def orphan_cpu_s():
    """{pid: CPU seconds} of workers that other processes started for this one, as multiprocessing's forkserver does:
    `usage` does not count them."""
    found = {}
    for child in multiprocessing.active_children():
        fields = read_text(f"/proc/{child.pid}/stat").rpartition(")")[2].split()
        if fields and int(fields[1]) != os.getpid():
            found[child.pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def usage():
    """CPU seconds and bytes read from storage so far, of this process and its finished children."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(t.ru_utime + t.ru_stime for t in times), number_after("/proc/self/io", "\nread_bytes")
