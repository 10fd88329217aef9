"""The program rue: where it is, and runs of it that this process serves."""
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback

from .errors import TuneError

INTERRUPTED = (130, 143)  # exit codes
END_S = 60  # for writing the results after an interrupt


def find_program():
    """The path of rue: RUE_PROGRAM, the one in this package, or the one on PATH."""
    bundled = pathlib.Path(__file__).with_name("bin") / "rue"
    for path in (os.environ.get("RUE_PROGRAM"), bundled if bundled.exists() else None, shutil.which("rue")):
        if path:
            return str(path)
    raise TuneError("the program rue was not found: install the package rue-tuner, put rue on PATH, or set RUE_PROGRAM")


class Relay(threading.Thread):
    """Copies what a pipe brings to sys.stderr or sys.stdout, which may be a notebook's, and keeps it."""

    def __init__(self, pipe, stream, shows):
        super().__init__(daemon=True)
        self.pipe, self.stream, self.shows, self.text = pipe, stream, shows, ""
        self.start()

    def run(self):
        for line in self.pipe:
            self.text = (self.text + line)[-1_000_000:]
            if self.shows:
                self.stream.write(line)
                self.stream.flush()

    def last_error(self):
        """The last line that starts with "rue", without its start."""
        lines = [line for line in self.text.splitlines() if line.startswith("rue")]
        return lines[-1].split(": ", 1)[-1] if lines else self.text.strip()[-500:]


class Watchdog(threading.Thread):
    """Interrupts the main thread if rue gives up a trial that this process still runs, or dies during one."""

    def __init__(self, connection, runner, process):
        super().__init__(daemon=True)
        self.connection, self.runner, self.process, self.main = connection, runner, process, threading.current_thread()
        self.acted, self.stack = False, None
        self.start()

    def run(self):
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLRDHUP)
        poll.poll()
        if not self.runner.busy:
            return
        frame = sys._current_frames().get(self.main.ident)
        stack = "".join(traceback.format_stack(frame)) if frame else ""
        time.sleep(0.1)  # a process that dies closes its connection before its parent knows
        if (self.process.poll() or 0) >= 0:
            self.stack = stack
            sys.stderr.write("rue gave up waiting for this trial. The stack of the thread that runs it:\n" + stack)
        self.acted = True
        if self.main is threading.main_thread():
            signal.pthread_kill(self.main.ident, signal.SIGINT)


class Run:
    """One run of rue. `code` is its exit code, `report` what it printed, `message` its last error."""

    def __init__(self, arguments, quiet):
        self.arguments, self.quiet = [find_program(), *arguments], quiet
        self.code, self.report, self.message, self.stack = None, "", "", None

    def start(self, *more, **options):
        # A group of its own: Ctrl-C is for this process, which passes it on.
        self.process = subprocess.Popen([*self.arguments, *more], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
                                        env={name: value for name, value in os.environ.items() if name != "RUE_PROGRAM"}, **options)
        self.out = Relay(self.process.stdout, sys.stdout, not self.quiet)
        self.errors = Relay(self.process.stderr, sys.stderr, not self.quiet)

    def finish(self):
        self.code = self.process.wait()
        for relay in (self.out, self.errors):
            relay.join()
            relay.pipe.close()
        self.report, self.message = self.out.text, self.errors.last_error()

    def interrupt(self):
        """Ends the search; rue writes the results so far."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def isolated(self):
        """rue starts the runner as a process of its own."""
        self.start()
        try:
            self.process.wait()
        except KeyboardInterrupt:
            self.interrupt()
        self.finish()

    def attached(self, runner):
        """This thread serves the trials until rue ends. Ctrl-C ends the search, with the results so far."""
        ours, theirs = socket.socketpair()
        is_main = threading.current_thread() is threading.main_thread()
        handler = signal.signal(signal.SIGINT, signal.default_int_handler) if is_main else None
        try:
            with theirs:
                self.start("--runner-fd", str(theirs.fileno()), pass_fds=[theirs.fileno()])
            watchdog = Watchdog(ours, runner, self.process)
            try:
                with ours, ours.makefile("r", encoding="utf-8") as requests:
                    runner.serve(requests, lambda text: ours.sendall(text.encode()))
            except KeyboardInterrupt:
                if not watchdog.acted:
                    self.interrupt()
            self.stack = watchdog.stack
            self.finish()
        finally:
            if is_main:
                signal.signal(signal.SIGINT, handler if handler is not None else signal.SIG_DFL)
            if self.process.poll() is None:
                self.process.kill()


def main():
    """The console command `rue` of the package."""
    path = find_program()
    os.execv(path, [path, *sys.argv[1:]])
