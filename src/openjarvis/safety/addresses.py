"""Which addresses belong to the public internet: the only ones that a fetcher may reach.

The tables are IANA's special-purpose registries and the metadata services of clouds; the standard
library's `is_global` knows some of it, differently in each version.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

Address = IPv4Address | IPv6Address

_CLOSED_V4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; Alibaba's metadata service
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host agent
        "169.254.0.0/16",  # link-local; the metadata service of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; Oracle's metadata service
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_OPEN_V6: Final = IPv6Network("2000::/3")
_CLOSED_V6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo, benchmarks, ORCHID and other protocol assignments
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: leads to any IPv4 address
        "3fff::/20",  # documentation
    )
)
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = (0x00005EFE, 0x02005EFE)


def is_public(address: Address) -> bool:
    """Tell whether `address` is a host of the public internet, whatever it is wrapped in."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_V4)
    if address in _MAPPED or address in _NAT64:
        return is_public(_last_four_bytes(address))
    if address.scope_id is not None or address not in _OPEN_V6:
        return False
    if any(address in network for network in _CLOSED_V6):
        return False
    if int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        return is_public(_last_four_bytes(address))
    return True


def _last_four_bytes(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)
