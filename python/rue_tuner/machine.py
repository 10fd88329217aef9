"""Facts of the kernel: the machine, and this process with its workers. Linux only; 0 where the kernel does not say."""
import math
import os
import re
import resource
import sys
import time

now = time.monotonic_ns


def read_text(path):
    try:
        with open(path, errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def number_in(text, key):
    """The number after `key:` in a text of the kernel; 0 if it is absent."""
    return int((text.partition(f"{key}:")[2].split() or [0])[0])


def number_after(path, key):
    return number_in(read_text(path), key)


def cgroup_files(controller, files_v2, files_v1):
    """The texts of these files of this process's control groups, version 2 and 1, and of all above them, up to the root
    of the mount: that is the group of a container, which may not see its path. As engine/machine/cgroup.c."""
    for line in filter(None, read_text("/proc/self/cgroup").split("\n")):
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        root, files = (f"/sys/fs/cgroup/{controller}", files_v1) if names else ("/sys/fs/cgroup", files_v2)
        folders = path.rstrip("/").split("/")
        for depth in range(len(folders), 0, -1):
            yield [read_text("/".join([root, *folders[1:depth], file])) for file in files]


def quota_cpus():
    """The smallest CPU quota of the control groups; infinite if there is none."""
    quotas = [" ".join(texts).split() for texts in
              cgroup_files("cpu", ["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"])]
    return min((int(words[0]) / int(words[1]) for words in quotas if len(words) == 2 and words[0].isdigit()),
               default=math.inf)


def cgroup_memory():
    """The smallest memory limit of the control groups, and the smallest memory available under any, with page cache
    that the kernel frees when memory is short; infinite without a limit."""
    least = available = math.inf
    for limit, used, stat in cgroup_files("memory", ["memory.max", "memory.current", "memory.stat"],
                                          ["memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat"]):
        if limit.strip().isdigit() and int(limit) < 1e18:  # version 1 has a number near 2^63 for "no limit"
            total = "total_" if "\ntotal_" in stat else ""  # of version 1, with the groups below
            cached = sum(map(int, re.findall(rf"^{total}(?:in)?active_file (\d+)$", stat, re.M)))
            least = min(least, int(limit))
            available = min(available, max(int(limit) - max(int(used or 0) - cached, 0), 0))
    return least, available


def usable_cpus() -> int:
    """CPUs that this process may use, by affinity and quota."""
    return math.ceil(min(len(os.sched_getaffinity(0)), quota_cpus()))


def machine_facts():
    """The `machine` object of hello: trials are reused only on a machine with the same facts."""
    import platform  # which Loader does not need
    memory = min(number_after("/proc/meminfo", "MemTotal") * 1024, cgroup_memory()[0])
    cpu = read_text("/proc/cpuinfo").partition("model name\t: ")[2].partition("\n")[0] or platform.machine()
    return dict(cpu=cpu, usable_cpus=usable_cpus(), memory_bytes=memory,
                kernel=f"{platform.system()} {platform.release()}", python=platform.python_version())


def available_bytes() -> int:
    return min(number_after("/proc/meminfo", "MemAvailable") * 1024, cgroup_memory()[1])


def children():
    """Processes of multiprocessing, which starts none before it is imported."""
    loaded = sys.modules.get("multiprocessing")
    return loaded.active_children() if loaded else []


def memory_bytes():
    """Anonymous and file-backed memory of this process and its workers. Pages shared by forked processes count once
    (Pss) if the kernel reports it: that takes it milliseconds a process. Batches in flight are in /dev/shm and do not
    count."""
    totals = [0, 0]
    for pid in [os.getpid()] + [child.pid for child in children()]:
        shared, plain = read_text(f"/proc/{pid}/smaps_rollup"), read_text(f"/proc/{pid}/status")
        for i, kind in enumerate(("Anon", "File")):
            totals[i] += 1024 * (number_in(shared, f"Pss_{kind}") or number_in(plain, f"Rss{kind}"))
    return totals


def orphan_cpu_s():
    """{pid: CPU seconds} of workers that other processes started for this one, as multiprocessing's forkserver does:
    `usage` does not count them."""
    found = {}
    for child in children():
        fields = read_text(f"/proc/{child.pid}/stat").rpartition(")")[2].split()
        if fields and int(fields[1]) != os.getpid():
            found[child.pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def usage():
    """CPU seconds and bytes read from storage so far, of this process and its finished children."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(t.ru_utime + t.ru_stime for t in times), number_after("/proc/self/io", "\nread_bytes")


def cpu_times():
    """Seconds so far in which the CPUs that this process may use were busy, idle and stolen by the hypervisor, and
    in which some task of the machine waited for a CPU; NaN: not known. As engine/machine/cpu_times.c."""
    usable = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
    lines = [line.split() for line in read_text("/proc/stat").split("\n")]
    ticks = [[int(each) for each in words[1:9]] for words in lines if words and words[0] in usable]
    idle, stolen = sum(t[3] + t[4] for t in ticks), sum(t[7] for t in ticks)
    seconds = [each / os.sysconf("SC_CLK_TCK") for each in (sum(map(sum, ticks)) - idle - stolen, idle, stolen)]
    waited = re.match(r"some .*total=(\d+)", read_text("/proc/pressure/cpu"))
    known = len(ticks) == len(usable)  # a container may number its CPUs otherwise than the kernel does
    return (seconds if known else [math.nan] * 3) + [int(waited[1]) / 1e6 if waited else math.nan]


def cpu_shares(before, after, elapsed_s):
    """What the CPUs did between two `cpu_times`, as members of a reply; without those that are not known."""
    busy_s, idle_s, stolen_s, waited_s = (end - start for start, end in zip(before, after))
    known = elapsed_s > 0 and busy_s + idle_s + stolen_s > 0
    shares = dict(cpu_idle_ratio=idle_s, cpu_stolen_ratio=stolen_s) if known else {}
    if elapsed_s > 0 and waited_s >= 0:
        shares["cpu_waited_ratio"] = waited_s
    return {name: max(0, seconds) / elapsed_s for name, seconds in shares.items()}
