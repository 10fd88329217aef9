"""Under torch.distributed all ranks make each trial together; the slowest one counts."""
import torch.distributed as dist

from .serve import Runner, members


def world_size():
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


class Ranks:
    """A group of its own for the messages of a study: objects travel over gloo, whatever the training uses."""

    def __init__(self):
        self.group, self.rank = dist.new_group(backend="gloo"), dist.get_rank()

    def broadcast(self, message=None):
        """The message of rank 0, on each rank."""
        box = [message]
        dist.broadcast_object_list(box, src=0, group=self.group)
        return box[0]

    def gather(self, message):
        """The messages of all ranks, on each rank."""
        box = [None] * dist.get_world_size()
        dist.all_gather_object(box, message, group=self.group)
        return box

    def follow(self, runner):
        """Ranks above 0: answers what rank 0 hands on, until it sends what ended the study, which is returned."""
        while True:
            kind, message = self.broadcast()
            if kind == "end":
                return message
            dist.barrier(self.group)
            self.gather(runner.answer(message))

    def end(self, message):
        """Rank 0: sends what ended the study."""
        self.broadcast(("end", message))


class LeadingRunner(Runner):
    """The runner of rank 0, which hands each request on."""

    def __init__(self, ranks, *arguments, **options):
        super().__init__(*arguments, **options)
        self.ranks = ranks

    def answer(self, line):
        self.ranks.broadcast(("request", line))
        dist.barrier(self.ranks.group)
        return combine(self.ranks.gather(super().answer(line)), members(line).get("op"))


def combine(answers, op):
    """The answer of all ranks: the first failure, or the slowest trial with the memory of all."""
    for rank, answer in enumerate(answers):
        if answer.get("status", "ok") != "ok":
            return dict(answer, reason=f"on rank {rank}: {answer.get('reason')}")
    if op != "trial":
        return answers[0]
    slowest = max(answers, key=lambda answer: answer.get("end_to_end_ns") or answer.get("compute_ns", 0))
    summed = [key for key in ("anon_peak_bytes", "read_bytes", "cpu_ratio") if key in slowest]
    return {**slowest, **{key: sum(answer[key] for answer in answers) for key in summed}}
