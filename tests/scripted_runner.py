#!/usr/bin/env python3
"""A runner of rue.runner/1 that plays a script: times from a table, on a virtual clock, and faults where the script has
them. Its one argument is a JSON file:

  log           file that every request received is appended to, one JSON object a line
  ns_per_image  {model: {"batch/workers": ns}}: a trial takes that times its images
  space         {"batch_size": [...], "num_workers": [...]}; without it, that of the table
  images        of its data [1000]; bytes, digest: what `open` says beside it
  measures      ["joint", "load", "compute"] by default
  start_ns      ns that each worker adds before the first batch comes [0]
  load_ns       ns an image of the measure load, divided by the workers [1]
  pageable_ns   ns an image more where pin_memory is false, except of the measure load [0]
  repeats       factors of the 1st, 2nd, ... time that a cell is asked for, round and round [1]
  slower_from   [trial, factor]: from that trial on (1, 2, ... of any measure) everything takes so many times longer
  delay_s       real seconds that each trial takes [0]
  infeasible_above  batch size above which a trial is infeasible
  faults        [{"when": {"id": 5}, "do": "exit"}]; `when` names values that a request must have, of id, measure, model, detail,
                cell ("batch/workers"), joint (the how-many-th joint trial it is, from 1), odd (whether the id is) and start (how often the runner has been started, from
                1): the first fault that fits happens
  hello, opened objects whose members replace those of the answers; a string is sent as it is

Faults: signal (its `signal`), exit (its `code`), hang, garbage (its `line`), half_line, huge_line, wrong_config, no_config,
twice, other_id, null_id, no_id, slow (its `seconds`), late (the first batch comes at its `first_batch_ns`), no_fields, zero, negative, answer (its `answer` replaces members),
grandchild (leaves a child behind that holds the pipes, with `session` an orphan in a session of its own; `then` is the
fault that follows, or it answers), deaf (closes its output and lives), flood (answers another question without end),
endless (a line without end), drip (the answer, a byte a second), noisy (writes to stderr without end), nap (is stopped
and continued), asleep (is stopped for good).
"""
import json
import os
import signal
import sys
import time


