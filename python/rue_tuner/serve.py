"""The runner: answers the requests of rue.runner/1 (docs/protocol.md), in this process."""
import contextlib
import json
import math
import sys
import traceback
import warnings

from . import gpu_clock, machine
from .consumers import Sleep, Step, compute
from .errors import NEEDS_FORK, Refused, explain
from .identity import fingerprint
from .page_locked import PageLocked
from .trial import Trial


@contextlib.contextmanager
def quiet_about_workers():
    """Without PyTorch's warning that there are many workers: their number is searched."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This DataLoader will create")
        yield


class Runner:
    """Answers for `subject`, a UserLoader or StoredData, and for `steps`: {name: callable of a batch}."""

    def __init__(self, subject, steps=None, show=None):
        self.subject, self.steps, self.show = subject, dict(steps or {}), show
        self.busy = False       # with a trial
        self.reasons = {}       # of failures: {reason: traceback}
        self.config = {}        # of the last trial
        self.workers_fail = ""  # why a configuration with workers failed
        self.compute_batches = {}
        self.page_locked = PageLocked()
        self.memory = {}  # {what was loaded: (images of the largest trial, its machine.memory_bytes)}

    def hello(self, request):
        subject, torch = self.subject, sys.modules["torch"]
        facts = dict(machine.machine_facts(), torch=torch.__version__)
        answer = {
            "protocol": "rue.runner/1",
            "runner": f"torch {torch.__version__}",
            "loader": subject.name,
            "clock": "real",
            "measures": ["joint", "load", "compute"],
            "machine": facts,
            "models": list(self.steps),
            "space": subject.space,
            **subject.hello(),
        }
        return {key: value for key, value in answer.items() if value}

    def open(self, request):
        """The digest of the steps follows that of the data."""
        answer = self.subject.open(request)
        if self.steps:
            answer["digest"] += "-" + fingerprint(*self.steps.items(), members=False)
        return answer

    def consumer(self, request):
        if request["measure"] == "load":
            return Sleep()
        step = self.steps.get(request.get("model"))
        return Step(step, request["model"]) if step else Sleep(request.get("profile"), copies=True)

    def trial(self, request):
        config, measure = request["config"], request["measure"]
        self.config = config
        for knob, least in (("batch_size", 1), ("num_workers", 0), ("prefetch_factor", 1)):
            value = config.setdefault(knob, max(least, 2 * (knob == "prefetch_factor")))
            if type(value) is not int or value < least:
                raise Refused(f"{knob} cannot be {value!r}")
        if type(config.setdefault("pin_memory", True)) is not bool:
            raise Refused(f"pin_memory cannot be {config['pin_memory']!r}")
        if config.get("parallelism", "batch") not in self.subject.space.get("parallelism", ["batch"]):
            raise Refused("PyTorch's workers load whole batches: parallelism must be batch")
        if measure not in ("joint", "load", "compute"):
            raise Refused(f"unknown measure {measure!r}")
        with quiet_about_workers():
            answer = self.run_compute(request) if measure == "compute" else self.run_loader(request)
        return dict(config=config, **answer)

    def run_loader(self, request):
        """The measures joint and load."""
        subject, config = self.subject, request["config"]
        images, job_images = subject.trial_images(request)
        subject.check_fits(request, job_images)
        loading = subject.load_request(request, images)
        if loading.is_pinned:
            sizes = [int(each * config["batch_size"]) for each in subject.tensor_sizes(request)]
            self.page_locked.reserve(sizes, subject.batches_held(config, images))
        consumer = self.consumer(request)
        loaded = what_is_loaded(request)
        reads_memory = self.memory.get(loaded, (0,))[0] < images
        trial = Trial(consumer, loading.count, images, request.get("limits", {}).get("time_ns"), reads_memory)
        cpus = machine.cpu_times()
        cpu_s, read_bytes = machine.usage()
        trial.run(loading.loader, subject.first_batch_check(config, images))
        cpu_end_s, read_end_bytes = machine.usage()
        cpus_end = machine.cpu_times()
        subject.check_trial(trial, loading)
        answer = trial.reply()
        if trial.memory:
            self.memory[loaded] = images, trial.memory
        anon_bytes, file_bytes = self.memory.get(loaded, (0, (None, None)))[1]
        answer.update(read_bytes=read_end_bytes - read_bytes, anon_peak_bytes=anon_bytes, file_peak_bytes=file_bytes,
                      cpu_ratio=cpu_ratio(cpu_end_s - cpu_s + trial.orphan_cpu_s(), answer["end_to_end_ns"]),
                      sleep_overshoot_ns=consumer.overshoot_ns, **loading.counts(),
                      **machine.cpu_shares(cpus, cpus_end, answer["end_to_end_ns"] / 1e9))
        if trial.left > 0 and trial.elapsed_ns() > trial.limit_ns:
            answer.update(status="timeout", reason=f"{trial.images} of {images} images in time")
        if not request.get("detail"):
            del answer["batch_ready_ns"]
        return answer

    def run_compute(self, request):
        """The model alone, on a batch that stays in memory."""
        config, batches = request["config"], max(1, request.get("batches", 3))
        consumer = self.consumer(request)
        batch, key = None, (config["batch_size"], config["pin_memory"])
        if isinstance(consumer, Step) or consumer.copies:
            if key not in self.compute_batches:
                self.compute_batches = {key: self.subject.one_batch(config)}
            batch = self.compute_batches[key]
        cpu_s, _ = machine.usage()
        answer = compute(consumer, batch, config["batch_size"], batches)
        cpu_end_s, _ = machine.usage()
        return dict(answer, cpu_ratio=cpu_ratio(cpu_end_s - cpu_s, answer["warmup_ns"] + answer["compute_ns"]))

    def answer(self, line):
        """The answer to a line of the tuner, as a dict."""
        request = None
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                raise Refused("a request is a JSON object")
            operation = dict(hello=self.hello, open=self.open, trial=self.trial).get(request["op"])
            if not operation:
                raise Refused(f"unknown op {request['op']!r}")
            self.busy = request["op"] == "trial"
            reply = operation(request)
        except Exception as error:
            reply = self.describe_failure(error)
            with contextlib.suppress(RuntimeError):  # of the failure
                gpu_clock.wait()  # for what the trial has issued, before the next one
            if self.busy and reply["status"] == "usage":
                reply["status"] = "failed"
            if self.busy and isinstance(request.get("config"), dict) and request["config"].get("num_workers"):
                self.workers_fail = reply["reason"]
        finally:
            self.busy = False
        return dict(id=request.get("id") if isinstance(request, dict) else None, **reply)

    def describe_failure(self, error):
        reason, status = explain(error), getattr(error, "status", "failed")
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        if reason.startswith(NEEDS_FORK):
            status = "infeasible"
        if "fewer shards than workers" in text:  # as webdataset says
            status = "infeasible"
        if not isinstance(error, Refused) and reason not in self.reasons:
            self.reasons[reason] = text
            print(text if self.show else "", end="", file=self.show, flush=True)
        for each in filter(None, (error, error.__cause__)):  # they keep the iterator and the workers of a trial alive
            traceback.clear_frames(each.__traceback__)
        return dict(status=status, reason=reason)

    def serve(self, requests, send):
        """Answers each line of `requests` by `send(text)`, until they end or nobody listens."""
        requests = iter(requests)
        with contextlib.suppress(ConnectionError):
            for line in requests:
                if not line.strip():
                    continue
                if may_begin(line, requests, send):
                    answer = self.answer(line)
                else:
                    reason = 'the line after "ready" is not {"op":"start"}'
                    answer = dict(id=members(line).get("id"), status="failed", reason=reason)
                send(json.dumps(finite(answer)) + "\n")


def what_is_loaded(request):
    """A text that is the same for trials that load alike, whatever their order and model."""
    workload = {key: value for key, value in request.get("workload", {}).items() if key not in ("seed", "epoch")}
    parts = [request["measure"], request.get("variant"), request["config"], workload]
    return json.dumps(parts, sort_keys=True)


def cpu_ratio(used_s, time_ns):
    """None where the clock of CPU time stood still, as in some sandboxes."""
    return used_s * 1e9 / time_ns if used_s > 0 and time_ns > 0 else None


def members(line):
    """The members of a request; none if it is not a JSON object."""
    with contextlib.suppress(ValueError, RecursionError):
        request = json.loads(line)
        return request if isinstance(request, dict) else {}
    return {}


def may_begin(line, requests, send):
    """Whether to answer `line` now: a trial with "wait" says that it is ready, and begins with the next line, if that
    is "start"."""
    request = members(line)
    if request.get("op") != "trial" or not request.get("wait"):
        return True
    send(json.dumps(dict(id=request.get("id"), status="ready")) + "\n")
    return members(next(requests, "")).get("op") == "start"


def finite(answer):
    """Without what JSON cannot hold, and without what is not known."""
    return {key: value for key, value in answer.items()
            if key == "id" or value is not None and not (isinstance(value, float) and not math.isfinite(value))}
