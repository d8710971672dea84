"""Runs Python that nobody has read, behind walls of the operating system.

`session.Sandbox` is the doorway: it runs a snippet or opens a session. `isolation` says which walls
this machine has, `command` how a Python is started inside them, `interpreter` is that Python seen
from here and `child/` what runs in there. `report` attacks it all and tells what held.
"""