class Player:
    def __init__(self, script):
        self.script = script
        self.start = 1
        self.seen = {}
        self.trials = 0
        self.joints = 0
        try:
            with open(script["log"]) as log:
                lines = log.readlines()
            self.start += sum('"hello"' in line for line in lines)
            self.joints = sum('"measure": "joint"' in line for line in lines)
        except FileNotFoundError:
            pass

    def log(self, **entry):
        line = json.dumps(dict(pid=os.getpid(), start=self.start, **entry)) + "\n"
        file = os.open(self.script["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.write(file, line.encode())
        os.close(file)

    def space(self):
        cells = [cell.split("/") for table in self.script["ns_per_image"].values() for cell in table]
        own = dict(batch_size=sorted({int(b) for b, w in cells}), num_workers=sorted({int(w) for b, w in cells}))
        return self.script.get("space", own)

    def hello(self):
        answer = dict(protocol="rue.runner/1", runner="scripted 1.0", clock="virtual",
                      measures=self.script.get("measures", ["joint", "load", "compute"]), machine=dict(cpu="none", usable_cpus=4),
                      models=list(self.script["ns_per_image"]), variants=[dict(path="", mode="raw", format="scripted")],
                      images=self.script.get("images", 1000), space=self.space())
        return replaced(answer, self.script.get("hello", {}))

    def opened(self):
        answer = dict(status="ok", images=self.script.get("images", 1000), bytes=self.script.get("bytes", 123456),
                      digest=self.script.get("digest", "d1"), cache="warm")
        return replaced(answer, self.script.get("opened", {}))

    def time_ns(self, request, cell):
        config, measure = request["config"], request["measure"]
        if measure == "load":
            return request["images"] * self.script.get("load_ns", 1) / max(config["num_workers"], 1)
        per_image = self.script["ns_per_image"][request["model"]][cell]
        per_image += 0 if config["pin_memory"] else self.script.get("pageable_ns", 0)
        if measure == "compute":
            return request["batches"] * config["batch_size"] * per_image
        repeats, key = self.script.get("repeats", [1]), (request["model"], cell)
        self.seen[key] = self.seen.get(key, -1) + 1
        return request["images"] * per_image * repeats[self.seen[key] % len(repeats)]

    def result(self, request, cell):
        config = request["config"]
        answer = dict(id=request["id"], status="ok", config=config)
        if config["batch_size"] > self.script.get("infeasible_above", config["batch_size"]):
            return dict(answer, status="infeasible", reason="the batches do not fit in memory")
        batch, compute = config["batch_size"], request["measure"] == "compute"
        images = request["batches"] * batch if compute else request["images"]
        first, factor = self.script.get("slower_from", [0, 1])
        slower = factor if first and self.trials >= first else 1
        batches, ns = -(-images // batch), max(1, round(slower * self.time_ns(request, cell)))
        answer.update(images=images, batches=batches, compute_ns=ns if compute else 0, cost_ns=ns)
        if compute:
            return answer
        start = config["num_workers"] * self.script.get("start_ns", 0)
        first, all_ns = start + round(ns * min(batch, images) / images), start + ns
        answer.update(end_to_end_ns=all_ns, first_batch_ns=first, load_wait_ns=all_ns, shutdown_ns=0, cost_ns=all_ns)
        if request.get("detail"):
            answer["batch_ready_ns"] = [start + round(ns * min((i + 1) * batch, images) / images) for i in range(batches)]
        return answer

    def fault(self, request, cell):
        facts = dict(id=request["id"], odd=request["id"] % 2 == 1, measure=request["measure"], model=request.get("model"),
                     detail=request["detail"], cell=cell, start=self.start, joint=self.joints if request["measure"] == "joint" else None)
        for fault in self.script.get("faults", []):
            if all(facts[key] == value for key, value in fault["when"].items()):
                return fault
        return None

    def trial(self, request):
        cell = f"{request['config']['batch_size']}/{request['config']['num_workers']}"
        self.log(op="trial", id=request["id"], measure=request["measure"], model=request.get("model"), cell=cell,
                 pin_memory=request["config"]["pin_memory"], images=request["images"], workload=request["workload"], limits=request["limits"],
                 variant=request.get("variant"))
        time.sleep(self.script.get("delay_s", 0))
        self.joints += request["measure"] == "joint"
        self.trials += 1
        fault, answer = self.fault(request, cell), self.result(request, cell)
        if fault and fault["do"] == "grandchild":
            self.leave_child(fault.get("session"))
            fault = fault.get("then")
        return FAULTS[fault["do"]](fault, answer) if fault else answer

    def leave_child(self, session):
        logged, done = os.pipe()
        pid = os.fork()
        if pid == 0:
            if session:
                os.setsid()
                if os.fork():
                    os._exit(0)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            self.log(op="grandchild")
            os.write(done, b".")
            time.sleep(1000)
        os.read(logged, 1)
        os.close(logged)
        os.close(done)
        if session:
            os.waitpid(pid, 0)


def replaced(answer, with_what):
    return with_what if isinstance(with_what, str) else {**answer, **with_what}


def end_by_signal(fault, answer):
    number = signal.Signals[fault["signal"]]
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def hang(fault, answer):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1000)


def half_line(fault, answer):
    os.write(1, b'{"id": ')
    os._exit(0)


def deaf(fault, answer):
    os.close(1)
    hang(fault, answer)


def flood(fault, answer):
    lines = b'{"id":0,"status":"ok"}\n' * 1000
    while True:
        os.write(1, lines)


def endless(fault, answer):
    while True:
        os.write(1, b"x")
        time.sleep(0.001)


def drip(fault, answer):
    for byte in json.dumps(answer).encode():
        os.write(1, bytes([byte]))
        time.sleep(1)


def noisy(fault, answer):
    while True:
        os.write(2, b"warning: a lot of this\n" * 1000)


def nap(fault, answer):
    runner = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.kill(runner, signal.SIGSTOP)
        while "State:\tT" not in open(f"/proc/{runner}/status").read():
            time.sleep(0.001)
        os.kill(runner, signal.SIGCONT)
        os._exit(0)
    os.waitpid(pid, 0)
    return answer


def asleep(fault, answer):
    os.kill(os.getpid(), signal.SIGSTOP)


def slow(fault, answer):
    time.sleep(fault["seconds"])
    return answer


def late(fault, answer):
    more = fault["first_batch_ns"] - answer.get("first_batch_ns", fault["first_batch_ns"])
    return {**answer, **{key: answer[key] + more for key in ("first_batch_ns", "load_wait_ns", "end_to_end_ns", "cost_ns") if key in answer}}


def wrong_config(fault, answer):
    return dict(answer, config=dict(answer["config"], num_workers=answer["config"]["num_workers"] + 1))


FAULTS = dict(
    signal=end_by_signal,
    exit=lambda fault, answer: os._exit(fault["code"]),
    hang=hang,
    garbage=lambda fault, answer: fault.get("line", "warning: this is no JSON"),
    half_line=half_line,
    huge_line=lambda fault, answer: "x" * (17 << 20),
    wrong_config=wrong_config,
    no_config=lambda fault, answer: {key: answer[key] for key in answer if key != "config"},
    twice=lambda fault, answer: json.dumps(answer) + "\n" + json.dumps(answer),
    other_id=lambda fault, answer: dict(answer, id=answer["id"] + 1000),
    null_id=lambda fault, answer: dict(answer, id=None),
    no_id=lambda fault, answer: {key: answer[key] for key in answer if key != "id"},
    slow=slow,
    late=late,
    deaf=deaf,
    flood=flood,
    endless=endless,
    drip=drip,
    noisy=noisy,
    nap=nap,
    asleep=asleep,
    no_fields=lambda fault, answer: {key: answer[key] for key in ("id", "status", "config")},
    zero=lambda fault, answer: dict(answer, end_to_end_ns=0, compute_ns=0),
    negative=lambda fault, answer: dict(answer, end_to_end_ns=-answer.get("end_to_end_ns", 1)),
    answer=lambda fault, answer: {**answer, **fault["answer"]},
)


def main():
    with open(sys.argv[1]) as file:
        player = Player(json.load(file))
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "trial":
            answer = player.trial(request)
        else:
            player.log(op=request["op"])
            answer = player.hello() if request["op"] == "hello" else player.opened()
        print(answer if isinstance(answer, str) else json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
