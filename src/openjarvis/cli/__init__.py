"""The command line: `jarvis`."""
