"""openjarvis: the tool system that lets any language model use tools safely."""

from openjarvis._version import __version__

__all__ = ["__version__"]
