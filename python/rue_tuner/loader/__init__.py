"""The loader that rue measures, for Python programs: everything here is under the MIT licence, and uses nothing else of rue."""
from .loader import Loader

__all__ = ["Loader"]
