#!/usr/bin/env python3
"""A scripted runner (scripted_runner.py) whose replies are mutated: mutating_runner.py SCRIPT SEED RATE [OP]

Each line that it writes is mutated with the probability RATE, of the operation OP alone where one is given. The same
seed does the same things: each process of the study draws from the seed and from how often the runner was started.
"""
import json
import os
import random
import signal
import sys
import time

from scripted_runner import Player

NUMBERS = [0, -1, 1, 2, 63, 2**31 - 1, 2**31, 2**53, 2**58, 2**58 + 1, 2**62, 2**63 - 1, -2**63, 2**63, 2**64, 10**400, 0.5, -0.0, 1e300,
           -1e308, 5e-324, float("nan"), float("inf")]
TEXTS = ["", " ", "ok", "failed", "timeout", "infeasible", "ready", "virtual", "real", "warm", "x" * 5000, "\0", "\ud800", "\x1b[31mred", "a\nb",
         "ü" * 300, "=1+1", "../../etc", "%s%n", '"', "\\"]
OTHERS = [None, True, False, [], {}, [[]], [None], {"": 0}, [0] * 1000, list("abc")]


def deep(depth):
    return json.loads("[" * depth + "]" * depth) if depth < 500 else "[" * depth + "]" * depth


class Mutator:
    def __init__(self, dice):
        self.dice = dice

    def value(self, now):
        """In place of a value: something of another size or kind."""
        kind = self.dice.randrange(8)
        if isinstance(now, (int, float)) and not isinstance(now, bool) and kind < 4:
            factor = self.dice.choice([-1, 0.1, 0.5, 2, 10, 100, 10**9])
            return int(now * factor) if isinstance(now, int) else now * factor
        if isinstance(now, list) and now and kind < 4:
            return self.dice.choice([now[::-1], now[1:], now * 2, now + [now[0]], now * 5000, [self.value(now[0])] + now[1:]])
        return self.dice.choice([*NUMBERS, *TEXTS, *OTHERS, deep(50)])

    def places(self, reply, under=()):
        """Every (path) to a member, of objects inside, too."""
        for key, value in reply.items():
            yield (*under, key)
            if isinstance(value, dict):
                yield from self.places(value, (*under, key))

    def members(self, reply):
        """Another object of the same members, one of them changed."""
        reply = json.loads(json.dumps(reply))
        *path, key = self.dice.choice(list(self.places(reply)))
        inside = reply
        for step in path:
            inside = inside[step]
        what = self.dice.randrange(6)
        if what == 0:
            del inside[key]
        elif what == 1:  # the value of another member
            inside[key] = inside[self.dice.choice(list(inside))]
        elif what == 2 and "config" in reply:  # times of batches: too many, too few, backwards
            count = self.dice.choice([1, 2, 16, 1000, 200000])
            times = [self.dice.randrange(10**self.dice.randrange(1, 12)) for _ in range(count)]
            reply[self.dice.choice(["batch_ready_ns", "batch_load_ns", "batch_compute_ns"])] = times
        elif what == 3:
            for name in ("cost_ns", "spent", "h2d_ns", "device_ns", "cpu_ratio", "bad_images", "cache_missed", "refused", "reason", "answers",
                         "loader", "whole_jobs", "note", "cache_reason", "dtype", "batch_dtype", "machine"):
                if self.dice.random() < 0.2:
                    reply[name] = self.value(reply.get(name, 0))
        else:
            inside[key] = self.value(inside[key])
        return reply

    def another(self, reply):
        """The same reply of a runner that is not the same."""
        return {**reply, self.dice.choice(["runner", "loader", "clock", "machine", "digest", "images", "cache"]): self.dice.choice(TEXTS)}

    def line(self, line):
        """Bytes in place of the line."""
        at, text = self.dice.randrange(len(line)), line.decode()
        key = self.dice.choice(list(json.loads(text)))
        return self.dice.choice([
            lambda: line[:at] + b"\xff" + line[at:], lambda: line[:at] + b"\0" + line[at:], lambda: line[:at], lambda: line[at:],
            lambda: line + b"\n" + line, lambda: line + line, lambda: b"warning: this is not JSON\n" + line, lambda: b"\n" * 1000 + line,
            lambda: b"[" + line + b"]", lambda: b"[" * 100000, lambda: b'{"id":' * 5000, lambda: line[:-1] + f',"{key}":0}}'.encode(),
            lambda: line[:-1] + b',"x":' + deep(3000).encode() + b"}", lambda: line[:-1] + b',"x":"' + b"y" * (2 << 20) + b'"}',
            lambda: b"x" * (17 << 20), lambda: b"", lambda: b"null", lambda: b"{}"])()

    def mutated(self, reply):
        """The bytes that are written in place of the reply, with the ends of their lines."""
        if "id" in reply and self.dice.random() < 0.1:
            reply = {**reply, "id": self.dice.choice([None, reply["id"] + 1, reply["id"] - 1, -1, 2**62, "1", [1]])}
        what = self.dice.randrange(10)
        if what < 6:
            return json.dumps(self.members(reply)).encode("utf-8", "replace") + b"\n"
        if what == 6:
            return json.dumps(self.another(reply)).encode("utf-8", "replace") + b"\n"
        if what < 9:
            return self.line(json.dumps(reply).encode()) + b"\n"
        return self.end()

    def end(self):
        """It ends, or is killed, or, rarely, is silent: the deadline of a trial is short."""
        what = self.dice.randrange(8)
        if what < 4:
            os.kill(os.getpid(), self.dice.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV]))
            time.sleep(10)
        if what < 7:
            os._exit(self.dice.choice([0, 1, 3, 255]))
        return b""


def main():
    script, seed, rate, *only = sys.argv[1:]
    with open(script) as file:
        player = Player(json.load(file))
    dice = random.Random(f"{seed}/{player.start}")
    mutator = Mutator(dice)
    for line in sys.stdin:
        request = json.loads(line)
        op = request["op"]
        if op != "trial":
            player.log(op=op)
        reply = player.trial(request) if op == "trial" else player.hello() if op == "hello" else player.opened()
        chosen = dice.random() < float(rate) and (not only or op in only)
        line = mutator.mutated(reply) if chosen else json.dumps(reply).encode() + b"\n"
        if not line and op != "trial":  # rue waits for these with more patience than a test has
            os._exit(1)
        os.write(1, line) if len(line) < 4096 else sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
