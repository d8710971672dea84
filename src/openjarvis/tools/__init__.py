"""The tools that are shipped."""
