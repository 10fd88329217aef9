"""The program rue: where it is, and runs of it that this process serves."""
import contextlib
import ctypes
import multiprocessing
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import traceback

from .errors import TuneError

INTERRUPTED = (130, 143)  # exit codes
TEMPORARY = "rue-tuner-"  # start of the names of folders that are removed at the end
END_S = 60  # for writing the results after an interrupt
RESULTS_S = 5  # usually enough for that
OF_TEMPORARY = re.compile(rf"^(?:written: .*?{TEMPORARY}.*?\n|More: [^;]*?{TEMPORARY}.*?--json\.\n)", re.M | re.S)
INTERRUPTED_LINE = '{"op": "interrupted"}\n'  # from a rank to rue; and from rank 0 to the others, among those of rue
BUNDLED = pathlib.Path(__file__).with_name("bin") / "rue"
STARTED = "_RUE_STARTED"  # the process that main() becomes; if the program were main() again, it would not end
STUDY = threading.Lock()  # held while this process runs a study, or is the runner of one


def find_program():
    """The path of rue: RUE_PROGRAM, the one in this package, or the one on PATH."""
    for path in (os.environ.get("RUE_PROGRAM"), BUNDLED if BUNDLED.exists() else None, shutil.which("rue")):
        if path:
            return str(path)
    raise TuneError("the program rue was not found: install the package rue-tuner, put rue on PATH, or set RUE_PROGRAM")


def cannot_start(program, error):
    return f"cannot start the program rue, {program}: {error.strerror}; install it again, or set RUE_PROGRAM"


def typed_name(program):
    """What a user types to run `program`: its console command if it is the one in this package. rue prints it."""
    command = pathlib.Path(sysconfig.get_path("scripts"), "rue")
    return str(command) if program == str(BUNDLED) and command.exists() else program


remover_inputs = set()  # held open by this process and by rue; several in several threads


@contextlib.contextmanager
def temporary_folder():
    """A folder that is removed at the end, by a process of its own: also if this one is killed, when rue has ended,
    too."""
    folder = tempfile.mkdtemp(prefix=TEMPORARY)
    try:
        remover = subprocess.Popen(["/bin/sh", "-c", 'read -r end; rm -rf -- "$1"', "sh", folder],
                                   stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True, cwd="/")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise TuneError(f"cannot start /bin/sh: {error.strerror}") from error
    held = remover.stdin.fileno()
    remover_inputs.add(held)
    try:
        yield folder
    finally:
        remover_inputs.discard(held)
        remover.communicate(b"\n")


class Relay(threading.Thread):
    """Copies what a pipe brings to sys.stderr or sys.stdout, which may be a notebook's, and keeps it. `reword` is
    applied to each of the `parts`: the lines, or the whole text, whose sentences may be wrapped."""

    def __init__(self, parts, stream, shows, reword):
        super().__init__(daemon=True)
        self.parts, self.stream, self.shows, self.reword, self.text = parts, stream, shows, reword, ""
        self.start()

    def run(self):
        for part in self.parts:
            part = self.reword(OF_TEMPORARY.sub("", part))
            self.text = (self.text + part)[-1_000_000:]
            if self.shows:
                with contextlib.suppress(Exception):  # closed, absent, of another encoding: rue must not wait for it
                    self.stream.write(part)
                    self.stream.flush()

    def last_error(self):
        """The last line that starts with "rue", without its start."""
        lines = [line for line in self.text.splitlines() if line.startswith("rue")]
        return lines[-1].split(": ", 1)[-1] if lines else self.text.strip()[-500:]


