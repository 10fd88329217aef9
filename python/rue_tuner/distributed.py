"""Under torch.distributed all ranks make each trial together: rue, which rank 0 starts, has a connection to each."""
import contextlib
import datetime
import json
import os
import secrets
import socket
import time

import torch.distributed as dist

from .errors import TuneError
from .program import INTERRUPTED_LINE, STUDY, Interrupter, Watchdog, ctrl_c_interrupts, serve
from .study import explain_failure

MEET_S = 600   # examining a loader takes up to half of it
CONNECT_S = 60
INTERRUPTED_S = 15  # how long an interrupted rank waits for the results so far
END = '{"op": "end"'  # starts the line that rank 0 adds to those of rue
OF_TCP = dict(TCP_NODELAY=1, TCP_KEEPIDLE=20, TCP_KEEPINTVL=5, TCP_USER_TIMEOUT=60_000)  # a lost machine is noticed


def world_size():
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def listen():
    """A socket at a free port of all addresses of this machine."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", 0))


def meet(error=None):
    """This rank, and its connections: of rank 0 to the others, in their order; of another rank, the one to rank 0. All
    ranks call it; an `error` of one ends all."""
    rank, ranks = dist.get_rank(), [None] * dist.get_world_size()
    with listen() as server:
        mine = dict(error=error and (str(error) or type(error).__name__), host=socket.gethostname(),
                    port=server.getsockname()[1], token=secrets.token_hex())
        start = time.monotonic()
        try:  # objects travel over gloo, whatever the training uses
            group = dist.new_group(backend="gloo", timeout=datetime.timedelta(seconds=MEET_S))
            dist.all_gather_object(ranks, mine, group=group)
        except RuntimeError as wrong:
            if time.monotonic() - start < MEET_S:
                reason = str(wrong).split("\n", 1)[0]
                raise TuneError(f"rank {rank} cannot exchange messages with the other ranks: {reason}") from wrong
            raise TuneError(f"rank {rank} did not meet the other ranks within {MEET_S} s: call rue_tuner.tune on every "
                            "rank, or before the process group exists") from wrong
        for number, message in enumerate(ranks):
            if message["error"]:
                raise TuneError(f"on rank {number}: {message['error']}")
        connections = [connect(rank, **ranks[0])] if rank else accept(server, mine["token"], len(ranks))
    for connection in connections:
        connection.settimeout(None)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in OF_TCP.items():
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return rank, connections


def connect(rank, host, port, token, **_):
    """A connection to rank 0, by the address that torch.distributed has, or else by the name of its machine."""
    host = os.environ.get("MASTER_ADDR", host)
    try:
        connection = socket.create_connection((host, port), CONNECT_S)
        connection.sendall(f"{token} {rank}".encode())
    except OSError as error:
        raise TuneError(f"rank {rank} cannot connect to rank 0, port {port} of {host}: {error.strerror or error}; set "
                        "MASTER_ADDR to an address of its machine, and permit connections") from error
    return connection


def accept(server, token, count):
    """Connections from the other ranks of `count`, which know the token."""
    found, deadline = {}, time.monotonic() + CONNECT_S
    while len(found) < count - 1:
        server.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            connection = server.accept()[0]
        except socket.timeout:
            missing = min(set(range(1, count)) - set(found))
            raise TuneError(f"rank {missing} did not connect to rank 0 within {CONNECT_S} s") from None
        connection.settimeout(5)
        with contextlib.suppress(OSError, ValueError):
            shown, rank = connection.recv(1000).decode().split()
            if secrets.compare_digest(shown, token):
                found[int(rank)] = connection
    return [found[rank] for rank in sorted(found)]


def end(connections, outcome):
    """Rank 0: sends the other ranks what came out, once rue has ended."""
    for connection in connections:
        with contextlib.suppress(OSError), connection:
            connection.settimeout(INTERRUPTED_S)
            try:
                connection.sendall((json.dumps(dict(op="end", **outcome)) + "\n").encode())
            finally:
                connection.shutdown(socket.SHUT_WR)  # workers that this process forked may have copies


def follow(connection, runner):
    """Ranks above 0: this thread serves the trials, until rank 0 sends what came out, which is returned."""
    block, outcome, interrupted = Interrupter(), {}, []

    def requests(lines):
        for line in lines:
            if line == INTERRUPTED_LINE:
                interrupted.append(line)
                connection.settimeout(None)  # rank 0 sends what came out, once rue has written it
                continue
            if line.startswith(END):
                outcome.update(json.loads(line))
                break
            yield line
    with STUDY, ctrl_c_interrupts() as pressed, connection, contextlib.suppress(OSError), \
            connection.makefile("r", encoding="utf-8", errors="replace") as lines:
        Watchdog(connection, runner, block)
        try:
            serve(runner, connection, requests(lines), pressed, block)
        except KeyboardInterrupt:
            if block.stack is None and not interrupted:
                connection.settimeout(INTERRUPTED_S)
                connection.sendall(INTERRUPTED_LINE.encode())  # rue ends the study, with the results so far
            else:
                connection.settimeout(None)
        list(requests(lines))  # what rue still asked
    if "document" in outcome:
        return outcome
    text = outcome.get("error", "the connection to rank 0 ended before the study did")
    if "interrupted" in outcome:
        raise KeyboardInterrupt(text)
    if pressed and block.stack is None:
        raise KeyboardInterrupt
    raise explain_failure(text, block.stack, runner)
