"""Measurements of openjarvis: `python -m benchmarks.NAME` runs one."""
