"""`python -m rue_tuner` is the program rue."""
from .program import main

main()
