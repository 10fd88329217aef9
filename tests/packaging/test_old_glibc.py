"""What wheels have in place of functions that glibc 2.28 lacks does the same as glibc's own."""
import ctypes
import errno
import os
import shutil
import signal
import subprocess
import time

import pytest

from conftest import ROOT

GLIBC = ctypes.CDLL(None, use_errno=True)


class Moment(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("skipped: gcc is not installed")
    path = tmp_path_factory.mktemp("own") / "old_glibc.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", ROOT / "packaging/old_glibc.c", "-o", path], check=True)
    return ctypes.CDLL(path, use_errno=True)


def test_signals_have_the_same_names(own):
    def names(library):
        library.sigabbrev_np.restype = ctypes.c_char_p
        return [library.sigabbrev_np(number) for number in range(-1, 70)]
    assert names(own) == names(GLIBC) and names(own)[1 + signal.SIGTERM] == b"TERM"


def test_all_files_from_a_number_on_are_closed(own):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        first = os.dup2(writer, 100)
        os.dup2(writer, 200)
        own.closefrom(first)
        open_files = set(map(int, os.listdir("/proc/self/fd")))
        os.write(writer, b"good" if not open_files & {100, 200} and writer in open_files else b"bad")
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        assert file.read() == b"good"
    os.waitpid(child, 0)


@pytest.mark.parametrize("clock", [time.CLOCK_MONOTONIC, time.CLOCK_REALTIME])
def test_a_wait_for_a_condition_ends_with_its_deadline(own, clock):
    mutex, condition = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)  # zeros are the initial values of both
    GLIBC.pthread_mutex_lock(mutex)
    for nanoseconds in (1_000_000, 999_000_000, -1_000_000_000):
        deadline = time.clock_gettime_ns(clock) + nanoseconds
        moment = Moment(*divmod(deadline, 1_000_000_000))
        assert own.pthread_cond_clockwait(condition, mutex, clock, ctypes.byref(moment)) == errno.ETIMEDOUT
        assert time.clock_gettime_ns(clock) >= deadline - 1_000_000  # the two clocks are read one after the other


def test_a_folder_is_read(own, tmp_path):
    (tmp_path / "name").touch()
    folder, buffer = os.open(tmp_path, os.O_RDONLY), ctypes.create_string_buffer(4096)
    assert own.getdents64(folder, buffer, ctypes.c_size_t(4096)) > 0 and b"name\0" in buffer.raw
    assert own.getdents64(folder, buffer, ctypes.c_size_t(4096)) == 0
    os.close(folder)
