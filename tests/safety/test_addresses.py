from ipaddress import IPv4Address, IPv6Address, ip_address

from hypothesis import given
from hypothesis import strategies as st

from openjarvis.safety.addresses import is_public

v4 = st.integers(0, 2**32 - 1).map(IPv4Address)
v6 = st.integers(0, 2**128 - 1).map(IPv6Address)


@given(v4)
def test_nothing_is_public_that_the_standard_library_knows_as_private(address: IPv4Address) -> None:
    if is_public(address):
        assert address.is_global
        assert not address.is_multicast


@given(v6)
def test_the_same_for_the_longer_ones(address: IPv6Address) -> None:
    if is_public(address) and address.ipv4_mapped is None:
        assert address.is_global
        assert not address.is_multicast


@given(v4)
def test_a_wrapped_address_is_never_more_public_than_what_is_inside(inner: IPv4Address) -> None:
    wrapped = [
        IPv6Address(f"::ffff:{inner}"),
        IPv6Address(f"64:ff9b::{inner}"),
        IPv6Address(f"2606:4700::5efe:{inner}"),
        IPv6Address(f"2606:4700::200:5efe:{inner}"),
        IPv6Address(f"::{inner}"),
        IPv6Address(int(IPv6Address("2002::")) | int(inner) << 80),
    ]

    assert not any(is_public(one) and not is_public(inner) for one in wrapped)


def test_the_public_internet_stays_reachable() -> None:
    reachable = ["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450::1"]

    assert all(is_public(ip_address(one)) for one in reachable)
