"""What to do where a part is missing that is not installed with the rest."""


def how_to_install(extra: str) -> str:
    """Return the words that say how an extra is installed.

    Never by the name on a package index: `openjarvis` there is somebody else's project.
    """
    return f"pip install '.[{extra}]' in the checkout adds openjarvis[{extra}]"
