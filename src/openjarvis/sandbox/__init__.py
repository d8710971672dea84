"""Runs Python that nobody has read, behind walls of the operating system.

`session.Sandbox` is the doorway: it runs a snippet or opens a session. `isolation` says which walls
this machine has, `command` how a child is started inside them, `child/` is what runs in there.
"""
