"""Which share of the data a process loads."""
import os
import sys
from typing import Optional, Tuple, Union

# (rank, ranks) of launchers: torchrun; Open MPI, MPICH, Slurm. The last ones also stand where only one process loads.
TORCHRUN = ("RANK", "WORLD_SIZE")
LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


def from_environment(names):
    """(rank, ranks) of the first pair of variables that is set; None."""
    for pair in names:
        texts = [os.environ.get(name, "") for name in pair]
        if all(text.isdigit() for text in texts):
            return tuple(map(int, texts))
    return None


def from_torch():
    """(rank, ranks) of torch.distributed, if it is initialised."""
    torch = sys.modules.get("torch")
    group = getattr(torch, "distributed", None)
    if group is None or not group.is_available() or not group.is_initialized():
        return None
    return group.get_rank(), group.get_world_size()


def find_share(rank: Optional[int], world_size: Union[int, str, None]) -> Tuple[int, int]:
    """(rank, ranks): as given; that of torch.distributed; that of torchrun. `world_size` "env": MPI's and Slurm's,
    too."""
    if world_size == "env":
        found = from_environment(LAUNCHERS) or of_process()
        if found is None:
            raise ValueError('world_size="env": no launcher set its variables, such as ' + " and ".join(LAUNCHERS[0]) +
                             "; give rank and world_size")
        return found
    if rank is None:
        return from_torch() or of_process() or (0, 1)
    return rank, world_size


def of_process():
    """(rank, ranks) of torchrun; None. Kubeflow sets the same variables in a pod, where RANK is the pod's number."""
    found, processes = from_environment([TORCHRUN]), from_torchrun("PET_NPROC_PER_NODE", 1)
    if found and processes > 1 and local_rank() is None:
        raise ValueError(f"RANK={found[0]} is the number of a pod with {processes} processes, not that of a process "
                         "(LOCAL_RANK is not set): start the script by torchrun, or give rank and world_size")
    return found


def from_torchrun(name, default):
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else default


def local_ranks() -> int:
    """How many processes torchrun started on this machine; 1 without it."""
    return max(from_torchrun("LOCAL_WORLD_SIZE", 1), 1)


def local_rank():
    """Which of them this is; None without torchrun."""
    return from_torchrun("LOCAL_RANK", None)
