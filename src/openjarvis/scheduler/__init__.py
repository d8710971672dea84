"""Tasks that a model runs later: once, every so often, or by a cron line.

Above stand the command line and the SDK, which start a scheduler; below is only the ground floor.
`timing` says when, `store` remembers, `scheduler` wakes and runs, `distributed` does it on many
machines.
"""
