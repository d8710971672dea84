"""`python -m openjarvis` is `jarvis`."""

from openjarvis.cli import main

main()
