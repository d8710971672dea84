"""What runs inside the sandbox: it shuts itself in first and takes code afterwards.

Standard library only, and as little of it as can be: every import here is paid by every snippet.
"""
