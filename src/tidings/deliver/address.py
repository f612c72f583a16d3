"""Decides which addresses a webhook may be sent to.

The author of a rule names a URL, and the machine that runs Tidings may reach more than the author may: services of the
same host, of the local network, of the cloud it runs in.  So a name is resolved first, each address is checked, and the
connection is made to an address that was checked.  Resolving the name a second time would let a name server give
another answer.

The decision goes by the lists below and by nothing else: what a library takes for global changes with its version, and
some clouds have their metadata at addresses that are global by any registry.  Of IPv6 only what is handed out to
networks of the world (2000::/3) can be public at all.

What counts is the address a packet would go to: an IPv4 address inside an IPv6 address is taken out and checked.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

IPNetwork = IPv4Network | IPv6Network

_INNER_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by providers; one cloud has its metadata at 100.100.100.200
        "127.0.0.0/8",  # this machine
        "168.63.129.16/32",  # the host of a virtual machine in one cloud: metadata, name server, agent
        "169.254.0.0/16",  # this link; most clouds have their metadata at 169.254.169.254
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocols; one cloud has its metadata at 192.0.0.192
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # sinks of reverse names
        "192.52.193.0/24",  # relays of multicast
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # sinks of reverse names
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
_INNER_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocols: Teredo, benchmarks, identifiers that are no addresses
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: leads to an IPv4 address, and no server uses it any more
        "2620:4f:8000::/48",  # sinks of reverse names
        "3ffe::/16",  # a test network that is no more
        "3fff::/20",  # documentation
    )
)
_V4_IN_V6 = tuple(IPv6Network(text) for text in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"))
"""Prefixes before an IPv4 address: compatible, mapped, translated, NAT64."""
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""What stands before an IPv4 address in the second half of an address that leads to it."""


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order the system prefers."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in infos))


def is_allowed(address: str, allow: Sequence[IPNetwork] = ()) -> bool:
    """Whether an address is public, or in one of the networks that are allowed; what is no address is not.

    >>> [is_allowed(a) for a in ("93.184.216.34", "127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1")]
    [True, False, False, False]
    """
    try:
        outer = ip_address(address)
    except ValueError:
        return False
    inner = _inner(outer)
    return any(inner in network for network in allow) or (_is_public(outer) and _is_public(inner))


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address inside an IPv6 address, if there is one."""
    if isinstance(address, IPv6Address):
        number = int(address)
        is_unspecified_or_own = number in (0, 1)
        is_prefixed = any(address in network for network in _V4_IN_V6) and not is_unspecified_or_own
        if is_prefixed or (number >> 32) & 0xFFFF_FFFF in _ISATAP:
            return IPv4Address(number & 0xFFFF_FFFF)
    return address


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _INNER_V4)
    if any(address in network for network in _V4_IN_V6):
        return int(address) not in (0, 1)  # by the IPv4 address inside
    return address in _PUBLIC_V6 and not any(address in network for network in _INNER_V6)
