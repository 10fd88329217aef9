"""The random state of the caller, which trials must not change."""
import contextlib
import random
import sys

import torch


@contextlib.contextmanager
def kept():
    """Trials draw from the generators of Python, NumPy and PyTorch; afterwards these are as before."""
    numpy, cuda = sys.modules.get("numpy"), torch.cuda.is_available() and torch.cuda.is_initialized()
    own, of_torch = random.getstate(), torch.get_rng_state()
    of_numpy, of_cuda = numpy and numpy.random.get_state(), torch.cuda.get_rng_state_all() if cuda else []
    try:
        yield
    finally:
        random.setstate(own)
        torch.set_rng_state(of_torch)
        if numpy:
            numpy.random.set_state(of_numpy)
        if cuda:
            torch.cuda.set_rng_state_all(of_cuda)
