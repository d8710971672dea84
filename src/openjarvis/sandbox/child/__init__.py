"""What runs inside the sandbox: it shuts itself in first and takes code afterwards.

Standard library only, and as little of it as can be: every import is paid by every snippet, and
`typing` alone costs more than all of this. What only a type checker needs stands below
`TYPE_CHECKING = False`, which checkers read as true.
"""