class Interrupter:
    """A block of this thread that another one can end with a KeyboardInterrupt. `stack` is where it was then."""

    def __init__(self):
        self.thread, self.lock, self.entered, self.stack = threading.current_thread(), threading.Lock(), False, None

    def __enter__(self):
        self.entered = True

    def interrupt(self):
        with self.lock:
            if not self.entered or self.stack is not None:
                return
            frame = sys._current_frames().get(self.thread.ident)
            self.stack = "".join(traceback.format_stack(frame)) if frame else ""
            if self.thread is threading.main_thread():
                signal.pthread_kill(self.thread.ident, signal.SIGINT)
            else:  # it has no signals: this one arrives when it next executes Python code
                identity, kind = ctypes.c_ulong(self.thread.ident), ctypes.py_object(KeyboardInterrupt)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, kind)

    def __exit__(self, kind, *_):
        with self.lock:
            self.entered = False
        if self.stack is not None and kind is not KeyboardInterrupt:
            time.sleep(10)  # the interrupt arrives here, and not in the caller's code


@contextlib.contextmanager
def time_limit(seconds, what):
    """Raises TuneError with the stack of this thread if the block takes longer."""
    block = Interrupter()
    timer = threading.Timer(seconds, block.interrupt)
    timer.daemon = True
    try:
        with block:
            timer.start()
            yield
    except KeyboardInterrupt:
        if block.stack is None:
            raise
        raise TuneError(f"{what} took more than {seconds} s and was given up; it was here:\n{block.stack}") from None
    finally:
        timer.cancel()


@contextlib.contextmanager
def ctrl_c_interrupts():
    """Ctrl-C raises KeyboardInterrupt in this block, whatever the caller's handler does. Yields a list that has an
    element once it was pressed: Python drops exceptions that arise while an object is deleted."""
    pressed = []
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return

    def interrupt(number, frame):
        pressed.append(number)
        raise KeyboardInterrupt
    handler = signal.signal(signal.SIGINT, interrupt)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, handler if handler is not None else signal.SIG_DFL)


class Watchdog(threading.Thread):
    """Interrupts `block` if rue gives up a trial that its thread still runs, or dies during one. `process` is rue's,
    if this process started it."""

    def __init__(self, connection, runner, block, process=None):
        super().__init__(daemon=True)
        self.connection, self.runner, self.process, self.block = connection, runner, process, block
        self.gave_up, self.poll = False, select.poll()
        self.poll.register(connection.fileno(), select.POLLRDHUP)
        self.start()

    def run(self):
        self.poll.poll()
        time.sleep(0.1)  # a process that dies closes its connection before its parent knows
        if self.runner.busy:
            by_ctrl_c, code = self.ends_by_ctrl_c(), None
            if self.process:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = self.process.wait(RESULTS_S)
            self.gave_up = code is None or code >= 0 and code not in INTERRUPTED
            self.block.interrupt()
        if self.gave_up and self.block.stack:
            with contextlib.suppress(Exception):
                sys.stderr.write("a rank was interrupted, so the trial of this rank was stopped.\n"
                                 if by_ctrl_c else
                                 "rue gave up waiting for this trial. The stack of the thread that runs it:\n" +
                                 self.block.stack)

    def ends_by_ctrl_c(self):
        """Whether a rank was interrupted. Rank 0's line still waits to be read, as the thread that reads is busy."""
        lines = ""
        with contextlib.suppress(OSError):
            lines = self.connection.recv(1 << 20, socket.MSG_PEEK | socket.MSG_DONTWAIT).decode(errors="replace")
        return INTERRUPTED_LINE in lines.splitlines(keepends=True)


def serve(runner, connection, requests, pressed, block):
    """This thread answers the requests over `connection`, until they end. KeyboardInterrupt: of Ctrl-C, or of the
    Watchdog of `block`."""
    def send(text):
        if pressed:
            raise KeyboardInterrupt
        connection.sendall(text.encode())
    with block:
        runner.serve(requests, send)


