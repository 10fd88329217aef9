"""What can go wrong, for callers and for the runner."""
import pathlib
import re
from typing import Any, Dict

NEEDS_FORK = 'needs multiprocessing_context="fork", because the loader cannot be pickled: '
SHORT = 120  # of a message with several lines
RAISED = re.compile(r"[\w.]+(Error|Exception|Refused|Exit|Interrupt|Iteration)\b")  # the last line of a traceback


class LoaderError(RuntimeError):
    """A loader that cannot continue. The message says what failed, where, why, and what to do."""


class DataError(LoaderError):
    """Data that cannot be read: the message names the file and the reason."""


class TuneError(RuntimeError):
    """A study that ended without a result. The message says what failed, why, and what to do."""
    said = ""  # the part of the message that rue wrote


class UndecidedError(TuneError):
    """A study whose answer is not decided, or an unclear check: the message says why, and what to do."""


def check_decided(part: Dict[str, Any]) -> None:
    """Raises UndecidedError if an entry of `recommendations` is only a best guess."""
    if part.get("decided") is False:
        raise UndecidedError(f"not decided, because {part.get('why_not')}: tune again with a larger budget, on an idle "
                             "machine (accept_busy=True if it never is), or pass strict=False for the best guess")


class Refused(Exception):
    """A request that is answered without measurements: `status` is "failed", "infeasible" or "timeout";
    or "usage", if the data do not suit the options, which only `open` answers."""

    def __init__(self, reason: str, status: str = "failed"):
        super().__init__(reason)
        self.status = status


class StepFailed(Exception):
    """A caller's step raised `error` on batch `number` of a trial, or its kernels did: CUDA reports that later, to
    whoever asks it next."""

    def __init__(self, name: str, number: int, error: BaseException, batch: Any = None):
        text, self.status = one_line(error), "failed"
        if batch is not None and isinstance(error, (TypeError, AttributeError, NotImplementedError)):
            size = f" of {len(batch)}" if isinstance(batch, (list, tuple, dict)) else ""
            text += f"; step(batch) is called with the whole batch, here a {type(batch).__name__}{size}"
        if type(error).__name__ == "OutOfMemoryError":
            self.status = "infeasible"
        said = str(error).partition("\n")[0]
        where = "on"
        if said.startswith("CUDA error"):
            where, text = "on the GPU at or before", f"{said}; CUDA_LAUNCH_BLOCKING=1 shows the operation"
        super().__init__(f"the step {name} failed {where} batch {number}: {text}")


def place(error: BaseException) -> str:
    """The line that raised an exception without a message."""
    import traceback  # only where something failed: it takes milliseconds
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].line} (line {frames[-1].lineno} of {frames[-1].filename})" if frames else ""


def one_line(error: BaseException) -> str:
    """The message of an exception as one line; of a long one only the first. That of a worker's holds its traceback,
    and after it what was raised."""
    if isinstance(error, KeyError):
        return f"missing key {error}"
    lines = str(error).strip().splitlines() or [place(error)]
    raised = [line for line in lines[1:] if RAISED.match(line)]
    of_worker = len(lines) > 1 and lines[0].startswith("Caught ")
    whole = " ".join(line.strip() for line in lines)
    if raised or of_worker:
        line = (raised or lines)[-1].strip()
    else:
        line = whole if len(whole) <= SHORT else lines[0].removesuffix(", but expected one of:")  # PyTorch lists these
    line = line.split("Refused: ", 1)[-1]
    named = raised or of_worker or isinstance(error, (Refused, StepFailed)) or type(error).__name__ in line
    line = line if named else f"{type(error).__name__}: {line}"
    return line[:500].encode("utf-8", "replace").decode()  # file names may not be UTF-8


def explain(error: BaseException) -> str:
    """The message as one line, with what helps if a worker could not be started."""
    import traceback
    files = [(pathlib.Path(frame.filename).name, frame.name) for frame in traceback.extract_tb(error.__traceback__)]
    return (NEEDS_FORK if ("reduction.py", "dump") in files else "") + one_line(error)
