"""The command line: `jarvis`. Results go to stdout, notices to stderr.

Exit codes: 0 done, 1 it could not be done, 2 the command or the configuration is wrong, 130 broken
off with Ctrl-C.
"""

from openjarvis.cli.main import cli, main

__all__ = ["cli", "main"]