class Run:
    """One run of rue. `code` is its exit code, `report` what it printed, `message` its last error. `interrupted`: by
    Ctrl-C, or a signal to rue. `reword` is applied to all that rue says. `prints`: the report is text, and is shown."""

    def __init__(self, arguments, quiet, reword, prints=True):
        self.program, self.quiet, self.reword, self.prints = find_program(), quiet, reword, prints
        self.arguments = [typed_name(self.program), *arguments]
        self.code, self.report, self.message, self.stack, self.interrupted = None, "", "", None, False

    def start(self, *more, pass_fds=()):
        held = list(remover_inputs)
        # A group of its own: Ctrl-C is for this process, which passes it on.
        try:
            self.process = subprocess.Popen([*self.arguments, *more], executable=self.program,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                            encoding="utf-8", errors="replace", start_new_session=True,
                                            pass_fds=[*pass_fds, *held])
        except OSError as error:
            raise TuneError(cannot_start(self.program, error)) from error
        whole = iter(self.process.stdout.read, "")
        self.out = Relay(whole, sys.stdout, self.prints and not self.quiet, self.reword if self.prints else str)
        self.errors = Relay(self.process.stderr, sys.stderr, not self.quiet, self.reword)

    def finish(self):
        """Kills rue if it still runs, and reads the rest of what it printed."""
        if self.process.poll() is None:
            self.process.kill()
        self.code = self.process.wait()
        for relay in (self.out, self.errors):
            relay.join()
        self.process.stdout.close()
        self.process.stderr.close()
        self.report, self.message = self.out.text, self.errors.last_error()
        self.interrupted |= self.code in INTERRUPTED

    def interrupt(self):
        """Ends the search; rue writes the results so far."""
        self.interrupted = True
        self.process.send_signal(signal.SIGINT)
        self.wait(END_S)

    def report_interrupt(self, others):
        for connection in others:
            with contextlib.suppress(OSError):
                connection.send(INTERRUPTED_LINE.encode(), socket.MSG_DONTWAIT)

    def wait(self, seconds=None):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def isolated(self):
        """rue starts the runner as a process of its own."""
        self.start()
        try:
            self.wait()
        except KeyboardInterrupt:
            self.interrupt()
        finally:
            self.finish()

    def attached(self, runner, pressed, others=()):
        """This thread serves the trials until rue ends, together with the runners at the other ends of `others`, which
        are sockets. Ctrl-C ends the search, with the results so far."""
        ours, theirs = socket.socketpair()
        block = Interrupter()
        with ours:
            with theirs:
                sockets = [connection.fileno() for connection in (theirs, *others)]
                self.start("--runner-fd", ",".join(map(str, sockets)), pass_fds=sockets)
            watchdog = Watchdog(ours, runner, block, self.process)
            try:
                with ours.makefile("r", encoding="utf-8", errors="replace") as requests:
                    serve(runner, ours, requests, pressed, block)
                self.wait()
            except KeyboardInterrupt:
                if block.stack is None:
                    self.report_interrupt(others)
                    self.interrupt()
                else:
                    self.wait(END_S)
            finally:
                self.finish()
                if self.interrupted:
                    self.report_interrupt(others)
                watchdog.join(END_S)
                for child in multiprocessing.active_children() if block.stack is not None else []:
                    child.join(1)  # PyTorch has terminated the workers that hang
        if block.stack is not None and watchdog.gave_up:
            self.stack, self.interrupted = block.stack, False


def main():
    """The console command `rue` of the package, and `python -m rue_tuner`. The program names itself as it was typed."""
    try:
        program = find_program()
        if os.environ.get(STARTED) == str(os.getpid()):
            raise TuneError(f"{program} is the command that starts the program rue, not the program: unset RUE_PROGRAM")
        os.environ[STARTED] = str(os.getpid())
        typed = typed_name(program) if sys.argv[0].endswith("__main__.py") else sys.argv[0]
        os.execv(program, [typed, *sys.argv[1:]])
    except TuneError as error:
        sys.exit(f"rue: {error}")
    except OSError as error:
        sys.exit(f"rue: {cannot_start(program, error)}")
