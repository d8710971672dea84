"""What of a channel's address may be secret."""

import re

from openjarvis.safety.concealment import SHORTEST, conceal

_HOST = re.compile(r"(?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]+(?::\d+)?|localhost(?::\d+)?|\[.*\](?::\d+)?")


def conceal_parts_of(address: str) -> None:
    """Mask from now on, in this process, all that may be secret in an address of a channel."""
    _, _, rest = address.partition("://")
    place, _, query = rest.partition("?")
    names = [pair.partition("=")[2] for pair in query.split("&")]
    login, at, place = place.rpartition("@")
    host, *path = place.split("/")
    token = "" if _HOST.fullmatch(host) else host  # some have a token where others have a host
    conceal(piece for piece in (address, token, *path, *names) if len(piece) >= SHORTEST)
    if at:
        conceal([login.partition(":")[2] or login])
