"""One script a figure: `python -m benchmarks.NAME`; all of them: `python -m benchmarks`.

Each measures a bare baseline in the same run and prints the ratio, since seconds differ between
machines. Times are medians of several rounds; CPU time is that of all threads of the process.
"""
