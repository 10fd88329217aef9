"""The loader that rue measures, for Python programs: under the MIT licence."""
from .loader import Loader

__all__ = ["Loader"]
