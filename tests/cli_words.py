"""Names that the tests of the command line share."""

from collections.abc import Callable

from click.testing import Result

Jarvis = Callable[..., Result]
